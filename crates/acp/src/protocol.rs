//! The official crate of the protocol, as far as it is used here, and what is sent through it. Another version of the crate
//! is a change of this file and of `agent`.

use crate::backend::{Fault, Refusal};
use crate::flow::Flow;
use agent_client_protocol::{Client, v1};
use std::sync::Arc;

pub use agent_client_protocol::v1::schema;
pub use agent_client_protocol::{Error, ErrorCode};

pub type Connection = v1::ConnectionTo<Client>;
pub type Responder<T> = v1::Responder<T>;

/// Sends to the editor. Cheap to clone.
#[derive(Clone)]
pub struct Editor {
    connection: Connection,
    flow: Arc<Flow>,
}

impl Editor {
    pub fn new(connection: Connection, flow: Arc<Flow>) -> Self {
        Self { connection, flow }
    }

    /// Waits while the editor reads too slowly, so that nothing piles up.
    pub async fn update(&self, session: &schema::SessionId, update: schema::SessionUpdate) {
        self.flow.room().await;
        self.flow.sent();
        let update = schema::SessionNotification::new(session.clone(), update);
        // The editor may be gone; the end of its stream says so.
        let _ = self.connection.send_notification(update);
    }

    pub async fn ask(
        &self,
        request: schema::RequestPermissionRequest,
    ) -> Result<schema::RequestPermissionResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn elicit(
        &self,
        request: schema::CreateElicitationRequest,
    ) -> Result<schema::CreateElicitationResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn read(
        &self,
        request: schema::ReadTextFileRequest,
    ) -> Result<schema::ReadTextFileResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn write(
        &self,
        request: schema::WriteTextFileRequest,
    ) -> Result<schema::WriteTextFileResponse, Error> {
        self.connection.send_request(request).block_task().await
    }
}

impl Editor {
    pub async fn create_terminal(
        &self,
        request: schema::CreateTerminalRequest,
    ) -> Result<schema::CreateTerminalResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn terminal_output(
        &self,
        request: schema::TerminalOutputRequest,
    ) -> Result<schema::TerminalOutputResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn wait_for_terminal(
        &self,
        request: schema::WaitForTerminalExitRequest,
    ) -> Result<schema::WaitForTerminalExitResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn kill_terminal(
        &self,
        request: schema::KillTerminalRequest,
    ) -> Result<schema::KillTerminalResponse, Error> {
        self.connection.send_request(request).block_task().await
    }

    pub async fn release_terminal(
        &self,
        request: schema::ReleaseTerminalRequest,
    ) -> Result<schema::ReleaseTerminalResponse, Error> {
        self.connection.send_request(request).block_task().await
    }
}

/// An error of the protocol with a sentence for the person.
pub fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code, message)
}

pub fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::INVALID_PARAMS, message)
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.kind {
            Fault::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
            Fault::Invalid => ErrorCode::INVALID_PARAMS,
            Fault::Failed => ErrorCode::INTERNAL_ERROR,
        };
        error(code, refusal.message)
    }
}
