//! Connect and disconnect (clauses 4.2 and 4.3).

use hemiola_hla::call::{FederationCall, SupportCall};
use hemiola_hla::data::{
    ConfigurationResult, Credentials, FomModule, RtiConfiguration, TOLD_OF_LOSS,
};
use hemiola_hla::encoding::{HLAunicodeString, encode};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{Callback, Exception, Reply, ResignAction, TransportationTypeHandle};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, YARD, module};

fn empty() -> World {
    World::empty(Limits::default(), MODEL)
}

fn configured(w: &mut World, fed: Fed, settings: &str) -> ConfigurationResult {
    let rti_configuration =
        RtiConfiguration { additional_settings: settings.into(), ..RtiConfiguration::default() };
    let reply = w.ok(fed, FederationCall::ConnectWithConfiguration { rti_configuration });
    let Reply::Configured(result) = reply else { panic!("{reply:?}") };
    result
}

#[test]
fn calls_before_connect_are_refused() {
    let mut w = empty();
    let fed = w.open();
    assert_eq!(w.refused(fed, FederationCall::ListFederationExecutions), Exception::NotConnected);
    let call = SupportCall::GetOrderType { order_type_name: "Receive".into() };
    assert_eq!(w.refused(fed, call), Exception::NotConnected);
    let resign =
        FederationCall::ResignFederationExecution { resign_action: Some(ResignAction::NoAction) };
    assert_eq!(w.refused(fed, resign), Exception::NotConnected);
}

#[test]
fn a_federate_connects_once() {
    let mut w = empty();
    let fed = w.connect();
    assert_eq!(w.refused(fed, FederationCall::Connect), Exception::AlreadyConnected);
    w.ok(fed, FederationCall::Disconnect);
    assert_eq!(w.refused(fed, FederationCall::ListFederationExecutions), Exception::NotConnected);
    w.ok(fed, FederationCall::Connect);
}

#[test]
fn disconnecting_is_always_answered() {
    let mut w = World::new();
    let fed = w.open();
    w.ok(fed, FederationCall::Disconnect);
    let fed = w.federate("a");
    assert_eq!(w.refused(fed, FederationCall::Disconnect), Exception::FederateIsExecutionMember);
    w.resign(fed, ResignAction::NoAction);
    w.ok(fed, FederationCall::Disconnect);
}

#[test]
fn credentials_must_be_well_formed() {
    let mut w = empty();
    let fed = w.open();
    let connect = |kind: &str, data: Vec<u8>| FederationCall::ConnectWithCredentials {
        credentials: Credentials { kind: kind.into(), data: data.into() },
    };
    let password = encode(&HLAunicodeString::from("pässwd"));
    for (kind, data) in
        [("HLAnoCredentials", vec![1]), ("HLAplainTextPassword", vec![1]), ("own", vec![])]
    {
        assert_eq!(w.refused(fed, connect(kind, data)), Exception::InvalidCredentials);
    }
    w.ok(fed, connect("HLAplainTextPassword", password));
    let other = w.open();
    w.ok(other, connect("HLAnoCredentials", vec![]));
    let FederationCall::ConnectWithCredentials { credentials } =
        connect("HLAnoCredentials", vec![])
    else {
        unreachable!()
    };
    let third = w.open();
    let rti_configuration = RtiConfiguration::default();
    w.ok(
        third,
        FederationCall::ConnectWithConfigurationAndCredentials { rti_configuration, credentials },
    );
}

#[test]
fn unknown_settings_are_reported_without_their_values() {
    let mut w = empty();
    let fed = w.open();
    let result = configured(&mut w, fed, "colour=blue\nsecret=1234\n");
    assert_eq!(result.additional_settings_result, AdditionalSettingsResultCode::SettingsIgnored);
    assert!(result.message.contains("colour, secret") && !result.message.contains("1234"));
    assert!(!result.address_used && !result.configuration_used);
}

#[test]
fn the_setting_for_later_answers_is_applied() {
    let mut w = empty();
    let fed = w.open();
    let result = configured(&mut w, fed, hemiola_hla::data::ANSWERS_LATER);
    assert_eq!(result.additional_settings_result, AdditionalSettingsResultCode::SettingsApplied);
    assert_eq!(result.message, "");
}

#[test]
fn a_federate_that_asked_for_it_is_told_why_the_rti_ends_its_session() {
    let mut w = World::new();
    let (asking, disconnected, other) = (w.open(), w.open(), w.federate("other"));
    for fed in [asking, disconnected] {
        configured(&mut w, fed, TOLD_OF_LOSS);
    }
    let asking = w.join(asking, "asking");
    w.ok(disconnected, FederationCall::Disconnect);
    for fed in [asking, disconnected, other] {
        w.dismiss(fed, "it is Monday");
    }
    let told = w.notices(asking).into_iter();
    let told: Vec<Callback> = told.map(|notice| notice.callback().clone()).collect();
    let fault_description = "the RTI has ended the session: it is Monday".to_owned();
    assert_eq!(told, [Callback::ConnectionLost { fault_description }]);
    assert_eq!(w.notices(disconnected).len() + w.notices(other).len(), 0, "they did not ask");
    // It has left, so its name is free.
    w.federate("asking");
}

#[test]
fn clients_of_2010_receive_only_callbacks_of_2010() {
    let mut w = World::new();
    let fed = w.open();
    let result = configured(&mut w, fed, "API.version=IEEE 1516-2010");
    assert_eq!(result.additional_settings_result, AdditionalSettingsResultCode::SettingsApplied);
    let fed = w.join(fed, "old");
    w.fqr(fed, 10);
    assert_eq!(w.callbacks(fed), ["grant 10"]);
}

#[test]
fn clients_of_2010_receive_the_exceptions_of_2010() {
    let mut w = empty();
    let fed = w.connect_evolved();
    let of = |fom_module| FederationCall::CreateFederationExecution {
        federation_name: YARD.into(),
        fom_module,
    };
    let contradictory = module(&MODEL.replace("HLAfloat64BE", "Nothing"));
    for wrong in [FomModule::Url("other".into()), module("<a><b>"), contradictory] {
        assert_eq!(w.refused(fed, of(wrong)), Exception::InconsistentFDD);
    }
    w.ok(fed, of(module(MODEL)));
    let fed = w.join(fed, "old");
    let nothing = TransportationTypeHandle::INVALID;
    let call = SupportCall::GetTransportationTypeName { transportation_type: nothing };
    assert_eq!(w.refused(fed, call.clone()), Exception::InvalidTransportationType);
    // Others are not affected.
    let other = w.federate("new");
    assert_eq!(w.refused(other, call), Exception::InvalidTransportationTypeHandle);
}

#[test]
fn a_call_of_a_lost_session_has_a_reply() {
    let mut w = World::new();
    let fed = w.federate("a");
    w.lose(fed);
    assert_eq!(w.refused(fed, FederationCall::ListFederationExecutions), Exception::NotConnected);
    assert_eq!(w.refused(fed, FederationCall::Connect), Exception::ConnectionFailed);
}
