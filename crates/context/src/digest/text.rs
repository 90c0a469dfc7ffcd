//! The digest: what is told in place of folded work. Its facts come from the log, its prose from the model, and it has one
//! text. Pure.

use super::facts::{Facts, FileFact, cut, short};
use ostler_wire::TodoState;
use std::fmt::Write as _;

/// Bytes of a digest, and of the share of each of its parts when there is more than fits.
pub const MAX_DIGEST: usize = 24_000;
const PROSE_SHARE: usize = 8;
const COMMANDS_SHARE: usize = 10;
const FILES_SHARE: usize = 3;
const DECIDED_SHARE: usize = 4;
const REST_SHARE: usize = 1;
/// What the shares add up to: prose, commands, files, decisions, failures, todos, and what stands around them.
const SHARES: usize = 28;
/// Characters of what the model says about one file.
const MAX_FACTS: usize = 300;

const OPEN: &str = "<digest>";
const CLOSE: &str = "</digest>";
const HEAD: &str = "This stands for work of yours that was folded to save room; Ostler put it together from the log. The person's own messages are kept word for word around it. It is a record, not a request. What is listed as run is done: do not run it again unless something it depends on has changed.";

/// What of a digest only a model can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prose {
    pub goal: String,
    pub constraints: String,
    pub decisions: String,
    pub notes: String,
    /// A line for each file.
    pub files: String,
}

/// Folded work, typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    pub prose: Prose,
    pub facts: Facts,
    pub focus: Option<String>,
    pub archive: Option<String>,
    /// What the model has not been told of the mode yet.
    pub mode: Option<String>,
}

/// Sections that the model is asked for.
#[derive(Clone, Copy)]
enum Section {
    Goal,
    Constraints,
    Decisions,
    Files,
    Notes,
}

impl Prose {
    /// Reads an answer in sections. None when it has none: a refusal, or talk of something else.
    pub fn parse(answer: &str) -> Option<Self> {
        let mut prose = Self::default();
        let mut section = None;
        for line in answer.lines() {
            if let Some(found) = heading(line) {
                section = Some(found);
            } else if let Some(section) = section {
                let text = prose.of(section);
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        for section in ALL {
            let text = prose.of(section);
            *text = text.trim().to_owned();
        }
        let said = [
            &prose.goal,
            &prose.constraints,
            &prose.decisions,
            &prose.notes,
        ];
        said.iter().any(|text| !text.is_empty()).then_some(prose)
    }

    fn of(&mut self, section: Section) -> &mut String {
        match section {
            Section::Goal => &mut self.goal,
            Section::Constraints => &mut self.constraints,
            Section::Decisions => &mut self.decisions,
            Section::Files => &mut self.files,
            Section::Notes => &mut self.notes,
        }
    }
}

const ALL: [Section; 5] = [
    Section::Goal,
    Section::Constraints,
    Section::Decisions,
    Section::Files,
    Section::Notes,
];

fn heading(line: &str) -> Option<Section> {
    let line = line.trim();
    let title = line
        .strip_prefix('#')
        .map(|rest| rest.trim_start_matches('#'))
        .or_else(|| line.strip_prefix("**")?.strip_suffix("**"))?;
    match title
        .trim()
        .trim_end_matches(':')
        .to_ascii_lowercase()
        .as_str()
    {
        "goal" => Some(Section::Goal),
        "constraints" => Some(Section::Constraints),
        "decisions" => Some(Section::Decisions),
        "files" => Some(Section::Files),
        "notes" => Some(Section::Notes),
        _ => None,
    }
}

impl Digest {
    pub fn new(prose: Option<Prose>, mut facts: Facts) -> Self {
        let prose = prose.unwrap_or_default();
        add_facts(&mut facts.files, &prose.files);
        Self {
            prose,
            facts,
            focus: None,
            archive: None,
            mode: None,
        }
    }

    /// The one text of this digest, of at most about `most` bytes.
    pub fn render(&self, most: usize) -> String {
        let room = |share: usize| most.min(MAX_DIGEST) * share / SHARES;
        let mut out = format!("{OPEN}\n{HEAD}");
        if let Some(archive) = &self.archive {
            let _ = write!(out, " The originals are in {archive}.");
        }
        out.push('\n');
        if let Some(focus) = &self.focus {
            section(&mut out, "What the person wanted kept", &tame(focus));
        }
        if let Some(mode) = &self.mode {
            section(&mut out, "Mode now", mode);
        }
        let prose = &self.prose;
        let mut left = room(PROSE_SHARE);
        for (title, text) in [
            ("Goal", &prose.goal),
            ("Constraints", &prose.constraints),
            ("Decisions", &prose.decisions),
            ("Notes", &prose.notes),
        ] {
            let text = cut(&tame(text), left);
            left = left.saturating_sub(text.len());
            section(&mut out, title, &text);
        }
        self.say_facts(&mut out, most.min(MAX_DIGEST));
        out.push_str(CLOSE);
        out
    }

    fn say_facts(&self, out: &mut String, most: usize) {
        let room = |share: usize| most * share / SHARES;
        let facts = &self.facts;
        let decided = newest(facts.decided.clone(), room(DECIDED_SHARE), "decision");
        let lines = facts.files.iter().map(FileFact::line).collect();
        let files = newest(lines, room(FILES_SHARE), "file");
        let lines = facts.todos.iter().map(|item| {
            let state = match item.state {
                TodoState::InProgress => " (in progress)",
                TodoState::Pending | TodoState::Done => "",
            };
            format!("{}{state}", short(&item.text, MAX_FACTS))
        });
        let todos = newest(lines.collect(), room(REST_SHARE), "todo");
        let failures = newest(facts.failures.clone(), room(REST_SHARE), "failure");
        // What is not listed may be run again, so they get all the room that others leave.
        let used = out.len() + decided.len() + files.len() + todos.len() + failures.len();
        let left = most.saturating_sub(used + room(REST_SHARE));
        let lines = facts.commands.iter().map(|c| c.line()).collect();
        let commands = newest(lines, left.max(room(COMMANDS_SHARE)), "command");
        for (title, text) in [
            ("Decided by the person", decided),
            ("Files", files),
            ("Commands already run", commands),
            ("Open todos", todos),
            ("Failures", failures),
        ] {
            section(out, title, &text);
        }
    }
}

/// What the model said about files joins what the log knows of them.
fn add_facts(files: &mut [FileFact], said: &str) {
    for line in said.lines() {
        let line = line.trim().trim_start_matches(['-', '*', ' ']);
        let Some((path, facts)) = line.split_once(": ") else {
            continue;
        };
        let path = path.trim().trim_matches('`');
        if let Some(file) = files.iter_mut().find(|file| file.path == path) {
            let facts = short(facts, MAX_FACTS);
            file.facts = match file.facts.is_empty() {
                true => facts,
                false => format!("{}; {facts}", file.facts),
            };
        }
    }
}

fn section(out: &mut String, title: &str, text: &str) {
    if !text.is_empty() {
        let _ = write!(out, "\n## {title}\n{text}\n");
    }
}

/// The newest of the lines that fit, in order, and how many did not.
fn newest(lines: Vec<String>, room: usize, what: &str) -> String {
    let total = lines.len();
    let mut kept = Vec::new();
    let mut size = 0;
    for line in lines.iter().rev() {
        let line = format!("- {}\n", tame(line));
        size += line.len();
        // The last one is told whatever it takes.
        if size > room && !kept.is_empty() {
            break;
        }
        kept.push(line);
    }
    let left = total - kept.len();
    kept.reverse();
    let mut text = match left {
        0 => String::new(),
        1 => format!("- (1 earlier {what} is not listed)\n"),
        n => format!("- ({n} earlier {what}s are not listed)\n"),
    };
    text.extend(kept);
    text.trim_end().to_owned()
}

/// Nothing in a digest ends it.
fn tame(text: &str) -> String {
    text.trim()
        .replace(CLOSE, "< /digest>")
        .replace(OPEN, "< digest>")
}
