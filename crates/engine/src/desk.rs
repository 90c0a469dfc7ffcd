//! What a turn works on: the log and its feed, the conversation, the tools and the policy. One owner, no locks.

use crate::artifacts::Artifacts;
use crate::conversation::{Conversation, Sent};
use crate::feed::Feed;
use crate::hub::RuleNews;
use crate::jobs::Jobs;
use crate::ledger::{Ledger, Line};
use crate::log::{Log, LogError};
use crate::policy::{Call, Decision, Guard, Policy, Verdict};
use crate::resolve;
use crate::seen::Seen;
use crate::tool::{Context, Scope, ToolSettings};
use crate::tools::Tools;
use ostler_host::Host;
use ostler_llm::TokenUsage;
use ostler_wire::{Access, Body, Entry, Usage};
use std::collections::HashSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub struct Desk {
    pub log: Log,
    pub feed: Feed,
    pub conversation: Conversation,
    pub tools: Tools,
    pub policy: Arc<Policy>,
    pub scope: Arc<Scope>,
    pub shop: Shop,
    /// Somebody is attached who can answer asks.
    pub interactive: bool,
    /// 0 = no limit.
    pub max_steps: u64,
    /// Call ids of the session.
    pub used_ids: HashSet<String>,
    /// What the person allowed for the session.
    pub grants: Vec<Grant>,
    pub account: Account,
}

/// What tools work with.
pub struct Shop {
    pub host: Arc<dyn Host>,
    pub settings: Arc<ToolSettings>,
    pub artifacts: Artifacts,
    pub seen: Arc<Seen>,
    pub jobs: Arc<Jobs>,
}

/// Under which names requests are written into the ledger.
pub struct Account {
    pub ledger: Option<Ledger>,
    pub session: String,
    pub project: String,
}

/// A scope that was granted once: all editing, one exact command with all it does, or one exact host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    Editing,
    Exactly(Access),
    Call(Vec<Access>),
}

impl Desk {
    /// Stores, folds and shows. Nothing is shown that is not on disk.
    pub fn commit(&mut self, bodies: Vec<Body>) -> Result<(), LogError> {
        self.commit_after(Vec::new(), bodies)
    }

    /// The same in one write with a copied past, which is not shown: it happened in another session.
    pub fn commit_after(&mut self, past: Vec<Body>, bodies: Vec<Body>) -> Result<(), LogError> {
        let copied = past.len();
        let all = past.into_iter().chain(bodies).collect();
        for (n, entry) in self.log.append(all)?.into_iter().enumerate() {
            if n < copied {
                self.replay(&entry);
                continue;
            }
            self.conversation.push(&entry);
            self.remember(&entry.body);
            self.feed.entry(entry);
        }
        Ok(())
    }

    /// Takes in an entry of the past.
    pub fn replay(&mut self, entry: &Entry) {
        self.conversation.replay(entry);
        self.remember(&entry.body);
    }

    /// Call ids and file states that the session has seen.
    fn remember(&mut self, body: &Body) {
        if let Body::ToolUse(call) = body {
            self.used_ids.insert(call.id.clone());
        }
        if let Body::ToolResult(result) = body
            && result.output.get().contains("\"hash\":\"")
        {
            let output = result.output.to_value();
            let text = |key| {
                output
                    .get("data")
                    .and_then(|d| d.get(key))
                    .and_then(|v| v.as_str())
            };
            if let (Some(path), Some(hash)) = (text("path"), text("hash")) {
                self.shop.seen.note(path.as_ref(), hash);
            }
        }
    }

    pub fn context(&self, call_id: &str, tool: &'static str, cancel: CancellationToken) -> Context {
        Context {
            call_id: call_id.to_owned(),
            tool,
            scope: self.scope.clone(),
            host: self.shop.host.clone(),
            settings: self.shop.settings.clone(),
            cancel,
            feed: self.feed.clone(),
            artifacts: self.shop.artifacts.clone(),
            seen: self.shop.seen.clone(),
            jobs: self.shop.jobs.clone(),
            guard: Guard {
                policy: self.policy.clone(),
                scope: self.scope.clone(),
                tool,
                attended: self.interactive,
            },
            terms: Arc::default(),
            answer: None,
        }
    }

    /// More rules to keep to. What was granted before gives way to them, as it does to all.
    pub fn tighten(&mut self, news: RuleNews) {
        let policy = Arc::make_mut(&mut self.policy);
        policy.rules.deny.extend(news.deny);
        policy.rules.ask.extend(news.ask);
    }

    pub async fn decide(&self, tool: &str, accesses: &[Access]) -> Decision {
        let resolved = match self.policy.rules.are_about_paths() {
            true => {
                let (host, rules) = (self.shop.host.as_ref(), &self.policy.rules);
                resolve::resolved(host, accesses, rules, &self.scope).await
            }
            false => Vec::new(),
        };
        let mut decision = self.policy.decide(Call {
            tool,
            accesses,
            scope: &self.scope,
            resolved: &resolved,
        });
        if decision.verdict == Verdict::Ask && self.is_granted(accesses) {
            decision.verdict = Verdict::Allow;
        }
        decision
    }

    /// The person allowed this scope for the session.
    pub fn grant(&mut self, accesses: &[Access]) {
        if accesses.iter().any(|a| matches!(a, Access::Run(_))) {
            return self.grants.push(Grant::Call(accesses.to_vec()));
        }
        for access in accesses.iter().filter(|a| a.needs_permission()) {
            self.grants.push(match access {
                Access::Write(_) => Grant::Editing,
                Access::Read(_)
                | Access::Run(_)
                | Access::Net(_)
                | Access::Mcp { .. }
                | Access::Job(_)
                | Access::Delegate(_)
                | Access::Memory => Grant::Exactly(access.clone()),
            });
        }
    }

    /// The usage entry of a request, and its line in the ledger.
    pub fn usage(&self, tokens: &TokenUsage, sent: &Sent) -> Usage {
        let target = self.conversation.model.target();
        Usage {
            provider: target.origin.provider.clone(),
            model: target.origin.model.clone(),
            input: tokens.input,
            cached: tokens.cached,
            cache_write: tokens.cache_write,
            output: tokens.output,
            cost: target.price.map(|price| price.of(tokens)),
            prompt_bytes: sent.measure.bytes,
            shared_bytes: sent.shared,
            prompt_hash: sent.measure.hash.clone(),
            broke: sent.broke.clone(),
        }
    }

    /// A ledger that cannot be written must not stop the work; `doctor` looks at it.
    pub fn book(&self, usage: &Usage) {
        if let Some(ledger) = &self.account.ledger {
            let _ = ledger.add(&Line {
                ts: crate::log::now(),
                session: self.account.session.clone(),
                project: self.account.project.clone(),
                role: "main".into(),
                tokens: usage.into(),
            });
        }
    }

    fn is_granted(&self, accesses: &[Access]) -> bool {
        let whole = |grant: &Grant| matches!(grant, Grant::Call(granted) if granted == accesses);
        if self.grants.iter().any(whole) {
            return true;
        }
        accesses
            .iter()
            .filter(|a| a.needs_permission())
            .all(|access| {
                self.grants.iter().any(|grant| match grant {
                    Grant::Editing => matches!(access, Access::Write(_)),
                    Grant::Exactly(granted) => granted == access,
                    Grant::Call(_) => false,
                })
            })
    }
}
