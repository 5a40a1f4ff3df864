//! Values of the kernel as bytes: fixed lengths, least significant byte first, tables by key. Times of this machine's
//! clock are stored as ages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_hla::data::{Data, RangeBounds};
use hemiola_hla::{
    AttributeHandle, DimensionHandle, EncodedTime, FederateHandle, InteractionClassHandle,
    LogicalInterval, LogicalTime, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType, ParameterHandle, RegionHandle, ResignAction, Switch, TimeImplementation,
    TransportationTypeHandle,
};
use hemiola_units::{Instant, Span};

use crate::backlog::Parcel;
use crate::memory::{ALLOCATION, entry_len};
use crate::message::Message;
use crate::notice::Notice;

/// A value that is read, or why it cannot be.
pub(crate) type Taken<T> = Result<T, &'static str>;

/// A value that an image contains.
pub(crate) trait Stored: Sized {
    fn put(&self, to: &mut Writer);
    fn take(from: &mut Reader) -> Taken<Self>;
}

/// Bytes of a piece of an image that is written. Its pieces are never moved, so they take the memory of their lengths.
pub(super) const PIECE_LEN: usize = 16 << 10;

/// Writes values.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The pieces that are full, and the one that is being filled.
    pieces: Vec<Vec<u8>>,
    last: Vec<u8>,
    /// The present time, from which ages count.
    now: Instant,
    /// The contents of messages that have been written, by their address. Others refer to them by number.
    contents: BTreeMap<usize, u32>,
}

impl Writer {
    pub(crate) fn new(now: Instant) -> Self {
        let last = Vec::with_capacity(PIECE_LEN);
        Self { pieces: Vec::new(), last, now, contents: BTreeMap::new() }
    }

    /// The number of bytes so far.
    pub(super) const fn len(&self) -> usize {
        self.pieces.len() * PIECE_LEN + self.last.len()
    }

    /// The memory that it takes, in bytes.
    pub(super) fn held(&self) -> usize {
        let pieces = (self.pieces.len() + 1) * (PIECE_LEN + ALLOCATION + size_of::<Vec<u8>>());
        pieces + self.contents.len() * entry_len::<usize, u32>()
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, mut bytes: &[u8]) {
        while self.last.len() + bytes.len() > PIECE_LEN {
            let (fitting, rest) = bytes.split_at(PIECE_LEN - self.last.len());
            self.last.extend_from_slice(fitting);
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(PIECE_LEN));
            self.pieces.push(full);
            bytes = rest;
        }
        self.last.extend_from_slice(bytes);
    }

    /// Takes back what was written behind a place.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.pieces.len() * PIECE_LEN > len {
            self.last = self.pieces.pop().expect("there are some");
        }
        self.last.truncate(len - self.pieces.len() * PIECE_LEN);
    }

    /// Returns the bytes from a place up to the end of its piece.
    pub(super) fn from(&self, at: usize) -> &[u8] {
        let piece = self.pieces.get(at / PIECE_LEN).unwrap_or(&self.last);
        &piece[at % PIECE_LEN..]
    }

    /// Takes the pieces.
    pub(crate) fn take_pieces(&mut self) -> Vec<Vec<u8>> {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.push(std::mem::take(&mut self.last));
        pieces
    }

    /// Writes a content that several queued messages share: the first time its number and itself, then its number.
    pub(crate) fn put_shared<T: Stored>(&mut self, content: &Arc<T>) {
        let next = self.contents.len() as u32;
        let number = *self.contents.entry(Arc::as_ptr(content).addr()).or_insert(next);
        number.put(self);
        if number == next {
            content.put(self);
        }
    }
}

/// Reads values.
#[derive(Debug)]
pub(crate) struct Reader {
    bytes: Data,
    pub(crate) at: usize,
    pub(crate) implementation: TimeImplementation,
    now: Instant,
    /// The contents of messages, by number.
    contents: Vec<(SharedContent, ParcelsByQueue)>,
    /// The names of update rates, which all subscriptions share.
    pub(crate) rates: BTreeSet<Arc<str>>,
}

/// The newest parcel with a content in the queues in receive order, and that in the queues in time stamp order.
type ParcelsByQueue = [Option<Arc<Parcel>>; 2];

/// A content that several queued messages share.
#[derive(Clone, Debug)]
pub(crate) enum SharedContent {
    Notice(Arc<Notice>),
    Message(Arc<Message>),
}

const SHORT: &str = "it ends too early";

impl Reader {
    pub(crate) const fn new(bytes: Data, now: Instant) -> Self {
        Self {
            bytes,
            at: 0,
            implementation: TimeImplementation::Integer64,
            now,
            contents: Vec::new(),
            rates: BTreeSet::new(),
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn bytes<const N: usize>(&mut self) -> Taken<[u8; N]> {
        let rest = &self.bytes[self.at..];
        let bytes = rest.first_chunk::<N>().ok_or(SHORT)?;
        self.at += N;
        Ok(*bytes)
    }

    fn slice(&mut self) -> Taken<&[u8]> {
        let len = u32::take(self)? as usize;
        let from = self.at;
        let slice = self.bytes[from..].get(..len).ok_or(SHORT)?;
        self.at += len;
        Ok(slice)
    }

    /// Reads a content that several queued messages share. Returns its number too.
    pub(crate) fn take_shared(
        &mut self,
        content: impl FnOnce(&mut Self) -> Taken<SharedContent>,
    ) -> Taken<(SharedContent, usize)> {
        let number = u32::take(self)? as usize;
        if number == self.contents.len() {
            let content = content(self)?;
            self.contents.push((content, ParcelsByQueue::default()));
        }
        let (content, _) = self.contents.get(number).ok_or("a message has no content")?;
        Ok((content.clone(), number))
    }

    /// The parcels of the content with this number, which has been read.
    pub(crate) fn parcels(&mut self, number: usize) -> &mut ParcelsByQueue {
        &mut self.contents[number].1
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Stored for $type {
            fn put(&self, to: &mut Writer) {
                to.append(&self.to_le_bytes());
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                from.bytes().map(Self::from_le_bytes)
            }
        }
    )*};
}

numbers! { u8 u32 u64 i32 i64 }

macro_rules! handles {
    ($($type:ty)*) => {$(
        impl Stored for $type {
            fn put(&self, to: &mut Writer) {
                self.number().put(to);
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                Stored::take(from).map(Self::new)
            }
        }
    )*};
}

handles! {
    AttributeHandle DimensionHandle FederateHandle InteractionClassHandle MessageRetractionHandle ObjectClassHandle
    ObjectInstanceHandle ParameterHandle RegionHandle TransportationTypeHandle
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Stored for $type {
            fn put(&self, to: &mut Writer) {
                // The numbers are those of a few words.
                (self.number() as u8).put(to);
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                let number = u8::take(from)?;
                Self::from_number(number.into()).ok_or("an enumerated value is unknown")
            }
        }
    )*};
}

words! { OrderType ResignAction Switch }

macro_rules! times {
    ($($type:ty)*) => {$(
        impl Stored for $type {
            fn put(&self, to: &mut Writer) {
                to.append(&self.to_bytes());
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                let bytes: [u8; 8] = from.bytes()?;
                Self::from_bytes(&bytes, from.implementation).map_err(|_| "a logical time is invalid")
            }
        }
    )*};
}

times! { LogicalTime LogicalInterval }

impl Stored for EncodedTime {
    fn put(&self, to: &mut Writer) {
        to.append(&self.bytes());
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        LogicalTime::take(from).map(Into::into)
    }
}

impl Stored for bool {
    fn put(&self, to: &mut Writer) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("a truth value is neither 0 nor 1"),
        }
    }
}

impl Stored for f64 {
    fn put(&self, to: &mut Writer) {
        self.to_bits().put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        u64::take(from).map(Self::from_bits)
    }
}

impl Stored for Span {
    fn put(&self, to: &mut Writer) {
        self.nanos().put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        i64::take(from).map(Self::from_nanos)
    }
}

impl Stored for Instant {
    fn put(&self, to: &mut Writer) {
        self.since(to.now).put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        Span::take(from).map(|age| from.now + age)
    }
}

fn put_bytes(bytes: &[u8], to: &mut Writer) {
    (bytes.len() as u32).put(to);
    to.append(bytes);
}

impl Stored for Data {
    fn put(&self, to: &mut Writer) {
        put_bytes(self, to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        from.slice().map(Self::copy_from_slice)
    }
}

impl Stored for String {
    fn put(&self, to: &mut Writer) {
        put_bytes(self.as_bytes(), to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let text = std::str::from_utf8(from.slice()?);
        text.map(Self::from).map_err(|_| "a text is not UTF-8")
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Writer) {
        self.is_some().put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

macro_rules! collections {
    ($([$($bounds:tt)*] $type:ty: $item:ty;)*) => {$(
        impl<$($bounds)*> Stored for $type {
            fn put(&self, to: &mut Writer) {
                (self.len() as u32).put(to);
                self.iter().for_each(|item| item.put(to));
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                let len = u32::take(from)?;
                (0..len).map(|_| <$item>::take(from)).collect()
            }
        }
    )*};
}

collections! {
    [T: Stored] Vec<T>: T;
    [T: Stored + Ord] BTreeSet<T>: T;
    [T: Stored] Arc<[T]>: T;
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn put(&self, to: &mut Writer) {
        (self.len() as u32).put(to);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let len = u32::take(from)?;
        (0..len).map(|_| Ok((K::take(from)?, V::take(from)?))).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Stored),*> Stored for ($($name,)*) {
            fn put(&self, to: &mut Writer) {
                #[expect(non_snake_case, reason = "the names of the types")]
                let ($($name,)*) = self;
                $($name.put(to);)*
            }

            fn take(from: &mut Reader) -> Taken<Self> {
                Ok(($($name::take(from)?,)*))
            }
        }
    )*};
}

tuples! { (A B) (A B C) }

/// Implements [`Stored`] for a structure, or an enumeration with numbers, field by field.
macro_rules! stored {
    (enum $type:ident {
        $($number:literal $variant:ident $({ $($field:ident),* $(,)? })?,)*
    } $(else $other:literal)?) => {
        impl $crate::image::Stored for $type {
            fn put(&self, to: &mut $crate::image::Writer) {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        $crate::image::Stored::put(&($number as u8), to);
                        $($($crate::image::Stored::put($field, to);)*)?
                    })*
                    $(_ => panic!($other),)?
                }
            }

            fn take(from: &mut $crate::image::Reader) -> $crate::image::Taken<Self> {
                match <u8 as $crate::image::Stored>::take(from)? {
                    $($number => Ok(Self::$variant $({ $($field: $crate::image::Stored::take(from)?),* })?),)*
                    _ => Err("an enumerated value is unknown"),
                }
            }
        }
    };
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::image::Stored for $type {
            fn put(&self, to: &mut $crate::image::Writer) {
                $($crate::image::Stored::put(&self.$field, to);)*
            }

            fn take(from: &mut $crate::image::Reader) -> $crate::image::Taken<Self> {
                Ok(Self { $($field: $crate::image::Stored::take(from)?,)* })
            }
        }
    };
}

pub(crate) use stored;

stored!(RangeBounds { lower, upper });
