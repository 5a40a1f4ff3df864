//! Links within one host, and peers that do something else than they should.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::frame::{
    DATAGRAM_MAX, Datagram, MAGIC, REQUEST, Request, TRANSFER_MAX, WELCOME, Welcome,
};
use super::serving::Serving;
use super::*;
use crate::source::ReadingSource;
use hemiola_units::Instant;

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Runs `with` while a host answers.
fn answered<T>(with: impl FnOnce(SocketAddr) -> T) -> T {
    let server = Server::bind(ANY.into()).unwrap();
    let (address, ended) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&ended, &|_| ()));
        let ending = Ending(&ended);
        let result = with(address);
        drop(ending);
        serving.join().unwrap().unwrap();
        result
    })
}

/// Ends a server, also when a test fails.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A link to the host as soon as its last session is over.
fn connected(address: SocketAddr) -> Link {
    loop {
        match Link::connect(address) {
            Err(LinkError::Busy { .. }) => thread::sleep(Duration::from_millis(10)),
            result => return result.unwrap(),
        }
    }
}

/// A host that welcomes one peer, and then does something else than it should.
fn host(behave: impl FnOnce(TcpStream, UdpSocket) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let datagrams = UdpSocket::bind(ANY).unwrap();
        let port = datagrams.local_addr().unwrap().port();
        stream.read_exact(&mut [0; MAGIC.len()]).unwrap();
        stream.write_all(&Welcome::Granted { token: 7, port }.encode()).unwrap();
        behave(stream, datagrams);
    });
    address
}

fn request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = [0; REQUEST];
    stream.read_exact(&mut bytes).ok()?;
    Request::decode(&bytes).ok()
}

/// The error of a reading.
fn refused(address: SocketAddr, figure: &str) -> String {
    let mut link = Link::connect(address).unwrap();
    link.stalls_after(Duration::from_millis(200));
    link.read(figure, 1).unwrap_err().to_string()
}

#[test]
fn every_figure_of_a_link_can_be_read() {
    answered(|address| {
        let mut link = connected(address);
        for figure in catalogue() {
            let readings = link.read(&figure.name, 2).unwrap();
            assert_eq!((readings.values.len(), readings.unit), (2, figure.unit), "{}", figure.name);
            assert!(readings.values.iter().all(|value| *value > 0.0), "{readings:?}");
        }
        let all = link.losses().unwrap().all;
        assert!(all.sent == 100 && all.arrived >= all.returned, "{all:?}");
    });
}

#[test]
fn a_host_measures_with_one_other_host_at_a_time() {
    answered(|address| {
        let first = connected(address);
        let second = Link::connect(address);
        assert!(matches!(second, Err(LinkError::Busy { .. })), "{second:?}");
        drop(first);
        connected(address);
    });
}

#[test]
fn a_host_survives_every_peer_and_serves_the_next_one() {
    let hello = |address: SocketAddr| loop {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&MAGIC).unwrap();
        let mut welcome = [0; WELCOME];
        stream.read_exact(&mut welcome).unwrap();
        match Welcome::decode(&welcome).unwrap() {
            Welcome::Granted { .. } => break stream,
            Welcome::Busy => thread::sleep(Duration::from_millis(10)),
        }
    };
    answered(|address| {
        // Another protocol.
        drop(connected(address));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let _ = stream.read(&mut [0; 1]);
        drop(connected(address));
        // Too much at once, and no such request.
        for words in [[2, TRANSFER_MAX + 1, 0], [1, 1 << 20, 0], [9, 0, 0]] {
            let mut stream = hello(address);
            let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            stream.write_all(&bytes).unwrap();
            assert_ne!(stream.read(&mut [0; 1]).ok(), Some(1), "{words:?}");
            drop(connected(address));
        }
        // Gone in the middle of a transfer, in both directions.
        for request in
            [Request::Take { length: 1 << 20 }, Request::Give { length: 1 << 24, seed: 1 }]
        {
            let mut stream = hello(address);
            stream.write_all(&request.encode()).unwrap();
            stream.shutdown(Shutdown::Both).unwrap();
            drop(connected(address));
        }
    });
}

#[test]
fn losses_are_counted_by_direction() {
    // Every fifth datagram does not arrive, and of the others every tenth does not come back.
    let address = host(|mut stream, datagrams| {
        let arrived = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&arrived);
        thread::spawn(move || {
            let mut bytes = [0; DATAGRAM_MAX];
            while let Ok((length, from)) = datagrams.recv_from(&mut bytes) {
                let number = Datagram::read(&bytes[..length]).unwrap().number;
                if !number.is_multiple_of(5) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                if !number.is_multiple_of(5) && number % 10 != 1 {
                    datagrams.send_to(&bytes[..length], from).unwrap();
                }
            }
        });
        while request(&mut stream).is_some() {
            stream.write_all(&arrived.load(Ordering::Relaxed).to_le_bytes()).unwrap();
        }
    });
    let mut link = Link::connect(address).unwrap();
    for _ in 0..2 {
        assert_eq!(link.read(JITTER, 1).unwrap().values.len(), 1);
    }
    let losses = link.losses().unwrap();
    let Counts { sent, arrived, returned, .. } = losses.all;
    assert_eq!((sent, arrived, returned), (100, 80, 70));
    let [to, from] = [losses.to, losses.from].map(|share| share.unwrap().value);
    assert!((to - 0.2).abs() < 1e-9 && (from - 0.125).abs() < 1e-9, "{to} {from}");
}

#[test]
fn copies_that_the_network_makes_of_datagrams_are_counted_and_are_no_error() {
    let address = host(|mut stream, datagrams| {
        let serving = Arc::new(Mutex::new(Serving::default()));
        assert!(serving.lock().unwrap().admit(Ipv4Addr::LOCALHOST.into(), 7, Instant::ZERO));
        let returning = Arc::clone(&serving);
        thread::spawn(move || {
            let mut bytes = [0; DATAGRAM_MAX];
            while let Ok((length, from)) = datagrams.recv_from(&mut bytes) {
                for _copy in 0..2 {
                    let mut serving = returning.lock().unwrap();
                    assert!(serving.datagram(from.ip(), &bytes[..length], Instant::ZERO));
                    datagrams.send_to(&bytes[..length], from).unwrap();
                }
            }
        });
        while request(&mut stream).is_some() {
            let returned = serving.lock().unwrap().returned();
            stream.write_all(&returned.to_le_bytes()).unwrap();
        }
    });
    let mut link = Link::connect(address).unwrap();
    for _ in 0..2 {
        assert_eq!(link.read(JITTER, 1).unwrap().values.len(), 1);
    }
    let all = link.losses().unwrap().all;
    assert_eq!((all.sent, all.arrived, all.returned), (100, 100, 100));
    // The copy of the last datagram of each train may be on its way when the train is over.
    assert!((98..=100).contains(&all.repeated), "{all:?}");
}

#[test]
fn the_session_goes_on_where_no_datagram_arrives() {
    let (ask, asked) = std::sync::mpsc::channel();
    let no_datagram_arrives = host(move |mut stream, _datagrams| {
        while let Some(request) = request(&mut stream) {
            ask.send(request).unwrap();
            stream.write_all(&0_u64.to_le_bytes()).unwrap();
        }
    });
    let mut link = Link::connect(no_datagram_arrives).unwrap();
    let said = link.read("link.udp.round_trip.64B", 10).unwrap_err().to_string();
    assert!(said.contains("none of 5 datagrams of 64 bytes came back"), "{said}");
    assert_eq!((link.cut(), asked.try_recv()), (None, Ok(Request::Count)));
}

#[test]
fn a_train_without_an_answer_is_named_and_counted() {
    let no_datagram_arrives = host(|mut stream, _datagrams| {
        while request(&mut stream).is_some() {
            stream.write_all(&0_u64.to_le_bytes()).unwrap();
        }
    });
    let mut link = Link::connect(no_datagram_arrives).unwrap();
    assert_eq!(link.losses(), None);
    let said = link.read(JITTER, 10).unwrap_err().to_string();
    let expected = "none of 250 datagrams of 200 bytes came back within 1s each, and the other host received none of \
                    them; does a firewall refuse UDP?";
    assert_eq!(said, expected);
    let losses = link.losses().unwrap();
    assert_eq!((losses.all.sent, losses.all.arrived, losses.all.returned), (250, 0, 0));
    assert_eq!(losses.to.map(|share| share.value), Some(1.0));
    assert_eq!(losses.from, None);
    // Round trips over the connection are not concerned.
    assert_eq!(link.cut(), None);
}

#[test]
fn a_host_that_lies_stalls_or_floods_is_named() {
    let message = "link.tcp.round_trip.64B";
    let other_bytes = host(|mut stream, _| {
        request(&mut stream);
        stream.read_exact(&mut [0; 64]).unwrap();
        stream.write_all(&[7; 64]).unwrap();
    });
    assert!(refused(other_bytes, message).contains("returned other bytes"));

    // It returns the second message before it has arrived.
    let foresees = host(|mut stream, _| {
        request(&mut stream);
        let mut bytes = [0; 64];
        stream.read_exact(&mut bytes).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.write_all(&bytes).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert!(refused_after_all(foresees, message).contains("returned other bytes"));
    // It returns the next datagram before it has arrived.
    let foresees = host(|mut stream, datagrams| {
        thread::spawn(move || {
            let mut bytes = [0; DATAGRAM_MAX];
            while let Ok((length, from)) = datagrams.recv_from(&mut bytes) {
                let head = Datagram::read(&bytes[..length]).unwrap();
                Datagram { number: head.number + 1, ..head }.write(&mut bytes);
                datagrams.send_to(&bytes[..length], from).unwrap();
            }
        });
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let said = refused_after_all(foresees, "link.udp.round_trip.64B");
    assert!(said.contains("none of 5 datagrams"), "{said}");

    let gone = host(|stream, _| drop(stream));
    let said = refused(gone, message);
    assert!(said.contains("the connection to the other host failed while"), "{said}");

    let (release, held) = std::sync::mpsc::channel::<()>();
    let stalls = host(move |stream, _| {
        let _ = held.recv();
        drop(stream);
    });
    let said = refused(stalls, message);
    assert!(said.contains("waiting for an answer") && said.contains("timed out"), "{said}");
    drop(release);

    // It answers before the bytes have arrived.
    let early = host(|mut stream, _| {
        while let Some(Request::Echo { length }) = request(&mut stream) {
            let mut bytes = vec![0; length as usize];
            stream.read_exact(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        }
        stream.write_all(&[7; 8]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert!(refused(early, BANDWIDTH_TO).contains("wrong sum"));

    let many = host(|mut stream, _| {
        for count in [0_u64, 51] {
            request(&mut stream);
            stream.write_all(&count.to_le_bytes()).unwrap();
        }
    });
    let said = refused(many, JITTER);
    assert!(said.contains("or more than were sent"), "{said}");

    let silent = host(|mut stream, _| drop(stream.read(&mut [0; 1])));
    let said = refused_after_all(silent, "link.udp.round_trip.64B");
    assert!(said.contains("none of 5 datagrams of 64 bytes came back"), "{said}");

    let floods = host(|mut stream, datagrams| {
        let mut bytes = [0; 64];
        let (_, from) = datagrams.recv_from(&mut bytes).unwrap();
        Datagram { token: 7, number: 1 << 40 }.write(&mut bytes);
        stream.set_nonblocking(true).unwrap();
        // Until the peer gives up.
        while stream.read(&mut [0; 1]).is_err_and(|error| is_pause(&error)) {
            let _ = datagrams.send_to(&bytes, from);
        }
    });
    let said = refused_after_all(floods, "link.udp.round_trip.64B");
    assert!(said.contains("floods") || said.contains("none of 5"), "{said}");
}

#[test]
fn a_link_that_fails_is_not_tried_again() {
    let address = host(|mut stream, _datagrams| {
        // Silent until the peer gives up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut link = Link::connect(address).unwrap();
    link.stalls_after(Duration::from_millis(200));
    assert_eq!(link.cut(), None);
    let failed = link.read("link.tcp.round_trip.64B", 1).unwrap_err().to_string();
    assert_eq!(link.cut(), Some(failed.as_str()));
    for figure in catalogue() {
        let error = link.read(&figure.name, 1).unwrap_err().to_string();
        assert_eq!(error, format!("the link failed before: {failed}"));
    }
}

/// The error of a figure whose readings are lost.
fn refused_after_all(address: SocketAddr, figure: &str) -> String {
    let mut link = Link::connect(address).unwrap();
    link.read(figure, 10).unwrap_err().to_string()
}

fn is_pause(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock
}

#[test]
fn hosts_are_named_with_or_without_a_port() {
    for (name, address) in [
        ("127.0.0.1", "127.0.0.1:15168"),
        ("127.0.0.1:7", "127.0.0.1:7"),
        ("::1", "[::1]:15168"),
        ("[::1]:7", "[::1]:7"),
    ] {
        assert_eq!(resolve(name).unwrap().to_string(), address);
    }
    for (name, expected) in [
        ("no host at all", "no host is called no host at all: "),
        ("no host: at all", "the port ` at all` is not a number from 1 to 65535\n"),
    ] {
        let error = resolve(name).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
