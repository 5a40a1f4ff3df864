//! Callbacks that have arrived and wait until the federate evokes them.

use std::collections::VecDeque;

use hemiola_fedpro::session::RequestId;
use hemiola_fedpro::shrink_queue;
use hemiola_hla::Data;

/// The memory of a callback besides its body, in bytes.
const CALLBACK_COST: usize = 64;

/// Callbacks in order, as they are encoded. After a burst the queue gives its memory back.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// With each, the frame to answer when it has been processed: it was the last one in it.
    callbacks: VecDeque<(Option<RequestId>, Data)>,
    memory: usize,
}

impl Inbox {
    /// Adds a callback. `id` is that of its frame, if it is the last one in it.
    pub(crate) fn push(&mut self, id: Option<RequestId>, body: Data) {
        self.memory += body.len() + CALLBACK_COST;
        self.callbacks.push_back((id, body));
    }

    /// Removes the first callback.
    pub(crate) fn pop(&mut self) -> Option<(Option<RequestId>, Data)> {
        let first = self.callbacks.pop_front();
        self.removed(first)
    }

    /// Removes the callback at this index.
    pub(crate) fn remove(&mut self, index: usize) -> Option<(Option<RequestId>, Data)> {
        let removed = self.callbacks.remove(index);
        self.removed(removed)
    }

    fn removed(
        &mut self,
        removed: Option<(Option<RequestId>, Data)>,
    ) -> Option<(Option<RequestId>, Data)> {
        let (_, body) = removed.as_ref()?;
        self.memory -= body.len() + CALLBACK_COST;
        shrink_queue(&mut self.callbacks);
        removed
    }

    /// Returns the body of the callback at this index.
    pub(crate) fn get(&self, index: usize) -> Option<&Data> {
        self.callbacks.get(index).map(|(_, body)| body)
    }

    /// Returns the number of callbacks.
    pub(crate) fn len(&self) -> usize {
        self.callbacks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.callbacks.is_empty()
    }

    /// Returns the memory of the callbacks, in bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use hemiola_fedpro::{Arrival, Client, Event, Greeting, Server, Session, SessionId, Settings};
    use hemiola_units::Instant;

    use super::*;

    /// The callbacks of a burst.
    const BURST: usize = 100_000;

    /// The room that may be left, in callbacks.
    const LEFT_MAX: usize = 256;

    /// Returns the name of a callback as a session gives it.
    fn request() -> RequestId {
        let (now, settings) = (Instant::ZERO, Settings::default());
        let mut federate = Session::<Client>::open(now, settings);
        federate.connected(now);
        let (mut arrival, mut wire) = (Arrival::new(now, &settings), Vec::new());
        federate.transmit(now, &mut wire, usize::MAX);
        assert_eq!(arrival.receive(&wire), Ok(Some(Greeting::New)));
        let id = SessionId::new(1).expect("it is not 0");
        let mut rti = Session::<Server>::accept(now, settings, id, arrival);
        rti.request(now, Data::new());
        wire.clear();
        rti.transmit(now, &mut wire, usize::MAX);
        federate.receive(now, &wire);
        let mut events = std::iter::from_fn(|| federate.poll());
        let request = events.find_map(|event| match event {
            Event::Request { id, .. } => Some(id),
            _ => None,
        });
        request.expect("the callback has arrived")
    }

    #[test]
    fn an_inbox_gives_its_memory_back_after_a_burst() {
        let (mut inbox, id) = (Inbox::default(), request());
        for take in [Inbox::pop, |inbox: &mut Inbox| inbox.remove(inbox.len() / 2)] {
            for number in 0..BURST {
                inbox.push(Some(id), Data::copy_from_slice(&number.to_be_bytes()));
            }
            assert_eq!(inbox.memory(), BURST * (size_of::<usize>() + CALLBACK_COST));
            while inbox.len() > BURST / 100 {
                take(&mut inbox);
            }
            let room = inbox.callbacks.capacity();
            assert!(room <= BURST / 10, "room for {room} callbacks, of which {} wait", inbox.len());
            while take(&mut inbox).is_some() {}
            let room = inbox.callbacks.capacity();
            assert!(inbox.is_empty() && room <= LEFT_MAX, "room for {room} callbacks");
            assert_eq!(inbox.memory(), 0);
        }
    }
}
