//! One world: federates that act at random, one after the other.

mod manager;
mod saving;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_fom::{Model, merge, read};
use hemiola_hla::call::{
    DeclarationCall, FederationCall, ObjectCall, OwnershipCall, SupportCall, TimeCall,
};
use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Call, Exception, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle,
    Refusal, Reply, ResignAction,
};
use hemiola_rti::{
    CallId, Effect, Image, Input, Kernel, Limits, Milestone, Notice, SessionId, Status, StorageId,
};
use hemiola_units::{Instant, Random};

use super::checker::{Asked, Asks, Messages, Peer, Sent, WHOLE};
use super::regions::{Extent, Forgotten};
use crate::world::{MODEL, interval, model_with, module, time};
use manager::Manager;

/// After every so many events, discoveries are checked.
const DISCOVERIES: usize = 8;

/// One of so many events is followed by a save and a restore.
const SAVES: u64 = 100;

/// The time that all federates request in the end.
const END: i64 = 1 << 40;

/// A world.
pub(super) struct Run {
    kernel: Kernel,
    pub(super) model: Model,
    random: Random,
    sessions: u64,
    calls: u32,
    pub(super) peers: Vec<Peer>,
    pub(super) inbox: Vec<(SessionId, Arc<Notice>)>,
    messages: Messages,
    next_message: u64,
    pub(super) classes: Vec<ObjectClassHandle>,
    pub(super) interactions: Vec<InteractionClassHandle>,
    pub(super) privilege: AttributeHandle,
    /// The classes as which instances were registered.
    pub(super) registered: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    pub(super) forgotten: Forgotten,
    /// Number of callbacks.
    pub(super) callback_count: usize,
    /// The callbacks that occurred, by number.
    pub(super) callback_kinds: BTreeSet<u32>,
    /// Number of message parts that federates received though they did not want them at sending, and the other way
    /// round.
    pub(super) gained: u64,
    pub(super) lost: u64,
    /// All effects of the kernel.
    pub(super) log: Vec<Effect>,
    keep_log: bool,
    /// The kernel's report after the last event.
    pub(super) state: Option<Status>,
    /// Whether subscriptions are evaluated at delivery.
    delays: bool,
    slicing: Slicing,
    /// Draws budgets, so that the events of a seed do not depend on them.
    budgets: Random,
    /// The federates that are still among the peers although they have asked to resign.
    pub(super) resigning: BTreeSet<SessionId>,
    /// Those of them that have resigned. They are removed between events, because an event refers to its peer by place.
    resigned: Vec<SessionId>,
    /// Number of slices that did not finish all work.
    pub(super) slices: u64,
    /// In some worlds, a federate that manages the others.
    manager: Option<Manager>,
    /// Decides about saves and restores, so that the other events of a seed do not depend on them.
    saves: Random,
    /// An image for the storage.
    storing: Option<(StorageId, Image)>,
    /// A request for an image.
    loading: Option<StorageId>,
    /// Whether inputs and effects are printed.
    pub(super) is_shown: bool,
}

/// How the kernel's work is sliced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slicing {
    /// Not at all.
    Whole,
    /// Each slice has at most this budget, and all work is done before the next event.
    Apart(u64),
    /// Each slice has at most this budget, and other events happen in between.
    Mixed(u64),
}

impl Run {
    pub(super) fn new(seed: u64, slicing: Slicing) -> Self {
        let (modules, _) = read("world.xml", MODEL.as_bytes()).unwrap();
        let (model, _) = merge(&modules, None).unwrap();
        let class = |name| model.object_class_named(name).unwrap();
        let interaction = |name| model.interaction_class_named(name).unwrap();
        let mut run = Self {
            kernel: Kernel::new(Limits { image_len: 1 << 24, ..Limits::default() }),
            classes: vec![class("Vehicle"), class("Vehicle.Car")],
            interactions: vec![interaction("Command"), interaction("Command.Stop")],
            privilege: model
                .attribute_named(class("Vehicle"), "HLAprivilegeToDeleteObject")
                .unwrap(),
            registered: BTreeMap::new(),
            forgotten: Forgotten::new(),
            model,
            random: Random::from_seed(seed),
            sessions: 0,
            calls: 0,
            peers: Vec::new(),
            inbox: Vec::new(),
            messages: Messages::new(),
            next_message: 0,
            callback_count: 0,
            callback_kinds: BTreeSet::new(),
            gained: 0,
            lost: 0,
            log: Vec::new(),
            keep_log: seed < super::LOGGED,
            state: None,
            is_shown: false,
            delays: seed % 4 == 3,
            slicing,
            budgets: Random::from_seed(!seed),
            resigning: BTreeSet::new(),
            resigned: Vec::new(),
            slices: 0,
            manager: None,
            saves: Random::from_seed(seed.wrapping_add(1 << 32)),
            storing: None,
            loading: None,
        };
        let creator = run.open();
        let create = FederationCall::CreateFederationExecutionWithTime {
            federation_name: "Yard".into(),
            fom_module: module(&if run.delays {
                model_with("delaySubscriptionEvaluation")
            } else {
                MODEL.to_owned()
            }),
            logical_time_implementation_name: "HLAinteger64Time".into(),
        };
        run.call(creator, create).unwrap();
        if Self::is_managed(seed) {
            run.add_manager();
            run.drain();
        }
        run
    }

    /// Whether a federate manages the others of this world.
    pub(super) const fn is_managed(seed: u64) -> bool {
        matches!(seed % 16, 3 | 4 | 9 | 14)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    pub(super) fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    // Inputs and their effects.

    /// Draws the budget of an input or a slice.
    fn budget(&mut self) -> u64 {
        match self.slicing {
            Slicing::Whole => u64::MAX,
            Slicing::Apart(most) | Slicing::Mixed(most) => 1 + self.budgets.below(most),
        }
    }

    #[expect(clippy::print_stdout, reason = "a world that is replayed says what happens")]
    fn input(&mut self, input: Input) -> Option<Result<Reply, Refusal>> {
        let mut out = Vec::new();
        let budget = self.budget();
        if self.is_shown && !matches!(input, Input::Tick(_)) {
            println!("{budget}: {input:?}");
        }
        let is_tick = matches!(input, Input::Tick(_));
        let lost = match input {
            Input::Lost(session) | Input::Dismissed(session, _) => Some(session),
            _ => None,
        };
        self.kernel.handle_within(input, budget, &mut out);
        assert!(self.slicing != Slicing::Whole || is_tick || !self.kernel.has_work());
        let to_lost =
            |output: &Effect| matches!(output, Effect::Callback(to, _) if Some(*to) == lost);
        assert!(!out.iter().any(to_lost), "a lost session gets no callback");
        self.check_reports(budget, &out);
        self.effects(out)
    }

    /// Does all work that is left, between two events.
    fn work_off(&mut self) {
        self.finish_work();
        self.remove_resigned();
    }

    /// Does all work that is left.
    fn finish_work(&mut self) {
        self.notice_idle();
        while self.kernel.has_work() {
            let answer = self.work();
            assert!(answer.is_none(), "nobody waits for an answer");
            self.notice_idle();
        }
    }

    /// Does a slice of the work that is left.
    #[expect(clippy::print_stdout, reason = "a world that is replayed says what happens")]
    fn work(&mut self) -> Option<Result<Reply, Refusal>> {
        let mut out = Vec::new();
        let budget = self.budget();
        if self.is_shown {
            println!("{budget}: work");
        }
        self.slices += 1;
        self.kernel.work(budget, &mut out);
        self.check_reports(budget, &out);
        self.effects(out)
    }

    /// Records what must be true for federates whose jobs have ended.
    fn notice_idle(&mut self) {
        self.drain();
        for at in 0..self.peers.len() {
            let session = self.peers[at].fed.session;
            self.peers[at].had_jobs |= self.kernel.is_busy(session);
            if let Some(all) = self.peers[at].releasing
                && !self.kernel.is_busy(session)
            {
                self.peers[at].releasing = None;
                let me = self.peers[at].fed.handle;
                self.peers[at].decide(&mut self.messages, false, |one, part| {
                    !one.amid_jobs.contains(&me) && (all || !one.ordering.contains(&part))
                });
            }
        }
    }

    #[expect(clippy::print_stdout, reason = "a world that is replayed says what happens")]
    fn effects(&mut self, out: Vec<Effect>) -> Option<Result<Reply, Refusal>> {
        if self.is_shown {
            out.iter().for_each(|output| println!("    {output:?}"));
        }
        self.kernel.check_invariants();
        if self.keep_log {
            self.log.extend(out.iter().cloned());
        }
        let mut answer = None;
        for output in out {
            match output {
                Effect::Reply(session, _, reply) if self.resigning.contains(&session) => {
                    match reply {
                        Ok(_) => self.resigned.push(session),
                        Err(_) => drop(self.resigning.remove(&session)),
                    }
                }
                Effect::Reply(_, _, reply) => assert!(answer.replace(reply).is_none()),
                Effect::Callback(session, notice) => {
                    assert!(!self.resigning.contains(&session) || self.kernel.is_busy(session));
                    self.callback_count += 1;
                    self.callback_kinds.insert(notice.callback().number());
                    self.inbox.push((session, notice));
                }
                Effect::Close(session) => panic!("{session:?} is closed"),
                Effect::Store(id, _, image) => self.storing = Some((id, image)),
                Effect::Load(id, _) => self.loading = Some(id),
                Effect::Failed(name, reason) => panic!("{name:?}: {reason}"),
                Effect::Report(..) => panic!("there are no files of reports"),
            }
        }
        answer
    }

    fn open(&mut self) -> SessionId {
        self.sessions += 1;
        let session = SessionId(self.sessions);
        self.input(Input::Opened(session));
        self.call(session, FederationCall::Connect).unwrap();
        session
    }

    pub(super) fn call(
        &mut self,
        session: SessionId,
        call: impl Into<Call>,
    ) -> Result<Reply, Exception> {
        self.calls += 1;
        let call = call.into();
        let entry = call.entry();
        if self.kernel.is_busy(session) {
            self.finish_work();
        }
        let mut answer = self.input(Input::Called(session, CallId(self.calls), call));
        while answer.is_none() {
            assert!(self.kernel.is_busy(session), "every call is answered");
            answer = self.work();
        }
        match answer.expect("just seen") {
            Ok(reply) => {
                assert_eq!(reply.shape(), entry.shape);
                Ok(reply)
            }
            Err(refusal) => {
                assert!(entry.raises(refusal.exception), "{refusal}");
                Err(refusal.exception)
            }
        }
    }

    /// Passes the callbacks to their federates' models.
    fn drain(&mut self) {
        for (session, notice) in std::mem::take(&mut self.inbox) {
            if self.is_manager(session) {
                self.told(&notice);
            }
            if let Some(peer) = self.peers.iter_mut().find(|peer| peer.fed.session == session) {
                peer.callback(notice.callback(), &mut self.messages);
            }
            if let Some(milestone) = Milestone::of_callback(notice.callback().number()) {
                self.input(Input::Answered(session, milestone));
            }
        }
        let mut all = BTreeSet::new();
        let staying = self.peers.iter().filter(|one| !self.resigning.contains(&one.fed.session));
        for owned in staying.flat_map(|peer| &peer.owned) {
            assert!(all.insert(owned), "{owned:?} has two owners");
        }
    }

    // Events.

    pub(super) fn events(&mut self, count: usize) {
        for number in 0..count {
            // A manager's periods are whole seconds.
            let step = if self.manager.is_some() { 200_000_000 } else { 1_000_000 };
            self.input(Input::Tick(Instant::from_nanos(number as u64 * step)));
            if self.slicing == Slicing::Whole {
                self.work_off();
            }
            self.event();
            self.achieve_as_manager();
            self.drain();
            if self.saves.below(SAVES) == 0 {
                self.save_and_restore();
            }
            match self.slicing {
                Slicing::Whole => {}
                Slicing::Apart(_) => self.work_off(),
                Slicing::Mixed(_) => {
                    self.notice_idle();
                    while self.kernel.has_work() && self.budgets.below(3) > 0 {
                        let answer = self.work();
                        assert!(answer.is_none(), "nobody waits for an answer");
                        self.notice_idle();
                    }
                }
            }
            let is_idle = !self.kernel.has_work() && self.inbox.is_empty();
            // A manager also acts for federates.
            if number % DISCOVERIES == 0 && is_idle && self.manager.is_none() {
                self.check_discoveries();
            }
        }
        self.state = Some(self.kernel.status());
    }

    fn event(&mut self) {
        self.remove_resigned();
        if self.peers.len() < 2 || (self.peers.len() < 6 && self.one_in(20)) {
            return self.join();
        }
        if self.manager.is_some() && self.one_in(6) {
            return self.manage();
        }
        let at = self.below(self.peers.len() as u64) as usize;
        if self.kernel.is_busy(self.peers[at].fed.session) {
            // Its session may be lost all the same.
            if self.one_in(20) {
                self.lose(at);
            }
            return;
        }
        match self.below(100) {
            0..10 => self.declare(at),
            10..15 => self.register(at),
            15..25 => self.negotiate(at),
            25..35 => self.update(at),
            35..50 => self.send(at),
            50..53 => self.delete(at),
            53..55 => self.forget(at),
            55..57 => self.change_time(at),
            57..88 => self.advance(at),
            88..92 => self.retract(at),
            92..94 => self.synchronize(at),
            94..98 if self.below(2) > 0 => self.distribute(at),
            94..98 => self.ask_nonsense(at),
            _ => self.leave(at),
        }
    }

    fn join(&mut self) {
        let session = self.open();
        let call = FederationCall::JoinFederationExecution {
            federate_type: "random".into(),
            federation_name: "Yard".into(),
        };
        let Ok(Reply::Joined(joined)) = self.call(session, call) else {
            panic!("every federate can join")
        };
        self.peers.push(Peer::new(session, joined.federate));
        // Most federates take part in time and subscribe to each other from the start, so that every message matters.
        if !self.one_in(4) {
            self.take_part(self.peers.len() - 1);
        }
    }

    fn take_part(&mut self, at: usize) {
        let session = self.peers[at].fed.session;
        for interaction_class in self.interactions.clone() {
            self.call(session, DeclarationCall::PublishInteractionClass { interaction_class })
                .unwrap();
            self.call(session, DeclarationCall::SubscribeInteractionClass { interaction_class })
                .unwrap();
            self.peers[at].interactions.insert(interaction_class);
        }
        let lookahead = self.below(3) as i64;
        let encoded = interval(lookahead).into();
        self.call(session, TimeCall::EnableTimeConstrained).unwrap();
        self.peers[at].pending = true;
        self.drain();
        if self.call(session, TimeCall::EnableTimeRegulation { lookahead: encoded }).is_ok() {
            self.peers[at].lookahead = Some(lookahead);
            self.peers[at].enabling = true;
        }
    }

    fn leave(&mut self, at: usize) {
        if self.one_in(2) {
            return self.lose(at);
        }
        let session = self.peers[at].fed.session;
        let resign_action = Some(self.pick(ResignAction::ALL));
        let resign = FederationCall::ResignFederationExecution { resign_action };
        self.calls += 1;
        self.resigning.insert(session);
        let answer = self.input(Input::Called(session, CallId(self.calls), resign.into()));
        assert!(answer.is_none(), "its answer is taken elsewhere");
        self.remove_resigned();
        assert!(!self.resigning.contains(&session) || self.kernel.is_busy(session));
    }

    fn lose(&mut self, at: usize) {
        let peer = self.peers.remove(at);
        self.resigning.remove(&peer.fed.session);
        let session = peer.fed.session;
        let dismissed = || Input::Dismissed(session, "it is Monday".into());
        self.input(if self.calls.is_multiple_of(2) { dismissed() } else { Input::Lost(session) });
        self.forget_peer(peer.fed.handle);
    }

    /// Removes the peers that have resigned.
    fn remove_resigned(&mut self) {
        for session in std::mem::take(&mut self.resigned) {
            self.resigning.remove(&session);
            let at = self.peers.iter().position(|peer| peer.fed.session == session);
            let peer = self.peers.remove(at.expect("it has resigned"));
            self.forget_peer(peer.fed.handle);
        }
    }

    fn forget_peer(&mut self, handle: FederateHandle) {
        for sent in self.messages.values_mut() {
            sent.missing.remove(&handle);
            sent.undecided.remove(&handle);
            sent.to_undo.remove(&handle);
        }
    }

    pub(super) fn attributes(&mut self, class: ObjectClassHandle) -> Vec<AttributeHandle> {
        let all = self.model.object_class(class).unwrap().attributes.clone();
        let some: Vec<AttributeHandle> = all.into_iter().filter(|_| self.one_in(2)).collect();
        some
    }

    fn declare(&mut self, at: usize) {
        let session = self.peers[at].fed.session;
        let classes = self.classes.clone();
        let object_class = self.pick(&classes);
        let interactions = self.interactions.clone();
        let interaction_class = self.pick(&interactions);
        let attributes = self.attributes(object_class);
        match self.below(6) {
            0 | 1 => {
                let published = &mut self.peers[at].published;
                if !attributes.is_empty() {
                    let set = published.entry(object_class).or_default();
                    set.extend(attributes.iter().copied().chain([self.privilege]));
                }
                let call =
                    DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
                self.call(session, call).unwrap();
                self.call(session, DeclarationCall::PublishInteractionClass { interaction_class })
                    .unwrap();
            }
            2 => {
                let wanted = attributes.iter().map(|one| one.number()).collect::<BTreeSet<u32>>();
                let call =
                    DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
                self.call(session, call).unwrap();
                if !wanted.is_empty() {
                    self.peers[at].classes.entry(object_class).or_default().extend(wanted);
                    self.peers[at].wants_more = true;
                }
            }
            3 => {
                let call = DeclarationCall::SubscribeInteractionClass { interaction_class };
                self.call(session, call).unwrap();
                self.peers[at].interactions.insert(interaction_class);
                self.peers[at].wants_more = true;
            }
            4 => {
                let call = DeclarationCall::UnsubscribeInteractionClass { interaction_class };
                self.call(session, call).unwrap();
                self.peers[at].interactions.remove(&interaction_class);
            }
            _ => {
                self.call(session, DeclarationCall::UnsubscribeObjectClass { object_class })
                    .unwrap();
                self.peers[at].classes.remove(&object_class);
                self.unpublish(at, object_class, attributes);
            }
        }
    }

    fn unpublish(
        &mut self,
        at: usize,
        object_class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) {
        let call = DeclarationCall::UnpublishObjectClassAttributes {
            object_class,
            attributes: attributes.clone(),
        };
        match self.call(self.peers[at].fed.session, call) {
            Ok(_) => {}
            Err(Exception::OwnershipAcquisitionPending) => return,
            Err(other) => panic!("{other:?}"),
        }
        let privilege = self.privilege;
        let Peer { published, owned, known, own, .. } = &mut self.peers[at];
        let Some(set) = published.get_mut(&object_class) else { return };
        set.retain(|one| !attributes.contains(one));
        if set.iter().all(|one| *one == privilege) {
            published.remove(&object_class);
        }
        owned.retain(|(instance, attribute)| {
            let class = known[instance];
            published.get(&class).is_some_and(|set| set.contains(attribute))
        });
        own.keep(owned);
    }

    /// A federate divests attributes, or seeks some.
    fn negotiate(&mut self, at: usize) {
        use OwnershipCall as C;
        let Some(object_instance) = self.known(at) else { return };
        let session = self.peers[at].fed.session;
        let class = self.peers[at].known[&object_instance];
        let of_class = self.attributes(class);
        let mine: Vec<AttributeHandle> = self.peers[at]
            .owned
            .iter()
            .filter(|(instance, one)| *instance == object_instance && of_class.contains(one))
            .map(|(_, one)| *one)
            .collect();
        let published = self.peers[at].published.get(&class).cloned().unwrap_or_default();
        let others = of_class.iter().filter(|one| !mine.contains(one) && published.contains(one));
        let others: Vec<AttributeHandle> = others.copied().collect();
        let user_supplied_tag = Data::new();
        let (call, gives) = match self.below(12) {
            0 => {
                let attributes = mine.clone();
                let call = C::UnconditionalAttributeOwnershipDivestiture {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                };
                (call, true)
            }
            1 | 2 => {
                let attributes = mine.clone();
                let call = C::NegotiatedAttributeOwnershipDivestiture {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                };
                (call, false)
            }
            3 | 4 => {
                let confirmed_attributes = mine.clone();
                let call = C::ConfirmDivestiture {
                    object_instance,
                    confirmed_attributes,
                    user_supplied_tag,
                };
                (call, true)
            }
            5 => {
                let attributes = mine.clone();
                let call = C::AttributeOwnershipDivestitureIfWanted {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                };
                (call, true)
            }
            6 => {
                let attributes = mine.clone();
                let call = C::AttributeOwnershipReleaseDenied {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                };
                (call, false)
            }
            7 => {
                let attributes = mine.clone();
                let call = C::CancelNegotiatedAttributeOwnershipDivestiture {
                    object_instance,
                    attributes,
                };
                (call, false)
            }
            8 => {
                let attributes = others;
                (C::CancelAttributeOwnershipAcquisition { object_instance, attributes }, false)
            }
            9 => {
                let desired_attributes = others;
                let call = C::AttributeOwnershipAcquisitionIfAvailable {
                    object_instance,
                    desired_attributes,
                    user_supplied_tag,
                };
                (call, false)
            }
            _ => {
                let desired_attributes = others;
                let call = C::AttributeOwnershipAcquisition {
                    object_instance,
                    desired_attributes,
                    user_supplied_tag,
                };
                (call, false)
            }
        };
        let given = match self.call(session, call) {
            Ok(Reply::Attributes(divested)) => divested,
            Ok(_) if gives => mine,
            Ok(_) => Vec::new(),
            Err(Exception::AttributeNotOwned | Exception::FederateOwnsAttributes) => {
                panic!("it knows what it owns")
            }
            Err(_) => Vec::new(),
        };
        for attribute in given {
            assert!(self.peers[at].owned.remove(&(object_instance, attribute)));
        }
        let Peer { own, owned, .. } = &mut self.peers[at];
        own.keep(owned);
    }

    fn register(&mut self, at: usize) {
        let classes = self.classes.clone();
        let object_class = self.pick(&classes);
        let call = ObjectCall::RegisterObjectInstance { object_class };
        if let Ok(Reply::ObjectInstance(instance)) = self.call(self.peers[at].fed.session, call) {
            let peer = &mut self.peers[at];
            peer.known.insert(instance, object_class);
            self.registered.insert(instance, object_class);
            let published = peer.published[&object_class].iter();
            peer.owned.extend(published.map(|attribute| (instance, *attribute)));
        }
    }

    /// Returns a time stamp, which is usually allowed, or none.
    pub(super) fn stamp(&mut self, at: usize) -> Option<i64> {
        if self.one_in(3) {
            return None;
        }
        let peer = &self.peers[at];
        let base = peer.advance.map_or(peer.time, |asked| asked.until);
        let least = base + peer.lookahead.unwrap_or(0);
        Some((least + self.below(6) as i64 - 1).max(0))
    }

    pub(super) fn tag(&mut self) -> Data {
        self.next_message += 1;
        self.next_message.to_be_bytes().to_vec().into()
    }

    /// Records a message that was sent, and the federates that must receive its parts.
    fn sent(
        &mut self,
        at: usize,
        stamp: Option<i64>,
        subject: Option<ObjectInstanceHandle>,
        reply: &Reply,
        ordering: BTreeSet<u32>,
        wanted: impl Fn(&Peer) -> BTreeSet<u32>,
    ) {
        let retraction = match reply {
            Reply::Retraction(retraction) => *retraction,
            _ => None,
        };
        let others = self.peers.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<&Peer> = others.map(|(_, peer)| peer).collect();
        let missing = others.iter().map(|peer| (peer.fed.handle, wanted(peer)));
        let missing: BTreeMap<FederateHandle, BTreeSet<u32>> =
            missing.filter(|(_, parts)| !parts.is_empty()).collect();
        let constrained = others.iter().filter(|peer| peer.constrained);
        let busy = others.iter().filter(|peer| self.kernel.is_busy(peer.fed.session));
        let amid_jobs: BTreeSet<FederateHandle> = busy.map(|peer| peer.fed.handle).collect();
        let sent = Sent {
            sender: self.peers[at].fed.handle,
            stamp,
            retraction,
            retracted: false,
            subject,
            deletes: None,
            owned: BTreeSet::new(),
            missing,
            undecided: BTreeMap::new(),
            wanted_then: BTreeMap::new(),
            classes: Vec::new(),
            extents: BTreeMap::new(),
            ordering: if retraction.is_some() { ordering } else { BTreeSet::new() },
            constrained: constrained.map(|peer| peer.fed.handle).collect(),
            reached: BTreeSet::new(),
            to_undo: BTreeSet::new(),
            was_amid_jobs: amid_jobs.clone(),
            amid_jobs,
        };
        self.messages.insert(self.next_message, sent);
    }

    /// If subscriptions are evaluated at delivery, the parts that these federates want of the queued last message are
    /// still open.
    fn delay(
        &mut self,
        at: usize,
        extents: BTreeMap<u32, Extent>,
        classes: &[InteractionClassHandle],
    ) {
        let sent = self.messages.get_mut(&self.next_message).unwrap();
        sent.classes = classes.to_vec();
        sent.extents = extents;
        if !self.delays {
            return;
        }
        let parts: Vec<u32> = sent.extents.keys().copied().collect();
        for (_, peer) in self.peers.iter().enumerate().filter(|(other, _)| *other != at) {
            let handle = peer.fed.handle;
            let is_amid = sent.amid_jobs.contains(&handle);
            let waits = |part: &u32| {
                is_amid
                    || if sent.ordering.contains(part) { peer.constrained } else { peer.holds() }
            };
            let waiting: BTreeSet<u32> = parts.iter().copied().filter(waits).collect();
            if waiting.is_empty() {
                continue;
            }
            let missing = sent.missing.entry(handle).or_default();
            sent.wanted_then.insert(handle, missing.clone());
            missing.extend(&waiting);
            sent.undecided.insert(handle, waiting);
        }
    }

    /// Records that all messages queued for a federate could be delivered, or all in receive order.
    fn released(&mut self, at: usize, all: bool) {
        self.drain();
        if self.kernel.is_busy(self.peers[at].fed.session) {
            self.peers[at].releasing = Some(all);
            return;
        }
        self.peers[at]
            .decide(&mut self.messages, false, |one, part| all || !one.ordering.contains(&part));
    }

    pub(super) fn known(&mut self, at: usize) -> Option<ObjectInstanceHandle> {
        let known: Vec<ObjectInstanceHandle> = self.peers[at].known.keys().copied().collect();
        if known.is_empty() { None } else { Some(self.pick(&known)) }
    }

    fn update(&mut self, at: usize) {
        let Some(instance) = self.known(at) else { return };
        let class = self.peers[at].known[&instance];
        let attributes = self.attributes(class);
        let stamp = self.stamp(at);
        let tag = self.tag();
        // Where services are reported, some values have long texts.
        let is_long = self.manager.is_some() && self.next_message.is_multiple_of(8);
        let value = Data::from(vec![7; if is_long { 20_000 } else { 5 }]);
        let value = |one: &AttributeHandle| (*one, value.clone());
        let attribute_values = attributes.iter().map(value).collect();
        let call = match stamp {
            None => ObjectCall::UpdateAttributeValues {
                object_instance: instance,
                attribute_values,
                user_supplied_tag: tag,
            },
            Some(stamp) => ObjectCall::UpdateAttributeValuesWithTime {
                object_instance: instance,
                attribute_values,
                user_supplied_tag: tag,
                time: time(stamp).into(),
            },
        };
        let answer = self.call(self.peers[at].fed.session, call);
        let owns = |one: &AttributeHandle| self.peers[at].owned.contains(&(instance, *one));
        let owns_all = attributes.iter().all(owns);
        assert_eq!(answer == Err(Exception::AttributeNotOwned), !owns_all, "it knows what it owns");
        let Ok(reply) = answer else { return };
        let ordered = |one: &&AttributeHandle| {
            self.model.attribute(**one).unwrap().order == OrderType::TimeStamp
        };
        let ordering = attributes.iter().filter(ordered).map(|one| one.number()).collect();
        let own = &self.peers[at].own;
        let extents = attributes.iter().map(|one| (one.number(), own.extent(instance, *one)));
        let extents: BTreeMap<u32, Extent> = extents.collect();
        let rediscovered = self.rediscovered(at, instance, &extents);
        self.sent(at, stamp, Some(instance), &reply, ordering, |peer| {
            let class = peer.known.get(&instance);
            let class = class.or_else(|| rediscovered.get(&peer.fed.session));
            class.map(|class| peer.receives(*class, &extents)).unwrap_or_default()
        });
        self.delay(at, extents, &[]);
    }

    fn send(&mut self, at: usize) {
        let interactions = self.interactions.clone();
        let interaction_class = self.pick(&interactions);
        let stamp = self.stamp(at);
        let tag = self.tag();
        let (parameter_values, user_supplied_tag) = (Vec::new(), tag);
        let call = match stamp {
            None => ObjectCall::SendInteraction {
                interaction_class,
                parameter_values,
                user_supplied_tag,
            },
            Some(stamp) => ObjectCall::SendInteractionWithTime {
                interaction_class,
                parameter_values,
                user_supplied_tag,
                time: time(stamp).into(),
            },
        };
        let Ok(reply) = self.call(self.peers[at].fed.session, call) else { return };
        self.sent_interaction(at, stamp, &reply, interaction_class, None);
    }

    /// Records an interaction that was sent with these regions.
    pub(super) fn sent_interaction(
        &mut self,
        at: usize,
        stamp: Option<i64>,
        reply: &Reply,
        interaction_class: InteractionClassHandle,
        extent: Extent,
    ) {
        let classes = [interaction_class, self.interactions[0]];
        self.sent(at, stamp, None, reply, BTreeSet::from([WHOLE]), |peer| {
            peer.receives_interaction(&classes, &extent)
        });
        self.delay(at, BTreeMap::from([(WHOLE, extent)]), &classes);
    }

    fn delete(&mut self, at: usize) {
        let Some(instance) = self.known(at) else { return };
        let stamp = self.stamp(at);
        let user_supplied_tag = self.tag();
        let call = match stamp {
            None => {
                ObjectCall::DeleteObjectInstance { object_instance: instance, user_supplied_tag }
            }
            Some(stamp) => ObjectCall::DeleteObjectInstanceWithTime {
                object_instance: instance,
                user_supplied_tag,
                time: time(stamp).into(),
            },
        };
        let Ok(reply) = self.call(self.peers[at].fed.session, call) else { return };
        let peer = &mut self.peers[at];
        let class = peer.known[&instance];
        let owned = peer.owned.iter().filter(|(other, _)| *other == instance);
        let owned: BTreeSet<AttributeHandle> = owned.map(|(_, attribute)| *attribute).collect();
        assert!(owned.contains(&self.privilege), "only who may deletes");
        peer.forget(instance, &mut self.messages);
        self.sent(at, stamp, Some(instance), &reply, BTreeSet::from([WHOLE]), |peer| {
            let knows = peer.known.contains_key(&instance);
            if knows { BTreeSet::from([WHOLE]) } else { BTreeSet::new() }
        });
        let sent = self.messages.get_mut(&self.next_message).unwrap();
        (sent.deletes, sent.owned) = (Some(class), owned);
    }

    fn forget(&mut self, at: usize) {
        let Some(instance) = self.known(at) else { return };
        let call = ObjectCall::LocalDeleteObjectInstance { object_instance: instance };
        if self.call(self.peers[at].fed.session, call).is_ok() {
            self.peers[at].forget(instance, &mut self.messages);
            self.forgotten.insert((self.peers[at].fed.handle, instance));
        }
    }

    fn change_time(&mut self, at: usize) {
        let session = self.peers[at].fed.session;
        let lookahead = self.below(4) as i64;
        let encoded = interval(lookahead).into();
        match self.below(10) {
            0..3 => {
                if self.call(session, TimeCall::EnableTimeRegulation { lookahead: encoded }).is_ok()
                {
                    self.peers[at].lookahead = Some(lookahead);
                    self.peers[at].enabling = true;
                }
            }
            3..6 => {
                if self.call(session, TimeCall::EnableTimeConstrained).is_ok() {
                    self.peers[at].pending = true;
                }
            }
            6 => {
                if self.call(session, TimeCall::DisableTimeRegulation).is_ok() {
                    self.peers[at].lookahead = None;
                }
            }
            7 => {
                if self.call(session, TimeCall::DisableTimeConstrained).is_ok() {
                    self.peers[at].constrained = false;
                    self.released(at, true);
                }
            }
            8 => {
                if self.call(session, TimeCall::ModifyLookahead { lookahead: encoded }).is_ok() {
                    self.peers[at].lookahead = Some(lookahead);
                }
            }
            _ => {
                let on = !self.peers[at].asynchronous;
                let call = if on {
                    TimeCall::EnableAsynchronousDelivery
                } else {
                    TimeCall::DisableAsynchronousDelivery
                };
                self.call(session, call).unwrap();
                self.peers[at].asynchronous = on;
                if on {
                    self.released(at, false);
                }
            }
        }
    }

    fn advance(&mut self, at: usize) {
        let service =
            self.pick(&[Asks::Tar, Asks::Tar, Asks::Tara, Asks::Nmr, Asks::Nmra, Asks::Fqr]);
        let until = self.peers[at].time + self.below(5) as i64;
        self.ask(at, Asked { service, until });
    }

    fn ask(&mut self, at: usize, asked: Asked) -> bool {
        let time = time(asked.until).into();
        let call = match asked.service {
            Asks::Tar => TimeCall::TimeAdvanceRequest { time },
            Asks::Tara => TimeCall::TimeAdvanceRequestAvailable { time },
            Asks::Nmr => TimeCall::NextMessageRequest { time },
            Asks::Nmra => TimeCall::NextMessageRequestAvailable { time },
            Asks::Fqr => TimeCall::FlushQueueRequest { time },
        };
        let peer = &self.peers[at];
        let free = peer.advance.is_none() && !peer.pending;
        let answer = self.call(self.peers[at].fed.session, call);
        assert_eq!(answer.is_ok(), free);
        if free {
            self.peers[at].advance = Some(asked);
            self.peers[at].wants_more = false;
            self.peers[at].had_jobs = false;
            let me = self.peers[at].fed.handle;
            for sent in self.messages.values_mut() {
                sent.amid_jobs.remove(&me);
            }
            self.released(at, false);
        }
        free
    }

    fn retract(&mut self, at: usize) {
        let me = self.peers[at].fed.handle;
        let mine = |one: &&Sent| one.sender == me && one.retraction.is_some();
        let mine: Vec<MessageRetractionHandle> =
            self.messages.values().filter(mine).filter_map(|one| one.retraction).collect();
        if mine.is_empty() {
            return;
        }
        let retraction = self.pick(&mine);
        if self.call(self.peers[at].fed.session, TimeCall::Retract { retraction }).is_err() {
            return;
        }
        let sent =
            self.messages.values_mut().find(|one| one.retraction == Some(retraction)).unwrap();
        assert!(!sent.retracted, "taken back twice");
        sent.retracted = true;
        let joined: BTreeSet<FederateHandle> =
            self.peers.iter().map(|peer| peer.fed.handle).collect();
        sent.to_undo = sent.reached.intersection(&joined).copied().collect();
        for parts in sent.missing.values_mut().chain(sent.undecided.values_mut()) {
            parts.retain(|part| !sent.ordering.contains(part));
        }
        if let (Some(instance), Some(class)) = (sent.subject, sent.deletes) {
            let peer = &mut self.peers[at];
            peer.known.insert(instance, class);
            peer.wants_more = true;
            let published = peer.published.get(&class).cloned().unwrap_or_default();
            let back = sent.owned.intersection(&published);
            peer.owned.extend(back.map(|attribute| (instance, *attribute)));
        }
    }

    fn synchronize(&mut self, at: usize) {
        let session = self.peers[at].fed.session;
        let announced: Vec<String> = self.peers[at].synchronized.iter().cloned().collect();
        if announced.is_empty() || self.one_in(3) {
            self.next_message += 1;
            let set = if self.one_in(2) {
                Vec::new()
            } else {
                self.peers.iter().map(|peer| peer.fed.handle).step_by(2).collect()
            };
            let call = FederationCall::RegisterFederationSynchronizationPointWithSet {
                synchronization_point_label: format!("point {}", self.next_message),
                user_supplied_tag: Data::new(),
                synchronization_set: set,
            };
            self.call(session, call).unwrap();
        } else {
            let label = announced[self.below(announced.len() as u64) as usize].clone();
            self.achieve(at, label);
        }
    }

    fn achieve(&mut self, at: usize, synchronization_point_label: String) {
        let call = FederationCall::SynchronizationPointAchieved {
            synchronization_point_label,
            successfully: true,
        };
        // It may have achieved it before.
        let _ = self.call(self.peers[at].fed.session, call);
    }

    /// Makes calls with meaningless handles: each has a reply and changes nothing.
    fn ask_nonsense(&mut self, at: usize) {
        let number = self.random.bits();
        let small = number as u32;
        let calls: [Call; 8] = [
            TimeCall::Retract { retraction: MessageRetractionHandle::new(number) }.into(),
            TimeCall::TimeAdvanceRequest { time: hemiola_hla::EncodedTime::new(b"nonsense!") }
                .into(),
            ObjectCall::UpdateAttributeValues {
                object_instance: ObjectInstanceHandle::new(number),
                attribute_values: vec![(AttributeHandle::new(small), Data::new())],
                user_supplied_tag: Data::new(),
            }
            .into(),
            ObjectCall::SendInteraction {
                interaction_class: InteractionClassHandle::new(small),
                parameter_values: vec![(ParameterHandle::new(small), Data::new())],
                user_supplied_tag: Data::new(),
            }
            .into(),
            SupportCall::GetFederateName { federate: FederateHandle::new(small) }.into(),
            FederationCall::FederateSaveComplete.into(),
            DeclarationCall::PublishObjectClassAttributes {
                object_class: ObjectClassHandle::new(small),
                attributes: vec![AttributeHandle::new(small)],
            }
            .into(),
            FederationCall::JoinFederationExecution {
                federate_type: String::new(),
                federation_name: "Yard".into(),
            }
            .into(),
        ];
        let call = calls[self.below(8) as usize].clone();
        assert!(self.call(self.peers[at].fed.session, call).is_err());
    }

    // The end.

    /// All federates request the end of time and must be granted it, with every message delivered on the way.
    pub(super) fn end(&mut self) {
        self.work_off();
        self.drain();
        loop {
            let mut moved = false;
            self.achieve_as_manager();
            for at in 0..self.peers.len() {
                self.work_off();
                self.drain();
                let peer = &self.peers[at];
                if peer.time < END && peer.advance.is_none() && !peer.pending {
                    moved |= self.ask(at, Asked { service: Asks::Tar, until: END });
                    self.drain();
                }
                for label in self.peers[at].synchronized.clone() {
                    self.achieve(at, label);
                    self.drain();
                }
            }
            self.work_off();
            self.drain();
            if !moved {
                break;
            }
        }
        self.check_manager();
        for peer in &self.peers {
            self.gained += peer.gained;
            self.lost += peer.lost;
            assert_eq!((peer.time, peer.advance, peer.pending), (END, None, false), "{peer:?}");
            assert!(peer.synchronized.is_empty(), "{peer:?}");
        }
        for (number, sent) in &self.messages {
            assert!(sent.to_undo.is_empty(), "{number}: {sent:?}");
            // A deletion makes later messages about the instance obsolete, and when it takes effect is not reported.
            let missing = sent.missing.values().any(|parts| !parts.is_empty());
            assert!(!missing, "{number}: {sent:?}");
        }
    }
}
