//! The responses codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Responses;

const FIXTURES: &str = include_str!("fixtures/responses.txt");

fn stream_of(name: &str) -> String {
    stream(&Responses, &target(), &section(FIXTURES, name))
}

fn whole_of(name: &str) -> String {
    whole(&Responses, &target(), &section(FIXTURES, name))
}

#[test]
fn writes_a_plain_prompt() {
    insta::assert_snapshot!(body(&Responses, &target(), &no_prefix(), &Params::default(), &[user("hi"), answer([text("Hello.")]), user("bye")]), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}
    ,{"type":"message","role":"user","content":[{"type":"input_text","text":"bye"}]}
    ]}
    "#);
}

#[test]
fn writes_system_and_tools() {
    insta::assert_snapshot!(body(&Responses, &target(), &prefix(), &Params::default(), &[user("hi")]), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ]}
    "#);
}

#[test]
fn writes_parallel_calls_and_their_results() {
    insta::assert_snapshot!(body(&Responses, &target(), &no_prefix(), &Params::default(), &parallel()), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"look around"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"},{"type":"function_call","call_id":"c2","name":"read_file","arguments":"{\"path\":\"a\"}"}
    ,{"type":"function_call_output","call_id":"c1","output":"a b"},{"type":"function_call_output","call_id":"c2","output":"no such file"}
    ]}
    "#);
}

#[test]
fn writes_pictures() {
    insta::assert_snapshot!(body(&Responses, &target(), &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]}
    ,{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"bash","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call_output","call_id":"c2","output":"done"}
    ]}
    "#);
}

#[test]
fn leaves_pictures_out_for_a_blind_model() {
    insta::assert_snapshot!(body(&Responses, &Target { images: false, ..target() }, &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},{"type":"input_text","text":"[image left out: this model takes no pictures]"}]}
    ,{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"bash","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"c1","output":"[image left out: this model takes no pictures]"},{"type":"function_call_output","call_id":"c2","output":"done"}
    ]}
    "#);
}

#[test]
fn writes_cache_marks() {
    insta::assert_snapshot!(marked(&Responses, &target(), &prefix(), &Params::default(), &parallel(), Mark::Cache), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"look around"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"},{"type":"function_call","call_id":"c2","name":"read_file","arguments":"{\"path\":\"a\"}"}
    ,{"type":"function_call_output","call_id":"c1","output":"a b"},{"type":"function_call_output","call_id":"c2","output":"no such file"}
    ]}
    "#);
}

#[test]
fn writes_params_that_are_set() {
    insta::assert_snapshot!(body(&Responses, &Target { max_output: Some(32_000), ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning":{"effort":"high","summary":"auto"}}
    "#);
}

#[test]
fn writes_a_request_that_does_not_stream() {
    insta::assert_snapshot!(body(&Responses, &Target { stream: false, reasoning: false, ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"model":"m-1","stream":false,"store":false,"input":[
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0}
    "#);
}

#[test]
fn merges_extra_body() {
    let target = Target {
        extra_body: Some(json(
            r#"{"service_tier":"flex","store":true,"input":"mine","reasoning":{"effort":"low"}}"#,
        )),
        ..target()
    };
    insta::assert_snapshot!(body(&Responses, &target, &prefix(), &all_params(), &[user("hi")]), @r#"
    {"model":"m-1","stream":true,"store":true,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning":{"effort":"low"},"service_tier":"flex"}
    "#);
}

#[test]
fn writes_odd_histories() {
    insta::assert_snapshot!(body(&Responses, &target(), &no_prefix(), &Params::default(), &odd()), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"\u0000\"\\"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"  "}]}
    ,{"type":"function_call","call_id":"_cbf29ce484222325","name":"_","arguments":"{}"},{"type":"function_call","call_id":"id_with_space_053f5078f6b55d0e","name":"na_ve_tool","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"_cbf29ce484222325","output":""},{"type":"function_call_output","call_id":"id_with_space_053f5078f6b55d0e","output":" "}
    ]}
    "#);
}

#[test]
fn lets_pictures_follow_results() {
    insta::assert_snapshot!(body(&Responses, &with_quirks("images_in_results = false"), &no_prefix(), &Params::default(), &pictures()), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]}
    ,{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"bash","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"c1","output":"[see the pictures]"},{"type":"function_call_output","call_id":"c2","output":"done"},{"type":"message","role":"user","content":[{"type":"input_text","text":"[pictures from the results above]"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]}
    ]}
    "#);
}

#[test]
fn says_effort_in_words_the_model_takes() {
    let lines: Vec<String> = [
        "",
        "efforts = [\"low\", \"high\", \"max\"]",
        "reasoning_summary = false",
        "sampling = false",
    ]
    .iter()
    .flat_map(|quirks| {
        [Effort::None, Effort::Medium, Effort::Max].map(|level| {
            let mut out = Vec::new();
            let params = Params {
                temperature: Some(0.1),
                ..effort(level)
            };
            Responses.close(&with_quirks(quirks), &params, &mut out);
            format!("{quirks} {level:?}: {}", String::from_utf8(out).unwrap())
        })
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
     None: ],"temperature":0.1,"reasoning":{"effort":"none","summary":"auto"}}
     Medium: ],"temperature":0.1,"reasoning":{"effort":"medium","summary":"auto"}}
     Max: ],"temperature":0.1,"reasoning":{"effort":"xhigh","summary":"auto"}}
    efforts = ["low", "high", "max"] None: ],"temperature":0.1,"reasoning":{"effort":"low","summary":"auto"}}
    efforts = ["low", "high", "max"] Medium: ],"temperature":0.1,"reasoning":{"effort":"high","summary":"auto"}}
    efforts = ["low", "high", "max"] Max: ],"temperature":0.1,"reasoning":{"effort":"max","summary":"auto"}}
    reasoning_summary = false None: ],"temperature":0.1,"reasoning":{"effort":"none"}}
    reasoning_summary = false Medium: ],"temperature":0.1,"reasoning":{"effort":"medium"}}
    reasoning_summary = false Max: ],"temperature":0.1,"reasoning":{"effort":"xhigh"}}
    sampling = false None: ],"reasoning":{"effort":"none","summary":"auto"}}
    sampling = false Medium: ],"reasoning":{"effort":"medium","summary":"auto"}}
    sampling = false Max: ],"reasoning":{"effort":"xhigh","summary":"auto"}}
    "#);
}

#[test]
fn replays_reasoning_only_before_what_it_led_to() {
    let item = r#"{"item":{"type":"reasoning","summary":[],"encrypted_content":"gAAAA"}}"#;
    let messages = [
        answer([
            reasoning("Plan", item),
            text("Yes."),
            reasoning("foreign", ""),
            reasoning("idle", item),
        ]),
        answer([reasoning("idle", item)]),
    ];
    insta::assert_snapshot!(body(&Responses, &target(), &no_prefix(), &Params::default(), &messages), @r#"
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"reasoning","summary":[],"encrypted_content":"gAAAA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}
    ]}
    "#);
}

#[test]
fn sends_back_what_came() {
    let lines = [
        "text",
        "reasoning",
        "open reasoning",
        "parallel calls",
        "unknown fields",
    ]
    .map(|name| replayed(&Responses, &target(), &section(FIXTURES, name)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}],"phase":"final_answer"}
    {"type":"reasoning","summary":[{"type":"summary_text","text":"**Plan**"},{"type":"summary_text","text":"**Do** it"}],"encrypted_content":"gAAAA"},{"type":"function_call","call_id":"call_1","name":"bash","arguments":"{}"}
    {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}
    {"type":"function_call","call_id":"call_1","name":"ls","arguments":"{\"path\":1}","namespace":"files"},{"type":"function_call","call_id":"call_2","name":"pwd","arguments":"{}"}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}],"new":{"a":1}}
    "#);
}

#[test]
fn reads_text() {
    insta::assert_snapshot!(stream_of("text"), @r#"
    text "Hel"
    text "lo"
    end text {"item":{"phase":"final_answer"}}
    usage input 12 cached 0 written 0 output 3
    stop End
    "#);
}

#[test]
fn reads_reasoning() {
    insta::assert_snapshot!(stream_of("reasoning"), @r#"
    reasoning "**Plan**"
    reasoning "\n\n**Do**"
    reasoning " it"
    end reasoning {"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"**Plan**"},{"type":"summary_text","text":"**Do** it"}],"encrypted_content":"gAAAA"}}
    call "call_1" bash {}
    usage input 12 cached 0 written 0 output 30
    stop Calls
    "#);
}

#[test]
fn reads_open_reasoning() {
    insta::assert_snapshot!(stream_of("open reasoning"), @r#"
    reasoning "hm"
    end reasoning {"item":{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]}}
    text "Hi"
    end text
    stop End
    "#);
}

#[test]
fn reads_parallel_calls() {
    insta::assert_snapshot!(stream_of("parallel calls"), @r#"
    call "call_1" ls {"path":1} {"item":{"namespace":"files"}}
    call "call_2" pwd {}
    stop Calls
    "#);
}

#[test]
fn reads_never_ended() {
    insta::assert_snapshot!(stream_of("never ended"), @r#"
    call "call_1" ls {"a":1}
    stop Calls
    "#);
}

#[test]
fn reads_completed_only() {
    insta::assert_snapshot!(stream_of("completed only"), @r#"
    reasoning "Plan"
    end reasoning {"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"Plan"}],"encrypted_content":"gAAAA"}}
    text "Hello"
    end text
    call "call_1" ls {}
    usage input 5 cached 0 written 0 output 6
    stop Calls
    "#);
}

#[test]
fn reads_deltas_then_completed() {
    insta::assert_snapshot!(stream_of("deltas then completed"), @r#"
    text "Hel"
    text "lo"
    end text
    stop End
    "#);
}

#[test]
fn reads_usage() {
    insta::assert_snapshot!(stream_of("usage"), @r#"
    text "a"
    usage input 1000 cached 800 written 100 output 20
    stop End
    "#);
}

#[test]
fn reads_error() {
    insta::assert_snapshot!(stream_of("error"), @r#"
    text "Hel"
    retryable: The server had an error
    "#);
}

#[test]
fn reads_failed() {
    insta::assert_snapshot!(stream_of("failed"), @r#"retryable: Rate limit reached. Please try again in 1.5s."#);
}

#[test]
fn reads_overflow() {
    insta::assert_snapshot!(stream_of("overflow"), @r#"overflow: Your input exceeds the context window of this model."#);
}

#[test]
fn reads_failed_without_reason() {
    insta::assert_snapshot!(stream_of("failed without reason"), @r#"retryable: the endpoint gave the answer up without saying why"#);
}

#[test]
fn reads_refusal() {
    insta::assert_snapshot!(stream_of("refusal"), @r#"
    text "I can not."
    end text
    stop Refusal
    "#);
}

#[test]
fn reads_length() {
    insta::assert_snapshot!(stream_of("length"), @r#"
    text "Once upon"
    end text
    usage input 5 cached 0 written 0 output 2
    stop Length
    "#);
}

#[test]
fn reads_filtered() {
    insta::assert_snapshot!(stream_of("filtered"), @r#"stop Refusal"#);
}

#[test]
fn reads_unknown_fields() {
    insta::assert_snapshot!(stream_of("unknown fields"), @r#"
    text "Hi"
    end text {"item":{"new":{"a":1}}}
    stop End
    "#);
}

#[test]
fn reads_cut() {
    insta::assert_snapshot!(stream_of("cut"), @r#"
    text "Hel"
    retryable: the answer was cut off: the stream ended before the endpoint said it was complete
    "#);
}

#[test]
fn reads_whole() {
    insta::assert_snapshot!(whole_of("whole"), @r#"
    text "Hello"
    end text
    usage input 5 cached 0 written 0 output 6
    stop End
    "#);
}

#[test]
fn reads_whole_error() {
    insta::assert_snapshot!(whole_of("whole error"), @r#"retryable: Overloaded"#);
}

#[test]
fn reads_whole_other() {
    insta::assert_snapshot!(whole_of("whole other"), @r#"invalid_response: the endpoint answered without `output`; check base_url and the provider's kind"#);
}
