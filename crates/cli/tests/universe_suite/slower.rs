//! A node that computes more slowly: figure 6.27. Gateway has a third of Pentium's speed; here, endless loops leave the
//! world a third of a processor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hemiola_rt::sys::{cpu, sched};
use hemiola_units::CpuSet;
use hemiola_world::{ByteOrder, World};

use super::page::Page;
use super::steps::benchmark;
use super::timing::{Scale, shown};
use super::worlds::structure;

/// Threads that want the same processor as the world all the time.
const OTHERS: usize = 2;

/// Ends the threads that read it, also when a measurement panics.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `measure` on a thread that shares one processor with so many endless loops.
fn beside<T: Send>(loops: usize, measure: impl FnOnce() -> T + Send) -> T {
    let processor = CpuSet::one(cpu::current()).expect("a processor is one");
    let pin = || sched::set_affinity(None, &processor).expect("this thread runs there");
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ends = Ends(&ended);
        for _ in 0..loops {
            scope.spawn(|| {
                pin();
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let measured = scope.spawn(|| {
            pin();
            measure()
        });
        measured.join().expect("it measures")
    })
}

/// What the steps of a world have shown.
struct Found {
    /// The mean time of a step, ns: the world may be interrupted in a few of them for long.
    step: f64,
    /// All rows after the first steps, packed.
    rows: Vec<u8>,
}

fn measured(scale: Scale, entities: usize) -> Found {
    let mut world = benchmark(0, 1, entities);
    let step = |world: &mut World| world.step(1.0, &mut |_| {}, &mut |_| {});
    for _ in 0..5 {
        step(&mut world);
    }
    let structure = structure(&world, "thing");
    let mut rows = Vec::new();
    for entity in world.entities() {
        world.pack(&structure, entity, ByteOrder::Little, &mut rows).expect("it exists");
    }
    let least = scale.of(Duration::ZERO, Duration::from_millis(500));
    let (mut steps, began) = (0, Instant::now());
    while steps == 0 || began.elapsed() < least {
        step(&mut world);
        steps += 1;
    }
    Found { step: began.elapsed().as_nanos() as f64 / f64::from(steps), rows }
}

pub(crate) fn figure_27(scale: Scale, page: &mut Page) {
    let mut ratios = Vec::new();
    for entities in [1, 8, 16, 31, scale.of(1_000, 10_000)] {
        let [whole, third] = [0, OTHERS].map(|loops| beside(loops, || measured(scale, entities)));
        let ratio = third.step / whole.step;
        page.row(
            format!("{entities} entities, a step"),
            format!("{}; with a third {}: {ratio:.1}", shown(whole.step), shown(third.step)),
        );
        page.law(format!("{entities} entities have the same rows on the slower node"), {
            whole.rows == third.rows && whole.rows.len() == 8 * entities
        });
        ratios.push(ratio);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    page.row("slower node / faster node, the mean", format!("{mean:.1}"));
    page.shape("the ratio is between 2 and 4 for each number of entities", {
        ratios.iter().all(|ratio| (2.0..4.0).contains(ratio))
    });
}
