//! Commands that people write as Markdown files: `git/commit.md` is `/git:commit`. Reading a folder is one function, the
//! rest is pure: names, front matter, and what becomes of the text when it is called.

use crate::front;
use crate::{MAX_BYTES, Reader};
use ostler_wire::{CommandGroup, CommandInfo, Language, Word};
use std::path::{Path, PathBuf};

/// Files of one folder.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;
/// Of a description that is made of a first line.
const MAX_DESCRIPTION: usize = 80;

/// A folder of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFolder {
    pub path: PathBuf,
    /// The project whose files these are: they lie in it, links followed, and the rules for reading bind them.
    pub project: Option<PathBuf>,
    /// What its files allow may be allowed. Files of a project that nobody trusts ask like any other call.
    pub trusted: bool,
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Without its slash.
    pub name: String,
    pub description: String,
    pub argument_hint: String,
    /// Rules that hold while it runs, as written.
    pub allowed_tools: Vec<String>,
    pub model: Option<String>,
    pub body: String,
    /// The file, ready to show.
    pub from: String,
    /// It may allow what it names.
    pub trusted: bool,
    /// Its text comes with the project: what it points at is read by the rules for the project.
    pub of_project: bool,
    /// Of a skill: where the files lie that its text may speak of.
    pub folder: Option<PathBuf>,
}

/// A text with its holes filled, and what is left to be done by whoever may run commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// The output of this command goes here.
    Shell(String),
}

impl Template {
    pub fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: self.name.clone(),
            help: crate::about(&self.description, language).to_owned(),
            arguments: self.argument_hint.clone(),
            group: CommandGroup::Own,
        }
    }

    /// Fills in the arguments. `!`…`` pieces are for the caller to run.
    pub fn expand(&self, arguments: &str) -> Vec<Piece> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let mut pieces = Vec::new();
        let mut rest = self.body.as_str();
        while let Some((before, after)) = rest.split_once("!`") {
            let Some((command, behind)) = after.split_once('`').filter(|(c, _)| !c.contains('\n'))
            else {
                break;
            };
            pieces.push(Piece::Text(fill(before, arguments, &words)));
            pieces.push(Piece::Shell(fill(command, arguments, &words)));
            rest = behind;
        }
        let mut last = fill(rest, arguments, &words);
        // Arguments that the text has no place for are not lost.
        let takes = self.body.contains("$ARGUMENTS") || has_number(&self.body);
        if !takes && !arguments.trim().is_empty() {
            last = format!("{}\n\n{}", last.trim_end(), arguments.trim());
        }
        pieces.push(Piece::Text(last));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        pieces
    }
}

fn has_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .windows(2)
        .any(|pair| matches!(pair, [b'$', b'1'..=b'9']))
}

fn fill(text: &str, arguments: &str, words: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        rest = if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            after
        } else if let Some(after) = after.strip_prefix("ARGUMENTS") {
            out.push_str(arguments.trim());
            after
        } else if digits > 0 && !after.starts_with('0') {
            let (number, after) = after.split_at(digits);
            let word = number
                .parse::<usize>()
                .ok()
                .and_then(|n| words.get(n.checked_sub(1)?));
            out.push_str(word.copied().unwrap_or_default());
            after
        } else {
            out.push('$');
            after
        };
    }
    out.push_str(rest);
    out
}

/// What the files of some folders say. A name that comes twice is the one of the earlier folder.
pub fn load(folders: &[TemplateFolder], reader: &Reader) -> (Vec<Template>, Vec<String>) {
    let language = reader.language;
    let (mut templates, mut notices) = (Vec::<Template>::new(), Vec::new());
    for TemplateFolder {
        path: folder,
        project,
        trusted,
    } in folders
    {
        let mut files = Vec::new();
        gather(folder, 0, &mut files);
        files.sort();
        for path in files.into_iter().take(MAX_FILES) {
            let text = match project {
                Some(root) => reader.read_inside(&path, root, MAX_BYTES),
                None => crate::text(&path, language),
            };
            match text.and_then(|text| parse(&path, folder, &text, language)) {
                Ok(template) => match templates.iter().find(|t| t.name == template.name) {
                    None => templates.push(Template {
                        trusted: *trusted,
                        of_project: project.is_some(),
                        ..template
                    }),
                    Some(first) if first.of_project && project.is_none() => {
                        let names = [first.from.as_str(), &first.name, &template.from];
                        notices.push(language.fill(Word::TemplateReplaces, &names));
                    }
                    Some(_) => {}
                },
                Err(why) => {
                    let path = path.display().to_string();
                    notices.push(language.fill(Word::TemplateLeft, &[&path, &why]));
                }
            }
        }
    }
    templates.sort_by(|a, b| a.name.cmp(&b.name));
    (templates, notices)
}

fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if files.len() >= MAX_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => gather(&path, depth + 1, files),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "md") => {
                files.push(path)
            }
            Ok(_) | Err(_) => {}
        }
    }
}

fn parse(path: &Path, folder: &Path, text: &str, language: Language) -> Result<Template, String> {
    let name = name(path, folder).ok_or_else(|| language.say(Word::TemplateName))?;
    let (front, body) = front::read(text, language)?;
    let template = Template {
        name,
        description: front.text("description").unwrap_or_default(),
        argument_hint: front.text("argument-hint").unwrap_or_default(),
        allowed_tools: front.list("allowed-tools"),
        model: front.text("model"),
        body: body.to_owned(),
        from: path.display().to_string(),
        ..Template::default()
    };
    described(template, language)
}

/// What a command without words about itself says in its first line.
pub fn described(mut template: Template, language: Language) -> Result<Template, String> {
    if template.body.is_empty() {
        return Err(language.say(Word::TemplateEmpty).into());
    }
    if template.description.is_empty() {
        let first = template.body.lines().next().unwrap_or_default();
        let first = first.trim_start_matches(['#', ' ']).chars();
        template.description = first.take(MAX_DESCRIPTION).collect();
    }
    Ok(template)
}

fn name(path: &Path, folder: &Path) -> Option<String> {
    let inner = path.strip_prefix(folder).ok()?.with_extension("");
    let parts: Option<Vec<&str>> = inner.iter().map(|p| p.to_str()).collect();
    let name = parts?.join(":");
    let fine = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
    (!name.is_empty() && name.chars().all(fine)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, arguments: &str, expect: &[Piece]) {
        let template = Template {
            body: body.into(),
            ..Template::default()
        };
        assert_eq!(
            template.expand(arguments),
            expect,
            "{body} with {arguments}"
        );
    }

    #[test]
    fn holes_are_filled() {
        let text = |t: &str| Piece::Text(t.into());
        let shell = |t: &str| Piece::Shell(t.into());
        check("Fix $1 in $2, $3.", "a b", &[text("Fix a in b, .")]);
        check(
            "All: $ARGUMENTS costs $$5 $HOME",
            "x  y",
            &[text("All: x  y costs $5 $HOME")],
        );
        check(
            "Look:\n!`git diff $1`\nend",
            "HEAD",
            &[text("Look:\n"), shell("git diff HEAD"), text("\nend")],
        );
        check("no place", "for this", &[text("no place\n\nfor this")]);
        check("an open !`tick", "", &[text("an open !`tick")]);
        check("$10 and $0", "a b c d e f g h i j", &[text("j and $0")]);
    }

    #[test]
    fn files_become_commands() {
        let dir = tempfile::tempdir().unwrap();
        let (near, far) = (dir.path().join("near"), dir.path().join("far"));
        for (folder, name, text) in [
            (
                &near,
                "git/commit.md",
                "---\ndescription: Commit it\nargument-hint: <what>\nallowed-tools: Bash(git add:*), Read\nmodel: acme/x\n---\nCommit $1",
            ),
            (&far, "git/commit.md", "another"),
            (&far, "plain.md", "# Do a thing\nnow"),
            (&far, "broken.md", "---\ndescription: x\n"),
            (&far, "empty.md", "---\n---\n"),
            (&far, "no colon.md", "x"),
            (&far, "note.txt", "x"),
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let shelf = |path: PathBuf| TemplateFolder {
            path,
            project: None,
            trusted: false,
        };
        let (templates, notices) = load(
            &[near, far, dir.path().join("nowhere")].map(shelf),
            &Reader::unbound(Language::English),
        );
        let names: Vec<&str> = templates.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["git:commit", "plain"]);
        let commit = &templates[0];
        assert_eq!(commit.allowed_tools, ["Bash(git add:*)", "Read"]);
        assert_eq!(
            (commit.model.as_deref(), commit.body.as_str()),
            (Some("acme/x"), "Commit $1")
        );
        assert_eq!(templates[1].description, "Do a thing");
        assert_eq!(notices.len(), 3, "{notices:?}");
    }
}
