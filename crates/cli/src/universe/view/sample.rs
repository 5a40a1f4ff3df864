//! A sample of the rows of an element, put together from its slices.

use hemiola_runner::control::universe::{SampleRequest, SampleRows};
use hemiola_units::Span;
use hemiola_world::Slices;
use serde_json::{Value, json};

/// Of which columns.
pub(super) struct SampleOf {
    pub(super) definition: u64,
    pub(super) element: u32,
    pub(super) columns: Vec<u32>,
}

/// Some rows of an element.
#[derive(Debug)]
pub(super) struct Sample {
    /// The definition.
    definition: u64,
    /// The steps after which the first and the last slice were copied.
    steps: [u64; 2],
    /// Rows of the element, when the sample began.
    rows: u64,
    /// One row was chosen of each so many rows.
    stride: u32,
    /// The longest time that a step waited for a slice.
    waited: Span,
    /// The chosen rows of each column.
    pub(super) columns: Vec<Vec<f64>>,
}

impl SampleOf {
    /// Takes a sample of so many rows at most; `ask` asks for a slice.
    pub(super) fn take<E>(
        self,
        rows_max: u64,
        mut ask: impl FnMut(SampleRequest) -> Result<SampleRows, E>,
    ) -> Result<Sample, E> {
        let Self { definition, element, columns } = self;
        let slice = |first, count, stride| SampleRequest {
            definition,
            element,
            columns: columns.clone(),
            first,
            count,
            stride,
        };
        let SampleRows { step, rows, waited, .. } = ask(slice(0, 0, 1))?;
        let slices = Slices::of(rows, rows_max, columns.len());
        let mut sample = Sample {
            definition,
            steps: [step; 2],
            rows,
            stride: slices.stride,
            waited,
            columns: vec![Vec::with_capacity(slices.chosen as usize); columns.len()],
        };
        for (at, (first, count)) in slices.iter().enumerate() {
            sample.add(at == 0, &ask(slice(first, count, slices.stride))?);
        }
        Ok(sample)
    }
}

impl Sample {
    fn add(&mut self, is_first: bool, slice: &SampleRows) {
        if is_first {
            self.steps[0] = slice.step;
        }
        self.steps[1] = slice.step;
        self.waited = self.waited.max(slice.waited);
        let chosen = slice.chosen as usize;
        if chosen > 0 {
            for (column, values) in self.columns.iter_mut().zip(slice.values.chunks_exact(chosen)) {
                column.extend(values);
            }
        }
    }

    /// What the page says of it.
    pub(super) fn head(&self) -> Value {
        json!({
            "definition": self.definition,
            "steps": self.steps,
            "rows": self.rows,
            "chosen": self.columns.first().map_or(0, Vec::len),
            "stride": self.stride,
            "waited_ns": self.waited.nanos(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn slices_become_columns_and_the_head_says_of_which_steps() {
        let of = SampleOf { definition: 2, element: 1, columns: vec![4, 7] };
        let mut step = 10;
        let sample = of.take(1_000_000, |request| {
            assert_eq!((request.definition, request.element), (2, 1));
            assert_eq!(request.columns, [4, 7]);
            step += 1;
            let from = request.first;
            let rows = from..(from + u64::from(request.count)).min(10_000);
            let column = |sign: f64| rows.clone().map(move |row| sign * row as f64);
            let values: Vec<f64> = column(1.0).chain(column(-1.0)).collect();
            let chosen = rows.count() as u32;
            let waited = Span::from_nanos(i64::from(chosen));
            Ok::<_, Infallible>(SampleRows { step, waited, rows: 10_000, chosen, values })
        });
        let sample = sample.unwrap();
        let expected: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert_eq!(sample.columns[0], expected);
        assert_eq!(sample.columns[1], expected.iter().map(|x| -x).collect::<Vec<_>>());
        let head = json!({
            "definition": 2, "steps": [12, 14], "rows": 10_000, "chosen": 10_000, "stride": 1,
            "waited_ns": 4096,
        });
        assert_eq!(sample.head(), head);
    }

    #[test]
    fn a_failure_ends_a_sample() {
        let of = SampleOf { definition: 0, element: 0, columns: vec![0] };
        let mut asked = 0;
        let sample = of.take(10, |_| {
            asked += 1;
            Err::<SampleRows, _>("redefined")
        });
        assert_eq!((sample.unwrap_err(), asked), ("redefined", 1));
    }
}
