//! One session, from its beginning to its end, and the helpers of its tests.

mod beginning;
mod end;
mod example;
mod gathering;
mod limits;
mod parts;
mod resume;
mod together;
mod violation;

use hemiola_fedpro::frame::{FrameKind, Header};
use hemiola_fedpro::message::{
    decode_call, encode_call, encode_callback, encode_reply, encode_taken,
};
use hemiola_fedpro::session::{
    Resume, ResumeRefusal, SessionRefusal, Side, refuse_resume, refuse_session,
};
use hemiola_fedpro::{
    Arrival, Client, End, Event, Greeting, RequestId, Sequence, Server, Session, SessionId,
    Settings, Ticket, Violation,
};
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{FederationExecutionInformation, FomModule};
use hemiola_hla::{Call, Callback, Data, Reply};
use hemiola_units::{Instant, Span};

const START: Instant = Instant::from_nanos(1_000_000_000);

fn seconds(seconds: i64) -> Span {
    Span::from_nanos(seconds * 1_000_000_000)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn id() -> SessionId {
    SessionId::new(0x0123_4567_89AB_CDEF).unwrap()
}

fn sequence(number: u32) -> Option<Sequence> {
    Sequence::new(number)
}

/// Returns the bytes that a session transmits.
fn transmitted<S: Side>(session: &mut Session<S>, now: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    session.transmit(now, &mut out, usize::MAX);
    out
}

fn events<S: Side>(session: &mut Session<S>) -> Vec<Event> {
    std::iter::from_fn(|| session.poll()).collect()
}

/// Returns a frame of a peer, valid or not.
fn frame(kind: FrameKind, number: u32, received: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let last_received = received.and_then(Sequence::new);
    let header = Header { sequence: sequence(number), session: id(), last_received, kind };
    [&header.to_bytes(payload.len())[..], payload].concat()
}

fn arrive(settings: &Settings, now: Instant, bytes: &[u8]) -> (Arrival, Greeting) {
    let mut arrival = Arrival::new(now, settings);
    let greeting = arrival.receive(bytes).unwrap().expect("the first frame is complete");
    (arrival, greeting)
}

/// A federate and an RTI in an idle, running session.
struct Pair {
    now: Instant,
    federate: Session<Client>,
    rti: Session<Server>,
}

impl Pair {
    fn new(settings: Settings) -> Self {
        let now = START;
        let mut federate = Session::<Client>::open(now, settings);
        federate.connected(now);
        let (arrival, _) = arrive(&settings, now, &transmitted(&mut federate, now));
        let mut rti = Session::<Server>::accept(now, settings, id(), arrival);
        federate.receive(now, &transmitted(&mut rti, now));
        assert_eq!(events(&mut federate), [Event::Connect, Event::Running]);
        assert_eq!(events(&mut rti), [Event::Running]);
        Self { now, federate, rti }
    }

    fn exchange(&mut self) {
        for _ in 0..4 {
            let up = transmitted(&mut self.federate, self.now);
            self.rti.receive(self.now, &up);
            let down = transmitted(&mut self.rti, self.now);
            self.federate.receive(self.now, &down);
        }
    }

    fn cut(&mut self) {
        self.federate.disconnected(self.now);
        self.rti.disconnected(self.now);
        assert_eq!(events(&mut self.federate), [Event::Connect]);
    }

    /// The federate opens a new connection; the answer of the RTI is not delivered.
    fn reconnect(&mut self) -> Resume {
        self.federate.connected(self.now);
        let bytes = transmitted(&mut self.federate, self.now);
        let (arrival, greeting) = arrive(&Settings::default(), self.now, &bytes);
        let Greeting::Resume(resume) = greeting else { panic!("{greeting:?}") };
        self.rti.resume(self.now, arrival, resume);
        resume
    }

    fn ends_by(&mut self, bytes: &[u8], violation: Violation) {
        self.rti.receive(self.now, bytes);
        let expected = [Event::Ended(End::Violation(violation)), Event::Disconnect];
        assert_eq!(events(&mut self.rti), expected);
        assert!(self.rti.has_ended() && !self.rti.has_output());
    }
}

fn body(text: &'static str) -> Data {
    Data::from_static(text.as_bytes())
}
