//! A failing scenario for each check, and the examples, which pass all checks.

mod linear;

use proptest::prelude::*;

use super::*;
use crate::{Process, Release, Task, UnitState, UniverseSettings, read};
use hemiola_diagnostic::render;
use hemiola_simplex::performance::Remedy;

const PAIR: &str = r#"title = "A pair"
rate = "50Hz"
duration = "5s"
[plant]
model = "sei-fit"
[card]
conversion_time = "0us"
[profiles.io]
policy = "fifo"
priority = 80
cpus = "0"
[[variant]]
name = "pair"
[variant.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[variant.processes]
io = { task = "io", profile = "io", sends = ["sensors"], receives = ["command"] }
controller = { task = "controller", gain = "baseline", receives = ["sensors"], sends = ["command"] }
"#;

const SIMPLEX: &str = r#"title = "Simplex"
rate = "50Hz"
duration = "5s"
[plant]
[decision]
answer_within = "4ms"
[profiles.high]
policy = "fifo"
priority = 80
[profiles.low]
policy = "fifo"
priority = 70
[[variant]]
name = "simplex"
[variant.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[variant.processes]
decision = { task = "decision", profile = "high", receives = ["sensors"], sends = ["command"] }
[variant.processes.io]
task = "io"
order = "read-first"
profile = "high"
sends = ["sensors"]
receives = ["command"]
[[variant.units]]
name = "first"
gain = "experimental"
profile = "low"
[[variant.units]]
name = "second"
command = ["./unit", "fast"]
profile = "low"
"#;

const LADDER: &str = include_str!("../../../../examples/1-pendulum-ladder/scenario.toml");
const MIXED: &str = include_str!("../../../../examples/6-mixed-load/scenario.toml");
const FORMATION: &str = include_str!("../../../../examples/4-formation-flight/scenario.toml");
const PAYLOAD: &str = include_str!("../../../../examples/5-formation-payload/scenario.toml");
const CAMPAIGN: &str = include_str!("../../../../examples/2-fault-campaign/scenario.toml");

/// The judgement of a module: only this one fits.
fn module(file: &str) -> Result<(), String> {
    if file == "state-feedback.wat" { Ok(()) } else { Err("it imports \"now\" of \"env\"".into()) }
}

/// The judgement of a universe: only this one is sound.
fn universe(settings: &UniverseSettings) -> Result<(), String> {
    match settings.definition.as_slice() {
        [file] if file == "flock.uml" => Ok(()),
        _ => Err("flock.uml:3:32: length and time do not fit together in `+`".into()),
    }
}

fn facts() -> Facts<'static> {
    Facts {
        cpus_online: "0-1".parse().unwrap(),
        priority_max: 99,
        executable: &|program| program == "./unit",
        module: Some(&module),
        universe: &universe,
    }
}

fn plan(source: &str) -> Plan {
    plan_with(source, &Overrides::default())
}

fn plan_with(source: &str, overrides: &Overrides) -> Plan {
    read(source, &facts(), overrides)
        .unwrap_or_else(|problems| panic!("{}", render(&problems, source, "scenario.toml")))
}

/// The rendered problems of `source` after the edits.
fn problems_of(source: &str, edits: &[(&str, &str)]) -> String {
    problems_with(source, edits, &facts(), &Overrides::default())
}

fn problems_with(
    source: &str,
    edits: &[(&str, &str)],
    facts: &Facts<'_>,
    overrides: &Overrides,
) -> String {
    let mut source = source.to_owned();
    for (from, to) in edits {
        assert!(source.contains(from), "{from} is not in the scenario");
        source = source.replacen(from, to, 1);
    }
    let problems = read(&source, facts, overrides).expect_err("the scenario has problems");
    render(&problems, &source, "scenario.toml")
}

#[test]
fn the_ladder_has_eight_variants_and_no_problems() {
    let plan = plan(LADDER);
    assert_eq!(plan.kind(), "ladder");
    let names: Vec<_> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "monolithic",
            "shared-memory",
            "message-queue",
            "publish-subscribe",
            "simplex-1",
            "simplex-2",
            "simplex-3",
            "sandboxed"
        ]
    );
    let units: Vec<_> = plan.variants.iter().map(|variant| variant.units.len()).collect();
    assert_eq!(units, [0, 0, 0, 0, 1, 2, 3, 1]);
    assert!(plan.variants.iter().all(|variant| variant.processes[0].task == Task::Plant));
    assert_eq!(plan.notes, Vec::<String>::new());
}

const FLOCK: &str = include_str!("../../../../examples/12-flockers/scenario.toml");

#[test]
fn a_universe_steps_at_the_rate_of_its_variant() {
    let plan = plan(FLOCK);
    let world = plan.variants[0].process("world").unwrap();
    let Task::Universe(settings) = &world.task else { panic!("{:?}", world.task) };
    assert_eq!((settings.step, world.period), (Span::from_millis(50), Span::from_millis(50)));
    assert!(matches!(world.release, Release::Every { .. }));
    assert_eq!(settings.workers, 1);
}

#[test]
fn a_universe_has_as_many_workers_as_its_scenario_states() {
    let definition = "definition =";
    let plan = plan(&FLOCK.replacen(definition, "workers = 2\ndefinition =", 1));
    let Task::Universe(settings) = &plan.variants[0].process("world").unwrap().task else {
        panic!()
    };
    assert_eq!(settings.workers, 2);
    for wrong in ["workers = 0", "workers = 257", "workers = \"two\""] {
        let problems = problems_of(FLOCK, &[(definition, &format!("{wrong}\n{definition}"))]);
        assert!(problems.contains("workers"), "{problems}");
    }
}

#[test]
fn a_universe_that_is_not_sound_is_a_problem_of_its_scenario() {
    let problems = problems_of(FLOCK, &[("\"flock.uml\"", "\"other.uml\"")]);
    assert!(problems.contains("flock.uml:3:32: length and time do not fit together"), "{problems}");
    assert!(problems.contains("hemiola universe check"), "{problems}");
    let problems = problems_of(FLOCK, &[("\"flock.uml\"", "")]);
    assert!(problems.contains("definition is empty"), "{problems}");
    let problems = problems_of(FLOCK, &[("definition = ", "definitions = ")]);
    assert!(problems.contains("definition"), "{problems}");
}

#[test]
fn the_campaign_has_all_kinds_and_no_problems() {
    let of = |classes: &[Class]| faults(classes).collect::<Vec<_>>();
    let plan = plan(CAMPAIGN);
    assert_eq!(plan.kind(), "campaign");
    let campaign = plan.campaign.unwrap();
    assert_eq!(campaign.simulated.unwrap().kinds, of(&[Class::Output]));
    let process = campaign.process.unwrap();
    assert_eq!(process.kinds, of(&[Class::Message, Class::Process]));
    assert_eq!(process.with.as_deref(), Some("simplex"));
    assert_eq!(process.without.as_deref(), Some("direct"));
}

#[test]
fn a_plan_survives_a_round_trip_through_json() {
    for source in [LADDER, CAMPAIGN, MIXED, PAIR, SIMPLEX, FLOCK] {
        let plan = plan(source);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }
}

#[test]
fn the_examples_also_run_on_one_processor_without_privileges() {
    let facts = Facts { cpus_online: "0".parse().unwrap(), priority_max: 0, ..facts() };
    for source in [LADDER, CAMPAIGN] {
        let plan = read(source, &facts, &Overrides::default()).unwrap();
        assert_eq!(
            plan.notes,
            [
                "priorities up to 95 are requested, but this user may not use real-time priorities",
                "\"first\" and \"last\" are the same processor on this machine"
            ]
        );
    }
}

#[test]
fn defaults_are_filled_in() {
    let plan = plan(PAIR);
    assert_eq!((plan.runs, plan.warmup), (1, "0.5s".parse().unwrap()));
    let [plant, io, controller] = &plan.variants[0].processes[..] else {
        panic!("three processes")
    };
    assert_eq!(plant.period, "1ms".parse().unwrap());
    assert_eq!(plant.profile_name, None);
    assert_eq!(io.deadline, "20ms".parse().unwrap());
    let on = Release::On { channel: "sensors".into(), lead: Span::ZERO };
    assert_eq!(controller.release, on);
    assert_eq!(controller.period, "20ms".parse().unwrap());
    let variant = plan_simplex();
    assert_eq!(variant.units[0].state, UnitState::Active);
    assert_eq!(variant.units[1].state, UnitState::Shadow);
    assert_eq!(variant.units[0].budget, "500us".parse().unwrap());
    assert_eq!(variant.sensors().unwrap().name, "sensors");
    let Task::Io { order } = variant.process("io").unwrap().task else { panic!("io does I/O") };
    assert_eq!(order, crate::Order::ReadFirst { command_within: "6ms".parse().unwrap() });
}

#[test]
fn a_decision_process_may_wake_before_its_releases_and_a_controller_may_not() {
    let with = |task: &str| {
        SIMPLEX.replacen(
            &format!("task = \"{task}\""),
            &format!("task = \"{task}\", lead = \"450us\""),
            1,
        )
    };
    let variant = &plan(&with("decision")).variants[0];
    let on = Release::On { channel: "sensors".into(), lead: "450us".parse().unwrap() };
    assert_eq!(variant.decision_process().unwrap().release, on);
    let source =
        PAIR.replacen("task = \"controller\"", "task = \"controller\", lead = \"450us\"", 1);
    assert!(read(&source, &facts(), &Overrides::default()).is_err());
}

fn plan_simplex() -> crate::Variant {
    plan(SIMPLEX).variants.remove(0)
}

#[test]
fn the_ladder_at_one_kilohertz_notes_every_shortened_length() {
    let overrides = Overrides { rate: Some("1kHz".parse().unwrap()), ..Overrides::default() };
    let plan = plan_with(LADDER, &overrides);
    for variant in &plan.variants {
        assert_eq!(variant.rate, "1kHz".parse().unwrap());
        assert!(variant.processes.iter().all(|process| process.deadline == "1ms".parse().unwrap()));
    }
    let decision = plan.variants[6].decision.as_ref().unwrap();
    assert_eq!(decision.answer_within, "500us".parse().unwrap());
    assert_eq!(
        plan.notes[0],
        "variant \"simplex-1\": answer_within shortened from 4ms to 500us to fit the period of 1ms"
    );
    assert_eq!(plan.notes.len(), 4);
}

#[test]
fn a_lead_is_taken_only_where_the_period_has_room_for_it_in_all_programs_alike() {
    let leads = |rate: &str| {
        let overrides = Overrides { rate: Some(rate.parse().unwrap()), ..Overrides::default() };
        let plan = plan_with(LADDER, &overrides);
        let processes = plan.variants.iter().flat_map(|variant| &variant.processes);
        let leads = processes.filter_map(|process| match process.release {
            Release::Every { lead, .. } | Release::On { lead, .. } => Some(lead),
            _ => None,
        });
        let mut leads: Vec<Span> = leads.filter(|lead| lead.is_positive()).collect();
        leads.sort();
        leads.dedup();
        (leads, plan.notes)
    };
    let both = [Span::from_micros(250), Span::from_micros(450)];
    assert_eq!(leads("50Hz").0, both);
    // Exactly: 1000 us less the 500 us until answers are due and 50 us to use them.
    assert_eq!(leads("1kHz").0, both);
    let (none, notes) = leads("2kHz");
    assert_eq!(none, []);
    let note = "decision: no lead of 450us, because of its period of 500us only 200us are left: \
                250us until answers are due, 50us to use them";
    assert!(notes.iter().any(|found| found == note), "{notes:#?}");
    assert!(notes.contains(&"the plant's step shortened from 1ms to 500us".to_owned()));
}

#[test]
fn a_sandboxed_unit_runs_in_the_decision_process_within_a_small_budget() {
    let sandboxed = &plan(LADDER).variants[7];
    let unit = &sandboxed.units[0];
    assert_eq!(unit.program, crate::UnitProgram::Module { file: "state-feedback.wat".into() });
    assert_eq!(unit.budget, Span::from_micros(100));
    let hand_overs = sandboxed.hand_overs();
    assert_eq!((hand_overs.down, hand_overs.up, hand_overs.mechanism), (1, 1, "futex"));
    let overrides = Overrides { rate: Some("1kHz".parse().unwrap()), ..Overrides::default() };
    let faster = &plan_with(LADDER, &overrides).variants[7];
    assert_eq!(faster.units[0].budget, Span::from_nanos(31_250), "a sixteenth of 500 us");
}

#[test]
fn a_build_without_the_sandbox_leaves_the_variant_out_and_says_how_to_get_it() {
    let facts = Facts { module: None, ..facts() };
    let overrides = Overrides { rate: Some("1kHz".parse().unwrap()), ..Overrides::default() };
    let plan = read(LADDER, &facts, &overrides).unwrap();
    assert_eq!(plan.variants.len(), 7);
    assert_eq!(plan.notes.len(), 4, "no note about the variant that is left out, but this:");
    assert_eq!(
        plan.notes[3],
        "sandboxed is left out: it has units as WebAssembly, and this build has no sandbox; \
         build hemiola with --features sandbox"
    );
    let edits = [("gain = \"experimental\"\nprofile = \"low\"", "wasm = \"unit.wasm\"")];
    let problems = problems_with(SIMPLEX, &edits, &facts, &Overrides::default());
    assert!(problems.contains("\"simplex\" has units as WebAssembly"), "{problems}");
    assert!(problems.contains("build hemiola with --features sandbox"), "{problems}");
}

#[test]
fn what_a_sandboxed_unit_cannot_have_is_named() {
    let of = |unit: &str| {
        let edits = [("wasm = \"state-feedback.wat\"", unit)];
        problems_with(LADDER, &edits, &facts(), &Overrides::default())
    };
    let refused = of("wasm = \"unit.wasm\"");
    let message = "\"unit.wasm\" cannot be a unit: it imports \"now\" of \"env\"";
    assert!(refused.contains(message), "{refused}");
    assert!(refused.contains("wasm = \"unit.wasm\"\n"), "{refused}");
    for key in ["gain = \"lqr\"", "command = [\"./unit\"]", "profile = \"io\"", "fault = \"none\""]
    {
        let problems = of(&format!("wasm = \"state-feedback.wat\"\n{key}"));
        let word = key.split(' ').next().unwrap();
        assert!(
            problems.contains(&format!("unit \"experimental\" has wasm and {word}")),
            "{problems}"
        );
    }
    let greedy = of("wasm = \"state-feedback.wat\"\nbudget = \"2001us\"");
    let message = "the budgets of sandboxed units add up to 2001us, beyond half of answer_within, which is 2ms";
    assert!(greedy.contains(message), "{greedy}");
}

#[test]
fn the_command_line_replaces_runs_and_durations() {
    let overrides =
        Overrides { runs: Some(50), duration: Some("1s".parse().unwrap()), ..Overrides::default() };
    let ladder = plan_with(LADDER, &overrides);
    assert_eq!((ladder.runs, ladder.duration), (50, "1s".parse().unwrap()));
    let campaign = plan_with(CAMPAIGN, &overrides).campaign.unwrap();
    let simulated = campaign.simulated.unwrap();
    assert_eq!((simulated.runs, simulated.fault_after), (50, "500ms".parse().unwrap()));
    assert_eq!(campaign.process.unwrap().runs, 50);
}

#[test]
fn the_command_line_may_set_the_conversion_time() {
    let stated = |text: &str| Overrides {
        conversion_time: Some(text.parse().unwrap()),
        ..Overrides::default()
    };
    assert_eq!(plan_with(LADDER, &stated("29us")).card.conversion_time, Span::from_micros(29));
    for (text, wrong) in [("-1us", "it must not be negative"), ("8ms", "the period is 20ms")] {
        let problems = read(LADDER, &facts(), &stated(text)).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message.contains(wrong)), "{problems:?}");
    }
}

#[test]
fn wrong_numbers_on_the_command_line_are_refused() {
    let overrides = Overrides { runs: Some(0), duration: Some(Span::ZERO), ..Overrides::default() };
    insta::assert_snapshot!(problems_with(PAIR, &[], &facts(), &overrides), @"
    error: --runs is 0; it must be from 1 to 10000

    error: --duration is 0s; it must be above zero and at most 24h
    ");
}

#[test]
fn all_problems_are_reported_at_once() {
    let edits = [
        ("rate = \"50Hz\"", "raet = \"50Hz\""),
        ("\"5s\"", "\"5Hz\""),
        ("priority = 80", "priority = 0"),
        ("\"baseline\"", "\"baselin\""),
        ("sends = [\"sensors\"]", "sends = [\"sensor\"]"),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: a scenario has no key "raet"
     --> scenario.toml:2:1
      |
    2 | raet = "50Hz"
      | ^^^^ unknown
      = hint: did you mean "rate"?

    error: duration: "5Hz" has the unit "Hz"; expected a length of time such as "20ms", "50us" or "1.5s"
     --> scenario.toml:3:12
      |
    3 | duration = "5Hz"
      |            ^^^^^

    error: priority is 0; it must be from 1 to 99
      --> scenario.toml:10:12
       |
    10 | priority = 0
       |            ^

    error: the variant has no channel "sensor"
      --> scenario.toml:18:46
       |
    18 | io = { task = "io", profile = "io", sends = ["sensor"], receives = ["command"] }
       |                                              ^^^^^^^^ did you mean "sensors"?
       = hint: choose from sensors, command

    error: there is no gain "baselin"
      --> scenario.toml:19:44
       |
    19 | controller = { task = "controller", gain = "baselin", receives = ["sensors"], sends = ["command"] }
       |                                            ^^^^^^^^^ did you mean "baseline"?
       = hint: choose from safety, lqr, published-safety, baseline, experimental, lmi, real-system-safety, real-system-baseline, real-system-experimental
    "#);
}

#[test]
fn syntax_errors_and_wrong_shapes_are_reported_together() {
    let edits = [("title = \"A pair\"", "title = "), ("\"5s\"", "5")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: string values must be quoted, expected literal string
     --> scenario.toml:1:9
      |
    1 | title = 
      |         ^

    error: duration must be a length of time with its unit, such as "20ms"
     --> scenario.toml:3:12
      |
    3 | duration = 5
      |            ^ this is a whole number
    "#);
}

#[test]
fn a_period_of_zero_is_refused() {
    insta::assert_snapshot!(problems_of(PAIR, &[("\"50Hz\"", "\"0ms\"")]), @r#"
    error: rate must be above zero
     --> scenario.toml:2:8
      |
    2 | rate = "0ms"
      |        ^^^^^
      = hint: write a rate such as "50Hz", or a period such as "20ms"
    "#);
}

#[test]
fn a_rate_at_which_no_controller_exists_is_one_problem() {
    insta::assert_snapshot!(problems_of(SIMPLEX, &[("\"50Hz\"", "\"50s\"")]), @r#"
    error: the pendulum cannot be controlled in cycles of 50s: the period 50s is not between 100us and 100ms
     --> scenario.toml:2:8
      |
    2 | rate = "50s"
      |        ^^^^^
      = hint: write a rate from "10Hz" to "10kHz"
    "#);
    assert_eq!(
        problems_of(PAIR, &[("\"50Hz\"", "\"50s\"")]),
        problems_of(SIMPLEX, &[("\"50Hz\"", "\"50s\"")])
    );
}

#[test]
fn a_long_line_is_shown_around_its_place() {
    let long = format!("title = \"{}\"\nnonsense = \"{}\"", "x".repeat(40_000), "y".repeat(40_000));
    let shown = problems_of(PAIR, &[("title = \"A pair\"", &long)]);
    assert!(
        shown.starts_with("error: a scenario has no key \"nonsense\"\n --> scenario.toml:2:1\n"),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.chars().count() < 250), "{shown}");
}

#[test]
fn a_run_lasts_at_least_one_period() {
    insta::assert_snapshot!(problems_of(PAIR, &[("\"5s\"", "\"5ms\"")]), @r#"
    error: a run of 5ms is shorter than one period of 20ms
     --> scenario.toml:3:12
      |
    3 | duration = "5ms"
      |            ^^^^^
    "#);
}

#[test]
fn zero_runs_are_refused() {
    insta::assert_snapshot!(problems_of(PAIR, &[("[plant]", "runs = 0\n[plant]")]), @r#"
    error: runs is 0; it must be from 1 to 10000
     --> scenario.toml:4:8
      |
    4 | runs = 0
      |        ^
    "#);
}

#[test]
fn a_duplicate_key_is_refused() {
    insta::assert_snapshot!(problems_of(PAIR, &[("duration = \"5s\"", "rate = \"60Hz\"")]), @r#"
    error: duplicate key
     --> scenario.toml:3:1
      |
    3 | rate = "60Hz"
      | ^^^^
    "#);
}

#[test]
fn an_unknown_word_is_refused() {
    let edits = [("\"fifo\"", "\"fifi\""), ("\"sei-fit\"", "\"acrobot\"")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: model cannot be "acrobot"
     --> scenario.toml:5:9
      |
    5 | model = "acrobot"
      |         ^^^^^^^^^
      = hint: choose from sei-fit, ip01

    error: policy cannot be "fifi"
     --> scenario.toml:9:10
      |
    9 | policy = "fifi"
      |          ^^^^^^
      = hint: did you mean "fifo"?
    "#);
}

#[test]
fn a_latest_value_has_one_writer() {
    let second = "another = { task = \"controller\", gain = \"safety\", \
                  receives = [\"sensors\"], sends = [\"command\"] }\ncontroller =";
    insta::assert_snapshot!(problems_of(PAIR, &[("controller =", second)]), @r#"
    error: "another" and "controller" both write "command", but a latest value has one writer
      --> scenario.toml:20:89
       |
    20 | controller = { task = "controller", gain = "baseline", receives = ["sensors"], sends = ["command"] }
       |                                                                                         ^^^^^^^^^ second writer
       = hint: give each writer its own channel
    "#);
}

#[test]
fn a_queue_has_one_reader() {
    let third = "another = { task = \"controller\", gain = \"safety\", \
                 receives = [\"sensors\"], sends = [\"more\"] }\ncontroller =";
    let more = "more = { endpoint = \"shm:more\", delivery = \"latest\", message = \"command\" }\n\
                [variant.processes]";
    let edits = [
        ("\"shm:sensors\", delivery = \"latest\"", "\"mq:sensors\", delivery = { queue = 4 }"),
        ("[variant.processes]", more),
        ("controller =", third),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: channel "more" has no reader
      --> scenario.toml:17:1
       |
    17 | more = { endpoint = "shm:more", delivery = "latest", message = "command" }
       | ^^^^
       = hint: name it in a process: receives = ["more"]

    error: "another" and "controller" both read "sensors", but each message reaches only one reader
      --> scenario.toml:21:68
       |
    21 | controller = { task = "controller", gain = "baseline", receives = ["sensors"], sends = ["command"] }
       |                                                                    ^^^^^^^^^ second reader
       = hint: use shm: with delivery = "latest", or pubsub:
    "#);
}

#[test]
fn a_channel_has_a_writer_and_a_reader() {
    let idle = "idle = { endpoint = \"shm:idle\", delivery = \"latest\", message = \"command\" }\n\
                [variant.processes]";
    insta::assert_snapshot!(problems_of(PAIR, &[("[variant.processes]", idle)]), @r#"
    error: channel "idle" has no writer
      --> scenario.toml:17:1
       |
    17 | idle = { endpoint = "shm:idle", delivery = "latest", message = "command" }
       | ^^^^
       = hint: name it in a process: sends = ["idle"]

    error: channel "idle" has no reader
      --> scenario.toml:17:1
       |
    17 | idle = { endpoint = "shm:idle", delivery = "latest", message = "command" }
       | ^^^^
       = hint: name it in a process: receives = ["idle"]
    "#);
}

#[test]
fn a_channel_that_does_not_exist_is_refused() {
    insta::assert_snapshot!(problems_of(PAIR, &[("[\"sensors\"], sends", "[\"sensor\"], sends")]), @r#"
    error: the variant has no channel "sensor"
      --> scenario.toml:19:68
       |
    19 | controller = { task = "controller", gain = "baseline", receives = ["sensor"], sends = ["command"] }
       |                                                                    ^^^^^^^^ did you mean "sensors"?
       = hint: choose from sensors, command
    "#);
}

#[test]
fn a_process_sends_and_receives_the_messages_of_its_task() {
    let edits = [(
        "sends = [\"sensors\"], receives = [\"command\"]",
        "sends = [\"command\"], receives = []",
    )];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: channel "sensors" has no writer
      --> scenario.toml:15:1
       |
    15 | sensors = { endpoint = "shm:sensors", delivery = "latest" }
       | ^^^^^^^
       = hint: name it in a process: sends = ["sensors"]

    error: channel "command" has no reader
      --> scenario.toml:16:1
       |
    16 | command = { endpoint = "shm:command", delivery = "latest" }
       | ^^^^^^^
       = hint: name it in a process: receives = ["command"]

    error: "io" needs "receives"
      --> scenario.toml:18:1
       |
    18 | io = { task = "io", profile = "io", sends = ["command"], receives = [] }
       | ^^
       = hint: the task io receives command: receives = ["command"]

    error: "io" sends sensors, but "command" carries command
      --> scenario.toml:18:46
       |
    18 | io = { task = "io", profile = "io", sends = ["command"], receives = [] }
       |                                              ^^^^^^^^^
       = hint: the task io sends sensors

    error: "io" and "controller" both write "command", but a latest value has one writer
      --> scenario.toml:19:89
       |
    19 | controller = { task = "controller", gain = "baseline", receives = ["sensors"], sends = ["command"] }
       |                                                                                         ^^^^^^^^^ second writer
       = hint: give each writer its own channel
    "#);
}

#[test]
fn an_endpoint_belongs_to_one_channel() {
    insta::assert_snapshot!(problems_of(PAIR, &[("\"shm:command\"", "\"shm:sensors\"")]), @r#"
    error: the endpoint shm:sensors is already used by "sensors"
      --> scenario.toml:16:24
       |
    16 | command = { endpoint = "shm:sensors", delivery = "latest" }
       |                        ^^^^^^^^^^^^^
       = hint: give each channel of a variant its own endpoint
    "#);
}

#[test]
fn an_endpoint_names_a_mechanism_between_processes() {
    let edits = [("\"shm:command\"", "\"local:command\""), ("\"shm:sensors\"", "\"sensors\"")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: endpoint: "sensors" names no mechanism; an endpoint starts with local:, shm:, mq: or pubsub:
      --> scenario.toml:15:24
       |
    15 | sensors = { endpoint = "sensors", delivery = "latest" }
       |                        ^^^^^^^^^

    error: local:command works within one process only, but "command" connects several
      --> scenario.toml:16:24
       |
    16 | command = { endpoint = "local:command", delivery = "latest" }
       |                        ^^^^^^^^^^^^^^^
       = hint: use shm:, mq: or pubsub:
    "#);
}

#[test]
fn a_queue_has_a_bounded_length() {
    let edits = [
        ("\"shm:sensors\", delivery = \"latest\"", "\"shm:sensors\", delivery = { queue = 0 }"),
        ("\"shm:command\", delivery = \"latest\"", "\"shm:command\", delivery = \"newest\""),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: queue must be from 1 to 1024
      --> scenario.toml:15:60
       |
    15 | sensors = { endpoint = "shm:sensors", delivery = { queue = 0 } }
       |                                                            ^

    error: delivery must be "latest" or { queue = N }
      --> scenario.toml:16:50
       |
    16 | command = { endpoint = "shm:command", delivery = "newest" }
       |                                                  ^^^^^^^^
       = hint: "latest" keeps the newest message; a queue keeps N messages in order
    "#);
}

#[test]
fn a_circle_in_the_order_of_starting_is_refused() {
    let edits = [
        ("task = \"io\",", "task = \"io\", after = [\"controller\"],"),
        ("task = \"controller\",", "task = \"controller\", after = [\"io\"],"),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: no process can start first: io after controller after io
      --> scenario.toml:18:30
       |
    18 | io = { task = "io", after = ["controller"], profile = "io", sends = ["sensors"], receives = ["command"] }
       |                              ^^^^^^^^^^^^
       = hint: remove one "after" of the circle
    "#);
}

#[test]
fn processes_start_after_those_in_their_after_list() {
    let source =
        PAIR.replace("task = \"io\",", "task = \"io\", after = [\"controller\", \"plant\"],");
    let order: Vec<_> = plan(&source)
        .variants
        .remove(0)
        .processes
        .into_iter()
        .map(|process| process.name)
        .collect();
    assert_eq!(order, ["plant", "controller", "io"]);
}

#[test]
fn a_process_cannot_start_after_an_unknown_one() {
    let edits = [("task = \"io\",", "task = \"io\", after = [\"controler\"],")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: the variant has no process "controler"
      --> scenario.toml:18:30
       |
    18 | io = { task = "io", after = ["controler"], profile = "io", sends = ["sensors"], receives = ["command"] }
       |                              ^^^^^^^^^^^ did you mean "controller"?
       = hint: choose from io, controller
    "#);
}

#[test]
fn a_priority_beyond_the_limit_is_refused_unless_less_is_allowed() {
    let facts = Facts { priority_max: 50, ..facts() };
    insta::assert_snapshot!(problems_with(PAIR, &[], &facts, &Overrides::default()), @"
    error: priority 80 is requested, but this user's limit is 50
      --> scenario.toml:10:12
       |
    10 | priority = 80
       |            ^^
       = hint: raise it for this shell: sudo prlimit --pid $$ --rtprio=80; or accept less: allow_less = true
    ");
    let allowed = PAIR.replace("[plant]", "allow_less = true\n[plant]");
    let plan = read(&allowed, &facts, &Overrides::default()).unwrap();
    assert_eq!(plan.notes, ["priorities up to 80 are requested, but this user's limit is 50"]);
}

#[test]
fn real_time_priorities_without_permission_are_refused() {
    let facts = Facts { priority_max: 0, ..facts() };
    insta::assert_snapshot!(problems_with(PAIR, &[], &facts, &Overrides::default()), @"
    error: priority 80 is requested, but this user may not use real-time priorities
      --> scenario.toml:10:12
       |
    10 | priority = 80
       |            ^^
       = hint: raise it for this shell: sudo prlimit --pid $$ --rtprio=80; or accept less: allow_less = true
    ");
}

#[test]
fn a_processor_that_does_not_exist_is_refused_even_when_less_is_allowed() {
    let edits = [("cpus = \"0\"", "cpus = \"1-3\""), ("[plant]", "allow_less = true\n[plant]")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: processor 2-3 is not online; the online processors are 0-1
      --> scenario.toml:12:8
       |
    12 | cpus = "1-3"
       |        ^^^^^
       = hint: "first" and "last" work on every machine
    "#);
}

#[test]
fn a_policy_takes_its_own_parameters() {
    let edits = [("policy = \"fifo\"\npriority = 80", "policy = \"other\"\npriority = 80")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: the policy "other" has no key "priority"
      --> scenario.toml:10:1
       |
    10 | priority = 80
       | ^^^^^^^^
       = hint: it belongs to the policy fifo or rr
    "#);
    let edits = [("policy = \"fifo\"\npriority = 80", "policy = \"rr\"")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: the policy "rr" needs "priority"
     --> scenario.toml:8:11
      |
    8 | [profiles.io]
      |           ^^
      = hint: priority: Higher priorities run first, 1 to 99.
    "#);
}

#[test]
fn a_deadline_profile_is_feasible_and_not_pinned() {
    let deadline =
        "policy = \"deadline\"\nruntime = \"5ms\"\ndeadline = \"4ms\"\nperiod = \"20ms\"";
    insta::assert_snapshot!(problems_of(PAIR, &[("policy = \"fifo\"\npriority = 80", deadline)]), @r#"
    error: 5ms of processor time within 4ms every 20ms is impossible
      --> scenario.toml:10:1
       |
    10 | runtime = "5ms"
       | ^^^^^^^
       = hint: keep runtime ≤ deadline ≤ period

    error: a deadline profile cannot be pinned to a subset of the processors
      --> scenario.toml:13:1
       |
    13 | cpus = "0"
       | ^^^^
       = hint: the kernel admits SCHED_DEADLINE only on all processors; leave out cpus
    "#);
}

#[test]
fn a_profile_that_does_not_exist_is_refused() {
    insta::assert_snapshot!(problems_of(PAIR, &[("profile = \"io\"", "profile = \"oi\"")]), @r#"
    error: there is no profile "oi"
      --> scenario.toml:18:31
       |
    18 | io = { task = "io", profile = "oi", sends = ["sensors"], receives = ["command"] }
       |                               ^^^^
       = hint: choose from io
    "#);
}

#[test]
fn a_priority_of_its_own_needs_a_real_time_profile() {
    let edits =
        [("controller = { task = \"controller\",", "ctl = { task = \"controller\", priority = 7,")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: a priority needs a profile with the policy fifo or rr
      --> scenario.toml:19:30
       |
    19 | ctl = { task = "controller", priority = 7, gain = "baseline", receives = ["sensors"], sends = ["command"] }
       |                              ^^^^^^^^
       = hint: name one with profile = "…"
    "#);
}

#[test]
fn a_missing_program_is_refused() {
    let edits = [("\"./unit\"", "\"./units/fast\"")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: "./units/fast" is not an executable program
      --> scenario.toml:32:12
       |
    32 | command = ["./units/fast", "fast"]
       |            ^^^^^^^^^^^^^^
       = hint: paths are relative to the scenario's folder; check that the program is built and executable (chmod +x)
    "#);
    let edits = [("[\"./unit\", \"fast\"]", "[]")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: command is empty
      --> scenario.toml:32:1
       |
    32 | command = []
       | ^^^^^^^
       = hint: write the program and its arguments: ["./program", "argument"]
    "#);
    let edits = [(
        "controller = { task = \"controller\",",
        "load = { task = \"command\", command = [\"stress\"] }\n\
         controller = { task = \"controller\",",
    )];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: "stress" is not an executable program
      --> scenario.toml:19:39
       |
    19 | load = { task = "command", command = ["stress"] }
       |                                       ^^^^^^^^
       = hint: a name without a slash is looked up in PATH; write "./name" for a program beside the scenario
    "#);
}

#[test]
fn an_argument_that_no_program_can_get_is_refused() {
    let edits = [("\"fast\"]", "\"fa\\u0000st\"]")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: the argument "fa\0st" contains a NUL character
      --> scenario.toml:32:22
       |
    32 | command = ["./unit", "fa\u0000st"]
       |                      ^^^^^^^^^^^^
       = hint: no program can be given such an argument; remove \u0000
    "#);
    let edits = [("\"./unit\"", "\"./un\\u0000it\"")];
    let shown = problems_of(SIMPLEX, &edits);
    assert!(
        shown.starts_with("error: the argument \"./un\\0it\" contains a NUL character"),
        "{shown}"
    );
    assert_eq!(shown.matches("error: ").count(), 1, "{shown}");
}

#[test]
fn a_safety_controller_that_does_not_recover_is_refused_before_anything_starts() {
    let edits = [("[decision]", "[decision]\nsafety = [0, 0, 0, 0]")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: variant "simplex" cannot be supervised in cycles of 20ms: the safety controller: the region is not invariant under the controller: some state in it leads further out
     --> scenario.toml:6:10
      |
    6 | safety = [0, 0, 0, 0]
      |          ^^^^^^^^^^^^
      = hint: choose a gain that recovers from its whole region at this rate; safety is the default
    "#);
}

#[test]
fn names_are_unique() {
    let twice = format!("{PAIR}{}", &PAIR[PAIR.find("[[variant]]").unwrap()..]);
    insta::assert_snapshot!(problems_of(&twice, &[]), @r#"
    error: another variant is already named "pair"
      --> scenario.toml:21:8
       |
    21 | name = "pair"
       |        ^^^^^^
       = hint: choose another name
    "#);
    insta::assert_snapshot!(problems_of(SIMPLEX, &[("name = \"second\"", "name = \"io\"")]), @r#"
    error: another process or unit is already named "io"
      --> scenario.toml:31:8
       |
    31 | name = "io"
       |        ^^^^
       = hint: choose another name
    "#);
    insta::assert_snapshot!(problems_of(SIMPLEX, &[("name = \"second\"", "name = \"plant\"")]), @r#"
    error: "plant" is reserved for the plant's process
      --> scenario.toml:31:8
       |
    31 | name = "plant"
       |        ^^^^^^^
       = hint: choose another name
    "#);
}

#[test]
fn names_are_valid_as_file_names() {
    insta::assert_snapshot!(problems_of(PAIR, &[("name = \"pair\"", "name = \"a/b\"")]), @r#"
    error: "a/b" is not a valid name
      --> scenario.toml:13:8
       |
    13 | name = "a/b"
       |        ^^^^^
       = hint: use 1 to 64 characters of a-z, A-Z, 0-9, '-', '_' and '.'
    "#);
}

#[test]
fn units_need_a_decision_process() {
    let line = SIMPLEX.lines().find(|line| line.starts_with("decision =")).unwrap();
    let controller = "decision = { task = \"controller\", gain = \"safety\", \
                      receives = [\"sensors\"], sends = [\"command\"] }";
    insta::assert_snapshot!(problems_of(SIMPLEX, &[(line, controller)]), @r#"
    error: units need a decision process
      --> scenario.toml:26:11
       |
    26 | [[variant.units]]
       |           ^^^^^
       = hint: add a process with task = "decision"; to run a controller without one, write task = "controller"
    "#);
}

#[test]
fn units_need_sensors_that_every_process_can_map() {
    let edits =
        [("\"shm:sensors\", delivery = \"latest\"", "\"mq:sensors\", delivery = { queue = 4 }")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: units cannot read "sensors" through mq:sensors
      --> scenario.toml:16:24
       |
    16 | sensors = { endpoint = "mq:sensors", delivery = { queue = 4 } }
       |                        ^^^^^^^^^^^^
       = hint: units map it read-only: endpoint = "shm:sensors", delivery = "latest"
    "#);
}

#[test]
fn at_most_one_unit_is_active() {
    let edits = [("name = \"second\"", "name = \"second\"\nstate = \"active\"")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: "second" and "first" are both active
      --> scenario.toml:31:8
       |
    31 | name = "second"
       |        ^^^^^^^^
       = hint: only one unit can be active; the first unit is, unless it has state = "shadow"
    "#);
}

#[test]
fn a_unit_has_a_lower_priority_than_its_supervisor() {
    let edits = [("name = \"second\"", "name = \"second\"\npriority = 80")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: unit "second" at FIFO 80 could keep the processor from "decision" at FIFO 80
      --> scenario.toml:31:8
       |
    31 | name = "second"
       |        ^^^^^^^^
       = hint: give units a lower priority than io and decision

    error: unit "second" at FIFO 80 could keep the processor from "io" at FIFO 80
      --> scenario.toml:31:8
       |
    31 | name = "second"
       |        ^^^^^^^^
       = hint: give units a lower priority than io and decision
    "#);
}

#[test]
fn an_unreadable_priority_policy_or_profile_is_one_problem() {
    let high = "policy = \"fifo\"\npriority = 80";
    let second = "\"fast\"]\nprofile = \"low\"";
    for (from, to) in [
        (high, "policy = \"fifo\"\npriority = 180"),
        (high, "policy = \"fifo\"\npriority = 0"),
        (high, "policy = \"fast\""),
        (second, "\"fast\"]\nprofile = \"low\"\npriority = 100"),
        (second, "\"fast\"]\nprofile = \"slow\"\npriority = 7"),
        ("\"decision\", profile = \"high\"", "\"decision\", profile = \"hihg\""),
    ] {
        let shown = problems_of(SIMPLEX, &[(from, to)]);
        assert_eq!(shown.matches("error: ").count(), 1, "{to}\n{shown}");
    }
}

#[test]
fn only_a_program_has_a_user() {
    let edits = [
        ("profile = \"low\"\n[[", "user = \"own\"\n[["),
        ("\"fast\"]", "\"fast\"]\nuser = \"run\""),
    ];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: unit "first" has a user but no command
      --> scenario.toml:29:1
       |
    29 | user = "own"
       | ^^^^
       = hint: only a program of yours can have a user of its own; leave user out
    "#);
}

#[test]
fn a_unit_has_either_a_gain_or_a_command() {
    let edits = [("gain = \"experimental\"", "fault_after = \"1s\"")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: "first" needs "gain"
      --> scenario.toml:26:1
       |
    26 | [[variant.units]]
       | ^^^^^^^^^^^^^^^^^
       = hint: gain is the name of a gain or four numbers; or write a command, or wasm

    error: fault_after needs a fault
      --> scenario.toml:28:1
       |
    28 | fault_after = "1s"
       | ^^^^^^^^^^^
       = hint: name the fault: fault = "…"
    "#);
    let edits = [("gain = \"experimental\"", "gain = \"safety\"\ncommand = [\"./unit\"]")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: unit "first" has both a gain and a command
      --> scenario.toml:29:1
       |
    29 | command = ["./unit"]
       | ^^^^^^^
       = hint: gain runs the built-in controller, command runs your program; keep one
    "#);
}

#[test]
fn a_fault_is_known_and_starts_within_the_run() {
    let edits = [
        ("gain = \"experimental\"", "gain = \"experimental\"\nfault = \"busyloop\""),
        ("name = \"second\"", "name = \"second\"\nfault = \"crash\"\nfault_after = \"6s\""),
    ];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: there is no fault "busyloop"
      --> scenario.toml:29:9
       |
    29 | fault = "busyloop"
       |         ^^^^^^^^^^ did you mean "busy-loop"?
       = hint: choose from none, constant, sign-flipped, square-wave, random-command, not-a-number, stuck, stale-data, drift, burst, gain-tenfold, bias, ripple, wrong-gain, adversary, no-output, late-1, late-2, late-5, duplicated, reordered, other-plant, message-storm, malformed, bit-flip, crash, hang, busy-loop, stop-continue, memory-hog, replace-loop, failure-during-replacement, two-together

    error: the fault starts after 6s, but a run ends after 5500ms
      --> scenario.toml:34:1
       |
    34 | fault_after = "6s"
       | ^^^^^^^^^^^
       = hint: a run lasts warmup plus duration
    "#);
}

#[test]
fn lengths_within_a_cycle_fit_the_period() {
    let edits = [
        ("task = \"io\",", "task = \"io\", deadline = \"21ms\","),
        ("conversion_time = \"0us\"", "conversion_time = \"7ms\""),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: the 3 conversions of a cycle take 21ms, but the period is 20ms
     --> scenario.toml:7:19
      |
    7 | conversion_time = "7ms"
      |                   ^^^^^
      = hint: shorten conversion_time or lower the rate

    error: the deadline of "io" is 21ms, beyond its period of 20ms
      --> scenario.toml:18:32
       |
    18 | io = { task = "io", deadline = "21ms", profile = "io", sends = ["sensors"], receives = ["command"] }
       |                                ^^^^^^
       = hint: keep the deadline at or below the period
    "#);
    let edits = [
        ("answer_within = \"4ms\"", "answer_within = \"20ms\""),
        ("name = \"second\"", "name = \"second\"\nbudget = \"30ms\""),
    ];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: answer_within is 20ms, but the period of variant "simplex" is 20ms
     --> scenario.toml:6:17
      |
    6 | answer_within = "20ms"
      |                 ^^^^^^
      = hint: keep answer_within below the period, such as 10ms

    error: second needs 30ms of processor time in a cycle, but of the 20ms until answers are due only 17500us are left: first 2500us
      --> scenario.toml:32:10
       |
    32 | budget = "30ms"
       |          ^^^^^^
       = hint: give the units smaller budgets, or the cycle a longer answer_within
    "#);
    let edits = [("order = \"read-first\"", "order = \"read-first\"\ncommand_within = \"3ms\"")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: command_within is 3ms; it must be above answer_within, which is 4ms
      --> scenario.toml:23:18
       |
    23 | command_within = "3ms"
       |                  ^^^^^
       = hint: keep it between answer_within and the period, such as 6ms
    "#);
    let edits = [("rate = \"50Hz\"", "rate = \"2kHz\"")];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @"
    error: the plant steps every 1ms, longer than the period of 500us
     --> scenario.toml:4:2
      |
    4 | [plant]
      |  ^^^^^
      = hint: keep the plant's step at or below the period, such as 500us
    ");
}

#[test]
fn the_performance_monitor_is_on_by_default() {
    let remedy = |performance: &str| {
        let source = SIMPLEX.replace("[decision]", &format!("[decision]\n{performance}"));
        let decision = plan(&source).variants.remove(0).decision.unwrap();
        decision.performance.map(|performance| performance.remedy)
    };
    assert_eq!(remedy(""), Some(Remedy::Report));
    assert_eq!(remedy("performance = { limit = 2 }"), Some(Remedy::Report));
    assert_eq!(remedy("performance = { remedy = \"switch\" }"), Some(Remedy::Switch));
    assert_eq!(remedy("performance = { remedy = \"off\" }"), None);
}

#[test]
fn return_below_is_at_most_accept_below() {
    let edits = [("[decision]", "[decision]\naccept_below = 0.5\nreturn_below = 0.6")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @"
    error: return_below is 0.6, above accept_below, which is 0.5
     --> scenario.toml:7:1
      |
    7 | return_below = 0.6
      | ^^^^^^^^^^^^
      = hint: keep return_below at or below accept_below
    ");
}

#[test]
fn exactly_one_process_moves_the_plant() {
    let both = "mono = { task = \"monolithic\", gain = \"safety\" }\ncontroller =";
    insta::assert_snapshot!(problems_of(PAIR, &[("controller =", both)]), @r#"
    error: "mono" and "io" both move the plant
      --> scenario.toml:19:1
       |
    19 | mono = { task = "monolithic", gain = "safety" }
       | ^^^^
       = hint: a variant has one process with task io or monolithic
    "#);
    let load = "[variant.processes]\nload = { task = \"workload\", compute = \"200us\" }\n";
    let start = PAIR.find("[variant.channels]").unwrap();
    insta::assert_snapshot!(problems_of(PAIR, &[(&PAIR[start..], load)]), @r#"
    error: no process of this variant moves the plant
      --> scenario.toml:13:1
       |
    13 | name = "pair"
       | ^^^^
       = hint: it needs a process with task = "io" or task = "monolithic"
    "#);
    insta::assert_snapshot!(problems_of(PAIR, &[("[plant]\nmodel = \"sei-fit\"\n", "")]), @r#"
    error: "io" has no plant to move
      --> scenario.toml:16:1
       |
    16 | io = { task = "io", profile = "io", sends = ["sensors"], receives = ["command"] }
       | ^^
       = hint: add the table [plant]
    "#);
}

#[test]
fn keys_belong_to_their_task() {
    let edits = [
        ("task = \"io\", profile = \"io\",", "task = \"io\", gain = \"safety\", rate = \"10Hz\","),
        ("gain = \"baseline\",", "compute = \"1ms\","),
    ];
    insta::assert_snapshot!(problems_of(PAIR, &edits), @r#"
    error: the task "io" has no key "gain"
      --> scenario.toml:18:21
       |
    18 | io = { task = "io", gain = "safety", rate = "10Hz", sends = ["sensors"], receives = ["command"] }
       |                     ^^^^
       = hint: it belongs to the task monolithic or controller

    error: the task "io" has no key "rate"
      --> scenario.toml:18:38
       |
    18 | io = { task = "io", gain = "safety", rate = "10Hz", sends = ["sensors"], receives = ["command"] }
       |                                      ^^^^
       = hint: it belongs to the task workload

    error: the task "controller" needs "gain"
      --> scenario.toml:19:1
       |
    19 | controller = { task = "controller", compute = "1ms", receives = ["sensors"], sends = ["command"] }
       | ^^^^^^^^^^
       = hint: gain: Control law: a name, or a number for each state.

    error: the task "controller" has no key "compute"
      --> scenario.toml:19:37
       |
    19 | controller = { task = "controller", compute = "1ms", receives = ["sensors"], sends = ["command"] }
       |                                     ^^^^^^^
       = hint: it belongs to the task workload
    "#);
}

#[test]
fn a_workload_computes_for_less_than_its_period() {
    let load = "load = { task = \"workload\", rate = \"1kHz\", compute = \"1ms\" }\ncontroller =";
    insta::assert_snapshot!(problems_of(PAIR, &[("controller =", load)]), @r#"
    error: "load" would compute for 1ms in each 1ms
      --> scenario.toml:19:54
       |
    19 | load = { task = "workload", rate = "1kHz", compute = "1ms" }
       |                                                      ^^^^^
       = hint: keep compute under the period
    "#);
}

#[test]
fn a_campaign_names_variants_that_fit_its_faults() {
    let edits = [
        ("with = \"simplex\"", "with = \"direct\""),
        ("without = \"direct\"", "without = \"indirect\""),
        ("kinds = \"all\"", "kinds = [\"sign-flip\", \"constant\", \"constant\"]"),
        ("fault_after = \"2s\"", "fault_after = \"14s\""),
    ];
    insta::assert_snapshot!(problems_of(CAMPAIGN, &edits), @r#"
    error: there is no fault of this class "sign-flip"
      --> scenario.toml:28:10
       |
    28 | kinds = ["sign-flip", "constant", "constant"]
       |          ^^^^^^^^^^^ did you mean "sign-flipped"?
       = hint: choose from none, constant, sign-flipped, square-wave, random-command, not-a-number, stuck, stale-data, drift, burst, gain-tenfold, bias, ripple, wrong-gain, adversary

    error: "constant" is listed twice
      --> scenario.toml:28:35
       |
    28 | kinds = ["sign-flip", "constant", "constant"]
       |                                   ^^^^^^^^^^

    error: the fault starts after 14s, but a run ends after 14s
      --> scenario.toml:31:1
       |
    31 | fault_after = "14s"
       | ^^^^^^^^^^^
       = hint: leave time to observe its effect

    error: variant "direct" has no decision process with an active unit
      --> scenario.toml:40:1
       |
    40 | with = "direct"
       | ^^^^
       = hint: the fault goes into the active unit

    error: there is no variant "indirect"
      --> scenario.toml:41:11
       |
    41 | without = "indirect"
       |           ^^^^^^^^^^ did you mean "direct"?
       = hint: choose from direct, simplex
    "#);
}

#[test]
fn a_scenario_has_something_to_run() {
    insta::assert_snapshot!(problems_of("title = \"x\"\nrate = \"50Hz\"\nduration = \"1s\"\n", &[]), @"
    error: there is nothing to run
      = hint: add at least one [[variant]], a [campaign] or a [federation]
    ");
    let nothing = "title = \"x\"\nrate = \"50Hz\"\nduration = \"1s\"\n\
                   [[variant]]\nname = \"x\"\n[variant.processes]\n";
    insta::assert_snapshot!(problems_of(nothing, &[]), @r#"
    error: this variant has no process
     --> scenario.toml:6:10
      |
    6 | [variant.processes]
      |          ^^^^^^^^^
      = hint: add one: name = { task = "…" }
    "#);
    insta::assert_snapshot!(problems_of("", &[]), @r#"
    error: a scenario needs "title"
      = hint: title: The heading of tables and pages, in one line.

    error: a scenario needs "rate"
      = hint: rate: Rate of the control cycle, "50Hz" or "20ms".

    error: a scenario needs "duration"
      = hint: duration: Length of each run of a variant, after the warm-up.

    error: there is nothing to run
      = hint: add at least one [[variant]], a [campaign] or a [federation]
    "#);
}

/// Reads any text: a plan is sound, and problems can be rendered.
fn reads_without_panic(source: &str) {
    match read(source, &facts(), &Overrides::default()) {
        Ok(plan) => assert_sound(&plan),
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(render(&problems, source, "f").starts_with("error: "));
        }
    }
}

fn assert_sound(plan: &Plan) {
    assert!(plan.runs >= 1 && plan.duration.is_positive());
    assert!(plan.campaign.is_some() || !plan.variants.is_empty());
    for variant in &plan.variants {
        let period = variant.rate.period();
        assert!(plan.duration >= period && plan.card.conversion_time * CONVERSIONS < period);
        for channel in &variant.channels {
            let ends = |list: fn(&Process) -> &Vec<String>| {
                variant.processes.iter().filter(|p| list(p).contains(&channel.name)).count()
            };
            assert_eq!(ends(|process| &process.sends), 1, "{}", channel.name);
            assert!(ends(|process| &process.receives) >= 1, "{}", channel.name);
        }
        let actuating = variant
            .processes
            .iter()
            .filter(|process| matches!(process.task, Task::Io { .. } | Task::Monolithic { .. }));
        assert_eq!(actuating.count(), usize::from(plan.plant.is_some()));
        for process in &variant.processes {
            assert!(process.deadline.is_positive() && process.deadline <= process.period);
            let mut ends = process.sends.iter().chain(&process.receives);
            assert!(ends.all(|name| variant.channel(name).is_some()));
            if let Release::On { channel, .. } = &process.release {
                assert!(process.receives.contains(channel));
            }
        }
        assert_eq!(variant.decision.is_some(), variant.decision_process().is_some());
        if let Some(decision) = &variant.decision {
            assert!(decision.answer_within < period);
        }
        assert!(variant.units.is_empty() || variant.decision.is_some());
        assert!(variant.units.len() <= crate::keys::UNITS_MAX);
        let active = variant.units.iter().filter(|unit| unit.state == UnitState::Active);
        assert!(active.count() <= 1);
        assert!(
            variant.units.iter().all(|unit| unit.budget.is_positive() && unit.budget <= period)
        );
    }
}

/// The text with some of its words repeated, swapped or replaced.
fn shuffled(source: &str, moves: &[(usize, usize, u8)]) -> String {
    let mut words: Vec<&str> =
        source.split_inclusive(['\n', ' ', '=', '"', '[', ']', ',']).collect();
    for (from, to, what) in moves {
        let (from, to) = (from % words.len(), to % words.len());
        match what % 3 {
            0 => words[to] = words[from],
            1 => words.swap(from, to),
            _ => words.insert(to, words[from]),
        }
    }
    words.concat()
}

#[test]
fn deep_nesting_is_refused_without_panic() {
    for open in ["[", "{a=", "a.", "[[a]]\n"] {
        reads_without_panic(&format!("title = {}", open.repeat(50_000)));
        reads_without_panic(&open.repeat(50_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read_without_panic(source in ".{0,400}") {
        reads_without_panic(&source);
    }

    #[test]
    fn any_shuffled_scenario_is_read_without_panic(
        which in 0usize..5,
        moves in prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 0..12),
    ) {
        let source = [PAIR, SIMPLEX, CAMPAIGN, LADDER, MIXED][which];
        reads_without_panic(&shuffled(source, &moves));
    }
}

#[test]
fn a_list_expands_one_variant_into_several() {
    let plan = plan(MIXED);
    assert_eq!(plan.kind(), "mixed-load");
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        names[..6],
        ["share-0", "share-10", "share-16", "share-22", "share-30", "share-34.2"]
    );
    assert_eq!(
        names[8..],
        ["rate-100Hz", "rate-500Hz", "rate-1kHz", "rate-2kHz", "rate-4kHz", "rate-8kHz"]
    );
    let load = |name: &str| plan.variant(name).unwrap().mixed().unwrap().load;
    assert!(load("share-0").is_none(), "the control has no load");
    let fifth = load("rate-4kHz").unwrap();
    let expected = Task::Workload { compute: Span::from_micros(50), takes_turns: true };
    assert_eq!((&fifth.task, fifth.period), (&expected, Span::from_micros(250)));
    assert!(plan.variants[..8].iter().all(|variant| variant.series.as_deref() == Some("share")));
    let benchmark = plan.variants[0].process("benchmark").unwrap();
    assert_eq!(benchmark.period, Span::from_millis(100));
}

#[test]
fn the_kernel_is_recorded_where_permitted_by_default() {
    assert_eq!(plan(PAIR).kernel, crate::KernelTrace::WherePermitted);
    let stated = PAIR.replace("[plant]", "[trace]\nkernel = true\n[plant]");
    assert_eq!(plan(&stated).kernel, crate::KernelTrace::Required);
    let overrides = Overrides { kernel: Some(false), ..Overrides::default() };
    assert_eq!(plan_with(&stated, &overrides).kernel, crate::KernelTrace::Off);
}

#[test]
fn a_load_that_takes_turns_needs_a_benchmark() {
    let benchmark = "benchmark = { task = \"benchmark\", threads = 4, memory = \"256KiB\", \
                     turn = \"100ms\", profile = \"rest\" }\n";
    insta::assert_snapshot!(problems_of(MIXED, &[(benchmark, "")]), @r#"
    error: "load" takes turns, but there is no benchmark
      --> scenario.toml:33:1
       |
    33 | load = { task = "workload", share = [0, 10, 16, 22, 30, 34.2, 52.2, 75], takes_turns = true, profile = "load" }
       | ^^^^
       = hint: add a process with task = "benchmark"
    "#);
    let other = "interactive = { task = \"workload\", takes_turns = true,";
    insta::assert_snapshot!(
        problems_of(MIXED, &[("interactive = { task = \"workload\",", other)]),
        @r#"
    error: this variant has a second load that takes turns
      --> scenario.toml:34:1
       |
    34 | load = { task = "workload", share = [0, 10, 16, 22, 30, 34.2, 52.2, 75], takes_turns = true, profile = "load" }
       | ^^^^
       = hint: the benchmark measures the effect of one load at a time
    "#
    );
}

#[test]
fn a_share_is_a_percentage_and_excludes_compute() {
    insta::assert_snapshot!(problems_of(MIXED, &[("52.2, 75", "52.2, 175")]), @r#"
    error: share is 175; it must be from 0 to 90
      --> scenario.toml:34:69
       |
    34 | load = { task = "workload", share = [0, 10, 16, 22, 30, 34.2, 52.2, 175], takes_turns = true, profile = "load" }
       |                                                                     ^^^
       = hint: it is a percentage of one processor
    "#);
    insta::assert_snapshot!(problems_of(MIXED, &[("share = [0", "compute = \"1us\", share = [0")]), @r#"
    error: "load" has both compute and share
      --> scenario.toml:34:46
       |
    34 | load = { task = "workload", compute = "1us", share = [0, 10, 16, 22, 30, 34.2, 52.2, 75], takes_turns = true, profile = "load" }
       |                                              ^^^^^
       = hint: share is compute divided by the period; keep one
    "#);
    insta::assert_snapshot!(problems_of(MIXED, &[("share = 20", "share = []")]), @"
    error: this variant has a second list
      --> scenario.toml:45:1
       |
    45 | share = []
       | ^^^^^
       = hint: a variant has at most one list; add another variant

    error: share lists 0 values; it must list from 1 to 32
      --> scenario.toml:45:9
       |
    45 | share = []
       |         ^^
    ");
    insta::assert_snapshot!(problems_of(MIXED, &[("share = 20", "share = [20, 30]")]), @"
    error: this variant has a second list
      --> scenario.toml:45:1
       |
    45 | share = [20, 30]
       | ^^^^^
       = hint: a variant has at most one list; add another variant
    ");
}

#[test]
fn a_run_lasts_at_least_four_turns() {
    insta::assert_snapshot!(problems_of(MIXED, &[("turn = \"100ms\"", "turn = \"600ms\"")]), @r#"
    error: a run of 2s is shorter than four turns of 600ms
      --> scenario.toml:32:74
       |
    32 | benchmark = { task = "benchmark", threads = 4, memory = "256KiB", turn = "600ms", profile = "rest" }
       |                                                                          ^^^^^^^
       = hint: the load rests in the first and fourth turn and works in the second and third
    "#);
    insta::assert_snapshot!(problems_of(MIXED, &[("turn = \"100ms\"", "turn = \"2ms\"")]), @r#"
    error: turn is 2ms, too short to count work
      --> scenario.toml:32:74
       |
    32 | benchmark = { task = "benchmark", threads = 4, memory = "256KiB", turn = "2ms", profile = "rest" }
       |                                                                          ^^^^^
       = hint: use at least 10ms; 100ms is usual
    "#);
    insta::assert_snapshot!(problems_of(MIXED, &[("rate = [\"100Hz\"", "rate = [\"4Hz\"")]), @r#"
    error: "load" has a period of 250ms, longer than a turn of 100ms
      --> scenario.toml:39:10
       |
    39 | [variant.processes]
       |          ^^^^^^^^^
       = hint: lengthen the benchmark's turn
    "#);
}

#[test]
fn a_federation_has_one_variant_per_mode() {
    let plan = plan(FORMATION);
    assert_eq!((plan.kind(), plan.variants.len()), ("federation", 8));
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names[0], "interaction-low-free");
    assert_eq!(names[7], "time-management-high-pinned");
    let low = plan.variants[0].process("dynamics-1").unwrap();
    assert_eq!(low.profile, hemiola_units::Profile::ordinary());
    let high = plan.variants[7].process("dynamics-1").unwrap();
    assert_eq!(high.profile.scheduling.to_string(), "FIFO 45");
    assert!(high.profile.lock_memory && high.profile.cpus.is_some());
    assert!(matches!(high.release, Release::Every { .. }), "the master has the timer");
    assert_eq!(plan.variants[7].process("board-1").unwrap().release, Release::Federation);
    assert_eq!(plan.variants[7].processes[0].name, "rti");
}

#[test]
fn a_faster_master_makes_every_federate_faster() {
    let overrides = Overrides { rate: Some("1kHz".parse().unwrap()), ..Overrides::default() };
    let plan = plan_with(PAYLOAD, &overrides);
    let process = |name: &str| plan.variants[0].process(name).unwrap();
    assert_eq!(process("payload").period, Span::from_millis(1));
    assert_eq!(process("board-1").period, Span::from_millis(2));
    let Task::Federate(settings) = &process("board-1").task else { panic!("a federate") };
    assert_eq!(settings.compute, Span::from_micros(500));
}

#[test]
fn mistakes_in_a_federation_are_reported() {
    let cases: [(&[(&str, &str)], &str); 12] = [
        (&[("master = \"dynamics-1\"", "master = \"dynamic-1\"")], "did you mean \"dynamics-1\"?"),
        (&[("rti = \"shm\"", "rti = \"udp\"")], "rti cannot be \"udp\""),
        (&[("[\"low\", \"high\"]", "[\"low\", \"hi\"]")], "priority cannot be \"hi\""),
        (&[("[federation]", "[plant]\n[federation]")], "cannot be combined with \"plant\""),
        (&[("size = \"64B\"", "size = \"63B\"")], "has from 64B to 64KiB"),
        (&[("size = \"64B\"", "size = \"65KiB\"")], "size is 65KiB"),
        (&[("to = \"board-2\"", "to = \"dynamics-2\"")], "would send to itself"),
        (&[("from = \"board-1\"", "from = \"ground\"")], "there is no federate \"ground\""),
        (&[("board-1 = {", "rti = {")], "reserved for the RTI's process"),
        (
            &[("satellite = 1, priority = 45,", "satellite = 1, every = 2, priority = 45,")],
            "the master has every = 2; it must be 1",
        ),
        (
            &[
                ("size = \"256B\"", "size = \"256B\"\nmid_cycle = true"),
                ("size = \"128B\"", "mid_cycle = true"),
            ],
            "would wait forever in mid-cycle",
        ),
        (
            &[(
                "from = \"board-2\"\nto = \"dynamics-2\"",
                "from = \"dynamics-2\"\nto = \"board-2\"",
            )],
            "a second exchange",
        ),
    ];
    for (edits, expected) in cases {
        let text = problems_of(FORMATION, edits);
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}
