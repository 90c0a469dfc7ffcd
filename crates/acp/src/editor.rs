//! Files as the editor has them, over its methods of the protocol.

use crate::backend::EditorFiles;
use crate::protocol::{Editor, schema as s};
use ostler_wire::BoxFuture;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// How long the editor may take for a file.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct OpenFiles {
    editor: Editor,
    /// Known once the session is open.
    session: OnceLock<s::SessionId>,
    can: s::FileSystemCapabilities,
}

impl OpenFiles {
    pub fn new(editor: Editor, can: s::FileSystemCapabilities) -> Self {
        Self {
            editor,
            session: OnceLock::new(),
            can,
        }
    }

    pub fn belong_to(&self, session: s::SessionId) {
        let _ = self.session.set(session);
    }
}

impl EditorFiles for OpenFiles {
    fn reads(&self) -> bool {
        self.can.read_text_file && self.session.get().is_some()
    }

    fn writes(&self) -> bool {
        self.can.write_text_file && self.session.get().is_some()
    }

    fn read(&self, path: PathBuf) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let session = self.session.get().filter(|_| self.reads())?;
            let request = s::ReadTextFileRequest::new(session.clone(), path);
            let read = tokio::time::timeout(PATIENCE, self.editor.read(request)).await;
            Some(read.ok()?.ok()?.content)
        })
    }

    fn write(&self, path: PathBuf, text: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let Some(session) = self.session.get() else {
                return Err(String::new());
            };
            let request = s::WriteTextFileRequest::new(session.clone(), path, text);
            match tokio::time::timeout(PATIENCE, self.editor.write(request)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.message),
                Err(_) => Err("timeout".into()),
            }
        })
    }
}
