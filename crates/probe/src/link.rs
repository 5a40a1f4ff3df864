//! The links that carry messages between two processes of a measurement, down and up again.
//!
//! The measuring process creates an [`Object`], starts the two processes so that they inherit its descriptors, and
//! sends each the [`Description`], from which it opens its [`Link`].

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
#[cfg(feature = "pubsub")]
use std::path::Path;

use hemiola_bus::{Channel, Handle, Spec, open_receiver, open_sender};
use hemiola_rt::shared::{LATEST_SLOTS, Segment, SegmentKind};
use hemiola_rt::sys::process::clear_cloexec;
use hemiola_rt::sys::{descriptor::duplicate, mqueue};
use hemiola_units::{Delivery, Endpoint};
use rustix::fs::{OFlags, fcntl_setfl};
use serde::{Deserialize, Serialize};

mod bytes;
mod channel;
mod connection;
mod group;
mod memory;
#[cfg(feature = "pubsub")]
mod publication;
mod queue;

/// The mechanism that carries a message from one process to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Shared memory and sched_yield(2) between two processes of one priority, without wake-ups.
    Yield,
    /// Shared memory, and a futex to sleep on.
    Futex,
    /// Shared memory, polled without rest.
    Spin,
    /// A pipe each way, blocking.
    Pipe,
    /// A POSIX queue each way, blocking.
    MessageQueue,
    /// A pair of Unix stream sockets.
    UnixStream,
    /// A pair of Unix datagram sockets.
    UnixDatagram,
    /// A TCP connection on the loopback interface, kept open, with `TCP_NODELAY`.
    Tcp,
    /// A TCP connection for each message and its answer, which the answering process closes.
    TcpPerMessage,
    /// UDP on the loopback interface.
    Udp,
    /// UDP to a group that both processes have joined on the loopback interface.
    Multicast,
    /// iceoryx2: publish and notify, wait and take. Needs the feature `pubsub`.
    PubSub,
    /// iceoryx2: publish, and poll without rest. Needs the feature `pubsub`.
    PubSubPolled,
    /// A channel of `bus` each way, for comparison with the bare mechanisms.
    Channel {
        /// Its mechanism, with any name; not `local:`.
        endpoint: Endpoint,
        /// Its delivery.
        delivery: Delivery,
    },
}

impl Mechanism {
    /// Whether a waiting process keeps its processor, so that the other needs another one.
    pub(crate) fn spins(&self) -> bool {
        matches!(self, Self::Spin | Self::PubSubPolled)
    }

    /// The requirement that this build does not meet.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let pubsub = matches!(self, Self::PubSub | Self::PubSubPolled);
        (pubsub && cfg!(not(feature = "pubsub"))).then_some(
            "a build with `--features pubsub`, because this one has no publish–subscribe",
        )
    }
}

/// One process's link to the other and back.
pub(crate) trait Link {
    /// Sends a message and wakes the other process.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
    /// Waits for a message and fills `message`, whose length is that of every message in this direction.
    fn receive(&mut self, message: &mut [u8]) -> io::Result<()>;
}

/// The objects that the measuring process keeps while the two run.
#[derive(Debug)]
pub(crate) struct Object {
    description: Description,
    #[expect(dead_code, reason = "kept alive while the two run")]
    made: Made,
}

/// The data that a process needs to open its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    mechanism: Mechanism,
    /// Bytes of a message down and of one up.
    sizes: [usize; 2],
    /// Messages that may be unread in one direction.
    ahead: u32,
    ways: Ways,
}

/// How to open both directions, by mechanism; pairs are down and up, or near and far process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ways {
    /// Descriptors with which each process sends and receives.
    Descriptors([Ends; 2]),
    /// The inherited listener of the far process, and the address that the near one connects to.
    Listener(i32, SocketAddrV4),
    /// The socket of each process, and the address it sends to.
    Group([(i32, SocketAddrV4); 2]),
    /// Channels down and up.
    Channels([Handle; 2]),
    /// The run of the services.
    Services(String),
}

/// Numbers of inherited descriptors.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ends {
    out: i32,
    back: i32,
}

/// Names of the services down and up.
#[cfg(feature = "pubsub")]
const SERVICES: [&str; 2] = ["down", "up"];

/// A run name for one measurement, swept on drop: `p` to distinguish it from other runs, the process number and a
/// counter.
#[derive(Debug)]
pub(crate) struct Run(String);

impl Run {
    pub(crate) fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("p{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// A name for iceoryx2 services. First removes the services of killed measurements.
    fn of_services() -> Self {
        #[cfg(feature = "pubsub")]
        for run in hemiola_bus::pubsub::runs().unwrap_or_default() {
            let number = run.strip_prefix('p').and_then(|rest| Some(rest.split_once('-')?.0));
            let alive = |number: &str| Path::new("/proc").join(number).exists();
            if number.is_some_and(|number| number.parse::<u32>().is_ok() && !alive(number)) {
                // Services of another user cannot be removed.
                let _ = hemiola_bus::pubsub::sweep(&run);
            }
        }
        Self::new()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A failed removal is left to the next sweep.
        #[cfg(feature = "pubsub")]
        let _ = hemiola_bus::pubsub::sweep(&self.0);
    }
}

impl Object {
    /// Creates both directions of `mechanism` for messages of these sizes down and up, of which up to `ahead` may be
    /// unread (1 for request and answer). Its descriptors stay open across exec.
    ///
    /// # Errors
    /// The error of the operating system or the mechanism's library.
    pub(crate) fn create(mechanism: &Mechanism, sizes: [usize; 2], ahead: u32) -> io::Result<Self> {
        let mut made = Made::default();
        let ways = match mechanism {
            Mechanism::Yield | Mechanism::Futex | Mechanism::Spin => {
                let make = |size| {
                    let (kind, slots) = if ahead == 1 {
                        (SegmentKind::Latest, LATEST_SLOTS)
                    } else {
                        (SegmentKind::Queue, ahead)
                    };
                    let segment = Segment::create("hemiola-probe", kind, size, slots);
                    segment.map_err(io::Error::other)?.fd().try_clone_to_owned()
                };
                made.shared([make(sizes[0])?, make(sizes[1])?])
            }
            Mechanism::MessageQueue => {
                let run = Run::new();
                let make = |way: &str, size| {
                    let name = format!("/hemiola-{}-{way}", run.0);
                    let queue = mqueue::create(&name, ahead, size)?.sender;
                    // Blocking, the cheapest way to wait.
                    fcntl_setfl(&queue, OFlags::RDWR)?;
                    Ok::<_, io::Error>(queue)
                };
                made.shared([make("down", sizes[0])?, make("up", sizes[1])?])
            }
            Mechanism::Pipe => {
                let ((down_read, down_write), (up_read, up_write)) = (io::pipe()?, io::pipe()?);
                Ways::Descriptors([
                    Ends { out: made.keep(down_write), back: made.keep(up_read) },
                    Ends { out: made.keep(up_write), back: made.keep(down_read) },
                ])
            }
            Mechanism::UnixStream => {
                let (near, far) = UnixStream::pair()?;
                made.sockets([near.into(), far.into()])
            }
            Mechanism::UnixDatagram => {
                let (near, far) = UnixDatagram::pair()?;
                made.sockets([near.into(), far.into()])
            }
            Mechanism::Tcp => {
                let (listener, address) = listen()?;
                let near = TcpStream::connect(address)?;
                let (far, _) = listener.accept()?;
                near.set_nodelay(true)?;
                far.set_nodelay(true)?;
                made.sockets([near.into(), far.into()])
            }
            Mechanism::TcpPerMessage => {
                let (listener, address) = listen()?;
                Ways::Listener(made.keep(listener), address)
            }
            Mechanism::Udp => {
                let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                near.connect(far.local_addr()?)?;
                far.connect(near.local_addr()?)?;
                made.sockets([near.into(), far.into()])
            }
            Mechanism::Multicast => {
                let members = group::join()?;
                Ways::Group(members.map(|(socket, to)| (made.keep(socket), to)))
            }
            Mechanism::PubSub | Mechanism::PubSubPolled => {
                let run = Run::of_services();
                let ways = Ways::Services(run.0.clone());
                made.runs.push(run);
                ways
            }
            Mechanism::Channel { endpoint, delivery } => {
                for message_size in sizes {
                    let run = Run::new();
                    let (endpoint, delivery) = (endpoint.clone(), *delivery);
                    let spec = Spec { endpoint, delivery, message_size, run: run.0.clone() };
                    made.channels.push(Channel::create(&spec).map_err(io::Error::other)?);
                    made.runs.push(run);
                }
                for descriptor in made.channels.iter().flat_map(Channel::descriptors) {
                    clear_cloexec(descriptor)?;
                }
                Ways::Channels([made.channels[0].handle(), made.channels[1].handle()])
            }
        };
        for descriptor in &made.descriptors {
            clear_cloexec(descriptor)?;
        }
        let description = Description { mechanism: mechanism.clone(), sizes, ahead, ways };
        Ok(Self { description, made })
    }

    /// The description for both processes.
    pub(crate) fn description(&self) -> Description {
        self.description.clone()
    }
}

/// The system objects behind the links.
#[derive(Debug, Default)]
struct Made {
    descriptors: Vec<OwnedFd>,
    channels: Vec<Channel>,
    /// Swept after the rest is dropped.
    runs: Vec<Run>,
}

impl Made {
    fn keep(&mut self, descriptor: impl Into<OwnedFd>) -> i32 {
        let descriptor = descriptor.into();
        let number = descriptor.as_raw_fd();
        self.descriptors.push(descriptor);
        number
    }

    /// One object per direction, which both processes open.
    fn shared(&mut self, [down, up]: [OwnedFd; 2]) -> Ways {
        let (down, up) = (self.keep(down), self.keep(up));
        Ways::Descriptors([Ends { out: down, back: up }, Ends { out: up, back: down }])
    }

    /// One bidirectional socket for each process.
    fn sockets(&mut self, sockets: [OwnedFd; 2]) -> Ways {
        Ways::Descriptors(sockets.map(|socket| {
            let number = self.keep(socket);
            Ends { out: number, back: number }
        }))
    }
}

fn listen() -> io::Result<(TcpListener, SocketAddrV4)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    Ok((listener, SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)))
}

impl Description {
    /// The size of a message down and of one up, in bytes.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        self.sizes
    }

    /// Opens the near or the far process's end.
    ///
    /// # Errors
    /// The system's error; `EBADF` when the descriptors were not inherited.
    pub(crate) fn open(&self, near: bool) -> io::Result<Box<dyn Link>> {
        // The index of this side, and those of the outgoing and incoming directions.
        let (side, out, back) = if near { (0, 0, 1) } else { (1, 1, 0) };
        Ok(match &self.ways {
            Ways::Descriptors(ends) => {
                let ends = ends[side];
                let (out, back) = (duplicate(ends.out)?, duplicate(ends.back)?);
                match self.mechanism {
                    Mechanism::Yield | Mechanism::Futex | Mechanism::Spin => {
                        Box::new(memory::Memory::open(&self.mechanism, out, back)?)
                    }
                    Mechanism::MessageQueue => Box::new(queue::Queue { out, back }),
                    _ => Box::new(bytes::Bytes { out: out.into(), back: back.into() }),
                }
            }
            Ways::Listener(listener, address) => Box::new(if near {
                connection::Connection::near(*address)
            } else {
                connection::Connection::far(duplicate(*listener)?.into())
            }),
            Ways::Group(members) => {
                let (socket, to) = members[side];
                Box::new(group::Member { socket: duplicate(socket)?.into(), to })
            }
            Ways::Channels(handles) => Box::new(channel::Channelled {
                receiver: open_receiver(&handles[back]).map_err(io::Error::other)?,
                sender: open_sender(&handles[out]).map_err(io::Error::other)?,
            }),
            #[cfg(feature = "pubsub")]
            Ways::Services(run) => Box::new(publication::Publication::open(
                run,
                (SERVICES[out], self.sizes[out]),
                (SERVICES[back], self.sizes[back]),
                self.ahead,
                self.mechanism == Mechanism::PubSubPolled,
            )?),
            #[cfg(not(feature = "pubsub"))]
            Ways::Services(_) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

/// Polls without a message after which a spinning process sleeps between polls: about 40 ms, so that it does not spin
/// forever beside a process that rests.
const POLLS_MAX: u32 = 1 << 20;

/// The sleep between polls after that.
const NAP: std::time::Duration = std::time::Duration::from_millis(1);

/// Polls until `poll` returns true.
fn spin(mut poll: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let mut polls = 0;
    while !poll()? {
        if polls == POLLS_MAX {
            std::thread::sleep(NAP);
        } else {
            polls += 1;
            std::hint::spin_loop();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[cfg(feature = "pubsub")]
    #[test]
    fn the_next_measurement_removes_what_a_killed_one_left() {
        use hemiola_bus::pubsub::{Bare, runs};
        // No process has this number: the kernel's limit is 2²².
        let dead = "p4194305-0";
        let bare = Bare::open(dead, ("down", 8), ("up", 8), 2).unwrap();
        assert!(runs().unwrap().contains(dead));
        std::mem::forget(bare);
        let run = Run::of_services();
        let bare = Bare::open(&run.0, ("down", 8), ("up", 8), 2).unwrap();
        let _ = Run::of_services();
        assert!(!runs().unwrap().contains(dead) && runs().unwrap().contains(&run.0));
        drop((bare, run));
    }

    #[test]
    fn every_link_carries_messages_both_ways() {
        let mut mechanisms = vec![
            Mechanism::Futex,
            Mechanism::Spin,
            Mechanism::Pipe,
            Mechanism::MessageQueue,
            Mechanism::UnixStream,
            Mechanism::UnixDatagram,
            Mechanism::Tcp,
            Mechanism::TcpPerMessage,
            Mechanism::Udp,
            Mechanism::Channel { endpoint: "shm:x".parse().unwrap(), delivery: Delivery::Latest },
        ];
        if cfg!(feature = "pubsub") {
            mechanisms.extend([Mechanism::PubSub, Mechanism::PubSubPolled]);
        }
        if group::join().is_ok() {
            mechanisms.push(Mechanism::Multicast);
        } else {
            println!("skipped: needs multicast on the loopback interface");
        }
        for mechanism in mechanisms {
            let object = Object::create(&mechanism, [1024, 8], 1).unwrap();
            let description = object.description();
            // A message published before the other process subscribes is lost.
            let open = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut link = description.open(false).unwrap();
                    open.wait();
                    let mut message = [0; 1024];
                    for _ in 0..3 {
                        link.receive(&mut message).unwrap();
                        link.send(&message[..8]).unwrap();
                    }
                });
                let mut link = description.open(true).unwrap();
                open.wait();
                for number in 1..=3 {
                    link.send(&[number; 1024]).unwrap();
                    let mut answer = [0; 8];
                    link.receive(&mut answer).unwrap();
                    assert_eq!(answer, [number; 8], "{mechanism:?}");
                }
            });
        }
    }
}
