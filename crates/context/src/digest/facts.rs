//! What the log itself knows about the work done: commands with their outcome, files, open todos, failures. Pure.

use ostler_tools::builtin::ask::Ask;
use ostler_tools::builtin::bash::Bash;
use ostler_tools::builtin::exit_plan_mode::{APPROVE, EDIT, ExitPlanMode};
use ostler_tools::builtin::{canonical_name, declaration};
use ostler_tools::tool::Typed as _;
use ostler_wire::{
    Body, Caller, Entry, Rewound, TodoItem, TodoState, ToolFact, ToolResult, ToolUse,
};
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::HashMap;

/// Characters of one command that are told.
const MAX_COMMAND: usize = 300;
/// Characters of what came of it.
const MAX_OUTCOME: usize = 120;

/// Characters of what the person was asked, and of what they decided.
const MAX_QUESTION: usize = 300;
const PUT_BACK: &str = "The person put files back to what they were at another moment; changes made before may be gone.";
const MAX_DECISION: usize = 4_000;

/// All lists are in the order in which things happened first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub files: Vec<FileFact>,
    pub commands: Vec<CommandFact>,
    /// What the person answered and approved when they were asked.
    pub decided: Vec<String>,
    /// Tasks that are not done.
    pub todos: Vec<TodoItem>,
    /// Calls and turns that failed.
    pub failures: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFact {
    pub path: String,
    pub reads: u32,
    pub changes: u32,
    /// What somebody found out about it.
    pub facts: String,
}

/// A call that did something, and what came of it the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFact {
    pub command: String,
    pub outcome: String,
    pub times: u32,
}

impl Facts {
    /// `root` is taken off paths.
    pub fn of<E: Borrow<Entry>>(entries: &[E], root: &str) -> Self {
        let mut facts = Self::default();
        let mut results: HashMap<&str, &ToolResult> = HashMap::new();
        for entry in entries {
            if let Body::ToolResult(result) = &entry.borrow().body {
                results.entry(&result.tool_use_id).or_insert(result);
            }
        }
        let mut places = Places::default();
        for entry in entries {
            let body = &entry.borrow().body;
            if let Body::ToolUse(call) = body {
                let result = results.get(call.id.as_str()).copied();
                facts.call(call, result, root, &mut places);
            } else if let Body::Todo(todo) = body {
                let open = |item: &&TodoItem| item.state != TodoState::Done;
                facts.todos = todo.items.iter().filter(open).cloned().collect();
            } else if let Body::Error(error) = body {
                let line = format!("{}: {}", error.kind, error.message);
                facts.failures.push(short(&line, MAX_OUTCOME));
            } else if let Body::Rewind(rewind) = body
                && rewind.what == Rewound::Code
            {
                // Whatever was changed before may be gone.
                facts.failures.push(PUT_BACK.into());
            }
        }
        facts.commands.retain(|fact| fact.times > 0);
        facts
    }

    fn call(
        &mut self,
        call: &ToolUse,
        result: Option<&ToolResult>,
        root: &str,
        places: &mut Places,
    ) {
        let args = call.input.to_value();
        let output = result.map(|r| r.output.to_value()).unwrap_or_default();
        let ok = result.is_some_and(|r| r.ok);
        let name = canonical_name(&call.name).unwrap_or(&call.name);
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| args.get(*key)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let path = || relative(&text(&["path", "file_path", "filename", "file"]), root);
        let fact = declaration(name).map_or(ToolFact::Call, |about| about.fact);
        match fact {
            ToolFact::FileRead if ok => self.file(path(), places, |f| f.reads += 1),
            ToolFact::FileChanged if ok => self.file(path(), places, |f| f.changes += 1),
            ToolFact::FileMoved if ok => {
                let from = relative(&text(&["source_path", "source", "from"]), root);
                let to = relative(&text(&["destination_path", "destination", "to"]), root);
                self.file(to, places, |f| {
                    f.changes += 1;
                    f.facts = format!("moved here from {from}");
                });
            }
            ToolFact::Nothing
            | ToolFact::FileRead
            | ToolFact::FileChanged
            | ToolFact::FileMoved => {}
            ToolFact::Call if name == Bash::NAME => {
                let outcome = outcome(result, &output);
                let outcome = match call.by {
                    Some(Caller::Person) => format!("the person ran it themselves; {outcome}"),
                    Some(Caller::Template) | None => outcome,
                };
                self.command(text(&["command"]), outcome, places);
            }
            ToolFact::Call => {
                let command = format!("{name} {}", call.input.get());
                self.command(command, outcome(result, &output), places);
            }
        }
        self.decided.extend(decision(name, &args, &output));
        if !ok {
            let subject = match name == Bash::NAME {
                true => text(&["command"]),
                false => path(),
            };
            let line = format!("{name} {subject}: {}", outcome(result, &output));
            self.failures.push(short(&line, MAX_COMMAND));
        }
    }

    fn file(&mut self, path: String, places: &mut Places, change: impl FnOnce(&mut FileFact)) {
        let at = *places.files.entry(path.clone()).or_insert(self.files.len());
        if at == self.files.len() {
            self.files.push(FileFact {
                path,
                ..FileFact::default()
            });
        }
        if let Some(fact) = self.files.get_mut(at) {
            change(fact);
        }
    }

    /// The same command again is told once, where it was run last.
    fn command(&mut self, command: String, outcome: String, places: &mut Places) {
        let known = places.commands.get(&command).copied();
        let before = known.and_then(|at| self.commands.get_mut(at));
        let times = before.map_or(1, |fact| std::mem::take(&mut fact.times) + 1);
        places.commands.insert(command.clone(), self.commands.len());
        self.commands.push(CommandFact {
            command: short(&command, MAX_COMMAND),
            outcome,
            times,
        });
    }
}

/// Where each file and command stands in its list.
#[derive(Default)]
struct Places {
    files: HashMap<String, usize>,
    commands: HashMap<String, usize>,
}

impl FileFact {
    pub fn line(&self) -> String {
        let counted = |n: u32, what: &str| match n {
            0 => None,
            1 => Some(what.to_owned()),
            n => Some(format!("{what} {n} times")),
        };
        let done: Vec<String> = [
            counted(self.changes, "changed"),
            counted(self.reads, "read"),
        ]
        .into_iter()
        .flatten()
        .chain(Some(self.facts.clone()).filter(|facts| !facts.is_empty()))
        .collect();
        format!("{}: {}", self.path, done.join("; "))
    }
}

impl CommandFact {
    pub fn line(&self) -> String {
        let times = match self.times {
            0 | 1 => String::new(),
            n => format!(" ({n} times)"),
        };
        format!("`{}`{times} → {}", self.command, self.outcome)
    }
}

/// What the person decided when this call put something to them.
fn decision(tool: &str, args: &Value, output: &Value) -> Option<String> {
    let data = output.get("data")?;
    let said = |key: &str| data.get(key).and_then(Value::as_str);
    let put = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default();
    let (question, answer) = match (tool, said("decision")) {
        (Ask::NAME, _) => (short(put("question"), MAX_QUESTION), said("answer")?),
        (ExitPlanMode::NAME, Some(APPROVE)) => ("plan, approved".into(), put("plan")),
        (ExitPlanMode::NAME, Some(EDIT)) => ("plan, approved as changed".into(), said("plan")?),
        (ExitPlanMode::NAME, Some(_)) => ("plan, not approved".into(), said("reason")?),
        _ => return None,
    };
    Some(format!("{question}: {}", short(answer, MAX_DECISION)))
}

/// What came of a call, in a few words.
fn outcome(result: Option<&ToolResult>, output: &Value) -> String {
    let Some(result) = result else {
        return "no result: it was interrupted and may or may not have run".into();
    };
    if let Some(error) = output.get("error") {
        let text = |key| error.get(key).and_then(Value::as_str).unwrap_or_default();
        return short(
            &format!("{}: {}", text("code"), text("message")),
            MAX_OUTCOME,
        );
    }
    let data = output.get("data").cloned().unwrap_or_default();
    if let Some(job) = data.get("job").and_then(Value::as_str) {
        return short(&format!("was started as job {job}"), MAX_OUTCOME);
    }
    let Some(code) = data.get("exit_code").and_then(Value::as_i64) else {
        return if result.ok { "done" } else { "failed" }.into();
    };
    let said = ["stdout", "stderr"].iter().find_map(|key| {
        let text = data.get(*key)?.as_str()?;
        text.lines().rev().find(|line| !line.trim().is_empty())
    });
    match said {
        Some(line) => short(&format!("exit {code}: {}", line.trim()), MAX_OUTCOME),
        None => format!("exit {code}"),
    }
}

fn relative(path: &str, root: &str) -> String {
    let inside = path
        .strip_prefix(root)
        .filter(|_| !root.is_empty())
        .and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

/// One line of at most so many characters.
pub fn short(text: &str, most: usize) -> String {
    let mut out: String = text.trim().chars().take(most).collect();
    if out.len() < text.trim().len() {
        out.push('…');
    }
    out.replace(['\n', '\r'], "⏎")
}

/// The beginning of a text, of at most so many bytes.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    let beginning = end.and_then(|end| text.get(..end));
    format!("{}…", beginning.unwrap_or_default())
}
