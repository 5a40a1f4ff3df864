//! Writes a recording of threads that wake each other to standard output: `recording SWITCHES THREADS`.

#![expect(clippy::disallowed_methods, reason = "its output is the recording")]

#[path = "../tests/support/machine.rs"]
mod machine;

use std::env;
use std::io::{self, BufWriter};

use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::Event;
use hemiola_units::Instant;

use machine::{Machine, named};

/// Events of one processor that are written together, about as many as a recorder takes out at once.
const TOGETHER: usize = 8_000;

fn main() -> io::Result<()> {
    let number = |text: String| text.parse().map_err(|_| wrong());
    let mut arguments = env::args().skip(1);
    let switches: usize = arguments.next().ok_or_else(wrong).and_then(number)?;
    let threads = arguments.next().ok_or_else(wrong).and_then(number)?;
    let output = BufWriter::new(io::stdout().lock());
    let mut writer = TraceWriter::new(output, Instant::ZERO, 0, &[("made by", "a simulation")])?;
    writer.threads(&named(threads as u32))?;
    let mut lanes: [Vec<Event>; 2] = Default::default();
    let mut result = Ok(());
    Machine::run(threads as u32, switches, |event| {
        let lane = &mut lanes[usize::from(event.cpu)];
        lane.push(event);
        if lane.len() == TOGETHER && result.is_ok() {
            result = writer.kernel(event.cpu, lane);
            lane.clear();
        }
    });
    result?;
    for (cpu, lane) in lanes.iter().enumerate() {
        writer.kernel(cpu as u16, lane)?;
    }
    writer.close()
}

fn wrong() -> io::Error {
    io::Error::other("usage: recording SWITCHES THREADS > NEW.trace")
}
