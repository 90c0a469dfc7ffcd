//! Our own agent in the place of another one, as crate `delegate` asks for it.

use ostler_delegate::activity::{Activity, Watcher};
use ostler_delegate::services::{OwnAgent, OwnAnswer, OwnTask};
use ostler_engine::agents::foreign::{self, OwnAgents};
use ostler_wire::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub struct Own(pub Arc<dyn OwnAgents>);

impl Own {
    async fn work(
        &self,
        task: OwnTask,
        watcher: &Arc<dyn Watcher>,
        cancel: &CancellationToken,
    ) -> Result<OwnAnswer, String> {
        let asked = foreign::OwnTask {
            model: task.model,
            prompt: task.prompt,
            session: task.session,
        };
        let end = self.0.run(asked, cancel.clone()).await?;
        if !end.message.is_empty() {
            watcher.activity(Activity::Message(end.message.clone()));
        }
        Ok(OwnAnswer {
            session: end.session,
            message: end.message,
            // It is in the log of the session already.
            cost: None,
            error: end.error,
        })
    }
}

impl OwnAgent for Own {
    fn run<'a>(
        &'a self,
        task: OwnTask,
        watcher: &'a Arc<dyn Watcher>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OwnAnswer, String>> {
        Box::pin(self.work(task, watcher, cancel))
    }
}
