//! `hemiola universe status`, `plan`, `apply` and `roll-back` of a universe that runs.

use std::fs;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::Signal;
use hemiola_trace::result::UniverseRun;
use serde_json::Value;

use crate::command::{Ended, Running};
use crate::machine::{Machine, PATIENCE, objects};
use crate::results::Results;

fn sea() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/15-sea")
}

/// A universe that runs, and the name of its socket.
pub(crate) struct Living<'m> {
    machine: &'m Machine,
    run: Running,
    pub(crate) name: String,
}

impl<'m> Living<'m> {
    pub(crate) fn start(machine: &'m Machine, arguments: &[&str]) -> Self {
        let mut run = machine.start(arguments);
        let limit = Instant::now() + PATIENCE;
        let prefix = format!("@hemiola-universe/{:x}-", run.pid());
        let name = loop {
            if let Some(name) = objects().into_iter().find(|name| name.starts_with(&prefix)) {
                break name["@hemiola-universe/".len()..].to_owned();
            }
            assert!(!run.has_ended(), "it ended before it opened a control socket");
            assert!(Instant::now() < limit, "it opens no control socket");
            sleep(Duration::from_millis(10));
        };
        Self { machine, run, name }
    }

    /// The process that was started.
    pub(crate) fn pid(&self) -> u32 {
        self.run.pid()
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Ended {
        self.machine.hemiola(&[&["universe"], arguments, &["--run", &self.name]].concat())
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.ask(&["status", "--json"]).with_code(0).stdout).unwrap()
    }

    /// Lets it make more steps.
    pub(crate) fn go_on(&self) {
        let (limit, step) = (Instant::now() + PATIENCE, self.status()["step"].as_u64().unwrap());
        while self.status()["step"].as_u64().unwrap() < step + 3 {
            assert!(Instant::now() < limit, "it makes no steps");
        }
    }

    /// Ends the run as Ctrl-C does.
    pub(crate) fn end(self) {
        self.run.signal(Signal::INT);
        assert_eq!(self.run.end().status.code(), Some(130));
        self.machine.nothing_is_left();
    }

    /// Kills the run.
    pub(crate) fn kill(mut self) {
        self.run.kill();
        self.machine.nothing_is_left();
    }

    /// Asserts that a request fails with this text, and changes nothing.
    #[track_caller]
    fn refused(&self, arguments: &[&str], code: i32, expected: &str) {
        let last = self.status()["last"].clone();
        let ended = self.ask(arguments).with_code(code);
        assert_eq!(ended.stdout, "");
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert_eq!(self.status()["last"], last);
    }
}

/// The one universe of the run.
pub(crate) fn record(machine: &Machine) -> UniverseRun {
    let results = Results::open(machine.folder().join("result"));
    let [world] = &results.run().variants[0].runs[0].universes[..] else { panic!("one universe") };
    world.clone()
}

/// Every other age of each drifter is even, so the monitor counts the steps of all drifters.
#[test]
fn a_hundred_thousand_entities_are_redefined_five_times_at_60_hz() {
    const ENTITIES: u64 = 100_000;
    let machine = Machine::take("living");
    for file in fs::read_dir(sea()).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&file, machine.folder().join(file.file_name().unwrap())).unwrap();
    }
    let living = Living::start(&machine, &["run", "scenario.toml", "--output", "result"]);
    let texts = ["1-mass.uml", "2-momentum.uml", "3-plankton.uml", "4-current.uml", "5-tired.uml"];
    for text in texts {
        let planned = living.ask(&["plan", text]).with_code(0);
        assert!(planned.stdout.contains("possible after step"), "{}", planned.stdout);
        let done = living.ask(&["apply", text]).with_code(0);
        assert!(done.stdout.contains("entities: 100000; no monitor ends"), "{}", done.stdout);
        living.go_on();
    }
    let status = living.status();
    assert_eq!(
        (&status["entities"], &status["last"]["what"]),
        (&ENTITIES.into(), &texts[4].into())
    );
    assert_eq!(status["elements"][0]["element"], "plankton");
    assert_eq!(status["pace"]["skipped"], 0, "each release has its step");
    living.end();
    let world = record(&machine);
    assert_eq!((world.entities, world.faults), (ENTITIES, 0));
    let applied: Vec<&str> = world.redefinitions.iter().map(|one| &*one.what).collect();
    assert_eq!(applied, texts);
    let is_whole = |entities: u64, ended: &[String]| entities == ENTITIES && ended.is_empty();
    assert!(world.redefinitions.iter().all(|one| is_whole(one.entities, &one.ended)));
    // Each entity was sent in every second step. No definition changes the ages that the monitor is sent.
    assert_eq!(world.monitors[0].sent, ENTITIES * (world.steps / 2));
    let page = fs::read_to_string(machine.folder().join("result/report.html")).unwrap();
    assert!(page.contains("rename element drifter to plankton"));
}

/// A universe of a few entities at 50 Hz.
fn small(machine: &Machine) -> Living<'_> {
    machine.write(
        "old.uml",
        "universe u { element e { property n : integer; update() { n += 1; } } entity one : e; entity two : e; }",
    );
    machine.write(
        "scenario.toml",
        "title = \"Small\"\nrate = \"50Hz\"\nduration = \"30s\"\nallow_less = true\n
         [[variant]]\nname = \"small\"\n[variant.processes.world]\ntask = \"universe\"\n
         definition = [\"old.uml\"]\nmonitor = [\"e\"]\noverrun = \"catch-up\"\n",
    );
    Living::start(machine, &["run", "scenario.toml", "--output", "result"])
}

#[test]
fn requests_that_are_not_possible_are_refused_and_the_universe_goes_on() {
    let machine = Machine::take("living-refused");
    let living = small(&machine);
    let element = |inner: &str| format!("universe u {{ element e {{ {inner} }} }}");
    let write = |inner: &str| drop(machine.write("new.uml", &element(inner)));
    living.refused(&["roll-back"], 1, "there is no definition to return to");
    write("property n : real<m> = 1<s>;\n property m : nothing;");
    for verb in ["plan", "apply"] {
        living.refused(&[verb, "new.uml"], 2, "--> new.uml:2:");
        living.refused(&[verb, "old.uml", "missing.uml"], 2, "missing.uml cannot be read");
    }
    write("property n : integer; property q : integer; converter q = div(1, n - n);");
    for verb in ["plan", "apply"] {
        let expected = "`e.q` of one has no value: an integer is divided by 0 (and 1 more)";
        living.refused(&[verb, "new.uml"], 1, expected);
    }
    write("property n : string;");
    living.refused(&["apply", "new.uml"], 1, "write a converter: converter n = …;");
    machine.write("new.uml", "universe u { element f { property n : integer; } }");
    living.refused(&["apply", "new.uml"], 1, "there are 2 entities of `e`");
    machine.write("new.uml", "universe w { }");
    living.refused(&["apply", "new.uml"], 1, "the texts do not define the universe `u`");
    living.refused(&["apply", "old.uml"], 1, "the universe has this definition already");
    machine.write("new.uml", &format!("universe u {{ }} // {}", "x".repeat(4 << 20)));
    living.refused(&["apply", "new.uml"], 1, "bytes; at most 4194304 are possible");
    let unknown = machine.hemiola(&["universe", "status", "--run", "none/world"]).with_code(1);
    assert!(unknown.stderr.contains("no running universe is called"), "{}", unknown.stderr);
    living.go_on();
    living.end();
}

#[test]
fn a_redefinition_is_undone_with_the_converters_back_and_only_once() {
    let machine = Machine::take("living-back");
    let living = small(&machine);
    let new = "universe u { element e { property m : real; converter m = 2 * n; converter back n = integer(m / 2);
               update() { m += 2; } } }";
    machine.write("new.uml", new);
    living.ask(&["apply", "new.uml"]).with_code(0);
    living.go_on();
    assert_eq!(living.status()["last"]["no_way_back"], Value::Null);
    let back = living.ask(&["roll-back"]).with_code(0);
    assert!(back.stdout.contains("back, with converted rows; entities: 2"), "{}", back.stdout);
    living.refused(&["roll-back"], 1, "has returned already");
    let text = living.ask(&["status"]).with_code(0).stdout;
    assert!(
        text.contains("a step every 20.0 ms") && text.contains("it cannot be rolled back"),
        "{text}"
    );
    // Applied again, from the definition that it was checked with before.
    living.ask(&["apply", "new.uml"]).with_code(0);
    living.end();
}

#[test]
fn silent_clients_and_those_that_leave_delay_nobody() {
    let machine = Machine::take("living-silent");
    let living = small(&machine);
    let address =
        SocketAddr::from_abstract_name(format!("hemiola-universe/{}", living.name)).unwrap();
    let connect = || UnixStream::connect_addr(&address).unwrap();
    let silent: Vec<UnixStream> = (0..40).map(|_| connect()).collect();
    for request in ["\"status\"\n", "\"roll_back\"\n", "{\"apply\":[", "nonsense\n"] {
        connect().write_all(request.as_bytes()).unwrap();
    }
    // One that asks, and never reads its answers.
    let mut deaf = connect();
    deaf.write_all(b"\"status\"\n").unwrap();
    living.go_on();
    drop((silent, deaf));
    living.kill();
}

#[test]
fn a_universe_that_runs_as_fast_as_possible_is_redefined_too() {
    let machine = Machine::take("living-fast");
    machine.write(
        "old.uml",
        "universe u { element e { property n : integer; } entity one : e; entity two : e; }",
    );
    machine.write(
        "new.uml",
        "universe u { element e { property n : integer; property more : real; } }",
    );
    let steps = ["--steps", "1000000000", "--listen"];
    let living = Living::start(&machine, &[&["universe", "run", "old.uml"][..], &steps].concat());
    living.ask(&["apply", "new.uml"]).with_code(0);
    let status = living.status();
    assert_eq!((&status["last"]["what"], &status["entities"]), (&"new.uml".into(), &2.into()));
    living.kill();
    let none = machine.hemiola(&["universe", "status"]).with_code(1);
    assert!(none.stderr.contains("no universe is running; start one"), "{}", none.stderr);
}
