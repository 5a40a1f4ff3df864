//! One way to run a function of a text on rows, by code and by the tree walker.

use hemiola_units::Random;
use hemiola_world_code::{
    Block, Column, Machine, NearLists, Neighbour, Neighbours, Scalar, Search, Texts, compile,
    scalar_types, scalars_of, value_of,
};
use hemiola_world_lang::definition::{ElementId, FunctionId, FunctionKind, Type, Universe, Value};
use hemiola_world_lang::evaluate::{self, Body, Fault};
use hemiola_world_lang::{Sources, check, fuzzing, render};

/// The universe of a sound text, which leaves it out: `items` are its components.
#[track_caller]
pub(crate) fn universe(items: &str) -> Universe {
    let text = format!("universe u {{\n{items}\n}}");
    let sources = Sources::of("w.uml", &*text).unwrap();
    match check(&sources, None) {
        Ok(mut definition) => definition.universes.remove(0),
        Err(problems) => panic!("{text}\n{}", render(&problems, &sources)),
    }
}

/// All rows of a world, as columns.
pub(crate) struct Tables<'t> {
    universe: &'t Universe,
    /// By element.
    columns: Vec<Vec<Column>>,
    ids: Vec<Vec<u64>>,
    /// By element, in the order of ids.
    all: Vec<Vec<Neighbour>>,
}

impl<'t> Tables<'t> {
    /// The bodies as columns, and where each of them stands.
    pub(crate) fn of(
        universe: &'t Universe,
        bodies: &[Body],
        texts: &mut Texts,
    ) -> (Self, Vec<Neighbour>) {
        let elements: Vec<ElementId> = (0..universe.elements.len() as u32).map(ElementId).collect();
        let types = elements.iter().map(|id| scalar_types(universe, &Type::Element(*id)));
        let columns = types.map(|types| types.into_iter().map(Column::new).collect()).collect();
        let count = elements.len();
        let mut tables =
            Self { universe, columns, ids: vec![Vec::new(); count], all: vec![Vec::new(); count] };
        let places: Vec<Neighbour> = bodies.iter().map(|body| tables.add(body, texts)).collect();
        let mut order: Vec<(u64, Neighbour)> =
            bodies.iter().map(|body| body.id).zip(places.iter().copied()).collect();
        order.sort_by_key(|(id, _)| *id);
        for id in elements {
            let rows = order.iter().map(|(_, place)| *place);
            tables.all[id.index()] =
                rows.filter(|place| universe.is_a(place.element, id)).collect();
        }
        (tables, places)
    }

    fn add(&mut self, body: &Body, texts: &mut Texts) -> Neighbour {
        let scalars = scalars_of(self.universe, &Type::Element(body.element), &body.row, texts);
        let at = body.element.index();
        self.columns[at].iter_mut().zip(scalars).for_each(|(column, scalar)| column.push(scalar));
        self.ids[at].push(body.id);
        Neighbour { element: body.element, row: self.ids[at].len() as u32 - 1 }
    }

    pub(crate) fn row(&self, place: Neighbour, columns: &[Column], texts: &Texts) -> Value {
        let mut scalars = columns.iter().map(|column| column.get(place.row as usize));
        value_of(self.universe, &Type::Element(place.element), &mut scalars, texts)
    }

    fn position(&self, place: Neighbour) -> Vec<Scalar> {
        let element = &self.universe.elements[place.element.index()];
        let property = element.index.as_ref().unwrap().property as usize;
        let types = |ty: &Type| scalar_types(self.universe, ty).len();
        let start: usize = element.properties[..property].iter().map(|p| types(&p.ty)).sum();
        let count = types(&element.properties[property].ty);
        let columns = &self.columns[place.element.index()][start..start + count];
        columns.iter().map(|column| column.get(place.row as usize)).collect()
    }
}

impl Neighbours for Tables<'_> {
    fn column(&self, element: ElementId, column: u32) -> &Column {
        &self.columns[element.index()][column as usize]
    }

    fn all(&self, element: ElementId) -> &[Neighbour] {
        &self.all[element.index()]
    }

    fn near_each(&self, search: &Search<'_>, lists: &mut NearLists) {
        for (own, radius) in search.rows() {
            if let Some(radius) = radius {
                self.near(search.element, own, radius, search.at_most, &mut lists.items);
            }
            lists.end_row();
        }
    }
}

impl Tables<'_> {
    fn near(
        &self,
        element: ElementId,
        own: Neighbour,
        radius: f64,
        at_most: u32,
        found: &mut Vec<Neighbour>,
    ) {
        let here = self.position(own);
        let near = |place: &Neighbour| {
            let there = self.position(*place);
            let pairs = here.iter().zip(&there);
            match here[0] {
                Scalar::Single(_) => {
                    let squares = pairs.map(|(a, b)| {
                        let (Scalar::Single(a), Scalar::Single(b)) = (a, b) else { panic!() };
                        (b - a) * (b - a)
                    });
                    squares.reduce(|sum, square| sum + square)
                        <= Some(radius as f32 * radius as f32)
                }
                _ => {
                    let squares = pairs.map(|(a, b)| {
                        let (Scalar::Double(a), Scalar::Double(b)) = (a, b) else { panic!() };
                        (b - a) * (b - a)
                    });
                    squares.reduce(|sum, square| sum + square) <= Some(radius * radius)
                }
            }
        };
        let others = self.all[element.index()].iter().filter(|place| **place != own);
        found.extend(others.filter(|place| near(place)).take(at_most as usize));
    }
}

/// Result of one row.
type Outcome = Result<Value, Fault>;

/// Runs a function on all bodies of its element, and of those derived from it, by code in blocks of `block` rows, and
/// panics with `context` if the tree walker says otherwise. Returns the faults that occurred.
pub(crate) fn compare(
    universe: &Universe,
    id: FunctionId,
    bodies: &[Body],
    last_sent: &[Value],
    arguments: &[Value],
    block: usize,
    context: &str,
) -> Vec<Fault> {
    let function = &universe.functions[id.index()];
    let mut texts = Texts::default();
    let program = compile(universe, id, &mut texts).unwrap();
    let (tables, places) = Tables::of(universe, bodies, &mut texts);
    let parameters = &function.locals[..function.parameter_count as usize];
    let mut scalars = Vec::new();
    for (parameter, argument) in parameters.iter().zip(arguments) {
        scalars.extend(scalars_of(universe, &parameter.ty, argument, &mut texts));
    }
    let mut faults = Vec::new();
    let mut machine = Machine::default();
    for (at, before) in tables.columns.iter().enumerate() {
        let element = ElementId(at as u32);
        if !function.element.is_none_or(|own| universe.is_a(element, own)) {
            continue;
        }
        let own: Vec<usize> = (0..bodies.len()).filter(|b| bodies[*b].element == element).collect();
        let sent: Vec<Column> = sent_columns(universe, element, &own, last_sent, &mut texts);
        let sent: Vec<Column> =
            program.last_sent.iter().map(|column| sent[*column as usize].clone()).collect();
        let mut after = before.clone();
        for start in (0..own.len()).step_by(block) {
            let count = block.min(own.len() - start);
            let input = Block {
                own: before,
                start,
                count,
                arguments: &scalars,
                apart: &[],
                last_sent: &sent,
                neighbours: Some(&tables),
                element,
            };
            machine.run(&program, &input);
            machine.store(&program, &scalars, &mut after);
            for row in 0..count {
                let body = own[start + row];
                let found: Outcome = match machine.fault(row) {
                    Some(fault) => Err(fault),
                    None if function.result.is_none() => {
                        Ok(tables.row(places[body], &after, &texts))
                    }
                    None => {
                        let mut outputs = (0..program.outputs.len())
                            .map(|output| machine.scalar(&program, &input, output, row));
                        let ty = function.result.as_ref().unwrap();
                        Ok(value_of(universe, ty, &mut outputs, &texts).canonical())
                    }
                };
                let expected = walked(universe, id, bodies, body, last_sent, arguments);
                let same = match (&found, &expected) {
                    (Ok(one), Ok(two)) => one.same_bits(two),
                    _ => found == expected,
                };
                assert!(
                    same,
                    "{context}\n`{}` of row {body} {:?}\ncode: {found:?}\ntree: {expected:?}",
                    function.name, bodies[body]
                );
                if found.is_err() {
                    let kept = tables.row(places[body], &after, &texts);
                    assert!(kept.same_bits(&bodies[body].row), "a faulty row keeps its values");
                }
                faults.extend(found.err());
            }
        }
    }
    faults
}

fn sent_columns(
    universe: &Universe,
    element: ElementId,
    own: &[usize],
    last_sent: &[Value],
    texts: &mut Texts,
) -> Vec<Column> {
    let types = scalar_types(universe, &Type::Element(element));
    let mut columns: Vec<Column> = types.into_iter().map(Column::new).collect();
    for body in own {
        let scalars = scalars_of(universe, &Type::Element(element), &last_sent[*body], texts);
        columns.iter_mut().zip(scalars).for_each(|(column, scalar)| column.push(scalar));
    }
    columns
}

/// What the tree walker says.
fn walked(
    universe: &Universe,
    id: FunctionId,
    bodies: &[Body],
    own: usize,
    last_sent: &[Value],
    arguments: &[Value],
) -> Outcome {
    let row = &bodies[own].row;
    let arguments = arguments.to_vec();
    match universe.functions[id.index()].kind {
        FunctionKind::Function => {
            evaluate::call(universe, id, Some(row), arguments).map(Value::canonical)
        }
        FunctionKind::Update => evaluate::update(universe, id, bodies, own, arguments),
        FunctionKind::Predict => evaluate::predict(universe, id, row, arguments),
        FunctionKind::Constraint => {
            evaluate::constraint(universe, id, row, &last_sent[own], arguments).map(Value::Boolean)
        }
    }
}

/// A value of a type that finds mistakes.
pub(crate) fn nasty(universe: &Universe, ty: &Type, random: &mut Random) -> Value {
    fuzzing::value(universe, ty, &mut |most| random.below(most))
}

/// The components of a random universe.
pub(crate) fn program(random: &mut Random) -> String {
    fuzzing::program(&mut |most| random.below(most))
}
