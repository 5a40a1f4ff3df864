//! The programs at the tracepoints. Each packs its event into 16 bytes for the ring of its processor.
//!
//! These programs may be used under the MIT licence or the GNU General Public License, version 2, at your option: the
//! kernel lets only such programs read its structures.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use hemiola_rt::sys::bpf::Place;

use super::assembler::Operation::{Add, And, Move, Or, ShiftLeft, ShiftRight, Subtract};
use super::assembler::Register::{R0, R1, R2, R3, R6, R7, R8, R10};
use super::assembler::Size::{Double, Word};
use super::assembler::{Assembler, Function, Label, Register, When};
use super::btf::{Btf, Kind as Described};
use super::ring::{NESTED, RUNNING, Shape, append, append_before, open};
use super::word::{Kind, SHIFT_FIRST, SHIFT_NUMBER, SHIFT_PRIORITY, SHIFT_SECOND, State};
use crate::kernel::Options;

/// The licence of the programs, in the kernel's notation.
pub(super) const LICENSE: &CStr = c"Dual MIT/GPL";

/// Bytes of the record of a name: time, thread and process, whether it is new, and the name in 16 bytes.
pub(super) const NAME_RECORD: usize = 40;

/// Words of a slot for such a record: a power of two.
pub(super) const NAME_WORDS: u32 = 8;

/// The kernel's length of a name: `TASK_COMM_LEN`.
const NAME_LEN: i32 = 16;

/// The stack: the key of the ring, and below it the record of a name.
pub(super) const STACK_KEY: i16 = -4;
const STACK_RECORD: i16 = -8 - NAME_RECORD as i16;
const STACK_NEW: i16 = STACK_RECORD + 16;
const STACK_NAME: i16 = STACK_RECORD + 24;
/// Below the key, in programs without such a record: the thread that a timer wakes.
const STACK_WOKEN: i16 = -16;

/// Interrupts of the processor itself. Their numbers are this offset plus their vector, apart from those of devices.
const LOCAL_INTERRUPTS: [&str; 5] =
    ["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"];
const LOCAL_VECTORS: i32 = 0xff00;

/// `preempt_count`: serving a device's interrupt, a non-maskable one, or a soft one (`include/linux/preempt.h`).
const IN_INTERRUPT: i32 = 0x00ff_0100;
/// One soft interrupt and one of a device in that word, and in our own count.
const SOFT_INTERRUPT: i32 = 0x0000_0100;
const DEVICE_INTERRUPT: i32 = 0x0001_0000;

/// Bits of `task_struct.__state` (`include/linux/sched.h`): those that say what a thread waits for, and two more.
const STATE_REPORTED: i32 = 0xcf;
const STATE_NO_LOAD: i32 = 0x400;
const STATE_RT_LOCK_OR_FROZEN: i32 = 0x9000;

/// A program ready to load.
pub(super) struct Program {
    pub(super) name: CString,
    pub(super) place: Place,
    pub(super) code: Vec<u64>,
}

/// The maps that the programs write to.
#[derive(Clone, Copy)]
pub(super) struct Maps<'a> {
    pub(super) events: BorrowedFd<'a>,
    /// Slots of each processor's ring.
    pub(super) event_slots: u32,
    pub(super) names: BorrowedFd<'a>,
    pub(super) name_slots: u32,
}

/// The kernel's layouts and the maps: everything needed to write the programs.
pub(super) struct Writer<'a> {
    btf: &'a Btf<'a>,
    maps: Maps<'a>,
    tid: i16,
    pid: i16,
    name: i16,
    priority: i16,
    processor: i16,
}

/// How a wake-up finds out whether an interrupt causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// From a per-processor variable: its number, and the offset in it. Not every kernel describes it.
    Variable(u32, i16),
    /// From a field of the running thread.
    Current(i16),
    /// Our own programs count the interrupts.
    Counted,
}

/// How a wake-up finds out what causes it.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    context: Context,
    /// To tell soft interrupts that a system call runs from others; not every kernel permits that.
    calls: Option<Calls>,
}

/// Where the kernel keeps what a thread does in its system call.
#[derive(Clone, Copy)]
struct Calls {
    /// The memory of a process, in `task_struct`; kernel threads have none.
    memory: i16,
    /// The number of the call, in `pt_regs`: negative if the thread was interrupted outside of one.
    number: i16,
}

/// Where the kernel keeps until when a thread asks to sleep.
#[derive(Clone, Copy)]
struct Sleep {
    /// The second argument of a system call, in `pt_regs`.
    flags: i16,
    /// The earliest time, in `hrtimer`, on the clock of the timer.
    expires: i16,
    /// The timer's clock, in `hrtimer`.
    clock: i16,
    /// How far that clock is ahead of the monotonic one, in `hrtimer_clock_base`.
    ahead: i16,
    /// The thread that the timer wakes, in the `hrtimer_sleeper` that begins with it.
    wakes: i16,
}

/// The number of clock_nanosleep(2) (`asm/unistd.h`), and its `TIMER_ABSTIME`.
const CLOCK_NANOSLEEP: i32 = if cfg!(target_arch = "x86_64") { 230 } else { 115 };
const ABSOLUTE: i32 = 1;

/// The bits of `enum hrtimer_mode` that no absolute sleep has: relative, and bound to a processor.
const RELATIVE_OR_PINNED: i32 = 3;

impl<'a> Writer<'a> {
    /// Looks up the layouts that the programs need; the error names what the kernel lacks.
    pub(super) fn new(btf: &'a Btf<'a>, maps: Maps<'a>) -> Result<Self, String> {
        let field = |path: &[&str]| {
            btf.offset("task_struct", path)
                .ok_or(format!("task_struct has no field {}", path.join(".")))
        };
        Ok(Self {
            btf,
            maps,
            tid: field(&["pid"])?,
            pid: field(&["tgid"])?,
            name: field(&["comm"])?,
            priority: field(&["prio"])?,
            processor: field(&["thread_info", "cpu"]).or_else(|_| field(&["cpu"]))?,
        })
    }

    /// Returns how wake-ups can find out about interrupts, the most reliable first; the kernel may refuse all but the
    /// last.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let variable = |name: &str, offset| {
            Some(Context::Variable(self.btf.find(Described::Variable, name)?, offset))
        };
        let current = || {
            self.btf.offset("task_struct", &["thread_info", "preempt_count"]).map(Context::Current)
        };
        let known = variable("__preempt_count", 0)
            .or_else(|| variable("pcpu_hot", self.btf.offset("pcpu_hot", &["preempt_count"])?))
            .or_else(current);
        let calls = self.calls();
        let contexts = known.into_iter().chain([Context::Counted]);
        contexts.flat_map(|context| [calls, None].map(|calls| Cause { context, calls })).collect()
    }

    fn calls(&self) -> Option<Calls> {
        let field = |name| self.btf.offset("pt_regs", &[name]);
        Some(Calls {
            memory: self.btf.offset("task_struct", &["mm"])?,
            number: field("orig_ax").or_else(|| field("syscallno"))?,
        })
    }

    fn sleep(&self) -> Option<Sleep> {
        let register = |name| self.btf.offset("pt_regs", &[name]);
        // `regs` are the general registers of 64 bits.
        let flags = register("si").or_else(|| Some(register("regs")? + 8))?;
        let timer = |name| self.btf.offset("hrtimer", &[name]);
        Some(Sleep {
            flags,
            expires: timer("_softexpires")?,
            clock: timer("base")?,
            ahead: self.btf.offset("hrtimer_clock_base", &["offset"])?,
            wakes: self.btf.offset("hrtimer_sleeper", &["task"])?,
        })
    }

    /// Returns the program that records until when threads ask to sleep; `None` if the kernel does not show it.
    pub(super) fn sleeps(&self, cause: Cause) -> Option<Program> {
        let Cause { context, calls } = cause;
        let (calls, sleep) = (calls?, self.sleep()?);
        let write = |asm: &mut Assembler| self.sleep_until(asm, context, calls, sleep);
        self.program("hrtimer_start", &[true, false], write).ok()
    }

    /// Returns the programs that record what `options` request, those for names first, so that no thread is seen
    /// unnamed.
    pub(super) fn tracepoints(
        &self,
        options: &Options,
        cause: Cause,
    ) -> Result<Vec<Program>, String> {
        let mut programs = vec![
            self.program("task_newtask", &[true, false], |asm| self.new_thread(asm))?,
            self.program("task_rename", &[true], |asm| self.renamed(asm))?,
        ];
        let counted = options.wakes && cause.context == Context::Counted;
        if options.interrupts || counted {
            programs.extend(self.interrupts(options.interrupts, counted)?);
        }
        programs.push(self.program("sched_switch", &[false, true, true, false], |asm| {
            self.switch(asm, counted)
        })?);
        if options.wakes {
            for name in ["sched_waking", "sched_wakeup_new"] {
                programs.push(self.program(name, &[true], |asm| self.wake(asm, cause))?);
            }
        }
        if options.page_faults {
            for (name, kind) in
                [("page_fault_user", Kind::FaultInUser), ("page_fault_kernel", Kind::FaultInKernel)]
            {
                programs.push(self.program(name, &[false], |asm| {
                    asm.by(Move, R7, kind as i32);
                    self.append_event(asm, |asm| self.tell_running(asm));
                })?);
            }
        }
        if options.calls {
            programs.push(self.program("sys_enter", &[true, false], |asm| self.call_entry(asm))?);
            programs.push(self.program("sys_exit", &[true, false], |asm| self.call_exit(asm))?);
        }
        Ok(programs)
    }

    /// Returns the programs that `record` interrupts or have them `counted`, in the order in which they must be
    /// attached.
    fn interrupts(&self, record: bool, counted: bool) -> Result<Vec<Program>, String> {
        let devices = [
            ("irq_handler".to_string(), Kind::HardEntry, Kind::HardExit, 0),
            ("softirq".into(), Kind::SoftEntry, Kind::SoftExit, 0),
        ];
        // The processor's own, which some architectures trace separately.
        let local = LOCAL_INTERRUPTS
            .iter()
            .filter(|name| self.btf.tracepoint(&format!("{name}_entry")).is_some());
        let local =
            local.map(|name| (name.to_string(), Kind::HardEntry, Kind::HardExit, LOCAL_VECTORS));
        let all = devices.into_iter().chain(local).flat_map(|(name, entry, exit, base)| {
            [(format!("{name}_entry"), entry, base), (format!("{name}_exit"), exit, base)]
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(_, kind, _)| attached(*kind));
        let write = |asm: &mut Assembler, kind: Kind, base| {
            asm.load(Double, R7, R6, 0).by(Or, R7, base);
            pack_number(asm, kind);
            match record {
                true => self.append_event(asm, |asm| {
                    if counted {
                        count(asm, kind)
                    }
                }),
                false => {
                    let none = self.open_events(asm);
                    count(asm, kind);
                    asm.place(none).exit(0);
                }
            }
        };
        all.into_iter()
            .map(|(name, kind, base)| self.program(&name, &[false], |asm| write(asm, kind, base)))
            .collect()
    }

    /// Returns the program that reports arriving threads where no departure was reported; `None` if the kernel has no
    /// place for it.
    pub(super) fn arrivals(&self) -> Option<Program> {
        self.program("sched_exit_tp", &[false], |asm| self.arrival(asm)).ok()
    }

    /// Returns the program that lists every thread, in the same records as the ring of names.
    pub(super) fn threads(&self) -> Result<Program, String> {
        let id = self.btf.find(Described::Function, "bpf_iter_task");
        let id = id.ok_or("it has no iterator over its threads")?;
        let mut asm = Assembler::default();
        let end = asm.label();
        // The argument is { meta: { seq, … }, task }; at the end there is one more call without a task.
        asm.with(Move, R6, R1).load(Double, R7, R6, 8).jump(When::Equal, R7, 0, end);
        self.copy_name(&mut asm, R7);
        self.pack_identity(&mut asm, R7);
        asm.store_number(Double, R10, STACK_RECORD, 0)
            .store(Double, R10, STACK_RECORD + 8, R7)
            .store_number(Double, R10, STACK_NEW, 0)
            .load(Double, R1, R6, 0)
            .load(Double, R1, R1, 0)
            .with(Move, R2, R10)
            .by(Add, R2, STACK_RECORD.into())
            .by(Move, R3, NAME_RECORD as i32)
            .call(Function::SequenceWrite)
            .place(end)
            .exit(0);
        Ok(Program {
            name: c"hemiola_threads".into(),
            place: Place::Iterator(id),
            code: asm.finish(),
        })
    }

    /// Returns a program for the tracepoint `name`, whose first arguments must be pointers or not as `expected`.
    fn program(
        &self,
        name: &str,
        expected: &[bool],
        write: impl FnOnce(&mut Assembler),
    ) -> Result<Program, String> {
        let (id, arguments) =
            self.btf.tracepoint(name).ok_or_else(|| format!("it has no tracepoint {name}"))?;
        if !arguments.starts_with(expected) {
            return Err(format!("its tracepoint {name} has other arguments than expected"));
        }
        let mut asm = Assembler::default();
        asm.with(Move, R6, R1);
        write(&mut asm);
        let name = CString::new(name).expect("names of tracepoints have no zero");
        Ok(Program { name, place: Place::Tracepoint(id), code: asm.finish() })
    }

    /// `sched_switch(preempted, prev, next, state of prev)`.
    fn switch(&self, asm: &mut Assembler, counted: bool) {
        let (load, rt_lock, preempted, packed) =
            (asm.label(), asm.label(), asm.label(), asm.label());
        asm.load(Double, R1, R6, 8)
            .load(Word, R7, R1, self.tid)
            .by(ShiftLeft, R7, SHIFT_FIRST)
            .load(Double, R2, R6, 16)
            .load(Word, R3, R2, self.tid)
            .by(ShiftLeft, R3, SHIFT_SECOND)
            .with(Or, R7, R3)
            .load(Word, R3, R2, self.priority)
            .by(And, R3, 0xff)
            .by(ShiftLeft, R3, SHIFT_PRIORITY)
            .with(Or, R7, R3)
            .load(Double, R1, R6, 0)
            .jump(When::NotEqual, R1, 0, preempted)
            .load(Double, R1, R6, 24)
            .with(Move, R3, R1)
            .by(And, R3, STATE_REPORTED)
            .jump(When::AnyBit, R1, STATE_NO_LOAD, load)
            .jump(When::AnyBit, R1, STATE_RT_LOCK_OR_FROZEN, rt_lock)
            .jump(When::Always, R0, 0, packed)
            .place(load)
            .by(Or, R3, State::PARKED.into())
            .jump(When::Always, R0, 0, packed)
            .place(rt_lock)
            .by(Or, R3, State::UNINTERRUPTIBLE.into())
            .jump(When::Always, R0, 0, packed)
            .place(preempted)
            .by(Move, R3, State::PREEMPTED.into())
            .place(packed)
            .by(ShiftLeft, R3, SHIFT_NUMBER)
            .with(Or, R7, R3)
            .by(Or, R7, Kind::Switch as i32);
        self.append_event(asm, |asm| {
            asm.with(Move, R1, R7).by(ShiftRight, R1, SHIFT_SECOND).store(Double, R8, RUNNING, R1);
            if counted {
                // No interrupt switches threads. If a program was left out, the count is right again from here on.
                asm.store_number(Double, R8, NESTED, 0);
            }
        });
    }

    /// `sched_exit_tp(switched)`: the arriving thread has its processor. From the idle thread, which no kernel hides, a
    /// switch is reported always; nor is any other one told until the first has been reported, because nothing is
    /// known then of how threads leave.
    fn arrival(&self, asm: &mut Assembler) {
        let known = asm.label();
        asm.load(Double, R1, R6, 0)
            .jump(When::Equal, R1, 0, known)
            .call(Function::CurrentTask)
            .load(Word, R7, R0, self.tid)
            .load(Word, R6, R0, self.priority);
        let none = self.open_events(asm);
        asm.load(Double, R1, R8, RUNNING)
            .jump(When::Equal, R1, 0, known)
            .with(Subtract, R1, R7)
            .jump(When::Equal, R1, 0, known)
            .store(Double, R8, RUNNING, R7)
            .by(ShiftLeft, R7, SHIFT_SECOND)
            .by(And, R6, 0xff)
            .by(ShiftLeft, R6, SHIFT_PRIORITY)
            .with(Or, R7, R6)
            .by(Or, R7, Kind::Arrival as i32);
        let shape = Shape { slots: self.maps.event_slots, slot_words: 2 };
        append(asm, none, shape, true, |_| ());
        asm.place(known).exit(0);
    }

    /// `sched_waking(thread)` and `sched_wakeup_new(thread)`.
    fn wake(&self, asm: &mut Assembler, cause: Cause) {
        let Cause { context, calls } = cause;
        asm.load(Double, R1, R6, 0)
            .load(Word, R7, R1, self.processor)
            .by(ShiftLeft, R7, SHIFT_SECOND)
            .load(Word, R3, R1, self.tid)
            .by(ShiftLeft, R3, SHIFT_FIRST)
            .with(Or, R7, R3)
            .by(Or, R7, Kind::Wake as i32);
        if load_context(asm, context) {
            by_context(asm, calls);
        }
        self.append_event(asm, |asm| {
            if context == Context::Counted {
                asm.load(Double, R1, R8, NESTED);
                by_context(asm, calls);
            }
        });
    }

    /// `hrtimer_start(timer, mode)`: if the running thread starts it in clock_nanosleep(2) with an absolute time, and
    /// it wakes that thread. While the thread leaves its processor, the scheduler may start timers of its own.
    fn sleep_until(&self, asm: &mut Assembler, context: Context, calls: Calls, sleep: Sleep) {
        let other = asm.label();
        asm.load(Double, R1, R6, 8)
            .by(And, R1, RELATIVE_OR_PINNED)
            .jump(When::NotEqual, R1, 0, other)
            .load(Double, R1, R6, 0)
            .load(Double, R7, R1, sleep.expires)
            .load(Double, R1, R1, sleep.clock)
            .load(Double, R1, R1, sleep.ahead)
            .with(Subtract, R7, R1)
            .by(ShiftLeft, R7, SHIFT_NUMBER)
            .by(Or, R7, Kind::SleepUntil as i32);
        // Interrupts start timers too, whatever the thread does.
        if load_context(asm, context) {
            asm.jump(When::NotEqual, R1, 0, other);
        }
        asm.call(Function::CurrentTask)
            .load(Double, R1, R0, calls.memory)
            .jump(When::Equal, R1, 0, other)
            .with(Move, R1, R0)
            .call(Function::TaskRegisters)
            .load(Word, R1, R0, calls.number)
            .jump(When::NotEqual, R1, CLOCK_NANOSLEEP, other)
            .load(Double, R1, R0, sleep.flags)
            .by(And, R1, ABSOLUTE)
            .jump(When::Equal, R1, 0, other)
            .with(Move, R1, R10)
            .by(Add, R1, STACK_WOKEN.into())
            .by(Move, R2, 8)
            .load(Double, R3, R6, 0)
            .by(Add, R3, sleep.wakes.into())
            .call(Function::ProbeReadKernel)
            .jump(When::NotEqual, R0, 0, other)
            .call(Function::CurrentTask)
            .load(Double, R1, R10, STACK_WOKEN)
            .jump_with(When::NotEqual, R1, R0, other);
        self.append_event(asm, |asm| {
            if context == Context::Counted {
                asm.load(Double, R1, R8, NESTED).jump(When::NotEqual, R1, 0, other);
            }
            self.tell_running(asm);
        });
        asm.place(other).exit(0);
    }

    /// `sys_enter(registers, number)`.
    fn call_entry(&self, asm: &mut Assembler) {
        asm.load(Double, R7, R6, 8);
        pack_number(asm, Kind::CallEntry);
        self.append_event(asm, |asm| self.tell_running(asm));
    }

    /// `sys_exit(registers, result)`: the number is among the registers.
    fn call_exit(&self, asm: &mut Assembler) {
        let field = |name| self.btf.offset("pt_regs", &[name]);
        match field("orig_ax").or_else(|| field("syscallno")) {
            Some(offset) => asm.load(Double, R1, R6, 0).load(Word, R7, R1, offset),
            None => asm.by(Move, R7, -1),
        };
        pack_number(asm, Kind::CallExit);
        self.append_event(asm, |asm| self.tell_running(asm));
    }

    /// `task_newtask(thread, flags)`: the thread still has its parent's name.
    fn new_thread(&self, asm: &mut Assembler) {
        asm.load(Double, R7, R6, 0);
        self.copy_name(asm, R7);
        asm.store_number(Double, R10, STACK_NEW, 1);
        self.pack_identity(asm, R7);
        self.append_name(asm);
    }

    /// `task_rename(thread, name)`.
    fn renamed(&self, asm: &mut Assembler) {
        asm.store_number(Double, R10, STACK_NAME, 0)
            .store_number(Double, R10, STACK_NAME + 8, 0)
            .with(Move, R1, R10)
            .by(Add, R1, STACK_NAME.into())
            .by(Move, R2, NAME_LEN)
            .load(Double, R3, R6, 8)
            .call(Function::ProbeReadKernelString)
            .store_number(Double, R10, STACK_NEW, 0)
            .load(Double, R7, R6, 0);
        self.pack_identity(asm, R7);
        self.append_name(asm);
    }

    /// `thread = process << 32 | its number`.
    fn pack_identity(&self, asm: &mut Assembler, thread: Register) {
        asm.load(Word, R1, thread, self.tid)
            .load(Word, R2, thread, self.pid)
            .by(ShiftLeft, R2, 32)
            .with(Or, R1, R2)
            .with(Move, thread, R1);
    }

    /// Copies the name of `thread` to the stack.
    fn copy_name(&self, asm: &mut Assembler, thread: Register) {
        for half in [0, 8] {
            asm.load(Double, R1, thread, self.name + half).store(
                Double,
                R10,
                STACK_NAME + half,
                R1,
            );
        }
    }

    /// `R8 = ` the ring of this processor.
    fn open_events(&self, asm: &mut Assembler) -> Label {
        asm.call(Function::GetProcessorId).store(Word, R10, STACK_KEY, R0);
        open(asm, self.maps.events)
    }

    /// Stores R7 with the time in the ring of this processor, after `more` has examined the ring.
    fn append_event(&self, asm: &mut Assembler, more: impl FnOnce(&mut Assembler)) {
        let none = self.open_events(asm);
        more(asm);
        let shape = Shape { slots: self.maps.event_slots, slot_words: 2 };
        append(asm, none, shape, true, |_| ());
    }

    /// Reports the running thread to the ring at R8 if no switch has told it, so that its event belongs to it: at the
    /// beginning of a recording, and after a pause. R6 is lost.
    fn tell_running(&self, asm: &mut Assembler) {
        let known = asm.label();
        asm.call(Function::CurrentTask)
            .load(Word, R6, R0, self.tid)
            .load(Double, R1, R8, RUNNING)
            .with(Subtract, R1, R6)
            .jump(When::Equal, R1, 0, known)
            .by(ShiftLeft, R6, SHIFT_SECOND)
            .load(Word, R1, R0, self.priority)
            .by(And, R1, 0xff)
            .by(ShiftLeft, R1, SHIFT_PRIORITY)
            .with(Or, R6, R1)
            .by(Or, R6, Kind::Arrival as i32);
        let shape = Shape { slots: self.maps.event_slots, slot_words: 2 };
        append_before(asm, R6, shape, known);
        asm.by(ShiftRight, R6, SHIFT_SECOND).store(Double, R8, RUNNING, R6).place(known);
    }

    /// Stores R7 and the record on the stack with the time in the ring of names.
    fn append_name(&self, asm: &mut Assembler) {
        asm.store_number(Word, R10, STACK_KEY, 0);
        let none = open(asm, self.maps.names);
        let shape = Shape { slots: self.maps.name_slots, slot_words: NAME_WORDS };
        append(asm, none, shape, false, |asm| {
            for offset in [16, 24, 32] {
                asm.load(Double, R1, R10, STACK_RECORD + offset).store(Double, R8, offset, R1);
            }
        });
    }
}

/// `R1 = ` whether an interrupt is being served, if that is known without the ring. The other registers of a call are
/// lost.
fn load_context(asm: &mut Assembler, context: Context) -> bool {
    let offset = match context {
        Context::Counted => return false,
        Context::Variable(id, offset) => {
            asm.variable(R1, id).call(Function::ThisCpuPointer);
            offset
        }
        Context::Current(offset) => {
            asm.call(Function::CurrentTask);
            offset
        }
    };
    asm.load(Word, R1, R0, offset).by(And, R1, IN_INTERRUPT);
    true
}

/// `R7 = ` an event of this kind with the number in R7.
fn pack_number(asm: &mut Assembler, kind: Kind) {
    asm.by(And, R7, 0xffff).by(ShiftLeft, R7, SHIFT_FIRST).by(Or, R7, kind as i32);
}

/// Marks the event in R7 as caused by an interrupt, if R1 is not 0.
fn by_interrupt(asm: &mut Assembler) {
    let thread = asm.label();
    asm.jump(When::Equal, R1, 0, thread).by(Or, R7, 1 << SHIFT_NUMBER).place(thread);
}

/// Marks the wake-up in R7 as caused by an interrupt, if R1, the bits of [`IN_INTERRUPT`], is not 0. The argument is
/// at R6.
///
/// A thread that sends over the loopback device runs the soft interrupt that receives, within its own system call.
/// The running thread therefore causes a wake-up in a soft interrupt if it is in a system call, and if both it and the
/// woken thread belong to processes: kernel threads are woken by soft interrupts of any origin. A device that
/// interrupts a system call and wakes a thread through a soft interrupt is taken for the running thread.
fn by_context(asm: &mut Assembler, calls: Option<Calls>) {
    let Some(Calls { memory, number }) = calls else { return by_interrupt(asm) };
    let (thread, interrupt) = (asm.label(), asm.label());
    asm.jump(When::Equal, R1, 0, thread)
        .jump(When::NotEqual, R1, SOFT_INTERRUPT, interrupt)
        .load(Double, R1, R6, 0)
        .load(Double, R1, R1, memory)
        .jump(When::Equal, R1, 0, interrupt)
        .call(Function::CurrentTask)
        .load(Double, R1, R0, memory)
        .jump(When::Equal, R1, 0, interrupt)
        .with(Move, R1, R0)
        .call(Function::TaskRegisters)
        .load(Word, R1, R0, number)
        // The sign.
        .by(ShiftRight, R1, 31)
        .jump(When::Equal, R1, 0, thread)
        .place(interrupt)
        .by(Or, R7, 1 << SHIFT_NUMBER)
        .place(thread);
}

/// The order in which programs are attached. Exits come before entries, and the entry of soft interrupts comes last: of
/// an interrupt in progress meanwhile, neither the begin is counted without the end, nor the end alone while a soft
/// interrupt around it is counted.
const fn attached(kind: Kind) -> u8 {
    match kind {
        Kind::HardEntry => 1,
        Kind::SoftEntry => 2,
        _ => 0,
    }
}

/// Counts the begin or end of an interrupt in the ring at R8, in the layout of `preempt_count`. An interrupt in between
/// restores the count.
fn count(asm: &mut Assembler, kind: Kind) {
    let one = match kind {
        Kind::SoftEntry | Kind::SoftExit => SOFT_INTERRUPT,
        _ => DEVICE_INTERRUPT,
    };
    let none = asm.label();
    asm.load(Double, R1, R8, NESTED);
    match kind {
        Kind::HardEntry | Kind::SoftEntry => asm.by(Add, R1, one),
        _ => asm.jump(When::Equal, R1, 0, none).by(Subtract, R1, one),
    };
    asm.store(Double, R8, NESTED, R1).place(none);
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    /// What [`count`] does.
    fn counted(count: u64, kind: Kind) -> u64 {
        match kind {
            Kind::HardEntry => count.wrapping_add(DEVICE_INTERRUPT as u64),
            Kind::SoftEntry => count.wrapping_add(SOFT_INTERRUPT as u64),
            _ if count == 0 => 0,
            Kind::HardExit => count.wrapping_sub(DEVICE_INTERRUPT as u64),
            _ => count.wrapping_sub(SOFT_INTERRUPT as u64),
        }
    }

    #[test]
    fn no_interrupt_is_counted_for_ever_that_came_while_programs_were_attached() {
        let pairs = [(Kind::HardEntry, Kind::HardExit), (Kind::SoftEntry, Kind::SoftExit)];
        let mut programs: Vec<Kind> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        programs.sort_by_key(|kind| attached(*kind));
        for seed in 0..2_000 {
            let mut random = Random::from_seed(seed);
            let (mut working, mut open, mut count) = (0, Vec::new(), 0);
            // Interrupts of devices interrupt soft ones, and nothing interrupts those of devices.
            while working < programs.len() || !open.is_empty() {
                if random.below(6) == 0 {
                    working = (working + 1).min(programs.len());
                }
                let begins = random.below(2) == 0 && working < programs.len();
                let now = match open.last() {
                    None if random.below(2) == 0 => Kind::SoftEntry,
                    None => Kind::HardEntry,
                    Some(Kind::SoftEntry) if begins => Kind::HardEntry,
                    Some(Kind::SoftEntry) => Kind::SoftExit,
                    Some(_) => Kind::HardExit,
                };
                if matches!(now, Kind::SoftEntry | Kind::HardEntry) {
                    open.push(now);
                } else {
                    open.pop();
                }
                if programs[..working].contains(&now) {
                    count = counted(count, now);
                }
            }
            assert_eq!(count, 0, "seed {seed}");
        }
    }
}
