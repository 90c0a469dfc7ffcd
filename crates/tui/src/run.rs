//! The loop: input and events in, frames out. It sleeps until something happens and paints at most sixty times a second.

use crate::editor::Editor;
use crate::key::Input;
use crate::screen::Screen;
use crate::state::{Effect, Settings, State};
use crate::status::Status;
use crate::surroundings::{Kept, Surroundings};
use crate::terminal::{self, Raw};
use base64::Engine as _;
use futures_util::{Stream, StreamExt};
use ostler_wire::{Client, Hub, Op, Open, Word};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Time between two frames that nobody's key asked for.
const FRAME: Duration = Duration::from_millis(16);
/// Events that are taken in before a look at the keys.
const EVENTS_AT_ONCE: usize = 512;
/// Entries of a resumed session that are shown again.
const PAST: usize = 200;
/// Entries that can be paged through.
const PAGED: usize = 2_000;
/// Longest text for the clipboard of the terminal.
const MAX_COPY: usize = 1 << 20;

/// What a run begins with.
#[derive(Default)]
pub struct Start {
    pub settings: Settings,
    pub editor: crate::editor::Options,
    /// What was being written when the last run ended.
    pub draft: Option<String>,
    /// Lines above everything.
    pub greeting: Vec<String>,
    /// The first prompt, as if it had been typed.
    pub prompt: Option<String>,
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// The session that was open last, and whether anything was said in it.
    pub session: String,
}

/// Shows the client until the person leaves or `stop` comes. The terminal is as before afterwards.
pub async fn run<H: Hub, S: Surroundings, W: Write>(
    hub: &H,
    client: Client,
    surroundings: S,
    start: Start,
    out: W,
    stop: impl Future<Output = ()>,
) -> io::Result<Ended> {
    let (columns, rows) = terminal::size();
    let mut state = State::new(
        start.settings,
        Editor::new(start.editor),
        client.commands.clone(),
        status(&client, &surroundings),
    );
    if let Some(draft) = start.draft {
        state.editor().restore(&draft);
    }
    let mut ui = Ui {
        hub,
        surroundings,
        state,
        screen: Screen::new(columns, rows),
        pager: None,
        out,
        outbox: VecDeque::new(),
        painted: None,
        session: client.session_id.clone(),
    };
    for line in start.greeting {
        ui.state.transcript().note(line);
    }
    ui.show_past(&client);
    if let Some(text) = start.prompt {
        ui.outbox.push_back(Op::Prompt {
            text,
            delivery: ostler_wire::Delivery::Queue,
            images: Vec::new(),
        });
    }
    let mut raw = Raw::enter(&mut ui.out)?;
    let result = ui.go(client, &mut raw, stop).await;
    let left = ui.leave(&mut raw);
    result.and(left)?;
    Ok(Ended {
        session: ui.session,
    })
}

fn status(client: &Client, surroundings: &impl Surroundings) -> Status {
    let mut status = Status::default();
    status.model.clone_from(&client.model);
    status.mode = Some(client.mode.clone());
    status.window = client.window;
    status.branch = surroundings.branch();
    status
}

struct Ui<'a, H, S, W> {
    hub: &'a H,
    surroundings: S,
    state: State,
    screen: Screen,
    /// The alternate screen, while something is paged through.
    pager: Option<Screen>,
    out: W,
    /// Ops that the session has not taken yet.
    outbox: VecDeque<Op>,
    painted: Option<Instant>,
    session: String,
}

/// What the loop woke up for.
enum Woken {
    Input(Option<io::Result<Input>>),
    Event(Option<ostler_wire::Event>),
    Time,
    Sent,
    Stop,
}

/// Whether to go on.
enum After {
    On,
    Reopen(Open),
    Suspended,
    Over,
}

impl<H: Hub, S: Surroundings, W: Write> Ui<'_, H, S, W> {
    async fn go(
        &mut self,
        mut client: Client,
        raw: &mut Raw,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut stop = std::pin::pin!(stop);
        let mut inputs = terminal::inputs();
        let mut due = Some(Instant::now());
        loop {
            if due.is_some_and(|due| due <= Instant::now()) {
                self.paint()?;
                due = None;
            }
            match self
                .woken(&mut client, &mut inputs, due, stop.as_mut())
                .await
            {
                Woken::Input(Some(Ok(input))) => {
                    self.input(input);
                    // Somebody waits for the echo.
                    due = Some(Instant::now());
                }
                Woken::Input(Some(Err(error))) => return Err(error),
                Woken::Input(None) | Woken::Stop => return Ok(()),
                Woken::Event(Some(event)) => {
                    let now = Instant::now();
                    let canvas = self.canvas();
                    self.state.event(&event, &canvas, now);
                    for _ in 0..EVENTS_AT_ONCE {
                        match client.events.try_next() {
                            Some(event) => self.state.event(&event, &canvas, now),
                            None => break,
                        }
                    }
                    due = due.or(Some(self.next_frame(now)));
                }
                Woken::Event(None) => {
                    let said = self.word(Word::SessionOver);
                    self.state.transcript().note(said);
                    return Ok(());
                }
                Woken::Time => {
                    self.state.passed(Instant::now());
                    due = Some(self.next_frame(Instant::now()));
                }
                Woken::Sent => {}
            }
            match self.effects(&client, raw).await? {
                After::On => {}
                After::Over => return Ok(()),
                After::Suspended => {
                    inputs = terminal::inputs();
                    due = Some(Instant::now());
                }
                After::Reopen(which) => {
                    client = self.reopen(client, which).await;
                    due = Some(Instant::now());
                }
            }
        }
    }

    async fn woken(
        &mut self,
        client: &mut Client,
        inputs: &mut (impl Stream<Item = io::Result<Input>> + Unpin),
        due: Option<Instant>,
        stop: std::pin::Pin<&mut impl Future<Output = ()>>,
    ) -> Woken {
        let wake = [due, self.state.wake(Instant::now())]
            .into_iter()
            .flatten()
            .min();
        let timer = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop => Woken::Stop,
            input = inputs.next() => Woken::Input(input),
            permit = client.ops.reserve(), if !self.outbox.is_empty() => {
                if let (Ok(permit), Some(op)) = (permit, self.outbox.pop_front()) {
                    permit.send(op);
                }
                Woken::Sent
            }
            () = timer => Woken::Time,
            event = client.events.next() => Woken::Event(event),
        }
    }

    fn next_frame(&self, now: Instant) -> Instant {
        self.painted.map_or(now, |at| (at + FRAME).max(now))
    }

    fn word(&self, word: Word) -> String {
        self.canvas().say(word).to_owned()
    }

    fn canvas(&self) -> crate::canvas::Canvas {
        self.state.canvas(self.screen.columns(), self.screen.rows())
    }

    fn input(&mut self, input: Input) {
        if let Input::Resize { columns, rows } = input {
            self.screen.resize(columns, rows);
            if let Some(pager) = &mut self.pager {
                *pager = Screen::new(columns, rows);
                let _ = write!(self.out, "\x1b[2J\x1b[H");
            }
        }
        let canvas = self.canvas();
        self.state.input(input, &canvas, Instant::now());
    }

    fn paint(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let canvas = self.canvas();
        let bytes = match (self.state.is_paging(), &mut self.pager) {
            (true, None) => {
                let mut screen = Screen::new(
                    u16::try_from(canvas.columns).unwrap_or(u16::MAX),
                    u16::try_from(canvas.rows).unwrap_or(u16::MAX),
                );
                let frame = self.state.frame(&canvas, now);
                let bytes = format!("\x1b[?1049h\x1b[2J\x1b[H{}", screen.paint(&[], frame));
                self.pager = Some(screen);
                bytes
            }
            (true, Some(screen)) => screen.paint(&[], self.state.frame(&canvas, now)),
            (false, pager) => {
                let back = if pager.take().is_some() {
                    "\x1b[?1049l"
                } else {
                    ""
                };
                let done = self.state.done(&canvas);
                let frame = self.state.frame(&canvas, now);
                format!("{back}{}", self.screen.paint(&done, frame))
            }
        };
        self.painted = Some(now);
        if bytes.is_empty() {
            return Ok(());
        }
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    async fn effects(&mut self, client: &Client, raw: &mut Raw) -> io::Result<After> {
        let mut after = After::On;
        for effect in self.state.take_effects() {
            match effect {
                Effect::Send(op) => self.outbox.push_back(op),
                Effect::Open(which) => after = After::Reopen(which),
                Effect::Copy(text) => self.copy(&text)?,
                Effect::Edit(text) => {
                    let edited = self.edit(&text, raw).await;
                    self.state
                        .edited(edited.map_err(|e| e.to_string()), Instant::now());
                    after = After::Suspended;
                }
                Effect::List(folder) => {
                    let names = self.surroundings.list(&folder);
                    self.state.listed(&folder, names);
                }
                Effect::Page => {
                    let entries = client.events.past(PAGED);
                    let canvas = self.canvas();
                    self.state.page(&entries, &canvas);
                }
                Effect::PasteImage => {
                    let image = self.surroundings.clipboard_image();
                    self.state.image(image, Instant::now());
                }
                Effect::KeepSent(text) => self.surroundings.keep(Kept::Sent(&text)),
                Effect::KeepDraft(text) => self.surroundings.keep(Kept::Draft(&text)),
                Effect::Notify(text) => {
                    let text = crate::text::visible(text.chars().take(200).collect());
                    write!(self.out, "\x1b]9;ostler: {text}\x07\x07")?;
                    self.out.flush()?;
                }
                Effect::Suspend => {
                    self.give_terminal(raw)?;
                    self.surroundings.suspend()?;
                    self.take_terminal(raw)?;
                    after = After::Suspended;
                }
                Effect::Clear => {
                    write!(self.out, "\x1b[H\x1b[2J")?;
                    self.screen.forget();
                }
                Effect::Leave => return Ok(After::Over),
            }
        }
        Ok(after)
    }

    /// To the clipboard of the terminal that the person sits at, even over ssh.
    fn copy(&mut self, text: &str) -> io::Result<()> {
        let bytes = text.as_bytes();
        let bytes = bytes.get(..bytes.len().min(MAX_COPY)).unwrap_or_default();
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        write!(self.out, "\x1b]52;c;{encoded}\x07")?;
        self.out.flush()
    }

    async fn edit(&mut self, text: &str, raw: &mut Raw) -> io::Result<String> {
        let work = self.surroundings.editor(text);
        self.give_terminal(raw)?;
        // The session goes on meanwhile.
        let edited = tokio::task::spawn_blocking(work).await;
        self.take_terminal(raw)?;
        edited.map_err(io::Error::other)?
    }

    fn give_terminal(&mut self, raw: &mut Raw) -> io::Result<()> {
        let bytes = self.screen.leave();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        raw.leave(&mut self.out)
    }

    fn take_terminal(&mut self, raw: &mut Raw) -> io::Result<()> {
        *raw = Raw::enter(&mut self.out)?;
        let (columns, rows) = terminal::size();
        self.screen = Screen::new(columns, rows);
        Ok(())
    }

    /// Goes on with another session, or with the same when it cannot be opened.
    async fn reopen(&mut self, old: Client, which: Open) -> Client {
        let new = match self.hub.open(which.clone()).await {
            Ok(new) => new,
            Err(error) => {
                let canvas = self.canvas();
                let said = canvas.fill(Word::CannotOpen, &[&error.to_string()]);
                self.state.remark(said, Instant::now());
                return old;
            }
        };
        self.outbox.clear();
        let canvas = self.canvas();
        let said = match which {
            Open::New => canvas.say(Word::NewSession).to_owned(),
            Open::Resume(_) | Open::Last | Open::Fork(_) => {
                canvas.fill(Word::Resumed, &[&new.session_id])
            }
        };
        let status = status(&new, &self.surroundings);
        let left = self.state.done(&canvas);
        self.state.reopened(new.commands.clone(), status);
        self.state.transcript().keep(left);
        self.state.transcript().note(said);
        self.session.clone_from(&new.session_id);
        self.show_past(&new);
        new
    }

    fn show_past(&mut self, client: &Client) {
        for note in &client.notes {
            self.state.transcript().note(note.clone());
        }
        let past = client.events.past(PAST);
        let canvas = self.canvas();
        self.state.past(&past, &canvas);
    }

    fn leave(&mut self, raw: &mut Raw) -> io::Result<()> {
        if self.pager.take().is_some() {
            write!(self.out, "\x1b[?1049l")?;
        }
        let canvas = self.canvas();
        let done = self.state.done(&canvas);
        let bytes = self.screen.paint(&done, crate::screen::Frame::default());
        self.out.write_all(bytes.as_bytes())?;
        let bytes = self.screen.leave();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        raw.leave(&mut self.out)
    }
}
