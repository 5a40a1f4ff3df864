//! The body of a fuzz target: an ordinary function, so that it also runs in the tests.

use hemiola_world_lang::definition::FunctionId;
use hemiola_world_lang::{Sources, check, fuzzing};

use crate::wasm::emit;
use crate::{CodeError, Texts, compile};

/// Writes a sound universe as these bytes choose, compiles its functions and makes their modules.
///
/// # Panics
/// If the text is not sound, a function has no code, or it has another code or module the second time.
pub fn compiled(bytes: &[u8]) {
    let mut bytes = bytes.iter();
    let items = fuzzing::program(&mut |most| u64::from(*bytes.next().unwrap_or(&0)) % most);
    let sources =
        Sources::of("fuzz.uml", format!("universe u {{ {items} }}")).expect("it is short");
    let definition = check(&sources, None).expect("the program is sound");
    let universe = &definition.universes[0];
    for function in (0..universe.functions.len() as u32).map(FunctionId) {
        let code = || compile(universe, function, &mut Texts::default());
        let program = match code() {
            Ok(program) => program,
            Err(CodeError::RowParameter(_)) => continue,
            Err(error) => panic!("{error}\n{items}"),
        };
        assert_eq!(Ok(&program), code().as_ref());
        let module = || emit(&program).map(|emitted| emitted.module.bytes().to_vec());
        assert_eq!(module(), module());
    }
}
