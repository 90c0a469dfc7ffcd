//! The JSON of crate `wire` as schemas of the API's description, made from its types.

use ostler_wire::{Ask, Delta, Entry, Event, Op, OpLine, Open, Reply, Snapshot, View};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use utoipa::openapi::{Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Where OpenAPI keeps schemas.
const PLACE: &str = "/components/schemas";

/// The schemas, by name. Those of events are put together as the stream writes them.
pub fn all() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12();
    let mut generator = settings
        .with(|settings| {
            settings.definitions_path = PLACE.into();
            settings.meta_schema = None;
        })
        .into_generator();
    name(&mut generator);
    let mut all: Map<String, Value> = generator.take_definitions(true);
    all.insert("Event".into(), event());
    all.insert("StreamMessage".into(), message());
    all
}

/// Each of these gets a name, and so does what is in it.
fn name(generator: &mut SchemaGenerator) {
    generator.subschema_for::<Entry>();
    generator.subschema_for::<Delta>();
    generator.subschema_for::<Ask>();
    generator.subschema_for::<Reply>();
    generator.subschema_for::<Snapshot>();
    generator.subschema_for::<Open>();
    generator.subschema_for::<Op>();
    generator.subschema_for::<OpLine>();
    generator.subschema_for::<View>();
}

fn of(name: &str) -> Value {
    json!({"$ref": format!("#{PLACE}/{name}")})
}

/// The `type` that an event of this kind has.
fn kind_of(event: &Event) -> Value {
    let line = event.to_line("").unwrap_or_default();
    let mut line: Value = serde_json::from_str(&line).unwrap_or_default();
    line["type"].take()
}

/// One thing that happened in a session. What is no entry has the time at which it was passed on.
fn event() -> Value {
    let reply = Reply {
        op: None,
        command: String::new(),
        view: View::Text(String::new()),
        more: false,
    };
    let stamped = |kind: Option<Value>| {
        let mut fields = json!({"ts": {"type": "string", "description": "RFC 3339, UTC."}});
        let required = match &kind {
            Some(_) => json!(["type", "ts"]),
            None => json!(["ts"]),
        };
        if let Some(kind) = kind {
            fields["type"] = json!({"const": kind});
        }
        json!({"type": "object", "properties": fields, "required": required})
    };
    json!({
        "description": "One event of a session: an entry of its log, a delta, an ask, or the reply to a command.",
        "anyOf": [
            of("Entry"),
            {"allOf": [of("Delta"), stamped(None)]},
            {"allOf": [of("Ask"), stamped(Some(kind_of(&Event::Ask(Arc::default()))))]},
            {"allOf": [of("Reply"), stamped(Some(kind_of(&Event::Reply(Arc::new(reply)))))]},
        ],
    })
}

/// What `/api/events` sends: an event with the session that it is of.
fn message() -> Value {
    json!({
        "description": "A message of a stream that carries several sessions.",
        "type": "object",
        "properties": {"session": {"type": "string"}, "event": of("Event")},
        "required": ["session", "event"],
    })
}

/// Names a schema where an endpoint has one of these; what it says is put in its place (`all`).
macro_rules! named {
    ($($type:ident $name:literal,)*) => {$(
        pub struct $type;

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                Object::new().into()
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    )*};
}

named! {
    AskSchema "Ask",
    EntrySchema "Entry",
    EventSchema "Event",
    MessageSchema "StreamMessage",
    OpLineSchema "OpLine",
    OpenSchema "Open",
    ReplySchema "Reply",
    SnapshotSchema "Snapshot",
    ViewSchema "View",
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One name has one meaning: what the endpoints call like a type of `wire` is that type.
    #[test]
    fn no_schema_of_ours_is_replaced_by_another_one() {
        let ours = super::super::endpoints().into_openapi();
        let ours = serde_json::to_value(ours.components).unwrap();
        let placeholder = serde_json::to_value(Object::new()).unwrap();
        for (name, schema) in ours["schemas"].as_object().unwrap() {
            let is_placed = *schema == placeholder;
            assert_eq!(is_placed, all().contains_key(name), "{name}");
        }
    }
}
