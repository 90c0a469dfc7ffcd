//! Values that are more than a number or a word: seconds, sizes, colour. Parsing and printing only.

use ostler_wire::{Language, Word};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// What stands for no limit, and the longest limit there is.
const FOREVER: Duration = Duration::from_secs(86_400 * 365);

/// What our own types expect. Serde passes such a text on in English; the reader finds the word again by it.
pub(super) const EXPECTED: [Word; 6] = [
    Word::CfgAllowance,
    Word::CfgScalar,
    Word::CfgShare,
    Word::CfgNumber,
    Word::CfgSize,
    Word::CfgColor,
];

fn expected(word: Word) -> &'static str {
    Language::English.say(word)
}

/// A duration in seconds; 0 stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Seconds(#[schemars(range(min = 0.0))] f64);

impl Seconds {
    pub fn duration(self) -> Duration {
        match Duration::try_from_secs_f64(self.0) {
            Ok(duration) if !duration.is_zero() => duration.min(FOREVER),
            Ok(_) | Err(_) => FOREVER,
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        finite(f64::deserialize(deserializer)?).map(Self)
    }
}

/// For optional numbers that make no sense below zero.
pub fn non_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    finite(f64::deserialize(deserializer)?).map(Some)
}

/// For a share of a whole that is worth waiting for.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    match (0.1..=1.0).contains(&number) {
        true => Ok(number),
        false => Err(de::Error::invalid_value(
            Unexpected::Float(number),
            &expected(Word::CfgShare),
        )),
    }
}

fn finite<E: de::Error>(number: f64) -> Result<f64, E> {
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(E::invalid_value(
            Unexpected::Float(number),
            &expected(Word::CfgNumber),
        ))
    }
}

/// A number of bytes, written like `"2GB"`, `"500 MiB"` or `1000000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KIB", 1 << 10),
    ("MIB", 1 << 20),
    ("GIB", 1 << 30),
    ("TIB", 1 << 40),
];

impl Default for ByteSize {
    fn default() -> Self {
        Self(2_000_000_000)
    }
}

impl ByteSize {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let split = text
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(split);
        let unit = unit.trim().to_ascii_uppercase();
        let factor = match unit.as_str() {
            "" => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
        };
        digits
            .parse::<u64>()
            .ok()?
            .checked_mul(factor)
            .filter(|bytes| *bytes <= i64::MAX as u64)
            .map(Self)
    }
}

as_displayed!(ByteSize);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS
            .iter()
            .take(5)
            .rev()
            .find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor));
        match unit {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => f.write_str("0"),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = ByteSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(expected(Word::CfgSize))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
                ByteSize::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ByteSize, E> {
                u64::try_from(number)
                    .map(ByteSize)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": "^\\s*[0-9]+\\s*([KMGTkmgt][Ii]?)?[Bb]?\\s*$" },
                { "type": "integer", "minimum": 0 }
            ]
        })
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    pub fn as_str(self) -> &'static str {
        match self {
            ColorChoice::Auto => "auto",
            ColorChoice::Always => "always",
            ColorChoice::Never => "never",
        }
    }
}

impl Serialize for ColorChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ColorChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = ColorChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(expected(Word::CfgColor))
            }

            fn visit_bool<E: de::Error>(self, on: bool) -> Result<ColorChoice, E> {
                Ok(if on {
                    ColorChoice::Auto
                } else {
                    ColorChoice::Never
                })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ColorChoice, E> {
                match text {
                    "auto" => Ok(ColorChoice::Auto),
                    "always" => Ok(ColorChoice::Always),
                    "never" => Ok(ColorChoice::Never),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ColorChoice {
    fn schema_name() -> Cow<'static, str> {
        "ColorChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": ["auto", "always", "never"] },
                { "type": "boolean" }
            ]
        })
    }
}

/// Whether something is allowed: "allow", "deny", true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance(pub bool);

impl Serialize for Allowance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

impl<'de> Deserialize<'de> for Allowance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Allowance;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(expected(Word::CfgAllowance))
            }

            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Allowance, E> {
                Ok(Allowance(on))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Allowance, E> {
                match text {
                    "allow" => Ok(Allowance(true)),
                    "deny" => Ok(Allowance(false)),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Allowance {
    fn schema_name() -> Cow<'static, str> {
        "Allowance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": ["allow", "deny"] },
                { "type": "boolean" }
            ]
        })
    }
}

/// A value without parts, as options of other agents' models have them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(expected(Word::CfgScalar))
            }

            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Scalar, E> {
                Ok(Scalar::Flag(flag))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(number))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string" },
                { "type": "number" },
                { "type": "boolean" }
            ]
        })
    }
}
