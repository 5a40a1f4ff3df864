//! Values as text; one that is not a finite number is "not determined", wherever it appears.

use hemiola_quantity::{Quantity, Units};

/// The text for a value that is infinite or not a number.
const NOT_DETERMINED: &str = "not determined";

/// A value in its units.
pub(crate) fn shown(units: &Units, quantity: Quantity) -> String {
    if quantity.value.is_finite() {
        units.show(quantity).to_string()
    } else {
        NOT_DETERMINED.into()
    }
}

/// A share as a percentage in the format of `Quantity`, with so many digits that only the whole is 100 %.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.999 && share < 1.0 {
        let digits = -((1.0 - share) * 100.0).log10();
        let text = format!("{:.*}", digits.ceil().max(1.0) as usize, share * 100.0);
        return format!("{} %", text.trim_end_matches('0').trim_end_matches('.'));
    }
    if share.is_finite() {
        format!("{} %", Quantity::number(share * 100.0))
    } else {
        NOT_DETERMINED.into()
    }
}

/// The load of a queue, as in "its load is ρ = 1.200".
pub(crate) fn load(load: f64) -> String {
    if load.is_finite() { format!("ρ = {load:.3}") } else { "more than any number".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_quantity::Dimension;

    #[test]
    fn a_value_that_is_not_finite_is_never_shown_as_a_number() {
        let value = |value: f64| {
            let quantity = Quantity { value, dimension: Dimension::TIME };
            [shown(Units::built_in(), quantity), percent(value), load(value)]
        };
        assert_eq!(value(0.25), ["250 ms", "25 %", "ρ = 0.250"]);
        for infinite in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(value(infinite), [NOT_DETERMINED, NOT_DETERMINED, "more than any number"]);
        }
    }
}
