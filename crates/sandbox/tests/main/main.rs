//! The sandbox, on modules of a few lines of text.

mod call;
mod module;

use hemiola_sandbox::{Engine, IS_AVAILABLE, Instance, Limits, LoadError, Module};

/// Fuel of a call that is expected to return.
const PLENTY: u64 = 100_000;

/// Whether this build has the engine, as in the step "sandbox" of `cargo xtask ci`. Without it, modules are refused.
fn is_available() -> bool {
    if !IS_AVAILABLE {
        assert_eq!(Engine::new(Limits::default()).unwrap_err(), LoadError::NotBuilt);
    }
    IS_AVAILABLE
}

fn compile(source: &[u8]) -> Result<Module, LoadError> {
    Engine::new(Limits::default())?.compile(source, "unit.wat")
}

fn instance(text: &str) -> Instance {
    compile(text.as_bytes()).unwrap().instantiate(PLENTY).unwrap()
}
