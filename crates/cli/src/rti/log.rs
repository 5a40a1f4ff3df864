//! The log of an RTI on standard error, written by a thread of its own: whoever reads it slowly, or not at all, must
//! not hold up a federation.

use std::io::{self, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::diagnostics::Failure;

/// Lines that wait to be written. More are lost, and counted.
const LINES_MAX: usize = 4096;

/// How long the end of the program waits for the last lines.
const PATIENCE: Duration = Duration::from_secs(1);

enum Order {
    Line(Vec<u8>),
    /// Says so when everything before is written.
    Flush(SyncSender<()>),
}

#[derive(Clone)]
pub(super) struct Log {
    orders: SyncSender<Order>,
    /// Lines that found no room since the last one that did.
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Takes everything of this importance that the program says.
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

    /// Says something that is no event.
    pub(super) fn say(&self, text: &str) {
        // The last line may be lost like any other.
        let _ = self.orders.try_send(Order::Line(format!("{text}\n").into_bytes()));
    }

    /// Waits until what was said is written, for a while.
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.orders.try_send(Order::Flush(done)).is_ok() {
            // Whoever reads the log does not: nothing can be done about it.
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

fn write(orders: &Receiver<Order>, lost: &AtomicU64) {
    for order in orders {
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(stderr(), "{lost} lines of the log were lost: they came too fast");
        }
        match order {
            // There is no place left to complain at.
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

/// The subscriber writes whole lines.
impl Write for &Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.orders.try_send(Order::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
