//! A small language for tests: a kernel, federates as plain values, and verbs for their calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_fom::{Model, merge, read};
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::{AttributeValues, Data, FomModule, ParameterValues, RtiConfiguration};
use hemiola_hla::{
    AttributeHandle, Call, Callback, Exception, FederateHandle, InteractionClassHandle,
    LogicalInterval, LogicalTime, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType, ParameterHandle, Refusal, Reply, ResignAction,
};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, Milestone, Notice, SaveName, SessionId};

use crate::evidence;

/// The object model of all tests: vehicles, and commands to them.
pub(crate) const MODEL: &str = include_str!("world.xml");

/// Returns this object model with a switch turned on.
pub(crate) fn model_with(switch: &str) -> String {
    let on = format!("</interactions><switches><{switch} isEnabled=\"true\"/></switches>");
    MODEL.replace("</interactions>", &on)
}

/// The name of the federation in all tests.
pub(crate) const YARD: &str = "Yard";

/// A federate: its session, and its handle once it has joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fed {
    pub(crate) session: SessionId,
    pub(crate) handle: FederateHandle,
}

/// A kernel and its effects.
pub(crate) struct World {
    pub(crate) kernel: Kernel,
    pub(crate) model: Model,
    inbox: Vec<(SessionId, Arc<Notice>)>,
    closed: Vec<SessionId>,
    /// Federates that do not answer callbacks.
    silent: Vec<SessionId>,
    sessions: u64,
    calls: u32,
    /// The stored images.
    pub(crate) saves: BTreeMap<SaveName, Data>,
    /// How the storage answers.
    pub(crate) storage: Storage,
    /// The reasons that operators are told.
    pub(crate) failures: Vec<String>,
    /// The lines of service reports in files.
    pub(crate) reports: Vec<(SessionId, String)>,
}

/// The behaviour of the storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Storage {
    #[default]
    Works,
    Fails(&'static str),
    /// It does not; the answers are here.
    Silent(Vec<Input>),
}

pub(crate) fn module(text: &str) -> FomModule {
    FomModule::File { name: "world.xml".into(), content: text.as_bytes().to_vec().into() }
}

pub(crate) fn time(value: i64) -> LogicalTime {
    LogicalTime::integer(value).unwrap()
}

pub(crate) fn interval(value: i64) -> LogicalInterval {
    LogicalInterval::integer(value).unwrap()
}

impl World {
    /// Creates a kernel with the federation `Yard` in integer time.
    pub(crate) fn new() -> Self {
        Self::with(Limits::default(), MODEL)
    }

    /// Creates the same with a switch turned on.
    pub(crate) fn with_switch(switch: &str) -> Self {
        Self::with(Limits::default(), &model_with(switch))
    }

    pub(crate) fn with(limits: Limits, model: &str) -> Self {
        Self::empty(limits, model).with_yard(model)
    }

    /// Creates a kernel that can save and has files for service reports, with the federation `Yard`.
    pub(crate) fn writing_reports(model: &str) -> Self {
        let mut world = Self::empty(Limits { image_len: 1 << 24, ..Limits::default() }, model);
        world.kernel = std::mem::take(&mut world.kernel).with_report_files("/reports/a");
        world.with_yard(model)
    }

    fn with_yard(mut self, model: &str) -> Self {
        let creator = self.connect();
        self.ok(
            creator,
            FederationCall::CreateFederationExecutionWithTime {
                federation_name: YARD.into(),
                fom_module: module(model),
                logical_time_implementation_name: "HLAinteger64Time".into(),
            },
        );
        self
    }

    /// The lines that a federate's file has got since the last time. No other file got any.
    pub(crate) fn report_lines(&mut self, fed: Fed) -> Vec<String> {
        let reports = std::mem::take(&mut self.reports).into_iter();
        reports.map(|(session, line)| (session == fed.session).then_some(line).unwrap()).collect()
    }

    /// What these lines report: services, or the kinds of other records.
    pub(crate) fn reported(lines: &[String]) -> Vec<String> {
        let service = |line: &String| {
            let after = |key: &str| Some(line.split_once(key)?.1.split('"').next()?.to_owned());
            after("\"service\":\"").or_else(|| after("\"record\":\"")).unwrap()
        };
        lines.iter().map(service).collect()
    }

    /// Creates a kernel without federations.
    pub(crate) fn empty(limits: Limits, model: &str) -> Self {
        let (modules, _) = read("world.xml", model.as_bytes()).unwrap();
        let (model, _) = merge(&modules, None).unwrap();
        let kernel = Kernel::new(limits);
        Self {
            kernel,
            model,
            inbox: Vec::new(),
            closed: Vec::new(),
            silent: Vec::new(),
            sessions: 0,
            calls: 0,
            saves: BTreeMap::new(),
            storage: Storage::Works,
            failures: Vec::new(),
            reports: Vec::new(),
        }
    }

    /// Creates a kernel that can save, with the federation `Yard` in integer time.
    pub(crate) fn saving() -> Self {
        Self::with(Limits { image_len: 1 << 24, ..Limits::default() }, MODEL)
    }

    /// The storage answers a request.
    fn store(&mut self, effect: Effect) {
        let answer = match (effect, &self.storage) {
            (Effect::Store(id, ..), Storage::Fails(reason)) => {
                Input::Stored(id, Err((*reason).into()))
            }
            (Effect::Load(id, _), Storage::Fails(reason)) => {
                Input::Loaded(id, Err((*reason).into()))
            }
            (Effect::Store(id, name, image), _) => {
                self.saves.insert(name, image.bytes().clone().into_data());
                Input::Stored(id, Ok(()))
            }
            (Effect::Load(id, name), _) => {
                let image = self.saves.get(&name).map(|image| image.to_vec().into());
                Input::Loaded(id, image.ok_or_else(|| "there is no such save".into()))
            }
            (other, _) => panic!("{other:?}"),
        };
        match &mut self.storage {
            Storage::Silent(answers) => answers.push(answer),
            _ => assert_eq!(self.input(answer), None),
        }
    }

    /// The storage gives the answers that it has held back.
    pub(crate) fn storage_answers(&mut self) {
        let Storage::Silent(answers) = std::mem::take(&mut self.storage) else { return };
        answers.into_iter().for_each(|answer| assert_eq!(self.input(answer), None));
    }

    pub(crate) fn input(&mut self, input: Input) -> Option<Result<Reply, Refusal>> {
        let mut out = Vec::new();
        let lost = if let Input::Lost(session) = input { Some(session) } else { None };
        let dismissed = if let Input::Dismissed(session, _) = input { Some(session) } else { None };
        self.kernel.handle(input, &mut out);
        self.kernel.check_invariants();
        let mut answer = None;
        let mut requests = Vec::new();
        for output in out {
            match output {
                Effect::Reply(_, number, reply) => {
                    assert_eq!(number, CallId(self.calls));
                    assert!(answer.replace(reply).is_none(), "a call has one reply");
                }
                Effect::Callback(session, notice) => {
                    assert_ne!(Some(session), lost, "a lost session gets no callback");
                    let is_last = matches!(notice.callback(), Callback::ConnectionLost { .. });
                    assert_eq!(Some(session) == dismissed, is_last, "{:?}", notice.callback());
                    evidence::of_callback(notice.callback());
                    if !self.silent.contains(&session) {
                        self.answer(session, &notice);
                    }
                    self.inbox.push((session, notice));
                }
                Effect::Close(session) => self.closed.push(session),
                Effect::Failed(_, reason) => self.failures.push(reason),
                Effect::Report(session, line) => {
                    self.reports.push((session, String::from_utf8(line).unwrap()));
                }
                request => requests.push(request),
            }
        }
        requests.into_iter().for_each(|request| self.store(request));
        answer
    }

    /// A federate answers a callback.
    fn answer(&mut self, session: SessionId, notice: &Notice) {
        if let Some(milestone) = Milestone::of_callback(notice.callback().number()) {
            let mut out = Vec::new();
            self.kernel.handle(Input::Answered(session, milestone), &mut out);
            assert_eq!(out, []);
        }
    }

    /// From now on, a federate answers no callbacks. Otherwise it answers each at once.
    pub(crate) fn silence(&mut self, fed: Fed) {
        self.silent.push(fed.session);
    }

    /// Takes a silent federate's new callbacks, and has it answer them.
    pub(crate) fn answers(&mut self, fed: Fed) -> Vec<String> {
        let notices = self.notices(fed);
        notices.iter().for_each(|notice| self.answer(fed.session, notice));
        notices.iter().map(|notice| self.short(notice.callback())).collect()
    }

    pub(crate) fn call(&mut self, fed: Fed, call: impl Into<Call>) -> Result<Reply, Refusal> {
        self.calls += 1;
        let call = call.into();
        let entry = call.entry();
        let answer = self.input(Input::Called(fed.session, CallId(self.calls), call));
        let answer = answer.expect("every call has a reply");
        evidence::of_call(entry, &answer);
        match &answer {
            Ok(reply) => assert_eq!(reply.shape(), entry.shape, "{entry:?}"),
            Err(refusal) => assert!(entry.raises(refusal.exception), "{refusal}"),
        }
        answer
    }

    /// Returns the reply to a call, which must succeed.
    pub(crate) fn ok(&mut self, fed: Fed, call: impl Into<Call>) -> Reply {
        self.call(fed, call).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Returns the exception of a call, which must be refused.
    pub(crate) fn refused(&mut self, fed: Fed, call: impl Into<Call>) -> Exception {
        match self.call(fed, call) {
            Ok(reply) => panic!("not refused: {reply:?}"),
            Err(refusal) => refusal.exception,
        }
    }

    pub(crate) fn open(&mut self) -> Fed {
        self.sessions += 1;
        let session = SessionId(self.sessions);
        self.input(Input::Opened(session));
        Fed { session, handle: FederateHandle::INVALID }
    }

    pub(crate) fn connect(&mut self) -> Fed {
        let fed = self.open();
        self.ok(fed, FederationCall::Connect);
        fed
    }

    /// Connects a client of 1516-2010.
    pub(crate) fn connect_evolved(&mut self) -> Fed {
        let fed = self.open();
        let rti_configuration = RtiConfiguration {
            additional_settings: "API.version=IEEE 1516-2010".into(),
            ..RtiConfiguration::default()
        };
        self.ok(fed, FederationCall::ConnectWithConfiguration { rti_configuration });
        fed
    }

    pub(crate) fn lose(&mut self, fed: Fed) {
        self.input(Input::Lost(fed.session));
    }

    /// Ends the session of a federate from the side of the RTI.
    pub(crate) fn dismiss(&mut self, fed: Fed, reason: &str) {
        self.input(Input::Dismissed(fed.session, reason.into()));
    }

    /// Adds a federate of this name and joins it to `Yard`.
    pub(crate) fn federate(&mut self, name: &str) -> Fed {
        let fed = self.connect();
        self.join(fed, name)
    }

    pub(crate) fn join(&mut self, fed: Fed, name: &str) -> Fed {
        let reply = self.ok(
            fed,
            FederationCall::JoinFederationExecutionWithName {
                federate_name: name.into(),
                federate_type: "test".into(),
                federation_name: YARD.into(),
            },
        );
        let Reply::Joined(joined) = reply else { panic!("{reply:?}") };
        Fed { handle: joined.federate, ..fed }
    }

    pub(crate) fn resign(&mut self, fed: Fed, action: ResignAction) {
        self.ok(fed, FederationCall::ResignFederationExecution { resign_action: Some(action) });
    }

    // Names of the object model.

    pub(crate) fn class(&self, name: &str) -> ObjectClassHandle {
        self.model.object_class_named(name).unwrap()
    }

    pub(crate) fn attribute(&self, name: &str) -> AttributeHandle {
        self.model.attribute_named(self.class("Vehicle.Car"), name).unwrap()
    }

    pub(crate) fn attributes(&self, names: &str) -> Vec<AttributeHandle> {
        names.split_whitespace().map(|name| self.attribute(name)).collect()
    }

    pub(crate) fn interaction(&self, name: &str) -> InteractionClassHandle {
        self.model.interaction_class_named(name).unwrap()
    }

    pub(crate) fn parameter(&self, name: &str) -> ParameterHandle {
        self.model.parameter_named(self.interaction("Command.Stop"), name).unwrap()
    }

    pub(crate) fn values(&self, names: &str) -> AttributeValues {
        let value = |name: &str| name.as_bytes().to_vec().into();
        names.split_whitespace().map(|name| (self.attribute(name), value(name))).collect()
    }

    pub(crate) fn parameters(&self, names: &str) -> ParameterValues {
        let value = |name: &str| name.as_bytes().to_vec().into();
        names.split_whitespace().map(|name| (self.parameter(name), value(name))).collect()
    }

    // Clause 5.

    pub(crate) fn publish(&mut self, fed: Fed, class: &str, attributes: &str) {
        let (object_class, attributes) = (self.class(class), self.attributes(attributes));
        self.ok(fed, DeclarationCall::PublishObjectClassAttributes { object_class, attributes });
    }

    pub(crate) fn subscribe(&mut self, fed: Fed, class: &str, attributes: &str) {
        let (object_class, attributes) = (self.class(class), self.attributes(attributes));
        self.ok(fed, DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes });
    }

    pub(crate) fn unsubscribe(&mut self, fed: Fed, class: &str) {
        let object_class = self.class(class);
        self.ok(fed, DeclarationCall::UnsubscribeObjectClass { object_class });
    }

    pub(crate) fn publish_interaction(&mut self, fed: Fed, class: &str) {
        let interaction_class = self.interaction(class);
        self.ok(fed, DeclarationCall::PublishInteractionClass { interaction_class });
    }

    pub(crate) fn subscribe_interaction(&mut self, fed: Fed, class: &str) {
        let interaction_class = self.interaction(class);
        self.ok(fed, DeclarationCall::SubscribeInteractionClass { interaction_class });
    }

    // Clause 6.

    pub(crate) fn register(&mut self, fed: Fed, class: &str) -> ObjectInstanceHandle {
        let object_class = self.class(class);
        let reply = self.ok(fed, ObjectCall::RegisterObjectInstance { object_class });
        let Reply::ObjectInstance(handle) = reply else { panic!("{reply:?}") };
        handle
    }

    /// Updates attributes without a time stamp.
    pub(crate) fn update(&mut self, fed: Fed, instance: ObjectInstanceHandle, names: &str) {
        let call = ObjectCall::UpdateAttributeValues {
            object_instance: instance,
            attribute_values: self.values(names),
            user_supplied_tag: "tag".into(),
        };
        self.ok(fed, call);
    }

    pub(crate) fn update_at_call(
        &self,
        instance: ObjectInstanceHandle,
        names: &str,
        at: i64,
    ) -> ObjectCall {
        ObjectCall::UpdateAttributeValuesWithTime {
            object_instance: instance,
            attribute_values: self.values(names),
            user_supplied_tag: "tag".into(),
            time: time(at).into(),
        }
    }

    pub(crate) fn update_at(
        &mut self,
        fed: Fed,
        instance: ObjectInstanceHandle,
        names: &str,
        at: i64,
    ) -> Option<MessageRetractionHandle> {
        let call = self.update_at_call(instance, names, at);
        let reply = self.ok(fed, call);
        let Reply::Retraction(retraction) = reply else { panic!("{reply:?}") };
        retraction
    }

    pub(crate) fn send(&mut self, fed: Fed, class: &str, names: &str) {
        let call = ObjectCall::SendInteraction {
            interaction_class: self.interaction(class),
            parameter_values: self.parameters(names),
            user_supplied_tag: "tag".into(),
        };
        self.ok(fed, call);
    }

    pub(crate) fn send_at(
        &mut self,
        fed: Fed,
        class: &str,
        at: i64,
    ) -> Option<MessageRetractionHandle> {
        let call = ObjectCall::SendInteractionWithTime {
            interaction_class: self.interaction(class),
            parameter_values: Vec::new(),
            user_supplied_tag: "tag".into(),
            time: time(at).into(),
        };
        let reply = self.ok(fed, call);
        let Reply::Retraction(retraction) = reply else { panic!("{reply:?}") };
        retraction
    }

    pub(crate) fn delete(&mut self, fed: Fed, instance: ObjectInstanceHandle) {
        let call = ObjectCall::DeleteObjectInstance {
            object_instance: instance,
            user_supplied_tag: "tag".into(),
        };
        self.ok(fed, call);
    }

    // Clause 8.

    pub(crate) fn regulate(&mut self, fed: Fed, lookahead: i64) {
        let lookahead = interval(lookahead).into();
        self.ok(fed, TimeCall::EnableTimeRegulation { lookahead });
    }

    pub(crate) fn constrain(&mut self, fed: Fed) {
        self.ok(fed, TimeCall::EnableTimeConstrained);
    }

    /// Adds a federate that is time-regulating with this lookahead and time-constrained, without keeping the callbacks.
    pub(crate) fn in_time(&mut self, name: &str, lookahead: i64) -> Fed {
        let fed = self.federate(name);
        self.regulate(fed, lookahead);
        self.constrain(fed);
        self.callbacks(fed);
        fed
    }

    pub(crate) fn tar(&mut self, fed: Fed, to: i64) {
        self.ok(fed, TimeCall::TimeAdvanceRequest { time: time(to).into() });
    }

    pub(crate) fn tara(&mut self, fed: Fed, to: i64) {
        self.ok(fed, TimeCall::TimeAdvanceRequestAvailable { time: time(to).into() });
    }

    pub(crate) fn nmr(&mut self, fed: Fed, to: i64) {
        self.ok(fed, TimeCall::NextMessageRequest { time: time(to).into() });
    }

    pub(crate) fn nmra(&mut self, fed: Fed, to: i64) {
        self.ok(fed, TimeCall::NextMessageRequestAvailable { time: time(to).into() });
    }

    pub(crate) fn fqr(&mut self, fed: Fed, to: i64) {
        self.ok(fed, TimeCall::FlushQueueRequest { time: time(to).into() });
    }

    pub(crate) fn galt(&mut self, fed: Fed) -> Option<i64> {
        let reply = self.ok(fed, TimeCall::QueryGALT);
        let Reply::OptionalTime(galt) = reply else { panic!("{reply:?}") };
        galt.map(number)
    }

    pub(crate) fn lits(&mut self, fed: Fed) -> Option<i64> {
        let reply = self.ok(fed, TimeCall::QueryLITS);
        let Reply::OptionalTime(lits) = reply else { panic!("{reply:?}") };
        lits.map(number)
    }

    // Callbacks.

    /// Takes a federate's new callbacks, in short form.
    pub(crate) fn callbacks(&mut self, fed: Fed) -> Vec<String> {
        let notices = self.notices(fed);
        notices.iter().map(|notice| self.short(notice.callback())).collect()
    }

    /// Takes a federate's new callbacks.
    pub(crate) fn notices(&mut self, fed: Fed) -> Vec<Arc<Notice>> {
        let mine = |(session, _): &mut (SessionId, Arc<Notice>)| *session == fed.session;
        self.inbox.extract_if(.., mine).map(|(_, notice)| notice).collect()
    }

    pub(crate) fn is_closed(&self, fed: Fed) -> bool {
        self.closed.contains(&fed.session)
    }

    fn names(&self, attributes: impl IntoIterator<Item = AttributeHandle>) -> String {
        let name = |one| self.model.attribute(one).unwrap().name.clone();
        attributes.into_iter().map(name).collect::<Vec<_>>().join("+")
    }

    fn values_name(&self, values: &AttributeValues) -> String {
        for (attribute, value) in values {
            assert_eq!(self.model.attribute(*attribute).unwrap().name.as_bytes(), value);
        }
        self.names(values.iter().map(|(attribute, _)| *attribute))
    }

    fn parameters_name(&self, values: &ParameterValues) -> String {
        let name = |one: &(ParameterHandle, _)| self.model.parameter(one.0).unwrap().name.clone();
        values.iter().map(name).collect::<Vec<_>>().join("+")
    }

    fn class_name(&self, class: ObjectClassHandle) -> String {
        self.model.object_class(class).unwrap().name.replace("HLAobjectRoot.", "")
    }

    fn interaction_name(&self, class: InteractionClassHandle) -> String {
        self.model.interaction_class(class).unwrap().name.replace("HLAinteractionRoot.", "")
    }

    /// Formats a callback about ownership with its tag.
    fn ownership(
        &self,
        what: &str,
        instance: &ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        tag: &hemiola_hla::Data,
    ) -> String {
        let names = self.names(attributes.iter().copied());
        format!("{what} {instance} {names} ({})", String::from_utf8_lossy(tag))
    }

    /// Formats a callback in a few words.
    fn short(&self, callback: &Callback) -> String {
        use Callback as C;
        let at = |time: &hemiola_hla::EncodedTime, received: &OrderType| match received {
            OrderType::TimeStamp => format!("at {}", number(*time)),
            OrderType::Receive => format!("of {}", number(*time)),
        };
        match callback {
            C::SynchronizationPointRegistrationSucceeded { synchronization_point_label: label } => {
                format!("registered {label}")
            }
            C::SynchronizationPointRegistrationFailed {
                synchronization_point_label: label,
                reason,
            } => {
                format!("not registered {label}: {reason}")
            }
            C::AnnounceSynchronizationPoint { synchronization_point_label: label, .. } => {
                format!("announce {label}")
            }
            C::FederationSynchronized {
                synchronization_point_label: label,
                failed_to_sync_set,
            } => {
                let failed: Vec<String> =
                    failed_to_sync_set.iter().map(|one| one.to_string()).collect();
                format!("synchronized {label} without [{}]", failed.join(" "))
            }
            C::FederateResigned { reason_for_resign_description } => {
                format!("resigned: {reason_for_resign_description}")
            }
            C::StartRegistrationForObjectClass { object_class } => {
                format!("start {}", self.class_name(*object_class))
            }
            C::StopRegistrationForObjectClass { object_class } => {
                format!("stop {}", self.class_name(*object_class))
            }
            C::TurnInteractionsOn { interaction_class } => {
                format!("on {}", self.interaction_name(*interaction_class))
            }
            C::TurnInteractionsOff { interaction_class } => {
                format!("off {}", self.interaction_name(*interaction_class))
            }
            C::ObjectInstanceNameReservationSucceeded { object_instance_name } => {
                format!("reserved {object_instance_name}")
            }
            C::ObjectInstanceNameReservationFailed { object_instance_name } => {
                format!("not reserved {object_instance_name}")
            }
            C::MultipleObjectInstanceNameReservationSucceeded { object_instance_names } => {
                format!("reserved {}", object_instance_names.join(" "))
            }
            C::MultipleObjectInstanceNameReservationFailed { object_instance_names } => {
                format!("not reserved {}", object_instance_names.join(" "))
            }
            C::DiscoverObjectInstance { object_instance, object_class, .. } => {
                format!("discover {object_instance} as {}", self.class_name(*object_class))
            }
            C::ReflectAttributeValues { object_instance, attribute_values, .. } => {
                format!("reflect {object_instance} {}", self.values_name(attribute_values))
            }
            C::ReflectAttributeValuesWithTime {
                object_instance,
                attribute_values,
                time,
                received_order_type,
                ..
            } => {
                let names = self.values_name(attribute_values);
                format!("reflect {object_instance} {names} {}", at(time, received_order_type))
            }
            C::ReceiveInteraction { interaction_class, parameter_values, .. } => {
                let values = self.parameters_name(parameter_values);
                format!("receive {} {values}", self.interaction_name(*interaction_class))
                    .trim_end()
                    .into()
            }
            C::ReceiveInteractionWithTime {
                interaction_class, time, received_order_type, ..
            } => {
                let class = self.interaction_name(*interaction_class);
                format!("receive {class} {}", at(time, received_order_type))
            }
            C::ReceiveDirectedInteraction { interaction_class, object_instance, .. } => {
                format!(
                    "receive {} to {object_instance}",
                    self.interaction_name(*interaction_class)
                )
            }
            C::RemoveObjectInstance { object_instance, .. } => format!("remove {object_instance}"),
            C::RemoveObjectInstanceWithTime {
                object_instance, time, received_order_type, ..
            } => {
                format!("remove {object_instance} {}", at(time, received_order_type))
            }
            C::AttributesInScope { object_instance, attributes } => {
                format!("in scope {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::AttributesOutOfScope { object_instance, attributes } => {
                format!("out of scope {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::ProvideAttributeValueUpdate { object_instance, attributes, .. } => {
                format!("provide {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::TurnUpdatesOnForObjectInstance { object_instance, attributes } => {
                format!("updates on {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::TurnUpdatesOnForObjectInstanceWithRate {
                object_instance,
                attributes,
                update_rate_designator: rate,
            } => {
                format!(
                    "updates on {object_instance} {} {rate}",
                    self.names(attributes.iter().copied())
                )
            }
            C::TurnUpdatesOffForObjectInstance { object_instance, attributes } => {
                format!("updates off {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::RequestAttributeOwnershipAssumption {
                object_instance,
                offered_attributes: attributes,
                user_supplied_tag: tag,
            } => self.ownership("assume", object_instance, attributes, tag),
            C::RequestDivestitureConfirmation {
                object_instance,
                released_attributes: attributes,
                user_supplied_tag: tag,
            } => self.ownership("confirm", object_instance, attributes, tag),
            C::AttributeOwnershipAcquisitionNotification {
                object_instance,
                secured_attributes: attributes,
                user_supplied_tag: tag,
            } => self.ownership("acquired", object_instance, attributes, tag),
            C::AttributeOwnershipUnavailable {
                object_instance,
                attributes,
                user_supplied_tag: tag,
            } => self.ownership("unavailable", object_instance, attributes, tag),
            C::RequestAttributeOwnershipRelease {
                object_instance,
                candidate_attributes: attributes,
                user_supplied_tag: tag,
            } => self.ownership("release", object_instance, attributes, tag),
            C::ConfirmAttributeOwnershipAcquisitionCancellation { object_instance, attributes } => {
                format!("cancelled {object_instance} {}", self.names(attributes.iter().copied()))
            }
            C::InformAttributeOwnership { object_instance, attributes, federate } => {
                let names = self.names(attributes.iter().copied());
                format!("{object_instance} {names} of {federate}")
            }
            C::AttributeIsNotOwned { object_instance, attributes } => {
                format!("{object_instance} {} of nobody", self.names(attributes.iter().copied()))
            }
            C::TimeRegulationEnabled { time } => format!("regulating {}", number(*time)),
            C::TimeConstrainedEnabled { time } => format!("constrained {}", number(*time)),
            C::TimeAdvanceGrant { time } => format!("grant {}", number(*time)),
            C::FlushQueueGrant { time, optimistic_time } => {
                format!("flush grant {} optimistic {}", number(*time), number(*optimistic_time))
            }
            C::RequestRetraction { .. } => "retract".into(),
            other => format!("{other:?}"),
        }
    }
}

fn number(time: hemiola_hla::EncodedTime) -> i64 {
    i64::from_be_bytes(time.bytes())
}
