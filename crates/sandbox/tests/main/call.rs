//! Calls: what returns, and the verdict on what does not.

use hemiola_sandbox::Fault;

use crate::{PLENTY, compile, instance, is_available};

/// The verdict on calling `run` of a module with these contents.
fn verdict(contents: &str) -> Result<(), Fault> {
    let mut instance = instance(&format!("(module {contents})"));
    let run = instance.function::<(), ()>("run").unwrap();
    instance.seal();
    instance.call(&run, (), PLENTY)
}

#[test]
fn every_broken_rule_is_a_verdict_by_its_own_name() {
    if !is_available() {
        return;
    }
    let run = |body: &str| verdict(&format!(r#"(memory 1) (func (export "run") {body})"#));
    assert_eq!(run(""), Ok(()));
    assert_eq!(run("(loop (br 0))"), Err(Fault::OutOfFuel));
    assert_eq!(run("unreachable"), Err(Fault::Unreachable));
    assert_eq!(run("(drop (i32.load (i32.const 65533)))"), Err(Fault::OutOfBounds));
    assert_eq!(run("(drop (i32.load (i32.const -4)))"), Err(Fault::OutOfBounds));
    assert_eq!(run("(drop (i32.div_s (i32.const 1) (i32.const 0)))"), Err(Fault::Arithmetic));
    assert_eq!(run("(drop (i32.trunc_f64_s (f64.const nan)))"), Err(Fault::Arithmetic));
    assert_eq!(run("(drop (memory.grow (i32.const 1)))"), Err(Fault::Growth));
    let recursion = r#"(func $run (export "run") (call $run))"#;
    assert_eq!(verdict(recursion), Err(Fault::StackExhausted));
    let empty = r#"(table 2 funcref) (func (export "run") (call_indirect (i32.const 1)))"#;
    assert_eq!(verdict(empty), Err(Fault::IndirectCall));
    let beyond = r#"(table 2 funcref) (func (export "run") (call_indirect (i32.const 2)))"#;
    assert_eq!(verdict(beyond), Err(Fault::OutOfBounds));
}

#[test]
fn bulk_operations_consume_fuel_by_the_byte() {
    if !is_available() {
        return;
    }
    let fill = |bytes: u32| {
        let text = format!(
            r#"(module (memory 8) (func (export "run")
                (memory.fill (i32.const 0) (i32.const 1) (i32.const {bytes}))))"#
        );
        let mut instance = instance(&text);
        let run = instance.function::<(), ()>("run").unwrap();
        instance.call(&run, (), PLENTY).map(|()| PLENTY - instance.fuel_left())
    };
    let (little, more) = (fill(1_000).unwrap(), fill(2_000).unwrap());
    assert_eq!(more - little, 1_000);
    assert_eq!(fill(500_000), Err(Fault::OutOfFuel));
}

#[test]
fn memory_grows_up_to_its_limit_until_it_is_sealed() {
    if !is_available() {
        return;
    }
    let text = r#"(module (memory (export "memory") 1)
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#;
    let mut instance = instance(text);
    let grow = instance.function::<i32, i32>("grow").unwrap();
    assert_eq!(instance.call(&grow, 62, PLENTY), Ok(1));
    assert_eq!(instance.memory().len(), 63 << 16);
    assert_eq!(instance.call(&grow, 2, PLENTY), Err(Fault::Growth));
    instance.seal();
    assert_eq!(instance.call(&grow, 1, PLENTY), Err(Fault::Growth));
}

#[test]
fn instances_of_a_module_share_code_and_nothing_else() {
    if !is_available() {
        return;
    }
    let text = r#"(module (memory (export "memory") 1) (global $calls (mut i32) (i32.const 0))
        (func (export "count") (result i32)
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.add (global.get $calls) (i32.load (i32.const 8)))))"#;
    let module = compile(text.as_bytes()).unwrap();
    let mut instances = [module.instantiate(PLENTY).unwrap(), module.instantiate(PLENTY).unwrap()];
    let count = instances.each_mut().map(|each| each.function::<(), i32>("count").unwrap());
    assert_eq!(instances[0].call(&count[0], (), PLENTY), Ok(1));
    assert_eq!(instances[0].call(&count[0], (), PLENTY), Ok(2));
    instances[1].memory_mut()[8] = 40;
    assert_eq!(instances[1].call(&count[1], (), PLENTY), Ok(41));
    assert_eq!(instances[0].memory()[8], 0);
}

#[test]
fn fuel_is_counted_the_same_in_every_call() {
    if !is_available() {
        return;
    }
    let text = r#"(module (func (export "half") (param f64) (result f64)
        (f64.div (local.get 0) (f64.const 2))))"#;
    let mut instance = instance(text);
    let half = instance.function::<f64, f64>("half").unwrap();
    let mut used = |x: f64| {
        assert_eq!(instance.call(&half, x, PLENTY), Ok(x / 2.0));
        PLENTY - instance.fuel_left()
    };
    let once = used(1.0);
    assert!(
        (10..20).contains(&once),
        "a division costs as much as eight simple instructions: {once}"
    );
    assert_eq!(used(-7.0), once);
}
