//! Two runs at once.

use crate::machine::Machine;
use crate::results::{Results, actuations, assert_stands};
use crate::scenario::{self, SIMPLEX};

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let machine = Machine::take("two");
    let variants = [&scenario::publish_subscribe(), SIMPLEX];
    machine.write("scenario.toml", &scenario::of(&variants));
    // The same names everywhere, and the same second for the folder's.
    let runs = [(); 2].map(|()| machine.start(&["run", "scenario.toml"]));
    let ended = runs.map(|run| run.end().with_code(0));
    let folders = ended.map(|ended| machine.folder().join(ended.folder()));
    assert_ne!(folders[0], folders[1]);
    for folder in folders {
        let results = Results::open(folder);
        assert_eq!(results.summary()["problems"], serde_json::Value::Array(Vec::new()));
        for variant in &results.run().variants {
            actuations(&results.trace(variant));
            assert_stands(variant);
        }
    }
    machine.nothing_is_left();
}

#[test]
fn with_two_active_runs_a_unit_command_must_name_one() {
    let machine = Machine::take("which");
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let arguments = ["run", "scenario.toml", "--duration", "60s", "--output"];
    let mut runs = ["one", "two"].map(|name| machine.start(&[&arguments[..], &[name]].concat()));
    let names = runs.each_mut().map(|run| run.run_name());
    let text = machine.hemiola(&["unit", "list"]).with_code(1).stderr;
    assert!(text.contains(" scenarios are running; choose one with --run: "), "{text}");
    assert!(names.iter().all(|name| text.contains(name.as_str())), "{text}");
    for run in &mut runs {
        assert!(run.unit(&machine, &["list"]).with_code(0).stdout.contains("experimental"));
        run.signal(hemiola_rt::sys::process::Signal::INT);
    }
    for run in runs {
        run.end().with_code(130);
    }
    machine.nothing_is_left();
}
