//! The parameters of a tool as its schema names them: what the check of arguments looks at.

use serde_json::{Map, Value};

/// The parameters of one object.
#[derive(Debug, Default)]
pub struct Shape {
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub required: bool,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Plain,
    /// One of these texts.
    Words(Vec<String>),
    /// A list of objects.
    Items(Shape),
}

impl Shape {
    pub fn of(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let fields = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Field {
                name: name.clone(),
                required: required.contains(&name.as_str()),
                kind: Kind::of(schema),
            });
        Self {
            fields: fields.collect(),
        }
    }

    pub fn find(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether nothing has to be looked up: every name and every word is one of the tool's own.
    pub fn fits(&self, args: &Map<String, Value>) -> bool {
        args.iter().all(|(name, value)| {
            let Some(field) = self.find(name) else {
                return false;
            };
            match (&field.kind, value) {
                (Kind::Plain, _) => true,
                (Kind::Words(words), Value::String(text)) => words.contains(text),
                (Kind::Items(shape), Value::Array(items)) => items
                    .iter()
                    .all(|item| item.as_object().is_some_and(|item| shape.fits(item))),
                (Kind::Words(_) | Kind::Items(_), _) => true,
            }
        })
    }

    /// The names as the model reads them.
    pub fn describe(&self) -> String {
        if self.fields.is_empty() {
            return "no parameters".to_owned();
        }
        let names = self.fields.iter().map(|field| match field.required {
            true => format!("{} (required)", field.name),
            false => field.name.clone(),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Kind {
    fn of(schema: &Value) -> Self {
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
            return Self::Words(words.collect());
        }
        match schema.get("items") {
            Some(items) if items.get("properties").is_some() => Self::Items(Shape::of(items)),
            Some(_) | None => Self::Plain,
        }
    }
}
