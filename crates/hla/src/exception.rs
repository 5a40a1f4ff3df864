//! Every exception of the standard, by its name.

use std::fmt;

macro_rules! exceptions {
    ($($name:ident $meaning:literal,)*) => {
        /// Why a call was refused. What federates get is the name; text besides is for people.
        ///
        /// The 95 that services raise, and those the programming interfaces define for the client's own use:
        /// the names that clients of the Federate Protocol understand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Exception {
            $(#[doc = $meaning] $name,)*
        }

        impl Exception {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its standard name, as it travels.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// One sentence for people.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }
        }
    };
}

exceptions! {
    AlreadyConnected "The federate is connected already.",
    AsynchronousDeliveryAlreadyDisabled "Asynchronous delivery is off already.",
    AsynchronousDeliveryAlreadyEnabled "Asynchronous delivery is on already.",
    AttributeAcquisitionWasNotRequested "There is no request for ownership of the attribute to take back.",
    AttributeAlreadyBeingAcquired "The federate has asked for the attribute already.",
    AttributeAlreadyBeingChanged "A change of the attribute is under way already.",
    AttributeAlreadyBeingDivested "The federate has offered the attribute already.",
    AttributeAlreadyOwned "The federate owns the attribute already.",
    AttributeDivestitureWasNotRequested "The federate has not offered the attribute.",
    AttributeNotDefined "The class has no such attribute.",
    AttributeNotOwned "The federate does not own the attribute.",
    AttributeNotPublished "The federate does not publish the attribute.",
    CallNotAllowedFromWithinCallback "The call cannot be made while a callback is being handled.",
    ConnectionFailed "The RTI cannot be reached.",
    CouldNotCreateLogicalTimeFactory "The logical time is none of those the RTI has.",
    CouldNotDecode "The bytes are no value of the data type.",
    CouldNotEncode "The value has no bytes.",
    CouldNotOpenFOM "A module of the object model cannot be opened.",
    CouldNotOpenMIM "The management module cannot be opened.",
    DeletePrivilegeNotHeld "The federate does not own the privilege to delete the instance.",
    DesignatorIsHLAstandardMIM "The standard management module cannot be given by its name.",
    ErrorReadingFOM "A module of the object model cannot be read.",
    ErrorReadingMIM "The management module cannot be read.",
    FederateAlreadyExecutionMember "The federate has joined already.",
    FederateHandleNotKnown "No joined federate has this handle.",
    FederateHasNotBegunSave "The federate has not said that it begins to save.",
    FederateInternalError "The federate failed in a callback.",
    FederateIsExecutionMember "The federate has to resign first.",
    FederateNameAlreadyInUse "A joined federate has this name.",
    FederateNotExecutionMember "The federate has not joined.",
    FederateOwnsAttributes "The federate owns attributes.",
    FederateServiceInvocationsAreBeingReportedViaMOM "Its own calls are reported: it may not subscribe.",
    FederateUnableToUseTime "A federate cannot use the time.",
    FederatesCurrentlyJoined "Federates are still joined.",
    FederationExecutionAlreadyExists "A federation execution has this name.",
    FederationExecutionDoesNotExist "No federation execution has this name.",
    IllegalName "The name is one that cannot be had.",
    IllegalTimeArithmetic "The result is no value of the logical time.",
    InTimeAdvancingState "The federate waits for a time advance.",
    InconsistentFOM "The modules contradict each other.",
    InteractionClassAlreadyBeingChanged "A change of the interaction class is under way already.",
    InteractionClassNotDefined "No interaction class has this handle.",
    InteractionClassNotPublished "The federate does not publish the interaction class.",
    InteractionParameterNotDefined "The interaction class has no such parameter.",
    InternalError "The client failed.",
    InvalidAttributeHandle "No attribute has this handle.",
    InvalidCredentials "The credentials are of no kind the RTI knows, or wrong.",
    InvalidDimensionHandle "No dimension has this handle.",
    InvalidFOM "A module of the object model is no sound module.",
    InvalidFederateHandle "No federate has this handle.",
    InvalidInteractionClassHandle "No interaction class has this handle.",
    InvalidLogicalTime "The bytes are no value of the federation's logical time.",
    InvalidLogicalTimeInterval "The bytes are no interval of the federation's logical time.",
    InvalidLookahead "The bytes are no interval a lookahead can be.",
    InvalidMIM "The management module is no sound one.",
    InvalidMessageRetractionHandle "No message of the federate has this handle.",
    InvalidObjectClassHandle "No object class has this handle.",
    InvalidObjectInstanceHandle "No object instance has this handle.",
    InvalidOrderName "No order has this name.",
    InvalidOrderType "The number means no order.",
    InvalidParameterHandle "No parameter has this handle.",
    InvalidRangeBound "The range lies outside its dimension, or is empty.",
    InvalidRegion "No region of the federation has this handle.",
    InvalidRegionContext "The region has a dimension that is not available there.",
    InvalidResignAction "The number means no resign directive.",
    InvalidServiceGroup "The number means no service group.",
    InvalidTransportationName "No kind of transportation has this name.",
    InvalidTransportationTypeHandle "No kind of transportation has this handle.",
    InvalidUpdateRateDesignator "No update rate has this name.",
    LogicalTimeAlreadyPassed "The time is before the federate's own.",
    MessageCanNoLongerBeRetracted "The message cannot be taken back any more.",
    NameNotFound "Nothing has this name.",
    NameSetWasEmpty "The set of names is empty.",
    NoAcquisitionPending "Nobody waits for the attribute.",
    NotConnected "The federate is not connected.",
    ObjectClassNotDefined "No object class has this handle.",
    ObjectClassNotPublished "The federate does not publish the object class.",
    ObjectInstanceNameInUse "An object instance has this name.",
    ObjectInstanceNameNotReserved "The federate has not reserved this name.",
    ObjectInstanceNotKnown "The federate knows no object instance of this handle.",
    OwnershipAcquisitionPending "The federate waits for ownership it has asked for.",
    RTIinternalError "The RTI failed, or cannot do this.",
    RegionDoesNotContainSpecifiedDimension "The region was made without this dimension.",
    RegionInUseForUpdateOrSubscription "The region is in use.",
    RegionNotCreatedByThisFederate "The region belongs to another federate.",
    ReportServiceInvocationsAreSubscribed "The federate subscribes to reports: its own calls cannot be reported.",
    RequestForTimeConstrainedPending "The federate waits to become time-constrained.",
    RequestForTimeRegulationPending "The federate waits to become time-regulating.",
    RestoreInProgress "A restore is in progress.",
    RestoreNotInProgress "No restore is in progress.",
    RestoreNotRequested "The federate was not asked to restore.",
    SaveInProgress "A save is in progress.",
    SaveNotInProgress "No save is in progress.",
    SaveNotInitiated "The federate was not asked to save.",
    SynchronizationPointLabelNotAnnounced "The synchronization point was not announced to the federate.",
    TimeConstrainedAlreadyEnabled "The federate is time-constrained already.",
    TimeConstrainedIsNotEnabled "The federate is not time-constrained.",
    TimeRegulationAlreadyEnabled "The federate is time-regulating already.",
    TimeRegulationIsNotEnabled "The federate is not time-regulating.",
    Unauthorized "The federate may not do this.",
    UnsupportedCallbackModel "The client cannot deliver callbacks in this way.",
    AttributeRelevanceAdvisorySwitchIsOff "The switch is off already (2010 alone).",
    AttributeRelevanceAdvisorySwitchIsOn "The switch is on already (2010 alone).",
    AttributeScopeAdvisorySwitchIsOff "The switch is off already (2010 alone).",
    AttributeScopeAdvisorySwitchIsOn "The switch is on already (2010 alone).",
    InteractionRelevanceAdvisorySwitchIsOff "The switch is off already (2010 alone).",
    InteractionRelevanceAdvisorySwitchIsOn "The switch is on already (2010 alone).",
    ObjectClassRelevanceAdvisorySwitchIsOff "The switch is off already (2010 alone).",
    ObjectClassRelevanceAdvisorySwitchIsOn "The switch is on already (2010 alone).",
}

impl Exception {
    /// The exception of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|exception| exception.name() == name)
    }

    /// A refusal with this exception, and something to say besides.
    #[must_use]
    pub fn because(self, details: impl Into<String>) -> Refusal {
        Refusal { exception: self, details: details.into() }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Exception {}

/// The answer to a call that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What a federate acts upon.
    pub exception: Exception,
    /// For people; empty if the name says it all.
    pub details: String,
}

impl From<Exception> for Refusal {
    fn from(exception: Exception) -> Self {
        exception.because("")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details =
            if self.details.is_empty() { self.exception.meaning() } else { &self.details };
        write!(f, "{}: {details}", self.exception)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_exception() {
        assert_eq!(Exception::ALL.len(), 109);
        for exception in Exception::ALL {
            assert_eq!(Exception::from_name(exception.name()), Some(*exception));
        }
        assert_eq!(Exception::from_name("notconnected"), None);
    }

    #[test]
    fn a_refusal_always_says_why() {
        let refusal = Refusal::from(Exception::NotConnected);
        assert_eq!(refusal.to_string(), "NotConnected: The federate is not connected.");
        let refusal = Exception::NameNotFound.because("no class Car");
        assert_eq!(refusal.to_string(), "NameNotFound: no class Car");
    }
}
