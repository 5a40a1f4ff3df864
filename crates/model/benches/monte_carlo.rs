//! The time of a million samples of a model with fifty nodes, on one core.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_model::expression::Expression;
use hemiola_model::uncertain::{Correlation, Definition, Distribution, Input, Network};
use hemiola_quantity::Quantity;
use hemiola_units::Random;

/// Thirty uncertain inputs and fifty definitions over them, as in a model of a chain of calls: counts times costs,
/// shares, maxima.
fn chain() -> Network {
    let inputs = (0..30).map(|at| {
        let input = Input::exact(format!("cost.{at}"), Quantity::number(10.0 + f64::from(at)));
        let middle = input.nominal.value;
        input.varying(match at % 5 {
            0..3 => Distribution::Normal { std: 1.0 },
            3 => Distribution::Uniform { low: middle - 2.0, high: middle + 2.0 },
            _ => Distribution::LogNormal { sigma: 0.2 },
        })
    });
    let definitions = (0..50).map(|at| {
        let (a, b) = (at % 30, (at * 7 + 3) % 30);
        let before = if at == 0 { "0".to_owned() } else { format!("node.{}", at - 1) };
        let text = match at % 4 {
            0 => format!("{before} + 3 * cost.{a} + cost.{b} / 2"),
            1 => format!("{before} + 0.9 * cost.{a} + 0.1 * cost.{b} * 5"),
            2 => format!("{before} + max(cost.{a}, cost.{b})"),
            _ => format!("{before} * (1 + cost.{a} / 1000) - cost.{b} ^ 2 / 50"),
        };
        let expression = Expression::parse(&text).expect("a formula");
        Definition { name: format!("node.{at}"), expression }
    });
    let pair = |first: &str, second: &str, coefficient| Correlation {
        first: first.to_owned(),
        second: second.to_owned(),
        coefficient,
    };
    let correlations = [pair("cost.0", "cost.1", 0.7), pair("cost.5", "cost.6", -0.4)];
    Network::new(inputs.collect(), &correlations, definitions.collect()).expect("a valid network")
}

fn monte_carlo(criterion: &mut Criterion) {
    let network = chain();
    let mut group = criterion.benchmark_group("fifty nodes");
    group.sample_size(10);
    group.bench_function("a million samples", |bench| {
        let mut random = Random::from_seed(1);
        bench.iter(|| network.monte_carlo("node.49", black_box(1_000_000), &mut random));
    });
    group.bench_function("first order", |bench| {
        bench.iter(|| network.first_order(black_box("node.49")));
    });
    group.finish();
}

criterion_group!(benches, monte_carlo);
criterion_main!(benches);
