//! `/btw`: a question beside the conversation. It is answered from what was said so far, at any time, and neither question
//! nor answer becomes a part of the conversation.

use ostler_mcp::{SamplingMessage, SamplingRequest, SamplingRole};
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_wire::{Body, Delta, Entry, Role, View, Word};
use tokio_util::sync::CancellationToken;

/// Bytes of the conversation that go along, its end.
const MAX_SAID: usize = 60 * 1024;
/// Tokens of an answer.
const MAX_ANSWER: u64 = 2_048;
const SYSTEM: &str = include_str!("btw.md");

pub fn btw(state: &mut SessionState, inbox: &mut Inbox, question: &str) -> View {
    let language = state.settings.language;
    if question.is_empty() {
        return View::Error(language.say(Word::BtwUsage).into());
    }
    let request = SamplingRequest {
        system: SYSTEM.trim_end().into(),
        messages: messages(&state.log.branch(), question),
        max_tokens: MAX_ANSWER,
        temperature: None,
        stops: Vec::new(),
        hints: Vec::new(),
    };
    // What stops the turn stops it, too.
    let turn = inbox.turn();
    let cancel = match turn.is_cancelled() {
        true => CancellationToken::new(),
        false => turn,
    };
    let (side, feed) = (state.side_request(cancel), state.feed.clone());
    tokio::spawn(async move {
        let view = match side.ask(&side.model, &request).await {
            Ok(answer) => View::Text(language.fill(Word::BtwAnswer, &[answer.text.trim()])),
            Err(why) => View::Error(language.fill(Word::BtwFailed, &[&why])),
        };
        feed.delta(Delta::Announcement {
            view: Box::new(view),
        });
    });
    View::Text(language.say(Word::BtwAsked).into())
}

/// The end of what was said, and the question. No two messages of one role follow each other.
fn messages(entries: &[Entry], question: &str) -> Vec<SamplingMessage> {
    let mut left = MAX_SAID;
    let mut said: Vec<(SamplingRole, String)> = Vec::new();
    for entry in entries.iter().rev() {
        let Body::Message(message) = &entry.body else {
            continue;
        };
        let role = match message.role {
            Role::User => SamplingRole::User,
            Role::Assistant => SamplingRole::Assistant,
            Role::System => continue,
        };
        if message.text.trim().is_empty() {
            continue;
        }
        if message.text.len() > left {
            break;
        }
        left -= message.text.len();
        said.push((role, message.text.clone()));
    }
    said.reverse();
    said.push((SamplingRole::User, question.to_owned()));
    let mut messages: Vec<SamplingMessage> = Vec::new();
    // A conversation begins with the person.
    let of_model = |(role, _): &(SamplingRole, String)| *role == SamplingRole::Assistant;
    for (role, text) in said.into_iter().skip_while(of_model) {
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => {
                last.text.push_str("\n\n");
                last.text.push_str(&text);
            }
            None => messages.push(SamplingMessage { role, text }),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::Message;

    #[test]
    fn the_end_of_the_conversation_goes_along() {
        let entry = |role, text: &str| {
            Body::Message(Message {
                role,
                ..Message::user(text)
            })
        };
        let long = "x".repeat(MAX_SAID);
        let entries = crate::testing::numbered([
            entry(Role::User, &long),
            entry(Role::Assistant, "left out, nobody asked"),
            entry(Role::User, "fix it"),
            entry(Role::Assistant, "fixed"),
            entry(Role::User, "and the docs"),
        ]);
        let texts: Vec<(SamplingRole, String)> = messages(&entries, "why?")
            .into_iter()
            .map(|m| (m.role, m.text))
            .collect();
        assert_eq!(
            texts,
            [
                (SamplingRole::User, "fix it".to_owned()),
                (SamplingRole::Assistant, "fixed".to_owned()),
                (SamplingRole::User, "and the docs\n\nwhy?".to_owned()),
            ]
        );
    }
}
