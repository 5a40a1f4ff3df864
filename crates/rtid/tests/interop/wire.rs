//! A client on the level of bytes: it sends hand-written bytes and compares received bytes with expected ones.

use std::collections::{BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::notation::{bytes, holes};
use crate::peer::TIMEOUT;

/// No sequence number.
pub(super) const NONE: u32 = 0x8000_0000;

/// The kinds of frames.
pub(super) const NEW_SESSION: u32 = 1;
pub(super) const NEW_SESSION_STATUS: u32 = 2;
pub(super) const HEARTBEAT: u32 = 3;
pub(super) const HEARTBEAT_RESPONSE: u32 = 4;
pub(super) const TERMINATE: u32 = 5;
pub(super) const TERMINATED: u32 = 6;
pub(super) const RESUME_REQUEST: u32 = 10;
pub(super) const RESUME_STATUS: u32 = 11;
pub(super) const CALL: u32 = 20;
pub(super) const REPLY: u32 = 21;
pub(super) const CALLBACK: u32 = 22;
pub(super) const TAKEN: u32 = 23;

/// A received frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) sequence: u32,
    pub(super) session: u64,
    pub(super) last_received: u32,
    pub(super) kind: u32,
    pub(super) payload: Vec<u8>,
}

/// Returns the bytes of a frame.
pub(super) fn frame(sequence: u32, session: u64, last: u32, kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (24 + payload.len() as u32).to_be_bytes().to_vec();
    frame.extend(sequence.to_be_bytes());
    frame.extend(session.to_be_bytes());
    frame.extend(last.to_be_bytes());
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A connection and the client's state of its session.
pub(super) struct Wire {
    address: SocketAddr,
    stream: TcpStream,
    pub(super) session: u64,
    /// The number of the next frame.
    pub(super) next: u32,
    /// The last received number that it sends: that of the newest message, unless the test overrides it.
    pub(super) received: u32,
    /// The number of the RTI's next frame.
    pub(super) expected: u32,
    /// The numbers of sent messages, which the RTI may acknowledge.
    messages: BTreeSet<u32>,
    /// Calls and callbacks without a reply.
    pub(super) calls: VecDeque<u32>,
    pub(super) callbacks: VecDeque<u32>,
}

impl Wire {
    /// Opens a connection without a session.
    pub(super) fn connect(address: SocketAddr) -> Self {
        Self {
            address,
            stream: dial(address),
            session: 0,
            next: 0,
            received: NONE,
            expected: 0,
            messages: BTreeSet::new(),
            calls: VecDeque::new(),
            callbacks: VecDeque::new(),
        }
    }

    /// Opens a new session.
    pub(super) fn open(address: SocketAddr) -> Self {
        let mut wire = Self::connect(address);
        wire.control(NEW_SESSION, "00000001");
        let status = wire.frame();
        assert_eq!((status.kind, status.payload), (NEW_SESSION_STATUS, vec![0; 4]));
        assert_eq!((status.sequence, status.last_received), (0, NONE));
        assert_ne!(status.session, 0);
        wire.session = status.session;
        wire.expected = 1;
        wire
    }

    /// Sends bytes unchanged.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends a frame with the next number. Returns the number.
    pub(super) fn control(&mut self, kind: u32, payload: &str) -> u32 {
        let number = self.next;
        self.next += 1;
        self.send(&frame(number, self.session, self.received, kind, &bytes(payload)));
        number
    }

    fn message(&mut self, kind: u32, payload: &str) -> u32 {
        self.messages.insert(self.next);
        self.control(kind, payload)
    }

    /// Calls a service.
    pub(super) fn call(&mut self, body: &str) -> u32 {
        let number = self.message(CALL, body);
        self.calls.push_back(number);
        number
    }

    /// Replies to the oldest callback without a reply.
    pub(super) fn answer(&mut self, body: &str) {
        let number = self.callbacks.pop_front().expect("a callback without a reply");
        self.message(TAKEN, &format!("{number:08x} {body}"));
    }

    /// Confirms the oldest callback without a reply.
    pub(super) fn taken(&mut self) {
        self.answer("@1[]");
    }

    /// Receives the next frame of any kind.
    pub(super) fn frame(&mut self) -> Frame {
        self.read().expect("a frame, not the end of the connection")
    }

    fn read(&mut self) -> Option<Frame> {
        let mut header = [0; 24];
        if let Err(error) = self.stream.read_exact(&mut header) {
            assert!(
                !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "nothing received within the timeout"
            );
            return None;
        }
        let at = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
        let mut payload = vec![0; at(0) as usize - 24];
        self.stream.read_exact(&mut payload).unwrap();
        let session = u64::from(at(8)) << 32 | u64::from(at(12));
        Some(Frame { sequence: at(4), session, last_received: at(16), kind: at(20), payload })
    }

    /// Receives the next frame of the session, which must have this kind and the next number.
    fn next_frame(&mut self, kind: u32) -> Frame {
        let frame = self.frame();
        assert_eq!((frame.kind, frame.sequence), (kind, self.expected), "{frame:x?}");
        self.expected += 1;
        self.check(&frame);
        frame
    }

    /// Checks the properties of every frame of the session. Only messages are acknowledged.
    pub(super) fn check(&mut self, frame: &Frame) {
        assert_eq!(frame.session, self.session);
        let last = frame.last_received;
        assert!(last == NONE || self.messages.contains(&last), "{last} is no message");
        if matches!(frame.kind, REPLY | CALLBACK) {
            self.received = frame.sequence;
        }
    }

    /// Receives the reply to the oldest pending call. Returns the contents of the holes.
    pub(super) fn reply<const N: usize>(&mut self, body: &str) -> [String; N] {
        holes(body, &self.reply_body())
    }

    fn reply_body(&mut self) -> Vec<u8> {
        let mut payload = self.next_frame(REPLY).payload;
        let body = payload.split_off(4);
        let number = self.calls.pop_front().expect("a call without a reply");
        assert_eq!(payload, number.to_be_bytes(), "replies arrive in the order of the calls");
        body
    }

    /// Receives the reply to the oldest pending call, which must be this exception, with any details.
    pub(super) fn raises(&mut self, exception: &str) {
        let body = self.reply_body();
        assert!(
            is(exception, &body),
            "expected {exception}, found {}",
            String::from_utf8_lossy(&body)
        );
    }

    /// Receives the reply to the oldest pending call: the empty result of this case, or this exception.
    pub(super) fn done_or_raises(&mut self, case: u32, exception: &str) {
        let body = self.reply_body();
        if !is(exception, &body) {
            holes::<0>(&format!("@{}[]", case + 1), &body);
        }
    }

    /// Calls a service. Returns the contents of the holes in its reply.
    pub(super) fn ask<const N: usize>(&mut self, call: &str, reply: &str) -> [String; N] {
        self.call(call);
        self.reply(reply)
    }

    /// Calls a service without a result: the reply is the case after that of the call.
    pub(super) fn done(&mut self, case: u32, arguments: &str) {
        self.call(&format!("@{case}[{arguments}]"));
        self.reply::<0>(&format!("@{}[]", case + 1));
    }

    /// Receives the reply to a connect of this case: the address was not used, perhaps with a reason for the settings.
    pub(super) fn configured(&mut self, case: u32) {
        let body = self.reply_body();
        let front = bytes(&format!("@{}[]", case + 1));
        assert_eq!(body[0], front[0], "{body:x?}");
        let result = &body[2..];
        assert_eq!(
            (usize::from(body[1]), result[0]),
            (result.len(), 0x0a),
            "the reply contains a result"
        );
    }

    /// Calls a service that returns a handle of this many bytes.
    pub(super) fn handle(&mut self, case: u32, arguments: &str, len: usize) -> String {
        self.call(&format!("@{case}[{arguments}]"));
        let [handle] = self.reply(&format!("@{}[@1[@1[?{len}]]]", case + 1));
        handle
    }

    /// Receives a callback. Returns the contents of the holes.
    pub(super) fn callback<const N: usize>(&mut self, body: &str) -> [String; N] {
        let frame = self.next_frame(CALLBACK);
        self.callbacks.push_back(frame.sequence);
        holes(body, &frame.payload)
    }

    /// Receives and confirms a callback. Returns the contents of the holes.
    pub(super) fn take<const N: usize>(&mut self, body: &str) -> [String; N] {
        let holes = self.callback(body);
        self.taken();
        holes
    }

    /// Sends a heartbeat.
    pub(super) fn beat(&mut self) -> u32 {
        self.control(HEARTBEAT, "")
    }

    /// Receives the response to a heartbeat.
    pub(super) fn beaten(&mut self, number: u32) {
        assert_eq!(self.next_frame(HEARTBEAT_RESPONSE).payload, number.to_be_bytes());
    }

    /// Ends the session. The RTI confirms it with its last frame and closes the connection.
    pub(super) fn terminate(mut self) {
        self.control(TERMINATE, "");
        assert!(self.next_frame(TERMINATED).payload.is_empty());
        self.gone();
    }

    /// Checks that the RTI closes the connection without sending anything.
    pub(super) fn gone(&mut self) {
        assert_eq!(self.read(), None, "the connection is closed");
    }

    /// Resumes the session over a new connection, with the numbers of the newest received and the oldest kept message.
    /// Returns the status and the number of the newest message that the RTI has received.
    pub(super) fn resume(&mut self, newest_received: u32, oldest_kept: u32) -> (u32, u32) {
        self.stream = dial(self.address);
        let mut payload = newest_received.to_be_bytes().to_vec();
        payload.extend(oldest_kept.to_be_bytes());
        self.send(&frame(NONE, self.session, newest_received, RESUME_REQUEST, &payload));
        let status = self.frame();
        assert_eq!((status.kind, status.session), (RESUME_STATUS, self.session));
        let number = |at: usize| u32::from_be_bytes(status.payload[at..at + 4].try_into().unwrap());
        assert_eq!(status.payload.len(), 8);
        if number(0) == 0 {
            self.expected = status.sequence + 1;
        }
        (number(0), number(4))
    }

    /// Breaks the connection.
    pub(super) fn cut(&mut self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
    }

    /// Records a message that the test sent itself.
    pub(super) fn accept_message(&mut self, number: u32) {
        self.messages.insert(number);
    }

    /// Returns the present connection, so that it stays open when the session resumes over another.
    pub(super) fn keep_old_connection(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }
}

/// Whether the body of a reply is this exception, with any details.
fn is(exception: &str, body: &[u8]) -> bool {
    let name = bytes(&format!("@1['{exception}']"));
    body[0] == 0x0a && body.windows(name.len()).any(|part| part == name)
}

fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}
