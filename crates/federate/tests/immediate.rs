//! Callbacks that come by themselves.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hemiola_federate::hla::call::FederationCall;
use hemiola_federate::hla::{Call, Callback};
use hemiola_federate::{Error, Federate};

use crate::calls::{options, usual};
use crate::peer::{Act, Peer};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_federate_may_go_to_another_thread() {
    fn goes<T: Send + 'static>() {}
    goes::<Federate>();
    goes::<hemiola_federate::Ambassador>();
}

/// Tells something for each list of federations.
fn telling(call: &Call) -> Vec<Act> {
    let mut acts = usual(call);
    if call.name() == "ListFederationExecutions" {
        acts.push(Act::Callback(Callback::ReportFederationExecutions { report: Vec::new() }));
    }
    acts
}

#[test]
fn callbacks_come_by_themselves_and_many_threads_make_calls() {
    let peer = Peer::start(telling);
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
fn a_handler_makes_calls_with_the_federate_it_is_given() {
    let peer = Peer::start(telling);
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
fn an_ambassador_in_its_own_handler_is_refused_and_does_not_wait_for_itself() {
    let peer = Peer::start(telling);
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
    assert!(matches!(answer, Err(Error::WithinHandler)));
    drop(ambassador);
    peer.seen();
}

#[test]
fn a_handler_is_told_as_the_last_that_the_rti_is_lost() {
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
    // It answers still.
    assert!(ambassador.with(Federate::get_auto_provide_switch).unwrap().unwrap_err().is_lost());
    drop(ambassador);
    peer.seen();
}
