//! A handoff: what a fresh session needs to go on with the work of another one, as Markdown. It is read off the log; a model
//! may say it better. No history is touched; a document goes to a file beside the work.

use crate::clients::feed::Feed;
use crate::conversation::Conversation;
use crate::cost;
use crate::digest::{Facts, MAX_PINNED, Plan, cut};
use crate::sample::{Sampled, sample};
use ostler_llm::{Answer, AnswerPart, Model, Params, Prefix, TokenUsage};
use ostler_store::budget::{self, Amount, Hold, Till};
use ostler_store::redact::Redactor;
use ostler_tools::tool::Scope;
use ostler_wire::{Body, Entry, Language, Message, Outcome, Role, Say, Stop, Usage, Word};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Documents of one session.
const MAX_DOCUMENTS: usize = 100;
/// Entries of each list.
const MAX_FILES: usize = 30;
const MAX_COMMANDS: usize = 20;
const MAX_TASKS: usize = 30;
/// Messages of the person that the starter prompt repeats, and the bytes of each.
const MAX_WORDS: usize = 10;
const MAX_WORD_BYTES: usize = 600;
/// Bytes of the session that the model is shown.
const MAX_SHOWN: usize = 60_000;
/// Bytes of one answer of the model among them.
const MAX_ANSWER: usize = 1_500;

/// What the request is for, in usage and ledger.
pub const ROLE: &str = budget::HANDOFF;

const SYSTEM: &str = include_str!("handoff.md");

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handoff {
    /// As the person gave it.
    pub goal: String,
    pub starter: String,
    /// Relative to the root.
    pub files: Vec<String>,
    pub tasks: Vec<String>,
    pub commands: Vec<String>,
}

/// Where the document of a session is written.
#[derive(Clone, Copy)]
pub struct HandoffPlace<'a> {
    pub scope: &'a Scope,
    /// The session that it is about.
    pub session: &'a str,
    pub redactor: &'a Redactor,
    pub language: Language,
}

/// A handoff after a model was asked to say it better.
#[derive(Debug)]
pub struct Improved {
    pub handoff: Handoff,
    /// Why the draft stayed as it was.
    pub fault: Option<String>,
    pub usage: Option<Usage>,
    /// What was kept for the request, until what it cost is booked.
    pub hold: Option<Hold>,
}

impl Handoff {
    /// What the log knows. `root` is taken off paths.
    pub fn draft(entries: &[Entry], goal: &str, root: &str) -> Self {
        let facts = Facts::of(entries, root);
        let is_inside = |path: &&str| !path.is_empty() && !path.starts_with(['/', '~']);
        let (changed, read): (Vec<_>, Vec<_>) = facts.files.iter().partition(|f| f.changes > 0);
        let paths = changed.into_iter().chain(read).map(|f| f.path.as_str());
        let files: Vec<String> = paths
            .filter(is_inside)
            .take(MAX_FILES)
            .map(str::to_owned)
            .collect();
        // One that had to be shortened cannot be repeated.
        let whole = |command: &&str| !command.contains(['⏎', '…']);
        let commands = facts.commands.iter().map(|c| c.command.as_str());
        let mut commands: Vec<String> = commands
            .filter(whole)
            .rev()
            .take(MAX_COMMANDS)
            .map(str::to_owned)
            .collect();
        commands.reverse();
        let mut tasks: Vec<String> = facts.todos.iter().map(|t| one_line(&t.text)).collect();
        tasks.extend(unfinished(entries));
        if tasks.is_empty() {
            tasks.push(one_line(goal));
        }
        tasks.truncate(MAX_TASKS);
        Self {
            starter: starter(entries, goal, &files),
            goal: goal.to_owned(),
            files,
            tasks,
            commands,
        }
    }

    pub fn render(&self) -> String {
        let mut out = format!("# Handoff\n\n## Goal\n\n{}\n", self.goal);
        let _ = write!(
            out,
            "\n## Starter prompt\n\n{}\n",
            fenced(&self.starter, "text")
        );
        out.push_str("\n## Relevant files\n\n");
        list(&mut out, &self.files, |path| format!("- `{path}`"));
        out.push_str("\n## Open tasks\n\n");
        list(&mut out, &self.tasks, |task| format!("- [ ] {task}"));
        out.push_str("\n## Repro commands\n\n");
        match self.commands.is_empty() {
            true => out.push_str("None.\n"),
            false => out.push_str(&format!("{}\n", fenced(&self.commands.join("\n"), "sh"))),
        }
        out
    }

    /// Writes it into the root. How the person names the file, and what is in it.
    pub fn write(&self, place: HandoffPlace<'_>) -> Result<(String, String), String> {
        let document = place.redactor.text(self.render());
        let id = place.session.get(..8).unwrap_or(place.session);
        let (path, written) = new_file(&place.scope.root, &format!("handoff-{id}"), &document);
        let shown = place.scope.shown(&path);
        match written {
            Ok(()) => Ok((shown, document)),
            Err(error) => Err(format!("{shown}: {}", error.say(place.language))),
        }
    }

    /// The same in a model's words; the feed tells when it is asked again. What can be read off the log stays as it is.
    pub async fn improved(
        self,
        (model, feed, language): (&Model, &Feed, Language),
        entries: &[Entry],
        cancel: &CancellationToken,
        till: Till<'_>,
    ) -> Improved {
        let (conversation, worst) = question(&self, model, entries);
        let hold = match till.budget.hold(till.payer, worst) {
            Ok(hold) => Some(hold),
            Err(breach) => {
                return Improved {
                    handoff: self,
                    fault: Some(breach.message(language)),
                    usage: None,
                    hold: None,
                };
            }
        };
        let (said, usage) = ask(conversation, feed, language, cancel).await;
        let said = said.and_then(|text| {
            sections(&text).ok_or_else(|| language.say(Word::HandoffOffTopic).into())
        });
        match said {
            Ok((starter, tasks)) => Improved {
                handoff: Self {
                    starter,
                    tasks: if tasks.is_empty() { self.tasks } else { tasks },
                    ..self
                },
                fault: None,
                usage,
                hold,
            },
            Err(why) => Improved {
                handoff: self,
                fault: Some(why),
                usage,
                hold,
            },
        }
    }
}

/// What the person wanted last.
pub fn goal(entries: &[Entry]) -> String {
    let words = |entry: &Entry| {
        let message = entry.body.message().filter(|m| m.role == Role::User)?;
        (!message.text.trim().is_empty()).then(|| message.text.trim().to_owned())
    };
    entries.iter().rev().find_map(words).unwrap_or_default()
}

/// A file of this name that was not there before.
fn new_file(folder: &Path, name: &str, text: &str) -> (PathBuf, io::Result<()>) {
    let mut number = 1;
    loop {
        let more = match number {
            1 => String::new(),
            n => format!("-{n}"),
        };
        let path = folder.join(format!("{name}{more}.md"));
        let file = ostler_host::private_options()
            .write(true)
            .create_new(true)
            .open(&path);
        match file {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_DOCUMENTS =>
            {
                number += 1;
            }
            file => {
                return (
                    path,
                    file.and_then(|mut file| file.write_all(text.as_bytes())),
                );
            }
        }
    }
}

/// What the model is asked, and the most that may cost.
fn question(draft: &Handoff, model: &Model, entries: &[Entry]) -> (Conversation, Amount) {
    let prefix = Prefix {
        system: SYSTEM.trim_end().into(),
        tools: Vec::new(),
    };
    let mut conversation = Conversation::new(model.clone(), prefix, &Params::default(), false);
    let text = format!(
        "The goal of the next session:\n{}\n\nThe session so far:\n{}\n\nThe draft:\n{}",
        draft.goal,
        shown(entries),
        draft.render()
    );
    conversation.push(&Entry {
        entry: 0,
        parent: None,
        ts: String::new(),
        body: Body::Message(Message::user(text)),
    });
    let target = model.target();
    let worst = cost::upper_bound(conversation.bytes(), None, target.max_output, target.price);
    (conversation, worst)
}

/// What it says, or why nothing, and what that took.
async fn ask(
    mut conversation: Conversation,
    feed: &Feed,
    language: Language,
    cancel: &CancellationToken,
) -> (Result<String, String>, Option<Usage>) {
    let (body, _) = conversation.request();
    let model = &conversation.model;
    let answer = match sample(model, body, feed, language, cancel).await {
        Sampled::Whole(answer) => answer,
        Sampled::Cut(partial, error) | Sampled::Failed(partial, error) => {
            return (Err(error.say(language)), usage(model, &partial));
        }
        Sampled::Interrupted(partial) => {
            return (
                Err(language.say(Word::Stopped).into()),
                usage(model, &partial),
            );
        }
    };
    let usage = usage(model, &answer);
    if answer.stop == Some(Stop::Refusal) {
        return (Err(language.say(Word::ModelRefused).into()), usage);
    }
    let text = answer.parts.into_iter().filter_map(|part| match part {
        AnswerPart::Text { text, .. } => Some(text),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    (Ok(text.collect()), usage)
}

fn usage(model: &Model, answer: &Answer) -> Option<Usage> {
    let target = model.target();
    let tokens = answer.usage.plus(answer.wasted);
    (tokens != TokenUsage::default()).then(|| Usage {
        role: Some(ROLE.into()),
        ..cost::usage_of(target, &tokens)
    })
}

/// The session as text: all that is pinned, and the latest answers, as far as there is room.
fn shown(entries: &[Entry]) -> String {
    let plan = Plan::of(entries);
    let mut pieces: Vec<String> = plan.kept(entries).into_iter().map(|k| k.text).collect();
    for entry in entries.get(plan.end..).unwrap_or_default() {
        if let Body::Message(message) = &entry.body {
            let (who, most) = match message.role {
                Role::User => ("The person", MAX_PINNED),
                Role::Assistant => ("The model", MAX_ANSWER),
                Role::System => continue,
            };
            if !message.text.trim().is_empty() {
                pieces.push(format!("{who}: {}", cut(message.text.trim(), most)));
            }
        }
    }
    let mut room = MAX_SHOWN;
    let mut latest: Vec<String> = pieces
        .into_iter()
        .rev()
        .take_while(|piece| {
            let fits = piece.len() <= room;
            room = room.saturating_sub(piece.len());
            fits
        })
        .collect();
    latest.reverse();
    latest.join("\n\n")
}

/// The starter prompt and the tasks of an answer in sections.
fn sections(text: &str) -> Option<(String, Vec<String>)> {
    let (mut starter, mut tasks) = (String::new(), Vec::new());
    let mut section = "";
    for line in text.lines() {
        if let Some(title) = line.trim().strip_prefix("## ") {
            section = match title.trim().to_ascii_lowercase().as_str() {
                "starter prompt" => "starter",
                "open tasks" => "tasks",
                _ => "",
            };
        } else if section == "starter" {
            starter.push_str(line);
            starter.push('\n');
        } else if section == "tasks" {
            let task = line.trim().trim_start_matches(['-', '*', ' ']);
            let task = task.trim_start_matches("[ ]").trim();
            if !task.is_empty() {
                tasks.push(task.to_owned());
            }
        }
    }
    tasks.truncate(MAX_TASKS);
    let starter = starter.trim().trim_matches('`').trim().to_owned();
    (!starter.is_empty()).then_some((starter, tasks))
}

fn starter(entries: &[Entry], goal: &str, files: &[String]) -> String {
    let mut out = format!("Go on with work that another session began. The goal: {goal}\n");
    let messages = entries.iter().rev().filter_map(|e| e.body.message());
    let asked = |m: &&Message| m.role == Role::User && !m.text.trim().is_empty();
    let words = messages.filter(asked).map(|m| &m.text);
    let mut words: Vec<String> = words
        .take(MAX_WORDS)
        .map(|text| format!("- {}\n", one_line(&cut(text.trim(), MAX_WORD_BYTES))))
        .collect();
    words.reverse();
    if !words.is_empty() {
        out.push_str("\nWhat was asked for so far, oldest first:\n");
        out.extend(words);
    }
    if !files.is_empty() {
        let first: Vec<&str> = files.iter().take(MAX_WORDS).map(String::as_str).collect();
        let _ = write!(out, "\nRead these first: {}\n", first.join(", "));
    }
    out.push_str("\nCheck what is already done before you do anything.");
    out
}

/// The last turn when it did not come to its end.
fn unfinished(entries: &[Entry]) -> Option<String> {
    let mut prompt = None;
    let mut done = true;
    for entry in entries {
        if let Body::Message(message) = &entry.body
            && message.role == Role::User
        {
            prompt = Some(&message.text);
            done = false;
        }
        if let Body::TurnEnd(end) = &entry.body {
            done = end.outcome == Outcome::Done;
        }
    }
    let prompt = prompt.filter(|_| !done)?;
    let words = one_line(&cut(prompt.trim(), MAX_WORD_BYTES));
    Some(format!("The last prompt was not finished: {words}"))
}

fn list(out: &mut String, items: &[String], line: impl Fn(&str) -> String) {
    if items.is_empty() {
        out.push_str("None.\n");
    }
    for item in items {
        out.push_str(&line(item));
        out.push('\n');
    }
}

/// A block that its own text cannot end.
fn fenced(text: &str, language: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{text}\n{fence}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answer, called, numbered, result, said, tool_use, user};
    use ostler_wire::{Todo, TodoItem, TodoState, TurnEnd};
    use serde_json::json;

    fn session() -> Vec<Entry> {
        let item = |text: &str, state| TodoItem {
            text: text.into(),
            state,
        };
        numbered([
            user("Fix the `parser`.\nNever touch the lexer."),
            answer(vec![called("1"), called("2"), called("3"), called("4")]),
            tool_use("1", "read_file", json!({"path": "/w/src/lexer.rs"})),
            tool_use("2", "edit_file", json!({"path": "src/parser.rs"})),
            tool_use("3", "bash", json!({"command": "cargo test"})),
            tool_use("4", "read_file", json!({"path": "/etc/passwd"})),
            result("1", "…"),
            result("2", "…"),
            result("3", "…"),
            result("4", "…"),
            Body::Todo(Todo {
                items: vec![
                    item("read", TodoState::Done),
                    item("fix it", TodoState::InProgress),
                ],
            }),
            answer(vec![said("Half of it works.")]),
            Body::TurnEnd(TurnEnd {
                outcome: Outcome::Done,
            }),
            user("And the rest?"),
        ])
    }

    #[test]
    fn the_draft_is_read_off_the_log() {
        let draft = Handoff::draft(&session(), "Ship ```it```", "/w");
        insta::assert_snapshot!(draft.render(), @r#"
        # Handoff

        ## Goal

        Ship ```it```

        ## Starter prompt

        ````text
        Go on with work that another session began. The goal: Ship ```it```

        What was asked for so far, oldest first:
        - Fix the `parser`. Never touch the lexer.
        - And the rest?

        Read these first: src/parser.rs, src/lexer.rs

        Check what is already done before you do anything.
        ````

        ## Relevant files

        - `src/parser.rs`
        - `src/lexer.rs`

        ## Open tasks

        - [ ] fix it
        - [ ] The last prompt was not finished: And the rest?

        ## Repro commands

        ```sh
        cargo test
        ```
        "#);
    }

    #[test]
    fn an_empty_session_gives_a_handoff_too() {
        let text = Handoff::draft(&[], "Go", "").render();
        assert!(
            text.contains("- [ ] Go\n") && text.contains("None.\n"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_counts_by_its_sections() {
        for (text, expect) in [
            ("", None),
            ("I cannot help with that.", None),
            ("## Starter prompt\n\n## Open tasks\n- a\n", None),
            (
                "Here:\n## Starter prompt\n```\nDo it.\n```\n## Open tasks\n- [ ] a\n* b\n\n## More\nx",
                Some(("Do it.".to_owned(), vec!["a".to_owned(), "b".to_owned()])),
            ),
        ] {
            assert_eq!(sections(text), expect, "{text}");
        }
    }
}
