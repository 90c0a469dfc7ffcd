//! The JSON Schema of a tool's arguments, reduced to what a model needs: every byte of it is paid for in each request.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut value = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut value);
    if let Some(object) = value.as_object_mut() {
        object.remove("description");
        object
            .entry("properties")
            .or_insert(Value::Object(Map::new()));
    }
    value
}

/// `oneOf` of words, each with a description of its own, is one list of words.
fn gather_words(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get("oneOf") else {
        return;
    };
    let words = variants.iter().map(|variant| match variant.get("enum") {
        Some(Value::Array(words)) => Some(words.clone()),
        Some(_) | None => Some(vec![variant.get("const")?.clone()]),
    });
    let Some(words) = words.collect::<Option<Vec<_>>>() else {
        return;
    };
    let words = words.concat();
    if words.iter().all(Value::is_string) {
        object.remove("oneOf");
        object.insert("type".into(), "string".into());
        object.insert("enum".into(), words.into());
    }
}

/// Drops titles, number formats, null variants and defaults of null.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("title").is_some_and(Value::is_string) {
                object.remove("title");
            }
            object.remove("$schema");
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if object.get("minimum").and_then(Value::as_f64) == Some(0.0) {
                object.remove("minimum");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|t| t != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            unwrap_nullable(object);
            gather_words(object);
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `anyOf: [X, null]` is X.
fn unwrap_nullable(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get_mut("anyOf") else {
        return;
    };
    variants.retain(|v| v.get("type").and_then(Value::as_str) != Some("null"));
    if let [Value::Object(one)] = variants.as_slice() {
        let one = one.clone();
        object.remove("anyOf");
        for (key, value) in one {
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_gathered() {
        for (schema, expect) in [
            (
                json!({"oneOf": [{"type": "string", "enum": ["a", "b"]}, {"const": "c", "description": "x"}]}),
                json!({"type": "string", "enum": ["a", "b", "c"]}),
            ),
            (
                json!({"oneOf": [{"const": 1}, {"const": "c"}]}),
                json!({"oneOf": [{"const": 1}, {"const": "c"}]}),
            ),
            (
                json!({"oneOf": [{"type": "string"}]}),
                json!({"oneOf": [{"type": "string"}]}),
            ),
        ] {
            let mut tidied = schema.clone();
            tidy(&mut tidied);
            assert_eq!(tidied, expect, "{schema}");
        }
    }
}
