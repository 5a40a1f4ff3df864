//! The end of a federate's publications of a class (clause 5.3), for each of its instances.

use std::collections::BTreeSet;

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle,
};

use super::{Answer, disown};
use crate::federate::table;
use crate::federation::Federation;
use crate::job::{Below, DONE, Step, Task};
use crate::services::{declaration, ownership};

/// Ends publications of a class, and leaves these attributes published. It is refused if the federate seeks another
/// one; it cannot begin to seek one meanwhile.
pub(crate) fn unpublish(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    kept: BTreeSet<AttributeHandle>,
) -> Answer {
    let negotiations = ownership::Negotiations::default();
    federation.start_and_answer(me, Task::CheckUnpublish { class, kept, negotiations })
}

/// Looks at the next negotiation.
pub(crate) fn check_unpublish_step(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    kept: &mut BTreeSet<AttributeHandle>,
    negotiations: &mut ownership::Negotiations,
) -> Step {
    let Some((handle, attribute)) = negotiations.next(federation) else {
        let (kept, below) = (std::mem::take(kept), Below::new(federation, class));
        federation.start(me, Task::Unpublish { class, kept, below });
        return DONE;
    };
    let is_concerned = federation.instances[&handle].known_as(me) == Some(class)
        && !kept.contains(&attribute)
        && ownership::seeks(federation, me, handle, attribute);
    if is_concerned {
        return Step::Break(Err(Exception::OwnershipAcquisitionPending.into()));
    }
    Step::Continue(())
}

/// Makes the attributes of the next instance unowned. The federate publishes attributes for as long as it owns some, so
/// the end of the publication comes last.
pub(crate) fn unpublish_step(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    kept: &mut BTreeSet<AttributeHandle>,
    below: &mut Below,
) -> Step {
    if let Some(handle) = below.next(federation) {
        divest(federation, me, class, kept, handle);
        return Step::Continue(());
    }
    let federate = federation.federate_mut(me);
    let published = &mut federate.published.classes;
    let before = if kept.is_empty() {
        published.remove(&class)
    } else {
        published.insert(class, std::mem::take(kept))
    };
    let now = table::published(published.get(&class));
    federate.charge.change(table::published(before.as_ref()), now);
    declaration::advise_of_registration(federation, me);
    DONE
}

fn divest(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    kept: &BTreeSet<AttributeHandle>,
    handle: ObjectInstanceHandle,
) {
    let instance = &federation.instances[&handle];
    if instance.known_as(me) != Some(class) {
        return;
    }
    let divested: Vec<AttributeHandle> =
        instance.owned_by(me).filter(|one| !kept.contains(one)).collect();
    if !divested.is_empty() {
        disown(federation, me, handle, &divested);
        ownership::abandon(federation, me, handle, &divested, &Data::new());
    }
}
