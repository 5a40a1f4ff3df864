//! What TOML may say: every table, key and shape of a value, as data.
//!
//! One list serves three readers: [`crate::shape`] checks a document against it, [`schema`] shows it
//! to editors, and a person finds here what may be written.

mod federation;

use serde_json::{Map, Value, json};

/// A table and its keys.
#[derive(Debug)]
pub struct Table {
    /// What the table is, for a sentence: "a profile".
    pub noun: &'static str,
    /// Keys in the order a person would write them.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// The key as it is written.
    pub word: &'static str,
    /// Whether the table is wrong without it.
    pub required: bool,
    /// What its value looks like.
    pub shape: Shape,
    /// What it means: a sentence.
    pub doc: &'static str,
}

/// What a value must look like, before anybody asks what it means.
#[derive(Debug)]
pub enum Shape {
    /// Any string.
    Text,
    /// A string fit for a file name.
    Name,
    /// An array of strings.
    Texts,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// The same, or a list of them.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// An integer from … to ….
    Whole(i64, i64),
    /// A finite number from … to ….
    Number(f64, f64),
    /// A length of time above zero.
    Length,
    /// A length of time, zero included.
    LengthOrZero,
    /// A frequency or a period.
    Rate,
    /// The same, or a list of up to so many.
    Rates(usize),
    /// A percentage of a processor, or a list of up to so many.
    Shares(usize),
    /// A number of bytes.
    Size,
    /// A set of processors, or "first", or "last".
    Cpus,
    /// Mechanism and name.
    Endpoint,
    /// "latest" or { queue = N }.
    Delivery,
    /// A name or four numbers.
    Gain,
    /// "all" or an array of strings.
    Kinds,
    /// A formula: a string, or a bare number.
    Formula,
    /// An array of formulas, at most so many.
    Formulas(usize),
    /// A table of formulas under names of the user's, at most so many.
    NamedFormulas(usize),
    /// A table.
    One(&'static Table),
    /// An array of tables, at most so many.
    Many(&'static Table, usize),
    /// A table of tables under names of the user's, at most so many.
    Named(&'static Table, usize),
}

/// The longest queue: enough for a second of 1 kHz.
pub(crate) const QUEUE_LEN_MAX: i64 = 1024;
/// Units of a variant: the slots of the decision module.
pub(crate) const UNITS_MAX: usize = 8;
/// Runs of a variant, and of a kind of fault.
pub(crate) const RUNS_MAX: i64 = 10_000;
const VARIANTS_MAX: usize = 64;
const PROCESSES_MAX: usize = 32;
const PROFILES_MAX: usize = 64;
/// Values of a list that makes a variant several.
const STEPS_MAX: usize = 32;
/// The largest share of a processor, percent: where real-time processes are stopped at 95, more leaves
/// nothing to measure.
pub(crate) const SHARE_MAX: f64 = 90.0;
/// Threads of a benchmark.
const THREADS_MAX: i64 = 64;

/// A key that may be left out.
#[must_use]
pub const fn may(word: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { word, required: false, shape, doc }
}

/// A key without which the table is wrong.
#[must_use]
pub const fn must(word: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { word, required: true, shape, doc }
}

/// The whole document.
pub(crate) static SCENARIO: Table = Table {
    noun: "a scenario",
    keys: &[
        must("title", Shape::Text, "One line for headings."),
        may("description", Shape::Text, "What the scenario is about."),
        must("rate", Shape::Rate, "Rate of the control cycle, \"50Hz\" or \"20ms\"."),
        must("duration", Shape::Length, "Counted part of one run of one variant."),
        may("warmup", Shape::LengthOrZero, "What runs before it uncounted; default 0.5s."),
        may("runs", Shape::Whole(1, RUNS_MAX), "Runs of each variant; default 1."),
        may("seed", Shape::Whole(0, i64::MAX), "Seed of all randomness; default 1."),
        may(
            "allow_less",
            Shape::Boolean,
            "Go on when less is granted than a profile asks for, and mark the figures; default false.",
        ),
        may("plant", Shape::One(&PLANT), "The simulated apparatus, shared by all variants."),
        may("card", Shape::One(&CARD), "The emulated converter card."),
        may("decision", Shape::One(&DECISION), "The rule of decision processes."),
        may("profiles", Shape::Named(&PROFILE, PROFILES_MAX), "What processes ask the system for."),
        may("variant", Shape::Many(&VARIANT, VARIANTS_MAX), "The steps of the ladder, in order."),
        may("campaign", Shape::One(&CAMPAIGN), "Faults to inject instead of a ladder."),
        may(
            "federation",
            Shape::One(&federation::FEDERATION),
            "Federates and their RTI instead of a ladder: one variant for each mode.",
        ),
        may("trace", Shape::One(&TRACE), "What the traces of the runs have in them."),
    ],
};

static TRACE: Table = Table {
    noun: "the trace",
    keys: &[may(
        "kernel",
        Shape::Boolean,
        "Record who had which processor and who woke whom: always, or never; default where permitted.",
    )],
};

static PLANT: Table = Table {
    noun: "the plant",
    keys: &[
        may("model", Shape::Word(&["sei-fit", "ip01"]), "Parameters; default sei-fit."),
        may("step", Shape::Length, "Step of the integrator, 100us to 5ms; default 1ms."),
        may("noise", Shape::Number(0.0, 1.0), "V rms per step and sensor; default 0.005."),
        may("filter_corner", Shape::Rate, "Corner of the A/D filters; default 50Hz."),
        may("stiction", Shape::Number(0.0, 10.0), "Stiction of the cart in N; default 0."),
        may("start", Shape::One(&START), "Where the pendulum starts; default at rest, upright."),
        may(
            "profile",
            Shape::Text,
            "Profile of its process; default \"plant\" where there is one.",
        ),
    ],
};

static START: Table = Table {
    noun: "the start",
    keys: &[
        may("position", Shape::Number(-0.4, 0.4), "Cart from mid-track, m."),
        may("angle_deg", Shape::Number(-30.0, 30.0), "Rod from upright, degrees."),
    ],
};

static CARD: Table = Table {
    noun: "the card",
    keys: &[may(
        "conversion_time",
        Shape::LengthOrZero,
        "Time of one conversion; a cycle has two A/D and one D/A; default 0.",
    )],
};

static DECISION: Table = Table {
    noun: "the decision rule",
    keys: &[
        may("safety", Shape::Gain, "The safety controller; default \"safety\"."),
        may(
            "accept_below",
            Shape::Number(0.01, 1.0),
            "Highest predicted Lyapunov value of a command that is accepted; default 0.6.",
        ),
        may(
            "return_below",
            Shape::Number(0.01, 1.0),
            "Lyapunov value below which control returns; default 0.25.",
        ),
        may(
            "return_after",
            Shape::Whole(1, 100_000),
            "Clean cycles before control returns; default 25.",
        ),
        may(
            "strikes",
            Shape::Whole(0, 1000),
            "Switches that retire a unit, 0 for never; default 5.",
        ),
        may(
            "forgive_after",
            Shape::Whole(0, 1_000_000),
            "Cycles in control without a strike that forgive one, 0 for never; default 1500.",
        ),
        may(
            "give_up_after",
            Shape::Whole(0, 100_000),
            "Cycles without an answer after which a unit is given up, 0 for never; default 50.",
        ),
        may(
            "promote_after",
            Shape::Whole(1, 100_000),
            "Acceptable answers in a row before a unit can be promoted; default 25.",
        ),
        may(
            "answer_within",
            Shape::Length,
            "From the release to when an answer is missing; below the period; default 4ms.",
        ),
        may("performance", Shape::One(&PERFORMANCE), "Watches for a safe but poor unit."),
    ],
};

static PERFORMANCE: Table = Table {
    noun: "the performance monitor",
    keys: &[
        may("window", Shape::Length, "What the running cost remembers; default 2s."),
        may("limit", Shape::Number(0.01, 1e6), "Times the expected cost; default 0.8."),
        may(
            "remedy",
            Shape::Word(&["report", "switch", "off"]),
            "Say so, treat it as a fault of the unit, or do not watch; default report.",
        ),
    ],
};

static PROFILE: Table = Table {
    noun: "a profile",
    keys: &[
        must("policy", Shape::Word(&["other", "fifo", "rr", "deadline"]), "Scheduling policy."),
        may("nice", Shape::Whole(-20, 19), "Of other; default 0."),
        may("priority", Shape::Whole(1, 99), "Of fifo and rr; higher first."),
        may("runtime", Shape::Length, "Of deadline: processor time per period."),
        may("deadline", Shape::Length, "Of deadline: by when; default the period."),
        may("period", Shape::Length, "Of deadline."),
        may("cpus", Shape::Cpus, "\"0\", \"0,2-3\", \"first\" or \"last\"; default any."),
        may("lock_memory", Shape::Boolean, "No page ever leaves memory; default false."),
        may("prefault_stack", Shape::Size, "Stack touched before the first release; default 0B."),
    ],
};

static VARIANT: Table = Table {
    noun: "a variant",
    keys: &[
        must("name", Shape::Name, "Unique."),
        may("description", Shape::Text, "What is special about it."),
        may("rate", Shape::Rate, "Instead of the scenario's."),
        may("channels", Shape::Named(&CHANNEL, PROCESSES_MAX), "Connections between processes."),
        must("processes", Shape::Named(&PROCESS, PROCESSES_MAX), "In the order of starting."),
        may("units", Shape::Many(&UNIT, UNITS_MAX), "Replacement units, by slot."),
    ],
};

static CHANNEL: Table = Table {
    noun: "a channel",
    keys: &[
        must("endpoint", Shape::Endpoint, "\"shm:name\", \"mq:name\" or \"pubsub:name\"."),
        must("delivery", Shape::Delivery, "\"latest\", or { queue = 8 }."),
        may(
            "message",
            Shape::Word(&["sensors", "command"]),
            "What one message is; default by the channel's name.",
        ),
    ],
};

static PROCESS: Table = Table {
    noun: "a process",
    keys: &[
        must(
            "task",
            Shape::Word(&[
                "io",
                "monolithic",
                "controller",
                "decision",
                "workload",
                "benchmark",
                "command",
            ]),
            "What it does.",
        ),
        may(
            "order",
            Shape::Word(&["write-first", "read-first"]),
            "Of io: write the previous command first, or sample first and wait; default write-first.",
        ),
        may(
            "command_within",
            Shape::Length,
            "Of io, read-first: from release to when 0 V is written; default 1.5 answer_within.",
        ),
        may("gain", Shape::Gain, "Of monolithic and controller."),
        may("compute", Shape::Length, "Of workload: processor time of one job."),
        may(
            "share",
            Shape::Shares(STEPS_MAX),
            "Of workload, instead of compute: percent of a processor; a list runs the variant once for each.",
        ),
        may(
            "takes_turns",
            Shape::Boolean,
            "Of workload: works in the second and third of four turns of the benchmark; default false.",
        ),
        may("threads", Shape::Whole(1, THREADS_MAX), "Of benchmark; default 4."),
        may("memory", Shape::Size, "Of benchmark: what each thread walks through; default 256KiB."),
        may("turn", Shape::Length, "Of benchmark: work is counted by turns; default 100ms."),
        may("command", Shape::Texts, "Of command: program and arguments."),
        may(
            "rate",
            Shape::Rates(STEPS_MAX),
            "Of workload; default the variant's; a list runs the variant once for each.",
        ),
        may("deadline", Shape::Length, "From the release; default the period."),
        may(
            "overrun",
            Shape::Word(&["skip", "catch-up", "stop"]),
            "What a late job does to the next release; default skip.",
        ),
        may(
            "lead",
            Shape::LengthOrZero,
            "How long before each release it wakes and warms up; default 0.",
        ),
        may("after", Shape::Texts, "Processes that start before it."),
        may("profile", Shape::Text, "A name in [profiles]; default an ordinary process."),
        may("priority", Shape::Whole(1, 99), "Instead of the profile's."),
        may("sends", Shape::Texts, "Channels it writes."),
        may("receives", Shape::Texts, "Channels it reads."),
    ],
};

static UNIT: Table = Table {
    noun: "a unit",
    keys: &[
        must("name", Shape::Name, "Unique in the variant, processes included."),
        may("gain", Shape::Gain, "Our own controller with this law …"),
        may("command", Shape::Texts, "… or a program that keeps the unit contract."),
        may("fault", Shape::Text, "What goes wrong in it on purpose."),
        may("fault_after", Shape::LengthOrZero, "When, from the start of the run; default 0."),
        may("profile", Shape::Text, "A name in [profiles]; default an ordinary process."),
        may("priority", Shape::Whole(1, 99), "Instead of the profile's."),
        may(
            "state",
            Shape::Word(&["active", "shadow"]),
            "How it begins; default active for the first, shadow for the others.",
        ),
        may(
            "budget",
            Shape::Length,
            "Processor time per cycle before it is stopped; default answer_within.",
        ),
    ],
};

static CAMPAIGN: Table = Table {
    noun: "a campaign",
    keys: &[
        may("simulated", Shape::One(&SIMULATED), "Output faults, in pure simulation."),
        may("process", Shape::One(&PROCESS_FAULTS), "Faults of real processes, in variants."),
    ],
};

static SIMULATED: Table = Table {
    noun: "the simulated campaign",
    keys: &[
        may("kinds", Shape::Kinds, "Faults; default \"all\"."),
        may("runs", Shape::Whole(1, RUNS_MAX), "Runs a kind; default the scenario's."),
        may("duration", Shape::Length, "Of one run; default the scenario's."),
        may("fault_after", Shape::LengthOrZero, "When the fault begins; default 2s."),
        may("gain", Shape::Gain, "What goes wrong; default \"experimental\"."),
    ],
};

static PROCESS_FAULTS: Table = Table {
    noun: "the process campaign",
    keys: &[
        may("kinds", Shape::Kinds, "Faults; default \"all\"."),
        may("runs", Shape::Whole(1, RUNS_MAX), "Runs a kind; default the scenario's."),
        may("duration", Shape::Length, "Of one run; default the scenario's."),
        may("fault_after", Shape::LengthOrZero, "When the fault begins; default 2s."),
        may("with", Shape::Text, "The variant with a decision process."),
        may("without", Shape::Text, "The variant without one."),
    ],
};

/// The JSON schema (draft 2020-12) of a scenario, for editors that complete and check TOML.
///
/// It knows shapes only; what [`crate::read`] finds beyond them needs the whole scenario.
#[must_use]
pub fn schema() -> String {
    schema_of(&SCENARIO, "Hemiola scenario")
}

/// The JSON schema (draft 2020-12) of another kind of file.
#[must_use]
pub fn schema_of(document: &Table, title: &str) -> String {
    let mut root = table(document);
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!(title));
    let mut text =
        serde_json::to_string_pretty(&Value::Object(root)).expect("JSON values can be written");
    text.push('\n');
    text
}

fn table(table: &Table) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = shape(&key.shape);
        value.insert("description".into(), json!(key.doc));
        properties.insert(key.word.into(), Value::Object(value));
    }
    let required: Vec<_> = table.keys.iter().filter(|key| key.required).map(|k| k.word).collect();
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("required".into(), json!(required));
    object.insert("additionalProperties".into(), json!(false));
    object
}

fn shape(shape: &Shape) -> Map<String, Value> {
    const LENGTH: &str = r"^\s*\+?[0-9][0-9_.]*\s*(ns|us|µs|ms|s|min|h)\s*$";
    let formula = json!({"type": ["string", "number"]});
    let value = match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Name => json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
        Shape::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Words(words) => json!({"oneOf": [
            {"enum": words},
            {"type": "array", "items": {"enum": words}, "minItems": 1, "maxItems": words.len()},
        ]}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
        Shape::Length => json!({"type": "string", "pattern": LENGTH}),
        Shape::LengthOrZero => json!({"type": "string", "pattern": format!("{LENGTH}|^0$")}),
        Shape::Rate => json!({"type": "string", "examples": ["50Hz", "1kHz", "20ms"]}),
        Shape::Rates(max) => json!({"oneOf": [
            {"type": "string", "examples": ["50Hz", "1kHz", "20ms"]},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": max},
        ]}),
        Shape::Shares(max) => {
            let share = json!({"type": "number", "minimum": 0, "maximum": SHARE_MAX});
            json!({"oneOf": [
                share,
                {"type": "array", "items": share, "minItems": 1, "maxItems": max},
            ]})
        }
        Shape::Size => json!({"type": "string", "examples": ["64KiB"]}),
        Shape::Cpus => json!({"type": "string", "examples": ["0", "0,2-3", "first", "last"]}),
        Shape::Endpoint => {
            json!({"type": "string", "pattern": "^(local|shm|mq|pubsub):[A-Za-z0-9._-]{1,64}$"})
        }
        Shape::Delivery => json!({"oneOf": [
            {"const": "latest"},
            {
                "type": "object",
                "properties": {
                    "queue": {"type": "integer", "minimum": 1, "maximum": QUEUE_LEN_MAX},
                },
                "required": ["queue"],
                "additionalProperties": false,
            },
        ]}),
        Shape::Gain => json!({"oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
        ]}),
        Shape::Kinds => json!({"oneOf": [
            {"const": "all"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        Shape::Formula => formula,
        Shape::Formulas(max) => json!({"type": "array", "items": formula, "maxItems": max}),
        Shape::NamedFormulas(max) => json!({
            "type": "object",
            "additionalProperties": formula,
            "maxProperties": max,
        }),
        Shape::One(one) => return table(one),
        Shape::Many(many, max) => json!({"type": "array", "items": table(many), "maxItems": max}),
        Shape::Named(named, max) => json!({
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z0-9._-]{1,64}$"},
            "additionalProperties": table(named),
            "maxProperties": max,
        }),
    };
    match value {
        Value::Object(object) => object,
        _ => unreachable!("every arm above is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(table: &'static Table, check: &mut dyn FnMut(&'static Table)) {
        check(table);
        for key in table.keys {
            if let Shape::One(inner) | Shape::Many(inner, _) | Shape::Named(inner, _) = key.shape {
                visit(inner, check);
            }
        }
    }

    #[test]
    fn no_table_says_a_key_twice() {
        visit(&SCENARIO, &mut |table| {
            let mut words: Vec<_> = table.keys.iter().map(|key| key.word).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), table.keys.len(), "{}", table.noun);
        });
    }

    #[test]
    fn the_schema_is_json_and_has_every_key_with_its_description() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let unit = &schema["properties"]["variant"]["items"]["properties"]["units"]["items"];
        assert_eq!(unit["required"], json!(["name"]));
        visit(&SCENARIO, &mut |table| {
            assert!(table.keys.iter().all(|key| key.doc.ends_with(['.', '…'])), "{}", table.noun);
        });
    }
}
