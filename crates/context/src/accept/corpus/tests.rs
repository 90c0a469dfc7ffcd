//! Broken and foreign calls on the four protocols, from the frames of a vendor to the call that would run. The cases are
//! data beside this file; `README.md` says how they are written. Prints how many of them turn out right.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what the test is run for"
)]

use crate::accept::{Surroundings, accept, refusal};
use crate::testing::{prefix, target};
use ostler_llm::{Assembler, Frame, kind};
use ostler_testkit::Kind;
use ostler_tools::builtin::Tools;
use ostler_tools::tool::Scope;
use ostler_wire::{Stop, ToolSpec};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

const FILES: [(&str, &str); 7] = [
    ("names", include_str!("names.txt")),
    ("parameters", include_str!("parameters.txt")),
    ("json", include_str!("json.txt")),
    ("text", include_str!("text.txt")),
    ("shapes", include_str!("shapes.txt")),
    ("afterwards", include_str!("afterwards.txt")),
    ("dialects", include_str!("dialects.txt")),
];

/// Cases that there are at least, in all and on each protocol.
const MIN_CASES: usize = 600;
const MIN_CASES_OF_PROTOCOL: usize = 150;
/// Percent of the clear cases that have to be repaired.
const MIN_REPAIRED: usize = 95;

/// How the cases of one file turned out.
#[derive(Default)]
struct Figures {
    /// Cases with one reading, and how many of them run as that.
    clear: usize,
    repaired: usize,
    /// Cases that must not run.
    refused: usize,
    /// Cases that ran with another meaning, or ran and must not.
    other_meaning: usize,
    /// Cases that were told about in another way than they should be.
    untold: usize,
}

#[test]
fn clear_calls_are_repaired_and_none_gets_another_meaning() {
    let tools = Tools::new(&["!tool_search".to_owned()]);
    let specs = tools.specs();
    let (mut all, mut wrong, mut unlogged) = (Figures::default(), Vec::new(), Vec::new());
    let mut protocols: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, text) in FILES {
        let mut figures = Figures::default();
        for (case, expect) in records(text) {
            let protocol = case.split(' ').next().unwrap_or("");
            *protocols.entry(protocol).or_default() += 1;
            let (got, repairs) = outcome(case, &tools, &specs);
            let (fits, log) = (fits(&got, expect), &repairs);
            match expect.starts_with("runs") {
                true => figures.clear += 1,
                false => figures.refused += 1,
            }
            figures.repaired += usize::from(fits && expect.starts_with("runs"));
            if fits
                && repairs.is_empty()
                && expect.starts_with("runs")
                && !is_as_sent(case, expect, &tools)
            {
                unlogged.push(case);
            }
            figures.other_meaning += usize::from(!fits && got.contains("runs "));
            figures.untold += usize::from(!fits && !expect.starts_with("runs"));
            if !fits {
                wrong.push(format!(
                    "{file}: {case}\n  expected {expect}\n  got      {got} {log:?}"
                ));
            }
        }
        println!("{file}: {}", figures.describe());
        all.add(&figures);
    }
    println!(
        "all: {}\nprotocols: {protocols:?}\n{}",
        all.describe(),
        wrong.join("\n")
    );
    assert!(all.clear + all.refused >= MIN_CASES, "too few cases");
    assert!(protocols.len() == 4 && protocols.values().all(|n| *n >= MIN_CASES_OF_PROTOCOL));
    assert!(unlogged.is_empty(), "the log says nothing of {unlogged:#?}");
    assert_eq!(all.other_meaning, 0, "calls with another meaning");
    assert_eq!(
        all.untold, 0,
        "cases that must not run are not told about as expected"
    );
    assert!(
        all.repaired * 100 >= all.clear * MIN_REPAIRED,
        "too few are repaired"
    );
}

impl Figures {
    fn add(&mut self, more: &Self) {
        self.clear += more.clear;
        self.repaired += more.repaired;
        self.refused += more.refused;
        self.other_meaning += more.other_meaning;
        self.untold += more.untold;
    }

    fn describe(&self) -> String {
        let share = self.repaired as f64 * 100.0 / self.clear.max(1) as f64;
        format!(
            "{} of {} clear ones repaired ({share:.1} %), {} that must not run, {} with another meaning, {} not told",
            self.repaired, self.clear, self.refused, self.other_meaning, self.untold
        )
    }
}

/// A case, and what is expected of it.
fn records(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = file
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || {
        let case = lines.next()?;
        let expect = lines.next().and_then(|line| line.strip_prefix("= "));
        Some((
            case,
            expect.unwrap_or_else(|| panic!("nothing is expected of {case}")),
        ))
    })
}

fn fits(got: &str, expect: &str) -> bool {
    let parts = |text: &str| {
        let (tool, args) = text.strip_prefix("runs ")?.split_once(' ')?;
        Some((tool.to_owned(), serde_json::from_str::<Value>(args).ok()?))
    };
    match expect {
        "not run" => !got.contains("runs "),
        "doubt" => got.starts_with("doubt ") || got.starts_with("refused "),
        "refused" => got.starts_with("refused "),
        _ => match parts(expect) {
            Some(call) => parts(got) == Some(call),
            None => got == expect,
        },
    }
}

/// Whether a call needs no repair: the name is one of the tool's own, and the arguments are what was sent, but for blanks.
fn is_as_sent(case: &str, expect: &str, tools: &Tools) -> bool {
    let mut words = case.splitn(4, ' ').skip(1);
    let (kind, rest) = (words.next().unwrap_or(""), words.nth(1).unwrap_or(""));
    if !matches!(kind, "call" | "escaped") {
        // Frames are read by the codec: what they say is the call as it was sent.
        return kind == "frames";
    }
    let (name, sent) = name_and_arguments(kind, rest);
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    let sent: String = sent.chars().filter(|c| !is_blank(*c)).collect();
    let sent = serde_json::Deserializer::from_str(&sent)
        .into_iter::<Value>()
        .next();
    let sent = sent.map_or(json!({}), |sent| sent.unwrap_or(Value::Null));
    let run = expect
        .strip_prefix("runs ")
        .and_then(|call| call.split_once(' '));
    let run = run.map(|(_, args)| args.split_whitespace().collect::<String>());
    let run = run.and_then(|args| serde_json::from_str::<Value>(&args).ok());
    tools.find(&name).is_some() && run == Some(sent)
}

/// The name and the arguments of a case.
fn name_and_arguments(kind: &str, rest: &str) -> (String, String) {
    let (name, rest) = match rest.starts_with('"') {
        true => string(rest),
        false => {
            let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (name.to_owned(), rest)
        }
    };
    let rest = rest.trim_start();
    match kind {
        "escaped" => (name, string(rest).0),
        _ => (name, rest.to_owned()),
    }
}

/// `runs TOOL ARGUMENTS`, `refused WHY`, `doubt WHICH` or `nothing`; and what the log says of repairs.
fn outcome(case: &str, tools: &Tools, specs: &[ToolSpec]) -> (String, Vec<String>) {
    let (protocol, rest) = case.split_once(' ').unwrap();
    let protocol = match protocol {
        "chat" => Kind::Chat,
        "responses" => Kind::Responses,
        "messages" => Kind::Messages,
        "gemini" => Kind::Gemini,
        other => panic!("{other} is no protocol"),
    };
    let frames = frames(protocol, rest);
    let target = target(protocol, "m");
    let codec = kind(&target.kind).unwrap().codec();
    let (mut decoder, mut chunks) = (codec.decoder(&target), Vec::new());
    let mut failed = None;
    for data in &frames {
        let frame = Frame { event: "", data };
        failed = failed.or(decoder.frame(&frame, &mut chunks).err());
    }
    failed = failed.or(decoder.end(&mut chunks).err());
    if let Some(error) = failed {
        return (format!("refused {error}"), Vec::new());
    }
    let mut assembler = Assembler::default();
    chunks.into_iter().for_each(|chunk| assembler.push(chunk));
    let answer = assembler.finish();
    let stop = answer.stop.unwrap_or(Stop::End);
    let session = Surroundings {
        origin: &target.origin,
        tools: specs,
        prefix: &prefix(),
        past: &Vec::new,
    };
    let accepted = accept(answer, stop, &session, &mut HashSet::new());
    let repairs = accepted.calls.iter().filter_map(|call| call.repair.clone());
    let repairs = repairs.collect();
    let calls = accepted.calls.iter().map(|call| {
        if let Some(why) = refusal(call) {
            return format!("refused {why}");
        }
        let Some(tool) = tools.find(&call.name) else {
            return format!("refused there is no tool {}", call.name);
        };
        match tool.access(&call.input.to_value(), &Scope::new("/repo", None)) {
            Ok(_) => format!("runs {} {}", tool.name(), call.input.to_value()),
            Err(error) => format!("refused {}", error.message),
        }
    });
    let calls: Vec<String> = calls.collect();
    let got = match (calls.is_empty(), accepted.doubt) {
        (false, _) => calls.join(" + "),
        (true, Some(doubt)) => format!("doubt {doubt:?}"),
        (true, None) => "nothing".to_owned(),
    };
    (got, repairs)
}

/// How an answer ends, in the words of a protocol.
fn end_of(protocol: Kind, end: &str) -> Value {
    let words = match end {
        "stop" => ["stop", "completed", "end_turn", "STOP"],
        "calls" => ["tool_calls", "completed", "tool_use", "STOP"],
        "length" => ["length", "incomplete", "max_tokens", "MAX_TOKENS"],
        other => panic!("{other} is no end"),
    };
    let [chat, responses, messages, gemini] = words;
    json!(match protocol {
        Kind::Chat => chat,
        Kind::Responses => responses,
        Kind::Messages => messages,
        Kind::Gemini => gemini,
    })
}

fn frames(protocol: Kind, case: &str) -> Vec<String> {
    let (kind, rest) = case.split_once(' ').unwrap();
    if kind == "frames" {
        return serde_json::from_str(rest).unwrap_or_else(|e| panic!("{rest}: {e}"));
    }
    let (end, rest) = rest.split_once(' ').unwrap();
    let end = end_of(protocol, end);
    let frames = match kind {
        "text" => said(protocol, &string(rest).0, end),
        "call" | "escaped" => {
            let (name, arguments) = name_and_arguments(kind, rest);
            called(protocol, &name, &arguments, end)
        }
        other => panic!("{other} is no kind of case"),
    };
    let mut frames: Vec<String> = frames.iter().map(Value::to_string).collect();
    if protocol == Kind::Chat {
        frames.push("[DONE]".into());
    }
    frames
}

/// A string of JSON at the start of a text, and what follows it.
fn string(text: &str) -> (String, &str) {
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = read
        .next()
        .unwrap()
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    (value, text.get(read.byte_offset()..).unwrap_or(""))
}

/// A text in two pieces, as a stream has it.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at));
    let (one, other) = text.split_at(middle.unwrap_or(0));
    [one, other]
}

fn said(protocol: Kind, text: &str, end: Value) -> Vec<Value> {
    let halves = halves(text);
    let deltas = halves.iter().map(|half| match protocol {
        Kind::Chat => json!({"choices": [{"index": 0, "delta": {"content": half}}]}),
        Kind::Responses => {
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": half})
        }
        Kind::Messages => json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": half}}),
        Kind::Gemini => json!({"candidates": [{"content": {"parts": [{"text": half}]}}]}),
    });
    let mut frames: Vec<Value> = deltas.collect();
    if protocol == Kind::Messages {
        frames.insert(
            0,
            json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        );
    }
    let item = json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    frames.extend(ended(protocol, item, end));
    frames
}

fn called(protocol: Kind, name: &str, arguments: &str, end: Value) -> Vec<Value> {
    let [one, other] = halves(arguments);
    let item =
        json!({"type": "function_call", "call_id": "a", "name": name, "arguments": arguments});
    let mut frames = match protocol {
        Kind::Chat => {
            let chat =
                |call: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            vec![
                chat(
                    json!({"index": 0, "id": "a", "type": "function", "function": {"name": name, "arguments": one}}),
                ),
                chat(json!({"index": 0, "function": {"arguments": other}})),
            ]
        }
        Kind::Responses => {
            let delta = |more| json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": more});
            let begun =
                json!({"type": "function_call", "call_id": "a", "name": name, "arguments": ""});
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": begun}),
                delta(one),
                delta(other),
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            ]
        }
        Kind::Messages => {
            let delta = |more| {
                json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": more}})
            };
            let begun = json!({"type": "tool_use", "id": "a", "name": name, "input": {}});
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block": begun}),
                delta(one),
                delta(other),
            ]
        }
        Kind::Gemini => {
            // Here arguments are a value; text is what a gateway makes of those that it cannot read.
            let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
            let call = json!({"functionCall": {"name": name, "args": args}});
            vec![json!({"candidates": [{"content": {"parts": [call]}}]})]
        }
    };
    frames.extend(ended(protocol, item, end));
    frames
}

fn ended(protocol: Kind, item: Value, end: Value) -> Vec<Value> {
    match protocol {
        Kind::Chat => vec![json!({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})],
        Kind::Responses => vec![json!({"type": "response.completed",
            "response": {"status": end, "output": [item]}})],
        Kind::Messages => vec![
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": end}}),
            json!({"type": "message_stop"}),
        ],
        Kind::Gemini => {
            vec![json!({"candidates": [{"content": {"parts": []}, "finishReason": end}]})]
        }
    }
}
