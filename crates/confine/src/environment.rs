//! Variables that a command gets because of its sandbox: where temporary files and caches go, and for one that only reads,
//! how programs are kept from running others or from writing what nobody asked for.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variables of one command.
pub type Variables = Vec<(OsString, OsString)>;

/// By which programs find the folder for temporary files.
const TEMP: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
/// The same for one shell's here-documents, as the beginning of a name.
const ZSH_TEMP: &str = "TMPPREFIX";
/// Settings that git gets on top of all others. None of them is needed to look at something, and each can run a program
/// or write a file.
const GIT: [(&str, &str); 9] = [
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";
/// More settings than anybody has; a count beyond is not one.
const MAX_GIT: usize = 1000;
/// Variables that name programs to be run by others, or change what a reader does.
const DROPPED: [&str; 14] = [
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "MANOPT",
];
/// Variables by which programs find their way: places, languages, terminals, switches.
const KNOWN: [&str; 29] = [
    "CI",
    "CLICOLOR",
    "COLORTERM",
    "COLUMNS",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TERM",
    "TMPPREFIX",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "GO111MODULE",
    "GOARCH",
    "GOBIN",
    "GOCACHE",
    "GOENV",
    "GOFLAGS",
    "GOOS",
    "GOROOT",
    "GOTOOLCHAIN",
    "GOWORK",
];
const KNOWN_BEGINNINGS: [&str; 15] = [
    "CARGO_",
    "CONDA_",
    "GIT_",
    "JAVA_",
    "LC_",
    "NIX_",
    "NODE_",
    "NVM_",
    "OSTLER_",
    "PYENV_",
    "PYTHON",
    "RUST",
    "TMP",
    "XDG_",
    "npm_config_",
];
const KNOWN_ENDS: [&str; 6] = ["PATH", "_DIR", "_DIRS", "_HOME", "_ROOT", "TEMP"];
/// `GIT_PAGER`, `MAN_PAGER`, `BAT_PAGER` and the like.
const PAGER: &str = "PAGER";
/// What a reader gets, so that it does not try what it may not do.
const READER: [(&str, &str); 8] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("CARGO_NET_OFFLINE", "true"),
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Sets a variable, whatever it was.
pub fn set(env: &mut Variables, name: &str, value: impl AsRef<OsStr>) {
    env.retain(|(known, _)| known != name);
    env.push((name.into(), value.as_ref().to_owned()));
}

/// Leads programs to this folder for their temporary files.
pub fn point_to_temp(env: &mut Variables, folder: &Path) {
    for name in TEMP {
        env.retain(|(known, _)| known != name);
    }
    set(env, TEMP[0], folder);
    if let Some(known) = env.iter().position(|(name, _)| name == ZSH_TEMP) {
        env.remove(known);
    }
    set(env, ZSH_TEMP, folder.join("zsh"));
}

/// For a command that only reads, with or without a sandbox around it. It runs unasked and may be led to its own
/// environment, so it gets only what programs find their way by.
pub fn make_reader(env: &mut Variables) {
    env.retain(|(name, value)| {
        let name = name.to_string_lossy();
        let is_known = KNOWN.contains(&name.as_ref())
            || KNOWN_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
            || KNOWN_ENDS.iter().any(|end| name.ends_with(end));
        let has_login = value.to_string_lossy().contains("://");
        is_known && !has_login && !DROPPED.contains(&name.as_ref()) && !name.ends_with(PAGER)
    });
    for (name, value) in READER {
        set(env, name, value);
    }
    add_git_settings(env);
}

/// Adds to the settings that git is given by the environment already; later ones win.
fn add_git_settings(env: &mut Variables) {
    let known = env.iter().find(|(name, _)| name == GIT_COUNT);
    let count = known.and_then(|(_, count)| count.to_str()?.trim().parse::<usize>().ok());
    let count = count.filter(|count| *count <= MAX_GIT).unwrap_or(0);
    for (number, (key, value)) in (count..).zip(GIT) {
        set(env, &format!("GIT_CONFIG_KEY_{number}"), key);
        set(env, &format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    set(env, GIT_COUNT, (count + GIT.len()).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        pairs.iter().map(pair).collect()
    }

    fn get<'a>(env: &'a Variables, name: &str) -> Option<&'a str> {
        let mut found = env.iter().filter(|(known, _)| known == name);
        let value = found.next().and_then(|(_, value)| value.to_str());
        assert_eq!(found.count(), 0, "{name} twice");
        value
    }

    #[test]
    fn readers_get_only_what_programs_find_their_way_by() {
        let mut env = variables(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("JAVA_HOME", "/opt/java"),
            ("GOPATH", "/go"),
            ("DATABASE_URL", "postgres://u:p@h/x"),
            ("GOOGLE_ACCOUNT", "me"),
            ("MY_LOGIN", "me:word"),
            ("XDG_SERVICE", "https://u:p@h"),
        ]);
        make_reader(&mut env);
        for name in ["PATH", "LC_ALL", "JAVA_HOME", "GOPATH"] {
            assert!(get(&env, name).is_some(), "{name}");
        }
        for name in ["DATABASE_URL", "GOOGLE_ACCOUNT", "MY_LOGIN", "XDG_SERVICE"] {
            assert_eq!(get(&env, name), None, "{name}");
        }
    }

    #[test]
    fn readers_run_no_helper_and_take_no_lock() {
        let mut env = variables(&[
            ("PATH", "/bin"),
            ("GIT_PAGER", "evil"),
            ("MANPAGER", "evil"),
            ("BAT_PAGER", "evil"),
            ("LESSOPEN", "|evil %s"),
            ("GIT_EXTERNAL_DIFF", "evil"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "user.name"),
            ("GIT_CONFIG_VALUE_0", "A"),
        ]);
        make_reader(&mut env);
        assert!(!format!("{env:?}").contains("evil"));
        assert_eq!(get(&env, "PATH"), Some("/bin"));
        assert_eq!(get(&env, "GIT_OPTIONAL_LOCKS"), Some("0"));
        assert_eq!(get(&env, "GIT_CONFIG_KEY_0"), Some("user.name"));
        assert_eq!(get(&env, "GIT_CONFIG_KEY_1"), Some("safe.bareRepository"));
        assert_eq!(get(&env, "GIT_CONFIG_VALUE_1"), Some("explicit"));
        let count = (GIT.len() + 1).to_string();
        assert_eq!(get(&env, GIT_COUNT), Some(count.as_str()));
        for odd in ["", "x", "-1", "99999999999999999999"] {
            let mut env = variables(&[(GIT_COUNT, odd)]);
            make_reader(&mut env);
            let count = GIT.len().to_string();
            assert_eq!(get(&env, GIT_COUNT), Some(count.as_str()), "{odd}");
        }
    }

    #[test]
    fn one_folder_for_temporary_files() {
        let mut env = variables(&[("TMPDIR", "/a"), ("TMP", "/b"), ("TEMP", "/c")]);
        point_to_temp(&mut env, Path::new("/t"));
        assert_eq!(get(&env, "TMPDIR"), Some("/t"));
        assert_eq!((get(&env, "TMP"), get(&env, "TEMP")), (None, None));
    }
}
