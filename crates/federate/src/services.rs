//! The standard's services as methods, one file for each clause.
//!
//! Each makes the call of its name and returns what the standard says; its errors are those of
//! [`call`](crate::Federate::call). Names that the standard uses for several forms of one service are told apart as the
//! calls are.

mod declaration;
mod federation;
mod object;
mod support;
pub(crate) mod time;

use hemiola_hla::data::{ConfigurationResult, RangeBounds, Retraction};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedInterval, EncodedTime, FederateHandle,
    InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle,
    Reply, ResignAction, TransportationTypeHandle,
};

use crate::error::Error;
use crate::federate::Federate;

macro_rules! services {
    ($(
        $clause:literal $method:ident($($argument:ident: $type:ty),* $(,)?) $(-> $answer:ty)?
            = $calls:ident::$call:ident $({ $($field:ident $(: $value:expr)?),* $(,)? })?;
    )*) => {
        impl $crate::Federate {$(
            #[doc = concat!("Clause ", $clause, ": [`", stringify!($calls), "::", stringify!($call), "`].")]
            ///
            /// # Errors
            /// As [`call`](Self::call).
            pub fn $method(
                &mut self,
                $($argument: $type),*
            ) -> Result<$crate::services::or_unit!($($answer)?), $crate::Error> {
                self.ask($calls::$call $({ $($field $(: $value)?),* })?)
            }
        )*}
    };
}
use services;

macro_rules! or_unit {
    () => {
        ()
    };
    ($answer:ty) => {
        $answer
    };
}
use or_unit;

impl Federate {
    /// Makes a call and returns the result in its reply.
    pub(crate) fn ask<T: Answer>(&mut self, call: impl Into<Call>) -> Result<T, Error> {
        let reply = self.call(call)?;
        let shape = reply.shape();
        Ok(T::from_reply(reply).unwrap_or_else(|| {
            panic!("a reply is decoded in the shape of its call, not {shape:?}")
        }))
    }
}

/// The result in the reply to a call.
pub(crate) trait Answer: Sized {
    /// Returns `None` for a reply of another shape.
    fn from_reply(reply: Reply) -> Option<Self>;
}

impl Answer for () {
    fn from_reply(reply: Reply) -> Option<Self> {
        matches!(reply, Reply::Done).then_some(())
    }
}

macro_rules! answers {
    ($($shape:ident($type:ty))*) => {$(
        impl Answer for $type {
            fn from_reply(reply: Reply) -> Option<Self> {
                if let Reply::$shape(value) = reply { Some(value) } else { None }
            }
        }
    )*};
}

answers! {
    Configured(ConfigurationResult)
    ObjectInstance(ObjectInstanceHandle)
    Retraction(Retraction)
    Flag(bool)
    Name(String)
    Number(u32)
    Rate(f64)
    Dimensions(Vec<DimensionHandle>)
    OptionalTime(Option<EncodedTime>)
    Time(EncodedTime)
    Interval(EncodedInterval)
    ObjectClass(ObjectClassHandle)
    Federate(FederateHandle)
    Attribute(AttributeHandle)
    InteractionClass(InteractionClassHandle)
    Parameter(ParameterHandle)
    Order(OrderType)
    TransportationType(TransportationTypeHandle)
    Dimension(DimensionHandle)
    Range(RangeBounds)
    Directive(ResignAction)
}

/// Copies the handles of a set into a call.
pub(crate) fn list<T: Clone>(handles: &[T]) -> Vec<T> {
    handles.to_vec()
}
