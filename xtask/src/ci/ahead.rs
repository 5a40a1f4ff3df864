//! Builds the programs of later steps while the tests run, which leave the processors idle most of the time.

use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// Commands that run one after the other at the lowest priority. They only save time: each step builds its programs
/// again, finds them built, and reports a failure as its own.
pub(super) struct Ahead(JoinHandle<()>);

impl Ahead {
    /// Starts the commands, whose output nobody sees.
    pub(super) fn start(commands: Vec<Command>) -> Self {
        Self(std::thread::spawn(|| {
            for command in commands {
                if let Ok(mut child) = start_idle(&command) {
                    // What failed is built again, and reported, by its own step.
                    let _ = child.wait();
                }
            }
        }))
    }

    /// Waits until the last command has ended.
    pub(super) fn finish(self) {
        // The thread has no result, and a panic in it costs nothing but time.
        let _ = self.0.join();
    }
}

/// Starts a command under `SCHED_IDLE`: it runs only while no test wants the processor. Without `chrt` of util-linux,
/// `nice` comes close.
fn start_idle(command: &Command) -> std::io::Result<Child> {
    let start = |words: &[&str]| {
        let mut idle = Command::new(words[0]);
        idle.args(&words[1..]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => idle.env(name, value),
                None => idle.env_remove(name),
            };
        }
        idle.current_dir(command.get_current_dir().unwrap_or_else(|| ".".as_ref()));
        idle.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    start(&["chrt", "--idle", "0"]).or_else(|_| start(&["nice", "-n", "19"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_run_in_their_folder_with_their_variables_and_a_failure_ends_nothing() {
        let folder = std::env::temp_dir().join(format!("ahead-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut failing = Command::new("false");
        failing.current_dir(&folder);
        let mut writing = Command::new("sh");
        writing.args(["-c", "echo \"$WORD\" > written"]).env("WORD", "ahead").current_dir(&folder);
        Ahead::start(vec![failing, writing]).finish();
        let written = std::fs::read_to_string(folder.join("written")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(written, "ahead\n");
    }

    #[test]
    fn processor_is_used_only_when_it_is_idle() {
        if !Command::new("chrt").arg("--version").output().is_ok_and(|it| it.status.success()) {
            println!("skipped: needs chrt");
            return;
        }
        let mut showing = Command::new("sh");
        let file = std::env::temp_dir().join(format!("ahead-policy-{}", std::process::id()));
        showing.args(["-c", "chrt -p $$ > \"$FILE\""]).env("FILE", &file);
        Ahead::start(vec![showing]).finish();
        let policy = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(policy.contains("SCHED_IDLE"), "{policy}");
    }
}
