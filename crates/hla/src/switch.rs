//! The switches of a federation execution and of its federates.

use crate::word::words;

words! {
    /// A switch of the federation execution or of a federate. The number is only an index for tables; the name is that
    /// of the element in an object model. By default all are off and the directive is `NoAction`.
    Switch {
        /// Requests values of newly discovered instances from their owners.
        AutoProvide = 0 "autoProvide",
        /// Conveys the sent regions with each message.
        ConveyRegionDesignatorSets = 1 "conveyRegionDesignatorSets",
        /// Advises of attributes that come into scope and go out of it.
        AttributeScopeAdvisory = 2 "attributeScopeAdvisory",
        /// Advises owners of updates that are wanted.
        AttributeRelevanceAdvisory = 3 "attributeRelevanceAdvisory",
        /// Advises publishers of instances that are wanted.
        ObjectClassRelevanceAdvisory = 4 "objectClassRelevanceAdvisory",
        /// Advises publishers of interactions that are wanted.
        InteractionRelevanceAdvisory = 5 "interactionRelevanceAdvisory",
        /// Reports each service invocation of a federate as an interaction.
        ServiceReporting = 6 "serviceReporting",
        /// Reports each exception of a federate as an interaction.
        ExceptionReporting = 7 "exceptionReporting",
        /// Evaluates subscriptions at delivery instead of at sending.
        DelaySubscriptionEvaluation = 8 "delaySubscriptionEvaluation",
        /// Grants time-constrained federates at once while no federate is time-regulating.
        NonRegulatedGrant = 9 "nonRegulatedGrant",
        /// The directive for resigning lost federates; the only switch with more than two positions.
        AutomaticResignAction = 10 "automaticResignAction",
        /// Allows region sets with dimensions that a class does not have.
        AllowRelaxedDDM = 11 "allowRelaxedDDM",
        /// Advises by the class an instance is known as.
        AdvisoriesUseKnownClass = 12 "advisoriesUseKnownClass",
        /// Also writes service reports to a file.
        SendServiceReportsToFile = 13 "sendServiceReportsToFile",
        /// Tells federates of 1516-2010 which federate registered an instance or sent a message. Those of 2025 always
        /// learn it.
        ConveyProducingFederate = 14 "conveyProducingFederate",
    }
}

impl Switch {
    /// Returns whether each federate has its own. Otherwise the federation has one, which federates can only read.
    #[must_use]
    pub const fn is_per_federate(self) -> bool {
        !matches!(
            self,
            Self::AutoProvide
                | Self::DelaySubscriptionEvaluation
                | Self::NonRegulatedGrant
                | Self::AllowRelaxedDDM
                | Self::AdvisoriesUseKnownClass
                | Self::ConveyProducingFederate
        )
    }
}
