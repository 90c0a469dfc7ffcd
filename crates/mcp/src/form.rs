//! What a server wants to know of the person: a form of simple fields, or a page to visit. Pure.

use crate::sampling::{SamplingAnswer, SamplingRequest};
use crate::text;
use futures_util::future::BoxFuture;
use ostler_wire::Word;
use serde_json::{Map, Value};

/// Fields of a form.
const MAX_FIELDS: usize = 32;
const MAX_CHOICES: usize = 100;
const MAX_LABEL: usize = 200;
const MAX_MESSAGE: usize = 4_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    pub message: String,
    pub fields: Vec<Field>,
    /// To be opened in a browser, instead of fields.
    pub page: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub label: String,
    pub kind: FieldKind,
    pub default: Option<Value>,
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Words,
    Number,
    Flag,
    /// Values, each with what it is called.
    One(Vec<(String, String)>),
    Many(Vec<(String, String)>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum FormReply {
    Accept(Map<String, Value>),
    Decline,
    /// Nobody answered.
    Cancel,
}

/// Stands between a server and the person: what it wants to know, and what it wants a model to say.
pub trait Asker: Send + Sync {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormReply>;

    /// A model's word, if the person lets the server have it. The error says why not.
    fn sample(&self, wanted: SamplingRequest) -> BoxFuture<'_, Result<SamplingAnswer, String>>;
}

impl Form {
    pub fn new(message: &str, schema: &Value) -> Self {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            let mut names = required.into_iter().flatten().filter_map(Value::as_str);
            names.any(|required| required == name)
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten().take(MAX_FIELDS);
        let fields = fields.map(|(name, schema)| Field {
            label: label(name, schema),
            kind: kind(schema),
            default: schema.get("default").cloned(),
            required: is_required(name),
            name: name.clone(),
        });
        Self {
            message: text::cut(message, MAX_MESSAGE),
            fields: fields.collect(),
            page: None,
        }
    }

    /// A page to visit; none for an address that does not lead to the web, such as a file of the person's.
    pub fn page(message: &str, url: &str) -> Option<Self> {
        let url = text::clean(url);
        let parsed = url::Url::parse(&url).ok()?;
        let is_web = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
        is_web.then(|| Self {
            message: text::cut(message, MAX_MESSAGE),
            fields: Vec::new(),
            page: Some(url),
        })
    }

    /// The answer of somebody who takes what is proposed.
    pub fn defaults(&self) -> Map<String, Value> {
        let given = self.fields.iter();
        let given = given.filter_map(|f| Some((f.name.clone(), f.default.clone()?)));
        given.collect()
    }
}

impl Field {
    /// The value that a person's words stand for; the error says what is wanted.
    pub fn value(&self, words: &str) -> Result<Option<Value>, Word> {
        let words = words.trim();
        if words.is_empty() {
            return match (&self.default, self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err(Word::FormNeeded),
            };
        }
        let of = |choices: &[(String, String)], word: &str| {
            let mut found = choices.iter().filter(|(v, l)| v == word || l == word);
            found.next().map(|(value, _)| Value::from(value.as_str()))
        };
        match &self.kind {
            FieldKind::Words => Ok(Some(words.into())),
            FieldKind::Number => match serde_json::from_str::<serde_json::Number>(words) {
                Ok(number) => Ok(Some(number.into())),
                Err(_) => Err(Word::FormNumber),
            },
            FieldKind::Flag => match words.to_lowercase().as_str() {
                "y" | "yes" | "true" | "是" => Ok(Some(true.into())),
                "n" | "no" | "false" | "否" => Ok(Some(false.into())),
                _ => Err(Word::FormFlag),
            },
            FieldKind::One(choices) => of(choices, words).map(Some).ok_or(Word::FormOne),
            FieldKind::Many(choices) => {
                let all: Option<Vec<Value>> = words
                    .split(',')
                    .map(|word| of(choices, word.trim()))
                    .collect();
                all.map(|all| Some(all.into())).ok_or(Word::FormSome)
            }
        }
    }
}

fn label(name: &str, schema: &Value) -> String {
    let word = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = match word("title") {
        "" => name,
        title => title,
    };
    text::line(&format!("{title} {}", word("description")), MAX_LABEL)
}

fn kind(schema: &Value) -> FieldKind {
    let choices = choices(schema);
    if !choices.is_empty() {
        return FieldKind::One(choices);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => FieldKind::Number,
        Some("boolean") => FieldKind::Flag,
        Some("array") => {
            FieldKind::Many(self::choices(schema.get("items").unwrap_or(&Value::Null)))
        }
        Some(_) | None => FieldKind::Words,
    }
}

fn choices(schema: &Value) -> Vec<(String, String)> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let word = |value: &Value| value.as_str().map(|t| text::line(t, MAX_LABEL));
    if let Some(values) = list("enum") {
        let names = list("enumNames");
        let one = |(n, value): (usize, &Value)| {
            let name = names.and_then(|names| word(names.get(n)?));
            let value = value.as_str()?.to_owned();
            Some((value.clone(), name.unwrap_or(value)))
        };
        return values
            .iter()
            .take(MAX_CHOICES)
            .enumerate()
            .filter_map(one)
            .collect();
    }
    let options = list("oneOf").or_else(|| list("anyOf"));
    let one = |option: &Value| {
        let value = option.get("const")?.as_str()?.to_owned();
        let title = option.get("title").and_then(word);
        Some((value.clone(), title.unwrap_or(value)))
    };
    options
        .into_iter()
        .flatten()
        .take(MAX_CHOICES)
        .filter_map(one)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_are_read_and_answered() {
        let form = Form::new(
            "Who are you?\u{7}",
            &json!({"properties": {
                "name": {"type": "string", "title": "Name", "description": "as they call you"},
                "age": {"type": "integer", "default": 7},
                "sure": {"type": "boolean"},
                "size": {"enum": ["s", "l"], "enumNames": ["small", "large"]},
                "sides": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
            }, "required": ["name"]}),
        );
        assert_eq!(form.message, "Who are you?");
        assert_eq!(
            form.fields
                .iter()
                .map(|f| f.label.as_str())
                .collect::<Vec<_>>(),
            ["Name as they call you", "age", "sure", "size", "sides"]
        );
        assert_eq!(Value::Object(form.defaults()), json!({"age": 7}));
        for (field, words, expect) in [
            (0, "Ann", Ok(Some(json!("Ann")))),
            (0, " ", Err(Word::FormNeeded)),
            (1, "", Ok(Some(json!(7)))),
            (1, "8", Ok(Some(json!(8)))),
            (1, "eight", Err(Word::FormNumber)),
            (2, "yes", Ok(Some(json!(true)))),
            (2, "", Ok(None)),
            (2, "perhaps", Err(Word::FormFlag)),
            (3, "large", Ok(Some(json!("l")))),
            (3, "s", Ok(Some(json!("s")))),
            (3, "m", Err(Word::FormOne)),
            (4, "A, b", Ok(Some(json!(["a", "b"])))),
            (4, "c", Err(Word::FormSome)),
        ] {
            assert_eq!(form.fields[field].value(words), expect, "{field} {words}");
        }
    }

    #[test]
    fn only_pages_of_the_web_are_offered() {
        for (url, is_offered) in [
            ("https://example.com/login?x=1", true),
            ("HTTP://127.0.0.1:8080/", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("ssh://host/", false),
            ("vscode://file/etc/passwd", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(Form::page("m", url).is_some(), is_offered, "{url}");
        }
    }
}
