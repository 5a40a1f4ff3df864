//! A two-way stream of bytes in shared memory, with a wake-up descriptor ("bell") at each end.
//!
//! It is two rings, one for each direction. The user defines the meaning of the bytes and decides when to give
//! up on a peer. The stream does not detect the death of a peer process: keep a Unix socket open beside it.
//!
#![doc = include_str!("stream/layout.md")]

mod ring;
#[cfg(all(test, not(loom)))]
mod tests;

use std::io;

use hemiola_units::Bytes;
use thiserror::Error;

use super::atomic::{Ordering, fence};
#[cfg(not(loom))]
use super::memory::Memory;
#[cfg(loom)]
use super::memory_loom::{Bell, Memory};
#[cfg(not(loom))]
use crate::sys::eventfd::EventFd as Bell;
/// What an end waits for: its own bell, or a view of it.
#[cfg(not(loom))]
type OwnBell = std::os::fd::OwnedFd;
#[cfg(loom)]
type OwnBell = Bell;
use ring::{Reader, Ring, Writer};

/// "HEMSTRM1", little-endian.
#[cfg(not(loom))]
const MAGIC: u64 = u64::from_le_bytes(*b"HEMSTRM1");
#[cfg(not(loom))]
const MAGIC_AT: usize = 0;
#[cfg(not(loom))]
const CAPACITY_AT: usize = 8;

/// The smallest capacity of a ring: a page.
pub const STREAM_CAPACITY_MIN: Bytes = Bytes(4096);
/// The largest capacity of a ring; a larger one must be an error.
pub const STREAM_CAPACITY_MAX: Bytes = Bytes(64 << 20);

/// How soon the reader should look at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// When the reader is awake anyway, or when the ring is half full. A reader that sleeps until
    /// [`Wake::Urgent`] is not woken.
    Lazy,
    /// At once.
    Urgent,
}

/// The writes that wake a sleeping reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Any write.
    Any,
    /// A write with [`Urgency::Urgent`], or a ring that becomes half full.
    Urgent,
}

/// Values of the `asleep` word.
const AWAKE: u64 = 0;
const FOR_URGENT: u64 = 1;
const FOR_ANY: u64 = 2;

/// Why a stream could not be created or accepted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The kernel refused one of the calls; `call` says which.
    #[error("{call} failed for a stream in shared memory: {source}")]
    System {
        /// The system call's name.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The requested capacity is too large.
    #[error("a stream holds at most {STREAM_CAPACITY_MAX} each way, not {0}")]
    Capacity(Bytes),
    /// The peer's memory is not a stream of this version, or its size could change.
    #[error("the peer's memory is not a stream of this version: {0}")]
    NotAStream(String),
}

/// Why nothing more can be read or written. The condition is permanent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamEnded {
    /// One of the ends is closed. A reader gets this error only after the last byte.
    #[error("the stream is closed")]
    Closed,
    /// The counts are impossible: the peer is faulty, or wrote where only this end may. Close the stream.
    #[error(
        "the stream's counts are damaged: {written} bytes written and {read} read, with room for {capacity}"
    )]
    Broken {
        /// The writer's count.
        written: u64,
        /// The reader's count.
        read: u64,
        /// Bytes the ring holds.
        capacity: u64,
    },
}

/// One end of a stream. Both ends may be in one process ([`pair`](Self::pair)), or one may be offered to
/// another process ([`offer`](Self::offer), [`accept`](Self::accept)).
///
/// [`read`](Self::read) and [`write`](Self::write) never wait. To wait, watch [`bell`](Self::bell)
/// edge-triggered and arm it before each wait: with [`sleep`](Self::sleep) for something to read, with
/// [`wants_room`](Self::wants_room) for room to write. Spurious wake-ups are possible.
///
/// Dropping an end closes it.
///
/// ```
/// use hemiola_rt::shared::{Stream, StreamEnded, Urgency, Wake};
/// use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
/// use hemiola_units::{Bytes, Instant};
///
/// let (mut here, mut there) = Stream::pair(Bytes(64 << 10))?;
/// let waiting = std::thread::spawn(move || {
///     let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(1));
///     epoll.add(there.bell(), 0, EventFlags::IN | EventFlags::ET).unwrap();
///     let (mut buffer, mut all) = ([0; 512], vec![]);
///     loop {
///         match there.read(&mut buffer) {
///             Ok(0) if there.sleep(Wake::Any) => epoll.wait(&mut events, Instant::MAX).unwrap(),
///             Ok(count) => all.extend_from_slice(&buffer[..count]),
///             Err(StreamEnded::Closed) => return all,
///             Err(error) => panic!("{error}"),
///         }
///     }
/// });
/// assert_eq!(here.write(b"position, ", Urgency::Lazy)?, 10);
/// assert_eq!(here.write(b"velocity", Urgency::Urgent)?, 8);
/// drop(here);
/// assert_eq!(waiting.join().unwrap(), b"position, velocity");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    memory: Memory,
    outgoing: Writer,
    incoming: Reader,
    own_bell: OwnBell,
    peer_bell: Bell,
    /// Whether this end set `asleep` and has not cleared it.
    armed: bool,
    closed: bool,
}

impl Stream {
    /// Returns the end that writes ring `index`.
    fn new(memory: Memory, index: usize, capacity: u64, bells: (OwnBell, Bell)) -> Self {
        let outgoing = Writer::attach(&memory, Ring::new(index, capacity));
        let incoming = Reader::attach(&memory, Ring::new(1 - index, capacity));
        let (own_bell, peer_bell) = bells;
        Self { memory, outgoing, incoming, own_bell, peer_bell, armed: false, closed: false }
    }

    /// Reads available bytes into the front of `buffer`; 0 if there are none now.
    ///
    /// # Errors
    /// [`StreamEnded`].
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamEnded> {
        if std::mem::take(&mut self.armed) {
            // This end is awake, so the peer need not ring. If the peer sets the word meanwhile, one spurious
            // ring follows.
            self.incoming.ring.asleep(&self.memory).store(AWAKE, Ordering::Relaxed);
        }
        let (mut count, mut roomy) = self.incoming.read(&self.memory, buffer)?;
        if count == 0 {
            if buffer.is_empty() || !self.incoming.ring.is_closed(&self.memory) {
                return Ok(0);
            }
            // More bytes may have been written before the close and after the first look.
            (count, roomy) = self.incoming.read(&self.memory, buffer)?;
            if count == 0 {
                return Err(StreamEnded::Closed);
            }
        }
        // SYNC POINT with the fence in `wants_room`: either the peer sees this read, or this end sees that the
        // peer waits.
        fence(Ordering::SeqCst);
        let wanted = self.incoming.ring.room_wanted(&self.memory);
        if roomy && wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::Relaxed) != 0 {
            self.peer_bell.ring();
        }
        Ok(count)
    }

    /// Appends as many of `bytes` as fit; 0 if the ring is full. Rings the peer's bell if the peer sleeps and
    /// wants to be woken for this write.
    ///
    /// # Errors
    /// [`StreamEnded`].
    pub fn write(&mut self, bytes: &[u8], urgency: Urgency) -> Result<usize, StreamEnded> {
        if self.closed || self.incoming.ring.is_closed(&self.memory) {
            return Err(StreamEnded::Closed);
        }
        let count = self.outgoing.write(&self.memory, bytes)?;
        // SYNC POINT with the fence in `sleep`: either the peer sees these bytes, or this end sees that the
        // peer sleeps.
        fence(Ordering::SeqCst);
        let asleep = self.outgoing.ring.asleep(&self.memory);
        let wakes = match (asleep.load(Ordering::Relaxed), urgency) {
            (AWAKE, _) => false,
            (FOR_URGENT, Urgency::Lazy) => !self.outgoing.has_room(&self.memory)?,
            _ => true,
        };
        if wakes && asleep.swap(AWAKE, Ordering::Relaxed) != AWAKE {
            self.peer_bell.ring();
        }
        Ok(count)
    }

    /// Returns how many bytes written here the peer has not read yet.
    ///
    /// # Errors
    /// [`StreamEnded::Broken`].
    pub fn unread(&self) -> Result<Bytes, StreamEnded> {
        Ok(Bytes(self.outgoing.held(&self.memory)?))
    }

    /// Whether a [`read`](Self::read) would return something: bytes or an error.
    #[must_use]
    pub fn has_input(&self) -> bool {
        self.incoming.held(&self.memory) != Ok(0) || self.incoming.ring.is_closed(&self.memory)
    }

    /// Arms the bell before a wait for something to read. Returns false if there is something to read, or the
    /// stream has ended: then do not wait. Call it before every wait.
    pub fn sleep(&mut self, wake: Wake) -> bool {
        let word = match wake {
            Wake::Any => FOR_ANY,
            Wake::Urgent => FOR_URGENT,
        };
        let asleep = self.incoming.ring.asleep(&self.memory);
        asleep.store(word, Ordering::Relaxed);
        // SYNC POINT with the fence in `write`.
        fence(Ordering::SeqCst);
        self.armed = self.incoming.held(&self.memory) == Ok(0)
            && !self.incoming.ring.is_closed(&self.memory);
        if !self.armed {
            asleep.store(AWAKE, Ordering::Relaxed);
        }
        self.armed
    }

    /// Arms the bell before a wait for room: it rings when half of the capacity is free. Returns false if that
    /// much is free already, or the stream has ended: then do not wait.
    pub fn wants_room(&mut self) -> bool {
        let wanted = self.outgoing.ring.room_wanted(&self.memory);
        wanted.store(1, Ordering::Relaxed);
        // SYNC POINT with the fence in `read`.
        fence(Ordering::SeqCst);
        let full = self.outgoing.has_room(&self.memory) == Ok(false)
            && !self.incoming.ring.is_closed(&self.memory);
        if !full {
            wanted.store(0, Ordering::Relaxed);
        }
        full
    }

    /// Closes this end and wakes the peer. The peer's `read` returns [`StreamEnded::Closed`] after the last
    /// byte, its `write` at once. Bytes that the peer has written can still be read here.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.outgoing.ring.close(&self.memory);
            self.peer_bell.ring();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(not(loom))]
mod mapped {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::fs::fstat;

    use super::super::memory::is_sealed;
    use super::ring::BYTES_AT;
    use super::{
        Bell, Bytes, CAPACITY_AT, MAGIC, MAGIC_AT, Memory, Ordering, STREAM_CAPACITY_MAX,
        STREAM_CAPACITY_MIN, Stream, StreamError,
    };
    use crate::sys::epoll::Epoll;

    fn system<E: Into<std::io::Error>>(call: &'static str) -> impl FnOnce(E) -> StreamError {
        move |source| StreamError::System { call, source: source.into() }
    }

    /// Bytes of a stream's memory.
    fn len(capacity: u64) -> usize {
        BYTES_AT + 2 * capacity as usize
    }

    /// Creates memory, all zero except for its header, with every page present.
    fn create(capacity: Bytes) -> Result<(Memory, OwnedFd, u64), StreamError> {
        if capacity > STREAM_CAPACITY_MAX {
            return Err(StreamError::Capacity(capacity));
        }
        let capacity = capacity.max(STREAM_CAPACITY_MIN).0.next_power_of_two();
        let (memory, fd) = Memory::create("hemiola-stream", len(capacity))
            .map_err(|(call, source)| StreamError::System { call, source })?;
        memory.u64(CAPACITY_AT).store(capacity, Ordering::Relaxed);
        memory.u64(MAGIC_AT).store(MAGIC, Ordering::Release);
        Ok((memory, fd, capacity))
    }

    fn bell() -> Result<Bell, StreamError> {
        Bell::new().map_err(system("eventfd"))
    }

    fn clone(bell: &Bell) -> Result<Bell, StreamError> {
        bell.try_clone().map_err(system("fcntl(F_DUPFD_CLOEXEC)"))
    }

    impl Stream {
        /// Returns both ends of a new stream with `capacity` bytes each way (rounded up to a power of two), for
        /// use inside this process.
        ///
        /// # Errors
        /// [`StreamError::Capacity`], and [`StreamError::System`] if no memory or descriptor is left.
        pub fn pair(capacity: Bytes) -> Result<(Self, Self), StreamError> {
            let (memory, _, capacity) = create(capacity)?;
            let (first, second) = (bell()?, bell()?);
            let theirs = (clone(&second)?.into(), clone(&first)?);
            let here = Self::new(memory.clone(), 0, capacity, (first.into(), second));
            Ok((here, Self::new(memory, 1, capacity, theirs)))
        }

        /// Returns one end of a new stream, and the descriptors from which another process makes the other end
        /// with [`accept`](Self::accept): the memory, a view of the peer's bell, and this end's bell. Send them in
        /// this order with [`send_with`](crate::sys::local::send_with). They are closed on exec.
        ///
        /// No peer can make a call of this end block: it rings a bell of which the peer has only a
        /// [view](crate::sys::eventfd::EventFd::view), and never reads or writes its own. A closed end may be gone
        /// before the peer hears its last ring; the socket beside the stream reports that.
        ///
        /// # Errors
        /// As [`pair`](Self::pair).
        pub fn offer(capacity: Bytes) -> Result<(Self, [OwnedFd; 3]), StreamError> {
            let (memory, fd, capacity) = create(capacity)?;
            let (first, second) = (bell()?, bell()?);
            let view = second.view(Self::BELL_TOKEN).map_err(system("epoll_create1"))?;
            let theirs = [fd, view, clone(&first)?.into()];
            Ok((Self::new(memory, 0, capacity, (first.into(), second)), theirs))
        }

        /// Returns the other end of an offered stream. Its memory is checked. Anything that its owner writes
        /// into it later causes a [`StreamEnded`](super::StreamEnded) at worst.
        ///
        /// The end that accepts trusts the one that offers: that one could make the write to its bell block.
        ///
        /// # Errors
        /// [`StreamError::NotAStream`]; [`StreamError::System`].
        pub fn accept(offered: [OwnedFd; 3]) -> Result<Self, StreamError> {
            let [fd, own, peer] = offered;
            let not = |what: String| Err(StreamError::NotAStream(what));
            if !is_sealed(fd.as_fd()) {
                return not("its size could change".into());
            }
            let size = fstat(&fd).map_err(system("fstat"))?.st_size;
            let most = len(STREAM_CAPACITY_MAX.0) as i64;
            if !(BYTES_AT as i64..=most).contains(&size) {
                return not(format!("it has {size} bytes"));
            }
            let memory = Memory::map(fd.as_fd(), size as usize, true).map_err(system("mmap"))?;
            let word = |offset| memory.u64(offset).load(Ordering::Relaxed);
            let (magic, capacity) = (word(MAGIC_AT), word(CAPACITY_AT));
            if magic != MAGIC {
                return not(format!("it starts with {magic:#018x}"));
            }
            let sound = capacity.is_power_of_two()
                && (STREAM_CAPACITY_MIN.0..=STREAM_CAPACITY_MAX.0).contains(&capacity)
                && len(capacity) as i64 == size;
            if !sound {
                return not(format!("{size} bytes do not hold {capacity} each way"));
            }
            let peer = Bell::from_fd(peer).map_err(system("fcntl(F_SETFL)"))?;
            Ok(Self::new(memory, 1, capacity, (own, peer)))
        }

        /// The token under which the set of an accepted stream reports its bell.
        pub const BELL_TOKEN: u64 = 1;

        /// Returns the set that watches the bell of an accepted stream, under [`BELL_TOKEN`](Self::BELL_TOKEN). To wait
        /// for it and for other descriptors added to it takes less time than to watch [`bell`](Self::bell) in another
        /// set.
        ///
        /// # Errors
        /// `EINVAL` if the stream was not accepted; if no descriptor is left.
        pub fn set(&self) -> std::io::Result<Epoll> {
            Epoll::over(self.own_bell.try_clone()?)
        }

        /// Returns the descriptor to watch edge-triggered (`EventFlags::IN | EventFlags::ET`) while waiting; it
        /// need not be read.
        #[must_use]
        pub fn bell(&self) -> BorrowedFd<'_> {
            self.own_bell.as_fd()
        }
    }
}

#[cfg(loom)]
impl Stream {
    pub(super) fn pair(capacity: u64) -> (Self, Self) {
        let rings = (0..2).flat_map(|index| Ring::new(index, capacity).words());
        let memory = Memory::wide(rings);
        let (first, second) = (Bell::new(), Bell::new());
        let here = Self::new(memory.clone(), 0, capacity, (first.clone(), second.clone()));
        (here, Self::new(memory, 1, capacity, (second, first)))
    }

    /// Waits on the bell.
    pub(super) fn hear(&self) {
        self.own_bell.wait();
    }
}
