//! The interface without an engine: nothing can be created, so nothing can be called.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{Fault, Limits, LoadError, Numbers};

/// [`Numbers`] that the engine passes on.
pub trait Values: Numbers {}
impl<T: Numbers> Values for T {}

/// Compiles modules; this build has none.
#[derive(Clone, Debug)]
pub struct Engine(Infallible);

/// A compiled module; this build has none.
#[derive(Clone, Debug)]
pub struct Module(Infallible);

/// A module with a memory of its own; this build has none.
#[derive(Debug)]
pub struct Instance(Infallible);

/// A function of an [`Instance`]; this build has none.
#[derive(Debug)]
pub struct Function<P, R>(Infallible, PhantomData<fn(P) -> R>);

impl Engine {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`LoadError::NotBuilt`].
    pub const fn new(_: Limits) -> Result<Self, LoadError> {
        Err(LoadError::NotBuilt)
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always [`LoadError::NotBuilt`].
    pub const fn unmetered(_: Limits) -> Result<Self, LoadError> {
        Err(LoadError::NotBuilt)
    }

    /// Compiles a module.
    ///
    /// # Errors
    /// Never reached.
    pub const fn compile(&self, _: &[u8], _: &str) -> Result<Module, LoadError> {
        match self.0 {}
    }
}

impl Module {
    /// Makes an instance.
    ///
    /// # Errors
    /// Never reached.
    pub const fn instantiate(&self, _: u64) -> Result<Instance, LoadError> {
        match self.0 {}
    }
}

impl Instance {
    /// Finds a function.
    ///
    /// # Errors
    /// Never reached.
    pub const fn function<P: Values, R: Values>(
        &mut self,
        _: &str,
    ) -> Result<Function<P, R>, LoadError> {
        match self.0 {}
    }

    /// Finds a function that may be absent.
    ///
    /// # Errors
    /// Never reached.
    pub const fn optional_function<P: Values, R: Values>(
        &mut self,
        _: &str,
    ) -> Result<Option<Function<P, R>>, LoadError> {
        match self.0 {}
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Never reached.
    pub const fn call<P: Values, R: Values>(
        &mut self,
        _: &Function<P, R>,
        _: P,
        _: u64,
    ) -> Result<R, Fault> {
        match self.0 {}
    }

    /// Fuel left by the last call.
    #[must_use]
    pub const fn fuel_left(&self) -> u64 {
        match self.0 {}
    }

    /// Forbids growth.
    pub const fn seal(&mut self) {
        match self.0 {}
    }

    /// The linear memory.
    #[must_use]
    pub const fn memory(&self) -> &[u8] {
        match self.0 {}
    }

    /// The linear memory, for writing.
    #[must_use]
    pub const fn memory_mut(&mut self) -> &mut [u8] {
        match self.0 {}
    }
}

/// Prepares the calling thread; there is nothing to do.
pub const fn prepare_thread() {}
