//! Saves on disk: an RTI that is killed, a disk that is full, federates that are killed, and another RTI that restores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hemiola_hla::call::FederationCall as C;
use hemiola_hla::{Callback, Exception, Reply};
use hemiola_rt::sys::process::{Signal, signal_group};

use super::peer::{Peer, update};
use super::scene::Rti;
use crate::machine::Machine;

const FEDERATION: &str = "Yard";

fn request(label: &str) -> C {
    C::RequestFederationSave { label: label.into() }
}

fn done(peer: &mut Peer, call: C) {
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

fn restore(peers: &mut [Peer], label: &str) {
    done(&mut peers[0], C::RequestFederationRestore { label: label.into() });
    let label = label.to_owned();
    assert_eq!(next(&mut peers[0]), Callback::RequestFederationRestoreSucceeded { label });
    for peer in peers.iter_mut() {
        assert_eq!(next(peer), Callback::FederationRestoreBegun);
        assert!(matches!(next(peer), Callback::InitiateFederateRestore { .. }));
    }
    peers.iter_mut().for_each(|peer| done(peer, C::FederateRestoreComplete));
    peers.iter_mut().for_each(|peer| assert_eq!(next(peer), Callback::FederationRestored));
}

fn peers(rti: &Rti) -> Vec<Peer> {
    (0..2).map(|_| Peer::joined(rti.tcp(), FEDERATION)).collect()
}

/// A directory for saves, removed in the end.
struct Saves(PathBuf);

impl Saves {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hemiola-{test}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn option(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn file(&self, label: &str) -> PathBuf {
        self.0.join(format!("{FEDERATION}.federation/{label}.save"))
    }
}

impl Drop for Saves {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn another_rti_restores_what_one_has_saved() {
    let machine = Machine::take("saves");
    let saves = Saves::new("saves");
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
    let saves = Saves::new("killed-saves");
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
        assert!(saves.file("a").exists());
    }
}

#[test]
fn a_full_disk_and_a_killed_federate_end_a_save_and_nothing_else() {
    let machine = Machine::take("full saves");
    let saves = Saves::new("full-saves");
    let mounted = mount(&saves.0);
    let rti = Rti::start(&machine, &["--saves", saves.option()]);
    let mut all = peers(&rti);
    if mounted {
        assert_eq!(save(&mut all, "a")[0], Callback::FederationSaved);
        let before = fs::read(saves.file("a")).unwrap();
        // Fills the rest.
        let _ = fs::write(saves.0.join("filler"), vec![1; 1 << 20]);
        let told = save(&mut all, "a");
        assert!(matches!(told[0], Callback::FederationNotSaved { .. }), "{told:?}");
        rti.says("No space left on device", 1);
        assert_eq!(fs::read(saves.file("a")).unwrap(), before);
        fs::remove_file(saves.0.join("filler")).unwrap();
    }
    // A federate is lost at each step.
    for step in 0..3 {
        let mut mortal = Peer::joined(rti.tcp(), FEDERATION);
        done(&mut all[0], request("b"));
        for call in [C::FederateSaveBegun, C::FederateSaveComplete].into_iter().take(step) {
            assert_eq!(mortal.call(call), Ok(Reply::Done));
        }
        mortal.terminate();
        for peer in &mut all {
            assert!(matches!(next(peer), Callback::InitiateFederateSave { .. }));
            let reason = hemiola_hla::status::SaveFailureReason::FederateResignedDuringSave;
            assert_eq!(next(peer), Callback::FederationNotSaved { reason });
        }
    }
    assert_eq!(save(&mut all, "b"), [Callback::FederationSaved, Callback::FederationSaved]);
    drop(all);
    rti.stop();
    if mounted {
        assert!(Command::new("umount").arg(&saves.0).status().unwrap().success());
    }
}

/// Mounts a small file system. Returns `false` without the privilege.
fn mount(at: &Path) -> bool {
    let options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
    let mut mount = Command::new("mount");
    mount.args(options).arg(at).stderr(std::process::Stdio::null());
    mount.status().is_ok_and(|status| status.success())
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
