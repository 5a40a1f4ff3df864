//! A recorded event: its kind, time and cycle, and two values.

use hemiola_units::Instant;

/// One event, as compact as the recorder writes it.
///
/// The meaning of `arg`, `a` and `b` depends on the [`EventKind`] and is documented there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its time on the monotonic clock.
    pub at: Instant,
    /// Its kind.
    pub kind: EventKind,
    /// A small number: an index or a code.
    pub arg: u16,
    /// The cycle it belongs to, counted from 0 by the recording process.
    pub cycle: u32,
    /// The first value.
    pub a: u64,
    /// The second value.
    pub b: u64,
}

impl Entry {
    /// Returns the entry as four words:
    ///
    /// ```text
    /// word 0   at, nanoseconds
    /// word 1   bits 0..16 kind · 16..32 arg · 32..64 cycle
    /// word 2   a
    /// word 3   b
    /// ```
    #[inline]
    #[must_use]
    pub const fn to_words(self) -> [u64; 4] {
        let packed = self.kind as u64 | (self.arg as u64) << 16 | (self.cycle as u64) << 32;
        [self.at.nanos(), packed, self.a, self.b]
    }

    /// Decodes four words; `None` if they contain no [`EventKind`] known to this version.
    #[must_use]
    pub const fn from_words(words: [u64; 4]) -> Option<Self> {
        let Some(kind) = EventKind::from_code(words[1] as u16) else { return None };
        Some(Self {
            at: Instant::from_nanos(words[0]),
            kind,
            arg: (words[1] >> 16) as u16,
            cycle: (words[1] >> 32) as u32,
            a: words[2],
            b: words[3],
        })
    }

    /// Returns `a` as the floating-point number with these bits.
    #[must_use]
    pub const fn a_f64(&self) -> f64 {
        f64::from_bits(self.a)
    }

    /// Returns `b` as the floating-point number with these bits.
    #[must_use]
    pub const fn b_f64(&self) -> f64 {
        f64::from_bits(self.b)
    }

    /// Returns the value of a mark as a number; `None` for other kinds and for texts.
    #[must_use]
    pub const fn value(&self) -> Option<f64> {
        match self.kind {
            EventKind::MarkUnsigned => Some(self.a as f64),
            EventKind::MarkSigned => Some(self.a.cast_signed() as f64),
            EventKind::MarkReal => Some(self.a_f64()),
            _ => None,
        }
    }

    /// Returns the value of a mark with a whole number, exactly; `None` for other kinds. [`Self::value`] rounds numbers
    /// beyond 2^53.
    #[must_use]
    pub fn whole(&self) -> Option<i128> {
        match self.kind {
            EventKind::MarkUnsigned => Some(self.a.into()),
            EventKind::MarkSigned => Some(self.a.cast_signed().into()),
            _ => None,
        }
    }

    /// Returns the text of a mark; `None` for other kinds. Invalid UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let bytes = text_bytes([self.a, self.b]);
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        (self.kind == EventKind::MarkText)
            .then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// The most bytes of a text in an entry.
pub const TEXT_LEN_MAX: usize = 16;

fn text_bytes([a, b]: [u64; 2]) -> [u8; TEXT_LEN_MAX] {
    (u128::from(a) | u128::from(b) << 64).to_le_bytes()
}

/// Returns a text as the values of an entry; `None` if it is too long or contains a zero byte.
pub(crate) fn text_to_words(text: &str) -> Option<[u64; 2]> {
    let mut bytes = [0; TEXT_LEN_MAX];
    bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    let words = u128::from_le_bytes(bytes);
    (!text.contains('\0')).then_some([words as u64, (words >> 64) as u64])
}

/// Returns the text of which [`text_to_words`] makes exactly these words.
pub(crate) fn words_to_text(words: [u64; 2]) -> Option<String> {
    let bytes = text_bytes(words);
    let text = std::str::from_utf8(&bytes).ok()?.trim_end_matches('\0');
    (text_to_words(text) == Some(words)).then(|| text.to_owned())
}

/// How the bits of `a` or `b` of an [`Entry`] are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A whole number.
    Whole,
    /// A whole number with a sign, in two's complement.
    Signed,
    /// The bits of an `f64`.
    Real,
    /// The first half of a text of at most 16 bytes; the other value is its second half ([`Entry::text`]).
    Text,
    /// A code or index that the name tables may explain.
    Code,
}

/// A value of an [`Entry`]: its name in a trace file, with its unit last, and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of its annotation in the trace file.
    pub name: &'static str,
    /// How its bits are interpreted.
    pub shape: Shape,
}

const fn whole(name: &'static str) -> Option<Field> {
    Some(Field { name, shape: Shape::Whole })
}
const fn real(name: &'static str) -> Option<Field> {
    Some(Field { name, shape: Shape::Real })
}
const fn signed(name: &'static str) -> Option<Field> {
    Some(Field { name, shape: Shape::Signed })
}
const fn text(name: &'static str) -> Option<Field> {
    Some(Field { name, shape: Shape::Text })
}
const fn code(name: &'static str) -> Option<Field> {
    Some(Field { name, shape: Shape::Code })
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal $name:literal $fields:expr;)*) => {
        /// The kind of an [`Entry`].
        ///
        /// The numbers are part of the recorder's memory layout: never reuse one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum EventKind {
            $($(#[$doc])* $kind = $code,)*
        }

        impl EventKind {
            /// Every kind, by ascending number.
            pub const ALL: [Self; [$($code),*].len()] = [$(Self::$kind),*];

            /// Returns the kind with this number.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$kind),)* _ => None }
            }

            /// Returns its name in a trace file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns the meaning of `arg`, `a` and `b`, in this order; `None` where the kind defines none.
            #[must_use]
            pub const fn fields(self) -> [Option<Field>; 3] {
                match self { $(Self::$kind => $fields,)* }
            }
        }
    };
}

kinds! {
    /// A job began. `arg`: releases skipped before it, saturated; `a`: its release, ns; `b`: processor time that its
    /// process spent on warming up for it, ns.
    Start = 1 "start" [whole("skipped"), whole("release_ns"), whole("warm_up_ns")];
    /// The job ended. `a`: its deadline, ns; `b`: processor time the thread spent in it, ns.
    Finish = 2 "finish" [None, whole("deadline_ns"), whole("execution_ns")];
    /// A message was taken from a channel. `arg`: the channel's index.
    Receive = 3 "receive" [code("channel"), None, None];
    /// A message was put into a channel. `arg`: the channel's index.
    Send = 4 "send" [code("channel"), None, None];
    /// The sensors were read. `a`: position, m; `b`: angle, rad; of a linear plant, both measured states.
    Sample = 5 "sample" [None, real("position_m"), real("angle_rad")];
    /// A voltage was written. `arg`: its [`source`]; `a`: volts; `b`: volts before.
    Actuate = 6 "actuate" [code("source"), real("volts"), real("volts_before")];
    /// The decision module chose. `arg`: the [`source`]; `a`: V of the present state; `b`: V predicted under the
    /// candidate, NaN without one.
    Decide = 7 "decide" [code("source"), real("v_now"), real("v_predicted")];
    /// The source of the voltage changed. `arg`: reason code; `a`, `b`: [`source`] before and after.
    Switch = 8 "switch" [code("reason"), code("from"), code("to")];
    /// A fault was detected. `arg`: fault code; `a`: slot of the unit; `b`: samples since the unit's last acceptable
    /// answer, this one included, or 0.
    Fault = 9 "fault" [code("fault"), whole("slot"), whole("detail")];
    /// A unit changed its state. `arg`: state code; `a`: slot; `b`: generation.
    UnitState = 10 "unit_state" [code("state"), whole("slot"), whole("generation")];
    /// The plant's true state. `a`: V; `b`: angle, rad; of a linear plant, its second measured state.
    PlantState = 11 "plant_state" [None, real("v"), real("angle_rad")];
    /// The plant was lost. `a`: position, m; `b`: angle, rad; of a linear plant, both measured states.
    Fall = 12 "fall" [None, real("position_m"), real("angle_rad")];
    /// The cost of a mark. `b`: ns since the previous mark; 0 in the first of a series.
    Pair = 13 "pair" [None, None, whole("pair_ns")];
    /// Events were lost because a log was full. `a`: their number.
    Lost = 14 "lost" [None, whole("lost_events"), None];
    /// A user's own mark. `arg`: index of its name; `a`, `b`: free.
    Mark = 15 "mark" [code("mark"), whole("a"), whole("b")];
    /// A mark of a program with a whole number. `arg`: index of its name; `a`: the number.
    MarkUnsigned = 16 "mark_unsigned" [code("mark"), whole("value"), None];
    /// A mark of a program with a signed whole number. `arg`: index of its name; `a`: the number.
    MarkSigned = 17 "mark_signed" [code("mark"), signed("value"), None];
    /// A mark of a program with a real number. `arg`: index of its name; `a`: the number.
    MarkReal = 18 "mark_real" [code("mark"), real("value"), None];
    /// A mark of a program with a short text. `arg`: index of its name; `a`, `b`: the text, see [`Entry::text`].
    MarkText = 19 "mark_text" [code("mark"), text("value"), None];
}

impl EventKind {
    /// Returns the kind that gives this one its names: the marks of all kinds share those of [`EventKind::Mark`].
    #[must_use]
    pub const fn named(self) -> Self {
        match self {
            Self::MarkUnsigned | Self::MarkSigned | Self::MarkReal | Self::MarkText => Self::Mark,
            other => other,
        }
    }
}

/// Sources of voltages, as the numbers in [`EventKind::Actuate`], [`EventKind::Decide`] and [`EventKind::Switch`].
pub mod source {
    /// None: the last voltage was held.
    pub const HELD: u16 = 0;
    /// The only controller of a program without a decision module.
    pub const CONTROLLER: u16 = 1;
    /// The safety controller.
    pub const SAFETY: u16 = 2;
    /// The 0 V of an I/O process that got no command in time.
    pub const FAIL_SAFE: u16 = 3;
    /// The safety law of the I/O process, while the decision module gives no usable command.
    pub const WATCHDOG: u16 = 4;
    /// The unit in slot 0; slot n is this + n.
    pub const UNIT_0: u16 = 16;

    /// Returns the source for the unit in `slot`, saturating.
    #[must_use]
    pub const fn unit(slot: u16) -> u16 {
        UNIT_0.saturating_add(slot)
    }

    /// Returns the slot of a source that is a unit.
    #[must_use]
    pub const fn slot(source: u16) -> Option<u16> {
        source.checked_sub(UNIT_0)
    }

    /// Returns the name of the source.
    #[must_use]
    pub fn name(source: u16) -> String {
        match source {
            HELD => "held".into(),
            CONTROLLER => "controller".into(),
            SAFETY => "safety".into(),
            FAIL_SAFE => "fail-safe".into(),
            WATCHDOG => "watchdog".into(),
            _ => match slot(source) {
                Some(slot) => format!("unit {slot}"),
                None => format!("source {source}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_is_found_by_its_number_and_has_its_own_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_code(kind as u16), Some(kind));
            assert_eq!(
                EventKind::ALL.iter().filter(|other| other.name() == kind.name()).count(),
                1
            );
        }
        assert_eq!(EventKind::from_code(0), None);
        assert_eq!(EventKind::from_code(20), None);
    }

    #[test]
    fn sources_name_the_slot_of_a_unit() {
        assert_eq!(source::slot(source::unit(2)), Some(2));
        assert_eq!(source::slot(source::SAFETY), None);
        assert_eq!(source::name(source::unit(1)), "unit 1");
        assert_eq!(source::name(7), "source 7");
    }

    #[test]
    fn a_value_is_read_as_it_was_marked() {
        let at = Instant::ZERO;
        let entry = |kind, a, b| Entry { at, kind, arg: 0, cycle: 0, a, b };
        let [a, b] = text_to_words("überholt").unwrap();
        assert_eq!(entry(EventKind::MarkText, a, b).text().unwrap(), "überholt");
        assert_eq!(entry(EventKind::MarkSigned, u64::MAX, 0).value(), Some(-1.0));
        assert_eq!(entry(EventKind::MarkReal, 0.5_f64.to_bits(), 0).value(), Some(0.5));
        assert_eq!(entry(EventKind::MarkUnsigned, 7, 0).value(), Some(7.0));
        assert_eq!(entry(EventKind::MarkUnsigned, u64::MAX, 0).whole(), Some(u64::MAX.into()));
        assert_eq!(entry(EventKind::MarkSigned, u64::MAX, 0).whole(), Some(-1));
        assert_eq!(entry(EventKind::MarkReal, 7, 0).whole(), None);
        assert_eq!(entry(EventKind::Mark, 7, 0).value(), None);
        assert_eq!(text_to_words("seventeen letters"), None);
    }

    proptest! {
        #[test]
        fn words_of_a_known_kind_survive_the_round_trip(words: [u64; 4]) {
            match Entry::from_words(words) {
                Some(entry) => prop_assert_eq!(entry.to_words(), words),
                None => prop_assert_eq!(EventKind::from_code(words[1] as u16), None),
            }
        }
    }
}
