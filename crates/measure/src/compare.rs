//! The comparison of two machines, or of one with two kernels: which figures differ beyond noise, and by which factor.

use hemiola_model::machine::{Figure, Machine, OtherWork};
use hemiola_report::table::Table;
use hemiola_report::text::{percent, ratio};
use hemiola_stats::{Change, Covers, Difference, Estimate, differing};
use serde::{Deserialize, Serialize};

use crate::activity::is_apart;
use crate::derive::walked;
use crate::text::value;

/// Two machines compared; every ratio is B over A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The names of A and B.
    pub names: [String; 2],
    /// The figures of both, in A's order.
    pub figures: Vec<FigureComparison>,
    /// Differences between the machines themselves, a clause each; empty if A and B are the same machine.
    pub differences: Vec<String>,
    /// Figures that cannot be compared, a sentence each.
    pub remarks: Vec<String>,
}

/// One figure on both machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureComparison {
    /// Its dotted name.
    pub name: String,
    /// The unit of the values.
    pub unit: String,
    /// Its value on A and on B.
    pub values: [f64; 2],
    /// B / A with its 95 % interval; `None` if a value is not positive.
    pub ratio: Option<Difference>,
    /// The probability that noise alone causes a difference of this size.
    pub p: f64,
    /// Whether it differs beyond noise, with a false discovery rate of one in twenty (Benjamini and Hochberg). `None`
    /// if it seems to, but the machines were not equally busy: an interval holds for an equally busy machine only.
    pub differs: Option<bool>,
}

/// Compares B with A; `names` are their names in tables.
pub fn compare(names: [&str; 2], a: &Machine, b: &Machine) -> Comparison {
    let mut remarks = Vec::new();
    for (machine, other, name) in [(a, b, names[0]), (b, a, names[1])] {
        let only: Vec<&str> = machine
            .figures
            .iter()
            .filter(|figure| other.figure(&figure.name).is_none())
            .map(|figure| figure.name.as_str())
            .collect();
        match only.as_slice() {
            [] => {}
            [one] => remarks.push(format!("{one} is only in {name}")),
            [first, .., last] => {
                remarks.push(format!(
                    "{} figures from {first} to {last} are only in {name}",
                    only.len()
                ));
            }
        }
    }
    let mut pairs: Vec<(&Figure, &Figure)> = Vec::new();
    for figure in &a.figures {
        let Some(other) = b.figure(&figure.name) else { continue };
        if let Some([a, b]) = other_sizes(figure, other) {
            remarks.push(format!("{} is not comparable: {a}, {b}", figure.name));
            continue;
        }
        if figure.unit == other.unit {
            pairs.push((figure, other));
        } else {
            remarks.push(format!(
                "{} is in {} on one machine and in {} on the other",
                figure.name, figure.unit, other.unit
            ));
        }
        if figure.circumstances != other.circumstances {
            remarks.push(format!(
                "{} was measured under different circumstances: {}; {}",
                figure.name, figure.circumstances, other.circumstances
            ));
        }
    }
    // What a file does not say counts as the same, as with commands.
    let equally_busy = !a.meanwhile.zip(b.meanwhile).is_some_and(|(a, b)| is_apart(a, b));
    remarks.extend(work_of_others(a, names[0], equally_busy));
    remarks.extend(work_of_others(b, names[1], equally_busy));
    let change = |(a, b): &(&Figure, &Figure)| {
        Change::of_estimates(&estimate(a), &estimate(b), Covers::Repeat)
    };
    let changes: Vec<Change> = pairs.iter().map(change).collect();
    let figures = pairs
        .iter()
        .zip(&changes)
        .zip(differing(&changes))
        .map(|(((a, b), change), differs)| FigureComparison {
            name: a.name.clone(),
            unit: a.unit.clone(),
            values: [a.value, b.value],
            ratio: change.factor,
            p: change.p,
            differs: if differs { equally_busy.then_some(true) } else { Some(false) },
        })
        .collect();
    let differences = a.identity.differences(&b.identity);
    Comparison { names: names.map(Into::into), figures, differences, remarks }
}

/// A sentence on a machine where others disturbed, and on a quiet one beside a busy one.
fn work_of_others(machine: &Machine, name: &str, equally_busy: bool) -> Option<String> {
    match (&machine.disturbance, machine.meanwhile) {
        (Some(disturbance), _) => {
            Some(format!("{name} was measured on a machine that was {disturbance}"))
        }
        (None, Some(OtherWork { others, stolen })) if !equally_busy => Some(format!(
            "{name} was measured while others used {others:.2} of {} processors and the host took {} of the time",
            machine.identity.cpus_online,
            percent(stolen)
        )),
        _ => None,
    }
}

/// The sizes that were walked for the latency of a storage level, if they are different.
fn other_sizes<'f>(a: &'f Figure, b: &'f Figure) -> Option<[&'f str; 2]> {
    let (a, b) = (walked(a)?, walked(b)?);
    (a != b).then_some([a, b])
}

/// A figure as a statistical estimate.
fn estimate(figure: &Figure) -> Estimate {
    Estimate {
        value: figure.value,
        low: figure.low,
        high: figure.high,
        samples: figure.samples,
        effective_samples: figure.blocks as f64,
        std: figure.std,
    }
}

impl Comparison {
    /// The comparison as a table: differing figures first, by falling change.
    #[must_use]
    pub fn table(&self) -> Table {
        let [a, b] = &self.names;
        let distance = |figure: &FigureComparison| {
            figure.ratio.map_or(f64::INFINITY, |ratio| ratio.value.ln().abs())
        };
        let mut figures: Vec<&FigureComparison> = self.figures.iter().collect();
        let is_noise = |figure: &FigureComparison| figure.differs == Some(false);
        figures.sort_by(|x, y| {
            is_noise(x).cmp(&is_noise(y)).then(distance(y).total_cmp(&distance(x)))
        });
        let row = |figure: &&FigureComparison| {
            let show = |number: f64| value(number, &figure.unit);
            vec![
                figure.name.clone(),
                show(figure.values[0]),
                show(figure.values[1]),
                figure.ratio.map_or("–".into(), |factor| ratio(factor.value)),
                figure
                    .ratio
                    .map_or("–".into(), |f| format!("{} … {}", ratio(f.low), ratio(f.high))),
                verdict(figure.differs).into(),
            ]
        };
        let with = |differs| self.figures.iter().filter(|of| of.differs == differs).count();
        let (beyond, unknown) = (with(Some(true)), with(None));
        let mut note =
            vec![format!("{beyond} of {} figures differ beyond noise", self.figures.len())];
        if unknown > 0 {
            note.push(format!("For {unknown}, this cannot be told: A and B were not equally busy"));
        }
        note.push(match self.differences.as_slice() {
            [] => "both are the same machine with the same kernel".into(),
            differences => format!("these are different machines: {}", differences.join("; ")),
        });
        note.extend(self.remarks.iter().cloned());
        let heads = ["Figure", "A", "B", "B / A", "Interval at 95 %", "Verdict"];
        Table::new(format!("A: {a}, B: {b}"), heads, figures.iter().map(row).collect())
            .with_prose(&[5])
            .with_note(note.join(". ") + ".")
    }
}

/// The verdict on a figure that seems to differ, if others worked more during one of both measurements.
const NOT_EQUALLY_BUSY: &str = "cannot tell: not equally busy";

/// The word for [`FigureComparison::differs`].
const fn verdict(differs: Option<bool>) -> &'static str {
    match differs {
        Some(true) => "differs",
        Some(false) => "within noise",
        None => NOT_EQUALLY_BUSY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{figure, machine, undocumented};

    #[test]
    fn a_machine_does_not_differ_from_itself() {
        let a = machine(vec![figure("x", 100.0, 5.0), figure("y", 3.0, 0.0)]);
        let comparison = compare(["a", "b"], &a, &a);
        assert!(comparison.figures.iter().all(|of| of.differs == Some(false)), "{comparison:?}");
        assert!(comparison.differences.is_empty() && comparison.remarks.is_empty());
        assert!(comparison.table().note.contains("the same machine"));
    }

    #[test]
    fn differing_figures_come_first_with_their_factor() {
        let a = machine(vec![figure("near", 100.0, 5.0), figure("far", 100.0, 5.0)]);
        let mut b = machine(vec![figure("near", 103.0, 5.0), figure("far", 200.0, 8.0)]);
        b.identity.kernel = "6.2".into();
        let comparison = compare(["a", "b"], &a, &b);
        let table = comparison.table();
        assert_eq!((table.rows[0][0].as_str(), table.rows[0][5].as_str()), ("far", "differs"));
        assert_eq!(
            (table.rows[1][0].as_str(), table.rows[1][5].as_str()),
            ("near", "within noise")
        );
        let factor = comparison.figures[1].ratio.unwrap();
        assert!(
            (factor.value - 2.0).abs() < 1e-9 && factor.low > 1.8 && factor.high < 2.2,
            "{factor:?}"
        );
        assert!(
            table.note.contains("different machines: the kernel is 6.1, not 6.2"),
            "{}",
            table.note
        );
    }

    #[test]
    fn latencies_of_a_level_over_different_sizes_are_not_compared() {
        let level = |size: &str, value| {
            let mut figure = figure("memory.latency.l3", value, 1.0);
            figure.circumstances = format!("{size} walked, huge pages");
            machine(vec![figure])
        };
        let of = |a: &str, b: &str| compare(["a", "b"], &level(a, 50.0), &level(b, 110.0));
        let apart = of("8 MiB", "16 MiB");
        assert!(apart.figures.is_empty(), "{apart:?}");
        assert_eq!(apart.remarks, ["memory.latency.l3 is not comparable: 8 MiB, 16 MiB"]);
        assert_eq!(of("8 MiB", "8 MiB").figures[0].differs, Some(true));
    }

    #[test]
    fn figures_of_a_busier_machine_are_not_called_different() {
        let of = |values: [f64; 2], others, stolen| {
            let machine =
                machine(vec![figure("near", values[0], 5.0), figure("far", values[1], 5.0)]);
            Machine { meanwhile: Some(OtherWork { others, stolen }), ..machine }
        };
        let quiet = of([100.0, 100.0], 0.02, 0.0);
        let mut busy = of([101.0, 200.0], 1.8, 0.0);
        busy.disturbance = Some("busy in 9 of 10 blocks: others used 1.80 of 2 processors".into());
        for (a, b, names) in
            [(&quiet, &busy, ["quiet", "busy"]), (&busy, &quiet, ["busy", "quiet"])]
        {
            let comparison = compare(names, a, b);
            let differ: Vec<_> = comparison.figures.iter().map(|of| of.differs).collect();
            assert_eq!(differ, [Some(false), None]);
            let table = comparison.table();
            let verdicts: Vec<[&str; 2]> =
                table.rows.iter().map(|row| [row[0].as_str(), row[5].as_str()]).collect();
            assert_eq!(verdicts, [["far", NOT_EQUALLY_BUSY], ["near", "within noise"]]);
            let counted = "0 of 2 figures differ beyond noise. For 1, this cannot be told: A and B were not equally \
                           busy. ";
            assert!(table.note.starts_with(counted), "{}", table.note);
            for said in [
                "busy was measured on a machine that was busy in 9 of 10 blocks",
                "quiet was measured while others used 0.02 of 2 processors and the host took 0.0 % of the time",
            ] {
                assert!(table.note.contains(said), "{}", table.note);
            }
            let json = serde_json::to_value(&comparison).unwrap();
            assert!(json["figures"][1]["differs"].is_null(), "{json}");
            assert_eq!(undocumented(&json), Vec::<String>::new());
        }
        // The host took time, both are equally busy, and an older file without numbers.
        let differs = |b: &Machine| compare(["a", "b"], &quiet, b).figures[1].differs;
        assert_eq!(differs(&of([101.0, 200.0], 0.02, 0.05)), None);
        assert_eq!(differs(&of([101.0, 200.0], 0.05, 0.005)), Some(true));
        assert_eq!(differs(&Machine { meanwhile: None, ..busy }), Some(true));
    }

    #[test]
    fn figures_that_cannot_be_compared_are_named() {
        let a =
            machine(vec![figure("x", 1.0, 0.1), figure("only", 1.0, 0.1), figure("u", 1.0, 0.1)]);
        let mut b = machine(vec![figure("x", 1.0, 0.1), figure("u", 1.0, 0.1)]);
        b.figures[1].unit = "B/s".into();
        b.figures[0].circumstances = "loaded".into();
        b.disturbance = Some("busy in 9 of 10 blocks: others used 2 processors".into());
        let remarks = compare(["a", "b"], &a, &b).remarks.join("\n");
        for said in [
            "only is only in a",
            "u is in ns on one machine and in B/s",
            "x was measured under different",
            "b was measured on a machine that was busy in 9 of 10 blocks",
        ] {
            assert!(remarks.contains(said), "{remarks}");
        }
    }
}
