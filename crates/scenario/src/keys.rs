//! The keys of a scenario: type, default, shape and description of each.

use hemiola_plant::{STATES_MAX, Settings as Plant};
use hemiola_simplex::Settings as Rule;
use hemiola_simplex::performance::Settings as Performance;
use hemiola_units::{Bytes, Delivery, Endpoint, Overrun, Rate, Span};

use crate::document::{At, Named, OneOrMany, Shape, Word};
use crate::plan::{Message, UnitState, UnitUser};
use crate::section::{GainText, Numbers, Rows};
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
/// The most entities of a universe.
const ENTITIES_MAX: i64 = 1 << 28;
/// The most threads of a step of a universe.
const WORKERS_MAX: i64 = 256;
/// The most threads of a benchmark.
const THREADS_MAX: i64 = 64;

/// The strings of an array.
type Texts<'s> = Vec<At<&'s str>>;

/// The default of `duration` while a scenario that lacks it is checked, and of `warmup`.
pub(crate) const DURATION: Span = Span::from_millis(5_000);

sections! {
    /// The whole document.
    pub(crate) struct Scenario<'s> = "a scenario" {
        must title: &'s str, Shape::Text, "The heading of tables and pages, in one line.";
        may description: &'s str, Shape::Text, "The purpose of the scenario.";
        must rate: Rate, Shape::Rate, "Rate of the control cycle, \"50Hz\" or \"20ms\".";
        must duration: Span, Shape::Length, "Length of each run of a variant, after the warm-up.";
        may warmup: Span = Span::from_millis(500), Shape::LengthOrZero,
            "Time before it in which the processes run and nothing is counted.";
        may runs: u32 = 1, Shape::Whole(1, RUNS_MAX), "Runs of each variant: all variants run once, then all again.";
        may seed: u64 = 1, Shape::Whole(0, i64::MAX), "Seed of all randomness.";
        may allow_less: bool = false, Shape::Boolean,
            "Continue when the system grants less than a profile requests, and mark the figures. Otherwise the run \
             ends before its first release and states which limit refused what.";
        may plant: PlantKeys<'s>, Shape::One(PlantKeys::TABLE), "The simulated plant that all variants control.";
        may card: CardKeys<'s>, Shape::One(CardKeys::TABLE),
            "The simulated converter card between the plant and the processes.";
        may decision: DecisionKeys<'s>, Shape::One(DecisionKeys::TABLE),
            "The rules by which decision processes judge units.";
        may profiles: Named<'s, ProfileKeys<'s>>, Shape::Named(ProfileKeys::TABLE, PROFILES_MAX),
            "Scheduling, processors and memory that processes request.";
        may variant: Vec<VariantKeys<'s>>, Shape::Many(VariantKeys::TABLE, VARIANTS_MAX),
            "The programs to compare, in order.";
        may campaign: CampaignKeys<'s>, Shape::One(CampaignKeys::TABLE),
            "Faults to inject. The variants then only serve as the programs to inject them into.";
        may federation: federation::FederationKeys<'s>, Shape::One(federation::FederationKeys::TABLE),
            "Federates and their RTI instead of variants; each mode runs as one variant.";
        may trace: TraceKeys<'s>, Shape::One(TraceKeys::TABLE), "Contents of the traces.";
    }

    /// `[trace]`
    pub(crate) struct TraceKeys<'s> = "the trace" {
        may kernel: bool, Shape::Boolean, else "where permitted",
            "Record scheduling switches and wake-ups of the kernel. With true, the run ends with an error where \
             that is not permitted.";
    }

    /// `[plant]`
    pub(crate) struct PlantKeys<'s> = "the plant" {
        may model: ModelWord = ModelWord::SeiFit, Shape::Word(ModelWord::WORDS),
            "The set of parameters of cart and rod.";
        may linear: LinearKeys<'s>, Shape::One(LinearKeys::TABLE),
            "A linear plant of your own in place of the pendulum.";
        may step: Span = Plant::default().step, Shape::Length,
            "Step of the integrator and period of its process: 100us to 5ms, at most the period of the cycle.";
        may noise: f64 = Plant::default().noise_v_rms, Shape::Number(0.0, 1.0),
            "V rms per step and sensor, before the filters.";
        may filter_corner: Rate = filter_corner(), Shape::Rate,
            "Corner of the low-pass filters before the A/D converters.";
        may stiction: f64 = Plant::default().stiction, Shape::Number(0.0, 10.0), "Stiction of the cart in N.";
        may start: StartKeys<'s>, Shape::One(StartKeys::TABLE), else "at rest, upright",
            "Initial position of the pendulum.";
        may profile: &'s str, Shape::Text, else "`plant` if it is defined", "Profile of its process.";
    }

    /// `[plant.linear]`
    pub(crate) struct LinearKeys<'s> = "the linear plant" {
        must states: Texts<'s>, Shape::Texts,
            "The names of its 1 to 4 states, each with its unit if you like: \"level mm\". Every state is a deviation \
             from the operating point.";
        must a: Rows, Shape::Rows(STATES_MAX),
            "The matrix A of ẋ = A·x + B·u, by rows; time in seconds.";
        must b: Numbers, Shape::Numbers(STATES_MAX),
            "The column B of the same equation. The voltage u is a deviation too, within ±4.95 V.";
        must limits: Numbers, Shape::Numbers(STATES_MAX),
            "How far each state can go from the operating point. It stops there, and the plant is lost.";
        must measured: Texts<'s>, Shape::Texts,
            "The one or two states that the card's A/D channels measure; one alone is measured by both channels.";
        may full_scale: Numbers, Shape::Numbers(2), else "1.25 times the limit",
            "Value of each measured state at the ±5 V of its channel.";
        may start: Numbers, Shape::Numbers(STATES_MAX), else "the operating point", "Initial state.";
    }

    /// `[plant.start]`
    pub(crate) struct StartKeys<'s> = "the start" {
        may position: f64 = 0.0, Shape::Number(-0.4, 0.4), "Cart from mid-track, m.";
        may angle_deg: f64 = 0.0, Shape::Number(-30.0, 30.0), "Rod from upright, degrees.";
    }

    /// `[card]`
    pub(crate) struct CardKeys<'s> = "the card" {
        may conversion_time: Span = Span::ZERO, Shape::LengthOrZero,
            "Time of one conversion, in which the process keeps its processor busy. A cycle has two A/D and one D/A \
             conversions, which must fit the period.";
    }

    /// `[decision]`
    pub(crate) struct DecisionKeys<'s> = "the decision rule" {
        may safety: GainText<'s> = GainText::Name("safety"), Shape::Gain,
            "The safety controller; at the rate of each variant it must recover from its whole region. A linear plant \
             of your own needs it, with a number for each state.";
        may region: Rows, Shape::Rows(STATES_MAX), else "the gain's own; computed for a linear plant",
            "The recoverable region: the matrix P of V = xᵀ·P·x, by rows; V = 1 is its border.";
        may accept_below: f64 = Rule::default().accept_below, Shape::Number(0.01, 1.0),
            "Highest predicted Lyapunov value V of a command that is accepted; the recoverable region ends at 1.";
        may return_below: f64 = Rule::default().return_below, Shape::Number(0.01, 1.0),
            "V below which control returns to a unit; not above accept_below.";
        may return_after: u32 = Rule::default().return_after, Shape::Whole(1, 100_000),
            "Acceptable answers in a row before control returns.";
        may strikes: u32 = Rule::default().strikes, Shape::Whole(0, 1000),
            "How many losses of control (strikes) retire a unit; 0 for never.";
        may forgive_after: u32 = Rule::default().forgive_after, Shape::Whole(0, 1_000_000),
            "After how many acceptable answers without another strike one strike is forgiven; 0 for never.";
        may give_up_after: u32 = Rule::default().give_up_after, Shape::Whole(0, 100_000),
            "After how many cycles without a well-formed answer a unit has failed; ten times as many while it starts; \
             0 for never.";
        may promote_after: u32 = Rule::default().promote_after, Shape::Whole(1, 100_000),
            "Acceptable answers in a row before a unit can be promoted.";
        may answer_within: Span = Rule::default().answer_within, Shape::Length,
            "From the sample until an answer counts as missing; below the period. Half the period where the default \
             does not fit.";
        may performance: PerformanceKeys<'s>, Shape::One(PerformanceKeys::TABLE),
            "Detection of a unit that is safe but controls poorly. Without this table it is on for the pendulum and \
             off for a linear plant, where the limits of the states weigh the cost.";
    }

    /// `[decision.performance]`
    pub(crate) struct PerformanceKeys<'s> = "the performance monitor" {
        may window: Span = Performance::default().window, Shape::Length, "Time over which the cost is averaged.";
        may limit: f64 = Performance::default().limit, Shape::Number(0.01, 1e6),
            "Limit as a multiple of the expected cost.";
        may remedy: RemedyWord = RemedyWord::Report, Shape::Word(RemedyWord::WORDS),
            "Report a poor unit, treat poor control as a fault, or do not monitor.";
    }

    /// `[profiles.NAME]`
    pub(crate) struct ProfileKeys<'s> = "a profile" by policy {
        must policy: PolicyWord, Shape::Word(PolicyWord::WORDS), "Scheduling policy, see sched(7).";
        may nice: i8 = 0, Shape::Whole(-20, 19), of ["other"], "Nice value.";
        must priority: u8, Shape::Whole(1, 99), of ["fifo", "rr"],
            "Higher priorities run first, 1 to 99.";
        must runtime: Span, Shape::Length, of ["deadline"], "Processor time per period.";
        may deadline: Span, Shape::Length, of ["deadline"], else "the period",
            "Time within which runtime is granted; runtime ≤ deadline ≤ period.";
        must period: Span, Shape::Length, of ["deadline"], "Period of the reservation.";
        may cpus: &'s str, Shape::Cpus, else "all",
            "Where it may run; the policy deadline admits all processors only.";
        may lock_memory: bool = false, Shape::Boolean,
            "Keep all pages in memory (mlockall). Does not reach a command, which is another program.";
        may prefault_stack: Bytes = Bytes(0), Shape::Size, "Stack to touch before the first release.";
    }

    /// `[[variant]]`
    pub(crate) struct VariantKeys<'s> = "a variant" {
        must name: &'s str, Shape::Name, "Unique; part of the name of its traces.";
        may description: &'s str, Shape::Text, "What distinguishes this variant.";
        may rate: Rate, Shape::Rate, else "the scenario's", "Rate of its cycle.";
        may channels: Named<'s, ChannelKeys<'s>>, Shape::Named(ChannelKeys::TABLE, PROCESSES_MAX),
            "Connections between processes.";
        must processes: Named<'s, ProcessKeys<'s>>, Shape::Named(ProcessKeys::TABLE, PROCESSES_MAX),
            "Processes, started in the order in which they are written, unless after says otherwise.";
        may units: Vec<UnitKeys<'s>>, Shape::Many(UnitKeys::TABLE, UNITS_MAX),
            "Replaceable controllers, in the order of their slots; they need a process with the task decision.";
    }

    /// `[variant.channels]`
    pub(crate) struct ChannelKeys<'s> = "a channel" {
        must endpoint: Endpoint, Shape::Endpoint,
            "\"shm:NAME\" for shared memory, \"mq:NAME\" for a POSIX queue, \"pubsub:NAME\" for iceoryx2.";
        must delivery: Delivery, Shape::Delivery,
            "Keep the newest message only, or up to N messages in order, 1 to 1024. The kernel limits POSIX queues, \
             often to 10: fs.mqueue.msg_max.";
        may message: Message, Shape::Word(Message::WORDS), else "the channel's name", "Type of its messages.";
    }

    /// `[variant.processes]`
    pub(crate) struct ProcessKeys<'s> = "a process" by task {
        must task: TaskWord, Shape::Word(TaskWord::WORDS), "Task of the process.";
        may order: OrderWord = OrderWord::WriteFirst, Shape::Word(OrderWord::WORDS), of ["io"],
            "write-first: write the command of the previous cycle, then sample, and wait for no process. read-first: \
             sample, wait for the answer, and write it.";
        may command_within: Span, Shape::Length, of ["io"],
            else "1.5 answer_within, at most midway from it to the period; without a decision process half the period",
            "With read-first: how long after the sample a command may come. Then the watchdog commands the plant; \
             without a decision process, 0 V is written.";
        must gain: GainText<'s>, Shape::Gain, of ["monolithic", "controller"],
            "Control law: a name, or a number for each state.";
        may compute: Span, Shape::Length, of ["workload"],
            "Processor time of one job. A workload has either compute or share.";
        may share: OneOrMany<f64>, Shape::Shares(STEPS_MAX), of ["workload"],
            "Processor time of its jobs in percent of a processor; 0 leaves the process out. A list runs the variant \
             once per value.";
        may takes_turns: bool = false, Shape::Boolean, of ["workload"],
            "Work only in the second and third of every four turns of the benchmark.";
        may threads: u32 = 4, Shape::Whole(1, THREADS_MAX), of ["benchmark"], "Threads that compute without a pause.";
        may memory: Bytes = Bytes(256 << 10), Shape::Size, of ["benchmark"],
            "Memory that each thread traverses.";
        may turn: Span = Span::from_millis(100), Shape::Length, of ["benchmark"],
            "Interval over which work is counted: at least 10 ms, and four fit into the duration.";
        must command: Texts<'s>, Shape::Texts, of ["command"], "Program and arguments.";
        must definition: Texts<'s>, Shape::Texts, of ["universe"],
            "The texts of one universe, as files from the scenario's folder.";
        may populate: Texts<'s>, Shape::Texts, of ["universe"],
            "Entities beside those of the texts: ELEMENT:COUNT:PROPERTY=LOW..HIGH, see the guide to worlds.";
        may monitor: Texts<'s>, Shape::Texts, of ["universe"],
            "Monitors: ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS), see the guide to worlds.";
        may birth: Texts<'s>, Shape::Texts, of ["universe"],
            "Births: ELEMENT:CONSTRAINT(ARGUMENTS):PROPERTY=LOW..HIGH, see the guide to worlds.";
        may death: Texts<'s>, Shape::Texts, of ["universe"],
            "Deaths: ELEMENT:CONSTRAINT(ARGUMENTS), see the guide to worlds.";
        may module: Texts<'s>, Shape::Texts, of ["universe"],
            "Modules of users that compute elements: ELEMENT=FILE:budget=TIME:strikes=N:then=freeze, see the guide to \
             worlds.";
        may entities_max: u32 = 1_000_000, Shape::Whole(1, ENTITIES_MAX), of ["universe"],
            "The maximum number of entities: a universe that starts with more is refused, and births beyond it do not \
             happen.";
        may step: Span, Shape::Length, of ["universe"], else "the period", "Simulated length of a step.";
        may workers: u32 = 1, Shape::Whole(1, WORKERS_MAX), of ["universe"],
            "Threads that carry out each step together, with the profile of the process; the results do not depend on \
             it.";
        may interpret: bool = false, Shape::Boolean, of ["universe"],
            "Whether its functions are interpreted where this build could compile them; the results are the same.";
        may checkpoint: &'s str, Shape::Text, of ["universe"],
            "A file, from the scenario's folder, that gets a checkpoint of the universe at the end.";
        may checkpoint_every: u32, Shape::Whole(1, u32::MAX as i64), of ["universe"], else "only at the end",
            "Steps from one checkpoint to the next.";
        may rate: OneOrMany<Rate>, Shape::Rates(STEPS_MAX), of ["workload"], else "the variant's",
            "Rate of its jobs. A list runs the variant once per value.";
        may deadline: Span, Shape::Length, of ["io", "monolithic", "controller", "decision", "workload", "universe"],
            else "the period", "Time from the release to the deadline; at most the period.";
        may overrun: Overrun = Overrun::Skip, Shape::Word(Overrun::WORDS),
            of ["io", "monolithic", "workload", "universe"],
            "What happens to releases that pass while a job is late: skip drops and counts them, catch-up runs them \
             at once, stop ends the process. A universe makes no step for a dropped release.";
        may lead: Span = Span::ZERO, Shape::LengthOrZero,
            of ["io", "monolithic", "decision", "workload", "universe"],
            "Time before each release at which the process wakes and warms its caches, if the period has room.";
        may after: Texts<'s>, Shape::Texts, "Processes that are started before it.";
        may profile: &'s str, Shape::Text, else "an ordinary process", "A name in [profiles].";
        may priority: u8, Shape::Whole(1, 99), else "the profile's",
            "Priority in place of the profile's, whose policy must be fifo or rr.";
        must sends: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"],
            "The channel that it writes: of sensors for io, of commands for the others.";
        must receives: Texts<'s>, Shape::Texts, of ["io", "controller", "decision"],
            "The channel that it reads: of commands for io, of sensors for the others.";
    }

    /// `[[variant.units]]`
    pub(crate) struct UnitKeys<'s> = "a unit" {
        must name: &'s str, Shape::Name, "Unique in the variant, processes included.";
        may gain: GainText<'s>, Shape::Gain,
            "Control law of the built-in controller. A unit has exactly one of gain, command and wasm.";
        may command: Texts<'s>, Shape::Texts, "A program that implements the unit contract, with its arguments.";
        may wasm: &'s str, Shape::Text,
            "A WebAssembly module, as binary or as text, which the decision process calls in a sandbox. A build \
             without the sandbox leaves the variant out.";
        may fault: &'s str, Shape::Text, "Fault to inject: one of the kinds of a campaign, such as crash or stuck.";
        may fault_after: Span = Span::ZERO, Shape::LengthOrZero, "Time of the fault from the start of the run.";
        may profile: &'s str, Shape::Text, else "an ordinary process",
            "A name in [profiles]. Its priority must be below that of io and decision on the same processor.";
        may priority: u8, Shape::Whole(1, 99), else "the profile's",
            "Priority in place of the profile's, whose policy must be fifo or rr.";
        may state: UnitState, Shape::Word(UnitState::WORDS), else "active for the first, shadow for the others",
            "Initial state; at most one unit is active.";
        may budget: Span, Shape::Length, else "an eighth of answer_within; with wasm 100us, at most a sixteenth of it",
            "Processor time that it may use per cycle. On each processor, the budgets of all units together are at \
             most answer_within.";
        may user: UnitUser, Shape::Word(UnitUser::WORDS), else "own where the run may change user ids, otherwise run",
            "The user that a command runs as: own is a user that no other process has, run is the user of the run.";
    }

    /// `[campaign]`
    pub(crate) struct CampaignKeys<'s> = "a campaign" {
        may simulated: SimulatedKeys<'s>, Shape::One(SimulatedKeys::TABLE), "Wrong voltages, injected in simulation.";
        may process: ProcessFaultKeys<'s>, Shape::One(ProcessFaultKeys::TABLE),
            "Faults of real processes, injected into variants.";
    }

    /// `[campaign.simulated]`
    pub(crate) struct SimulatedKeys<'s> = "the simulated campaign" {
        may kinds: Texts<'s>, Shape::Kinds, else "`\"all\"`", "Faults to inject.";
        may runs: u32, Shape::Whole(1, RUNS_MAX), else "the scenario's", "Runs per kind of fault.";
        may duration: Span, Shape::Length, else "the scenario's", "Length of one run.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero,
            "Time from the start of the run to the fault; half the duration where the default does not fit.";
        may gain: GainText<'s> = GainText::Name("experimental"), Shape::Gain,
            "The faulty control law.";
    }

    /// `[campaign.process]`
    pub(crate) struct ProcessFaultKeys<'s> = "the process campaign" {
        may kinds: Texts<'s>, Shape::Kinds, else "`\"all\"`", "Faults to inject.";
        may runs: u32, Shape::Whole(1, RUNS_MAX), else "the scenario's", "Runs per kind of fault.";
        may duration: Span, Shape::Length, else "the scenario's", "Length of one run.";
        may fault_after: Span = FAULT_AFTER, Shape::LengthOrZero,
            "Time from the start of the run to the fault; half the duration where the default does not fit.";
        may with: &'s str, Shape::Text, "The variant with a decision process; the fault goes into its active unit.";
        may without: &'s str, Shape::Text, "The variant without one; the fault goes into its controller.";
    }
}

fn filter_corner() -> Rate {
    let period = Span::from_secs_f64(1.0 / Plant::default().filter_corner_hz);
    Rate::from_period(period).expect("the default corner is a rate")
}

const FAULT_AFTER: Span = Span::from_millis(2_000);

words! {
    /// Parameters of the pendulum.
    pub(crate) enum ModelWord { SeiFit "sei-fit", Ip01 "ip01" }
}
words!(Message { Sensors "sensors", Command "command" });
words!(Overrun { Skip "skip", CatchUp "catch-up", Stop "stop" });
words!(UnitState { Active "active", Shadow "shadow" });
words!(UnitUser { Own "own", Run "run" });
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
        Universe "universe",
    }
}
words! {
    /// The first step of an I/O process in a cycle.
    pub(crate) enum OrderWord { WriteFirst "write-first", ReadFirst "read-first" }
}
