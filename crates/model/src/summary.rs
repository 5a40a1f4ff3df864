//! Everything a model says, computed: the schema of its `summary.json`.

use serde::Serialize;

use crate::budget::{self, Budget};
use crate::cache::robustness::{self, Variation};
use crate::cache::{Algorithm, Cache, Format};
use crate::chain::definitions::{Definitions, HitRatio, definitions};
use crate::chain::{self, Cost, Expected, Share, TreeNode, ns};
use crate::file::{Model, WhatIf};
use crate::overhead::{self, OverheadTable};
use crate::quantity::{Dimension, Quantity};
use crate::uncertain::Network;

/// Version of the schema; a reader refuses a larger one.
pub const FORMAT: u32 = 1;

/// What a model comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// `"model"`.
    pub kind: &'static str,
    /// The model's title.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Samples of a Monte Carlo propagation.
    pub samples: usize,
    /// Whose measurements were taken over, if any were given.
    pub measurements_of: Option<String>,
    /// Every result under a dotted name, for other programs.
    pub figures: Vec<Figure>,
    /// What it stands on.
    pub inputs: Vec<InputFigure>,
    /// The chains, in the order written.
    pub chains: Vec<ChainSummary>,
    /// The caches, in the order written.
    pub caches: Vec<CacheSummary>,
    /// Rates against costs.
    pub overheads: Vec<OverheadTable>,
    /// What a reader must know before trusting the figures.
    pub problems: Vec<String>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its dotted name.
    pub name: String,
    /// Its value, in [`Figure::unit`].
    pub value: f64,
    /// `"ns"` or `"1"`.
    pub unit: &'static str,
    /// Lower end of its 95 % range.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Monte Carlo samples, or requests counted.
    pub samples: u64,
    /// What it holds for.
    pub circumstances: String,
}

/// A figure the model stands on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputFigure {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// Its value with its unit.
    pub value: String,
    /// How it varies, in words.
    pub range: String,
    /// `"measured"`, `"data sheet"` or `"guess"`.
    pub source: &'static str,
    /// Why this value, or what it was measured under.
    pub reason: String,
    /// The measured figure it was taken from.
    pub taken_from: Option<String>,
}

/// A chain with everything asked of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainSummary {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// What it costs.
    pub cost: Cost,
    /// Within which it should end, ns.
    pub deadline_ns: Option<f64>,
    /// What calls what.
    pub tree: Vec<TreeNode>,
    /// What eats it.
    pub waterfall: Vec<Share>,
    /// Allotted, expected and measured.
    pub budget: Budget,
    /// The same chain in every what-if.
    pub what_ifs: Vec<Variant>,
}

/// A chain in a what-if.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// The what-if.
    pub name: String,
    /// What is different, in words.
    pub title: String,
    /// The what-if it goes on from.
    pub after: Option<String>,
    /// What the chain then costs, by samples; nominal as by formula.
    pub cost: Expected,
    /// What that is more than what it goes on from, at nominal values, ns.
    pub difference_ns: f64,
    /// How many times the model's own cost.
    pub factor: f64,
}

/// A cache and what becomes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSummary {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// What goes when it is full.
    pub algorithm: Algorithm,
    /// Bytes it holds.
    pub size_bytes: f64,
    /// Bytes fetched and kept at once.
    pub chunk_bytes: f64,
    /// Bytes of one object.
    pub object_bytes: f64,
    /// How objects are kept.
    pub format: Format,
    /// A request that finds nothing, ns: what every request would cost without it.
    pub without_ns: f64,
    /// As it is, then with one choice made otherwise.
    pub designs: Vec<CacheVariant>,
    /// After its requests have changed.
    pub changes: Vec<CacheVariant>,
}

/// A cache with one thing different.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheVariant {
    /// What is different and how often it hits.
    #[serde(flatten)]
    pub variation: Variation,
    /// Mean time of a request at nominal values and the simulated hit ratio, ns.
    pub response_ns: f64,
}

/// Computes a model.
///
/// # Panics
/// Never for a model that [`crate::file::read`] gave.
#[must_use]
pub fn analyze(model: &Model, measurements_of: Option<&str>) -> Summary {
    let designs: Vec<Vec<Variation>> =
        model.caches.iter().map(|cache| robustness::designs(cache, model.seed)).collect();
    let ratio = |cache: &Cache| {
        let at = model.caches.iter().position(|one| one.name == cache.name);
        hit_ratio(&designs[at.expect("it is one of the model's")][0])
    };
    let (base, trees) = network(model, &[], &ratio);
    let mut problems: Vec<String> = Vec::new();
    let variants: Vec<(&WhatIf, Network)> = (0..model.what_ifs.len())
        .map(|index| (&model.what_ifs[index], network(model, &model.path(index), &ratio).0))
        .collect();
    let mut chains = Vec::new();
    for (chain, nodes) in model.chains.iter().zip(&trees) {
        let cost = chain::cost(&base, model, chain);
        let tree = chain::tree(&base, nodes);
        let budget = budget::budget(&base, chain, nodes, &tree, cost.first_order);
        let warnings = cost.warnings.iter().map(|warning| format!("{}: {warning}", chain.name));
        problems.extend(warnings);
        problems.extend(budget.remarks.iter().cloned());
        let what_ifs = what_ifs(model, chain, &cost, &variants);
        chains.push(ChainSummary {
            name: chain.name.clone(),
            title: chain.title.clone(),
            deadline_ns: budget.lines[0].allotted_ns,
            waterfall: chain::waterfall(&tree),
            tree,
            budget,
            what_ifs,
            cost,
        });
    }
    let caches: Vec<CacheSummary> = model
        .caches
        .iter()
        .zip(designs)
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
    };
    summary.figures = figures(&summary);
    summary
}

/// The network of a variant and the trees of its chains.
fn network<'m>(
    model: &'m Model,
    path: &[&'m WhatIf],
    ratio: &dyn Fn(&Cache) -> HitRatio,
) -> (Network, Vec<Vec<chain::tree::Node>>) {
    let Definitions { inputs, correlations, mut pieces } = definitions(model, path, ratio);
    let mut trees = Vec::new();
    // The tree is that of the model itself; a what-if asks for the whole only.
    if path.is_empty() {
        for chain in &model.chains {
            let nodes = chain::tree::nodes(model, chain).expect("the reader walked it");
            pieces.extend(chain::tree::pieces(&nodes));
            pieces.extend(budget::pieces(chain, &nodes));
            trees.push(nodes);
        }
    }
    let definitions = pieces.into_iter().map(|piece| piece.definition).collect();
    let network = Network::new(inputs, &correlations, definitions)
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

fn what_ifs(
    model: &Model,
    chain: &crate::file::Chain,
    own: &Cost,
    variants: &[(&WhatIf, Network)],
) -> Vec<Variant> {
    let mut found: Vec<Variant> = Vec::new();
    for (what_if, network) in variants {
        let cost = chain::cost(network, model, chain);
        let nominal_ns = cost.first_order.nominal_ns;
        let before =
            what_if.after.map_or(own.first_order.nominal_ns, |at| found[at].cost.nominal_ns);
        found.push(Variant {
            name: what_if.name.clone(),
            title: what_if.title.clone(),
            after: what_if.after.map(|at| model.what_ifs[at].name.clone()),
            cost: Expected { nominal_ns, ..cost.monte_carlo },
            difference_ns: nominal_ns - before,
            factor: nominal_ns / own.first_order.nominal_ns,
        });
    }
    found
}

fn cache(network: &Network, model: &Model, cache: &Cache, designs: Vec<Variation>) -> CacheSummary {
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
        designs: designs.into_iter().map(variant).collect(),
        changes: robustness::changes(cache, model.seed).into_iter().map(variant).collect(),
    }
}

fn inputs(model: &Model) -> Vec<InputFigure> {
    let figure = |figure: &crate::file::Figure| {
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

/// How an input varies, in words.
fn range(input: &crate::uncertain::Input) -> String {
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
        Distribution::Samples(samples) => format!("{} readings", samples.len()),
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

fn figures(summary: &Summary) -> Vec<Figure> {
    let samples = summary.samples as u64;
    let time = |name: String, cost: &Expected, circumstances: &str| Figure {
        name,
        value: cost.nominal_ns,
        unit: "ns",
        low: cost.low_ns,
        high: cost.high_ns,
        samples,
        circumstances: circumstances.to_owned(),
    };
    let mut figures = Vec::new();
    for chain in &summary.chains {
        let name = format!("chain.{}", chain.name);
        let nominal_ns = chain.cost.first_order.nominal_ns;
        let whole = Expected { nominal_ns, ..chain.cost.monte_carlo };
        figures.push(time(name.clone(), &whole, "the model as it is"));
        for variant in &chain.what_ifs {
            let what = format!("what if: {}", words(&variant.title, &variant.name));
            figures.push(time(format!("{name}.{}", variant.name), &variant.cost, &what));
        }
    }
    for cache in &summary.caches {
        let as_it_is = &cache.designs[0].variation;
        let spread = 2.0 * as_it_is.standard_error.unwrap_or(0.0);
        figures.push(Figure {
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

/// The title, or the name where there is none.
pub(crate) fn words<'t>(title: &'t str, name: &'t str) -> &'t str {
    if title.is_empty() { name } else { title }
}

/// What a dimensionless share of a time is, as `Quantity` writes it.
pub(crate) fn percent(share: f64) -> String {
    let number = Quantity { value: share * 100.0, dimension: Dimension::NONE }.to_string();
    format!("{number} %")
}
