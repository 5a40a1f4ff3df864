//! Clause 8, time management.

use hemiola_hla::call::TimeCall;
use hemiola_hla::{
    AttributeHandle, Callback, EncodedInterval, EncodedTime, InteractionClassHandle,
    LogicalInterval, LogicalTime, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType,
};

use super::services;
use crate::error::Error;
use crate::federate::Federate;

macro_rules! requests {
    ($($clause:literal $method:ident $call:ident;)*) => {
        /// A service that requests a time advance.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TimeRequest {$(
            #[doc = concat!("Clause ", $clause, ".")]
            $call,
        )*}

        impl TimeRequest {
            pub(crate) fn call(self, time: LogicalTime) -> TimeCall {
                let time = time.into();
                match self {$(Self::$call => TimeCall::$call { time },)*}
            }
        }

        /// Requests to advance time. A callback grants each of them: see [`grant`](Federate::grant).
        impl Federate {$(
            #[doc = concat!("Clause ", $clause, ": [`", stringify!($call), "`](TimeCall::", stringify!($call), ").")]
            ///
            /// # Errors
            /// As [`call`](Self::call).
            pub fn $method(&mut self, time: LogicalTime) -> Result<(), Error> {
                self.send(TimeCall::$call { time: time.into() })
            }
        )*}
    };
}

requests! {
    "8.8" time_advance_request TimeAdvanceRequest;
    "8.9" time_advance_request_available TimeAdvanceRequestAvailable;
    "8.10" next_message_request NextMessageRequest;
    "8.11" next_message_request_available NextMessageRequestAvailable;
    "8.12" flush_queue_request FlushQueueRequest;
}

/// Regulation, constraint and queries of time.
impl Federate {
    /// Clauses 8.2 and 8.3: enables time regulation and waits for `timeRegulationEnabled`. Returns the time at which
    /// the federate is regulating. Other callbacks stay queued.
    ///
    /// # Errors
    /// As [`call`](Self::call) and [`wait_for`](Self::wait_for).
    pub fn enable_time_regulation_and_wait(
        &mut self,
        lookahead: LogicalInterval,
    ) -> Result<LogicalTime, Error> {
        self.enable_time_regulation(lookahead)?;
        let enabled = self.wait_for(|callback| match callback {
            Callback::TimeRegulationEnabled { time } => Some(*time),
            _ => None,
        });
        let time = enabled.map_err(|error| error.of_its_own("EnableTimeRegulation"))?;
        self.time(time)
    }

    /// Clauses 8.5 and 8.6: enables time constraint and waits for `timeConstrainedEnabled`. Returns the time at which
    /// the federate is constrained. Other callbacks stay queued.
    ///
    /// # Errors
    /// As [`call`](Self::call) and [`wait_for`](Self::wait_for).
    pub fn enable_time_constrained_and_wait(&mut self) -> Result<LogicalTime, Error> {
        self.enable_time_constrained()?;
        let enabled = self.wait_for(|callback| match callback {
            Callback::TimeConstrainedEnabled { time } => Some(*time),
            _ => None,
        });
        let time = enabled.map_err(|error| error.of_its_own("EnableTimeConstrained"))?;
        self.time(time)
    }

    /// Clause 8.17, `queryGALT`: the greatest time that could be granted now; `None` if nothing bounds it.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn query_galt(&mut self) -> Result<Option<LogicalTime>, Error> {
        let time: Option<EncodedTime> = self.ask(TimeCall::QueryGALT)?;
        time.map(|time| self.time(time)).transpose()
    }

    /// Clause 8.18, `queryLogicalTime`: the federate's own time.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn query_logical_time(&mut self) -> Result<LogicalTime, Error> {
        let time: EncodedTime = self.ask(TimeCall::QueryLogicalTime)?;
        self.time(time)
    }

    /// Clause 8.19, `queryLITS`: the least time stamp that may still arrive; `None` if nothing bounds it.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn query_lits(&mut self) -> Result<Option<LogicalTime>, Error> {
        let time: Option<EncodedTime> = self.ask(TimeCall::QueryLITS)?;
        time.map(|time| self.time(time)).transpose()
    }

    /// Clause 8.21, `queryLookahead`.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn query_lookahead(&mut self) -> Result<LogicalInterval, Error> {
        let lookahead: EncodedInterval = self.ask(TimeCall::QueryLookahead)?;
        self.interval(lookahead)
    }
}

services! {
    TimeCall, send:
    "8.2" EnableTimeRegulation: enable_time_regulation(lookahead: LogicalInterval);
    "8.4" DisableTimeRegulation: disable_time_regulation();
    "8.5" EnableTimeConstrained: enable_time_constrained();
    "8.7" DisableTimeConstrained: disable_time_constrained();
    "8.15" EnableAsynchronousDelivery: enable_asynchronous_delivery();
    "8.16" DisableAsynchronousDelivery: disable_asynchronous_delivery();
    "8.20" ModifyLookahead: modify_lookahead(lookahead: LogicalInterval);
    "8.22" Retract: retract(retraction: MessageRetractionHandle);
    "8.24" ChangeAttributeOrderType: change_attribute_order_type(
        object_instance: ObjectInstanceHandle, attributes: &[AttributeHandle], order_type: OrderType,
    );
    "8.25" ChangeDefaultAttributeOrderType: change_default_attribute_order_type(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], order_type: OrderType,
    );
    "8.26" ChangeInteractionOrderType: change_interaction_order_type(
        interaction_class: InteractionClassHandle, order_type: OrderType,
    );
}
