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
        for (line, text) in (1..).zip(text.lines()) {
            let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            let wrong = links.filter(|link| !leads_somewhere(tree, path, link));
            found.extend(wrong.map(|link| {
                Violation::new(path, line, format!("the link to {link} leads nowhere"))
            }));
        }
    }
    found
}

/// Is there what a link of a page names: the file or folder, and the heading in it?
fn leads_somewhere(tree: &Tree, page: &str, link: &str) -> bool {
    if link.is_empty() || link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = if file.is_empty() { page.to_owned() } else { normal(&format!("{folder}/{file}")) };
    let is_heading = |text: &str| headings(text).any(|heading| anchor_of(heading) == anchor);
    let has_anchor =
        anchor.is_empty() || !file.ends_with(".md") || tree.text(&file).is_some_and(is_heading);
    tree.has(&file) && has_anchor
}

/// The headings of a page, without the lines of its code blocks.
fn headings(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter_map(move |line| {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        (!is_code && heading.len() < line.len()).then(|| heading.trim())
    })
}

/// The anchor that GitHub makes for a heading.
fn anchor_of(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let hyphenated = |c| if c == ' ' { '-' } else { c };
    heading.to_lowercase().chars().filter(kept).map(hyphenated).collect()
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
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", "# Part"), ("d/x.rs", "")]);
        let found = links_lead_somewhere(&tree);
        assert_eq!(found, [Violation::new("docs/a.md", 2, "the link to gone.md leads nowhere")]);
    }

    #[test]
    fn link_to_no_heading_is_caught() {
        let page = "# A page\n## Where do I find …\n### `rti`, and more\n```sh\n# code\n```\n";
        let links = [
            ("#a-page", 0),
            ("b.md#where-do-i-find-", 0),
            ("b.md#rti-and-more", 0),
            ("b.md#code", 1),
            ("b.md#rti", 1),
            ("#where", 1),
            ("c.rs#L7", 0),
        ];
        for (link, count) in links {
            let own = format!("{page}[x]({link})");
            let tree = Tree::of(&[("a.md", &own), ("b.md", page), ("c.rs", "")]);
            assert_eq!(links_lead_somewhere(&tree).len(), count, "{link}");
        }
    }
}
