//! The end of a run: stops every process and makes the record.

use std::time::{Duration, Instant as WallInstant};

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_trace::result::{ProcessRun, RunRecord};
use serde_json::Value;

use super::{Member, Stage};
use crate::RunError;
use crate::launch::{Message, describe as describe_exit};
use crate::spec::cycles;
use crate::tasks::StopBy;

/// How long a process may take to end after the end of the run.
const END_TIMEOUT: Duration = Duration::from_secs(2);

impl Stage<'_> {
    pub(super) fn finish(mut self, stopped_early: Option<String>) -> Result<RunRecord, RunError> {
        let kernel = self.kernel.take().map(|kernel| kernel.finish(&mut self.collector));
        self.wiring.stop();
        let limit = WallInstant::now() + END_TIMEOUT;
        let is_last = |member: &&mut Member| member.kind.stop_by == StopBy::Message;
        let (last, first): (Vec<_>, Vec<_>) = self.members.iter_mut().partition(is_last);
        first.into_iter().chain(last).for_each(|member| member.stop(limit));
        for member in &mut self.members {
            let status = member.launched.wait_until(limit);
            let status = status.unwrap_or_else(|| member.launched.kill());
            member.exit.get_or_insert_with(|| describe_exit(status));
            let _ = self.context.guardian.borrow_mut().forget(member.launched.pid());
        }
        for (name, count) in self.collector.finish()? {
            if let Some(member) = self.members.iter_mut().find(|member| member.name == name) {
                member.lost_events = count;
            }
        }
        let stopped_early = stopped_early.or_else(|| {
            self.members.iter().find_map(|member| {
                let why = member.finished.as_ref()?.stopped_early.as_ref()?;
                Some(format!("{}: {why}", member.name))
            })
        });
        let mut record = RunRecord {
            number: self.run.number,
            trace: self.trace.clone(),
            duration: self.run.duration,
            warmup_cycles: cycles(self.run.warmup, self.variant.rate),
            fallen_after: None,
            peak_v: 0.0,
            switches: 0,
            stopped_early,
            kernel: kernel.transpose()?,
            federation: None,
            processes: self.members.iter().filter_map(Member::record).collect(),
        };
        for member in &self.members {
            let report = member.finished.as_ref().map_or(&Value::Null, |finished| &finished.report);
            (member.kind.collect)(report, &mut record);
        }
        Ok(record)
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
