//! The offline "vendor" of kind `demo`: reads an encoded chat request and streams a scripted answer as a server would.
//! It shows the whole loop without an account. It is no model, and says so.

#[cfg(test)]
mod tests;

use crate::{Chunk, Decoder, Error};
use bytes::Bytes;
use ostler_wire::Word;
use ostler_wire::sse::Sse;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The kind that is played here instead of being sent.
pub const KIND: &str = "demo";
/// A line in the first prompt that asks for the coding session in the scratch project.
pub const MARKER: &str = "OSTLER-DEMO: calc";
/// The same as a prompt of somebody who sits at a terminal: the session ends with what they can try next.
pub const TERMINAL_REQUEST: &str =
    "The test of this small project fails. Find the bug, fix it and run the test.";
/// Of what to ask next there: the script tries to reach a host, so that the sandbox asks the person.
const NEXT_WORDS: &str = "newer version";
/// The host is in the script, so a yes to the command does not grant it. Its name can never be registered: nothing is sent
/// whatever the person answers.
const NEXT_COMMAND: &str = "sh newer.sh";

/// Between two words, so that it looks alive. `pace_ms` in the request body (by `extra_body`) sets another pace.
const PACE_MS: u64 = 3;
const MAX_PACE_MS: u64 = 1000;
const ECHO_CHARS: usize = 120;
const SHOWN_LINES: usize = 3;

const BUG: &str = "/ ($# + 1)";
const FIX: &str = "/ $#";
const PASSED: &str = "all tests passed";

const TERMINAL_CLOSING: &str = "This is the offline demo: the tools and the files are real, the model is a script. Try two more things:\n\n\
1. Press `esc` twice, choose your prompt and take the fix back. Files and conversation return to where they were; `/rewind undo` brings them back.\n\
2. Ask me: `Is there a newer version of calc?` I will try to reach a host, and the sandbox will ask you.\n\n\
Ctrl-D leaves. `ostler setup` chooses a real model.";

const CLOSING: &str = "This was the offline demo: the tools and the files were real, the model was a script. \
For a real model run `ostler setup`, or put a provider's key into the environment, then try `ostler exec -p \"explain this project\"`.";

/// The files of the scratch project, by name. The test fails until the session has mended the script.
pub fn scratch_files() -> &'static [(&'static str, &'static str)] {
    &[
        ("README.md", include_str!("../data/demo/README.md")),
        ("calc.sh", include_str!("../data/demo/calc.sh")),
        ("newer.sh", include_str!("../data/demo/newer.sh")),
        ("test.sh", include_str!("../data/demo/test.sh")),
    ]
}

/// An answer being played.
pub(crate) struct Playback {
    frames: VecDeque<String>,
    pace: Duration,
    sse: Sse,
    cancel: CancellationToken,
}

impl Playback {
    pub(crate) fn new(body: &[Bytes], cancel: &CancellationToken) -> Self {
        let body = body.concat();
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let pace = request
            .get("pace_ms")
            .and_then(Value::as_u64)
            .unwrap_or(PACE_MS);
        Self {
            frames: frames(&answer(&request), body.len()),
            pace: Duration::from_millis(pace.min(MAX_PACE_MS)),
            sse: Sse::default(),
            cancel: cancel.clone(),
        }
    }

    /// Plays one frame, or all of them when there is no pace. True while there is more.
    pub(crate) async fn next(
        &mut self,
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<bool, Error> {
        if !self.pace.is_zero() {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Error::fatal(Word::LlmInterrupted)),
                () = tokio::time::sleep(self.pace) => {}
            }
        }
        let mut failed = None;
        while let Some(frame) = self.frames.pop_front() {
            self.sse.push(frame.as_bytes(), &mut |frame| {
                if failed.is_none() {
                    failed = decoder.frame(&frame, out).err();
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            if !self.pace.is_zero() {
                break;
            }
        }
        if self.frames.is_empty() {
            decoder.end(out)?;
        }
        Ok(!self.frames.is_empty())
    }
}

#[derive(Debug, PartialEq)]
struct Answer {
    text: String,
    calls: Vec<(&'static str, Value)>,
}

impl Answer {
    fn say(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    fn call(mut self, name: &'static str, arguments: Value) -> Self {
        self.calls.push((name, arguments));
        self
    }
}

/// What a request shows of the conversation.
struct Seen<'a> {
    tools: Vec<&'a str>,
    messages: &'a [Value],
}

fn answer(request: &Value) -> Answer {
    let messages = request.get("messages").and_then(Value::as_array);
    let tools = request.get("tools").and_then(Value::as_array);
    let seen = Seen {
        messages: messages.map_or(&[], Vec::as_slice),
        tools: tools
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.pointer("/function/name")?.as_str())
            .collect(),
    };
    let session = seen
        .messages
        .iter()
        .position(|message| role(message) == "user")
        .filter(|at| {
            let first = seen.messages.get(*at).map(text).unwrap_or_default();
            first.contains(MARKER) || first.contains(TERMINAL_REQUEST)
        })
        .and_then(|at| seen.messages.get(at + 1..))
        // An answer without calls ended the session; what comes after it is a new question.
        .filter(|after| {
            !after
                .iter()
                .any(|m| role(m) == "assistant" && !has_calls(m))
        });
    let planned = match session {
        Some(after) => coding_step(after, closing(&seen)),
        None => chat(&seen),
    };
    match planned
        .calls
        .iter()
        .find(|(name, _)| !seen.tools.contains(name))
    {
        Some((name, _)) => Answer::say(format!(
            "The demo needs the tool `{name}` here, and it is switched off in this session. {CLOSING}"
        )),
        None => planned,
    }
}

fn closing(seen: &Seen<'_>) -> &'static str {
    let is_terminal = |message: &Value| text(message).contains(TERMINAL_REQUEST);
    match seen.messages.iter().any(is_terminal) {
        true => TERMINAL_CLOSING,
        false => CLOSING,
    }
}

/// The next step of the coding session: `after` is all that came after the first prompt.
fn coding_step(after: &[Value], closing: &str) -> Answer {
    let steps = after.iter().filter(|m| has_calls(m)).count();
    let last = after.iter().rposition(has_calls).map_or(0, |at| at + 1);
    let results: Vec<String> = after
        .iter()
        .skip(last)
        .filter(|m| role(m) == "tool")
        .map(text)
        .collect();
    let all = results.join("\n");
    if let Some(refused) = results.iter().find(|r| is_refusal(r)).filter(|_| steps < 4) {
        return Answer::say(format!(
            "That step did not work, so I stop here. The tool said:\n\n{}\n\n{closing}",
            first_lines(refused)
        ));
    }
    match steps {
        0 => Answer::say("I'll start by looking at what is here.").call("ls", json!({})),
        1 if !all.contains("calc.sh") => Answer::say(format!(
            "I expected the demo's `calc.sh` here and do not see it, so there is nothing to fix. Run `ostler demo` to get its scratch project. {closing}"
        )),
        1 => Answer::say("A small shell script and a test for it. I'll read both.")
            .call("read_file", json!({"path": "calc.sh"}))
            .call("read_file", json!({"path": "test.sh"})),
        2 if all.contains(BUG) => Answer::say(
            "Found it: `average` divides by the number of values plus one. It should divide by the number of values.",
        )
        .call(
            "edit_file",
            json!({"path": "calc.sh", "old": BUG, "new": FIX}),
        ),
        2 => Answer::say("`average` does not have the bug I was looking for. The test will tell.")
            .call("bash", json!({"command": "sh test.sh"})),
        // Without the bug there was no edit, and these are the test's results already.
        3 if all.contains(PASSED) || all.contains("FAILED") => verdict(&all, closing),
        3 => Answer::say("Now the test, to check that it works.")
            .call("bash", json!({"command": "sh test.sh"})),
        _ => verdict(&all, closing),
    }
}

fn verdict(results: &str, closing: &str) -> Answer {
    if results.contains(PASSED) && !results.contains("FAILED") {
        Answer::say(format!(
            "The test passes.\n\n\
            - What was wrong: `average` in `calc.sh` divided the sum by `$# + 1`, so the average of 2, 4 and 6 came out as 3 instead of 4.\n\
            - What changed: it divides by `$#` now, the number of values. Nothing else was touched.\n\
            - How it was checked: `sh test.sh` ran all three checks.\n\n{closing}"
        ))
    } else {
        Answer::say(format!(
            "The test does not pass, so I cannot call this done. It printed:\n\n{}\n\n{closing}",
            first_lines(results)
        ))
    }
}

/// Any other question: it is repeated, the folder is listed once, and the answer says what this is.
fn chat(seen: &Seen<'_>) -> Answer {
    let asked_at = seen.messages.iter().rposition(|m| role(m) == "user");
    let asked = asked_at
        .and_then(|at| seen.messages.get(at))
        .map(text)
        .unwrap_or_default();
    let results: Vec<String> = seen
        .messages
        .iter()
        .skip(asked_at.map_or(0, |at| at + 1))
        .filter(|m| role(m) == "tool")
        .map(text)
        .collect();
    if asked.to_lowercase().contains(NEXT_WORDS) {
        return newer_version(&results);
    }
    let listed = !results.is_empty();
    if !listed && seen.tools.contains(&"ls") {
        let answer = format!(
            "You asked: \"{}\". I'll look at the folder.",
            one_line(&asked)
        );
        return Answer::say(answer).call("ls", json!({}));
    }
    let looked = if listed {
        "I looked at the folder with a real tool, but I cannot think about what I saw: "
    } else {
        "I cannot help with that: "
    };
    Answer::say(format!(
        "You asked: \"{}\". {looked}this is the offline demo model, a script and not a real one. \
        Run `ostler setup` to choose a real model, or put a provider's key into the environment.",
        one_line(&asked)
    ))
}

/// Tries to reach a host, which the sandbox stops until the person says yes.
fn newer_version(results: &[String]) -> Answer {
    match results {
        [] => Answer::say(
            "The project has a script for that. It needs a host that nobody has granted.",
        )
        .call("bash", json!({"command": NEXT_COMMAND})),
        results => Answer::say(format!(
            "I got no answer. The command said:\n\n{}\n\n\
            That is what the sandbox is for: a command reaches no host that you have not granted, and you are asked for exactly the host that it needs. \
            (`calc.example` exists nowhere, so nothing was sent in any case.) `ostler help sandbox` tells more; ctrl-d leaves.",
            first_lines(&results.join("\n"))
        )),
    }
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("")
}

fn has_calls(message: &Value) -> bool {
    message
        .get("tool_calls")
        .and_then(Value::as_array)
        .is_some_and(|calls| !calls.is_empty())
}

/// The text of a message, whose content is a string or a list of parts.
fn text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get("text")?.as_str())
                .collect();
            parts.join("\n")
        }
        _ => String::new(),
    }
}

/// A tool's error, however results are rendered.
fn is_refusal(result: &str) -> bool {
    let start: String = result.trim_start().chars().take(80).collect();
    let start = start.to_lowercase();
    start.starts_with("error")
        || start.starts_with("{\"ok\":false")
        || ["denied", "not allowed", "interrupted"]
            .iter()
            .any(|word| start.contains(word))
}

/// The last line that is not blank is what was asked; what stands before it is context.
fn one_line(asked: &str) -> String {
    let line = asked
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !line.starts_with('<'))
        .unwrap_or("nothing");
    match line.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

fn first_lines(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(SHOWN_LINES)
        .map(|line| format!("    {line}"))
        .collect();
    lines.join("\n")
}

/// The answer as the events of a chat stream, one word each.
fn frames(answer: &Answer, request_bytes: usize) -> VecDeque<String> {
    let choice = |delta: Value, finish: Value| {
        let chunk = json!({
            "id": "demo", "object": "chat.completion.chunk", "model": KIND,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        });
        format!("data: {chunk}\n\n")
    };
    let mut frames = VecDeque::new();
    for word in answer.text.split_inclusive(' ') {
        frames.push_back(choice(json!({"content": word}), Value::Null));
    }
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        // The request grows with every step, so its length makes the id unique in a session.
        let id = format!("demo_{request_bytes}_{index}");
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        frames.push_back(choice(json!({"tool_calls": [call]}), Value::Null));
    }
    let finish = if answer.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    frames.push_back(choice(json!({}), finish.into()));
    let usage = json!({
        "id": "demo", "object": "chat.completion.chunk", "model": KIND, "choices": [],
        "usage": {"prompt_tokens": request_bytes / 4, "completion_tokens": frames.len()},
    });
    frames.push_back(format!("data: {usage}\n\ndata: [DONE]\n\n"));
    frames
}
