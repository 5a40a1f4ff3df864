//! Reading and merging a call's object model modules in advance, outside the kernel's thread.
//!
//! For large models this takes milliseconds, during which other federates would wait. The shell asks what a call needs
//! ([`Kernel::preparation`]), runs it on another thread ([`Preparation::run`]) and passes the result in
//! ([`Input::Prepared`](crate::Input::Prepared)) right before the call. A call has the same result with or without
//! preparation: a result that was made for another call, or for a federation that has changed since, is not used.

use std::sync::Arc;

use hemiola_fom::{Model, Module, Problem, merge, open};
use hemiola_hla::Call;
use hemiola_hla::call::FederationCall as C;
use hemiola_hla::data::FomModule;

use crate::input::SessionId;
use crate::kernel::Kernel;

/// The modules of a call, and the model to merge them with.
#[derive(Clone, Debug)]
pub struct Preparation {
    modules: Vec<FomModule>,
    mim: Option<FomModule>,
    onto: MergeBase,
}

/// The model that modules are merged with, besides the standard module.
#[derive(Clone, Debug)]
pub(crate) enum MergeBase {
    /// None: the modules create a federation.
    New,
    /// The model of an existing federation.
    Model(Arc<Model>),
    /// None: the federation does not exist. The modules are read all the same, because their errors take precedence.
    Nowhere,
}

impl MergeBase {
    fn known(&self) -> &[Arc<Module>] {
        match self {
            Self::Model(model) => model.modules(),
            Self::New | Self::Nowhere => &[],
        }
    }

    fn is_still(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::New, Self::New) => true,
            (Self::Model(one), Self::Model(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Modules that were read, or all problems found in them.
pub(crate) type ReadResult = Result<Vec<Arc<Module>>, Vec<Problem>>;

/// The merged model, or all problems found in it.
pub(crate) type MergeResult = Result<Arc<Model>, Vec<Problem>>;

/// The result of a [`Preparation`].
#[derive(Clone, Debug)]
pub struct Prepared(Arc<PreparedModules>);

#[derive(Debug)]
struct PreparedModules {
    preparation: Preparation,
    modules: ReadResult,
    mim: ReadResult,
    merged: Option<MergeResult>,
}

/// Two results are equal if they are of the same modules, because the rest follows from these.
impl PartialEq for Prepared {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0.preparation, &other.0.preparation);
        one.modules == other.modules && one.mim == other.mim
    }
}

impl Eq for Prepared {}

impl Preparation {
    /// Returns the size of the modules in bytes as they were sent; archives expand to more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.modules.iter().chain(&self.mim).map(len).sum()
    }

    /// Returns whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads and merges the modules, which can take milliseconds. It always succeeds: the call reports the problems.
    #[must_use]
    pub fn run(self) -> Prepared {
        let modules = read(&self.modules, self.onto.known());
        let mim = read(self.mim.as_slice(), &[]);
        let merged = match (&modules, &mim) {
            (Ok(modules), Ok(mim)) => {
                let modules: Vec<Arc<Module>> = modules.iter().chain(mim).cloned().collect();
                match &self.onto {
                    MergeBase::New => Some(merged(&modules, None)),
                    MergeBase::Model(model) => Some(merged(&modules, Some(model))),
                    MergeBase::Nowhere => None,
                }
            }
            _ => None,
        };
        Prepared(Arc::new(PreparedModules { preparation: self, modules, mim, merged }))
    }
}

const fn len(module: &FomModule) -> usize {
    match module {
        FomModule::File { content, .. } | FomModule::Compressed(content) => content.len(),
        FomModule::Url(_) => 0,
    }
}

/// Reads modules that a federate sent, and collects the problems of all of them.
fn read(modules: &[FomModule], known: &[Arc<Module>]) -> ReadResult {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for module in modules {
        match open(module, known) {
            Ok((modules, _)) => all.extend(modules),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// Merges these modules with a model. Returns the same model if it already contains them all.
fn merged(modules: &[Arc<Module>], before: Option<&Arc<Model>>) -> MergeResult {
    if let Some(before) = before {
        let known =
            |module: &Arc<Module>| before.modules().iter().any(|one| Arc::ptr_eq(one, module));
        if modules.iter().all(known) {
            return Ok(Arc::clone(before));
        }
    }
    merge(modules, before.map(Arc::as_ref)).map(|(model, _)| Arc::new(model))
}

/// The modules of one call, with the result of their preparation.
pub(crate) struct CallModules<'c> {
    modules: &'c [FomModule],
    mim: Option<&'c FomModule>,
    prepared: Option<Arc<PreparedModules>>,
}

impl<'c> CallModules<'c> {
    /// Takes the modules of a call. A result that was prepared for other modules is dropped.
    pub(crate) fn new(
        modules: &'c [FomModule],
        mim: Option<&'c FomModule>,
        prepared: Option<Prepared>,
    ) -> Self {
        let prepared = prepared.map(|Prepared(work)| work).filter(|work| {
            same(&work.preparation.modules, modules)
                && same(work.preparation.mim.as_slice(), mim.map_or(&[], std::slice::from_ref))
        });
        Self { modules, mim, prepared }
    }

    /// Reads the modules except the MIM; `onto` may already contain some of them.
    pub(crate) fn read(&self, onto: &MergeBase) -> ReadResult {
        match &self.prepared {
            Some(work) => work.modules.clone(),
            None => read(self.modules, onto.known()),
        }
    }

    /// Reads the MIM that the call provides.
    pub(crate) fn read_mim(&self) -> ReadResult {
        match (&self.prepared, self.mim) {
            (Some(work), _) => work.mim.clone(),
            (None, Some(mim)) => read(std::slice::from_ref(mim), &[]),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Merges modules that were read without problems.
    pub(crate) fn merged(&self, modules: &[Arc<Module>], onto: &MergeBase) -> MergeResult {
        if let Some(work) =
            self.prepared.as_deref().filter(|work| work.preparation.onto.is_still(onto))
            && let Some(merged) = &work.merged
        {
            return merged.clone();
        }
        match onto {
            MergeBase::Model(model) => merged(modules, Some(model)),
            MergeBase::New | MergeBase::Nowhere => merged(modules, None),
        }
    }
}

/// Compares modules. Modules that share their bytes are equal without a comparison.
fn same(one: &[FomModule], other: &[FomModule]) -> bool {
    let same = |(one, other): (&FomModule, &FomModule)| match (one, other) {
        (
            FomModule::File { name, content },
            FomModule::File { name: other_name, content: other },
        ) => name == other_name && same_bytes(content, other),
        (FomModule::Compressed(one), FomModule::Compressed(other)) => same_bytes(one, other),
        (one, other) => one == other,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn same_bytes(one: &[u8], other: &[u8]) -> bool {
    std::ptr::eq(one, other) || one == other
}

impl Kernel {
    /// Returns the work to do before this call, if the call brings modules and will read them. Calls of other sessions
    /// may come in between.
    #[must_use]
    pub fn preparation(&self, session: SessionId, call: &Call) -> Option<Preparation> {
        let (name, modules, mim, joins) = brought(call)?;
        let state = self.sessions.get(&session)?;
        let model = self.names.get(name).map(|id| &self.federations[id].model);
        // The kernel refuses these calls before it reads any module.
        let exists_already = !joins && model.is_some();
        if state.connected.is_none() || (joins && state.member.is_some()) || exists_already {
            return None;
        }
        if modules.is_empty() && mim.is_none() {
            return None;
        }
        let onto = match model {
            Some(model) => MergeBase::Model(Arc::clone(model)),
            None if joins => MergeBase::Nowhere,
            None => MergeBase::New,
        };
        Some(Preparation { modules: modules.to_vec(), mim: mim.cloned(), onto })
    }
}

/// Returns the federation that a call creates or joins, its modules, and whether it joins.
fn brought(call: &Call) -> Option<(&str, &[FomModule], Option<&FomModule>, bool)> {
    let Call::Federation(call) = call else { return None };
    Some(match call {
        C::CreateFederationExecution { federation_name: name, fom_module: module }
        | C::CreateFederationExecutionWithTime {
            federation_name: name, fom_module: module, ..
        } => (name, std::slice::from_ref(module), None, false),
        C::CreateFederationExecutionWithModules { federation_name: name, fom_modules: modules }
        | C::CreateFederationExecutionWithModulesAndTime {
            federation_name: name,
            fom_modules: modules,
            ..
        } => (name, modules, None, false),
        C::CreateFederationExecutionWithMIM {
            federation_name: name,
            fom_modules: modules,
            mim_module: mim,
        }
        | C::CreateFederationExecutionWithMIMAndTime {
            federation_name: name,
            fom_modules: modules,
            mim_module: mim,
            ..
        } => (name, modules, Some(mim), false),
        C::JoinFederationExecutionWithModules {
            federation_name: name,
            additional_fom_modules: modules,
            ..
        }
        | C::JoinFederationExecutionWithNameAndModules {
            federation_name: name,
            additional_fom_modules: modules,
            ..
        } => (name, modules, None, true),
        _ => return None,
    })
}
