//! What the file tools share: bounded reading and confined writing through the host, and the sentences for what can go
//! wrong. The pure parts are the modules below.

pub mod cells;
pub mod diff;
pub mod edits;
mod faults;
mod indent;
pub mod nearest;
pub mod picture;
pub mod replace;
pub mod rewrite;
pub mod scan;
pub mod window;

pub use faults::{Fault, Faults};

use crate::tool::{Context, Scope, ToolError};
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

pub async fn read(cx: &Context, path: &Path, span: Span) -> Result<Content, Fault> {
    answered(cx.host.read(path, span)).await
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
        Err(e) => Err(ToolError::new("read_error", format!("The work on this file failed: {e}."))),
    }
}
