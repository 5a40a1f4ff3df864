//! Checkpoints of `hemiola universe run`, and of universes in scenarios.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_trace::result::UniverseRun;
use serde_json::Value;

use crate::command::{Ended, PROGRAM};
use crate::living::Living;
use crate::machine::{Machine, PATIENCE};
use crate::results::Results;
use crate::small_disk::SmallDisk;

const WORLD: &str = "universe u {
  element e {
    property n : integer;
    property x : real = 1;
    property name : string = \"some\";
    update(dt : real<s>) { n += 1; x += 0.1 * (dt / 1<s>); }
    constraint ripe(every : integer) = n >= last_sent.n + every;
    constraint far(away : real) = x >= last_sent.x + away;
  }
  entity first : e { name = \"first\"; }
}";

/// The signal of a file that grows beyond its limit.
const SIGXFSZ: i32 = 25;

/// A folder with a world, and commands in it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hemiola-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("u.uml"), WORLD).unwrap();
        let other = WORLD.replace("n += 1;", "n += 2; more += 1;");
        let other = other.replacen("property n", "property more : integer; property n", 1);
        fs::write(path.join("other.uml"), other).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["universe", "run", "--json"]).args(arguments).current_dir(&self.0);
        command
    }

    /// Starts the world, with everything that a checkpoint keeps.
    fn start(&self, arguments: &[&str]) -> Command {
        let start = ["u.uml", "--populate", "e:200:x=0..1", "--seed", "7", "--entities-max", "400"];
        let rules = ["--birth", "e:ripe(9):x+=0..1:name=\"child\"", "--death", "e:far(0.09)"];
        let monitors = ["--monitor", "e:n", "--monitor", "e:x,name:far(0.02)", "--dt", "0.05"];
        self.command(&[&start[..], &rules, &monitors, arguments].concat())
    }

    /// The report of a command that must succeed, without what differs from run to run.
    fn report(mut command: Command) -> Value {
        let Output { status, stdout, stderr } = command.output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        let mut report: Value = serde_json::from_slice(&stdout).unwrap();
        for key in ["elapsed_s", "steps_per_s", "phases", "redefinitions", "checkpoints"] {
            report.as_object_mut().unwrap().remove(key).unwrap();
        }
        report
    }

    fn refused(&self, arguments: &[&str], expected: &str) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), &*stdout), (Some(2), &[][..]), "{stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The step of a checkpoint.
    fn step_of(&self, name: &str) -> u64 {
        let output = self.command(&["--resume", name, "--steps", "1"]).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let (_, after) =
            text.split_once("the checkpoint is of step ").unwrap_or_else(|| panic!("{text}"));
        after.lines().next().unwrap().parse().unwrap()
    }

    /// Asserts that the run goes on from a checkpoint as one that was never interrupted.
    fn goes_on(&self, name: &str) {
        let steps = (self.step_of(name) + 7).to_string();
        let resumed =
            self.command(&["--resume", name, "--steps", &steps, "--checkpoint", "resumed"]);
        let whole = self.start(&["--steps", &steps, "--checkpoint", "whole"]);
        assert_eq!(Self::report(resumed), Self::report(whole));
        assert!(self.bytes("resumed") == self.bytes("whole"), "the same bits");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_in_parts_ends_with_the_bits_and_the_report_of_a_whole_one() {
    let folder = Folder::new("parts");
    let redefined =
        ["--redefine", "20:other.uml", "--roll-back", "40", "--redefine", "45:other.uml"];
    let steps = ["--steps", "60", "--checkpoint", "whole", "--every", "10"];
    let whole = Folder::report(folder.start(&[&steps[..], &redefined].concat()));
    assert!(["births", "deaths"].iter().all(|name| whole[*name] != 0), "{whole}");
    let first = ["--steps", "30", "--checkpoint", "part"];
    Folder::report(folder.start(&[&first[..], &redefined[..2]].concat()));
    // The way back from a redefinition is not part of a checkpoint.
    let back = ["--resume", "part", "--steps", "60", "--roll-back", "40"];
    folder.refused(&back, "there is no definition to return to");
    let first = ["--steps", "42", "--checkpoint", "part"];
    Folder::report(folder.start(&[&first[..], &redefined[..4]].concat()));
    let second = ["--resume", "part", "--steps", "60", "--checkpoint", "part"];
    let parts = Folder::report(folder.command(&[&second[..], &redefined[4..]].concat()));
    assert_eq!(parts, whole);
    assert!(folder.bytes("part") == folder.bytes("whole"), "the same bits");
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_from_its_last_checkpoint() {
    let folder = Folder::new("killed");
    let mut found = 0;
    for round in 0..12_u64 {
        let checkpoints = ["--steps", "100000", "--checkpoint", "killed", "--every", "1"];
        let mut command = match found {
            0 => folder.start(&checkpoints),
            _ => folder.command(&[&["--resume", "killed"], &checkpoints[..]].concat()),
        };
        let mut run = command.stdout(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(20 + 37 * round % 101));
        run.kill().unwrap();
        run.wait().unwrap();
        if folder.path("killed").exists() {
            found += 1;
            folder.goes_on("killed");
        }
    }
    assert!(found > 3, "only {found} checkpoints");
}

/// A shell that limits the bytes of a file to so many blocks of 512, with a command before it.
fn limited(folder: &Folder, before: &str, blocks: usize, arguments: &str) -> Output {
    let text = format!("{before} ulimit -f {blocks}; exec {PROGRAM} universe run {arguments}");
    Command::new("sh").args(["-c", &text]).current_dir(&folder.0).output().unwrap()
}

#[test]
fn a_kill_at_any_part_of_the_file_leaves_the_old_checkpoint() {
    let folder = Folder::new("cut");
    Folder::report(folder.start(&["--steps", "10", "--checkpoint", "cut"]));
    let old = folder.bytes("cut");
    let blocks = old.len() / 512;
    assert!(blocks > 10, "{blocks}");
    let on = "--resume cut --steps 12 --checkpoint cut";
    for block in (0..blocks).step_by(3) {
        let ended = limited(&folder, "", block, on);
        assert_eq!(ended.status.signal(), Some(SIGXFSZ), "{ended:?}");
        assert!(folder.bytes("cut") == old, "{block}");
        // What the writer left is shorter, and no checkpoint.
        assert_eq!(folder.bytes("cut.new").len(), block * 512);
        folder.refused(&["--resume", "cut.new"], "cut.new is not resumed: it ");
    }
    folder.goes_on("cut");
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_reported_and_the_run_goes_on() {
    let folder = Folder::new("full");
    Folder::report(folder.start(&["--steps", "10", "--checkpoint", "full"]));
    let old = folder.bytes("full");
    let on = "--resume full --steps 14 --checkpoint full --every 2 --json";
    let ended = limited(&folder, "trap '' XFSZ;", 2, on);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&report["steps"], &report["checkpoints"]["failed"]), (&14.into(), &2.into()));
    let text = String::from_utf8(ended.stderr).unwrap();
    assert!(
        text.contains("warning: the checkpoint of step 12 cannot be written to full"),
        "{text}"
    );
    assert!(folder.bytes("full") == old && !folder.path("full.new").exists());
    folder.goes_on("full");
}

#[test]
fn files_and_options_that_are_wrong_are_refused_with_the_reason() {
    let folder = Folder::new("wrong");
    Folder::report(folder.start(&["--steps", "10", "--checkpoint", "sound"]));
    let sound = folder.bytes("sound");
    let refused = |bytes: &[u8], expected: &str| {
        fs::write(folder.path("wrong"), bytes).unwrap();
        folder.refused(&["--resume", "wrong"], expected);
    };
    refused(b"", "it is no checkpoint of a universe");
    refused(WORLD.as_bytes(), "it is no checkpoint of a universe");
    refused(&sound[..sound.len() - 1], "it is incomplete or damaged");
    let change = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    refused(&change(8), "its format has version 3");
    refused(&change(100), "its checksum is wrong");
    folder.refused(&["--resume", "missing"], "missing is not resumed: it cannot be read");
    folder.refused(&["--resume", "sound", "--steps", "10"], "the checkpoint is of step 10");
    folder.refused(&["--resume", "sound", "u.uml"], "cannot be used with");
    folder.refused(
        &["--resume", "sound", "--steps", "20", "--redefine", "9:other.uml"],
        "there is no step 9",
    );
    folder.refused(&["u.uml", "--every", "5"], "--checkpoint");
    folder.refused(
        &["u.uml", "--checkpoint", "nowhere/file"],
        "no checkpoint can be written to nowhere/file",
    );
    folder.refused(&["u.uml", "--checkpoint", "/dev/null"], "it is no regular file");
}

/// A scenario in which the world writes checkpoints, and one command that makes the same steps.
struct Scenario {
    machine: Machine,
}

impl Scenario {
    const POPULATE: &str = "e:200:x=0..1";
    const BIRTH: &str = "e:ripe(9):x+=0..1:name=\"child\"";
    const DEATH: &str = "e:far(0.09)";
    const MONITOR: &str = "e:x,name:far(0.02)";

    fn new(test: &str, duration: &str) -> Self {
        let machine = Machine::take(test);
        machine.write("u.uml", WORLD);
        let other = WORLD.replace("n += 1;", "n += 2; more += 1;");
        let other = other.replacen("property n", "property more : integer; property n", 1);
        machine.write("other.uml", &other);
        let [birth, populate] = [Self::BIRTH, Self::POPULATE];
        let text = format!(
            "title = \"Checkpoints\"\nrate = \"50Hz\"\nduration = \"{duration}\"\nwarmup = \"0s\"\n
             allow_less = true\n[[variant]]\nname = \"v\"\n[variant.processes.world]\ntask = \"universe\"\n
             definition = [\"u.uml\"]\npopulate = [\"{populate}\"]\nmonitor = ['{}']\nbirth = ['{birth}']\n
             death = [\"{}\"]\nentities_max = 400\noverrun = \"catch-up\"\ncheckpoint = \"kept\"\n
             checkpoint_every = 7\n",
            Self::MONITOR,
            Self::DEATH,
        );
        machine.write("scenario.toml", &text);
        Self { machine }
    }

    /// The universe of the result.
    fn universe(&self, ended: &Ended) -> UniverseRun {
        let results = Results::open(self.machine.folder().join(ended.folder()));
        results.run().variants[0].runs[0].universes[0].clone()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.machine.folder().join(name)).unwrap()
    }

    /// Asserts that the checkpoint is the one that `hemiola universe run` writes after the same steps.
    fn is_that_of_a_run(&self, steps: u64, options: &[&str]) {
        let steps = steps.to_string();
        let run = ["universe", "run", "u.uml", "--steps", &steps, "--checkpoint", "other"];
        let same = ["--seed", "2", "--dt", "0.02", "--entities-max", "400"];
        let rules = ["--populate", Self::POPULATE, "--monitor", Self::MONITOR];
        let more = ["--birth", Self::BIRTH, "--death", Self::DEATH];
        let arguments = [&run[..], &same, &rules, &more, options].concat();
        self.machine.hemiola(&arguments).with_code(0);
        assert!(self.bytes("kept") == self.bytes("other"), "the same bits");
    }

    /// Waits until there is a checkpoint, so that the universe has made steps.
    fn await_checkpoint(&self) {
        let limit = Instant::now() + PATIENCE;
        while !self.machine.folder().join("kept").exists() {
            assert!(Instant::now() < limit, "there is no checkpoint");
            sleep(Duration::from_millis(20));
        }
    }

    /// The step of the checkpoint.
    fn step(&self) -> u64 {
        let resume = ["universe", "run", "--resume", "kept", "--steps", "1"];
        let text = self.machine.hemiola(&resume).with_code(2).stderr;
        let (_, after) =
            text.split_once("the checkpoint is of step ").unwrap_or_else(|| panic!("{text}"));
        after.lines().next().unwrap().parse().unwrap()
    }
}

#[test]
fn a_scenario_writes_the_checkpoints_that_a_run_without_one_writes() {
    let scenario = Scenario::new("kept", "1s");
    let ended = scenario.machine.hemiola(&["run", "scenario.toml", "--output", "result"]);
    let ended = ended.with_code(0);
    scenario.machine.nothing_is_left();
    let world = scenario.universe(&ended);
    let checkpoints = world.checkpoints.as_ref().unwrap();
    assert_eq!((checkpoints.failed, &checkpoints.failure), (0, &None));
    assert_eq!(checkpoints.step, world.steps);
    assert!(checkpoints.written > 1 && checkpoints.image_ns_max > 0, "{checkpoints:?}");
    assert!(world.births > 0 && world.deaths > 0, "{world:?}");
    assert_eq!(checkpoints.bytes as usize, scenario.bytes("kept").len());
    scenario.is_that_of_a_run(world.steps, &[]);
    let page = scenario.machine.folder().join(ended.folder()).join("report.html");
    assert!(fs::read_to_string(page).unwrap().contains("Checkpoints"));
}

#[test]
fn a_redefinition_from_outside_is_part_of_the_checkpoint() {
    let scenario = Scenario::new("redefined", "60s");
    let arguments = ["run", "scenario.toml", "--output", "result"];
    let living = Living::start(&scenario.machine, &arguments);
    let done = |arguments: &[&str]| {
        let text = living.ask(arguments).with_code(0).stdout;
        let (_, after) = text.split_once("after step ").unwrap_or_else(|| panic!("{text}"));
        living.go_on();
        after.split_once(':').unwrap().0.to_owned()
    };
    scenario.await_checkpoint();
    let [first, back, second] =
        [&["apply", "other.uml"][..], &["roll-back"], &["apply", "other.uml"]].map(done);
    let (limit, last) = (Instant::now() + PATIENCE, second.parse::<u64>().unwrap());
    while scenario.step() <= last {
        assert!(Instant::now() < limit, "there is no checkpoint behind step {last}");
        sleep(Duration::from_millis(20));
    }
    living.kill();
    let [first, second] = [first, second].map(|step| format!("{step}:other.uml"));
    let options = ["--redefine", &first, "--roll-back", &back, "--redefine", &second];
    scenario.is_that_of_a_run(scenario.step(), &options);
}

#[test]
fn a_scenario_that_is_killed_at_any_moment_leaves_a_checkpoint_that_goes_on() {
    let scenario = Scenario::new("killed-scenario", "60s");
    let mut found = 0;
    for round in 0..6_u64 {
        let output = format!("result-{round}");
        let arguments = ["run", "scenario.toml", "--output", &output];
        let living = Living::start(&scenario.machine, &arguments);
        sleep(Duration::from_millis(150 + 97 * round));
        living.kill();
        if scenario.machine.folder().join("kept").exists() {
            found += 1;
            scenario.is_that_of_a_run(scenario.step(), &[]);
        }
    }
    assert!(found > 2, "only {found} checkpoints");
}

#[test]
fn a_checkpoint_of_a_scenario_that_cannot_be_written_costs_the_checkpoint_only() {
    let scenario = Scenario::new("unwritten", "1s");
    // No file can be made beside it, and later the disk is full.
    fs::create_dir(scenario.machine.folder().join("kept.new")).unwrap();
    let run = |output: &str, reason: &str| {
        let ended = scenario.machine.hemiola(&["run", "scenario.toml", "--output", output]);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        let world = scenario.universe(&ended);
        let checkpoints = world.checkpoints.as_ref().unwrap();
        assert_eq!(checkpoints.written, 0);
        assert!(checkpoints.failed > 1, "{checkpoints:?}");
        assert!(world.steps >= 50, "{world:?}");
        scenario.machine.nothing_is_left();
    };
    run("beside", "world: the checkpoint of step ");
    let text = fs::read_to_string(scenario.machine.folder().join("scenario.toml")).unwrap();
    scenario.machine.write("scenario.toml", &text.replace("\"kept\"", "\"disk/kept\""));
    let Some(disk) = SmallDisk::mount(&scenario.machine.folder().join("disk"), "64k") else {
        return;
    };
    disk.fill();
    run("full", "No space left on device");
    disk.free();
    assert_eq!(fs::read_dir(scenario.machine.folder().join("disk")).unwrap().count(), 0);
}

#[test]
fn keys_of_checkpoints_that_are_wrong_are_refused_before_anything_starts() {
    let scenario = Scenario::new("wrong-keys", "1s");
    let text = fs::read_to_string(scenario.machine.folder().join("scenario.toml")).unwrap();
    let refused = |from: &str, to: &str, expected: &str| {
        scenario.machine.write("scenario.toml", &text.replace(from, to));
        let ended = scenario.machine.hemiola(&["run", "scenario.toml", "--output", "result"]);
        assert!(ended.with_code(2).stderr.contains(expected), "{expected}");
        assert!(!scenario.machine.folder().join("result").exists());
    };
    refused("\"kept\"", "\"nowhere/kept\"", "no checkpoint can be written to");
    refused("checkpoint = \"kept\"\n", "", "checkpoint_every has no effect without checkpoint");
    refused("checkpoint_every = 7", "checkpoint_every = 0", "checkpoint_every");
    let second = text.split_once("[variant.processes.world]").unwrap().1;
    let two = format!("{text}[variant.processes.other]{second}");
    refused(&text, &two, "another checkpoint is already named \"kept\"");
}
