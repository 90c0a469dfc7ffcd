//! What became of the prompt cache in a recorded session: `cache why` and `cache check`. Pure over the log.

use ostler_wire::{Body, Break, Entry, Usage};

/// Causes that somebody asked for: they break the prefix, but not unseen.
const PLANNED: &[&str] = &["model", "rewind", "compaction"];

/// One request of the session.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Request {
    pub entry: u64,
    pub model: String,
    pub prompt_bytes: u64,
    pub shared_bytes: u64,
    pub input: u64,
    pub cached: u64,
    #[serde(rename = "break", skip_serializing_if = "Option::is_none")]
    pub broke: Option<Break>,
}

pub fn requests(entries: &[Entry]) -> Vec<Request> {
    usages(entries)
        .map(|(entry, usage)| Request {
            entry,
            model: format!("{}/{}", usage.provider, usage.model),
            prompt_bytes: usage.prompt_bytes,
            shared_bytes: usage.shared_bytes,
            input: usage.input,
            cached: usage.cached,
            broke: usage.broke.clone(),
        })
        .collect()
}

/// The places where a prompt did not contain the one before as its beginning, other than by request.
pub fn unplanned_breaks(entries: &[Entry]) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Option<u64> = None;
    for (entry, usage) in usages(entries) {
        match (&usage.broke, before) {
            (Some(broke), _) if PLANNED.contains(&broke.cause.as_str()) => {}
            (Some(broke), _) => found.push(format!(
                "entry {entry}: the prompt broke at byte {} ({}), cause: {}; about {} tokens were read again",
                broke.at, broke.owner, broke.cause, broke.lost_tokens
            )),
            (None, Some(before)) if usage.shared_bytes < before => found.push(format!(
                "entry {entry}: only {} of the {before} bytes of the prompt before are shared",
                usage.shared_bytes
            )),
            (None, Some(_) | None) => {}
        }
        before = Some(usage.prompt_bytes);
    }
    found
}

/// Share of prompt tokens that the provider says it had cached.
pub fn hit_rate(entries: &[Entry]) -> Option<f64> {
    let (input, cached) =
        usages(entries).fold((0, 0), |(i, c), (_, u)| (i + u.input, c + u.cached));
    (input > 0).then(|| cached as f64 / input as f64)
}

fn usages(entries: &[Entry]) -> impl Iterator<Item = (u64, &Usage)> {
    entries.iter().filter_map(|e| match &e.body {
        Body::Usage(usage) => Some((e.entry, usage)),
        Body::Meta(_)
        | Body::Message(_)
        | Body::ToolUse(_)
        | Body::ToolResult(_)
        | Body::Settings(_)
        | Body::Mode(_)
        | Body::Approval(_)
        | Body::Todo(_)
        | Body::Notice(_)
        | Body::Error(_)
        | Body::Interrupted(_)
        | Body::TurnEnd(_) => None,
    })
}
