//! The bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

use crate::{Base, merge, merge_with_problems, read, render, tree};

/// Reads arbitrary bytes as a module or an archive, and merges the modules.
///
/// # Panics
/// If a model violates its invariants, or the result depends on the order of the modules.
pub fn modules(bytes: &[u8]) {
    let (mut modules, warnings) = match read("fuzz.xml", bytes) {
        Ok(found) => found,
        Err(problems) => {
            assert!(problems.iter().any(crate::Problem::is_fatal));
            assert!(!render(&problems).is_empty());
            return;
        }
    };
    assert!(!warnings.iter().any(crate::Problem::is_fatal));
    let (model, problems) = merge_with_problems(&modules, Base::Standard, None);
    model.check_invariants();
    let shown = (render(&problems), tree::tree(&model, tree::Contents::All));
    modules.reverse();
    let (again, problems) = merge_with_problems(&modules, Base::Standard, None);
    assert_eq!(again, model);
    assert_eq!((render(&problems), tree::tree(&again, tree::Contents::All)), shown);
    if let Ok((valid, _)) = merge(&modules, None) {
        // Merging the same modules again changes nothing.
        let (extended, _) = merge(&modules, Some(&valid)).expect("the same modules agree");
        assert_eq!(extended, valid);
    }
}
