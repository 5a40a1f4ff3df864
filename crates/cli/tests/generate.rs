//! Man pages, completions and the version, which packages of the command contain.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::PROGRAM;
use crate::machine::Machine;
use crate::small_disk::SmallDisk;

#[test]
fn man_pages_and_completions_are_generated() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generate");
    let _ = fs::remove_dir_all(&folder);
    let status = Command::new(PROGRAM).arg("generate").arg(&folder).status().unwrap();
    assert!(status.success());
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    assert!(read("man/hemiola.1").contains("hemiola\\-trace(1)"));
    assert!(read("man/hemiola-rti-status.1").contains("\\-\\-json"));
    assert!(read("man/hemiola-generate.1").contains("man pages"));
    for file in ["include/hemiola_manager.h", "python/hemiola_manager.py"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manager").join(file);
        assert_eq!(read(file), fs::read_to_string(source).unwrap(), "{file}");
    }
    for file in ["hemiola.bash", "_hemiola", "hemiola.fish"] {
        assert!(read(&format!("completions/{file}")).contains("trace"), "{file}");
    }
}

#[test]
fn a_full_disk_leaves_no_part_of_a_file_and_a_hint() {
    let machine = Machine::take("generate-full");
    let folder = machine.folder().join("small");
    let Some(_disk) = SmallDisk::mount(&folder, "64k") else { return };
    let ended = machine.hemiola(&["generate", "small"]).with_code(1);
    assert!(
        ended.stderr.contains("cannot be written: No space left on device"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("\nhint: "), "{}", ended.stderr);
    let is_whole = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        file.extension().is_some_and(|end| end == "1")
            && text.contains(".SH NAME")
            && text.ends_with('\n')
    };
    let files: Vec<_> = fs::read_dir(folder.join("man")).unwrap().flatten().collect();
    assert!(!files.is_empty() && files.iter().all(|file| is_whole(&file.path())), "{files:?}");
}

/// What the guide says for programs outside the repository.
#[test]
fn generated_files_are_all_that_a_program_in_c_or_python_needs() {
    let machine = Machine::take("generate-mark");
    let program = "#include \"hemiola_mark.h\"\n\
        int main(void) { hemiola_task_t t = hemiola_task(\"t\", 0, 0); hemiola_mark(&t, \"x\", 0.5); return 0; }\n";
    machine.write("program.c", program);
    machine.write("program.py", "import hemiola_mark\nhemiola_mark.Task('t').mark('x', 0.5)\n");
    let lines = [
        "hemiola generate marks && cc -I marks/include program.c -o program && ./program",
        "hemiola generate marks && PYTHONPATH=marks/python python3 -B program.py",
    ];
    for (line, tool) in lines.iter().zip(["cc", "python3"]) {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: needs {tool}");
            continue;
        }
        let line = line.replacen("hemiola", PROGRAM, 1);
        let shell = Command::new("sh").args(["-ec", &line]).current_dir(machine.folder()).status();
        assert!(shell.unwrap().success(), "{line}");
    }
}

#[test]
fn version_names_the_build() {
    let output = Command::new(PROGRAM).arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    assert!(version.starts_with("hemiola 0.1.0 (commit "), "{version}");
    let allocator = if cfg!(feature = "jemalloc") { ", jemalloc" } else { "" };
    let sandbox = if cfg!(feature = "sandbox") { ", sandbox" } else { "" };
    assert!(version.ends_with(&format!(" build, with pubsub{allocator}{sandbox})\n")), "{version}");
}
