//! The parameters and results that cross the border of the sandbox: up to eight numbers.

/// Parameters or results of a function: nothing, a number (`i32`, `i64`, `f32`, `f64`), or a tuple of up to eight.
pub trait Numbers {
    /// Their types in the words of WebAssembly.
    const TYPES: &'static [&'static str];
}

/// Writes the type of a function: `(f64, i32) -> f64`.
#[cfg(any(feature = "engine", test))]
pub(crate) fn signature(parameters: &[impl AsRef<str>], results: &[impl AsRef<str>]) -> String {
    let list = |types: &[&str]| match types {
        [one] => (*one).to_owned(),
        _ => format!("({})", types.join(", ")),
    };
    let results: Vec<&str> = results.iter().map(AsRef::as_ref).collect();
    let parameters: Vec<&str> = parameters.iter().map(AsRef::as_ref).collect();
    format!("({}) -> {}", parameters.join(", "), list(&results))
}

macro_rules! number {
    ($($type:ident)*) => {$(
        impl Numbers for $type {
            const TYPES: &'static [&'static str] = &[stringify!($type)];
        }
    )*};
}
number!(i32 i64 f32 f64);

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: Numbers),*> Numbers for ($($name,)*) {
            const TYPES: &'static [&'static str] = &[$($name::TYPES[0]),*];
        }
    };
}
tuple!();
tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_written_as_in_rust() {
        let of = |p, r| signature(p, r);
        assert_eq!(of(<(f64, i32)>::TYPES, f64::TYPES), "(f64, i32) -> f64");
        assert_eq!(of(<()>::TYPES, <()>::TYPES), "() -> ()");
    }
}
