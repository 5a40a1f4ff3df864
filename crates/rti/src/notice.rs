//! A callback that several federates can share.

use std::sync::{Arc, OnceLock};

use hemiola_hla::{Body, Callback, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};

use crate::image::{Reader, Stored, Taken, Writer, stored};

/// A callback that all its receivers share, with a cache for its encoding. It is encoded once, even if some federates
/// receive it much later than others.
#[derive(Debug)]
pub struct Notice {
    callback: Callback,
    encoded: OnceLock<Body>,
    /// The same without its producing federate; `None` if there is none.
    without_producer: OnceLock<Option<Arc<Notice>>>,
}

impl Notice {
    /// Creates a notice of this callback.
    #[must_use]
    pub const fn new(callback: Callback) -> Self {
        Self { callback, encoded: OnceLock::new(), without_producer: OnceLock::new() }
    }

    /// Returns the notice without its producing federate, which all that receive it share. A notice without one is
    /// returned as it is.
    pub(crate) fn without_producer(notice: Arc<Self>) -> Arc<Self> {
        let other = notice.without_producer.get_or_init(|| {
            let mut callback = notice.callback.clone();
            *callback.producer_mut()? = FederateHandle::INVALID;
            Some(Arc::new(Self::new(callback)))
        });
        other.clone().unwrap_or(notice)
    }

    /// Returns the callback.
    #[must_use]
    pub const fn callback(&self) -> &Callback {
        &self.callback
    }

    /// If the callback reflects an update, returns the instance and the transportation type.
    pub(crate) const fn reflection(
        &self,
    ) -> Option<(ObjectInstanceHandle, TransportationTypeHandle)> {
        match self.callback {
            Callback::ReflectAttributeValues { object_instance, transportation_type, .. }
            | Callback::ReflectAttributeValuesWithTime {
                object_instance,
                transportation_type,
                ..
            } => Some((object_instance, transportation_type)),
            _ => None,
        }
    }

    /// Returns the encoded callback. The first caller's `encode` fills the cache, so all callers must encode alike.
    pub fn encoded(&self, encode: impl FnOnce(&Callback) -> Body) -> &Body {
        self.encoded.get_or_init(|| encode(&self.callback))
    }
}

/// A callback that ends a transition of its receiver's time state. The transition is over when the receiver has
/// answered the callback (IEEE 1516.1, clause 8): until then it is still advancing, or its request is still pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The federate is time-regulating (clause 8.3).
    TimeRegulation,
    /// The federate is time-constrained (clause 8.6).
    TimeConstrained,
    /// The federate has been granted an advance (clauses 8.13 and 8.14).
    Grant,
}

impl Milestone {
    /// Returns the milestone that the callback of this number marks, if it marks one.
    #[must_use]
    pub const fn of_callback(number: u32) -> Option<Self> {
        match number {
            58 => Some(Self::TimeRegulation),
            59 => Some(Self::TimeConstrained),
            60 | 61 => Some(Self::Grant),
            _ => None,
        }
    }
}

impl Stored for Notice {
    fn put(&self, to: &mut Writer) {
        self.callback.put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        Stored::take(from).map(Self::new)
    }
}

stored!(enum Callback {
    0 ReflectAttributeValues {
        object_instance, attribute_values, user_supplied_tag, transportation_type, producing_federate, sent_regions,
    },
    1 ReflectAttributeValuesWithTime {
        object_instance, attribute_values, user_supplied_tag, transportation_type, producing_federate, sent_regions,
        time, sent_order_type, received_order_type, retraction,
    },
    2 ReceiveInteraction {
        interaction_class, parameter_values, user_supplied_tag, transportation_type, producing_federate, sent_regions,
    },
    3 ReceiveInteractionWithTime {
        interaction_class, parameter_values, user_supplied_tag, transportation_type, producing_federate, sent_regions,
        time, sent_order_type, received_order_type, retraction,
    },
    4 ReceiveDirectedInteraction {
        interaction_class, object_instance, parameter_values, user_supplied_tag, transportation_type,
        producing_federate,
    },
    5 ReceiveDirectedInteractionWithTime {
        interaction_class, object_instance, parameter_values, user_supplied_tag, transportation_type,
        producing_federate, time, sent_order_type, received_order_type, retraction,
    },
    6 RemoveObjectInstance { object_instance, user_supplied_tag, producing_federate },
    7 RemoveObjectInstanceWithTime {
        object_instance, user_supplied_tag, producing_federate, time, sent_order_type, received_order_type,
        retraction,
    },
} else "only messages are queued");

/// Two notices are equal if their callbacks are; the cache does not count.
impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        self.callback == other.callback
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_are_the_callbacks_of_their_names() {
        let of = |milestone| {
            let all = Callback::TABLE.iter();
            let marking =
                all.filter(|entry| Milestone::of_callback(entry.number) == Some(milestone));
            marking.map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(of(Milestone::TimeRegulation), ["TimeRegulationEnabled"]);
        assert_eq!(of(Milestone::TimeConstrained), ["TimeConstrainedEnabled"]);
        assert_eq!(of(Milestone::Grant), ["FlushQueueGrant", "TimeAdvanceGrant"]);
    }

    #[test]
    fn a_notice_is_encoded_once() {
        let notice = Notice::new(Callback::FederationSaved);
        let first = Body::from(hemiola_hla::Data::from_static(b"first"));
        assert_eq!(notice.encoded(|_| first.clone()), &first);
        assert_eq!(notice.encoded(|_| panic!("encoded twice")), &first);
    }
}
