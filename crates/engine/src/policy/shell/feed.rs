//! Names that one part of a pipeline lists and `xargs` in the next one hands to a command: they lie below the folders
//! that were searched.

use super::walk::Walker;
use super::word::Word;
use ostler_wire::{Access, Segment};

/// What a command lists: files below these folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fed {
    /// Patterns of their paths.
    folders: Vec<String>,
    /// A name may begin with a dash.
    dashed: bool,
}

impl Walker<'_> {
    /// What the segments from here on list: one reader that prints names, or one that picks lines of such a list.
    pub(super) fn listed(&self, from: usize, before: Option<Fed>) -> Option<Fed> {
        let segment = match self.out.get(from..)? {
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
            "ls" => (segment.argv.len() == 1).then_some(true)?,
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
        if folders.is_empty() {
            folders.extend(
                self.folders
                    .iter()
                    .map(|f| f.to_string_lossy().into_owned()),
            );
        }
        folders.dedup();
        let name = only_name(&segment.argv);
        for folder in &mut folders {
            folder.push_str("/**");
            if let Some(name) = name.filter(|_| !dashed) {
                folder.push('/');
                folder.push_str(name);
            }
        }
        (!folders.is_empty()).then_some(Fed { folders, dashed })
    }
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
