//! Numbers as text in base64 (RFC 4648, section 4), because an answer is a line of JSON.
//!
//! The numbers stand one after the other as `f64`, least significant byte first. Decimal digits would take twice the
//! space, and JSON has none for values that are not finite.

use serde::{Deserialize, Deserializer, Serializer, de};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    to.serialize_str(&encode(&bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = decode(&text).ok_or_else(|| de::Error::custom("the numbers are not in base64"))?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(de::Error::custom("the last number is incomplete"));
    }
    Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for at in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// `None` if it is not a text of [`encode`].
fn decode(text: &str) -> Option<Vec<u8>> {
    let (quads, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 2 || digits.contains('=') {
        return None;
    }
    let mut bytes = Vec::with_capacity(quads.len() * 3);
    for quad in quads {
        let mut bits = 0;
        for digit in quad {
            bits = bits << 6 | if *digit == b'=' { 0 } else { value(*digit)? };
        }
        bytes.extend([16, 8, 0].map(|shift| (bits >> shift) as u8));
    }
    bytes.truncate(bytes.len() - padding);
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_are_encoded_so() {
        let examples = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in examples.iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(encode(bytes), *expected);
            assert_eq!(decode(expected).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["Z", "Zg=", "Z===", "====", "Zg==Zg==", "Z=g=", "Zm9\n", "Zm9é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_come_back() {
        let mut random = Random::from_seed(1);
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
