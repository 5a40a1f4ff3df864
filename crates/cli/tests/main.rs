//! The command as people use it: real scenarios, real processes, real signals.

#![expect(clippy::print_stdout, reason = "skipped tests say so")]

mod analyze;
mod asked;
mod attached;
mod authority;
mod bad_input;
mod campaign;
mod checkpoint;
mod cleanup;
mod command;
mod compare;
mod deadline;
mod ends;
mod federation;
mod fom;
mod generate;
mod host;
mod hostile;
mod kernel;
mod ladder;
mod linear;
mod link;
mod living;
mod machine;
mod managers;
mod marks;
mod measure;
mod mixed;
mod model;
mod privileges;
mod recorder;
mod results;
mod rti;
#[cfg(feature = "sandbox")]
mod sandboxed;
#[cfg(feature = "sandbox")]
mod sandboxed_modules;
#[cfg(feature = "sandbox")]
mod sandboxed_worlds;
mod scenario;
mod schema;
mod set_user_id;
mod small_disk;
mod synthetic;
mod together;
mod trace;
mod two_hosts;
mod units;
mod universe;
mod universe_suite;
mod universe_view;
mod view;
mod view_agrees;
mod zip;
