//! Bytes as text: hexadecimal digits, letters, and fields of protocol buffers by their numbers.
//!
//! | written | means |
//! |---|---|
//! | `0a00` | these bytes |
//! | `'Demo'` | the bytes of the text |
//! | `@7[…]` | field 7, with its length and the bytes between the brackets |
//! | `=3:1` | field 3, the number 1 |
//! | `?4` | a hole: any four bytes; only in expected bytes |

/// One expected byte.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Byte(u8),
    /// A byte of the hole with this number.
    Any(usize),
}

/// Returns the bytes that a text means.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let byte = |cell| match cell {
        Cell::Byte(byte) => byte,
        Cell::Any(_) => panic!("a hole in bytes to be sent: {text}"),
    };
    Parser::parse(text).into_iter().map(byte).collect()
}

/// Compares bytes with a text and returns the contents of its holes in hexadecimal digits.
///
/// # Panics
/// If the bytes differ outside the holes.
pub(super) fn holes<const N: usize>(text: &str, found: &[u8]) -> [String; N] {
    let cells = Parser::parse(text);
    let fits =
        |(cell, byte): (&Cell, &u8)| matches!(cell, Cell::Any(_)) || *cell == Cell::Byte(*byte);
    let is_match = cells.len() == found.len() && cells.iter().zip(found).all(fits);
    assert!(is_match, "expected {}\n   found {}\n({text})", show(&cells), hex(found));
    let mut holes = [const { String::new() }; N];
    for (cell, byte) in cells.iter().zip(found) {
        if let Cell::Any(hole) = cell {
            holes[*hole].push_str(&hex(&[*byte]));
        }
    }
    assert!(holes.iter().all(|hole| !hole.is_empty()), "{N} holes are asked for: {text}");
    holes
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a text as an `HLAunicodeString`: the number of UTF-16 units, then the units, high byte first.
pub(super) fn unicode(text: &str) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let units_hex: String = units.iter().map(|unit| format!("{unit:04x}")).collect();
    format!("{:08x}{units_hex}", units.len())
}

fn show(cells: &[Cell]) -> String {
    let shown = |cell: &Cell| match cell {
        Cell::Byte(byte) => format!("{byte:02x}"),
        Cell::Any(_) => "??".into(),
    };
    cells.iter().map(shown).collect()
}

struct Parser<'a> {
    rest: &'a str,
    holes: usize,
}

impl<'a> Parser<'a> {
    fn parse(text: &'a str) -> Vec<Cell> {
        let mut parser = Self { rest: text, holes: 0 };
        let cells = parser.sequence();
        assert!(parser.rest.is_empty(), "a bracket too many before {:?}", parser.rest);
        cells
    }

    fn sequence(&mut self) -> Vec<Cell> {
        let mut cells = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.chars().next() {
                None | Some(']') => return cells,
                Some('\'') => {
                    self.take(1);
                    let end = self.rest.find('\'').expect("a closing quotation mark");
                    cells.extend(self.take(end).bytes().map(Cell::Byte));
                    self.take(1);
                }
                Some('@') => {
                    self.take(1);
                    put_variable(self.number() << 3 | 2, &mut cells);
                    assert_eq!(self.take(1), "[");
                    let content = self.sequence();
                    assert_eq!(self.take(1), "]");
                    put_variable(content.len() as u64, &mut cells);
                    cells.extend(content);
                }
                Some('=') => {
                    self.take(1);
                    put_variable(self.number() << 3, &mut cells);
                    assert_eq!(self.take(1), ":");
                    put_variable(self.number(), &mut cells);
                }
                Some('?') => {
                    self.take(1);
                    let len = self.number() as usize;
                    cells.extend(vec![Cell::Any(self.holes); len]);
                    self.holes += 1;
                }
                Some(_) => {
                    let digits = self.take(2);
                    let byte = u8::from_str_radix(digits, 16);
                    cells.push(Cell::Byte(
                        byte.unwrap_or_else(|_| panic!("{digits:?} is not a byte")),
                    ));
                }
            }
        }
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }

    fn number(&mut self) -> u64 {
        let is_end = |letter: char| !letter.is_ascii_digit();
        let len = self.rest.find(is_end).unwrap_or(self.rest.len());
        self.take(len).parse().expect("a number")
    }
}

fn put_variable(mut number: u64, cells: &mut Vec<Cell>) {
    while number >= 0x80 {
        cells.push(Cell::Byte(number as u8 | 0x80));
        number >>= 7;
    }
    cells.push(Cell::Byte(number as u8));
}

#[test]
fn a_field_has_its_number_and_length() {
    let create =
        "3a24 0a04 44656d6f 120a 1a08 44656d6f2e786d6c 1a10 484c41696e7465676572363454696d65";
    assert_eq!(bytes("@7[@1['Demo'] @2[@3['Demo.xml']] @3['HLAinteger64Time']]"), bytes(create));
    assert_eq!(holes("@16[=3:300 ?2]", &bytes("82 01 05 18 ac 02 07 08")), ["0708"]);
}
