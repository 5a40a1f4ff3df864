//! A world without columns: every row a value, every function walked as a tree.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_world::{Change, EntityId, Interest, MonitorCounts, MonitorId, Output};
use hemiola_world_code::{Scalar, Texts, scalars_of};
use hemiola_world_lang::definition::{Universe, Value};
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
            Output::Fault { entity, fault, strikes } => {
                self.faults.insert(entity, (fault.to_string(), strikes));
            }
        }
    }
}

struct Monitor {
    interest: Interest,
    counts: MonitorCounts,
    last_sent: BTreeMap<EntityId, Value>,
}

/// The world.
pub(crate) struct Naive {
    universe: Universe,
    pub(crate) bodies: Vec<Body>,
    monitors: BTreeMap<MonitorId, Monitor>,
    strikes: BTreeMap<u64, u32>,
    changes: Vec<Change>,
    next_id: u64,
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
            next_id: universe.entities.len() as u64 + 1,
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
        self.update(seconds, &mut news);
        self.filter(&mut news);
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
                    }
                    Ok(false) => monitor.counts.unchanged += 1,
                    Err(_) => monitor.counts.faults += 1,
                }
            }
        }
        self.monitors = monitors;
    }

    pub(crate) fn apply(&mut self, news: &mut News) {
        for change in std::mem::take(&mut self.changes) {
            match change {
                Change::Construct(element, row) => {
                    let body = Body { id: self.next_id, element, row: row.canonical() };
                    self.next_id += 1;
                    let ids: Vec<MonitorId> = self.monitors.keys().copied().collect();
                    ids.into_iter().for_each(|id| self.tell_birth(id, &body, news));
                    self.bodies.push(body);
                }
                Change::Destruct(entity) => {
                    let Some(at) = self.bodies.iter().position(|body| body.id == entity.0) else {
                        continue;
                    };
                    let body = self.bodies.remove(at);
                    for (id, monitor) in &mut self.monitors {
                        if self.universe.is_a(body.element, monitor.interest.element) {
                            monitor.last_sent.remove(&entity);
                            news.died.insert((*id, entity));
                        }
                    }
                }
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
