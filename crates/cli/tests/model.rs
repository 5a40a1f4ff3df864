//! `hemiola model`: tables, a result folder, and errors.

use std::fs;

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::scenario::{self, MONOLITHIC, SHARED_MEMORY};
use crate::synthetic;

/// The folder of an example.
fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_examples_print_the_numbers_of_the_report() {
    let machine = Machine::take("model-examples");
    for (name, expected) in [
        ("8-image-retrieval", &["+72 ms", "+4.61 s"][..]),
        (
            "9-web-shop",
            &[
                "LRU of 128 MiB",
                "without a cache",
                "J/req",
                "fetch from the database",
                "missed: energy, demand",
                "the mean is kept",
            ][..],
        ),
        (
            "9-web-shop/layers.toml",
            &[
                "Cache: Operating system: the file cache",
                "as it is 3 276 – 21.9 ± 0.1 %",
                "as it is 6 553 – 20.8 ± 0.1 %",
            ][..],
        ),
        (
            "9-web-shop/risks.toml",
            &["100.0 %, mean", "A page, with all risks 192 ms", "86.8 % (86.4 … 87.1), mean"][..],
        ),
        ("10-context-switch-model", &["1.64 µs", "500 ms   50 %", "longer than expected"][..]),
    ] {
        let ended = machine.hemiola(&["model", &example(name)]).with_code(0);
        for text in expected {
            // Columns are as wide as their widest value.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&ended.stdout).contains(&words(text)), "{text}: {}", ended.stdout);
        }
    }
    let of = format!("{}/over-time.toml", example("10-context-switch-model"));
    let csv = machine.hemiola(&["model", "--csv", &of]).with_code(0).stdout;
    assert_eq!((csv.lines().count(), csv.lines().next().unwrap().split(',').count()), (8, 10));
    let none = machine.hemiola(&["model", "--csv", &example("8-image-retrieval")]).with_code(2);
    assert!(none.stderr.contains("has no sweep") && none.stdout.is_empty(), "{none:?}");
    for name in ["8-image-retrieval", "9-web-shop"] {
        machine.hemiola(&["model", &format!("{}/here.toml", example(name))]).with_code(0);
    }
}

#[test]
fn a_result_folder_has_the_model_the_figures_and_the_page() {
    let machine = Machine::take("model-folder");
    let arguments = ["model", &example("10-context-switch-model"), "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    assert_eq!(ended.stdout.lines().last(), Some("result"));
    let file = |name: &str| fs::read_to_string(machine.folder().join("result").join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&file("summary.json")).unwrap();
    assert_eq!(summary["figures"][0]["name"], "chain.context_switch");
    assert!(file("report.html").contains("<svg"));
    assert!(file("model.toml").contains("ARM9"));
    let again = machine.hemiola(&arguments).with_code(2);
    assert!(again.stderr.contains("not empty"), "{}", again.stderr);
    let printed = machine.hemiola(&["model", "result", "--json"]).with_code(0);
    assert_eq!(printed.stdout, file("summary.json"));
}

#[test]
fn figures_of_another_result_can_be_taken_over() {
    let machine = Machine::take("model-figures");
    machine.write(
        "summary.json",
        r#"{"title": "Elsewhere", "figures": [{"name": "file.read", "value": 3.0, "unit": "ns",
            "low": 3.0, "high": 3.0, "samples": 1, "circumstances": "idle"}]}"#,
    );
    machine.write(
        "model.toml",
        "title = \"t\"\n[figures.read]\nvalue = \"1 ns\"\nsource = \"guess\"\nreason = \"r\"\n\
         measured = \"file.read\"\n[chains.c]\ncalls = [{ name = \"s\", cost = \"read\", times = 7 }]\n",
    );
    let ended = machine.hemiola(&["model", ".", "--machine", "summary.json"]).with_code(0);
    assert!(
        ended.stdout.contains("21 ns") && ended.stdout.contains("Elsewhere"),
        "{}",
        ended.stdout
    );
    machine.write("bad.json", "{");
    let ended = machine.hemiola(&["model", ".", "--machine", "bad.json"]).with_code(2);
    assert!(ended.stderr.contains("bad.json: no figures can be read"), "{}", ended.stderr);
}

#[test]
fn a_gate_exits_with_one_for_a_verdict_and_two_for_an_error() {
    let machine = Machine::take("model-gate");
    let model = |deadline: &str| {
        format!(
            "title = \"t\"\n[chains.c]\ncalls = [{{ name = \"s\", cost = \"3 ms\" }}]\ndeadline = \"{deadline}\"\n"
        )
    };
    machine.write("model.toml", &model("4 ms"));
    machine.hemiola(&["model", ".", "--gate"]).with_code(0);
    machine.write("model.toml", &model("2 ms"));
    machine.hemiola(&["model", "."]).with_code(0);
    let ended = machine.hemiola(&["model", ".", "--gate", "--json"]).with_code(1);
    assert_eq!(ended.stderr, "gate: c: the deadline of c (2 ms) is not kept\n");
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["failures"][0], "c: the deadline of c (2 ms) is not kept");
    machine.write("model.toml", &model("2 KiB"));
    machine.hemiola(&["model", ".", "--gate"]).with_code(2);
    machine.hemiola(&["model", "absent", "--gate"]).with_code(2);
    machine.hemiola(&["model", "check", "absent", "--gate"]).with_code(2);
}

/// A model of a task's work and of a thread's, for comparison with a recording.
const RECORDED: &str = r#"
title = "Sensors"
[figures.work]
low = "150 us"
high = "260 us"
source = "guess"
reason = "the longest path"
[figures.audio]
low = "200 us"
high = "420 us"
source = "guess"
reason = "the longest path"
[chains.sensors]
calls = [{ name = "work", cost = "work" }]
measured = [{ circumstances = "recorded", measured = "jobs.sensors.execution" }]
[chains.audio]
calls = [{ name = "work", cost = "audio" }]
measured = [{ circumstances = "recorded", measured = "threads.audio.execution" }]
"#;

#[test]
fn a_model_is_compared_with_the_jobs_and_threads_of_a_recording() {
    let machine = Machine::take("model-recorded");
    let trace = fs::File::create(machine.folder().join("run.pftrace")).unwrap();
    synthetic::write(trace, 50_000).unwrap();
    let check = ["model", "check", "run.pftrace", "--model", ".", "--gate", "--json"];
    machine.write("model.toml", RECORDED);
    let ended = machine.hemiola(&check).with_code(0);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    // The middle of the range of each, as simulated.
    for (chain, taken, mean) in
        [(0, "jobs.sensors.execution", 205e3), (1, "threads.audio.execution", 310e3)]
    {
        let held = &summary["chains"][chain]["budget"]["held"][0];
        let measured = held["measured_ns"].as_f64().unwrap();
        assert!((measured / mean - 1.0).abs() < 0.1, "{held}");
        assert_eq!((&held["taken_from"], &held["place"]), (&taken.into(), &"inside".into()));
    }
    // The rest of a recording might have shown something else.
    let whole = fs::read(machine.folder().join("run.pftrace")).unwrap();
    fs::write(machine.folder().join("cut.pftrace"), &whole[..whole.len() - 3]).unwrap();
    let cut = ["model", "check", "cut.pftrace", "--model", ".", "--json"];
    let ended = machine.hemiola(&cut).with_code(0);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    for list in ["problems", "failures"] {
        let text = summary[list].to_string();
        assert!(text.contains("cut.pftrace: the trace ends within"), "{list}: {text}");
    }
    let ended = machine.hemiola(&[&cut[..], &["--gate"]].concat()).with_code(1);
    assert!(ended.stderr.contains("gate: cut.pftrace: the trace ends within"), "{ended:?}");
    machine.write("model.toml", &RECORDED.replace("low = \"150 us\"", "low = \"250 us\""));
    let ended = machine.hemiola(&check).with_code(1);
    assert!(ended.stderr.contains("sensors, recorded: shorter than expected"), "{}", ended.stderr);
    machine.write("model.toml", &RECORDED.replace("threads.audio.e", "threads.oudio.e"));
    let ended = machine.hemiola(&check).with_code(1);
    let near = "no figure \"threads.oudio.execution\"";
    assert!(ended.stderr.contains(near), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean \"threads.audio.execution\"?"), "{}", ended.stderr);
    let ended = machine.hemiola(&["model", "check", ".", "--model", "."]).with_code(2);
    assert!(ended.stderr.contains("give a recording"), "{}", ended.stderr);
    let ended = machine.hemiola(&["model", "check", "run.pftrace"]).with_code(2);
    assert!(ended.stderr.contains("hint: to compare a recording with a model"), "{}", ended.stderr);

    // A model that names nothing of the recording passes no gate.
    let own = "title = \"t\"\n[chains.c]\ncalls = [{ name = \"s\", cost = \"3 ms\" }]\n";
    machine.write("model.toml", own);
    let unnamed = "nothing was compared: the model names no figure of run.pftrace";
    let ended = machine.hemiola(&check[..5]).with_code(0);
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(unnamed), "{}", ended.stdout);
    let ended = machine.hemiola(&check).with_code(1);
    assert!(ended.stderr.contains(&format!("gate: {unnamed}")), "{}", ended.stderr);
}

#[test]
fn units_and_figures_are_listed() {
    let machine = Machine::take("model-lists");
    let units = machine.hemiola(&["model", "units"]).with_code(0).stdout;
    assert!(units.contains("information") && units.contains("Ki Mi Gi Ti"), "{units}");
    let figures = machine.hemiola(&["model", "figures"]).with_code(0).stdout;
    assert!(figures.contains("context_switch.yield.same_core.warm"), "{figures}");
}

#[test]
fn units_and_figures_of_a_model_are_listed() {
    let machine = Machine::take("model-own-lists");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shop = example("9-web-shop");
    let units = words(&machine.hemiola(&["model", "units", &shop]).with_code(0).stdout);
    for line in
        ["cent money 0.01 EUR the model", "EUR money base unit the model", "Ki Mi Gi Ti built in"]
    {
        assert!(units.contains(line), "{line}: {units}");
    }
    let built_in = machine.hemiola(&["model", "units"]).with_code(0).stdout;
    assert!(!built_in.contains("money"), "{built_in}");
    let figures = words(&machine.hemiola(&["model", "figures", &shop]).with_code(0).stdout);
    assert!(figures.contains("visits 60 req/s exact guess pages a second"), "{figures}");
    let list = |words: &[&str]| -> Vec<Value> {
        serde_json::from_str(&machine.hemiola(words).with_code(0).stdout).unwrap()
    };
    let units = list(&["model", "units", &shop, "--json"]);
    let cent = units.iter().find(|unit| unit["symbol"] == "cent").unwrap();
    let expected = json!({
        "symbol": "cent", "quantity": "money", "value": 0.01, "unit": "EUR", "prefixes": [],
        "declared_by": "the model",
    });
    assert_eq!(*cent, expected);
    let newton = units.iter().find(|unit| unit["symbol"] == "N").unwrap();
    assert_eq!((&newton["value"], &newton["unit"]), (&json!(1.0), &json!("m·kg/s^2")));
    let measurable = list(&["model", "figures", "--json"]);
    let read = json!({ "name": "clock.read", "unit": "ns" });
    assert!(measurable.contains(&read), "{measurable:?}");
    let visits = &list(&["model", "figures", &shop, "--json"]);
    let visits = visits.iter().find(|figure| figure["name"] == "visits").unwrap();
    assert_eq!(visits["value"], "60 req/s");
    machine.write("model.toml", "title = \"t\"\n[units]\nms = { quantity = \"things\" }\n");
    for list in ["units", "figures"] {
        let ended = machine.hemiola(&["model", list, "."]).with_code(2);
        let place = "--> ./model.toml:3:1";
        assert!(ended.stderr.contains(place) && ended.stderr.contains("hint"), "{}", ended.stderr);
    }
}

#[test]
fn the_gate_holds_limits_and_demands() {
    let machine = Machine::take("model-demand");
    let model = |demand: &str| {
        format!(
            "title = \"t\"\n[units]\nreq = {{ quantity = \"requests\" }}\n[costs]\nenergy = \"J/req\"\n\
             [chains.c]\ncalls = [{{ name = \"s\", costs.energy = \"2 J/req\", capacity = \"9 req/s\", times = 3 }}]\n\
             limits.energy = \"6 J/req\"\ndemand = \"{demand}\"\n"
        )
    };
    machine.write("model.toml", &model("3 req/s"));
    let ended = machine.hemiola(&["model", ".", "--gate"]).with_code(0);
    assert!(
        ended.stdout.contains("6 J/req") && ended.stdout.contains("3 req/s"),
        "{}",
        ended.stdout
    );
    machine.write("model.toml", &model("4 req/s"));
    let ended = machine.hemiola(&["model", ".", "--gate"]).with_code(1);
    let text =
        "gate: c: the demand (4 req/s) is not met: s lets the chain run 3 req/s on average\n";
    assert_eq!(ended.stderr, text);
}

/// Every figure that a shipped example names can be measured.
#[test]
fn the_examples_name_figures_of_the_catalogue() {
    let machine = Machine::take("model-names");
    let known = machine.hemiola(&["model", "figures"]).with_code(0).stdout;
    let known: Vec<&str> = known.split_whitespace().collect();
    for file in [
        "8-image-retrieval/here.toml",
        "9-web-shop/here.toml",
        "10-context-switch-model/model.toml",
    ] {
        let text = fs::read_to_string(example(file)).unwrap();
        let named = text.split("measured = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
        for name in named {
            assert!(known.contains(&name), "{file} names {name}");
        }
    }
}

#[test]
fn an_error_in_a_model_is_shown_in_its_line() {
    let machine = Machine::take("model-bad");
    machine.write(
        "model.toml",
        "title = \"t\"\n[chains.c]\ncalls = [{ name = \"s\", cost = \"1 ms + 1 KiB\" }]\n",
    );
    let ended = machine.hemiola(&["model", "model.toml", "--output", "result"]).with_code(2);
    assert_eq!(ended.stdout, "");
    assert!(
        ended.stderr.contains("--> model.toml:3:") && ended.stderr.contains("do not fit"),
        "{}",
        ended.stderr
    );
    assert!(!machine.folder().join("result").exists());
    let ended = machine.hemiola(&["model", "none.toml"]).with_code(2);
    assert!(ended.stderr.contains("none.toml cannot be read"), "{}", ended.stderr);
}

/// Invented figures for a prediction: the test covers the way from a run to the tables, not the values.
fn made_up_figures() -> String {
    let names = [
        ("processor.instruction", 0.3),
        ("memory.latency.l1", 1.0),
        ("memory.latency.l2", 4.0),
        ("memory.latency.memory", 90.0),
        ("context_switch.shared_memory.across.warm", 50.0),
        ("hand_over.futex.down.at_200Hz", 15_000.0),
        ("hand_over.futex.up.back_to_back", 2_000.0),
    ];
    let figure = |(name, value): (&str, f64)| {
        format!(
            "\n[[figure]]\nname = \"{name}\"\nvalue = {value:?}\nunit = \"ns\"\nlow = {value:?}\nhigh = {value:?}\n\
             std = 0.0\nsystematic = 0.0\np99 = {value:?}\nsamples = 5\nblocks = 5\nbatch = 1\noverhead = 0.0\n\
             circumstances = \"made up\"\n"
        )
    };
    names.map(figure).concat()
}

#[test]
fn a_run_is_compared_with_its_prediction() {
    let machine = Machine::take("model-check");
    let load = "load = { task = \"workload\", compute = \"200us\", rate = \"100Hz\", profile = \"controller\" }\n";
    let scenario = scenario::edited(
        &scenario::of(&[MONOLITHIC, SHARED_MEMORY]),
        &[("[variant.processes.controller]", &format!("{load}[variant.processes.controller]"))],
    );
    machine.write("scenario.toml", &scenario);
    machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(0);
    let missing = machine.hemiola(&["model", "check", "result"]).with_code(2);
    assert!(missing.stderr.contains("hemiola measure"), "{}", missing.stderr);

    let measure = ["measure", "--quick", "--only", "clock.fast_read"];
    let measured = machine.folder().join(machine.hemiola(&measure).with_code(0).folder());
    let file = measured.join("machine.toml");
    let text = fs::read_to_string(&file).unwrap();
    let lacking = machine.hemiola(&["model", "check", "result"]).with_code(2);
    assert!(lacking.stderr.contains("a complete `hemiola measure`"), "{}", lacking.stderr);
    fs::write(&file, text.clone() + &made_up_figures()).unwrap();

    let checked = machine.hemiola(&["model", "check", "result"]).with_code(0);
    for said in
        ["Predicted and measured cycle", "hand-overs down", "work in controller", "Response times"]
    {
        assert!(checked.stdout.contains(said), "{said}: {}", checked.stdout);
    }
    let printed = machine.hemiola(&["model", "check", "result", "--json"]).with_code(0);
    let report: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    let held = &report["held"][1];
    assert_eq!(held["prediction"]["variant"], "shared-memory");
    // The measured parts are all of the mean cycle.
    let parts = held["parts"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| part["measured_ns"].as_f64().unwrap()).sum();
    let summary = fs::read_to_string(machine.folder().join("result/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let mean = summary["variants"][1]["combined"]["cycle_ns"]["mean"].as_f64().unwrap();
    assert!((sum - mean).abs() < 1e-3 * mean, "{sum} {mean}");
    let tasks: Vec<_> = report["responses"].as_array().unwrap().iter().collect();
    assert!(
        tasks.iter().any(|task| task["task"] == "load" && task["seen_max"].is_string()),
        "{tasks:?}"
    );

    fs::write(&file, text.replace("kernel = \"", "kernel = \"another ") + &made_up_figures())
        .unwrap();
    let other = machine.hemiola(&["model", "check", "result"]).with_code(2);
    assert!(other.stderr.contains("another machine"), "{}", other.stderr);
    machine.nothing_is_left();
}
