//! Requests and streams of all codecs, as data: fixtures in files with what they must give.

mod chat;
mod gemini;
mod messages;
mod properties;
mod responses;

use super::{Codec, Frame, Mark};
use crate::{
    AnswerPart, Assembler, CallResult, Calls, Chunk, Effort, Error, Msg, Params, Prefix, Target,
};
use ostler_wire::{Image, Json, Origin, ToolSpec};

/// A model that thinks and sees, at an endpoint without quirks.
fn target() -> Target {
    Target {
        reasoning: true,
        images: true,
        ..Target::new(
            Origin {
                provider: "p".into(),
                model: "m-1".into(),
            },
            "k",
            "http://127.0.0.1:9",
        )
    }
}

fn with_quirks(quirks: &str) -> Target {
    Target {
        quirks: toml::from_str(quirks).unwrap(),
        ..target()
    }
}

fn prefix() -> Prefix {
    Prefix {
        system: "Be brief.".into(),
        tools: vec![tool(
            "bash",
            r#"{"type":"object","properties":{"command":{"type":"string"}}}"#,
        )],
    }
}

fn no_prefix() -> Prefix {
    Prefix {
        system: String::new(),
        tools: Vec::new(),
    }
}

fn tool(name: &str, schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Runs {name}"),
        parameters: json(schema),
    }
}

fn all_params() -> Params {
    Params {
        temperature: Some(0.5),
        top_p: Some(1.0),
        max_tokens: Some(64_000),
        effort: Some(Effort::High),
        ..Params::default()
    }
}

fn effort(effort: Effort) -> Params {
    Params {
        effort: Some(effort),
        ..Params::default()
    }
}

fn json(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

fn user(text: &str) -> Msg {
    Msg::User {
        text: text.into(),
        images: Vec::new(),
    }
}

fn answer(parts: impl IntoIterator<Item = AnswerPart>) -> Msg {
    Msg::Assistant {
        parts: parts.into_iter().collect(),
    }
}

fn text(text: &str) -> AnswerPart {
    AnswerPart::Text {
        text: text.into(),
        replay: None,
    }
}

fn reasoning(text: &str, blob: &str) -> AnswerPart {
    AnswerPart::Reasoning {
        text: text.into(),
        replay: (!blob.is_empty()).then(|| json(blob)),
    }
}

fn call(id: &str, name: &str, arguments: &str) -> AnswerPart {
    AnswerPart::Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        replay: None,
    }
}

fn result(id: &str, name: &str, text: &str) -> CallResult {
    CallResult {
        id: id.into(),
        name: name.into(),
        text: text.into(),
        images: Vec::new(),
        ok: true,
    }
}

fn image() -> Image {
    Image {
        media_type: "image/png".into(),
        data: "aGk=".into(),
    }
}

/// Two calls at once, one of which fails.
fn parallel() -> Vec<Msg> {
    let failed = CallResult {
        ok: false,
        ..result("c2", "read_file", "no such file")
    };
    vec![
        user("look around"),
        answer([
            text("Looking."),
            call("c1", "bash", r#"{"command":"ls","n":1.0}"#),
            call("c2", "read_file", r#"{"path":"a"}"#),
        ]),
        Msg::Results {
            results: vec![result("c1", "bash", "a b"), failed],
        },
    ]
}

/// Pictures in a question and in a result.
fn pictures() -> Vec<Msg> {
    vec![
        Msg::User {
            text: "what is this?".into(),
            images: vec![image()],
        },
        answer([call("c1", "shot", "{}"), call("c2", "bash", "{}")]),
        Msg::Results {
            results: vec![
                CallResult {
                    images: vec![image()],
                    ..result("c1", "shot", "")
                },
                result("c2", "bash", "done"),
            ],
        },
    ]
}

/// What a log can hold though no model should have said it.
fn odd() -> Vec<Msg> {
    vec![
        user(""),
        user("\u{0}\"\\"),
        answer([text(""), reasoning("unsigned", ""), text("  ")]),
        answer([
            reasoning("unsigned", ""),
            call("", "", "not json"),
            call("id with space", "naïve tool", "[1]"),
        ]),
        Msg::Results {
            results: vec![
                result("", "", ""),
                result("id with space", "naïve tool", " "),
            ],
        },
        Msg::Results {
            results: Vec::new(),
        },
        answer([]),
    ]
}

/// A body by its strokes: the opening, one line per message, the end.
fn body(
    codec: &dyn Codec,
    target: &Target,
    prefix: &Prefix,
    params: &Params,
    messages: &[Msg],
) -> String {
    marked(codec, target, prefix, params, messages, Mark::Plain)
}

fn marked(
    codec: &dyn Codec,
    target: &Target,
    prefix: &Prefix,
    params: &Params,
    messages: &[Msg],
    mark: Mark,
) -> String {
    let mut lines = Vec::new();
    let mut open = Vec::new();
    let mut comma = codec.open(target, prefix, params, &mut open);
    lines.push(open);
    for message in messages {
        let mut item = Vec::new();
        codec.message(target, message, mark, &mut item);
        if item.is_empty() {
            continue;
        }
        if std::mem::replace(&mut comma, true) {
            item.insert(0, b',');
        }
        lines.push(item);
    }
    let mut close = Vec::new();
    codec.close(target, params, &mut close);
    lines.push(close);
    let whole = String::from_utf8(lines.concat()).unwrap();
    serde_json::from_str::<serde_json::Value>(&whole).unwrap_or_else(|e| panic!("{e}: {whole}"));
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| String::from_utf8(line).unwrap())
        .collect();
    lines.join("\n")
}

/// A request of each kind that all codecs write, by name; `extra` is what a person has put into the body.
fn requests(codec: &dyn Codec, extra: &str) -> String {
    let plain = Params::default();
    let blind = Target {
        images: false,
        ..target()
    };
    let bounded = Target {
        max_output: Some(32_000),
        ..target()
    };
    let at_once = Target {
        stream: false,
        reasoning: false,
        ..target()
    };
    let extra = Target {
        extra_body: Some(json(extra)),
        ..target()
    };
    let talk = [user("hi"), answer([text("Hello.")]), user("bye")];
    let body = |target: &Target, prefix: &Prefix, params: &Params, messages: &[Msg]| {
        body(codec, target, prefix, params, messages)
    };
    [
        (
            "writes a plain prompt",
            body(&target(), &no_prefix(), &plain, &talk),
        ),
        (
            "writes system and tools",
            body(&target(), &prefix(), &plain, &[user("hi")]),
        ),
        (
            "writes parallel calls and their results",
            body(&target(), &no_prefix(), &plain, &parallel()),
        ),
        (
            "writes pictures",
            body(&target(), &no_prefix(), &plain, &pictures()),
        ),
        (
            "leaves pictures out for a blind model",
            body(&blind, &no_prefix(), &plain, &pictures()),
        ),
        (
            "writes cache marks",
            marked(
                codec,
                &target(),
                &prefix(),
                &plain,
                &parallel(),
                Mark::Cache,
            ),
        ),
        (
            "writes params that are set",
            body(&bounded, &no_prefix(), &all_params(), &[]),
        ),
        (
            "writes a request that does not stream",
            body(&at_once, &no_prefix(), &all_params(), &[]),
        ),
        (
            "merges extra body",
            body(&extra, &prefix(), &all_params(), &[user("hi")]),
        ),
        (
            "writes odd histories",
            body(&target(), &no_prefix(), &plain, &odd()),
        ),
    ]
    .map(|(name, body)| format!("== {name}\n{body}"))
    .join("\n")
}

/// A section of a fixture file: `== name`, maybe ` | quirks`, what the endpoint sends, `=>`, what it gives.
struct Section<'a> {
    name: &'a str,
    quirks: &'a str,
    frames: Vec<&'a str>,
    gives: String,
}

fn sections(fixtures: &str) -> impl Iterator<Item = Section<'_>> {
    fixtures.split("== ").skip(1).map(|section| {
        let (head, rest) = section.split_once('\n').unwrap();
        let (name, quirks) = head.split_once(" | ").unwrap_or((head, ""));
        let (frames, gives) = rest.split_once("=>\n").unwrap_or((rest, ""));
        Section {
            name,
            quirks,
            frames: frames.lines().collect(),
            gives: gives.trim_end().to_owned(),
        }
    })
}

fn section<'a>(fixtures: &'a str, name: &str) -> Vec<&'a str> {
    let found = sections(fixtures).find(|section| section.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).frames
}

/// All frames of a fixture file.
fn frames(fixtures: &str) -> Vec<&str> {
    sections(fixtures)
        .flat_map(|section| section.frames)
        .collect()
}

/// Each section gives what it says. Those named `whole…` are answers that do not stream.
fn check(codec: &dyn Codec, fixtures: &str) {
    let wrong: Vec<String> = sections(fixtures)
        .filter_map(|section| {
            let target = with_quirks(section.quirks);
            let gave = match section.name.starts_with("whole") {
                true => whole(codec, &target, &section.frames),
                false => stream(codec, &target, &section.frames),
            };
            (gave != section.gives).then(|| format!("== {}\n{gave}", section.name))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "these give something else:\n{}",
        wrong.join("\n")
    );
}

fn run(codec: &dyn Codec, target: &Target, frames: &[&str]) -> (Vec<Chunk>, Result<(), Error>) {
    let mut decoder = codec.decoder(target);
    let mut out = Vec::new();
    let mut read = || {
        for data in frames {
            decoder.frame(&Frame { event: "", data }, &mut out)?;
        }
        decoder.end(&mut out)
    };
    let result = read();
    assert_eq!(decoder.is_done(), result.is_ok());
    (out, result)
}

/// What a stream gives, a line per chunk.
fn stream(codec: &dyn Codec, target: &Target, frames: &[&str]) -> String {
    let (out, result) = run(codec, target, frames);
    show(&out, result)
}

fn whole(codec: &dyn Codec, target: &Target, body: &[&str]) -> String {
    let mut out = Vec::new();
    let result = codec.decoder(target).whole(&body.join("\n"), &mut out);
    show(&out, result)
}

fn show(chunks: &[Chunk], result: Result<(), Error>) -> String {
    let blob = |replay: &Option<Json>| {
        replay
            .as_ref()
            .map_or(String::new(), |b| format!(" {}", b.get()))
    };
    let mut lines: Vec<String> = chunks
        .iter()
        .map(|chunk| match chunk {
            Chunk::Text(text) => format!("text {text:?}"),
            Chunk::Reasoning(text) => format!("reasoning {text:?}"),
            Chunk::EndText { replay } => format!("end text{}", blob(replay)),
            Chunk::EndReasoning { replay } => format!("end reasoning{}", blob(replay)),
            Chunk::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                format!("call {id:?} {name} {arguments}{}", blob(replay))
            }
            Chunk::Usage(u) => {
                format!(
                    "usage input {} cached {} written {} output {}",
                    u.input, u.cached, u.cache_write, u.output
                )
            }
            Chunk::Stop(stop) => format!("stop {stop:?}"),
        })
        .collect();
    if let Err(error) = result {
        lines.push(format!("{}: {error}", error.kind()));
    }
    lines.join("\n")
}

/// An answer from a stream, as the message that goes back.
fn replayed(codec: &dyn Codec, target: &Target, frames: &[&str]) -> String {
    let (out, result) = run(codec, target, frames);
    result.unwrap();
    let mut assembler = Assembler::default();
    for chunk in out {
        assembler.push(chunk);
    }
    let mut item = Vec::new();
    codec.message(
        target,
        &answer(assembler.finish().parts),
        Mark::Plain,
        &mut item,
    );
    String::from_utf8(item).unwrap()
}

/// Only the end of a body changes, so that the cached prompt before it is the same.
#[test]
fn forbidden_calls_change_the_end_of_a_body_alone() {
    let codecs: [(&dyn Codec, &str); 4] = [
        (&super::Chat, r#","tool_choice":"none"}"#),
        (&super::Responses, r#","tool_choice":"none"}"#),
        (&super::Messages, r#","tool_choice":{"type":"none"}}"#),
        (
            &super::Gemini,
            r#","toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}"#,
        ),
    ];
    for (codec, says) in codecs {
        let write = |calls, extra: Option<&str>| {
            let params = Params {
                calls,
                ..all_params()
            };
            let target = Target {
                extra_body: extra.map(json),
                ..target()
            };
            body(codec, &target, &prefix(), &params, &parallel())
        };
        let free = write(Calls::Free, None);
        let forbidden = write(Calls::Forbidden, None);
        let same = free.strip_suffix('}').unwrap();
        assert_eq!(forbidden.strip_prefix(same), Some(says));
        // What the person put there is theirs.
        let own = r#"{"tool_choice":"x","toolConfig":"x"}"#;
        assert_eq!(write(Calls::Forbidden, Some(own)).matches(says).count(), 0);
    }
}

/// Gateways have words of their own for an answer that reached a limit; its calls may not be whole.
#[test]
fn a_limit_by_any_word_is_a_limit() {
    for (reason, expect) in [
        ("length", "stop Length"),
        ("max_output_tokens", "stop Length"),
        ("MAX_TOKENS", "stop Length"),
        ("token_limit", "stop Length"),
        ("model_context_window_exceeded", "stop Length"),
        ("truncated", "stop Length"),
        ("stop", "stop Calls"),
        ("tool_calls", "stop Calls"),
        ("eos_token", "stop Calls"),
        ("content_filter", "stop Refusal"),
    ] {
        let chat = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"ls","arguments":"{{}}"}}}}]}},"finish_reason":"{reason}"}}]}}"#
        );
        let shown = stream(&super::Chat, &target(), &[&chat]);
        assert_eq!(shown.lines().last(), Some(expect), "{reason}");
        if reason == "content_filter" {
            continue;
        }
        let messages = format!(
            r#"{{"content":[{{"type":"tool_use","id":"a","name":"ls","input":{{}}}}],"stop_reason":"{reason}"}}"#
        );
        let shown = whole(&super::Messages, &target(), &[&messages]);
        assert_eq!(shown.lines().last(), Some(expect), "{reason}");
    }
}

#[test]
fn arguments_may_come_as_an_object() {
    let body = r#"{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"ls","arguments":{"path":"a"}}]}"#;
    let shown = whole(&super::Responses, &target(), &[body]);
    assert_eq!(shown, "call \"c\" ls {\"path\":\"a\"}\nstop Calls");
}
