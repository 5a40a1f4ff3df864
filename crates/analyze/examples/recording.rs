//! Writes a recording of threads that wake each other to standard output: `recording SWITCHES THREADS`, with at least
//! one thread.

#![expect(clippy::disallowed_methods, reason = "its output is the recording")]

#[path = "../tests/support/recording.rs"]
mod recording;

use std::env;
use std::io::{self, BufWriter};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let mut number = || arguments.next()?.parse().ok();
    let switches = number().ok_or_else(wrong)?;
    let threads = number().and_then(|threads| u32::try_from(threads).ok());
    let threads = threads.filter(|threads| *threads > 0).ok_or_else(wrong)?;
    recording::write(BufWriter::new(io::stdout().lock()), switches, threads)
}

fn wrong() -> io::Error {
    io::Error::other("usage: recording SWITCHES THREADS > NEW.trace, with at least one thread")
}
