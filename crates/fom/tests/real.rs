//! Public object models, if they are beside the repository: `../shared/foms`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hemiola_fom::{
    Base, Edition, Module, Problem, ProblemKind, merge, merge_with_problems, read, render,
};

/// Returns the files of a folder of models, by name. Without the models, prints that the test is skipped.
fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Beside the repository, or beside that of a work tree.
    let places = ["../shared/foms", "../../shared/foms"].map(|place| root.join(place).join(folder));
    let Some(Ok(entries)) = places.iter().map(fs::read_dir).find(Result::is_ok) else {
        println!("skipped: needs the public object models in ../shared/foms");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    files
}

fn modules(files: &[PathBuf]) -> Vec<Arc<Module>> {
    let mut modules = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy();
        match read(&name, &fs::read(file).unwrap()) {
            Ok((found, _)) => modules.extend(found),
            Err(problems) => panic!("{}", render(&problems)),
        }
    }
    modules
}

#[test]
fn space_reference_model_is_valid() {
    let modules = modules(&files("spacefom"));
    if modules.is_empty() {
        return;
    }
    assert!(modules.iter().all(|module| module.edition == Edition::E2010));
    let (model, _) =
        merge(&modules, None).unwrap_or_else(|problems| panic!("{}", render(&problems)));
    model.check_invariants();
    let entity = model.object_class_named("PhysicalEntity").unwrap();
    assert!(model.attribute_named(entity, "state").is_some());
    assert!(model.synchronization_points().contains_key("initialization_started"));
}

#[test]
fn small_models_are_valid_one_by_one() {
    for file in files("small") {
        let modules = modules(&[file]);
        let (model, _) =
            merge(&modules, None).unwrap_or_else(|problems| panic!("{}", render(&problems)));
        model.check_invariants();
    }
}

#[test]
fn chat_models_of_both_editions_are_merged() {
    let files = files("small");
    let chat = |file: &PathBuf| file.to_string_lossy().contains("Chat");
    let modules = modules(&files.into_iter().filter(chat).collect::<Vec<PathBuf>>());
    if modules.is_empty() {
        return;
    }
    // They differ in sharing, which only gives warnings.
    let (model, warnings) =
        merge(&modules, None).unwrap_or_else(|problems| panic!("{}", render(&problems)));
    assert!(warnings.iter().all(|warning| warning.message.contains("two different")));
    let class = model.interaction_class_named("Communication").unwrap();
    assert!(model.parameter_named(class, "Message").is_some());
}

#[test]
fn modules_of_netn_agree_and_lack_only_their_dependencies() {
    let modules = modules(&files("netn-hla4"));
    if modules.is_empty() {
        return;
    }
    let (model, problems) = merge_with_problems(&modules, Base::Standard, None);
    model.check_invariants();
    let others: Vec<Problem> =
        problems.into_iter().filter(|problem| problem.kind != ProblemKind::Incomplete).collect();
    assert_eq!(render(&others), "");
    let mut backwards = modules;
    backwards.reverse();
    assert_eq!(merge_with_problems(&backwards, Base::Standard, None).0, model);
}
