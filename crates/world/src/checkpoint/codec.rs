//! Bytes of a checkpoint, written and read with bounds.

use hemiola_units::Checksum;
use hemiola_world_code::{Column, Scalar, ScalarType};

use super::{CheckpointError, Read, sound};

const MAGIC: &[u8; 8] = b"HEMIWRLD";

/// The bytes before the content: magic, version, length, checksum.
pub(super) const HEADER_LEN: usize = MAGIC.len() + 4 + 8 + 8;

/// A checkpoint that is being written.
#[derive(Debug)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Starts in this memory.
    pub(super) fn new(version: u32, mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend(MAGIC);
        bytes.extend(version.to_le_bytes());
        bytes.resize(HEADER_LEN, 0);
        Self(bytes)
    }

    /// Everything but the length and the checksum, which [`seal`] writes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    pub(super) fn short(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    pub(super) fn scalar(&mut self, scalar: Scalar) {
        match scalar {
            Scalar::Boolean(value) => self.flag(value),
            Scalar::Integer(value) => self.0.extend(value.to_le_bytes()),
            Scalar::Single(value) => self.0.extend(value.to_le_bytes()),
            Scalar::Double(value) => self.0.extend(value.to_le_bytes()),
            Scalar::Text(value) => self.number(value),
        }
    }

    pub(super) fn shorts(&mut self, numbers: &[u32]) {
        self.all(numbers, |number| number.to_le_bytes());
    }

    pub(super) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) {
        let start = self.0.len();
        self.0.resize(start + 8 * numbers.len(), 0);
        for (to, number) in self.0[start..].chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
    }

    pub(super) fn column(&mut self, column: &Column) {
        match column {
            Column::Boolean(values) => self.all(values, |value| [u8::from(value)]),
            Column::Integer(values) => self.all(values, i32::to_le_bytes),
            Column::Single(values) => self.all(values, f32::to_le_bytes),
            Column::Double(values) => self.all(values, f64::to_le_bytes),
            Column::Text(values) => self.all(values, u64::to_le_bytes),
        }
    }

    /// One loop over numbers of the same length, which the compiler turns into a copy: a step may wait for it.
    fn all<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let start = self.0.len();
        self.0.resize(start + N * values.len(), 0);
        for (to, value) in self.0[start..].chunks_exact_mut(N).zip(values) {
            to.copy_from_slice(&bytes(*value));
        }
    }
}

/// Writes the length and the checksum of the content.
pub(super) fn seal(bytes: &mut [u8]) {
    let (header, content) = bytes.split_at_mut(HEADER_LEN);
    header[12..20].copy_from_slice(&(content.len() as u64).to_le_bytes());
    header[20..].copy_from_slice(&Checksum::of(content).value().to_le_bytes());
}

/// The rest of a checkpoint that is being read.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    rest: &'b [u8],
    /// Texts of the world; numbers of texts are below.
    pub(super) texts_count: u64,
}

impl<'b> Reader<'b> {
    /// The content of bytes whose header is right.
    pub(super) fn of(bytes: &'b [u8], version: u32) -> Read<Self> {
        let Some((header, content)) = bytes.split_at_checked(HEADER_LEN) else {
            return Err(CheckpointError::Foreign);
        };
        let mut header = Reader { rest: header, texts_count: 0 };
        if header.take(MAGIC.len())? != MAGIC {
            return Err(CheckpointError::Foreign);
        }
        match header.short()? {
            found if found == version => {}
            other => return Err(CheckpointError::Version(other)),
        }
        let (found, stated) = (content.len() as u64, header.number()?);
        if found != stated {
            return Err(CheckpointError::Length { found, stated });
        }
        if header.number()? != Checksum::of(content).value() {
            return Err(CheckpointError::Checksum);
        }
        Ok(Self { rest: content, texts_count: 0 })
    }

    pub(super) const fn finish(&self) -> Read<()> {
        sound(self.rest.is_empty(), "there is more behind its end")
    }

    fn take(&mut self, count: usize) -> Read<&'b [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(CheckpointError::Content("it ends early"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        self.bytes().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CheckpointError::Content("a truth value is neither true nor false")),
        }
    }

    pub(super) fn short(&mut self) -> Read<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn number(&mut self) -> Read<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn below(&mut self, end: u64) -> Read<u64> {
        let number = self.number()?;
        sound(number < end, "a number is too great")?;
        Ok(number)
    }

    /// A number of items that take so many bytes at least, so that no memory is taken for items that are not there.
    pub(super) fn len(&mut self, bytes_each: usize) -> Read<usize> {
        let count = self.number()?;
        let most = (self.rest.len() / bytes_each) as u64;
        sound(count <= most, "it ends early")?;
        Ok(count as usize)
    }

    pub(super) fn text(&mut self) -> Read<String> {
        let count = self.len(1)?;
        let text = std::str::from_utf8(self.take(count)?);
        text.map(str::to_owned).map_err(|_| CheckpointError::Content("a text is not UTF-8"))
    }

    pub(super) fn list<T>(
        &mut self,
        bytes_each: usize,
        mut read: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let count = self.len(bytes_each)?;
        (0..count).map(|_| read(self)).collect()
    }

    /// A scalar. One that counts the items of a list has a limit.
    pub(super) fn scalar(&mut self, ty: ScalarType, limit: Option<u32>) -> Read<Scalar> {
        let scalar = match ty {
            ScalarType::Boolean => Scalar::Boolean(self.flag()?),
            ScalarType::Integer => Scalar::Integer(i32::from_le_bytes(self.bytes()?)),
            ScalarType::Single => Scalar::Single(f32::from_le_bytes(self.bytes()?)),
            ScalarType::Double => Scalar::Double(f64::from_le_bytes(self.bytes()?)),
            ScalarType::Text => Scalar::Text(self.below(self.texts_count)?),
        };
        if let (Some(most), Scalar::Integer(count)) = (limit, scalar) {
            let fits = u32::try_from(count).is_ok_and(|count| count <= most);
            sound(fits, "a list has an impossible number of items")?;
        }
        Ok(scalar)
    }

    pub(super) fn column(
        &mut self,
        ty: ScalarType,
        rows: usize,
        limit: Option<u32>,
    ) -> Read<Column> {
        let mut column = Column::new(ty);
        for _ in 0..rows {
            column.push(self.scalar(ty, limit)?);
        }
        Ok(column)
    }
}
