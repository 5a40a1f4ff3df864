//! `hemiola universe`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::PROGRAM;
use crate::machine::Machine;
use crate::results::Results;

fn worlds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../world-lang/examples/worlds")
}

fn universe(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output: Output =
        Command::new(PROGRAM).arg("universe").args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn texts_of_one_universe_are_checked_together() {
    let (code, out, err) = universe(&worlds(), &["check", "base.uml", "ts.uml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(out, "universe town is sound: 9 elements, 5 entities\n");
    let (code, out, err) = universe(&worlds(), &["check", "ts.uml", "missing.uml"]);
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(err.starts_with("error: missing.uml cannot be read"), "{err}");
    let (code, _, err) = universe(&worlds(), &["check", "ts.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no element is named `thing`") && err.contains("ts.uml:17:20"), "{err}");
    assert!(err.trim_end().ends_with("errors"), "{err}");
}

#[test]
fn show_names_sizes_and_bounds() {
    let (code, out, _) = universe(&worlds(), &["show", "orbit.uml"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("element body  7 columns, 56 bytes per entity"), "{out}");
    assert!(out.contains("at most 82055 operations"), "{out}");
}

#[test]
fn format_rewrites_files_that_are_not_canonical() {
    let folder = std::env::temp_dir().join(format!("hemiola-universe-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.uml"), "UNIVERSE u{CONSTANT a=1;}").unwrap();
    let (code, out, _) = universe(&folder, &["format", "--check", "a.uml"]);
    assert_eq!((code, &*out), (Some(1), "a.uml is not in canonical form\n"));
    assert_eq!(universe(&folder, &["format", "a.uml"]).0, Some(0));
    assert_eq!(
        fs::read_to_string(folder.join("a.uml")).unwrap(),
        "universe u { constant a = 1; }\n"
    );
    assert_eq!(universe(&folder, &["format", "--check", "a.uml"]).0, Some(0));
    fs::write(folder.join("b.uml"), "universe").unwrap();
    let (code, _, err) = universe(&folder, &["format", "b.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("expected the name of the universe, found the end of the text"), "{err}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tokens_prints_the_forms_for_the_network() {
    let (code, out, _) = universe(&worlds(), &["tokens", "base.uml", "ts.uml"]);
    assert_eq!(code, Some(0));
    assert!(out.lines().next().unwrap().contains("tokens compr."), "{out}");
    assert_eq!(out.lines().filter(|line| line.starts_with("ts.uml")).count(), 2, "{out}");
}

#[test]
fn converters_read_the_definition_before() {
    let folder = std::env::temp_dir().join(format!("hemiola-converters-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("old.uml"), "universe u { element e { property v : real; } }").unwrap();
    let new = "universe u { element e { property w : real; converter w = 2 * v; converter back v = w / 2; } }";
    fs::write(folder.join("new.uml"), new).unwrap();
    assert_eq!(universe(&folder, &["check", "new.uml", "--after", "old.uml"]).0, Some(0));
    let (code, _, err) = universe(&folder, &["check", "new.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--after FILE"), "{err}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Runs a world of the examples and returns its report.
fn run_example(name: &str, arguments: &[&str]) -> serde_json::Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let arguments = [&["run", "--json"][..], arguments].concat();
    let (code, out, err) = universe(&folder, &arguments);
    assert_eq!((code, &*err), (Some(0), ""), "{arguments:?}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_number_of_workers_changes_nothing_but_the_time() {
    let run = |workers: &str| {
        let birds =
            "bird:5000:position=[0,0]..[300<m>,300<m>]:velocity=[-1<m/s>,-1<m/s>]..[1<m/s>,1<m/s>]";
        let monitor = "bird:position:near([0,0], [200<m>,200<m>], 1<m>)";
        let death = "bird:near([0,0], [20<m>,20<m>], 3<m>)";
        let steps = ["flock.uml", "--steps", "20", "--dt", "0.5", "--workers", workers];
        let world = ["--populate", birds, "--monitor", monitor, "--death", death];
        run_example("12-flockers", &[&steps[..], &world].concat())
    };
    let (one, three) = (run("1"), run("3"));
    for part in ["entities", "deaths", "faults", "monitors"] {
        assert_eq!(one[part], three[part], "{part}");
    }
    assert!(one["deaths"].as_u64() > Some(0) && one["monitors"][0]["sent"].as_u64() > Some(0));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/12-flockers");
    let (code, _, err) = universe(&folder, &["run", "flock.uml", "--workers", "0"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--workers") && err.contains("0 is not in 1..=256"), "{err}");
}

fn property(report: &serde_json::Value, entity: usize, name: &str) -> Vec<f64> {
    let text = report["named"][entity]["properties"][name].as_str().unwrap();
    let numbers = text.trim_matches(['[', ']']).split(", ");
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[test]
fn the_earth_of_the_example_is_back_after_a_year_and_monitors_are_counted() {
    let monitor = "body:position:moved(1e10<m>)";
    let steps = ["bodies.uml", "--steps", "8767", "--dt", "3600", "--monitor", monitor];
    let report = run_example("11-bodies", &steps);
    assert_eq!(report["named"][2]["name"], "earth");
    let [x, y, z] = property(&report, 2, "position")[..] else { panic!("three coordinates") };
    assert!((x / 1.496e11 - 1.0).abs() < 0.02 && (y / 1.496e11).abs() < 0.02, "{x} {y}");
    assert_eq!(z, 0.0);
    let counts = &report["monitors"][0];
    let rows = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(rows("sent") + rows("unchanged"), 5 * 8767);
    // 2π · 1.496e11 m in portions of a little more than 1e10 m, for the earth, the moon and venus; jupiter moves less.
    assert!((200..400).contains(&rows("sent")), "{counts}");
}

#[test]
fn the_same_seed_gives_the_same_flock() {
    let birds =
        "bird:2000:position=[0,0]..[400<m>,400<m>]:velocity=[-1<m/s>,-1<m/s>]..[1<m/s>,1<m/s>]";
    let monitor = "bird:position:near([0,0], [200<m>,200<m>], 5<m>)";
    let arguments = |steps| {
        ["flock.uml", "--steps", steps, "--dt", "0.5", "--populate", birds, "--monitor", monitor]
    };
    let report = run_example("12-flockers", &arguments("300"));
    assert_eq!((&report["entities"], &report["faults"]), (&2001.into(), &0.into()));
    let counts = &report["monitors"][0];
    assert!(["sent", "outside", "unchanged"].iter().all(|name| counts[name] != 0), "{counts}");
    // The same seed gives the same birds, and the same rows.
    assert_eq!(run_example("12-flockers", &arguments("300"))["monitors"], report["monitors"]);
}

#[test]
fn the_benchmark_of_the_thesis_sends_the_states_of_its_law() {
    let rows = |monitors: &[&str]| {
        let monitors = monitors.iter().flat_map(|text| ["--monitor", text]);
        let options = ["benchmark.uml", "--steps", "1000", "--populate", "thing:10"];
        let report =
            run_example("16-benchmark", &options.into_iter().chain(monitors).collect::<Vec<_>>());
        let rows = report["monitors"].as_array().unwrap().iter();
        rows.map(|rows| (rows["sent"].as_u64(), rows["unchanged"].as_u64())).collect::<Vec<_>>()
    };
    let sent = (Some(10_000), Some(0));
    assert_eq!(rows(&["thing:first"; 3]), [sent; 3]);
    assert_eq!(rows(&["thing:first", "thing:second"]), [sent; 2]);
    let constraints = ["thing:first:first_changed()", "thing:second:second_changed()"];
    assert_eq!(rows(&constraints), [sent, (Some(0), Some(10_000))]);
}

#[test]
fn every_catch_of_the_example_is_told_once() {
    let arguments = [
        "island.uml",
        "hungry.uml",
        "--steps",
        "2000",
        "--dt",
        "0.1",
        "--populate",
        "sheep:200:position=[0,0]..[EDGE,EDGE]:home=[0,0]..[EDGE,EDGE]",
        "--populate",
        "wolf:30:position=[0,0]..[EDGE,EDGE]:energy=0.2..1",
        "--monitor",
        "sheep:caught:was_caught()",
        "--monitor",
        "sheep:caught",
    ];
    let report = run_example("13-predator-prey", &arguments);
    let monitors = &report["monitors"];
    assert_ne!(monitors[0]["sent"], 0, "{monitors}");
    assert_eq!(monitors[1]["sent"], 201 * 2000);
}

/// The thirty steps of this run with two workers and those of `hemiola universe run` with one are the same.
#[test]
fn a_universe_of_a_scenario_makes_a_step_at_each_release_with_its_phases() {
    let machine = Machine::take("universe");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/12-flockers");
    for file in ["flock.uml", "scenario.toml"] {
        let text = fs::read_to_string(example.join(file)).unwrap();
        machine.write(file, &text.replace("overrun =", "workers = 2\noverrun ="));
    }
    let arguments = ["run", "scenario.toml", "--duration", "1s", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    machine.nothing_is_left();
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = &results.run().variants[0].runs[0];
    let [world] = &run.universes[..] else { panic!("{:?}", run.universes) };
    assert_eq!((&*world.process, &*world.universe), ("world", "flock"));
    assert_eq!((world.steps, world.entities, world.faults), (30, 2001, 0));
    let birds =
        "bird:2000:position=[0,0]..[400<m>,400<m>]:velocity=[-1<m/s>,-1<m/s>]..[1<m/s>,1<m/s>]";
    let monitor = "bird:position:near([0,0], [200<m>,200<m>], 1<m>)";
    let steps = ["flock.uml", "--steps", "30", "--dt", "0.05", "--seed", "2"];
    let fast = run_example(
        "12-flockers",
        &[&steps[..], &["--populate", birds, "--monitor", monitor]].concat(),
    );
    let counts = &world.monitors[0];
    for (name, rows) in
        [("sent", counts.sent), ("outside", counts.outside), ("unchanged", counts.unchanged)]
    {
        assert_eq!(fast["monitors"][0][name], rows, "{name}");
    }
    assert_ne!(counts.sent, 0);
    let summary = results.summary();
    let variant = &summary["variants"][0];
    let phases = variant["combined"]["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["begin", "update", "filter", "apply", "close"]);
    assert_eq!(variant["runs"][0]["universes"][0]["steps"], 30);
    let page = fs::read_to_string(results.path().join("report.html")).unwrap();
    assert!(page.contains("Phases of a step") && page.contains("Rows of the monitors"));
    assert!(!page.contains("Pendulum"), "a universe has no pendulum");
}

#[test]
fn populations_follow_from_the_births_and_deaths_of_the_example() {
    let rules = [
        ["--death", "sheep:was_caught()"],
        ["--death", "wolf:starved()"],
        ["--birth", "sheep:grown(60<s>):position+=[-3<m>,-3<m>]..[3<m>,3<m>]"],
        ["--birth", "wolf:fed(2):energy=0.5"],
    ];
    let arguments = |most| {
        let steps = ["island.uml", "hungry.uml", "--steps", "1500", "--dt", "0.1"];
        let sheep = ["--populate", "sheep:200:position=[0,0]..[EDGE,EDGE]:age=0<s>..60<s>"];
        let wolves = ["--populate", "wolf:30:position=[0,0]..[EDGE,EDGE]:energy=0..1"];
        let monitors = ["--monitor", "animal:position", "--entities-max", most];
        [&steps[..], &sheep, &wolves, &monitors, &rules.concat()].concat()
    };
    let report = run_example("13-predator-prey", &arguments("1000000"));
    let number = |at: &serde_json::Value| at.as_u64().unwrap();
    let [entities, births, deaths] =
        ["entities", "births", "deaths"].map(|name| number(&report[name]));
    assert_eq!(entities, 232 + births - deaths);
    assert_eq!(report["unborn"], 0);
    let rules: Vec<(&str, u64)> = report["monitors"].as_array().unwrap()[1..]
        .iter()
        .map(|one| (one["monitor"].as_str().unwrap(), number(&one["sent"])))
        .collect();
    let names = ["birth sheep:grown(60<s>)", "birth wolf:fed(2)", "death sheep", "death wolf"];
    assert!(rules.iter().zip(names).all(|((rule, _), name)| rule.starts_with(name)), "{rules:?}");
    assert!(rules.iter().all(|(_, sent)| *sent > 0), "{rules:?}");
    assert_eq!((rules[0].1 + rules[1].1, rules[2].1 + rules[3].1), (births, deaths));
    // The same seed gives the same births.
    let again = run_example("13-predator-prey", &arguments("1000000"));
    assert_eq!((&again["monitors"], &again["named"]), (&report["monitors"], &report["named"]));
    let full = run_example("13-predator-prey", &arguments("240"));
    assert_ne!(number(&full["unborn"]), 0);
    assert!(number(&full["entities"]) <= 240);
}

#[test]
fn entities_of_a_scenario_are_born_and_die_as_those_of_a_run_without_one() {
    let machine = Machine::take("births");
    let text = "universe u {
        element e {
          property n : integer;
          property x : real = 1;
          update() { n += 1; }
          constraint ripe(every : integer) = n >= last_sent.n + every;
          constraint old(than : integer) = n >= last_sent.n + than;
        }
        entity first : e;
      }";
    machine.write("u.uml", text);
    let rules = ["e:ripe(5):x+=0..1", "e:old(12)"];
    let scenario = format!(
        "title = \"Births\"\nrate = \"50Hz\"\nduration = \"1s\"\nwarmup = \"0s\"\nallow_less = true\n
         [[variant]]\nname = \"births\"\n[variant.processes.world]\ntask = \"universe\"\n
         definition = [\"u.uml\"]\nbirth = [\"{}\"]\ndeath = [\"{}\"]\nentities_max = 100\n
         overrun = \"catch-up\"\n",
        rules[0], rules[1]
    );
    let crowded = scenario.replace("entities_max", "populate = [\"e:100\"]\nentities_max");
    machine.write("scenario.toml", &crowded);
    let refused = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(2);
    let text = "its text and its populations have 101 entities, but it may have 100";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
    machine.write("scenario.toml", &scenario);
    let ended = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(0);
    machine.nothing_is_left();
    let results = Results::open(machine.folder().join(ended.folder()));
    let world = &results.run().variants[0].runs[0].universes[0];
    let steps = world.steps.to_string();
    let run = ["run", "u.uml", "--json", "--steps", &steps, "--seed", "2", "--entities-max", "100"];
    let options = ["--birth", rules[0], "--death", rules[1]];
    let (code, out, err) = universe(machine.folder(), &[&run[..], &options].concat());
    assert_eq!((code, &*err), (Some(0), ""));
    let fast: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counts = [world.entities, world.births, world.unborn, world.deaths];
    assert_eq!(
        ["entities", "births", "unborn", "deaths"].map(|name| fast[name].as_u64().unwrap()),
        counts
    );
    assert!(world.births > 0 && world.deaths > 0, "{world:?}");
    assert_eq!(world.monitors[0].monitor, format!("birth {}", rules[0]));
}

#[test]
fn a_universe_that_is_not_sound_is_refused_before_anything_starts() {
    let machine = Machine::take("unsound");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/12-flockers");
    let scenario = fs::read_to_string(example.join("scenario.toml")).unwrap();
    machine.write("scenario.toml", &scenario);
    let refused = |expected: &str| {
        let ended = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(2);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!machine.folder().join("result").exists());
    };
    refused("flock.uml cannot be read");
    machine.write(
        "flock.uml",
        "universe flock {\n  element bird { property p : real<m> = 1<s>; }\n}\n",
    );
    refused("flock.uml:2:");
    machine.write("flock.uml", "universe flock { element bird { property p : real; } }");
    refused("`bird` has no property `position`");
}

#[test]
fn a_plan_lists_its_steps_and_the_converters_that_are_missing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/11-bodies");
    let (code, out, err) = universe(&folder, &["plan", "momentum.uml", "--after", "bodies.uml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(
        out,
        "universe bodies: 3 steps
  insert property body.momentum : real<m·kg/s>[3], converted
  replace update body.update
  delete property body.velocity
cost of each row of `body`: 24 bytes in columns, 3 instructions of converters
cost of each row of `star`: 24 bytes in columns, 3 instructions of converters
"
    );
    let folder = folder.join("../13-predator-prey");
    let texts = ["island.uml", "tireless.uml", "--after", "island.uml", "--after", "hungry.uml"];
    let (code, out, _) = universe(&folder, &[&["plan"], &texts[..]].concat());
    assert_eq!(code, Some(0));
    assert_eq!(
        out,
        "universe island: 5 steps
  replace update wolf.update
  delete constraint wolf.fed
  delete constraint wolf.starved
  delete constraint wolf.hungry
  delete property wolf.energy
no return is possible once a step was made: `wolf.energy` has no value: no property of the new definition leads back to it
  write a converter: converter back energy = …;
"
    );
}

#[test]
fn a_year_with_a_redefinition_and_a_return_is_a_year() {
    let steps = ["bodies.uml", "--steps", "8767", "--dt", "3600"];
    let monitors = ["--monitor", "body:position:moved(1e10<m>)", "--monitor", "body:velocity"];
    let redefined = ["--redefine", "3000:momentum.uml", "--roll-back", "6000"];
    let report = run_example("11-bodies", &[&steps[..], &monitors, &redefined].concat());
    let [x, y, _] = property(&report, 2, "position")[..] else { panic!("three coordinates") };
    assert!((x / 1.496e11 - 1.0).abs() < 0.02 && (y / 1.496e11).abs() < 0.02, "{x} {y}");
    let done = report["redefinitions"].as_array().unwrap();
    assert_eq!(done.len(), 2);
    assert_eq!((&done[0]["behind"], &done[0]["entities"]), (&3000.into(), &5.into()));
    assert_eq!(done[0]["ended"], serde_json::json!(["body:velocity"]));
    assert_eq!(done[1]["what"], "back, with converted rows");
    // A monitor that ends keeps its counts: five bodies in each step before it.
    assert_eq!(report["monitors"][1]["sent"], 5 * 3000);
}

#[test]
fn a_return_before_the_next_step_is_to_the_rows_of_before_and_a_later_one_may_end_monitors() {
    let folder = std::env::temp_dir().join(format!("hemiola-return-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = |converter: &str| {
        format!(
            "universe u {{ element e {{ property v : real; update() {{ v += 1; }} {converter} }} entity one : e; }}"
        )
    };
    fs::write(folder.join("old.uml"), text("")).unwrap();
    fs::write(folder.join("new.uml"), text("constraint k() = v > 0; converter back v = 2 * v;"))
        .unwrap();
    let returned = |step: &str| {
        let run = ["run", "old.uml", "--json", "--steps", "5", "--monitor", "e:v"];
        let redefined = ["--redefine", "2:new.uml", "--roll-back", step];
        let (code, out, err) = universe(&folder, &[&run[..], &redefined].concat());
        assert_eq!((code, &*err), (Some(0), ""));
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let [_, back] = &report["redefinitions"].as_array().unwrap()[..] else { panic!("{out}") };
        let parts = [&back["what"], &back["ended"], &report["monitors"][0]["sent"]];
        (serde_json::json!(parts), property(&report, 0, "v"))
    };
    let at_once = serde_json::json!(["back to the rows of before", [], 5]);
    assert_eq!(returned("2"), (at_once, vec![5.0]));
    // What the converter gives is no longer what the monitor was sent.
    let later = serde_json::json!(["back, with converted rows", ["e:v"], 4]);
    assert_eq!(returned("4"), (later, vec![9.0]));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn five_redefinitions_lose_neither_an_entity_nor_a_step_nor_a_catch() {
    let (tireless, hungry) = ("island.uml,tireless.uml", "island.uml,hungry.uml");
    let texts = [hungry, tireless, hungry, tireless, hungry];
    let redefined: Vec<String> =
        texts.iter().zip(1..).map(|(text, nth)| format!("{}:{text}", 50 * nth)).collect();
    let mut arguments = vec!["island.uml", "tireless.uml", "--steps", "300", "--dt", "0.1"];
    arguments.extend(["--populate", "sheep:1000:position=[0,0]..[EDGE,EDGE]"]);
    arguments.extend(["--populate", "wolf:100:position=[0,0]..[EDGE,EDGE]"]);
    arguments.extend(["--monitor", "sheep:caught:was_caught()", "--monitor", "wolf:meals"]);
    redefined.iter().for_each(|text| arguments.extend(["--redefine", text]));
    let report = run_example("13-predator-prey", &arguments);
    assert_eq!((&report["entities"], &report["steps"]), (&1102.into(), &300.into()));
    assert!(report["phases"].as_array().unwrap().iter().all(|phase| phase["ns"]["count"] == 300));
    let done = report["redefinitions"].as_array().unwrap();
    assert_eq!(done.len(), 5);
    assert!(
        done.iter().all(|one| one["entities"] == 1102 && one["ended"] == serde_json::json!([]))
    );
    assert!(done[0]["plan"].as_array().unwrap().contains(&"replace update wolf.update".into()));
    // A monitor of wolves is sent each of them in each step, and no more when they get other properties.
    assert_eq!(report["monitors"][1]["sent"], 101 * 300);
    let monitors = &report["monitors"][0];
    let rows = |name| monitors[name].as_u64().unwrap();
    assert_eq!(rows("sent") + rows("outside") + rows("unchanged"), 1001 * 300, "{monitors}");
    assert_ne!(rows("sent"), 0);
}

#[test]
fn a_redefinition_that_is_wrong_is_refused_before_the_first_step_and_by_the_state_with_the_report()
{
    let folder = std::env::temp_dir().join(format!("hemiola-redefine-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let old = "universe u { element e { property n : integer = 3; property v : real; update() { n += 1; } }
        entity one : e; entity two : e; }";
    fs::write(folder.join("old.uml"), old).unwrap();
    let refused = |new: &str, arguments: &[&str], expected: &str| {
        fs::write(folder.join("new.uml"), new).unwrap();
        let run = ["run", "old.uml", "--steps", "5"];
        let (code, out, err) = universe(&folder, &[&run[..], arguments].concat());
        assert_eq!((code, &*out), (Some(2), ""), "{new}");
        assert!(err.contains(expected), "{new}: {err}");
    };
    let at_2 = ["--redefine", "2:new.uml"];
    refused(
        "universe u { element e { property n : integer; property v : real32; } }",
        &at_2,
        "write a converter: converter v = real32(v);",
    );
    refused(
        "universe w { element e { property n : integer; } }",
        &at_2,
        "do not define the universe `u`",
    );
    refused("universe u { element e { property n : real<m> = 1<s>; } }", &at_2, "--> new.uml:1:");
    refused(
        "universe u { element e { property n : integer; update(x : integer) { n += x; } } }",
        &at_2,
        "after step 2: `e.update` has other parameters than one `real<s>`",
    );
    refused("", &["--redefine", "new.uml"], "is not STEP:FILE");
    refused("", &["--redefine", "6:new.uml"], "there is no step 6");
    refused("", &["--roll-back", "1"], "--roll-back 1: there is no definition to return to");
    refused("", &["--redefine", "2:newer.uml"], "newer.uml cannot be read");
    let twice = ["--roll-back", "4", "--redefine", "2:new.uml", "--roll-back", "3"];
    let more =
        "universe u { element e { property n : integer; property v : real; property w : real; } }";
    refused(more, &twice, "--roll-back 4: there is no definition to return to");
    let later = ["--redefine", "2:new.uml", "--roll-back", "3"];
    refused(
        "universe u { element e { property n : integer; } }",
        &later,
        "--roll-back 3 is not possible: `e.v` has no value",
    );
    let refused_by_state = |new: &str, expected: &str| {
        fs::write(folder.join("new.uml"), new).unwrap();
        let run = ["run", "old.uml", "--json", "--steps", "5", "--monitor", "e:n"];
        let (code, out, err) = universe(&folder, &[&run[..], &at_2].concat());
        assert_eq!((code, err.contains(expected)), (Some(1), true), "{new}: {err}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(report["ended_early"].as_str().unwrap().contains(expected), "{report}");
        assert_eq!((&report["steps"], &report["monitors"][0]["sent"]), (&2.into(), &4.into()));
        assert_eq!(property(&report, 0, "n"), [5.0]);
    };
    refused_by_state(
        "universe u { element e { property n : integer; property q : integer; converter q = div(1, n - 5); } }",
        "after step 2: `e.q` of one has no value: an integer is divided by 0 (and 1 more)",
    );
    refused_by_state(
        "universe u { element f { property n : integer; } }",
        "after step 2: there are 2 entities of `e`",
    );
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_populations_and_monitors_are_named() {
    let refused = |arguments: &[&str], expected: &str| {
        let (code, out, err) =
            universe(&worlds(), &[&["run", "orbit.uml"][..], arguments].concat());
        assert_eq!((code, &*out), (Some(2), ""), "{arguments:?}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    };
    refused(&["--dt", "0"], "--dt is 0; it must be above 0 s");
    refused(&["--populate", "comet:5"], "no element is named `comet`");
    refused(&["--populate", "body:none"], "\"none\" is not a number of entities");
    refused(&["--populate", "body:5:weight=1"], "`body` has no property `weight`");
    refused(&["--populate", "body:5:mass"], "\"mass\" is not PROPERTY=VALUE");
    refused(
        &["--populate", "body:2", "--populate", "body:5:mass=1<kg>..2<m>"],
        "error: --populate 'body:5:mass=1<kg>..2<m>': the value `2<m>`: ",
    );
    let brace = "body:5:mass=1 }";
    refused(&["--populate", brace], &format!("--populate '{brace}': `1 }}` is not one value"));
    let long = format!("body:5:mass={}x", "1+".repeat(50_000));
    let (_, _, err) = universe(&worlds(), &["run", "orbit.uml", "--populate", &long]);
    assert!(err.len() < 5_000, "{} bytes", err.len());
    let most = ["--steps", "2", "--populate", "body:20", "--entities-max"];
    let few = "--entities-max is 10\nhint: populate fewer, or allow more with --entities-max ";
    refused(&[&most[..], &["10"]].concat(), few);
    for limit in ["0", "268435457", "999999999999"] {
        refused(&[&most[..], &[limit]].concat(), "is not in 1..=268435456");
    }
    refused(&["--populate", "body:2000000"], "--entities-max is 1000000");
    let (code, out, _) = universe(&worlds(), &["run", "orbit.uml", "--steps", "1", "--dt=1e308"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("1 step of 1e308 s") && !out.contains("00000000"), "{out}");
    let (code, _, err) = universe(&worlds(), &["watch", "body", "--steps", "0"]);
    assert_eq!((code, err.contains("'--steps <N>'")), (Some(2), true), "{err}");
    refused(&["--populate", "body:5:mass+=1<kg>"], "only births have `+=`");
    refused(&["--birth", "body"], "--birth 'body': \"\" is not CONSTRAINT(ARGUMENTS)");
    refused(&["--death", "body:near()"], "--death 'body:near()': `body` has no constraint `near`");
    refused(&["--monitor", "body::near([0])"], "`body` has no constraint `near`");
    refused(&["--monitor", "body::near"], "\"near\" is not CONSTRAINT(ARGUMENTS)");
    let (code, _, err) =
        universe(&worlds(), &["run", "base.uml", "--monitor", "mover:position:near([0])"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("has 2 arguments, not 1: low : real<m>[3], high : real<m>[3]"), "{err}");
    let (code, _, err) = universe(&worlds(), &["run", "orbit.uml", "triangle.uml"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("the texts define 2 universes"), "{err}");
    for action in [&["check", "/dev/null"][..], &["show", "/dev/null"], &["run", "/dev/null"]] {
        let (code, out, err) = universe(&worlds(), action);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{action:?}");
        assert!(err.contains("universe"), "{action:?}: {err}");
    }
}

#[test]
fn the_interface_of_an_element_is_a_header_that_a_c_compiler_accepts() {
    let machine = Machine::take("interface");
    let text = "universe u { element e {
        property double : real<m>[2]; property flag : boolean; property items : integer[..3];
        property far : real32; property name : string; update() { far += 1; } } }";
    machine.write("u.uml", text);
    let interface = |more: &[&str]| {
        let start = ["universe", "interface", "u.uml", "--element"];
        machine.hemiola(&[&start[..], more].concat())
    };
    machine.write("element.h", &interface(&["e"]).with_code(0).stdout);
    machine.write("module.c", &interface(&["e", "--form", "c"]).with_code(0).stdout);
    // The attributes that name exports are those of clang for WebAssembly.
    let mut gcc =
        machine.command("gcc", &["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-attributes"]);
    let compiled = gcc.args(["-O2", "-c", "module.c", "-o", "module.o"]).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let refused = interface(&["x"]).with_code(2).stderr;
    assert!(refused.contains("the universe has no element `x`"), "{refused}");
}

#[cfg(not(feature = "sandbox"))]
#[test]
fn without_the_sandbox_a_module_is_refused_with_how_to_get_it() {
    let machine = Machine::take("no-sandbox");
    machine.write("u.uml", "universe u { element e { property x : real; } }");
    let run = ["universe", "run", "u.uml", "--module", "e=some.wasm"];
    let refused = machine.hemiola(&run).with_code(2).stderr;
    assert!(refused.contains("cargo build --release --features sandbox"), "{refused}");
}
