//! The messages codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Messages;

const FIXTURES: &str = include_str!("fixtures/messages.txt");

#[test]
fn writes_what_every_codec_writes() {
    let extra =
        r#"{"metadata":{"user_id":"u"},"max_tokens":5,"tools":[],"messages":[],"system":"mine"}"#;
    insta::assert_snapshot!(requests(&Messages, extra), @r#"
    == writes a plain prompt
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Hello."}]}
    ,{"role":"user","content":[{"type":"text","text":"bye"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == writes system and tools
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == writes parallel calls and their results
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"look around"}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls","n":1.0}},{"type":"tool_use","id":"c2","name":"read_file","input":{"path":"a"}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"},{"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == writes pictures
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"text","text":"what is this?"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"shot","input":{}},{"type":"tool_use","id":"c2","name":"bash","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},{"type":"tool_result","tool_use_id":"c2","content":"done"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == leaves pictures out for a blind model
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"[image left out: this model takes no pictures]"},{"type":"text","text":"what is this?"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"shot","input":{}},{"type":"tool_use","id":"c2","name":"bash","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"[image left out: this model takes no pictures]"}]},{"type":"tool_result","tool_use_id":"c2","content":"done"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == writes cache marks
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"look around","cache_control":{"type":"ephemeral"}}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls","n":1.0}},{"type":"tool_use","id":"c2","name":"read_file","input":{"path":"a"},"cache_control":{"type":"ephemeral"}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"},{"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true,"cache_control":{"type":"ephemeral"}}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    == writes params that are set
    {"model":"m-1","stream":true,"messages":[
    ],"max_tokens":64000,"top_p":1.0,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}
    == writes a request that does not stream
    {"model":"m-1","stream":false,"messages":[
    ],"max_tokens":64000,"temperature":0.5}
    == merges extra body
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ],"max_tokens":5,"top_p":1.0,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"metadata":{"user_id":"u"}}
    == writes odd histories
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"\u0000\"\\"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"_cbf29ce484222325","name":"_","input":{}},{"type":"tool_use","id":"id_with_space_053f5078f6b55d0e","name":"na_ve_tool","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"_cbf29ce484222325"},{"type":"tool_result","tool_use_id":"id_with_space_053f5078f6b55d0e"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn reads_streams_and_whole_answers() {
    check(&Messages, FIXTURES);
}

#[test]
fn asks_for_thinking_as_the_model_wants_it() {
    let cases = [
        ("", None),
        ("", Some(Effort::None)),
        ("", Some(Effort::Max)),
        (
            "efforts = [\"low\", \"high\", \"xhigh\"]",
            Some(Effort::Max),
        ),
        ("thinking_off = \"disabled\"", Some(Effort::None)),
        ("thinking_off = \"between_tools\"", Some(Effort::None)),
        ("thinking = \"budget\"", None),
        ("thinking = \"budget\"", Some(Effort::None)),
        ("thinking = \"budget\"", Some(Effort::Low)),
        ("thinking = \"budget\"", Some(Effort::Max)),
        ("thinking = \"off\"", Some(Effort::High)),
        ("sampling = false", None),
    ];
    let lines = cases.map(|(quirks, level)| {
        let mut out = Vec::new();
        let params = Params {
            temperature: Some(0.1),
            top_p: Some(0.5),
            max_tokens: Some(16_000),
            effort: level,
            ..Params::default()
        };
        Messages.close(&with_quirks(quirks), &params, &mut out);
        format!("{quirks} {level:?}: {}", String::from_utf8(out).unwrap())
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
     None: ],"max_tokens":16000,"thinking":{"type":"adaptive","display":"summarized"}}
     Some(None): ],"max_tokens":16000,"temperature":0.1,"output_config":{"effort":"low"}}
     Some(Max): ],"max_tokens":16000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"}}
    efforts = ["low", "high", "xhigh"] Some(Max): ],"max_tokens":16000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}}
    thinking_off = "disabled" Some(None): ],"max_tokens":16000,"temperature":0.1,"thinking":{"type":"disabled"}}
    thinking_off = "between_tools" Some(None): ],"max_tokens":16000,"thinking":{"type":"between_tools"},"output_config":{"effort":"low"}}
    thinking = "budget" None: ],"max_tokens":16000,"temperature":0.1}
    thinking = "budget" Some(None): ],"max_tokens":16000,"temperature":0.1}
    thinking = "budget" Some(Low): ],"max_tokens":16000,"thinking":{"type":"enabled","budget_tokens":4096}}
    thinking = "budget" Some(Max): ],"max_tokens":16000,"thinking":{"type":"enabled","budget_tokens":12000}}
    thinking = "off" Some(High): ],"max_tokens":16000,"temperature":0.1}
    sampling = false None: ],"max_tokens":16000,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn a_budget_needs_room() {
    for (limit, expect) in [
        (1, None),
        (1_364, None),
        (1_365, Some(1_024)),
        (4_000, Some(3_000)),
    ] {
        let mut out = Vec::new();
        let params = Params {
            max_tokens: Some(limit),
            ..effort(Effort::Max)
        };
        Messages.close(&with_quirks("thinking = \"budget\""), &params, &mut out);
        let end = String::from_utf8(out).unwrap();
        let budget = end
            .split_once("budget_tokens\":")
            .map(|(_, rest)| rest.trim_end_matches('}'));
        assert_eq!(budget.map(|n| n.parse().unwrap()), expect, "{limit}: {end}");
    }
}

#[test]
fn replays_only_signed_thinking_and_never_last() {
    let signed = r#"{"block":{"signature":"s=="}}"#;
    let redacted = r#"{"block":{"type":"redacted_thinking","data":"d"}}"#;
    let messages = [
        answer([
            reasoning("Let me see.", signed),
            reasoning("", redacted),
            reasoning("", signed),
            reasoning("foreign", ""),
            text("Yes."),
            reasoning("idle", signed),
        ]),
        answer([reasoning("idle", signed), text(" ")]),
    ];
    insta::assert_snapshot!(marked(&Messages, &target(), &no_prefix(), &Params::default(), &messages, Mark::Cache), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"s=="},{"type":"redacted_thinking","data":"d"},{"type":"thinking","thinking":"","signature":"s=="},{"type":"text","text":"Yes.","cache_control":{"type":"ephemeral"}}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn marks_the_tools_when_there_is_no_system_prompt() {
    let prefix = Prefix {
        system: " ".into(),
        ..prefix()
    };
    insta::assert_snapshot!(body(&Messages, &target(), &prefix, &Params::default(), &[]), @r#"
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"messages":[
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn sends_back_what_came() {
    let lines = ["text", "reasoning", "parallel calls", "unknown fields"]
        .map(|name| replayed(&Messages, &target(), &section(FIXTURES, name)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"role":"assistant","content":[{"type":"text","text":"Hello"}]}
    {"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"EqQBCgIY=="},{"type":"redacted_thinking","data":"Er8B"},{"type":"thinking","thinking":"","signature":"only=="},{"type":"text","text":"Yes."},{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{"path": 1.0},"caller":{"type":"direct"}},{"type":"tool_use","id":"toolu_2","name":"pwd","input":{"whole":true}}]}
    {"role":"assistant","content":[{"type":"text","text":"Hi","new":{"a":1}}]}
    "#);
}
