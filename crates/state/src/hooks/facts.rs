//! What a hook is told, as JSON on its stdin. The names are those that hooks in this field know; ours stand beside them.

use super::{HookSession, HookedCall, Moment};
use ostler_guard::{Mode, Posture, needs_a_fresh_yes};
use ostler_tools::builtin::declaration;
use ostler_tools::tool::Scope;
use ostler_wire::ToolFact;
use serde_json::{Map, Value, json};

/// Arguments of file tools, as we call them and as others do. The path comes first.
const NAMES: [(&str, &str); 3] = [
    ("path", "file_path"),
    ("old", "old_string"),
    ("new", "new_string"),
];

/// What hooks written for others call a tool; its own name where they have none.
pub fn common_tool(tool: &str) -> &str {
    let common = declaration(tool).and_then(|about| about.common_name);
    common.unwrap_or(tool)
}

/// Whether the `path` of a tool is one file, which others call `file_path`.
fn takes_a_file(tool: &str) -> bool {
    declaration(tool).is_some_and(|about| match about.fact {
        ToolFact::FileRead | ToolFact::FileChanged => true,
        ToolFact::FileMoved | ToolFact::Nothing | ToolFact::Call => false,
    })
}

#[derive(Clone)]
pub struct Facts {
    moment: Moment,
    more: Map<String, Value>,
}

impl Facts {
    pub fn new(moment: Moment) -> Self {
        Self {
            moment,
            more: Map::new(),
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.into(), value.into());
        self
    }

    pub fn of_call(moment: Moment, call: &HookedCall<'_>, scope: &Scope) -> Self {
        let tool = call.tool.name.as_ref();
        // What is remembered is nobody's business.
        let input = match needs_a_fresh_yes(call.accesses) {
            true => json!({}),
            false => input(tool, call.args, scope),
        };
        Self::new(moment)
            .with("tool_name", common_tool(tool))
            .with("tool", tool)
            .with("tool_use_id", call.id)
            .with("tool_input", input)
    }

    pub fn with_result(self, call: &HookedCall<'_>, data: Value) -> Self {
        let response = match needs_a_fresh_yes(call.accesses) {
            true => json!({}),
            false => data,
        };
        self.with("tool_response", response)
    }

    /// Without secrets.
    pub fn to_json(&self, session: &HookSession<'_>) -> String {
        let mode = match (session.facts.mode, session.facts.posture) {
            (Mode::Plan, _) => "plan",
            (Mode::Normal | Mode::Goal, Posture::Yolo) => "bypassPermissions",
            (Mode::Normal | Mode::Goal, Posture::Edits | Posture::Auto) => "acceptEdits",
            (Mode::Normal | Mode::Goal, Posture::Ask) => "default",
        };
        let transcript = session.hooks.transcript.as_deref();
        let transcript = transcript.map_or_else(String::new, |path| path.display().to_string());
        let mut all = json!({
            "session_id": session.facts.session,
            "transcript_path": transcript,
            "cwd": session.context.cx.scope.root.display().to_string(),
            "hook_event_name": self.moment.common_name(),
            "event": self.moment.name(),
            "permission_mode": mode,
        });
        if let Some(all) = all.as_object_mut() {
            all.extend(self.more.clone());
        }
        let text = all.to_string();
        session.feed.redactor().json(&text).unwrap_or(text)
    }
}

/// The arguments with the names that others have for them.
fn input(tool: &str, args: &Value, scope: &Scope) -> Value {
    let mut input = args.clone();
    if !takes_a_file(tool) {
        return input;
    }
    let Some(fields) = input.as_object_mut() else {
        return input;
    };
    let path = fields.get("path").or_else(|| fields.get("file_path"));
    if let Some(path) = path.and_then(Value::as_str) {
        let path = scope.path(path).display().to_string();
        fields.insert("file_path".into(), path.into());
    }
    rename(fields);
    if let Some(edits) = fields.get_mut("edits").and_then(Value::as_array_mut) {
        edits
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(rename);
    }
    input
}

/// The arguments as a hook wants them, in our names; `None` where it changes nothing, or has no say. What was told under
/// two names may be changed under either.
pub fn taken_back(call: &HookedCall<'_>, input: Value, scope: &Scope) -> Option<Value> {
    let no_say = needs_a_fresh_yes(call.accesses) || call.asks;
    let tool = call.tool.name.as_ref();
    let told = self::input(tool, call.args, scope);
    if no_say || !input.is_object() || input == told || input == *call.args {
        return None;
    }
    let mut args = input;
    if takes_a_file(tool) {
        name_back(&mut args, &told);
        let told = told.get("edits").and_then(Value::as_array);
        let edits = args.get_mut("edits").and_then(Value::as_array_mut);
        for (n, edit) in edits.into_iter().flatten().enumerate() {
            let told = told.and_then(|told| told.get(n)).unwrap_or(&Value::Null);
            name_back(edit, told);
        }
    }
    (args != *call.args).then_some(args)
}

fn name_back(args: &mut Value, told: &Value) {
    let Some(fields) = args.as_object_mut() else {
        return;
    };
    for (ours, theirs) in NAMES {
        let Some(value) = fields.remove(theirs) else {
            continue;
        };
        let is_news = told.get(theirs) != Some(&value);
        if is_news || !fields.contains_key(ours) {
            fields.insert(ours.into(), value);
        }
    }
}

fn rename(fields: &mut Map<String, Value>) {
    for (ours, theirs) in NAMES.into_iter().skip(1) {
        if let Some(value) = fields.get(ours).cloned() {
            fields.entry(theirs).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_names_that_others_know() {
        let scope = Scope::new("/repo", None);
        for (tool, args, expect) in [
            ("bash", json!({"command": "ls"}), json!({"command": "ls"})),
            (
                "edit_file",
                json!({"path": "a.rs", "old": "x", "new": "y"}),
                json!({"path": "a.rs", "old": "x", "new": "y", "file_path": "/repo/a.rs", "old_string": "x", "new_string": "y"}),
            ),
            (
                "write_file",
                json!({"file_path": "a", "content": "c"}),
                json!({"file_path": "/repo/a", "content": "c"}),
            ),
            (
                "multi_edit",
                json!({"path": "/a", "edits": [{"old": "x", "new": "y"}, 3]}),
                json!({"path": "/a", "edits": [{"old": "x", "new": "y", "old_string": "x", "new_string": "y"}, 3], "file_path": "/a"}),
            ),
            ("grep", json!({"path": "src"}), json!({"path": "src"})),
            ("mcp__a__b", json!({"path": "a"}), json!({"path": "a"})),
            ("read_file", json!("odd"), json!("odd")),
        ] {
            assert_eq!(input(tool, &args, &scope), expect, "{tool}");
        }
    }
}
