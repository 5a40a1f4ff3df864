//! What a step waits for when an image of a world is taken, and what a thread beside the steps does with it.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use hemiola_world::{Image, RunSoFar, Setup, SetupTexts};
use hemiola_world_lang::Sources;

const TEXT: &str = "universe u {
  element mover {
    property position : real<m>[3];
    property velocity : real<m/s>[3];
    update(dt : real<s>) { position += velocity * dt; }
    constraint moved(by : real<m>) = length(position - last_sent.position) > by;
  }
}";

fn images(c: &mut Criterion) {
    for entities in [1_000, 100_000, 1_000_000] {
        let sources = Sources::of("u.uml", TEXT).unwrap();
        let populate = [format!("mover:{entities}:velocity=[0,0,0]..[1<m/s>,1<m/s>,1<m/s>]")];
        let monitor = ["mover:position:moved(1<m>)".to_owned()];
        let texts = SetupTexts { populate: &populate, monitor: &monitor, birth: &[], death: &[] };
        let world = Setup::read(&sources, &texts).unwrap().start(1, 2 * entities).unwrap();
        let definitions = vec![Arc::new(sources)];
        let run = RunSoFar { definitions, seconds: 0.1, ..RunSoFar::default() };
        let mut group = c.benchmark_group(format!("checkpoint of {entities} entities"));
        group.sample_size(20);
        let mut image = Image::default();
        world.take_image(&run, &mut image);
        group.bench_function("image", |b| b.iter(|| world.take_image(&run, &mut image)));
        group.bench_function("checksum", |b| b.iter(|| black_box(image.checkpoint().len())));
        group.finish();
    }
}

criterion_group!(benches, images);
criterion_main!(benches);
