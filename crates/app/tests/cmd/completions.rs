//! Completion scripts and the manual page.

use crate::support::*;
use ostler_testkit::TempWorkspace;

#[test]
fn every_shell_gets_a_script() {
    let space = TempWorkspace::new();
    for (shell, expect) in [
        ("bash", "complete -F _ostler"),
        ("zsh", "#compdef ostler"),
        ("fish", "complete -c ostler"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[ostler]"),
    ] {
        let out = space.ostler(["completions", shell]).output().ok();
        assert!(out.stdout.contains(expect), "{shell}: {out:?}");
        assert!(out.stdout.contains("sessions"), "{shell}");
        assert_eq!(out.stderr, "");
    }
    let out = space.ostler(["completions", "tcsh"]).output().exits(2);
    assert!(
        out.stderr
            .contains("possible values: bash, elvish, fish, powershell, zsh"),
        "{out:?}"
    );
    assert!(!space.home().exists());
}

#[test]
fn the_manual_has_every_command_and_flag_once() {
    let space = TempWorkspace::new();
    let page = space.ostler(["man"]).output().ok().stdout;
    assert!(page.contains(".TH ostler 1"), "{page}");
    for expect in [
        ".SH NAME",
        ".SH COMMANDS",
        ".SH FILES",
        ".SH EXIT STATUS",
        r"\fBostler exec\fR",
        r"\fBostler sessions gc\fR",
        r"\-\-output\-schema",
        r"\-\-permission\-mode",
        r"\-\-quota",
    ] {
        assert!(page.contains(expect), "{expect}: {page}");
    }
    assert_eq!(
        page.matches("Run commands without the operating system")
            .count(),
        1,
        "{page}"
    );
}

#[test]
fn a_misspelt_command_gets_a_suggestion() {
    let space = TempWorkspace::new();
    let out = space.ostler(["sesions", "list"]).output().exits(2);
    assert!(out.stderr.contains("'sessions'"), "{out:?}");
}
