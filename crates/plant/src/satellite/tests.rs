//! The motion against its closed form, the law against disturbances, and messages from arbitrary bytes.

use proptest::prelude::*;

use super::*;

fn orbit() -> Orbit {
    Orbit::at_altitude(700e3).unwrap()
}

#[test]
fn an_observation_satellite_orbits_in_99_minutes() {
    assert!((orbit().period() / 60.0 - 98.77).abs() < 0.01, "{}", orbit().period());
    for wrong in [0.0, -1.0, 1e9, f64::NAN, f64::INFINITY] {
        assert!(Orbit::at_altitude(wrong).is_err(), "{wrong}");
    }
    let error = Orbit::at_altitude(10.0).unwrap_err().to_string();
    assert!(error.starts_with("the altitude of 10 m must be from 150 km"), "{error}");
}

#[test]
fn an_ellipse_repeats_with_the_orbit_and_is_twice_as_long_as_high() {
    let orbit = orbit();
    let start = orbit.ellipse(100.0, 50.0, 0.0);
    let at = |share: f64| orbit.after(start, [0.0; 3], share * orbit.period());
    assert!(at(1.0).distance(&start) < 1e-9);
    let [x, y, z] = at(0.25).position;
    assert!(
        x.abs() < 1e-9 && (y + 200.0).abs() < 1e-9 && (z - 50.0).abs() < 1e-9,
        "{:?}",
        at(0.25)
    );
    assert!((at(0.125).distance(&orbit.ellipse(100.0, 50.0, std::f64::consts::FRAC_PI_4))) < 1e-9);
}

#[test]
fn a_satellite_that_is_higher_falls_behind() {
    // At rest d above the reference it drifts back by 12πd per orbit, the secular term of the closed form.
    let orbit = orbit();
    let start = Motion { position: [10.0, 0.0, 0.0], velocity: [0.0; 3] };
    let [x, y, _] = orbit.after(start, [0.0; 3], orbit.period()).position;
    assert!((x - 10.0).abs() < 1e-9 && (y + 120.0 * std::f64::consts::PI).abs() < 1e-6, "{x} {y}");
}

#[test]
fn a_displaced_satellite_returns_to_its_place() {
    let orbit = orbit();
    let start = orbit.ellipse(100.0, 50.0, 0.7);
    let guidance = Guidance::new(orbit, start);
    let mut motion = start;
    motion.position[1] += 5.0;
    let step = 0.1;
    for cycle in 0..6000 {
        motion = orbit.step(motion, guidance.thrust(&motion, f64::from(cycle) * step), step);
    }
    let off = motion.distance(&guidance.place(600.0));
    assert!(off < 0.05, "{off} m after ten minutes");
}

#[test]
fn a_satellite_at_its_place_uses_no_propellant() {
    let orbit = orbit();
    let guidance = Guidance::new(orbit, orbit.ellipse(100.0, 50.0, 0.7));
    for seconds in [0.0, 10.0, 6000.0] {
        assert_eq!(guidance.thrust(&guidance.place(seconds), seconds), [0.0; 3]);
    }
    let mut far = guidance.place(0.0);
    far.position[0] += 1e6;
    assert_eq!(guidance.thrust(&far, 0.0)[0], -0.01);
}

#[test]
fn invalid_messages_are_refused_with_the_reason() {
    let short = Report::from_bytes(&[0; 55]).unwrap_err().to_string();
    assert_eq!(short, "55 bytes instead of 56");
    let mut bytes = Command { time: 1.0, thrust: [0.5; 3] }.to_bytes();
    bytes[8..16].copy_from_slice(&f64::NAN.to_be_bytes());
    assert_eq!(Command::from_bytes(&bytes), Err(MessageError::NotFinite(1)));
}

fn motions() -> impl Strategy<Value = Motion> {
    (prop::array::uniform3(-1e3..1e3f64), prop::array::uniform3(-1.0..1.0f64))
        .prop_map(|(position, velocity)| Motion { position, velocity })
}

proptest! {
    #[test]
    fn the_integrator_follows_the_closed_form(
        start in motions(),
        thrust in prop::array::uniform3(-0.01..0.01f64),
    ) {
        let (orbit, step) = (orbit(), 0.01);
        let end = (0..2000).fold(start, |motion, _| orbit.step(motion, thrust, step));
        let exact = orbit.after(start, thrust, 20.0);
        prop_assert!(end.distance(&exact) < 1e-8, "{}", end.distance(&exact));
        let slower = end.relative_to(&exact).velocity.map(f64::abs).into_iter().fold(0.0, f64::max);
        prop_assert!(slower < 1e-9, "{}", slower);
    }

    #[test]
    fn two_steps_of_the_closed_form_equal_one(
        start in motions(),
        thrust in prop::array::uniform3(-0.01..0.01f64),
        first in 0.0..6000.0f64,
        second in 0.0..6000.0f64,
    ) {
        let orbit = orbit();
        let twice = orbit.after(orbit.after(start, thrust, first), thrust, second);
        let once = orbit.after(start, thrust, first + second);
        prop_assert!(twice.distance(&once) < 1e-9 * (1e3 + once.distance(&Motion::default())));
    }

    #[test]
    fn free_motion_conserves_its_integral(start in motions(), seconds in 0.0..10_000.0f64) {
        // Half the square of the speed, minus the tidal potential.
        let orbit = orbit();
        let n = orbit.mean_motion();
        let integral = |motion: &Motion| {
            let speed: f64 = motion.velocity.iter().map(|v| v * v).sum();
            let [x, _, z] = motion.position;
            0.5 * speed - 1.5 * (n * x).powi(2) + 0.5 * (n * z).powi(2)
        };
        let end = orbit.after(start, [0.0; 3], seconds);
        let scale = 1.0 + end.velocity.iter().map(|v| v * v).sum::<f64>();
        prop_assert!((integral(&end) - integral(&start)).abs() < 1e-9 * scale);
    }

    #[test]
    fn the_difference_of_two_satellites_moves_like_one(a in motions(), b in motions(), t in 0.0..6000.0f64) {
        let free = |motion| orbit().after(motion, [0.0; 3], t);
        let difference = free(a).relative_to(&free(b));
        let scale = 1e3 + free(a).distance(&Motion::default()) + free(b).distance(&Motion::default());
        prop_assert!(difference.distance(&free(a.relative_to(&b))) < 1e-9 * scale);
    }

    #[test]
    fn messages_survive_encoding_and_no_bytes_make_decoding_panic(
        motion in motions(),
        time in 0.0..1e6f64,
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let report = Report { time, motion };
        prop_assert_eq!(Report::from_bytes(&report.to_bytes()), Ok(report));
        let command = Command { time, thrust: motion.velocity };
        prop_assert_eq!(Command::from_bytes(&command.to_bytes()), Ok(command));
        let _ = (Report::from_bytes(&bytes), Command::from_bytes(&bytes));
    }
}
