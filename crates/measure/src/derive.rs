//! Derived figures: the storage levels from the staircase.

use hemiola_model::machine::Figure;
use hemiola_units::Bytes;

use crate::staircase::{Level, Point};

/// The prefixes of the figures of the staircase and of the sizes derived from it.
const LATENCY: &str = "memory.latency.";
const SIZE: &str = "memory.size.";

/// What follows the size in the circumstances of a level's latency.
const WALKED: &str = " walked, ";

/// The size that was walked for the latency of a level, as its circumstances state it.
pub(crate) fn walked(figure: &Figure) -> Option<&str> {
    let is_level = figure.name.starts_with(LATENCY) && is_derived(base(&figure.name));
    figure.circumstances.split_once(WALKED).filter(|_| is_level).map(|(size, _)| size)
}

/// A figure's name without that of a load.
fn base(name: &str) -> &str {
    name.split_once('@').map_or(name, |(base, _)| base)
}

/// The names of derived figures; a machine has those of the levels that were found.
pub const DERIVED: [&str; 7] = [
    "memory.latency.l1",
    "memory.latency.l2",
    "memory.latency.l3",
    "memory.latency.memory",
    "memory.size.l1",
    "memory.size.l2",
    "memory.size.l3",
];

/// Whether this figure is derived from others.
#[must_use]
pub fn is_derived(name: &str) -> bool {
    DERIVED.contains(&name)
}

/// The unit of a derived figure.
#[must_use]
pub fn unit(name: &str) -> &'static str {
    if name.starts_with(SIZE) { "B" } else { "ns" }
}

/// Whether derived figures are computed from this one.
#[must_use]
pub fn is_source(name: &str) -> bool {
    size(name).is_some()
}

/// Whether the value of one figure depends on that of another: they are the same, or one is derived from the other.
pub(crate) fn depends(name: &str, on: &str) -> bool {
    name == on || is_derived(name) && is_source(on)
}

/// The working-set size of a staircase figure.
pub(crate) fn size(name: &str) -> Option<u64> {
    let size: Bytes = name.strip_prefix(LATENCY)?.parse().ok()?;
    Some(size.0)
}

/// The staircase points among `figures`, in order of size.
#[must_use]
pub fn points(figures: &[Figure]) -> Vec<Point> {
    let point = |figure: &Figure| Some(Point { size: size(&figure.name)?, latency: figure.value });
    let mut points: Vec<Point> = figures.iter().filter_map(point).collect();
    points.sort_by_key(|point| point.size);
    points
}

/// The figures of the levels. The latency is the figure at the middle of the level's plateau; the size lies between the
/// last working set that fits and the first that does not.
#[must_use]
pub fn figures(levels: &[Level], figures: &[Figure]) -> Vec<Figure> {
    let mut derived = Vec::new();
    for level in levels {
        let at = figures.iter().find(|figure| size(&figure.name) == Some(level.at));
        let Some(at) = at else { continue };
        let walked = hemiola_report::text::size(level.at as f64);
        derived.push(Figure {
            name: format!("{LATENCY}{}", level.name),
            circumstances: format!("{walked}{WALKED}{}", at.circumstances),
            ..at.clone()
        });
        if let (Some(holds), Some(below)) = (level.size, level.size_below) {
            derived.push(Figure {
                name: format!("{SIZE}{}", level.name),
                value: holds as f64,
                unit: "B".into(),
                low: holds as f64,
                high: below as f64,
                std: 0.0,
                systematic: 0.0,
                p99: holds as f64,
                overhead: 0.0,
                circumstances: "the last size before the latency rises, and the next".into(),
                ..at.clone()
            });
        }
    }
    // Latencies first, in the order of the catalogue.
    derived.sort_by_key(|figure| figure.name.starts_with(SIZE));
    derived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::staircase;
    use crate::synthetic::figure;

    #[test]
    fn levels_become_figures_with_the_interval_of_their_plateau() {
        let measured: Vec<Figure> = [
            ("clock.read", 22.0),
            ("memory.latency.16KiB", 1.0),
            ("memory.latency.32KiB", 1.02),
            ("memory.latency.64KiB", 30.0),
            ("memory.latency.128KiB", 70.0),
            ("memory.latency.256KiB", 80.0),
            ("memory.latency.512KiB", 81.0),
        ]
        .map(|(name, value)| figure(name, value, 0.1 * value))
        .into();
        let points = points(&measured);
        assert_eq!(points.len(), 6);
        let levels = staircase::levels(&points, None);
        let derived = figures(&levels, &measured);
        let names: Vec<&str> = derived.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["memory.latency.l1", "memory.latency.memory", "memory.size.l1"]);
        assert_eq!((derived[0].low, derived[0].value), (0.9, 1.0));
        assert_eq!((derived[2].low, derived[2].high), (32768.0, 65536.0));
        assert!(names.iter().all(|name| is_derived(name)) && !is_source("memory.latency.l1"));
        assert!(depends("memory.size.l1", "memory.latency.64KiB") && depends("a", "a"));
        assert!(!depends("memory.latency.64KiB", "memory.latency.l1") && !depends("a", "b"));
    }
}
