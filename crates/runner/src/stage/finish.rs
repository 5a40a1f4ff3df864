//! The end of a run: stops every process and makes the record.

use std::time::{Duration, Instant as WallInstant};

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_trace::result::{ProcessRun, RunRecord, UnitRun};
use serde_json::Value;

use super::{Member, Stage};
use crate::RunError;
use crate::launch::{Message, describe as describe_exit};
use crate::spec::cycles;
use crate::tasks::StopBy;
use crate::units::Units;

/// How long a process may take to end after the end of the run.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const NOT_ENDED: &str = "could not be ended: a tracer holds it";

impl Stage<'_> {
    /// The record of the run as it is known before its end.
    pub(crate) fn record(&self) -> RunRecord {
        RunRecord {
            number: self.run.number,
            trace: self.trace.clone(),
            duration: self.run.duration,
            warmup_cycles: cycles(self.run.warmup, self.variant.rate),
            fallen_after: None,
            peak_v: 0.0,
            switches: 0,
            stopped_early: Some("its end is not recorded".into()),
            disturbances: Vec::new(),
            kernel: None,
            federation: None,
            universes: Vec::new(),
            units: self.started_units(),
            processes: self.members.iter().filter_map(Member::record).collect(),
        }
    }

    /// Stops every process and makes the record, also when a part of it cannot be written any more.
    pub(super) fn finish(
        mut self,
        mut ended_early: Option<RunError>,
    ) -> (RunRecord, Option<RunError>) {
        let kernel = self.kernel.take().map(|kernel| kernel.finish(&mut self.collector));
        self.wiring.stop();
        let limit = WallInstant::now() + END_TIMEOUT;
        let is_last = |member: &&mut Member| member.kind.stop_by == StopBy::Message;
        let (last, first): (Vec<_>, Vec<_>) = self.members.iter_mut().partition(is_last);
        first.into_iter().chain(last).for_each(|member| member.stop(limit));
        let disturbances = self.stops.in_words().collect();
        let disturbances = self.end_members(limit, disturbances);
        match self.collector.finish() {
            Ok(lost) => self.take_losses(lost),
            Err(error) => drop(ended_early.get_or_insert(error)),
        }
        let mut record = self.record();
        record.disturbances = disturbances;
        match kernel.transpose() {
            Ok(kernel) => record.kernel = kernel,
            Err(error) => drop(ended_early.get_or_insert(error)),
        }
        let reason = ended_early.as_ref().map(ToString::to_string);
        record.stopped_early =
            reason.or(self.stopped_early.take()).or_else(|| self.member_stopped());
        for member in &self.members {
            let report = member.finished.as_ref().map_or(&Value::Null, |finished| &finished.report);
            (member.kind.collect)(report, &mut record);
        }
        (record, ended_early)
    }

    /// Every unit that was started, with the end of its process, if that came before the end of the run.
    fn started_units(&self) -> Vec<UnitRun> {
        let member = |unit: &UnitRun| self.members.iter().find(|member| member.name == unit.name);
        let with_end = |unit: &UnitRun| {
            let member = member(unit);
            let ended_after = member.and_then(|member| member.ended_after);
            UnitRun { ended_after, user: member.and_then(|member| member.user), ..unit.clone() }
        };
        self.units.iter().flat_map(Units::started).map(with_end).collect()
    }

    /// Waits for every process until `limit`, and kills the others.
    fn end_members(&mut self, limit: WallInstant, mut disturbances: Vec<String>) -> Vec<String> {
        for member in &mut self.members {
            let status = member.launched.wait_until(limit).or_else(|| member.launched.kill());
            if status.is_none() {
                disturbances.push(format!("{} {NOT_ENDED}", member.name));
            }
            let exit = || status.map_or_else(|| NOT_ENDED.into(), describe_exit);
            member.exit.get_or_insert_with(exit);
            let _ = self.context.guardian.borrow_mut().forget(member.launched.pid());
        }
        while !self.end_strays() && WallInstant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        disturbances
    }

    fn take_losses(&mut self, lost: Vec<(String, u64)>) {
        for (name, count) in lost {
            if let Some(member) = self.members.iter_mut().find(|member| member.name == name) {
                member.lost_events = count;
            }
        }
    }

    /// The first process that reported an early end of its own.
    fn member_stopped(&self) -> Option<String> {
        self.members.iter().find_map(|member| {
            let why = member.finished.as_ref()?.stopped_early.as_ref()?;
            Some(format!("{}: {why}", member.name))
        })
    }
}

impl Member {
    /// Tells the process that the run is over, and waits for its report.
    fn stop(&mut self, limit: WallInstant) {
        if self.kind.stop_by == StopBy::Message {
            // An error means that it has ended already.
            let _ = self.launched.send(&Message::Stop);
        }
        while self.finished.is_none() && self.exit.is_none() && WallInstant::now() < limit {
            match self.launched.receive(Duration::from_millis(20)) {
                Some(Message::Finished(finished)) => self.finished = Some(*finished),
                _ if self.kind.stop_by == StopBy::Signal => {
                    let _ = signal_group(self.launched.pid(), Signal::TERM);
                    break;
                }
                _ => {}
            }
        }
    }

    /// `None` for a unit that was still preparing when the run ended: it took no part in it.
    fn record(&self) -> Option<ProcessRun> {
        let finished = self.finished.clone().unwrap_or_default();
        Some(ProcessRun {
            name: self.name.clone(),
            pid: self.launched.pid(),
            granted: self.granted.clone()?,
            exit: self.exit.clone().unwrap_or_default(),
            voluntary_switches: finished.voluntary_switches,
            involuntary_switches: finished.involuntary_switches,
            lost_events: self.lost_events,
        })
    }
}
