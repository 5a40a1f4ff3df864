//! Runaway processes are stopped, and children end with their parents.

use std::hint::spin_loop;
use std::os::unix::process::{ExitStatusExt, parent_id};

use hemiola_rt::profile::apply;
use hemiola_rt::sys::process::{
    PidFd, Signal, set_parent_death_signal, set_policy_of, set_rt_time_limit,
};
use hemiola_rt::sys::{cpu_clock, sched};
use hemiola_units::{Instant, Policy, Priority, Profile, Span};

use crate::child::{Peer, command, say, skipped, wait_to_be_told};

const LOWEST: u8 = 1;

fn fifo() -> Policy {
    Policy::Fifo { priority: Priority::try_from(LOWEST).unwrap() }
}

/// In the child: at real-time priority, if granted, loops for ever once told to.
pub(crate) fn runaway() {
    // The process must not outlive the test.
    set_parent_death_signal(Signal::KILL).unwrap();
    let granted = apply(&Profile { scheduling: fifo(), ..Profile::ordinary() });
    say(&granted.scheduling.to_string());
    wait_to_be_told();
    loop {
        spin_loop();
    }
}

/// Returns a runaway about to start, or `None` without the privilege.
fn runaway_at_real_time() -> Option<Peer> {
    let mut peer = Peer::run(&mut command("runaway", None));
    if peer.says() == fifo().to_string() {
        return Some(peer);
    }
    skipped("real-time priority");
    None
}

#[test]
fn a_runaway_at_real_time_priority_is_killed_when_its_budget_is_used_up() {
    let Some(mut peer) = runaway_at_real_time() else { return };
    set_rt_time_limit(peer.process.id(), Span::from_millis(20)).unwrap();
    peer.tell();
    assert!(PidFd::open(peer.process.id()).unwrap().wait(Instant::MAX).unwrap());
    assert_eq!(peer.process.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_runaway_can_be_demoted_while_it_runs() {
    let Some(mut peer) = runaway_at_real_time() else { return };
    let pid = peer.process.id();
    peer.tell();
    let before = cpu_clock::process(pid).unwrap();
    while cpu_clock::process(pid).unwrap() - before < Span::from_millis(5) {
        std::thread::yield_now();
    }
    let ordinary = Policy::Other { nice: 19 };
    set_policy_of(pid, &ordinary).unwrap();
    assert_eq!(sched::policy(Some(pid)).unwrap(), ordinary);
    peer.kill();
}

/// In the child: starts a child of its own, reports its number, and waits to be killed.
pub(crate) fn parent() {
    let mut child = Peer::run(&mut command("orphan", None));
    assert_eq!(child.says(), std::process::id().to_string());
    say(&child.process.id().to_string());
    wait_to_be_told();
}

pub(crate) fn orphan() {
    set_parent_death_signal(Signal::KILL).unwrap();
    say(&parent_id().to_string());
    // Only the signal ends this process, not end of file.
    loop {
        std::thread::park();
    }
}

#[test]
fn a_process_can_be_set_to_die_with_its_parent() {
    let mut parent = Peer::run(&mut command("parent", None));
    let orphan = PidFd::open(parent.says().parse().unwrap()).unwrap();
    parent.kill();
    assert!(orphan.wait(Instant::MAX).unwrap());
}
