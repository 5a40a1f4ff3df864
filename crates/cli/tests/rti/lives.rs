//! Many federates that join and leave.

use hemiola_hla::call::FederationCall;
use hemiola_hla::{Reply, ResignAction};

use super::peer::{Peer, opened};
use super::scene::Scene;

const MIB: u64 = 1 << 20;

#[test]
fn ten_thousand_joins_of_one_federate_leave_nothing_behind() {
    let scene = Scene::begin("joins", &[]);
    let mut peer = Peer::joined(scene.address(), "Joins");
    let resign = || FederationCall::ResignFederationExecution {
        resign_action: Some(ResignAction::DeleteObjectsThenDivest),
    };
    assert_eq!(peer.call(resign()), Ok(Reply::Done));
    let mut early = 0;
    for number in 0..10_000 {
        peer.join("Joins");
        assert_eq!(peer.call(resign()), Ok(Reply::Done));
        if number == 1000 {
            early = scene.rti.memory_max();
        }
    }
    let grown = scene.rti.memory_grown(early);
    assert!(grown < 2 * MIB, "{grown} bytes more after 9,000 joins");
    scene.end();
}

#[test]
fn sessions_that_are_abandoned_make_room_for_newcomers() {
    let scene = Scene::begin("goodbyes", &["--sessions-max", "50"]);
    // Two sessions belong to the others. An abandoned session is kept for a while unless its slot is needed.
    let opened: Vec<u64> = (0..500).map(|_| opened(scene.address()).1).collect();
    assert_eq!(opened.iter().collect::<std::collections::BTreeSet<_>>().len(), 500);
    scene.others_go_on();
    scene.end();
}

#[test]
fn two_thousand_terminated_sessions_leave_nothing_behind() {
    let scene = Scene::begin("sessions", &["--log", "warn"]);
    let mut early = 0;
    for number in 0..2000 {
        let mut peer = Peer::joined(scene.address(), "Sessions");
        peer.register();
        let resign_action = Some(ResignAction::DeleteObjectsThenDivest);
        let resign = FederationCall::ResignFederationExecution { resign_action };
        assert_eq!(peer.call(resign), Ok(Reply::Done));
        assert_eq!(peer.call(FederationCall::Disconnect), Ok(Reply::Done));
        peer.terminate();
        if number == 500 {
            early = scene.rti.memory_max();
        }
    }
    let grown = scene.rti.memory_grown(early);
    assert!(grown < 4 * MIB, "{grown} bytes more after 1,500 sessions");
    scene.end();
}
