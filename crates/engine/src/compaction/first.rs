//! A first prompt that is larger than the window: there is nothing to fold yet, so the person decides, with the sizes before
//! them. How it is put to them is `dispatch/offer`.

use ostler_context::transcript::BYTES_PER_TOKEN;
use ostler_state::SessionState;
use ostler_wire::{Body, Entry, Role, Word};

/// Whether the model has not said anything yet, so that nothing can be folded.
pub(super) fn is_unanswered(entries: &[Entry]) -> bool {
    !entries.iter().any(|entry| {
        let message = entry.body.message();
        let is_answer = message.is_some_and(|message| message.role == Role::Assistant);
        is_answer || matches!(entry.body, Body::Compaction(_))
    })
}

/// How large it is, what of it is the person's message, and what can be done.
pub(super) fn describe(state: &SessionState) -> String {
    let language = state.settings.language;
    let (tokens, window) = (state.tokens(), state.conversation.window());
    let entries = state.log.branch();
    let messages = entries.iter().filter_map(|entry| entry.body.message());
    let own = messages.filter(|message| message.role == Role::User);
    let sizes = own.map(|message| {
        let context = message.context.as_ref().map_or(0, String::len);
        (message.text.len() + context) as u64
    });
    let own: u64 = sizes.sum::<u64>() / BYTES_PER_TOKEN;
    let [tokens, own, window_text] = [tokens, own.min(tokens), window].map(|n| n.to_string());
    let model = state.conversation.model.reference();
    match window {
        0 => language.fill(Word::FirstTooLongUnknown, &[&tokens, &own, &model]),
        _ => language.fill(Word::FirstTooLong, &[&tokens, &own, &model, &window_text]),
    }
}
