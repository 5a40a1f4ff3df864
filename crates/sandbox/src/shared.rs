//! An engine whose instances all have one arena as their memory.
//!
//! Each access of an instance goes to the arena's base plus 32 bits plus a constant of at most [`GUARD`] bytes, all of
//! which is reserved. Where the arena has no block, the access is a fault, which the engine turns into
//! [`Fault::OutOfBounds`](crate::Fault): these are the bounds checks, and they cost nothing in the code.

#![expect(unsafe_code, reason = "the engine is given memory that the host uses too")]

use std::sync::Arc;

use hemiola_rt::sys::arena::Arena;
#[cfg(feature = "engine")]
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::{Engine, Limits, LoadError};

/// Addresses of a linear memory.
const SIZE: usize = 1 << 32;

/// Bytes behind them: more than any constant offset of an access in a module of `world_code`, whose window has at most
/// 64 MiB.
const GUARD: usize = 128 << 20;

/// Reserves the memory of [`Engine::over`].
///
/// # Errors
/// If the system refuses the addresses.
pub fn reserve() -> Result<Arc<Arena>, LoadError> {
    if !crate::IS_AVAILABLE {
        return Err(LoadError::NotBuilt);
    }
    Arena::reserve(SIZE, GUARD).map_err(|error| LoadError::System(error.to_string()))
}

#[cfg(not(feature = "engine"))]
impl Engine {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`LoadError::NotBuilt`].
    ///
    /// # Safety
    /// Nothing is to be kept.
    pub const unsafe fn over(_: &Arc<Arena>, _: Limits) -> Result<Self, LoadError> {
        Err(LoadError::NotBuilt)
    }
}

#[cfg(feature = "engine")]
impl Engine {
    /// Makes an engine that counts no fuel, for modules that the host has made, as [`Engine::unmetered`] does. All
    /// memories of its instances are the arena, which [`reserve`] has made.
    ///
    /// # Errors
    /// If the arena is too small, or the system refuses memory.
    ///
    /// # Safety
    /// A call of an instance must write only where no other thread reads or writes at that time, and read only where
    /// no other thread writes, unless it drops what it reads. It must not write where the host has a reference for
    /// reading, nor access what the host has borrowed for writing, except for this call. A module must have no data
    /// segments.
    pub unsafe fn over(arena: &Arc<Arena>, limits: Limits) -> Result<Self, LoadError> {
        if arena.size() < SIZE || arena.guard() < GUARD {
            return Err(LoadError::System("the arena is too small".into()));
        }
        let mut config = crate::engine::settings(&limits);
        config
            .signals_based_traps(true)
            .memory_reservation(SIZE as u64)
            .memory_guard_size(GUARD as u64)
            .with_host_memory(Arc::new(Creator(Arc::clone(arena))));
        Self::shared(&config, limits)
    }
}

/// Gives every memory the same arena.
#[cfg(feature = "engine")]
struct Creator(Arc<Arena>);

/// The arena as a linear memory of all addresses, although only its blocks have pages.
#[cfg(feature = "engine")]
struct Whole(Arc<Arena>);

// SAFETY: the memory has the reserved size and the guard that are asked for, which `Engine::over` has compared. It need
// not be zero, because no module relies on that. It is not the instance's own; the promise of `Engine::over` says what
// its calls may access.
#[cfg(feature = "engine")]
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _: MemoryType,
        _: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        if reserved.is_some_and(|bytes| bytes > self.0.size()) || guard > self.0.guard() {
            return Err("a memory larger than the arena".into());
        }
        Ok(Box::new(Whole(Arc::clone(&self.0))))
    }
}

// SAFETY: the arena stays where it is as long as it is held here, and never grows.
#[cfg(feature = "engine")]
unsafe impl LinearMemory for Whole {
    fn byte_size(&self) -> usize {
        SIZE
    }

    fn byte_capacity(&self) -> usize {
        SIZE
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        if size <= SIZE {
            Ok(())
        } else {
            Err(wasmtime::Error::msg("the memory has all addresses"))
        }
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.base().as_ptr()
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use crate::Fault;

    const MODULE: &str = r#"(module
        (memory (export "memory") 1 65536)
        (func (export "add") (param i32 i32) (result i32)
            (i32.store offset=4 (local.get 0) (i32.add (i32.load (local.get 0)) (local.get 1)))
            (i32.load offset=4 (local.get 0)))
        (func (export "far") (param i32 i32) (result i32)
            (i32.load offset=67108864 (local.get 0))))"#;

    fn engine(arena: &Arc<Arena>) -> Engine {
        // SAFETY: the functions of `MODULE` access what each test passes to them: a block that it does not borrow
        // meanwhile, or an address without a block.
        unsafe { Engine::over(arena, Limits::default()) }.unwrap()
    }

    #[test]
    fn instances_work_on_the_memory_of_the_host() {
        let arena = reserve().unwrap();
        let module = engine(&arena).compile(MODULE.as_bytes(), "test.wat").unwrap();
        let mut blocks = [(); 2].map(|()| arena.take(64).unwrap());
        let mut instances = [(); 2].map(|()| module.instantiate(0).unwrap());
        for (number, block) in (1..).zip(&mut blocks) {
            block.items_mut::<i32>()[0] = 10 * number;
            for instance in &mut instances {
                let add = instance.function::<(i32, i32), i32>("add").unwrap();
                let sum = instance.call(&add, (block.offset() as i32, 7), 0);
                assert_eq!(sum, Ok(10 * number + 7));
                assert_eq!(block.items::<i32>()[..2], [10 * number, 10 * number + 7]);
                assert_eq!(instance.memory(), [], "the memory belongs to all of them");
            }
        }
    }

    #[test]
    fn an_access_without_a_block_is_a_fault_and_the_instance_goes_on() {
        let arena = reserve().unwrap();
        let module = engine(&arena).compile(MODULE.as_bytes(), "test.wat").unwrap();
        let mut instance = module.instantiate(0).unwrap();
        let block = arena.take(64).unwrap();
        let add = instance.function::<(i32, i32), i32>("add").unwrap();
        let far = instance.function::<(i32, i32), i32>("far").unwrap();
        let gone = arena.take(64).unwrap().offset() as i32;
        // Where a block was, where none ever was, at the last addresses, and behind them.
        for address in [gone, 1 << 30, -4] {
            assert_eq!(instance.call(&add, (address, 1), 0), Err(Fault::OutOfBounds));
            assert_eq!(instance.call(&far, (address, 1), 0), Err(Fault::OutOfBounds));
            assert_eq!(instance.call(&add, (block.offset() as i32, 1), 0), Ok(1));
        }
    }

    #[test]
    fn a_small_arena_is_refused() {
        for (size, guard) in [(SIZE - 4_096, GUARD), (SIZE, GUARD - 4_096)] {
            let arena = Arena::reserve(size, guard).unwrap();
            // SAFETY: there is no module.
            let refused = unsafe { Engine::over(&arena, Limits::default()) };
            assert!(matches!(refused, Err(LoadError::System(_))));
        }
    }
}
