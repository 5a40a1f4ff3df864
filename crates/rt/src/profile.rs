//! Asks the kernel for a profile, and records what it granted and what it refused.

use hemiola_units::{Bytes, CpuSet, Granted, Policy, Profile, Refusal};

use crate::privilege::{Privileges, raise_soft_limits, refuse_processors};
use crate::sys::{cpu, memory, sched};

/// Asks for everything in `profile`, for the calling thread (locked memory: for the process), and reads back
/// what was granted.
///
/// A refused request changes nothing and is listed in `refusals`; the caller decides whether to go on with
/// less. Call this once in the process's `prepare` phase: threads started later inherit policy and processors,
/// and a DEADLINE thread cannot start any. Soft limits are raised to the hard ones first.
///
/// If the process lacks `CAP_IPC_LOCK`, its locked memory counts against its limit from then on, including
/// memory mapped later. Map what is needed first.
#[must_use]
pub fn apply(profile: &Profile) -> Granted {
    raise_soft_limits();
    let mut refusals = vec![];
    // The order matters. DEADLINE admission depends on the processors allowed. Stack is grown before locking:
    // beyond the limit, growth after locking kills the process, whereas locking grown stack is merely refused.
    // Real-time priority comes last, so that the slow work before it delays no other process.
    let cpus = ask_cpus(profile.cpus.as_ref(), &mut refusals);
    let prefault_stack = ask_stack(profile.prefault_stack, &mut refusals);
    let lock_memory = profile.lock_memory && ask_lock(&mut refusals);
    let scheduling = ask_scheduling(&profile.scheduling, &mut refusals);
    Granted { scheduling, cpus, lock_memory, prefault_stack, refusals }
}

fn ask_cpus(asked: Option<&CpuSet>, refusals: &mut Vec<Refusal>) -> CpuSet {
    if let Some(asked) = asked {
        let online = cpu::online();
        // The kernel would silently take the part of the set that is online.
        if !asked.iter().all(|cpu| online.contains(cpu)) {
            refusals.push(refuse_processors(asked, None));
        } else if let Err(error) = sched::set_affinity(None, asked) {
            refusals.push(refuse_processors(asked, Some(&error)));
        } else if sched::affinity(None).is_ok_and(|given| given != *asked) {
            refusals.push(refuse_processors(asked, None));
        }
    }
    sched::affinity(None).unwrap_or_else(|_| cpu::online())
}

fn ask_stack(asked: Bytes, refusals: &mut Vec<Refusal>) -> Bytes {
    let left = memory::stack_left();
    match usize::try_from(asked.0) {
        Ok(len) if len <= left => {
            memory::prefault_stack(len);
            asked
        }
        _ => {
            refusals.push(Refusal {
                asked: format!("{asked} of stack touched"),
                because: format!(
                    "this thread has {} of stack left; the limit of the first thread's \
                     (RLIMIT_STACK) is {}",
                    Bytes(left as u64),
                    Privileges::read().stack
                ),
                remedy: format!(
                    "ask for less, or raise it by `ulimit -s {}`",
                    asked.0.div_ceil(1024).saturating_add(1024)
                ),
            });
            Bytes(0)
        }
    }
}

fn ask_lock(refusals: &mut Vec<Refusal>) -> bool {
    let mapped = memory::locked_and_mapped().ok().map(|(_, mapped)| mapped);
    match memory::lock_all() {
        Ok(()) => memory::locked_and_mapped().is_ok_and(|(locked, _)| locked > Bytes(0)),
        Err(error) => {
            refusals.push(Privileges::read().refuse_locking(mapped, &error));
            false
        }
    }
}

fn ask_scheduling(asked: &Policy, refusals: &mut Vec<Refusal>) -> Policy {
    let given =
        || sched::policy(None).expect("the calling thread exists, under a policy of its own");
    let before = given();
    // Asking for the present policy may be refused: a raised nice value cannot be set again.
    if before != *asked
        && let Err(error) = sched::set_policy(None, asked)
    {
        refusals.push(Privileges::read().refuse_scheduling(asked, &error));
    }
    given()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies the profile in a new thread, so that policy and processors end with it.
    fn applied(profile: Profile) -> Granted {
        std::thread::spawn(move || apply(&profile)).join().unwrap()
    }

    #[test]
    fn an_ordinary_profile_is_always_granted() {
        let granted = applied(Profile::ordinary());
        assert_eq!(granted.refusals, []);
        assert!(!granted.lock_memory);
    }

    #[test]
    fn one_processor_and_some_stack_are_granted_without_privilege() {
        let cpus = CpuSet::one(cpu::current());
        let profile =
            Profile { cpus: cpus.clone(), prefault_stack: Bytes(256 << 10), ..Profile::ordinary() };
        let granted = applied(profile);
        assert_eq!(granted.refusals, []);
        assert_eq!((Some(granted.cpus), granted.prefault_stack), (cpus, Bytes(256 << 10)));
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_and_nothing_changes() {
        let before = sched::affinity(None).unwrap();
        let cpus = CpuSet::from_cpus([cpu::current(), 1023]);
        let granted = applied(Profile { cpus, ..Profile::ordinary() });
        assert_eq!(granted.cpus, before);
        let [refusal] = &granted.refusals[..] else { panic!("{granted:?}") };
        assert_eq!(refusal.because, "processor 1023 is not online");
        assert!(refusal.remedy.starts_with("choose among 0"), "{refusal}");
    }

    #[test]
    fn more_stack_than_there_is_is_refused() {
        let granted = applied(Profile { prefault_stack: Bytes(1 << 30), ..Profile::ordinary() });
        let [refusal] = &granted.refusals[..] else { panic!("{granted:?}") };
        assert_eq!(refusal.asked, "1GiB of stack touched");
        assert!(refusal.remedy.ends_with("`ulimit -s 1049600`"), "{refusal}");
    }
}
