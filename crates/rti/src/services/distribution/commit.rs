//! What follows when regions are committed (clause 9.3): discoveries, and advisories on scope and wanted updates.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use hemiola_hla::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle};

use crate::federation::Federation;
use crate::job::{Below, DONE, Step};
use crate::services::object;

/// The regions compared for one unit of work.
const COMPARED: u64 = 8;

/// The commit of regions, one after the other: first what follows from the last one, then the next.
#[derive(Debug)]
pub(crate) struct Commit {
    /// In reverse order.
    regions: Vec<RegionHandle>,
    /// Instances, each with a federate for which its attributes may have come into scope or left it.
    pairs: BTreeSet<(ObjectInstanceHandle, FederateHandle)>,
    /// Classes that the federate subscribes to with a region that had no effect before.
    classes: Vec<(ObjectClassHandle, Below)>,
}

impl Commit {
    pub(crate) fn new(mut regions: Vec<RegionHandle>) -> Self {
        regions.reverse();
        Self { regions, pairs: BTreeSet::new(), classes: Vec::new() }
    }

    pub(crate) fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        if let Some((handle, federate)) = self.pairs.pop_first() {
            object::scope_changed(federation, federate, handle);
        } else if let Some((class, below)) = self.classes.last_mut() {
            if object::interest_step(federation, me, *class, below).is_break() {
                self.classes.pop();
            }
        } else if let Some(region) = self.regions.pop() {
            self.commit(federation, region);
        } else {
            return DONE;
        }
        ControlFlow::Continue(())
    }

    fn commit(&mut self, federation: &mut Federation, handle: RegionHandle) {
        let Some(region) = federation.regions.get(handle) else { return };
        if region.committed.is_none() {
            let classes = region.classes();
            // Before, the subscription overlapped nothing, not even the default region.
            self.classes = classes.map(|class| (class, Below::new(federation, class))).collect();
        }
        let concerned = federation.regions.commit(handle);
        self.pairs = concerned.pairs;
        federation.spend(concerned.compared / COMPARED);
    }
}
