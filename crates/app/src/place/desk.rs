//! Who answers what is asked on the way to a place: the person at the terminal before a session is shown there, the people who
//! look at a session once one runs, or nobody.

use crate::asking::is_yes;
use crate::cmd::choose;
use crate::output;
use ostler_engine::Person as Attached;
use ostler_host::keyboard::Hidden;
use ostler_wire::{Ask, AskKind, Choice, Escape, Language, Silence, Word, printable};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of an answer.
const MAX_ANSWER: u64 = 8 << 10;
/// What the words of a yes and of a no are.
const YES: &str = "yes";
const NO: &str = "no";
/// What a line on the terminal is asked with, which an ask has no need of.
const LINE_HINT: &str = "[y/N]";

#[derive(Clone)]
pub enum Desk {
    Nobody,
    /// The terminal is free: no session is shown on it.
    Terminal,
    Session(Arc<dyn Attached>),
}

/// None before it was asked for: then the terminal says who is there.
static DESK: Mutex<Option<Desk>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<Desk>> {
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who is there now.
pub fn desk() -> Desk {
    let at_start = || match choose::Person::look() {
        choose::Person::Here => Desk::Terminal,
        choose::Person::Away => Desk::Nobody,
    };
    current().get_or_insert_with(at_start).clone()
}

/// From now on it is this one.
pub fn seat(desk: Desk) {
    *current() = Some(desk);
}

impl Desk {
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Nobody)
    }

    /// A yes or a no.
    pub async fn confirm(&self, question: String, language: Language) -> io::Result<bool> {
        match self {
            Self::Nobody => Ok(false),
            Self::Terminal => {
                let asked = move || choose::ask_fresh(&question, language);
                let line = tokio::task::spawn_blocking(asked).await;
                let line = line.map_err(io::Error::other)??;
                Ok(line.as_deref().is_some_and(is_yes))
            }
            Self::Session(person) => {
                let ask = yes_or_no(question.trim().trim_end_matches(LINE_HINT), language);
                let answer = person.ask(ask).await;
                Ok(answer.is_some_and(|answer| answer.choice == YES))
            }
        }
    }

    /// A word of ssh, such as the `yes` to the key of a host.
    pub async fn word(&self, question: &str, language: Language) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::Terminal => {
                let question = format!("{question} ");
                let asked = move || choose::ask_fresh(&question, language);
                tokio::task::spawn_blocking(asked)
                    .await
                    .ok()?
                    .ok()
                    .flatten()
            }
            Self::Session(person) => {
                let ask = yes_or_no(question, language);
                person.ask(ask).await.map(|answer| answer.choice)
            }
        }
    }

    /// A password or a passphrase.
    pub async fn secret(&self, question: &str, language: Language) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::Terminal => {
                let question = question.to_owned();
                let asked = move || typed(&question, language);
                tokio::task::spawn_blocking(asked).await.ok()?
            }
            Self::Session(person) => {
                let ask = Ask {
                    kind: AskKind::Secret,
                    subject: format!(
                        "{} {}",
                        language.say(Word::PlaceSshAsks),
                        printable(question.trim())
                    ),
                    free_text: true,
                    silence: Silence {
                        escape: Escape::Answer,
                        ..Silence::default()
                    },
                    ..Ask::default()
                };
                let answer = person.ask(ask).await?.choice;
                (!answer.is_empty()).then_some(answer)
            }
        }
    }
}

fn yes_or_no(question: &str, language: Language) -> Ask {
    let mut yes = Choice::new(YES, language.say(Word::DeskYes));
    yes.key = Some('y');
    let mut no = Choice::refusal(NO, language.say(Word::DeskNo));
    no.key = Some('n');
    Ask {
        kind: AskKind::Question,
        subject: question
            .lines()
            .map(printable)
            .collect::<Vec<_>>()
            .join("\n"),
        options: vec![yes, no],
        silence: Silence {
            escape: Escape::Answer,
            ..Silence::refuses(NO)
        },
        ..Ask::default()
    }
}

/// Puts it on the terminal, which does not show what is typed. Blocks.
fn typed(question: &str, language: Language) -> Option<String> {
    let stdin = io::stdin();
    let hidden = Hidden::start(&stdin)?;
    let mut err = io::stderr();
    let shown = output::visible(question.trim_end());
    write!(err, "{} {shown} ", language.say(Word::PlaceSshAsks)).ok()?;
    err.flush().ok()?;
    let mut line = String::new();
    let read = stdin.lock().take(MAX_ANSWER).read_line(&mut line);
    drop(hidden);
    writeln!(err).ok()?;
    match read {
        Ok(1..) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        Ok(0) | Err(_) => None,
    }
}
