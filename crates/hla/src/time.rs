//! Logical time: the time of a simulation, independent of any clock.
//!
//! A federation execution uses one of two implementations, `HLAinteger64Time` or `HLAfloat64Time` (IEEE 1516.1-2025,
//! clause 12). A [`LogicalTime`] carries its implementation, and arithmetic on values of different ones is refused. The
//! eight bytes on the wire do not name the implementation: an [`EncodedTime`] is decoded where the federation is known.

use std::fmt;

/// An implementation of logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeImplementation {
    /// `HLAinteger64Time`: integers from 0 to 2⁶³ − 1.
    Integer64,
    /// `HLAfloat64Time`: IEEE 754 doubles from 0 to the largest finite one.
    Float64,
}

impl TimeImplementation {
    /// Both implementations.
    pub const ALL: [Self; 2] = [Self::Integer64, Self::Float64];

    /// Returns the implementation with this name; an empty name means `HLAfloat64Time`, the default of a federation
    /// execution. `None` for any other name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::Float64);
        }
        Self::ALL.into_iter().find(|implementation| implementation.name() == name)
    }

    /// Returns its standard name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer64 => "HLAinteger64Time",
            Self::Float64 => "HLAfloat64Time",
        }
    }

    /// Returns the sort key for a value's big-endian bytes, if they encode a value of this implementation.
    fn key(self, bytes: [u8; 8]) -> Option<i64> {
        match self {
            Self::Integer64 => Some(i64::from_be_bytes(bytes)).filter(|value| *value >= 0),
            Self::Float64 => float_key(f64::from_be_bytes(bytes)),
        }
    }

    /// Returns the greatest sort key.
    const fn key_max(self) -> i64 {
        match self {
            Self::Integer64 => i64::MAX,
            Self::Float64 => f64::MAX.to_bits().cast_signed(),
        }
    }
}

impl fmt::Display for TimeImplementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bits of a non-negative finite double grow with its value, so they serve as the sort key.
fn float_key(value: f64) -> Option<i64> {
    // This also turns negative zero into zero.
    (value.is_finite() && value >= 0.0).then(|| (value + 0.0).to_bits().cast_signed())
}

fn key_float(key: i64) -> f64 {
    f64::from_bits(key.cast_unsigned())
}

/// Why a value of logical time does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The bytes are not eight, or encode a negative value or NaN. The caller refuses with its service's
    /// `InvalidLogicalTime` or `InvalidLookahead`.
    #[error("not a value of {0}")]
    NotOne(TimeImplementation),
    /// The operands have different implementations. A federation has only one, so this is an error of the caller.
    #[error("logical times of two implementations do not mix")]
    Mixed,
    /// The result exceeds the final time or the longest interval.
    #[error("the result is after the final time")]
    AfterFinal,
    /// The result is before the initial time, or a negative interval.
    #[error("the result is before the initial time")]
    BeforeInitial,
}

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident, $encoded:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Values of an implementation are ordered by value. The order across implementations is total but has no
        /// meaning.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            implementation: TimeImplementation,
            /// Grows with the value: the integer itself, or the bits of the double.
            key: i64,
        }

        impl $name {
            /// Creates a value of `HLAinteger64Time`.
            ///
            /// # Errors
            /// If it is negative.
            pub const fn integer(value: i64) -> Result<Self, TimeError> {
                if value < 0 {
                    return Err(TimeError::NotOne(TimeImplementation::Integer64));
                }
                Ok(Self { implementation: TimeImplementation::Integer64, key: value })
            }

            /// Creates a value of `HLAfloat64Time`.
            ///
            /// # Errors
            /// If it is negative, infinite or NaN.
            pub fn float(value: f64) -> Result<Self, TimeError> {
                let implementation = TimeImplementation::Float64;
                let key = float_key(value).ok_or(TimeError::NotOne(implementation))?;
                Ok(Self { implementation, key })
            }

            /// Returns its implementation.
            pub const fn implementation(self) -> TimeImplementation {
                self.implementation
            }

            /// Returns the value as a double; integers above 2⁵³ are rounded.
            #[expect(clippy::cast_precision_loss, reason = "said in the documentation")]
            pub fn as_f64(self) -> f64 {
                match self.implementation {
                    TimeImplementation::Integer64 => self.key as f64,
                    TimeImplementation::Float64 => key_float(self.key),
                }
            }

            /// Returns the value of an `HLAinteger64Time`; `None` for the other implementation.
            pub fn as_integer(self) -> Option<i64> {
                (self.implementation == TimeImplementation::Integer64).then_some(self.key)
            }

            /// Returns its eight bytes, big-endian.
            pub const fn to_bytes(self) -> [u8; 8] {
                // The big-endian bytes of a double are those of its bits.
                self.key.to_be_bytes()
            }

            /// Decodes a value of this implementation.
            ///
            /// # Errors
            /// If the bytes are not eight or do not encode such a value.
            pub fn from_bytes(
                bytes: &[u8],
                implementation: TimeImplementation,
            ) -> Result<Self, TimeError> {
                let bytes: Option<[u8; 8]> = bytes.try_into().ok();
                let key = bytes.and_then(|bytes| implementation.key(bytes));
                key.map(|key| Self { implementation, key }).ok_or(TimeError::NotOne(implementation))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.implementation {
                    TimeImplementation::Integer64 => self.key.fmt(f),
                    TimeImplementation::Float64 => key_float(self.key).fmt(f),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.implementation {
                    TimeImplementation::Integer64 => write!(f, "{}({})", stringify!($name), self.key),
                    TimeImplementation::Float64 => {
                        write!(f, "{}({:?})", stringify!($name), key_float(self.key))
                    }
                }
            }
        }

        impl From<$name> for $encoded {
            fn from(value: $name) -> Self {
                Self(Some(value.to_bytes()))
            }
        }

        #[doc = concat!("A `", stringify!($name), "` as it travels: eight bytes, or any others, ")]
        /// which decode to nothing.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $encoded(Option<[u8; 8]>);

        impl $encoded {
            /// Takes these bytes without checking them; decoding checks.
            pub fn new(bytes: &[u8]) -> Self {
                Self(bytes.try_into().ok())
            }

            /// Returns the bytes to send: always eight, because clients decode them without a check.
            pub fn bytes(self) -> [u8; 8] {
                self.0.unwrap_or_default()
            }

            /// Decodes the value in a federation of this implementation.
            ///
            /// # Errors
            /// If the bytes are not eight or do not encode such a value.
            pub fn decode(self, implementation: TimeImplementation) -> Result<$name, TimeError> {
                let bytes = self.0.ok_or(TimeError::NotOne(implementation))?;
                $name::from_bytes(&bytes, implementation)
            }
        }

        impl fmt::Debug for $encoded {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Some(bytes) => {
                        write!(f, "{}({:016x})", stringify!($encoded), u64::from_be_bytes(bytes))
                    }
                    None => write!(f, "{}(malformed)", stringify!($encoded)),
                }
            }
        }
    )*};
}

values! {
    /// A point in the time of a federation.
    LogicalTime, EncodedTime;
    /// A length of logical time, which is never negative.
    LogicalInterval, EncodedInterval;
}

impl LogicalTime {
    /// Returns the initial time, 0.
    #[must_use]
    pub const fn initial(implementation: TimeImplementation) -> Self {
        Self { implementation, key: 0 }
    }

    /// Returns the final time.
    #[must_use]
    pub const fn last(implementation: TimeImplementation) -> Self {
        Self { implementation, key: implementation.key_max() }
    }

    /// Adds an interval.
    ///
    /// A positive interval always gives a later time: if a double is too coarse, the next one. Otherwise a lookahead
    /// could vanish, and federates would deadlock.
    ///
    /// # Errors
    /// If the implementations differ, or the result is after the final time.
    pub fn plus(self, interval: LogicalInterval) -> Result<Self, TimeError> {
        same(self.implementation, interval.implementation)?;
        let key = match self.implementation {
            TimeImplementation::Integer64 => self.key.checked_add(interval.key),
            TimeImplementation::Float64 => {
                let sum = float_key(key_float(self.key) + key_float(interval.key));
                let least = self.key + i64::from(interval.key > 0);
                sum.map(|sum| sum.max(least)).filter(|key| *key <= self.implementation.key_max())
            }
        };
        key.map(|key| Self { key, ..self }).ok_or(TimeError::AfterFinal)
    }

    /// Subtracts an interval; a positive interval always gives an earlier time.
    ///
    /// # Errors
    /// If the implementations differ, or the result is before the initial time.
    pub fn minus(self, interval: LogicalInterval) -> Result<Self, TimeError> {
        same(self.implementation, interval.implementation)?;
        let key = match self.implementation {
            TimeImplementation::Integer64 => self.key.checked_sub(interval.key),
            TimeImplementation::Float64 => {
                let most = self.key - i64::from(interval.key > 0);
                float_key(key_float(self.key) - key_float(interval.key)).map(|key| key.min(most))
            }
        };
        let key = key.filter(|key| *key >= 0);
        key.map(|key| Self { key, ..self }).ok_or(TimeError::BeforeInitial)
    }

    /// Returns the interval from `earlier` to this time.
    ///
    /// # Errors
    /// If the implementations differ, or `earlier` is later.
    pub fn since(self, earlier: Self) -> Result<LogicalInterval, TimeError> {
        same(self.implementation, earlier.implementation)?;
        if earlier.key > self.key {
            return Err(TimeError::BeforeInitial);
        }
        let implementation = self.implementation;
        let key = match implementation {
            TimeImplementation::Integer64 => self.key - earlier.key,
            TimeImplementation::Float64 => {
                float_key(key_float(self.key) - key_float(earlier.key)).unwrap_or(0)
            }
        };
        Ok(LogicalInterval { implementation, key })
    }
}

impl LogicalInterval {
    /// Returns the zero interval.
    #[must_use]
    pub const fn zero(implementation: TimeImplementation) -> Self {
        Self { implementation, key: 0 }
    }

    /// Returns the shortest positive interval: 1, or the smallest positive double.
    #[must_use]
    pub const fn epsilon(implementation: TimeImplementation) -> Self {
        Self { implementation, key: 1 }
    }

    /// Returns whether this is the zero interval.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.key == 0
    }
}

fn same(one: TimeImplementation, other: TimeImplementation) -> Result<(), TimeError> {
    if one == other { Ok(()) } else { Err(TimeError::Mixed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn implementation() -> impl Strategy<Value = TimeImplementation> {
        prop_oneof![Just(TimeImplementation::Integer64), Just(TimeImplementation::Float64)]
    }

    fn time() -> impl Strategy<Value = LogicalTime> {
        (implementation(), any::<i64>()).prop_filter_map("not a time", |(implementation, key)| {
            LogicalTime::from_bytes(&key.to_be_bytes(), implementation).ok()
        })
    }

    fn interval() -> impl Strategy<Value = LogicalInterval> {
        time()
            .prop_map(|LogicalTime { implementation, key }| LogicalInterval { implementation, key })
    }

    #[test]
    fn an_empty_name_means_the_double() {
        assert_eq!(TimeImplementation::named(""), Some(TimeImplementation::Float64));
        assert_eq!(TimeImplementation::named("HLAinteger32Time"), None);
    }

    #[test]
    fn bytes_are_those_of_the_standard() {
        let time = LogicalTime::last(TimeImplementation::Integer64);
        assert_eq!(time.to_bytes(), 0x7FFF_FFFF_FFFF_FFFF_u64.to_be_bytes());
        let time = LogicalTime::last(TimeImplementation::Float64);
        assert_eq!(time.to_bytes(), 0x7FEF_FFFF_FFFF_FFFF_u64.to_be_bytes());
        assert_eq!(LogicalTime::float(1.5).unwrap().to_bytes(), 1.5_f64.to_be_bytes());
        assert_eq!(LogicalTime::initial(TimeImplementation::Float64).to_bytes(), [0; 8]);
    }

    #[test]
    fn what_is_no_time_decodes_to_nothing() {
        let floats = [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::MIN_POSITIVE];
        for value in floats {
            let encoded = EncodedTime::new(&value.to_be_bytes());
            let refused = Err(TimeError::NotOne(TimeImplementation::Float64));
            assert_eq!(encoded.decode(TimeImplementation::Float64), refused, "{value}");
        }
        for bytes in [&[][..], &[0; 7], &[0; 9], &[0xFF; 8]] {
            EncodedTime::new(bytes).decode(TimeImplementation::Integer64).unwrap_err();
        }
        let zero = EncodedTime::new(&(-0.0_f64).to_be_bytes()).decode(TimeImplementation::Float64);
        assert_eq!(zero, Ok(LogicalTime::initial(TimeImplementation::Float64)));
    }

    #[test]
    fn implementations_do_not_mix() {
        let time = LogicalTime::integer(1).unwrap();
        let interval = LogicalInterval::float(1.0).unwrap();
        assert_eq!(time.plus(interval), Err(TimeError::Mixed));
        assert_eq!(time.minus(interval), Err(TimeError::Mixed));
        assert_eq!(time.since(LogicalTime::float(0.0).unwrap()), Err(TimeError::Mixed));
    }

    #[test]
    fn a_positive_interval_is_never_lost_in_rounding() {
        let late = LogicalTime::float(1e300).unwrap();
        let short = LogicalInterval::epsilon(TimeImplementation::Float64);
        assert!(late.plus(short).unwrap() > late);
        assert!(late.minus(short).unwrap() < late);
        let last = LogicalTime::last(TimeImplementation::Float64);
        assert_eq!(last.plus(short), Err(TimeError::AfterFinal));
    }

    proptest! {
        #[test]
        fn order_is_the_order_of_values(a in 0.0..1e18_f64, b in 0.0..1e18_f64) {
            let (x, y) = (LogicalTime::float(a).unwrap(), LogicalTime::float(b).unwrap());
            prop_assert_eq!(x.partial_cmp(&y), a.partial_cmp(&b));
        }

        #[test]
        fn bytes_and_values_are_the_same(time in time()) {
            let again = EncodedTime::from(time).decode(time.implementation());
            prop_assert_eq!(again, Ok(time));
        }

        #[test]
        fn arithmetic_never_panics_and_keeps_its_direction(time in time(), interval in interval()) {
            if let Ok(later) = time.plus(interval) {
                prop_assert!(interval.is_zero() == (later == time) && later >= time);
                prop_assert!(later.since(time).is_ok());
            }
            if let Ok(earlier) = time.minus(interval) {
                prop_assert!(interval.is_zero() == (earlier == time) && earlier <= time);
            }
        }

        #[test]
        fn adding_integers_is_exact(a in 0..i64::MAX, b in 0..i64::MAX) {
            let sum = LogicalTime::integer(a).unwrap().plus(LogicalInterval::integer(b).unwrap());
            prop_assert_eq!(sum.ok().and_then(LogicalTime::as_integer), a.checked_add(b));
        }
    }
}
