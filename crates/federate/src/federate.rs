//! A federate: its connection, its calls, the callbacks it evokes.

use std::collections::BTreeMap;

use hemiola_fedpro::frame::BLOCK_LEN;
use hemiola_fedpro::session::End;
use hemiola_fedpro::{SessionId, message};
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{
    ANSWERS_GATHERED, ANSWERS_LATER, CALLBACKS_TOGETHER, REPLACES, RESUME_WINDOW, TOLD_OF_LOSS,
};
use hemiola_hla::{
    Call, Callback, Data, EncodedInterval, EncodedTime, Exception, FederateHandle, LogicalInterval,
    LogicalTime, Reply, ResignAction, TimeImplementation,
};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::Stream;
use hemiola_rt::sys::timer;
use hemiola_units::{Instant, RtiAddress, Span};

use crate::driver::{Driver, not_joined};
use crate::error::Error;
use crate::link::Link;
use crate::mirror::Mirror;
use crate::options::{Calls, Options};
use crate::services::time::TimeRequest;

/// The pause between two attempts to connect.
const ATTEMPT_EVERY: Span = Span::from_millis(50);

/// How often a connection is opened again that the RTI has closed without an answer. An RTI with many connections that
/// have not said what they are for closes the oldest of them for the next one, and this one may be slow.
const REOPENED_MAX: u32 = 2;

/// A federate that is connected to an RTI.
///
/// It has no thread of its own: a call blocks until its reply arrives, and callbacks are delivered when they are
/// evoked. A federate that neither calls nor evokes for three minutes ([`silence_max`](crate::Settings::silence_max))
/// loses its connection; the next call resumes the session, if it comes within ten minutes
/// ([`resume_window`](crate::Settings::resume_window)). [`immediate`](Self::immediate) delivers callbacks as they
/// arrive.
///
/// Dropping a federate terminates its session, and the RTI resigns it.
#[derive(Debug)]
pub struct Federate {
    pub(crate) driver: Driver,
    pub(crate) is_pipelined: bool,
    mirror: Mirror,
    /// Replies about the object model, by the question as encoded. The model bounds their number, and does not change
    /// while the federate is joined.
    pub(crate) names: BTreeMap<Data, Reply>,
}

impl Federate {
    /// Connects to the RTI at an address (clause 4.2). A connection that is opened and closed again without an answer,
    /// as an RTI does that has too many, is tried twice more.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no RTI answers within [`connect_timeout`](Options::connect_timeout); the exceptions of
    /// `connect`.
    pub fn connect(address: &RtiAddress, options: Options) -> Result<Self, Error> {
        let until = MonotonicClock.now() + options.connect_timeout;
        let mut reopened = 0;
        loop {
            let began = MonotonicClock.now();
            match Self::open(Link::to(address)?, &options) {
                Ok(driver) => return Self::begin(driver, options),
                Err((failure, error)) => {
                    let now = MonotonicClock.now();
                    let was_closed = failure.is_none()
                        && matches!(error, Error::Lost(End::Unreachable))
                        && now < began + options.session.greeting_max;
                    if was_closed && reopened < REOPENED_MAX {
                        reopened += 1;
                        continue;
                    }
                    if until <= now {
                        let reason = failure
                            .map_or_else(|| error.to_string(), |failure| failure.to_string());
                        return Err(Error::Unreachable { address: address.clone(), reason });
                    }
                    timer::sleep_until(until.min(now + ATTEMPT_EVERY));
                }
            }
        }
    }

    /// Connects to the RTI at the other end of a stream, such as an RTI in this process. A broken stream cannot be
    /// opened again: the session ends with it.
    ///
    /// # Errors
    /// [`Error::Lost`] if the RTI does not answer; the exceptions of `connect`.
    pub fn over(stream: Stream, options: Options) -> Result<Self, Error> {
        let driver = Self::open(Link::over(stream)?, &options).map_err(|(_, error)| error)?;
        Self::begin(driver, options)
    }

    fn open(link: Link, options: &Options) -> Result<Driver, (Option<std::io::Error>, Error)> {
        let callbacks_len_max = usize::try_from(options.callbacks_max.0).unwrap_or(usize::MAX);
        Driver::open(link, options.session, callbacks_len_max)
    }

    fn begin(driver: Driver, options: Options) -> Result<Self, Error> {
        let is_pipelined = options.calls == Calls::Pipelined;
        let takes_together = is_pipelined && options.session.frame_len_max >= BLOCK_LEN as u32;
        let (mirror, names) = (Mirror::default(), BTreeMap::new());
        let mut federate = Self { driver, is_pipelined, mirror, names };
        let mut rti_configuration = options.configuration.unwrap_or_default();
        let settings = &mut rti_configuration.additional_settings;
        let lines = [
            Some(TOLD_OF_LOSS.to_owned()),
            is_pipelined.then(|| ANSWERS_LATER.to_owned()),
            is_pipelined.then(|| ANSWERS_GATHERED.to_owned()),
            takes_together.then(|| CALLBACKS_TOGETHER.to_owned()),
            options.replaces.map(|session| format!("{REPLACES}={}", session.secret())),
            options.resume_window.map(|window| format!("{RESUME_WINDOW}={window}")),
        ];
        for line in lines.into_iter().flatten() {
            if !settings.is_empty() {
                settings.push('\n');
            }
            settings.push_str(&line);
        }
        if is_pipelined {
            federate.driver.accept_shared_frames();
        }
        federate.call(match options.credentials {
            None => FederationCall::ConnectWithConfiguration { rti_configuration },
            Some(credentials) => FederationCall::ConnectWithConfigurationAndCredentials {
                rti_configuration,
                credentials,
            },
        })?;
        federate.driver.answers_later = is_pipelined;
        Ok(federate)
    }

    /// Returns the name of the session. A federate that restarts after a crash ends it with
    /// [`Options::replaces`](crate::Options::replaces). The name is secret: anyone who knows it can end the session or
    /// take it over, so keep it in a file that only its user can read ([`SessionId::secret`]).
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.driver.session_id()
    }

    /// Makes any call of the standard and waits for the reply. The call is made after the RTI has accepted all earlier
    /// ones.
    ///
    /// # Errors
    /// The call's exceptions, as [`Error::Exception`]; [`Error::Earlier`] or [`Error::Backlog`] if the call was not
    /// made; [`Error::Lost`].
    pub fn call(&mut self, call: impl Into<Call>) -> Result<Reply, Error> {
        let call = call.into();
        self.confirm()?;
        let answer = self.driver.ask(call.entry(), message::encode_call(&call));
        self.answered(&call, answer)
    }

    /// Makes calls one after the other without waiting in between, for example look-ups and registrations of a
    /// federate that begins, and returns their replies. A refused call does not prevent those after it.
    ///
    /// # Errors
    /// As [`call`](Self::call), except for the calls' own exceptions, which are in the list.
    pub fn call_all(
        &mut self,
        calls: impl IntoIterator<Item = Call>,
    ) -> Result<Vec<Result<Reply, Error>>, Error> {
        let calls: Vec<Call> = calls.into_iter().collect();
        self.confirm()?;
        let bodies = calls.iter().map(|call| (call.entry(), message::encode_call(call)));
        let answers = self.driver.ask_all(bodies)?;
        let answers = calls.iter().zip(answers);
        Ok(answers.map(|(call, answer)| self.answered(call, answer)).collect())
    }

    /// Notes the reply to a call.
    fn answered(&mut self, call: &Call, answer: Result<Reply, Error>) -> Result<Reply, Error> {
        self.mirror.note_call(call);
        let reply = answer?;
        self.mirror.note_reply(call, &reply);
        if let Reply::Joined(joined) = &reply {
            self.names.clear();
            if self.mirror.member().is_none() {
                return Err(self.undo_join(call, &joined.logical_time_implementation));
            }
        }
        Ok(reply)
    }

    /// Resigns from a federation whose representation of time this crate does not have: a call that raises an exception
    /// has no effect. Returns the exception.
    #[cold]
    fn undo_join(&mut self, join: &Call, time: &str) -> Error {
        let resign_action = Some(ResignAction::NoAction);
        let call = Call::from(FederationCall::ResignFederationExecution { resign_action });
        // The RTI refuses nothing of a federate that owns nothing; if it is lost, the next call says so.
        let _ = self.driver.ask(call.entry(), message::encode_call(&call));
        let details = format!("the federation uses {time}, which this crate does not support");
        let refusal = Exception::CouldNotCreateLogicalTimeFactory.because(details);
        Error::Exception { call: join.name(), refusal }
    }

    /// Makes a call without waiting for the reply. If it is certain that the RTI would refuse it, returns the exception
    /// at once. If the RTI refuses it, a later call or evocation returns [`Error::Earlier`]. The call's result is
    /// discarded. Waits only while more than [`requests_max`](crate::Settings::requests_max) calls have no reply.
    /// Joining, resigning and disconnecting wait for their replies all the same.
    ///
    /// Such calls are sent together: when 16 KiB wait, when the federate begins to wait for anything, and by the first
    /// call or evocation that finds one of them a millisecond old. A federate that computes for longer without a call
    /// sends them with [`flush`](Self::flush).
    ///
    /// # Errors
    /// As [`call`](Self::call); exceptions only where this federate knows them.
    pub fn post(&mut self, call: impl Into<Call>) -> Result<(), Error> {
        let call = call.into();
        if changes_membership(&call) {
            return self.call(call).map(drop);
        }
        self.mirror
            .judge(&call, self.driver.advances_refused())
            .map_err(|refusal| Error::Exception { call: call.name(), refusal })?;
        self.driver.post(call.entry(), message::encode_call(&call))?;
        self.mirror.note_call(&call);
        Ok(())
    }

    /// Waits until the RTI has carried out all calls that were made.
    ///
    /// # Errors
    /// [`Error::Earlier`] for a call that it refused; [`Error::Lost`].
    pub fn confirm(&mut self) -> Result<(), Error> {
        self.driver.confirm()
    }

    /// Sends the calls that have been gathered, and waits until all of them have been written to the connection, but
    /// not for their replies: [`confirm`](Self::confirm) does.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.driver.flush()
    }

    /// Returns the next callback, and waits for it at most this long (clause 10.57, `evokeCallback`); `None` if none
    /// has arrived. [`Span::ZERO`] does not wait, [`Span::MAX`] waits without a limit. Waiting takes no processor time.
    ///
    /// The values and tags of callbacks that arrive together share blocks of 2 KiB. A federate that keeps a few of many
    /// values for long copies these (`Data::copy_from_slice`), otherwise each may keep a block.
    ///
    /// # Errors
    /// [`Error::Earlier`], before any callback; [`Error::Lost`], after all callbacks; [`Error::Message`] for a callback
    /// that cannot be decoded, which is reported to the RTI.
    pub fn evoke(&mut self, at_most: Span) -> Result<Option<Callback>, Error> {
        let until = match at_most {
            Span::MAX => Instant::MAX,
            Span::ZERO => Instant::ZERO,
            at_most => MonotonicClock.now() + at_most,
        };
        self.evoke_until(until)
    }

    /// Returns the next callback, and waits for it until an instant of the monotonic clock; `None` if none has arrived.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke).
    pub fn evoke_until(&mut self, until: Instant) -> Result<Option<Callback>, Error> {
        let callback = self.driver.callback(until);
        self.note(&callback);
        callback
    }

    /// Returns the next callback that has arrived.
    pub(crate) fn take_callback(&mut self) -> Result<Option<Callback>, Error> {
        let callback = self.driver.take_callback();
        self.note(&callback);
        callback
    }

    /// Notes a callback that is about to be returned.
    #[inline]
    fn note(&mut self, callback: &Result<Option<Callback>, Error>) {
        if let Ok(Some(callback)) = callback {
            self.mirror.note_callback(callback);
        }
    }

    /// Waits for the first callback for which `look` returns a value, and takes it. All other callbacks stay queued, in
    /// order, and are delivered by the next evocations.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke); [`Error::Backlog`] if the queued callbacks take more than
    /// [`callbacks_max`](Options::callbacks_max).
    pub fn wait_for<T>(
        &mut self,
        mut look: impl FnMut(&Callback) -> Option<T>,
    ) -> Result<T, Error> {
        let mut index = 0;
        loop {
            let Some(callback) = self.driver.peek_callback(index)? else { continue };
            if let Some(found) = look(&callback) {
                self.driver.remove_callback(index);
                self.mirror.note_callback(&callback);
                return Ok(found);
            }
            index += 1;
        }
    }

    /// Evokes callbacks and passes each to `handle`, until it returns a value.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke), and the errors of `handle`.
    pub fn handle_until<T>(
        &mut self,
        mut handle: impl FnMut(&mut Self, Callback) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        loop {
            if let Some(callback) = self.evoke_until(Instant::MAX)?
                && let Some(found) = handle(self, callback)?
            {
                return Ok(found);
            }
        }
    }

    /// Advances to a logical time: makes a `timeAdvanceRequest` (8.8), passes every callback before the grant (8.14) to
    /// `handle`, and returns the time granted.
    ///
    /// # Errors
    /// As [`advance_with`](Self::advance_with).
    pub fn advance(
        &mut self,
        to: LogicalTime,
        handle: impl FnMut(&mut Self, Callback) -> Result<(), Error>,
    ) -> Result<LogicalTime, Error> {
        self.advance_with(TimeRequest::TimeAdvanceRequest, to, handle)
    }

    /// Advances with any of the time requests (8.8 to 8.12): makes the request without waiting for its reply, passes
    /// every callback before the grant (8.13, 8.14) to `handle`, and returns the time granted.
    ///
    /// # Errors
    /// The exceptions of the request; as [`evoke`](Self::evoke), and the errors of `handle`: then the advance is still
    /// pending.
    pub fn advance_with(
        &mut self,
        request: TimeRequest,
        to: LogicalTime,
        handle: impl FnMut(&mut Self, Callback) -> Result<(), Error>,
    ) -> Result<LogicalTime, Error> {
        let request = Call::from(request.call(to));
        let name = request.name();
        self.post(request)?;
        self.grant(handle).map_err(|error| error.of_its_own(name))
    }

    /// Passes every callback before the grant of a requested time advance (8.13, 8.14) to `handle`, and returns the
    /// time granted.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke), and the errors of `handle`.
    pub fn grant(
        &mut self,
        mut handle: impl FnMut(&mut Self, Callback) -> Result<(), Error>,
    ) -> Result<LogicalTime, Error> {
        self.handle_until(|federate, callback| match callback {
            Callback::TimeAdvanceGrant { time } | Callback::FlushQueueGrant { time, .. } => {
                federate.time(time).map(Some)
            }
            callback => handle(federate, callback).map(|()| None),
        })
    }

    /// Joins a federation execution (4.11) and returns the handle of the federate.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn join_federation_execution(&mut self, joining: Joining) -> Result<FederateHandle, Error> {
        let Joining { federate_name, federate_type, federation_name, modules } = joining;
        let additional_fom_modules = modules;
        self.call(match federate_name {
            Some(federate_name) => FederationCall::JoinFederationExecutionWithNameAndModules {
                federate_name,
                federate_type,
                federation_name,
                additional_fom_modules,
            },
            None => FederationCall::JoinFederationExecutionWithModules {
                federate_type,
                federation_name,
                additional_fom_modules,
            },
        })?;
        self.federate().ok_or_else(|| not_joined("JoinFederationExecution"))
    }

    /// Resigns from the federation execution (4.12).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn resign_federation_execution(&mut self, action: ResignAction) -> Result<(), Error> {
        let resign_action = Some(action);
        self.call(FederationCall::ResignFederationExecution { resign_action }).map(|_| ())
    }

    /// Disconnects from the RTI (4.3), and waits until the RTI has ended the session.
    ///
    /// # Errors
    /// As [`call`](Self::call): `FederateIsExecutionMember` before resigning. The session ends in any case.
    pub fn disconnect(mut self) -> Result<(), Error> {
        let answer = self.call(FederationCall::Disconnect);
        self.driver.terminate()?;
        answer.map(|_| ())
    }

    /// Returns the handle of the federate; `None` while it is not joined.
    pub fn federate(&self) -> Option<FederateHandle> {
        self.mirror.member().map(|member| member.federate)
    }

    /// Returns the logical time implementation of the federation; `None` while the federate is not joined.
    pub fn time_implementation(&self) -> Option<TimeImplementation> {
        self.mirror.member().map(|member| member.implementation)
    }

    /// Decodes the time in a callback or a reply.
    ///
    /// # Errors
    /// The value is invalid; `FederateNotExecutionMember` while the federate is not joined.
    pub fn time(&self, encoded: EncodedTime) -> Result<LogicalTime, Error> {
        let time = self.time_implementation().ok_or_else(|| not_joined("a logical time"))?;
        Ok(encoded.decode(time)?)
    }

    /// Decodes the interval in a reply.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn interval(&self, encoded: EncodedInterval) -> Result<LogicalInterval, Error> {
        let time = self.time_implementation().ok_or_else(|| not_joined("a logical time"))?;
        Ok(encoded.decode(time)?)
    }
}

/// Whether a call joins, resigns or disconnects.
const fn changes_membership(call: &Call) -> bool {
    use FederationCall as C;
    matches!(
        call,
        Call::Federation(
            C::Disconnect
                | C::JoinFederationExecution { .. }
                | C::JoinFederationExecutionWithName { .. }
                | C::JoinFederationExecutionWithModules { .. }
                | C::JoinFederationExecutionWithNameAndModules { .. }
                | C::ResignFederationExecution { .. }
        )
    )
}

impl Drop for Federate {
    fn drop(&mut self) {
        self.driver.leave();
    }
}

/// The arguments of joining a federation execution (clause 4.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    federate_name: Option<String>,
    federate_type: String,
    federation_name: String,
    modules: Vec<hemiola_hla::data::FomModule>,
}

impl Joining {
    /// A federate of this type joins this federation. The RTI assigns its name; it brings no modules.
    pub fn new(federate_type: impl Into<String>, federation_name: impl Into<String>) -> Self {
        Self {
            federate_name: None,
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
            modules: Vec::new(),
        }
    }

    /// Sets the name of the federate, which must be unique in the federation.
    #[must_use]
    pub fn named(mut self, federate_name: impl Into<String>) -> Self {
        self.federate_name = Some(federate_name.into());
        self
    }

    /// Adds modules to the federation's object model.
    #[must_use]
    pub fn with_modules(
        mut self,
        modules: impl IntoIterator<Item = hemiola_hla::data::FomModule>,
    ) -> Self {
        self.modules.extend(modules);
        self
    }
}
