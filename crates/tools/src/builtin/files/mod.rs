//! What the file tools share: bounded reading and confined writing through the host, and the sentences for what can go
//! wrong. The pure parts are the modules below.

mod blanks;
pub mod cells;
pub mod edits;
mod faults;
mod indent;
pub mod nearest;
pub mod picture;
mod placed;
pub mod replace;
pub mod rewrite;
pub mod scan;
pub mod window;

pub use faults::{Fault, Faults};
pub use ostler_host::diff;

use crate::tool::{Context, FileServices, Scope, ToolError};
use ostler_host::{Content, Span};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file system that does not answer within this time is given up.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Work on more bytes than this leaves the runtime's thread.
const INLINE: usize = 128 * 1024;

/// The absolute path a call names.
pub fn resolve(scope: &Scope, path: &str) -> Result<PathBuf, ToolError> {
    match path.trim().is_empty() {
        true => Err(ToolError::new("invalid_input", "The path is empty.")),
        false => Ok(scope.path(path)),
    }
}

/// Reads part of a file, if it really lies where the call may read.
pub async fn read(cx: &Context<FileServices>, path: &Path, span: Span) -> Result<Content, Fault> {
    answered(cx.host.read(path, span, &cx.guard.border)).await
}

/// What the host answers, if it does in time.
pub async fn answered<T>(work: ostler_host::Fut<'_, T>) -> Result<T, Fault> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(answer) => answer.map_err(Fault::Host),
        Err(_) => Err(Fault::Timeout),
    }
}

/// Pure work on `bytes` many bytes, where it keeps nobody waiting.
pub async fn compute<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if bytes <= INLINE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(e) => Err(ToolError::new(
            "read_error",
            format!("The work on this file failed: {e}."),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::builtin::delete_range::DeleteRange;
    use crate::builtin::delete_symbol::DeleteSymbol;
    use crate::builtin::edit_file::EditFile;
    use crate::builtin::move_file::MoveFile;
    use crate::builtin::multi_edit::MultiEdit;
    use crate::builtin::notebook_edit::NotebookEdit;
    use crate::builtin::read_file::ReadFile;
    use crate::builtin::write_file::WriteFile;
    use crate::tool::Tool;

    /// What one tool may cost in every request, in bytes.
    const MAX_SPEC: usize = 420;

    #[test]
    fn what_the_model_is_told_of_the_file_tools_is_short() {
        let tools: [&dyn Tool; 8] = [
            &DeleteRange,
            &DeleteSymbol,
            &EditFile,
            &MoveFile,
            &MultiEdit,
            &NotebookEdit,
            &ReadFile,
            &WriteFile,
        ];
        let mut all = String::new();
        for tool in tools {
            let spec = tool.spec();
            let text = format!(
                "{} {}\n{}\n",
                spec.name,
                spec.description,
                spec.parameters.get()
            );
            assert!(text.len() <= MAX_SPEC, "{}: {text}", text.len());
            all.push_str(&text);
        }
        insta::assert_snapshot!(all, @r#"
        delete_range Delete whole lines: from the line that reads start_anchor to the line that reads end_anchor, both included. Each must be the full text of a line that occurs once.
        {"type":"object","properties":{"path":{"type":"string"},"start_anchor":{"type":"string"},"end_anchor":{"type":"string"}},"required":["path","start_anchor","end_anchor"]}
        delete_symbol Delete a function, method (Type.name), type or constant with its comments and attributes.
        {"type":"object","properties":{"path":{"type":"string"},"symbol":{"type":"string"}},"required":["path","symbol"]}
        edit_file Replace text in a file. Copy `old` exactly as it stands there, indentation included, with enough lines around it to occur once; or set expected_replacements to replace all of that many.
        {"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"expected_replacements":{"type":"integer","default":1}},"required":["path","old","new"]}
        move_file Move or rename a file or folder; makes the folders above the destination. One that ends in / is a folder to move into.
        {"type":"object","properties":{"source_path":{"type":"string"},"destination_path":{"type":"string"},"overwrite":{"type":"boolean"}},"required":["source_path","destination_path"]}
        multi_edit Several edits of one file, as in edit_file. Each sees the one before; if one fails, none is made.
        {"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"expected_replacements":{"type":"integer","default":1}},"required":["old","new"]}}},"required":["path","edits"]}
        notebook_edit Edit one cell of a .ipynb notebook and clear its outputs.
        {"type":"object","properties":{"path":{"type":"string"},"cell":{"type":"string","description":"Index from 0, or id; to insert: the new index, or the id to follow"},"mode":{"type":"string","enum":["replace","insert","delete"]},"source":{"type":"string"},"cell_type":{"type":"string","enum":["code","markdown","raw"]}},"required":["path"]}
        read_file Read a text file or image. At most 50 KB at once; go on with offset.
        {"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"First line, from 1"},"limit":{"type":"integer"}},"required":["path"]}
        write_file Write a whole file, new or over the old one; makes its folders. To change part of a file use edit_file.
        {"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}
        "#);
    }
}
