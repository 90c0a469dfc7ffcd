//! Skills: folders with a `SKILL.md` that tells how certain work is done. Their names and descriptions are in the prompt,
//! their text comes when one is called, here or in a session of its own. Reading happens once; the rest is pure.

use crate::front;
use crate::templates::{Template, described};
use crate::{Owner, Reader, Source, Wanted};
use ostler_store::cut::clip;
use ostler_wire::{Language, Word};
use std::path::{Path, PathBuf};

/// Characters of a name.
const MAX_NAME: usize = 64;
/// Of one skill in the prompt.
const MAX_DESCRIPTION: usize = 240;
/// Bytes of all of them in the prompt, some 1,500 tokens.
const MAX_LISTED: usize = 6_000;
/// Files beside a `SKILL.md` that are named when it is called.
const MAX_BESIDE: usize = 40;
/// Skills that an answer to a search names.
const MAX_FOUND: usize = 12;

const BUILT_IN: [&str; 5] = [
    include_str!("commit.md"),
    include_str!("explore.md"),
    include_str!("init.md"),
    include_str!("review.md"),
    include_str!("security_review.md"),
];

/// Where skills are read from, and which the person does not want.
#[derive(Clone, Debug, Default)]
pub struct SkillSettings {
    /// The more important first.
    pub sources: Vec<Source>,
    pub disabled: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunAs {
    /// Its text joins the session that calls it.
    #[default]
    Inline,
    /// It is done in a session of its own.
    Subagent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it says, as a command that the person can call, too.
    pub template: Template,
    pub run_as: RunAs,
    /// Whose part a session of its own plays.
    pub role: Option<String>,
    /// Only the person calls it.
    pub hidden: bool,
}

impl Skill {
    pub fn name(&self) -> &str {
        &self.template.name
    }
}

/// The skills of a session, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills(pub Vec<Skill>);

impl Skills {
    /// What the folders hold, and what is wrong with them. A name that comes twice is the one of the earlier folder.
    pub fn load(settings: &SkillSettings, reader: &Reader) -> (Self, Vec<String>) {
        let language = reader.language;
        let (mut skills, mut notices) = (Vec::<Skill>::new(), Vec::new());
        for Source { path, owner } in &settings.sources {
            let (files, surplus) = crate::files(path, Wanted::Skills);
            if surplus > 0 {
                let (folder, more) = (path.display().to_string(), surplus.to_string());
                notices.push(language.fill(Word::SkillsMany, &[&more, &folder]));
            }
            for file in files {
                let skill = match crate::read(&file, owner, reader) {
                    Ok(Some(text)) => parse(&text, Some(&file), language),
                    Ok(None) => continue,
                    Err(why) => Err(why),
                };
                match skill {
                    Ok(mut skill) => {
                        skill.template.of_project = *owner != Owner::Person;
                        add(&mut skills, skill);
                    }
                    Err(why) => {
                        let file = file.display().to_string();
                        notices.push(language.fill(Word::SkillLeft, &[&file, &why]));
                    }
                }
            }
        }
        // The person's own come before ours.
        let ours = BUILT_IN
            .iter()
            .filter_map(|text| parse(text, None, language).ok());
        ours.for_each(|skill| add(&mut skills, skill));
        skills.retain(|skill| !settings.disabled.iter().any(|d| alike(d, skill.name())));
        skills.sort_by(|a, b| a.name().cmp(b.name()));
        (Self(skills), notices)
    }

    pub fn find(&self, name: &str) -> Option<&Skill> {
        let name = name.trim().trim_start_matches('/');
        let exact = self.0.iter().find(|skill| skill.name() == name);
        exact.or_else(|| self.0.iter().find(|skill| alike(skill.name(), name)))
    }

    /// What to say of commands of the project that take the place of skills that are not.
    pub fn replaced(&self, templates: &[Template], language: Language) -> Vec<String> {
        let of_project = templates.iter().filter(|template| template.of_project);
        let replaced = of_project.filter_map(|template| {
            let skill = self.0.iter().find(|skill| skill.name() == template.name)?;
            let (from, name) = (template.from.as_str(), template.name.as_str());
            match (is_ours(skill), skill.template.of_project) {
                (true, _) => Some(language.fill(Word::TemplateReplacesOurs, &[from, name])),
                (false, false) => {
                    let names = [from, name, skill.template.from.as_str()];
                    Some(language.fill(Word::TemplateReplaces, &names))
                }
                (false, true) => None,
            }
        });
        replaced.collect()
    }

    /// One line each, as far as there is room, for the prompt.
    pub fn listing(&self) -> String {
        let mut out = String::new();
        let mut left = 0;
        for skill in self.0.iter().filter(|skill| !skill.hidden) {
            let line = line(skill);
            match out.len() + line.len() <= MAX_LISTED {
                true => out.push_str(&line),
                false => left += 1,
            }
        }
        if left > 0 {
            out.push_str(&format!(
                "- and {left} more: call skill with a word to search them\n"
            ));
        }
        out
    }

    /// Skills that speak of a word, one line each; all of them where none does.
    pub fn search(&self, words: &str) -> String {
        let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let speaks = |skill: &&&Skill| {
            let text = format!("{} {}", skill.name(), skill.template.description).to_lowercase();
            wanted.iter().any(|word| text.contains(word))
        };
        let offered: Vec<&Skill> = self.0.iter().filter(|skill| !skill.hidden).collect();
        let found: Vec<&&Skill> = offered.iter().filter(speaks).collect();
        let shown = match found.is_empty() {
            true => offered.iter().take(MAX_FOUND).map(|s| line(s)).collect(),
            false => found.iter().take(MAX_FOUND).map(|s| line(s)).collect(),
        };
        let shown: Vec<String> = shown;
        shown.concat()
    }
}

fn add(skills: &mut Vec<Skill>, skill: Skill) {
    if skills.iter().all(|known| known.name() != skill.name()) {
        skills.push(skill);
    }
}

/// Models and people mix the two up.
fn alike(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    plain(one) == plain(other)
}

fn line(skill: &Skill) -> String {
    let about = skill.template.description.split_whitespace();
    let about = clip(&about.collect::<Vec<_>>().join(" "), MAX_DESCRIPTION);
    format!("- {}: {about}\n", skill.name())
}

/// The file of a skill is none where it is one of ours.
fn is_ours(skill: &Skill) -> bool {
    skill.template.from.is_empty()
}

/// `file` is where it was read; ours are in no file.
fn parse(text: &str, file: Option<&Path>, language: Language) -> Result<Skill, String> {
    let (front, body) = front::read(text, language)?;
    let folder = file.and_then(Path::parent);
    let called = folder.and_then(Path::file_name);
    let called = called.map(|name| name.to_string_lossy().into_owned());
    let name = front.text("name").or(called).unwrap_or_default();
    let fine = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
    if name.chars().count() > MAX_NAME {
        return Err(language.fill(Word::SkillLong, &[&MAX_NAME.to_string()]));
    }
    if name.is_empty() || !name.chars().all(fine) {
        return Err(language.say(Word::TemplateName).into());
    }
    let wanted = front.any(&["runAs", "run-as", "context"]);
    let run_as = match wanted.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("inline") => RunAs::Inline,
        Some("subagent" | "sub-agent" | "fork") => RunAs::Subagent,
        Some(other) => return Err(language.fill(Word::SkillRunAs, &[other])),
    };
    let template = Template {
        name,
        description: front.text("description").unwrap_or_default(),
        argument_hint: front.text("argument-hint").unwrap_or_default(),
        allowed_tools: front.list("allowed-tools"),
        model: front.text("model").filter(|model| model != "inherit"),
        body: body.to_owned(),
        from: file.map_or_else(String::new, |file| file.display().to_string()),
        of_project: false,
        folder: folder.map(Path::to_owned),
        // What nobody vouched for is not read at all.
        trusted: true,
    };
    let template = described(template, language)?;
    Ok(Skill {
        template,
        run_as,
        role: front.any(&["role", "agent"]),
        hidden: front.flag("disable-model-invocation") == Some(true),
    })
}

/// What a model is told to have a skill followed that the person has called.
pub fn asked_for(tool: &str, name: &str, words: &str) -> String {
    let arguments = match words {
        "" => String::new(),
        words => format!(" and the arguments: {words}"),
    };
    format!(
        "/{name} {words}\n\nCall {tool} with the name {name}{arguments}. Then give me its result, as it is where it is short."
    )
}

/// What the one who follows a skill should know of its folder.
pub fn beside(folder: &Path) -> String {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for entry in entries.flatten().take(MAX_BESIDE) {
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                Ok(_) if is_hidden || entry.file_name() == crate::SKILL => {}
                Ok(kind) if kind.is_dir() && folders.len() < MAX_BESIDE => {
                    folders.push(entry.path());
                }
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
        if files.len() > MAX_BESIDE {
            break;
        }
    }
    files.sort();
    let mut out = format!("[The folder of this skill is {}.", folder.display());
    if !files.is_empty() {
        out.push_str(" Files in it, to be read when the text speaks of them:");
        for file in files.iter().take(MAX_BESIDE) {
            let inner = file.strip_prefix(folder).unwrap_or(file);
            out.push_str(&format!(" {}", inner.display()));
        }
        if files.len() > MAX_BESIDE {
            out.push_str(" and more");
        }
    }
    out.push_str("]\n\n");
    out
}

#[cfg(test)]
mod tests;
