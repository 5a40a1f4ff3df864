//! Builds a model from a document and checks that its parts fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hemiola_diagnostic::{Problem, nearest};
use hemiola_scenario::document::{At, Declared, Entry, FormulaText, Named, Section};

use super::figure::{constant, constant_of, figure, measured, problem, within};
use super::keys::{
    CacheKeys, CallKeys, ChainKeys, ComponentKeys, CorrelationKeys, ModelKeys, ObservationKeys,
    OperationKeys, OverheadKeys, RequestsKeys, RequestsWord, SweepKeys, UnitKeys,
};
use super::{
    Call, Chain, Component, CostKind, Formula, Measurements, Model, Observation, Operation,
    Overhead, Resources, Sweep, Target, WhatIf, Work,
};
use crate::cache::{Cache, Geometry, Requests};
use crate::chain::definitions::{Definitions, HitRatio, Piece, chain_name, definitions, physical};
use crate::chain::tree;
use crate::expression::{Expression, ExpressionError, SERVERS_MAX};
use crate::text::load as load_text;
use crate::uncertain::{Correlation, Definition, Network, NetworkError};
use hemiola_quantity::{DeclarationError, Dimension, Quantity, Unit, Units};

pub(super) fn check(
    root: Section<'_>,
    measurements: Option<&Measurements>,
) -> (Model, Vec<Problem>) {
    let root = &ModelKeys::from_section(root);
    let (units, costs, problems) = (Units::default(), Vec::new(), Vec::new());
    let mut checker = Checker { measurements, units, costs, problems };
    let mut model = checker.model(root);
    checker.names(root);
    let sound = checker.problems.is_empty();
    checker.references(root, &model);
    // An invalid formula is left out of the model, so the network would report it as missing. An unknown operation with
    // a name that no formula can have would be part of one.
    if sound && can_be_named(&model) {
        if model.has_capacity() || model.chains.iter().any(|chain| chain.demand.is_some()) {
            model.capacity = capacity_dimension(&model);
        }
        networks(root, &model, &mut checker.problems);
    }
    (model, checker.problems)
}

struct Checker<'m> {
    measurements: Option<&'m Measurements>,
    units: Units,
    costs: Vec<CostKind>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn wrong(&mut self, at: &Range<usize>, message: impl Into<String>, hint: &str) {
        self.problems.push(Problem::new(at.clone(), message).hint(hint));
    }

    fn model(&mut self, root: &ModelKeys<'_>) -> Model {
        self.declare_units(&root.units);
        self.costs = self.cost_kinds(&root.costs);
        let (measurements, p) = (self.measurements, &mut self.problems);
        let mut figures = Vec::new();
        for (name, keys) in root.figures.items() {
            figures.extend(figure(name.value, keys, &figures, measurements, &self.units, p));
        }
        Model {
            units: self.units.clone(),
            costs: self.costs.clone(),
            capacity: Dimension::RATE,
            title: root.title.text(),
            description: root.description.text(),
            seed: root.seed.value(),
            samples: root.samples.value(),
            figures,
            correlations: root.correlation.items().iter().filter_map(correlation).collect(),
            components: named(&root.components, |name, keys| self.component(name, keys)),
            caches: self.caches(root.caches.items()),
            chains: named(&root.chains, |name, keys| self.chain(name, keys)),
            what_ifs: self.what_ifs(root),
            sweeps: root.sweep.items().iter().map(|keys| self.sweep(keys)).collect(),
            overheads: root.overhead.items().iter().map(|keys| self.overhead(keys)).collect(),
            remarks: self.measurements.map_or_else(Vec::new, |given| absent(root, given)),
        }
    }

    /// Declares the units of the file, in the order written.
    fn declare_units(&mut self, keys: &Entry<Named<'_, UnitKeys<'_>>>) {
        let all = keys.items();
        for (symbol, keys) in all {
            let (name, prefixes) = (symbol.value, keys.prefixes.value());
            if keys.quantity.is_present == keys.value.is_present {
                let message = format!("the unit {name} has either \"quantity\" or \"value\"");
                let hint =
                    "write the quantity that it is the base unit of, or its value in other units";
                self.wrong(&symbol.at, message, hint);
            } else if let Some(quantity) = &keys.quantity.stated {
                let declared = self.units.add_quantity(quantity.value, name, prefixes);
                let problem = declared.map_err(|error| declaration(&error, symbol, &quantity.at));
                self.problems.extend(problem.err());
            } else if let Some(text) = keys.value.get() {
                let declared = match constant(text, &self.units) {
                    Ok(one) => self
                        .units
                        .add_unit(name, one, prefixes)
                        .map_err(|error| declaration(&error, symbol, &text.at)),
                    Err(problem) => Err(self.declared_below(problem, text, all)),
                };
                self.problems.extend(declared.err());
            }
        }
    }

    /// The problem of the value of a unit, with the remedy if it is in a unit that the file declares further below.
    fn declared_below(
        &self,
        problem: Problem,
        text: &FormulaText,
        all: &[(At<&str>, UnitKeys<'_>)],
    ) -> Problem {
        match Expression::parse_with(&text.text, &self.units) {
            Err(ExpressionError::UnknownUnit { unit, .. })
                if all.iter().any(|(symbol, _)| symbol.value == unit) =>
            {
                problem.hint(format!("declare {unit} above the units that use it"))
            }
            _ => problem,
        }
    }

    /// The costs besides time, each with the dimension of its unit.
    fn cost_kinds(&mut self, keys: &Entry<Named<'_, FormulaText>>) -> Vec<CostKind> {
        let mut kinds = Vec::new();
        for (name, text) in keys.items() {
            self.word(name, is_word(name.value));
            let unit = self.units.unit(&text.text);
            // A cost with a wrong unit is known, so that its name is not reported, too.
            let dimension = unit.as_ref().map_or(Dimension::NONE, |unit| unit.dimension());
            kinds.push(CostKind { name: name.value.to_owned(), dimension });
            if let Err(error) = unit {
                let hint = "write the unit of the cost, such as \"J/req\"";
                self.wrong(&within(&text.at, &error.at()), error.to_string(), hint);
            }
        }
        kinds
    }

    /// The costs besides time, and the capacity.
    fn resources(
        &mut self,
        costs: &Entry<Named<'_, FormulaText>>,
        capacity: &Entry<FormulaText>,
    ) -> Resources {
        Resources { costs: self.by_kind(costs), capacity: self.formula_of(capacity) }
    }

    /// Formulas by the names of costs besides time.
    fn by_kind(&mut self, entry: &Entry<Named<'_, FormulaText>>) -> Vec<(String, Formula)> {
        let mut found = Vec::new();
        for (name, text) in entry.items() {
            if !self.costs.iter().any(|kind| kind.name == name.value) {
                let known = self.costs.iter().map(|kind| kind.name.as_str());
                let mut problem = unknown(name.value, &name.at, "cost", known);
                if problem.hint.is_empty() {
                    problem.hint =
                        format!("declare it with its unit: [costs] {} = \"J\"", name.value);
                }
                self.problems.push(problem);
            }
            found.extend(self.formula(text).map(|formula| (name.value.to_owned(), formula)));
        }
        found
    }

    fn formula(&mut self, text: &FormulaText) -> Option<Formula> {
        let expression = Expression::parse_with(&text.text, &self.units);
        let expression = expression.map_err(|error| self.problems.push(problem(&text.at, &error)));
        Some(Formula { expression: expression.ok()?, at: text.at.clone() })
    }

    fn formula_of(&mut self, entry: &Entry<FormulaText>) -> Option<Formula> {
        self.formula(entry.get()?)
    }

    fn component(&mut self, name: &str, keys: &ComponentKeys<'_>) -> Component {
        let operations =
            named(&keys.operations, |own, keys| self.operation(format!("{name}.{own}"), keys));
        Component { name: name.to_owned(), title: keys.title.text(), operations }
    }

    fn operation(&mut self, name: String, keys: &OperationKeys<'_>) -> Operation {
        let cost = self.formula_of(&keys.cost);
        let work = Work {
            cost,
            resources: self.resources(&keys.costs, &keys.capacity),
            calls: self.calls(&keys.calls),
            parallel: keys.parallel.value(),
            at: keys.section.at.clone(),
        };
        Operation { name, title: keys.title.text(), work }
    }

    fn calls(&mut self, calls: &Entry<Vec<CallKeys<'_>>>) -> Vec<Call> {
        calls.items().iter().filter_map(|call| self.call(call)).collect()
    }

    fn call(&mut self, keys: &CallKeys<'_>) -> Option<Call> {
        let cost = self.formula_of(&keys.cost);
        let resources = self.resources(&keys.costs, &keys.capacity);
        let has_others = keys.costs.is_present || keys.capacity.is_present;
        let is_step = keys.cost.is_present || has_others;
        let (message, hint) = match (&keys.to.stated, is_step, keys.name.get()) {
            (Some(_), true, _) if has_others => (
                "a call to an operation has the costs and the capacity of the operation",
                "state them at the operation",
            ),
            (Some(_), true, _) => {
                ("a call has either \"to\" or \"cost\"", "the operation called states its cost")
            }
            (Some(_), _, Some(_)) => {
                ("a call to an operation takes the operation's name", "leave out \"name\"")
            }
            (Some(to), ..) => {
                let target = Target::Operation(to.value.to_owned());
                return Some(Call {
                    target,
                    times: self.formula_of(&keys.times),
                    at: to.at.clone(),
                });
            }
            (None, false, _) => (
                "a call must name its operation or step",
                "write to = \"component.operation\", or the name and cost of a step",
            ),
            (None, true, None) => ("a step needs a name", "tables list the step under it"),
            (None, true, Some(&name)) => {
                if keys.cost.is_present && cost.is_none() {
                    return None;
                }
                let target = Target::Step { name: name.to_owned(), cost, resources };
                let at = keys.section.at.clone();
                return Some(Call { target, times: self.formula_of(&keys.times), at });
            }
        };
        self.wrong(&keys.section.at, message, hint);
        None
    }

    fn chain(&mut self, name: &str, keys: &ChainKeys<'_>) -> Chain {
        let observations = keys.measured.items().iter();
        let observations = observations.filter_map(|keys| self.observation(keys)).collect();
        let budget = keys.budget.items().iter();
        let budget = budget
            .filter_map(|(name, text)| Some((name.value.to_owned(), self.formula(text)?)))
            .collect();
        Chain {
            name: name.to_owned(),
            title: keys.title.text(),
            work: Work {
                cost: None,
                resources: Resources::default(),
                calls: self.calls(&keys.calls),
                parallel: false,
                at: keys.section.at.clone(),
            },
            deadline: self.formula_of(&keys.deadline),
            probability: self.probability(&keys.probability),
            budget,
            limits: self.by_kind(&keys.limits),
            of_mean: keys.of_mean.value(),
            demand: self.formula_of(&keys.demand),
            observations,
        }
    }

    /// A probability between 0 and 1; the upper end of the middle 95 % by default.
    fn probability(&mut self, entry: &Entry<FormulaText>) -> f64 {
        const DEFAULT: f64 = 0.975;
        let constant = constant_of(entry, &self.units, &mut self.problems);
        let Some(At { value, at }) = constant else { return DEFAULT };
        if value.dimension == Dimension::NONE && 0.0 < value.value && value.value < 1.0 {
            return value.value;
        }
        let value = self.units.show(value);
        let message = format!("probability is {value}; it must lie between 0 % and 100 %");
        self.wrong(&at, message, "write it as \"99.9 %\"");
        DEFAULT
    }

    fn observation(&mut self, keys: &ObservationKeys<'_>) -> Option<Observation> {
        let before = self.problems.len();
        let own = constant_of(&keys.value, &self.units, &mut self.problems);
        if let Some(At { value, at }) = &own
            && value.dimension != Dimension::TIME
        {
            let found = self.units.name(value.dimension);
            let message = format!("a measured time must be a time, but this is {found}");
            self.problems.push(Problem::new(at.clone(), message));
        } else if let Some(At { value, at }) = &own
            && value.value < 0.0
        {
            let message = format!("a measured time must not be negative, but this is {value}");
            self.problems.push(Problem::new(at.clone(), message));
        }
        let name = keys.measured.stated.as_ref();
        if !keys.value.is_present && name.is_none() {
            let hint = "write value, or the name of a measured figure";
            self.wrong(&keys.section.at, "a measured time has no value", hint);
        }
        let time = Some(Dimension::TIME);
        let found = measured(name, self.measurements, &self.units, time, &mut self.problems);
        if self.problems.len() > before {
            return None;
        }
        let (value, taken) = match found {
            Some((value, found)) => (value, Some(found)),
            None => (own?.value, None),
        };
        let of = keys.of.get().map(|&of| of.to_owned());
        Some(Observation { of, circumstances: keys.circumstances.text(), value, taken })
    }

    fn what_ifs(&mut self, root: &ModelKeys<'_>) -> Vec<WhatIf> {
        let mut found: Vec<WhatIf> = Vec::new();
        for (name, keys) in root.what_if.items() {
            let after = keys.after.stated.as_ref().and_then(|after| {
                let index = found.iter().position(|earlier| earlier.name == after.value);
                if index.is_none() {
                    let what = "what-if before this one";
                    let earlier = found.iter().map(|earlier| earlier.name.as_str());
                    self.problems.push(unknown(after.value, &after.at, what, earlier));
                }
                index
            });
            let mut value = |(name, text): &(At<&str>, FormulaText)| {
                let value = constant(text, &self.units);
                let value = value.map_err(|problem| self.problems.push(problem)).ok()?;
                Some((name.value.to_owned(), value))
            };
            let figures = keys.figures.items().iter().filter_map(&mut value).collect();
            let operations =
                named(&keys.operations, |name, keys| self.operation(name.to_owned(), keys));
            let title = keys.title.text();
            found.push(WhatIf { name: name.value.to_owned(), title, after, figures, operations });
        }
        found
    }

    fn sweep(&mut self, keys: &SweepKeys<'_>) -> Sweep {
        let figure = keys.figure.text();
        let step = |text: &FormulaText| {
            let value = constant(text, &self.units);
            let value = value.map_err(|problem| self.problems.push(problem)).ok()?;
            let what_if = WhatIf {
                name: self.units.show(value).to_string(),
                title: String::new(),
                after: None,
                figures: vec![(figure.clone(), value)],
                operations: Vec::new(),
            };
            Some((value, what_if))
        };
        let steps = keys.values.items().iter().filter_map(step).collect();
        Sweep { title: keys.title.text(), figure, steps }
    }

    fn overhead(&mut self, keys: &OverheadKeys<'_>) -> Overhead {
        let mut formulas = |entry: &Entry<Vec<FormulaText>>| {
            entry.items().iter().filter_map(|text| self.formula(text)).collect()
        };
        let (rates, costs) = (formulas(&keys.rates), formulas(&keys.costs));
        Overhead { title: keys.title.text(), rates, costs }
    }

    fn caches(&mut self, keys: &[(At<&str>, CacheKeys<'_>)]) -> Vec<Cache> {
        let mut found = Vec::new();
        for (name, keys) in keys {
            found.extend(self.cache(name, keys, &found));
        }
        found
    }

    fn cache(&mut self, name: &At<&str>, keys: &CacheKeys<'_>, above: &[Cache]) -> Option<Cache> {
        let size = self.bytes(&keys.size);
        let object = self.bytes(&keys.object);
        let chunk = if keys.chunk.is_present { self.bytes(&keys.chunk) } else { object };
        let [hit, miss, processing] =
            [&keys.hit, &keys.miss, &keys.processing].map(|entry| self.formula_of(entry));
        let resources = self.resources(&keys.costs, &keys.capacity);
        let requests = keys.requests.get().and_then(|requests| self.requests(requests));
        let upstream = self.upstream(keys, above);
        let (object, chunk) = (object?, chunk?);
        let (requests, before, first) = match upstream {
            Some(upstream) => {
                self.fits_behind(keys, upstream, object);
                (upstream.requests.clone(), upstream.levels(), upstream.first)
            }
            None => (requests?, Vec::new(), Geometry::of(size?, chunk, object)),
        };
        let cache = Cache {
            name: name.value.to_owned(),
            title: keys.title.text(),
            algorithm: *keys.algorithm.get()?,
            size: size?,
            object,
            chunk,
            format: keys.format.value(),
            processing,
            hit: hit?,
            miss: miss?,
            resources,
            requests,
            before,
            first,
            simulated: keys.simulate.value(),
            at: keys.section.at.clone(),
        };
        // A larger ratio between chunk and object is a mistaken unit.
        const RATIO_MAX: f64 = 1e6;
        let ratio = cache.chunk / cache.object;
        if !(1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio) {
            let message = "the sizes of a chunk and an object differ by a factor above a million";
            self.wrong(&keys.chunk.key_at, message, "check their units");
        } else if cache.geometry().slots == 0 {
            let hint = "an object occupies whole chunks; increase the size or reduce the chunks";
            self.wrong(&keys.size.key_at, "this cache is too small for one object", hint);
        }
        Some(cache)
    }

    /// The cache that this one is behind. Reports a cache with neither requests nor another one before it.
    fn upstream<'c>(&mut self, keys: &CacheKeys<'_>, above: &'c [Cache]) -> Option<&'c Cache> {
        if keys.requests.is_present == keys.behind.is_present {
            let hint = "behind names a cache above this one whose misses are its requests";
            let at = if keys.behind.is_present { &keys.behind.key_at } else { &keys.section.at };
            self.wrong(at, "a cache has either \"requests\" or \"behind\"", hint);
            return None;
        }
        let behind = keys.behind.stated.as_ref()?;
        let found = above.iter().find(|cache| cache.name == behind.value);
        if found.is_none() {
            let known = above.iter().map(|cache| cache.name.as_str());
            self.problems.push(unknown(behind.value, &behind.at, "cache above this one", known));
        }
        found
    }

    /// Checks that the objects of a cache are the chunks of the one before it.
    fn fits_behind(&mut self, keys: &CacheKeys<'_>, upstream: &Cache, object: f64) {
        let size = |bytes: f64| Quantity { value: bytes, dimension: Dimension::INFORMATION };
        if (upstream.chunk - object).abs() > 1e-9 * object {
            let (chunk, object) = (size(upstream.chunk), size(object));
            let message = format!(
                "the objects of this cache are {object}, but the chunks that {} requests are {chunk}",
                upstream.name
            );
            self.wrong(&keys.object.key_at, message, "make the object as large as those chunks");
        } else if upstream.geometry().chunks_per_request > 1 {
            let message = format!(
                "{} fetches several chunks for an object; a cache behind it cannot be predicted",
                upstream.name
            );
            self.wrong(&keys.behind.key_at, message, "make its chunks as large as its objects");
        }
    }

    fn bytes(&mut self, entry: &Entry<FormulaText>) -> Option<f64> {
        let At { value: found, at } = constant_of(entry, &self.units, &mut self.problems)?;
        let message = if found.dimension != Dimension::INFORMATION {
            format!(
                "{} is {}; expected a number of bytes",
                entry.key,
                self.units.name(found.dimension)
            )
        } else if found.value <= 0.0 {
            format!("{} must be above zero", entry.key)
        } else {
            return Some(found.value);
        };
        self.wrong(&at, message, "write it as \"64 KiB\"");
        None
    }

    fn requests(&mut self, keys: &RequestsKeys<'_>) -> Option<Requests> {
        let objects = keys.objects.get().copied();
        match *keys.distribution.get()? {
            RequestsWord::Zipf => {
                Some(Requests::Zipf { exponent: *keys.exponent.get()?, objects: objects? })
            }
            RequestsWord::Uniform => Some(Requests::Zipf { exponent: 0.0, objects: objects? }),
            RequestsWord::Weights => self.weights(&keys.weights).map(Requests::Weights),
        }
    }

    fn weights(&mut self, entry: &Entry<Vec<FormulaText>>) -> Option<Vec<f64>> {
        let mut weights = Vec::new();
        for text in entry.items() {
            match constant(text, &self.units) {
                Ok(weight) if weight.dimension == Dimension::NONE && weight.value >= 0.0 => {
                    weights.push(weight.value);
                }
                Ok(_) => {
                    let message = "a weight must be a number of at least 0";
                    self.problems.push(Problem::new(text.at.clone(), message));
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            return Some(weights);
        }
        if entry.is_present {
            let message = "the weights must add up to more than 0";
            self.problems.push(Problem::new(entry.key_at.clone(), message));
        }
        None
    }

    /// Checks that names are unique and that formulas can use them.
    fn names(&mut self, root: &ModelKeys<'_>) {
        let mut seen = BTreeMap::new();
        for (name, _) in root.figures.items() {
            let is_own = self.units.unit(name.value).is_ok() && name.value.parse::<Unit>().is_err();
            if is_own {
                let message = format!("\"{}\" is already the name of a unit", name.value);
                let hint = format!("rename one of them: \"5 ms/{}\" is a unit", name.value);
                self.wrong(&name.at, message, &hint);
            }
            self.name(name, "figure", name.value.split('.').all(is_word), &mut seen);
        }
        for (name, keys) in root.components.items() {
            self.name(name, "component", is_word(name.value), &mut seen);
            for (operation, _) in keys.operations.items() {
                self.word(operation, is_word(operation.value));
            }
        }
        for (name, _) in root.caches.items() {
            self.name(name, "cache", is_word(name.value), &mut seen);
        }
        for (name, _) in root.chains.items() {
            if !is_word(name.value) {
                let message = format!("\"{}\" cannot name a chain", name.value);
                self.wrong(&name.at, message, WORD_HINT);
            }
        }
    }

    fn word(&mut self, name: &At<&str>, fits: bool) {
        if !fits {
            let message = format!("\"{}\" cannot be named in a formula", name.value);
            self.wrong(&name.at, message, WORD_HINT);
        }
    }

    fn name<'s>(
        &mut self,
        name: &At<&'s str>,
        kind: &'static str,
        fits: bool,
        seen: &mut BTreeMap<&'s str, &'static str>,
    ) {
        self.word(name, fits);
        let first = name.value.split('.').next().unwrap_or_default();
        if ["chain", "overhead"].contains(&first) {
            let message = format!("\"{first}\" is reserved: formulas use it for results");
            self.problems.push(Problem::new(name.at.clone(), message));
        }
        if let Some(other) = seen.insert(name.value, kind) {
            let message = format!("\"{}\" is already the name of a {other}", name.value);
            self.problems.push(Problem::new(name.at.clone(), message));
        }
    }

    /// Checks that all names used outside formulas exist.
    fn references(&mut self, root: &ModelKeys<'_>, model: &Model) {
        let operations = || model.components.iter().flat_map(|component| &component.operations);
        let names = operations().map(|operation| operation.name.clone());
        let caches = root.caches.items().iter().map(|(name, _)| format!("{}.request", name.value));
        let callable: Vec<String> = names.chain(caches).collect();
        let mut called = |name: &str, at: &Range<usize>| {
            if !callable.iter().any(|known| known == name) {
                let known = callable.iter().map(String::as_str);
                self.problems.push(unknown(name, at, "operation", known));
            }
        };
        let works = operations()
            .map(|operation| &operation.work)
            .chain(model.chains.iter().map(|chain| &chain.work))
            .chain(model.what_ifs.iter().flat_map(|w| w.operations.iter().map(|o| &o.work)));
        for call in works.flat_map(|work| &work.calls) {
            if let Target::Operation(name) = &call.target {
                called(name, &call.at);
            }
        }
        for (_, keys) in root.chains.items() {
            let of = keys.measured.items().iter().filter_map(|keys| keys.of.stated.as_ref());
            let budget = keys.budget.items().iter().map(|(name, _)| name);
            let steps: Vec<_> =
                keys.calls.items().iter().filter_map(|call| call.name.get()).collect();
            for name in of.chain(budget).filter(|name| !steps.contains(&&name.value)) {
                called(name.value, &name.at);
            }
        }
        for (what_if, (_, keys)) in model.what_ifs.iter().zip(root.what_if.items()) {
            for (name, _) in keys.operations.items() {
                if operations().any(|operation| operation.name == name.value) {
                    continue;
                }
                let names = callable.iter().map(String::as_str);
                self.problems.push(match names.clone().find(|known| *known == name.value) {
                    Some(cache) => {
                        let message = format!(
                            "\"{cache}\" follows from the cache and has no cost to replace"
                        );
                        let hint =
                            "change a figure in the cache's keys, or an operation that it reaches";
                        Problem::new(name.at.clone(), message).hint(hint)
                    }
                    None => unknown(name.value, &name.at, "operation", names),
                });
            }
            for (name, text) in keys.figures.items() {
                let value = what_if.figures.iter().find(|(figure, _)| figure == name.value);
                if self.is_figure(name, root) {
                    self.replaced(name.value, text, value.map(|(_, value)| *value), model);
                }
            }
        }
        for keys in root.sweep.items() {
            let Some(name) = &keys.figure.stated else { continue };
            if self.is_figure(name, root) {
                for text in keys.values.items() {
                    let value = constant(text, &self.units).ok();
                    self.replaced(name.value, text, value, model);
                }
            }
        }
    }

    /// Whether a figure that is to have another value exists.
    fn is_figure(&mut self, name: &At<&str>, root: &ModelKeys<'_>) -> bool {
        let figures = root.figures.items().iter().map(|(known, _)| known.value);
        let is_known = figures.clone().any(|known| known == name.value);
        if !is_known {
            self.problems.push(unknown(name.value, &name.at, "figure", figures));
        }
        is_known
    }

    /// Checks that another value of a figure keeps its dimension.
    fn replaced(&mut self, name: &str, text: &FormulaText, value: Option<Quantity>, model: &Model) {
        let mut inputs = model.figures.iter().map(|figure| &figure.input);
        let known = inputs.find(|input| input.name == name);
        if let (Some(known), Some(value)) = (known, value)
            && known.nominal.dimension != value.dimension
        {
            let [own, found] =
                [known.nominal, value].map(|quantity| self.units.name(quantity.dimension));
            let message = format!("{name} is {own}, but this is {found}");
            self.problems.push(Problem::new(text.at.clone(), message));
        }
    }
}

/// The problem of a declared unit. `at` is the place of its quantity or its value.
fn declaration(error: &DeclarationError, symbol: &At<&str>, at: &Range<usize>) -> Problem {
    use DeclarationError::{Name, Quantity, Symbol, Taken, TooMany, Value};
    let (at, hint) = match error {
        Name { .. } => (at, "use letters, digits and \"_\", with a letter first".to_owned()),
        Symbol { .. } => {
            let hint =
                "use up to 16 letters, digits and \"_\", with a letter first; \"2e3\" is a number";
            (&symbol.at, hint.to_owned())
        }
        Quantity { unit, .. } => {
            (at, format!("give {} a value instead: value = \"1 {unit}\"", symbol.value))
        }
        Taken { text, .. } if *text != symbol.value => {
            (&symbol.at, "choose another symbol, or leave out prefixes".to_owned())
        }
        Taken { .. } => (&symbol.at, "choose another symbol".to_owned()),
        Value { .. } => (at, "write its value in other units, such as \"0.01 EUR\"".to_owned()),
        TooMany { .. } => {
            let hint = "a count needs no quantity of its own: write it as a number without a unit";
            (at, hint.to_owned())
        }
    };
    Problem::new(at.clone(), error.to_string()).hint(hint)
}

const WORD_HINT: &str = "use letters, digits and \"_\", not a digit first";

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether formulas can name all operations that are called or replaced.
fn can_be_named(model: &Model) -> bool {
    let operations = model.components.iter().flat_map(|component| &component.operations);
    let replaced = model.what_ifs.iter().flat_map(|what_if| &what_if.operations);
    let all = || operations.clone().chain(replaced.clone());
    let works = all().map(|operation| &operation.work);
    let works = works.chain(model.chains.iter().map(|chain| &chain.work));
    let called = works.flat_map(|work| &work.calls).filter_map(|call| match &call.target {
        Target::Operation(name) => Some(name),
        Target::Step { .. } => None,
    });
    let mut names = all().map(|operation| &operation.name).chain(called);
    names.all(|name| name.split('.').all(is_word))
}

/// One value per name.
fn named<T, U>(entry: &Entry<Named<'_, T>>, mut value: impl FnMut(&str, &T) -> U) -> Vec<U> {
    entry.items().iter().map(|(name, keys)| value(name.value, keys)).collect()
}

fn correlation(keys: &CorrelationKeys<'_>) -> Option<Correlation> {
    Some(Correlation {
        first: keys.first.text(),
        second: keys.second.text(),
        coefficient: *keys.coefficient.get()?,
    })
}

/// The problem of a name that is not among `known`.
fn unknown<'n>(
    name: &str,
    at: &Range<usize>,
    what: &str,
    known: impl Iterator<Item = &'n str>,
) -> Problem {
    /// The names that a hint lists.
    const LISTED: usize = 8;
    let known: Vec<&str> = known.collect();
    let all = || match known.len() {
        0 => String::new(),
        1..=LISTED => format!("known: {}", known.join(", ")),
        many => format!("known: {} and {} more", known[..LISTED].join(", "), many - LISTED),
    };
    let near = nearest(name, known.iter().copied());
    let hint = near.map_or_else(all, |near| format!("did you mean \"{near}\"?"));
    Problem::new(at.clone(), format!("no {what} is called \"{name}\"")).hint(hint)
}

/// Every name of a measured figure that the given measurements lack.
fn absent(root: &ModelKeys<'_>, given: &Measurements) -> Vec<String> {
    let missing = |name: &Entry<&str>, consequence: &str| {
        let name = name.get().filter(|name| given.get(name).is_none())?;
        let near = nearest(name, given.names());
        let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        let of = if given.of.is_empty() { String::new() } else { format!(" of {}", given.of) };
        Some(format!("the measurements{of} have no figure \"{name}\", so {consequence}{near}"))
    };
    let figures = root.figures.items().iter().filter_map(|(name, keys)| {
        missing(&keys.measured, &format!("the figure {} keeps the value of the file", name.value))
    });
    let chains = root.chains.items().iter().flat_map(|(name, keys)| {
        let observed = keys.measured.items().iter();
        observed.filter_map(|keys| {
            let left_out = format!(
                "\"{}\" of {} is not compared with a measurement",
                keys.circumstances.text(),
                name.value
            );
            let kept = "the time in the file is compared instead";
            missing(&keys.measured, if keys.value.is_present { kept } else { &left_out })
        })
    });
    figures.chain(chains).collect()
}

/// The dimension of all capacities and demands: that of the first one that is something per time, in the model or in a
/// what-if.
fn capacity_dimension(model: &Model) -> Dimension {
    let what_ifs = (0..model.what_ifs.len()).map(|index| model.path(index));
    let found = std::iter::once(Vec::new()).chain(what_ifs).find_map(|path| {
        let Definitions { inputs, pieces, .. } = definitions(model, &path, &some_ratio);
        let ought = pieces.iter().map(|piece| (piece.definition.name.as_str(), piece.dimension));
        let given = inputs.iter().map(|input| (input.name.as_str(), input.nominal.dimension));
        let dimensions: BTreeMap<&str, Dimension> = ought.chain(given).collect();
        let stated = pieces.iter().filter(|piece| piece.is_capacity);
        let mut found = stated.filter_map(|piece| {
            piece.definition.expression.dimension(&dimensions, &model.units).ok()
        });
        found.find(|dimension| dimension.is_per_time())
    });
    found.unwrap_or(Dimension::RATE)
}

/// A hit ratio for checks that do not depend on it.
fn some_ratio(_: &Cache) -> HitRatio {
    HitRatio { nominal: 0.5, std: 0.0, systematic: 0.0 }
}

/// Checks that the formulas fit together, in the model, in every what-if and in every step of a sweep.
fn networks(root: &ModelKeys<'_>, model: &Model, problems: &mut Vec<Problem>) {
    let are_known = problems.is_empty();
    let check = |path: &[&WhatIf]| {
        network_problems(root, definitions(model, path, &some_ratio), model, are_known)
    };
    problems.extend(check(&[]));
    let what_ifs =
        model.what_ifs.iter().enumerate().map(|(index, what_if)| {
            (format!("the what-if \"{}\"", what_if.name), model.path(index))
        });
    let steps = model.sweeps.iter().flat_map(|sweep| {
        let place =
            move |step: &WhatIf| format!("the sweep of \"{}\", {}", sweep.figure, step.name);
        sweep.steps.iter().map(move |(_, step)| (place(step), vec![step]))
    });
    for (place, path) in what_ifs.chain(steps) {
        for mut problem in check(&path) {
            if !problems.iter().any(|known| problem.message.starts_with(&known.message)) {
                problem.message += &format!(" (in {place})");
                problems.push(problem);
            }
        }
    }
    if problems.is_empty() {
        problems.extend(unfiltered(root, model));
    }
    // Without circles every tree is finite.
    if problems.is_empty() {
        for (chain, (name, keys)) in model.chains.iter().zip(root.chains.items()) {
            match tree::nodes(model, &[], chain) {
                Err(error) => problems.push(Problem::new(name.at.clone(), error.to_string())),
                Ok(nodes)
                    if chain.demand.is_some() && !nodes.iter().any(|node| node.has_capacity) =>
                {
                    let message = format!("nothing in the chain {} has a capacity", chain.name);
                    let hint = "state the capacity of an operation or a step, or leave out demand";
                    problems.push(Problem::new(keys.demand.key_at.clone(), message).hint(hint));
                }
                Ok(_) => {}
            }
        }
    }
    // The capacity of a chain needs the tree of each what-if, too.
    if problems.is_empty() && model.has_capacity() {
        for (index, (name, _)) in root.what_if.items().iter().enumerate() {
            let path = model.path(index);
            for chain in &model.chains {
                if let Err(error) = tree::nodes(model, &path, chain) {
                    let message = format!("in the chain {}: {error}", chain.name);
                    problems.push(Problem::new(name.at.clone(), message));
                }
            }
        }
    }
}

/// Caches that are reached at the misses of another one, but with the requests of that one: it takes the popular
/// requests away.
fn unfiltered(root: &ModelKeys<'_>, model: &Model) -> Vec<Problem> {
    let pieces = definitions(model, &[], &some_ratio).pieces;
    let formula: BTreeMap<&str, &Expression> = pieces
        .iter()
        .map(|piece| (piece.definition.name.as_str(), &piece.definition.expression))
        .collect();
    let mut problems = Vec::new();
    for near in &model.caches {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let miss = format!("{}.miss", near.name);
        let mut open: Vec<&str> = vec![&miss];
        while let Some(name) = open.pop() {
            let names = formula.get(name).into_iter().flat_map(|formula| formula.names());
            open.extend(names.map(|(name, _)| name).filter(|name| reached.insert(name)));
        }
        let far = model.caches.iter().filter(|far| far.name != near.name && far.before.is_empty());
        for far in far.filter(|far| far.requests == near.requests) {
            if reached.contains(format!("{}.request", far.name).as_str()) {
                let keys = root.caches.items().iter().find(|(name, _)| name.value == far.name);
                let at = keys.map(|(_, keys)| keys.requests.key_at.clone());
                let message = format!(
                    "{} is reached at the misses of {}, so it does not get these requests",
                    far.name, near.name
                );
                let hint = format!(
                    "write behind = \"{}\" instead of requests, below that cache",
                    near.name
                );
                problems.push(Problem::new(at, message).hint(hint));
            }
        }
    }
    problems
}

/// `are_known` states whether every operation that is called exists.
fn network_problems(
    root: &ModelKeys<'_>,
    found: Definitions,
    model: &Model,
    are_known: bool,
) -> Vec<Problem> {
    let Definitions { inputs, correlations, pieces } = found;
    // Each formula is checked against the expected dimensions of all others, so that one mistake is one problem.
    let ought = pieces.iter().map(|piece| (piece.definition.name.as_str(), piece.dimension));
    let given = inputs.iter().map(|input| (input.name.as_str(), input.nominal.dimension));
    let dimensions: BTreeMap<&str, Dimension> = ought.chain(given).collect();
    let mut problems = Vec::new();
    for Piece { definition, at, dimension, .. } in pieces.iter().filter(|piece| piece.written) {
        match definition.expression.dimension(&dimensions, &model.units) {
            Ok(found) if found == *dimension => {}
            Ok(found) => {
                let [found, expected] = [found, *dimension].map(|of| model.units.name(of));
                let message = format!("this is {found}; expected {expected}");
                problems.push(Problem::new(at.clone(), message));
            }
            Err(error) => problems.push(problem(at, &error)),
        }
    }
    match physical(model, inputs, &correlations, pieces.clone()) {
        Ok(network) => problems.extend(impossible(&network, &pieces, &model.units)),
        Err(errors) => {
            // An operation that does not exist, or cannot be replaced, has been reported.
            let is_new =
                |error: &&NetworkError| are_known || !matches!(error, NetworkError::Twice { .. });
            let new = errors.iter().filter(is_new);
            problems.extend(new.filter_map(|error| network_problem(root, error, &pieces, model)));
            // Errors of derived formulas matter only if all written ones are sound.
            if problems.is_empty() && are_known {
                problems.extend(errors.iter().map(|error| Problem::new(None, error.to_string())));
            }
        }
    }
    problems
}

/// The written formulas whose values are impossible at the nominal values: negative, not finite, or with a share or a
/// load above 1. A formula that depends on one of them is not judged.
fn impossible(network: &Network, pieces: &[Piece], units: &Units) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut doubtful: BTreeSet<&str> = BTreeSet::new();
    let inputs = network.inputs().iter();
    let mut values: BTreeMap<&str, f64> =
        inputs.map(|input| (input.name.as_str(), input.nominal.value)).collect();
    for Definition { name, expression } in network.definitions() {
        let steps = expression.values(&values).expect("the network has every name");
        let value = *steps.last().expect("a formula has a value");
        values.insert(name, value);
        if expression.names().any(|(name, _)| doubtful.contains(name)) {
            doubtful.insert(name);
            continue;
        }
        let piece = pieces.iter().find(|piece| piece.definition.name == *name && piece.written);
        let found = piece.and_then(|piece| {
            let found = Quantity { value, dimension: piece.dimension };
            impossible_servers(piece, &steps)
                .or_else(|| overload(piece, &steps))
                .or_else(|| impossible_rest(piece, &steps))
                .or_else(|| negative_amount(piece, &steps))
                .or_else(|| impossible_value(piece, found, units))
        });
        if found.is_some() {
            doubtful.insert(name);
        }
        problems.extend(found);
    }
    problems
}

/// The problem of a queue with a number of servers that cannot be computed.
fn impossible_servers(piece: &Piece, steps: &[f64]) -> Option<Problem> {
    let expression = &piece.definition.expression;
    let is_wrong = |servers: f64| servers.fract() != 0.0 || !(1.0..=SERVERS_MAX).contains(&servers);
    let queue = expression.queues().into_iter().find(|queue| is_wrong(steps[queue.servers]))?;
    let text = &expression.text()[queue.at.clone()];
    let message = format!("the queue `{text}` has {} servers", steps[queue.servers]);
    let hint = format!("the number of servers must be a whole number from 1 to {SERVERS_MAX}");
    Some(Problem::new(within(&piece.at, &queue.at), message).hint(hint))
}

/// The problem of a queue that gets more work than its servers can do.
fn overload(piece: &Piece, steps: &[f64]) -> Option<Problem> {
    let expression = &piece.definition.expression;
    let mut queues = expression.queues().into_iter();
    let queue = queues.find(|queue| steps[queue.load] >= steps[queue.servers])?;
    let load = steps[queue.load] / steps[queue.servers];
    let (text, load) = (&expression.text()[queue.at.clone()], load_text(load));
    let message = format!("the queue `{text}` is overloaded: its load is {load}");
    Some(
        Problem::new(within(&piece.at, &queue.at), message).hint(
            "a queue that gets more work than it can do never empties; its load must be below 1",
        ),
    )
}

/// The problem of a rest `1 - x` that is negative: a load or a share above 1.
fn impossible_rest(piece: &Piece, steps: &[f64]) -> Option<Problem> {
    let rests = piece.definition.expression.rests().into_iter();
    let mut wrong =
        rests.filter(|rest| steps[rest.step] < 0.0 || rest.divides && steps[rest.step] == 0.0);
    let rest = wrong.next()?;
    let (of, at) = (1.0 - steps[rest.step], within(&piece.at, &rest.at));
    let text = &piece.definition.expression.text()[rest.at];
    Some(if rest.divides {
        Problem::new(at, format!("the divisor `{text}` is {}: a load of ρ = {of:.3}", 1.0 - of))
            .hint("a queue that gets more work than it can do never empties; its load must be below 1")
    } else {
        Problem::new(
            at,
            format!("`{text}` is the rest of a share of {of:.3}, which is more than 1"),
        )
        .hint("a share, such as a hit ratio, lies between 0 and 1")
    })
}

/// The problem of a period or a variation below 0.
fn negative_amount(piece: &Piece, steps: &[f64]) -> Option<Problem> {
    let mut all = piece.definition.expression.steps().iter().zip(steps);
    let (step, _) = all.find(|(step, value)| step.is_amount && **value < 0.0)?;
    let text = &piece.definition.expression.text()[step.at.clone()];
    let message = format!("`{text}` is negative here");
    let hint = "a period and the variation of a service time are at least 0";
    Some(Problem::new(within(&piece.at, &step.at), message).hint(hint))
}

/// The problem of a time, a count or a rate that is negative or not finite.
fn impossible_value(piece: &Piece, found: Quantity, units: &Units) -> Option<Problem> {
    let problem = |message: String| Problem::new(piece.at.clone(), message);
    if !found.value.is_finite() {
        let hint =
            "check for a division by zero, and for the root or the logarithm of a negative number";
        return Some(problem("the formula has no finite value".to_owned()).hint(hint));
    }
    (found.value < 0.0 && !piece.may_be_negative).then(|| {
        problem(format!("this is {}; it must not be negative", units.show(found)))
            .hint("times, numbers of calls and rates are at least 0")
    })
}

/// The problem behind an error of the network; `None` if the check of each formula has reported it.
fn network_problem(
    root: &ModelKeys<'_>,
    error: &NetworkError,
    pieces: &[Piece],
    model: &Model,
) -> Option<Problem> {
    let find = |name: &str| pieces.iter().find(|piece| piece.definition.name == name);
    match error {
        NetworkError::Expression { .. } => None,
        NetworkError::Cycle { names } => {
            let operation = |name: &&String| {
                let chain = |chain: &Chain| chain_name(&chain.name) == **name;
                name.split('.').count() == 2 || model.chains.iter().any(chain)
            };
            let place = |name: &&String| find(name).map(|piece| piece.at.start);
            let mut circle: Vec<&String> = names.iter().filter(operation).collect();
            circle.dedup();
            if circle.len() > 1 && circle.first() == circle.last() {
                circle.pop();
            }
            // Start the circle with the operation that is written first.
            if let Some(first) = (0..circle.len()).min_by_key(|at| place(&circle[*at])) {
                circle.rotate_left(first);
            }
            let at = circle.first().and_then(|name| find(name)).map(|piece| piece.at.clone());
            let around: Vec<&str> =
                circle.iter().chain(circle.first()).map(|name| name.as_str()).collect();
            let problem = Problem::new(at, format!("a circle of calls: {}", around.join(" -> ")));
            Some(problem.hint("a cost cannot depend on itself; remove one of the calls"))
        }
        NetworkError::Input { name, .. } | NetworkError::Twice { name } => {
            let figures = root.figures.items().iter();
            let at = figures.map(|(known, _)| known).find(|known| known.value == name);
            let at = at.map(|name| name.at.clone());
            let at = at.or_else(|| find(name).map(|piece| piece.at.clone()));
            Some(Problem::new(at, error.to_string()))
        }
        NetworkError::UnknownInput { .. } | NetworkError::Correlation(_) => {
            let at = root.correlation.is_present.then(|| root.correlation.key_at.clone());
            Some(Problem::new(at, error.to_string()))
        }
    }
}
