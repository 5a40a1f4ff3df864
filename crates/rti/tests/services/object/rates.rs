//! Update rates: a subscriber receives the newest value at its rate (clauses 6.11 and 5.8).

use hemiola_hla::call::{DeclarationCall, ObjectCall};
use hemiola_hla::{AttributeHandle, Callback, ObjectInstanceHandle};
use hemiola_rti::{Input, Limits};
use hemiola_units::{Instant, Random};

use crate::world::{Fed, MODEL, World, model_with};

/// The rates of the object model, in updates per second.
const RATES: [(&str, i64); 3] = [("Slow", 2), ("Medium", 10), ("Fast", 50)];

fn model(text: &str) -> String {
    let rate = |(name, hertz): &(&str, i64)| {
        format!("<updateRate><name>{name}</name><rate>{hertz}</rate></updateRate>")
    };
    let all: String = RATES.iter().map(rate).collect();
    text.replace("<updateRate><name>Slow</name><rate>2</rate></updateRate>", &all)
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn subscribe(w: &mut World, fed: Fed, rate: &str) {
    let call = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Position Load"),
        update_rate_designator: rate.into(),
    };
    w.ok(fed, call);
}

/// Updates the load, which is sent with best effort, or the position, which is sent reliably.
fn update(w: &mut World, fed: Fed, car: ObjectInstanceHandle, name: &str, value: i64) {
    let call = ObjectCall::UpdateAttributeValues {
        object_instance: car,
        attribute_values: vec![(w.attribute(name), value.to_be_bytes().to_vec().into())],
        user_supplied_tag: "".into(),
    };
    w.ok(fed, call);
}

/// The values of an attribute that a federate has received since the last time.
fn received(w: &mut World, fed: Fed, attribute: AttributeHandle) -> Vec<i64> {
    let value = |callback: &Callback| match callback {
        Callback::ReflectAttributeValues { attribute_values, .. } => {
            let own = attribute_values.iter().find(|(one, _)| *one == attribute)?;
            Some(i64::from_be_bytes(own.1[..].try_into().unwrap()))
        }
        _ => None,
    };
    w.notices(fed).iter().filter_map(|notice| value(notice.callback())).collect()
}

/// What a subscriber must receive, computed for each millisecond from everything that was sent.
struct Oracle {
    period: i64,
    last: Option<i64>,
    newest: i64,
    delivered: i64,
}

impl Oracle {
    /// The values that the subscriber receives in this millisecond, in which these were sent.
    fn step(&mut self, now: i64, sent: &[i64]) -> Vec<i64> {
        let mut expected = Vec::new();
        let mut try_now = |oracle: &mut Self| {
            let is_allowed = oracle.last.is_none_or(|last| now >= last + oracle.period);
            if oracle.newest != oracle.delivered && is_allowed {
                (oracle.last, oracle.delivered) = (Some(now), oracle.newest);
                expected.push(oracle.newest);
            }
        };
        try_now(self);
        for value in sent {
            self.newest = *value;
            try_now(self);
        }
        expected
    }
}

#[test]
fn every_subscriber_receives_the_newest_value_at_its_rate() {
    for (seed, text) in (0..40).flat_map(|seed| {
        [(seed, MODEL.to_owned()), (seed, model_with("delaySubscriptionEvaluation"))]
    }) {
        let mut random = Random::from_seed(seed);
        let mut w = World::with(Limits::default(), &model(&text));
        let owner = w.federate("owner");
        w.publish(owner, "Vehicle", "Position Load");
        let viewers = RATES.map(|(rate, hertz)| {
            let viewer = w.federate(rate);
            subscribe(&mut w, viewer, rate);
            let oracle = Oracle { period: 1000 / hertz, last: None, newest: 0, delivered: 0 };
            (viewer, oracle)
        });
        let car = w.register(owner, "Vehicle");
        let load = w.attribute("Load");
        let (mut viewers, mut count) = (viewers, 0);
        for now in 0..2000 {
            w.input(Input::Tick(at(now as u64)));
            // Bursts, and silence in which the last value of a burst must arrive.
            let burst = if now < 1400 && now / 300 % 2 == 0 { random.below(3) } else { 0 };
            let sent: Vec<i64> = (count + 1..=count + burst as i64).collect();
            count += burst as i64;
            sent.iter().for_each(|value| update(&mut w, owner, car, "Load", *value));
            for (viewer, oracle) in &mut viewers {
                let expected = oracle.step(now, &sent);
                assert_eq!(received(&mut w, *viewer, load), expected, "seed {seed} at {now} ms");
            }
        }
        assert!(viewers.iter().all(|(_, oracle)| oracle.delivered == count), "seed {seed}");
        assert_eq!(w.kernel.next_due(), None);
    }
}

/// A yard in which the value 2 of the load waits for the viewer's rate until 500 ms.
fn waiting() -> (World, Fed, Fed, ObjectInstanceHandle) {
    let mut w = World::new();
    let (owner, viewer) = (w.federate("owner"), w.federate("viewer"));
    w.publish(owner, "Vehicle", "Position Load");
    subscribe(&mut w, viewer, "Slow");
    let car = w.register(owner, "Vehicle");
    update(&mut w, owner, car, "Load", 1);
    update(&mut w, owner, car, "Load", 2);
    let load = w.attribute("Load");
    assert_eq!(received(&mut w, viewer, load), [1]);
    assert_eq!(w.kernel.next_due(), Some(at(500)));
    (w, owner, viewer, car)
}

#[test]
fn what_waits_for_a_rate_is_gone_with_its_subscription_its_instance_and_its_federate() {
    let changes: [fn(&mut World, Fed, Fed, ObjectInstanceHandle); 4] = [
        |w, _, viewer, _| w.unsubscribe(viewer, "Vehicle"),
        |w, owner, _, car| w.delete(owner, car),
        |w, _, viewer, car| {
            w.ok(viewer, ObjectCall::LocalDeleteObjectInstance { object_instance: car });
        },
        |w, _, viewer, _| w.lose(viewer),
    ];
    for change in changes {
        let (mut w, owner, viewer, car) = waiting();
        change(&mut w, owner, viewer, car);
        w.input(Input::Tick(at(500)));
        let load = w.attribute("Load");
        assert_eq!(received(&mut w, viewer, load), Vec::<i64>::new());
        assert_eq!(w.kernel.next_due(), None);
    }
}

#[test]
fn what_waits_for_a_rate_is_obsolete_once_a_newer_value_is_sent_reliably() {
    let (mut w, owner, viewer, car) = waiting();
    let call = ObjectCall::RequestAttributeTransportationTypeChange {
        object_instance: car,
        attributes: w.attributes("Load"),
        transportation_type: hemiola_hla::TransportationTypeHandle::RELIABLE,
    };
    w.ok(owner, call);
    update(&mut w, owner, car, "Load", 3);
    let load = w.attribute("Load");
    assert_eq!(received(&mut w, viewer, load), [3]);
    w.input(Input::Tick(at(500)));
    assert_eq!(received(&mut w, viewer, load), Vec::<i64>::new());
}

#[test]
fn a_federate_that_does_not_advance_receives_what_waited_with_its_next_request() {
    let (mut w, owner, viewer, _) = waiting();
    w.regulate(owner, 1);
    w.constrain(viewer);
    w.input(Input::Tick(at(500)));
    let load = w.attribute("Load");
    assert_eq!(received(&mut w, viewer, load), Vec::<i64>::new(), "it holds messages back");
    w.tara(viewer, 0);
    assert_eq!(received(&mut w, viewer, load), [2]);
}

#[test]
fn an_attribute_that_stands_twice_in_an_update_waits_once() {
    let (mut w, owner, viewer, car) = waiting();
    let load = w.attribute("Load");
    let value = |value: i64| (load, value.to_be_bytes().to_vec().into());
    let call = ObjectCall::UpdateAttributeValues {
        object_instance: car,
        attribute_values: vec![value(3), value(4)],
        user_supplied_tag: "".into(),
    };
    w.ok(owner, call);
    w.input(Input::Tick(at(500)));
    assert_eq!(w.notices(viewer).len(), 1);
}
