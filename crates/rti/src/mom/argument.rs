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

/// The greatest length of the texts of a report's arguments together, in bytes: a value may have millions of them.
const ARGUMENTS_LEN: usize = 12 << 10;

/// The same of the returned value and the exception.
const RESULT_LEN: usize = 4 << 10;

/// Makes the texts of a report, with the times of this implementation, and ends them where they would become too long.
pub(super) struct Texts {
    time: TimeImplementation,
    /// The greatest length of all texts, and what is left of it, in bytes.
    most: usize,
    room: usize,
}

impl Texts {
    pub(super) const fn of_arguments(time: TimeImplementation) -> Self {
        Self { time, most: ARGUMENTS_LEN, room: ARGUMENTS_LEN }
    }

    pub(super) const fn of_result(time: TimeImplementation) -> Self {
        Self { time, most: RESULT_LEN, room: RESULT_LEN }
    }

    /// Returns the length of the texts so far, in bytes.
    pub(super) const fn len(&self) -> usize {
        self.most - self.room
    }

    /// Returns a value as text. Nothing behind the end of the text is formatted.
    pub(super) fn shown<V: Display>(&mut self, value: &V) -> String {
        self.text(format_args!("{value}"))
    }

    fn text(&mut self, value: fmt::Arguments<'_>) -> String {
        let mut text = Text { kept: String::new(), room: self.room };
        // An error means that the text is cut.
        let _ = text.write_fmt(value);
        text.kept.shrink_to_fit();
        self.room = text.room;
        text.kept
    }
}

/// A text that ends where there is no more room.
struct Text {
    kept: String,
    room: usize,
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let fits = part.floor_char_boundary(self.room);
        self.kept.push_str(&part[..fits]);
        if fits == part.len() {
            self.room -= fits;
            return Ok(());
        }
        self.kept.push('…');
        self.room = 0;
        Err(fmt::Error)
    }
}

/// A value that can be an argument.
trait Value {
    /// Its value of `HLAargumentType`.
    const KIND: i32;

    /// Returns it as text.
    fn text(&self, texts: &mut Texts) -> String;
}

/// The value of `HLAargumentType` for no value.
const NULL: i32 = 34;

fn argument<V: Value>(name: &'static str, value: &V, texts: &mut Texts) -> Argument {
    Argument { kind: V::KIND, name, value: value.text(texts) }
}

macro_rules! values {
    ($($type:ty: $kind:literal $text:expr;)*) => {$(
        impl Value for $type {
            const KIND: i32 = $kind;

            fn text(&self, texts: &mut Texts) -> String {
                let text: fn(&Self, &mut Texts) -> String = $text;
                text(self, texts)
            }
        }
    )*};
}

fn shown<V: Display>(value: &V, texts: &mut Texts) -> String {
    texts.shown(value)
}

fn debug<V: Debug>(value: &V, texts: &mut Texts) -> String {
    texts.text(format_args!("{value:?}"))
}

/// A list of values in brackets.
fn list<V: Display>(values: &[V], texts: &mut Texts) -> String {
    texts.shown(&List(values.iter()))
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
fn bytes(data: &Data, texts: &mut Texts) -> String {
    texts.shown(&Hexadecimal(data))
}

struct Hexadecimal<'a>(&'a Data);

impl Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        self.0.chunks(64).try_for_each(|part| {
            let part: String = part.iter().flat_map(digits).map(char::from).collect();
            f.write_str(&part)
        })
    }
}

/// Pairs of a handle and its value.
fn pairs<H: Display>(values: &[(H, Data)], texts: &mut Texts) -> String {
    texts.shown(&List(values.iter().map(|(handle, value)| Pair(handle, value))))
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
    Vec<AttributeHandle>: 1 |all, to| list(all, to);
    AttributeValues: 2 |all, to| pairs(all, to);
    Vec<AttributeRegions>: 4 debug;
    bool: 6 shown;
    // The data of credentials is a secret.
    Credentials: 9 |one, to| to.shown(&one.kind);
    DimensionHandle: 10 shown;
    Vec<DimensionHandle>: 11 |all, to| list(all, to);
    FederateHandle: 15 shown;
    Vec<FederateSaveStatus>: 17 debug;
    Vec<FederateHandle>: 18 |all, to| list(all, to);
    Vec<FederateRestoreStatus>: 20 debug;
    Vec<FederationExecutionInformation>: 22 debug;
    Vec<FederationExecutionMember>: 24 debug;
    FomModule: 25 |one, to| to.shown(&module(one));
    Vec<FomModule>: 26 |all, to| to.shown(&List(all.iter().map(module)));
    InteractionClassHandle: 27 shown;
    Vec<InteractionClassHandle>: 28 |all, to| list(all, to);
    MessageRetractionHandle: 33 shown;
    u32: 35 shown;
    f64: 35 shown;
    ObjectClassHandle: 36 shown;
    ObjectInstanceHandle: 37 shown;
    OrderType: 38 shown;
    ParameterHandle: 39 shown;
    ParameterValues: 40 |all, to| pairs(all, to);
    RangeBounds: 41 debug;
    RegionHandle: 42 shown;
    Vec<RegionHandle>: 43 |all, to| list(all, to);
    Vec<ConveyedRegion>: 43 debug;
    ResignAction: 44 shown;
    RestoreFailureReason: 45 shown;
    RtiConfiguration: 47 debug;
    SaveFailureReason: 48 shown;
    ServiceGroup: 50 shown;
    String: 53 shown;
    Vec<String>: 54 |all, to| list(all, to);
    SynchronizationPointFailureReason: 56 shown;
    TransportationTypeHandle: 59 shown;
    Data: 60 bytes;
}

impl Value for EncodedTime {
    const KIND: i32 = 31;

    fn text(&self, texts: &mut Texts) -> String {
        match self.decode(texts.time) {
            Ok(time) => texts.shown(&time),
            Err(error) => texts.shown(&error),
        }
    }
}

impl Value for EncodedInterval {
    const KIND: i32 = 32;

    fn text(&self, texts: &mut Texts) -> String {
        match self.decode(texts.time) {
            Ok(interval) => texts.shown(&interval),
            Err(error) => texts.shown(&error),
        }
    }
}

/// A value that may be missing, or have an unknown number.
impl<V: Value> Value for Option<V> {
    const KIND: i32 = V::KIND;

    fn text(&self, texts: &mut Texts) -> String {
        self.as_ref().map_or_else(String::new, |value| value.text(texts))
    }
}

/// A call or callback of one clause.
trait Arguments {
    /// Returns its arguments in the standard's order.
    fn arguments(&self, texts: &mut Texts) -> Vec<Argument>;
}

macro_rules! arguments {
    ($enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        impl Arguments for $enum {
            fn arguments(&self, texts: &mut Texts) -> Vec<Argument> {
                let _ = &texts;
                match self {
                    $(Self::$name { $($field),* } => {
                        vec![$(argument(stringify!($field), $field, texts)),*]
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
pub(super) fn of_call(call: &Call, texts: &mut Texts) -> Vec<Argument> {
    match call {
        Call::Federation(call) => call.arguments(texts),
        Call::Declaration(call) => call.arguments(texts),
        Call::Object(call) => call.arguments(texts),
        Call::Ownership(call) => call.arguments(texts),
        Call::Time(call) => call.arguments(texts),
        Call::Distribution(call) => call.arguments(texts),
        Call::Support(call) => call.arguments(texts),
    }
}

/// Returns the arguments of a callback.
pub(super) fn of_callback(callback: &Callback, texts: &mut Texts) -> Vec<Argument> {
    callback.arguments(texts)
}

/// Returns the value that a call returned.
pub(super) fn of_reply(reply: Option<&Reply>, texts: &mut Texts) -> Argument {
    use Reply as R;
    const NAME: &str = "returned";
    match reply {
        Some(R::ObjectInstance(value)) => argument(NAME, value, texts),
        Some(R::Retraction(value)) => argument(NAME, value, texts),
        Some(R::Flag(value)) => argument(NAME, value, texts),
        Some(R::Name(value)) => argument(NAME, value, texts),
        Some(R::Number(value)) => argument(NAME, value, texts),
        Some(R::Rate(value)) => argument(NAME, value, texts),
        Some(R::Attributes(value)) => argument(NAME, value, texts),
        Some(R::Dimensions(value)) => argument(NAME, value, texts),
        Some(R::OptionalTime(value)) => argument(NAME, value, texts),
        Some(R::Time(value)) => argument(NAME, value, texts),
        Some(R::Interval(value)) => argument(NAME, value, texts),
        Some(R::ObjectClass(value)) => argument(NAME, value, texts),
        Some(R::Region(value)) => argument(NAME, value, texts),
        Some(R::Federate(value)) => argument(NAME, value, texts),
        Some(R::Attribute(value)) => argument(NAME, value, texts),
        Some(R::InteractionClass(value)) => argument(NAME, value, texts),
        Some(R::Parameter(value)) => argument(NAME, value, texts),
        Some(R::Order(value)) => argument(NAME, value, texts),
        Some(R::TransportationType(value)) => argument(NAME, value, texts),
        Some(R::Dimension(value)) => argument(NAME, value, texts),
        Some(R::Range(value)) => argument(NAME, value, texts),
        Some(R::Directive(value)) => argument(NAME, value, texts),
        Some(R::Done | R::Configured(_) | R::Joined(_)) | None => {
            Argument { kind: NULL, name: "", value: String::new() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 1 << 18;

    fn texts() -> Texts {
        Texts::of_arguments(TimeImplementation::Integer64)
    }

    #[test]
    fn long_values_and_lists_are_shown_up_to_a_length() {
        let of_data = bytes(&vec![0xab; 15 << 20].into(), &mut texts());
        let of_text = shown(&"é".repeat(LONG), &mut texts());
        let of_list = list(&vec![AttributeHandle::new(7); LONG], &mut texts());
        let of_pair = pairs(&[(AttributeHandle::new(7), vec![7; 15 << 20].into())], &mut texts());
        let of_ranges = debug(&vec![RangeBounds::default(); LONG], &mut texts());
        for text in [of_data, of_text, of_list, of_pair, of_ranges] {
            assert!(text.ends_with('…'), "{}", &text[..40]);
            assert!(text.len() <= ARGUMENTS_LEN + '…'.len_utf8(), "{} bytes", text.len());
        }
    }

    #[test]
    fn the_arguments_of_a_report_share_the_length() {
        let mut texts = texts();
        let part: Data = vec![0xab; ARGUMENTS_LEN / 2 - 1].into();
        assert_eq!(bytes(&part, &mut texts).len(), ARGUMENTS_LEN - 2);
        assert_eq!(bytes(&part, &mut texts), "ab…");
        assert_eq!(bytes(&part, &mut texts), "…");
        assert_eq!((texts.len(), shown(&"", &mut texts).as_str()), (ARGUMENTS_LEN, ""));
    }

    #[test]
    fn short_values_are_shown_as_a_whole() {
        let data = |bytes: &'static [u8]| Data::from_static(bytes);
        assert_eq!(bytes(&data(&[0, 0xab, 0x7f]), &mut texts()), "00ab7f");
        assert_eq!(list::<u32>(&[], &mut texts()), "[]");
        assert_eq!(list(&[1, 22, 3], &mut texts()), "[1, 22, 3]");
        let pair = [(1, data(b"")), (2, data(&[16, 1]))];
        assert_eq!(pairs(&pair, &mut texts()), "[1=, 2=1001]");
    }
}
