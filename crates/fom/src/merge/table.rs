//! What modules say about each name, side by side, and what is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contradiction;
use super::unite::{Clash, Columns};
use crate::mim;
use crate::module::{Edition, Entry, Module};
use crate::problem::{Kind, Problem};

/// What one module says about a name.
pub(super) struct Said<'m, T> {
    pub(super) module: &'m Module,
    pub(super) entry: &'m Entry<T>,
}

/// What all modules say, by name; those of a class's parts begin with the class.
pub(super) struct Table<'m, T> {
    pub(super) entries: BTreeMap<String, Vec<Said<'m, T>>>,
}

impl<'m, T> Table<'m, T> {
    /// A table of every module.
    pub(super) fn of(
        modules: &'m [Arc<Module>],
        table: impl Fn(&'m Module) -> &'m [Entry<T>],
    ) -> Self {
        Self::gathered(modules, |module| table(module).iter())
    }

    /// Some entries of every module.
    pub(super) fn gathered<I: Iterator<Item = &'m Entry<T>>>(
        modules: &'m [Arc<Module>],
        table: impl Fn(&'m Module) -> I,
    ) -> Self
    where
        T: 'm,
    {
        let mut entries: BTreeMap<String, Vec<Said<'m, T>>> = BTreeMap::new();
        for module in modules {
            for entry in table(module) {
                entries.entry(entry.name.clone()).or_default().push(Said { module, entry });
            }
        }
        Self { entries }
    }

    /// The parts of classes of every module, named by the class, what stands between, and their own name.
    pub(super) fn members<I: Iterator<Item = (&'m str, &'m [Entry<T>])>>(
        modules: &'m [Arc<Module>],
        between: char,
        classes: impl Fn(&'m Module) -> I,
    ) -> Self {
        let mut entries: BTreeMap<String, Vec<Said<'m, T>>> = BTreeMap::new();
        for module in modules {
            for (class, members) in classes(module) {
                for entry in members {
                    let path = format!("{class}{between}{}", entry.name);
                    entries.entry(path).or_default().push(Said { module, entry });
                }
            }
        }
        Self { entries }
    }

    /// The first prose that a module has about a name.
    pub(super) fn semantics(&self, name: &str) -> String {
        let said = self.entries.get(name).into_iter().flatten();
        let mut prose = said.map(|said| &said.entry.semantics).filter(|text| !text.is_empty());
        prose.next().cloned().unwrap_or_default()
    }
}

/// Every name with what the modules together say about it. Contradictions go into the report.
pub(super) fn united<'t, T: Columns>(
    table: &'t Table<'_, T>,
    what: &'t str,
    report: &'t mut Report,
) -> impl Iterator<Item = (String, T)> + use<'t, T> {
    table.entries.iter().map(move |(name, said)| {
        let mut value = said[0].entry.value.clone();
        for (at, two) in said.iter().enumerate().skip(1) {
            for clash in value.unite(&two.entry.value) {
                report.clash(what, name, &clash, &said[..at], two);
            }
        }
        (name.clone(), value)
    })
}

/// Columns that say what federates do, and not what a federation is.
const INFORMATIVE: [&str; 5] =
    ["sharing", "ownership", "updateType", "valueRequired", "capability"];

/// What is wrong with the modules together.
#[derive(Default)]
pub(super) struct Report {
    problems: Vec<Problem>,
    /// For each module of 2010 that repeats standard names otherwise than 2025 has them: the first such place, and how
    /// many there are. By the name of the module, which orders them.
    overruled: BTreeMap<String, (Problem, usize)>,
}

impl Report {
    pub(super) fn add(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Two modules contradict each other. The standard overrules modules of 2010, which often
    /// repeat the management module of their edition.
    fn clash<T>(
        &mut self,
        what: &str,
        name: &str,
        clash: &Clash,
        before: &[Said<'_, T>],
        two: &Said<'_, T>,
    ) {
        // The first that says anything in this column.
        let one = before.iter().find(|one| one.entry.says(clash.column)).unwrap_or(&before[0]);
        let standard = before.iter().any(|one| mim::is_standard(one.module));
        if standard && two.module.edition == Edition::E2010 {
            let message = format!("{what} {name} is not as in the standard of 2025, which holds");
            let problem = Problem::new(Kind::Doubtful, message)
                .at(two.module.place(two.entry.span_of(clash.column)), "ignored");
            let first = self.overruled.entry(two.module.name().to_owned());
            first.or_insert((problem, 0)).1 += 1;
            return;
        }
        let part = match (clash.column, clash.part.as_str()) {
            ("kind", part) => format!("is two things: {part}"),
            (column, "") => format!("has two different {column}s"),
            (column, part) => format!("has two different {column}s {part}"),
        };
        // What federates agree upon among themselves, and no RTI acts upon, refuses no model.
        let informative = INFORMATIVE.contains(&clash.column);
        let kind = if informative { Kind::Doubtful } else { Kind::Inconsistent };
        let problem = contradiction(kind, format!("{what} {name} {part}"), one, two, clash.column);
        self.problems.push(if standard {
            problem.hint("names that begin with HLA are the standard's")
        } else {
            problem
        });
    }

    /// All of them, in the order of their places.
    pub(super) fn problems(mut self) -> Vec<Problem> {
        for (mut problem, count) in self.overruled.into_values() {
            if count > 1 {
                problem.hint = format!("{} more of this module are ignored", count - 1);
            }
            self.problems.push(problem);
        }
        self.problems.sort_by_cached_key(Problem::order);
        self.problems
    }
}
