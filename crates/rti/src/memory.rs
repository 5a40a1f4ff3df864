//! The memory that the kernel holds: who pays for it, and the quotas.
//!
//! Everything that a call makes the kernel keep holds a [`Charge`], which is given back with it. A charge
//! counts for its payer and for its federation, so that no table has to be scanned; the kernel adds up its federations.
//! Charges are estimates: the payload, and a constant for each entry of a table that a test compares with what the
//! allocator says.
//!
//! | kept | paid by |
//! |---|---|
//! | a message in time stamp order, and its place in each queue | the sender, until its last receiver has it |
//! | a message in receive order that a federate holds back | the federation; its place in the queue: the receiver |
//! | an object instance with the federates that know it | the federate that registered it |
//! | regions with their associations and subscriptions | the federate that created them |
//! | names, declarations, advisories, synchronization points, negotiations | the federate |
//! | an object model | the session that brought it |
//!
//! The charges of a session that has ended still count for the federation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hemiola_hla::{Exception, FederateHandle, Refusal};

use crate::federation::Federation;
use crate::limits::Limits;

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
/// A federation belongs to one thread at a time, and with it all that changes its counters, so no addition needs an
/// atomic exchange. The counter is atomic because the thread that drops the federation may be another one.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, len: usize) {
        self.0.store(self.get() + len, Ordering::Relaxed);
    }

    fn subtract(&self, len: usize) {
        let before = self.get();
        debug_assert!(before >= len, "{len} bytes are given back, of {before}");
        self.0.store(before.wrapping_sub(len), Ordering::Relaxed);
    }
}

/// The memory of a kernel's federations.
#[derive(Debug, Default)]
pub(crate) struct KernelMemory {
    /// What the federations hold, as of the last input.
    pub(crate) held: usize,
    /// What the federations hold that the shell has not dropped yet.
    retired: Vec<Arc<Counter>>,
    /// Refusals by federations that are retired.
    pub(crate) refusals: Refusals,
}

impl KernelMemory {
    /// A federation is given to the shell, which drops it.
    pub(crate) fn retire(&mut self, federation: &Federation) {
        self.refusals.add(federation.refusals.get());
        self.retired.retain(|counter| counter.get() > 0);
        self.retired.push(Arc::clone(&federation.account.federation));
    }

    /// The memory of the federations that the shell has not dropped yet.
    pub(crate) fn retired_len(&self) -> usize {
        self.retired.iter().map(|counter| counter.get()).sum()
    }
}

/// The counters that a charge counts for: that of its payer, which is a session or the federation itself, and that of
/// the federation.
#[derive(Debug, Default)]
pub(crate) struct Account {
    held: Counter,
    federation: Arc<Counter>,
}

impl Account {
    /// A further payer in the same federation.
    fn beside(&self) -> Arc<Self> {
        Arc::new(Self { held: Counter::default(), federation: Arc::clone(&self.federation) })
    }

    pub(crate) fn is_in_federation_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.federation, &other.federation)
    }

    /// What its payer holds in this federation.
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    /// What its federation holds.
    pub(crate) fn federation_held(&self) -> usize {
        self.federation.get()
    }

    fn add(&self, len: usize) {
        self.held.add(len);
        self.federation.add(len);
    }

    fn subtract(&self, len: usize) {
        self.held.subtract(len);
        self.federation.subtract(len);
    }
}

/// The accounts of a session: one for each federation that it has created or joined and in which it holds memory.
#[derive(Debug, Default)]
pub(crate) struct SessionAccounts(Vec<Arc<Account>>);

impl SessionAccounts {
    /// The account of the session in the federation that this account belongs to.
    pub(crate) fn in_federation_of(&mut self, federation: &Account) -> Arc<Account> {
        // Only the accounts themselves are left of those in which the session holds nothing.
        self.0.retain(|account| Arc::strong_count(account) > 1);
        let known = self.0.iter().find(|account| account.is_in_federation_of(federation));
        known.map(Arc::clone).unwrap_or_else(|| {
            self.0.push(federation.beside());
            Arc::clone(&self.0[self.0.len() - 1])
        })
    }

    /// Forgets the account in a federation that is destroyed.
    pub(crate) fn forget(&mut self, federation: &Account) {
        self.0.retain(|account| !account.is_in_federation_of(federation));
    }

    /// What the session holds in all federations.
    pub(crate) fn held(&self) -> usize {
        self.0.iter().map(|account| account.held()).sum()
    }
}

/// The memory that a call may take: the room that the shell has left, and what is held elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    pub(crate) room: Room,
    /// What the other federations hold.
    pub(crate) by_others: usize,
    /// What the calling session holds in the other federations.
    pub(crate) elsewhere: usize,
}

/// Memory that is held; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    len: usize,
}

impl Charge {
    pub(crate) fn new(account: &Arc<Account>, len: usize) -> Self {
        account.add(len);
        Self { account: Arc::clone(account), len }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn grow(&mut self, len: usize) {
        self.account.add(len);
        self.len += len;
    }

    pub(crate) fn shrink(&mut self, len: usize) {
        assert!(len <= self.len, "{len} bytes are given back, of {}", self.len);
        self.account.subtract(len);
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
        self.account.subtract(self.len);
    }
}

/// The memory of a queued message, which all queues share that hold it.
#[derive(Debug)]
pub(crate) struct ParcelMemory {
    account: Arc<Account>,
    /// Its payload and overhead.
    len: usize,
    /// The same, and its encoding once a receiver has got it while others still wait.
    held: Counter,
}

impl ParcelMemory {
    /// For a message of this length, which this account pays.
    pub(crate) fn new(account: &Arc<Account>, len: usize) -> Self {
        let memory = Self { account: Arc::clone(account), len, held: Counter::default() };
        memory.grow(len);
        memory
    }

    fn grow(&self, len: usize) {
        self.account.add(len);
        self.held.add(len);
    }

    /// Its encoding is kept for further receivers.
    pub(crate) fn keep_encoding(&self) {
        if self.held() == self.len {
            self.grow(self.len);
        }
    }

    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    /// A place in a queue that is paid with the message.
    pub(crate) fn take_place(&self, len: usize) {
        self.account.add(len);
    }

    pub(crate) fn give_back_place(&self, len: usize) {
        self.account.subtract(len);
    }
}

impl Drop for ParcelMemory {
    fn drop(&mut self) {
        self.account.subtract(self.held.get());
    }
}

impl Refusals {
    pub(crate) const fn add(&mut self, more: Self) {
        self.session += more.session;
        self.federation += more.federation;
        self.process += more.process;
    }

    /// Counts a call that was refused because of this quota.
    pub(crate) const fn count(&mut self, quota: Quota) {
        match quota {
            Quota::Session => self.session += 1,
            Quota::Federation => self.federation += 1,
            Quota::Process => self.process += 1,
        }
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
    let Allowance { room, by_others, elsewhere } = federation.allowance;
    let held = account.federation_held();
    let session = elsewhere + account.held();
    let quotas = Quotas::new(session, held, by_others + held, room, federation.limits);
    quotas.check(more).map_err(|quota| {
        federation.count_refusal(quota);
        quotas.refusal(quota, more)
    })
}

/// A quota that a call may exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quota {
    Session,
    Federation,
    Process,
}

/// For each quota, the bytes that are held and those that a call may add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quotas([Holding; 3]);

/// The bytes that are held under a quota, its limit, and the rest of it.
#[derive(Clone, Copy, Debug)]
struct Holding {
    quota: Quota,
    held: usize,
    limit: usize,
    left: usize,
}

impl Holding {
    const fn new(quota: Quota, held: usize, limit: usize) -> Self {
        Self { quota, held, limit, left: limit.saturating_sub(held) }
    }

    /// The last eighth of the process's limit is for sessions that hold little: however much a few others hold, a
    /// newcomer can create a small federation and work in it.
    const fn of_process(held: usize, limit: usize, session: usize) -> Self {
        let shared = Self::new(Quota::Process, held, without_reserve(limit));
        let whole = Self::new(Quota::Process, held, limit);
        let little = ((limit - shared.limit) / MODEST_SESSIONS).saturating_sub(session);
        let left = if little < whole.left { little } else { whole.left };
        if left > shared.left { Self { left, ..whole } } else { shared }
    }
}

/// How many sessions that hold little fit in the part of the process's limit that is for them.
const MODEST_SESSIONS: usize = 16;

impl Quotas {
    /// For the memory that a session, a federation and all federations hold.
    pub(crate) const fn new(
        session: usize,
        federation: usize,
        kernel: usize,
        room: Room,
        limits: Limits,
    ) -> Self {
        Self([
            Holding::new(Quota::Session, session, room.session),
            Holding::new(Quota::Federation, federation, without_reserve(limits.federation_len)),
            Holding::of_process(kernel, without_reserve(room.kernel), session),
        ])
    }

    /// Checks whether `more` bytes fit. Returns the first quota that they exceed.
    pub(crate) fn check(&self, more: usize) -> Result<(), Quota> {
        let exceeded = self.0.iter().find(|holding| more > holding.left);
        exceeded.map_or(Ok(()), |holding| Err(holding.quota))
    }

    /// Returns the quota that has least left, and how much.
    pub(crate) fn least(&self) -> (Quota, usize) {
        let [first, second, third] = self.0;
        let least = [second, third]
            .into_iter()
            .fold(first, |least, one| if one.left < least.left { one } else { least });
        (least.quota, least.left)
    }

    /// Returns the refusal of a call that needs `more` bytes.
    pub(crate) fn refusal(&self, quota: Quota, more: usize) -> Refusal {
        let details = format!("this call needs {more} bytes of memory; {}", self.reason(quota));
        Exception::RTIinternalError.because(details)
    }

    /// Says what is held and allowed, and what to do.
    pub(crate) fn reason(&self, quota: Quota) -> String {
        let Holding { held, limit, .. } = self.0[quota as usize];
        let (whose, hint) = match quota {
            Quota::Session => (
                "session",
                "--session-memory-max): delete object instances, release names, destroy federations that it created, \
                 or wait until the receivers of its messages have advanced",
            ),
            Quota::Federation => (
                "federation",
                "--federation-memory-max): delete object instances, or wait until the receivers of messages have \
                 advanced",
            ),
            Quota::Process => ("RTI", "--memory-max): `hemiola rti status` shows who holds it"),
        };
        format!("this {whose} holds {held} and may hold {limit} ({hint}")
    }
}

/// What calls may take of a limit. The rest is for messages that federates hold back, since their senders cannot know.
const fn without_reserve(limit: usize) -> usize {
    limit - limit / 8
}

/// Whether the federation can hold a further message of this length back.
pub(crate) fn can_hold(federation: &Federation, len: usize) -> bool {
    let Allowance { room, by_others, .. } = federation.allowance;
    let held = federation.held().saturating_add(len);
    held <= federation.limits.federation_len && by_others.saturating_add(held) <= room.kernel
}
