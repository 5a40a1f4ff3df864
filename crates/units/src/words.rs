//! How far one word is from another, for whoever asks "did you mean …?"

/// Letters to insert, delete or replace to make one of the other (Levenshtein, "Binary Codes Capable of
/// Correcting Deletions, Insertions, and Reversals", 1966). The work grows with the product of both lengths.
///
/// ```
/// assert_eq!(hemiola_units::edit_distance("kitten", "sitting"), 3);
/// ```
#[must_use]
pub fn edit_distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let mut row: Vec<usize> = (0..=one.len()).collect();
    for (i, b) in other.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, a) in one.iter().enumerate() {
            let substitute = diagonal + usize::from(*a != b);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[one.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_distance(a in "[a-cé]{0,8}", b in "[a-cé]{0,8}", c in "[a-cé]{0,8}") {
            prop_assert_eq!(edit_distance(&a, &b) == 0, a == b);
            prop_assert_eq!(edit_distance(&a, &b), edit_distance(&b, &a));
            prop_assert!(edit_distance(&a, &c) <= edit_distance(&a, &b) + edit_distance(&b, &c));
        }
    }
}
