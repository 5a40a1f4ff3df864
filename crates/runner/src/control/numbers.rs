//! Numbers as text in base64 (RFC 4648, section 4), because an answer is a line of JSON.
//!
//! The numbers stand one after the other as `f64`, least significant byte first. Decimal digits would take twice the
//! space, and JSON has none for values that are not finite.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serializer, de};

pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    to.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(de::Error::custom("the last number is incomplete"));
    }
    Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Numbers(#[serde(with = "super")] Vec<f64>);

    #[test]
    fn numbers_come_back_bit_for_bit() {
        let numbers = [0.0, -0.0, 1.5, f64::MAX, f64::MIN_POSITIVE / 3.0, f64::INFINITY, f64::NAN];
        let text = serde_json::to_string(&Numbers(numbers.to_vec())).unwrap();
        let Numbers(back) = serde_json::from_str(&text).unwrap();
        let back: [f64; 7] = back.try_into().unwrap();
        assert_eq!(back.map(f64::to_bits), numbers.map(f64::to_bits));
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, problem) in
            [("AAAA", "the last number is incomplete"), ("?", "Invalid"), ("AAA\n", "Invalid")]
        {
            let error = serde_json::from_value::<Numbers>(text.into()).unwrap_err();
            assert!(error.to_string().contains(problem), "{text}: {error}");
        }
    }
}
