//! The chat codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Chat;

const FIXTURES: &str = include_str!("fixtures/chat.txt");

#[test]
fn writes_what_every_codec_writes() {
    let extra = r#"{"provider":{"only":["x"]},"temperature":1,"tools":"mine","messages":[],"model":"other"}"#;
    insta::assert_snapshot!(requests(&Chat, extra), @r#"
    == writes a plain prompt
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"hi"}
    ,{"role":"assistant","content":"Hello."}
    ,{"role":"user","content":"bye"}
    ]}
    == writes system and tools
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"hi"}
    ]}
    == writes parallel calls and their results
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"look around"}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"a b"},{"role":"tool","tool_call_id":"c2","content":"no such file"}
    ]}
    == writes pictures
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"[see the pictures]"},{"role":"tool","tool_call_id":"c2","content":"done"},{"role":"user","content":[{"type":"text","text":"[pictures from the results above]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}
    ]}
    == leaves pictures out for a blind model
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"text","text":"[image left out: this model takes no pictures]"}]}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"[image left out: this model takes no pictures]"},{"role":"tool","tool_call_id":"c2","content":"done"}
    ]}
    == writes cache marks
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"look around"}
    ,{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}
    ,{"role":"tool","tool_call_id":"c1","content":"a b"},{"role":"tool","tool_call_id":"c2","content":"no such file"}
    ]}
    == writes params that are set
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    ],"max_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning_effort":"high"}
    == writes a request that does not stream
    {"model":"m-1","stream":false,"messages":[
    ],"max_tokens":64000,"temperature":0.5,"top_p":1.0}
    == merges extra body
    {"model":"other","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],"messages":[{"role":"system","content":"Be brief."}
    ,{"role":"user","content":"hi"}
    ],"max_tokens":64000,"temperature":1,"top_p":1.0,"reasoning_effort":"high","provider":{"only":["x"]}}
    == writes odd histories
    {"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"user","content":"\u0000\"\\"}
    ,{"role":"assistant","content":"  "}
    ,{"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function","function":{"name":"_","arguments":"{}"}},{"id":"id with space","type":"function","function":{"name":"na_ve_tool","arguments":"{}"}}]}
    ,{"role":"tool","tool_call_id":"","content":""},{"role":"tool","tool_call_id":"id with space","content":" "}
    ]}
    "#);
}

#[test]
fn reads_streams_and_whole_answers() {
    check(&Chat, FIXTURES);
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
