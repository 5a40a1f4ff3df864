//! Advisories about attributes whose regions move (clauses 6.19, 6.20, 6.23 and 6.24).

use hemiola_hla::call::SupportCall;
use hemiola_hla::{Exception, Reply};

use super::yard;
use crate::world::{Fed, World};

fn advise_scope(w: &mut World, fed: Fed) {
    w.ok(fed, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    let on = w.ok(fed, SupportCall::GetAttributeScopeAdvisorySwitch);
    assert_eq!(on, Reply::Flag(true));
}

#[test]
fn attributes_come_into_scope_and_leave_it_as_regions_move() {
    let (mut w, owner, viewer) = yard();
    advise_scope(&mut w, viewer);
    let wanted = w.region(viewer, "X 0..10");
    let sent = w.region(owner, "X 5..6");
    w.subscribe_within(viewer, "Position Driver", &[wanted]);
    let car = w.register_within(owner, "Position", &[sent]);
    assert_eq!(
        w.callbacks(viewer),
        ["discover 1 as Vehicle.Car", "in scope 1 Driver+Position"],
        "the driver is sent everywhere",
    );
    w.move_region(owner, sent, "X 50..60");
    assert_eq!(w.callbacks(viewer), ["out of scope 1 Position"]);
    w.move_region(viewer, wanted, "X 40..51");
    assert_eq!(w.callbacks(viewer), ["in scope 1 Position"]);
    w.move_region(viewer, wanted, "X 40..52");
    assert_eq!(w.callbacks(viewer), [""; 0], "nothing has changed");
    let more = w.region(owner, "X 0..1");
    w.associate(owner, car, "Driver", &[more]);
    assert_eq!(w.callbacks(viewer), ["out of scope 1 Driver"]);
    w.unassociate(owner, car, "Driver", &[more]);
    assert_eq!(w.callbacks(viewer), ["in scope 1 Driver"]);
    w.unsubscribe_within(viewer, "Position", &[wanted]);
    assert_eq!(w.callbacks(viewer), ["out of scope 1 Position"]);
}

#[test]
fn owners_learn_which_updates_are_wanted_as_regions_move() {
    let (mut w, owner, viewer) = yard();
    w.ok(owner, SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: true });
    w.ok(owner, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "X 5..6");
    w.register_within(owner, "Position", &[sent]);
    assert_eq!(w.callbacks(owner), ["start Vehicle.Car", "updates on 1 Position"]);
    w.move_region(viewer, wanted, "X 10..20");
    assert_eq!(w.callbacks(owner), ["updates off 1 Position"]);
    w.move_region(owner, sent, "X 10..11");
    assert_eq!(w.callbacks(owner), ["updates on 1 Position"]);
}

#[test]
fn an_instance_that_left_is_still_known() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "X 5..6");
    let car = w.register_within(owner, "Position", &[sent]);
    w.callbacks(viewer);
    w.move_region(owner, sent, "X 50..60");
    let ask = SupportCall::GetKnownObjectClassHandle { object_instance: car };
    w.ok(viewer, ask.clone());
    w.delete(owner, car);
    assert_eq!(w.callbacks(viewer), ["remove 1"]);
    assert_eq!(w.refused(viewer, ask), Exception::ObjectInstanceNotKnown);
    // The region is free again.
    w.ok(owner, hemiola_hla::call::DistributionCall::DeleteRegion { region: sent });
}
