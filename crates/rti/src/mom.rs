//! The management object model (clause 11): the RTI as a federate of its own federations.
//!
//! The RTI has a federate with the handle [`RTI`] in every federation whose federates take an interest in the
//! management object model. This federate publishes the object classes, registers an instance for the federation and
//! for each joined federate, and subscribes to the interactions that ask for something. It uses the services of the
//! other clauses for all of this. Callbacks to it wait in its inbox until the call that caused them has been answered;
//! then [`work`] handles them.
//!
//! The interest begins with the first subscription to a class of the model, with the first publication of one of its
//! interactions, or with the first file of service reports. Before, a federation has no instance of the model (decision
//! 0034). From then on, the RTI observes calls in [`observe`] and callbacks in [`delivered`]. Counts begin when a
//! federate joins (`counts.rs`).

mod adjust;
mod argument;
mod condition;
mod file;
mod invocation;
mod parameters;
mod report;
mod request;
mod service;
mod value;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use hemiola_fom::model::Attribute;
use hemiola_fom::module::Module;
use hemiola_fom::{Model, Sharing, UpdateType};
use hemiola_hla::call::{DeclarationCall, DistributionCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, Callback, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Reply, Switch,
};
use hemiola_units::{Instant, Span};

use crate::backlog::Parcel;
use crate::federate::{Activity, Edition, Federate, Presence};
use crate::federation::Federation;
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::input::SessionId;
use crate::job::{All, Task};
use crate::memory::{ALLOCATION, Account, Charge, entry_len};
use crate::notice::Notice;
use crate::services::{self, Answer, object};
use condition::Conditions;
pub(crate) use file::begin_report_file;
use invocation::{Invocation, Pending};
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
    inbox: VecDeque<Letter>,
    /// Federates whose state may have changed.
    touched: BTreeSet<FederateHandle>,
    /// Reports on service invocations that are to be sent. They are those of one input or slice: no federate makes its
    /// next call before they are sent.
    invocations: VecDeque<Invocation>,
    /// Whether such a report is being sent. Callbacks that deliver it are not reported.
    is_reporting: bool,
    /// The switch of the federation, if a federate has set it.
    auto_provide: Option<bool>,
    /// When the next periodic update is due.
    next_due: Instant,
}

/// A callback to the RTI.
#[derive(Debug)]
struct Letter {
    notice: Arc<Notice>,
    /// For the notice.
    charge: Charge,
}

/// The greatest number of callbacks that wait while the federate that they concern is busy.
const INBOX_MAX: usize = 1024;

/// A joined federate, as the model shows it.
#[derive(Debug)]
struct Member {
    /// Its instance.
    instance: ObjectInstanceHandle,
    /// The state that its subscribers have been told.
    told: Conditions,
    /// When its periodic attributes are next updated, and their period.
    due: Option<(Instant, Span)>,
    /// How long it has been advancing, and how long not, since these were last reported.
    advancing: Span,
    granted: Span,
    /// Up to when these are counted.
    counted_until: Instant,
    /// Number of the next report on a service invocation.
    serial: i32,
}

impl Member {
    /// Adds the time until now to the state that it was in.
    fn count_time(&mut self, now: Instant) {
        let passed = now - std::mem::replace(&mut self.counted_until, now);
        if self.told.is_advancing() {
            self.advancing += passed;
        } else {
            self.granted += passed;
        }
    }
}

impl Mom {
    const LEN: usize = size_of::<Self>() + ALLOCATION;
    const MEMBER_LEN: usize =
        entry_len::<FederateHandle, Member>() + entry_len::<ObjectInstanceHandle, FederateHandle>();

    /// The state of a federate may have changed.
    #[cold]
    pub(crate) fn touch(&mut self, federate: FederateHandle) {
        self.touched.insert(federate);
    }

    /// Returns a switch of the federation that a federate has set.
    pub(crate) fn set_switch(&self, switch: Switch) -> Option<bool> {
        self.auto_provide.filter(|_| switch == Switch::AutoProvide)
    }

    /// When the next periodic update is due.
    pub(crate) const fn next_due(&self) -> Instant {
        self.next_due
    }

    /// Charges for the RTI as a federate, once an image has restored it.
    pub(crate) fn charge_rti(&mut self) {
        self.rti.charge.change(self.rti.charge.len(), self.rti.counted_len(0));
    }

    /// The instances for the federation and its federates.
    pub(crate) fn instances(&self) -> impl Iterator<Item = ObjectInstanceHandle> {
        self.federation.into_iter().chain(self.subjects.keys().copied())
    }

    /// The interaction classes to which the RTI subscribes.
    pub(crate) fn interactions(&self) -> Vec<InteractionClassHandle> {
        self.rti.subscribed.interactions.keys().copied().collect()
    }

    /// A period has changed.
    fn note_due(&mut self) {
        let due = self.members.values().filter_map(|member| member.due);
        self.next_due = due.map(|(due, _)| due).min().unwrap_or(Instant::MAX);
    }

    /// Checks its charges. Returns what is charged.
    pub(crate) fn check_memory(&self) -> usize {
        let members = self.members.len() * Self::MEMBER_LEN;
        let invocations = self.invocations.len() * Invocation::LEN;
        assert_eq!(self.charge.len(), Self::LEN + members + invocations);
        assert_eq!(self.rti.charge.len(), self.rti.counted_len(0));
        assert!(self.touched.is_empty());
        let inbox = self.inbox.iter().map(|letter| letter.charge.len());
        let records: BTreeMap<_, usize> = self.invocations.iter().map(Invocation::record).collect();
        let waiting = inbox.chain(records.into_values()).sum::<usize>();
        self.charge.len() + self.rti.charge.len() + waiting
    }
}

stored!(Member { instance, told, due, advancing, granted, counted_until, serial });

/// Writes the model of a federation that is at rest, without its members: nothing waits to be handled.
pub(crate) fn put(federation: &Federation, to: &mut Writer) {
    let Some(mom) = &federation.mom else { return };
    mom.rti.put(to);
    mom.federation.put(to);
    mom.auto_provide.put(to);
}

/// Reads the same.
pub(crate) fn take(from: &mut Reader, account: &Arc<Account>) -> Taken<Box<Mom>> {
    let mut rti = Federate::take(from, account)?;
    (rti.presence, rti.conveys_regions) = (Presence::Gone, false);
    let mut mom = empty(rti, account);
    mom.federation = Stored::take(from)?;
    mom.auto_provide = Stored::take(from)?;
    Ok(Box::new(mom))
}

/// Writes a joined federate as the model shows it. Returns whether the model shows it.
pub(crate) fn put_member(
    federation: &Federation,
    federate: FederateHandle,
    to: &mut Writer,
) -> bool {
    let member = federation.mom.as_ref().and_then(|mom| mom.members.get(&federate));
    member.inspect(|member| member.put(to)).is_some()
}

/// Reads the same.
pub(crate) fn take_member(mom: &mut Mom, federate: FederateHandle, from: &mut Reader) -> Taken<()> {
    let member = Member::take(from)?;
    if member.due.is_some_and(|(_, period)| period <= Span::ZERO) {
        return Err("a reporting period is not positive");
    }
    mom.charge.grow(Mom::MEMBER_LEN);
    mom.subjects.insert(member.instance, federate);
    mom.members.insert(federate, member);
    mom.note_due();
    Ok(())
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
    rti.conveys_regions = false;
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
    federation.mom = Some(Box::new(empty(rti, &account)));
    federation.forget_receivers();
    let instance = register(federation, "HLAobjectRoot.HLAmanager.HLAfederation");
    mom(federation).federation = instance;
    let members: Vec<FederateHandle> = federation.joined().iter().copied().collect();
    members.into_iter().for_each(|federate| add(federation, federate));
    let instances = All::new(federation);
    federation.start(RTI, Task::Gather(instances));
}

/// The model of a federation before the RTI has registered any instance.
fn empty(rti: Federate, account: &Arc<Account>) -> Mom {
    Mom {
        rti,
        charge: Charge::new(account, Mom::LEN),
        federation: None,
        members: BTreeMap::new(),
        subjects: BTreeMap::new(),
        inbox: VecDeque::new(),
        touched: BTreeSet::new(),
        invocations: VecDeque::new(),
        is_reporting: false,
        auto_provide: None,
        next_due: Instant::MAX,
    }
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
    match object::register_object_instance(federation, RTI, class, None, &[]) {
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
    let member = Member {
        instance,
        told,
        due: None,
        advancing: Span::ZERO,
        granted: Span::ZERO,
        counted_until: federation.now,
        serial: 0,
    };
    let mom = mom(federation);
    mom.charge.grow(Mom::MEMBER_LEN);
    mom.subjects.insert(instance, federate);
    mom.members.insert(federate, member);
}

/// A federate has joined, perhaps with further modules of the object model.
pub(crate) fn joined(federation: &mut Federation, federate: FederateHandle, with_modules: bool) {
    match &federation.mom {
        None => return,
        // It has begun with this federate.
        Some(mom) if mom.members.contains_key(&federate) => {}
        Some(_) => add(federation, federate),
    }
    if let Some(member) = mom(federation).members.get(&federate) {
        let instance = member.instance;
        update(federation, instance, |attribute| value::is_told_at_once(&attribute.name));
    }
    let Some(instance) = mom(federation).federation else { return };
    update(federation, instance, |attribute| match attribute.name.as_str() {
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
    mom.charge.shrink(Mom::MEMBER_LEN);
    mom.note_due();
    let instance = mom.federation;
    object::delete(federation, RTI, member.instance, Data::new(), None);
    if let Some(instance) = instance {
        update(federation, instance, |attribute| attribute.name == "HLAfederatesInFederation");
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

/// Carries out a call that the model observes.
#[cold]
pub(crate) fn observe(federation: &mut Federation, me: FederateHandle, call: Call) -> Answer {
    if federation.mom.is_none() {
        begin(federation);
    }
    let pending = Pending::of(federation, me, &call);
    let answer = services::call(federation, me, call);
    pending.into_iter().for_each(|pending| pending.ended(federation, me, &answer));
    if let Some(mom) = &mut federation.mom {
        mom.touch(me);
    }
    answer
}

/// A callback was sent to a federate.
#[cold]
pub(crate) fn delivered(federation: &mut Federation, to: FederateHandle, notice: &Arc<Notice>) {
    if let Some((instance, kind)) = notice.reflection()
        && let Ok((_, class)) = federation.known(to, instance)
    {
        federation.federate_mut(to).count(|counts| counts.reflection(instance, class, kind));
    }
    let is_reporting = federation.mom.as_ref().is_some_and(|mom| mom.is_reporting);
    // A frozen federation gets no reports.
    if !is_reporting && !federation.saving.is_frozen() {
        invocation::callback(federation, to, notice);
    }
}

/// A federate is lost: it leaves without having resigned, for this reason.
pub(crate) fn lost(federation: &mut Federation, federate: FederateHandle, reason: &str) {
    if federation.mom.is_none() {
        return;
    }
    let state = federation.federate(federate);
    let values = vec![
        ("HLAfederateName", value::text(&state.name)),
        ("HLAtimeStamp", value::time(Some(state.time.now()))),
        ("HLAfaultDescription", value::text(reason)),
    ];
    report::of_federate(federation, federate, "HLAreportFederateLost", values);
}

/// A callback to a federate that has no session: the RTI handles it later, and others get nothing.
#[cold]
pub(crate) fn tell(federation: &mut Federation, to: FederateHandle, notice: Arc<Notice>) {
    let len = federation.allowance.room.call_len + Parcel::OVERHEAD;
    let charge = Charge::new(&federation.account, len);
    if let Some(mom) = federation.mom.as_mut().filter(|_| to == RTI) {
        mom.inbox.push_back(Letter { notice, charge });
    }
}

/// Handles everything that the RTI was sent, and tells subscribers what has changed, one thing at a time. Returns
/// whether there was anything that can be done now.
pub(crate) fn work(federation: &mut Federation) -> bool {
    let now = federation.now;
    let Some(mom) = &mut federation.mom else { return false };
    if let Some(federate) = mom.touched.pop_first() {
        tell_changes(federation, federate);
    } else if federation.budget == 0 && !mom.invocations.is_empty() {
        return false;
    } else if let Some(invocation) = mom.invocations.pop_front() {
        mom.charge.shrink(Invocation::LEN);
        mom.is_reporting = true;
        invocation::send(federation, &invocation);
        self::mom(federation).is_reporting = false;
    } else if let Some(letter) = next_letter(federation) {
        handle(federation, letter.notice.callback());
    } else if is_due(federation) && federation.budget > 0 {
        update_next(federation, now);
    } else {
        return false;
    }
    true
}

/// Whether reports on service invocations are still to be sent.
pub(crate) fn has_reports(federation: &Federation) -> bool {
    federation.mom.as_deref().is_some_and(|mom| !mom.invocations.is_empty())
}

/// Whether nothing waits to be handled.
pub(crate) fn is_settled(federation: &Federation) -> bool {
    federation.mom.as_deref().is_none_or(|mom| {
        mom.inbox.is_empty() && mom.touched.is_empty() && mom.invocations.is_empty()
    })
}

/// The last save, or the scheduled one, has changed.
pub(crate) fn saves_changed(federation: &mut Federation) {
    let Some(instance) = federation.mom.as_ref().and_then(|mom| mom.federation) else { return };
    update(federation, instance, |attribute| {
        let name = attribute.name.as_str();
        let names = ["HLAlastSaveName", "HLAlastSaveTime", "HLAnextSaveName", "HLAnextSaveTime"];
        names.contains(&name)
    });
}

/// A save or a restore has begun or ended, and with it the state of every federate has changed.
pub(crate) fn states_changed(federation: &mut Federation) {
    let Some(mom) = &mut federation.mom else { return };
    mom.touched.extend(mom.members.keys());
}

/// Whether a periodic update is due.
pub(crate) fn is_due(federation: &Federation) -> bool {
    let mom = federation.mom.as_ref().filter(|_| !federation.saving.is_frozen());
    mom.is_some_and(|mom| mom.next_due <= federation.now)
}

/// Takes the first callback from the inbox, unless it concerns a federate that is busy with earlier work, or the counts
/// that it may ask for are not complete.
fn next_letter(federation: &mut Federation) -> Option<Letter> {
    let mom = federation.mom.as_ref()?;
    let first = mom.inbox.front()?;
    if mom.inbox.len() < INBOX_MAX && !federation.jobs.is_empty() {
        if federation.is_gathering() {
            return None;
        }
        let subject = concerned(&federation.model, first.notice.callback());
        let subject = subject.filter(|one| federation.joined_federate(*one).is_some());
        if subject.is_some_and(|one| federation.is_busy(one)) {
            return None;
        }
    }
    self::mom(federation).inbox.pop_front()
}

/// The federate that an interaction concerns.
fn concerned(model: &Model, callback: &Callback) -> Option<FederateHandle> {
    let (Callback::ReceiveInteraction {
        interaction_class: class, parameter_values: values, ..
    }
    | Callback::ReceiveInteractionWithTime {
        interaction_class: class,
        parameter_values: values,
        ..
    }) = callback
    else {
        return None;
    };
    Parameters { model, class: *class, values }.optional("HLAfederate").ok().flatten()
}

/// Updates the periodic attributes of the first federate for which that is due. Periods that have passed without an
/// update are left out.
fn update_next(federation: &mut Federation, now: Instant) {
    let mom = mom(federation);
    let is_due = |member: &&mut Member| member.due.is_some_and(|(due, _)| due <= now);
    let Some(member) = mom.members.values_mut().find(is_due) else { return mom.note_due() };
    let (due, period) = member.due.expect("just seen");
    let next = due + period;
    member.due = Some((if next > now { next } else { now + period }, period));
    let instance = member.instance;
    mom.note_due();
    update(federation, instance, |attribute| attribute.update_type == Some(UpdateType::Periodic));
    federation.spend(PERIODIC);
}

/// The cost of a periodic update, in units of work, besides its callbacks.
const PERIODIC: u64 = 40;

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
            if let Err(fault) = obey(federation, *sender, &parameters) {
                let name = &model.interaction_class(*class).expect("it was sent").name;
                report::mom_exception(federation, *sender, name, fault);
            }
        }
        // The RTI never gives up what it owns, and owns nothing that federates may acquire.
        _ => {}
    }
}

/// Does what an interaction asks.
fn obey(
    federation: &mut Federation,
    sender: FederateHandle,
    parameters: &Parameters<'_>,
) -> Result<(), Fault> {
    let class = parameters.model.interaction_class(parameters.class).expect("it was sent");
    let path: Vec<&str> = class.name.split('.').skip(2).collect();
    let is_done = match path[..] {
        ["HLAfederate", "HLArequest", request] => {
            request::of_federate(federation, request, parameters)?
        }
        ["HLAfederate", "HLAadjust", name] => {
            adjust::federate(federation, sender, name, parameters)?
        }
        ["HLAfederate", "HLAservice", name] => {
            service::invoke(federation, sender, name, parameters)?
        }
        ["HLAfederation", "HLAadjust", name] => adjust::federation(federation, name, parameters)?,
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
    let until = federation.now;
    let Some(member) = mom(federation).members.get_mut(&federate) else { return };
    member.count_time(until);
    let before = std::mem::replace(&mut member.told, now);
    let instance = member.instance;
    if before != now {
        update(federation, instance, |attribute| now.differs(&before, &attribute.name));
    }
}

/// Updates the attributes of an instance that are selected.
fn update(
    federation: &mut Federation,
    instance: ObjectInstanceHandle,
    selects: impl Fn(&Attribute) -> bool,
) {
    let Some(definition) = federation.instances.get(&instance) else { return };
    let owned = definition
        .owned_by(RTI)
        .filter(|one| federation.model.attribute(*one).is_some_and(&selects));
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
    let (galts, now) = (federation.galts(), federation.now);
    let federate = subject(federation, instance);
    let member = federate.and_then(|federate| mom(federation).members.get_mut(&federate));
    member.into_iter().for_each(|member| member.count_time(now));
    let value = |attribute| value::of(federation, galts, instance, attribute);
    let values = attributes.iter().filter_map(|one| Some((*one, value(*one)?)));
    let values: Vec<_> = values.collect();
    if values.is_empty() {
        return;
    }
    let names = values.iter().filter_map(|(one, _)| federation.model.attribute(*one));
    let reported: Vec<String> = names.map(|one| one.name.clone()).collect();
    let sent =
        object::update_attribute_values(federation, RTI, instance, values, Data::new(), None);
    sent.expect("the RTI owns the attributes of its instances");
    let Some(federate) = federate else { return };
    let Some(member) = mom(federation).members.get_mut(&federate) else { return };
    for name in reported {
        match name.as_str() {
            "HLAtimeGrantedTime" => member.granted = Span::ZERO,
            "HLAtimeAdvancingTime" => member.advancing = Span::ZERO,
            _ => {}
        }
    }
}

/// Returns the federate that an instance stands for.
fn subject(federation: &Federation, instance: ObjectInstanceHandle) -> Option<FederateHandle> {
    federation.mom.as_ref()?.subjects.get(&instance).copied()
}
