//! Variant records: a discriminant and the alternative that it selects.

use super::{DecodeError, Element, Reader, Writer, greatest};

/// The alternatives of a variant record: an enum with one variant each.
///
/// ```
/// use hemiola_hla::encoding::{
///     Alternatives, DecodeError, HLAfloat64BE, HLAinteger32BE, HLAoctet, HLAvariantRecord, Reader,
///     Writer, decode, encode,
/// };
///
/// #[derive(Clone, Debug, PartialEq)]
/// enum Shape {
///     Circle(HLAfloat64BE),
///     Polygon(HLAoctet),
/// }
///
/// impl Alternatives<HLAinteger32BE> for Shape {
///     const BOUNDARY: usize = 8;
///     fn discriminant(&self) -> HLAinteger32BE {
///         HLAinteger32BE(match self { Self::Circle(_) => 1, Self::Polygon(_) => 2 })
///     }
///     fn write(&self, to: &mut Writer) {
///         match self { Self::Circle(radius) => to.put(radius), Self::Polygon(n) => to.put(n) }
///     }
///     fn read(choice: &HLAinteger32BE, from: &mut Reader<'_>) -> Option<Result<Self, DecodeError>> {
///         match choice.0 {
///             1 => Some(from.get().map(Self::Circle)),
///             2 => Some(from.get().map(Self::Polygon)),
///             _ => None,
///         }
///     }
/// }
///
/// // Four bytes, four of padding because of the other alternative, and one.
/// let record = HLAvariantRecord::Known(Shape::Polygon(HLAoctet(5)));
/// let bytes = encode(&record);
/// assert_eq!(bytes, [0, 0, 0, 2, 0, 0, 0, 0, 5]);
/// assert_eq!(decode(&bytes), Ok(record));
/// // A choice without an alternative is the discriminant alone.
/// let other: HLAvariantRecord<HLAinteger32BE, Shape> = decode(&[0, 0, 0, 9]).unwrap();
/// assert_eq!(other, HLAvariantRecord::None(HLAinteger32BE(9)));
/// ```
pub trait Alternatives<D>: Sized {
    /// The greatest boundary of all alternatives.
    const BOUNDARY: usize;

    /// Returns the discriminant of this alternative.
    fn discriminant(&self) -> D;

    /// Appends the alternative. The writer is at the common boundary.
    fn write(&self, to: &mut Writer);

    /// Reads the alternative that this discriminant selects, or returns `None` without reading if there is none. The
    /// reader is at the common boundary unless the bytes have ended.
    fn read(discriminant: &D, from: &mut Reader<'_>) -> Option<Result<Self, DecodeError>>;
}

/// The discriminant, then the alternative at the greatest boundary of all alternatives. A discriminant without an
/// alternative has nothing after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HLAvariantRecord<D, A> {
    /// An alternative.
    Known(A),
    /// A discriminant that selects no alternative.
    None(D),
}

impl<D: Element, A: Alternatives<D>> Element for HLAvariantRecord<D, A> {
    const BOUNDARY: usize = greatest(&[D::BOUNDARY, A::BOUNDARY]);
    const LEN_MIN: usize = D::LEN_MIN;

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Known(alternative) => {
                to.put(&alternative.discriminant());
                to.align(A::BOUNDARY);
                alternative.write(to);
            }
            Self::None(discriminant) => to.put(discriminant),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let discriminant = from.get()?;
        // Whether padding follows depends on the discriminant.
        let mut ahead = Reader { ..*from };
        let aligned = ahead.align(A::BOUNDARY);
        match A::read(&discriminant, &mut ahead) {
            Some(alternative) => {
                aligned?;
                *from = ahead;
                alternative.map(Self::Known)
            }
            None => Ok(Self::None(discriminant)),
        }
    }
}

/// The discriminant, the alternative's length as `HLAinteger32BE`, and the alternative at a boundary of 8. A decoder
/// can thus skip an alternative that it does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HLAextendableVariantRecord<D, A> {
    /// An alternative.
    Known(A),
    /// An unknown discriminant with the bytes of its alternative.
    Unknown(D, Vec<u8>),
}

impl<D: Element, A: Alternatives<D>> Element for HLAextendableVariantRecord<D, A> {
    const BOUNDARY: usize = greatest(&[D::BOUNDARY, 8]);
    const LEN_MIN: usize = D::LEN_MIN + 4;

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Known(alternative) => to.put(&alternative.discriminant()),
            Self::Unknown(discriminant, _) => to.put(discriminant),
        }
        to.align(4);
        let length_at = to.len();
        to.put_count(0);
        to.align(8);
        let write = |to: &mut Writer| match self {
            Self::Known(alternative) => alternative.write(to),
            Self::Unknown(_, bytes) => to.put_bytes(bytes),
        };
        to.put_measured(write, length_at);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let discriminant = from.get()?;
        from.align(4)?;
        let said = from.get_count(1)?;
        from.align(8)?;
        let at = from.at();
        let bytes = from.get_bytes(said)?;
        let mut inside = Reader { bytes: &from.bytes[..from.at], at };
        match A::read(&discriminant, &mut inside) {
            Some(alternative) => {
                let alternative = alternative?;
                let is = inside.at() - at;
                if is == said {
                    Ok(Self::Known(alternative))
                } else {
                    Err(DecodeError::Length { at, said, is })
                }
            }
            None => Ok(Self::Unknown(discriminant, bytes.to_vec())),
        }
    }
}
