//! The time line of authority of a Simplex program, and the faults that its decision module found.
//!
//! The voltages that the I/O process wrote say who commanded; the events of the decision module and of the watchdog say
//! why. Units are named by the record of the run, by their slot where it does not know them.

use std::collections::BTreeMap;

use hemiola_trace::event::source;
use hemiola_trace::perfetto::Names;
use hemiola_trace::result::{DecisionRecord, Role, RunRecord};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::Process;

/// How many changes of authority a summary keeps for each run; all are counted.
pub const CHANGES_KEPT_MAX: usize = 100;

/// The states in which a unit's answers are no longer read.
const STATES_OVER: [&str; 3] = ["retired", "removed", "failed"];
/// The state of a unit whose process ended without the decision module noticing.
const DEAD: &str = "dead";

/// Authority and faults in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// The sources of the voltage in their order, the first [`CHANGES_KEPT_MAX`] of them.
    pub authority: Vec<Command>,
    /// The number of all of them.
    pub changes: u64,
    /// The faults found, by unit and kind, in the order in which they were first seen.
    pub unit_faults: Vec<UnitFault>,
    /// Every unit that the decision module knew, in their order.
    pub units: Vec<UnitEnd>,
}

/// A stretch of time with one source of the voltage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The cycle of its first voltage.
    pub cycle: u32,
    /// Time from the first release to its first voltage, ns.
    pub at_ns: i64,
    /// Time to the next source's first voltage, or to its own last one, ns.
    pub for_ns: i64,
    /// The name of the unit, or `safety`, `watchdog`, `fail-safe`.
    pub source: String,
    /// The reason of the change.
    pub because: Option<String>,
    /// V of the estimated state.
    pub v: Option<f64>,
    /// V predicted with the answer of the active unit.
    pub v_predicted: Option<f64>,
    /// The limit of V that decided: of the prediction for an answer that was refused, of the state for a return.
    pub v_limit: Option<f64>,
    /// The measured position of the cart, m; of a linear plant, its first measured state.
    pub position_m: Option<f64>,
    /// The measured angle of the rod, rad; of a linear plant, its second measured state.
    pub angle_rad: Option<f64>,
    /// Its first voltage.
    pub volts: f64,
}

/// A kind of fault of a unit or of the decision module's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitFault {
    /// The name of the unit; `decision`, `sensors` or `plant` for a fault of these.
    pub unit: String,
    /// The kind, by its own name.
    pub fault: String,
    /// Cycles in which it was found.
    pub count: u64,
    /// The first of them.
    pub cycle: u32,
    /// Time from the first release to when it was first found, ns.
    pub at_ns: i64,
    /// Samples since the unit's last acceptable answer when it was first found, that one included.
    pub samples: Option<u64>,
    /// How often control was taken away because of it.
    pub takeovers: u64,
    /// The state in which it ended the unit.
    pub ended: Option<String>,
}

/// A unit as its run left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitEnd {
    /// Its name.
    pub unit: String,
    /// Its slot.
    pub slot: u8,
    /// Its last state; `dead` if its process ended and the decision module still counted on it.
    pub state: String,
    /// Time in control, ns.
    pub commanded_ns: i64,
    /// The user id that its process had for itself; `None` if it had the run's, or no process.
    #[serde(default)]
    pub user: Option<u32>,
}

impl Control {
    /// Authority and faults in a run; `None` for a program without a decision module. `names` are those of the codes in
    /// its trace.
    #[must_use]
    pub fn of(
        processes: &[Process],
        names: &Names,
        run: &RunRecord,
        limits: Option<DecisionRecord>,
    ) -> Option<Self> {
        let of_role = |role| processes.iter().find(|process| process.role == role);
        let decision = &of_role(Role::Decision)?.entries;
        let io = of_role(Role::Io).map_or(&[][..], |process| &process.entries);
        let entries = || processes.iter().flat_map(|process| &process.entries);
        let starts = entries().filter(|entry| entry.kind == EventKind::Start);
        let origin = Instant::from_nanos(starts.map(|entry| entry.a).min().unwrap_or_default());
        let book = Book { names, run, origin, tenants: tenants(decision) };
        let tenures = book.tenures(io);
        let command = |tenure| book.command(tenure, decision, io, limits);
        Some(Self {
            authority: tenures.iter().take(CHANGES_KEPT_MAX).map(command).collect(),
            changes: tenures.len() as u64,
            unit_faults: book.faults(decision, io),
            units: book.units(decision, &tenures),
        })
    }
}

fn of_kind(entries: &[Entry], kind: EventKind) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(move |entry| entry.kind == kind)
}

/// The generations in each slot, and since when.
type Tenants = BTreeMap<u8, Vec<(Instant, u32)>>;

fn tenants(decision: &[Entry]) -> Tenants {
    let mut tenants = Tenants::new();
    for entry in of_kind(decision, EventKind::UnitState) {
        let list = tenants.entry(entry.a as u8).or_default();
        if list.last().is_none_or(|(_, generation)| *generation != entry.b as u32) {
            list.push((entry.at, entry.b as u32));
        }
    }
    tenants
}

/// A source of the voltage, the generation in its slot if it is a unit, and how long it commanded.
struct Tenure {
    source: (u16, Option<u32>),
    /// Its first voltage.
    first: Entry,
    /// When the next source wrote, or itself for the last time.
    until: Instant,
}

impl Tenure {
    fn length_ns(&self) -> i64 {
        (self.until - self.first.at).nanos()
    }
}

/// What gives numbers in a trace their names.
struct Book<'r> {
    names: &'r Names,
    run: &'r RunRecord,
    origin: Instant,
    tenants: Tenants,
}

impl Book<'_> {
    fn since_start(&self, at: Instant) -> i64 {
        (at - self.origin).nanos()
    }

    fn code(&self, entry: &Entry) -> String {
        let known = self.names.get(entry.kind, entry.arg);
        known.map_or_else(|| format!("{} {}", entry.kind.name(), entry.arg), str::to_owned)
    }

    /// The generation in a slot at some time; before the first, the first.
    fn tenant(&self, slot: u8, at: Instant) -> Option<u32> {
        let list = self.tenants.get(&slot)?;
        let began = list.partition_point(|(since, _)| *since <= at);
        Some(list[began.saturating_sub(1)].1)
    }

    fn unit(&self, slot: u8, generation: Option<u32>) -> String {
        let is_it = |unit: &&hemiola_trace::result::UnitRun| {
            (unit.slot, Some(unit.generation)) == (slot, generation)
        };
        let known = self.run.units.iter().find(is_it);
        known.map_or_else(|| source::name(source::unit(slot.into())), |unit| unit.name.clone())
    }

    /// A source, and the generation in its slot if it is a unit.
    fn source(&self, code: u16, at: Instant) -> (u16, Option<u32>) {
        let slot = source::slot(code).and_then(|slot| u8::try_from(slot).ok());
        (code, slot.and_then(|slot| self.tenant(slot, at)))
    }

    fn source_name(&self, (code, generation): (u16, Option<u32>)) -> String {
        match source::slot(code) {
            Some(slot) => self.unit(slot as u8, generation),
            None => source::name(code),
        }
    }

    /// The stretches of time with one source, first to last.
    fn tenures(&self, io: &[Entry]) -> Vec<Tenure> {
        let mut list: Vec<Tenure> = Vec::new();
        for write in of_kind(io, EventKind::Actuate) {
            let source = self.source(write.arg, write.at);
            if let Some(last) = list.last_mut() {
                last.until = write.at;
                if last.source == source {
                    continue;
                }
            }
            list.push(Tenure { source, first: *write, until: write.at });
        }
        list
    }

    fn command(
        &self,
        tenure: &Tenure,
        decision: &[Entry],
        io: &[Entry],
        limits: Option<DecisionRecord>,
    ) -> Command {
        let write = &tenure.first;
        let is_its = |switch: &&Entry| {
            // A program that writes first uses the decision of the cycle before.
            let age = write.cycle.wrapping_sub(switch.cycle);
            switch.b as u16 == write.arg && matches!(age, 0 | 1)
        };
        let switches = [decision, io].into_iter().flat_map(|it| of_kind(it, EventKind::Switch));
        let switch = switches.filter(is_its).max_by_key(|switch| switch.cycle);
        let because = switch.map(|switch| self.code(switch));
        let cycle = switch.map_or(write.cycle, |switch| switch.cycle);
        let in_cycle = |entries, kind| of_kind(entries, kind).find(|entry| entry.cycle == cycle);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let decided = in_cycle(decision, EventKind::Decide);
        let sampled = in_cycle(io, EventKind::Sample);
        let is_unit = source::slot(write.arg).is_some();
        Command {
            cycle: write.cycle,
            at_ns: self.since_start(write.at),
            for_ns: tenure.length_ns(),
            source: self.source_name(tenure.source),
            v_limit: limits.and_then(|limits| match because.as_deref() {
                Some("leaves-region") => Some(limits.accept_below),
                _ => Some(limits.return_below).filter(|_| is_unit),
            }),
            because,
            v: decided.and_then(|entry| finite(entry.a_f64())),
            v_predicted: decided.and_then(|entry| finite(entry.b_f64())),
            position_m: sampled.and_then(|entry| finite(entry.a_f64())),
            angle_rad: sampled.and_then(|entry| finite(entry.b_f64())),
            volts: write.a_f64(),
        }
    }

    /// The subject of a fault: the unit, or what the name of the fault begins with.
    fn subject(&self, slot: Option<u8>, at: Instant, fault: &str) -> String {
        match slot {
            Some(slot) => self.unit(slot, self.tenant(slot, at)),
            None => fault.split('-').next().unwrap_or_default().to_owned(),
        }
    }

    fn faults(&self, decision: &[Entry], io: &[Entry]) -> Vec<UnitFault> {
        let mut found = Found::default();
        // The newest fault of each unit, and its cycle.
        let mut newest = BTreeMap::<u64, (u32, usize)>::new();
        for entry in decision.iter().chain(of_kind(io, EventKind::Fault)) {
            match entry.kind {
                EventKind::Fault => {
                    let fault = self.code(entry);
                    let unit = self.subject(u8::try_from(entry.a).ok(), entry.at, &fault);
                    let row = found.row(unit, fault, entry, self.since_start(entry.at));
                    newest.insert(entry.a, (entry.cycle, row));
                }
                EventKind::Switch => {
                    let slot =
                        source::slot(entry.a as u16).and_then(|slot| u8::try_from(slot).ok());
                    let reason = self.code(entry);
                    let unit = self.subject(slot, entry.at, &reason);
                    found.count_takeover(&unit, &reason);
                }
                EventKind::UnitState => {
                    let state = self.code(entry);
                    let fault = newest.get(&entry.a).filter(|(cycle, _)| *cycle == entry.cycle);
                    if let Some((_, row)) = fault
                        && STATES_OVER.contains(&state.as_str())
                        && state != "removed"
                    {
                        found.rows[*row].ended = Some(state);
                    }
                }
                _ => {}
            }
        }
        found.rows.sort_by_key(|row| row.at_ns);
        found.rows
    }

    fn units(&self, decision: &[Entry], tenures: &[Tenure]) -> Vec<UnitEnd> {
        let mut units: Vec<UnitEnd> = Vec::new();
        for entry in of_kind(decision, EventKind::UnitState) {
            let (slot, state) = (entry.a as u8, self.code(entry));
            let generation = Some(entry.b as u32);
            let unit = self.unit(slot, generation);
            if let Some(known) = units.iter_mut().find(|known| known.unit == unit) {
                known.state = state;
                continue;
            }
            let code = source::unit(slot.into());
            let its = tenures.iter().filter(|tenure| tenure.source == (code, generation));
            let commanded_ns = its.map(Tenure::length_ns).sum();
            units.push(UnitEnd { unit, slot, state, commanded_ns, user: None });
        }
        for unit in &mut units {
            let run = self.run.units.iter().find(|run| run.name == unit.unit);
            unit.user = run.and_then(|run| run.user);
            let has_ended = run.is_some_and(|run| run.ended_after.is_some());
            if !STATES_OVER.contains(&unit.state.as_str()) && has_ended {
                unit.state = DEAD.into();
            }
        }
        units
    }
}

/// The faults found so far.
#[derive(Default)]
struct Found {
    rows: Vec<UnitFault>,
    by_name: BTreeMap<(String, String), usize>,
}

impl Found {
    /// Counts a fault; returns its row.
    fn row(&mut self, unit: String, fault: String, entry: &Entry, at_ns: i64) -> usize {
        let rows = &mut self.rows;
        let row = *self.by_name.entry((unit.clone(), fault.clone())).or_insert_with(|| {
            rows.push(UnitFault {
                unit,
                fault,
                count: 0,
                cycle: entry.cycle,
                at_ns,
                samples: Some(entry.b).filter(|samples| *samples > 0),
                takeovers: 0,
                ended: None,
            });
            rows.len() - 1
        });
        self.rows[row].count += 1;
        row
    }

    fn count_takeover(&mut self, unit: &str, reason: &str) {
        if let Some(row) = self.by_name.get(&(unit.to_owned(), reason.to_owned())) {
            self.rows[*row].takeovers += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cycles::synthetic::run_record;
    use hemiola_trace::result::UnitRun;
    use hemiola_units::{Profile, Span};

    const SAFETY: u64 = source::SAFETY as u64;
    const UNIT: u64 = source::UNIT_0 as u64;
    const WATCHDOG: u64 = source::WATCHDOG as u64;
    const FAULTS: [(u16, &str); 3] = [(7, "not-finite"), (12, "exited"), (18, "decision-missing")];
    const REASONS: [(u16, &str); 5] = [
        (1, "started"),
        (2, "returned"),
        (107, "not-finite"),
        (112, "exited"),
        (118, "decision-missing"),
    ];
    const STATES: [(u16, &str); 4] =
        [(1, "starting"), (3, "active"), (6, "removed"), (7, "failed")];

    /// A run with a cycle per second, written event by event.
    struct Trace {
        decision: Vec<Entry>,
        io: Vec<Entry>,
        run: RunRecord,
        cycle: u32,
    }

    impl Trace {
        fn new() -> Self {
            let (decision, io) = (Vec::new(), Vec::new());
            Self { decision, io, run: run_record(1, 0), cycle: 0 }
        }

        fn entry(&self, kind: EventKind, arg: u16, a: u64, b: u64) -> Entry {
            let at = Instant::from_nanos(u64::from(self.cycle + 1) * 1_000_000_000);
            Entry { at, kind, arg, cycle: self.cycle, a, b }
        }

        /// A cycle with these events of the decision module, in which `source` writes a voltage.
        fn cycle(mut self, source: u64, events: &[(EventKind, u16, u64, u64)]) -> Self {
            let release = u64::from(self.cycle + 1) * 1_000_000_000;
            self.io.push(self.entry(EventKind::Start, 0, release, 0));
            self.io.push(self.entry(EventKind::Sample, 0, 0.1f64.to_bits(), 0.2f64.to_bits()));
            let v = f64::from(self.cycle) / 16.0;
            self.decision.push(self.entry(EventKind::Decide, 0, v.to_bits(), f64::NAN.to_bits()));
            for (kind, arg, a, b) in events {
                self.decision.push(self.entry(*kind, *arg, *a, *b));
            }
            let volts = f64::from(self.cycle).to_bits();
            self.io.push(self.entry(EventKind::Actuate, source as u16, volts, 0));
            self.cycle += 1;
            self
        }

        fn named(mut self, name: &str, slot: u8, generation: u32, ended: Option<i64>) -> Self {
            self.run.units.push(UnitRun {
                name: name.into(),
                slot,
                generation,
                asked: Profile::ordinary(),
                ended_after: ended.map(Span::from_millis),
                user: None,
            });
            self
        }

        fn control(&self) -> Control {
            let mut names = Names::default();
            names.insert_all(EventKind::Fault, &FAULTS);
            names.insert_all(EventKind::Switch, &REASONS);
            names.insert_all(EventKind::UnitState, &STATES);
            let process = |name: &str, role, entries: &[Entry]| Process {
                name: name.into(),
                role,
                in_cycle: true,
                entries: entries.to_vec(),
            };
            let processes = [
                process("io", Role::Io, &self.io),
                process("decision", Role::Decision, &self.decision),
            ];
            let limits = DecisionRecord { accept_below: 0.6, return_below: 0.25 };
            Control::of(&processes, &names, &self.run, Some(limits)).unwrap()
        }
    }

    const fn begins(generation: u64) -> [(EventKind, u16, u64, u64); 2] {
        [(EventKind::UnitState, 1, 0, generation), (EventKind::UnitState, 3, 0, generation)]
    }

    /// The first unit in slot 0 loses control by not-a-number and fails; the next one in the slot is killed.
    fn two_units() -> Trace {
        use EventKind::{Fault, Switch, UnitState};
        let [starting, active] = begins(1);
        let [starting_too, active_too] = begins(2);
        Trace::new()
            .named("first", 0, 1, Some(5_000))
            .named("second", 0, 2, None)
            .cycle(SAFETY, &[starting, (Switch, 1, 0, SAFETY)])
            .cycle(UNIT, &[active, (Switch, 1, SAFETY, UNIT)])
            .cycle(UNIT, &[])
            .cycle(SAFETY, &[(Fault, 7, 0, 1), (Switch, 107, UNIT, SAFETY)])
            .cycle(SAFETY, &[(Fault, 7, 0, 2), (UnitState, 7, 0, 1)])
            .cycle(SAFETY, &[starting_too])
            .cycle(UNIT, &[active_too, (Switch, 2, SAFETY, UNIT)])
            .cycle(UNIT, &[(Fault, 12, 0, 1), (UnitState, 7, 0, 2)])
            .cycle(SAFETY, &[(Switch, 112, UNIT, SAFETY)])
    }

    /// An example with changes of authority, faults and units.
    pub(crate) fn control() -> Control {
        two_units().control()
    }

    #[test]
    fn the_time_line_names_the_unit_and_the_reason_of_each_change() {
        let control = two_units().control();
        let lines: Vec<_> = control
            .authority
            .iter()
            .map(|it| (it.cycle, it.source.as_str(), it.because.as_deref().unwrap()))
            .collect();
        assert_eq!(
            lines,
            [
                (0, "safety", "started"),
                (1, "first", "started"),
                (3, "safety", "not-finite"),
                (6, "second", "returned"),
                (8, "safety", "exited"),
            ]
        );
        assert_eq!(control.changes, 5);
        let taken = &control.authority[2];
        assert_eq!((taken.at_ns, taken.for_ns), (3_000_000_000, 3_000_000_000));
        assert_eq!((taken.v, taken.v_predicted, taken.v_limit), (Some(0.1875), None, None));
        assert_eq!((taken.position_m, taken.angle_rad, taken.volts), (Some(0.1), Some(0.2), 3.0));
        assert_eq!(control.authority[3].v_limit, Some(0.25));
    }

    #[test]
    fn each_kind_of_fault_is_a_row_with_what_was_done() {
        let control = two_units().control();
        let fault = |unit: &str, fault: &str, count, cycle| UnitFault {
            unit: unit.into(),
            fault: fault.into(),
            count,
            cycle,
            at_ns: i64::from(cycle) * 1_000_000_000,
            samples: Some(1),
            takeovers: 1,
            ended: Some("failed".into()),
        };
        assert_eq!(
            control.unit_faults,
            [fault("first", "not-finite", 2, 3), fault("second", "exited", 1, 7)]
        );
        let states: Vec<_> = control
            .units
            .iter()
            .map(|it| (it.unit.as_str(), it.state.as_str(), it.commanded_ns / 1_000_000_000))
            .collect();
        assert_eq!(states, [("first", "failed", 2), ("second", "failed", 2)]);
    }

    #[test]
    fn a_unit_whose_process_has_ended_is_never_active() {
        let [starting, active] = begins(1);
        let run = Trace::new().cycle(SAFETY, &[starting]).cycle(UNIT, &[active]);
        let state = |run: Trace| run.control().units[0].state.clone();
        assert_eq!(state(run.named("killed", 0, 1, Some(2_000))), "dead");
        let run = Trace::new().cycle(SAFETY, &[starting]).cycle(UNIT, &[active]);
        assert_eq!(state(run.named("alive", 0, 1, None)), "active");
    }

    #[test]
    fn a_trace_of_a_folder_without_names_of_units_names_slots() {
        let mut run = two_units();
        run.run.units.clear();
        let control = run.control();
        assert_eq!(control.authority[1].source, "unit 0");
        assert_eq!(control.unit_faults[0].unit, "unit 0");
    }

    #[test]
    fn the_watchdog_is_in_the_time_line_and_its_fault_in_the_table() {
        let mut run = Trace::new().cycle(SAFETY, &[]);
        let fault = run.entry(EventKind::Fault, 18, u64::MAX, 0);
        let switch = run.entry(EventKind::Switch, 118, SAFETY, WATCHDOG);
        run = run.cycle(WATCHDOG, &[]);
        run.io.extend([fault, switch]);
        let control = run.control();
        let last = control.authority.last().unwrap();
        assert_eq!(
            (last.source.as_str(), last.because.as_deref()),
            ("watchdog", Some("decision-missing"))
        );
        let fault = &control.unit_faults[0];
        assert_eq!((fault.unit.as_str(), fault.samples), ("decision", None));
    }

    #[test]
    fn a_program_without_a_decision_module_has_no_time_line() {
        assert_eq!(Control::of(&[], &Names::default(), &run_record(1, 0), None), None);
    }
}
