//! One federation execution: its tables, and what must always be true of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_fom::module::Setting;
use hemiola_hla::{
    AttributeHandle, Callback, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, Refusal, Switch, TimeImplementation,
};
use hemiola_units::Instant;

use crate::federate::{Edition, Federate};
use crate::input::Effect;
use crate::instance::{Instance, Knower};
use crate::limits::Limits;
use crate::notice::Notice;
use crate::services::federation::Point;
use crate::services::ownership::{self, Negotiation};

/// A federation execution.
#[derive(Debug)]
pub(crate) struct Federation {
    pub(crate) name: String,
    pub(crate) model: Arc<Model>,
    pub(crate) implementation: TimeImplementation,
    pub(crate) limits: Limits,
    pub(crate) now: Instant,
    /// What sessions get after the reply to the call at hand.
    pub(crate) outbox: Vec<Effect>,
    /// Every federate that ever joined has a place, which is its handle; who resigned left it empty.
    federates: Vec<Option<Box<Federate>>>,
    joined: BTreeSet<FederateHandle>,
    pub(crate) points: BTreeMap<String, Point>,
    /// Names of instances, reserved or in use.
    pub(crate) names: BTreeMap<String, NameUse>,
    pub(crate) instances: BTreeMap<ObjectInstanceHandle, Instance>,
    /// The instances registered as exactly this class; never an empty set.
    pub(crate) of_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    /// What is going on about who owns attributes of instances.
    pub(crate) negotiations: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Negotiation>,
    /// How many instances were ever registered.
    pub(crate) instance_count: u64,
    /// Who subscribes to attributes of exactly this class.
    pub(crate) class_subscribers: BTreeMap<ObjectClassHandle, BTreeSet<FederateHandle>>,
    /// Who subscribes to exactly this class.
    pub(crate) interaction_subscribers: BTreeMap<InteractionClassHandle, BTreeSet<FederateHandle>>,
    /// Who gets interactions of a class, and as which one; made when first needed, dropped when subscriptions
    /// change.
    pub(crate) receivers: BTreeMap<InteractionClassHandle, Arc<[Receiver]>>,
    /// How many messages there were.
    pub(crate) sequence: u64,
    pub(crate) regulating: BTreeSet<FederateHandle>,
    /// Do time-constrained federates wait while nobody regulates? Only if the object model says so: where it says
    /// nothing they are granted what they ask for, as federates of 1516-2010 expect.
    pub(crate) waits_for_regulation: bool,
    /// Are subscriptions looked at when messages are delivered, not when they are sent?
    pub(crate) delays_evaluation: bool,
    /// Are owners advised by the class that others know an instance as, not by the one it was registered as?
    pub(crate) advises_by_known_class: bool,
    /// Those whose time state waits for that of others.
    pub(crate) waiting: BTreeSet<FederateHandle>,
    /// Has anything happened that may end a wait?
    pub(crate) time_changed: bool,
    /// Those for whom too much is kept.
    pub(crate) overflowed: BTreeSet<FederateHandle>,
}

/// A federate that gets interactions, and the class it gets them as.
pub(crate) type Receiver = (FederateHandle, InteractionClassHandle);

/// What a name of an instance is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse {
    Reserved(FederateHandle),
    Registered(ObjectInstanceHandle),
}

impl Federation {
    pub(crate) fn new(
        name: String,
        model: Arc<Model>,
        implementation: TimeImplementation,
        limits: Limits,
        now: Instant,
    ) -> Self {
        let waits_for_regulation =
            model.declared_setting(Switch::NonRegulatedGrant) == Some(Setting::Enabled(false));
        Self {
            delays_evaluation: model.is_enabled(Switch::DelaySubscriptionEvaluation),
            advises_by_known_class: model.is_enabled(Switch::AdvisoriesUseKnownClass),
            name,
            model,
            implementation,
            limits,
            now,
            outbox: Vec::new(),
            waits_for_regulation,
            federates: Vec::new(),
            joined: BTreeSet::new(),
            points: BTreeMap::new(),
            names: BTreeMap::new(),
            instances: BTreeMap::new(),
            of_class: BTreeMap::new(),
            negotiations: BTreeMap::new(),
            instance_count: 0,
            class_subscribers: BTreeMap::new(),
            interaction_subscribers: BTreeMap::new(),
            receivers: BTreeMap::new(),
            sequence: 0,
            regulating: BTreeSet::new(),
            waiting: BTreeSet::new(),
            time_changed: false,
            overflowed: BTreeSet::new(),
        }
    }

    /// The handles of the joined federates, in order.
    pub(crate) const fn joined(&self) -> &BTreeSet<FederateHandle> {
        &self.joined
    }

    /// The joined federates, by handle.
    pub(crate) fn federates(&self) -> impl Iterator<Item = (FederateHandle, &Federate)> {
        self.joined.iter().map(|handle| (*handle, self.federate(*handle)))
    }

    /// A federate that has joined.
    pub(crate) fn federate(&self, handle: FederateHandle) -> &Federate {
        self.joined_federate(handle).expect("only handles of joined federates are kept")
    }

    /// A federate that has joined.
    pub(crate) fn federate_mut(&mut self, handle: FederateHandle) -> &mut Federate {
        let place = handle.index().and_then(|at| self.federates.get_mut(at));
        place.and_then(Option::as_deref_mut).expect("only handles of joined federates are kept")
    }

    /// The federate of this handle, if it is joined.
    pub(crate) fn joined_federate(&self, handle: FederateHandle) -> Option<&Federate> {
        self.federates.get(handle.index()?)?.as_deref()
    }

    /// Was this handle ever given to a federate?
    pub(crate) fn was_joined(&self, handle: FederateHandle) -> bool {
        handle.index().is_some_and(|at| at < self.federates.len())
    }

    pub(crate) fn federate_named(&self, name: &str) -> Option<FederateHandle> {
        self.federates().find(|(_, federate)| federate.name == name).map(|(handle, _)| handle)
    }

    /// The handle of the federate that joins next.
    pub(crate) fn next_federate(&self) -> FederateHandle {
        FederateHandle::of_index(self.federates.len())
    }

    pub(crate) fn join(&mut self, federate: Federate) -> FederateHandle {
        let handle = self.next_federate();
        self.federates.push(Some(Box::new(federate)));
        self.joined.insert(handle);
        handle
    }

    pub(crate) fn leave(&mut self, handle: FederateHandle) -> Box<Federate> {
        self.joined.remove(&handle);
        let place = handle.index().and_then(|at| self.federates.get_mut(at));
        place.and_then(Option::take).expect("only who has joined leaves")
    }

    pub(crate) fn is_on(&self, switch: Switch) -> bool {
        self.model.is_enabled(switch)
    }

    /// Tells one federate something that is for it alone.
    pub(crate) fn tell(&mut self, to: FederateHandle, callback: Callback) {
        self.send(to, Arc::new(Notice::new(callback)));
    }

    /// Tells a federate something that others are told too.
    pub(crate) fn send(&mut self, to: FederateHandle, notice: Arc<Notice>) {
        let federate = self.federate(to);
        // Clients of 1516-2010 have one grant alone, and wait for ever for it.
        let notice = match (federate.edition, notice.callback()) {
            (Edition::Evolved, Callback::FlushQueueGrant { time, .. }) => {
                Arc::new(Notice::new(Callback::TimeAdvanceGrant { time: *time }))
            }
            _ => notice,
        };
        let session = federate.session;
        self.outbox.push(Effect::Callback(session, notice));
    }

    /// An instance that a federate knows, and the class it knows it as.
    pub(crate) fn known(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Result<(&Instance, ObjectClassHandle), Refusal> {
        let instance = self.instances.get(&handle).ok_or(Exception::ObjectInstanceNotKnown)?;
        let class = instance.known_as(federate).ok_or(Exception::ObjectInstanceNotKnown)?;
        Ok((instance, class))
    }

    pub(crate) fn instance_mut(&mut self, handle: ObjectInstanceHandle) -> &mut Instance {
        self.instances.get_mut(&handle).expect("the instance was looked up before")
    }

    /// The class and those above it, from below.
    pub(crate) fn object_class_line(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = ObjectClassHandle> + '_ {
        std::iter::successors(Some(class), |class| self.model.object_class(*class)?.parent)
    }

    /// The class and those above it, from below.
    pub(crate) fn interaction_class_line(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = InteractionClassHandle> + '_ {
        std::iter::successors(Some(class), |class| self.model.interaction_class(*class)?.parent)
    }

    /// The instances registered as this class or one below it.
    pub(crate) fn instances_below(&self, class: ObjectClassHandle) -> Vec<ObjectInstanceHandle> {
        let classes = self.of_class.iter();
        let below = classes.filter(|(one, _)| self.model.is_object_class(**one, class));
        below.flat_map(|(_, instances)| instances.iter().copied()).collect()
    }

    /// Who subscribes to a class or one above it.
    pub(crate) fn subscribers_above(&self, class: ObjectClassHandle) -> BTreeSet<FederateHandle> {
        let lines = self.object_class_line(class);
        lines.filter_map(|class| self.class_subscribers.get(&class)).flatten().copied().collect()
    }

    /// Checks what must be true between any two inputs.
    ///
    /// # Panics
    /// Something is not.
    pub(crate) fn check_invariants(&self) {
        for (handle, federate) in self.federates() {
            let time = &federate.time;
            assert_eq!(self.regulating.contains(&handle), time.regulation().is_some());
            assert_eq!(self.waiting.contains(&handle), time.is_waiting());
            assert!(
                time.constrained || !time.backlog.has_ordered(),
                "only constrained federates wait"
            );
            assert!(
                time.constrained || time.advance().is_none(),
                "nothing keeps it from advancing"
            );
            assert!(time.holds() || !time.backlog.has_held(), "what it may have, it gets");
            let in_bounds = time.backlog.count() <= self.limits.undelivered
                && time.backlog.len() <= self.limits.undelivered_len;
            assert!(in_bounds, "who keeps too much is resigned");
            assert!(!(time.constrained && time.constrained_pending.is_some()));
            if let Some((_, head)) = time.backlog.first() {
                assert!(crate::message::is_for(self, handle, head), "nobody waits for nothing");
            }
            let in_order = time.backlog.check_invariants().all(|stamp| time.floor().allows(stamp));
            assert!(in_order, "{}: a message in its past", federate.name);
            for class in federate.subscribed.classes.keys() {
                assert!(self.class_subscribers[class].contains(&handle));
            }
            assert!(federate.published.classes.values().all(|set| !set.is_empty()));
        }
        crate::services::time::check_invariants(self);
        ownership::check_invariants(self);
        for (handle, instance) in &self.instances {
            assert_eq!(self.names.get(&instance.name), Some(&NameUse::Registered(*handle)));
            assert!(self.of_class[&instance.class].contains(handle));
            assert!(instance.known().is_sorted_by_key(|one| one.federate));
            for Knower { federate, class } in instance.known() {
                assert!(self.joined.contains(federate));
                assert!(self.model.is_object_class(instance.class, *class));
            }
            for attribute in &instance.attributes {
                let owner = attribute.owner;
                if owner == FederateHandle::INVALID {
                    continue;
                }
                let class = instance.known_as(owner).expect("an owner knows what it owns");
                assert!(
                    self.federate(owner).publishes(class, attribute.handle),
                    "an owner publishes what it owns"
                );
            }
        }
        let registered: usize = self.of_class.values().map(BTreeSet::len).sum();
        assert_eq!(registered, self.instances.len());
        for point in self.points.values() {
            point.check_invariants(self);
        }
    }
}
