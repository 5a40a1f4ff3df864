//! Handles and logical times in data of the management object model: arrays of their bytes.

use super::{DecodeError, Element, HLAopaqueData, Reader, Writer};
use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
    RegionHandle, TransportationTypeHandle,
};
use crate::time::{EncodedInterval, EncodedTime};

macro_rules! handles {
    ($($name:ident)*) => {$(
        /// In data, as `HLA…Handle`: the number of its bytes, then the bytes. Invalid bytes give `INVALID`.
        impl Element for $name {
            const BOUNDARY: usize = 4;
            const LEN_MIN: usize = 4;
            const UNCOUNTED_LEN: Option<usize> = Some(Self::LEN);

            fn write(&self, to: &mut Writer) {
                to.put_count(Self::LEN);
                to.put_bytes(&self.to_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                HLAopaqueData::read(from).map(|data| Self::from_bytes(&data.0))
            }
        }
    )*};
}

handles! {
    AttributeHandle DimensionHandle FederateHandle InteractionClassHandle MessageRetractionHandle
    ObjectClassHandle ObjectInstanceHandle ParameterHandle RegionHandle TransportationTypeHandle
}

macro_rules! times {
    ($($(#[$doc:meta])* $name:ident($type:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $type);

        impl Element for $name {
            const BOUNDARY: usize = 4;
            const LEN_MIN: usize = 4;
            // In both representations of the standard.
            const UNCOUNTED_LEN: Option<usize> = Some(8);

            fn write(&self, to: &mut Writer) {
                let bytes = self.0.bytes();
                to.put_count(bytes.len());
                to.put_bytes(&bytes);
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                HLAopaqueData::read(from).map(|data| Self($type::new(&data.0)))
            }
        }
    )*};
}

times! {
    /// A logical time in data: the number of its bytes, then the bytes.
    HLAlogicalTime(EncodedTime);
    /// A logical time interval in data: the number of its bytes, then the bytes.
    HLAtimeInterval(EncodedInterval);
}
