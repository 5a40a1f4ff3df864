//! The readers and writers for frequent messages agree with the generic ones, the readers on damaged messages too.

use hemiola_hla::body::{EXACT_LEN, LONG_LEN};
use hemiola_hla::data::{ConveyedRegion, FederationExecutionInformation};
use hemiola_hla::{
    AttributeHandle, EncodedTime, FederateHandle, InteractionClassHandle, MessageRetractionHandle,
    ObjectInstanceHandle, OrderType, ParameterHandle, TransportationTypeHandle,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        Just(Data::new()),
        vec(any::<u8>(), 0..20).prop_map(Data::from),
        vec(any::<u8>(), 100..300).prop_map(Data::from),
    ]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 1..5_u32, any::<u32>()]
}

fn time() -> impl Strategy<Value = EncodedTime> {
    vec(any::<u8>(), 0..12).prop_map(|bytes| EncodedTime::new(&bytes))
}

fn order() -> impl Strategy<Value = OrderType> {
    proptest::sample::select(OrderType::ALL)
}

/// An update or interaction with or without a time, or the request of a time advance, and the callback for it.
fn message() -> impl Strategy<Value = (Call, Callback)> {
    let values = prop_oneof![vec((number(), data()), 1), vec((number(), data()), 0..6)];
    let handles = (any::<u64>(), number(), number(), proptest::option::of(any::<u64>()));
    let orders = (order(), order());
    let all = (0..6, values, data(), handles, time(), orders);
    all.prop_map(|(kind, values, tag, (long, short, other, retraction), time, orders)| {
        let attribute_values =
            values.iter().map(|(one, value)| (AttributeHandle::new(*one), value.clone())).collect();
        let parameter_values =
            values.into_iter().map(|(one, value)| (ParameterHandle::new(one), value)).collect();
        let (object_instance, interaction_class) =
            (ObjectInstanceHandle::new(long), InteractionClassHandle::new(short));
        let user_supplied_tag = tag.clone();
        let transportation_type = TransportationTypeHandle::new(short);
        let producing_federate = FederateHandle::new(other);
        let retraction = retraction.map(MessageRetractionHandle::new);
        let (sent_order_type, received_order_type) = orders;
        let sent_regions = None;
        match kind {
            0 => (
                Call::Object(ObjectCall::UpdateAttributeValues {
                    object_instance,
                    attribute_values: Vec::clone(&attribute_values),
                    user_supplied_tag: tag,
                }),
                Callback::ReflectAttributeValues {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                },
            ),
            1 => (
                Call::Object(ObjectCall::UpdateAttributeValuesWithTime {
                    object_instance,
                    attribute_values: Vec::clone(&attribute_values),
                    user_supplied_tag: tag,
                    time,
                }),
                Callback::ReflectAttributeValuesWithTime {
                    object_instance,
                    attribute_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                    time,
                    sent_order_type,
                    received_order_type,
                    retraction,
                },
            ),
            2 => (
                Call::Object(ObjectCall::SendInteraction {
                    interaction_class,
                    parameter_values: Vec::clone(&parameter_values),
                    user_supplied_tag: tag,
                }),
                Callback::ReceiveInteraction {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                },
            ),
            3 => (
                Call::Time(TimeCall::TimeAdvanceRequest { time }),
                Callback::TimeAdvanceGrant { time },
            ),
            4 => (
                Call::Time(TimeCall::FlushQueueRequest { time }),
                Callback::FlushQueueGrant {
                    time,
                    optimistic_time: EncodedTime::new(&short.to_be_bytes()),
                },
            ),
            _ => (
                Call::Object(ObjectCall::SendInteractionWithTime {
                    interaction_class,
                    parameter_values: Vec::clone(&parameter_values),
                    user_supplied_tag: tag,
                    time,
                }),
                Callback::ReceiveInteractionWithTime {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                    transportation_type,
                    producing_federate,
                    sent_regions,
                    time,
                    sent_order_type,
                    received_order_type,
                    retraction,
                },
            ),
        }
    })
}

/// The generic decoder reads everything alike that a fast reader accepts.
fn agree(body: &Data) {
    if let Some(call) = fast::call(body) {
        assert_eq!(decode_any_call(body), Ok(call));
    }
    if let Some(callback) = fast::callback(body, body) {
        assert_eq!(decode_any_callback(body, body), Ok(callback));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn frequent_messages_are_written_as_by_the_generic_encoder((call, callback) in message()) {
        prop_assert_eq!(fast::of_call(&call), Some(encode_any_call(&call)));
        prop_assert_eq!(fast::of_callback(&callback), Some(encode_any_callback(&callback)));
    }

    #[test]
    fn frequent_messages_are_read_without_the_generic_decoder((call, callback) in message()) {
        let body = encode_call(&call);
        prop_assert_eq!(fast::call(&body), Some(decode_any_call(&body).unwrap()));
        let body = encode_callback(&callback).into_data();
        let any = decode_any_callback(&body, &body).unwrap();
        prop_assert_eq!(fast::callback(&body, &body), Some(any));
    }

    #[test]
    fn damaged_messages_are_read_alike(
        (call, callback) in message(),
        damages in vec((any::<prop::sample::Index>(), 0..4, any::<u8>()), 1..4),
    ) {
        for body in [encode_call(&call), encode_callback(&callback).into_data()] {
            let mut bytes = body.to_vec();
            for (at, how, byte) in &damages {
                // Most of what matters is in the first bytes.
                let at = at.index(bytes.len().clamp(1, 40));
                match how {
                    0 if at < bytes.len() => bytes[at] = *byte,
                    1 if at < bytes.len() => bytes[at] ^= 1 << (byte % 8),
                    2 => bytes.insert(at.min(bytes.len()), *byte),
                    _ => bytes.truncate(bytes.len() - usize::from(*byte % 4).min(bytes.len())),
                }
            }
            agree(&Data::from(bytes));
        }
    }
}

#[test]
fn messages_with_regions_are_left_to_the_generic_encoder() {
    let callback = Callback::ReflectAttributeValues {
        object_instance: ObjectInstanceHandle::new(1),
        attribute_values: Vec::new(),
        user_supplied_tag: Data::new(),
        transportation_type: TransportationTypeHandle::RELIABLE,
        producing_federate: FederateHandle::new(1),
        sent_regions: Some(Vec::new()),
    };
    assert_eq!(fast::of_callback(&callback), None);
    assert_eq!(decode_callback(&encode_callback(&callback).into_data()), Ok(callback));
}

#[test]
fn a_handle_with_the_number_of_its_bytes_before_it_is_read_by_both() {
    let handle = [0x0a, 0x0e, 0x0a, 12, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    let content = [&handle[..], &[0x12, 0]].concat();
    let body = [&[0xf2, 0x03, content.len() as u8][..], &content].concat().into();
    let call = fast::call(&body).expect("its form is the usual one");
    assert_eq!(decode_any_call(&body), Ok(call));
}

#[test]
fn repeated_and_exchanged_fields_are_left_to_the_generic_decoder() {
    let instance = [0x0a, 0x0a, 0x0a, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    let none = [0x12, 0];
    let check = |parts: &[&[u8]], is_fast: bool| {
        let content = parts.concat();
        let body = [&[0xf2, 0x03, content.len() as u8][..], &content].concat().into();
        assert_eq!(fast::call(&body).is_some(), is_fast, "{parts:?}");
        assert!(decode_any_call(&body).is_ok(), "{parts:?}");
        agree(&body);
    };
    check(&[&instance, &none], true);
    check(&[&instance, &none, &[0x1a, 1, 7]], true);
    check(&[&instance, &none, &[0x1a, 1, 7], &[0x1a, 1, 7]], false);
    check(&[&none, &instance], false);
    check(&[&instance, &instance, &none], false);
    check(&[&instance], false);
    check(&[&instance, &none, &[0x7a, 0]], false);
}

/// An update with long and short values, with regions or without.
fn long_update(sent_regions: Option<Vec<ConveyedRegion>>) -> Callback {
    let value = |len| Data::from(vec![len as u8; len]);
    let lens = [1, LONG_LEN, LONG_LEN - 1, 0, 3 * LONG_LEN + 1, 5];
    let number = |at| AttributeHandle::new(at as u32);
    Callback::ReflectAttributeValues {
        object_instance: ObjectInstanceHandle::new(1),
        attribute_values: lens.map(|len| (number(len), value(len))).to_vec(),
        user_supplied_tag: value(2 * LONG_LEN),
        transportation_type: TransportationTypeHandle::RELIABLE,
        producing_federate: FederateHandle::new(1),
        sent_regions,
    }
}

#[test]
fn long_data_of_a_callback_are_shared_and_not_copied() {
    // Without regions the fast writer writes it, and with regions the generic one.
    for callback in [long_update(None), long_update(Some(Vec::new()))] {
        let body = encode_callback(&callback);
        let Callback::ReflectAttributeValues { attribute_values, user_supplied_tag, .. } =
            &callback
        else {
            panic!("it is a reflection")
        };
        let values = attribute_values.iter().map(|(_, value)| value).chain([user_supplied_tag]);
        let long: Vec<_> =
            values.filter(|one| one.len() >= LONG_LEN).map(|one| one.as_ptr()).collect();
        let pieces: Vec<_> = body.pieces().map(|one| one.as_ptr()).collect();
        assert_eq!(pieces.len(), 2 * long.len() + 1);
        assert!(long.iter().eq(pieces.iter().skip(1).step_by(2)));
        assert_eq!(callback_number(&body), Some(31));
        assert_eq!(decode_callback(&body.into_data()), Ok(callback));
    }
    assert_eq!(encode_callback(&long_update(None)), encode_any_callback(&long_update(None)));
}

#[test]
fn a_body_that_many_may_keep_takes_no_more_memory_than_its_bytes() {
    let entry = |number: usize| FederationExecutionInformation {
        federation_name: format!("{number:0>200}"),
        logical_time_implementation: "HLAfloat64Time".into(),
    };
    for count in [5, 6, 100, 256] {
        let report = (0..count).map(entry).collect();
        let body = encode_callback(&Callback::ReportFederationExecutions { report });
        assert!(body.len() >= EXACT_LEN);
        // Nobody shares it, so it becomes the list that it was.
        let list = Vec::<u8>::from(body.into_data());
        assert_eq!(list.capacity(), list.len());
    }
}

#[test]
fn kept_data_share_the_memory_of_a_call_only_if_they_are_half_of_it() {
    let value = |len| Data::from(vec![7; len]);
    let call = |values: Vec<(AttributeHandle, Data)>| {
        Call::from(ObjectCall::UpdateAttributeValues {
            object_instance: ObjectInstanceHandle::new(1),
            attribute_values: values,
            user_supplied_tag: value(10),
        })
    };
    let number = AttributeHandle::new;
    let sent =
        call(vec![(number(1), value(3000)), (number(2), value(100)), (number(3), value(2000))]);
    let body = encode_call(&sent);
    let kept = decode_call_to_keep(&body).unwrap();
    assert_eq!(kept, sent);
    let Call::Object(ObjectCall::UpdateAttributeValues {
        attribute_values, user_supplied_tag, ..
    }) = kept
    else {
        panic!("it is an update")
    };
    let shares = |data: &Data| body.as_ptr_range().contains(&data.as_ptr());
    assert!(shares(&attribute_values[0].1));
    assert!(!shares(&attribute_values[1].1) && !shares(&attribute_values[2].1));
    assert!(!shares(&user_supplied_tag));
}
