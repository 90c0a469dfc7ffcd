//! The roles that other agents play in a folder, and what their programs may do there. A call is judged as the same call of
//! our own agent would be: by rules, posture, mode and the tools that the server has.

use super::books::Books;
use super::folders::Place;
use super::ground::Ground;
use super::task::depth;
use crate::flags::Mode;
use ostler_config::three;
use ostler_delegate::Delegation;
use ostler_delegate::activity::{PermissionAnswer, PermissionRequest, ToolKind};
use ostler_delegate::services::Defaults;
use ostler_delegate::setup::{Allowance, Capabilities, Filesystem, Setup};
use ostler_engine::agents::foreign::ForeignLauncher;
use ostler_engine::tools::declarations;
use ostler_guard::{Call, Decision, Headless, Policy, Posture, Scope, Verdict};
use ostler_mcp::server::{CallClient, Question, QuestionReply};
use ostler_wire::{Access, ToolMark, visible};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The choice that lets a role be called.
const YES: &str = "yes";
const NO: &str = "no";

/// For one call.
pub struct Team {
    pub delegation: Delegation,
    pub rights: Rights,
    pub books: Books,
    launcher: Arc<ForeignLauncher>,
    policy: Arc<Policy>,
    scope: Scope,
    /// The server was started to look and plan.
    only_looks: bool,
    /// Whether its tools are those that may have others work.
    has_tool: bool,
}

/// What a call would have roles do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Tasks,
    /// Nobody changes anything at a round table.
    Talk,
}

/// What is answered to agents that ask before they do something.
#[derive(Clone)]
pub struct Rights {
    setup: Arc<Setup>,
    /// Where the client asks nobody.
    unattended: Unattended,
    is_free: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unattended {
    /// The sandbox holds it.
    Allow,
    Refuse,
}

impl Team {
    /// Of a folder as it is now. `session`: under which it is counted.
    pub fn new(ground: &Ground, place: &Place, session: &str) -> Self {
        let boot = &ground.boot;
        let services = ground.services();
        let launcher = ForeignLauncher::new(services, ground.granted.clone(), ground.approval);
        let launcher = Arc::new(launcher);
        let policy = ground.policy.clone();
        let defaults = Defaults {
            cwd: place.folder.clone(),
            client: three::client(&boot.env).map(str::to_owned),
            conversation_id: boot.env.get(three::CONVERSATION).cloned(),
            depth: depth(boot),
        };
        let agents = &ground.agents;
        let (delegation, setup) = agents.for_call(&ground.roles, launcher.clone(), defaults);
        let rights = Rights {
            setup: Arc::new(setup),
            unattended: match policy.headless {
                Headless::Allow | Headless::Sandbox => Unattended::Allow,
                Headless::Deny => Unattended::Refuse,
            },
            is_free: policy.posture == Posture::Yolo,
        };
        let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
        Self {
            delegation,
            rights,
            books: Books::new(boot, session),
            launcher,
            policy,
            scope,
            only_looks: boot.global.mode == Some(Mode::Plan),
            has_tool: ground.has_tool,
        }
    }

    /// Why one of the roles may not be called, by the tools, the mode, the rules and the budget. What has to be asked is put
    /// to the person.
    pub async fn refuse(&self, roles: &[&str], work: Work, client: &CallClient) -> Option<String> {
        if !self.has_tool {
            return Some("This server was started without the tool that has other agents work (--allowed-tools, [tools]).".into());
        }
        for role in roles {
            if let Some(why) = self.books.breach(role) {
                return Some(why);
            }
            let writes = work == Work::Tasks && self.rights.writes(role);
            if writes && self.only_looks {
                return Some(format!(
                    "The server was started with `--mode plan`, and the role {role} may change files. Call a role with filesystem = \"read-only\", or `roundtable`."
                ));
            }
            let Some(decision) = self.decide(role, writes) else {
                continue;
            };
            let rule = decision.rule.unwrap_or_default();
            match decision.verdict {
                Verdict::Allow => {}
                Verdict::Deny if rule.is_empty() => {
                    return Some(format!(
                        "The settings of permissions forbid the role {role}."
                    ));
                }
                Verdict::Deny => return Some(format!("The rule {rule} forbids the role {role}.")),
                Verdict::Ask if client.can_ask() => {
                    let asked = match rule.is_empty() {
                        true => String::new(),
                        false => format!(" The rule {rule} asks."),
                    };
                    if !said_yes(role, writes, &asked, client).await {
                        return Some(format!("The person did not let the role {role} work."));
                    }
                }
                // The sandbox holds what it does, as in any run that nobody attends.
                Verdict::Ask if rule.is_empty() && self.policy.headless != Headless::Deny => {}
                Verdict::Ask => {
                    return Some(format!(
                        "The role {role} needs the person's yes, and this client cannot ask. The rule Delegate({role}) allows it."
                    ));
                }
            }
        }
        None
    }

    fn decide(&self, role: &str, writes: bool) -> Option<Decision> {
        let tool = declarations().find(|about| about.has(ToolMark::NeedsBackends))?;
        let accesses = [Access::Delegate {
            role: role.to_owned(),
            read_only: !writes,
        }];
        Some(self.policy.decide(Call {
            tool,
            accesses: &accesses,
            scope: &self.scope,
            resolved: &[],
        }))
    }

    /// To be called when all programs are gone: what was put back.
    pub async fn end(self) -> Vec<String> {
        self.launcher.end().await
    }
}

async fn said_yes(role: &str, writes: bool, asked: &str, client: &CallClient) -> bool {
    let may = match writes {
        true => "It may change files here and run commands, in the sandbox.",
        false => "It changes nothing here.",
    };
    let question = Question {
        message: visible(&format!("Have the role {role} work? {may}{asked}")),
        schema: json!({
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": [YES, NO]}},
            "required": ["choice"],
        }),
    };
    match client.ask(question).await {
        QuestionReply::Accept(fields) => fields.get("choice").is_some_and(|choice| choice == YES),
        QuestionReply::Decline | QuestionReply::Cancel | QuestionReply::Failed(_) => false,
    }
}

impl Rights {
    /// Whether a role may change files. One that is not known fails later, by its name.
    fn writes(&self, role: &str) -> bool {
        let role = self.setup.roles.get(role);
        role.is_some_and(|role| role.capabilities.filesystem == Filesystem::ReadWrite)
    }

    /// Decides about something that an agent asks for.
    pub async fn decide(
        &self,
        request: PermissionRequest,
        client: &CallClient,
    ) -> PermissionAnswer {
        let role = self.setup.roles.get(&request.role);
        let may = role.is_none_or(|role| admits(&role.capabilities, request.tool.kind));
        match (may, self.is_free, client.can_ask()) {
            (false, _, _) => PermissionAnswer::Reject,
            (true, true, _) => PermissionAnswer::Allow,
            (true, false, true) => ask(&request, client).await,
            (true, false, false) => match self.unattended {
                Unattended::Allow => PermissionAnswer::Allow,
                Unattended::Refuse => PermissionAnswer::Reject,
            },
        }
    }
}

fn admits(capabilities: &Capabilities, kind: ToolKind) -> bool {
    match kind {
        ToolKind::Edit => capabilities.filesystem == Filesystem::ReadWrite,
        ToolKind::Execute => capabilities.shell == Allowance::Allow,
        ToolKind::Fetch => capabilities.network == Allowance::Allow,
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Other => true,
    }
}

async fn ask(request: &PermissionRequest, client: &CallClient) -> PermissionAnswer {
    let ids: Vec<&str> = request.options.iter().map(|one| one.id.as_str()).collect();
    let labels = request.options.iter().map(|one| one.label.as_str());
    let labels: Vec<&str> = labels.collect();
    let paths = request.tool.paths.iter();
    let paths: Vec<String> = paths
        .map(|path: &PathBuf| path.display().to_string())
        .collect();
    let parts = [
        format!("{} ({}) wants:", request.role, request.backend),
        request.tool.title.clone(),
        paths.join("\n"),
        request.preview.clone(),
    ];
    let parts = parts.iter().filter(|part| !part.is_empty());
    let message: Vec<String> = parts.map(|part| visible(part)).collect();
    let question = Question {
        message: message.join("\n\n"),
        schema: json!({
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": ids, "enumNames": labels}},
            "required": ["choice"],
        }),
    };
    match client.ask(question).await {
        QuestionReply::Accept(fields) => {
            let choice = fields.get("choice").and_then(|choice| choice.as_str());
            match choice.filter(|choice| ids.contains(choice)) {
                Some(choice) => PermissionAnswer::Chosen(choice.to_owned()),
                None => PermissionAnswer::Reject,
            }
        }
        QuestionReply::Decline => PermissionAnswer::Reject,
        QuestionReply::Cancel | QuestionReply::Failed(_) => PermissionAnswer::Cancelled,
    }
}
