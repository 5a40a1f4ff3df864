//! One federation execution: its tables and their invariants.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_fom::module::Setting;
use hemiola_hla::data::AttributeValues;
use hemiola_hla::{
    AttributeHandle, Callback, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, Refusal, Switch, TimeImplementation,
};
use hemiola_units::Instant;

use crate::backlog::QueuedMessage;
use crate::creation::Creation;
use crate::federate::{Edition, Federate};
use crate::image::{Reader, Taken, Writer};
use crate::input::{CallId, Effect, SessionId};
use crate::instance::{Instance, InstanceAttribute, KnownBy};
use crate::job::{CALLBACK, Jobs};
use crate::limits::Limits;
use crate::members::Members;
use crate::memory::{ALLOCATION, Account, Allowance, Charge, Quota, Refusals, entry_len, name_len};
use crate::message::Message;
use crate::mom::{self, Mom};
use crate::notice::Notice;
use crate::regions::Regions;
use crate::saving::Saving;
use crate::services::federation::SynchronizationPoint;
use crate::services::ownership::{self, Negotiation};
use crate::services::time::{Galts, Schedule};
use crate::services::{Answer, declaration, object};
use crate::session::FederationId;
use crate::time::TimeState;

/// A federation execution.
#[derive(Debug)]
pub(crate) struct Federation {
    pub(crate) name: String,
    pub(crate) id: FederationId,
    pub(crate) creation: Creation,
    pub(crate) model: Arc<Model>,
    pub(crate) implementation: TimeImplementation,
    pub(crate) limits: Limits,
    /// What the federation itself pays for.
    pub(crate) account: Arc<Account>,
    /// For itself and its table of receivers.
    pub(crate) charge: Charge,
    /// For its model: one for each federate that brought a part of it.
    pub(crate) model_charges: Vec<Charge>,
    /// For the present call.
    pub(crate) allowance: Allowance,
    /// A cell because refusals are counted where a federation is only read.
    pub(crate) refusals: Cell<Refusals>,
    pub(crate) now: Instant,
    /// Effects of the current input, which follow the reply.
    pub(crate) outbox: Vec<Effect>,
    /// The units of work that are left for the current input.
    pub(crate) budget: u64,
    /// Whether the current call is answered when it returns, and not when its job ends.
    pub(crate) is_answer_due: bool,
    pub(crate) jobs: Jobs,
    /// Answers of calls whose jobs have ended.
    pub(crate) answers: Vec<(SessionId, CallId, Answer)>,
    /// Federates for which messages may have arrived during a release.
    pub(crate) released: Vec<FederateHandle>,
    /// The sessions of federates that have left.
    pub(crate) departed: Vec<SessionId>,
    /// The attribute whose owner may delete an instance.
    pub(crate) privilege: AttributeHandle,
    federates: Members<Federate>,
    joined: BTreeSet<FederateHandle>,
    pub(crate) points: BTreeMap<String, SynchronizationPoint>,
    /// Names of instances that are reserved or in use.
    pub(crate) names: BTreeMap<String, NameUse>,
    pub(crate) instances: BTreeMap<ObjectInstanceHandle, Instance>,
    /// Instances by the exact class they were registered as. No set is empty.
    pub(crate) of_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    /// Pending negotiations of attribute ownership.
    pub(crate) negotiations: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Negotiation>,
    /// Number of instances registered so far.
    pub(crate) instance_count: u64,
    pub(crate) regions: Regions,
    /// Federates that subscribe to attributes of exactly this class.
    pub(crate) class_subscribers: BTreeMap<ObjectClassHandle, BTreeSet<FederateHandle>>,
    /// Federates that subscribe to exactly this class.
    pub(crate) interaction_subscribers: BTreeMap<InteractionClassHandle, BTreeSet<FederateHandle>>,
    /// Receivers of interactions by the class that is sent. Filled on first use and cleared when subscriptions change.
    pub(crate) receivers: BTreeMap<InteractionClassHandle, Arc<[Receiver]>>,
    /// The names of the update rates that are in use.
    rate_names: BTreeSet<Arc<str>>,
    /// Number of messages sent so far.
    pub(crate) sequence: u64,
    /// Whether time-constrained federates wait while no federate is time-regulating. The object model must ask for it
    /// explicitly; otherwise they are granted at once, as federates of 1516-2010 expect.
    pub(crate) waits_for_regulation: bool,
    /// Whether subscriptions are evaluated at delivery instead of at sending.
    pub(crate) delays_evaluation: bool,
    /// Whether federates of 1516-2010 learn who produced what they receive.
    pub(crate) conveys_producer: bool,
    /// Whether update advisories use the class an instance is known as instead of the class it was registered as.
    pub(crate) advises_by_known_class: bool,
    /// When values that wait for their subscribers' update rates may be reflected. Some may be obsolete since.
    pub(crate) postponed: BTreeSet<(Instant, FederateHandle, ObjectInstanceHandle)>,
    pub(crate) schedule: Schedule,
    /// Whether a change may have ended a federate's wait.
    pub(crate) time_changed: bool,
    /// Federates with too many undelivered messages.
    pub(crate) overflowed: BTreeSet<FederateHandle>,
    /// The designator of a management module that the creator brought.
    pub(crate) mim: Option<String>,
    /// The management object model, once a federate takes an interest in it.
    pub(crate) mom: Option<Box<Mom>>,
    pub(crate) saving: Saving,
    /// How the names of the files of service reports begin; `None` if there are none.
    pub(crate) report_files: Option<Arc<str>>,
}

/// A receiver of an interaction, and the class it receives it as.
pub(crate) type Receiver = (FederateHandle, InteractionClassHandle);

/// The use of an instance name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse {
    Reserved(FederateHandle),
    Registered(ObjectInstanceHandle),
}

impl Federation {
    /// The memory of a federation without content.
    const LEN: usize = 2 * size_of::<Self>();

    pub(crate) fn new(
        name: String,
        model: Arc<Model>,
        implementation: TimeImplementation,
        limits: Limits,
        account: Arc<Account>,
        now: Instant,
    ) -> Self {
        let waits_for_regulation =
            model.declared_setting(Switch::NonRegulatedGrant) == Some(Setting::Enabled(false));
        Self {
            delays_evaluation: model.is_enabled(Switch::DelaySubscriptionEvaluation),
            conveys_producer: model.is_enabled(Switch::ConveyProducingFederate),
            advises_by_known_class: model.is_enabled(Switch::AdvisoriesUseKnownClass),
            privilege: object::privilege(&model),
            id: FederationId(0),
            creation: Creation::default(),
            implementation,
            limits,
            charge: Charge::new(&account, Self::LEN + name_len(&name)),
            model_charges: Vec::new(),
            account,
            name,
            model,
            allowance: Allowance::default(),
            refusals: Cell::default(),
            now,
            outbox: Vec::new(),
            budget: u64::MAX,
            is_answer_due: true,
            jobs: Jobs::new(),
            answers: Vec::new(),
            released: Vec::new(),
            departed: Vec::new(),
            waits_for_regulation,
            federates: Members::default(),
            joined: BTreeSet::new(),
            points: BTreeMap::new(),
            names: BTreeMap::new(),
            instances: BTreeMap::new(),
            of_class: BTreeMap::new(),
            negotiations: BTreeMap::new(),
            instance_count: 0,
            regions: Regions::default(),
            class_subscribers: BTreeMap::new(),
            interaction_subscribers: BTreeMap::new(),
            receivers: BTreeMap::new(),
            rate_names: BTreeSet::new(),
            sequence: 0,
            postponed: BTreeSet::new(),
            schedule: Schedule::default(),
            time_changed: false,
            overflowed: BTreeSet::new(),
            mim: None,
            mom: None,
            saving: Saving::default(),
            report_files: None,
        }
    }

    // Saving and restoring.

    /// Writes which handles federates have.
    pub(crate) fn put_members(&self, to: &mut Writer) {
        self.federates.put(to);
    }

    /// Reads the same.
    pub(crate) fn take_members(&mut self, from: &mut Reader) -> Taken<()> {
        self.federates = Members::take(from)?;
        Ok(())
    }

    /// Restores a federate with its handle.
    pub(crate) fn fill(&mut self, handle: FederateHandle, mut federate: Federate) -> Taken<()> {
        // It may have forgotten instances of messages that were queued for it before the save.
        federate.forgot_at = self.sequence;
        for class in federate.subscribed.classes.keys() {
            self.class_subscribers.entry(*class).or_default().insert(handle);
        }
        for class in federate.subscribed.interactions.keys() {
            self.interaction_subscribers.entry(*class).or_default().insert(handle);
        }
        if !self.federates.fill(handle, federate) {
            return Err("a federate has the handle of another");
        }
        self.joined.insert(handle);
        self.schedule.mark_changed(handle);
        Ok(())
    }

    /// Restores an instance, and what follows from it.
    pub(crate) fn restore_instance(
        &mut self,
        handle: ObjectInstanceHandle,
        instance: Instance,
    ) -> Taken<()> {
        let name_use = NameUse::Registered(handle);
        if self.names.insert(instance.name.clone(), name_use).is_some() {
            return Err("a name is used twice");
        }
        self.of_class.entry(instance.class).or_default().insert(handle);
        let owned = instance.attributes.iter().filter(|one| one.owner != FederateHandle::INVALID);
        let owners: BTreeSet<FederateHandle> = owned.map(|one| one.owner).collect();
        for owner in owners {
            self.federate_mut(owner).owned.instances += 1;
        }
        let deleter = instance.owner(self.privilege);
        if deleter != FederateHandle::INVALID {
            self.federate_mut(deleter).owned.deletable += 1;
        }
        self.instances.insert(handle, instance);
        Ok(())
    }

    /// The names that are reserved, and the federates that reserved them.
    pub(crate) fn reserved_names(&self) -> impl Iterator<Item = (&str, FederateHandle)> {
        self.names.iter().filter_map(|(name, name_use)| match name_use {
            NameUse::Reserved(by) => Some((name.as_str(), *by)),
            NameUse::Registered(_) => None,
        })
    }

    /// Completes a federation that was read from an image with what follows from its tables. It pays for its model.
    pub(crate) fn complete(&mut self, rates: BTreeSet<Arc<str>>) -> Taken<()> {
        self.charge.grow(rates.iter().map(|name| Self::rate_name_len(name)).sum());
        self.rate_names = rates;
        self.model_charges.push(Charge::new(&self.account, self.model.memory()));
        if let Some(mom) = &mut self.mom {
            mom.charge_rti();
            for class in mom.interactions() {
                self.interaction_subscribers.entry(class).or_default().insert(mom::RTI);
            }
            let is_shown = |instance| {
                self.instances.get(&instance).is_some_and(|one| one.known_as(mom::RTI).is_some())
            };
            if !mom.instances().all(is_shown) {
                return Err("the management object model shows an instance that does not exist");
            }
        }
        self.time_changed = true;
        Ok(())
    }

    /// Keeps the receivers of an interaction class for its next messages.
    pub(crate) fn keep_receivers(
        &mut self,
        class: InteractionClassHandle,
        receivers: Arc<[Receiver]>,
    ) {
        self.charge.grow(Self::receivers_len(&receivers));
        self.receivers.insert(class, receivers);
    }

    /// Forgets the receivers of all interaction classes, because they have changed.
    pub(crate) fn forget_receivers(&mut self) {
        let receivers = std::mem::take(&mut self.receivers);
        self.charge.shrink(receivers.values().map(|one| Self::receivers_len(one)).sum());
    }

    fn receivers_len(receivers: &[Receiver]) -> usize {
        entry_len::<InteractionClassHandle, Arc<[Receiver]>>()
            + ALLOCATION
            + size_of_val::<[Receiver]>(receivers)
    }

    /// Returns the name of an update rate, which all subscriptions share.
    pub(crate) fn rate_name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.rate_names.get(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        self.charge.grow(Self::rate_name_len(name));
        self.rate_names.insert(Arc::clone(&shared));
        shared
    }

    const fn rate_name_len(name: &str) -> usize {
        entry_len::<Arc<str>, ()>() + name_len(name)
    }

    /// Notes that attributes are reflected to a federate now.
    pub(crate) fn note_reflected(
        &mut self,
        receiver: FederateHandle,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
        values: &AttributeValues,
    ) {
        let within = self.regions.subscribed(receiver, class);
        let federate = match self.federates.get_mut(receiver) {
            Some(federate) => federate,
            None => mom::rti_mut(&mut self.mom, receiver),
        };
        federate.note_reflected(class, instance, values, self.now, within);
    }

    /// Whether federates have subscribed with update rates.
    pub(crate) fn has_rates(&self) -> bool {
        !self.rate_names.is_empty()
    }

    /// Keeps the values of an update until a federate's rates allow them, each until its time.
    pub(crate) fn postpone(
        &mut self,
        receiver: FederateHandle,
        instance: ObjectInstanceHandle,
        dues: &[(AttributeHandle, Instant)],
        message: Arc<Message>,
    ) {
        self.postponed.extend(dues.iter().map(|(_, due)| (*due, receiver, instance)));
        let federate = self.federate_mut(receiver);
        federate.charge.grow(federate.postponed.keep(instance, dues, &message));
    }

    /// A newer value of these attributes is on its way to a federate: those that wait for its update rate are obsolete.
    pub(crate) fn drop_postponed(
        &mut self,
        receiver: FederateHandle,
        instance: ObjectInstanceHandle,
        values: &AttributeValues,
    ) {
        let federate = self.federate_mut(receiver);
        if !federate.postponed.is_empty() {
            let dropped = values.iter().map(|(one, _)| federate.postponed.drop_one(instance, *one));
            let dropped: usize = dropped.sum();
            federate.charge.shrink(dropped);
        }
    }

    /// Counts a call that was refused because of this quota.
    pub(crate) fn count_refusal(&self, quota: Quota) {
        let mut refusals = self.refusals.get();
        refusals.count(quota);
        self.refusals.set(refusals);
    }

    /// The memory that it holds, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.account.federation_held()
    }

    /// Checks that what is charged is what is held, counted anew. Tests call it after every input.
    fn check_memory(&self) {
        let receivers = self.receivers.values().map(|one| Self::receivers_len(one));
        let rates = self.rate_names.iter().map(|name| Self::rate_name_len(name));
        let own = Self::LEN + name_len(&self.name);
        assert_eq!(self.charge.len(), own + receivers.chain(rates).sum::<usize>());
        let mut reserved: BTreeMap<FederateHandle, usize> = BTreeMap::new();
        for (name, name_use) in &self.names {
            if let NameUse::Reserved(by) = name_use {
                *reserved.entry(*by).or_default() += object::reserved_len(name);
            }
        }
        let models = self.model_charges.iter().map(Charge::len);
        let mut held = self.charge.len() + models.sum::<usize>();
        let mut parcels = BTreeMap::new();
        for (handle, federate) in self.federates() {
            let reserved = reserved.get(&handle).copied().unwrap_or_default();
            assert_eq!(federate.charge.len(), federate.counted_len(reserved), "{handle}");
            held += federate.charge.len();
            held += federate.time.sent.values().map(|sent| sent.charge.len()).sum::<usize>();
            held += federate.time.backlog.iter().map(QueuedMessage::place_len).sum::<usize>();
            parcels.extend(federate.time.backlog.iter().map(QueuedMessage::parcel));
        }
        for instance in self.instances.values() {
            assert_eq!(instance.charge.len(), instance.counted_len());
            held += instance.charge.len();
        }
        held += self.regions.charged_len();
        held += self.points.values().map(|point| point.charged_len()).sum::<usize>();
        held += self.mom.as_ref().map_or(0, |mom| mom.check_memory());
        held += self.negotiations.values().map(Negotiation::charged_len).sum::<usize>();
        held += parcels.values().sum::<usize>();
        held += self.saving.check_memory();
        assert_eq!(self.account.federation_held(), held, "what is charged is held");
    }

    /// Returns the handles of the joined federates, in order.
    pub(crate) const fn joined(&self) -> &BTreeSet<FederateHandle> {
        &self.joined
    }

    /// Iterates over the joined federates by handle.
    pub(crate) fn federates(&self) -> impl Iterator<Item = (FederateHandle, &Federate)> {
        self.joined.iter().map(|handle| (*handle, self.federate(*handle)))
    }

    /// Returns a joined federate, or the RTI as one.
    pub(crate) fn federate(&self, handle: FederateHandle) -> &Federate {
        self.joined_federate(handle).unwrap_or_else(|| mom::rti(self, handle))
    }

    /// Returns a joined federate, or the RTI as one.
    pub(crate) fn federate_mut(&mut self, handle: FederateHandle) -> &mut Federate {
        match self.federates.get_mut(handle) {
            Some(federate) => federate,
            None => mom::rti_mut(&mut self.mom, handle),
        }
    }

    /// Returns a federate's time state for a change that may concern the schedule.
    #[inline]
    pub(crate) fn time_mut(&mut self, handle: FederateHandle) -> &mut TimeState {
        self.schedule.mark_changed(handle);
        if let Some(mom) = &mut self.mom {
            mom.touch(handle);
        }
        &mut self.federate_mut(handle).time
    }

    /// Returns the GALTs of all federates, after an update of the schedule.
    pub(crate) fn galts(&mut self) -> Galts {
        self.schedule.update(|place| {
            self.federates.at(place).map(|(handle, federate)| (handle, &federate.time))
        });
        self.schedule.galts()
    }

    /// Checks that the schedule is what the state of every federate says.
    fn check_schedule(&self) {
        let time_of =
            |place| self.federates.at(place).map(|(handle, federate)| (handle, &federate.time));
        let (mut kept, mut fresh) = (self.schedule.clone(), Schedule::default());
        kept.update(time_of);
        self.joined.iter().for_each(|federate| fresh.mark_changed(*federate));
        fresh.update(time_of);
        kept.check_against(&fresh);
        let (indexed, scanned) = (kept.galts(), Galts::of(self));
        let are_equal = |federate| indexed.galt(federate) == scanned.galt(federate);
        assert!(self.joined.iter().copied().all(are_equal), "{indexed:?} is not {scanned:?}");
    }

    /// Returns the federate with this handle, if it is joined.
    pub(crate) fn joined_federate(&self, handle: FederateHandle) -> Option<&Federate> {
        self.federates.get(handle)
    }

    /// Returns whether a federate, joined or resigned, has or had this handle.
    pub(crate) fn was_joined(&self, handle: FederateHandle) -> bool {
        self.federates.has_given(handle)
    }

    /// Returns the federate with this name, unless it is leaving.
    pub(crate) fn federate_named(&self, name: &str) -> Option<FederateHandle> {
        let mut staying = self.federates().filter(|(_, federate)| federate.is_staying());
        staying.find(|(_, federate)| federate.name == name).map(|(handle, _)| handle)
    }

    /// Returns the handle that the next federate to join will get.
    pub(crate) fn next_federate(&self) -> FederateHandle {
        self.federates.next()
    }

    pub(crate) fn join(&mut self, federate: Federate) -> FederateHandle {
        let handle = self.federates.insert(federate);
        self.joined.insert(handle);
        handle
    }

    pub(crate) fn leave(&mut self, handle: FederateHandle) -> Box<Federate> {
        self.joined.remove(&handle);
        self.creation.quiet_since = self.now;
        self.schedule.mark_changed(handle);
        self.federates.remove(handle).expect("only a joined federate leaves")
    }

    pub(crate) fn is_on(&self, switch: Switch) -> bool {
        let set = self.mom.as_ref().and_then(|mom| mom.set_switch(switch));
        set.unwrap_or_else(|| self.model.is_enabled(switch))
    }

    /// Sends a callback to one federate.
    pub(crate) fn send_callback(&mut self, to: FederateHandle, callback: Callback) {
        self.send_notice(to, Arc::new(Notice::new(callback)));
    }

    /// Sends a callback that other federates share.
    pub(crate) fn send_notice(&mut self, to: FederateHandle, notice: Arc<Notice>) {
        let federate = self.federate(to);
        if !federate.is_staying() {
            return mom::tell(self, to, notice);
        }
        let notice = match federate.edition {
            Edition::Hla4 => notice,
            Edition::Evolved => self.evolved(notice),
        };
        let session = federate.session;
        if self.mom.is_some() {
            mom::delivered(self, to, &notice);
        }
        self.outbox.push(Effect::Callback(session, notice));
        self.spend(CALLBACK);
    }

    /// Returns a callback as a federate of 1516-2010 expects it. That edition has only one grant callback, for which
    /// its clients would wait for ever. A producing federate has its clients call the long form of
    /// `discoverObjectInstance`, which federates need not have.
    fn evolved(&self, notice: Arc<Notice>) -> Arc<Notice> {
        match notice.callback() {
            Callback::FlushQueueGrant { time, .. } => {
                Arc::new(Notice::new(Callback::TimeAdvanceGrant { time: *time }))
            }
            _ if self.conveys_producer => notice,
            _ => Notice::without_producer(notice),
        }
    }

    /// Returns an instance that a federate knows, and how it does.
    pub(crate) fn knower(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Result<(&Instance, &KnownBy), Refusal> {
        let instance = self.instances.get(&handle).ok_or(Exception::ObjectInstanceNotKnown)?;
        let known = instance.knower(federate).ok_or(Exception::ObjectInstanceNotKnown)?;
        Ok((instance, known))
    }

    /// Returns an instance that a federate knows, and the class it is known as.
    pub(crate) fn known(
        &self,
        federate: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Result<(&Instance, ObjectClassHandle), Refusal> {
        let (instance, known) = self.knower(federate, handle)?;
        Ok((instance, known.class))
    }

    pub(crate) fn instance_mut(&mut self, handle: ObjectInstanceHandle) -> &mut Instance {
        self.instances.get_mut(&handle).expect("the instance was looked up before")
    }

    /// Returns the handle of the instance that was registered last.
    pub(crate) const fn last_instance(&self) -> ObjectInstanceHandle {
        ObjectInstanceHandle::new(self.instance_count)
    }

    /// Gives an attribute of an instance to a federate, or to none with `INVALID`.
    pub(crate) fn set_owner(
        &mut self,
        handle: ObjectInstanceHandle,
        attribute: AttributeHandle,
        owner: FederateHandle,
    ) {
        let instance = self.instance_mut(handle);
        let place = instance.attribute_mut(attribute).expect("attributes stay");
        let before = std::mem::replace(&mut place.owner, owner);
        let owns_more = |federate| {
            let others = instance.attributes.iter().filter(|one| one.handle != attribute);
            others.into_iter().any(|one| one.owner == federate)
        };
        let (before_owns_more, owns_more) = (owns_more(before), owns_more(owner));
        let is_privilege = attribute == self.privilege;
        if before != owner && self.regions.has_associations() {
            self.regions.disown(handle, attribute, before);
        }
        if before != FederateHandle::INVALID {
            let owned = &mut self.federate_mut(before).owned;
            owned.instances -= usize::from(!before_owns_more);
            owned.deletable -= usize::from(is_privilege);
        }
        if owner != FederateHandle::INVALID {
            let owned = &mut self.federate_mut(owner).owned;
            owned.instances += usize::from(!owns_more);
            owned.deletable += usize::from(is_privilege);
        }
    }

    /// Gives an unowned attribute of an instance an owner and its sending options.
    pub(crate) fn acquire(&mut self, handle: ObjectInstanceHandle, acquired: InstanceAttribute) {
        let InstanceAttribute { handle: attribute, owner, .. } = acquired;
        let unowned = InstanceAttribute { owner: FederateHandle::INVALID, ..acquired };
        self.instance_mut(handle).acquire(unowned);
        self.set_owner(handle, attribute, owner);
    }

    /// Makes a federate's attributes of an instance unowned and returns them.
    pub(crate) fn divest(
        &mut self,
        me: FederateHandle,
        handle: ObjectInstanceHandle,
    ) -> Vec<AttributeHandle> {
        let owned: Vec<AttributeHandle> = self.instances[&handle].owned_by(me).collect();
        for attribute in &owned {
            self.set_owner(handle, *attribute, FederateHandle::INVALID);
        }
        owned
    }

    /// Iterates over a class and its superclasses, upwards.
    pub(crate) fn object_class_line(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = ObjectClassHandle> + '_ {
        std::iter::successors(Some(class), |class| self.model.object_class(*class)?.parent)
    }

    /// Iterates over a class and its superclasses, upwards.
    pub(crate) fn interaction_class_line(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = InteractionClassHandle> + '_ {
        std::iter::successors(Some(class), |class| self.model.interaction_class(*class)?.parent)
    }

    /// Returns a table's entries for a class and its subclasses, by handle. It looks at the subclasses or at the table,
    /// whichever are fewer.
    pub(crate) fn entries_below<'t, T>(
        &self,
        table: &'t BTreeMap<ObjectClassHandle, T>,
        class: ObjectClassHandle,
    ) -> Vec<(ObjectClassHandle, &'t T)> {
        let mut below = vec![class];
        let mut next = 0;
        while next < below.len() && below.len() <= table.len() {
            let definition = self.model.object_class(below[next]);
            below.extend(definition.into_iter().flat_map(|one| &one.children));
            next += 1;
        }
        if below.len() > table.len() {
            let entries = table.iter().map(|(one, entry)| (*one, entry));
            return entries.filter(|(one, _)| self.model.is_object_class(*one, class)).collect();
        }
        below.sort_unstable();
        below.into_iter().filter_map(|one| Some((one, table.get(&one)?))).collect()
    }

    /// Returns the federates that subscribe to a class or a superclass.
    pub(crate) fn subscribers_above(&self, class: ObjectClassHandle) -> BTreeSet<FederateHandle> {
        let lines = self.object_class_line(class);
        lines.filter_map(|class| self.class_subscribers.get(&class)).flatten().copied().collect()
    }

    /// Checks each federate's count of what it owns.
    fn check_owned(&self) {
        for (handle, federate) in self.federates() {
            let owned = self.instances.values().filter(|one| one.owned_by(handle).next().is_some());
            assert_eq!(owned.clone().count(), federate.owned.instances);
            let deletable = owned.filter(|one| object::may_delete(self, one, handle));
            assert_eq!(deletable.count(), federate.owned.deletable);
        }
    }

    /// Checks the invariants that hold between any two inputs.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub(crate) fn check_invariants(&self) {
        for (handle, federate) in self.federates() {
            let time = &federate.time;
            let has_jobs = federate.jobs > 0;
            assert!(
                time.constrained || has_jobs || !time.backlog.has_ordered(),
                "only a constrained federate queues messages by time stamp"
            );
            assert!(
                time.constrained || has_jobs || self.time_changed || time.advance().is_none(),
                "an unconstrained federate never waits for a grant"
            );
            assert!(
                time.holds()
                    || has_jobs
                    || self.released.contains(&handle)
                    || !time.backlog.has_held(),
                "a message that can be delivered is not held"
            );
            let in_bounds = time.backlog.count() <= self.limits.undelivered
                && time.backlog.len() <= self.limits.undelivered_len;
            assert!(in_bounds, "a federate over its limits is resigned");
            assert!(!(time.constrained && time.constrained_pending.is_some()));
            if let Some((_, head)) = time.backlog.first() {
                assert!(
                    has_jobs || crate::message::is_deliverable(self, handle, head),
                    "the first message in the queue is deliverable"
                );
            }
            assert!(
                time.backlog.iter().all(|message| {
                    crate::message::is_deliverable(self, handle, message)
                        == crate::message::is_known_since(self, handle, message)
                }),
                "a federate knows the instances of what was sent to it since it forgot one"
            );
            let in_order = time.backlog.check_invariants().all(|stamp| time.floor().allows(stamp));
            assert!(in_order || has_jobs, "{} has a message in its past", federate.name);
            let jobs = self.jobs.iter().filter(|job| job.federate == handle).count();
            assert_eq!(jobs, federate.jobs as usize);
            for class in federate.subscribed.classes.keys() {
                assert!(self.class_subscribers[class].contains(&handle));
            }
            assert!(federate.published.classes.values().all(|set| !set.is_empty()));
        }
        self.check_owned();
        self.check_schedule();
        self.check_memory();
        crate::services::time::check_invariants(self);
        declaration::check_invariants(self);
        let is_leaving = |federate| !self.federate(federate).is_staying();
        self.regions.check_invariants(|federate| self.joined.contains(&federate), is_leaving);
        ownership::check_invariants(self);
        for (handle, instance) in &self.instances {
            assert_eq!(self.names.get(&instance.name), Some(&NameUse::Registered(*handle)));
            assert!(self.of_class[&instance.class].contains(handle));
            assert!(instance.known_by().is_sorted_by_key(|one| one.federate));
            for KnownBy { federate, class, .. } in instance.known_by() {
                assert!(self.joined.contains(federate) || *federate == mom::RTI);
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
