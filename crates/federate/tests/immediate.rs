//! Callbacks delivered by a thread of the ambassador.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hemiola_federate::hla::call::FederationCall;
use hemiola_federate::hla::{Call, Callback, Exception};
use hemiola_federate::{Error, Federate};

use crate::calls::{options, usual};
use crate::peer::{Act, Peer};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_federate_can_move_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Federate>();
    is_send::<hemiola_federate::Ambassador>();
}

/// Sends a callback for each call that lists the federations.
fn report_on_list(call: &Call) -> Vec<Act> {
    let mut acts = usual(call);
    if call.name() == "ListFederationExecutions" {
        acts.push(Act::Callback(Callback::ReportFederationExecutions { report: Vec::new() }));
    }
    acts
}

#[test]
fn callbacks_arrive_while_many_threads_make_calls() {
    let peer = Peer::start(report_on_list);
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let ambassador = federate.immediate(move |_, callback| sender.send(callback).unwrap()).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let ambassador = ambassador.clone();
            thread::spawn(move || {
                for _ in 0..25 {
                    ambassador.call(FederationCall::ListFederationExecutions).unwrap();
                }
            })
        })
        .collect();
    for _ in 0..100 {
        let callback = receiver.recv_timeout(SOON).unwrap().unwrap();
        assert_eq!(callback, Callback::ReportFederationExecutions { report: Vec::new() });
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    ambassador.finish().unwrap().disconnect().unwrap();
    assert!(matches!(ambassador.with(|_| ()), Err(Error::Stopped)));
    assert_eq!(peer.seen().calls.len(), 102);
}

#[test]
fn a_handler_can_make_calls_with_the_federate_it_receives() {
    let peer = Peer::start(report_on_list);
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let mut left = 5;
    let ambassador = federate
        .immediate(move |federate, _| {
            left -= 1;
            if left > 0 {
                federate.list_federation_executions().unwrap();
            } else {
                sender.send(()).unwrap();
            }
        })
        .unwrap();
    ambassador.with(Federate::list_federation_executions).unwrap().unwrap();
    receiver.recv_timeout(SOON).unwrap();
    drop(ambassador);
    assert_eq!(peer.seen().calls.len(), 6);
}

#[test]
fn a_call_of_the_ambassador_in_its_own_handler_fails_instead_of_blocking() {
    let peer = Peer::start(report_on_list);
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let (give, take) = mpsc::channel::<hemiola_federate::Ambassador>();
    let (sender, receiver) = mpsc::channel();
    let ambassador = federate
        .immediate(move |_, _| {
            let ambassador = take.recv().unwrap();
            sender.send(ambassador.with(|_| ())).unwrap();
        })
        .unwrap();
    give.send(ambassador.clone()).unwrap();
    ambassador.with(Federate::list_federation_executions).unwrap().unwrap();
    let answer = receiver.recv_timeout(SOON).unwrap();
    let exception = answer.unwrap_err().exception();
    assert_eq!(exception, Some(Exception::CallNotAllowedFromWithinCallback));
    drop(ambassador);
    peer.seen();
}

#[test]
fn the_last_event_of_a_handler_is_the_loss_of_the_rti() {
    let peer = Peer::start(|call| match call.name() {
        "GetAutoProvideSwitch" => vec![Act::Close],
        _ => usual(call),
    });
    let mut options = options();
    options.session.resume_window = hemiola_federate::Span::from_millis(100);
    let federate = Federate::connect(&peer.address, options).unwrap();
    let (sender, receiver) = mpsc::channel();
    let ambassador = federate.immediate(move |_, callback| sender.send(callback).unwrap()).unwrap();
    assert!(ambassador.with(Federate::get_auto_provide_switch).unwrap().unwrap_err().is_lost());
    assert!(receiver.recv_timeout(SOON).unwrap().unwrap_err().is_lost());
    // The ambassador still answers.
    assert!(ambassador.with(Federate::get_auto_provide_switch).unwrap().unwrap_err().is_lost());
    drop(ambassador);
    peer.seen();
}

#[test]
fn a_handler_is_told_once_why_the_rti_ends_the_session() {
    let fault_description = "the RTI has ended the session: it is Monday".to_owned();
    let lost = Callback::ConnectionLost { fault_description };
    let mut last = Some(vec![Act::Callback(lost.clone()), Act::Close]);
    let peer = Peer::start(move |call| match call.name() {
        "GetAutoProvideSwitch" => last.take().unwrap(),
        _ => usual(call),
    });
    let federate = Federate::connect(&peer.address, options()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let ambassador = federate.immediate(move |_, callback| sender.send(callback).unwrap()).unwrap();
    assert!(ambassador.with(Federate::get_auto_provide_switch).unwrap().unwrap_err().is_lost());
    assert_eq!(receiver.recv_timeout(SOON).unwrap().unwrap(), lost);
    assert!(receiver.recv_timeout(SOON).unwrap().unwrap_err().is_lost());
    drop(ambassador);
    assert_eq!(receiver.try_iter().count(), 0);
    peer.seen();
}
