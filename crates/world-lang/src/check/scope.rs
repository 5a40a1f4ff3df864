//! Which name means what where.

use std::collections::BTreeMap;

use hemiola_diagnostic::did_you_mean;

use crate::problem::{Problem, Problems};
use crate::source::Span;
use crate::syntax::{Name, Path};

/// The index of a scope: 0 is the universe; element `n` of the drafts has the scope `n + 1`.
pub(super) type ScopeId = usize;

/// Names that are compared for a suggestion.
pub(super) const SUGGESTIONS_MAX: usize = 2000;

/// What a name stands for, by the index of its draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Element(usize),
    Property,
    Constant(usize),
    Function(usize),
}

impl Meaning {
    const fn noun(self) -> &'static str {
        match self {
            Self::Element(_) => "an element",
            Self::Property => "a property",
            Self::Constant(_) => "a constant",
            Self::Function(_) => "a function",
        }
    }
}

/// The names of a universe or an element.
#[derive(Default)]
pub(super) struct Scope {
    names: BTreeMap<String, (Meaning, Span)>,
    /// The scope of the element around it, or of the universe.
    outer: Option<ScopeId>,
    /// The scope of its base.
    base: Option<ScopeId>,
    /// Whether its base is unknown, so that it lacks names.
    incomplete: bool,
}

/// All scopes of a universe.
pub(super) struct Scopes(Vec<Scope>);

/// A name that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) meaning: Meaning,
    /// Whether it belongs to the scope itself or one of its bases, not to one around it.
    pub(super) own: bool,
    pub(super) span: Span,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self(vec![Scope::default()])
    }

    pub(super) fn inside(&mut self, outer: ScopeId) -> ScopeId {
        self.0.push(Scope { outer: Some(outer), ..Scope::default() });
        self.0.len() - 1
    }

    pub(super) fn set_base(&mut self, of: ScopeId, base: ScopeId) {
        self.0[of].base = Some(base);
    }

    pub(super) fn set_incomplete(&mut self, of: ScopeId) {
        self.0[of].incomplete = true;
    }

    /// Whether names may be missing in a scope, because the base of an element is unknown.
    pub(super) fn is_incomplete(&self, scope: ScopeId) -> bool {
        let mut around = Some(scope);
        while let Some(id) = around {
            let mut at = Some(id);
            while let Some(base) = at {
                if self.0[base].incomplete {
                    return true;
                }
                at = self.0[base].base;
            }
            around = self.0[id].outer;
        }
        false
    }

    /// Gives a name a meaning, or tells that it has one already.
    pub(super) fn define(
        &mut self,
        scope: ScopeId,
        name: &Name,
        meaning: Meaning,
        problems: &mut Problems,
    ) {
        let names = &mut self.0[scope].names;
        if let Some((_, first)) = names.get(&name.text) {
            let problem = Problem::new(name.span, format!("`{}` is defined twice", name.text))
                .label("here again")
                .also(*first, "first here")
                .hint("rename one of them");
            return problems.push(problem);
        }
        names.insert(name.text.clone(), (meaning, name.span));
    }

    /// The meaning that a name has in a base of the scope.
    pub(super) fn inherited(&self, scope: ScopeId, name: &str) -> Option<(Meaning, Span)> {
        let mut at = self.0[scope].base;
        while let Some(base) = at {
            if let Some(found) = self.0[base].names.get(name) {
                return Some(*found);
            }
            at = self.0[base].base;
        }
        None
    }

    /// The meaning of a name: of the scope itself, its bases, then of the scope around it, and so on.
    pub(super) fn find(&self, scope: ScopeId, name: &str) -> Option<Found> {
        self.find_among(scope, name, |_| true)
    }

    /// Like [`find`](Self::find), among some meanings only.
    fn find_among(
        &self,
        scope: ScopeId,
        name: &str,
        wanted: impl Fn(Meaning) -> bool,
    ) -> Option<Found> {
        let (mut at, mut own) = (Some(scope), true);
        while let Some(id) = at {
            let here = self.0[id].names.get(name).copied().or_else(|| self.inherited(id, name));
            if let Some((meaning, span)) = here.filter(|(meaning, _)| wanted(*meaning)) {
                return Some(Found { meaning, own, span });
            }
            (at, own) = (self.0[id].outer, false);
        }
        None
    }

    /// The draft of the element that a path names.
    pub(super) fn element(
        &self,
        scope: ScopeId,
        path: &Path,
        problems: &mut Problems,
    ) -> Option<usize> {
        let first = &path.names[0].text;
        // A property may have the name of its element, as in `property temper : temper`.
        let mut found = self
            .find_among(scope, first, |meaning| matches!(meaning, Meaning::Element(_)))
            .or_else(|| self.find(scope, first));
        for (at, name) in path.names.iter().enumerate() {
            if at > 0 {
                let Some(Found { meaning: Meaning::Element(outer), .. }) = found else { break };
                let (own, inherited) = (
                    self.0[outer + 1].names.get(&name.text).copied(),
                    self.inherited(outer + 1, &name.text),
                );
                found = own.or(inherited).map(|(meaning, span)| Found { meaning, own: true, span });
            }
            match found {
                Some(Found { meaning: Meaning::Element(_), .. }) => {}
                Some(Found { meaning, span, .. }) => {
                    let message = format!("`{}` is {}, not an element", name.text, meaning.noun());
                    problems.push(Problem::new(name.span, message).also(span, "defined here"));
                    return None;
                }
                None => {
                    let names =
                        self.visible(scope, |meaning| matches!(meaning, Meaning::Element(_)));
                    let hint = did_you_mean(&name.text, names).unwrap_or_else(|| {
                        "types are real, real32, integer, boolean, string and elements".into()
                    });
                    let message = format!("no element is named `{}`", name.text);
                    problems.push(Problem::new(name.span, message).hint(hint));
                    return None;
                }
            }
        }
        match found {
            Some(Found { meaning: Meaning::Element(draft), .. }) => Some(draft),
            _ => None,
        }
    }

    /// The names that can be used in a scope. At most some thousands, for suggestions.
    pub(super) fn visible(&self, scope: ScopeId, wanted: impl Fn(Meaning) -> bool) -> Vec<&str> {
        let mut names = Vec::new();
        let mut around = Some(scope);
        while let Some(id) = around {
            let mut at = Some(id);
            while let Some(base) = at {
                let here = self.0[base].names.iter().filter(|(_, (meaning, _))| wanted(*meaning));
                names.extend(
                    here.map(|(name, _)| name.as_str())
                        .take(SUGGESTIONS_MAX - names.len().min(SUGGESTIONS_MAX)),
                );
                at = self.0[base].base;
            }
            around = self.0[id].outer;
        }
        names
    }
}
