//! Packed rows against rows, and what a structure says of both.

use hemiola_units::Random;
use hemiola_world::{ByteOrder, Change, EntityId, PackError, Revision, Structure, World};
use hemiola_world_lang::definition::{ElementId, Type, Universe, Width};
use hemiola_world_lang::{Sources, Value};

use crate::simulation::universe;

/// Every kind of type.
const MIXED: &str = "universe u {
  element part { property on : boolean; property place : real32[2]; }
  element e {
    property b : boolean;
    property i : integer;
    property s : real32;
    property d : real;
    property name : string<12>;
    property parts : part[2];
    property seen : integer[..3];
    property words : string<4>[..2];
  }
}";

const E: ElementId = ElementId(0);

fn world(text: &str) -> (World, Structure, ElementId) {
    let world = World::new(universe(text)).unwrap();
    let element = world.universe().element_named("e").unwrap();
    let structure = Structure::of(world.universe(), element).unwrap();
    (world, structure, element)
}

fn random_value(universe: &Universe, ty: &Type, random: &mut Random) -> Value {
    let below = |random: &mut Random, bound: u32| random.below(u64::from(bound)) as usize;
    match ty {
        Type::Boolean => Value::Boolean(random.below(2) == 1),
        Type::Integer => Value::Integer(random.bits() as i32),
        Type::Real(Width::Single, _) => Value::Single(random.between(-1e9, 1e9) as f32),
        Type::Real(Width::Double, _) => Value::Double(random.between(-1e9, 1e9)),
        Type::String(most) => Value::String("ü".repeat(below(random, *most / 2 + 1))),
        Type::Array(of, length) => items(universe, of, *length as usize, random),
        Type::List(of, most) => {
            let count = below(random, *most + 1);
            items(universe, of, count, random)
        }
        Type::Element(id) => {
            let properties = &universe.elements[id.index()].properties;
            let values = properties.iter().map(|one| random_value(universe, &one.ty, random));
            Value::Row(values.collect())
        }
    }
}

fn items(universe: &Universe, of: &Type, count: usize, random: &mut Random) -> Value {
    Value::Items((0..count).map(|_| random_value(universe, of, random)).collect())
}

#[test]
fn a_packed_row_becomes_the_same_row_in_both_byte_orders() {
    let seed = 20;
    println!("seed {seed}");
    let mut random = Random::from_seed(seed);
    let (mut world, structure, element) = world(MIXED);
    let definition = world.universe().clone();
    for number in 0..200 {
        let row = random_value(&definition, &Type::Element(element), &mut random);
        world.submit(Change::Construct(element, row.clone())).unwrap();
        world.apply(&mut |_| {});
        let original = EntityId(2 * number + 1);
        let order = if number % 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
        let mut bytes = vec![7];
        world.pack(&structure, original, order, &mut bytes).unwrap();
        let packed = &bytes[1..];
        assert_eq!(world.packed_len(&structure, original), Ok(packed.len()));
        assert!(structure.packed_len().contains(&(packed.len() as u64)));
        // What follows the row is not part of it.
        let with_more = [packed, &[9; 3]].concat();
        assert_eq!(world.unpack(&structure, order, &with_more), Ok(packed.len()));
        world.apply(&mut |_| {});
        assert_eq!(world.row(EntityId(original.0 + 1)), Some(row));
        // A row that ends early is refused wherever it ends.
        for end in 0..packed.len() {
            let refused = world.unpack(&structure, order, &packed[..end]);
            assert!(matches!(refused, Err(PackError::Content { .. })), "{end}: {refused:?}");
        }
    }
    assert_eq!(world.len(), 400);
}

#[test]
fn the_bytes_of_a_row_are_its_scalars_in_order() {
    let (world, structure, _) = world(
        "universe u { element e { property b : boolean; property i : integer; property t : string<9>; }
           entity one : e { b = true; i = 258; t = \"hi\"; } }",
    );
    let bytes = |order| {
        let mut bytes = Vec::new();
        world.pack(&structure, EntityId(1), order, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(bytes(ByteOrder::Little), [1, 2, 1, 0, 0, 2, b'h', b'i']);
    assert_eq!(bytes(ByteOrder::Big), [1, 0, 0, 1, 2, 2, b'h', b'i']);
    assert_eq!((structure.columns(), structure.row_len()), (3, 13));
    assert_eq!(structure.packed_len(), 6..=15);
}

#[test]
fn bytes_that_are_no_row_are_refused_with_the_place() {
    let text = "universe u { element e { property b : boolean; property l : integer[..1]; \
                property t : string<2>; } }";
    let (mut world, structure, _) = world(text);
    let cases: [(&[u8], usize, &str); 5] = [
        (&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0, "a truth value is 0 or 1"),
        (&[0, 2, 0, 0, 0, 0, 0, 0, 0, 0], 1, "a list is too long"),
        (&[0, 255, 255, 255, 255, 0, 0, 0, 0, 0], 1, "a list is too long"),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', b'c'], 9, "a text is too long"),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], 9, "a text is not UTF-8"),
    ];
    for (bytes, at, reason) in cases {
        let element = "e".to_owned();
        let expected = PackError::Content { element, at, reason };
        assert_eq!(world.unpack(&structure, ByteOrder::Little, bytes), Err(expected), "{bytes:?}");
    }
    assert_eq!(world.apply(&mut |_| {}), (0, 0));
}

#[test]
fn a_structure_serves_entities_of_its_element_and_definition_only() {
    let text = "universe u { element e { property n : integer; } element f : e { }
                  entity one : e; entity other : f; }";
    let (mut world, structure, _) = world(text);
    let missing = |number| PackError::NoSuchEntity { element: "e".to_owned(), number };
    assert_eq!(world.packed_len(&structure, EntityId(1)), Ok(4));
    for number in [2, 3] {
        let refused = world.pack(&structure, EntityId(number), ByteOrder::Big, &mut Vec::new());
        assert_eq!(refused, Err(missing(number)));
    }
    let sources = Sources::of("new.uml", text.replace("integer", "real")).unwrap();
    let revision = Revision::check(&sources, world.universe()).unwrap();
    world.redefine(revision, &mut |_| {}).unwrap();
    let outdated = Err(PackError::Outdated("e".to_owned()));
    assert_eq!(world.packed_len(&structure, EntityId(1)), outdated);
    assert_eq!(world.unpack(&structure, ByteOrder::Big, &[0; 4]), outdated);
    assert!(Structure::of(world.universe(), ElementId(2)).is_none());
    let present = Structure::of(world.universe(), E).unwrap();
    assert_eq!((present.element(), world.packed_len(&present, EntityId(1))), (E, Ok(8)));
}
