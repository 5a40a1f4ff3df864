//! The 178 calls of federates, one enum per clause, and their replies.
//!
//! Each call is declared once, with its number in the Federate Protocol, its clause, its method in the programming
//! interfaces, its arguments, the shape of its reply, and the exceptions it may raise in the standard's order.
//!
//! Arguments are not validated: an invalid handle is [`INVALID`](crate::FederateHandle::INVALID), an invalid time is an
//! [`EncodedTime`] that does not decode, and an unknown number is `None`. Each of them thus reaches the service that
//! has an exception for it.
//!
//! A macro that needs the list of calls, such as an encoding, gets it from `federation_calls!` and the like. Arguments
//! are in the order in which the Federate Protocol numbers them, from 1.

mod declaration;
mod distribution;
mod federation;
mod object;
mod ownership;
mod support;
mod time;

use crate::data::{ConfigurationResult, JoinResult, RangeBounds, Retraction};
use crate::exception::Exception;
use crate::group::ServiceGroup;
use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle, TransportationTypeHandle,
};
use crate::order::OrderType;
use crate::resign::ResignAction;
use crate::time::{EncodedInterval, EncodedTime};

pub use declaration::DeclarationCall;
pub use distribution::DistributionCall;
pub use federation::FederationCall;
pub use object::ObjectCall;
pub use ownership::OwnershipCall;
pub use support::SupportCall;
pub use time::TimeCall;

macro_rules! calls {
    (
        $(#[$doc:meta])*
        $enum:ident, $list:ident
        $(
            $number:literal $clause:literal $name:ident $method:literal
            $({ $($field:ident: $type:ty),* $(,)? })?
            => $shape:ident [$($exception:ident)* $(..$others:ident)?];
        )*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "arguments have the standard's names")]
        pub enum $enum {
            $(
                #[doc = concat!("Clause ", $clause, ", `", $method, "`.")]
                $name $({ $($field: $type,)* })?,
            )*
        }

        impl $enum {
            /// Number, name, clause, method and shape of the answer of every call here.
            pub const TABLE: &[$crate::call::Entry] = &[$(
                $crate::call::Entry {
                    number: $number,
                    name: stringify!($name),
                    clause: $clause,
                    method: $method,
                    shape: $crate::call::Shape::$shape,
                    exceptions: $crate::call::exceptions!([$($exception)*] $($others)?),
                },
            )*];

            /// Returns the table entry of this call.
            pub fn entry(&self) -> &'static $crate::call::Entry {
                // The variants are in the table's order, with consecutive numbers.
                let number = match self { $(Self::$name { .. } => $number,)* };
                &Self::TABLE[number - Self::TABLE[0].number as usize]
            }
        }

        #[doc = concat!("Gives a macro the name `", stringify!($enum), "`, and number, name and ")]
        /// arguments of each call.
        #[macro_export]
        macro_rules! $list {
            ($then:ident) => {
                $then! { $enum $($number $name { $($($field)*)? })* }
            };
        }
    };
}
use calls;

/// The exceptions of a call: its own, then, as `..Name`, those that many calls have in common.
macro_rules! exceptions {
    ([$($own:ident)*]) => { &[$($crate::Exception::$own,)*] };
    // The call needs a connection.
    ([$($own:ident)*] Connected) => {
        $crate::call::exceptions!([$($own)* NotConnected RTIinternalError])
    };
    // The call needs a joined federate.
    ([$($own:ident)*] Joined) => {
        $crate::call::exceptions!([$($own)* FederateNotExecutionMember] Connected)
    };
    // The call needs a joined federate, and is refused during a save and a restore.
    ([$($own:ident)*] Active) => {
        $crate::call::exceptions!([$($own)* SaveInProgress RestoreInProgress] Joined)
    };
}
use exceptions;

/// The standard's facts about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its case in a `CallRequest`; the case of its reply in a `CallResponse` is one greater.
    pub number: u32,
    /// The name of its message, without `Request`.
    pub name: &'static str,
    /// Where IEEE 1516.1-2025 describes it.
    pub clause: &'static str,
    /// Its method in the programming interfaces; calls with more or fewer arguments share one.
    pub method: &'static str,
    /// The shape of a successful reply.
    pub shape: Shape,
    /// The exceptions it may raise, in the standard's order.
    pub exceptions: &'static [Exception],
}

impl Entry {
    /// Returns whether it raises this exception, as clients of either edition see it.
    #[must_use]
    pub fn raises(&self, exception: Exception) -> bool {
        self.exceptions.iter().any(|one| *one == exception || one.of_2010() == exception)
    }

    /// Returns whether it sends a message to other federates: an update or an interaction. Its reply alone is no reason
    /// to wake a federate that waits for something else.
    #[must_use]
    pub const fn sends(&self) -> bool {
        matches!(self.number, 62..=67 | 121 | 122)
    }

    /// Returns whether it requests a time advance, which a callback grants.
    #[must_use]
    pub const fn advances(&self) -> bool {
        matches!(self.number, 93..=97)
    }
}

/// A call of any clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Clause 4.
    Federation(FederationCall),
    /// Clause 5.
    Declaration(DeclarationCall),
    /// Clause 6.
    Object(ObjectCall),
    /// Clause 7.
    Ownership(OwnershipCall),
    /// Clause 8.
    Time(TimeCall),
    /// Clause 9.
    Distribution(DistributionCall),
    /// Clause 10.
    Support(SupportCall),
}

impl Call {
    /// The tables of all clauses, by number.
    pub const TABLES: [&[Entry]; 7] = [
        FederationCall::TABLE,
        DeclarationCall::TABLE,
        ObjectCall::TABLE,
        OwnershipCall::TABLE,
        TimeCall::TABLE,
        DistributionCall::TABLE,
        SupportCall::TABLE,
    ];

    /// Returns the table entry of this call.
    pub fn entry(&self) -> &'static Entry {
        match self {
            Self::Federation(call) => call.entry(),
            Self::Declaration(call) => call.entry(),
            Self::Object(call) => call.entry(),
            Self::Ownership(call) => call.entry(),
            Self::Time(call) => call.entry(),
            Self::Distribution(call) => call.entry(),
            Self::Support(call) => call.entry(),
        }
    }

    /// Whether it requests a save or a restore (clauses 4.19 and 4.27).
    pub const fn requests_save_or_restore(&self) -> bool {
        matches!(
            self,
            Self::Federation(
                FederationCall::RequestFederationSave { .. }
                    | FederationCall::RequestFederationSaveWithTime { .. }
                    | FederationCall::RequestFederationRestore { .. }
            )
        )
    }

    /// Returns its case in a `CallRequest`.
    pub fn number(&self) -> u32 {
        self.entry().number
    }

    /// Returns the name of its message, without `Request`.
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Returns its clause in IEEE 1516.1-2025.
    pub fn clause(&self) -> &'static str {
        self.entry().clause
    }

    /// Returns its service group.
    pub const fn group(&self) -> ServiceGroup {
        match self {
            Self::Federation(_) => ServiceGroup::FederationManagement,
            Self::Declaration(_) => ServiceGroup::DeclarationManagement,
            Self::Object(_) => ServiceGroup::ObjectManagement,
            Self::Ownership(_) => ServiceGroup::OwnershipManagement,
            Self::Time(_) => ServiceGroup::TimeManagement,
            Self::Distribution(_) => ServiceGroup::DataDistributionManagement,
            Self::Support(_) => ServiceGroup::SupportServices,
        }
    }
}

macro_rules! clauses {
    ($($clause:ident $calls:ident)*) => {$(
        impl From<$calls> for Call {
            fn from(call: $calls) -> Self {
                Self::$clause(call)
            }
        }
    )*};
}

clauses! {
    Federation FederationCall
    Declaration DeclarationCall
    Object ObjectCall
    Ownership OwnershipCall
    Time TimeCall
    Distribution DistributionCall
    Support SupportCall
}

macro_rules! replies {
    ($($(#[$doc:meta])* $name:ident $(($type:ty))?,)*) => {
        /// The reply to a call that is not refused.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Reply {
            $($(#[$doc])* $name $(($type))?,)*
        }

        /// The shape of a [`Reply`], without its value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Shape {
            $($(#[$doc])* $name,)*
        }

        impl Reply {
            /// Returns its shape.
            pub const fn shape(&self) -> Shape {
                match self { $(Self::$name { .. } => Shape::$name,)* }
            }
        }
    };
}

replies! {
    /// No value.
    Done,
    /// The result of a configuration.
    Configured(ConfigurationResult),
    /// The result of joining.
    Joined(JoinResult),
    /// An object instance.
    ObjectInstance(ObjectInstanceHandle),
    /// A retraction handle, if the message can be retracted.
    Retraction(Retraction),
    /// A truth value.
    Flag(bool),
    /// A name; never empty.
    Name(String),
    /// A point of a dimension, or its upper bound.
    Number(u32),
    /// Updates per second.
    Rate(f64),
    /// Attributes.
    Attributes(Vec<AttributeHandle>),
    /// Dimensions.
    Dimensions(Vec<DimensionHandle>),
    /// A time, if there is one.
    OptionalTime(Option<EncodedTime>),
    /// A time.
    Time(EncodedTime),
    /// An interval.
    Interval(EncodedInterval),
    /// An object class.
    ObjectClass(ObjectClassHandle),
    /// A region.
    Region(RegionHandle),
    /// A federate.
    Federate(FederateHandle),
    /// An attribute.
    Attribute(AttributeHandle),
    /// An interaction class.
    InteractionClass(InteractionClassHandle),
    /// A parameter.
    Parameter(ParameterHandle),
    /// An order.
    Order(OrderType),
    /// A transportation type.
    TransportationType(TransportationTypeHandle),
    /// A dimension.
    Dimension(DimensionHandle),
    /// A range of a dimension.
    Range(RangeBounds),
    /// A resign directive.
    Directive(ResignAction),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_178_calls_are_there_in_order() {
        let numbers: Vec<u32> = Call::TABLES.concat().iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, (1..=178).collect::<Vec<u32>>());
    }

    #[test]
    fn every_call_may_fail_in_the_rti_and_most_without_a_connection() {
        for entry in Call::TABLES.concat() {
            assert!(entry.exceptions.contains(&Exception::RTIinternalError), "{entry:?}");
            let connecting = matches!(entry.clause, "4.2" | "4.3");
            let connected = entry.exceptions.contains(&Exception::NotConnected);
            assert_eq!(connected, !connecting, "{entry:?}");
        }
    }

    #[test]
    fn a_call_knows_its_clause_method_and_answer() {
        let call = Call::from(ObjectCall::RegisterObjectInstance {
            object_class: ObjectClassHandle::new(7),
        });
        let entry = call.entry();
        assert_eq!((entry.number, entry.clause), (60, "6.8"));
        assert_eq!(
            (entry.name, entry.method),
            ("RegisterObjectInstance", "registerObjectInstance")
        );
        assert_eq!(entry.shape, Reply::ObjectInstance(ObjectInstanceHandle::new(1)).shape());
        assert_eq!(entry.exceptions[0], Exception::ObjectClassNotPublished);
        assert_eq!(call.group(), ServiceGroup::ObjectManagement);
        assert_eq!(Call::from(FederationCall::Disconnect).number(), 5);
        assert_eq!(Call::from(SupportCall::GetNonRegulatedGrantSwitch).number(), 178);
    }
}
