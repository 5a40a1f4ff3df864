//! A process with privileges and one without request a profile.

use std::os::unix::process::CommandExt;

use hemiola_rt::privilege::Privileges;
use hemiola_rt::profile::apply;
use hemiola_units::{Bytes, CpuSet, Granted, Policy, Priority, Profile, Span};
use rustix::process::{Resource, Rlimit, getuid, setrlimit};

use crate::child::{Peer, command, say, skipped, wait_to_be_told};

const NOBODY: u32 = 65534;

/// In the child: asks for the profile it is given and reports what it got.
pub(crate) fn asker() {
    let profile = serde_json::from_str(&std::env::var("HEMIOLA_RT_TEST_PROFILE").unwrap()).unwrap();
    if std::env::var_os("HEMIOLA_RT_TEST_LIMITED").is_some() {
        for (resource, value) in
            [(Resource::Rtprio, 0), (Resource::Nice, 0), (Resource::Memlock, 65536)]
        {
            setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) }).unwrap();
        }
    }
    say(&serde_json::to_string(&apply(&profile)).unwrap());
    wait_to_be_told();
}

fn granted(profile: &Profile, limited: bool) -> Granted {
    let mut command = command("asker", None);
    command.env("HEMIOLA_RT_TEST_PROFILE", serde_json::to_string(profile).unwrap());
    if limited {
        command.env("HEMIOLA_RT_TEST_LIMITED", "1");
        // Another user has none of root's capabilities; a process that is not root has none to lose.
        if getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }
    let mut peer = Peer::run(&mut command);
    let said = peer.says();
    serde_json::from_str(&said).unwrap()
}

fn fifo() -> Policy {
    Policy::Fifo { priority: Priority::try_from(10).unwrap() }
}

/// Everything at once, on a processor that exists.
fn full(scheduling: Policy) -> Profile {
    Profile {
        scheduling,
        cpus: CpuSet::one(hemiola_rt::sys::cpu::current()),
        lock_memory: true,
        prefault_stack: Bytes(256 << 10),
    }
}

#[test]
fn without_privilege_each_refusal_names_its_limit_and_the_rest_is_granted() {
    let asked = full(fifo());
    let granted = granted(&asked, true);
    assert_eq!(granted.scheduling, Policy::Other { nice: 0 });
    assert_eq!((Some(granted.cpus), granted.lock_memory), (asked.cpus, false));
    assert_eq!(granted.prefault_stack, asked.prefault_stack);
    let [memory, scheduling] = &granted.refusals[..] else { panic!("{:?}", granted.refusals) };
    assert!(memory.because.contains("(RLIMIT_MEMLOCK) is 64KiB, "), "{memory}");
    assert!(scheduling.because.contains("(RLIMIT_RTPRIO) is 0 and"), "{scheduling}");
    for refusal in [memory, scheduling] {
        assert!(
            refusal
                .remedy
                .contains("sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf=ep /"),
            "{refusal}"
        );
    }
}

#[test]
fn without_privilege_deadline_and_negative_niceness_are_refused_too() {
    let span = Span::from_millis;
    let deadline = Policy::Deadline { runtime: span(1), deadline: span(10), period: span(10) };
    for (policy, reason) in
        [(deadline, "CAP_SYS_NICE"), (Policy::Other { nice: -5 }, "RLIMIT_NICE")]
    {
        let granted = granted(&Profile { scheduling: policy, ..Profile::ordinary() }, true);
        let [refusal] = &granted.refusals[..] else { panic!("{:?}", granted.refusals) };
        assert_eq!(
            (&refusal.asked, granted.scheduling),
            (&policy.to_string(), Policy::Other { nice: 0 })
        );
        assert!(refusal.because.contains(reason), "{refusal}");
    }
}

#[test]
fn with_privilege_everything_asked_for_is_granted() {
    if !Privileges::read().lacking().is_empty() {
        return skipped("CAP_SYS_NICE and CAP_IPC_LOCK");
    }
    let priority = Priority::try_from(10).unwrap();
    for scheduling in [fifo(), Policy::RoundRobin { priority }, Policy::Other { nice: -5 }] {
        let asked = full(scheduling);
        let granted = granted(&asked, false);
        assert_eq!(granted.refusals, []);
        assert_eq!((granted.scheduling, Some(granted.cpus)), (asked.scheduling, asked.cpus));
        assert_eq!((granted.lock_memory, granted.prefault_stack), (true, asked.prefault_stack));
    }
}

#[test]
fn deadline_is_granted_as_asked_or_refused_with_a_reason() {
    if !Privileges::read().sys_nice {
        return skipped("CAP_SYS_NICE");
    }
    let span = Span::from_millis;
    let scheduling = Policy::Deadline { runtime: span(1), deadline: span(10), period: span(20) };
    let everywhere = granted(&Profile { scheduling, ..Profile::ordinary() }, false);
    match &everywhere.refusals[..] {
        [] => assert_eq!(everywhere.scheduling, scheduling),
        [refusal] => assert!(refusal.because.contains("bandwidth"), "{refusal}"),
        more => panic!("{more:?}"),
    }
    let wrong = Policy::Deadline { runtime: span(20), deadline: span(10), period: span(20) };
    let wrong = granted(&Profile { scheduling: wrong, ..Profile::ordinary() }, false);
    assert!(wrong.refusals[0].because.contains("runtime <= deadline <= period"));
    assert_eq!(wrong.scheduling, Policy::Other { nice: 0 });
}
