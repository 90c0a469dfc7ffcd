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
