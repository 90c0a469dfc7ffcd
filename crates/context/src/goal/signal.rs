//! Whether words ask for long work: what makes of an ordinary prompt a goal, and of a goal research. Pure.

/// Signals that make an ordinary prompt a goal.
const STRONG: usize = 2;
/// How far the end of "until …" may be, in characters.
const REACH: usize = 120;
/// Words between "for" and the time.
const FILLERS: &[&str] = &[
    "the", "next", "another", "about", "around", "at", "least", "up", "to", "roughly", "some",
];
const UNITS: &[&str] = &[
    "minute", "minutes", "min", "mins", "hour", "hours", "hr", "hrs", "h", "day", "days", "night",
    "nights", "week", "weeks",
];
const ROUNDS: &[&str] = &[
    "iterations",
    "iteration",
    "rounds",
    "round",
    "experiments",
    "attempts",
    "trials",
    "cycles",
];
/// Words that alone or together mean nothing in a prompt, and of which two make a goal research.
const WEAK: &[&str] = &[
    "research",
    "optimize",
    "optimise",
    "benchmark",
    "investigate",
    "explore",
    "experiment",
    "long term",
    "long-term",
    "研究",
    "优化",
    "实验",
    "长期",
    "调查",
    "探索",
];

/// An ordinary prompt that is meant as a goal. Only an explicit duration, a count of iterations and "until … proven" count,
/// and one of them is not enough.
pub fn is_strong(text: &str) -> bool {
    signals(text) >= STRONG
}

/// A goal that will take long.
pub fn is_long(objective: &str) -> bool {
    let lower = objective.to_lowercase();
    let weak = WEAK.iter().filter(|word| lower.contains(**word)).count();
    signals(objective) > 0 || weak > 1
}

fn signals(text: &str) -> usize {
    let lower = text.to_lowercase();
    let spaced = spaced(&lower);
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let all = [
        lasts(&words, &lower),
        repeats(&words, &lower),
        proves(&lower),
    ];
    all.into_iter().filter(|found| *found).count()
}

/// Numbers and words apart, so that `8h` and `迭代20次` read like `8 h` and `迭代 20 次`.
fn spaced(text: &str) -> String {
    let mut out = String::new();
    let mut last = None;
    for c in text.chars() {
        let kind = (c.is_ascii_digit(), c.is_ascii_alphabetic());
        if last.is_some_and(|last| last != kind) {
            out.push(' ');
        }
        out.push(if c.is_alphanumeric() { c } else { ' ' });
        last = Some(kind);
    }
    out
}

/// `for 8 hours`, `overnight`, 持续 8 小时.
fn lasts(words: &[&str], text: &str) -> bool {
    let always = ["overnight", "all night", "通宵", "整晚", "一整夜"];
    if always.iter().any(|word| text.contains(word)) {
        return true;
    }
    let after = |at: usize| {
        let rest = words.get(at + 1..).unwrap_or_default();
        let mut rest = rest.iter().skip_while(|word| FILLERS.contains(word));
        let number = rest.next().is_some_and(|word| is_number(word));
        number && rest.next().is_some_and(|word| UNITS.contains(word))
    };
    let mut starts = words.iter().enumerate().filter(|(_, word)| **word == "for");
    if starts.any(|(at, _)| after(at)) {
        return true;
    }
    let chinese = |at: usize| {
        let unit = words.get(at + 1).is_some_and(|unit| {
            ["小时", "个小时", "分钟", "天"]
                .iter()
                .any(|known| unit.starts_with(known))
        });
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let runs = before.is_some_and(|before| {
            ["持续", "连续", "接下来", "跑", "运行"]
                .iter()
                .any(|word| before.ends_with(word))
        });
        unit && runs
    };
    (0..words.len()).any(|at| words.get(at).is_some_and(|word| is_number(word)) && chinese(at))
}

/// `20 iterations`, 迭代 20 次.
fn repeats(words: &[&str], text: &str) -> bool {
    let counted = |pair: &[&str]| match pair {
        [number, what] => is_number(number) && ROUNDS.contains(what),
        _ => false,
    };
    let chinese = |three: &[&str]| match three {
        [before, number, after] => {
            let times = after.starts_with('次') || after.starts_with('轮');
            let works = ["迭代", "重复", "实验", "尝试", "循环"];
            is_number(number)
                && times
                && works
                    .iter()
                    .any(|word| before.ends_with(word) || after.contains(word))
        }
        _ => false,
    };
    let rounds = words.windows(2).any(|pair| match pair {
        [number, after] => is_number(number) && after.starts_with('轮'),
        _ => false,
    });
    words.windows(2).any(counted) || words.windows(3).any(chinese) || rounds && text.contains('轮')
}

/// `until it is proven`, 直到证明.
fn proves(text: &str) -> bool {
    [
        ("until", &["proven", "proved", "prove "][..]),
        ("直到", &["证明", "证实"]),
    ]
    .iter()
    .any(|(until, proofs)| {
        text.match_indices(until).any(|(at, _)| {
            let rest: String = text
                .get(at..)
                .unwrap_or_default()
                .chars()
                .take(REACH)
                .collect();
            proofs.iter().any(|proof| rest.contains(proof))
        })
    })
}

fn is_number(word: &str) -> bool {
    let names = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty",
        "fifty", "hundred",
    ];
    word.parse::<u32>().is_ok_and(|n| n > 0) || names.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prompts of everyday work: none of them may become a goal.
    const WEAK_PROMPTS: &[&str] = &[
        "optimize this function",
        "research the best database for us",
        "verify that the tests pass",
        "think long term about the architecture",
        "optimize and verify, research what others do, long term",
        "keep going until the tests pass",
        "run the tests 20 times",
        "run the benchmark for 10 minutes",
        "do 5 iterations of the refactoring",
        "continue until it is proven correct",
        "fix the 30 minute timeout and the 5 retries",
        "The job runs for 8 hours; why?",
        "prove that this is correct",
        "explain why this loop has 100 iterations",
        "work on this until everything is done",
        "improve performance as much as possible, step by step, and never give up",
        "continue",
        "优化这个函数",
        "研究一下这个问题并验证",
        "长期来看应该如何设计",
        "持续优化，直到测试通过",
        "迭代 20 次",
        "运行 8 小时的任务为什么失败",
        "验证这个结论",
        "直到证明它是正确的",
        "",
    ];

    const STRONG_PROMPTS: &[&str] = &[
        "work on the cache for 8 hours, at least 20 iterations",
        "Try 50 experiments and go on until the speedup is proven by the benchmark",
        "Run overnight until you have proved that no race is left",
        "for the next 3 hours keep trying, 30 rounds",
        "for about 2h do ten iterations",
        "持续 8 小时，迭代 20 次",
        "接下来3小时反复实验，直到证明优化有效",
        "重复50次实验，直到证实没有竞争",
        "通宵运行 30 轮",
    ];

    #[test]
    fn only_strong_signals_make_a_goal() {
        for text in WEAK_PROMPTS {
            assert!(!is_strong(text), "{text}");
        }
        for text in STRONG_PROMPTS {
            assert!(is_strong(text), "{text}");
        }
    }

    #[test]
    fn goals_that_take_long() {
        for (text, expect) in [
            ("fix the build", false),
            ("optimize the parser", false),
            ("research and optimize the parser", true),
            ("研究并优化解析器", true),
            ("run the suite for 2 hours", true),
            ("20 iterations of tuning", true),
            ("", false),
        ] {
            assert_eq!(is_long(text), expect, "{text}");
        }
    }
}
