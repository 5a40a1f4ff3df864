//! The kernel's description of this machine.

use std::fs;
use std::path::Path;

use hemiola_model::machine::Identity;
use hemiola_trace::result::Conditions;
use hemiola_units::Bytes;

use crate::staircase::KernelCache;

/// The data caches of processor `cpu`, nearest first (`/sys/devices/system/cpu/cpu*/cache`); empty if the kernel does
/// not report them, as on many virtual machines.
#[must_use]
pub fn kernel_caches(cpu: u16) -> Vec<KernelCache> {
    read(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cache")))
}

fn read(folder: &Path) -> Vec<KernelCache> {
    let cache = |folder: &Path| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
        if text("type")?.trim() == "Instruction" {
            return None;
        }
        let size = text("size")?;
        // The kernel writes KiB as K.
        let size: Bytes = size.trim().replace('K', "KiB").replace('M', "MiB").parse().ok()?;
        Some(KernelCache { level: text("level")?.trim().parse().ok()?, size: size.0 })
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<KernelCache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// The properties that identify this machine.
#[must_use]
pub fn identity(conditions: &Conditions) -> Identity {
    Identity {
        cpu_model: conditions.cpu_model.clone(),
        cpus_online: conditions.cpus_online,
        kernel: conditions.kernel.clone(),
        virtualized: conditions.virtualized.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_caches_are_listed_in_order() {
        let root = std::env::temp_dir().join(format!("measure-caches-{}", std::process::id()));
        for (index, level, kind, size) in [
            ("index3", "3", "Unified", "32768K"),
            ("index0", "1", "Data", "32K"),
            ("index1", "1", "Instruction", "64K"),
            ("power", "", "", ""),
        ] {
            let folder = root.join(index);
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        let caches = read(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(
            caches,
            [KernelCache { level: 1, size: 32 << 10 }, KernelCache { level: 3, size: 32 << 20 }]
        );
        assert!(read(&root).is_empty(), "without the folder there are no caches");
    }
}
