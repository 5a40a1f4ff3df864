//! The two orders in which messages are delivered.

use crate::word::words;

words! {
    /// In which order a message is sent or was received (clause 8.1).
    ///
    /// The numbers are those of the Federate Protocol. In MOM data of 2025, `HLAorderType` has other
    /// ones: see [`mom_value`](Self::mom_value).
    OrderType {
        /// As they come.
        Receive = 0 "Receive",
        /// By time stamp, and never in the past of who gets it.
        TimeStamp = 1 "TimeStamp",
    }
}

impl OrderType {
    /// Its value as `HLAorderType` in MOM data of the 2025 edition; that of 2010 is one less.
    #[must_use]
    pub const fn mom_value(self) -> i32 {
        self.number() + 1
    }
}
