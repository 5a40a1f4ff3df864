//! The mutexes of a processor: their holders and waiting threads.

use std::collections::BTreeMap;

use super::{Protocol, Task};

/// All mutexes, by number; threads are indices.
#[derive(Debug, Default)]
pub(super) struct Locks {
    mutexes: BTreeMap<u32, Mutex>,
}

#[derive(Debug, Default)]
struct Mutex {
    holder: Option<usize>,
    waiting: Vec<usize>,
}

impl Locks {
    /// Locks a mutex for a thread. False if another thread holds it; then the thread waits.
    pub(super) fn lock(&mut self, mutex: u32, thread: usize) -> bool {
        let mutex = self.mutexes.entry(mutex).or_default();
        if mutex.holder.is_some() {
            mutex.waiting.push(thread);
            return false;
        }
        mutex.holder = Some(thread);
        true
    }

    /// Hands a mutex to the most urgent waiting thread, and returns that.
    pub(super) fn unlock(&mut self, mutex: u32, tasks: &[&Task]) -> Option<usize> {
        let mutex = self.mutexes.get_mut(&mutex)?;
        let waiting = mutex.waiting.iter().enumerate();
        let first = waiting.min_by_key(|(_, thread)| tasks[**thread].priority);
        let next = first.map(|(place, _)| place).map(|place| mutex.waiting.remove(place));
        mutex.holder = next;
        next
    }

    /// The priority of a thread while it holds what it holds.
    pub(super) fn priority(&self, thread: usize, tasks: &[&Task]) -> i16 {
        let own = tasks[thread].priority;
        let Some(section) = tasks[thread].section else { return own };
        let Some(mutex) = self.mutexes.get(&section.mutex) else { return own };
        if mutex.holder != Some(thread) {
            return own;
        }
        let urgent = |threads: &mut dyn Iterator<Item = &&Task>| {
            threads.map(|task| task.priority).min().unwrap_or(own).min(own)
        };
        match section.protocol {
            Protocol::None => own,
            Protocol::Inheritance => {
                urgent(&mut mutex.waiting.iter().map(|waiting| &tasks[*waiting]))
            }
            Protocol::Ceiling => urgent(
                &mut tasks
                    .iter()
                    .filter(|task| task.section.is_some_and(|other| other.mutex == section.mutex)),
            ),
        }
    }
}
