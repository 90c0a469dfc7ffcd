//! The messages codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Messages;

const FIXTURES: &str = include_str!("fixtures/messages.txt");

fn stream_of(name: &str) -> String {
    stream(&Messages, &target(), &section(FIXTURES, name))
}

fn whole_of(name: &str) -> String {
    whole(&Messages, &target(), &section(FIXTURES, name))
}

#[test]
fn writes_a_plain_prompt() {
    insta::assert_snapshot!(body(&Messages, &target(), &no_prefix(), &Params::default(), &[user("hi"), answer([text("Hello.")]), user("bye")]), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Hello."}]}
    ,{"role":"user","content":[{"type":"text","text":"bye"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn writes_system_and_tools() {
    insta::assert_snapshot!(body(&Messages, &target(), &prefix(), &Params::default(), &[user("hi")]), @r#"
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn writes_parallel_calls_and_their_results() {
    insta::assert_snapshot!(body(&Messages, &target(), &no_prefix(), &Params::default(), &parallel()), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"look around"}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls","n":1.0}},{"type":"tool_use","id":"c2","name":"read_file","input":{"path":"a"}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"},{"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn writes_pictures() {
    insta::assert_snapshot!(body(&Messages, &target(), &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"text","text":"what is this?"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"shot","input":{}},{"type":"tool_use","id":"c2","name":"bash","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},{"type":"tool_result","tool_use_id":"c2","content":"done"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn leaves_pictures_out_for_a_blind_model() {
    insta::assert_snapshot!(body(&Messages, &Target { images: false, ..target() }, &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"[image left out: this model takes no pictures]"},{"type":"text","text":"what is this?"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"shot","input":{}},{"type":"tool_use","id":"c2","name":"bash","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"[image left out: this model takes no pictures]"}]},{"type":"tool_result","tool_use_id":"c2","content":"done"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn writes_cache_marks() {
    insta::assert_snapshot!(marked(&Messages, &target(), &prefix(), &Params::default(), &parallel(), Mark::Cache), @r#"
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"look around","cache_control":{"type":"ephemeral"}}]}
    ,{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls","n":1.0}},{"type":"tool_use","id":"c2","name":"read_file","input":{"path":"a"},"cache_control":{"type":"ephemeral"}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"},{"type":"tool_result","tool_use_id":"c2","content":"no such file","is_error":true,"cache_control":{"type":"ephemeral"}}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
}

#[test]
fn writes_params_that_are_set() {
    insta::assert_snapshot!(body(&Messages, &Target { max_output: Some(32_000), ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":true,"messages":[
    ],"max_tokens":64000,"top_p":1.0,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}
    "#);
}

#[test]
fn writes_a_request_that_does_not_stream() {
    insta::assert_snapshot!(body(&Messages, &Target { stream: false, reasoning: false, ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":false,"messages":[
    ],"max_tokens":64000,"temperature":0.5}
    "#);
}

#[test]
fn merges_extra_body() {
    let target = Target {
        extra_body: Some(json(
            r#"{"metadata":{"user_id":"u"},"max_tokens":5,"tools":[],"messages":[],"system":"mine"}"#,
        )),
        ..target()
    };
    insta::assert_snapshot!(body(&Messages, &target, &prefix(), &all_params(), &[user("hi")]), @r#"
    {"model":"m-1","stream":true,"tools":[{"name":"bash","description":"Runs bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"hi"}]}
    ],"max_tokens":5,"top_p":1.0,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"metadata":{"user_id":"u"}}
    "#);
}

#[test]
fn writes_odd_histories() {
    insta::assert_snapshot!(body(&Messages, &target(), &no_prefix(), &Params::default(), &odd()), @r#"
    {"model":"m-1","stream":true,"messages":[
    {"role":"user","content":[{"type":"text","text":"\u0000\"\\"}]}
    ,{"role":"assistant","content":[{"type":"tool_use","id":"_cbf29ce484222325","name":"_","input":{}},{"type":"tool_use","id":"id_with_space_053f5078f6b55d0e","name":"na_ve_tool","input":{}}]}
    ,{"role":"user","content":[{"type":"tool_result","tool_use_id":"_cbf29ce484222325"},{"type":"tool_result","tool_use_id":"id_with_space_053f5078f6b55d0e"}]}
    ],"max_tokens":8192,"thinking":{"type":"adaptive","display":"summarized"}}
    "#);
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

#[test]
fn reads_text() {
    insta::assert_snapshot!(stream_of("text"), @r#"
    usage input 12 cached 0 written 0 output 1
    text "Hel"
    text "lo"
    end text
    usage input 12 cached 0 written 0 output 3
    stop End
    "#);
}

#[test]
fn reads_reasoning() {
    insta::assert_snapshot!(stream_of("reasoning"), @r#"
    reasoning "Let me "
    reasoning "see."
    end reasoning {"block":{"signature":"EqQBCgIY=="}}
    end reasoning {"block":{"type":"redacted_thinking","data":"Er8B"}}
    end reasoning {"block":{"signature":"only=="}}
    text "Yes."
    end text
    call "toolu_1" bash {}
    usage input 0 cached 0 written 0 output 9
    stop Calls
    "#);
}

#[test]
fn reads_parallel_calls() {
    insta::assert_snapshot!(stream_of("parallel calls"), @r#"
    call "toolu_1" ls {"path": 1.0} {"block":{"caller":{"type":"direct"}}}
    call "toolu_2" pwd {"whole":true}
    usage input 0 cached 0 written 0 output 40
    stop Calls
    "#);
}

#[test]
fn reads_usage() {
    insta::assert_snapshot!(stream_of("usage"), @r#"
    usage input 1000 cached 800 written 100 output 1
    text "a"
    end text
    usage input 1000 cached 800 written 100 output 20
    stop End
    "#);
}

#[test]
fn reads_error() {
    insta::assert_snapshot!(stream_of("error"), @r#"
    text "Hel"
    retryable: Overloaded
    "#);
}

#[test]
fn reads_overflow() {
    insta::assert_snapshot!(stream_of("overflow"), @r#"overflow: prompt is too long: 210000 tokens > 200000 maximum"#);
}

#[test]
fn reads_refusal() {
    insta::assert_snapshot!(stream_of("refusal"), @r#"
    text "I can"
    end text
    usage input 0 cached 0 written 0 output 2
    stop Refusal
    "#);
}

#[test]
fn reads_length() {
    insta::assert_snapshot!(stream_of("length"), @r#"
    text "Once upon"
    end text
    usage input 0 cached 0 written 0 output 2
    stop Length
    "#);
}

#[test]
fn reads_window_full() {
    insta::assert_snapshot!(stream_of("window full"), @r#"overflow: the conversation fills the model's context window"#);
}

#[test]
fn reads_window_full_later() {
    insta::assert_snapshot!(stream_of("window full later"), @r#"
    text "Hel"
    usage input 0 cached 0 written 0 output 1
    stop Length
    "#);
}

#[test]
fn reads_unknown_fields() {
    insta::assert_snapshot!(stream_of("unknown fields"), @r#"
    text "Hi"
    end text {"block":{"new":{"a":1}}}
    stop End
    "#);
}

#[test]
fn reads_blocks_without_end() {
    insta::assert_snapshot!(stream_of("blocks without end"), @r#"
    text "Hi"
    end text
    call "toolu_1" ls {"a":1}
    stop Calls
    "#);
}

#[test]
fn reads_no_farewell() {
    insta::assert_snapshot!(stream_of("no farewell"), @r#"
    text "Hi"
    stop End
    "#);
}

#[test]
fn reads_cut() {
    insta::assert_snapshot!(stream_of("cut"), @r#"
    text "Hel"
    end text
    retryable: the answer was cut off: the stream ended before the endpoint said it was complete
    "#);
}

#[test]
fn reads_whole() {
    insta::assert_snapshot!(whole_of("whole"), @r#"
    reasoning "Let me see."
    end reasoning {"block":{"signature":"sig=="}}
    text "Yes."
    end text
    call "toolu_1" ls {"path":"."}
    usage input 5 cached 0 written 0 output 6
    stop Calls
    "#);
}

#[test]
fn reads_whole_error() {
    insta::assert_snapshot!(whole_of("whole error"), @r#"retryable: slow down"#);
}

#[test]
fn reads_whole_other() {
    insta::assert_snapshot!(whole_of("whole other"), @r#"invalid_response: the endpoint answered without `content`; check base_url and the provider's kind"#);
}
