//! The log of an RTI on standard error. A separate thread writes it, so that a slow reader does not delay a federation.

use std::io::{self, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use hemiola_report::text::printable;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::diagnostics::Failure;

/// Length of the queue of lines. Further lines are dropped and counted.
const LINES_MAX: usize = 4096;

/// How long the program waits at its end for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum Order {
    Line(Vec<u8>),
    /// Signals when all earlier lines are written.
    Flush(SyncSender<()>),
}

#[derive(Clone)]
pub(super) struct Log {
    orders: SyncSender<Order>,
    /// Lines dropped since the last line that was queued.
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Starts the thread and logs events of this level and above.
    pub(super) fn start(level: LevelFilter) -> Result<Self, Failure> {
        let (orders, receiver) = sync_channel(LINES_MAX);
        let log = Self { orders, lost: Arc::default() };
        let lost = Arc::clone(&log.lost);
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write(&receiver, &lost))
            .map_err(|error| {
                Failure::failed(format!("cannot start a thread for the log: {error}"))
            })?;
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_target(false)
            .with_ansi(false)
            .with_writer(log.clone())
            .try_init()
            .map_err(Failure::failed)?;
        Ok(log)
    }

    /// Writes a line that is not an event.
    pub(super) fn print(&self, text: &str) {
        // This line may be dropped like any other.
        let _ = self.orders.try_send(Order::Line(format!("{text}\n").into_bytes()));
    }

    /// Waits until all queued lines are written, at most [`FLUSH_TIMEOUT`].
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.orders.try_send(Order::Flush(done)).is_ok() {
            // If the reader has stopped reading, the lines are lost.
            let _ = written.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

fn write(orders: &Receiver<Order>, lost: &AtomicU64) {
    for order in orders {
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ =
                writeln!(stderr(), "{lost} log lines were lost: standard error is read too slowly");
        }
        match order {
            // A failure to write standard error cannot be reported anywhere.
            Order::Line(line) => drop(stderr().write_all(&line)),
            Order::Flush(done) => drop(done.try_send(())),
        }
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

/// The subscriber writes one whole line per call. Names that peers chose may be part of it.
impl Write for &Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let safe = format!("{}\n", printable(text.trim_end_matches('\n')));
        if self.orders.try_send(Order::Line(safe.into_bytes())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
