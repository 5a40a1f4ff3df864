//! Suggestions for misspelt words.

/// `did you mean "…"?` with the candidate nearest to `word`, if one is near enough.
pub fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean \"{near}\"?"))
}

/// The candidate that `word` probably stands for, if one is similar enough. Small and capital letters count
/// as the same; they decide between candidates that are equally near.
///
/// ```
/// use hemiola_diagnostic::nearest;
///
/// assert_eq!(nearest("raet", ["duration", "rate"]), Some("rate"));
/// assert_eq!(nearest("colour", ["duration", "rate"]), None);
/// ```
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Longer words are not compared: the work grows with the product of both lengths.
    const WORD_LEN_MAX: usize = 64;
    let length = word.chars().count();
    if length > WORD_LEN_MAX {
        return None;
    }
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= 2 * WORD_LEN_MAX)
        .map(|candidate| (edit_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let longer = candidate.chars().count().max(length);
            *distance <= 1 + longer / 4 && *distance < length.max(2)
        })
        .min_by_key(|(distance, candidate)| (*distance, edit_distance(word, candidate)))
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, delete or replace to make one word of the other (Levenshtein, "Binary Codes Capable of
/// Correcting Deletions, Insertions, and Reversals", 1966).
fn edit_distance(one: &str, other: &str) -> usize {
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

    #[test]
    fn near_words_are_suggested_and_far_ones_not() {
        let keys = ["rate", "runs", "duration", "allow_less", "PublishSubscribe"];
        assert_eq!(nearest("raet", keys), Some("rate"));
        assert_eq!(nearest("durations", keys), Some("duration"));
        assert_eq!(nearest("allowless", keys), Some("allow_less"));
        assert_eq!(nearest("publishSubscribe", keys), Some("PublishSubscribe"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    proptest! {
        #[test]
        fn the_edit_distance_is_a_metric(a in "[a-cé]{0,8}", b in "[a-cé]{0,8}", c in "[a-cé]{0,8}") {
            prop_assert_eq!(edit_distance(&a, &b) == 0, a == b);
            prop_assert_eq!(edit_distance(&a, &b), edit_distance(&b, &a));
            prop_assert!(edit_distance(&a, &c) <= edit_distance(&a, &b) + edit_distance(&b, &c));
        }
    }
}
