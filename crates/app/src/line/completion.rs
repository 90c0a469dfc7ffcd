//! What can follow `@` in plain lines: a line that ends with `@…` and a tab is no prompt, but asks for the names.

use super::{Busy, Talk};
use ostler_wire::{CompletionRequest, Op};

/// What a line asks for, if it is such a line.
pub fn completion_of(line: &str) -> Option<CompletionRequest> {
    let typed = line.trim_end_matches(' ').strip_suffix('\t')?;
    let word = typed.rsplit(char::is_whitespace).next()?;
    Some(CompletionRequest::of(word.strip_prefix('@')?))
}

impl Talk {
    pub(super) async fn complete(&mut self, request: CompletionRequest) -> anyhow::Result<()> {
        let op = Op::Complete(request);
        match self.busy {
            Busy::Idle => {
                self.shown.sign = false;
                self.send_and_wait(op).await
            }
            Busy::Turn | Busy::Command { .. } | Busy::Own(_) => self.send(op).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_behind_a_mention_asks_for_names() {
        for (line, expect) in [
            ("look at @src/m\t", Some("src/m")),
            ("@\t", Some("")),
            ("@src\t ", Some("src")),
            ("look at src\t", None),
            ("a@b\t", None),
            ("@src", None),
            ("\t", None),
        ] {
            let found = completion_of(line).map(|request| request.text);
            assert_eq!(found.as_deref(), expect, "{line:?}");
        }
    }
}
