//! Decodes the bytes of a module to text.

/// Returns the text of a module, or why it cannot be decoded.
///
/// A byte order mark identifies UTF-8 and UTF-16; otherwise the XML declaration names the encoding: UTF-8, US-ASCII,
/// ISO-8859-1, or Windows-1252 where it equals ISO-8859-1. The mark is not part of the text.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, String> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => match declared(bytes).as_deref() {
            Some("iso-8859-1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252") => {
                latin1(bytes)
            }
            None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => utf8(bytes),
            Some(other) => Err(format!("the encoding {other} is not supported: use UTF-8")),
        },
    }
}

/// Returns the encoding in the XML declaration, in lower case.
fn declared(bytes: &[u8]) -> Option<String> {
    /// The longest declaration that is recognized, in bytes.
    const DECLARATION_LEN_MAX: usize = 200;
    let head = &bytes[..bytes.len().min(DECLARATION_LEN_MAX)];
    let head = String::from_utf8_lossy(head);
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
    value[1..].split(quote).next().map(str::to_ascii_lowercase)
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("byte {at}, in line {line}, is not UTF-8")
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let pairs = bytes.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    let text = char::decode_utf16(pairs.map(|pair| unit([pair[0], pair[1]]))).collect();
    let text: Option<String> = if whole { Result::ok(text) } else { None };
    text.ok_or_else(|| "it begins like UTF-16 but is not".to_owned())
}

fn latin1(bytes: &[u8]) -> Result<String, String> {
    // The two encodings differ from 0x80 to 0x9F. Text does not use the control characters of ISO-8859-1.
    match bytes.iter().position(|byte| (0x80..0xA0).contains(byte)) {
        Some(at) => Err(format!("byte {at} is not a character of ISO-8859-1: use UTF-8")),
        None => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_encodings_are_decoded() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><é/>";
        assert_eq!(decode(text.as_bytes()).as_deref(), Ok(text));
        assert_eq!(decode(&[b"\xEF\xBB\xBF", text.as_bytes()].concat()).as_deref(), Ok(text));
        let units = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        assert_eq!(decode(&units(u16::to_le_bytes)).as_deref(), Ok(text));
        assert_eq!(decode(&units(u16::to_be_bytes)).as_deref(), Ok(text));
        let latin = b"<?xml version='1.0' encoding = 'ISO-8859-1'?><\xE9/>";
        assert!(decode(latin).unwrap().ends_with("<é/>"));
    }

    #[test]
    fn bytes_that_are_not_text_are_rejected_with_their_position() {
        assert!(decode(b"<a>\n\xFF</a>").unwrap_err().contains("line 2"));
        decode(&[0xFF, 0xFE, 0]).unwrap_err();
        decode(&[0xFE, 0xFF, 0xD8, 0]).unwrap_err();
        assert!(decode(b"<?xml version='1.0' encoding='EBCDIC'?>").unwrap_err().contains("ebcdic"));
    }
}
