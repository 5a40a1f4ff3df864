//! Unix sockets with an abstract name, which pass descriptors and identify the peer: unix(7).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt,
};

/// The most descriptors in one message here; the kernel's own limit is 253.
pub const DESCRIPTORS_MAX: usize = 8;

/// The process and user at the other end of a socket, as of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Its process.
    pub pid: u32,
    /// Its effective user.
    pub uid: u32,
}

/// Listens under the abstract `name`. There is no file, and the name disappears with the last descriptor.
///
/// # Errors
/// `EADDRINUSE` if a listener has the name; `InvalidInput` for a name longer than 107 bytes.
pub fn listen(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Connects to the listener under the abstract `name`. Any user may listen there: see [`peer`].
///
/// # Errors
/// `ECONNREFUSED` if there is no listener; `InvalidInput` for a name longer than 107 bytes.
pub fn connect(name: &str) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Returns the process at the other end: for a client, the one that called [`listen`].
///
/// # Errors
/// None known for a connected socket.
///
/// Source: unix(7), `SO_PEERCRED`.
pub fn peer(socket: impl AsFd) -> io::Result<Credentials> {
    let peer = sockopt::socket_peercred(socket)?;
    Ok(Credentials { pid: peer.pid.as_raw_nonzero().get() as u32, uid: peer.uid.as_raw() })
}

/// Returns the effective user of this process.
#[must_use]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sends `bytes` with `descriptors` attached to the first byte. The receiver gets its own descriptors of the same
/// files. If the peer is gone, the result is an error and not a signal. Returns how many bytes were sent.
///
/// # Errors
/// `EPIPE`; `EAGAIN` if the socket is non-blocking and full; `InvalidInput` if `bytes` is empty or there are more
/// than [`DESCRIPTORS_MAX`] descriptors.
///
/// Source: unix(7), `SCM_RIGHTS`.
pub fn send_with(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    if bytes.is_empty() || descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "descriptors need at least one byte of data, and at most 8 fit a message",
        ));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)), "there is room for all");
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives into `bytes` and appends the descriptors that came with them, closed on exec, to `descriptors`: at most
/// [`DESCRIPTORS_MAX`], and the kernel closes the others. Returns the number of bytes; 0 if the peer is gone.
///
/// # Errors
/// `EAGAIN` if the socket is non-blocking and there is nothing; `ECONNRESET`; `InvalidData` if more descriptors came
/// than fit.
pub fn receive_with(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            descriptors.extend(came);
        }
    }
    if received.flags.contains(rustix::net::ReturnFlags::CTRUNC) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a message carried more than 8 descriptors",
        ));
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn name(of: &str) -> String {
        format!("hemiola-test-{}-{of}", std::process::id())
    }

    #[test]
    fn the_receiver_gets_its_own_descriptor() {
        let listener = listen(&name("sent")).unwrap();
        let client = connect(&name("sent")).unwrap();
        let (server, _) = listener.accept().unwrap();
        let me = Credentials { pid: std::process::id(), uid: own_uid() };
        assert_eq!((peer(&server).unwrap(), peer(&client).unwrap()), (me, me));

        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(send_with(&server, b"ok\n", &[writer.as_fd()]).unwrap(), 3);
        drop(writer);
        let (mut bytes, mut came) = ([0; 8], vec![]);
        assert_eq!(receive_with(&client, &mut bytes, &mut came).unwrap(), 3);
        assert_eq!((&bytes[..3], came.len()), (&b"ok\n"[..], 1));
        rustix::io::write(&came[0], b"x").unwrap();
        drop(came);
        let mut all = vec![];
        { reader }.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x");

        drop(server);
        assert_eq!(receive_with(&client, &mut bytes, &mut vec![]).unwrap(), 0);
        assert_eq!(send_with(&client, b"x", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_name_has_one_listener_at_a_time() {
        let listener = listen(&name("one")).unwrap();
        assert_eq!(listen(&name("one")).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert_eq!(connect(&name("one")).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        listen(&name("one")).unwrap();
        assert!(listen(&"x".repeat(108)).is_err());
    }

    #[test]
    fn too_many_descriptors_are_an_error_and_are_closed() {
        let (a, b) = UnixStream::pair().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let many = [writer.as_fd(); DESCRIPTORS_MAX + 1];
        assert_eq!(send_with(&a, b"x", &many).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(100))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let too_many = [writer.as_fd(); 100];
        assert!(control.push(SendAncillaryMessage::ScmRights(&too_many)));
        sendmsg(&a, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        let mut came = vec![];
        let error = receive_with(&b, &mut [0; 8], &mut came).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        drop((came, writer));
        assert_eq!({ reader }.read(&mut [0; 1]).unwrap(), 0);
    }
}
