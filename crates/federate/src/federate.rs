//! A federate: its connection, its calls, the callbacks it evokes.

use hemiola_fedpro::message;
use hemiola_hla::call::{FederationCall, TimeCall};
use hemiola_hla::data::ANSWERS_LATER;
use hemiola_hla::{
    Call, Callback, EncodedInterval, EncodedTime, FederateHandle, LogicalInterval, LogicalTime,
    Reply, ResignAction, TimeImplementation,
};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::Stream;
use hemiola_rt::sys::timer;
use hemiola_units::{Instant, RtiAddress, Span};

use crate::driver::{Driver, not_joined};
use crate::error::Error;
use crate::link::Link;
use crate::names::Names;
use crate::options::Options;

/// How long to wait between one attempt to find an RTI and the next.
const ATTEMPT_EVERY: Span = Span::from_millis(50);

/// A federate that is connected to an RTI.
///
/// It has no thread of its own: a call blocks until its answer is there, and callbacks come when they are evoked. One
/// that neither calls nor evokes for three minutes ([`silence_max`](crate::Settings::silence_max)) loses its
/// connection; the next call finds the session again within ten
/// ([`resume_window`](crate::Settings::resume_window)). For callbacks that come by themselves, see
/// [`immediate`](Self::immediate).
///
/// A federate that is dropped says goodbye, and the RTI resigns it.
#[derive(Debug)]
pub struct Federate {
    pub(crate) driver: Driver,
    pub(crate) is_pipelined: bool,
    gather: usize,
    joined: Option<Joined>,
    pub(crate) names: Names,
}

/// What a federate is told when it has joined.
#[derive(Clone, Copy, Debug)]
struct Joined {
    federate: FederateHandle,
    time: TimeImplementation,
}

impl Federate {
    /// Connects to the RTI at an address (clause 4.2).
    ///
    /// # Errors
    /// [`Error::Unreachable`] if there is none within [`patience`](Options::patience); the exceptions of `connect`.
    pub fn connect(address: &RtiAddress, options: Options) -> Result<Self, Error> {
        let until = MonotonicClock.now() + options.patience;
        loop {
            match Self::open(Link::to(address)?, &options) {
                Ok(driver) => return Self::begin(driver, options),
                Err((failure, error)) => {
                    let now = MonotonicClock.now();
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

    /// Connects to the RTI at the other end of a stream, such as one in this process. A stream that breaks cannot be
    /// opened again: the session ends with it.
    ///
    /// # Errors
    /// [`Error::Lost`] if nobody answers; the exceptions of `connect`.
    pub fn over(stream: Stream, options: Options) -> Result<Self, Error> {
        let driver = Self::open(Link::over(stream)?, &options).map_err(|(_, error)| error)?;
        Self::begin(driver, options)
    }

    fn open(link: Link, options: &Options) -> Result<Driver, (Option<std::io::Error>, Error)> {
        let callbacks_len_max = usize::try_from(options.callbacks_max.0).unwrap_or(usize::MAX);
        Driver::open(link, options.session, callbacks_len_max)
    }

    fn begin(driver: Driver, options: Options) -> Result<Self, Error> {
        let gather = usize::try_from(options.gather.0).unwrap_or(usize::MAX);
        let (is_pipelined, joined, names) = (options.pipelined, None, Names::default());
        let mut federate = Self { driver, is_pipelined, gather, joined, names };
        let mut configuration = options.configuration;
        if is_pipelined {
            let settings = &mut configuration.get_or_insert_default().additional_settings;
            if !settings.is_empty() {
                settings.push('\n');
            }
            settings.push_str(ANSWERS_LATER);
        }
        federate.call(match (configuration, options.credentials) {
            (None, None) => FederationCall::Connect,
            (None, Some(credentials)) => FederationCall::ConnectWithCredentials { credentials },
            (Some(rti_configuration), None) => {
                FederationCall::ConnectWithConfiguration { rti_configuration }
            }
            (Some(rti_configuration), Some(credentials)) => {
                FederationCall::ConnectWithConfigurationAndCredentials {
                    rti_configuration,
                    credentials,
                }
            }
        })?;
        federate.driver.answers_later = is_pipelined;
        Ok(federate)
    }

    /// Makes any of the standard's calls and waits for the answer.
    ///
    /// # Errors
    /// The call's exceptions, as [`Error::Exception`]; [`Error::Earlier`] or [`Error::Backlog`] if the call was not
    /// made; [`Error::Lost`].
    pub fn call(&mut self, call: impl Into<Call>) -> Result<Reply, Error> {
        let call = call.into();
        let answer = self.driver.ask(call.entry(), message::encode_call(&call));
        if let Ok(Reply::Joined(joined)) = &answer {
            let name = &joined.logical_time_implementation;
            let time = TimeImplementation::named(name).ok_or_else(|| Error::Exception {
                call: call.name(),
                refusal: hemiola_hla::Exception::CouldNotCreateLogicalTimeFactory
                    .because(format!("the federation uses {name}, which is not known here")),
            })?;
            self.joined = Some(Joined { federate: joined.federate, time });
            self.names = Names::default();
        }
        if let (Call::Federation(FederationCall::ResignFederationExecution { .. }), Ok(_)) =
            (&call, &answer)
        {
            self.joined = None;
        }
        answer
    }

    /// Makes a call and does not wait for the answer. If it is refused, [`Error::Earlier`] comes out of a later call
    /// or evocation; what it would return is not told. Waits only while more than
    /// [`requests_max`](crate::Settings::requests_max) calls have no answer.
    ///
    /// # Errors
    /// As [`call`](Self::call), but not the call's own exceptions.
    pub fn post(&mut self, call: impl Into<Call>) -> Result<(), Error> {
        let call = call.into();
        self.driver.post(call.entry(), message::encode_call(&call), self.gather)
    }

    /// Sends what calls without waiting have gathered, and waits until the connection has taken all of it.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.driver.flush()
    }

    /// The next callback, waiting for it at most so long (clause 10.57, `evokeCallback`); `None` if none has come. Zero
    /// looks whether there is one, [`Span::MAX`] waits for ever. Waiting takes no processor time.
    ///
    /// # Errors
    /// [`Error::Earlier`], before any callback; [`Error::Lost`], after all callbacks; [`Error::Message`] for a callback
    /// that cannot be understood, which the RTI is told.
    pub fn evoke(&mut self, at_most: Span) -> Result<Option<Callback>, Error> {
        let until = match at_most {
            Span::MAX => Instant::MAX,
            Span::ZERO => Instant::ZERO,
            at_most => MonotonicClock.now() + at_most,
        };
        self.evoke_until(until)
    }

    /// The next callback, waiting for it until an instant of the monotonic clock; `None` if none has come.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke).
    pub fn evoke_until(&mut self, until: Instant) -> Result<Option<Callback>, Error> {
        let callback = self.driver.callback(until);
        self.noted(callback)
    }

    /// The next callback that is there.
    pub(crate) fn take_callback(&mut self) -> Result<Option<Callback>, Error> {
        let callback = self.driver.take_callback();
        self.noted(callback)
    }

    fn noted(
        &mut self,
        callback: Result<Option<Callback>, Error>,
    ) -> Result<Option<Callback>, Error> {
        if let Ok(Some(Callback::FederateResigned { .. })) = callback {
            self.joined = None;
        }
        callback
    }

    /// Evokes callbacks until one of them has what is waited for.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke), and what `look` returns.
    pub fn wait_for<T>(
        &mut self,
        mut look: impl FnMut(&mut Self, Callback) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        loop {
            if let Some(callback) = self.evoke_until(Instant::MAX)?
                && let Some(found) = look(self, callback)?
            {
                return Ok(found);
            }
        }
    }

    /// Advances to a logical time: `timeAdvanceRequest` (8.8), then every callback up to `timeAdvanceGrant` (8.14),
    /// which is the time returned. The request is not waited for on its own.
    ///
    /// # Errors
    /// The exceptions of `timeAdvanceRequest`; as [`evoke`](Self::evoke), and what `handle` returns: then the advance
    /// is under way.
    pub fn advance(
        &mut self,
        to: LogicalTime,
        handle: impl FnMut(&mut Self, Callback) -> Result<(), Error>,
    ) -> Result<LogicalTime, Error> {
        const CALL: &str = "TimeAdvanceRequest";
        self.post(TimeCall::TimeAdvanceRequest { time: to.into() })?;
        self.grant(handle).map_err(|error| match error {
            Error::Earlier { call: CALL, refusal } => Error::Exception { call: CALL, refusal },
            error => error,
        })
    }

    /// Evokes callbacks up to the grant of a time advance that was requested (8.13, 8.14), and returns its time.
    ///
    /// # Errors
    /// As [`evoke`](Self::evoke), and what `handle` returns.
    pub fn grant(
        &mut self,
        mut handle: impl FnMut(&mut Self, Callback) -> Result<(), Error>,
    ) -> Result<LogicalTime, Error> {
        self.wait_for(|federate, callback| match callback {
            Callback::TimeAdvanceGrant { time } | Callback::FlushQueueGrant { time, .. } => {
                federate.time(time).map(Some)
            }
            callback => handle(federate, callback).map(|()| None),
        })
    }

    /// Joins a federation execution (4.11): who joins what is all in [`Joining`]. Its own handle.
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

    /// Disconnects from the RTI (4.3), and waits until it has heard it.
    ///
    /// # Errors
    /// As [`call`](Self::call): `FederateIsExecutionMember` before resigning. The session ends all the same.
    pub fn disconnect(mut self) -> Result<(), Error> {
        let answer = self.call(FederationCall::Disconnect);
        self.driver.terminate()?;
        answer.map(|_| ())
    }

    /// Its handle; `None` while it is not joined.
    #[must_use]
    pub fn federate(&self) -> Option<FederateHandle> {
        self.joined.map(|joined| joined.federate)
    }

    /// The logical time of the federation it has joined; `None` while it has not.
    #[must_use]
    pub fn time_implementation(&self) -> Option<TimeImplementation> {
        self.joined.map(|joined| joined.time)
    }

    /// The time that a callback or an answer means.
    ///
    /// # Errors
    /// A value that is none; `FederateNotExecutionMember` while it is not joined.
    pub fn time(&self, encoded: EncodedTime) -> Result<LogicalTime, Error> {
        let joined = self.joined.ok_or_else(|| not_joined("a logical time"))?;
        Ok(encoded.decode(joined.time)?)
    }

    /// The interval that an answer means.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn interval(&self, encoded: EncodedInterval) -> Result<LogicalInterval, Error> {
        let joined = self.joined.ok_or_else(|| not_joined("a logical time"))?;
        Ok(encoded.decode(joined.time)?)
    }
}

impl Drop for Federate {
    fn drop(&mut self) {
        self.driver.leave();
    }
}

/// Who joins which federation execution, and with what (clause 4.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    federate_name: Option<String>,
    federate_type: String,
    federation_name: String,
    modules: Vec<hemiola_hla::data::FomModule>,
}

impl Joining {
    /// A federate of this type, under a name that the RTI makes, without modules of its own.
    pub fn new(federate_type: impl Into<String>, federation_name: impl Into<String>) -> Self {
        Self {
            federate_name: None,
            federate_type: federate_type.into(),
            federation_name: federation_name.into(),
            modules: Vec::new(),
        }
    }

    /// Under a name of its own; no other federate may have it.
    #[must_use]
    pub fn named(mut self, federate_name: impl Into<String>) -> Self {
        self.federate_name = Some(federate_name.into());
        self
    }

    /// With modules that are added to the federation's object model.
    #[must_use]
    pub fn with_modules(
        mut self,
        modules: impl IntoIterator<Item = hemiola_hla::data::FomModule>,
    ) -> Self {
        self.modules.extend(modules);
        self
    }
}
