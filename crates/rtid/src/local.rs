//! What is said over the socket of this machine before anything else: one line that says what it is for.
//!
//! ```text
//! session 1 ⏎   →  ok ⏎ with the three descriptors of a stream; the socket stays open as long as the connection
//! status 1 ⏎    →  the report as JSON, the end
//! metrics 1 ⏎   →  the metrics for Prometheus, the end
//! ```

use hemiola_fedpro::Arrival;
use hemiola_rt::shared::Stream;
use hemiola_rt::sys::epoll::EventFlags;
use hemiola_rt::sys::local::send_with;

use std::os::fd::{AsFd, OwnedFd};

use crate::connection::Stage;
use crate::http::{Reaction, react};
use crate::link::Link;
use crate::report::prometheus;
use crate::server::Server;
use crate::token::{END, Token};

/// The longest line that is read.
const LINE_LEN_MAX: usize = 64;

impl Server {
    /// Takes bytes of a line.
    pub(crate) fn take_line(&mut self, number: u64, len: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let Stage::Asking { line, .. } = &mut connection.stage else { return };
        line.extend_from_slice(&self.inbox[..len.min(LINE_LEN_MAX + 1)]);
        let reason = match line.iter().position(|byte| *byte == b'\n') {
            None if line.len() <= LINE_LEN_MAX => return,
            Some(end) if end + 1 == line.len() => match &line[..end] {
                b"session 1" => return self.give_stream(number),
                b"status 1" => {
                    let json = serde_json::to_vec(&self.report()).expect("a report is plain data");
                    return self.answer(number, &json);
                }
                b"metrics 1" => {
                    let text = prometheus(&self.report());
                    return self.answer(number, text.as_bytes());
                }
                _ => "the line says nothing that is known here",
            },
            _ => "the line is too long",
        };
        tracing::info!(peer = %connection.peer, reason, "a connection is closed");
        self.connections.remove(&number);
    }

    /// Takes bytes of an HTTP request.
    pub(crate) fn take_request(&mut self, number: u64, len: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let Stage::Collecting { request, .. } = &mut connection.stage else { return };
        request.extend_from_slice(&self.inbox[..len]);
        let request = std::mem::take(request);
        match react(&request, || prometheus(&self.report())) {
            Reaction::Answer(answer) => self.answer(number, &answer),
            Reaction::Wait => {
                if let Some(connection) = self.connections.get_mut(&number)
                    && let Stage::Collecting { request: so_far, .. } = &mut connection.stage
                {
                    *so_far = request;
                }
            }
        }
    }

    /// Says something, and hangs up.
    pub(crate) fn answer(&mut self, number: u64, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        match connection.send(bytes) {
            Ok(_) => self.leave(number),
            Err(_) => drop(self.connections.remove(&number)),
        }
    }

    /// Makes a stream in shared memory of a socket.
    fn give_stream(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else { return };
        let Link::Local(socket) = connection.link else { return };
        let offered = Stream::offer(self.options.stream_capacity);
        let given = offered.map_err(std::io::Error::other).and_then(|(stream, descriptors)| {
            send_with(&socket, b"ok\n", &descriptors.each_ref().map(OwnedFd::as_fd))?;
            let flags = EventFlags::IN | EventFlags::ET;
            self.epoll.modify(&socket, Token::Socket(number).to_data(), flags | END)?;
            self.epoll.add(stream.bell(), Token::Connection(number).to_data(), flags)?;
            Ok(stream)
        });
        match given {
            Ok(stream) => {
                let link = Link::Stream { stream, _socket: Some(socket), is_abandoned: false };
                let arrival = Arrival::new(self.now, &self.options.session);
                self.sweep_by(arrival.deadline());
                let stage = Stage::Arriving(arrival);
                self.keep(number, link, stage, connection.peer, connection.process);
            }
            Err(error) => {
                tracing::warn!(peer = %connection.peer, %error, "cannot give a stream");
            }
        }
    }

    /// The socket beside a stream was closed at the other end, or its process is gone.
    pub(crate) fn abandon(&mut self, number: u64) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.abandon();
            self.enqueue(number);
        }
    }
}
