//! The entities of a universe, and the changes that it accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_world_code::{
    CodeError, CompiledPrograms, Constraint, NotCompiled, Program, Scalar, Texts, compile,
    compile_constraint, scalar_count, scalar_types, scalars_of, value_of,
};
use hemiola_world_lang::definition::{
    ElementId, Function, FunctionId, FunctionKind, Type, Universe, Value,
};
use hemiola_world_lang::evaluate::Fault;
use thiserror::Error;

use crate::birth::{Births, Effect, Fates, is_possible};
use crate::filter::Filter;
use crate::module::Module;
use crate::monitor::{Interest, Monitor, MonitorCounts, MonitorId, Watched};
use crate::past::Past;
use crate::step::{Output, Places};
use crate::table::Table;
use crate::workers::{Apart, Crew, Workers};

/// Entities that a world holds at most; a row is counted in 32 bits, and ids in 64.
pub const ENTITIES_MAX: usize = 1 << 28;

/// Monitors of a world at most.
pub const MONITORS_MAX: usize = 1 << 16;

/// The number of an entity, which no other entity of the world ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityId(pub u64);

/// Why a universe cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A function has no code.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The world passes the length of the step, and nothing else.
    #[error(
        "`{0}` has other parameters than one `real<s>` or `real32<s>`, the length of the step; remove them"
    )]
    UpdateParameters(String),
}

/// Something that a world is asked to do. It is carried out at the end of the next step, or by [`World::apply`].
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A new entity with the properties of this row.
    Construct(ElementId, Value),
    /// The entity ends.
    Destruct(EntityId),
    /// A new monitor; it is told of all entities of its element as if they were born.
    Register(MonitorId, Interest),
    /// The monitor ends.
    Unregister(MonitorId),
}

/// Why a change is refused. The world stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The universe has no such element.
    #[error("the universe has no element number {0}")]
    NoSuchElement(u32),
    /// The row has other properties than the element.
    #[error("the row is not one of `{0}`: its properties have other types")]
    WrongRow(String),
    /// No such entity exists.
    #[error("no entity has the number {0}")]
    NoSuchEntity(u64),
    /// There are too many entities.
    #[error("a world holds at most {ENTITIES_MAX} entities; destruct some first")]
    TooManyEntities,
    /// There are too many monitors.
    #[error("a world has at most {MONITORS_MAX} monitors; end some first")]
    TooManyMonitors,
    /// A monitor has this number already.
    #[error("monitor {0} exists already; end it first")]
    MonitorExists(u32),
    /// No monitor has this number.
    #[error("no monitor has the number {0}")]
    NoSuchMonitor(u32),
    /// The element has no such property, or none was chosen.
    #[error("a monitor needs at least one property of `{0}`, and none that it does not have")]
    WrongProperties(String),
    /// The effect needs a constraint, or draws of another number or type.
    #[error(
        "a birth or a death of `{0}` needs a constraint, and a birth one draw of its type for each property; only reals \
         are added"
    )]
    WrongEffect(String),
    /// The element has no such constraint, or its parameters have other types.
    #[error("`{0}` has no such constraint with these arguments")]
    WrongConstraint(String),
}

/// A simulated world.
#[derive(Debug)]
pub struct World {
    pub(crate) universe: Arc<Universe>,
    pub(crate) updates: BTreeMap<FunctionId, Program>,
    pub(crate) constraints: BTreeMap<FunctionId, Constraint>,
    /// By element.
    pub(crate) tables: Vec<Table>,
    pub(crate) places: Places,
    pub(crate) monitors: BTreeMap<MonitorId, Monitor>,
    pub(crate) past: Past,
    pub(crate) crew: Crew,
    pub(crate) apart: Apart,
    pub(crate) filter: Filter,
    /// Memory for the rows whose update had a fault.
    pub(crate) faults: Vec<(usize, Fault)>,
    pub(crate) births: Births,
    pub(crate) fates: Fates,
    /// Modules of users, at most one for each element.
    pub(crate) modules: Vec<Module>,
    /// Tables and choices of properties that somebody monitors.
    pub(crate) collected: BTreeSet<(ElementId, Vec<u32>)>,
    /// Steps made.
    pub(crate) steps: u64,
    pub(crate) texts: Texts,
    pub(crate) changes: Vec<Accepted>,
    /// The monitors once all changes are carried out.
    pub(crate) monitors_to_come: BTreeSet<MonitorId>,
    /// As many entities at most, once all changes are carried out.
    pub(crate) entities_to_come: usize,
    pub(crate) next_id: u64,
    /// The names of the first entities, those of the text.
    pub(crate) names: Vec<String>,
    /// Redefinitions and returns so far.
    pub(crate) definitions: u64,
    /// Steps and changes so far: rows are as they were as long as it stays.
    pub(crate) version: u64,
    /// Whether functions are to be compiled.
    pub(crate) is_compiled: bool,
    /// Why some functions stay interpreted, by the identity of their program.
    pub(crate) not_compiled: BTreeMap<u64, NotCompiled>,
    /// Compiled functions that no definition needs any more, by worker.
    pub(crate) spent: Vec<CompiledPrograms>,
    /// The memory of columns, if compiled code has one.
    pub(crate) room: Option<Arc<dyn hemiola_world_code::Room>>,
}

/// A change that was found to be possible.
#[derive(Debug)]
pub(crate) enum Accepted {
    Construct(ElementId, Vec<Scalar>),
    Destruct(EntityId),
    Register(MonitorId, Box<Monitor>),
    Unregister(MonitorId),
}

impl World {
    /// A world with the entities that the text defines.
    ///
    /// # Errors
    /// If an update has unusual parameters, or an update or a constraint exceeds a limit of its code.
    pub fn new(universe: Universe) -> Result<Self, WorldError> {
        let mut world = Self::empty(Arc::new(universe), Texts::default())?;
        let universe = Arc::clone(&world.universe);
        world.names = universe.entities.iter().map(|entity| entity.name.clone()).collect();
        for entity in &universe.entities {
            let row = Value::Row(entity.row.clone());
            let scalars = world.scalars(&Type::Element(entity.element), &row);
            world.entities_to_come += 1;
            world.construct(entity.element, &scalars, &mut |_| {});
        }
        Ok(world)
    }

    /// A world without entities, in which these texts have their numbers.
    pub(crate) fn empty(universe: Arc<Universe>, mut texts: Texts) -> Result<Self, WorldError> {
        let (updates, constraints) = programs(&universe, &mut texts)?;
        let past = Past::new(&universe, &updates);
        let ids = (0..universe.elements.len() as u32).map(ElementId);
        let tables =
            ids.map(|id| Table::new(&scalar_types(&universe, &Type::Element(id)), None)).collect();
        Ok(Self {
            updates,
            constraints,
            tables,
            places: Places::new(),
            monitors: BTreeMap::new(),
            past,
            crew: Crew::default(),
            apart: Apart::default(),
            filter: Filter::default(),
            faults: Vec::new(),
            births: Births::default(),
            fates: Fates::default(),
            modules: Vec::new(),
            collected: BTreeSet::new(),
            steps: 0,
            texts,
            changes: Vec::new(),
            monitors_to_come: BTreeSet::new(),
            entities_to_come: 0,
            next_id: 1,
            names: Vec::new(),
            definitions: 0,
            version: 0,
            is_compiled: false,
            not_compiled: BTreeMap::new(),
            spent: Vec::new(),
            room: None,
            universe,
        })
    }

    /// Has these workers carry out the steps from now on; the results stay the same, bit by bit. Call it before
    /// [`Self::install`] and [`Self::compile`], because new workers interpret.
    pub fn employ(&mut self, workers: Workers) {
        self.crew = Crew::of(workers);
    }

    /// The definition. It is the same allocation until the world is redefined, and again after a return.
    #[must_use]
    pub const fn universe(&self) -> &Arc<Universe> {
        &self.universe
    }

    /// All entities, in the order of their numbers.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.places.keys().copied()
    }

    /// How many entities there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no entities.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many entities an element has, without those of derived elements.
    #[must_use]
    pub fn count(&self, element: ElementId) -> usize {
        self.tables.get(element.index()).map_or(0, Table::len)
    }

    /// Steps made so far.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// All monitors with their rows so far.
    pub fn monitors(&self) -> impl Iterator<Item = (MonitorId, MonitorCounts)> {
        self.monitors.iter().map(|(id, monitor)| (*id, monitor.counts))
    }

    /// The element of an entity.
    #[must_use]
    pub fn element(&self, entity: EntityId) -> Option<ElementId> {
        self.places.get(&entity).map(|(element, _)| *element)
    }

    /// The name of an entity of the text; of another one, its element and its number.
    #[must_use]
    pub fn name(&self, entity: EntityId) -> String {
        let at = entity.0.checked_sub(1);
        if let Some(name) = at.and_then(|at| self.names.get(at as usize)) {
            return name.clone();
        }
        let element = self.element(entity).map(|id| &*self.universe.elements[id.index()].name);
        format!("{} {}", element.unwrap_or("entity"), entity.0)
    }

    /// The entities that the text of the first definition names, as far as they exist.
    pub fn named(&self) -> impl Iterator<Item = EntityId> {
        let ids = 1..=self.names.len() as u64;
        ids.map(EntityId).filter(|id| self.places.contains_key(id))
    }

    /// The row of an entity.
    #[must_use]
    pub fn row(&self, entity: EntityId) -> Option<Value> {
        let (element, row) = self.places.get(&entity)?;
        let scalars = self.tables[element.index()].row(*row);
        let ty = Type::Element(*element);
        Some(value_of(&self.universe, &ty, &mut scalars.into_iter(), &self.texts))
    }

    /// The rows of a monitor so far.
    #[must_use]
    pub fn counts(&self, monitor: MonitorId) -> Option<MonitorCounts> {
        self.monitors.get(&monitor).map(|monitor| monitor.counts)
    }

    /// Bytes of the columns that a monitor is sent of a row.
    #[must_use]
    pub fn row_len(&self, monitor: MonitorId) -> Option<u64> {
        let Interest { element, properties, .. } = &self.monitors.get(&monitor)?.interest;
        let all = &self.universe.elements[element.index()].properties;
        Some(properties.iter().map(|at| self.universe.size(&all[*at as usize].ty).1).sum())
    }

    /// Accepts a change, which is carried out at the end of the next step, or by [`Self::apply`].
    ///
    /// # Errors
    /// If the change is not possible in the world as it is once all changes before are carried out. A destruction of an
    /// entity that is destructed already by a change before is not an error and has no effect.
    pub fn submit(&mut self, change: Change) -> Result<(), Refused> {
        let accepted = match change {
            Change::Construct(element, row) => self.accept_row(element, &row)?,
            Change::Destruct(entity) if self.places.contains_key(&entity) => {
                Accepted::Destruct(entity)
            }
            Change::Destruct(entity) => return Err(Refused::NoSuchEntity(entity.0)),
            Change::Register(id, interest) => {
                Accepted::Register(id, Box::new(self.accept_monitor(id, interest)?))
            }
            Change::Unregister(id) => {
                if !self.monitors_to_come.remove(&id) {
                    return Err(Refused::NoSuchMonitor(id.0));
                }
                Accepted::Unregister(id)
            }
        };
        self.changes.push(accepted);
        Ok(())
    }

    fn accept_row(&mut self, element: ElementId, row: &Value) -> Result<Accepted, Refused> {
        let data = self.universe.elements.get(element.index());
        let data = data.ok_or(Refused::NoSuchElement(element.0))?;
        if !fits(&self.universe, &Type::Element(element), row) {
            return Err(Refused::WrongRow(data.name.clone()));
        }
        if self.entities_to_come >= ENTITIES_MAX {
            return Err(Refused::TooManyEntities);
        }
        self.entities_to_come += 1;
        Ok(Accepted::Construct(element, self.scalars(&Type::Element(element), row)))
    }

    pub(crate) fn accept_monitor(
        &mut self,
        id: MonitorId,
        interest: Interest,
    ) -> Result<Monitor, Refused> {
        let element = interest.element;
        let data = self.universe.elements.get(element.index());
        let data = data.ok_or(Refused::NoSuchElement(element.0))?;
        let name = data.name.clone();
        if self.monitors_to_come.contains(&id) {
            return Err(Refused::MonitorExists(id.0));
        }
        if self.monitors_to_come.len() >= MONITORS_MAX {
            return Err(Refused::TooManyMonitors);
        }
        let known = data.properties.len();
        let sound = |property: &u32| (*property as usize) < known;
        let has_none = interest.properties.is_empty() && interest.effect == Effect::None;
        if has_none || !interest.properties.iter().all(sound) {
            return Err(Refused::WrongProperties(name));
        }
        let types = interest.properties.iter().map(|at| &data.properties[*at as usize].ty);
        let (types, is_chosen) = (types.collect::<Vec<_>>(), interest.constraint.is_some());
        if !is_possible(&self.universe, &interest.effect, &types, is_chosen, fits) {
            return Err(Refused::WrongEffect(name));
        }
        let columns =
            interest.properties.iter().flat_map(|at| columns(&self.universe, element, *at));
        let columns = columns.collect();
        let arguments = self.arguments(&interest).ok_or(Refused::WrongConstraint(name))?;
        self.monitors_to_come.insert(id);
        let counts = MonitorCounts::default();
        let watched = self.watched(element);
        Ok(Monitor { interest, columns, arguments, counts, watched, paced: None })
    }

    /// The tables that a monitor of an element watches.
    fn watched(&self, base: ElementId) -> BTreeMap<ElementId, Watched> {
        let elements = (0..self.tables.len() as u32).map(ElementId);
        let watched = elements.filter(|element| self.universe.is_a(*element, base));
        watched.map(|element| (element, Watched::default())).collect()
    }

    /// The scalars of the arguments of a constraint; `None` if they do not fit.
    fn arguments(&mut self, interest: &Interest) -> Option<Vec<Scalar>> {
        let Some((id, values)) = &interest.constraint else { return Some(Vec::new()) };
        let data = &self.universe.elements[interest.element.index()];
        let function =
            data.constraints.contains(id).then(|| &self.universe.functions[id.index()])?;
        let types: Vec<Type> = function.locals[..function.parameter_count as usize]
            .iter()
            .map(|local| local.ty.clone())
            .collect();
        let fit = types.len() == values.len()
            && types.iter().zip(values).all(|(ty, value)| fits(&self.universe, ty, value));
        fit.then(|| types.iter().zip(values).flat_map(|(ty, v)| self.scalars(ty, v)).collect())
    }

    pub(crate) fn scalars(&mut self, ty: &Type, value: &Value) -> Vec<Scalar> {
        scalars_of(&self.universe, ty, value, &mut self.texts)
    }

    /// Carries out the changes that were accepted, and calls `out` with what monitors are told of them. A step does so
    /// by itself. Returns births and deaths.
    pub fn apply(&mut self, out: &mut dyn FnMut(Output<'_>)) -> (u64, u64) {
        let (mut births, mut deaths) = (0, 0);
        self.version += self.changes.len() as u64;
        for change in std::mem::take(&mut self.changes) {
            match change {
                Accepted::Construct(element, scalars) => {
                    self.construct(element, &scalars, out);
                    births += 1;
                }
                Accepted::Destruct(entity) => deaths += u64::from(self.destruct(entity, out)),
                Accepted::Register(id, monitor) => self.register(id, *monitor, out),
                Accepted::Unregister(id) => self.unregister(id),
            }
        }
        (births, deaths)
    }

    pub(crate) fn construct(
        &mut self,
        element: ElementId,
        scalars: &[Scalar],
        out: &mut dyn FnMut(Output<'_>),
    ) {
        let entity = EntityId(self.next_id);
        self.next_id += 1;
        self.past.is_stale = true;
        let table = &mut self.tables[element.index()];
        self.places.insert(entity, (element, table.len()));
        table.push(entity, scalars);
        for (id, monitor) in &mut self.monitors {
            if monitor.push(&self.constraints, element, scalars) {
                out(Output::Born {
                    monitor: *id,
                    entity,
                    element,
                    scalars: &monitor.told(scalars),
                });
            }
        }
    }

    /// Whether the entity existed.
    pub(crate) fn destruct(&mut self, entity: EntityId, out: &mut dyn FnMut(Output<'_>)) -> bool {
        let Some((element, row)) = self.places.remove(&entity) else { return false };
        self.entities_to_come -= 1;
        self.past.is_stale = true;
        if let Some(moved) = self.tables[element.index()].swap_remove(row) {
            self.places.insert(moved, (element, row));
        }
        for (id, monitor) in &mut self.monitors {
            if monitor.swap_remove(element, row, entity) {
                out(Output::Died { monitor: *id, entity });
            }
        }
        true
    }

    fn register(&mut self, id: MonitorId, mut monitor: Monitor, out: &mut dyn FnMut(Output<'_>)) {
        for (element, table) in (0..).map(ElementId).zip(&self.tables) {
            if !monitor.watched.contains_key(&element) {
                continue;
            }
            for (row, entity) in table.ids.iter().enumerate() {
                let scalars = table.row(row);
                monitor.push(&self.constraints, element, &scalars);
                let scalars = &monitor.told(&scalars);
                out(Output::Born { monitor: id, entity: *entity, element, scalars });
            }
        }
        self.monitors.insert(id, monitor);
        self.note_collected();
    }

    fn unregister(&mut self, id: MonitorId) {
        self.monitors.remove(&id);
        self.note_collected();
    }

    pub(crate) fn note_collected(&mut self) {
        let choices = self.monitors.values().flat_map(|monitor| {
            let properties = &monitor.interest.properties;
            let elements = monitor.watched.keys().filter(|_| !properties.is_empty());
            elements.map(|element| (*element, properties.clone()))
        });
        self.collected = choices.collect();
    }
}

/// The code of all updates, and that of all constraints.
pub(crate) type Programs = (BTreeMap<FunctionId, Program>, BTreeMap<FunctionId, Constraint>);

/// All of these, a constraint as its parts.
pub(crate) fn every_program<'p>(
    updates: &'p BTreeMap<FunctionId, Program>,
    constraints: &'p BTreeMap<FunctionId, Constraint>,
) -> impl Iterator<Item = &'p Program> + Clone {
    let parts = constraints.values().flat_map(|both| [Some(&both.first), both.then.as_ref()]);
    updates.values().chain(parts.flatten())
}

pub(crate) fn programs(universe: &Universe, texts: &mut Texts) -> Result<Programs, WorldError> {
    let (mut updates, mut constraints) = Programs::default();
    for (id, function) in (0..).map(FunctionId).zip(&universe.functions) {
        match function.kind {
            FunctionKind::Update => {
                check_parameters(universe, function)?;
                updates.insert(id, compile(universe, id, texts)?);
            }
            FunctionKind::Constraint => {
                constraints.insert(id, compile_constraint(universe, id, texts)?);
            }
            FunctionKind::Function | FunctionKind::Predict => {}
        }
    }
    Ok((updates, constraints))
}

/// An update has no parameter, or the length of the step.
fn check_parameters(universe: &Universe, update: &Function) -> Result<(), WorldError> {
    let parameters = &update.locals[..update.parameter_count as usize];
    let names: Vec<String> = parameters.iter().map(|local| universe.type_text(&local.ty)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names[..] {
        [] | ["real<s>" | "real32<s>"] => Ok(()),
        _ => Err(WorldError::UpdateParameters(update.name.clone())),
    }
}

/// The first column of each property of an element.
pub(crate) fn starts(universe: &Universe, element: ElementId) -> Vec<u32> {
    let properties = universe.elements[element.index()].properties.iter();
    let start = |next: &mut u32, count: u32| Some(std::mem::replace(next, *next + count));
    properties.map(|property| scalar_count(universe, &property.ty)).scan(0, start).collect()
}

/// The columns of a property.
pub(crate) fn columns(
    universe: &Universe,
    element: ElementId,
    property: u32,
) -> std::ops::Range<u32> {
    let properties = &universe.elements[element.index()].properties;
    let count = |at: usize| scalar_count(universe, &properties[at].ty);
    let first = (0..property as usize).map(count).sum();
    first..first + count(property as usize)
}

/// Whether a value is one of the type.
fn fits(universe: &Universe, ty: &Type, value: &Value) -> bool {
    use hemiola_world_lang::definition::Width::{Double, Single};
    match (ty, value) {
        (Type::Boolean, Value::Boolean(_))
        | (Type::Integer, Value::Integer(_))
        | (Type::Real(Single, _), Value::Single(_))
        | (Type::Real(Double, _), Value::Double(_)) => true,
        (Type::String(most), Value::String(text)) => text.len() <= *most as usize,
        (Type::Array(of, length), Value::Items(items)) => {
            items.len() == *length as usize && items.iter().all(|item| fits(universe, of, item))
        }
        (Type::List(of, most), Value::Items(items)) => {
            items.len() <= *most as usize && items.iter().all(|item| fits(universe, of, item))
        }
        (Type::Element(id), Value::Row(values)) => {
            let properties = &universe.elements[id.index()].properties;
            properties.len() == values.len()
                && properties.iter().zip(values).all(|(p, value)| fits(universe, &p.ty, value))
        }
        _ => false,
    }
}
