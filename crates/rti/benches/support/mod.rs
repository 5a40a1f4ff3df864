//! A kernel with a federation, for benchmarks and for the test of the memory account. Federates are numbered as their
//! sessions; session 0 has created the federation.

#![allow(dead_code, reason = "each program uses a part of it")]

use hemiola_fom::Model;
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, EncodedTime, InteractionClassHandle, LogicalInterval, LogicalTime,
    ObjectClassHandle, ObjectInstanceHandle, Reply,
};
use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, Milestone, SessionId};

/// A class with one attribute, and an interaction class without parameters.
pub(crate) const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>Car</name>
<attribute><name>Position</name><dataType>HLAoctet</dataType><order>TimeStamp</order></attribute>
</objectClass></objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>
<interactionClass><name>Horn</name></interactionClass></interactionClass></interactions></objectModel>"#;

/// The name of the federation.
pub(crate) const NAME: &str = "Bench";

pub(crate) struct World {
    pub(crate) kernel: Kernel,
    /// The effects of the last call.
    pub(crate) out: Vec<Effect>,
    pub(crate) model: Model,
    /// The class `Car`.
    pub(crate) class: ObjectClassHandle,
    /// Its first attribute.
    pub(crate) attribute: AttributeHandle,
}

/// The name of the interaction class.
const INTERACTION: &str = "HLAinteractionRoot.Horn";

impl World {
    pub(crate) fn new() -> Self {
        Self::with_model(MODEL)
    }

    /// With an object model that has a class `Car` with an attribute of its own.
    pub(crate) fn with_model(text: &str) -> Self {
        Self::with(Kernel::new(Limits::default()), text)
    }

    /// The same in this kernel.
    pub(crate) fn with(kernel: Kernel, text: &str) -> Self {
        let (modules, _) = hemiola_fom::read("bench.xml", text.as_bytes()).expect("it is sound");
        let (model, _) = hemiola_fom::merge(&modules, None).expect("it is sound");
        let class = model.object_class_named("Car").expect("it is there");
        let parent = model.object_class_named("HLAobjectRoot").expect("it is there");
        let inherited = model.object_class(parent).expect("it is there").attributes.len();
        let attribute = model.object_class(class).expect("it is there").attributes[inherited];
        let mut world = Self { kernel, out: Vec::new(), model, class, attribute };
        world.connect(0);
        world.create(NAME, text);
        world
    }

    pub(crate) fn connect(&mut self, session: u64) {
        self.kernel.handle(Input::Opened(SessionId(session)), &mut self.out);
        self.call(session, FederationCall::Connect);
    }

    /// Creates a federation with integer time.
    pub(crate) fn create(&mut self, name: &str, text: &str) {
        let content = text.as_bytes().to_vec().into();
        let call = FederationCall::CreateFederationExecutionWithTime {
            federation_name: name.into(),
            fom_module: FomModule::File { name: "bench.xml".into(), content },
            logical_time_implementation_name: "HLAinteger64Time".into(),
        };
        self.call(0, call);
    }

    /// Carries out a call, which must succeed, and answers the callbacks after which federates are in another state.
    pub(crate) fn call(&mut self, session: u64, call: impl Into<Call>) -> Reply {
        self.out.clear();
        self.kernel.handle(called(session, call), &mut self.out);
        for effect in &self.out {
            if let Effect::Callback(session, notice) = effect
                && let Some(milestone) = Milestone::of_callback(notice.callback().number())
            {
                self.kernel.handle(Input::Answered(*session, milestone), &mut Vec::new());
            }
        }
        match &self.out[0] {
            Effect::Reply(_, _, Ok(reply)) => reply.clone(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn join(&mut self, session: u64) {
        self.connect(session);
        let call = FederationCall::JoinFederationExecution {
            federate_type: "bench".into(),
            federation_name: NAME.into(),
        };
        self.call(session, call);
    }

    pub(crate) fn publish(&mut self, session: u64) {
        let (object_class, attributes) = (self.class, vec![self.attribute]);
        let call = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        self.call(session, call);
    }

    /// The call that subscribes to `Car`.
    pub(crate) fn subscription(&self) -> DeclarationCall {
        let (object_class, attributes) = (self.class, vec![self.attribute]);
        DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes }
    }

    pub(crate) fn subscribe(&mut self, session: u64) {
        self.call(session, self.subscription());
    }

    /// Returns the interaction class.
    fn interaction(&self) -> InteractionClassHandle {
        self.model.interaction_class_named(INTERACTION).expect("it is there")
    }

    pub(crate) fn publish_interaction(&mut self, session: u64) {
        let interaction_class = self.interaction();
        self.call(session, DeclarationCall::PublishInteractionClass { interaction_class });
    }

    pub(crate) fn subscribe_interaction(&mut self, session: u64) {
        let interaction_class = self.interaction();
        self.call(session, DeclarationCall::SubscribeInteractionClass { interaction_class });
    }

    /// The call that sends an interaction.
    pub(crate) fn interaction_call(&self) -> ObjectCall {
        ObjectCall::SendInteraction {
            interaction_class: self.interaction(),
            parameter_values: Vec::new(),
            user_supplied_tag: Data::new(),
        }
    }

    pub(crate) fn register(&mut self, session: u64) -> ObjectInstanceHandle {
        let object_class = self.class;
        match self.call(session, ObjectCall::RegisterObjectInstance { object_class }) {
            Reply::ObjectInstance(instance) => instance,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn regulate(&mut self, session: u64) {
        let lookahead = LogicalInterval::integer(1).expect("it is positive").into();
        self.call(session, TimeCall::EnableTimeRegulation { lookahead });
    }

    pub(crate) fn constrain(&mut self, session: u64) {
        self.call(session, TimeCall::EnableTimeConstrained);
    }
}

pub(crate) fn called(session: u64, call: impl Into<Call>) -> Input {
    Input::Called(SessionId(session), CallId(1), call.into())
}

pub(crate) fn time(value: i64) -> EncodedTime {
    LogicalTime::integer(value).expect("it is positive").into()
}
