//! The kernel's part of a trace: written, damaged, read.

use hemiola_units::Instant;
use proptest::prelude::*;

use super::*;
use crate::perfetto::TraceWriter;
use crate::perfetto::tests::unsealed;
use crate::sched::{Event, Interrupt, Thread, Tid, What};
use crate::{ReadError, Recording};

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn event(nanos: u64, cpu: u16, what: What) -> Event {
    Event { at: at(nanos), cpu, what }
}

fn switch(prev: u32, left: Left, next: u32) -> What {
    What::Switch { prev: Tid(prev), left, next: Tid(next), priority: 120 }
}

fn thread(tid: u32, pid: u32, since: u64, name: &str, new: bool) -> Thread {
    Thread { tid: Tid(tid), since: at(since), pid, name: name.into(), new }
}

fn file(lanes: &[&[Event]], threads: &[Thread]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, at(1), 2, &[("kernel", "6.1.0")]).unwrap();
    writer.threads(threads).unwrap();
    for events in lanes {
        if let Some(first) = events.first() {
            writer.kernel(first.cpu, events).unwrap();
        }
    }
    writer.close().unwrap();
    file
}

/// A ping-pong of two threads over a pipe, on one processor, at 400,000 switches per second.
fn ping_pong(switches: u32) -> Vec<Event> {
    let mut events = Vec::new();
    for n in 0..switches {
        let now = 86_400_000_000_000 + u64::from(n) * 2500;
        let (one, other) = if n % 2 == 0 { (70_001, 70_002) } else { (70_002, 70_001) };
        let waker = if n == 0 { Tid::UNKNOWN } else { Tid(one) };
        let wake = What::Wake { tid: Tid(other), waker, context: Context::Thread, target: 1 };
        events.push(event(now, 1, wake));
        let prev = if n == 0 { Tid::UNKNOWN.0 } else { one };
        events.push(event(now + 400, 1, switch(prev, Left::Sleeping, other)));
    }
    events
}

fn any_what() -> impl Strategy<Value = What> {
    let tid = prop_oneof![(0..4_u32).prop_map(Tid), Just(Tid::UNKNOWN), any::<u32>().prop_map(Tid)];
    let left = (0..8_usize).prop_map(|index| {
        [
            Left::Preempted,
            Left::Yielded,
            Left::Sleeping,
            Left::Uninterruptible,
            Left::Stopped,
            Left::Dead,
            Left::Idle,
            Left::Unknown,
        ][index]
    });
    let priority = prop_oneof![-1..140_i16, Just(PRIORITY_UNKNOWN)];
    let context = (0..3_usize)
        .prop_map(|index| [Context::Thread, Context::Interrupt, Context::Unknown][index]);
    let interrupt = (any::<bool>(), any::<u16>()).prop_map(|(hard, number)| {
        if hard { Interrupt::Hard(number) } else { Interrupt::Soft(number) }
    });
    prop_oneof![
        (tid.clone(), left, tid.clone(), priority)
            .prop_map(|(prev, left, next, priority)| What::Switch { prev, left, next, priority }),
        (tid.clone(), tid, context, any::<u16>())
            .prop_map(|(tid, waker, context, target)| What::Wake { tid, waker, context, target }),
        interrupt.clone().prop_map(What::InterruptEntry),
        interrupt.prop_map(What::InterruptExit),
        any::<bool>().prop_map(What::PageFault),
        any::<u16>().prop_map(What::CallEntry),
        any::<u16>().prop_map(What::CallExit),
        any::<u32>().prop_map(What::Lost),
        any::<bool>().prop_map(What::Online),
        any::<u64>().prop_map(|until| What::SleepUntil(Instant::from_nanos(until).into())),
    ]
}

/// Events of one processor, in order, with ties.
fn any_lane(cpu: u16) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..3_u64, any_what()), 0..60).prop_map(move |steps| {
        let mut now = 1_000_000;
        let step = |(step, what)| {
            now += step;
            event(now, cpu, what)
        };
        steps.into_iter().map(step).collect()
    })
}

#[test]
fn a_switch_with_its_wake_up_takes_about_17_bytes() {
    let events = ping_pong(10_000);
    let bytes = file(&[&events], &[]).len();
    assert!(bytes <= 172_000, "{bytes}");
}

#[test]
fn a_ping_pong_survives_the_round_trip() {
    let events = ping_pong(10_000);
    let threads =
        [thread(70_001, 70_000, 0, "ping", false), thread(70_002, 70_000, 0, "pong", false)];
    let (recording, errors) = Recording::read(&file(&[&events], &threads));
    assert_eq!(errors, []);
    assert_eq!(recording.cpus, [1]);
    assert!(recording.events().eq(events.iter().copied()));
    assert_eq!(recording.threads, threads);
    assert_eq!(recording.began, Some((at(1), 2)));
    assert_eq!(recording.conditions, [("kernel".into(), "6.1.0".into())]);
}

#[test]
fn kernel_events_do_not_count_as_foreign_packets() {
    let (trace, errors) =
        crate::perfetto::read(&file(&[&ping_pong(10)], &[thread(7, 7, 0, "x", false)]));
    assert_eq!((errors, trace.foreign_packets), (vec![], 0));
}

#[test]
fn new_renamed_and_renumbered_threads_survive_the_round_trip() {
    let threads = [
        thread(7, 7, 0, "bash", false),
        thread(7, 7, 500, "ls", false),
        thread(7, 6, 900, "worker", true),
        thread(8, 8, 1000, "cat", true),
    ];
    let (recording, errors) = Recording::read(&file(&[], &threads));
    assert_eq!(errors, []);
    assert_eq!(recording.threads, threads);
}

#[test]
fn names_are_learnt_from_switches_if_there_is_no_other_source() {
    // As other programs write: names are only in the table of each bundle.
    let mut table = Vec::new();
    for (field, bytes) in [
        (compact::INTERN_TABLE, &b"old"[..]),
        (compact::INTERN_TABLE, b"new"),
        (compact::SWITCH_TIMESTAMP, &[10, 10, 10]),
        (compact::SWITCH_PREV_STATE, &[1, 1, 1]),
        (compact::SWITCH_NEXT_PID, &[7, 0, 7]),
        (compact::SWITCH_NEXT_PRIO, &[120, 120, 120]),
        (compact::SWITCH_NEXT_COMM, &[0, 0, 1]),
    ] {
        hemiola_wire::put_bytes(&mut table, field, bytes);
    }
    let mut bundle = Vec::new();
    hemiola_wire::put_number(&mut bundle, bundle::CPU, 0);
    hemiola_wire::put_bytes(&mut bundle, bundle::COMPACT_SCHED, &table);
    let mut packet = Vec::new();
    hemiola_wire::put_bytes(&mut packet, 1, &bundle);
    let mut file = Vec::new();
    hemiola_wire::put_bytes(&mut file, 1, &packet);
    let (recording, errors) = Recording::read(&file);
    assert_eq!(errors, []);
    assert_eq!(recording.threads, [thread(7, 0, 0, "old", false), thread(7, 0, 30, "new", false)]);
    let first = event(10, 0, switch(Tid::UNKNOWN.0, Left::Sleeping, 7));
    assert_eq!(recording.events().next(), Some(first));
    assert!(recording.conditions[0].1.contains("BOOTTIME"), "{:?}", recording.conditions);
}

/// Returns a message of these fields, numbers or bytes.
fn message(fields: &[(u32, Result<u64, &[u8]>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(field, value) in fields {
        match value {
            Ok(number) => hemiola_wire::put_number(&mut bytes, field, number),
            Err(value) => hemiola_wire::put_bytes(&mut bytes, field, value),
        }
    }
    bytes
}

#[test]
fn a_trace_of_perfettos_recorder_is_converted_to_the_monotonic_clock() {
    // The machine was suspended for 5000 ns before: the boot clock is ahead by that much.
    let clock = |id, at| message(&[(1, Ok(id)), (2, Ok(at))]);
    let snapshot = message(&[(1, Err(&clock(6, 9000))), (1, Err(&clock(3, 4000)))]);
    let info = message(&[(1, Err(&message(&[(3, Err(b"5.10.0"))])))]);
    let tree = message(&[
        (1, Err(&message(&[(1, Ok(40)), (3, Err(b"/usr/bin/program"))]))),
        (2, Err(&message(&[(1, Ok(41)), (2, Err(b"worker")), (3, Ok(40))]))),
    ]);
    let switch = message(&[
        (1, Err(b"main")),
        (2, Ok(40)),
        (4, Ok(0x100)),
        (5, Err(b"worker")),
        (6, Ok(41)),
        (7, Ok(49)),
    ]);
    // Only `sched_wakeup` was recorded, from an interrupt.
    let wake = message(&[(1, Err(b"worker")), (2, Ok(41)), (5, Ok(1))]);
    let woken = message(&[(1, Ok(9100)), (2, Ok(40)), (17, Err(&wake)), (5, Ok(0x08))]);
    let switched = message(&[(1, Ok(9200)), (2, Ok(40)), (4, Err(&switch))]);
    let bundle = message(&[(1, Ok(1)), (2, Err(&woken)), (2, Err(&switched)), (3, Ok(1))]);
    let packets = [
        message(&[(1, Err(&bundle)), (10, Ok(7))]),
        message(&[(6, Err(&snapshot)), (10, Ok(7))]),
        message(&[(45, Err(&info))]),
        message(&[(2, Err(&tree)), (8, Ok(9050))]),
        // Perfetto's configuration, which has no meaning here.
        message(&[(33, Err(b""))]),
    ];
    let file: Vec<u8> = packets.iter().flat_map(|packet| message(&[(1, Err(packet))])).collect();

    let (recording, errors) = Recording::read(&file);
    assert_eq!((errors, &recording.conditions), (vec![], &vec![]));
    let wake = What::Wake { tid: Tid(41), waker: Tid(40), context: Context::Interrupt, target: 1 };
    let next = What::Switch { prev: Tid(40), left: Left::Preempted, next: Tid(41), priority: 49 };
    let events = [event(4100, 1, What::Lost(0)), event(4100, 1, wake), event(4200, 1, next)];
    assert!(recording.events().eq(events), "{:?}", recording.events().collect::<Vec<_>>());
    let threads = [thread(40, 40, 0, "main", false), thread(41, 40, 0, "worker", false)];
    assert_eq!(recording.threads, threads);
}

#[test]
fn a_name_that_the_kernel_cut_within_a_character_hides_no_other() {
    let named = |tid, name: &[u8]| message(&[(1, Ok(tid)), (2, Err(name)), (3, Ok(40))]);
    let process = message(&[(1, Ok(40)), (3, Err(b"main\xc3")), (9, Ok(1))]);
    let (cut, whole) = (named(41, b"abc\xc3"), named(42, b"worker"));
    let tree = message(&[(1, Err(&process)), (2, Err(&cut)), (2, Err(&whole))]);
    let packet = message(&[(2, Err(&tree)), (8, Ok(9050))]);
    let (recording, errors) = Recording::read(&message(&[(1, Err(&packet))]));
    assert_eq!(errors, []);
    let names = recording.threads.iter().map(|thread| (thread.tid.0, thread.name.as_str()));
    assert!(names.eq([(40, "main\u{fffd}"), (41, "abc\u{fffd}"), (42, "worker")]));
}

#[test]
fn a_trace_whose_wake_ups_have_no_flags_says_that_interrupts_are_unknown() {
    let told = |file: &[u8]| {
        let (recording, errors) = Recording::read(file);
        assert_eq!(errors, []);
        assert_eq!(recording.events().count(), 1);
        recording
            .conditions
            .iter()
            .any(|(name, text)| name == "wake-ups" && text.contains("interrupt"))
    };
    let file = |fields: &[(u32, Result<u64, &[u8]>)]| {
        let bundle = message(&[&[(bundle::CPU, Ok(0))], fields].concat());
        message(&[(1, Err(&message(&[(1, Err(&bundle))])))])
    };
    let wake = message(&[(1, Err(b"worker")), (2, Ok(41)), (5, Ok(1))]);
    let alone = |flags: &[(u32, Result<u64, &[u8]>)]| {
        let woken = [&[(1, Ok(9100)), (2, Ok(40)), (20, Err(&wake[..]))], flags].concat();
        told(&file(&[(bundle::EVENT, Err(&message(&woken)))]))
    };
    assert!(alone(&[]) && !alone(&[(5, Ok(0))]) && !alone(&[(5, Ok(8))]));
    let mut lists = vec![
        (compact::INTERN_TABLE, Err(&b"worker"[..])),
        (compact::WAKING_TIMESTAMP, Err(&[10])),
        (compact::WAKING_PID, Err(&[41])),
        (compact::WAKING_TARGET_CPU, Err(&[1])),
        (compact::WAKING_PRIO, Err(&[120])),
        (compact::WAKING_COMM, Err(&[0])),
    ];
    assert!(told(&file(&[(bundle::COMPACT_SCHED, Err(&message(&lists)))])));
    lists.push((compact::WAKING_COMMON_FLAGS, Err(&[0])));
    assert!(!told(&file(&[(bundle::COMPACT_SCHED, Err(&message(&lists)))])));
    // Our own leave out flags that are 0.
    let what = What::Wake { tid: Tid(7), waker: Tid(8), context: Context::Thread, target: 0 };
    assert!(!told(&self::file(&[&[event(5, 0, what)]], &[])));
}

/// A file whose packets are compressed, in groups.
fn compressed(groups: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    for group in groups {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, group).unwrap();
        let packet = message(&[(COMPRESSED, Err(&encoder.finish().unwrap()))]);
        hemiola_wire::put_bytes(&mut file, 1, &packet);
    }
    file
}

/// The field of compressed packets in a packet, `TracePacket.compressed_packets`.
const COMPRESSED: u32 = 50;

#[test]
fn compressed_packets_are_read_like_others() {
    let first = ping_pong(500);
    let second = [event(86_500_000_000_000, 1, switch(70_001, Left::Sleeping, 70_002))];
    let names = [thread(70_001, 70_001, 0, "ping", false)];
    let (one, two) = (unsealed(&file(&[&first], &names)), unsealed(&file(&[&second], &[])));
    let plain = [&one[..], &two].concat();
    let packed = compressed(&[&one, &two]);
    assert!(packed.len() < plain.len());
    let (expected, none) = Recording::read(&plain);
    for mixed in [packed, [&one[..], &compressed(&[&two])].concat()] {
        let (recording, errors) = Recording::read(&mixed);
        assert_eq!((&errors, &none), (&vec![], &vec![]));
        assert!(recording.events().eq(first.iter().chain(&second).copied()));
        assert_eq!(recording.threads, expected.threads);
    }
    let zstd =
        ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    let mut zstd_file = Vec::new();
    hemiola_wire::put_bytes(&mut zstd_file, 1, &message(&[(133, Err(&zstd))]));
    assert_eq!(Recording::read(&zstd_file).0.events().count(), first.len() + 1);
}

#[test]
fn damaged_compressed_packets_are_reported_at_their_packet_and_the_others_are_read() {
    let first = ping_pong(500);
    let second = [event(86_500_000_000_000, 1, switch(70_001, Left::Sleeping, 70_002))];
    let (one, two) = (unsealed(&file(&[&first], &[])), unsealed(&file(&[&second], &[])));
    let said = |bytes: &[u8]| {
        let (recording, errors) = Recording::read(bytes);
        let [ReadError::Packet { offset, reason }] = &errors[..] else { panic!("{errors:?}") };
        (recording.events().count(), *offset, reason.clone())
    };
    // Damage in the second group, and one that is no compressed text at all.
    let whole = compressed(&[&one, &two]);
    let place = compressed(&[&one]).len();
    let mut damaged = whole.clone();
    let length = damaged.len();
    damaged[length - 1] ^= 1;
    let (events, offset, reason) = said(&damaged);
    assert!(events >= first.len() && offset == place, "{events} {offset}");
    assert!(reason.starts_with("its compressed packets are damaged"), "{reason}");
    let mut none = compressed(&[&one]);
    hemiola_wire::put_bytes(&mut none, 1, &message(&[(COMPRESSED, Err(b"x"))]));
    none.extend(&two);
    let (events, offset, _) = said(&none);
    assert!(events > first.len() && offset == place, "{events} {offset}");
    // Packets within packets would be compressed without an end.
    let twice = said(&compressed(&[&compressed(&[&one])]));
    assert!(twice.0 == 0 && twice.2.contains("compressed twice"), "{twice:?}");
    // No damage of a byte is a danger.
    for at in 0..damaged.len() {
        let mut bytes = whole.clone();
        bytes[at] = bytes[at].wrapping_add(37);
        crate::fuzzing::recording(&bytes);
    }
    // The group ends within a packet.
    let cut = said(&compressed(&[&one[..one.len() - 3]]));
    assert!(cut.2.contains("no whole packets"), "{cut:?}");
}

#[test]
fn a_gap_keeps_its_place_and_its_number_of_lost_events() {
    let events = [
        event(10, 0, switch(Tid::UNKNOWN.0, Left::Sleeping, 5)),
        event(20, 0, What::Lost(17)),
        event(20, 0, switch(6, Left::Preempted, 5)),
        event(30, 0, switch(5, Left::Preempted, 6)),
    ];
    let (recording, errors) = Recording::read(&file(&[&events], &[]));
    assert_eq!(errors, []);
    assert!(recording.events().eq(events));
}

#[test]
fn a_clock_that_steps_back_leaves_a_gap_and_no_event_out_of_order() {
    let times = [100, 200, 150, 160, 300];
    let events = times.map(|now| event(now, 3, switch(1, Left::Sleeping, 1)));
    let (recording, errors) =
        Recording::read(&file(&[&events[..2], &events[2..4], &events[4..]], &[]));
    assert!(matches!(errors[..], [ReadError::ClockStep { cpu: 3, back_ns: 50, .. }]), "{errors:?}");
    let read: Vec<Event> = recording.events().collect();
    assert!(read.is_sorted_by_key(|event| event.at));
    assert_eq!(read.iter().filter(|event| matches!(event.what, What::Lost(_))).count(), 1);
}

#[test]
fn a_damaged_bundle_becomes_a_gap() {
    let events: Vec<Event> = ping_pong(30);
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, at(1), 2, &[]).unwrap();
    let mut ends = Vec::new();
    for chunk in events.chunks(20) {
        writer.kernel(1, chunk).unwrap();
        ends.push(writer.get_ref().len());
    }
    // The last list of the second bundle, before the packet's sequence number, is truncated. Without checksums, the
    // bundle itself must show it.
    let place = unsealed(&file[..ends[1]]).len() - 3;
    let mut file = unsealed(&file);
    file[place] |= 0x80;
    let (recording, errors) = Recording::read(&file);
    assert!(matches!(errors[..], [ReadError::Packet { .. }]), "{errors:?}");
    let read: Vec<Event> = recording.events().collect();
    assert_eq!(read[..20], events[..20]);
    assert_eq!(read[20].what, What::Lost(0));
    let What::Wake { waker, .. } = read[21].what else { panic!("{:?}", read[21]) };
    assert_eq!((read.len(), waker), (41, Tid::UNKNOWN));
}

#[test]
fn older_kernels_number_states_differently() {
    assert_eq!(States::of("6.18.44-x").left(0x100), Left::Preempted);
    assert_eq!(States::of("4.9.1").left(0x1000), Left::Preempted);
    assert_eq!(States::of("4.4.0").left(0x800), Left::Preempted);
    assert_eq!(States::of("unheard of").left(0x80), Left::Idle);
    assert_eq!(States::NOW.left(0x41), Left::Idle);
}

#[test]
fn a_file_cut_anywhere_gives_every_whole_bundle() {
    let events: Vec<Event> = ping_pong(40);
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, at(1), 2, &[]).unwrap();
    let mut ends = Vec::new();
    for chunk in events.chunks(10) {
        writer.kernel(1, chunk).unwrap();
        ends.push(writer.get_ref().len());
    }
    for cut in 0..=file.len() {
        let (recording, errors) = Recording::read(&file[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count() * 10;
        assert!(recording.events().eq(events[..whole].iter().copied()), "cut at {cut}");
        assert!(errors.len() <= 2, "{errors:?}");
    }
}

proptest! {
    #[test]
    fn any_events_survive_the_round_trip(one in any_lane(0), other in any_lane(5), chunk in 1..30_usize) {
        let mut file = Vec::new();
        let mut writer = TraceWriter::new(&mut file, at(1), 2, &[]).unwrap();
        for events in one.chunks(chunk) {
            writer.kernel(0, events).unwrap();
        }
        for events in other.chunks(chunk) {
            writer.kernel(5, events).unwrap();
        }
        writer.close().unwrap();
        let (recording, errors) = Recording::read(&file);
        prop_assert_eq!(errors, []);
        let read: Vec<Event> = recording.events().collect();
        prop_assert!(read.is_sorted_by_key(|event| event.at));
        let of = |cpu| read.iter().filter(|event| event.cpu == cpu).copied().collect::<Vec<_>>();
        prop_assert_eq!(of(0), one);
        prop_assert_eq!(of(5), other);
    }
}
