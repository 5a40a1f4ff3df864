//! Threads that carry out one piece of work together, started once: `std::thread::scope` starts them for each piece.

use std::any::Any;
use std::hint::spin_loop;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::{Duration, Instant};

/// How long a member polls before it sleeps: for its next work, or for the others to end. A wake-up takes about as long
/// as this, and the phases of a step follow each other sooner.
const POLL_MAX: Duration = Duration::from_micros(100);

/// The caller and threads beside it. They start with the scheduling, the processors and the signal mask of the thread
/// that makes the team.
#[derive(Debug)]
pub struct Team {
    helpers: Vec<Helper>,
    ended: Receiver<Ended>,
    polls: Duration,
}

#[derive(Debug)]
struct Helper {
    /// `None` when the team ends.
    work: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<()>>,
}

/// Work that is borrowed from a call of [`Team::run`], which outlives the use of it.
type Work = &'static (dyn Fn(usize) + Sync);

/// How a helper's part ended: the payload if it panicked.
type Ended = Option<Box<dyn Any + Send>>;

impl Team {
    /// So many members, the caller among them; `name` and a number name the threads of the others. `prepare` runs on
    /// each of these threads before any work.
    ///
    /// # Errors
    /// If the system starts no more threads.
    pub fn new(members: usize, name: &str, prepare: fn()) -> io::Result<Self> {
        let (end, ended) = sync_channel(members);
        // Members that share a processor would only keep it from each other.
        let has_processors = available_parallelism().is_ok_and(|count| count.get() >= members);
        let polls = if has_processors { POLL_MAX } else { Duration::ZERO };
        let mut team = Self { helpers: Vec::new(), ended, polls };
        for number in 1..members {
            let (sender, receiver) = sync_channel::<Work>(1);
            let end = end.clone();
            let helper = move || {
                prepare();
                // The first answer says that the thread is ready.
                let mut answer = None;
                while end.send(answer).is_ok() {
                    let Ok(work) = receive(&receiver, polls) else { return };
                    answer = catch_unwind(AssertUnwindSafe(|| work(number))).err();
                }
            };
            let thread = Builder::new().name(format!("{name} {number}")).spawn(helper)?;
            team.helpers.push(Helper { work: Some(sender), thread: Some(thread) });
        }
        drop(Waiting { ended: &team.ended, polls, left: team.helpers.len() });
        Ok(team)
    }

    /// How many members there are.
    #[must_use]
    pub const fn members(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls `work` with the numbers below `count`, as far as there are members, at the same time; the caller has the
    /// number 0. Returns when all calls have returned. It allocates nothing.
    ///
    /// # Panics
    /// If a call does, when all of them have ended. The team can be used again.
    pub fn run(&mut self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: only the lifetime changes. A helper uses the reference between its receipt and its answer. This
        // function does not return before all answers are there: `waiting` waits for them in `wait`, or in its drop if
        // the own call panics. It is local, so nobody can leak it.
        let lent = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Work>(work) };
        let mut waiting = Waiting { ended: &self.ended, polls: self.polls, left: 0 };
        for helper in self.helpers.iter().take(count.saturating_sub(1)) {
            let sender = helper.work.as_ref().expect("the team has not ended");
            // A helper ends only with the team.
            waiting.left += usize::from(sender.send(lent).is_ok());
        }
        if count > 0 {
            work(0);
        }
        if let Some(payload) = waiting.wait() {
            drop(waiting);
            resume_unwind(payload);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.helpers.iter_mut().for_each(|helper| drop(helper.work.take()));
        let threads = self.helpers.iter_mut().filter_map(|helper| helper.thread.take());
        // A helper catches what its work panics with.
        threads.for_each(|thread| drop(thread.join()));
    }
}

/// Waits for the answers of helpers, at the latest when it is dropped.
struct Waiting<'w> {
    ended: &'w Receiver<Ended>,
    polls: Duration,
    left: usize,
}

impl Waiting<'_> {
    /// Returns the first panic.
    fn wait(&mut self) -> Ended {
        let mut first = None;
        while self.left > 0 {
            // Without a sender there is no helper any more that could use the work.
            let Ok(ended) = receive(self.ended, self.polls) else { break };
            self.left -= 1;
            first = first.or(ended);
        }
        first
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        drop(self.wait());
    }
}

/// Receives, after having polled for so long.
fn receive<T>(receiver: &Receiver<T>, polls: Duration) -> Result<T, RecvError> {
    let began = Instant::now();
    while began.elapsed() < polls {
        match receiver.try_recv() {
            Ok(received) => return Ok(received),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => (0..16).for_each(|_| spin_loop()),
        }
    }
    receiver.recv()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    use super::*;

    #[test]
    fn members_work_at_the_same_time() {
        for members in 1..5 {
            let mut team = Team::new(members, "test", || ()).unwrap();
            assert_eq!(team.members(), members);
            for count in 0..7 {
                // It would wait for ever if they worked one after the other.
                let (meeting, seen) = (Barrier::new(count.clamp(1, members)), Mutex::default());
                team.run(count, &|number| {
                    meeting.wait();
                    let mut seen: std::sync::MutexGuard<'_, BTreeSet<usize>> = seen.lock().unwrap();
                    assert!(seen.insert(number));
                });
                let seen = seen.into_inner().unwrap();
                assert_eq!(seen, (0..count.min(members)).collect(), "{count} of {members}");
            }
        }
    }

    #[test]
    fn a_panic_ends_the_call_when_all_others_have_ended() {
        let mut team = Team::new(3, "test", || ()).unwrap();
        for guilty in 0..3 {
            let ended = AtomicUsize::new(0);
            let work = |number| {
                assert_ne!(number, guilty, "as planned");
                std::thread::sleep(std::time::Duration::from_millis(20));
                ended.fetch_add(1, Ordering::Relaxed);
            };
            let caught = catch_unwind(AssertUnwindSafe(|| team.run(3, &work)));
            assert!(caught.is_err() && ended.into_inner() == 2, "{guilty}");
            let called = AtomicUsize::new(0);
            team.run(3, &|_| _ = called.fetch_add(1, Ordering::Relaxed));
            assert_eq!(called.into_inner(), 3, "the team goes on");
        }
    }

    #[test]
    fn a_team_is_ready_when_it_is_made_and_gone_when_it_is_dropped() {
        static PREPARED: AtomicUsize = AtomicUsize::new(0);
        static WORKED: AtomicUsize = AtomicUsize::new(0);
        let mut team =
            Team::new(4, "test", || _ = PREPARED.fetch_add(1, Ordering::Relaxed)).unwrap();
        assert_eq!(PREPARED.load(Ordering::Relaxed), 3);
        for _ in 0..1_000 {
            team.run(4, &|_| _ = WORKED.fetch_add(1, Ordering::Relaxed));
        }
        drop(team);
        assert_eq!(WORKED.load(Ordering::Relaxed), 4_000);
    }
}
