//! The two orders of message delivery.

use crate::word::words;

words! {
    /// The order in which a message is sent or was received (clause 8.1).
    ///
    /// The numbers are those of the Federate Protocol. In MOM data of 2025, `HLAorderType` has other
    /// ones: see [`mom_value`](Self::mom_value).
    OrderType {
        /// In order of arrival.
        Receive = 0 "Receive",
        /// By time stamp, and never in the receiver's past.
        TimeStamp = 1 "TimeStamp",
    }
}

impl OrderType {
    /// Returns its value as `HLAorderType` in MOM data of the 2025 edition; that of 2010 is one less.
    #[must_use]
    pub const fn mom_value(self) -> i32 {
        self.number() + 1
    }
}
