//! Rules about the documents: numbers, names and links that must stay true.

use super::Violation;
use super::modules::normal;
use super::tree::Tree;

const DECISIONS: &str = "docs/decisions/";

pub(super) fn decisions_are_numbered(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut expected = 1_u32;
    for (path, text) in tree.ending(".md").filter(|(path, _)| path.starts_with(DECISIONS)) {
        let name = &path[DECISIONS.len()..];
        let number = name.split_once('-').and_then(|(digits, _)| {
            (digits.len() == 4).then(|| digits.parse::<u32>().ok()).flatten()
        });
        match number {
            Some(number) if number == expected => expected += 1,
            _ => found.push(Violation::new(
                path,
                0,
                format!("named {expected:04}-title.md it would be in order"),
            )),
        }
        if !text.starts_with(&format!("# {}", name.get(..4).unwrap_or(name))) {
            found.push(Violation::new(path, 1, "the first line is `# `, the number and the title"));
        }
    }
    found
}

pub(super) fn architecture_names_every_crate(tree: &Tree) -> Vec<Violation> {
    const PAGE: &str = "ARCHITECTURE.md";
    let page = tree.text(PAGE).unwrap_or_default();
    let unnamed = tree.crates().filter(|name| !page.contains(&format!("`{name}`")));
    unnamed
        .map(|name| Violation::new(PAGE, 0, format!("does not name the crate `{name}`")))
        .collect()
}

pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.ending(".md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, text) in (1..).zip(text.lines()) {
            for link in
                text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next())
            {
                let elsewhere =
                    link.is_empty() || link.contains("://") || link.starts_with("mailto:");
                if !elsewhere && !tree.has(&normal(&format!("{folder}/{link}"))) {
                    found.push(Violation::new(
                        path,
                        line,
                        format!("the link to {link} leads nowhere"),
                    ));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_double_and_odd_name_among_decisions_are_caught() {
        let check = |names: &[&str]| {
            let paths: Vec<String> =
                names.iter().map(|name| format!("docs/decisions/{name}.md")).collect();
            let titles: Vec<String> =
                names.iter().map(|name| format!("# {}. Title", &name[..4])).collect();
            let files: Vec<(&str, &str)> =
                paths.iter().map(String::as_str).zip(titles.iter().map(String::as_str)).collect();
            decisions_are_numbered(&Tree::of(&files)).len()
        };
        assert_eq!(check(&["0001-a", "0002-b"]), 0);
        assert_eq!(check(&["0001-a", "0003-b"]), 1);
        assert_eq!(check(&["0001-a", "0001-b"]), 1);
        assert_eq!(check(&["0001-a", "notes"]), 1);
    }

    #[test]
    fn decision_whose_title_has_another_number_is_caught() {
        let tree = Tree::of(&[("docs/decisions/0001-a.md", "# 0002. A")]);
        assert_eq!(decisions_are_numbered(&tree).len(), 1);
    }

    #[test]
    fn crate_missing_from_the_architecture_is_caught() {
        let check = |page| {
            let tree = Tree::of(&[("crates/bus/Cargo.toml", ""), ("ARCHITECTURE.md", page)]);
            architecture_names_every_crate(&tree).len()
        };
        assert_eq!(check("| `bus` | channels |"), 0);
        assert_eq!(check("a busy page"), 1);
    }

    #[test]
    fn link_to_nothing_is_caught() {
        let text = "[a](b.md#part) [c](../d/) [e](https://x.y/z)\n[f](gone.md)";
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", ""), ("d/x.rs", "")]);
        let found = links_lead_somewhere(&tree);
        assert_eq!(found, [Violation::new("docs/a.md", 2, "the link to gone.md leads nowhere")]);
    }
}
