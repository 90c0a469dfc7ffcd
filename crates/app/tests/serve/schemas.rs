//! What the API says of its JSON holds for what it sends: events, snapshots, replies, lists and ops.

use super::bench::Bench;
use jsonschema::Validator;
use ostler_testkit::Step;
use serde_json::{Value, json};

/// Checks values against one schema of the description.
struct Schema {
    name: String,
    validator: Validator,
}

impl Schema {
    fn of(api: &Value, name: &str) -> Schema {
        let components = &api["components"];
        assert!(components["schemas"][name].is_object(), "no schema {name}");
        let whole =
            json!({"$ref": format!("#/components/schemas/{name}"), "components": components});
        Schema {
            name: name.into(),
            validator: jsonschema::validator_for(&whole).unwrap(),
        }
    }

    #[track_caller]
    fn fits(&self, value: &Value) {
        let errors = self.validator.iter_errors(value);
        let errors: Vec<String> = errors
            .map(|e| format!("{e} at {}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}\n{value:#}", self.name);
    }

    #[track_caller]
    fn refuses(&self, value: &Value) {
        assert!(!self.validator.is_valid(value), "{}: {value}", self.name);
    }
}

#[test]
fn what_is_sent_fits_the_schemas_of_the_description() {
    let edit = json!({"path": "a.py", "content": "print(1)\n"});
    let steps = [
        Step::answer()
            .reasoning("Let me see.")
            .text("I look.")
            .call("ls", json!({"path": "."}))
            .call("write_file", edit),
        Step::answer().call("bash", json!({"command": "echo out; exit 3"})),
        Step::answer().text("Done."),
    ];
    let bench = Bench::new(steps);
    let api = bench.get("/api/openapi.json");
    let [event, snapshot, reply, row, op] =
        ["Event", "Snapshot", "Reply", "SessionRow", "OpLine"].map(|name| Schema::of(&api, name));
    let opened = bench.open(json!("new"));
    snapshot.fits(&opened["snapshot"]);
    let session = opened["id"].as_str().unwrap().to_owned();
    let mut events = bench.events(&session, None);
    snapshot.fits(&events.next().unwrap().data);
    let prompt = json!({"id": "p1", "op": "say", "text": "go"});
    op.fits(&prompt);
    bench.op(&session, prompt).is(202);
    let mut kinds = Vec::new();
    loop {
        let seen = events.until("an ask or the end", |e| {
            e.data["type"] == "ask" || e.data["type"] == "turn_end"
        });
        for one in &seen {
            event.fits(&one.data);
            kinds.push(one.data["type"].as_str().unwrap().to_owned());
        }
        let last = &seen.last().unwrap().data;
        if last["type"] == "turn_end" {
            break;
        }
        let answer = json!({"op": "answer", "ask": last["ask"], "choice": "once"});
        op.fits(&answer);
        bench.op(&session, answer).is(202);
    }
    for kind in [
        "meta",
        "message",
        "tool_use",
        "tool_result",
        "usage",
        "ask",
        "ask_closed",
        "approval",
        "checkpoint",
        "assistant_delta",
        "tool_started",
    ] {
        assert!(
            kinds.iter().any(|one| one == kind),
            "no {kind} came: {kinds:?}"
        );
    }
    for line in [
        "help",
        "context",
        "rewind",
        "diff",
        "permissions",
        "model",
        "status",
        "nothing-of-the-kind",
        "mcp",
        "cost",
    ] {
        let replies = bench
            .op(&session, json!({"op": "command", "line": line}))
            .is(200)
            .json();
        for one in replies["replies"].as_array().unwrap() {
            reply.fits(one);
        }
    }
    for one in bench.get("/api/sessions")["sessions"].as_array().unwrap() {
        row.fits(one);
    }
    // They say something.
    event.refuses(&json!({"type": "message", "entry": "one", "parent": null, "ts": ""}));
    event.refuses(&json!({"type": "nothing_of_the_kind", "ts": ""}));
    event.refuses(&json!({}));
    op.refuses(&json!({"op": "say"}));
    op.refuses(&json!({"op": "destroy"}));
    // Nothing refers to what is not there.
    let text = api.to_string();
    for name in text.split("#/components/schemas/").skip(1) {
        let name = name.split('"').next().unwrap();
        assert!(api["components"]["schemas"][name].is_object(), "{name}");
    }
}
