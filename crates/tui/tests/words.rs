//! Whatever a person reads comes from the table of words: no sentence of one language stands in the code.

use std::fs;
use std::path::{Path, PathBuf};

/// Files with texts that nobody sees on the surface: tables for documents, words of programming languages.
const APART: [&str; 4] = ["keymap.rs", "keys.rs", "languages.rs", "testing.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Two words of letters with a space between them.
fn is_sentence(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic());
    words.windows(2).any(|pair| pair.iter().all(is_word))
}

/// The texts in quotes of a line of code.
fn literals(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

#[test]
fn no_sentence_stands_in_the_code() {
    let mut files = Vec::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&src, &mut files);
    let mut found = Vec::new();
    for file in files {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == "tests.rs" || APART.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        for (n, line) in code.lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//")
                && !line.contains("reason = ")
                // What is read and not said.
                && !line.contains("strip_suffix(")
                && !line.contains("#[error(");
            if is_code && literals(line).into_iter().any(is_sentence) {
                found.push(format!("{}:{}: {}", file.display(), n + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn sentences_are_found() {
    for (line, expect) in [
        (r#"say("no such thing")"#, true),
        (r#"say("word")"#, false),
        (r#"write!(out, "\x1b[{}A", n)"#, false),
        (r#"format!("{a} {b}")"#, false),
    ] {
        let found = literals(line).into_iter().any(is_sentence);
        assert_eq!(found, expect, "{line}");
    }
}
