//! Assigns handles: names in the order of their numbers.

/// Returns the old names unchanged, then the new ones in alphabetical order.
///
/// `names` must be sorted and unique.
pub(super) fn numbered(old: Vec<String>, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = old.clone();
    known.sort();
    let mut order = old;
    order.extend(names.filter(|name| known.binary_search(name).is_err()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_numbers_stay_and_new_ones_follow() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let order = numbered(names(&["m", "c"]), names(&["a", "c", "m", "z"]).into_iter());
        assert_eq!(order, names(&["m", "c", "a", "z"]));
    }
}
