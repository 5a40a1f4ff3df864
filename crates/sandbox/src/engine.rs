//! The sandbox on wasmtime.

use wasmtime::{
    Config, Error, ExternType, OperatorCost, ResourceLimiter, Store, Trap, TypedFunc, WasmParams,
    WasmResults,
};

use crate::values::signature;
use crate::{Fault, Limits, LoadError, Numbers};

/// [`Numbers`] that the engine passes on.
pub trait Values: Numbers + WasmParams + WasmResults {}
impl<T: Numbers + WasmParams + WasmResults> Values for T {}

/// Compiles modules for this machine.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
    limits: Limits,
    is_metered: bool,
    /// Whether the memory of its instances is not theirs alone.
    is_shared: bool,
}

/// A compiled module that imports nothing and starts within its limits. Copies share the code.
#[derive(Clone)]
pub struct Module {
    module: wasmtime::Module,
    limits: Limits,
    is_metered: bool,
    is_shared: bool,
}

/// A module with a memory of its own.
pub struct Instance {
    store: Store<Growth>,
    instance: wasmtime::Instance,
    memory: Option<wasmtime::Memory>,
}

/// A function of one [`Instance`].
pub struct Function<P, R>(TypedFunc<P, R>);

/// Fuel of a division, a root, and a call through a table: they take several times as long as other instructions.
const DEAR: u8 = 8;
/// Fuel of an instruction that leaves the compiled code.
const OUTSIDE: u8 = 200;

impl Engine {
    /// Makes an engine.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub fn new(limits: Limits) -> Result<Self, LoadError> {
        Self::with(limits, true)
    }

    /// Makes an engine that counts no fuel and leaves the bits of values that are not a number to the module. It is for
    /// modules whose calls are bounded by their form, because the host has made them: nothing stops a call.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub fn unmetered(limits: Limits) -> Result<Self, LoadError> {
        Self::with(limits, false)
    }

    fn with(limits: Limits, is_metered: bool) -> Result<Self, LoadError> {
        let mut config = settings(&limits);
        config
            .consume_fuel(is_metered)
            .operator_cost(costs())
            // Checks in the code instead of signals: no handler in the host, and no guard pages to map and lock.
            .signals_based_traps(false)
            .memory_reservation(limits.memory as u64)
            .memory_guard_size(0)
            .cranelift_nan_canonicalization(is_metered);
        let engine = wasmtime::Engine::new(&config).map_err(|e| system(&e))?;
        Ok(Self { engine, limits, is_metered, is_shared: false })
    }

    /// An unmetered engine with these settings, whose instances share a memory.
    pub(crate) fn shared(config: &Config, limits: Limits) -> Result<Self, LoadError> {
        let engine = wasmtime::Engine::new(config).map_err(|e| system(&e))?;
        Ok(Self { engine, limits, is_metered: false, is_shared: true })
    }

    /// Compiles a module, given as binary or as text; `name` stands in the messages about the text.
    ///
    /// # Errors
    /// If it is too long, not valid, imports anything, or starts beyond its limits.
    pub fn compile(&self, source: &[u8], name: &str) -> Result<Module, LoadError> {
        let (found, limit) = (source.len(), self.limits.module);
        if found > limit {
            return Err(LoadError::TooLong { found, limit });
        }
        let binary = wat::parse_bytes(source).map_err(|error| text(error, name))?;
        let module = wasmtime::Module::new(&self.engine, &binary).map_err(|e| malformed(&e))?;
        check(&module, &self.limits)?;
        let Self { limits, is_metered, is_shared, .. } = *self;
        Ok(Module { module, limits, is_metered, is_shared })
    }
}

/// The settings that all engines share.
pub(crate) fn settings(limits: &Limits) -> Config {
    let mut config = Config::new();
    config
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        // Pages come with the instance: a copy on write in a loop would be a page fault.
        .memory_init_cow(false)
        .table_lazy_init(false)
        .max_wasm_stack(limits.stack)
        .wasm_backtrace_max_frames(None)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false);
    config
}

fn costs() -> OperatorCost {
    let mut costs = OperatorCost {
        I32DivS: DEAR,
        I32DivU: DEAR,
        I32RemS: DEAR,
        I32RemU: DEAR,
        I64DivS: DEAR,
        I64DivU: DEAR,
        I64RemS: DEAR,
        I64RemU: DEAR,
        F32Div: DEAR,
        F64Div: DEAR,
        F32Sqrt: DEAR,
        F64Sqrt: DEAR,
        F32x4Div: DEAR,
        F64x2Div: DEAR,
        F32x4Sqrt: DEAR,
        F64x2Sqrt: DEAR,
        CallIndirect: DEAR,
        MemoryGrow: OUTSIDE,
        MemoryCopy: OUTSIDE,
        MemoryFill: OUTSIDE,
        MemoryInit: OUTSIDE,
        TableGrow: OUTSIDE,
        TableCopy: OUTSIDE,
        TableFill: OUTSIDE,
        TableInit: OUTSIDE,
        ..OperatorCost::new()
    };
    costs.variable.memory_grow_per_page = u8::MAX;
    costs
}

/// The first line of the parser's message, and the place that stands below it.
fn text(mut error: wat::Error, name: &str) -> LoadError {
    error.set_path(name);
    let all = error.to_string();
    let mut lines = all.lines().map(str::trim);
    let message = lines.next().unwrap_or_default().to_owned();
    let place = lines.find_map(|line| line.strip_prefix("--> ")).unwrap_or(name).to_owned();
    LoadError::Text { place, message }
}

/// The causes of an error in one line, the most precise one first.
fn in_one_line(error: &Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.iter().rev().map(|cause| cause.trim()).collect::<Vec<_>>().join(": ").replace('\n', " ")
}

fn malformed(error: &Error) -> LoadError {
    LoadError::Malformed(in_one_line(error))
}

fn system(error: &Error) -> LoadError {
    LoadError::System(in_one_line(error))
}

fn check(module: &wasmtime::Module, limits: &Limits) -> Result<(), LoadError> {
    let imports: Vec<String> = module
        .imports()
        .map(|import| format!("\"{}\" of \"{}\"", import.name(), import.module()))
        .collect();
    if !imports.is_empty() {
        return Err(LoadError::Imports(imports.join(", ")));
    }
    let required = module.resources_required();
    let found = required.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE);
    if found > limits.memory as u64 {
        return Err(LoadError::Memory { found, limit: limits.memory });
    }
    let found = required.max_initial_table_size.unwrap_or(0);
    if found > limits.table as u64 {
        return Err(LoadError::Table { found, limit: limits.table });
    }
    Ok(())
}

/// Bytes of a page of linear memory.
const PAGE: u64 = 64 << 10;

impl Module {
    /// Makes an instance with memory of its own, and runs its start function and its `_initialize`, each with this much
    /// fuel.
    ///
    /// # Errors
    /// If one of the two does not return, or the system refuses memory.
    pub fn instantiate(&self, fuel: u64) -> Result<Instance, LoadError> {
        let engine = self.module.engine();
        let (limits, is_metered) = (self.limits, self.is_metered);
        let mut store = Store::new(engine, Growth { limits, is_metered, is_sealed: false });
        store.limiter(|growth| growth);
        if is_metered {
            store.set_fuel(fuel).map_err(|e| system(&e))?;
        }
        let instance = wasmtime::Instance::new(&mut store, &self.module, &[]);
        let instance = instance.map_err(|error| match verdict(&error) {
            Some(fault) => preparation("start", fault),
            None => system(&error),
        })?;
        let mut memory = instance.exports(&mut store).find_map(wasmtime::Export::into_memory);
        memory.take_if(|_| self.is_shared);
        let mut instance = Instance { store, instance, memory };
        if let Some(initialize) = instance.optional_function::<(), ()>(INITIALIZE)? {
            let called = instance.call(&initialize, (), fuel);
            called.map_err(|fault| preparation(INITIALIZE, fault))?;
        }
        Ok(instance)
    }
}

/// The function by which compilers initialise a module that is a library.
const INITIALIZE: &str = "_initialize";

fn preparation(function: &str, fault: Fault) -> LoadError {
    LoadError::Preparation { function: function.into(), fault }
}

impl Instance {
    /// Finds an exported function.
    ///
    /// # Errors
    /// If there is none of this name, or it has another type.
    pub fn function<P: Values, R: Values>(
        &mut self,
        name: &str,
    ) -> Result<Function<P, R>, LoadError> {
        let absent =
            || LoadError::Absent { name: name.into(), expected: signature(P::TYPES, R::TYPES) };
        self.optional_function(name)?.ok_or_else(absent)
    }

    /// Finds an exported function that may be absent.
    ///
    /// # Errors
    /// If the export of this name has another type.
    pub fn optional_function<P: Values, R: Values>(
        &mut self,
        name: &str,
    ) -> Result<Option<Function<P, R>>, LoadError> {
        let Some(export) = self.instance.get_export(&mut self.store, name) else { return Ok(None) };
        let found = kind(&export.ty(&self.store));
        let function = export.into_func().and_then(|func| func.typed(&self.store).ok());
        let wrong = || LoadError::WrongType {
            name: name.into(),
            found,
            expected: signature(P::TYPES, R::TYPES),
        };
        function.map(|function| Some(Function(function))).ok_or_else(wrong)
    }

    /// Calls a function of this instance with this much fuel: one for each simple instruction, [several](OperatorCost)
    /// for slow ones. An [unmetered](Engine::unmetered) engine ignores it.
    ///
    /// # Errors
    /// If it does not return.
    ///
    /// # Panics
    /// If the function belongs to another instance.
    pub fn call<P: Values, R: Values>(
        &mut self,
        function: &Function<P, R>,
        parameters: P,
        fuel: u64,
    ) -> Result<R, Fault> {
        if self.store.data().is_metered {
            self.store.set_fuel(fuel).expect("the engine counts fuel");
        }
        let called = function.0.call(&mut self.store, parameters);
        called.map_err(|error| verdict(&error).unwrap_or(Fault::Other))
    }

    /// Fuel left by the last call; 0 of an [unmetered](Engine::unmetered) engine.
    #[must_use]
    pub fn fuel_left(&self) -> u64 {
        self.store.get_fuel().unwrap_or(0)
    }

    /// Forbids growth of memory and tables from now on: a call that asks for more ends with [`Fault::Growth`].
    pub fn seal(&mut self) {
        self.store.data_mut().is_sealed = true;
    }

    /// The linear memory; empty if the module exports none, or if instances [share](crate::reserve) it.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        self.memory.map_or(&[], |memory| memory.data(&self.store))
    }

    /// The linear memory, for writing.
    #[must_use]
    pub fn memory_mut(&mut self) -> &mut [u8] {
        self.memory.map_or(&mut [], |memory| memory.data_mut(&mut self.store))
    }
}

/// An export in words: the type of a function, or what else it is.
fn kind(export: &ExternType) -> String {
    let function = match export {
        ExternType::Func(function) => function,
        ExternType::Memory(_) => return "a memory".into(),
        ExternType::Table(_) => return "a table".into(),
        _ => return "no function".into(),
    };
    let names = |types: &mut dyn Iterator<Item = wasmtime::ValType>| {
        types.map(|value| value.to_string()).collect::<Vec<_>>()
    };
    signature(&names(&mut function.params()), &names(&mut function.results()))
}

/// The verdict on a call that failed; `None` where the module is not to blame.
fn verdict(error: &Error) -> Option<Fault> {
    if error.is::<Refused>() {
        return Some(Fault::Growth);
    }
    Some(match error.downcast_ref::<Trap>()? {
        Trap::OutOfFuel => Fault::OutOfFuel,
        Trap::StackOverflow => Fault::StackExhausted,
        Trap::MemoryOutOfBounds | Trap::TableOutOfBounds => Fault::OutOfBounds,
        Trap::UnreachableCodeReached => Fault::Unreachable,
        Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger => {
            Fault::Arithmetic
        }
        Trap::IndirectCallToNull | Trap::BadSignature => Fault::IndirectCall,
        _ => Fault::Other,
    })
}

/// Allows growth up to the limits, until it is sealed.
struct Growth {
    limits: Limits,
    is_metered: bool,
    is_sealed: bool,
}

/// Growth was refused.
#[derive(Debug, thiserror::Error)]
#[error("growth was refused")]
struct Refused;

impl Growth {
    fn allow(&self, desired: usize, limit: usize) -> wasmtime::Result<bool> {
        if self.is_sealed || desired > limit { Err(Refused.into()) } else { Ok(true) }
    }
}

impl ResourceLimiter for Growth {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.allow(desired, self.limits.memory)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.allow(desired, self.limits.table)
    }

    fn instances(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        1
    }
}

/// Prepares the calling thread for calls, so that the first one in a loop maps nothing.
pub fn prepare_thread() {
    wasmtime::Engine::tls_eager_initialize();
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("memory", &self.memory().len()).finish_non_exhaustive()
    }
}

impl<P, R> std::fmt::Debug for Function<P, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").finish_non_exhaustive()
    }
}
