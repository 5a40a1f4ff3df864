//! Figures by their names in the catalogue.

use hemiola_probe::memory::{self, Pages};
use hemiola_probe::{Peers, ProbeError, Setting, Unit, catalogue, measure};
use hemiola_units::Bytes;

use super::setting;

/// Covers even and odd positions in the pattern of `Stage::compare`.
const COUNT: u32 = 3;

/// These take seconds each and show nothing that the smaller ones do not.
fn is_large(name: &str) -> bool {
    let size = name.strip_prefix("memory.latency.").and_then(|size| size.parse::<Bytes>().ok());
    size.is_some_and(|size| size > Bytes(64 << 20))
}

#[test]
fn every_figure_of_the_catalogue_is_measured() {
    let setting = setting();
    for figure in catalogue().into_iter().filter(|figure| !is_large(&figure.name)) {
        let readings = match measure(&figure.name, &setting, COUNT) {
            Ok(readings) => readings,
            Err(ProbeError::Lacking { name, what }) => {
                assert_eq!(name, figure.name);
                println!("skipped: needs {what}");
                continue;
            }
            Err(error) => panic!("{}: {error}", figure.name),
        };
        assert_eq!(readings.name, figure.name);
        assert_eq!(readings.unit, figure.unit, "{}", figure.name);
        assert_eq!(readings.values.len(), COUNT as usize, "{}", figure.name);
        assert!(readings.values.iter().all(|value| value.is_finite()), "{readings:?}");
        // The time that an interruption costs is a difference, which noise can make negative.
        let is_difference = figure.name.starts_with("interruption.loss.");
        let is_positive = readings.values.iter().any(|value| *value > 0.0);
        assert!(is_positive || is_difference, "{readings:?}");
        assert!(readings.batch > 0 && readings.overhead.uncertainty >= 0.0, "{readings:?}");
        let named = |what: &str| readings.circumstances.iter().any(|(name, _)| name == what);
        assert!(named("load") && named("scheduling"), "{readings:?}");
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_one() {
    for (wrong, expected) in [
        (
            "context_switch.pipe.same_core.wram",
            "no figure is called `context_switch.pipe.same_core.wram`; did you mean \
             `context_switch.pipe.same_core.warm`?",
        ),
        ("beauty", "no figure is called `beauty`"),
        ("", "no figure is called ``"),
    ] {
        assert_eq!(measure(wrong, &setting(), 1).unwrap_err().to_string(), expected);
    }
}

#[test]
fn figures_across_processors_need_a_second_one() {
    let alone = Setting { other_cpu: None, ..setting() };
    for name in ["context_switch.pipe.across.warm", "context_switch.shared_memory.across.warm"] {
        let refused = measure(name, &alone, 1).unwrap_err();
        assert!(matches!(refused, ProbeError::Lacking { .. }), "{refused}");
        assert_eq!(
            refused.to_string(),
            format!("`{name}` needs a second processor, but this measurement was given only one")
        );
    }
}

#[test]
fn a_program_that_is_not_a_peer_is_an_error() {
    for (program, expected) in [
        ("/bin/true", "a process of the measurement did not become ready"),
        (
            "/nowhere",
            "cannot start a process of the measurement: No such file or directory (os error 2)",
        ),
    ] {
        let peers = Peers { program: program.into(), ..setting().peers };
        let error =
            measure("context_switch.pipe.same_core.warm", &Setting { peers, ..setting() }, 1);
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    let orders = hemiola_probe::peer_main("{}").unwrap_err().to_string();
    assert!(
        orders.starts_with("a process of the measurement received unknown orders: "),
        "{orders}"
    );
}

#[test]
fn more_memory_than_is_free_is_rejected() {
    let refused = memory::latency(Bytes(1 << 50), Pages::Unasked, &setting(), 1).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.starts_with("`memory.latency.1048576GiB` needs 4194304GiB of free memory"),
        "{text}"
    );
}

#[test]
fn the_page_size_is_part_of_the_circumstances() {
    for pages in [Pages::Ordinary, Pages::Huge] {
        match memory::latency(Bytes(4 << 20), pages, &setting(), 1) {
            Ok(readings) => {
                let (_, found) = &readings.circumstances[1];
                // Huge pages are granted if the kernel has some.
                assert!(
                    found == "4KiB" || pages == Pages::Huge && found.contains("huge"),
                    "{found}"
                );
                assert_eq!(readings.unit, Unit::Nanoseconds);
            }
            Err(error) => println!("skipped: needs transparent huge pages: {error}"),
        }
    }
}
