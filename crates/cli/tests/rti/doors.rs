//! Silent connections, and invalid input at the local socket and the metrics port.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use hemiola_rt::shared::{Stream, Urgency, Wake};
use hemiola_rt::sys::local;
use hemiola_units::{Random, RtiAddress};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_getfl, fcntl_setfl};

use super::peer::{connect, whole};
use super::scene::Scene;
use crate::machine::PATIENCE;

#[test]
fn silent_connections_are_closed_in_time() {
    let scene = Scene::begin("silent", &["--log", "debug"]);
    let silent: Vec<TcpStream> = (0..200).map(|_| connect(scene.address())).collect();
    scene.others_go_on();
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    }
    scene.rti.says("did not state its purpose", 200);
    scene.end();
}

fn local(scene: &Scene) -> UnixStream {
    let name = scene.rti.shm().strip_prefix("shm:").unwrap();
    let stream = local::connect(&RtiAddress::socket_name(name)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads until the connection is closed or reset.
fn rest(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
        _ => bytes,
    }
}

#[test]
fn anything_but_the_known_lines_closes_the_local_socket() {
    let scene = Scene::begin("local", &[]);
    let lines: [&[u8]; 7] = [
        b"\n",
        b"status\n",
        b"status 2\n",
        b"STATUS 1\n",
        b"sessions 1\n",
        &[0xFF; 1025],
        &[b'a'; 100_000],
    ];
    for line in lines {
        let mut stream = local(&scene);
        // The RTI may close the connection before everything is written.
        let _ = stream.write_all(line);
        assert_eq!(rest(&stream), b"", "{:?}", String::from_utf8_lossy(line));
    }
    // Cut off in the middle, and a session whose federate goes at once.
    for line in [&b""[..], b"sta", b"status 1", b"session 1\n"] {
        let mut stream = local(&scene);
        stream.write_all(line).unwrap();
        drop(stream);
    }
    let mut byte_by_byte = local(&scene);
    for byte in b"status 1\n" {
        byte_by_byte.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(rest(&byte_by_byte).starts_with(b"{\"layout\":"));
    scene.end();
}

#[test]
fn anything_but_a_request_for_the_metrics_is_refused_over_http() {
    let scene = Scene::begin("http", &["--metrics", "127.0.0.1:0"]);
    let url = &scene.rti.addresses[2];
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let ask = |request: &[u8]| {
        let mut stream = connect(address.parse().unwrap());
        let _ = stream.write_all(request);
        String::from_utf8(rest(&stream)).unwrap()
    };
    let text = ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("hemiola_rti_federates{federation=\"Others\"} 2\n"), "{text}");
    assert!(ask(b"GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask(b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(ask(&[0; 100_000]).starts_with("HTTP/1.1 400"));
    drop(connect(address.parse().unwrap()));
    scene.end();
}

/// A stream in shared memory, and the socket that stays open beside it.
fn offered(scene: &Scene) -> (UnixStream, [OwnedFd; 3]) {
    let mut socket = local(scene);
    socket.write_all(b"session 1\n").unwrap();
    let (mut bytes, mut descriptors) = ([0; 16], Vec::new());
    let len = local::receive_with(&socket, &mut bytes, &mut descriptors).unwrap();
    assert_eq!(bytes[..len], *b"ok\n");
    (socket, descriptors.try_into().unwrap())
}

/// Waits until the RTI has closed the connection.
fn is_hung_up(mut socket: &UnixStream) {
    assert_eq!(socket.read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn bytes_that_are_not_frames_are_refused_over_shared_memory_too() {
    let scene = Scene::begin("shared-frames", &[]);
    let bad = [vec![0; 64], vec![0xFF; 64], whole(0, 0, 20, &[]), b"GET / HTTP/1.1".to_vec()];
    for bytes in &bad {
        let (socket, descriptors) = offered(&scene);
        let mut stream = Stream::accept(descriptors).unwrap();
        stream.write(bytes, Urgency::Urgent).unwrap();
        is_hung_up(&socket);
    }
    scene.rti.says("connection closed", bad.len());
    scene.end();
}

#[test]
fn overwritten_shared_memory_ends_only_its_own_session() {
    let scene = Scene::begin("scribbles", &["--log", "debug"]);
    let mut random = Random::from_seed(7);
    for round in 0..50 {
        let (socket, descriptors) = offered(&scene);
        let memory = std::fs::File::from(descriptors[0].try_clone().unwrap());
        let len = memory.metadata().unwrap().len();
        let mut stream = Stream::accept(descriptors).unwrap();
        let new_session = whole(0, 0, 1, &1_u32.to_be_bytes());
        if round % 2 == 0 {
            stream.write(&new_session, Urgency::Urgent).unwrap();
        }
        // Positions and flags come first, then the bytes.
        for _ in 0..200 {
            let at = random.below(if round % 4 < 2 { 1024 } else { len - 8 });
            memory.write_at(&random.bits().to_le_bytes(), at).unwrap();
        }
        // Wakes the RTI up, which may already have closed the session.
        let _ = stream.write(&new_session, Urgency::Urgent);
        drop(stream);
        drop(socket);
    }
    scene.end();
}

/// Writes to a descriptor until it has no room, and makes further writes to it wait.
fn fill(bell: &OwnedFd) {
    let flags = fcntl_getfl(bell).unwrap();
    fcntl_setfl(bell, flags | OFlags::NONBLOCK).unwrap();
    // A counter is full after at most one write of each power of two, and refuses what does not fit.
    for power in (0..64).rev() {
        let _ = rustix::io::write(bell, &(1_u64 << power).to_ne_bytes());
    }
    fcntl_setfl(bell, flags - OFlags::NONBLOCK).unwrap();
}

#[test]
fn bells_that_are_full_and_block_and_memory_with_holes_hang_nobody() {
    let scene = Scene::begin("malice", &["--log", "debug"]);
    let new_session = whole(0, 0, 1, &1_u32.to_be_bytes());
    for round in 0..20 {
        let (socket, descriptors) = offered(&scene);
        let copies = descriptors.each_ref().map(|one| one.try_clone().unwrap());
        let [memory, own, peer] = copies;
        let mut stream = Stream::accept(descriptors).unwrap();
        // The RTI rings when it answers, because this end says that it sleeps.
        stream.sleep(Wake::Any);
        match round % 4 {
            0 => fill(&own),
            1 => {
                let file = std::fs::File::from(memory);
                assert!(file.set_len(0).is_err());
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&file, hole, 0, 1 << 16).unwrap();
            }
            2 => drop(own),
            _ => {}
        }
        let _ = stream.write(&new_session, Urgency::Urgent);
        match round % 3 {
            0 => fill(&peer),
            1 => drop((socket, peer)),
            _ => {}
        }
        // To close the stream would ring, and wait for room.
        std::mem::forget(stream);
        scene.others_go_on();
    }
    scene.end();
}

#[test]
fn a_process_killed_with_its_shared_memory_is_noticed() {
    let scene = Scene::begin("shared-killed", &["--log", "debug"]);
    let (socket, descriptors) = offered(&scene);
    let [memory, bell, other] = descriptors.each_ref().map(|one| one.try_clone().unwrap());
    let mut stream = Stream::accept(descriptors).unwrap();
    stream.write(&whole(0, 0, 1, &1_u32.to_be_bytes()), Urgency::Urgent).unwrap();
    scene.rti.says("session opened", 3);
    stream.write(&whole(1, 0, 20, &[0; 100])[..30], Urgency::Urgent).unwrap();
    // A killed process does not close the stream, so the RTI notices only the socket, which another process has now.
    std::mem::forget(stream);
    let mut process = Command::new("sleep")
        .arg("60")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::from(memory))
        .stderr(Stdio::from(bell))
        .spawn()
        .unwrap();
    drop(other);
    scene.others_go_on();
    assert!(!scene.rti.log().contains("has lost its connection"));
    process.kill().unwrap();
    process.wait().unwrap();
    scene.rti.says("session detached", 1);
    scene.end();
}
