//! What the model says of its goal at the end of an answer, and whether two blocked states are the same one. Pure.

/// Lines at the end of an answer in which the report is looked for.
const LAST_LINES: usize = 8;
/// Characters of a reason.
const MAX_REASON: usize = 500;
/// The share of words, in percent, from which two reasons say the same.
const ALIKE: usize = 50;
/// Words that say nothing.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "cannot", "could", "do",
    "does", "for", "from", "had", "has", "have", "i", "in", "is", "it", "its", "me", "my", "no",
    "not", "of", "on", "or", "so", "still", "that", "the", "them", "there", "this", "to", "was",
    "we", "were", "with", "without", "would", "you", "your",
];

const DONE: &[&str] = &[
    "done",
    "complete",
    "completed",
    "finished",
    "reached",
    "achieved",
    "完成",
    "已完成",
    "达成",
    "已达成",
];
/// What may follow a word of those without taking something back, as the next word.
const AND: &[&str] = &[
    "after",
    "all",
    "and",
    "as",
    "because",
    "everything",
    "now",
    "see",
    "since",
    "with",
    "并",
    "且",
    "所有",
    "全部",
];
/// Words after which it is not done.
const HEDGES: &[&str] = &[
    "almost",
    "although",
    "but",
    "except",
    "half",
    "however",
    "mostly",
    "nearly",
    "partially",
    "partly",
    "pending",
    "though",
    "一半",
    "但",
    "部分",
    "除",
    "还",
    "尚",
    "未",
];
const BLOCKED: &[&str] = &["blocked", "stuck", "受阻", "阻塞", "被阻", "卡住"];
const WORKING: &[&str] = &[
    "working",
    "continue",
    "continuing",
    "in progress",
    "进行中",
    "继续",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    Done,
    /// What stands in the way.
    Blocked(String),
    /// It goes on, or does not say.
    Working,
}

/// Reads the line `GOAL: done|blocked: why|working` at the end of an answer, however it is dressed up. The last one counts.
pub fn report(answer: &str) -> Report {
    let lines = answer.lines().rev().filter(|line| !line.trim().is_empty());
    let found = lines.take(LAST_LINES).find_map(read);
    found.unwrap_or(Report::Working)
}

fn read(line: &str) -> Option<Report> {
    let dressing = |c: char| c.is_whitespace() || "*_#>-`~|[](){}\"'".contains(c);
    let line = line.trim_matches(dressing);
    let rest = ["goal", "目标"].iter().find_map(|name| {
        let head = line.get(..name.len())?;
        let rest = head
            .eq_ignore_ascii_case(name)
            .then(|| line.get(name.len()..))??;
        let rest = rest.trim_start_matches(dressing);
        rest.strip_prefix([':', '：'])
    })?;
    let rest = rest.trim_matches(dressing);
    let lower = rest.to_lowercase();
    let begins = |words: &[&str]| {
        let mut words = words.iter().filter(|word| lower.starts_with(**word));
        words
            .find(|word| {
                let next = lower.get(word.len()..).and_then(|rest| rest.chars().next());
                let latin = word.is_ascii();
                !latin || next.is_none_or(|c| !c.is_alphanumeric())
            })
            .map(|word| word.len())
    };
    if let Some(length) = begins(DONE) {
        let claim = lower.get(length..).unwrap_or_default();
        return Some(match is_whole(claim) {
            true => Report::Done,
            false => Report::Working,
        });
    }
    if let Some(length) = begins(BLOCKED) {
        let why = rest.get(length..).unwrap_or_default();
        let why = why.trim_start_matches(|c: char| c.is_whitespace() || ":：-–—,，.(*".contains(c));
        return Some(Report::Blocked(why.chars().take(MAX_REASON).collect()));
    }
    begins(WORKING).map(|_| Report::Working)
}

/// Whether what follows a word for "done" leaves it at that: nothing, a remark of its own, or how that is known. "done-ish",
/// "completed 3 of 5" and "done except the docs" do not.
fn is_whole(rest: &str) -> bool {
    let rest = rest.strip_prefix('了').unwrap_or(rest);
    let next = rest.trim_start();
    let joined = next.len() == rest.len();
    let glued = joined && rest.starts_with(['-', '/', '?', '？', '_']);
    let goes_on = next.starts_with(char::is_alphanumeric)
        && !AND.iter().any(|and| {
            let after = next.strip_prefix(and).map(|rest| rest.chars().next());
            after.is_some_and(|c| !and.is_ascii() || c.is_none_or(|c| !c.is_alphanumeric()))
        });
    let hedged = HEDGES.iter().any(|hedge| match hedge.is_ascii() {
        true => rest
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word == *hedge),
        false => rest.contains(hedge),
    });
    !glued && !goes_on && !hedged
}

/// Whether two reasons say the same: letter by letter without case, space and punctuation, or by most of their words.
pub fn same(one: &str, other: &str) -> bool {
    if plain(one) == plain(other) {
        return true;
    }
    let (one, other) = (words(one), words(other));
    let shared = one.iter().filter(|word| other.contains(word)).count();
    let fewer = one.len().min(other.len());
    shared > 0 && shared * 100 >= fewer * ALIKE && (shared > 1 || fewer == 1)
}

/// Without case, space and punctuation.
pub fn plain(text: &str) -> String {
    let text = text.chars().filter(|c| c.is_alphanumeric());
    text.flat_map(char::to_lowercase).collect()
}

/// The words that say something, without their endings; of scripts without spaces each pair of characters.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut add = |word: String| {
        if !word.is_empty() && !out.contains(&word) {
            out.push(word);
        }
    };
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let wide: Vec<char> = word.chars().filter(|c| !c.is_ascii()).collect();
        if wide.len() > 1 {
            wide.windows(2).for_each(|pair| add(pair.iter().collect()));
        } else if word.len() > 1 && !EMPTY.contains(&word) {
            let stem = ["ing", "ed", "es", "s"]
                .iter()
                .find_map(|end| word.strip_suffix(end));
            add(stem
                .filter(|stem| stem.len() > 2)
                .unwrap_or(word)
                .to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_forgivingly() {
        let blocked = |why: &str| Report::Blocked(why.into());
        for (answer, expect) in [
            ("All tests pass.\n\nGOAL: done", Report::Done),
            ("goal: Done.", Report::Done),
            ("**GOAL: done** — checked with `cargo test`", Report::Done),
            ("- Goal : completed", Report::Done),
            ("> `GOAL: reached`", Report::Done),
            ("GOAL: blocked: no API key", blocked("no API key")),
            (
                "Goal: Blocked - the server is down.",
                blocked("the server is down."),
            ),
            ("GOAL: blocked", blocked("")),
            ("GOAL: stuck (no network)", blocked("no network")),
            ("GOAL: working: next the parser", Report::Working),
            ("GOAL: done - all 12 tests pass", Report::Done),
            ("GOAL: done (12 of 12 pass)", Report::Done),
            ("GOAL: done and checked", Report::Done),
            ("GOAL: done. Nothing is left.", Report::Done),
            ("目标：完成了，所有测试通过", Report::Done),
            ("目标：已完成并验证", Report::Done),
            // A part is not the whole.
            ("GOAL: done-ish, half of it", Report::Working),
            ("GOAL: done except the docs", Report::Working),
            ("GOAL: done, but two tests fail", Report::Working),
            ("GOAL: done? not yet", Report::Working),
            ("GOAL: completed 3 of 5", Report::Working),
            ("GOAL: finished the parser, next the lexer", Report::Working),
            ("GOAL: complete: almost", Report::Working),
            ("目标：完成了一半", Report::Working),
            ("目标：完成 80%", Report::Working),
            ("目标：完成，但测试未通过", Report::Working),
            ("GOAL: not done", Report::Working),
            ("GOAL: undone", Report::Working),
            ("The goal is done.", Report::Working),
            ("goals: done", Report::Working),
            ("", Report::Working),
            (
                "GOAL: done\nGOAL: blocked: it was not",
                blocked("it was not"),
            ),
            (
                "GOAL: blocked: x\n\nWait, it works.\nGOAL: done",
                Report::Done,
            ),
            ("目标：已完成", Report::Done),
            ("目标：受阻：缺少密钥", blocked("缺少密钥")),
            ("GOAL：完成", Report::Done),
            ("GOAL: 继续", Report::Working),
        ] {
            assert_eq!(report(answer), expect, "{answer}");
        }
        let buried = format!("GOAL: done\n{}", "more\n".repeat(20));
        assert_eq!(report(&buried), Report::Working);
    }

    #[test]
    fn the_same_state_in_other_words() {
        for (one, other, expect) in [
            ("No API key.", "no  api-key", true),
            ("The API key is missing", "I still need an API key", true),
            ("API key was not provided", "There is no API key set", true),
            (
                "waiting for the database server to come up",
                "The database server is not up; waiting",
                true,
            ),
            (
                "tests need docker, which is not installed",
                "docker isn't installed here",
                true,
            ),
            ("缺少 API 密钥", "没有 API 密钥可用", true),
            ("无法访问数据库服务器", "数据库服务器无法访问", true),
            ("No API key", "The network is down", false),
            ("cannot write to /etc", "compiler is missing", false),
            (
                "the config file cannot be found on the server",
                "cannot reach the database server",
                false,
            ),
            ("缺少密钥", "网络不通", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(same(one, other), expect, "{one} | {other}");
            assert_eq!(same(other, one), expect, "{other} | {one}");
        }
    }
}
