//! Prompts that run in the background: the line that says they live, and their asks, which outlive the turns of the
//! foreground.

use super::{Effect, State};
use crate::canvas::Canvas;
use crate::layer::Layer;
use crate::line::Line;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Ask, Doing, Escape, Task, Word};
use std::time::{Duration, Instant};

/// How often the line counts on.
pub const TICK: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Background {
    tasks: Vec<Task>,
    /// When they were told of.
    told: Option<Instant>,
    asks: Vec<Open>,
}

/// An ask of a task that is open.
struct Open {
    ask: String,
    task: String,
    /// No part of the turn.
    is_apart: bool,
}

impl Background {
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub fn ids(&self) -> impl Iterator<Item = String> + '_ {
        self.tasks.iter().map(|task| task.id.clone())
    }

    pub fn asks(&mut self, ask: &Ask) {
        if let Some(task) = ask.task() {
            self.asks.push(Open {
                ask: ask.ask.clone(),
                task: task.to_owned(),
                is_apart: ask.silence.escape == Escape::Answer,
            });
        }
    }

    fn open(&self, ask: &str) -> Option<&Open> {
        self.asks.iter().find(|open| open.ask == ask)
    }

    pub fn has_ask(&self, ask: &str) -> bool {
        self.open(ask).is_some()
    }

    pub fn line(&self, canvas: &Canvas, now: Instant) -> Option<Line> {
        let since = now.saturating_duration_since(self.told?).as_secs();
        let parts: Vec<String> = self
            .tasks
            .iter()
            .map(|task| {
                let doing = match &task.doing {
                    Doing::Thinking => canvas.say(Word::DoingThinks).to_owned(),
                    Doing::Running(tool) => canvas.fill(Word::DoingRuns, &[tool]),
                    Doing::Queueing => canvas.say(Word::WaitsToWrite).to_owned(),
                    Doing::Asking => canvas.say(Word::DoingAsks).to_owned(),
                    Doing::Ending => canvas.say(Word::Stopping).to_owned(),
                };
                format!("{} {}s {doing}", task.id, task.seconds + since)
            })
            .collect();
        let line = canvas.line(parts.join(" · "), Role::Faint);
        (!parts.is_empty()).then(|| text::cut(&line, canvas.columns))
    }
}

impl State {
    pub(super) fn tasks(&mut self, tasks: &[Task], now: Instant) {
        self.work.background.tasks = tasks.to_vec();
        self.work.background.told = Some(now);
        let runs = |id: &str| tasks.iter().any(|task| task.id == id);
        let background = &mut self.work.background;
        self.layers.retain(|layer| {
            let open = layer.ask().and_then(|ask| background.open(ask));
            open.is_none_or(|open| runs(&open.task))
        });
        background.asks.retain(|open| runs(&open.task));
        self.unwarn();
    }

    /// The open question is one of a task, and no part of the turn.
    pub(super) fn is_apart(&self) -> bool {
        let ask = self.layers.last().and_then(Layer::ask);
        let open = ask.and_then(|ask| self.work.background.open(ask));
        open.is_some_and(|open| open.is_apart)
    }

    /// Esc at an ask of a task in the background is a no to it, not a stop of the foreground. Whether it was one.
    pub(super) fn refuse_task(&mut self) -> bool {
        let asking = self.layers.last().and_then(Layer::asking);
        let Some(no) = asking.filter(|_| self.is_apart()).map(|a| a.ask().leave()) else {
            return false;
        };
        self.layers.pop();
        self.effects.push(Effect::Send(no));
        true
    }
}
