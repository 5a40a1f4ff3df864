//! The supervising loop: it writes the records, watches every process, and serves the units' requests.

use std::io::ErrorKind;
use std::time::{Duration, Instant as WallInstant};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::process::is_stopped;
use hemiola_trace::result::{Role, RunRecord};
use hemiola_units::{Instant, Span};

use super::stops::STOPPED_MAX;
use super::{Member, Stage, output_tail};
use crate::RunError;
use crate::launch::{Message, describe as describe_exit};
use crate::run::Progress;
use crate::tasks::EarlyEnd;
use crate::units::Units;

/// How often the loop looks at everything.
const TICK: Duration = Duration::from_millis(10);
/// A foreign program that ends within this time of its start did not work at all.
const AT_ONCE: Span = Span::from_millis(250);
/// How long a process that paces the run may record nothing, if ten of its periods are shorter.
const STANDSTILL: Duration = Duration::from_secs(10);
/// How many ticks pass between two looks at whether a process is stopped.
const TICKS_PER_LOOK: u32 = 5;
/// A process that is killed ends for its neighbours before the runner sees it.
const SETTLE: Duration = Duration::from_millis(100);

impl Stage<'_> {
    /// Lets the processes run for the run's length. Returns its record, and why it ended early, if it did.
    pub(crate) fn run(mut self, progress: &mut dyn Progress) -> (RunRecord, Option<RunError>) {
        let ended_early = self.supervise(progress).err();
        self.finish(ended_early)
    }

    fn supervise(&mut self, progress: &mut dyn Progress) -> Result<(), RunError> {
        let delay = self.members.iter().map(|member| member.kind.start_delay).max();
        let epoch = MonotonicClock.now() + delay.unwrap_or(Span::ZERO);
        self.with_units(Units::announce);
        for member in &mut self.members {
            match member.launched.send(&Message::Start(epoch)) {
                // It has died since it was ready: the loop below says so, with its name.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                sent => sent.map_err(RunError::system("starting a process"))?,
            }
            member.progress = (0, WallInstant::now());
        }
        let length = self.run.length();
        for tick in 1.. {
            std::thread::sleep(TICK);
            self.collector.drain()?;
            if let Some(kernel) = &mut self.kernel {
                kernel.drain_when_due(&mut self.collector)?;
            }
            let elapsed = MonotonicClock.now() - epoch;
            if self.pacers_have_ended(elapsed > length) {
                return self.check_completion(elapsed);
            }
            if let Err(death) = self.check_deaths(elapsed) {
                if self.injected.is_empty() {
                    return Err(death);
                }
                self.stopped_early = Some(death.to_string());
                return Ok(());
            }
            if tick % TICKS_PER_LOOK == 0 {
                self.check_stops(elapsed)?;
            }
            self.check_standstill(elapsed)?;
            self.context.check_interruption()?;
            self.check_guardian(progress)?;
            self.serve_requests(epoch, progress);
            for mut injection in std::mem::take(&mut self.injected) {
                injection.tick(self, elapsed);
                self.injected.push(injection);
            }
            let doing = self.units.as_ref().map_or_else(String::new, Units::in_words);
            progress.tick((elapsed.secs_f64() / length.secs_f64()).clamp(0.0, 1.0), &doing);
        }
        unreachable!("the ticks do not end before the run does")
    }

    /// Notes which processes are stopped, and fails when one that the run needs does not continue. The watchdog in the
    /// I/O process stands in for the decision module.
    fn check_stops(&mut self, elapsed: Span) -> Result<(), RunError> {
        let is_needed = |member: &&Member| {
            let needed =
                matches!(member.early_end, EarlyEnd::Failure | EarlyEnd::FailureWithoutFaults);
            needed && member.exit.is_none()
        };
        for member in self.members.iter().filter(is_needed) {
            let is_stopped = is_stopped(member.launched.pid());
            let lasted = self.stops.see(&member.name, is_stopped, elapsed);
            if lasted > STOPPED_MAX && member.kind.role != Role::Decision {
                let (process, after) = (member.name.clone(), elapsed - lasted);
                return Err(RunError::Halted { process, after });
            }
        }
        Ok(())
    }

    fn check_guardian(&self, progress: &mut dyn Progress) -> Result<(), RunError> {
        let mut guardian = self.context.guardian.borrow_mut();
        if guardian.check().map_err(RunError::system("the guardian process"))? {
            progress.note("the guardian process ended or was stopped; another one is in its place");
        }
        Ok(())
    }

    /// Serves what users ask of the units; refuses it where the variant has none.
    fn serve_requests(&mut self, epoch: Instant, progress: &mut dyn Progress) {
        let context = self.context;
        let mut server = context.server.borrow_mut();
        let served = self.with_units(|units, stage| {
            units.tick(stage, &mut server, epoch);
            units.take_notes().iter().for_each(|note| progress.note(note));
        });
        if served.is_none() {
            server.refuse_all(&format!(
                "{} runs now, and has no units; ask again when a program with units runs",
                self.variant.name
            ));
        }
    }

    /// Whether every process that paces the run has done all its cycles; where none paces it, whether the time is over.
    fn pacers_have_ended(&mut self, time_is_over: bool) -> bool {
        let mut pacers = self.members.iter_mut().filter(|member| member.paces).peekable();
        if pacers.peek().is_none() {
            return time_is_over;
        }
        pacers.all(Member::has_finished)
    }

    /// Fails when a process that paces the run records nothing for too long: it may wait for another without a limit.
    fn check_standstill(&mut self, elapsed: Span) -> Result<(), RunError> {
        let timeout = STANDSTILL.max((self.variant.rate.period() * 10).to_duration());
        let (collector, now) = (&self.collector, WallInstant::now());
        let pacers = self.members.iter_mut().filter(|member| member.paces);
        for member in pacers.filter(|member| member.finished.is_none()) {
            let recorded = collector.recorded(&member.name);
            if recorded != member.progress.0 {
                member.progress = (recorded, now);
            } else if now - member.progress.1 >= timeout {
                let reason = format!(
                    "no cycle of it has begun or ended for {} s; it hangs, or a process that it waits for does",
                    timeout.as_secs()
                );
                let process = member.name.clone();
                let output = output_tail(self.context, &process);
                return Err(RunError::Stopped { process, reason, after: elapsed, output });
            }
        }
        Ok(())
    }

    /// Fails when a process that must complete has stopped early. If the reason is that another process died, the
    /// error names that one.
    fn check_completion(&mut self, elapsed: Span) -> Result<(), RunError> {
        let Some(stopped) = self.members.iter().find_map(Member::failed_completion) else {
            return Ok(());
        };
        std::thread::sleep(SETTLE);
        self.check_deaths(elapsed)?;
        let (process, reason) = stopped;
        let output = output_tail(self.context, &process);
        Err(RunError::Stopped { process, reason, after: elapsed, output })
    }

    /// Fails when a process has ended that the run needs.
    fn check_deaths(&mut self, elapsed: Span) -> Result<(), RunError> {
        let context = self.context;
        for member in self.members.iter_mut().filter(|member| member.exit.is_none()) {
            let Some(status) = member.launched.ended() else { continue };
            let last = member.launched.receive(Duration::from_millis(1));
            let how = match &last {
                Some(Message::Failed(reason)) => reason.clone(),
                _ => describe_exit(status),
            };
            member.exit = Some(how.clone());
            member.ended_after = Some(elapsed);
            member.launched.hang_up();
            self.collector.close(&member.name);
            let _ = context.guardian.borrow_mut().forget(member.launched.pid());
            let output = || output_tail(context, &member.name);
            if let Some(Message::Finished(finished)) = last {
                member.finished = Some(*finished);
                match member.failed_completion() {
                    Some((process, reason)) => {
                        let output = output_tail(context, &process);
                        return Err(RunError::Stopped { process, reason, after: elapsed, output });
                    }
                    // It ended in good order just now.
                    None => continue,
                }
            }
            let (process, output) = (member.name.clone(), output());
            match (member.early_end, last) {
                (EarlyEnd::Expected, _) => {}
                (_, Some(Message::Failed(reason))) => {
                    return Err(RunError::Start { process, reason });
                }
                (EarlyEnd::FailureAtOnce, _) if elapsed < AT_ONCE => {
                    return Err(RunError::EndedAtOnce { process, how, output });
                }
                (EarlyEnd::FailureAtOnce, _) => {}
                (EarlyEnd::Failure | EarlyEnd::FailureWithoutFaults, _) => {
                    return Err(RunError::Died { process, how, after: elapsed, output });
                }
            }
        }
        Ok(())
    }
}

impl Member {
    /// Whether it has reported its end, which it does after its last cycle.
    fn has_finished(&mut self) -> bool {
        if self.finished.is_none()
            && let Some(Message::Finished(finished)) =
                self.launched.receive(Duration::from_millis(1))
        {
            self.finished = Some(*finished);
        }
        self.finished.is_some()
    }

    /// Its name and the reason, when it must complete and has stopped early.
    fn failed_completion(&self) -> Option<(String, String)> {
        let reason = self.finished.as_ref()?.stopped_early.clone()?;
        self.kind.must_complete.then(|| (self.name.clone(), reason))
    }
}
