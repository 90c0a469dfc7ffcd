//! How long a call waits for a command, as models write it: `true`, `false`, seconds, or a duration such as `10m`.

use ostler_wire::{LONGEST_DURATION, seconds_of};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For the end.
    Whole,
    Not,
    For(Duration),
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let parsed = match &value {
            Value::Bool(true) | Value::Null => Some(Wait::Whole),
            Value::Bool(false) => Some(Wait::Not),
            Value::Number(seconds) => seconds.as_f64().and_then(span),
            Value::String(text) => parse(text.trim()),
            Value::Array(_) | Value::Object(_) => None,
        };
        parsed.ok_or_else(|| {
            D::Error::custom("wait is true, false, seconds or a duration such as \"10m\"")
        })
    }
}

/// One plain type, because not every vendor takes a choice of types; what is said in words is taken in any of them.
impl JsonSchema for Wait {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Wait".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

fn parse(text: &str) -> Option<Wait> {
    match text.to_ascii_lowercase().as_str() {
        "" | "true" => Some(Wait::Whole),
        "false" => Some(Wait::Not),
        text => match text.parse() {
            Ok(seconds) => span(seconds),
            Err(_) => span(seconds_of(text)?),
        },
    }
}

fn span(seconds: f64) -> Option<Wait> {
    if seconds == 0.0 {
        return Some(Wait::Not);
    }
    let span = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Wait::For(span.min(LONGEST_DURATION)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_way_to_say_it() {
        let of = |ms| Some(Wait::For(Duration::from_millis(ms)));
        for (value, expect) in [
            (json!(true), Some(Wait::Whole)),
            (json!("True"), Some(Wait::Whole)),
            (json!(""), Some(Wait::Whole)),
            (json!(false), Some(Wait::Not)),
            (json!("false"), Some(Wait::Not)),
            (json!(0), Some(Wait::Not)),
            (json!("0s"), Some(Wait::Not)),
            (json!(10), of(10_000)),
            (json!(0.25), of(250)),
            (json!("10"), of(10_000)),
            (json!("10m"), of(600_000)),
            (json!(" 1h30m "), of(5_400_000)),
            (json!("1.5s"), of(1500)),
            (json!("500 ms"), of(500)),
            (json!("2 minutes 3 seconds"), of(123_000)),
            (json!("999h"), Some(Wait::For(LONGEST_DURATION))),
            (json!(1e300), None),
            (json!(-1), None),
            (json!("-1s"), None),
            (json!("nan"), None),
            (json!("inf"), None),
            (json!("10x"), None),
            (json!("m"), None),
            (json!("1.2.3s"), None),
            (json!("10mž"), None),
            (json!([1]), None),
        ] {
            let got = Wait::deserialize(&value).ok();
            assert_eq!(got, expect, "{value}");
        }
    }
}
