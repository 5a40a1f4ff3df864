//! The first federate of the guide, against a real RTI.

use std::thread;

use crate::rti::Rti;

#[path = "../examples/first_federate.rs"]
#[allow(dead_code, reason = "the example is a program of its own")]
mod first_federate;

#[test]
fn two_first_federates_advance_ten_seconds_in_step() {
    let rti = Rti::start();
    let threads: Vec<_> = ["ann", "ben"]
        .map(|name| {
            let address = rti.tcp.clone();
            thread::spawn(move || {
                let mut out = Vec::new();
                first_federate::run(&address, name, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            })
        })
        .into_iter()
        .collect();
    for (thread, name) in threads.into_iter().zip(["ann", "ben"]) {
        let line = |at| format!("{name} at {at} s: the other one is at {at} m\n");
        assert_eq!(thread.join().unwrap(), (1..=10).map(line).collect::<String>());
    }
}

#[path = "../examples/regions.rs"]
#[allow(dead_code, reason = "the example is a program of its own")]
mod regions;

#[test]
fn the_radar_of_the_example_sees_the_ship_only_within_its_range() {
    let rti = Rti::start();
    let mut out = Vec::new();
    regions::run(&rti.tcp, &mut out).unwrap();
    let line = |at| format!("the ship is at kilometre {at}\n");
    assert_eq!(String::from_utf8(out).unwrap(), (100..=102).map(line).collect::<String>());
}

#[test]
fn the_guide_contains_the_calls_of_the_example_with_regions() {
    let guide = include_str!("../../../docs/guide/rti.md");
    let code = include_str!("../examples/regions.rs");
    let begin = code.find("    // The radar sees").unwrap();
    let end = code.find("    ship.resign").unwrap();
    let outdented = |line: &'static str| line.strip_prefix("    ").unwrap_or(line);
    let calls = code[begin..end].lines().map(|line| format!("{}\n", outdented(line)));
    let calls: String = calls.collect();
    assert!(guide.contains(&format!("```rust\n{calls}```")), "copy it into the guide");
}

#[test]
fn the_guide_contains_the_code_of_the_first_federate() {
    let guide = include_str!("../../../docs/guide/first-federate.md");
    let code = include_str!("../examples/first_federate.rs");
    assert!(guide.contains(&format!("```rust\n{code}```")), "copy the example into the guide");
    assert!(code.lines().count() <= 60, "it is a first federate in 60 lines");
}
