//! From the words of one command to what they cause: files by the text that names them, hosts, marks, and whether the
//! command is a known reader. Paths are not resolved here, and nothing is looked up.

use super::checks;
use super::commands::{self, Files};
use super::spec::{self, Operands, Reader, Sorted, Tag};
use super::word::Word;
use crate::address::with_local_port;
use ostler_wire::Mark;

/// Everything below a folder, and everything visible below it.
pub const DEEP: &str = "/**";
pub const DEEP_VISIBLE: &str = "/[!.]**";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    Read(String),
    Write(String),
    /// `*` where the words do not tell the host.
    Net(String),
}

#[derive(Default)]
pub struct Effects {
    pub touches: Vec<Touch>,
    pub marks: Vec<Mark>,
    /// The row of a known reader, as far as its words tell; where it reads is in `touches`.
    pub reader: Option<&'static Reader>,
    /// Of a known reader that shows what files were, the words that may name one. Its other words are known not to.
    pub named: Option<Vec<Word>>,
    /// It goes through the folders that it names, and prints what it finds there.
    pub walks: bool,
    /// A reader's name with words that are not known: it may show what lies below the folders it names.
    pub reads_trees: bool,
    /// Whether the touches are all that it does to files.
    pub understood: bool,
    /// What it runs is in no text that can be read here. Its own words are known all the same.
    pub runs_text: bool,
}

pub fn of(words: &[Word]) -> Effects {
    let mut out = Effects::default();
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let Some((name, args)) = words.split_first() else {
        return out;
    };
    let base = name.text.rsplit('/').next().unwrap_or_default();
    if let Some(found) = Found::new(words) {
        // Where links lead is in no word.
        out.reader = (!found.sorted.follows_links()).then_some(found.row);
        out.walks = found.row.has(Tag::Walks) || found.sorted.is_marked('r');
        found.reads(&mut out);
        return out;
    }
    if commands::PRIVILEGE.contains(&base) {
        out.marks.push(Mark::Privilege);
    }
    if commands::PROCESS.contains(&base) {
        out.marks.push(Mark::Process);
    }
    if base == "git" {
        git_shows(args, &mut out);
    }
    out.reads_trees = spec::named(base, &texts).any(Reader::shows_trees);
    let short = [base].into_iter().chain(texts.iter().skip(1).copied());
    let short: Vec<&str> = short.collect();
    if commands::NET_ANY
        .iter()
        .any(|entry| commands::starts(&short, entry))
    {
        out.touches.push(Touch::Net("*".into()));
    }
    if commands::NET_OPERANDS.contains(&base) {
        net(args, &mut out);
    }
    if base == "wget" {
        let document = value_of(args, "-O", "--output-document");
        let folder = value_of(args, "-P", "--directory-prefix").map(|f| format!("{f}{DEEP}"));
        let files = document.into_iter().chain(folder).filter(|f| f != "-");
        out.touches.extend(files.map(Touch::Write));
    }
    if let Some(writer) = commands::WRITERS.iter().find(|w| w.name == base) {
        out.understood = true;
        out.marks.extend(writer.deletes.then_some(Mark::Delete));
        writes(writer.files, args, &mut out);
    }
    match base {
        "dd" => out.touches.extend(args.iter().filter_map(|a| {
            let read = a.text.strip_prefix("if=").map(|p| Touch::Read(p.into()));
            read.or_else(|| a.text.strip_prefix("of=").map(|p| Touch::Write(p.into())))
        })),
        "sed" | "perl"
            if args.iter().any(|a| {
                a.text.starts_with("-i")
                    || a.text.starts_with("--in-place")
                    || short_has(&a.text, 'i')
            }) =>
        {
            out.touches
                .extend(operands(args).skip(1).map(|a| Touch::Write(a.text.clone())));
        }
        "sort" => out
            .touches
            .extend(value_of(args, "-o", "--output").map(Touch::Write)),
        _ => {}
    }
    let runs_text = commands::INTERPRETERS.contains(&base)
        || commands::SHELLS.contains(&base)
        || base == "parallel";
    out.runs_text = runs_text;
    if runs_text || words.iter().any(|w| !w.known) {
        out.marks.push(Mark::Unsure);
    }
    out
}

fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    args.iter().filter(|a| !is_option(&a.text))
}

/// A lone `-` is a file.
pub fn is_option(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

fn short_has(arg: &str, letter: char) -> bool {
    is_option(arg) && !arg.starts_with("--") && arg.contains(letter)
}

fn value_of(args: &[Word], short: &str, long: &str) -> Option<String> {
    args.iter().enumerate().find_map(|(i, arg)| {
        let text = arg.text.as_str();
        if text == short || text == long {
            return args.get(i + 1).map(|a| a.text.clone());
        }
        let value = text
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='));
        value
            .or_else(|| text.strip_prefix(short).filter(|v| !v.is_empty()))
            .map(str::to_owned)
    })
}

/// A command that fits a row of the table.
struct Found<'a> {
    row: &'static Reader,
    sorted: Sorted<'a>,
    args: Vec<&'a Word>,
    /// Files that a closer look found.
    more: Vec<String>,
}

impl<'a> Found<'a> {
    fn new(words: &'a [Word]) -> Option<Self> {
        let mut words: Vec<&Word> = words.iter().collect();
        let is =
            |word: Option<&&Word>, text: &str| word.is_some_and(|w| w.is_sure() && w.text == text);
        if is(words.first(), "git") {
            while ["--no-pager", "-P", "--no-optional-locks"]
                .iter()
                .any(|o| is(words.get(1), o))
            {
                words.remove(1);
            }
        }
        if is(words.first(), "find") {
            super::find::without_exec(&mut words)?;
        }
        spec::find(&words).find_map(|(row, skip)| Self::by(row, words.get(skip..)?.to_vec()))
    }

    fn by(row: &'static Reader, args: Vec<&'a Word>) -> Option<Self> {
        let sorted = row.sort(&args)?;
        let more = checks::run(row, &sorted, &args)?;
        let response =
            row.has(Tag::Response) && sorted.operands.iter().any(|w| w.text.starts_with('@'));
        (!response).then_some(Self {
            row,
            sorted,
            args,
            more,
        })
    }

    fn reads(&self, out: &mut Effects) {
        let (row, sorted) = (self.row, &self.sorted);
        let name = row.words.first().copied().unwrap_or_default();
        // What git shows of a file is the file: a path behind a revision, or beside it, is named by its words.
        out.understood = name != "git";
        if name == "git" {
            let files = sorted.files.iter().map(Word::plain);
            let operands = sorted.operands.iter().map(|word| (*word).clone());
            out.named = Some(
                std::iter::once(Word::plain("git"))
                    .chain(operands)
                    .chain(files)
                    .collect(),
            );
            let args: Vec<&str> = row
                .words
                .iter()
                .skip(1)
                .copied()
                .chain(self.args.iter().map(|a| a.text.as_str()))
                .collect();
            out.touches
                .extend(super::tracked::shown(&args).into_iter().map(Touch::Read));
        }
        let deep = row.has(Tag::Deep) || sorted.is_marked('d');
        let below = match row.has(Tag::Visible) {
            true if sorted.is_marked('h') || self.has_odd_glob() => Some(DEEP),
            true => Some(DEEP_VISIBLE),
            false => deep.then_some(DEEP),
        };
        let listed = self.listed();
        let here = row.has(Tag::Here) && (row.operands != Operands::Pattern || below.is_some());
        if listed.is_empty() && here {
            out.touches
                .push(Touch::Read(format!(".{}", below.unwrap_or_default())));
        }
        for word in listed {
            out.touches.push(Touch::Read(word.text.clone()));
            let folder = !commands::STREAMS.contains(&word.text.as_str());
            if let Some(below) = below.filter(|_| folder) {
                let folder = word.text.trim_end_matches('/');
                out.touches.push(Touch::Read(format!("{folder}{below}")));
            }
        }
        if row.has(Tag::Visible) {
            out.touches
                .extend(self.hidden().into_iter().map(Touch::Read));
        }
        let files = sorted.files.iter().chain(&self.more).filter(|f| *f != "-");
        out.touches.extend(files.cloned().map(Touch::Read));
    }

    /// A glob in which a dot may hide.
    fn has_odd_glob(&self) -> bool {
        let mut options = self.sorted.options.iter();
        options.any(|(name, value)| {
            let odd = |glob: &str| !glob.starts_with('!') && glob.contains(['[', '?', '\\']);
            matches!(*name, "-g" | "--glob") && value.as_deref().is_some_and(odd)
        })
    }

    /// Hidden files that a glob of its own brings in: a leading star means them, too.
    fn hidden(&self) -> Vec<String> {
        let is_glob = |name: &str| matches!(name, "-g" | "--glob" | "--iglob");
        let globs = self.sorted.options.iter().filter(|(name, _)| is_glob(name));
        let globs = globs
            .filter_map(|(_, value)| value.as_deref())
            .filter(|g| !g.starts_with('!'));
        let mut out = Vec::new();
        for glob in globs.flat_map(alternatives) {
            let name = glob.rsplit('/').next().unwrap_or_default();
            match name.trim_start_matches('*') {
                rest if rest.len() < name.len() => {
                    out.push(format!(".{DEEP}/.*{rest}"));
                    out.push(format!(".{DEEP}/{rest}"));
                }
                _ => out.push(format!(".{DEEP}/{name}")),
            }
        }
        out.retain(|path| !path.ends_with('/'));
        out
    }

    /// The operands that are files or folders.
    fn listed(&self) -> Vec<&'a Word> {
        let operands = &self.sorted.operands;
        match self.row.operands {
            Operands::Files | Operands::One => operands.clone(),
            Operands::Pattern => {
                let skip = usize::from(!self.sorted.is_marked('p'));
                operands.iter().skip(skip).copied().collect()
            }
            Operands::Text if self.row.check == "find" => {
                let bases = operands
                    .iter()
                    .take_while(|w| !w.text.starts_with(['-', '!', '(']));
                bases.copied().collect()
            }
            Operands::None | Operands::Text | Operands::Known => Vec::new(),
        }
    }
}

/// The patterns that one pair of braces stands for; any pattern where there are more.
fn alternatives(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else {
        return vec![glob.to_owned()];
    };
    match rest.split_once('}') {
        Some((list, after)) if !list.contains('{') && !after.contains('{') => list
            .split(',')
            .map(|piece| format!("{before}{piece}{after}"))
            .collect(),
        Some(_) | None => vec!["*".to_owned()],
    }
}

/// What a git command that is no known reader shows of tracked files.
fn git_shows(args: &[Word], out: &mut Effects) {
    let words: Vec<&str> = args.iter().map(|a| a.text.as_str()).collect();
    out.touches
        .extend(super::tracked::shown(&words).into_iter().map(Touch::Read));
    if super::tracked::looks_further(&words) {
        out.touches.push(Touch::Read(format!(".{DEEP}")));
    }
}

fn writes(files: Files, args: &[Word], out: &mut Effects) {
    let deep = args.iter().any(|a| {
        short_has(&a.text, 'r')
            || short_has(&a.text, 'R')
            || short_has(&a.text, 'a')
            || a.text == "--recursive"
            || a.text == "--archive"
    });
    let list: Vec<&Word> = args
        .iter()
        .skip_while(|a| a.text == "--")
        .filter(|a| !is_option(&a.text))
        .collect();
    let after_dashes = args
        .iter()
        .skip_while(|a| a.text != "--")
        .skip(1)
        .filter(|a| is_option(&a.text));
    let list: Vec<&Word> = list.into_iter().chain(after_dashes).collect();
    if list.iter().any(|w| !w.known || w.many) {
        out.marks.push(Mark::Unsure);
    }
    let mut write = |text: &str| {
        out.touches.push(Touch::Write(text.to_owned()));
        if deep {
            out.touches.push(Touch::Write(format!(
                "{}{DEEP}",
                text.trim_end_matches('/')
            )));
        }
    };
    let target = value_of(args, "-t", "--target-directory")
        .filter(|_| matches!(files, Files::CopyToLast | Files::Move));
    match files {
        Files::Write => list.iter().for_each(|w| write(&w.text)),
        Files::CopyToLast | Files::Move => {
            let moved = list.len() - usize::from(target.is_none() && !list.is_empty());
            let last = target.or_else(|| list.last().map(|w| w.text.clone()));
            let Some(last) = last else { return };
            write(&last);
            for word in &list {
                let name = word
                    .text
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                write(&format!("{}/{name}", last.trim_end_matches('/')));
                if files == Files::Move {
                    write(&word.text);
                }
            }
            // `ln a` makes ./a.
            if list.len() == 1 {
                let name = last
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                write(&name);
            }
            for word in &list {
                out.touches.push(Touch::Read(word.text.clone()));
                if deep {
                    out.touches.push(Touch::Read(format!(
                        "{}{DEEP}",
                        word.text.trim_end_matches('/')
                    )));
                }
            }
            // A folder takes along what is in it.
            if files == Files::Move {
                let below = |word: &&Word| format!("{}{DEEP}", word.text.trim_end_matches('/'));
                let moved = list.iter().take(moved).map(below);
                out.touches.extend(moved.map(Touch::Write));
            }
        }
    }
}

fn net(args: &[Word], out: &mut Effects) {
    // `-d @file` sends that file, `@-` the input.
    let sent = |word: &&Word| word.text.starts_with('@');
    let files = operands(args)
        .filter(sent)
        .map(|w| w.text.get(1..).unwrap_or_default());
    out.touches.extend(
        files
            .filter(|file| *file != "-")
            .map(|file| Touch::Read(file.into())),
    );
    let hosts = || operands(args).filter(|word| !sent(word));
    let before = out.touches.len();
    for word in hosts() {
        if let Some(host) = host_of(&word.text).filter(|_| word.known && !word.glob) {
            out.touches.push(Touch::Net(host));
        }
    }
    let sure = out.touches.len() > before && hosts().all(|w| w.known && host_of(&w.text).is_some());
    if !sure {
        out.touches.push(Touch::Net("*".into()));
    }
    out.touches
        .extend(value_of(args, "-o", "--output").map(Touch::Write));
}

/// The host of a URL, of `user@host:path`, or of a bare name.
fn host_of(text: &str) -> Option<String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match scheme {
        Some(_) => host,
        None => host.split(':').next()?,
    };
    let plausible =
        host.contains('.') || host == "localhost" || scheme.is_some() || text.contains('@');
    let clean = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c));
    let port = match scheme {
        Some("https") => Some(443),
        Some("http") => Some(80),
        // Which port a bare name means, only its program knows.
        Some(_) | None => None,
    };
    (plausible && clean).then(|| with_local_port(&host.to_ascii_lowercase(), port))
}
