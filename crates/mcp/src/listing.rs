//! Asking a server what it offers: page by page, cleaned and bounded.

use crate::client::{Connection, wanted_login};
use crate::failure::{ConnectError, Failure, FailureCode, login_hint};
use crate::settings::Server;
use crate::{LeftOut, Lists, PromptInfo, ResourceInfo, ToolInfo, text};
use ostler_wire::{Why, Word};
use rmcp::ServiceError;
use rmcp::model::PaginatedRequestParams;

/// Of one list.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 256;
const MAX_OTHERS: usize = 1_000;
const MAX_DESCRIPTION: usize = 2_048;
const MAX_NAME: usize = 128;
const MAX_URI: usize = 2_048;

impl Connection {
    /// Everything that it offers.
    pub async fn lists(&self, server: &Server) -> Result<Lists, ConnectError> {
        let mut lists = Lists::default();
        self.tools(server, &mut lists).await?;
        let has = self.service.peer_info().map(|info| {
            (
                info.capabilities.prompts.is_some(),
                info.capabilities.resources.is_some(),
            )
        });
        let (prompts, resources) = has.unwrap_or_default();
        // Who cannot list these has none for us.
        if prompts && let Ok(found) = self.prompts().await {
            lists.prompts = found;
        }
        if resources && let Ok(found) = self.resources().await {
            lists.resources = found;
        }
        Ok(lists)
    }

    async fn tools(&self, server: &Server, lists: &mut Lists) -> Result<(), ConnectError> {
        let mut cursor = None;
        let mut seen = Vec::new();
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = match self.service.list_tools(Some(params)).await {
                Ok(page) => page,
                Err(error) => return self.no_tools(error),
            };
            for tool in page.tools {
                if seen.len() == MAX_TOOLS {
                    lists.left_out.push(LeftOut::ToolsAfter(MAX_TOOLS));
                    cursor = None;
                    break;
                }
                if seen.contains(&tool.name) {
                    continue;
                }
                seen.push(tool.name.clone());
                if server.offers(&tool.name) {
                    lists.take(tool);
                }
            }
            let is_full = seen.len() == MAX_TOOLS && !lists.left_out.is_empty();
            match page.next_cursor {
                Some(next) if !is_full && Some(&next) != cursor.as_ref() => cursor = Some(next),
                Some(_) | None => break,
            }
        }
        lists.tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// A server need not have tools.
    fn no_tools(&self, error: ServiceError) -> Result<(), ConnectError> {
        let info = self.service.peer_info();
        let promised = info.is_some_and(|info| info.capabilities.tools.is_some());
        match (error, promised) {
            (ServiceError::McpError(_), false) => Ok(()),
            (error, _) => {
                let challenge = wanted_login(&error);
                let failure = match &challenge {
                    Some(_) => Failure::new(FailureCode::Login, login_hint(&self.name)),
                    None => {
                        let Failure { code, why } = self.failure(error);
                        Failure::new(code, Why::ours(Word::McpNoTools, [why]))
                    }
                };
                Err(ConnectError {
                    challenge,
                    ..ConnectError::finally(failure)
                })
            }
        }
    }

    async fn prompts(&self) -> Result<Vec<PromptInfo>, ServiceError> {
        let mut out = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.service.list_prompts(Some(params)).await?;
            out.extend(page.prompts.into_iter().map(|prompt| {
                let mut arguments = prompt.arguments.unwrap_or_default();
                arguments.sort_by_key(|argument| argument.required != Some(true));
                PromptInfo {
                    required: arguments
                        .iter()
                        .filter(|a| a.required == Some(true))
                        .count(),
                    arguments: arguments.into_iter().map(|a| a.name).collect(),
                    description: text::line(
                        &prompt.description.unwrap_or_default(),
                        MAX_DESCRIPTION,
                    ),
                    name: prompt.name,
                }
            }));
            cursor = page.next_cursor;
            if cursor.is_none() || out.len() > MAX_OTHERS {
                break;
            }
        }
        out.truncate(MAX_OTHERS);
        Ok(out)
    }

    async fn resources(&self) -> Result<Vec<ResourceInfo>, ServiceError> {
        let mut out = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.service.list_resources(Some(params)).await?;
            out.extend(page.resources.into_iter().map(|resource| ResourceInfo {
                description: text::line(&resource.description.unwrap_or_default(), MAX_DESCRIPTION),
                name: text::line(&resource.name, MAX_NAME),
                uri: text::line(&resource.uri, MAX_URI),
            }));
            cursor = page.next_cursor;
            if cursor.is_none() || out.len() > MAX_OTHERS {
                break;
            }
        }
        out.truncate(MAX_OTHERS);
        Ok(out)
    }
}

impl Lists {
    fn take(&mut self, tool: rmcp::model::Tool) {
        let schema = text::schema(&tool.input_schema).unwrap_or_else(|| {
            let name = text::line(&tool.name, MAX_NAME);
            self.left_out.push(LeftOut::Schema(name));
            text::any_object()
        });
        let hints = tool.annotations.unwrap_or_default();
        let about = tool.description.unwrap_or_default();
        let about = match (about.trim(), &tool.title) {
            ("", Some(title)) => title.clone(),
            _ => about.to_string(),
        };
        self.tools.push(ToolInfo {
            name: tool.name.to_string(),
            description: text::cut(&about, MAX_DESCRIPTION),
            schema,
            read_only: hints.read_only_hint == Some(true),
        });
    }
}
