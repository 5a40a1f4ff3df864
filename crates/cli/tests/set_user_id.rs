//! A program with more rights than its user ignores who asks it to mark.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::machine::Machine;

/// Exit codes of the program: it is recorded; it is not, with other rights than those of its user; it is not.
const RECORDED: i32 = 40;
const RAISED: i32 = 41;

/// A stranger must not be able to make a set-user-ID program write into memory of the stranger's choice. So the header
/// reads `HEMIOLA_TRACE` by secure_getenv(3), which finds nothing in such a program.
#[test]
fn a_set_user_id_program_ignores_the_recorder_that_its_user_names() {
    let machine = Machine::take("set-user-id");
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: needs the root user, to give a program the rights of another user");
        return;
    }
    let text = format!(
        "#include <unistd.h>
        #include \"hemiola_mark.h\"
        int main(void) {{
            hemiola_task_t t = hemiola_task(\"control\", 0, 0);
            hemiola_begin(&t, 0); hemiola_end(&t);
            if (hemiola_is_recorded()) return {RECORDED};
            return getuid() != geteuid() ? {RAISED} : 42;
        }}\n"
    );
    let source = machine.write("raised.c", &text);
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/include");
    let options = ["-std=gnu11", "-Wall", "-Werror", "-I"].map(Path::new);
    let built = machine.gcc("raised", options.into_iter().chain([&*header, &*source]));
    let Some(program) = built else { return };
    fs::set_permissions(machine.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();

    // Its own user may run and record it: then it has no more rights than its user.
    let own = machine.hemiola(&["trace", "-o", "own.trace", "--", "./raised"]);
    if own.stderr.contains("needs CAP_PERFMON") {
        println!("skipped: needs CAP_PERFMON");
        return;
    }
    let own = own.with_code(RECORDED);
    assert!(own.stderr.contains("2 marks of 1 task"), "{}", own.stderr);

    let stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let tried = machine.command(stranger[0], &[&stranger[1..], &["./raised"]].concat()).status();
    if tried.is_err() {
        println!("skipped: needs setpriv of util-linux");
        return;
    }
    if tried.is_ok_and(|status| status.code() != Some(RAISED)) {
        println!("skipped: needs a temporary folder whose programs may have more rights (nosuid)");
        return;
    }
    let words = [&["trace", "-o", "raised.trace", "--"], &stranger[..], &["./raised"]].concat();
    let ended = machine.hemiola(&words).with_code(RAISED);
    assert!(!ended.stderr.contains("marks of"), "{}", ended.stderr);
    machine.nothing_is_left();
}
