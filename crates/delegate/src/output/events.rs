//! Follows one rule of the catalogue for one line.

use crate::activity::{NoticeSource, PieceKind, PlanState, PlanStep, Retry, ToolStarted};
use crate::outcome::Cost;
use crate::record::{Recorder, cut};
use crate::setup::catalogue::{Emit, JsonPath, Rule, holds, tool_kind};
use serde_json::Value;

/// Bytes of a line of trouble that are looked at for patterns.
const MAX_DETAILS: usize = 2_000;

pub fn follow(rule: &Rule, value: &Value, line: &str, recorder: &mut Recorder) {
    if !holds(&rule.when, value) {
        return;
    }
    let Some(each) = &rule.each else {
        return emit(rule, value, line, recorder);
    };
    let items = each.find(value).and_then(Value::as_array);
    let items = items.into_iter().flatten();
    let wanted = items.filter(|item| holds(&rule.item, item));
    if rule.emit == Emit::PlanStep {
        let steps = wanted.filter_map(|item| step(rule, item)).collect();
        return recorder.plan(steps);
    }
    wanted.for_each(|item| emit(rule, item, line, recorder));
}

fn emit(rule: &Rule, value: &Value, line: &str, recorder: &mut Recorder) {
    let text = || rule.text.iter().find_map(|path| path.text(value));
    let at = |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.text(value));
    match rule.emit {
        Emit::Session => {
            if let Some(id) = at(&rule.id) {
                recorder.session(&id);
            }
        }
        Emit::Piece => recorder.piece(PieceKind::Message, &text().unwrap_or_default()),
        Emit::ReasoningPiece => {
            recorder.piece(PieceKind::Reasoning, &text().unwrap_or_default());
        }
        Emit::Message => {
            if let Some(text) = text().filter(|text| !text.trim().is_empty()) {
                recorder.message(&text);
            }
        }
        Emit::Reasoning => {
            if let Some(text) = text().filter(|text| !text.trim().is_empty()) {
                recorder.reasoning(&text);
            }
        }
        Emit::Answer => {
            if let Some(text) = text().filter(|text| !text.trim().is_empty()) {
                recorder.answer(&text);
            }
        }
        Emit::ToolStarted => recorder.tool_started(call(rule, value)),
        Emit::ToolFinished => {
            let failed = !rule.failed.is_empty() && holds(&rule.failed, value);
            recorder.tool_finished(call(rule, value), !failed, &text().unwrap_or_default());
        }
        Emit::PlanStep => recorder.plan(step(rule, value).into_iter().collect()),
        Emit::Usage => {
            let cost = cost(rule, value);
            match rule.add {
                true => recorder.add_usage(cost),
                false => recorder.usage(cost),
            }
        }
        Emit::Retry => {
            let count = |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.count(value));
            let retry = Retry {
                attempt: count(&rule.attempt),
                most: count(&rule.most),
                delay_ms: count(&rule.delay_ms),
                message: with_code(text(), at(&rule.code)),
            };
            recorder.retry(retry, &cut(line, MAX_DETAILS));
        }
        Emit::Notice => recorder.notice(NoticeSource::Agent, &text().unwrap_or_default()),
        Emit::Failure => {
            let message = with_code(text(), at(&rule.code));
            recorder.failure(&message, &cut(line, MAX_DETAILS));
        }
        Emit::Done => recorder.done(),
    }
}

/// `429: rate limit`, where the text does not name the number itself.
fn with_code(text: Option<String>, code: Option<String>) -> String {
    match (text, code) {
        (Some(text), Some(code)) if !text.contains(&code) => format!("{code}: {text}"),
        (Some(text), _) => text,
        (None, Some(code)) => format!("error {code}"),
        (None, None) => "it failed and did not say why".to_owned(),
    }
}

fn call(rule: &Rule, value: &Value) -> ToolStarted {
    let at = |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.text(value));
    let title = at(&rule.title).unwrap_or_default();
    let input = rule.input.as_ref().and_then(|path| path.find(value));
    ToolStarted {
        id: at(&rule.id).unwrap_or_default(),
        kind: rule.kind.unwrap_or_else(|| tool_kind(&title)),
        title,
        input: input.filter(|input| !input.is_null()).map(read_input),
        paths: Vec::new(),
    }
}

/// Arguments that are written as a text are read.
fn read_input(input: &Value) -> Value {
    let text = input.as_str();
    let read = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    read.filter(Value::is_object)
        .unwrap_or_else(|| input.clone())
}

fn cost(rule: &Rule, value: &Value) -> Cost {
    let count = |path: &Option<JsonPath>| {
        let count = path.as_ref().and_then(|path| path.count(value));
        count.unwrap_or_default()
    };
    let beside = rule.beside.iter().filter_map(|path| path.count(value));
    Cost {
        usd: rule.usd.as_ref().and_then(|path| path.number(value)),
        input_tokens: beside.fold(count(&rule.input_tokens), u64::saturating_add),
        output_tokens: count(&rule.output_tokens),
        cached_tokens: count(&rule.cached_tokens),
    }
}

fn step(rule: &Rule, value: &Value) -> Option<PlanStep> {
    let is_done = !rule.done_when.is_empty() && holds(&rule.done_when, value);
    Some(PlanStep {
        text: rule.text.iter().find_map(|path| path.text(value))?,
        state: match is_done {
            true => PlanState::Done,
            false => PlanState::Pending,
        },
    })
}
