//! Arguments of services as the reports on service invocations show them: type, name and value as text.

use std::fmt::{self, Debug, Display, Write};

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall, ObjectCall, OwnershipCall, SupportCall,
    TimeCall,
};
use hemiola_hla::data::{
    AttributeRegions, AttributeValues, ConveyedRegion, Credentials, Data, FederateRestoreStatus,
    FederateSaveStatus, FederationExecutionInformation, FederationExecutionMember, FomModule,
    ParameterValues, RangeBounds, RtiConfiguration,
};
use hemiola_hla::status::{
    RestoreFailureReason, SaveFailureReason, SynchronizationPointFailureReason,
};
use hemiola_hla::{
    AttributeHandle, Call, Callback, DimensionHandle, EncodedInterval, EncodedTime, FederateHandle,
    InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType, ParameterHandle, RegionHandle, Reply, ResignAction, ServiceGroup,
    TimeImplementation, TransportationTypeHandle,
};

/// An argument: its value of `HLAargumentType`, its name, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) kind: i32,
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A value that can be an argument.
trait Value {
    /// Its value of `HLAargumentType`.
    const KIND: i32;

    /// Returns it as text. Times depend on the federation's implementation.
    fn text(&self, time: TimeImplementation) -> String;
}

/// The value of `HLAargumentType` for no value.
const NULL: i32 = 34;

fn argument<V: Value>(name: &'static str, value: &V, time: TimeImplementation) -> Argument {
    Argument { kind: V::KIND, name, value: value.text(time) }
}

macro_rules! values {
    ($($type:ty: $kind:literal $text:expr;)*) => {$(
        impl Value for $type {
            const KIND: i32 = $kind;

            fn text(&self, _time: TimeImplementation) -> String {
                let text: fn(&Self) -> String = $text;
                text(self)
            }
        }
    )*};
}

/// The greatest length of a text, in bytes: a value or a list may have millions of them.
const TEXT_LEN: usize = 16 << 10;

/// A text that ends where it would become too long. Nothing behind that place is formatted.
#[derive(Default)]
struct Text(String);

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = TEXT_LEN - self.0.len();
        let fits = part.floor_char_boundary(room);
        self.0.push_str(&part[..fits]);
        if fits == part.len() {
            return Ok(());
        }
        self.0.push('…');
        Err(fmt::Error)
    }
}

fn limited(value: fmt::Arguments<'_>) -> String {
    let mut text = Text::default();
    // An error means that the text is cut.
    let _ = text.write_fmt(value);
    text.0
}

fn shown<V: Display>(value: &V) -> String {
    limited(format_args!("{value}"))
}

fn debug<V: Debug>(value: &V) -> String {
    limited(format_args!("{value:?}"))
}

/// A list of values in brackets.
fn list<V: Display>(values: &[V]) -> String {
    shown(&List(values.iter()))
}

struct List<I>(I);

impl<V: Display, I: Iterator<Item = V> + Clone> Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, value) in self.0.clone().enumerate() {
            write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

/// Bytes in hexadecimal digits.
fn bytes(data: &Data) -> String {
    shown(&Hexadecimal(data))
}

struct Hexadecimal<'a>(&'a Data);

impl Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Pairs of a handle and its value.
fn pairs<H: Display>(values: &[(H, Data)]) -> String {
    shown(&List(values.iter().map(|(handle, value)| Pair(handle, value))))
}

struct Pair<'a, H>(&'a H, &'a Data);

impl<H: Display> Display for Pair<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.0, Hexadecimal(self.1))
    }
}

/// A module is its designator: the content can be large.
fn module(module: &FomModule) -> &str {
    module.designator()
}

values! {
    AttributeHandle: 0 shown;
    Vec<AttributeHandle>: 1 |all| list(all);
    AttributeValues: 2 |all| pairs(all);
    Vec<AttributeRegions>: 4 debug;
    bool: 6 shown;
    // The data of credentials is a secret.
    Credentials: 9 |one| shown(&one.kind);
    DimensionHandle: 10 shown;
    Vec<DimensionHandle>: 11 |all| list(all);
    FederateHandle: 15 shown;
    Vec<FederateSaveStatus>: 17 debug;
    Vec<FederateHandle>: 18 |all| list(all);
    Vec<FederateRestoreStatus>: 20 debug;
    Vec<FederationExecutionInformation>: 22 debug;
    Vec<FederationExecutionMember>: 24 debug;
    FomModule: 25 |one| shown(&module(one));
    Vec<FomModule>: 26 |all| shown(&List(all.iter().map(module)));
    InteractionClassHandle: 27 shown;
    Vec<InteractionClassHandle>: 28 |all| list(all);
    MessageRetractionHandle: 33 shown;
    u32: 35 shown;
    f64: 35 shown;
    ObjectClassHandle: 36 shown;
    ObjectInstanceHandle: 37 shown;
    OrderType: 38 shown;
    ParameterHandle: 39 shown;
    ParameterValues: 40 |all| pairs(all);
    RangeBounds: 41 debug;
    RegionHandle: 42 shown;
    Vec<RegionHandle>: 43 |all| list(all);
    Vec<ConveyedRegion>: 43 debug;
    ResignAction: 44 shown;
    RestoreFailureReason: 45 shown;
    RtiConfiguration: 47 debug;
    SaveFailureReason: 48 shown;
    ServiceGroup: 50 shown;
    String: 53 shown;
    Vec<String>: 54 |all| list(all);
    SynchronizationPointFailureReason: 56 shown;
    TransportationTypeHandle: 59 shown;
    Data: 60 bytes;
}

impl Value for EncodedTime {
    const KIND: i32 = 31;

    fn text(&self, time: TimeImplementation) -> String {
        self.decode(time).map_or_else(|error| error.to_string(), |time| time.to_string())
    }
}

impl Value for EncodedInterval {
    const KIND: i32 = 32;

    fn text(&self, time: TimeImplementation) -> String {
        self.decode(time).map_or_else(|error| error.to_string(), |interval| interval.to_string())
    }
}

/// A value that may be missing, or have an unknown number.
impl<V: Value> Value for Option<V> {
    const KIND: i32 = V::KIND;

    fn text(&self, time: TimeImplementation) -> String {
        self.as_ref().map_or_else(String::new, |value| value.text(time))
    }
}

/// A call or callback of one clause.
trait Arguments {
    /// Returns its arguments in the standard's order.
    fn arguments(&self, time: TimeImplementation) -> Vec<Argument>;
}

macro_rules! arguments {
    ($enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        impl Arguments for $enum {
            fn arguments(&self, time: TimeImplementation) -> Vec<Argument> {
                let _ = time;
                match self {
                    $(Self::$name { $($field),* } => {
                        vec![$(argument(stringify!($field), $field, time)),*]
                    })*
                }
            }
        }
    };
}

hemiola_hla::federation_calls!(arguments);
hemiola_hla::declaration_calls!(arguments);
hemiola_hla::object_calls!(arguments);
hemiola_hla::ownership_calls!(arguments);
hemiola_hla::time_calls!(arguments);
hemiola_hla::distribution_calls!(arguments);
hemiola_hla::support_calls!(arguments);
hemiola_hla::callbacks!(arguments);

/// Returns the arguments of a call.
pub(super) fn of_call(call: &Call, time: TimeImplementation) -> Vec<Argument> {
    match call {
        Call::Federation(call) => call.arguments(time),
        Call::Declaration(call) => call.arguments(time),
        Call::Object(call) => call.arguments(time),
        Call::Ownership(call) => call.arguments(time),
        Call::Time(call) => call.arguments(time),
        Call::Distribution(call) => call.arguments(time),
        Call::Support(call) => call.arguments(time),
    }
}

/// Returns the arguments of a callback.
pub(super) fn of_callback(callback: &Callback, time: TimeImplementation) -> Vec<Argument> {
    callback.arguments(time)
}

/// Returns the value that a call returned.
pub(super) fn of_reply(reply: Option<&Reply>, time: TimeImplementation) -> Argument {
    use Reply as R;
    const NAME: &str = "returned";
    match reply {
        Some(R::ObjectInstance(value)) => argument(NAME, value, time),
        Some(R::Retraction(value)) => argument(NAME, value, time),
        Some(R::Flag(value)) => argument(NAME, value, time),
        Some(R::Name(value)) => argument(NAME, value, time),
        Some(R::Number(value)) => argument(NAME, value, time),
        Some(R::Rate(value)) => argument(NAME, value, time),
        Some(R::Attributes(value)) => argument(NAME, value, time),
        Some(R::Dimensions(value)) => argument(NAME, value, time),
        Some(R::OptionalTime(value)) => argument(NAME, value, time),
        Some(R::Time(value)) => argument(NAME, value, time),
        Some(R::Interval(value)) => argument(NAME, value, time),
        Some(R::ObjectClass(value)) => argument(NAME, value, time),
        Some(R::Region(value)) => argument(NAME, value, time),
        Some(R::Federate(value)) => argument(NAME, value, time),
        Some(R::Attribute(value)) => argument(NAME, value, time),
        Some(R::InteractionClass(value)) => argument(NAME, value, time),
        Some(R::Parameter(value)) => argument(NAME, value, time),
        Some(R::Order(value)) => argument(NAME, value, time),
        Some(R::TransportationType(value)) => argument(NAME, value, time),
        Some(R::Dimension(value)) => argument(NAME, value, time),
        Some(R::Range(value)) => argument(NAME, value, time),
        Some(R::Directive(value)) => argument(NAME, value, time),
        Some(R::Done | R::Configured(_) | R::Joined(_)) | None => {
            Argument { kind: NULL, name: "", value: String::new() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_and_lists_are_shown_up_to_a_length() {
        let long = [
            bytes(&vec![0xab; 15 << 20].into()),
            shown(&"é".repeat(1 << 20)),
            list(&vec![AttributeHandle::new(7); 1 << 18]),
            pairs(&[(AttributeHandle::new(7), Data::from(vec![7; 15 << 20]))]),
            debug(&vec![RangeBounds::default(); 1 << 18]),
        ];
        for text in long {
            assert!(text.ends_with('…'), "{}", &text[..40]);
            assert!(text.len() <= TEXT_LEN + '…'.len_utf8(), "{} bytes", text.len());
        }
    }

    #[test]
    fn short_values_are_shown_as_a_whole() {
        let data = |bytes: &'static [u8]| Data::from_static(bytes);
        assert_eq!(bytes(&data(&[0, 0xab, 0x7f])), "00ab7f");
        assert_eq!(list::<u32>(&[]), "[]");
        assert_eq!(list(&[1, 22, 3]), "[1, 22, 3]");
        assert_eq!(pairs(&[(1, data(b"")), (2, data(&[16, 1]))]), "[1=, 2=1001]");
    }
}
