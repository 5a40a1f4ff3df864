//! The image of a federation: its state as bytes, which a save keeps and a restore reads.
//!
//! ```text
//! HEMISAVE · version · length of the content · checksum of the content
//! content: federation · label · time implementation · object model · sections
//! section: entry (1, key, value) … end (0)
//! ```
//!
//! Numbers have fixed lengths, least significant byte first. The tables are written by key, so the same state gives the
//! same bytes. An image contains what the kernel keeps of a federation, except what belongs to a session (its edition,
//! its host, its account, the modules that it brought) and what follows from the rest (indexes, counters, charges).
//!
//! Both directions work in steps, one entry each: [`Writing`] while the federation is frozen, [`Reading`] into a
//! federation of its own that takes part in nothing. So an image that turns out to be wrong has changed nothing.

mod codec;
mod sections;

use std::fmt;
use std::sync::Arc;

use hemiola_fom::Model;
use hemiola_hla::data::Data;
use hemiola_hla::{Body, InteractionClassHandle, ObjectClassHandle, TimeImplementation};
use hemiola_units::Checksum;

use crate::federation::Federation;
use codec::PIECE_LEN;
pub(crate) use codec::{Reader, SharedContent, Stored, Taken, Writer, stored};
use sections::Cursor;

/// The bytes of an image, which only the kernel interprets. They are written in pieces and read as one.
#[derive(Clone, PartialEq, Eq)]
pub struct Image(Body);

impl Image {
    /// Returns its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Body {
        &self.0
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({} bytes)", self.0.len())
    }
}

impl From<Vec<u8>> for Image {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Data::from(bytes).into())
    }
}

const MAGIC: &[u8; 8] = b"HEMISAVE";

/// The version of the format. An RTI reads only its own.
const VERSION: u32 = 2;

/// The bytes before the content.
pub(crate) const HEADER_LEN: usize = MAGIC.len() + 4 + 8 + 8;

/// The checksum of an object model: of everything that gives its handles a meaning. It is computed in steps.
#[derive(Debug)]
struct Fingerprint {
    sum: Checksum,
    at: usize,
}

impl Fingerprint {
    const fn new() -> Self {
        Self { sum: Checksum::new(), at: 0 }
    }

    /// Adds the next class. Returns the fingerprint at the end.
    fn step(&mut self, model: &Model) -> Option<u64> {
        let objects = model.object_classes().len();
        if let Some(class) = model.object_class(ObjectClassHandle::of_index(self.at)) {
            self.name(&class.name);
            let attributes = class.attributes.iter().filter_map(|one| model.attribute(*one));
            attributes.for_each(|one| self.name(&one.name));
        } else if let Some(class) =
            model.interaction_class(InteractionClassHandle::of_index(self.at - objects))
        {
            self.name(&class.name);
            let parameters = class.parameters.iter().filter_map(|one| model.parameter(*one));
            parameters.for_each(|one| self.name(&one.name));
        } else {
            model.dimensions().iter().for_each(|one| self.name(&one.name));
            model.transportations().iter().for_each(|one| self.name(&one.name));
            return Some(self.sum.value());
        }
        self.at += 1;
        None
    }

    fn name(&mut self, name: &str) {
        self.sum.add(name.as_bytes());
        self.sum.add(&[0]);
    }
}

/// An image that is being written. The federation is frozen until it is finished.
#[derive(Debug)]
pub(crate) struct Writing {
    label: String,
    fingerprint: Fingerprint,
    /// `None` until the object model has its fingerprint.
    cursor: Option<Cursor>,
    writer: Writer,
    /// Up to where the checksum is computed, and the checksum.
    summed: (usize, Checksum),
}

impl Writing {
    pub(crate) fn new(federation: &Federation, label: &str) -> Self {
        Self {
            label: label.to_owned(),
            fingerprint: Fingerprint::new(),
            cursor: None,
            writer: Writer::new(federation.now),
            summed: (HEADER_LEN, Checksum::new()),
        }
    }

    /// The number of bytes so far.
    pub(crate) const fn len(&self) -> usize {
        self.writer.len()
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.writer.held()
    }

    /// The bytes that have been looked at: written, and summed.
    pub(crate) const fn position(&self) -> usize {
        self.len() + self.summed.0
    }

    /// Writes the next part. Returns the image at the end.
    pub(crate) fn step(&mut self, federation: &Federation) -> Option<Image> {
        let Some(cursor) = &mut self.cursor else {
            if let Some(fingerprint) = self.fingerprint.step(&federation.model) {
                self.begin(federation, fingerprint);
            }
            return None;
        };
        if cursor.put(federation, &mut self.writer) {
            return None;
        }
        let (from, sum) = &mut self.summed;
        if *from < self.writer.len() {
            let piece = self.writer.from(*from);
            sum.add(piece);
            *from += piece.len();
            return None;
        }
        let (len, sum) = (self.writer.len(), *sum);
        let mut pieces = self.writer.take_pieces();
        complete_header(&mut pieces[0], len, sum);
        Some(Image(Body::from_pieces(pieces.into_iter().map(Data::from).collect())))
    }

    fn begin(&mut self, federation: &Federation, fingerprint: u64) {
        let writer = &mut self.writer;
        writer.append(MAGIC);
        VERSION.put(writer);
        // The length and the checksum come at the end.
        0_u64.put(writer);
        0_u64.put(writer);
        federation.name.put(writer);
        self.label.put(writer);
        u8::from(federation.implementation == TimeImplementation::Float64).put(writer);
        fingerprint.put(writer);
        self.cursor = Some(Cursor::new(federation));
    }
}

/// An image that is being read, and the federation that it makes.
#[derive(Debug)]
pub(crate) struct Reading {
    image: Data,
    label: String,
    expected: u64,
    summed: (usize, Checksum),
    fingerprint: Fingerprint,
    reader: Reader,
    cursor: Option<Cursor>,
    staged: Box<Federation>,
}

/// Why an image cannot be restored.
pub(crate) type Reason = String;

impl Reading {
    /// Begins to read an image for this federation.
    pub(crate) fn new(
        federation: &Federation,
        label: &str,
        Image(image): Image,
    ) -> Result<Self, Reason> {
        let image = image.into_data();
        let expected = header(&image)?;
        let mut reader = Reader::new(image.clone(), federation.now);
        reader.at = HEADER_LEN;
        let staged = Box::new(Federation::new(
            federation.name.clone(),
            Arc::clone(&federation.model),
            federation.implementation,
            federation.limits,
            Arc::default(),
            federation.now,
        ));
        Ok(Self {
            image,
            label: label.to_owned(),
            expected,
            summed: (HEADER_LEN, Checksum::new()),
            fingerprint: Fingerprint::new(),
            reader,
            cursor: None,
            staged,
        })
    }

    /// Reads the next part. Returns whether it was the last.
    pub(crate) fn step(&mut self) -> Result<bool, Reason> {
        let (from, sum) = &mut self.summed;
        let rest = &self.image[*from..];
        if !rest.is_empty() {
            let len = rest.len().min(PIECE_LEN);
            sum.add(&rest[..len]);
            *from += len;
            return Ok(false);
        }
        if sum.value() != self.expected {
            return Err("it is damaged: its checksum does not match its content".into());
        }
        let Some(cursor) = &mut self.cursor else {
            if let Some(fingerprint) = self.fingerprint.step(&self.staged.model) {
                self.begin(fingerprint)?;
            }
            return Ok(false);
        };
        let invalid = |reason: &'static str| format!("its content is invalid: {reason}");
        if cursor.take(&mut self.staged, &mut self.reader).map_err(invalid)? {
            return Ok(false);
        }
        if !self.reader.is_at_end() {
            return Err(invalid("there is more than a federation"));
        }
        let rates = std::mem::take(&mut self.reader.rates);
        self.staged.complete(rates).map_err(invalid)?;
        Ok(true)
    }

    fn begin(&mut self, fingerprint: u64) -> Result<(), Reason> {
        let from = &mut self.reader;
        let fields = |from: &mut Reader| -> Taken<_> {
            let names = (String::take(from)?, String::take(from)?);
            Ok((names, u8::take(from)?, u64::take(from)?))
        };
        let ((name, label), time, model) =
            fields(from).map_err(|reason| format!("its content is invalid: {reason}"))?;
        let is_float = self.staged.implementation == TimeImplementation::Float64;
        if name != self.staged.name {
            return Err(format!("it is a save of the federation {name:?}"));
        }
        if label != self.label {
            return Err(format!("it is the save {label:?}"));
        }
        if time != u8::from(is_float) {
            return Err("it was saved with another implementation of logical time".into());
        }
        if model != fingerprint {
            return Err("it was saved with another object model".into());
        }
        from.implementation = self.staged.implementation;
        self.cursor = Some(Cursor::new(&self.staged));
        Ok(())
    }

    /// The bytes that have been looked at, in both passes.
    pub(crate) const fn position(&self) -> usize {
        self.summed.0 + self.reader.at
    }

    /// Returns what has been read so far.
    pub(crate) fn federation(&self) -> &Federation {
        &self.staged
    }

    /// Returns the federation that was read. Its federates have no sessions yet.
    pub(crate) fn into_federation(self) -> Box<Federation> {
        self.staged
    }
}

/// Enters the length of the content of an image of this length, and its checksum.
fn complete_header(first: &mut [u8], len: usize, sum: Checksum) {
    let len = (len - HEADER_LEN) as u64;
    first[12..20].copy_from_slice(&len.to_le_bytes());
    first[20..28].copy_from_slice(&sum.value().to_le_bytes());
}

/// Completes the header of an image that was made for a test.
pub(crate) fn seal(image: &mut [u8]) {
    let sum = Checksum::of(&image[HEADER_LEN..]);
    complete_header(image, image.len(), sum);
}

/// Checks the header of an image. Returns the checksum of its content.
fn header(image: &[u8]) -> Result<u64, Reason> {
    let number = |at: usize| {
        let bytes = image.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    if !image.starts_with(MAGIC) {
        return Err("it is no save of this RTI".into());
    }
    let version = image.get(8..12).and_then(<[u8]>::first_chunk);
    let version = version.map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if version != VERSION {
        return Err(format!("it has version {version} of the format; this RTI reads {VERSION}"));
    }
    let (Some(len), Some(sum)) = (number(12), number(20)) else {
        return Err("it is incomplete: its header ends too early".into());
    };
    let present = (image.len() - HEADER_LEN) as u64;
    if present != len {
        return Err(format!("it is incomplete: it has {present} of {len} bytes"));
    }
    Ok(sum)
}
