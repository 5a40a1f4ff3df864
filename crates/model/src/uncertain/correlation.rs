//! Which inputs vary together.

use std::collections::BTreeSet;

use thiserror::Error;

/// That two inputs vary together.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// One input.
    pub first: String,
    /// The other.
    pub second: String,
    /// From −1 (opposite) over 0 (independent) to 1 (together).
    pub coefficient: f64,
}

/// A table that is no correlation matrix.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CorrelationError {
    /// Not as many rows or columns as names.
    #[error(
        "the correlation matrix of {names} inputs needs {names} rows of {names}; row {row} has {columns}"
    )]
    Shape {
        /// How many inputs.
        names: usize,
        /// The row, from 1; one more than there are where one is missing.
        row: usize,
        /// Its length.
        columns: usize,
    },
    /// The diagonal is not 1.
    #[error("the correlation of \"{name}\" with itself is {value}; it is always 1")]
    Diagonal {
        /// The input.
        name: String,
        /// What was written.
        value: f64,
    },
    /// The two halves differ.
    #[error(
        "the correlation of \"{first}\" with \"{second}\" is {value}, that of \"{second}\" with \"{first}\" \
         {mirrored}; they are the same thing"
    )]
    NotSymmetric {
        /// The input of the row.
        first: String,
        /// The input of the column.
        second: String,
        /// Above the diagonal.
        value: f64,
        /// Below.
        mirrored: f64,
    },
    /// A coefficient beyond ± 1, or not a number.
    #[error(
        "the correlation of \"{first}\" with \"{second}\" is {value}; it lies between -1 and 1"
    )]
    Range {
        /// One input.
        first: String,
        /// The other.
        second: String,
        /// What was written.
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
    /// Coefficients that no three or more quantities can have at once.
    #[error(
        "the correlations contradict each other: given those before it, \"{name}\" would have a negative \
         variance (the matrix is not positive semidefinite); bring its coefficients nearer to 0"
    )]
    NotPositive {
        /// The input at which it shows.
        name: String,
    },
}

impl Correlation {
    /// The pairs of a full matrix, rows and columns in the order of `names`; zeros are left out.
    ///
    /// # Errors
    /// Everything that is wrong with its shape, its diagonal, its symmetry and its coefficients. Whether it
    /// is positive semidefinite is checked with the inputs, by [`Network::new`](super::Network::new).
    pub fn from_matrix(
        names: &[&str],
        rows: &[Vec<f64>],
    ) -> Result<Vec<Self>, Vec<CorrelationError>> {
        let mut found = Vec::new();
        for row in 0..names.len().max(rows.len()) {
            let columns = rows.get(row).map_or(0, Vec::len);
            if columns != names.len() || row >= names.len() {
                found.push(CorrelationError::Shape { names: names.len(), row: row + 1, columns });
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        let mut pairs = Vec::new();
        for (at, name) in names.iter().enumerate() {
            if rows[at][at] != 1.0 {
                let (name, value) = ((*name).to_owned(), rows[at][at]);
                found.push(CorrelationError::Diagonal { name, value });
            }
            for other in at + 1..names.len() {
                let (first, second) = ((*name).to_owned(), names[other].to_owned());
                let (value, mirrored) = (rows[at][other], rows[other][at]);
                if value != mirrored && !(value.is_nan() && mirrored.is_nan()) {
                    found.push(CorrelationError::NotSymmetric { first, second, value, mirrored });
                } else if !(-1.0..=1.0).contains(&value) {
                    found.push(CorrelationError::Range { first, second, value });
                } else if value != 0.0 {
                    pairs.push(Self { first, second, coefficient: value });
                }
            }
        }
        if found.is_empty() { Ok(pairs) } else { Err(found) }
    }
}

/// The inputs of a network that vary together.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    /// Which inputs: indices in rising order.
    pub(super) members: Vec<usize>,
    /// Pairs of inputs with their coefficients.
    pub(super) pairs: Vec<(usize, usize, f64)>,
    /// The Cholesky factor of the members' matrix: row `i` has `i + 1` entries.
    pub(super) lower: Vec<Vec<f64>>,
}

impl Together {
    /// Of pairs of inputs that are all different and in range; `name` tells what an input is called.
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

/// The lower triangle whose product with its transpose is this matrix with 1 on its diagonal, or the row at
/// which it is found not to be positive semidefinite.
fn cholesky(matrix: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, usize> {
    /// Less than this is zero, up to rounding.
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
                // The column's input follows from those before it, and so does what this one shares with it.
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
    fn wrong_matrix_is_refused_with_everything_that_is_wrong() {
        let refused = |rows: &[Vec<f64>]| {
            let errors = Correlation::from_matrix(&["a", "b", "c"], rows).unwrap_err();
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            refused(&[vec![1.0, 0.5, 0.0], vec![0.4, 0.9, 1.5], vec![0.0, 1.5, 1.0]]),
            [
                "the correlation of \"a\" with \"b\" is 0.5, that of \"b\" with \"a\" 0.4; they are the same thing",
                "the correlation of \"b\" with itself is 0.9; it is always 1",
                "the correlation of \"b\" with \"c\" is 1.5; it lies between -1 and 1",
            ]
        );
        assert_eq!(
            refused(&[vec![1.0, 0.0, 0.0], vec![0.0, 1.0]]),
            [
                "the correlation matrix of 3 inputs needs 3 rows of 3; row 2 has 2",
                "the correlation matrix of 3 inputs needs 3 rows of 3; row 3 has 0",
            ]
        );
        let nan = vec![vec![1.0, f64::NAN], vec![f64::NAN, 1.0]];
        let errors = Correlation::from_matrix(&["a", "b"], &nan).unwrap_err();
        assert!(matches!(errors[..], [CorrelationError::Range { .. }]));
    }

    #[test]
    fn correlations_that_contradict_each_other_are_refused() {
        // b follows a, c follows a, but c is the opposite of b.
        let matrix = |bc: f64| vec![vec![1.0, 0.9, 0.9], vec![0.9, 1.0, bc], vec![0.9, bc, 1.0]];
        assert_eq!(cholesky(&matrix(-0.9)), Err(2));
        assert!(cholesky(&matrix(0.62)).is_ok());
        // 0.9² − (1 − 0.9²) = 0.62 is the edge.
        assert_eq!(cholesky(&matrix(0.61)), Err(2));
        let names = ["a", "b", "c"];
        let error = Together::new(vec![(0, 1, 0.9), (0, 2, 0.9), (1, 2, -0.9)], |at| names[at]);
        assert!(error.unwrap_err().to_string().contains("\"c\" would have a negative variance"));
    }

    #[test]
    fn full_correlation_is_possible_and_one_beside_it_contradicts() {
        let with = |bc: f64| vec![vec![1.0, 1.0, 0.5], vec![1.0, 1.0, bc], vec![0.5, bc, 1.0]];
        let lower = cholesky(&with(0.5)).unwrap();
        assert_eq!(lower[1], [1.0, 0.0]);
        assert_eq!(cholesky(&with(0.4)), Err(2));
    }
}
