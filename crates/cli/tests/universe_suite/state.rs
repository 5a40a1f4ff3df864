//! The five operations on the state of an entity: table 6.8, figures 6.4 to 6.9.

use hemiola_report::text::percent;
use hemiola_world::{ByteOrder, EntityId};

use super::page::Page;
use super::timing::{Scale, Straight, middle, shown, took};
use super::worlds::{construct, default_row, destruct, element, structure, universe_text, world};

/// Their names, in the order of the thesis.
const OPERATIONS: [&str; 5] = ["construct", "destruct", "size", "pack", "unpack"];

/// The costs of the operations on an element, for one entity.
struct Costs {
    /// ns, in the order of [`OPERATIONS`].
    nanos: [f64; 5],
    /// Bytes of the packed row.
    packed: usize,
    columns: usize,
    /// The first packed row.
    bytes: Vec<u8>,
    /// Whether every entity was there when it had to be, and its bytes were as many as [`Structure`] says.
    ///
    /// [`Structure`]: hemiola_world::Structure
    is_sound: bool,
}

/// Measures the element `e` of these items, whose entities have their defaults.
fn costs(scale: Scale, items: &str, order: ByteOrder) -> Costs {
    let count = scale.of(50, 2_000);
    let mut world = world(&universe_text(items));
    let structure = structure(&world, "e");
    let e = element(&world, "e");
    let row = default_row(&world, e);
    let mut rounds: [Vec<f64>; 5] = Default::default();
    let (mut bytes, mut is_sound) = (Vec::new(), true);
    for _ in 0..scale.rounds() {
        let mut note = |operation: usize, nanos: f64| rounds[operation].push(nanos / count as f64);
        note(0, took(|| construct(&mut world, e, &row, count)).0);
        let all: Vec<EntityId> = world.entities().collect();
        is_sound &= all.len() == count;
        let len = |entity| world.packed_len(&structure, entity).expect("it exists");
        let (nanos, lengths) = took(|| all.iter().map(|entity| len(*entity)).sum::<usize>());
        note(2, nanos);
        bytes = Vec::with_capacity(lengths);
        let pack = |bytes: &mut Vec<u8>| {
            let mut pack = |entity| world.pack(&structure, entity, order, bytes);
            all.iter().for_each(|entity| pack(*entity).expect("it exists"));
        };
        note(3, took(|| pack(&mut bytes)).0);
        is_sound &= bytes.len() == lengths;
        note(1, took(|| destruct(&mut world, &all)).0);
        is_sound &= world.is_empty();
        let (nanos, used) = took(|| {
            let mut at = 0;
            while at < bytes.len() {
                at += world.unpack(&structure, order, &bytes[at..]).expect("they are rows");
            }
            world.apply(&mut |_| {});
            at
        });
        note(4, nanos);
        // The row of an element without properties has no bytes.
        is_sound &= used == lengths && (lengths == 0 || world.len() == count);
        let all: Vec<EntityId> = world.entities().collect();
        destruct(&mut world, &all);
    }
    let packed = bytes.len() / count;
    is_sound &= structure.packed_len().contains(&(packed as u64));
    bytes.truncate(packed);
    let nanos = rounds.map(|times| middle(&times));
    Costs { nanos, packed, columns: structure.columns(), bytes, is_sound }
}

fn list(nanos: &[f64; 5]) -> String {
    let cells =
        OPERATIONS.iter().zip(nanos).map(|(name, nanos)| format!("{name} {}", shown(*nanos)));
    cells.collect::<Vec<_>>().join(", ")
}

fn array(scale: Scale, length: u32) -> Costs {
    let items = format!("element e {{ property p : integer[{length}]; }}");
    costs(scale, &items, ByteOrder::Little)
}

/// Lengths of arrays of integers, and a straight line through the times of each operation.
fn by_length(scale: Scale) -> (Vec<(u32, Costs)>, [Straight; 5]) {
    let measured: Vec<(u32, Costs)> =
        [1, 8, 16, 32, 64, 128].map(|length| (length, array(scale, length))).into();
    let through = |operation: usize| {
        let point = |(length, costs): &(u32, Costs)| (f64::from(*length), costs.nanos[operation]);
        Straight::through(&measured.iter().map(point).collect::<Vec<_>>())
    };
    let lines = [0, 1, 2, 3, 4].map(through);
    (measured, lines)
}

pub(crate) fn table_8(scale: Scale, page: &mut Page) {
    let (measured, lines) = by_length(scale);
    for (name, line) in OPERATIONS.iter().zip(lines) {
        page.row(*name, shown(line.slope.max(0.0)));
    }
    page.law("one more integer is one more column and four more bytes", {
        measured.iter().all(|(length, costs)| {
            costs.is_sound && costs.columns == *length as usize && costs.packed == 4 * costs.columns
        })
    });
    let [construct, _, size, pack, unpack] = lines.map(|line| line.slope);
    page.shape("construct > unpack", construct > unpack);
    page.shape("size < pack", size < pack);
}

pub(crate) fn figure_5(scale: Scale, page: &mut Page) {
    let (measured, lines) = by_length(scale);
    for (length, costs) in &measured {
        page.row(format!("{length} integers"), list(&costs.nanos));
    }
    page.law("the packed length is linear", {
        measured.iter().all(|(length, costs)| costs.is_sound && costs.packed as u32 == 4 * length)
    });
    // The thesis proposes to predict the time of an operation from the structure.
    let held_against = 96;
    let other = array(scale, held_against);
    for ((name, line), actual) in OPERATIONS.iter().zip(lines).zip(other.nanos) {
        let (explained, predicted) = (line.explained, line.at(f64::from(held_against)));
        let (from, to) = (shown(predicted), shown(actual));
        page.row(
            format!("{name}: straight line, then {held_against} integers predicted and measured"),
            format!("explains {}; {from}, {to}", percent(explained)),
        );
        if *name != "size" {
            page.shape(format!("{name} is linear (at least 90 % explained)"), explained > 0.9);
            let ratio = predicted / actual;
            page.shape(format!("{name} is predicted within 30 %"), (0.7..1.3).contains(&ratio));
        }
    }
}

pub(crate) fn figure_4(scale: Scale, page: &mut Page) {
    for (ty, len) in [("integer", 4), ("real32", 4), ("real", 8), ("boolean", 1), ("string", 1)] {
        let items = format!("element e {{ property p : {ty}; }}");
        let costs = costs(scale, &items, ByteOrder::Little);
        page.row(format!("`{ty}`"), list(&costs.nanos));
        page.law(
            format!("a `{ty}` is one column and packed into {len} bytes"),
            costs.is_sound && (costs.columns, costs.packed) == (1, len),
        );
    }
}

pub(crate) fn figure_6(scale: Scale, page: &mut Page) {
    let none = costs(scale, "element e { }", ByteOrder::Little);
    let one = array(scale, 1);
    page.row("no property", list(&none.nanos));
    page.row("one property", list(&one.nanos));
    page.law("without a property, an entity has no column and no bytes", {
        none.is_sound && (none.columns, none.packed) == (0, 0)
    });
    page.law("the difference is one property", (one.columns, one.packed) == (1, 4));
}

pub(crate) fn figure_7(scale: Scale, page: &mut Page) {
    let at_level = |levels: usize| {
        let mut items = "property x : integer;".to_owned();
        for level in 1..levels {
            items = format!("element part{level} {{ {items} }} property p{level} : part{level};");
        }
        costs(scale, &format!("element e {{ {items} }}"), ByteOrder::Little)
    };
    let levels: Vec<Costs> = (1..=5).map(at_level).collect();
    for (level, costs) in (1..).zip(&levels) {
        page.row(format!("{level} levels"), list(&costs.nanos));
    }
    page.law("no level adds a column or a byte: nesting is resolved when the text is checked", {
        levels.iter().all(|costs| costs.is_sound && (costs.columns, costs.packed) == (1, 4))
    });
    let pack = |at: usize| levels[at].nanos[3];
    page.shape(
        "to pack five levels takes at most 1.5 times as long as one",
        pack(4) < 1.5 * pack(0),
    );
}

pub(crate) fn figure_8(scale: Scale, page: &mut Page) {
    let items = "element e { property a : integer = 66051; property b : real = 0.1; }";
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let [little, big] = orders.map(|order| costs(scale, items, order));
    page.row("little-endian", list(&little.nanos));
    page.row("big-endian", list(&big.nanos));
    let mut swapped = big.bytes.clone();
    swapped[..4].reverse();
    swapped[4..].reverse();
    page.law("each number has its bytes in the opposite order, and nothing else differs", {
        little.is_sound && big.is_sound && little.bytes == swapped && little.bytes != big.bytes
    });
    let ratio = big.nanos[3] / little.nanos[3];
    page.shape(
        "the order changes the time to pack by less than half",
        (0.67..1.5).contains(&ratio),
    );
}

pub(crate) fn figure_9(scale: Scale, page: &mut Page) {
    let text = "x".repeat(40);
    let items = format!("element e {{ property p : string = \"{text}\"; }}");
    let [little, big] =
        [ByteOrder::Little, ByteOrder::Big].map(|order| costs(scale, &items, order));
    let integer = array(scale, 1);
    page.row("a text of 40 characters", list(&little.nanos));
    page.row("an integer", list(&integer.nanos));
    let ratio = little.nanos[3] / integer.nanos[3];
    page.row("pack a text / pack an integer", format!("{ratio:.1}"));
    page.law("40 characters are packed into 41 bytes, ten times those of an integer", {
        little.is_sound && little.packed == 41 && integer.packed == 4
    });
    page.law("the byte order changes no byte of a text", little.bytes == big.bytes);
    page.shape("a text costs more than an integer", ratio > 1.0);
}
