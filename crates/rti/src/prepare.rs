//! Object model modules that a call brings: read and merged before the call, elsewhere than where the kernel runs.
//!
//! That takes milliseconds for large models, and the kernel has other federates. So the shell may ask what there is to
//! do for a call ([`Kernel::preparation`]), do it on another thread ([`Preparation::run`]), and give what came of it
//! ([`Input::Prepared`](crate::Input::Prepared)) right before the call. A call does the same whether it was prepared or
//! not: what was prepared for something else, or for a federation that has changed since, is worked out anew.

use std::sync::Arc;

use hemiola_fom::{Model, Module, Problem, merge, open};
use hemiola_hla::Call;
use hemiola_hla::call::FederationCall as C;
use hemiola_hla::data::FomModule;

use crate::input::SessionId;
use crate::kernel::Kernel;

/// The modules that a call brings, and what they are to be merged with.
#[derive(Clone, Debug)]
pub struct Preparation {
    modules: Vec<FomModule>,
    mim: Option<FomModule>,
    onto: Onto,
}

/// What modules are merged with, besides the standard one.
#[derive(Clone, Debug)]
pub(crate) enum Onto {
    /// Nothing: they are those of a new federation.
    New,
    /// The model of a federation.
    Model(Arc<Model>),
    /// There is no such federation; they are read all the same.
    Nowhere,
}

impl Onto {
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

/// What came of reading modules: the modules, or everything that is wrong with them.
pub(crate) type Read = Result<Vec<Arc<Module>>, Vec<Problem>>;

/// What came of merging modules: the model, or everything that is wrong with it.
pub(crate) type Merged = Result<Arc<Model>, Vec<Problem>>;

/// What came of a [`Preparation`].
#[derive(Clone, Debug)]
pub struct Prepared(Arc<Work>);

#[derive(Debug)]
struct Work {
    asked: Preparation,
    modules: Read,
    mim: Read,
    merged: Option<Merged>,
}

/// Two are the same if they are of the same modules: the rest follows from these.
impl PartialEq for Prepared {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0.asked, &other.0.asked);
        one.modules == other.modules && one.mim == other.mim
    }
}

impl Eq for Prepared {}

impl Preparation {
    /// How many bytes the modules have as they came; in an archive they are more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.modules.iter().chain(&self.mim).map(len).sum()
    }

    /// Is there nothing to do?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the modules and merges them, which takes its time. It fails never: what is wrong with the modules is
    /// said by the call.
    #[must_use]
    pub fn run(self) -> Prepared {
        let modules = read(&self.modules, self.onto.known());
        let mim = read(self.mim.as_slice(), &[]);
        let merged = match (&modules, &mim) {
            (Ok(modules), Ok(mim)) => {
                let modules: Vec<Arc<Module>> = modules.iter().chain(mim).cloned().collect();
                match &self.onto {
                    Onto::New => Some(merged(&modules, None)),
                    Onto::Model(model) => Some(merged(&modules, Some(model))),
                    Onto::Nowhere => None,
                }
            }
            _ => None,
        };
        Prepared(Arc::new(Work { asked: self, modules, mim, merged }))
    }
}

const fn len(module: &FomModule) -> usize {
    match module {
        FomModule::File { content, .. } | FomModule::Compressed(content) => content.len(),
        FomModule::Url(_) => 0,
    }
}

/// The modules that a federate sent, with everything that is wrong with any.
fn read(modules: &[FomModule], known: &[Arc<Module>]) -> Read {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for module in modules {
        match open(module, known) {
            Ok((modules, _)) => all.extend(modules),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// The model of these modules and those of another; that other itself if they are all in it.
fn merged(modules: &[Arc<Module>], before: Option<&Arc<Model>>) -> Merged {
    if let Some(before) = before {
        let known =
            |module: &Arc<Module>| before.modules().iter().any(|one| Arc::ptr_eq(one, module));
        if modules.iter().all(known) {
            return Ok(Arc::clone(before));
        }
    }
    merge(modules, before.map(Arc::as_ref)).map(|(model, _)| Arc::new(model))
}

/// The modules of one call, with what was prepared of them.
pub(crate) struct Brought<'c> {
    modules: &'c [FomModule],
    mim: Option<&'c FomModule>,
    prepared: Option<Arc<Work>>,
}

impl<'c> Brought<'c> {
    /// The modules of a call. What was prepared is dropped if it was not for these.
    pub(crate) fn new(
        modules: &'c [FomModule],
        mim: Option<&'c FomModule>,
        prepared: Option<Prepared>,
    ) -> Self {
        let prepared = prepared.map(|Prepared(work)| work).filter(|work| {
            same(&work.asked.modules, modules)
                && same(work.asked.mim.as_slice(), mim.map_or(&[], std::slice::from_ref))
        });
        Self { modules, mim, prepared }
    }

    /// The modules but that of one's own management module, read; `onto` may know some of them.
    pub(crate) fn read(&self, onto: &Onto) -> Read {
        match &self.prepared {
            Some(work) => work.modules.clone(),
            None => read(self.modules, onto.known()),
        }
    }

    /// One's own management module, read.
    pub(crate) fn read_mim(&self) -> Read {
        match (&self.prepared, self.mim) {
            (Some(work), _) => work.mim.clone(),
            (None, Some(mim)) => read(std::slice::from_ref(mim), &[]),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The model of all of them, which were read without problems, upon that of a federation.
    pub(crate) fn merged(&self, modules: &[Arc<Module>], onto: &Onto) -> Merged {
        if let Some(work) = self.prepared.as_deref().filter(|work| work.asked.onto.is_still(onto))
            && let Some(merged) = &work.merged
        {
            return merged.clone();
        }
        match onto {
            Onto::Model(model) => merged(modules, Some(model)),
            Onto::New | Onto::Nowhere => merged(modules, None),
        }
    }
}

/// Are these the same modules? Those that share their bytes are not looked through.
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
    /// What there is to do before this call of a session, if it brings modules and will look at them: read and merge
    /// them. Calls of others may go on meanwhile.
    #[must_use]
    pub fn preparation(&self, session: SessionId, call: &Call) -> Option<Preparation> {
        let (name, modules, mim, joins) = brought(call)?;
        let state = self.sessions.get(&session)?;
        let model = self.names.get(name).map(|id| &self.federations[id].model);
        // These are refused before anything is read.
        let exists_already = !joins && model.is_some();
        if state.connected.is_none() || (joins && state.member.is_some()) || exists_already {
            return None;
        }
        if modules.is_empty() && mim.is_none() {
            return None;
        }
        let onto = match model {
            Some(model) => Onto::Model(Arc::clone(model)),
            None if joins => Onto::Nowhere,
            None => Onto::New,
        };
        Some(Preparation { modules: modules.to_vec(), mim: mim.cloned(), onto })
    }
}

/// The federation that a call creates or joins, with which modules, and whether it joins.
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
