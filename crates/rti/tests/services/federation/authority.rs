//! What federates may do with which credentials (clauses 4.2, 4.5, 4.6 and 4.11).

use std::collections::BTreeSet;

use hemiola_hla::call::FederationCall as C;
use hemiola_hla::data::{Credentials, PASSWORD, RtiConfiguration};
use hemiola_hla::encoding::{HLAunicodeString, encode};
use hemiola_hla::{Exception, ResignAction};
use hemiola_rti::{Authority, Kernel, Limits, Permit, Right};

use crate::world::{Fed, MODEL, World, YARD, module};

fn permit(password: Option<&str>, rights: &[Right], federations: &[&str]) -> Permit {
    Permit {
        password: password.map(str::to_owned),
        rights: rights.iter().copied().collect::<BTreeSet<_>>(),
        federations: federations.iter().map(|one| (*one).to_owned()).collect(),
    }
}

/// An RTI whose "operator" may do everything, whose "driver" may join two federations, and whose guests, who have no
/// password, may join one.
fn guarded() -> World {
    let permits = [
        permit(Some("operator"), &Right::ALL, &["*"]),
        permit(Some("driver"), &[Right::Join], &["Yard", "Other"]),
        permit(None, &[Right::Join], &["Open*"]),
    ];
    let mut w = World::empty(Limits::default(), MODEL);
    let authority = Authority::Permits(permits.map(Into::into).into());
    w.kernel = Kernel::new(Limits::default()).with_authority(authority);
    w
}

fn credentials(password: &str) -> Credentials {
    let data = encode(&HLAunicodeString::from(password)).into();
    Credentials { kind: "HLAplainTextPassword".into(), data }
}

fn with(password: &str) -> C {
    C::ConnectWithCredentials { credentials: credentials(password) }
}

fn connected(w: &mut World, connect: C) -> Fed {
    let fed = w.open();
    w.ok(fed, connect);
    fed
}

/// Every form of creation.
fn creations(name: &str) -> [C; 6] {
    let name = || name.to_owned();
    let (one, all) = (|| module(MODEL), || vec![module(MODEL)]);
    let time = || "HLAinteger64Time".to_owned();
    [
        C::CreateFederationExecution { federation_name: name(), fom_module: one() },
        C::CreateFederationExecutionWithTime {
            federation_name: name(),
            fom_module: one(),
            logical_time_implementation_name: time(),
        },
        C::CreateFederationExecutionWithModules { federation_name: name(), fom_modules: all() },
        C::CreateFederationExecutionWithModulesAndTime {
            federation_name: name(),
            fom_modules: all(),
            logical_time_implementation_name: time(),
        },
        C::CreateFederationExecutionWithMIM {
            federation_name: name(),
            fom_modules: all(),
            mim_module: one(),
        },
        C::CreateFederationExecutionWithMIMAndTime {
            federation_name: name(),
            fom_modules: all(),
            mim_module: one(),
            logical_time_implementation_name: time(),
        },
    ]
}

/// Every form of joining.
fn joins(name: &str) -> [C; 4] {
    let (federation_name, federate_type) = (|| name.to_owned(), || "test".to_owned());
    let additional_fom_modules = || vec![module(MODEL)];
    let federate_name = || "one".to_owned();
    [
        C::JoinFederationExecution {
            federate_type: federate_type(),
            federation_name: federation_name(),
        },
        C::JoinFederationExecutionWithModules {
            federate_type: federate_type(),
            federation_name: federation_name(),
            additional_fom_modules: additional_fom_modules(),
        },
        C::JoinFederationExecutionWithName {
            federate_name: federate_name(),
            federate_type: federate_type(),
            federation_name: federation_name(),
        },
        C::JoinFederationExecutionWithNameAndModules {
            federate_name: federate_name(),
            federate_type: federate_type(),
            federation_name: federation_name(),
            additional_fom_modules: additional_fom_modules(),
        },
    ]
}

fn create(name: &str) -> C {
    let [create, ..] = creations(name);
    create
}

fn join(name: &str) -> C {
    let [join, ..] = joins(name);
    join
}

#[test]
fn a_wrong_password_is_refused_by_every_form_of_connect() {
    let mut w = guarded();
    let fed = w.open();
    let rti_configuration = RtiConfiguration::default;
    for password in ["", "operato", "operator ", "Operator", "driver\0"] {
        assert_eq!(w.refused(fed, with(password)), Exception::Unauthorized);
        let both = C::ConnectWithConfigurationAndCredentials {
            rti_configuration: rti_configuration(),
            credentials: credentials(password),
        };
        assert_eq!(w.refused(fed, both), Exception::Unauthorized);
    }
    assert_eq!(w.refused(fed, C::ListFederationExecutions), Exception::NotConnected);
    w.ok(fed, with("driver"));
    assert_eq!(w.refused(fed, with("operator")), Exception::AlreadyConnected);
}

#[test]
fn federates_without_credentials_need_a_permit_too() {
    let mut w = World::empty(Limits::default(), MODEL);
    let permits = [permit(Some("operator"), &Right::ALL, &["*"])];
    let authority = Authority::Permits(permits.map(Into::into).into());
    w.kernel = Kernel::new(Limits::default()).with_authority(authority);
    let fed = w.open();
    let rti_configuration = RtiConfiguration::default();
    for connect in [C::Connect, C::ConnectWithConfiguration { rti_configuration }] {
        assert_eq!(w.refused(fed, connect), Exception::Unauthorized);
    }
    let none = Credentials { kind: "HLAnoCredentials".into(), data: Vec::new().into() };
    let connect = C::ConnectWithCredentials { credentials: none };
    assert_eq!(w.refused(fed, connect), Exception::Unauthorized);
    let mut w = guarded();
    connected(&mut w, C::Connect);
}

#[test]
fn a_permit_names_services_and_federations() {
    let mut w = guarded();
    let operator = connected(&mut w, with("operator"));
    let driver = connected(&mut w, with("driver"));
    let guest = connected(&mut w, C::Connect);
    for call in creations(YARD) {
        assert_eq!(w.refused(driver, call.clone()), Exception::Unauthorized);
        assert_eq!(w.refused(guest, call), Exception::Unauthorized);
    }
    for name in [YARD, "Open sea"] {
        w.ok(operator, create(name));
    }
    for (fed, name) in [(driver, "Open sea"), (guest, YARD), (guest, "Nowhere")] {
        for call in joins(name) {
            assert_eq!(w.refused(fed, call), Exception::Unauthorized);
        }
    }
    // Nothing is said of a federation that the credentials do not allow, not even whether it exists.
    assert_eq!(w.refused(driver, join("Other")), Exception::FederationExecutionDoesNotExist);
    for (fed, name) in [(driver, YARD), (guest, "Open sea")] {
        w.ok(fed, join(name));
        let resign_action = Some(ResignAction::NoAction);
        w.ok(fed, C::ResignFederationExecution { resign_action });
        let destroy = C::DestroyFederationExecution { federation_name: name.into() };
        assert_eq!(w.refused(fed, destroy.clone()), Exception::Unauthorized);
        w.ok(operator, destroy);
    }
}

#[test]
fn a_federate_that_connects_again_has_the_permit_of_its_new_credentials() {
    let mut w = guarded();
    let fed = connected(&mut w, with("operator"));
    w.ok(fed, C::Disconnect);
    w.ok(fed, C::Connect);
    assert_eq!(w.refused(fed, create(YARD)), Exception::Unauthorized);
}

#[test]
fn clients_of_2010_give_the_password_in_a_setting() {
    let mut w = guarded();
    let fed = w.open();
    let configured = |password: &str| {
        let additional_settings = format!("API.version=IEEE 1516-2010\n{PASSWORD}={password}");
        let rti_configuration =
            RtiConfiguration { additional_settings, ..RtiConfiguration::default() };
        C::ConnectWithConfiguration { rti_configuration }
    };
    // Their edition does not know `Unauthorized`.
    assert_eq!(w.refused(fed, configured("wrong")), Exception::RTIinternalError);
    w.ok(fed, configured("driver"));
    assert_eq!(w.refused(fed, create(YARD)), Exception::RTIinternalError);
}
