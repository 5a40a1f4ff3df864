//! Compiled code of a world's functions, which is made beside its steps.
//!
//! ```text
//!  World::uncompiled, Revision::uncompiled ──▶ Uncompiled::compile ──▶ Code ──▶ World::install
//!                                              (any thread)                     (between two steps)
//! ```
//!
//! A machine knows code by what it does, so functions that a redefinition leaves as they are keep theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_world_code::{CompiledPrograms, Engine, NotCompiled, Program, Room, Scalar, Texts};

use crate::redefine::Revision;
use crate::world::{World, every_program, programs};

/// Programs that are interpreted.
#[derive(Clone, Debug, Default)]
pub struct Uncompiled {
    programs: Vec<Program>,
    /// Each worker has an instance of its own.
    workers: usize,
}

/// Compiled code for a world.
#[derive(Debug, Default)]
pub struct Code {
    /// By worker.
    programs: Vec<CompiledPrograms>,
    /// Memory that the code reaches without copying.
    room: Option<Arc<dyn Room>>,
    /// Why some programs stay interpreted, by their identity.
    not_compiled: BTreeMap<u64, NotCompiled>,
}

impl Uncompiled {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// The same for another number of workers, which will be employed before the code is installed.
    #[must_use]
    pub fn for_workers(self, workers: usize) -> Self {
        Self { workers, ..self }
    }

    /// Has an engine compile them.
    pub fn compile(&self, engine: &mut dyn Engine) -> Code {
        let mut code = Code { room: engine.room(), ..Code::default() };
        code.programs.resize_with(self.workers, CompiledPrograms::default);
        for program in &self.programs {
            let compiled = code.programs.iter_mut().try_for_each(|of| of.add(program, engine));
            code.not_compiled.extend(compiled.err().map(|reason| (program.identity, reason)));
        }
        code
    }
}

impl World {
    /// The updates and constraints without compiled code that nobody tried to compile, for the workers of now.
    #[must_use]
    pub fn uncompiled(&self) -> Uncompiled {
        let tried = |program: &Program| self.not_compiled.contains_key(&program.identity);
        let programs = self.interpreted_programs(|program| !tried(program)).cloned().collect();
        Uncompiled { programs, workers: self.crew.count() }
    }

    /// Whether functions are run by compiled code, as far as it can be had.
    #[must_use]
    pub const fn is_compiled(&self) -> bool {
        self.is_compiled
    }

    /// Why functions are interpreted, in a world that has compiled code.
    #[must_use]
    pub fn interpreted(&self) -> Vec<String> {
        let reason = |program: &Program| match self.not_compiled.get(&program.identity) {
            Some(reason) => reason.to_string(),
            None => format!("`{}` is not compiled yet", program.name),
        };
        self.interpreted_programs(|_| self.is_compiled).map(reason).collect()
    }

    fn interpreted_programs<'w>(
        &'w self,
        is_meant: impl Fn(&Program) -> bool + 'w,
    ) -> impl Iterator<Item = &'w Program> {
        let all = every_program(&self.updates, &self.constraints);
        let interpreted = move |program: &&Program| {
            is_meant(program) && !self.crew.look(|seat| seat.machine.has_code_for(program))
        };
        all.filter(interpreted)
    }

    /// Runs functions by compiled code from now on; the results stay the same, bit by bit. Columns move to the memory
    /// that the code reaches, and new ones are made there. Code for functions that the world does not have stays until
    /// the next redefinition, return or call of [`Self::compile`].
    pub fn install(&mut self, code: Code) {
        let Code { programs, room, not_compiled } = code;
        self.not_compiled.extend(not_compiled);
        for (seat, programs) in self.crew.seats().zip(programs) {
            seat.machine.install(programs);
        }
        self.is_compiled = true;
        if let Some(room) = room {
            let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns);
            columns.for_each(|column| column.move_to(&room));
            self.room = Some(room);
        }
    }

    /// Has an engine run the updates and constraints from now on, and drops the code of former functions. Returns why
    /// some functions stay interpreted.
    pub fn compile(&mut self, engine: &mut dyn Engine) -> Vec<NotCompiled> {
        self.keep_code_of(None);
        drop(self.take_spent());
        self.not_compiled.clear();
        let code = self.uncompiled().compile(engine);
        let not_compiled = code.not_compiled.values().cloned().collect();
        self.install(code);
        not_compiled
    }

    /// The functions of a redefinition or a return that still need code, if the others have some.
    pub(crate) fn uncompiled_if_compiled(&self) -> Uncompiled {
        if self.is_compiled { self.uncompiled() } else { Uncompiled::default() }
    }
}

impl Revision {
    /// The functions of the new definition that the one before does not have, for a world with so many workers. Those
    /// with texts are left out, because only a world knows the numbers of texts; it finds them after its redefinition.
    #[must_use]
    pub fn uncompiled(&self, workers: usize) -> Uncompiled {
        let before = programs(self.before(), &mut Texts::default());
        let all = |(updates, constraints)| every_program(updates, constraints);
        let known =
            before.iter().map(|(updates, constraints)| (updates, constraints)).flat_map(all);
        let known: BTreeSet<u64> = known.map(|program| program.identity).collect();
        let is_new = |program: &Program| {
            !known.contains(&program.identity) && !program.constants.iter().any(is_text)
        };
        let after =
            self.programs().into_iter().map(|(updates, constraints)| (updates, constraints));
        let programs = after.flat_map(all).filter(|program| is_new(program)).cloned().collect();
        Uncompiled { programs, workers }
    }
}

const fn is_text(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Text(_))
}
