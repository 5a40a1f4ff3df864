//! Calls, exceptions and callbacks, against a scripted peer.

use std::time::{Duration, Instant};

use hemiola_federate::hla::call::{FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_federate::hla::data::{ConfigurationResult, JoinResult};
use hemiola_federate::hla::{
    AttributeHandle, Call, Callback, Exception, FederateHandle, LogicalInterval, LogicalTime,
    ObjectClassHandle, ObjectInstanceHandle, Reply, ResignAction,
};
use hemiola_federate::{Bytes, Error, Federate, Joining, Options, Span, TimeRequest};

use crate::peer::{Act, Peer, done, settings};

pub(crate) fn options() -> Options {
    Options { session: settings(), ..Options::default() }
}

/// Returns the usual replies of an RTI to the calls of all federates.
pub(crate) fn usual(call: &Call) -> Vec<Act> {
    let reply = match call.entry().shape {
        hemiola_federate::hla::call::Shape::Configured => {
            Reply::Configured(ConfigurationResult::default())
        }
        hemiola_federate::hla::call::Shape::Joined => Reply::Joined(JoinResult {
            federate: FederateHandle::new(1),
            logical_time_implementation: "HLAinteger64Time".into(),
        }),
        hemiola_federate::hla::call::Shape::Retraction => Reply::Retraction(None),
        _ => return done(),
    };
    vec![Act::Reply(Ok(reply))]
}

fn time(value: i64) -> LogicalTime {
    LogicalTime::integer(value).unwrap()
}

#[test]
fn a_call_returns_the_reply_of_the_rti() {
    let peer = Peer::start(|call| match call {
        Call::Object(ObjectCall::RegisterObjectInstance { .. }) => {
            vec![Act::Reply(Ok(Reply::ObjectInstance(ObjectInstanceHandle::new(77))))]
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    assert_eq!(federate.federate(), None);
    let joining = Joining::new("Viewer", "Demo").named("viewer 1");
    assert_eq!(federate.join_federation_execution(joining).unwrap(), FederateHandle::new(1));
    let instance = federate.register_object_instance(ObjectClassHandle::new(3)).unwrap();
    assert_eq!(instance, ObjectInstanceHandle::new(77));
    federate.resign_federation_execution(ResignAction::NoAction).unwrap();
    assert_eq!(federate.federate(), None);
    federate.disconnect().unwrap();
    let seen = peer.seen();
    let names: Vec<&str> = seen.calls.iter().map(Call::name).collect();
    let expected = [
        "ConnectWithConfiguration",
        "JoinFederationExecutionWithNameAndModules",
        "RegisterObjectInstance",
        "ResignFederationExecution",
        "Disconnect",
    ];
    assert_eq!(names, expected);
    assert_eq!(seen.end, Some(hemiola_federate::End::Terminated));
}

#[test]
fn a_federate_that_does_not_know_the_time_of_a_federation_has_not_joined_it() {
    let peer = Peer::start(|call| match call {
        Call::Federation(FederationCall::JoinFederationExecutionWithModules { .. }) => {
            let federate = FederateHandle::new(1);
            let logical_time_implementation = "Fortnights".into();
            let joined = JoinResult { federate, logical_time_implementation };
            vec![Act::Reply(Ok(Reply::Joined(joined)))]
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let error = federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap_err();
    assert_eq!(error.exception(), Some(Exception::CouldNotCreateLogicalTimeFactory), "{error}");
    assert_eq!(federate.federate(), None);
    federate.disconnect().unwrap();
    let seen = peer.seen();
    let names: Vec<&str> = seen.calls.iter().map(Call::name).collect();
    let join = "JoinFederationExecutionWithModules";
    let expected = ["ConnectWithConfiguration", join, "ResignFederationExecution", "Disconnect"];
    assert_eq!(names, expected);
}

#[test]
fn an_exception_is_an_error_with_its_name_and_does_not_end_the_session() {
    let peer = Peer::start(|call| match call {
        Call::Support(SupportCall::GetObjectClassHandle { object_class_name }) => {
            vec![Act::Reply(Err(Exception::NameNotFound.because(object_class_name.clone())))]
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let error = federate.get_object_class_handle("Ghost").unwrap_err();
    assert_eq!(error.exception(), Some(Exception::NameNotFound));
    assert_eq!(error.to_string(), "GetObjectClassHandle: NameNotFound: Ghost");
    assert!(!error.is_lost());
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn a_name_is_looked_up_once_per_federation() {
    let mut handle = 0;
    let peer = Peer::start(move |call| match call {
        Call::Support(SupportCall::GetAttributeHandle { .. }) => {
            handle += 1;
            vec![Act::Reply(Ok(Reply::Attribute(AttributeHandle::new(handle))))]
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let (one, other) = (ObjectClassHandle::new(1), ObjectClassHandle::new(2));
    for _ in 0..3 {
        assert_eq!(federate.get_attribute_handle(one, "x").unwrap(), AttributeHandle::new(1));
        assert_eq!(federate.get_attribute_handle(other, "x").unwrap(), AttributeHandle::new(2));
    }
    // Another federation may have a different object model.
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    assert_eq!(federate.get_attribute_handle(one, "x").unwrap(), AttributeHandle::new(3));
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn callbacks_are_delivered_in_order_and_only_by_evoke() {
    let labels = |range: std::ops::Range<u32>| {
        range.map(|number| Callback::FederationSynchronized {
            synchronization_point_label: number.to_string(),
            failed_to_sync_set: Vec::new(),
        })
    };
    let peer = Peer::start(move |call| {
        let mut acts = Vec::new();
        if matches!(call, Call::Federation(_)) && call.number() > 4 {
            acts.extend(labels(0..300).map(Act::Callback));
        }
        acts.extend(usual(call));
        acts
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    assert_eq!(federate.evoke(Span::ZERO).unwrap(), None);
    federate.list_federation_executions().unwrap();
    for expected in labels(0..300) {
        assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(expected));
    }
    assert_eq!(federate.evoke(Span::ZERO).unwrap(), None);
    drop(federate);
    assert_eq!(peer.seen().callbacks_taken, 300);
}

#[test]
fn waiting_for_a_callback_ends_at_the_timeout_and_uses_no_processor_time() {
    let peer = Peer::start(usual);
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (start, before) = (Instant::now(), used());
    assert_eq!(federate.evoke(Span::from_millis(300)).unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(300));
    let after = used();
    let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
    assert!(nanos < 50_000_000, "{nanos} ns of processor time in 300 ms of waiting");
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn an_advance_delivers_all_callbacks_before_its_grant() {
    let peer = Peer::start(|call| match call {
        Call::Time(TimeCall::TimeAdvanceRequest { time }) => {
            let remove = Callback::RemoveObjectInstance {
                object_instance: ObjectInstanceHandle::new(5),
                user_supplied_tag: "".into(),
                producing_federate: FederateHandle::new(2),
            };
            let mut acts = usual(call);
            acts.push(Act::Callback(remove));
            acts.push(Act::Callback(Callback::TimeAdvanceGrant { time: *time }));
            acts
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    for step in 1..=20 {
        let mut removed = 0;
        let granted = federate.advance(time(step), |_, callback| {
            assert!(matches!(callback, Callback::RemoveObjectInstance { .. }));
            removed += 1;
            Ok(())
        });
        assert_eq!((granted.unwrap(), removed), (time(step), 1));
    }
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn every_time_request_is_made_and_granted() {
    use TimeRequest::*;
    let peer = Peer::start(|call| match call {
        Call::Time(
            TimeCall::TimeAdvanceRequest { time }
            | TimeCall::TimeAdvanceRequestAvailable { time }
            | TimeCall::NextMessageRequest { time }
            | TimeCall::NextMessageRequestAvailable { time },
        ) => {
            let mut acts = usual(call);
            acts.push(Act::Callback(Callback::TimeAdvanceGrant { time: *time }));
            acts
        }
        Call::Time(TimeCall::FlushQueueRequest { time }) => {
            let (time, optimistic_time) = (*time, *time);
            let mut acts = usual(call);
            acts.push(Act::Callback(Callback::FlushQueueGrant { time, optimistic_time }));
            acts
        }
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    let requests = [
        TimeAdvanceRequest,
        TimeAdvanceRequestAvailable,
        NextMessageRequest,
        NextMessageRequestAvailable,
        FlushQueueRequest,
    ];
    for (step, request) in (1..).zip(requests) {
        let granted = federate.advance_with(request, time(step), |_, _| Ok(()));
        assert_eq!(granted.unwrap(), time(step), "{request:?}");
    }
    federate.disconnect().unwrap();
    let calls = peer.seen().calls;
    for request in requests {
        assert!(calls.iter().any(|call| call.name() == format!("{request:?}")), "{request:?}");
    }
}

/// Starts a peer that removes three instances, enables time regulation, and removes a fourth.
fn peer_with_callbacks_around_regulation() -> Peer {
    let remove = |number| {
        Act::Callback(Callback::RemoveObjectInstance {
            object_instance: ObjectInstanceHandle::new(number),
            user_supplied_tag: "".into(),
            producing_federate: FederateHandle::new(2),
        })
    };
    Peer::start(move |call| {
        let mut acts = usual(call);
        if let Call::Time(TimeCall::EnableTimeRegulation { .. }) = call {
            acts.extend((1..=3).map(remove));
            acts.push(Act::Callback(Callback::TimeRegulationEnabled { time: time(7).into() }));
            acts.push(remove(4));
        }
        acts
    })
}

#[test]
fn waiting_for_a_callback_keeps_the_others_in_order() {
    let peer = peer_with_callbacks_around_regulation();
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    let lookahead = LogicalInterval::integer(1).unwrap();
    assert_eq!(federate.enable_time_regulation_and_wait(lookahead).unwrap(), time(7));
    let mut removed = Vec::new();
    while removed.len() < 4 {
        match federate.evoke(Span::MAX).unwrap() {
            Some(Callback::RemoveObjectInstance { object_instance, .. }) => {
                removed.push(object_instance);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(removed, [1, 2, 3, 4].map(ObjectInstanceHandle::new));
    federate.disconnect().unwrap();
    assert_eq!(peer.seen().callbacks_taken, 5);
}

#[test]
fn waiting_for_a_callback_does_not_queue_others_without_a_limit() {
    let peer = peer_with_callbacks_around_regulation();
    let options = Options { callbacks_max: Bytes(100), ..options() };
    let mut federate = Federate::connect(&peer.address, options).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    federate.enable_time_regulation(LogicalInterval::integer(1).unwrap()).unwrap();
    let error = federate.wait_for(|_| None::<()>).unwrap_err();
    assert!(matches!(error, Error::Backlog(_) | Error::Lost(_)), "{error}");
}

#[test]
fn a_refused_advance_returns_the_exception_of_its_call() {
    let peer = Peer::start(|call| match call {
        Call::Time(_) => vec![Act::Reply(Err(Exception::LogicalTimeAlreadyPassed.into()))],
        call => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    let error = federate.advance(time(1), |_, _| Ok(())).unwrap_err();
    assert!(matches!(
        error,
        Error::Exception { call: "TimeAdvanceRequest", ref refusal }
            if refusal.exception == Exception::LogicalTimeAlreadyPassed
    ));
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn a_federate_that_has_not_joined_cannot_decode_a_time() {
    let peer = Peer::start(usual);
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let error = federate.time(time(1).into()).unwrap_err();
    assert_eq!(error.exception(), Some(Exception::FederateNotExecutionMember));
    federate.disconnect().unwrap();
    peer.seen();
}
