//! The fixed-step integrator.

/// One step of the classical fourth-order Runge–Kutta method (Kutta 1901) of length `step` seconds.
///
/// The order of the floating-point operations is fixed, so the same state gives the same result in every run. Targets
/// whose `sin` or `exp` round differently may differ in the last bits.
pub fn rk4<const N: usize>(
    state: [f64; N],
    step: f64,
    derivative: impl Fn([f64; N]) -> [f64; N],
) -> [f64; N] {
    let moved = |slope: &[f64; N], by: f64| std::array::from_fn(|i| state[i] + by * slope[i]);
    let k1 = derivative(state);
    let k2 = derivative(moved(&k1, 0.5 * step));
    let k3 = derivative(moved(&k2, 0.5 * step));
    let k4 = derivative(moved(&k3, step));
    std::array::from_fn(|i| state[i] + step / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

#[cfg(test)]
mod tests {
    use super::rk4;

    #[test]
    fn halving_the_step_divides_the_error_by_sixteen() {
        let error = |steps: u32| {
            let step = 1.0 / f64::from(steps);
            let [end] = (0..steps).fold([1.0], |x, _| rk4(x, step, |[x]| [x]));
            (end - std::f64::consts::E).abs()
        };
        let ratio = error(20) / error(40);
        assert!((14.0..18.0).contains(&ratio), "{ratio}");
    }
}
