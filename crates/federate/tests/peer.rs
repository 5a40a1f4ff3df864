//! The other end of a federate's connection: a server session with a script in place of an RTI.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hemiola_federate::hla::{Call, Callback, Refusal, Reply};
use hemiola_federate::{RtiAddress, Settings, Span};
use hemiola_fedpro::{Arrival, Event, Greeting, Server, Session, SessionId, message, session};
use hemiola_rt::clock::{Clock, MonotonicClock};

/// One action of the peer in response to a call.
pub(crate) enum Act {
    /// Replies to the call.
    Reply(Result<Reply, Refusal>),
    /// Sends a callback.
    Callback(Callback),
    /// Cuts the connection.
    Cut,
    /// Ends the session behind what was sent.
    Close,
}

/// A peer in a thread of its own. [`Peer::seen`] returns its observations once the federate has disconnected.
pub(crate) struct Peer {
    pub(crate) address: RtiAddress,
    thread: JoinHandle<Seen>,
}

/// The observations of a peer.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) calls: Vec<Call>,
    pub(crate) connections: usize,
    pub(crate) callbacks_taken: usize,
    pub(crate) end: Option<session::End>,
}

impl Peer {
    /// Starts a peer that runs a script for each call until the session ends.
    pub(crate) fn start(script: impl FnMut(&Call) -> Vec<Act> + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", script)
    }

    /// As [`start`](Self::start), at an address.
    pub(crate) fn at(
        address: &str,
        script: impl FnMut(&Call) -> Vec<Act> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = RtiAddress::Tcp {
            host: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
        };
        let thread = thread::spawn(move || Play::new(listener, Box::new(script)).run());
        Self { address, thread }
    }

    pub(crate) fn seen(self) -> Seen {
        self.thread.join().unwrap()
    }
}

/// Returns the reply of a call without a result.
pub(crate) fn done() -> Vec<Act> {
    vec![Act::Reply(Ok(Reply::Done))]
}

/// Returns settings with short timeouts, so that a failing test ends.
pub(crate) fn settings() -> Settings {
    let seconds = |seconds: i64| Span::from_millis(seconds * 1000);
    Settings {
        greeting_max: seconds(5),
        silence_max: seconds(10),
        resume_window: seconds(10),
        retry_every: Span::from_millis(20),
        ..Settings::default()
    }
}

type Script = Box<dyn FnMut(&Call) -> Vec<Act> + Send>;

struct Play {
    listener: TcpListener,
    script: Script,
    session: Option<Session<Server>>,
    /// The bytes that are sent before the session ends.
    last: Vec<u8>,
    seen: Seen,
}

impl Play {
    fn new(listener: TcpListener, script: Script) -> Self {
        Self { listener, script, session: None, last: Vec::new(), seen: Seen::default() }
    }

    fn run(mut self) -> Seen {
        while self.seen.end.is_none() {
            let (mut stream, _) = self.listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
            self.seen.connections += 1;
            self.serve(&mut stream);
        }
        self.seen
    }

    fn serve(&mut self, stream: &mut TcpStream) {
        let now = || MonotonicClock.now();
        let mut arrival = Some(Arrival::new(now(), &settings()));
        let mut buffer = vec![0; 1 << 16];
        loop {
            let len = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => 0,
                Err(_) => break,
            };
            if let Some(mut greeting) = arrival.take() {
                match greeting.receive(&buffer[..len]).unwrap() {
                    None => arrival = Some(greeting),
                    Some(Greeting::New) => {
                        let id = SessionId::new(0x0123_4567_89AB_CDEF).unwrap();
                        self.session = Some(Session::accept(now(), settings(), id, greeting));
                    }
                    Some(Greeting::Resume(resume)) => {
                        self.session.as_mut().unwrap().resume(now(), greeting, resume);
                    }
                    Some(Greeting::Unsupported { .. }) => panic!("unsupported version"),
                }
            } else {
                self.session.as_mut().unwrap().receive(now(), &buffer[..len]);
            }
            let is_cut = self.act();
            let Some(session) = &mut self.session else { continue };
            if is_cut {
                session.disconnected(now());
                return;
            }
            let mut out = std::mem::take(&mut self.last);
            session.transmit(now(), &mut out, usize::MAX);
            if stream.write_all(&out).is_err() || session.has_ended() {
                break;
            }
        }
        if let Some(session) = &mut self.session {
            session.disconnected(now());
            self.act();
        }
    }

    /// Runs the script for received calls. Returns whether it cuts the connection.
    fn act(&mut self) -> bool {
        let now = MonotonicClock.now();
        let mut is_cut = false;
        let Some(session) = &mut self.session else { return false };
        while let Some(event) = session.poll() {
            match event {
                Event::Request { id, body } => {
                    let call = message::decode_call(&body).unwrap();
                    for act in (self.script)(&call) {
                        match act {
                            Act::Reply(answer) => {
                                let body = message::encode_reply(call.number(), &answer);
                                session.respond(now, id, body);
                            }
                            Act::Callback(callback) => {
                                session.request(now, message::encode_callback(&callback));
                            }
                            Act::Cut => is_cut = true,
                            Act::Close => {
                                session.transmit(now, &mut self.last, usize::MAX);
                                session.close(now);
                            }
                        }
                    }
                    self.seen.calls.push(call);
                }
                Event::Response { .. } => self.seen.callbacks_taken += 1,
                Event::Ended(end) => self.seen.end = Some(end),
                Event::Done { .. } | Event::Requests { .. } | Event::Posted { .. } => {
                    panic!("this RTI has not agreed to shared frames")
                }
                Event::Running | Event::Connect | Event::Disconnect => {}
            }
        }
        is_cut
    }
}
