//! Federates in processes of their own that are killed during a call.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::carrier::Address;
use crate::peer::{Peer, Rti, TIMEOUT, on_loopback, update, value};

const NAME: &str = "HEMIOLA_TEST_RTI";

/// The other process: joins over shared memory and sends updates without end. Without the environment variable it does
/// nothing.
#[test]
fn a_federate_in_a_process_of_its_own() {
    let Ok(name) = std::env::var(NAME) else { return };
    let mut publisher = Peer::join(Address::Local(name), "Killed");
    let object = publisher.register();
    loop {
        let tickets: Vec<_> =
            (0..100).map(|_| publisher.send(update(object, vec![7; 1000]))).collect();
        for ticket in tickets {
            publisher.reply(ticket).unwrap();
        }
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_process_over_shared_memory_is_noticed_at_once() {
    let name = format!("test-{}-killed", std::process::id());
    let rti = Rti::start(hemiola_rtid::Options { local: Some(name.clone()), ..on_loopback() });
    let mut subscriber = Peer::join(rti.address, "Killed");
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::a_federate_in_a_process_of_its_own", "--nocapture"])
        .env(NAME, &name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let began = Instant::now();
    while rti.stopper.status().unwrap().federations[0].instances == 0 {
        assert!(began.elapsed() < TIMEOUT, "the other process does not register");
        std::thread::sleep(Duration::from_millis(5));
    }
    subscriber.subscribe();
    for _ in 0..500 {
        assert_eq!(value(subscriber.callback()).len(), 1000);
    }
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    loop {
        let report = rti.stopper.status().unwrap();
        if report.sessions.len() == 1 {
            assert_eq!(report.sessions_ended["its process has ended"], 1);
            assert_eq!(report.federations[0].federates.len(), 1);
            return;
        }
        assert!(began.elapsed() < 2 * TIMEOUT, "the killed process is still listed: {report:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
