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

#[test]
fn the_guide_contains_the_code_of_the_first_federate() {
    let guide = include_str!("../../../docs/guide/first-federate.md");
    let code = include_str!("../examples/first_federate.rs");
    assert!(guide.contains(&format!("```rust\n{code}```")), "copy the example into the guide");
    assert!(code.lines().count() <= 60, "it is a first federate in 60 lines");
}
