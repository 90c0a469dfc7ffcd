//! Which changes of a git repository's settings and plans a command may leave behind. Git runs programs that they name, so
//! only settings that are known to be harmless are taken over; the others stay as they were. The parser reads a file exactly
//! as git does: what git would not read is not taken over either.

mod addresses;
mod targets;

use addresses::{is_address, is_fetch};
use ostler_files::git_file::{Setting, parse};
use std::collections::BTreeSet;
use std::path::Path;
use targets::{Place, turned_keys};

/// Settings that run nothing and lead nowhere, whatever their value; `*` is any one part.
const HARMLESS: &[&str] = &[
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.abbrev",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.untrackedcache",
    "core.compression",
    "core.commentchar",
    "core.multipackindex",
    "core.commitgraph",
    "branch.*.merge",
    "branch.*.rebase",
    "branch.*.description",
    "branch.*.gh-merge-base",
    "branch.*.vscode-merge-base",
    "branch.*.github-pr-owner-number",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "submodule.recurse",
    "submodule.*.branch",
    "submodule.*.ignore",
    "submodule.active",
    "submodule.*.active",
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "color.ui",
    "rerere.enabled",
    "core.longpaths",
    "core.trustctime",
    "core.checkstat",
    "core.preloadindex",
    "core.splitindex",
    "pull.rebase",
    "pull.ff",
    "merge.ff",
    "merge.conflictstyle",
    "fetch.prune",
    "rebase.autostash",
    "rebase.autosquash",
    "tag.sort",
    "diff.renames",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "status.showuntrackedfiles",
    "status.short",
    "status.branch",
    "log.date",
    "log.decorate",
    "pack.threads",
    "index.version",
    "index.threads",
    "feature.manyfiles",
    "receive.denycurrentbranch",
    "receive.denynonfastforwards",
    "lfs.repositoryformatversion",
];
/// Settings that are harmless with some values: another storage or format could lead git out of the repository.
const VALUES: &[(&str, &[&str])] = &[
    ("core.repositoryformatversion", &["0", "1"]),
    ("core.bare", &["false"]),
    ("core.logallrefupdates", &["true", "always"]),
    // Its file is looked at like this one.
    ("extensions.worktreeconfig", &["true", "false"]),
];
/// How objects are named, which a repository keeps from its beginning: all that git reads in it depends on that.
const OBJECT_FORMAT: &str = "extensions.objectformat";
const FORMATS: [&str; 2] = ["sha1", "sha256"];
/// Where names of commits are kept, which it keeps, too: with another one, git sees none of its branches, and removes what
/// they led to.
const REF_STORAGE: &str = "extensions.refstorage";
const STORAGES: [&str; 2] = ["files", "reftable"];
/// Settings that decide how much git deletes by itself, or whether it signs: harmless only in a repository that a command
/// makes itself.
const OF_NEW: &[&str] = &[
    "gc.auto",
    "gc.autodetach",
    "commit.gpgsign",
    "tag.gpgsign",
    "extensions.preciousobjects",
];
/// Settings that are addresses: harmless if they lead to another machine. At a path of this one, git runs the hooks that lie
/// there, and commands can write in many places.
const ADDRESSES: &[&str] = &["remote.*.url", "remote.*.pushurl", "submodule.*.url"];
/// Settings that name a remote: what is no name of a remote is an address for git, or a folder.
const NAMES: &[&str] = &[
    "remote.pushdefault",
    "branch.*.remote",
    "branch.*.pushremote",
    "checkout.defaultremote",
];
/// Settings of a remote, harmless if it is one: without an address its name is a folder. A remote that promises objects is
/// not: git asks it for one that is missing whenever somebody looks, with all that its address says.
const OF_REMOTES: &[&str] = &["remote.*.tagopt", "remote.*.prune", "remote.*.gh-resolved"];
const FETCH: &str = "remote.*.fetch";
/// The repository itself, as a remote.
const ITSELF: &str = ".";
const URL: &str = "remote.*.url";
/// Settings that are a yes or no, or the name of a program.
const SWITCHES: &[&str] = &["core.fsmonitor"];
/// What a repository cannot do without.
const LEAST: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n";
/// Steps of a rebase that run nothing, by both their names.
const STEPS: &[&str] = &[
    "pick",
    "p",
    "reword",
    "r",
    "edit",
    "e",
    "squash",
    "s",
    "fixup",
    "f",
    "drop",
    "d",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "update-ref",
    "u",
    "break",
    "b",
    "noop",
    "revert",
];
/// Ways to merge that git has itself; any other is a program, and may be a path to one.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];
/// What is said of a file that cannot be read as settings.
const UNREADABLE: &str = "what is no setting";

/// What is to be there after a command.
#[derive(Debug, PartialEq, Eq)]
pub struct Merged {
    pub text: Vec<u8>,
    /// Settings or steps that were not taken over.
    pub refused: Vec<String>,
}

/// A file of git of which some changes are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Settings,
    /// Settings that are read besides those of a repository, and count more.
    MoreSettings,
    /// What a rebase has still to do.
    Plan,
    /// How a rebase merges.
    Strategy,
    /// The same for another sequence, among other options.
    Options,
}

impl Kind {
    /// By its name and the folder that it lies in.
    pub fn of(path: &Path) -> Option<Self> {
        let folder = path.parent()?;
        let name = path.file_name()?.to_str()?;
        match name {
            "config" if folder.join("HEAD").exists() => Some(Self::Settings),
            "config.worktree" if folder.join("HEAD").exists() => Some(Self::MoreSettings),
            "git-rebase-todo" if folder.ends_with("rebase-merge") => Some(Self::Plan),
            "todo" if folder.ends_with("sequencer") => Some(Self::Plan),
            "strategy" if folder.ends_with("rebase-merge") => Some(Self::Strategy),
            "opts" if folder.ends_with("sequencer") => Some(Self::Options),
            _ => None,
        }
    }

    /// The file as it may be after a command.
    pub fn merge(self, before: Option<&[u8]>, after: &[u8]) -> Merged {
        match self {
            Self::Settings => merge_in(Place::Repository, before, after),
            Self::MoreSettings => merge_in(Place::Besides, before, after),
            Self::Plan => merge_plan(before.unwrap_or_default(), after),
            Self::Strategy => {
                let name = String::from_utf8_lossy(after);
                let plain = STRATEGIES.contains(&name.trim_end()).then_some(());
                keep_or(before, after, plain, "ort\n")
            }
            Self::Options => {
                let is_plain = |setting: &Setting| {
                    let value = setting.value.as_deref().unwrap_or_default();
                    setting.key != "options.strategy" || STRATEGIES.contains(&value)
                };
                let plain = parse(after)
                    .filter(|all| all.iter().all(is_plain))
                    .map(drop);
                keep_or(before, after, plain, "")
            }
        }
    }
}

/// Takes over what is harmless of a change from `before`; without one, from nothing.
fn merge_in(place: Place, before: Option<&[u8]>, after: &[u8]) -> Merged {
    let base = before.unwrap_or_default();
    let merged = merge_at(place, [base, after, base]);
    match before {
        None if parse(after).is_none() => Merged {
            text: LEAST.into(),
            ..merged
        },
        Some(_) | None => merged,
    }
}

/// The same for a file that may have been changed by somebody else meanwhile: it is `current` now.
pub fn merge_onto(base: &[u8], after: &[u8], current: &[u8]) -> Merged {
    merge_at(Place::Repository, [base, after, current])
}

fn merge_at(place: Place, [base, after, current]: [&[u8]; 3]) -> Merged {
    let unchanged = |refused: Vec<String>| Merged {
        text: current.to_owned(),
        refused,
    };
    if base == after {
        return unchanged(Vec::new());
    }
    let (Some(was), Some(is), Some(now)) = (parse(base), parse(after), parse(current)) else {
        return unchanged(vec![UNREADABLE.into()]);
    };
    let remotes = Remotes::of(place, [&was, &is, &now]);
    let refused = differing(&risky(&was, &remotes), &risky(&is, &remotes));
    let is_same =
        refused.is_empty() && risky(&was, &remotes) == risky(&is, &remotes) && current == base;
    let text = match is_same {
        true => after.to_owned(),
        false => apply(current, &now, &changed_keys(&was, &is, &remotes), &is),
    };
    let Some(made) = parse(&text).filter(|made| risky(made, &remotes) == risky(&now, &remotes))
    else {
        // Whatever went wrong, nothing that could run something is new.
        return unchanged(vec![UNREADABLE.into()]);
    };
    // A remote that went away leaves its name, which is a folder then.
    let lost: Vec<String> = dangling(&made)
        .difference(&dangling(&now))
        .cloned()
        .collect();
    match lost.is_empty() {
        true => Merged { text, refused },
        false => unchanged(lost),
    }
}

/// The value that counts of a setting, or nothing.
pub fn last_value(text: &[u8], key: &str) -> Option<String> {
    let all = parse(text)?;
    let found = all.into_iter().rfind(|setting| setting.key == key)?;
    found.value
}

/// The new text if it names no program, else what was there, or what stands for nothing.
fn keep_or(before: Option<&[u8]>, after: &[u8], plain: Option<()>, nothing: &str) -> Merged {
    let is_plain = plain.is_some() || before == Some(after);
    Merged {
        text: match is_plain {
            true => after.to_owned(),
            false => before.unwrap_or(nothing.as_bytes()).to_owned(),
        },
        refused: match is_plain {
            true => Vec::new(),
            false => vec!["a way to merge that is a program".into()],
        },
    }
}

/// The steps of `after` without those that run something, unless they were there before.
fn merge_plan(before: &[u8], after: &[u8]) -> Merged {
    let known: BTreeSet<&[u8]> = before
        .split(|b| *b == b'\n')
        .map(<[u8]>::trim_ascii)
        .collect();
    let mut merged = Merged {
        text: Vec::new(),
        refused: Vec::new(),
    };
    for line in after.split_inclusive(|b| *b == b'\n') {
        let step = line.trim_ascii();
        let word = step
            .split(u8::is_ascii_whitespace)
            .next()
            .unwrap_or_default();
        let is_plain = word.is_empty()
            || word.starts_with(b"#")
            || STEPS.iter().any(|step| step.as_bytes() == word);
        match is_plain || known.contains(step) {
            true => merged.text.extend(line),
            false => merged
                .refused
                .push(String::from_utf8_lossy(step).into_owned()),
        }
    }
    merged
}

type Pair<'a> = (&'a str, Option<&'a str>);

fn is_harmless(setting: &Setting, remotes: &Remotes) -> bool {
    let listed = |list: &[&str]| list.iter().any(|known| setting.is(known));
    let value = setting.value.as_deref().unwrap_or("true");
    let is_off = || matches!(value, "false" | "no" | "off" | "0" | "");
    let subsection = || setting.parts().and_then(|(_, subsection, _)| subsection);
    let of_remote = || subsection().is_some_and(|name| remotes.names.contains(name));
    let is_listed = |(known, values): &(&str, &[&str])| {
        setting.is(known) && values.iter().any(|one| value.eq_ignore_ascii_case(one))
    };
    if remotes.turned.contains(&setting.key) {
        return false;
    }
    listed(HARMLESS)
        || (remotes.is_new && listed(OF_NEW))
        || VALUES.iter().any(is_listed)
        || (remotes.is_new && setting.is("core.bare") && value == "true")
        || (remotes.is_new && setting.is(OBJECT_FORMAT) && FORMATS.contains(&value))
        || (remotes.is_new && setting.is(REF_STORAGE) && STORAGES.contains(&value))
        || (listed(ADDRESSES) && is_address(value) && setting.has_plain_name())
        || (setting.is(URL) && remotes.known.contains(value) && setting.has_plain_name())
        || (listed(NAMES) && (value == ITSELF || remotes.names.contains(value)))
        || (listed(OF_REMOTES) && of_remote())
        || (setting.is(FETCH) && of_remote() && is_fetch(value))
        || (listed(SWITCHES) && is_off())
}

/// What the judgement of one setting needs to know of the others.
struct Remotes {
    /// Those that have an address which leads to another machine, or had theirs before.
    names: BTreeSet<String>,
    /// Addresses that were there before: the person's own, by whatever name.
    known: BTreeSet<String>,
    /// Nothing was there before.
    is_new: bool,
    /// Settings whose change would turn a push or a fetch of the person's elsewhere.
    turned: BTreeSet<String>,
}

impl Remotes {
    fn of(place: Place, [was, is, now]: [&[Setting]; 3]) -> Self {
        let turned = turned_keys(place, [was, is, now]);
        let urls = was.iter().chain(now).filter(|setting| setting.is(URL));
        let known: BTreeSet<String> = urls.filter_map(|setting| setting.value.clone()).collect();
        let is_good = |setting: &&Setting| {
            let value = setting.value.as_deref().unwrap_or_default();
            let leads = is_address(value) || known.contains(value);
            setting.is(URL) && leads && setting.has_plain_name()
        };
        let is_taken = |setting: &&Setting| !turned.contains(&setting.key);
        let new = is.iter().filter(is_taken);
        let all = was.iter().chain(new).chain(now);
        let names = all
            .filter(is_good)
            .filter_map(|setting| setting.parts()?.1.map(str::to_owned));
        Self {
            names: names.collect(),
            is_new: was.is_empty(),
            known,
            turned,
        }
    }
}

/// Settings that name a remote which has no address.
fn dangling(settings: &[Setting]) -> BTreeSet<String> {
    let urls = settings.iter().filter(|setting| setting.is(URL));
    let names: BTreeSet<&str> = urls.filter_map(|setting| setting.parts()?.1).collect();
    let is_lost = |setting: &&Setting| {
        let value = setting.value.as_deref().unwrap_or_default();
        let is_name = NAMES.iter().any(|known| setting.is(known));
        is_name && value != ITSELF && !names.contains(value)
    };
    let lost = settings.iter().filter(is_lost);
    lost.map(|setting| setting.key.clone()).collect()
}

fn risky<'a>(settings: &'a [Setting], remotes: &Remotes) -> Vec<Pair<'a>> {
    let risky = settings
        .iter()
        .filter(|setting| !is_harmless(setting, remotes));
    risky.map(Setting::pair).collect()
}

/// The names of what is in one list and not in the other, each once.
fn differing(was: &[Pair<'_>], is: &[Pair<'_>]) -> Vec<String> {
    let count = |list: &[Pair<'_>], pair: &Pair<'_>| list.iter().filter(|p| *p == pair).count();
    let mut names: Vec<String> = is
        .iter()
        .chain(was)
        .filter(|pair| count(was, pair) != count(is, pair))
        .map(|(key, _)| (*key).to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Harmless settings whose values differ.
fn changed_keys(was: &[Setting], is: &[Setting], remotes: &Remotes) -> BTreeSet<String> {
    let all = was.iter().chain(is);
    let keys: BTreeSet<&String> = all.map(|setting| &setting.key).collect();
    let of = |settings: &[Setting], key: &String| -> Vec<Setting> {
        let own = settings.iter().filter(|setting| setting.key == *key);
        own.cloned().collect()
    };
    let is_changed = |key: &&String| {
        let (was, is) = (of(was, key), of(is, key));
        let mut all = was.iter().chain(&is);
        let harmless = all.all(|setting| is_harmless(setting, remotes));
        let values = |all: &[Setting]| -> Vec<Option<String>> {
            all.iter().map(|setting| setting.value.clone()).collect()
        };
        harmless && values(&was) != values(&is)
    };
    keys.into_iter().filter(is_changed).cloned().collect()
}

/// The text with these settings as they are in `wanted`: old ones are cut out, new ones come at the end.
fn apply(text: &[u8], now: &[Setting], keys: &BTreeSet<String>, wanted: &[Setting]) -> Vec<u8> {
    let mut made = Vec::new();
    let mut from = 0;
    for old in now.iter().filter(|setting| keys.contains(&setting.key)) {
        let before = text.get(from..old.span.start).unwrap_or_default();
        let line = before.trim_ascii_end().len();
        let starts_line = before.get(line..).is_some_and(|rest| rest.contains(&b'\n'));
        let kept = match starts_line || line == 0 {
            true => before
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1),
            false => line,
        };
        made.extend(before.get(..kept).unwrap_or_default());
        // It stood behind the name of its section.
        if !starts_line && line > 0 {
            made.push(b'\n');
        }
        from = old.span.end;
    }
    made.extend(text.get(from..).unwrap_or_default());
    if !made.is_empty() && !made.ends_with(b"\n") {
        made.push(b'\n');
    }
    for new in wanted.iter().filter(|setting| keys.contains(&setting.key)) {
        made.extend(new.written().unwrap_or_default().into_bytes());
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(before: Option<&[u8]>, after: &[u8]) -> Merged {
        Kind::Settings.merge(before, after)
    }

    /// A person's file, with what git itself does not write.
    const PERSON: &str = "# mine\n[core]\n\tbare = false\n\tsshCommand = \"ssh -i ~/.ssh/work\" ; why\n[remote \"origin\"]\n\turl = git@x.y:a/b.git\n[alias] st = status\n";

    fn merged(before: &str, after: &str) -> (String, Vec<String>) {
        let merged = merge(Some(before.as_bytes()), after.as_bytes());
        (String::from_utf8(merged.text).unwrap(), merged.refused)
    }

    #[test]
    fn what_git_writes_all_day_is_taken_over_as_it_is() {
        for more in [
            "",
            "[remote \"up\"]\n\turl = https://x.y/z\n\tfetch = +refs/heads/*:refs/remotes/up/*\n",
            "[branch \"a/b\"]\n\tremote = origin\n\tmerge = refs/heads/a/b\n\trebase = true\n",
            "[user]\n\tname = \"A; B\"\n\temail = a@b\n",
            "[submodule \"lib\"]\n\turl = https://x.y/lib\n\tactive = true\n",
            "[submodule \"lib/sub\"]\n\turl = git@x.y:lib\n",
            "[branch \"a\"]\n\tremote = .\n\tmerge = refs/heads/main\n",
            "[remote \"a/b\"]\n\turl = git@x.y:z\n",
            "[remote \"p\"]\n\turl = http://localhost:3000/z\n\tpushurl = https://u@x.y:1/z\n",
            "[core]\n\trepositoryformatversion = 1\n\tlogAllRefUpdates = true\n[extensions]\n\tworktreeConfig = true\n",
            "[core]\n\tfsmonitor = false\n",
            "[remote \"o\"]\n\turl = ssh://git@x.y:22/z\n",
            "[init]\r\n\tdefaultBranch = main\r\n",
        ] {
            let after = format!("{PERSON}{more}");
            assert_eq!(merged(PERSON, &after), (after.clone(), vec![]), "{more}");
            let more = format!("[remote \"origin\"]\n\turl = git@x.y:a/b.git\n{more}");
            let new = merge(None, more.as_bytes());
            assert_eq!(new.refused, [] as [&str; 0], "{more}");
            assert_eq!(new.text, more.as_bytes());
        }
        // A repository keeps the names of its objects, and where those of commits are, from its beginning.
        for (own, key) in [
            (
                "[extensions]\n\tobjectFormat = sha256\n",
                "extensions.objectformat",
            ),
            (
                "[extensions]\n\trefStorage = reftable\n",
                "extensions.refstorage",
            ),
        ] {
            assert_eq!(merge(None, own.as_bytes()).text, own.as_bytes());
            let (text, refused) = merged(PERSON, &format!("{PERSON}{own}"));
            assert_eq!(text, PERSON);
            assert_eq!(refused, [key]);
        }
    }

    #[test]
    fn what_could_run_a_program_is_left_out_and_the_rest_stays() {
        for (more, refused) in [
            ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
            ("[core]\n\tfsmonitor = true\n", "core.fsmonitor"),
            ("[core]\n\tfsmonitor\n", "core.fsmonitor"),
            ("[core] hooksPath = h\n", "core.hookspath"),
            ("[CORE]\nSSHCommand = x\n", "core.sshcommand"),
            ("[alias]\n\tst = !x\n", "alias.st"),
            ("[include]\n\tpath = ../x\n", "include.path"),
            (
                "[includeIf \"gitdir:/\"]\n\tpath = x\n",
                "includeif.gitdir:/.path",
            ),
            ("[diff \"x\"]\n\ttextconv = x\n", "diff.x.textconv"),
            ("[diff.x]\n\ttextconv = x\n", "diff.x.textconv"),
            ("[filter \"x\"]\n\tclean = x\n", "filter.x.clean"),
            ("[core]\n\tworktree = /\n", "core.worktree"),
            ("[remote \"o\"]\n\turl = ext::sh -c x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = \"ex\\\nt::sh\"\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = evil://x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = -oProxyCommand=x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = ../x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = /x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = x.git\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = x/y:z\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = ~/x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = file:///x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = FILE:///x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = HTTPS://x/y\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = localhost:x\n", "remote.o.url"),
            ("[remote \"o\"]\n\turl = [me@localhost]:x\n", "remote.o.url"),
            (
                "[remote \"o\"]\n\turl = [me@localhost:22]:x\n",
                "remote.o.url",
            ),
            ("[remote \"o\"]\n\turl = [localhost]:x\n", "remote.o.url"),
            (
                "[remote \"o\"]\n\turl = ssh://me@127.0.0.1/x\n",
                "remote.o.url",
            ),
            (
                "[remote \"o\"]\n\turl = ssh://[me@localhost]:22/x\n",
                "remote.o.url",
            ),
            ("[remote \"o\"]\n\turl = me@127.0.0.1:x\n", "remote.o.url"),
            (
                "[remote \"o\"]\n\turl = ssh://me@[::1]:22/x\n",
                "remote.o.url",
            ),
            ("[remote \"o\"]\n\turl = ssh://0/x\n", "remote.o.url"),
            (
                "[remote \"o\"]\n\turl = ssh://2130706433/x\n",
                "remote.o.url",
            ),
            ("[remote \"o\"]\n\turl = git://0x7f.1/x\n", "remote.o.url"),
            (
                "[remote \"origin\"]\n\tpushurl = /x\n",
                "remote.origin.pushurl",
            ),
            (
                "[remote \"../x\"]\n\turl = https://x.y/z\n",
                "remote.../x.url",
            ),
            ("[remote \"/x\"]\n\turl = https://x.y/z\n", "remote./x.url"),
            ("[remote]\n\tpushDefault = /x\n", "remote.pushdefault"),
            ("[branch \"m\"]\n\tremote = ../x\n", "branch.m.remote"),
            ("[branch \"m\"]\n\tremote = folder\n", "branch.m.remote"),
            ("[branch \"m\"]\n\tpushRemote = x\n", "branch.m.pushremote"),
            (
                "[branch \"m\"]\n\tpushRemote = https://x.y/z\n",
                "branch.m.pushremote",
            ),
            ("[submodule \"x\"]\n\turl = ../x\n", "submodule.x.url"),
            ("[remote \"o\"]\n\tpromisor = true\n", "remote.o.promisor"),
            (
                "[remote \"origin\"]\n\tpromisor = true\n",
                "remote.origin.promisor",
            ),
            (
                "[remote \"origin\"]\n\tpartialclonefilter = blob:none\n",
                "remote.origin.partialclonefilter",
            ),
            (
                "[extensions]\n\tpartialClone = origin\n",
                "extensions.partialclone",
            ),
            (
                "[extensions]\n\tpartialClone = o\n",
                "extensions.partialclone",
            ),
            (
                "[extensions]\n\trefStorage = files:///x\n",
                "extensions.refstorage",
            ),
            (
                "[extensions]\n\trefStorage = reftable\n",
                "extensions.refstorage",
            ),
            (
                "[core]\n\tlogAllRefUpdates = false\n",
                "core.logallrefupdates",
            ),
            ("[extensions]\n\tnew = 1\n", "extensions.new"),
            ("[core]\n\tbare = true\n", "core.bare"),
            (
                "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/heads/*\n",
                "remote.origin.fetch",
            ),
            (
                "[remote \"origin\"]\n\tfetch = +refs/*:refs/*\n",
                "remote.origin.fetch",
            ),
            (
                "[remote \"origin\"]\n\tfetch = x:HEAD\n",
                "remote.origin.fetch",
            ),
            ("[remote \"o\"]\n\tuploadpack = x\n", "remote.o.uploadpack"),
            ("[remote \"o\"]\n\tvcs = x\n", "remote.o.vcs"),
            ("[branch \"m\"]\n\tremote = ext::sh\n", "branch.m.remote"),
            ("[submodule \"x\"]\n\tupdate = !x\n", "submodule.x.update"),
            (
                "[url \"evil\"]\n\tinsteadOf = https://\n",
                "url.evil.insteadof",
            ),
            ("[gpg]\n\tprogram = x\n", "gpg.program"),
            ("[credential]\n\thelper = !x\n", "credential.helper"),
            ("[core] # \\\n\tpager = x\n", "core.pager"),
        ] {
            let good = "[user]\n\tname = A\n";
            let expect = (format!("{PERSON}{good}"), vec![refused.to_owned()]);
            assert_eq!(
                merged(PERSON, &format!("{PERSON}{good}{more}")),
                expect,
                "{more}"
            );
            assert_eq!(
                merged(PERSON, &format!("{more}{PERSON}{good}")),
                expect,
                "{more}"
            );
        }
    }

    #[test]
    fn the_persons_own_settings_stay() {
        let without = PERSON.replace("\tsshCommand = \"ssh -i ~/.ssh/work\" ; why\n", "");
        let refused = vec!["core.sshcommand".to_owned()];
        assert_eq!(merged(PERSON, &without), (PERSON.into(), refused.clone()));
        assert_eq!(merged(PERSON, "").0, PERSON.replace("\tbare = false\n", ""));
        // Somebody else changed it meanwhile: only the command's own changes come to it.
        let after = format!("{PERSON}[branch \"a\"]\n\tremote = origin\n");
        let current = format!("[gc]\n\tauto = 0\n{PERSON}");
        let found = merge_onto(PERSON.as_bytes(), after.as_bytes(), current.as_bytes());
        let expect = format!("{current}[branch \"a\"]\n\tremote = origin\n");
        assert_eq!(String::from_utf8(found.text).unwrap(), expect);
        assert_eq!(found.refused, [] as [&str; 0]);
        let odd = "[user \"a \\\" b\"]\n[branch \"a \\\" \\\\ b\"]\n\tdescription = \" x#;\\t\"\n[alias]\n\tx = y\n";
        let expect = (
            format!("{PERSON}[branch \"a \\\" \\\\ b\"]\n\tdescription = \" x#;\\t\"\n"),
            vec!["alias.x".to_owned()],
        );
        assert_eq!(merged(PERSON, &format!("{PERSON}{odd}")), expect);
    }

    /// A name without an address is a folder for git: neither can a remote be taken from under its name, nor an address that
    /// is not taken over lend its own.
    #[test]
    fn names_of_remotes_lead_to_remotes() {
        let base = format!("{PERSON}[branch \"m\"]\n\tremote = origin\n");
        let lost = base.replace("\turl = git@x.y:a/b.git\n", "");
        let refused = vec!["remote.origin.url".to_owned()];
        assert_eq!(merged(&base, &lost), (base.clone(), refused));
        let local = "[remote \"x\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/x/*\n[branch \"n\"]\n\tremote = x\n[user]\n\tname = A\n";
        let refused = ["branch.n.remote", "remote.x.fetch", "remote.x.url"];
        assert_eq!(
            merged(&base, &format!("{base}{local}")),
            (
                format!("{base}[user]\n\tname = A\n"),
                refused.map(str::to_owned).to_vec()
            )
        );
        // The person's own may be used.
        let base = format!("{base}[remote \"disk\"]\n\turl = /mnt/x.git\n");
        let base = format!("{base}[branch \"k\"]\n\tremote = disk\n");
        let used = format!("{base}[branch \"n\"]\n\tremote = disk\n");
        assert_eq!(merged(&base, &used), (used.clone(), vec![]));
        // A repository that a command makes may be one without a working tree.
        let bare = "[core]\n\tbare = true\n";
        assert_eq!(merge(None, bare.as_bytes()).text, bare.as_bytes());
    }

    #[test]
    fn what_git_would_not_read_is_not_taken_over() {
        for odd in [
            "[core \"\n",
            "[core\n",
            "fsmonitor = x\n",
            "[core]\n\tbare = \"false\n",
            "[core]\n\tbare = \\x\n",
            "[core]\n\t= x\n",
            "[core]\n\ta b\n",
            "[]\n",
            "[\n",
            "\u{0}\u{1}[",
        ] {
            let refused = vec![UNREADABLE.to_owned()];
            assert_eq!(merged(PERSON, odd), (PERSON.into(), refused), "{odd:?}");
            assert_eq!(
                merge(None, odd.as_bytes()).text,
                LEAST.as_bytes(),
                "{odd:?}"
            );
        }
        assert_eq!(merge(None, &[0xff, 0xfe]).text, LEAST.as_bytes());
    }

    #[test]
    fn steps_of_a_rebase_that_run_something_are_left_out() {
        let check = |before: &str, after: &str, expect: &str, refused: &[&str]| {
            let merged = Kind::Plan.merge(Some(before.as_bytes()), after.as_bytes());
            assert_eq!(String::from_utf8(merged.text).unwrap(), expect, "{after:?}");
            assert_eq!(merged.refused, refused, "{after:?}");
        };
        let plain = "pick 1234 a\n# exec in a comment\n\nfixup -C 12 b\nmerge -C 1 x # y\nupdate-ref refs/heads/x\n";
        check("", plain, plain, &[]);
        check(
            "",
            "pick 1 a\n  exec rm -rf ~\nx id\nbreak",
            "pick 1 a\nbreak",
            &["exec rm -rf ~", "x id"],
        );
        check(
            "exec make\n",
            "pick 1 a\nexec make\nexec id\n",
            "pick 1 a\nexec make\n",
            &["exec id"],
        );
        check("", "exec\tid\n", "", &["exec\tid"]);
    }

    #[test]
    fn a_way_to_merge_is_one_of_git() {
        let check = |kind: Kind, text: &str, expect: &str| {
            let merged = kind.merge(None, text.as_bytes());
            assert_eq!(String::from_utf8(merged.text).unwrap(), expect);
            assert_eq!(merged.refused.is_empty(), text == expect, "{text:?}");
        };
        check(Kind::Strategy, "ours\n", "ours\n");
        check(Kind::Strategy, "../evil\n", "ort\n");
        check(Kind::Strategy, "[a]\n#/../evil\n", "ort\n");
        let plain = "[options]\n\tstrategy = ort\n\tsignoff = true\n";
        check(Kind::Options, plain, plain);
        check(Kind::Options, "[options]\n\tstrategy = ../evil\n", "");
        check(Kind::Options, "[options\n", "");
    }

    /// Files of odd pieces, read by git itself and by us. What git reads otherwise, or we alone, would be a way around.
    #[test]
    fn files_are_read_as_git_reads_them() {
        const PIECES: &[&str] = &[
            "[core]",
            "[a \"b\"]",
            "[a \"b.c\\\"\\d\"]",
            "[A.b]",
            "[a\t\"x\" ]",
            "[ a]",
            "key",
            "k-1",
            "bare",
            " = ",
            "=",
            " ",
            "\t",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "#",
            ";",
            "\"",
            "\\",
            "\\n",
            "\\\"",
            "\\\n",
            "x",
            "y z",
            "!cmd",
            "ext::",
            "1",
            ".",
        ];
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let mut state = 0x9e37_79b9_u32;
        let mut next = |most: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % most
        };
        let (mut read, mut refused) = (0, 0);
        for _ in 0..400 {
            let mut text = String::from("[core]\n");
            for _ in 0..next(14) {
                text.push_str(PIECES[next(PIECES.len())]);
            }
            std::fs::write(&file, &text).unwrap();
            let git = std::process::Command::new("git")
                .args(["config", "-z", "-l", "-f"])
                .arg(&file)
                .output()
                .expect("git");
            let ours = parse(text.as_bytes());
            if !git.status.success() {
                refused += 1;
                assert!(ours.is_none(), "{text:?}: {ours:?}");
                continue;
            }
            read += 1;
            let said = String::from_utf8(git.stdout).unwrap();
            let theirs: Vec<&str> = said.split_terminator('\0').collect();
            let ours: Vec<String> = ours
                .unwrap_or_else(|| panic!("{text:?} is read by git: {theirs:?}"))
                .iter()
                .map(|setting| match &setting.value {
                    Some(value) => format!("{}\n{value}", setting.key),
                    None => setting.key.clone(),
                })
                .collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
        assert!(read > 40 && refused > 40, "{read} {refused}");
    }
}
