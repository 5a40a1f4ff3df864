//! A plan as text for people.

use crate::conversion::Missing;
use crate::steps::Plan;

impl Plan {
    /// The steps, one on a line, and what has no value, of a universe of this name.
    #[must_use]
    pub fn text(&self, universe: &str) -> String {
        let mut text = match self.steps.len() {
            0 => format!("universe {universe}: no steps\n"),
            1 => format!("universe {universe}: 1 step\n"),
            many => format!("universe {universe}: {many} steps\n"),
        };
        self.steps.iter().for_each(|step| text += &format!("  {step}\n"));
        text += &missing_text("the redefinition is not possible", &self.forward.missing);
        text += &missing_text("no return is possible once a step was made", &self.back.missing);
        text
    }
}

/// Properties without a value, each with what follows from that, and the converter to write.
#[must_use]
pub fn missing_text(consequence: &str, missing: &[Missing]) -> String {
    let mut text = String::new();
    for Missing { property, reason, stub } in missing {
        text += &format!("{consequence}: `{property}` has no value: {reason}\n");
        if !stub.is_empty() {
            text += &format!("  write a converter: {stub}\n");
        }
    }
    text
}
