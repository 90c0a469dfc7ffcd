//! `agent.auto_plan`: a large task begins in plan mode, so that the person sees a plan before anything changes.

use ostler_guard::Mode;
use ostler_sources::references::PIPED;
use ostler_state::SessionState;
use ostler_state::inbox::{Prompt, Purpose};
use ostler_wire::{Body, Notice, Word};

/// Words that make a task large.
const MANY_WORDS: usize = 80;
/// Items of a list that make a task large.
const MANY_ITEMS: usize = 3;
/// Characters of a script without spaces that count as one word.
const CHARS_OF_A_WORD: usize = 2;

/// Enters plan mode where the configuration wants it, the person is there to approve a plan, and the prompt is large.
pub fn plan_first(state: &mut SessionState, prompt: &Prompt) -> Option<Body> {
    let wanted = state.extensions.agents.settings.auto_plan;
    let may = state.permissions.mode == Mode::Normal
        && prompt.purpose == Purpose::Words
        && state.settings.interactive
        && !state.is_child();
    if !wanted || !may || !is_large(own_words(prompt)) {
        return None;
    }
    state.permissions.enter(Mode::Plan);
    state.permissions.unrecorded = true;
    let text = state.settings.language.say(Word::AutoPlan).into();
    Some(Body::Notice(Notice { text }))
}

fn own_words(prompt: &Prompt) -> &str {
    let piped = || prompt.text.split(PIPED).next().unwrap_or_default();
    prompt.own_words.as_deref().unwrap_or_else(piped)
}

/// By its length or its list of items. Fenced blocks are material, not part of the task.
fn is_large(text: &str) -> bool {
    let (mut fenced, mut words, mut items) = (false, 0, 0);
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced {
            words += count_words(line);
            items += usize::from(is_item(line));
        }
    }
    words >= MANY_WORDS || items >= MANY_ITEMS
}

fn count_words(line: &str) -> usize {
    let unspaced = line.chars().filter(|c| is_unspaced(*c)).count();
    let spaced = line.split_whitespace();
    let spaced = spaced.filter(|word| !word.chars().any(is_unspaced)).count();
    spaced + unspaced / CHARS_OF_A_WORD
}

/// Of a script that is written without spaces between words (Chinese, Japanese, Thai).
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

fn is_item(line: &str) -> bool {
    let bullet = ["- ", "* ", "+ ", "• "];
    if bullet.iter().any(|mark| line.starts_with(mark)) {
        return true;
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len();
    numbered && (rest.starts_with(". ") || rest.starts_with(") ") || rest.starts_with('、'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_large_by_its_length_or_its_items() {
        let long = "word ".repeat(MANY_WORDS);
        let log = format!("why?\n```\n{long}\n- a\n- b\n- c\n```");
        let cases = [
            ("fix the typo in README", false),
            ("add\n- a flag\n- a test", false),
            ("add\n- a flag\n- a test\n- a page", true),
            ("1. a flag\n2) a test\n3. a page", true),
            ("1.5 is wrong\n2.5 too\n3.5 too", false),
            (&long, true),
            (&log, false),
            (&"实现新的导出功能".repeat(20), true),
            ("修复这个错误", false),
            ("1、导出\n2、测试\n3、文档", true),
        ];
        for (text, large) in cases {
            assert_eq!(is_large(text), large, "{text}");
        }
    }
}
