//! The language of worlds: a text becomes a checked definition of universes, elements and their functions.
//!
//! In reading order:
//!
//! * [`Sources`] and [`Span`]: the texts, and places in them.
//! * [`check()`]: texts to a [`Definition`], or every [`Problem`]; [`render`]: problems as text, with carets.
//! * [`definition`]: the checked form: names are numbers, types are known, units are SI, every function has a bound.
//! * [`evaluate`]: what a definition means, row by row; the oracle of faster engines.
//! * [`format()`]: a text in canonical form. [`parse()`] and [`syntax`]: its tree, for editors.
//! * [`show()`]: a definition as text for people. [`wire`]: a definition for the network.
//!
//! ```
//! use hemiola_world_lang::{Sources, Value, check, evaluate};
//!
//! let text = "universe orbit {
//!   element body {
//!     property position : real<m>[2];
//!     property velocity : real<m/s>[2] = [3<km/h>, 0];
//!     update(dt : real<s>) { position += velocity * dt; }
//!   }
//! }";
//! let definition = check(&Sources::of("orbit.uml", text).unwrap(), None).unwrap();
//! let orbit = &definition.universes[0];
//! let body = orbit.element_named("body").unwrap();
//! let row = Value::Row(orbit.elements[body.index()].properties.iter().map(|p| p.default.clone()).collect());
//! let bodies = [evaluate::Body { id: 1, element: body, row }];
//! let update = orbit.elements[body.index()].update.unwrap();
//! let after = evaluate::update(orbit, update, &bodies, 0, vec![Value::Double(3.6)]).unwrap();
//! let Value::Row(properties) = after else { unreachable!() };
//! assert_eq!(properties[0], Value::Items(vec![Value::Double(3.0), Value::Double(0.0)]));
//! ```
//!
//! This crate opens no file and reads no clock. [`limits`] bounds what a text can consume; the time for a text grows in
//! proportion to its length.

#![forbid(unsafe_code)]

mod check;
mod cost;
pub mod definition;
pub mod evaluate;
mod format;
pub mod fuzzing;
mod lex;
pub mod limits;
mod parse;
mod problem;
mod show;
mod source;
pub mod syntax;
mod token;
mod value;
pub mod wire;

pub use check::check;
pub use definition::Definition;
pub use format::format;
pub use parse::parse;
pub use problem::{Problem, render};
pub use show::{function_text, show, value_text};
pub use source::{Position, Source, Sources, Span, TooLong};
pub use token::{Keyword, Sign, Token, TokenKind};
pub use value::Value;
