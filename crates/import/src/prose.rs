//! Texts that people wrote for another agent: commands, roles, skills, instructions. Most are Markdown as ours is.

use crate::agents::Prose;
use crate::files::Files;
use crate::item::{Item, Kind, Taken};
use crate::rules::prefix_rules;
use crate::settings::{parse, text as text_at};
use ostler_wire::{Why, Word};
use std::path::{Path, PathBuf};

/// Files of a skill, and bytes of all of them.
const MAX_FILES: usize = 200;
const MAX_SKILL: usize = 8 << 20;
/// Folders of a skill below each other.
const MAX_DEPTH: usize = 6;

/// What the files of a row hold.
pub fn items(row: &Prose, pattern: &Path, files: &mut Files<'_>) -> Vec<Item> {
    let base = fixed_part(pattern);
    let mut out = Vec::new();
    for path in files.matching(pattern) {
        let name = name_of(&path, &base, row.kind);
        if row.in_place {
            out.push(Item::new(row.kind, name, &path, Taken::InPlace));
            continue;
        }
        let Some(text) = files.text(&path) else {
            continue;
        };
        let taken = match row.kind {
            Kind::Rule => {
                out.extend(prefix_rules(&text, &path));
                continue;
            }
            Kind::Skill => match path.parent().map(|folder| skill(folder, files)) {
                Some(Ok(all)) => Taken::Files(all),
                Some(Err(word)) => Taken::Left(word.into()),
                None => continue,
            },
            Kind::Command if path.extension().is_some_and(|e| e == "toml") => {
                match command_of_toml(&path, &text) {
                    Ok(text) => Taken::Text(text),
                    Err(why) => Taken::Left(why),
                }
            }
            Kind::Role => match role(&text) {
                Ok(text) => Taken::Text(text),
                Err(word) => Taken::Left(word.into()),
            },
            Kind::Memory if text.trim().is_empty() => continue,
            Kind::Command | Kind::Memory => Taken::Text(text),
            Kind::Model
            | Kind::Setting
            | Kind::Provider
            | Kind::Server
            | Kind::Hook
            | Kind::Session => continue,
        };
        out.push(Item::new(row.kind, name, &path, taken));
    }
    out
}

/// The folder that a pattern looks in.
fn fixed_part(pattern: &Path) -> PathBuf {
    let is_fixed = |part: &&std::ffi::OsStr| !part.to_string_lossy().contains('*');
    pattern.iter().take_while(is_fixed).collect()
}

/// `git/commit.md` is `git:commit`; a skill is called like its folder.
fn name_of(path: &Path, base: &Path, kind: Kind) -> String {
    let inner = path.strip_prefix(base).unwrap_or(path);
    let inner = match kind {
        Kind::Skill => inner.parent().unwrap_or(inner).to_owned(),
        Kind::Memory => {
            return path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
        }
        Kind::Command
        | Kind::Role
        | Kind::Rule
        | Kind::Model
        | Kind::Setting
        | Kind::Provider
        | Kind::Server
        | Kind::Hook
        | Kind::Session => inner.with_extension(""),
    };
    let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
    parts.join(":")
}

/// A command in TOML: a `prompt` with other signs for its holes.
fn command_of_toml(path: &Path, text: &str) -> Result<String, Why> {
    let tree = parse(path, text)?;
    let prompt = text_at(&tree, "prompt").ok_or(Word::ImportCommandEmpty)?;
    let mut body = String::new();
    let mut rest = prompt;
    while let Some((before, after)) = rest.split_once("!{") {
        body.push_str(before);
        match after.split_once('}') {
            Some((command, behind)) if !command.contains(['`', '\n']) => {
                body.push_str(&format!("!`{command}`"));
                rest = behind;
            }
            Some(_) | None => {
                body.push_str("!{");
                rest = after;
            }
        }
    }
    body.push_str(rest);
    let body = body.replace("{{args}}", "$ARGUMENTS");
    let about = text_at(&tree, "description").unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(match about.is_empty() {
        true => body,
        false => format!("---\ndescription: {about}\n---\n{body}"),
    })
}

/// A role: what it says of itself and its text. One that limits its tools by a table stays behind: here it would have all.
fn role(text: &str) -> Result<String, Word> {
    let Some((front, body)) = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"))
    else {
        return Ok(text.to_owned());
    };
    let mut kept = Vec::new();
    let mut lines = front.lines().peekable();
    while let Some(line) = lines.next() {
        let key = line.split(':').next().unwrap_or_default().trim();
        let value = line
            .split_once(':')
            .map(|(_, value)| value.trim())
            .unwrap_or_default();
        match key {
            "tools" | "permission" | "disallowedTools" | "disallowed-tools" => {
                let is_list = key == "tools" && !value.is_empty() && !value.starts_with('{');
                if !is_list {
                    return Err(Word::ImportRoleLimits);
                }
                kept.push(line);
            }
            "name" | "description" => {
                kept.push(line);
                while let Some(more) = lines.next_if(|l| l.starts_with([' ', '\t'])) {
                    kept.push(more);
                }
            }
            _ => {}
        }
    }
    Ok(format!("---\n{}\n---{body}", kept.join("\n")))
}

/// The files of a skill by their paths within it.
fn skill(folder: &Path, files: &mut Files<'_>) -> Result<Vec<(PathBuf, Vec<u8>)>, Word> {
    let mut out = Vec::new();
    let mut left = MAX_SKILL;
    gather(folder, Path::new(""), (0, files, &mut left), &mut out)?;
    out.sort();
    Ok(out)
}

fn gather(
    folder: &Path,
    inner: &Path,
    (depth, files, left): (usize, &mut Files<'_>, &mut usize),
    out: &mut Vec<(PathBuf, Vec<u8>)>,
) -> Result<(), Word> {
    let read = std::fs::read_dir(folder).map_err(|_| Word::ImportSkillUnread)?;
    for entry in read.flatten() {
        let path = entry.path();
        let inner = inner.join(entry.file_name());
        let kind = entry.file_type().map_err(|_| Word::ImportSkillUnread)?;
        if kind.is_dir() {
            // A repository or an installation of packages is not part of a skill.
            let name = entry.file_name();
            if depth >= MAX_DEPTH || name == ".git" || name == "node_modules" {
                return Err(Word::ImportSkillLarge);
            }
            gather(&path, &inner, (depth + 1, files, left), out)?;
            continue;
        }
        if !kind.is_file() {
            return Err(Word::ImportSkillLink);
        }
        let bytes = files
            .bytes(&path, *left as u64)
            .ok_or(Word::ImportSkillLarge)?;
        *left = left
            .checked_sub(bytes.len())
            .ok_or(Word::ImportSkillLarge)?;
        out.push((inner, bytes));
        if out.len() > MAX_FILES {
            return Err(Word::ImportSkillLarge);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_toml_become_markdown() {
        let text = "description = \"Say\\nit\"\nprompt = \"\"\"Look: !{git diff} of {{args}} and !{open\"\"\"\n";
        assert_eq!(
            command_of_toml(Path::new("a.toml"), text).unwrap(),
            "---\ndescription: Say it\n---\nLook: !`git diff` of $ARGUMENTS and !{open"
        );
        assert!(command_of_toml(Path::new("a.toml"), "description = 'x'").is_err());
    }

    #[test]
    fn roles_keep_their_words_and_never_gain_tools() {
        let open = "---\ndescription: Looks\nmode: subagent\nmodel: acme/x\n---\nYou look.";
        assert_eq!(
            role(open).unwrap(),
            "---\ndescription: Looks\n---\nYou look."
        );
        let listed = "---\nname: a\ntools: Read, Grep\n---\nx";
        assert_eq!(
            role(listed).unwrap(),
            "---\nname: a\ntools: Read, Grep\n---\nx"
        );
        for front in [
            "tools:\n  write: false",
            "permission:\n  edit: deny",
            "tools: {write: false}",
        ] {
            assert!(role(&format!("---\n{front}\n---\nx")).is_err(), "{front}");
        }
    }
}
