//! Answers that a federate does not wait for, and says so.

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{ANSWERS_LATER, RtiConfiguration};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{AttributeHandle, ObjectInstanceHandle, Reply};

use crate::peer::{Peer, Rti, on_loopback, update, value};

/// A publisher that wants answers later, and its object.
fn patient(rti: &Rti) -> (Peer, (ObjectInstanceHandle, AttributeHandle)) {
    let mut peer = Peer::open(rti.address);
    let rti_configuration =
        RtiConfiguration { additional_settings: ANSWERS_LATER.into(), ..Default::default() };
    match peer.call(FederationCall::ConnectWithConfiguration { rti_configuration }) {
        Ok(Reply::Configured(result)) => assert_eq!(
            result.additional_settings_result,
            AdditionalSettingsResultCode::SettingsApplied
        ),
        other => panic!("{other:?}"),
    }
    let mut peer = peer.joined("Later");
    let object = peer.register();
    (peer, object)
}

#[test]
fn an_answer_that_may_come_later_comes_even_if_nothing_else_does() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = patient(&rti);
    for round in 0..3_u8 {
        let ticket = publisher.send(update(object, vec![round]));
        assert_eq!(publisher.reply(ticket), Ok(Reply::Done));
    }
}

#[test]
fn answers_that_wait_come_in_order_with_the_next_that_is_waited_for() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = patient(&rti);
    let tickets: Vec<_> =
        (0..500_u16).map(|n| publisher.send(update(object, n.to_be_bytes().to_vec()))).collect();
    // An exception is one that is waited for.
    let refused = publisher.send(update((object.0, AttributeHandle::new(0)), vec![]));
    assert!(publisher.reply(refused).is_err());
    for ticket in tickets {
        assert_eq!(publisher.reply(ticket), Ok(Reply::Done));
    }
}

#[test]
fn updates_whose_answers_wait_reach_a_subscriber_once_across_broken_connections() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = patient(&rti);
    let mut subscriber = Peer::join(rti.address, "Later");
    subscriber.subscribe();
    let mut tickets = vec![];
    for number in 0..60_u8 {
        tickets.push(publisher.send(update(object, vec![number])));
        if number % 7 == 0 {
            publisher.write();
            publisher.cut();
        }
    }
    for ticket in tickets {
        assert_eq!(publisher.reply(ticket), Ok(Reply::Done));
    }
    for number in 0..60_u8 {
        assert_eq!(value(subscriber.callback()), [number][..]);
    }
}
