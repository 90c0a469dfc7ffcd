//! Puts what is to be decided before a session opens, such as whether the project is trusted, with the layers and the
//! guards that questions of a session have. What is asked about is shown whole above the question, where the terminal
//! keeps it.

use crate::burst::Burst;
use crate::editor::Editor;
use crate::key::Input;
use crate::run::Start;
use crate::screen::{Frame, Screen};
use crate::state::{Effect, State};
use crate::status::Status;
use crate::surroundings::Surroundings;
use crate::terminal::{self, Inputs, Raw};
use ostler_wire::{Ask, AskAnswer, Event, HubError, Op, Questions, Report, View};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

/// How it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The terminal is gone, or the program was told to end: nothing follows.
    pub is_over: bool,
    /// What was typed and was no answer.
    pub draft: Option<String>,
    /// Why an answer could not be taken.
    pub errors: Vec<String>,
}

/// Puts each question until none is left. The terminal is as before afterwards.
pub async fn ask<Q: Questions, S: Surroundings, W: Write>(
    questions: &Q,
    surroundings: &S,
    start: &Start,
    mut out: W,
    stop: impl Future<Output = ()>,
) -> io::Result<Asked> {
    let (columns, rows) = terminal::size();
    let options = crate::editor::Options {
        vim: start.editor.vim,
        labels: start.editor.labels.clone(),
        ..crate::editor::Options::default()
    };
    let state = State::new(
        start.settings.clone(),
        Editor::new(options),
        Vec::new(),
        Status::default(),
    );
    let mut raw = Raw::enter(&mut out)?;
    let mut desk = Desk {
        questions,
        state,
        screen: Screen::new(columns, rows, start.narrowed).with_links(start.links.clone()),
        out,
        burst: Burst::default(),
        open: None,
        asked: Asked::default(),
    };
    let ended = desk.put_all(surroundings, stop).await;
    let left = desk.leave(&mut raw);
    ended.and(left)?;
    desk.asked.draft = desk.state.editor().draft();
    Ok(desk.asked)
}

struct Desk<'a, Q, W> {
    questions: &'a Q,
    state: State,
    screen: Screen,
    out: W,
    burst: Burst,
    /// The question that stands there.
    open: Option<Arc<Ask>>,
    asked: Asked,
}

impl<Q: Questions, W: Write> Desk<'_, Q, W> {
    async fn put_all(
        &mut self,
        surroundings: &impl Surroundings,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut stop = std::pin::pin!(stop);
        let mut inputs = Inputs::new(surroundings.keyboard()?);
        loop {
            if self.open.is_none() && !self.put_next() {
                return Ok(());
            }
            self.paint()?;
            let wake = self.state.wake(Instant::now());
            let timer = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.as_mut() => self.asked.is_over = true,
                input = inputs.next() => match input? {
                    input if input.is_empty() => self.asked.is_over = true,
                    input => self.inputs(input),
                },
                () = timer => self.state.passed(Instant::now()),
            }
            self.effects();
            if self.asked.is_over {
                return Ok(());
            }
        }
    }

    /// False when there is none.
    fn put_next(&mut self) -> bool {
        let Some(ask) = self.questions.questions().into_iter().next() else {
            return false;
        };
        let canvas = self.state.canvas(self.screen.columns(), self.screen.rows());
        let report = Report {
            text: ask.preview.clone().unwrap_or_default(),
            ..Report::default()
        };
        let transcript = self.state.transcript();
        transcript.view(&View::Report(report), &canvas);
        let bare = Arc::new(Ask {
            preview: None,
            ..Ask::clone(&ask)
        });
        self.state.event(&Event::Ask(bare), &canvas, Instant::now());
        self.open = Some(ask);
        true
    }

    fn inputs(&mut self, inputs: Vec<Input>) {
        let now = Instant::now();
        for input in self.burst.gather(inputs, now) {
            if let Input::Resize { columns, rows } = input {
                self.screen.resize(columns, rows);
            }
            let canvas = self.state.canvas(self.screen.columns(), self.screen.rows());
            self.state.input(input, &canvas, now);
        }
    }

    /// Of what a session would be sent only an answer counts here. Who wants to stop decides nothing.
    fn effects(&mut self) {
        for effect in self.state.take_effects() {
            match effect {
                Effect::Send(Op::Answer {
                    ask,
                    choice,
                    reason,
                }) => self.answer(&ask, &AskAnswer { choice, reason }),
                Effect::Send(Op::Interrupt) => {
                    if let Some(ask) = &self.open {
                        let none = AskAnswer::from(ask.silence.choice.as_str());
                        self.answer(&ask.ask.clone(), &none);
                    }
                }
                Effect::Leave => self.asked.is_over = true,
                Effect::Redraw => self.screen.forget(),
                Effect::Send(_)
                | Effect::Open(_)
                | Effect::Copy(_)
                | Effect::Edit(_)
                | Effect::PasteImage
                | Effect::Picture(_)
                | Effect::KeepSent(_)
                | Effect::KeepDraft(_)
                | Effect::Notify(_)
                | Effect::Page
                | Effect::Look
                | Effect::Suspend => {}
            }
        }
    }

    fn answer(&mut self, ask: &str, answer: &AskAnswer) {
        if self.open.take_if(|open| open.ask == ask).is_none() {
            return;
        }
        if let Err(HubError(why)) = self.questions.answer(ask, answer) {
            self.asked.errors.push(why);
        }
    }

    fn paint(&mut self) -> io::Result<()> {
        let (columns, rows) = terminal::size();
        self.screen.resize(columns, rows);
        let canvas = self.state.canvas(self.screen.columns(), self.screen.rows());
        let done = self.state.done(&canvas);
        let frame = self.state.frame(&canvas, Instant::now());
        let bytes = self.screen.paint(&done, frame);
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        self.state.set_drawn(Instant::now());
        Ok(())
    }

    fn leave(&mut self, raw: &mut Raw) -> io::Result<()> {
        let canvas = self.state.canvas(self.screen.columns(), self.screen.rows());
        let done = self.state.done(&canvas);
        let mut bytes = self.screen.paint(&done, Frame::default());
        bytes.push_str(&self.screen.leave());
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        raw.leave(&mut self.out)
    }
}
