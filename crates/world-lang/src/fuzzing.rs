//! The bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

mod program;

use crate::definition::{Definition, FunctionKind, Universe, Value};
use crate::evaluate::{self, Body};
use crate::lex::lex;
use crate::problem::Problems;
use crate::{Sources, TokenKind, check, format, render, show, wire};
pub use program::{Below, program, value};

/// Checks arbitrary bytes as a definition, formats it, and runs what it defines.
///
/// # Panics
/// If the canonical form differs in more than layout or is not stable, or a checked definition cannot be run.
pub fn definition(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(sources) = Sources::of("fuzz.uml", &*text) else { return };
    let checked = check(&sources, None);
    if let Err(problems) = &checked {
        assert!(!problems.is_empty() && !render(problems, &sources).is_empty());
        assert!(problems.iter().all(|problem| !problem.message.is_empty()));
    }
    assert_eq!(wire::expand(&wire::compress(&text)).as_deref(), Ok(&*text));
    let Ok(canonical) = format(&sources) else { return };
    let formatted =
        Sources::of("fuzz.uml", &*canonical).expect("the canonical form is not much longer");
    assert_eq!(words(&formatted), words(&sources));
    assert_eq!(format(&formatted).as_deref(), Ok(&*canonical));
    let plain = wire::untokenise(&wire::tokens(&sources.files()[0])).expect("tokens can be read");
    let plain = Sources::of("fuzz.uml", plain).expect("it is about as long");
    for other in [formatted, plain] {
        let again = check(&other, None);
        assert_eq!(again.as_ref().ok().map(show), checked.as_ref().ok().map(show));
    }
    if let Ok(definition) = checked {
        run(&definition);
    }
}

/// Unpacks arbitrary bytes from the network.
pub fn from_wire(bytes: &[u8]) {
    if let Ok(text) = wire::expand(bytes) {
        assert_eq!(wire::expand(&wire::compress(&text)), Ok(text));
    }
    // Any error is fine, a panic is not.
    let _: Result<String, wire::WireError> = wire::untokenise(bytes);
}

/// The tokens of a text, keywords in lower case.
fn words(sources: &Sources) -> Vec<(TokenKind, String)> {
    let source = &sources.files()[0];
    let tokens = lex(source, &mut Problems::default());
    tokens
        .into_iter()
        .map(|token| {
            let text = match token.kind {
                TokenKind::Keyword(keyword) => keyword.text(),
                _ => source.slice(token.span),
            };
            (token.kind, text.to_owned())
        })
        .collect()
}

/// Runs each update, prediction and constraint on rows of the defaults.
fn run(definition: &Definition) {
    for universe in &definition.universes {
        let elements = (0..).map(crate::definition::ElementId).zip(&universe.elements);
        let bodies: Vec<Body> = elements
            .map(|(element, data)| {
                let row = data.properties.iter().map(|property| property.default.clone()).collect();
                Body { id: element.0.into(), element, row: Value::Row(row) }
            })
            .take(8)
            .collect();
        for (own, body) in bodies.iter().enumerate() {
            run_body(universe, &bodies, own, body);
        }
    }
}

fn run_body(universe: &Universe, bodies: &[Body], own: usize, body: &Body) {
    /// More would only take time.
    const COST_MAX: u64 = 20_000;
    let functions = (0..).map(crate::definition::FunctionId).zip(&universe.functions);
    for (id, function) in functions {
        let fits = function.element.is_none_or(|element| universe.is_a(body.element, element));
        let parameters = &function.locals[..function.parameter_count as usize];
        let rows = parameters.iter().any(|parameter| parameter.ty.holds_row());
        if !fits || rows || function.cost > COST_MAX {
            continue;
        }
        let arguments =
            parameters.iter().map(|parameter| evaluate::zero(universe, &parameter.ty)).collect();
        // A fault is a result; a panic is not.
        match function.kind {
            FunctionKind::Function => {
                drop(evaluate::call(universe, id, Some(&body.row), arguments))
            }
            FunctionKind::Update => drop(evaluate::update(universe, id, bodies, own, arguments)),
            FunctionKind::Predict => drop(evaluate::predict(universe, id, &body.row, arguments)),
            FunctionKind::Constraint => {
                let _: Result<bool, _> =
                    evaluate::constraint(universe, id, &body.row, &body.row, arguments);
            }
        }
    }
}
