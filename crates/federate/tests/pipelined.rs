//! Calls that do not wait for their replies.

use hemiola_federate::hla::call::{FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_federate::hla::data::{RtiConfiguration, TOLD_OF_LOSS};
use hemiola_federate::hla::{Call, Callback, Exception, LogicalTime, ObjectInstanceHandle, Reply};
use hemiola_federate::{Bytes, Calls, Error, Federate, Joining, Options, Span};

use crate::calls::{options, usual};
use crate::federation::Vehicle;
use crate::peer::{Act, Peer};
use crate::rti::{Rti, Transport};

fn joined(peer: &Peer) -> Federate {
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    federate
}

fn update(federate: &mut Federate, instance: u64) -> Result<(), Error> {
    federate.update_attribute_values(ObjectInstanceHandle::new(instance), &[], "")
}

#[test]
fn a_waiting_call_gets_its_reply_even_if_the_rti_defers_replies_of_its_kind() {
    let rti = Rti::start();
    for transport in Transport::ALL {
        let mut federate = Vehicle::join(&rti, transport, options()).federate;
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
    let mut federate = joined(&peer);
    for instance in 0..UPDATES {
        update(&mut federate, instance).unwrap();
    }
    federate.disconnect().unwrap();
    let instances = updated(&peer.seen().calls);
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
fn a_call_that_waits_returns_the_exception_of_an_earlier_call_and_is_not_made() {
    let peer = Peer::start(refuse_seven);
    let mut federate = joined(&peer);
    update(&mut federate, 6).unwrap();
    update(&mut federate, 7).unwrap();
    update(&mut federate, 8).unwrap();
    let error = federate.query_galt().unwrap_err();
    assert!(matches!(error, Error::Earlier { call: "UpdateAttributeValues", .. }), "{error}");
    assert_eq!(error.exception(), Some(Exception::AttributeNotOwned));
    federate.confirm().unwrap();
    update(&mut federate, 9).unwrap();
    federate.disconnect().unwrap();
    let calls = peer.seen().calls;
    let updates = calls.iter().filter(|call| matches!(call, Call::Object(_))).count();
    assert_eq!(updates, 4);
    assert!(!calls.iter().any(|call| call.name() == "QueryGALT"), "it was not made");
}

#[test]
fn a_federate_whose_calls_wait_gets_each_exception_from_its_own_call() {
    let peer = Peer::start(refuse_seven);
    let waiting = Options { calls: Calls::Waiting, ..options() };
    let mut federate = Federate::connect(&peer.address, waiting).unwrap();
    update(&mut federate, 6).unwrap();
    let error = update(&mut federate, 7).unwrap_err();
    assert!(matches!(error, Error::Exception { call: "UpdateAttributeValues", .. }), "{error}");
    federate.disconnect().unwrap();
    let rti_configuration =
        RtiConfiguration { additional_settings: TOLD_OF_LOSS.into(), ..Default::default() };
    let connect = FederationCall::ConnectWithConfiguration { rti_configuration };
    assert_eq!(peer.seen().calls[0], connect.into(), "it asks for nothing else");
}

#[test]
fn calls_made_together_have_their_own_results() {
    let rti = Rti::start();
    for transport in Transport::ALL {
        let mut federate = Vehicle::join(&rti, transport, options()).federate;
        let class =
            |name: &str| SupportCall::GetObjectClassHandle { object_class_name: name.into() };
        let calls = ["Vehicle", "Ghost", "HLAobjectRoot"].map(|name| class(name).into());
        let replies = federate.call_all(calls).unwrap();
        assert!(matches!(replies[0], Ok(Reply::ObjectClass(_))), "{replies:?}");
        let refused = replies[1].as_ref().unwrap_err();
        assert_eq!(
            refused.to_string().lines().next(),
            Some("GetObjectClassHandle: NameNotFound: Ghost")
        );
        assert!(matches!(replies[2], Ok(Reply::ObjectClass(_))), "{replies:?}");
        assert_eq!(federate.call_all([]).unwrap().len(), 0);
        // More calls than the RTI accepts without a reply.
        let many = (0..5000).map(|_| class("Vehicle").into());
        assert_eq!(federate.call_all(many).unwrap().iter().filter(|one| one.is_ok()).count(), 5000);
        let advance =
            TimeCall::TimeAdvanceRequest { time: LogicalTime::integer(1).unwrap().into() };
        let update = ObjectCall::DeleteObjectInstance {
            object_instance: ObjectInstanceHandle::new(99),
            user_supplied_tag: "".into(),
        };
        let replies = federate.call_all([advance.into(), update.into()]).unwrap();
        assert!(
            matches!(replies[..], [Ok(Reply::Done), Err(Error::Exception { .. })]),
            "{replies:?}"
        );
    }
}

#[test]
fn every_pipelined_call_arrives_once_however_often_the_connection_breaks() {
    // The instance that the RTI refuses, and the number of calls after which it breaks the connection.
    for (refused, every) in [(7, 3), (100, 7), (299, 50), (0, 1)] {
        let mut count = 0;
        let peer = Peer::start(move |call| {
            let Call::Object(ObjectCall::UpdateAttributeValues { object_instance, .. }) = call
            else {
                return usual(call);
            };
            let is_refused = object_instance.number() == refused;
            let refusal = || vec![Act::Reply(Err(Exception::AttributeNotOwned.into()))];
            let mut acts = if is_refused { refusal() } else { usual(call) };
            count += 1;
            acts.extend((count % every == 0).then_some(Act::Cut));
            acts
        });
        let mut federate = joined(&peer);
        let mut earlier = 0;
        for instance in 0..300 {
            while let Err(error) = update(&mut federate, instance) {
                assert!(matches!(error, Error::Earlier { call: "UpdateAttributeValues", .. }));
                earlier += 1;
            }
            if instance % 40 == 0 {
                federate.flush().unwrap();
            }
        }
        earlier += u32::from(federate.confirm().is_err());
        assert_eq!(earlier, 1, "one call was refused");
        federate.disconnect().unwrap();
        let seen = peer.seen();
        assert_eq!(updated(&seen.calls), (0..300).collect::<Vec<u64>>());
        assert!(seen.connections > 1);
    }
}

/// Returns the instances that were updated, in order.
fn updated(calls: &[Call]) -> Vec<u64> {
    let instances = calls.iter().filter_map(|call| match call {
        Call::Object(ObjectCall::UpdateAttributeValues { object_instance, .. }) => {
            Some(object_instance.number())
        }
        _ => None,
    });
    instances.collect()
}

#[test]
fn an_exception_of_an_earlier_call_ends_the_wait_for_a_callback() {
    let peer = Peer::start(refuse_seven);
    let mut federate = joined(&peer);
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
    let mut federate = joined(&peer);
    update(&mut federate, 1).unwrap();
    federate.flush().unwrap();
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(Callback::FederationRestored));
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn a_dropped_federate_sends_what_it_has_gathered() {
    let peer = Peer::start(usual);
    let mut federate = joined(&peer);
    update(&mut federate, 1).unwrap();
    drop(federate);
    assert_eq!(updated(&peer.seen().calls), [1]);
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
    let calls = Calls::Waiting;
    let fewest = Options { calls, callbacks_max: Bytes(10_000), ..options() };
    let mut flooded = Federate::connect(&peer.address, fewest).unwrap();
    // The reply may have arrived with the flood.
    let _ = flooded.list_federation_executions();
    assert!(flooded.list_federation_executions().unwrap_err().is_lost());
    assert!(flooded.evoke(Span::ZERO).unwrap().is_some(), "received callbacks can be evoked");
    drop(flooded);
    peer.seen();

    let peer = Peer::start(fifty);
    let few = Options { calls, callbacks_max: Bytes(60_000), ..options() };
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
