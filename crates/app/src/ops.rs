//! `--input-format stream-json`: one op a line on stdin drives many turns; every event goes to stdout.

use crate::boot::Boot;
use crate::color::Ink;
use crate::conversation;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::joined::Outstanding;
use crate::exit::{FAILED, INTERRUPTED, OK, TERMINATED};
use crate::input::read_lines;
use crate::print::{End, Format, Printer};
use ostler_config::text::{Explain as _, Speak as _};
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{
    Ask, Body, Client, Delta, Event, Hub as _, Language, MAX_OP_LINE, Op, OpLine, Role, Word,
};
use std::sync::Arc;
use std::time::Instant;

/// Prompts that may be on their way; fewer than a session lets wait, so that none is lost.
const AHEAD: usize = 128;

pub async fn run(boot: Arc<Boot>, format: Format) -> anyhow::Result<u8> {
    // Ops only make sense with events to react to.
    let format = if format == Format::Text {
        Format::Stream
    } else {
        format
    };
    let mut printer = conversation::printer(&boot, format);
    let warn = |boot: &Boot| conversation::warn(boot, &mut printer);
    let hub = ConversationHub::start(boot.clone(), Attendance::Answers, warn)?;
    let client = hub.open(conversation::which(&boot)).await?;
    conversation::announce(&boot, &client, &mut printer)?;
    let joined = client.snapshot.clients.is_remote();
    let mut talk = Talk {
        own: joined.then(Outstanding::default),
        client,
        printer,
        start: Instant::now(),
        unheard: 0,
        running: false,
        asks: Vec::new(),
        tasks: 0,
        closing: false,
        language: boot.language,
        code: OK,
    };
    let ended = talk.listen().await;
    if ended.is_err() {
        // A session that is over already has nothing to stop.
        let _ = talk.client.ops.send(Op::Interrupt).await;
    }
    conversation::close(talk.client).await;
    match ended {
        Ok(()) => Ok(talk.code),
        Err(error) if conversation::is_closed_pipe(&error) => Ok(OK),
        Err(error) => Err(error),
    }
}

/// A session driven by lines.
struct Talk {
    client: Client,
    printer: Printer<conversation::Out, conversation::Err>,
    start: Instant,
    /// Prompts that were sent and have not come back as a message.
    unheard: usize,
    /// A turn is under way.
    running: bool,
    /// Asks that were shown and not answered.
    asks: Vec<Arc<Ask>>,
    /// Tasks that run in the background.
    tasks: usize,
    /// The lines want it to end now.
    closing: bool,
    language: Language,
    /// In a session that another process runs: what these lines wait for.
    own: Option<Outstanding>,
    code: u8,
}

impl Talk {
    /// Until the lines are over and everything they asked for is done.
    async fn listen(&mut self) -> anyhow::Result<()> {
        let mut lines = read_lines(None).lines;
        let mut signals = Signals::new()?;
        let mut open = true;
        loop {
            if !open && self.own.as_ref().is_some_and(Outstanding::is_empty) {
                break;
            }
            tokio::select! {
                line = lines.recv(), if open && self.unheard < AHEAD => match line {
                    Some(line) if line.is_cut => self.pass_over_line()?,
                    Some(line) => self.line(&line.text).await?,
                    None if self.own.is_some() => open = false,
                    None => {
                        open = false;
                        // The session ends when nothing is left to do, in the background neither. It may be over already.
                        let _ = self.client.ops.send(Op::Finish).await;
                        self.nobody_answers().await?;
                    }
                },
                event = self.client.events.next() => {
                    let Some(event) = event else { break };
                    self.event(&event)?;
                    // Whoever runs the session is there to answer.
                    if !open && self.own.is_none() {
                        self.nobody_answers().await?;
                    }
                }
                signal = signals.next() => {
                    self.send(Op::Interrupt).await?;
                    if signal == Stop::Terminate {
                        self.code = TERMINATED;
                        break;
                    }
                    if !self.is_busy() {
                        self.code = INTERRUPTED;
                        break;
                    }
                }
            }
        }
        // Whoever closes it with tasks under way has lost them.
        if self.closing && self.tasks > 0 && self.code == OK {
            self.code = FAILED;
        }
        Ok(self.printer.flush()?)
    }

    fn is_busy(&self) -> bool {
        match &self.own {
            Some(own) => !own.is_empty(),
            None => self.running || self.unheard > 0,
        }
    }

    /// An op that is too long cannot be read, and the rest of the lines is.
    fn pass_over_line(&mut self) -> anyhow::Result<()> {
        let why = self
            .language
            .filled(Word::OpLineCut, &[&(MAX_OP_LINE >> 20)]);
        self.printer.note(Ink::Red, &format!("stdin: {why}"))?;
        Ok(self.printer.flush()?)
    }

    async fn line(&mut self, line: &str) -> anyhow::Result<()> {
        let OpLine { id, again, op } = match parse(line) {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(()),
            Err(why) => {
                self.printer.note(Ink::Red, &format!("stdin: {why}"))?;
                return Ok(self.printer.flush()?);
            }
        };
        let op = op.parsed();
        self.unheard += usize::from(matches!(op, Op::Prompt { .. }) && self.own.is_none());
        if let Op::Answer { ask, .. } = &op {
            self.asks.retain(|known| known.ask != *ask);
        }
        self.closing |= matches!(op, Op::Close);
        let line = OpLine { id, again, op };
        let line = match &mut self.own {
            Some(own) => own.send(line),
            None => line,
        };
        self.send_line(line).await
    }

    async fn send(&mut self, op: Op) -> anyhow::Result<()> {
        self.send_line(op.into()).await
    }

    async fn send_line(&mut self, line: OpLine) -> anyhow::Result<()> {
        self.client
            .ops
            .send_line(line)
            .await
            .explain(|| Word::SessionEnded.into())?;
        Ok(())
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        let was_own = self.own.as_ref().is_none_or(|own| own.is_running);
        if let Some(own) = &mut self.own {
            own.follow(event);
        }
        if let Event::Ask(ask) = event {
            self.asks.push(ask.clone());
        }
        if let Event::Delta(Delta::Tasks { tasks }) = event {
            self.tasks = tasks.len();
        }
        if is_prompt(event) {
            self.unheard = self.unheard.saturating_sub(1);
            self.running = true;
        }
        if let Some(end) = self.printer.event(event, &ostler_engine::log::now())? {
            let took = self.start.elapsed();
            self.printer.result(&self.client.session_id, &end, took)?;
            self.printer.next_turn();
            self.start = Instant::now();
            // The prompt itself may be what could not be recorded.
            if end == End::Unrecorded && !self.running {
                self.unheard = self.unheard.saturating_sub(1);
            }
            self.running = false;
            self.asks.clear();
            if was_own {
                self.code = conversation::code(&end);
            }
        }
        Ok(self.printer.flush()?)
    }

    /// Stdin is closed: whoever asks now would wait for ever.
    async fn nobody_answers(&mut self) -> anyhow::Result<()> {
        for ask in std::mem::take(&mut self.asks) {
            self.send(ask.unanswered()).await?;
        }
        Ok(())
    }
}

/// The person's words, as the session has taken them in.
fn is_prompt(event: &Event) -> bool {
    matches!(event, Event::Entry(e) if matches!(&e.body, Body::Message(m) if m.role == Role::User))
}

fn parse(line: &str) -> Result<Option<OpLine>, String> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(line).map(Some).map_err(|e| {
        format!("this line is not an op ({e}); write {{\"op\":\"prompt\",\"text\":\"…\"}}, {{\"op\":\"answer\",…}} or {{\"op\":\"interrupt\"}}")
    })
}
