//! Builds a model from a document and checks that its parts fit together.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::{Problem, nearest};
use hemiola_scenario::document::{At, Section};

use super::figure::{constant, constant_of, figure, measured, problem};
use super::{
    Call, Chain, Component, Formula, Measurements, Model, Observation, Operation, Overhead, Target,
    WhatIf, Work,
};
use crate::cache::{Algorithm, Cache, Format, Requests};
use crate::chain::definitions::{Definitions, HitRatio, Piece, chain_name, definitions};
use crate::chain::tree;
use crate::expression::Expression;
use crate::quantity::Dimension;
use crate::uncertain::{Correlation, Network, NetworkError};

/// The default of `seed`.
const SEED: u64 = 1;
/// The default of `samples`.
const SAMPLES: usize = 100_000;
/// The default of `simulate`.
const SIMULATED: u64 = 200_000;

pub(super) fn check(
    root: &Section<'_>,
    measurements: Option<&Measurements>,
) -> (Model, Vec<Problem>) {
    let mut problems = Vec::new();
    let p = &mut problems;
    let model = Model {
        title: words(root, "title"),
        description: words(root, "description"),
        seed: root.whole("seed").map_or(SEED, |seed| seed.value),
        samples: root.whole("samples").map_or(SAMPLES, |samples| samples.value),
        figures: figures(root, measurements, p),
        correlations: root.sections("correlation").iter().filter_map(correlation).collect(),
        components: root.named("components").iter().map(|(n, s)| component(n, s, p)).collect(),
        caches: root.named("caches").iter().filter_map(|(n, s)| cache(n, s, p)).collect(),
        chains: root.named("chains").iter().map(|(n, s)| chain(n, s, measurements, p)).collect(),
        what_ifs: what_ifs(root, p),
        overheads: root.sections("overhead").iter().map(|section| overhead(section, p)).collect(),
    };
    names(root, p);
    let sound = p.is_empty();
    references(root, &model, p);
    // An invalid formula is left out of the model, so the network would report it as missing.
    if sound {
        networks(root, &model, p);
    }
    (model, problems)
}

fn words(section: &Section<'_>, key: &str) -> String {
    section.text(key).map(|text| text.value.to_owned()).unwrap_or_default()
}

fn formula(text: &At<String>, problems: &mut Vec<Problem>) -> Option<Formula> {
    match Expression::parse(&text.value) {
        Ok(expression) => Some(Formula { expression, at: text.at.clone() }),
        Err(error) => {
            problems.push(problem(&text.at, &error));
            None
        }
    }
}

fn formula_of(section: &Section<'_>, key: &str, problems: &mut Vec<Problem>) -> Option<Formula> {
    formula(&section.formula(key)?, problems)
}

fn figures(
    root: &Section<'_>,
    measurements: Option<&Measurements>,
    problems: &mut Vec<Problem>,
) -> Vec<super::Figure> {
    root.named("figures")
        .iter()
        .filter_map(|(name, section)| figure(name.value, section, measurements, problems))
        .collect()
}

fn correlation(section: &Section<'_>) -> Option<Correlation> {
    Some(Correlation {
        first: section.text("first")?.value.to_owned(),
        second: section.text("second")?.value.to_owned(),
        coefficient: section.number("coefficient")?.value,
    })
}

fn component(name: &At<&str>, section: &Section<'_>, problems: &mut Vec<Problem>) -> Component {
    let operation = |(own, section): &(At<&str>, Section<'_>)| {
        let name = format!("{}.{}", name.value, own.value);
        Operation { name, title: words(section, "title"), work: work(section, problems) }
    };
    Component {
        name: name.value.to_owned(),
        title: words(section, "title"),
        operations: section.named("operations").iter().map(operation).collect(),
    }
}

fn work(section: &Section<'_>, problems: &mut Vec<Problem>) -> Work {
    Work {
        cost: formula_of(section, "cost", problems),
        calls: section
            .sections("calls")
            .iter()
            .filter_map(|call| self::call(call, problems))
            .collect(),
        at: section.at.clone(),
    }
}

fn call(section: &Section<'_>, problems: &mut Vec<Problem>) -> Option<Call> {
    let cost = formula_of(section, "cost", problems);
    let (to, name) = (section.text("to"), section.text("name"));
    let mut wrong = |message: &str, hint: &str| {
        problems.push(Problem::new(section.at.clone(), message).hint(hint));
    };
    let target = match to {
        Some(_) if section.has("cost") => {
            wrong("a call has either \"to\" or \"cost\"", "the operation called states its cost");
            return None;
        }
        Some(_) if name.is_some() => {
            wrong("a call to an operation takes the operation's name", "leave out \"name\"");
            return None;
        }
        Some(to) => Target::Operation(to.value.to_owned()),
        None if !section.has("cost") => {
            wrong(
                "a call must name its operation or step",
                "write to = \"component.operation\", or the name and cost of a step",
            );
            return None;
        }
        None => {
            let Some(name) = name else {
                wrong("a step needs a name", "tables list the step under it");
                return None;
            };
            Target::Step { name: name.value.to_owned(), cost: cost? }
        }
    };
    let times = formula_of(section, "times", problems);
    let at = section.text("to").map_or_else(|| section.at.clone(), |to| to.at);
    Some(Call { target, times, at })
}

fn chain(
    name: &At<&str>,
    section: &Section<'_>,
    measurements: Option<&Measurements>,
    problems: &mut Vec<Problem>,
) -> Chain {
    let observation = |section: &Section<'_>| observation(section, measurements, problems);
    let observations = section.sections("measured").iter().filter_map(observation).collect();
    let allotment = |(name, text): &(At<&str>, At<String>)| {
        Some((name.value.to_owned(), formula(text, problems)?))
    };
    let budget = section.formulas("budget").iter().filter_map(allotment).collect();
    Chain {
        name: name.value.to_owned(),
        title: words(section, "title"),
        work: work(section, problems),
        deadline: formula_of(section, "deadline", problems),
        budget,
        observations,
    }
}

fn observation(
    section: &Section<'_>,
    measurements: Option<&Measurements>,
    problems: &mut Vec<Problem>,
) -> Option<Observation> {
    let before = problems.len();
    let own = constant_of(section, "value", problems);
    if let Some(own) = &own
        && own.value.dimension != Dimension::TIME
    {
        let message =
            format!("a measured time must be a time, but this is {}", own.value.dimension);
        problems.push(Problem::new(own.at.clone(), message));
    }
    let name = section.text("measured");
    if !section.has("value") && name.is_none() {
        let problem = Problem::new(section.at.clone(), "a measured time has no value");
        problems.push(problem.hint("write value, or the name of a measured figure"));
    }
    let found = measured(name.as_ref(), measurements, Some(Dimension::TIME), problems);
    if problems.len() > before {
        return None;
    }
    let circumstances = words(section, "circumstances");
    let of = section.text("of").map(|of| of.value.to_owned());
    let (value, taken) = match (found, own) {
        (Some((value, found)), _) => (value, Some(found)),
        (None, Some(own)) => (own.value, None),
        (None, None) => return None,
    };
    Some(Observation { of, circumstances, value, taken })
}

fn what_ifs(root: &Section<'_>, problems: &mut Vec<Problem>) -> Vec<WhatIf> {
    let sections = root.named("what_if");
    let mut found: Vec<WhatIf> = Vec::new();
    for (name, section) in &sections {
        let after = section.text("after").and_then(|after| {
            let index = found.iter().position(|earlier| earlier.name == after.value);
            if index.is_none() {
                let message = format!("no what-if before this one is called \"{}\"", after.value);
                let near = nearest(after.value, found.iter().map(|earlier| earlier.name.as_str()));
                problems.push(did_you_mean(Problem::new(after.at, message), near));
            }
            index
        });
        let value = |(name, text): &(At<&str>, At<String>)| match constant(text) {
            Ok(value) => Some((name.value.to_owned(), value)),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        let figures = section.formulas("figures").iter().filter_map(value).collect();
        let operation = |(name, section): &(At<&str>, Section<'_>)| Operation {
            name: name.value.to_owned(),
            title: words(section, "title"),
            work: work(section, problems),
        };
        let operations = section.named("operations").iter().map(operation).collect();
        let title = words(section, "title");
        found.push(WhatIf { name: name.value.to_owned(), title, after, figures, operations });
    }
    found
}

fn did_you_mean(problem: Problem, near: Option<&str>) -> Problem {
    match near {
        Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
        None => problem,
    }
}

fn overhead(section: &Section<'_>, problems: &mut Vec<Problem>) -> Overhead {
    let mut formulas = |key: &str| {
        section.formula_list(key).iter().filter_map(|text| formula(text, problems)).collect()
    };
    let (rates, costs) = (formulas("rates"), formulas("costs"));
    Overhead { title: words(section, "title"), rates, costs }
}

fn cache(name: &At<&str>, section: &Section<'_>, problems: &mut Vec<Problem>) -> Option<Cache> {
    let algorithm = section.text("algorithm").map(|word| word.value);
    let format = match section.text("format").map(|word| word.value) {
        Some("processed") => Format::Processed,
        _ => Format::Raw,
    };
    let size = bytes(section, "size", problems);
    let object = bytes(section, "object", problems);
    let chunk = if section.has("chunk") { bytes(section, "chunk", problems) } else { object };
    let [hit, miss, processing] =
        ["hit", "miss", "processing"].map(|key| formula_of(section, key, problems));
    let requests = section.section("requests").and_then(|section| requests(&section, problems));
    let cache = Cache {
        name: name.value.to_owned(),
        title: words(section, "title"),
        algorithm: Algorithm::ALL.into_iter().find(|one| Some(one.word()) == algorithm)?,
        size: size?,
        object: object?,
        chunk: chunk?,
        format,
        processing,
        hit: hit?,
        miss: miss?,
        requests: requests?,
        simulated: section.whole("simulate").map_or(SIMULATED, |requests| requests.value),
        at: section.at.clone(),
    };
    // A larger ratio between chunk and object is a mistaken unit.
    const RATIO_MAX: f64 = 1e6;
    let ratio = cache.chunk / cache.object;
    if !(1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio) {
        let message = "the sizes of a chunk and an object differ by a factor above a million";
        problems.push(Problem::new(section.key_at("chunk"), message).hint("check their units"));
    } else if cache.geometry().slots == 0 {
        let message = "this cache is too small for one object";
        let hint = "an object occupies whole chunks; increase the size or reduce the chunks";
        problems.push(Problem::new(section.key_at("size"), message).hint(hint));
    }
    Some(cache)
}

fn bytes(section: &Section<'_>, key: &str, problems: &mut Vec<Problem>) -> Option<f64> {
    let found = constant_of(section, key, problems)?;
    let problem = if found.value.dimension != Dimension::INFORMATION {
        format!("{key} is {}; expected a number of bytes", found.value.dimension)
    } else if found.value.value <= 0.0 {
        format!("{key} must be above zero")
    } else {
        return Some(found.value.value);
    };
    problems.push(Problem::new(found.at, problem).hint("write it as \"64 KiB\""));
    None
}

fn requests(section: &Section<'_>, problems: &mut Vec<Problem>) -> Option<Requests> {
    let word = section.text("distribution")?.value;
    let (wanted, refused): (&[&str], &[&str]) = match word {
        "zipf" => (&["exponent", "objects"], &["weights"]),
        "uniform" => (&["objects"], &["exponent", "weights"]),
        "weights" => (&["weights"], &["exponent", "objects"]),
        _ => return None,
    };
    for key in wanted.iter().filter(|key| !section.has(key)) {
        problems.push(Problem::new(
            section.at.clone(),
            format!("the distribution {word} needs \"{key}\""),
        ));
    }
    for key in refused.iter().filter(|key| section.has(key)) {
        let message = format!("the distribution {word} has no \"{key}\"");
        problems.push(Problem::new(section.key_at(key), message).hint("leave it out"));
    }
    let objects = section.whole::<usize>("objects").map(|objects| objects.value);
    match word {
        "zipf" => {
            Some(Requests::Zipf { exponent: section.number("exponent")?.value, objects: objects? })
        }
        "uniform" => Some(Requests::Zipf { exponent: 0.0, objects: objects? }),
        _ => {
            let mut weights = Vec::new();
            for text in section.formula_list("weights") {
                match constant(&text) {
                    Ok(weight) if weight.dimension == Dimension::NONE && weight.value >= 0.0 => {
                        weights.push(weight.value);
                    }
                    Ok(_) => problems
                        .push(Problem::new(text.at, "a weight must be a number of at least 0")),
                    Err(problem) => problems.push(problem),
                }
            }
            let sum: f64 = weights.iter().sum();
            if sum > 0.0 && sum.is_finite() {
                return Some(Requests::Weights(weights));
            }
            if section.has("weights") {
                let message = "the weights must add up to more than 0";
                problems.push(Problem::new(section.key_at("weights"), message));
            }
            None
        }
    }
}

/// Checks that names are unique and that formulas can use them.
fn names(root: &Section<'_>, problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &'static str> = BTreeMap::new();
    let word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for (key, kind) in [("figures", "figure"), ("components", "component"), ("caches", "cache")] {
        for (name, section) in root.named(key) {
            let parts: Vec<&str> =
                if key == "figures" { name.value.split('.').collect() } else { vec![name.value] };
            let mut check = |text: &str, fits: bool, at: &Range<usize>| {
                if !fits {
                    let message = format!("\"{text}\" cannot be named in a formula");
                    let hint = "use letters, digits and \"_\", not a digit first";
                    problems.push(Problem::new(at.clone(), message).hint(hint));
                }
            };
            check(name.value, parts.iter().all(|part| word(part)), &name.at);
            for (operation, _) in section.named("operations") {
                check(operation.value, word(operation.value), &operation.at);
            }
            if ["chain", "overhead"].contains(&parts[0]) {
                let message = format!("\"{}\" is reserved: formulas use it for results", parts[0]);
                problems.push(Problem::new(name.at.clone(), message));
            }
            if let Some(other) = seen.insert(name.value.to_owned(), kind) {
                let message = format!("\"{}\" is already the name of a {other}", name.value);
                problems.push(Problem::new(name.at, message));
            }
        }
    }
    for (name, _) in root.named("chains") {
        if !word(name.value) {
            let problem = Problem::new(name.at, format!("\"{}\" cannot name a chain", name.value));
            problems.push(problem.hint("use letters, digits and \"_\", not a digit first"));
        }
    }
}

/// Checks that all names used outside formulas exist.
fn references(root: &Section<'_>, model: &Model, problems: &mut Vec<Problem>) {
    let operations = || model.components.iter().flat_map(|component| &component.operations);
    let mut callable: Vec<String> = operations().map(|operation| operation.name.clone()).collect();
    callable.extend(root.named("caches").iter().map(|(name, _)| format!("{}.request", name.value)));
    let unknown = |name: &str, at: &Range<usize>, what: &str| {
        let problem = Problem::new(at.clone(), format!("no {what} is called \"{name}\""));
        did_you_mean(problem, nearest(name, callable.iter().map(String::as_str)))
    };
    let works = operations()
        .map(|operation| &operation.work)
        .chain(model.chains.iter().map(|chain| &chain.work))
        .chain(model.what_ifs.iter().flat_map(|w| w.operations.iter().map(|o| &o.work)));
    for call in works.flat_map(|work| &work.calls) {
        if let Target::Operation(name) = &call.target
            && !callable.contains(name)
        {
            problems.push(unknown(name, &call.at, "operation"));
        }
    }
    for (_, section) in root.named("chains") {
        let of = section.sections("measured").into_iter().filter_map(|s| s.text("of"));
        let budget = section.formulas("budget").into_iter().map(|(name, _)| name);
        let steps: Vec<_> =
            section.sections("calls").iter().filter_map(|call| call.text("name")).collect();
        for name in of.chain(budget) {
            let step = steps.iter().any(|step| step.value == name.value);
            if !step && !callable.iter().any(|known| known == name.value) {
                problems.push(unknown(name.value, &name.at, "operation"));
            }
        }
    }
    let figures = root.named("figures");
    for (what_if, (_, section)) in model.what_ifs.iter().zip(root.named("what_if")) {
        for (name, text) in section.formulas("figures") {
            let mut inputs = model.figures.iter().map(|figure| &figure.input);
            let known = inputs.find(|input| input.name == name.value);
            let value = what_if.figures.iter().find(|(figure, _)| figure == name.value);
            if !figures.iter().any(|(known, _)| known.value == name.value) {
                let message = format!("no figure is called \"{}\"", name.value);
                let near = nearest(name.value, figures.iter().map(|(known, _)| known.value));
                problems.push(did_you_mean(Problem::new(name.at, message), near));
            } else if let (Some(known), Some((_, value))) = (known, value)
                && known.nominal.dimension != value.dimension
            {
                let own = known.nominal.dimension;
                let message = format!("{} is {own}, but this is {}", name.value, value.dimension);
                problems.push(Problem::new(text.at, message));
            }
        }
        for (name, _) in section.named("operations") {
            if !operations().any(|operation| operation.name == name.value) {
                problems.push(unknown(name.value, &name.at, "operation"));
            }
        }
    }
}

/// Checks that the formulas fit together, in the model and in every what-if.
fn networks(root: &Section<'_>, model: &Model, problems: &mut Vec<Problem>) {
    // The formulas do not depend on the hit ratio.
    let some = |_: &Cache| HitRatio { nominal: 0.5, std: 0.0, systematic: 0.0 };
    let variants = (0..model.what_ifs.len()).map(|index| model.path(index));
    for path in std::iter::once(Vec::new()).chain(variants) {
        for problem in network_problems(root, definitions(model, &path, &some), model) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    // Without circles every tree is finite.
    if problems.is_empty() {
        for (chain, (name, _)) in model.chains.iter().zip(root.named("chains")) {
            if let Err(error) = tree::nodes(model, chain) {
                problems.push(Problem::new(name.at, error.to_string()));
            }
        }
    }
}

fn network_problems(root: &Section<'_>, found: Definitions, model: &Model) -> Vec<Problem> {
    let Definitions { inputs, correlations, pieces } = found;
    // Each formula is checked against the expected dimensions of all others, so that one mistake is one problem.
    let ought = pieces.iter().map(|piece| (piece.definition.name.as_str(), piece.dimension));
    let given = inputs.iter().map(|input| (input.name.as_str(), input.nominal.dimension));
    let dimensions: BTreeMap<&str, Dimension> = ought.chain(given).collect();
    let mut problems = Vec::new();
    for Piece { definition, at, dimension, .. } in pieces.iter().filter(|piece| piece.written) {
        match definition.expression.dimension(&dimensions) {
            Ok(found) if found == *dimension => {}
            Ok(found) => {
                let message = format!("this is {found}; expected {dimension}");
                problems.push(Problem::new(at.clone(), message));
            }
            Err(error) => problems.push(problem(at, &error)),
        }
    }
    let definitions = pieces.iter().map(|piece| piece.definition.clone()).collect();
    if let Err(errors) = Network::new(inputs.clone(), &correlations, definitions) {
        let found = errors.iter().filter_map(|error| network_problem(root, error, &pieces, model));
        problems.extend(found);
        // Errors of derived formulas matter only if all written ones are sound.
        if problems.is_empty() {
            problems.extend(errors.iter().map(|error| Problem::new(None, error.to_string())));
        }
    }
    problems
}

/// The problem behind an error of the network; `None` if the check of each formula has reported it.
fn network_problem(
    root: &Section<'_>,
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
            let figures = root.named("figures");
            let at = figures
                .iter()
                .find(|(known, _)| known.value == name)
                .map(|(name, _)| name.at.clone());
            let at = at.or_else(|| find(name).map(|piece| piece.at.clone()));
            Some(Problem::new(at, error.to_string()))
        }
        NetworkError::UnknownInput { .. } | NetworkError::Correlation(_) => {
            let at = root.has("correlation").then(|| root.key_at("correlation"));
            Some(Problem::new(at, error.to_string()))
        }
    }
}
