//! Work on many instances or messages. It is carried out in slices, between which other calls are carried out.
//!
//! A service checks its preconditions, makes its change, and starts a [`Task`] for everything that follows for each
//! instance or message. The task runs within the budget of the call. If it does not finish, the rest becomes a job,
//! and the jobs of a federation take turns. Each step leaves the federation in a legal state: deleting many instances
//! is the same as deleting one after the other.
//!
//! While a federate has jobs, its calls wait and it is not granted time. So a job sees no change that its own federate
//! makes, and no cursor misses anything: what comes into being behind a cursor comes with its own consequences.

use std::collections::{BTreeSet, VecDeque};
use std::ops::{Bound, ControlFlow};

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, Reply,
};

use crate::counts;
use crate::federate::Presence;
use crate::federation::Federation;
use crate::input::{CallId, SessionId};
use crate::mom::{self, Deletable, RTI};
use crate::postponed;
use crate::services::distribution::{Commit, Requests};
use crate::services::federation::Leave;
use crate::services::ownership::Negotiations;
use crate::services::time::{Flush, Grant, Regulate};
use crate::services::{Answer, distribution, object, time};

/// The cost of looking at one instance or message, in units of work.
pub(crate) const LOOK: u64 = 1;
/// The cost of one callback to one federate. It includes the work of the shell.
pub(crate) const CALLBACK: u64 = 4;

/// The result of a step: the task goes on, or it has ended with this answer.
pub(crate) type Step = ControlFlow<Answer>;

/// The step after which a task has ended without a refusal.
pub(crate) const DONE: Step = ControlFlow::Break(Ok(Reply::Done));

/// Work in progress for one federate.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) federate: FederateHandle,
    /// The call that it answers when it ends. The other jobs' calls have been answered.
    pub(crate) replies_to: Option<(SessionId, CallId)>,
    task: Task,
}

/// The kinds of bulk work.
#[derive(Debug)]
pub(crate) enum Task {
    /// Discoveries and advisories after a change of subscriptions to a class.
    Interest {
        class: ObjectClassHandle,
        below: Below,
    },
    /// The commit of regions.
    Commit(Box<Commit>),
    /// Requests for attribute values of a class in regions.
    Request {
        class: ObjectClassHandle,
        below: Below,
        requests: Requests,
        tag: Data,
    },
    /// Requests for attribute values of a class.
    Provide {
        below: Below,
        attributes: Vec<AttributeHandle>,
        tag: Data,
    },
    /// The instances that a federate may delete, counted for a report.
    CountDeletable(Box<Deletable>),
    /// The counts of all federates, for a federation that begins to be managed.
    Gather(All),
    /// Offers to a federate that publishes more attributes of a class.
    Offer {
        class: ObjectClassHandle,
        below: Below,
        more: Vec<AttributeHandle>,
    },
    /// Whether publications of a class, except of these attributes, may end.
    CheckUnpublish {
        class: ObjectClassHandle,
        kept: BTreeSet<AttributeHandle>,
        negotiations: Negotiations,
    },
    /// Their end.
    Unpublish {
        class: ObjectClassHandle,
        kept: BTreeSet<AttributeHandle>,
        below: Below,
    },
    /// Advisories on attributes in scope, after they were turned on.
    AdviseOfScope(Known),
    /// Advisories on wanted updates, after they were turned on.
    AdviseOfUpdates(Known),
    /// Forgets what was advised, after advisories were turned off.
    ForgetScope,
    ForgetUpdates,
    /// The end of a membership.
    Leave(Box<Leave>),
    /// Delivery of the messages in receive order up to this sequence number.
    Release {
        newest: u64,
    },
    Grant(Grant),
    Flush(Flush),
    Regulate(Regulate),
    /// Delivery of all queued messages to a federate that is no longer time-constrained: those in receive order up to
    /// this sequence number first.
    Unconstrain {
        newest: u64,
    },
    /// Removal of messages from the front of the queue that will not be delivered. With a time, messages up to it that
    /// the federate does not subscribe to are removed too.
    DropUnwanted {
        due: Option<LogicalTime>,
    },
    /// Removal of messages that can no longer be retracted, from this number on.
    Prune {
        from: u32,
    },
}

impl Task {
    /// Runs until the task ends, or the budget is used up.
    fn run(&mut self, federation: &mut Federation, me: FederateHandle) -> Option<Answer> {
        while federation.budget > 0 {
            federation.spend(LOOK);
            if let ControlFlow::Break(answer) = self.step(federation, me) {
                return Some(answer);
            }
        }
        None
    }

    fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        match self {
            Self::Interest { class, below } => object::interest_step(federation, me, *class, below),
            Self::Commit(commit) => commit.step(federation, me),
            Self::Request { class, below, requests, tag } => {
                distribution::request_step(federation, me, *class, below, requests, tag)
            }
            Self::Provide { below, attributes, tag } => {
                object::provide_step(federation, me, below, attributes, tag)
            }
            Self::Offer { class, below, more } => {
                object::offer_step(federation, me, *class, below, more)
            }
            Self::CheckUnpublish { class, kept, negotiations } => {
                object::check_unpublish_step(federation, me, *class, kept, negotiations)
            }
            Self::Unpublish { class, kept, below } => {
                object::unpublish_step(federation, me, *class, kept, below)
            }
            Self::AdviseOfScope(known) => match known.next(federation, me) {
                Some(handle) => {
                    handle.inspect(|handle| object::advise_of_scope(federation, me, *handle));
                    ControlFlow::Continue(())
                }
                None => DONE,
            },
            Self::AdviseOfUpdates(known) => match known.next(federation, me) {
                Some(handle) => {
                    handle.inspect(|handle| object::advise_of_updates(federation, *handle));
                    ControlFlow::Continue(())
                }
                None => DONE,
            },
            Self::ForgetScope => ended(federation.federate_mut(me).forget_scope()),
            Self::ForgetUpdates => ended(federation.federate_mut(me).forget_updates()),
            Self::Leave(leave) => leave.step(federation, me),
            Self::Release { newest } => time::release_step(federation, me, *newest),
            Self::Grant(grant) => grant.step(federation, me),
            Self::Flush(flush) => flush.step(federation, me),
            Self::Regulate(regulate) => regulate.step(federation, me),
            Self::CountDeletable(deletable) => deletable.step(federation),
            Self::Gather(instances) => counts::gather_step(federation, instances),
            Self::Unconstrain { newest } => time::unconstrain_step(federation, me, *newest),
            Self::DropUnwanted { due } => crate::message::drop_step(federation, me, *due),
            Self::Prune { from } => time::prune_step(federation, me, from),
        }
    }
}

/// The step of a task that ends when there is nothing left to remove.
fn ended(has_removed: bool) -> Step {
    if has_removed { ControlFlow::Continue(()) } else { DONE }
}

/// The unfinished jobs of a federation.
pub(crate) type Jobs = VecDeque<Job>;

impl Federation {
    /// Takes units of work from the budget.
    pub(crate) const fn spend(&mut self, units: u64) {
        self.budget = self.budget.saturating_sub(units);
    }

    /// Starts a task of a federate. Returns its answer if it ended within the budget; otherwise the rest is a job.
    pub(crate) fn start(&mut self, me: FederateHandle, mut task: Task) -> Option<Answer> {
        let answer = task.run(self, me);
        if answer.is_none() {
            self.federate_mut(me).jobs += 1;
            self.jobs.push_back(Job { federate: me, replies_to: None, task });
        }
        answer
    }

    /// Starts a task that answers the present call, if need be when it ends.
    pub(crate) fn start_and_answer(&mut self, me: FederateHandle, task: Task) -> Answer {
        self.start(me, task).unwrap_or_else(|| {
            self.is_answer_due = false;
            Ok(Reply::Done)
        })
    }

    /// The job that a federate started last answers this call, if the call has not been answered. Returns whether it
    /// does.
    pub(crate) fn answers_later(
        &mut self,
        me: FederateHandle,
        session: SessionId,
        call: CallId,
    ) -> bool {
        if std::mem::replace(&mut self.is_answer_due, true) {
            return false;
        }
        let job = self.jobs.iter_mut().rfind(|job| job.federate == me);
        let job = job.expect("a call that is not answered has started a job");
        job.replies_to = Some((session, call));
        true
    }

    /// Returns the session of the federate whose job has its turn, unless it is lost.
    pub(crate) fn next_worker(&self) -> Option<SessionId> {
        let federate = self.federate(self.jobs.front()?.federate);
        (federate.presence != Presence::Gone).then_some(federate.session)
    }

    /// Continues the job that has its turn, within the budget.
    pub(crate) fn continue_job(&mut self) {
        let Some(mut job) = self.jobs.pop_front() else { return };
        let me = job.federate;
        match job.task.run(self, me) {
            None => self.jobs.push_back(job),
            Some(answer) => {
                self.job_ended(me);
                self.answers.extend(job.replies_to.map(|(session, call)| (session, call, answer)));
            }
        }
    }

    /// A federate has one job less. Without jobs it can be granted time again.
    fn job_ended(&mut self, me: FederateHandle) {
        self.time_changed = true;
        if self.joined_federate(me).is_some() || me == RTI {
            let federate = self.federate_mut(me);
            federate.jobs -= 1;
            let is_queued = federate.jobs == 0 && federate.time.backlog.has_held();
            self.released.extend(is_queued.then_some(me));
        }
    }

    /// Answers the call of a federate that the RTI resigns, if a job was to answer it.
    pub(crate) fn refuse_call(&mut self, me: FederateHandle) {
        let jobs = self.jobs.iter_mut().filter(|job| job.federate == me);
        for (session, call) in jobs.filter_map(|job| job.replies_to.take()) {
            let refusal = Exception::FederateNotExecutionMember.into();
            self.answers.push((session, call, Err(refusal)));
        }
    }

    /// Drops the jobs of a federate that leaves.
    pub(crate) fn cancel_jobs(&mut self, me: FederateHandle) {
        if self.federate(me).jobs > 0 {
            self.jobs.retain(|job| job.federate != me);
            self.federate_mut(me).jobs = 0;
        }
    }

    /// Whether a federate's calls wait for its jobs.
    pub(crate) fn is_busy(&self, me: FederateHandle) -> bool {
        self.federate(me).jobs > 0
    }

    /// Whether anything is left to be done without a further input.
    pub(crate) fn has_work(&self) -> bool {
        let is_time_due = self.time_changed && !self.saving.is_frozen();
        let is_reporting = mom::has_reports(self);
        !self.jobs.is_empty()
            || is_time_due
            || is_reporting
            || self.is_due()
            || self.saving.has_work()
    }

    /// Whether the time has come for something that no input asks for. It does not come during a save or a restore.
    pub(crate) fn is_due(&self) -> bool {
        mom::is_due(self) || postponed::is_due(self)
    }

    /// Whether the counts of its federates are still being gathered.
    pub(crate) fn is_gathering(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job.task, Task::Gather(_)))
    }

    /// Whether publishers are still to be advised that a federate has left.
    pub(crate) fn is_advising(&self) -> bool {
        self.jobs.iter().any(|job| matches!(&job.task, Task::Leave(leave) if leave.is_advising()))
    }
}

/// The instances of a class and its subclasses, one after the other. Instances registered later are left out.
#[derive(Debug)]
pub(crate) struct Below {
    /// The classes that had instances in the beginning, in descending order.
    classes: Vec<ObjectClassHandle>,
    after: ObjectInstanceHandle,
    last: ObjectInstanceHandle,
}

impl Below {
    pub(crate) fn new(federation: &Federation, class: ObjectClassHandle) -> Self {
        let entries = federation.entries_below(&federation.of_class, class);
        let classes = entries.into_iter().rev().map(|(class, _)| class).collect();
        Self { classes, after: BEFORE_ALL, last: federation.last_instance() }
    }

    pub(crate) fn next(&mut self, federation: &Federation) -> Option<ObjectInstanceHandle> {
        while let Some(class) = self.classes.last() {
            let instances = federation.of_class.get(class);
            let range = (Bound::Excluded(self.after), Bound::Included(self.last));
            if let Some(next) = instances.and_then(|all| all.range(range).next()) {
                self.after = *next;
                return Some(*next);
            }
            self.classes.pop();
            self.after = BEFORE_ALL;
        }
        None
    }
}

const BEFORE_ALL: ObjectInstanceHandle = ObjectInstanceHandle::new(0);

/// All instances, one after the other. Instances registered later are left out.
#[derive(Debug)]
pub(crate) struct All {
    after: ObjectInstanceHandle,
    last: ObjectInstanceHandle,
}

impl All {
    pub(crate) fn new(federation: &Federation) -> Self {
        Self { after: BEFORE_ALL, last: federation.last_instance() }
    }

    pub(crate) fn next(&mut self, federation: &Federation) -> Option<ObjectInstanceHandle> {
        let range = (Bound::Excluded(self.after), Bound::Included(self.last));
        let (next, _) = federation.instances.range(range).next()?;
        self.after = *next;
        Some(*next)
    }
}

/// The instances that a federate knows.
#[derive(Debug)]
pub(crate) struct Known(All);

impl Known {
    pub(crate) fn new(federation: &Federation) -> Self {
        Self(All::new(federation))
    }

    /// Looks at the next instance of all. Returns it if the federate knows it.
    fn next(
        &mut self,
        federation: &Federation,
        me: FederateHandle,
    ) -> Option<Option<ObjectInstanceHandle>> {
        let handle = self.0.next(federation)?;
        let is_known = federation.instances[&handle].known_as(me).is_some();
        Some(is_known.then_some(handle))
    }
}
