//! A text without one of its definitions: what stands above it and belongs to it goes along, and so do blank lines that
//! would be too many. Pure.

use super::grammar::Grammar;
use tree_sitter::Node;

/// Nodes that speak of what follows them.
const ATTRIBUTES: [&str; 4] = [
    "attribute_item",
    "decorator",
    "attribute_declaration",
    "annotation",
];
/// Comments that speak of what they are in.
const INNER: [&str; 3] = ["//!", "/*!", "#!"];

pub struct Cut {
    pub content: String,
    /// The first line that is gone, counted from 1.
    pub line: usize,
    pub lines: usize,
}

pub fn cut(content: &str, node: Node<'_>, grammar: &Grammar) -> Cut {
    let mut from = first(content, node).start_byte();
    let mut to = node.end_byte();
    // Some nodes have the line break after them.
    while content
        .get(from..to)
        .is_some_and(|text| text.ends_with(['\n', '\r', ' ']))
    {
        to -= 1;
    }
    let rest = content.get(to..).unwrap_or_default();
    let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if rest.get(spaces..).is_some_and(|rest| rest.starts_with(';')) {
        to += spaces + 1;
    }
    let line = content
        .get(..from)
        .unwrap_or_default()
        .matches('\n')
        .count()
        + 1;
    let lines = content
        .get(from..to)
        .unwrap_or_default()
        .matches('\n')
        .count()
        + 1;
    let filler = grammar.filler.filter(|_| is_alone(node));
    let begins = line_start(content, from);
    let ends = line_end(content, to);
    let alone = content.get(begins..from).is_some_and(is_blank)
        && content
            .get(to..ends)
            .is_some_and(|rest| is_blank(rest) || is_comment(rest));
    if let Some(filler) = filler {
        let content = format!(
            "{}{filler}{}",
            content.get(..from).unwrap_or_default(),
            content.get(to..).unwrap_or_default()
        );
        return Cut {
            content,
            line,
            lines,
        };
    }
    if alone {
        (from, to) = widened(content, begins, ends);
    }
    let mut kept = content.get(..from).unwrap_or_default().to_owned();
    if to == content.len() && !content.ends_with('\n') {
        // The file had no final line ending before and has none after.
        kept.truncate(kept.trim_end_matches(['\n', '\r']).len());
    }
    kept.push_str(content.get(to..).unwrap_or_default());
    Cut {
        content: kept,
        line,
        lines,
    }
}

/// Whole lines with the blank ones around them that would be too many: of two gaps the larger stays, at the ends of a block
/// none.
fn widened(content: &str, from: usize, to: usize) -> (usize, usize) {
    let above = blank_lines_above(content, from);
    let below = blank_lines_below(content, to);
    let head = content.get(..from).unwrap_or_default().trim_end();
    let opens = above.is_empty() && (head.is_empty() || head.ends_with(['{', ':', '(']));
    let tail = content.get(to..).unwrap_or_default().trim_start();
    let closes = tail.is_empty() || below.is_empty() && tail.starts_with(['}', ')', ']']);
    if opens {
        (from, below.last().copied().unwrap_or(to))
    } else if closes {
        (above.last().copied().unwrap_or(from), to)
    } else {
        let most = above.len().min(below.len());
        let gap = most.checked_sub(1).and_then(|n| below.get(n));
        (from, gap.copied().unwrap_or(to))
    }
}

/// The first of the attributes and comments right above a node.
fn first<'tree>(content: &str, node: Node<'tree>) -> Node<'tree> {
    let mut first = node;
    while let Some(above) = first.prev_sibling() {
        let text = content.get(above.byte_range()).unwrap_or_default();
        let starts = line_start(content, above.start_byte());
        let begins_line = content
            .get(starts..above.start_byte())
            .is_some_and(is_blank);
        let belongs = if ATTRIBUTES.contains(&above.kind()) {
            true
        } else if above.kind().ends_with("comment") {
            let last = above.start_position().row + text.trim_end().matches('\n').count();
            let near = last + 1 >= first.start_position().row;
            near && begins_line && !INNER.iter().any(|inner| text.starts_with(inner))
        } else {
            false
        };
        if !belongs {
            break;
        }
        first = above;
    }
    first
}

/// Whether a block would be empty without it.
fn is_alone(node: Node<'_>) -> bool {
    let Some(block) = node.parent().filter(|parent| parent.kind() == "block") else {
        return false;
    };
    let mut cursor = block.walk();
    let others = block.named_children(&mut cursor);
    others.filter(|other| other.kind() != "comment").count() == 1
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    ["//", "#", "/*"].iter().any(|mark| text.starts_with(mark))
}

fn line_start(content: &str, at: usize) -> usize {
    let before = content.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// After the line break.
fn line_end(content: &str, at: usize) -> usize {
    let after = content.get(at..).unwrap_or_default();
    after
        .find('\n')
        .map_or(content.len(), |newline| at + newline + 1)
}

/// Where each of the blank lines before a line begins, the nearest first.
fn blank_lines_above(content: &str, at: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = at;
    while at > 0 {
        let starts = line_start(content, at - 1);
        if !content.get(starts..at).is_some_and(is_blank) {
            break;
        }
        out.push(starts);
        at = starts;
    }
    out
}

/// Where each of the blank lines from here on ends, the nearest first.
fn blank_lines_below(content: &str, at: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = at;
    while at < content.len() {
        let ends = line_end(content, at);
        if !content.get(at..ends).is_some_and(is_blank) {
            break;
        }
        out.push(ends);
        at = ends;
    }
    out
}
