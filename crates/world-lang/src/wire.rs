//! Definitions for the network: a text compressed with a dictionary that both ends know, and, for comparison, as
//! tokens.
//!
//! ```text
//! tokens     0x80 | keyword     0xC0 | sign     0x01 length name     0x02 number of a name     0x03 length text
//! ```
//!
//! The dictionary is a text that precedes the definition on both ends and is not sent, as with FDICT of RFC 1950. It
//! belongs to the format: with another one, nothing can be read.

use std::collections::BTreeMap;

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use thiserror::Error;

use crate::lex::lex;
use crate::limits::SOURCES_LEN_MAX;
use crate::problem::Problems;
use crate::source::Source;
use crate::token::{Keyword, Sign, TokenKind};

/// Frequent text; what is nearest to the end costs least.
const TEXT_DICTIONARY: &str = "converter back was entity mass = 1.0<kg>; constant predict(dt : real<s>) { string \
    boolean false true integer real32 real32[3] real<kg> real<m/s>[3] real<m>[3] indexed by 10<m> [0, 0, 0];\n    if \
     } else { and not or length( distance(self, last_sent) inside(position, low, high) sqrt( dot( var let at most within \
    in for each other in  += -= *= == <= >=  update(dt : real) {\n    position += velocity * dt;\n  }\n  constraint \
    near(low : real[3], high : real[3], moved : real) =\n  function  : real = return universe  {\n  element  {\n    \
    property position : real[3];\n    property velocity : real[3];\n    property ";

/// Why bytes are not a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The compressed bytes are damaged or end too early, or the text would exceed [`SOURCES_LEN_MAX`].
    #[error(
        "the bytes do not unpack to a text of at most {SOURCES_LEN_MAX} bytes; send the definition again"
    )]
    Damaged,
    /// The bytes are no UTF-8 text.
    #[error("the unpacked bytes are not a text; send the definition again")]
    NotText,
    /// A token is unknown or incomplete.
    #[error("byte {0} starts no token; both ends need the same version")]
    NoToken(usize),
}

/// A text compressed with the dictionary.
#[must_use]
pub fn compress(text: &str) -> Vec<u8> {
    deflate(TEXT_DICTIONARY.as_bytes(), text.as_bytes())
}

/// The text that was compressed.
///
/// # Errors
/// When the bytes are not such a text.
pub fn expand(bytes: &[u8]) -> Result<String, WireError> {
    String::from_utf8(inflate(TEXT_DICTIONARY.as_bytes(), bytes)?).map_err(|_| WireError::NotText)
}

/// A text as tokens, without its comments and blanks.
#[must_use]
pub fn tokens(source: &Source) -> Vec<u8> {
    let (mut bytes, mut names) = (Vec::new(), BTreeMap::new());
    for token in lex(source, &mut Problems::default()) {
        let text = source.slice(token.span);
        match token.kind {
            TokenKind::Keyword(keyword) => bytes.push(0x80 | keyword as u8),
            TokenKind::Sign(sign) => bytes.push(0xc0 | sign as u8),
            TokenKind::Name => {
                let next = names.len();
                match names.get(text) {
                    Some(number) => push_number(&mut bytes, 0x02, *number),
                    None => {
                        names.insert(text, next);
                        push_text(&mut bytes, 0x01, text);
                    }
                }
            }
            TokenKind::Comment | TokenKind::End => {}
            TokenKind::Number | TokenKind::Angle | TokenKind::Text => {
                push_text(&mut bytes, 0x03, text)
            }
        }
    }
    bytes
}

/// Tokens as a text, which [`format`](crate::format()) makes readable.
///
/// # Errors
/// When the bytes are no tokens.
pub fn untokenise(bytes: &[u8]) -> Result<String, WireError> {
    let (mut text, mut names, mut at) = (String::new(), Vec::new(), 0);
    while let Some(&first) = bytes.get(at) {
        let start = at;
        at += 1;
        let failed = WireError::NoToken(start);
        let word = match first {
            0x01 | 0x03 => {
                let length = take_number(bytes, &mut at).ok_or(failed)?;
                let end = at.checked_add(length).ok_or(failed)?;
                let word = bytes
                    .get(at..end)
                    .and_then(|word| std::str::from_utf8(word).ok())
                    .ok_or(failed)?;
                at = end;
                if first == 0x01 {
                    names.push(word);
                }
                word
            }
            0x02 => take_number(bytes, &mut at)
                .and_then(|number| names.get(number).copied())
                .ok_or(failed)?,
            0x80..0xc0 => Keyword::ALL.get(usize::from(first & 0x3f)).ok_or(failed)?.text(),
            0xc0.. => Sign::ALL.get(usize::from(first & 0x3f)).ok_or(failed)?.text(),
            _ => return Err(failed),
        };
        // A name may be one byte here and many in the text.
        if text.len() + word.len() >= SOURCES_LEN_MAX {
            return Err(WireError::Damaged);
        }
        // A unit follows its number without a blank.
        if !word.starts_with('<') || word.len() == 1 || word == "<=" {
            text.push(' ');
        }
        text += word;
    }
    Ok(text)
}

/// The lengths of one text in every form (table 6.3 of the thesis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Bytes of the text.
    pub text: usize,
    /// The text, compressed.
    pub packed: usize,
    /// The text, compressed with the dictionary: what is sent.
    pub sent: usize,
    /// As tokens.
    pub tokens: usize,
    /// The tokens, compressed.
    pub packed_tokens: usize,
}

/// Measures a text.
#[must_use]
pub fn lengths(source: &Source) -> Lengths {
    let tokens = tokens(source);
    Lengths {
        text: source.text.len(),
        packed: deflate(&[], source.text.as_bytes()).len(),
        sent: compress(&source.text).len(),
        packed_tokens: deflate(&[], &tokens).len(),
        tokens: tokens.len(),
    }
}

fn push_number(bytes: &mut Vec<u8>, first: u8, mut number: usize) {
    bytes.push(first);
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn push_text(bytes: &mut Vec<u8>, first: u8, text: &str) {
    push_number(bytes, first, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// A number of at most four bytes, seven bits each.
fn take_number(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Raw deflate (RFC 1951). The dictionary is compressed first and its bytes are dropped.
fn deflate(dictionary: &[u8], bytes: &[u8]) -> Vec<u8> {
    let (mut compressor, _) = primed(dictionary);
    let mut packed = Vec::new();
    compress_to_output(&mut compressor, bytes, TDEFLFlush::Finish, |part| {
        packed.extend_from_slice(part);
        true
    });
    packed
}

/// A compressor that has seen the dictionary, and the bytes that it wrote for it.
fn primed(dictionary: &[u8]) -> (CompressorOxide, Vec<u8>) {
    const LEVEL: i32 = 9;
    const RAW: i32 = -15;
    let mut compressor = CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, RAW, 0));
    let mut lead = Vec::new();
    if !dictionary.is_empty() {
        compress_to_output(&mut compressor, dictionary, TDEFLFlush::Sync, |part| {
            lead.extend_from_slice(part);
            true
        });
    }
    (compressor, lead)
}

fn inflate(dictionary: &[u8], bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let (_, mut packed) = primed(dictionary);
    packed.extend_from_slice(bytes);
    let limit = dictionary.len() + SOURCES_LEN_MAX;
    let all = decompress_to_vec_with_limit(&packed, limit).map_err(|_| WireError::Damaged)?;
    Ok(all[dictionary.len()..].to_vec())
}
