//! Sorting very many numbers.

/// The bits that one pass sorts by. The counts of all passes stay in the first cache.
const BITS: u32 = 11;
const PASSES: usize = u64::BITS.div_ceil(BITS) as usize;
const BUCKETS: usize = 1 << BITS;

/// Fewer numbers are sorted faster by comparisons.
const FEW: usize = 1 << 13;

/// The numbers in the order of [`f64::total_cmp`]. Very many are sorted digit by digit, from the last one on, which
/// takes a third of the time that comparisons take, and memory for as many more numbers meanwhile.
///
/// ```
/// assert_eq!(hemiola_stats::sorted_many(vec![2.0, -1.0, 0.5]), [-1.0, 0.5, 2.0]);
/// ```
#[must_use]
pub fn sorted_many(mut values: Vec<f64>) -> Vec<f64> {
    if values.len() < FEW || u32::try_from(values.len()).is_err() {
        values.sort_unstable_by(f64::total_cmp);
        return values;
    }
    let mut keys: Vec<u64> = values.into_iter().map(key).collect();
    let mut counts = vec![[0_u32; BUCKETS]; PASSES];
    for key in &keys {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(*key, pass)] += 1;
        }
    }
    let mut other = vec![0; keys.len()];
    for (pass, counts) in counts.iter_mut().enumerate() {
        // All have the same digit, as most numbers of one magnitude have the same first one.
        if counts[digit(keys[0], pass)] as usize == keys.len() {
            continue;
        }
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        for key in &keys {
            let place = &mut counts[digit(*key, pass)];
            other[*place as usize] = *key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut other);
    }
    keys.into_iter().map(value).collect()
}

fn digit(key: u64, pass: usize) -> usize {
    (key >> (pass as u32 * BITS)) as usize % BUCKETS
}

/// A whole number that grows with the number: without its sign bit if it has one, and with all bits inverted if it is
/// negative.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::Random;

    #[test]
    fn many_numbers_have_the_order_of_comparisons() {
        let mut random = Random::from_seed(1);
        let special =
            [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324];
        for count in [0, 1, 100, FEW - 1, FEW, 40_000] {
            let draws: [&mut dyn FnMut(&mut Random) -> f64; 3] = [
                &mut |random| 3e-3 + 1e-4 * random.normal(),
                &mut |random| f64::from_bits(random.bits()),
                &mut |random| special[random.below(special.len() as u64) as usize],
            ];
            for draw in draws {
                let values: Vec<f64> = (0..count).map(|_| draw(&mut random)).collect();
                let mut expected = values.clone();
                expected.sort_unstable_by(f64::total_cmp);
                let bits =
                    |values: &[f64]| values.iter().map(|of| of.to_bits()).collect::<Vec<_>>();
                assert!(bits(&sorted_many(values)) == bits(&expected), "{count}");
            }
        }
    }
}
