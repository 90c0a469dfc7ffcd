//! The gemini codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Gemini;

const FIXTURES: &str = include_str!("fixtures/gemini.txt");

#[test]
fn writes_what_every_codec_writes() {
    let extra = r#"{"safetySettings":[],"generationConfig":{"topK":40,"temperature":2},"contents":[],"tools":[]}"#;
    insta::assert_snapshot!(requests(&Gemini, extra), @r#"
    == writes a plain prompt
    {"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ,{"role":"model","parts":[{"text":"Hello."}]}
    ,{"role":"user","parts":[{"text":"bye"}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == writes system and tools
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == writes parallel calls and their results
    {"contents":[
    {"role":"user","parts":[{"text":"look around"}]}
    ,{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"c1","name":"bash","args":{"command":"ls","n":1.0}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"read_file","args":{"path":"a"}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"bash","response":{"output":"a b"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"no such file"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == writes pictures
    {"contents":[
    {"role":"user","parts":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
    ,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"shot","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"bash","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"shot","response":{"output":"[see the pictures]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}},{"functionResponse":{"id":"c2","name":"bash","response":{"output":"done"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == leaves pictures out for a blind model
    {"contents":[
    {"role":"user","parts":[{"text":"what is this?"},{"text":"[image left out: this model takes no pictures]"}]}
    ,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"shot","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"bash","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"shot","response":{"output":"[image left out: this model takes no pictures]"}}},{"functionResponse":{"id":"c2","name":"bash","response":{"output":"done"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == writes cache marks
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"look around"}]}
    ,{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"c1","name":"bash","args":{"command":"ls","n":1.0}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"read_file","args":{"path":"a"}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"bash","response":{"output":"a b"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"no such file"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    == writes params that are set
    {"contents":[
    ],"generationConfig":{"temperature":0.5,"topP":1.0,"maxOutputTokens":64000,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}
    == writes a request that does not stream
    {"contents":[
    ],"generationConfig":{"temperature":0.5,"topP":1.0,"maxOutputTokens":64000}}
    == merges extra body
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ],"generationConfig":{"temperature":2,"topP":1.0,"maxOutputTokens":64000,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"},"topK":40},"safetySettings":[]}
    == writes odd histories
    {"contents":[
    {"role":"user","parts":[{"text":"\u0000\"\\"}]}
    ,{"role":"model","parts":[{"text":"  "}]}
    ,{"role":"model","parts":[{"functionCall":{"name":"_","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"id with space","name":"na_ve_tool","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"name":"_","response":{"output":""}}},{"functionResponse":{"id":"id with space","name":"na_ve_tool","response":{"output":" "}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn reads_streams_and_whole_answers() {
    check(&Gemini, FIXTURES);
}

#[test]
fn asks_for_thinking_as_the_model_wants_it() {
    let cases = [
        ("", None),
        ("", Some(Effort::None)),
        ("", Some(Effort::Max)),
        ("efforts = [\"low\", \"high\"]", Some(Effort::Medium)),
        ("thinking = \"budget\"", None),
        ("thinking = \"budget\"", Some(Effort::None)),
        ("thinking = \"budget\"", Some(Effort::High)),
        ("thinking = \"off\"", Some(Effort::High)),
    ];
    let lines = cases.map(|(quirks, level)| {
        let mut out = Vec::new();
        let params = Params {
            effort: level,
            ..Params::default()
        };
        Gemini.close(&with_quirks(quirks), &params, &mut out);
        format!("{quirks} {level:?}: {}", String::from_utf8(out).unwrap())
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
     None: ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
     Some(None): ],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MINIMAL"}}}
     Some(Max): ],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}
    efforts = ["low", "high"] Some(Medium): ],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}
    thinking = "budget" None: ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    thinking = "budget" Some(None): ],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}}}
    thinking = "budget" Some(High): ],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":20480}}}
    thinking = "off" Some(High): ]}
    "#);
}

#[test]
fn obeys_quirks() {
    let quirks = "openapi_schema = true\nimages_in_results = false\nfill_signatures = false";
    insta::assert_snapshot!(body(&Gemini, &with_quirks(quirks), &prefix(), &Params::default(), &pictures()), @r#"
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
    ,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"shot","args":{}}},{"functionCall":{"id":"c2","name":"bash","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"shot","response":{"output":"[see the pictures]"}}},{"functionResponse":{"id":"c2","name":"bash","response":{"output":"done"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn replays_signatures_on_their_own_parts() {
    let signature = r#"{"part":{"thoughtSignature":"c2ln"}}"#;
    let messages = [answer([
        reasoning("shown", ""),
        reasoning("signed", signature),
        AnswerPart::Text {
            text: String::new(),
            replay: Some(json(signature)),
        },
        call("c1", "bash", "{}"),
        AnswerPart::Call {
            id: String::new(),
            name: "ls".into(),
            arguments: "{}".into(),
            replay: Some(json(signature)),
        },
    ])];
    insta::assert_snapshot!(body(&Gemini, &target(), &no_prefix(), &Params::default(), &messages), @r#"
    {"contents":[
    {"role":"model","parts":[{"text":"signed","thought":true,"thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"id":"c1","name":"bash","args":{}}},{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"c2ln"}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn sends_back_what_came() {
    let lines = [
        "text",
        "reasoning",
        "signed parts",
        "parallel calls",
        "unknown fields",
    ]
    .map(|name| replayed(&Gemini, &target(), &section(FIXTURES, name)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"role":"model","parts":[{"text":"Hello"},{"text":"","thoughtSignature":"c2ln"}]}
    {"role":"model","parts":[{"text":"On it."},{"functionCall":{"id":"f1","name":"bash","args":{"command":"ls"}},"thoughtSignature":"c2lnMQ=="}]}
    {"role":"model","parts":[{"text":" far","thought":true,"thoughtSignature":"dA=="},{"text":"Hello "},{"text":"world","thoughtSignature":"dw=="},{"text":"!"}]}
    {"role":"model","parts":[{"functionCall":{"name":"ls","args":{"path":1.0}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"pwd","args":{}}}]}
    {"role":"model","parts":[{"text":"Hi"},{"text":"","thoughtSignature":"bG9uZQ=="}]}
    "#);
}
