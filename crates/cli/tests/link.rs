//! `hemiola measure link`: between two network name spaces, and in experiments and models.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hemiola_rt::sys::process::Signal;

use crate::command::{PROGRAM, Running};
use crate::machine::Machine;
use crate::results::Results;
use crate::two_hosts::may_make_name_spaces;

/// Two name spaces joined by a cable, with the addresses 10.98.0.1 and 10.98.0.2; gone when dropped.
struct Hosts {
    names: [String; 2],
}

impl Hosts {
    fn new() -> Self {
        let names = [1, 2].map(|number| format!("hemiola-{}-link-{number}", std::process::id()));
        let [one, two] = names.each_ref().map(String::as_str);
        ip(&["netns", "add", one]);
        ip(&["netns", "add", two]);
        let hosts = Self { names: names.clone() };
        ip(&[
            "-n", one, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
            two,
        ]);
        for (name, address) in [(one, "10.98.0.1/24"), (two, "10.98.0.2/24")] {
            ip(&["-n", name, "address", "add", address, "dev", "cable"]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
            ip(&["-n", name, "link", "set", "cable", "up"]);
        }
        hosts
    }

    /// A command of `hemiola` on one of the hosts.
    fn command(&self, machine: &Machine, host: usize, arguments: &[&str]) -> Command {
        let name = self.names[host].as_str();
        machine.command("ip", &[&["netns", "exec", name, PROGRAM][..], arguments].concat())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A host that answers until it is dropped.
struct Answering(Child);

impl Answering {
    /// Starts it and returns the address at which it answers.
    fn start(mut command: Command) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().nth(2).unwrap_or_default().to_owned();
        (Self(child), address)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_link_between_two_hosts_is_measured_and_its_figures_can_be_named() {
    if !may_make_name_spaces() {
        println!("skipped: needs root and ip(8) to make network name spaces");
        return;
    }
    let machine = Machine::take("link");
    let hosts = Hosts::new();
    let (answering, address) =
        Answering::start(hosts.command(&machine, 0, &["measure", "link", "--serve", "10.98.0.1"]));
    assert_eq!(address, "10.98.0.1:15168");
    let arguments =
        ["measure", "link", "10.98.0.1", "--quick", "--output", "link", "--distance", "2 m"];
    let ended = Running::start(hosts.command(&machine, 1, &arguments)).end().with_code(0);
    for said in [
        "The link to 10.98.0.1",
        "link.udp.round_trip.64B",
        "Losses of datagrams",
        "to 10.98.0.1",
        "Latency, frequency and distance",
        "2.00 m",
        "6.67 ns",
    ] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    drop(answering);
    let folder = machine.folder().join("link");
    let results = Results::open(&folder);
    let summary = results.summary();
    assert_eq!(summary["missing"].as_array().unwrap().len(), 0, "{summary:#}");
    let figures = summary["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 8);
    for figure in figures {
        let [low, value, high] = ["low", "value", "high"].map(|key| figure[key].as_f64().unwrap());
        assert!(0.0 < value && low <= value && value <= high, "{figure:#}");
        assert!(figure["circumstances"].as_str().unwrap().contains("10.98.0.1"), "{figure:#}");
    }
    assert_eq!(summary["link"]["distance_m"], 2.0);
    let losses = &summary["link"]["losses"];
    assert!(losses["all"]["sent"].as_u64().unwrap() >= 2_500, "{losses:#}");
    assert!(losses["to"]["high"].as_f64().unwrap() > 0.0, "{losses:#}");
    assert!(results.text("report.html").contains("Losses of datagrams"));

    // A model names a figure.
    let model = "title = \"Two requests\"\n[figures.request]\nvalue = \"1 s\"\nsource = \"guess\"\n\
                 reason = \"to be replaced\"\nmeasured = \"link.udp.round_trip.64B\"\n\
                 [chains.two]\ncalls = [{ name = \"request\", cost = \"request\", times = 2 }]\n";
    machine.write("model.toml", model);
    let ended =
        machine.hemiola(&["model", "model.toml", "--machine", "link", "--json"]).with_code(0);
    let taken = "\"taken_from\": \"link.udp.round_trip.64B\"";
    assert!(ended.stdout.contains(taken), "{}", ended.stdout);
    machine.nothing_is_left();
}

const EXPERIMENT: &str = r#"
title = "A request over the loopback device"
need = "where the time of a request goes"
[quantity]
definition = "from sending a datagram of 64 bytes to its return"
[accuracy]
relative = "80 %"
within = "5s"
[circumstances]
load = "idle"
peer = "PEER"
[inputs.factor]
low = 1
high = 100000
because = "two system calls on each side and two wake-ups"
[set_up]
description = "one datagram at a time"
readings = 20
blocks = 5
[[case]]
name = "request"
figure = "link.udp.round_trip.64B"
expectation = "factor * system_call.empty"
because = "the network is within one host"
"#;

#[test]
fn an_experiment_measures_a_link() {
    let machine = Machine::take("link-experiment");
    let command = machine.command(PROGRAM, &["measure", "link", "--serve", "127.0.0.1:0"]);
    let (answering, address) = Answering::start(command);
    machine.write("experiment.toml", &EXPERIMENT.replace("PEER", &address));
    let ended = machine.hemiola(&["measure", "experiment", "experiment.toml"]).with_code(0);
    assert!(ended.stdout.contains(&format!("with {address}")), "{}", ended.stdout);

    let without = EXPERIMENT.replace("peer = \"PEER\"\n", "");
    machine.write("experiment.toml", &without);
    let ended = machine.hemiola(&["measure", "experiment", "experiment.toml"]).with_code(2);
    assert!(ended.stderr.contains("needs another host"), "{}", ended.stderr);
    drop(answering);

    let ended = machine.hemiola(&["measure", "link", &address]).with_code(1);
    assert!(
        ended.stderr.contains("cannot be reached") && ended.stderr.contains("--serve"),
        "{}",
        ended.stderr
    );
    machine.nothing_is_left();
}

#[test]
fn a_host_listens_on_loopback_unless_asked_and_stops_in_order() {
    let machine = Machine::take("link-serve");
    let command = machine.command(PROGRAM, &["measure", "link", "--serve"]);
    let (answering, address) = Answering::start(command);
    assert_eq!(address, "127.0.0.1:15168");
    drop(answering);
    let running = machine.start(&["measure", "link", "--serve", "0.0.0.0:0"]);
    wait_until_it_listens(&running);
    running.signal(Signal::TERM);
    let ended = running.end().with_code(0);
    assert!(ended.stderr.contains("without a password"), "{}", ended.stderr);
    for wrong in ["somewhere", "127.0.0.1:x"] {
        let ended = machine.hemiola(&["measure", "link", "--serve", wrong]).with_code(2);
        assert!(ended.stderr.contains("is no address"), "{}", ended.stderr);
    }
    machine.nothing_is_left();
}

/// Waits until the process has its two sockets.
fn wait_until_it_listens(running: &Running) {
    let limit = std::time::Instant::now() + crate::machine::PATIENCE;
    let sockets = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).unwrap();
        let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    };
    while sockets() < 2 {
        assert!(std::time::Instant::now() < limit, "it opens no sockets");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
