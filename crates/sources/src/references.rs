//! `@path` in a prompt: files, parts of files, folders and pictures that the person points at, put before their words.
//! What names nothing stays as it was written. Nobody is asked, but what may not be read is not read.

use ostler_guard::Guard;
use ostler_host::{Border, Error, Host, Kind, Span};
use ostler_tools::builtin::files::picture;
use ostler_tools::builtin::text;
use ostler_tools::tool::Scope;
use ostler_wire::{Image, Language, MAX_PICTURE, Say, Word};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// What a block begins with.
pub const FILE: &str = "<file path=\"";
/// Bytes of one file.
const MAX_FILE: u64 = 100 << 10;
/// Entries of one folder's listing.
const MAX_ENTRIES: usize = 1_000;
/// References of one prompt that are looked up.
const MAX_REFERENCES: usize = 50;
/// Never listed.
const NOISE: [&str; 4] = [".git", "node_modules", "__pycache__", "target"];

/// What a program piped to us begins with, after the words of the person. It points at nothing.
pub const PIPED: &str = "\n\n<stdin>\n";

/// Who points at a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// May name files outside of the project.
    Person,
    /// A file that came with the project, which names files of the project.
    Project,
    /// A model, which gets what `read_file` would give it unasked.
    Model,
}

/// What references are looked up with.
pub struct Library<'a> {
    pub host: &'a dyn Host,
    pub scope: &'a Scope,
    pub guard: &'a Guard,
    pub language: Language,
    pub voice: Voice,
}

/// What the references of a prompt lead to.
#[derive(Debug, Default)]
pub struct Found {
    /// Blocks for the context of the message, in the order they were named.
    pub blocks: Vec<String>,
    pub images: Vec<Image>,
    pub notices: Vec<String>,
}

/// A reference as written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    path: String,
    lines: Option<RangeInclusive<usize>>,
}

impl Library<'_> {
    pub async fn look_up(&self, prompt: &str) -> Found {
        self.look_up_but(prompt, "").await
    }

    /// The same without what these other words point at, too.
    pub async fn look_up_but(&self, prompt: &str, other: &str) -> Found {
        let mut found = Found::default();
        let known = references(other);
        let mut named = references(prompt);
        // A full stop behind a name is a form of it.
        let is_known = |form: &Reference| known.iter().flatten().any(|other| other == form);
        named.retain(|forms| !forms.iter().any(is_known));
        for forms in named.into_iter().take(MAX_REFERENCES) {
            for reference in forms {
                match self.add(&reference, &mut found).await {
                    Looked::Nothing => {}
                    Looked::There => break,
                }
            }
        }
        found
    }

    async fn add(&self, reference: &Reference, found: &mut Found) -> Looked {
        let path = self.scope.path(&reference.path);
        let stat = match self.host.stat(&path).await {
            Ok(stat) => stat,
            Err(_) => return Looked::Nothing,
        };
        let shown = self.scope.shown(&path);
        let border = self.border(&path, &stat.path);
        let read = match stat.kind {
            Kind::Missing | Kind::Symlink | Kind::Other => return Looked::Nothing,
            Kind::File => self.file(&path, &border, reference, found).await,
            Kind::Directory => match self.folder(&path, &border).await {
                Ok(listing) => {
                    found.blocks.push(block(&format!("{shown}/"), &listing));
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = read {
            let language = self.language;
            found.notices.push(match &error {
                Error::Withheld { .. } => language.fill(Word::RefForbidden, &[&shown]),
                Error::Beyond { path } => self.say_beyond(&shown, path),
                other => language.fill(Word::RefLeft, &[&shown, &other.say(language)]),
            });
        }
        Looked::There
    }

    /// A person who names a file outside of the project means it. One who names a file inside does not mean what a link
    /// makes of it.
    fn border(&self, named: &Path, real: &Path) -> Arc<Border> {
        let mut border = self.guard.border.clone();
        match self.voice {
            Voice::Person => Arc::make_mut(&mut border).grant_named(named, real),
            Voice::Project => border = Arc::new(self.guard.policy.project_border(self.scope)),
            Voice::Model => {}
        }
        border
    }

    /// Why a file outside was left out.
    fn say_beyond(&self, shown: &str, real: &Path) -> String {
        let language = self.language;
        let apart = &self.guard.policy.folders.outside;
        match self.voice {
            Voice::Project => language.fill(Word::RefByProject, &[shown]),
            Voice::Model => language.fill(Word::RefByTask, &[shown]),
            Voice::Person if apart.iter().any(|folder| real.starts_with(folder)) => {
                language.fill(Word::RefOwnHome, &[shown])
            }
            Voice::Person => language.fill(Word::RefOutside, &[shown, &real.display().to_string()]),
        }
    }

    async fn file(
        &self,
        path: &Path,
        border: &Arc<Border>,
        reference: &Reference,
        found: &mut Found,
    ) -> Result<(), Error> {
        let shown = &self.scope.shown(path);
        let left_out = |why: &str| self.language.fill(Word::RefLeft, &[shown, why]);
        let span = Span::head(MAX_PICTURE as u64);
        let content = self.host.read(path, span, border).await?;
        if let Some(format) = picture::format(&content.bytes) {
            let bytes = content.bytes.clone();
            let work = move || picture::prepare(&bytes, format);
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(picture)) => found.images.push(picture.image),
                Ok(Err(why)) => found.notices.push(left_out(&why)),
                Err(error) => found.notices.push(left_out(&error.to_string())),
            }
            return Ok(());
        }
        let length = content.stat.len;
        match text::decode(&content.bytes) {
            Ok(decoded) => {
                let whole = decoded.into_shown();
                found
                    .blocks
                    .push(block(shown, &part(&whole, reference.lines.clone())));
            }
            Err(_) => found
                .blocks
                .push(block(shown, &format!("[binary file of {length} bytes]"))),
        }
        Ok(())
    }

    /// The names below a folder, depth first.
    async fn folder(&self, path: &Path, border: &Arc<Border>) -> Result<String, Error> {
        let mut lines = Vec::new();
        let mut open = vec![(path.to_owned(), String::new())];
        while let Some((folder, prefix)) = open.pop() {
            let listing = match self.host.list(&folder, MAX_ENTRIES, border).await {
                Ok(listing) => listing,
                Err(error) if folder == path => return Err(error),
                Err(_) => continue,
            };
            let mut below = Vec::new();
            for entry in listing.entries {
                let name = entry.name.to_string_lossy().into_owned();
                let at = listing.path.join(&entry.name);
                if NOISE.contains(&name.as_str()) || !border.judge(&at).is_open() {
                    continue;
                }
                if lines.len() == MAX_ENTRIES {
                    lines.push("[more entries are left out]".to_owned());
                    return Ok(lines.join("\n"));
                }
                let clean: String = name.chars().filter(|c| !c.is_control()).collect();
                match entry.kind {
                    Kind::Directory => {
                        lines.push(format!("{prefix}{clean}/"));
                        below.push((at, format!("{prefix}{clean}/")));
                    }
                    Kind::File | Kind::Symlink | Kind::Other | Kind::Missing => {
                        lines.push(format!("{prefix}{clean}"));
                    }
                }
            }
            open.extend(below.into_iter().rev());
        }
        Ok(lines.join("\n"))
    }
}

enum Looked {
    Nothing,
    There,
}

fn block(path: &str, content: &str) -> String {
    let path = path.replace(['"', '\n', '\r'], "_");
    // A file that contains the closing word must not end its block.
    let content = content.replace("</file>", "<\\/file>");
    format!(
        "{FILE}{path}\">\n{}\n</file>",
        content.trim_end_matches('\n')
    )
}

/// The named lines, or as much from the start as fits.
fn part(whole: &str, lines: Option<RangeInclusive<usize>>) -> String {
    let most = usize::try_from(MAX_FILE).unwrap_or(usize::MAX);
    let wanted = match lines {
        Some(range) => {
            let skip = range.start().saturating_sub(1);
            let take = range.end().saturating_sub(skip);
            whole.split_inclusive('\n').skip(skip).take(take).collect()
        }
        None => whole.to_owned(),
    };
    if wanted.len() <= most {
        return wanted;
    }
    let end = (0..=most)
        .rev()
        .find(|at| wanted.is_char_boundary(*at))
        .unwrap_or(0);
    let left = wanted.len() - end;
    format!(
        "{}\n[{left} more bytes are left out]",
        wanted.get(..end).unwrap_or_default()
    )
}

/// What may be references, each in the forms to be tried, the longest first.
fn references(prompt: &str) -> Vec<Vec<Reference>> {
    let mut out = Vec::new();
    let mut before = ' ';
    let mut rest = prompt;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if c != '@' || !(before.is_whitespace() || "([{\"'`".contains(before)) {
            (before, rest) = (c, after);
            continue;
        }
        let (word, next) = match after.strip_prefix('"').and_then(|r| r.split_once('"')) {
            Some((quoted, next)) => (quoted, next),
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                after.split_at(end)
            }
        };
        let forms = forms(word);
        if !forms.is_empty() && !out.contains(&forms) {
            out.push(forms);
        }
        (before, rest) = (' ', next);
    }
    out
}

fn forms(word: &str) -> Vec<Reference> {
    let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`']);
    let mut forms = Vec::new();
    for path in [word, bare] {
        let plain = Reference {
            path: path.to_owned(),
            lines: None,
        };
        let ranged = path.rsplit_once(':').and_then(|(path, range)| {
            Some(Reference {
                path: path.to_owned(),
                lines: Some(range_of(range)?),
            })
        });
        for form in std::iter::once(plain).chain(ranged) {
            if !form.path.is_empty() && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

fn range_of(text: &str) -> Option<RangeInclusive<usize>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from >= 1 && to >= from).then_some(from..=to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_guard::{Policy, Posture, Rule, Rules};
    use ostler_tools::builtin::read_file::ReadFile;
    use ostler_tools::tool::Typed as _;
    use std::sync::Arc;

    #[test]
    fn what_may_be_a_reference() {
        let paths = |prompt: &str| -> Vec<String> {
            let first = |forms: Vec<Reference>| forms.into_iter().next().map(|r| r.path);
            references(prompt).into_iter().filter_map(first).collect()
        };
        for (prompt, expect) in [
            ("look at @src/a.rs please", vec!["src/a.rs"]),
            ("mail me@example.com", vec![]),
            (
                "(@a) and @b, @\"with space.md\"!",
                vec!["a)", "b,", "with space.md"],
            ),
            ("@ alone", vec![]),
            ("@a @a", vec!["a"]),
        ] {
            assert_eq!(paths(prompt), expect, "{prompt}");
        }
        let last = forms("a.rs:10-40,").pop().unwrap();
        assert_eq!((last.path.as_str(), last.lines), ("a.rs", Some(10..=40)));
        assert_eq!(range_of("40-10"), None);
    }

    #[tokio::test]
    async fn files_folders_and_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        for (name, content) in [
            ("src/a.rs", "one\ntwo\nthree\n</file>\n"),
            ("src/deep/b.rs", "b"),
            (".env", "SECRET"),
            ("blob", "a\0b\u{1}\0"),
        ] {
            std::fs::write(root.join(name), content).unwrap();
        }
        let scope = Arc::new(Scope::new(root.clone(), None));
        let guard = Guard {
            policy: Arc::new(Policy {
                rules: Rules {
                    deny: vec![Rule::parse("Read(.env)", "x:1").unwrap()],
                    ..Rules::default()
                },
                ..Policy::default()
            }),
            scope: scope.clone(),
            tool: Arc::new(ReadFile::ABOUT),
            posture: Posture::Ask,
            attended: true,
            border: Arc::default(),
            opened: Vec::new(),
        }
        .bounded(&[]);
        let host = ostler_host::Local::new();
        let library = Library {
            host: &host,
            scope: &scope,
            guard: &guard,
            language: Language::English,
            voice: Voice::Person,
        };
        let found = library
            .look_up("@src/a.rs:2-3 and @src. @missing @.env @blob")
            .await;
        assert_eq!(
            found.blocks,
            [
                "<file path=\"src/a.rs\">\ntwo\nthree\n</file>",
                "<file path=\"src/\">\na.rs\ndeep/\ndeep/b.rs\n</file>",
                "<file path=\"blob\">\n[binary file of 5 bytes]\n</file>",
            ]
        );
        assert_eq!(
            found.notices,
            [".env".to_owned()].map(|p| format!("@{p} may not be read and was left out."))
        );
        let whole = library.look_up("@src/a.rs").await;
        assert!(
            whole
                .blocks
                .iter()
                .all(|b| b.matches("</file>").count() == 1)
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_in_the_project_opens_nothing_outside() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("project");
        for (name, text) in [
            ("project/src/a", "IN"),
            ("out/notes", "NOTES"),
            ("out/.ssh/id", "KEY"),
        ] {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (link, to) in [
            ("link", "out/notes"),
            ("key", "out/.ssh/id"),
            ("folder", "out"),
            ("keys", "out/.ssh"),
        ] {
            symlink(base.join(to), root.join(link)).unwrap();
        }
        symlink("src/a", root.join("fine")).unwrap();
        let scope = Arc::new(Scope::new(root.clone(), None));
        let mut policy = Policy::default();
        policy.folders.forbidden = vec![base.join("out/.ssh")];
        let guard = Guard {
            policy: Arc::new(policy),
            scope: scope.clone(),
            tool: Arc::new(ReadFile::ABOUT),
            posture: Posture::Ask,
            attended: true,
            border: Arc::default(),
            opened: Vec::new(),
        }
        .bounded(&[]);
        let host = ostler_host::Local::new();
        let library = Library {
            host: &host,
            scope: &scope,
            guard: &guard,
            language: Language::English,
            voice: Voice::Person,
        };
        for (named, blocks, notice) in [
            ("@fine", "IN", ""),
            ("@../out/notes", "NOTES", ""),
            ("@../out", "notes", ""),
            ("@link", "", "outside of the project"),
            ("@folder", "", "outside of the project"),
            ("@folder/notes", "", "outside of the project"),
            ("@key", "", "may not be read"),
            ("@keys", "", "may not be read"),
            ("@../out/.ssh/id", "", "may not be read"),
        ] {
            let found = library.look_up(named).await;
            let blocks_found = found.blocks.concat();
            assert!(blocks_found.contains(blocks), "{named}: {found:?}");
            assert_eq!(blocks_found.is_empty(), blocks.is_empty(), "{named}");
            assert!(!blocks_found.contains("KEY") && !blocks_found.contains(".ssh"));
            assert!(
                found.notices.concat().contains(notice),
                "{named}: {found:?}"
            );
            assert_eq!(found.notices.is_empty(), notice.is_empty(), "{named}");
        }
    }
}
