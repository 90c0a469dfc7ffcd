//! Sessions for editors: a front end on clients of `wire` that speaks the Agent Client Protocol over two streams of bytes.
//! What is behind it is a `Backend`, which the binary implements; this crate opens no file and knows no engine.

mod agent;
mod asks;
pub mod backend;
mod calls;
mod choices;
mod diff;
mod editor;
mod flow;
mod prompt;
mod protocol;
mod session;
mod terminal;
mod transport;
mod turn;
mod updates;

use backend::Backend;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves until the editor closes its end.
pub async fn serve(
    input: impl AsyncRead + Send + Sync + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    backend: Arc<dyn Backend>,
) {
    agent::serve(input, output, backend).await;
}
