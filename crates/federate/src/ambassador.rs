//! Delivers callbacks as they arrive: a thread owns the federate, and other threads send it work.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

use hemiola_hla::{Call, Callback, Reply};
use hemiola_rt::sys::eventfd::EventFd;

use crate::error::Error;
use crate::federate::Federate;

/// A piece of work for the thread that owns the federate.
type Work = Box<dyn FnOnce(&mut Federate) + Send>;

/// A federate on a thread that handles callbacks as they arrive: the standard's immediate mode. Clone it for other
/// threads; dropping the last clone drops the federate.
#[derive(Clone, Debug)]
pub struct Ambassador(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Dropped to end the thread.
    work: Mutex<Option<Sender<Work>>>,
    bell: EventFd,
    thread: Mutex<Option<JoinHandle<Federate>>>,
    thread_id: ThreadId,
}

impl Federate {
    /// Moves the federate to a thread of its own, which passes each callback to `handle` as it arrives. The handler
    /// makes calls with the federate passed to it. It also gets the exceptions of calls that did not wait for their
    /// replies, and finally the loss of the RTI.
    ///
    /// # Errors
    /// [`Error::System`] if the thread cannot be started.
    pub fn immediate(
        self,
        mut handle: impl FnMut(&mut Self, Result<Callback, Error>) + Send + 'static,
    ) -> Result<Ambassador, Error> {
        let bell = self.driver.bell().map_err(|error| Error::system("dup", error))?;
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("federate".into())
            .spawn(move || serve(self, &receiver, &mut handle))
            .map_err(|error| Error::system("a thread", error))?;
        let thread_id = thread.thread().id();
        let work = Mutex::new(Some(sender));
        Ok(Ambassador(Arc::new(Shared { work, bell, thread: Mutex::new(Some(thread)), thread_id })))
    }
}

/// Handles callbacks and work until all senders are dropped.
fn serve(
    mut federate: Federate,
    work: &Receiver<Work>,
    handle: &mut dyn FnMut(&mut Federate, Result<Callback, Error>),
) -> Federate {
    let mut is_lost = false;
    loop {
        if is_lost {
            // Calls still return: the RTI is lost.
            match work.recv() {
                Ok(work) => work(&mut federate),
                Err(_) => return federate,
            }
            continue;
        }
        match federate.driver.wait_or_bell() {
            Ok(()) => {}
            Err(error) => {
                is_lost = true;
                handle(&mut federate, Err(error));
                continue;
            }
        }
        // Alternates between callbacks and work, so that neither starves.
        loop {
            let callback = federate.take_callback().transpose();
            let has_callback = callback.is_some();
            if let Some(callback) = callback {
                handle(&mut federate, callback);
            }
            match work.try_recv() {
                Ok(work) => work(&mut federate),
                Err(TryRecvError::Disconnected) => return federate,
                Err(TryRecvError::Empty) if has_callback => {}
                Err(TryRecvError::Empty) => break,
            }
        }
    }
}

impl Ambassador {
    /// Runs `work` on the thread of the federate, between two callbacks, and waits for the result.
    ///
    /// # Errors
    /// [`Error::WithinHandler`] in the handler itself; [`Error::Stopped`] if the thread has ended.
    pub fn with<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Federate) -> R + Send + 'static,
    ) -> Result<R, Error> {
        if thread::current().id() == self.0.thread_id {
            return Err(Error::WithinHandler);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let work: Work = Box::new(move |federate| {
            // If the caller no longer waits, the result is discarded.
            let _ = sender.send(work(federate));
        });
        let queue = self.0.work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        queue.and_then(|queue| queue.send(work).ok()).ok_or(Error::Stopped)?;
        self.0.bell.ring();
        receiver.recv().map_err(|_| Error::Stopped)
    }

    /// Makes any call of the standard and waits for the reply.
    ///
    /// # Errors
    /// As [`with`](Self::with) and [`Federate::call`].
    pub fn call(&self, call: impl Into<Call>) -> Result<Reply, Error> {
        let call = call.into();
        self.with(move |federate| federate.call(call))?
    }

    /// Ends the thread and returns the federate.
    ///
    /// # Errors
    /// As [`with`](Self::with); [`Error::Stopped`] also if the handler panicked.
    pub fn finish(&self) -> Result<Federate, Error> {
        if thread::current().id() == self.0.thread_id {
            return Err(Error::WithinHandler);
        }
        let thread = self.0.stop().ok_or(Error::Stopped)?;
        thread.join().map_err(|_| Error::Stopped)
    }
}

impl Shared {
    /// Asks the thread to end. Returns `None` if it was asked before.
    fn stop(&self) -> Option<JoinHandle<Federate>> {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.bell.ring();
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(thread) = self.stop()
            && thread::current().id() != self.thread_id
        {
            // The panic of a handler has already been reported.
            let _ = thread.join();
        }
    }
}
