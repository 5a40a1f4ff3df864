//! A tornado: which input moves a result how far.

use super::{Show, middle_within, name_row, names_width};
use crate::plot::{Anchor, Axis, Drawing, RIGHT, Scale, WIDTH, legend_height, length};

/// How a result changes when one input at a time goes to the ends of its range, the widest effect on top.
#[derive(Clone)]
pub struct Tornado<'a> {
    /// Its text for screen readers.
    pub description: &'a str,
    /// The result with all inputs as expected.
    pub nominal: f64,
    /// The effect of each input.
    pub effects: Vec<Effect>,
    /// How results are written.
    pub show: Show<'a>,
}

/// The effect of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The input.
    pub name: String,
    /// The result with the input at its low end.
    pub at_low: f64,
    /// The result with the input at its high end.
    pub at_high: f64,
}

const ROW: f64 = 30.0;
/// Room for the numbers at both ends: for most of them, and at most for the longest.
const NUMBERS: [f64; 2] = [90.0, 200.0];

impl Tornado<'_> {
    /// The chart as one SVG element; what is not finite is left out. Effects of the same width keep their order.
    #[must_use]
    pub fn draw(&self) -> String {
        let mut effects: Vec<&Effect> = self
            .effects
            .iter()
            .filter(|effect| effect.at_low.is_finite() && effect.at_high.is_finite())
            .collect();
        let width = |effect: &Effect| (effect.at_high - effect.at_low).abs();
        effects.sort_by(|a, b| width(b).total_cmp(&width(a)));
        let names = ["input at its low end", "input at its high end"];
        let legend: Vec<(String, String)> = names
            .iter()
            .enumerate()
            .map(|(index, name)| (format!("line s{index}"), (*name).to_owned()))
            .collect();

        let from = names_width(effects.iter().map(|effect| effect.name.as_str()));
        let ends = effects.iter().flat_map(|effect| [effect.at_low, effect.at_high]);
        let nominal = Some(self.nominal).filter(|nominal| nominal.is_finite());
        let longest = ends.clone().map(|end| length(&(self.show)(end)) + 16.0);
        let numbers = longest.fold(NUMBERS[0], f64::max).min(NUMBERS[1]);
        let x = Axis::over(ends.chain(nominal), Scale::Linear).on(from + numbers, RIGHT - numbers);
        let top = legend_height(from, WIDTH, &legend) + 20.0;
        let bottom = top + ROW * effects.len() as f64;
        let mut drawing = Drawing::new(WIDTH, bottom + 24.0, self.description);
        drawing.legend(from, &legend);
        let y = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(bottom, top);
        drawing.grid_x(&x, &y, self.show);
        let middle = x.at(self.nominal);
        for (index, effect) in effects.iter().enumerate() {
            let row = top + ROW * index as f64;
            let base = row + ROW / 2.0 + 4.0;
            name_row(&mut drawing, "label", from, base, &effect.name);
            let words = [effect.at_low, effect.at_high].map(self.show);
            let tip = format!("{}: {} … {}", effect.name, words[0], words[1]);
            let places = [effect.at_low, effect.at_high].map(|end| x.at(end));
            for (side, place) in places.iter().enumerate() {
                let size = [(place - middle).abs().max(1.0), ROW - 10.0];
                let class = format!("fill s{side}");
                drawing.bar(&class, [place.min(middle), row + 5.0], size, &tip);
            }
            // Numbers stand outside of the bar, the lesser one on the left.
            let left = usize::from(places[1] < places[0]);
            let (least, most) = (places[left].min(middle), places[1 - left].max(middle));
            drawing.text("tick", [least - 8.0, base], Anchor::End, &words[left]);
            drawing.text("tick", [most + 8.0, base], Anchor::Start, &words[1 - left]);
        }
        if nominal.is_some() {
            let words = (self.show)(self.nominal);
            drawing.line("median", [middle, top - 4.0], [middle, bottom]);
            let place = [middle_within(middle, from, &words), top - 9.0];
            drawing.text("label strong", place, Anchor::Middle, &words);
        }
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::duration;

    #[test]
    fn the_widest_effect_is_on_top() {
        let effect = |name: &str, at_low, at_high| Effect { name: name.into(), at_low, at_high };
        let svg = Tornado {
            description: "what matters",
            nominal: 100.0,
            effects: vec![
                effect("little", 99.0, 101.0),
                effect("much", 140.0, 60.0),
                effect("unknown", f64::NAN, 1.0),
            ],
            show: &duration,
        }
        .draw();
        let place = |text: &str| svg.find(text).unwrap();
        assert!(place(">much<") < place(">little<") && !svg.contains("unknown"));
        // It falls with its input: the result at the input's low end is the greater.
        assert!(svg.contains("much: 140 ns … 60 ns"), "{svg}");
    }
}
