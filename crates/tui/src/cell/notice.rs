//! A remark of the harness: a notice, an interruption, a changed setting, an unusual end of a turn.

use super::Fold;
use crate::line::Line;
use crate::rows::{self, spaces};
use crate::say;
use crate::theme::{Role, Theme};
use ostler_wire::{GoalState, Language, Mode, Outcome, Settings, Word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Warning,
}

impl Notice {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
        }
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Warning,
        }
    }

    pub fn interrupted(to: Language) -> Self {
        Self::warning(to.say(Word::Interrupted))
    }

    /// One for each setting that changed. The prefix is nobody's business.
    pub fn settings(settings: &Settings, to: Language) -> impl Iterator<Item = Self> {
        let Settings {
            model,
            effort,
            title,
            prefix: _,
            host,
            root,
        } = settings;
        let root = root.as_deref().unwrap_or_default();
        let changed = [
            model.as_deref().map(|x| say::model_is(to, x)),
            effort.as_deref().map(|x| say::effort_is(to, x)),
            title.as_deref().map(|x| say::title_is(to, x)),
            host.as_deref().map(|x| say::place_is(to, x, root)),
        ];
        changed.into_iter().flatten().map(Self::new)
    }

    /// How things stand. Of a goal that is the turn that begins; how it ended is said beside it.
    pub fn mode(mode: &Mode, to: Language) -> Option<Self> {
        match &mode.goal {
            Some(goal) if goal.state != GoalState::Active => None,
            Some(goal) if goal.turn > 0 => {
                let (turn, most) = (goal.turn.to_string(), goal.most.to_string());
                Some(Self::new(to.fill(Word::GoalTurn, &[&turn, &most])))
            }
            Some(_) | None => Some(Self::new(say::mode_is(to, &mode.mode, &mode.posture))),
        }
    }

    /// What is to be said about the end of a turn, if anything.
    pub fn outcome(outcome: Outcome, to: Language) -> Option<Self> {
        match outcome {
            // The interruption and the error have entries of their own.
            Outcome::Done | Outcome::Interrupted | Outcome::Error => None,
            Outcome::MaxSteps => Some(Self::warning(to.say(Word::StoppedMaxSteps))),
            Outcome::EmptyResponse => Some(Self::warning(to.say(Word::StoppedEmpty))),
            Outcome::Refusal => Some(Self::warning(to.say(Word::StoppedRefusal))),
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        let (mark, style) = match self.tone {
            Tone::Plain => ("· ", theme.style(Role::Faint)),
            Tone::Warning => ("! ", theme.style(Role::Warning)),
        };
        let text = rows::prose(&self.text, style, columns.saturating_sub(2));
        rows::indent(text, &Line::new(mark, style), &spaces(2))
    }
}
