//! Reading and merging a call's object model modules in advance, outside the kernel's thread.
//!
//! This takes time in proportion to the whole model, during which all other federates would wait. The shell asks what a
//! call needs ([`Kernel::preparation`]), runs it on another thread ([`Preparation::run`]) and passes the result in
//! ([`Input::Prepared`](crate::Input::Prepared)) right before the call. If the federation has changed meanwhile, the
//! result [no longer fits](Kernel::is_current): the shell asks again.
//!
//! A call has the same result with or without preparation, if the same memory is left for it. If no fitting result was
//! passed in, the kernel prepares the call itself, and [counts](Kernel::unprepared) that.

use std::collections::BTreeSet;
use std::sync::Arc;

use hemiola_fom::{
    Known, MemoryMax, Model, Module, Modules, Problem, ProblemKind, exception, exception_of_mim,
    is_archive, memory_while_merging, memory_while_reading_max, merge, merge_partial, open, render,
};
use hemiola_hla::call::FederationCall as C;
use hemiola_hla::data::FomModule;
use hemiola_hla::{Call, Exception, Refusal};

use crate::authority::{Right, may};
use crate::federation::Federation;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::memory::{Quota, Quotas};
use crate::services::beyond;
use crate::services::federation::{does_not_exist, may_create};

/// The maximum length in bytes of the problems that a refusal lists.
const DETAILS_LEN_MAX: usize = 8 << 10;

/// The maximum number of irregularities of a call's modules that are logged.
const IRREGULARITIES_MAX: usize = 10;

/// The memory for reading and merging the shortest text, in bytes.
const WORK_MEMORY_LEAST: usize = 1 << 20;

/// Why a preparation may take no more memory, and what to do.
const WORK_IS_LIMITED: &str = "an object model may take half of the memory that is left while it is read and merged \
                               (--memory-max): `hemiola rti status` shows who holds it";

/// The modules of a call, and the model to merge them with.
#[derive(Clone, Debug)]
pub struct Preparation {
    federation: String,
    modules: Vec<FomModule>,
    mim: Option<FomModule>,
    onto: MergeBase,
    /// Whether the modules may name what none of them defines.
    is_partial: bool,
    limits: Limits,
    /// The memory that the call may take.
    quotas: Quotas,
    /// The memory that the preparation may take meanwhile.
    work_memory: usize,
}

/// The model that modules are merged with, besides the standard module.
#[derive(Clone, Debug)]
enum MergeBase {
    /// None: the modules create a federation.
    New,
    /// The model of an existing federation.
    Model(Arc<Model>),
    /// None: the federation does not exist. The modules are read all the same, because their errors take precedence.
    Nowhere,
}

impl MergeBase {
    fn model(&self) -> Option<&Arc<Model>> {
        match self {
            Self::Model(model) => Some(model),
            Self::New | Self::Nowhere => None,
        }
    }

    fn is_still(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::New, Self::New) | (Self::Nowhere, Self::Nowhere) => true,
            (Self::Model(one), Self::Model(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// The result of a [`Preparation`]. It may hold the last reference to large models: drop it outside the loop, too.
#[derive(Clone, Debug)]
pub struct Prepared(Arc<Outcome>);

#[derive(Debug)]
struct Outcome {
    preparation: Preparation,
    /// Whether the modules could be read.
    read: Result<(), Refusal>,
    /// The merged model.
    model: Result<Arc<Model>, Refusal>,
    notes: Notes,
}

/// What a preparation finds besides its result.
#[derive(Debug, Default)]
struct Notes {
    /// The places at which the modules violate the template without consequences, and those of undefined names.
    irregularities: Vec<String>,
    /// The quota of memory that the modules would exceed.
    exceeded: Option<Quota>,
}

impl Prepared {
    /// Returns the refusal if a module could not be read.
    pub(crate) fn read(&self) -> Result<(), Refusal> {
        self.0.read.clone()
    }

    /// Returns the model of all modules.
    pub(crate) fn model(&self) -> Result<Arc<Model>, Refusal> {
        self.0.model.clone()
    }

    /// Returns the first places at which the modules violate the template without consequences, each as a line for a
    /// log.
    #[must_use]
    pub fn irregularities(&self) -> &[String] {
        &self.0.notes.irregularities
    }

    fn is_for(&self, wanted: &Preparation) -> bool {
        let done = &self.0.preparation;
        done.federation == wanted.federation
            && done.onto.is_still(&wanted.onto)
            && same(&done.modules, &wanted.modules)
            && same(done.mim.as_slice(), wanted.mim.as_slice())
    }
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
    /// Returns the federation that the call creates or joins. Preparations for one federation are run one after the
    /// other: each changes the model that the next one starts from.
    #[must_use]
    pub fn federation(&self) -> &str {
        &self.federation
    }

    /// Returns the memory of the modules until they are parsed, in bytes: as they were sent, and their text.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.given().map(len).sum::<usize>() + self.text_len()
    }

    /// Returns the most memory that reading and merging can be expected to take besides [`memory`](Self::memory), in
    /// bytes. It depends on the length of the text only.
    #[must_use]
    pub fn work_memory(&self) -> usize {
        // Merging takes less for a byte of text.
        memory_while_reading_max(self.work()).saturating_add(WORK_MEMORY_LEAST)
    }

    /// Refuses the modules if reading and merging them takes more than this, in bytes, before that much is taken.
    #[must_use]
    pub fn within(self, work_memory: usize) -> Self {
        Self { work_memory, ..self }
    }

    fn given(&self) -> impl Iterator<Item = &FomModule> {
        self.modules.iter().chain(&self.mim)
    }

    /// Returns an estimate of the work in bytes of text: of the modules to be read and of those to be merged with. It
    /// takes microseconds.
    #[must_use]
    pub fn work(&self) -> usize {
        self.onto.model().map_or(0, |model| model.text_len()) + self.text_len()
    }

    /// An archive counts as what it claims to expand to, and expands to no more.
    fn text_len(&self) -> usize {
        // Finding the directory of an archive may scan 64 KiB.
        const ARCHIVES_MAX: usize = 32;
        let archives = self.modules.iter().filter(|module| match module {
            FomModule::File { content, .. } | FomModule::Compressed(content) => is_archive(content),
            FomModule::Url(_) => false,
        });
        if archives.count() > ARCHIVES_MAX {
            return hemiola_fom::limits::ARCHIVE_LEN_MAX;
        }
        self.given().map(expanded_len).sum()
    }

    /// Reads and merges the modules, which can take seconds. It always succeeds: the call reports the problems.
    #[must_use]
    pub fn run(self) -> Prepared {
        let mut notes = Notes::default();
        let (read, model) = match self.read(&mut notes) {
            Ok(modules) => (Ok(()), self.merge(&modules, &mut notes)),
            Err(refusal) => (Err(refusal.clone()), Err(refusal)),
        };
        Prepared(Arc::new(Outcome { preparation: self, read, model, notes }))
    }

    /// Reads the modules. The problems of the management module take precedence.
    fn read(&self, notes: &mut Notes) -> Result<Modules, Refusal> {
        let document = self.limits.model_memory.min(self.quotas.least().1);
        let memory_max = MemoryMax { document, reading: self.work_memory };
        let known = self.onto.model().map_or(&[][..], |model| model.modules());
        let (mut modules, mut problems) =
            read(self.mim.as_slice(), &[], memory_max).map_err(|problems| {
                let refusal = self.unread(&problems, notes);
                Refusal { exception: exception_of_mim(refusal.exception), ..refusal }
            })?;
        let left = modules.iter().fold(memory_max, |left, module| left.after(module));
        let (others, found) =
            read(&self.modules, known, left).map_err(|problems| self.unread(&problems, notes))?;
        modules.extend(others);
        problems.extend(found);
        notes.irregularities = lines(&problems);
        Ok(modules)
    }

    /// Returns the refusal of modules that cannot be read. If a quota leaves too little memory to parse them, it says
    /// which.
    fn unread(&self, problems: &[Problem], notes: &mut Notes) -> Refusal {
        let refusal = refusal(problems);
        let (quota, left) = self.quotas.least();
        let has = |kind| problems.iter().any(|problem| problem.kind == kind);
        let (quota, reason) = if has(ProblemKind::TooLarge) && left < self.limits.model_memory {
            (quota, self.quotas.reason(quota))
        } else if has(ProblemKind::Unaffordable) {
            (Quota::Process, WORK_IS_LIMITED.to_owned())
        } else {
            return refusal;
        };
        notes.exceeded = Some(quota);
        Refusal { details: format!("{}\n{reason}", refusal.details), ..refusal }
    }

    fn merge(&self, modules: &[Arc<Module>], notes: &mut Notes) -> Result<Arc<Model>, Refusal> {
        let before = match &self.onto {
            MergeBase::Nowhere => return Err(does_not_exist(&self.federation)),
            MergeBase::New => None,
            MergeBase::Model(model) => Some(model),
        };
        let known: BTreeSet<*const Module> =
            before.iter().flat_map(|model| model.modules()).map(Arc::as_ptr).collect();
        let new = modules.iter().filter(|module| !known.contains(&Arc::as_ptr(module)));
        if let Some(before) = before
            && new.clone().next().is_none()
        {
            return Ok(Arc::clone(before));
        }
        self.has_room(before.map(Arc::as_ref), new, notes)?;
        let merge = if self.is_partial { merge_partial } else { merge };
        let (model, problems) =
            merge(modules, before.map(Arc::as_ref)).map_err(|problems| refusal(&problems))?;
        notes.irregularities.extend(lines(&problems));
        if model.memory() > self.limits.model_memory {
            return Err(too_large(self.limits));
        }
        Ok(Arc::new(model))
    }

    /// Checks the size of all modules together.
    fn has_room<'m>(
        &self,
        before: Option<&Model>,
        new: impl Iterator<Item = &'m Arc<Module>> + Clone,
        notes: &mut Notes,
    ) -> Result<(), Refusal> {
        let limits = self.limits;
        let count = before.map_or(0, |model| model.modules().len()) + new.clone().count();
        if count > limits.modules {
            return Err(beyond(limits.modules, "modules in a federation"));
        }
        let len: usize = new.clone().map(|module| module.source.text.len()).sum();
        if before.map_or(0, Model::text_len) + len > limits.model_len {
            return Err(beyond(limits.model_len, "bytes of modules"));
        }
        // The merged model needs more than its modules. What will not fit is refused before it is merged, which takes
        // memory that nobody is charged with. Modules may declare the same classes.
        let merged = new.clone().map(|module| module.memory_merged(before)).max();
        let memory = new.clone().map(|module| module.memory()).sum::<usize>() + merged.unwrap_or(0);
        if before.map_or(0, Model::memory) + memory > limits.model_memory {
            return Err(too_large(limits));
        }
        self.quotas.check(memory).map_err(|quota| {
            notes.exceeded = Some(quota);
            self.quotas.refusal(quota, memory)
        })?;
        let work = memory_while_merging(new, before);
        if work > self.work_memory {
            notes.exceeded = Some(Quota::Process);
            let most = self.work_memory;
            let needed = format!("merging the modules takes {work} bytes of memory");
            let details = format!("{needed}, and at most {most} are allowed\n{WORK_IS_LIMITED}");
            return Err(Exception::RTIinternalError.because(details));
        }
        Ok(())
    }
}

fn too_large(limits: Limits) -> Refusal {
    beyond(limits.model_memory, "bytes of memory for the object model of a federation")
}

/// Checks the number of modules of a call.
pub(crate) fn are_few(limits: Limits, modules: &[FomModule]) -> Result<(), Refusal> {
    if modules.len() > limits.modules {
        return Err(beyond(limits.modules, "modules in a call"));
    }
    Ok(())
}

/// Returns the refusal that reports these problems, without those that would not have led to it.
fn refusal(problems: &[Problem]) -> Refusal {
    let exception = exception(problems).unwrap_or(Exception::RTIinternalError);
    let reported: Vec<Problem> =
        problems.iter().filter(|problem| problem.kind != ProblemKind::Irregular).cloned().collect();
    let mut details = render(&reported);
    if details.len() > DETAILS_LEN_MAX {
        details.truncate(details.floor_char_boundary(DETAILS_LEN_MAX));
        details.push_str("\n…");
    }
    exception.because(details)
}

const fn len(module: &FomModule) -> usize {
    match module {
        FomModule::File { content, .. } | FomModule::Compressed(content) => content.len(),
        FomModule::Url(_) => 0,
    }
}

fn expanded_len(module: &FomModule) -> usize {
    match module {
        FomModule::File { content, .. } | FomModule::Compressed(content) => {
            hemiola_fom::expanded_len(content)
        }
        FomModule::Url(_) => 0,
    }
}

/// Returns the problems among these that are errors, though not fatal, as lines for a log.
fn lines(problems: &[Problem]) -> Vec<String> {
    let irregular = |problem: &&Problem| problem.is_error();
    let line = |problem: &Problem| match problem.places.first() {
        Some((place, _)) => format!("{}: {}", place.name(), problem.message),
        None => problem.message.clone(),
    };
    let mut lines: Vec<String> =
        problems.iter().filter(irregular).take(IRREGULARITIES_MAX).map(line).collect();
    let more = problems.iter().filter(irregular).count() - lines.len();
    if more > 0 {
        lines.push(format!("{more} more irregularities are not shown"));
    }
    lines
}

/// Reads modules that a federate sent, and collects the problems of all of them.
fn read(
    modules: &[FomModule],
    known: &[Arc<Module>],
    memory_max: MemoryMax,
) -> Result<(Modules, Vec<Problem>), Vec<Problem>> {
    let known = Known::of(known);
    let (mut all, mut problems, mut left) = (Vec::new(), Vec::new(), memory_max);
    for module in modules {
        match open(module, &known, left) {
            Ok((modules, found)) => {
                left = modules.iter().fold(left, |left, module| left.after(module));
                all.extend(modules);
                problems.extend(found);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Problem::is_fatal) { Err(problems) } else { Ok((all, problems)) }
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
        if joins {
            let state = self.sessions.get(&session)?;
            // The kernel refuses these calls before it reads any module.
            if state.connected.is_none() || state.member.is_some() || modules.is_empty() {
                return None;
            }
            may(self, session, Right::Join, name).ok()?;
        } else {
            may_create(self, session, name, mim).ok()?;
        }
        are_few(self.limits, modules).ok()?;
        Some(self.preparation_of(session, name, modules, mim, joins))
    }

    /// Whether this result fits the call if it is carried out now.
    #[must_use]
    pub fn is_current(&self, session: SessionId, call: &Call, prepared: &Prepared) -> bool {
        // A call that needs no preparation any more is refused, whatever was prepared.
        self.preparation(session, call).is_none_or(|wanted| prepared.is_for(&wanted))
    }

    /// Returns the number of calls whose modules the kernel had to read and merge itself.
    #[must_use]
    pub const fn unprepared(&self) -> u64 {
        self.unprepared
    }

    fn preparation_of(
        &self,
        session: SessionId,
        name: &str,
        modules: &[FomModule],
        mim: Option<&FomModule>,
        joins: bool,
    ) -> Preparation {
        let existing = self.names.get(name).map(|id| &self.federations[id]);
        let onto = match existing {
            Some(existing) => MergeBase::Model(Arc::clone(&existing.model)),
            None if joins => MergeBase::Nowhere,
            None => MergeBase::New,
        };
        let (federation, modules) = (name.to_owned(), modules.to_vec());
        let (limits, is_partial) = (self.limits, self.partial_models);
        let by_session = self.sessions.get(&session).map_or(0, |state| state.accounts.held());
        let by_federation = existing.map_or(0, Federation::held);
        let quotas = Quotas::new(by_session, by_federation, self.memory.held, self.room, limits);
        let mim = mim.cloned();
        let work_memory = usize::MAX;
        Preparation { federation, modules, mim, onto, is_partial, limits, quotas, work_memory }
    }

    /// Returns the result for the modules of the present call: the one passed in, or else one that is made now.
    pub(crate) fn prepared(
        &mut self,
        session: SessionId,
        name: &str,
        modules: &[FomModule],
        mim: Option<&FomModule>,
        joins: bool,
    ) -> Prepared {
        let wanted = self.preparation_of(session, name, modules, mim, joins);
        let prepared = match self.prepared.clone().filter(|prepared| prepared.is_for(&wanted)) {
            Some(prepared) => prepared,
            None => {
                self.unprepared += 1;
                wanted.run()
            }
        };
        if let Some(quota) = prepared.0.notes.exceeded {
            self.memory.refusals.count(quota);
        }
        prepared
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
