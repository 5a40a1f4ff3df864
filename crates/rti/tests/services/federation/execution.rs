//! Creating, destroying and listing federation executions (clauses 4.5 to 4.11).

use std::sync::Arc;

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{FederationExecutionInformation, FomModule};
use hemiola_hla::{Callback, Exception, Reply, ResignAction};
use hemiola_rti::{Input, Limits, Owner, SessionId};
use hemiola_units::{Instant, Span};

use crate::world::{Fed, MODEL, World, YARD, module};

fn create(time: &str) -> FederationCall {
    FederationCall::CreateFederationExecutionWithTime {
        federation_name: YARD.into(),
        fom_module: module(MODEL),
        logical_time_implementation_name: time.into(),
    }
}

fn with_mim(mim_module: FomModule, time: &str) -> FederationCall {
    FederationCall::CreateFederationExecutionWithMIMAndTime {
        federation_name: YARD.into(),
        fom_modules: vec![module(MODEL)],
        mim_module,
        logical_time_implementation_name: time.into(),
    }
}

fn destroy() -> FederationCall {
    FederationCall::DestroyFederationExecution { federation_name: YARD.into() }
}

fn listed(w: &mut World, fed: Fed) -> Vec<FederationExecutionInformation> {
    w.ok(fed, FederationCall::ListFederationExecutions);
    let notices = w.notices(fed);
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    let Callback::ReportFederationExecutions { report } = notice.callback() else { panic!() };
    report.clone()
}

#[test]
fn every_form_creates_a_federation() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let (federation_name, fom_modules) = (YARD.to_owned(), vec![module(MODEL)]);
    let mim = module(hemiola_fom::standard_mim_text());
    let time = "HLAfloat64Time".to_owned();
    let calls = [
        FederationCall::CreateFederationExecution {
            federation_name: federation_name.clone(),
            fom_module: module(MODEL),
        },
        create(""),
        FederationCall::CreateFederationExecutionWithModules {
            federation_name: federation_name.clone(),
            fom_modules: fom_modules.clone(),
        },
        FederationCall::CreateFederationExecutionWithModulesAndTime {
            federation_name: federation_name.clone(),
            fom_modules: fom_modules.clone(),
            logical_time_implementation_name: time,
        },
        FederationCall::CreateFederationExecutionWithMIM {
            federation_name,
            fom_modules,
            mim_module: mim.clone(),
        },
        with_mim(mim, ""),
    ];
    for call in calls {
        w.ok(fed, call);
        assert_eq!(listed(&mut w, fed)[0].logical_time_implementation, "HLAfloat64Time");
        w.ok(fed, destroy());
    }
    assert_eq!(listed(&mut w, fed), []);
}

#[test]
fn a_federation_name_is_unique() {
    let mut w = World::new();
    let fed = w.connect();
    assert_eq!(w.refused(fed, create("")), Exception::FederationExecutionAlreadyExists);
    assert_eq!(w.refused(fed, create("no time")), Exception::FederationExecutionAlreadyExists);
    w.ok(fed, destroy());
    assert_eq!(w.refused(fed, create("no time")), Exception::CouldNotCreateLogicalTimeFactory);
    let with_mim = with_mim(module(hemiola_fom::standard_mim_text()), "no time");
    assert_eq!(w.refused(fed, with_mim), Exception::CouldNotCreateLogicalTimeFactory);
    w.ok(fed, create("HLAinteger64Time"));
}

#[test]
fn refused_modules_are_reported_with_their_problems() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let of = |fom_module| FederationCall::CreateFederationExecution {
        federation_name: YARD.into(),
        fom_module,
    };
    let url = |name: &str| FomModule::Url(name.into());
    assert_eq!(w.refused(fed, of(url("http://x/y.xml"))), Exception::CouldNotOpenFOM);
    assert_eq!(w.refused(fed, of(module("<a><b>"))), Exception::ErrorReadingFOM);
    let invalid = MODEL.replace("<name>Load</name>", "<name>Position</name>");
    assert_eq!(w.refused(fed, of(module(&invalid))), Exception::InvalidFOM);
    let inconsistent = MODEL.replace("HLAfloat64BE", "Nothing");
    let refusal = w.call(fed, of(module(&inconsistent))).unwrap_err();
    assert_eq!(refusal.exception, Exception::InconsistentFOM);
    assert!(refusal.details.contains("world.xml:11:42"), "{}", refusal.details);

    let standard = with_mim(url("HLAstandardMIM"), "");
    assert_eq!(w.refused(fed, standard), Exception::DesignatorIsHLAstandardMIM);
    assert_eq!(w.refused(fed, with_mim(url("other"), "")), Exception::CouldNotOpenMIM);
    assert_eq!(w.refused(fed, with_mim(module("<a>"), "")), Exception::ErrorReadingMIM);
    assert_eq!(w.refused(fed, with_mim(module(&invalid), "")), Exception::InvalidMIM);
    assert_eq!(listed(&mut w, fed), []);
}

#[test]
fn a_federation_with_federates_is_not_destroyed() {
    let mut w = World::new();
    let (a, other) = (w.federate("a"), w.connect());
    assert_eq!(w.refused(other, destroy()), Exception::FederatesCurrentlyJoined);
    w.resign(a, ResignAction::NoAction);
    w.ok(other, destroy());
    assert_eq!(w.refused(other, destroy()), Exception::FederationExecutionDoesNotExist);
}

#[test]
fn lists_are_one_notice_until_a_federation_comes_or_goes() {
    let mut w = World::empty(Limits::default(), MODEL);
    let [one, other] = [(), ()].map(|()| w.connect());
    let list = |w: &mut World, fed: Fed| {
        w.ok(fed, FederationCall::ListFederationExecutions);
        w.notices(fed).pop().unwrap()
    };
    let empty = list(&mut w, one);
    assert!(Arc::ptr_eq(&empty, &list(&mut w, one)) && Arc::ptr_eq(&empty, &list(&mut w, other)));
    w.ok(one, create(""));
    let full = list(&mut w, other);
    assert!(Arc::ptr_eq(&full, &list(&mut w, one)));
    assert_eq!(names(&mut w, one), [YARD]);
    w.ok(one, destroy());
    assert_eq!(list(&mut w, other).callback(), empty.callback());
}

#[test]
fn members_are_listed() {
    let mut w = World::new();
    let (other, _a, _b) = (w.connect(), w.federate("a"), w.federate("b"));
    let list = |name: &str| FederationCall::ListFederationExecutionMembers {
        federation_name: name.into(),
    };
    assert_eq!(w.ok(other, list(YARD)), Reply::Done);
    w.ok(other, list("Nowhere"));
    let notices = w.notices(other);
    let Callback::ReportFederationExecutionMembers { report, .. } = notices[0].callback() else {
        panic!()
    };
    let names: Vec<&str> = report.iter().map(|one| one.federate_name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(report[0].federate_type, "test");
    let federation_name = "Nowhere".to_owned();
    let expected = Callback::ReportFederationExecutionDoesNotExist { federation_name };
    assert_eq!(notices[1].callback(), &expected);
}

/// The name of the federation that a test creates under this number, or the refusal.
fn create_numbered(w: &mut World, fed: Fed, number: usize) -> Result<Reply, hemiola_hla::Refusal> {
    let federation_name = format!("F{number}");
    w.call(
        fed,
        FederationCall::CreateFederationExecution { federation_name, fom_module: module(MODEL) },
    )
}

fn names(w: &mut World, fed: Fed) -> Vec<String> {
    listed(w, fed).into_iter().map(|one| one.federation_name).collect()
}

#[test]
fn an_owner_at_its_quota_replaces_its_abandoned_federations_and_leaves_places_to_others() {
    let limits = Limits {
        federations: 5,
        federations_of_owner: 4,
        federations_of_session: 2,
        ..Limits::default()
    };
    let mut w = World::empty(limits, MODEL);
    let [one, two, three] = [(), (), ()].map(|()| w.connect());
    for number in 0..4 {
        create_numbered(&mut w, if number < 2 { one } else { two }, number).unwrap();
    }
    let refusal = create_numbered(&mut w, one, 9).unwrap_err();
    assert!(refusal.details.contains("at most 2 federation executions created by one session"));
    let refusal = create_numbered(&mut w, three, 4).unwrap_err();
    assert!(refusal.details.contains("at most 4 federation executions of one host or user"));
    let other = w.connect();
    w.kernel.set_owner(other.session, Owner(1));
    create_numbered(&mut w, other, 4).unwrap();
    w.input(Input::Lost(one.session));
    create_numbered(&mut w, three, 5).unwrap();
    assert_eq!(names(&mut w, three), ["F1", "F2", "F3", "F4", "F5"]);
    w.input(Input::Lost(other.session));
    create_numbered(&mut w, three, 6).unwrap();
    assert_eq!(names(&mut w, three), ["F2", "F3", "F4", "F5", "F6"]);
}

#[test]
fn a_federation_is_abandoned_without_federates_once_its_creator_has_gone() {
    let mut w = World::new();
    let at = |seconds: i64| Instant::ZERO + Span::from_millis(1000 * seconds);
    assert_eq!(w.kernel.abandoned_since(), None);
    w.input(Input::Tick(at(1)));
    w.input(Input::Lost(SessionId(1)));
    assert_eq!(w.kernel.abandoned_since(), Some(at(1)));
    let member = w.federate("member");
    assert_eq!(w.kernel.abandoned_since(), None);
    w.input(Input::Tick(at(2)));
    w.input(Input::Lost(member.session));
    assert_eq!(w.kernel.abandoned_since(), Some(at(2)));
    assert!(w.kernel.destroy_abandoned(at(1)).is_empty());
    assert_eq!(w.kernel.destroy_abandoned(at(2)), [YARD]);
    assert_eq!(w.kernel.abandoned_since(), None);
}

#[test]
fn federations_are_limited() {
    let limits = Limits { federations: 1, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let fed = w.connect();
    let call = FederationCall::CreateFederationExecution {
        federation_name: "Second".into(),
        fom_module: module(MODEL),
    };
    assert_eq!(w.refused(fed, call), Exception::RTIinternalError);
}
