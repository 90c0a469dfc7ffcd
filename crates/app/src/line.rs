//! The conversation as plain lines: a prompt, the streamed answer, a few slash commands.

use crate::boot::Boot;
use crate::color::{Ink, Paint};
use crate::exec::{self, Ended, OK, TERMINATED};
use crate::print::Format;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{Client, Event, Op, Open};
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Lines typed ahead that are kept.
const MAX_EARLY: usize = 1024;

/// What a line of the person asks for.
enum Ask {
    Prompt(String),
    New,
    Resume(Option<String>),
    Help,
    Quit,
    Engine(String),
    Plan(String),
    Nothing,
}

pub async fn run(boot: Arc<Boot>, which: Open) -> anyhow::Result<u8> {
    let mut boot = crate::cmd::trust::at_start(boot)?;
    let mut printer = exec::printer(&boot, Format::Text);
    exec::warn(&boot, &mut printer)?;
    let mut client = exec::open(&boot, which, true).await?;
    exec::announce(&boot, &client, &mut printer)?;
    let paint = exec::paint(&boot);
    greet(&client, paint)?;
    let mut lines = Typed::new(crate::ops::read_lines(), io::stdin().is_terminal());
    let mut signals = Signals::new()?;
    loop {
        prompt_sign(paint)?;
        let line = match next_line(&mut lines, &mut signals).await {
            Line::Text(line) => line,
            Line::End => {
                // The cursor stands behind the sign.
                writeln!(io::stderr())?;
                break;
            }
            Line::Terminated => {
                exec::close(client).await;
                return Ok(TERMINATED);
            }
        };
        let ask = match read(&line) {
            // The mode first, so that the prompt is watched like any other.
            Ask::Plan(text) => {
                // It is over at once.
                let _ = command(&mut client, &mut printer, &mut signals, "plan".into()).await?;
                Ask::Prompt(text)
            }
            ask => ask,
        };
        match ask {
            Ask::Nothing | Ask::Plan(_) => {}
            Ask::Quit => break,
            Ask::Help => help(&mut printer)?,
            Ask::New => client = swap(&mut boot, client, Open::New, &mut printer).await?,
            Ask::Resume(id) => match id.or_else(|| newest_other(&boot, &client)) {
                Some(id) => {
                    client = swap(&mut boot, client, Open::Resume(id), &mut printer).await?
                }
                None => {
                    printer.note(Ink::Red, "There is no other session of this project.")?;
                    printer.flush()?;
                }
            },
            Ask::Engine(line) => {
                match command(&mut client, &mut printer, &mut signals, line).await? {
                    Shown::Whole => {}
                    Shown::Terminated => {
                        exec::close(client).await;
                        return Ok(TERMINATED);
                    }
                }
            }
            Ask::Prompt(text) => {
                match turn(&mut client, &mut printer, &mut signals, &mut lines, text).await? {
                    Ended::Turn(_) => printer.flush()?,
                    Ended::ClosedPipe => return Ok(OK),
                    Ended::Terminated => {
                        exec::close(client).await;
                        return Ok(TERMINATED);
                    }
                }
            }
        }
    }
    // A session in which nothing was said was never stored.
    if boot.store().find(&client.session_id).is_ok() {
        let id = client.session_id.get(..8).unwrap_or(&client.session_id);
        let _ = writeln!(io::stderr(), "ostler resume {id}");
    }
    exec::close(client).await;
    Ok(OK)
}

enum Line {
    Text(String),
    End,
    Terminated,
}

/// What the person types. A line that was there before a question is no answer to it.
pub struct Typed {
    lines: mpsc::Receiver<String>,
    early: VecDeque<String>,
    by_hand: bool,
}

impl Typed {
    /// A script (not `by_hand`) knows what will be asked, and writes its answers ahead.
    fn new(lines: mpsc::Receiver<String>, by_hand: bool) -> Self {
        Self {
            lines,
            early: VecDeque::new(),
            by_hand,
        }
    }

    async fn next(&mut self) -> Option<String> {
        match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.lines.recv().await,
        }
    }

    /// Ready for a question: what was typed so far is kept for later.
    pub fn set_aside(&mut self) {
        while self.by_hand
            && self.early.len() < MAX_EARLY
            && let Ok(line) = self.lines.try_recv()
        {
            self.early.push_back(line);
        }
    }

    /// The line after [`Self::set_aside`]; None at the end of input.
    pub async fn answer(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

async fn next_line(lines: &mut Typed, signals: &mut Signals) -> Line {
    tokio::select! {
        line = lines.next() => line.map_or(Line::End, Line::Text),
        signal = signals.next() => match signal {
            Stop::Interrupt => Line::End,
            Stop::Terminate => Line::Terminated,
        },
    }
}

fn read(line: &str) -> Ask {
    let line = line.trim();
    let Some(command) = line.strip_prefix('/') else {
        return if line.is_empty() {
            Ask::Nothing
        } else {
            Ask::Prompt(line.to_owned())
        };
    };
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    match name {
        "quit" | "exit" | "q" => Ask::Quit,
        "help" => Ask::Help,
        "new" => Ask::New,
        "plan" if !rest.trim().is_empty() => Ask::Plan(rest.trim().to_owned()),
        "resume" => Ask::Resume(Some(rest.trim().to_owned()).filter(|id| !id.is_empty())),
        // A path at the start of a prompt is not a command.
        name if name.contains('/') || name.is_empty() => Ask::Prompt(line.to_owned()),
        _ => Ask::Engine(command.to_owned()),
    }
}

fn greet(client: &Client, paint: Paint) -> io::Result<()> {
    let text = format!("ostler {} · {} · /help", crate::VERSION, client.model);
    writeln!(io::stderr(), "{}", paint.with(Ink::Grey, &text))
}

fn prompt_sign(paint: Paint) -> io::Result<()> {
    let mut err = io::stderr();
    write!(err, "{}", paint.with(Ink::Green, "> "))?;
    err.flush()
}

fn help(printer: &mut crate::print::Printer<exec::Out, exec::Err>) -> io::Result<()> {
    let own = [
        ("help", "this list"),
        ("new", "start a new session; the old one is kept"),
        ("resume", "continue another session: /resume [id]"),
        ("quit", "leave (Ctrl-D, Ctrl-C at the prompt)"),
    ];
    for (name, text) in own.into_iter().chain(ostler_engine::commands::list()) {
        printer.note(Ink::Plain, &format!("/{name:12} {text}"))?;
    }
    printer.flush()
}

fn newest_other(boot: &Boot, client: &Client) -> Option<String> {
    let sessions = boot.store().list().ok()?;
    let mut ids = sessions.into_iter().map(|s| s.id);
    ids.find(|id| *id != client.session_id)
}

/// Leaves one session for another, with the configuration as it is now; the old one stays when the new one cannot be
/// opened.
async fn swap(
    boot: &mut Arc<Boot>,
    old: Client,
    which: Open,
    printer: &mut crate::print::Printer<exec::Out, exec::Err>,
) -> anyhow::Result<Client> {
    match reopen(boot, which, printer).await {
        Ok((new_boot, new)) => {
            *boot = new_boot;
            exec::close(old).await;
            exec::announce(boot, &new, printer)?;
            greet(&new, exec::paint(boot))?;
            Ok(new)
        }
        Err(error) => {
            printer.note(Ink::Red, &format!("{error:#}"))?;
            printer.flush()?;
            Ok(old)
        }
    }
}

async fn reopen(
    boot: &Boot,
    which: Open,
    printer: &mut crate::print::Printer<exec::Out, exec::Err>,
) -> anyhow::Result<(Arc<Boot>, Client)> {
    let fresh = Arc::new(boot.anew()?);
    let told = &boot.loaded.notices;
    let notices = fresh.loaded.notices.iter();
    for notice in notices.filter(|notice| !told.contains(notice)) {
        printer.note(Ink::Yellow, &notice.to_string())?;
    }
    let client = exec::open(&fresh, which, true).await?;
    Ok((fresh, client))
}

/// How far the answer to a command was watched.
enum Shown {
    Whole,
    Terminated,
}

/// Sends a command and shows what comes of it. Some take a while; an interrupt ends their work.
async fn command(
    client: &mut Client,
    printer: &mut crate::print::Printer<exec::Out, exec::Err>,
    signals: &mut Signals,
    line: String,
) -> anyhow::Result<Shown> {
    client.ops.send(Op::Command { line }).await?;
    loop {
        let event = tokio::select! {
            event = client.events.next() => event,
            signal = signals.next() => {
                client.ops.send(Op::Interrupt).await?;
                match signal {
                    Stop::Interrupt => continue,
                    Stop::Terminate => return Ok(Shown::Terminated),
                }
            }
        };
        let Some(event) = event else {
            break;
        };
        printer.event(&event, &ostler_engine::log::now())?;
        if matches!(event, Event::Delta(ostler_wire::Delta::View { .. })) {
            break;
        }
    }
    printer.flush()?;
    Ok(Shown::Whole)
}

/// A turn during which the person may answer asks, and lines typed meanwhile wait for the next turn.
async fn turn(
    client: &mut Client,
    printer: &mut crate::print::Printer<exec::Out, exec::Err>,
    signals: &mut Signals,
    lines: &mut Typed,
    text: String,
) -> anyhow::Result<Ended> {
    printer.next_turn();
    exec::turn(client, printer, signals, text, exec::Answers::Lines(lines)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_typed_after_its_question() {
        for (by_hand, expect) in [
            (true, ["yes", "typed", "ahead"]),
            (false, ["typed", "ahead", "yes"]),
        ] {
            let (sender, lines) = mpsc::channel(8);
            let mut typed = Typed::new(lines, by_hand);
            for line in ["typed", "ahead"] {
                sender.send(line.to_owned()).await.unwrap();
            }
            typed.set_aside();
            sender.send("yes".into()).await.unwrap();
            drop(sender);
            let got = [typed.answer().await, typed.next().await, typed.next().await];
            assert_eq!(got, expect.map(|line| Some(line.to_owned())), "{by_hand}");
            assert_eq!((typed.next().await, typed.answer().await), (None, None));
        }
    }
}
