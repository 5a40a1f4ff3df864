//! What the page says of a recording is what the other commands say of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use hemiola_trace::{ReadError, Recording};
use serde_json::{Value, json};

use crate::command::PROGRAM;
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

/// What `hemiola analyze --json` prints in the folder of a test.
fn analyzed(machine: &Machine, path: &Path) -> Value {
    let path = path.to_str().unwrap();
    let ended = machine.hemiola(&["analyze", path, "--json"]).with_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
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

/// A machine file with this cost of a context switch, ns.
fn machine_file(machine: &Machine, path: &str, switch: u64) {
    let path = machine.folder().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!(
        "format = 1\nmeasured_unix_s = 1700000000\n[identity]\ncpu_model = \"Test\"\ncpus_online = 2\n\
         kernel = \"6.1\"\n[[figure]]\nname = \"context_switch.pipe.same_core.warm\"\nvalue = {switch}.0\n\
         unit = \"ns\"\nlow = {switch}.0\nhigh = {switch}.0\nstd = 0.0\nsystematic = 0.0\np99 = {switch}.0\n\
         samples = 5\nblocks = 5\nbatch = 1\noverhead = 0.0\ncircumstances = \"made up\"\n"
    );
    fs::write(path, text).unwrap();
}

#[test]
fn the_verdict_charges_the_measured_cost_of_a_switch() {
    let machine = Machine::take("view-verdict");
    let path = jobs(&machine, "met.trace", 0);
    let page = |more: &[&str]| {
        let words = [&["view", path.to_str().unwrap()], more].concat();
        let page = Page::start(machine.command(PROGRAM, &words));
        page.json("api/report?r=0")["verdict"]["words"].clone()
    };
    let printed = || {
        let verdict = analyzed(&machine, &path)["schedulability"].clone();
        let of = |of: &str| verdict[of].as_array().unwrap().clone().into_iter();
        let judged = of("processors").chain(of("reservations"));
        judged.map(|one| one["verdict"].clone()).chain(of("notes")).collect::<Value>()
    };
    let without = page(&[]);
    assert_eq!(without, printed());
    machine_file(&machine, "results/measure-1/machine.toml", 600_000);
    let newest = page(&[]);
    assert_eq!(newest, printed());
    assert_ne!(newest, without);
    machine_file(&machine, "other.toml", 600_000);
    fs::remove_dir_all(machine.folder().join("results")).unwrap();
    assert_eq!(page(&["--machine", "other.toml"]), newest);
}
