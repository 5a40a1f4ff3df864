//! Encodes the kernel's events into bundles.

use std::collections::BTreeMap;

use hemiola_wire::{put_bytes, put_number, put_varint};

use super::{
    CLONE_THREAD, FLAG_UNKNOWN, States, bundle, compact, event, flags, generic, priority_number,
};
use crate::sched::{Event, Interrupt, Thread, Tid, What};

/// The most events in a bundle: a writer that dies loses as many, and a reader keeps as many of each processor.
const BUNDLE_EVENTS_MAX: usize = 2048;

/// The state of the kernel's part of the file.
#[derive(Debug, Default)]
pub(in super::super) struct Kernel {
    /// Whether the system was described.
    pub(in super::super) announced: bool,
    /// The running thread of each processor.
    running: BTreeMap<u16, Tid>,
    /// The present name of each thread, and its process.
    names: BTreeMap<Tid, (u32, String)>,
    bundle: Bundle,
}

impl Kernel {
    /// Appends the packets of these events of one processor.
    pub(in super::super) fn events(
        &mut self,
        cpu: u16,
        events: &[Event],
        packet: &mut dyn FnMut(&[u8]),
    ) {
        let running = self.running.entry(cpu).or_insert(Tid::UNKNOWN);
        for event in events {
            if !self.bundle.takes(event, *running) {
                packet(self.bundle.finish(cpu));
            }
            self.bundle.push(event, running, &self.names);
        }
        if self.bundle.count > 0 {
            packet(self.bundle.finish(cpu));
        }
    }

    /// Stores a thread's name and process; returns true if the thread or its process is new.
    pub(in super::super) fn learn(&mut self, thread: &Thread) -> bool {
        let known = self.names.insert(thread.tid, (thread.pid, thread.name.clone()));
        known.is_none_or(|(pid, _)| pid != thread.pid)
    }

    /// Appends the packet for a thread that starts or changes its name.
    pub(in super::super) fn change(&mut self, thread: &Thread, packet: &mut dyn FnMut(&[u8])) {
        let at = thread.since.nanos();
        let mut body = Vec::new();
        put_number(&mut body, 1, pid_number(thread.tid));
        if thread.new {
            put_bytes(&mut body, 2, thread.name.as_bytes());
            // The event's own thread, which created it, identifies the process.
            let shares = thread.pid != 0 && thread.pid != thread.tid.0;
            put_number(&mut body, 3, if shares { CLONE_THREAD } else { 0 });
            let maker = if shares { Tid(thread.pid) } else { Tid::IDLE };
            self.bundle.event(at, maker, event::TASK_NEWTASK, &body, None);
        } else {
            if let Some((_, old)) = self.names.get(&thread.tid) {
                put_bytes(&mut body, 2, old.as_bytes());
            }
            put_bytes(&mut body, 3, thread.name.as_bytes());
            self.bundle.event(at, thread.tid, event::TASK_RENAME, &body, None);
        }
        packet(self.bundle.finish(0));
    }
}

/// A bundle under construction.
#[derive(Debug, Default)]
struct Bundle {
    count: usize,
    lost: bool,
    /// The time of its last event, and the event's rank among those at the same time.
    last: (u64, u8),
    switches: [Vec<u8>; 5],
    switch_last: u64,
    wakes: [Vec<u8>; 6],
    wake_last: u64,
    /// Individual events, each preceded by its field number.
    events: Vec<u8>,
    body: Vec<u8>,
    names: NameTable,
    priorities: Priorities,
    out: Vec<u8>,
    compact: Vec<u8>,
}

impl Bundle {
    /// Whether the event can be in this bundle: there is room, it is not earlier, it is not a gap, and events at the
    /// same time will be read back in this order.
    fn takes(&self, event: &Event, running: Tid) -> bool {
        let in_order = (event.at.nanos(), place(&event.what, running)) >= self.last;
        self.count == 0
            || (self.count < BUNDLE_EVENTS_MAX && in_order && !matches!(event.what, What::Lost(_)))
    }

    fn push(&mut self, event: &Event, running: &mut Tid, names: &BTreeMap<Tid, (u32, String)>) {
        let at = event.at.nanos();
        self.last = (at, place(&event.what, *running));
        // Perfetto shows an event on the track of its thread; events of an unknown thread go to the idle thread.
        let by = if *running == Tid::UNKNOWN { Tid::IDLE } else { *running };
        match event.what {
            What::Switch { prev, left, next, priority } => {
                if prev == *running {
                    let name = self.names.index(next, event.cpu, names);
                    let [times, states, pids, priorities, comms] = &mut self.switches;
                    put_varint(times, at.wrapping_sub(self.switch_last));
                    put_varint(states, States::number(left));
                    put_varint(pids, pid_number(next));
                    put_varint(priorities, priority_number(priority));
                    put_varint(comms, name.into());
                    self.switch_last = at;
                } else {
                    let mut body = std::mem::take(&mut self.body);
                    put_number(&mut body, 2, pid_number(prev));
                    put_number(&mut body, 4, States::number(left));
                    put_number(&mut body, 6, pid_number(next));
                    put_number(&mut body, 7, priority_number(priority));
                    self.event(at, prev, event::SCHED_SWITCH, &body, None);
                    self.body = body;
                }
                self.priorities.learn(next, priority);
                *running = next;
            }
            What::Wake { tid, waker, context, target } => {
                if waker == *running {
                    let name = self.names.index(tid, event.cpu, names);
                    let [times, pids, targets, priorities, comms, all_flags] = &mut self.wakes;
                    put_varint(times, at.wrapping_sub(self.wake_last));
                    put_varint(pids, pid_number(tid));
                    put_varint(targets, target.into());
                    put_varint(priorities, self.priorities.of(tid));
                    put_varint(comms, name.into());
                    put_varint(all_flags, flags(context));
                    self.wake_last = at;
                } else {
                    let mut body = std::mem::take(&mut self.body);
                    put_number(&mut body, 2, pid_number(tid));
                    put_number(&mut body, 5, target.into());
                    self.event(at, waker, event::SCHED_WAKING, &body, Some(flags(context)));
                    self.body = body;
                }
            }
            What::InterruptEntry(Interrupt::Hard(irq)) => {
                self.numbered(at, by, event::IRQ_ENTRY, irq.into());
            }
            What::InterruptExit(Interrupt::Hard(irq)) => {
                self.numbered(at, by, event::IRQ_EXIT, irq.into());
            }
            What::InterruptEntry(Interrupt::Soft(vector)) => {
                self.numbered(at, by, event::SOFTIRQ_ENTRY, vector.into());
            }
            What::InterruptExit(Interrupt::Soft(vector)) => {
                self.numbered(at, by, event::SOFTIRQ_EXIT, vector.into());
            }
            What::CallEntry(id) => self.numbered(at, by, event::SYS_ENTER, id.into()),
            What::CallExit(id) => self.numbered(at, by, event::SYS_EXIT, id.into()),
            What::PageFault(false) => self.generic(at, by, generic::FAULT_USER, None),
            What::PageFault(true) => self.generic(at, by, generic::FAULT_KERNEL, None),
            What::SleepUntil(until) => {
                self.generic(at, by, generic::SLEEP_UNTIL, Some(until.instant().nanos()));
            }
            What::Lost(events) => {
                self.lost = true;
                *running = Tid::UNKNOWN;
                self.generic(at, Tid::IDLE, generic::LOST, Some(events.into()));
            }
            What::Online(back) => {
                *running = Tid::UNKNOWN;
                self.generic(at, Tid::IDLE, generic::ONLINE, Some(back.into()));
            }
        }
        self.body.clear();
        self.count += 1;
    }

    /// Appends an event whose first field is its number.
    fn numbered(&mut self, at: u64, tid: Tid, field: u32, number: u64) {
        let mut body = std::mem::take(&mut self.body);
        put_number(&mut body, 1, number);
        self.event(at, tid, field, &body, None);
        self.body = body;
    }

    /// Appends an event with a name and possibly a number.
    fn generic(&mut self, at: u64, tid: Tid, name: &str, number: Option<u64>) {
        let mut body = Vec::new();
        put_bytes(&mut body, 1, name.as_bytes());
        if let Some(number) = number {
            let mut field = Vec::new();
            put_bytes(&mut field, 1, b"value");
            put_number(&mut field, 5, number);
            put_bytes(&mut body, 2, &field);
        }
        self.event(at, tid, event::GENERIC, &body, None);
    }

    /// Appends an individual event of a thread. Perfetto reads fastest if time and thread come first.
    fn event(&mut self, at: u64, tid: Tid, field: u32, body: &[u8], flags: Option<u64>) {
        let mut whole = Vec::with_capacity(body.len() + 24);
        put_number(&mut whole, event::TIMESTAMP, at);
        put_number(&mut whole, event::PID, u64::from(tid.0));
        put_bytes(&mut whole, field, body);
        if let Some(flags) = flags.filter(|&flags| flags != 0) {
            debug_assert!(flags <= FLAG_UNKNOWN, "flags no reader knows");
            put_number(&mut whole, event::COMMON_FLAGS, flags);
        }
        put_bytes(&mut self.events, bundle::EVENT, &whole);
        self.count = self.count.max(1);
    }

    /// Returns the bundle's bytes and empties it.
    fn finish(&mut self, cpu: u16) -> &[u8] {
        self.out.clear();
        put_number(&mut self.out, bundle::CPU, cpu.into());
        if self.lost {
            put_number(&mut self.out, bundle::LOST_EVENTS, 1);
        }
        self.compact.clear();
        let switches = [
            compact::SWITCH_TIMESTAMP,
            compact::SWITCH_PREV_STATE,
            compact::SWITCH_NEXT_PID,
            compact::SWITCH_NEXT_PRIO,
            compact::SWITCH_NEXT_COMM,
        ];
        let wakes = [
            compact::WAKING_TIMESTAMP,
            compact::WAKING_PID,
            compact::WAKING_TARGET_CPU,
            compact::WAKING_PRIO,
            compact::WAKING_COMM,
            compact::WAKING_COMMON_FLAGS,
        ];
        self.compact.extend_from_slice(&self.names.table);
        let columns = switches.iter().zip(&mut self.switches);
        for (&field, column) in columns.chain(wakes.iter().zip(&mut self.wakes)) {
            if !column.is_empty() {
                put_bytes(&mut self.compact, field, column);
                column.clear();
            }
        }
        if !self.compact.is_empty() {
            put_bytes(&mut self.out, bundle::COMPACT_SCHED, &self.compact);
        }
        self.out.append(&mut self.events);
        self.names.clear();
        (self.count, self.lost, self.last) = (0, false, (0, 0));
        (self.switch_last, self.wake_last) = (0, 0);
        &self.out
    }
}

/// Returns the rank of an event among those at the same time in a bundle: individual events, then wake-ups, then
/// switches. A switch or a wake-up that does not continue from the running thread is an individual event.
fn place(what: &What, running: Tid) -> u8 {
    match what {
        What::Switch { prev, .. } if *prev == running => 2,
        What::Wake { waker, .. } if *waker == running => 1,
        _ => 0,
    }
}

/// Encodes a thread's number as Perfetto's `int32`: large numbers become negative.
pub(super) fn pid_number(tid: Tid) -> u64 {
    i64::from(tid.0.cast_signed()).cast_unsigned()
}

/// The names of a bundle's threads, each stored (nearly always) once.
#[derive(Debug)]
struct NameTable {
    /// The names, as fields of the compact form.
    table: Vec<u8>,
    count: u32,
    /// For each slot: the thread last looked up, its bundle, and the index of its name.
    slots: Vec<(Tid, u32, u32)>,
    bundle: u32,
}

const SLOTS: usize = 256;

impl Default for NameTable {
    fn default() -> Self {
        Self { table: Vec::new(), count: 0, slots: vec![(Tid::UNKNOWN, 0, 0); SLOTS], bundle: 1 }
    }
}

impl NameTable {
    fn clear(&mut self) {
        self.table.clear();
        self.count = 0;
        self.bundle = self.bundle.wrapping_add(1);
    }

    #[inline]
    fn index(&mut self, tid: Tid, cpu: u16, names: &BTreeMap<Tid, (u32, String)>) -> u32 {
        let slot = tid.0 as usize % SLOTS;
        let (looked_up, bundle, index) = self.slots[slot];
        if looked_up == tid && bundle == self.bundle {
            return index;
        }
        let index = self.count;
        self.count += 1;
        self.slots[slot] = (tid, self.bundle, index);
        if tid == Tid::IDLE {
            put_bytes(&mut self.table, compact::INTERN_TABLE, format!("swapper/{cpu}").as_bytes());
        } else {
            let name = names.get(&tid).map_or("", |(_, name)| name);
            put_bytes(&mut self.table, compact::INTERN_TABLE, name.as_bytes());
        }
        index
    }
}

/// The priority that each thread had when it last ran, which its wake-ups in the file repeat.
#[derive(Debug)]
struct Priorities(Vec<(Tid, u64)>);

impl Default for Priorities {
    fn default() -> Self {
        Self(vec![(Tid::UNKNOWN, super::PRIORITY_NONE); SLOTS])
    }
}

impl Priorities {
    fn learn(&mut self, tid: Tid, priority: i16) {
        self.0[tid.0 as usize % SLOTS] = (tid, priority_number(priority));
    }

    fn of(&self, tid: Tid) -> u64 {
        let (known, priority) = self.0[tid.0 as usize % SLOTS];
        if known == tid { priority } else { super::PRIORITY_NONE }
    }
}
