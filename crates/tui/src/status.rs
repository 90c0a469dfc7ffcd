//! The line under the composer: model, mode, posture, host, context, cache, cost, budget, branch.

use crate::canvas::Canvas;
use crate::line::{Line, Span};
use crate::theme::Role;
use crate::{say, text};
use ostler_wire::{Clients, Goal, GoalState, Mode, Usage, Word};

/// Columns that leave room for names of keys.
const WIDE: usize = 80;
/// Columns between what stands at the left and the hint at the right.
const HINT_GAP: usize = 4;
/// How the settings say that the model does not think.
const NO_EFFORT: &str = "none";
/// Shares above which the number stands out.
const FULL: u64 = 80;

#[derive(Clone, Debug, Default, PartialEq)]
// tidy: plain data
pub struct Status {
    pub model: String,
    /// How hard it thinks, where that is known.
    pub effort: Option<String>,
    pub mode: Option<Mode>,
    /// Where commands run, if it is not here.
    pub host: Option<String>,
    /// Tokens the model can take; 0 = unknown.
    pub window: u64,
    pub branch: Option<String>,
    /// The session went on at another place: the branch of the folder here is none of its project.
    pub is_moved: bool,
    /// Percent of the budget that is used most.
    pub budget: Option<u64>,
    /// Tokens of the last request and its answer.
    context: u64,
    input: u64,
    cached: u64,
    cost: Option<f64>,
    /// Commands that go on in the background.
    pub jobs: Vec<String>,
    /// The terminals that show the session.
    pub clients: Clients,
}

impl Status {
    pub fn count(&mut self, usage: &Usage) {
        // What was asked beside the conversation fills no window.
        if usage.role.is_none() {
            self.context = usage.input + usage.output;
        }
        self.input += usage.input;
        self.cached += usage.cached;
        if let Some(cost) = usage.cost {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }

    /// The conversation has become shorter.
    pub fn folded(&mut self, tokens: u64) {
        self.context = tokens;
    }

    /// Whether another turn begins when this one ends.
    pub fn is_pursuing(&self) -> bool {
        let goal = self.mode.as_ref().and_then(|mode| mode.goal.as_ref());
        goal.is_some_and(|goal| goal.state == GoalState::Active)
    }

    /// All that is known, or what a form names: `{model} {branch}`.
    pub fn line(&self, canvas: &Canvas, form: Option<&str>) -> Line {
        let parts = self.parts(canvas);
        let line = match form {
            Some(form) => filled(form, &parts, canvas),
            None => {
                let mut line = Line::default();
                for (name, mut part) in parts {
                    if !line.is_empty() {
                        line.push(canvas.span(" · ", Role::Frame));
                    }
                    // Where there is room, it names the key that changes it.
                    if name == "posture" && canvas.columns >= WIDE {
                        let keyed = canvas.fill(Word::PostureKey, &[part.text()]);
                        part = Span::new(keyed, part.style);
                    }
                    line.push(part);
                }
                line
            }
        };
        let mut line = text::cut(&line, canvas.columns);
        let hint = canvas.span(canvas.say(Word::HintKeys), Role::Faint);
        let left = canvas.columns.saturating_sub(line.width() + hint.width());
        if form.is_none() && left >= HINT_GAP {
            line.push(Span::plain(" ".repeat(left)));
            line.push(hint);
        }
        line
    }

    /// What is known, each by its name.
    fn parts(&self, canvas: &Canvas) -> Vec<(&'static str, Span)> {
        let mut parts = vec![("model", canvas.span(short(&self.model), Role::Status))];
        let effort = self.effort.as_ref().filter(|effort| *effort != NO_EFFORT);
        let effort = effort.map(|effort| canvas.span(effort, Role::Status));
        parts.extend(effort.map(|span| ("effort", span)));
        let say = |word: Word, role: Role| canvas.span(canvas.say(word), role);
        if let Some(Mode {
            mode,
            posture,
            goal,
            deny: _,
            ask: _,
            sandbox: _,
            tightened: _,
            writable: _,
        }) = &self.mode
        {
            match mode.as_str() {
                "plan" => parts.push(("mode", say(Word::ModePlan, Role::Accent))),
                "goal" => parts.push(("mode", at_goal(goal.as_ref(), canvas))),
                _ => {}
            }
            let word = match posture.starts_with("auto") {
                true => Word::PostureAuto,
                false => say::posture_word(posture).unwrap_or(Word::PostureAsk),
            };
            let role = match word {
                Word::PostureAuto => Role::Warning,
                Word::PostureYolo | Word::StanceShell => Role::Error,
                Word::PostureEdits => Role::Accent,
                _ => Role::Status,
            };
            let text = match word {
                Word::PostureAuto => say::posture_shown(canvas.theme.language, posture),
                word => canvas.say(word).to_owned(),
            };
            parts.push(("posture", canvas.span(text, role)));
        }
        let host = self.host.iter().map(|h| canvas.span(h, Role::Accent));
        parts.extend(host.map(|span| ("host", span)));
        if let Some(share) = (self.context * 100).checked_div(self.window)
            && self.context > 0
        {
            parts.push(("context", percent(Word::Context, share, canvas)));
        }
        if let Some(share) = (self.cached * 100).checked_div(self.input) {
            let text = canvas.fill(Word::Cached, &[&share.to_string()]);
            parts.push(("cached", canvas.span(text, Role::Status)));
        }
        let cost = self.cost.map(|c| canvas.span(say::cost(c), Role::Status));
        parts.extend(cost.map(|span| ("cost", span)));
        let budget = self.budget.map(|b| percent(Word::Budget, b, canvas));
        parts.extend(budget.map(|span| ("budget", span)));
        if !self.jobs.is_empty() {
            let text = canvas.fill(Word::Jobs, &[&self.jobs.len().to_string()]);
            parts.push(("jobs", canvas.span(text, Role::Accent)));
        }
        let clients = self.clients.ids.len();
        if self.clients.is_remote() || clients > 1 {
            let count = clients.to_string();
            let text = match (self.clients.silent, self.clients.is_remote()) {
                (true, _) => canvas.say(Word::StatusSilent).to_owned(),
                (false, true) => canvas.many(Word::StatusAttached, clients, &[&count]),
                (false, false) => canvas.many(Word::StatusShared, clients, &[&count]),
            };
            parts.push(("clients", canvas.span(text, Role::Accent)));
        }
        let branch = self.branch.iter().map(|b| canvas.span(b, Role::Status));
        parts.extend(branch.map(|span| ("branch", span)));
        parts
    }
}

/// Names that a form can have.
pub const NAMES: [&str; 12] = [
    "model", "effort", "mode", "posture", "host", "context", "cached", "cost", "budget", "jobs",
    "clients", "branch",
];

/// How far a goal is.
fn at_goal(goal: Option<&Goal>, canvas: &Canvas) -> Span {
    match goal {
        Some(goal) if goal.state == GoalState::Active => {
            let (turn, most) = (goal.turn.to_string(), goal.most.to_string());
            canvas.span(canvas.fill(Word::GoalAt, &[&turn, &most]), Role::Accent)
        }
        Some(_) => canvas.span(canvas.say(Word::GoalPaused), Role::Warning),
        None => canvas.span(canvas.say(Word::ModeGoal), Role::Accent),
    }
}

/// A share that stands out when little is left.
fn percent(word: Word<1>, share: u64, canvas: &Canvas) -> Span {
    let role = if share >= FULL {
        Role::Warning
    } else {
        Role::Status
    };
    canvas.span(canvas.fill(word, &[&share.to_string()]), role)
}

/// The form with what is known in the place of its names; what is not known leaves nothing.
fn filled(form: &str, parts: &[(&str, Span)], canvas: &Canvas) -> Line {
    let mut line = Line::default();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        line.push(canvas.span(before, Role::Status));
        let Some((name, after)) = after.split_once('}').filter(|(n, _)| NAMES.contains(n)) else {
            line.push(canvas.span("{", Role::Status));
            rest = after;
            continue;
        };
        for (_, part) in parts.iter().filter(|(known, _)| *known == name) {
            line.push(part.clone());
        }
        rest = after;
    }
    line.push(canvas.span(rest, Role::Status));
    line
}

/// The model without its provider, which the person knows.
fn short(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;
    use ostler_wire::ClientId;

    #[test]
    fn says_what_is_known() {
        let canvas = |columns| Canvas {
            columns,
            rows: 10,
            theme: Theme::default(),
        };
        let mut status = Status {
            model: "acme/wise-2".into(),
            window: 200_000,
            ..Status::default()
        };
        let text = status.line(&canvas(80), None).text();
        assert_eq!(
            (text.trim_end_matches("? keys").trim(), text.len()),
            ("wise-2", 80)
        );
        status.mode = Some(Mode {
            mode: "plan".into(),
            posture: "yolo".into(),
            ..Mode::default()
        });
        status.branch = Some("main".into());
        status.count(&Usage {
            input: 99_000,
            cached: 49_500,
            output: 1_000,
            cost: Some(0.25),
            ..Usage::default()
        });
        status.budget = Some(25);
        let text = status.line(&canvas(80), None).text();
        assert_eq!(
            text,
            "wise-2 · plan · yolo (shift-tab) · context 50% · cached 50% · $0.250 · 25% of b…"
        );
        assert!(status.line(&canvas(40), None).width() <= 40);
        status.clients.ids = vec![ClientId(1), ClientId(2)];
        let shown = |status: &Status| status.line(&canvas(80), Some("{clients}")).text();
        assert_eq!(shown(&status), "2 terminals");
        status.clients.rank = Some(1);
        assert_eq!(shown(&status), "attached · 2 terminals");
        status.clients.ids.pop();
        assert_eq!(shown(&status), "attached · 1 terminal");
        for (form, expect) in [
            ("{model} on {branch}", "wise-2 on main"),
            ("{cost}{jobs}|{nonsense} {", "$0.250|{nonsense} {"),
            ("", ""),
        ] {
            let line = status.line(&canvas(80), Some(form));
            assert_eq!(line.text(), expect);
        }
    }
}
