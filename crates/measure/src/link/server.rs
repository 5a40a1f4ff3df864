//! The answering host: its sockets and threads. `serving` decides what it grants.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::random::secret;
use hemiola_units::Span;
use thiserror::Error;

use super::frame::{DATAGRAM_MAX, ECHO_MAX, MAGIC, REQUEST, Request, Sequence, Sum, Welcome};
use super::serving::Serving;

/// Answers other hosts that measure the link to this one.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    datagrams: UdpSocket,
    serving: Mutex<Serving>,
}

/// Why a host cannot answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The operating system refused.
    #[error("cannot answer: {0}")]
    System(#[from] io::Error),
}

/// How soon a thread notices the end.
const NOTICE: Duration = Duration::from_millis(200);

/// How long a peer that is refused may take to send its hello, so that it reads the refusal.
const REFUSAL: Duration = Duration::from_millis(100);

impl Server {
    /// Listens on a TCP and a UDP socket of this address; with port 0, on any two ports.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub fn bind(address: SocketAddr) -> Result<Self, ServerError> {
        let refused = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let datagrams = UdpSocket::bind(address).map_err(refused)?;
        listener.set_nonblocking(true)?;
        datagrams.set_read_timeout(Some(NOTICE))?;
        Ok(Self { listener, datagrams, serving: Mutex::default() })
    }

    /// The address of its TCP socket.
    ///
    /// # Errors
    /// If the system does not tell it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `ended`. `tell` is called with a line for each session.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    pub fn serve(&self, ended: &AtomicBool, tell: &(dyn Fn(&str) + Sync)) -> io::Result<()> {
        let (epoll, mut events) = (Epoll::new()?, Events::with_capacity(1));
        epoll.add(&self.listener, 0, EventFlags::IN)?;
        thread::scope(|scope| {
            let stop = Stop(ended);
            thread::Builder::new().spawn_scoped(scope, || self.return_datagrams(ended))?;
            while !ended.load(Ordering::Relaxed) {
                let until = MonotonicClock.now() + Span::from_millis(NOTICE.as_millis() as i64);
                epoll.wait(&mut events, until)?;
                if events.is_empty() {
                    continue;
                }
                let Ok((stream, from)) = self.listener.accept() else { continue };
                let token = u64::from_le_bytes(secret()?);
                let peer = from.ip().to_canonical();
                if !self.serving().admit(peer, token, MonotonicClock.now()) {
                    refuse(stream);
                    continue;
                }
                let session = move || {
                    let how = self.session(stream, token, ended);
                    self.serving().end();
                    tell(&match how {
                        Ok(()) => format!("{peer}: measured"),
                        Err(error) => format!("{peer}: the session ended: {error}"),
                    });
                };
                thread::Builder::new().spawn_scoped(scope, session)?;
            }
            drop(stop);
            Ok(())
        })
    }

    fn serving(&self) -> MutexGuard<'_, Serving> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn return_datagrams(&self, ended: &AtomicBool) {
        // One byte more shows a datagram that is too long.
        let mut bytes = [0; DATAGRAM_MAX + 1];
        while !ended.load(Ordering::Relaxed) {
            let Ok((length, from)) = self.datagrams.recv_from(&mut bytes) else { continue };
            let peer: IpAddr = from.ip().to_canonical();
            if self.serving().datagram(peer, &bytes[..length], MonotonicClock.now()) {
                // A datagram that cannot be sent is a lost one.
                let _ = self.datagrams.send_to(&bytes[..length], from);
            }
        }
    }

    /// Serves one peer to its end.
    fn session(&self, stream: TcpStream, token: u64, ended: &AtomicBool) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(NOTICE))?;
        stream.set_write_timeout(Some(NOTICE))?;
        let mut peer = Peer { stream, server: self, ended };
        let mut hello = [0; MAGIC.len()];
        peer.read(&mut hello)?;
        if hello != MAGIC {
            return Err(io::Error::other("the peer does not speak this protocol"));
        }
        let port = self.datagrams.local_addr()?.port();
        peer.write(&Welcome::Granted { token, port }.encode())?;
        let mut room = vec![0; ECHO_MAX as usize];
        loop {
            let mut request = [0; REQUEST];
            match peer.read(&mut request) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                result => result?,
            }
            let request = self.serving().request(&request, MonotonicClock.now());
            peer.answer(request.map_err(io::Error::other)?, &mut room)?;
            self.serving().done(MonotonicClock.now());
        }
    }
}

/// Ends the other threads of a server when it is dropped.
struct Stop<'e>(&'e AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tells a peer that another one is being served.
fn refuse(mut stream: TcpStream) {
    let mut hello = [0; MAGIC.len()];
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(REFUSAL));
    let _ = stream.read(&mut hello);
    let _ = stream.set_nonblocking(true);
    let _ = stream.write(&Welcome::Busy.encode());
    let _ = stream.shutdown(Shutdown::Write);
}

/// The connection to a peer, which is read and written until the deadline of its session.
struct Peer<'s> {
    stream: TcpStream,
    server: &'s Server,
    ended: &'s AtomicBool,
}

impl Peer<'_> {
    fn answer(&mut self, request: Request, room: &mut [u8]) -> io::Result<()> {
        match request {
            Request::Echo { length } => {
                let bytes = &mut room[..length as usize];
                self.read(bytes)?;
                self.write(bytes)
            }
            Request::Take { mut length } => {
                let mut sum = Sum::default();
                while length > 0 {
                    let piece = length.min(room.len() as u64) as usize;
                    let count = self.some(|stream| stream.read(&mut room[..piece]))?;
                    sum.add(&room[..count]);
                    length -= count as u64;
                }
                self.write(&sum.value().to_le_bytes())
            }
            Request::Give { mut length, seed } => {
                Sequence(seed).fill(room);
                while length > 0 {
                    let piece = length.min(room.len() as u64) as usize;
                    self.write(&room[..piece])?;
                    length -= piece as u64;
                }
                Ok(())
            }
            Request::Count => {
                let returned = self.server.serving().returned();
                self.write(&returned.to_le_bytes())
            }
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            done += self.some(|stream| stream.read(&mut bytes[done..]))?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            done += self.some(|stream| stream.write(&bytes[done..]))?;
        }
        Ok(())
    }

    /// Repeats an operation until it moves bytes, the session is over, or the server ends.
    fn some(
        &mut self,
        mut act: impl FnMut(&mut TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let deadline = self.server.serving().deadline();
            if deadline.is_none_or(|deadline| MonotonicClock.now() > deadline) {
                return Err(io::Error::other("its time is over"));
            }
            if self.ended.load(Ordering::Relaxed) {
                return Err(io::Error::other("this host stops"));
            }
            match act(&mut self.stream) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => return Ok(count),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
