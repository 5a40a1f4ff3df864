//! Two sessions over a simulated network that cuts, delays and splits, with a virtual clock.
//!
//! The federate makes numbered calls and the RTI numbered callbacks. Both answer after a random delay, and connections
//! break at any byte. In most worlds both gather answers without a result, and callbacks share frames. After every
//! event the world checks that each side receives the requests of the other in order and exactly once, and one answer
//! for each frame of its own. At the end it stops the faults and checks that everything arrived.

use std::collections::VecDeque;

use hemiola_hla::Data;
use hemiola_units::{Instant, Random, Span};

use crate::frame::SessionId;
use crate::sequence::Sequence;
use crate::session::{
    Arrival, Client, Event, Greeting, RequestId, Server, Session, Settings, Side, Ticket,
};

/// The source of random decisions.
#[derive(Clone, Copy, Debug)]
pub enum Randomness<'a> {
    /// A generator with a seed; faults happen for a number of steps.
    Seeded {
        /// The seed.
        seed: u64,
        /// The number of steps with faults.
        steps: u32,
    },
    /// One byte for each decision; faults stop when the bytes are used up.
    Bytes(&'a [u8]),
}

/// One side and the state of its user.
struct User<S: Side> {
    session: Session<S>,
    /// How many requests it has made, in how many frames, and the newest of each frame that has no answer.
    made: u64,
    frames: u64,
    waits: VecDeque<(Ticket, u64, Wants)>,
    /// How many requests of the peer it has seen, how many of these in frames with others, and the newest of each frame
    /// that it has not answered.
    seen: u64,
    seen_together: u64,
    owed: Vec<(RequestId, u64, Wants)>,
    answers: u64,
    /// How many answers came in frames with others.
    gathered: u64,
}

/// Bytes in flight in one direction.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
}

/// Counts of what stats in a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldStats {
    /// Calls and callbacks made; each was answered.
    pub requests: u64,
    /// Of these, callbacks in frames with others.
    pub together: u64,
    /// Connections that broke.
    pub cuts: u64,
    /// Answers in frames that may hold several.
    pub gathered: u64,
}

/// The two users, the connection, the clock.
pub struct World {
    now: Instant,
    settings: Settings,
    federate: User<Client>,
    rti: Option<User<Server>>,
    /// A connection: to the RTI, to the federate.
    pipes: Option<(Pipe, Pipe)>,
    /// A new connection at the RTI whose first frame has not arrived.
    arrival: Option<Arrival>,
    /// Whether the RTI gathers answers, and lets callbacks share frames.
    gathers: bool,
    shares: bool,
    stats: WorldStats,
}

const MILLISECOND: Span = Span::from_nanos(1_000_000);

impl World {
    /// Runs one world from beginning to end.
    ///
    /// # Panics
    /// If a message was lost, duplicated or reordered.
    pub fn run(plan: Randomness<'_>) -> WorldStats {
        let mut dice = Dice::new(plan);
        // Sessions never expire, and the limits are small enough to be reached.
        let settings = Settings {
            resume_window: Span::MAX,
            silence_max: Span::from_nanos(5_000_000_000),
            heartbeat_every: Span::from_nanos(1_000_000_000),
            retry_every: Span::from_nanos(300_000_000),
            greeting_max: Span::from_nanos(1_000_000_000),
            requests_max: 20,
            ..Settings::default()
        };
        let now = Instant::ZERO;
        let mut federate = Session::<Client>::open(now, settings);
        // Numbers start again somewhere in the middle.
        let first = Sequence::new(0x7FFF_FFFF - dice.below(64) as u32).expect("31 bits");
        federate.start_at(first);
        let gathers = dice.below(4) > 0;
        if gathers || dice.below(2) == 0 {
            federate.offer_gathering();
        }
        let shares = dice.below(4) > 0;
        if shares || dice.below(2) == 0 {
            federate.share_frames();
        }
        let mut world = Self {
            now,
            settings,
            federate: User::new(federate),
            rti: None,
            pipes: None,
            arrival: None,
            gathers,
            shares,
            stats: WorldStats::default(),
        };
        // Faults begin after the handshake: if the first connection breaks, there is no session to resume.
        while !world.federate.session.is_running() {
            world.events();
            world.write(&mut dice);
            world.deliver(&mut dice);
        }
        while dice.go_on() {
            world.step(&mut dice);
        }
        world.drain(&mut dice);
        world.stats.gathered = world.federate.gathered;
        world.stats.together = world.federate.seen_together;
        world.stats.requests = world.federate.made;
        if let Some(rti) = &world.rti {
            world.stats.gathered += rti.gathered;
            world.stats.requests += rti.made;
        }
        world.stats
    }

    fn step(&mut self, dice: &mut Dice<'_>) {
        match dice.below(16) {
            0..=2 => self.federate.ask(self.now, dice),
            3..=5 => {
                if let Some(rti) = &mut self.rti {
                    rti.ask(self.now, dice);
                }
            }
            6 => self.federate.answer(self.now, dice),
            7 => {
                if let Some(rti) = &mut self.rti {
                    rti.answer(self.now, dice);
                }
            }
            8..=10 => self.write(dice),
            11..=13 => self.deliver(dice),
            14 => self.pass(MILLISECOND * (1 + dice.below(2000) as i64)),
            _ => {
                if dice.below(4) == 0 {
                    self.cut(dice);
                }
            }
        }
        self.events();
    }

    /// Stops the faults and waits until everything has arrived.
    fn drain(&mut self, dice: &mut Dice<'_>) {
        for _ in 0..100_000 {
            self.write(dice);
            self.deliver(dice);
            self.events();
            self.federate.answer(self.now, dice);
            if let Some(rti) = &mut self.rti {
                rti.answer(self.now, dice);
                if rti.is_done(self.federate.made) && self.federate.is_done(rti.made) {
                    return;
                }
            } else if self.federate.made == 0 {
                return;
            }
            self.pass(MILLISECOND);
        }
        panic!("something never arrived: {:?}", self.stats);
    }

    /// Each side writes some of its output to the connection.
    fn write(&mut self, dice: &mut Dice<'_>) {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        self.federate.session.transmit(self.now, &mut up, 1 + dice.below(400) as usize);
        if let Some(rti) = &mut self.rti {
            rti.session.transmit(self.now, &mut down, 1 + dice.below(400) as usize);
        }
        // The output of a side that has not noticed that its connection broke is lost.
        if let Some(pipes) = &mut self.pipes {
            pipes.0.bytes.extend(up);
            if self.arrival.is_none() {
                pipes.1.bytes.extend(down);
            }
        }
    }

    /// Delivers some of the bytes in flight.
    fn deliver(&mut self, dice: &mut Dice<'_>) {
        let Some((up, down)) = &mut self.pipes else { return };
        let bytes = down.take(dice);
        self.federate.session.receive(self.now, &bytes);
        let bytes = up.take(dice);
        let Some(mut arrival) = self.arrival.take() else {
            if let Some(rti) = &mut self.rti {
                rti.session.receive(self.now, &bytes);
            }
            return;
        };
        match arrival.receive(&bytes).expect("the federate keeps to the protocol") {
            None => self.arrival = Some(arrival),
            Some(Greeting::New) => {
                // If the answer to the first request was lost, the RTI keeps an unused session.
                let id = SessionId::new(7).expect("not 0");
                let mut session = Session::accept(self.now, self.settings, id, arrival);
                session.start_at(Sequence::new(0x7FFF_FFFF - 9).expect("31 bits"));
                if self.gathers {
                    session.gather_answers();
                }
                if self.shares {
                    session.share_frames();
                }
                self.rti = Some(User::new(session));
            }
            Some(Greeting::Resume(resume)) => {
                let rti = self.rti.as_mut().expect("only an accepted session is resumed");
                assert_eq!(resume.session, rti.session.id());
                rti.session.resume(self.now, arrival, resume);
            }
            Some(Greeting::Unsupported { version }) => panic!("version {version}"),
        }
    }

    /// Breaks the connection. Bytes in flight are lost, and either side may notice late.
    fn cut(&mut self, dice: &mut Dice<'_>) {
        if self.pipes.take().is_none() {
            return;
        }
        self.stats.cuts += 1;
        let was_accepted = self.arrival.take().is_none();
        if dice.below(4) > 0 {
            self.federate.session.disconnected(self.now);
        }
        if was_accepted && dice.below(2) == 0 {
            self.disconnect_rti();
        }
    }

    fn disconnect_rti(&mut self) {
        if let Some(rti) = &mut self.rti {
            rti.session.disconnected(self.now);
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        self.federate.tick(self.now);
        if let Some(rti) = &mut self.rti {
            rti.tick(self.now);
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.federate.session.poll() {
            match event {
                Event::Connect => {
                    self.pipes = Some(Default::default());
                    self.arrival = Some(Arrival::new(self.now, &self.settings));
                    self.federate.session.connected(self.now);
                }
                Event::Disconnect => {
                    // The peer of the federate was silent for too long; the RTI finds the connection closed.
                    self.pipes = None;
                    if self.arrival.take().is_none() {
                        self.disconnect_rti();
                    }
                }
                event => self.federate.take(event),
            }
        }
        while let Some(event) = self.rti.as_mut().and_then(|rti| rti.session.poll()) {
            match event {
                Event::Disconnect => {
                    // This does not concern a new connection whose first frame has not arrived.
                    if self.arrival.is_none() && self.pipes.take().is_some() {
                        self.federate.session.disconnected(self.now);
                    }
                }
                event => self.rti.as_mut().expect("it was polled").take(event),
            }
        }
    }
}

impl<S: Side> User<S> {
    const fn new(session: Session<S>) -> Self {
        Self {
            session,
            made: 0,
            frames: 0,
            waits: VecDeque::new(),
            seen: 0,
            seen_together: 0,
            owed: Vec::new(),
            answers: 0,
            gathered: 0,
        }
    }

    /// Makes a request; one in four shares no frame with those behind it, and the result of one in four is not wanted.
    fn ask(&mut self, now: Instant, dice: &mut Dice<'_>) {
        if !self.session.may_request() {
            return;
        }
        let body = body(self.made);
        let (ticket, wants) = match dice.below(4) {
            0 => (self.session.request(now, body), Wants::Result),
            1 => (self.session.post(now, body), Wants::Nothing),
            _ => (self.session.request_with_next(now, &body.into()), Wants::Result),
        };
        let ticket = ticket.expect("it has not ended");
        self.frames += 1;
        if self.waits.pop_back_if(|(newest, ..)| *newest == ticket).is_some() {
            self.frames -= 1;
        }
        self.waits.push_back((ticket, self.made, wants));
        self.made += 1;
    }

    /// Answers a request: the oldest in most cases, as most users do.
    fn answer(&mut self, now: Instant, dice: &mut Dice<'_>) {
        if self.owed.is_empty() {
            return;
        }
        let bound = if dice.below(4) > 0 { 1 } else { self.owed.len() as u64 };
        let (id, number, wants) = self.owed.remove(dice.below(bound) as usize);
        if has_result(number) && wants == Wants::Result {
            self.session.respond(now, id, body(!number));
        } else {
            self.session.respond_done(now, id, || body(!number));
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Running => {}
            Event::Request { id, body } => {
                self.see(&body);
                self.owed.push((id, self.seen - 1, Wants::Result));
            }
            Event::Posted { id, body } => {
                self.see(&body);
                self.owed.push((id, self.seen - 1, Wants::Nothing));
            }
            Event::Requests { id, bodies } => {
                let before = self.seen;
                bodies.for_each(|body| self.see(&body));
                self.seen_together += self.seen - before;
                assert!(self.seen > before + 1, "a shared frame has several requests");
                self.owed.push((id, self.seen - 1, Wants::Result));
            }
            Event::Response { to, body } => {
                let place = self.waits.iter().position(|(ticket, ..)| *ticket == to);
                let (_, asked, _) = self
                    .waits
                    .remove(place.expect("the request waits for its answer"))
                    .expect("there it is");
                assert_eq!(number(&body), !asked, "the answer is that of the request");
                self.answers += 1;
            }
            Event::Done { through } => {
                let before = self.waits.len();
                while self.waits.front().is_some_and(|(ticket, ..)| *ticket <= through) {
                    let (_, asked, wants) = self.waits.pop_front().expect("there it is");
                    let is_done = !has_result(asked) || wants == Wants::Nothing;
                    assert!(is_done, "an answer with a result that is wanted is not gathered");
                    self.answers += 1;
                    self.gathered += 1;
                }
                assert!(self.waits.len() < before, "a gathered answer answers something");
            }
            Event::Connect | Event::Disconnect | Event::Ended(_) => panic!("{event:?}"),
        }
    }

    fn see(&mut self, body: &Data) {
        assert_eq!(number(body), self.seen, "requests arrive in order, each once");
        self.seen += 1;
    }

    fn tick(&mut self, now: Instant) {
        if self.session.deadline().is_some_and(|deadline| deadline <= now) {
            self.session.tick(now);
        }
    }

    fn is_done(&self, made_by_the_other: u64) -> bool {
        self.waits.is_empty()
            && self.answers == self.frames
            && self.seen == made_by_the_other
            && self.owed.is_empty()
    }
}

/// What the sender of a request wants to know besides that it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    Result,
    Nothing,
}

/// Whether the answer to a request has a result, so that it needs a frame of its own if that is wanted.
const fn has_result(number: u64) -> bool {
    number % 5 == 4
}

/// Returns a body that holds its number and has a length that depends on it.
fn body(number: u64) -> Data {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(8 + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize, 0xEE);
    Data::from(bytes)
}

fn number(bytes: &Data) -> u64 {
    let number = u64::from_be_bytes(bytes[..8].try_into().expect("eight"));
    assert_eq!(*bytes, body(number), "bodies arrive complete");
    number
}

impl Pipe {
    /// Removes the bytes that arrive now: one, some or all.
    fn take(&mut self, dice: &mut Dice<'_>) -> Vec<u8> {
        let len = match dice.below(4) {
            0 => 1,
            1 => self.bytes.len(),
            _ => dice.below(100) as usize,
        };
        self.bytes.drain(..len.min(self.bytes.len())).collect()
    }
}

enum Dice<'a> {
    Random { random: Random, left: u32 },
    Bytes(std::slice::Iter<'a, u8>),
}

impl<'a> Dice<'a> {
    fn new(plan: Randomness<'a>) -> Self {
        match plan {
            Randomness::Seeded { seed, steps } => {
                Self::Random { random: Random::from_seed(seed), left: steps }
            }
            Randomness::Bytes(bytes) => Self::Bytes(bytes.iter()),
        }
    }

    fn go_on(&mut self) -> bool {
        match self {
            Self::Random { left, .. } => {
                *left = left.saturating_sub(1);
                *left > 0
            }
            Self::Bytes(bytes) => bytes.len() > 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        match self {
            Self::Random { random, .. } => random.below(bound),
            // When the bytes are used up, every decision has its largest value: everything arrives.
            Self::Bytes(bytes) => match bytes.next() {
                Some(byte) => u64::from(*byte) * bound / 256,
                None => bound - 1,
            },
        }
    }
}
