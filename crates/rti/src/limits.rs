//! How much federates may make a kernel keep.

/// Bounds on everything that calls can make grow. A call beyond one is refused with `RTIinternalError`, which
/// names it; a federate that leaves too much undelivered is resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Federation executions.
    pub federations: usize,
    /// Federates joined to one federation at a time.
    pub federates: usize,
    /// Object instances of a federation, and as many names in use or reserved for more.
    pub instances: usize,
    /// Synchronization points of a federation that are not yet reached by all.
    pub synchronization_points: usize,
    /// Messages kept for one federate until its time, or its asking for time, lets it have them. Where the object model
    /// enables `delaySubscriptionEvaluation`, also those that it does not want, or not yet.
    pub undelivered: usize,
    /// Bytes of these messages, about; those that several federates wait for are counted for each.
    pub undelivered_len: usize,
    /// Messages of one federate that it may still take back; older ones it may not any more.
    pub retractable: usize,
    /// Attributes of a federation's instances whose ownership is negotiated.
    pub negotiations: usize,
    /// Bytes of a tag that is kept until others are told: of a synchronization point, of an offer or a request of
    /// ownership.
    pub kept_tag_len: usize,
    /// Bytes of the text of all modules of a federation's object model.
    pub model_len: usize,
    /// Bytes of a name: of a federation, a federate, an instance, a synchronization point.
    pub name_len: usize,
}

impl Default for Limits {
    /// Far beyond what known federations need, and small enough for a machine of a few gigabytes. Reserved names,
    /// as many and as long as may be, take a federation about 350 MB.
    fn default() -> Self {
        Self {
            federations: 256,
            federates: 4096,
            instances: 1_000_000,
            synchronization_points: 4096,
            undelivered: 1_000_000,
            undelivered_len: 256 << 20,
            retractable: 100_000,
            negotiations: 100_000,
            kept_tag_len: 4096,
            model_len: 128 << 20,
            name_len: 256,
        }
    }
}
