//! Exceptions that do not depend on the service: every call is made with empty arguments.

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall, ObjectCall, OwnershipCall, SupportCall,
    TimeCall,
};
use hemiola_hla::data::{
    AttributeRegions, Credentials, Data, FomModule, RangeBounds, RtiConfiguration,
};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedInterval, EncodedTime, Exception,
    FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, ParameterHandle, RegionHandle, ResignAction, ServiceGroup,
    TransportationTypeHandle,
};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, YARD};

/// An argument that means nothing.
trait Empty {
    fn empty() -> Self;
}

macro_rules! empty {
    ($($type:ty: $value:expr,)*) => {$(
        impl Empty for $type {
            fn empty() -> Self {
                $value
            }
        }
    )*};
}

empty! {
    AttributeHandle: Self::INVALID,
    DimensionHandle: Self::INVALID,
    FederateHandle: Self::INVALID,
    InteractionClassHandle: Self::INVALID,
    MessageRetractionHandle: Self::INVALID,
    ObjectClassHandle: Self::INVALID,
    ObjectInstanceHandle: Self::INVALID,
    ParameterHandle: Self::INVALID,
    RegionHandle: Self::INVALID,
    TransportationTypeHandle: Self::INVALID,
    AttributeRegions: Self::default(),
    Credentials: Self { kind: String::new(), data: Data::new() },
    Data: Self::new(),
    EncodedInterval: Self::new(b""),
    EncodedTime: Self::new(b""),
    FomModule: Self::Url(String::new()),
    Option<OrderType>: None,
    Option<ResignAction>: None,
    Option<ServiceGroup>: None,
    RangeBounds: Self::default(),
    RtiConfiguration: Self::default(),
    String: Self::new(),
    bool: false,
}

impl<T> Empty for Vec<T> {
    fn empty() -> Self {
        Self::new()
    }
}

macro_rules! calls_of {
    ($enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        vec![$(Call::from($enum::$name { $($field: Empty::empty(),)* }),)*]
    };
}

/// All calls.
fn all() -> Vec<Call> {
    let clauses: [Vec<Call>; 7] = [
        hemiola_hla::federation_calls!(calls_of),
        hemiola_hla::declaration_calls!(calls_of),
        hemiola_hla::object_calls!(calls_of),
        hemiola_hla::ownership_calls!(calls_of),
        hemiola_hla::time_calls!(calls_of),
        hemiola_hla::distribution_calls!(calls_of),
        hemiola_hla::support_calls!(calls_of),
    ];
    clauses.concat()
}

fn raising(exception: Exception) -> impl Iterator<Item = Call> {
    all().into_iter().filter(move |call| call.entry().exceptions.contains(&exception))
}

#[test]
fn every_service_needs_a_connection() {
    assert_eq!(all().len(), 178);
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.open();
    for call in raising(Exception::NotConnected) {
        assert_eq!(w.refused(fed, call), Exception::NotConnected);
    }
}

#[test]
fn most_services_need_a_joined_federate() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    for call in raising(Exception::FederateNotExecutionMember) {
        assert_eq!(w.refused(fed, call), Exception::FederateNotExecutionMember);
    }
}

#[test]
fn every_service_is_offered_or_says_that_it_is_not() {
    let mut w = World::new();
    for (number, call) in (0..).zip(all()) {
        let fed = w.federate(&format!("federate {number}"));
        let _ = w.call(fed, call);
    }
}

/// Makes every call that raises this exception, which must come.
fn all_raise(w: &mut World, joined: Fed, exception: Exception) {
    let connected = w.connect();
    for mut call in raising(exception) {
        use FederationCall as C;
        let caller = match &mut call {
            Call::Federation(
                C::JoinFederationExecution { federation_name, .. }
                | C::JoinFederationExecutionWithModules { federation_name, .. }
                | C::JoinFederationExecutionWithName { federation_name, .. }
                | C::JoinFederationExecutionWithNameAndModules { federation_name, .. },
            ) => {
                *federation_name = YARD.into();
                connected
            }
            _ => joined,
        };
        assert_eq!(w.refused(caller, call), exception);
    }
}

#[test]
fn services_are_refused_during_a_save_as_their_lists_say() {
    let mut w = World::saving();
    let fed = w.federate("a");
    w.ok(fed, FederationCall::RequestFederationSave { label: "first".into() });
    all_raise(&mut w, fed, Exception::SaveInProgress);
    w.ok(fed, FederationCall::FederateSaveBegun);
    all_raise(&mut w, fed, Exception::SaveInProgress);
}

#[test]
fn services_are_refused_during_a_restore_as_their_lists_say() {
    let mut w = World::saving();
    let fed = w.federate("a");
    w.ok(fed, FederationCall::RequestFederationSave { label: "first".into() });
    w.ok(fed, FederationCall::FederateSaveBegun);
    w.ok(fed, FederationCall::FederateSaveComplete);
    w.ok(fed, FederationCall::RequestFederationRestore { label: "first".into() });
    all_raise(&mut w, fed, Exception::RestoreInProgress);
}
