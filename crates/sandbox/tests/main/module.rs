//! Modules that are refused before they run, each with what to change.

use hemiola_sandbox::LoadError;

use crate::{PLENTY, compile, instance, is_available};

#[test]
fn a_module_is_refused_before_it_runs_with_what_to_change() {
    if !is_available() {
        return;
    }
    let refused = |text: &str| {
        let module = compile(text.as_bytes());
        module.and_then(|module| module.instantiate(PLENTY)).unwrap_err().to_string()
    };
    let cases = [
        ("(module\n  (func (resutl f64)))", "unit.wat:2:10: unknown operator or unexpected token"),
        ("(module (func (result f64) i32.const 1))", "it is not a valid WebAssembly module: "),
        (
            r#"(module (import "env" "open" (func)) (import "env" "sin" (func)))"#,
            "it imports \"open\" of \"env\", \"sin\" of \"env\"; a sandboxed module gets no imports: \
             build it without a run-time system such as WASI",
        ),
        (
            "(module (memory 65))",
            "it starts with 4259840 bytes of memory; at most 4194304 are allowed: build it with a smaller \
             stack or heap",
        ),
        (
            "(module (table 5000 funcref))",
            "it starts with a table of 5000 entries; at most 4096 are allowed",
        ),
        ("(module (memory 1) (memory 1))", "it is not a valid WebAssembly module: "),
        (
            "(module (func $hang (loop (br 0))) (start $hang))",
            "its function \"start\" failed while it was prepared: it computed for longer than its fuel lasts",
        ),
        (
            r#"(module (func (export "_initialize") unreachable))"#,
            "its function \"_initialize\" failed while it was prepared: \
             it executed unreachable: an assertion failed, or it panicked",
        ),
    ];
    for (text, message) in cases {
        let found = refused(text);
        assert!(found.starts_with(message), "{text}\n{found}");
    }
    let damaged = compile(b"\0asm\x01\0\0\0\x05\xff").unwrap_err().to_string();
    assert!(damaged.starts_with("it is not a valid WebAssembly module: "), "{damaged}");
    assert_eq!(
        compile(&vec![b' '; 300_000]).unwrap_err(),
        LoadError::TooLong { found: 300_000, limit: 262_144 }
    );
}

#[test]
fn a_missing_or_differing_function_is_named_with_its_type() {
    if !is_available() {
        return;
    }
    let mut instance =
        instance(r#"(module (memory (export "m") 1) (func (export "f") (param i32)))"#);
    let mut absent =
        |name: &str| instance.function::<(f64, f64), f64>(name).unwrap_err().to_string();
    assert_eq!(
        absent("step"),
        "it exports no function \"step\"; it must export \"step\" of type (f64, f64) -> f64"
    );
    assert_eq!(
        absent("f"),
        "its export \"f\" is (i32) -> (); it must be a function of type (f64, f64) -> f64"
    );
    assert_eq!(
        absent("m"),
        "its export \"m\" is a memory; it must be a function of type (f64, f64) -> f64"
    );
    assert!(instance.optional_function::<(), ()>("absent").unwrap().is_none());
}
