//! Reads a [`Node`] tree into the schema's structs. Unlike a plain deserializer it says where a
//! value of the wrong type stands, finds more than one, and lists the keys nobody asked for.

use crate::speech::{filled, spoken};
use ostler_wire::Word;
use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};

use super::diagnose::nearest;
use super::tree::{At, Node, Step, Value};

/// More are not worth reading at once.
const MAX_PROBLEMS: usize = 20;

/// A value that does not fit, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub path: Vec<Step>,
    pub at: At,
    /// Follows the key: "must be a whole number, not a string".
    pub message: String,
    /// Stands under the value in the excerpt.
    pub label: String,
    pub help: Option<String>,
    /// Whether the key is the culprit (something is missing below it), not the value.
    pub on_key: bool,
}

/// A key that no struct knows.
#[derive(Debug, Clone)]
pub struct Unknown {
    pub path: Vec<Step>,
    pub at: At,
    pub known: &'static [&'static str],
}

/// Reads the tree, or tells the first thing that is wrong with it.
pub fn read<T: DeserializeOwned>(root: &Node) -> (Result<T, Box<Problem>>, Vec<Unknown>) {
    let unknown = RefCell::new(Vec::new());
    let reader = Reader {
        node: root,
        trail: None,
        unknown: &unknown,
    };
    let result = T::deserialize(reader).map_err(|error| {
        let (path, at) = error.place.unwrap_or_else(|| (Vec::new(), root.at));
        Box::new(error.fault.into_problem(path, at))
    });
    (result, unknown.into_inner())
}

/// Everything that is wrong with the tree: after each problem the value is struck out and the
/// rest is read again, so one mistake does not hide the next.
pub fn check<T: DeserializeOwned>(root: &Node) -> (Vec<Problem>, Vec<Unknown>) {
    let (result, unknown) = read::<T>(root);
    let Err(problem) = result else {
        return (Vec::new(), unknown);
    };
    let mut problems = Vec::new();
    let mut rest = root.clone();
    let mut next = Some(problem);
    let mut rounds = 0;
    while let Some(problem) = next.take() {
        rounds += 1;
        let consequence = problem.on_key
            && problems.iter().any(|earlier: &Problem| {
                earlier.at.source == problem.at.source && encloses(&problem.path, &earlier.path)
            });
        let struck = strike(&mut rest, &problem.path);
        if !consequence {
            problems.push(*problem);
        }
        if struck && rounds < MAX_PROBLEMS {
            next = read::<T>(&rest).0.err();
        }
    }
    (problems, unknown)
}

fn encloses(outer: &[Step], inner: &[Step]) -> bool {
    inner.len() > outer.len() && inner.starts_with(outer)
}

/// Takes the value at a path out of the tree.
pub fn strike(root: &mut Node, path: &[Step]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let mut here = root;
    for step in parents {
        let next = match (step, &mut here.value) {
            (Step::Key(key), Value::Table(table)) => table.get_mut(key),
            (Step::Index(index), Value::Array(items)) => items.get_mut(*index),
            (Step::Key(_) | Step::Index(_), _) => None,
        };
        let Some(next) = next else { return false };
        here = next;
    }
    match (last, &mut here.value) {
        (Step::Key(key), Value::Table(table)) => table.remove(key).is_some(),
        (Step::Index(index), Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        (Step::Key(_) | Step::Index(_), _) => false,
    }
}

/// The names a struct understands, without reading anything.
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let found = RefCell::new(&[][..]);
    // The probe always fails: it only looks at the question.
    drop(T::deserialize(Probe(&found)));
    found.into_inner()
}

struct Probe<'a>(&'a RefCell<&'static [&'static str]>);

impl<'de> de::Deserializer<'de> for Probe<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failure> {
        Err(de::Error::custom("probe"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Failure> {
        self.0.replace(fields);
        Err(de::Error::custom("probe"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A linked list on the stack: the path costs nothing until something is wrong.
struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: TrailStep<'a>,
}

#[derive(Clone, Copy)]
enum TrailStep<'a> {
    Key(&'a str),
    Index(usize),
}

fn steps(trail: Option<&Trail<'_>>) -> Vec<Step> {
    let mut out = Vec::new();
    let mut here = trail;
    while let Some(link) = here {
        out.push(match link.step {
            TrailStep::Key(key) => Step::Key(key.to_owned()),
            TrailStep::Index(index) => Step::Index(index),
        });
        here = link.parent;
    }
    out.reverse();
    out
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    node: &'a Node,
    trail: Option<&'a Trail<'a>>,
    unknown: &'a RefCell<Vec<Unknown>>,
}

impl Reader<'_> {
    fn pin(&self, mut failure: Failure) -> Failure {
        if failure.place.is_none() {
            failure.place = Some((steps(self.trail), self.node.at));
        }
        failure
    }
}

impl<'de, 'a> de::Deserializer<'de> for Reader<'a> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Datetime(moment) => visitor.visit_str(moment),
            Value::Array(items) => visitor.visit_seq(Items {
                reader: self,
                items,
                index: 0,
            }),
            Value::Table(table) => visitor.visit_map(Entries {
                reader: self,
                entries: table.iter(),
                current: None,
                known: None,
            }),
        }
        .map_err(|failure| self.pin(failure))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match (&self.node.value, &self.node.typed) {
            (_, Some(typed)) => visitor.visit_str(typed),
            (Value::Datetime(_), None) => {
                Err(de::Error::invalid_type(Unexpected::Other("date"), &visitor))
            }
            (_, None) => return self.deserialize_any(visitor),
        }
        .map_err(|failure| self.pin(failure))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        // A list would do for serde, but not for a person.
        let Value::Table(table) = &self.node.value else {
            let found = match &self.node.value {
                Value::String(text) => Unexpected::Str(text),
                Value::Integer(number) => Unexpected::Signed(*number),
                Value::Float(number) => Unexpected::Float(*number),
                Value::Boolean(flag) => Unexpected::Bool(*flag),
                Value::Datetime(_) => Unexpected::Other("date"),
                Value::Array(_) => Unexpected::Seq,
                Value::Table(_) => Unexpected::Map,
            };
            return Err(self.pin(de::Error::invalid_type(found, &visitor)));
        };
        visitor
            .visit_map(Entries {
                reader: self,
                entries: table.iter(),
                current: None,
                known: Some(fields),
            })
            .map_err(|failure| self.pin(failure))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.node.text() {
            Some(text) => {
                let text: StrDeserializer<'_, Failure> = text.into_deserializer();
                visitor.visit_enum(text)
            }
            None => Err(Failure::new(Fault::Choice {
                found: None,
                choices: variants,
            })),
        }
        .map_err(|failure| self.pin(failure))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'a> {
    reader: Reader<'a>,
    items: &'a [Node],
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Failure> {
        let Some(node) = self.items.get(self.index) else {
            return Ok(None);
        };
        let trail = Trail {
            parent: self.reader.trail,
            step: TrailStep::Index(self.index),
        };
        self.index += 1;
        let reader = Reader {
            node,
            trail: Some(&trail),
            unknown: self.reader.unknown,
        };
        let value = seed.deserialize(reader);
        value.map(Some).map_err(|failure| reader.pin(failure))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.index.min(self.items.len()))
    }
}

struct Entries<'a> {
    reader: Reader<'a>,
    entries: std::collections::btree_map::Iter<'a, String, Node>,
    current: Option<(&'a str, &'a Node)>,
    /// The fields of a struct; a free table has none and takes every key.
    known: Option<&'static [&'static str]>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        for (key, node) in self.entries.by_ref() {
            if let Some(known) = self.known
                && !known.contains(&key.as_str())
            {
                let trail = Trail {
                    parent: self.reader.trail,
                    step: TrailStep::Key(key),
                };
                self.reader.unknown.borrow_mut().push(Unknown {
                    path: steps(Some(&trail)),
                    at: node.at,
                    known,
                });
                continue;
            }
            self.current = Some((key, node));
            let key: StrDeserializer<'_, Failure> = key.as_str().into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let Some((key, node)) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let trail = Trail {
            parent: self.reader.trail,
            step: TrailStep::Key(key),
        };
        let reader = Reader {
            node,
            trail: Some(&trail),
            unknown: self.reader.unknown,
        };
        let value = seed.deserialize(reader);
        value.map_err(|failure| reader.pin(failure))
    }
}

/// What serde reports, before it is put into words.
#[derive(Debug)]
pub struct Failure {
    fault: Fault,
    place: Option<(Vec<Step>, At)>,
}

#[derive(Debug)]
enum Fault {
    Type {
        found: Found,
        expected: String,
    },
    Choice {
        found: Option<String>,
        choices: &'static [&'static str],
    },
    Missing(&'static str),
    Other(String),
}

#[derive(Debug)]
struct Found {
    words: String,
    text: Option<String>,
    /// Of the right type but out of range.
    in_kind: bool,
}

impl Failure {
    fn new(fault: Fault) -> Self {
        Self { fault, place: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.fault)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Fault::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(Fault::Type {
            found: describe(found),
            expected: in_words(&expected.to_string()),
        })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let mut found = describe(found);
        found.in_kind = true;
        Self::new(Fault::Type {
            found,
            expected: in_words(&expected.to_string()),
        })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Fault::Choice {
            found: Some(variant.to_owned()),
            choices: expected,
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Fault::Missing(field))
    }
}

/// What was found, for a sentence. Strings are not repeated: they may be secrets.
fn describe(found: Unexpected<'_>) -> Found {
    let (words, text) = match found {
        Unexpected::Bool(flag) => (flag.to_string(), Some(flag.to_string())),
        Unexpected::Unsigned(number) => (number.to_string(), Some(number.to_string())),
        Unexpected::Signed(number) => (number.to_string(), Some(number.to_string())),
        Unexpected::Float(number) => (number.to_string(), Some(number.to_string())),
        Unexpected::Str(text) => ("a string".into(), Some(text.to_owned())),
        Unexpected::Seq => ("a list".into(), None),
        Unexpected::Map => ("a table".into(), None),
        Unexpected::Other(what) => (format!("a {what}"), None),
        other => (other.to_string(), None),
    };
    Found {
        words,
        text,
        in_kind: false,
    }
}

fn in_words(expected: &str) -> String {
    match expected {
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number, 0 or greater".into(),
        "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        text if text.starts_with("struct ") => "a table".into(),
        text => text.to_owned(),
    }
}

/// A kind of value in the language of the person.
fn for_people(kind: &str) -> String {
    const KINDS: [(&str, Word); 8] = [
        ("a string", Word::CfgString),
        ("a list", Word::CfgList),
        ("a table", Word::CfgTable),
        ("a number", Word::CfgAnyNumber),
        ("a date", Word::CfgDate),
        ("true or false", Word::CfgBool),
        ("a whole number", Word::CfgWhole),
        ("a whole number, 0 or greater", Word::CfgWholePositive),
    ];
    if let Some(most) = kind.strip_prefix("a whole number from 0 to ") {
        return filled(Word::CfgWholeTo, &[&most]);
    }
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    known.map_or_else(|| kind.to_owned(), |(_, word)| spoken(*word).to_owned())
}

impl Fault {
    fn into_problem(self, path: Vec<Step>, at: At) -> Problem {
        let (message, label, help, on_key) = match self {
            Fault::Type { found, expected } => {
                let help = hint(&found, &expected, path.len());
                let (expected, words) = (for_people(&expected), for_people(&found.words));
                let message = if found.in_kind {
                    filled(Word::CfgMustNow, &[&expected, &words])
                } else {
                    filled(Word::CfgMustNot, &[&expected, &words])
                };
                let label = filled(Word::CfgExpected, &[&expected]);
                (message, label, help, false)
            }
            Fault::Choice { found, choices } => {
                let list = quoted(choices);
                let help = found
                    .and_then(|text| nearest(&text, choices.iter().copied()))
                    .map(|near| filled(Word::CfgNearText, &[&near]));
                let message = filled(Word::CfgOneOf, &[&list]);
                (message, spoken(Word::CfgNoneOf).into(), help, false)
            }
            Fault::Missing(field) => (
                filled(Word::CfgHasNo, &[&field]),
                filled(Word::CfgMissing, &[&field]),
                Some(filled(Word::CfgAddField, &[&field])),
                true,
            ),
            Fault::Other(message) => (message.clone(), message, None, false),
        };
        Problem {
            path,
            at,
            message,
            label,
            help,
            on_key,
        }
    }
}

fn quoted(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}

fn hint(found: &Found, expected: &str, depth: usize) -> Option<String> {
    let text = found.text.as_deref()?;
    if found.words == "a string" {
        let unquoted = match expected {
            "true or false" => text.parse::<bool>().is_ok(),
            "a number" => text.parse::<f64>().is_ok(),
            "a table" | "a list" => false,
            _ => expected.starts_with("a whole number") && text.parse::<i64>().is_ok(),
        };
        if unquoted {
            return Some(filled(Word::CfgUnquote, &[&text]));
        }
        // Lists at the top level hold tables.
        let in_brackets = expected == "a list" && depth > 1;
        return in_brackets.then(|| spoken(Word::CfgBrackets).into());
    }
    (expected == "a string" && !found.in_kind).then(|| filled(Word::CfgQuote, &[&text]))
}
