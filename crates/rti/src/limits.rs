//! Limits on what federates can make the kernel keep.

/// Limits on every resource that calls can consume. A call that would exceed one is refused with `RTIinternalError`,
/// which names the limit; a federate with too many undelivered messages is resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Federation executions.
    pub federations: usize,
    /// Of these, those that sessions of one owner, a host or user, created.
    pub federations_of_owner: usize,
    /// Of these, those that one open session created.
    pub federations_of_session: usize,
    /// Federates joined to one federation at a time.
    pub federates: usize,
    /// Object instances of a federation; also the names that are in use or reserved.
    pub instances: usize,
    /// Pending synchronization points of a federation.
    pub synchronization_points: usize,
    /// Messages queued for one federate until its logical time, or its next advance request, allows delivery. With
    /// `delaySubscriptionEvaluation`, messages it does not subscribe to count as well.
    pub undelivered: usize,
    /// Approximate bytes of these messages. A message that is queued for several federates counts for each.
    pub undelivered_len: usize,
    /// Messages that one federate can still retract. Beyond this, its oldest messages can no longer be retracted.
    pub retractable: usize,
    /// Attributes of a federation's instances whose ownership is being negotiated.
    pub negotiations: usize,
    /// Regions of a federation.
    pub regions: usize,
    /// Regions in one call, or pairs of an attribute and a region.
    pub regions_of_call: usize,
    /// Regions that are associated with one attribute of an instance, or sent with one interaction. They are compared
    /// for each message, and conveyed with it.
    pub regions_sent: usize,
    /// Bytes of a tag that is stored for later callbacks: of a synchronization point, an ownership offer or an
    /// ownership request.
    pub kept_tag_len: usize,
    /// Modules of a federation's object model, besides the standard ones.
    pub modules: usize,
    /// Bytes of the text of all modules of a federation's object model.
    pub model_len: usize,
    /// Approximate bytes of memory of a federation's object model. A module whose parsing would need more is refused,
    /// too.
    pub model_memory: usize,
    /// Approximate bytes that a federation holds: its model, instances, names and kept messages. Calls may take seven
    /// eighths of it; the rest is for messages in receive order that federates hold back.
    pub federation_len: usize,
    /// Bytes of the image of a federation that is saved or restored. 0 if the shell has no storage for images: then
    /// these services are refused.
    pub image_len: usize,
    /// Bytes of the name of a federation, a federate or an instance, and of a synchronization point's label.
    pub name_len: usize,
}

impl Default for Limits {
    /// Far beyond what known federations need, yet small enough for a machine with a few gigabytes.
    fn default() -> Self {
        Self {
            federations: 256,
            federations_of_owner: 192,
            federations_of_session: 128,
            federates: 4096,
            instances: 1_000_000,
            synchronization_points: 4096,
            undelivered: 1_000_000,
            undelivered_len: 256 << 20,
            retractable: 100_000,
            negotiations: 100_000,
            regions: 1_000_000,
            regions_of_call: 10_000,
            regions_sent: 1_000,
            kept_tag_len: 4096,
            modules: 4096,
            model_len: 128 << 20,
            model_memory: 256 << 20,
            federation_len: 512 << 20,
            image_len: 0,
            name_len: 256,
        }
    }
}
