//! Overhead tables: rate × cost as the load of one processor.

use serde::Serialize;

use crate::chain::definitions::overhead_name;
use crate::chain::ns;
use crate::file::Model;
use crate::uncertain::Network;

/// Rate × cost for every pair, after figure 3.21 of the report on inputs and uncertainties.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverheadTable {
    /// The repeated operation.
    pub title: String,
    /// Rates, 1/s: the rows.
    pub rates: Vec<f64>,
    /// Costs of one operation, ns: the columns.
    pub costs_ns: Vec<f64>,
    /// By row, then by column.
    pub loads: Vec<Vec<Load>>,
}

/// The load of an operation at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Time spent in each second, ns.
    pub each_second_ns: f64,
    /// The same as a share of one processor; above 1 is impossible.
    pub share: f64,
}

impl Load {
    /// The load of an operation that costs `cost_ns` and runs `rate` times a second.
    #[must_use]
    pub fn of(rate: f64, cost_ns: f64) -> Self {
        let each_second_ns = rate * cost_ns;
        Self { each_second_ns, share: each_second_ns / 1e9 }
    }
}

/// The tables of a model, in the order written.
pub(crate) fn tables(network: &Network, model: &Model) -> Vec<OverheadTable> {
    let mut tables = Vec::new();
    for (table, overhead) in model.overheads.iter().enumerate() {
        let values = |what: &str, count: usize| -> Vec<f64> {
            let value = |index| network.nominal(&overhead_name(table, what, index));
            (0..count).map(|index| value(index).expect("the reader added it")).collect()
        };
        let rates = values("rate", overhead.rates.len());
        let costs = values("cost", overhead.costs.len());
        let costs_ns: Vec<f64> = costs.into_iter().map(ns).collect();
        let row = |rate: &f64| costs_ns.iter().map(|cost| Load::of(*rate, *cost)).collect();
        let loads = rates.iter().map(row).collect();
        tables.push(OverheadTable { title: overhead.title.clone(), rates, costs_ns, loads });
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_match_the_table_of_the_report() {
        // Figure 3.21: at 10 µs, then at 2 µs.
        let expected = [
            (500.0, (5e6, 0.005), (1e6, 0.001)),
            (5_000.0, (50e6, 0.05), (10e6, 0.01)),
            (50_000.0, (500e6, 0.5), (100e6, 0.1)),
        ];
        for (rate, slow, fast) in expected {
            for (cost_ns, (each_second_ns, share)) in [(10e3, slow), (2e3, fast)] {
                assert_eq!(Load::of(rate, cost_ns), Load { each_second_ns, share });
            }
        }
    }
}
