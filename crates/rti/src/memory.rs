//! The memory that the kernel holds: who pays for it, and the quotas.
//!
//! Everything that a call makes the kernel keep holds a [`Charge`], which is given back with it. A charge
//! counts for the session that caused it, for its federation, and for the kernel, so that no table has to be scanned.
//! Charges are estimates: the payload, and a constant for each entry of a table that a test compares with what the
//! allocator says.
//!
//! | kept | paid by |
//! |---|---|
//! | a message in time stamp order, and its place in each queue | the sender, until its last receiver has it |
//! | a message in receive order that a federate holds back | the federation; its place in the queue: the receiver |
//! | an object instance with the federates that know it | the federate that registered it |
//! | names, declarations, advisories, synchronization points, negotiations | the federate |
//! | an object model | the session that brought it |
//!
//! The charges of a session that has ended still count for the federation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hemiola_hla::{Exception, FederateHandle, LogicalTime, Refusal};

use crate::backlog::QueuedMessage;
use crate::federation::Federation;
use crate::input::SessionId;

/// The memory that the next inputs may still take, as the shell's account says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of all federations together.
    pub kernel: usize,
    /// Bytes of the calling session.
    pub session: usize,
    /// The length of the next call as it was received, in bytes. Its values share that memory, so a message that is
    /// kept keeps all of it.
    pub call_len: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { kernel: usize::MAX, session: usize::MAX, call_len: 0 }
    }
}

/// Calls that were refused because they would have exceeded a quota, by quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// The quota of a session.
    pub session: u64,
    /// The quota of a federation.
    pub federation: u64,
    /// The limit of the process.
    pub process: u64,
}

/// The cost of an allocation besides its content, in bytes.
pub(crate) const ALLOCATION: usize = 16;

/// The estimated memory of an entry in a B-tree of keys `K` and values `V`, whose nodes are about half full.
pub(crate) const fn entry_len<K, V>() -> usize {
    (size_of::<K>() + size_of::<V>()) * 7 / 4 + 4
}

/// The memory of the first node of a B-tree, which has room for eleven entries.
pub(crate) const fn node_len<K, V>() -> usize {
    (size_of::<K>() + size_of::<V>()) * 8 + ALLOCATION
}

/// The estimated memory of a name, besides the `String` itself.
pub(crate) const fn name_len(name: &str) -> usize {
    name.len() + ALLOCATION
}

/// A number of bytes.
///
/// It is atomic because a federation may be dropped on another thread; nothing is ordered by it.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, len: usize) {
        self.0.fetch_add(len, Ordering::Relaxed);
    }

    fn subtract(&self, len: usize) {
        let before = self.0.fetch_sub(len, Ordering::Relaxed);
        debug_assert!(before >= len, "{len} bytes are given back, of {before}");
    }
}

/// The counters of a kernel.
#[derive(Debug, Default)]
pub(crate) struct KernelMemory {
    all: Arc<Counter>,
    /// Of sessions that have created or joined a federation.
    sessions: BTreeMap<SessionId, Arc<Counter>>,
}

impl KernelMemory {
    /// The account of a new federation.
    pub(crate) fn of_federation(&self) -> Account {
        Account { session: None, federation: Arc::default(), kernel: Arc::clone(&self.all) }
    }

    /// The account of a session in a federation.
    pub(crate) fn of_session(&mut self, session: SessionId, federation: &Account) -> Arc<Account> {
        let session = Arc::clone(self.sessions.entry(session).or_default());
        Arc::new(Account { session: Some(session), ..federation.clone() })
    }

    /// A session has ended.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// The memory that all federations hold.
    pub(crate) fn held(&self) -> usize {
        self.all.get()
    }

    /// The memory that is held for a session.
    pub(crate) fn held_for(&self, session: SessionId) -> usize {
        self.sessions.get(&session).map_or(0, |session| session.get())
    }
}

/// The counters that a charge counts for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// That of the session; `None` for what the federation itself pays.
    session: Option<Arc<Counter>>,
    federation: Arc<Counter>,
    kernel: Arc<Counter>,
}

impl Account {
    /// What its session holds.
    pub(crate) fn session_held(&self) -> usize {
        self.session.as_ref().map_or(0, |session| session.get())
    }

    /// What its federation holds.
    pub(crate) fn federation_held(&self) -> usize {
        self.federation.get()
    }

    /// The memory that all federations hold.
    fn kernel_held(&self) -> usize {
        self.kernel.get()
    }

    fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.session.iter().chain([&self.federation, &self.kernel]).map(|counter| &**counter)
    }
}

/// Memory that is held; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    len: usize,
}

impl Charge {
    pub(crate) fn new(account: &Arc<Account>, len: usize) -> Self {
        account.counters().for_each(|counter| counter.add(len));
        Self { account: Arc::clone(account), len }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn grow(&mut self, len: usize) {
        self.account.counters().for_each(|counter| counter.add(len));
        self.len += len;
    }

    pub(crate) fn shrink(&mut self, len: usize) {
        assert!(len <= self.len, "{len} bytes are given back, of {}", self.len);
        self.account.counters().for_each(|counter| counter.subtract(len));
        self.len -= len;
    }

    /// A part of what is held was `before` bytes long and is `now`.
    pub(crate) fn change(&mut self, before: usize, now: usize) {
        match now.checked_sub(before) {
            Some(0) => {}
            Some(more) => self.grow(more),
            None => self.shrink(before - now),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.counters().for_each(|counter| counter.subtract(self.len));
    }
}

/// A queued message, which all queues share that hold it.
#[derive(Debug)]
pub(crate) struct Parcel {
    account: Arc<Account>,
    /// Its payload and overhead.
    len: usize,
    /// The same, and its encoding once a receiver has got it while others still wait.
    held: AtomicUsize,
}

impl Parcel {
    pub(crate) fn new(account: &Arc<Account>, len: usize) -> Arc<Self> {
        account.counters().for_each(|counter| counter.add(len));
        Arc::new(Self { account: Arc::clone(account), len, held: AtomicUsize::new(len) })
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let held = self.held.load(Ordering::Relaxed);
        self.account.counters().for_each(|counter| counter.subtract(held));
    }
}

/// The place of a message in one queue.
#[derive(Debug)]
pub(crate) struct Share {
    parcel: Arc<Parcel>,
    /// For the place.
    place: Charge,
}

impl Share {
    /// The estimated memory of a place in the queue in time stamp order.
    const ORDERED: usize = entry_len::<(LogicalTime, u64), QueuedMessage>();
    /// The estimated memory of a place in the queue in receive order.
    const HELD: usize = size_of::<QueuedMessage>() * 3 / 2;

    fn new(parcel: &Arc<Parcel>, account: &Arc<Account>, is_ordered: bool) -> Self {
        let len = if is_ordered { Self::ORDERED } else { Self::HELD };
        Self { parcel: Arc::clone(parcel), place: Charge::new(account, len) }
    }

    /// The charge for the place.
    pub(crate) const fn place_len(&self) -> usize {
        self.place.len()
    }

    /// The message is encoded for a receiver. If others still wait, the encoding is kept for them.
    pub(crate) fn encoded(&self) {
        let Parcel { account, len, held } = &*self.parcel;
        if Arc::strong_count(&self.parcel) > 1 && held.load(Ordering::Relaxed) == *len {
            account.counters().for_each(|counter| counter.add(*len));
            held.store(2 * len, Ordering::Relaxed);
        }
    }

    /// The parcel, to recognise it, and what it holds.
    pub(crate) fn parcel(&self) -> (*const Parcel, usize) {
        (Arc::as_ptr(&self.parcel), self.parcel.held.load(Ordering::Relaxed))
    }
}

/// The parcels of one message: in the order of time stamps, and in receive order.
#[derive(Debug, Default)]
pub(crate) struct Parcels([Option<Arc<Parcel>>; 2]);

impl Parcels {
    /// A place in a receiver's queue.
    pub(crate) fn share(
        &mut self,
        federation: &Federation,
        (sender, receiver): (FederateHandle, FederateHandle),
        is_ordered: bool,
        len: usize,
    ) -> Share {
        let of = |federate| &federation.federate(federate).account;
        let len = len.max(federation.room.call_len + Self::OVERHEAD);
        // A sender chooses a time in the future; a receiver holds messages back until it advances.
        let (payer, pays_place) =
            if is_ordered { (of(sender), of(sender)) } else { (&federation.account, of(receiver)) };
        let parcel = self.0[usize::from(is_ordered)].get_or_insert_with(|| Parcel::new(payer, len));
        Share::new(parcel, pays_place, is_ordered)
    }

    /// The memory of a message besides its values and tag.
    pub(crate) const OVERHEAD: usize = 4 * 64;
}

/// Refusals by quota, counted where a federation is only read.
#[derive(Debug, Default)]
pub(crate) struct RefusalCount {
    session: AtomicU64,
    federation: AtomicU64,
    process: AtomicU64,
}

impl RefusalCount {
    /// Takes the counts, which begin again at zero.
    pub(crate) fn take(&self) -> Refusals {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        Refusals {
            session: take(&self.session),
            federation: take(&self.federation),
            process: take(&self.process),
        }
    }
}

impl Refusals {
    pub(crate) const fn add(&mut self, more: Self) {
        self.session += more.session;
        self.federation += more.federation;
        self.process += more.process;
    }
}

/// Checks the quotas for a call that makes the kernel keep `more` bytes for a federate.
pub(crate) fn has_room(
    federation: &Federation,
    me: FederateHandle,
    more: usize,
) -> Result<(), Refusal> {
    has_room_for(federation, &federation.federate(me).account, more)
}

/// Checks the quotas for `more` bytes that this account pays.
pub(crate) fn has_room_for(
    federation: &Federation,
    account: &Account,
    more: usize,
) -> Result<(), Refusal> {
    let Room { kernel, session, .. } = federation.room;
    let of_federation = federation.limits.federation_len;
    let count = &federation.refusals;
    let is_beyond = |held: usize, limit: usize| held.saturating_add(more) > limit;
    let refuse = |counter: &AtomicU64, whose: &str, (held, limit): (usize, usize), hint: &str| {
        counter.fetch_add(1, Ordering::Relaxed);
        let details = format!(
            "this call needs {more} bytes of memory; {whose} holds {held} and may hold {limit} ({hint}"
        );
        Err(Exception::RTIinternalError.because(details))
    };
    let held = account.session_held();
    if is_beyond(held, session) {
        let hint = "--session-memory-max): delete object instances, release names, or wait until the receivers of \
                    its messages have advanced";
        return refuse(&count.session, "this session", (held, session), hint);
    }
    let (held, limit) = (account.federation_held(), without_reserve(of_federation));
    if is_beyond(held, limit) {
        let hint = "--federation-memory-max): delete object instances, or wait until the receivers of messages have \
                    advanced";
        return refuse(&count.federation, "this federation", (held, limit), hint);
    }
    let (held, limit) = (account.kernel_held(), without_reserve(kernel));
    if is_beyond(held, limit) {
        let hint = "--memory-max): `hemiola rti status` shows who holds it";
        return refuse(&count.process, "this RTI", (held, limit), hint);
    }
    Ok(())
}

/// What calls may take of a limit. The rest is for messages that federates hold back, since their senders cannot know.
const fn without_reserve(limit: usize) -> usize {
    limit - limit / 8
}

/// Whether the federation can hold a further message of this length back.
pub(crate) fn can_hold(federation: &Federation, len: usize) -> bool {
    let account = &federation.account;
    account.federation_held().saturating_add(len) <= federation.limits.federation_len
        && account.kernel_held().saturating_add(len) <= federation.room.kernel
}
