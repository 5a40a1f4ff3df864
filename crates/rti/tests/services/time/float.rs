//! Time management in `HLAfloat64Time`.

use hemiola_hla::call::{FederationCall, ObjectCall, TimeCall};
use hemiola_hla::{
    Callback, EncodedTime, Exception, LogicalInterval, LogicalTime, TimeImplementation,
};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, YARD, module};

fn world() -> World {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let call = FederationCall::CreateFederationExecution {
        federation_name: YARD.into(),
        fom_module: module(MODEL),
    };
    w.ok(fed, call);
    w
}

fn time(value: f64) -> EncodedTime {
    LogicalTime::float(value).unwrap().into()
}

fn in_time(w: &mut World, name: &str, lookahead: f64) -> Fed {
    let fed = w.federate(name);
    let lookahead = LogicalInterval::float(lookahead).unwrap().into();
    w.ok(fed, TimeCall::EnableTimeRegulation { lookahead });
    w.ok(fed, TimeCall::EnableTimeConstrained);
    w.notices(fed);
    fed
}

fn grants(w: &mut World, fed: Fed) -> Vec<f64> {
    let decoded = |time: &EncodedTime| time.decode(TimeImplementation::Float64).unwrap().as_f64();
    let notices = w.notices(fed);
    let grant = |callback: &Callback| match callback {
        Callback::TimeAdvanceGrant { time } => decoded(time),
        other => panic!("{other:?}"),
    };
    notices.iter().map(|notice| grant(notice.callback())).collect()
}

#[test]
fn federates_advance_in_fractional_steps() {
    let mut w = world();
    let (a, b) = (in_time(&mut w, "a", 0.1), in_time(&mut w, "b", 0.1));
    let mut now = 0.0;
    for _ in 0..50 {
        now += 0.1;
        w.ok(a, TimeCall::TimeAdvanceRequest { time: time(now) });
        w.ok(b, TimeCall::TimeAdvanceRequest { time: time(now) });
        assert_eq!((grants(&mut w, a), grants(&mut w, b)), (vec![now], vec![now]));
    }
}

#[test]
fn negative_zero_is_zero_and_extreme_times_neither_overflow_nor_end_the_federation() {
    let mut w = world();
    let (a, b) = (in_time(&mut w, "a", -0.0), in_time(&mut w, "b", 1e308));
    for federate in [a, b] {
        w.ok(federate, TimeCall::TimeAdvanceRequest { time: time(-0.0) });
    }
    assert_eq!((grants(&mut w, a), grants(&mut w, b)), (vec![0.0], vec![0.0]));
    for now in [1e308, f64::MAX] {
        for federate in [a, b] {
            w.ok(federate, TimeCall::TimeAdvanceRequest { time: time(now) });
        }
        assert_eq!((grants(&mut w, a), grants(&mut w, b)), (vec![now], vec![now]));
    }
    let infinite = EncodedTime::new(&f64::INFINITY.to_be_bytes());
    let beyond = TimeCall::TimeAdvanceRequest { time: infinite };
    assert_eq!(w.refused(a, beyond), Exception::InvalidLogicalTime);
    let lookahead = hemiola_hla::EncodedInterval::new(&f64::NAN.to_be_bytes());
    let modify = TimeCall::ModifyLookahead { lookahead };
    assert_eq!(w.refused(a, modify), Exception::InvalidLookahead);
}

#[test]
fn a_lookahead_below_the_resolution_still_advances() {
    let mut w = world();
    let (a, b) = (in_time(&mut w, "a", 1e-9), in_time(&mut w, "b", 1e-9));
    for at in [1e15, 1e15, 2e15, f64::MAX] {
        w.ok(a, TimeCall::TimeAdvanceRequest { time: time(at) });
        w.ok(b, TimeCall::TimeAdvanceRequest { time: time(at) });
        assert_eq!((grants(&mut w, a), grants(&mut w, b)), (vec![at], vec![at]));
    }
}

#[test]
fn invalid_times_are_refused() {
    let mut w = world();
    let a = in_time(&mut w, "a", 0.0);
    w.publish_interaction(a, "Command");
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        let time = EncodedTime::new(&value.to_be_bytes());
        let call = TimeCall::TimeAdvanceRequest { time };
        assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime);
        let call = ObjectCall::SendInteractionWithTime {
            interaction_class: w.interaction("Command"),
            parameter_values: Vec::new(),
            user_supplied_tag: "".into(),
            time,
        };
        assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime);
    }
}
