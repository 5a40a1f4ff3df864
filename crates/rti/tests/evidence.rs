//! What the tests show of the standard, for the page on conformance: written if `HEMIOLA_EVIDENCE` names a file.

#![expect(
    clippy::disallowed_types,
    reason = "the evidence is a file for `cargo xtask conformance`"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};

use hemiola_hla::call::Entry;
use hemiola_hla::{Call, Callback, Exception, Refusal, Reply};

/// Notes the reply to a call.
pub(crate) fn of_call(entry: &Entry, answer: &Result<Reply, Refusal>) {
    match answer {
        Ok(_) => note(entry.name, "done"),
        Err(refusal) if refusal.details.ends_with("is not implemented") => {
            note(entry.name, "not offered");
        }
        // A client of 1516-2010 has caused the others.
        Err(refusal) if entry.exceptions.contains(&refusal.exception) => {
            note(entry.name, refusal.exception.name());
        }
        Err(_) => {}
    }
}

/// Notes that a callback was made.
pub(crate) fn of_callback(callback: &Callback) {
    note(callback.entry().name, "made");
}

fn note(name: &str, what: &str) {
    /// The file, and the lines in it.
    type Evidence = Mutex<(File, BTreeSet<String>)>;
    static FILE: OnceLock<Option<Evidence>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os("HEMIOLA_EVIDENCE")?;
        let mut file = File::create(path).expect("the file can be created");
        file.write_all(table().as_bytes()).expect("the file can be written");
        Some(Mutex::new((file, BTreeSet::new())))
    });
    let Some(file) = file else { return };
    let thread = std::thread::current();
    let test = thread.name().expect("a test has a name");
    let line = format!("shown\t{name}\t{what}\t{test}\n");
    let mut file = file.lock().unwrap();
    let (file, noted) = &mut *file;
    if noted.insert(line.clone()) {
        file.write_all(line.as_bytes()).expect("the file can be written");
    }
}

/// The calls and callbacks of the standard, and the exceptions with another name in 1516-2010.
fn table() -> String {
    let mut text = String::new();
    for entry in Call::TABLES.into_iter().flatten() {
        let exceptions: Vec<&str> = entry.exceptions.iter().map(|one| one.name()).collect();
        let (number, clause, name) = (entry.number, entry.clause, entry.name);
        let _ = writeln!(text, "call\t{number}\t{clause}\t{name}\t{}", exceptions.join(" "));
    }
    for entry in Callback::TABLE {
        let _ = writeln!(text, "callback\t{}\t{}\t{}\t", entry.number, entry.clause, entry.name);
    }
    for exception in Exception::ALL.iter().filter(|one| one.of_2010() != **one) {
        let _ = writeln!(text, "2010\t{exception}\t{}", exception.of_2010());
    }
    text
}
