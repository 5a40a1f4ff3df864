//! Updates between federates, over every transport.

use hemiola_fedpro::session::End;
use hemiola_hla::ResignAction;
use hemiola_hla::call::{FederationCall, SupportCall};
use hemiola_hla::data::{ANSWERS_LATER, RtiConfiguration};

use crate::carrier::Address;
use crate::peer::{Peer, Rti, on_loopback, update, value};

/// An RTI that is reachable over every transport, and its addresses.
fn everywhere(test: &str) -> (Rti, [Address; 3]) {
    let name = format!("test-{}-{test}", std::process::id());
    let rti = Rti::start(hemiola_rtid::Options { local: Some(name.clone()), ..on_loopback() });
    let addresses =
        [Address::Tcp(rti.address), Address::Local(name), Address::Inside(rti.stopper.clone())];
    (rti, addresses)
}

#[test]
fn an_update_reaches_the_other_federate_over_any_two_transports() {
    let (rti, addresses) = everywhere("update");
    for (from, to) in [(0, 0), (0, 1), (1, 2), (2, 0), (1, 1)] {
        let federation = format!("From {from} to {to}");
        let mut publisher = Peer::join(&addresses[from], &federation);
        let object = publisher.register();
        let directive = Some(ResignAction::CancelThenDeleteThenDivest);
        publisher.call(SupportCall::SetAutomaticResignDirective { value: directive }).unwrap();
        let mut subscriber = Peer::join(&addresses[to], &federation);
        subscriber.subscribe();
        for number in 0..100_u64 {
            publisher.call(update(object, number.to_be_bytes().to_vec())).unwrap();
            assert_eq!(value(subscriber.callback()), number.to_be_bytes()[..]);
        }
        assert_eq!(publisher.terminate(), End::Terminated);
        assert_eq!(subscriber.callback().name(), "RemoveObjectInstance");
    }
    assert_eq!(rti.stop().sessions, 10);
}

#[test]
fn a_session_resumes_over_another_connection_without_duplicates() {
    let (_rti, addresses) = everywhere("resume");
    for address in &addresses {
        let mut publisher = Peer::join(address, "Cut");
        let object = publisher.register();
        let mut subscriber = Peer::join(address, "Cut");
        subscriber.subscribe();
        let tickets: Vec<_> = (0..2000_u32)
            .map(|number| {
                let ticket = publisher.send(update(object, number.to_be_bytes().to_vec()));
                publisher.write();
                // Some updates are lost on the way to the RTI, some on the way back.
                if number % 300 == 100 {
                    publisher.cut();
                    publisher.events();
                }
                if number % 300 == 250 {
                    subscriber.cut();
                    subscriber.events();
                }
                if number % 150 == 0 {
                    publisher.step();
                }
                ticket
            })
            .collect();
        for ticket in tickets {
            publisher.reply(ticket).unwrap();
        }
        for number in 0..2000_u32 {
            assert_eq!(value(subscriber.callback()), number.to_be_bytes()[..]);
        }
        assert_eq!(publisher.terminate(), End::Terminated);
        assert_eq!(subscriber.terminate(), End::Terminated);
    }
}

#[test]
fn best_effort_values_give_way_to_newer_ones_over_every_transport() {
    let (rti, addresses) = everywhere("best-effort");
    let conflated = || rti.stopper.status().unwrap().slow_reading.conflated;
    for address in &addresses {
        let mut publisher = Peer::join(address, "Position");
        let object = publisher.register_with("Position");
        let mut subscriber = Peer::join(address, "Position");
        subscriber.subscribe_to("Position");
        let (before, mut sent) = (conflated(), 0_u32);
        while conflated() < before + 1000 {
            let tickets: Vec<_> = (0..100)
                .map(|_| {
                    sent += 1;
                    let mut bytes = vec![0; 4096];
                    bytes[..4].copy_from_slice(&sent.to_be_bytes());
                    publisher.send(update(object, bytes))
                })
                .collect();
            for ticket in tickets {
                publisher.reply(ticket).unwrap();
            }
            assert!(sent < 100_000, "nothing is conflated");
        }
        // A numbered message arrives although the connection breaks.
        subscriber.cut();
        let mut received = Vec::new();
        while received.last() != Some(&sent) {
            let value = value(subscriber.callback());
            received.push(u32::from_be_bytes(value[..4].try_into().unwrap()));
        }
        assert!(received.is_sorted_by(|a, b| a < b), "in order, none twice");
        let dropped = conflated() - before;
        assert_eq!(received.len() as u64 + dropped, u64::from(sent), "no other value is lost");
        assert_eq!(publisher.terminate(), End::Terminated);
        assert_eq!(subscriber.terminate(), End::Terminated);
    }
}

#[test]
fn deferred_replies_arrive_with_the_next_output_or_after_a_while() {
    let (_rti, addresses) = everywhere("later");
    for address in &addresses {
        let mut publisher = Peer::open(address);
        let additional_settings = ANSWERS_LATER.into();
        let rti_configuration = RtiConfiguration { additional_settings, ..Default::default() };
        publisher.call(FederationCall::ConnectWithConfiguration { rti_configuration }).unwrap();
        let mut publisher = publisher.joined("Later");
        let object = publisher.register();
        let update = || update(object, vec![0; 8]);
        let tickets: Vec<_> = (0..10).map(|_| publisher.send(update())).collect();
        publisher.call(FederationCall::ListFederationExecutions).unwrap();
        assert!(tickets.iter().all(|ticket| publisher.replies.contains_key(ticket)));
        // More calls than a waiting federate would send.
        for _ in 0..3 {
            let tickets: Vec<_> = (0..1000).map(|_| publisher.send(update())).collect();
            for ticket in tickets {
                publisher.reply(ticket).unwrap();
            }
        }
        let alone = publisher.send(update());
        publisher.reply(alone).unwrap();
        publisher.terminate();
    }
}
