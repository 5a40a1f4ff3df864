//! The exceptions of the standard.

use std::fmt;

macro_rules! exceptions {
    ($($name:ident $meaning:literal,)*) => {
        /// The exception that refuses a call. Federates receive its name; any further text is for people.
        ///
        /// These are the 95 that services raise, those that the programming interfaces define for the client's own use,
        /// and those that only clients of 1516-2010 understand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Exception {
            $(#[doc = $meaning] $name,)*
        }

        impl Exception {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns its standard name, as sent on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Returns a sentence for people.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }
        }
    };
}

exceptions! {
    AlreadyConnected "The federate is already connected.",
    AsynchronousDeliveryAlreadyDisabled "Asynchronous delivery is off already.",
    AsynchronousDeliveryAlreadyEnabled "Asynchronous delivery is on already.",
    AttributeAcquisitionWasNotRequested "There is no request for ownership of the attribute to take back.",
    AttributeAlreadyBeingAcquired "The federate has already asked for the attribute.",
    AttributeAlreadyBeingChanged "A change of the attribute is already in progress.",
    AttributeAlreadyBeingDivested "The federate has already offered the attribute.",
    AttributeAlreadyOwned "The federate already owns the attribute.",
    AttributeDivestitureWasNotRequested "The federate has not offered the attribute.",
    AttributeNotDefined "The class has no such attribute.",
    AttributeNotOwned "The federate does not own the attribute.",
    AttributeNotPublished "The federate does not publish the attribute.",
    CallNotAllowedFromWithinCallback "The call cannot be made while a callback is being handled.",
    ConnectionFailed "The RTI cannot be reached.",
    CouldNotCreateLogicalTimeFactory "The RTI does not have this logical time implementation.",
    CouldNotDecode "The bytes do not encode a value of the data type.",
    CouldNotEncode "The value cannot be encoded.",
    CouldNotOpenFOM "A module of the object model cannot be opened.",
    CouldNotOpenMIM "The MIM cannot be opened.",
    DeletePrivilegeNotHeld "The federate does not own the privilege to delete the instance.",
    DesignatorIsHLAstandardMIM "The standard MIM cannot be specified by its name.",
    ErrorReadingFOM "A module of the object model cannot be read.",
    ErrorReadingMIM "The MIM cannot be read.",
    FederateAlreadyExecutionMember "The federate has already joined.",
    FederateHandleNotKnown "No joined federate has this handle.",
    FederateHasNotBegunSave "The federate has not begun to save.",
    FederateInternalError "The federate failed in a callback.",
    FederateIsExecutionMember "The federate must resign first.",
    FederateNameAlreadyInUse "A joined federate has this name.",
    FederateNotExecutionMember "The federate has not joined.",
    FederateOwnsAttributes "The federate owns attributes.",
    FederateServiceInvocationsAreBeingReportedViaMOM "Its own calls are reported: it may not subscribe.",
    FederateUnableToUseTime "A federate cannot use the time.",
    FederatesCurrentlyJoined "Federates are still joined.",
    FederationExecutionAlreadyExists "A federation execution has this name.",
    FederationExecutionDoesNotExist "No federation execution has this name.",
    IllegalName "The name is not allowed.",
    IllegalTimeArithmetic "The result is not a value of the logical time.",
    InTimeAdvancingState "The federate waits for a time advance.",
    InconsistentFOM "The modules contradict each other.",
    InteractionClassAlreadyBeingChanged "A change of the interaction class is already in progress.",
    InteractionClassNotDefined "No interaction class has this handle.",
    InteractionClassNotPublished "The federate does not publish the interaction class.",
    InteractionParameterNotDefined "The interaction class has no such parameter.",
    InternalError "The client failed.",
    InvalidAttributeHandle "No attribute has this handle.",
    InvalidCredentials "The credentials have an unknown type or are invalid.",
    InvalidDimensionHandle "No dimension has this handle.",
    InvalidFOM "A module of the object model is not valid.",
    InvalidFederateHandle "No federate has this handle.",
    InvalidInteractionClassHandle "No interaction class has this handle.",
    InvalidLogicalTime "The bytes do not encode a time of the federation, or the time is not allowed.",
    InvalidLogicalTimeInterval "The bytes do not encode an interval of the federation's logical time.",
    InvalidLookahead "The bytes do not encode a valid lookahead.",
    InvalidMIM "The MIM is not valid.",
    InvalidMessageRetractionHandle "No message of the federate has this handle.",
    InvalidObjectClassHandle "No object class has this handle.",
    InvalidObjectInstanceHandle "No object instance has this handle.",
    InvalidOrderName "No order has this name.",
    InvalidOrderType "The number is not an order type.",
    InvalidParameterHandle "No parameter has this handle.",
    InvalidRangeBound "The range lies outside its dimension, or is empty.",
    InvalidRegion "No region of the federation has this handle.",
    InvalidRegionContext "The region has a dimension that is not available there.",
    InvalidResignAction "The number is not a resign directive.",
    InvalidServiceGroup "The number is not a service group.",
    InvalidTransportationName "No transportation type has this name.",
    InvalidTransportationTypeHandle "No transportation type has this handle.",
    InvalidUpdateRateDesignator "No update rate has this name.",
    LogicalTimeAlreadyPassed "The time is before the federate's own.",
    MessageCanNoLongerBeRetracted "The message can no longer be retracted.",
    NameNotFound "Nothing has this name.",
    NameSetWasEmpty "The set of names is empty.",
    NoAcquisitionPending "Nobody waits for the attribute.",
    NotConnected "The federate is not connected.",
    ObjectClassNotDefined "No object class has this handle.",
    ObjectClassNotPublished "The federate does not publish the object class.",
    ObjectInstanceNameInUse "An object instance has this name.",
    ObjectInstanceNameNotReserved "The federate has not reserved this name.",
    ObjectInstanceNotKnown "The federate knows no object instance with this handle.",
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
    TimeConstrainedAlreadyEnabled "The federate is already time-constrained.",
    TimeConstrainedIsNotEnabled "The federate is not time-constrained.",
    TimeRegulationAlreadyEnabled "The federate is already time-regulating.",
    TimeRegulationIsNotEnabled "The federate is not time-regulating.",
    Unauthorized "The federate may not do this.",
    UnsupportedCallbackModel "The client cannot deliver callbacks in this way.",
    InconsistentFDD "The modules are invalid or contradict each other (1516-2010 only).",
    InvalidTransportationType "No transportation type has this handle (1516-2010 only).",
    AttributeRelevanceAdvisorySwitchIsOff "The switch is already off (1516-2010 only).",
    AttributeRelevanceAdvisorySwitchIsOn "The switch is already on (1516-2010 only).",
    AttributeScopeAdvisorySwitchIsOff "The switch is already off (1516-2010 only).",
    AttributeScopeAdvisorySwitchIsOn "The switch is already on (1516-2010 only).",
    InteractionRelevanceAdvisorySwitchIsOff "The switch is already off (1516-2010 only).",
    InteractionRelevanceAdvisorySwitchIsOn "The switch is already on (1516-2010 only).",
    ObjectClassRelevanceAdvisorySwitchIsOff "The switch is already off (1516-2010 only).",
    ObjectClassRelevanceAdvisorySwitchIsOn "The switch is already on (1516-2010 only).",
}

impl Exception {
    /// Returns the exception with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|exception| exception.name() == name)
    }

    /// Returns the exception that clients of 1516-2010 raise instead. Most exceptions have the same name in both
    /// editions. Those about object models concern federation description documents there, and an exception that
    /// 1516-2010 does not have becomes an internal error.
    ///
    /// The C++ and Java clients of that edition disagree on the names `CouldNotOpenFDD` and `ErrorReadingFDD`: one
    /// of them would report an unknown exception. Both understand `InconsistentFDD`.
    #[must_use]
    pub const fn of_2010(self) -> Self {
        match self {
            Self::CouldNotOpenFOM
            | Self::ErrorReadingFOM
            | Self::InvalidFOM
            | Self::InconsistentFOM => Self::InconsistentFDD,
            Self::InvalidMIM => Self::ErrorReadingMIM,
            Self::InvalidTransportationTypeHandle => Self::InvalidTransportationType,
            Self::InvalidCredentials
            | Self::InvalidObjectInstanceHandle
            | Self::ReportServiceInvocationsAreSubscribed
            | Self::Unauthorized => Self::RTIinternalError,
            other => other,
        }
    }

    /// Returns a refusal with this exception and details.
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

/// The refusal of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The exception, which federates act upon.
    pub exception: Exception,
    /// Details for people; empty if the exception says it all.
    pub details: String,
}

impl Refusal {
    /// Returns this refusal for a client of 1516-2010; see [`Exception::of_2010`]. If that edition has another
    /// exception, the details name the original one.
    #[must_use]
    pub fn of_2010(self) -> Self {
        let exception = self.exception.of_2010();
        if exception == self.exception { self } else { exception.because(self.to_string()) }
    }
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
        assert_eq!(Exception::ALL.len(), 111);
        for exception in Exception::ALL {
            assert_eq!(Exception::from_name(exception.name()), Some(*exception));
        }
        assert_eq!(Exception::from_name("notconnected"), None);
    }

    /// The exceptions of IEEE 1516.1-2010 that services raise and that its C++ and Java clients both understand.
    const KNOWN_IN_2010: &str = "
        AlreadyConnected AsynchronousDeliveryAlreadyDisabled AsynchronousDeliveryAlreadyEnabled
        AttributeAcquisitionWasNotRequested AttributeAlreadyBeingAcquired
        AttributeAlreadyBeingChanged AttributeAlreadyBeingDivested AttributeAlreadyOwned
        AttributeDivestitureWasNotRequested AttributeNotDefined AttributeNotOwned
        AttributeNotPublished CallNotAllowedFromWithinCallback ConnectionFailed
        CouldNotCreateLogicalTimeFactory CouldNotDecode CouldNotOpenMIM DeletePrivilegeNotHeld
        DesignatorIsHLAstandardMIM ErrorReadingMIM FederateAlreadyExecutionMember
        FederateHandleNotKnown FederateHasNotBegunSave FederateIsExecutionMember
        FederateNameAlreadyInUse FederateNotExecutionMember FederateOwnsAttributes
        FederateServiceInvocationsAreBeingReportedViaMOM FederateUnableToUseTime
        FederatesCurrentlyJoined FederationExecutionAlreadyExists FederationExecutionDoesNotExist
        IllegalName InTimeAdvancingState InconsistentFDD InteractionClassAlreadyBeingChanged
        InteractionClassNotDefined InteractionClassNotPublished InteractionParameterNotDefined
        InvalidAttributeHandle InvalidDimensionHandle InvalidFederateHandle
        InvalidInteractionClassHandle InvalidLogicalTime InvalidLookahead
        InvalidMessageRetractionHandle InvalidObjectClassHandle InvalidOrderName InvalidOrderType
        InvalidParameterHandle InvalidRangeBound InvalidRegion InvalidRegionContext
        InvalidResignAction InvalidServiceGroup InvalidTransportationName InvalidTransportationType
        InvalidUpdateRateDesignator LogicalTimeAlreadyPassed MessageCanNoLongerBeRetracted
        NameNotFound NameSetWasEmpty NoAcquisitionPending NotConnected ObjectClassNotDefined
        ObjectClassNotPublished ObjectInstanceNameInUse ObjectInstanceNameNotReserved
        ObjectInstanceNotKnown OwnershipAcquisitionPending RTIinternalError
        RegionDoesNotContainSpecifiedDimension RegionInUseForUpdateOrSubscription
        RegionNotCreatedByThisFederate RequestForTimeConstrainedPending
        RequestForTimeRegulationPending RestoreInProgress RestoreNotInProgress RestoreNotRequested
        SaveInProgress SaveNotInProgress SaveNotInitiated SynchronizationPointLabelNotAnnounced
        TimeConstrainedAlreadyEnabled TimeConstrainedIsNotEnabled TimeRegulationAlreadyEnabled
        TimeRegulationIsNotEnabled UnsupportedCallbackModel
    ";

    #[test]
    fn clients_of_2010_understand_every_exception_of_every_call() {
        let known: Vec<&str> = KNOWN_IN_2010.split_whitespace().collect();
        let mut renamed = std::collections::BTreeSet::new();
        for entry in crate::Call::TABLES.into_iter().flatten() {
            for exception in entry.exceptions {
                let there = exception.of_2010();
                assert!(known.contains(&there.name()), "{}: {exception}", entry.name);
                if there != *exception {
                    renamed.insert(exception.name());
                }
            }
        }
        // An exception that 1516-2010 has keeps its name.
        assert!(renamed.iter().all(|name| !known.contains(name)), "{renamed:?}");
    }

    #[test]
    fn a_refusal_of_2010_names_the_exception_of_2025() {
        let refusal = Exception::InvalidFOM.because("no name").of_2010();
        assert_eq!(refusal.to_string(), "InconsistentFDD: InvalidFOM: no name");
        let refusal = Exception::NameNotFound.because("no class Car");
        assert_eq!(refusal.clone().of_2010(), refusal);
    }

    #[test]
    fn a_refusal_always_says_why() {
        let refusal = Refusal::from(Exception::NotConnected);
        assert_eq!(refusal.to_string(), "NotConnected: The federate is not connected.");
        let refusal = Exception::NameNotFound.because("no class Car");
        assert_eq!(refusal.to_string(), "NameNotFound: no class Car");
    }
}
