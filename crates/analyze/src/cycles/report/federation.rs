//! The tables, figures and cards of a federation in its modes.

use hemiola_trace::result::{PriorityMode, Synchronization};

use crate::cycles::federation::{FederateFigures, ModeFigures};
use crate::cycles::summary::Summary;
use hemiola_report::charts::{Group, Ranged, SideBySide};
use hemiola_report::page::Figure;
use hemiola_report::page::{Card, Tone};
use hemiola_report::plot::Scale;
use hemiola_report::table::{Detail, Table};
use hemiola_report::text::{NONE, count, duration, micros, ratio};
use hemiola_stats::Spread;

/// The number of late cycles of a mode that a terminal shows. The page shows all that are kept.
const LATE_SHOWN_MAX: usize = 1;
/// The maximum number of causes of delays in the table of each mode.
const BLAMES_SHOWN_MAX: usize = 5;

/// All tables; without rows where the summary has no federation.
pub(in crate::cycles) fn tables(summary: &Summary, detail: Detail) -> Vec<Table> {
    let mut tables = vec![cycles(summary), against_bare(summary), shares(summary)];
    if detail == Detail::Full {
        tables.push(federates(summary));
    }
    tables.extend([blames(summary), late(summary, detail), exchanged(summary)]);
    tables
}

/// Milliseconds with all digits down to the microsecond, as the paper's tables have them.
fn millis(nanos: f64) -> String {
    format!("{:.3}", nanos / 1e6)
}

fn words(mode: &ModeFigures) -> [String; 3] {
    let affinity = if mode.affinity { "own, locked" } else { "any" };
    [mode.sync.word(), mode.priority.word(), affinity].map(String::from)
}

/// The mode in the words of the first table.
fn short(mode: &ModeFigures) -> String {
    let own = if mode.affinity { ", own processors" } else { "" };
    format!("{}, {} priority{own}", mode.sync.word(), mode.priority.word())
}

fn masters(summary: &Summary) -> impl Iterator<Item = (&ModeFigures, &FederateFigures)> {
    summary.modes.iter().filter_map(|mode| Some((mode, mode.master()?)))
}

/// The masters of all modes, for a heading.
fn master_names(summary: &Summary) -> String {
    let mut names: Vec<String> = masters(summary)
        .map(|(mode, master)| format!("{} at {:.0} Hz", mode.master, master.rate_hz))
        .collect();
    names.dedup();
    names.join(", ")
}

fn spread(spread: Option<Spread>, show: fn(f64) -> String) -> [String; 7] {
    spread.map_or([NONE; 7].map(String::from), |s| {
        let [min, p50, p99, p999, max] = [s.min, s.p50, s.p99, s.p999, s.max].map(|ns| ns as f64);
        [min, max, s.mean, s.std, p50, p99, p999].map(show)
    })
}

/// Table 1 of the paper, with quantiles and what did not fit.
fn cycles(summary: &Summary) -> Table {
    let rows = masters(summary).map(|(mode, master)| {
        let mut row = words(mode).to_vec();
        row.push(count(master.cycles));
        row.extend(spread(master.cycle_ns, millis));
        row.extend([count(master.overruns), count(master.lost)]);
        row
    });
    let heads = "Synchronization|Priority|Processors|Cycles|Min|Max|Mean|Std|Median|p99|p99.9|Overruns|Lost"
        .split('|');
    let title = format!("Table 1: cycle of the master ({}), ms", master_names(summary));
    Table::new(title, heads, rows.collect()).with_prose(&[1, 2]).with_note(
        "From the beginning of a cycle to that of the next, all runs together. Overruns: cycles not over when the timer \
         called for the next. Lost: cycles that never began because of that. Processors: any, or each process its own \
         with locked memory.",
    )
}

/// The master's deviation from its period beside that of a task that does nothing.
fn against_bare(summary: &Summary) -> Table {
    type Pick = fn(&Spread) -> i64;
    const PICKS: [Pick; 4] = [|s| s.p50, |s| s.p99, |s| s.p999, |s| s.max];
    let rows = masters(summary).filter(|(mode, _)| mode.bare_deviation_ns.is_some()).map(
        |(mode, master)| {
            let mut row = words(mode).to_vec();
            for pick in PICKS {
                let of = |spread: Option<Spread>| spread.map(|spread| pick(&spread) as f64);
                row.extend(
                    [of(master.deviation_ns), of(mode.bare_deviation_ns)]
                        .map(|ns| ns.map_or(NONE.into(), micros)),
                );
            }
            let period = |pick: Pick| {
                let [this, bare] =
                    [master.cycle_ns, mode.bare_timer_ns].map(|s| s.map(|s| pick(&s) as f64));
                this.zip(bare)
                    .filter(|(_, bare)| *bare > 0.0)
                    .map_or(NONE.into(), |(this, bare)| format!("{:.3}", this / bare))
            };
            row.extend(PICKS[..3].iter().map(|pick| period(*pick)));
            row
        },
    );
    let heads = "Synchronization|Priority|Processors|p50|bare|p99|bare|p99.9|bare|Max|bare|Period p50|p99|p99.9"
        .split('|');
    Table::new("The master's distance from its period, beside a bare timer's, µs", heads, rows.collect())
        .with_prose(&[1, 2])
        .with_note(
            "Bare: a periodic task of the same rate, profile and way of waiting that does nothing, before and after each \
             run: what the machine does to any program. Period: quantiles of the master's cycle over those of the bare \
             task's.",
        )
}

fn shares(summary: &Summary) -> Table {
    let rows = masters(summary).filter(|(_, master)| master.rti_share_ns.is_some()).map(
        |(mode, master)| {
            let mut row = words(mode).to_vec();
            row.push(mode.transport.clone());
            let share = master.rti_share_ns;
            row.extend(
                [
                    share.map(|s| s.p50),
                    share.map(|s| s.p99),
                    share.map(|s| s.p999),
                    share.map(|s| s.max),
                ]
                .map(|ns| ns.map_or(NONE.into(), |ns| micros(ns as f64))),
            );
            row
        },
    );
    let heads = "Synchronization|Priority|Processors|RTI over|p50|p99|p99.9|Max".split('|');
    Table::new("The RTI's share of the master's cycle, µs", heads, rows.collect()).with_prose(&[1, 2, 3]).with_note(
        "How long the RTI worked within each cycle of the master, for all federates together: its turns, without the time \
         others had its processor in them, where the kernel was recorded.",
    )
}

fn federates(summary: &Summary) -> Table {
    let all = summary.modes.iter().flat_map(|mode| mode.federates.iter().map(move |f| (mode, f)));
    let rows = all.map(|(mode, federate)| {
        let mut row = vec![short(mode), federate.name.clone(), format!("{:.0}", federate.rate_hz)];
        row.push(count(federate.cycles));
        row.extend(spread(federate.cycle_ns, millis));
        row.push(federate.response_ns.map_or(NONE.into(), |s| millis(s.p50 as f64)));
        row.extend([count(federate.overruns), count(federate.lost)]);
        row.push(federate.rti_share_ns.map_or(NONE.into(), |s| micros(s.p50 as f64)));
        row
    });
    let heads = [
        "Mode", "Federate", "Hz", "Cycles", "Min", "Max", "Mean", "Std", "Median", "p99", "p99.9",
        "Response", "Overruns", "Lost", "RTI, µs",
    ];
    Table::new("Cycles of all federates, ms", heads, rows.collect()).with_prose(&[1]).with_note(
        "Response: median from the moment a cycle was due to its end. RTI: median of what it worked within the cycle.",
    )
}

fn blames(summary: &Summary) -> Table {
    let all = summary.modes.iter().flat_map(|mode| {
        mode.late_because.iter().take(BLAMES_SHOWN_MAX).map(move |blame| (mode, blame))
    });
    let rows = all.map(|(mode, blame)| {
        let mean = blame.total_ns as f64 / blame.cycles.max(1) as f64;
        vec![
            short(mode),
            blame.federate.clone(),
            if blame.because == blame.federate { "itself".into() } else { blame.because.clone() },
            count(blame.cycles),
            micros(mean),
            micros(blame.max_ns as f64),
        ]
    });
    let heads = ["Mode", "Late", "Because of", "Cycles", "Mean, µs", "Max, µs"];
    Table::new("Federates that made others late", heads, rows.collect()).with_prose(&[1, 2]).with_note(
        "Cycles that took longer than the federate's usually do by more than a twentieth of its period, from when they were \
         due or could begin. A wait is followed to the federate that asked the RTI last, and on from there; who had the \
         processor is by the kernel's record.",
    )
}

fn late(summary: &Summary, detail: Detail) -> Table {
    let most = if detail == Detail::Full { usize::MAX } else { LATE_SHOWN_MAX };
    let all = summary
        .modes
        .iter()
        .flat_map(|mode| mode.late.iter().take(most).map(move |late| (mode, late)));
    let rows = all.map(|(mode, late)| {
        let cycle = late.cycle.to_string();
        vec![short(mode), late.federate.clone(), cycle, late.explanation.clone()]
    });
    let heads = ["Mode", "Federate", "Cycle", "Explanation"];
    Table::new("The latest cycles, explained", heads, rows.collect()).with_prose(&[1, 3])
}

fn exchanged(summary: &Summary) -> Table {
    let rows = summary.modes.iter().map(|mode| {
        let sum = |pick: fn(&FederateFigures) -> u64| count(mode.federates.iter().map(pick).sum());
        let mut row =
            vec![short(mode), sum(|f| f.sent), sum(|f| f.received), sum(|f| f.updates_lost)];
        row.extend(mode.trajectory.map_or([NONE; 3].map(String::from), |t| {
            let [least, greatest] = t.distance_m;
            [
                count(t.states),
                format!("{:.1e}", t.deviation_m_max),
                format!("{least:.1} … {greatest:.1}"),
            ]
        }));
        row
    });
    let heads = ["Mode", "Sent", "Received", "Lost", "States", "Deviation, m", "Apart, m"];
    Table::new("Exchange between the federates", heads, rows.collect()).with_note(
        "Attribute updates of all federates. States: positions of both satellites that went through the federation, held \
         against the closed form of their motion (Clohessy and Wiltshire); the greatest deviation of their distance, and \
         how far apart they were.",
    )
}

/// Figures 7 and 8 of the paper, each beside the bare timer.
pub(super) fn figures(summary: &Summary) -> Vec<Figure> {
    if masters(summary).next().is_none() {
        return Vec::new();
    }
    let exact = |nanos: f64| format!("{} ms", millis(nanos));
    let cycle = |pick: fn(&Spread) -> f64| {
        masters(summary).map(move |(mode, master)| {
            let of = |spread: Option<Spread>| spread.map(|spread| Ranged::from(pick(&spread)));
            [of(master.cycle_ns), of(mode.bare_timer_ns)]
        })
    };
    let chart =
        |description: &str, columns: &[&str], values: Vec<Vec<Option<Ranged>>>, scale, show| {
            let groups = masters(summary).zip(values);
            SideBySide {
                description,
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                groups: groups
                    .map(|((mode, _), values)| Group { name: short(mode), values })
                    .collect(),
                scale,
                show,
            }
            .draw()
        };
    let joined = |a: Vec<[Option<Ranged>; 2]>,
                  b: Vec<[Option<Ranged>; 2]>|
     -> Vec<Vec<Option<Ranged>>> {
        a.into_iter().zip(b).map(|([a, bare_a], [b, bare_b])| vec![a, bare_a, b, bare_b]).collect()
    };
    let maximum: Vec<_> = cycle(|s| s.max as f64).collect();
    let median: Vec<_> = cycle(|s| s.p50 as f64).collect();
    let deviations: Vec<Vec<Option<Ranged>>> = masters(summary)
        .map(|(mode, master)| {
            let mean = |spread: Option<Spread>| spread.map(|spread| Ranged::from(spread.mean));
            let p999 =
                |spread: Option<Spread>| spread.map(|spread| Ranged::from(spread.p999 as f64));
            let [this, bare] = [master.deviation_ns, mode.bare_deviation_ns];
            vec![mean(this), mean(bare), p999(this), p999(bare)]
        })
        .collect();
    let master = master_names(summary);
    vec![
        Figure {
            title: format!("Figure 7: maximum and median cycle of the master, {master}"),
            caption: "Low and high priority, with the master's pulses (RT) and with time management (TM). Bare: a \
                      periodic task of the same rate, profile and way of waiting that does nothing, in the same run."
                .into(),
            svg: vec![chart(
                "Maximum and median cycle of the master in each mode",
                &["maximum", "maximum, bare", "median", "median, bare"],
                joined(maximum, median),
                Scale::Logarithmic,
                &exact,
            )],
        },
        Figure {
            title: format!("Figure 8: how far the master's cycle is from its period, {master}"),
            caption: "Mean and 99.9th percentile of the distance, whichever way: what remains of the same figure once \
                      the cycle is held."
                .into(),
            svg: vec![chart(
                "Distance of the master's cycle from its period in each mode",
                &["mean", "mean, bare", "99.9th percentile", "99.9th percentile, bare"],
                deviations,
                Scale::Logarithmic,
                &duration,
            )],
        },
    ]
}

/// The figures to see first: the strictest mode's.
pub(super) fn cards(summary: &Summary) -> Vec<Card> {
    let strictness = |mode: &ModeFigures| {
        let is_high = mode.priority == PriorityMode::High;
        let is_managed = mode.sync == Synchronization::TimeManagement;
        (is_managed, is_high, mode.affinity)
    };
    let Some((mode, master)) = masters(summary).max_by_key(|(mode, _)| strictness(mode)) else {
        return Vec::new();
    };
    let mut cards = Vec::new();
    if let (Some(cycle), Some(deviation)) = (master.cycle_ns, master.deviation_ns) {
        let bare = mode.bare_deviation_ns.filter(|bare| bare.p999 > 0);
        let beside = bare.map_or(String::new(), |bare| {
            format!(", {} a bare timer's", ratio(deviation.p999 as f64 / bare.p999 as f64))
        });
        cards.push(Card::new(
            format!("Median cycle of {}", mode.master),
            format!("{} ms", millis(cycle.p50 as f64)),
            format!("{}; p99.9 {} off{beside}", short(mode), duration(deviation.p999 as f64)),
            Tone::Plain,
        ));
    }
    if let Some(share) = master.rti_share_ns {
        cards.push(Card::new(
            "The RTI's share of a cycle",
            duration(share.p50 as f64),
            format!("p99 {}; over {}", duration(share.p99 as f64), mode.transport),
            Tone::Plain,
        ));
    }
    let tone = |number: u64| if number == 0 { Tone::Good } else { Tone::Bad };
    cards.push(Card::new(
        "Cycles lost",
        count(master.lost),
        format!(
            "{} overruns in {} cycles of {}",
            count(master.overruns),
            count(master.cycles),
            mode.master
        ),
        tone(master.lost),
    ));
    let lost = summary.modes.iter().flat_map(|mode| &mode.federates).map(|f| f.updates_lost).sum();
    let trajectory = summary.modes.iter().filter_map(|mode| mode.trajectory);
    let deviation = trajectory.map(|t| t.deviation_m_max).max_by(f64::total_cmp);
    cards.push(Card::new(
        "Updates lost",
        count(lost),
        deviation.map_or(String::new(), |m| {
            format!("trajectory {m:.1e} m from the closed form, all modes")
        }),
        tone(lost),
    ));
    cards
}
