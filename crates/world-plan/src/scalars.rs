//! How the scalars of a value come from those of a value of another type.

use hemiola_world_lang::definition::{ElementId, Type, Universe, Width};

/// Where a scalar comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarSource {
    /// The scalar of this number of the other value, perhaps as a wider number.
    Scalar(u32),
    /// Zero, false or the empty text: items beyond the former greatest length of a list.
    Zero,
}

/// The sources of the scalars of a value of the type `to`, in the order of
/// [`Universe::leaves`](hemiola_world_lang::definition::Universe::leaves); `None` if a value of the type `from` would
/// lose something.
///
/// Nothing is lost when a type stays the same, when numbers get wider (`integer` to `real`, `real32` to `real`), and
/// when texts and lists may be longer.
#[must_use]
pub fn scalars(from: (&Universe, &Type), to: (&Universe, &Type)) -> Option<Vec<ScalarSource>> {
    let mut walk = Walk { from: from.0, to: to.0, next: 0, found: Vec::new() };
    walk.value(from.1, to.1).then_some(walk.found)
}

struct Walk<'u> {
    from: &'u Universe,
    to: &'u Universe,
    /// The next scalar of the other value.
    next: u32,
    found: Vec<ScalarSource>,
}

impl Walk<'_> {
    /// Whether nothing is lost.
    fn value(&mut self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Array(of, length), Type::Array(to, same)) => {
                length == same && (0..*length).all(|_| self.value(of, to))
            }
            (Type::List(of, most), Type::List(to, more)) => {
                most <= more
                    && self.scalar()
                    && (0..*most).all(|_| self.value(of, to))
                    && self.zeros(to, more - most)
            }
            (Type::Element(from), Type::Element(to)) => self.row(*from, *to),
            _ => is_kept(from, to) && self.scalar(),
        }
    }

    fn scalar(&mut self) -> bool {
        self.found.push(ScalarSource::Scalar(self.next));
        self.next += 1;
        true
    }

    fn zeros(&mut self, ty: &Type, items: u32) -> bool {
        let count = self.to.size(ty).0 * u64::from(items);
        self.found.extend((0..count).map(|_| ScalarSource::Zero));
        true
    }

    /// A part is kept if its element has the same properties.
    fn row(&mut self, from: ElementId, to: ElementId) -> bool {
        let (from, to) = (&self.from.elements[from.index()], &self.to.elements[to.index()]);
        let mut pairs = from.properties.iter().zip(&to.properties);
        from.properties.len() == to.properties.len()
            && pairs.all(|(from, to)| from.name == to.name && self.value(&from.ty, &to.ty))
    }
}

fn is_kept(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Boolean, Type::Boolean) | (Type::Integer, Type::Integer) => true,
        (Type::Integer, Type::Real(Width::Double, dimension)) => dimension.si_unit().is_empty(),
        (Type::Real(width, from), Type::Real(to_width, to)) => from == to && width <= to_width,
        (Type::String(most), Type::String(more)) => most <= more,
        _ => false,
    }
}
