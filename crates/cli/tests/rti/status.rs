//! Status, metrics, start and end of an RTI.

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_rtid::Report;

use super::peer::{Peer, connect};
use super::scene::{Rti, Scene, Scratch};
use crate::command::PROGRAM;
use crate::machine::Machine;

#[test]
fn status_shows_federations_and_the_federates_that_hold_others_back() {
    use hemiola_hla::call::TimeCall;
    use hemiola_hla::{EncodedInterval, LogicalInterval, LogicalTime};
    let scene = Scene::begin("status", &[]);
    let lookahead = EncodedInterval::from(LogicalInterval::float(0.5).unwrap());
    let mut slow = Peer::joined(scene.address(), "Formation");
    slow.call(TimeCall::EnableTimeRegulation { lookahead }).unwrap();
    let mut fast = Peer::joined(scene.address(), "Formation");
    fast.call(TimeCall::EnableTimeConstrained).unwrap();
    let time = LogicalTime::float(10.0).unwrap().into();
    assert_eq!(fast.callback().name(), "TimeConstrainedEnabled");
    fast.call(TimeCall::TimeAdvanceRequest { time }).unwrap();

    let text = scene.hemiola(&["rti", "status", scene.rti.shm()]).stdout;
    assert!(text.contains("2 federations, 4 federates"), "{text}");
    assert!(text.contains("Federation Formation: HLAfloat64Time"), "{text}");
    assert!(text.contains("waits for 10"), "{text}");
    assert!(
        text.contains(" holds back ") && text.contains("it has not asked to advance"),
        "{text}"
    );

    let json = scene.hemiola(&["rti", "status", scene.rti.shm(), "--json"]).stdout;
    let report: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(report.pid, scene.rti.pid());
    let formation = &report.federations[0];
    assert_eq!((&*formation.name, formation.federates.len()), ("Formation", 2));
    assert_eq!(formation.holding_back.len(), 1);
    assert!(formation.holding_back[0].since.is_positive());
    let others = &report.federations[1].federates;
    let session = |one: &hemiola_rtid::report::FederateReport| {
        report.sessions.iter().find(|session| session.number == one.session).unwrap()
    };
    assert!(others.iter().all(|one| session(one).sent.messages > 20));
    assert!(report.received.messages > 40 && report.work.calls > 40, "{report:?}");

    let metrics = scene.hemiola(&["rti", "metrics", scene.rti.shm()]).stdout;
    assert!(metrics.contains("hemiola_rti_federates{federation=\"Formation\"} 2\n"), "{metrics}");
    scene.end();
}

#[test]
fn one_of_two_rtis_must_be_named_and_a_name_belongs_to_one_rti() {
    let machine = Machine::take("found");
    let [one, two] = ["one", "two"].map(|name| format!("{name}-{}", std::process::id()));
    let first = Rti::start(&machine, &["--local", &one]);
    let second = Rti::start(&machine, &["--local", &two]);
    let usual = std::fs::read_to_string("/proc/net/unix").unwrap().contains("@hemiola-rti/15164");
    if usual {
        println!("skipped: needs a machine without an RTI of the default name");
    } else {
        // Other users may run more RTIs.
        let both = machine.hemiola(&["rti", "status"]).with_code(1).stderr;
        assert!(
            both.contains("give the address of one") && both.contains(&format!("shm:{one}")),
            "{both}"
        );
        assert!(both.contains(&format!("shm:{two}")), "{both}");
    }
    let of_first = machine.hemiola(&["rti", "status", &format!("shm:{one}")]).with_code(0);
    assert!(of_first.stdout.contains(&format!("process {}", first.pid())), "{of_first:?}");
    let port = first.tcp().port();
    let unknown = machine.hemiola(&["rti", "status", &format!("127.0.0.1:{port}")]).with_code(1);
    let expected = format!(
        "cannot query the RTI tcp:127.0.0.1:{port}: no RTI on this machine serves this address"
    );
    assert!(unknown.stderr.contains(&expected), "{}", unknown.stderr);
    let taken = machine.hemiola(&["rti", "--listen", "127.0.0.1:0", "--local", &one]).with_code(1);
    assert!(taken.stderr.contains("another RTI has this name"), "{}", taken.stderr);
    first.stop();
    second.stop();
    machine.nothing_is_left();
}

#[test]
fn an_rti_says_what_it_is_and_how_to_look_at_it_beside_its_addresses() {
    let machine = Machine::take("introduction");
    let name = format!("introduced-{}", std::process::id());
    let saves = Scratch::new("introduction");
    let options = ["--local", &name, "--sessions-max", "12", "--memory-max", "64MiB"];
    let rti = Rti::start(&machine, &[&options[..], &["--saves", saves.option()]].concat());
    rti.says("hint: ", 1);
    // Scripts read only addresses from standard output.
    assert!(rti.addresses.iter().all(|line| line.starts_with("tcp:") || line.starts_with("shm:")));
    let (pid, directory) = (rti.pid(), saves.option());
    let expected = format!(
        "started: version {}, process {pid}, for at most 12 sessions and 64 MiB of memory; saves in {directory}\n",
        env!("CARGO_PKG_VERSION")
    );
    let log = rti.log();
    assert!(log.starts_with(&expected), "{log}");
    // The command of the hint is one that works.
    let hint = log.lines().nth(1).unwrap();
    let command = hint.strip_prefix("hint: `hemiola ").unwrap().split('`').next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let status = machine.hemiola(&words).with_code(0).stdout;
    assert!(status.contains(&format!("process {pid}")), "{status}");
    assert!(hint.contains(&format!("`kill {pid}` ends")), "{hint}");
    rti.stop();

    let quiet = Rti::start(&machine, &["--log", "warn"]);
    let log = quiet.stop();
    assert!(log.starts_with("stopped: "), "{log}");
    machine.nothing_is_left();
}

#[test]
fn sigterm_ctrl_c_and_a_closed_terminal_stop_an_rti_with_joined_federates_in_order() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let machine = Machine::take("signals");
        let rti = Rti::start(&machine, &[]);
        let mut federate = Peer::joined(rti.tcp(), "Cut short");
        let log = rti.stop_by(signal);
        assert!(log.contains("stopped: 1 sessions"), "{log}");
        while !federate.is_closed {
            federate.step();
        }
        machine.nothing_is_left();
    }
}

#[test]
fn an_unread_log_delays_neither_federates_nor_the_end() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Stdio};
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill().and_then(|()| self.0.wait());
        }
    }
    let machine = Machine::take("unread-log");
    let mut command =
        machine.command(PROGRAM, &["rti", "--listen", "127.0.0.1:0", "--log", "debug"]);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut rti = Killed(command.spawn().unwrap());
    let first = BufReader::new(rti.0.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let address = first.strip_prefix("tcp:").unwrap().parse().unwrap();
    // Each connection logs a line or two; the pipe holds 64 KiB, the queue before it 4096 lines.
    for _ in 0..6000 {
        drop(connect(address));
    }
    let mut federate = Peer::joined(address, "Unread");
    federate.register();
    signal_group(rti.0.id(), Signal::TERM).unwrap();
    assert!(rti.0.wait().unwrap().success());
    machine.nothing_is_left();
}

#[test]
fn listening_beyond_loopback_prints_a_warning() {
    let machine = Machine::take("beyond");
    let rti = Rti::start(&machine, &["--listen", "0.0.0.0:0"]);
    rti.says("can be reached from other machines, without password or encryption", 1);
    rti.stop();
    let rti = Rti::start(&machine, &[]);
    assert!(!rti.stop().contains("other machines"));
}

#[test]
fn options_that_cannot_be_granted_are_refused_with_a_hint() {
    let machine = Machine::take("refused");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for (arguments, code, says) in [
        (&["--listen", taken.as_str()][..], 1, "another RTI may be running"),
        (&["--listen", "192.0.2.1:5000"], 1, "this is not an address of this machine"),
        (&["--listen", "nonsense"], 2, "write HOST:PORT"),
        (&["--listen", "127.0.0.1:99999"], 2, "write HOST:PORT"),
        (&["--local", "a/b"], 2, "has a bad name"),
        (&["--priority", "100"], 2, "100 is not in 1..=99"),
        (&["--memory-max", "0B"], 2, "it must be at least 8MiB: "),
        (&["--memory-max", "1MiB"], 2, "it must be at least 8MiB: "),
        (&["--session-memory-max", "1KiB"], 2, "it must be at least 1MiB"),
        (
            &["--memory-max", "64MiB", "--federation-memory-max", "65MiB"],
            2,
            "it is a part of --memory-max, which is 64MiB",
        ),
        (&["--session-memory-max", "2GiB"], 2, "it is a part of --memory-max, which is 1GiB"),
        (
            &["--sessions-max", "10", "--peer-sessions-max", "11"],
            2,
            "it is a part of --sessions-max, which is 10",
        ),
        (&["--sessions-max", "0"], 2, "it must be at least 1"),
        (&["--peer-sessions-max", "0"], 2, "it must be at least 1"),
        (&["--stall-max", "0s"], 2, "it must be longer than 0"),
        (&["--resume-window=-1s"], 2, "it must not be negative"),
        (&["--listen", "127.0.0.1:0", "--cpus", "1023"], 1, "is not online"),
    ] {
        let ended = machine.hemiola(&[&["rti"], arguments].concat()).with_code(code);
        assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
    }
    machine.nothing_is_left();
}

#[test]
fn a_real_time_rti_has_the_requested_profile() {
    let machine = Machine::take("profile");
    let asked = ["--priority", "50", "--cpus", "0", "--lock-memory"];
    let arguments = [&["rti", "--listen", "127.0.0.1:0"], &asked[..]].concat();
    let privileges = hemiola_rt::privilege::Privileges::read();
    if !(privileges.sys_nice && privileges.ipc_lock) {
        println!("skipped: needs CAP_SYS_NICE and CAP_IPC_LOCK");
        let refused = machine.hemiola(&arguments).with_code(1);
        assert!(refused.stderr.contains("was refused"), "{}", refused.stderr);
        return;
    }
    let rti = Rti::start(&machine, &asked);
    let status = std::fs::read_to_string(format!("/proc/{}/status", rti.pid())).unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {status}")).trim().to_owned()
    };
    assert_eq!(value("Cpus_allowed_list:"), "0");
    assert_ne!(value("VmLck:"), "0 kB");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", rti.pid())).unwrap();
    // Field 40 is the real-time priority (proc_pid_stat(5)). Only the name, in parentheses, may contain blanks.
    let behind: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!(behind[40 - 3], "50");
    let mut federate = Peer::joined(rti.tcp(), "Real time");
    federate.register();
    rti.stop();
    machine.nothing_is_left();
}
