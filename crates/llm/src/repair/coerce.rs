//! Fits argument values to the types a schema asks for, where only one reading is possible: `"5"` for a number and the like.

use super::json::{self, Ended};
use serde_json::{Map, Number, Value};

/// How many references a schema may go through to say what a value is.
const MAX_REFS: usize = 6;
/// Words that models send for a value that they do not give.
const NOTHING: [&str; 4] = ["null", "None", "undefined", "nil"];

/// Changes what the schema refuses and what can only have meant one thing. Returns what was changed, for the log.
pub fn coerce(args: &mut Value, schema: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    walk(args, schema, schema, "", &mut notes);
    notes
}

/// The JSON types a schema accepts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Types {
    null: bool,
    boolean: bool,
    integer: bool,
    number: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl Types {
    const ANY: Self = Self {
        null: true,
        boolean: true,
        integer: true,
        number: true,
        string: true,
        array: true,
        object: true,
    };

    fn add(&mut self, name: &str) {
        match name {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "string" => self.string = true,
            "array" => self.array = true,
            "object" => self.object = true,
            _ => *self = Self::ANY,
        }
    }

    fn join(&mut self, other: Self) {
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.integer |= other.integer;
        self.number |= other.number;
        self.string |= other.string;
        self.array |= other.array;
        self.object |= other.object;
    }

    /// Nothing else than true and false is accepted.
    fn is_boolean(self) -> bool {
        let others = [
            self.integer,
            self.number,
            self.string,
            self.array,
            self.object,
        ];
        self.boolean && !others.contains(&true)
    }

    fn allow(self, value: &Value) -> bool {
        match value {
            Value::Null => self.null,
            Value::Bool(_) => self.boolean,
            Value::Number(n) => self.number || (self.integer && !n.is_f64()),
            Value::String(_) => self.string,
            Value::Array(_) => self.array,
            Value::Object(_) => self.object,
        }
    }
}

fn walk(value: &mut Value, schema: &Value, root: &Value, path: &str, notes: &mut Vec<String>) {
    let types = types(schema, root, MAX_REFS);
    if !types.allow(value)
        && let Some(fitted) = fit(value, types, schema, root)
    {
        notes.push(format!("{path} {} as {}", name(value), name(&fitted)));
        *value = fitted;
    }
    match value {
        Value::Object(fields) => {
            if let Some(schema) = branch(schema, root, "properties", MAX_REFS) {
                walk_fields(fields, schema, root, path, notes);
            }
        }
        Value::Array(items) => {
            let schema = branch(schema, root, "items", MAX_REFS).and_then(|s| s.get("items"));
            if let Some(schema) = schema {
                for (n, item) in items.iter_mut().enumerate() {
                    walk(item, schema, root, &format!("{path}[{n}]"), notes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn walk_fields(
    fields: &mut Map<String, Value>,
    schema: &Value,
    root: &Value,
    path: &str,
    notes: &mut Vec<String>,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    fields.retain(|key, value| {
        let Some(schema) = properties.get(key) else {
            return true;
        };
        let types = types(schema, root, MAX_REFS);
        let says_nothing = match value {
            Value::Null => !types.null,
            Value::String(text) => {
                let word = text.trim();
                !types.string && (word.is_empty() || !types.null && NOTHING.contains(&word))
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
        };
        let absent = says_nothing && !required.contains(&key.as_str());
        if absent {
            notes.push(format!("{} {} as absent", join(path, key), name(value)));
        }
        !absent
    });
    for (key, value) in fields {
        if let Some(schema) = properties.get(key) {
            walk(value, schema, root, &join(path, key), notes);
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The one value of an accepted type that `value` can have meant.
fn fit(value: &Value, types: Types, schema: &Value, root: &Value) -> Option<Value> {
    let direct = match value {
        Value::String(text) => from_text(text.trim(), types),
        Value::Number(n) if types.is_boolean() => match n.as_u64() {
            Some(0) => Some(false.into()),
            Some(1) => Some(true.into()),
            Some(_) | None => None,
        },
        Value::Number(n) if types.integer && n.is_f64() => whole(n),
        Value::Number(n) if types.string && !types.array && !n.is_f64() => {
            Some(Value::String(n.to_string()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    };
    direct.or_else(|| {
        let items = branch(schema, root, "items", MAX_REFS).and_then(|s| s.get("items"));
        let accepts = items.is_none_or(|items| self::types(items, root, MAX_REFS).allow(value));
        (types.array && !value.is_array() && !value.is_null() && accepts)
            .then(|| Value::Array(vec![value.clone()]))
    })
}

fn from_text(text: &str, types: Types) -> Option<Value> {
    let lower = text.to_ascii_lowercase();
    let parsed = match lower.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "yes" | "on" | "1" if types.is_boolean() => Value::Bool(true),
        "no" | "off" | "0" if types.is_boolean() => Value::Bool(false),
        _ => serde_json::from_str(text).ok().or_else(|| loose(text))?,
    };
    let number = parsed.as_number().filter(|n| n.is_f64());
    let parsed = match number.filter(|_| !types.allow(&parsed) && !lower.contains('e')) {
        Some(number) => whole(number)?,
        None => parsed,
    };
    // A string inside a string has no business here.
    (types.allow(&parsed) && !parsed.is_string()).then_some(parsed)
}

/// A list or an object as other languages write it.
fn loose(text: &str) -> Option<Value> {
    let read = text
        .starts_with(['[', '{'])
        .then(|| json::read(text, Ended::Cut))?;
    let read = read.ok().filter(|read| read.used == text.len())?;
    serde_json::from_str(&read.json).ok()
}

fn whole(number: &Number) -> Option<Value> {
    let float = number.as_f64()?;
    // Up to here every whole number has its own float.
    let exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    exact.then(|| Value::from(float as i64))
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn types(schema: &Value, root: &Value, refs: usize) -> Types {
    let Some(object) = schema.as_object().filter(|_| refs > 0) else {
        return Types::ANY;
    };
    if let Some(target) = object.get("$ref") {
        return resolve(target, root).map_or(Types::ANY, |schema| types(schema, root, refs - 1));
    }
    let mut found = Types::default();
    match object.get("type") {
        Some(Value::String(name)) => found.add(name),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .for_each(|name| found.add(name)),
        _ => {}
    }
    if found == Types::default() {
        for alternative in alternatives(schema) {
            found.join(types(alternative, root, refs - 1));
        }
        let values = object.get("enum").and_then(Value::as_array);
        for value in values.into_iter().flatten().chain(object.get("const")) {
            found.add(match value {
                Value::Number(n) if !n.is_f64() => "integer",
                Value::Array(_) => "array",
                other => name(other),
            });
        }
    }
    if found == Types::default() {
        Types::ANY
    } else {
        found
    }
}

/// The part of a schema that has `key`: itself, or the only alternative that has it.
fn branch<'a>(schema: &'a Value, root: &'a Value, key: &str, refs: usize) -> Option<&'a Value> {
    if refs == 0 || schema.get(key).is_some() {
        return schema.get(key).map(|_| schema);
    }
    if let Some(target) = schema.get("$ref") {
        return branch(resolve(target, root)?, root, key, refs - 1);
    }
    let mut found = alternatives(schema).filter_map(|s| branch(s, root, key, refs - 1));
    found.next().filter(|_| found.next().is_none())
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten()
}

fn resolve<'a>(target: &Value, root: &'a Value) -> Option<&'a Value> {
    root.pointer(target.as_str()?.strip_prefix('#')?)
}
