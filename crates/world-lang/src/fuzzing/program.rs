//! Random programs that are sound by construction and use every construct, and random values.

use crate::definition::{Type, Universe, Value, Width};

/// A source of numbers: one below its argument, which is not 0.
pub type Below<'b> = dyn FnMut(u64) -> u64 + 'b;

/// Types of random expressions.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    Integer,
    Number,
    Metre,
    Single,
    Point,
    Text,
    List,
}
use Kind::{Boolean, Integer, List, Metre, Number, Point, Single, Text};

/// Each with its type and the property that has it.
const KINDS: [(Kind, &str, &str); 8] = [
    (Boolean, "boolean", "b"),
    (Integer, "integer", "i"),
    (Number, "real", "r"),
    (Metre, "real<m>", "m"),
    (Single, "real32", "s"),
    (Point, "real<m>[2]", "p"),
    (Text, "string<4>", "t"),
    (List, "integer[..3]", "l"),
];

/// Places within properties, by type.
const PARTS: [(Kind, &str); 8] = [
    (Metre, "p[1]"),
    (Metre, "p[#]"),
    (Integer, "l[#]"),
    (Integer, "parts[#].n"),
    (Metre, "parts[1].c[#]"),
    (Point, "parts[#].c"),
    (Metre, "parts[#].c[0]"),
    (Text, "parts[0].t"),
];

struct Writer<'w> {
    below: &'w mut Below<'w>,
    text: String,
    /// Functions so far, by their result.
    functions: Vec<(Kind, String)>,
    /// Variables in scope, by type.
    variables: Vec<(Kind, String)>,
    /// Rows in scope beside the own one.
    rows: Vec<String>,
    names: u32,
}

impl Writer<'_> {
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[(self.below)(items.len() as u64) as usize]
    }

    fn kind(&mut self) -> (Kind, &'static str, &'static str) {
        *self.pick(&KINDS)
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn expression(&mut self, kind: Kind, depth: u32) -> String {
        if depth == 0 || (self.below)(5) == 0 {
            return self.leaf(kind, depth);
        }
        let called: Vec<String> =
            self.functions.iter().filter(|f| f.0 == kind).map(|f| f.1.clone()).collect();
        if !called.is_empty() && (self.below)(5) == 0 {
            let name = self.pick(&called).clone();
            let row = self.row();
            return format!("{name}({}, {row})", self.expression(Number, depth - 1));
        }
        if (self.below)(6) == 0 {
            let condition = self.expression(Boolean, depth - 1);
            let (one, two) = (self.expression(kind, depth - 1), self.expression(kind, depth - 1));
            return format!("(if {condition} {{ {one} }} else {{ {two} }})");
        }
        self.operation(kind, depth - 1)
    }

    fn operation(&mut self, kind: Kind, depth: u32) -> String {
        let patterns: &[&str] = match kind {
            Boolean => &[
                "(@b and not @b or @b)",
                "(@m <= @m)",
                "(@i != @i)",
                "(@s > @s)",
                "(@b == @b)",
                "(@t == @t)",
                "inside(@p, @p, @p)",
                "(@r >= @r)",
            ],
            Integer => &[
                "(@i + @i)",
                "(@i - @i)",
                "(@i * @i)",
                "div(@i, @i)",
                "mod(@i, @i)",
                "integer(@r)",
                "abs(@i)",
                "(-@i)",
                "min(@i, @i)",
                "count(@l)",
                "integer(@s)",
                "max(@i, 3)",
            ],
            Number => &[
                "(@r - @r / @r)",
                "(@m / (@m + 1<m>))",
                "sqrt(abs(@r))",
                "floor(@r)",
                "ceil(@r)",
                "max(@r, @r)",
                "(@i + @r)",
                "real(@s)",
                "(@i / @i)",
                "clamp(@r, -1, 2)",
            ],
            Metre => &[
                "(@r * @m)",
                "distance(@p, @p)",
                "length(@p)",
                "@p[mod(@i, 2)]",
                "min(@m, @m)",
                "(-@m)",
            ],
            Single => &[
                "(@s * 0.5 + @s)",
                "clamp(@s, @s, 1)",
                "real32(@r)",
                "sqrt(@s)",
                "(@s / @s)",
                "abs(@s)",
            ],
            Point => &["(@p + @p)", "[@m, @m]", "(@r * @p)", "(-@p)", "(@p - @p)", "(@p / 3)"],
            Text => &["@t"],
            List => &["append(@l, @i)"],
        };
        let pattern = *self.pick(patterns);
        let mut parts = pattern.split('@');
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let kind = KINDS.iter().find(|(.., name)| part.starts_with(name)).unwrap().0;
            text += &self.expression(kind, depth);
            text += &part[1..];
        }
        text
    }

    /// The own row or another one in scope.
    fn row(&mut self) -> String {
        let mut rows = self.rows.clone();
        rows.push("self".into());
        self.pick(&rows).clone()
    }

    fn leaf(&mut self, kind: Kind, depth: u32) -> String {
        let literals: &[&str] = match kind {
            Boolean => &["true", "false"],
            Integer => &["0", "1", "7", "2147483647", "N"],
            Number => &["0", "1.5", "1e300", "-2", "WEIGHTS[1]"],
            Metre => &["0<m>", "3<m>", "2.5<km>", "-1<mm>"],
            Single => &["real32(0.1)", "real32(-3)"],
            Point => &["[0, 1<m>]", "[2<km>, -1<m>]"],
            Text => &["NONE", "A", "C"],
            List => &["self.l"],
        };
        let variables: Vec<String> =
            self.variables.iter().filter(|v| v.0 == kind).map(|v| v.1.clone()).collect();
        let parts: Vec<&str> = PARTS.iter().filter(|p| p.0 == kind).map(|p| p.1).collect();
        match (self.below)(5) {
            0 => (*self.pick(literals)).to_owned(),
            1 | 2 if !variables.is_empty() => self.pick(&variables).clone(),
            3 if !parts.is_empty() && depth > 0 => {
                let part = *self.pick(&parts);
                let place = self.place(part, depth - 1);
                format!("{}.{place}", self.row())
            }
            _ => {
                let property = KINDS.iter().find(|(known, ..)| *known == kind).unwrap().2;
                format!("{}.{property}", self.row())
            }
        }
    }

    /// A place with its computed index, which is seldom outside.
    fn place(&mut self, part: &str, depth: u32) -> String {
        let index = match (self.below)(4) {
            0 => "0".to_owned(),
            // A sum is no constant, which would be checked with the text.
            1 => format!("0 + {}", self.expression(Integer, depth)),
            _ => format!("mod({}, 2)", self.expression(Integer, depth)),
        };
        part.replace('#', &index)
    }

    fn function(&mut self, at: usize) {
        let (kind, ty, _) = self.kind();
        let name = format!("f{at}");
        self.text += &format!("function {name}(x : real, o : e) : {ty} {{");
        self.variables = vec![(Number, "x".into())];
        self.rows = vec!["o".into()];
        let statements = (self.below)(3);
        self.statements(statements, 2, false);
        let value = self.expression(kind, 3);
        self.text += &format!("return {value}; }}\n");
        self.functions.push((kind, name));
    }

    fn statements(&mut self, count: u64, depth: u32, own: bool) {
        let scope = self.variables.len();
        for _ in 0..count {
            self.statement(depth, own);
        }
        self.variables.truncate(scope);
    }

    fn block(&mut self, depth: u32, own: bool) {
        self.text += "{ ";
        let count = (self.below)(3);
        self.statements(count, depth, own);
        self.text += "}\n";
    }

    fn statement(&mut self, depth: u32, own: bool) {
        let (kind, ty, property) = self.kind();
        match (self.below)(if depth == 0 { 5 } else { 9 }) {
            0 | 1 => {
                let (name, value) = (self.name(), self.expression(kind, 2));
                self.text += &format!("var {name} : {ty} = {value};\n");
                self.variables.push((kind, name));
            }
            2 if own => {
                // A list is written where its type is known only.
                let value = match kind {
                    List if (self.below)(2) == 0 => {
                        format!("[{}, 2]", self.expression(Integer, 2))
                    }
                    _ => self.expression(kind, 3),
                };
                self.text += &format!("{property} = {value};\n");
            }
            3 if own => {
                let (kind, part) = *self.pick(&PARTS);
                let (place, value) = (self.place(part, 1), self.expression(kind, 2));
                self.text += &format!("{place} = {value};\n");
            }
            2..=4 => {
                let variables: Vec<(Kind, String)> =
                    self.variables.iter().filter(|v| v.1.starts_with('v')).cloned().collect();
                if !variables.is_empty() {
                    let (kind, name) = self.pick(&variables).clone();
                    let value = self.expression(kind, 2);
                    self.text += &format!("{name} = {value};\n");
                }
            }
            5 | 6 => {
                let condition = self.expression(Boolean, 2);
                self.text += &format!("if {condition} ");
                self.block(depth - 1, own);
                self.text += "else ";
                self.block(depth - 1, own);
            }
            7 => {
                let over = *self.pick(&["l", "WEIGHTS", "p"]);
                self.names += 1;
                let name = format!("q{}", self.names);
                self.text += &format!("for each {name} in {over} ");
                let kind = match over {
                    "l" => Integer,
                    "p" => Metre,
                    _ => Number,
                };
                self.variables.push((kind, name));
                self.block(depth - 1, own);
                self.variables.pop();
            }
            _ => self.rows(depth, own),
        }
    }

    fn rows(&mut self, depth: u32, own: bool) {
        if !own {
            return;
        }
        self.names += 1;
        let name = format!("o{}", self.names);
        let radius = self.expression(Metre, 1);
        let within = *self.pick(&["", " within 2<m>", " within 0<m> + #"]);
        let within = within.replace('#', &radius);
        let most = 1 + (self.below)(4);
        self.text += &format!("for each {name} in e{within} at most {most} ");
        self.rows.push(name);
        self.block(depth - 1, own);
        self.rows.pop();
    }
}

/// The components of a universe with the elements `e` and `d`, which is derived from it, and `part`, which both have.
/// The same numbers give the same text.
pub fn program<'b>(below: &'b mut Below<'b>) -> String {
    let mut writer = Writer {
        below,
        text: String::new(),
        functions: Vec::new(),
        variables: Vec::new(),
        rows: Vec::new(),
        names: 0,
    };
    writer.text += "constant N = 2; constant WEIGHTS : real[3] = [1, 0.5, -2];\n";
    for (name, text) in [("NONE", ""), ("A", "a"), ("C", "c")] {
        writer.text += &format!("constant {name} : string<4> = \"{text}\";\n");
    }
    writer.text +=
        "element part { property n : integer; property c : real<m>[2]; property t : string<4>; }\n";
    writer.text += "element e {\n";
    for (_, ty, name) in KINDS {
        let indexed = if name == "p" { " indexed by 2<m>" } else { "" };
        writer.text += &format!("property {name} : {ty}{indexed};\n");
    }
    writer.text += "property parts : part[2];\n";
    for at in 0..(writer.below)(3) as usize {
        writer.function(at);
    }
    for head in ["update", "predict"] {
        writer.text += &format!("{head}(dt : real<s>) {{ let h = dt / 1<s>;\n");
        (writer.variables, writer.rows) = (vec![(Number, "h".into())], Vec::new());
        let count = 1 + (writer.below)(5);
        // Only an update sees other rows.
        let depth = if head == "update" { 3 } else { 0 };
        writer.statements(count, depth, true);
        writer.text += "}\n";
    }
    (writer.variables, writer.rows) = (vec![(Metre, "far".into())], vec!["last_sent".into()]);
    writer.functions.clear();
    let condition = writer.expression(Boolean, 4);
    writer.text += &format!("constraint k(far : real<m>) = {condition};\n");
    writer.text + "}\nelement d : e { r = 4; property more : real; }"
}

/// A value of a type that finds mistakes: limits, zeros of both signs, what is not a number.
pub fn value(universe: &Universe, ty: &Type, below: &mut Below<'_>) -> Value {
    const REALS: [f64; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.0,
        3.0,
        1e300,
        -1e-300,
        5e9,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    const INTEGERS: [i32; 8] = [0, 1, -1, 2, 3, 7, i32::MAX, i32::MIN];
    let real = if below(3) == 0 {
        below(1 << 32) as f64 / f64::from(1 << 29) - 4.0
    } else {
        REALS[below(12) as usize]
    };
    let mut items = |of: &Type, count: u64| {
        Value::Items((0..count).map(|_| value(universe, of, below)).collect())
    };
    match ty {
        Type::Boolean => Value::Boolean(below(2) == 0),
        Type::Integer => Value::Integer(INTEGERS[below(8) as usize]),
        Type::Real(Width::Single, _) => Value::Single(real as f32).canonical(),
        Type::Real(Width::Double, _) => Value::Double(real).canonical(),
        Type::String(_) => Value::String(["", "a", "b"][below(3) as usize].into()),
        Type::Array(of, length) => items(of, (*length).into()),
        Type::List(of, most) => {
            let count = below(u64::from(*most) + 1);
            Value::Items((0..count).map(|_| value(universe, of, below)).collect())
        }
        Type::Element(id) => {
            let properties = &universe.elements[id.index()].properties;
            Value::Row(properties.iter().map(|p| value(universe, &p.ty, below)).collect())
        }
    }
}
