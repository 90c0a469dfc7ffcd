//! The table of foreign parameters, `foreign.toml`: read once, when the first call needs it.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<BTreeMap<String, Section>> =
    LazyLock::new(|| toml::from_str(include_str!("foreign.toml")).unwrap_or_default());

/// The section whose rows count for every tool.
const EVERY: &str = "every";

/// What the table says of one tool, or of the objects in a list of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Section {
    known: Vec<String>,
    flags: Vec<String>,
    harmless: Vec<String>,
    mapped: BTreeMap<String, Mapped>,
    refused: BTreeMap<String, Refused>,
    words: BTreeMap<String, BTreeMap<String, String>>,
    like: Vec<String>,
    lines: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Mapped {
    Name(String),
    Rule(Mapping),
}

/// How a foreign parameter becomes one of ours.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mapping {
    pub to: String,
    pub how: How,
    pub when: Option<Value>,
    pub is: Option<Value>,
    only: Option<Type>,
    pub absent: bool,
}

impl Mapping {
    /// The same thing under another name.
    pub fn rename(to: &str) -> Self {
        Self {
            to: to.to_owned(),
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    #[default]
    Same,
    /// The opposite of a boolean.
    Not,
    /// A number; of several the largest.
    Most,
    /// A number of lines, from that of the last line.
    LastLine,
    /// The first line and a number of lines, from a pair.
    Lines,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Type {
    String,
    Number,
    Boolean,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Refused {
    Why(String),
    Rule(Refusal),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    why: String,
    #[serde(default)]
    unless: Vec<Value>,
    only: Option<Type>,
}

/// What becomes of a parameter with this name and value.
#[derive(Debug)]
pub enum Fate {
    Mapped(Mapping),
    Harmless,
    /// Why.
    Refused(&'static str),
    Known,
    /// True or false.
    Flag,
}

/// The rows for one object, its own section first.
pub struct Rows {
    own: Vec<&'static Section>,
    every: Option<&'static Section>,
}

impl Rows {
    /// `of` is a tool, or a tool and the name of a list in it, as in `todo.items`.
    pub fn of(name: &str) -> Self {
        let own = TABLE.get(name);
        let like = own.into_iter().flat_map(|section| &section.like);
        let like = like.filter_map(|name| TABLE.get(name));
        Self {
            own: own.into_iter().chain(like).collect(),
            every: TABLE.get(EVERY),
        }
    }

    /// What rows of the tool itself say.
    pub fn find_own(&self, name: &str, value: &Value) -> Option<Fate> {
        self.own
            .iter()
            .find_map(|section| section.find(&|row| row == name, value))
    }

    /// What rows for every tool say.
    pub fn find_common(&self, name: &str, value: &Value) -> Option<Fate> {
        self.every?.find(&|row| row == name, value)
    }

    /// The same for a name that is spelt in another way.
    pub fn find_spelt(&self, name: &str, value: &Value) -> Option<Fate> {
        let plain = plain(name);
        let is_same = |row: &str| !row.starts_with('-') && self::plain(row) == plain;
        let mut sections = self.own.iter().copied().chain(self.every);
        sections.find_map(|section| section.find(&is_same, value))
    }

    /// Our word for another one.
    pub fn find_word(&self, parameter: &str, word: &str) -> Option<&'static str> {
        let plain = plain(word);
        self.own.iter().find_map(|section| {
            let mut words = section.words.get(parameter)?.iter();
            let (_, ours) = words.find(|(theirs, _)| self::plain(theirs) == plain)?;
            Some(ours.as_str())
        })
    }

    /// Whether a parameter takes a line of a shell, for which a list of words may come.
    pub fn is_line(&self, name: &str) -> bool {
        let mut lines = self.own.iter().flat_map(|section| &section.lines);
        lines.any(|line| line == name)
    }

    /// Every foreign name that stands for one of ours, with that one.
    pub fn mapped(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let rows = self.own.iter().flat_map(|section| &section.mapped);
        rows.map(|(name, mapped)| match mapped {
            Mapped::Name(to) => (name.as_str(), to.as_str()),
            Mapped::Rule(rule) => (name.as_str(), rule.to.as_str()),
        })
    }
}

impl Section {
    fn find(&'static self, is_row: &dyn Fn(&str) -> bool, value: &Value) -> Option<Fate> {
        let mapped = self.mapped.iter().find(|(row, _)| is_row(row));
        let mapping = mapped.and_then(|(_, mapped)| match mapped {
            Mapped::Name(to) => Some(Mapping::rename(to)),
            Mapped::Rule(rule) => {
                let fits = rule.only.is_none_or(|only| only.allows(value));
                fits.then(|| rule.clone())
            }
        });
        let refused = || {
            let (_, refused) = self.refused.iter().find(|(row, _)| is_row(row))?;
            refused.judge(value)
        };
        match mapping {
            // Given beside what it would stand for it means something else, if the table says so.
            Some(mapping) => Some(Fate::Mapped(mapping)),
            None => refused().or_else(|| {
                if self.known.iter().any(|row| is_row(row)) {
                    return Some(Fate::Known);
                }
                if self.flags.iter().any(|row| is_row(row)) {
                    return Some(Fate::Flag);
                }
                let harmless = self.harmless.iter().any(|row| is_row(row));
                harmless.then_some(Fate::Harmless)
            }),
        }
    }

    fn refusal(&'static self, name: &str, value: &Value) -> Option<Fate> {
        self.refused.get(name)?.judge(value)
    }
}

impl Rows {
    /// What the table says of a name whose mapping does not apply.
    pub fn find_refusal(&self, name: &str, value: &Value) -> Option<Fate> {
        let mut sections = self.own.iter();
        sections.find_map(|section| section.refusal(name, value))
    }
}

impl Refused {
    fn judge(&'static self, value: &Value) -> Option<Fate> {
        // Some models send every parameter that they know, and null for those that they do not use.
        if value.is_null() {
            return Some(Fate::Harmless);
        }
        let (why, says_nothing) = match self {
            Refused::Why(why) => (why, is_neutral(value)),
            Refused::Rule(Refusal {
                only: Some(only), ..
            }) if !only.allows(value) => return None,
            Refused::Rule(rule) if rule.unless.is_empty() => (&rule.why, is_neutral(value)),
            Refused::Rule(rule) => (&rule.why, rule.unless.iter().any(|v| is_same(v, value))),
        };
        Some(match says_nothing {
            true => Fate::Harmless,
            false => Fate::Refused(why),
        })
    }
}

impl Type {
    fn allows(self, value: &Value) -> bool {
        match self {
            Type::String => value.is_string(),
            Type::Number => {
                let text = value.as_str().map(str::trim);
                value.is_number() || text.is_some_and(|text| text.parse::<f64>().is_ok())
            }
            Type::Boolean => as_bool(value).is_some(),
        }
    }
}

/// A name without case, `_`, `-` and spaces.
pub fn plain(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' ' | '\t'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Values that ask for nothing.
pub fn is_neutral(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(_) => false,
        Value::String(text) => matches!(text.trim(), "" | "false" | "False" | "null" | "None"),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// A boolean, or one that is written as text.
pub fn as_bool(value: &Value) -> Option<bool> {
    match value.as_str().map(str::trim) {
        Some("true" | "True") => Some(true),
        Some("false" | "False") => Some(false),
        Some(_) => None,
        None => value.as_bool(),
    }
}

/// The same value, be it written as text or not.
pub fn is_same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    let bools = (as_bool(one), as_bool(other));
    one == other || text(one) == text(other) || bools.0.is_some() && bools.0 == bools.1
}

#[cfg(test)]
pub fn sections() -> Result<Vec<String>, toml::de::Error> {
    let table: BTreeMap<String, Section> = toml::from_str(include_str!("foreign.toml"))?;
    Ok(table.into_keys().collect())
}
