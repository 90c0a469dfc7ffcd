//! Goals: after each turn another one begins, until the model reports that the goal is reached, the same thing stands in its
//! way three times, the person stops it, a budget or the limit ends it. How a report is read is in `report`, which prompts
//! are goals in `signal`, the folder of a long one in `research`.

mod report;
pub mod research;
pub mod signal;

use ostler_guard::Mode;
use ostler_wire::{Body, Entry, GoalState, Language, Notice, Outcome, TodoItem, TodoState, Word};
use report::{Report, plain, report, same};

/// Turns that begin by themselves.
pub const MAX_CONTINUATIONS: u32 = 50;
/// How often the same thing may stand in the way.
const MAX_BLOCKED: u32 = 3;
/// Characters of the objective where it is repeated.
const MAX_OBJECTIVE: usize = 4_000;
/// Open steps that it is told of.
const MAX_STEPS: usize = 10;
/// Bytes at the end of an answer in which its report is looked for.
const MAX_ANSWER: usize = 8 << 10;

/// How a goal is worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As long as its words sound.
    #[default]
    ByWords,
    Simple,
    /// With a folder for its state.
    Research,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub objective: String,
    pub state: GoalState,
    /// Turns that began by themselves.
    pub turn: u32,
    /// Of a long one, relative to the root.
    pub folder: Option<String>,
    /// Why it does not go on.
    pub why: Option<String>,
    audit: Audit,
    /// The next turn may begin.
    due: bool,
}

/// What stood in the way so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Audit {
    /// Each with how often it did.
    blocks: Vec<(String, u32)>,
    /// The turn before ended blocked.
    was_blocked: bool,
    /// Something was changed in this turn.
    changed: bool,
    /// The end of the last answer.
    answer: String,
    /// The one before, and how often it was given.
    said: String,
    repeats: u32,
    /// What is open and done of the list that it made for itself.
    steps: Steps,
    doubt: Doubt,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Steps {
    open: Vec<String>,
    done: usize,
}

/// Whether it was told that its own list has more to do than its report says. Once is enough: lists are forgotten, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    Due,
    Told,
}

impl Audit {
    /// Counts what stands in the way. Where nothing was done since the last time, other words mean the same. Whether it is
    /// too often.
    fn blocked(&mut self, why: &str, idle: bool) -> bool {
        let at = self.blocks.iter().position(|(known, _)| same(known, why));
        let last = self.blocks.len().checked_sub(1).filter(|_| idle);
        match at.or(last).and_then(|at| self.blocks.get_mut(at)) {
            Some((_, count)) => {
                *count += 1;
                *count >= MAX_BLOCKED
            }
            None => {
                self.blocks.push((why.to_owned(), 1));
                false
            }
        }
    }

    /// Whether a report of the end is not believed yet: steps of its own list are open.
    fn doubts(&self) -> bool {
        self.doubt == Doubt::None && !self.steps.open.is_empty()
    }

    /// Whether the same was said too often, with nothing done.
    fn repeated(&mut self, answer: &str, changed: bool) -> bool {
        let said = plain(answer);
        self.repeats = match self.said == said && !changed {
            true => self.repeats + 1,
            false => 1,
        };
        self.said = said;
        self.repeats >= MAX_BLOCKED
    }
}

/// What follows from a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
enum After {
    GoOn,
    End(GoalState, Option<String>),
}

impl Goal {
    pub fn new(objective: &str) -> Self {
        Self {
            objective: objective.trim().to_owned(),
            state: GoalState::Active,
            turn: 0,
            folder: None,
            why: None,
            audit: Audit::default(),
            due: false,
        }
    }

    pub fn shown(&self) -> ostler_wire::Goal {
        ostler_wire::Goal {
            objective: self.objective.clone(),
            state: self.state,
            turn: self.turn,
            most: MAX_CONTINUATIONS,
            folder: self.folder.clone(),
            why: self.why.clone(),
        }
    }

    /// The goal that a session was left with: it is shown, and waits.
    pub fn of(past: &[Entry]) -> Option<Self> {
        let last = past.iter().rev().find_map(|entry| {
            let Body::Mode(mode) = &entry.body else {
                return None;
            };
            Some(mode)
        })?;
        let goal = last
            .goal
            .as_ref()
            .filter(|_| last.mode == Mode::Goal.name())?;
        Some(Self {
            folder: goal.folder.clone(),
            turn: goal.turn,
            why: goal.why.clone(),
            state: match goal.state {
                // Whoever was at it is gone.
                GoalState::Active => GoalState::Stopped,
                state @ (GoalState::Done
                | GoalState::Blocked
                | GoalState::Stopped
                | GoalState::Limit
                | GoalState::Failed) => state,
            },
            ..Self::new(&goal.objective)
        })
    }

    pub fn is_active(&self) -> bool {
        self.state == GoalState::Active
    }

    /// Begins anew, with a fresh audit.
    pub fn resume(&mut self) {
        *self = Self {
            folder: self.folder.take(),
            ..Self::new(&self.objective)
        };
    }

    pub fn changed(&mut self) {
        self.audit.changed = true;
    }

    /// Its list of steps, whenever it changes. One that is done more is work that was done.
    pub fn planned(&mut self, items: &[TodoItem]) {
        let is_done = |item: &&TodoItem| item.state == TodoState::Done;
        let open = items.iter().filter(|item| !is_done(item));
        let steps = Steps {
            open: open.take(MAX_STEPS).map(|item| item.text.clone()).collect(),
            done: items.iter().filter(is_done).count(),
        };
        self.audit.changed |= steps.done > self.audit.steps.done;
        self.audit.steps = steps;
    }

    pub fn answered(&mut self, text: &str) {
        let from = text.len().saturating_sub(MAX_ANSWER);
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
        self.audit.answer = text.get(from.unwrap_or(0)..).unwrap_or_default().to_owned();
    }

    /// It is told to go on. The words of the turn that begins by itself.
    pub fn go_on(&mut self) -> String {
        self.turn += 1;
        self.due = false;
        self.continuation()
    }

    /// Whether a turn is to begin by itself.
    pub fn is_due(&self) -> bool {
        self.due && self.is_active()
    }

    /// Takes in how a turn ended. What the person is told, and whether the goal goes on.
    pub fn conclude(&mut self, outcome: Outcome, language: Language) -> (Vec<Body>, GoalState) {
        let (end, why) = match self.after(outcome) {
            After::GoOn => {
                self.due = true;
                let open = self.audit.steps.open.join("; ");
                let text = language.fill(Word::GoalDoubted, &[&open]);
                let doubted =
                    (self.audit.doubt == Doubt::Due).then_some(Body::Notice(Notice { text }));
                return (doubted.into_iter().collect(), GoalState::Active);
            }
            After::End(state, why) => (state, why),
        };
        self.state = end;
        self.why = why.map(|why| match why.trim().is_empty() {
            true => language.say(Word::GoalRepeats).to_owned(),
            false => why,
        });
        let turns = (self.turn + 1).to_string();
        let reason = self.why.clone().unwrap_or_default();
        let most = MAX_CONTINUATIONS.to_string();
        let text = match end {
            GoalState::Done => Some(language.fill(Word::GoalDone, &[&turns])),
            GoalState::Blocked => Some(language.fill(Word::GoalBlocked, &[&reason])),
            GoalState::Limit => Some(language.fill(Word::GoalLimit, &[&most])),
            GoalState::Stopped => Some(language.say(Word::GoalStopped).into()),
            GoalState::Failed => Some(language.say(Word::GoalFailed).into()),
            GoalState::Active => None,
        };
        let notice = text.map(|text| Body::Notice(Notice { text }));
        (notice.into_iter().collect(), end)
    }

    /// What follows from a turn that ended so.
    fn after(&mut self, outcome: Outcome) -> After {
        let audit = &mut self.audit;
        let changed = std::mem::take(&mut audit.changed);
        let was_blocked = std::mem::take(&mut audit.was_blocked);
        let answer = std::mem::take(&mut audit.answer);
        match outcome {
            Outcome::Done => {}
            Outcome::Interrupted => return After::End(GoalState::Stopped, None),
            Outcome::Error | Outcome::MaxSteps | Outcome::EmptyResponse | Outcome::Refusal => {
                return After::End(GoalState::Failed, None);
            }
        }
        let stuck = match report(&answer) {
            Report::Done if audit.doubts() && self.turn < MAX_CONTINUATIONS => {
                audit.doubt = Doubt::Due;
                None
            }
            Report::Done => return After::End(GoalState::Done, None),
            Report::Blocked(why) => {
                audit.was_blocked = true;
                let idle = was_blocked && !changed;
                audit.blocked(&why, idle).then_some(why)
            }
            // One that says the same again and does nothing is stuck, too, whatever it calls it.
            Report::Working => audit.repeated(&answer, changed).then_some(String::new()),
        };
        if let Some(why) = stuck {
            return After::End(GoalState::Blocked, Some(why));
        }
        match self.turn >= MAX_CONTINUATIONS {
            true => After::End(GoalState::Limit, None),
            false => After::GoOn,
        }
    }

    fn objective_shown(&self) -> String {
        self.objective.chars().take(MAX_OBJECTIVE).collect()
    }

    /// What the model is told when it begins.
    pub fn block(&self) -> String {
        let mut text = format!(
            "<goal>\n{}\nWork on this until it is reached. After each of your turns another one begins, {MAX_CONTINUATIONS} at most, and nobody answers in between: decide yourself, and say what you assumed. End every answer with one line:\nGOAL: done (only when it is reached and you have checked it; say before how)\nGOAL: blocked: what stands in the way (when you cannot go on without the person)\nGOAL: working: what is next (otherwise)\n",
            self.objective_shown()
        );
        if let Some(protocol) = research::protocol(self) {
            text.push_str(&protocol);
            text.push('\n');
        }
        text.push_str("</goal>");
        text
    }

    /// The words of a turn that begins by itself.
    fn continuation(&mut self) -> String {
        let folder = self
            .folder
            .as_ref()
            .map_or_else(String::new, |folder| format!(" Its state is in {folder}."));
        let mut next = "Go on from where you are, without repeating what is done.".to_owned();
        if self.audit.doubt == Doubt::Due {
            self.audit.doubt = Doubt::Told;
            next = format!(
                "You reported it as done, but these steps of your list are open: {}. Do what is left of them; mark what is done by complete_step with what proves it, or take off the list what is not needed. Then report again.",
                self.audit.steps.open.join("; ")
            );
        }
        format!(
            "[Goal, turn {} of {MAX_CONTINUATIONS}: {}\n{next}{folder} End with one line: GOAL: done, GOAL: blocked: why, or GOAL: working: what is next.]",
            self.turn,
            self.objective_shown()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each turn: what the model said at its end, and whether it changed something. What became of the goal after the last.
    fn played(turns: &[(&str, bool)]) -> (usize, After) {
        let mut goal = Goal::new("x");
        for (n, (answer, changed)) in turns.iter().enumerate() {
            goal.answered(answer);
            if *changed {
                goal.changed();
            }
            let after = goal.after(Outcome::Done);
            if after != After::GoOn {
                return (n + 1, after);
            }
            goal.turn += 1;
        }
        (turns.len(), After::GoOn)
    }

    fn blocked(why: &str) -> After {
        After::End(GoalState::Blocked, Some(why.into()))
    }

    #[test]
    fn a_goal_ends_when_it_should() {
        let working = ("GOAL: working: more", true);
        for (turns, expect) in [
            (
                &[working, ("GOAL: done", true)][..],
                (2, After::End(GoalState::Done, None)),
            ),
            (&[working, working, working, working], (4, After::GoOn)),
            // The same thing, word for word and not.
            (
                &[
                    ("GOAL: blocked: No API key", true),
                    ("GOAL: blocked: no api-key!", true),
                    ("GOAL: blocked: No api key", true),
                ],
                (3, blocked("No api key")),
            ),
            (
                &[
                    ("GOAL: blocked: the API key is missing", true),
                    ("GOAL: blocked: I was given no API key", true),
                    ("GOAL: blocked: an API key must be set first", true),
                ],
                (3, blocked("an API key must be set first")),
            ),
            // In words that share nothing, when nothing was done in between.
            (
                &[
                    ("GOAL: blocked: credentials absent", false),
                    ("GOAL: blocked: nobody told me a password", false),
                    ("GOAL: blocked: cannot log in", false),
                ],
                (3, blocked("cannot log in")),
            ),
            // Other things in the way, with work in between.
            (
                &[
                    ("GOAL: blocked: no compiler", true),
                    ("GOAL: blocked: network is down", true),
                    ("GOAL: blocked: disk is full", true),
                ],
                (3, After::GoOn),
            ),
            // The same thing again later.
            (
                &[
                    ("GOAL: blocked: no key", true),
                    working,
                    ("GOAL: blocked: no key", true),
                    working,
                    ("GOAL: blocked: no key", true),
                ],
                (5, blocked("no key")),
            ),
            // It says nothing of its goal and does nothing.
            (
                &[
                    ("What shall I do?", false),
                    ("What shall I do?", false),
                    ("what shall I do", false),
                ],
                (3, blocked("")),
            ),
            (
                &[
                    ("GOAL: working: reading a", false),
                    ("GOAL: working: reading b", false),
                    ("GOAL: working: reading c", false),
                ],
                (3, After::GoOn),
            ),
        ] {
            assert_eq!(played(turns), expect, "{turns:?}");
        }
    }

    /// A list of steps, `x` before those that are done.
    fn steps(words: &str) -> Vec<TodoItem> {
        let item = |word: &str| TodoItem {
            text: word.trim_start_matches('x').into(),
            state: match word.starts_with('x') {
                true => TodoState::Done,
                false => TodoState::Pending,
            },
        };
        words.split_whitespace().map(item).collect()
    }

    #[test]
    fn done_is_held_against_its_own_list_once() {
        let done = After::End(GoalState::Done, None);
        for (list, then, expect) in [
            ("", "", &[done.clone()][..]),
            ("xread xtest", "", std::slice::from_ref(&done)),
            ("xread test", "xread xtest", &[After::GoOn, done.clone()]),
            // It says so again although it was told.
            ("xread test", "xread test", &[After::GoOn, done.clone()]),
        ] {
            let mut goal = Goal::new("x");
            goal.planned(&steps(list));
            let mut seen = Vec::new();
            loop {
                goal.answered("GOAL: done");
                let after = goal.after(Outcome::Done);
                seen.push(after.clone());
                if after != After::GoOn {
                    break;
                }
                let said = goal.continuation();
                assert!(said.contains("are open: test. "), "{said}");
                goal.planned(&steps(then));
                assert!(!goal.continuation().contains("are open"), "told twice");
            }
            assert_eq!(seen, expect, "{list} {then}");
        }
    }

    #[test]
    fn a_step_that_is_done_is_work() {
        for (lists, expect) in [
            (["a b c", "a b c", "a b c"], (3, blocked(""))),
            (["xa b c", "xa xb c", "xa xb xc"], (3, After::GoOn)),
        ] {
            let mut goal = Goal::new("x");
            let mut seen = (0, After::GoOn);
            for (n, list) in lists.iter().enumerate() {
                goal.answered("On it.");
                goal.planned(&steps(list));
                seen = (n + 1, goal.after(Outcome::Done));
            }
            assert_eq!(seen, expect, "{lists:?}");
        }
    }

    #[test]
    fn fifty_turns_are_the_most() {
        let answers: Vec<String> = (0..60)
            .map(|n| format!("step {n}\nGOAL: working: {n}"))
            .collect();
        let turns: Vec<(&str, bool)> = answers.iter().map(|a| (a.as_str(), true)).collect();
        assert_eq!(played(&turns), (51, After::End(GoalState::Limit, None)));
    }

    #[test]
    fn every_other_end_of_a_turn_ends_it() {
        for (outcome, expect) in [
            (Outcome::Interrupted, GoalState::Stopped),
            (Outcome::Error, GoalState::Failed),
            (Outcome::MaxSteps, GoalState::Failed),
            (Outcome::EmptyResponse, GoalState::Failed),
            (Outcome::Refusal, GoalState::Failed),
        ] {
            let mut goal = Goal::new("x");
            goal.answered("GOAL: done");
            assert_eq!(goal.after(outcome), After::End(expect, None));
        }
    }

    #[test]
    fn a_new_start_is_a_fresh_audit() {
        let mut goal = Goal::new("x");
        for _ in 0..2 {
            goal.answered("GOAL: blocked: no key");
            assert_eq!(goal.after(Outcome::Done), After::GoOn);
        }
        goal.state = GoalState::Stopped;
        goal.resume();
        goal.answered("GOAL: blocked: no key");
        assert_eq!(goal.after(Outcome::Done), After::GoOn);
        assert_eq!((goal.turn, goal.state), (0, GoalState::Active));
    }
}
