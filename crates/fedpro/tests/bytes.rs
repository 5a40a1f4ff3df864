//! Compares the encoding of messages with that of a Protocol Buffers compiler for `fedpro.proto`.

use std::sync::LazyLock;

use hemiola_fedpro::message::{
    Failure, decode_call, decode_callback, decode_reply, decode_taken, encode_call,
    encode_callback, encode_reply, encode_taken, is_connection_lost,
};
use hemiola_fedpro::{ELEMENTS_MAX, MessageError, WireError};
use hemiola_hla::call::{FederationCall, ObjectCall, Shape, SupportCall, TimeCall};
use hemiola_hla::data::{FomModule, RtiConfiguration};
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, EncodedTime, Exception, FederateHandle,
    MessageRetractionHandle, ObjectInstanceHandle, OrderType, Refusal, Reply, ServiceGroup,
};
use prost_reflect::prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value,
};

/// The messages of the file, compiled.
static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let files = protox::compile(["fedpro.proto"], [env!("CARGO_MANIFEST_DIR")]);
    DescriptorPool::from_file_descriptor_set(files.expect("the file is valid")).unwrap()
});

fn message(name: &str) -> MessageDescriptor {
    let found = POOL.get_message_by_name(&format!("rti1516_2025.fedpro.{name}"));
    found.unwrap_or_else(|| panic!("no message {name}"))
}

/// Returns a message in which every field has a value other than the default; of a oneof, the field at index `choice`.
fn filled(message: &MessageDescriptor, choice: usize) -> DynamicMessage {
    let mut filled = DynamicMessage::new(message.clone());
    for field in message.fields() {
        let in_choice = |oneof: prost_reflect::OneofDescriptor| {
            oneof.fields().nth(choice % oneof.fields().len()).is_some_and(|chosen| chosen == field)
        };
        if field.containing_oneof().is_none_or(in_choice) {
            filled.set_field(&field, value(&field, message.name(), choice));
        }
    }
    filled
}

fn value(field: &FieldDescriptor, message: &str, choice: usize) -> Value {
    let one = match field.kind() {
        Kind::Message(inner) => Value::Message(filled(&inner, choice)),
        Kind::Enum(word) => Value::EnumNumber(word.values().last().unwrap().number()),
        Kind::String => Value::String(format!("a {}", field.name())),
        Kind::Bool => Value::Bool(true),
        Kind::Uint32 => Value::U32(300),
        Kind::Double => Value::F64(2.5),
        Kind::Bytes => {
            let len = match message {
                "ObjectInstanceHandle"
                | "MessageRetractionHandle"
                | "LogicalTime"
                | "LogicalTimeInterval" => 8,
                name if name.ends_with("Handle") => 4,
                _ => 200,
            };
            Value::Bytes(Data::from(vec![7; len]))
        }
        kind => panic!("unexpected field of kind {kind:?}"),
    };
    if field.is_list() { Value::List(vec![one.clone(), one]) } else { one }
}

/// Returns a body with this case.
fn body(of: &str, case: u32, content: DynamicMessage) -> Data {
    let mut body = DynamicMessage::new(message(of));
    body.set_field_by_number(case, Value::Message(content));
    Data::from(body.encode_to_vec())
}

fn decoded(of: &str, bytes: &Data) -> DynamicMessage {
    let message = DynamicMessage::decode(message(of), bytes.clone()).expect("a valid message");
    assert_eq!(message.unknown_fields().count(), 0);
    message
}

/// Returns the message of the case with this number, and its name.
fn case(of: &str, number: u32) -> (MessageDescriptor, String) {
    let field = message(of).get_field(number).unwrap_or_else(|| panic!("no case {number}"));
    let Kind::Message(message) = field.kind() else { panic!("a case is a message") };
    let name = message.name().to_owned();
    (message, name)
}

/// Checks that our decoder and encoder preserve messages of the compiler, filled and empty.
fn check(of: &str, number: u32, message: &MessageDescriptor, ours: impl Fn(&Data) -> Data) {
    for choice in 0..3 {
        let bytes = body(of, number, filled(message, choice));
        assert_eq!(decoded(of, &ours(&bytes)), decoded(of, &bytes), "{}", message.name());
    }
    let written = decoded(of, &ours(&body(of, number, DynamicMessage::new(message.clone()))));
    let written = written.get_field_by_number(number).unwrap().into_owned();
    let Value::Message(written) = written else { panic!("{written:?}") };
    for field in message.fields() {
        let is_optional = field.name().starts_with("optional") || field.is_list();
        if matches!(field.kind(), Kind::Message(_)) && !is_optional {
            assert!(
                written.has_field(&field),
                "clients require {} to be present",
                field.full_name()
            );
        }
    }
}

#[test]
fn every_call_has_the_encoding_of_the_standard() {
    for entry in Call::TABLES.concat() {
        let (message, name) = case("CallRequest", entry.number);
        assert_eq!(name, format!("{}Request", entry.name));
        check("CallRequest", entry.number, &message, |body| {
            let call = decode_call(body).unwrap();
            assert_eq!(call.number(), entry.number);
            encode_call(&call)
        });
    }
}

#[test]
fn every_reply_has_the_encoding_of_the_standard() {
    for entry in Call::TABLES.concat() {
        let (message, name) = case("CallResponse", entry.number + 1);
        assert_eq!(name, format!("{}Response", entry.name));
        check("CallResponse", entry.number + 1, &message, |body| {
            let answer = decode_reply(entry.number, entry.shape, body).unwrap();
            assert_eq!(answer.as_ref().unwrap().shape(), entry.shape);
            encode_reply(entry.number, &answer)
        });
        assert_eq!(message.fields().len(), usize::from(entry.shape != Shape::Done), "{name}");
    }
}

#[test]
fn every_callback_has_the_encoding_of_the_standard() {
    for entry in Callback::TABLE {
        let (message, name) = case("CallbackRequest", entry.number);
        assert_eq!(name, entry.name);
        check("CallbackRequest", entry.number, &message, |body| {
            let callback = decode_callback(body).unwrap();
            assert_eq!(callback.number(), entry.number);
            assert_eq!(is_connection_lost(body), name == "ConnectionLost");
            encode_callback(&callback).into_data()
        });
    }
}

/// Names of the file, and the names that `hemiola-hla` uses for them.
const RENAMED: [(&str, &str); 3] = [
    ("the_object_class", "object_class"),
    ("optional_sent_regions", "sent_regions"),
    ("optional_retraction", "retraction"),
];

macro_rules! names {
    ($enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        [$(($number, vec![$(stringify!($field)),*])),*]
    };
}

#[test]
fn arguments_are_in_the_order_of_their_field_numbers() {
    let check = |of: &str, arguments: &[(u32, Vec<&str>)]| {
        for (number, names) in arguments {
            let (message, name) = case(of, *number);
            let fields: Vec<String> = message.fields().map(|field| snake(field.name())).collect();
            assert_eq!(fields, *names, "{name}");
            let numbers: Vec<u32> = message.fields().map(|field| field.number()).collect();
            assert_eq!(numbers, (1..=names.len() as u32).collect::<Vec<u32>>(), "{name}");
        }
    };
    check("CallRequest", &hemiola_hla::federation_calls!(names));
    check("CallRequest", &hemiola_hla::declaration_calls!(names));
    check("CallRequest", &hemiola_hla::object_calls!(names));
    check("CallRequest", &hemiola_hla::ownership_calls!(names));
    check("CallRequest", &hemiola_hla::time_calls!(names));
    check("CallRequest", &hemiola_hla::distribution_calls!(names));
    check("CallRequest", &hemiola_hla::support_calls!(names));
    check("CallbackRequest", &hemiola_hla::callbacks!(names));
}

fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    RENAMED.iter().find(|(theirs, _)| *theirs == snake).map_or(snake, |(_, ours)| (*ours).into())
}

#[test]
fn enumerations_have_the_numbers_of_the_standard() {
    let check = |name: &str, ours: &[(i32, String)]| {
        let word = POOL.get_enum_by_name(&format!("rti1516_2025.fedpro.{name}")).unwrap();
        let theirs: Vec<(i32, String)> =
            word.values().map(|value| (value.number(), value.name().to_owned())).collect();
        assert_eq!(theirs.len(), ours.len(), "{name}");
        for ((number, theirs), (ours, text)) in theirs.iter().zip(ours) {
            let plain = |text: &str| text.replace('_', "").to_ascii_uppercase();
            assert_eq!((number, plain(theirs)), (ours, plain(text)), "{name}");
        }
    };
    macro_rules! check_words {
        ($($path:path;)*) => {$({
            use $path as Word;
            let words: Vec<_> =
                Word::ALL.iter().map(|word| (word.number(), word.name().to_owned())).collect();
            check(stringify!($path).rsplit(' ').next().unwrap().rsplit("::").next().unwrap(), &words);
        })*};
    }
    check_words! {
        hemiola_hla::status::AdditionalSettingsResultCode;
        hemiola_hla::status::CallbackModel;
        hemiola_hla::status::RestoreFailureReason;
        hemiola_hla::status::RestoreStatus;
        hemiola_hla::status::SaveFailureReason;
        hemiola_hla::status::SaveStatus;
        hemiola_hla::status::SynchronizationPointFailureReason;
        hemiola_hla::OrderType;
        hemiola_hla::ResignAction;
        hemiola_hla::ServiceGroup;
    }
}

fn hex(text: &str) -> Data {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn calls_have_these_bytes() {
    let check = |call: Call, bytes: &str| {
        assert_eq!(encode_call(&call), hex(bytes));
        assert_eq!(decode_call(&hex(bytes)), Ok(call));
    };
    check(FederationCall::Connect.into(), "0a00");
    check(FederationCall::Disconnect.into(), "2a00");
    check(FederationCall::ListFederationExecutions.into(), "6a00");
    // Clients of 1516-2010 announce it here; otherwise they use the same protocol.
    let rti_configuration = RtiConfiguration {
        additional_settings: "API.version=IEEE 1516-2010".into(),
        ..Default::default()
    };
    check(
        FederationCall::ConnectWithConfiguration { rti_configuration }.into(),
        "1a1e 0a1c 1a1a 4150492e76657273696f6e3d4945454520313531362d32303130",
    );
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name: "Demo".into(),
        fom_module: FomModule::Url("Demo.xml".into()),
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    check(
        create.into(),
        "3a24 0a04 44656d6f 120a 1a08 44656d6f2e786d6c 1a10 484c41696e7465676572363454696d65",
    );
    let update = ObjectCall::UpdateAttributeValuesWithTime {
        object_instance: ObjectInstanceHandle::new(258),
        attribute_values: vec![(AttributeHandle::new(3), Data::from_static(b"xyz"))],
        user_supplied_tag: Data::new(),
        time: EncodedTime::new(&[0, 0, 0, 0, 0, 0, 0, 20]),
    };
    check(
        update.into(),
        "fa03 29 0a0a 0a08 0000000000000102 120f 0a0d 0a06 0a04 00000003 1203 78797a
         220a 0a08 0000000000000014",
    );
}

#[test]
fn replies_have_these_bytes() {
    let check = |call: Call, answer: Result<Reply, Refusal>, bytes: &str| {
        let entry = call.entry();
        assert_eq!(encode_reply(entry.number, &answer), hex(bytes));
        assert_eq!(decode_reply(entry.number, entry.shape, &hex(bytes)), Ok(answer));
    };
    check(FederationCall::Disconnect.into(), Ok(Reply::Done), "3200");
    check(FederationCall::Connect.into(), Ok(Reply::Configured(Default::default())), "12020a00");
    // There is no time, but clients decode eight bytes anyway.
    check(
        TimeCall::QueryGALT.into(),
        Ok(Reply::OptionalTime(None)),
        "aa06 0e 0a0c 120a 0a08 0000000000000000",
    );
    let time = EncodedTime::new(&[0, 0, 0, 0, 0, 0, 0, 9]);
    check(
        TimeCall::QueryLITS.into(),
        Ok(Reply::OptionalTime(Some(time))),
        "ba06 10 0a0e 0801 120a 0a08 0000000000000009",
    );
    let update = ObjectCall::UpdateAttributeValuesWithTime {
        object_instance: ObjectInstanceHandle::new(1),
        attribute_values: vec![],
        user_supplied_tag: Data::new(),
        time,
    };
    check(update.clone().into(), Ok(Reply::Retraction(None)), "8204 02 0a00");
    let handle = MessageRetractionHandle::new(5);
    check(
        update.into(),
        Ok(Reply::Retraction(Some(handle))),
        "8204 10 0a0e 0801 120a 0a08 0000000000000005",
    );
    check(
        FederationCall::Disconnect.into(),
        Err(Exception::FederationExecutionAlreadyExists.because("Demo")),
        "0a28 0a20 46656465726174696f6e457865637574696f6e416c7265616479457869737473 1204 44656d6f",
    );
}

#[test]
fn callbacks_have_these_bytes() {
    let callback = Callback::DiscoverObjectInstance {
        object_instance: ObjectInstanceHandle::new(1),
        object_class: hemiola_hla::ObjectClassHandle::new(2),
        object_instance_name: "car".into(),
        producing_federate: FederateHandle::INVALID,
    };
    let bytes = hex("f201 1b 0a0a 0a08 0000000000000001 1206 0a04 00000002 1a03 636172 2200");
    assert_eq!(encode_callback(&callback).into_data(), bytes);
    assert_eq!(decode_callback(&bytes), Ok(callback));
}

#[test]
fn callback_responses_have_these_bytes() {
    assert_eq!(encode_taken(&Ok(())), hex("0a00"));
    assert_eq!(decode_taken(&hex("0a00")), Ok(Ok(())));
    let refusal = Exception::FederateInternalError.because("no room");
    let failure = Failure { name: "FederateInternalError".into(), details: "no room".into() };
    assert_eq!(decode_taken(&encode_taken(&Err(refusal))), Ok(Err(failure)));
    assert_eq!(decode_taken(&Data::new()), Err(MessageError::NoCase));
}

#[test]
fn invalid_arguments_are_decoded_for_the_service_to_reject() {
    let call = |bytes: &str| decode_call(&hex(bytes)).unwrap();
    let invalid = SupportCall::GetFederateName { federate: FederateHandle::INVALID };
    for bytes in ["ea07 00", "ea07 02 0a00", "ea07 05 0a03 0a01 07", "ea07 08 0a06 0a04 00000000"] {
        assert_eq!(call(bytes), Call::from(invalid.clone()), "{bytes}");
    }
    assert_eq!(
        call("ba09 02 0863"),
        Call::from(SupportCall::NormalizeServiceGroup { service_group: None })
    );
    assert_eq!(
        call("ba09 00"),
        Call::from(SupportCall::NormalizeServiceGroup {
            service_group: Some(ServiceGroup::FederationManagement)
        })
    );
    let time = EncodedTime::new(&[]);
    assert_eq!(call("ea05 00"), Call::from(TimeCall::TimeAdvanceRequest { time }));
    assert_eq!(call("ea05 04 0a02 0a00"), Call::from(TimeCall::TimeAdvanceRequest { time }));
}

#[test]
fn unknown_fields_are_skipped() {
    // Disconnect with a field 9 of every wire type.
    let call = decode_call(&hex("2a 13 4805 49 0000000000000000 4a01 00 4d 00000000"));
    assert_eq!(call, Ok(FederationCall::Disconnect.into()));
}

#[test]
fn malformed_bodies_are_rejected_with_the_reason() {
    let refused = |bytes: &str| decode_call(&hex(bytes)).unwrap_err();
    assert_eq!(refused(""), MessageError::NoCase);
    assert_eq!(refused("9a0b 00"), MessageError::NoCase);
    assert_eq!(refused("0a05"), MessageError::Wire(WireError::Truncated));
    assert_eq!(refused("08 01"), MessageError::WrongType(1));
    assert_eq!(refused("32 02 0801"), MessageError::WrongType(1));
    assert_eq!(refused("62 03 0a01 ff"), MessageError::NotText(1));
    let unknown = decode_callback(&hex("9202 04 4002 4a00")).unwrap_err();
    assert_eq!(unknown, MessageError::UndefinedValue(8, 2));
    let reply = decode_reply(5, Shape::Done, &hex("1200")).unwrap_err();
    assert_eq!(reply, MessageError::WrongCase { expected: 6, found: 2 });
}

#[test]
fn lists_are_limited() {
    let body = |elements: usize| {
        let mut body = vec![0xd2, 0x03];
        let mut len = elements * 2;
        while len >= 0x80 {
            body.push(len as u8 | 0x80);
            len >>= 7;
        }
        body.push(len as u8);
        body.extend([0x0a, 0].repeat(elements));
        Data::from(body)
    };
    let Ok(Call::Object(ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names })) =
        decode_call(&body(ELEMENTS_MAX))
    else {
        panic!("a list of the maximum length is allowed");
    };
    assert_eq!(object_instance_names.len(), ELEMENTS_MAX);
    assert_eq!(decode_call(&body(ELEMENTS_MAX + 1)), Err(MessageError::TooMany(1)));
}

#[test]
fn unknown_exception_becomes_an_rti_internal_error() {
    let mut bytes = encode_reply(5, &Err(Exception::NotConnected.because("why"))).to_vec();
    let at = bytes.windows(12).position(|name| name == b"NotConnected").unwrap();
    bytes[at] = b'X';
    let answer = decode_reply(5, Shape::Done, &Data::from(bytes)).unwrap().unwrap_err();
    assert_eq!(answer, Exception::RTIinternalError.because("XotConnected: why"));
}

#[test]
fn values_share_the_memory_of_their_frame() {
    let value = vec![5; 1000];
    let call = ObjectCall::UpdateAttributeValues {
        object_instance: ObjectInstanceHandle::new(1),
        attribute_values: vec![(AttributeHandle::new(1), Data::from(value))],
        user_supplied_tag: Data::from_static(b"tag"),
    };
    let body = encode_call(&call.into());
    let Ok(Call::Object(ObjectCall::UpdateAttributeValues { attribute_values, .. })) =
        decode_call(&body)
    else {
        panic!("it was encoded here");
    };
    assert!(body.as_ptr_range().contains(&attribute_values[0].1.as_ptr()));
}

#[test]
fn order_types_survive_in_callbacks() {
    let callback = Callback::RemoveObjectInstanceWithTime {
        object_instance: ObjectInstanceHandle::new(1),
        user_supplied_tag: Data::new(),
        producing_federate: FederateHandle::new(1),
        time: EncodedTime::new(&[0; 8]),
        sent_order_type: OrderType::TimeStamp,
        received_order_type: OrderType::Receive,
        retraction: None,
    };
    assert_eq!(decode_callback(&encode_callback(&callback).into_data()), Ok(callback));
}
