//! Calls of tools as editors show them: what kind of work, which files, the change, how it ended. No tool is known by name;
//! everything comes from the title of the call and the form of its result.

use crate::diff;
use crate::protocol::schema as s;
use ostler_wire::{CallTitle, ResultForm, ToolKind, ToolResult, ToolUse, visible};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Bytes of arguments or results that are sent as they are.
const MAX_RAW: usize = 64 * 1024;
/// Bytes of text of a result that are shown.
const MAX_SHOWN: usize = 64 * 1024;
/// Characters of a title.
const MAX_TITLE: usize = 500;
/// Arguments that name a file.
const PATHS: [&str; 4] = ["path", "source_path", "destination_path", "notebook_path"];
/// The first line of a part of a file.
const LINES: [&str; 2] = ["offset", "line"];

/// A call, as far as its updates need it.
pub struct Call {
    pub kind: ToolKind,
    form: ResultForm,
    input: Value,
    pub title: String,
    /// The end of what it has shown.
    pub tail: String,
    /// The terminal of the editor that it runs in.
    pub terminal: Option<s::TerminalId>,
}

impl Call {
    pub fn of(call: &ToolUse) -> Self {
        let title = call.title.clone().unwrap_or(CallTitle {
            kind: ToolKind::Other,
            verb: None,
            subject: String::new(),
            body: None,
            result: ResultForm::Text,
        });
        Self {
            kind: title.kind,
            form: title.result,
            input: call.input.to_value(),
            title: titled(&call.name, &title),
            tail: String::new(),
            terminal: None,
        }
    }

    pub fn locations(&self, root: &Path) -> Vec<s::ToolCallLocation> {
        let is_file = match self.kind {
            ToolKind::Read | ToolKind::Edit => true,
            ToolKind::Run
            | ToolKind::Net
            | ToolKind::Delegate
            | ToolKind::Memory
            | ToolKind::Talk
            | ToolKind::Other => false,
        };
        let named = PATHS.iter().filter(|_| is_file);
        let named = named.filter_map(|key| self.input.get(key)?.as_str());
        let line = LINES.iter().find_map(|key| self.input.get(key)?.as_u64());
        let line = line.and_then(|line| u32::try_from(line).ok());
        named
            .map(|path| s::ToolCallLocation::new(root.join(path)).line(line))
            .collect()
    }

    pub fn started(&self, id: &str, root: &Path) -> s::ToolCall {
        s::ToolCall::new(id.to_owned(), self.title.clone())
            .kind(kind(self.kind, self.form))
            .status(s::ToolCallStatus::Pending)
            .locations(self.locations(root))
            .raw_input(small(&self.input))
    }

    /// The same for a question that comes with a call which the editor may not have seen.
    pub fn fields(&self, root: &Path) -> s::ToolCallUpdateFields {
        s::ToolCallUpdateFields::new()
            .kind(kind(self.kind, self.form))
            .title(self.title.clone())
            .locations(self.locations(root))
            .raw_input(small(&self.input))
    }

    pub fn ended(&self, result: &ToolResult, root: &Path) -> s::ToolCallUpdateFields {
        let output = result.output.to_value();
        let status = match result.ok {
            true => s::ToolCallStatus::Completed,
            false => s::ToolCallStatus::Failed,
        };
        let fields = s::ToolCallUpdateFields::new()
            .status(status)
            .raw_output(small(&output));
        let content = self.content(&output, root);
        // What was shown while it ran stays, where the result adds nothing.
        match content.is_empty() {
            true => fields,
            false => fields.content(content),
        }
    }

    fn content(&self, envelope: &Value, root: &Path) -> Vec<s::ToolCallContent> {
        if let Some(error) = envelope.get("error").filter(|e| !e.is_null()) {
            let message = error.get("message").and_then(Value::as_str);
            let message = message.map_or_else(|| error.to_string(), str::to_owned);
            return texts(&message);
        }
        let data = envelope.get("data").unwrap_or(envelope);
        let field = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match self.form {
            ResultForm::Edit | ResultForm::WholeFile | ResultForm::Cell => self.change(data, root),
            ResultForm::Command if self.terminal.is_some() => {
                self.terminal.iter().flat_map(in_terminal).collect()
            }
            ResultForm::Command => {
                let said = [field("stdout"), field("stderr")];
                let said = said.map(|text| text.trim_end_matches('\n'));
                let said = said.into_iter().filter(|text| !text.is_empty());
                let hint = data.pointer("/denied/hint").and_then(Value::as_str);
                let said: Vec<&str> = said.chain(hint).collect();
                fenced(&said.join("\n"))
            }
            ResultForm::File => match data.get("image") {
                Some(image) if image.is_object() => {
                    let part = |key: &str| image.get(key).and_then(Value::as_str);
                    let parts = part("data").zip(part("media_type"));
                    let image = parts.map(|(data, kind)| s::ImageContent::new(data, kind));
                    let image = image.map(|image| s::ContentBlock::Image(image).into());
                    image.into_iter().collect()
                }
                Some(_) | None => fenced(field("content")),
            },
            ResultForm::Matches => fenced(&listed(data, "matches")),
            ResultForm::Paths => fenced(&listed(data, "paths")),
            ResultForm::Entries => fenced(&listed(data, "entries")),
            ResultForm::WebResults => texts(&found(data)),
            ResultForm::Page => texts(field("content")),
            ResultForm::Answer => texts(field("answer")),
            ResultForm::Time => texts(field("utc")),
            ResultForm::Nothing | ResultForm::Entry => Vec::new(),
            ResultForm::Plan => texts(field("decision")),
            ResultForm::Text | ResultForm::Report | ResultForm::Facts | ResultForm::Fact => {
                texts(&unknown(data))
            }
        }
    }

    /// What became of a file.
    fn change(&self, data: &Value, root: &Path) -> Vec<s::ToolCallContent> {
        let path = self.path(root);
        let diff = |value: &Value| value.get("diff")?.as_str().map(str::to_owned);
        let edits = data.get("edits").and_then(Value::as_array);
        let diffs: Vec<String> = match edits {
            Some(edits) => edits.iter().filter_map(diff).collect(),
            None => diff(data).into_iter().collect(),
        };
        let mut pieces: Vec<s::Diff> = diffs
            .iter()
            .flat_map(|diff| diff::pieces(diff, root, path.as_deref()))
            .collect();
        let argument = |keys: [&str; 2]| {
            let mut found = keys.iter().filter_map(|key| self.input.get(key)?.as_str());
            found.next().map(str::to_owned)
        };
        let whole = argument(match self.form == ResultForm::Cell {
            true => ["source", "new_source"],
            false => ["content", "contents"],
        });
        let is_whole = self.form != ResultForm::Edit && pieces.is_empty();
        if let (true, Some(path), Some(text)) = (is_whole, path, whole) {
            pieces.push(s::Diff::new(path, clipped(&text)));
        }
        pieces.into_iter().map(s::ToolCallContent::from).collect()
    }

    fn path(&self, root: &Path) -> Option<PathBuf> {
        let mut named = PATHS.iter().filter_map(|key| self.input.get(key)?.as_str());
        named.next().map(|path| root.join(path))
    }

    /// The change that a question shows.
    pub fn preview(&self, unified: &str, root: &Path) -> Vec<s::ToolCallContent> {
        let pieces = diff::pieces(unified, root, self.path(root).as_deref());
        match pieces.is_empty() {
            true => fenced(unified),
            false => pieces.into_iter().map(s::ToolCallContent::from).collect(),
        }
    }
}

/// The terminal that a call runs in.
pub fn in_terminal(terminal: &s::TerminalId) -> Vec<s::ToolCallContent> {
    vec![s::ToolCallContent::Terminal(s::Terminal::new(
        terminal.clone(),
    ))]
}

/// The end of what a running call has shown.
pub fn output(tail: &str) -> s::ToolCallUpdateFields {
    s::ToolCallUpdateFields::new()
        .status(s::ToolCallStatus::InProgress)
        .content(fenced(tail.trim_end_matches('\n')))
}

/// A command is its own title; of anything else the tool's name comes first.
fn titled(name: &str, title: &CallTitle) -> String {
    let text = match (title.kind, title.subject.as_str()) {
        (_, "") => name.to_owned(),
        (ToolKind::Run, subject) => subject.to_owned(),
        (_, subject) => format!("{name} {subject}"),
    };
    // It is also what a question about it shows.
    let text = ostler_wire::count_blanks(&text);
    ostler_wire::clip(&ostler_wire::one_line(&text), MAX_TITLE)
}

fn kind(kind: ToolKind, form: ResultForm) -> s::ToolKind {
    let searches = matches!(
        form,
        ResultForm::Matches | ResultForm::Paths | ResultForm::Entries
    );
    match kind {
        ToolKind::Read if searches => s::ToolKind::Search,
        ToolKind::Read => s::ToolKind::Read,
        ToolKind::Edit => s::ToolKind::Edit,
        ToolKind::Run => s::ToolKind::Execute,
        ToolKind::Net => s::ToolKind::Fetch,
        ToolKind::Delegate | ToolKind::Talk => s::ToolKind::Think,
        ToolKind::Memory | ToolKind::Other => s::ToolKind::Other,
    }
}

/// A text that is shown as it stands.
pub fn texts(text: &str) -> Vec<s::ToolCallContent> {
    let text = clipped(&visible(text));
    let is_there = !text.trim().is_empty();
    is_there.then(|| text.into()).into_iter().collect()
}

/// A text that is no Markdown.
pub fn fenced(text: &str) -> Vec<s::ToolCallContent> {
    let text = clipped(&visible(text));
    let is_there = !text.trim().is_empty();
    is_there.then(|| fence(&text).into()).into_iter().collect()
}

/// A block of code around a text, whatever is in it.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

fn clipped(text: &str) -> String {
    match text.len() > MAX_SHOWN {
        false => text.to_owned(),
        true => {
            let mut end = MAX_SHOWN;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            format!("{}…", text.get(..end).unwrap_or_default())
        }
    }
}

/// Data that is small enough to be sent beside what is shown of it.
fn small(value: &Value) -> Option<Value> {
    let fits = serde_json::to_string(value).is_ok_and(|text| text.len() <= MAX_RAW);
    (fits && !value.is_null()).then(|| value.clone())
}

fn listed(data: &Value, key: &str) -> String {
    let items = data.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_str);
    items.collect::<Vec<_>>().join("\n")
}

fn found(data: &Value) -> String {
    let results = data.get("results").and_then(Value::as_array);
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let shown = results.into_iter().flatten().map(|one| {
        let [title, url, snippet] =
            ["title", "url", "snippet"].map(|key| text(one, key).unwrap_or_default());
        format!("[{title}]({url})\n{snippet}\n")
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Of a tool that nobody knows: its text, where it has one.
fn unknown(data: &Value) -> String {
    if let Value::String(text) = data {
        return text.clone();
    }
    let keys = ["text", "content", "output", "message", "report"];
    let own = keys.iter().find_map(|key| data.get(key)?.as_str());
    if let Some(text) = own {
        return text.to_owned();
    }
    let pieces = data.get("content").and_then(Value::as_array);
    let pieces = pieces.into_iter().flatten();
    let pieces: Vec<&str> = pieces.filter_map(|p| p.get("text")?.as_str()).collect();
    match (pieces.is_empty(), data.is_null()) {
        (false, _) => pieces.join("\n"),
        (true, true) => String::new(),
        (true, false) => fence(&serde_json::to_string_pretty(data).unwrap_or_default()),
    }
}
