//! What people wrote for sessions: commands, roles and skills, read once and shared by a session and its sub-agents.

use crate::roles::{RoleSettings, Roles};
use crate::skills::{SkillSettings, Skills};
use crate::templates::{self, Template, TemplateFolder};
use crate::{Reader, Source};
use ostler_tools::builtin::Tools;
use ostler_wire::{Language, ToolMark, Word};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files of one kind that are left out and named.
const MAX_NOTES: usize = 5;

#[derive(Clone, Default)]
pub struct Definitions {
    /// Commands that people wrote.
    pub templates: Arc<Vec<Template>>,
    pub roles: Arc<Roles>,
    pub skills: Arc<Skills>,
}

/// Where definitions are read from.
pub struct DefinitionSources<'a> {
    pub templates: &'a [TemplateFolder],
    pub roles: &'a [Source],
    /// What the configuration says of roles.
    pub role_settings: &'a BTreeMap<String, RoleSettings>,
    pub skills: &'a SkillSettings,
}

impl Definitions {
    /// Reads what people wrote; the second is what had to be left out.
    pub fn load(
        from: &DefinitionSources<'_>,
        reader: &Reader,
        language: Language,
    ) -> (Self, Vec<String>) {
        let few = |notes: Vec<String>| few(notes, language);
        let (templates, left) = templates::load(from.templates, reader);
        let mut notes = few(left);
        let (roles, left) = Roles::load(from.roles, from.role_settings, reader);
        notes.extend(few(left));
        let (skills, left) = Skills::load(from.skills, reader);
        notes.extend(few(left));
        notes.extend(few(skills.replaced(&templates, language)));
        let definitions = Self {
            templates: Arc::new(templates),
            roles: Arc::new(roles),
            skills: Arc::new(skills),
        };
        (definitions, notes)
    }

    /// What the prompt says of roles and skills, as far as there are tools for them.
    pub fn listing(&self, tools: &Tools) -> String {
        let has = |mark: ToolMark| tools.declarations().any(|about| about.has(mark));
        let mut out = String::new();
        if has(ToolMark::TakesRoles) {
            out.push_str("# Roles\nSub-agents play one of these and know only their prompt.\n");
            out.push_str(&self.roles.listing());
        }
        let skills = self.skills.listing();
        if has(ToolMark::TakesSkills) && !skills.is_empty() {
            out.push_str(
                "\n# Skills\nTold how to do certain work. Call the one that fits before you begin.\n",
            );
            out.push_str(&skills);
        }
        out.trim().to_owned()
    }
}

/// The first of them, and how many more there are.
fn few(mut notes: Vec<String>, language: Language) -> Vec<String> {
    let more = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    if more > 0 {
        notes.push(language.fill(Word::MoreLeft, &[&more.to_string()]));
    }
    notes
}
