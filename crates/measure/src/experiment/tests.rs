//! Experiments on a synthetic machine: rejected texts, the end of the measurement, the verdict.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use hemiola_diagnostic::render;
use hemiola_rt::clock::Clock;
use hemiola_units::{Bytes, Span};

use super::*;
use crate::activity::{Activity, Meanwhile};
use crate::command::{CommandError, CommandRunner, Run};
use crate::synthetic::{self, Silent, Synthetic, conditions, undocumented};

/// One case; `EXPECTATION`, `ACCURACY` and `SECOND` are placeholders.
const TEXT: &str = r#"
title = "A switch"
need = "how small tasks may be"
[quantity]
definition = "half a round trip"
[accuracy]
ACCURACY
[circumstances]
load = "idle"
[inputs.instructions]
low = 1000
high = 3000
because = "counted"
[inputs.lines]
value = 10
because = "known exactly"
[set_up]
description = "ping and pong"
readings = 50
blocks = 10
[[case]]
name = "warm"
figure = "switch.warm"
EXPECTATION
because = "instructions and a few lines"
SECOND
"#;

const EXPECTATION: &str = "expectation = \"instructions * cpu.instruction + lines * storage.l2\"";
const ACCURACY: &str = "relative = \"5 %\"\nwithin = \"10s\"";

fn text(expectation: &str, accuracy: &str, second: &str) -> String {
    TEXT.replace("EXPECTATION", expectation).replace("ACCURACY", accuracy).replace("SECOND", second)
}

/// A machine on which the expectation is 1050 ns, between 550 and 1550.
fn machine(switch: f64, noise: f64) -> Synthetic {
    Synthetic::new(&[
        ("switch.warm", switch, noise),
        ("cpu.instruction", 0.5, 0.001),
        ("storage.l2", 5.0, 0.01),
        ("idle.switch", 1200.0, 0.02),
    ])
}

fn read_text(text: &str) -> Result<Experiment, String> {
    let catalogue = machine(1.0, 0.0).catalogue();
    read(text, &known(&catalogue)).map_err(|problems| render(&problems, text, "experiment.toml"))
}

fn rejected(text: &str, said: &[&str]) {
    let problems = read_text(text).map(|_| ()).unwrap_err();
    for said in said {
        assert!(problems.contains(said), "{said} is missing from:\n{problems}");
    }
}

fn measured(text: &str, source: &mut Synthetic) -> CaseOutcome {
    let experiment = read_text(text).unwrap_or_else(|problems| panic!("{problems}"));
    let (catalogue, clock) = (source.catalogue(), source.clock.clone());
    let interrupted = AtomicBool::new(false);
    let outcome =
        run(&experiment, &catalogue, None, source, &clock, &mut Silent, &interrupted).unwrap();
    outcome.cases.into_iter().next().unwrap()
}

/// The text, with something of one's own in place of a figure of merit.
fn own(origin: &str) -> String {
    text(EXPECTATION, ACCURACY, "").replace("figure = \"switch.warm\"", origin)
}

/// A command that takes 1 µs and a little more each time.
struct Slower(u32);

impl CommandRunner for Slower {
    fn run(&mut self, subject: &Subject, when: &str) -> Result<Run, CommandError> {
        self.0 += 1;
        assert_eq!((subject.words.len(), when), (3, format!("in run {}", self.0).as_str()));
        let wall = Span::from_nanos(1_000 + i64::from(self.0 % 7));
        let (user, system, memory_max) = (wall, Span::ZERO, Bytes(0));
        Ok(Run { prepared: Span::ZERO, wall, user, system, memory_max, exit_code: Some(0) })
    }
}

fn measured_own(text: &str, recorded: Vec<f64>) -> CaseOutcome {
    let experiment = read_text(text).unwrap_or_else(|problems| panic!("{problems}"));
    let mut machine = machine(1.0, 0.0);
    let (catalogue, clock) = (machine.catalogue(), machine.clock.clone());
    let recorded = BTreeMap::from([(experiment.cases[0].figure.clone(), recorded)]);
    let (mut runner, never) = (Slower(0), AtomicBool::new(false));
    let mut source = Own::new(&experiment, &mut machine, &mut runner, &recorded);
    let outcome = run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &never);
    outcome.unwrap().cases.into_iter().next().unwrap()
}

#[test]
fn a_command_is_measured_like_a_figure() {
    let experiment = read_text(&own("command = \"gzip -k 'a b'\"")).unwrap();
    let Origin::Command(subject) = &experiment.cases[0].origin else { panic!("{experiment:?}") };
    assert_eq!(subject.words, ["gzip", "-k", "a b"]);
    let own = "command = \"gzip -k file\"";
    let outcome = measured_own(&self::own(own), Vec::new());
    assert_eq!(
        (outcome.figure.as_str(), outcome.verdict),
        ("command.warm", ExpectationVerdict::Inside)
    );
    assert!(matches!(outcome.accuracy, Reach::Reached { .. }), "{outcome:?}");
    assert_eq!((outcome.measured.samples, outcome.measured.blocks), (500, 10));
}

/// The text, with the range of `instructions` in nanoseconds as the expectation.
fn stated(low: &str, high: &str, expectation: &str) -> String {
    let own = own("readings = { file = \"times.csv\" }");
    let own = own.replace("low = 1000", low).replace("high = 3000", high);
    own.replace(EXPECTATION, &format!("expectation = \"{expectation}\""))
}

#[test]
fn a_stated_range_is_whole() {
    let expected = |text: &str, reading: f64| {
        let case = measured_own(text, vec![reading; 20]);
        let [low, high] = [case.expected.low, case.expected.high].map(|end| end.round());
        (low, high, case.verdict)
    };
    // 2.36 µs is not in the middle 95 % of 1 to 100 µs.
    let text = stated("low = \"1 us\"", "high = \"100 us\"", "instructions");
    assert_eq!(expected(&text, 2_360.0), (1e3, 100e3, ExpectationVerdict::Inside));
    assert_eq!(expected(&text, 1_000.0).2, ExpectationVerdict::Inside);
    assert_eq!(expected(&text, 100_000.0).2, ExpectationVerdict::Inside);
    assert!(matches!(expected(&text, 999.0).2, ExpectationVerdict::Outside { above: false, .. }));
    let text = stated("low = \"1 us\"", "high = \"100 us\"", "lines * instructions");
    assert_eq!(expected(&text, 10_100.0), (10e3, 1e6, ExpectationVerdict::Inside));
    // The greatest value is inside the range.
    let text = stated("low = -1", "high = 1", "(1 - instructions ^ 2) * 1 us");
    assert_eq!(expected(&text, 500.0), (0.0, 1e3, ExpectationVerdict::Inside));
}

#[test]
fn a_range_beside_a_distribution_is_the_middle_95_percent() {
    let case = measured(&text(EXPECTATION, ACCURACY, ""), &mut machine(1_000.0, 0.01));
    let Range { low, high, .. } = case.expected;
    // The whole range is 550 to 1550 ns.
    assert!((570.0..580.0).contains(&low) && (1520.0..1530.0).contains(&high), "{case:?}");
}

#[test]
fn recorded_readings_are_all_used_and_say_how_many_would_suffice() {
    let text = own("readings = { file = \"times.csv\", column = \"us\", unit = \"us\" }");
    let scale = &read_text(&text).unwrap().cases[0].origin;
    let origin =
        Origin::Readings { file: "times.csv".into(), column: Some("us".into()), scale: 1e3 };
    assert_eq!(*scale, origin);
    let steady = measured_own(&text, (0..103).map(|n| 1000.0 + f64::from(n % 5)).collect());
    assert_eq!((steady.measured.samples, steady.measured.blocks), (103, 10));
    assert!(matches!(steady.accuracy, Reach::Reached { .. }), "{steady:?}");
    assert_eq!(steady.verdict, ExpectationVerdict::Inside);
    let rough =
        measured_own(&text, (0..100).map(|n| f64::from(1 + n / 10 * 7 % 10) * 200.0).collect());
    let Reach::TooFew { needed, readings } = rough.accuracy else { panic!("{rough:?}") };
    let times = (rough.measured.stochastic / needed).powi(2);
    assert_eq!(readings, (100.0 * times).ceil() as u64);
    assert!(readings > 100);
}

#[test]
fn readings_of_two_kinds_are_never_called_accurate() {
    let text = own("readings = { file = \"times.csv\" }");
    for count in [10, 12, 20, 21, 40, 200] {
        let two = |n: u32| if n.is_multiple_of(2) { 10_000.0 } else { 30_000.0 } + f64::from(n % 7);
        let case = measured_own(&text, (0..count).map(two).collect());
        let Range { value, low, high } = case.measured.range;
        assert!(low < 10_010.0 && high > 29_990.0, "{count}: {case:?}");
        assert!(count % 2 == 1 || (value - 20_000.0).abs() < 10.0, "{count}: {value}");
        assert!(matches!(case.accuracy, Reach::TooFew { .. }), "{count}: {case:?}");
    }
}

#[test]
fn a_case_and_its_figure_have_one_value() {
    let experiment = read_text(&text(EXPECTATION, ACCURACY, "")).unwrap();
    let mut source = machine(1100.0, 0.3);
    let (catalogue, clock) = (source.catalogue(), source.clock.clone());
    let stop = AtomicBool::new(false);
    let outcome = run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &stop);
    let outcome = outcome.unwrap();
    let figure = outcome.figures.iter().find(|figure| figure.name == "switch.warm").unwrap();
    let Range { value, low, high } = outcome.cases[0].measured.range;
    assert_eq!(value, figure.value);
    // The next measurement's value adds its own noise.
    assert!(high - low < figure.high - figure.low, "{figure:?}");
}

#[test]
fn the_jobs_of_a_recording_are_readings() {
    let text = own("jobs = { recording = \"a.trace\", task = \"insert\" }");
    let experiment = read_text(&text).unwrap();
    let origin = Origin::Jobs { recording: "a.trace".into(), task: "insert".into() };
    assert_eq!((&experiment.cases[0].origin, experiment.cases[0].unit), (&origin, "ns"));
    assert_eq!(measured_own(&text, vec![5_000.0; 20]).figure, "jobs.warm");
}

#[test]
fn a_case_has_one_origin_of_its_readings() {
    let one = "needs one of \"figure\", \"command\", \"readings\" and \"jobs\"";
    rejected(&own(""), &[one]);
    rejected(&own("figure = \"switch.warm\"\ncommand = \"ls\""), &[one]);
    rejected(&own("command = \"ls | wc\""), &["needs a shell for `|`", "written as sh -c '…'"]);
    rejected(&own("readings = { column = \"a\" }"), &["\"file\""]);
    rejected(&own("jobs = { recording = \"a\" }"), &["\"task\""]);
    rejected(&own("readings = { file = \"a\", unit = \"h\" }"), &["unit cannot be \"h\""]);
}

#[test]
fn cases_have_names_of_their_own() {
    let one = own("command = \"ls\"");
    let case = &one[one.find("[[case]]").unwrap()..];
    rejected(&(one.clone() + case), &["two cases are called \"warm\""]);
}

#[test]
fn nothing_is_measured_without_an_expectation() {
    rejected(
        &text("", ACCURACY, ""),
        &[
            "the expectation of the case \"warm\" is missing",
            "hint: write down what you expect before you measure",
        ],
    );
    rejected(&text("expectation = \" \"", ACCURACY, ""), &["\"warm\" is empty"]);
}

#[test]
fn an_expectation_needs_a_range() {
    for single in ["expectation = \"1640 ns\"", "expectation = \"lines * 164 ns\""] {
        rejected(
            &text(single, ACCURACY, ""),
            &[
                "the expectation of the case \"warm\" has no range",
                "a result can only be judged against a range",
            ],
        );
    }
}

#[test]
fn incompatible_units_are_reported_with_their_place() {
    rejected(
        &text("expectation = \"instructions * lines\"", ACCURACY, ""),
        &["units do not fit: the formula gives a number, but the figure is time"],
    );
    rejected(
        &text("expectation = \"storage.l2 + instructions\"", ACCURACY, ""),
        &["units do not fit", "^^^"],
    );
    rejected(
        &text(EXPECTATION, "absolute = \"3 KiB\"\nwithin = \"1s\"", ""),
        &["the accuracy is information, but a figure is time"],
    );
}

#[test]
fn an_unknown_figure_is_reported_with_the_nearest_name() {
    rejected(
        &text("expectation = \"cpu.instructoin * instructions\"", ACCURACY, ""),
        &["nothing is named \"cpu.instructoin\"; did you mean \"cpu.instruction\"?"],
    );
    let wrong = text(EXPECTATION, ACCURACY, "").replace("\"switch.warm\"", "\"switch.worm\"");
    rejected(&wrong, &["no figure is called `switch.worm`", "did you mean `switch.warm`?"]);
    let derived = wrong.replace("switch.worm", "memory.latency.l1");
    rejected(&derived, &["derived from other figures and cannot be measured directly"]);
}

#[test]
fn all_errors_are_reported_at_once() {
    let wrong = text("", "within = \"1s\"", "colour = 1").replace("low = 1000", "low = 9000");
    rejected(
        &wrong,
        &[
            "is missing",
            "the accuracy needs either \"relative\" or \"absolute\"",
            "a case has no key \"colour\"",
            "instructions: its high end is not above its low end",
        ],
    );
}

#[test]
fn an_input_has_both_ends_or_neither() {
    let one_end = text(EXPECTATION, ACCURACY, "").replace("high = 3000\n", "");
    rejected(&one_end, &["instructions: its range has only one end"]);
    let nothing = text(EXPECTATION, ACCURACY, "").replace("value = 10\n", "");
    rejected(&nothing, &["lines has no value"]);
}

#[test]
fn a_value_in_the_expected_range_is_inside() {
    let mut source = machine(1100.0, 0.01);
    let case = measured(&text(EXPECTATION, ACCURACY, ""), &mut source);
    assert_eq!(case.verdict, ExpectationVerdict::Inside);
    assert!(matches!(case.accuracy, Reach::Reached { .. }), "{case:?}");
    assert!((case.expected.value - 1050.0).abs() < 10.0, "{:?}", case.expected);
    // Uniform from 1000 to 3000 instructions of 0.5 ns: the middle 95 % are 550 + 25 … 1550 − 25.
    assert!((case.expected.low - 575.0).abs() < 10.0 && (case.expected.high - 1525.0).abs() < 10.0);
    assert!((case.measured.range.value - 1100.0).abs() < 20.0);
    assert_eq!(case.measured.overhead, 20.0);
}

#[test]
fn a_value_outside_has_a_factor_and_causes() {
    let mut source = machine(5000.0, 0.01);
    let case = measured(&text(EXPECTATION, ACCURACY, ""), &mut source);
    let ExpectationVerdict::Outside { above: true, factor: Some(factor), .. } = case.verdict else {
        panic!("{:?}", case.verdict)
    };
    assert!((factor - 5000.0 / 1525.0).abs() < 0.1, "{factor}");
    assert_eq!(case.causes[0].input, "instructions");
    // (5000 − 50) / 1000 times as many instructions, which is outside their range.
    assert!((case.causes[0].factor.unwrap() - 4.95).abs() < 0.1 && !case.causes[0].possible);
}

#[test]
fn noise_needs_more_blocks() {
    let mut calm = machine(1100.0, 0.01);
    let mut noisy = machine(1100.0, 0.12);
    let few = measured(&text(EXPECTATION, ACCURACY, ""), &mut calm);
    let many = measured(&text(EXPECTATION, ACCURACY, ""), &mut noisy);
    assert_eq!(few.measured.blocks, 10);
    assert!(many.measured.blocks > 15, "{:?}", many.measured);
    assert!(matches!(many.accuracy, Reach::Reached { .. }), "{many:?}");
    assert!(many.measured.stochastic <= 0.05 * many.measured.range.value);
}

#[test]
fn an_accuracy_below_the_systematic_part_is_given_up_at_once() {
    let mut source = machine(1100.0, 0.01);
    source.rules.get_mut("switch.warm").unwrap().systematic = 80.0;
    let case = measured(&text(EXPECTATION, ACCURACY, ""), &mut source);
    let Reach::Systematic { needed } = case.accuracy else { panic!("{case:?}") };
    assert!((needed - 55.0).abs() < 1.0);
    assert_eq!((case.measured.blocks, case.measured.systematic), (10, 80.0));
    // Both parts are in the interval, added linearly.
    let half = (case.measured.range.high - case.measured.range.low) / 2.0;
    assert!((half - case.measured.stochastic - 80.0).abs() < 1e-9);
}

#[test]
fn an_accuracy_out_of_reach_ends_at_the_time_limit_with_an_estimate() {
    let mut source = machine(1100.0, 0.2);
    let accuracy = "absolute = \"5 ns\"\nwithin = \"100ms\"";
    let start = source.clock.now();
    let case = measured(&text(EXPECTATION, accuracy, ""), &mut source);
    let Reach::TimeLimit { needed, blocks, seconds } = case.accuracy else { panic!("{case:?}") };
    assert_eq!(needed, 5.0);
    assert!(blocks > 1000 && seconds > 0.5, "{blocks} blocks, {seconds} s");
    let took = source.clock.now().since(start);
    assert!(took < Span::from_millis(300), "{took}");
}

#[test]
fn the_time_that_an_accuracy_takes_is_that_of_all_cases() {
    let accuracy = "absolute = \"5 ns\"\nwithin = \"100ms\"";
    let one = text(EXPECTATION, accuracy, "");
    let (head, case) = one.split_at(one.find("[[case]]").unwrap());
    let other =
        case.replace("switch.warm", "idle.switch").replace("name = \"warm\"", "name = \"idle\"");
    let seconds = |text: &str| -> Vec<f64> {
        let mut source = machine(1100.0, 0.2);
        source.rules.insert("idle.switch".into(), source.rules["switch.warm"]);
        let experiment = read_text(text).unwrap();
        let (catalogue, clock) = (source.catalogue(), source.clock.clone());
        let never = AtomicBool::new(false);
        let found = run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &never);
        let of = |case: CaseOutcome| match case.accuracy {
            Reach::TimeLimit { seconds, .. } => seconds,
            other => panic!("{other:?}"),
        };
        found.unwrap().cases.into_iter().map(of).collect()
    };
    let (alone, both) = (seconds(&one)[0], seconds(&format!("{head}{case}{other}")));
    assert_eq!(both[0], both[1]);
    assert!((1.5..2.5).contains(&(both[0] / alone)), "{both:?}, {alone}");
}

fn second(near: &str) -> String {
    format!(
        "[case.second]\nvalue = \"idle.switch\"\nnear = \"{near}\"\nbecause = \"seen from outside\""
    )
}

#[test]
fn the_second_method_agrees_within_its_limit() {
    let near = measured(&text(EXPECTATION, ACCURACY, &second("20 %")), &mut machine(1100.0, 0.01));
    let far = measured(&text(EXPECTATION, ACCURACY, &second("2 %")), &mut machine(1100.0, 0.01));
    let (near, far) = (near.second.unwrap(), far.second.unwrap());
    assert!(near.agrees && !far.agrees && (near.ratio - 1200.0 / 1100.0).abs() < 0.05);
}

#[test]
fn a_figure_cannot_predict_itself() {
    let said =
        ["the measured figure `switch.warm` cannot predict itself", "use other figures and inputs"];
    for formula in
        ["switch.warm", "2 * switch.warm - switch.warm", "switch.warm + lines * storage.l2"]
    {
        rejected(&text(&format!("expectation = \"{formula}\""), ACCURACY, ""), &said);
    }
    rejected(
        &text(EXPECTATION, ACCURACY, &second("20 %").replace("idle.switch", "switch.warm")),
        &said,
    );
}

#[test]
fn figures_of_a_given_machine_are_not_measured() {
    let mut source = machine(1100.0, 0.01);
    let experiment = read_text(&text(EXPECTATION, ACCURACY, "")).unwrap();
    let figure = |name: &str, value: f64| synthetic::figure(name, value, 0.1 * value);
    let given = synthetic::machine(vec![
        figure("cpu.instruction", 1.0),
        figure("storage.l2@busy_neighbour", 50.0),
    ]);
    let (catalogue, clock) = (source.catalogue(), source.clock.clone());
    let interrupted = AtomicBool::new(false);
    let outcome =
        run(&experiment, &catalogue, Some(&given), &mut source, &clock, &mut Silent, &interrupted);
    let case = &outcome.unwrap().cases[0];
    assert!((case.expected.value - 2050.0).abs() < 20.0, "{:?}", case.expected);
    assert!(!source.read.contains(&"cpu.instruction".into()));
    assert!(source.read.contains(&"storage.l2".into()), "a figure under load is another figure");
}

#[test]
fn a_figure_that_cannot_be_measured_ends_the_experiment_with_the_reason() {
    let mut source = machine(1100.0, 0.01);
    source.rules.get_mut("storage.l2").unwrap().value = 0.0;
    let experiment = read_text(&text(EXPECTATION, ACCURACY, "")).unwrap();
    let (catalogue, clock) = (source.catalogue(), source.clock.clone());
    let stop = AtomicBool::new(false);
    let error = run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &stop);
    assert_eq!(
        error.unwrap_err().to_string(),
        "the experiment needs `storage.l2`, which cannot be measured: `storage.l2` needs a second processor"
    );
    let stopped = AtomicBool::new(true);
    let error = run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &stopped);
    assert!(matches!(error.unwrap_err(), ExperimentError::Interrupted));
}

/// The report of 20 recorded readings that reach from 1 to 25 µs, of which 10 to 30 µs are expected.
fn wide(damage: Vec<String>) -> Report {
    let text = own("readings = { file = \"times.csv\" }")
        .replace("low = 1000", "low = 20000")
        .replace("high = 3000", "high = 60000");
    let experiment = read_text(&text).unwrap();
    let mut machine = machine(1.0, 0.0);
    let (catalogue, clock) = (machine.catalogue(), machine.clock.clone());
    let readings = (0..20u32).map(|n| 1_000.0 + f64::from(n * 7 % 20) * 1_200.0).collect();
    let recorded = BTreeMap::from([(experiment.cases[0].figure.clone(), readings)]);
    let (mut runner, never) = (Slower(0), AtomicBool::new(false));
    let mut source = Own::new(&experiment, &mut machine, &mut runner, &recorded);
    let outcome =
        run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &never).unwrap();
    let (conditions, meanwhile) = (conditions(), Meanwhile::default());
    Report { experiment, outcome, started_unix_s: 0, conditions, meanwhile, damage }
}

#[test]
fn a_damaged_recording_is_a_note_and_fails_the_gate() {
    let damage = "a.trace: the file ends in the middle of a packet".to_owned();
    let report = wide(vec![damage.clone()]);
    assert!(report.failures().contains(&damage), "{:?}", report.failures());
    let data: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(data["notes"][0], damage.as_str());
    assert!(report.text().contains(&damage) && report.page().contains(&damage));
}

#[test]
fn a_wide_interval_is_undecided_and_the_notes_of_the_json_say_so() {
    let report = wide(Vec::new());
    let data: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    let verdict = &data["cases"][0]["verdict"];
    assert_eq!((&verdict["is"], &verdict["below"]), (&"undecided".into(), &true.into()), "{data}");
    let notes = data["notes"].to_string();
    assert!(notes.contains("needed was not reached"), "{notes}");
    assert!(notes.contains("undecided, its interval"), "{notes}");
    assert!(report.text().contains("reaches below the expected range"), "{}", report.text());
    // The expectation is stated, and nobody knows that it holds.
    let failures = report.failures();
    assert!(failures.len() == 1 && failures[0].contains("undecided, its interval"), "{failures:?}");
}

#[test]
fn the_report_has_the_seven_steps_and_a_self_contained_page() {
    let mut source = machine(5000.0, 0.01);
    let second =
        "[case.second]\nvalue = \"idle.switch\"\nnear = \"20 %\"\nbecause = \"seen from outside\"";
    let experiment = read_text(&text(EXPECTATION, ACCURACY, second)).unwrap();
    let (catalogue, clock) = (source.catalogue(), source.clock.clone());
    let stop = AtomicBool::new(false);
    let outcome =
        run(&experiment, &catalogue, None, &mut source, &clock, &mut Silent, &stop).unwrap();
    let busy = Meanwhile::of(&[Activity { others: 0.5, stolen: 0.0 }], 2, Load::Idle);
    let (started_unix_s, conditions, meanwhile) = (0, conditions(), busy);
    let damage = Vec::new();
    let report = Report { experiment, outcome, started_unix_s, conditions, meanwhile, damage };
    let text = report.text();
    for said in [
        "1 Need",
        "2 Quantity",
        "3 Required accuracy",
        "4A Circumstances",
        "4B Expectation, warm",
        "4C Set-up",
        "5 Accuracy, warm",
        "6 Measured, warm",
        "7 Sanity check, warm",
        "outside, above",
        "disagrees",
        "Candidate causes",
        "busy in 1 of 1 blocks: others used 1.00 of 2 processors",
    ] {
        assert!(text.contains(said), "{said} is missing from:\n{text}");
    }
    let page = report.page();
    assert!(page.matches("<svg").count() >= 2 && !page.contains("https://"));
    let data: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(data["cases"][0]["verdict"]["is"], "outside");
    assert_eq!(data["kind"], "experiment");
    assert_eq!(undocumented(&data), Vec::<String>::new());
}

#[test]
fn the_example_is_valid() {
    let text = include_str!("../../../../examples/7-context-switch/experiment.toml");
    let known = known(&hemiola_probe::catalogue());
    if let Err(problems) = read(text, &known) {
        panic!("{}", render(&problems, text, "experiment.toml"));
    }
}
