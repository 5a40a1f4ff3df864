//! The guide: its examples are sound and canonical, and it names every word of the language.

use hemiola_world_lang::definition::Builtin;
use hemiola_world_lang::{Keyword, Sources, check, format, render};

use crate::common::{shown, sound};

const GUIDE: &str = include_str!("../../../docs/guide/worlds.md");

/// The blocks of this kind.
fn blocks(kind: &str) -> Vec<&'static str> {
    let start = format!("```{kind}\n");
    GUIDE.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn examples_are_sound_and_canonical() {
    let examples = blocks("uml");
    assert_eq!(examples.len(), 4);
    for text in &examples {
        sound(text);
        let canonical = format(&Sources::of("guide", *text).unwrap()).unwrap();
        assert!(canonical == *text, "{canonical}");
    }
    let before = sound(examples[0]);
    let sources = Sources::of("guide", blocks("uml after")[0]).unwrap();
    check(&sources, Some(&before)).unwrap_or_else(|found| panic!("{}", render(&found, &sources)));
}

#[test]
fn the_problem_shown_is_the_real_one() {
    let text = "universe u {\n  element e {\n    property reach : real<m> = 2<m> + 3<s>;\n  }\n}\n";
    assert_eq!(shown(text), blocks("text")[0]);
}

#[test]
fn every_word_of_the_language_is_explained() {
    for keyword in Keyword::ALL {
        assert!(GUIDE.contains(keyword.text()), "{}", keyword.text());
    }
    for builtin in Builtin::ALL {
        let row = format!("| `{builtin}` | {} |", builtin.about());
        assert!(GUIDE.contains(&row), "{row}");
    }
}
