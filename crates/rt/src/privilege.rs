//! The privileges of this process, and how to get more.

use std::fmt;
use std::fs;

use hemiola_units::{Bytes, Policy, Refusal};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

use crate::sys::cpu;

/// A resource limit; `None` is unlimited. The unit is the resource's: getrlimit(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The limit in force.
    pub soft: Option<u64>,
    /// The highest soft limit that the process may set itself.
    pub hard: Option<u64>,
}

impl Limit {
    fn of(resource: Resource) -> Self {
        let Rlimit { current, maximum } = getrlimit(resource);
        Self { soft: current, hard: maximum }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.soft {
            Some(value) => f.pad(&value.to_string()),
            None => f.pad("unlimited"),
        }
    }
}

/// The share of each period that the kernel allows real-time threads (sched(7), "Limiting the CPU usage of
/// real-time and deadline processes"), in microseconds. A runtime of −1 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealTimeBandwidth {
    /// `sched_rt_runtime_us`.
    pub runtime_us: i64,
    /// `sched_rt_period_us`.
    pub period_us: i64,
}

impl RealTimeBandwidth {
    /// Returns the present setting; `None` where the kernel does not show it.
    #[must_use]
    pub fn read() -> Option<Self> {
        let number = |name: &str| {
            fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
        };
        Some(Self {
            runtime_us: number("sched_rt_runtime_us")?,
            period_us: number("sched_rt_period_us")?,
        })
    }
}

/// The capabilities and limits that matter for real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges {
    /// `CAP_SYS_NICE`: any policy, priority and processor.
    pub sys_nice: bool,
    /// `CAP_IPC_LOCK`: any amount of locked memory.
    pub ipc_lock: bool,
    /// The highest FIFO or RR priority without the capability.
    pub real_time_priority: Limit,
    /// 20 minus the lowest nice value without the capability.
    pub nice: Limit,
    /// Bytes that may be locked without the capability.
    pub locked_memory: Limit,
    /// Bytes of the first thread's stack.
    pub stack: Limit,
}

impl Privileges {
    /// Returns those of the calling thread now.
    #[must_use]
    pub fn read() -> Self {
        let effective = capabilities(None)
            .map_or(CapabilitySet::empty(), |capabilities| capabilities.effective);
        Self {
            sys_nice: effective.contains(CapabilitySet::SYS_NICE),
            ipc_lock: effective.contains(CapabilitySet::IPC_LOCK),
            real_time_priority: Limit::of(Resource::Rtprio),
            nice: Limit::of(Resource::Nice),
            locked_memory: Limit::of(Resource::Memlock),
            stack: Limit::of(Resource::Stack),
        }
    }

    /// Returns a refusal for each real-time right that this process lacks, with the limit that denies it and
    /// the remedy. Empty with full privileges.
    #[must_use]
    pub fn lacking(&self) -> Vec<Refusal> {
        let mut lacking = vec![];
        if !self.sys_nice && self.real_time_priority.soft.is_some_and(|limit| limit < 99) {
            lacking.push(Refusal {
                asked: "real-time priority up to 99".into(),
                because: self.scheduling_limit(),
                remedy: raise(&Raise::RealTimePriority),
            });
        }
        if !self.ipc_lock && self.locked_memory.soft.is_some() {
            lacking.push(Refusal {
                asked: "locked memory".into(),
                because: self.memory_limit(None),
                remedy: raise(&Raise::LockedMemory),
            });
        }
        lacking
    }

    /// Names the limit on real-time priority.
    fn scheduling_limit(&self) -> String {
        format!(
            "the limit of real-time priority (RLIMIT_RTPRIO) is {} and the process lacks CAP_SYS_NICE",
            self.real_time_priority
        )
    }

    /// Names the limit on locked memory.
    fn memory_limit(&self, mapped: Option<Bytes>) -> String {
        let mapped = mapped.map_or(String::new(), |mapped| format!(", {mapped} are mapped"));
        let limit = self.locked_memory.soft.map_or("unlimited".into(), |b| Bytes(b).to_string());
        format!(
            "the limit of locked memory (RLIMIT_MEMLOCK) is {limit}{mapped} and the process lacks \
             CAP_IPC_LOCK"
        )
    }

    /// Explains why the kernel refused `policy` with `error`.
    #[must_use]
    pub fn refuse_scheduling(&self, policy: &Policy, error: &std::io::Error) -> Refusal {
        let denied = matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::ACCESS));
        let (because, remedy) = match policy {
            Policy::Fifo { .. } | Policy::RoundRobin { .. } if denied && !self.sys_nice => {
                (self.scheduling_limit(), raise(&Raise::RealTimePriority))
            }
            Policy::Other { nice } if denied && !self.sys_nice => (
                format!(
                    "the limit of niceness (RLIMIT_NICE) is {}, {} is needed, and the process lacks \
                     CAP_SYS_NICE",
                    self.nice,
                    20 - i32::from(*nice)
                ),
                raise(&Raise::Niceness(*nice)),
            ),
            Policy::Deadline { .. } if denied && !self.sys_nice => (
                "DEADLINE needs CAP_SYS_NICE, which the process lacks; no limit stands in for it"
                    .into(),
                raise(&Raise::Capability),
            ),
            Policy::Deadline { .. } if denied => (
                "a DEADLINE thread must be allowed on every processor of its scheduling domain"
                    .into(),
                "leave out `cpus`, or give it a cpuset partition of its own (cgroups(7), \
                 cpuset.cpus.partition)"
                    .into(),
            ),
            Policy::Deadline { .. } if Errno::from_io_error(error) == Some(Errno::BUSY) => (
                format!(
                    "admission control found the processors' bandwidth taken (real-time threads may \
                     have {})",
                    RealTimeBandwidth::read().map_or(
                        "an unknown share".into(),
                        |bandwidth| format!(
                            "{} of each {} us",
                            bandwidth.runtime_us, bandwidth.period_us
                        )
                    )
                ),
                "ask for less runtime per period, or end other DEADLINE threads".into(),
            ),
            Policy::Deadline { .. } if Errno::from_io_error(error) == Some(Errno::INVAL) => (
                "DEADLINE needs 1024ns <= runtime <= deadline <= period, within \
                 sched_deadline_period_min_us and _max_us"
                    .into(),
                "correct the three spans; the limits are in /proc/sys/kernel".into(),
            ),
            _ => (
                format!(
                    "the kernel answered \"{error}\", though the process has CAP_SYS_NICE or needs \
                     none: a control group or a system call filter refuses it"
                ),
                "in a container, start it with `--cap-add SYS_NICE --ulimit rtprio=99`; with \
                 RT_GROUP_SCHED, give the control group a cpu.rt_runtime_us"
                    .into(),
            ),
        };
        Refusal { asked: policy.to_string(), because, remedy }
    }

    /// Explains why the kernel refused to lock `mapped` bytes with `error`.
    #[must_use]
    pub fn refuse_locking(&self, mapped: Option<Bytes>, error: &std::io::Error) -> Refusal {
        let (because, remedy) = if self.ipc_lock || self.locked_memory.soft.is_none() {
            (
                format!("the kernel answered \"{error}\", though no limit stands against it"),
                "free memory, or in a container start it with `--cap-add IPC_LOCK --ulimit memlock=-1`"
                    .into(),
            )
        } else {
            (self.memory_limit(mapped), raise(&Raise::LockedMemory))
        };
        Refusal { asked: "locked memory".into(), because, remedy }
    }
}

/// A right to obtain.
enum Raise {
    RealTimePriority,
    LockedMemory,
    Niceness(i8),
    Capability,
}

/// Returns the commands that grant it: for this shell, for a user, or for this program alone.
fn raise(what: &Raise) -> String {
    let capability = format!("`{}`", grant());
    let (shell, line) = match what {
        Raise::RealTimePriority => ("`ulimit -r 99`".to_string(), "rtprio 99".to_string()),
        Raise::LockedMemory => ("`ulimit -l unlimited`".into(), "memlock unlimited".into()),
        Raise::Niceness(nice) => {
            (format!("`ulimit -e {}`", 20 - i32::from(*nice)), format!("nice {nice}"))
        }
        Raise::Capability => return format!("allow it by {capability}"),
    };
    format!(
        "allow it by {capability}, or for a user by `echo \"$USER - {line}\" | sudo tee -a \
         /etc/security/limits.d/90-hemiola.conf` and a new login ({shell} where the hard limit allows)"
    )
}

/// Returns the command that grants this program every capability that it can use for real time and for recording. One
/// command grants all, because setcap replaces those that a file has: following a second one would revoke the first.
#[must_use]
pub fn grant() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| "PROGRAM".into());
    format!("sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf=ep {}", program.display())
}

/// Raises the soft limits of real-time priority and locked memory to the hard limits, which any process may do.
pub(crate) fn raise_soft_limits() {
    for resource in [Resource::Rtprio, Resource::Memlock] {
        let Rlimit { maximum, .. } = getrlimit(resource);
        // If this fails, the old limit shows in the refusal of whatever needed it.
        let _ = setrlimit(resource, Rlimit { current: maximum, maximum });
    }
}

/// Raises the soft limit of open descriptors (`RLIMIT_NOFILE`, getrlimit(2)) to the hard limit, for a process
/// with many connections. The soft limit is low for the sake of programs that use select(2).
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this fails, the process keeps its old limit.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Makes the kernel's table of open descriptors large enough for `count` of them, or for as many as the limit allows.
/// If threads share the table, a call that makes it grow waits until every processor has passed through the scheduler:
/// up to 11 ms were measured.
///
/// Source: fcntl(2), `F_DUPFD_CLOEXEC`; `expand_fdtable` in fs/file.c of Linux.
pub fn grow_descriptor_table(count: u32) {
    let limit = getrlimit(Resource::Nofile).current.map_or(u64::from(count), |limit| limit);
    let Some(last) = limit.min(u64::from(count)).checked_sub(1) else { return };
    // If this fails, the table grows when it has to.
    if let Ok(any) = std::fs::File::open("/dev/null") {
        let _ = rustix::io::fcntl_dupfd_cloexec(&any, i32::try_from(last).unwrap_or(i32::MAX));
    }
}

/// Explains why processors were refused: they are offline, or the control group excludes them.
pub(crate) fn refuse_processors(
    asked: &hemiola_units::CpuSet,
    error: Option<&std::io::Error>,
) -> Refusal {
    let online = cpu::online();
    let missing =
        hemiola_units::CpuSet::from_cpus(asked.iter().filter(|cpu| !online.contains(*cpu)));
    let (because, remedy) = match (missing, error) {
        (Some(missing), _) => (
            match missing.iter().count() {
                1 => format!("processor {missing} is not online"),
                _ => format!("processors {missing} are not online"),
            },
            format!("choose among {online}"),
        ),
        (None, Some(error)) => (
            format!("the kernel answered \"{error}\": the control group's cpuset keeps them away"),
            "look at `cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpuset.cpus.effective`"
                .into(),
        ),
        (None, None) => (
            "the control group's cpuset allows only some of them".into(),
            "look at `cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpuset.cpus.effective`"
                .into(),
        ),
    };
    let word = if asked.iter().count() == 1 { "processor" } else { "processors" };
    Refusal { asked: format!("{word} {asked}"), because, remedy }
}

#[cfg(test)]
mod tests {
    use std::io;

    use hemiola_units::{Priority, Span};

    use super::*;

    #[test]
    fn the_table_of_descriptors_grows_at_once() {
        let size = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
            line.trim().parse::<u32>().unwrap()
        };
        let Rlimit { current, .. } = getrlimit(Resource::Nofile);
        let count = current.map_or(1000, |limit| limit.min(1000)) as u32;
        grow_descriptor_table(count);
        assert!(size() >= count, "{} of {count}", size());
    }

    fn nobody() -> Privileges {
        let none = Limit { soft: Some(0), hard: Some(0) };
        let some = Limit { soft: Some(8 << 20), hard: Some(8 << 20) };
        Privileges {
            sys_nice: false,
            ipc_lock: false,
            real_time_priority: none,
            nice: none,
            locked_memory: some,
            stack: some,
        }
    }

    fn refusal(privileges: &Privileges, policy: &Policy, errno: Errno) -> Refusal {
        privileges.refuse_scheduling(policy, &io::Error::from(errno))
    }

    #[test]
    fn a_refusal_names_the_limit_its_value_and_a_command() {
        let priority = Priority::try_from(80).unwrap();
        let fifo = refusal(&nobody(), &Policy::Fifo { priority }, Errno::PERM);
        assert_eq!(
            (fifo.asked.as_str(), fifo.because.as_str()),
            (
                "FIFO 80",
                "the limit of real-time priority (RLIMIT_RTPRIO) is 0 and the process lacks CAP_SYS_NICE"
            )
        );
        assert!(fifo.remedy.contains(&grant()), "{fifo}");
        assert!(fifo.remedy.contains("$USER - rtprio 99"), "{fifo}");

        let nice = refusal(&nobody(), &Policy::Other { nice: -5 }, Errno::ACCESS);
        assert!(nice.because.contains("(RLIMIT_NICE) is 0, 25 is needed"), "{nice}");
        let memory = nobody().refuse_locking(Some(Bytes(9 << 20)), &Errno::NOMEM.into());
        assert!(memory.because.contains("(RLIMIT_MEMLOCK) is 8MiB, 9MiB are mapped"), "{memory}");
    }

    #[test]
    fn each_way_deadline_is_refused_has_its_own_reason() {
        let able = Privileges { sys_nice: true, ..nobody() };
        let span = Span::from_millis(1);
        let policy = Policy::Deadline { runtime: span, deadline: span, period: span };
        let mut reasons: Vec<String> = [
            (nobody(), Errno::PERM),
            (able, Errno::PERM),
            (able, Errno::BUSY),
            (able, Errno::INVAL),
            (able, Errno::NOSYS),
        ]
        .map(|(privileges, errno)| refusal(&privileges, &policy, errno).because)
        .into();
        reasons.sort();
        reasons.dedup();
        assert_eq!(reasons.len(), 5);
    }

    #[test]
    fn a_fully_privileged_process_lacks_nothing() {
        let able = Privileges { sys_nice: true, ipc_lock: true, ..nobody() };
        assert_eq!((able.lacking().len(), nobody().lacking().len()), (0, 2));
        let unlimited = Limit { soft: None, hard: None };
        let limits =
            Privileges { real_time_priority: unlimited, locked_memory: unlimited, ..nobody() };
        assert_eq!(limits.lacking(), []);
    }
}
