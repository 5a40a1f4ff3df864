//! Two sessions over connections that break: each call, answer and callback arrives exactly once.

use hemiola_fedpro::fuzzing::{Randomness, World};
use hemiola_fedpro::{
    Arrival, Client, Event, Greeting, Server, Session, SessionId, Settings, Ticket,
};
use hemiola_hla::Data;
use hemiola_units::{Instant, Span};

/// To replay one world: `SEED=n cargo test -p hemiola-fedpro --test main network`.
#[test]
fn every_request_and_answer_arrives_exactly_once_over_a_faulty_network() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).expect("SEED is a number"),
        Err(_) => 0..2000,
    };
    let (mut requests, mut together, mut cuts, mut gathered) = (0, 0, 0, 0);
    for seed in seeds {
        println!("seed {seed}");
        let stats = World::run(Randomness::Seeded { seed, steps: 2000 });
        requests += stats.requests;
        together += stats.together;
        cuts += stats.cuts;
        gathered += stats.gathered;
    }
    println!("{requests} requests, {together} together, {cuts} cuts, {gathered} gathered answers");
    assert!(requests > 0 && together > 0 && cuts > 0 && gathered > 0);
}

/// A direction, and the number of bytes in it after which the connection breaks.
type Cut = (Direction, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToRti,
    ToFederate,
}

/// A federate makes calls and an RTI callbacks, over a connection that breaks at given bytes.
struct Dialogue {
    now: Instant,
    federate: Session<Client>,
    rti: Option<Session<Server>>,
    arrival: Option<Arrival>,
    is_connected: bool,
    /// The number of bytes that have arrived at the RTI and at the federate.
    arrived: [usize; 2],
    cuts: Vec<Cut>,
    calls: Vec<Data>,
    answers: Vec<(Ticket, Data)>,
    callbacks: Vec<Data>,
    taken: usize,
}

/// The number of calls, and of callbacks, in a dialogue.
const REQUESTS: usize = 3;

impl Dialogue {
    /// Runs the dialogue to its end and returns the number of bytes in each direction.
    fn run(cuts: &[Cut]) -> [usize; 2] {
        let now = Instant::ZERO;
        let mut dialogue = Self {
            now,
            federate: Session::<Client>::open(now, Settings::default()),
            rti: None,
            arrival: None,
            is_connected: false,
            arrived: [0; 2],
            cuts: cuts.to_vec(),
            calls: vec![],
            answers: vec![],
            callbacks: vec![],
            taken: 0,
        };
        for _ in 0..100 {
            dialogue.federate_acts();
            dialogue.rti_acts();
            dialogue.exchange();
            dialogue.now += Span::from_nanos(6_000_000_000);
            dialogue.federate.tick(dialogue.now);
        }
        let expected = |word: &str| -> Vec<Data> {
            (0..REQUESTS).map(|number| Data::from(format!("{word} {number}"))).collect()
        };
        assert_eq!(dialogue.calls, expected("call"), "{cuts:?}");
        assert_eq!(dialogue.callbacks, expected("callback"), "{cuts:?}");
        let answers: Vec<(Ticket, Data)> =
            (0..).map(Ticket).zip(expected("answer to call")).collect();
        assert_eq!(dialogue.answers, answers, "{cuts:?}");
        assert_eq!(dialogue.taken, REQUESTS, "{cuts:?}");
        dialogue.arrived
    }

    fn federate_acts(&mut self) {
        while let Some(event) = self.federate.poll() {
            match event {
                Event::Connect => {
                    self.federate.connected(self.now);
                    self.arrival = Some(Arrival::new(self.now, &Settings::default()));
                    self.is_connected = true;
                }
                Event::Running if self.federate.unanswered() == 0 && self.calls.is_empty() => {
                    // Several calls at once can be lost together.
                    for number in 0..REQUESTS {
                        let body = Data::from(format!("call {number}"));
                        self.federate.request(self.now, body).unwrap();
                    }
                }
                Event::Running => {}
                Event::Request { id, body } => {
                    self.callbacks.push(body);
                    self.federate.respond(self.now, id, Data::from_static(b"taken"));
                }
                Event::Response { to, body } => self.answers.push((to, body)),
                Event::Requests { .. }
                | Event::Posted { .. }
                | Event::Done { .. }
                | Event::Ended(_)
                | Event::Disconnect => {
                    panic!("{event:?} {:?}", self.cuts)
                }
            }
        }
    }

    fn rti_acts(&mut self) {
        let Some(rti) = &mut self.rti else { return };
        while let Some(event) = rti.poll() {
            match event {
                Event::Request { id, body } => {
                    let callback = format!("callback {}", self.calls.len());
                    rti.request(self.now, Data::from(callback)).unwrap();
                    let answer = [b"answer to ", &body[..]].concat();
                    rti.respond(self.now, id, Data::from(answer));
                    self.calls.push(body);
                }
                Event::Response { .. } => self.taken += 1,
                Event::Running => {}
                _ => panic!("{event:?} {:?}", self.cuts),
            }
        }
    }

    fn exchange(&mut self) {
        let mut wire = Vec::new();
        if self.is_connected {
            self.federate.transmit(self.now, &mut wire, usize::MAX);
            let len = self.passes(Direction::ToRti, wire.len());
            self.rti_receives(&wire[..len]);
        }
        // The RTI may have a new connection by now, or none.
        if self.is_connected && self.arrival.is_none() {
            let rti = self.rti.as_mut().expect("it accepted the connection");
            wire.clear();
            rti.transmit(self.now, &mut wire, usize::MAX);
            let len = self.passes(Direction::ToFederate, wire.len());
            self.federate.receive(self.now, &wire[..len]);
        }
        if !self.is_connected && !self.federate.has_ended() {
            self.arrival = None;
            self.federate.disconnected(self.now);
            if let Some(rti) = &mut self.rti {
                rti.disconnected(self.now);
            }
        }
    }

    fn rti_receives(&mut self, bytes: &[u8]) {
        let Some(mut arrival) = self.arrival.take() else {
            return self.rti.as_mut().expect("it has a session").receive(self.now, bytes);
        };
        match arrival.receive(bytes).unwrap() {
            None => self.arrival = Some(arrival),
            Some(Greeting::New) => {
                let id = SessionId::new(1).unwrap();
                self.rti = Some(Session::accept(self.now, Settings::default(), id, arrival));
            }
            Some(Greeting::Resume(resume)) => {
                self.rti.as_mut().expect("it has a session").resume(self.now, arrival, resume);
            }
            Some(greeting) => panic!("{greeting:?}"),
        }
    }

    /// Returns how many of these bytes arrive before the connection breaks.
    fn passes(&mut self, direction: Direction, len: usize) -> usize {
        let arrived = &mut self.arrived[direction as usize];
        let cut = self
            .cuts
            .iter()
            .position(|(way, at)| *way == direction && (*arrived..*arrived + len).contains(at));
        let len = match cut {
            Some(cut) => {
                self.is_connected = false;
                self.cuts.remove(cut).1 - *arrived
            }
            None => len,
        };
        *arrived += len;
        len
    }
}

/// The length of the first frame in each direction. Before it has arrived there is no session to resume.
const GREETING_LEN: usize = 28;

fn everywhere(lens: [usize; 2]) -> impl Iterator<Item = Cut> + Clone {
    let up = (GREETING_LEN..lens[0]).map(|at| (Direction::ToRti, at));
    up.chain((GREETING_LEN..lens[1]).map(|at| (Direction::ToFederate, at)))
}

#[test]
fn connection_that_breaks_at_any_byte_loses_nothing() {
    let lens = Dialogue::run(&[]);
    for cut in everywhere(lens) {
        Dialogue::run(&[cut]);
    }
}

#[test]
fn connection_that_breaks_again_during_resumption_loses_nothing() {
    let lens = Dialogue::run(&[]);
    for first in everywhere(lens).step_by(11) {
        for second in everywhere(Dialogue::run(&[first])).step_by(5) {
            Dialogue::run(&[first, second]);
        }
    }
}
