//! Reading and writing a real file, which leaves nothing behind.

use std::path::PathBuf;

use hemiola_probe::file::{Operation, file};
use hemiola_probe::{ProbeError, Setting, catalogue, measure};

use crate::setting;

/// A temporary directory, removed with its content.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hemiola-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn entries(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn no_measurement_leaves_a_file() {
    let directory = Directory::new("blocks");
    let setting = Setting { directory: directory.0.clone(), ..setting() };
    let figures = catalogue().into_iter().filter(|figure| figure.name.starts_with("file."));
    for figure in figures {
        if let Ok(readings) = measure(&figure.name, &setting, 3) {
            let named = |(what, how): &(String, String)| what == "file system" && !how.is_empty();
            assert!(readings.circumstances.iter().any(named), "{readings:?}");
        }
        assert_eq!(directory.entries(), 0, "{}", figure.name);
    }
}

#[test]
fn a_file_system_in_memory_has_no_cold_reading() {
    let setting = Setting { directory: "/dev/shm".into(), ..setting() };
    match file(Operation::Read, 4096, &setting, 1) {
        Err(ProbeError::Lacking { name, what }) => {
            assert_eq!(name, "file.read.4KiB");
            let expected = "a directory on a storage device; the files of /dev/shm stay in memory";
            assert!(what.starts_with(expected), "{what}");
        }
        Ok(readings) => {
            let (_, place) = &readings.circumstances[1];
            assert!(!place.starts_with("tmpfs"), "{readings:?}");
            println!("skipped: needs a tmpfs on /dev/shm, which is {place}");
        }
        Err(error) => panic!("{error}"),
    }
    assert!(file(Operation::ReadCached, 4096, &setting, 1).is_ok());
}

#[test]
fn a_directory_that_does_not_accept_a_file_is_named() {
    let setting = Setting { directory: "/nowhere".into(), ..setting() };
    let error = file(Operation::Write, 4096, &setting, 1).unwrap_err().to_string();
    let expected =
        "cannot create a file of 16MiB in /nowhere: No such file or directory (os error 2)";
    assert_eq!(error, expected);
}

#[test]
fn a_block_larger_than_the_file_is_rejected() {
    for block in [0, 1 << 30] {
        let outcome = file(Operation::Write, block, &setting(), 1);
        assert!(matches!(outcome, Err(ProbeError::Lacking { .. })), "{outcome:?}");
    }
}
