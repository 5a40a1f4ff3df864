//! A TCP connection for each message and its answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};

use super::Link;

/// The near process connects, sends, and reads until the end of the stream. The far one accepts, reads, answers and
/// closes, so that closed connections linger on its port and the near one's ports are free again.
pub(super) struct Connection {
    role: Role,
    stream: Option<TcpStream>,
}

enum Role {
    Near(SocketAddrV4),
    Far(TcpListener),
}

impl Connection {
    pub(super) fn near(address: SocketAddrV4) -> Self {
        Self { role: Role::Near(address), stream: None }
    }

    pub(super) fn far(listener: TcpListener) -> Self {
        Self { role: Role::Far(listener), stream: None }
    }
}

/// The error of a process that sends or receives out of turn.
fn out_of_turn() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl Link for Connection {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.role {
            Role::Near(address) => {
                let stream = self.stream.insert(TcpStream::connect(address)?);
                stream.set_nodelay(true)?;
                stream.write_all(message)
            }
            // The stream is closed at the end of the statement.
            Role::Far(_) => self.stream.take().ok_or_else(out_of_turn)?.write_all(message),
        }
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        match &self.role {
            Role::Near(_) => {
                let mut stream = self.stream.take().ok_or_else(out_of_turn)?;
                stream.read_exact(message)?;
                // Reads to the end of the stream, so that the other side closes first.
                stream.read(&mut [0]).map(drop)
            }
            Role::Far(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                self.stream.insert(stream).read_exact(message)
            }
        }
    }
}
