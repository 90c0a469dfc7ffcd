//! Names that one part of a pipeline lists and `xargs` in the next one hands to a command: they lie below the folders
//! that were searched.

use super::walk::Walker;
use super::word::{Value, Word};
use ostler_wire::{Access, Segment};

/// Formats that print one commit in each line and nothing else.
const COMMITS: &[&str] = &["--format=%h", "--format=%H", "--pretty=%h", "--pretty=%H"];

/// What a command lists: files below these folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fed {
    /// Patterns of their paths.
    folders: Vec<String>,
    /// A name may begin with a dash.
    dashed: bool,
}

impl Walker<'_> {
    /// What the segments from here on print, where that follows from their words: names of files, the folder, a program,
    /// a commit.
    pub(super) fn printed(&self, from: usize) -> Option<Value> {
        let segments = self.out.get(from..)?;
        if let [one] = segments
            && one.read_only
            && one.needs.is_empty()
        {
            let words: Vec<&str> = one.argv.iter().map(String::as_str).collect();
            if let Some(value) = self.one_line(&words) {
                return Some(value);
            }
        }
        let mut fed = None;
        for segment in segments {
            fed = Some(self.listed_by(std::slice::from_ref(segment), fed)?);
        }
        let fed = fed?;
        let [pattern] = fed.folders.as_slice() else {
            return None;
        };
        // Names of this folder stand by themselves, and may begin with a dash.
        let here = self.folders.first().filter(|_| self.folders.len() == 1)?;
        let is_here = |rest: &&str| rest.starts_with("**");
        let below = pattern.strip_prefix(&format!("{}/", here.display()));
        Some(Value {
            text: below.filter(is_here).unwrap_or(pattern).to_owned(),
            wild: true,
            many: true,
            single: false,
        })
    }

    /// What is one line whatever the files are.
    fn one_line(&self, words: &[&str]) -> Option<Value> {
        let plain = |w: &str| !w.is_empty() && !w.starts_with('-') && !w.contains('/');
        match words {
            ["pwd"] => match self.folders.as_slice() {
                [one] => Some(Value::plain(one.to_str()?)),
                _ => None,
            },
            // A program that is found is no secret, wherever it lies.
            ["which", name] | ["command", "-v", name] if plain(name) => {
                Some(Value::like(format!("/usr/bin/{name}")))
            }
            // Names of branches and commits begin with no dash and hold no blank.
            ["git", "merge-base", a, b] if plain_revision(a) && plain_revision(b) => {
                Some(Value::like("HEAD"))
            }
            ["git", "rev-parse", one]
            | [
                "git",
                "rev-parse",
                "--short" | "--abbrev-ref" | "--verify",
                one,
            ] if plain_revision(one) => Some(Value::like("HEAD")),
            ["git", "log", rest @ ..] if rest.iter().any(|w| COMMITS.contains(w)) => Some(Value {
                many: true,
                ..Value::like("HEAD")
            }),
            ["git", "branch", "--show-current"]
            | ["git", "describe", "--tags", "--abbrev=0"]
            | ["git", "describe", "--tags"] => Some(Value::like("HEAD")),
            _ => None,
        }
    }

    /// What the segments from here on list: one reader that prints names, or one that picks lines of such a list.
    pub(super) fn listed(&self, from: usize, before: Option<Fed>) -> Option<Fed> {
        self.listed_by(self.out.get(from..)?, before)
    }

    fn listed_by(&self, segments: &[Segment], before: Option<Fed>) -> Option<Fed> {
        let segment = match segments {
            [one] if one.read_only && one.needs.is_empty() => one,
            _ => return None,
        };
        if segment.does.is_empty() && picks_lines(segment) {
            return before;
        }
        let dashed = match segment.argv.first()?.as_str() {
            "find" => {
                let shows = ["-printf", "-ls", "-exec"];
                (!segment.argv.iter().any(|a| shows.contains(&a.as_str()))).then_some(false)?
            }
            "fd" => true,
            "git" if segment.argv.get(1)? == "ls-files" => {
                let plain = |a: &String| {
                    !a.starts_with('-')
                        || matches!(
                            a.as_str(),
                            "-z" | "-o"
                                | "-m"
                                | "--others"
                                | "--modified"
                                | "--exclude-standard"
                                | "--cached"
                                | "--"
                        )
                };
                segment.argv.iter().skip(2).all(plain).then_some(true)?
            }
            "grep" | "rg" => segment
                .argv
                .iter()
                .any(|a| lists_names(a))
                .then_some(true)?,
            "ls" => {
                let plain = ["-1", "-t", "-r", "-S", "-d", "-tr", "-1t", "-A"];
                let mut options = segment.argv.iter().filter(|a| a.starts_with('-'));
                options
                    .all(|a| plain.contains(&a.as_str()))
                    .then_some(true)?
            }
            _ => return None,
        };
        let mut folders: Vec<String> = Vec::new();
        for access in &segment.does {
            if let Access::Read(path) = access {
                let text = path.to_string_lossy();
                let folder = text.trim_end_matches("/**").trim_end_matches("/[!.]**");
                folders.push(folder.to_owned());
            }
        }
        // What a folder is listed with are names without it.
        if folders.is_empty() || segment.argv.first()? == "ls" {
            folders.extend(
                self.folders
                    .iter()
                    .map(|f| f.to_string_lossy().into_owned()),
            );
        }
        folders.sort();
        folders.dedup();
        let name = only_name(&segment.argv).or_else(|| only_tracked(&segment.argv));
        for folder in &mut folders {
            folder.push_str("/**");
            if let Some(name) = name.filter(|name| !dashed || name.starts_with('*')) {
                folder.push('/');
                folder.push_str(name);
            }
        }
        (!folders.is_empty()).then_some(Fed { folders, dashed })
    }
}

fn plain_revision(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/~^-".contains(c);
    !word.starts_with('-') && word.chars().all(plain)
}

/// The name that all of what `find` lists fits.
fn only_name(argv: &[String]) -> Option<&str> {
    let joins = ["-o", "-or", "-not", "!", "(", ")", ","];
    let mut named = argv.windows(2).filter_map(|pair| match pair {
        [option, name] if option == "-name" => Some(name.as_str()),
        _ => None,
    });
    let name = named.next().filter(|name| !name.contains(['/', '\\']))?;
    (named.next().is_none() && !argv.iter().any(|a| joins.contains(&a.as_str()))).then_some(name)
}

/// The pattern of names that `git ls-files` is asked for.
fn only_tracked(argv: &[String]) -> Option<&str> {
    let (git, rest) = argv.split_at_checked(2)?;
    let mut names = rest.iter().filter(|a| !a.starts_with('-'));
    let name = names
        .next()
        .filter(|_| git == ["git", "ls-files"] && names.next().is_none())?;
    let ending = name.strip_prefix("*.")?;
    let plain = !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then_some(name.as_str())
}

/// `-l`, alone or among letters that take no value.
fn lists_names(arg: &str) -> bool {
    let letters = arg.strip_prefix('-').unwrap_or_default();
    matches!(
        arg,
        "--files" | "--files-with-matches" | "--files-without-match"
    ) || letters.contains('l') && letters.chars().all(|c| "lrRinwEFIHs".contains(c))
}

/// Passes some of its lines on as they are.
fn picks_lines(segment: &Segment) -> bool {
    let Some((name, args)) = segment.argv.split_first() else {
        return false;
    };
    match name.as_str() {
        "head" | "tail" | "sort" | "uniq" | "tac" | "shuf" => {
            !args.iter().any(|a| a.starts_with("-c") && name == "uniq")
        }
        "grep" | "egrep" => args.iter().filter(|a| a.starts_with('-')).all(|a| {
            let letters = a.trim_start_matches('-');
            !a.starts_with("--") && letters.chars().all(|c| "vEiFwxPz".contains(c))
        }),
        "tr" => args == ["\\n", "\\0"],
        _ => false,
    }
}

/// Puts what comes in into the words of the command that takes it.
pub(super) fn give(args: &[Word], inner: &mut Vec<Word>, fed: Option<&Fed>) {
    let names = || match fed {
        None => vec![Word::unknown("…")],
        Some(fed) => fed
            .folders
            .iter()
            .map(|folder| Word {
                many: fed.dashed,
                wild: true,
                ..Word::plain(folder)
            })
            .collect(),
    };
    let outer = args
        .get(..args.len().saturating_sub(inner.len()))
        .unwrap_or_default();
    let by_mark = outer.iter().enumerate().find_map(|(i, word)| {
        let attached = word.text.strip_prefix("-I")?;
        match attached.is_empty() {
            true => outer.get(i + 1).map(|w| w.text.clone()),
            false => Some(attached.to_owned()),
        }
    });
    let Some(mark) = by_mark else {
        return inner.extend(names());
    };
    let words = std::mem::take(inner);
    for word in words {
        if word.text == mark {
            inner.extend(names());
        } else if word.text.contains(&mark) {
            inner.push(Word::unknown(word.text));
        } else {
            inner.push(word);
        }
    }
}
