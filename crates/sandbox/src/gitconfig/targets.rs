//! Where a push or a fetch of the person's goes: to the remotes that were there, by their addresses. A command may add a remote
//! and use it for branches where none was in use; what was there is not turned elsewhere.

use super::{ADDRESSES, ITSELF, NAMES, Setting};
use std::collections::BTreeSet;

/// The remote that git takes where none is named.
const DEFAULT: &str = "origin";
const REMOTE_ADDRESSES: [&str; 2] = ["remote.*.url", "remote.*.pushurl"];
const SUBMODULE: &str = "submodule.*.url";
const UPSTREAM: &str = "branch.*.remote";
const PUSH_REMOTE: &str = "branch.*.pushremote";
/// Which remote is taken for all branches that name none.
const FOR_ALL: [&str; 2] = ["remote.pushdefault", "checkout.defaultremote"];

/// Which settings a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Those of a repository.
    Repository,
    /// Settings that git reads besides: an address there is used as well as the one that the repository names, and a remote
    /// there counts before its own.
    Besides,
}

/// Settings before a command, and what the command made of them.
struct Turn<'a> {
    was: &'a [Setting],
    is: &'a [Setting],
    /// Names of remotes that had an address or were in use.
    remotes: BTreeSet<&'a str>,
    /// Those that a push or a fetch goes to.
    used: BTreeSet<&'a str>,
}

/// Settings whose change would send a push, or a fetch, elsewhere than before.
pub(super) fn turned_keys(place: Place, [was, is, now]: [&[Setting]; 3]) -> BTreeSet<String> {
    let before = || was.iter().chain(now);
    let addresses = before().filter(|setting| setting.is_one_of(&REMOTE_ADDRESSES));
    let mut remotes: BTreeSet<&str> = addresses.filter_map(Setting::subsection).collect();
    let named = before().filter(|setting| setting.is_one_of(NAMES));
    let named = named.filter_map(|setting| setting.value.as_deref());
    let mut used: BTreeSet<&str> = named.filter(|name| *name != ITSELF).collect();
    // Where none stands out, any of them may be meant.
    if remotes.len() == 1 || (used.is_empty() && !remotes.contains(DEFAULT)) {
        used.extend(&remotes);
    }
    if !remotes.is_empty() {
        used.insert(DEFAULT);
        remotes.extend(&used);
    }
    let turn = Turn {
        was,
        is,
        remotes,
        used,
    };
    let leads = |setting: &Setting| match place {
        Place::Repository => turn.leads_elsewhere(setting),
        Place::Besides => setting.is_one_of(ADDRESSES) || setting.is_one_of(NAMES),
    };
    let all = was.iter().chain(is);
    let changed = all.filter(|setting| turn.is_changed(&setting.key));
    changed
        .filter(|setting| leads(setting) || turn.is_of_changed(setting))
        .map(|setting| setting.key.clone())
        .collect()
}

impl Turn<'_> {
    /// Whether a setting that changed leads elsewhere by that.
    fn leads_elsewhere(&self, setting: &Setting) -> bool {
        let Some(name) = setting.subsection() else {
            return setting.is_one_of(&FOR_ALL) && !self.remotes.is_empty();
        };
        let old = last(self.was, &setting.key);
        let new = last(self.is, &setting.key);
        if setting.is_one_of(&REMOTE_ADDRESSES) {
            return self.remotes.contains(name);
        }
        if setting.is(SUBMODULE) {
            return old.is_some() && new.is_some();
        }
        if self.remotes.is_empty() {
            return false;
        }
        // A branch that went away takes its remote with it.
        let has_branch = |all: &[Setting]| all.iter().any(|other| is_of_branch(other, name));
        let is_kept = old.is_none_or(|old| old == ITSELF);
        match new {
            Some(ITSELF) => false,
            Some(new) if setting.is(UPSTREAM) => !is_kept || !self.used.contains(new),
            Some(new) if setting.is(PUSH_REMOTE) => {
                has_branch(self.was) || !self.used.contains(new)
            }
            Some(_) => false,
            None => setting.is(PUSH_REMOTE) && has_branch(self.is),
        }
    }

    /// Whether a setting belongs to a remote whose address a command changed or removed, or to a branch that goes there. That
    /// is not taken over, so the rest of it stays as well.
    fn is_of_changed(&self, setting: &Setting) -> bool {
        let is_other = |remote: &str| {
            let key = format!("remote.{remote}.url");
            last(self.was, &key).is_some() && self.is_changed(&key)
        };
        let Some((section, Some(name), _)) = setting.parts() else {
            return false;
        };
        let upstream = || last(self.was, &format!("branch.{name}.remote"));
        match section {
            "remote" => is_other(name),
            "branch" => upstream().is_some_and(is_other),
            _ => false,
        }
    }

    fn is_changed(&self, key: &str) -> bool {
        let values = |all: &[Setting]| -> Vec<Option<String>> {
            let own = all.iter().filter(|setting| setting.key == key);
            own.map(|setting| setting.value.clone()).collect()
        };
        values(self.was) != values(self.is)
    }
}

fn is_of_branch(setting: &Setting, name: &str) -> bool {
    let parts = setting.parts();
    parts.is_some_and(|(section, subsection, _)| section == "branch" && subsection == Some(name))
}

/// The value that counts.
fn last<'a>(all: &'a [Setting], key: &str) -> Option<&'a str> {
    let found = all.iter().rfind(|setting| setting.key == key)?;
    found.value.as_deref()
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, merge_onto};

    const BASE: &str = "[remote \"origin\"]\n\turl = https://x.y/z.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
    const FORK: &str = "[remote \"up\"]\n\turl = https://evil.example/x.git\n";

    fn refused(base: &str, after: &str) -> Vec<String> {
        let merged = merge_onto(base.as_bytes(), after.as_bytes(), base.as_bytes());
        merged.refused
    }

    /// In one step, or with a remote that an earlier command added.
    #[test]
    fn what_was_there_is_not_turned_elsewhere() {
        let with_fork = format!("{BASE}{FORK}");
        assert_eq!(refused(BASE, &with_fork), [] as [&str; 0]);
        for (more, expect) in [
            (
                "[remote \"origin\"]\n\turl = https://evil.example/x.git\n",
                "remote.origin.url",
            ),
            (
                "[remote \"origin\"]\n\tpushurl = https://x.y/z.git\n",
                "remote.origin.pushurl",
            ),
            ("[branch \"main\"]\n\tremote = up\n", "branch.main.remote"),
            (
                "[branch \"main\"]\n\tpushRemote = up\n",
                "branch.main.pushremote",
            ),
            ("[branch \"new\"]\n\tremote = up\n", "branch.new.remote"),
            (
                "[branch \"new\"]\n\tpushRemote = up\n",
                "branch.new.pushremote",
            ),
            ("[remote]\n\tpushDefault = up\n", "remote.pushdefault"),
            (
                "[checkout]\n\tdefaultRemote = up\n",
                "checkout.defaultremote",
            ),
        ] {
            assert_eq!(
                refused(BASE, &format!("{with_fork}{more}")),
                [expect],
                "{more}"
            );
            assert_eq!(
                refused(&with_fork, &format!("{with_fork}{more}")),
                [expect],
                "{more}"
            );
            let merged = merge_onto(
                BASE.as_bytes(),
                format!("{BASE}{more}").as_bytes(),
                BASE.as_bytes(),
            );
            assert_eq!(String::from_utf8(merged.text).unwrap(), BASE, "{more}");
            assert_eq!(merged.refused, [expect]);
        }
        for after in [
            BASE.replace("https://x.y", "http://x.y"),
            BASE.replace("https://x.y", "https://u:p@evil.example"),
        ] {
            assert_eq!(refused(BASE, &after), ["remote.origin.url"], "{after}");
        }
    }

    /// A remote that goes away could be made anew with another address.
    #[test]
    fn a_remote_that_was_there_stays() {
        let renamed = BASE.replace("origin", "old");
        for after in [
            String::new(),
            renamed.clone(),
            format!("{renamed}{}", FORK.replace("up", "origin")),
        ] {
            let merged = merge_onto(BASE.as_bytes(), after.as_bytes(), BASE.as_bytes());
            let text = String::from_utf8(merged.text).unwrap();
            assert!(text.starts_with(BASE), "{after}: {text}");
            assert!(!text.contains("evil"), "{text}");
            assert!(
                merged.refused.contains(&"remote.origin.url".to_owned()),
                "{:?}",
                merged.refused
            );
        }
        // The first of that name would be taken where none is named.
        let other = BASE.replace("origin", "github");
        let after = format!("{other}{}", FORK.replace("up", "origin"));
        assert_eq!(refused(&other, &after), ["remote.origin.url"]);
    }

    #[test]
    fn new_remotes_and_branches_are_taken_over() {
        let none = "[core]\n\tbare = false\n";
        let first = format!("{none}{BASE}");
        assert_eq!(refused(none, &first), [] as [&str; 0]);
        for more in [
            FORK,
            "[branch \"new\"]\n\tremote = origin\n\tmerge = refs/heads/new\n",
            "[branch \"new\"]\n\tremote = .\n\tmerge = refs/heads/main\n",
            "[submodule \"lib\"]\n\turl = https://x.y/lib\n",
        ] {
            assert_eq!(
                refused(BASE, &format!("{BASE}{more}")),
                [] as [&str; 0],
                "{more}"
            );
        }
        // A branch that is renamed, one that is removed.
        assert_eq!(
            refused(BASE, &BASE.replace("\"main\"", "\"trunk\"")),
            [] as [&str; 0]
        );
        let gone = BASE.split("[branch").next().unwrap();
        assert_eq!(refused(BASE, gone), [] as [&str; 0]);
        let lib = format!("{BASE}[submodule \"lib\"]\n\turl = https://x.y/lib\n");
        assert_eq!(
            refused(&lib, &lib.replace("x.y/lib", "z.y/lib")),
            ["submodule.lib.url"]
        );
    }

    /// Settings of a worktree count before those of its repository.
    #[test]
    fn settings_of_a_worktree_name_no_remote() {
        for more in [
            "[remote \"origin\"]\n\turl = https://evil.example/x\n",
            "[branch \"main\"]\n\tremote = .\n",
            "[remote]\n\tpushDefault = origin\n",
        ] {
            let after = format!("[core]\n\tsparseCheckout = true\n{more}");
            let merged = Kind::MoreSettings.merge(None, after.as_bytes());
            assert_eq!(merged.refused.len(), 1, "{more}");
            let text = String::from_utf8(merged.text).unwrap();
            assert_eq!(text, "[core]\n\tsparsecheckout = true\n");
        }
    }

    /// Git deletes what lies behind links, and more with these.
    #[test]
    fn how_much_git_deletes_is_not_changed() {
        for more in [
            "[gc]\n\tauto = 1\n",
            "[gc]\n\tpruneExpire = now\n",
            "[maintenance]\n\tauto = true\n",
            "[commit]\n\tgpgSign = false\n",
            "[tag]\n\tgpgSign = false\n",
        ] {
            assert_eq!(refused(BASE, &format!("{BASE}{more}")).len(), 1, "{more}");
            assert_eq!(refused(&format!("{BASE}{more}"), BASE).len(), 1, "{more}");
        }
        let new = Kind::Settings.merge(None, b"[commit]\n\tgpgSign = false\n");
        assert_eq!(new.refused, [] as [&str; 0]);
    }
}
