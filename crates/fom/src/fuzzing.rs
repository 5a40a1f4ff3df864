//! Bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

use crate::{Base, merge, read, render, tree, unite};

/// Reads arbitrary bytes as a module or an archive, and merges what was understood.
///
/// # Panics
/// When a model breaks its invariants, or merging depends on the order of the modules.
pub fn modules(bytes: &[u8]) {
    let (mut modules, doubts) = match read("fuzz.xml", bytes) {
        Ok(found) => found,
        Err(problems) => {
            assert!(problems.iter().any(crate::Problem::is_error));
            assert!(!render(&problems).is_empty());
            return;
        }
    };
    assert!(!doubts.iter().any(crate::Problem::is_error));
    let (model, problems) = unite(&modules, Base::Standard, None);
    model.check_invariants();
    let shown = (render(&problems), tree::tree(&model, tree::Contents::All));
    modules.reverse();
    let (again, problems) = unite(&modules, Base::Standard, None);
    assert_eq!(again, model);
    assert_eq!((render(&problems), tree::tree(&again, tree::Contents::All)), shown);
    if let Ok((sound, _)) = merge(&modules, None) {
        // Joining with the same modules once more changes nothing.
        let (extended, _) = merge(&modules, Some(&sound)).expect("the same modules agree");
        assert_eq!(extended, sound);
    }
}
