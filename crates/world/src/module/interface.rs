//! What a module of a user sees of its element: a block of columns in its own memory.
//!
//! A module exports its `memory` and three functions:
//!
//! ```text
//! hemiola_interface() -> i32           Interface::code of the element that it was written for
//! hemiola_block() -> i32               the address of the block in its memory
//! hemiola_update(rows: i32, dt: f64)   computes the update of the first `rows` rows of the block
//! ```
//!
//! The block is a structure of arrays: for each column an array of [`BLOCK_ROWS`] values, one behind the other, in the
//! order of the properties. Numbers have the least significant byte first, a truth value is a byte that is 0 or 1, and
//! the number of items of a list is an `i32`. Texts are not part of it. Arrays are aligned as their values are.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hemiola_units::Checksum;
use hemiola_world_code::{BLOCK_ROWS, Column, Rows, ScalarType, list_counts};
use hemiola_world_lang::definition::{ElementId, Type, Universe};

/// Bytes of a block at most.
pub const MODULE_BLOCK_MAX: usize = 16 << 20;

/// The block of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    universe: String,
    element: String,
    columns: Vec<InterfaceColumn>,
    len: usize,
    /// Columns of texts, which the block lacks.
    texts: Vec<String>,
}

/// A column of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InterfaceColumn {
    /// Its place among the columns of the table.
    number: u32,
    ty: ScalarType,
    /// The first byte of its array in the block.
    start: usize,
    /// The greatest value, if it counts the items of a list.
    count_max: Option<u32>,
    /// As the language writes it, such as `corners[0].coord[1]`.
    path: String,
    /// Its type with its unit, such as `real<m>`.
    type_text: String,
    /// As C writes it.
    name: String,
}

/// Why a module cannot compute an element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// No such element.
    #[error("the universe has no element `{0}`")]
    NoElement(String),
    /// Nothing to compute.
    #[error("`{0}` has no property that a module can compute: texts stay as they are")]
    NoColumns(String),
    /// The block is too long.
    #[error(
        "a block of `{element}` has {len} bytes; a module computes blocks of at most {MODULE_BLOCK_MAX}: give the \
         element fewer properties"
    )]
    TooLong {
        /// The element.
        element: String,
        /// Bytes of its block.
        len: usize,
    },
}

/// A value in a block that is none of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongValue {
    pub(super) path: String,
    pub(super) row: usize,
    pub(super) what: &'static str,
}

impl Interface {
    /// That of an element.
    ///
    /// # Errors
    /// If there is no such element, it has no columns but texts, or too many.
    pub fn of(universe: &Universe, element: &str) -> Result<Self, InterfaceError> {
        let id = universe.elements.iter().position(|data| data.name == element);
        let id = id.ok_or_else(|| InterfaceError::NoElement(element.to_owned()))?;
        Self::of_element(universe, ElementId(id as u32))
    }

    fn of_element(universe: &Universe, id: ElementId) -> Result<Self, InterfaceError> {
        let element = universe.elements[id.index()].name.clone();
        let counts = list_counts(universe, &Type::Element(id));
        let (mut columns, mut texts, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut len = 0;
        for (number, leaf) in (0..).zip(universe.leaves(id)) {
            let Some(ty) = scalar_type(&leaf.ty) else {
                texts.push(leaf.path);
                continue;
            };
            let count_max = counts.iter().find(|(at, _)| *at == number).map(|(_, most)| *most);
            let name = c_name(&leaf.path, &mut names);
            let type_text = universe.type_text(&leaf.ty);
            let path = leaf.path;
            let column =
                InterfaceColumn { number, ty, start: len, count_max, path, type_text, name };
            columns.push(column);
            len += ty.width() * BLOCK_ROWS;
        }
        match len {
            0 => Err(InterfaceError::NoColumns(element)),
            len if len > MODULE_BLOCK_MAX => Err(InterfaceError::TooLong { element, len }),
            len => Ok(Self { universe: universe.name.clone(), element, columns, len, texts }),
        }
    }

    /// The element.
    #[must_use]
    pub fn element(&self) -> &str {
        &self.element
    }

    /// Bytes of a block.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Never: a block has a column.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A number that another block very likely does not have. It follows from the names and types of the columns.
    #[must_use]
    pub fn code(&self) -> u32 {
        let mut checksum = Checksum::new();
        for InterfaceColumn { path, type_text, .. } in &self.columns {
            checksum.add(path.as_bytes());
            checksum.add(b":");
            checksum.add(type_text.as_bytes());
            checksum.add(b";");
        }
        let value = checksum.value();
        (value ^ (value >> 32)) as u32
    }

    /// Copies rows of a table into a block.
    pub(super) fn write(&self, columns: &[Column], start: usize, count: usize, block: &mut [u8]) {
        let rows = start..start + count;
        for InterfaceColumn { number, start: at, .. } in &self.columns {
            let to = &mut block[*at..];
            match &columns[*number as usize] {
                Column::Boolean(from) => put(&from[rows.clone()], to, |value| [u8::from(value)]),
                Column::Integer(from) => put(&from[rows.clone()], to, i32::to_le_bytes),
                Column::Single(from) => put(&from[rows.clone()], to, f32::to_le_bytes),
                Column::Double(from) => put(&from[rows.clone()], to, f64::to_le_bytes),
                Column::Text(_) => unreachable!("a block has no texts"),
            }
        }
    }

    /// The first value of a block that is none of its type.
    pub(super) fn wrong_value(&self, block: &[u8], count: usize) -> Option<WrongValue> {
        self.columns.iter().find_map(|column| {
            let InterfaceColumn { ty, start, count_max, path, .. } = column;
            let bytes = &block[*start..*start + count * ty.width()];
            let (row, what) = match (ty, count_max) {
                (ScalarType::Boolean, _) => {
                    (bytes.iter().position(|byte| *byte > 1), "a byte that is neither 0 nor 1")
                }
                (ScalarType::Integer, Some(most)) => {
                    let is_wrong = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) > *most;
                    (
                        bytes.as_chunks::<4>().0.iter().position(is_wrong),
                        "an impossible number of items",
                    )
                }
                _ => (None, ""),
            };
            Some(WrongValue { path: path.clone(), row: row?, what })
        })
    }

    /// Copies a block in which no value is wrong into rows of a table. A value that is not a number gets the one bit
    /// pattern.
    pub(super) fn read(&self, block: &[u8], columns: &mut [Column], start: usize, count: usize) {
        for InterfaceColumn { number, start: at, .. } in &self.columns {
            let from = &block[*at..];
            match columns[*number as usize].rows_mut(start..start + count) {
                Rows::Boolean(to) => get(from, to, |[byte]: [u8; 1]| byte != 0),
                Rows::Integer(to) => get(from, to, i32::from_le_bytes),
                Rows::Single(to) => get(from, to, |bytes| {
                    let value = f32::from_le_bytes(bytes);
                    if value.is_nan() { f32::from_bits(0x7fc0_0000) } else { value }
                }),
                Rows::Double(to) => get(from, to, |bytes| {
                    let value = f64::from_le_bytes(bytes);
                    if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value }
                }),
                Rows::Text(_) => unreachable!("a block has no texts"),
            }
        }
    }

    /// The block as a C header.
    #[must_use]
    pub fn c_header(&self) -> String {
        let Self { universe, element, columns, texts, .. } = self;
        let guard = format!("HEMIOLA_{}_H", c_word(element).to_uppercase());
        let mut text = format!(
            "/* The block of the element `{element}` of the universe `{universe}`: {BLOCK_ROWS} rows, a column in each \
             array.\n * Generated by `hemiola universe interface`; generate it again when properties change.\n *\n \
             * A module exports its memory and three functions, and imports nothing:\n *\n \
             *   int32_t hemiola_interface(void)                  HEMIOLA_INTERFACE\n \
             *   struct hemiola_block *hemiola_block(void)        where its block is; asked once\n \
             *   void hemiola_update(int32_t rows, double dt)     computes the first rows of the block, for a step of dt \
             seconds\n *\n \
             * Reals are in SI units. Everything about an entity belongs into its properties: rows change places, and \
             an instance\n * that failed is replaced by a fresh one.\n"
        );
        if !texts.is_empty() {
            let _ = writeln!(text, " * Texts are not part of it: {}.", texts.join(", "));
        }
        let code = self.code();
        let _ = write!(
            text,
            " */\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n#define HEMIOLA_INTERFACE 0x{code:08x}u\n\
             #define HEMIOLA_ROWS {BLOCK_ROWS}\n\nstruct hemiola_block {{\n"
        );
        for InterfaceColumn { ty, name, path, type_text, count_max, .. } in columns {
            let most = count_max.map_or(String::new(), |most| format!(", at most {most}"));
            let ty = c_type(*ty);
            let _ =
                writeln!(text, "    {ty} {name}[HEMIOLA_ROWS]; /* {path} : {type_text}{most} */");
        }
        text + "};\n\n#endif\n"
    }

    /// A module in C that changes nothing; `header` is the name of the file with [`Self::c_header`].
    #[must_use]
    pub fn c_example(&self, header: &str) -> String {
        let name = &self.columns[0].name;
        format!(
            "/* A module that computes `{}` of the universe `{}`. As WebAssembly:\n *\n \
             *   clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o module.wasm module.c\n */\n\
             #include \"{header}\"\n\n\
             #define EXPORT(name) __attribute__((export_name(name)))\n\n\
             static struct hemiola_block block;\n\n\
             EXPORT(\"hemiola_interface\") int32_t hemiola_interface(void) {{\n    \
             return (int32_t)HEMIOLA_INTERFACE;\n}}\n\n\
             EXPORT(\"hemiola_block\") struct hemiola_block *hemiola_block(void) {{\n    return &block;\n}}\n\n\
             EXPORT(\"hemiola_update\") void hemiola_update(int32_t rows, double dt) {{\n    (void)dt;\n    \
             for (int32_t row = 0; row < rows; row++) {{\n        block.{name}[row] = block.{name}[row];\n    }}\n}}\n",
            self.element, self.universe
        )
    }

    /// A module as text (WAT) that changes nothing.
    #[must_use]
    pub fn wat_example(&self) -> String {
        let Self { universe, element, columns, len, .. } = self;
        let (pages, code) = (len.div_ceil(PAGE), self.code());
        let mut text = format!(
            ";; A module that computes `{element}` of the universe `{universe}`. Its block is at address 0:\n;;\n"
        );
        for InterfaceColumn { ty, start, path, type_text, .. } in columns {
            let wasm = wasm_type(*ty);
            let _ = writeln!(text, ";; {start:>8}  {wasm}  {path} : {type_text}");
        }
        let _ = write!(
            text,
            "(module\n  (memory (export \"memory\") {pages})\n  \
             (func (export \"hemiola_interface\") (result i32) (i32.const 0x{code:08x}))\n  \
             (func (export \"hemiola_block\") (result i32) (i32.const 0))\n  \
             (func (export \"hemiola_update\") (param $rows i32) (param $dt f64)\n    (local $row i32)\n    \
             (block $end\n      (loop $next\n        (br_if $end (i32.ge_u (local.get $row) (local.get $rows)))\n        \
             ;; A column of 8 bytes in this row: its address + 8 * row.\n        \
             (local.set $row (i32.add (local.get $row) (i32.const 1)))\n        (br $next)))))\n"
        );
        text
    }
}

/// Bytes of a page of WebAssembly's memory.
const PAGE: usize = 64 << 10;

/// `None` for texts.
const fn scalar_type(ty: &Type) -> Option<ScalarType> {
    use hemiola_world_lang::definition::Width::{Double, Single};
    match ty {
        Type::Boolean => Some(ScalarType::Boolean),
        Type::Integer => Some(ScalarType::Integer),
        Type::Real(Single, _) => Some(ScalarType::Single),
        Type::Real(Double, _) => Some(ScalarType::Double),
        _ => None,
    }
}

const fn c_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Boolean => "uint8_t",
        ScalarType::Integer => "int32_t",
        ScalarType::Single => "float",
        ScalarType::Double => "double",
        ScalarType::Text => "uint64_t",
    }
}

const fn wasm_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Boolean => "u8 ",
        ScalarType::Integer => "i32",
        ScalarType::Single => "f32",
        ScalarType::Double => "f64",
        ScalarType::Text => "u64",
    }
}

/// A name with letters, digits and single `_` only.
fn c_word(path: &str) -> String {
    let mut word = String::new();
    for letter in
        path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
    {
        if letter != '_' || !word.ends_with('_') {
            word.push(letter);
        }
    }
    word.trim_end_matches('_').to_owned()
}

/// A name of C for a column, different from those before.
fn c_name(path: &str, names: &mut BTreeSet<String>) -> String {
    let mut name = c_word(path);
    while name.is_empty() || C_WORDS.contains(&&*name) || !names.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Words of C and C++ that cannot be names, and names of the header.
const C_WORDS: [&str; 90] = [
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "bitand",
    "bitor",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "unix",
    "linux",
    "i386",
    "near",
];

fn put<T: Copy, const N: usize>(from: &[T], to: &mut [u8], bytes: impl Fn(T) -> [u8; N]) {
    for (to, value) in to.as_chunks_mut::<N>().0.iter_mut().zip(from) {
        *to = bytes(*value);
    }
}

fn get<T, const N: usize>(from: &[u8], to: &mut [T], value: impl Fn([u8; N]) -> T) {
    for (to, bytes) in to.iter_mut().zip(from.as_chunks::<N>().0) {
        *to = value(*bytes);
    }
}
