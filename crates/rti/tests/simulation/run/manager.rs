//! A federate that manages the others: it watches them through the management object model, asks for reports, and
//! checks what it is told against the kernel's report for operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    Element, HLAinteger32BE, HLAlogicalTime, HLAopaqueData, HLAtimeInterval, HLAunicodeString,
    HLAvariableArray, decode, encode,
};
use hemiola_hla::{Callback, FederateHandle, ObjectInstanceHandle, Reply};
use hemiola_rti::{Effect, FederateStatus, Notice, SessionId};

use super::Run;

const FEDERATE: &str = "HLAobjectRoot.HLAmanager.HLAfederate";
const FEDERATION: &str = "HLAobjectRoot.HLAmanager.HLAfederation";
const INTERACTIONS: &str = "HLAinteractionRoot.HLAmanager.HLAfederate";

/// What the manager knows.
#[derive(Debug)]
pub(super) struct Manager {
    session: SessionId,
    handle: FederateHandle,
    /// The newest value of each attribute that it was told, by instance and name.
    told: BTreeMap<ObjectInstanceHandle, BTreeMap<String, Data>>,
    /// Number of the last report on a service invocation of each federate.
    serials: BTreeMap<FederateHandle, i32>,
    /// Synchronization points that it has not achieved.
    points: Vec<String>,
}

impl Manager {
    pub(super) const fn session(&self) -> SessionId {
        self.session
    }
}

impl Run {
    /// Adds a manager that subscribes to everything.
    pub(super) fn add_manager(&mut self) {
        let session = self.open();
        let call = FederationCall::JoinFederationExecution {
            federate_type: "manager".into(),
            federation_name: "Yard".into(),
        };
        let Ok(Reply::Joined(joined)) = self.call(session, call) else { panic!("it can join") };
        let (handle, told, serials, points) =
            (joined.federate, BTreeMap::new(), BTreeMap::new(), Vec::new());
        self.manager = Some(Manager { session, handle, told, serials, points });
        for class in [FEDERATION, FEDERATE] {
            let object_class = self.model.object_class_named(class).unwrap();
            let attributes = self.model.object_class(object_class).unwrap().attributes.clone();
            let call = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
            self.call(session, call).unwrap();
        }
        let classes = self.model.interaction_classes().iter().map(|one| one.name.clone());
        let reports: Vec<String> = classes.filter(|one| one.contains(".HLAreport.")).collect();
        for report in reports {
            let interaction_class = self.model.interaction_class_named(&report).unwrap();
            let call = DeclarationCall::SubscribeInteractionClass { interaction_class };
            self.call(session, call).unwrap();
        }
    }

    /// Whether these callbacks are the manager's.
    pub(super) fn is_manager(&self, session: SessionId) -> bool {
        self.manager.as_ref().is_some_and(|manager| manager.session == session)
    }

    /// Checks that a slice has sent no more of reports on services than its budget covers: a unit is 32 bytes of text,
    /// which become two bytes each, and the last report may have all the text that a report can have.
    pub(super) fn check_reports(&self, budget: u64, out: &[Effect]) {
        const TEXT_MAX: u64 = 16 << 10;
        const NAMES: u64 = 1024;
        let class = format!("{INTERACTIONS}.HLAreport.HLAreportServiceInvocation");
        let class = self.model.interaction_class_named(&class);
        let len = |effect: &Effect| {
            let Effect::Callback(_, notice) = effect else { return 0 };
            match notice.callback() {
                Callback::ReceiveInteraction { interaction_class, parameter_values, .. }
                    if Some(*interaction_class) == class =>
                {
                    parameter_values.iter().map(|(_, value)| value.len() as u64).sum()
                }
                _ => 0,
            }
        };
        let sent: u64 = out.iter().map(len).sum();
        let last = 2 * TEXT_MAX + NAMES;
        let covered = budget.saturating_mul(2 * 32 + NAMES).saturating_add(last);
        assert!(sent <= covered, "{sent} bytes of reports for {budget} units of work");
    }

    /// The manager notes a callback.
    pub(super) fn told(&mut self, notice: &Arc<Notice>) {
        let manager = self.manager.as_mut().expect("it is there");
        match notice.callback() {
            Callback::AnnounceSynchronizationPoint { synchronization_point_label, .. } => {
                manager.points.push(synchronization_point_label.clone());
            }
            Callback::ReflectAttributeValues { object_instance, attribute_values, .. } => {
                let told = manager.told.entry(*object_instance).or_default();
                for (attribute, value) in attribute_values {
                    let name = &self.model.attribute(*attribute).unwrap().name;
                    told.insert(name.clone(), value.clone());
                }
            }
            Callback::RemoveObjectInstance { object_instance, .. } => {
                manager.told.remove(object_instance);
            }
            Callback::ReceiveInteraction { interaction_class, parameter_values, .. } => {
                let class = self.model.interaction_class(*interaction_class).unwrap();
                if !class.name.ends_with("HLAreportServiceInvocation") {
                    return;
                }
                let value = |name| {
                    let parameter = self.model.parameter_named(*interaction_class, name).unwrap();
                    parameter_values.iter().find(|(one, _)| *one == parameter).unwrap().1.clone()
                };
                let federate: FederateHandle = decode(&value("HLAfederate")).unwrap();
                let serial = decode::<HLAinteger32BE>(&value("HLAserialNumber")).unwrap().0;
                let expected = manager.serials.get(&federate).map_or(0, |last| last + 1);
                assert_eq!(serial, expected, "reports of {federate} are numbered without gaps");
                manager.serials.insert(federate, serial);
            }
            _ => {}
        }
    }

    /// The manager does something that changes nothing for the others, right or wrong.
    pub(super) fn manage(&mut self) {
        const REQUESTS: [&str; 17] = [
            "HLArequest.HLArequestPublications",
            "HLArequest.HLArequestSubscriptions",
            "HLArequest.HLArequestObjectInstancesThatCanBeDeleted",
            "HLArequest.HLArequestObjectInstancesUpdated",
            "HLArequest.HLArequestObjectInstancesReflected",
            "HLArequest.HLArequestUpdatesSent",
            "HLArequest.HLArequestInteractionsSent",
            "HLArequest.HLArequestReflectionsReceived",
            "HLArequest.HLArequestInteractionsReceived",
            "HLArequest.HLArequestObjectInstanceInformation",
            "HLArequest.HLArequestFOMmoduleData",
            "HLAadjust.HLAsetTiming",
            "HLAadjust.HLAsetSwitches",
            "HLAadjust.HLAsetSwitches",
            "HLAadjust.HLAmodifyAttributeState",
            "HLAservice.HLAtimeAdvanceRequest",
            "HLAservice.HLAresignFederationExecution",
        ];
        let request = self.pick(&REQUESTS);
        let number = self.below(4) as i32;
        let whom = if self.one_in(8) {
            FederateHandle::new(self.random.bits() as u32)
        } else {
            let at = self.below(self.peers.len() as u64) as usize;
            self.peers[at].fed.handle
        };
        let mut values = vec![
            ("HLAfederate", encode(&whom).into()),
            ("HLAobjectInstance", encode(&ObjectInstanceHandle::new(number as u64 + 1)).into()),
            ("HLAFOMmoduleIndicator", integer(number)),
            ("HLAreportPeriod", integer(number)),
        ];
        // A federate is not to be advised of what its model does not expect: only its calls are reported.
        let switch = ["HLAserviceReporting", "HLAexceptionReporting"][number as usize % 2];
        values.push((switch, integer(number / 2)));
        if self.one_in(8) {
            values.swap_remove(0);
        }
        self.send_as_manager(&format!("{INTERACTIONS}.{request}"), &values);
    }

    fn send_as_manager(&mut self, class: &str, values: &[(&str, Data)]) {
        let session = self.manager.as_ref().expect("it is there").session;
        let interaction_class = self.model.interaction_class_named(class).unwrap();
        self.call(session, DeclarationCall::PublishInteractionClass { interaction_class }).unwrap();
        let values = values.iter().filter_map(|(name, value)| {
            Some((self.model.parameter_named(interaction_class, name)?, value.clone()))
        });
        let (parameter_values, user_supplied_tag) = (values.collect(), Data::new());
        let call =
            ObjectCall::SendInteraction { interaction_class, parameter_values, user_supplied_tag };
        self.call(session, call).unwrap();
    }

    /// The manager achieves the points that have been announced to it.
    pub(super) fn achieve_as_manager(&mut self) {
        let Some(manager) = &mut self.manager else { return };
        let (session, points) = (manager.session, std::mem::take(&mut manager.points));
        for synchronization_point_label in points {
            let call = FederationCall::SynchronizationPointAchieved {
                synchronization_point_label,
                successfully: true,
            };
            self.call(session, call).unwrap();
            self.drain();
        }
    }

    /// Checks what the manager was told of changes, and then what it is told on request, against the kernel's report.
    pub(super) fn check_manager(&mut self) {
        let Some(manager) = &self.manager else { return };
        let (session, me) = (manager.session, manager.handle);
        self.check_told(me, |told, status| {
            if status.handle != me {
                assert_eq!(number(told, "HLAtimeConstrained"), i32::from(status.constrained));
                assert_eq!(
                    number(told, "HLAtimeRegulating"),
                    i32::from(status.lookahead.is_some())
                );
                let is_advancing = status.waiting.is_some_and(|waiting| waiting.until.is_some());
                assert_eq!(number(told, "HLAtimeManagerState"), i32::from(is_advancing));
            }
        });
        for class in [FEDERATION, FEDERATE] {
            let object_class = self.model.object_class_named(class).unwrap();
            let attributes = self.model.object_class(object_class).unwrap().attributes.clone();
            let user_supplied_tag = Data::new();
            let call = ObjectCall::RequestClassAttributeValueUpdate {
                object_class,
                attributes,
                user_supplied_tag,
            };
            self.call(session, call).unwrap();
        }
        self.work_off();
        self.drain();
        self.check_told(me, |told, status| {
            assert_eq!(text(told, "HLAfederateName"), status.name);
            assert_eq!(text(told, "HLAfederateType"), status.federate_type);
            assert_eq!(told["HLAlogicalTime"], data(&HLAlogicalTime(status.time.into())));
            let nothing = || data(&HLAopaqueData::default());
            let lookahead = status.lookahead.map(|one| data(&HLAtimeInterval(one.into())));
            assert_eq!(told["HLAlookahead"], lookahead.unwrap_or_else(nothing));
            let galt = status.held_back.map(|held| data(&HLAlogicalTime(held.galt.into())));
            assert_eq!(told["HLAGALT"], galt.unwrap_or_else(nothing));
            let queued = number(told, "HLAROlength") + number(told, "HLATSOlength");
            // Where subscriptions are evaluated at delivery, the answers themselves are queued for everyone.
            assert!(self.delays || queued as usize == status.undelivered);
        });
    }

    /// Checks that the manager has been told of exactly the federates that are joined, and each of them.
    fn check_told(
        &self,
        me: FederateHandle,
        check: impl Fn(&BTreeMap<String, Data>, &FederateStatus),
    ) {
        let status = self.kernel.status();
        let told = &self.manager.as_ref().expect("it is there").told;
        let of_federation = told.values().find_map(|told| told.get("HLAfederatesInFederation"));
        let members: HLAvariableArray<FederateHandle> = decode(of_federation.unwrap()).unwrap();
        let federates = &status.federations[0].federates;
        assert_eq!(members.0, federates.iter().map(|one| one.handle).collect::<Vec<_>>());
        for federate in federates {
            let is_it = |told: &&BTreeMap<String, Data>| {
                told.get("HLAfederateHandle") == Some(&data(&federate.handle))
            };
            match told.values().find(is_it) {
                Some(told) => check(told, federate),
                // It joined before it subscribed, and has asked for nothing yet.
                None => assert_eq!(federate.handle, me),
            }
        }
    }
}

fn data<T: Element>(value: &T) -> Data {
    encode(value).into()
}

fn integer(value: i32) -> Data {
    data(&HLAinteger32BE(value))
}

fn number(told: &BTreeMap<String, Data>, name: &str) -> i32 {
    decode::<HLAinteger32BE>(&told[name]).unwrap().0
}

fn text(told: &BTreeMap<String, Data>, name: &str) -> String {
    decode::<HLAunicodeString>(&told[name]).unwrap().0
}
