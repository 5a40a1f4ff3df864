//! The part of a federate's state whose changes are reported at once: the conditional attributes of `HLAfederate`.

use hemiola_hla::{FederateHandle, Switch};

use crate::federate::Federate;
use crate::federation::Federation;
use crate::image::{Reader, Stored, Taken, Writer};

/// The attributes, each with its value: all of them but one are enumerated with 32 bits.
const ATTRIBUTES: [(&str, Value); 15] = [
    ("HLAtimeConstrained", |_, one| i32::from(one.time.constrained)),
    ("HLAtimeRegulating", |_, one| i32::from(one.time.regulation().is_some())),
    ("HLAasynchronousDelivery", |_, one| i32::from(one.time.asynchronous_delivery)),
    ("HLAfederateState", |federation, _| state(federation)),
    ("HLAtimeManagerState", |_, one| i32::from(one.time.advance().is_some())),
    ("HLAobjectClassRelevanceAdvisory", |_, one| on(one, Switch::ObjectClassRelevanceAdvisory)),
    ("HLAattributeRelevanceAdvisory", |_, one| on(one, Switch::AttributeRelevanceAdvisory)),
    ("HLAattributeScopeAdvisory", |_, one| on(one, Switch::AttributeScopeAdvisory)),
    ("HLAinteractionRelevanceAdvisory", |_, one| on(one, Switch::InteractionRelevanceAdvisory)),
    ("HLAconveyRegionDesignatorSets", |_, one| on(one, Switch::ConveyRegionDesignatorSets)),
    ("HLAautomaticResignAction", |_, one| one.resign_action.number()),
    ("HLAserviceReporting", |_, one| on(one, Switch::ServiceReporting)),
    ("HLAexceptionReporting", |_, one| on(one, Switch::ExceptionReporting)),
    ("HLAsendServiceReportsToFile", |_, one| on(one, Switch::SendServiceReportsToFile)),
    // It has a name, which follows from this. It is the last one.
    (REPORT_FILE, |_, one| i32::from(one.has_report_file)),
];

/// No value of an attribute.
const UNKNOWN: i32 = -1;

/// The one attribute of these that is a text.
pub(super) const REPORT_FILE: &str = "HLAreportServiceFile";

/// Reads a value from the state of a federation and its federate.
type Value = fn(&Federation, &Federate) -> i32;

/// An `HLAfederateState`: all federates save and restore together.
fn state(federation: &Federation) -> i32 {
    match &federation.saving {
        saving if saving.is_saving() => 3,
        saving if saving.is_restoring() => 5,
        _ => 1,
    }
}

fn on(federate: &Federate, switch: Switch) -> i32 {
    i32::from(federate.is_on(switch))
}

/// The values of all conditional attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conditions([i32; ATTRIBUTES.len()]);

impl Conditions {
    /// The present values of a joined federate.
    pub(super) fn of(federation: &Federation, federate: FederateHandle) -> Self {
        let federate = federation.federate(federate);
        Self(ATTRIBUTES.map(|(_, value)| value(federation, federate)))
    }

    /// Returns the value of an attribute, if it is one of these.
    pub(super) fn value(&self, name: &str) -> Option<i32> {
        ATTRIBUTES.iter().position(|(one, _)| *one == name).map(|at| self.0[at])
    }

    /// Whether the federate is advancing.
    pub(super) fn is_advancing(&self) -> bool {
        self.value("HLAtimeManagerState") == Some(1)
    }

    /// Whether an attribute has another value than before.
    pub(super) fn differs(&self, before: &Self, name: &str) -> bool {
        self.value(name) != before.value(name)
    }
}

impl Stored for Conditions {
    fn put(&self, to: &mut Writer) {
        self.0.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let mut values = [0; ATTRIBUTES.len()];
        for value in &mut values {
            *value = Stored::take(from)?;
        }
        // The file belongs to a session, so its name is told anew.
        values[ATTRIBUTES.len() - 1] = UNKNOWN;
        Ok(Self(values))
    }
}
