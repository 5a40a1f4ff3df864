//! Files of other programs, written field by field as the public protocol defines them.

use hemiola_units::Random;
use hemiola_wire::{put_bytes, put_fixed64, put_message, put_number};

use crate::error::ReadError;
use crate::recording::Recording;
use crate::track_event::{EventTrack, TrackEvents};

// Fields of `TracePacket`.
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED: u32 = 12;
const FLAGS: u32 = 13;
const DROPPED: u32 = 42;
const CLOCK: u32 = 58;
const DEFAULTS: u32 = 59;
const DESCRIPTOR: u32 = 60;
const MACHINE: u32 = 98;

// Kinds of events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
const STATE: u64 = 5;

/// A file that is written packet by packet.
#[derive(Default)]
struct File(Vec<u8>);

type Bytes = Vec<u8>;

impl File {
    fn packet(&mut self, sequence: u64, content: impl FnOnce(&mut Bytes)) -> &mut Self {
        put_message(&mut self.0, 1, |packet| {
            put_number(packet, SEQUENCE, sequence);
            content(packet);
        });
        self
    }

    /// An event at a time of the default clock, on a track.
    fn event(&mut self, at: u64, kind: u64, name: &str, track: u64) -> &mut Self {
        self.packet(1, |packet| {
            put_number(packet, TIMESTAMP, at);
            put_message(packet, TRACK_EVENT, |event| put_event(event, kind, name, track));
        })
    }

    fn thread(&mut self, uuid: u64, pid: u64, tid: u64, name: &str) -> &mut Self {
        self.packet(1, |packet| {
            put_message(packet, DESCRIPTOR, |track| {
                put_number(track, 1, uuid);
                put_message(track, 4, |thread| {
                    put_number(thread, 1, pid);
                    put_number(thread, 2, tid);
                    put_bytes(thread, 5, name.as_bytes());
                });
            });
        })
    }

    /// A snapshot of clocks, each with its number and its reading; from 64 on they count in µs, and 64 in differences.
    fn clocks(&mut self, sequence: u64, readings: &[(u64, u64)]) -> &mut Self {
        self.packet(sequence, |packet| {
            put_message(packet, CLOCK_SNAPSHOT, |snapshot| {
                for &(id, reading) in readings {
                    put_message(snapshot, 1, |clock| {
                        put_number(clock, 1, id);
                        put_number(clock, 2, reading);
                        put_number(clock, 3, u64::from(id == 64));
                        put_number(clock, 4, if id < 64 { 1 } else { 1000 });
                    });
                }
            });
        })
    }

    fn read(&self) -> (TrackEvents, Vec<ReadError>) {
        let (recording, errors) = Recording::read(&self.0);
        (recording.track_events, errors)
    }

    /// The only track, of a file without errors.
    fn one(&self) -> (EventTrack, Vec<String>) {
        let (TrackEvents { names, mut tracks }, errors) = self.read();
        assert_eq!((errors, tracks.len()), (vec![], 1));
        (tracks.remove(0), names)
    }
}

fn put_event(event: &mut Bytes, kind: u64, name: &str, track: u64) {
    put_number(event, 9, kind);
    put_number(event, 11, track);
    if !name.is_empty() {
        put_bytes(event, 23, name.as_bytes());
    }
}

/// Begin, end, name, depth and wholeness of each slice.
fn slices<'n>(track: &EventTrack, names: &'n [String]) -> Vec<(u64, u64, &'n str, u16, bool)> {
    let slice = |slice: &crate::track_event::Slice| {
        let name = names[slice.name as usize].as_str();
        (slice.from.nanos(), slice.to.nanos(), name, slice.depth, slice.is_whole)
    };
    track.slices.iter().map(slice).collect()
}

fn moments<'n>(track: &EventTrack, names: &'n [String]) -> Vec<(u64, &'n str)> {
    let instants = track.instants.iter();
    instants.map(|moment| (moment.at.nanos(), names[moment.name as usize].as_str())).collect()
}

fn values(track: &EventTrack) -> Vec<(u64, f64)> {
    track.values.iter().map(|(at, value)| (at.nanos(), *value)).collect()
}

#[test]
fn slices_nest_and_instants_stand_between_them() {
    let mut file = File::default();
    file.thread(7, 5, 6, "main")
        .event(100, BEGIN, "outer", 7)
        .event(110, BEGIN, "inner", 7)
        .event(120, INSTANT, "hit", 7)
        .event(130, END, "", 7)
        .event(140, BEGIN, "inner", 7)
        .event(140, END, "", 7)
        .event(150, END, "", 7);
    let (track, names) = file.one();
    assert_eq!((track.pid, track.tid, track.is_own, track.name.as_str()), (5, 6, true, "main"));
    assert_eq!(
        slices(&track, &names),
        [(100, 150, "outer", 0, true), (110, 130, "inner", 1, true), (140, 140, "inner", 1, true)]
    );
    assert_eq!(moments(&track, &names), [(120, "hit")]);
    assert_eq!(names, ["outer", "inner", "hit"]);
}

#[test]
fn names_tracks_and_clocks_come_from_the_state_of_the_sequence() {
    let mut file = File::default();
    let state = |packet: &mut Bytes, name: &str, track: u64| {
        put_number(packet, FLAGS, 1);
        put_message(packet, INTERNED, |data| {
            put_message(data, 2, |entry| {
                put_number(entry, 1, 3);
                put_bytes(entry, 2, name.as_bytes());
            });
        });
        put_message(packet, DEFAULTS, |defaults| {
            put_number(defaults, 58, 3);
            put_message(defaults, 11, |event| put_number(event, 11, track));
        });
    };
    let instant = |packet: &mut Bytes| {
        put_number(packet, FLAGS, 2);
        put_number(packet, TIMESTAMP, 50);
        put_message(packet, TRACK_EVENT, |event| {
            put_number(event, 9, INSTANT);
            put_number(event, 10, 3);
        });
    };
    file.clocks(9, &[(6, 10_000), (3, 4_000)]).thread(7, 5, 6, "a").thread(8, 5, 9, "b");
    file.packet(1, |packet| state(packet, "first", 7)).packet(1, instant);
    file.packet(2, |packet| state(packet, "second", 8)).packet(2, instant);
    // The same number means another name after the state was cleared.
    file.packet(1, |packet| state(packet, "third", 8)).packet(1, instant);
    let (TrackEvents { names, tracks }, errors) = file.read();
    assert_eq!(errors, []);
    assert_eq!(moments(&tracks[0], &names), [(50, "first")]);
    assert_eq!(moments(&tracks[1], &names), [(50, "second"), (50, "third")]);
}

#[test]
fn counters_have_their_thread_unit_and_differences() {
    let mut file = File::default();
    file.thread(7, 5, 6, "main").packet(1, |packet| {
        put_message(packet, DESCRIPTOR, |track| {
            put_number(track, 1, 20);
            put_number(track, 5, 7);
            put_bytes(track, 2, b"cpu");
            put_message(track, 8, |counter| {
                put_number(counter, 3, 1);
                put_number(counter, 4, 1000);
                put_number(counter, 5, 1);
            });
        });
    });
    for (at, difference) in [(10, 5), (20, 2_u64), (30, (-4_i64).cast_unsigned())] {
        file.packet(1, |packet| {
            put_number(packet, TIMESTAMP, at);
            put_message(packet, TRACK_EVENT, |event| {
                put_event(event, INSTANT, "tick", 7);
                put_number(event, 31, 20);
                put_number(event, 12, difference);
            });
        });
    }
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 15);
        put_message(packet, TRACK_EVENT, |event| {
            put_event(event, COUNTER, "", 30);
            put_fixed64(event, 44, 0.25_f64.to_bits());
        });
    });
    let (TrackEvents { tracks, .. }, errors) = file.read();
    assert_eq!(errors, []);
    let cpu = tracks.iter().find(|track| track.name == "cpu").unwrap();
    assert_eq!((cpu.pid, cpu.tid, cpu.is_own, cpu.unit.as_str()), (5, 6, false, "ns"));
    assert_eq!(values(cpu), [(10, 5000.0), (20, 7000.0), (30, 3000.0)]);
    let global = tracks.iter().find(|track| track.tid == 0).unwrap();
    assert_eq!((global.pid, values(global)), (0, vec![(15, 0.25)]));
}

#[test]
fn an_operation_may_begin_in_one_sequence_and_end_in_another() {
    let mut file = File::default();
    file.packet(1, |packet| {
        put_message(packet, DESCRIPTOR, |track| {
            put_number(track, 1, 3);
            put_message(track, 3, |process| {
                put_number(process, 1, 5);
                put_bytes(process, 6, b"server");
            });
        });
    });
    // The track is described after its events, and its end stands before its beginning.
    let end = |packet: &mut Bytes| {
        put_number(packet, TIMESTAMP, 900);
        put_message(packet, TRACK_EVENT, |event| put_event(event, END, "", 4));
    };
    file.packet(2, end).event(300, BEGIN, "request", 4).packet(1, |packet| {
        put_message(packet, DESCRIPTOR, |track| {
            put_number(track, 1, 4);
            put_number(track, 5, 3);
            put_bytes(track, 10, b"requests");
        });
    });
    let (track, names) = file.one();
    assert_eq!(
        (track.pid, track.tid, track.is_own, track.name.as_str()),
        (5, 0, false, "requests")
    );
    assert_eq!(slices(&track, &names), [(300, 900, "request", 0, true)]);
}

#[test]
fn times_are_converted_by_the_snapshots_of_their_clocks() {
    let mut file = File::default();
    // Boot is 600 ns ahead of monotonic, then 5 ms more, because the machine was suspended.
    file.clocks(9, &[(6, 1_000), (3, 400), (1, 77_000)]);
    file.clocks(9, &[(6, 9_000_000), (3, 3_999_400)]);
    // The clocks of sequence 1 are only in a snapshot with the boot clock.
    file.clocks(1, &[(6, 2_000), (64, 3), (65, 3)]);
    let at = |file: &mut File, clock: u64, time: u64, name: &str| {
        file.packet(1, |packet| {
            put_number(packet, TIMESTAMP, time);
            put_number(packet, CLOCK, clock);
            put_message(packet, TRACK_EVENT, |event| put_event(event, INSTANT, name, 0));
        });
    };
    file.event(1_500, INSTANT, "by default on boot", 0);
    at(&mut file, 6, 9_000_500, "after the suspension");
    at(&mut file, 3, 1_200, "monotonic");
    at(&mut file, 1, 78_000, "real time");
    at(&mut file, 64, 2, "2 us later");
    at(&mut file, 64, 1, "1 us later");
    at(&mut file, 65, 8, "8 us");
    let (track, names) = file.one();
    assert_eq!(
        moments(&track, &names),
        [
            (900, "by default on boot"),
            (1_200, "monotonic"),
            (1_400, "real time"),
            (3_400, "2 us later"),
            (4_400, "1 us later"),
            (6_400, "8 us"),
            (3_999_900, "after the suspension"),
        ]
    );
}

/// The texts of the errors of a file, which has this many events that could be read.
fn reported(file: &File, events: usize) -> Vec<String> {
    let (TrackEvents { tracks, .. }, errors) = file.read();
    let count = |track: &EventTrack| track.slices.len() + track.instants.len() + track.values.len();
    assert_eq!(tracks.iter().map(count).sum::<usize>(), events);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn events_that_cannot_be_placed_are_left_out_and_reported() {
    let mut file = File::default();
    let instant = |packet: &mut Bytes| {
        put_message(packet, TRACK_EVENT, |event| put_event(event, INSTANT, "lost", 0));
    };
    file.clocks(9, &[(6, 1_000), (3, 400)]).event(1_000, INSTANT, "kept", 0);
    let offset = file.0.len();
    file.packet(1, instant);
    for _ in 0..2 {
        file.packet(4, |packet| {
            put_number(packet, TIMESTAMP, 5);
            put_number(packet, CLOCK, 70);
            instant(packet);
        });
    }
    let other_machine = file.0.len();
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 5);
        put_number(packet, MACHINE, 2);
        instant(packet);
    });
    let without_state = file.0.len();
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 5);
        put_number(packet, FLAGS, 2);
        instant(packet);
    });
    let legacy = file.0.len();
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 5);
        put_message(packet, TRACK_EVENT, |event| {
            put_message(event, 6, |legacy| put_number(legacy, 2, b'S'.into()));
        });
    });
    assert_eq!(
        reported(&file, 1),
        [
            format!("track events left out: 1 (no timestamp; the first is in the packet at byte {offset})"),
            format!(
                "track events left out: 1 (of another machine, whose clocks are not those of this recording; the first is \
                 in the packet at byte {other_machine})"
            ),
            format!(
                "track events left out: 1 (packets on which they depend are lost; the first is in the packet at byte \
                 {without_state})"
            ),
            format!(
                "track events left out: 1 (a legacy phase other than B, E, I and R: record them with a newer Perfetto \
                 SDK; the first is in the packet at byte {legacy})"
            ),
            "track events left out: 2 (no clock snapshot relates their clock, number 70 of sequence 4, to that of the \
             recording)"
                .into(),
        ]
    );
}

#[test]
fn a_counter_that_is_described_late_as_one_of_differences_is_left_out() {
    let mut file = File::default();
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 5);
        put_message(packet, TRACK_EVENT, |event| {
            put_event(event, COUNTER, "", 2);
            put_number(event, 30, 8);
        });
    });
    file.packet(1, |packet| {
        put_message(packet, DESCRIPTOR, |track| {
            put_number(track, 1, 2);
            put_message(track, 8, |counter| put_number(counter, 5, 1));
        });
    });
    let errors = reported(&file, 0);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].contains("differences of a counter that is described only after them"),
        "{errors:?}"
    );
}

#[test]
fn lost_packets_end_the_slices_that_their_sequence_has_open() {
    let mut file = File::default();
    file.event(100, BEGIN, "seen in part", 7).event(200, INSTANT, "last before the loss", 7);
    file.packet(1, |packet| {
        put_number(packet, TIMESTAMP, 500);
        put_number(packet, DROPPED, 1);
        put_message(packet, TRACK_EVENT, |event| put_event(event, END, "", 7));
    });
    file.event(600, BEGIN, "still open", 7).event(700, INSTANT, "end", 7);
    let (track, names) = file.one();
    assert_eq!(
        slices(&track, &names),
        [(100, 200, "seen in part", 0, false), (600, 700, "still open", 0, false)]
    );
    assert_eq!(track.unmatched, 1);
}

#[test]
fn a_state_lasts_until_the_next_one() {
    let mut file = File::default();
    file.event(10, STATE, "idle", 3).event(20, STATE, "busy", 3).event(35, STATE, "", 3);
    let (track, names) = file.one();
    assert_eq!(slices(&track, &names), [(10, 20, "idle", 0, true), (20, 35, "busy", 0, true)]);
}

#[test]
fn slices_that_are_nested_too_deeply_are_left_out_and_the_others_keep_their_ends() {
    let mut file = File::default();
    for at in 0..600 {
        file.event(at, BEGIN, "call", 7);
    }
    for at in 600..1200 {
        file.event(at, END, "", 7);
    }
    assert_eq!(
        reported(&file, 512),
        ["track events left out: 88 (slices inside more than 512 others)"]
    );
    let (TrackEvents { names, tracks }, _) = file.read();
    assert_eq!(slices(&tracks[0], &names)[0], (0, 1199, "call", 0, true));
    assert_eq!(slices(&tracks[0], &names)[511], (511, 688, "call", 511, true));
}

#[test]
fn random_events_give_the_slices_of_a_plain_stack() {
    for seed in 0..300 {
        let mut random = Random::from_seed(seed);
        let mut events: Vec<(u64, u64, u64)> = Vec::new();
        let mut at = 0;
        for _ in 0..1 + random.below(120) {
            at += random.below(4);
            events.push((at, 1 + random.below(3), 1 + random.below(2)));
        }
        let mut file = File::default();
        for &(at, kind, track) in &events {
            file.event(at, kind, "x", track);
        }
        let (TrackEvents { tracks, .. }, errors) = file.read();
        assert_eq!(errors, []);
        let mut numbers: Vec<u64> = Vec::new();
        for event in &events {
            if !numbers.contains(&event.2) {
                numbers.push(event.2);
            }
        }
        assert_eq!(tracks.len(), numbers.len());
        for (track, number) in tracks.iter().zip(numbers) {
            let own = events.iter().filter(|event| event.2 == number);
            let mut open: Vec<usize> = Vec::new();
            let mut expected: Vec<(u64, u64, u16, bool)> = Vec::new();
            for &(at, kind, _) in own {
                match kind {
                    BEGIN => {
                        expected.push((at, events[events.len() - 1].0, open.len() as u16, false));
                        open.push(expected.len() - 1);
                    }
                    END => {
                        if let Some(slice) = open.pop() {
                            (expected[slice].1, expected[slice].3) = (at, true);
                        }
                    }
                    _ => {}
                }
            }
            let found = track.slices.iter();
            let found: Vec<_> =
                found.map(|of| (of.from.nanos(), of.to.nanos(), of.depth, of.is_whole)).collect();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}
