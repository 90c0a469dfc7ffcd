//! Reads a [`Node`] tree into the schema's structs and says what does not fit. Libraries find the path of a wrong value
//! and the keys that no struct knows; this module puts a fault into words.

use crate::text::phrase;
use ostler_wire::{Language, Why, Word};
use std::cell::Cell;
use std::fmt;
use std::iter::once;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Unexpected, Visitor};
use serde_path_to_error::{Segment, Track};

use crate::diagnose::nearest;
use crate::tree::{At, Node, Step, Value};
use crate::units::EXPECTED;

/// More are not worth reading at once.
const MAX_PROBLEMS: usize = 20;

/// The keys of a struct.
pub type Fields = &'static [&'static str];

/// A value that does not fit, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub path: Vec<Step>,
    pub at: At,
    /// Follows the key: "must be a whole number, not a string".
    pub message: Why,
    /// Stands under the value in the excerpt.
    pub label: Why,
    pub help: Option<Why>,
    /// Whether the key is the culprit (something is missing below it), not the value.
    pub on_key: bool,
}

/// Reads the tree, or tells the first thing that is wrong with it, and gives the paths of unknown keys.
pub fn read<T: DeserializeOwned>(root: &Node) -> (Result<T, Box<Problem>>, Vec<Vec<Step>>) {
    let mut unknown = Vec::new();
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(ignored_steps(&path));
    let mut track = Track::new();
    let reader = serde_path_to_error::Deserializer::new(Reader(root), &mut track);
    let result = T::deserialize(serde_ignored::Deserializer::new(reader, &mut note));
    let result = result.map_err(|fault| {
        let path: Vec<Step> = track.path().iter().map_while(failed_step).collect();
        Box::new(fault.into_problem(root.at_path(&path).unwrap_or(root), path))
    });
    (result, unknown)
}

/// Everything that is wrong with the tree: after each problem the value is struck out and the
/// rest is read again, so one mistake does not hide the next.
pub fn check<T: DeserializeOwned>(root: &Node) -> (Vec<Problem>, Vec<Vec<Step>>) {
    let (result, unknown) = read::<T>(root);
    let Err(problem) = result else {
        return (Vec::new(), unknown);
    };
    let mut problems: Vec<Problem> = Vec::new();
    let mut rest = root.clone();
    let mut next = Some(problem);
    let mut rounds = 0;
    while let Some(problem) = next.take() {
        rounds += 1;
        // A field that was struck out is missing afterwards.
        let consequence = problem.on_key
            && problems.iter().any(|earlier| {
                earlier.at.source == problem.at.source && earlier.path.starts_with(&problem.path)
            });
        let struck = rest.strike(&problem.path);
        if !consequence {
            problems.push(*problem);
        }
        if struck && rounds < MAX_PROBLEMS {
            next = read::<T>(&rest).0.err();
        }
    }
    (problems, unknown)
}

/// The keys that the table at a path may have; None where any key may stand and where there is no table.
pub fn fields_at<T: DeserializeOwned>(path: &[Step]) -> Option<Fields> {
    match shape_at::<T>(path) {
        Shape::Table(fields) => Some(fields),
        Shape::Text | Shape::Other => None,
    }
}

/// Whether the value at a path is a text or one of several words.
pub fn is_text_at<T: DeserializeOwned>(path: &[Step]) -> bool {
    match shape_at::<T>(path) {
        Shape::Text => true,
        Shape::Table(_) | Shape::Other => false,
    }
}

/// What the schema wants in one place.
#[derive(Clone, Copy)]
enum Shape {
    Table(Fields),
    Text,
    /// Another kind, any of several, or nothing: the schema has no such key.
    Other,
}

fn shape_at<T: DeserializeOwned>(path: &[Step]) -> Shape {
    let found = Cell::new(Shape::Other);
    // The probe always fails: it only looks at the question.
    drop(T::deserialize(Probe {
        path,
        found: &found,
    }));
    found.get()
}

fn ignored_steps(path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        Path::Map { parent, key } => (parent, Some(Step::Key(key.clone()))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = ignored_steps(parent);
    steps.extend(step);
    steps
}

fn failed_step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// A node as serde reads it.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Node);

impl<'de> IntoDeserializer<'de, Fault> for Reader<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::String(text) | Value::Datetime(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.iter().map(Reader)))
            }
            Value::Table(table) => {
                let entries = table.iter().map(|(key, node)| (key.as_str(), Reader(node)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let Value::Datetime(_) = self.0.value {
            return Err(de::Error::invalid_type(Unexpected::Other("date"), &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: Fields,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        // A list would do for serde, but not for a person.
        if self.0.as_array().is_some() {
            return Err(de::Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: Fields,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let Some(text) = self.0.as_str() else {
            return Err(Fault::Choice {
                found: None,
                choices: variants,
            });
        };
        let text: StrDeserializer<'_, Fault> = text.into_deserializer();
        visitor.visit_enum(text)
    }

    /// What nobody asked for is not looked into, however deep it is.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier
    }
}

/// Follows a path through the types of the schema and notes what is wanted at its end.
#[derive(Clone, Copy)]
struct Probe<'a> {
    path: &'a [Step],
    found: &'a Cell<Shape>,
}

impl Probe<'_> {
    fn note(&self, shape: Shape) {
        if self.path.is_empty() {
            self.found.set(shape);
        }
    }
}

impl<'de> IntoDeserializer<'de, Fault> for Probe<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some((step, path)) = self.path.split_first() else {
            return Err(de::Error::custom("end"));
        };
        let next = Self { path, ..self };
        match step {
            Step::Key(key) => visitor.visit_map(MapDeserializer::new(once((key.as_str(), next)))),
            Step::Index(_) => visitor.visit_seq(SeqDeserializer::new(once(next))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: Fields,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.note(Shape::Table(fields));
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.note(Shape::Text);
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: Fields,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_string(visitor)
    }

    /// The schema has no such key.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Fault> {
        Err(de::Error::custom("unknown"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier
    }
}

/// What serde reports, before it is put into words. `expected` is in serde's words.
#[derive(Debug)]
enum Fault {
    Type {
        expected: String,
    },
    /// Of the right type but out of range.
    Range {
        expected: String,
    },
    Choice {
        found: Option<String>,
        choices: Fields,
    },
    Missing(&'static str),
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::Other(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        Fault::Type { expected }
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        Fault::Range { expected }
    }

    fn unknown_variant(variant: &str, expected: Fields) -> Self {
        Fault::Choice {
            found: Some(variant.to_owned()),
            choices: expected,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Fault::Missing(field)
    }
}

impl Fault {
    fn into_problem(self, node: &Node, path: Vec<Step>) -> Problem {
        let (message, label, help) = match &self {
            Fault::Type { expected } => {
                let kind = expected_kind(expected);
                let message = phrase(Word::CfgMustNot, &[&kind, &found_kind(node)]);
                let help = type_hint(node, expected, path.len());
                (message, phrase(Word::CfgExpected, &[&kind]), help)
            }
            Fault::Range { expected } => {
                let kind = expected_kind(expected);
                let message = phrase(Word::CfgMustNow, &[&kind, &found_kind(node)]);
                (message, phrase(Word::CfgExpected, &[&kind]), None)
            }
            Fault::Choice { found, choices } => {
                let quoted: Vec<String> =
                    choices.iter().map(|word| format!("\"{word}\"")).collect();
                let message = phrase(Word::CfgOneOf, &[&quoted.join(", ")]);
                let near = found
                    .as_deref()
                    .and_then(|text| nearest(text, choices.iter().copied()));
                let help = near.map(|near| phrase(Word::CfgNearText, &[&near]));
                (message, Why::from(Word::CfgNoneOf), help)
            }
            Fault::Missing(field) => (
                phrase(Word::CfgHasNo, &[field]),
                phrase(Word::CfgMissing, &[field]),
                Some(phrase(Word::CfgAddField, &[field])),
            ),
            Fault::Other(message) => (message.as_str().into(), message.as_str().into(), None),
        };
        Problem {
            path,
            at: node.at,
            message,
            label,
            help,
            on_key: matches!(self, Fault::Missing(_)),
        }
    }
}

/// What was found, for a sentence. Strings are not repeated: they may be secrets.
fn found_kind(node: &Node) -> Why {
    match &node.value {
        Value::String(_) => Why::from(Word::CfgString),
        Value::Integer(number) => number.to_string().into(),
        Value::Float(number) => number.to_string().into(),
        Value::Boolean(flag) => flag.to_string().into(),
        Value::Datetime(_) => Why::from(Word::CfgDate),
        Value::Array(_) => Why::from(Word::CfgList),
        Value::Table(_) => Why::from(Word::CfgTable),
    }
}

/// What serde wants, by our own table of texts.
fn expected_kind(expected: &str) -> Why {
    let word = match expected {
        "u16" => return phrase(Word::CfgWholeTo, &[&u16::MAX]),
        "u32" => return phrase(Word::CfgWholeTo, &[&u32::MAX]),
        "u64" | "usize" => Word::CfgWholePositive,
        "i64" => Word::CfgWhole,
        "f32" | "f64" => Word::CfgAnyNumber,
        "a boolean" => Word::CfgBool,
        "a string" => Word::CfgString,
        "a sequence" => Word::CfgList,
        "a map" => Word::CfgTable,
        text if text.starts_with("struct ") => Word::CfgTable,
        // Our own types say it in English, as serde does.
        text => match EXPECTED
            .iter()
            .find(|word| Language::English.say(**word) == text)
        {
            Some(word) => *word,
            None => return text.into(),
        },
    };
    Why::from(word)
}

/// What to do about quotes and brackets that are missing or too many.
fn type_hint(node: &Node, expected: &str, depth: usize) -> Option<Why> {
    match &node.value {
        Value::String(text) => {
            let unquoted = match expected {
                "a boolean" => text.parse::<bool>().is_ok(),
                "f32" | "f64" => text.parse::<f64>().is_ok(),
                "u16" | "u32" | "u64" | "usize" | "i64" => text.parse::<i64>().is_ok(),
                _ => false,
            };
            // Lists at the top level hold tables.
            let in_brackets = expected == "a sequence" && depth > 1;
            match (unquoted, in_brackets) {
                (true, _) => Some(phrase(Word::CfgUnquote, &[text])),
                (false, true) => Some(Why::from(Word::CfgBrackets)),
                (false, false) => None,
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if expected == "a string" => {
            Some(phrase(Word::CfgQuote, &[&found_kind(node)]))
        }
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => None,
    }
}
