//! The loop: input and events in, frames out. It sleeps until something happens and paints at most sixty times a second.

use crate::burst::Burst;
use crate::canvas::Canvas;
use crate::editor::Editor;
use crate::errands::Errands;
use crate::key::Input;
use crate::line::Line;
use crate::links::Links;
use crate::screen::{Narrowed, Screen};
use crate::state::{Effect, Settings, State};
use crate::status::Status;
use crate::surroundings::{Fetch, Fetched, FoundPicture, Kept, Surroundings};
use crate::terminal::{self, Inputs, Raw};
use crate::text;
use crate::theme::Role;
use base64::Engine as _;
use ostler_wire::{Client, Hub, Op, Open, Why, Word};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Time between two frames that nobody's key asked for.
const FRAME: Duration = Duration::from_millis(16);
/// Events that are taken in before a look at the keys.
const EVENTS_AT_ONCE: usize = 512;
/// Characters of a notification.
const MAX_NOTE: usize = 200;
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
    /// What was being written in this session before.
    pub draft: Option<String>,
    /// What a new conversation begins with.
    pub welcome: Option<Welcome>,
    /// Lines above everything.
    pub greeting: Vec<String>,
    /// The first prompt, as if it had been typed.
    pub prompt: Option<String>,
    pub narrowed: Narrowed,
    /// None where the terminal does not know links.
    pub links: Option<Links>,
}

/// What is said at the start of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// Of the program, with its version.
    pub name: String,
    pub effort: Option<String>,
    pub folder: String,
    /// Where commands run, if that is another place.
    pub host: Option<String>,
    pub branch: Option<String>,
}

impl Welcome {
    fn rows(&self, status: &Status, canvas: &Canvas) -> Vec<Line> {
        let mut first = Line::from(canvas.span(&self.name, Role::Strong));
        let approval = status.mode.as_ref();
        let approval =
            approval.map(|mode| crate::say::posture_shown(canvas.theme.language, &mode.posture));
        let effort = self.effort.as_ref();
        let effort = effort.map(|effort| canvas.fill(Word::WelcomeEffort, &[effort]));
        let about = [Some(status.model.clone()), effort, approval];
        let about: Vec<String> = about
            .into_iter()
            .flatten()
            .filter(|p| !p.is_empty())
            .collect();
        first.push(canvas.span(format!("  {}", about.join(" · ")), Role::Text));
        let place = [Some(self.folder.clone()), self.branch.clone()];
        let place: Vec<String> = place.into_iter().flatten().collect();
        let mut rows = vec![first, canvas.line(place.join("  "), Role::Faint)];
        rows.extend(text::wrap(
            &canvas.line(canvas.say(Word::WelcomeHints), Role::Faint),
            canvas.columns,
        ));
        rows.iter()
            .map(|row| text::cut(row, canvas.columns))
            .collect()
    }
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
        client.snapshot.commands.clone(),
        status(&client),
    );
    if let Some(draft) = start.draft {
        state.editor().restore(&draft);
    }
    let mut ui = Ui {
        hub,
        surroundings,
        state,
        screen: Screen::new(columns, rows, start.narrowed).with_links(start.links),
        pager: None,
        out,
        outbox: VecDeque::new(),
        errands: Errands::default(),
        burst: Burst::default(),
        painted: None,
        title: String::new(),
        session: client.session_id.clone(),
    };
    if let Some(welcome) = start.welcome {
        let canvas = ui.canvas();
        let rows = welcome.rows(&ui.state.status, &canvas);
        ui.state.status.effort.clone_from(&welcome.effort);
        ui.state.status.branch.clone_from(&welcome.branch);
        ui.state.transcript().keep(rows);
    }
    for line in start.greeting {
        ui.state.transcript().note(line);
    }
    ui.look();
    ui.show_past(&client).await;
    if let Some(text) = start.prompt {
        ui.outbox.push_back(Op::Say {
            text,
            delivery: ostler_wire::Delivery::Queue,
            images: Vec::new(),
        });
    }
    let mut raw = Raw::enter(&mut ui.out)?;
    let result = ui.go(client, &mut raw, stop).await;
    // Whoever was stopped in the middle of a sentence finds it again.
    let draft = ui.state.editor().draft().unwrap_or_default();
    ui.keep_draft(draft);
    let left = ui.leave(&mut raw);
    result.and(left)?;
    Ok(Ended {
        session: ui.session,
    })
}

/// As much of a session's id as people need.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn status(client: &Client) -> Status {
    let mut status = Status::default();
    status.model.clone_from(&client.snapshot.model);
    status.mode = Some(client.snapshot.mode.clone());
    status.window = client.snapshot.window;
    status.host.clone_from(&client.snapshot.place);
    status.clients.clone_from(&client.snapshot.clients);
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
    errands: Errands,
    burst: Burst,
    painted: Option<Instant>,
    title: String,
    session: String,
}

/// What the loop woke up for.
enum Woken {
    /// None when the terminal is gone.
    Input(io::Result<Vec<Input>>),
    Event(Option<ostler_wire::Event>),
    Fetched(Option<Fetched>),
    Time,
    Sent,
    Stop,
}

/// Whether to go on.
enum After {
    On,
    Reopen(Open),
    /// The terminal is given away for a while.
    Away(Away),
    Over,
}

enum Away {
    Edit(String),
    Suspend,
}

impl<H: Hub, S: Surroundings, W: Write> Ui<'_, H, S, W> {
    async fn go(
        &mut self,
        mut client: Client,
        raw: &mut Raw,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut stop = std::pin::pin!(stop);
        let mut inputs = Inputs::new(self.surroundings.keyboard()?);
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
                Woken::Input(Ok(inputs)) if inputs.is_empty() => return Ok(()),
                Woken::Input(Ok(inputs)) => {
                    self.inputs(inputs);
                    // Somebody waits for the echo.
                    due = Some(Instant::now());
                }
                Woken::Input(Err(error)) => return Err(error),
                Woken::Stop => return Ok(()),
                Woken::Event(Some(event)) => {
                    self.events(&event, &mut client);
                    due = due.or(Some(self.next_frame(Instant::now())));
                }
                Woken::Event(None) => {
                    let said = self.canvas().say(Word::SessionOver);
                    self.state.transcript().note(said);
                    return Ok(());
                }
                Woken::Fetched(fetched) => {
                    fetched.into_iter().for_each(|f| self.fetched(f));
                    due = Some(Instant::now());
                }
                Woken::Time => {
                    self.state.passed(Instant::now());
                    due = Some(self.next_frame(Instant::now()));
                }
                Woken::Sent => {}
            }
            match self.effects(&client).await? {
                After::On => {}
                After::Over => return Ok(()),
                After::Away(why) => {
                    // Whoever has the terminal now has its keys, too.
                    drop(inputs);
                    self.away(why, raw).await?;
                    inputs = Inputs::new(self.surroundings.keyboard()?);
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
        inputs: &mut Inputs<S::Keyboard>,
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
                    permit.send(op.into());
                }
                Woken::Sent
            }
            fetched = self.errands.next() => Woken::Fetched(fetched),
            () = timer => Woken::Time,
            event = client.events.next() => Woken::Event(event),
        }
    }

    fn next_frame(&self, now: Instant) -> Instant {
        self.painted.map_or(now, |at| (at + FRAME).max(now))
    }

    fn canvas(&self) -> Canvas {
        self.state.canvas(self.screen.columns(), self.screen.rows())
    }

    fn inputs(&mut self, inputs: Vec<Input>) {
        let now = Instant::now();
        for input in self.burst.gather(inputs, now) {
            if let Input::Resize { columns, rows } = input {
                self.resize(columns, rows);
            }
            let canvas = self.canvas();
            self.state.input(input, &canvas, now);
        }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        if self.screen.resize(columns, rows)
            && let Some(pager) = &mut self.pager
        {
            // The alternate screen has nothing to lose.
            pager.resize(columns, rows);
            let _ = self.out.write_all(b"\x1b[2J\x1b[H");
            pager.forget();
        }
    }

    fn events(&mut self, first: &ostler_wire::Event, client: &mut Client) {
        let now = Instant::now();
        let canvas = self.canvas();
        self.state.event(first, &canvas, now);
        for _ in 0..EVENTS_AT_ONCE {
            match client.events.try_next() {
                Some(event) => self.state.event(&event, &canvas, now),
                None => break,
            }
        }
    }

    fn fetched(&mut self, fetched: Fetched) {
        match fetched {
            Fetched::Image(image) => self.state.image(image, Instant::now()),
            Fetched::Picture { pasted, image } => {
                self.state.picture(pasted, image, Instant::now());
            }
            Fetched::Branch(branch) if !self.state.status.is_moved => {
                self.state.status.branch = branch;
            }
            Fetched::Branch(_) => {}
            Fetched::Draft(draft) => self.state.remember(draft),
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        let now = Instant::now();
        // The news of a new size may still be on its way, and a frame for the old one would be broken up.
        let (columns, rows) = terminal::size();
        self.resize(columns, rows);
        let canvas = self.canvas();
        let bytes = match (self.state.is_paging(), &mut self.pager) {
            (true, None) => {
                let links = self.screen.links().cloned();
                let mut screen = Screen::new(columns, rows, Narrowed::Cuts).with_links(links);
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
        let title = self.state.title();
        if title != self.title {
            write!(self.out, "\x1b]2;{title}\x07")?;
            self.title = title;
        } else if bytes.is_empty() {
            self.state.set_drawn(now);
            return Ok(());
        }
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        // A slow terminal takes its time.
        self.state.set_drawn(Instant::now());
        Ok(())
    }

    async fn effects(&mut self, client: &Client) -> io::Result<After> {
        let mut after = After::On;
        for effect in self.state.take_effects() {
            match effect {
                Effect::Send(op) => self.outbox.push_back(op),
                Effect::Open(which) => after = After::Reopen(which),
                Effect::Copy(text) => self.copy(&text)?,
                Effect::Edit(text) => after = After::Away(Away::Edit(text)),
                Effect::Suspend => after = After::Away(Away::Suspend),
                Effect::Page => {
                    let entries = client.events.past(PAGED).await;
                    let canvas = self.canvas();
                    self.state.page(&entries, &canvas);
                }
                Effect::PasteImage => {
                    self.errands.run(self.surroundings.fetch(Fetch::Image));
                }
                Effect::Picture(pasted) => {
                    let fetch = Fetch::Picture(pasted.clone());
                    if !self.errands.run(self.surroundings.fetch(fetch)) {
                        self.state
                            .picture(pasted, FoundPicture::None, Instant::now());
                    }
                }
                Effect::Look => self.look(),
                Effect::KeepSent(text) => self.surroundings.keep(Kept::Sent(text)),
                Effect::KeepDraft(text) => self.keep_draft(text),
                Effect::Notify(text) => {
                    let text = crate::text::visible(text.chars().take(MAX_NOTE).collect());
                    write!(self.out, "\x1b]9;ostler: {text}\x07\x07")?;
                    self.out.flush()?;
                }
                Effect::Redraw => {
                    write!(self.out, "\x1b[H\x1b[2J")?;
                    self.screen.forget();
                    self.pager.iter_mut().for_each(Screen::forget);
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

    async fn away(&mut self, why: Away, raw: &mut Raw) -> io::Result<()> {
        if self.pager.take().is_some() {
            write!(self.out, "\x1b[?1049l")?;
        }
        let bytes = self.screen.leave();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        raw.leave(&mut self.out)?;
        let edited = match why {
            Away::Edit(text) => {
                let work = self.surroundings.editor(&text);
                // The session goes on meanwhile.
                let edited = tokio::task::spawn_blocking(work).await;
                Some(edited.map_err(io::Error::other).flatten())
            }
            Away::Suspend => {
                self.surroundings.suspend()?;
                None
            }
        };
        *raw = Raw::enter(&mut self.out)?;
        let (columns, rows) = terminal::size();
        self.resize(columns, rows);
        self.screen.forget();
        self.state.forget_drawn();
        self.title.clear();
        if let Some(edited) = edited {
            self.state
                .edited(edited.map_err(|e| Why::from(&e)), Instant::now());
        }
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
            Open::Resume(_) | Open::Last => canvas.fill(Word::Resumed, &[short(&new.session_id)]),
            Open::Fork(_) => canvas.fill(Word::Forked, &[short(&new.session_id)]),
        };
        let status = status(&new);
        let left = self.state.done(&canvas);
        self.state.reopened(new.snapshot.commands.clone(), status);
        self.state.transcript().keep(left);
        self.state.transcript().note(said);
        self.change_session(&new.session_id);
        self.look();
        self.show_past(&new).await;
        new
    }

    /// What is being written goes along; where nothing is, what was being written there comes back.
    fn change_session(&mut self, id: &str) {
        let written = self.state.editor().draft();
        if written.is_some() {
            self.keep_draft(String::new());
        }
        id.clone_into(&mut self.session);
        match written {
            Some(draft) => self.keep_draft(draft),
            None => {
                let fetch = Fetch::Draft(self.session.clone());
                self.errands.run(self.surroundings.fetch(fetch));
            }
        }
    }

    fn keep_draft(&self, text: String) {
        let session = self.session.clone();
        self.surroundings.keep(Kept::Draft { session, text });
    }

    fn look(&mut self) {
        self.errands.run(self.surroundings.fetch(Fetch::Branch));
    }

    async fn show_past(&mut self, client: &Client) {
        for note in &client.notes {
            self.state.transcript().note(note.clone());
        }
        let past = client.events.past(PAST).await;
        self.state.past(&past);
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
