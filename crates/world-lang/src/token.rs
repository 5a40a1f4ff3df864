//! The words of the language.

use crate::source::Span;

/// A word, number or sign of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Which one.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// The sort of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A reserved word.
    Keyword(Keyword),
    /// A name.
    Name,
    /// A number without its sign and unit.
    Number,
    /// `<m/s>` directly behind a number or a type.
    Angle,
    /// `"text"`.
    Text,
    /// A sign.
    Sign(Sign),
    /// `//` and the rest of the line.
    Comment,
    /// The end of the text.
    End,
}

/// Declares an enum whose variants have a spelling each.
macro_rules! spelled {
    ($(#[$doc:meta])* $type:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

spelled! {
    /// A reserved word, in lower case. A text may also write it in capitals.
    Keyword {
        And "and",
        At "at",
        Back "back",
        Boolean "boolean",
        By "by",
        Constant "constant",
        Constraint "constraint",
        Converter "converter",
        Each "each",
        Element "element",
        Else "else",
        Entity "entity",
        False "false",
        For "for",
        Function "function",
        If "if",
        In "in",
        Indexed "indexed",
        Integer "integer",
        LastSent "last_sent",
        Let "let",
        Most "most",
        Not "not",
        Or "or",
        Predict "predict",
        Property "property",
        Real "real",
        Real32 "real32",
        Return "return",
        SelfRow "self",
        String "string",
        True "true",
        Universe "universe",
        Update "update",
        Var "var",
        Was "was",
        Within "within",
    }
}

spelled! {
    /// A sign. Those of two characters come first.
    Sign {
        PlusSet "+=",
        MinusSet "-=",
        TimesSet "*=",
        OverSet "/=",
        Equal "==",
        Unequal "!=",
        AtMost "<=",
        AtLeast ">=",
        UpTo "..",
        Open "{",
        Close "}",
        OpenRound "(",
        CloseRound ")",
        OpenSquare "[",
        CloseSquare "]",
        Semicolon ";",
        Colon ":",
        Comma ",",
        Dot ".",
        Set "=",
        Plus "+",
        Minus "-",
        Times "*",
        Over "/",
        Less "<",
        More ">",
    }
}

impl Keyword {
    /// The keyword that a word spells, in lower case or in capitals throughout.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        let found = Self::ALL.binary_search_by(|keyword| keyword.text().cmp(&*lower)).ok()?;
        (word == lower || word == word.to_ascii_uppercase()).then_some(Self::ALL[found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_read_in_lower_case_and_in_capitals_only() {
        for &keyword in Keyword::ALL {
            assert_eq!(Keyword::of(keyword.text()), Some(keyword));
            assert_eq!(Keyword::of(&keyword.text().to_uppercase()), Some(keyword));
        }
        for name in ["Element", "elemenT", "elements", "", "Real32", "ELEMENT_"] {
            assert_eq!(Keyword::of(name), None, "{name}");
        }
    }
}
