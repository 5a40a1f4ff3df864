//! One joined federate: what it declared, how it is advised, and its time.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_fom::Model;
use hemiola_hla::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType,
    ResignAction, Switch, TimeImplementation, TransportationTypeHandle,
};
use hemiola_units::Instant;

use crate::input::SessionId;
use crate::time::TimeState;

/// A joined federate.
#[derive(Debug)]
pub(crate) struct Federate {
    pub(crate) name: String,
    pub(crate) federate_type: String,
    pub(crate) session: SessionId,
    pub(crate) edition: Edition,
    pub(crate) published: Published,
    pub(crate) subscribed: Subscribed,
    pub(crate) advised: Advised,
    pub(crate) defaults: Defaults,
    pub(crate) switches: BTreeSet<Switch>,
    pub(crate) resign_action: ResignAction,
    pub(crate) time: TimeState,
    /// Instances that it came to know while messages waited for it, and how many messages the federation had had by
    /// then: what is older is not for it, even if it knew the instance before.
    pub(crate) known_since: BTreeMap<ObjectInstanceHandle, u64>,
    /// When it was last told of an attribute that it wants at a limited rate.
    pub(crate) last_reflected: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Instant>,
}

/// Which callbacks a federate's client can deliver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Edition {
    /// All of them.
    #[default]
    Hla4,
    /// Those that 1516-2010 has.
    Evolved,
}

/// What a federate publishes.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Never an empty set.
    pub(crate) classes: BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>,
    pub(crate) interactions: BTreeSet<InteractionClassHandle>,
    /// Never an empty set.
    pub(crate) directed: BTreeMap<ObjectClassHandle, BTreeSet<InteractionClassHandle>>,
}

/// What a federate subscribes to.
#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    /// Never an empty map.
    pub(crate) classes: BTreeMap<ObjectClassHandle, BTreeMap<AttributeHandle, Subscription>>,
    pub(crate) interactions: BTreeMap<InteractionClassHandle, Activity>,
    /// Never an empty map.
    pub(crate) directed: BTreeMap<ObjectClassHandle, BTreeMap<InteractionClassHandle, Reach>>,
}

/// A subscription to an attribute of a class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subscription {
    pub(crate) activity: Activity,
    pub(crate) rate: Option<Rate>,
}

/// How often a subscriber wants updates at most.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    /// The designator of the object model.
    pub(crate) designator: String,
    /// Updates a second; more than zero.
    pub(crate) hertz: f64,
}

/// Does a subscription make others send?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Active,
    /// It takes what is sent anyway, and nobody is advised of it.
    Passive,
}

/// At which instances directed interactions have to be, to be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of which the federate owns an attribute.
    Owned,
    /// All that it knows.
    Universal,
}

/// What a federate was last told about the interest of others, so that it is told of changes alone.
#[derive(Debug, Default)]
pub(crate) struct Advised {
    /// Start registration.
    pub(crate) registration: BTreeSet<ObjectClassHandle>,
    /// Turn interactions on.
    pub(crate) interactions: BTreeSet<InteractionClassHandle>,
    /// In scope.
    pub(crate) scope: BTreeMap<ObjectInstanceHandle, BTreeSet<AttributeHandle>>,
    /// Turn updates on, at which rate.
    pub(crate) updates: BTreeMap<ObjectInstanceHandle, BTreeMap<AttributeHandle, Option<Rate>>>,
}

/// How a federate sends where the object model is not to decide.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) attribute_transportation:
        BTreeMap<(ObjectClassHandle, AttributeHandle), TransportationTypeHandle>,
    pub(crate) attribute_order: BTreeMap<(ObjectClassHandle, AttributeHandle), OrderType>,
    pub(crate) interaction_transportation:
        BTreeMap<InteractionClassHandle, TransportationTypeHandle>,
    pub(crate) interaction_order: BTreeMap<InteractionClassHandle, OrderType>,
}

impl Federate {
    pub(crate) fn new(
        name: String,
        federate_type: String,
        session: SessionId,
        edition: Edition,
        model: &Model,
        time: TimeImplementation,
    ) -> Self {
        let own = |switch: &Switch| switch.is_per_federate() && model.is_enabled(*switch);
        Self {
            name,
            federate_type,
            session,
            edition,
            published: Published::default(),
            subscribed: Subscribed::default(),
            advised: Advised::default(),
            defaults: Defaults::default(),
            switches: Switch::ALL.iter().copied().filter(own).collect(),
            resign_action: model.automatic_resign_action(),
            time: TimeState::new(time),
            known_since: BTreeMap::new(),
            last_reflected: BTreeMap::new(),
        }
    }

    pub(crate) fn is_on(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    pub(crate) fn publishes(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        self.published.classes.get(&class).is_some_and(|set| set.contains(&attribute))
    }

    /// Its subscription to an attribute at exactly this class.
    pub(crate) fn subscription(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<&Subscription> {
        self.subscribed.classes.get(&class)?.get(&attribute)
    }

    /// How it sends this attribute of instances that it registers as this class.
    pub(crate) fn attribute_manner(
        &self,
        model: &Model,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> (OrderType, TransportationTypeHandle) {
        let said =
            model.attribute(attribute).expect("a class has only attributes that are defined");
        let key = (class, attribute);
        (
            self.defaults.attribute_order.get(&key).copied().unwrap_or(said.order),
            self.defaults
                .attribute_transportation
                .get(&key)
                .copied()
                .unwrap_or(said.transportation),
        )
    }

    /// How it sends interactions of this class.
    pub(crate) fn interaction_manner(
        &self,
        model: &Model,
        class: InteractionClassHandle,
    ) -> (OrderType, TransportationTypeHandle) {
        let said = model.interaction_class(class).expect("the class was looked up before");
        (
            self.defaults.interaction_order.get(&class).copied().unwrap_or(said.order),
            self.defaults
                .interaction_transportation
                .get(&class)
                .copied()
                .unwrap_or(said.transportation),
        )
    }
}
