//! The tools that clients see, and who carries a call of each out.

use super::delegation::Delegations;
use super::folders::Folders;
use super::ground::Grounds;
use super::task::{self, TaskArguments};
use crate::boot::Boot;
use anyhow::Context as _;
use futures_util::future::BoxFuture;
use ostler_mcp::server::{ServerAbout, ToolAnswer, ToolCall, ToolService, ToolTable};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const TABLE: &str = include_str!("tools.json");
const INSTRUCTIONS: &str = include_str!("instructions.md");
/// Tasks at one time; more are refused.
const MAX_TASKS: u32 = 32;
/// How long tasks that were stopped may take to end.
const CLOSING: Duration = Duration::from_secs(8);

/// The field of `Named`.
const NAME: &str = "tool";

/// A tool by the name that clients call.
#[derive(Deserialize)]
struct Named {
    tool: Offered,
}

/// The tools of the table.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Offered {
    Ostler,
    Three,
    Batch,
    Roundtable,
    RoundtableBatch,
    Info,
}

pub struct Tools {
    boot: Arc<Boot>,
    folders: Folders,
    table: ToolTable,
    room: Semaphore,
    grounds: Grounds,
    /// Under which the work of other agents is counted.
    session: String,
}

impl Tools {
    pub fn new(boot: Arc<Boot>, folders: Folders) -> anyhow::Result<Self> {
        Ok(Self {
            boot,
            folders,
            table: ToolTable::parse(TABLE).context("tools.json")?,
            room: Semaphore::new(MAX_TASKS as usize),
            grounds: Grounds::default(),
            session: uuid::Uuid::new_v4().to_string(),
        })
    }

    /// Waits until the tasks, which were stopped, have ended.
    pub async fn close(&self) {
        // Leaving must not hang on work that does not want to end; the watchdog sees to its processes.
        let _ = tokio::time::timeout(CLOSING, self.room.acquire_many(MAX_TASKS)).await;
        self.room.close();
    }

    async fn answer(&self, call: ToolCall) -> ToolAnswer {
        let Ok(_permit) = self.room.try_acquire() else {
            return ToolAnswer::error(format!(
                "{MAX_TASKS} tasks are under way. Wait until one has ended."
            ));
        };
        let ToolCall {
            tool,
            arguments,
            client,
        } = call;
        let others = Delegations {
            boot: &self.boot,
            folders: &self.folders,
            client: &client,
            grounds: &self.grounds,
            session: &self.session,
        };
        let answered = match parsed::<Named>(Map::from_iter([(NAME.into(), tool.into())])) {
            Ok(Named { tool }) => match tool {
                Offered::Ostler => match parsed::<TaskArguments>(arguments) {
                    Ok(task) => Ok(task::run(&self.boot, &self.folders, task, &client).await),
                    Err(why) => Err(why),
                },
                Offered::Three => match parsed(arguments) {
                    Ok(request) => Ok(others.three(request).await),
                    Err(why) => Err(why),
                },
                Offered::Batch | Offered::RoundtableBatch => match parsed(arguments) {
                    Ok(request) => Ok(others.batch(request).await),
                    Err(why) => Err(why),
                },
                Offered::Roundtable => match parsed(arguments) {
                    Ok(request) => Ok(others.roundtable(request).await),
                    Err(why) => Err(why),
                },
                Offered::Info => match parsed(arguments) {
                    Ok(request) => Ok(others.info(request).await),
                    Err(why) => Err(why),
                },
            },
            Err(why) => Err(why),
        };
        answered.unwrap_or_else(ToolAnswer::error)
    }
}

/// The arguments of a call. The error is for the model of the client.
fn parsed<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    let parsed = serde_json::from_value(Value::Object(arguments));
    parsed.map_err(|error| format!("Invalid arguments: {error}"))
}

impl ToolService for Tools {
    fn about(&self) -> ServerAbout {
        ServerAbout {
            name: "ostler".into(),
            title: "Ostler".into(),
            version: crate::VERSION.into(),
            instructions: INSTRUCTIONS.trim().into(),
        }
    }

    fn tools(&self) -> &ToolTable {
        &self.table
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolAnswer> {
        Box::pin(self.answer(call))
    }
}
