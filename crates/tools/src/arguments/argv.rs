//! Commands that come as a list of words instead of one line of a shell. A list that is a program with its arguments
//! becomes the line that runs exactly that; a list that could also be lines or parts of a line is refused.

use serde_json::Value;

/// Shells whose `-c` takes the line that was meant.
const SHELLS: [&str; 4] = ["sh", "dash", "bash", "zsh"];
/// Options that only say "run this line", for an interactive or login shell or not.
const LINE_OPTIONS: [&str; 5] = ["-c", "-lc", "-cl", "-ic", "-ec"];
/// What `sh` does not know or takes for something else.
const BEYOND_SH: [&str; 31] = [
    "[[",
    "((",
    "$'",
    "$\"",
    "<(",
    ">(",
    "=(",
    "<<<",
    "&>",
    ">&",
    "|&",
    "${",
    "{",
    "**",
    "==",
    "function ",
    "source ",
    "declare",
    "typeset",
    "local ",
    "shopt",
    "pushd",
    "popd",
    "pipefail",
    "let ",
    "mapfile",
    "readarray",
    "echo -",
    "read -",
    "time ",
    "select ",
];
/// Words that are operators of a shell when they stand alone.
const OPERATORS: [&str; 15] = [
    "&&", "||", "|", ";", "&", ">", ">>", "<", "<<", "2>", "2>>", "2>&1", "&>", "|&", ";;",
];

/// The line for a list of words. `None` where the value is no list; the error says what is wrong with the list.
pub fn command_line(value: &Value) -> Option<Result<String, &'static str>> {
    let items = match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => listed(text)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    Some(match words.as_deref() {
        None | Some([]) => Err("has to be one line of a shell, as text"),
        Some([program, ..]) if program.is_empty() || program.contains(char::is_whitespace) => {
            Err("has to be one line of a shell, as text; join several with && or line breaks")
        }
        Some(words) if words.iter().any(|word| is_operator(word)) => {
            Err("has to be one line of a shell, as text: in a list, operators are only words")
        }
        Some([shell, option, line])
            if SHELLS.contains(&base_name(shell)) && LINE_OPTIONS.contains(option) =>
        {
            Ok(shell_line(base_name(shell), line))
        }
        Some([shell, login, option, line])
            if SHELLS.contains(&base_name(shell)) && *login == "-l" && *option == "-c" =>
        {
            Ok(shell_line(base_name(shell), line))
        }
        Some(words) => Ok(quote_words(words)),
    })
}

/// The words of a list that came as the text of one.
fn listed(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let items: Vec<Value> = match text.starts_with('[') {
        true => serde_json::from_str(text).ok()?,
        false => return None,
    };
    let is_words = !items.is_empty() && items.iter().all(Value::is_string);
    is_words.then_some(items)
}

fn is_operator(word: &str) -> bool {
    OPERATORS.contains(&word)
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The line itself where every shell reads it alike, else the shell that was named with it.
fn shell_line(shell: &str, line: &str) -> String {
    let is_common = !BEYOND_SH.iter().any(|mark| line.contains(mark));
    match matches!(shell, "sh" | "dash") || is_common && shell == "bash" {
        true => line.to_owned(),
        false => format!("{shell} -c {}", quote(line)),
    }
}

fn quote_words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

/// As one word that every shell reads as it is.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_become_the_line_that_they_mean() {
        for (list, line) in [
            (json!(["bash", "-lc", "ls -la | wc"]), "ls -la | wc"),
            (json!(["/bin/bash", "-c", "a && b"]), "a && b"),
            (json!(["bash", "-l", "-c", "a"]), "a"),
            (json!(["sh", "-c", "echo {a,b}"]), "echo {a,b}"),
            (
                json!(["bash", "-lc", "[[ -f a ]] && b"]),
                "bash -c '[[ -f a ]] && b'",
            ),
            (json!(["bash", "-c", "echo {a,b}"]), "bash -c 'echo {a,b}'"),
            (
                json!(["bash", "-c", "echo 'a' <(b)"]),
                r"bash -c 'echo '\''a'\'' <(b)'",
            ),
            (json!(["zsh", "-c", "ls"]), "zsh -c ls"),
            (json!(["bash", "-c", "echo $0", "x"]), "bash -c 'echo $0' x"),
            (json!(["bash", "x.sh"]), "bash x.sh"),
            (json!(["ls", "-la"]), "ls -la"),
            (json!(["ls"]), "ls"),
            (
                json!(["grep", "-r", "a b*", "it's"]),
                r"grep -r 'a b*' 'it'\''s'",
            ),
            (json!(["rm", "-rf", "*"]), "rm -rf '*'"),
            (json!(["echo", "$HOME", ""]), "echo '$HOME' ''"),
            (json!("[\"bash\", \"-lc\", \"ls\"]"), "ls"),
            (json!(" [\"git\",\"status\"] "), "git status"),
        ] {
            assert_eq!(command_line(&list), Some(Ok(line.to_owned())), "{list}");
        }
        for list in [
            json!([]),
            json!([""]),
            json!([1]),
            json!(["ls", 1]),
            json!(["ls", null]),
            json!(["npm test"]),
            json!(["cd build", "make"]),
            json!(["cd", "build", "&&", "make"]),
            json!(["echo", "x", ">", "y"]),
            json!([["ls"]]),
        ] {
            assert!(matches!(command_line(&list), Some(Err(_))), "{list}");
        }
        for text in [
            json!("ls"),
            json!("[ -f a ] && b"),
            json!("[]"),
            json!("[1]"),
            json!({}),
        ] {
            assert_eq!(command_line(&text), None, "{text}");
        }
    }
}
