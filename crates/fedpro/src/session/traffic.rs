//! Both directions of a session, whatever side: numbers given and seen, what waits, what is kept to be sent again.

use std::collections::VecDeque;

use hemiola_hla::Data;

use super::ledger::Ledger;
use super::violation::Violation;
use crate::frame::{HEADER_LEN, Header, Kind, SessionId};
use crate::sequence::Sequence;

/// What a message costs in memory besides its body.
const MESSAGE_COST: usize = size_of::<Sent>();

/// So much room a queue may keep.
const SPARE_MAX: usize = 256;

/// A request or response that has no number yet: it gets one when it is written.
#[derive(Debug)]
struct Waiting {
    kind: Kind,
    /// The request that a response answers.
    answers: Option<Sequence>,
    body: Data,
}

/// A message that was written, as it was written.
#[derive(Debug)]
struct Sent {
    sequence: Sequence,
    /// The frame's header, and the number of the request in a response.
    front: [u8; HEADER_LEN + 4],
    front_len: u8,
    body: Data,
}

impl Sent {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.front[..usize::from(self.front_len)]);
        out.extend_from_slice(&self.body);
    }
}

#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// The number of the next frame.
    next: Option<Sequence>,
    /// The newest message that came.
    received: Option<Sequence>,
    /// Frames that are about the session itself. They go first, and are never sent again.
    control: VecDeque<(Kind, Data)>,
    waiting: VecDeque<Waiting>,
    waiting_len: usize,
    /// Messages the peer may not have, oldest first.
    sent: VecDeque<Sent>,
    sent_len: usize,
    /// How many of `sent` have been written to the present connection.
    written: usize,
    /// The newest message the peer has said that it has.
    acknowledged: Option<Sequence>,
    /// The newest message that was dropped from `sent` although the peer may not have it.
    forgotten: Option<Sequence>,
    /// Requests that the peer has not answered.
    pub(super) unanswered: Ledger,
    /// Requests of the peer.
    pub(super) owed: Ledger,
}

/// The messages after the one the peer has are not kept any more.
#[derive(Debug)]
pub(super) struct NotKept;

impl Traffic {
    /// The number of the next frame that is written.
    pub(super) fn next(&self) -> Sequence {
        self.next.unwrap_or(Sequence::FIRST)
    }

    /// Begins with another number than the standard's.
    pub(super) fn begin_with(&mut self, next: Sequence) {
        self.next = Some(next);
    }

    pub(super) fn push_control(&mut self, kind: Kind, numbers: &[u32]) {
        let payload: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.control.push_back((kind, Data::from(payload)));
    }

    pub(super) fn push_message(&mut self, kind: Kind, answers: Option<Sequence>, body: Data) {
        self.waiting_len += body.len() + MESSAGE_COST;
        self.waiting.push_back(Waiting { kind, answers, body });
    }

    /// How much waits, in bytes of memory.
    pub(super) fn waiting_len(&self) -> usize {
        self.waiting_len + self.control.len() * MESSAGE_COST
    }

    /// How much is kept to be sent again, in bytes of memory.
    pub(super) const fn kept_len(&self) -> usize {
        self.sent_len
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn control(&self) -> usize {
        self.control.len()
    }

    pub(super) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    pub(super) fn has_messages(&self) -> bool {
        self.written < self.sent.len() || !self.waiting.is_empty()
    }

    /// Writes frames that are about the session, as long as there are fewer bytes than so many.
    pub(super) fn write_control(&mut self, session: SessionId, out: &mut Vec<u8>, len_max: usize) {
        while out.len() < len_max
            && let Some((kind, payload)) = self.control.pop_front()
        {
            // What asks for a session to be resumed stands outside of it: it takes no number.
            let sequence = (kind != Kind::ResumeRequest).then(|| self.take_number());
            let header = Header { sequence, session, last_received: self.received, kind };
            out.extend_from_slice(&header.to_bytes(payload.len()));
            out.extend_from_slice(&payload);
        }
    }

    /// Writes messages as long as there are fewer bytes than so many: first those of a connection that broke, byte for
    /// byte, then new ones. Of what is kept, so much at most is kept on.
    pub(super) fn write_messages(
        &mut self,
        session: SessionId,
        out: &mut Vec<u8>,
        len_max: usize,
        kept_len_max: usize,
    ) {
        while out.len() < len_max {
            if let Some(sent) = self.sent.get(self.written) {
                sent.write(out);
            } else if let Some(waiting) = self.waiting.pop_front() {
                self.number(session, waiting).write(out);
            } else {
                break;
            }
            self.written += 1;
            while self.sent_len > kept_len_max && self.sent.len() > 1 && self.written > 1 {
                self.forgotten = self.drop_oldest();
            }
        }
    }

    fn take_number(&mut self) -> Sequence {
        let sequence = self.next();
        self.next = Some(sequence.next());
        sequence
    }

    fn number(&mut self, session: SessionId, waiting: Waiting) -> &Sent {
        let Waiting { kind, answers, body } = waiting;
        self.waiting_len -= body.len() + MESSAGE_COST;
        give_back(&mut self.waiting);
        let sequence = self.take_number();
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

    /// The peer has everything up to this message. It may say so late, after it has said more.
    pub(super) fn acknowledge(&mut self, newest: Sequence) -> Result<(), Violation> {
        if !self.next().is_after(newest) {
            return Err(Violation::AcknowledgedUnsent(newest));
        }
        while self.sent.front().is_some_and(|sent| !sent.sequence.is_after(newest)) {
            self.drop_oldest();
        }
        give_back(&mut self.sent);
        if self.forgotten.is_some_and(|forgotten| !forgotten.is_after(newest)) {
            self.forgotten = None;
        }
        if self.acknowledged.is_none_or(|before| newest.is_after(before)) {
            self.acknowledged = Some(newest);
        }
        Ok(())
    }

    /// A message of this number came. `false` if it, or a newer one, came before.
    pub(super) fn is_news(&mut self, sequence: Sequence) -> bool {
        let is_news = self.received.is_none_or(|received| sequence.is_after(received));
        if is_news {
            self.received = Some(sequence);
        }
        is_news
    }

    pub(super) const fn received(&self) -> Option<Sequence> {
        self.received
    }

    /// The oldest message that the peer may name as the newest it has.
    pub(super) fn oldest(&self) -> Option<Sequence> {
        let oldest = self.sent.front().map(|sent| sent.sequence);
        if self.forgotten.is_some() { oldest } else { self.acknowledged.or(oldest) }
    }

    /// The connection broke.
    pub(super) fn part(&mut self) {
        self.control.clear();
    }

    /// There is a new connection, and the peer has everything up to this message: what follows is sent again.
    pub(super) fn go_on_after(&mut self, newest: Option<Sequence>) -> Result<(), NotKept> {
        match newest {
            // Then it has never acknowledged any either.
            None if self.acknowledged.is_some() || self.forgotten.is_some() => return Err(NotKept),
            None => {}
            Some(newest) => {
                self.acknowledge(newest).map_err(|_| NotKept)?;
                if self.forgotten.is_some() {
                    return Err(NotKept);
                }
            }
        }
        self.written = 0;
        Ok(())
    }

    /// Nothing is sent any more.
    pub(super) fn clear(&mut self) {
        *self = Self { next: self.next, received: self.received, ..Self::default() };
    }
}

/// A burst of messages should not cost memory for ever: an RTI has many sessions. A queue that has far more room than
/// it needs keeps twice what it needs.
pub(super) fn give_back<T>(queue: &mut VecDeque<T>) {
    let room = queue.capacity();
    if room > SPARE_MAX && queue.len() <= room / 8 {
        queue.shrink_to(SPARE_MAX.max(2 * queue.len()));
    }
}
