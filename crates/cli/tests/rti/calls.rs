//! Calls at the wrong time, with wrong handles, and bodies that are not calls.

use hemiola_fedpro::message;
use hemiola_hla::call::{
    DeclarationCall, DistributionCall, Entry, FederationCall, ObjectCall, OwnershipCall, Shape,
    SupportCall, TimeCall,
};
use hemiola_hla::{Data, Exception, Refusal, Reply};

use super::peer::Peer;
use super::scene::Scene;

/// Every call of the standard.
fn all() -> impl Iterator<Item = &'static Entry> {
    [
        FederationCall::TABLE,
        DeclarationCall::TABLE,
        ObjectCall::TABLE,
        OwnershipCall::TABLE,
        TimeCall::TABLE,
        DistributionCall::TABLE,
        SupportCall::TABLE,
    ]
    .into_iter()
    .flatten()
}

/// A field that holds bytes: a text, a message.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = varint(u64::from(number) << 3 | 2);
    bytes.extend(varint(content.len() as u64));
    bytes.extend(content);
    bytes
}

/// A field that holds a number.
fn number(field: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(field) << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = value as u8 & 0x7F;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// A handle of these bytes.
fn handle(number: u32, bytes: &[u8]) -> Vec<u8> {
    field(number, &field(1, bytes))
}

/// The answer to an arbitrary body.
fn answered(peer: &mut Peer, entry: &Entry, arguments: &[u8]) -> Result<Reply, Refusal> {
    let ticket = peer.send(field(entry.number, arguments).into());
    let answer = peer.answer(ticket);
    let answer = answer.unwrap_or_else(|| panic!("closed by {} {arguments:?}", entry.name));
    message::decode_reply(entry.number, entry.shape, &answer).unwrap()
}

#[test]
fn every_call_before_connect_is_refused_and_the_session_continues() {
    let scene = Scene::begin("unconnected", &[]);
    let mut peer = Peer::open(scene.address());
    let mut refused = 0;
    for entry in all() {
        if entry.name.starts_with("Connect") || entry.name == "Disconnect" {
            continue;
        }
        match answered(&mut peer, entry, &[]) {
            Err(refusal) => {
                assert_eq!(refusal.exception, Exception::NotConnected, "{}", entry.name)
            }
            Ok(reply) => panic!("{}: {reply:?}", entry.name),
        }
        refused += 1;
    }
    assert_eq!(refused, 173);
    assert!(matches!(peer.call(FederationCall::Connect), Ok(Reply::Configured(_))));
    scene.end();
}

#[test]
fn every_call_that_needs_a_federation_is_refused_before_joining_one() {
    let scene = Scene::begin("unjoined", &[]);
    let mut peer = Peer::connected(scene.address());
    let needs = |entry: &&Entry| entry.exceptions.contains(&Exception::FederateNotExecutionMember);
    for entry in all().filter(needs) {
        let refusal = answered(&mut peer, entry, &[]).expect_err(entry.name);
        assert_eq!(refusal.exception, Exception::FederateNotExecutionMember, "{}", entry.name);
    }
    peer.call(FederationCall::ListFederationExecutions).unwrap();
    scene.end();
}

/// A handle that was never given to a federate.
fn wrong_handles() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> =
        [0_i32, -1, i32::MIN, i32::MAX].map(|one| one.to_be_bytes().to_vec()).into();
    all.extend([0_i64, -1, i64::MIN, i64::MAX].map(|one| one.to_be_bytes().to_vec()));
    all.extend([vec![], vec![0xFF], vec![0xFF; 3], vec![1; 5], vec![0xFF; 7], vec![0xAB; 65_536]]);
    all
}

#[test]
fn a_wrong_handle_causes_the_exception_of_the_called_service() {
    let scene = Scene::begin("handles", &[]);
    let mut peer = Peer::joined(scene.address(), "Handles");
    let services = [
        ("GetObjectClassName", Exception::InvalidObjectClassHandle),
        ("GetInteractionClassName", Exception::InvalidInteractionClassHandle),
        ("GetObjectInstanceName", Exception::ObjectInstanceNotKnown),
        ("GetKnownObjectClassHandle", Exception::ObjectInstanceNotKnown),
        ("GetFederateName", Exception::InvalidFederateHandle),
        ("GetDimensionName", Exception::InvalidDimensionHandle),
        ("GetTransportationTypeName", Exception::InvalidTransportationTypeHandle),
        ("GetAttributeHandle", Exception::InvalidObjectClassHandle),
        ("GetParameterHandle", Exception::InvalidInteractionClassHandle),
        ("PublishObjectClassAttributes", Exception::ObjectClassNotDefined),
        ("SubscribeObjectClassAttributes", Exception::ObjectClassNotDefined),
        ("UnpublishObjectClass", Exception::ObjectClassNotDefined),
        ("PublishInteractionClass", Exception::InteractionClassNotDefined),
        ("SubscribeInteractionClass", Exception::InteractionClassNotDefined),
        ("RegisterObjectInstance", Exception::ObjectClassNotDefined),
        ("UpdateAttributeValues", Exception::ObjectInstanceNotKnown),
        ("SendInteraction", Exception::InteractionClassNotDefined),
        ("DeleteObjectInstance", Exception::ObjectInstanceNotKnown),
        ("LocalDeleteObjectInstance", Exception::ObjectInstanceNotKnown),
    ];
    for (name, exception) in services {
        let entry = all().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name}"));
        for bytes in wrong_handles() {
            let refusal = answered(&mut peer, entry, &handle(1, &bytes)).expect_err(name);
            // A federate handle may also be of a federate that has resigned.
            let also = Exception::FederateHandleNotKnown;
            let good = refusal.exception == exception
                || (name == "GetFederateName" && refusal.exception == also);
            assert!(good, "{name} {bytes:?}: {refusal}");
        }
    }
    scene.end();
}

#[test]
fn calls_with_arbitrary_argument_bytes_do_not_close_a_session() {
    let scene = Scene::begin("arguments", &[]);
    let mut peer = Peer::joined(scene.address(), "Arguments");
    let leaves = ["Disconnect", "ResignFederationExecution"];
    for entry in all().filter(|entry| !leaves.contains(&entry.name)) {
        let mut arguments = vec![vec![]];
        for bytes in [&[][..], &[0xFF; 4], &[0x80; 8], b"\xF0\x28\x8C\xBC", &[0; 3]] {
            // All arguments are handles, texts, lists of handles, or what cannot be told.
            arguments.push((1..=4).flat_map(|one| handle(one, bytes)).collect());
            arguments.push((1..=4).flat_map(|one| field(one, bytes)).collect());
            arguments.push((1..=4).flat_map(|one| field(one, &handle(1, bytes))).collect());
        }
        // Numbers: none of an enumeration, negative ones.
        for value in [7, 1 << 31, u64::from(u32::MAX), i32::MIN as u64, -1_i64 as u64] {
            arguments.push((1..=4).flat_map(|one| number(one, value)).collect());
        }
        // Cut off in the middle; unknown fields.
        arguments.push(handle(1, &[1; 8])[..5].to_vec());
        arguments.push(field(1000, &[1; 8]));
        for arguments in arguments {
            if let Err(refusal) = answered(&mut peer, entry, &arguments) {
                let known = entry.raises(refusal.exception);
                assert!(known, "{} does not raise {refusal}", entry.name);
                assert_ne!(refusal.exception, Exception::FederateNotExecutionMember);
            }
        }
    }
    scene.end();
}

#[test]
fn a_body_that_is_not_a_call_is_answered_with_an_exception() {
    let scene = Scene::begin("bodies", &[]);
    let mut peer = Peer::connected(scene.address());
    let bodies = [
        vec![],
        vec![0xFF; 1000],
        vec![0x0a],
        vec![0x0a, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        field(0, &[]),
        field(179, &[]),
        field(u32::MAX >> 3, &[]),
        number(1, 5),
        b"text".to_vec(),
    ];
    for body in bodies {
        let ticket = peer.send(Data::from(body.clone()));
        let answer = peer.answer(ticket).unwrap_or_else(|| panic!("closed by {body:?}"));
        let refusal = message::decode_reply(1, Shape::Configured, &answer).unwrap().unwrap_err();
        assert_eq!(refusal.exception, Exception::RTIinternalError, "{body:?}");
    }
    peer.call(FederationCall::ListFederationExecutions).unwrap();
    scene.end();
}
