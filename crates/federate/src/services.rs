//! The standard's services as methods, one file for each clause.
//!
//! Each method makes the call of its name and returns the result that the standard defines; its errors are those of
//! [`call`](crate::Federate::call). A method without a result does not wait for the reply, as
//! [`post`](crate::Federate::post), unless [`Options::calls`](crate::Options::calls) says so. Where the standard gives
//! several forms of a service one name, the methods are named after the calls.

mod declaration;
mod distribution;
mod federation;
mod object;
mod support;
pub(crate) mod time;

use hemiola_fedpro::message;
use hemiola_hla::data::{ConfigurationResult, RangeBounds, Retraction};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedInterval, EncodedTime, FederateHandle,
    InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle,
    RegionHandle, Reply, ResignAction, TransportationTypeHandle,
};

use crate::error::Error;
use crate::federate::Federate;

/// Methods for the calls of one enum, each declared as `"clause" Call: method(fields) -> result;`. The head names the
/// enum and the method of [`Federate`] that makes the calls. The arguments are the call's fields, converted by `into`.
macro_rules! services {
    (
        $(#[$doc:meta])*
        $calls:ident, $make:ident:
        $($clause:literal $call:ident: $method:ident($($field:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;)*
    ) => {
        $(#[$doc])*
        impl $crate::Federate {$(
            #[doc = concat!("Clause ", $clause, ": [`", stringify!($calls), "::", stringify!($call), "`].")]
            ///
            /// # Errors
            /// As [`call`](Self::call).
            pub fn $method(
                &mut self,
                $($field: $type),*
            ) -> Result<$crate::services::or_unit!($($answer)?), $crate::Error> {
                self.$make($calls::$call { $($field: $field.into()),* })
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
        self.call(call).map(answered)
    }

    /// Makes a call. Waits for its reply only if there is a result, or if the options say so.
    pub(crate) fn send<T: Answer>(&mut self, call: impl Into<Call>) -> Result<T, Error> {
        match T::WITHOUT_REPLY {
            Some(result) if self.is_pipelined => self.post(call).map(|()| result),
            _ => self.ask(call),
        }
    }

    /// As [`ask`](Self::ask), but asks the RTI once for each name or handle of the object model. Refusals are not kept.
    pub(crate) fn recall<T: Answer>(&mut self, call: impl Into<Call>) -> Result<T, Error> {
        let call = call.into();
        let question = message::encode_call(&call);
        if let Some(reply) = self.names.get(&question) {
            return Ok(answered(reply.clone()));
        }
        let reply = self.call(call)?;
        self.names.insert(question, reply.clone());
        Ok(answered(reply))
    }
}

fn answered<T: Answer>(reply: Reply) -> T {
    let shape = reply.shape();
    T::from_reply(reply)
        .unwrap_or_else(|| panic!("a reply is decoded in the shape of its call, not {shape:?}"))
}

/// The result in the reply to a call.
pub(crate) trait Answer: Sized {
    /// The result of a call that does not wait for its reply, if such a call makes sense.
    const WITHOUT_REPLY: Option<Self> = None;

    /// Returns `None` for a reply of another shape.
    fn from_reply(reply: Reply) -> Option<Self>;
}

impl Answer for () {
    const WITHOUT_REPLY: Option<Self> = Some(());

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

impl Answer for Retraction {
    const WITHOUT_REPLY: Option<Self> = Some(None);

    fn from_reply(reply: Reply) -> Option<Self> {
        if let Reply::Retraction(value) = reply { Some(value) } else { None }
    }
}

answers! {
    Configured(ConfigurationResult)
    ObjectInstance(ObjectInstanceHandle)
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
    Region(RegionHandle)
    Directive(ResignAction)
}
