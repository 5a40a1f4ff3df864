//! Every key of a scenario, stated once: its type, default, shape and meaning.

use hemiola_plant::{Model, Settings as Plant};
use hemiola_simplex::performance::Settings as Performance;
use hemiola_simplex::{Gain, Settings as Rule};
use hemiola_units::{Bytes, Delivery, Endpoint, Overrun, Rate, Span};

use crate::document::{At, OneOrMany, Shape, Word};
use crate::plan::{Message, UnitState};
use crate::{sections, words};

pub(crate) mod federation;

/// Units of a variant: the slots of the decision module.
pub(crate) const UNITS_MAX: usize = hemiola_simplex::SLOTS;
/// Runs of a variant, and of a kind of fault.
pub(crate) const RUNS_MAX: i64 = 10_000;
const VARIANTS_MAX: usize = 64;
const PROCESSES_MAX: usize = 32;
const PROFILES_MAX: usize = 64;
/// Values of a list that makes a variant several.
const STEPS_MAX: usize = 32;
/// Threads of a benchmark.
const THREADS_MAX: i64 = 64;

/// The tables under names of the user's.
type Named<'s, T> = Vec<(At<&'s str>, T)>;
/// The strings of an array.
type Texts<'s> = Vec<At<&'s str>>;
/// A gain, or a name that no gain has.
type GainOrName<'s> = Result<Gain, &'s str>;

/// The default of `duration` while a scenario that lacks it is checked, and of `warmup`.
pub(crate) const DURATION: Span = Span::from_millis(5_000);

sections! {
    /// The whole document.
    pub(crate) struct Scenario<'s> = "a scenario" {
        must title: &'s str, Shape::Text, "One line for headings.";
        may description: &'s str, Shape::Text, "What the scenario is about.";
        must rate: Rate, Shape::Rate, "Rate of the control cycle, \"50Hz\" or \"20ms\".";
        must duration: Span, Shape::Length, "Counted part of one run of one variant.";
        may warmup: Span = Span::from_millis(500), Shape::LengthOrZero, "What runs before it, uncounted.";
        may runs: u32 = 1, Shape::Whole(1, RUNS_MAX), "Runs of each variant.";
        may seed: u64 = 1, Shape::Whole(0, i64::MAX), "Seed of all randomness.";
        may allow_less: bool = false, Shape::Boolean,
            "Go on when less is granted than a profile asks for, and mark the figures.";
        may plant: PlantKeys<'s>, Shape::One(PlantKeys::TABLE), "The simulated apparatus, shared by all variants.";
        may card: CardKeys<'s>, Shape::One(CardKeys::TABLE), "The emulated converter card.";
        may decision: DecisionKeys<'s>, Shape::One(DecisionKeys::TABLE), "The rule of decision processes.";
        may profiles: Named<'s, ProfileKeys<'s>>, Shape::Named(ProfileKeys::TABLE, PROFILES_MAX),
            "What processes ask the system for.";
        may variant: Vec<VariantKeys<'s>>, Shape::Many(VariantKeys::TABLE, VARIANTS_MAX),
            "The programs to compare, in order.";
        may campaign: CampaignKeys<'s>, Shape::One(CampaignKeys::TABLE),
            "Faults to inject instead of running the variants one by one.";
        may federation: federation::FederationKeys<'s>, Shape::One(federation::FederationKeys::TABLE),
            "Federates and their RTI instead of variants: each mode is run as one.";
        may trace: TraceKeys<'s>, Shape::One(TraceKeys::TABLE), "What the traces of the runs hold.";
    }

    /// `[trace]`
    pub(crate) struct TraceKeys<'s> = "the trace" {
        may kernel: bool, Shape::Boolean,
            "Record who had which processor and who woke whom: always, or never; default where permitted.";
    }

    /// `[plant]`
    pub(crate) struct PlantKeys<'s> = "the plant" {
        may model: Model = Plant::default().model, Shape::Word(Model::WORDS), "Parameters of cart and rod.";
        may step: Span = Plant::default().step, Shape::Length, "Step of the integrator, 100us to 5ms.";
        may noise: f64 = Plant::default().noise_v_rms, Shape::Number(0.0, 1.0), "V rms per step and sensor.";
        may filter_corner: Rate, Shape::Rate, "Corner of the A/D filters; default 50Hz.";
        may stiction: f64 = Plant::default().stiction, Shape::Number(0.0, 10.0), "Stiction of the cart in N.";
        may start: StartKeys<'s>, Shape::One(StartKeys::TABLE),
            "Where the pendulum starts; default at rest, upright.";
        may profile: &'s str, Shape::Text, "Profile of its process; default \"plant\" where there is one.";
    }

    /// `[plant.start]`
    pub(crate) struct StartKeys<'s> = "the start" {
        may position: f64 = 0.0, Shape::Number(-0.4, 0.4), "Cart from mid-track, m.";
        may angle_deg: f64 = 0.0, Shape::Number(-30.0, 30.0), "Rod from upright, degrees.";
    }

    /// `[card]`
    pub(crate) struct CardKeys<'s> = "the card" {
        may conversion_time: Span = Span::ZERO, Shape::LengthOrZero,
            "Time of one conversion; a cycle has two A/D and one D/A.";
    }

    /// `[decision]`
    pub(crate) struct DecisionKeys<'s> = "the decision rule" {
        may safety: GainOrName<'s> = gain(Rule::default().safety), Shape::Gain, "The safety controller.";
        may accept_below: f64 = Rule::default().accept_below, Shape::Number(0.01, 1.0),
            "Highest predicted Lyapunov value of a command that is accepted.";
        may return_below: f64 = Rule::default().return_below, Shape::Number(0.01, 1.0),
            "Lyapunov value below which control returns.";
        may return_after: u32 = Rule::default().return_after, Shape::Whole(1, 100_000),
            "Clean cycles before control returns.";
        may strikes: u32 = Rule::default().strikes, Shape::Whole(0, 1000),
            "Switches that retire a unit, 0 for never.";
        may forgive_after: u32 = Rule::default().forgive_after, Shape::Whole(0, 1_000_000),
            "Cycles in control without a strike that forgive one, 0 for never.";
        may give_up_after: u32 = Rule::default().give_up_after, Shape::Whole(0, 100_000),
            "Cycles without an answer after which a unit is given up, 0 for never.";
        may promote_after: u32 = Rule::default().promote_after, Shape::Whole(1, 100_000),
            "Acceptable answers in a row before a unit can be promoted.";
        may answer_within: Span = Rule::default().answer_within, Shape::Length,
            "From the release to when an answer is missing; below the period.";
        may performance: PerformanceKeys<'s>, Shape::One(PerformanceKeys::TABLE),
            "Watches for a safe but poor unit.";
    }

    /// `[decision.performance]`
    pub(crate) struct PerformanceKeys<'s> = "the performance monitor" {
        may window: Span = Performance::default().window, Shape::Length, "What the running cost remembers.";
        may limit: f64 = Performance::default().limit, Shape::Number(0.01, 1e6), "Times the expected cost.";
        may remedy: RemedyWord = RemedyWord::Report, Shape::Word(RemedyWord::WORDS),
            "Report it, treat it as a fault of the unit, or do not watch.";
    }

    /// `[profiles.NAME]`
    pub(crate) struct ProfileKeys<'s> = "a profile" {
        must policy: PolicyWord, Shape::Word(PolicyWord::WORDS), "Scheduling policy.";
        may nice: i8 = 0, Shape::Whole(-20, 19), of ["other"], "Of other.";
        may priority: u8, Shape::Whole(1, 99), of ["fifo", "rr"], "Of fifo and rr; higher first.";
        may runtime: Span, Shape::Length, of ["deadline"], "Of deadline: processor time per period.";
        may deadline: Span, Shape::Length, of ["deadline"], "Of deadline: by when; default the period.";
        may period: Span, Shape::Length, of ["deadline"], "Of deadline.";
        may cpus: &'s str, Shape::Cpus, "\"0\", \"0,2-3\", \"first\" or \"last\"; default any.";
        may lock_memory: bool = false, Shape::Boolean, "No page ever leaves memory.";
        may prefault_stack: Bytes = Bytes(0), Shape::Size, "Stack touched before the first release.";
    }

    /// `[[variant]]`
    pub(crate) struct VariantKeys<'s> = "a variant" {
        must name: &'s str, Shape::Name, "Unique.";
        may description: &'s str, Shape::Text, "What is special about it.";
        may rate: Rate, Shape::Rate, "Instead of the scenario's.";
        may channels: Named<'s, ChannelKeys<'s>>, Shape::Named(ChannelKeys::TABLE, PROCESSES_MAX),
            "Connections between processes.";
        must processes: Named<'s, ProcessKeys<'s>>, Shape::Named(ProcessKeys::TABLE, PROCESSES_MAX),
            "In the order of starting.";
        may units: Vec<UnitKeys<'s>>, Shape::Many(UnitKeys::TABLE, UNITS_MAX), "Replacement units, by slot.";
    }

    /// `[variant.channels]`
    pub(crate) struct ChannelKeys<'s> = "a channel" {
        must endpoint: Endpoint, Shape::Endpoint, "\"shm:name\", \"mq:name\" or \"pubsub:name\".";
        must delivery: Delivery, Shape::Delivery, "\"latest\", or { queue = 8 }.";
        may message: Message, Shape::Word(Message::WORDS), "What one message is; default by the channel's name.";
    }

    /// `[variant.processes]`
    pub(crate) struct ProcessKeys<'s> = "a process" {
        must task: TaskWord, Shape::Word(TaskWord::WORDS), "What it does.";
        may order: OrderWord = OrderWord::WriteFirst, Shape::Word(OrderWord::WORDS), of ["io"],
            "Of io: write the previous command first, or sample first and wait.";
        may command_within: Span, Shape::Length, of ["io"],
            "Of io, read-first: from release to when 0 V is written; default 1.5 answer_within.";
        may gain: GainOrName<'s>, Shape::Gain, of ["monolithic", "controller"], "Of monolithic and controller.";
        may compute: Span, Shape::Length, of ["workload"], "Of workload: processor time of one job.";
        may share: OneOrMany<f64>, Shape::Shares(STEPS_MAX), of ["workload"],
            "Of workload, instead of compute: percent of a processor; a list runs the variant once for each.";
        may takes_turns: bool = false, Shape::Boolean, of ["workload"],
            "Of workload: works in the second and third of four turns of the benchmark.";
        may threads: u32 = 4, Shape::Whole(1, THREADS_MAX), of ["benchmark"], "Of benchmark.";
        may memory: Bytes = Bytes(256 << 10), Shape::Size, of ["benchmark"],
            "Of benchmark: what each thread walks through.";
        may turn: Span = Span::from_millis(100), Shape::Length, of ["benchmark"],
            "Of benchmark: work is counted by turns.";
        may command: Texts<'s>, Shape::Texts, of ["command"], "Of command: program and arguments.";
        may rate: OneOrMany<Rate>, Shape::Rates(STEPS_MAX), of ["workload"],
            "Of workload; default the variant's; a list runs the variant once for each.";
        may deadline: Span, Shape::Length, of ["io", "monolithic", "controller", "decision", "workload"],
            "From the release; default the period.";
        may overrun: Overrun = Overrun::Skip, Shape::Word(Overrun::WORDS), of ["io", "monolithic", "workload"],
            "What a late job does to the next release.";
        may lead: Span = Span::ZERO, Shape::LengthOrZero, of ["io", "monolithic", "decision", "workload"],
            "How long before each release it wakes and warms up.";
        may after: Texts<'s>, Shape::Texts, "Processes that start before it.";
        may profile: &'s str, Shape::Text, "A name in [profiles]; default an ordinary process.";
        may priority: u8, Shape::Whole(1, 99), "Instead of the profile's.";
        may sends: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"], "Channels it writes.";
        may receives: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"], "Channels it reads.";
    }

    /// `[[variant.units]]`
    pub(crate) struct UnitKeys<'s> = "a unit" {
        must name: &'s str, Shape::Name, "Unique in the variant, processes included.";
        may gain: GainOrName<'s>, Shape::Gain, "Our own controller with this law …";
        may command: Texts<'s>, Shape::Texts, "… or a program that keeps the unit contract.";
        may fault: &'s str, Shape::Text, "What goes wrong in it on purpose.";
        may fault_after: Span = Span::ZERO, Shape::LengthOrZero, "When, from the start of the run.";
        may profile: &'s str, Shape::Text, "A name in [profiles]; default an ordinary process.";
        may priority: u8, Shape::Whole(1, 99), "Instead of the profile's.";
        may state: UnitState, Shape::Word(UnitState::WORDS),
            "How it begins; default active for the first, shadow for the others.";
        may budget: Span, Shape::Length,
            "Processor time per cycle before it is stopped; default answer_within.";
    }

    /// `[campaign]`
    pub(crate) struct CampaignKeys<'s> = "a campaign" {
        may simulated: SimulatedKeys<'s>, Shape::One(SimulatedKeys::TABLE), "Output faults, in pure simulation.";
        may process: ProcessFaultKeys<'s>, Shape::One(ProcessFaultKeys::TABLE),
            "Faults of real processes, in variants.";
    }

    /// `[campaign.simulated]`
    pub(crate) struct SimulatedKeys<'s> = "the simulated campaign" {
        may kinds: Texts<'s>, Shape::Kinds, "Faults; default \"all\".";
        may runs: u32, Shape::Whole(1, RUNS_MAX), "Runs a kind; default the scenario's.";
        may duration: Span, Shape::Length, "Of one run; default the scenario's.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero, "When the fault begins.";
        may gain: GainOrName<'s> = Gain::named("experimental").ok_or("experimental"), Shape::Gain,
            "What goes wrong.";
    }

    /// `[campaign.process]`
    pub(crate) struct ProcessFaultKeys<'s> = "the process campaign" {
        may kinds: Texts<'s>, Shape::Kinds, "Faults; default \"all\".";
        may runs: u32, Shape::Whole(1, RUNS_MAX), "Runs a kind; default the scenario's.";
        may duration: Span, Shape::Length, "Of one run; default the scenario's.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero, "When the fault begins.";
        may with: &'s str, Shape::Text, "The variant with a decision process.";
        may without: &'s str, Shape::Text, "The variant without one.";
    }
}

/// A gain that exists, as a default.
const fn gain<'s>(gain: Gain) -> GainOrName<'s> {
    Ok(gain)
}

const FAULT_AFTER: Span = Span::from_millis(2_000);

words!(Model { SeiFit "sei-fit", Ip01 "ip01" });
words!(Message { Sensors "sensors", Command "command" });
words!(Overrun { Skip "skip", CatchUp "catch-up", Stop "stop" });
words!(UnitState { Active "active", Shadow "shadow" });
words! {
    /// What to do about a poor unit.
    pub(crate) enum RemedyWord { Report "report", Switch "switch", Off "off" }
}
words! {
    /// Scheduling policies.
    pub(crate) enum PolicyWord { Other "other", Fifo "fifo", RoundRobin "rr", Deadline "deadline" }
}
words! {
    /// Tasks of processes.
    pub(crate) enum TaskWord {
        Io "io",
        Monolithic "monolithic",
        Controller "controller",
        Decision "decision",
        Workload "workload",
        Benchmark "benchmark",
        Command "command",
    }
}
words! {
    /// What an I/O process does first in a cycle.
    pub(crate) enum OrderWord { WriteFirst "write-first", ReadFirst "read-first" }
}
