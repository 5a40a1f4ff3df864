//! Both ends in one process: behaviour like a bounded deque, when to ring, and a faulty peer.

use std::collections::VecDeque;

use hemiola_units::Span;
use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, MonotonicClock};
use crate::sys::epoll::{Epoll, EventFlags, Events};

const CAPACITY: usize = STREAM_CAPACITY_MIN.0 as usize;

fn pair() -> (Stream, Stream) {
    Stream::pair(STREAM_CAPACITY_MIN).unwrap()
}

fn all(stream: &mut Stream) -> Vec<u8> {
    let mut buffer = [0; 2 * CAPACITY];
    let count = stream.read(&mut buffer).unwrap();
    buffer[..count].to_vec()
}

/// Whether the bell of this end has rung since the last check.
fn rung(stream: &Stream) -> bool {
    rustix::io::read(&stream.own_bell, &mut [0; 8]).is_ok()
}

#[derive(Clone, Debug)]
enum Step {
    Write { from_first: bool, len: usize, urgency: Urgency },
    Read { to_first: bool, len: usize },
    Sleep { first: bool, wake: Wake },
    WantsRoom { first: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![0..20_usize, 0..2 * CAPACITY];
    let urgency = prop_oneof![Just(Urgency::Lazy), Just(Urgency::Urgent)];
    let wake = prop_oneof![Just(Wake::Any), Just(Wake::Urgent)];
    prop_oneof![
        4 => (any::<bool>(), len(), urgency)
            .prop_map(|(from_first, len, urgency)| Step::Write { from_first, len, urgency }),
        4 => (any::<bool>(), len()).prop_map(|(to_first, len)| Step::Read { to_first, len }),
        1 => (any::<bool>(), wake).prop_map(|(first, wake)| Step::Sleep { first, wake }),
        1 => any::<bool>().prop_map(|first| Step::WantsRoom { first }),
    ]
}

/// The expected state of one direction.
#[derive(Default)]
struct Model {
    bytes: VecDeque<u8>,
    next: u8,
    asleep: Option<Wake>,
    waits_for_room: bool,
}

proptest! {
    #[test]
    fn the_stream_behaves_like_two_bounded_deques(
        start in prop_oneof![Just(0_u64), Just(u64::MAX - 2000), 0..20_u64],
        steps in proptest::collection::vec(step(), 0..80),
    ) {
        let (a, b) = pair();
        let memory = a.memory.clone();
        for word in [128, 256, 384, 512] {
            memory.u64(word).store(start, Ordering::Relaxed);
        }
        let bells = |stream: &Stream| {
            (stream.own_bell.try_clone().unwrap(), stream.peer_bell.try_clone().unwrap())
        };
        let capacity = CAPACITY as u64;
        let mut ends = [
            Stream::new(memory.clone(), 0, capacity, bells(&a)),
            Stream::new(memory, 1, capacity, bells(&b)),
        ];
        // The direction that each end writes.
        let mut models = [Model::default(), Model::default()];
        for step in steps {
            let mut rings = [false; 2];
            match step {
                Step::Write { from_first, len, urgency } => {
                    let from = usize::from(!from_first);
                    let model = &mut models[from];
                    let bytes: Vec<u8> =
                        (0..len).map(|at| model.next.wrapping_add(at as u8)).collect();
                    let wrote = ends[from].write(&bytes, urgency).unwrap();
                    // Up to a word is kept back, so that a word is never written while it is being read.
                    let free = CAPACITY - model.bytes.len();
                    prop_assert!(wrote <= len.min(free) && wrote + 7 >= len.min(free));
                    prop_assert!(wrote > 0 || len == 0 || !model.bytes.is_empty());
                    model.bytes.extend(&bytes[..wrote]);
                    model.next = model.next.wrapping_add(wrote as u8);
                    let wakes = match model.asleep {
                        None => false,
                        Some(Wake::Urgent) if urgency == Urgency::Lazy => {
                            model.bytes.len() > CAPACITY / 2
                        }
                        Some(_) => true,
                    };
                    if wakes {
                        model.asleep = None;
                        rings[1 - from] = true;
                    }
                }
                Step::Read { to_first, len } => {
                    let to = usize::from(!to_first);
                    let model = &mut models[1 - to];
                    let mut buffer = vec![0; len];
                    let count = ends[to].read(&mut buffer).unwrap();
                    prop_assert_eq!(count, len.min(model.bytes.len()));
                    let expected: Vec<u8> = model.bytes.drain(..count).collect();
                    prop_assert_eq!(&buffer[..count], &expected);
                    model.asleep = None;
                    if model.waits_for_room && model.bytes.len() <= CAPACITY / 2 {
                        model.waits_for_room = false;
                        rings[1 - to] = true;
                    }
                }
                Step::Sleep { first, wake } => {
                    let end = usize::from(!first);
                    let model = &mut models[1 - end];
                    let sleeps = ends[end].sleep(wake);
                    prop_assert_eq!(sleeps, model.bytes.is_empty());
                    model.asleep = sleeps.then_some(wake);
                }
                Step::WantsRoom { first } => {
                    let end = usize::from(!first);
                    let model = &mut models[end];
                    let waits = ends[end].wants_room();
                    prop_assert_eq!(waits, model.bytes.len() > CAPACITY / 2);
                    model.waits_for_room = waits;
                }
            }
            let unread = ends[0].unread().unwrap();
            prop_assert_eq!(unread, Bytes(models[0].bytes.len() as u64));
            let has_input = [ends[1].has_input(), ends[0].has_input()];
            prop_assert_eq!(has_input, [0, 1].map(|from| !models[from].bytes.is_empty()));
            prop_assert_eq!([rung(&ends[0]), rung(&ends[1])], rings);
        }
    }
}

#[test]
fn a_lazy_write_wakes_an_urgent_sleeper_only_when_the_ring_is_half_full() {
    let (mut a, mut b) = pair();
    assert!(b.sleep(Wake::Urgent));
    a.write(&[0; CAPACITY / 2], Urgency::Lazy).unwrap();
    assert!(!rung(&b));
    a.write(b"x", Urgency::Lazy).unwrap();
    assert!(rung(&b));
    assert!(!b.sleep(Wake::Urgent));
    assert_eq!(all(&mut b).len(), CAPACITY / 2 + 1);
    assert!(b.sleep(Wake::Urgent));
    a.write(b"x", Urgency::Lazy).unwrap();
    a.write(b"y", Urgency::Urgent).unwrap();
    assert!(rung(&b));
    assert_eq!(all(&mut b), b"xy");
}

#[test]
fn a_reader_that_is_awake_is_not_rung() {
    let (mut a, mut b) = pair();
    assert!(b.sleep(Wake::Any));
    a.write(b"one", Urgency::Lazy).unwrap();
    assert!(rung(&b));
    a.write(b"two", Urgency::Urgent).unwrap();
    assert!(!rung(&b));
    assert_eq!(all(&mut b), b"onetwo");
    assert!(b.sleep(Wake::Any));
    assert_eq!(all(&mut b), b"");
    a.write(b"three", Urgency::Urgent).unwrap();
    assert!(!rung(&b));
}

#[test]
fn a_closed_stream_can_be_read_to_its_end_and_not_written() {
    let (mut a, mut b) = pair();
    a.write(b"last words", Urgency::Lazy).unwrap();
    b.write(b"an answer", Urgency::Lazy).unwrap();
    assert!(!a.wants_room());
    drop(b);
    assert!(rung(&a));
    assert_eq!(a.write(b"x", Urgency::Lazy), Err(StreamEnded::Closed));
    assert!(!a.sleep(Wake::Urgent) && !a.wants_room());
    assert_eq!(all(&mut a), b"an answer");
    assert!(a.has_input(), "the end");
    assert_eq!(a.read(&mut [0; 4]), Err(StreamEnded::Closed));
    assert_eq!(a.read(&mut []), Ok(0));
}

#[test]
fn closing_wakes_a_writer_that_waits_for_room() {
    let (mut a, mut b) = pair();
    assert_eq!(a.write(&[0; 2 * CAPACITY], Urgency::Urgent), Ok(CAPACITY));
    assert_eq!(a.write(b"x", Urgency::Urgent), Ok(0));
    assert!(a.wants_room());
    b.close();
    assert!(rung(&a));
    assert_eq!(b.write(b"x", Urgency::Urgent), Err(StreamEnded::Closed));
    assert_eq!(all(&mut b).len(), CAPACITY);
}

#[test]
fn an_offered_stream_works_through_another_mapping() {
    let (mut a, offered) = Stream::offer(Bytes(5000)).unwrap();
    let mut b = Stream::accept(offered).unwrap();
    let (epoll, mut events) = watch(&b);
    assert!(b.sleep(Wake::Any));
    assert_eq!(a.write(&[7; 10_000], Urgency::Lazy), Ok(8192));
    wait(&epoll, &mut events);
    assert!(!rung(&a));
    let mut buffer = [0; 8192];
    assert_eq!(b.read(&mut buffer), Ok(8192));
    assert_eq!(buffer, [7; 8192]);
    b.write(b"back", Urgency::Lazy).unwrap();
    assert_eq!(all(&mut a), b"back");
}

/// Runs `work` on a thread of its own, which must not hang.
fn without_hanging(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(std::time::Duration::from_secs(60)).expect("it does not hang");
    thread.join().unwrap();
}

#[test]
fn a_peer_that_fills_a_bell_and_makes_it_block_blocks_nobody() {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let (mut a, offered) = Stream::offer(STREAM_CAPACITY_MIN).unwrap();
    for fd in &offered[1..] {
        fcntl_setfl(fd, fcntl_getfl(fd).unwrap() & !OFlags::NONBLOCK).unwrap();
        // The view refuses it.
        let _ = rustix::io::write(fd, &(u64::MAX - 1).to_ne_bytes());
    }
    let memory = a.memory.clone();
    without_hanging(move || {
        for _ in 0..100 {
            // The peer sleeps and wants room, whatever it says elsewhere.
            memory.u64(264).store(FOR_ANY, Ordering::Relaxed);
            memory.u64(392).store(1, Ordering::Relaxed);
            a.write(b"x", Urgency::Urgent).unwrap();
            a.read(&mut [0; 8]).unwrap();
        }
        drop(a);
    });
}

#[test]
fn a_hole_in_the_memory_is_read_as_nonsense_at_worst() {
    use rustix::fs::{FallocateFlags, fallocate, ftruncate};
    let (mut a, [fd, ..]) = Stream::offer(STREAM_CAPACITY_MIN).unwrap();
    a.write(&[1; 100], Urgency::Lazy).unwrap();
    assert!(ftruncate(&fd, 0).is_err(), "the size is sealed");
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&fd, hole, 0, 3 * 4096).unwrap();
    let _ = a.write(&[2; 5000], Urgency::Urgent);
    let _ = a.read(&mut [0; 5000]);
    a.sleep(Wake::Any);
    a.wants_room();
}

#[test]
fn a_capacity_beyond_the_maximum_is_refused() {
    let error = Stream::pair(Bytes(u64::MAX)).unwrap_err();
    assert!(matches!(error, StreamError::Capacity(_)), "{error}");
}

#[test]
fn memory_that_is_not_a_stream_is_refused_with_the_reason() {
    use rustix::fs::{
        MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
    };
    let memory = |size: u64, header: [u64; 2], seals: SealFlags| {
        let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, size).unwrap();
        let bytes = header.map(u64::to_le_bytes).concat();
        rustix::io::pwrite(&fd, &bytes[..bytes.len().min(size as usize)], 0).unwrap();
        fcntl_add_seals(&fd, seals).unwrap();
        assert_eq!(fcntl_get_seals(&fd).unwrap(), seals);
        fd
    };
    let fixed = SealFlags::SHRINK | SealFlags::GROW;
    let size = 4096 + 2 * 4096;
    for (fd, expected) in [
        (memory(size, [MAGIC, 4096], SealFlags::GROW), "its size could change"),
        (memory(0, [MAGIC, 4096], fixed), "it has 0 bytes"),
        (memory(size, [1, 4096], fixed), "it starts with 0x0000000000000001"),
        (memory(size, [MAGIC, 0], fixed), "12288 bytes do not hold 0 each way"),
        (memory(size, [MAGIC, 8192], fixed), "12288 bytes do not hold 8192 each way"),
        (memory(size, [MAGIC, 1 << 63], fixed), "12288 bytes do not hold 9223372036854775808"),
        (memory(4096, [MAGIC, 4096], fixed), "4096 bytes do not hold 4096 each way"),
        (std::fs::File::open("/dev/null").unwrap().into(), "its size could change"),
    ] {
        let bells = [Bell::new().unwrap().into(), Bell::new().unwrap().into()];
        let [own, peer] = bells;
        let error = Stream::accept([fd, own, peer]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    /// Arbitrary values in the counts and flags at any moment cause an error or wrong bytes, and nothing worse.
    #[test]
    fn a_peer_that_writes_nonsense_causes_an_error_at_worst(
        lies in proptest::collection::vec((0..80_usize, any::<u64>(), 0..6_u8), 1..60),
    ) {
        let (mut a, b) = pair();
        let memory = b.memory.clone();
        let mut buffer = vec![0; CAPACITY + 100];
        for (word, lie, action) in lies {
            memory.u64(8 * word).store(lie, Ordering::Relaxed);
            match action {
                0 => drop(a.read(&mut buffer)),
                1 => drop(a.read(&mut buffer[..13])),
                2 => drop(a.write(&buffer[..999], Urgency::Lazy)),
                3 => drop(a.write(&buffer, Urgency::Urgent)),
                4 => drop(a.sleep(Wake::Any)),
                _ => drop((a.wants_room(), a.unread())),
            }
        }
    }
}

#[test]
fn impossible_counts_are_reported_by_both_sides() {
    let (mut a, b) = pair();
    a.write(b"four", Urgency::Lazy).unwrap();
    b.memory.u64(256).store(9, Ordering::Relaxed);
    let broken = StreamEnded::Broken { written: 4, read: 9, capacity: 4096 };
    assert_eq!(a.write(b"x", Urgency::Lazy), Err(broken));
    assert_eq!(a.unread(), Err(broken));
    assert!(!a.wants_room());
    b.memory.u64(384).store(5000, Ordering::Relaxed);
    let broken = StreamEnded::Broken { written: 5000, read: 0, capacity: 4096 };
    assert_eq!(a.read(&mut [0; 8]), Err(broken));
    assert!(!a.sleep(Wake::Any));
}

/// Sleeps until the bell rings.
fn wait(epoll: &Epoll, events: &mut Events) {
    epoll.wait(events, MonotonicClock.now() + Span::from_millis(60_000)).unwrap();
    assert!(!events.is_empty(), "no ring for a minute");
}

fn watch(stream: &Stream) -> (Epoll, Events) {
    let epoll = Epoll::new().unwrap();
    epoll.add(stream.bell(), 0, EventFlags::IN | EventFlags::ET).unwrap();
    (epoll, Events::with_capacity(1))
}

#[test]
fn two_threads_that_sleep_whenever_possible_pass_every_byte() {
    const LEN: u64 = 3_000_000;
    let (mut a, mut b) = pair();
    let writing = std::thread::spawn(move || {
        let (epoll, mut events) = watch(&a);
        let mut at = 0_u64;
        while at < LEN {
            let len = 1 + (at * 7919) % 300;
            let bytes: Vec<u8> = (at..(at + len).min(LEN)).map(|at| (at % 251) as u8).collect();
            let urgency = if at.is_multiple_of(3) { Urgency::Lazy } else { Urgency::Urgent };
            match a.write(&bytes, urgency).unwrap() {
                0 if a.wants_room() => wait(&epoll, &mut events),
                count => at += count as u64,
            }
        }
    });
    let (epoll, mut events) = watch(&b);
    let mut buffer = [0; 700];
    let mut at = 0_u64;
    loop {
        let wake = if at.is_multiple_of(2) { Wake::Any } else { Wake::Urgent };
        match b.read(&mut buffer) {
            Ok(0) if b.sleep(wake) => wait(&epoll, &mut events),
            Ok(count) => {
                for byte in &buffer[..count] {
                    assert_eq!(*byte, (at % 251) as u8);
                    at += 1;
                }
            }
            Err(StreamEnded::Closed) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(at, LEN);
    writing.join().unwrap();
}
