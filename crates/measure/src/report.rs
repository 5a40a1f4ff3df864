//! The tables and the page of a survey.

use hemiola_model::machine::Figure;
use hemiola_report::charts::{Along, Lines, Marker, Point, Ranged, Series};
use hemiola_report::conditions::machine_conditions;
use hemiola_report::page::Figure as Drawn;
use hemiola_report::page::{Card, Page, Tone};
use hemiola_report::plot::Scale;
use hemiola_report::table::Table;
use hemiola_report::text::{count, date, percent, ratio, round_duration, size};

use crate::link::{self, Counts, Share};
use crate::text::{interval, value};
use crate::{LinkSummary, Survey, derive, instruments, recovery};

const NONE: &str = "–";

/// The tables of a survey except empty ones.
#[must_use]
pub fn tables(survey: &Survey) -> Vec<Table> {
    let figures = &survey.machine.figures;
    let mut tables = vec![
        switches(figures),
        levels(survey),
        communication(figures, "latency"),
        communication(figures, "throughput"),
        instruments::table(figures),
        recovery::table(figures),
        others(figures),
        merit(survey),
        losses(survey),
        missing(survey),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// All data of every figure, for the page.
fn all(figures: &[Figure]) -> Table {
    let row = |figure: &Figure| {
        let show = |number: f64| value(number, &figure.unit);
        vec![
            figure.name.clone(),
            show(figure.value),
            interval(figure.low, figure.high, &figure.unit),
            show(figure.std),
            show(figure.systematic),
            show(figure.p99),
            show(figure.overhead),
            count(figure.samples),
            figure.circumstances.clone(),
        ]
    };
    let heads =
        "Figure|Value|Repeat|Std|Systematic|p99|Subtracted|Readings|Circumstances".split('|');
    Table::new("All figures", heads, figures.iter().map(row).collect()).with_prose(&[8]).with_note(
        "Value: the median of all readings. Repeat: the interval that contains the next measurement's \
         value in 95 of 100 cases. Std: of single readings (stochastic). Systematic: the uncertainty of the subtracted \
         overhead, common to all readings.",
    )
}

/// The parts of a figure's name without the suffix of the load.
fn words(figure: &Figure) -> Vec<&str> {
    figure.name.split('@').next().unwrap_or_default().split('.').collect()
}

/// A table of the figures for which `place` returns a row and a column, both in order of appearance.
fn grid(
    title: &str,
    figures: &[Figure],
    place: impl Fn(&[&str]) -> Option<(String, String)>,
    first: &str,
) -> Table {
    let mut heads = vec![first.to_owned()];
    // Each row's name, and its cells with their columns.
    let mut rows = Vec::<(String, Vec<(usize, String)>)>::new();
    for figure in figures {
        let Some((row, head)) = place(&words(figure)) else { continue };
        let column = heads.iter().position(|known| *known == head).unwrap_or_else(|| {
            heads.push(head);
            heads.len() - 1
        });
        let cell = (column, value(figure.value, &figure.unit));
        match rows.iter_mut().find(|(name, _)| *name == row) {
            Some((_, cells)) => cells.push(cell),
            None => rows.push((row, vec![cell])),
        }
    }
    let width = heads.len();
    let filled = rows.into_iter().map(|(name, cells)| {
        let mut row = vec![NONE.to_owned(); width];
        row[0] = name;
        for (column, text) in cells {
            row[column] = text;
        }
        row
    });
    let rows = filled.collect();
    Table::new(title, heads, rows)
}

fn plain(word: &str) -> String {
    word.replace('_', " ")
}

/// One context switch by mechanism and by what both processes walked in between.
fn switches(figures: &[Figure]) -> Table {
    let place = |words: &[&str]| match words {
        ["context_switch", mechanism, placement, cache] => {
            let cache = cache
                .strip_prefix("walked_")
                .map_or_else(|| plain(cache), |walked| format!("walked {walked}"));
            Some((format!("{}, {}", plain(mechanism), plain(placement)), cache))
        }
        _ => None,
    };
    let title = "Context switch: from cache, and after both processes walked a buffer";
    grid(title, figures, place, "Context switch").with_note(
        "One hand-over from process to process, half a round trip, without the walk itself and the clock. User space \
         cannot disable a cache. A walk through more than its size has the same effect on the processes' own data, but \
         not on the kernel's hottest lines.",
    )
}

fn levels(survey: &Survey) -> Table {
    let latency = |name: &str| {
        survey.machine.figures.iter().find(|figure| {
            figure.name.split('@').next() == Some(format!("memory.latency.{name}").as_str())
        })
    };
    let row = |level: &crate::staircase::Level| {
        let kernel = survey.kernel.iter().find(|cache| format!("l{}", cache.level) == level.name);
        let figure = latency(&level.name);
        vec![
            if level.name == "memory" { level.name.clone() } else { level.name.to_uppercase() },
            level.size.map_or(NONE.into(), |bytes| size(bytes as f64)),
            kernel.map_or(NONE.into(), |cache| size(cache.size as f64)),
            value(level.latency, "ns"),
            figure.map_or(NONE.into(), |figure| interval(figure.low, figure.high, "ns")),
            size(level.at as f64),
        ]
    };
    let disagreements = survey.disagreements();
    let note = if disagreements.is_empty() {
        "The measured sizes agree with the kernel's: at most one measured size apart.".into()
    } else {
        format!("The measured sizes differ from the kernel's: {}.", disagreements.join("; "))
    };
    let heads = ["Level", "Holds", "Kernel", "One load", "Repeat", "Measured at"];
    let rows = survey.levels.iter().map(row).collect();
    Table::new("Storage: the steps of the staircase", heads, rows).with_note(note)
}

/// A message by mechanism and size.
fn communication(figures: &[Figure], what: &str) -> Table {
    let place = |words: &[&str]| match words {
        ["communication", mechanism, kind, placement, size] if *kind == what => {
            Some((format!("{}, {}", plain(mechanism), plain(placement)), (*size).to_owned()))
        }
        _ => None,
    };
    let (kind, note) = match what {
        "latency" => (
            "one way",
            "Half a round trip between two processes. Sizes that a mechanism cannot carry are left out.",
        ),
        _ => ("throughput", ""),
    };
    let title = format!("Communication: {kind}, by size of the message");
    grid(&title, figures, place, "Mechanism").with_note(note)
}

/// The figures without a table of their own, one line each; of the staircase only the levels.
fn others(figures: &[Figure]) -> Table {
    let own = |figure: &&Figure| {
        let words = words(figure);
        let shown = matches!(words.first(), Some(&"context_switch" | &"communication"));
        !shown
            && !words.starts_with(&["memory", "latency"])
            && !words.starts_with(&["memory", "size"])
    };
    let row = |figure: &Figure| {
        vec![
            figure.name.clone(),
            value(figure.value, &figure.unit),
            interval(figure.low, figure.high, &figure.unit),
            value(figure.p99, &figure.unit),
            count(figure.samples),
        ]
    };
    let heads = ["Figure", "Value", "Repeat", "p99", "Readings"];
    let rows = figures.iter().filter(own).map(row).collect();
    Table::new("Other figures", heads, rows).with_note(
        "Repeat: the interval that contains the next measurement's value in 95 of 100 cases.",
    )
}

/// What distinguishes one kind of link from another: Muller, "Modeling and Analysis: Inputs and Uncertainties", figure
/// 2.6. The distance is given, not measured; the time of light is what no link can undercut.
fn merit(survey: &Survey) -> Table {
    const LIGHT_M_PER_S: f64 = 299_792_458.0;
    let heads =
        ["Link to", "Latency", "Frequency", "Distance", "Light takes", "Share of the latency"];
    let Some(LinkSummary { with, distance_m, .. }) = &survey.link else {
        return Table::new("Latency, frequency and distance", heads, Vec::new());
    };
    let figure = |name: &str| survey.machine.figures.iter().find(|figure| figure.name == name);
    let latency = figure(link::LATENCY_TWICE).map(|figure| figure.value / 2.0);
    let rates = [link::BANDWIDTH_TO, link::BANDWIDTH_FROM].into_iter().filter_map(figure);
    let slower = rates.min_by(|a, b| a.value.total_cmp(&b.value));
    let light = distance_m.map(|metres| metres / LIGHT_M_PER_S * 1e9);
    let share = light.zip(latency).map(|(light, latency)| percent(light / latency));
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
    let row = vec![
        with.clone(),
        or_none(latency.map(|nanos| value(nanos, "ns"))),
        or_none(slower.map(|figure| value(figure.value, &figure.unit))),
        or_none(distance_m.map(length)),
        or_none(light.map(|nanos| value(nanos, "ns"))),
        or_none(share),
    ];
    Table::new("Latency, frequency and distance", heads, vec![row]).with_note(
        "Latency: half a round trip of 64 B. Frequency: the bandwidth of the slower direction. Distance: as given by \
         --distance; light in a vacuum takes at least the next column, in a cable half as long again.",
    )
}

/// A length with three digits, in m or km.
fn length(metres: f64) -> String {
    let (number, unit) = if metres < 1e3 { (metres, "m") } else { (metres / 1e3, "km") };
    let decimals = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.decimals$} {unit}")
}

/// The datagrams of a link that were lost; no rows if the measurement sent none.
fn losses(survey: &Survey) -> Table {
    let heads = ["Datagrams", "Lost", "Share", "Repeat"];
    let Some(LinkSummary { with, losses, cut, .. }) = &survey.link else {
        return Table::new("Losses", heads, Vec::new());
    };
    let row = |direction: &str, all: u64, left: u64, share: Option<Share>| {
        let lost = format!("{} of {}", count(all - left), count(all));
        let [lost, share, repeat] = match (cut, share) {
            (Some(_), _) => {
                [format!("{lost} before the link failed"), "not known".into(), NONE.into()]
            }
            (None, None) => [lost, "not known".into(), NONE.into()],
            (None, Some(share)) => {
                let repeat = format!("{} … {}", percent(share.low), percent(share.high));
                [lost, percent(share.value), repeat]
            }
        };
        vec![format!("{direction} {with}"), lost, share, repeat]
    };
    let losses = losses.clone().unwrap_or_default();
    let Counts { sent, arrived, returned, late, repeated } = losses.all;
    let rows = match (sent, cut) {
        (0, None) => Vec::new(),
        _ => vec![row("to", sent, arrived, losses.to), row("from", arrived, returned, losses.from)],
    };
    Table::new("Losses of datagrams, of 200 B each, one in each ms", heads, rows).with_note(format!(
        "The other host says how many arrived. {} came back late. {} came back as copies that the network made. Repeat: \
         from the differences between blocks; if none was lost, the share that would have shown itself in 95 of 100 \
         cases.",
        count(late),
        count(repeated)
    ))
}

fn missing(survey: &Survey) -> Table {
    let rows: Vec<Vec<String>> = survey
        .missing
        .iter()
        .map(|missing| vec![missing.name.clone(), missing.reason.clone()])
        .collect();
    let all = rows.len() + survey.machine.figures.len();
    let title = format!("Not measured: {} of {all} figures", rows.len());
    Table::new(title, ["Figure", "Reason"], rows).with_prose(&[1])
}

/// The page of a survey.
#[must_use]
pub fn page(survey: &Survey) -> String {
    let figures = &survey.machine.figures;
    let mut tables = tables(survey);
    tables.push(all(&survey.machine.figures));
    Page {
        title: "Figures of merit".into(),
        started: date(survey.machine.measured_unix_s),
        subtitle: survey.conditions.command_line.clone(),
        cards: cards(survey),
        problems: survey.notes.clone(),
        figures: staircase(survey).into_iter().chain(recovery::chart(figures)).collect(),
        tables,
        conditions: conditions(survey),
    }
    .render()
}

/// Names and values of the conditions of all figures.
#[must_use]
pub fn conditions(survey: &Survey) -> Vec<(String, String)> {
    let mut conditions = machine_conditions(&survey.conditions);
    conditions.push(("Our own load".into(), survey.load.to_string()));
    conditions.push(("Others meanwhile".into(), survey.meanwhile.words()));
    conditions
}

fn cards(survey: &Survey) -> Vec<Card> {
    let figures = &survey.machine.figures;
    let find = |name: &str| figures.iter().find(|figure| words(figure).join(".") == name);
    let mut cards = Vec::new();
    for (name, title) in [
        ("clock.read", "Clock read"),
        ("system_call.empty", "Empty system call"),
        ("memory.latency.l1", "Load from L1"),
        ("memory.latency.memory", "Load from memory"),
    ] {
        if let Some(figure) = find(name) {
            let note = format!("repeat: {}", interval(figure.low, figure.high, &figure.unit));
            cards.push(Card::new(title, value(figure.value, &figure.unit), note, Tone::Plain));
        }
    }
    if let Some((warm, factor)) = cold_factor(figures) {
        let note = format!("from cache; {factor} after walking a buffer");
        cards.push(Card::new("Context switch", warm, note, Tone::Plain));
    }
    let all = survey.missing.len() + figures.len();
    cards.push(Card::new(
        "Figures",
        count(figures.len() as u64),
        format!("of {all}"),
        if survey.missing.is_empty() { Tone::Good } else { Tone::Plain },
    ));
    cards
}

/// The latency of a load over the working-set size, with the kernel's cache sizes marked.
fn staircase(survey: &Survey) -> Option<Drawn> {
    let name = |figure: &Figure| words(figure).join(".");
    let points: Vec<Point> = survey
        .machine
        .figures
        .iter()
        .filter_map(|figure| {
            let x = derive::size(&name(figure))? as f64;
            let y = Ranged { value: figure.value, ends: Some([figure.low, figure.high]) };
            Some(Point { x, y })
        })
        .collect();
    if points.len() < 2 {
        return None;
    }
    let marker = |cache: &crate::staircase::KernelCache| Marker {
        at: cache.size as f64,
        name: format!("L{} according to the kernel", cache.level),
    };
    let svg = Lines {
        description: "Latency of dependent loads over the working-set size, both axes logarithmic",
        x: Along { name: "working set", scale: Scale::Binary, show: &size },
        y: Along { name: "one load", scale: Scale::Logarithmic, show: &round_duration },
        series: vec![Series { name: "dependent loads in random order".into(), points }],
        markers: survey.kernel.iter().map(marker).collect(),
    }
    .draw();
    let steps: Vec<String> = survey
        .levels
        .iter()
        .map(|level| match level.size {
            Some(bytes) => format!("{} up to {}", value(level.latency, "ns"), size(bytes as f64)),
            None => format!("{} beyond", value(level.latency, "ns")),
        })
        .collect();
    Some(Drawn {
        title: "The storage staircase".into(),
        caption: format!(
            "The latency of a load that depends on the previous one, over the size of the working set walked in random \
             order. Bars show the interval of a repeat. Levels: {}.",
            steps.join(", ")
        ),
        svg: vec![svg],
    })
}

/// The cost of a context switch with warm caches, and the factor for the largest walked buffer of the same mechanism.
fn cold_factor(figures: &[Figure]) -> Option<(String, String)> {
    let of = |mechanism: &str, cache: &dyn Fn(&str) -> bool| {
        figures.iter().rfind(|figure| match words(figure).as_slice() {
            ["context_switch", this, "same_core", state] => *this == mechanism && cache(state),
            _ => false,
        })
    };
    ["yield", "futex", "pipe"].into_iter().find_map(|mechanism| {
        let warm = of(mechanism, &|state| state == "warm")?;
        let walked = of(mechanism, &|state| state.starts_with("walked"))?;
        Some((value(warm.value, "ns"), ratio(walked.value / warm.value)))
    })
}
