//! Hit ratios with another design or with other requests.

use hemiola_report::text::count;
use hemiola_scenario::document::Word;
use serde::Serialize;

use super::{Algorithm, Cache, Format, Geometry, Requests, simulate, theory};

/// The hit ratio of one variation by formula and by simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variation {
    /// The changed property, or `"as it is"`.
    pub what: String,
    /// Its number of slots.
    pub slots: usize,
    /// Chunks fetched for a request.
    pub chunks_per_request: u32,
    /// The form in which objects are kept.
    pub format: Format,
    /// By formula, if there is one.
    pub theory: Option<f64>,
    /// By simulation.
    pub simulated: f64,
    /// Standard error of the simulation; `None` while the ratio is changing.
    pub standard_error: Option<f64>,
}

/// The design choices of a cache.
#[derive(Clone, Copy)]
struct Design {
    algorithm: Algorithm,
    size: f64,
    chunk: f64,
    format: Format,
}

impl Design {
    const fn of(cache: &Cache) -> Self {
        Self {
            algorithm: cache.algorithm,
            size: cache.size,
            chunk: cache.chunk,
            format: cache.format,
        }
    }
}

fn variation(
    what: impl Into<String>,
    cache: &Cache,
    design: Design,
    requests: &Requests,
    seed: u64,
) -> Option<Variation> {
    let geometry = Geometry::of(design.size, design.chunk, cache.object);
    if geometry.slots == 0 {
        return None;
    }
    let first = if cache.before.is_empty() { geometry } else { cache.first };
    let popularity = first.popularity(requests, seed);
    let slots = geometry.slots;
    let mut levels = cache.before.clone();
    levels.push(cache.level(design.algorithm, geometry));
    let played = simulate::stack(&levels, &popularity, cache.simulated, seed);
    // The formulas hold for independent requests; the misses of another cache are not independent.
    let formula = || theory::hit_ratio(design.algorithm, &popularity, slots);
    Some(Variation {
        what: what.into(),
        slots,
        chunks_per_request: geometry.chunks_per_request,
        format: design.format,
        theory: if cache.before.is_empty() { formula() } else { None },
        simulated: played.hit_ratio,
        standard_error: Some(played.standard_error),
    })
}

/// The cache with another size.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherSize {
    /// Its size over that of the cache as it is.
    pub factor: f64,
    /// Its hit ratio.
    pub variation: Variation,
}

/// What another size is called.
const SIZES: [(f64, &str); 7] = [
    (0.0625, "a sixteenth of the size"),
    (0.125, "an eighth of the size"),
    (0.25, "a quarter of the size"),
    (0.5, "half the size"),
    (1.0, "as it is"),
    (2.0, "twice the size"),
    (4.0, "four times the size"),
];

/// The cache with smaller and larger sizes in rising order. Sizes without a slot are left out.
#[must_use]
pub fn sizes(cache: &Cache, seed: u64) -> Vec<OtherSize> {
    let base = Design::of(cache);
    let of_size = |(factor, word): (f64, &str)| {
        let design = Design { size: base.size * factor, ..base };
        let variation = variation(word, cache, design, &cache.requests, seed)?;
        Some(OtherSize { factor, variation })
    };
    SIZES.into_iter().filter_map(of_size).collect()
}

/// The cache as it is, followed by variations of one design choice each: algorithm, size, chunk, format. Variations
/// without a slot are left out. `sizes` are those of [`sizes`].
#[must_use]
pub fn designs(cache: &Cache, sizes: &[OtherSize], seed: u64) -> Vec<Variation> {
    let base = Design::of(cache);
    let vary = |what: String, design| variation(what, cache, design, &cache.requests, seed);
    let of_size = |factor: f64| {
        let found = sizes.iter().find(|other| other.factor == factor)?;
        Some(found.variation.clone())
    };
    let mut found = vec![of_size(1.0)];
    for &algorithm in Algorithm::ALL.iter().filter(|algorithm| **algorithm != cache.algorithm) {
        found.push(vary(algorithm.word().to_uppercase(), Design { algorithm, ..base }));
    }
    found.extend([0.5, 2.0, 4.0].map(of_size));
    for (factor, word) in [(0.5, "half the chunk"), (4.0, "four times the chunk")] {
        found.push(vary(word.into(), Design { chunk: base.chunk * factor, ..base }));
    }
    let format = base.format.other();
    // The hit ratio does not depend on the format; only the costs differ.
    let other = found[0].clone().map(|as_it_is| Variation {
        what: format!("kept {}", format.word()),
        format,
        ..as_it_is
    });
    found.push(other);
    found.into_iter().flatten().collect()
}

/// The cache with changed requests: another exponent, twice the catalogue, and a shift of popularity by a tenth of
/// the catalogue, right after it and later.
#[must_use]
pub fn changes(cache: &Cache, seed: u64) -> Vec<Variation> {
    let base = Design::of(cache);
    let vary = |what: String, requests: &Requests| variation(what, cache, base, requests, seed);
    let mut found = Vec::new();
    match &cache.requests {
        Requests::Zipf { exponent, objects } => {
            for other in [exponent - 0.2, exponent + 0.2] {
                if other >= 0.0 {
                    let requests = Requests::Zipf { exponent: other, objects: *objects };
                    found.extend(vary(
                        format!("exponent {other:.2} instead of {exponent:.2}"),
                        &requests,
                    ));
                }
            }
            let requests = Requests::Zipf { exponent: *exponent, objects: objects * 2 };
            found.extend(vary("twice as many objects".into(), &requests));
        }
        Requests::Weights(weights) => {
            let twice = weights.iter().chain(weights).copied().collect();
            found.extend(vary("twice as many objects".into(), &Requests::Weights(twice)));
            let flatter = weights.iter().map(|weight| weight.sqrt()).collect();
            found.extend(vary(
                "weights evened out (square roots)".into(),
                &Requests::Weights(flatter),
            ));
        }
    }
    found.extend(shifts(cache, seed));
    found
}

fn shifts(cache: &Cache, seed: u64) -> Vec<Variation> {
    let geometry = cache.geometry();
    let first = if cache.before.is_empty() { geometry } else { cache.first };
    let popularity = first.popularity(&cache.requests, seed);
    let by = popularity.objects().div_ceil(10);
    if geometry.slots == 0 || popularity.objects() < 2 {
        return Vec::new();
    }
    let slots = geometry.slots;
    let played = simulate::shift(&cache.levels(), &popularity, by, cache.simulated, seed);
    let variation = |what: String, simulated| Variation {
        what,
        slots,
        chunks_per_request: geometry.chunks_per_request,
        format: cache.format,
        theory: None,
        simulated,
        standard_error: None,
    };
    vec![
        variation(
            format!("popularity shifted, the first {} requests after", count(slots as u64)),
            played.at_once,
        ),
        variation(
            format!("popularity shifted, {} requests later", count(cache.simulated)),
            played.later,
        ),
    ]
}
