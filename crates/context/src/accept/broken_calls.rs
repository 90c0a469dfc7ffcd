//! Whole calls and answers as vendors send them, from `broken_calls.txt`, and what becomes of each.

use super::{Surroundings, accept, refusal};
use crate::testing::{origin, prefix};
use ostler_llm::{Answer, AnswerPart};
use ostler_tools::builtin::Tools;
use ostler_tools::tool::Scope;
use ostler_wire::Stop;
use std::collections::HashSet;

/// Whole calls and answers: what the vendor sends, and what becomes of it.
#[test]
fn broken_calls() {
    let mut wrong = Vec::new();
    let mut counts = [0; 2];
    for (n, (sent, expect)) in records(include_str!("broken_calls.txt")).enumerate() {
        let got = outcome(sent);
        counts[usize::from(got.starts_with("runs"))] += 1;
        let fits = match expect.strip_prefix("refused") {
            Some(words) => got.starts_with("refused ") && got.contains(words.trim()),
            None => got == expect,
        };
        if !fits {
            wrong.push(format!(
                "{n}: {sent}\n  expected {expect}\n  got      {got}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts[0] > 60 && counts[1] > 60, "{counts:?}");
}

/// A line that begins with `call` or `text`, and one with what becomes of it.
fn records(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || {
        let sent = lines.next()?;
        Some((
            sent,
            lines
                .next()
                .and_then(|line| line.strip_prefix("= "))
                .unwrap_or("nothing"),
        ))
    })
}

/// `runs TOOL ARGUMENTS`, `refused WHY`, or what a text without a call is.
fn outcome(sent: &str) -> String {
    let (kind, rest) = sent.split_once(' ').unwrap();
    let (kind_of_end, rest) = rest.split_once(' ').unwrap();
    let stop = match kind_of_end {
        "stop" | "none" => Stop::End,
        "calls" => Stop::Calls,
        "length" => Stop::Length,
        "filter" => Stop::Refusal,
        other => panic!("{other}"),
    };
    let part = match kind {
        "call" => {
            let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            AnswerPart::Call {
                id: "a".into(),
                name: name.into(),
                arguments: arguments.into(),
                replay: None,
            }
        }
        "text" => AnswerPart::Text {
            text: serde_json::from_str(rest).unwrap_or_else(|e| panic!("{rest}: {e}")),
            replay: None,
        },
        other => panic!("{other}"),
    };
    let answer = Answer {
        parts: vec![part],
        stop: (kind_of_end != "none").then_some(stop),
        ..Answer::default()
    };
    let tools = Tools::new(&["!tool_search".to_owned()]);
    let session = Surroundings {
        origin: &origin("m"),
        tools: &tools.specs(),
        prefix: &prefix(),
        past: &Vec::new,
    };
    let accepted = accept(answer, stop, &session, &mut HashSet::new());
    let calls: Vec<String> = accepted
        .calls
        .iter()
        .map(|call| {
            if let Some(why) = refusal(call) {
                return format!("refused {why}");
            }
            let Some(tool) = tools.find(&call.name) else {
                return format!("refused there is no tool {}", call.name);
            };
            let scope = Scope::new("/repo", None);
            match tool.access(&call.input.to_value(), &scope) {
                Ok(_) => format!("runs {} {}", tool.name(), call.input.to_value()),
                Err(error) => format!("refused {}", error.message),
            }
        })
        .collect();
    match (calls.is_empty(), accepted.doubt) {
        (false, _) => calls.join(" + "),
        (true, Some(doubt)) => format!("doubt {doubt:?}"),
        (true, None) => "nothing".to_owned(),
    }
}
