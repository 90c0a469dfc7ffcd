//! What the rules say to a call, with the mode, and with what the person allowed for the session.

use crate::SessionState;
use ostler_context::digest::archive;
use ostler_context::interfaces::RuleNews;
use ostler_guard::{
    Call, Decision, Gate, Guard, Mode, Planned, Posture, Rule, Verdict, gate, needs_a_fresh_yes,
    resolve,
};
use ostler_host::real_path;
use ostler_sources::skills::Skill;
use ostler_sources::templates::Template;
use ostler_store::log::LogError;
use ostler_tools::tool::Tool;
use ostler_wire::{Access, Body, Notice, Say as _, ToolDeclaration, ToolKind, Word};
use std::sync::Arc;
use std::time::Instant;

/// Stands for every tool of which no rule speaks by name.
static NO_TOOL: ToolDeclaration = ToolDeclaration::new("", ToolKind::Other);

impl SessionState {
    /// Lets the session read what it keeps for itself: its artifacts, and the originals of what was folded.
    pub fn open_own_files(&mut self) {
        let folders = &mut Arc::make_mut(&mut self.policy).folders;
        folders
            .inside
            .push(real_path(self.services.artifacts.dir()));
        // As it was made: by now a command may have put a link in its place.
        folders.inside.extend(self.scope.temp.clone());
        if let Some(home) = &self.settings.folding.archive {
            let session = &self.account.session;
            folders.own.push(archive::own_files(home, session));
        }
        self.offer_names();
    }

    /// The rules are others: what clients are offered behind `@` follows them.
    pub fn offer_names(&self) {
        let border = self.policy.offered_border(&self.scope);
        self.settings.offered.set(border);
    }

    /// The rules as they bind a call of this tool.
    pub fn guard(&self, tool: &ToolDeclaration) -> Guard {
        Guard {
            policy: self.policy.clone(),
            scope: self.scope.clone(),
            tool: Arc::new(tool.clone()),
            posture: match self.permissions.mode {
                // Nothing answers for the person while a plan is made.
                Mode::Plan => Posture::Ask,
                Mode::Normal | Mode::Goal => self.permissions.posture(tool, Instant::now()),
            },
            attended: self.settings.interactive,
            border: Arc::default(),
            opened: Vec::new(),
        }
        .bounded(&self.permissions.reads)
    }

    /// More rules to keep to. What was granted before gives way to them, as it does to all.
    pub fn tighten(&mut self, news: RuleNews) {
        let policy = Arc::make_mut(&mut self.policy);
        policy.rules.deny.extend(news.deny);
        policy.rules.ask.extend(news.ask);
        self.offer_names();
    }

    /// Whether the mode lets such a call through to the rules.
    pub fn gate(&self, tool: &dyn Tool, accesses: &[Access]) -> Gate {
        let plans = self.permissions.mode == Mode::Plan;
        if !plans && !self.permissions.read_only {
            return Gate::Open;
        }
        let gate = gate(Planned {
            tool: tool.about(),
            accesses,
            trusted: &self.permissions.trusted,
        });
        // Who only reads may look at the web as others may.
        match gate {
            Gate::Ask if !plans => Gate::Open,
            gate => gate,
        }
    }

    /// What the rules say, and what the person said before.
    pub async fn decide(
        &self,
        tool: &ToolDeclaration,
        accesses: &[Access],
        gate: Gate,
    ) -> Decision {
        let host = self.services.host.as_ref();
        let resolved = resolve::resolved(host, accesses, &self.policy, &self.scope).await;
        let call = Call {
            tool,
            accesses,
            scope: &self.scope,
            resolved: &resolved,
        };
        let posture = self.permissions.posture(tool, Instant::now());
        let mut decision = self.policy.decide_in(posture, call);
        let by_rule = decision.rule.is_some();
        if gate == Gate::Ask && decision.verdict == Verdict::Allow && !by_rule {
            decision.verdict = Verdict::Ask;
            decision.reason = Word::WhyLeaves;
        }
        if decision.verdict == Verdict::Ask
            && !needs_a_fresh_yes(accesses)
            && self.is_granted(accesses, &decision)
        {
            decision.verdict = Verdict::Allow;
            decision.reason = Word::WhySession;
        }
        decision
    }

    /// Whether the person has said yes to this before. A protected path takes a yes to that very path.
    fn is_granted(&self, accesses: &[Access], decision: &Decision) -> bool {
        let rule = match decision.only_person {
            true => Some("protected"),
            false => decision.rule.as_deref(),
        };
        let only_reads = !accesses.iter().any(Access::needs_permission);
        let only_asked_for_reads = rule.is_none() && only_reads && !decision.outside.is_empty();
        let opened = only_asked_for_reads && {
            let border = self.guard(&NO_TOOL).border;
            let mut outside = decision.outside.iter();
            outside.all(|path| border.judge(path).is_open())
        };
        opened || self.permissions.is_granted(accesses, rule)
    }

    /// Adds allow rules for the rest of the session; they bind from the next decision on.
    pub fn allow(&mut self, rules: Vec<Rule>) {
        let allow = &mut Arc::make_mut(&mut self.policy).rules.allow;
        for rule in rules {
            if !allow.iter().any(|known| known.text == rule.text) {
                allow.push(rule);
            }
        }
    }

    /// What its file allows, for as long as its turn lasts. Rules that cannot be read are told.
    pub fn allow_template(&mut self, template: &Template) -> Result<(), LogError> {
        let language = self.settings.language;
        let wants = !template.allowed_tools.is_empty() || template.model.is_some();
        if wants && !template.trusted {
            let text = language.fill(Word::TemplateUntrusted, &[&template.name]);
            return self.commit(vec![Body::Notice(Notice { text })]);
        }
        let mut notices = Vec::new();
        let mut rules = Vec::new();
        for text in &template.allowed_tools {
            match Rule::parse(text, &source(template)) {
                Ok(rule) => rules.push(rule),
                Err(error) => notices.push(Body::Notice(Notice {
                    text: error.say(language),
                })),
            }
        }
        self.allow(rules);
        match notices.is_empty() {
            true => Ok(()),
            false => self.commit(notices),
        }
    }

    /// Takes back what `allow_template` gave.
    pub fn disallow_template(&mut self, template: &Template) {
        let from = &source(template);
        if self.policy.rules.allow.iter().any(|r| r.from == *from) {
            let rules = &mut Arc::make_mut(&mut self.policy).rules.allow;
            rules.retain(|rule| rule.from != *from);
        }
    }

    /// The same for a skill whose text a call of the model has brought in: until the turn ends, and the person reads which.
    pub fn lend_skill(&mut self, skill: &Skill) -> Result<(), LogError> {
        let template = &skill.template;
        let lent = &self.permissions.turn.lent;
        let has = lent.iter().any(|known| known.name == template.name);
        if template.allowed_tools.is_empty() || !template.trusted || has {
            return Ok(());
        }
        let language = self.settings.language;
        let rules = template.allowed_tools.join(", ");
        let text = language.fill(Word::SkillLends, &[&template.name, &rules]);
        self.commit(vec![Body::Notice(Notice { text })])?;
        self.allow_template(template)?;
        self.permissions.turn.lent.push(template.clone());
        Ok(())
    }

    /// Takes back what calls of this turn have brought.
    pub fn take_back_rules(&mut self) {
        for template in std::mem::take(&mut self.permissions.turn.lent) {
            self.disallow_template(&template);
        }
    }
}

/// Where its rules come from: its file, or its name where it is one of ours.
fn source(template: &Template) -> String {
    match template.from.as_str() {
        "" => format!("/{}", template.name),
        file => file.to_owned(),
    }
}
