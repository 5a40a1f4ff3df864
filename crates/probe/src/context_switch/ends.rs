//! The links between the two processes, and each process's ends of them.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use hemiola_rt::shared::Words;
use hemiola_rt::sys::descriptor::duplicate;
use hemiola_rt::sys::futex::{wait_until, wake_all};
use hemiola_rt::sys::process::clear_cloexec;
use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::processes::Role;

/// The objects that the measuring process keeps while the two run.
#[derive(Debug)]
pub(crate) enum Objects {
    /// To the far process, and back.
    Pipes([(PipeReader, PipeWriter); 2]),
    Words(Words),
}

/// The descriptor numbers that one process inherits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Description {
    Pipes { read: i32, write: i32 },
    Words(i32),
}

impl Objects {
    /// New objects, inherited by processes started from now on.
    pub(crate) fn create(mechanism: Mechanism) -> io::Result<Self> {
        let objects = match mechanism {
            Mechanism::Pipe => Self::Pipes([io::pipe()?, io::pipe()?]),
            _ => Self::Words(Words::create("hemiola-switch")?),
        };
        objects.descriptors().into_iter().try_for_each(clear_cloexec)?;
        Ok(objects)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Pipes(pipes) => {
                pipes.iter().flat_map(|(read, write)| [read.as_fd(), write.as_fd()]).collect()
            }
            Self::Words(words) => vec![words.fd()],
        }
    }

    pub(crate) fn description(&self, role: Role) -> Description {
        match self {
            Self::Pipes([there, back]) => {
                let (read, write) = match role {
                    Role::Near => (&back.0, &there.1),
                    Role::Far => (&there.0, &back.1),
                };
                Description::Pipes { read: read.as_raw_fd(), write: write.as_raw_fd() }
            }
            Self::Words(words) => Description::Words(words.fd().as_raw_fd()),
        }
    }
}

/// One process's link to the other and back.
pub(crate) trait Ends {
    /// Hands over the turn with `token`, which differs from the previous one.
    fn hand_over(&mut self, token: u32) -> io::Result<()>;
    /// Waits for the turn and returns its token.
    fn wait(&mut self) -> io::Result<u32>;
}

impl Description {
    pub(crate) fn open(self, mechanism: Mechanism, role: Role) -> io::Result<Box<dyn Ends>> {
        Ok(match self {
            Self::Pipes { read, write } => {
                let (read, write) = (duplicate(read)?.into(), duplicate(write)?.into());
                Box::new(Piped { read, write })
            }
            Self::Words(fd) => {
                let words = Words::from_fd(duplicate(fd)?)?;
                let (out, back) = match role {
                    Role::Near => (0, 1),
                    Role::Far => (1, 0),
                };
                let way = Way { words, out, back, seen: 0 };
                let no_wake = |_: &AtomicU32| ();
                match mechanism {
                    Mechanism::Yield => {
                        let pause = |_: &AtomicU32, _| rustix::thread::sched_yield();
                        Box::new(Shared { way, wake: no_wake, pause })
                    }
                    Mechanism::SharedMemory => {
                        let pause = |_: &AtomicU32, _| std::hint::spin_loop();
                        Box::new(Shared { way, wake: no_wake, pause })
                    }
                    _ => {
                        let pause = |word: &AtomicU32, seen| _ = wait_until(word, seen, None);
                        let wake = |word: &AtomicU32| _ = wake_all(word);
                        Box::new(Shared { way, wake, pause })
                    }
                }
            }
        })
    }
}

struct Piped {
    read: File,
    write: File,
}

impl Ends for Piped {
    fn hand_over(&mut self, token: u32) -> io::Result<()> {
        // So short a write is atomic (pipe(7), PIPE_BUF).
        self.write.write_all(&token.to_le_bytes())
    }

    fn wait(&mut self) -> io::Result<u32> {
        let mut token = [0; 4];
        self.read.read_exact(&mut token)?;
        Ok(u32::from_le_bytes(token))
    }
}

/// A word each way.
struct Way {
    words: Words,
    out: usize,
    back: usize,
    /// The last value of the way back.
    seen: u32,
}

impl Way {
    #[inline]
    fn put(&self, token: u32) -> &AtomicU32 {
        let word = self.words.word(self.out);
        // SYNC POINT with the acquire in `wait_by`.
        word.store(token, Ordering::Release);
        word
    }

    /// Waits for a new token, calling `pause` while there is none.
    #[inline]
    fn wait_by(&mut self, pause: impl Fn(&AtomicU32, u32)) -> u32 {
        let word = self.words.word(self.back);
        loop {
            // SYNC POINT with the release in `put`.
            let token = word.load(Ordering::Acquire);
            if token != self.seen {
                self.seen = token;
                return token;
            }
            pause(word, token);
        }
    }
}

/// Ends that `wake` the other process after handing over, and `pause` between looks for its token.
struct Shared<W, P> {
    way: Way,
    wake: W,
    pause: P,
}

impl<W: Fn(&AtomicU32), P: Fn(&AtomicU32, u32)> Ends for Shared<W, P> {
    fn hand_over(&mut self, token: u32) -> io::Result<()> {
        (self.wake)(self.way.put(token));
        Ok(())
    }

    fn wait(&mut self) -> io::Result<u32> {
        Ok(self.way.wait_by(&self.pause))
    }
}
