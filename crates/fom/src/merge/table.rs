//! The declarations of all modules by name, and the problems with them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_diagnostic::nearest;

use super::columns::{Clash, Columns};
use super::contradiction;
use crate::mim;
use crate::module::{Edition, Entry, Module};
use crate::problem::{Problem, ProblemKind};
use crate::word::INFORMATIVE;

/// The declaration of a name in one module.
pub(super) struct Said<'m, T> {
    pub(super) module: &'m Module,
    pub(super) entry: &'m Entry<T>,
}

/// The declarations of all modules by name. Names of attributes and parameters begin with the class. Other names are
/// those of the modules and not copied: a model may have hundreds of thousands.
pub(super) struct Table<'m, T> {
    pub(super) entries: BTreeMap<Cow<'m, str>, Vec<Said<'m, T>>>,
}

impl<'m, T> Table<'m, T> {
    /// Collects one table of every module.
    pub(super) fn of(
        modules: &'m [Arc<Module>],
        table: impl Fn(&'m Module) -> &'m [Entry<T>],
    ) -> Self {
        Self::gathered(modules, |module| table(module).iter())
    }

    /// Collects some entries of every module.
    pub(super) fn gathered<I: Iterator<Item = &'m Entry<T>>>(
        modules: &'m [Arc<Module>],
        table: impl Fn(&'m Module) -> I,
    ) -> Self
    where
        T: 'm,
    {
        let mut table_of_all = Self { entries: BTreeMap::new() };
        for module in modules {
            for entry in table(module) {
                table_of_all.add(Cow::Borrowed(&entry.name), Said { module, entry });
            }
        }
        table_of_all
    }

    /// Collects the members of the classes of every module, under the name of the class, a separator, and their own
    /// name.
    pub(super) fn members<I: Iterator<Item = (&'m str, &'m [Entry<T>])>>(
        modules: &'m [Arc<Module>],
        separator: char,
        classes: impl Fn(&'m Module) -> I,
    ) -> Self {
        let mut table = Self { entries: BTreeMap::new() };
        for module in modules {
            for (class, members) in classes(module) {
                for entry in members {
                    let path = format!("{class}{separator}{}", entry.name);
                    table.add(Cow::Owned(path), Said { module, entry });
                }
            }
        }
        table
    }

    /// Adds a declaration. Nearly always it is the only one of its name.
    fn add(&mut self, name: Cow<'m, str>, said: Said<'m, T>) {
        self.entries.entry(name).or_insert_with(|| Vec::with_capacity(1)).push(said);
    }

    /// Returns the first non-empty description of a name.
    pub(super) fn semantics(&self, name: &str) -> String {
        let said = self.entries.get(name).into_iter().flatten();
        let mut prose = said.map(|said| &said.entry.semantics).filter(|text| !text.is_empty());
        prose.next().cloned().unwrap_or_default()
    }
}

/// Returns every name with its merged declarations. Contradictions go into the report.
pub(super) fn merged<'t, 'r, T: Columns>(
    table: &'t Table<'_, T>,
    what: &'r str,
    report: &'r mut Report,
) -> impl Iterator<Item = (&'t str, T)> + use<'t, 'r, T> {
    table.entries.iter().map(move |(name, said)| {
        let mut value = said[0].entry.value.clone();
        for (at, two) in said.iter().enumerate().skip(1) {
            for clash in value.merge(&two.entry.value) {
                report.clash(what, name, &clash, &said[..at], two);
            }
        }
        (&**name, value)
    })
}

/// The largest number of names that are compared to find suggestions for undefined names.
const COMPARISONS_MAX: usize = 200_000;

/// The largest number of missing modules in one hint.
const MISSING_SHOWN_MAX: usize = 5;

/// The problems with the modules together.
pub(super) struct Report {
    problems: Vec<Problem>,
    /// For each module of 2010 that declares standard names differently from 2025: the first such place and the number
    /// of them, by the name of the module.
    overruled: BTreeMap<String, (Problem, usize)>,
    /// The modules that each module depends on and that were not given, by the name of the module.
    missing: BTreeMap<String, BTreeSet<String>>,
    comparisons_left: usize,
}

impl Report {
    pub(super) fn of(modules: &[Arc<Module>]) -> Self {
        // Dependencies are named as people write them.
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let given: BTreeSet<String> =
            modules.iter().map(|module| plain(&module.identification.name)).collect();
        let mut missing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for module in modules {
            for (kind, name) in &module.identification.references {
                let name = name.trim();
                if kind == "Dependency" && !name.is_empty() && !given.contains(&plain(name)) {
                    missing.entry(module.name().to_owned()).or_default().insert(name.to_owned());
                }
            }
        }
        let (problems, overruled) = (Vec::new(), BTreeMap::new());
        Self { problems, overruled, missing, comparisons_left: COMPARISONS_MAX }
    }

    /// Returns a hint with the modules that these modules depend on and that were not given; empty if there are none.
    pub(super) fn missing_modules<'m>(
        &self,
        referring: impl Iterator<Item = &'m Module>,
    ) -> String {
        let referring = referring.filter_map(|module| self.missing.get_key_value(module.name()));
        let Some((module, names)) = referring.min_by_key(|(module, _)| *module) else {
            return String::new();
        };
        let shown: Vec<&str> = names.iter().take(MISSING_SHOWN_MAX).map(String::as_str).collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{module} depends on modules that were not given: {}{more}", shown.join(", "))
    }

    /// Returns a hint with the candidate that is most similar to a name; empty if none is similar, or if too many names
    /// have been compared before.
    pub(super) fn did_you_mean<'c>(
        &mut self,
        name: &str,
        candidates: impl FnOnce() -> Vec<&'c str>,
    ) -> String {
        if self.comparisons_left == 0 {
            return String::new();
        }
        let candidates = candidates();
        self.comparisons_left = self.comparisons_left.saturating_sub(candidates.len());
        if self.comparisons_left == 0 {
            return String::new();
        }
        nearest(name, candidates).map(|near| format!("did you mean {near}?")).unwrap_or_default()
    }

    pub(super) fn add(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports that two modules contradict each other. The standard overrules modules of 2010, which often repeat the
    /// management module of their edition.
    fn clash<T>(
        &mut self,
        what: &str,
        name: &str,
        clash: &Clash,
        before: &[Said<'_, T>],
        two: &Said<'_, T>,
    ) {
        // The first declaration that has this column.
        let one = before.iter().find(|one| one.entry.says(clash.column)).unwrap_or(&before[0]);
        // The standard modules come first.
        let standard = mim::is_standard(before[0].module);
        if standard && two.module.edition == Edition::E2010 {
            let message = format!("{what} {name} differs from the standard of 2025, which applies");
            let problem = Problem::new(ProblemKind::Doubtful, message)
                .at(two.module.place(two.entry.span_of(clash.column)), "ignored");
            let first = self.overruled.entry(two.module.name().to_owned());
            first.or_insert((problem, 0)).1 += 1;
            return;
        }
        let part = match (clash.column, clash.part.as_str()) {
            ("kind", part) => format!("is declared as two kinds: {part}"),
            (column, "") => format!("has two different {column}s"),
            (column, part) => format!("has two different {column}s {part}"),
        };
        // A contradiction in an informative column does not make the model invalid.
        let informative = INFORMATIVE.contains(&clash.column);
        let kind = if informative { ProblemKind::Doubtful } else { ProblemKind::Inconsistent };
        let problem = contradiction(kind, format!("{what} {name} {part}"), one, two, clash.column);
        self.problems.push(if standard {
            problem.hint("names that begin with HLA belong to the standard")
        } else {
            problem
        });
    }

    /// Returns all problems in the order of their places.
    pub(super) fn problems(mut self) -> Vec<Problem> {
        for (mut problem, count) in self.overruled.into_values() {
            if count > 1 {
                problem.hint = format!("{} more names of this module are ignored", count - 1);
            }
            self.problems.push(problem);
        }
        self.problems.sort_by_cached_key(Problem::order);
        self.problems
    }
}
