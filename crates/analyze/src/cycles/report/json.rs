//! Writes and reads `summary.json`.

use thiserror::Error;

use crate::cycles::summary::{FORMAT, Summary};

/// Why a text cannot be read as a summary.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or a key is missing or of another type: the file is damaged or is not a summary.
    #[error("not a summary: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by a later version: use that version to read it.
    #[error("format {found} is newer than {FORMAT}, the newest this version reads")]
    Newer {
        /// The format it names.
        found: u32,
    },
}

/// The text of `summary.json`, indented, with a newline at the end.
#[must_use]
pub fn write(summary: &Summary) -> String {
    hemiola_report::json::pretty(summary)
}

/// Reads the text of a `summary.json` of this or an earlier layout.
///
/// # Errors
/// [`ReadError::Malformed`] and [`ReadError::Newer`].
pub fn read(text: &str) -> Result<Summary, ReadError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let Head { format: found } = serde_json::from_str(text)?;
    if found > FORMAT {
        return Err(ReadError::Newer { found });
    }
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::compare::compare;
    use crate::cycles::synthetic::ladder_analysis;

    #[test]
    fn a_summary_survives_json() {
        let summary = ladder_analysis().summary;
        assert_eq!(read(&write(&summary)).unwrap(), summary);
    }

    #[test]
    fn a_summary_of_layout_1_is_read() {
        // Written by the last version that used layout 1, shortened to one program.
        let old = read(include_str!("../../../data/summary-1.json")).unwrap();
        assert_eq!((old.format, old.title.as_str()), (1, "Synthetic ladder"));
        let [program] = old.variants.as_slice() else { panic!("{}", old.variants.len()) };
        assert_eq!((program.name.as_str(), program.runs.len()), ("Monolithic", 1));
        // A comparison with a summary of this version finds the program in both.
        let new = ladder_analysis().summary;
        assert_eq!(compare(["old", "new"], &old, &new).variants.len(), 1);
    }

    #[test]
    fn a_later_format_is_refused_by_its_number() {
        assert_eq!(
            read(r#"{"format": 9, "shape": "unknown"}"#).unwrap_err().to_string(),
            "format 9 is newer than 2, the newest this version reads"
        );
        assert!(matches!(read("{}"), Err(ReadError::Malformed(_))));
    }
}
