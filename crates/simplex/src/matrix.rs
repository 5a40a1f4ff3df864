//! Four-by-four algebra, without allocation and with a fixed order of operations.

/// A column, in the order of the plant's states: position, speed, angle, rate.
pub type Vector = [f64; 4];
/// A matrix by rows.
pub type Matrix = [[f64; 4]; 4];

pub(crate) const IDENTITY: Matrix =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

pub(crate) fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

pub(crate) fn times(a: &Matrix, x: &Vector) -> Vector {
    std::array::from_fn(|i| dot(&a[i], x))
}

pub(crate) fn transposed(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transposed(b);
    std::array::from_fn(|i| std::array::from_fn(|j| dot(&a[i], &columns[j])))
}

pub(crate) fn sum(a: &Matrix, b: &Matrix, factor: f64) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + factor * b[i][j]))
}

pub(crate) fn scaled(a: &Matrix, factor: f64) -> Matrix {
    a.map(|row| row.map(|value| value * factor))
}

/// `aᵀ·m·a`, made exactly symmetric.
pub(crate) fn congruence(a: &Matrix, m: &Matrix) -> Matrix {
    let full = product(&transposed(a), &product(m, a));
    std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (full[i][j] + full[j][i])))
}

pub(crate) fn quadratic(m: &Matrix, x: &Vector) -> f64 {
    dot(x, &times(m, x))
}

pub(crate) fn outer(a: &Vector, b: &Vector) -> Matrix {
    a.map(|left| b.map(|right| left * right))
}

pub(crate) fn largest(a: &Matrix) -> f64 {
    a.iter().flatten().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// Returns `S` with `aᵀ·S·a − S = −q`, the sum of `(aᵀ)ᵏ·q·aᵏ`, by doubling the number of terms 24 times. Its entries
/// are not finite, or huge, if `a` is not stable.
pub(crate) fn lyapunov(a: &Matrix, q: &Matrix) -> Matrix {
    let (mut total, mut power) = (*q, *a);
    for _ in 0..24 {
        total = sum(&total, &congruence(&power, &total), 1.0);
        power = product(&power, &power);
    }
    total
}

/// Returns a little more than the norm of `a` when lengths are `√(xᵀ·m·x)`; infinity if that is huge or not a number.
pub(crate) fn norm(m: &Matrix, a: &Matrix) -> f64 {
    let image = congruence(a, m);
    let bounds = |s: f64| cholesky(&sum(&scaled(m, s * s), &image, -1.0)).is_some();
    let mut above = 1.0;
    while !bounds(above) {
        above *= 2.0;
        if above > NORM_MAX {
            return f64::INFINITY;
        }
    }
    let mut below = 0.0;
    while above > NORM_MIN && above - below > 1e-6 * above {
        let middle = 0.5 * (below + above);
        if bounds(middle) { above = middle } else { below = middle }
    }
    above
}

/// A smaller norm is not told from 0.
const NORM_MIN: f64 = 1e-12;
/// Beyond this a norm counts as infinite.
const NORM_MAX: f64 = 1e9;

/// Returns the lower triangle `c` with `c·cᵀ = m`; `None` if `m` is not positive definite.
pub(crate) fn cholesky(m: &Matrix) -> Option<Matrix> {
    let mut c = [[0.0; 4]; 4];
    for i in 0..4 {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| c[i][k] * c[j][k]).sum();
            let rest = m[i][j] - done;
            if i == j {
                // Written so that not-a-number is refused too.
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                c[i][i] = rest.sqrt();
            } else {
                c[i][j] = rest / c[j][j];
            }
        }
    }
    Some(c)
}

/// Solves `m·x = b` for a positive definite `m` given by its triangle.
pub(crate) fn solve(triangle: &Matrix, b: &Vector) -> Vector {
    let mut x = *b;
    for i in 0..4 {
        let done: f64 = (0..i).map(|k| triangle[i][k] * x[k]).sum();
        x[i] = (x[i] - done) / triangle[i][i];
    }
    backward(triangle, &x)
}

/// Solves `cᵀ·x = b` for a lower triangle `c`: maps a sphere to the shape of an ellipsoid.
pub(crate) fn backward(triangle: &Matrix, b: &Vector) -> Vector {
    let mut x = *b;
    for i in (0..4).rev() {
        let done: f64 = (i + 1..4).map(|k| triangle[k][i] * x[k]).sum();
        x[i] = (x[i] - done) / triangle[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_undoes_multiplying() {
        let root = [[2.0, 0.1, 0.0, 0.3], [0.4, 3.0, 0.2, 0.1], [0.0, 0.5, 1.0, 0.2], IDENTITY[3]];
        let m = congruence(&root, &IDENTITY);
        let triangle = cholesky(&m).unwrap();
        let x = [1.0, -2.0, 3.0, 0.5];
        let found = solve(&triangle, &times(&m, &x));
        assert!(found.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert!(largest(&sum(&product(&triangle, &transposed(&triangle)), &m, -1.0)) < 1e-12);
    }

    #[test]
    fn an_indefinite_matrix_has_no_root() {
        let mut m = IDENTITY;
        m[2][2] = -1.0;
        assert!(cholesky(&m).is_none());
        m[2][2] = f64::NAN;
        assert!(cholesky(&m).is_none());
    }
}
