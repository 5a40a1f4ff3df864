//! The report on a small federation, in every format.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::{FederateHandle, LogicalInterval, LogicalTime, TimeImplementation};
use hemiola_rti::{FederateStatus, FederationStatus, HeldBack, SessionId, Status, Waiting};
use hemiola_units::{Instant, Span};

use super::*;

fn time(value: i64) -> LogicalTime {
    LogicalTime::integer(value).unwrap()
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// `slow` computes at 10; `fast` and `viewer` have waited for it for 1 s and 3 s.
fn status() -> Status {
    let member = |number: u32, name: &str| FederateStatus {
        handle: FederateHandle::new(number),
        name: name.into(),
        federate_type: "Test".into(),
        session: SessionId(u64::from(number)),
        time: time(10),
        lookahead: Some(LogicalInterval::integer(2).unwrap()),
        constrained: true,
        waiting: None,
        held_back: Some(HeldBack { galt: time(12), by: FederateHandle::new(1) }),
        undelivered: 0,
        memory: 4096,
    };
    let waits = |one: FederateStatus, since| FederateStatus {
        waiting: Some(Waiting { until: Some(time(20)), since: at(since) }),
        ..one
    };
    let mut slow = member(1, "slow");
    slow.held_back = Some(HeldBack { galt: time(22), by: FederateHandle::new(2) });
    let mut viewer = waits(member(3, "vie\"wer"), 1000);
    viewer.lookahead = None;
    viewer.undelivered = 7;
    Status {
        sessions: 3,
        federations: vec![FederationStatus {
            name: "Demo".into(),
            time: TimeImplementation::Integer64,
            instances: 5,
            messages: 1234,
            memory: 1 << 20,
            model_memory: 1 << 19,
            synchronization_points: vec!["Ready".into()],
            federates: vec![slow, waits(member(2, "fast"), 3000), viewer],
        }],
    }
}

fn report() -> Report {
    let flow = Flow { messages: 10, bytes: 640, messages_per_s: 5.0, bytes_per_s: 320.0 };
    let session = |number, state| SessionReport {
        number,
        peer: format!("tcp:127.0.0.1:4000{number}"),
        state,
        age: Span::from_millis(5000),
        silence: Span::from_millis(20),
        apart: Span::ZERO,
        received: flow,
        sent: flow,
        backlog: 3,
        backlog_bytes: 300,
        file_bytes: 50,
        slow_reading: SlowReading { conflated: 8, ..SlowReading::default() },
        kept_bytes: 100,
        unanswered: 1,
        memory: 8192,
        federation_memory: 4096,
    };
    Report {
        layout: LAYOUT,
        version: "1.2.3".into(),
        pid: 42,
        uptime: Span::from_millis(61_500),
        addresses: vec!["tcp:127.0.0.1:15164".into()],
        work: Work {
            turns: 9,
            busy: Span::from_millis(2),
            longest_turn: Span::from_micros(700),
            calls: 30,
            callbacks: 20,
        },
        memory: MemoryReport { limit: 1 << 30, used: 1 << 21, ..MemoryReport::default() },
        received: flow,
        sent: flow,
        arrivals: 1,
        sessions_opened: 4,
        sessions_ended: BTreeMap::from([("stalled".into(), 1)]),
        slow_reading: SlowReading { conflated: 9, held: 2, ..SlowReading::default() },
        sessions: vec![
            session(1, SessionState::Running),
            session(2, SessionState::Congested),
            session(3, SessionState::Apart),
        ],
        federations: federations(&status(), at(4000)),
    }
}

#[test]
fn a_federate_that_holds_others_back_is_listed_with_the_longest_wait() {
    let [federation] = &federations(&status(), at(4000))[..] else {
        panic!("one federation is expected")
    };
    let [holder] = &federation.holding_back[..] else { panic!("{:?}", federation.holding_back) };
    let expected = HoldingBack {
        federate: "slow".into(),
        galt: Number::Whole(12),
        since: Span::from_millis(3000),
        waiting: vec!["fast".into(), "vie\"wer".into()],
        asked_for: None,
    };
    assert_eq!(*holder, expected);
}

#[test]
fn a_federate_that_does_not_wait_is_not_held_back() {
    let mut status = status();
    status.federations[0].federates.iter_mut().for_each(|federate| federate.waiting = None);
    assert_eq!(federations(&status, at(4000))[0].holding_back, []);
}

#[test]
fn a_report_survives_the_way_through_json() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.contains(r#""uptime_ns":61500000000"#), "{text}");
    assert!(text.contains(r#""waiting":{"until":20,"for_ns":1000000000}"#), "{text}");
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn numbers_keep_their_implementation() {
    for number in
        [Number::Whole(5), Number::Double(5.0), Number::Whole(i64::MAX), Number::Double(f64::MAX)]
    {
        let text = serde_json::to_string(&number).unwrap();
        assert_eq!(serde_json::from_str::<Number>(&text).unwrap(), number, "{text}");
    }
    assert_eq!(Number::from(LogicalTime::float(2.5).unwrap()), Number::Double(2.5));
    assert_eq!(Number::Double(f64::MAX).to_string(), "last");
    assert_eq!(Number::Double(5e-324).to_string(), "5e-324");
    assert_eq!(Number::Double(0.005).to_string(), "0.005");
}

#[test]
fn prometheus_has_a_type_before_every_sample_and_no_sample_twice() {
    let text = prometheus(&report());
    let (mut family, mut families, mut samples) = ("", BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
            assert!(families.insert(family), "{family} occurs twice");
        } else if !line.starts_with('#') {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert_eq!(sample.split('{').next().unwrap(), family, "{line}");
            assert!(samples.insert(sample), "{sample} occurs twice");
            value.parse::<f64>().unwrap();
        }
    }
}

#[test]
fn prometheus_shows_federates_by_name() {
    let text = prometheus(&report());
    for line in [
        r#"hemiola_rti_info{version="1.2.3",pid="42"} 1"#,
        "hemiola_rti_uptime_seconds 61.5",
        r#"hemiola_rti_sessions_ended_total{reason="stalled"} 1"#,
        r#"hemiola_rti_sessions{state="congested"} 1"#,
        "hemiola_rti_backlog_bytes 900",
        "hemiola_rti_spool_file_bytes 150",
        r#"hemiola_rti_slow_reading_total{kind="conflated"} 9"#,
        r#"hemiola_rti_slow_reading_total{kind="held"} 2"#,
        r#"hemiola_rti_federate_conflated_messages_total{federation="Demo",federate="slow"} 8"#,
        r#"hemiola_rti_messages_total{federation="Demo"} 1234"#,
        r#"hemiola_rti_federate_logical_time{federation="Demo",federate="slow"} 10"#,
        r#"hemiola_rti_federate_waiting_seconds{federation="Demo",federate="fast"} 1"#,
        r#"hemiola_rti_federate_undelivered{federation="Demo",federate="vie\"wer"} 7"#,
        r#"hemiola_rti_holding_back_seconds{federation="Demo",federate="slow"} 3"#,
    ] {
        assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains(r#"federate_lookahead{federation="Demo",federate="vie"#), "{text}");
}
