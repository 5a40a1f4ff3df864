//! Object models of the High Level Architecture: modules of both editions read, checked, and merged
//! into one [`Model`].
//!
//! In reading order:
//!
//! * [`read`]: bytes of XML or of a ZIP archive in, [`Module`]s or every [`Problem`] out. [`open`] does so for what
//!   a federate sends.
//! * [`module`]: a module as it is written, every table of the template (IEEE 1516.2), with its places.
//! * [`merge`]: modules upon the standard management module, in any order, to a [`Model`], or every [`Problem`].
//!   [`unite`] gives a model in any case, for looking at it.
//! * [`Model`]: classes, attributes, parameters and dimensions in tables by handle, and all by name.
//! * [`render`]: problems as text, with source lines and carets; [`exception`]: what a federate gets for them.
//! * [`tree`]: a model as people look at it.
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
//! This crate opens no file and follows no address: it is given bytes. What bounds them is in [`limits`].

#![forbid(unsafe_code)]

mod archive;
mod check;
pub mod fuzzing;
pub mod limits;
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

pub use merge::{Base, merge, unite};
pub use mim::{STANDARD_MIM, standard_mim_text};
pub use model::Model;
pub use module::{Edition, Module};
pub use problem::{Kind, Place, Problem, Source, Span, exception, exception_of_mim, render};
pub use read::{Modules, open, read};
pub use word::{Capability, Endian, Ownership, Sharing, TAGS, UpdateType};
