//! A piece of JSON kept as the text it arrived in, on one line: what was stored is what is sent again.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// Valid JSON text without line breaks. Number spelling, key order and unknown fields survive.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Takes text that must be valid JSON. Line breaks between tokens become spaces, so that it fits one log line.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let mut text = text.into();
        if text.contains(['\n', '\r']) {
            // In valid JSON a raw line break can only stand between tokens.
            text = text.replace(['\n', '\r'], " ");
        }
        let trimmed = text.trim();
        if trimmed.len() != text.len() {
            text = trimmed.to_owned();
        }
        RawValue::from_string(text).map(Self)
    }

    /// Serialises a value of ours. A value that cannot be written as JSON becomes `null`.
    pub fn of(value: &impl Serialize) -> Self {
        serde_json::value::to_raw_value(value).map_or_else(|_| Self::null(), Self)
    }

    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    pub fn get(&self) -> &str {
        self.0.get()
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    pub fn to_value(&self) -> serde_json::Value {
        self.parse().unwrap_or_default()
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::of(&value)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.get())
    }
}

impl schemars::JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    /// Anything.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn text_survives_on_one_line() {
        for (input, expect) in [
            (r#"{"a":1.0,"b":1e5}"#, r#"{"a":1.0,"b":1e5}"#),
            ("{\n  \"a\": \"x\\ny\"\r\n}", "{   \"a\": \"x\\ny\"  }"),
            (" 12345678901234567890123 ", "12345678901234567890123"),
        ] {
            assert_eq!(Json::from_text(input).unwrap().get(), expect);
        }
        assert!(Json::from_text("{\"a\":").is_err());
        assert!(Json::from_text("").is_err());
    }
}
