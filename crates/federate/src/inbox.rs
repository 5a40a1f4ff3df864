//! Callbacks that have arrived and wait until the federate evokes them.

use std::collections::VecDeque;

use hemiola_fedpro::{Bodies, RequestId, shrink_queue};
use hemiola_hla::Data;

/// The memory of a callback besides its body, in bytes.
const CALLBACK_COST: usize = 64;

/// Callbacks in order, as they are encoded. Those that share a frame stay together until one of them is looked at out
/// of turn. After a burst the queue gives its memory back.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Callbacks that have been taken out of their frames; they precede all frames. With each, the frame to answer when
    /// it has been processed: it was the last one in it.
    single: VecDeque<(Option<RequestId>, Data)>,
    frames: VecDeque<(RequestId, Frame)>,
    len: usize,
    memory: usize,
}

/// The callbacks of a frame that have not been taken.
#[derive(Debug)]
enum Frame {
    One(Data),
    Several(Bodies),
}

impl Inbox {
    /// Adds the callback of a frame.
    pub(crate) fn push(&mut self, id: RequestId, body: Data) {
        self.len += 1;
        self.memory += body.len() + CALLBACK_COST;
        self.frames.push_back((id, Frame::One(body)));
    }

    /// Adds the callbacks of a frame. It is answered when the last one has been processed.
    pub(crate) fn push_frame(&mut self, id: RequestId, bodies: Bodies) {
        self.len += bodies.len();
        self.memory += bodies.bodies_len() + bodies.len() * CALLBACK_COST;
        self.frames.push_back((id, Frame::Several(bodies)));
    }

    /// Removes the first callback. Returns what `read` makes of its body, which is a part of the data before it, and
    /// the frame to answer if it was the last one in it.
    #[inline]
    pub(crate) fn take_first<T>(
        &mut self,
        read: impl FnOnce(&Data, &[u8]) -> T,
    ) -> Option<(T, Option<RequestId>)> {
        if self.single.is_empty()
            && let Some((_, Frame::Several(bodies))) = self.frames.front_mut()
            && let Some(body) = bodies.first()
        {
            self.memory -= body.len() + CALLBACK_COST;
            self.len -= 1;
            let taken = read(bodies.whole(), body);
            bodies.skip_first();
            return Some((taken, if bodies.is_empty() { self.remove_frame() } else { None }));
        }
        let (id, body) = self.take_single()?;
        Some((read(&body, &body), id))
    }

    /// Removes the first frame, whose callbacks have been taken.
    fn remove_frame(&mut self) -> Option<RequestId> {
        let (id, _) = self.frames.pop_front()?;
        shrink_queue(&mut self.frames);
        Some(id)
    }

    /// Takes the first callback, which has been taken out of its frame or is alone in it.
    fn take_single(&mut self) -> Option<(Option<RequestId>, Data)> {
        let first = match self.single.pop_front() {
            Some(first) => {
                shrink_queue(&mut self.single);
                first
            }
            None => {
                let (id, Frame::One(body)) = self.frames.pop_front()? else { return None };
                shrink_queue(&mut self.frames);
                (Some(id), body)
            }
        };
        self.memory -= first.1.len() + CALLBACK_COST;
        self.len -= 1;
        Some(first)
    }

    /// Removes the callback at this index, and returns it with the frame to answer if it was the last one in it.
    pub(crate) fn remove(&mut self, index: usize) -> Option<(Option<RequestId>, Data)> {
        self.take_apart(index);
        let removed = self.single.remove(index)?;
        self.memory -= removed.1.len() + CALLBACK_COST;
        self.len -= 1;
        shrink_queue(&mut self.single);
        Some(removed)
    }

    /// Returns the body of the callback at this index.
    pub(crate) fn get(&mut self, index: usize) -> Option<&Data> {
        self.take_apart(index);
        self.single.get(index).map(|(_, body)| body)
    }

    /// Takes the callbacks up to this index out of their frames.
    fn take_apart(&mut self, index: usize) {
        while self.single.len() <= index
            && let Some((id, frame)) = self.frames.pop_front()
        {
            match frame {
                Frame::One(body) => self.single.push_back((Some(id), body)),
                Frame::Several(mut bodies) => {
                    while let Some(body) = bodies.next() {
                        self.single.push_back((bodies.is_empty().then_some(id), body));
                    }
                }
            }
        }
        shrink_queue(&mut self.frames);
    }

    /// Returns the number of callbacks.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the memory of the callbacks, in bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use hemiola_fedpro::{Arrival, Client, Event, Greeting, Server, Session, SessionId, Settings};
    use hemiola_hla::Body;
    use hemiola_units::{Instant, Random};

    use super::*;

    /// The callbacks of a burst.
    const BURST: usize = 100_000;

    /// The room that may be left in each queue, in callbacks.
    const LEFT_MAX: usize = 256;

    /// Returns the callbacks of these frames as a session gives them. The RTI queues them; `true` ends a frame.
    fn frames(callbacks: &[(Vec<u8>, bool)]) -> Vec<Event> {
        let (now, settings) = (Instant::ZERO, Settings::default());
        let mut federate = Session::<Client>::open(now, settings);
        federate.share_frames();
        federate.connected(now);
        let (mut arrival, mut wire) = (Arrival::new(now, &settings), Vec::new());
        federate.transmit(now, &mut wire, usize::MAX);
        assert_eq!(arrival.receive(&wire), Ok(Some(Greeting::New)));
        let id = SessionId::new(1).expect("it is not 0");
        let mut rti = Session::<Server>::accept(now, settings, id, arrival);
        rti.share_frames();
        for (body, is_last) in callbacks {
            let body = Body::from(Data::copy_from_slice(body));
            let ticket = match is_last {
                true => rti.request(now, body),
                false => rti.request_with_next(now, &body),
            };
            assert!(ticket.is_some(), "the session runs");
        }
        wire.clear();
        rti.transmit(now, &mut wire, usize::MAX);
        federate.receive(now, &wire);
        let events = std::iter::from_fn(|| federate.poll());
        events.filter(|one| matches!(one, Event::Request { .. } | Event::Requests { .. })).collect()
    }

    /// Adds the callbacks of a frame to an inbox, and to a list of frames to answer and bodies.
    fn push(inbox: &mut Inbox, list: &mut Vec<(Option<RequestId>, Data)>, frame: Event) {
        match frame {
            Event::Request { id, body } => {
                list.push((Some(id), body.clone()));
                inbox.push(id, body);
            }
            Event::Requests { id, bodies } => {
                list.extend(bodies.clone().map(|body| (None, body)));
                list.last_mut().expect("a frame has callbacks").0 = Some(id);
                inbox.push_frame(id, bodies);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_inbox_does_what_a_list_of_callbacks_does() {
        for seed in 0..20 {
            let mut random = Random::from_seed(seed);
            let callback = |random: &mut Random| {
                let body = vec![random.below(256) as u8; random.below(90) as usize];
                (body, random.below(4) == 0)
            };
            let callbacks: Vec<_> = (0..400).map(|_| callback(&mut random)).collect();
            let mut coming = frames(&callbacks).into_iter();
            let (mut inbox, mut list) = (Inbox::default(), Vec::new());
            loop {
                let index = random.below(12) as usize;
                match random.below(6) {
                    0 if let Some(frame) = coming.next() => push(&mut inbox, &mut list, frame),
                    0 if list.is_empty() => break,
                    0 | 1 => assert_eq!(inbox.get(index), list.get(index).map(|(_, body)| body)),
                    2 => {
                        let removed = (index < list.len()).then(|| list.remove(index));
                        assert_eq!(inbox.remove(index), removed, "seed {seed}");
                    }
                    _ => {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        let read = |whole: &Data, body: &[u8]| whole.slice_ref(body);
                        let taken = inbox.take_first(read).map(|(body, id)| (id, body));
                        assert_eq!(taken, first, "seed {seed}");
                    }
                }
                let memory: usize = list.iter().map(|(_, body)| body.len() + CALLBACK_COST).sum();
                assert_eq!((inbox.len(), inbox.is_empty()), (list.len(), list.is_empty()));
                assert_eq!(inbox.memory(), memory, "seed {seed}");
            }
        }
    }

    #[test]
    fn an_inbox_gives_its_memory_back_after_a_burst() {
        let Some(Event::Request { id, .. }) = frames(&[(vec![], true)]).pop() else {
            panic!("a frame of one callback")
        };
        let mut inbox = Inbox::default();
        let room = |inbox: &Inbox| inbox.single.capacity() + inbox.frames.capacity();
        let takes: [fn(&mut Inbox) -> bool; 2] = [
            |inbox| inbox.take_first(|_, _| ()).is_some(),
            |inbox| inbox.remove(inbox.len() / 2).is_some(),
        ];
        for take in takes {
            for number in 0..BURST {
                inbox.push(id, Data::copy_from_slice(&number.to_be_bytes()));
            }
            assert_eq!(inbox.memory(), BURST * (size_of::<usize>() + CALLBACK_COST));
            while inbox.len() > BURST / 100 {
                take(&mut inbox);
            }
            let left = room(&inbox);
            assert!(left <= BURST / 10, "room for {left} callbacks, of which {} wait", inbox.len());
            while take(&mut inbox) {}
            let left = room(&inbox);
            assert!(inbox.is_empty() && left <= 2 * LEFT_MAX, "room for {left} callbacks");
            assert_eq!(inbox.memory(), 0);
        }
    }
}
