//! The rules of blame: what delays a job, in each way in which it can be delayed.
//!
//! The engine applies them while it walks a recording and the page to what it keeps of the walk, so both name the same
//! culprits.

use super::DELAYS_MAX;
use super::culprits::{Culprits, Meanwhile, Taken};
use super::report::DelayKind;
use super::tally::Code;

/// The delays of a thread that was ready, from how long each thread had its processor meanwhile.
pub(crate) fn waiting(
    shares: &[(Code, u64)],
    is_started: bool,
) -> impl Iterator<Item = Taken> + Clone {
    let kind = if is_started { DelayKind::Preempted } else { DelayKind::BeforeStart };
    let shares = shares.iter().filter(|share| share.1 > 0);
    shares.map(move |&(code, ns)| Taken::once(code, kind, ns))
}

/// The thread that had the processor for most of a wait.
pub(crate) fn mostly(shares: &[(Code, u64)]) -> Option<Code> {
    shares.iter().max_by_key(|share| share.1).map(|share| share.0)
}

/// The delay of a thread that slept within a job until `waker` woke it. `longest_wait` returns the longest wait of the
/// waker for a processor meanwhile, and what had that processor: in a priority inversion, the true culprit.
pub(crate) fn asleep(
    thread: usize,
    waker: Code,
    ns: u64,
    longest_wait: impl FnOnce(usize) -> (Code, u64),
) -> Taken {
    let (behind, behind_ns) = match waker.as_thread() {
        Some(other) if other != thread => longest_wait(other),
        _ => (Code::UNKNOWN, 0),
    };
    let meanwhile = Meanwhile { urgent: 0, behind, behind_ns };
    Taken { meanwhile, ..Taken::once(waker, DelayKind::Blocked, ns) }
}

/// How long a job had to wait for others than more urgent threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// Threads of lower priority delayed it: they ran while it was ready, or it waited for them. `None` if priorities
    /// are unknown.
    pub(crate) blocking: Option<u64>,
    /// Asleep until an interrupt or any other thread woke it.
    pub(crate) suspension: u64,
}

impl Waited {
    /// Sums up the delays of a job; `is_less_urgent` says it of a culprit, `None` if priorities are unknown.
    #[inline]
    pub(crate) fn of(
        delays: impl Iterator<Item = Taken>,
        is_less_urgent: Option<impl Fn(Code) -> bool>,
    ) -> Self {
        let mut waited = Self { blocking: is_less_urgent.as_ref().map(|_| 0), suspension: 0 };
        for taken in delays {
            let ns = taken.ns.saturating_sub(taken.meanwhile.urgent);
            let of_blocking = match taken.kind {
                DelayKind::BeforeStart | DelayKind::Preempted | DelayKind::Blocked => {
                    is_less_urgent.as_ref().is_some_and(|is_less_urgent| is_less_urgent(taken.code))
                }
                _ => false,
            };
            match &mut waited.blocking {
                Some(blocking) if of_blocking => *blocking += ns,
                _ if taken.kind == DelayKind::Blocked => waited.suspension += ns,
                _ => {}
            }
        }
        waited
    }
}

/// The invocation in which a marked job begins.
pub(crate) struct Begun<'t> {
    pub(crate) release: u64,
    pub(crate) waker: Code,
    /// Its delays so far.
    pub(crate) delays: &'t Culprits<DELAYS_MAX>,
}

/// The delays of a marked job between its release and its start. `begun` is the invocation in which it starts, if that
/// was released with it or later; otherwise its thread was busy with something else.
pub(crate) fn until_start(
    own: Code,
    release: u64,
    start: u64,
    begun: Option<Begun<'_>>,
) -> Culprits<DELAYS_MAX> {
    let mut delays = Culprits::default();
    if let Some(Begun { release: woken, waker, delays: since }) = begun {
        if woken > release {
            delays.add(Taken::once(waker, DelayKind::NotWoken, woken - release));
        }
        delays.add_all(since);
    }
    let known: u64 = delays.iter().map(|taken| taken.ns).sum();
    let rest = (start - release).saturating_sub(known);
    if rest > 0 {
        delays.add(Taken::once(own, DelayKind::Earlier, rest));
    }
    delays
}
