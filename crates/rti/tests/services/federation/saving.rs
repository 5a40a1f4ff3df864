//! Saving and restoring (clauses 4.19 to 4.35).

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall as C, ObjectCall, OwnershipCall, SupportCall,
    TimeCall,
};
use hemiola_hla::data::{AttributeRegions, Data, RangeBounds};
use hemiola_hla::{
    Callback, DimensionHandle, Exception, FederateHandle, LogicalTime, MessageRetractionHandle,
    ObjectInstanceHandle, Reply, ResignAction,
};
use hemiola_rti::{CallId, Effect, Input, Limits, SaveName};
use hemiola_units::Instant;

use crate::world::{Fed, MODEL, Storage, World, YARD, interval, model_with, time};

impl World {
    fn request_save(&mut self, fed: Fed, label: &str) {
        self.ok(fed, C::RequestFederationSave { label: label.into() });
    }

    fn request_save_at(&mut self, fed: Fed, label: &str, at: i64) {
        self.ok(
            fed,
            C::RequestFederationSaveWithTime { label: label.into(), time: time(at).into() },
        );
    }

    fn request_restore(&mut self, fed: Fed, label: &str) {
        self.ok(fed, C::RequestFederationRestore { label: label.into() });
    }

    /// These federates save.
    fn all_save(&mut self, feds: &[Fed]) {
        feds.iter().for_each(|fed| drop(self.ok(*fed, C::FederateSaveBegun)));
        feds.iter().for_each(|fed| drop(self.ok(*fed, C::FederateSaveComplete)));
    }

    /// Saves the federation of these federates. Returns the image.
    fn save(&mut self, feds: &[Fed], label: &str) -> Data {
        self.request_save(feds[0], label);
        self.all_save(feds);
        self.image(label)
    }

    fn image(&self, label: &str) -> Data {
        self.saves[&name(label)].clone()
    }

    /// Restores the federation of these federates. Returns them with their new handles.
    fn restore(&mut self, feds: &[Fed], label: &str) -> Vec<Fed> {
        feds.iter().for_each(|fed| drop(self.callbacks(*fed)));
        self.request_restore(feds[0], label);
        let mut restored = Vec::new();
        for fed in feds {
            let notices = self.notices(*fed);
            let handle = notices.iter().find_map(|notice| match notice.callback() {
                Callback::InitiateFederateRestore { post_restore_federate_handle, .. } => {
                    Some(*post_restore_federate_handle)
                }
                _ => None,
            });
            let handle = handle.unwrap_or_else(|| panic!("{notices:?}, {:?}", self.failures));
            restored.push(Fed { handle, ..*fed });
        }
        feds.iter().for_each(|fed| drop(self.ok(*fed, C::FederateRestoreComplete)));
        for fed in feds {
            assert_eq!(self.callbacks(*fed).first().unwrap(), "FederationRestored");
        }
        restored
    }

    /// A federate requests the restore of this image, once it is sealed. Returns why it is refused.
    fn invalid(&mut self, fed: Fed, image: Vec<u8>) -> String {
        self.saves.insert(name("first"), sealed(image));
        self.request_restore(fed, "first");
        self.failures.pop().unwrap()
    }

    /// The last callback of a federate, without what came before.
    fn last(&mut self, fed: Fed) -> String {
        self.callbacks(fed).pop().unwrap_or_default()
    }

    fn reserve(&mut self, fed: Fed, name: &str) {
        self.ok(fed, ObjectCall::ReserveObjectInstanceName { object_instance_name: name.into() });
    }
}

fn name(label: &str) -> SaveName {
    SaveName { federation: YARD.into(), label: label.into() }
}

/// A world with two federates.
fn pair() -> (World, [Fed; 2]) {
    let mut w = World::saving();
    let feds = ["a", "b"].map(|name| w.federate(name));
    (w, feds)
}

/// Puts something into every table of a federation. Returns its federates and an instance.
fn fill(w: &mut World) -> ([Fed; 3], ObjectInstanceHandle) {
    let [owner, viewer, idle] = ["owner", "viewer", "idle"].map(|name| w.federate(name));
    for fed in [owner, viewer] {
        w.publish(fed, "Vehicle.Car", "Position Load Driver");
        w.publish_interaction(fed, "Command.Stop");
        w.regulate(fed, 2);
        w.constrain(fed);
    }
    w.ok(viewer, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    w.subscribe(viewer, "Vehicle.Car", "Position Load");
    w.subscribe_interaction(viewer, "Command");
    let slowly = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Load"),
        update_rate_designator: "Slow".into(),
    };
    w.ok(idle, slowly);
    let [car, other] = [(); 2].map(|()| w.register(owner, "Vehicle.Car"));
    // A name, a synchronization point with a federate that has achieved it, and negotiations.
    w.reserve(idle, "Reserved");
    let register = C::RegisterFederationSynchronizationPoint {
        synchronization_point_label: "ready".into(),
        user_supplied_tag: "tag".into(),
    };
    w.ok(owner, register);
    let achieved = C::SynchronizationPointAchieved {
        synchronization_point_label: "ready".into(),
        successfully: false,
    };
    w.ok(idle, achieved);
    let attributes = w.attributes("Driver");
    let offer = OwnershipCall::NegotiatedAttributeOwnershipDivestiture {
        object_instance: car,
        attributes,
        user_supplied_tag: "offer".into(),
    };
    w.ok(owner, offer);
    let attributes = w.attributes("Load");
    let seek = OwnershipCall::AttributeOwnershipAcquisition {
        object_instance: car,
        desired_attributes: attributes,
        user_supplied_tag: "seek".into(),
    };
    w.ok(viewer, seek);
    regions(w, owner, viewer, car);
    // Messages in time stamp order for two federates, messages in receive order, a deletion, and retraction handles.
    w.update_at(owner, car, "Position Driver", 5);
    w.send_at(owner, "Command.Stop", 4);
    // The second value waits for the rate of a subscriber.
    w.update(owner, car, "Load");
    w.update(owner, car, "Load");
    w.ok(idle, ObjectCall::LocalDeleteObjectInstance { object_instance: other });
    let delete = ObjectCall::DeleteObjectInstanceWithTime {
        object_instance: other,
        user_supplied_tag: "tag".into(),
        time: time(6).into(),
    };
    w.ok(owner, delete);
    w.subscribe_interaction(owner, "Command");
    w.send(viewer, "Command.Stop", "");
    w.tar(viewer, 10);
    ([owner, viewer, idle], car)
}

fn regions(w: &mut World, owner: Fed, viewer: Fed, car: ObjectInstanceHandle) {
    let dimensions: Vec<DimensionHandle> = vec![w.model.dimension_named("X").unwrap()];
    let [sent, wanted] = [owner, viewer].map(|fed| {
        let call = DistributionCall::CreateRegion { dimensions: dimensions.clone() };
        let Reply::Region(region) = w.ok(fed, call) else { panic!("no region") };
        let range_bounds = RangeBounds { lower: 3, upper: 9 };
        let set = SupportCall::SetRangeBounds { region, dimension: dimensions[0], range_bounds };
        w.ok(fed, set);
        w.ok(fed, DistributionCall::CommitRegionModifications { regions: vec![region] });
        region
    });
    let attributes = w.attributes("Position");
    let associate = DistributionCall::AssociateRegionsForUpdates {
        object_instance: car,
        attributes_and_regions: vec![AttributeRegions { attributes, regions: vec![sent] }],
    };
    w.ok(owner, associate);
    let attributes = w.attributes("Driver");
    let subscribe = DistributionCall::SubscribeObjectClassAttributesWithRegionsAndRate {
        object_class: w.class("Vehicle.Car"),
        attributes_and_regions: vec![AttributeRegions { attributes, regions: vec![wanted] }],
        active: true,
        update_rate_designator: "Slow".into(),
    };
    w.ok(viewer, subscribe);
    let interaction_class = w.interaction("Command");
    let regions = vec![wanted];
    let subscribe = DistributionCall::SubscribeInteractionClassWithRegions {
        interaction_class,
        active: true,
        regions,
    };
    w.ok(viewer, subscribe);
}

#[test]
fn every_federate_saves_and_learns_that_the_federation_is_saved() {
    let (mut w, [a, b]) = pair();
    w.request_save(a, "first");
    for fed in [a, b] {
        assert_eq!(w.callbacks(fed), [r#"InitiateFederateSave { label: "first" }"#]);
    }
    w.ok(a, C::FederateSaveBegun);
    w.ok(b, C::FederateSaveBegun);
    w.ok(a, C::FederateSaveComplete);
    assert_eq!(w.callbacks(a), [""; 0]);
    assert!(w.saves.is_empty(), "not all have saved");
    w.ok(b, C::FederateSaveComplete);
    for fed in [a, b] {
        assert_eq!(w.callbacks(fed), ["FederationSaved"]);
    }
    assert!(w.saves.contains_key(&name("first")));
    w.publish(a, "Vehicle", "Load");
}

#[test]
fn the_status_of_a_save_is_reported_for_every_federate() {
    let (mut w, [a, b]) = pair();
    let status = |w: &mut World| {
        w.callbacks(a);
        w.ok(a, C::QueryFederationSaveStatus);
        let last = w.notices(a).pop().unwrap();
        let Callback::FederationSaveStatusResponse { response } = last.callback() else {
            panic!("{last:?}")
        };
        assert_eq!(
            response.iter().map(|one| one.federate).collect::<Vec<_>>(),
            [a.handle, b.handle]
        );
        response.iter().map(|one| one.status.name()).collect::<Vec<_>>()
    };
    assert_eq!(status(&mut w), ["NO_SAVE_IN_PROGRESS"; 2]);
    w.request_save(a, "first");
    w.ok(a, C::FederateSaveBegun);
    assert_eq!(status(&mut w), ["FEDERATE_SAVING", "FEDERATE_INSTRUCTED_TO_SAVE"]);
    w.ok(a, C::FederateSaveComplete);
    w.ok(b, C::FederateSaveBegun);
    assert_eq!(status(&mut w), ["FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE", "FEDERATE_SAVING"]);
    w.ok(b, C::FederateSaveComplete);
    assert_eq!(status(&mut w), ["NO_SAVE_IN_PROGRESS"; 2]);
}

#[test]
fn the_status_of_a_restore_is_reported_for_every_federate() {
    let (mut w, [a, b]) = pair();
    w.save(&[a, b], "first");
    let status = |w: &mut World| {
        w.callbacks(a);
        w.ok(a, C::QueryFederationRestoreStatus);
        let last = w.notices(a).pop().unwrap();
        let Callback::FederationRestoreStatusResponse { response } = last.callback() else {
            panic!("{last:?}")
        };
        let short = |one: &hemiola_hla::data::FederateRestoreStatus| {
            format!("{} {} {}", one.before, one.after, one.status)
        };
        response.iter().map(short).collect::<Vec<_>>()
    };
    let none = "0 NO_RESTORE_IN_PROGRESS";
    assert_eq!(status(&mut w), [format!("1 {none}"), format!("2 {none}")]);
    w.storage = Storage::Silent(Vec::new());
    w.request_restore(a, "first");
    let pending = "1 0 FEDERATE_RESTORE_REQUEST_PENDING".to_owned();
    assert_eq!(status(&mut w), [pending, format!("2 {none}")]);
    w.storage_answers();
    w.ok(b, C::FederateRestoreComplete);
    let waits = "2 2 FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE";
    assert_eq!(status(&mut w), ["1 1 FEDERATE_RESTORING", waits]);
}

#[test]
fn what_is_restored_is_what_was_saved() {
    for model in [MODEL.to_owned(), model_with("delaySubscriptionEvaluation")] {
        let mut w = World::with(Limits { image_len: 1 << 24, ..Limits::default() }, &model);
        w.input(Input::Tick(Instant::from_nanos(1_000_000_000)));
        let (feds, _) = fill(&mut w);
        let first = w.save(&feds, "first");
        let restored = w.restore(&feds, "first");
        assert_eq!(restored, feds, "federates keep their names in the same federation");
        let again = w.save(&feds, "again");
        assert!(first.len() > 1000 && first.len() + "again".len() - "first".len() == again.len());
        // The images differ in their labels, and so in their checksums.
        assert_eq!(body(&first), body(&again));
    }
}

/// An image behind its label.
fn body(image: &Data) -> Data {
    image.slice(28 + 4 + YARD.len() + 4 + "first".len()..)
}

#[test]
fn the_management_object_model_is_restored() {
    let (mut w, feds) = pair();
    let [manager, _] = feds;
    let class = "HLAobjectRoot.HLAmanager.HLAfederate";
    let object_class = w.model.object_class_named(class).unwrap();
    let attributes = ["HLAfederateName", "HLAupdatesSent"];
    let attributes = attributes.map(|name| w.model.attribute_named(object_class, name).unwrap());
    let subscribe = DeclarationCall::SubscribeObjectClassAttributes {
        object_class,
        attributes: attributes.to_vec(),
    };
    w.ok(manager, subscribe);
    w.save(&feds, "first");
    let feds = w.restore(&feds, "first");
    // It goes on: a federate that resigns is removed.
    w.callbacks(manager);
    w.resign(feds[1], ResignAction::NoAction);
    assert!(w.callbacks(manager).iter().any(|one| one.starts_with("remove")), "its instance stays");
}

#[test]
fn other_federates_of_the_same_types_take_the_places_of_those_that_saved() {
    let mut w = World::saving();
    let (feds, car) = fill(&mut w);
    w.save(&feds, "first");
    let saves = std::mem::take(&mut w.saves);
    // In another RTI, with other names and in another order.
    let mut w = World::saving();
    w.saves = saves;
    let gone = w.federate("gone");
    w.resign(gone, ResignAction::NoAction);
    let others = ["x", "viewer", "z"].map(|name| w.federate(name));
    w.request_restore(others[0], "first");
    let asked: Vec<String> = others.iter().map(|fed| w.last(*fed)).collect();
    let initiate = |name: &str, handle: FederateHandle| {
        format!(
            "InitiateFederateRestore {{ label: \"first\", federate_name: {name:?}, \
             post_restore_federate_handle: {handle:?} }}"
        )
    };
    let [owner, viewer, idle] = feds.map(|fed| fed.handle);
    // Those of other names take the places in the order of their handles; `x` has the greatest.
    let expected = [initiate("idle", idle), initiate("viewer", viewer), initiate("owner", owner)];
    assert_eq!(asked, expected);
    others.iter().for_each(|fed| drop(w.ok(*fed, C::FederateRestoreComplete)));
    let [owner, viewer] =
        [(2, owner), (1, viewer)].map(|(at, handle)| Fed { handle, ..others[at] });
    w.callbacks(viewer);
    // The message queue, the pending request and the ownership are those of the save.
    w.tar(owner, 20);
    let delivered = w.callbacks(viewer);
    let ends = ["receive Command at 4", "grant 10"];
    assert!(delivered.iter().any(|one| one == ends[0]), "{delivered:?}");
    assert_eq!(delivered.last().unwrap(), ends[1]);
    w.update(owner, car, "Load");
}

#[test]
fn a_save_at_a_time_waits_for_the_federates_that_are_time_constrained() {
    let mut w = World::saving();
    let [a, b] = ["a", "b"].map(|name| w.in_time(name, 1));
    let idle = w.federate("idle");
    w.request_save_at(a, "at five", 5);
    w.tar(a, 5);
    w.tar(b, 5);
    let initiate = "InitiateFederateSaveWithTime { label: \"at five\", time: ";
    for fed in [a, b] {
        let told = w.callbacks(fed);
        assert_eq!(told[0], "grant 5");
        assert!(told[1].starts_with(initiate), "{told:?}");
    }
    assert!(w.callbacks(idle)[0].starts_with(initiate));
    w.all_save(&[a, b, idle]);
    assert_eq!(w.last(idle), "FederationSaved");
}

#[test]
fn a_save_at_a_time_waits_for_messages_at_that_time() {
    let (mut w, [a, b]) = pair();
    w.constrain(a);
    w.regulate(b, 1);
    w.publish_interaction(b, "Command.Stop");
    w.subscribe_interaction(a, "Command.Stop");
    w.request_save_at(b, "at five", 5);
    w.callbacks(a);
    w.tar(a, 8);
    w.tar(b, 4);
    assert_eq!(w.callbacks(a), [""; 0], "a message at 5 can still come");
    w.send_at(b, "Command.Stop", 5);
    w.tar(b, 5);
    assert!(w.last(a).starts_with("InitiateFederateSaveWithTime"));
    w.all_save(&[a, b]);
    w.restore(&[a, b], "at five");
    w.tar(b, 9);
    assert_eq!(w.callbacks(a), ["receive Command.Stop at 5", "grant 8"]);
}

#[test]
fn no_federate_passes_the_time_of_a_save_before_it() {
    let mut w = World::saving();
    let [a, b] = ["a", "b"].map(|name| w.in_time(name, 1));
    w.publish_interaction(b, "Command.Stop");
    w.subscribe_interaction(a, "Command.Stop");
    w.request_save_at(a, "at five", 5);
    w.send_at(b, "Command.Stop", 7);
    w.tar(a, 8);
    w.tar(b, 9);
    assert!(w.last(a).starts_with("InitiateFederateSaveWithTime"), "the grant comes afterwards");
    w.all_save(&[a, b]);
    assert_eq!(w.callbacks(a), ["FederationSaved", "receive Command.Stop at 7", "grant 8"]);
    // The queued message and the request are restored with the save.
    w.restore(&[a, b], "at five");
    let reply = w.ok(a, TimeCall::QueryLogicalTime);
    let Reply::Time(now) = reply else { panic!("{reply:?}") };
    assert_eq!(now, LogicalTime::integer(8).unwrap().into());
}

#[test]
fn a_time_that_has_passed_cannot_be_honoured() {
    let mut w = World::saving();
    let [slow, fast] = ["slow", "fast"].map(|name| w.in_time(name, 10));
    w.tar(fast, 8);
    w.callbacks(fast);
    w.request_save_at(slow, "late", 5);
    let expected = "FederationNotSaved { reason: SaveTimeCannotBeHonored }";
    assert_eq!(w.callbacks(fast), [expected]);
    assert_eq!(w.last(slow), expected);
    // A new request replaces the one that waits.
    w.request_save_at(slow, "first", 9);
    w.request_save(slow, "second");
    assert_eq!(w.last(fast), r#"InitiateFederateSave { label: "second" }"#);
}

#[test]
fn requests_at_a_time_are_checked() {
    let mut w = World::saving();
    let at =
        |value| C::RequestFederationSaveWithTime { label: "x".into(), time: time(value).into() };
    let observer = w.federate("observer");
    assert_eq!(w.refused(observer, at(5)), Exception::FederateUnableToUseTime);
    let regulating = w.federate("regulating");
    w.regulate(regulating, 3);
    assert_eq!(w.refused(regulating, at(0)), Exception::LogicalTimeAlreadyPassed);
    assert_eq!(w.refused(observer, at(3)), Exception::LogicalTimeAlreadyPassed);
    let nonsense = C::RequestFederationSaveWithTime {
        label: "x".into(),
        time: hemiola_hla::EncodedTime::new(b"?"),
    };
    assert_eq!(w.refused(regulating, nonsense), Exception::InvalidLogicalTime);
    w.ok(regulating, at(4));
    assert_eq!(
        w.last(observer),
        "InitiateFederateSaveWithTime { label: \"x\", time: \
        EncodedTime(0000000000000004) }",
        "no federate is time-constrained"
    );
}

#[test]
fn a_federation_is_not_saved_for_every_reason() {
    let reason = |name: &str| format!("FederationNotSaved {{ reason: {name} }}");
    type Step = fn(&mut World, Fed, Fed);
    let cases: [(&str, Step); 5] = [
        ("FederateReportedFailureDuringSave", |w, a, _| {
            w.ok(a, C::FederateSaveBegun);
            w.ok(a, C::FederateSaveNotComplete);
        }),
        ("FederateResignedDuringSave", |w, a, _| w.resign(a, ResignAction::NoAction)),
        ("FederateResignedDuringSave", |w, a, _| w.lose(a)),
        ("SaveAborted", |w, _, b| drop(w.ok(b, C::AbortFederationSave))),
        ("RtiDetectedFailureDuringSave", |w, a, b| {
            w.storage = Storage::Fails("the disk is full");
            w.all_save(&[a, b]);
            assert_eq!(w.failures, ["the disk is full"]);
        }),
    ];
    for (name, step) in cases {
        let (mut w, [a, b]) = pair();
        w.request_save(a, "first");
        step(&mut w, a, b);
        assert_eq!(w.last(b), reason(name));
        assert!(w.saves.is_empty());
        assert_eq!(w.refused(b, C::FederateSaveBegun), Exception::SaveNotInitiated);
        w.publish(b, "Vehicle", "Load");
    }
}

#[test]
fn a_federate_can_be_lost_at_every_step_of_a_save() {
    for step in 0..5 {
        let (mut w, [a, b]) = pair();
        w.storage = Storage::Silent(Vec::new());
        w.request_save(a, "first");
        let calls = [
            (a, C::FederateSaveBegun),
            (b, C::FederateSaveBegun),
            (a, C::FederateSaveComplete),
            (b, C::FederateSaveComplete),
        ];
        calls.into_iter().take(step).for_each(|(fed, call)| drop(w.ok(fed, call)));
        w.lose(a);
        let expected = "FederationNotSaved { reason: FederateResignedDuringSave }";
        assert_eq!(w.last(b), expected, "step {step}");
        // The answer of the storage then changes nothing.
        w.storage_answers();
        assert_eq!(w.callbacks(b), [""; 0]);
        w.save(&[b], "second");
    }
}

#[test]
fn a_federate_can_be_lost_at_every_step_of_a_restore() {
    for step in 0..3 {
        let (mut w, [a, b]) = pair();
        w.save(&[a, b], "first");
        w.storage = Storage::Silent(Vec::new());
        w.request_restore(b, "first");
        if step == 0 {
            w.lose(a);
            w.storage_answers();
            assert_eq!(w.last(b), r#"RequestFederationRestoreFailed { label: "first" }"#);
            continue;
        }
        w.storage_answers();
        if step == 2 {
            w.ok(a, C::FederateRestoreComplete);
        }
        w.lose(a);
        let expected = "FederationNotRestored { reason: FederateResignedDuringRestore }";
        assert_eq!(w.last(b), expected);
        assert_eq!(w.refused(b, C::FederateRestoreComplete), Exception::RestoreNotRequested);
        w.publish(b, "Vehicle", "Load");
    }
}

#[test]
fn a_federation_is_not_restored_for_every_reason() {
    let (mut w, [a, b]) = pair();
    w.save(&[a, b], "first");
    let refused = |w: &mut World, name: &str| {
        assert_eq!(w.last(b), format!("FederationNotRestored {{ reason: {name} }}"));
        w.publish(b, "Vehicle", "Load");
    };
    w.request_restore(a, "first");
    let begun: Vec<String> = w.callbacks(a).into_iter().rev().take(3).rev().collect();
    assert_eq!(begun[0], r#"RequestFederationRestoreSucceeded { label: "first" }"#);
    assert_eq!(begun[1], "FederationRestoreBegun");
    w.ok(a, C::FederateRestoreNotComplete);
    refused(&mut w, "FederateReportedFailureDuringRestore");
    w.request_restore(a, "first");
    w.ok(a, C::AbortFederationRestore);
    refused(&mut w, "RestoreAborted");
    assert_eq!(w.refused(a, C::AbortFederationRestore), Exception::RestoreNotInProgress);
    assert_eq!(w.refused(a, C::FederateRestoreNotComplete), Exception::RestoreNotRequested);
    assert_eq!(w.refused(a, C::AbortFederationSave), Exception::SaveNotInProgress);
    assert_eq!(w.refused(a, C::FederateSaveComplete), Exception::FederateHasNotBegunSave);
    assert_eq!(w.refused(a, C::FederateSaveNotComplete), Exception::FederateHasNotBegunSave);
}

#[test]
fn a_save_that_cannot_be_restored_is_refused_with_the_reason() {
    let (mut w, feds) = pair();
    let image = w.save(&feds, "first");
    let refused = |w: &mut World, label: &str, image: Option<Vec<u8>>| {
        image.map(|image| w.saves.insert(name(label), image.into()));
        w.request_restore(feds[0], label);
        let failed = format!("RequestFederationRestoreFailed {{ label: {label:?} }}");
        assert_eq!(w.last(feds[0]), failed, "{:?}", w.failures);
        w.failures.pop().unwrap()
    };
    let changed = |at: usize, value: u8| {
        let mut changed = image.to_vec();
        changed[at] = value;
        Some(changed)
    };
    assert_eq!(refused(&mut w, "other", None), "there is no such save");
    assert_eq!(refused(&mut w, "other", Some(image.to_vec())), "it is the save \"first\"");
    assert_eq!(refused(&mut w, "x", Some(b"anything".to_vec())), "it is no save of this RTI");
    let version = refused(&mut w, "first", changed(8, 9));
    assert_eq!(version, "it has version 9 of the format; this RTI reads 2");
    let torn = refused(&mut w, "first", Some(image[..image.len() - 1].to_vec()));
    assert!(torn.starts_with("it is incomplete"), "{torn}");
    let damaged = refused(&mut w, "first", changed(image.len() - 1, 7));
    assert_eq!(damaged, "it is damaged: its checksum does not match its content");
    w.saves.insert(name("first"), image.clone());
    let third = w.federate("third");
    let types = refused(&mut w, "first", None);
    assert!(types.ends_with("0 are missing, 1 too many"), "{types}");
    w.resign(third, ResignAction::NoAction);
    w.resign(feds[1], ResignAction::NoAction);
    let types = refused(&mut w, "first", None);
    assert!(types.ends_with("1 are missing, 0 too many"), "{types}");
    // Another object model, and another federation.
    let model = MODEL.replace("Driver", "Pilot");
    let mut other = World::with(Limits { image_len: 1 << 24, ..Limits::default() }, &model);
    let fed = other.federate("a");
    other.saves.insert(name("first"), image.clone());
    other.request_restore(fed, "first");
    assert_eq!(other.failures, ["it was saved with another object model"]);
}

#[test]
fn every_changed_byte_is_found_and_changes_nothing() {
    let (mut w, feds) = pair();
    w.reserve(feds[0], "Reserved");
    let image = w.save(&feds, "first");
    for at in 0..image.len() {
        let mut changed = image.to_vec();
        changed[at] ^= 0x10;
        w.saves.insert(name("first"), changed.into());
        w.request_restore(feds[0], "first");
        assert_eq!(w.failures.len(), at + 1, "byte {at}");
    }
    w.saves.insert(name("first"), image);
    w.restore(&feds, "first");
}

#[test]
fn images_of_any_length_are_refused_whatever_their_checksum() {
    let (mut w, feds) = pair();
    let image = w.save(&feds, "first");
    for len in 28..image.len() {
        // It ends early.
        let short = image[..len].to_vec();
        let reason = w.invalid(feds[0], short);
        assert!(reason.starts_with("its content is invalid"), "{len}: {reason}");
    }
}

#[test]
fn positions_in_the_sequence_of_messages_that_cannot_be_are_refused() {
    let (mut w, [a, b]) = pair();
    w.regulate(a, 1);
    w.constrain(b);
    w.publish_interaction(a, "Command.Stop");
    w.publish(a, "Vehicle.Car", "Position");
    for _ in 0..9 {
        w.register(a, "Vehicle.Car");
    }
    // Nobody receives the first one, so it has no part.
    let alone = w.send_at(a, "Command.Stop", 5).unwrap();
    w.subscribe_interaction(b, "Command");
    for _ in 0..4 {
        w.send_at(a, "Command.Stop", 5);
    }
    let image = w.save(&[a, b], "first");
    let pair_of = |first: u64, last: u64| [first, last].map(u64::to_le_bytes).concat();
    let sequence = place_of(&image, &pair_of(3, 3));
    for (first, last) in [(10, 3), (3, 6), (3, u64::MAX), (u64::MAX, u64::MAX), (5, 3)] {
        let reason = w.invalid(a, changed(&image, sequence, &pair_of(first, last)));
        assert_eq!(reason, "its content is invalid: a message was never sent", "{first} {last}");
    }
    // The number of all messages, behind that of instances.
    let counters = place_of(&image, &pair_of(9, 4));
    let fewer = w.invalid(a, changed(&image, counters, &pair_of(9, 3)));
    assert_eq!(fewer, "its content is invalid: a queued message is newer than the newest of all");
    let more = w.invalid(a, changed(&image, counters, &pair_of(9, u64::MAX)));
    assert_eq!(more, "its content is invalid: more messages were sent than can be");
    // A message without parts is one that was sent, and can be retracted.
    let empty = changed(&image, sequence, &pair_of(4, 3));
    w.saves.insert(name("first"), sealed(empty));
    let [a, _] = w.restore(&[a, b], "first")[..] else { panic!() };
    w.ok(a, TimeCall::Retract { retraction: alone });
    for number in 2..=5 {
        let retraction = MessageRetractionHandle::new(alone.number() - 1 + number);
        w.ok(a, TimeCall::Retract { retraction });
    }
}

/// The one place of a part of an image.
fn place_of(image: &Data, part: &[u8]) -> usize {
    let mut places = image.windows(part.len()).enumerate().filter(|(_, one)| *one == part);
    let (at, _) = places.next().expect("it has this part");
    assert_eq!(places.next(), None);
    at
}

/// An image with another part at this place.
fn changed(image: &Data, at: usize, part: &[u8]) -> Vec<u8> {
    let mut changed = image.to_vec();
    changed[at..at + part.len()].copy_from_slice(part);
    changed
}

/// An image with the length and the checksum of its content.
fn sealed(mut image: Vec<u8>) -> Data {
    let sum = image[28..].iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let len = image.len() as u64 - 28;
    image[12..20].copy_from_slice(&len.to_le_bytes());
    image[20..28].copy_from_slice(&sum.to_le_bytes());
    image.into()
}

/// Turns both switches on that have the service reports of a federate written to its file.
fn report_to_file(w: &mut World, fed: Fed) {
    w.ok(fed, SupportCall::SetServiceReportingSwitch { value: true });
    w.ok(fed, SupportCall::SetSendServiceReportsToFileSwitch { value: true });
}

#[test]
fn a_file_of_service_reports_goes_on_when_its_switches_are_on_again_after_a_restore() {
    let mut w = World::writing_reports(MODEL);
    let feds = ["a", "b"].map(|name| w.federate(name));
    // Nobody manages the federation, and the switches are off.
    w.save(&feds, "first");
    report_to_file(&mut w, feds[0]);
    w.ok(feds[0], TimeCall::QueryLogicalTime);
    let before = w.report_lines(feds[0]);
    assert_eq!(World::reported(&before), ["initial", "Query Logical Time"]);
    w.restore(&feds, "first");
    w.report_lines(feds[0]);
    w.ok(feds[0], TimeCall::QueryLogicalTime);
    assert_eq!(w.report_lines(feds[0]), [""; 0]);
    report_to_file(&mut w, feds[0]);
    w.ok(feds[0], TimeCall::QueryLogicalTime);
    let after = w.report_lines(feds[0]);
    assert_eq!(World::reported(&after), World::reported(&before));
}

#[test]
fn a_restored_federate_begins_its_file_with_its_restored_name() {
    let mut w = World::writing_reports(MODEL);
    let feds = ["a", "b"].map(|name| w.federate(name));
    report_to_file(&mut w, feds[0]);
    w.save(&feds, "first");
    // Another federate takes its place, in another RTI.
    let saves = std::mem::take(&mut w.saves);
    let mut w = World::writing_reports(MODEL);
    w.saves = saves;
    let feds = ["x", "b"].map(|name| w.federate(name));
    report_to_file(&mut w, feds[0]);
    assert!(w.report_lines(feds[0])[0].contains("\"federate\":\"x\""));
    w.restore(&feds, "first");
    // Behind the request.
    let mut lines = w.report_lines(feds[0]);
    let lines = lines.split_off(lines.len() - 2);
    assert_eq!(World::reported(&lines), ["initial", "Federation Restored"]);
    assert!(lines[0].contains("\"federate\":\"a\""), "{}", lines[0]);
}

#[test]
fn without_storage_saves_and_restores_are_refused() {
    let mut w = World::new();
    let fed = w.federate("a");
    let label = String::from("first");
    let calls = [
        C::RequestFederationSave { label: label.clone() },
        C::RequestFederationSaveWithTime { label: label.clone(), time: time(1).into() },
        C::RequestFederationRestore { label },
    ];
    for call in calls {
        let refusal = w.call(fed, call).unwrap_err();
        assert_eq!(refusal.exception, Exception::RTIinternalError);
        assert!(refusal.details.contains("--saves DIR"), "{refusal}");
    }
}

#[test]
fn an_image_beyond_the_limit_is_not_saved() {
    let mut w = World::with(Limits { image_len: 200, ..Limits::default() }, MODEL);
    let (feds, _) = fill(&mut w);
    w.request_save(feds[0], "first");
    w.all_save(&feds);
    assert_eq!(w.last(feds[0]), "FederationNotSaved { reason: RtiUnableToSave }");
    assert!(w.failures[0].starts_with("the image takes more memory than is left"));
}

#[test]
fn an_image_is_written_and_read_in_slices() {
    let mut w = World::saving();
    let (feds, _) = fill(&mut w);
    let whole = w.save(&feds, "first");
    let mut sliced = World::saving();
    let (feds, _) = fill(&mut sliced);
    sliced.request_save(feds[0], "first");
    sliced.all_save(&feds[..2]);
    sliced.ok(feds[2], C::FederateSaveBegun);
    let mut out = Vec::new();
    let last = Input::Called(feds[2].session, CallId(u32::MAX), C::FederateSaveComplete.into());
    sliced.kernel.handle_within(last, 1, &mut out);
    let mut slices = 0;
    while sliced.kernel.has_work() {
        // Another federate's calls are carried out in between.
        let query = C::QueryFederationSaveStatus.into();
        let query = Input::Called(feds[0].session, CallId(u32::MAX), query);
        sliced.kernel.handle_within(query, 1, &mut out);
        sliced.kernel.work(1, &mut out);
        sliced.kernel.check_invariants();
        slices += 1;
    }
    let image = out.iter().find_map(|effect| match effect {
        Effect::Store(_, _, image) => Some(image),
        _ => None,
    });
    assert!(slices > 100, "{slices} slices");
    assert!(image.unwrap().bytes().clone().into_data() == whole);
}

#[test]
fn the_checksum_of_a_save_is_computed_in_slices() {
    const BUDGET: u64 = 500;
    let mut w = World::with(Limits { image_len: 1 << 24, ..Limits::default() }, MODEL);
    let [a, b] = ["a", "b"].map(|name| w.federate(name));
    w.regulate(a, 1);
    w.constrain(b);
    w.publish(a, "Vehicle.Car", "Position");
    w.subscribe(b, "Vehicle.Car", "Position");
    let object_instance = w.register(a, "Vehicle.Car");
    let value = Data::from(vec![7; 1 << 20]);
    let update = ObjectCall::UpdateAttributeValuesWithTime {
        object_instance,
        attribute_values: vec![(w.attribute("Position"), value)],
        user_supplied_tag: Data::new(),
        time: time(5).into(),
    };
    w.ok(a, update);
    w.request_save(a, "first");
    w.all_save(&[a]);
    w.ok(b, C::FederateSaveBegun);
    let mut out = Vec::new();
    let last = Input::Called(b.session, CallId(u32::MAX), C::FederateSaveComplete.into());
    w.kernel.handle_within(last, BUDGET, &mut out);
    let mut slices = 0;
    while w.kernel.has_work() {
        w.kernel.work(BUDGET, &mut out);
        slices += 1;
    }
    // The message is one step. Its checksum takes one for each 16 KiB, of 256 units.
    assert!(slices >= 32, "{slices} slices");
}

#[test]
fn a_lookahead_is_restored() {
    let (mut w, [a, b]) = pair();
    w.regulate(a, 7);
    w.save(&[a, b], "first");
    w.ok(a, TimeCall::ModifyLookahead { lookahead: interval(9).into() });
    w.restore(&[a, b], "first");
    let reply = w.ok(a, TimeCall::QueryLookahead);
    assert_eq!(format!("{reply:?}"), format!("{:?}", Reply::Interval(interval(7).into())));
}
