//! The text by which a command line or a scenario states a module.
//!
//! ```text
//! ELEMENT=FILE:budget=TIME:deadline=TIME:strikes=N:then=keep|freeze|end
//! ```

use hemiola_units::Span;

use super::conduct::Then;

/// The time for a block, if the text states none.
const BUDGET: Span = Span::from_millis(5);
/// The strikes that lead to eviction, if the text states none.
const STRIKES_MAX: u32 = 3;
/// The longest budget and deadline.
const TIME_MAX: Span = Span::from_millis(60_000);

/// A module as a text states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleText {
    /// The text.
    pub text: String,
    /// The element whose update it computes.
    pub element: String,
    /// The file of the module.
    pub file: String,
    /// The time for a block, which is counted as fuel.
    pub budget: Span,
    /// The time for all blocks of a step, which is counted as fuel.
    pub deadline: Option<Span>,
    /// The strikes that lead to eviction.
    pub strikes_max: u32,
    /// What eviction means.
    pub then: Then,
}

impl ModuleText {
    /// The form of such a text, with an example.
    pub const FORM: &'static str = "ELEMENT=FILE:budget=TIME:deadline=TIME:strikes=N:then=keep|freeze|end, such as \
                                    'bird=bird.wasm:budget=1ms:strikes=3:then=freeze'; all but ELEMENT=FILE is \
                                    optional";

    /// Reads a text.
    ///
    /// # Errors
    /// The reason why it is none, in one sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let first = parts.next().unwrap_or_default();
        let (element, file) =
            first.split_once('=').ok_or_else(|| format!("\"{first}\" is not ELEMENT=FILE"))?;
        if element.is_empty() || file.is_empty() {
            return Err("it names no element or no file".into());
        }
        let mut module = Self {
            text: text.into(),
            element: element.into(),
            file: file.into(),
            budget: BUDGET,
            deadline: None,
            strikes_max: STRIKES_MAX,
            then: Then::default(),
        };
        for part in parts {
            module.set(part)?;
        }
        Ok(module)
    }

    fn set(&mut self, part: &str) -> Result<(), String> {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("\"{part}\" is not KEY=VALUE; the name of a file contains no colon")
        })?;
        match key {
            "budget" => self.budget = time(key, value)?,
            "deadline" => self.deadline = Some(time(key, value)?),
            "strikes" => {
                let strikes = value.parse().ok().filter(|strikes| *strikes > 0);
                self.strikes_max = strikes
                    .ok_or_else(|| format!("strikes is \"{value}\"; it must be at least 1"))?;
            }
            "then" => {
                let then = Then::ALL.into_iter().find(|then| then.word() == value);
                self.then = then.ok_or_else(|| {
                    format!("then is \"{value}\"; it must be keep, freeze or end")
                })?;
            }
            _ => {
                return Err(format!(
                    "there is no \"{key}\"; the keys are budget, deadline, strikes and then"
                ));
            }
        }
        Ok(())
    }
}

fn time(key: &str, value: &str) -> Result<Span, String> {
    let time: Span = value.parse().map_err(|error| format!("{key}: {error}"))?;
    if time.is_positive() && time <= TIME_MAX {
        Ok(time)
    } else {
        Err(format!("{key} is {value}; it must be above 0 and at most 60 s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_defaults_and_every_part_that_is_wrong_is_named() {
        let bare = ModuleText::read("bird=code/bird.wasm").unwrap();
        assert_eq!((&*bare.element, &*bare.file), ("bird", "code/bird.wasm"));
        assert_eq!((bare.budget, bare.deadline, bare.strikes_max), (BUDGET, None, STRIKES_MAX));
        let text = "a.b=f:budget=20us:deadline=2ms:strikes=1:then=end";
        let full = ModuleText::read(text).unwrap();
        assert_eq!(
            (full.budget, full.strikes_max, full.then),
            (Span::from_micros(20), 1, Then::End)
        );
        assert_eq!(full.deadline, Some(Span::from_millis(2)));
        for (text, reason) in [
            ("bird", "is not ELEMENT=FILE"),
            ("=f", "no element or no file"),
            ("bird=", "no element or no file"),
            ("bird=C:\\bird", "the name of a file contains no colon"),
            ("bird=f:strikes=0", "at least 1"),
            ("bird=f:then=stop", "keep, freeze or end"),
            ("bird=f:budget=fast", "a length of time such as"),
            ("bird=f:budget=0", "above 0"),
            ("bird=f:deadline=61s", "at most 60 s"),
            ("bird=f:fuel=3", "the keys are"),
        ] {
            let error = ModuleText::read(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
