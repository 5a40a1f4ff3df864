//! Custom plants: what the checks of region and latency promise, against brute force from many points of the
//! region's border.

use hemiola_plant::{Linear, LinearPlant, Model as Plant, Nominal, Settings as PlantSettings, rk4};
use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_simplex::simulate::{Experiment, UnitSetup, simulate};
use hemiola_simplex::{
    CLIP_VOLTS, Gain, Model, ModelError, Region, RegionError, SafetyController, Settings,
};
use hemiola_units::{Random, Span};

use crate::world::starting_at;

/// Integrator steps while the fastest motion of the plant could go on by its own length.
const STEPS: f64 = 20.0;
/// Cycles after which a plant that has not left its region has come back.
const CYCLES: u32 = 300;
/// Rounding of the integrator and of the checks.
const ROUNDING: f64 = 1e-6;

/// A plant in controllable form with poles anywhere, and a gain that puts them all at one place. Time
/// runs from a hundred times slower to ten times faster.
fn drawn(random: &mut Random) -> (LinearPlant, Gain) {
    let speed = 10f64.powf(random.between(-2.0, 1.0));
    let count = 1 + (random.bits() % 4) as usize;
    let pole = 0.5 + 2.0 * random.normal().abs();
    let input = 0.5 + random.normal().abs();
    let binomials = [&[1.0][..], &[1.0, 2.0], &[1.0, 3.0, 3.0], &[1.0, 4.0, 6.0, 4.0]][count - 1];
    let own: Vec<f64> = (0..count).map(|_| 2.0 * random.normal()).collect();
    let mut a = vec![vec![0.0; count]; count];
    for i in 1..count {
        a[i - 1][i] = speed;
    }
    a[count - 1] = own.iter().map(|factor| speed * factor).collect();
    let mut b = vec![0.0; count];
    b[count - 1] = speed * input;
    let mut gain = [0.0; 4];
    for i in 0..count {
        let wanted = -binomials[i] * pole.powi((count - i) as i32);
        gain[i] = (wanted - own[i]) / input;
    }
    let limits: Vec<f64> = (0..count).map(|_| 0.5 + random.normal().abs()).collect();
    let names = (0..count).map(|i| format!("x{i}")).collect();
    let mut plant = LinearPlant::new(names, &a, &b, &limits);
    plant.full_scale = plant.measured.map(|i| 1.25 * plant.limits[i]);
    (plant, Gain(gain))
}

/// Integrates for `seconds`, which may be negative, with this voltage.
fn moved(linear: &Linear, x: [f64; 4], volts: f64, seconds: f64) -> [f64; 4] {
    let sums = linear.a.map(|row| row.map(f64::abs).iter().sum());
    let steps = (STEPS * seconds.abs() * sums.into_iter().fold(1.0, f64::max)).ceil().max(4.0);
    let step = seconds / steps;
    (0..steps as u32).fold(x, |x, _| rk4(x, step, |x| linear.derivative(&x, volts)))
}

/// The largest V at the samples, if a unit's command `after` is accepted at state `predicted`, and then the
/// controller has the plant.
fn peak(
    (linear, region, gain): (&Linear, &Region, &Gain),
    predicted: [f64; 4],
    [before, after]: [f64; 2],
    (period, latency): (f64, f64),
) -> f64 {
    let mut x = moved(linear, predicted, after, -period);
    let (mut old, mut new, mut peak) = (before, after, 0.0f64);
    for _ in 0..CYCLES {
        x = moved(linear, moved(linear, x, old, latency), new, period - latency);
        peak = peak.max(region.value(&x));
        (old, new) = (new, gain.command(&x));
    }
    peak
}

fn direction(random: &mut Random) -> [f64; 4] {
    [(); 4].map(|()| random.normal())
}

#[test]
fn a_computed_region_holds_from_its_border() {
    let mut random = Random::from_seed(14);
    let mut sound = 0;
    for _ in 0..150 {
        let (plant, gain) = drawn(&mut random);
        let period = Span::from_millis(5 + (random.bits() % 46) as i64);
        let model = Model::of(Nominal::of(&plant), period).unwrap();
        // A loop that is stable in continuous time may be sampled too slowly.
        let Ok(region) = Region::computed(&model, &gain) else { continue };
        SafetyController::new(&model, gain, region).unwrap();
        sound += 1;
        let mut tightest = 0.0f64;
        for _ in 0..200 {
            let x = region.state_at(1.0, &direction(&mut random));
            let volts: f64 = gain.0.iter().zip(x).map(|(k, x)| k * x).sum();
            assert!(volts.abs() <= CLIP_VOLTS + ROUNDING);
            for (x, limit) in x.iter().zip(plant.limits).take(plant.states.len()) {
                assert!(x.abs() <= limit + ROUNDING, "{x} {limit}");
                tightest = tightest.max(x.abs() / limit);
            }
            tightest = tightest.max(volts.abs() / CLIP_VOLTS);
            let next = moved(&plant.dynamics, x, gain.command(&x), period.secs_f64());
            assert!(region.value(&next) <= 1.0 + ROUNDING, "{plant:?}");
        }
        assert!(tightest > 0.8, "the region is as large as its bounds allow; {tightest}");
    }
    assert!(sound > 100, "{sound}");
}

/// Whichever matrix a scenario states, a region that passes is invariant, and one that is not is refused.
#[test]
fn no_given_region_passes_that_brute_force_leaves() {
    let mut random = Random::from_seed(15);
    let (mut passed, mut left) = (0, 0);
    for _ in 0..400 {
        let (plant, gain) = drawn(&mut random);
        let period = Span::from_millis(20);
        let model = Model::of(Nominal::of(&plant), period).unwrap();
        let Ok(computed) = Region::computed(&model, &gain) else { continue };
        let stretch = [(); 4].map(|()| (0.4 * random.normal()).exp());
        let p = std::array::from_fn(|i| {
            std::array::from_fn(|j| computed.matrix()[i][j] * (stretch[i] * stretch[j]))
        });
        let region = Region::new(p).unwrap();
        let passes = region.check(&model, &gain, CLIP_VOLTS).is_ok();
        let leaves = (0..300).any(|_| {
            let x = region.state_at(1.0, &direction(&mut random));
            let next = moved(&plant.dynamics, x, gain.command(&x), period.secs_f64());
            region.value(&next) > 1.0 + ROUNDING
        });
        assert!(!(passes && leaves), "{plant:?} {gain:?} {p:?}");
        passed += u32::from(passes);
        left += u32::from(leaves);
    }
    assert!(passed > 40 && left > 40, "{passed} {left}");
}

#[test]
fn no_latency_passes_with_which_brute_force_leaves_the_region() {
    let mut random = Random::from_seed(16);
    let (mut passed, mut left) = (0, 0);
    for _ in 0..120 {
        let (plant, gain) = drawn(&mut random);
        let period = Span::from_millis(10 + (random.bits() % 41) as i64);
        let model = Model::of(Nominal::of(&plant), period).unwrap();
        let Ok(region) = Region::computed(&model, &gain) else { continue };
        let latency = period * (random.bits() % 101) as i64 / 100;
        let level = 0.1 + 0.009 * (random.bits() % 101) as f64;
        let verdict = region.check_latency(&model, &gain, level, latency);
        let parts = (&plant.dynamics, &region, &gain);
        let times = (period.secs_f64(), latency.secs_f64());
        let mut worst = 0.0f64;
        for case in 0..24 {
            let predicted = region.state_at(level, &direction(&mut random));
            let volts = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]][case % 4];
            let volts = volts.map(|sign| sign * CLIP_VOLTS);
            worst = worst.max(peak(parts, predicted, volts, times));
        }
        match verdict {
            Ok(()) => assert!(worst <= 1.0 + ROUNDING, "{worst} {plant:?} {gain:?}"),
            Err(RegionError::Late { most, .. }) => {
                assert!(most < level);
                assert!(most <= 0.0 || region.check_latency(&model, &gain, most, latency).is_ok());
            }
            Err(other) => panic!("{other}"),
        }
        passed += u32::from(verdict.is_ok());
        left += u32::from(worst > 1.0 + ROUNDING);
    }
    assert!(passed > 15 && left > 15, "{passed} {left}");
}

#[test]
fn the_pendulum_bears_six_milliseconds_of_latency_and_not_ten() {
    let settings = Settings::default();
    let model = settings.model(Span::from_millis(20)).unwrap();
    let check = |millis| {
        Region::SAFETY.check_latency(&model, &settings.safety, 0.6, Span::from_millis(millis))
    };
    check(0).unwrap();
    check(6).unwrap();
    let Err(RegionError::Late { most, .. }) = check(10) else { panic!("{:?}", check(10)) };
    assert!((0.5..0.6).contains(&most), "{most}");
    assert!(matches!(check(20), Err(RegionError::Late { .. })));
}

/// Two tanks, one above the other: the pump fills the upper one, which drains into the lower one. Levels in mm.
fn tanks() -> LinearPlant {
    let names = ["upper", "lower"].map(String::from).to_vec();
    let a = [vec![-0.2, 0.0], vec![0.2, -0.2]];
    let mut plant = LinearPlant::new(names, &a, &[4.0, 0.0], &[60.0, 60.0]);
    (plant.measured, plant.full_scale) = ([0, 1], [75.0, 75.0]);
    plant
}

const SAFETY: Gain = Gain([-0.05, -0.03, 0.0, 0.0]);

/// The tanks neither overflow nor run dry under any faulty unit.
#[test]
fn no_unit_loses_the_tanks() {
    let plant = Plant::Linear(Box::new(tanks()));
    let settings =
        Settings { plant: plant.clone(), safety: SAFETY, performance: None, ..Settings::default() };
    let period = Span::from_millis(50);
    let region = Region::of(&settings.model(period).unwrap(), &SAFETY).unwrap();
    let mut random = Random::from_seed(17);
    for kind in FaultKind::ALL.iter().copied().filter(|kind| kind.class() == Class::Output) {
        for seed in 0..5 {
            let experiment = Experiment {
                plant: PlantSettings {
                    wiring: tanks().wiring(),
                    model: plant.clone(),
                    step: Span::from_millis(5),
                    ..PlantSettings::default()
                },
                period,
                delay: Span::from_millis(10),
                decision: Some(settings.clone()),
                units: vec![UnitSetup { name: "unit".into(), gain: SAFETY, fault: kind }],
                loop_fault: FaultKind::None,
                fault_from: Span::from_millis(3000),
            };
            let start = region.state_at(0.3, &direction(&mut random));
            let outcome = simulate(starting_at(experiment, start, seed), Span::from_millis(60_000));
            let outcome = outcome.unwrap();
            assert_eq!((outcome.lost_at, outcome.failed_safe), (None, false), "{kind:?}");
            assert!(outcome.peak_v <= 1.0, "{kind:?} {outcome:?}");
            if kind == FaultKind::None {
                assert_eq!(outcome.switches, 0, "{outcome:?}");
            }
        }
    }
}

#[test]
fn a_plant_that_its_sensors_do_not_show_has_no_model() {
    // Nothing that happens in the lower tank is seen in the upper one, and an integrator stands in it.
    let mut hidden = tanks();
    hidden.dynamics.a[1] = [0.2, 0.1, 0.0, 0.0];
    hidden.measured = [0, 0];
    let model = Model::of(Nominal::of(&hidden), Span::from_millis(20));
    assert_eq!(model, Err(ModelError::Hidden));
    hidden.measured = [1, 1];
    assert!(Model::of(Nominal::of(&hidden), Span::from_millis(20)).is_ok());
}
