//! The conversation as plain lines: one loop over what is typed, what the session says, and signals.

mod asks;
mod completion;
mod ending;
mod shared;
mod sign;

use crate::asking;
use crate::boot::Boot;
use crate::color::{self, Ink, Paint};
use crate::conversation;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::questions::StartQuestions;
use crate::exit::OK;
use crate::input::{Said, Typed, Want};
use crate::print::{Format, Printer};
use anyhow::Context as _;
use asks::Shown;
use completion::completion_of;
use ostler_host::signals::Signals;
use ostler_wire::{
    Ask, Body, Caller, Client, Deed, Delivery, Delta, Event, Hub as _, Language, Op, OpLine, Open,
    Role, Task, View, Word, command_of,
};
use shared::{Exchange, speaks};
use sign::OnScreen;
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the reply to a command may take before the next line is read without it.
const REPLY_PATIENCE: Duration = Duration::from_secs(5);
/// How long the rest of a turn may be shown when we are told to go.
const PATIENCE: Duration = Duration::from_secs(2);

pub async fn run(boot: Arc<Boot>, which: Open, first: Option<String>) -> anyhow::Result<u8> {
    let language = boot.language;
    let warn =
        |boot: &Boot| conversation::warn(boot, &mut conversation::printer(boot, Format::Text));
    let questions = StartQuestions::new(boot);
    questions.ask_in_lines()?;
    let boot = questions.boot();
    let hub = ConversationHub::start(boot.clone(), Attendance::Answers, warn)?;
    let mut printer = conversation::printer(&boot, Format::Text);
    let client = hub.open(which).await?;
    conversation::announce(&boot, &client, &mut printer)?;
    let exchange = Exchange::new(&client);
    let edited = sign::edited_line(&boot);
    let mut talk = Talk {
        paint: color::for_stderr(boot.loaded.config.display.color, &boot.env),
        lines: Typed::new(
            crate::input::read_lines(edited.clone()),
            io::stdin().is_terminal(),
        ),
        boot,
        hub,
        client,
        printer,
        language,
        busy: Busy::Idle,
        asks: VecDeque::new(),
        shown: Shown {
            edited: OnScreen(edited),
            ..Shown::default()
        },
        background: Background::default(),
        exchange,
    };
    talk.show_past().await?;
    talk.greet()?;
    talk.begin(first).await?;
    match talk.listen().await {
        Ok(over) => talk.leave(over).await,
        Err(error) if conversation::is_closed_pipe(&error) => {
            talk.interrupt_own().await;
            conversation::close(talk.client).await;
            Ok(OK)
        }
        Err(error) => Err(error),
    }
}

/// Why it ends.
enum Over {
    Left,
    Terminated,
}

struct Talk {
    boot: Arc<Boot>,
    hub: ConversationHub,
    client: Client,
    printer: Printer<conversation::Out, conversation::Err>,
    lines: Typed,
    paint: Paint,
    language: Language,
    busy: Busy,
    /// Asks that wait to be put.
    asks: VecDeque<Arc<Ask>>,
    shown: Shown,
    background: Background,
    exchange: Exchange,
}

/// What goes on beside the conversation.
#[derive(Default)]
struct Background {
    tasks: Vec<Task>,
    /// When they were told of.
    told: Option<Instant>,
    /// Commands, by id.
    jobs: Vec<String>,
    /// What leaving stops, as the person was told.
    warned: Vec<String>,
    /// The script is over; its tasks are waited for.
    awaited: bool,
}

impl Background {
    fn ids(&self) -> Vec<String> {
        let tasks = self.tasks.iter().map(|task| task.id.clone());
        tasks.chain(self.jobs.iter().cloned()).collect()
    }
}

/// What the session is at.
#[derive(Debug, PartialEq)]
enum Busy {
    Idle,
    Turn,
    Command {
        /// The id of its op.
        id: String,
        /// Until when its reply is waited for.
        until: Option<Instant>,
    },
    /// The call of the person's own that runs.
    Own(String),
}

impl Talk {
    fn greet(&self) -> io::Result<()> {
        let text = format!(
            "ostler {} · {} · /help",
            crate::VERSION,
            self.client.snapshot.model
        );
        writeln!(io::stderr(), "{}", self.paint.with(Ink::Grey, &text))
    }

    async fn listen(&mut self) -> anyhow::Result<Over> {
        let mut signals = Signals::new()?;
        loop {
            self.invite().await?;
            let until = match &self.busy {
                Busy::Command { until, .. } => *until,
                Busy::Idle | Busy::Turn | Busy::Own(_) => None,
            };
            let patience = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until.into()).await,
                    None => std::future::pending().await,
                }
            };
            let opens = self.shown.invitation.as_ref().map(|(at, _)| *at);
            let opening = async {
                match opens {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            let want = match (&self.shown.ask, &self.busy) {
                (Some(_), _) => Want::Answer,
                (None, Busy::Idle) => Want::Prompt,
                (None, Busy::Turn | Busy::Command { .. } | Busy::Own(_)) => Want::Command,
            };
            let is_over = self.background.awaited && self.busy == Busy::Idle;
            if is_over && self.background.tasks.is_empty() {
                return Ok(Over::Left);
            }
            // At the end of the input there is a no to every question, and nothing else.
            let listens = match self.background.awaited {
                true => want == Want::Answer,
                false => self.lines.listens(want),
            };
            let over = tokio::select! {
                biased;
                stop = signals.next() => self.stop(stop).await?,
                event = self.client.events.next() => match event {
                    Some(event) => self.events(event).await?,
                    None => anyhow::bail!(
                        self.language.say(Word::EndedBadly)),
                },
                line = self.lines.next(want), if listens => self.line(line).await?,
                () = opening => {
                    self.open_question()?;
                    None
                }
                () = patience => {
                    self.busy = Busy::Idle;
                    None
                }
            };
            if let Some(over) = over {
                return Ok(over);
            }
        }
    }

    /// Puts the next ask, or the sign, where a line is wanted.
    async fn invite(&mut self) -> anyhow::Result<()> {
        let mut err = io::stderr();
        if self.shown.ask.is_none()
            && let Some(ask) = self.asks.pop_front()
        {
            self.end_sign()?;
            self.put(&asking::question(&ask, self.language))?;
            self.shown.ask = Some(ask);
        }
        let idle = self.busy == Busy::Idle && self.shown.ask.is_none();
        if idle && !self.background.awaited && !self.shown.sign {
            self.shown.stops = 0;
            let alive = self.liveness();
            if self.lines.by_hand && !alive.is_empty() {
                writeln!(err, "{}", self.paint.with(Ink::Grey, &alive))?;
            }
            self.show_sign()?;
        }
        Ok(())
    }

    /// What runs in the background, on a line.
    fn liveness(&self) -> String {
        let part = |task: &Task| {
            let doing = ostler_engine::agents::children::describe_doing(&task.doing, self.language);
            let since = self
                .background
                .told
                .map_or(0, |told| told.elapsed().as_secs());
            format!("{} {}s {doing}", task.id, task.seconds + since)
        };
        let mut parts: Vec<String> = self.background.tasks.iter().map(part).collect();
        parts.extend(self.background.jobs.iter().cloned());
        parts.join(" · ")
    }

    /// Leaving stops what runs in the background. Whoever types is told so once, and leaves by saying it again.
    fn may_leave(&mut self) -> io::Result<bool> {
        let ids = self.background.ids();
        if self.exchange.is_remote()
            || !self.lines.by_hand
            || ids.iter().all(|id| self.background.warned.contains(id))
        {
            return Ok(true);
        }
        let text = self.language.fill(Word::LeaveStops, &[&ids.join(", ")]);
        self.background.warned = ids;
        self.printer.note(Ink::Yellow, &text)?;
        self.printer.flush()?;
        Ok(false)
    }

    async fn send(&self, op: Op) -> anyhow::Result<()> {
        self.client
            .ops
            .send(op)
            .await
            .context(self.language.say(Word::SessionEnded))
    }

    async fn line(&mut self, said: Said) -> anyhow::Result<Option<Over>> {
        if let Some(ask) = self.shown.ask.clone() {
            self.answer(&ask, said).await?;
            return Ok(None);
        }
        let was_early = matches!(said, Said::Early(_));
        let (Said::Line(line) | Said::Early(line) | Said::NoAnswer(line)) = said else {
            self.end_sign()?;
            if !self.lines.by_hand {
                self.background.awaited = true;
                return Ok(None);
            }
            if self.may_leave()? {
                return Ok(Some(Over::Left));
            }
            // The end of input was a key.
            let edited = self.shown.edited.0.clone();
            self.lines.go_on(crate::input::read_lines(edited));
            return Ok(None);
        };
        if let Some(request) = completion_of(&line) {
            self.complete(request).await?;
            return Ok(None);
        }
        let line = line.trim();
        if self.busy != Busy::Idle {
            // A command takes effect at once, words wait for the turn's end.
            match command_of(line) {
                Some(_) => self.send(Op::say(line, Delivery::Queue)).await?,
                None => self.lines.keep(line),
            }
            return Ok(None);
        }
        self.take_sign(was_early.then_some(line))?;
        match command_of(line) {
            Some(command) => self.command(&command, line).await?,
            None if line.is_empty() => {}
            None => self.prompt(Op::say(line, Delivery::Queue), line).await?,
        }
        Ok(None)
    }

    /// The first prompt or command, as if it had been typed.
    async fn begin(&mut self, first: Option<String>) -> anyhow::Result<()> {
        match first {
            Some(text) => match command_of(&text) {
                Some(line) => self.command(&line, &text).await,
                None => self.prompt(Op::say(&text, Delivery::Queue), &text).await,
            },
            None => Ok(()),
        }
    }

    async fn prompt(&mut self, op: Op, text: &str) -> anyhow::Result<()> {
        self.printer.next_turn();
        self.busy = Busy::Turn;
        self.exchange.sent_prompt(text);
        self.send(op).await
    }

    /// A line that is a command, and how it was typed.
    async fn command(&mut self, line: &str, typed: &str) -> anyhow::Result<()> {
        // The mode first, so that the prompt is watched like any other.
        if let Some(text) = line.strip_prefix("plan ") {
            let line = "plan".into();
            self.send(Op::Command { line }).await?;
            let prompt = Op::Prompt {
                text: text.trim().into(),
                delivery: Delivery::Queue,
                images: Vec::new(),
            };
            return self.prompt(prompt, text.trim()).await;
        }
        self.send_and_wait(Op::say(typed, Delivery::Queue)).await
    }

    /// Sends an op whose reply is waited for before the next line is read.
    async fn send_and_wait(&mut self, op: Op) -> anyhow::Result<()> {
        self.printer.next_turn();
        self.exchange.commands += 1;
        let id = self.exchange.commands.to_string();
        self.busy = Busy::Command {
            id: id.clone(),
            until: Some(Instant::now() + REPLY_PATIENCE),
        };
        let op = OpLine {
            id: Some(id),
            again: false,
            op,
        };
        let sent = self.client.ops.send_line(op).await;
        sent.context(self.language.say(Word::SessionEnded))
    }

    /// Shows an event and all others that have come meanwhile, in one write.
    async fn events(&mut self, first: Event) -> anyhow::Result<Option<Over>> {
        let mut next = Some(first);
        while let Some(event) = next {
            if speaks(&event) {
                self.end_sign()?;
            }
            self.follow_others(&event)?;
            let end = self.printer.event(&event, &ostler_engine::log::now())?;
            if end.is_some() {
                self.busy = Busy::Idle;
                self.forget(|ask| ask.from.is_none());
            }
            if let Some(deed) = self.follow(event) {
                self.printer.flush()?;
                return self.deed(deed).await;
            }
            next = self.client.events.try_next();
        }
        self.printer.flush()?;
        Ok(None)
    }

    /// What an event means for the loop. A deed is what only the loop can do.
    fn follow(&mut self, event: Event) -> Option<Deed> {
        match event {
            Event::Ask(ask) => self.asks.push_back(ask),
            Event::Delta(Delta::Tasks { tasks }) => {
                let runs = |id: &str| tasks.iter().any(|task| task.id == id);
                let gone = |ask: &Ask| ask.task().is_some_and(|id| !runs(id));
                self.forget(gone);
                self.background.tasks = tasks;
                self.background.told = Some(Instant::now());
            }
            Event::Delta(Delta::Jobs { running }) => self.background.jobs = running,
            Event::Reply(reply) => {
                let is_answer =
                    matches!(&self.busy, Busy::Command { id, .. } if reply.op.as_ref() == Some(id));
                if is_answer && !reply.more {
                    self.busy = Busy::Idle;
                }
                // A question that is still open is put again below it.
                if self.lines.by_hand {
                    let open = self.shown.close_question();
                    open.into_iter().for_each(|ask| self.asks.push_front(ask));
                }
                if let View::Do(deed) = &reply.view {
                    return Some(deed.clone());
                }
            }
            Event::Delta(Delta::Progress { id, text, .. }) => {
                // A command that tells what it is at may take its time.
                if let Busy::Command { until, .. } = &mut self.busy
                    && id.is_empty()
                    && !text.is_empty()
                {
                    *until = None;
                }
            }
            Event::Delta(_) => {}
            Event::Entry(entry) => {
                if let Body::Message(message) = &entry.body
                    && message.role == Role::User
                {
                    self.busy = Busy::Turn;
                } else if let Body::ToolUse(call) = &entry.body {
                    self.called(&call.id, call.by);
                } else if let Body::ToolResult(result) = &entry.body
                    && self.busy == Busy::Own(result.tool_use_id.clone())
                {
                    self.busy = Busy::Idle;
                }
            }
        }
        None
    }

    /// A call that a command of the person's makes may take its time.
    fn called(&mut self, id: &str, by: Option<Caller>) {
        if let Busy::Command { until, .. } = &mut self.busy {
            match by {
                Some(Caller::Person) => self.busy = Busy::Own(id.to_owned()),
                Some(Caller::Template) => *until = None,
                None => {}
            }
        }
    }

    /// Takes back asks that nobody waits for any more.
    fn forget(&mut self, gone: impl Fn(&Ask) -> bool) {
        self.asks.retain(|ask| !gone(ask));
        if self.shown.ask.as_ref().is_some_and(|ask| gone(ask)) {
            self.shown.close_question();
            let _ = writeln!(io::stderr());
        }
    }

    async fn deed(&mut self, deed: Deed) -> anyhow::Result<Option<Over>> {
        match deed {
            Deed::Leave if self.may_leave()? => return Ok(Some(Over::Left)),
            Deed::Open(which) => self.swap(which).await?,
            // Plain lines have no clipboard, no composer and no colours to choose.
            Deed::Copy(text) => {
                self.printer.lines(Ink::Plain, &text)?;
                self.printer.flush()?;
            }
            Deed::Compose(text) if !text.is_empty() => {
                self.printer.lines(Ink::Grey, &text)?;
                self.printer.flush()?;
            }
            Deed::Theme(_) => {
                let text = self.language.say(Word::NoThemes);
                self.printer.note(Ink::Plain, text)?;
                self.printer.flush()?;
            }
            Deed::Leave | Deed::Compose(_) => {}
        }
        Ok(None)
    }
}
