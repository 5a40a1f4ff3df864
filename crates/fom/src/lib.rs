//! Object models of the High Level Architecture: reads modules of both editions, checks them, and merges them into one
//! [`Model`].
//!
//! In reading order:
//!
//! * [`read`]: turns the bytes of an XML file or a ZIP archive into [`Module`]s, or returns every [`Problem`]. [`open`]
//!   does the same for a module that a federate sends.
//! * [`module`]: one module as written: every table of the template (IEEE 1516.2), with the place of each entry.
//! * [`merge`]: merges modules and the standard management module, in any order, into a [`Model`], or returns every
//!   [`Problem`]. [`merge_partial`] tolerates undefined names; [`merge_with_problems`] returns a model in any case, for
//!   inspection.
//! * [`Model`]: classes, attributes, parameters and dimensions in tables by handle, and everything by name.
//! * [`render`]: problems as text, with source lines and carets. [`exception`]: the standard's exception for them.
//! * [`tree`]: a model as text for people.
//!
//! ```
//! use hemiola_fom::{merge, read, render};
//!
//! let xml = br#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
//!   <objects><objectClass><name>HLAobjectRoot</name>
//!     <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
//!       <attribute><name>Speed</name><dataType>HLAfloat64BE</dataType><order>TimeStamp</order></attribute>
//!     </objectClass>
//!   </objectClass></objects>
//! </objectModel>"#;
//! let (modules, _) = read("Car.xml", xml).unwrap();
//! let (model, _) = merge(&modules, None).unwrap();
//! let car = model.object_class_named("Car").unwrap();
//! assert_eq!(model.object_class(car).unwrap().name, "HLAobjectRoot.Car");
//! assert!(model.attribute_named(car, "Speed").is_some());
//! assert!(model.attribute_named(car, "HLAprivilegeToDeleteObject").is_some());
//!
//! let wrong = String::from_utf8_lossy(xml).replace("HLAfloat64BE", "HLAfloat64");
//! let (modules, _) = read("Car.xml", wrong.as_bytes()).unwrap();
//! let problems = merge(&modules, None).unwrap_err();
//! assert!(render(&problems).contains("Car.xml:4:46"));
//! ```
//!
//! This crate opens no file and follows no URL: the caller passes in bytes. [`limits`] bounds what a module can
//! consume. Reading and merging take time in proportion to the size of the modules.

#![forbid(unsafe_code)]

mod archive;
mod check;
mod fdd;
pub mod fuzzing;
pub mod limits;
mod memory;
mod merge;
mod mim;
pub mod model;
pub mod module;
mod parse;
mod problem;
mod read;
mod text;
pub mod tree;
mod word;

pub use archive::is_archive;
pub use fdd::fdd;
pub use memory::{memory_while_merging, memory_while_reading_max};
pub use merge::{Base, merge, merge_partial, merge_with_problems};
pub use mim::{STANDARD_MIM, standard_mim_text};
pub use model::Model;
pub use module::{Edition, Module};
pub use problem::{Place, Problem, ProblemKind, Source, Span, exception, exception_of_mim, render};
pub use read::{Known, MemoryMax, Modules, expanded_len, open, read};
pub use word::{Capability, Endian, Ownership, Sharing, TAGS, UpdateType};
