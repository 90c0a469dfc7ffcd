//! What a question shows of a call beside its subject: all that a yes would grant. A call that is too long for that is
//! refused instead of being asked about.

use super::Prepared;
use super::permit::{surroundings, unjudged};
use super::subject::subject;
use crate::cut::clip;
use crate::log::LogError;
use crate::tool::ToolError;
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_wire::{Access, Ask, Body, MAX_ASK_BYTES, MAX_ASK_LINES, Notice, PreviewFormat, Word};

/// Characters of a call that was not asked about, where the person reads of it.
const MAX_SUBJECT: usize = 300;

/// The question with what the call would change: the remark about it, the tool's own preview, or its arguments.
pub async fn with_preview(
    state: &SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    ask: Ask,
) -> Ask {
    let is_server = |access: &Access| matches!(access, Access::Mcp { .. });
    let own_format = match prepared.accesses.iter().any(is_server) {
        true => PreviewFormat::Text,
        false => PreviewFormat::Diff,
    };
    let (preview, preview_format) = match &prepared.remark {
        Some(remark) => (Some(remark.clone()), own_format),
        None => match looked_at(state, inbox, prepared).await {
            Some(preview) => (Some(preview), own_format),
            None => (arguments(prepared), PreviewFormat::Text),
        },
    };
    Ask {
        preview,
        preview_format,
        ..ask
    }
}

async fn looked_at(state: &SessionState, inbox: &mut Inbox, prepared: &Prepared) -> Option<String> {
    let cx = unjudged(state, inbox, prepared);
    let looking = prepared.typed.preview(cx);
    let diff = inbox.attend(looking).await.ok()??;
    Some(match diff.is_empty() {
        true => state.settings.language.say(Word::NoChange).into(),
        false => diff,
    })
}

/// The arguments of a call that writes, where there is no diff: the file is too large to be compared, may not be read, or
/// does not fit the edit yet.
fn arguments(prepared: &Prepared) -> Option<String> {
    let writes = |access: &Access| matches!(access, Access::Write(_));
    let runs = |access: &Access| matches!(access, Access::Run(_));
    let has = |wanted: fn(&Access) -> bool| prepared.accesses.iter().any(wanted);
    let text = || serde_json::to_string_pretty(&prepared.args).ok();
    (has(writes) && !has(runs)).then(text).flatten()
}

/// The model is told to take smaller steps, and the person what they were not asked.
pub fn refuse_unshown(
    state: &mut SessionState,
    prepared: &Prepared,
) -> Result<ToolError, LogError> {
    let shown = clip(&subject(prepared, surroundings(state)), MAX_SUBJECT);
    let text = state.settings.language.fill(
        Word::QuestionTooLong,
        &[&shown, &MAX_ASK_LINES.to_string(), &kibibytes()],
    );
    state.commit(vec![Body::Notice(Notice { text })])?;
    Ok(too_long())
}

/// What the model reads.
pub fn too_long() -> ToolError {
    ToolError::new(
        "too_long_to_ask",
        format!(
            "Not run: the person would have to approve more than a question shows ({MAX_ASK_LINES} lines, {} KiB). Do it in smaller steps.",
            kibibytes()
        ),
    )
}

fn kibibytes() -> String {
    (MAX_ASK_BYTES / 1024).to_string()
}
