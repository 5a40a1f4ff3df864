//! A table as data: title, columns, rows and a note.

use std::iter;

use serde::Serialize;

/// A table ready to be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// An explanation of its columns. May be empty.
    pub note: String,
    /// The heading of each column and how its cells are aligned.
    pub columns: Vec<(String, Alignment)>,
    /// One cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with names on the left and figures in the other columns, without a note.
    pub fn new(
        title: impl Into<String>,
        heads: impl IntoIterator<Item = impl Into<String>>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        let sides = iter::once(Alignment::Left).chain(iter::repeat(Alignment::Right));
        let columns = heads.into_iter().map(Into::into).zip(sides).collect();
        Self { title: title.into(), note: String::new(), columns, rows }
    }

    /// Sets the note below the table.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Aligns the columns with these indices, counted from 0, as prose. Indices the table does not have are ignored.
    #[must_use]
    pub fn with_prose(mut self, indices: &[usize]) -> Self {
        for index in indices {
            if let Some((_, alignment)) = self.columns.get_mut(*index) {
                *alignment = Alignment::Left;
            }
        }
        self
    }
}

/// How the cells of a column are aligned, by what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Names and prose.
    Left,
    /// Figures.
    Right,
    /// Ticks.
    Centre,
}

/// How much of a report to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The tables a run prints when it ends.
    Short,
    /// Also the tables of each program and run.
    Full,
}
