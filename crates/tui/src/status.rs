//! The line under the composer: model, mode, posture, host, context, cache, cost, branch.

use crate::canvas::Canvas;
use crate::line::{Line, Span};
use crate::text;
use crate::theme::Role;
use ostler_wire::{Mode, Usage, Word};

/// Shares above which the number stands out.
const FULL: u64 = 80;

#[derive(Clone, Debug, Default, PartialEq)]
// tidy: plain data
pub struct Status {
    pub model: String,
    pub mode: Option<Mode>,
    /// Where commands run, if it is not here.
    pub host: Option<String>,
    /// Tokens the model can take; 0 = unknown.
    pub window: u64,
    pub branch: Option<String>,
    /// Tokens of the last request and its answer.
    context: u64,
    input: u64,
    cached: u64,
    cost: Option<f64>,
    /// Background work.
    pub jobs: usize,
}

impl Status {
    pub fn count(&mut self, usage: &Usage) {
        self.context = usage.input + usage.output;
        self.input += usage.input;
        self.cached += usage.cached;
        if let Some(cost) = usage.cost {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }

    pub fn line(&self, canvas: &Canvas) -> Line {
        let mut parts: Vec<Span> = vec![canvas.span(short(&self.model), Role::Status)];
        let say = |word: Word, role: Role| canvas.span(canvas.say(word), role);
        if let Some(Mode { mode, posture }) = &self.mode {
            match mode.as_str() {
                "plan" => parts.push(say(Word::ModePlan, Role::Accent)),
                "goal" => parts.push(say(Word::ModeGoal, Role::Accent)),
                _ => {}
            }
            parts.push(match posture.as_str() {
                "auto" => say(Word::PostureAuto, Role::Warning),
                "yolo" => say(Word::PostureYolo, Role::Error),
                _ => say(Word::PostureAsk, Role::Status),
            });
        }
        parts.extend(self.host.iter().map(|h| canvas.span(h, Role::Accent)));
        if let Some(share) = (self.context * 100).checked_div(self.window)
            && self.context > 0
        {
            let role = if share >= FULL {
                Role::Warning
            } else {
                Role::Status
            };
            parts.push(canvas.span(canvas.fill(Word::Context, &[&share.to_string()]), role));
        }
        if let Some(share) = (self.cached * 100).checked_div(self.input) {
            let text = canvas.fill(Word::Cached, &[&share.to_string()]);
            parts.push(canvas.span(text, Role::Status));
        }
        parts.extend(self.cost.map(|c| canvas.span(money(c), Role::Status)));
        if self.jobs > 0 {
            let text = canvas.fill(Word::Jobs, &[&self.jobs.to_string()]);
            parts.push(canvas.span(text, Role::Accent));
        }
        parts.extend(self.branch.iter().map(|b| canvas.span(b, Role::Status)));
        let mut line = Line::default();
        for part in parts {
            if !line.is_empty() {
                line.push(canvas.span(" · ", Role::Frame));
            }
            line.push(part);
        }
        text::cut(&line, canvas.columns)
    }
}

/// The model without its provider, which the person knows.
fn short(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, name)| name)
}

pub fn money(dollars: f64) -> String {
    match dollars {
        d if d >= 100.0 => format!("${d:.0}"),
        d if d >= 1.0 => format!("${d:.2}"),
        d => format!("${d:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;
    use ostler_wire::Language;

    #[test]
    fn says_what_is_known() {
        let canvas = |columns| Canvas {
            columns,
            rows: 10,
            theme: Theme::default(),
            language: Language::English,
        };
        let mut status = Status {
            model: "acme/wise-2".into(),
            window: 200_000,
            ..Status::default()
        };
        assert_eq!(status.line(&canvas(80)).text(), "wise-2");
        status.mode = Some(Mode {
            mode: "plan".into(),
            posture: "yolo".into(),
        });
        status.branch = Some("main".into());
        status.count(&Usage {
            input: 99_000,
            cached: 49_500,
            output: 1_000,
            cost: Some(0.25),
            ..Usage::default()
        });
        let text = status.line(&canvas(80)).text();
        assert_eq!(
            text,
            "wise-2 · plan · yolo · 50% context · 50% cached · $0.2500 · main"
        );
        assert!(status.line(&canvas(40)).width() <= 40);
    }
}
