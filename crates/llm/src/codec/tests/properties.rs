//! What holds for any conversation and any bytes.

use super::*;
use crate::codec::{Chat, Gemini, Messages, Responses};
use proptest::prelude::*;
use serde_json::Value;

const CODECS: [(&str, &dyn Codec, &str); 4] = [
    ("messages", &Chat, include_str!("fixtures/chat.txt")),
    ("input", &Responses, include_str!("fixtures/responses.txt")),
    ("messages", &Messages, include_str!("fixtures/messages.txt")),
    ("contents", &Gemini, include_str!("fixtures/gemini.txt")),
];
const QUIRKS: [&str; 4] = [
    "",
    "cache_marks = true\nshort_call_ids = true\nthink_tags = \"implied\"\nreasoning_required = true",
    "images_in_results = false\nthinking = \"budget\"\nfill_signatures = false",
    "reasoning_back = \"reasoning\"\nthink_tags = \"tagged\"\nsystem_role = \"user\"",
];
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        "[a-z\"\\\\\u{0}-\u{1f}é\u{2028}😀]{0,12}",
        Just("x".repeat(500)),
    ]
}

fn any_blob() -> impl Strategy<Value = Option<Json>> {
    prop_oneof![
        3 => Just(None),
        2 => prop::sample::select(vec![
            r#"{"field":"reasoning_content"}"#,
            r#"{"field":"role","reasoning_details":[{"type":"reasoning.text","text":"t"}]}"#,
            r#"{"block":{"signature":"s"}}"#,
            r#"{"block":{"type":"redacted_thinking","data":"d"}}"#,
            r#"{"item":{"type":"reasoning","summary":[],"encrypted_content":"e"}}"#,
            r#"{"item":{"phase":"commentary","phase":"final_answer"}}"#,
            r#"{"part":{"thoughtSignature":"s"}}"#,
            r#"{"message":{"role":"x","content":1,"tool_calls":6},"call":{"id":4,"type":3},"item":{"role":1,"id":5}}"#,
            r#"{"block":{"text":2,"input":[]},"part":{"text":1,"functionCall":7}}"#,
            "[1]",
            "null",
            "\"s\"",
        ]).prop_map(|blob| Some(json(blob))),
    ]
}

fn any_arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"a":1.0,"b":"\ud83d"}"#.to_owned()),
        Just(String::new()),
        Just("[]".to_owned()),
        Just("{\"a\":".to_owned()),
        any_text(),
    ]
}

fn any_part() -> impl Strategy<Value = AnswerPart> {
    prop_oneof![
        (any_text(), any_blob()).prop_map(|(text, replay)| AnswerPart::Text { text, replay }),
        (any_text(), any_blob()).prop_map(|(text, replay)| AnswerPart::Reasoning { text, replay }),
        (any_text(), any_text(), any_arguments(), any_blob()).prop_map(
            |(id, name, arguments, replay)| AnswerPart::Call {
                id,
                name,
                arguments,
                replay
            }
        ),
    ]
}

fn any_images() -> impl Strategy<Value = Vec<Image>> {
    prop::collection::vec(
        any_text().prop_map(|data| Image {
            media_type: "image/png".into(),
            data,
        }),
        0..2,
    )
}

fn any_message() -> impl Strategy<Value = Msg> {
    prop_oneof![
        (any_text(), any_images()).prop_map(|(text, images)| Msg::User { text, images }),
        prop::collection::vec(any_part(), 0..5).prop_map(|parts| Msg::Assistant { parts }),
        prop::collection::vec(
            (
                any_text(),
                any_text(),
                any_text(),
                any_images(),
                any::<bool>()
            )
                .prop_map(|(id, name, text, images, ok)| CallResult {
                    id,
                    name,
                    text,
                    images,
                    ok
                }),
            0..4
        )
        .prop_map(|results| Msg::Results { results }),
    ]
}

/// The bytes without the line breaks that `body` adds between strokes.
fn bytes(shown: &str) -> String {
    shown.replace('\n', "")
}

/// What an endpoint would refuse.
fn check_shape(array: &str, body: &Value) {
    let items = body[array].as_array().unwrap();
    for item in items {
        let kind = item["type"].as_str();
        assert!(item["role"].is_string() || kind.is_some(), "{item}");
        for call in item["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(
                serde_json::from_str::<&serde_json::value::RawValue>(arguments).is_ok(),
                "{call}"
            );
            assert!(arguments.starts_with('{'), "{call}");
        }
        if let Some(arguments) = item.get("arguments") {
            assert!(arguments.as_str().unwrap().starts_with('{'), "{item}");
        }
        if let Some(content) = item["content"].as_array() {
            assert!(!content.is_empty(), "{item}");
        }
        if let Some(parts) = item.get("parts") {
            assert!(!parts.as_array().unwrap().is_empty(), "{item}");
        }
    }
}

/// The messages protocol is the pickiest.
fn check_blocks(body: &Value) {
    for item in body["messages"].as_array().unwrap() {
        let blocks = item["content"].as_array().unwrap();
        for block in blocks {
            match block["type"].as_str().unwrap() {
                "text" => assert!(!block["text"].as_str().unwrap().trim().is_empty()),
                "tool_use" => assert!(block["input"].is_object()),
                "thinking" => assert!(block["signature"].is_string()),
                _ => {}
            }
        }
        let last = blocks.last().unwrap()["type"].as_str().unwrap();
        assert!(!last.contains("thinking"), "{item}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_conversation_is_a_valid_body_that_only_grows(
        messages in prop::collection::vec(any_message(), 0..6),
        quirks in prop::sample::select(QUIRKS.to_vec()),
        images in any::<bool>(),
        cut in 0usize..6,
    ) {
        let target = Target { images, ..with_quirks(quirks) };
        for (array, codec, _) in CODECS {
            let all = body(codec, &target, &prefix(), &all_params(), &messages);
            let value: Value = serde_json::from_str(&bytes(&all)).unwrap();
            check_shape(array, &value);
            if matches!(value.get("system"), Some(Value::Array(_))) {
                check_blocks(&value);
            }
            let some = body(codec, &target, &prefix(), &all_params(), messages.get(..cut).unwrap_or(&messages));
            let (all, some) = (bytes(&all), bytes(&some));
            let mut end = Vec::new();
            codec.close(&target, &all_params(), &mut end);
            let start = &some[..some.len() - end.len()];
            prop_assert!(all.starts_with(start), "{some}\n{all}");

            let marked = marked(codec, &target, &prefix(), &all_params(), &messages, Mark::Cache);
            prop_assert_eq!(bytes(&marked).replace(CACHE_MARK, ""), all.replace(CACHE_MARK, ""));
        }
    }

    #[test]
    fn no_bytes_can_make_a_decoder_panic(
        lines in prop::collection::vec("\\PC{0,40}", 0..5),
        quirks in prop::sample::select(QUIRKS.to_vec()),
    ) {
        for (_, codec, _) in CODECS {
            feed(codec, quirks, &lines);
        }
    }

    #[test]
    fn no_mangled_stream_can_make_a_decoder_panic(
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..6), 1..12),
        quirks in prop::sample::select(QUIRKS.to_vec()),
    ) {
        for (_, codec, fixtures) in CODECS {
            let frames = frames(fixtures);
            let lines: Vec<String> = picks.iter().map(|(pick, at, how)| mangle(frames[pick.index(frames.len())], *at, *how)).collect();
            feed(codec, quirks, &lines);
        }
    }
}

fn feed(codec: &dyn Codec, quirks: &str, lines: &[String]) {
    let target = with_quirks(quirks);
    let mut decoder = codec.decoder(&target);
    let mut out = Vec::new();
    for data in lines {
        // Errors are fine, and whoever goes on after one must not be hurt either.
        let _ = decoder.frame(&Frame { event: "x", data }, &mut out);
    }
    let _ = decoder.end(&mut out);
    let _ = codec.decoder(&target).whole(&lines.join("\n"), &mut out);
    let mut assembler = Assembler::default();
    for chunk in out {
        assembler.push(chunk);
    }
    let back = answer(assembler.finish().parts);
    let _ = body(codec, &target, &no_prefix(), &Params::default(), &[back]);
}

/// Breaks a frame in one of the ways servers, proxies and cables do.
fn mangle(frame: &str, at: prop::sample::Index, how: u8) -> String {
    let letters: Vec<char> = frame.chars().collect();
    let at = at.index(letters.len());
    let (before, after) = letters.split_at(at);
    let (before, after): (String, String) = (before.iter().collect(), after.iter().collect());
    match how {
        0 => before,
        1 => after,
        2 => format!("{before}\"{after}"),
        3 => frame.replacen("\":\"", "\":null,\"x\":\"", 1 + at % 3),
        4 => frame.replacen("\":{", "\":[],\"x\":{", 1 + at % 3),
        _ => frame
            .replace("\":0", "\":-1e999")
            .replace("\":1", "\":18446744073709551615"),
    }
}

#[test]
fn an_answer_without_end_is_stopped() {
    let text = "x".repeat(1 << 20);
    let frames = [
        format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#),
        format!(r#"{{"type":"response.output_text.delta","delta":"{text}"}}"#),
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
        format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}}}]}}"#),
    ];
    for ((_, codec, _), data) in CODECS.into_iter().zip(&frames) {
        let mut decoder = codec.decoder(&target());
        let stopped = (0..=crate::codec::MAX_ANSWER_BYTES >> 20).find_map(|_| {
            decoder
                .frame(&Frame { event: "", data }, &mut Vec::new())
                .err()
        });
        assert_eq!(stopped.map(|error| error.kind()), Some("invalid_response"));
    }
}

#[test]
fn calls_without_end_are_stopped() {
    let frames = [
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"@","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        r#"{"type":"response.output_item.added","output_index":@,"item":{"type":"function_call","name":"f"}}"#,
        r#"{"type":"content_block_start","index":@,"content_block":{"type":"tool_use","id":"c","name":"f"}}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}"#,
    ];
    for ((_, codec, _), frame) in CODECS.into_iter().zip(frames) {
        let mut decoder = codec.decoder(&target());
        let stopped = (0..=crate::codec::MAX_PARTS).find_map(|i| {
            let data = frame.replace('@', &i.to_string());
            decoder
                .frame(
                    &Frame {
                        event: "",
                        data: &data,
                    },
                    &mut Vec::new(),
                )
                .err()
        });
        assert_eq!(
            stopped.map(|error| error.kind()),
            Some("invalid_response"),
            "{frame}"
        );
    }
}
