//! The whole crate: recordings of other programs, and damaged files.

mod damaged;
mod golden;

/// The bytes of a file in `data/traces`.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate opens no file, but its tests read data files"
)]
fn recording(name: &str) -> Vec<u8> {
    let path = format!("{}/../../data/traces/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
