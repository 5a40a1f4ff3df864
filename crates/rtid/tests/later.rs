//! Deferred replies: federates that announce that they do not wait for replies.

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{ANSWERS_LATER, RtiConfiguration};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{AttributeHandle, ObjectInstanceHandle, Reply};

use crate::peer::{Peer, Rti, on_loopback, update, value};

/// Returns a publisher that accepts deferred replies, and its object.
fn deferring(rti: &Rti) -> (Peer, (ObjectInstanceHandle, AttributeHandle)) {
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
fn a_deferred_reply_arrives_even_without_other_output() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = deferring(&rti);
    for round in 0..3_u8 {
        let ticket = publisher.send(update(object, vec![round]));
        assert_eq!(publisher.reply(ticket), Ok(Reply::Done));
    }
}

#[test]
fn deferred_replies_arrive_in_order_with_the_next_reply_that_is_not_deferred() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = deferring(&rti);
    let tickets: Vec<_> =
        (0..500_u16).map(|n| publisher.send(update(object, n.to_be_bytes().to_vec()))).collect();
    // An exception is not deferred.
    let refused = publisher.send(update((object.0, AttributeHandle::new(0)), vec![]));
    assert!(publisher.reply(refused).is_err());
    for ticket in tickets {
        assert_eq!(publisher.reply(ticket), Ok(Reply::Done));
    }
}

#[test]
fn updates_with_deferred_replies_arrive_once_across_broken_connections() {
    let rti = Rti::start(on_loopback());
    let (mut publisher, object) = deferring(&rti);
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
