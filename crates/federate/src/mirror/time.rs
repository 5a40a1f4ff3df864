//! The time state of a federate: lower bounds of its time and of its promise, and what it has enabled.

use hemiola_hla::call::TimeCall;
use hemiola_hla::{
    Callback, EncodedInterval, EncodedTime, Exception, LogicalInterval, LogicalTime, Refusal,
    TimeImplementation,
};

use super::Judgement;

#[derive(Debug)]
pub(super) struct Time {
    implementation: TimeImplementation,
    /// The logical time is at least this.
    now: LogicalTime,
    regulation: Switch,
    /// The lookahead is at least this, once the federate regulates.
    lookahead: LogicalInterval,
    /// No message of a regulating federate may have an earlier time stamp.
    promise: LogicalTime,
    constrained: Switch,
    is_asynchronous: bool,
    /// The numbers of requests for a time advance and of grants that have been evoked.
    requested: u64,
    granted: u64,
}

/// A state that a call requests and a callback confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    Off,
    /// One call has requested it; the RTI may have refused it.
    Requested,
    On,
    /// Calls and callbacks may have crossed. Only the RTI knows, until the federate resigns.
    Unknown,
}

impl Switch {
    const fn enabled(self) -> Self {
        match self {
            Self::Off => Self::Requested,
            Self::On => Self::On,
            Self::Requested | Self::Unknown => Self::Unknown,
        }
    }

    const fn disabled(self) -> Self {
        match self {
            Self::Off | Self::On => Self::Off,
            Self::Requested | Self::Unknown => Self::Unknown,
        }
    }

    fn confirm(&mut self) {
        if *self == Self::Requested {
            *self = Self::On;
        }
    }
}

impl Time {
    pub(super) fn new(implementation: TimeImplementation) -> Self {
        let initial = LogicalTime::initial(implementation);
        Self {
            implementation,
            now: initial,
            regulation: Switch::Off,
            lookahead: LogicalInterval::zero(implementation),
            promise: initial,
            constrained: Switch::Off,
            is_asynchronous: false,
            requested: 0,
            granted: 0,
        }
    }

    pub(super) fn judge(&self, call: &TimeCall, advances_refused: u64) -> Judgement {
        use TimeCall as C;
        let refused_if = |is_so, exception: Exception| {
            if is_so { Err(exception.into()) } else { Ok(()) }
        };
        let (is_asynchronous, off, on) = (self.is_asynchronous, Switch::Off, Switch::On);
        match call {
            C::EnableTimeRegulation { .. } => {
                refused_if(self.regulation == on, Exception::TimeRegulationAlreadyEnabled)
            }
            C::DisableTimeRegulation | C::ModifyLookahead { .. } => {
                refused_if(self.regulation == off, Exception::TimeRegulationIsNotEnabled)
            }
            C::EnableTimeConstrained => {
                refused_if(self.constrained == on, Exception::TimeConstrainedAlreadyEnabled)
            }
            C::DisableTimeConstrained => {
                refused_if(self.constrained == off, Exception::TimeConstrainedIsNotEnabled)
            }
            C::EnableAsynchronousDelivery => {
                refused_if(is_asynchronous, Exception::AsynchronousDeliveryAlreadyEnabled)
            }
            C::DisableAsynchronousDelivery => {
                refused_if(!is_asynchronous, Exception::AsynchronousDeliveryAlreadyDisabled)
            }
            call => match advance(call) {
                Some(time) if self.stands(advances_refused) => self.request(time),
                _ => Ok(()),
            },
        }
    }

    /// Whether the federate certainly waits for nothing: each of its requests has been granted or refused.
    fn stands(&self, advances_refused: u64) -> bool {
        let is_settled = |switch| matches!(switch, Switch::Off | Switch::On);
        is_settled(self.constrained)
            && is_settled(self.regulation)
            && self.requested == self.granted + advances_refused
    }

    fn request(&self, time: EncodedTime) -> Judgement {
        let time = self.decoded(time)?;
        if time < self.now {
            let details = format!("{time} is before {}", self.now);
            return Err(Exception::LogicalTimeAlreadyPassed.because(details));
        }
        Ok(())
    }

    /// Judges the time stamp of a message.
    pub(super) fn stamp(&self, time: EncodedTime) -> Judgement {
        let time = self.decoded(time)?;
        if self.regulation == Switch::On && time < self.promise {
            let details = format!(
                "the least time stamp the federate may send is {}; {time} is earlier",
                self.promise
            );
            return Err(Exception::InvalidLogicalTime.because(details));
        }
        Ok(())
    }

    /// Decodes a time as the RTI will: one that is malformed here is sent as some time all the same.
    fn decoded(&self, time: EncodedTime) -> Result<LogicalTime, Refusal> {
        EncodedTime::new(&time.bytes())
            .decode(self.implementation)
            .map_err(|error| Exception::InvalidLogicalTime.because(error.to_string()))
    }

    pub(super) fn note_call(&mut self, call: &TimeCall) {
        use TimeCall as C;
        match call {
            C::EnableTimeRegulation { lookahead } => {
                if self.regulation == Switch::Off {
                    self.lookahead = self.at_least(*lookahead);
                    self.promise = self.now;
                }
                self.regulation = self.regulation.enabled();
            }
            C::DisableTimeRegulation => self.regulation = self.regulation.disabled(),
            C::EnableTimeConstrained => self.constrained = self.constrained.enabled(),
            C::DisableTimeConstrained => self.constrained = self.constrained.disabled(),
            C::EnableAsynchronousDelivery => self.is_asynchronous = true,
            C::DisableAsynchronousDelivery => self.is_asynchronous = false,
            C::ModifyLookahead { lookahead } => {
                self.lookahead = self.lookahead.min(self.at_least(*lookahead));
            }
            call => self.requested += u64::from(advance(call).is_some()),
        }
    }

    /// Returns the lookahead of a call that the RTI may refuse.
    fn at_least(&self, lookahead: EncodedInterval) -> LogicalInterval {
        let zero = LogicalInterval::zero(self.implementation);
        EncodedInterval::new(&lookahead.bytes()).decode(self.implementation).unwrap_or(zero)
    }

    pub(super) fn note_callback(&mut self, callback: &Callback) {
        use Callback as C;
        match callback {
            C::TimeRegulationEnabled { time } => {
                self.regulation.confirm();
                self.reach(*time);
            }
            C::TimeConstrainedEnabled { time } => {
                self.constrained.confirm();
                self.reach(*time);
            }
            C::TimeAdvanceGrant { time } | C::FlushQueueGrant { time, .. } => {
                self.granted += 1;
                self.reach(*time);
            }
            _ => {}
        }
    }

    /// Notes a logical time that the federate has had.
    fn reach(&mut self, time: EncodedTime) {
        let Ok(time) = time.decode(self.implementation) else { return };
        self.now = self.now.max(time);
        let promise = self.now.plus(self.lookahead).unwrap_or(self.now);
        self.promise = self.promise.max(promise);
    }
}

/// Returns the time that a call requests to advance to.
fn advance(call: &TimeCall) -> Option<EncodedTime> {
    use TimeCall as C;
    match call {
        C::TimeAdvanceRequest { time }
        | C::TimeAdvanceRequestAvailable { time }
        | C::NextMessageRequest { time }
        | C::NextMessageRequestAvailable { time }
        | C::FlushQueueRequest { time } => Some(*time),
        _ => None,
    }
}
