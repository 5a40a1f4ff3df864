//! The privileges that recording needs, and how to grant them.

use std::fs;

use hemiola_rt::privilege::grant;
use hemiola_units::Refusal;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use super::{CaptureError, Interface, Options, Target};

/// The permissions of this thread to record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permission {
    effective: CapabilitySet,
    /// `perf_event_paranoid`: the restriction of perf events without `CAP_PERFMON`.
    paranoid: i32,
}

impl Permission {
    pub(super) fn read() -> Self {
        let effective = capabilities(None)
            .map_or(CapabilitySet::empty(), |capabilities| capabilities.effective);
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        // If the file is missing, there are no perf events either.
        let paranoid = paranoid.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(2);
        Self { effective, paranoid }
    }

    /// `CAP_SYS_ADMIN` includes the capabilities that were split off from it.
    fn has(self, capability: CapabilitySet) -> bool {
        self.effective.intersects(capability | CapabilitySet::SYS_ADMIN)
    }

    /// Whether BPF programs may be loaded.
    pub(super) fn bpf(self) -> bool {
        self.has(CapabilitySet::BPF) && self.has(CapabilitySet::PERFMON)
    }

    /// Whether perf events may show the whole system.
    pub(super) fn perf_system(self) -> bool {
        self.has(CapabilitySet::PERFMON) || self.paranoid < 0
    }

    /// Whether perf events may show a process of the same user.
    pub(super) fn perf_own(self) -> bool {
        self.has(CapabilitySet::PERFMON) || self.paranoid <= 2
    }

    /// Explains why `options` are not permitted through `interface`.
    pub(super) fn refuse(self, options: &Options, interface: Interface) -> CaptureError {
        let owner = match options.target {
            Target::Process(pid) if is_anothers(pid) => Owner::Another,
            Target::Process(_) | Target::System => Owner::This,
        };
        self.refuse_of(owner, options, interface)
    }

    fn refuse_of(self, owner: Owner, options: &Options, interface: Interface) -> CaptureError {
        let extras = [
            (options.interrupts, "interrupts"),
            (options.page_faults, "page faults"),
            (options.calls, "system calls"),
        ];
        let asked = match options.target {
            Target::System => "recording the system".into(),
            Target::Process(_) => match extras.iter().find(|(asked, _)| *asked) {
                Some((_, extra)) => format!("recording {extra}"),
                None if owner == Owner::Another => "recording a process of another user".into(),
                None => "recording a process".into(),
            },
        };
        let missing: Vec<&str> =
            [(CapabilitySet::PERFMON, "CAP_PERFMON"), (CapabilitySet::BPF, "CAP_BPF")]
                .into_iter()
                .filter(|(capability, _)| {
                    *capability == CapabilitySet::PERFMON || interface == Interface::Bpf
                })
                .filter(|(capability, _)| !self.has(*capability))
                .map(|(_, name)| name)
                .collect();
        let command = grant();
        let (because, remedy) = match missing.is_empty() {
            true => (
                "was refused although this process has CAP_PERFMON: it has it only in a container, or the kernel \
                 is locked down"
                    .into(),
                "start the container with `--cap-add PERFMON --cap-add BPF`, or record outside of it".into(),
            ),
            false => (
                format!("needs {}, which this process lacks", missing.join(" and ")),
                match options.target {
                    Target::System => format!(
                        "allow it by `{command}` or run it with sudo; recording your own program needs no privilege"
                    ),
                    Target::Process(_) if owner == Owner::Another => {
                        let own = match self.perf_own() {
                            true => "; recording a process of your own needs no privilege",
                            false => "",
                        };
                        format!("allow it by `{command}` or run it with sudo{own}")
                    }
                    Target::Process(_) if !self.perf_own() => format!(
                        "allow it by `{command}`, or for all users by `sudo sysctl \
                         kernel.perf_event_paranoid=2` (it is {})",
                        self.paranoid
                    ),
                    Target::Process(_) => format!("allow it by `{command}`, or leave it out"),
                },
            ),
        };
        CaptureError::NotPermitted(Refusal { asked, because, remedy })
    }
}

/// The owner of the process to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    This,
    Another,
}

/// Whether the process belongs to another user: one of its user IDs is not ours (proc_pid_status(5), `Uid`).
fn is_anothers(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let own = geteuid().as_raw();
    users.split_whitespace().any(|user| user.parse() != Ok(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(
        effective: CapabilitySet,
        paranoid: i32,
        options: &Options,
        interface: Interface,
    ) -> String {
        Permission { effective, paranoid }.refuse(options, interface).to_string()
    }

    #[test]
    fn a_refusal_names_the_capability_and_the_command() {
        let none = CapabilitySet::empty();
        let system = refusal(none, 2, &Options::default(), Interface::Perf);
        assert!(system.starts_with("recording the system needs CAP_PERFMON, which"), "{system}");
        assert!(system.contains(&grant()), "{system}");
        let bpf = refusal(none, 2, &Options::default(), Interface::Bpf);
        assert!(
            bpf.starts_with("recording the system needs CAP_PERFMON and CAP_BPF, which"),
            "{bpf}"
        );
        let half = refusal(CapabilitySet::PERFMON, 2, &Options::default(), Interface::Bpf);
        assert!(half.starts_with("recording the system needs CAP_BPF, which"), "{half}");

        let process = Options { target: Target::Process(7), ..Options::default() };
        let own = refusal(none, 3, &process, Interface::Perf);
        assert!(own.contains("sysctl kernel.perf_event_paranoid=2` (it is 3)"), "{own}");
        let permission = Permission { effective: none, paranoid: 2 };
        let other = permission.refuse_of(Owner::Another, &process, Interface::Perf).to_string();
        assert!(
            other.starts_with("recording a process of another user needs CAP_PERFMON, which"),
            "{other}"
        );
        assert!(other.ends_with("recording a process of your own needs no privilege"), "{other}");
        let calls = refusal(none, 2, &Options { calls: true, ..process }, Interface::Perf);
        assert!(calls.starts_with("recording system calls needs CAP_PERFMON"), "{calls}");
    }

    #[test]
    fn cap_sys_admin_permits_everything() {
        let root = Permission { effective: CapabilitySet::SYS_ADMIN, paranoid: 4 };
        assert!(root.bpf() && root.perf_system() && root.perf_own());
        let nobody = Permission { effective: CapabilitySet::empty(), paranoid: 2 };
        assert!(!nobody.bpf() && !nobody.perf_system() && nobody.perf_own());
    }
}
