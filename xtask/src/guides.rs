//! `cargo xtask guides`: copies the tables of keys from the code to the guides.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The kinds of files, and the guide with the keys of each.
const GUIDES: [(&str, &str); 3] = [
    ("scenario", "docs/guide/scenario.md"),
    ("model", "docs/reference/model.md"),
    ("experiment", "docs/guide/measure.md"),
];

pub(crate) fn run(root: &Path) -> bool {
    GUIDES.iter().all(|(kind, path)| match update(root, kind, &root.join(path)) {
        Ok(()) => true,
        Err(problem) => {
            eprintln!("error: {path}: {problem}");
            false
        }
    })
}

fn update(root: &Path, kind: &str, path: &Path) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "hemiola", "--", "schema", kind, "--markdown"]);
    let output = command.current_dir(root).output().map_err(|error| error.to_string())?;
    let tables = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    fs::write(path, spliced(text, &tables)?).map_err(|error| error.to_string())
}

/// The text with each of these tables in place of the one with the same first line.
fn spliced(mut text: String, tables: &str) -> Result<String, String> {
    const END: &str = "<!-- end -->\n";
    for table in tables.split_inclusive(END) {
        let first = table.lines().next().unwrap_or_default();
        let start = text
            .find(first)
            .ok_or_else(|| format!("add the lines \"{first}\" and \"{}\"", END.trim()))?;
        let length = text[start..].find(END).ok_or_else(|| format!("\"{first}\" has no end"))?;
        text.replace_range(start..start + length + END.len(), table);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::spliced;

    #[test]
    fn table_replaces_the_one_with_its_name() {
        let table = "<!-- keys of a -->\nnew\n<!-- end -->\n";
        let text = "1\n<!-- keys of a -->\nold\n<!-- end -->\n2\n".to_owned();
        assert_eq!(spliced(text, table).unwrap(), format!("1\n{table}2\n"));
        assert!(spliced("1\n".to_owned(), table).unwrap_err().contains("keys of a"));
    }
}
