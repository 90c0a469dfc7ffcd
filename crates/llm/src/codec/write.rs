//! Appends JSON to a byte buffer. What is written is never read back or moved, apart from one kind of late mark.

use super::loose::{self, Fields};
use crate::{CallResult, Calls, Params, Target};
use ostler_wire::{Image, Json, ToolSpec};
use serde::Serializer;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Stands where a picture would, for a model that takes none.
pub(super) const NO_IMAGE: &str = "[image left out: this model takes no pictures]";
/// Stands in a result that is nothing but pictures, where those can only follow it.
pub(super) const IMAGES_FOLLOW: &str = "[see the pictures]";
/// Comes before pictures that could not stand in the result they belong to.
pub(super) const RESULT_IMAGES: &str = "[pictures from the results above]";
/// Late mark of a cache breakpoint, before the closing brace of a block.
const CACHE_MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;
const EMPTY_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;
/// The longest call name and call id that every endpoint takes.
const MAX_NAME: usize = 64;

/// A JSON string.
pub(super) fn text(out: &mut Vec<u8>, value: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

/// `data:<type>;base64,<data>` as a JSON string.
pub(super) fn data_url(out: &mut Vec<u8>, image: &Image) {
    let url = format_args!("data:{};base64,{}", image.media_type, image.data);
    let _ = serde_json::Serializer::new(out).collect_str(&url);
}

/// An object that is written field by field.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes the key; the caller writes the value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        text(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        text(self.key(key), value);
    }

    /// `value` must be JSON.
    pub(super) fn raw(&mut self, key: &str, value: &str) {
        self.key(key).extend_from_slice(value.as_bytes());
    }

    pub(super) fn object(&mut self, key: &str) -> Object<'_> {
        Object::open(self.key(key))
    }

    pub(super) fn list(&mut self, key: &str) -> List<'_> {
        List::open(self.key(key))
    }

    /// Everything written so far, for a late mark.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Fields that came from elsewhere, without those that are named.
    pub(super) fn fields(&mut self, fields: &Fields<'_>, except: &[&str]) {
        for (key, value) in fields.without(except) {
            self.raw(key, value);
        }
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}

/// An array that is written item by item.
pub(super) struct List<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> List<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, empty: true }
    }

    /// Items that stand in an array which somebody else opens and closes.
    pub(super) fn inside(out: &'a mut Vec<u8>) -> Self {
        Self { out, empty: true }
    }

    /// Separates; the caller writes the item.
    pub(super) fn item(&mut self) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out
    }

    pub(super) fn object(&mut self) -> Object<'_> {
        Object::open(self.item())
    }

    pub(super) fn raw(&mut self, value: &str) {
        self.item().extend_from_slice(value.as_bytes());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Where the next byte goes: just after the last item.
    pub(super) fn end(&self) -> usize {
        self.out.len()
    }

    pub(super) fn close(self) {
        self.out.push(b']');
    }
}

/// Puts a cache mark into the object that ends at `end`.
pub(super) fn cache_mark(out: &mut Vec<u8>, end: usize) {
    if let Some(brace) = end.checked_sub(1)
        && out.get(brace) == Some(&b'}')
    {
        out.splice(brace..brace, CACHE_MARK.iter().copied());
    }
}

/// The top level of a body. A field of `extra_body` replaces ours of the same name and stands in its place.
pub(super) struct Top<'a> {
    object: Object<'a>,
    extra: Fields<'a>,
    done: Vec<&'static str>,
}

impl<'a> Top<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>, target: &'a Target) -> Self {
        Self {
            object: Object::open(out),
            extra: extra(target),
            done: Vec::new(),
        }
    }

    /// Goes on after the message array. `done` names what was written before it and must not come again.
    pub(super) fn resume(out: &'a mut Vec<u8>, target: &'a Target, done: &[&'static str]) -> Self {
        out.push(b']');
        Self {
            object: Object { out, empty: false },
            extra: extra(target),
            done: done.to_vec(),
        }
    }

    /// A field of ours that `extra_body` may replace. `ours` writes the value; without one only a replacement is written.
    pub(super) fn field(&mut self, key: &'static str, ours: Option<impl FnOnce(&mut Vec<u8>)>) {
        self.done.push(key);
        if let Some(theirs) = self.extra.get(key) {
            self.object.raw(key, theirs.get());
        } else if let Some(ours) = ours {
            ours(self.object.key(key));
        }
    }

    pub(super) fn text(&mut self, key: &'static str, value: &str) {
        self.field(key, Some(|out: &mut Vec<u8>| text(out, value)));
    }

    pub(super) fn raw(&mut self, key: &'static str, value: Option<&str>) {
        let write = value.map(|v| move |out: &mut Vec<u8>| out.extend_from_slice(v.as_bytes()));
        self.field(key, write);
    }

    pub(super) fn flag(&mut self, key: &'static str, value: bool) {
        self.raw(key, Some(if value { "true" } else { "false" }));
    }

    pub(super) fn count(&mut self, key: &'static str, value: Option<u64>) {
        self.raw(key, value.map(|v| v.to_string()).as_deref());
    }

    pub(super) fn number(&mut self, key: &'static str, value: Option<f64>) {
        self.raw(key, value.and_then(number).as_deref());
    }

    /// A field that nobody may replace.
    pub(super) fn own(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.object.key(key)
    }

    /// An object whose fields `extra_body` may replace one by one, and add to.
    pub(super) fn merged(&mut self, key: &'static str, ours: &[(&str, String)]) {
        self.done.push(key);
        let theirs = self.extra.object(key);
        let names: Vec<&str> = ours.iter().map(|(name, _)| *name).collect();
        let mut more = theirs.without(&names).peekable();
        if ours.is_empty() && more.peek().is_none() {
            return;
        }
        let mut object = self.object.object(key);
        for (name, value) in ours {
            object.raw(name, theirs.get(name).map_or(value, RawValue::get));
        }
        for (name, value) in more {
            object.raw(name, value);
        }
        object.close();
    }

    /// Writes what is left of `extra_body` and ends the body.
    pub(super) fn close(self) {
        let Self {
            mut object,
            extra,
            done,
        } = self;
        object.fields(&extra, &done);
        object.close();
    }
}

fn extra(target: &Target) -> Fields<'_> {
    target
        .extra_body
        .as_ref()
        .map_or_else(Fields::default, |body| Fields::of(body.get()))
}

/// What a protocol says when an answer may not call tools.
pub(super) fn forbidden<'a>(params: &Params, says: &'a str) -> Option<&'a str> {
    (params.calls == Calls::Forbidden).then_some(says)
}

/// What a replay blob holds for the given unit of a protocol.
pub(super) fn replayed<'a>(blob: Option<&'a Json>, unit: &str) -> Fields<'a> {
    blob.map_or_else(Fields::default, |blob| Fields::of(blob.get()).object(unit))
}

/// A finite number as JSON.
pub(super) fn number(value: f64) -> Option<String> {
    serde_json::Number::from_f64(value).map(|n| n.to_string())
}

/// The arguments as an object: as they are but for halves of surrogate pairs, or empty when they are not one.
pub(super) fn arguments(raw: &str) -> Cow<'_, str> {
    if !is_object(raw) {
        return Cow::Borrowed("{}");
    }
    let raw = raw.trim();
    loose::mend(raw).map_or(Cow::Borrowed(raw), Cow::Owned)
}

pub(super) fn is_object(raw: &str) -> bool {
    raw.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(raw).is_ok()
}

/// The text of a result whose pictures do not stand in it.
pub(super) fn result_text<'a>(target: &Target, result: &'a CallResult) -> Cow<'a, str> {
    let text = result.text.as_str();
    match (result.images.is_empty(), target.images) {
        (false, true) if text.is_empty() => Cow::Borrowed(IMAGES_FOLLOW),
        (false, false) if text.is_empty() => Cow::Borrowed(NO_IMAGE),
        (false, false) => Cow::Owned(format!("{text}\n{NO_IMAGE}")),
        (true, _) | (false, true) => Cow::Borrowed(text),
    }
}

/// The schema of a tool's arguments: an object in any case.
pub(super) fn schema(tool: &ToolSpec) -> &str {
    match tool.parameters.get() {
        json if json.starts_with('{') => json,
        _ => EMPTY_SCHEMA,
    }
}

/// A name of letters, digits, `_` and `-` that begins with no digit: a model may have made up another, and one such name in the history
/// would make every later request fail.
pub(super) fn name(raw: &str) -> Cow<'_, str> {
    let starts_well = raw.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && raw.len() <= MAX_NAME && raw.bytes().all(is_plain) {
        return Cow::Borrowed(raw);
    }
    let mut plain = if starts_well {
        String::new()
    } else {
        "_".to_owned()
    };
    plain.extend(raw.chars().take(MAX_NAME - 1).map(plain_char));
    Cow::Owned(plain)
}

/// A call id of letters, digits, `_` and `-`, at most 64 long. Different ids stay different.
pub(super) fn call_id(raw: &str) -> Cow<'_, str> {
    if !raw.is_empty() && raw.len() <= MAX_NAME && raw.bytes().all(is_plain) {
        return Cow::Borrowed(raw);
    }
    let start: String = raw.chars().take(40).map(plain_char).collect();
    Cow::Owned(format!("{start}_{:016x}", fnv(raw)))
}

/// A call id of nine letters or digits.
pub(super) fn short_call_id(raw: &str) -> Cow<'_, str> {
    const LENGTH: usize = 9;
    if raw.len() == LENGTH && raw.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Cow::Borrowed(raw);
    }
    let mut rest = fnv(raw);
    let digits = std::iter::repeat_with(|| {
        let digit = char::from_digit((rest % 36) as u32, 36).unwrap_or('0');
        rest /= 36;
        digit
    });
    Cow::Owned(digits.take(LENGTH).collect())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn plain_char(c: char) -> char {
    if c.is_ascii() && is_plain(c as u8) {
        c
    } else {
        '_'
    }
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_fit_every_endpoint() {
        for (raw, expect) in [
            ("bash", "bash"),
            ("mcp__a-b__c", "mcp__a-b__c"),
            ("run it!", "run_it_"),
            ("9lives", "_9lives"),
            ("", "_"),
            ("größe", "gr__e"),
        ] {
            assert_eq!(name(raw), expect);
        }
        assert!(name(&"x".repeat(200)).len() <= MAX_NAME);
        for (raw, expect) in [
            ("call_Ab-1", "call_Ab-1"),
            ("functions.bash:0", "functions_bash_0_7cbb607bba97adb4"),
            ("functions/bash:0", "functions_bash_0_c7b59b653cad7d27"),
            ("", "_cbf29ce484222325"),
        ] {
            assert_eq!(call_id(raw), expect);
        }
        assert!(call_id(&"é".repeat(200)).len() <= MAX_NAME);
        assert_eq!(short_call_id("abcDEF123"), "abcDEF123");
        assert_eq!(short_call_id("call_1").len(), 9);
        assert_ne!(short_call_id("call_1"), short_call_id("call_2"));
    }

    #[test]
    fn arguments_are_an_object() {
        for (raw, expect) in [
            (r#"{"a":1.0}"#, r#"{"a":1.0}"#),
            (" {\n} ", "{\n}"),
            ("", "{}"),
            ("[1]", "{}"),
            ("\"x\"", "{}"),
            (r#"{"a":"#, "{}"),
            (r#"{} {}"#, "{}"),
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
        ] {
            assert_eq!(arguments(raw), expect);
        }
    }
}
