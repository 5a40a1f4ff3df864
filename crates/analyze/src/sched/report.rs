//! The types of [`Report`], the result of analysing a recording, as `hemiola analyze --json` prints them.
//!
//! Times are nanoseconds on the monotonic clock, as whole numbers named `…_ns`, so that the fields here and the keys
//! of the JSON are the same words.

use hemiola_trace::sched::Reservation;
use serde::Serialize;

use super::list::List;
use super::name::Name;
pub use hemiola_stats::Distribution;

/// The result of analysing a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The first event, ns.
    pub from_ns: u64,
    /// The last event, ns.
    pub to_ns: u64,
    /// Switches from one thread to another.
    pub switches: u64,
    /// Wake-ups.
    pub wake_ups: u64,
    /// Events known to be lost, in the kernel and in programs; those of a gap of unknown size not counted.
    pub lost_events: u64,
    /// Times in which the record of a processor is missing, by beginning. Neighbours are merged beyond
    /// [`GAPS_MAX`](super::GAPS_MAX).
    pub gaps: Vec<Gap>,
    /// Share of all processors' time, gaps left out, in which something ran: 0 to 1.
    pub utilization: f64,
    /// Σ C/T over marked tasks or, without any, over threads with a period that was given or that they had
    /// for half of the time: the processor utilization factor of the task set (Liu and Layland 1973). May exceed 1 on
    /// several processors.
    pub task_set_utilization: f64,
    /// Each processor, ascending.
    pub cpus: Vec<CpuReport>,
    /// Each thread that ran, was woken or marked, the busiest first; a number that was used again is several threads.
    pub threads: Vec<ThreadReport>,
    /// Each marked task, in the order of the recording's tracks.
    pub tasks: Vec<TaskReport>,
    /// What programs marked besides jobs, and the track events of other programs: slices, then counters, then instants;
    /// and then the system calls of each thread, where recorded.
    pub marks: Vec<MarkReport>,
    /// Missed deadlines in the order of their releases, the first [`MISSES_MAX`](super::MISSES_MAX).
    pub misses: Vec<Miss>,
    /// All of them.
    pub missed_deadlines: u64,
    /// The second method: processor use by `/proc` beside that of the recording, where the recorder noted it.
    pub accounting: Option<Accounting>,
    /// Limitations of the figures: gaps, clocks that stepped, wake-ups that were not recorded.
    pub notes: Vec<String>,
}

/// A time in which the record of a processor is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The processor.
    pub cpu: u16,
    /// The last event before it, ns; 0: nothing is known before `to_ns`.
    pub from_ns: u64,
    /// Where the record goes on, ns.
    pub to_ns: u64,
    /// Events lost in it; 0: not known, or the processor was taken away.
    pub lost: u64,
}

impl Gap {
    /// Whether events are missing in it. Without a number of them, a gap in a recording of Hemiola (`is_ours`) may be a
    /// pause or a processor that was offline, and the recorder states the others
    /// ([`Missing::Gaps`](hemiola_trace::Missing)).
    #[must_use]
    pub const fn is_loss(&self, is_ours: bool) -> bool {
        self.lost > 0 || (!is_ours && self.from_ns < self.to_ns)
    }

    /// How many stretches of time gaps are together, and how long these are, ns. Gaps stand in the order of their
    /// beginnings; a pause is a gap of each processor.
    #[must_use]
    pub fn stretches<'g>(gaps: impl IntoIterator<Item = &'g Self>) -> (usize, u64) {
        let (mut count, mut length, mut end) = (0, 0_u64, 0);
        for gap in gaps {
            count += usize::from(count == 0 || gap.from_ns > end);
            length = length.saturating_add(gap.to_ns.saturating_sub(gap.from_ns.max(end)));
            end = end.max(gap.to_ns);
        }
        (count, length)
    }
}

/// The figures of a processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuReport {
    /// Its number.
    pub cpu: u16,
    /// Switches.
    pub switches: u64,
    /// Time in which it is known what it did, ns.
    pub seen_ns: u64,
    /// Of this, threads ran, ns.
    pub busy_ns: u64,
    /// Of this, nothing ran, ns.
    pub idle_ns: u64,
    /// Of the busy and idle time, interrupts were served, ns; 0 where they are not recorded.
    pub interrupts_ns: u64,
    /// `busy_ns` / `seen_ns`; 0 where nothing was seen.
    pub utilization: f64,
}

/// The figures of a thread.
///
/// An *invocation* is the work of a thread from its wake-up until it sleeps again. Where a period is known, wake-ups in
/// the first half of the period belong to the invocation that began it, so a job that waits for a lock remains one job.
/// Invocations that a gap or an end of the recording cuts count in `incomplete` and in no distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadReport {
    /// Its name, the last it had; `thread TID` where the recording has none.
    pub name: Name,
    /// Its number.
    pub tid: u32,
    /// Its process; 0 where unknown.
    pub pid: u32,
    /// Names it had before, in order.
    pub names_before: Vec<String>,
    /// The kernel's priority, without what it inherits while it holds a mutex
    /// ([`What::Switch`](hemiola_trace::sched::What::Switch)): below 0 deadline, 0–98 real time (98 − n is `SCHED_FIFO`
    /// n + 1), 100–139 time-shared; `None` if unknown.
    pub priority: Option<i16>,
    /// Processors it ran on, ascending.
    pub cpus: Vec<u16>,
    /// Complete invocations.
    pub invocations: u64,
    /// Invocations that were seen in part only.
    pub incomplete: u64,
    /// C: processor time of an invocation, free of preemption, blocking and recorded interrupts.
    pub execution_ns: Option<Distribution>,
    /// T: time from one release to the next. Nothing for a thread without a period.
    pub period_ns: Option<u64>,
    /// Where T comes from.
    pub period_from: Option<PeriodFrom>,
    /// Time between the releases of neighbouring invocations with nothing lost between them.
    pub interval_ns: Option<Distribution>,
    /// Spread (greatest − least) of the intervals that last one period, that is less than 1.5 T.
    pub release_jitter_ns: Option<u64>,
    /// From release (wake-up) to the first instruction: waiting for the processor.
    pub latency_ns: Option<Distribution>,
    /// From release (wake-up) to the end of the invocation.
    pub response_ns: Option<Distribution>,
    /// U: mean C / T; without a period, the share of the time seen in which it ran. A thread that marks its jobs may do
    /// those of several periods after one wake-up, so it has the mean interval between its releases in place of T.
    pub utilization: f64,
    /// Processor time altogether, incomplete invocations included, ns.
    pub running_ns: u64,
    /// Ready and waiting for the processor, ns.
    pub waiting_ns: u64,
    /// Its reservation under `SCHED_DEADLINE`, if the recording contains it.
    pub reservation: Option<Reservation>,
    /// Throttled because it had used up its reservation, ns.
    pub throttled_ns: u64,
    /// How often it was throttled within an invocation.
    pub throttles: u64,
    /// Waiting for a device or lock, or asleep within an invocation, ns.
    pub blocked_ns: u64,
    /// Asleep between invocations, ns.
    pub sleeping_ns: u64,
    /// Taken from it by interrupts while it had the processor, ns; 0 where they are not recorded.
    pub interrupted_ns: u64,
    /// How often it lost the processor although it would have gone on.
    pub preemptions: u64,
    /// How often it began to run on another processor than before.
    pub migrations: u64,
    /// The processor it ran on at the end.
    pub last_cpu: Option<u16>,
    /// Of `running_ns`, since it came to that processor and stayed, ns.
    pub settled_ns: u64,
    /// Page faults and system calls, where recorded.
    pub page_faults: u64,
    /// System calls entered, where recorded.
    pub calls: u64,
    /// Threads that had the processor while it was ready, and interrupts while it ran, longest first; the smallest
    /// beyond [`CULPRITS_MAX`](super::CULPRITS_MAX) are one entry named `others`.
    pub preempted_by: List<Interference>,
    /// Threads that ended its waits within invocations, longest first. For a lock this is the holder.
    pub blocked_by: List<Blocking>,
    /// Threads that released its invocations, most often first.
    pub woken_by: List<Waker>,
    /// In each complete invocation, the time threads of lower priority delayed it: they ran while it was ready, or it
    /// waited for them. B of response-time analysis is its maximum. `None` if priorities are unknown.
    pub blocking_ns: Option<Distribution>,
    /// In one complete invocation at most: asleep until an interrupt or another thread woke it, ns, without the time
    /// that more urgent threads had its processor meanwhile and without waits for threads of lower priority, which are
    /// part of B.
    pub suspension_ns: u64,
    /// How long an invocation had lasted that was under way when the recording ended, ns; 0 if there was none.
    pub unfinished_ns: u64,
    /// How long it took from its creation in the recording until it slept, ns, if it is not the first thread of its
    /// process; 0 otherwise. Of a thread with a period, this start-up is no job, as that of a program is none.
    pub startup_ns: u64,
    /// The greatest delay of a wake-up after the time until which it had asked to sleep, ns, if its releases are such
    /// times (clock_nanosleep(2) with `TIMER_ABSTIME`). Then no job of it is a guess.
    pub timer_late_ns: Option<u64>,
    /// How often it asked to sleep until no later time than before: it had slept within a job until the next release or
    /// beyond.
    pub disordered: u64,
    /// How many times it asked for that lie off all others, which are a multiple of its period apart: it may have slept
    /// within a job beyond the next release.
    pub strayed: u64,
    /// It asked for times within some of its jobs, or soon after a release: then it may have slept until that release
    /// within the job before.
    pub asks_within_jobs: bool,
    /// It asked for one time in its start-up, and something else released its jobs from then on.
    pub asks_before_loop: bool,
    /// The least execution time of an invocation but for the first one, which may only begin a loop, ns.
    pub execution_later_min_ns: u64,
    /// How many jobs woke up for other things at a later release, after which their thread asked for another one than
    /// the next: each was late, or was two jobs.
    pub unclear: u64,
    /// The longest invocation that was seen in part, as far as it was seen, ns.
    pub part_ns: u64,
    /// The invocation in which it ended, ns. With a period, that is no job, because it may have been its last acts.
    pub ended_ns: u64,
    /// How long it had slept at the end of the recording, or before it ended, without having asked for that, ns.
    pub silent_ns: u64,
    /// The longest sleep until another thread woke it that counts as part of a job although it began in the second half
    /// of its period or later, ns.
    pub answered_ns: u64,
    /// It ran under `SCHED_DEADLINE` in a part of the recording only.
    pub changed_policy: bool,
    /// The marks with its number are those of an earlier thread with that number.
    pub has_foreign_marks: bool,
    /// Jobs that were not finished at the next release, so that the thread did not sleep before the next job.
    pub overran: u64,
    /// Invocations that ended after their deadline. A thread misses nothing whose period was neither given nor is that
    /// of its reservation.
    pub missed: u64,
}

/// The origin of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodFrom {
    /// The caller said so.
    Given,
    /// The period of its reservation under `SCHED_DEADLINE`, and nothing in its wake-ups speaks against it. Then D is
    /// that of the reservation, too.
    Reservation,
    /// Found in the releases.
    Found,
}

/// The cause of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// A thread, by its number.
    Thread(u32),
    /// A device interrupt, by its number.
    Interrupt(u16),
    /// A soft interrupt, by its vector.
    SoftInterrupt(u16),
    /// The processor was idle and took that long to begin.
    Idle,
    /// An interrupt, for example a timer's; the recording does not say which.
    SomeInterrupt,
    /// Its own reservation under `SCHED_DEADLINE`, which was used up.
    Reservation,
    /// Not in the recording.
    Unknown,
    /// Several that each took too little to be listed.
    Others,
}

impl Culprit {
    /// Its name, where it is not a thread of the report.
    pub(super) fn name(self) -> String {
        /// `include/linux/interrupt.h`.
        const SOFT: [&str; 10] = [
            "high tasklets",
            "timer",
            "network send",
            "network receive",
            "block",
            "poll",
            "tasklets",
            "sched",
            "hrtimer",
            "rcu",
        ];
        /// Interrupts of the processor itself are numbered from here, by their vector (x86, `irq_vectors.h`).
        const LOCAL: u16 = 0xff00;
        match self {
            Culprit::Thread(tid) => format!("thread {tid}"),
            Culprit::Interrupt(number @ LOCAL..) => match number - LOCAL {
                0xec => "local timer".into(),
                0xf6 => "work interrupt".into(),
                0xfb | 0xfc => "function call interrupt".into(),
                0xfd => "reschedule interrupt".into(),
                vector => format!("local interrupt {vector:#x}"),
            },
            Culprit::Interrupt(number) => format!("interrupt {number}"),
            Culprit::SoftInterrupt(vector) => match SOFT.get(usize::from(vector)) {
                Some(name) => format!("soft interrupt ({name})"),
                None => format!("soft interrupt {vector}"),
            },
            Culprit::Idle => "idle".into(),
            Culprit::SomeInterrupt => "interrupt".into(),
            Culprit::Reservation => "its reservation".into(),
            Culprit::Unknown => "unknown".into(),
            Culprit::Others => "others".into(),
        }
    }
}

/// A culprit that had the processor while a thread was ready to run, over the whole recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interference {
    /// By name; `idle` where the processor had to be woken.
    pub name: Name,
    /// By number, if it was a thread.
    pub tid: Option<u32>,
    /// The culprit.
    pub who: Culprit,
    /// Altogether, ns.
    pub ns: u64,
    /// Of this, before an invocation had begun to run, ns; the rest is preemption.
    pub before_start_ns: u64,
    /// In how many waits.
    pub times: u64,
    /// In one wait at most, ns.
    pub longest_ns: u64,
}

/// A culprit that ended waits of a thread within its invocations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocking {
    /// By name.
    pub name: Name,
    /// By number, if it was a thread.
    pub tid: Option<u32>,
    /// The thread or interrupt that woke it.
    pub who: Culprit,
    /// Waited altogether, ns.
    pub ns: u64,
    /// How often.
    pub times: u64,
    /// At most, ns.
    pub longest_ns: u64,
    /// What kept the awaited thread from running for the longest time meanwhile, if anything did.
    pub behind: Option<HeldUp>,
}

/// What kept an awaited thread from running for the longest time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldUp {
    /// By name.
    pub name: Name,
    /// By number, if it was a thread.
    pub tid: Option<u32>,
    /// How long the awaited thread was ready without a processor, ns.
    pub ns: u64,
}

/// A thread or interrupt that released invocations of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waker {
    /// By name; `interrupt` for a timer or a device.
    pub name: Name,
    /// By number, if it was a thread.
    pub tid: Option<u32>,
    /// How often.
    pub times: u64,
}

/// What a program marked under one name on one track.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MarkReport {
    /// The name of the mark; of a counter of another program, that of its track.
    pub name: String,
    /// The task, thread, process or other track that has it.
    pub track: String,
    /// Its thread; 0 if it belongs to none.
    pub tid: u32,
    /// Its process; 0 where unknown.
    pub pid: u32,
    /// Its kind.
    pub kind: MarkKind,
    /// How many there are; of slices, those with both ends.
    pub count: u64,
    /// Slices whose end is not in the recording: in no distribution.
    pub incomplete: u64,
    /// From the beginning to the end of a slice, ns, with everything that happened meanwhile.
    pub duration_ns: Option<Distribution>,
    /// The values of a counter; `None` if none is finite.
    pub values: Option<MarkedValues>,
    /// The texts that were marked, the most frequent first, at most [`TEXTS_MAX`](super::TEXTS_MAX).
    pub texts: Vec<MarkedText>,
    /// How many marks have other texts.
    pub other_texts: u64,
}

/// A text that a program marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkedText {
    /// The text, as far as the mark keeps it.
    pub text: String,
    /// How many marks have it.
    pub count: u64,
}

/// What a mark is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A time with a beginning and an end.
    #[default]
    Slice,
    /// A number that changes.
    Counter,
    /// A single moment.
    Instant,
    /// A system call of a thread, from entry to return.
    Call,
}

/// The values of a counter. The figures are those of its finite values; without any, they are not numbers (`null` in
/// JSON).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkedValues {
    /// Their unit; empty if the program states none.
    pub unit: String,
    /// Least.
    pub min: f64,
    /// Arithmetic mean of the values, however long each held.
    pub mean: f64,
    /// Greatest.
    pub max: f64,
    /// The last one.
    pub last: f64,
    /// Values that are infinite or not a number.
    pub not_finite: u64,
    /// The same without rounding, if all values are whole numbers and a floating-point number cannot hold one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactValues>,
}

/// Whole numbers as decimal text: many readers of JSON round numbers beyond 2^53 (RFC 8259, section 6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExactValues {
    /// Least.
    pub min: String,
    /// Greatest.
    pub max: String,
    /// The last one.
    pub last: String,
}

/// The figures of a marked task. Its jobs come from the program's own marks (`Start`, `Finish`), their delays from
/// the kernel's events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskReport {
    /// As the program calls it.
    pub name: String,
    /// Index of its track in [`Recording::tracks`](hemiola_trace::Recording::tracks).
    pub track: usize,
    /// The thread that marks.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Complete jobs.
    pub jobs: u64,
    /// Jobs without an end, or across a gap: in no distribution.
    pub incomplete: u64,
    /// C: processor time of a job from its start mark to its finish mark, free of preemption and interrupts; the
    /// program's own figure where the kernel's side was not recorded.
    pub execution_ns: Option<Distribution>,
    /// T: the median distance of neighbouring releases, or as given.
    pub period_ns: Option<u64>,
    /// Where T comes from.
    pub period_from: Option<PeriodFrom>,
    /// D: the median of deadline − release.
    pub deadline_ns: Option<u64>,
    /// Start − release.
    pub latency_ns: Option<Distribution>,
    /// Spread (greatest − least) of the distances of neighbouring releases that last one period, that is less than
    /// 1.5 T.
    pub release_jitter_ns: Option<u64>,
    /// Finish − release.
    pub response_ns: Option<Distribution>,
    /// The greatest finish − deadline; positive is late.
    pub lateness_max_ns: Option<i64>,
    /// U: mean C / T.
    pub utilization: f64,
    /// Jobs that finished after their deadline.
    pub missed: u64,
    /// Releases the program skipped because it was late.
    pub skipped: u64,
    /// The kernel's priority of its thread; `None` if unknown.
    pub priority: Option<i16>,
    /// Threads that had the processor while a job was ready, from its release on.
    pub preempted_by: List<Interference>,
    /// Threads that ended the waits within jobs.
    pub blocked_by: List<Blocking>,
    /// As [`ThreadReport::blocking_ns`].
    pub blocking_ns: Option<Distribution>,
    /// As [`ThreadReport::suspension_ns`], of its jobs.
    pub suspension_ns: u64,
}

/// A missed deadline, or those of several jobs that followed each other without a sleep.
///
/// A thread that is still busy at its next releases does not sleep, so only the release of the first job and the finish
/// of the last were seen; the others were released one period after each other. If the thread skips releases that it is
/// too late for, there were fewer jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Miss {
    /// Its task, or its thread where the period was given.
    pub name: String,
    /// The job with everything that held it up; several are told as one, with the deadline of the first.
    pub job: Job,
    /// Finish − deadline, ns. Of several jobs, none was later.
    pub late_ns: u64,
    /// How many jobs these are.
    pub jobs: u64,
    /// How many of them were late: all before the last, which were not finished at the next release, and maybe the
    /// last.
    pub missed: u64,
    /// Finish − deadline of the last job, ns; not positive if that was in time.
    pub last_late_ns: i64,
    /// Why, in one sentence with figures: `12.3 ms late: 9.80 ms preempted by kworker/0:1, 2.10 ms waiting for …`.
    pub explanation: String,
}

/// A job: an invocation of a thread, or one a program marked.
///
/// Of one that is complete, each nanosecond from release to finish is in `execution_ns` or in one of `delays`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Its thread.
    pub tid: u32,
    /// Index of the track that marked it; nothing for an invocation.
    pub track: Option<usize>,
    /// Which of its thread's or task's jobs, from 0; the program's own cycle number where it is marked.
    pub number: u64,
    /// When it could first have run: the wake-up, or the release that was marked, ns.
    pub release_ns: u64,
    /// When it first ran, or marked its start, ns.
    pub start_ns: u64,
    /// When it went to sleep, or marked its finish, ns.
    pub finish_ns: u64,
    /// Until when it should have, ns.
    pub deadline_ns: Option<u64>,
    /// Processor time, ns.
    pub execution_ns: u64,
    /// All other time between release and finish, longest first. Delays beyond [`DELAYS_MAX`](super::DELAYS_MAX) are
    /// one [`Culprit::Others`] for each kind.
    pub delays: Vec<Delay>,
    /// Whether it counts in the figures: everything from release to finish was seen, and it is no start-up and no end
    /// of a thread with a period. The figures of one that was not seen whole are lower bounds.
    pub complete: bool,
}

impl Job {
    /// Finish − release, ns.
    #[must_use]
    pub const fn response_ns(&self) -> u64 {
        self.finish_ns.saturating_sub(self.release_ns)
    }

    /// Finish − deadline, ns; positive is late.
    #[must_use]
    pub fn lateness_ns(&self) -> Option<i64> {
        self.deadline_ns.map(|deadline| self.finish_ns.wrapping_sub(deadline) as i64)
    }

    /// The sum of delays of that kind, ns.
    #[must_use]
    pub fn delayed_ns(&self, kind: DelayKind) -> u64 {
        self.delays.iter().filter(|delay| delay.kind == kind).map(|delay| delay.ns).sum()
    }
}

/// A delay of a job by one culprit in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Delay {
    /// The culprit.
    pub who: Culprit,
    /// How.
    pub kind: DelayKind,
    /// How long altogether, ns.
    pub ns: u64,
    /// In how many pieces.
    pub times: u32,
    /// For [`DelayKind::Blocked`]: what kept `who` from running meanwhile, if anything. When a thread of lower priority
    /// holds a lock and a third thread keeps it from running, this is a priority inversion (Sha, Rajkumar and
    /// Lehoczky 1990).
    pub behind: Option<Behind>,
}

/// A culprit that kept the awaited thread from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Behind {
    /// The culprit that had the processor most of the time.
    pub who: Culprit,
    /// The longest wait of the awaited thread, ready without a processor, ns.
    pub ns: u64,
}

/// How a job is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayKind {
    /// Its release had passed and its thread was still asleep; `who` woke it in the end.
    NotWoken,
    /// Its release had passed while its thread was busy with something else, for example the previous job.
    Earlier,
    /// It was ready before its first instruction, and `who` had the processor.
    BeforeStart,
    /// It had begun, was ready, and `who` had the processor.
    Preempted,
    /// It had used up its reservation under `SCHED_DEADLINE` and waited for the next period.
    Throttled,
    /// It waited for a lock, a message or a device; `who` ended the wait.
    Blocked,
    /// It had the processor, and an interrupt was served meanwhile.
    Interrupted,
}

/// Processor use by both methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Accounting {
    /// How long `/proc` looked, ns.
    pub length_ns: u64,
    /// Each processor that both methods saw without a gap.
    pub cpus: Vec<CpuUse>,
    /// Each thread that both methods saw from beginning to end and that used a thousandth of the time, the busiest
    /// first. `/proc` was not read of all at the same moment, so a busy one may be some ms off.
    pub threads: Vec<ThreadUse>,
    /// The cost of one switch, from the difference; `None` without a processor to compare.
    pub switch_cost: Option<SwitchCost>,
}

/// A processor's use by both methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuUse {
    /// The processor.
    pub cpu: u16,
    /// Share of the time it was not idle, by `/proc/stat`: 0 to 1.
    pub proc_busy: f64,
    /// Share of the time a thread ran, by the recording.
    pub recorded_busy: f64,
    /// Switches from or to the idle thread, a second.
    pub idle_switches_per_s: f64,
    /// Switches of any kind, a second.
    pub switches_per_s: f64,
}

/// A thread's processor time by both methods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadUse {
    /// Its name.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// By `/proc/…/schedstat`, ns.
    pub proc_ns: u64,
    /// By the recording, ns.
    pub recorded_ns: u64,
}

/// The cost of one switch, from the difference of the methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwitchCost {
    /// The difference of busy time over the number of switches from or to the idle thread, ns. It contains the time
    /// that the recording charges to the idle thread and the kernel does not: the interrupt that ends idling, leaving
    /// it, and the switch itself.
    pub ns: f64,
    /// Lower end of its interval, from the resolution of `/proc/stat`.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Switches from or to the idle thread behind it.
    pub switches: u64,
}
