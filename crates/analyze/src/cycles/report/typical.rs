//! Figures 16 to 18 of CMU/SEI-2000-TR-006: where the time stamps of a typical cycle stand.

use crate::cycles::analysis::Analysis;
use crate::cycles::metrics::Observed;
use crate::cycles::summary::VariantSummary;
use crate::cycles::typical::{Lane, Typical};
use hemiola_report::page::Figure;
use hemiola_report::plot::{Anchor, Axis, Drawing, RIGHT, Scale, WIDTH, series};
use hemiola_report::text::{duration, round_duration};

/// Height of a process's lane, and of its bar in it, pixels.
const LANE: f64 = 30.0;
const BAR: f64 = 12.0;
/// The left edge of the plane, after the names of the processes.
const FROM: f64 = 170.0;

/// A drawing for each control loop of the report.
pub(super) fn figure(analysis: &Analysis) -> Option<Figure> {
    let summary = &analysis.summary;
    let loops = summary.variants.iter().zip(&analysis.observed);
    let loops = loops.filter(|(variant, _)| summary.is_loop(variant));
    let svg: Vec<String> = loops
        .filter_map(|(variant, runs)| Some(draw(variant, runs.iter().find_map(typical)?)))
        .collect();
    (!svg.is_empty()).then(|| Figure {
        title: "A typical cycle".into(),
        caption: "The cycle of the first run whose time is nearest the median. Each bar is a job from its first \
                  time stamp to its last, waiting included; each dot is a time stamp, and what it marks shows under \
                  the pointer. Times are from the release, and the dashed line is the end of the cycle: work after \
                  it is not part of its time."
            .into(),
        svg,
    })
}

const fn typical(run: &Observed) -> Option<&Typical> {
    run.typical.as_ref()
}

fn draw(variant: &VariantSummary, typical: &Typical) -> String {
    let top = 30.0;
    let bottom = top + LANE * typical.lanes.len() as f64;
    let nanos = |lane: &Lane| lane.finish.nanos() as f64;
    let last = typical.lanes.iter().map(nanos).fold(typical.finish.nanos() as f64, f64::max);
    let x = Axis::over([0.0, last].into_iter(), Scale::Linear).on(FROM, RIGHT);
    let y = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(bottom, top);
    let description = format!("A typical cycle of {}", variant.name);
    let mut drawing = Drawing::new(WIDTH, bottom + 30.0, &description);
    let title = format!("{}, cycle {}", variant.name, typical.cycle);
    drawing.text("label strong", [0.0, 16.0], Anchor::Start, &title);
    drawing.grid_x(&x, &y, round_duration);
    let end = x.at(typical.finish.nanos() as f64);
    drawing.line("median", [end, top], [end, bottom]);
    for (index, lane) in typical.lanes.iter().enumerate() {
        draw_lane(&mut drawing, &x, top + LANE * index as f64, index, lane);
    }
    drawing.finish()
}

fn draw_lane(drawing: &mut Drawing, x: &Axis, top: f64, index: usize, lane: &Lane) {
    let name = &lane.process;
    let [start, finish] = [lane.start, lane.finish].map(|span| span.nanos() as f64);
    let y = top + (LANE - BAR) / 2.0;
    drawing.text("label", [FROM - 12.0, y + BAR - 2.0], Anchor::End, name);
    let words = format!("{name}: from {} to {}", duration(start), duration(finish));
    let width = (x.at(finish) - x.at(start)).max(1.0);
    drawing.bar(&format!("fill {}", series(index)), [x.at(start), y], [width, BAR], &words);
    for (at, kind) in &lane.stamps {
        let at = at.nanos() as f64;
        let tip = format!("{name}: {} at {}", kind.name(), duration(at));
        drawing.dot("dot floor", [x.at(at), y], &tip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::ladder_analysis;

    #[test]
    fn every_stamp_of_every_process_of_a_typical_cycle_has_a_dot() {
        let analysis = ladder_analysis();
        let figure = figure(&analysis).unwrap();
        assert_eq!(figure.svg.len(), 4);
        let typical = analysis.observed.iter().map(|runs| runs[0].typical.as_ref().unwrap());
        for ((svg, typical), variant) in
            figure.svg.iter().zip(typical).zip(&analysis.summary.variants)
        {
            let stamps: usize = typical.lanes.iter().map(|lane| lane.stamps.len()).sum();
            assert_eq!(svg.matches("<circle").count(), stamps);
            assert_eq!(svg.matches("<rect").count(), typical.lanes.len());
            assert_eq!(stamps, variant.combined.stamps_per_cycle as usize, "{}", variant.name);
            let title = format!("{}, cycle {}", variant.name, typical.cycle);
            assert!(svg.contains(&title), "{svg}");
        }
        // The monolithic program has one process; the others hand over to each of theirs.
        let lanes =
            |index: usize| analysis.observed[index][0].typical.as_ref().unwrap().lanes.len();
        assert_eq!([lanes(0), lanes(1), lanes(3)], [1, 2, 3]);
        assert!(figure.svg[3].contains("unit-1: receive at "), "{}", figure.svg[3]);
    }
}
