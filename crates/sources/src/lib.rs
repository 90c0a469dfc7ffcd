//! What people wrote for the model: instructions, commands, roles, skills, references. Here, how such files are read and whose
//! they are. A project's own count only as far as somebody looked
//! at their content, and as far as the rules that bind `read_file` let them be read; what cannot be read is told. It does
//! not know what the files mean.

pub mod briefing;
pub mod completion;
pub mod definitions;
pub mod front;
pub mod instructions;
pub mod prompt;
pub mod references;
pub mod roles;
pub mod skills;
pub mod templates;

pub use ostler_guard::definitions::{SKILL, Wanted, commands_in, files, hash, head_and_body};
use ostler_host::{Beyond, Border, Error, Judgement, Place};
use ostler_wire::{Language, Say, Word};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of one file.
pub const MAX_BYTES: u64 = 256 << 10;
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub owner: Owner,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    Person,
    /// Nothing is read that lies outside of the root, links included.
    Project {
        /// Canonical.
        root: PathBuf,
        vouched: Vouched,
    },
}

/// Which files of a project count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vouched {
    All,
    /// Those whose content has one of these hashes.
    These(Arc<BTreeSet<String>>),
}

/// Reads files that a project brings for the model, by the rules that bind `read_file`. Nobody is asked here: what a rule
/// forbids, or wants asked, is left out.
#[derive(Clone, Debug)]
pub struct Reader {
    border: Border,
    /// The same as far as it forbids: what lies outside is left to the callers, who know where a file may lie.
    forbidding: Border,
    pub language: Language,
}

/// A file that was read, and where it really lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    pub real: PathBuf,
    pub bytes: Vec<u8>,
}

impl Reader {
    pub fn new(border: Border, language: Language) -> Self {
        let forbidding = Border {
            ask: Vec::new(),
            beyond: Beyond::Open,
            ..border.clone()
        };
        Self {
            border,
            forbidding,
            language,
        }
    }

    /// For files of the person, which no rule binds.
    pub fn unbound(language: Language) -> Self {
        Self::new(Border::none(), language)
    }

    /// A regular file of at most so many bytes, unless a rule forbids to read what really lies there.
    pub fn read(&self, path: &Path, most: u64) -> Result<ReadFile, String> {
        let language = self.language;
        let read = ostler_host::sandbox::read_unchanged(path, most, &self.forbidding);
        let read = read.map_err(|error| match error {
            Error::NotRegular { .. } | Error::IsDirectory { .. } => {
                language.say(Word::FactNotFile).into()
            }
            Error::Withheld { rule, .. } => language.fill(Word::FileForbidden, &[&rule]),
            Error::NotFound { .. } => {
                std::io::Error::from(std::io::ErrorKind::NotFound).say(language)
            }
            error => error.say(language),
        })?;
        if read.truncated {
            let sizes = [read.stat.len, most].map(|size| size.to_string());
            return Err(language.fill(Word::TemplateLarge, &sizes.each_ref().map(String::as_str)));
        }
        Ok(ReadFile {
            real: read.stat.path,
            bytes: read.bytes.into(),
        })
    }

    /// Refuses a file of the project that a rule wants to be asked about.
    pub fn check_asked(&self, real: &Path) -> Result<(), String> {
        let is_outside = self.border.judge(real) == Judgement::Outside;
        match is_outside && self.border.place(real) == Place::Inside {
            true => Err(self.language.say(Word::FileAsked).into()),
            false => Ok(()),
        }
    }

    /// The text of a file, wherever it lies.
    pub fn read_text(&self, path: &Path, most: u64) -> Result<String, String> {
        let file = self.read(path, most)?;
        self.check_asked(&file.real)?;
        as_text(file.bytes, self.language)
    }

    /// The text of a file that lies in the project, links followed.
    pub fn read_inside(&self, path: &Path, root: &Path, most: u64) -> Result<String, String> {
        let file = self.read(path, most)?;
        if !file.real.starts_with(root) {
            let real = file.real.display().to_string();
            return Err(self.language.fill(Word::SourceOutside, &[&real]));
        }
        self.check_asked(&file.real)?;
        as_text(file.bytes, self.language)
    }
}

fn as_text(bytes: Vec<u8>, language: Language) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| language.say(Word::FactNotText).into())
}

/// The text of a file that counts; none of one that nobody vouched for.
pub fn read(path: &Path, owner: &Owner, reader: &Reader) -> Result<Option<String>, String> {
    let (text, vouched) = match owner {
        Owner::Person => (text(path, reader.language)?, &Vouched::All),
        Owner::Project { root, vouched } => (reader.read_inside(path, root, MAX_BYTES)?, vouched),
    };
    Ok(match vouched {
        Vouched::All => Some(text),
        Vouched::These(known) => Some(text).filter(|text| known.contains(&hash(text))),
    })
}

/// What our own skills and roles are for. Models read it in English, as it stands in their files.
const OURS: [Word; 13] = [
    Word::AboutCommit,
    Word::AboutExplain,
    Word::AboutInit,
    Word::AboutReview,
    Word::AboutSecurity,
    Word::AboutBuilder,
    Word::AboutCritic,
    Word::AboutExplore,
    Word::AboutOracle,
    Word::AboutPlanner,
    Word::AboutResearcher,
    Word::AboutReviewer,
    Word::AboutSprinter,
];

/// What a skill or a role is for, as the person reads it.
pub fn about(description: &str, language: Language) -> &str {
    let ours = OURS.iter();
    let mut ours = ours.filter(|word| Language::English.say(**word) == description);
    ours.next().map_or(description, |word| language.say(*word))
}

/// The text of a file of a bearable size.
pub fn text(path: &Path, language: Language) -> Result<String, String> {
    let file = Reader::unbound(language).read(path, MAX_BYTES)?;
    as_text(file.bytes, language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_told_in_the_language_of_the_person() {
        let reader = Reader::unbound(Language::English);
        let (skills, _) = crate::skills::Skills::load(&Default::default(), &reader);
        let (roles, _) = crate::roles::Roles::load(&[], &Default::default(), &reader);
        let skills = skills.0.into_iter().map(|skill| skill.template.description);
        let roles = roles.0.into_iter().map(|role| role.description);
        let texts: Vec<String> = skills.chain(roles).collect();
        assert_eq!(texts.len(), OURS.len());
        for text in texts {
            assert_eq!(about(&text, Language::English), text);
            assert_ne!(about(&text, Language::Chinese), text);
        }
        assert_eq!(about("of a file", Language::Chinese), "of a file");
    }

    #[test]
    fn a_project_counts_as_far_as_it_was_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir_all(root.join("skills/a")).unwrap();
        std::fs::create_dir_all(root.join("skills/group/b")).unwrap();
        std::fs::create_dir_all(root.join("skills/.git/c")).unwrap();
        for name in ["a", "group/b", ".git/c"] {
            std::fs::write(root.join("skills").join(name).join(SKILL), name).unwrap();
        }
        let found = files(&root.join("skills"), Wanted::Skills).0;
        let names: Vec<&Path> = found
            .iter()
            .map(|p| p.strip_prefix(root.join("skills")).unwrap())
            .collect();
        assert_eq!(
            names,
            [Path::new("a/SKILL.md"), Path::new("group/b/SKILL.md")]
        );
        let of = |vouched| Owner::Project {
            root: root.clone(),
            vouched,
        };
        let these =
            |texts: &[&str]| Vouched::These(Arc::new(texts.iter().map(|t| hash(t)).collect()));
        for (owner, expect) in [
            (Owner::Person, Some("a")),
            (of(Vouched::All), Some("a")),
            (of(these(&["a"])), Some("a")),
            (of(these(&["other"])), None),
        ] {
            assert_eq!(
                read(&found[0], &owner, &Reader::unbound(Language::English))
                    .unwrap()
                    .as_deref(),
                expect,
                "{owner:?}"
            );
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_out_floods_and_odd_things_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("repo");
        for name in ["link", "flood", "odd", "bytes", "pipe", "loop"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let pipe = root.join("pipe").join(SKILL);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink(SKILL, root.join("loop").join(SKILL)).unwrap();
        std::os::unix::fs::symlink(&root, root.join("round")).unwrap();
        assert_eq!(files(&root, Wanted::Skills).0.len(), 2 + 2);
        std::fs::write(base.join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(base.join("secret"), root.join("link").join(SKILL)).unwrap();
        std::fs::write(root.join("flood").join(SKILL), vec![b'x'; 10 << 20]).unwrap();
        std::fs::create_dir(root.join("odd").join(SKILL)).unwrap();
        std::fs::write(root.join("bytes").join(SKILL), [0xff, 0xfe]).unwrap();
        let owner = Owner::Project {
            root: root.clone(),
            vouched: Vouched::All,
        };
        let reader = Reader::unbound(Language::English);
        for (name, part) in [
            ("link", "outside of the project"),
            ("flood", "10485760 bytes"),
            ("odd", "not a file"),
            ("bytes", "not text"),
            ("pipe", "not a file"),
            ("loop", "form a circle"),
        ] {
            let error = read(&root.join(name).join(SKILL), &owner, &reader).unwrap_err();
            assert!(error.contains(part), "{name}: {error}");
        }
        // The person's own may be linked from anywhere.
        let own = read(&root.join("link").join(SKILL), &Owner::Person, &reader);
        assert_eq!(own.unwrap().as_deref(), Some("secret"));
    }

    #[test]
    #[cfg(unix)]
    fn rules_for_reading_bind_what_a_project_brings() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["open", "denied", "asked", "linked", "banned"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["open", "denied", "asked", "banned"] {
            std::fs::write(root.join(name).join(SKILL), name).unwrap();
        }
        std::fs::write(root.join(".env"), "secret").unwrap();
        std::os::unix::fs::symlink("../.env", root.join("linked").join(SKILL)).unwrap();
        let pattern = |glob: &str| ostler_host::Pattern {
            base: root.clone(),
            glob: glob.to_owned(),
            depth: ostler_host::Depth::FromBase,
            rule: format!("Read({glob})"),
        };
        let border = Border {
            places: vec![(root.clone(), Place::Inside)],
            deny: vec![pattern(".env"), pattern("denied/*")],
            ask: vec![pattern("asked/*")],
            forbidden: vec![ostler_host::Ban {
                path: root.join("banned"),
                rule: "forbid_read".into(),
            }],
            ..Border::default()
        };
        let reader = Reader::new(border, Language::English);
        let owner = Owner::Project {
            root: root.clone(),
            vouched: Vouched::All,
        };
        for (name, expect) in [
            ("open", Ok("open")),
            ("denied", Err("Read(denied/*)")),
            ("linked", Err("Read(.env)")),
            ("banned", Err("forbid_read")),
            ("asked", Err("asks before it is read")),
        ] {
            let found = read(&root.join(name).join(SKILL), &owner, &reader);
            match expect {
                Ok(text) => assert_eq!(found.unwrap().as_deref(), Some(text)),
                Err(part) => assert!(found.unwrap_err().contains(part), "{name}"),
            }
        }
    }
}
