//! Commands from their texts: parameters, words, and the shell.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Subject;

/// A command as the user wrote it, in which `{NAME}` stands for the value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The name in tables; otherwise the text of the command.
    pub name: Option<String>,
    /// The command.
    pub command: Written,
    /// What runs before each reading.
    pub prepare: Option<String>,
    /// What runs once before the first run.
    pub setup: Option<String>,
    /// What runs once after the last run.
    pub cleanup: Option<String>,
}

impl From<Written> for Template {
    /// A command with nothing else.
    fn from(command: Written) -> Self {
        Self { name: None, command, prepare: None, setup: None, cleanup: None }
    }
}

impl Template {
    /// Whether a text of it has the parameter of this name.
    fn has(&self, name: &str) -> bool {
        let named = format!("{{{name}}}");
        let command: &[String] = match &self.command {
            Written::Text(text) => std::slice::from_ref(text),
            Written::Words(words) => words,
        };
        let others = [&self.name, &self.prepare, &self.setup, &self.cleanup];
        command.iter().chain(others.into_iter().flatten()).any(|text| text.contains(&named))
    }
}

/// The two ways to write a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// In one text, for a shell or to be split into words.
    Text(String),
    /// A program and its arguments, exactly as they are.
    Words(Vec<String>),
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, in braces in the texts.
    pub name: String,
    /// Its values: a command for each.
    pub values: Vec<String>,
}

/// Why a text is no command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadCommand {
    /// The text has no words.
    #[error("the command is empty")]
    Empty,
    /// No text has the name of a parameter, so all its values would give the same command.
    #[error(
        "no command has the parameter `{name}`\nhint: `{{{name}}}` in a text stands for its values"
    )]
    Unused {
        /// The parameter.
        name: String,
    },
    /// A quotation mark is not closed.
    #[error("the command `{text}` has an opening {mark} without a closing one")]
    Open {
        /// The text.
        text: String,
        /// The mark.
        mark: char,
    },
    /// The text sets a variable for the program, which only a shell does.
    #[error("the command `{text}` needs a shell to set the variable `{name}`")]
    SetsVariable {
        /// The text.
        text: String,
        /// The variable.
        name: String,
    },
    /// Only a shell understands the text.
    #[error("the command `{text}` needs a shell for `{sign}`")]
    NeedsShell {
        /// The text.
        text: String,
        /// The character.
        sign: char,
    },
}

/// The commands of all templates with all combinations of the parameters' values. Texts run in `shell` if there is one;
/// otherwise they are split into words as a shell would, and a text that uses anything else of a shell is refused.
///
/// # Errors
/// The first text that is no command.
pub fn subjects(
    templates: &[Template],
    parameters: &[Parameter],
    shell: Option<&str>,
) -> Result<Vec<Subject>, BadCommand> {
    let is_unused = |of: &&Parameter| !templates.iter().any(|template| template.has(&of.name));
    if let Some(Parameter { name, .. }) = parameters.iter().find(is_unused) {
        return Err(BadCommand::Unused { name: name.clone() });
    }
    let combinations = combinations(parameters);
    let all =
        templates.iter().flat_map(|template| combinations.iter().map(move |of| (template, of)));
    all.map(|(template, parameters)| subject(template, parameters, shell)).collect()
}

fn combinations(parameters: &[Parameter]) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for Parameter { name, values } in parameters {
        let with = |known: &BTreeMap<String, String>, value: &String| {
            let mut known = known.clone();
            known.insert(name.clone(), value.clone());
            known
        };
        all = all
            .iter()
            .flat_map(|known| values.iter().map(move |value| with(known, value)))
            .collect();
    }
    all
}

fn subject(
    template: &Template,
    parameters: &BTreeMap<String, String>,
    shell: Option<&str>,
) -> Result<Subject, BadCommand> {
    let fill = |text: &str| filled(text, parameters);
    let (text, words) = match (&template.command, shell) {
        (Written::Words(words), _) => {
            let words: Vec<String> = words.iter().map(|word| fill(word)).collect();
            (words.join(" "), words)
        }
        (Written::Text(text), None) => (fill(text), split(&fill(text))?),
        (Written::Text(text), Some(shell)) => {
            (fill(text), vec![shell.into(), "-c".into(), fill(text)])
        }
    };
    if text.trim().is_empty() {
        return Err(BadCommand::Empty);
    }
    Ok(Subject {
        name: template.name.as_deref().map_or(text, fill),
        words,
        prepare: template.prepare.as_deref().map(fill),
        setup: template.setup.as_deref().map(fill),
        cleanup: template.cleanup.as_deref().map(fill),
        parameters: parameters.clone(),
    })
}

/// The text with the values of parameters in place of their names in braces. A value is not searched again.
fn filled(text: &str, parameters: &BTreeMap<String, String>) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        done.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = rest[1..].split_once('}').and_then(|(name, _)| parameters.get_key_value(name));
        match named {
            Some((name, value)) => {
                done.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                done.push('{');
                rest = &rest[1..];
            }
        }
    }
    done + rest
}

/// The words of a text, by the rules of a shell for blanks, quotation marks and backslashes.
fn split(text: &str) -> Result<Vec<String>, BadCommand> {
    const OF_A_SHELL: &str = "|&;<>()$`*?[]~#!\n";
    if let Some(name) = set_variable(text) {
        return Err(BadCommand::SetsVariable { text: text.into(), name: name.into() });
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        None => return Err(BadCommand::Open { text: text.into(), mark: sign }),
                        Some(inner) if inner == sign => break,
                        Some(inner @ ('$' | '`')) if sign == '"' => {
                            return Err(BadCommand::NeedsShell { text: text.into(), sign: inner });
                        }
                        // Between these marks a backslash is an ordinary character, except before five others.
                        Some('\\') if sign == '"' => match escaped(signs.next(), text)? {
                            '\n' => {}
                            inner @ ('$' | '`' | '"' | '\\') => word.push(inner),
                            inner => word.extend(['\\', inner]),
                        },
                        Some(inner) => word.push(inner),
                    }
                }
            }
            '\\' => match escaped(signs.next(), text)? {
                // The line continues.
                '\n' => {}
                sign => word.get_or_insert_default().push(sign),
            },
            // A `#` or `~` within a word is an ordinary character.
            '#' | '~' if word.is_some() => word.get_or_insert_default().push(sign),
            _ if OF_A_SHELL.contains(sign) => {
                return Err(BadCommand::NeedsShell { text: text.into(), sign });
            }
            _ => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    if words.is_empty() { Err(BadCommand::Empty) } else { Ok(words) }
}

/// The variable that a text sets first, as in `LEVEL=9 program`.
fn set_variable(text: &str) -> Option<&str> {
    let (name, _) = text.trim_start_matches([' ', '\t']).split_once('=')?;
    let is_named = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    is_named.then_some(name)
}

fn escaped(sign: Option<char>, text: &str) -> Result<char, BadCommand> {
    sign.ok_or_else(|| BadCommand::Open { text: text.into(), mark: '\\' })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: &str) -> Template {
        Written::Text(command.into()).into()
    }

    fn parameter(name: &str, values: &[&str]) -> Parameter {
        Parameter { name: name.into(), values: values.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn a_text_is_split_as_a_shell_would() {
        for (text, words) in [
            ("gzip -k file", &["gzip", "-k", "file"][..]),
            ("  a\tb  ", &["a", "b"]),
            (r#"grep 'a b|c' "it's" x\ y"#, &["grep", "a b|c", "it's", "x y"]),
            (r#"echo "" a''b "q\"q""#, &["echo", "", "ab", "q\"q"]),
            ("a#b c~", &["a#b", "c~"]),
            (r#"grep "a\.b" "\d\t" "\\" "\$x\`""#, &["grep", r"a\.b", r"\d\t", r"\", "$x`"]),
            (r"grep 'a\.b' a\.b", &["grep", r"a\.b", "a.b"]),
            ("a b\\\nc \"d\\\ne\" \\\n", &["a", "bc", "de"]),
            ("env A=1 a=b 'C'=1", &["env", "A=1", "a=b", "C=1"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn a_text_that_only_a_shell_understands_is_refused() {
        for (text, sign) in [
            ("a | b", '|'),
            ("a > b", '>'),
            ("echo $HOME", '$'),
            ("ls *.c", '*'),
            ("a \"$x\"", '$'),
        ] {
            let refused = BadCommand::NeedsShell { text: text.into(), sign };
            assert_eq!(split(text), Err(refused));
        }
        for text in ["A_1=1 a", " A_1='x y' a", "A_1="] {
            let refused = BadCommand::SetsVariable { text: text.into(), name: "A_1".into() };
            assert_eq!(split(text), Err(refused));
        }
        for program in ["1=2 a", "./a=b", "=", "'A'=1 a"] {
            assert!(split(program).is_ok(), "{program}");
        }
        assert_eq!(split(" "), Err(BadCommand::Empty));
        assert_eq!(split("a 'b"), Err(BadCommand::Open { text: "a 'b".into(), mark: '\'' }));
        assert_eq!(split("a\\"), Err(BadCommand::Open { text: "a\\".into(), mark: '\\' }));
        let shell = subjects(&[text("a | b")], &[], Some("bash")).unwrap();
        assert_eq!(shell[0].words, ["bash", "-c", "a | b"]);
    }

    #[test]
    fn each_combination_of_values_is_a_command() {
        let parameters = [parameter("level", &["1", "9"]), parameter("file", &["a b", "{level}"])];
        let quoted = Template {
            name: Some("at {level}".into()),
            prepare: Some("rm {file}.gz".into()),
            ..text("gzip -{level} '{file}' {other} {")
        };
        let all = subjects(&[quoted], &parameters, None).unwrap();
        let words: Vec<&[String]> = all.iter().map(|subject| &subject.words[1..3]).collect();
        assert_eq!(words, [["-1", "a b"], ["-1", "{level}"], ["-9", "a b"], ["-9", "{level}"]]);
        assert_eq!((all[2].name.as_str(), all[2].prepare.as_deref()), ("at 9", Some("rm a b.gz")));
        assert_eq!(all[2].words[3..], ["{other}", "{"]);
        assert_eq!(all[2].parameters["file"], "a b");
        let prepared = Template { prepare: Some("rm {file}".into()), ..text("sync") };
        assert_eq!(subjects(&[prepared], &parameters[1..], None).unwrap().len(), 2);
        let once = Template {
            setup: Some("touch {file}".into()),
            cleanup: Some("rm {level}".into()),
            ..text("sync")
        };
        let once = subjects(&[once], &parameters, None).unwrap();
        let (setup, cleanup) = (once[2].setup.as_deref(), once[2].cleanup.as_deref());
        assert_eq!((setup, cleanup), (Some("touch a b"), Some("rm 9")));
        let unused = BadCommand::Unused { name: "file".into() };
        assert_eq!(subjects(&[text("gzip -{level} {")], &parameters, None), Err(unused));
    }

    #[test]
    fn words_stay_as_they_are() {
        let words = vec!["grep".to_owned(), "a|b".to_owned(), "{file}".to_owned()];
        let template = Template { command: Written::Words(words), ..text("") };
        let all = subjects(&[template], &[parameter("file", &["x y"])], None).unwrap();
        assert_eq!((all[0].words[1].as_str(), all[0].words[2].as_str()), ("a|b", "x y"));
        assert_eq!(all[0].name, "grep a|b x y");
        assert_eq!(subjects(&[text("")], &[], None), Err(BadCommand::Empty));
        assert_eq!(subjects(&[text(" ")], &[], Some("sh")), Err(BadCommand::Empty));
    }
}
