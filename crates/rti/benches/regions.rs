//! The cost of moving regions: 10,000 in two dimensions that all move in each step, half for updates and half for
//! subscriptions, at the same density as 1,000.
//!
//! `kernel` makes the calls of a federation: ranges, commit, and what follows. The others only find the pairs that
//! overlap: `index` as the kernel does, `all pairs`, and `sorted`, which is sort-based matching (Raczy, Tan and Yu,
//! *ACM TOMACS* 2005): it sorts the bounds of a dimension and sweeps over them, with a set of bits for each region.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hemiola_hla::call::{DeclarationCall, DistributionCall, FederationCall, SupportCall};
use hemiola_hla::data::{AttributeRegions, FomModule, RangeBounds};
use hemiola_hla::{AttributeHandle, Call, DimensionHandle, ObjectClassHandle, RegionHandle, Reply};
use hemiola_rti::matching::{Index, Ranges, is_near};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, SessionId};
use hemiola_units::Random;

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions>
<attribute><name>Position</name><dataType>HLAoctet</dataType></attribute>
</objectClass></objectClass></objects><dimensions>
<dimension><name>X</name><upperBound>1000000</upperBound></dimension>
<dimension><name>Y</name><upperBound>1000000</upperBound></dimension>
</dimensions></objectModel>"#;

/// Regions that move about. A region overlaps about four others, however many there are.
struct Places {
    random: Random,
    side: u32,
    corners: Vec<[u32; 2]>,
}

/// The length of a region in both dimensions, and the greatest length of a move.
const LEN: u32 = 1000;
const MOVE: u32 = 100;

impl Places {
    fn new(count: usize) -> Self {
        let mut random = Random::from_seed(1);
        // Each region of one kind overlaps those of the other kind within twice its length.
        let side = (f64::from(LEN) * (count as f64 / 2.0).sqrt()) as u32;
        let corner = |random: &mut Random| [0; 2].map(|_: u32| random.below(side.into()) as u32);
        let corners = (0..count).map(|_| corner(&mut random)).collect();
        Self { random, side, corners }
    }

    /// Moves all regions a little.
    fn step(&mut self) {
        for place in self.corners.iter_mut().flatten() {
            let moved = *place + self.random.below(u64::from(2 * MOVE + 1)) as u32;
            *place = moved.saturating_sub(MOVE).min(self.side);
        }
    }

    fn range(corner: u32) -> RangeBounds {
        RangeBounds { lower: corner, upper: corner + LEN }
    }

    fn ranges(&self, at: usize) -> Ranges {
        let [x, y] = self.corners[at].map(Self::range);
        Arc::from([(DimensionHandle::new(1), x), (DimensionHandle::new(2), y)])
    }

    fn all(&self) -> Vec<Ranges> {
        (0..self.corners.len()).map(|at| self.ranges(at)).collect()
    }
}

/// Even places are for updates, odd ones for subscriptions.
const fn is_update(at: usize) -> bool {
    at.is_multiple_of(2)
}

/// The number of pairs that overlap, by comparing all.
fn all_pairs(ranges: &[Ranges]) -> usize {
    let of_kind = |update| (0..ranges.len()).filter(move |at| is_update(*at) == update);
    let near = |one: usize| of_kind(false).filter(move |at| is_near(&ranges[one], &ranges[*at]));
    of_kind(true).map(|one| near(one).count()).sum()
}

/// The same by sorting the bounds of each dimension.
fn sorted(ranges: &[Ranges]) -> usize {
    let words = ranges.len().div_ceil(64);
    let mut overlap = vec![u64::MAX; ranges.len() / 2 * words];
    for dimension in 0..2 {
        let bounds = ranges.iter().enumerate().flat_map(|(at, ranges)| {
            let RangeBounds { lower, upper } = ranges[dimension].1;
            // At the same point, ranges end before others begin.
            [(lower, true, at), (upper, false, at)]
        });
        let mut bounds: Vec<(u32, bool, usize)> = bounds.collect();
        bounds.sort_unstable();
        let (mut open, mut closed) = (vec![0_u64; words], vec![0_u64; words]);
        let mut closed_at_start: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (_, begins, at) in bounds {
            let bit = 1 << (at % 64);
            match (is_update(at), begins) {
                (false, true) => open[at / 64] |= bit,
                (false, false) => closed[at / 64] |= bit,
                (true, true) => drop(closed_at_start.insert(at, closed.clone())),
                (true, false) => {
                    // Those that began before its end, without those that ended before its beginning.
                    let closed = &closed_at_start.remove(&at).expect("it has begun");
                    let row = &mut overlap[at / 2 * words..(at / 2 + 1) * words];
                    let met = open.iter().zip(closed).map(|(open, closed)| open & !closed);
                    row.iter_mut().zip(met).for_each(|(row, met)| *row &= met);
                }
            }
        }
    }
    overlap.iter().map(|word| word.count_ones() as usize).sum()
}

/// The indexes of the kernel.
struct Indexed {
    updates: Index,
    subscriptions: Index,
    ranges: Vec<Ranges>,
}

impl Indexed {
    fn new(ranges: Vec<Ranges>) -> Self {
        let (mut updates, mut subscriptions) = (Index::default(), Index::default());
        for (at, ranges) in ranges.iter().enumerate() {
            let index = if is_update(at) { &mut updates } else { &mut subscriptions };
            index.insert(RegionHandle::of_index(at), ranges);
        }
        Self { updates, subscriptions, ranges }
    }

    /// Moves all regions. Returns the number of regions that they overlap before or after, counted for each region.
    fn step(&mut self, places: &Places) -> usize {
        let mut pairs = 0;
        for at in 0..self.ranges.len() {
            let (own, others) = if is_update(at) {
                (&mut self.updates, &self.subscriptions)
            } else {
                (&mut self.subscriptions, &self.updates)
            };
            let (region, now) = (RegionHandle::of_index(at), places.ranges(at));
            own.relocate(region, &self.ranges[at], &now);
            others.visit_either(&self.ranges[at], &now, |_, _, _| pairs += 1);
            self.ranges[at] = now;
        }
        pairs
    }
}

/// A federation in which one federate owns cars with a region each, and another subscribes with many regions.
struct Federation {
    kernel: Kernel,
    out: Vec<Effect>,
    regions: Vec<RegionHandle>,
    dimensions: [DimensionHandle; 2],
}

impl Federation {
    fn new(places: &Places) -> Self {
        let (modules, _) = hemiola_fom::read("bench.xml", MODEL.as_bytes()).expect("it is sound");
        let (model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
        let class = model.object_class_named("Car").expect("it is there");
        let position = model.attribute_named(class, "Position").expect("it is there");
        let dimensions = ["X", "Y"].map(|name| model.dimension_named(name).expect("it is there"));
        let kernel = Kernel::new(Limits::default());
        let mut bench = Self { kernel, out: Vec::new(), regions: Vec::new(), dimensions };
        bench.begin();
        let attributes = vec![position];
        let publish =
            DeclarationCall::PublishObjectClassAttributes { object_class: class, attributes };
        bench.call(0, publish);
        for at in 0..places.corners.len() {
            bench.create(places, at);
        }
        bench.subscribe(class, position);
        bench.register(class, position);
        bench
    }

    fn begin(&mut self) {
        for session in 0..2 {
            self.kernel.handle(Input::Opened(SessionId(session)), &mut self.out);
            self.call(session, FederationCall::Connect);
        }
        let content = MODEL.to_owned().into();
        let fom_module = FomModule::File { name: "bench.xml".into(), content };
        let federation_name = String::from("Bench");
        self.call(0, FederationCall::CreateFederationExecution { federation_name, fom_module });
        for session in 0..2 {
            let (federate_type, federation_name) = ("bench".into(), "Bench".into());
            let join = FederationCall::JoinFederationExecution { federate_type, federation_name };
            self.call(session, join);
        }
    }

    fn create(&mut self, places: &Places, at: usize) {
        let create = DistributionCall::CreateRegion { dimensions: self.dimensions.to_vec() };
        let Reply::Region(region) = self.call(Self::session(at), create) else {
            panic!("it is created")
        };
        self.regions.push(region);
        self.set(places, at);
        let regions = vec![region];
        self.call(Self::session(at), DistributionCall::CommitRegionModifications { regions });
    }

    /// The regions of a federate.
    fn of(&self, session: u64) -> Vec<RegionHandle> {
        let all = self.regions.iter().enumerate();
        all.filter(|(at, _)| Self::session(*at) == session).map(|(_, region)| *region).collect()
    }

    fn subscribe(&mut self, object_class: ObjectClassHandle, position: AttributeHandle) {
        let (attributes, regions) = (vec![position], self.of(1));
        let call = DistributionCall::SubscribeObjectClassAttributesWithRegions {
            object_class,
            attributes_and_regions: vec![AttributeRegions { attributes, regions }],
            active: true,
        };
        self.call(1, call);
    }

    fn register(&mut self, object_class: ObjectClassHandle, position: AttributeHandle) {
        for region in self.of(0) {
            let (attributes, regions) = (vec![position], vec![region]);
            let call = DistributionCall::RegisterObjectInstanceWithRegions {
                object_class,
                attributes_and_regions: vec![AttributeRegions { attributes, regions }],
            };
            self.call(0, call);
        }
    }

    fn session(at: usize) -> u64 {
        u64::from(!is_update(at))
    }

    fn set(&mut self, places: &Places, at: usize) {
        let region = self.regions[at];
        for (dimension, corner) in self.dimensions.into_iter().zip(places.corners[at]) {
            let range_bounds = Places::range(corner);
            self.call(
                Self::session(at),
                SupportCall::SetRangeBounds { region, dimension, range_bounds },
            );
        }
    }

    /// Moves all regions, and commits those of each federate together.
    fn step(&mut self, places: &Places) {
        (0..self.regions.len()).for_each(|at| self.set(places, at));
        for session in 0..2 {
            let regions = self.of(session);
            self.call(session, DistributionCall::CommitRegionModifications { regions });
        }
    }

    fn call(&mut self, session: u64, call: impl Into<Call>) -> Reply {
        self.out.clear();
        let input = Input::Called(SessionId(session), CallId(1), call.into());
        self.kernel.handle(input, &mut self.out);
        match &self.out[0] {
            Effect::Reply(_, _, Ok(reply)) => reply.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn regions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("regions");
    group.sample_size(10);
    for count in [1_000, 10_000] {
        group.throughput(Throughput::Elements(count as u64));
        let mut places = Places::new(count);
        let mut federation = Federation::new(&places);
        group.bench_function(BenchmarkId::new("kernel", count), |bencher| {
            bencher.iter(|| {
                places.step();
                federation.step(&places);
            });
        });
        let mut indexed = Indexed::new(places.all());
        group.bench_function(BenchmarkId::new("index", count), |bencher| {
            bencher.iter(|| {
                places.step();
                black_box(indexed.step(&places))
            });
        });
        let all = places.all();
        assert_eq!(all_pairs(&all), sorted(&all));
        group.bench_function(BenchmarkId::new("all pairs", count), |bencher| {
            bencher.iter(|| {
                places.step();
                black_box(all_pairs(&places.all()))
            });
        });
        group.bench_function(BenchmarkId::new("sorted", count), |bencher| {
            bencher.iter(|| {
                places.step();
                black_box(sorted(&places.all()))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, regions);
criterion_main!(benches);
