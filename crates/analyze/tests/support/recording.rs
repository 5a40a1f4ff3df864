//! Writes a recording of threads that wake each other, as a recorder would.

use std::io::{self, Write};

use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::Event;
use hemiola_units::Instant;

#[path = "machine.rs"]
mod machine;

use machine::{Machine, named};

/// Events of one processor that are written together, about as many as a recorder takes out at once.
const TOGETHER: usize = 8_000;

/// Writes that many switches of that many threads.
pub(crate) fn write(output: impl Write, switches: usize, threads: u32) -> io::Result<()> {
    let mut writer = TraceWriter::new(output, Instant::ZERO, 0, &[("made by", "a simulation")])?;
    writer.threads(&named(threads))?;
    let mut lanes: [Vec<Event>; 2] = Default::default();
    let mut result = Ok(());
    Machine::run(threads, switches, |event| {
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
