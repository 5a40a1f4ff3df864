//! Numbers that a program marks, from the program to the plots of the page.

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::trace::program;
use crate::view::Page;

/// The plot of this name among those of the page.
fn plot<'p>(plots: &'p str, name: &str) -> &'p str {
    let title = format!("\"{name} over time\"");
    let found = plots.split("<svg").find(|plot| plot.contains(&title));
    found.unwrap_or_else(|| panic!("no plot of {name}: {plots}"))
}

/// The labels of the vertical axis of a plot, from the bottom up.
fn labels(plot: &str) -> Vec<&str> {
    let lines = plot.lines().filter(|line| line.contains(r#"class="tick""#));
    let vertical = lines.filter_map(|line| line.split_once(r#"text-anchor="end">"#));
    vertical.map(|(_, text)| text.trim_end_matches("</text>")).collect()
}

/// The heights of the steps of a plot, in order.
fn heights(plot: &str) -> Vec<f64> {
    let line = plot.lines().find_map(|line| line.split_once("points=\"")).unwrap().1;
    let points = line.split('"').next().unwrap().split(' ');
    let mut heights: Vec<f64> =
        points.map(|point| point.split_once(',').unwrap().1.parse().unwrap()).collect();
    heights.dedup();
    heights
}

#[test]
fn numbers_of_every_type_that_a_program_marks_are_plotted() {
    let machine = Machine::take("view-marks");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 0, 0);
        for (int n = 0; n < 5; n++) {
            hemiola_begin(&t, 0);
            hemiola_mark(&t, \"queue\", (uint64_t)n * 1000);
            hemiola_mark(&t, \"error\", (int64_t)n * 100 - 400);
            hemiola_mark(&t, \"voltage\", n * 0.25);
            hemiola_mark(&t, \"largest\", UINT64_MAX - (uint64_t)n);
            hemiola_mark(&t, \"event\", 0);
            hemiola_mark(&t, \"state\", \"busy\");
            hemiola_end(&t);
            rest(2000);
        }
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    machine.hemiola(&["trace", "--", "./program"]).with_code(0);
    let page = Page::serve(&[&machine.folder().join("program.trace")]);
    let recording = page.json("api/recording?r=0");
    let length = &recording["duration_ns"];
    let (_, plots) = page.get(&format!("api/plot/counters?r=0&from=0&to={length}"));
    let plots = String::from_utf8(plots).unwrap();
    for (name, expected) in [
        ("control queue", &["0", "1000", "2000", "3000", "4000"][..]),
        ("control error", &["-400", "-300", "-200", "-100", "0"]),
        ("control voltage", &["0", "0.5", "1"]),
    ] {
        let plot = plot(&plots, name);
        assert_eq!(labels(plot), expected, "{name}: {plot}");
        // Each value is a quarter of the axis above the one before it.
        assert_eq!(heights(plot), [136.0, 108.5, 81.0, 53.5, 26.0], "{name}: {plot}");
    }
    // As a signed number it would be negative.
    let largest = labels(plot(&plots, "control largest"));
    assert!(largest.contains(&"1.85e19"), "{largest:?}");
    // A number that is always 0 and a text are no plots.
    assert_eq!(plots.matches("<svg").count(), 4, "{plots}");

    // The same thread has all marks, by their names.
    let rows = recording["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["marks"] == 30).unwrap();
    assert_eq!((&row["name"], &row["marked"]), (&json!("program"), &json!(5)));
    let row = &row["row"];
    let details = page.json(&format!("api/details?r=0&from=0&to={length}&rows={row}"));
    let marks = details[row.to_string()]["marks"].as_array().unwrap();
    let name = |mark: &Value| recording["names"][mark[1].as_u64().unwrap() as usize].clone();
    let names: Vec<Value> = marks.iter().map(name).collect();
    let job = ["queue", "error", "voltage", "largest", "event", "state: busy"];
    assert_eq!(json!(names), json!(job.repeat(5)));
    drop(page);
    machine.nothing_is_left();
}
