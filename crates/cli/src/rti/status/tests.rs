//! Tests of the report in a terminal.

use std::collections::BTreeMap;

use hemiola_rtid::report::{MemoryReport, Number, RefusalReport, SlowReading, WaitingReport, Work};

use super::*;

fn seconds(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

fn a_flow(messages: u64, messages_per_s: f64) -> Flow {
    let (bytes, bytes_per_s) = (messages * 100, messages_per_s * 100.0);
    Flow { messages, bytes, messages_per_s, bytes_per_s }
}

fn session(number: u64, state: SessionState, backlog: usize) -> SessionReport {
    SessionReport {
        number,
        peer: format!("tcp:127.0.0.1:{}", 40_000 + number),
        state,
        age: seconds(64.0),
        silence: seconds(2.5),
        apart: if state == SessionState::Apart { seconds(1.5) } else { Span::ZERO },
        received: a_flow(64_000, 1000.0),
        sent: a_flow(128_000, 2000.4),
        backlog,
        backlog_bytes: backlog * 1024,
        file_bytes: backlog * 512,
        slow_reading: SlowReading { conflated: backlog as u64 / 4, ..SlowReading::default() },
        kept_bytes: 0,
        unanswered: 0,
        memory: 8192,
        federation_memory: 20 << 10,
    }
}

fn member(handle: u32, name: &str, waiting: Option<f64>) -> FederateReport {
    FederateReport {
        handle,
        name: name.into(),
        federate_type: "Dynamics".into(),
        session: u64::from(handle),
        time: Number::Double(12.345),
        lookahead: Some(Number::Double(0.005)),
        constrained: true,
        waiting: waiting.map(|since| WaitingReport {
            until: Some(Number::Double(12.36)),
            since: seconds(since),
        }),
        galt: Some(Number::Double(12.35)),
        held_back_by: Some("board 1".into()),
        undelivered: 0,
    }
}

fn report() -> Report {
    let mut viewer = member(3, "view\x1b[2Jer", Some(0.75));
    viewer.lookahead = None;
    viewer.undelivered = 12;
    Report {
        layout: LAYOUT,
        version: "0.1.0".into(),
        pid: 4711,
        uptime: seconds(100.0),
        addresses: vec!["tcp:127.0.0.1:15164".into(), "shm:15164".into()],
        work: Work {
            turns: 1000,
            busy: seconds(12.0),
            longest_turn: Span::from_micros(1250),
            calls: 64_000,
            callbacks: 128_000,
        },
        memory: MemoryReport {
            limit: 64 << 20,
            limited_by: Some("RLIMIT_AS of 128 MiB".into()),
            session_limit: 16 << 20,
            federation_limit: 32 << 20,
            used: 4 << 20,
            sessions: 1 << 19,
            federations: 3 << 20,
            preparations: 1 << 19,
            refused: RefusalReport { session: 2, federation: 0, process: 1 },
        },
        received: a_flow(64_000, 1000.0),
        sent: a_flow(128_000, 2000.0),
        arrivals: 0,
        sessions_opened: 6,
        sessions_ended: BTreeMap::from([("stalled".into(), 1), ("terminated".into(), 1)]),
        slow_reading: SlowReading {
            spooled: 9000,
            stored: 2,
            conflated: 1024,
            dropped: 0,
            congested: 3,
            held: 1,
        },
        sessions: vec![
            session(1, SessionState::Running, 0),
            session(2, SessionState::Apart, 0),
            session(3, SessionState::Congested, 4096),
            session(4, SessionState::Running, 0),
        ],
        federations: vec![FederationReport {
            name: "Formation".into(),
            time: "HLAfloat64Time".into(),
            instances: 4,
            messages: 64_000,
            memory: 3 << 20,
            model_memory: 2 << 20,
            synchronization_points: vec!["Ready".into()],
            federates: vec![member(1, "board 1", None), member(2, "board 2", Some(83.2)), viewer],
            holding_back: vec![HoldingBack {
                federate: "board 1".into(),
                galt: Number::Double(12.35),
                since: seconds(83.2),
                waiting: vec!["board 2".into(), "viewer".into()],
                asked_for: None,
            }],
        }],
    }
}

#[test]
fn a_report_is_shown_with_who_holds_back_whom() {
    insta::assert_snapshot!(render(&report()), @r"
RTI 0.1.0, process 4711, up 1 min 40 s: 1 federation, 3 federates, 4 sessions
  listens on      tcp:127.0.0.1:15164, shm:15164
  received        1 000 messages/s, 97.7 KiB/s; 64 000 messages, 6.10 MiB in all
  sent            2 000 messages/s, 195 KiB/s; 128 000 messages, 12.2 MiB in all
  busy            12.0 % of the time, at most 1.25 ms at once, 64 000 calls, 128 000 callbacks
  memory          4 MiB of 64 MiB: federations 3 MiB, sessions 512 KiB, modules being parsed 512 KiB; limited by RLIMIT_AS of 128 MiB; calls refused by the limit of a session 2, of a federation 0, of all 1
  sessions ended  1 stalled, 1 terminated
  slow readers    9 000 messages spooled, 2 parts in files, 1 024 updates conflated, 3 times congested, 1 holds of senders

Federation Formation: HLAfloat64Time, 4 object instances, 64 000 messages, 3 MiB of memory
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Federate         Type        Time  Lookahead  Constr.   GALT  State                                                                      In/s  Out/s                                   Backlog  Memory
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
board 1          Dynamics  12.345      0.005        ✓  12.35  runs                                                                      1 000  2 000                                         0  28 KiB
board 2          Dynamics  12.345      0.005        ✓  12.35  waits for 12.36, 1 min 23 s; connection broken, 1.50 s                    1 000  2 000                                         0  28 KiB
view\u{1b}[2Jer  Dynamics  12.345          –        ✓  12.35  waits for 12.36, 750 ms; reads slowly; missed 1 024 best-effort messages  1 000  2 000  4 096 (4 MiB) + 2 MiB in a file + 12 TSO  28 KiB
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
board 1 holds back board 2 and viewer at 12.35 for 1 min 23 s: it has not asked to advance. Not yet
reached by all federates: Ready.

Not joined
────────────────────────────────────────────────────────────
Session  From                       Age  Silent for  Memory
────────────────────────────────────────────────────────────
4        tcp:127.0.0.1:40004  1 min 4 s      2.50 s  28 KiB
────────────────────────────────────────────────────────────
");
}

#[test]
fn a_report_of_another_layout_is_refused_with_what_to_do() {
    let text = format!("{{\"layout\": {}, \"new\": 1}}", LAYOUT + 1);
    assert!(
        read(&text)
            .is_err_and(|failure| format!("{failure:?}").contains("use the version of hemiola"))
    );
    let text = serde_json::to_string(&report()).unwrap();
    assert!(read(&text).is_ok_and(|read| read == report()));
}

#[test]
fn long_lists_and_names_are_cut() {
    let names: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
    let list = list(names.iter().map(String::as_str));
    assert_eq!(list, "n0, n1, n2, n3, n4, n5, n6, n7 and 92 more");
    assert_eq!(super::list(["a"].into_iter()), "a");
    assert_eq!(shown(&"x".repeat(1000)).chars().count(), NAME_LEN_MAX);
    assert_eq!(shown("a\n\u{202e}b"), "a\\u{a}\\u{202e}b");
}
