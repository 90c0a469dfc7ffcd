//! Judges the place of a call in an answer by what stands before it. The layout says whether it is quoted. Prose is never
//! proof of a wish, so only a short announcement of a call passes; anything else makes the model say what it meant.

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a line of its own, after nothing or after an announcement.
    Apart,
    /// In a quotation, a list item, a table, a comment or a piece of code.
    Quoted,
    /// Within a line of prose.
    Inline,
    /// On a line of its own, and something speaks against it.
    Doubtful,
}

const THINKING: [[&str; 2]; 8] = [
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<thought>", "</thought>"],
    ["<reasoning>", "</reasoning>"],
    ["<analysis>", "</analysis>"],
    ["<scratchpad>", "</scratchpad>"],
    ["[THINK]", "[/THINK]"],
    ["◁think▷", "◁/think▷"],
];
const COMMENT: [&str; 2] = ["<!--", "-->"];
/// Quotation marks that differ at their ends, and comments of programs.
const QUOTES: [[&str; 2]; 5] = [
    ["/*", "*/"],
    ["“", "”"],
    ["«", "»"],
    ["「", "」"],
    ["『", "』"],
];
/// Beginnings of a line that is not plain prose: a quotation, a table, a heading, an item of a list.
const LAYOUT: [&str; 7] = [">", "|", "#", "- ", "* ", "+ ", "• "];
/// Blanks before a line that make it a block of code.
const CODE_INDENT: usize = 4;
/// Elements that have no end.
const VOID: [&str; 4] = ["br", "hr", "img", "p"];
/// Longer prose before a call is no announcement.
const MAX_ANNOUNCEMENT: usize = 600;

/// Words that may lead an announcement, or be all of it.
const LEADING: [&str; 16] = [
    "ok",
    "okay",
    "sure",
    "yes",
    "certainly",
    "of course",
    "alright",
    "all right",
    "got it",
    "understood",
    "now",
    "first",
    "next",
    "then",
    "so",
    "好的",
];
/// How a sentence begins that announces what its writer does now; one of the verbs follows.
const OPENERS: [&str; 17] = [
    "let me",
    "let's",
    "let us",
    "i'll",
    "i will",
    "i'm going to",
    "i am going to",
    "i need to",
    "i have to",
    "i want to",
    "i'd like to",
    "i'm",
    "i now",
    "we'll",
    "we need to",
    "we",
    "i",
];
/// What is done by calling a tool.
const VERBS: &str = "look|see|check|read|run|open|list|search|start|begin|create|clean|write|call|inspect|examine|\
    explore|find|update|fix|edit|change|add|remove|delete|install|build|test|verify|view|do|get|fetch|make|move|rename|\
    apply|continue|locate|investigate|reproduce|implement|compile|format|take a look|have a look|use";
/// The same as the beginning of a sentence or behind `I'm`.
const GERUNDS: &str = "checking|looking|reading|running|searching|listing|opening|creating|updating|writing|fixing|\
    calling|starting|building|testing|cleaning|removing|adding|inspecting|exploring|installing";
/// All other words that an announcement may have, beside names of files.
const PLAIN: &str = "the|a|an|at|in|into|inside|of|for|to|up|with|and|on|it|its|them|that|all|first|second|\
    next|now|again|one|more|here|there|around|through|from|current|new|main|whole|quickly|carefully|closer|file|files|\
    folder|folders|directory|directories|project|repository|repo|workspace|code|codebase|source|sources|structure|test|\
    tests|suite|build|command|tool|status|history|log|logs|changes|diff|dependencies|package|packages|module|modules|\
    function|class|implementation|issue|bug|problem|fix|error|errors|config|configuration|settings|server|app|script|\
    scripts|git|bash|shell|version|versions|look";
/// Words of an announcement behind its verb, at most.
const MAX_PLAIN: usize = 9;
const CHINESE_OPENERS: &str =
    "我们来|接下来我|首先我|现在我|我需要|我来|让我|我将|我会|我先|我要|正在|先";
/// All that may follow them.
const CHINESE_WORDS: &str = "看看|看一下|查看|检查|读取|运行|执行|打开|列出|搜索|查找|创建|更新|修改|修复|删除|清理|添加|\
    测试|构建|调用|使用|看|读|查|一下|文件|目录|项目|代码|命令|结构|仓库|工具|当前|这个|它|的|下|来|先|要|会";
/// Words that speak of something else than doing it now: refusal, condition, quotation, question, a later time.
const AGAINST: &str = "never| not|n't|cannot| no |avoid|refus|declin|danger|harmful|malicious|unsafe|forbid|wrong|bad |\
    mistake|attack|inject|hypothetic|pretend|imagine|suppose|assum| if |unless|until|once |when |whether|after |later|\
    tomorrow|eventually|someday|before |would|could|might| may |should|shall|can you|you can|you need|want me|confirm|\
    approv|permission|propos|suggest|recommend|example|e.g.|i.e.|instance|sample|syntax|notation|template|looks like|\
    look like|like this|illustrat|demonstrat|explain|describ|show|quot|cite|say|said|echo|repeat|paste|?|？|例|语法|不|别|\
    勿|如果|假设|引用|展示|解释|之后|以后";
/// Words that speak of what somebody wrote. In a sentence before an announcement they may mean that the call is that text.
const SPEAKING_OF_TEXT: &str = "contain| has |text|string|format|instead|away|which|nobody|following|snippet|wrote|written|\
    readme|prompt|docs|document|page|comment|reads|tells|pattern|warn|ignor|this:|内容|写";
/// Ends of the last sentence.
const SENTENCE_ENDS: [char; 9] = ['.', '!', '…', '。', '！', ':', '：', ';', '；'];

/// Judges a call by the text of the answer before it.
pub fn judge_place(before: &str) -> Place {
    let Some(said) = after_thinking(before) else {
        return Place::Doubtful;
    };
    let line = said.rsplit('\n').next().unwrap_or(said);
    let is_open = |[open, close]: &[&str; 2]| match (said.rfind(open), said.rfind(close)) {
        (Some(open), Some(close)) => open > close,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let paragraph = last_paragraph(said);
    let is_code = line.contains('\t') || line.len() >= CODE_INDENT && line.trim().is_empty();
    if is_code || has_open_code(paragraph) || is_open(&COMMENT) || is_quoted(said, line) {
        return Place::Quoted;
    }
    if !line.trim().is_empty() {
        return Place::Inline;
    }
    let is_open_quote = paragraph.matches('"').count() % 2 == 1;
    let is_doubtful = is_open_quote
        || QUOTES.iter().any(is_open)
        || has_open_element(said)
        || !announces(paragraph);
    match is_doubtful {
        true => Place::Doubtful,
        false => Place::Apart,
    }
}

/// What was said after the reasoning. `None` where the reasoning has not ended.
fn after_thinking(before: &str) -> Option<&str> {
    let mut start = 0;
    for [open, close] in THINKING {
        match (before.rfind(open), before.rfind(close)) {
            (Some(open), Some(close)) if open > close => return None,
            (Some(_), None) => return None,
            (_, Some(at)) => start = start.max(at + close.len()),
            (None, None) => {}
        }
    }
    before.get(start..)
}

/// The lines before the call that belong together, without the one that it stands on if that is empty.
fn last_paragraph(said: &str) -> &str {
    let said = said.trim_end();
    let is_blank = |line: &str| line.trim().is_empty();
    let mut start = said.len();
    for line in said.split_inclusive('\n').rev() {
        if is_blank(line) {
            break;
        }
        start -= line.len();
    }
    said.get(start..).unwrap_or(said).trim()
}

/// Whether the line, or the lines that it continues, are a quotation, an item of a list, a table or a heading.
fn is_quoted(said: &str, line: &str) -> bool {
    if is_layout(line) {
        return true;
    }
    let above = said.strip_suffix(line).unwrap_or(said);
    let indented = line.starts_with(' ');
    for line in above.lines().rev() {
        match line.trim().is_empty() {
            // A blank line ends a quotation, and an item of a list whose lines are not indented.
            true if !indented => return false,
            true => {}
            false if is_layout(line) => return !line.trim_start().starts_with('#'),
            false => {}
        }
    }
    false
}

fn is_layout(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = number.len() < line.len() && number.starts_with(['.', ')']);
    is_item || LAYOUT.iter().any(|mark| line.starts_with(mark))
}

/// Whether a piece of code within the lines has not ended.
fn has_open_code(paragraph: &str) -> bool {
    let mut open: Option<usize> = None;
    let mut rest = paragraph;
    while let Some(at) = rest.find('`') {
        let marks = rest.get(at..).unwrap_or("");
        let after = marks.trim_start_matches('`');
        let length = marks.len() - after.len();
        open = match open {
            Some(wanted) if wanted == length => None,
            Some(wanted) => Some(wanted),
            None => Some(length),
        };
        rest = after;
    }
    open.is_some()
}

/// Whether an element was opened and not closed.
fn has_open_element(said: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    said.match_indices('<').any(|(at, _)| {
        let before = said.get(..at).unwrap_or("");
        let rest = said.get(at + 1..).unwrap_or("");
        let name = rest.split(|c| !is_name(c)).next().unwrap_or("");
        let after = rest.get(name.len()..).unwrap_or("");
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let is_tag = begins
            && !VOID.contains(&name)
            && !before.ends_with(|c: char| c.is_alphanumeric() || c == '`')
            && after.starts_with(['>', ' ', '\n']);
        is_tag && !after.contains(&format!("</{name}>"))
    })
}

/// Whether the prose before a call says that it is made now, and nothing else. No prose is no objection.
fn announces(paragraph: &str) -> bool {
    if paragraph.is_empty() {
        return true;
    }
    let text = paragraph.to_lowercase().replace('’', "'");
    let is_short = paragraph.len() <= MAX_ANNOUNCEMENT && paragraph.lines().count() <= 4;
    let padded = format!(" {text} ");
    let last = text
        .trim_end_matches(|c: char| c.is_whitespace() || SENTENCE_ENDS.contains(&c))
        .rsplit(['…', '。', '！', '\n'])
        .flat_map(|line| line.rsplit(". ").flat_map(|piece| piece.rsplit("! ")))
        .map(str::trim)
        .find(|sentence| !sentence.is_empty())
        .unwrap_or("");
    let is_against = |list: &str| list.split('|').any(|word| padded.contains(word));
    let is_alone = text.trim_end_matches(|c: char| SENTENCE_ENDS.contains(&c)) == last;
    is_short
        && is_announcement(last)
        && !is_against(AGAINST)
        && (is_alone || !is_against(SPEAKING_OF_TEXT))
}

/// Whether a sentence has the closed form of an announcement: an opener, a verb of work, and a few plain words.
fn is_announcement(sentence: &str) -> bool {
    let mut rest = sentence;
    while let Some(after) = LEADING.iter().find_map(|word| after_word(rest, word)) {
        rest = after.trim_start_matches([',', '，', '-', '—', ':', '：', ' ']);
    }
    if rest.is_empty() {
        return true;
    }
    let words_of = |list: &'static str| list.split('|');
    if let Some(after) = words_of(CHINESE_OPENERS).find_map(|word| rest.strip_prefix(word)) {
        return is_chinese_work(after);
    }
    let opened = OPENERS.iter().find_map(|word| after_word(rest, word));
    let bare = opened.unwrap_or(rest).trim_start();
    let bare = after_word(bare, "now").unwrap_or(bare).trim_start();
    let verbs = words_of(VERBS).filter(|_| opened.is_some());
    let mut after = verbs
        .chain(words_of(GERUNDS))
        .filter_map(|verb| after_word(bare, verb));
    after.any(is_plain)
}

/// Whether these are a few words that speak of nothing but the work.
fn is_plain(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_known = |word: &str| {
        let bare = word.trim_matches(|c: char| matches!(c, ',' | ':' | '`'));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
        let is_file = bare.contains(['.', '/', '_'])
            && bare.contains(|c: char| c.is_ascii_alphanumeric())
            && bare.chars().all(is_name);
        is_file || PLAIN.split('|').any(|known| known == bare)
    };
    words.len() <= MAX_PLAIN && words.into_iter().all(is_known)
}

fn is_chinese_work(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(after) = CHINESE_WORDS
        .split('|')
        .find_map(|word| rest.strip_prefix(word))
    {
        rest = after.trim_start();
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || " ./_-`".contains(c);
    let rest = rest.trim_start_matches(is_name);
    rest.len() < text.len()
        && CHINESE_WORDS
            .split('|')
            .fold(rest.to_owned(), |text, word| text.replace(word, ""))
            .is_empty()
}

/// What follows a word or some words at the start of a text.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    (!word.is_ascii() || !goes_on).then_some(rest)
}
