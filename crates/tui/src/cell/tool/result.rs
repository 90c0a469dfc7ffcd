//! What came of a call: a few facts for its title, and what is below it. Reads the envelope of any tool; what is not as
//! expected is shown as it is.

use super::super::{Fold, lines};
use super::title::pick;
use crate::diff::Diff;
use crate::highlight;
use crate::line::{Line, Style};
use crate::rows::{self, spaces};
use crate::say;
use crate::theme::{Role, Theme};
use ostler_wire::{Language, PlanChoice, ResultForm, Word, short_id, thousands};
use serde_json::Value;

/// Lines of output, of a change and of a new file that the transcript shows.
const FOLDED_OUTPUT: usize = 5;
/// The same of a command that the person ran: about a screen.
const OWN_OUTPUT: usize = 40;
const FOLDED_ERROR: usize = 8;
const FOLDED_DIFF: usize = 40;
const FOLDED_FILE: usize = 10;
/// Bytes of JSON that need no lines of their own.
const ONE_LINE: usize = 60;
const OPEN_DIFF: usize = 5_000;

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub facts: Vec<String>,
    /// It ran, and what it ran did not end well.
    pub went_wrong: bool,
    body: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    /// The transcript shows its end.
    Output {
        text: String,
        folded: usize,
    },
    /// A document.
    Markdown(String),
    /// Only the open form shows it.
    Hidden(String),
    /// The same, as code in the language of the file.
    Code {
        path: String,
        text: String,
    },
    Diff {
        diff: Diff,
        folded: usize,
    },
    Answer(String),
    Warning(String),
    Error(String),
}

/// What the person said themselves. The sentence around it is for the model; the title says that the call was denied.
fn own_reason(message: &str) -> Option<&str> {
    match message.strip_prefix("The person refused this call") {
        Some(rest) => rest.strip_prefix(": "),
        None => Some(message),
    }
}

pub fn read(form: ResultForm, input: &Value, envelope: Value, to: Language) -> Outcome {
    if let Some(error) = envelope.get("error").filter(|e| !e.is_null()) {
        let message = match error.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        };
        let shown = match error["code"].as_str() {
            Some("denied") => own_reason(&message).map(str::to_owned),
            _ => Some(message),
        };
        return Outcome {
            facts: Vec::new(),
            went_wrong: true,
            body: shown.into_iter().map(Part::Error).collect(),
        };
    }
    let data = envelope.get("data").unwrap_or(&envelope);
    match form {
        ResultForm::Command => command(data, to),
        ResultForm::File => file(data, to),
        ResultForm::Edit => edit(input, data),
        ResultForm::WholeFile => written(input, data, to),
        ResultForm::Matches => listed(data, "matches", |n, data| {
            say::matches(to, count(data, "count").unwrap_or(n))
        }),
        ResultForm::Paths => listed(data, "paths", |n, data| {
            say::files(to, count(data, "total").unwrap_or(n))
        }),
        ResultForm::Entries => listed(data, "entries", |n, _| say::entries(to, n)),
        ResultForm::WebResults => found(data, to),
        ResultForm::Page => page(data),
        ResultForm::Answer => answer(data, to),
        ResultForm::Time => Outcome {
            facts: pick(data, &["utc"])
                .map(str::to_owned)
                .into_iter()
                .collect(),
            ..Outcome::default()
        },
        ResultForm::Cell => notebook(input, data, to),
        ResultForm::Facts => remembered(data, to),
        ResultForm::Fact => Outcome {
            facts: data
                .get("fact")
                .map(|fact| text(fact, "name").to_owned())
                .filter(|name| Some(name.as_str()) != pick(input, &["name", "title"]))
                .into_iter()
                .collect(),
            ..Outcome::default()
        },
        ResultForm::Report => report(data, to),
        ResultForm::Nothing | ResultForm::Entry => Outcome::default(),
        ResultForm::Plan => plan(input, data, to),
        ResultForm::Text => unknown(data),
    }
}

impl Outcome {
    /// Shows as much of its output as a screen holds.
    pub fn show_a_screen(&mut self) {
        for part in &mut self.body {
            if let Part::Output { folded, .. } = part {
                *folded = OWN_OUTPUT;
            }
        }
    }

    /// The line that says most: the first of an error or an answer, the last of an output.
    pub fn headline(&self) -> Option<&str> {
        fn filled(line: &&str) -> bool {
            !line.trim().is_empty()
        }
        self.body.iter().find_map(|part| match part {
            Part::Error(text) | Part::Answer(text) | Part::Warning(text) => {
                text.lines().find(filled)
            }
            Part::Output { text, .. } => text.lines().rev().find(filled),
            Part::Markdown(_) | Part::Hidden(_) | Part::Code { .. } | Part::Diff { .. } => None,
        })
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let parts = self.body.iter();
        parts
            .flat_map(|part| part.rows(columns, theme, fold))
            .collect()
    }
}

impl Part {
    fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let faint = theme.style(Role::Faint);
        match (self, fold) {
            (Self::Output { text, folded }, Fold::Closed) => {
                lines::tail(text.trim_end(), *folded, faint, columns, theme)
            }
            (Self::Markdown(text), _) => {
                let width = columns.saturating_sub(lines::INDENT);
                indented(crate::markdown::render(text, width, theme))
            }
            (Self::Output { text, .. } | Self::Hidden(text), Fold::Open) => {
                lines::all(text.trim_end(), Style::PLAIN, columns)
            }
            (Self::Hidden(_) | Self::Code { .. }, Fold::Closed) => Vec::new(),
            (Self::Code { path, text }, Fold::Open) => code(path, text, columns, theme),
            (Self::Diff { diff, folded }, _) => {
                let count = match fold {
                    Fold::Closed => *folded,
                    Fold::Open => OPEN_DIFF,
                };
                let width = columns.saturating_sub(lines::INDENT);
                indented(diff.rows(width, theme, count))
            }
            (Self::Answer(text), _) => wrapped(text, theme.style(Role::User), columns, theme, fold),
            (Self::Warning(text), _) => {
                wrapped(text, theme.style(Role::Warning), columns, theme, fold)
            }
            (Self::Error(text), _) => wrapped(text, theme.style(Role::Error), columns, theme, fold),
        }
    }
}

fn wrapped(text: &str, style: Style, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
    let count = match fold {
        Fold::Closed => FOLDED_ERROR,
        Fold::Open => usize::MAX,
    };
    let width = columns.saturating_sub(lines::INDENT);
    indented(lines::head(text, count, style, width, theme))
}

fn indented(rows: Vec<Line>) -> Vec<Line> {
    rows::indent(rows, &spaces(lines::INDENT), &spaces(lines::INDENT))
}

fn code(path: &str, text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut block = highlight::Block::of_file(path);
    let width = columns.saturating_sub(lines::INDENT);
    let mut out = Vec::new();
    for line in text.lines() {
        let line = block.line(rows::head(line, MAX_CODE_LINE), theme);
        out.extend(rows::fold(&line, width));
        if out.len() > super::super::MAX_OPEN_ROWS {
            break;
        }
    }
    indented(out)
}

/// Bytes of a line of a file.
const MAX_CODE_LINE: usize = 8 * 1024;

fn count(data: &Value, key: &str) -> Option<usize> {
    usize::try_from(data.get(key)?.as_u64()?).ok()
}

fn text<'a>(data: &'a Value, key: &str) -> &'a str {
    data.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn command(data: &Value, to: Language) -> Outcome {
    let mut out = Outcome::default();
    let code = data.get("exit_code").and_then(Value::as_i64);
    match (text(data, "job"), text(data, "state"), code) {
        ("", _, Some(0) | None) => {}
        ("", _, Some(code)) => out.facts.push(say::exit(to, code)),
        (job, "killed", _) => out.facts.push(say::job_killed(to, job)),
        (job, _, Some(code)) => out.facts.push(say::job_ended(to, job, code)),
        (job, _, None) => out.facts.push(say::job_runs(to, job)),
    }
    let timed_out = data.get("timed_out").and_then(Value::as_bool) == Some(true);
    if timed_out {
        out.facts.push(to.say(Word::TimedOut).into());
    }
    out.went_wrong = timed_out || code.is_some_and(|code| code != 0);
    let said = [text(data, "stdout"), text(data, "stderr")];
    let said: Vec<&str> = said
        .into_iter()
        .map(|text| text.trim_end_matches('\n'))
        .filter(|text| !text.is_empty())
        .collect();
    let text = match said.as_slice() {
        [] if out.facts.is_empty() => to.say(Word::NoOutput).into(),
        said => said.join("\n"),
    };
    out.body.push(output(text));
    if let Some(hint) = data.get("denied").and_then(|d| d.get("hint")?.as_str()) {
        out.body.push(Part::Warning(hint.to_owned()));
    }
    out
}

fn file(data: &Value, to: Language) -> Outcome {
    let mut out = Outcome::default();
    let path = text(data, "path").to_owned();
    if let Some(image) = data.get("image").filter(|image| image.is_object()) {
        let size = |key| count(data, key).unwrap_or_default();
        out.facts.push(text(image, "media_type").to_owned());
        out.facts
            .push(format!("{}×{}", size("width"), size("height")));
    } else if let Some(kind) = data.get("binary").and_then(Value::as_str) {
        let kind = if kind.is_empty() {
            to.say(Word::Binary)
        } else {
            kind
        };
        let bytes = data.get("bytes").and_then(Value::as_u64);
        out.facts.push(kind.to_owned());
        out.facts.push(say::size(bytes.unwrap_or_default()));
    } else {
        let content = text(data, "content").to_owned();
        out.facts.push(say::lines(to, content.lines().count()));
        out.body.push(Part::Code {
            path,
            text: content,
        });
    }
    out
}

fn output(text: String) -> Part {
    Part::Output {
        text,
        folded: FOLDED_OUTPUT,
    }
}

fn changed(diff: &Diff) -> String {
    format!("(+{} −{})", diff.added, diff.removed)
}

/// A plan stays readable after it was decided about.
fn plan(input: &Value, data: &Value, to: Language) -> Outcome {
    let decided = match PlanChoice::from_id(text(data, "decision")) {
        PlanChoice::Approve | PlanChoice::ApproveAsk => Word::PlanWasApproved,
        PlanChoice::Edit => Word::PlanWasEdited,
        PlanChoice::Keep => Word::PlanWasKept,
    };
    let shown = pick(data, &["plan"]).or_else(|| pick(input, &["plan"]));
    let mut body = vec![Part::Markdown(shown.unwrap_or_default().to_owned())];
    body.extend(pick(data, &["reason"]).map(|reason| Part::Answer(reason.to_owned())));
    Outcome {
        facts: vec![to.say(decided).into()],
        went_wrong: false,
        body,
    }
}

fn edit(input: &Value, data: &Value) -> Outcome {
    let edits = data.get("edits").and_then(Value::as_array);
    let diffs: Vec<&str> = match edits {
        Some(edits) => edits.iter().map(|edit| text(edit, "diff")).collect(),
        None => vec![text(data, "diff")],
    };
    let diff = Diff::unified(&diffs.join("\n")).of_file(path_of(input));
    Outcome {
        facts: vec![changed(&diff)],
        went_wrong: false,
        body: vec![Part::Diff {
            diff,
            folded: FOLDED_DIFF,
        }],
    }
}

fn written(input: &Value, data: &Value, to: Language) -> Outcome {
    let is_new = data.get("created").and_then(Value::as_bool) == Some(true);
    let content = pick(input, &["content", "contents", "text"]).unwrap_or_default();
    if let Some(diff) = data.get("diff").and_then(Value::as_str) {
        let diff = Diff::unified(diff).of_file(path_of(input));
        let facts = match diff.is_empty() {
            true => vec![to.say(Word::NotChanged).into()],
            false => vec![changed(&diff), to.say(Word::Overwritten).into()],
        };
        return Outcome {
            facts,
            went_wrong: false,
            body: vec![Part::Diff {
                diff,
                folded: FOLDED_DIFF,
            }],
        };
    }
    let fact = if is_new {
        to.say(Word::NewFile)
    } else {
        to.say(Word::Overwritten)
    };
    Outcome {
        facts: vec![fact.into(), say::lines(to, content.lines().count())],
        went_wrong: false,
        body: vec![Part::Diff {
            diff: Diff::between("", content).of_file(path_of(input)),
            folded: FOLDED_FILE,
        }],
    }
}

fn path_of(input: &Value) -> &str {
    pick(input, &["path", "file_path"]).unwrap_or_default()
}

fn notebook(input: &Value, data: &Value, to: Language) -> Outcome {
    let source = pick(input, &["source", "new_source"]).unwrap_or_default();
    let mut facts: Vec<String> = count(data, "cell")
        .map(|x| say::cell(to, x))
        .into_iter()
        .collect();
    facts.extend(pick(data, &["done"]).map(str::to_owned));
    Outcome {
        facts,
        went_wrong: false,
        body: vec![Part::Diff {
            diff: Diff::between("", source),
            folded: FOLDED_FILE,
        }],
    }
}

fn listed(data: &Value, key: &str, fact: impl Fn(usize, &Value) -> String) -> Outcome {
    let items = data.get(key).and_then(Value::as_array);
    let items: Vec<&str> = items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Outcome {
        facts: vec![fact(items.len(), data)],
        went_wrong: false,
        body: vec![Part::Hidden(items.join("\n"))],
    }
}

fn found(data: &Value, to: Language) -> Outcome {
    let results = data.get("results").and_then(Value::as_array);
    let results: Vec<String> = results
        .into_iter()
        .flatten()
        .map(|r| {
            format!(
                "{}\n{}\n{}\n",
                text(r, "title"),
                text(r, "url"),
                text(r, "snippet")
            )
        })
        .collect();
    Outcome {
        facts: vec![say::results(to, results.len())],
        went_wrong: false,
        body: vec![Part::Hidden(results.join("\n"))],
    }
}

fn remembered(data: &Value, to: Language) -> Outcome {
    let facts = data.get("facts").and_then(Value::as_array);
    let facts: Vec<String> = facts
        .into_iter()
        .flatten()
        .map(|fact| {
            let about = ["id", "name", "description", "content"].map(|key| text(fact, key));
            let about = about.into_iter().filter(|part| !part.is_empty());
            about.collect::<Vec<_>>().join("  ")
        })
        .collect();
    Outcome {
        facts: vec![say::results(to, facts.len())],
        went_wrong: false,
        body: vec![Part::Hidden(facts.join("\n"))],
    }
}

fn page(data: &Value) -> Outcome {
    let mut facts = Vec::new();
    let status = data.get("status").and_then(Value::as_u64);
    if let Some(status) = status.filter(|status| *status != 200) {
        facts.push(format!("HTTP {status}"));
    }
    facts.extend(pick(data, &["title"]).map(str::to_owned));
    Outcome {
        facts,
        went_wrong: status.is_some_and(|status| status >= 400),
        body: vec![Part::Hidden(text(data, "content").to_owned())],
    }
}

/// Which session did it, what that took, and the branch with its changes where it had a tree of its own.
fn report(data: &Value, to: Language) -> Outcome {
    let spent = |key| data["spent"][key].as_u64().unwrap_or_default();
    let tokens = spent("input").saturating_add(spent("output"));
    let session = pick(data, &["session"]).map(|id| short_id(id).to_owned());
    let tokens = (tokens > 0).then(|| to.fill(Word::TokenCount, &[&thousands(tokens)]));
    let branch = data.pointer("/worktree/branch").and_then(Value::as_str);
    let facts = [session, tokens, branch.map(str::to_owned)];
    Outcome {
        facts: facts.into_iter().flatten().collect(),
        ..unknown(data)
    }
}

fn answer(data: &Value, to: Language) -> Outcome {
    let mut out = Outcome::default();
    match pick(data, &["answer"]) {
        Some(answer) => out.body.push(Part::Answer(answer.to_owned())),
        None => out.facts.push(to.say(Word::NobodyAnswered).into()),
    }
    out
}

/// Of a tool that we do not know: its text, where it has one.
fn unknown(data: &Value) -> Outcome {
    let pieces = data.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = pieces
        .into_iter()
        .flatten()
        .filter_map(|piece| piece.get("text")?.as_str())
        .collect();
    let text = match (data, pick(data, &["text", "content", "output", "message"])) {
        (Value::String(text), _) => text.clone(),
        (_, Some(text)) => text.to_owned(),
        (Value::Null, None) => String::new(),
        (_, None) if !texts.is_empty() => texts.join("\n"),
        (data, None) => match data.to_string() {
            short if short.len() <= ONE_LINE => short,
            _ => serde_json::to_string_pretty(data).unwrap_or_default(),
        },
    };
    let mut body = Vec::new();
    if let Some(diff) = pick(data, &["diff"]) {
        body.push(Part::Diff {
            diff: Diff::unified(diff),
            folded: FOLDED_DIFF,
        });
    }
    body.push(output(text));
    Outcome {
        facts: Vec::new(),
        went_wrong: false,
        body,
    }
}
