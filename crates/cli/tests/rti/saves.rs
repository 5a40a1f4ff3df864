//! Saves on disk: an RTI that is killed, a disk that is full, federates that are killed, a save at a time, and another
//! RTI that restores.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use hemiola_federate::{Calls, Federate, Joining, Options};
use hemiola_hla::call::{FederationCall as C, TimeCall};
use hemiola_hla::status::{RestoreFailureReason, SaveFailureReason};
use hemiola_hla::{Call, Callback, Exception, LogicalInterval, LogicalTime, Reply};
use hemiola_rt::sys::process::{Signal, signal_group};

use super::peer::{Peer, update};
use super::scene::{Rti, Scratch};
use crate::machine::Machine;
use crate::small_disk::SmallDisk;

const FEDERATION: &str = "Yard";

fn request(label: &str) -> C {
    C::RequestFederationSave { label: label.into() }
}

fn done(peer: &mut Peer, call: impl Into<Call>) {
    assert_eq!(peer.call(call), Ok(Reply::Done));
}

/// The next callback about a save or a restore.
fn next(peer: &mut Peer) -> Callback {
    loop {
        let callback = peer.callback();
        if (10..=21).contains(&callback.number()) {
            return callback;
        }
    }
}

/// Has all federates save up to their last call, which is left to the caller.
fn save_almost(peers: &mut [Peer], label: &str) {
    done(&mut peers[0], request(label));
    for peer in peers.iter_mut() {
        assert_eq!(next(peer), Callback::InitiateFederateSave { label: label.into() });
        done(peer, C::FederateSaveBegun);
    }
    let (last, others) = peers.split_last_mut().unwrap();
    others.iter_mut().for_each(|peer| done(peer, C::FederateSaveComplete));
    assert!(!last.is_closed);
}

/// Has all federates save. Returns what each is told in the end.
fn save(peers: &mut [Peer], label: &str) -> Vec<Callback> {
    save_almost(peers, label);
    done(peers.last_mut().unwrap(), C::FederateSaveComplete);
    peers.iter_mut().map(next).collect()
}

/// Has all federates asked to restore.
fn begin_restore(peers: &mut [Peer], label: &str) {
    done(&mut peers[0], C::RequestFederationRestore { label: label.into() });
    let label = label.to_owned();
    assert_eq!(next(&mut peers[0]), Callback::RequestFederationRestoreSucceeded { label });
    for peer in peers.iter_mut() {
        assert_eq!(next(peer), Callback::FederationRestoreBegun);
        assert!(matches!(next(peer), Callback::InitiateFederateRestore { .. }));
    }
}

fn restore(peers: &mut [Peer], label: &str) {
    begin_restore(peers, label);
    peers.iter_mut().for_each(|peer| done(peer, C::FederateRestoreComplete));
    peers.iter_mut().for_each(|peer| assert_eq!(next(peer), Callback::FederationRestored));
}

fn peers(rti: &Rti) -> Vec<Peer> {
    (0..2).map(|_| Peer::joined(rti.tcp(), FEDERATION)).collect()
}

/// The file of a save.
fn file(saves: &Scratch, label: &str) -> PathBuf {
    saves.0.join(format!("{FEDERATION}.federation/{label}.save"))
}

#[test]
fn another_rti_restores_what_one_has_saved() {
    let machine = Machine::take("saves");
    let saves = Scratch::new("saves");
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut first = peers(&rti);
    let car = first[0].register();
    first[1].subscribe();
    assert_eq!(save(&mut first, "a"), [Callback::FederationSaved, Callback::FederationSaved]);
    // While it runs, the directory is its own.
    let other = machine.hemiola(&["rti", "--listen", "127.0.0.1:0", "--saves", saves.option()]);
    assert!(other.with_code(1).stderr.contains("another RTI uses it"));
    drop((first, rti));
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut second = peers(&rti);
    restore(&mut second, "a");
    second[0].call(update(car, b"now".to_vec())).unwrap();
    let reflected = second[1].callback();
    assert_eq!(reflected.name(), "ReflectAttributeValues");
    drop(second);
    rti.stop();
}

#[test]
fn a_killed_rti_leaves_the_old_save_or_the_new_one() {
    let machine = Machine::take("killed saves");
    let saves = Scratch::new("killed-saves");
    for round in 0..6 {
        let rti = Rti::start(&machine, &["--saves", saves.option()]);
        let mut all = peers(&rti);
        if round > 0 {
            // The save on disk is complete.
            restore(&mut all, "a");
        }
        all[0].register();
        if round == 0 {
            save(&mut all, "a");
        }
        save_almost(&mut all, "a");
        let last = all.last_mut().unwrap();
        last.send(hemiola_fedpro::message::encode_call(&C::FederateSaveComplete.into()));
        std::thread::sleep(std::time::Duration::from_micros(300 * round));
        signal_group(rti.pid(), Signal::KILL).unwrap();
        drop((all, rti));
        assert!(file(&saves, "a").exists());
    }
}

#[test]
fn a_full_disk_ends_a_save_and_nothing_else() {
    let machine = Machine::take("full saves");
    let saves = Scratch::new("full-saves");
    let disk = SmallDisk::mount(&saves.0, "64k");
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut all = peers(&rti);
    if let Some(disk) = &disk {
        assert_eq!(save(&mut all, "a")[0], Callback::FederationSaved);
        let before = fs::read(file(&saves, "a")).unwrap();
        disk.fill();
        let told = save(&mut all, "a");
        assert!(matches!(told[0], Callback::FederationNotSaved { .. }), "{told:?}");
        rti.says("No space left on device", 1);
        assert_eq!(fs::read(file(&saves, "a")).unwrap(), before);
        disk.free();
    }
    assert_eq!(save(&mut all, "b"), [Callback::FederationSaved, Callback::FederationSaved]);
    drop(all);
    rti.stop();
}

/// A federate in another process: this program, executing [`mortal`] alone.
struct Mortal {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

/// Its calls. Each follows a callback, or the call before.
const SCRIPT: [(Option<&str>, C); 3] = [
    (Some("InitiateFederateSave"), C::FederateSaveBegun),
    (None, C::FederateSaveComplete),
    (Some("InitiateFederateRestore"), C::FederateRestoreComplete),
];

/// The variable with the address of the RTI and the number of calls.
const ORDERS: &str = "HEMIOLA_MORTAL";

/// Does nothing among the other tests.
#[test]
fn mortal() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let (address, calls) = orders.split_once(' ').unwrap();
    let options = Options { calls: Calls::Waiting, ..Options::default() };
    let mut federate = Federate::connect(&address.parse().unwrap(), options).unwrap();
    federate.join_federation_execution(Joining::new("Test", FEDERATION)).unwrap();
    println!("\njoined");
    for (asked, call) in SCRIPT.into_iter().take(calls.parse().unwrap()) {
        if let Some(asked) = asked {
            federate.wait_for(|one| (one.name() == asked).then_some(())).unwrap();
        }
        federate.call(call).unwrap();
    }
    println!("\nreached");
    // Until it is killed, or the test that started it has ended.
    let _ = std::io::stdin().read(&mut [0]);
}

impl Mortal {
    /// Joins, and will make this many calls.
    fn start(rti: &Rti, calls: usize) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "rti::saves::mortal", "--nocapture"])
            .env(ORDERS, format!("{} {calls}", rti.shm()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut mortal = Self { process, said };
        mortal.says("joined");
        mortal
    }

    fn says(&mut self, what: &str) {
        assert!(self.said.any(|line| line.unwrap() == what), "it ended before it {what}");
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn a_federate_killed_at_any_step_ends_the_save_or_the_restore_and_nothing_else() {
    let machine = Machine::take("mortal saves");
    let saves = Scratch::new("mortal-saves");
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut all = peers(&rti);
    for calls in 0..=2 {
        let mut mortal = Mortal::start(&rti, calls);
        save_almost(&mut all, "a");
        mortal.says("reached");
        mortal.kill();
        let reason = SaveFailureReason::FederateResignedDuringSave;
        all.iter_mut()
            .for_each(|one| assert_eq!(next(one), Callback::FederationNotSaved { reason }));
    }
    for calls in 2..=3 {
        let mut mortal = Mortal::start(&rti, calls);
        assert_eq!(save(&mut all, "a"), [Callback::FederationSaved, Callback::FederationSaved]);
        begin_restore(&mut all, "a");
        mortal.says("reached");
        done(&mut all[0], C::FederateRestoreComplete);
        mortal.kill();
        let reason = RestoreFailureReason::FederateResignedDuringRestore;
        for peer in &mut all {
            assert_eq!(next(peer), Callback::FederationNotRestored { reason });
        }
    }
    save(&mut all, "b");
    restore(&mut all, "b");
    drop(all);
    rti.stop();
}

#[test]
fn a_save_at_a_time_begins_when_it_is_reached_and_restores_the_times() {
    let machine = Machine::take("timed saves");
    let saves = Scratch::new("timed-saves");
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut all = peers(&rti);
    let time = |at: f64| LogicalTime::float(at).unwrap();
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    done(&mut all[0], TimeCall::EnableTimeRegulation { lookahead });
    done(&mut all[1], TimeCall::EnableTimeConstrained);
    all.iter_mut().for_each(|one| drop(one.callback()));
    let advance = |one: &mut Peer, to| {
        done(one, TimeCall::TimeAdvanceRequest { time: time(to).into() });
    };
    let label = || "t".to_owned();
    let request = C::RequestFederationSaveWithTime { label: label(), time: time(5.0).into() };
    done(&mut all[0], request);
    advance(&mut all[1], 8.0);
    // From 4 on, messages at 5 can still come. From 6 on, none can.
    advance(&mut all[0], 4.0);
    assert_eq!(all[0].callback().name(), "TimeAdvanceGrant");
    advance(&mut all[0], 6.0);
    let initiate =
        Callback::InitiateFederateSaveWithTime { label: label(), time: time(5.0).into() };
    for peer in &mut all {
        assert_eq!(next(peer), initiate);
        done(peer, C::FederateSaveBegun);
        done(peer, C::FederateSaveComplete);
    }
    all.iter_mut().for_each(|one| assert_eq!(next(one), Callback::FederationSaved));
    advance(&mut all[0], 9.0);
    let grant = |one: &mut Peer| while one.callback().name() != "TimeAdvanceGrant" {};
    all.iter_mut().for_each(grant);
    restore(&mut all, "t");
    let times = all.iter_mut().map(|one| one.call(TimeCall::QueryLogicalTime));
    let saved = [6.0, 0.0].map(|at| Ok(Reply::Time(time(at).into())));
    assert_eq!(times.collect::<Vec<_>>(), saved);
    // The constrained federate still waits for its grant.
    advance(&mut all[0], 9.0);
    all.iter_mut().for_each(grant);
    drop(all);
    rti.stop();
}

#[test]
fn without_a_directory_saves_are_refused_by_name_of_the_option() {
    let machine = Machine::take("no saves");
    let rti = Rti::start(&machine, &[]);
    let mut all = peers(&rti);
    let refusal = all[0].call(request("a")).unwrap_err();
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("--saves DIR"), "{refusal}");
    let nowhere = ["rti", "--listen", "127.0.0.1:0", "--saves", "/proc/nowhere"];
    let ended = machine.hemiola(&nowhere).with_code(1);
    assert!(
        ended.stderr.contains("choose an existing directory with --saves DIR"),
        "{}",
        ended.stderr
    );
    drop(all);
    rti.stop();
}
