//! Reads the calls of an answer, before they are stored: each finds its tool, has its arguments read once, and gets the
//! title under which front ends show it.

use crate::cut::clip;
use crate::tool::{Call, MAX_SUBJECT, ToolError};
use crate::tools::{Held, Tools};
use ostler_context::accept;
use ostler_wire::{CallTitle, ToolUse};
use std::sync::Arc;

/// Characters of an unknown tool's name that are shown.
const MAX_NAME_SHOWN: usize = 100;

/// A call of an answer, with its arguments read.
#[derive(Clone)]
pub struct ReadCall {
    pub call: ToolUse,
    /// The tool and the typed call, or why it cannot be made.
    pub typed: Result<(Held, Arc<dyn Call>), ToolError>,
}

pub fn read_call(tools: &Tools, mut call: ToolUse) -> ReadCall {
    let typed = find_and_read(tools, &call);
    if let Ok((tool, typed)) = &typed {
        let subject = typed.subject();
        call.title = Some(CallTitle {
            kind: tool.about().kind,
            verb: tool.about().verb,
            subject: clip(&subject.text, MAX_SUBJECT),
            body: subject.body.map(Into::into),
            result: tool.about().result,
        });
    }
    ReadCall { call, typed }
}

fn find_and_read(tools: &Tools, call: &ToolUse) -> Result<(Held, Arc<dyn Call>), ToolError> {
    let Some(tool) = tools.find(&call.name) else {
        let names: Vec<&str> = tools.names().collect();
        let called: String = call.name.chars().take(MAX_NAME_SHOWN).collect();
        let message = format!("There is no tool `{called}`. Tools: {}.", names.join(", "));
        return Err(ToolError::new("unknown_tool", message));
    };
    if let Some(why) = accept::refusal(call) {
        return Err(ToolError::new("invalid_input", why));
    }
    let typed = tool.read(&call.input.to_value())?;
    Ok((tool, typed))
}
