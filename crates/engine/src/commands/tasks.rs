//! `/bg`, `/ps`, `/kill` and `/timeout`: prompts in the background, and the commands that run beside them.

use crate::cut::shorten_prompt;
use crate::jobs::JobState;
use ostler_guard::time_shown;
use ostler_state::SessionState;
use ostler_state::agents::children::{ChildSettings, Ended, How, describe_doing};
use ostler_state::inbox::Inbox;
use ostler_wire::parse_duration;
use ostler_wire::{Body, Entry, Language, Notice, Role, Table, View, Word};
use std::time::Duration;

/// Of an answer that is shown when its task ends.
const ANSWER_LINES: usize = 5;
const ANSWER_CHARS: usize = 600;

pub fn bg(state: &mut SessionState, inbox: &mut Inbox, prompt: &str) -> View {
    let language = state.settings.language;
    let prompt = prompt.strip_suffix(" &").unwrap_or(prompt).trim();
    if prompt.is_empty() {
        let word = match inbox.children.jobs.send_running_to_background() {
            true => Word::ToBackground,
            false => Word::NothingToBackground,
        };
        return View::Text(language.say(word).into());
    }
    let entries = state.log.branch();
    let child = ChildSettings {
        entries: settled(entries),
        prefix: Some(state.conversation.prefix.clone()),
        ..state.child(shorten_prompt(prompt))
    };
    match inbox.children.start(child, prompt) {
        Ok(id) => {
            inbox.show_tasks();
            View::Text(language.fill(Word::TaskStarted, &[&id, &shorten_prompt(prompt)]))
        }
        Err(why) => View::Error(why),
    }
}

/// What a task goes on from: a turn that is under way is not its business.
fn settled(mut entries: Vec<Entry>) -> Vec<Entry> {
    let last = |wanted: fn(&Body) -> bool| entries.iter().rposition(|e| wanted(&e.body));
    let said = last(|b| matches!(b, Body::Message(m) if m.role == Role::User));
    let ended = last(|b| matches!(b, Body::TurnEnd(_)));
    match (said, ended) {
        (Some(said), Some(ended)) if ended < said => entries.truncate(ended + 1),
        (Some(_), None) => entries.clear(),
        (Some(_) | None, _) => {}
    }
    entries
}

pub fn ps(inbox: &mut Inbox, _: &str) -> View {
    let language = inbox.children.language;
    let tasks = inbox.children.list().into_iter().map(|task| {
        vec![
            task.id,
            describe_doing(&task.doing, language),
            time_shown(Duration::from_secs(task.seconds)),
            task.prompt,
        ]
    });
    let mut rows: Vec<Vec<String>> = tasks.collect();
    let now = jiff::Timestamp::now();
    rows.extend(inbox.children.jobs.list().into_iter().map(|job| {
        let state = match job.state {
            JobState::Running => language.say(Word::StateRuns).to_owned(),
            JobState::Exited(code) => language.fill(Word::StateExited, &[&code.to_string()]),
            JobState::Killed(_) => language.say(Word::StateKilled).to_owned(),
        };
        let ran = now.duration_since(job.started);
        let time = match job.state {
            JobState::Running => time_shown(Duration::try_from(ran).unwrap_or_default()),
            JobState::Exited(_) | JobState::Killed(_) => String::new(),
        };
        vec![job.id, state, time, shorten_prompt(&job.command)]
    }));
    if rows.is_empty() {
        return View::Text(language.say(Word::NothingRuns).into());
    }
    let columns = [Word::ColId, Word::ColState, Word::ColTime, Word::ColWhat];
    View::Table(Table::of_texts(
        columns.map(|word| language.say(word).to_owned()).to_vec(),
        rows,
    ))
}

pub fn kill(inbox: &mut Inbox, id: &str) -> View {
    let language = inbox.children.language;
    if let Some(task) = inbox.children.named(id) {
        inbox.children.stop(&task);
        inbox.show_tasks();
        return View::Text(language.fill(Word::IsStopped, &[&task]));
    }
    let known = inbox.children.jobs.list();
    let Some(job) = known.into_iter().find(|job| job.id == id) else {
        return no_task(inbox, id, language);
    };
    let (jobs, id) = (inbox.children.jobs.clone(), job.id.clone());
    // What it said last is in its log.
    tokio::spawn(async move { jobs.kill(&id, 0).await.map(drop) });
    View::Text(language.fill(Word::IsStopped, &[&job.id]))
}

pub fn timeout(inbox: &mut Inbox, words: &str) -> View {
    let language = inbox.children.language;
    let (time, id) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let limit = match time {
        "off" => None,
        time => match parse_duration(time) {
            Some(limit) => Some(limit),
            None => return View::Error(language.say(Word::TimeoutUsage).into()),
        },
    };
    let Some(task) = inbox.children.named(id.trim()) else {
        return no_task(inbox, id.trim(), language);
    };
    inbox.children.limit(&task, limit);
    View::Text(match limit {
        Some(limit) => language.fill(Word::TimeoutIs, &[&task, &time_shown(limit)]),
        None => language.fill(Word::TimeoutOff, &[&task]),
    })
}

fn no_task(inbox: &Inbox, id: &str, language: Language) -> View {
    let known = inbox.children.names();
    View::Error(match (id, known.is_empty()) {
        ("", true) => language.say(Word::NothingRuns).into(),
        ("", false) => language.fill(Word::WhichTask, &[&known]),
        (id, _) => language.fill(Word::NoTask, &[id]),
    })
}

/// A session must not be left for another while something runs that would end with it.
pub fn refusal(inbox: &Inbox, language: Language) -> Option<View> {
    let tasks = inbox.children.list().into_iter().map(|task| task.id);
    let running: Vec<String> = tasks.chain(inbox.children.jobs.running()).collect();
    let running = running.join(", ");
    (!running.is_empty()).then(|| View::Error(language.fill(Word::TasksRun, &[&running])))
}

/// Says that a task is through.
pub fn tell(state: &mut SessionState, ended: &Ended) {
    state.show_budget();
    let language = state.settings.language;
    let word = match ended.how {
        How::Done => Word::TaskDone,
        How::Failed => Word::TaskFailed,
        How::Stopped => Word::TaskStopped,
        How::OutOfTime => Word::TaskOutOfTime,
    };
    let mut text = language.fill(word, &[&ended.id, &time_shown(ended.took)]);
    if state.account.ledger.is_some() {
        let short = ended.session.get(..8).unwrap_or(&ended.session);
        text.push_str(&format!(" · ostler resume {short}"));
    }
    for line in beginning(&ended.text) {
        text.push_str("\n  ");
        text.push_str(line);
    }
    // Before the first prompt there is no log to write to.
    if state.log.is_empty() {
        return state.feed.announce(View::Text(text));
    }
    let child = Body::Child(ended.entry(None));
    if let Err(error) = state.commit(vec![child, Body::Notice(Notice { text })]) {
        state
            .feed
            .announce(View::Error(error.say(state.settings.language)));
    }
}

fn beginning(text: &str) -> impl Iterator<Item = &str> {
    let end = text.char_indices().nth(ANSWER_CHARS).map(|(at, _)| at);
    let part = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let lines = part.lines().map(str::trim_end).filter(|l| !l.is_empty());
    lines.take(ANSWER_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answer, numbered, said, user};
    use ostler_wire::{Outcome, TurnEnd};

    #[test]
    fn a_task_goes_on_from_the_last_turn_that_ended() {
        let ends = || {
            Body::TurnEnd(TurnEnd {
                outcome: Outcome::Done,
            })
        };
        let says = || answer(vec![said("x")]);
        for (bodies, kept) in [
            (vec![], 0),
            (vec![user("a")], 0),
            (vec![user("a"), says()], 0),
            (vec![user("a"), says(), ends()], 3),
            (vec![user("a"), says(), ends(), user("b"), says()], 3),
            (vec![user("a"), ends(), user("b"), ends()], 4),
        ] {
            assert_eq!(settled(numbered(bodies.clone())).len(), kept, "{bodies:?}");
        }
    }

    #[test]
    fn only_the_beginning_of_an_answer_is_told() {
        let long = "one\n\n  two\n".repeat(10);
        let lines: Vec<&str> = beginning(&long).collect();
        assert_eq!(lines, ["one", "  two", "one", "  two", "one"]);
        let wide = "ž".repeat(ANSWER_CHARS * 2);
        let shown: String = beginning(&wide).collect();
        assert_eq!(shown.chars().count(), ANSWER_CHARS);
    }
}
