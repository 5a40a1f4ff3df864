//! All results of a model: the schema of its `summary.json`.

use hemiola_scenario::document::Word;
use serde::Serialize;

use crate::budget::{self, Budget, Place};
use crate::cache::robustness::{self, OtherSize, Variation};
use crate::cache::{Algorithm, Cache, Format};
use crate::chain::definitions::{Definitions, HitRatio, definitions, physical};
use crate::chain::{
    self, Amount, Capacity, Cost, Expected, Judged, Margin, OtherCost, OwnTime, TreeNode, ns,
};
use crate::file::{Model, Sweep, WhatIf};
use crate::overhead::{self, OverheadTable};
use crate::text::{percent, shown};
use crate::uncertain::{Chance, Input, Network, SAMPLES_MAX, Verdict};
use hemiola_quantity::{Dimension, KnownUnit, Quantity, Units};

/// Version of the schema; a reader rejects a later one.
pub const FORMAT: u32 = 2;

/// [`Summary::kind`].
pub const KIND: &str = "model";

/// The results of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The units of the model.
    #[serde(skip)]
    pub units: Units,
    /// [`FORMAT`].
    pub format: u32,
    /// [`KIND`].
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
    /// Every verdict that is not as it should be: a deadline, an allotment or a limit that is not kept or undecided, a
    /// demand that is not met, a measured time outside the expected range, a measured figure that the given
    /// measurements lack. What-ifs are not judged.
    pub failures: Vec<String>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultFigure {
    /// Its dotted name.
    pub name: String,
    /// Its mean, in [`ResultFigure::unit`].
    pub value: f64,
    /// `"ns"`, `"1"`, or the base unit of a cost or a capacity.
    pub unit: String,
    /// Lower end of its 95 % range.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How far its mean may be from its value, for any systematic offset; infinite, which is null in JSON, if that is
    /// not known.
    pub systematic: f64,
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

/// A unit that formulas can use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedUnit {
    /// Its symbol.
    pub symbol: String,
    /// The quantity that it measures: `"time"`, `"money"`.
    pub quantity: String,
    /// One of it, in `unit`.
    pub value: f64,
    /// The base unit of its quantity; `"1"` if there is none.
    pub unit: String,
    /// The prefixes that it takes.
    pub prefixes: Vec<&'static str>,
    /// `"built in"` or `"the model"`.
    pub declared_by: &'static str,
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
    /// The probability with which the deadline, the allotments, the limits and the demand must be kept.
    pub probability: f64,
    /// Its costs besides time, in the order declared.
    pub costs: Vec<OtherCost>,
    /// How often it can run, if a part of it has a capacity.
    pub capacity: Option<Capacity>,
    /// The dimension of capacities.
    #[serde(skip)]
    pub capacity_dimension: Dimension,
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
    /// How far the mean may be from that of the samples, for any systematic offset, ns; `None` if that is not known.
    pub mean_within_ns: Option<f64>,
    /// The chain's costs besides time; without their parts and inputs.
    pub costs: Vec<OtherCost>,
    /// How often the chain can run; without inputs.
    pub capacity: Option<Capacity>,
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
    analyze_with_progress(model, measurements_of, &mut |_, _| {})
}

/// As [`analyze`]. `progress` is called before each chain, with the share of the chains that are done and the chain's
/// name.
///
/// # Panics
/// As [`analyze`].
#[must_use]
pub fn analyze_with_progress(
    model: &Model,
    measurements_of: Option<&str>,
    progress: &mut dyn FnMut(f64, &str),
) -> Summary {
    let variations: Vec<Variations> =
        model.caches.iter().map(|cache| Variations::of(cache, model.seed)).collect();
    let ratio = |cache: &Cache| {
        let at = model.caches.iter().position(|one| one.name == cache.name);
        hit_ratio(&variations[at.expect("it is one of the model's")].designs[0])
    };
    let (base, trees) = network(model, &[], &ratio);
    let mut problems: Vec<String> = model.remarks.clone();
    let variants: Vec<Variant<'_>> = (0..model.what_ifs.len())
        .map(|index| Variant::of(model, &model.what_ifs[index], &model.path(index), &ratio))
        .collect();
    let sweeps: Vec<Vec<Variant<'_>>> = model
        .sweeps
        .iter()
        .map(|sweep| {
            let steps = sweep.steps.iter();
            steps.map(|(_, step)| Variant::of(model, step, &[step], &ratio)).collect()
        })
        .collect();
    problems.extend(unscaled(model));
    let mut chains = Vec::new();
    for (index, (chain, nodes)) in model.chains.iter().zip(&trees).enumerate() {
        progress(index as f64 / model.chains.len() as f64, &chain.name);
        let (cost, predicted) = chain::cost(&base, model, chain);
        let costs = chain::costs::costs(&base, model, chain, Some(nodes));
        let capacity = chain::capacity::capacity(&base, model, chain, nodes, false);
        let (budget, tree) = budget::budget(&base, model, chain, nodes, &predicted);
        let warnings = cost.warnings.iter().map(|warning| format!("{}: {warning}", chain.name));
        problems.extend(warnings);
        for cost in &costs {
            let of = format!("{}, {}", chain.name, cost.name);
            problems.extend(cost.warnings.iter().map(|warning| format!("{of}: {warning}")));
        }
        let warnings = capacity.iter().flat_map(|capacity| &capacity.warnings);
        problems.extend(warnings.map(|text| format!("{}, capacity: {text}", chain.name)));
        problems.extend(budget.remarks.iter().cloned());
        problems.extend(chain::together::note(&base, model, chain));
        let what_ifs = what_ifs(model, index, &cost, &variants);
        problems.extend(what_ifs.iter().flat_map(|variant| {
            let text =
                |problem: &String| format!("{}, what if {}: {problem}", chain.name, variant.name);
            variant.problems.iter().map(text)
        }));
        let swept = model.sweeps.iter().zip(&sweeps);
        let swept: Vec<SweepCost> =
            swept.map(|(sweep, steps)| sweep_cost(model, index, &cost, sweep, steps)).collect();
        for sweep in &swept {
            for step in &sweep.steps {
                let at = format!("{}, {} = {}", chain.name, sweep.figure, step.cost.name);
                problems
                    .extend(step.cost.problems.iter().map(|problem| format!("{at}: {problem}")));
            }
        }
        let chain = ChainSummary {
            name: chain.name.clone(),
            title: chain.title.clone(),
            deadline_ns: budget.lines[0].allotted_ns,
            probability: chain.probability,
            costs,
            capacity,
            capacity_dimension: model.capacity,
            waterfall: chain::waterfall(&tree),
            tree,
            budget,
            what_ifs,
            sweeps: swept,
            cost,
        };
        problems.extend(doubts(&chain));
        chains.push(chain);
    }
    let caches: Vec<CacheSummary> = model
        .caches
        .iter()
        .zip(variations)
        .map(|(one, found)| cache(&base, model, one, found))
        .collect();
    let mut summary = Summary {
        units: model.units.clone(),
        format: FORMAT,
        kind: KIND,
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
    let failures = summary.chains.iter().flat_map(|chain| failures(chain, model));
    summary.failures.extend(failures.collect::<Vec<_>>());
    summary
}

/// The verdicts of a chain that are not as they should be.
fn failures(chain: &ChainSummary, model: &Model) -> Vec<String> {
    let lines = chain.budget.lines.iter().filter_map(|line| {
        let outcome = match line.verdict? {
            Verdict::Undecided if line.is_undecided_by_mean() => {
                let mean = line.expected_margin?.mean;
                format!("is undecided: {}", budget::of_mean(mean, &line.means))
            }
            Verdict::Undecided if !line.differ.is_empty() => {
                format!("is undecided: {}", budget::of_calls(&line.differ))
            }
            Verdict::Undecided if line.expected_margin?.verdict == Verdict::Kept => {
                "is undecided: a measured time does not tell whether it is kept".to_owned()
            }
            verdict => not_kept(verdict)?.to_owned(),
        };
        let limit = line.allotted_ns.map_or_else(String::new, budget::time);
        let what = if line.depth == 0 { "the deadline of" } else { "the budget of" };
        Some(format!("{}: {what} {} ({limit}) {outcome}", chain.name, line.name))
    });
    let held = chain.budget.held.iter();
    let outside = held.filter(|held| matches!(held.place, Place::Shorter | Place::Longer));
    let outside = outside.map(|held| {
        format!("{}: {}, {}: {}", chain.name, held.name, held.circumstances, held.verdict)
    });
    let show = |value, dimension| shown(&model.units, Quantity { value, dimension });
    let exceeded = chain.costs.iter().filter_map(|cost| {
        let limit = cost.limit?;
        let shown = show(limit.limit, cost.dimension);
        let outcome = match cost.differ.is_empty() {
            true => not_kept(limit.verdict)?.to_owned(),
            false => format!("is undecided: {}", budget::of_calls(&cost.differ)),
        };
        Some(format!("{}: the limit of {} ({shown}) {outcome}", chain.name, cost.name))
    });
    let overloaded = chain.capacity.iter().filter_map(|capacity| {
        let demand = capacity.demand.filter(|demand| demand.verdict != Verdict::Kept)?;
        let is_undecided = demand.verdict == Verdict::Undecided;
        let [demand, carried] =
            [demand.limit, capacity.expected.mean].map(|value| show(value, model.capacity));
        let (name, bottleneck) = (&chain.name, &capacity.bottleneck);
        let outcome = if is_undecided { "is not known to be met" } else { "is not met" };
        Some(format!(
            "{name}: the demand ({demand}) {outcome}: {bottleneck} lets the chain run {carried} on average"
        ))
    });
    lines.chain(outside).chain(exceeded).chain(overloaded).collect()
}

/// The outcome of a verdict that is not as it should be, in words.
fn not_kept(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Kept => None,
        Verdict::Missed => Some("is not kept"),
        Verdict::Undecided => Some("is undecided: the samples do not tell whether it is kept"),
    }
}

/// A variation with its network and, where capacities need them, the trees of its chains.
struct Variant<'m> {
    what_if: &'m WhatIf,
    network: Network,
    trees: Vec<Vec<chain::tree::Node>>,
}

impl<'m> Variant<'m> {
    fn of(
        model: &'m Model,
        what_if: &'m WhatIf,
        path: &[&'m WhatIf],
        ratio: &dyn Fn(&Cache) -> HitRatio,
    ) -> Self {
        let (network, trees) = network(model, path, ratio);
        Self { what_if, network, trees }
    }
}

/// The network of a what-if and the trees of its chains.
fn network<'m>(
    model: &'m Model,
    path: &[&'m WhatIf],
    ratio: &dyn Fn(&Cache) -> HitRatio,
) -> (Network, Vec<Vec<chain::tree::Node>>) {
    let Definitions { inputs, correlations, mut pieces } = definitions(model, path, ratio);
    let mut trees = Vec::new();
    // The model itself needs trees for its budgets, a what-if only for capacities.
    if path.is_empty() || model.has_capacity() {
        for chain in &model.chains {
            let nodes = chain::tree::nodes(model, path, chain).expect("the reader built it too");
            pieces.extend(chain::tree::pieces(&nodes));
            pieces.extend(chain::capacity::pieces(model, chain, &nodes));
            if path.is_empty() {
                pieces.extend(budget::pieces(chain, &nodes));
            }
            trees.push(nodes);
        }
    }
    let network = physical(model, inputs, &correlations, pieces)
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

/// The figures of what-ifs and sweeps whose ranges cannot be scaled, because they are 0 in the model.
fn unscaled(model: &Model) -> Vec<String> {
    let found = |name: &str, value: f64| {
        let figure = model.figures.iter().find(|figure| figure.input.name == name)?;
        let input = &figure.input;
        let is_lost = input.nominal.value == 0.0 && value != 0.0 && input.is_uncertain();
        is_lost.then(|| {
            format!(
                "{name} is 0 in the model, so its range does not scale with its value and keeps its width; if that is \
                 wrong, define a second figure with a range of its own"
            )
        })
    };
    let what_ifs = model.what_ifs.iter().flat_map(|what_if| {
        let texts = what_if.figures.iter().filter_map(|(name, value)| found(name, value.value));
        texts.map(|text| format!("what if {}: {text}", what_if.name))
    });
    let sweeps = model.sweeps.iter().filter_map(|sweep| {
        let text = sweep.steps.iter().find_map(|(value, _)| found(&sweep.figure, value.value))?;
        Some(format!("sweep of {}: {text}", sweep.figure))
    });
    what_ifs.chain(sweeps).collect()
}

/// The sentence about a verdict that the samples do not decide.
pub(crate) fn undecided(what: &str, chance: Chance, required: f64) -> String {
    let Chance { value, low, high } = chance;
    let [value, low, high, required] = [value, low, high, required].map(percent);
    format!(
        "whether {what} with {required} is undecided: it does in {value} of the samples, which leaves {low} to {high}; \
         set samples, up to {SAMPLES_MAX}, or narrow the systematic parts if they are named above"
    )
}

/// The limits and the demand of a chain that the samples do not decide on.
fn doubts(chain: &ChainSummary) -> Vec<String> {
    let doubt = |what: &str, judged: Option<Judged>| {
        let judged = judged.filter(|judged| judged.verdict == Verdict::Undecided)?;
        Some(match judged.doubt {
            Some(doubt) => {
                let reason = budget::doubt(doubt, judged.probability, true);
                format!("whether {what} is undecided: {reason}")
            }
            None => undecided(what, judged.probability, chain.probability),
        })
    };
    let limits = chain.costs.iter().filter_map(|cost| {
        let (cost_, name) = (&cost.name, &chain.name);
        if cost.differ.is_empty() {
            return doubt(&format!("the {cost_} of {name} keeps its limit"), cost.limit);
        }
        Some(format!(
            "whether the mean {cost_} of {name} keeps its limit is undecided: {}, and the mean may then be greater; \
             state what is the same in all calls as systematic, or the cost of all calls as one figure",
            budget::of_calls(&cost.differ)
        ))
    });
    let demand = chain
        .capacity
        .as_ref()
        .and_then(|capacity| doubt(&format!("{} meets its demand", chain.name), capacity.demand));
    limits.chain(demand).collect()
}

/// The chain at this index in every variation.
fn what_ifs(model: &Model, index: usize, own: &Cost, variants: &[Variant<'_>]) -> Vec<WhatIfCost> {
    let chain = &model.chains[index];
    let mut found: Vec<WhatIfCost> = Vec::new();
    for Variant { what_if, network, trees } in variants {
        let (cost, predicted) = chain::cost(network, model, chain);
        let nodes = trees.get(index);
        let mean_ns = cost.monte_carlo.mean_ns;
        let before = what_if.after.map_or(own.monte_carlo.mean_ns, |at| found[at].cost.mean_ns);
        let deadline = budget::deadline(network, model, chain);
        let deadline = deadline.map(|limit| Margin::of(&limit.judge(&predicted)));
        // Curvature that the model itself has is not a problem of the variation.
        let new = |warning: &String| !own.warnings.contains(warning);
        found.push(WhatIfCost {
            name: what_if.name.clone(),
            title: what_if.title.clone(),
            after: what_if.after.map(|at| model.what_ifs[at].name.clone()),
            cost: cost.monte_carlo,
            mean_within_ns: cost.mean_within_ns,
            difference_ns: mean_ns - before,
            // Two chains without any time are equally long.
            factor: if mean_ns == own.monte_carlo.mean_ns {
                1.0
            } else {
                mean_ns / own.monte_carlo.mean_ns
            },
            deadline,
            costs: chain::costs::costs(network, model, chain, None),
            capacity: nodes
                .and_then(|nodes| chain::capacity::capacity(network, model, chain, nodes, true)),
            problems: cost.warnings.into_iter().filter(new).collect(),
        });
    }
    found
}

fn sweep_cost(
    model: &Model,
    index: usize,
    own: &Cost,
    sweep: &Sweep,
    steps: &[Variant<'_>],
) -> SweepCost {
    let mut inputs = model.figures.iter().map(|figure| &figure.input);
    let input = inputs.find(|input| input.name == sweep.figure);
    let nominal = input.expect("the reader checked the name").nominal;
    let costs = what_ifs(model, index, own, steps);
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

/// The built-in units, and then those that `model` declares.
#[must_use]
pub fn listed_units(model: Option<&Model>) -> Vec<ListedUnit> {
    let of = model.map_or(Units::built_in(), |model| &model.units);
    let listed = |known: KnownUnit<'_>, is_own: bool| {
        let Quantity { value, dimension } = known.one;
        let base = of.base_unit(dimension);
        // Newton is the unit of force, but its value is in kilograms, metres and seconds.
        let is_derived = !is_own && base == known.symbol;
        ListedUnit {
            symbol: known.symbol.to_owned(),
            quantity: of.name(dimension),
            value,
            unit: if is_derived { dimension.si_unit() } else { base },
            prefixes: known.prefixes.split_whitespace().collect(),
            declared_by: if is_own { "the model" } else { "built in" },
        }
    };
    let own = of.own().map(|unit| listed(unit, true));
    KnownUnit::all().map(|unit| listed(unit, false)).chain(own).collect()
}

/// The figures of a model, with its units.
#[must_use]
pub fn inputs(model: &Model) -> Vec<InputFigure> {
    let figure = |figure: &crate::file::ModelFigure| {
        let nominal = figure.input.nominal;
        let reason = figure.taken.as_ref().map_or_else(
            || figure.reason.clone(),
            |taken| format!("{} samples, {}", taken.samples, taken.circumstances),
        );
        InputFigure {
            name: figure.input.name.clone(),
            title: figure.title.clone(),
            value: shown(&model.units, nominal),
            range: measured_range(figure, &model.units),
            source: figure.source.word(),
            reason,
            taken_from: figure.taken.as_ref().map(|taken| taken.name.clone()),
        }
    };
    model.figures.iter().map(figure).collect()
}

/// The variation of a figure, in words, with what is known of a measured one.
fn measured_range(figure: &crate::file::ModelFigure, units: &Units) -> String {
    match &figure.taken {
        Some(taken) if taken.jobs.is_some() => format!("{} recorded", taken.samples),
        Some(taken) if taken.is_of_model => {
            let [low, high] = [taken.low, taken.high].map(|end| {
                let value = end * taken.one;
                shown(units, Quantity { value, ..figure.input.nominal })
            });
            let systematic =
                Quantity { value: taken.systematic * taken.one, ..figure.input.nominal };
            let mean = match (taken.has_open_mean(), taken.systematic == 0.0) {
                (true, _) => ", whose mean is open".to_owned(),
                (false, true) => String::new(),
                (false, false) => {
                    format!(", whose mean is known within {}", shown(units, systematic))
                }
            };
            format!("{low} to {high}, of the samples of a model{mean}")
        }
        Some(_) => format!("{}, of the mean", range(&figure.input, units)),
        None => range(&figure.input, units),
    }
}

/// The variation of an input, in words.
fn range(input: &Input, units: &Units) -> String {
    use crate::uncertain::Distribution;
    let dimension = input.nominal.dimension;
    let show = |value: f64| shown(units, Quantity { value, dimension });
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

fn picked<'c>(costs: &'c [OtherCost], indices: &[usize]) -> Vec<&'c OtherCost> {
    indices.iter().map(|at| &costs[*at]).collect()
}

fn figures(summary: &Summary) -> Vec<ResultFigure> {
    let samples = summary.samples as u64;
    let within = |known: Option<f64>| known.unwrap_or(f64::INFINITY);
    let time =
        |name: String, cost: &Expected, mean: Option<f64>, circumstances: &str| ResultFigure {
            name,
            value: cost.mean_ns,
            unit: "ns".to_owned(),
            low: cost.low_ns,
            high: cost.high_ns,
            systematic: within(mean),
            samples,
            circumstances: circumstances.to_owned(),
        };
    let other =
        |name: String, unit: &str, amount: &Amount, mean: Option<f64>, circumstances: &str| {
            ResultFigure {
                name,
                value: amount.mean,
                unit: unit.to_owned(),
                low: amount.low,
                high: amount.high,
                systematic: within(mean),
                samples,
                circumstances: circumstances.to_owned(),
            }
        };
    let others = |name: &str, costs: Vec<&OtherCost>, capacity: Option<&Capacity>, what: &str| {
        let cost = |cost: &OtherCost| {
            let name = format!("{name}.costs.{}", cost.name);
            other(name, &cost.unit, &cost.expected, cost.mean_within, what)
        };
        let capacity = capacity.map(|capacity| {
            let expected = &capacity.expected;
            // A chain runs as often as the mean of its time lets it, which is not the mean of a capacity that varies.
            let mean = (expected.std == 0.0).then_some(expected.systematic);
            other(format!("{name}.capacity"), &capacity.unit, expected, mean, what)
        });
        costs.into_iter().map(cost).chain(capacity).collect::<Vec<_>>()
    };
    let mut figures = Vec::new();
    for chain in &summary.chains {
        let name = format!("chain.{}", chain.name);
        let what = "the model as it is";
        let (is_timed, shown) = (chain.takes_time(), chain.other_costs());
        if is_timed {
            let (cost, mean) = (&chain.cost.monte_carlo, chain.cost.mean_within_ns);
            figures.push(time(name.clone(), cost, mean, what));
        }
        figures.extend(others(&name, picked(&chain.costs, &shown), chain.capacity.as_ref(), what));
        for variant in &chain.what_ifs {
            let what = format!("what if: {}", words(&variant.title, &variant.name));
            let name = format!("{name}.{}", variant.name);
            if is_timed {
                figures.push(time(name.clone(), &variant.cost, variant.mean_within_ns, &what));
            }
            figures.extend(others(
                &name,
                picked(&variant.costs, &shown),
                variant.capacity.as_ref(),
                &what,
            ));
        }
    }
    for cache in &summary.caches {
        let as_it_is = &cache.designs[0].variation;
        let spread = 2.0 * as_it_is.standard_error.unwrap_or(0.0);
        figures.push(ResultFigure {
            name: format!("cache.{}.hit_ratio", cache.name),
            value: as_it_is.simulated,
            unit: "1".to_owned(),
            low: as_it_is.simulated - spread,
            high: as_it_is.simulated + spread,
            systematic: hit_ratio(as_it_is).systematic,
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

impl ChainSummary {
    /// Whether anything in it takes time or has to: a chain can consist of other costs alone.
    pub(crate) fn takes_time(&self) -> bool {
        self.cost.monte_carlo.high_ns != 0.0
            || self.deadline_ns.is_some()
            || self.budget.lines.iter().any(|line| line.allotted_ns.is_some())
            || !self.budget.held.is_empty()
            || self.other_costs().is_empty() && self.capacity.is_none()
    }

    /// The indices of the costs besides time that have a limit, or that something in the chain or a variation of it
    /// has.
    pub(crate) fn other_costs(&self) -> Vec<usize> {
        let swept = self.sweeps.iter().flat_map(|sweep| &sweep.steps).map(|step| &step.cost);
        let varied = self.what_ifs.iter().chain(swept).map(|variant| &variant.costs);
        let all: Vec<&Vec<OtherCost>> = std::iter::once(&self.costs).chain(varied).collect();
        let counts = |cost: &OtherCost| {
            cost.limit.is_some() || cost.expected.low != 0.0 || cost.expected.high != 0.0
        };
        (0..self.costs.len()).filter(|at| all.iter().any(|costs| counts(&costs[*at]))).collect()
    }
}

impl Summary {
    /// A value in base units of a dimension as text.
    pub(crate) fn show(&self, value: f64, dimension: Dimension) -> String {
        shown(&self.units, Quantity { value, dimension })
    }
}
