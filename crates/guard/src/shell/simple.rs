//! One simple command: taken out of its wrappers, then judged by its words.

use super::commands::{self, PUBLIC, is_listed};
use super::effects::DEEP;
use super::effects::{self, Effects, Touch};
use super::hidden::{hands_over, hidden, tails, takes_trees};
use super::leads;
use super::spec::Reader;
use super::walk::{Walker, is_local_name};
use super::word::Word;
use super::wrappers::{Assigned, Inside, Peeled, is_variable, joined, peel};
use crate::normalise;
use ostler_wire::{Access, Mark, Segment};
use std::path::{Component, Path, PathBuf};

/// Wrappers around wrappers.
const MAX_WRAPPERS: usize = 8;

/// Reserved words are no commands; a grammar that says so is mistaken.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "function", "select", "coproc", "{", "}", "!", "[[", "]]",
];

impl Walker<'_> {
    pub fn simple(&mut self, raw: &str, words: Vec<Word>, env: Vec<Assigned>) {
        let mut peeled = Peeled {
            env,
            fed: self.fed.take(),
            ..Peeled::default()
        };
        let mut words = words;
        let folders = self.folders.clone();
        for _ in 0..MAX_WRAPPERS {
            match peel(&words, &mut peeled) {
                None => {
                    self.folders.clone_from(&folders);
                    return self.judge(raw, &words, peeled);
                }
                Some(Inside::Command(inner)) => {
                    peeled.forms.push(joined(&words));
                    words = inner;
                }
                Some(Inside::Script(script, dialect)) => {
                    let outer = self.dialect;
                    self.dialect = dialect.unwrap_or(outer);
                    self.nested(raw, &words, peeled, &script);
                    self.dialect = outer;
                    return;
                }
                Some(Inside::Unsure) => break,
            }
        }
        peeled.marks.push(Mark::Unsure);
        peeled.forms.extend(tails(&words));
        self.judge(raw, &words, peeled);
    }

    /// `sh -c`, `eval`: the inner commands are judged like any others.
    fn nested(&mut self, raw: &str, words: &[Word], mut peeled: Peeled, script: &str) {
        let at = self.out.len();
        peeled.forms.push(joined(words));
        let harmless = env_is_harmless(&peeled.env);
        // The outer command stands for itself, so that rules may speak of it; it does nothing of its own.
        self.push(Segment {
            text: raw.to_owned(),
            read_only: harmless && peeled.marks.is_empty(),
            also: peeled.forms.clone(),
            marks: peeled.marks.clone(),
            ..Segment::default()
        });
        if !harmless && let Some(segment) = self.out.get_mut(at) {
            segment.marks.push(Mark::Unsure);
        }
        self.script(script);
    }

    fn judge(&mut self, raw: &str, words: &[Word], peeled: Peeled) {
        let Some(name) = words.first() else {
            return self.unsure(raw);
        };
        if let [_, option, folder, rest @ ..] = words
            && name.is_sure()
            && name.text == "git"
            && option.is_sure()
            && option.text == "-C"
            && folder.is_sure()
        {
            return self.judge_in(raw, words, &folder.text, rest, peeled);
        }
        if self.change_folder(raw, words, &peeled) || self.read_line(raw, words, &peeled) {
            return;
        }
        let effects = effects::of(words);
        let harmless = env_is_harmless(&peeled.env);
        let mut segment = self.segment(raw, words, &peeled, harmless);
        segment.walks = effects.walks;
        let sure_words = !segment.is_unsure();
        segment.marks.extend(&effects.marks);
        if effects.reader.is_none() {
            segment.also.extend(hidden(words));
        }
        let shadowed = self.functions.contains(&name.text);
        let looked_up = is_name(name) && !shadowed && !RESERVED.contains(&name.text.as_str());
        if !looked_up && (!name.is_sure() || shadowed || RESERVED.contains(&name.text.as_str())) {
            segment.marks.push(Mark::Unsure);
        }
        let mut inside = match effects.walks {
            false => self.resolve_listed(&effects.touches, &mut segment),
            true => self.resolve(&effects.touches, &mut segment),
        };
        if !effects.understood {
            let meant = effects.named.as_deref().unwrap_or(words);
            segment.names.extend(self.named(meant));
            if takes_trees(words) || effects.reads_trees {
                let below = |path: &PathBuf| PathBuf::from(format!("{}{DEEP}", path.display()));
                let trees: Vec<PathBuf> = segment.names.iter().map(below).collect();
                segment.names.extend(trees);
            }
        }
        // One word says nothing of where it runs.
        let root = self.place.root;
        let elsewhere = self.folders.iter().filter(|f| !f.starts_with(root));
        if effects.reader.is_none() {
            segment.names.extend(elsewhere.cloned());
        }
        if effects.reader.is_some() && name.text == "git" {
            // What lies outside is named by no plain git reader but these.
            inside &= segment.names.iter().all(|p| p.starts_with(self.place.root));
        }
        let sure = !segment.is_unsure() && segment.marks.is_empty();
        let cleared = |row: &Reader| peeled.cleared && row.runs_project_code();
        let reader = effects.reader.filter(|row| !cleared(row));
        let reader = reader.is_some_and(|row| self.may_run(row));
        segment.read_only = reader && inside && looked_up && harmless && sure;
        // Whoever allows a script by its name allows what it does.
        let told = if effects.runs_text {
            sure_words
        } else {
            !segment.is_unsure()
        };
        segment.plain = looked_up
            && words.iter().all(|w| w.known && !w.odd && !w.wild)
            && !may_become_options(words)
            && (harmless || peeled.bound.is_none())
            && told
            && !hands_over(words)
            && self.stays();
        segment.leads = self.leads(words, &effects);
        segment.marks.dedup();
        self.push(segment);
        if name.text.ends_with("find") {
            self.find(words);
        }
    }

    /// `git -C folder …`: the same command, run there. An allow rule must name all of it.
    fn judge_in(&mut self, raw: &str, words: &[Word], folder: &str, rest: &[Word], peeled: Peeled) {
        let mut peeled = peeled;
        peeled.forms.push(joined(words));
        peeled.bound.get_or_insert_with(|| words.to_vec());
        let inner: Vec<Word> = words.iter().take(1).chain(rest).cloned().collect();
        let there = self.paths(folder);
        let here = std::mem::replace(&mut self.folders, there.clone());
        let at = self.out.len();
        self.judge(raw, &inner, peeled);
        self.folders = here;
        if let Some(segment) = self.out.get_mut(at) {
            segment.does.extend(there.into_iter().map(Access::Read));
        }
    }

    /// What obeys files of the project is a reader inside of it only.
    fn may_run(&self, row: &Reader) -> bool {
        let inside = |folder: &PathBuf| folder.starts_with(self.place.root);
        !self.folders.is_empty() && (!row.runs_project_code() || self.folders.iter().all(inside))
    }

    fn segment(&self, raw: &str, words: &[Word], peeled: &Peeled, harmless: bool) -> Segment {
        let shown = peeled.bound.as_deref().unwrap_or(words);
        let mut argv: Vec<String> = shown.iter().map(|w| w.text.clone()).collect();
        let mut also = peeled.forms.clone();
        also.push(joined(words));
        also.push(raw.to_owned());
        if !harmless {
            let prefix = peeled.env.iter().map(|(_, _, raw)| raw.clone());
            argv = prefix.chain(argv).collect();
        }
        let text = argv.join(" ");
        also.retain(|form| *form != text);
        also.dedup();
        Segment {
            text,
            argv,
            also,
            marks: peeled.marks.clone(),
            ..Segment::default()
        }
    }

    /// `cd` and its like: where later commands find themselves.
    fn change_folder(&mut self, raw: &str, words: &[Word], peeled: &Peeled) -> bool {
        let Some((name, args)) = words.split_first() else {
            return false;
        };
        if !matches!(name.text.as_str(), "cd" | "pushd" | "popd" | "chdir") {
            return false;
        }
        let targets: Vec<&Word> = args
            .iter()
            .filter(|a| !effects::is_option(&a.text))
            .collect();
        let options_known = args
            .iter()
            .all(|a| !effects::is_option(&a.text) || matches!(a.text.as_str(), "-L" | "--"));
        let target = match (name.text.as_str(), targets.as_slice()) {
            ("cd", []) => self.place.home.map(|h| h.to_string_lossy().into_owned()),
            ("cd" | "pushd" | "chdir", [one])
                if one.is_sure() && one.text != "-" && !one.text.is_empty() =>
            {
                Some(one.text.clone())
            }
            _ => None,
        };
        let plain_env = peeled.env.is_empty()
            && !self.vars.contains_key("CDPATH")
            && options_known
            && !self.functions.contains(&name.text);
        let folders = target
            .filter(|_| plain_env && name.is_sure())
            .map(|t| self.paths(&t))
            .unwrap_or_default();
        let mut segment = self.segment(raw, words, peeled, peeled.env.is_empty());
        segment.read_only = !folders.is_empty() && segment.marks.is_empty();
        segment.plain = segment.read_only;
        if folders.is_empty() {
            segment.marks.push(Mark::Unsure);
        }
        segment.does = folders.iter().cloned().map(Access::Read).collect();
        self.folders = folders;
        self.push(segment);
        true
    }

    /// `read -r x`: later commands do not know what x is.
    fn read_line(&mut self, raw: &str, words: &[Word], peeled: &Peeled) -> bool {
        let Some((name, args)) = words.split_first() else {
            return false;
        };
        let names: Vec<&Word> = args.iter().filter(|a| a.text != "-r").collect();
        let plain = name.text == "read"
            && name.is_sure()
            && !self.functions.contains("read")
            && peeled.marks.is_empty()
            && peeled.forms.is_empty()
            && peeled.env.iter().all(|(name, _, _)| name == "IFS")
            && !names.is_empty()
            && names
                .iter()
                .all(|n| n.is_sure() && is_variable(&n.text) && is_local_name(&n.text));
        if plain {
            let unknown = names.iter().map(|n| (n.text.clone(), None));
            self.vars.extend(unknown);
            let mut segment = self.segment(raw, words, peeled, true);
            segment.read_only = true;
            segment.plain = true;
            self.push(segment);
        }
        plain
    }

    /// The same for a command that lists the names in a folder and goes no deeper: some may be listed by anybody, where
    /// they are named as such.
    fn resolve_listed(&self, touches: &[Touch], segment: &mut Segment) -> bool {
        let listed = |touch: &&Touch| matches!(touch, Touch::Read(text) if text.starts_with('/') && is_listed(&normalise(Path::new(text))));
        let (open, rest): (Vec<&Touch>, Vec<&Touch>) = touches.iter().partition(listed);
        let owned = |list: Vec<&Touch>| list.into_iter().cloned().collect::<Vec<_>>();
        self.resolve(&owned(open), segment);
        self.resolve(&owned(rest), segment)
    }

    /// Turns touches into accesses of the segment; whether everything that is read lies in the workspace or is public.
    pub(super) fn resolve(&self, touches: &[Touch], segment: &mut Segment) -> bool {
        let mut inside = true;
        for touch in touches {
            let (text, reads) = match touch {
                Touch::Net(host) => {
                    segment.does.push(Access::Net(host.clone()));
                    continue;
                }
                Touch::Read(text) => (text, true),
                Touch::Write(text) => (text, false),
            };
            let nothing = if reads {
                commands::STREAMS
            } else {
                commands::SINKS
            };
            if text == "-" || nothing.contains(&text.as_str()) {
                continue;
            }
            let paths = self.paths(text);
            if paths.is_empty() {
                segment.marks.push(Mark::Unsure);
            }
            segment.names.extend(self.climbing(text));
            for path in paths {
                inside &= self.is_open(&path);
                let access = match reads {
                    true => Access::Read(path),
                    false => Access::Write(path),
                };
                if !segment.does.contains(&access) {
                    segment.does.push(access);
                }
            }
        }
        inside
    }

    /// Whether reading there needs nobody's word.
    pub fn is_open(&self, path: &Path) -> bool {
        path.starts_with(self.place.root)
            || PUBLIC.iter().any(|p| path.starts_with(p))
            || self.place.open.iter().any(|p| path.starts_with(p))
    }

    /// The absolute paths that a word may name; none when that is not known.
    pub fn paths(&self, text: &str) -> Vec<PathBuf> {
        if text.starts_with('/') {
            return vec![normalise(Path::new(text))];
        }
        if text.contains('\0') {
            return Vec::new();
        }
        self.folders
            .iter()
            .map(|folder| normalise(&folder.join(text)))
            .collect()
    }

    /// The path as the system walks it, where `..` comes after a name: that name may be a link.
    pub fn climbing(&self, text: &str) -> Vec<PathBuf> {
        let below = |part: Component<'_>| matches!(part, Component::Normal(_));
        let mut parts = Path::new(text).components().skip_while(|p| !below(*p));
        match parts.any(|p| p == Component::ParentDir) && !text.contains('\0') {
            true => self.folders.iter().map(|f| f.join(text)).collect(),
            false => Vec::new(),
        }
    }

    /// Whether it runs in the project: elsewhere the same words mean other files.
    fn stays(&self) -> bool {
        let mut folders = self.folders.iter();
        folders.all(|folder| normalise(folder).starts_with(self.place.root))
    }

    /// What a known command does to files is declared; of any other, a word may be a file that it runs.
    fn leads(&self, words: &[Word], effects: &Effects) -> Vec<String> {
        let declared = effects.reader.is_some() || effects.understood;
        match declared && !leads::runs_files(words) {
            true => leads::compared(words, |piece| self.is_inside(piece)),
            false => leads::leading(words, |piece| self.is_inside(piece)),
        }
    }

    /// Whether a word names a path in the project.
    fn is_inside(&self, text: &str) -> bool {
        let mut paths = self.paths(text).into_iter();
        paths.all(|path| path.starts_with(self.place.root))
    }

    /// Every file that a word of an unknown command could mean.
    fn named(&self, words: &[Word]) -> Vec<PathBuf> {
        let git = words.first().is_some_and(|w| w.text == "git");
        // A pathspec that leaves a file out does not touch it.
        let meant = |w: &&Word| !git || super::tracked::excluded(&w.text).is_none();
        let pieces = words.iter().skip(1).filter(meant).flat_map(|w| {
            let text = w.text.as_str();
            let attached = text.strip_prefix('-').and_then(|t| t.get(1..));
            let cut = text.split(|c: char| c.is_whitespace() || "=,:;|&<>()`\"'@".contains(c));
            [Some(text), attached, w.shape.as_deref()]
                .into_iter()
                .flatten()
                .chain(cut)
                .collect::<Vec<_>>()
        });
        let mut out: Vec<PathBuf> = Vec::new();
        for piece in pieces.filter(|p| !p.is_empty()) {
            for path in self.paths(piece).into_iter().chain(self.climbing(piece)) {
                if !out.contains(&path) {
                    out.push(path);
                }
            }
        }
        out
    }
}

fn env_is_harmless(env: &[Assigned]) -> bool {
    env.iter()
        .all(|(name, value, _)| super::is_harmless(name, value.as_deref()))
}

/// Whether a pattern among the words may become a name that the command takes for an option.
fn may_become_options(words: &[Word]) -> bool {
    let before = words.iter().take_while(|word| word.text != "--");
    before.filter(|word| word.glob).any(|word| {
        let fixed = word.text.split(['*', '?', '[']).next();
        fixed.is_some_and(|fixed| fixed.is_empty() || fixed.starts_with('-'))
    })
}

/// A name that a shell looks up on PATH.
fn is_name(word: &Word) -> bool {
    word.is_sure()
        && !word.text.is_empty()
        && !word
            .text
            .contains(|c: char| c == '/' || c == '=' || c.is_whitespace())
        && word.text.is_ascii()
}
