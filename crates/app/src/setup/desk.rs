//! Whom `setup` talks to: a person before a terminal that can show lists, one who reads plain lines, or nobody.

use crate::boot::Boot;
use crate::cmd::choose::{self, Person, Picked};
use crate::keyboard::{Keys, keyboard};
use crate::{looks, output};
use ostler_host::signals::{Signals, Stop};
use ostler_tui::dialog::{Dialog, Question, Typing};
use ostler_tui::theme::Role;
use ostler_wire::{Act, Action, Item, Language, List, Word};
use std::io::{self, BufWriter, Stdout};

pub enum Desk {
    Away,
    Lines,
    Screen(Box<Dialog<Keys, BufWriter<Stdout>>>),
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

    pub fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
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
        match self {
            Self::Away => Ok(Picked::Left),
            Self::Lines => {
                let text = |row: &Row| format!("{:12} {}", row.label, row.detail);
                let options: Vec<String> = rows
                    .iter()
                    .map(|row| text(row).trim_end().to_owned())
                    .collect();
                Ok(choose::pick(question, &options, 0, language)?)
            }
            Self::Screen(dialog) => {
                let picked = dialog.choose(list(question, rows, language)).await?;
                let at = picked.and_then(|at| at.parse().ok());
                Ok(at.map_or(Picked::Left, Picked::Option))
            }
        }
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
            Self::Away | Self::Lines => Ok(Some(work.await)),
            Self::Screen(dialog) => Ok(dialog.wait(says, work).await?),
        }
    }

    /// A remark.
    pub fn say(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::say(text),
            Self::Screen(dialog) => dialog.tell(text, Role::Text)?,
        }
        Ok(())
    }

    /// What went wrong.
    pub fn complain(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::say(text),
            Self::Screen(dialog) => dialog.tell(text, Role::Error)?,
        }
        Ok(())
    }

    /// What was done.
    pub fn report(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => output::print_foreign(text)?,
            Self::Screen(dialog) => dialog.tell(text, Role::Faint)?,
        }
        Ok(())
    }

    /// The terminal is as before.
    fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Away | Self::Lines => Ok(()),
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
    if !desk.is_screen() {
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

fn list(question: &str, rows: &[Row], language: Language) -> List {
    let item = |(at, row): (usize, &Row)| Item {
        label: row.label.clone(),
        detail: row.detail.clone(),
        actions: vec![Action {
            label: language.say(Word::ActUse).into(),
            act: Act::Command(at.to_string()),
        }],
        ..Item::default()
    };
    List {
        title: question.to_owned(),
        items: rows.iter().enumerate().map(item).collect(),
        ..List::default()
    }
}
