//! The plots of the page: utilization over time, response times over time, and their distribution.

use hemiola_analyze::timeline::jobs::{Job, List};
use hemiola_analyze::timeline::{Counter, State, Subject, Timeline};
use hemiola_report::plot::{
    Anchor, Axis, Drawing, LEFT, RIGHT, Scale, WIDTH, legend_height, series,
};
use hemiola_report::text::{counted, duration, number, percent, round_duration};

/// Steps of a time axis.
const STEPS: u64 = 240;

/// Bars of a distribution.
const BARS: usize = 60;

/// Plots the utilization of each processor. `from` and `to` are in ns from the start of the recording.
pub(crate) fn utilization(timeline: &Timeline, from: u64, to: u64) -> String {
    let length = timeline.to.nanos().saturating_sub(timeline.from.nanos());
    let (from, to) = (from.min(length), to.min(length).max(from.min(length)));
    let base = timeline.from.nanos();
    let step = ((to - from) / STEPS).max(1);
    let rows: Vec<(u16, usize)> = timeline
        .rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| match row.subject {
            Subject::Processor(cpu) => Some((cpu, index)),
            _ => None,
        })
        .collect();
    let names: Vec<(String, String)> = rows
        .iter()
        .enumerate()
        .map(|(index, (cpu, _))| (format!("line {}", series(index)), format!("CPU {cpu}")))
        .collect();
    let height = 300.0;
    let top = legend_height(LEFT, WIDTH, &names) + 6.0;
    let x = Axis::over([from as f64, to.max(from + 1) as f64].into_iter(), Scale::Linear)
        .on(LEFT, RIGHT);
    let y = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(height - 44.0, top);
    let mut drawing = Drawing::new(WIDTH, height, "Utilization of each processor over time");
    drawing.grid_y(&y, &x, percent);
    drawing.grid_x(&x, &y, round_duration);
    for (index, (_, row)) in rows.iter().enumerate() {
        let track = &timeline.rows[*row].track;
        let mut piece: Vec<[f64; 2]> = Vec::new();
        let class = format!("line {}", series(index));
        for number in 0..(to - from).div_ceil(step).min(STEPS + 1) {
            let begin = from + number * step;
            let end = (begin + step).min(to);
            let totals = track.totals_between(base + begin, base + end);
            let seen = (end - begin).saturating_sub(totals.of(State::Unknown));
            if seen * 2 < end - begin {
                // Mostly unknown: leave a gap in the line.
                drawing.curve(&class, &std::mem::take(&mut piece));
                continue;
            }
            let share = totals.of(State::Running) as f64 / seen as f64;
            piece.push([x.at((begin + end) as f64 / 2.0), y.at(share)]);
        }
        drawing.curve(&class, &piece);
    }
    drawing.legend(LEFT, &names);
    drawing.name_x(&x, "time from the first event");
    drawing.finish()
}

/// Plots the numbers that programs marked, one plot for each name. `from` and `to` are in ns from the start of the
/// recording.
pub(crate) fn counters(timeline: &Timeline, from: u64, to: u64) -> String {
    let length = timeline.to.nanos().saturating_sub(timeline.from.nanos());
    let (from, to) = (from.min(length), to.min(length).max(from.min(length)));
    let base = timeline.from.nanos();
    let shown = timeline.counters.iter().take(COUNTERS_MAX);
    let mut text: String = shown.map(|counter| plot_counter(counter, base, from, to)).collect();
    if let Some(more @ 1..) = timeline.counters.len().checked_sub(COUNTERS_MAX) {
        let mut drawing = Drawing::new(WIDTH, 30.0, "Numbers that are not shown");
        let words = format!("{more} more marks with numbers are not shown.");
        drawing.text("label", [LEFT, 20.0], Anchor::Start, &words);
        text.push_str(&drawing.finish());
    }
    text
}

/// Numbers that are plotted.
const COUNTERS_MAX: usize = 32;

/// Plots one number as steps, since a value holds until the next. Points on the same pixel are drawn as one stroke
/// from the least to the greatest of them, so that no peak is lost.
fn plot_counter(counter: &Counter, base: u64, from: u64, to: u64) -> String {
    let points = &counter.points;
    let first = points.partition_point(|(at, _)| *at <= base + from);
    let last = points.partition_point(|(at, _)| *at <= base + to);
    // The value that holds at the left edge.
    let before = points[..first].last().map(|(_, value)| (from, *value));
    let inside = points[first..last].iter().map(|(at, value)| (at - base, *value));
    let (points, others): (Vec<(u64, f64)>, Vec<_>) =
        before.into_iter().chain(inside).partition(|(_, value)| value.is_finite());
    let height = 180.0;
    let ends = [from as f64, to.max(from + 1) as f64];
    let x = Axis::over(ends.into_iter(), Scale::Linear).on(LEFT, RIGHT);
    let y =
        Axis::over(points.iter().map(|(_, value)| *value), Scale::Linear).on(height - 44.0, 26.0);
    let mut drawing = Drawing::new(WIDTH, height, &format!("{} over time", counter.name));
    drawing.grid_y(&y, &x, number);
    drawing.grid_x(&x, &y, round_duration);
    let mut curve: Vec<[f64; 2]> = Vec::new();
    let mut strokes: Vec<(f64, f64, f64)> = Vec::new();
    for (at, value) in points {
        let (place, value) = (x.at(at as f64).round(), y.at(value));
        match strokes.last_mut() {
            Some((last, high, low)) if *last == place => {
                (*high, *low) = (high.min(value), low.max(value));
                curve.last_mut().expect("a point for each stroke")[1] = value;
            }
            _ => {
                let held = curve.last().map(|[_, held]| [place, *held]);
                curve.extend(held);
                curve.push([place, value]);
                strokes.push((place, value, value));
            }
        }
    }
    curve.extend(curve.last().map(|[_, held]| [RIGHT, *held]));
    strokes.retain(|(_, high, low)| high < low);
    drawing.curve("line s0", &curve);
    if !strokes.is_empty() {
        drawing.strokes("strokes s0", &strokes);
    }
    let name = match others.len() as u64 {
        0 => counter.name.clone(),
        some => format!("{}; {} not finite", counter.name, counted(some, "value")),
    };
    drawing.legend(LEFT, &[("line s0".to_owned(), name)]);
    drawing.name_x(&x, "time from the first event");
    drawing.finish()
}

/// Plots the response times of jobs over time, and their distribution. Jobs that were not recorded whole are left out.
pub(crate) fn response(jobs: &List, base: u64) -> String {
    let whole = jobs.iter().filter(|job| job.whole);
    if whole.clone().next().is_none() {
        let mut drawing = Drawing::new(WIDTH, 60.0, "No job was recorded whole");
        drawing.text(
            "label",
            [LEFT, 34.0],
            Anchor::Start,
            "No job was recorded from its release to its end.",
        );
        return drawing.finish();
    }
    let mut text = over_time(&whole, base);
    text.push_str(&by_length(&whole));
    text
}

fn over_time(jobs: &(impl Iterator<Item = Job> + Clone), base: u64) -> String {
    let height = 300.0;
    let at = |job: &Job| job.release.saturating_sub(base) as f64;
    let x = Axis::over(jobs.clone().map(|job| at(&job)), Scale::Linear).on(LEFT, RIGHT);
    let times = jobs.clone().map(|job| job.response() as f64);
    let deadlines =
        jobs.clone().filter_map(|job| Some(job.deadline?.saturating_sub(job.release) as f64));
    let most = times.clone().chain(deadlines.clone()).fold(0.0, f64::max);
    let least = times.clone().fold(most, f64::min);
    let scale = if most > 20.0 * least { Scale::Logarithmic } else { Scale::Linear };
    let ends = [if scale == Scale::Linear { 0.0 } else { least.max(1.0) }, most];
    let y = Axis::over(ends.into_iter(), scale).on(height - 44.0, 26.0);
    let mut drawing = Drawing::new(WIDTH, height, "Response time of each job over its release");
    drawing.grid_y(&y, &x, round_duration);
    drawing.grid_x(&x, &y, round_duration);
    // Many jobs fall on one pixel: draw one stroke from the shortest to the longest.
    let mut strokes: Vec<(f64, f64, f64)> = Vec::new();
    let mut late: Vec<(f64, f64, f64)> = Vec::new();
    for job in jobs.clone() {
        let (place, height) = (x.at(at(&job)).round(), y.at((job.response() as f64).max(1.0)));
        let list = if job.late().is_some() { &mut late } else { &mut strokes };
        match list.last_mut() {
            Some((last, high, low)) if *last == place => {
                (*high, *low) = (high.min(height), low.max(height));
            }
            _ => list.push((place, height, height)),
        }
    }
    drawing.strokes("strokes s0", &strokes);
    drawing.strokes("strokes late", &late);
    let mut names = vec![("strokes s0".to_owned(), "response time".to_owned())];
    if let Some(deadline) = deadlines.reduce(f64::min) {
        drawing.line("median", [LEFT, y.at(deadline)], [RIGHT, y.at(deadline)]);
        names.push(("median".to_owned(), format!("shortest deadline, {}", duration(deadline))));
    }
    if !late.is_empty() {
        names.push(("strokes late".to_owned(), "after its deadline".to_owned()));
    }
    drawing.legend(LEFT, &names);
    drawing.name_x(&x, "release, from the first event");
    drawing.finish()
}

fn by_length(jobs: &(impl Iterator<Item = Job> + Clone)) -> String {
    let height = 240.0;
    let times = jobs.clone().map(|job| job.response().max(1) as f64);
    let x = Axis::over(times.clone(), Scale::Logarithmic).on(LEFT, RIGHT);
    let mut bars = [0_u64; BARS];
    for time in times {
        let share = (x.at(time) - LEFT) / (RIGHT - LEFT);
        bars[((share * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let greatest = bars.iter().copied().max().unwrap_or(1) as f64;
    let y = Axis::over([0.0, greatest].into_iter(), Scale::Linear).on(height - 44.0, 12.0);
    let mut drawing = Drawing::new(WIDTH, height, "Distribution of the response times");
    drawing.grid_y(&y, &x, |count| format!("{count:.0}"));
    drawing.grid_x(&x, &y, round_duration);
    let width = (RIGHT - LEFT) / BARS as f64;
    for (index, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
        let top = y.at(*count as f64).min(y.at(0.0) - 1.0);
        let place = [LEFT + index as f64 * width + 0.5, top];
        drawing.bar("fill s0", place, [width - 1.0, y.at(0.0) - top], &format!("{count} jobs"));
    }
    drawing.name_x(&x, "response time");
    drawing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_without_data_are_valid() {
        assert!(utilization(&Timeline::default(), 0, 0).starts_with("<svg"));
        assert!(response(&List::default(), 0).contains("No job"));
        assert_eq!(counters(&Timeline::default(), 0, 0), "");
        let (deadline, cycle, track) = (Some(3), None, None);
        let job = Job { release: 5, start: 5, finish: 5, deadline, cycle, track, whole: true };
        assert!(response(&List::from_iter([job]), 0).contains("jobs"));
    }

    #[test]
    fn numbers_of_any_size_are_plotted_also_constant_ones() {
        let plotted = |values: [f64; 2]| {
            let points = vec![(1_100, values[0]), (1_200, values[1])];
            let counter = Counter { row: Some(0), name: "control sensor".into(), points };
            let timeline = Timeline {
                from: hemiola_units::Instant::from_nanos(1000),
                to: hemiola_units::Instant::from_nanos(2000),
                counters: vec![counter],
                ..Timeline::default()
            };
            counters(&timeline, 0, 1000)
        };
        let infinite = plotted([1.0, f64::INFINITY]);
        assert!(infinite.contains("control sensor; 1 value not finite"), "{infinite}");
        assert!(plotted([f64::NAN; 2]).contains("control sensor; 2 values not finite"));
        for values in [
            [0.0; 2],
            [1e16; 2],
            [u64::MAX as f64; 2],
            [-1e300; 2],
            [f64::MAX; 2],
            [f64::MIN, f64::MAX],
            [f64::MIN_POSITIVE, 0.0],
        ] {
            let svg = plotted(values);
            assert!(svg.contains("<polyline") && !svg.contains("NaN"), "{values:?}: {svg}");
            assert!(!svg.contains("inf"), "{values:?}: {svg}");
        }
    }

    #[test]
    fn a_number_is_plotted_as_steps_with_its_peaks() {
        let points: Vec<(u64, f64)> =
            (0..100_000).map(|n| (1000 + n, f64::from(n as u32 % 7))).collect();
        let counter = Counter { row: Some(0), name: "control sensor".into(), points };
        let timeline = Timeline {
            from: hemiola_units::Instant::from_nanos(1000),
            to: hemiola_units::Instant::from_nanos(101_000),
            counters: vec![counter],
            ..Timeline::default()
        };
        let all = counters(&timeline, 0, 100_000);
        assert!(all.contains("control sensor") && all.contains("strokes"), "{all}");
        // The size depends on the pixels.
        assert!(all.len() < 100_000, "{}", all.len());
        // Magnified, each value holds until the next.
        let few = counters(&timeline, 10, 13);
        assert!(!few.contains("strokes"), "{few}");
    }
}
