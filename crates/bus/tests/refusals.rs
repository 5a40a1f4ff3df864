//! Impossible requests are refused with what would help.

use std::os::unix::process::CommandExt;
use std::process::Command;

use hemiola_bus::{Channel, OpenError, Spec, open_receiver, open_sender};
use hemiola_units::Delivery;

fn spec(endpoint: &str) -> Spec {
    Spec {
        endpoint: endpoint.parse().unwrap(),
        delivery: Delivery::Latest,
        message_size: 8,
        run: format!("r{}", std::process::id()),
    }
}

fn queue(length: u32) -> Delivery {
    Delivery::Queue(length.try_into().unwrap())
}

fn refusal(spec: &Spec) -> String {
    Channel::create(spec).expect_err("this cannot be").to_string()
}

#[test]
fn sizes_and_names_no_backend_has_are_refused() {
    for (bad, expected) in [
        (
            Spec { run: "a_b".into(), ..spec("shm:x") },
            "\"a_b\" is not a valid run name; use 1 to 16 of a-z, A-Z, 0-9 and '-'",
        ),
        (
            Spec { message_size: 0, ..spec("shm:x") },
            "messages of 0 B are not possible here; shm: carries 1 to 1048576 B",
        ),
        (
            Spec { delivery: queue(5000), ..spec("local:x") },
            "a queue of 5000 is not possible here; local: holds at most 4096",
        ),
    ] {
        assert_eq!(refusal(&bad), expected);
    }
}

#[test]
fn a_local_name_is_taken_once_at_a_time() {
    let spec = spec("local:taken");
    let channel = Channel::create(&spec).unwrap();
    assert!(refusal(&spec).ends_with("already has a channel local:taken"));
    let handle = channel.handle();
    drop(channel);
    assert!(matches!(open_sender(&handle), Err(OpenError::Elsewhere(_))));
    Channel::create(&spec).unwrap();
}

#[test]
fn a_descriptor_that_was_not_inherited_is_refused() {
    let channel = Channel::create(&spec("shm:x")).unwrap();
    let text = serde_json::to_string(&channel.handle()).unwrap();
    let text = text.replacen(r#""sender":"#, r#""sender":1000"#, 1);
    let handle = serde_json::from_str(&text).unwrap();
    assert!(matches!(open_sender(&handle), Err(OpenError::NotInherited { .. })));
    assert!(open_receiver(&handle).is_ok());
}

#[test]
fn a_receiver_of_a_latest_value_cannot_write_it() {
    let channel = Channel::create(&spec("shm:x")).unwrap();
    let mut text: serde_json::Value = serde_json::to_value(channel.handle()).unwrap();
    text["sender"] = text["receiver"].clone();
    let handle = serde_json::from_value(text).unwrap();
    assert!(matches!(open_sender(&handle), Err(OpenError::Failed { .. })));
}

#[test]
fn a_queue_beyond_the_memory_limit_names_the_limit() {
    let large = Spec { delivery: queue(10), message_size: 1 << 20, ..spec("mq:large") };
    let refused = refusal(&large);
    assert!(refused.contains("RLIMIT_MSGQUEUE") || refused.contains("msgsize_max"), "{refused}");
}

/// In a process without privileges: the child of the test below. Otherwise it does nothing.
#[test]
fn unprivileged() {
    if std::env::var_os("HEMIOLA_BUS_UNPRIVILEGED").is_some() {
        let long = Spec { delivery: queue(4000), ..spec("mq:long") };
        let large = Spec { message_size: 1 << 20, ..spec("mq:large") };
        println!("{}\n{}", refusal(&long), refusal(&large));
    }
}

#[test]
fn limits_without_privileges_name_the_sysctl_that_raises_them() {
    let path = std::env::temp_dir().join(format!("hemiola-bus-test-{}", std::process::id()));
    // Another user may not be allowed into the test binary's folder.
    std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    let mut command = Command::new(&path);
    command.args(["refusals::unprivileged", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("HEMIOLA_BUS_UNPRIVILEGED", "1");
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let output = command.output();
    std::fs::remove_file(&path).unwrap();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return println!("skipped: needs a temporary directory to execute from: {error}");
        }
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let limit = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/mqueue/{name}")).unwrap();
        text.trim().to_owned()
    };
    for expected in [
        format!(
            "a queue of 4000 is not possible here; mq: holds at most {} (fs.mqueue.msg_max); \
             `sysctl fs.mqueue.msg_max=4000` as root raises it",
            limit("msg_max")
        ),
        format!(
            "messages of 1048576 B are not possible here; mq: carries 1 to {} B \
             (fs.mqueue.msgsize_max); `sysctl fs.mqueue.msgsize_max=1048576` as root raises it",
            limit("msgsize_max")
        ),
    ] {
        assert!(text.contains(&expected), "{expected}\n{text}");
    }
}
