//! The management object model (clause 11): the RTI as a federate of its own federations.
//!
//! The RTI has a federate with the handle [`RTI`] in every federation whose federates take an interest in the
//! management object model. This federate publishes the object classes, registers an instance for the federation and
//! for each joined federate, and subscribes to the interactions that ask for something. It uses the services of the
//! other clauses for all of this. Callbacks to it wait in its inbox until the call that caused them has been answered;
//! then [`work`] handles them.
//!
//! The interest begins with the first subscription to a class of the model, or the first publication of one of its
//! interactions. Before, a federation has no instance of the model and counts nothing (decision 0034). From then on,
//! the RTI observes calls in [`observe`] and callbacks in [`delivered`].

mod condition;
mod count;
mod parameters;
mod report;
mod request;
mod value;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_fom::Sharing;
use hemiola_fom::module::Module;
use hemiola_hla::call::{DeclarationCall, DistributionCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Reply, Switch,
};

use crate::federate::{Activity, Edition, Federate, Presence};
use crate::federation::Federation;
use crate::input::SessionId;
use crate::memory::{ALLOCATION, Charge, entry_len};
use crate::notice::Notice;
use crate::services::{Answer, dispatch, object};
use crate::session::Session;
use condition::Conditions;
use count::Counts;
use parameters::{Fault, Parameters};
pub(crate) use request::Deletable;

/// The handle of the RTI as a federate. No joined federate has it: a federation would need 65,535 federates at a time.
pub(crate) const RTI: FederateHandle = FederateHandle::new(u32::MAX);

const MANAGER: &str = "HLAobjectRoot.HLAmanager";
const INTERACTIONS: &str = "HLAinteractionRoot.HLAmanager";

/// The management object model of a federation.
#[derive(Debug)]
pub(crate) struct Mom {
    /// The RTI as a federate.
    rti: Federate,
    /// For this and its tables.
    charge: Charge,
    /// The instance for the federation.
    federation: Option<ObjectInstanceHandle>,
    members: BTreeMap<FederateHandle, Member>,
    /// The federates by their instances.
    subjects: BTreeMap<ObjectInstanceHandle, FederateHandle>,
    /// What the RTI was sent and has not handled yet.
    inbox: VecDeque<Arc<Notice>>,
    /// Federates whose state may have changed.
    touched: BTreeSet<FederateHandle>,
}

/// A joined federate, as the model shows it.
#[derive(Debug)]
struct Member {
    /// Its instance.
    instance: ObjectInstanceHandle,
    /// The state that its subscribers have been told.
    told: Conditions,
    counts: Counts,
}

impl Mom {
    const LEN: usize = size_of::<Self>() + ALLOCATION;
    const MEMBER_LEN: usize =
        entry_len::<FederateHandle, Member>() + entry_len::<ObjectInstanceHandle, FederateHandle>();

    /// The state of a federate may have changed.
    pub(crate) fn touch(&mut self, federate: FederateHandle) {
        self.touched.insert(federate);
    }

    /// Returns a switch of the federation that a federate has set.
    pub(crate) const fn set_switch(&self, _switch: Switch) -> Option<bool> {
        None
    }

    /// Checks its charges. Returns what is charged.
    pub(crate) fn check_memory(&self) -> usize {
        let members = self.members.values().map(|member| Self::MEMBER_LEN + member.counts.len());
        assert_eq!(self.charge.len(), Self::LEN + members.sum::<usize>());
        assert_eq!(self.rti.charge.len(), self.rti.counted_len(0));
        assert!(self.inbox.is_empty() && self.touched.is_empty());
        self.charge.len() + self.rti.charge.len()
    }
}

/// Returns the RTI as a federate.
///
/// # Panics
///
/// If it is another federate's handle, because only handles of joined federates are kept.
#[cold]
pub(crate) fn rti(federation: &Federation, handle: FederateHandle) -> &Federate {
    let mom = federation.mom.as_ref().filter(|_| handle == RTI);
    &mom.expect("only handles of joined federates are kept").rti
}

/// The same for a change.
#[cold]
pub(crate) fn rti_mut(mom: &mut Option<Box<Mom>>, handle: FederateHandle) -> &mut Federate {
    let mom = mom.as_mut().filter(|_| handle == RTI);
    &mut mom.expect("only handles of joined federates are kept").rti
}

/// Returns the producing federate that receivers are shown: none, if it is the RTI.
pub(crate) fn shown(producer: FederateHandle) -> FederateHandle {
    if producer == RTI { FederateHandle::INVALID } else { producer }
}

/// Whether a call shows interest in the model.
pub(crate) fn concerns(federation: &Federation, call: &Call) -> bool {
    use DeclarationCall as C;
    use DistributionCall as D;
    let model = &federation.model;
    let concerns_class = |class: ObjectClassHandle| {
        model
            .object_class(class)
            .is_some_and(|one| one.parent.is_none() || one.name.starts_with(MANAGER))
    };
    let concerns_interaction = |class: InteractionClassHandle| {
        model
            .interaction_class(class)
            .is_some_and(|one| one.parent.is_none() || one.name.starts_with(INTERACTIONS))
    };
    match call {
        Call::Declaration(
            C::SubscribeObjectClassAttributes { object_class, .. }
            | C::SubscribeObjectClassAttributesWithRate { object_class, .. }
            | C::SubscribeObjectClassAttributesPassively { object_class, .. }
            | C::SubscribeObjectClassAttributesPassivelyWithRate { object_class, .. },
        )
        | Call::Distribution(
            D::SubscribeObjectClassAttributesWithRegions { object_class, .. }
            | D::SubscribeObjectClassAttributesWithRegionsAndRate { object_class, .. },
        ) => concerns_class(*object_class),
        Call::Declaration(
            C::PublishInteractionClass { interaction_class }
            | C::SubscribeInteractionClass { interaction_class }
            | C::SubscribeInteractionClassPassively { interaction_class },
        )
        | Call::Distribution(D::SubscribeInteractionClassWithRegions {
            interaction_class, ..
        }) => concerns_interaction(*interaction_class),
        _ => false,
    }
}

/// Begins to show a federation: the RTI joins it as a federate and registers its instances.
fn begin(federation: &mut Federation) {
    let account = Arc::clone(&federation.account);
    let model = Arc::clone(&federation.model);
    let (name, kind) = ("HLArti".to_owned(), "HLArti".to_owned());
    let time = federation.implementation;
    // Nothing is delivered to it as to a session: it has none.
    let session = SessionId(u64::MAX);
    let mut rti =
        Federate::new(name, kind, session, Edition::Hla4, &model, time, Arc::clone(&account));
    (rti.presence, rti.switches) = (Presence::Gone, BTreeSet::new());
    for class in classes(&model) {
        let attributes = model.object_class(class).expect("just seen").attributes.iter();
        rti.published.classes.insert(class, attributes.copied().collect());
    }
    for (handle, sharing) in interactions(&model) {
        match sharing {
            Sharing::Subscribe => {
                rti.subscribed.interactions.insert(handle, Activity::Active);
                federation.interaction_subscribers.entry(handle).or_default().insert(RTI);
            }
            Sharing::Publish => drop(rti.published.interactions.insert(handle)),
            Sharing::PublishSubscribe | Sharing::Neither => {}
        }
    }
    rti.charge.grow(rti.counted_len(0) - rti.charge.len());
    let charge = Charge::new(&account, Mom::LEN);
    federation.mom = Some(Box::new(Mom {
        rti,
        charge,
        federation: None,
        members: BTreeMap::new(),
        subjects: BTreeMap::new(),
        inbox: VecDeque::new(),
        touched: BTreeSet::new(),
    }));
    federation.forget_receivers();
    let instance = register(federation, "HLAobjectRoot.HLAmanager.HLAfederation");
    mom(federation).federation = instance;
    let members: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    members.into_iter().for_each(|federate| add(federation, federate));
}

/// The object classes of which the RTI registers instances.
fn classes(model: &Model) -> impl Iterator<Item = ObjectClassHandle> + '_ {
    let names = ["HLAfederation", "HLAfederate"].map(|name| format!("{MANAGER}.{name}"));
    names.into_iter().filter_map(|name| model.object_class_named(&name))
}

/// The interaction classes that the RTI publishes or subscribes to.
fn interactions(model: &Model) -> impl Iterator<Item = (InteractionClassHandle, Sharing)> + '_ {
    let all = model.interaction_classes().iter().enumerate();
    let of_mom = all.filter(|(_, one)| one.name.starts_with(INTERACTIONS));
    of_mom.filter_map(|(index, one)| Some((InteractionClassHandle::of_index(index), one.sharing?)))
}

/// The model of a federation whose federates take an interest in it.
fn mom(federation: &mut Federation) -> &mut Mom {
    federation.mom.as_mut().expect("the federation is observed")
}

/// Registers an instance of this class. Returns `None` if the federation has no room for it.
fn register(federation: &mut Federation, class: &str) -> Option<ObjectInstanceHandle> {
    let class = federation.model.object_class_named(class)?;
    match object::register_object_instance(federation, RTI, class, None) {
        Ok(Reply::ObjectInstance(instance)) => Some(instance),
        _ => None,
    }
}

/// Adds a joined federate to the model.
fn add(federation: &mut Federation, federate: FederateHandle) {
    let Some(instance) = register(federation, "HLAobjectRoot.HLAmanager.HLAfederate") else {
        return;
    };
    let told = Conditions::of(federation, federate);
    let member = Member { instance, told, counts: Counts::default() };
    let mom = mom(federation);
    mom.charge.grow(Mom::MEMBER_LEN + member.counts.len());
    mom.subjects.insert(instance, federate);
    mom.members.insert(federate, member);
}

/// A federate has joined, perhaps with further modules of the object model.
pub(crate) fn joined(federation: &mut Federation, federate: FederateHandle, with_modules: bool) {
    if federation.mom.is_none() {
        return;
    }
    add(federation, federate);
    if let Some(member) = mom(federation).members.get(&federate) {
        let instance = member.instance;
        update(federation, instance, value::is_told_at_once);
    }
    let Some(instance) = mom(federation).federation else { return };
    update(federation, instance, |name| match name {
        "HLAfederatesInFederation" => true,
        "HLAFOMmoduleDesignatorList" | "HLAcurrentFDD" => with_modules,
        _ => false,
    });
}

/// A federate leaves: its instance is deleted.
pub(crate) fn resigned(federation: &mut Federation, federate: FederateHandle) {
    let Some(mom) = &mut federation.mom else { return };
    mom.touched.remove(&federate);
    let Some(member) = mom.members.remove(&federate) else { return };
    mom.subjects.remove(&member.instance);
    mom.charge.shrink(Mom::MEMBER_LEN + member.counts.len());
    let instance = mom.federation;
    object::delete(federation, RTI, member.instance, Data::new(), None);
    if let Some(instance) = instance {
        update(federation, instance, |name| name == "HLAfederatesInFederation");
    }
}

/// Returns the modules that a federate brought: those that are new in the model, and those that it named.
pub(crate) fn brought(model: &Model, before: &Model, named: &[FomModule]) -> Vec<Arc<Module>> {
    let is_named = |module: &Module| named.iter().any(|one| one.designator() == module.source.name);
    let is_new = |module: &Arc<Module>| {
        !before.modules().iter().any(|one| Arc::ptr_eq(&one.source, &module.source))
    };
    model.modules().iter().filter(|one| is_new(one) || is_named(one)).cloned().collect()
}

/// Carries out a call that the model observes: what it changes and how much it sends.
pub(crate) fn observe(federation: &mut Federation, me: FederateHandle, call: Call) -> Answer {
    if federation.mom.is_none() {
        begin(federation);
    }
    let sent = count::Sent::of(federation, me, &call);
    let answer = dispatch(federation, me, call);
    if let Some(mom) = &mut federation.mom {
        mom.touch(me);
        if let (Ok(_), Some(member)) = (&answer, mom.members.get_mut(&me)) {
            let before = member.counts.len();
            member.counts.note_sent(sent);
            mom.charge.change(before, member.counts.len());
        }
    }
    answer
}

/// A callback was sent to a federate.
pub(crate) fn delivered(federation: &mut Federation, to: FederateHandle, callback: &Callback) {
    let class_of = |instance: &ObjectInstanceHandle| {
        federation.instances.get(instance).and_then(|one| one.known_as(to))
    };
    let class = match callback {
        Callback::ReflectAttributeValues { object_instance, .. }
        | Callback::ReflectAttributeValuesWithTime { object_instance, .. } => {
            class_of(object_instance)
        }
        _ => None,
    };
    let Some(mom) = &mut federation.mom else { return };
    let Some(member) = mom.members.get_mut(&to) else { return };
    let before = member.counts.len();
    member.counts.note_received(callback, class);
    mom.charge.change(before, member.counts.len());
}

/// A callback to a federate that has no session: the RTI handles it later, and others get nothing.
#[cold]
pub(crate) fn tell(federation: &mut Federation, to: FederateHandle, notice: Arc<Notice>) {
    if let Some(mom) = federation.mom.as_mut().filter(|_| to == RTI) {
        mom.inbox.push_back(notice);
    }
}

/// Handles everything that the RTI was sent, and tells subscribers what has changed. Returns whether there was
/// anything.
pub(crate) fn work(
    federation: &mut Federation,
    _sessions: &mut BTreeMap<SessionId, Session>,
) -> bool {
    let Some(mom) = &mut federation.mom else { return false };
    if let Some(notice) = mom.inbox.pop_front() {
        handle(federation, notice.callback());
        return true;
    }
    let Some(federate) = mom.touched.pop_first() else { return false };
    tell_changes(federation, federate);
    true
}

/// Handles one callback to the RTI.
fn handle(federation: &mut Federation, callback: &Callback) {
    match callback {
        Callback::ProvideAttributeValueUpdate { object_instance, attributes, .. } => {
            update_attributes(federation, *object_instance, attributes);
        }
        Callback::ReceiveInteraction {
            interaction_class: class,
            parameter_values: values,
            producing_federate: sender,
            ..
        }
        | Callback::ReceiveInteractionWithTime {
            interaction_class: class,
            parameter_values: values,
            producing_federate: sender,
            ..
        } => {
            let model = Arc::clone(&federation.model);
            let parameters = Parameters { model: &model, class: *class, values };
            if let Err(fault) = obey(federation, &parameters) {
                let name = &model.interaction_class(*class).expect("it was sent").name;
                report::mom_exception(federation, *sender, name, fault);
            }
        }
        // The RTI never gives up what it owns, and owns nothing that federates may acquire.
        _ => {}
    }
}

/// Does what an interaction asks.
fn obey(federation: &mut Federation, parameters: &Parameters<'_>) -> Result<(), Fault> {
    let class = parameters.model.interaction_class(parameters.class).expect("it was sent");
    let path: Vec<&str> = class.name.split('.').skip(2).collect();
    let is_done = match path[..] {
        ["HLAfederate", "HLArequest", request] => {
            request::of_federate(federation, request, parameters)?
        }
        ["HLAfederation", "HLArequest", request] => {
            request::of_federation(federation, request, parameters)?
        }
        _ => false,
    };
    let reason = || format!("{} is not supported", class.name);
    if is_done { Ok(()) } else { Err(Fault { in_parameters: false, reason: reason() }) }
}

/// Updates those attributes of a federate whose values have changed since its subscribers were told.
fn tell_changes(federation: &mut Federation, federate: FederateHandle) {
    if federation.joined_federate(federate).is_none() {
        return;
    }
    let now = Conditions::of(federation, federate);
    let Some(member) = mom(federation).members.get_mut(&federate) else { return };
    let before = std::mem::replace(&mut member.told, now);
    let instance = member.instance;
    if before != now {
        update(federation, instance, |name| now.differs(&before, name));
    }
}

/// Updates the attributes of an instance that are selected by name.
fn update(
    federation: &mut Federation,
    instance: ObjectInstanceHandle,
    selects: impl Fn(&str) -> bool,
) {
    let Some(definition) = federation.instances.get(&instance) else { return };
    let owned = definition.owned_by(RTI).filter(|one| {
        federation.model.attribute(*one).is_some_and(|attribute| selects(&attribute.name))
    });
    let attributes: Vec<AttributeHandle> = owned.collect();
    update_attributes(federation, instance, &attributes);
}

/// Updates these attributes of an instance, unless no other federate knows it.
fn update_attributes(
    federation: &mut Federation,
    instance: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) {
    let Some(definition) = federation.instances.get(&instance) else { return };
    if definition.known_by().len() < 2 {
        return;
    }
    let values: Vec<_> = attributes
        .iter()
        .filter_map(|attribute| Some((*attribute, value::of(federation, instance, *attribute)?)))
        .collect();
    if !values.is_empty() {
        let sent =
            object::update_attribute_values(federation, RTI, instance, values, Data::new(), None);
        sent.expect("the RTI owns the attributes of its instances");
    }
}

/// Returns the federate that an instance stands for.
fn subject(federation: &Federation, instance: ObjectInstanceHandle) -> Option<FederateHandle> {
    federation.mom.as_ref()?.subjects.get(&instance).copied()
}
