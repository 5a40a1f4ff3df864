//! Checkpoints of a universe that keeps real time: the thread of the steps takes images, a thread of ordinary priority
//! writes them.
//!
//! The two share a mailbox, as those of [`live`](crate::live) do: the thread of the steps only tries to lock it. A
//! [`Timetable`] decides when an image is taken; [`replace`] leaves the former checkpoint or the new one, whatever
//! happens.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::file::{replace, replaceable};
use hemiola_trace::result::CheckpointsRun;
use hemiola_units::{Instant, Span};
use hemiola_world::{Image, RunSoFar, Timetable, World};

/// How often the thread looks for an image.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest wait for the last checkpoint. The runner ends a process that takes longer than 2 s to end.
const END_WITHIN: Span = Span::from_millis(1500);

/// The end of a universe's checkpoints that makes the steps.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    timetable: Timetable,
    mailbox: Arc<Mutex<Mailbox>>,
    /// Memory of the next image, if none is being written.
    spare: Image,
    outcome: CheckpointsRun,
    taken: u64,
    ns: u64,
}

/// What waits between the two threads.
#[derive(Debug, Default)]
struct Mailbox {
    image: Option<(u64, Image)>,
    written: Option<Written>,
}

/// An image that was written, or not.
#[derive(Debug)]
struct Written {
    step: u64,
    image: Image,
    bytes: u64,
    took: Span,
    failure: Option<io::Error>,
}

/// Whether checkpoints can be written to this file.
///
/// # Errors
/// The reason why not, in one sentence.
pub(crate) fn check(file: &Path) -> Result<(), String> {
    let reason = |error| format!("no checkpoint can be written to {}: {error}", file.display());
    replaceable(file).map(drop).map_err(reason)
}

impl Checkpoints {
    /// Starts the thread that writes to this file, and takes a first image to have memory for the others.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        file: PathBuf,
        every: Option<u64>,
        world: &World,
        run: &RunSoFar,
    ) -> io::Result<Self> {
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        let outcome =
            CheckpointsRun { file: file.display().to_string(), ..CheckpointsRun::default() };
        let writer = Writer { mailbox: Arc::clone(&mailbox), file };
        thread::Builder::new().name("checkpoints".into()).spawn(move || writer.serve())?;
        let mut spare = Image::default();
        world.take_image(run, &mut spare);
        let timetable = Timetable::new(every, world.steps());
        Ok(Self { timetable, mailbox, spare, outcome, taken: 0, ns: 0 })
    }

    /// Takes an image if one is due, and returns how long that took. `note` completes the run; it is called only then.
    pub(crate) fn after_step(
        &mut self,
        world: &World,
        note: impl FnOnce() -> RunSoFar,
        now: &mut dyn FnMut() -> Instant,
    ) -> Option<Span> {
        let is_due = self.timetable.is_due(world.steps());
        if !is_due && !self.timetable.is_writing() {
            return None;
        }
        let mailbox = Arc::clone(&self.mailbox);
        // If the other thread has it, the next step looks again.
        let mut mailbox = mailbox.try_lock().ok()?;
        if let Some(written) = mailbox.written.take() {
            self.written(written);
        }
        if !self.timetable.is_due(world.steps()) {
            return None;
        }
        let began = now();
        self.take(world, &note(), &mut mailbox);
        let took = now() - began;
        let ns = took.nanos().max(0) as u64;
        self.taken += 1;
        self.ns += ns;
        self.outcome.image_ns_max = self.outcome.image_ns_max.max(ns);
        Some(took)
    }

    fn take(&mut self, world: &World, run: &RunSoFar, mailbox: &mut Mailbox) {
        let mut image = std::mem::take(&mut self.spare);
        world.take_image(run, &mut image);
        mailbox.image = Some((world.steps(), image));
        self.timetable.taken(world.steps());
    }

    fn written(&mut self, Written { step, image, bytes, took, failure }: Written) {
        self.timetable.written();
        self.spare = image;
        let outcome = &mut self.outcome;
        match failure {
            None => {
                outcome.written += 1;
                outcome.step = step;
                outcome.bytes = bytes;
                outcome.write_ns_max = outcome.write_ns_max.max(took.nanos().max(0) as u64);
            }
            Some(error) => {
                outcome.failed += 1;
                let reason = format!("the checkpoint of step {step} cannot be written: {error}");
                outcome.failure = Some(reason);
            }
        }
    }

    /// Writes the last checkpoint, after the last step.
    pub(crate) fn close(&mut self, world: &World, run: &RunSoFar) {
        let limit = MonotonicClock.now() + END_WITHIN;
        self.await_written(limit);
        if !self.timetable.is_writing() && self.outcome.step < world.steps() {
            let mailbox = Arc::clone(&self.mailbox);
            self.take(world, run, &mut locked(&mailbox));
            self.await_written(limit);
        }
        if self.timetable.is_writing() {
            self.outcome.failed += 1;
            self.outcome.failure =
                Some("the last checkpoint was still being written when the run ended".into());
        }
    }

    fn await_written(&mut self, limit: Instant) {
        while self.timetable.is_writing() && MonotonicClock.now() < limit {
            let written = locked(&self.mailbox).written.take();
            match written {
                Some(written) => self.written(written),
                None => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// What became of them.
    pub(crate) fn outcome(&self) -> CheckpointsRun {
        let image_ns_mean = self.ns / self.taken.max(1);
        CheckpointsRun { late: self.timetable.late(), image_ns_mean, ..self.outcome.clone() }
    }
}

/// The end that writes.
#[derive(Debug)]
struct Writer {
    mailbox: Arc<Mutex<Mailbox>>,
    file: PathBuf,
}

impl Writer {
    /// Writes images until the other end is gone.
    fn serve(self) {
        while Arc::strong_count(&self.mailbox) > 1 {
            let image = locked(&self.mailbox).image.take();
            if let Some((step, image)) = image {
                let written = self.write(step, image);
                locked(&self.mailbox).written = Some(written);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn write(&self, step: u64, mut image: Image) -> Written {
        let began = MonotonicClock.now();
        let checkpoint = image.checkpoint();
        let bytes = checkpoint.len() as u64;
        let failure = replace(&self.file, [checkpoint]).err();
        Written { step, image, bytes, took: MonotonicClock.now() - began, failure }
    }
}

fn locked(mailbox: &Mutex<Mailbox>) -> std::sync::MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}
