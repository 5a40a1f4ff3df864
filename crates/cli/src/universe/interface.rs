//! `hemiola universe interface`: what a module of a user sees of an element.

use hemiola_world::Interface;
use hemiola_world_lang::definition::Universe;

use super::definition;
use crate::args::{InterfaceForm, UniverseInterface};
use crate::diagnostics::Failure;

pub(super) fn interface(args: &UniverseInterface) -> Result<String, Failure> {
    let universes = definition(&args.files, None)?.universes;
    let [universe] = <[Universe; 1]>::try_from(universes).map_err(|universes| {
        let count = universes.len();
        Failure::bad_input(format!("error: the texts define {count} universes; name those of one"))
    })?;
    let interface = Interface::of(&universe, &args.element).map_err(|error| {
        let hint = "`hemiola universe show` lists the elements with their properties";
        Failure::bad_input(format!("error: {error}\nhint: {hint}"))
    })?;
    Ok(match args.form {
        InterfaceForm::Header => interface.c_header(),
        InterfaceForm::C => interface.c_example("element.h"),
        InterfaceForm::Wat => interface.wat_example(),
    })
}
