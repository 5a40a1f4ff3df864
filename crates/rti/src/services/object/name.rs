//! Reservation of instance names (clauses 6.2 to 6.7).

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;

use hemiola_hla::{Callback, Exception, FederateHandle, Refusal, Reply};

use super::Answer;
use crate::federation::{Federation, NameUse};
use crate::memory::{entry_len, has_room, name_len};
use crate::services::beyond;

/// Checks that a federate may have this name. Names that begin with `HLA` belong to the RTI.
fn check_name(federation: &Federation, name: &str) -> Result<(), Refusal> {
    let limits = federation.limits;
    if name.is_empty() || name.starts_with("HLA") || name.len() > limits.name_len {
        let most = limits.name_len;
        let details = format!("a name has 1 to {most} bytes and does not begin with HLA");
        return Err(Exception::IllegalName.because(details));
    }
    Ok(())
}

/// The estimated memory of a reserved name.
pub(crate) fn reserved_len(name: &str) -> usize {
    entry_len::<String, NameUse>() + name_len(name)
}

/// Checks the limits for `more` names that take `len` bytes together.
fn has_room_for(
    federation: &Federation,
    me: FederateHandle,
    more: usize,
    len: usize,
) -> Result<(), Refusal> {
    let limit = federation.limits.instances;
    if federation.names.len() + more > limit {
        return Err(beyond(limit, "names of instances"));
    }
    has_room(federation, me, len)
}

/// Clause 6.2. The result is one of the callbacks of clause 6.3.
pub(super) fn reserve_object_instance_name(
    federation: &mut Federation,
    me: FederateHandle,
    name: String,
) -> Answer {
    check_name(federation, &name)?;
    let len = reserved_len(&name);
    has_room_for(federation, me, 1, len)?;
    let object_instance_name = name.clone();
    let callback = match federation.names.entry(name) {
        Entry::Vacant(free) => {
            free.insert(NameUse::Reserved(me));
            federation.federate_mut(me).charge.grow(len);
            Callback::ObjectInstanceNameReservationSucceeded { object_instance_name }
        }
        Entry::Occupied(_) => {
            Callback::ObjectInstanceNameReservationFailed { object_instance_name }
        }
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.5: all names or none. The result is one of the callbacks of clause 6.6.
pub(super) fn reserve_multiple_object_instance_names(
    federation: &mut Federation,
    me: FederateHandle,
    names: Vec<String>,
) -> Answer {
    if names.is_empty() {
        return Err(Exception::NameSetWasEmpty.into());
    }
    names.iter().try_for_each(|name| check_name(federation, name))?;
    let len = names.iter().map(|name| reserved_len(name)).sum();
    has_room_for(federation, me, names.len(), len)?;
    let free = names.iter().all(|name| !federation.names.contains_key(name));
    let callback = if free {
        for name in &names {
            if federation.names.insert(name.clone(), NameUse::Reserved(me)).is_none() {
                federation.federate_mut(me).charge.grow(reserved_len(name));
            }
        }
        Callback::MultipleObjectInstanceNameReservationSucceeded { object_instance_names: names }
    } else {
        Callback::MultipleObjectInstanceNameReservationFailed { object_instance_names: names }
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}

/// Clauses 6.4 and 6.7: all names or none.
pub(super) fn release_object_instance_names(
    federation: &mut Federation,
    me: FederateHandle,
    names: &[String],
) -> Answer {
    let names: BTreeSet<&String> = names.iter().collect();
    let mine = |name: &&String| federation.names.get(*name) == Some(&NameUse::Reserved(me));
    if let Some(other) = names.iter().copied().find(|name| !mine(name)) {
        return Err(Exception::ObjectInstanceNameNotReserved.because(other.as_str()));
    }
    for name in names {
        federation.names.remove(name);
        federation.federate_mut(me).charge.shrink(reserved_len(name));
    }
    Ok(Reply::Done)
}
