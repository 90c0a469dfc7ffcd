//! Reads JSON that others wrote: a wrong type is an absence, never a failure, and what is not needed is not built.

use crate::Error;
use ostler_wire::{Json, Why, Word};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How much of a frame that could not be read an error shows.
const SHOWN_CHARS: usize = 120;

/// Reads a frame or a body. `spare` takes a mended copy when the text has half a surrogate pair, as endpoints that cut
/// strings in UTF-16 send them.
pub(super) fn read<'d, T: Deserialize<'d>>(
    data: &'d str,
    spare: &'d mut String,
) -> Result<T, Error> {
    let data = match mend(data) {
        Some(mended) => {
            *spare = mended;
            spare.as_str()
        }
        None => data,
    };
    serde_json::from_str(data).map_err(|error| {
        let start: String = data.trim_start().chars().take(SHOWN_CHARS).collect();
        let is_page = start.starts_with('<');
        let hint = match is_page {
            true => Word::LlmPageHint.into(),
            false => "".into(),
        };
        let values = [error.to_string().into(), hint, start.into()];
        let message = Why::ours(Word::LlmOffProtocol, values);
        match is_page {
            true => Error::invalid(message),
            false => Error::garbled(message),
        }
    })
}

/// True for frames that carry nothing.
pub(super) fn is_idle(data: &str) -> bool {
    data.trim().is_empty()
}

/// True for the line that some protocols end with, and some endpoints of the others too.
pub(super) fn is_done(data: &str) -> bool {
    data.trim() == "[DONE]"
}

/// Replaces escaped halves of surrogate pairs, if there are any.
pub(super) fn mend(data: &str) -> Option<String> {
    // Most frames have no escape at all.
    let first = memchr::memchr(b'\\', data.as_bytes())?;
    let escapes = data.get(first..)?;
    if !escapes.contains("\\ud") && !escapes.contains("\\uD") {
        return None;
    }
    let unit = |at: usize| -> Option<u32> {
        let digits = data.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(step) = data.get(at..).and_then(|rest| rest.find('\\')) {
        at += step;
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(data.get(copied..at)?);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(data.get(copied..)?);
    Some(mended)
}

/// The fields of an object in order, their values unread. Anything but an object has none.
#[derive(Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Fields<'a> {
    pub(super) fn of(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub(super) fn of_raw(raw: Option<&'a RawValue>) -> Self {
        raw.map_or_else(Self::default, |raw| Self::of(raw.get()))
    }

    /// The last field of that name.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(k, _)| k == key);
        found
            .map(|(_, value)| *value)
            .filter(|value| value.get() != "null")
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(string)
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.get(key)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .and_then(whole)
    }

    pub(super) fn object(&self, key: &str) -> Fields<'a> {
        Self::of_raw(self.get(key))
    }

    pub(super) fn list(&self, key: &str) -> Vec<&'a RawValue> {
        self.get(key)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    /// The fields that are not named, with their values as text; of several with one name the last.
    pub(super) fn without<'f>(
        &'f self,
        except: &'f [&str],
    ) -> impl Iterator<Item = (&'f str, &'a str)> {
        self.0
            .iter()
            .enumerate()
            .filter_map(move |(i, (key, value))| {
                let later = self.0.iter().skip(i + 1).any(|(k, _)| k == key);
                (!later && !except.contains(&key.as_ref())).then_some((key.as_ref(), value.get()))
            })
    }

    /// The fields that are not named and say something.
    pub(super) fn rest(&self, except: &[&str]) -> Extras {
        let mut rest = Extras::default();
        for (key, value) in self.without(except) {
            rest.set(key, value);
        }
        rest
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Object<'a> {
            type Value = Fields<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object(std::marker::PhantomData))
    }
}

/// Fields nobody here knows, gathered over a stream so that they can go back to their origin. Of one name the last value stays.
#[derive(Default)]
pub(super) struct Extras(Vec<(String, String)>);

/// The most fields kept of one message, and the most bytes of one value.
const MAX_EXTRAS: usize = 32;
const MAX_EXTRA_BYTES: usize = 1 << 20;

impl Extras {
    /// Keeps a value that says something.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        let says_nothing = matches!(value, "null" | "[]" | "{}" | "\"\"");
        if says_nothing || value.len() > MAX_EXTRA_BYTES {
            return;
        }
        if let Some((_, old)) = self.0.iter_mut().find(|(k, _)| k == key) {
            value.clone_into(old);
        } else if self.0.len() < MAX_EXTRAS {
            self.0.push((key.to_owned(), value.to_owned()));
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    pub(super) fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum()
    }

    /// All of it as a replay blob: an object under the name of what it is a part of in its protocol. Another protocol
    /// at the same origin has another name, and so does not mistake the blob for its own.
    pub(super) fn take(&mut self, unit: &str) -> Option<Json> {
        if self.0.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        let mut blob = super::write::Object::open(&mut out);
        let mut object = blob.object(unit);
        for (key, value) in self.0.drain(..) {
            object.raw(&key, &value);
        }
        object.close();
        blob.close();
        Json::from_text(String::from_utf8(out).ok()?).ok()
    }
}

/// A string, or nothing.
pub(super) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn whole(value: f64) -> Option<u64> {
    (value >= 0.0).then_some(value as u64)
}

/// For fields that should be a string: anything else is `None`.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    deserializer
        .deserialize_any(Scalar)
        .map(|value| match value {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Other => None,
        })
}

/// For fields that should be the text of JSON, and may be the JSON itself.
pub(super) fn text_or_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| match raw.get().starts_with('{') {
        true => Some(raw.get().to_owned()),
        false => string(raw),
    }))
}

/// For fields that should be a count: anything else is `None`.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer
        .deserialize_any(Scalar)
        .map(|value| match value {
            Value::Number(number) => whole(number),
            Value::Text(text) => text.parse().ok(),
            Value::Other => None,
        })
}

/// A field that should be a string; anything else is an absence.
pub(super) struct Text(pub(super) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer).map(Self)
    }
}

/// Text that may also come as a list of parts: the texts of all of them.
pub(super) struct Joined(pub(super) Option<String>);

impl<'de> Deserialize<'de> for Joined {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Joined;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E>(self, value: &str) -> Result<Joined, E> {
                Ok(Joined(Some(value.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Joined, A::Error> {
                let mut all = String::new();
                while let Some(part) = seq.next_element::<&RawValue>()? {
                    all.extend(Fields::of(part.get()).text("text"));
                }
                Ok(Joined(Some(all)))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Joined, E> {
                Ok(Joined(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Joined, E> {
                Ok(Joined(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Joined, E> {
                Ok(Joined(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Joined, E> {
                Ok(Joined(None))
            }

            fn visit_unit<E>(self) -> Result<Joined, E> {
                Ok(Joined(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Joined, A::Error> {
                Scalar.visit_map(map).map(|_| Joined(None))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

enum Value {
    Text(String),
    Number(f64),
    Other,
}

struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_mended_and_pairs_left_alone() {
        for (data, expect) in [
            (r#""\ud83d\ude00""#, None),
            (r#""a\ud83d""#, Some(r#""a\ufffd""#)),
            (r#""\uDE00b""#, Some(r#""\ufffdb""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\\ud83d""#, None),
            (r#""\ud83""#, None),
            ("\"\\ud8é\"", None),
        ] {
            assert_eq!(mend(data).as_deref(), expect, "{data}");
        }
    }

    #[test]
    fn fields_survive_wrong_types() {
        let fields =
            Fields::of(r#"{"a":"x","n":7,"f":2.5,"neg":-1,"o":{"k":[]},"a":"y","z":null}"#);
        assert_eq!(fields.text("a").as_deref(), Some("y"));
        assert_eq!(fields.text("n"), None);
        assert_eq!(fields.count("n"), Some(7));
        assert_eq!(fields.count("f"), Some(2));
        assert_eq!(fields.count("neg"), None);
        assert_eq!(fields.count("a"), None);
        assert!(fields.get("z").is_none());
        let rest = fields.rest(&["n", "f", "neg"]).take("unit").unwrap();
        assert_eq!(rest.get(), r#"{"unit":{"o":{"k":[]},"a":"y"}}"#);
        assert!(Fields::of("[1]").0.is_empty());
    }
}
