//! Logs and archives as the index reads them: which there are, their lines from a byte on, and the words of a line.
//! It changes nothing.

use crate::owners::Owners;
use ostler_wire::{Body, Entry, Role};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of one entry's text that are indexed and shown.
const MAX_TEXT: usize = 16 << 10;
/// Longer lines hold pictures or worse; they are passed over.
const MAX_LINE: usize = 8 << 20;
const CHUNK: usize = 256 << 10;
/// How deep the words of a result are looked for.
const MAX_DEPTH: usize = 16;
/// What the envelope of our own results begins with. What was found once is not found again in what found it.
pub const OWN_RESULT: &str = "history";

/// A file with lines to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    /// The project, or [`ARCHIVE`].
    pub place: String,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub changed: i64,
}

/// Where archives lie instead of in a project. No project is named like it: their names end with a hash.
pub const ARCHIVE: &str = "archive";

/// Every log of the person's own and every archive, the newest first.
pub fn all(sessions: &Path, home: &Path) -> Vec<Source> {
    let mut out = Vec::new();
    for project in std::fs::read_dir(sessions).into_iter().flatten().flatten() {
        let place = project.file_name().to_string_lossy().into_owned();
        list(&project.path(), &place, &mut out);
    }
    let owners = Owners::new(sessions, home);
    out.retain(|source| owners.has(&source.path));
    list(&home.join(ARCHIVE), ARCHIVE, &mut out);
    out.sort_by_key(|source| std::cmp::Reverse(source.changed));
    out
}

fn list(dir: &Path, place: &str, out: &mut Vec<Source>) {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for file in files {
        let path = file.path();
        if path.extension().is_none_or(|e| e != "jsonl") {
            continue;
        }
        // A pipe or a device would never end.
        let Ok(meta) = std::fs::metadata(&path) else {
            continue;
        };
        if !meta.is_file() {
            continue;
        }
        let since = meta.modified().ok();
        let since = since.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        out.push(Source {
            path,
            place: place.to_owned(),
            size: meta.len(),
            changed: since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)),
        });
    }
}

pub fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The whole lines of a file from a byte on. A line without an end is still being written and comes next time.
pub struct Lines {
    file: File,
    buffer: Vec<u8>,
    /// Read of `buffer` already.
    taken: usize,
    /// Where in the file `buffer[taken]` lies.
    at: u64,
    /// In the middle of a line that is too long.
    skipping: bool,
    /// The number of the last entry that was copied from a log of somebody else; 0 where there is none.
    foreign: u64,
}

/// A line and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: u64,
    pub bytes: Vec<u8>,
}

impl Lines {
    pub fn new(path: &Path, from: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(Self {
            file,
            buffer: Vec::new(),
            taken: 0,
            at: from,
            skipping: false,
            foreign: 0,
        })
    }

    /// The same of a log, whose first line says how much of it was copied from somebody else's.
    pub fn of_log(path: &Path, from: u64) -> io::Result<Self> {
        let first = Self::new(path, 0)?.next()?;
        let text = first
            .as_ref()
            .map(|line| String::from_utf8_lossy(&line.bytes));
        let entry = text.and_then(|text| Entry::from_line(&text, UNNUMBERED).ok());
        let meta = entry.as_ref().and_then(|entry| entry.body.meta());
        let forked = meta.and_then(|meta| meta.forked_from.as_ref());
        let foreign = forked.map_or(0, |forked| forked.foreign);
        Ok(Self {
            foreign,
            ..Self::new(path, from)?
        })
    }

    /// What a line is to the index. Words that were copied from a log of somebody else are not.
    pub fn meaning(&self, line: &Line) -> Meaning {
        match meaning(&line.bytes) {
            Meaning::Said(Said {
                entry: Some(entry), ..
            }) if entry > 0 && entry <= self.foreign => Meaning::Nothing(Some(entry)),
            other => other,
        }
    }

    /// The byte after the last whole line.
    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn next(&mut self) -> io::Result<Option<Line>> {
        let mut searched = 0;
        loop {
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            let found = memchr::memchr(b'\n', rest.get(searched..).unwrap_or_default());
            if let Some(end) = found.map(|end| end + searched) {
                let line = Line {
                    at: self.at,
                    bytes: rest.get(..end).unwrap_or_default().to_vec(),
                };
                self.taken += end + 1;
                self.at += end as u64 + 1;
                if std::mem::take(&mut self.skipping) {
                    searched = 0;
                    continue;
                }
                return Ok(Some(line));
            }
            searched = rest.len();
            if searched > MAX_LINE {
                self.at += searched as u64;
                self.taken = self.buffer.len();
                self.skipping = true;
                searched = 0;
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let more = io::Read::by_ref(&mut self.file)
                .take(CHUNK as u64)
                .read_to_end(&mut self.buffer)?;
            if more == 0 {
                return Ok(None);
            }
        }
    }
}

/// What an entry says, as far as somebody may look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// `None` when the line carries no number.
    pub entry: Option<u64>,
    pub ts: String,
    pub role: &'static str,
    pub text: String,
}

/// What a line is to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    Said(Said),
    Title(String),
    /// An entry of ours without words, or no entry at all.
    Nothing(Option<u64>),
}

/// A number that no counter reaches stands for a line without one.
const UNNUMBERED: u64 = u64::MAX;

pub fn meaning(line: &[u8]) -> Meaning {
    let Ok(text) = std::str::from_utf8(line) else {
        return Meaning::Nothing(None);
    };
    let Ok(entry) = Entry::from_line(text, UNNUMBERED) else {
        return archived(text);
    };
    let number = Some(entry.entry).filter(|n| *n != UNNUMBERED);
    if let Body::Settings(settings) = &entry.body
        && let Some(title) = &settings.title
    {
        return Meaning::Title(title.clone());
    }
    match said(&entry) {
        Some((role, text)) if !text.trim().is_empty() => Meaning::Said(Said {
            entry: number,
            ts: entry.ts,
            role,
            text,
        }),
        Some(_) | None => Meaning::Nothing(number),
    }
}

/// Who says what in an entry.
pub fn said(entry: &Entry) -> Option<(&'static str, String)> {
    if let Body::Message(message) = &entry.body {
        let role = match message.role {
            Role::User => USER,
            Role::Assistant => "assistant",
            Role::System => "note",
        };
        return Some((role, cut(message.text.clone())));
    }
    if let Body::Compaction(compaction) = &entry.body {
        return Some(("note", cut(compaction.digest.clone())));
    }
    if let Body::ToolUse(call) = &entry.body {
        if call.name == OWN_RESULT {
            return None;
        }
        let mut text = call.name.clone();
        gather(&call.input.to_value(), 0, &mut text);
        return Some(("call", cut(text)));
    }
    if let Body::ToolResult(result) = &entry.body {
        let output = result.output.to_value();
        let data = output.get("data").or_else(|| output.get("error"));
        let data = data.unwrap_or(&output);
        if data.get(OWN_RESULT).is_some() {
            return None;
        }
        let mut text = String::new();
        gather(data, 0, &mut text);
        return Some(("result", cut(text)));
    }
    None
}

pub const USER: &str = "user";

/// A line of an archive that is a message and no entry.
fn archived(line: &str) -> Meaning {
    let Ok(Value::Object(message)) = serde_json::from_str::<Value>(line) else {
        return Meaning::Nothing(None);
    };
    let word = |key: &str| message.get(key).and_then(Value::as_str);
    let role = match word("role") {
        Some(USER) => USER,
        Some("assistant") => "assistant",
        Some("tool") => "result",
        Some(_) => "note",
        None => return Meaning::Nothing(None),
    };
    let mut text = String::new();
    for key in ["text", "content", "parts"] {
        gather(message.get(key).unwrap_or(&Value::Null), 0, &mut text);
    }
    match text.trim().is_empty() {
        true => Meaning::Nothing(None),
        false => Meaning::Said(Said {
            entry: message.get("entry").and_then(Value::as_u64),
            ts: word("ts").unwrap_or_default().to_owned(),
            role,
            text: cut(text),
        }),
    }
}

/// Every string in a value, one after the other. Pictures are none.
fn gather(value: &Value, depth: usize, out: &mut String) {
    if out.len() > MAX_TEXT || depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(beginning(text, MAX_TEXT));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth + 1, out)),
        Value::Object(fields) if fields.contains_key("media_type") => {}
        Value::Object(fields) => fields
            .values()
            .for_each(|item| gather(item, depth + 1, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(mut text: String) -> String {
    text.truncate(beginning(&text, MAX_TEXT).len());
    text
}

/// At most so many bytes of a text.
pub fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn line_of(body: Body) -> String {
        testing::numbered([body]).remove(0).to_line().unwrap()
    }

    #[test]
    fn lines_say_something_or_nothing() {
        let check = |line: &str, expect: Option<(&str, &str)>| {
            let got = match meaning(line.as_bytes()) {
                Meaning::Said(said) => Some((said.role, said.text)),
                Meaning::Title(text) => Some(("title", text)),
                Meaning::Nothing(_) => None,
            };
            let got = got.as_ref().map(|(role, text)| (*role, text.as_str()));
            assert_eq!(got, expect, "{line}");
        };
        let call =
            |name: &str| testing::tool_use("c", name, json!({"path": "a.rs", "n": [1, "two"]}));
        check(&line_of(testing::user("hi")), Some(("user", "hi")));
        check(&line_of(testing::user(" ")), None);
        check(&line_of(call("bash")), Some(("call", "bash\na.rs\ntwo")));
        check(&line_of(call("history")), None);
        check(
            &line_of(testing::result("c", "out")),
            Some(("result", "out")),
        );
        for (output, expect) in [
            (
                json!({"ok": true, "data": {"history": "search", "hits": ["x"]}}),
                None,
            ),
            (
                json!({"ok": true, "data": {"image": {"media_type": "image/png", "data": "AAAA"}}}),
                None,
            ),
            (
                json!({"ok": false, "error": {"code": "no", "message": "way"}}),
                Some(("result", "no\nway")),
            ),
        ] {
            let line =
                json!({"type": "tool_result", "tool_use_id": "c", "ok": true, "output": output});
            check(&line.to_string(), expect);
        }
        let digest = json!({"type": "compaction", "through": 3, "digest": "folded", "by": "model"});
        check(&digest.to_string(), Some(("note", "folded")));
        let title = json!({"type": "settings", "title": "T"}).to_string();
        check(&title, Some(("title", "T")));
        check(r#"{"role":"user","content":"old"}"#, Some(("user", "old")));
        check(
            r#"{"role":"tool","content":[{"text":"x"}]}"#,
            Some(("result", "x")),
        );
        for nothing in [
            "",
            "nonsense",
            "{}",
            "[1]",
            r#"{"role":1}"#,
            r#"{"type":"hologram"}"#,
        ] {
            check(nothing, None);
        }
        assert_eq!(meaning(b"\xff\xfe"), Meaning::Nothing(None));
        let huge = meaning(line_of(testing::user(&"é".repeat(MAX_TEXT))).as_bytes());
        assert!(matches!(huge, Meaning::Said(said) if said.text.len() == MAX_TEXT));
    }

    #[test]
    fn whole_lines_are_read_and_long_ones_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let long = "x".repeat(MAX_LINE + CHUNK + 1);
        let middle = "y".repeat(CHUNK + 7);
        std::fs::write(&path, format!("a\n\n{long}\n{middle}\nb\ntorn")).unwrap();
        let read = |from| {
            let mut lines = Lines::new(&path, from).unwrap();
            let mut out = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                out.push((line.at, line.bytes.len()));
            }
            (out, lines.at())
        };
        let after = 3 + long.len() as u64 + 1;
        let last = after + middle.len() as u64 + 1;
        let expect = vec![(0, 1), (2, 0), (after, middle.len()), (last, 1)];
        assert_eq!(read(0), (expect, last + 2));
        assert_eq!(read(last + 2), (vec![], last + 2));
    }
}
