//! The responses codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Responses;

const FIXTURES: &str = include_str!("fixtures/responses.txt");

#[test]
fn writes_what_every_codec_writes() {
    let extra =
        r#"{"service_tier":"flex","store":true,"input":"mine","reasoning":{"effort":"low"}}"#;
    insta::assert_snapshot!(requests(&Responses, extra), @r#"
    == writes a plain prompt
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}
    ,{"type":"message","role":"user","content":[{"type":"input_text","text":"bye"}]}
    ]}
    == writes system and tools
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ]}
    == writes parallel calls and their results
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"look around"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"},{"type":"function_call","call_id":"c2","name":"read_file","arguments":"{\"path\":\"a\"}"}
    ,{"type":"function_call_output","call_id":"c1","output":"a b"},{"type":"function_call_output","call_id":"c2","output":"no such file"}
    ]}
    == writes pictures
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]}
    ,{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"bash","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call_output","call_id":"c2","output":"done"}
    ]}
    == leaves pictures out for a blind model
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"what is this?"},{"type":"input_text","text":"[image left out: this model takes no pictures]"}]}
    ,{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"bash","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"c1","output":"[image left out: this model takes no pictures]"},{"type":"function_call_output","call_id":"c2","output":"done"}
    ]}
    == writes cache marks
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"look around"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\",\"n\":1.0}"},{"type":"function_call","call_id":"c2","name":"read_file","arguments":"{\"path\":\"a\"}"}
    ,{"type":"function_call_output","call_id":"c1","output":"a b"},{"type":"function_call_output","call_id":"c2","output":"no such file"}
    ]}
    == writes params that are set
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning":{"effort":"high","summary":"auto"}}
    == writes a request that does not stream
    {"model":"m-1","stream":false,"store":false,"input":[
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0}
    == merges extra body
    {"model":"m-1","stream":true,"store":true,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","tools":[{"type":"function","name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}},"strict":false}],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    ],"max_output_tokens":64000,"temperature":0.5,"top_p":1.0,"reasoning":{"effort":"low"},"service_tier":"flex"}
    == writes odd histories
    {"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[
    {"type":"message","role":"user","content":[{"type":"input_text","text":"\u0000\"\\"}]}
    ,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"  "}]}
    ,{"type":"function_call","call_id":"_cbf29ce484222325","name":"_","arguments":"{}"},{"type":"function_call","call_id":"id_with_space_053f5078f6b55d0e","name":"na_ve_tool","arguments":"{}"}
    ,{"type":"function_call_output","call_id":"_cbf29ce484222325","output":""},{"type":"function_call_output","call_id":"id_with_space_053f5078f6b55d0e","output":" "}
    ]}
    "#);
}

#[test]
fn reads_streams_and_whole_answers() {
    check(&Responses, FIXTURES);
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
