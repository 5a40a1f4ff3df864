//! Object models that are invalid, contradict each other, or would exhaust the memory.

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::FomModule;
use hemiola_hla::{Data, Exception, Reply};

use super::peer::{FOM, Peer, fom};
use super::scene::Scene;
use crate::zip::archive;

fn file(content: impl Into<Data>) -> FomModule {
    FomModule::File { name: "Wrong.xml".into(), content: content.into() }
}

/// The exception for creating a federation with this module.
fn refusal(peer: &mut Peer, fom_module: FomModule) -> Exception {
    let federation_name = "Wrong".into();
    let call = FederationCall::CreateFederationExecution { federation_name, fom_module };
    peer.call(call).expect_err("the module is wrong").exception
}

fn object_model(inside: &str) -> String {
    format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">{inside}</objectModel>"#
    )
}

#[test]
fn data_that_is_not_a_module_is_refused_with_the_exception_for_it() {
    let scene = Scene::begin("no-modules", &[]);
    let mut peer = Peer::connected(scene.address());
    let texts: [&[u8]; 9] = [
        b"",
        b"not XML at all",
        b"<objectModel",
        b"<a><b></a></b>",
        b"<html/>",
        b"\xFF\xFE\x00\xD8",
        b"<?xml version='1.0' encoding='EBCDIC'?><objectModel/>",
        &[0; 10_000],
        b"PK\x03\x04 and no archive",
    ];
    for text in texts {
        let exception = refusal(&mut peer, file(Data::copy_from_slice(text)));
        let good = [Exception::ErrorReadingFOM, Exception::InvalidFOM, Exception::CouldNotOpenFOM];
        assert!(good.contains(&exception), "{exception}: {:?}", String::from_utf8_lossy(text));
    }
    for url in ["http://192.0.2.1/a.xml", "file:///etc/passwd", "nowhere.xml", ""] {
        assert_eq!(refusal(&mut peer, FomModule::Url(url.into())), Exception::CouldNotOpenFOM);
    }
    scene.end();
}

#[test]
fn irregular_module_creates_a_federation_with_a_warning_that_names_the_place() {
    let scene = Scene::begin("irregular", &[]);
    let mut peer = Peer::connected(scene.address());
    let text = object_model(
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Car</name>\n\
         <sharing>Everybody</sharing></objectClass></objectClass></objects>",
    );
    let call = FederationCall::CreateFederationExecution {
        federation_name: "Irregular".into(),
        fom_module: file(text),
    };
    assert_eq!(peer.call(call), Ok(Reply::Done));
    scene.rti.says("Wrong.xml:2:10: Everybody is not a valid sharing", 1);
    scene.end();
}

#[test]
fn modules_with_errors_and_conflicts_are_refused_and_leave_the_federation_as_it_was() {
    let scene = Scene::begin("conflicts", &[]);
    let mut peer = Peer::connected(scene.address());
    let class = |name: &str, inside: &str| {
        object_model(&format!(
            "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>{name}</name>\
             <sharing>PublishSubscribe</sharing>{inside}</objectClass></objectClass></objects>"
        ))
    };
    let attribute = |name: &str, data_type: &str| {
        format!("<attribute><name>{name}</name><dataType>{data_type}</dataType></attribute>")
    };
    let twice = attribute("Speed", "HLAfloat64BE") + &attribute("Speed", "HLAfloat32BE");
    for text in [class("Car", &attribute("Speed", "NoSuchType")), class("Car", &twice)] {
        let exception = refusal(&mut peer, file(text.clone()));
        let good = [Exception::InvalidFOM, Exception::InconsistentFOM];
        assert!(good.contains(&exception), "{exception}: {text}");
    }
    // A joining federate brings a module that contradicts the model of the federation.
    let mut member = Peer::joined(scene.address(), "Sound");
    let contrary = class("Car", &attribute("Speed", "HLAinteger32BE"));
    let join = |module| FederationCall::JoinFederationExecutionWithModules {
        federate_type: "Test".into(),
        federation_name: "Sound".into(),
        additional_fom_modules: vec![module],
    };
    let refused = peer.call(join(file(contrary))).expect_err("it contradicts");
    assert_eq!(refused.exception, Exception::InconsistentFOM, "{refused}");
    // The federation is unchanged, and the refused federate can join without the module.
    member.register();
    assert!(matches!(peer.call(join(fom())), Ok(Reply::Joined(_))));
    scene.end();
}

#[test]
fn text_with_excessive_expansion_or_nesting_is_refused() {
    let scene = Scene::begin("unfolding", &[]);
    let before = scene.rti.memory_max();
    let mut peer = Peer::connected(scene.address());
    // Ten entities, each of which is ten of the previous one: 10¹⁰ times "lol".
    let mut laughs = String::from("<!DOCTYPE objectModel [<!ENTITY l0 \"lol\">");
    for level in 1..=10 {
        let before = format!("&l{};", level - 1).repeat(10);
        laughs += &format!("<!ENTITY l{level} \"{before}\">");
    }
    laughs +=
        "]><objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">&l10;</objectModel>";
    let nested = "<objectClass><name>A</name>".repeat(50_000);
    let deep =
        object_model(&format!("<objects>{nested}{}</objects>", "</objectClass>".repeat(50_000)));
    let elements = "<x>".repeat(100_000);
    for text in [laughs, deep, elements] {
        let exception = refusal(&mut peer, file(text));
        let good = [Exception::ErrorReadingFOM, Exception::InvalidFOM];
        assert!(good.contains(&exception), "{exception}");
        scene.others_go_on();
    }
    let grown = scene.rti.memory_grown(before);
    assert!(grown < 256 << 20, "it grew by {grown} bytes");
    scene.end();
}

#[test]
fn zip_bombs_are_refused_before_they_fill_the_memory() {
    let scene = Scene::begin("bombs", &[]);
    let before = scene.rti.memory_max();
    let mut peer = Peer::connected(scene.address());
    // One entry of 256 MiB; two thousand of 1 MiB; very many empty ones.
    for (entries, len) in [(1, 256 << 20), (2000, 1 << 20), (60_000, 0)] {
        let bytes = archive(entries, &vec![0; len]);
        assert!(bytes.len() < 10 << 20, "a bomb of {} bytes is too large", bytes.len());
        let exception = refusal(&mut peer, FomModule::Compressed(bytes.into()));
        assert_eq!(exception, Exception::ErrorReadingFOM, "{entries} × {len}");
        scene.others_go_on();
    }
    // A valid archive truncated at many places, and with a byte changed there.
    let sound = archive(3, &[0; 100]);
    for index in (0..sound.len()).step_by(3) {
        let mut changed = sound.clone();
        changed[index] ^= 0xFF;
        for bytes in [sound[..index].to_vec(), changed] {
            refusal(&mut peer, FomModule::Compressed(bytes.into()));
        }
    }
    let grown = scene.rti.memory_grown(before);
    assert!(grown < 256 << 20, "it grew by {grown} bytes");
    scene.end();
}

#[test]
fn a_large_model_does_not_disturb_the_others() {
    let scene = Scene::begin("large", &[]);
    let mut peer = Peer::connected(scene.address());
    let attribute = "<attribute><name>A</name><dataType>HLAfloat64BE</dataType></attribute>";
    let classes: String = (0..20_000)
        .map(|number| format!("<objectClass><name>C{number}</name>{attribute}</objectClass>"))
        .collect();
    let large = object_model(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>"
    ));
    for number in 0..3 {
        let call = FederationCall::CreateFederationExecution {
            federation_name: format!("Large {number}"),
            fom_module: file(large.clone()),
        };
        assert_eq!(peer.call(call), Ok(Reply::Done));
        scene.others_go_on();
    }
    assert!(FOM.len() < large.len());
    scene.end();
}
