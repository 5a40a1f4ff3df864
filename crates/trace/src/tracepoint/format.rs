//! The text of an event's `format` file.
//!
//! ```text
//! name: sched_switch
//! ID: 316
//! format:
//!     field:unsigned short common_type;   offset:0;   size:2;   signed:0;
//!     field:pid_t prev_pid;               offset:24;  size:4;   signed:1;
//! ```

/// The contents of the text.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: String,
    pub(crate) id: u16,
    fields: Vec<(String, Field)>,
}

/// The place of a field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    offset: usize,
    size: usize,
    signed: bool,
}

impl Format {
    /// Parses the text; `None` if it has no name or no number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mut name, mut id) = (None, None);
        let mut fields = Vec::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if let Some(field) = line.strip_prefix("field:") {
                fields.extend(parse_field(field));
            }
        }
        Some(Self { name: name?, id: id?, fields })
    }

    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(field, _)| field == name).map(|&(_, field)| field)
    }
}

fn parse_field(text: &str) -> Option<(String, Field)> {
    let mut parts = text.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.split('[').next()?.trim_end().rsplit([' ', '\t', '*']).next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':')? {
            ("offset", value) => offset = value.parse().ok(),
            ("size", value) => size = value.parse().ok(),
            ("signed", value) => signed = value != "0",
            _ => {}
        }
        if part.starts_with("signed") {
            break;
        }
    }
    Some((name.to_owned(), Field { offset: offset?, size: size?, signed }))
}

impl Field {
    /// Returns the field's bytes; none if the record is shorter.
    #[inline]
    pub(crate) fn bytes(self, record: &[u8]) -> &[u8] {
        let end = self.offset.checked_add(self.size);
        end.and_then(|end| record.get(self.offset..end)).unwrap_or(&[])
    }

    /// Returns the field's number, sign-extended.
    #[inline]
    pub(crate) fn get(self, record: &[u8], big_endian: bool) -> u64 {
        // Nearly every number is followed by more bytes, so one load without a look at its size is enough.
        let word = record.get(self.offset..).and_then(|rest| rest.first_chunk());
        match (word, self.size, big_endian) {
            (Some(word), 1..=8, false) => {
                let unused = u64::BITS - 8 * self.size as u32;
                let shifted = u64::from_le_bytes(*word) << unused;
                match self.signed {
                    true => (shifted.cast_signed() >> unused).cast_unsigned(),
                    false => shifted >> unused,
                }
            }
            _ => self.get_bytewise(record, big_endian),
        }
    }

    /// As [`Field::get`], for any field.
    fn get_bytewise(self, record: &[u8], big_endian: bool) -> u64 {
        let bytes = self.bytes(record);
        let mut value = match (bytes.len(), big_endian) {
            (9.., _) => return 0,
            (_, false) => bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
            (_, true) => bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        };
        let bits = 8 * bytes.len() as u32;
        if self.signed && (1..64).contains(&bits) && value >> (bits - 1) != 0 {
            value |= u64::MAX << bits;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_that_is_loaded_at_once_is_that_of_its_bytes(
            record in prop::collection::vec(any::<u8>(), 0..40),
            (offset, size) in (0_usize..40, 0_usize..12),
            (signed, big_endian) in any::<(bool, bool)>(),
        ) {
            let field = Field { offset, size, signed };
            prop_assert_eq!(field.get(&record, big_endian), field.get_bytewise(&record, big_endian));
        }
    }

    #[test]
    fn names_numbers_and_signs_are_read() {
        let text = "name: sched_switch\nID: 316\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            print fmt: \"prev_comm=%s;\"\n";
        let format = Format::parse(text).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("sched_switch", 316));
        let pid = format.field("prev_pid").unwrap();
        let mut record = [0; 28];
        record[24..].copy_from_slice(&(-2_i32).to_le_bytes());
        assert_eq!(pid.get(&record, false), (-2_i64).cast_unsigned());
        record[24..].copy_from_slice(&7_i32.to_be_bytes());
        assert_eq!(pid.get(&record, true), 7);
        assert_eq!(format.field("prev_comm").unwrap().bytes(&record).len(), 16);
        assert_eq!(pid.get(&record[..20], false), 0);
        assert!(Format::parse("name: x\nID: many\n").is_none());
    }
}
