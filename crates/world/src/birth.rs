//! Births and deaths that constraints bring about.
//!
//! A monitor can have an [`Effect`]: each entity whose row it is sent bears another one, or dies, in the same step. The
//! births come first, in the order of monitors and parents, so numbers do not depend on the order of rows in memory.

use hemiola_units::Random;
use hemiola_world_lang::definition::{Type, Universe, Value};

use crate::monitor::MonitorId;
use crate::step::{Output, StepReport};
use crate::world::{ENTITIES_MAX, EntityId, World};

/// Entities up to which births happen by default.
pub const BIRTHS_UP_TO: usize = 1_000_000;

/// What happens to an entity whose row a monitor is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Effect {
    /// Nothing.
    #[default]
    None,
    /// It bears an entity of its element that has its row, apart from the properties that the monitor is sent: each of
    /// these has a draw.
    Birth(Vec<Draw>),
    /// It dies.
    Death,
}

/// The value of a property of a newborn entity: a random one of a range, item by item.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// One bound.
    pub low: Value,
    /// The other bound; equal bounds give that value.
    pub high: Value,
    /// Whether it is added to the value of the parent; of reals only.
    pub is_added: bool,
}

impl Draw {
    fn value(&self, parent: &Value, random: &mut Random) -> Value {
        let drawn = between(&self.low, &self.high, random);
        if self.is_added { sum(parent, &drawn) } else { drawn }
    }
}

/// Whether values of the type can be added.
pub(crate) fn has_sum(ty: &Type) -> bool {
    match ty {
        Type::Real(..) => true,
        Type::Array(of, _) => has_sum(of),
        _ => false,
    }
}

fn sum(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Single(a), Value::Single(b)) => Value::Single(a + b),
        (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
        (Value::Items(a), Value::Items(b)) => {
            Value::Items(a.iter().zip(b).map(|(a, b)| sum(a, b)).collect())
        }
        _ => unreachable!("a draw that is added consists of reals"),
    }
}

/// A random value, item by item; equal bounds give that value.
pub(crate) fn between(low: &Value, high: &Value, random: &mut Random) -> Value {
    let drawn = drawn(low, high, random);
    // The arithmetic of a draw would lose the sign of a zero, and an infinity.
    if low.same_bits(high) { low.clone() } else { drawn }
}

fn drawn(low: &Value, high: &Value, random: &mut Random) -> Value {
    match (low, high) {
        (Value::Integer(low), Value::Integer(high)) => {
            let (low, high) = (i64::from(*low.min(high)), i64::from(*low.max(high)));
            Value::Integer((low + random.below((high - low + 1) as u64) as i64) as i32)
        }
        (Value::Single(low), Value::Single(high)) => {
            Value::Single(random.between(f64::from(*low), f64::from(*high)) as f32)
        }
        (Value::Double(low), Value::Double(high)) => Value::Double(random.between(*low, *high)),
        (Value::Items(low), Value::Items(high)) => Value::Items(
            low.iter().zip(high).map(|(low, high)| between(low, high, random)).collect(),
        ),
        (value, _) => value.clone(),
    }
}

/// How a world draws its newborn entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Births {
    pub(crate) seed: u64,
    /// Births beyond so many entities do not happen.
    pub(crate) entities_max: usize,
}

impl Default for Births {
    fn default() -> Self {
        Self { seed: 0, entities_max: BIRTHS_UP_TO }
    }
}

/// What the constraints of a step bring about.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    pub(crate) births: Vec<(MonitorId, EntityId)>,
    pub(crate) deaths: Vec<EntityId>,
}

impl Fates {
    pub(crate) fn note(
        &mut self,
        monitor: MonitorId,
        effect: &Effect,
        entities: impl Iterator<Item = EntityId>,
    ) {
        match effect {
            Effect::None => {}
            Effect::Birth(_) => self.births.extend(entities.map(|entity| (monitor, entity))),
            Effect::Death => self.deaths.extend(entities),
        }
    }
}

impl World {
    /// Draws the values of newborn entities with the generator of this seed, and lets births happen up to so many
    /// entities, or [`ENTITIES_MAX`].
    #[must_use]
    pub fn with_births(mut self, seed: u64, entities_max: usize) -> Self {
        self.births = Births { seed, entities_max: entities_max.min(ENTITIES_MAX) };
        self
    }

    /// Carries out what the constraints of this step have brought about.
    pub(crate) fn take_effect(&mut self, report: &mut StepReport, out: &mut dyn FnMut(Output<'_>)) {
        let mut fates = std::mem::take(&mut self.fates);
        fates.births.sort_unstable();
        for (monitor, parent) in fates.births.drain(..) {
            let is_born = self.bear(monitor, parent, out);
            *(if is_born { &mut report.births } else { &mut report.unborn }) += 1;
        }
        fates.deaths.sort_unstable();
        for entity in fates.deaths.drain(..) {
            report.deaths += u64::from(self.destruct(entity, out));
        }
        self.fates = fates;
    }

    /// Whether there was room for the newborn.
    fn bear(
        &mut self,
        monitor: MonitorId,
        parent: EntityId,
        out: &mut dyn FnMut(Output<'_>),
    ) -> bool {
        if self.entities_to_come >= self.births.entities_max {
            return false;
        }
        let element = self.element(parent).expect("deaths come after births");
        let scalars = self.scalars(&Type::Element(element), &self.newborn(monitor, parent));
        self.entities_to_come += 1;
        self.construct(element, &scalars, out);
        true
    }

    /// The row of the entity that comes next. The draws depend on its number alone.
    fn newborn(&self, monitor: MonitorId, parent: EntityId) -> Value {
        let interest = &self.monitors[&monitor].interest;
        let (Effect::Birth(draws), Some(Value::Row(mut values))) =
            (&interest.effect, self.row(parent))
        else {
            unreachable!("an entity that exists bears another one");
        };
        let mut random = Random::from_seed(self.births.seed).fork(self.next_id);
        for (property, draw) in interest.properties.iter().zip(draws) {
            let value = &mut values[*property as usize];
            *value = draw.value(value, &mut random);
        }
        Value::Row(values).canonical()
    }
}

/// Whether a monitor of an element can have this effect, with these properties.
pub(crate) fn is_possible(
    universe: &Universe,
    effect: &Effect,
    types: &[&Type],
    has_constraint: bool,
    fits: impl Fn(&Universe, &Type, &Value) -> bool,
) -> bool {
    let is_sound = |(ty, draw): (&&Type, &Draw)| {
        [&draw.low, &draw.high].iter().all(|value| fits(universe, ty, value))
            && (!draw.is_added || has_sum(ty))
    };
    match effect {
        Effect::None => true,
        Effect::Death => has_constraint,
        Effect::Birth(draws) => {
            has_constraint && draws.len() == types.len() && types.iter().zip(draws).all(is_sound)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_lie_in_their_range() {
        let mut random = Random::from_seed(1);
        let (low, high) = (Value::Integer(2), Value::Integer(-1));
        let drawn: std::collections::BTreeSet<i32> = (0..100)
            .map(|_| match between(&low, &high, &mut random) {
                Value::Integer(number) => number,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-1, 0, 1, 2]);
        let one = Value::Items(vec![Value::Double(3.5)]);
        assert_eq!(between(&one, &one, &mut random), one);
        let added = Draw { low: one.clone(), high: one.clone(), is_added: true };
        assert_eq!(added.value(&one, &mut random), Value::Items(vec![Value::Double(7.0)]));
    }
}
