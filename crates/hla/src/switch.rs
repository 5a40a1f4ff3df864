//! The switches of a federation execution and of its federates.

use crate::word::words;

words! {
    /// A switch: what a federation or a federate wants the RTI to do besides. The number is only its place
    /// here, for tables; the name is that of the element in an object model. All are off until said
    /// otherwise, and the directive is `NoAction`.
    Switch {
        /// Ask owners for values of newly discovered instances.
        AutoProvide = 0 "autoProvide",
        /// Say with each message which regions it was sent to.
        ConveyRegionDesignatorSets = 1 "conveyRegionDesignatorSets",
        /// Tell when attributes come into scope and go out of it.
        AttributeScopeAdvisory = 2 "attributeScopeAdvisory",
        /// Tell owners whether anybody wants updates.
        AttributeRelevanceAdvisory = 3 "attributeRelevanceAdvisory",
        /// Tell publishers whether anybody wants instances.
        ObjectClassRelevanceAdvisory = 4 "objectClassRelevanceAdvisory",
        /// Tell publishers whether anybody wants interactions.
        InteractionRelevanceAdvisory = 5 "interactionRelevanceAdvisory",
        /// Report every service a federate uses as an interaction.
        ServiceReporting = 6 "serviceReporting",
        /// Report every exception a federate gets as an interaction.
        ExceptionReporting = 7 "exceptionReporting",
        /// Look at subscriptions when a message is delivered, not when it is sent.
        DelaySubscriptionEvaluation = 8 "delaySubscriptionEvaluation",
        /// Grant federates that do not constrain themselves without waiting for regulating ones.
        NonRegulatedGrant = 9 "nonRegulatedGrant",
        /// The directive a lost federate resigns with; the only switch with more than two positions.
        AutomaticResignAction = 10 "automaticResignAction",
        /// Let region sets name dimensions that a class does not have.
        AllowRelaxedDDM = 11 "allowRelaxedDDM",
        /// Advise by the class an instance is known as.
        AdvisoriesUseKnownClass = 12 "advisoriesUseKnownClass",
        /// Write service reports into a file too.
        SendServiceReportsToFile = 13 "sendServiceReportsToFile",
    }
}

impl Switch {
    /// Whether each federate has its own; else the federation has one, and federates can only read it.
    #[must_use]
    pub const fn is_per_federate(self) -> bool {
        !matches!(
            self,
            Self::AutoProvide
                | Self::DelaySubscriptionEvaluation
                | Self::NonRegulatedGrant
                | Self::AllowRelaxedDDM
                | Self::AdvisoriesUseKnownClass
        )
    }
}
