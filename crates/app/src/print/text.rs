//! Texts of the plain output: calls and results on one line, and foreign text made safe for a terminal.

use ostler_wire::{Language, ResultForm, ToolUse, printable};
use serde_json::Value;

const ARGS_PREVIEW: usize = 80;
const RESULT_PREVIEW: usize = 120;

/// What a call did, and what it was about: its title, or its name and arguments where it has none.
pub fn described(call: &ToolUse, language: Language) -> (String, String) {
    let title = call.title.as_ref();
    let head = match title.and_then(|title| title.verb) {
        Some(verb) => language.say(verb.word(true)).to_owned(),
        None => printable(&call.name),
    };
    let subject = match title {
        Some(title) => shorten(&title.subject, ARGS_PREVIEW),
        None => arguments(&call.input.to_value()),
    };
    (head, subject)
}

/// `key="value"` pairs of a call, shortened.
fn arguments(input: &Value) -> String {
    let Some(object) = input.as_object() else {
        return shorten(&input.to_string(), ARGS_PREVIEW);
    };
    let pairs: Vec<String> = object
        .iter()
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}=\"{text}\""),
            None => format!("{key}={value}"),
        })
        .collect();
    shorten(&pairs.join(" "), ARGS_PREVIEW)
}

pub fn outcome(form: ResultForm, output: &Value) -> String {
    if let Some(error) = output.get("error") {
        let text = |key| error.get(key).and_then(Value::as_str).unwrap_or_default();
        return shorten(
            &format!("error={} {}", text("code"), text("message")),
            RESULT_PREVIEW,
        );
    }
    let data = output.get("data").unwrap_or(&Value::Null);
    if form == ResultForm::Command {
        return match (
            data.get("timed_out"),
            data.get("exit_code"),
            data.get("job"),
        ) {
            (Some(Value::Bool(true)), _, _) => "timed_out=true".into(),
            (_, Some(Value::Null), Some(Value::String(job))) => format!("job={job}"),
            (_, Some(code), _) => format!("exit={code}"),
            (_, None, _) => String::new(),
        };
    }
    if let (Some(role), Some(session)) = (data["role"].as_str(), data["session"].as_str()) {
        let spent = |key: &str| data["spent"][key].as_u64().unwrap_or(0);
        let tokens = spent("input").saturating_add(spent("output"));
        let session = session.get(..8).unwrap_or(session);
        let branch = data["worktree"]["branch"].as_str().unwrap_or_default();
        let text = format!("role={role} session={session} tokens={tokens} branch={branch}");
        return shorten(text.trim_end_matches(" branch="), RESULT_PREVIEW);
    }
    let keys = ["content", "diff", "text"];
    let text = keys.iter().find_map(|key| data[*key].as_str());
    let preview = text.map_or_else(|| data.to_string(), str::to_owned);
    shorten(&preview, RESULT_PREVIEW)
}

fn shorten(text: &str, most: usize) -> String {
    let flat = printable(text);
    match flat.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", flat.get(..at).unwrap_or_default()),
        None => flat,
    }
}
