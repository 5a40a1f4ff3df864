//! `hemiola rti --reports DIR`: service reports in files, and a disk that is full.

use std::fs;
use std::path::Path;

use hemiola_hla::call::{SupportCall, TimeCall};
use hemiola_hla::{Exception, Reply};
use serde_json::Value;

use super::peer::Peer;
use super::scene::{Rti, Scratch};
use crate::machine::Machine;
use crate::small_disk::SmallDisk;

fn report(peer: &mut Peer) {
    let on = [
        SupportCall::SetServiceReportingSwitch { value: true },
        SupportCall::SetSendServiceReportsToFileSwitch { value: true },
    ];
    on.into_iter().for_each(|call| assert_eq!(peer.call(call), Ok(Reply::Done)));
}

/// The records of the files in a directory, by file.
fn records(directory: &Path) -> Vec<Vec<Value>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some()).collect();
    files.sort();
    let parsed = |line: &str| serde_json::from_str(line).unwrap();
    let records = |path| fs::read_to_string(path).unwrap().lines().map(parsed).collect();
    files.into_iter().map(records).collect()
}

#[test]
fn reports_of_a_federate_that_asks_for_it_are_written_to_its_file() {
    let machine = Machine::take("reports");
    let directory = Scratch::new("reports");
    let rti = Rti::start(&machine, &["--reports", directory.option()]);
    let mut reporting = Peer::joined(rti.tcp(), "Yard");
    let mut other = Peer::joined(rti.tcp(), "Yard");
    report(&mut reporting);
    for peer in [&mut reporting, &mut other] {
        peer.call(TimeCall::QueryLogicalTime).unwrap();
        let refused = peer.call(TimeCall::QueryLookahead).unwrap_err();
        assert_eq!(refused.exception, Exception::TimeRegulationIsNotEnabled);
    }
    drop((reporting, other));
    rti.stop();
    let files = records(&directory.0);
    let [records] = &files[..] else { panic!("{files:?}") };
    let [initial, time, lookahead] = &records[..] else { panic!("{records:?}") };
    assert_eq!(initial["record"], "initial");
    assert_eq!(initial["federation"], "Yard");
    assert_eq!(time["service"], "Query Logical Time");
    assert_eq!(time["exception"], Value::Null);
    assert_eq!(lookahead["service"], "Query Lookahead");
    let exception = lookahead["exception"].as_str().unwrap();
    assert!(exception.starts_with("TimeRegulationIsNotEnabled"), "{exception}");
    assert_eq!([&time["serial"], &lookahead["serial"]], [0, 1]);
}

#[test]
fn a_full_disk_and_a_greatest_length_lose_reports_and_nothing_else() {
    let machine = Machine::take("full reports");
    let directory = Scratch::new("full-reports");
    let disk = SmallDisk::mount(&directory.0, "4m");
    let rti = Rti::start(&machine, &["--reports", directory.option(), "--reports-max", "1MiB"]);
    let mut peer = Peer::joined(rti.tcp(), "Yard");
    if let Some(disk) = &disk {
        disk.fill();
        report(&mut peer);
        peer.call(TimeCall::QueryLogicalTime).unwrap();
        rti.says("service reports are lost", 1);
        rti.says("No space left on device", 1);
        disk.free();
    } else {
        report(&mut peer);
    }
    for _ in 0..30 {
        peer.call(TimeCall::QueryLogicalTime).unwrap();
    }
    // Longer than all files may be; what the full disk lost does not count.
    for _ in 0..500 {
        let object_class_name = "x".repeat(4000);
        peer.call(SupportCall::GetObjectClassHandle { object_class_name }).unwrap_err();
    }
    rti.says("the files of service reports have their greatest length", 1);
    drop(peer);
    rti.stop();
    let files = records(&directory.0);
    assert!(files.len() == 1 && files[0].len() >= 30, "each line is whole: {files:?}");
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let machine = Machine::take("no reports");
    let start = |path| machine.hemiola(&["rti", "--listen", "127.0.0.1:0", "--reports", path]);
    let refused = start("/proc/nowhere").with_code(1).stderr;
    assert!(
        refused.contains("cannot write service reports in /proc/nowhere: No such"),
        "{refused}"
    );
    assert!(refused.contains("hint: choose an existing directory with --reports DIR"), "{refused}");
    let alone = machine.hemiola(&["rti", "--listen", "127.0.0.1:0", "--reports-max", "1MiB"]);
    assert!(alone.with_code(2).stderr.contains("--reports"));
}
