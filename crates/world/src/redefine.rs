//! Another definition takes the place of the present one, between two steps.
//!
//! Everything is prepared beside the world: code, new columns, monitors. Only if all of it exists, it changes places
//! with what the world had, so a redefinition happens as a whole or not at all. Ids, strikes and columns that stay as
//! they are move from table to table: a definition with other functions copies no row. What the world had is kept for
//! a return before the next step; later, the converters back of the new definition compute it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::swap;
use std::sync::Arc;

use hemiola_world_code::{
    BLOCK_ROWS, Block, Column, CompiledPrograms, Constraint, Program, Scalar, Texts,
    compile_converter, scalars_of,
};
use hemiola_world_lang::definition::{Definition, ElementId, FunctionId, Universe};
use hemiola_world_lang::evaluate::Fault;
use hemiola_world_lang::{Problem, Sources, check};
use hemiola_world_plan::{Conversion, Missing, Origin, Plan, ScalarSource, Source};
use thiserror::Error;

use crate::correspondence::{Correspondence, Shape, Shared};
use crate::filter::Parcel;
use crate::monitor::{Interest, Monitor, MonitorCounts, MonitorId, Watched};
use crate::past::Past;
use crate::step::Output;
use crate::table::Table;
use crate::world::{Programs, World, WorldError, every_program, programs};

/// Why a world keeps its definition, rows and monitors. Changes that were accepted before [`World::redefine`] or
/// [`World::roll_back`] are carried out all the same.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RedefineError {
    /// Properties have no value; each has a reason and a converter to write.
    #[error("{}", first_missing(.0))]
    Missing(Vec<Missing>),
    /// Entities would end with their element.
    #[error(
        "{} of `{element}`, which the other definition does not have: keep or rename (`was`) the element, or let its \
         entities die first (--death)", exist(*.count)
    )]
    Entities {
        /// The element.
        element: String,
        /// Its entities.
        count: usize,
    },
    /// A converter has a fault in some rows.
    #[error("`{property}` of {entity} has no value: {fault}{}", and_more(*.others))]
    NoValue {
        /// The element and the property.
        property: String,
        /// The first entity without a value.
        entity: String,
        /// The fault.
        fault: Fault,
        /// More entities without a value.
        others: usize,
    },
    /// The other definition cannot run.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A module computes an element that the other definition does not have, or has with other properties.
    #[error(
        "a module computes `{element}`, which the other definition does not have with the same properties; start another \
         run with a module for it"
    )]
    Module {
        /// The element.
        element: String,
    },
    /// Another redefinition or a return came after this one.
    #[error("the world has been redefined since, or is back already")]
    Superseded,
    /// The revision was checked with another definition than the world has.
    #[error("the definition has changed since the texts were checked; check them again")]
    Outdated,
}

/// Why texts are no definition that can follow another one.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// The texts have problems.
    #[error("the texts have problems")]
    Problems(Vec<Problem>),
    /// The universe is not among those that the texts define.
    #[error("the texts do not define the universe `{0}`, which runs")]
    NoUniverse(String),
}

/// A definition that was checked with the one that it is to follow, and the plan from that one to it.
///
/// Checking and planning need no rows: another thread than the one that makes the steps can do both.
#[derive(Clone, Debug)]
pub struct Revision {
    before: Arc<Universe>,
    after: Arc<Universe>,
    plan: Plan,
    /// What corresponds in the two, on the way there and on the way back.
    pub(crate) there: Correspondence,
    back: Correspondence,
    /// The code of the new definition. Its texts have numbers of their own.
    programs: Result<Programs, WorldError>,
    /// Whether it has texts, whose numbers only the world knows.
    has_texts: bool,
}

impl Revision {
    /// Checks texts as the definition that follows `before`, which is [`World::universe`].
    ///
    /// # Errors
    /// If the texts have problems, or do not define the universe.
    pub fn check(sources: &Sources, before: &Arc<Universe>) -> Result<Self, RevisionError> {
        let present = Definition { universes: vec![Universe::clone(before)] };
        let checked = check(sources, Some(&present)).map_err(RevisionError::Problems)?;
        let mut universes = checked.universes.into_iter();
        let after = universes.find(|universe| universe.name == before.name);
        let after = after.ok_or_else(|| RevisionError::NoUniverse(before.name.clone()))?;
        Ok(Self::between(before, after))
    }

    /// The definition that follows `before`, with which its texts were checked.
    #[must_use]
    pub fn between(before: &Arc<Universe>, after: Universe) -> Self {
        let plan = Plan::of(before, &after);
        // Converters in both directions are written in the new text.
        let there = Correspondence::of(before, &after, &plan.forward, &after);
        let back = Correspondence::of(&after, before, &plan.back, &after);
        let mut texts = Texts::default();
        let programs = programs(&after, &mut texts);
        let has_texts = !texts.is_empty();
        let (before, after) = (Arc::clone(before), Arc::new(after));
        Self { before, after, plan, there, back, programs, has_texts }
    }

    /// The code of the new definition, whose texts have numbers of their own.
    pub(crate) fn programs(&self) -> Result<&Programs, WorldError> {
        self.programs.as_ref().map_err(Clone::clone)
    }

    /// The definition that it was checked with.
    pub(crate) const fn before(&self) -> &Arc<Universe> {
        &self.before
    }

    /// The new definition.
    #[must_use]
    pub const fn after(&self) -> &Arc<Universe> {
        &self.after
    }

    /// The steps from the definition before to the new one.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }
}

fn exist(count: usize) -> String {
    match count {
        1 => "there is 1 entity".to_owned(),
        many => format!("there are {many} entities"),
    }
}

fn first_missing(missing: &[Missing]) -> String {
    let Some(first) = missing.first() else { return "a property has no value".to_owned() };
    let others = and_more(missing.len() - 1);
    format!("`{}` has no value: {}{others}", first.property, first.reason)
}

fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" (and {count} more)") }
}

/// Monitors that end with a definition, and what became of their rows.
pub type Ended = Vec<(MonitorId, MonitorCounts)>;

/// A redefinition that happened, and what the world had before it.
#[derive(Debug)]
pub struct Redefinition {
    /// The steps from the former definition to the new one.
    pub plan: Plan,
    /// Monitors that ended, because the new definition does not have what they watch.
    pub ended: Ended,
    former: Parts,
    kept: Kept,
    /// What corresponds on the way back.
    pub(crate) back: Correspondence,
    /// [`World::definitions`] after it.
    definitions: u64,
    /// [`World::version`] after it.
    version: u64,
}

/// How a world got back to the definition before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Return {
    /// No step was made: rows and monitors are those of before.
    Unchanged,
    /// Steps were made: rows were converted back, and these monitors ended.
    Converted(Ended),
}

/// What goes from the tables and monitors of one definition to those of another one as it is, by its places.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// Elements whose rows become rows of the other one.
    elements: BTreeMap<ElementId, ElementId>,
    /// Columns.
    columns: BTreeMap<(ElementId, u32), (ElementId, u32)>,
    /// Monitors that go on but are told all rows, because rows changed.
    told: BTreeSet<MonitorId>,
}

impl Kept {
    fn inverse(&self) -> Self {
        Self {
            elements: self.elements.iter().map(|(from, to)| (*to, *from)).collect(),
            columns: self.columns.iter().map(|(from, to)| (*to, *from)).collect(),
            told: self.told.clone(),
        }
    }
}

/// Everything that a definition shapes.
#[derive(Debug)]
pub(crate) struct Parts {
    universe: Arc<Universe>,
    updates: BTreeMap<FunctionId, Program>,
    constraints: BTreeMap<FunctionId, Constraint>,
    tables: Vec<Table>,
    past: Past,
    monitors: BTreeMap<MonitorId, Monitor>,
}

/// A definition that is ready to take the place of another one.
struct Prepared {
    parts: Parts,
    ended: Ended,
    kept: Kept,
}

impl World {
    /// Replaces the definition, and calls `out` with what monitors are told. First carries out the changes that were
    /// accepted before, even if the redefinition is then refused; an outdated revision changes nothing. Entities keep
    /// their numbers. A monitor goes on if the new definition has what it watches; if values that its constraint
    /// compares with changed, it is sent all rows. Entities of the new text are not created: they exist from the start
    /// of a world only.
    ///
    /// New functions are interpreted until they get code by [`Self::install`] or [`Self::compile`], perhaps before the
    /// redefinition. Of compiled functions, those of the former definition are kept for a return, and those of
    /// definitions before it are dropped.
    ///
    /// # Errors
    /// If the revision is outdated, a property or a row has no value, entities would end, or the definition cannot run.
    pub fn redefine(
        &mut self,
        revision: Revision,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Redefinition, RedefineError> {
        let redefined = self.replace_definition(revision, out);
        self.spent.clear();
        redefined
    }

    /// As [`Self::redefine`], but puts aside what [`Self::take_spent`] returns.
    pub(crate) fn replace_definition(
        &mut self,
        revision: Revision,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Redefinition, RedefineError> {
        self.check_present(&revision)?;
        self.apply(out);
        let Revision { after, plan, there, back, programs, has_texts, .. } = revision;
        let programs = programs.ok().filter(|_| !has_texts);
        let code = Arc::clone(&after);
        let prepared = self.prepare(after, (&plan.forward, &there), &code, programs)?;
        let Prepared { parts: mut former, ended, kept } = prepared;
        self.exchange(&mut former, &kept, out);
        self.keep_code_of(Some(&former));
        let (definitions, version) = (self.definitions, self.version);
        Ok(Redefinition { plan, ended, former, kept, back, definitions, version })
    }

    fn check_present(&self, revision: &Revision) -> Result<(), RedefineError> {
        let is_present = Arc::ptr_eq(&self.universe, &revision.before);
        if is_present { Ok(()) } else { Err(RedefineError::Outdated) }
    }

    /// Whether [`Self::redefine`] would succeed with the rows of now; changes nothing. Returns the monitors that would
    /// end. Changes that were accepted and are still to be carried out do not count here, but they do in
    /// [`Self::redefine`]: call [`Self::apply`] first for the same answer.
    ///
    /// # Errors
    /// Those of [`Self::redefine`].
    pub fn dry_run(&mut self, revision: &Revision) -> Result<Ended, RedefineError> {
        self.check_present(revision)?;
        let Revision { after, plan, there, programs, has_texts, .. } = revision;
        let programs = programs.clone().ok().filter(|_| !has_texts);
        Ok(self.prepare(Arc::clone(after), (&plan.forward, there), after, programs)?.ended)
    }

    /// Returns to the definition before the last redefinition: to its rows if no step or change was made since, else by
    /// the converters back. In the second case, monitors that ended before stay ended. First carries out the changes
    /// that were accepted before, even if the return is then refused; a redefinition that is not the last one changes
    /// nothing.
    ///
    /// # Errors
    /// If a property or a row has no value in the former definition, entities would end, or the redefinition is not the
    /// last one.
    pub fn roll_back(
        &mut self,
        redefinition: &mut Redefinition,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Return, RedefineError> {
        let returned = self.return_from(redefinition, out);
        self.spent.clear();
        returned
    }

    /// As [`Self::roll_back`], but puts aside what [`Self::take_spent`] returns.
    pub(crate) fn return_from(
        &mut self,
        redefinition: &mut Redefinition,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Return, RedefineError> {
        self.check_return(redefinition)?;
        self.apply(out);
        if self.is_as_after(redefinition) {
            self.exchange(&mut redefinition.former, &redefinition.kept.inverse(), out);
            self.keep_code_of(None);
            return Ok(Return::Unchanged);
        }
        let former = &redefinition.former;
        let before = Arc::clone(&former.universe);
        let programs = Some((former.updates.clone(), former.constraints.clone()));
        let code = Arc::clone(&self.universe);
        let Prepared { mut parts, ended, kept } =
            self.prepare(before, (&redefinition.plan.back, &redefinition.back), &code, programs)?;
        self.exchange(&mut parts, &kept, out);
        self.keep_code_of(None);
        Ok(Return::Converted(ended))
    }

    /// Whether no step and no change was made since a redefinition.
    pub(crate) const fn is_as_after(&self, redefinition: &Redefinition) -> bool {
        self.version == redefinition.version
    }

    /// Puts aside compiled functions that neither the present definition nor that before a redefinition has.
    pub(crate) fn keep_code_of_return(&mut self, redefinition: Option<&Redefinition>) {
        self.keep_code_of(redefinition.map(|redefinition| &redefinition.former));
    }

    /// Puts aside compiled functions that neither the present definition nor a former one has.
    pub(crate) fn keep_code_of(&mut self, former: Option<&Parts>) {
        let former = former.map(|parts| every_program(&parts.updates, &parts.constraints));
        let programs = every_program(&self.updates, &self.constraints);
        let kept: BTreeSet<u64> =
            programs.chain(former.into_iter().flatten()).map(|program| program.identity).collect();
        self.spent.extend(self.crew.seats().map(|seat| seat.machine.keep_only(&kept)));
    }

    /// The compiled functions that were put aside since the last call. To drop them takes as long as to unmap their
    /// memory, which a step need not wait for.
    pub(crate) fn take_spent(&mut self) -> Vec<CompiledPrograms> {
        std::mem::take(&mut self.spent)
    }

    /// Whether [`Self::roll_back`] is possible as far as the definitions tell, without a look at each row.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn check_return(&self, redefinition: &Redefinition) -> Result<(), RedefineError> {
        if self.definitions != redefinition.definitions {
            return Err(RedefineError::Superseded);
        }
        let missing = &redefinition.plan.back.missing;
        if self.is_as_after(redefinition) || missing.is_empty() {
            return Ok(());
        }
        Err(RedefineError::Missing(missing.clone()))
    }

    /// Changes places with the parts of another definition, which get the former ones. Nothing can fail.
    fn exchange(&mut self, parts: &mut Parts, kept: &Kept, out: &mut dyn FnMut(Output<'_>)) {
        self.move_rows(parts, kept);
        self.move_last_sent(parts, kept);
        swap(&mut self.universe, &mut parts.universe);
        swap(&mut self.updates, &mut parts.updates);
        swap(&mut self.constraints, &mut parts.constraints);
        swap(&mut self.tables, &mut parts.tables);
        swap(&mut self.past, &mut parts.past);
        swap(&mut self.monitors, &mut parts.monitors);
        if kept.elements.iter().any(|(from, to)| from != to) {
            for (element, _) in self.places.values_mut() {
                *element = kept.elements[element];
            }
        }
        self.monitors_to_come = self.monitors.keys().copied().collect();
        self.note_collected();
        self.place_modules();
        self.definitions += 1;
        self.tell(&kept.told, out);
    }

    fn move_rows(&mut self, parts: &mut Parts, kept: &Kept) {
        for (from, to) in &kept.elements {
            let (from, to) = (&mut self.tables[from.index()], &mut parts.tables[to.index()]);
            swap(&mut from.ids, &mut to.ids);
            swap(&mut from.strikes, &mut to.strikes);
        }
        for ((from, column), (to, place)) in &kept.columns {
            let from = &mut self.tables[from.index()].columns[*column as usize];
            swap(from, &mut parts.tables[to.index()].columns[*place as usize]);
        }
    }

    /// Monitors keep their counts, their arguments, and what they were last sent unless they are told all rows.
    fn move_last_sent(&mut self, parts: &mut Parts, kept: &Kept) {
        for (id, to) in &mut parts.monitors {
            let Some(from) = self.monitors.get_mut(id) else { continue };
            to.counts = from.counts;
            to.paced = from.paced.take();
            swap(&mut to.arguments, &mut from.arguments);
            let values = [&mut to.interest.constraint, &mut from.interest.constraint];
            if let [Some((_, to)), Some((_, from))] = values {
                swap(to, from);
            }
            for (old, from) in &mut from.watched {
                let to = kept.elements.get(old).and_then(|new| to.watched.get_mut(new));
                let Some(to) = to else { continue };
                swap(&mut from.standing, &mut to.standing);
                if !kept.told.contains(id) {
                    swap(&mut from.last_sent, &mut to.last_sent);
                }
            }
        }
    }

    /// Sends monitors all rows that they watch, and notes them as sent.
    fn tell(&mut self, told: &BTreeSet<MonitorId>, out: &mut dyn FnMut(Output<'_>)) {
        for id in told {
            let Some(monitor) = self.monitors.get_mut(id) else { continue };
            let read = monitor.constraint(&self.constraints).map_or(&[][..], Constraint::last_sent);
            for (element, watched) in &mut monitor.watched {
                let table = &self.tables[element.index()];
                let columns = read.iter().map(|column| table.columns[*column as usize].clone());
                watched.last_sent = if table.len() == 0 { Vec::new() } else { columns.collect() };
                if monitor.paced.is_some() {
                    watched.standing.owe_all();
                } else if table.len() > 0 {
                    monitor.counts.sent += table.len() as u64;
                    let all = Parcel::of_all(&monitor.columns, table);
                    all.tell(*id, *element, self.texts.all(), out);
                }
            }
        }
    }

    /// Makes everything that the definition needs. `code` is the definition that the converters are written in, and
    /// `known` are the programs of the definition if they were made before.
    fn prepare(
        &mut self,
        to: Arc<Universe>,
        (conversion, correspondence): (&Conversion, &Correspondence),
        code: &Universe,
        known: Option<Programs>,
    ) -> Result<Prepared, RedefineError> {
        if !conversion.missing.is_empty() {
            return Err(RedefineError::Missing(conversion.missing.clone()));
        }
        for id in &conversion.ended {
            let count = self.tables[id.index()].len();
            if count > 0 {
                let element = self.universe.elements[id.index()].name.clone();
                return Err(RedefineError::Entities { element, count });
            }
        }
        if let Some(module) = self.modules.iter().find(|module| !module.fits(&to)) {
            return Err(RedefineError::Module { element: module.text.element.clone() });
        }
        let (updates, constraints) = match known {
            Some(known) => known,
            None => programs(&to, &mut self.texts)?,
        };
        let (mut tables, mut kept) = (Vec::new(), Kept::default());
        let shapes = conversion.elements.iter().zip(&correspondence.elements);
        for (id, (origin, shape)) in (0..).map(ElementId).zip(shapes) {
            let table = match (origin, &shape.shared) {
                (Some(origin), Some(shared)) => {
                    kept.elements.insert(origin.element, id);
                    self.converted((&to, id), (origin, shape, shared), code, &mut kept)?
                }
                _ => Table::new(&shape.types, self.room.as_ref()),
            };
            tables.push(table);
        }
        let past = Past::new(&to, &updates);
        let (mut monitors, mut ended) = (BTreeMap::new(), Vec::new());
        // Most monitors of an element watch the same properties by the same constraint.
        let mut continuations = BTreeMap::new();
        for (id, monitor) in &self.monitors {
            let view = monitor.interest.view();
            let continuation = continuations.entry(view).or_insert_with(|| {
                self.continuation(monitor, &to, (conversion, correspondence), &constraints)
            });
            match continuation {
                None => ended.push((*id, monitor.counts)),
                Some(continuation) => {
                    monitors.insert(*id, continuation.of(monitor));
                    kept.told.extend((!continuation.is_same).then_some(*id));
                }
            }
        }
        let parts = Parts { universe: to, updates, constraints, tables, past, monitors };
        Ok(Prepared { parts, ended, kept })
    }

    /// The table of an element for the rows of its origin. Its ids, strikes and kept columns are empty: they move when
    /// the definitions change places.
    fn converted(
        &mut self,
        (to, id): (&Universe, ElementId),
        (origin, shape, shared): (&Origin, &Shape, &Shared),
        code: &Universe,
        kept: &mut Kept,
    ) -> Result<Table, RedefineError> {
        let room = self.room.clone();
        let mut table = Table::new(&shape.types, room.as_ref());
        let count = self.tables[origin.element.index()].len();
        let properties = to.elements[id.index()].properties.iter().zip(&origin.properties);
        for ((at, (property, source)), first) in (0..).zip(properties).zip(&shape.starts) {
            match source {
                Source::Property(from) => {
                    let from = (origin.element, shared.starts[*from as usize]);
                    let sources = &shared.sources[at as usize];
                    self.carry(from, (id, *first), sources, &mut table, kept);
                }
                Source::Default => {
                    let scalars = scalars_of(to, &property.ty, &property.default, &mut self.texts);
                    let columns = table.columns[*first as usize..].iter_mut();
                    for (column, scalar) in columns.zip(scalars) {
                        *column = Column::filled(scalar, count, room.as_ref());
                    }
                }
                Source::Converter(converter) => {
                    let own = || shared.starts.clone();
                    let compiled = shared.converters.get(&at).cloned().unwrap_or_else(|| {
                        let to = (*first, &property.ty);
                        compile_converter(code, converter, own(), to, &mut self.texts)
                    });
                    let program = compiled.map_err(WorldError::Code)?;
                    let name = || format!("{}.{}", to.elements[id.index()].name, property.name);
                    self.convert(&program, origin.element, &mut table.columns, &name)?;
                }
                Source::Missing => unreachable!("a conversion without a value is refused"),
            }
        }
        Ok(table)
    }

    /// The columns of a property that keeps its values. A column moves unless it gets another type, or moves already.
    fn carry(
        &self,
        (from, start): (ElementId, u32),
        (id, first): (ElementId, u32),
        sources: &[ScalarSource],
        table: &mut Table,
        kept: &mut Kept,
    ) {
        let own = &self.tables[from.index()];
        for (at, source) in (first..).zip(sources) {
            let column = &mut table.columns[at as usize];
            let ScalarSource::Scalar(number) = source else {
                *column = Column::filled(Scalar::zero(column.ty()), own.len(), self.room.as_ref());
                continue;
            };
            let former = &own.columns[(start + *number) as usize];
            match kept.columns.entry((from, start + *number)) {
                Entry::Vacant(entry) if former.ty() == column.ty() => drop(entry.insert((id, at))),
                _ => {
                    *column = former.widened(column.ty());
                    self.room.iter().for_each(|room| column.move_to(room));
                }
            }
        }
    }

    /// Runs a converter over the rows of a table, from which it fills columns of another one.
    fn convert(
        &mut self,
        program: &Program,
        from: ElementId,
        to: &mut [Column],
        property: &dyn Fn() -> String,
    ) -> Result<(), RedefineError> {
        let (table, machine) = (&self.tables[from.index()], &mut self.crew.first().machine);
        for output in &program.outputs {
            let column = output.column.expect("a converter gives columns");
            to[column as usize] =
                Column::filled(Scalar::zero(output.ty), table.len(), self.room.as_ref());
        }
        let mut faults = BTreeMap::new();
        for start in (0..table.len()).step_by(BLOCK_ROWS) {
            let block = Block {
                own: &table.columns,
                start,
                count: BLOCK_ROWS.min(table.len() - start),
                arguments: &[],
                apart: &[],
                last_sent: &[],
                neighbours: None,
                element: from,
            };
            machine.run(program, &block);
            machine.store(program, &[], to);
            let rows = (0..block.count).filter_map(|row| Some((row, machine.fault(row)?)));
            faults.extend(rows.map(|(row, fault)| (table.ids[start + row], fault)));
        }
        // The first one by its number, whatever the order of rows is.
        let Some((entity, fault)) = faults.pop_first() else { return Ok(()) };
        let (property, entity) = (property(), self.name(entity));
        Err(RedefineError::NoValue { property, entity, fault, others: faults.len() })
    }

    /// How a monitor goes on under another definition; `None` if the definition does not have what it watches.
    fn continuation(
        &self,
        monitor: &Monitor,
        to: &Universe,
        (conversion, correspondence): (&Conversion, &Correspondence),
        constraints: &BTreeMap<FunctionId, Constraint>,
    ) -> Option<Continuation> {
        let comes_from = |origin: &Option<Origin>, id| {
            origin.as_ref().is_some_and(|origin| origin.element == id)
        };
        let old = monitor.interest.element;
        let base = conversion.elements.iter().position(|origin| comes_from(origin, old))?;
        let element = ElementId(base as u32);
        let watches = |id| to.is_a(id, element);
        let ids = (0..).map(ElementId).zip(&conversion.elements);
        let same_tables = ids.clone().all(|(id, origin)| {
            origin
                .as_ref()
                .is_none_or(|origin| monitor.watched.contains_key(&origin.element) == watches(id))
        });
        if !same_tables {
            return None;
        }
        let shape = &correspondence.elements[base];
        let shared = shape.shared.as_ref()?;
        let properties = monitor.interest.properties.iter();
        let properties = properties.map(|at| shared.property(*at)).collect::<Option<Vec<u32>>>()?;
        let constraint = match &monitor.interest.constraint {
            None => None,
            Some((id, _)) => Some(shared.constraint(*id)?),
        };
        let after = constraint.as_ref().map(|id| &constraints[id]);
        let known = read(monitor.constraint(&self.constraints), &shared.starts);
        let read = read(after, &shape.starts);
        let mut is_same = known.len() == read.len();
        let sent = monitor.interest.properties.iter().zip(&properties);
        let sent = sent.map(|(old, new)| ((*old, 0), (*new, 0)));
        let pairs: Vec<_> = sent.chain(known.into_iter().zip(read)).collect();
        let mut watched = Vec::new();
        for (id, _) in ids.filter(|(id, _)| watches(*id)) {
            let shared = &correspondence.elements[id.index()].shared;
            is_same &= shared.as_ref().is_none_or(|shared| {
                let stays =
                    |(old, new): &(Place, Place)| old.1 == new.1 && shared.stays(old.0, new.0);
                pairs.iter().all(stays)
            });
            watched.push(id);
        }
        let columns = properties.iter().flat_map(|at| shape.columns(*at)).collect();
        Some(Continuation { element, properties, constraint, columns, watched, is_same })
    }
}

/// How the monitors of some properties of an element go on under another definition.
struct Continuation {
    element: ElementId,
    properties: Vec<u32>,
    constraint: Option<FunctionId>,
    /// The columns that they are sent.
    columns: Vec<u32>,
    /// The elements that they watch.
    watched: Vec<ElementId>,
    /// Whether they go on with the rows that they were sent.
    is_same: bool,
}

impl Continuation {
    /// A monitor under the other definition. Arguments and the rows last sent move when the definitions change places.
    fn of(&self, monitor: &Monitor) -> Monitor {
        let interest = Interest {
            element: self.element,
            properties: self.properties.clone(),
            constraint: self.constraint.map(|id| (id, Vec::new())),
            effect: monitor.interest.effect.clone(),
        };
        let watched = self.watched.iter().map(|id| (*id, Watched::default())).collect();
        let (columns, counts) = (self.columns.clone(), monitor.counts);
        Monitor { interest, columns, arguments: Vec::new(), counts, watched, paced: None }
    }
}

/// The places of the rows last sent that a constraint reads, in an element whose properties start at these columns.
fn read(constraint: Option<&Constraint>, starts: &[u32]) -> Vec<Place> {
    let columns = constraint.map_or(&[][..], Constraint::last_sent);
    let place = |column: &u32| {
        let property = starts.partition_point(|start| start <= column) - 1;
        (property as u32, column - starts[property])
    };
    columns.iter().map(place).collect()
}

/// A property, and a scalar of it.
type Place = (u32, u32);

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of a definition is made beside the steps, unless it has texts.
    #[test]
    fn only_a_definition_with_texts_is_compiled_between_two_steps() {
        let text = |update: &str| {
            let properties = "property n : integer; property s : string;";
            let text =
                format!("universe u {{ element e {{ {properties} update() {{ {update} }} }} }}");
            Sources::of("u.uml", text).unwrap()
        };
        let before = check(&text("n = 1;"), None).unwrap().universes.remove(0);
        let before = Arc::new(before);
        let has_texts = |update: &str| Revision::check(&text(update), &before).unwrap().has_texts;
        assert!(!has_texts("n = 2;"));
        assert!(!has_texts("s = \"\";"), "the empty text has its number in every world");
        assert!(has_texts("s = \"x\";"));
    }
}
