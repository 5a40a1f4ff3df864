//! One joined federate: its declarations, advisories and time state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_fom::module::Module;
use hemiola_hla::data::AttributeValues;
use hemiola_hla::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType,
    ResignAction, Switch, TimeImplementation, TransportationTypeHandle,
};
use hemiola_units::{Instant, Span};

use crate::counts::Counts;
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::input::SessionId;
use crate::instance::KnownBy;
use crate::memory::{ALLOCATION, Account, Charge, name_len};
use crate::postponed::Postponed;
use crate::regions::WithRegions;
use crate::time::TimeState;

/// A joined federate.
#[derive(Debug)]
pub(crate) struct Federate {
    pub(crate) name: String,
    pub(crate) federate_type: String,
    /// Where its client is; the session pays for it.
    pub(crate) host: Arc<str>,
    pub(crate) session: SessionId,
    pub(crate) account: Arc<Account>,
    /// For itself and its tables, except the queued messages, which their senders pay.
    pub(crate) charge: Charge,
    pub(crate) edition: Edition,
    pub(crate) published: Published,
    pub(crate) subscribed: Subscribed,
    pub(crate) advised: Advised,
    pub(crate) defaults: Defaults,
    pub(crate) switches: BTreeSet<Switch>,
    /// Whether one of these is on: that regions are conveyed to it. Every message asks.
    pub(crate) conveys_regions: bool,
    pub(crate) resign_action: ResignAction,
    pub(crate) time: TimeState,
    /// Instances it discovered while messages were queued for it, with the federation's message count at that moment.
    /// Older messages about such an instance are not delivered, even if the federate knew the instance earlier.
    pub(crate) known_since: BTreeMap<ObjectInstanceHandle, u64>,
    /// The federation's message count when it last forgot an instance. It knows the instances of all messages that were
    /// sent to it later.
    pub(crate) forgot_at: u64,
    /// Number of its unfinished jobs.
    pub(crate) jobs: u32,
    pub(crate) presence: Presence,
    /// The object model modules that it brought when it joined.
    pub(crate) modules: Vec<Arc<Module>>,
    pub(crate) owned: Owned,
    /// When each attribute that is subscribed at a limited rate was last reflected.
    pub(crate) last_reflected: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Instant>,
    /// The newest values that its update rates do not allow yet.
    pub(crate) postponed: Postponed,
    pub(crate) counts: Counts,
    /// Whether the file of its session has the record that says whose reports follow.
    pub(crate) has_report_file: bool,
}

/// The callbacks that a federate's client supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Edition {
    /// All callbacks.
    #[default]
    Hla4,
    /// Only the callbacks of 1516-2010.
    Evolved,
}

/// Whether a federate is on its way out, which takes a while if it has many instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Staying,
    /// It is resigning, and its session waits for that.
    Resigning,
    /// It has no session any more.
    Gone,
}

/// What a federate owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owned {
    /// Number of instances of which it owns an attribute.
    pub(crate) instances: usize,
    /// Number of these that it may delete.
    pub(crate) deletable: usize,
}

/// The publications of a federate.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// No set is empty.
    pub(crate) classes: BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>,
    pub(crate) interactions: BTreeSet<InteractionClassHandle>,
    /// No set is empty.
    pub(crate) directed: BTreeMap<ObjectClassHandle, BTreeSet<InteractionClassHandle>>,
}

/// The subscriptions of a federate.
#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    /// No map is empty.
    pub(crate) classes: BTreeMap<ObjectClassHandle, BTreeMap<AttributeHandle, Subscription>>,
    pub(crate) interactions: BTreeMap<InteractionClassHandle, Activity>,
    /// No map is empty.
    pub(crate) directed: BTreeMap<ObjectClassHandle, BTreeMap<InteractionClassHandle, Reach>>,
}

/// A subscription to an attribute of a class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subscription {
    pub(crate) activity: Activity,
    pub(crate) rate: Option<Rate>,
}

/// The greatest update rate that a subscriber wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Its designator in the object model, which all subscriptions share.
    pub(crate) designator: Arc<str>,
    /// Updates per second; greater than zero.
    pub(crate) hertz: f64,
}

/// Whether a subscription causes advisories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Active,
    /// The federate receives what is sent, but publishers are not advised of it.
    Passive,
}

/// Which instances' directed interactions a subscriber receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of instances of which it owns an attribute.
    Owned,
    /// Those of all instances it knows.
    Universal,
}

/// The state that each advisory last reported to a federate, so that only changes are reported.
#[derive(Debug, Default)]
pub(crate) struct Advised {
    /// Classes with registration started.
    pub(crate) registration: BTreeSet<ObjectClassHandle>,
    /// Interactions turned on.
    pub(crate) interactions: BTreeSet<InteractionClassHandle>,
    /// Attributes in scope.
    pub(crate) scope: BTreeMap<ObjectInstanceHandle, BTreeSet<AttributeHandle>>,
    /// Attributes with updates turned on, with their rate.
    pub(crate) updates: BTreeMap<ObjectInstanceHandle, BTreeMap<AttributeHandle, Option<Rate>>>,
}

/// Defaults for sending that override the object model.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) attribute_transportation:
        BTreeMap<(ObjectClassHandle, AttributeHandle), TransportationTypeHandle>,
    pub(crate) attribute_order: BTreeMap<(ObjectClassHandle, AttributeHandle), OrderType>,
    pub(crate) interaction_transportation:
        BTreeMap<InteractionClassHandle, TransportationTypeHandle>,
    pub(crate) interaction_order: BTreeMap<InteractionClassHandle, OrderType>,
}

impl Subscribed {
    /// Its estimated memory, in bytes.
    pub(crate) fn len(&self) -> usize {
        let classes = self.classes.values().map(|set| table::subscribed(Some(set)));
        let directed = self.directed.values().map(|set| table::directed(set.len()));
        classes.chain(directed).sum::<usize>() + self.interactions.len() * table::INTERACTION
    }
}

impl Defaults {
    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.attribute_transportation.len()
            + self.attribute_order.len()
            + self.interaction_transportation.len()
            + self.interaction_order.len()
    }
}

/// The estimated memory of the tables, in bytes.
pub(crate) mod table {
    use std::collections::{BTreeMap, BTreeSet};

    use hemiola_hla::{
        AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType,
    };
    use hemiola_units::Instant;

    use super::{Activity, Rate, Subscription};
    use crate::memory::{ALLOCATION, entry_len, node_len};

    type Set = BTreeSet<AttributeHandle>;

    /// A class that is published, with the advisories about it.
    pub(crate) fn published(set: Option<&Set>) -> usize {
        const CLASS: usize = 2 * entry_len::<ObjectClassHandle, Set>() + node_len::<u32, ()>();
        set.map_or(0, |set| CLASS + set.len() * entry_len::<AttributeHandle, ()>())
    }

    /// A class that is subscribed.
    pub(crate) fn subscribed(set: Option<&BTreeMap<AttributeHandle, Subscription>>) -> usize {
        const CLASS: usize =
            2 * entry_len::<ObjectClassHandle, Set>() + node_len::<AttributeHandle, Subscription>();
        set.map_or(0, |set| CLASS + set.len() * entry_len::<AttributeHandle, Subscription>())
    }

    /// The directed interactions of a class.
    pub(crate) const fn directed(count: usize) -> usize {
        const CLASS: usize = entry_len::<ObjectClassHandle, Set>() + node_len::<u64, ()>();
        if count == 0 { 0 } else { CLASS + count * entry_len::<u64, ()>() }
    }

    /// The advisories about an instance; an empty set has an entry too.
    pub(crate) const fn advised(count: usize) -> usize {
        const INSTANCE: usize = entry_len::<ObjectInstanceHandle, Set>();
        const NODE: usize = node_len::<AttributeHandle, Option<Rate>>() / 2;
        let node = if count == 0 { 0 } else { NODE };
        INSTANCE + node + count * entry_len::<AttributeHandle, Option<Rate>>() / 2
    }

    /// An interaction class that is published or subscribed, with the advisories about it.
    pub(crate) const INTERACTION: usize = 3 * entry_len::<InteractionClassHandle, Activity>();
    pub(crate) const DEFAULT: usize =
        entry_len::<(ObjectClassHandle, AttributeHandle), OrderType>();
    /// The modules that a federate brought; their content counts with the object model.
    pub(crate) const fn modules(count: usize) -> usize {
        if count == 0 { 0 } else { ALLOCATION + count * size_of::<usize>() }
    }

    pub(crate) const KNOWN_SINCE: usize = entry_len::<ObjectInstanceHandle, u64>();
    pub(crate) const REFLECTED: usize =
        entry_len::<(ObjectInstanceHandle, AttributeHandle), Instant>();
}

impl Federate {
    pub(crate) fn new(
        name: String,
        federate_type: String,
        session: SessionId,
        edition: Edition,
        model: &Model,
        time: TimeImplementation,
        account: Arc<Account>,
    ) -> Self {
        let own = |switch: &Switch| switch.is_per_federate() && model.is_enabled(*switch);
        let own_len = Self::own_len(&name, &federate_type);
        let mut federate = Self {
            session,
            edition,
            switches: Switch::ALL.iter().copied().filter(own).collect(),
            conveys_regions: own(&Switch::ConveyRegionDesignatorSets),
            resign_action: model.automatic_resign_action(),
            ..Self::blank(name, federate_type, TimeState::new(time), account)
        };
        federate.charge.grow(own_len);
        federate
    }

    /// A federate without a session, that has declared nothing and is not charged for.
    fn blank(name: String, federate_type: String, time: TimeState, account: Arc<Account>) -> Self {
        Self {
            charge: Charge::new(&account, 0),
            account,
            name,
            federate_type,
            host: Arc::from(""),
            session: SessionId(u64::MAX),
            edition: Edition::Hla4,
            published: Published::default(),
            subscribed: Subscribed::default(),
            advised: Advised::default(),
            defaults: Defaults::default(),
            switches: BTreeSet::new(),
            conveys_regions: false,
            resign_action: ResignAction::NoAction,
            time,
            known_since: BTreeMap::new(),
            forgot_at: 0,
            last_reflected: BTreeMap::new(),
            postponed: Postponed::default(),
            jobs: 0,
            presence: Presence::Staying,
            modules: Vec::new(),
            owned: Owned::default(),
            counts: Counts::default(),
            has_report_file: false,
        }
    }

    /// Writes what an image keeps of it besides its large tables: what does not belong to its session.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.name.put(to);
        self.federate_type.put(to);
        self.published.put(to);
        self.subscribed.put(to);
        self.advised.registration.put(to);
        self.advised.interactions.put(to);
        self.defaults.put(to);
        self.switches.put(to);
        self.conveys_regions.put(to);
        self.resign_action.put(to);
        self.time.put(to);
        self.counts.put(to);
    }

    /// Reads the same. The federate has no session yet, and is not charged for.
    pub(crate) fn take(from: &mut Reader, account: &Arc<Account>) -> Taken<Self> {
        let (name, federate_type) = Stored::take(from)?;
        let (published, subscribed) = Stored::take(from)?;
        let (registration, interactions) = Stored::take(from)?;
        let (defaults, switches) = Stored::take(from)?;
        let (conveys_regions, resign_action) = Stored::take(from)?;
        let time = Stored::take(from)?;
        Ok(Self {
            published,
            subscribed,
            advised: Advised { registration, interactions, ..Advised::default() },
            defaults,
            switches,
            conveys_regions,
            resign_action,
            counts: Stored::take(from)?,
            ..Self::blank(name, federate_type, time, Arc::clone(account))
        })
    }

    /// Counts something that it has sent or received. The function returns the memory that this takes, in bytes.
    pub(crate) fn count(&mut self, count: impl FnOnce(&mut Counts) -> usize) {
        let len = count(&mut self.counts);
        // Almost never, and every message comes here.
        if len > 0 {
            self.charge.grow(len);
        }
    }

    /// Counts what was counted beside its entry for an instance, which it does not know any more. If the instance does
    /// not exist for it either, it will not be counted again.
    pub(crate) fn count_forgotten(
        &mut self,
        instance: ObjectInstanceHandle,
        known: &KnownBy,
        is_gone: bool,
    ) {
        self.count(|counts| counts.gather(instance, known.class, &known.traffic));
        if is_gone {
            self.forget_counted(instance);
        }
    }

    /// An instance that it does not know will not be counted again, because it does not exist any more.
    pub(crate) fn forget_counted(&mut self, instance: ObjectInstanceHandle) {
        let freed = self.counts.forget(instance);
        self.charge.shrink(freed);
    }

    /// It has brought these modules.
    pub(crate) fn bring(&mut self, modules: Vec<Arc<Module>>) {
        self.charge.grow(table::modules(modules.len()));
        self.modules = modules;
    }

    /// Whether it is not about to leave the federation.
    pub(crate) fn is_staying(&self) -> bool {
        self.presence == Presence::Staying
    }

    /// Takes an entry from a table that can be large. Returns whether there was one.
    pub(crate) fn take_entry(&mut self) -> bool {
        let time = &mut self.time;
        time.backlog.pop_held().is_some()
            || time.backlog.pop_if(|_| true).is_some()
            || time.sent.pop_first().is_some()
            || self.take_charged_entry()
    }

    fn take_charged_entry(&mut self) -> bool {
        let len = if let Some(len) = self.postponed.take_first() {
            len
        } else if self.known_since.pop_first().is_some() {
            table::KNOWN_SINCE
        } else if self.last_reflected.pop_first().is_some() {
            table::REFLECTED
        } else {
            return self.forget_scope() || self.forget_updates();
        };
        self.charge.shrink(len);
        true
    }

    /// Forgets which attributes of an instance are in scope, of one of those about which that is known. Returns whether
    /// there was one.
    pub(crate) fn forget_scope(&mut self) -> bool {
        let forgotten = self.advised.scope.pop_first();
        self.charge.shrink(forgotten.as_ref().map_or(0, |(_, set)| table::advised(set.len())));
        forgotten.is_some()
    }

    /// The same of the attributes with updates turned on.
    pub(crate) fn forget_updates(&mut self) -> bool {
        let forgotten = self.advised.updates.pop_first();
        self.charge.shrink(forgotten.as_ref().map_or(0, |(_, set)| table::advised(set.len())));
        forgotten.is_some()
    }

    /// The memory of a federate without content.
    fn own_len(name: &str, federate_type: &str) -> usize {
        2 * size_of::<Self>() + ALLOCATION + name_len(name) + name_len(federate_type)
    }

    /// Counts its charge anew; `reserved` is for its reserved names.
    pub(crate) fn counted_len(&self, reserved: usize) -> usize {
        let published = self.published.classes.values().map(|set| table::published(Some(set)));
        let directed = self.published.directed.values().map(|set| table::directed(set.len()));
        let scope = self.advised.scope.values().map(|set| table::advised(set.len()));
        let updates = self.advised.updates.values().map(|set| table::advised(set.len()));
        let parts: usize = published.chain(directed).chain(scope).chain(updates).sum();
        Self::own_len(&self.name, &self.federate_type)
            + parts
            + self.published.interactions.len() * table::INTERACTION
            + self.subscribed.len()
            + self.defaults.len() * table::DEFAULT
            + self.known_since.len() * table::KNOWN_SINCE
            + self.last_reflected.len() * table::REFLECTED
            + self.postponed.counted_len()
            + self.counts.len()
            + table::modules(self.modules.len())
            + reserved
    }

    pub(crate) fn is_on(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    pub(crate) fn publishes(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        self.published.classes.get(&class).is_some_and(|set| set.contains(&attribute))
    }

    /// Returns its subscription to an attribute at exactly this class.
    pub(crate) fn subscription(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<&Subscription> {
        self.subscribed.classes.get(&class)?.get(&attribute)
    }

    /// Returns whether it subscribes to an attribute, given its subscriptions at the class it knows the instance as. If
    /// `rates_at` is given, its rate must also allow a reflection at that time.
    ///
    /// Inlined: it is asked for each receiver of each value.
    #[inline]
    pub(crate) fn wants(
        &self,
        subscribed: &BTreeMap<AttributeHandle, Subscription>,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        rates_at: Option<Instant>,
    ) -> bool {
        let Some(subscription) = subscribed.get(&attribute) else { return false };
        self.allows(subscription, instance, attribute, rates_at)
    }

    /// Returns whether the rate of a subscription allows a reflection at that time, if one is given.
    pub(crate) fn allows(
        &self,
        subscription: &Subscription,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        rates_at: Option<Instant>,
    ) -> bool {
        let Some(now) = rates_at else { return true };
        self.allowed_from(subscription, instance, attribute).is_none_or(|from| from <= now)
    }

    /// Returns the time from which on the rate of a subscription allows the next reflection; `None`: it always does.
    pub(crate) fn allowed_from(
        &self,
        subscription: &Subscription,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<Instant> {
        let rate = subscription.rate.as_ref()?;
        let last = self.last_reflected.get(&(instance, attribute))?;
        Some(*last + Span::from_secs_f64(1.0 / rate.hertz))
    }

    /// Notes that attributes are reflected to it now, as far as it subscribes to them at a limited rate. `within` has
    /// its subscriptions with regions.
    pub(crate) fn note_reflected(
        &mut self,
        class: ObjectClassHandle,
        instance: ObjectInstanceHandle,
        values: &AttributeValues,
        now: Instant,
        within: Option<&WithRegions>,
    ) {
        for (attribute, _) in values {
            let with_regions = within.and_then(|within| within.get(attribute)).into_iter();
            let with_regions = with_regions.flat_map(BTreeMap::values);
            let mut all = self.subscription(class, *attribute).into_iter().chain(with_regions);
            if all.any(|one| one.rate.is_some()) {
                let before = self.last_reflected.insert((instance, *attribute), now);
                self.charge.grow(if before.is_none() { table::REFLECTED } else { 0 });
            }
        }
    }

    /// Returns how it sends this attribute of instances that it registers as this class.
    pub(crate) fn attribute_send_options(
        &self,
        model: &Model,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> (OrderType, TransportationTypeHandle) {
        let definition =
            model.attribute(attribute).expect("a class has only attributes that are defined");
        let key = (class, attribute);
        (
            self.defaults.attribute_order.get(&key).copied().unwrap_or(definition.order),
            self.defaults
                .attribute_transportation
                .get(&key)
                .copied()
                .unwrap_or(definition.transportation),
        )
    }

    /// Returns how it sends interactions of this class.
    pub(crate) fn interaction_send_options(
        &self,
        model: &Model,
        class: InteractionClassHandle,
    ) -> (OrderType, TransportationTypeHandle) {
        let definition = model.interaction_class(class).expect("the class was looked up before");
        (
            self.defaults.interaction_order.get(&class).copied().unwrap_or(definition.order),
            self.defaults
                .interaction_transportation
                .get(&class)
                .copied()
                .unwrap_or(definition.transportation),
        )
    }
}

stored!(Published { classes, interactions, directed });
stored!(Subscribed { classes, interactions, directed });
stored!(Subscription { activity, rate });
stored!(Defaults {
    attribute_transportation,
    attribute_order,
    interaction_transportation,
    interaction_order
});
stored!(enum Activity { 0 Active, 1 Passive, });
stored!(enum Reach { 0 Owned, 1 Universal, });

impl Stored for Rate {
    fn put(&self, to: &mut Writer) {
        self.designator.as_ref().to_owned().put(to);
        self.hertz.put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let name = String::take(from)?;
        let hertz = f64::take(from)?;
        if !(hertz > 0.0 && hertz.is_finite()) {
            return Err("an update rate is not positive");
        }
        let designator = match from.rates.get(name.as_str()) {
            Some(known) => Arc::clone(known),
            None => name.into(),
        };
        from.rates.insert(Arc::clone(&designator));
        Ok(Self { designator, hertz })
    }
}
