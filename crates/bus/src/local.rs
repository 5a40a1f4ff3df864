//! Channels within one process, for programs of one process and for tests.
//!
//! Ends find each other by run and name in a table of the process. A lock guards the messages and is held only while
//! one is copied. This backend can therefore block for that long; the others never do.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use hemiola_units::{Delivery, Instant};

use crate::channel::{ReceiveError, Receiver, SendError, Sender, check_buffer, check_message};
use crate::{Readiness, Spec};

/// The messages of one channel, and its waiting receivers.
#[derive(Debug)]
pub(crate) struct Memory {
    delivery: Delivery,
    message_size: usize,
    ring: Mutex<Ring>,
    sent: Condvar,
}

/// A ring of the last messages; message `n` is in slot `n % slots.len()`.
#[derive(Debug)]
struct Ring {
    slots: Vec<Slot>,
    sent: u64,
    received: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    length: usize,
    bytes: Vec<u8>,
}

/// The channels of this process by run and name. Used only to open ends.
static CHANNELS: Mutex<BTreeMap<(String, String), Weak<Memory>>> = Mutex::new(BTreeMap::new());

impl Memory {
    /// Registers a new channel; `None` if run and name are in use.
    pub(crate) fn create(spec: &Spec) -> Option<Arc<Self>> {
        let slot = Slot { length: 0, bytes: vec![0; spec.message_size] };
        let count = match spec.delivery {
            Delivery::Latest => 1,
            Delivery::Queue(length) => length.get() as usize,
        };
        let ring = Ring { slots: vec![slot; count], sent: 0, received: 0 };
        let memory = Arc::new(Self {
            delivery: spec.delivery,
            message_size: spec.message_size,
            ring: Mutex::new(ring),
            sent: Condvar::new(),
        });
        let mut channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, memory| memory.strong_count() > 0);
        let key = (spec.run.clone(), spec.endpoint.name().to_owned());
        if channels.contains_key(&key) {
            return None;
        }
        channels.insert(key, Arc::downgrade(&memory));
        Some(memory)
    }

    /// Returns the channel of this run and name, if this process has it.
    pub(crate) fn find(run: &str, name: &str) -> Option<Arc<Self>> {
        let channels = CHANNELS.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(&(run.to_owned(), name.to_owned()))?.upgrade()
    }

    /// Locks the ring. A panic elsewhere cannot have left it half changed, because copying bytes does not panic.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct LocalSender(pub(crate) Arc<Memory>);

/// A receiving end; each end of a latest channel remembers what it has seen.
#[derive(Debug)]
pub(crate) struct LocalReceiver {
    memory: Arc<Memory>,
    seen: u64,
}

impl LocalReceiver {
    pub(crate) const fn new(memory: Arc<Memory>) -> Self {
        Self { memory, seen: 0 }
    }

    /// Returns the number of the next message to deliver, if there is one.
    fn next(&self, ring: &Ring) -> Option<u64> {
        match self.memory.delivery {
            Delivery::Latest => (ring.sent > self.seen).then(|| ring.sent - 1),
            Delivery::Queue(_) => (ring.sent > ring.received).then_some(ring.received),
        }
    }
}

impl Sender for LocalSender {
    fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        check_message(message, self.0.message_size)?;
        let mut ring = self.0.ring();
        let count = ring.slots.len() as u64;
        let full = ring.sent - ring.received == count;
        if full && matches!(self.0.delivery, Delivery::Queue(_)) {
            return Err(SendError::Full);
        }
        let index = (ring.sent % count) as usize;
        let slot = &mut ring.slots[index];
        slot.length = message.len();
        slot.bytes[..message.len()].copy_from_slice(message);
        ring.sent += 1;
        if self.0.delivery == Delivery::Latest {
            ring.received = ring.sent;
        }
        drop(ring);
        self.0.sent.notify_all();
        Ok(())
    }
}

impl Receiver for LocalReceiver {
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError> {
        check_buffer(buffer, self.memory.message_size)?;
        let mut ring = self.memory.ring();
        let Some(number) = self.next(&ring) else { return Ok(None) };
        let slot = &ring.slots[(number % ring.slots.len() as u64) as usize];
        let length = slot.length;
        buffer[..length].copy_from_slice(&slot.bytes[..length]);
        self.seen = number + 1;
        ring.received = ring.received.max(number + 1);
        drop(ring);
        Ok(Some(&buffer[..length]))
    }

    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError> {
        let mut ring = self.memory.ring();
        loop {
            if self.next(&ring).is_some() {
                return Ok(Readiness::Ready);
            }
            let left = until - crate::now();
            if !left.is_positive() {
                return Ok(Readiness::TimedOut);
            }
            let waited = self.memory.sent.wait_timeout(ring, left.to_duration());
            ring = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
