//! The configuration's JSON Schema, as editors like it. What is in it is said in `schema`.

use crate::schema::Config;

/// The JSON Schema of a configuration file, for editors. Never called while starting.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    drop_null(&mut schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(|all| all.as_object_mut()) {
        for definition in definitions
            .values_mut()
            .filter_map(|one| one.as_object_mut())
        {
            // Editors should mark a misspelt key; loading only warns.
            if definition.contains_key("properties") {
                let closed = definition.entry("additionalProperties");
                closed.or_insert(false.into());
            }
        }
    }
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".into(), "Ostler configuration".into());
    }
    schema
}

/// TOML has no null: an unset key is simply absent.
fn drop_null(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(fields) => {
            // A table's default is the sum of its keys' defaults, which have their own.
            let is_plain = |default: &serde_json::Value| !default.is_null() && !default.is_object();
            if fields
                .get("default")
                .is_some_and(|default| !is_plain(default))
            {
                fields.remove("default");
            }
            if let Some(serde_json::Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".into(), only);
                }
            }
            if let Some(serde_json::Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&"null".into()));
            }
            fields.values_mut().for_each(drop_null);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(drop_null),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}
