//! `hemiola rti --credentials`: who is admitted, and files that are refused.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::Credentials;
use hemiola_hla::encoding::{HLAunicodeString, encode};
use hemiola_hla::{Exception, Refusal, Reply};

use super::peer::Peer;
use super::scene::Rti;
use crate::machine::Machine;

const PERMITS: &str = r#"
[[permit]]
password = "correct horse"

[[permit]]
password = "battery staple"
rights = "join"
federations = ["Y*"]
"#;

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn connect(peer: &mut Peer, password: &str) -> Result<Reply, Refusal> {
    let data = encode(&HLAunicodeString::from(password)).into();
    let credentials = Credentials { kind: "HLAplainTextPassword".into(), data };
    peer.call(FederationCall::ConnectWithCredentials { credentials })
}

fn exception(answer: Result<Reply, Refusal>) -> Exception {
    answer.unwrap_err().exception
}

#[test]
fn federates_without_the_right_password_are_refused_and_others_do_what_theirs_allows() {
    let machine = Machine::take("credentials");
    let file = std::env::temp_dir().join(format!("hemiola-credentials-{}", std::process::id()));
    write(&file, PERMITS, 0o600);
    let rti = Rti::start(&machine, &["--credentials", file.to_str().unwrap()]);
    let mut stranger = Peer::open(rti.tcp());
    assert_eq!(exception(stranger.call(FederationCall::Connect)), Exception::Unauthorized);
    assert_eq!(exception(connect(&mut stranger, "correct")), Exception::Unauthorized);
    assert_eq!(exception(stranger.create("Yard")), Exception::NotConnected);
    let mut operator = Peer::open(rti.tcp());
    assert!(matches!(connect(&mut operator, "correct horse"), Ok(Reply::Configured(_))));
    for federation in ["Yard", "Sea"] {
        assert_eq!(operator.create(federation), Ok(Reply::Done));
    }
    let mut driver = Peer::open(rti.tcp());
    assert!(matches!(connect(&mut driver, "battery staple"), Ok(Reply::Configured(_))));
    assert_eq!(exception(driver.create("Yacht")), Exception::Unauthorized);
    assert_eq!(exception(driver.try_join("Sea")), Exception::Unauthorized);
    driver.join("Yard");
    drop((stranger, operator, driver));
    let log = rti.stop();
    assert!(!log.contains("horse") && !log.contains("battery"), "{log}");
    // Once for each session, with the first reason.
    let refusals: Vec<&str> = log.lines().filter(|one| one.contains("access refused")).collect();
    let [stranger, driver] = refusals[..] else { panic!("{log}") };
    assert!(stranger.contains("requires credentials"), "{stranger}");
    assert!(driver.contains("do not allow to create"), "{driver}");
    fs::remove_file(&file).unwrap();
}

#[test]
fn files_that_others_can_read_or_that_have_problems_are_refused() {
    let machine = Machine::take("bad credentials");
    let file = std::env::temp_dir().join(format!("hemiola-bad-{}", std::process::id()));
    let path = file.to_str().unwrap();
    let start = || machine.hemiola(&["rti", "--listen", "127.0.0.1:0", "--credentials", path]);
    assert!(start().with_code(2).stderr.contains("cannot be read: No such file"));
    write(&file, PERMITS, 0o640);
    assert!(start().with_code(2).stderr.contains(&format!("hint: chmod 600 {path}")));
    write(&file, "[[permit]]\npassword = \"\"\n", 0o600);
    assert!(start().with_code(2).stderr.contains("an empty password protects nothing"));
    fs::remove_file(&file).unwrap();
}
