//! Finds names that stand twice in one object: parsers keep the last value, and the model may have meant the first.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// How the names of all objects in a text turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Unique,
    /// Some stand twice, with the same value.
    Repeated,
}

/// The error is a name that has two different values in one object. Text that is no JSON has no names.
pub(super) fn check(text: &str) -> Result<Names, String> {
    let mut found = Found::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // A fault of the text is for the parser that reads it afterwards.
    _ = Seed(&mut found).deserialize(&mut deserializer);
    match found {
        Found {
            conflict: Some(name),
            ..
        } => Err(name),
        Found { repeated: true, .. } => Ok(Names::Repeated),
        Found { .. } => Ok(Names::Unique),
    }
}

#[derive(Default)]
struct Found {
    repeated: bool,
    conflict: Option<String>,
}

struct Seed<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Seed(self.0))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Seed(self.0))?;
            match fields.get(&name) {
                Some(before) if *before == value => self.0.repeated = true,
                Some(_) => {
                    self.0.conflict = Some(name);
                    return Err(A::Error::custom("a name has two values"));
                }
                None => _ = fields.insert(name, value),
            }
        }
        Ok(fields.into())
    }
}
