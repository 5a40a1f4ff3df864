//! What calls, their exceptions and callbacks become.

use std::time::{Duration, Instant};

use hemiola_federate::hla::call::{ObjectCall, SupportCall, TimeCall};
use hemiola_federate::hla::data::{ConfigurationResult, JoinResult};
use hemiola_federate::hla::{
    AttributeHandle, Call, Callback, Exception, FederateHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, Reply, ResignAction,
};
use hemiola_federate::{Error, Federate, Joining, Options, Span};

use crate::peer::{Act, Peer, done, settings};

pub(crate) fn options() -> Options {
    Options { session: settings(), ..Options::default() }
}

/// What an RTI answers to calls that all federates make.
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
fn a_call_returns_what_the_rti_answers() {
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
        "Connect",
        "JoinFederationExecutionWithNameAndModules",
        "RegisterObjectInstance",
        "ResignFederationExecution",
        "Disconnect",
    ];
    assert_eq!(names, expected);
    assert_eq!(seen.end, Some(hemiola_federate::End::Terminated));
}

#[test]
fn an_exception_is_an_error_with_its_name_and_the_federate_goes_on() {
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
fn a_name_is_asked_for_once() {
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
    // Another federation may have another object model.
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    assert_eq!(federate.get_attribute_handle(one, "x").unwrap(), AttributeHandle::new(3));
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn callbacks_come_in_order_and_only_when_they_are_evoked() {
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
fn waiting_for_a_callback_ends_in_time_and_takes_no_processor() {
    let peer = Peer::start(usual);
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (start, before) = (Instant::now(), used());
    assert_eq!(federate.evoke(Span::from_millis(300)).unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(300));
    let after = used();
    let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
    assert!(nanos < 50_000_000, "{nanos} ns of the processor in 300 ms of waiting");
    federate.disconnect().unwrap();
    peer.seen();
}

#[test]
fn an_advance_hands_over_all_before_its_grant() {
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
fn an_advance_that_is_refused_raises_its_own_exception() {
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
fn a_time_means_nothing_to_a_federate_that_has_not_joined() {
    let peer = Peer::start(usual);
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let error = federate.time(time(1).into()).unwrap_err();
    assert_eq!(error.exception(), Some(Exception::FederateNotExecutionMember));
    federate.disconnect().unwrap();
    peer.seen();
}
