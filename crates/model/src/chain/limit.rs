//! A limit of a chain: a deadline, an allotment or the most of a cost besides time, and the verdict on it.
//!
//! A limit that is uncertain is sampled with what it limits: a figure in both has one value in each sample, and one
//! systematic offset. A figure, a queue or a cache of which only the mean is known says nothing about each run, so the
//! verdict on a time is about the mean. A figure that varies in several calls has one value in a sample, so the verdict
//! must hold however they differ.

use hemiola_stats::share_interval;

use super::NETWORK;
use super::calls::{Calls, is_mean, with_whole_calls};
use super::definitions::{beyond_name, counted_by, hit_ratio_name, request_name};
use super::trends::{Ranges, trends};
use crate::cache::Cache;
use crate::expression::{Expression, Trend};
use crate::file::{Jobs, Measured, Model, Observation};
use crate::uncertain::{
    CONFIDENCE, Chance, Definition, Distribution, Input, Network, Predicted, Repeats, Verdict,
};
use hemiola_quantity::{Dimension, Quantity};

use super::ROUNDING;

/// A limit in a network.
pub(crate) struct Limit<'n> {
    network: &'n Network,
    model: &'n Model,
    /// The name of the limited value.
    value: String,
    /// The name of the limit.
    name: String,
    /// The probability with which it must be kept.
    required: f64,
    /// Whether it limits each run, and not the mean of many.
    of_each: bool,
    /// The figures that can differ from call to call.
    calls: Calls,
}

/// Why a verdict is open, if more samples do not decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// So few independent jobs were recorded.
    Jobs(u64),
    /// The samples lack the end of a tail that the mean depends on.
    Tail,
    /// The mean depends on values that are too rare for the samples, but have a bound.
    Rare,
    /// The mean is too near to the limit.
    Mean,
    /// The mean of a figure of another model is open there.
    OtherModel,
}

/// The rest of a limit, in base units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rest {
    /// The limit at the nominal values of the figures in it.
    pub(crate) limit: f64,
    /// The probability of keeping it.
    pub(crate) probability: Chance,
    /// The rest with the required probability.
    pub(crate) margin: f64,
    pub(crate) verdict: Verdict,
    /// The parts of which only the mean is known, if the verdict depends on them.
    pub(crate) means: Vec<String>,
    /// The verdict on the mean, if the verdict depends on parts of which only the mean is known.
    pub(crate) mean: Option<Verdict>,
    /// By how much the mean exceeds a limit of the mean that enough of the samples keep.
    pub(crate) mean_exceeds_by: Option<f64>,
    /// The verdict for figures that have one value in all calls, if another one is possible where they differ.
    pub(crate) equal: Option<Verdict>,
    /// These figures.
    pub(crate) differ: Vec<String>,
    /// Why the verdict is open, if it is and neither means nor calls are the reason.
    pub(crate) doubt: Option<Doubt>,
    /// Warnings about the samples of an uncertain limit.
    pub(crate) warnings: Vec<String>,
}

/// The effect of a measured time on the verdict on a limit, in base units.
pub(crate) struct Objection {
    /// The time: of recorded jobs the one that is kept with the required probability or, if the limit is one of the
    /// mean and it is longer, their mean.
    pub(crate) time: f64,
    /// The rest of the limit after this time.
    pub(crate) margin: f64,
    /// Kept if the time is no reason for another verdict.
    pub(crate) verdict: Verdict,
}

impl<'n> Limit<'n> {
    /// The limit of this name on the time of that name.
    pub(crate) fn new(
        network: &'n Network,
        model: &'n Model,
        [value, name]: [String; 2],
        required: f64,
        of_each: bool,
    ) -> Self {
        let calls = Calls::of(network, &value, Some(&name));
        Self { network, model, value, name, required, of_each, calls }
    }

    /// The limit at the nominal values of the figures in it.
    pub(crate) fn nominal(&self) -> f64 {
        self.network.nominal(&self.name).expect(NETWORK)
    }

    fn is_certain(&self) -> bool {
        !self.network.inputs_of(&self.name).expect(NETWORK).iter().any(|input| input.is_uncertain())
    }

    /// The limit with the error of rounding.
    fn rounded(&self) -> f64 {
        let limit = self.nominal();
        limit + limit.abs() * ROUNDING
    }

    /// Whether more samples of the limited value are needed. An uncertain limit has samples of its own.
    pub(crate) fn is_short(&self, value: &Predicted) -> bool {
        self.is_certain() && self.is_open(value, self.rounded())
    }

    fn is_open(&self, found: &Predicted, limit: f64) -> bool {
        let repeats = &self.calls.repeats;
        if found.is_short(limit, self.required) {
            true
        } else if self.of_each {
            found.is_short_of(limit, self.required, repeats)
        } else {
            // A share that misses the limit needs no mean.
            found.verdict(limit, self.required) != Verdict::Missed
                && found.is_short_of_mean(limit, repeats)
        }
    }

    /// The rest of it, by the samples of the limited value or, if it is uncertain, of their difference.
    pub(crate) fn judge(&self, value: &Predicted) -> Rest {
        let rest = self.with_single_requests(self.by_samples(value));
        match rest.verdict == Verdict::Kept && self.of_each {
            true => self.with_whole_calls(rest, value),
            false => rest,
        }
    }

    /// A limit that only the mean time of the requests to one cache leaves open, unless it is kept or missed both if
    /// all of them hit and if all of them miss: a run lies between.
    fn with_single_requests(&self, rest: Rest) -> Rest {
        let is_open = rest.verdict == Verdict::Undecided && self.of_each;
        let mut caches = self.model.caches.iter();
        let cache = caches.find(|cache| is_open && rest.means == [request_name(cache)]);
        let Some(cache) = cache else { return rest };
        let name = hit_ratio_name(cache);
        let ratio = |value: f64| Input::exact(name.clone(), Quantity::number(value));
        let any = ratio(0.5).varying(Distribution::Uniform { low: 0.0, high: 1.0 });
        let any = self.network.with_input(&any);
        let is_one_way = any.is_one_way(&[&self.value], &name).expect(NETWORK);
        let of_limit = self.network.inputs_of(&self.name).expect(NETWORK);
        if !is_one_way
            || of_limit.iter().any(|input| input.name == name)
            || !self.is_one_way_with_each(&any, cache)
        {
            return rest;
        }
        let [hits, misses] = [1.0, 0.0].map(|all| {
            let network = self.network.with_input(&ratio(all));
            self.in_network(&network).judge_samples()
        });
        match hits.verdict == misses.verdict && hits.verdict != Verdict::Undecided {
            true if hits.margin < misses.margin => hits,
            true => misses,
            false => rest,
        }
    }

    /// Whether the time moves in one direction with each request to a cache, and in the same one with its hit ratio:
    /// each request hits or misses, whatever the others do. The network has any hit ratio.
    fn is_one_way_with_each(&self, any: &Network, cache: &Cache) -> bool {
        let (request, ratio) = (request_name(cache), hit_ratio_name(cache));
        let ranges = Ranges::of_values(any, &[&self.value]);
        let found = trends(any, &[(&self.value, Trend::Up)], &ranges, Some(&request));
        let trend = |name: &str| found.get(name).copied();
        match (trend(&request), trend(&ratio)) {
            (Some(one), None) | (None, Some(one)) => one != Trend::Either,
            (Some(_), Some(_)) => false,
            (None, None) => true,
        }
    }

    /// The same limit in a network with other values.
    fn in_network<'o>(&self, network: &'o Network) -> Limit<'o>
    where
        'n: 'o,
    {
        let (value, name) = (self.value.clone(), self.name.clone());
        Limit { network, model: self.model, value, name, calls: self.calls.clone(), ..*self }
    }

    /// The rest of it by samples of its own.
    fn judge_samples(&self) -> Rest {
        let Model { samples, seed, .. } = *self.model;
        let is_short = |found: &Predicted| self.is_short(found);
        let found = self.network.predict_until(&self.value, samples, seed, &is_short);
        self.by_samples(&found.expect(NETWORK).0)
    }

    /// A kept limit, unless it is not known to be kept with each uncertain number of calls rounded so that the time is
    /// longest and the limit shortest: no run has part of a call.
    fn with_whole_calls(&self, mut rest: Rest, value: &Predicted) -> Rest {
        let (network, names) = (self.network, [self.value.as_str(), self.name.as_str()]);
        let ranges = Ranges::of_values(network, &names);
        let trends =
            trends(network, &[(names[0], Trend::Up), (names[1], Trend::Down)], &ranges, None);
        let mut formulas: Vec<(&Definition, Expression)> = Vec::new();
        let mut is_greatest = true;
        for (name, trend) in trends {
            let Some((definition, _)) = network.definition(name) else { continue };
            if let Some(found) = with_whole_calls(network, definition, trend, &ranges) {
                formulas.push((definition, found.formula));
                is_greatest &= found.is_greatest;
            }
        }
        if formulas.is_empty() {
            return rest;
        }
        let is_kept = || {
            let network = network.with_formulas(&formulas);
            let other = self.in_network(&network);
            other.with_single_requests(other.judge_samples()).verdict == Verdict::Kept
        };
        if !(is_greatest && is_kept()) {
            rest.verdict = Verdict::Undecided;
            rest.mean = Some(self.on_mean(value));
            rest.means = formulas.iter().map(|(of, _)| parts_of_calls(of)).collect();
        }
        rest
    }

    /// The verdict on the mean by the samples of the limited value.
    fn on_mean(&self, value: &Predicted) -> Verdict {
        if !self.is_certain() {
            return Verdict::Undecided;
        }
        let jobs = Evidence::of(self.network, self.model, &[&self.value, &self.name]).jobs;
        value.verdict_on_mean(self.rounded(), &self.calls.repeats, jobs).0
    }

    /// The rest of a certain limit that the required share of the samples keeps, and the verdict on this share alone.
    pub(super) fn of_share(&self, value: &Predicted) -> (f64, Verdict) {
        let jobs = Evidence::of(self.network, self.model, &[&self.value]).jobs;
        let (limit, required) = (self.rounded(), self.required);
        let shares = Shares { found: value, limit, required, jobs };
        (self.nominal() - value.limit(required), shares.judged(&self.calls.repeats).1)
    }

    fn by_samples(&self, value: &Predicted) -> Rest {
        if self.is_certain() {
            return self.by_evidence(value, [self.nominal(), self.rounded()], Vec::new());
        }
        let is_short = |beyond: &Predicted| self.is_open(beyond, 0.0);
        let (name, &Model { samples, seed, .. }) = (beyond_name(&self.value), self.model);
        let found = self.network.predict_until(&name, samples, seed, &is_short);
        let (beyond, warnings) = found.expect(NETWORK);
        self.by_evidence(&beyond, [0.0; 2], warnings)
    }

    /// The rest of a limit by these samples, with the verdict that the evidence behind its figures allows; the limit is
    /// given without and with the error of rounding.
    fn by_evidence(
        &self,
        found: &Predicted,
        [limit, rounded]: [f64; 2],
        warnings: Vec<String>,
    ) -> Rest {
        let required = self.required;
        let repeats = &self.calls.repeats;
        let evidence = Evidence::of(self.network, self.model, &[&self.value, &self.name]);
        let [equal, differing] = [&Repeats::NONE, repeats].map(|repeats| {
            let found = Shares { found, limit: rounded, required, jobs: evidence.jobs };
            found.judged(repeats)
        });
        let jobs = evidence.jobs;
        // Samples without a valid value, such as those of an overloaded queue, keep no limit.
        let is_beyond = found.verdict(f64::MAX, required) == Verdict::Missed;
        // Few long runs can also raise the mean of a queue or a cache above a limit that nearly all runs keep.
        let is_of_mean = match equal.1 {
            Verdict::Kept => !(evidence.means.is_empty() && evidence.computed.is_empty()),
            Verdict::Missed | Verdict::Undecided => !evidence.computed.is_empty() && !is_beyond,
        };
        let mut rest = Rest {
            limit: self.nominal(),
            probability: equal.0,
            margin: limit - found.limit(required),
            verdict: equal.1,
            means: Vec::new(),
            mean: None,
            mean_exceeds_by: None,
            equal: None,
            differ: Vec::new(),
            doubt: None,
            warnings,
        };
        if is_of_mean || !self.of_each {
            // Of nearly all runs that keep the limit, the others may take so long that the mean does not.
            let (mut on_mean, most) = found.verdict_on_mean(rounded, repeats, evidence.jobs);
            if !evidence.open.is_empty() {
                on_mean = Verdict::Undecided;
            }
            let of_samples = if repeats.has_same_mean { equal.1 } else { differing.1 };
            let of_mean = of_samples.worse(on_mean);
            if is_of_mean {
                rest.mean = Some(of_mean);
                rest.means = evidence.all();
            }
            if self.of_each {
                rest.verdict = Verdict::Undecided;
            } else {
                rest.mean_exceeds_by = (rest.verdict == Verdict::Kept
                    && on_mean == Verdict::Missed)
                    .then_some(most - limit);
                rest.verdict = of_mean;
                rest.margin = rest.margin.min(limit - most);
            }
        } else {
            (rest.probability, rest.verdict) = differing;
            if rest.verdict == Verdict::Kept {
                rest.margin = (limit - found.limit_of(required, repeats)).max(0.0);
            }
        }
        if !self.of_each && !evidence.open.is_empty() {
            if rest.verdict == Verdict::Undecided {
                rest.doubt = Some(Doubt::OtherModel);
            }
            (rest.mean, rest.means) = (None, evidence.open);
            return rest;
        }
        let decided = if self.of_each {
            equal.1
        } else {
            equal.1.worse(on_mean_of_equal(found, rounded, jobs))
        };
        // A limit of each run is open because only the mean is known.
        let is_explained = is_of_mean && self.of_each;
        if !is_explained && rest.verdict == Verdict::Undecided {
            if decided != Verdict::Undecided {
                rest.equal = Some(decided);
                rest.differ.clone_from(&self.calls.figures);
            } else {
                rest.doubt = self.doubt(found, rounded, jobs);
            }
        }
        rest
    }

    /// Why a verdict is open.
    fn doubt(&self, found: &Predicted, limit: f64, jobs: Option<u64>) -> Option<Doubt> {
        let on_mean = || on_mean_of_equal(found, limit, None) == Verdict::Undecided;
        match jobs {
            Some(jobs) => Some(Doubt::Jobs(jobs)),
            None if self.of_each || !on_mean() => None,
            None if found.lacks_tail() && found.is_bounded() => Some(Doubt::Rare),
            None if found.lacks_tail() => Some(Doubt::Tail),
            None => Some(Doubt::Mean),
        }
    }

    /// The limit that holds with the required probability, for any systematic offset.
    fn least(&self) -> f64 {
        if self.is_certain() {
            return self.nominal();
        }
        let Model { samples, seed, .. } = *self.model;
        let found = self.network.predict(&self.name, samples, seed).expect(NETWORK);
        found.quantiles([1.0 - self.required, self.required])[0]
    }

    /// The effect of a measured time on the verdict. A time that keeps the limit proves nothing. Of recorded jobs the
    /// required share must keep it and, if it is a limit of the mean, their mean.
    pub(crate) fn object(&self, observation: &Observation) -> Objection {
        let least = self.least();
        let rounded = least + least.abs() * ROUNDING;
        let jobs = observation.taken.as_ref().and_then(|taken| taken.jobs.as_ref());
        let objection = |(time, verdict)| Objection { time, margin: least - time, verdict };
        let Some(jobs) = jobs else { return objection(by_value(observation, rounded)) };
        let (time, verdict) = self.by_jobs(jobs, observation.scale(), rounded);
        if self.of_each {
            return objection((time, verdict));
        }
        let (mean, on_mean) = by_value(observation, rounded);
        objection((time.max(mean), verdict.worse(on_mean)))
    }

    /// The time that recorded jobs keep with the required probability, and whether enough of them keep the limit.
    fn by_jobs(&self, jobs: &Jobs, scale: f64, limit: f64) -> (f64, Verdict) {
        let time = jobs.quantile(self.required) * scale;
        let share = if scale > 0.0 { jobs.share(limit / scale) } else { 1.0 };
        let count = (share * jobs.independent as f64).round() as u64;
        let [_, most] = share_interval(count, jobs.independent, CONFIDENCE);
        let verdict = match (share < self.required, most < self.required) {
            (_, true) => Verdict::Missed,
            (true, false) => Verdict::Undecided,
            (false, false) => Verdict::Kept,
        };
        (time, verdict)
    }
}

/// A measured time, which is a mean or a single reading, and whether it keeps a limit.
fn by_value(observation: &Observation, limit: f64) -> (f64, Verdict) {
    let time = observation.value.value;
    let (low, high) = observation.interval();
    let verdict = match (time > limit, low.max(high) > limit) {
        (true, _) => Verdict::Missed,
        (false, true) => Verdict::Undecided,
        (false, false) => Verdict::Kept,
    };
    (time, verdict)
}

/// How far the mean of this name may be from that of its samples, in base units; infinite if that is not known.
pub(super) fn mean_within(network: &Network, model: &Model, name: &str, found: &Predicted) -> f64 {
    let evidence = Evidence::of(network, model, &[name]);
    let is_same = Calls::of(network, name, None).repeats.has_same_mean;
    match is_same && evidence.open.is_empty() {
        true => found.mean_within(evidence.jobs),
        false => f64::INFINITY,
    }
}

/// The verdict on the mean if each figure has one value in all calls.
fn on_mean_of_equal(found: &Predicted, limit: f64, jobs: Option<u64>) -> Verdict {
    found.verdict_on_mean(limit, &Repeats::NONE, jobs).0
}

/// The share of the samples that keep a limit.
struct Shares<'p> {
    found: &'p Predicted,
    limit: f64,
    required: f64,
    /// The fewest recorded jobs behind a figure.
    jobs: Option<u64>,
}

impl Shares<'_> {
    /// The probability of keeping the limit, and the verdict, however calls differ.
    fn judged(&self, repeats: &Repeats) -> (Chance, Verdict) {
        let &Self { found, limit, required, jobs } = self;
        let Some(jobs) = jobs else {
            let verdict = found.verdict_of(limit, required, repeats);
            return (found.at_most_of(limit, repeats), verdict);
        };
        let [[_, high], [low, at_worst]] = found.of_equal(limit, repeats);
        let of =
            |share: f64| share_interval((share * jobs as f64).round() as u64, jobs, CONFIDENCE);
        let least = repeats.least(of(low)[0].min(low));
        let greatest = |share: f64| repeats.greatest(of(share)[1].max(share));
        let verdict = match found.verdict(limit, required) {
            Verdict::Kept if least >= required => Verdict::Kept,
            Verdict::Missed if greatest(at_worst) < required => Verdict::Missed,
            _ => Verdict::Undecided,
        };
        let value = found.at_most(limit).value;
        (Chance { value, low: least, high: greatest(high) }, verdict)
    }
}

/// The evidence about single runs behind some values.
#[derive(Default)]
pub(super) struct Evidence {
    /// The measured figures of which only the mean is known.
    means: Vec<String>,
    /// The queues, the caches and the numbers of calls of which a formula yields the mean.
    computed: Vec<String>,
    /// The fewest recorded jobs behind a figure.
    pub(super) jobs: Option<u64>,
    /// The figures of other models whose mean is open there.
    pub(super) open: Vec<String>,
}

impl Evidence {
    /// That behind the values of these names.
    pub(super) fn of(network: &Network, model: &Model, names: &[&str]) -> Self {
        let mut evidence = Self::default();
        for name in names {
            for input in network.inputs_of(name).expect(NETWORK) {
                evidence.add(model, input);
            }
            for definition in network.definitions_of(name).expect(NETWORK) {
                let formula = &definition.expression;
                let queues = formula.queues().into_iter();
                queues.for_each(|queue| evidence.compute(&formula.text()[queue.at]));
                if counted_by(&definition.name).is_some()
                    && is_mean_count(network, &definition.name)
                {
                    evidence.compute(&parts_of_calls(definition));
                }
            }
        }
        evidence
    }

    /// Everything of which only the mean is known.
    pub(super) fn all(&self) -> Vec<String> {
        self.means.iter().chain(&self.computed).cloned().collect()
    }

    fn compute(&mut self, name: &str) {
        if !self.computed.iter().any(|known| known == name) {
            self.computed.push(name.to_owned());
        }
    }

    fn add(&mut self, model: &Model, input: &Input) {
        let figure = model.figures.iter().find(|figure| figure.input.name == input.name);
        let taken = figure.and_then(|figure| figure.taken.as_ref());
        if taken.is_some_and(Measured::has_open_mean) && !self.open.contains(&input.name) {
            self.open.push(input.name.clone());
        }
        match taken.map(|taken| taken.jobs.as_ref()) {
            Some(Some(Jobs { independent, .. })) => {
                self.jobs = Some(self.jobs.map_or(*independent, |jobs| jobs.min(*independent)));
            }
            Some(None) if !self.means.contains(&input.name) => self.means.push(input.name.clone()),
            _ => {}
        }
        // A cache that holds all that is requested, or none of it, has requests of one kind.
        let hits = model.caches.iter().find(|cache| hit_ratio_name(cache) == input.name);
        if let Some(cache) = hits
            && (input.is_uncertain() || !matches!(input.nominal.value, 0.0 | 1.0))
        {
            self.compute(&request_name(cache));
        }
        if let Distribution::Mixture(parts) = &input.distribution {
            parts.iter().for_each(|(_, part)| self.add(model, part));
        }
    }
}

/// The calls of which only the mean number is known, in words.
fn parts_of_calls(Definition { name, expression }: &Definition) -> String {
    match counted_by(name) {
        Some(caller) => format!("the {expression} calls of {caller}"),
        None => format!("the calls in {expression}"),
    }
}

/// Whether this number of calls is the mean of many runs.
fn is_mean_count(network: &Network, name: &str) -> bool {
    network.dimension(name).expect(NETWORK) == Dimension::NONE
        && is_mean(network.interval(name).expect(NETWORK))
}
