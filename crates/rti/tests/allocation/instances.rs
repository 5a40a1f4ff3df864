//! Instances give back the memory of the federates that knew them.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hemiola_hla::ResignAction;
use hemiola_hla::call::FederationCall;

use crate::support::World;
use crate::{ALONE, FEDERATES, LEFT_MAX, LIVE};

const INSTANCES: usize = 2000;

const OWNER: u64 = 1;

#[test]
fn federates_that_leave_give_back_their_places_in_instances() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new();
    (1..=FEDERATES).for_each(|session| world.join(session));
    world.publish(OWNER);
    for _ in 0..INSTANCES {
        world.register(OWNER);
    }
    let before = LIVE.load(Ordering::Relaxed);
    (OWNER + 1..=FEDERATES).for_each(|session| world.subscribe(session));
    for session in OWNER + 1..=FEDERATES {
        let resign_action = Some(ResignAction::NoAction);
        world.call(session, FederationCall::ResignFederationExecution { resign_action });
    }
    world.out = Vec::new();
    let after = LIVE.load(Ordering::Relaxed);
    assert!(after < before + LEFT_MAX, "{before} bytes before, {after} after");
}
