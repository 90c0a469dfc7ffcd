//! Whether the settings of a git repository name a program, or could. Only what is known to be harmless is taken for it.

/// Settings that run nothing and lead nowhere, whatever their value; `*` is any one part.
const HARMLESS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
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
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "remote.*.fetch",
    "remote.*.tagopt",
    "remote.*.prune",
    "remote.*.promisor",
    "remote.*.partialclonefilter",
    "branch.*.remote",
    "branch.*.merge",
    "branch.*.rebase",
    "branch.*.description",
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
    "pull.rebase",
    "pull.ff",
    "merge.ff",
    "merge.conflictstyle",
    "fetch.prune",
    "rebase.autostash",
    "rebase.autosquash",
    "commit.gpgsign",
    "tag.gpgsign",
    "tag.sort",
    "diff.renames",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "status.showuntrackedfiles",
    "status.short",
    "status.branch",
    "log.date",
    "log.decorate",
    "gc.auto",
    "gc.autodetach",
    "gc.pruneexpire",
    "pack.threads",
    "index.version",
    "index.threads",
    "feature.manyfiles",
    "receive.denycurrentbranch",
    "receive.denynonfastforwards",
    "lfs.repositoryformatversion",
];
/// Settings that are addresses: harmless unless they name a program themselves.
const ADDRESSES: &[&str] = &["remote.*.url", "remote.*.pushurl", "submodule.*.url"];
/// Settings that are a yes or no, or the name of a program.
const SWITCHES: &[&str] = &["core.fsmonitor"];
/// What a repository cannot do without.
const LEAST: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n";

/// Settings that may run a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Harm {
    /// The settings without those.
    pub rest: Vec<u8>,
}

pub fn harmless(bytes: &[u8]) -> Result<(), Harm> {
    let least = || Harm { rest: LEAST.into() };
    let text = std::str::from_utf8(bytes).map_err(|_| least())?;
    let settings = parse(text).ok_or_else(least)?;
    let (good, bad): (Vec<Setting>, Vec<Setting>) =
        settings.into_iter().partition(Setting::is_harmless);
    match bad.is_empty() {
        true => Ok(()),
        false => {
            let rest: String = good.iter().map(Setting::written).collect();
            Err(Harm {
                rest: rest.into_bytes(),
            })
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    value: Option<String>,
}

impl Setting {
    fn is_harmless(&self) -> bool {
        let listed = |list: &[&str]| list.iter().any(|known| self.is(known));
        let value = self.value.as_deref().unwrap_or("true");
        let is_switch = || {
            matches!(
                value,
                "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1" | ""
            )
        };
        listed(HARMLESS)
            || (listed(ADDRESSES) && is_address(value))
            || (listed(SWITCHES) && is_switch() && !matches!(value, "true" | "yes" | "on" | "1"))
    }

    fn is(&self, known: &str) -> bool {
        let parts: Vec<&str> = known.split('.').collect();
        match (parts.as_slice(), &self.subsection) {
            ([section, name], None) => self.section == *section && self.name == *name,
            ([section, "*", name], Some(_)) => self.section == *section && self.name == *name,
            _ => false,
        }
    }

    fn written(&self) -> String {
        let head = match &self.subsection {
            Some(sub) => format!("[{} \"{sub}\"]", self.section),
            None => format!("[{}]", self.section),
        };
        match &self.value {
            Some(value) => format!("{head}\n\t{} = {value}\n", self.name),
            None => format!("{head}\n\t{}\n", self.name),
        }
    }
}

/// Not `ext::command`, nor an option for ssh.
fn is_address(value: &str) -> bool {
    let value = value.trim();
    let helper = value.split_once("::").is_some_and(|(scheme, _)| {
        scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    !helper && !value.starts_with('-') && !value.contains("//-") && !value.contains("@-")
}

/// The settings of a plain file. Quotes, escapes, continued lines and the older form of sections are nobody's in a repository
/// that git wrote itself: a file with one of them is not understood.
fn parse(text: &str) -> Option<Vec<Setting>> {
    let mut found = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    for line in text.trim_start_matches('\u{feff}').split(['\n', '\r']) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let inner = rest.strip_suffix(']')?;
            section = Some(parse_section(inner)?);
            continue;
        }
        let (section, subsection) = section.clone()?;
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (line, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_odd = |value: &str| value.contains(['"', '\\', '#', ';']);
        if name.is_empty() || !name.chars().all(is_name) || value.is_some_and(is_odd) {
            return None;
        }
        found.push(Setting {
            section,
            subsection,
            name: name.to_ascii_lowercase(),
            value: value.map(str::to_owned),
        });
    }
    Some(found)
}

fn parse_section(inner: &str) -> Option<(String, Option<String>)> {
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    if let Some((name, sub)) = inner.split_once(char::is_whitespace) {
        let sub = sub.trim().strip_prefix('"')?.strip_suffix('"')?;
        let is_plain = !sub.contains(['"', '\\', ']', '[']);
        return (is_name(name) && is_plain)
            .then(|| (name.to_ascii_lowercase(), Some(sub.to_owned())));
    }
    is_name(inner).then(|| (inner.to_ascii_lowercase(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_harmless() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[remote \"origin\"]\n\turl = https://x.y/z\n",
            "# x\n[user]\n\tname = A B\n",
            "[core]\n\tfsmonitor = false\n",
        ] {
            assert_eq!(harmless(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_names_a_program_is_found_and_the_rest_stays() {
        let check = |text: &str, rest: &str| {
            let harm = harmless(text.as_bytes()).expect_err(text);
            assert_eq!(String::from_utf8(harm.rest).unwrap(), rest, "{text}");
        };
        check("[core]\n\tfsmonitor = ./x\n", "");
        check("[core]\n\tfsmonitor = true\n", "");
        check(
            "[core]\n\tbare = false\n\thooksPath = h\n",
            "[core]\n\tbare = false\n",
        );
        check("[CORE]\nSSHCommand = x\n", "");
        check("[alias]\n\tst = !x\n", "");
        check("[include]\n\tpath = ../x\n", "");
        check("[diff \"x\"]\n\ttextconv = x\n", "");
        check("[filter \"x\"]\n\tclean = x\n", "");
        check("[core]\n\tworktree = /\n", "");
        check("[remote \"o\"]\n\turl = ext::sh -c x\n", "");
        check("[remote \"o\"]\n\turl = -oProxyCommand=x\n", "");
        check("[remote \"o\"]\n\tuploadpack = x\n", "");
        check("[gpg]\n\tprogram = x\n", "");
        check("[credential]\n\thelper = !x\n", "");
        // What is not understood is not kept.
        for odd in [
            "[core \"\n",
            "[core] fsmonitor = x\n",
            "[core.x]\n\ty = 1\n",
            "fsmonitor = x\n",
            "[core]\n\tbare = false \\\n",
            "[core]\n\tbare = \"false\"\n",
            "[\n",
            "\u{0}\u{1}[",
        ] {
            check(odd, LEAST);
        }
        assert!(harmless(&[0xff, 0xfe]).is_err());
    }
}
