//! The part of Perfetto's packets that we use, with the field numbers of its public definitions.
//!
//! Doubles are stored as their bits (`fixed64` and `double` have the same encoding), so that every NaN survives.

use prost::{Message, Oneof};

/// Declares messages: the number, name and type of each field, and how it is encoded.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident {
        $($tag:tt $field:ident: $type:ty [$($encoding:tt)*];)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Message)]
        pub(super) struct $name {
            $(#[prost($($encoding)*, tag = $tag)] pub(super) $field: $type,)*
        }
    )*};
}

messages! {
    /// `trace_packet.proto`.
    TracePacket {
        2 process_tree: Option<ProcessTree> [message, optional];
        6 clock_snapshot: Option<ClockSnapshot> [message, optional];
        8 timestamp: Option<u64> [uint64, optional];
        10 trusted_packet_sequence_id: Option<u32> [uint32, optional];
        11 track_event: Option<TrackEvent> [message, optional];
        12 interned_data: Option<InternedData> [message, optional];
        13 sequence_flags: Option<u32> [uint32, optional];
        41 incremental_state_cleared: Option<bool> [bool, optional];
        42 previous_packet_dropped: Option<u32> [uint32, optional];
        45 system_info: Option<SystemInfo> [message, optional];
        58 timestamp_clock_id: Option<u32> [uint32, optional];
        59 trace_packet_defaults: Option<TracePacketDefaults> [message, optional];
        60 track_descriptor: Option<TrackDescriptor> [message, optional];
        98 machine_id: Option<u32> [uint32, optional];
    }

    /// `clock_snapshot.proto`.
    ClockSnapshot {
        1 clocks: Vec<ClockReading> [message, repeated];
        2 primary_trace_clock: Option<u32> [uint32, optional];
    }

    /// `ClockSnapshot.Clock`.
    ClockReading {
        1 clock_id: Option<u32> [uint32, optional];
        2 timestamp: Option<u64> [uint64, optional];
        3 is_incremental: Option<bool> [bool, optional];
        4 unit_multiplier_ns: Option<u64> [uint64, optional];
    }

    /// `trace_packet_defaults.proto`.
    TracePacketDefaults {
        11 track_event_defaults: Option<TrackEventDefaults> [message, optional];
        58 timestamp_clock_id: Option<u32> [uint32, optional];
    }

    /// `TrackEventDefaults` in `track_event.proto`.
    TrackEventDefaults {
        11 track_uuid: Option<u64> [uint64, optional];
        31 extra_counter_track_uuids: Vec<u64> [uint64, repeated, packed = "false"];
        45 extra_double_counter_track_uuids: Vec<u64> [uint64, repeated, packed = "false"];
    }

    /// `track_event.proto`.
    TrackEvent {
        3 category_iids: Vec<u64> [uint64, repeated, packed = "false"];
        4 debug_annotations: Vec<DebugAnnotation> [message, repeated];
        6 legacy_event: Option<LegacyEvent> [message, optional];
        9 kind: Option<i32> [int32, optional];
        10 name_iid: Option<u64> [uint64, optional];
        11 track_uuid: Option<u64> [uint64, optional];
        12 extra_counter_values: Vec<i64> [int64, repeated, packed = "false"];
        22 categories: Vec<String> [string, repeated];
        23 name: Option<String> [string, optional];
        30 counter_value: Option<i64> [int64, optional];
        31 extra_counter_track_uuids: Vec<u64> [uint64, repeated, packed = "false"];
        44 double_counter_value: Option<f64> [double, optional];
        45 extra_double_counter_track_uuids: Vec<u64> [uint64, repeated, packed = "false"];
        46 extra_double_counter_values: Vec<u64> [fixed64, repeated, packed = "false"];
    }

    /// `TrackEvent.LegacyEvent`.
    LegacyEvent {
        1 name_iid: Option<u64> [uint64, optional];
        2 phase: Option<i32> [int32, optional];
    }

    /// `interned_data.proto`.
    InternedData {
        1 event_categories: Vec<InternedName> [message, repeated];
        2 event_names: Vec<InternedName> [message, repeated];
        3 debug_annotation_names: Vec<InternedName> [message, repeated];
    }

    /// `EventCategory`, `EventName` and `DebugAnnotationName`, which have the same form.
    InternedName {
        1 iid: Option<u64> [uint64, optional];
        2 name: Option<String> [string, optional];
    }

    /// `track_descriptor.proto`.
    TrackDescriptor {
        1 uuid: Option<u64> [uint64, optional];
        2 name: Option<String> [string, optional];
        3 process: Option<ProcessDescriptor> [message, optional];
        4 thread: Option<ThreadDescriptor> [message, optional];
        5 parent_uuid: Option<u64> [uint64, optional];
        8 counter: Option<CounterDescriptor> [message, optional];
        10 static_name: Option<String> [string, optional];
        13 atrace_name: Option<String> [string, optional];
    }

    /// `process_descriptor.proto`.
    ProcessDescriptor {
        1 pid: Option<i32> [int32, optional];
        6 process_name: Option<String> [string, optional];
    }

    /// `thread_descriptor.proto`.
    ThreadDescriptor {
        1 pid: Option<i32> [int32, optional];
        2 tid: Option<i64> [int64, optional];
        5 thread_name: Option<String> [string, optional];
    }

    /// `counter_descriptor.proto`.
    CounterDescriptor {
        1 kind: Option<i32> [int32, optional];
        3 unit: Option<i32> [int32, optional];
        4 unit_multiplier: Option<i64> [int64, optional];
        5 is_incremental: Option<bool> [bool, optional];
        6 unit_name: Option<String> [string, optional];
    }

    /// `process_tree.proto`.
    ProcessTree {
        1 processes: Vec<TreeProcess> [message, repeated];
        2 threads: Vec<TreeThread> [message, repeated];
    }

    /// `ProcessTree.Process`. Names are bytes, because the kernel cuts them off within a character.
    TreeProcess {
        1 pid: Option<i32> [int32, optional];
        3 cmdline: Vec<Vec<u8>> [bytes = "vec", repeated];
        9 cmdline_is_comm: Option<bool> [bool, optional];
    }

    /// `ProcessTree.Thread`.
    TreeThread {
        1 tid: Option<i32> [int32, optional];
        2 name: Option<Vec<u8>> [bytes = "vec", optional];
        3 tgid: Option<i32> [int32, optional];
    }

    /// `system_info.proto`.
    SystemInfo {
        1 utsname: Option<Utsname> [message, optional];
    }

    /// `Utsname`, the result of uname(2).
    Utsname {
        1 sysname: Option<String> [string, optional];
        3 release: Option<String> [string, optional];
    }
}

/// `SequenceFlags` of a packet: earlier packets of its sequence are forgotten.
pub(super) const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `SequenceFlags` of a packet: it depends on earlier packets of its sequence.
pub(super) const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;

/// `TrackEvent.Type`.
pub(super) const TYPE_SLICE_BEGIN: i32 = 1;
/// `TrackEvent.Type`.
pub(super) const TYPE_SLICE_END: i32 = 2;
/// `TrackEvent.Type`.
pub(super) const TYPE_INSTANT: i32 = 3;

/// `debug_annotation.proto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(oneof = "AnnotationName", tags = "1, 10")]
    pub(super) name: Option<AnnotationName>,
    #[prost(oneof = "AnnotationValue", tags = "3, 4, 5, 6")]
    pub(super) value: Option<AnnotationValue>,
}

/// `DebugAnnotation.name_field`.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AnnotationName {
    #[prost(uint64, tag = "1")]
    Iid(u64),
    #[prost(string, tag = "10")]
    Text(String),
}

/// `DebugAnnotation.value`, only scalars and text.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AnnotationValue {
    #[prost(uint64, tag = "3")]
    Uint(u64),
    #[prost(int64, tag = "4")]
    Int(i64),
    #[prost(fixed64, tag = "5")]
    DoubleBits(u64),
    #[prost(string, tag = "6")]
    Text(String),
}

impl InternedName {
    pub(super) fn new(iid: u64, name: impl Into<String>) -> Self {
        Self { iid: Some(iid), name: Some(name.into()) }
    }
}
