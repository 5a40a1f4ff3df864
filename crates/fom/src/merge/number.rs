//! Assigns handles: names in the order of their numbers.

/// Returns the old names unchanged, then the new ones in alphabetical order.
///
/// `names` must be sorted and unique.
pub(super) fn numbered<'n>(
    old: Vec<&'n str>,
    names: impl Iterator<Item = &'n str>,
) -> Vec<&'n str> {
    let mut known = old.clone();
    known.sort_unstable();
    let mut order = old;
    order.extend(names.filter(|name| known.binary_search(name).is_err()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_numbers_stay_and_new_ones_follow() {
        let order = numbered(vec!["m", "c"], ["a", "c", "m", "z"].into_iter());
        assert_eq!(order, ["m", "c", "a", "z"]);
    }
}
