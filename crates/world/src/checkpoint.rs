//! A world between two steps as bytes, from which its run goes on with the same bits.
//!
//! ```text
//! HEMIWRLD · version · length of the content · checksum of the content
//! content: run · births · texts · names · tables · monitors · modules
//! run:     definitions, each as its texts · names of monitors · seconds · ended monitors · counts · first fault
//! table:   element · rows · ids · strikes · columns
//! monitor: id · interest · counts · for each table: columns as they were last sent
//! module:  text · digest of its file · deadline · counts · eviction · last verdict
//! ```
//!
//! Numbers have fixed lengths, least significant byte first. Code is not written: the texts of the definitions are, and
//! reading checks and compiles them again. Elements, properties and constraints stand by their numbers in these texts.

mod codec;
mod timetable;

use std::sync::Arc;

use hemiola_units::Span;
use hemiola_world_code::{
    Constraint, Scalar, ScalarType, Texts, list_counts, scalar_types, scalars_of, value_of,
};
use hemiola_world_lang::definition::{ElementId, FunctionId, Type, Universe, Value};
use hemiola_world_lang::{Sources, check};
use thiserror::Error;

use crate::birth::{Births, Draw, Effect};
use crate::module::{Module, ModuleStatus, ModuleText};
use crate::monitor::{Interest, Monitor, MonitorCounts, MonitorId, Watched};
use crate::redefine::{Ended, Revision};
use crate::step::StepReport;
use crate::world::{ENTITIES_MAX, EntityId, MONITORS_MAX, World, WorldError};
use codec::{Reader, Writer, seal};
pub use timetable::Timetable;

/// The version of the format. A program reads only its own.
const VERSION: u32 = 2;

/// Counts and numbers of a sound checkpoint stay below this, so that a run cannot exceed 64 bits.
const COUNT_MAX: u64 = 1 << 60;

/// What a run keeps besides its world.
#[derive(Clone, Debug, Default)]
pub struct RunSoFar {
    /// The texts of the definitions that led to the present one, which is the last.
    pub definitions: Vec<Arc<Sources>>,
    /// The names of the monitors, in the order of their numbers.
    pub names: Vec<String>,
    /// The length of a step.
    pub seconds: f64,
    /// Monitors that ended.
    pub ended: Ended,
    /// Births.
    pub births: u64,
    /// Births for which there was no room.
    pub unborn: u64,
    /// Deaths.
    pub deaths: u64,
    /// Updates that had a fault.
    pub faults: u64,
    /// The first of them, in words.
    pub first_fault: Option<String>,
}

impl RunSoFar {
    /// Adds the counts of a step.
    pub const fn count(&mut self, report: &StepReport) {
        self.births += report.births;
        self.unborn += report.unborn;
        self.deaths += report.deaths;
        self.faults += report.faults;
    }
}

/// A world between two steps and its run, apart from the world: another thread can make a checkpoint of it while the
/// world goes on. Its memory is used again by the next image.
#[derive(Debug, Default)]
pub struct Image(Vec<u8>);

impl Image {
    /// The checkpoint, see [`World::checkpoint`]. It is empty if no image was taken.
    pub fn checkpoint(&mut self) -> &[u8] {
        if !self.0.is_empty() {
            seal(&mut self.0);
        }
        &self.0
    }
}

/// Why bytes are no checkpoint from which a run can go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// They are something else.
    #[error("it is no checkpoint of a universe")]
    Foreign,
    /// They have another format.
    #[error("its format has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// They end early, or go on behind the end.
    #[error(
        "it has {found} bytes of content, and {stated} belong to it; it is incomplete or damaged"
    )]
    Length {
        /// The bytes that are there.
        found: u64,
        /// The bytes that the header states.
        stated: u64,
    },
    /// They have changed since they were written.
    #[error("its checksum is wrong; it is damaged")]
    Checksum,
    /// They contradict themselves, although the checksum is right.
    #[error("it contradicts itself: {0}")]
    Content(&'static str),
    /// The texts are no definitions that follow each other.
    #[error("its definition {number} is not sound: {reason}")]
    Definition {
        /// Which one, from 1.
        number: usize,
        /// The reason.
        reason: String,
    },
    /// The definition cannot run.
    #[error(transparent)]
    World(#[from] WorldError),
}

type Read<T> = Result<T, CheckpointError>;

const fn sound(holds: bool, or: &'static str) -> Read<()> {
    if holds { Ok(()) } else { Err(CheckpointError::Content(or)) }
}

impl World {
    /// The world between two steps and its run as bytes. The same state gives the same bytes.
    ///
    /// # Panics
    /// If accepted changes still wait to be carried out: call [`Self::apply`] first.
    #[must_use]
    pub fn checkpoint(&self, run: &RunSoFar) -> Vec<u8> {
        let mut image = Image::default();
        self.take_image(run, &mut image);
        image.checkpoint();
        image.0
    }

    /// Takes an image, from which [`Image::checkpoint`] makes the checkpoint of this moment. This copies the columns
    /// once and leaves the checksum to the image, because the next step waits for it.
    ///
    /// # Panics
    /// As [`Self::checkpoint`] does.
    pub fn take_image(&self, run: &RunSoFar, image: &mut Image) {
        assert!(self.changes.is_empty(), "a checkpoint has no changes that wait");
        let mut writer = Writer::new(VERSION, std::mem::take(&mut image.0));
        write_run(&mut writer, run);
        writer.number(self.births.seed);
        writer.number(self.births.entities_max as u64);
        writer.number(self.steps);
        writer.number(self.next_id);
        writer.list(self.texts.all(), |writer, text| writer.text(text));
        writer.list(&self.names, |writer, name| writer.text(name));
        self.write_tables(&mut writer);
        // Those of managers end with the process.
        let monitors = self.monitors.iter().filter(|(_, monitor)| monitor.paced.is_none());
        writer.number(monitors.clone().count() as u64);
        for (id, monitor) in monitors {
            writer.number(u64::from(id.0));
            self.write_monitor(&mut writer, monitor);
        }
        writer.list(&self.modules, write_module);
        image.0 = writer.into_bytes();
    }

    fn write_tables(&self, writer: &mut Writer) {
        writer.number(self.tables.len() as u64);
        for (element, table) in self.universe.elements.iter().zip(&self.tables) {
            writer.text(&element.name);
            writer.number(table.len() as u64);
            writer.numbers(table.ids.iter().map(|id| id.0));
            writer.shorts(&table.strikes);
            table.columns.iter().for_each(|column| writer.column(column));
        }
    }

    fn write_monitor(&self, writer: &mut Writer, monitor: &Monitor) {
        let Interest { element, properties, constraint, effect } = &monitor.interest;
        writer.short(element.0);
        writer.list(properties, |writer, property| writer.short(*property));
        writer.flag(constraint.is_some());
        if let Some((function, _)) = constraint {
            let mut all = self.universe.elements[element.index()].constraints.iter();
            let at = all.position(|id| id == function).expect("the element has its constraints");
            writer.short(at as u32);
            monitor.arguments.iter().for_each(|scalar| writer.scalar(*scalar));
        }
        match effect {
            Effect::None => writer.byte(0),
            Effect::Birth(draws) => {
                writer.byte(1);
                for (draw, property) in draws.iter().zip(properties) {
                    let ty =
                        &self.universe.elements[element.index()].properties[*property as usize].ty;
                    writer.flag(draw.is_added);
                    self.write_value(writer, ty, &draw.low);
                    self.write_value(writer, ty, &draw.high);
                }
            }
            Effect::Death => writer.byte(2),
        }
        write_counts(writer, &monitor.counts);
        for watched in monitor.watched.values() {
            writer.list(&watched.last_sent, Writer::column);
        }
    }

    fn write_value(&self, writer: &mut Writer, ty: &Type, value: &Value) {
        // A monitor that was accepted has its texts in the world already, but for draws.
        let mut texts = Texts::default();
        for scalar in scalars_of(&self.universe, ty, value, &mut texts) {
            match scalar {
                Scalar::Text(number) => writer.text(texts.text(number)),
                scalar => writer.scalar(scalar),
            }
        }
    }

    /// The world and its run, from [`Self::checkpoint`]. Its functions are interpreted until [`Self::compile`] is
    /// called.
    ///
    /// # Errors
    /// If the bytes are no sound checkpoint; see [`CheckpointError`].
    pub fn resume(bytes: &[u8]) -> Result<(Self, RunSoFar), CheckpointError> {
        let mut reader = Reader::of(bytes, VERSION)?;
        let run = read_run(&mut reader)?;
        let (seed, entities_max) = (reader.number()?, reader.below(ENTITIES_MAX as u64 + 1)?);
        let births = Births { seed, entities_max: entities_max as usize };
        let (steps, next_id) = (reader.below(COUNT_MAX)?, reader.below(COUNT_MAX)?);
        let texts = Texts::of(reader.list(8, Reader::text)?);
        let texts = texts.ok_or(CheckpointError::Content("two of its texts are equal"))?;
        reader.texts_count = texts.all().len() as u64;
        let names = reader.list(8, Reader::text)?;
        let mut world = Self::empty(universe(&run.definitions)?, texts)?;
        (world.births, world.steps, world.next_id, world.names) = (births, steps, next_id, names);
        world.read_tables(&mut reader)?;
        let monitors = reader.below(MONITORS_MAX as u64 + 1)?;
        for _ in 0..monitors {
            let id = MonitorId(reader.below(1 << 32)? as u32);
            let monitor = world.read_monitor(&mut reader, id)?;
            world.monitors.insert(id, monitor);
        }
        world.note_collected();
        world.read_modules(&mut reader)?;
        reader.finish()?;
        Ok((world, run))
    }

    fn read_tables(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        sound(
            reader.number()? == self.tables.len() as u64,
            "it has other elements than its texts",
        )?;
        let universe = Arc::clone(&self.universe);
        for (element, data) in (0..).map(ElementId).zip(&universe.elements) {
            sound(reader.text()? == data.name, "it has other elements than its texts")?;
            let rows = reader.len(8)?;
            let types = scalar_types(&universe, &Type::Element(element));
            let limits = limits(&universe, &Type::Element(element), types.len());
            let table = &mut self.tables[element.index()];
            for row in 0..rows {
                let id = EntityId(reader.number()?);
                sound((1..self.next_id).contains(&id.0), "an entity has an impossible number")?;
                let is_new = self.places.insert(id, (element, row)).is_none();
                sound(is_new, "two entities have the same number")?;
                table.ids.push(id);
            }
            table.strikes = (0..rows).map(|_| reader.short()).collect::<Read<_>>()?;
            let columns = types.into_iter().zip(limits);
            let columns = columns.map(|(ty, limit)| reader.column(ty, rows, limit));
            table.columns = columns.collect::<Read<_>>()?;
        }
        self.entities_to_come = self.places.len();
        sound(self.places.len() <= ENTITIES_MAX, "it has too many entities")
    }

    fn read_modules(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        let count = reader.len(8)?;
        for _ in 0..count {
            let (module, status) = read_module(reader, &self.universe)?;
            let is_second = self.modules().any(|other| other.element == status.element);
            sound(!is_second, "two modules compute the same element")?;
            self.modules.push(module);
            self.modules.last_mut().expect("it was added").resume(status);
        }
        Ok(())
    }

    fn read_monitor(&mut self, reader: &mut Reader<'_>, id: MonitorId) -> Read<Monitor> {
        let universe = Arc::clone(&self.universe);
        let element = ElementId(reader.short()?);
        let data = universe.elements.get(element.index());
        let data = data.ok_or(CheckpointError::Content("a monitor watches no element"))?;
        let properties = reader.list(4, Reader::short)?;
        let constraint = match reader.flag()? {
            true => {
                let function = data.constraints.get(reader.short()? as usize).copied();
                let function =
                    function.ok_or(CheckpointError::Content("a constraint is missing"))?;
                Some((function, self.read_arguments(reader, function)?))
            }
            false => None,
        };
        let effect = match reader.byte()? {
            0 => Effect::None,
            1 => {
                let stated = properties.iter().map(|at| data.properties.get(*at as usize));
                let types = stated.map(|property| property.map(|property| &property.ty));
                let draws = types.map(|ty| read_draw(reader, &universe, ty));
                Effect::Birth(draws.collect::<Read<_>>()?)
            }
            2 => Effect::Death,
            _ => return Err(CheckpointError::Content("a monitor has an unknown effect")),
        };
        let interest = Interest { element, properties, constraint, effect };
        let monitor = self.accept_monitor(id, interest);
        let mut monitor =
            monitor.map_err(|_| CheckpointError::Content("a monitor is not possible"))?;
        monitor.counts = read_counts(reader)?;
        let read = monitor.constraint(&self.constraints).map_or(&[][..], Constraint::last_sent);
        for (element, watched) in &mut monitor.watched {
            self.read_watched(reader, *element, read, watched)?;
        }
        Ok(monitor)
    }

    /// The arguments of a constraint. Their texts are numbers of the texts of the world.
    fn read_arguments(&self, reader: &mut Reader<'_>, function: FunctionId) -> Read<Vec<Value>> {
        let function = &self.universe.functions[function.index()];
        let parameters = &function.locals[..function.parameter_count as usize];
        let mut argument = |ty: &Type| {
            let types = scalar_types(&self.universe, ty);
            let limits = limits(&self.universe, ty, types.len());
            let scalars = types.into_iter().zip(limits);
            let scalars =
                scalars.map(|(ty, limit)| reader.scalar(ty, limit)).collect::<Read<Vec<_>>>();
            Ok(value_of(&self.universe, ty, &mut scalars?.into_iter(), &self.texts))
        };
        parameters.iter().map(|parameter| &parameter.ty).map(&mut argument).collect()
    }

    fn read_watched(
        &self,
        reader: &mut Reader<'_>,
        element: ElementId,
        read: &[u32],
        watched: &mut Watched,
    ) -> Read<()> {
        let rows = self.tables[element.index()].len();
        let columns = reader.below(read.len() as u64 + 1)? as usize;
        let is_whole = columns == read.len() || (columns == 0 && rows == 0);
        sound(is_whole, "a monitor does not know what it was last sent")?;
        let types = scalar_types(&self.universe, &Type::Element(element));
        let limits = limits(&self.universe, &Type::Element(element), types.len());
        let mut column = |at: &u32| reader.column(types[*at as usize], rows, limits[*at as usize]);
        watched.last_sent = read[..columns].iter().map(&mut column).collect::<Read<_>>()?;
        Ok(())
    }
}

/// The greatest value of each scalar that counts the items of a list.
fn limits(universe: &Universe, ty: &Type, scalars: usize) -> Vec<Option<u32>> {
    let mut limits = vec![None; scalars];
    for (at, most) in list_counts(universe, ty) {
        limits[at as usize] = Some(most);
    }
    limits
}

fn read_draw(reader: &mut Reader<'_>, universe: &Universe, ty: Option<&Type>) -> Read<Draw> {
    let ty = ty.ok_or(CheckpointError::Content("a property is missing"))?;
    let is_added = reader.flag()?;
    let (low, high) = (read_value(reader, universe, ty)?, read_value(reader, universe, ty)?);
    Ok(Draw { low, high, is_added })
}

/// A value whose texts stand in it, see [`World::write_value`].
fn read_value(reader: &mut Reader<'_>, universe: &Universe, ty: &Type) -> Read<Value> {
    let types = scalar_types(universe, ty);
    let limits = limits(universe, ty, types.len());
    let (mut texts, mut scalars) = (Texts::default(), Vec::new());
    for (ty, limit) in types.into_iter().zip(limits) {
        scalars.push(match ty {
            ScalarType::Text => Scalar::Text(texts.number(&reader.text()?)),
            ty => reader.scalar(ty, limit)?,
        });
    }
    Ok(value_of(universe, ty, &mut scalars.into_iter(), &texts))
}

/// The last one of definitions that follow each other.
fn universe(definitions: &[Arc<Sources>]) -> Read<Arc<Universe>> {
    let wrong = |number, reason| CheckpointError::Definition { number, reason };
    let (first, others) =
        definitions.split_first().ok_or(CheckpointError::Content("it has no definition"))?;
    let problems = |problems: Vec<hemiola_world_lang::Problem>| {
        problems.first().map_or_else(String::new, |problem| problem.message.clone())
    };
    let universes = check(first, None).map_err(|found| wrong(1, problems(found)))?.universes;
    let [universe] = <[Universe; 1]>::try_from(universes)
        .map_err(|_| wrong(1, "it is not one universe".to_owned()))?;
    let mut universe = Arc::new(universe);
    for (number, sources) in (2..).zip(others) {
        let revision = Revision::check(sources, &universe);
        let revision = revision.map_err(|error| wrong(number, error.to_string()))?;
        universe = Arc::clone(revision.after());
    }
    Ok(universe)
}

fn write_run(writer: &mut Writer, run: &RunSoFar) {
    writer.list(&run.definitions, |writer, sources| {
        writer.list(sources.files(), |writer, file| {
            writer.text(&file.name);
            writer.text(&file.text);
        });
    });
    writer.list(&run.names, |writer, name| writer.text(name));
    writer.number(run.seconds.to_bits());
    writer.list(&run.ended, |writer, (id, counts)| {
        writer.short(id.0);
        write_counts(writer, counts);
    });
    [run.births, run.unborn, run.deaths, run.faults].iter().for_each(|one| writer.number(*one));
    writer.flag(run.first_fault.is_some());
    run.first_fault.iter().for_each(|text| writer.text(text));
}

fn read_run(reader: &mut Reader<'_>) -> Read<RunSoFar> {
    let definitions = reader.list(8, |reader| {
        let mut sources = Sources::default();
        for (name, text) in reader.list(16, |reader| Ok((reader.text()?, reader.text()?)))? {
            let added = sources.add(name, text);
            added.map_err(|_| CheckpointError::Content("a definition is too long"))?;
        }
        Ok(Arc::new(sources))
    })?;
    let names = reader.list(8, Reader::text)?;
    let seconds = f64::from_bits(reader.number()?);
    sound(seconds.is_finite() && seconds > 0.0, "the length of a step is impossible")?;
    let ended = |reader: &mut Reader<'_>| Ok((MonitorId(reader.short()?), read_counts(reader)?));
    let ended = reader.list(36, ended)?;
    let [births, unborn, deaths, faults] = read_four(reader)?;
    let first_fault = if reader.flag()? { Some(reader.text()?) } else { None };
    Ok(RunSoFar { definitions, names, seconds, ended, births, unborn, deaths, faults, first_fault })
}

fn write_module(writer: &mut Writer, module: &Module) {
    let Module { text, digest, deadline, status, .. } = module;
    let ModuleStatus { blocks, kept, restarts, strikes, evicted, last, fuel, .. } = status;
    writer.text(&text.text);
    writer.number(*digest);
    writer.number(deadline.nanos() as u64);
    [blocks, kept, restarts, fuel].iter().for_each(|count| writer.number(**count));
    writer.short(*strikes);
    writer.flag(evicted.is_some());
    evicted.iter().for_each(|step| writer.number(*step));
    writer.flag(last.is_some());
    last.iter().for_each(|text| writer.text(text));
}

/// A module without code, and its counts.
fn read_module(reader: &mut Reader<'_>, universe: &Universe) -> Read<(Module, ModuleStatus)> {
    let wrong = CheckpointError::Content("a module is not possible");
    let text = ModuleText::read(&reader.text()?).map_err(|_| wrong.clone())?;
    let (digest, deadline) = (reader.number()?, reader.below(COUNT_MAX)?);
    let deadline = Span::from_nanos(deadline as i64);
    let [blocks, kept, restarts, fuel] = read_four(reader)?;
    let strikes = reader.short()?;
    let evicted = if reader.flag()? { Some(reader.below(COUNT_MAX)?) } else { None };
    let last = if reader.flag()? { Some(reader.text()?) } else { None };
    let module = Module::new(universe, text, digest, deadline).map_err(|_| wrong)?;
    let (text, element) = (module.text.text.clone(), module.text.element.clone());
    let status =
        ModuleStatus { text, element, blocks, kept, restarts, strikes, evicted, last, fuel };
    Ok((module, status))
}

fn write_counts(writer: &mut Writer, counts: &MonitorCounts) {
    let MonitorCounts { sent, outside, unchanged, faults, held: _ } = counts;
    [sent, outside, unchanged, faults].iter().for_each(|count| writer.number(**count));
}

fn read_counts(reader: &mut Reader<'_>) -> Read<MonitorCounts> {
    let [sent, outside, unchanged, faults] = read_four(reader)?;
    Ok(MonitorCounts { sent, outside, unchanged, faults, held: 0 })
}

fn read_four(reader: &mut Reader<'_>) -> Read<[u64; 4]> {
    let mut four = [0; 4];
    for count in &mut four {
        *count = reader.below(COUNT_MAX)?;
    }
    Ok(four)
}
