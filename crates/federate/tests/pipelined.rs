//! Calls that do not wait for their replies.

use hemiola_federate::hla::call::{ObjectCall, TimeCall};
use hemiola_federate::hla::{Call, Callback, Exception, LogicalTime, ObjectInstanceHandle};
use hemiola_federate::{Bytes, Error, Federate, Options, Span};

use crate::calls::{options, usual};
use crate::federation::Vehicle;
use crate::peer::{Act, Peer};
use crate::rti::{Rti, Transport};

fn pipelined() -> Options {
    Options { pipelined: true, gather: Bytes(16 << 10), ..options() }
}

fn update(federate: &mut Federate, instance: u64) -> Result<(), Error> {
    federate.update_attribute_values(ObjectInstanceHandle::new(instance), &[], "")
}

#[test]
fn a_waiting_call_gets_its_reply_even_if_the_rti_defers_replies_of_its_kind() {
    let rti = Rti::start();
    for transport in Transport::ALL {
        let mut federate = Vehicle::join(&rti, transport, pipelined()).federate;
        for time in 1..=20 {
            let time = LogicalTime::integer(time).unwrap().into();
            federate.call(TimeCall::TimeAdvanceRequest { time }).unwrap();
            federate.grant(|_, _| Ok(())).unwrap();
        }
        let unknown = ObjectCall::UpdateAttributeValues {
            object_instance: ObjectInstanceHandle::new(77),
            attribute_values: vec![],
            user_supplied_tag: "".into(),
        };
        let refused = federate.call(unknown).unwrap_err();
        assert_eq!(refused.exception(), Some(Exception::ObjectInstanceNotKnown), "{refused}");
        federate.disconnect().unwrap_err();
    }
}

#[test]
fn pipelined_updates_all_arrive_in_order() {
    const UPDATES: u64 = 20_000;
    let peer = Peer::start(usual);
    let mut federate = Federate::connect(&peer.address, pipelined()).unwrap();
    for instance in 0..UPDATES {
        update(&mut federate, instance).unwrap();
    }
    federate.disconnect().unwrap();
    let instances: Vec<u64> = peer
        .seen()
        .calls
        .iter()
        .filter_map(|call| match call {
            Call::Object(ObjectCall::UpdateAttributeValues { object_instance, .. }) => {
                Some(object_instance.number())
            }
            _ => None,
        })
        .collect();
    assert_eq!(instances, (0..UPDATES).collect::<Vec<u64>>());
}

/// Refuses updates of instance 7.
fn refuse_seven(call: &Call) -> Vec<Act> {
    match call {
        Call::Object(ObjectCall::UpdateAttributeValues { object_instance, .. })
            if object_instance.number() == 7 =>
        {
            vec![Act::Reply(Err(Exception::AttributeNotOwned.into()))]
        }
        call => usual(call),
    }
}

#[test]
fn the_next_call_returns_the_exception_of_an_earlier_call_and_is_not_made() {
    let peer = Peer::start(refuse_seven);
    let mut federate = Federate::connect(&peer.address, pipelined()).unwrap();
    update(&mut federate, 6).unwrap();
    update(&mut federate, 7).unwrap();
    // The earlier replies arrive before this one.
    federate.list_federation_executions().unwrap();
    let error = update(&mut federate, 8).unwrap_err();
    assert!(matches!(error, Error::Earlier { call: "UpdateAttributeValues", .. }), "{error}");
    assert_eq!(error.exception(), Some(Exception::AttributeNotOwned));
    update(&mut federate, 9).unwrap();
    federate.disconnect().unwrap();
    let updates = peer.seen().calls.iter().filter(|call| matches!(call, Call::Object(_))).count();
    assert_eq!(updates, 3);
}

#[test]
fn an_exception_of_an_earlier_call_ends_the_wait_for_a_callback() {
    let peer = Peer::start(refuse_seven);
    let mut federate = Federate::connect(&peer.address, pipelined()).unwrap();
    update(&mut federate, 7).unwrap();
    let error = federate.evoke(Span::MAX).unwrap_err();
    assert_eq!(error.exception(), Some(Exception::AttributeNotOwned));
    assert_eq!(federate.evoke(Span::ZERO).unwrap(), None);
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn gathered_calls_are_sent_by_flush() {
    let peer = Peer::start(|call| {
        let mut acts = usual(call);
        if let Call::Object(_) = call {
            acts.push(Act::Callback(Callback::FederationRestored));
        }
        acts
    });
    let mut federate = Federate::connect(&peer.address, pipelined()).unwrap();
    update(&mut federate, 1).unwrap();
    federate.flush().unwrap();
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(Callback::FederationRestored));
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn callbacks_that_are_never_evoked_use_bounded_memory_and_stop_further_calls() {
    let fifty = |call: &Call| {
        let mut acts = usual(call);
        if call.name() == "ListFederationExecutions" {
            let callback = || Callback::RemoveObjectInstance {
                object_instance: ObjectInstanceHandle::new(1),
                user_supplied_tag: vec![0; 1000].into(),
                producing_federate: hemiola_federate::hla::FederateHandle::new(2),
            };
            acts.splice(0..0, (0..50).map(|_| Act::Callback(callback())));
        }
        acts
    };
    let peer = Peer::start(fifty);
    let fewest = Options { callbacks_max: Bytes(10_000), ..options() };
    let mut flooded = Federate::connect(&peer.address, fewest).unwrap();
    // The reply may have arrived with the flood.
    let _ = flooded.list_federation_executions();
    assert!(flooded.list_federation_executions().unwrap_err().is_lost());
    assert!(flooded.evoke(Span::ZERO).unwrap().is_some(), "received callbacks can be evoked");
    drop(flooded);
    peer.seen();

    let peer = Peer::start(fifty);
    let few = Options { callbacks_max: Bytes(60_000), ..options() };
    let mut federate = Federate::connect(&peer.address, few).unwrap();
    federate.list_federation_executions().unwrap();
    federate.list_federation_executions().unwrap();
    let error = federate.list_federation_executions().unwrap_err();
    assert!(matches!(error, Error::Backlog(100)), "{error}");
    for _ in 0..100 {
        assert!(federate.evoke(Span::ZERO).unwrap().is_some());
    }
    federate.list_federation_executions().unwrap();
    federate.disconnect().unwrap();
    peer.seen();
}
