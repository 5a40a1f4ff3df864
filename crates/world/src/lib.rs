//! The step of a simulated world, as a function of its inputs.
//!
//! In reading order:
//!
//! * [`World`]: the entities of a universe. [`World::submit`] takes a [`Change`], [`World::step`] makes a step.
//! * [`Output`]: what a step tells monitors and reports of entities, to a function of the caller; [`StepReport`]: its
//!   counts.
//! * [`Interest`]: what a monitor wants to be sent; [`Effect`]: births and deaths that follow from it.
//! * [`Revision`]: a checked definition that is to follow the present one. [`World::redefine`]: it takes the place of
//!   that one; [`Redefinition`]: the way back.
//! * [`Desk`] and [`History`]: a world that is redefined while it runs, on requests of users.
//! * [`Managers`]: processes that are told of rows, births and deaths as fast as each of them reads.
//!   [`World::attach_monitor`] and [`Room`]: their monitors.
//! * [`Slices`] and [`SliceRequest`]: a sample of the rows of a world that runs.
//! * [`Structure`]: what rows take, from their types alone. [`World::pack`] and [`World::unpack`]: the row of an entity
//!   as bytes.
//! * [`World::checkpoint`]: a world and its run as bytes, from which [`World::resume`] goes on; [`Image`]: what another
//!   thread makes them of.
//! * [`ModuleCode`]: code of a user that computes the update of an element; [`Interface`]: what it sees of the element.
//! * [`Setup`]: a world from texts, with populations and monitors as a command line states them.
//!
//! ```
//! use hemiola_world::{Change, World};
//! use hemiola_world_lang::{Sources, Value, check};
//!
//! let text = "universe orbit {
//!   element body {
//!     property position : real<m>;
//!     property velocity : real<m/s> = 2<m/s>;
//!     update(dt : real<s>) { position += velocity * dt; }
//!   }
//!   entity first : body;
//! }";
//! let mut definition = check(&Sources::of("orbit.uml", text).unwrap(), None).unwrap();
//! let mut world = World::new(definition.universes.remove(0)).unwrap();
//! let entity = world.entities().next().unwrap();
//! world.step(0.5, &mut |_| {}, &mut |_| {});
//! assert_eq!(world.row(entity), Some(Value::Row(vec![Value::Double(1.0), Value::Double(2.0)])));
//! ```
//!
//! A step has five phases ([`Phase`]). *Begin* keeps the columns that neighbours read and sorts positions into cells.
//! *Update* runs the update of every entity. *Filter* runs the constraints of the monitors. *Apply* carries out
//! births, deaths and the changes that were submitted. *Close* counts the step. An entity whose update has a fault
//! keeps its row and gets a strike.
//!
//! The result depends on the definition and the inputs alone. The order of rows in tables, which removals change, has
//! no influence on it. This crate opens no file and reads no clock: the caller is told when a phase ends.

#![forbid(unsafe_code)]

mod birth;
mod cells;
mod checkpoint;
mod code;
mod correspondence;
mod cost;
mod filter;
mod live;
mod managers;
mod message;
mod module;
mod monitor;
mod pack;
mod past;
mod redefine;
mod room;
mod sample;
mod setup;
mod step;
mod structure;
mod table;
mod workers;
mod world;

pub use birth::{BIRTHS_UP_TO, Draw, Effect};
pub use checkpoint::{CheckpointError, Image, RunSoFar, Timetable};
pub use code::{Code, Uncompiled};
pub use cost::{Cost, Rates};
pub use live::{
    CHANGES_MAX, ChangeError, Changed, Desk, Event, History, LISTED_MAX, LastChange, MonitorStatus,
    Order, Outcome, Reply, Request, Spent, Status, TEXTS_LEN_MAX, Turn, WAITING_MAX,
};
pub use managers::{
    COLUMNS_MAX, EndReason, EnlistError, Enlistment, Farewell, MANAGERS_MAX, MANAGERS_OF_RUN_MAX,
    ManageRequest, Managers, Outbox, QUEUE_LEN, QUEUE_LEN_MAX, QUEUES_LEN_MAX,
};
pub use message::{MESSAGE_VERSION, MessageFormat, MessageKind};
pub use module::{
    AttachError, Interface, InterfaceError, MODULE_BLOCK_MAX, ModuleCode, ModuleStatus, ModuleText,
    Next, RESTARTS_PER_STEP, Stop, Then, Verdict,
};
pub use monitor::{Interest, MonitorCounts, MonitorId};
pub use pack::{ByteOrder, PackError};
pub use redefine::{Ended, RedefineError, Redefinition, Return, Revision, RevisionError};
pub use room::{NEWS_MAX, Owed, Room};
pub use sample::{SCALARS_MAX, SampleError, Sampled, Slice, SliceRequest, Slices};
pub use setup::{Setup, SetupError, SetupPart, SetupTexts};
pub use step::{Output, Phase, StepReport};
pub use structure::{Memory, Structure};
pub use workers::{Run, Workers};
pub use world::{Change, ENTITIES_MAX, EntityId, MONITORS_MAX, Refused, World, WorldError};
