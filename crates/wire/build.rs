//! Makes the constants of `words.rs` from the texts in `words/*.toml`. A text that is empty, or has other holes in one language
//! than in the other, ends the build.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=words");
    let mut files: Vec<PathBuf> = fs::read_dir("words")
        .expect("the folder of texts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    let words: Vec<Text> = files.iter().flat_map(|file| texts(file)).collect();
    let out = env::var_os("OUT_DIR").expect("a folder for what is made");
    fs::write(Path::new(&out).join("words.rs"), constants(&words)).expect("the constants");
}

struct Text {
    name: String,
    english: String,
    chinese: String,
    holes: usize,
}

fn texts(file: &Path) -> Vec<Text> {
    let wrong = |what: String| -> ! { panic!("{}: {what}", file.display()) };
    let content = fs::read_to_string(file).unwrap_or_else(|error| wrong(error.to_string()));
    let table: toml::Table = content
        .parse()
        .unwrap_or_else(|error: toml::de::Error| wrong(error.to_string()));
    let text = |(name, value): (String, toml::Value)| {
        let Ok([english, chinese]) = value.try_into::<[String; 2]>() else {
            wrong(format!(
                "`{name}` is not a text in English and one in Chinese"
            ));
        };
        if english.trim().is_empty() || chinese.trim().is_empty() {
            wrong(format!("`{name}` is empty in one language"));
        }
        // `1 line` needs no hole.
        let (one, many) = english.split_once('¦').unwrap_or((&english, &english));
        let holes = holes(many);
        if chinese.contains('¦') || holes != self::holes(&chinese) || self::holes(one) > holes {
            wrong(format!("`{name}` has other holes or forms in one language"));
        }
        Text {
            name,
            english,
            chinese,
            holes,
        }
    };
    table.into_iter().map(text).collect()
}

/// How many values a text takes: `{}` one each, `{1}` those up to its number.
fn holes(text: &str) -> usize {
    let (mut plain, mut numbered) = (0, 0);
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        rest = after;
        let Some((inner, _)) = after.split_once('}') else {
            break;
        };
        match inner.as_bytes() {
            [] => plain += 1,
            [digit @ b'0'..=b'9'] => numbered = numbered.max(usize::from(digit - b'0') + 1),
            _ => {}
        }
    }
    assert!(plain == 0 || numbered == 0, "two kinds of holes: {text}");
    plain + numbered
}

fn constants(words: &[Text]) -> String {
    let mut out = String::new();
    let most = words
        .iter()
        .map(|word| word.holes)
        .max()
        .unwrap_or_default();
    for holes in 0..=most {
        if !words.iter().any(|word| word.holes == holes) {
            continue;
        }
        let reason = "the name of a text is written like that of a variant";
        writeln!(
            out,
            "#[expect(non_upper_case_globals, reason = {reason:?})]"
        )
        .expect("a line");
        writeln!(out, "impl Word<{holes}> {{").expect("a line");
        for (number, word) in words.iter().enumerate() {
            if word.holes == holes {
                let Text { name, english, .. } = word;
                let line = english.lines().next().unwrap_or_default();
                writeln!(
                    out,
                    "/// `` {line} ``\npub const {name}: Self = Self({number});"
                )
                .expect("a line");
            }
        }
        out.push_str("}\n");
    }
    let count = words.len();
    writeln!(out, "static TEXTS: [(&str, &str, usize); {count}] = [").expect("a line");
    for word in words {
        let Text {
            english,
            chinese,
            holes,
            ..
        } = word;
        writeln!(out, "({english:?}, {chinese:?}, {holes}),").expect("a line");
    }
    out.push_str("];\n");
    // For tests; nobody reads them in the program that ships.
    writeln!(
        out,
        "#[cfg(debug_assertions)]\nstatic NAMES: [&str; {count}] = ["
    )
    .expect("a line");
    for Text { name, .. } in words {
        writeln!(out, "{name:?},").expect("a line");
    }
    out.push_str("];\n");
    out
}
