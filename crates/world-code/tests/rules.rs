//! Single rules of the code.

use hemiola_units::Random;
use hemiola_world_code::code::{Instruction, Operand};
use hemiola_world_code::{
    BLOCK_ROWS, Block, CodeError, Column, Machine, Program, Texts, compile, compile_constraint,
};
use hemiola_world_lang::definition::{ElementId, Type, Universe, Value};
use hemiola_world_lang::evaluate::{Body, Fault};

use crate::common::{compare, nasty, program, universe};

/// The code of the update of the first element.
fn update(universe: &Universe) -> Program {
    compile(universe, universe.elements[0].update.unwrap(), &mut Texts::default()).unwrap()
}

/// Runs the update of the first element of a text on integer columns; the faults of the rows are returned.
fn run(items: &str, columns: &mut [Column]) -> Vec<Option<Fault>> {
    let universe = universe(items);
    let program = update(&universe);
    let mut machine = Machine::default();
    let count = columns[0].len();
    let block = Block {
        own: columns,
        start: 0,
        count,
        arguments: &[],
        apart: &[],
        last_sent: &[],
        neighbours: None,
        element: ElementId(0),
    };
    machine.run(&program, &block);
    machine.store(&program, &[], columns);
    (0..count).map(|row| machine.fault(row)).collect()
}

#[test]
fn a_mover_takes_two_instructions_for_each_axis() {
    let universe = universe(
        "element body {
           property position : real<m>[3];
           property velocity : real<m/s>[3];
           update(dt : real<s>) { position += velocity * dt; }
         }",
    );
    let program = update(&universe);
    assert_eq!(program.code.len(), 6, "{:#?}", program.code);
    assert_eq!(program.outputs.len(), 3);
    assert_eq!(program.registers.iter().sum::<u32>(), 4, "three results and a product");
}

#[test]
fn equal_computations_are_made_once_and_those_without_use_not_at_all() {
    let universe = universe(
        "element e {
           property a : real;
           property b : real;
           update() {
             let unused = a * 3 + b;
             a = (a + b) * (a + b);
           }
         }",
    );
    let code = update(&universe).code;
    assert!(
        matches!(code[..], [Instruction::Binary { .. }, Instruction::Binary { .. }]),
        "{code:#?}"
    );
}

#[test]
fn columns_that_change_places_are_read_before_they_are_written() {
    let mut columns = [Column::Integer(vec![1, 2].into()), Column::Integer(vec![3, 4].into())];
    let items = "element e { property a : integer; property b : integer;
        update() { let old = a; a = b; b = old; } }";
    assert_eq!(run(items, &mut columns), [None, None]);
    assert_eq!(columns, [Column::Integer(vec![3, 4].into()), Column::Integer(vec![1, 2].into())]);
}

#[test]
fn a_faulty_row_keeps_its_values_and_the_others_go_on() {
    let mut columns =
        [Column::Integer(vec![1, i32::MAX, 3].into()), Column::Integer(vec![1, 1, 0].into())];
    let items = "element e { property a : integer; property b : integer;
        update() { a = a + 1; b = div(10, b); } }";
    let faults = run(items, &mut columns);
    assert_eq!(faults, [None, Some(Fault::Overflow), Some(Fault::DivisionByZero)]);
    assert_eq!(columns[0], Column::Integer(vec![2, i32::MAX, 3].into()));
    assert_eq!(columns[1], Column::Integer(vec![10, 1, 0].into()));
}

#[test]
fn what_is_not_a_number_is_stored_with_one_bit_pattern() {
    let mut columns = [Column::Double(vec![0.0].into()), Column::Single(vec![0.0].into())];
    let items = "element e { property a : real; property b : real32;
        update() { a = -(a / a); b = -(b / b); } }";
    run(items, &mut columns);
    let (Column::Double(a), Column::Single(b)) = (&columns[0], &columns[1]) else { panic!() };
    assert_eq!((a[0].to_bits(), b[0].to_bits()), (0x7ff8_0000_0000_0000, 0x7fc0_0000));
}

/// Rows of the first element with the ids from 1 on.
fn bodies(universe: &Universe, count: u64) -> Vec<Body> {
    let mut random = Random::from_seed(7);
    let element = ElementId(0);
    (1..=count)
        .map(|id| Body { id, element, row: nasty(universe, &Type::Element(element), &mut random) })
        .collect()
}

#[track_caller]
fn same_as_the_tree(items: &str, rows: u64, block: usize) {
    let universe = universe(items);
    let bodies = bodies(&universe, rows);
    let sent: Vec<Value> = bodies.iter().map(|body| body.row.clone()).collect();
    let id = universe.elements[0].update.unwrap();
    compare(&universe, id, &bodies, &sent, &[], block, items);
}

#[test]
fn a_full_block_and_the_rest_behind_it_are_computed() {
    let items = "element e { property a : integer; property b : real;
        update() { if a > 0 { b = b * 2 + 1; } else { a = a - 1; } } }";
    same_as_the_tree(items, BLOCK_ROWS as u64 + 3, BLOCK_ROWS);
}

#[test]
fn values_that_a_loop_exchanges_change_together() {
    let items = "element e { property a : real; property b : real; property n : integer;
        update() {
          var x = a; var y = b;
          for each other in e at most 5 { let old = x; x = y; y = old + other.a; n = other.n; }
          a = x; b = y;
        } }";
    same_as_the_tree(items, 9, 4);
}

#[test]
fn loops_over_neighbours_stand_within_loops() {
    let items =
        "element e { property p : real[2] indexed by 1; property sum : real; property n : integer;
        update() {
          var total = 0.0;
          for each one in e within 3 at most 4 {
            var inner = one.sum;
            for each two in e within abs(one.p[0]) at most 3 {
              if one.n != two.n { inner += two.p[1]; total += inner; } else { n = mod(two.n, 5); }
            }
            sum += inner;
          }
          sum -= total;
        } }";
    same_as_the_tree(items, 12, 5);
}

#[test]
fn a_loop_without_rows_is_passed_over() {
    let items = "element e { property p : real[2] indexed by 1; property n : integer;
        update() { for each one in e within 0 / p[0] at most 4 { n = 1; } n += 1; } }";
    same_as_the_tree(items, 1, 8);
    same_as_the_tree(items, 3, 8);
}

/// The error of the update of the first element.
fn refused(items: &str) -> CodeError {
    let universe = universe(items);
    let id = universe.elements[0].update.unwrap();
    compile(&universe, id, &mut Texts::default()).unwrap_err()
}

#[test]
fn code_beyond_a_limit_is_refused_with_what_to_do() {
    let long = refused(
        "element e { property a : real[600]; property n : integer;
           update() { for each x in a { for each y in a { n = if x < y { n + 1 } else { n }; } } } }",
    );
    assert_eq!(long, CodeError::TooLong("e.update".into()));
    assert!(long.to_string().contains("shorten the arrays"), "{long}");
    let wide = refused(
        "element e { property a : real[9000]; update(dt : real) { a = (a + a) * dt; a = -a; } }",
    );
    assert_eq!(wide, CodeError::TooWide("e.update".into()));
    let mut chain = String::from("function f0(x : real) : real = x;\n");
    for at in 1..500 {
        chain += &format!("function f{at}(x : real) : real = f{}(x);\n", at - 1);
    }
    let deep =
        refused(&format!("{chain} element e {{ property a : real; update() {{ a = f499(a); }} }}"));
    assert_eq!(deep, CodeError::TooDeep("e.update".into()));
    let universe = universe("element e { function f(other : e) : integer = 1; }");
    let row = compile(&universe, universe.function_named("e.f").unwrap(), &mut Texts::default());
    assert_eq!(row.unwrap_err(), CodeError::RowParameter("e.f".into()));
}

#[test]
fn the_same_definition_gives_the_same_code() {
    let universe = universe(&program(&mut Random::from_seed(3)));
    assert_eq!(update_of(&universe), update_of(&universe));
}

fn update_of(universe: &Universe) -> Program {
    let element = universe.element_named("e").unwrap();
    let id = universe.elements[element.index()].update.unwrap();
    compile(universe, id, &mut Texts::default()).unwrap()
}

#[test]
fn results_never_share_a_register_with_operands() {
    for seed in 0..300 {
        let universe = universe(&program(&mut Random::from_seed(seed)));
        for instruction in update_of(&universe).code {
            let Some((to, ty)) = instruction.result() else { continue };
            if let Instruction::Binary { left, right, .. } = instruction {
                assert!(![left, right].contains(&Operand::Register(to)), "{ty:?} {instruction:?}");
            }
        }
    }
}

#[test]
fn a_constraint_is_divided_in_front_of_the_first_condition_that_reads_what_was_sent() {
    let reads = |condition: &str| {
        let universe = universe(&format!(
            "element e {{
               property a : real;
               property b : real;
               property c : integer;
               constraint k(x : real) {{
                 let step = b - last_sent.b;
                 let rest = mod(c, 3);
                 {condition}
               }}
             }}"
        ));
        let id = universe.elements[0].constraints[0];
        let constraint = compile_constraint(&universe, id, &mut Texts::default()).unwrap();
        let columns = |program: &Program| program.own_columns().into_iter().collect::<Vec<_>>();
        let parts = [Some(&constraint.first), constraint.then.as_ref()];
        parts.map(|part| part.map(|part| (columns(part), part.reads_last_sent())))
    };
    // The rest of a division can have a fault, so both parts compute it, from the column 2.
    let both = [Some((vec![0, 2], false)), Some((vec![1, 2], true))];
    assert_eq!(reads("return a > x and step > x;"), both);
    assert_eq!(reads("return (a > x and rest == 1) and step > x;"), both);
    assert_eq!(reads("return a > x and (rest == 1 and step > x);"), both);
    let whole = [Some((vec![0, 1, 2], true)), None];
    assert_eq!(reads("return step > x and a > x;"), whole);
    assert_eq!(reads("return step > x or a > x;"), whole);
    assert_eq!(reads("return a > x and rest == 1;"), [Some((vec![0, 2], false)), None]);
    assert_eq!(
        reads("return a > x and step > x and b > x;"),
        [Some((vec![0, 2], false)), Some((vec![1, 2], true))]
    );
}
