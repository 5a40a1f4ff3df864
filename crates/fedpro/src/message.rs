//! Encodes and decodes calls, replies and callbacks, the bodies of frames.
//!
//! A body is a message with one case: the field number says which call, callback or reply it is. `fedpro.proto`, beside
//! this crate's manifest, defines all of them. There are no generated structures: `hemiola-hla` lists the arguments of
//! every call in the order of their field numbers. The messages that federates exchange most have readers and writers
//! of their own, with the same results.

mod fast;
#[cfg(test)]
mod tests;

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall, ObjectCall, OwnershipCall, Shape,
    SupportCall, TimeCall,
};
use hemiola_hla::{
    Body, Call, Callback, Data, EncodedTime, Exception, MessageRetractionHandle, Refusal, Reply,
};
use hemiola_wire::WireReader;

use crate::field::Content;
use crate::out::{Out, put_message};
use crate::wire::{Fields, MessageError};

/// The initial capacity of a body, in bytes; most bodies fit.
const BODY_LEN: usize = 120;

/// Encodes a call.
pub fn encode_call(call: &Call) -> Data {
    fast::of_call(call).unwrap_or_else(|| encode_any_call(call)).into_data()
}

fn encode_any_call(call: &Call) -> Body {
    body(|out| match call {
        Call::Federation(call) => call.put(out),
        Call::Declaration(call) => call.put(out),
        Call::Object(call) => call.put(out),
        Call::Ownership(call) => call.put(out),
        Call::Time(call) => call.put(out),
        Call::Distribution(call) => call.put(out),
        Call::Support(call) => call.put(out),
    })
}

/// Decodes a call. Its data share the memory of the body.
///
/// Invalid handles, times and enumerated values are not errors here: the service raises the exception for them.
///
/// # Errors
/// The body is malformed or has no known case. An RTI replies with `RTIinternalError`.
pub fn decode_call(body: &Data) -> Result<Call, MessageError> {
    fast::call(body).map_or_else(|| decode_any_call(body), Ok)
}

/// Whether an RTI keeps no data of a call: it passes on updates and interactions without a time stamp at once, and
/// requests of a time advance have none. It may keep the data of any other call, which should then not share their
/// memory with messages that it does not keep.
#[must_use]
pub fn is_passed_on(call: &Data) -> bool {
    fast::number(call).is_some_and(|number| matches!(number, 62 | 64 | 66 | 93..=97))
}

/// Whether this is a call that concerns the caller's logical time: of clause 8, or with a time stamp.
#[must_use]
pub fn concerns_time(call: &Data) -> bool {
    fast::number(call)
        .is_some_and(|number| matches!(number, 24 | 63 | 65 | 67 | 69 | 89..=108 | 122))
}

/// Decodes a call whose data may be kept for long: those that are less than half of the body get memory of their own.
/// So nothing keeps more than twice its length.
///
/// # Errors
/// As [`decode_call`].
pub fn decode_call_to_keep(body: &Data) -> Result<Call, MessageError> {
    call_of(case_of(Fields::to_keep(body))?)
}

fn decode_any_call(body: &Data) -> Result<Call, MessageError> {
    call_of(case(body)?)
}

fn call_of((number, fields): (u32, Fields<'_>)) -> Result<Call, MessageError> {
    // The numbers follow the order of the clauses.
    Ok(match number {
        ..=34 => FederationCall::get(number, fields)?.into(),
        35..=55 => DeclarationCall::get(number, fields)?.into(),
        56..=77 => ObjectCall::get(number, fields)?.into(),
        78..=88 => OwnershipCall::get(number, fields)?.into(),
        89..=108 => TimeCall::get(number, fields)?.into(),
        109..=123 => DistributionCall::get(number, fields)?.into(),
        _ => SupportCall::get(number, fields)?.into(),
    })
}

/// Encodes a callback. All receivers can share the body, and it shares data of
/// [`LONG_LEN`](hemiola_hla::body::LONG_LEN) bytes or more with the callback.
pub fn encode_callback(callback: &Callback) -> Body {
    fast::of_callback(callback).unwrap_or_else(|| encode_any_callback(callback))
}

fn encode_any_callback(callback: &Callback) -> Body {
    body(|out| callback.put(out))
}

/// Decodes a callback. Its data share the memory of the body.
///
/// # Errors
/// The body is malformed, has no known case, or has an undefined enumerated value. A federate responds that the
/// callback failed.
pub fn decode_callback(body: &Data) -> Result<Callback, MessageError> {
    decode_callback_within(body, body)
}

/// Decodes a callback whose body is a part of `whole`, such as one of several in a frame. Its data share the memory of
/// `whole`.
///
/// # Errors
/// As [`decode_callback`].
///
/// # Panics
/// If the body is no part of `whole` and the callback has data.
#[inline]
pub fn decode_callback_within(whole: &Data, body: &[u8]) -> Result<Callback, MessageError> {
    match fast::callback(whole, body) {
        Some(callback) => Ok(callback),
        None => decode_any_callback(whole, body),
    }
}

fn decode_any_callback(whole: &Data, body: &[u8]) -> Result<Callback, MessageError> {
    let (number, fields) = case_of(Fields::within(whole, body))?;
    Callback::get(number, fields)
}

/// Returns the number of a callback that [`encode_callback`] has encoded.
#[must_use]
pub fn callback_number(body: &Body) -> Option<u32> {
    let key = WireReader::new(body.first()).varint().ok()?;
    u32::try_from(key >> 3).ok()
}

/// Whether an encoded callback is `ConnectionLost`. Every callback to a federate passes here.
#[must_use]
pub fn is_connection_lost(body: &[u8]) -> bool {
    // Its case is the first one, with the key 1 << 3 | 2; all other keys begin differently.
    body.first() == Some(&0x0A)
}

/// Encodes the reply to the call with this number. The session puts the number of the request in front. An exception is
/// encoded the same way for every call, so `call_number` may be anything for a call that could not be decoded.
#[must_use]
pub fn encode_reply(call_number: u32, answer: &Result<Reply, Refusal>) -> Data {
    body(|out| match answer {
        Ok(reply) => put_message(out, call_number + 1, |out| put_reply(reply, out)),
        Err(refusal) => put_refusal(EXCEPTION_IN_REPLY, refusal, out),
    })
    .into_data()
}

/// Decodes the reply to the call with this number and reply shape ([`Entry`](hemiola_hla::call::Entry) has both). An
/// unknown exception becomes `RTIinternalError`, with the unknown name in the details.
///
/// # Errors
/// The body is malformed, is the reply to a different call, or has an undefined enumerated value.
pub fn decode_reply(
    call_number: u32,
    shape: Shape,
    body: &Data,
) -> Result<Result<Reply, Refusal>, MessageError> {
    let (number, fields) = case(body)?;
    if number == EXCEPTION_IN_REPLY {
        let failure = get_failure(fields)?;
        return Ok(Err(match Exception::from_name(&failure.name) {
            Some(exception) => Refusal { exception, details: failure.details },
            None => Exception::RTIinternalError.because(failure.to_string()),
        }));
    }
    if number != call_number + 1 {
        return Err(MessageError::WrongCase { expected: call_number + 1, found: number });
    }
    Ok(Ok(get_reply(shape, fields)?))
}

/// Why a federate could not process a callback. The name is free text: clients may send the exception names of their
/// programming language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of an exception, perhaps one of the standard.
    pub name: String,
    /// An explanation for people.
    pub details: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.details)
    }
}

/// Encodes the response to a callback. The session puts the number of the request in front.
#[must_use]
pub fn encode_taken(taken: &Result<(), Refusal>) -> Data {
    match taken {
        Ok(()) => Data::from_static(&[CALLBACK_SUCCEEDED as u8 * 8 + 2, 0]),
        Err(refusal) => body(|out| put_refusal(CALLBACK_FAILED, refusal, out)).into_data(),
    }
}

/// Decodes the response to a callback.
///
/// # Errors
/// The body is malformed or has no known case.
pub fn decode_taken(body: &Data) -> Result<Result<(), Failure>, MessageError> {
    match case(body)? {
        (CALLBACK_SUCCEEDED, _) => Ok(Ok(())),
        (CALLBACK_FAILED, fields) => Ok(Err(get_failure(fields)?)),
        _ => Err(MessageError::NoCase),
    }
}

const EXCEPTION_IN_REPLY: u32 = 1;
const CALLBACK_SUCCEEDED: u32 = 1;
const CALLBACK_FAILED: u32 = 2;

fn body(write: impl FnOnce(&mut Out)) -> Body {
    let mut out = Out::with_capacity(BODY_LEN);
    write(&mut out);
    out.finish()
}

/// Returns the number of a body's case, and its fields. If there are several cases, the last one counts.
fn case(body: &Data) -> Result<(u32, Fields<'_>), MessageError> {
    case_of(Fields::new(body))
}

fn case_of(mut cases: Fields<'_>) -> Result<(u32, Fields<'_>), MessageError> {
    let mut found = Err(MessageError::NoCase);
    while let Some(field) = cases.next()? {
        found = Ok((field.number, field.fields()?));
    }
    found
}

/// A call or callback, encoded as the case of a body.
trait Case: Sized {
    fn put(&self, out: &mut Out);
    fn get(number: u32, fields: Fields<'_>) -> Result<Self, MessageError>;
}

macro_rules! cases {
    ($enum:ident $($case:literal $name:ident { $($field:ident)* })*) => {
        #[allow(unused_mut, unused_variables, unused_assignments, reason = "some calls have no arguments")]
        impl Case for $enum {
            fn put(&self, out: &mut Out) {
                match self {$(
                    Self::$name { $($field),* } => put_message(out, $case, |out| {
                        let mut number = 0;
                        $(
                            number += 1;
                            $field.put(number, out);
                        )*
                    }),
                )*}
            }

            fn get(case: u32, mut fields: Fields<'_>) -> Result<Self, MessageError> {
                match case {
                    $($case => {
                        $(let mut $field = Content::absent();)*
                        while let Some(field) = fields.next()? {
                            let mut number = 0;
                            $(
                                number += 1;
                                if number == field.number {
                                    Content::merge(&mut $field, field)?;
                                }
                            )*
                        }
                        Ok(Self::$name { $($field),* })
                    })*
                    _ => Err(MessageError::NoCase),
                }
            }
        }
    };
}

hemiola_hla::federation_calls!(cases);
hemiola_hla::declaration_calls!(cases);
hemiola_hla::object_calls!(cases);
hemiola_hla::ownership_calls!(cases);
hemiola_hla::time_calls!(cases);
hemiola_hla::distribution_calls!(cases);
hemiola_hla::support_calls!(cases);
hemiola_hla::callbacks!(cases);

/// Encodes and decodes the results of calls: nothing, or field 1.
macro_rules! results {
    ($($shape:ident)*) => {
        fn put_reply(reply: &Reply, out: &mut Out) {
            match reply {
                Reply::Done => {}
                Reply::Retraction(handle) => put_retraction(*handle, out),
                Reply::OptionalTime(time) => put_optional_time(*time, out),
                $(Reply::$shape(value) => value.put(1, out),)*
            }
        }

        fn get_reply(shape: Shape, mut fields: Fields<'_>) -> Result<Reply, MessageError> {
            match shape {
                Shape::Done => {
                    while fields.next()?.is_some() {}
                    Ok(Reply::Done)
                }
                Shape::Retraction => Ok(Reply::Retraction(get_retraction(fields)?)),
                Shape::OptionalTime => Ok(Reply::OptionalTime(get_optional_time(fields)?)),
                $(Shape::$shape => Ok(Reply::$shape(get_result(fields)?)),)*
            }
        }
    };
}

results! {
    Configured Joined ObjectInstance Flag Name Number Rate Attributes Dimensions Time Interval ObjectClass Region
    Federate Attribute InteractionClass Parameter Order TransportationType Dimension Range Directive
}

fn get_result<T: Content>(mut fields: Fields<'_>) -> Result<T, MessageError> {
    let mut result = T::absent();
    while let Some(field) = fields.next()? {
        if field.number == 1 {
            result.merge(field)?;
        }
    }
    Ok(result)
}

/// Writes a flag and a handle. Some clients look only at the flag, others only at the handle.
fn put_retraction(handle: Option<MessageRetractionHandle>, out: &mut Out) {
    put_message(out, 1, |out| {
        handle.is_some().put(1, out);
        handle.put(2, out);
    });
}

fn get_retraction(fields: Fields<'_>) -> Result<Option<MessageRetractionHandle>, MessageError> {
    let (is_valid, handle) = get_pair(fields)?;
    Ok(Some(handle).filter(|_| is_valid))
}

/// Writes a flag and a time. The time is always present: some clients decode it before they look at the flag.
fn put_optional_time(time: Option<EncodedTime>, out: &mut Out) {
    put_message(out, 1, |out| {
        time.is_some().put(1, out);
        time.unwrap_or_else(|| EncodedTime::new(&[])).put(2, out);
    });
}

fn get_optional_time(fields: Fields<'_>) -> Result<Option<EncodedTime>, MessageError> {
    let (is_valid, time) = get_pair(fields)?;
    Ok(Some(time).filter(|_| is_valid))
}

fn get_pair<T: Content>(fields: Fields<'_>) -> Result<(bool, T), MessageError> {
    get_result(fields)
}

fn put_refusal(case: u32, refusal: &Refusal, out: &mut Out) {
    put_message(out, case, |out| {
        refusal.exception.name().to_owned().put(1, out);
        refusal.details.put(2, out);
    });
}

fn get_failure(mut fields: Fields<'_>) -> Result<Failure, MessageError> {
    let mut failure = Failure { name: String::new(), details: String::new() };
    while let Some(field) = fields.next()? {
        match field.number {
            1 => failure.name.merge(field)?,
            2 => failure.details.merge(field)?,
            _ => {}
        }
    }
    Ok(failure)
}
