//! The requests of one client: what the server is, its tools, and calls of them.
#![expect(
    deprecated,
    reason = "clients of the revisions before 2026-07-28 have logging"
)]

use super::client::{CallClient, Threshold};
use super::{ToolAnswer, ToolCall, ToolService};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, PingRequest, ProtocolVersion,
    ServerCapabilities, ServerConfig, ServerRequest, SetLevelRequestParams,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Between two signs of life of a client whose connection does not tell that it is gone.
const LOOK: Duration = Duration::from_secs(20);
/// Signs of life that a client may owe.
const MAX_SILENT: u32 = 3;

/// How it is known that a client is gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Its stream ends.
    Stream,
    /// It is asked now and then.
    Asked,
}

pub struct Handler {
    service: Arc<dyn ToolService>,
    threshold: Arc<Threshold>,
    /// The connection is over.
    gone: CancellationToken,
    presence: Presence,
}

impl Handler {
    pub fn new(service: Arc<dyn ToolService>, gone: CancellationToken, presence: Presence) -> Self {
        Self {
            service,
            threshold: Arc::default(),
            gone,
            presence,
        }
    }

    async fn is_lost(&self, peer: &Peer<RoleServer>) {
        match self.presence {
            Presence::Stream => std::future::pending().await,
            Presence::Asked => is_silent(peer).await,
        }
    }
}

/// Ends when the client has not answered for a while.
async fn is_silent(peer: &Peer<RoleServer>) {
    let mut owed = 0;
    while owed < MAX_SILENT {
        tokio::time::sleep(LOOK).await;
        let ping = ServerRequest::PingRequest(PingRequest::default());
        let mut options = PeerRequestOptions::no_options();
        options.timeout = Some(LOOK);
        let answered = match peer.send_request_with_option(ping, options).await {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        owed = match answered {
            // An error is an answer, too.
            Ok(_) | Err(rmcp::ServiceError::McpError(_)) => 0,
            Err(_) => owed + 1,
        };
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let about = self.service.about();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new(about.name, about.version).with_title(about.title),
            )
            .with_instructions(about.instructions)
    }

    /// Those in which a server may ask its client while a call runs.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.threshold.set(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.service.tools().0.clone(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.service.tools().has(&request.name) {
            let why = format!("Unknown tool: {}", request.name);
            return Err(ErrorData::invalid_params(why, None));
        }
        let stop = CancellationToken::new();
        let call = ToolCall {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            client: CallClient::new(&context, self.threshold.clone(), stop.clone()),
        };
        let mut work = std::pin::pin!(self.service.call(call));
        let mut lost = std::pin::pin!(self.is_lost(&context.peer));
        let answer = loop {
            tokio::select! {
                answer = work.as_mut() => break answer,
                () = context.ct.cancelled(), if !stop.is_cancelled() => stop.cancel(),
                () = self.gone.cancelled(), if !stop.is_cancelled() => stop.cancel(),
                () = lost.as_mut(), if !stop.is_cancelled() => stop.cancel(),
            }
        };
        Ok(result(answer).into())
    }
}

fn result(answer: ToolAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = match answer.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = answer.data;
    result
}
