//! Calls in notations that are not JSON as a call has it: as those of a Python function, as an object by the tool's name, and
//! with marks around texts. Each gives nothing unless it reads the whole of its calls.

use super::json::{self, Ended};
use super::notation::{Call, MAX_CALLS, split_name};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Around a text, in which every sign stands for itself.
const TEXT_MARK: &str = "<escape>";
/// Before the name of a tool.
const CALL: &str = "call:";

/// `[name(key="value"), …]`.
pub fn python(text: &str) -> Option<(Vec<Call>, &str)> {
    let mut rest = text.strip_prefix('[')?.trim_start();
    let mut calls = Vec::new();
    loop {
        let (name, after) = split_name(rest)?;
        let (arguments, after) = keywords(after.strip_prefix('(')?)?;
        calls.push((name.to_owned(), arguments));
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(']') {
            return Some((calls, after));
        }
        rest = after
            .strip_prefix(',')
            .filter(|_| calls.len() < MAX_CALLS)?
            .trim_start();
    }
}

/// `key=value, …)`.
fn keywords(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim_start();
    let mut object = Map::new();
    while !rest.starts_with(')') {
        let (key, after) = split_name(rest)?;
        let after = after.trim_start().strip_prefix('=')?.trim_start();
        let read = json::read(after, Ended::Cut).ok()?;
        let value: Value = serde_json::from_str(&read.json).ok()?;
        let is_new = object.insert(key.to_owned(), value).is_none();
        let after = after.get(read.used..)?.trim_start();
        let is_last = after.starts_with(')');
        rest = match after.strip_prefix(',') {
            Some(after) if is_new => after.trim_start(),
            None if is_new && is_last => after,
            Some(_) | None => return None,
        };
    }
    Some((Value::Object(object).to_string(), rest.strip_prefix(')')?))
}

/// `[{"name": {…}}, …]`.
pub fn by_name(text: &str) -> Option<(Vec<Call>, &str)> {
    let read = json::read(text, Ended::Cut).ok()?;
    let items: Vec<BTreeMap<String, Box<RawValue>>> = serde_json::from_str(&read.json).ok()?;
    let mut calls = Vec::new();
    for item in items {
        let is_one = item.len() == 1 && calls.len() < MAX_CALLS;
        let (name, arguments) = item.into_iter().next().filter(|_| is_one)?;
        let arguments = arguments.get();
        calls.push((
            name,
            arguments.starts_with('{').then(|| arguments.to_owned())?,
        ));
    }
    Some((calls, text.get(read.used..)?))
}

/// `call:name{key:<escape>text<escape>,other:3}`.
pub fn escaped(text: &str) -> Option<(Vec<Call>, &str)> {
    let (name, rest) = split_name(text.strip_prefix(CALL)?)?;
    let mut rest = rest.strip_prefix('{')?;
    let mut object = Map::new();
    while !rest.starts_with('}') {
        let (key, after) = split_name(rest)?;
        let after = after.strip_prefix(':')?;
        let (value, after) = match after.strip_prefix(TEXT_MARK) {
            Some(after) => {
                let (value, after) = after.split_once(TEXT_MARK)?;
                (Value::from(value), after)
            }
            None => {
                let read = json::read(after, Ended::Cut).ok()?;
                (
                    serde_json::from_str(&read.json).ok()?,
                    after.get(read.used..)?,
                )
            }
        };
        let is_new = object.insert(key.to_owned(), value).is_none();
        let is_last = after.starts_with('}');
        rest = match after.strip_prefix(',') {
            Some(after) if is_new => after,
            None if is_new && is_last => after,
            Some(_) | None => return None,
        };
    }
    let call = (name.to_owned(), Value::Object(object).to_string());
    Some((vec![call], rest.strip_prefix('}')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_whole_or_not_at_all() {
        type Read = for<'a> fn(&'a str) -> Option<(Vec<Call>, &'a str)>;
        let forms: [(Read, &str, Option<&str>); 15] = [
            (python, "[f()]", Some("f {}")),
            (
                python,
                "[f(a=\"x, )\", b=3, c=True)]",
                Some(r#"f {"a":"x, )","b":3,"c":true}"#),
            ),
            (
                python,
                "[f(a='x'), g(b=[1, 2])]",
                Some(r#"f {"a":"x"} + g {"b":[1,2]}"#),
            ),
            (python, "[f(a=\"x\"]", None),
            (python, "[f(\"x\")]", None),
            (python, "[f(a=1, a=2)]", None),
            (python, "[f(a=g(1))]", None),
            (python, "f()", None),
            (by_name, r#"[{"f": {"a": 1}}]"#, Some(r#"f {"a":1}"#)),
            (by_name, r#"[{"f": {}, "g": {}}]"#, None),
            (by_name, r#"[{"f": 1}]"#, None),
            (escaped, "call:f{}", Some("f {}")),
            (
                escaped,
                "call:f{a:<escape>x, }<escape>,b:3}",
                Some(r#"f {"a":"x, }","b":3}"#),
            ),
            (escaped, "call:f{a:<escape>x}", None),
            (escaped, "call:f{a:1,a:2}", None),
        ];
        for (read, text, expect) in forms {
            let calls = read(text).map(|(calls, _)| {
                let calls = calls.iter().map(|(name, args)| format!("{name} {args}"));
                calls.collect::<Vec<_>>().join(" + ")
            });
            assert_eq!(calls.as_deref(), expect, "{text}");
        }
    }
}
