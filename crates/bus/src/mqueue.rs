//! POSIX message queues: one sender, one receiver, messages kept by the kernel.
//!
//! A latest channel is a queue of two messages. If it is full, its sender drops the older one, so that there is a
//! value at every moment. Its receiver reads on to the newest.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hemiola_rt::sys::mqueue::{self, Ends};
use hemiola_units::{Delivery, Instant};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::Readiness;
use crate::channel::{ReceiveError, Receiver, SendError, Sender, check_buffer, check_message};
use crate::open::{CreateError, Spec};

/// Messages in a latest channel: one to drop, one to keep.
const LATEST_LENGTH: u32 = 2;

/// How often a latest sender makes room before it gives up. Once is enough with one sender.
const DROPS_MAX: usize = 4;

/// How many messages a latest receiver reads at most: those in the queue, and those that arrive meanwhile.
const PASS_OVER_MAX: usize = 4;

/// Creates the queue and removes its name.
pub(crate) fn create(spec: &Spec) -> Result<Ends, CreateError> {
    let length = match spec.delivery {
        Delivery::Latest => LATEST_LENGTH,
        Delivery::Queue(length) => length.get(),
    };
    let name = format!("/hemiola-{}-{}", spec.run, spec.endpoint.name());
    let make = || mqueue::create(&name, length, spec.message_size);
    let made = match make() {
        // Its creator was killed between creating it and removing the name.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            mqueue::remove(&name).and_then(|()| make())
        }
        made => made,
    };
    made.map_err(|error| explain(spec, length, error))
}

/// Names the limit that refused the queue, and how to raise it.
fn explain(spec: &Spec, length: u32, source: io::Error) -> CreateError {
    let failed = |what: &str, source| CreateError::Failed {
        endpoint: spec.endpoint.clone(),
        what: what.into(),
        source,
    };
    let errno = Errno::from_io_error(&source);
    match errno {
        Some(Errno::INVAL) => {}
        Some(Errno::MFILE) => {
            return failed(
                "its queue does not fit RLIMIT_MSGQUEUE; `ulimit -q unlimited` raises it",
                source,
            );
        }
        Some(Errno::NOSPC) => {
            return failed(
                "the system has fs.mqueue.queues_max queues; `sysctl fs.mqueue.queues_max=512` \
                 raises it",
                source,
            );
        }
        Some(Errno::NOSYS) => return failed("this kernel has no POSIX message queues", source),
        _ => return failed("mq_open was refused", source),
    }
    let mechanism = spec.endpoint.mechanism();
    let limit = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/mqueue/{name}")).ok()?;
        text.trim().parse::<u32>().ok()
    };
    let remedy = |name: &str, value: usize| {
        format!(" (fs.mqueue.{name}); `sysctl fs.mqueue.{name}={value}` as root raises it")
    };
    if let Some(length_max) = limit("msg_max").filter(|limit| length > *limit) {
        let remedy = remedy("msg_max", length as usize);
        return CreateError::QueueLength { mechanism, length, length_max, remedy };
    }
    let size = spec.message_size;
    let size_limit = limit("msgsize_max").map(|limit| limit as usize);
    if let Some(size_max) = size_limit.filter(|limit| size > *limit) {
        let remedy = remedy("msgsize_max", size);
        return CreateError::MessageSize { mechanism, size, size_max, remedy };
    }
    failed("mq_open refused the sizes", source)
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct QueueSender {
    queue: OwnedFd,
    message_size: usize,
    drops_max: usize,
    /// Receives dropped messages.
    waste: Box<[u8]>,
    /// A private queue to warm up on; `None` if the limits leave no room for it.
    rehearsal: Option<Ends>,
}

/// Bytes of the message sent to warm up.
const REHEARSAL_SIZE: usize = 8;

impl QueueSender {
    pub(crate) fn new(queue: OwnedFd, spec: &Spec) -> Self {
        let (drops_max, waste) = match spec.delivery {
            Delivery::Latest => (DROPS_MAX, vec![0; spec.message_size]),
            Delivery::Queue(_) => (0, Vec::new()),
        };
        let name = format!("/hemiola-{}-{}-{}", spec.run, spec.endpoint.name(), std::process::id());
        let rehearsal = mqueue::create(&name, 1, REHEARSAL_SIZE).ok();
        let message_size = spec.message_size;
        Self { queue, message_size, drops_max, waste: waste.into(), rehearsal }
    }
}

impl Sender for QueueSender {
    fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        check_message(message, self.message_size)?;
        for _ in 0..self.drops_max {
            match mqueue::send(self.queue.as_fd(), message) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return sent.map_err(SendError::Failed),
            }
            match mqueue::receive(self.queue.as_fd(), &mut self.waste) {
                // The receiver was faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                dropped => drop(dropped.map_err(SendError::Failed)?),
            }
        }
        mqueue::send(self.queue.as_fd(), message).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SendError::Full,
            _ => SendError::Failed(error),
        })
    }

    /// Runs the kernel's code for sending and receiving, on the private queue.
    fn warm_up(&mut self) {
        if let Some(Ends { sender, receiver }) = &self.rehearsal {
            let mut buffer = [0; REHEARSAL_SIZE];
            let _ = mqueue::send(sender.as_fd(), &buffer);
            let _ = mqueue::receive(receiver.as_fd(), &mut buffer);
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct QueueReceiver {
    queue: OwnedFd,
    message_size: usize,
    pass_over: usize,
}

impl QueueReceiver {
    pub(crate) fn new(queue: OwnedFd, spec: &Spec) -> Self {
        let pass_over = match spec.delivery {
            Delivery::Latest => PASS_OVER_MAX,
            Delivery::Queue(_) => 1,
        };
        Self { queue, message_size: spec.message_size, pass_over }
    }
}

impl Receiver for QueueReceiver {
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError> {
        check_buffer(buffer, self.message_size)?;
        let mut length = None;
        for _ in 0..self.pass_over {
            match mqueue::receive(self.queue.as_fd(), buffer) {
                Ok(next) => length = Some(next),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(ReceiveError::Failed(error)),
            }
        }
        Ok(length.map(|length| &buffer[..length]))
    }

    fn take<'b>(
        &mut self,
        buffer: &'b mut [u8],
        until: Instant,
    ) -> Result<Option<&'b [u8]>, ReceiveError> {
        // One system call instead of two, if no time limit needs the monotonic clock.
        if until == Instant::MAX && self.pass_over == 1 {
            check_buffer(buffer, self.message_size)?;
            let length =
                mqueue::wait_receive(self.queue.as_fd(), buffer).map_err(ReceiveError::Failed)?;
            return Ok(Some(&buffer[..length]));
        }
        match self.wait(until)? {
            Readiness::Ready => self.receive(buffer),
            Readiness::TimedOut => Ok(None),
        }
    }

    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError> {
        wait_readable(&self.queue, until).map_err(ReceiveError::Failed)
    }
}

/// Sleeps until `descriptor` is readable or until `until`. Does not use mq_timedreceive(3), whose timeout is on the
/// real-time clock, which can be set.
pub(crate) fn wait_readable(descriptor: &impl AsFd, until: Instant) -> io::Result<Readiness> {
    let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
    loop {
        let left = (until != Instant::MAX).then(|| timespec((until - crate::now()).nanos()));
        match poll(&mut polled, left.as_ref()) {
            Ok(0) => return Ok(Readiness::TimedOut),
            Ok(_) => return Ok(Readiness::Ready),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(nanos: i64) -> Timespec {
    const SECOND: i64 = 1_000_000_000;
    let nanos = nanos.max(0);
    Timespec { tv_sec: nanos / SECOND, tv_nsec: (nanos % SECOND) as _ }
}
