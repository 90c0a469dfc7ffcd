//! Programs in the words of sed, awk and jq: each is accepted only in a form that surely neither writes, runs, reads
//! another file nor shows the environment.

use super::spec::Sorted;
use super::word::Word;

pub fn jq(sorted: &Sorted<'_>) -> bool {
    let Some(program) = sorted.operands.first() else {
        return false;
    };
    let refused = [
        "env",
        "ENV",
        "import",
        "include",
        "modulemeta",
        "get_search_list",
        "strenv",
        "envsubst",
        "load",
        "load_str",
        "eval",
        "__prog_args",
        "system",
    ];
    let text = program.text.as_str();
    let mut before = ' ';
    let mut word = String::new();
    let mut ahead = ' ';
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            if word.is_empty() {
                ahead = before;
            }
            word.push(c);
        } else {
            // Behind a dot it is the name of a field.
            if refused.contains(&word.as_str())
                && !(ahead == '.' && word == "env")
                && !(ahead == '"' && c == '"')
            {
                return false;
            }
            word.clear();
        }
        before = c;
    }
    program.is_sure()
}

pub fn sed(sorted: &Sorted<'_>) -> bool {
    let by_option: Vec<&str> = sorted
        .options
        .iter()
        .filter(|(name, _)| matches!(*name, "-e" | "--expression"))
        .map(|(_, value)| value.as_deref().unwrap_or_default())
        .collect();
    if sorted.operands.iter().any(|w| w.glob && w.may_be_option()) {
        return false;
    }
    match by_option.is_empty() {
        true => sorted
            .operands
            .first()
            .is_some_and(|w| w.is_sure() && plain_sed(&w.text)),
        // Several are one script, line by line.
        false => by_option.iter().all(|s| plain_sed(s)),
    }
}

/// Addresses with commands that print, delete or substitute; nothing that reads, writes or runs.
fn plain_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let get = |at: usize| chars.get(at).copied();
    let mut depth = 0usize;
    loop {
        while get(at).is_some_and(|c| c == ';' || c == '\n' || c == ' ' || c == '\t') {
            at += 1;
        }
        let Some(_) = get(at) else {
            return depth == 0;
        };
        let Some(next) = past_addresses(&chars, at) else {
            return false;
        };
        at = next;
        match get(at) {
            Some('{') => {
                depth += 1;
                at += 1;
                continue;
            }
            Some('}') if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            Some('p' | 'd' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' | 'l') => {
                at += 1
            }
            Some('q' | 'Q') => {
                at += 1;
                while get(at).is_some_and(|c| c == ' ' || c.is_ascii_digit()) {
                    at += 1;
                }
            }
            Some(command @ ('s' | 'y')) => match past_substitution(&chars, at + 1, command) {
                Some(next) => at = next,
                None => return false,
            },
            Some(_) | None => return false,
        }
        while get(at) == Some(' ') {
            at += 1;
        }
        if !matches!(get(at), None | Some(';' | '\n' | '}')) {
            return false;
        }
    }
}

fn past_addresses(chars: &[char], mut at: usize) -> Option<usize> {
    let get = |at: usize| chars.get(at).copied();
    loop {
        match get(at) {
            Some('/') => {
                at = past_part(chars, at + 1, '/')?;
                while matches!(get(at), Some('I' | 'M')) {
                    at += 1;
                }
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '$' | '+' | '~') => at += 1,
            Some(',' | ' ' | '!') => at += 1,
            Some(_) | None => return Some(at),
        }
    }
}

/// Behind the next delimiter; within a bracket some programs take it for a character.
fn past_part(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    let mut bracket = false;
    loop {
        let c = chars.get(at).copied()?;
        at += 1;
        match c {
            '\n' => return None,
            '\\' => {
                // An escape in a bracket is none to some.
                if bracket || chars.get(at).is_none_or(|c| *c == '\n') {
                    return None;
                }
                at += 1;
            }
            '[' if !bracket => {
                bracket = true;
                // A bracket right at the start of a class is a member of it.
                if chars.get(at) == Some(&'^') {
                    at += 1;
                }
                if chars.get(at) == Some(&']') {
                    at += 1;
                }
            }
            // `[:alpha:]` within a class.
            '[' if matches!(chars.get(at), Some(':' | '.' | '=')) => {
                let kind = chars.get(at).copied()?;
                let rest = chars.get(at + 1..)?;
                let end = rest.windows(2).position(|pair| pair == [kind, ']'])?;
                if rest.get(..end)?.contains(&delimiter) {
                    return None;
                }
                at += end + 3;
            }
            ']' if bracket => bracket = false,
            _ if c == delimiter && bracket => return None,
            _ if c == delimiter => return Some(at),
            _ => {}
        }
    }
}

fn past_substitution(chars: &[char], at: usize, command: char) -> Option<usize> {
    let delimiter = chars
        .get(at)
        .copied()
        .filter(|c| "/|#,:@%!~_".contains(*c))?;
    let at = past_part(chars, at + 1, delimiter)?;
    // The replacement has no classes.
    let mut end = at;
    loop {
        match chars.get(end).copied()? {
            '\\' if chars.get(end + 1).is_some_and(|c| *c != '\n') => end += 2,
            '\\' | '\n' => return None,
            c if c == delimiter => break,
            _ => end += 1,
        }
    }
    let mut at = end + 1;
    if command == 's' {
        while chars
            .get(at)
            .is_some_and(|c| c.is_ascii_digit() || "gpiIM".contains(*c))
        {
            at += 1;
        }
    }
    Some(at)
}

/// `-F` and `-v` with values, one program, then files.
pub fn awk(args: &[&Word]) -> Option<Vec<String>> {
    let mut rest = args.iter();
    let program = loop {
        let word = rest.next()?;
        if !word.is_sure() {
            return None;
        }
        match word.text.as_str() {
            "--" => break rest.next()?,
            "-F" => {
                rest.next().filter(|w| w.is_sure())?;
            }
            "-v" => {
                let word = rest
                    .next()
                    .filter(|w| w.known && !w.many && !w.glob && !w.brace)?;
                is_setting(&word.text).then_some(())?;
            }
            text if text.starts_with("-F") => {}
            text if text.starts_with("-v") => is_setting(text.get(2..)?).then_some(())?,
            text if text.len() > 1 && text.starts_with('-') => return None,
            _ => break word,
        }
    };
    if !program.is_sure() || !plain_awk(&program.text) {
        return None;
    }
    let mut files = Vec::new();
    for word in rest {
        if !word.known || word.many {
            return None;
        }
        files.push(word.text.clone());
    }
    Some(files)
}

fn is_setting(text: &str) -> bool {
    let name = text.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const AWK_REFUSED: &[&str] = &[
    "system",
    "getline",
    "ARGV",
    "ARGC",
    "close",
    "fflush",
    "load",
    "ENVIRON",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "include",
    "namespace",
    "extension",
];

/// Nothing that runs a command, writes a file, reads another or shows the environment.
fn plain_awk(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    // The last character that is no blank: after it a value is due, or an operator.
    let mut last = ';';
    let mut word = String::new();
    let mut printing = false;
    while let Some(c) = chars.get(at).copied() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            at += 1;
            last = c;
            continue;
        }
        if !word.is_empty() {
            if AWK_REFUSED.contains(&word.as_str()) {
                return false;
            }
            printing |= matches!(word.as_str(), "print" | "printf");
            word.clear();
        }
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        at += 1;
        match c {
            '"' => match past_string(&chars, at) {
                Some(end) => at = end,
                None => return false,
            },
            '/' if "(,{};!~&|?:=".contains(last) => match past_part(&chars, at, '/') {
                Some(end) => at = end,
                None => return false,
            },
            '|' if next == '|' => at += 1,
            '|' | '@' | '#' | '`' | '\\' | '\'' => return false,
            '>' if printing || next == '>' => return false,
            '>' if next == '=' => at += 1,
            ';' | '}' => printing = false,
            _ => {}
        }
        if !c.is_whitespace() {
            last = if c == '"' || c == '/' { '"' } else { c };
        } else if c == '\n' {
            last = ';';
        }
    }
    !AWK_REFUSED.contains(&word.as_str())
}

fn past_string(chars: &[char], mut at: usize) -> Option<usize> {
    loop {
        match chars.get(at).copied()? {
            '"' => return Some(at + 1),
            '\\' => at += 2,
            '\n' => return None,
            _ => at += 1,
        }
    }
}
