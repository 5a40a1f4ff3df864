//! One way to check a text, and to look at the result.

use hemiola_world_lang::definition::Universe;
use hemiola_world_lang::{Definition, Sources, check, render};

pub(crate) fn sources(text: &str) -> Sources {
    Sources::of("world.uml", text).unwrap()
}

/// The definition of a sound text.
pub(crate) fn sound(text: &str) -> Definition {
    let sources = sources(text);
    check(&sources, None).unwrap_or_else(|problems| panic!("{}", render(&problems, &sources)))
}

/// The only universe of a sound text, which the text leaves out: `items` are its components.
pub(crate) fn universe(items: &str) -> Universe {
    sound(&format!("universe u {{\n{items}\n}}")).universes.remove(0)
}

/// The problems of a text as a person sees them.
pub(crate) fn shown(text: &str) -> String {
    let sources = sources(text);
    match check(&sources, None) {
        Ok(_) => "sound".into(),
        Err(problems) => render(&problems, &sources),
    }
}

/// Small letters for keywords, or capitals: the spelling of the thesis.
pub(crate) fn in_capitals(text: &str) -> String {
    let mut capitals = String::new();
    let mut rest = text;
    while let Some(start) =
        rest.find(|c: char| c.is_alphabetic() || c == '_' || c == '"' || c == '<' || c == '/')
    {
        capitals += &rest[..start];
        rest = &rest[start..];
        let end = match rest.as_bytes()[0] {
            b'"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            b'<' => rest.find(['>', ' ']).map_or(1, |at| at + 1),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' => 1,
            _ => rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()),
        };
        let word = &rest[..end];
        let keyword = hemiola_world_lang::Keyword::of(word).is_some();
        capitals += &if keyword { word.to_uppercase() } else { word.to_owned() };
        rest = &rest[end..];
    }
    capitals + rest
}
