//! The person's browser: whether there is one here, and how it is sent to a page. The page's address is printed anyway.

use ostler_config::paths::Env;
use ostler_config::text::phrase;
use ostler_host::Programs;
use ostler_wire::{Why, Word};
use std::process::Stdio;
use tokio::process::Command;
use url::Url;

/// Whether a browser on this machine would show its window to the person.
pub fn is_here(env: &Env) -> bool {
    let set = |name: &str| env.get(name).is_some_and(|value| !value.is_empty());
    if set("BROWSER") {
        return true;
    }
    let remote = set("SSH_CONNECTION") || set("SSH_TTY");
    let has_screen = cfg!(any(windows, target_os = "macos"));
    !remote && (has_screen || set("DISPLAY") || set("WAYLAND_DISPLAY"))
}

/// Sends it to a page. What it says, and when it ends, is its own business.
pub fn open(url: &Url, env: &Env, programs: &Programs) -> Result<(), Why> {
    let words = words(env.get("BROWSER").map(String::as_str), url);
    let Some((program, arguments)) = words.split_first() else {
        return Err(Why::from(Word::AuthNoOpener));
    };
    let Some(found) = programs.find(program) else {
        return Err(phrase(Word::NoSafeProgram, &[program]));
    };
    let mut command = Command::new(found);
    command.args(arguments).env("PATH", programs.path());
    // Not the project, where a program might read settings.
    command.current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    // Ctrl-C on our terminal is not for the browser.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|e| phrase(Word::Because, &[program, &e]))?;
    drop(tokio::spawn(async move { child.wait().await }));
    Ok(())
}

/// The command. `BROWSER` names one or several, by the usual rules: `:` between them, `%s` for the address.
fn words(browser: Option<&str>, url: &Url) -> Vec<String> {
    let first = browser.and_then(|list| list.split(':').find(|one| !one.trim().is_empty()));
    let Some(first) = first else {
        return usual()
            .iter()
            .map(|w| w.replace("%s", url.as_str()))
            .collect();
    };
    let mut words: Vec<String> = first
        .split_whitespace()
        .map(|word| word.replace("%s", url.as_str()))
        .collect();
    if !first.contains("%s") {
        words.push(url.to_string());
    }
    words
}

fn usual() -> &'static [&'static str] {
    if cfg!(windows) {
        // No shell that would read `&` in an address.
        &["rundll32", "url.dll,FileProtocolHandler", "%s"]
    } else if cfg!(target_os = "macos") {
        &["open", "%s"]
    } else {
        &["xdg-open", "%s"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_browser() {
        let url = Url::parse("https://id.test/?a=1&b=%22;x").unwrap();
        let shown = url.as_str();
        let check = |browser: Option<&str>, expect: &[&str]| {
            assert_eq!(words(browser, &url), expect, "{browser:?}");
        };
        check(Some("firefox"), &["firefox", shown]);
        check(Some("w3m -N:links"), &["w3m", "-N", shown]);
        check(
            Some("b --new=%s -x"),
            &["b", &format!("--new={shown}"), "-x"],
        );
        assert_eq!(words(Some(" : "), &url), words(None, &url));
        assert_eq!(words(None, &url).last().map(String::as_str), Some(shown));
    }

    #[test]
    fn a_browser_shows_itself_where_the_person_is() {
        let check = |set: &[&str]| {
            let env = set.iter().map(|n| ((*n).to_owned(), "x".to_owned()));
            is_here(&env.collect())
        };
        assert!(check(&["BROWSER", "SSH_TTY"]));
        assert!(check(&["DISPLAY"]) && check(&["WAYLAND_DISPLAY"]));
        assert!(!check(&["DISPLAY", "SSH_CONNECTION"]));
        assert_eq!(check(&[]), cfg!(any(windows, target_os = "macos")));
    }
}
