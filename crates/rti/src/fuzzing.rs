//! The bodies of the fuzz targets, as ordinary functions that also run under proptest.

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall, ObjectCall, OwnershipCall, SupportCall,
    TimeCall,
};
use hemiola_hla::data::{AttributeRegions, Data, FomModule, RangeBounds};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedInterval, EncodedTime, FederateHandle,
    InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType, ParameterHandle, RegionHandle, ResignAction, TransportationTypeHandle,
};

use crate::{CallId, Effect, Image, Input, Kernel, Limits, SessionId};

/// The object model of the federation: two nested object classes and two nested interaction classes.
const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>A</name>
<directedInteraction><name>HLAinteractionRoot.P</name></directedInteraction>
<attribute><name>x</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute><objectClass><name>B</name>
<attribute><name>y</name><dataType>HLAoctet</dataType><transportation>HLAbestEffort</transportation></attribute>
<dimensions><dimension>u</dimension><dimension>v</dimension></dimensions>
</objectClass></objectClass></objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>P</name><order>TimeStamp</order><interactionClass><name>Q</name>
<parameter><name>z</name><dataType>HLAoctet</dataType></parameter></interactionClass></interactionClass>
</interactionClass></interactions><dimensions><dimension><name>u</name><upperBound>8</upperBound></dimension>
<dimension><name>v</name><upperBound>8</upperBound><value>[0..3)</value></dimension></dimensions></objectModel>"#;

/// Small limits, so that every one is reached.
const LIMITS: Limits = Limits {
    federations: 2,
    federations_of_owner: 2,
    federations_of_session: 1,
    federates: 3,
    instances: 6,
    synchronization_points: 2,
    undelivered: 8,
    undelivered_len: 2500,
    retractable: 4,
    negotiations: 3,
    regions: 5,
    regions_of_call: 12,
    regions_sent: 2,
    kept_tag_len: 8,
    modules: 64,
    model_len: 1 << 20,
    model_memory: 64 << 20,
    name_len: 8,
    federation_len: 64 << 20,
    image_len: 64 << 10,
};

/// Interprets arbitrary bytes as the calls of four sessions.
///
/// # Panics
///
/// If a call has no reply, several replies or one that the standard does not allow, or if an invariant is broken.
pub fn calls(bytes: &[u8]) {
    let mut kernel = Kernel::new(LIMITS);
    let mut arguments = Arguments { bytes: bytes.iter() };
    for number in 0..4 {
        feed(&mut kernel, Input::Opened(SessionId(number)), u64::MAX);
    }
    let [one, two] = [0, 1]
        .map(|number| Input::Called(SessionId(number), CallId(0), FederationCall::Connect.into()));
    feed(&mut kernel, one, u64::MAX);
    feed(&mut kernel, two, u64::MAX);
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name: "1".into(),
        fom_module: FomModule::File { name: "fuzz.xml".into(), content: MODEL.into() },
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    feed(&mut kernel, Input::Called(SessionId(0), CallId(0), create.into()), u64::MAX);
    for (number, name) in [(0, "1"), (1, "2")] {
        let join = FederationCall::JoinFederationExecutionWithName {
            federate_name: name.into(),
            federate_type: String::new(),
            federation_name: "1".into(),
        };
        feed(&mut kernel, Input::Called(SessionId(number), CallId(0), join.into()), u64::MAX);
    }
    let mut sessions: Vec<u64> = (0..4).collect();
    let (mut opened, mut stored) = (4, None);
    while let Some(first) = arguments.next() {
        let place = usize::from(first & 3);
        let session = SessionId(sessions[place]);
        let budget = [u64::MAX, 1, 5, u64::MAX][usize::from(first >> 2 & 3)];
        if first >= 250 {
            feed(&mut kernel, Input::Lost(session), budget);
            sessions[place] = opened;
            opened += 1;
            feed(&mut kernel, Input::Opened(SessionId(sessions[place])), u64::MAX);
        } else if let Some(call) = arguments.call() {
            let input = Input::Called(session, CallId(0), call);
            feed_stored(&mut kernel, &mut stored, input, budget);
        }
    }
}

/// Reads arbitrary bytes as images of a federation: changes of a real image, with its length and checksum set right, so
/// that the content is read too.
///
/// # Panics
///
/// If an image makes the reader panic, or changes the federation before all federates have restored.
pub fn image(bytes: &[u8]) {
    let (session, label) = (SessionId(0), "1");
    let mut kernel = Kernel::new(LIMITS);
    feed(&mut kernel, Input::Opened(session), u64::MAX);
    let call = |kernel: &mut Kernel, call: FederationCall| {
        feed(kernel, Input::Called(session, CallId(0), call.into()), u64::MAX)
    };
    let fom_module = FomModule::File { name: "fuzz.xml".into(), content: MODEL.into() };
    let federation_name = String::from("1");
    call(&mut kernel, FederationCall::Connect);
    let create = FederationCall::CreateFederationExecution {
        federation_name: federation_name.clone(),
        fom_module,
    };
    call(&mut kernel, create);
    let join =
        FederationCall::JoinFederationExecution { federate_type: String::new(), federation_name };
    call(&mut kernel, join);
    call(&mut kernel, FederationCall::RequestFederationSave { label: label.into() });
    call(&mut kernel, FederationCall::FederateSaveBegun);
    let stored = call(&mut kernel, FederationCall::FederateSaveComplete);
    let Some(Effect::Store(id, _, real)) = stored else { panic!("{stored:?}") };
    feed(&mut kernel, Input::Stored(id, Ok(())), u64::MAX);
    let changed = changed(&real.bytes().clone().into_data(), bytes);
    let restore = FederationCall::RequestFederationRestore { label: label.into() };
    let Some(Effect::Load(id, _)) = call(&mut kernel, restore) else { panic!("nothing is loaded") };
    feed(&mut kernel, Input::Loaded(id, Ok(changed.into())), 100);
}

/// Changes an image: the first byte says where the rest of it is replaced, or pairs of bytes say what is added where.
fn changed(real: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut changed = real.to_vec();
    let Some((kind, bytes)) = bytes.split_first() else { return changed };
    if kind % 2 == 0 {
        changed.truncate(usize::from(*kind).min(real.len()).max(crate::image::HEADER_LEN));
        changed.extend_from_slice(bytes);
    } else {
        for change in bytes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % real.len();
            changed[at] = changed[at].wrapping_add(change[2]);
        }
    }
    crate::image::seal(&mut changed);
    changed
}

/// Takes an input, in slices of this budget. Returns the request to the storage that it causes, if it causes one.
fn feed(kernel: &mut Kernel, input: Input, budget: u64) -> Option<Effect> {
    let entry = match &input {
        Input::Called(_, _, call) => Some(call.entry()),
        _ => None,
    };
    let mut out = Vec::new();
    kernel.handle_within(input, budget, &mut out);
    kernel.check_invariants();
    while kernel.has_work() {
        kernel.work(budget, &mut out);
        kernel.check_invariants();
    }
    let mut replies = out.iter().filter_map(|output| match output {
        Effect::Reply(_, _, reply) => Some(reply),
        _ => None,
    });
    match (entry, replies.next()) {
        (Some(entry), Some(Ok(reply))) => assert_eq!(reply.shape(), entry.shape, "{entry:?}"),
        (Some(entry), Some(Err(refusal))) => {
            assert!(entry.raises(refusal.exception), "{entry:?}: {refusal}");
        }
        (None, None) => {}
        (entry, reply) => panic!("{entry:?} has the reply {reply:?}"),
    }
    assert!(replies.next().is_none(), "a call has one reply");
    let first = out.first();
    let is_first = budget < u64::MAX || matches!(first, Some(Effect::Reply(..)));
    assert!(entry.is_none() || is_first, "the reply is first");
    drop(replies);
    out.into_iter().find(|effect| matches!(effect, Effect::Store(..) | Effect::Load(..)))
}

/// Takes an input, and answers the storage. It has one place.
fn feed_stored(kernel: &mut Kernel, place: &mut Option<Image>, input: Input, budget: u64) {
    match feed(kernel, input, budget) {
        Some(Effect::Store(id, _, image)) => {
            *place = Some(image);
            feed(kernel, Input::Stored(id, Ok(())), budget);
        }
        Some(Effect::Load(id, _)) => {
            let image = place.clone().ok_or_else(|| "nothing is stored".to_owned());
            feed(kernel, Input::Loaded(id, image), budget);
        }
        _ => {}
    }
}

/// Decodes bytes as arguments.
struct Arguments<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl Arguments<'_> {
    fn next(&mut self) -> Option<u8> {
        self.bytes.next().copied()
    }

    fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn small(&mut self) -> u32 {
        u32::from(self.byte() & 15)
    }

    fn time(&mut self) -> EncodedTime {
        match self.byte() {
            255 => EncodedTime::new(b"bad"),
            254 => EncodedTime::new(&i64::MAX.to_be_bytes()),
            byte => EncodedTime::new(&i64::from(byte >> 3).to_be_bytes()),
        }
    }

    fn interval(&mut self) -> EncodedInterval {
        match self.byte() {
            255 => EncodedInterval::new(&[255; 8]),
            byte => EncodedInterval::new(&i64::from(byte & 3).to_be_bytes()),
        }
    }

    /// Returns one of a few names.
    fn name(&mut self) -> String {
        match self.small() {
            14 => "HLAx".into(),
            15 => "much too long".into(),
            number => (number & 3).to_string(),
        }
    }

    /// The standard module's classes have the first handles, the model's classes follow.
    fn object_class(&mut self) -> ObjectClassHandle {
        ObjectClassHandle::new(self.small() & 7)
    }

    fn attributes(&mut self) -> Vec<AttributeHandle> {
        let byte = self.byte();
        let all = [0, 1, 2, 3, 58, 59, 60, 61].into_iter().enumerate();
        all.filter(|(at, _)| byte & 1 << at != 0)
            .map(|(_, one)| AttributeHandle::new(one))
            .collect()
    }

    fn interaction(&mut self) -> InteractionClassHandle {
        InteractionClassHandle::new(self.small() + 84)
    }

    fn parameters(&mut self) -> Vec<(ParameterHandle, Data)> {
        let count = self.byte() & 1;
        (0..count).map(|_| (ParameterHandle::new(self.small() + 120), Data::new())).collect()
    }

    fn instance(&mut self) -> ObjectInstanceHandle {
        ObjectInstanceHandle::new(u64::from(self.small() & 7))
    }

    fn federate(&mut self) -> FederateHandle {
        FederateHandle::new(self.small() & 3)
    }

    fn transportation(&mut self) -> TransportationTypeHandle {
        TransportationTypeHandle::new(self.small() & 3)
    }

    fn order(&mut self) -> Option<OrderType> {
        OrderType::from_number(i32::from(self.byte() & 1))
    }

    fn call(&mut self) -> Option<Call> {
        let kind = self.next()?;
        Some(match kind % 7 {
            0 => self.federation_call(kind / 7).into(),
            1 => self.declaration_call(kind / 7).into(),
            2 => self.object_call(kind / 7).into(),
            3 => self.time_call(kind / 7).into(),
            4 => self.ownership_call(kind / 7).into(),
            5 => self.distribution_call(kind / 7).into(),
            _ => self.support_call(kind / 7).into(),
        })
    }

    fn federation_call(&mut self, kind: u8) -> FederationCall {
        use FederationCall as C;
        match kind % 10 {
            0 => C::Connect,
            1 => C::Disconnect,
            2 => C::DestroyFederationExecution { federation_name: self.name() },
            3 => C::ListFederationExecutionMembers { federation_name: self.name() },
            4..6 => C::JoinFederationExecution {
                federate_type: self.name(),
                federation_name: "1".into(),
            },
            6 => C::ResignFederationExecution {
                resign_action: ResignAction::from_number(i32::from(self.byte() & 7)),
            },
            7 => C::RegisterFederationSynchronizationPointWithSet {
                synchronization_point_label: self.name(),
                user_supplied_tag: Data::new(),
                synchronization_set: (0..self.small() & 3).map(|_| self.federate()).collect(),
            },
            8 => C::SynchronizationPointAchieved {
                synchronization_point_label: self.name(),
                successfully: self.byte() & 1 == 0,
            },
            _ => self.save_call(),
        }
    }

    fn save_call(&mut self) -> FederationCall {
        use FederationCall as C;
        match self.byte() % 12 {
            0 => C::RequestFederationSaveWithTime { label: self.name(), time: self.time() },
            1 => C::FederateSaveNotComplete,
            2 => C::AbortFederationSave,
            3 => C::QueryFederationSaveStatus,
            4 => C::FederateRestoreNotComplete,
            5 => C::AbortFederationRestore,
            6 => C::QueryFederationRestoreStatus,
            7 => C::RequestFederationRestore { label: self.name() },
            8 => C::FederateRestoreComplete,
            9 => C::FederateSaveComplete,
            10 => C::FederateSaveBegun,
            _ => C::RequestFederationSave { label: self.name() },
        }
    }

    fn declaration_call(&mut self, kind: u8) -> DeclarationCall {
        use DeclarationCall as C;
        let object_class = self.object_class();
        let interaction_class = self.interaction();
        let interaction_classes = vec![interaction_class];
        match kind % 12 {
            0..2 => C::PublishObjectClassAttributes { object_class, attributes: self.attributes() },
            2 => C::UnpublishObjectClassAttributes { object_class, attributes: self.attributes() },
            3 => C::PublishInteractionClass { interaction_class },
            4 => C::UnpublishInteractionClass { interaction_class },
            5 => C::PublishObjectClassDirectedInteractions { object_class, interaction_classes },
            6..8 => {
                C::SubscribeObjectClassAttributes { object_class, attributes: self.attributes() }
            }
            8 => {
                C::UnsubscribeObjectClassAttributes { object_class, attributes: self.attributes() }
            }
            9 => C::SubscribeInteractionClass { interaction_class },
            10 => C::UnsubscribeInteractionClass { interaction_class },
            _ => C::SubscribeObjectClassDirectedInteractionsUniversally {
                object_class,
                interaction_classes,
            },
        }
    }

    fn object_call(&mut self, kind: u8) -> ObjectCall {
        use ObjectCall as C;
        let user_supplied_tag = Data::new();
        match kind % 14 {
            0 => C::ReserveObjectInstanceName { object_instance_name: self.name() },
            1 => C::ReleaseObjectInstanceName { object_instance_name: self.name() },
            2 => C::RegisterObjectInstanceWithName {
                object_class: self.object_class(),
                object_instance_name: self.name(),
            },
            3..5 => C::RegisterObjectInstance { object_class: self.object_class() },
            5..7 => C::UpdateAttributeValuesWithTime {
                object_instance: self.instance(),
                attribute_values: self
                    .attributes()
                    .into_iter()
                    .map(|one| (one, Data::new()))
                    .collect(),
                user_supplied_tag,
                time: self.time(),
            },
            7 => C::SendInteraction {
                interaction_class: self.interaction(),
                parameter_values: self.parameters(),
                user_supplied_tag,
            },
            8 => C::SendInteractionWithTime {
                interaction_class: self.interaction(),
                parameter_values: self.parameters(),
                user_supplied_tag,
                time: self.time(),
            },
            9 => C::SendDirectedInteractionWithTime {
                interaction_class: self.interaction(),
                object_instance: self.instance(),
                parameter_values: self.parameters(),
                user_supplied_tag,
                time: self.time(),
            },
            10 => C::DeleteObjectInstanceWithTime {
                object_instance: self.instance(),
                user_supplied_tag,
                time: self.time(),
            },
            11 => C::LocalDeleteObjectInstance { object_instance: self.instance() },
            12 => C::RequestClassAttributeValueUpdate {
                object_class: self.object_class(),
                attributes: self.attributes(),
                user_supplied_tag,
            },
            _ => C::RequestAttributeTransportationTypeChange {
                object_instance: self.instance(),
                attributes: self.attributes(),
                transportation_type: self.transportation(),
            },
        }
    }

    fn ownership_call(&mut self, kind: u8) -> OwnershipCall {
        use OwnershipCall as C;
        let (object_instance, attributes) = (self.instance(), self.attributes());
        let user_supplied_tag = Data::new();
        match kind % 10 {
            0 => C::UnconditionalAttributeOwnershipDivestiture {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            1 => C::NegotiatedAttributeOwnershipDivestiture {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            2 => C::ConfirmDivestiture {
                object_instance,
                confirmed_attributes: attributes,
                user_supplied_tag,
            },
            3..5 => C::AttributeOwnershipAcquisition {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag,
            },
            5 => C::AttributeOwnershipAcquisitionIfAvailable {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag,
            },
            6 => C::AttributeOwnershipReleaseDenied {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            7 => C::AttributeOwnershipDivestitureIfWanted {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            8 => C::CancelNegotiatedAttributeOwnershipDivestiture { object_instance, attributes },
            _ => C::CancelAttributeOwnershipAcquisition { object_instance, attributes },
        }
    }

    fn region(&mut self) -> RegionHandle {
        RegionHandle::new(self.small())
    }

    fn regions(&mut self) -> Vec<RegionHandle> {
        (0..self.small() & 3).map(|_| self.region()).collect()
    }

    fn dimension(&mut self) -> DimensionHandle {
        DimensionHandle::new(self.small())
    }

    fn attribute_regions(&mut self) -> Vec<AttributeRegions> {
        let pair = |arguments: &mut Self| AttributeRegions {
            attributes: arguments.attributes(),
            regions: arguments.regions(),
        };
        (0..self.small() & 3).map(|_| pair(self)).collect()
    }

    fn distribution_call(&mut self, kind: u8) -> DistributionCall {
        use DistributionCall as C;
        let user_supplied_tag = Data::new();
        match kind % 13 {
            0..2 => C::CreateRegion {
                dimensions: (0..self.small() & 3).map(|_| self.dimension()).collect(),
            },
            2..4 => C::CommitRegionModifications { regions: self.regions() },
            4 => C::DeleteRegion { region: self.region() },
            5 => C::RegisterObjectInstanceWithRegions {
                object_class: self.object_class(),
                attributes_and_regions: self.attribute_regions(),
            },
            6 => C::AssociateRegionsForUpdates {
                object_instance: self.instance(),
                attributes_and_regions: self.attribute_regions(),
            },
            7 => C::UnassociateRegionsForUpdates {
                object_instance: self.instance(),
                attributes_and_regions: self.attribute_regions(),
            },
            8 => C::SubscribeObjectClassAttributesWithRegions {
                object_class: self.object_class(),
                attributes_and_regions: self.attribute_regions(),
                active: self.byte() & 1 == 0,
            },
            9 => C::UnsubscribeObjectClassAttributesWithRegions {
                object_class: self.object_class(),
                attributes_and_regions: self.attribute_regions(),
            },
            10 => C::SubscribeInteractionClassWithRegions {
                interaction_class: self.interaction(),
                active: self.byte() & 1 == 0,
                regions: self.regions(),
            },
            11 => C::SendInteractionWithRegionsAndTime {
                interaction_class: self.interaction(),
                parameter_values: self.parameters(),
                regions: self.regions(),
                user_supplied_tag,
                time: self.time(),
            },
            _ => C::RequestAttributeValueUpdateWithRegions {
                object_class: self.object_class(),
                attributes_and_regions: self.attribute_regions(),
                user_supplied_tag,
            },
        }
    }

    fn time_call(&mut self, kind: u8) -> TimeCall {
        use TimeCall as C;
        match kind % 16 {
            0 => C::EnableTimeRegulation { lookahead: self.interval() },
            1 => C::DisableTimeRegulation,
            2 => C::EnableTimeConstrained,
            3 => C::DisableTimeConstrained,
            4..6 => C::TimeAdvanceRequest { time: self.time() },
            6 => C::TimeAdvanceRequestAvailable { time: self.time() },
            7 => C::NextMessageRequest { time: self.time() },
            8 => C::NextMessageRequestAvailable { time: self.time() },
            9 => C::FlushQueueRequest { time: self.time() },
            10 => C::EnableAsynchronousDelivery,
            11 => C::DisableAsynchronousDelivery,
            12 => C::ModifyLookahead { lookahead: self.interval() },
            13 => C::QueryLookahead,
            14 => {
                let (who, number) = (u64::from(self.small() & 3), u64::from(self.small()));
                C::Retract { retraction: MessageRetractionHandle::new(who << 32 | number) }
            }
            _ => C::ChangeAttributeOrderType {
                object_instance: self.instance(),
                attributes: self.attributes(),
                order_type: self.order(),
            },
        }
    }

    fn support_call(&mut self, kind: u8) -> SupportCall {
        use SupportCall as C;
        let value = self.byte() & 1 == 0;
        match kind % 10 {
            9 => {
                let (lower, upper) = (self.small() & 7, self.small());
                C::SetRangeBounds {
                    region: self.region(),
                    dimension: self.dimension(),
                    range_bounds: RangeBounds { lower, upper },
                }
            }
            0 => C::GetFederateName { federate: self.federate() },
            1 => C::GetObjectInstanceHandle { object_instance_name: self.name() },
            2 => C::GetAttributeName {
                object_class: self.object_class(),
                attribute: AttributeHandle::new(self.small() + 50),
            },
            3 => C::GetParameterName {
                interaction_class: self.interaction(),
                parameter: ParameterHandle::new(self.small() + 120),
            },
            4 => C::SetObjectClassRelevanceAdvisorySwitch { value },
            5 => C::SetAttributeRelevanceAdvisorySwitch { value },
            6 => C::SetAttributeScopeAdvisorySwitch { value },
            7 => C::SetInteractionRelevanceAdvisorySwitch { value },
            _ => C::SetAutomaticResignDirective {
                value: ResignAction::from_number(i32::from(self.byte() & 7)),
            },
        }
    }
}
