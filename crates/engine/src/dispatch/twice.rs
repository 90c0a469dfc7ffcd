//! Calls of one answer that repeat an earlier one of it. Models send the same change of a file twice by mistake; it is made
//! once, and the second result says so. Commands and calls of servers can be meant twice.

use super::{Prepared, changes};
use crate::tool::ToolError;
use ostler_wire::{Access, ToolMark};
use serde_json::Value;

/// The code of the result of a call that was made already.
pub(super) const CODE: &str = "repeated_call";

/// The changes of files that an answer has asked for, and that nothing after them may have undone.
#[derive(Default)]
pub(super) struct MadeCalls {
    made: Vec<MadeCall>,
}

struct MadeCall {
    tool: String,
    /// It says what a whole file is, whatever was there.
    replaces: bool,
    args: Value,
    accesses: Vec<Access>,
}

impl MadeCalls {
    /// Takes note of a call. The error is what the model reads of one that stands in the answer already.
    pub(super) fn note(&mut self, prepared: &Prepared) -> Result<(), ToolError> {
        let tool = prepared.tool.name();
        let is_same = |made: &MadeCall| made.tool == tool && made.args == prepared.args;
        let about = prepared.tool.about();
        let is_once = about.has(ToolMark::OncePerAnswer);
        let replaces = about.has(ToolMark::ReplacesWhole);
        if is_once && self.made.iter().any(is_same) {
            return Err(ToolError::new(
                CODE,
                "This is the same call as an earlier one of this answer, so it was made once: see the result of that one.",
            ));
        }
        for access in prepared.accesses.iter().filter(|access| changes(access)) {
            // Several edits of one file stand beside each other.
            self.forget(access, |made| replaces || made.replaces || !is_once);
        }
        if is_once {
            self.made.push(MadeCall {
                tool: tool.to_owned(),
                replaces,
                args: prepared.args.clone(),
                accesses: prepared.accesses.clone(),
            });
        }
        Ok(())
    }

    /// What another call may have changed may be meant to be made anew.
    fn forget(&mut self, access: &Access, undoes: impl Fn(&MadeCall) -> bool) {
        match access {
            Access::Write(path) => self.made.retain(|made| {
                !undoes(made)
                    || !made.accesses.iter().any(|access| match access {
                        Access::Write(other) => path.starts_with(other) || other.starts_with(path),
                        Access::Read(_)
                        | Access::Net(_)
                        | Access::Job(_)
                        | Access::History
                        | Access::Run(_)
                        | Access::Mcp { .. }
                        | Access::Delegate { .. }
                        | Access::Memory => false,
                    })
            }),
            Access::Run(_) | Access::Mcp { .. } | Access::Delegate { .. } => self.made.clear(),
            Access::Read(_)
            | Access::Net(_)
            | Access::Job(_)
            | Access::History
            | Access::Memory => {}
        }
    }
}
