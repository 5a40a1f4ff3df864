//! Requests at random to a world that runs, held against a world that is redefined directly.

use std::collections::VecDeque;
use std::sync::Arc;

use hemiola_units::{Random, Span};
use hemiola_world::{
    Change, ChangeError, Desk, Event, History, Order, Outcome, Redefinition, Reply, Request,
    Revision, RevisionError, Sampled, SliceRequest, Turn, WAITING_MAX, World,
};
use hemiola_world_lang::Sources;
use hemiola_world_lang::definition::ElementId;

use crate::redefinition::{random_row, texts};
use crate::simulation::universe;

fn sources(text: &str) -> Sources {
    Sources::of("u.uml", text).unwrap()
}

/// Replies of each kind: status, unsound, busy, same, not possible at once, tried, not possible for a row, redefined,
/// not redefined, returned, not returned, definition, sample.
type Happened = [u32; 13];

/// A world behind a desk, and one that is redefined directly.
struct Pair {
    desk: Desk,
    history: History,
    world: World,
    /// Orders that are not carried out, with the texts of a redefinition.
    orders: VecDeque<(Order, String)>,
    /// Outcomes that the desk has not heard of, and the number of a reply of their kind.
    outcomes: VecDeque<(Outcome, usize)>,
    direct: World,
    last: Option<Redefinition>,
    happened: Happened,
    /// The number of the definition that was told last.
    definition: u64,
}

impl Pair {
    fn new(text: &str) -> Self {
        let [world, direct] = [(); 2].map(|()| World::new(universe(text)).unwrap());
        Self {
            desk: Desk::new(Arc::clone(world.universe())),
            history: History::default(),
            world,
            orders: VecDeque::new(),
            outcomes: VecDeque::new(),
            direct,
            last: None,
            happened: Happened::default(),
            definition: 0,
        }
    }

    fn populate(&mut self, random: &mut Random) {
        let row = random_row(self.world.universe(), ElementId(0), random);
        for world in [&mut self.world, &mut self.direct] {
            world.submit(Change::Construct(ElementId(0), row.clone())).unwrap();
            world.apply(&mut |_| {});
        }
    }

    fn step(&mut self) {
        let [report, direct] = [&mut self.world, &mut self.direct]
            .map(|world| world.step(0.5, &mut |_| {}, &mut |_| {}));
        assert_eq!(report, direct);
    }

    fn change_waits(&self) -> bool {
        let is_change = |order: &Order| matches!(order, Order::Redefine { .. } | Order::RollBack);
        self.orders.iter().any(|(order, _)| is_change(order))
            || self.outcomes.iter().any(|(outcome, _)| matches!(outcome.event, Event::Changed(_)))
    }

    /// The number of the reply that a request must get at once, or none.
    fn expected(&self, request: &Request) -> Option<usize> {
        let (sources, applies) = match request {
            Request::Status | Request::Describe(_) | Request::Sample(_) => return None,
            _ if self.change_waits() => return Some(2),
            Request::RollBack => return None,
            Request::Manage(_) => return None,
            Request::Plan(sources) => (sources, false),
            Request::Apply(sources) => (sources, true),
        };
        match Revision::check(sources, self.direct.universe()) {
            Err(RevisionError::Problems(_)) => Some(1),
            Err(_) => Some(4),
            Ok(revision) if !revision.plan().forward.missing.is_empty() => Some(4),
            Ok(revision) => (applies && revision.plan().steps.is_empty()).then_some(3),
        }
    }

    fn ask(&mut self, request: Request) {
        let expected = self.expected(&request);
        let text = match &request {
            Request::Plan(sources) | Request::Apply(sources) => sources.files()[0].text.clone(),
            _ => String::new(),
        };
        match (self.desk.ask(request), expected) {
            (Turn::Order(order), None) => self.orders.push_back((order, text)),
            (Turn::Answer(Reply::Unsound(text)), Some(1)) => {
                assert!(text.contains("--> u.uml:"), "{text}");
                self.happened[1] += 1;
            }
            (Turn::Answer(Reply::Refused(_)), Some(number @ 2..=4)) => self.happened[number] += 1,
            (turn, expected) => panic!("{turn:?} {expected:?}"),
        }
    }

    /// Carries out the oldest order, and the same directly.
    fn carry_out(&mut self) {
        let Some((order, text)) = self.orders.pop_front() else { return };
        let revision = |world: &World| Revision::check(&sources(&text), world.universe()).unwrap();
        let number = match &order {
            Order::Status => 0,
            Order::Count(_) => 11,
            Order::Sample(_) => 12,
            Order::Try(_) => {
                let revision = revision(&self.direct);
                if self.direct.dry_run(&revision).is_ok() { 5 } else { 6 }
            }
            Order::Redefine { .. } => {
                let revision = revision(&self.direct);
                match self.direct.redefine(revision, &mut |_| {}) {
                    Ok(redefinition) => {
                        self.last = Some(redefinition);
                        7
                    }
                    Err(_) => 8,
                }
            }
            Order::RollBack => {
                let mut back = |last: &mut Redefinition| self.direct.roll_back(last, &mut |_| {});
                let is_back = self.last.as_mut().is_some_and(|last| back(last).is_ok());
                self.last.take_if(|_| is_back);
                if is_back { 9 } else { 10 }
            }
            Order::Enlist { .. } | Order::Dismiss(_) => unreachable!("nobody asks for a manager"),
        };
        let outcome = self.history.carry_out(&mut self.world, order, &mut |_| {});
        assert!(Arc::ptr_eq(&outcome.universe, self.world.universe()));
        if let Event::Changed(Err(error)) = &outcome.event
            && number == 10
        {
            assert_eq!(*error == ChangeError::NothingToReturnTo, self.last.is_none());
        }
        self.outcomes.push_back((outcome, number));
    }

    /// Tells the desk of the oldest outcome.
    fn tell(&mut self) {
        let Some((outcome, number)) = self.outcomes.pop_front() else { return };
        let expected = (outcome.step, self.world.len());
        match (self.desk.done(outcome, Span::ZERO), number) {
            (Reply::Status(step, status), 0) => {
                assert_eq!((step, status.entities), expected);
                let counts: usize = status.elements.iter().map(|(_, count)| count).sum();
                assert_eq!(counts, status.entities);
            }
            (Reply::Definition { definition, counts, .. }, 11) => {
                self.definition = definition;
                assert!(counts.iter().sum::<u64>() <= expected.1 as u64);
            }
            (Reply::Sampled(step, _, sampled), 12) => {
                assert!(step == expected.0 && sampled.rows <= expected.1 as u64);
            }
            (Reply::Redefined | Reply::Refused(_), 12) => {}
            (Reply::Done(_), 5 | 7 | 9) | (Reply::Refused(_), 6 | 8 | 10) => {}
            (reply, number) => panic!("{reply:?} {number}"),
        }
        self.happened[number] += 1;
    }

    fn compare(&self, place: &str) {
        assert_eq!(self.world.universe(), self.direct.universe(), "{place}");
        assert_eq!(self.world.steps(), self.direct.steps(), "{place}");
        let ids: Vec<_> = self.world.entities().collect();
        assert_eq!(ids, self.direct.entities().collect::<Vec<_>>(), "{place}");
        for id in ids {
            let [row, direct] = [&self.world, &self.direct].map(|world| world.row(id).unwrap());
            assert!(row.same_bits(&direct), "{place}: {row:?} {direct:?}");
        }
    }
}

fn request(definition: u64, texts: &[String], random: &mut Random) -> Request {
    let sources = sources(&texts[random.below(texts.len() as u64) as usize]);
    match random.below(8) {
        0 => Request::Status,
        6 => Request::Describe(ElementId(random.below(3) as u32)),
        7 => {
            let (element, columns) =
                (ElementId(random.below(3) as u32), vec![random.below(4) as u32]);
            let [first, count, stride] = [4, 9, 3].map(|bound| random.below(bound));
            let (count, stride) = (count as u32, stride as u32 + 1);
            let slice = SliceRequest { definition, element, columns, first, count, stride };
            Request::Sample(slice)
        }
        1 | 2 => Request::Plan(sources),
        3 | 4 => Request::Apply(sources),
        _ => Request::RollBack,
    }
}

fn simulate(seed: u64) -> Happened {
    let mut texts = texts();
    texts.push("universe u { element thing { property p : real = true; } }".to_owned());
    texts.push("universe other { element thing { property p : real; } }".to_owned());
    let mut random = Random::from_seed(seed);
    let mut pair = Pair::new(&texts[random.below(3) as usize]);
    (0..random.below(4)).for_each(|_| pair.populate(&mut random));
    for at in 0..80 {
        match random.below(5) {
            0 | 1 => pair.ask(request(pair.definition, &texts, &mut random)),
            2 => pair.carry_out(),
            3 => pair.tell(),
            _ => pair.step(),
        }
        pair.compare(&format!("seed {seed}, {at}"));
    }
    // Each request that still waits gets its reply in the end.
    while !pair.orders.is_empty() || !pair.outcomes.is_empty() {
        pair.carry_out();
        pair.tell();
    }
    pair.happened
}

#[test]
fn requests_at_random_do_what_direct_calls_do() {
    let mut happened = Happened::default();
    for seed in 0..300 {
        for (sum, count) in happened.iter_mut().zip(simulate(seed)) {
            *sum += count;
        }
    }
    assert!(happened.iter().all(|count| *count > 5), "{happened:?}");
}

/// Asks, carries out what follows, and returns the reply.
fn answer(desk: &mut Desk, history: &mut History, world: &mut World, request: Request) -> Reply {
    match desk.ask(request) {
        Turn::Answer(reply) => reply,
        Turn::Order(order) => {
            let outcome = history.carry_out(world, order, &mut |_| {});
            desk.done(outcome, Span::from_micros(3))
        }
    }
}

#[test]
fn replies_say_what_happened_and_what_to_do() {
    let text = |inner: &str| format!("universe u {{ element e {{ {inner} }} entity one : e; }}");
    let mut world = World::new(universe(&text("property n : integer = 3;"))).unwrap();
    let (mut desk, mut history) = (Desk::new(Arc::clone(world.universe())), History::default());
    let mut ask = |request| answer(&mut desk, &mut history, &mut world, request);
    let refused = |text: &str| Reply::Refused(text.to_owned());
    let done = |text: &str| Reply::Done(text.to_owned());
    assert_eq!(
        ask(Request::RollBack),
        refused(
            "there is no definition to return to: the universe was not redefined, or has returned already"
        )
    );
    let nothing = refused("the texts do not define the universe `u`, which runs");
    assert_eq!(ask(Request::Plan(Sources::default())), nothing);
    let share = text("property n : integer; property q : integer; converter q = div(1, n - 3);");
    assert_eq!(
        ask(Request::Apply(sources(&share))),
        refused("`e.q` of one has no value: an integer is divided by 0")
    );
    assert_eq!(
        ask(Request::Apply(sources(&text("property n : string;")))),
        refused(
            "it is not possible: `e.n` has no value: `integer` does not become `string<255>` by itself\n  write a \
             converter: converter n = …;"
        )
    );
    assert_eq!(
        ask(Request::Apply(sources(&text("property n : integer; update(x : integer) { n = x; }")))),
        refused(
            "`e.update` has other parameters than one `real<s>` or `real32<s>`, the length of the step; remove them"
        )
    );
    let more = text("property n : integer = 3; property more : real;");
    assert_eq!(
        ask(Request::Plan(sources(&more))),
        done(
            "universe u: 1 step\n  insert property e.more : real, with its default\npossible after step 0: no monitor \
             ends; the next step waited 3 µs"
        )
    );
    let redefined =
        done("after step 0: u.uml; entities: 1; no monitor ends; the next step waited 3 µs");
    assert_eq!(ask(Request::Apply(sources(&more))), redefined);
    assert_eq!(
        ask(Request::Apply(sources(&more))),
        refused("the universe has this definition already; nothing was done")
    );
    let Reply::Status(0, status) = ask(Request::Status) else { panic!("a status") };
    assert_eq!(status.elements, [("e".to_owned(), 1)]);
    assert_eq!(status.last.unwrap().no_way_back, None);
}

#[test]
fn requests_that_wait_are_bounded() {
    let world = World::new(universe("universe u { }")).unwrap();
    let mut desk = Desk::new(Arc::clone(world.universe()));
    for _ in 0..WAITING_MAX {
        assert!(matches!(desk.ask(Request::Status), Turn::Order(_)));
    }
    let Turn::Answer(Reply::Refused(text)) = desk.ask(Request::Status) else { panic!("refused") };
    assert!(text.contains("too many requests"), "{text}");
}

#[test]
fn a_sample_is_of_the_definition_that_its_request_names() {
    let text = |inner: &str| format!("universe u {{ element e {{ {inner} }} entity one : e; }}");
    let mut world = World::new(universe(&text("property n : integer = 3;"))).unwrap();
    let (mut desk, mut history) = (Desk::new(Arc::clone(world.universe())), History::default());
    let mut ask = |request| answer(&mut desk, &mut history, &mut world, request);
    let slice = |definition, column, count| {
        let (element, columns) = (ElementId(0), vec![column]);
        let slice = SliceRequest { definition, element, columns, first: 0, count, stride: 1 };
        Request::Sample(slice)
    };
    let sampled = |value| {
        let sampled = Sampled { rows: 1, chosen: 1, values: vec![value] };
        Reply::Sampled(0, Span::from_micros(3), sampled)
    };
    assert_eq!(ask(slice(0, 0, 5)), sampled(3.0));
    let Reply::Refused(text_of_large) = ask(slice(0, 0, u32::MAX)) else { panic!("refused") };
    assert!(text_of_large.contains("at most 8192 scalars"), "{text_of_large}");
    assert!(matches!(ask(slice(0, 1, 5)), Reply::Refused(_)));
    let more = text("property more : real = 2.5; property n : integer = 3;");
    assert!(matches!(ask(Request::Apply(sources(&more))), Reply::Done(_)));
    assert_eq!(ask(slice(0, 0, 5)), Reply::Redefined);
    assert_eq!(ask(slice(1, 0, 5)), sampled(2.5));
    let Reply::Definition { universe, definition, counts, .. } =
        ask(Request::Describe(ElementId(0)))
    else {
        panic!("a definition")
    };
    assert_eq!((definition, counts, universe.elements.len()), (1, vec![1], 1));
    assert!(matches!(ask(Request::RollBack), Reply::Done(_)));
    // The number of a definition is never used again, so no request meets columns that it does not mean.
    assert_eq!(ask(slice(1, 0, 5)), Reply::Redefined);
    assert_eq!(ask(slice(2, 0, 5)), sampled(3.0));
}
