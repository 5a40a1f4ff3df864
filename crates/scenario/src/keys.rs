//! The keys of a scenario: type, default, shape and description of each.

use hemiola_plant::{Model, Settings as Plant};
use hemiola_simplex::performance::Settings as Performance;
use hemiola_simplex::{Gain, Settings as Rule};
use hemiola_units::{Bytes, Delivery, Endpoint, Overrun, Rate, Span};

use crate::document::{At, Named, OneOrMany, Shape, Word};
use crate::plan::{Message, UnitState};
use crate::{sections, words};

pub(crate) mod federation;

/// Units of a variant: the slots of the decision module.
pub(crate) const UNITS_MAX: usize = hemiola_simplex::SLOTS;
/// The most runs of a variant, and of a kind of fault.
pub(crate) const RUNS_MAX: i64 = 10_000;
const VARIANTS_MAX: usize = 64;
const PROCESSES_MAX: usize = 32;
const PROFILES_MAX: usize = 64;
/// The most values of a list that expands one variant into several.
const STEPS_MAX: usize = 32;
/// The most threads of a benchmark.
const THREADS_MAX: i64 = 64;

/// The strings of an array.
type Texts<'s> = Vec<At<&'s str>>;
/// A gain, or an unknown name.
type GainOrName<'s> = Result<Gain, &'s str>;

/// The default of `duration` while a scenario that lacks it is checked, and of `warmup`.
pub(crate) const DURATION: Span = Span::from_millis(5_000);

sections! {
    /// The whole document.
    pub(crate) struct Scenario<'s> = "a scenario" {
        must title: &'s str, Shape::Text, "One line for headings.";
        may description: &'s str, Shape::Text, "The purpose of the scenario.";
        must rate: Rate, Shape::Rate, "Rate of the control cycle, \"50Hz\" or \"20ms\".";
        must duration: Span, Shape::Length, "Counted part of one run of one variant.";
        may warmup: Span = Span::from_millis(500), Shape::LengthOrZero, "Uncounted part before it.";
        may runs: u32 = 1, Shape::Whole(1, RUNS_MAX), "Runs of each variant.";
        may seed: u64 = 1, Shape::Whole(0, i64::MAX), "Seed of all randomness.";
        may allow_less: bool = false, Shape::Boolean,
            "Continue when the system grants less than a profile requests, and mark the figures.";
        may plant: PlantKeys<'s>, Shape::One(PlantKeys::TABLE), "The simulated apparatus, shared by all variants.";
        may card: CardKeys<'s>, Shape::One(CardKeys::TABLE), "The emulated converter card.";
        may decision: DecisionKeys<'s>, Shape::One(DecisionKeys::TABLE), "The rule of decision processes.";
        may profiles: Named<'s, ProfileKeys<'s>>, Shape::Named(ProfileKeys::TABLE, PROFILES_MAX),
            "Scheduling, processors and memory that processes request.";
        may variant: Vec<VariantKeys<'s>>, Shape::Many(VariantKeys::TABLE, VARIANTS_MAX),
            "The programs to compare, in order.";
        may campaign: CampaignKeys<'s>, Shape::One(CampaignKeys::TABLE),
            "Faults to inject instead of running the variants one by one.";
        may federation: federation::FederationKeys<'s>, Shape::One(federation::FederationKeys::TABLE),
            "Federates and their RTI instead of variants; each mode runs as one variant.";
        may trace: TraceKeys<'s>, Shape::One(TraceKeys::TABLE), "Contents of the traces.";
    }

    /// `[trace]`
    pub(crate) struct TraceKeys<'s> = "the trace" {
        may kernel: bool, Shape::Boolean,
            "Record scheduling switches and wake-ups of the kernel: always or never; default where permitted.";
    }

    /// `[plant]`
    pub(crate) struct PlantKeys<'s> = "the plant" {
        may model: Model = Plant::default().model, Shape::Word(Model::WORDS), "Parameters of cart and rod.";
        may step: Span = Plant::default().step, Shape::Length, "Step of the integrator, 100us to 5ms.";
        may noise: f64 = Plant::default().noise_v_rms, Shape::Number(0.0, 1.0), "V rms per step and sensor.";
        may filter_corner: Rate = filter_corner(), Shape::Rate, "Corner of the A/D filters.";
        may stiction: f64 = Plant::default().stiction, Shape::Number(0.0, 10.0), "Stiction of the cart in N.";
        may start: StartKeys<'s>, Shape::One(StartKeys::TABLE),
            "Initial position of the pendulum; default at rest, upright.";
        may profile: &'s str, Shape::Text, "Profile of its process; default \"plant\" if it is defined.";
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
            "Cycles in control without a strike that cancel one, 0 for never.";
        may give_up_after: u32 = Rule::default().give_up_after, Shape::Whole(0, 100_000),
            "Cycles without an answer after which a unit is abandoned, 0 for never.";
        may promote_after: u32 = Rule::default().promote_after, Shape::Whole(1, 100_000),
            "Acceptable answers in a row before a unit can be promoted.";
        may answer_within: Span = Rule::default().answer_within, Shape::Length,
            "From the release until an answer counts as missing; below the period.";
        may performance: PerformanceKeys<'s>, Shape::One(PerformanceKeys::TABLE),
            "Detection of a safe but poor unit.";
    }

    /// `[decision.performance]`
    pub(crate) struct PerformanceKeys<'s> = "the performance monitor" {
        may window: Span = Performance::default().window, Shape::Length, "Time over which the cost is averaged.";
        may limit: f64 = Performance::default().limit, Shape::Number(0.01, 1e6),
            "Limit as a multiple of the expected cost.";
        may remedy: RemedyWord = RemedyWord::Report, Shape::Word(RemedyWord::WORDS),
            "Report a poor unit, treat it as a fault, or do not monitor.";
    }

    /// `[profiles.NAME]`
    pub(crate) struct ProfileKeys<'s> = "a profile" {
        must policy: PolicyWord, Shape::Word(PolicyWord::WORDS), "Scheduling policy.";
        may nice: i8 = 0, Shape::Whole(-20, 19), of ["other"], "Of other: nice value.";
        may priority: u8, Shape::Whole(1, 99), of ["fifo", "rr"], "Of fifo and rr; higher priorities run first.";
        may runtime: Span, Shape::Length, of ["deadline"], "Of deadline: processor time per period.";
        may deadline: Span, Shape::Length, of ["deadline"], "Of deadline: relative deadline; default the period.";
        may period: Span, Shape::Length, of ["deadline"], "Of deadline: period.";
        may cpus: &'s str, Shape::Cpus, "\"0\", \"0,2-3\", \"first\" or \"last\"; default all.";
        may lock_memory: bool = false, Shape::Boolean, "Keep all pages in memory.";
        may prefault_stack: Bytes = Bytes(0), Shape::Size, "Stack to touch before the first release.";
    }

    /// `[[variant]]`
    pub(crate) struct VariantKeys<'s> = "a variant" {
        must name: &'s str, Shape::Name, "Unique.";
        may description: &'s str, Shape::Text, "What distinguishes this variant.";
        may rate: Rate, Shape::Rate, "Replaces the scenario's.";
        may channels: Named<'s, ChannelKeys<'s>>, Shape::Named(ChannelKeys::TABLE, PROCESSES_MAX),
            "Connections between processes.";
        must processes: Named<'s, ProcessKeys<'s>>, Shape::Named(ProcessKeys::TABLE, PROCESSES_MAX),
            "Processes, in start order.";
        may units: Vec<UnitKeys<'s>>, Shape::Many(UnitKeys::TABLE, UNITS_MAX), "Replacement units, by slot.";
    }

    /// `[variant.channels]`
    pub(crate) struct ChannelKeys<'s> = "a channel" {
        must endpoint: Endpoint, Shape::Endpoint, "\"shm:name\", \"mq:name\" or \"pubsub:name\".";
        must delivery: Delivery, Shape::Delivery, "\"latest\", or { queue = 8 }.";
        may message: Message, Shape::Word(Message::WORDS), "Type of its messages; default by the channel's name.";
    }

    /// `[variant.processes]`
    pub(crate) struct ProcessKeys<'s> = "a process" {
        must task: TaskWord, Shape::Word(TaskWord::WORDS), "Task of the process.";
        may order: OrderWord = OrderWord::WriteFirst, Shape::Word(OrderWord::WORDS), of ["io"],
            "Of io: write the previous command first, or sample first and wait for the new one.";
        may command_within: Span, Shape::Length, of ["io"],
            "Of io, read-first: from the release until 0 V is written; default 1.5 answer_within.";
        may gain: GainOrName<'s>, Shape::Gain, of ["monolithic", "controller"],
            "Of monolithic and controller: control law.";
        may compute: Span, Shape::Length, of ["workload"], "Of workload: processor time of one job.";
        may share: OneOrMany<f64>, Shape::Shares(STEPS_MAX), of ["workload"],
            "Of workload, instead of compute: percent of a processor; a list runs the variant once per value.";
        may takes_turns: bool = false, Shape::Boolean, of ["workload"],
            "Of workload: work only in the second and third of every four turns of the benchmark.";
        may threads: u32 = 4, Shape::Whole(1, THREADS_MAX), of ["benchmark"], "Of benchmark: number of threads.";
        may memory: Bytes = Bytes(256 << 10), Shape::Size, of ["benchmark"],
            "Of benchmark: memory that each thread traverses.";
        may turn: Span = Span::from_millis(100), Shape::Length, of ["benchmark"],
            "Of benchmark: interval over which work is counted.";
        may command: Texts<'s>, Shape::Texts, of ["command"], "Of command: program and arguments.";
        may rate: OneOrMany<Rate>, Shape::Rates(STEPS_MAX), of ["workload"],
            "Of workload; default the variant's; a list runs the variant once per value.";
        may deadline: Span, Shape::Length, of ["io", "monolithic", "controller", "decision", "workload"],
            "From the release; default the period.";
        may overrun: Overrun = Overrun::Skip, Shape::Word(Overrun::WORDS), of ["io", "monolithic", "workload"],
            "Effect of a late job on the next release.";
        may lead: Span = Span::ZERO, Shape::LengthOrZero, of ["io", "monolithic", "decision", "workload"],
            "Time before each release at which the process wakes and warms its caches.";
        may after: Texts<'s>, Shape::Texts, "Processes that start before it.";
        may profile: &'s str, Shape::Text, "A name in [profiles]; default an ordinary process.";
        may priority: u8, Shape::Whole(1, 99), "Replaces the profile's.";
        may sends: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"], "Channels it writes.";
        may receives: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"], "Channels it reads.";
    }

    /// `[[variant.units]]`
    pub(crate) struct UnitKeys<'s> = "a unit" {
        must name: &'s str, Shape::Name, "Unique in the variant, processes included.";
        may gain: GainOrName<'s>, Shape::Gain, "The built-in controller with this law …";
        may command: Texts<'s>, Shape::Texts, "… or a program that keeps the unit contract.";
        may fault: &'s str, Shape::Text, "Fault to inject.";
        may fault_after: Span = Span::ZERO, Shape::LengthOrZero, "Time of the fault from the start of the run.";
        may profile: &'s str, Shape::Text, "A name in [profiles]; default an ordinary process.";
        may priority: u8, Shape::Whole(1, 99), "Replaces the profile's.";
        may state: UnitState, Shape::Word(UnitState::WORDS),
            "Initial state; default active for the first, shadow for the others.";
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
        may runs: u32, Shape::Whole(1, RUNS_MAX), "Runs per kind of fault; default the scenario's.";
        may duration: Span, Shape::Length, "Of one run; default the scenario's.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero, "Time from the start of the run to the fault.";
        may gain: GainOrName<'s> = Gain::named("experimental").ok_or("experimental"), Shape::Gain,
            "The faulty control law.";
    }

    /// `[campaign.process]`
    pub(crate) struct ProcessFaultKeys<'s> = "the process campaign" {
        may kinds: Texts<'s>, Shape::Kinds, "Faults; default \"all\".";
        may runs: u32, Shape::Whole(1, RUNS_MAX), "Runs per kind of fault; default the scenario's.";
        may duration: Span, Shape::Length, "Of one run; default the scenario's.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero, "Time from the start of the run to the fault.";
        may with: &'s str, Shape::Text, "The variant with a decision process.";
        may without: &'s str, Shape::Text, "The variant without one.";
    }
}

fn filter_corner() -> Rate {
    let period = Span::from_secs_f64(1.0 / Plant::default().filter_corner_hz);
    Rate::from_period(period).expect("the default corner is a rate")
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
    /// Reaction to a poor unit.
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
    /// The first step of an I/O process in a cycle.
    pub(crate) enum OrderWord { WriteFirst "write-first", ReadFirst "read-first" }
}
