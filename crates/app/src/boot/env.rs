//! The environment that children get: commands, hooks, MCP servers. Ours without what looks like a secret, by name or by
//! value, unless the configuration lets it through. Runs nothing.

use super::Boot;
use ostler_config::paths::{Env, Platform};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const NAMES: &str = include_str!("secret_names.txt");
/// How the values of well-known secrets begin, whatever the variable is called.
const VALUES: [&str; 12] = [
    "-----BEGIN",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk-ant-",
    "sk-proj-",
    "hf_",
];
/// Settings that git is given by the environment and that hold a login. An empty value is what git takes for none.
const GIT_LOGINS: [&str; 2] = ["extraheader", "credential."];
const HOME: &str = "HOME";
const GIT_KEY: &str = "GIT_CONFIG_KEY_";
const GIT_VALUE: &str = "GIT_CONFIG_VALUE_";

impl Boot {
    /// The environment of commands: ours without provider keys, what looks like a secret, and what the configuration drops.
    pub fn command_env(&self, hidden: &[String]) -> Vec<(OsString, OsString)> {
        let shell = &self.loaded.config.tools.shell;
        let quiet =
            ["PAGER", "GIT_PAGER"].map(|name| (OsString::from(name), OsString::from("cat")));
        let passed = self.loaded.passed_variables();
        let drops = |name: &OsStr, value: &OsStr| {
            let listed = |list: &[String]| list.iter().any(|one| name == one.as_str());
            let is_in = |list: &BTreeSet<&str>| list.iter().any(|one| name == *one);
            // A provider's key is passed on by the person alone.
            let is_kept = match is_in(&passed.by_person) {
                true => false,
                false => listed(hidden) || is_secret(name, value) && !is_in(&passed.by_project),
            };
            listed(&shell.env_drop) || is_kept
        };
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, value)| !drops(name, value))
            .filter(|(name, _)| !quiet.iter().any(|(q, _)| q == name))
            .chain(quiet.clone())
            .collect();
        empty_git_logins(&mut env);
        // One that was not to be used is that of the account by now.
        let home = self
            .env
            .get(HOME)
            .filter(|_| Platform::CURRENT == Platform::Unix);
        if let Some(home) = home {
            env.retain(|(name, _)| name != HOME);
            env.push((HOME.into(), home.into()));
        }
        env
    }

    /// The environment of other agents: that of commands without what the person lets commands alone have.
    pub fn agent_env(&self, hidden: &[String]) -> Vec<(OsString, OsString)> {
        let mut env = self.command_env(hidden);
        let is_hidden = |name: &OsStr| hidden.iter().any(|one| name == one.as_str());
        env.retain(|(name, value)| !is_hidden(name) && !is_secret(name, value));
        env
    }

    /// Names of variables that commands do not get because they look like secrets, in order.
    pub fn withheld_variables(&self) -> Vec<String> {
        let shell = &self.loaded.config.tools.shell;
        let looks_secret = |(name, value): &(&String, &String)| {
            is_secret(OsStr::new(name), OsStr::new(value)) && !shell.env_pass.contains(name)
        };
        let names = self.env.iter().filter(looks_secret);
        names.map(|(name, _)| name.clone()).collect()
    }
}

/// The home, where the environment says none that could be one: unset, empty, relative, or the whole disk. A wrong one would
/// silently move everything that begins with `~`.
pub fn find_home(env: &mut Env, account: Option<PathBuf>) {
    if Platform::CURRENT != Platform::Unix {
        return;
    }
    let is_home = |home: &String| {
        let home = Path::new(home);
        home.is_absolute() && home.parent().is_some()
    };
    if env.get(HOME).is_some_and(is_home) {
        return;
    }
    match account.and_then(|home| home.into_os_string().into_string().ok()) {
        Some(home) => {
            env.insert(HOME.into(), home);
        }
        // The whole disk is a home in some containers; anything else is none.
        None => env.retain(|name, value| name != HOME || value == "/"),
    }
}

/// Whether a variable looks like a secret, by its name or by how its value begins.
pub fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    static PATTERNS: LazyLock<(Vec<String>, Vec<String>)> = LazyLock::new(|| {
        let lines = NAMES.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (not, yes): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('!'));
        let bare = |line: &&str| line.trim_start_matches('!').to_owned();
        (
            yes.iter().map(bare).collect(),
            not.iter().map(bare).collect(),
        )
    });
    let upper = name.to_string_lossy().to_ascii_uppercase();
    let (yes, not) = &*PATTERNS;
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &upper));
    let value = value.to_string_lossy();
    let by_value = || {
        VALUES
            .iter()
            .any(|start| value.trim_start().starts_with(start))
    };
    (any(yes) && !any(not)) || by_value()
}

/// Whether the whole text fits a pattern in which `*` is any run of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn empty_git_logins(env: &mut [(OsString, OsString)]) {
    let login = |value: &OsStr| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        GIT_LOGINS.iter().any(|part| value.contains(part))
    };
    let numbers: Vec<String> = env
        .iter()
        .filter(|(_, value)| login(value))
        .filter_map(|(name, _)| name.to_str()?.strip_prefix(GIT_KEY).map(str::to_owned))
        .collect();
    for (name, value) in env {
        let number = name.to_str().and_then(|name| name.strip_prefix(GIT_VALUE));
        if number.is_some_and(|number| numbers.iter().any(|one| one == number)) {
            value.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_and_by_value() {
        for name in [
            "GITHUB_TOKEN",
            "github_token",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SESSION_TOKEN",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "OPENAI_API_KEY",
            "STRIPE_APIKEY",
            "API_KEY_FILE_CONTENT",
            "MY_KEY_2",
            "KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GH_PAT",
            "npm_config__auth",
            "NPM_CONFIG_//registry.npmjs.org/:_authToken",
            "DOCKER_AUTH_CONFIG",
            "SLACK_WEBHOOK_URL",
            "SSH_PASSPHRASE",
            "CARGO_REGISTRIES_X_TOKEN",
            "TWINE_PASSWORD",
        ] {
            assert!(is_secret(name.as_ref(), "x".as_ref()), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "XAUTHORITY",
            "KEYTIMEOUT",
            "KEYBOARD",
            "LS_COLORS",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_COUNT",
            "TOKENIZERS_PARALLELISM",
            "GIT_AUTHOR_NAME",
            "GOFLAGS",
            "MONKEY",
            "PATTERN",
            "COMPASS",
        ] {
            assert!(!is_secret(name.as_ref(), "x".as_ref()), "{name}");
        }
        for (value, secret) in [
            ("ghp_abc", true),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", true),
            ("\n-----BEGIN RSA", true),
            ("/usr/bin", false),
            ("skip", false),
        ] {
            assert_eq!(is_secret("X".as_ref(), value.as_ref()), secret, "{value}");
        }
    }

    #[test]
    fn an_odd_home_is_that_of_the_account() {
        let account = || Some(PathBuf::from("/home/u"));
        for (given, account, expect) in [
            (Some("/h"), account(), Some("/h")),
            (None, account(), Some("/home/u")),
            (Some(""), account(), Some("/home/u")),
            (Some("rel"), account(), Some("/home/u")),
            (Some("/"), account(), Some("/home/u")),
            (Some("/"), None, Some("/")),
            (Some("rel"), None, None),
            (Some(""), None, None),
            (None, None, None),
        ] {
            let pair = given.map(|home| (HOME.to_owned(), home.to_owned()));
            let mut env: Env = pair.into_iter().collect();
            find_home(&mut env, account.clone());
            let found = env.get(HOME).map(String::as_str);
            assert_eq!(found, expect, "{given:?} {account:?}");
        }
    }

    #[test]
    fn patterns_bind_the_whole_name() {
        for (pattern, text, expect) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("*A*", "XAY", true),
            ("*_A", "X_A", true),
            ("*_A", "X_AB", false),
            ("*_A_*", "_A_", true),
            ("*A*A", "A", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn git_keeps_its_settings_but_no_login() {
        let pair = |(a, b): &(&str, &str)| (OsString::from(a), OsString::from(b));
        let given = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "http.https://x/.extraHeader"),
            ("GIT_CONFIG_VALUE_0", "Authorization: basic c2VjcmV0"),
            ("GIT_CONFIG_KEY_1", "user.name"),
            ("GIT_CONFIG_VALUE_1", "A"),
        ];
        let mut env: Vec<_> = given.iter().map(pair).collect();
        empty_git_logins(&mut env);
        let mut expect = given;
        expect[2].1 = "";
        assert_eq!(env, expect.iter().map(pair).collect::<Vec<_>>());
    }
}
