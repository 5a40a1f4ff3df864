//! The cost of starting a thread or a process and waiting for its end.

use std::io;
use std::process::Stdio;
use std::thread;

use hemiola_units::Profile;

use crate::catalogue::Probe;
use crate::peer::{Part, command};
use crate::stage::{Stage, pair};
use crate::{ProbeError, Readings, Setting, Unit};

/// The created object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creation {
    /// A thread that does nothing, started and joined.
    Thread,
    /// This program executed again with nothing to do, started and waited for.
    Process,
}

/// Uncounted first creations, which load files into the cache.
const WARM_UP: u32 = 3;

pub(crate) fn probes() -> Vec<Probe> {
    let probe = |name, title, kind, how| {
        Probe::time(name, title, true, move |name, setting, count| {
            creation(kind, how, name, setting, count)
        })
    };
    let thread = "starting a thread that does nothing, to its end";
    let process = "executing this program with nothing to do, to its end";
    vec![
        probe("creation.thread", thread, Creation::Thread, "pthread_create, pthread_join"),
        probe("creation.process", process, Creation::Process, "posix_spawn, waitpid"),
    ]
}

/// Takes `count` readings. Thread and process inherit processor and scheduling from the measuring thread.
///
/// A process is started by posix_spawn(3), which the standard library uses if nothing has to happen between fork and
/// exec. The child borrows the parent's memory until it executes the program (as by vfork(2)), so the parent's size
/// does not matter. The program's own start is included: loading it, its arguments, and its work before it finds that
/// it has nothing to do.
fn creation(
    kind: Creation,
    how: &str,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, |stage| {
        let mut command =
            command(&setting.peers, Profile::ordinary(), setting.calibration, Part::Nothing);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let overhead = pair(&stage.clock);
        let mut values = Vec::with_capacity(count as usize);
        for number in 0..count.saturating_add(WARM_UP) {
            stage.rest_if_due();
            let mut outcome = Ok(());
            let nanos = stage.time(|| {
                outcome = match kind {
                    Creation::Thread => {
                        let started = thread::Builder::new().spawn(|| ());
                        started.map(|thread| thread.join().expect("it does nothing"))
                    }
                    Creation::Process => command.status().and_then(|status| {
                        let failed =
                            || io::Error::other(format!("the program ended with {status}"));
                        status.success().then_some(()).ok_or_else(failed)
                    }),
                }
            });
            outcome.map_err(ProbeError::doing("start a thread or process to measure"))?;
            if number >= WARM_UP {
                values.push(nanos - overhead.value);
            }
        }
        let place = (setting, stage.granted.clone());
        let taken = (values, overhead);
        Ok(Readings::new(name, Unit::Nanoseconds, taken, 1, place, &[("by", how)]))
    })
}
