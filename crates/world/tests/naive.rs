//! A world without columns: every row a value, every function walked as a tree.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_world::{
    Change, Draw, Effect, Ended, EntityId, Interest, MonitorCounts, MonitorId, Output,
};
use hemiola_world_code::{Scalar, Texts, compile_constraint, scalar_types, scalars_of};
use hemiola_world_lang::definition::{Converter, ElementId, FunctionId, Property, Universe, Value};
use hemiola_world_lang::evaluate::{self, Body, Fault};

/// Entities told to monitors, with what they were told.
pub(crate) type Told = BTreeMap<(MonitorId, EntityId), Vec<Vec<Scalar>>>;

/// What a step told, without the order of rows.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct News {
    pub(crate) born: Told,
    pub(crate) rows: Told,
    pub(crate) died: BTreeSet<(MonitorId, EntityId)>,
    pub(crate) faults: BTreeMap<EntityId, (String, u32)>,
}

impl News {
    /// Notes what a world tells.
    pub(crate) fn note(&mut self, output: Output<'_>) {
        match output {
            Output::Born { monitor, entity, scalars, .. } => {
                self.born.entry((monitor, entity)).or_default().push(scalars.to_vec());
            }
            Output::Died { monitor, entity } => drop(self.died.insert((monitor, entity))),
            Output::Rows { monitor, entities, columns, .. } => {
                for (row, entity) in entities.iter().enumerate() {
                    let scalars = columns.iter().map(|column| column.get(row)).collect();
                    self.rows.entry((monitor, *entity)).or_default().push(scalars);
                }
            }
            Output::Births { .. } | Output::Deaths { .. } => unreachable!("no manager"),
            Output::Fault { entity, fault, strikes } => {
                self.faults.insert(entity, (fault.to_string(), strikes));
            }
        }
    }
}

#[derive(Clone)]
struct Monitor {
    interest: Interest,
    counts: MonitorCounts,
    last_sent: BTreeMap<EntityId, Value>,
}

/// The world.
#[derive(Clone)]
pub(crate) struct Naive {
    universe: Universe,
    pub(crate) bodies: Vec<Body>,
    monitors: BTreeMap<MonitorId, Monitor>,
    strikes: BTreeMap<u64, u32>,
    changes: Vec<Change>,
    /// Births and deaths of the step.
    births: Vec<(MonitorId, EntityId)>,
    deaths: Vec<EntityId>,
    /// Births beyond so many entities do not happen.
    pub(crate) births_up_to: usize,
    /// Births, births for which there was no room, and deaths of the last step.
    pub(crate) counted: [u64; 3],
    next_id: u64,
    /// Monitors that were sent all rows at the last redefinition.
    pub(crate) told: Vec<MonitorId>,
    /// Monitors that ended then.
    pub(crate) ended: Ended,
}

/// The value of a newborn; the bounds of a draw are equal here.
fn drawn(draw: &Draw, parent: &Value) -> Value {
    let add = |parent: &Value, value: &Value| match (parent, value) {
        (Value::Double(parent), Value::Double(value)) => Value::Double(parent + value),
        (Value::Single(parent), Value::Single(value)) => Value::Single(parent + value),
        other => panic!("{other:?}"),
    };
    match (parent, &draw.low) {
        _ if !draw.is_added => draw.low.clone(),
        (Value::Items(parent), Value::Items(values)) => {
            Value::Items(parent.iter().zip(values).map(|(a, b)| add(a, b)).collect())
        }
        (parent, value) => add(parent, value),
    }
}

/// Names that lead from one definition to another one, and back.
pub(crate) struct Names<'u> {
    pub(crate) from: &'u Universe,
    pub(crate) to: &'u Universe,
    /// Whether `to` is the new text, which has the words `was`.
    pub(crate) is_forward: bool,
}

fn or<'t>(was: &'t Option<String>, name: &'t str) -> &'t str {
    was.as_deref().unwrap_or(name)
}

/// Whether a property of a new text had this name before.
fn was_named(properties: &[Property], new: &Property, name: &str) -> bool {
    let is_claimed = properties.iter().any(|other| other.was.as_deref() == Some(name));
    or(&new.was, &new.name) == name && (new.was.is_some() || !is_claimed)
}

impl Names<'_> {
    /// The element that rows of an element go to.
    pub(crate) fn element(&self, id: ElementId) -> Option<ElementId> {
        let from = &self.from.elements[id.index()];
        let at = self.to.elements.iter().position(|to| match self.is_forward {
            true => or(&to.was, &to.name) == from.name,
            false => or(&from.was, &from.name) == to.name,
        });
        at.map(|at| ElementId(at as u32))
    }

    /// The property that a property of `to` comes from.
    pub(crate) fn property(&self, from: ElementId, to: ElementId, at: usize) -> Option<usize> {
        let from = &self.from.elements[from.index()].properties;
        let to = &self.to.elements[to.index()].properties;
        from.iter().position(|from_one| match self.is_forward {
            true => was_named(to, &to[at], &from_one.name),
            false => was_named(from, from_one, &to[at].name),
        })
    }

    /// The converter of a property of `to`.
    pub(crate) fn converter(
        &self,
        from: ElementId,
        to: ElementId,
        at: usize,
    ) -> Option<&Converter> {
        let new = match self.is_forward {
            true => &self.to.elements[to.index()],
            false => &self.from.elements[from.index()],
        };
        let mut all = new.converters.iter();
        all.find(|one| one.back != self.is_forward && one.property as usize == at)
    }

    /// What a monitor watches under the other definition; `None` if that is not there.
    fn interest(&self, old: &Interest) -> Option<Interest> {
        let (from, to) = (self.from, self.to);
        let element = self.element(old.element)?;
        let mut tables = (0..from.elements.len() as u32).map(ElementId);
        let are_those = tables.all(|id| {
            let new = self.element(id);
            new.is_none_or(|new| from.is_a(id, old.element) == to.is_a(new, element))
        });
        let types = [(from, old.element), (to, element)].map(|(universe, id)| {
            let properties = universe.elements[id.index()].properties.iter();
            properties.map(|property| universe.type_text(&property.ty)).collect::<Vec<_>>()
        });
        let property = |at: &u32| {
            let mut all = 0..types[1].len();
            let new = all.find(|new| {
                self.property(old.element, element, *new) == Some(*at as usize)
                    && self.converter(old.element, element, *new).is_none()
            })?;
            (types[0][*at as usize] == types[1][new]).then_some(new as u32)
        };
        let properties = old.properties.iter().map(property).collect::<Option<Vec<u32>>>()?;
        let own = |universe: &Universe, id: FunctionId| {
            let name = &universe.functions[id.index()].name;
            name.rsplit('.').next().unwrap().to_owned()
        };
        let constraint = match &old.constraint {
            None => None,
            Some((id, arguments)) => {
                let mut all = to.elements[element.index()].constraints.iter();
                let same = all.find(|new| own(to, **new) == own(from, *id))?;
                Some((*same, arguments.clone()))
            }
        };
        let effect = old.effect.clone();
        are_those.then_some(Interest { element, properties, constraint, effect })
    }

    /// Whether all that a monitor is sent and compares with stays as it is.
    fn are_same(&self, old: &Interest, new: &Interest) -> bool {
        let [known, read] = [read(self.from, old), read(self.to, new)];
        let sent = old.properties.iter().zip(&new.properties);
        let sent = sent.map(|(old, new)| ((*old as usize, 0), (*new as usize, 0)));
        let is_same_len = known.len() == read.len();
        let pairs: Vec<_> = sent.chain(known.into_iter().zip(read)).collect();
        let mut all = (0..self.from.elements.len() as u32).map(ElementId);
        let mut watched = all.by_ref().filter_map(|id| Some((id, self.element(id)?)));
        is_same_len
            && watched.all(|(id, to)| {
                let stays = |(old, new): &((usize, usize), (usize, usize))| {
                    old.1 == new.1 && self.stays(id, to, old.0, new.0)
                };
                !self.to.is_a(to, new.element) || pairs.iter().all(stays)
            })
    }

    /// Whether a property keeps its values and its type.
    fn stays(&self, from: ElementId, to: ElementId, old: usize, new: usize) -> bool {
        let ty = |universe: &Universe, id: ElementId, at: usize| {
            universe.type_text(&universe.elements[id.index()].properties[at].ty)
        };
        self.converter(from, to, new).is_none()
            && self.property(from, to, new) == Some(old)
            && ty(self.from, from, old) == ty(self.to, to, new)
    }

    /// A row that was sent, under the other definition; what is not compared has any value.
    fn sent_row(&self, from: ElementId, to: ElementId, row: &Value) -> Value {
        let Value::Row(values) = row else { panic!("a body has a row") };
        let properties = self.to.elements[to.index()].properties.iter().enumerate();
        let value = |(at, property): (usize, &Property)| {
            let old = (0..values.len()).find(|old| self.stays(from, to, *old, at));
            old.map_or_else(|| property.default.clone(), |old| values[old].clone())
        };
        Value::Row(properties.map(value).collect())
    }
}

/// The scalars of the rows last sent that a constraint reads: a property, and a scalar of it.
fn read(universe: &Universe, interest: &Interest) -> Vec<(usize, usize)> {
    let Some((constraint, _)) = &interest.constraint else { return Vec::new() };
    let code = compile_constraint(universe, *constraint, &mut Texts::default()).unwrap();
    let properties = &universe.elements[interest.element.index()].properties;
    let place = |column: &u32| {
        let mut left = *column as usize;
        let at = properties.iter().position(|property| {
            let count = scalar_types(universe, &property.ty).len();
            let is_here = left < count;
            left -= if is_here { 0 } else { count };
            is_here
        });
        (at.unwrap(), left)
    };
    code.last_sent().iter().map(place).collect()
}

impl Naive {
    pub(crate) fn new(universe: &Universe) -> Self {
        let entities = (1..).zip(&universe.entities);
        let bodies = entities.map(|(id, entity)| Body {
            id,
            element: entity.element,
            row: Value::Row(entity.row.clone()),
        });
        Self {
            bodies: bodies.collect(),
            monitors: BTreeMap::new(),
            strikes: BTreeMap::new(),
            changes: Vec::new(),
            births: Vec::new(),
            deaths: Vec::new(),
            births_up_to: usize::MAX,
            counted: [0; 3],
            next_id: universe.entities.len() as u64 + 1,
            told: Vec::new(),
            ended: Vec::new(),
            universe: universe.clone(),
        }
    }

    pub(crate) fn submit(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) fn counts(&self, monitor: MonitorId) -> Option<MonitorCounts> {
        self.monitors.get(&monitor).map(|monitor| monitor.counts)
    }

    fn sent(&self, interest: &Interest, body: &Body) -> Vec<Scalar> {
        let Value::Row(values) = &body.row else { panic!("a body has a row") };
        let properties = &self.universe.elements[body.element.index()].properties;
        let scalars = |at: &u32| {
            let (ty, value) = (&properties[*at as usize].ty, &values[*at as usize]);
            scalars_of(&self.universe, ty, value, &mut Texts::default())
        };
        interest.properties.iter().flat_map(scalars).collect()
    }

    pub(crate) fn step(&mut self, seconds: f64) -> News {
        let mut news = News::default();
        self.counted = [0; 3];
        self.update(seconds, &mut news);
        self.filter(&mut news);
        self.take_effect(&mut news);
        self.apply(&mut news);
        news
    }

    fn update(&mut self, seconds: f64, news: &mut News) {
        let before = self.bodies.clone();
        for (own, body) in before.iter().enumerate() {
            let Some(function) = self.universe.elements[body.element.index()].update else {
                continue;
            };
            let arguments = match self.universe.functions[function.index()].parameter_count {
                0 => Vec::new(),
                _ => vec![Value::Double(seconds)],
            };
            let after: Result<Value, Fault> =
                evaluate::update(&self.universe, function, &before, own, arguments);
            match after {
                Ok(row) => self.bodies[own].row = row,
                Err(fault) => {
                    let strikes = self.strikes.entry(body.id).or_default();
                    *strikes += 1;
                    news.faults.insert(EntityId(body.id), (fault.to_string(), *strikes));
                }
            }
        }
    }

    fn filter(&mut self, news: &mut News) {
        let mut monitors = std::mem::take(&mut self.monitors);
        for (id, monitor) in &mut monitors {
            for body in &self.bodies {
                if !self.universe.is_a(body.element, monitor.interest.element) {
                    continue;
                }
                let entity = EntityId(body.id);
                let holds = match &monitor.interest.constraint {
                    None => Ok(true),
                    Some((function, arguments)) => evaluate::constraint(
                        &self.universe,
                        *function,
                        &body.row,
                        &monitor.last_sent[&entity],
                        arguments.clone(),
                    ),
                };
                match holds {
                    Ok(true) => {
                        monitor.counts.sent += 1;
                        monitor.last_sent.insert(entity, body.row.clone());
                        let row = self.sent(&monitor.interest, body);
                        news.rows.entry((*id, entity)).or_default().push(row);
                        match monitor.interest.effect {
                            Effect::None => {}
                            Effect::Birth(_) => self.births.push((*id, entity)),
                            Effect::Death => self.deaths.push(entity),
                        }
                    }
                    Ok(false) => monitor.counts.unchanged += 1,
                    Err(_) => monitor.counts.faults += 1,
                }
            }
        }
        self.monitors = monitors;
    }

    /// Other rows under another definition; monitors whose rows changed are sent all of them, and those end that watch
    /// what is not there any more.
    pub(crate) fn redefine(&mut self, names: &Names<'_>, rows: Vec<(ElementId, Value)>) -> News {
        let mut elements = BTreeMap::new();
        for (body, (element, row)) in self.bodies.iter_mut().zip(rows) {
            elements.insert(EntityId(body.id), (body.element, element));
            (body.element, body.row) = (element, row.canonical());
        }
        self.universe = names.to.clone();
        self.told.clear();
        self.ended.clear();
        for (id, mut monitor) in std::mem::take(&mut self.monitors) {
            let Some(interest) = names.interest(&monitor.interest) else {
                self.ended.push((id, monitor.counts));
                continue;
            };
            if names.are_same(&monitor.interest, &interest) {
                for (entity, row) in &mut monitor.last_sent {
                    let (from, to) = elements[entity];
                    *row = names.sent_row(from, to, row);
                }
            } else {
                self.told.push(id);
            }
            monitor.interest = interest;
            self.monitors.insert(id, monitor);
        }
        self.send_all()
    }

    /// Back to a world of before, with the counts of now.
    pub(crate) fn go_back(&mut self, former: &Self) {
        let now = std::mem::replace(self, former.clone());
        self.told = now.told;
        for (id, monitor) in now.monitors {
            self.monitors.get_mut(&id).unwrap().counts = monitor.counts;
        }
    }

    /// The monitors that were told at the last redefinition are sent all their rows.
    pub(crate) fn send_all(&mut self) -> News {
        let mut news = News::default();
        for id in &self.told {
            let interest = self.monitors[id].interest.clone();
            for body in &self.bodies {
                if self.universe.is_a(body.element, interest.element) {
                    let row = self.sent(&interest, body);
                    let entity = EntityId(body.id);
                    let monitor = self.monitors.get_mut(id).unwrap();
                    monitor.counts.sent += 1;
                    monitor.last_sent.insert(entity, body.row.clone());
                    news.rows.entry((*id, entity)).or_default().push(row);
                }
            }
        }
        news
    }

    fn take_effect(&mut self, news: &mut News) {
        let mut births = std::mem::take(&mut self.births);
        births.sort_unstable();
        for (monitor, parent) in births {
            let awaited = self.changes.iter().filter(|one| matches!(one, Change::Construct(..)));
            if self.bodies.len() + awaited.count() >= self.births_up_to {
                self.counted[1] += 1;
                continue;
            }
            let parent = self.bodies.iter().find(|body| body.id == parent.0).unwrap();
            let (element, interest) = (parent.element, &self.monitors[&monitor].interest);
            let Effect::Birth(draws) = &interest.effect else { panic!("a birth") };
            let Value::Row(mut values) = parent.row.clone() else { panic!("a body has a row") };
            for (at, draw) in interest.properties.iter().zip(draws) {
                let value = &mut values[*at as usize];
                *value = drawn(draw, value);
            }
            self.construct(element, &Value::Row(values), news);
        }
        std::mem::take(&mut self.deaths).into_iter().for_each(|one| self.destruct(one, news));
    }

    fn construct(&mut self, element: ElementId, row: &Value, news: &mut News) {
        let body = Body { id: self.next_id, element, row: row.clone().canonical() };
        self.next_id += 1;
        self.counted[0] += 1;
        let ids: Vec<MonitorId> = self.monitors.keys().copied().collect();
        ids.into_iter().for_each(|id| self.tell_birth(id, &body, news));
        self.bodies.push(body);
    }

    fn destruct(&mut self, entity: EntityId, news: &mut News) {
        let Some(at) = self.bodies.iter().position(|body| body.id == entity.0) else { return };
        let body = self.bodies.remove(at);
        self.counted[2] += 1;
        for (id, monitor) in &mut self.monitors {
            if self.universe.is_a(body.element, monitor.interest.element) {
                monitor.last_sent.remove(&entity);
                news.died.insert((*id, entity));
            }
        }
    }

    pub(crate) fn apply(&mut self, news: &mut News) {
        for change in std::mem::take(&mut self.changes) {
            match change {
                Change::Construct(element, row) => self.construct(element, &row, news),
                Change::Destruct(entity) => self.destruct(entity, news),
                Change::Register(id, interest) => {
                    let counts = MonitorCounts::default();
                    let last_sent = BTreeMap::new();
                    self.monitors.insert(id, Monitor { interest, counts, last_sent });
                    for body in self.bodies.clone() {
                        self.tell_birth(id, &body, news);
                    }
                }
                Change::Unregister(id) => drop(self.monitors.remove(&id)),
            }
        }
    }

    fn tell_birth(&mut self, id: MonitorId, body: &Body, news: &mut News) {
        let interest = self.monitors[&id].interest.clone();
        if self.universe.is_a(body.element, interest.element) {
            let row = self.sent(&interest, body);
            let monitor = self.monitors.get_mut(&id).unwrap();
            monitor.last_sent.insert(EntityId(body.id), body.row.clone());
            news.born.entry((id, EntityId(body.id))).or_default().push(row);
        }
    }
}
