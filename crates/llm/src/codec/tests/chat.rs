//! The chat codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Chat;

const FIXTURES: &str = include_str!("fixtures/chat.txt");

fn stream_of(name: &str) -> String {
    stream(&Chat, &target(), &section(FIXTURES, name))
}

fn whole_of(name: &str) -> String {
    whole(&Chat, &target(), &section(FIXTURES, name))
}

#[test]
fn writes_a_plain_prompt() {
    insta::assert_snapshot!(body(&Chat, &target(), &no_prefix(), &Params::default(), &[user("hi"), answer([text("Hello.")]), user("bye")]), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"hi"}
    ,{"role":"assistant","content":"Hello."}
    ,{"role":"user","content":"bye"}
    ]}
    "#);
}

#[test]
fn writes_system_and_tools() {
    insta::assert_snapshot!(body(&Chat, &target(), &prefix(), &Params::default(), &[user("hi")]), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"hi"}
    ]}
    "#);
}

#[test]
fn writes_parallel_calls_and_their_results() {
    insta::assert_snapshot!(body(&Chat, &target(), &no_prefix(), &Params::default(), &parallel()), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"look around"}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"a b"},{"role":"tool","tool_call_id":"c2","content":"no such file"}
    ]}
    "#);
}

#[test]
fn writes_pictures() {
    insta::assert_snapshot!(body(&Chat, &target(), &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"[see the pictures]"},{"role":"tool","tool_call_id":"c2","content":"done"},{"role":"user","content":[{"type":"text","text":"[pictures from the results above]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}
    ]}
    "#);
}

#[test]
fn leaves_pictures_out_for_a_blind_model() {
    insta::assert_snapshot!(body(&Chat, &Target { images: false, ..target() }, &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"text","text":"[image left out: this model takes no pictures]"}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"[image left out: this model takes no pictures]"},{"role":"tool","tool_call_id":"c2","content":"done"}
    ]}
    "#);
}

#[test]
fn writes_cache_marks() {
    insta::assert_snapshot!(marked(&Chat, &target(), &prefix(), &Params::default(), &parallel(), Mark::Cache), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"look around"}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"a b"},{"role":"tool","tool_call_id":"c2","content":"no such file"}
    ]}
    "#);
}

#[test]
fn writes_params_that_are_set() {
    insta::assert_snapshot!(body(&Chat, &Target { max_output: Some(32_000), ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    ],"max_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning_effort":"high"}
    "#);
}

#[test]
fn writes_a_request_that_does_not_stream() {
    insta::assert_snapshot!(body(&Chat, &Target { stream: false, reasoning: false, ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":false,"messages":[
    ],"max_tokens":64000,"temperature":0.5,"top_p":1.0}
    "#);
}

#[test]
fn merges_extra_body() {
    let target = Target {
        extra_body: Some(json(
            r#"{"provider":{"only":["x"]},"temperature":1,"tools":"mine","messages":[],"model":"other"}"#,
        )),
        ..target()
    };
    insta::assert_snapshot!(body(&Chat, &target, &prefix(), &all_params(), &[user("hi")]), @r#"
    {"model":"other","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"hi"}
    ],"max_tokens":64000,"temperature":1,"top_p":1.0,"reasoning_effort":"high","provider":{"only":["x"]}}
    "#);
}

#[test]
fn writes_odd_histories() {
    insta::assert_snapshot!(body(&Chat, &target(), &no_prefix(), &Params::default(), &odd()), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"\u0000\"\\"}
    ,{"role":"assistant","content":"  "}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function","function":{"name":"_","arguments":"{}"}},{"id":"id with space","type":"function","function":{"name":"na_ve_tool","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"","content":""},{"role":"tool","tool_call_id":"id with space","content":" "}
    ]}
    "#);
}

#[test]
fn obeys_quirks() {
    let quirks = r#"
        system_role = "developer"
        max_tokens_field = "max_completion_tokens"
        stream_usage = false
        short_call_ids = true
        sampling = false
        effort_field = "reasoning"
        "#;
    insta::assert_snapshot!(body(&Chat, &with_quirks(quirks), &prefix(), &all_params(), &parallel()), @r#"
    {"model":"m-1","stream":true,"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"developer","content":"Be brief."}
    ,{"role":"user","content":"look around"}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"tzx9seo9f","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"8yrr13l3e","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"tzx9seo9f","content":"a b"},{"role":"tool","tool_call_id":"8yrr13l3e","content":"no such file"}
    ],"max_completion_tokens":64000,"reasoning":{"effort":"high"}}
    "#);
}

#[test]
fn writes_cache_marks_where_they_are_wanted() {
    insta::assert_snapshot!(marked(
        &Chat,
        &with_quirks("cache_marks = true"),
        &prefix(),
        &Params::default(),
        &[parallel(), pictures()].concat(),
        Mark::Cache,
    ), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}
    ,{"role":"user","content":[{"type":"text","text":"look around","cache_control":{"type":"ephemeral"}}]}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a b"}]},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"no such file","cache_control":{"type":"ephemeral"}}]}
    ,{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="},"cache_control":{"type":"ephemeral"}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"[see the pictures]"}]},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"done"}]},{"role":"user","content":[{"type":"text","text":"[pictures from the results above]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="},"cache_control":{"type":"ephemeral"}}]}
    ]}
    "#);
}

#[test]
fn says_effort_in_every_field() {
    let lines: Vec<String> = [
        "reasoning_effort",
        "reasoning",
        "thinking",
        "thinking_switch",
        "enable_thinking",
        "chat_template",
        "off",
    ]
    .iter()
    .flat_map(|field| {
        let target = with_quirks(&format!("effort_field = \"{field}\""));
        [Effort::Low, Effort::None].map(|level| {
            let mut out = Vec::new();
            Chat.close(&target, &effort(level), &mut out);
            format!("{field} {level:?}: {}", String::from_utf8(out).unwrap())
        })
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    reasoning_effort Low: ],"reasoning_effort":"low"}
    reasoning_effort None: ],"reasoning_effort":"none"}
    reasoning Low: ],"reasoning":{"effort":"low"}}
    reasoning None: ],"reasoning":{"effort":"none"}}
    thinking Low: ],"thinking":{"type":"enabled"},"reasoning_effort":"low"}
    thinking None: ],"thinking":{"type":"disabled"}}
    thinking_switch Low: ],"thinking":{"type":"enabled"}}
    thinking_switch None: ],"thinking":{"type":"disabled"}}
    enable_thinking Low: ],"enable_thinking":true}
    enable_thinking None: ],"enable_thinking":false}
    chat_template Low: ],"chat_template_kwargs":{"enable_thinking":true}}
    chat_template None: ],"chat_template_kwargs":{"enable_thinking":false}}
    off Low: ]}
    off None: ]}
    "#);
}

#[test]
fn sends_reasoning_back_as_told() {
    let messages = [
        answer([
            reasoning("Think", r#"{"field":"reasoning_content"}"#),
            reasoning("foreign", ""),
            text("Yes."),
            call("c1", "bash", "{}"),
        ]),
        answer([call("c2", "bash", "{}")]),
    ];
    let lines: Vec<String> = [
        "",
        "reasoning_back = \"reasoning\"",
        "reasoning_back = \"off\"",
        "reasoning_required = true",
    ]
    .iter()
    .map(|quirks| {
        format!(
            "{quirks}\n{}",
            body(
                &Chat,
                &with_quirks(quirks),
                &no_prefix(),
                &Params::default(),
                &messages
            )
        )
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"assistant","content":"Yes.","reasoning_content":"Think","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ]}
    reasoning_back = "reasoning"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"assistant","content":"Yes.","reasoning":"Think","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ]}
    reasoning_back = "off"
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"assistant","content":"Yes.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ]}
    reasoning_required = true
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"assistant","content":"Yes.","reasoning_content":"Think","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ]}
    "#);
}

#[test]
fn sends_back_what_came() {
    let lines = [
        "reasoning",
        "reasoning details",
        "signed call",
        "unknown fields",
        "parallel calls",
    ]
    .map(|name| replayed(&Chat, &target(), &section(FIXTURES, name)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"role":"assistant","content":"Yes.","reasoning_content":"Think hard.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    {"role":"assistant","content":"Yes.","reasoning_details":[{"type":"reasoning.text","text":"Think","format":"f-1","index":0,"signature":"c2ln"},{"type":"reasoning.encrypted","data":"ZW5j","id":"tool_1","format":"f-2","index":1}]}
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"},"extra_content":{"maker":{"thought_signature":"c2ln"}}}]}
    {"role":"assistant","content":"Hi!","mood":"merry","trace":{"a":1.0}}
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":\"a\\\"b\"}"}},{"id":"c2","type":"function","function":{"name":"pwd","arguments":"{}"}}]}
    "#);
}

#[test]
fn reads_text() {
    insta::assert_snapshot!(stream_of("text"), @r#"
    text "Hel"
    text "lo 😀\n"
    usage input 12 cached 0 written 0 output 3
    end text
    stop End
    "#);
}

#[test]
fn reads_reasoning() {
    insta::assert_snapshot!(stream_of("reasoning"), @r#"
    reasoning "Think"
    reasoning " hard."
    end reasoning {"field":"reasoning_content"}
    text "Yes."
    end text
    call "c1" bash {}
    stop Calls
    "#);
}

#[test]
fn reads_reasoning_details() {
    insta::assert_snapshot!(stream_of("reasoning details"), @r#"
    reasoning "Th"
    reasoning "ink"
    end reasoning {"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"Think","format":"f-1","index":0,"signature":"c2ln"}]}
    text "Yes."
    end text
    end reasoning {"reasoning_details":[{"type":"reasoning.encrypted","data":"ZW5j","id":"tool_1","format":"f-2","index":1}]}
    stop End
    "#);
}

#[test]
fn reads_details_only() {
    insta::assert_snapshot!(stream_of("details only"), @r#"
    reasoning "Planning"
    end reasoning {"reasoning_details":[{"type":"reasoning.summary","summary":"Planning"}]}
    text "Go."
    end text
    stop End
    "#);
}

#[test]
fn reads_parallel_calls() {
    insta::assert_snapshot!(stream_of("parallel calls"), @r#"
    call "c1" ls {"path":"a\"b"}
    call "c2" pwd {}
    stop Calls
    "#);
}

#[test]
fn reads_calls_and_stop() {
    insta::assert_snapshot!(stream_of("calls and stop"), @r#"
    call "" ls {"path":"."}
    call "" pwd {}
    stop Calls
    "#);
}

#[test]
fn reads_signed_call() {
    insta::assert_snapshot!(stream_of("signed call"), @r#"
    call "c1" ls {} {"call":{"extra_content":{"maker":{"thought_signature":"c2ln"}}}}
    stop Calls
    "#);
}

#[test]
fn reads_usage() {
    insta::assert_snapshot!(stream_of("usage"), @r#"
    text "a"
    usage input 1000 cached 800 written 100 output 20
    end text
    stop End
    "#);
}

#[test]
fn reads_usage_cache_hit() {
    insta::assert_snapshot!(stream_of("usage cache hit"), @r#"
    usage input 1000 cached 768 written 0 output 20
    text "a"
    end text
    stop End
    "#);
}

#[test]
fn reads_usage_in_choice() {
    insta::assert_snapshot!(stream_of("usage in choice"), @r#"
    usage input 9 cached 4 written 0 output 2
    text "a"
    end text
    stop End
    "#);
}

#[test]
fn reads_usage_reasoning_apart() {
    insta::assert_snapshot!(stream_of("usage reasoning apart"), @r#"
    usage input 10 cached 0 written 0 output 25
    text "a"
    end text
    stop End
    "#);
}

#[test]
fn reads_error() {
    insta::assert_snapshot!(stream_of("error"), @r#"
    text "Hel"
    retryable: The engine is overloaded, try again in 2s
    "#);
}

#[test]
fn reads_error_in_choice() {
    insta::assert_snapshot!(stream_of("error in choice"), @r#"retryable: Upstream died"#);
}

#[test]
fn reads_overflow() {
    insta::assert_snapshot!(stream_of("overflow"), @r#"overflow: This model's maximum context length is 8192 tokens"#);
}

#[test]
fn reads_refusal() {
    insta::assert_snapshot!(stream_of("refusal"), @r#"
    text "I can not do that."
    end text
    stop Refusal
    "#);
}

#[test]
fn reads_filtered() {
    insta::assert_snapshot!(stream_of("filtered"), @r#"
    text "Well"
    end text
    stop Refusal
    "#);
}

#[test]
fn reads_length() {
    insta::assert_snapshot!(stream_of("length"), @r#"
    text "Once upon"
    end text
    stop Length
    "#);
}

#[test]
fn reads_unknown_fields() {
    insta::assert_snapshot!(stream_of("unknown fields"), @r#"
    text "Hi"
    text "!"
    end text {"message":{"mood":"merry","trace":{"a":1.0}}}
    stop End
    "#);
}

#[test]
fn reads_odd_types() {
    insta::assert_snapshot!(stream_of("odd types"), @r#"
    text "ab"
    usage input 0 cached 0 written 0 output 2
    text "half �"
    end text
    stop End
    "#);
}

#[test]
fn reads_think_tags() {
    insta::assert_snapshot!(stream(&Chat, &with_quirks("think_tags = \"tagged\""), &section(FIXTURES, "think tags")), @r#"
    reasoning "hm"
    end reasoning
    text "Yes"
    end text
    stop End
    "#);
}

#[test]
fn reads_cut_in_text() {
    insta::assert_snapshot!(stream_of("cut in text"), @r#"
    text "Hel"
    retryable: the answer was cut off: the stream ended before the endpoint said it was complete
    "#);
}

#[test]
fn reads_cut_in_call() {
    insta::assert_snapshot!(stream_of("cut in call"), @r#"retryable: the answer was cut off: the stream ended before the endpoint said it was complete"#);
}

#[test]
fn reads_no_reason() {
    insta::assert_snapshot!(stream_of("no reason"), @r#"
    text "Hi"
    end text
    stop End
    "#);
}

#[test]
fn reads_half_a_frame() {
    insta::assert_snapshot!(stream_of("half a frame"), @r#"invalid_response: the endpoint sent what its protocol does not allow (EOF while parsing an object at line 1 column 46): {"choices":[{"index":0,"delta":{"content":"Hi""#);
}

#[test]
fn reads_whole() {
    insta::assert_snapshot!(whole_of("whole"), @r#"
    usage input 12 cached 0 written 0 output 3
    reasoning "Think"
    end reasoning {"field":"reasoning_content"}
    call "c1" ls {"path":"."}
    stop Calls
    "#);
}

#[test]
fn reads_whole_error() {
    insta::assert_snapshot!(whole_of("whole error"), @r#"fatal: no such model"#);
}

#[test]
fn reads_whole_page() {
    insta::assert_snapshot!(whole_of("whole page"), @r#"invalid_response: the endpoint sent what its protocol does not allow (expected value at line 1 column 1); it looks like a web page, so check base_url: <!DOCTYPE html><html><body>Welcome</body></html>"#);
}

#[test]
fn reads_whole_other() {
    insta::assert_snapshot!(whole_of("whole other"), @r#"invalid_response: the endpoint answered without `choices`; check base_url and the provider's kind"#);
}
