//! The crate's behaviour as a whole: recordings of other programs, and files that are damaged.

mod damaged;
mod golden;

/// The bytes of a file in `data/traces`.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate opens no file; its tests read what lies beside it"
)]
fn recording(name: &str) -> Vec<u8> {
    let path = format!("{}/../../data/traces/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
