//! Bars side by side: the same quantities by several columns of figures.

use super::{GAP_BEFORE_WORDS, Ranged, Show, name_row, names_width, words_width};
use crate::plot::{Anchor, Axis, Drawing, RIGHT, Scale, WIDTH, legend_height, series};

/// Groups of bars, one bar in each for every column: allotted, expected, measured.
#[derive(Clone)]
pub struct SideBySide<'a> {
    /// Its text for screen readers.
    pub description: &'a str,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The groups, from top to bottom.
    pub groups: Vec<Group>,
    /// How values become lengths. Bars on a logarithmic scale begin at its left end, so only their ends mean something.
    pub scale: Scale,
    /// How values are written.
    pub show: Show<'a>,
}

/// One group of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// A value for each column, where there is one.
    pub values: Vec<Option<Ranged>>,
}

const BAR: f64 = 15.0;
const GAP: f64 = 12.0;

impl SideBySide<'_> {
    /// The chart as one SVG element; what is not finite, or has no place on a logarithmic scale, is left out.
    pub fn draw(&self) -> String {
        let drawable = |value: &Ranged| {
            value.is_finite() && (self.scale == Scale::Linear || value.value > 0.0)
        };
        let names: Vec<(String, String)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, name)| (format!("line {}", series(index)), name.clone()))
            .collect();
        let from = names_width(self.groups.iter().map(|group| group.name.as_str()));
        let all = self.groups.iter().flat_map(|group| group.values.iter().flatten());
        let all = all.copied().filter(drawable);
        let right = RIGHT - words_width(all.clone().map(|value| value.words(self.show)));
        let all = all.flat_map(Ranged::all);
        let zero = (self.scale == Scale::Linear).then_some(0.0);
        let x = Axis::over(all.chain(zero), self.scale).on(from, right);
        let height = |group: &Group| BAR * group.values.len() as f64 + GAP;
        let top = legend_height(from, WIDTH, &names) + 2.0;
        let bottom = top + self.groups.iter().map(height).sum::<f64>();
        let mut drawing = Drawing::new(WIDTH, bottom + 24.0, self.description);
        drawing.legend(from, &names);
        let y = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(bottom, top);
        drawing.grid_x(&x, &y, self.show);
        let begin = x.at(0.0);
        let mut row = top;
        for group in &self.groups {
            name_row(&mut drawing, "label", from, row + height(group) / 2.0 + 4.0, &group.name);
            for (column, value) in group.values.iter().enumerate() {
                let Some(value) = value.filter(drawable) else { continue };
                let y = row + GAP / 2.0 + BAR * column as f64;
                let end = x.at(value.value);
                let what = self.columns.get(column).map_or("", String::as_str);
                let tip = format!("{}, {what}: {}", group.name, value.words(self.show));
                let size = [(end - begin).abs().max(1.0), BAR - 3.0];
                let class = format!("fill {}", series(column));
                drawing.bar(&class, [begin.min(end), y], size, &tip);
                if let Some(ends) = value.ends {
                    let [low, high] = ends.map(|end| [x.at(end), y + (BAR - 3.0) / 2.0]);
                    drawing.span("span", low, high);
                }
                let place = [right + GAP_BEFORE_WORDS, y + BAR - 4.0];
                drawing.text("tick", place, Anchor::Start, &value.words(self.show));
            }
            row += height(group);
        }
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::duration;

    #[test]
    fn a_missing_value_leaves_its_place_empty() {
        let group = |name: &str, values: &[Option<f64>]| Group {
            name: name.into(),
            values: values.iter().map(|value| value.map(Ranged::from)).collect(),
        };
        let chart = |scale| SideBySide {
            description: "expected and measured",
            columns: vec!["expected".into(), "measured".into()],
            groups: vec![
                group("switch", &[Some(2000.0), Some(2500.0)]),
                group("copy", &[Some(100.0), None]),
                group("odd", &[Some(f64::INFINITY), Some(0.0)]),
            ],
            scale,
            show: &duration,
        };
        assert_eq!(chart(Scale::Linear).draw().matches("<rect").count(), 4);
        let svg = chart(Scale::Logarithmic).draw();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("switch, measured: 2.50 µs"), "{svg}");
    }
}
