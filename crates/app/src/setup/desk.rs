//! Whom `setup` talks to: a person before a terminal that can show lists, one who reads plain lines, the client of another
//! front end, or nobody. What it wants to know is an ask, whoever puts it.

use super::questions::Line;
use crate::boot::Boot;
use crate::cmd::choose::{self, Person, Picked};
use crate::keyboard::{Keys, keyboard};
use crate::{looks, output};
use ostler_host::signals::{Signals, Stop};
use ostler_tui::dialog::{Dialog, Question, Typing};
use ostler_tui::theme::Role;
use ostler_wire::{Act, Action, Ask, AskKind, Choice, Escape, Item, Language, List, Silence, Word};
use std::io::{self, BufWriter, Stdout};
use uuid::Uuid;

/// What the names of its asks begin with.
pub const NAMES: &str = "setup-";

pub enum Desk {
    Away,
    Lines,
    Screen(Box<Dialog<Keys, BufWriter<Stdout>>>),
    Client(Line),
}

/// One of several to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub label: String,
    pub detail: String,
}

impl Row {
    pub fn new(label: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            detail: detail.into(),
        }
    }
}

impl Desk {
    pub fn look(boot: &Boot) -> anyhow::Result<Self> {
        Ok(match (Person::look(), looks::fits(boot)) {
            (Person::Away, _) => Self::Away,
            (Person::Here, false) => Self::Lines,
            (Person::Here, true) => {
                let out = BufWriter::with_capacity(1 << 16, io::stdout());
                let theme = looks::theme(boot)?;
                let terminal = (looks::narrowed(boot), looks::links(boot));
                let dialog = Dialog::open(keyboard()?, out, theme, terminal)?;
                Self::Screen(Box::new(dialog))
            }
        })
    }

    /// The person sees lists, and can go back a step.
    pub fn shows_lists(&self) -> bool {
        matches!(self, Self::Screen(_) | Self::Client(_))
    }

    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away)
    }

    /// One of the rows. Lines offer the first where nothing is typed.
    pub async fn pick(
        &mut self,
        question: &str,
        rows: &[Row],
        language: Language,
    ) -> anyhow::Result<Picked> {
        let ask = list_ask(question, rows);
        let chosen = match self {
            Self::Away => return Ok(Picked::Left),
            Self::Lines => {
                let detail = |choice: &Choice| choice.detail.clone().unwrap_or_default();
                let text = |choice: &Choice| format!("{:12} {}", choice.label, detail(choice));
                let options = ask.options.iter().map(text);
                let options: Vec<String> = options.map(|o| o.trim_end().to_owned()).collect();
                return Ok(choose::pick(&ask.subject, &options, 0, language)?);
            }
            Self::Screen(dialog) => dialog.choose(list(&ask, language)).await?,
            Self::Client(line) => line.put(ask).await,
        };
        let at = chosen.and_then(|id| id.parse().ok());
        let at = at.filter(|at| *at < rows.len());
        Ok(at.map_or(Picked::Left, Picked::Option))
    }

    /// A line of text; none where the person left.
    pub async fn ask(&mut self, question: &Question<'_>) -> anyhow::Result<Option<String>> {
        match self {
            Self::Away => Ok(None),
            Self::Lines => {
                if !question.hint.is_empty() {
                    output::say(question.hint);
                }
                Ok(choose::ask(&format!("{}: ", question.title))?)
            }
            Self::Screen(dialog) => Ok(dialog.ask(*question).await?),
            Self::Client(line) => Ok(line.put(text_ask(question)).await),
        }
    }

    /// A key or a password.
    pub async fn ask_key(&mut self, title: &str, hint: &str) -> anyhow::Result<Option<String>> {
        let question = Question {
            title,
            hint,
            typing: Typing::Hidden,
        };
        self.ask(&question).await
    }

    /// What takes a while; none where the person did not wait for it.
    pub async fn wait<T>(
        &mut self,
        says: &str,
        work: impl Future<Output = T>,
    ) -> anyhow::Result<Option<T>> {
        match self {
            Self::Away | Self::Lines | Self::Client(_) => Ok(Some(work.await)),
            Self::Screen(dialog) => Ok(dialog.wait(says, work).await?),
        }
    }

    /// A remark.
    pub fn say(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::say(text),
            Self::Screen(dialog) => dialog.tell(text, Role::Text)?,
            Self::Client(line) => line.tell(text),
        }
        Ok(())
    }

    /// What went wrong.
    pub fn complain(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::say(text),
            Self::Screen(dialog) => dialog.tell(text, Role::Error)?,
            Self::Client(line) => line.tell(text),
        }
        Ok(())
    }

    /// What was done.
    pub fn report(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::print_foreign(text)?,
            Self::Screen(dialog) => dialog.tell(text, Role::Faint)?,
            Self::Client(line) => line.tell(text),
        }
        Ok(())
    }

    /// The terminal is as before.
    fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines | Self::Client(_) => Ok(()),
            Self::Screen(dialog) => Ok(dialog.close()?),
        }
    }
}

/// Runs something at a desk, which is cleared afterwards whatever happens; none where the program was told to end.
pub async fn at_desk<T>(
    boot: &Boot,
    mut desk: Desk,
    work: impl AsyncFnOnce(&mut Desk) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    if !matches!(desk, Desk::Screen(_)) {
        return work(&mut desk).await.map(Some);
    }
    let mut signals = Signals::new()?;
    let host = boot.host();
    let reset = ostler_tui::terminal::RESET.as_bytes();
    // Whatever becomes of us, the terminal is put right.
    let _ = host.guard_terminal(reset).await;
    let ended = tokio::select! {
        biased;
        ended = work(&mut desk) => ended.map(Some),
        stop = signals.next() => match stop {
            Stop::Interrupt | Stop::Terminate => Ok(None),
        },
    };
    let closed = desk.close();
    let _ = host.release_terminal().await;
    closed.and(ended)
}

/// An ask to choose from rows; the number of a row is the id of its choice.
fn list_ask(question: &str, rows: &[Row]) -> Ask {
    let choice = |(at, row): (usize, &Row)| {
        let choice = Choice::new(at.to_string(), row.label.as_str());
        match row.detail.is_empty() {
            true => choice,
            false => choice.with_detail(row.detail.as_str()),
        }
    };
    Ask {
        options: rows.iter().enumerate().map(choice).collect(),
        ..bare_ask(question)
    }
}

/// An ask for a line of text.
fn text_ask(question: &Question<'_>) -> Ask {
    let kind = match question.typing {
        Typing::Hidden => AskKind::Secret,
        Typing::Shown => AskKind::Question,
    };
    Ask {
        kind,
        free_text: true,
        preview: Some(question.hint.to_owned()).filter(|hint| !hint.is_empty()),
        ..bare_ask(question.title)
    }
}

/// Who answers with nothing leaves setup, or goes back a step.
fn bare_ask(question: &str) -> Ask {
    Ask {
        ask: format!("{NAMES}{}", Uuid::new_v4().simple()),
        kind: AskKind::Question,
        subject: question.to_owned(),
        silence: Silence {
            escape: Escape::Answer,
            ..Silence::default()
        },
        ..Ask::default()
    }
}

fn list(ask: &Ask, language: Language) -> List {
    let item = |choice: &Choice| Item {
        label: choice.label.clone(),
        detail: choice.detail.clone().unwrap_or_default(),
        actions: vec![Action {
            label: language.say(Word::ActUse).into(),
            act: Act::Command(choice.id.clone()),
        }],
        ..Item::default()
    };
    List {
        title: ask.subject.clone(),
        items: ask.options.iter().map(item).collect(),
        ..List::default()
    }
}
