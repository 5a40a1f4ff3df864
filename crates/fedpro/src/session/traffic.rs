//! The two directions of a session: sequence numbers, messages that wait, and messages kept for retransmission.

use std::collections::VecDeque;

use hemiola_hla::{Body, Data};

use super::event::Bodies;
use super::ledger::Ledger;
use super::violation::Violation;
use crate::frame::{BLOCK_LEN, FrameKind, HEADER_LEN, Header, SessionId};
use crate::sequence::Sequence;

/// The memory of a message besides its body, in bytes.
const MESSAGE_COST: usize = size_of::<Sent>();

/// Longer frames are written in parts, in bytes.
const WHOLE_LEN_MAX: usize = 64 << 10;

/// The longest payload of a frame with several requests, in bytes. The receiver copies such a frame as one block, which
/// lives as long as the last value in it.
const SHARED_LEN_MAX: usize = BLOCK_LEN - HEADER_LEN;

/// The capacity that an emptied queue may keep, in elements.
const SPARE_MAX: usize = 256;

/// A request or response that has not been written. It gets its sequence number when it is written.
#[derive(Debug)]
struct Waiting {
    kind: FrameKind,
    /// For a response: the request that it answers.
    answers: Option<Sequence>,
    /// How many requests have joined the first one.
    joined: u32,
    body: Body,
}

/// A written message, with the bytes that were written.
#[derive(Debug)]
struct Sent {
    sequence: Sequence,
    /// The frame's header and, in a response, the number of the request.
    front: [u8; HEADER_LEN + 4],
    front_len: u8,
    body: Body,
}

impl Sent {
    fn len(&self) -> usize {
        usize::from(self.front_len) + self.body.len()
    }

    /// Appends its bytes from `begun` on: all, or as many as there is room for if it is long. Returns how many bytes
    /// have been written since its beginning.
    fn write(&self, begun: usize, out: &mut Vec<u8>, room: usize) -> usize {
        let front_len = usize::from(self.front_len);
        if begun == 0 {
            out.extend_from_slice(&self.front[..front_len]);
        }
        let from = begun.saturating_sub(front_len);
        let is_whole = self.len() <= WHOLE_LEN_MAX;
        let part = if is_whole { usize::MAX } else { room };
        let until = from.saturating_add(part).min(self.body.len());
        self.body.append(from, until, out);
        front_len + until
    }
}

#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// The number of the next frame.
    next: Option<Sequence>,
    /// The newest message received.
    received: Option<Sequence>,
    /// Frames that control the session. They are sent first and never sent again.
    control: VecDeque<(FrameKind, Data)>,
    waiting: VecDeque<Waiting>,
    waiting_len: usize,
    /// How many requests wait that have joined others.
    joined: usize,
    /// Whether the last message that waits may take further requests.
    is_open: bool,
    /// Its payload, once it holds several requests.
    shared: Vec<u8>,
    /// Messages that the peer may not have received, oldest first.
    sent: VecDeque<Sent>,
    sent_len: usize,
    /// How many of `sent` have been written to the current connection.
    written: usize,
    /// How many bytes of the next one have been written to it.
    begun: usize,
    /// A message that was interrupted in the middle when all others were discarded. The peer must receive its rest
    /// before any other frame.
    rest: Option<Box<Sent>>,
    /// The newest message that the peer has acknowledged.
    acknowledged: Option<Sequence>,
    /// The newest message that was dropped from `sent` without being acknowledged.
    dropped: Option<Sequence>,
    /// Requests that the peer has not answered.
    pub(super) unanswered: Ledger,
    /// Requests of the peer that this side has not answered.
    pub(super) to_answer: Ledger,
}

/// Messages that the peer has not received are no longer kept.
#[derive(Debug)]
pub(super) struct NotKept;

impl Traffic {
    /// Returns the number of the next frame.
    pub(super) fn next(&self) -> Sequence {
        self.next.unwrap_or(Sequence::FIRST)
    }

    /// Sets the number of the first frame.
    pub(super) fn start_at(&mut self, next: Sequence) {
        self.next = Some(next);
    }

    pub(super) fn push_control(&mut self, kind: FrameKind, numbers: &[u32]) {
        let payload: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.control.push_back((kind, Data::from(payload)));
    }

    pub(super) fn push_message(&mut self, kind: FrameKind, answers: Option<Sequence>, body: Body) {
        self.close();
        self.waiting_len += body.len() + MESSAGE_COST;
        self.waiting.push_back(Waiting { kind, answers, joined: 0, body });
    }

    /// Whether the last message that waits, a request, may take further ones.
    pub(super) const fn set_open(&mut self, is_open: bool) {
        self.is_open = is_open;
    }

    /// Adds a request to the last message that waits. Returns `false` if that takes no more.
    pub(super) fn join(&mut self, kind: FrameKind, body: &Body) -> bool {
        let Some(last) = self.waiting.back_mut().filter(|_| self.is_open) else { return false };
        let is_first = self.shared.is_empty();
        let before = if is_first { Bodies::HEAD + last.body.len() } else { self.shared.len() };
        if before + Bodies::HEAD + body.len() > SHARED_LEN_MAX {
            return false;
        }
        if is_first {
            self.shared.reserve_exact(SHARED_LEN_MAX);
            Bodies::put(&mut self.shared, &std::mem::take(&mut last.body));
            last.kind = kind;
            self.waiting_len += Bodies::HEAD;
        }
        Bodies::put(&mut self.shared, body);
        last.joined += 1;
        self.joined += 1;
        self.waiting_len += Bodies::HEAD + body.len();
        true
    }

    /// The last message that waits takes no further requests.
    pub(super) fn close(&mut self) {
        self.is_open = false;
        if !self.shared.is_empty() {
            let mut payload = std::mem::take(&mut self.shared);
            payload.shrink_to_fit();
            let last = self.waiting.back_mut().expect("it holds these requests");
            last.body = Data::from(payload).into();
        }
    }

    /// Queues the answer to a request, and joins it with the answers of this kind at the end of the queue.
    pub(super) fn push_joined(&mut self, kind: FrameKind, answers: Sequence) {
        match self.waiting.back_mut() {
            Some(last) if last.kind == kind => last.answers = Some(answers),
            _ => self.push_message(kind, Some(answers), Body::default()),
        }
    }

    /// Returns how much waits to be sent, in bytes of memory.
    pub(super) fn waiting_len(&self) -> usize {
        self.waiting_len + self.control.len() * MESSAGE_COST
    }

    /// Returns how much is kept for retransmission, in bytes of memory.
    pub(super) const fn kept_len(&self) -> usize {
        self.sent_len
    }

    pub(super) const fn acknowledged(&self) -> Option<Sequence> {
        self.acknowledged
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() + self.joined
    }

    pub(super) fn control(&self) -> usize {
        self.control.len()
    }

    pub(super) fn has_control(&self) -> bool {
        !self.control.is_empty() || self.rest.is_some()
    }

    pub(super) fn has_messages(&self) -> bool {
        self.written < self.sent.len() || !self.waiting.is_empty()
    }

    /// Writes control frames while `out` has fewer than `len_max` bytes, but not in the middle of a message.
    pub(super) fn write_control(&mut self, session: SessionId, out: &mut Vec<u8>, len_max: usize) {
        if let Some(rest) = &self.rest {
            self.begun = rest.write(self.begun, out, len_max.saturating_sub(out.len()));
            if self.begun == rest.len() {
                (self.begun, self.rest) = (0, None);
            }
        }
        while self.begun == 0
            && out.len() < len_max
            && let Some((kind, payload)) = self.control.pop_front()
        {
            // A request to resume is sent outside the session and has no sequence number.
            let sequence = (kind != FrameKind::ResumeRequest).then(|| self.next_number());
            let header = Header { sequence, session, last_received: self.received, kind };
            out.extend_from_slice(&header.to_bytes(payload.len()));
            out.extend_from_slice(&payload);
        }
    }

    /// Writes messages while `out` has fewer than `len_max` bytes: first those sent over a broken connection, byte for
    /// byte, then new ones. Long ones are written in parts. Drops the oldest kept messages beyond `kept_len_max`.
    pub(super) fn write_messages(
        &mut self,
        session: SessionId,
        out: &mut Vec<u8>,
        len_max: usize,
        kept_len_max: usize,
    ) {
        while out.len() < len_max {
            let (begun, room) = (self.begun, len_max - out.len());
            let sent = if self.written < self.sent.len() {
                &self.sent[self.written]
            } else if let Some(waiting) = self.next_waiting() {
                self.number(session, waiting)
            } else {
                break;
            };
            let (end, len) = (sent.write(begun, out, room), sent.len());
            if end < len {
                self.begun = end;
                break;
            }
            self.begun = 0;
            self.written += 1;
            while self.sent_len > kept_len_max && self.sent.len() > 1 && self.written > 1 {
                self.dropped = self.drop_oldest();
            }
        }
    }

    fn next_waiting(&mut self) -> Option<Waiting> {
        if self.waiting.len() == 1 {
            self.close();
        }
        self.waiting.pop_front()
    }

    fn next_number(&mut self) -> Sequence {
        let sequence = self.next();
        self.next = Some(sequence.next());
        sequence
    }

    fn number(&mut self, session: SessionId, waiting: Waiting) -> &Sent {
        let Waiting { kind, answers, joined, body } = waiting;
        self.joined -= joined as usize;
        self.waiting_len -= body.len() + MESSAGE_COST;
        shrink_queue(&mut self.waiting);
        let sequence = self.next_number();
        if answers.is_none() {
            self.unanswered.open(sequence);
        }
        let answer_len = if answers.is_some() { 4 } else { 0 };
        let header =
            Header { sequence: Some(sequence), session, last_received: self.received, kind };
        let mut front = [0; HEADER_LEN + 4];
        front[..HEADER_LEN].copy_from_slice(&header.to_bytes(answer_len + body.len()));
        front[HEADER_LEN..].copy_from_slice(&Sequence::to_wire(answers).to_be_bytes());
        self.sent_len += body.len() + MESSAGE_COST;
        let front_len = (HEADER_LEN + answer_len) as u8;
        self.sent.push_back(Sent { sequence, front, front_len, body });
        self.sent.back().expect("it was pushed")
    }

    fn drop_oldest(&mut self) -> Option<Sequence> {
        let oldest = self.sent.pop_front()?;
        self.sent_len -= oldest.body.len() + MESSAGE_COST;
        self.written = self.written.saturating_sub(1);
        Some(oldest.sequence)
    }

    /// Drops the kept messages up to `newest`, which the peer has received. Acknowledgements may arrive out of order.
    pub(super) fn acknowledge(&mut self, newest: Sequence) -> Result<(), Violation> {
        // Of the frames that arrive together, mostly all but the first acknowledge nothing new.
        if self.acknowledged == Some(newest) {
            return Ok(());
        }
        let is_begun = |sent: &Sent| self.begun > 0 && !sent.sequence.is_after(newest);
        if !self.next().is_after(newest) || self.sent.get(self.written).is_some_and(is_begun) {
            return Err(Violation::AcknowledgedUnsent(newest));
        }
        while self.sent.front().is_some_and(|sent| !sent.sequence.is_after(newest)) {
            self.drop_oldest();
        }
        shrink_queue(&mut self.sent);
        if self.dropped.is_some_and(|dropped| !dropped.is_after(newest)) {
            self.dropped = None;
        }
        if self.acknowledged.is_none_or(|before| newest.is_after(before)) {
            self.acknowledged = Some(newest);
        }
        Ok(())
    }

    /// Notes that a message with this number arrived. Returns `false` if it, or a newer one, arrived before.
    pub(super) fn note_received(&mut self, sequence: Sequence) -> bool {
        let is_news = self.received.is_none_or(|received| sequence.is_after(received));
        if is_news {
            self.received = Some(sequence);
        }
        is_news
    }

    pub(super) const fn received(&self) -> Option<Sequence> {
        self.received
    }

    /// Returns the oldest message that the peer may name as the newest it has received.
    pub(super) fn oldest(&self) -> Option<Sequence> {
        let oldest = self.sent.front().map(|sent| sent.sequence);
        if self.dropped.is_some() { oldest } else { self.acknowledged.or(oldest) }
    }

    /// Discards what is bound to the connection, which has broken. The queues keep no spare room: a session may wait
    /// for its next connection for minutes, and an RTI may have thousands of them.
    pub(super) fn connection_lost(&mut self) {
        self.control = VecDeque::new();
        (self.begun, self.rest) = (0, None);
        self.waiting.shrink_to_fit();
        self.sent.shrink_to_fit();
        self.unanswered.shrink_to_fit();
        self.to_answer.shrink_to_fit();
    }

    /// Sends the messages after `newest` again over a new connection; the peer has received everything up to it.
    pub(super) fn resume_after(&mut self, newest: Option<Sequence>) -> Result<(), NotKept> {
        match newest {
            // A peer that has received nothing cannot have acknowledged anything.
            None if self.acknowledged.is_some() || self.dropped.is_some() => return Err(NotKept),
            None => {}
            Some(newest) => {
                self.acknowledge(newest).map_err(|_| NotKept)?;
                if self.dropped.is_some() {
                    return Err(NotKept);
                }
            }
        }
        self.written = 0;
        Ok(())
    }

    /// Discards everything that was to be sent, except the rest of a message that is being written.
    pub(super) fn clear(&mut self) {
        let Self { next, received, begun, .. } = *self;
        let rest = if begun > 0 { self.sent.remove(self.written) } else { None };
        let rest = self.rest.take().or(rest.map(Box::new));
        *self = Self { next, received, begun, rest, ..Self::default() };
    }
}

/// Shrinks a queue whose capacity is far larger than its length to twice its length. An RTI has many sessions; a burst
/// of messages must not occupy memory permanently. Room for a few hundred elements is kept.
pub fn shrink_queue<T>(queue: &mut VecDeque<T>) {
    let room = queue.capacity();
    if room > SPARE_MAX && queue.len() <= room / 8 {
        queue.shrink_to(SPARE_MAX.max(2 * queue.len()));
    }
}
