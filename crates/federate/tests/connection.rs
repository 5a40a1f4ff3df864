//! Connections that cannot be opened, that break, and that are resumed.

use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hemiola_federate::hla::{AttributeHandle, Call, Callback, ObjectInstanceHandle, Reply};
use hemiola_federate::{End, Error, Federate, Joining, Options, RtiAddress, Settings, Span};

use crate::calls::{options, usual};
use crate::peer::{Act, Peer, settings};

fn label(number: u32) -> Callback {
    Callback::SynchronizationPointRegistrationSucceeded {
        synchronization_point_label: number.to_string(),
    }
}

/// Returns the address of a port without a listener.
fn unused_address() -> RtiAddress {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("127.0.0.1:{port}").parse().unwrap()
}

#[test]
fn the_error_names_an_address_without_an_rti_and_the_reason() {
    let address = unused_address();
    let error = Federate::connect(&address, options()).unwrap_err();
    assert!(error.is_lost());
    let text = error.to_string();
    assert!(text.starts_with(&format!("no RTI answers at {address}: ")), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
}

#[test]
fn a_host_without_an_address_is_unreachable() {
    let address = "tcp:no-such-host.invalid:15164".parse().unwrap();
    let error = Federate::connect(&address, options()).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[test]
fn a_federate_with_a_timeout_finds_an_rti_that_starts_later() {
    let address = unused_address();
    let RtiAddress::Tcp { port, .. } = address else { panic!("the address is a TCP address") };
    let later = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        Peer::at(&format!("127.0.0.1:{port}"), usual)
    });
    let options = Options { connect_timeout: Span::from_millis(20_000), ..options() };
    let federate = Federate::connect(&address, options).unwrap();
    federate.disconnect().unwrap();
    later.join().unwrap().seen();
}

#[test]
fn connecting_to_a_silent_peer_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string().parse().unwrap();
    let session = Settings { greeting_max: Span::from_millis(200), ..settings() };
    let error = Federate::connect(&address, Options { session, ..options() }).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[test]
fn every_call_and_callback_arrives_once_however_often_the_connection_breaks() {
    let mut count = 0;
    let peer = Peer::start(move |call| {
        let mut acts = usual(call);
        if matches!(call, Call::Federation(_)) && call.number() > 5 {
            count += 1;
            acts.push(Act::Callback(label(count)));
            // Every third time, the reply and the callback are lost with the connection.
            if count % 3 == 0 {
                acts.push(Act::Cut);
            }
        }
        acts
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    for count in 1..=30 {
        federate.list_federation_executions().unwrap();
        assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(label(count)));
    }
    federate.disconnect().unwrap();
    let seen = peer.seen();
    assert_eq!((seen.calls.len(), seen.connections), (32, 11));
    assert_eq!(seen.callbacks_taken, 30);
}

#[test]
fn a_connection_that_breaks_while_a_federate_waits_is_resumed() {
    let mut cut = false;
    let peer = Peer::start(move |call| {
        let mut acts = usual(call);
        if call.name() == "ListFederationExecutions" && !cut {
            cut = true;
            // The reply arrives before the break, the callback over the next connection.
            acts.push(Act::Callback(label(1)));
            acts.push(Act::Cut);
        }
        acts
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.post(hemiola_federate::hla::call::FederationCall::ListFederationExecutions).unwrap();
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(label(1)));
    federate.disconnect().unwrap();
    assert_eq!(peer.seen().connections, 2);
}

#[test]
fn callbacks_received_before_the_rti_was_lost_can_be_evoked() {
    let peer = Peer::start(|call| {
        let mut acts = usual(call);
        if call.name() == "ListFederationExecutions" {
            acts.splice(0..0, [Act::Callback(label(1)), Act::Callback(label(2))]);
        }
        if call.name() == "GetAutoProvideSwitch" {
            return vec![Act::Close];
        }
        acts
    });
    let impatient = Settings { resume_window: Span::from_millis(100), ..settings() };
    let options = Options { session: impatient, ..options() };
    let mut federate = Federate::connect(&peer.address, options).unwrap();
    federate.list_federation_executions().unwrap();
    let error = federate.get_auto_provide_switch().unwrap_err();
    assert!(matches!(error, Error::Lost(End::Expired)), "{error}");
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(label(1)));
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(label(2)));
    assert!(federate.evoke(Span::MAX).unwrap_err().is_lost());
    assert!(federate.get_auto_provide_switch().unwrap_err().is_lost());
    peer.seen();
}

#[test]
fn the_reason_for_which_the_rti_ends_a_session_arrives_once_and_is_in_later_errors() {
    let fault_description = "the RTI has ended the session: it is Monday".to_owned();
    let lost = Callback::ConnectionLost { fault_description };
    let last = [Act::Callback(label(1)), Act::Callback(lost.clone()), Act::Close];
    let mut last = Some(last);
    let peer = Peer::start(move |call| match call.name() {
        "GetAutoProvideSwitch" => last.take().unwrap().into(),
        _ => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let expected = "the connection is lost: the RTI has ended the session: it is Monday";
    assert_eq!(federate.get_auto_provide_switch().unwrap_err().to_string(), expected);
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(label(1)));
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(lost));
    let error = federate.evoke(Span::MAX).unwrap_err();
    assert!(error.is_lost() && error.to_string() == expected, "{error}");
    assert_eq!(federate.get_auto_provide_switch().unwrap_err().to_string(), expected);
    drop(federate);
    assert_eq!(peer.seen().connections, 1, "it does not try to resume the session");
}

#[test]
fn a_federate_that_sends_when_its_connection_closes_learns_the_reason_too() {
    let lost = Callback::ConnectionLost { fault_description: "it is Monday".into() };
    let (all_sent, wait) = mpsc::channel::<()>();
    let mut last = Some(vec![Act::Callback(lost.clone()), Act::Close]);
    let peer = Peer::start(move |call| match call.name() {
        "UpdateAttributeValues" => last.take().map_or_else(Vec::new, |last| {
            wait.recv().unwrap();
            last
        }),
        _ => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    federate.join_federation_execution(Joining::new("Viewer", "Demo")).unwrap();
    for _ in 0..100 {
        let values = [(AttributeHandle::new(1), vec![0; 2 << 10].into())];
        federate.update_attribute_values(ObjectInstanceHandle::new(1), &values, "").unwrap();
    }
    federate.flush().unwrap();
    all_sent.send(()).unwrap();
    // The peer has closed its socket without reading everything, so writing to it fails at once.
    peer.seen();
    let error = federate.get_auto_provide_switch().unwrap_err();
    assert_eq!(error.to_string(), "the connection is lost: it is Monday");
    assert_eq!(federate.evoke(Span::MAX).unwrap(), Some(lost));
}

#[test]
fn a_reply_of_the_wrong_shape_is_an_error() {
    let peer = Peer::start(|call| match call.name() {
        "GetAutoProvideSwitch" => vec![Act::Reply(Ok(Reply::Name("yes".into())))],
        _ => usual(call),
    });
    let mut federate = Federate::connect(&peer.address, options()).unwrap();
    let error = federate.get_auto_provide_switch().unwrap_err();
    assert!(matches!(error, Error::Message { what: "a reply", .. }), "{error}");
    federate.disconnect().unwrap();
    peer.seen();
}

/// An RTI with too many connections closes the oldest one that has not said what it is for.
#[test]
fn a_connection_that_is_closed_without_an_answer_is_opened_twice_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string().parse().unwrap();
    let (opened, connections) = mpsc::channel();
    thread::spawn(move || while opened.send(listener.accept().unwrap().1).is_ok() {});
    let error = Federate::connect(&address, options()).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    for _ in 0..3 {
        connections.recv_timeout(Duration::from_secs(10)).unwrap();
    }
    assert!(connections.try_recv().is_err());
}
