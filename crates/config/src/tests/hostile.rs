//! Inputs nobody would write by hand.

use std::fs;

use super::Bench;
use insta::assert_snapshot;

#[test]
fn huge_files_are_refused_and_large_values_load() {
    let huge = format!("system_prompt = '{}'\n", "x".repeat(10_000_000));
    assert_snapshot!(Bench::new().user(&huge).seen(), @r"
    error: this configuration file has 10000019 bytes; at most 4194304 are allowed
    --> ~/.ostler/config.toml
     = help: move large texts into files of their own, like system_prompt_file
    ");
    let large = format!("[agent]\nsystem_prompt = '{}'\n", "x".repeat(3_000_000));
    let loaded = Bench::new().user(&large).load().unwrap();
    assert_eq!(loaded.config.agent.system_prompt.unwrap().len(), 3_000_000);
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let deep = [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}1{}", "{ a = ".repeat(50_000), " }".repeat(50_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
    ];
    for text in deep {
        let error = Bench::new().user(&text).load().unwrap_err().to_string();
        assert!(
            error.contains("not valid TOML"),
            "{}",
            &error[..error.len().min(300)]
        );
        assert!(error.len() < 20_000, "{}", error.len());
    }
    let variable = Bench::new().env("OSTLER_AGENT__SYSTEM_PROMPT", &"[".repeat(100_000));
    assert_eq!(
        variable
            .load()
            .unwrap()
            .config
            .agent
            .system_prompt
            .unwrap()
            .len(),
        100_000
    );
    let name = format!("OSTLER_{}X", "A__".repeat(2_000));
    assert_eq!(
        Bench::new().env(&name, "1").load().unwrap().notices.len(),
        1
    );
}

#[test]
fn many_errors_are_counted() {
    let text: String = (0..500).map(|number| format!("a{number} = \n")).collect();
    let error = Bench::new().user(&text).load().unwrap_err().to_string();
    assert!(
        error.ends_with("and 480 more errors"),
        "{}",
        &error[error.len() - 100..]
    );
    let text: String = (0..100)
        .map(|number| format!("[[providers]]\nname = {number}\n"))
        .collect();
    assert!(Bench::new().user(&text).load().is_err());
}

#[test]
fn noise_is_an_error_with_a_position() {
    assert_snapshot!(Bench::new().user("a = \"x\0y\"\n\0\0").seen(), @r#"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:7
      |
    1 | a = "x␀y"
      |       ^ invalid basic string, expected non-double-quote visible characters, `\`

    error: this file is not valid TOML
     --> ~/.ostler/config.toml:2:1
      |
    2 | ␀␀
      | ^^ invalid unquoted key, expected letters, numbers, `-`, `_`
    "#);
    assert_snapshot!(Bench::new().user("\u{202e}a = 1\n").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:1
      |
    1 | �a = 1
      | ^ invalid unquoted key, expected letters, numbers, `-`, `_`
    ");
    assert_snapshot!(Bench::new().user("= = =").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:1
      |
    1 | = = =
      | ^ unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
    ");
    assert_snapshot!(Bench::new().user("[").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:2
      |
    1 | [
      |  ^ unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
    ");
    assert_snapshot!(Bench::new().user("a = 'é\n漢字 = ]\n").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:7
      |
    1 | a = 'é
      |       ^ invalid literal string, expected `'`

    error: this file is not valid TOML
     --> ~/.ostler/config.toml:2:1
      |
    2 | 漢字 = ]
      | ^^^^ invalid unquoted key, expected letters, numbers, `-`, `_`
    ");
}

#[test]
fn arbitrary_bytes_never_panic() {
    // Every prefix of a real file, and every one with a byte flipped.
    let text = b"default_model = \"a\" # \xc3\xa9\n[agent]\nmax_steps = 1\n[[providers]]\nname='p'\nprice = {input = 1.0}\n";
    let bench = Bench::new();
    let path = bench.places().user_config();
    for end in 0..text.len() {
        fs::write(&path, &text[..end]).unwrap();
        bench.seen();
        let mut flipped = text.to_vec();
        flipped[end] ^= 0x55;
        fs::write(&path, &flipped).unwrap();
        bench.seen();
    }
}

#[cfg(unix)]
#[test]
fn devices_and_loops_are_not_read() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new();
    symlink("/dev/zero", bench.places().user_config()).unwrap();
    symlink("ostler.toml", bench.places().project_config()).unwrap();
    assert_snapshot!(bench.seen(), @r"
    error: this should be a configuration file, but it is not a regular file
    --> ~/.ostler/config.toml
     = help: move it away, or name another file with --config

    error: this configuration file cannot be read: WORK/ostler.toml has too many symlinks on its way, or they form a circle
    --> ostler.toml
     = help: check the permissions of the file
    ");
}
