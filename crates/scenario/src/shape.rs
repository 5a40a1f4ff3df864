//! Checks the shape of a document: known keys, values of the right type, size and unit.

use std::ops::Range;

use hemiola_units::{Bytes, CpuSet, Endpoint, Rate, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::schema::{Key, QUEUE_LEN_MAX, SHARE_MAX, Shape, Table};
use crate::section::{gain, number, whole};
use hemiola_diagnostic::{Problem, did_you_mean, nearest};

/// The longest name; names become parts of file names.
const NAME_LEN_MAX: usize = 64;

/// Adds all deviations of `table` from `schema` to `problems`; `at` is the place of missing keys.
pub(crate) fn check(
    table: &DeTable<'_>,
    schema: &Table,
    at: Range<usize>,
    problems: &mut Vec<Problem>,
) {
    let owner = owner(table, schema);
    let permits = |key: &Key, owner: &str| key.of.is_empty() || key.of.contains(&owner);
    for (word, item) in table.iter() {
        match schema.keys.iter().find(|key| key.word == word.get_ref().as_ref()) {
            Some(key) => {
                if let Some((by, owner)) = owner
                    && !permits(key, owner)
                {
                    let message = format!("the {by} \"{owner}\" has no key \"{}\"", key.word);
                    let hint = format!("it belongs to the {by} {}", key.of.join(" or "));
                    problems.push(Problem::new(word.span(), message).hint(hint));
                }
                check_value(key, word.span(), item, problems);
            }
            None => problems.push(unknown_key(word.get_ref(), word.span(), schema)),
        }
    }
    // A misspelt key is reported as unknown, not as missing too.
    let misspelt = |key: &Key| {
        table.keys().any(|word| {
            let word = word.get_ref().as_ref();
            let known = schema.keys.iter().any(|key| key.word == word);
            !known && nearest(word, schema.keys.iter().map(|key| key.word)) == Some(key.word)
        })
    };
    let missing = |key: &&Key| key.required && !table.contains_key(key.word) && !misspelt(key);
    for key in schema.keys.iter().filter(missing) {
        let noun = match owner {
            _ if key.of.is_empty() => schema.noun.to_owned(),
            Some((by, owner)) if permits(key, owner) => format!("the {by} \"{owner}\""),
            _ => continue,
        };
        let message = format!("{noun} needs \"{}\"", key.word);
        problems.push(Problem::new(at.clone(), message).hint(format!("{}: {}", key.word, key.doc)));
    }
}

/// The key whose word permits or forbids other keys, and its word if that is known.
fn owner<'d>(table: &'d DeTable<'_>, schema: &Table) -> Option<(&'static str, &'d str)> {
    let by = schema.by?;
    let word = table.get(by)?.get_ref().as_str()?;
    schema.keys.iter().any(|key| key.of.contains(&word)).then_some((by, word))
}

fn unknown_key(word: &str, at: Range<usize>, schema: &Table) -> Problem {
    let words = schema.keys.iter().map(|key| key.word);
    let hint = did_you_mean(word, words.clone())
        .unwrap_or_else(|| format!("choose from {}", words.collect::<Vec<_>>().join(", ")));
    let message = format!("{} has no key \"{}\"", schema.noun, word.escape_debug());
    Problem::new(at, message).label("unknown").hint(hint)
}

fn check_value(
    key: &Key,
    key_at: Range<usize>,
    item: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) {
    let (word, value, at) = (key.word, item.get_ref(), item.span());
    match &key.shape {
        Shape::One(inner) => match value.as_table() {
            Some(table) => check(table, inner, key_at, problems),
            None => problems.push(wrong_kind(word, "a table", value, at)),
        },
        Shape::Many(inner, max) => match value.as_array() {
            Some(array) => {
                for item in array.iter() {
                    match item.get_ref().as_table() {
                        Some(table) => check(table, inner, item.span(), problems),
                        None => {
                            let kind = "a table each";
                            problems.push(wrong_kind(word, kind, item.get_ref(), item.span()));
                        }
                    }
                }
                too_many(word, array.len(), *max, key_at, problems);
            }
            None => {
                let problem = wrong_kind(word, "an array of tables", value, key_at);
                problems
                    .push(problem.hint(format!("write the header with two brackets: [[{word}]]")));
            }
        },
        Shape::Named(inner, max) => match value.as_table() {
            Some(table) => {
                for (name, item) in table.iter() {
                    problems.extend(name_problem(name.get_ref(), name.span()));
                    match item.get_ref().as_table() {
                        Some(table) => check(table, inner, name.span(), problems),
                        None => {
                            problems.push(wrong_kind(
                                name.get_ref(),
                                "a table",
                                item.get_ref(),
                                item.span(),
                            ));
                        }
                    }
                }
                too_many(word, table.len(), *max, key_at, problems);
            }
            None => problems.push(wrong_kind(word, "a table of tables", value, at)),
        },
        Shape::NamedFormulas(max) => match value.as_table() {
            Some(table) => {
                for (name, item) in table.iter() {
                    problems.extend(name_problem(name.get_ref(), name.span()));
                    if !is_formula(item.get_ref()) {
                        let name = name.get_ref();
                        problems.push(wrong_kind(name, FORMULA, item.get_ref(), item.span()));
                    }
                }
                too_many(word, table.len(), *max, key_at, problems);
            }
            None => problems.push(wrong_kind(word, "a table of names and formulas", value, at)),
        },
        leaf => problems.extend(leaf_problem(word, leaf, value, at)),
    }
}

fn too_many(word: &str, count: usize, max: usize, at: Range<usize>, problems: &mut Vec<Problem>) {
    if count > max {
        problems.push(Problem::new(
            at,
            format!("{word} has {count} entries; at most {max} are allowed"),
        ));
    }
}

/// The problem of a value that is not a table.
fn leaf_problem(
    word: &str,
    shape: &Shape,
    value: &DeValue<'_>,
    at: Range<usize>,
) -> Option<Problem> {
    let wrong = |kind: &str| Some(wrong_kind(word, kind, value, at.clone()));
    let problem = |message: String| Some(Problem::new(at.clone(), message));
    let text = value.as_str();
    match shape {
        Shape::Text => text.is_none().then(|| wrong("a string"))?,
        Shape::Name => {
            text.map_or_else(|| wrong("a string"), |text| name_problem(text, at.clone()))
        }
        Shape::Numbers(max) => numbers_problem(word, value, *max, at),
        Shape::Rows(max) => match value.as_array() {
            Some(array) if (1..=*max).contains(&array.len()) => {
                array.iter().find_map(|row| numbers_problem(word, row.get_ref(), *max, row.span()))
            }
            Some(array) => {
                problem(format!("{word} has {} rows; it must have from 1 to {max}", array.len()))
            }
            None => wrong("an array of rows, such as [[0.0, 1.0], [-2.0, -0.5]]"),
        },
        Shape::Texts => (!is_texts(value)).then(|| wrong("an array of strings"))?,
        Shape::Word(words) => word_problem(words, word, value, at),
        Shape::Words(words) => list_problem(word, value, words.len(), at, |word, value, at| {
            word_problem(words, word, value, at)
        }),
        Shape::Boolean => value.as_bool().is_none().then(|| wrong("true or false"))?,
        Shape::Whole(min, max) => match whole(value) {
            Some(number) if (*min..=*max).contains(&number) => None,
            Some(number) => problem(format!("{word} is {number}; it must be from {min} to {max}")),
            None => wrong(&format!("a whole number from {min} to {max}")),
        },
        Shape::Number(min, max) => match number(value) {
            Some(number) if (*min..=*max).contains(&number) => None,
            Some(number) => problem(format!("{word} is {number}; it must be from {min} to {max}")),
            None => wrong(&format!("a number from {min} to {max}")),
        },
        Shape::Length | Shape::LengthOrZero => {
            let Some(text) = text else {
                return wrong("a length of time with its unit, such as \"20ms\"");
            };
            match text.parse::<Span>() {
                Err(error) => problem(format!("{word}: {error}")),
                Ok(span) if span < Span::ZERO => problem(format!("{word} is negative")),
                Ok(Span::ZERO) if matches!(shape, Shape::Length) => {
                    problem(format!("{word} must be above zero"))
                }
                Ok(span) if span > LENGTH_MAX => {
                    problem(format!("{word} is longer than {LENGTH_MAX}"))
                }
                Ok(_) => None,
            }
        }
        Shape::Rate => rate_problem(word, value, at.clone()),
        Shape::Rates(max) => list_problem(word, value, *max, at.clone(), rate_problem),
        Shape::Shares(max) => list_problem(word, value, *max, at.clone(), share_problem),
        Shape::Size => match text {
            Some(text) => parse_problem::<Bytes>(word, text, at.clone()),
            None => wrong("a size with its unit, such as \"64KiB\""),
        },
        Shape::Cpus => match text {
            Some("first" | "last") => None,
            Some(text) => parse_problem::<CpuSet>(word, text, at.clone())
                .map(|problem| problem.hint("\"first\" and \"last\" work on every machine")),
            None => wrong("a set of processors in quotes, such as \"0\" or \"0,2-3\""),
        },
        Shape::Endpoint => match text {
            Some(text) => parse_problem::<Endpoint>(word, text, at.clone()),
            None => wrong("a mechanism and a name, such as \"shm:sensors\""),
        },
        Shape::Delivery => delivery_problem(value, at.clone()),
        Shape::Gain => match gain(value) {
            Some(_) => None,
            None => wrong("the name of a gain or one to four numbers"),
        },
        Shape::Kinds => match text {
            Some("all") => None,
            Some(text) => problem(format!("{word} cannot be \"{}\"", text.escape_debug()))
                .map(|problem| problem.hint("write \"all\", or an array of kinds: [\"crash\"]")),
            None if is_texts(value) && value.as_array().is_some_and(|array| !array.is_empty()) => {
                None
            }
            None => wrong("\"all\" or an array of at least one kind"),
        },
        Shape::Formula => (!is_formula(value)).then(|| wrong(FORMULA))?,
        Shape::Formulas(max) => match value.as_array() {
            Some(array) if array.len() > *max => {
                problem(format!("{word} has {} entries; at most {max} are allowed", array.len()))
            }
            Some(array) if array.iter().all(|item| is_formula(item.get_ref())) => None,
            _ => wrong("an array of formulas, such as [\"10 us\", 5]"),
        },
        Shape::One(_) | Shape::Many(..) | Shape::Named(..) | Shape::NamedFormulas(_) => None,
    }
}

fn word_problem(
    words: &[&str],
    word: &str,
    value: &DeValue<'_>,
    at: Range<usize>,
) -> Option<Problem> {
    match value.as_str() {
        Some(text) if words.contains(&text) => None,
        Some(text) => {
            let hint = did_you_mean(text, words.iter().copied())
                .unwrap_or_else(|| format!("choose from {}", words.join(", ")));
            let message = format!("{word} cannot be \"{}\"", text.escape_debug());
            Some(Problem::new(at, message).hint(hint))
        }
        None => {
            let kind = format!("one of {}", words.join(", "));
            Some(wrong_kind(word, &kind, value, at))
        }
    }
}

fn rate_problem(word: &str, value: &DeValue<'_>, at: Range<usize>) -> Option<Problem> {
    match value.as_str() {
        Some(text) if is_zero(text) => Some(
            Problem::new(at, format!("{word} must be above zero"))
                .hint("write a rate such as \"50Hz\", or a period such as \"20ms\""),
        ),
        Some(text) => parse_problem::<Rate>(word, text, at),
        None => {
            let kind = "a rate or a period with its unit, such as \"50Hz\" or \"20ms\"";
            Some(wrong_kind(word, kind, value, at))
        }
    }
}

fn share_problem(word: &str, value: &DeValue<'_>, at: Range<usize>) -> Option<Problem> {
    match number(value) {
        Some(share) if (0.0..=SHARE_MAX).contains(&share) => None,
        Some(share) => Some(
            Problem::new(at, format!("{word} is {share}; it must be from 0 to {SHARE_MAX}"))
                .hint("it is a percentage of one processor"),
        ),
        None => Some(wrong_kind(word, "a percentage of a processor, such as 30", value, at)),
    }
}

fn numbers_problem(
    word: &str,
    value: &DeValue<'_>,
    max: usize,
    at: Range<usize>,
) -> Option<Problem> {
    let Some(array) = value.as_array() else {
        return Some(wrong_kind(word, "an array of numbers", value, at));
    };
    if !(1..=max).contains(&array.len()) {
        let count = array.len();
        let message = format!("{word} has {count} numbers here; it must have from 1 to {max}");
        return Some(Problem::new(at, message));
    }
    let item = array.iter().find(|item| number(item.get_ref()).is_none())?;
    Some(wrong_kind(word, "finite numbers here", item.get_ref(), item.span()))
}

/// The problem of a value, or of the first wrong item of a list of such values.
fn list_problem(
    word: &str,
    value: &DeValue<'_>,
    max: usize,
    at: Range<usize>,
    problem: impl Fn(&str, &DeValue<'_>, Range<usize>) -> Option<Problem>,
) -> Option<Problem> {
    let Some(array) = value.as_array() else { return problem(word, value, at) };
    if !(1..=max).contains(&array.len()) {
        let message = format!("{word} lists {} values; it must list from 1 to {max}", array.len());
        return Some(Problem::new(at, message));
    }
    array.iter().find_map(|item| problem(word, item.get_ref(), item.span()))
}

/// The longest duration: one day.
pub(crate) const LENGTH_MAX: Span = Span::from_millis(86_400_000);

fn parse_problem<T>(word: &str, text: &str, at: Range<usize>) -> Option<Problem>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let error = text.parse::<T>().err()?;
    Some(Problem::new(at, format!("{word}: {error}")))
}

/// Whether a quantity is zero, in any unit.
fn is_zero(text: &str) -> bool {
    let number = text.trim().trim_end_matches(|c: char| !c.is_ascii_digit());
    number.parse::<f64>() == Ok(0.0)
}

const FORMULA: &str = "a formula in quotes or a number, such as \"9 * 80 us\"";

fn is_formula(value: &DeValue<'_>) -> bool {
    value.is_str() || number(value).is_some()
}

fn is_texts(value: &DeValue<'_>) -> bool {
    value.as_array().is_some_and(|array| array.iter().all(|item| item.get_ref().is_str()))
}

fn name_problem(name: &str, at: Range<usize>) -> Option<Problem> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=NAME_LEN_MAX).contains(&name.len()) && name.chars().all(good);
    let only_dots = name.chars().all(|c| c == '.');
    (!fits || only_dots).then(|| {
        Problem::new(at, format!("\"{}\" is not a valid name", name.escape_debug()))
            .hint("use 1 to 64 characters of a-z, A-Z, 0-9, '-', '_' and '.'")
    })
}

fn delivery_problem(value: &DeValue<'_>, at: Range<usize>) -> Option<Problem> {
    if value.as_str() == Some("latest") {
        return None;
    }
    let wrong = Problem::new(at, "delivery must be \"latest\" or { queue = N }")
        .hint("\"latest\" keeps the newest message; a queue keeps N messages in order");
    let Some(table) = value.as_table() else { return Some(wrong) };
    match table.get("queue").map(|item| (whole(item.get_ref()), item.span())) {
        Some((Some(length), _)) if (1..=QUEUE_LEN_MAX).contains(&length) => {
            (table.len() > 1).then_some(wrong)
        }
        Some((_, at)) => {
            let message = format!("queue must be from 1 to {QUEUE_LEN_MAX}");
            Some(Problem::new(at, message))
        }
        None => Some(wrong),
    }
}

fn wrong_kind(word: &str, expected: &str, value: &DeValue<'_>, at: Range<usize>) -> Problem {
    let found = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Problem::new(at, format!("{} must be {expected}", word.escape_debug()))
        .label(format!("this is {found}"))
}
