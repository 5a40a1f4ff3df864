//! Arguments of services as the reports on service invocations show them: type, name and value as text.

use std::fmt::Debug;

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

fn shown<V: ToString>(value: &V) -> String {
    value.to_string()
}

fn debug<V: Debug>(value: &V) -> String {
    format!("{value:?}")
}

/// A list of values in brackets.
fn list<V: ToString>(values: &[V]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", values.join(", "))
}

/// Bytes in hexadecimal digits.
fn bytes(data: &Data) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Pairs of a handle and its value.
fn pairs<H: ToString>(values: &[(H, Data)]) -> String {
    let pair = |(handle, value): &(H, Data)| format!("{}={}", handle.to_string(), bytes(value));
    list(&values.iter().map(pair).collect::<Vec<_>>())
}

/// A module is its designator: the content can be large.
fn module(module: &FomModule) -> String {
    module.designator().to_owned()
}

values! {
    AttributeHandle: 0 shown;
    Vec<AttributeHandle>: 1 |all| list(all);
    AttributeValues: 2 |all| pairs(all);
    Vec<AttributeRegions>: 4 debug;
    bool: 6 shown;
    // The data of credentials is a secret.
    Credentials: 9 |one| one.kind.clone();
    DimensionHandle: 10 shown;
    Vec<DimensionHandle>: 11 |all| list(all);
    FederateHandle: 15 shown;
    Vec<FederateSaveStatus>: 17 debug;
    Vec<FederateHandle>: 18 |all| list(all);
    Vec<FederateRestoreStatus>: 20 debug;
    Vec<FederationExecutionInformation>: 22 debug;
    Vec<FederationExecutionMember>: 24 debug;
    FomModule: 25 module;
    Vec<FomModule>: 26 |all| list(&all.iter().map(module).collect::<Vec<_>>());
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
    String: 53 String::clone;
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
