//! The examples of the report on inputs and uncertainties, computed from the files as shipped.

use hemiola_report::table::Table;

use crate::export::{page, sweeps, tables};
use crate::file;
use crate::summary::{Summary, analyze};

const IMAGES: &str = include_str!("../../../examples/8-image-retrieval/model.toml");
const SHOP: &str = include_str!("../../../examples/9-web-shop/model.toml");
const SWITCH: &str = include_str!("../../../examples/10-context-switch-model/model.toml");
const OVER_TIME: &str = include_str!("../../../examples/10-context-switch-model/over-time.toml");
const DURATION: &str = include_str!("../../../examples/10-context-switch-model/duration.toml");

fn summary(source: &str) -> Summary {
    let model = file::read(source, None).unwrap_or_else(|found| {
        panic!("{}", hemiola_diagnostic::render(&found, source, "model.toml"))
    });
    analyze(&model, None)
}

fn table<'t>(tables: &'t [Table], title: &str) -> &'t Table {
    tables.iter().find(|table| table.title.starts_with(title)).unwrap_or_else(|| panic!("{title}"))
}

#[test]
fn attributes_cost_72_ms_and_reading_by_line_four_and_a_half_seconds() {
    let summary = summary(IMAGES);
    let variants = &summary.chains[0].what_ifs;
    let difference =
        |name: &str| variants.iter().find(|variant| variant.name == name).unwrap().difference_ns;
    // Differences of means: the cost of an attribute and of a line varies.
    assert!((difference("attributes") - 72e6).abs() < 0.1e6);
    assert!((difference("by_line") - 4_608e6).abs() < 5e6);
    let tables = tables::tables(&summary);
    let rows = &table(&tables, "What if").rows;
    assert_eq!((rows[2][4].as_str(), rows[3][4].as_str()), ("+72 ms", "+4.61 s"));
    assert_eq!(rows[3][7], "missed");
}

#[test]
fn a_context_switch_is_expected_to_take_1640_ns() {
    let summary = summary(SWITCH);
    let chain = &summary.chains[0];
    assert!((chain.cost.first_order.nominal_ns - 1640.0).abs() < 1e-6);
    // 100 instructions and 6 accesses to memory.
    let own = |name: &str| chain.waterfall.iter().find(|share| share.name == name).unwrap().own_ns;
    assert!((own("processor.instruction") - 500.0).abs() < 1e-6);
    assert!((own("memory.load_line") - 1140.0).abs() < 1e-6);
    // Measured 10, 2 and 50 µs; observations that need a machine's measurements are absent.
    let measured: Vec<f64> = chain.budget.held.iter().map(|held| held.measured_ns).collect();
    assert_eq!(measured, [10e3, 2e3, 50e3]);
    assert!(chain.budget.held[0].verdict.contains("longer than expected by a factor of 6.1"));
}

#[test]
fn the_same_explanations_hold_after_a_cache_flush_and_without_a_cache() {
    let summary = summary(SWITCH);
    let found = |name: &str| {
        let variant = summary.chains[0].what_ifs.iter().find(|variant| variant.name == name);
        &variant.unwrap().cost
    };
    for (name, expected_ns, measured_ns) in
        [("layers", 9_755.0, 10e3), ("no_cache_layers", 48_620.0, 50e3)]
    {
        let cost = found(name);
        assert!((cost.nominal_ns - expected_ns).abs() < 1.0, "{name}: {cost:?}");
        assert!(cost.low_ns < measured_ns && measured_ns < cost.high_ns, "{name}: {cost:?}");
    }
}

#[test]
fn the_errors_of_two_time_stamps_add_in_their_difference() {
    let summary = summary(DURATION);
    for (chain, std_ns, systematic_ns) in
        [("noise", 2f64.sqrt() * 1e3, 0.0), ("two_clocks", 0.0, 4e3), ("one_clock", 0.0, 0.0)]
    {
        let found = summary.chains.iter().find(|one| one.name == chain).unwrap();
        let first_order = &found.cost.first_order;
        assert!((first_order.nominal_ns - 4e3).abs() < 1e-6, "{chain}: {first_order:?}");
        assert!((first_order.std_ns - std_ns).abs() < 1e-6, "{chain}: {first_order:?}");
        assert!(
            (first_order.systematic_ns - systematic_ns).abs() < 1e-6,
            "{chain}: {first_order:?}"
        );
    }
    let by_samples = summary.chains[0].cost.monte_carlo;
    assert!((by_samples.std_ns - 1_414.0).abs() < 40.0, "{by_samples:?}");
}

#[test]
fn the_overhead_table_equals_that_of_the_report() {
    let tables = tables::tables(&summary(SWITCH));
    let rows = &table(&tables, "Overhead").rows;
    let expected = [
        ["500", "5 ms", "0.5 %", "1 ms", "0.1 %"],
        ["5\u{a0}000", "50 ms", "5 %", "10 ms", "1 %"],
        ["50\u{a0}000", "500 ms", "50 %", "100 ms", "10 %"],
    ];
    assert_eq!(*rows, expected.map(|row| row.map(str::to_owned).to_vec()).to_vec());
}

#[test]
fn the_picture_cache_pays_off_and_a_shift_shows_its_risk() {
    let summary = summary(SHOP);
    let cache = &summary.caches[0];
    let as_it_is = &cache.designs[0];
    assert!(as_it_is.response_ns < cache.without_ns / 2.0);
    let formula = as_it_is.variation.theory.unwrap();
    assert!((formula - as_it_is.variation.simulated).abs() < 0.01);
    let at_once = cache.changes.iter().find(|one| one.variation.what.contains("first")).unwrap();
    assert!(at_once.response_ns > 1.1 * as_it_is.response_ns, "{at_once:?}");
}

#[test]
fn measured_figures_replace_those_of_the_file() {
    let measured = r#"{"title": "This machine", "figures": [
        {"name": "file.read", "value": 2000.0, "unit": "ns", "low": 1900.0, "high": 2100.0,
         "samples": 50, "circumstances": "idle"},
        {"name": "whole", "value": 20500.0, "unit": "ns", "low": 20500.0, "high": 20500.0,
         "samples": 5, "circumstances": "idle"},
        {"name": "wide", "value": 30000.0, "unit": "ns", "low": 20500.0, "high": 40000.0,
         "samples": 5, "circumstances": "busy"},
        {"name": "narrow", "value": 30.0, "unit": "µs", "low": 29.0, "high": 31.0,
         "samples": 5, "circumstances": "idle"}]}"#;
    let measurements = file::Measurements::of_summary(measured).unwrap();
    let source = r#"
        title = "Ten reads"
        [figures.read]
        value = "5 us"
        source = "guess"
        reason = "an old disk"
        measured = "file.read"
        [chains.ten]
        calls = [{ name = "reads", times = 10, cost = "read" }]
        [[chains.ten.measured]]
        circumstances = "all ten"
        measured = "whole"
        [[chains.ten.measured]]
        circumstances = "beside others"
        measured = "wide"
        [[chains.ten.measured]]
        circumstances = "alone"
        measured = "narrow"
    "#;
    let own = analyze(&file::read(source, None).unwrap(), None);
    assert_eq!(own.chains[0].cost.first_order.nominal_ns, 50e3);
    assert_eq!((own.inputs[0].source, own.chains[0].budget.held.len()), ("guess", 0));
    let taken = analyze(&file::read(source, Some(&measurements)).unwrap(), Some(&measurements.of));
    let cost = &taken.chains[0].cost;
    assert_eq!(cost.first_order.nominal_ns, 20e3);
    // Ten uses of one figure are fully correlated: ± 1 µs in total.
    assert!((cost.monte_carlo.low_ns - 19e3).abs() < 20.0, "{cost:?}");
    assert!((cost.first_order.low_ns - 19e3).abs() < 1.0, "{cost:?}");
    assert_eq!(taken.inputs[0].taken_from.as_deref(), Some("file.read"));
    let held = &taken.chains[0].budget.held;
    assert!((held[0].factor - 1.025).abs() < 1e-4, "{held:?}");
    let verdicts: Vec<&str> = held.iter().map(|held| held.verdict.as_str()).collect();
    assert_eq!(verdicts[1], "as expected, within the uncertainty of the measurement");
    assert!(verdicts[2].starts_with("longer than expected by a factor of 1.5"), "{verdicts:?}");
}

#[test]
fn the_page_is_self_contained_and_json_has_every_result() {
    for source in [IMAGES, SHOP, SWITCH] {
        let summary = summary(source);
        let page = page::page(&summary, "hemiola model").render();
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("Where the time goes") && page.contains("<svg"));
        let json: serde_json::Value =
            serde_json::from_str(&hemiola_report::json::pretty(&summary)).unwrap();
        for figure in json["figures"].as_array().unwrap() {
            for key in ["name", "value", "unit", "low", "high", "samples", "circumstances"] {
                assert!(!figure[key].is_null(), "{key} of {figure}");
            }
        }
    }
}

#[test]
fn the_page_has_charts_of_each_chain_and_cache() {
    let titles = |source: &str| -> Vec<String> {
        page::page(&summary(source), "").figures.into_iter().map(|figure| figure.title).collect()
    };
    let has = |titles: &[String], start: &str| titles.iter().any(|title| title.starts_with(start));
    let images = titles(IMAGES);
    for start in ["Where the time goes", "How likely each time is", "Which input matters"] {
        assert!(has(&images, start), "{start}: {images:?}");
    }
    assert!(!has(&images, "Hit ratio"));
    let all: Vec<String> = [IMAGES, SHOP, SWITCH].into_iter().flat_map(titles).collect();
    for start in ["Budget", "What if", "Hit ratio over size"] {
        assert!(has(&all, start), "{start}: {all:?}");
    }
}

#[test]
fn a_larger_cache_hits_more_and_the_curve_goes_through_the_cache_as_it_is() {
    let summary = summary(SHOP);
    let cache = &summary.caches[0];
    let ratios: Vec<f64> =
        cache.sizes.iter().map(|other| other.variant.variation.simulated).collect();
    assert!(ratios.len() > 4 && ratios.is_sorted(), "{ratios:?}");
    let same = cache.sizes.iter().find(|other| other.size_bytes == cache.size_bytes).unwrap();
    assert_eq!(same.variant, cache.designs[0]);
}

#[test]
fn the_seed_determines_the_answers() {
    assert_eq!(summary(SHOP), summary(SHOP));
}

#[test]
fn the_cost_of_an_instruction_falls_over_the_time_since_a_switch() {
    let summary = summary(OVER_TIME);
    let chart = page::page(&summary, "").figures;
    assert!(chart.iter().any(|figure| figure.title.starts_with("Cost over time")), "{chart:?}");
    let csv = sweeps::csv(&summary).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..5], ["chain", "sweep", "figure", "value", "cost"]);
    assert_eq!(rows[1][..6], ["instruction", "Cost over time", "since", "0", "time", "ns"]);
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    // 5 ns + 20 % of 190 ns at once; after 32 us, e^-8 of that is left.
    assert!((number(1, 6) - 43.0).abs() < 0.2 && number(7, 6) < 5.2, "{csv}");
    assert!((2..8).all(|row| number(row, 6) < number(row - 1, 6)), "{csv}");
    assert!((1..8).all(|row| number(row, 7) < number(row, 6) && rows[row][9].is_empty()), "{csv}");
    assert_eq!((rows.len(), number(7, 3)), (8, 32e-6));
    assert_eq!(sweeps::csv(&self::summary(IMAGES)), None);
}
