//! Correlations of inputs.

use std::collections::BTreeSet;

use thiserror::Error;

/// The correlation of two inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// One input.
    pub first: String,
    /// The other.
    pub second: String,
    /// From −1 (opposite) over 0 (independent) to 1 (together).
    pub coefficient: f64,
}

/// Why correlations are invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CorrelationError {
    /// An input's correlation with itself is not 1.
    #[error("the correlation of \"{name}\" with itself is {value}; it must be 1")]
    Diagonal {
        /// The input.
        name: String,
        /// The given value.
        value: f64,
    },
    /// A coefficient beyond ± 1, or not a number.
    #[error(
        "the correlation of \"{first}\" with \"{second}\" is {value}; it must lie between -1 and 1"
    )]
    Range {
        /// One input.
        first: String,
        /// The other.
        second: String,
        /// The given value.
        value: f64,
    },
    /// The same pair twice.
    #[error("the correlation of \"{first}\" with \"{second}\" is given twice")]
    Twice {
        /// One input.
        first: String,
        /// The other.
        second: String,
    },
    /// Coefficients that the inputs cannot have at the same time.
    #[error(
        "the correlations contradict each other: given those before it, \"{name}\" would have a negative \
         variance (the matrix is not positive semidefinite); bring its coefficients nearer to 0"
    )]
    NotPositive {
        /// The first input that contradicts those before it.
        name: String,
    },
}

/// The correlated inputs of a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Correlated {
    /// Which inputs: indices in rising order.
    pub(super) members: Vec<usize>,
    /// Pairs of inputs with their coefficients.
    pub(super) pairs: Vec<(usize, usize, f64)>,
    /// The Cholesky factor of the members' matrix: row `i` has `i + 1` entries.
    pub(super) lower: Vec<Vec<f64>>,
}

impl Correlated {
    /// From distinct pairs with coefficients in range; `name` returns the name of an input.
    pub(super) fn new<'n>(
        pairs: Vec<(usize, usize, f64)>,
        name: impl Fn(usize) -> &'n str,
    ) -> Result<Self, CorrelationError> {
        let members: BTreeSet<usize> = pairs.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        let members: Vec<usize> = members.into_iter().collect();
        let place =
            |input: usize| members.binary_search(&input).expect("members are those of the pairs");
        let mut matrix = vec![vec![0.0; members.len()]; members.len()];
        for (a, b, coefficient) in &pairs {
            matrix[place(*a)][place(*b)] = *coefficient;
            matrix[place(*b)][place(*a)] = *coefficient;
        }
        let lower = cholesky(&matrix)
            .map_err(|at| CorrelationError::NotPositive { name: name(members[at]).to_owned() })?;
        Ok(Self { members, pairs, lower })
    }
}

/// Inputs whose systematic parts move together: index and sign of each.
pub(super) type Linked = Vec<(usize, f64)>;

impl Correlated {
    /// The given inputs in groups of fully correlated ones (coefficient 1 or −1), whose offsets are one unknown. Every
    /// other input is a group of its own, since an offset is not random and has no weaker correlation.
    pub(super) fn linked(&self, inputs: &[usize]) -> Vec<Linked> {
        let mut groups: Vec<Linked> = Vec::new();
        for &input in inputs {
            if groups.iter().flatten().any(|(known, _)| *known == input) {
                continue;
            }
            let mut group = vec![(input, 1.0)];
            let mut next = 0;
            while let Some(&(one, sign)) = group.get(next) {
                next += 1;
                for (a, b, coefficient) in self.pairs.iter().filter(|(_, _, c)| c.abs() == 1.0) {
                    let other = if *a == one {
                        *b
                    } else if *b == one {
                        *a
                    } else {
                        continue;
                    };
                    let known = group.iter().any(|(known, _)| *known == other);
                    if !known && inputs.contains(&other) {
                        group.push((other, sign * coefficient));
                    }
                }
            }
            groups.push(group);
        }
        groups
    }
}

/// The lower triangle whose product with its transpose is this matrix with 1 on its diagonal; or the first row
/// at which the matrix is not positive semidefinite.
fn cholesky(matrix: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, usize> {
    /// Smaller values are zero up to rounding.
    const ZERO: f64 = 1e-10;
    let mut lower: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    for (at, entries) in matrix.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(at + 1);
        for (column, entry) in entries[..at].iter().enumerate() {
            let known: f64 = row.iter().zip(&lower[column]).map(|(a, b)| a * b).sum();
            let (left, pivot) = (entry - known, lower[column][column]);
            if pivot > 0.0 {
                row.push(left / pivot);
            } else if left.abs() < ZERO.sqrt() {
                // The column's input is determined by those before it, and so is their correlation with this one.
                row.push(0.0);
            } else {
                return Err(at);
            }
        }
        let left = 1.0 - row.iter().map(|entry| entry * entry).sum::<f64>();
        if left < -ZERO {
            return Err(at);
        }
        row.push(if left < ZERO { 0.0 } else { left.sqrt() });
        lower.push(row);
    }
    Ok(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradicting_correlations_are_rejected() {
        // b follows a, c follows a, but c is the opposite of b.
        let matrix = |bc: f64| vec![vec![1.0, 0.9, 0.9], vec![0.9, 1.0, bc], vec![0.9, bc, 1.0]];
        assert_eq!(cholesky(&matrix(-0.9)), Err(2));
        assert!(cholesky(&matrix(0.62)).is_ok());
        // 0.9² − (1 − 0.9²) = 0.62 is the limit.
        assert_eq!(cholesky(&matrix(0.61)), Err(2));
        let names = ["a", "b", "c"];
        let error = Correlated::new(vec![(0, 1, 0.9), (0, 2, 0.9), (1, 2, -0.9)], |at| names[at]);
        assert!(error.unwrap_err().to_string().contains("\"c\" would have a negative variance"));
    }

    #[test]
    fn fully_correlated_inputs_must_correlate_equally_with_a_third() {
        let with = |bc: f64| vec![vec![1.0, 1.0, 0.5], vec![1.0, 1.0, bc], vec![0.5, bc, 1.0]];
        let lower = cholesky(&with(0.5)).unwrap();
        assert_eq!(lower[1], [1.0, 0.0]);
        assert_eq!(cholesky(&with(0.4)), Err(2));
    }
}
