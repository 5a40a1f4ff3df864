//! A session and its connection, driven by the thread that calls.

use std::collections::VecDeque;
use std::sync::LazyLock;

use hemiola_fedpro::session::{End, RequestId, Ticket};
use hemiola_fedpro::{Client, Event, MessageError, Session, SessionId, Settings, message};
use hemiola_hla::call::{Entry, Shape, SupportCall};
use hemiola_hla::{Call, Callback, Data, Exception, Refusal, Reply};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::Wake;
use hemiola_rt::sys::eventfd::EventFd;
use hemiola_units::{Instant, Span};

use crate::error::Error;
use crate::inbox::Inbox;
use crate::link::{Link, Opening};

/// The number of bytes that are read or written at once.
const PIECE: usize = 64 << 10;

/// The number of bytes that may wait to be written before a posted call waits for room.
const WAITING_MAX: usize = 1 << 20;

/// Calls that do not wait are sent once this many bytes of memory have been gathered.
const GATHER: usize = 16 << 10;

/// Calls that do not wait are sent by the first call or evocation that finds one of them this old.
const GATHER_FOR: Span = Span::from_millis(1);

/// The number of responses to callbacks that are held back until something else is sent. The RTI does not wait for
/// them.
const ANSWERS_HELD: usize = 64;

/// The longest time that responses are held back while a federate waits for a callback.
const ANSWERS_HELD_FOR: Span = Span::from_millis(100);

/// A call that the RTI always answers at once; replies that it holds back are sent along.
static NUDGE: LazyLock<(Entry, Data)> = LazyLock::new(|| {
    let call = Call::from(SupportCall::GetAutomaticResignDirective);
    (*call.entry(), message::encode_call(&call))
});

/// While a call waits for its reply, callbacks may take this many times the configured memory. An RTI that sends more
/// is disconnected.
const FLOOD: usize = 4;

/// How a call is queued: [`Session::request`], or [`Session::post`] if its result is not wanted.
type Request = fn(&mut Session<Client>, Instant, Data) -> Option<Ticket>;

/// The reply to a call that the thread waits for.
pub(crate) type Answer = Result<Reply, Error>;

#[derive(Debug)]
pub(crate) struct Driver {
    session: Session<Client>,
    settings: Settings,
    link: Link,
    now: Instant,
    buffer: Box<[u8]>,
    /// Bytes to be written to the connection, and how many of them have been written.
    out: Vec<u8>,
    written: usize,
    /// Whether something waits that the RTI should get now.
    is_urgent: bool,
    /// How many responses to callbacks are held back.
    answers_held: usize,
    /// Calls from the oldest one without a reply; `None` for those that have their reply.
    calls: VecDeque<Option<&'static Entry>>,
    /// The number of calls before the first of them.
    calls_before: u64,
    /// When the oldest call that has not been sent was made.
    gathered_since: Option<Instant>,
    /// The ticket of the first call that the thread waits for; the others follow.
    awaited: u64,
    /// The replies to these calls, as far as they have arrived.
    answers: Vec<Option<Answer>>,
    answers_missing: usize,
    /// The exceptions of posted calls.
    refused: VecDeque<Error>,
    /// How many requests for a time advance the RTI has refused.
    advances_refused: u64,
    callbacks: Inbox,
    callbacks_len_max: usize,
    end: Option<End>,
    /// Why the RTI has ended the session, as it said.
    fault: Option<String>,
    /// Why the last attempt to connect failed.
    failure: Option<std::io::Error>,
    is_connected: bool,
    /// Whether the RTI may hold back the replies to updates, interactions and time requests.
    pub(crate) answers_later: bool,
}

impl Driver {
    /// The name of the session.
    pub(crate) const fn session_id(&self) -> SessionId {
        self.session.id()
    }

    /// Accepts answers to several calls in one frame, and gives such answers to the RTI once it has sent one. Accepts
    /// several callbacks in one frame.
    pub(crate) fn accept_shared_frames(&mut self) {
        self.session.offer_gathering();
        self.session.share_frames();
    }

    /// Requests a session over a link, and waits for it.
    pub(crate) fn open(
        link: Link,
        settings: Settings,
        callbacks_len_max: usize,
    ) -> Result<Self, (Option<std::io::Error>, Error)> {
        let now = MonotonicClock.now();
        let mut driver = Self {
            session: Session::open(now, settings),
            settings,
            link,
            now,
            buffer: vec![0; PIECE].into(),
            out: Vec::new(),
            written: 0,
            is_urgent: false,
            answers_held: 0,
            calls: VecDeque::new(),
            calls_before: 0,
            gathered_since: None,
            awaited: 0,
            answers: Vec::new(),
            answers_missing: 0,
            refused: VecDeque::new(),
            advances_refused: 0,
            callbacks: Inbox::default(),
            callbacks_len_max,
            end: None,
            fault: None,
            failure: None,
            is_connected: false,
            answers_later: false,
        };
        match driver.work(Instant::MAX, Wake::Any, |driver| driver.is_connected) {
            Ok(_) => Ok(driver),
            Err(error) => Err((driver.failure.take(), error)),
        }
    }

    /// Makes a call and waits for its reply.
    pub(crate) fn ask(&mut self, entry: &'static Entry, body: Data) -> Answer {
        self.ask_all([(entry, body)])?.pop().expect("each call has an answer")
    }

    /// Makes calls one after the other, and then waits for the replies to all of them.
    pub(crate) fn ask_all(
        &mut self,
        calls: impl IntoIterator<Item = (&'static Entry, Data)>,
    ) -> Result<Vec<Answer>, Error> {
        let waited = self
            .make_all(calls)
            .and_then(|wake| self.work(Instant::MAX, wake, |driver| driver.answers_missing == 0));
        self.answers_missing = 0;
        let answers = std::mem::take(&mut self.answers);
        waited.map(|_| answers.into_iter().flatten().collect())
    }

    /// Queues calls, and the places for their replies. Returns what should wake this thread.
    fn make_all(
        &mut self,
        calls: impl IntoIterator<Item = (&'static Entry, Data)>,
    ) -> Result<Wake, Error> {
        let (mut is_held, mut wake) = (false, Wake::Urgent);
        for (entry, body) in calls {
            let ticket = self.queue(entry, body, Session::request)?;
            if self.answers.is_empty() {
                self.awaited = ticket.0;
            }
            self.answers.push(None);
            self.answers_missing += 1;
            self.make_room()?;
            is_held |= entry.sends() || entry.advances();
            if entry.sends() || self.answers.len() > 1 {
                wake = Wake::Any;
            }
        }
        if self.answers_later && is_held {
            self.queue(&NUDGE.0, NUDGE.1.clone(), Session::request)?;
        }
        Ok(wake)
    }

    /// Makes a call without waiting for its reply. It is sent together with others. Blocks only if the RTI is behind
    /// with calls.
    pub(crate) fn post(&mut self, entry: &'static Entry, body: Data) -> Result<(), Error> {
        self.now = MonotonicClock.now();
        let request: Request = match entry.shape {
            Shape::Done => Session::request,
            _ => Session::post,
        };
        self.queue(entry, body, request)?;
        let since = *self.gathered_since.get_or_insert(self.now);
        if self.session.waiting_len() > GATHER || self.now >= since + GATHER_FOR {
            self.transmit();
        }
        self.make_room()
    }

    /// Waits while the RTI is behind with calls.
    fn make_room(&mut self) -> Result<(), Error> {
        if !self.may_post(1) {
            // Waits for room for many calls: waking for each of them would be slow.
            self.work(Instant::MAX, Wake::Any, |driver| driver.may_post(2))?;
        }
        Ok(())
    }

    /// Sends the calls that have been gathered for [`GATHER_FOR`].
    fn transmit_old(&mut self) {
        if let Some(since) = self.gathered_since {
            self.now = MonotonicClock.now();
            if self.now >= since + GATHER_FOR {
                self.transmit();
            }
        }
    }

    /// Waits until the RTI has replied to all calls. Returns the first exception that no call has returned.
    pub(crate) fn confirm(&mut self) -> Result<(), Error> {
        if !self.calls.is_empty() && self.end.is_none() {
            if self.answers_later {
                let (entry, body) = &*NUDGE;
                self.session.request(self.now, body.clone());
                self.calls.push_back(Some(entry));
            }
            self.is_urgent = true;
            self.work(Instant::MAX, Wake::Any, |driver| driver.calls.is_empty())?;
        }
        self.refused.pop_front().map_or(Ok(()), Err)
    }

    /// How many requests for a time advance the RTI has refused.
    pub(crate) const fn advances_refused(&self) -> u64 {
        self.advances_refused
    }

    /// Whether calls occupy at most one part in `share` of the room for them.
    fn may_post(&self, share: usize) -> bool {
        self.session.may_request()
            && self.session.unanswered() <= self.settings.requests_max / share
            && self.session.waiting_len() <= WAITING_MAX / share
            && self.session.kept_len() <= self.settings.kept_len_max / 2 / share
    }

    fn queue(
        &mut self,
        entry: &'static Entry,
        body: Data,
        request: Request,
    ) -> Result<Ticket, Error> {
        if let Some(error) = self.refused.pop_front() {
            return Err(error);
        }
        if self.end.is_none() && self.callbacks.memory() > self.callbacks_len_max {
            return Err(Error::Backlog(self.callbacks.len()));
        }
        match request(&mut self.session, self.now, body) {
            Some(ticket) => {
                debug_assert_eq!(ticket.0, self.calls_before + self.calls.len() as u64);
                self.calls.push_back(Some(entry));
                self.is_urgent = true;
                Ok(ticket)
            }
            None => Err(self.lost()),
        }
    }

    /// Sends everything that waits, and waits until it has been written.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.is_urgent = true;
        self.work(Instant::MAX, Wake::Any, Self::has_sent_all).map(|_| ())
    }

    fn has_sent_all(&self) -> bool {
        self.written == self.out.len()
            && self.session.waiting_len() == 0
            && !self.session.has_output()
    }

    /// Returns the next callback, and waits for it until `until`.
    #[inline]
    pub(crate) fn callback(&mut self, until: Instant) -> Result<Option<Callback>, Error> {
        if self.callbacks.is_empty() && self.refused.is_empty() {
            self.work(until, Wake::Urgent, Self::has_news)?;
        }
        self.take_callback()
    }

    /// Whether there is a callback to take, or an exception of a posted call.
    fn has_news(&self) -> bool {
        !self.callbacks.is_empty() || !self.refused.is_empty()
    }

    /// Waits for a callback, an exception, or the bell: an eventfd with which other threads wake this one.
    pub(crate) fn wait_or_bell(&mut self) -> Result<(), Error> {
        if !self.has_news() && !self.link.is_rung() {
            let done = |driver: &Self| driver.has_news() || driver.link.is_rung();
            self.work(Instant::MAX, Wake::Urgent, done)?;
        }
        self.link.take_rung();
        Ok(())
    }

    /// Returns a handle that rings the bell.
    pub(crate) fn bell(&self) -> std::io::Result<EventFd> {
        self.link.bell()
    }

    /// Decodes the callback at this index of the queue and leaves it there. Waits for it if the queue is shorter;
    /// returns `None` if the wait must be repeated.
    pub(crate) fn peek_callback(&mut self, index: usize) -> Result<Option<Callback>, Error> {
        let has_news = |driver: &Self| driver.callbacks.len() > index || !driver.refused.is_empty();
        if !has_news(self) {
            if self.callbacks.memory() > self.callbacks_len_max {
                return Err(Error::Backlog(self.callbacks.len()));
            }
            self.work(Instant::MAX, Wake::Urgent, has_news)?;
        }
        self.transmit_old();
        if let Some(error) = self.refused.pop_front() {
            return Err(error);
        }
        let Some(body) = self.callbacks.get(index) else { return Ok(None) };
        match message::decode_callback(body) {
            Ok(callback) => Ok(Some(callback)),
            Err(error) => {
                self.remove_callback(index);
                Err(Error::Message { what: "a callback", error })
            }
        }
    }

    /// Removes the callback at this index of the queue and responds to its frame if it was the last one in it.
    pub(crate) fn remove_callback(&mut self, index: usize) {
        if let Some((Some(id), body)) = self.callbacks.remove(index) {
            // The caller reports a callback that cannot be decoded to the federate.
            self.respond(id, message::decode_callback(&body).err().as_ref());
        }
    }

    /// Responds to a frame, of which the last callback has been removed from the queue. It may be one that cannot be
    /// decoded.
    fn respond(&mut self, id: RequestId, error: Option<&MessageError>) {
        let taken = |answer| message::encode_taken(&answer);
        match error {
            None => self.session.respond_done(self.now, id, || taken(Ok(()))),
            Some(error) => {
                let failure = Exception::FederateInternalError.because(error.to_string());
                self.session.respond(self.now, id, taken(Err(failure)));
            }
        }
        self.answers_held += 1;
        if self.answers_held >= ANSWERS_HELD && self.callbacks.is_empty() {
            // The RTI keeps state until it has the responses, and the next evocation may be far off.
            self.is_urgent = true;
            self.transmit();
        }
    }

    /// Takes the next callback that has arrived.
    #[inline]
    pub(crate) fn take_callback(&mut self) -> Result<Option<Callback>, Error> {
        self.transmit_old();
        if let Some(error) = self.refused.pop_front() {
            return Err(error);
        }
        match self.callbacks.take_first(message::decode_callback_within) {
            None => Ok(None),
            Some((Ok(callback), answered)) => {
                if let Some(id) = answered {
                    self.respond(id, None);
                }
                Ok(Some(callback))
            }
            Some((Err(error), answered)) => {
                if let Some(id) = answered {
                    self.respond(id, Some(&error));
                }
                Err(Error::Message { what: "a callback", error })
            }
        }
    }

    /// Terminates the session and waits for the answer of the RTI.
    pub(crate) fn terminate(&mut self) -> Result<(), Error> {
        if self.end.is_some() {
            return Ok(());
        }
        self.session.terminate(self.now);
        self.is_urgent = true;
        match self.work(Instant::MAX, Wake::Any, |driver| driver.end.is_some()) {
            Ok(_) | Err(Error::Lost(End::Terminated) | Error::ConnectionLost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends what has been gathered, as far as the connection has room, and terminates the session without waiting.
    pub(crate) fn leave(&mut self) {
        if self.end.is_none() {
            self.is_urgent = true;
            self.now = MonotonicClock.now();
            self.exchange();
            self.session.terminate(self.now);
            self.is_urgent = true;
            self.exchange();
        }
    }

    fn lost(&self) -> Error {
        let lost = || Error::Lost(self.end.unwrap_or(End::Closed));
        self.fault.clone().map_or_else(lost, Error::ConnectionLost)
    }

    /// Drives the session until `done` holds or the deadline has passed. Returns whether `done` holds.
    fn work(
        &mut self,
        until: Instant,
        wake: Wake,
        done: impl Fn(&Self) -> bool,
    ) -> Result<bool, Error> {
        self.now = MonotonicClock.now();
        loop {
            self.exchange();
            if done(self) {
                return Ok(true);
            }
            if self.end.is_some() {
                return Err(self.lost());
            }
            let is_late = until <= self.now;
            if !self.link.is_readable() {
                let mut deadline = self.session.deadline().map_or(until, |at| at.min(until));
                if self.answers_held > 0 {
                    deadline = deadline.min(self.now + ANSWERS_HELD_FOR);
                }
                let before = self.now;
                // A deadline that has passed does not block.
                let deadline = if deadline <= before { Instant::ZERO } else { deadline };
                self.link.sleep(deadline, wake, self.written < self.out.len())?;
                self.now = MonotonicClock.now();
                self.session.tick(self.now);
                self.is_urgent |= self.session.has_output()
                    && (self.answers_held == 0 || self.now >= before + ANSWERS_HELD_FOR);
            } else {
                self.now = MonotonicClock.now();
            }
            if is_late {
                self.exchange();
                return if self.end.is_some() && !done(self) {
                    Err(self.lost())
                } else {
                    Ok(done(self))
                };
            }
        }
    }

    /// Reads and writes as much as possible without blocking.
    fn exchange(&mut self) {
        if let Some(opening) = self.link.go_on() {
            self.opened(opening);
        }
        self.take_events();
        self.transmit();
        if self.link.is_readable() {
            match self.link.read(&mut self.buffer) {
                Ok(len) => self.session.receive(self.now, &self.buffer[..len]),
                Err(_) => self.disconnected(),
            }
            self.take_events();
            self.transmit();
        }
        let flood = self.callbacks_len_max.saturating_mul(FLOOD);
        if self.end.is_none() && self.callbacks.memory() > flood {
            self.session.terminate(self.now);
            self.is_urgent = true;
            self.transmit();
            self.link.close();
            self.end = Some(End::Closed);
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::Connect => {
                    let opening = self.link.open();
                    self.opened(opening);
                }
                Event::Running => {
                    self.is_connected = true;
                    self.is_urgent = true;
                }
                Event::Request { id, body } => {
                    if message::is_connection_lost(&body) {
                        self.dismissed(&body, &body);
                    }
                    self.callbacks.push(id, body);
                }
                Event::Requests { id, bodies } => {
                    let is_lost = |body: &&[u8]| message::is_connection_lost(body);
                    if let Some(body) = bodies.parts().find(is_lost) {
                        self.dismissed(bodies.whole(), body);
                    }
                    self.callbacks.push_frame(id, bodies);
                }
                Event::Response { to, body } => {
                    if let Some(entry) = self.take_call(to) {
                        let reply = message::decode_reply(entry.number, entry.shape, &body);
                        self.take_reply(to, entry, reply);
                    }
                }
                Event::Done { through } => self.take_done(through),
                // The RTI posts no callbacks.
                Event::Posted { .. } => {}
                Event::Ended(end) => {
                    self.end.get_or_insert(end);
                }
                Event::Disconnect => self.close(),
            }
        }
    }

    /// The RTI has sent the last callback. The session need not be resumed when its connection closes.
    #[cold]
    fn dismissed(&mut self, whole: &Data, body: &[u8]) {
        let decoded = message::decode_callback_within(whole, body);
        if let Ok(Callback::ConnectionLost { fault_description }) = decoded {
            self.fault = Some(fault_description);
            self.session.close(self.now);
        }
    }

    fn opened(&mut self, opening: Opening) {
        match opening {
            Opening::UnderWay => {}
            Opening::Open => {
                self.session.connected(self.now);
                self.is_urgent = true;
            }
            Opening::Failed(error) => {
                self.failure = Some(error);
                self.session.disconnected(self.now);
            }
            Opening::Gone(error) => {
                self.failure = Some(error);
                self.session.close(self.now);
                self.end = Some(End::Unreachable);
            }
        }
    }

    /// The connection takes nothing more. What arrived before is still to be read: it may say why.
    #[cold]
    fn broken(&mut self) {
        while let Ok(len) = self.link.read(&mut self.buffer)
            && len > 0
        {
            self.session.receive(self.now, &self.buffer[..len]);
            self.take_events();
        }
        self.disconnected();
    }

    fn disconnected(&mut self) {
        self.close();
        self.session.disconnected(self.now);
        self.take_events();
    }

    fn close(&mut self) {
        self.link.close();
        self.out.clear();
        self.written = 0;
    }

    /// Removes a call that was answered; returns `None` for a [`NUDGE`].
    fn take_call(&mut self, to: Ticket) -> Option<&'static Entry> {
        let index = usize::try_from(to.0 - self.calls_before).expect("it is the index of a queue");
        let entry = self.calls[index].take().expect("a session delivers each reply once");
        while let Some(None) = self.calls.front() {
            self.calls.pop_front();
            self.calls_before += 1;
        }
        (!std::ptr::eq(entry, &raw const NUDGE.0)).then_some(entry)
    }

    /// Takes the replies to all calls up to one that have none: they were carried out.
    fn take_done(&mut self, through: Ticket) {
        while self.calls_before <= through.0
            && let Some(call) = self.calls.pop_front()
        {
            let ticket = Ticket(self.calls_before);
            self.calls_before += 1;
            if let Some(entry) = call {
                // The result of a call that nobody waits for is not wanted.
                let reply = match entry.shape {
                    Shape::Done => Ok(Ok(Reply::Done)),
                    _ if !self.is_awaited(ticket) => Ok(Ok(Reply::Done)),
                    _ => Err(MessageError::NoCase),
                };
                self.take_reply(ticket, entry, reply);
            }
        }
    }

    /// Whether the thread waits for the reply to a call.
    fn is_awaited(&self, call: Ticket) -> bool {
        let place = call.0.checked_sub(self.awaited);
        place.is_some_and(|place| place < self.answers.len() as u64)
    }

    fn take_reply(
        &mut self,
        to: Ticket,
        entry: &'static Entry,
        answer: Result<Result<Reply, Refusal>, MessageError>,
    ) {
        let call = entry.name;
        self.advances_refused += u64::from(entry.advances() && matches!(answer, Ok(Err(_))));
        let awaited = to.0.checked_sub(self.awaited).and_then(|index| usize::try_from(index).ok());
        let awaited = awaited.and_then(|index| self.answers.get_mut(index));
        let is_awaited = awaited.is_some();
        let answer = match answer {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(refusal)) if is_awaited => Err(Error::Exception { call, refusal }),
            Ok(Err(refusal)) => Err(Error::Earlier { call, refusal }),
            Err(error) => Err(Error::Message { what: "a reply", error }),
        };
        match awaited {
            Some(awaited) => {
                *awaited = Some(answer);
                self.answers_missing -= 1;
            }
            None => self.refused.extend(answer.err()),
        }
    }

    /// Writes to the connection while it has room, if something urgent waits.
    fn transmit(&mut self) {
        if !self.is_urgent && self.session.is_running() {
            return;
        }
        loop {
            if self.written == self.out.len() {
                self.out.clear();
                self.written = 0;
                self.session.transmit(self.now, &mut self.out, PIECE);
                if self.out.is_empty() {
                    self.is_urgent = false;
                    self.answers_held = 0;
                    self.gathered_since = None;
                    return;
                }
            }
            match self.link.write(&self.out[self.written..]) {
                Ok(0) => return,
                Ok(len) => self.written += len,
                Err(_) => return self.broken(),
            }
        }
    }
}

/// Returns the exception that the RTI raises for a call of a federate that is not joined.
pub(crate) fn not_joined(call: &'static str) -> Error {
    Error::Exception { call, refusal: Refusal::from(Exception::FederateNotExecutionMember) }
}
