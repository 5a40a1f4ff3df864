//! What the page says of a recording is what the other commands say of it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use hemiola_trace::{ReadError, Recording};
use serde_json::json;

use crate::machine::{Machine, PATIENCE};
use crate::view::{Page, jobs};

/// The recording of [`jobs`] of which no deadline was missed, by a recorder that was killed.
fn unclosed(machine: &Machine, name: &str) -> PathBuf {
    let path = jobs(machine, name, 0);
    let mut bytes = fs::read(&path).unwrap();
    // The packet that closes a recording is its last.
    let reads = |len: usize| Recording::open(Arc::new(bytes[..len].to_vec())).1;
    let is_unclosed = |len: &usize| reads(*len) == [ReadError::Unfinished];
    let len = (1..bytes.len()).rev().find(is_unclosed).unwrap();
    bytes.truncate(len);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_recording_without_an_end_is_in_progress_only_while_it_is_written() {
    let machine = Machine::take("view-killed");
    let path = unclosed(&machine, "killed.trace");
    let page = Page::serve(&[&path]);
    let about = |page: &Page| {
        let recording = page.json("api/recording?r=0");
        (recording["in_progress"].clone(), recording["problems"].to_string())
    };
    assert_eq!(about(&page), (json!(true), "[]".to_owned()));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let (in_progress, problems) = about(&page);
    assert!(in_progress == json!(false) && problems.contains("was not closed"), "{problems}");
    // A page that is open reads a recording again when it has another version.
    let version = || page.json("api/sources")["recordings"][0]["version"].as_u64();
    let limit = Instant::now() + PATIENCE;
    while version() < Some(2) {
        assert!(Instant::now() < limit, "the page is not told");
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_millis(100));
    assert_eq!((version(), about(&page).1), (Some(2), problems), "it is read once");
}
