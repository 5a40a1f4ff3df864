//! Models as users write them, from the text to the results.

mod calls;
mod capacity;
mod handed_on;
mod inputs;
mod limits;
mod margins;
mod means;
mod mixtures;
mod offsets;
mod quantities;
mod risks;
mod tails;
mod whole;

use hemiola_diagnostic::render;
use hemiola_model::file::{self, Measurements};
use hemiola_model::summary::{Summary, analyze};

/// The results of a model with these measurements.
#[track_caller]
fn with(source: &str, measurements: Option<&Measurements>) -> Summary {
    match file::read(source, measurements) {
        Ok(model) => analyze(&model, measurements.map(|found| found.of.as_str())),
        Err(problems) => panic!("{}", render(&problems, source, "model.toml")),
    }
}

/// The results of a model.
#[track_caller]
fn model(source: &str) -> Summary {
    with(source, None)
}

/// The rendered problems of a model that is refused.
#[track_caller]
fn refused(source: &str) -> String {
    let problems = file::read(source, None).expect_err("the model is refused");
    render(&problems, source, "model.toml")
}
