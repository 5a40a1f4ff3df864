//! All results of a model: the schema of its `summary.json`.

use hemiola_scenario::document::Word;
use serde::Serialize;

use crate::budget::{self, Budget, Place};
use crate::cache::robustness::{self, OtherSize, Variation};
use crate::cache::{Algorithm, Cache, Format};
use crate::chain::definitions::{Definitions, HitRatio, definitions, physical};
use crate::chain::{self, Cost, Expected, Margin, OwnTime, TreeNode, is_determined, ns};
use crate::file::{Chain, Model, Sweep, WhatIf};
use crate::overhead::{self, OverheadTable};
use crate::uncertain::{Input, Network};
use hemiola_quantity::{Dimension, Quantity};

/// Version of the schema; a reader rejects a later one.
pub const FORMAT: u32 = 2;

/// The results of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// `"model"`.
    pub kind: &'static str,
    /// The model's title.
    pub title: String,
    /// The model's description.
    pub description: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Samples of a Monte Carlo propagation.
    pub samples: usize,
    /// The origin of the measurements used, if any were given.
    pub measurements_of: Option<String>,
    /// Every result under a dotted name, for other programs.
    pub figures: Vec<ResultFigure>,
    /// The figures that the model is based on.
    pub inputs: Vec<InputFigure>,
    /// The chains, in the order written.
    pub chains: Vec<ChainSummary>,
    /// The caches, in the order written.
    pub caches: Vec<CacheSummary>,
    /// The overhead tables.
    pub overheads: Vec<OverheadTable>,
    /// Warnings about the figures.
    pub problems: Vec<String>,
    /// Every verdict that is not as it should be: a deadline or an allotment that is not kept, a measured time outside
    /// the expected range, a measured figure that the given measurements lack. What-ifs are not judged.
    pub failures: Vec<String>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultFigure {
    /// Its dotted name.
    pub name: String,
    /// Its mean, in [`ResultFigure::unit`].
    pub value: f64,
    /// `"ns"` or `"1"`.
    pub unit: &'static str,
    /// Lower end of its 95 % range.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Monte Carlo samples or simulated requests.
    pub samples: u64,
    /// The conditions it applies to.
    pub circumstances: String,
}

/// A figure that the model is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputFigure {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// Its value with its unit.
    pub value: String,
    /// Its variation, in words.
    pub range: String,
    /// `"measured"`, `"data sheet"` or `"guess"`.
    pub source: &'static str,
    /// The reason for this value, or the circumstances of its measurement.
    pub reason: String,
    /// The measured figure it was taken from.
    pub taken_from: Option<String>,
}

/// A chain with all its results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainSummary {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// Its cost.
    pub cost: Cost,
    /// Its deadline, ns.
    pub deadline_ns: Option<f64>,
    /// The probability with which the deadline and the allotments must be kept.
    pub probability: f64,
    /// The tree of calls.
    pub tree: Vec<TreeNode>,
    /// The own time of each part.
    pub waterfall: Vec<OwnTime>,
    /// Allotted, expected and measured times.
    pub budget: Budget,
    /// The same chain in every what-if.
    pub what_ifs: Vec<WhatIfCost>,
    /// The same chain over the values of each sweep.
    pub sweeps: Vec<SweepCost>,
}

/// A chain over several values of one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepCost {
    /// The description of the sweep; may be empty.
    pub title: String,
    /// The figure that varies.
    pub figure: String,
    /// The unit of its values.
    #[serde(skip)]
    pub dimension: Dimension,
    /// Its value in the model itself, in base units.
    pub nominal: f64,
    /// The chain with each value, in the order written.
    pub steps: Vec<SweepStep>,
}

/// A chain with another value of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepStep {
    /// The value in base units: seconds, bytes.
    pub value: f64,
    /// The cost; its name is the value with its unit.
    #[serde(flatten)]
    pub cost: WhatIfCost,
}

/// A chain in a what-if.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfCost {
    /// The what-if.
    pub name: String,
    /// Its description.
    pub title: String,
    /// The what-if it builds on.
    pub after: Option<String>,
    /// The chain's cost by samples.
    pub cost: Expected,
    /// Difference of the mean from that of the variation it builds on, ns.
    pub difference_ns: f64,
    /// Ratio of the mean to that of the model itself.
    pub factor: f64,
    /// Whether it keeps the deadline, which may have changed too.
    pub deadline: Option<Margin>,
    /// Warnings about its figures.
    pub problems: Vec<String>,
}

/// A cache with its variations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSummary {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// The replacement algorithm.
    pub algorithm: Algorithm,
    /// Its size in bytes.
    pub size_bytes: f64,
    /// The size of a chunk in bytes.
    pub chunk_bytes: f64,
    /// The size of one object in bytes.
    pub object_bytes: f64,
    /// The form in which objects are kept.
    pub format: Format,
    /// A request that misses, ns: the cost of every request without the cache.
    pub without_ns: f64,
    /// The cache as it is and with one design choice changed.
    pub designs: Vec<CacheVariant>,
    /// From a sixteenth of its size to four times as much, in rising order.
    pub sizes: Vec<CacheSize>,
    /// With changed requests.
    pub changes: Vec<CacheVariant>,
}

/// A cache with another size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSize {
    /// The size in bytes.
    pub size_bytes: f64,
    /// Its hit ratio and its cost.
    #[serde(flatten)]
    pub variant: CacheVariant,
}

/// A variation of a cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheVariant {
    /// The change and its hit ratio.
    #[serde(flatten)]
    pub variation: Variation,
    /// Mean time of a request at nominal values and the simulated hit ratio, ns.
    pub response_ns: f64,
}

/// Computes a model.
///
/// # Panics
/// Never for a model from [`crate::file::read`].
#[must_use]
pub fn analyze(model: &Model, measurements_of: Option<&str>) -> Summary {
    let variations: Vec<Variations> =
        model.caches.iter().map(|cache| Variations::of(cache, model.seed)).collect();
    let ratio = |cache: &Cache| {
        let at = model.caches.iter().position(|one| one.name == cache.name);
        hit_ratio(&variations[at.expect("it is one of the model's")].designs[0])
    };
    let (base, trees) = network(model, &[], &ratio);
    let mut problems: Vec<String> = model.remarks.clone();
    let variants: Vec<(&WhatIf, Network)> = (0..model.what_ifs.len())
        .map(|index| (&model.what_ifs[index], network(model, &model.path(index), &ratio).0))
        .collect();
    let sweeps: Vec<Vec<(&WhatIf, Network)>> = model
        .sweeps
        .iter()
        .map(|sweep| {
            let steps = sweep.steps.iter();
            steps.map(|(_, step)| (step, network(model, &[step], &ratio).0)).collect()
        })
        .collect();
    let mut chains = Vec::new();
    for (chain, nodes) in model.chains.iter().zip(&trees) {
        let (cost, predicted) = chain::cost(&base, model, chain);
        let (budget, tree) = budget::budget(&base, model, chain, nodes, &predicted);
        let warnings = cost.warnings.iter().map(|warning| format!("{}: {warning}", chain.name));
        problems.extend(warnings);
        problems.extend(too_few_samples(model, chain));
        problems.extend(budget.remarks.iter().cloned());
        let what_ifs = what_ifs(model, chain, &cost, &variants);
        problems.extend(what_ifs.iter().flat_map(|variant| {
            let text =
                |problem: &String| format!("{}, what if {}: {problem}", chain.name, variant.name);
            variant.problems.iter().map(text)
        }));
        let swept = model.sweeps.iter().zip(&sweeps);
        let swept: Vec<SweepCost> =
            swept.map(|(sweep, steps)| sweep_cost(model, chain, &cost, sweep, steps)).collect();
        for sweep in &swept {
            for step in &sweep.steps {
                let at = format!("{}, {} = {}", chain.name, sweep.figure, step.cost.name);
                problems
                    .extend(step.cost.problems.iter().map(|problem| format!("{at}: {problem}")));
            }
        }
        chains.push(ChainSummary {
            name: chain.name.clone(),
            title: chain.title.clone(),
            deadline_ns: budget.lines[0].allotted_ns,
            probability: chain.probability,
            waterfall: chain::waterfall(&tree),
            tree,
            budget,
            what_ifs,
            sweeps: swept,
            cost,
        });
    }
    let caches: Vec<CacheSummary> = model
        .caches
        .iter()
        .zip(variations)
        .map(|(one, found)| cache(&base, model, one, found))
        .collect();
    let mut summary = Summary {
        format: FORMAT,
        kind: "model",
        title: model.title.clone(),
        description: model.description.clone(),
        seed: model.seed,
        samples: model.samples,
        measurements_of: measurements_of.map(str::to_owned),
        figures: Vec::new(),
        inputs: inputs(model),
        overheads: overhead::tables(&base, model),
        chains,
        caches,
        problems,
        failures: model.remarks.clone(),
    };
    summary.figures = figures(&summary);
    summary.failures.extend(summary.chains.iter().flat_map(failures));
    summary
}

/// The verdicts of a chain that are not as they should be.
fn failures(chain: &ChainSummary) -> Vec<String> {
    let lines = chain.budget.lines.iter().filter(|line| line.is_kept == Some(false));
    let lines = lines.map(|line| {
        let limit = line.allotted_ns.map_or_else(String::new, budget::time);
        let what = if line.depth == 0 { "the deadline of" } else { "the budget of" };
        format!("{}: {what} {} ({limit}) is not kept", chain.name, line.name)
    });
    let held = chain.budget.held.iter();
    let outside = held.filter(|held| matches!(held.place, Place::Shorter | Place::Longer));
    let outside = outside.map(|held| {
        format!("{}: {}, {}: {}", chain.name, held.name, held.circumstances, held.verdict)
    });
    lines.chain(outside).collect()
}

/// The network of a what-if and the trees of its chains.
fn network<'m>(
    model: &'m Model,
    path: &[&'m WhatIf],
    ratio: &dyn Fn(&Cache) -> HitRatio,
) -> (Network, Vec<Vec<chain::tree::Node>>) {
    let Definitions { inputs, correlations, mut pieces } = definitions(model, path, ratio);
    let mut trees = Vec::new();
    // Only the model itself needs trees; a what-if needs the total cost.
    if path.is_empty() {
        for chain in &model.chains {
            let nodes = chain::tree::nodes(model, chain).expect("the reader built it too");
            pieces.extend(chain::tree::pieces(&nodes));
            pieces.extend(budget::pieces(chain, &nodes));
            trees.push(nodes);
        }
    }
    let network = physical(inputs, &correlations, pieces)
        .expect("the reader built the same network, and its trees add no name twice");
    (network, trees)
}

fn hit_ratio(as_it_is: &Variation) -> HitRatio {
    HitRatio {
        nominal: as_it_is.simulated,
        std: as_it_is.standard_error.unwrap_or(0.0),
        systematic: as_it_is.theory.map_or(0.0, |theory| (theory - as_it_is.simulated).abs()),
    }
}

/// The warning about a required probability that the samples do not determine.
fn too_few_samples(model: &Model, chain: &Chain) -> Option<String> {
    let judged = chain.deadline.is_some() || !chain.budget.is_empty();
    (judged && !is_determined(chain.probability, model.samples)).then(|| {
        let needed = (10.0 / (1.0 - chain.probability)).ceil();
        format!(
            "{}: {} samples do not determine what is kept with {}; set samples to {needed} or more",
            chain.name,
            model.samples,
            percent(chain.probability)
        )
    })
}

fn what_ifs(
    model: &Model,
    chain: &Chain,
    own: &Cost,
    variants: &[(&WhatIf, Network)],
) -> Vec<WhatIfCost> {
    let mut found: Vec<WhatIfCost> = Vec::new();
    for (what_if, network) in variants {
        let (cost, predicted) = chain::cost(network, model, chain);
        let mean_ns = cost.monte_carlo.mean_ns;
        let before = what_if.after.map_or(own.monte_carlo.mean_ns, |at| found[at].cost.mean_ns);
        let deadline = budget::deadline(network, chain);
        let deadline = deadline.map(|limit| Margin::of(&predicted, limit, chain.probability));
        // Curvature that the model itself has is not a problem of the variation.
        let new = |warning: &String| !own.warnings.contains(warning);
        found.push(WhatIfCost {
            name: what_if.name.clone(),
            title: what_if.title.clone(),
            after: what_if.after.map(|at| model.what_ifs[at].name.clone()),
            cost: cost.monte_carlo,
            difference_ns: mean_ns - before,
            factor: mean_ns / own.monte_carlo.mean_ns,
            deadline,
            problems: cost.warnings.into_iter().filter(new).collect(),
        });
    }
    found
}

fn sweep_cost(
    model: &Model,
    chain: &Chain,
    own: &Cost,
    sweep: &Sweep,
    steps: &[(&WhatIf, Network)],
) -> SweepCost {
    let mut inputs = model.figures.iter().map(|figure| &figure.input);
    let input = inputs.find(|input| input.name == sweep.figure);
    let nominal = input.expect("the reader checked the name").nominal;
    let costs = what_ifs(model, chain, own, steps);
    let values = sweep.steps.iter().map(|(value, _)| value.value);
    SweepCost {
        title: sweep.title.clone(),
        figure: sweep.figure.clone(),
        dimension: nominal.dimension,
        nominal: nominal.value,
        steps: values.zip(costs).map(|(value, cost)| SweepStep { value, cost }).collect(),
    }
}

/// The variations of a cache that do not change its requests.
struct Variations {
    designs: Vec<Variation>,
    sizes: Vec<OtherSize>,
}

impl Variations {
    fn of(cache: &Cache, seed: u64) -> Self {
        let sizes = robustness::sizes(cache, seed);
        Self { designs: robustness::designs(cache, &sizes, seed), sizes }
    }
}

fn cache(network: &Network, model: &Model, cache: &Cache, found: Variations) -> CacheSummary {
    let time = |what: &str| {
        network.nominal(&format!("{}.{what}", cache.name)).expect("every cache has these formulas")
    };
    let [hit, miss, processing] = ["hit", "miss", "processing"].map(time);
    let response = |variation: &Variation| {
        let (ratio, chunks) = (variation.simulated, f64::from(variation.chunks_per_request));
        let processed = match variation.format {
            Format::Raw => 1.0,
            Format::Processed => 1.0 - ratio,
        };
        ns(chunks * (ratio * hit + (1.0 - ratio) * miss) + processed * processing)
    };
    let variant =
        |variation: Variation| CacheVariant { response_ns: response(&variation), variation };
    let of_size = |other: OtherSize| CacheSize {
        size_bytes: cache.size * other.factor,
        variant: variant(other.variation),
    };
    let chunks = f64::from(cache.geometry().chunks_per_request);
    CacheSummary {
        name: cache.name.clone(),
        title: cache.title.clone(),
        algorithm: cache.algorithm,
        size_bytes: cache.size,
        chunk_bytes: cache.chunk,
        object_bytes: cache.object,
        format: cache.format,
        without_ns: ns(chunks * miss + processing),
        designs: found.designs.into_iter().map(variant).collect(),
        sizes: found.sizes.into_iter().map(of_size).collect(),
        changes: robustness::changes(cache, model.seed).into_iter().map(variant).collect(),
    }
}

fn inputs(model: &Model) -> Vec<InputFigure> {
    let figure = |figure: &crate::file::ModelFigure| {
        let nominal = figure.input.nominal;
        let reason = figure.taken.as_ref().map_or_else(
            || figure.reason.clone(),
            |taken| format!("{} samples, {}", taken.samples, taken.circumstances),
        );
        InputFigure {
            name: figure.input.name.clone(),
            title: figure.title.clone(),
            value: nominal.to_string(),
            range: range(&figure.input),
            source: figure.source.word(),
            reason,
            taken_from: figure.taken.as_ref().map(|taken| taken.name.clone()),
        }
    };
    model.figures.iter().map(figure).collect()
}

/// The variation of an input, in words.
fn range(input: &Input) -> String {
    use crate::uncertain::Distribution;
    let show = |value: f64| Quantity { value, dimension: input.nominal.dimension }.to_string();
    let stochastic = match &input.distribution {
        Distribution::Exact => String::new(),
        Distribution::Normal { std } => format!("± {} (1 σ)", show(*std)),
        Distribution::Uniform { low, high } => {
            format!("{} to {}, uniform", show(*low), show(*high))
        }
        Distribution::Triangular { low, high } => {
            format!("{} to {}, triangular", show(*low), show(*high))
        }
        Distribution::LogNormal { sigma } => format!("× or ÷ {:.3} (1 σ)", sigma.exp()),
        Distribution::SplitNormal { below, above } => {
            format!("− {} + {} (1 σ)", show(*below), show(*above))
        }
        Distribution::Weibull { shape } => format!("Weibull, shape {shape:.3}"),
        Distribution::Pareto { shape } => format!("Pareto, shape {shape:.3}"),
        Distribution::Samples(samples) => format!("{} readings", samples.len()),
        Distribution::Mixture(parts) => {
            let part = |(share, part): &(f64, Input)| format!("{} {}", percent(*share), part.name);
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    };
    let systematic =
        (input.systematic > 0.0).then(|| format!("± {} systematic", show(input.systematic)));
    match (stochastic.is_empty(), systematic) {
        (true, None) => "exact".to_owned(),
        (true, Some(systematic)) => systematic,
        (false, None) => stochastic,
        (false, Some(systematic)) => format!("{stochastic}, {systematic}"),
    }
}

fn figures(summary: &Summary) -> Vec<ResultFigure> {
    let samples = summary.samples as u64;
    let time = |name: String, cost: &Expected, circumstances: &str| ResultFigure {
        name,
        value: cost.mean_ns,
        unit: "ns",
        low: cost.low_ns,
        high: cost.high_ns,
        samples,
        circumstances: circumstances.to_owned(),
    };
    let mut figures = Vec::new();
    for chain in &summary.chains {
        let name = format!("chain.{}", chain.name);
        figures.push(time(name.clone(), &chain.cost.monte_carlo, "the model as it is"));
        for variant in &chain.what_ifs {
            let what = format!("what if: {}", words(&variant.title, &variant.name));
            figures.push(time(format!("{name}.{}", variant.name), &variant.cost, &what));
        }
    }
    for cache in &summary.caches {
        let as_it_is = &cache.designs[0].variation;
        let spread = 2.0 * as_it_is.standard_error.unwrap_or(0.0);
        figures.push(ResultFigure {
            name: format!("cache.{}.hit_ratio", cache.name),
            value: as_it_is.simulated,
            unit: "1",
            low: as_it_is.simulated - spread,
            high: as_it_is.simulated + spread,
            samples,
            circumstances: format!("simulated, {}", cache.algorithm.word()),
        });
    }
    figures
}

/// The title, or the name if there is none.
pub(crate) fn words<'t>(title: &'t str, name: &'t str) -> &'t str {
    if title.is_empty() { name } else { title }
}

/// A share as a percentage in the format of `Quantity`.
pub(crate) fn percent(share: f64) -> String {
    let number = Quantity { value: share * 100.0, dimension: Dimension::NONE }.to_string();
    format!("{number} %")
}
