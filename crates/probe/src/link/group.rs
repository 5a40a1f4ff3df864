//! Messages by UDP multicast on the loopback interface.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use super::Link;

/// Time after which an undelivered datagram means that there is no multicast.
const TRIAL: Duration = Duration::from_millis(500);

pub(super) struct Member {
    pub(super) socket: UdpSocket,
    pub(super) to: SocketAddrV4,
}

impl Link for Member {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.send_to(message, self.to).map(drop)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.socket.recv(message).map(drop)
    }
}

/// Two sockets that have joined this process's own group, each with the address that reaches the other through the
/// group. A test datagram has been delivered when this returns.
///
/// # Errors
/// The system's error: many containers and some kernels have no multicast.
pub(super) fn join() -> io::Result<[(UdpSocket, SocketAddrV4); 2]> {
    // A group of the administratively scoped addresses (RFC 2365), unlikely to be used by another run.
    let [.., high, low] = std::process::id().to_be_bytes();
    let group = Ipv4Addr::new(239, 255, high, low);
    let member = || {
        // Bound to the group's address, so it receives nothing else.
        let socket = UdpSocket::bind((group, 0))?;
        rustix::net::sockopt::set_ip_multicast_if(&socket, &Ipv4Addr::LOCALHOST)?;
        socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)?;
        socket.set_multicast_loop_v4(true)?;
        socket.set_multicast_ttl_v4(0)?;
        let port = socket.local_addr()?.port();
        Ok::<_, io::Error>((socket, SocketAddrV4::new(group, port)))
    };
    let ((near, to_near), (far, to_far)) = (member()?, member()?);
    near.send_to(&[0], to_far)?;
    far.set_read_timeout(Some(TRIAL))?;
    far.recv(&mut [0])?;
    far.set_read_timeout(None)?;
    Ok([(near, to_far), (far, to_near)])
}
