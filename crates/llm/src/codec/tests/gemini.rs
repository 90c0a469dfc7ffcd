//! The gemini codec: what it writes, and what it makes of streams.

use super::*;
use crate::codec::Gemini;

const FIXTURES: &str = include_str!("fixtures/gemini.txt");

fn stream_of(name: &str) -> String {
    stream(&Gemini, &target(), &section(FIXTURES, name))
}

fn whole_of(name: &str) -> String {
    whole(&Gemini, &target(), &section(FIXTURES, name))
}

#[test]
fn writes_a_plain_prompt() {
    insta::assert_snapshot!(body(&Gemini, &target(), &no_prefix(), &Params::default(), &[user("hi"), answer([text("Hello.")]), user("bye")]), @r#"
    {"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ,{"role":"model","parts":[{"text":"Hello."}]}
    ,{"role":"user","parts":[{"text":"bye"}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn writes_system_and_tools() {
    insta::assert_snapshot!(body(&Gemini, &target(), &prefix(), &Params::default(), &[user("hi")]), @r#"
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn writes_parallel_calls_and_their_results() {
    insta::assert_snapshot!(body(&Gemini, &target(), &no_prefix(), &Params::default(), &parallel()), @r#"
    {"contents":[
    {"role":"user","parts":[{"text":"look around"}]}
    ,{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"c1","name":"bash","args":{"command":"ls","n":1.0}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"read_file","args":{"path":"a"}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"bash","response":{"output":"a b"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"no such file"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn writes_pictures() {
    insta::assert_snapshot!(body(&Gemini, &target(), &no_prefix(), &Params::default(), &pictures()), @r#"
    {"contents":[
    {"role":"user","parts":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
    ,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"shot","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"bash","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"shot","response":{"output":"[see the pictures]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}},{"functionResponse":{"id":"c2","name":"bash","response":{"output":"done"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn leaves_pictures_out_for_a_blind_model() {
    insta::assert_snapshot!(body(&Gemini, &Target { images: false, ..target() }, &no_prefix(), &Params::default(), &pictures()), @r#"
    {"contents":[
    {"role":"user","parts":[{"text":"what is this?"},{"text":"[image left out: this model takes no pictures]"}]}
    ,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"shot","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"bash","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"shot","response":{"output":"[image left out: this model takes no pictures]"}}},{"functionResponse":{"id":"c2","name":"bash","response":{"output":"done"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn writes_cache_marks() {
    insta::assert_snapshot!(marked(&Gemini, &target(), &prefix(), &Params::default(), &parallel(), Mark::Cache), @r#"
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"look around"}]}
    ,{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"c1","name":"bash","args":{"command":"ls","n":1.0}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"read_file","args":{"path":"a"}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"bash","response":{"output":"a b"}}},{"functionResponse":{"id":"c2","name":"read_file","response":{"error":"no such file"}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
}

#[test]
fn writes_params_that_are_set() {
    insta::assert_snapshot!(body(&Gemini, &Target { max_output: Some(32_000), ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"contents":[
    ],"generationConfig":{"temperature":0.5,"topP":1.0,"maxOutputTokens":64000,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}
    "#);
}

#[test]
fn writes_a_request_that_does_not_stream() {
    insta::assert_snapshot!(body(&Gemini, &Target { stream: false, reasoning: false, ..target() }, &no_prefix(), &all_params(), &[]), @r#"
    {"contents":[
    ],"generationConfig":{"temperature":0.5,"topP":1.0,"maxOutputTokens":64000}}
    "#);
}

#[test]
fn merges_extra_body() {
    let target = Target {
        extra_body: Some(json(
            r#"{"safetySettings":[],"generationConfig":{"topK":40,"temperature":2},"contents":[],"tools":[]}"#,
        )),
        ..target()
    };
    insta::assert_snapshot!(body(&Gemini, &target, &prefix(), &all_params(), &[user("hi")]), @r#"
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs bash","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string"}}}}]}],"contents":[
    {"role":"user","parts":[{"text":"hi"}]}
    ],"generationConfig":{"temperature":2,"topP":1.0,"maxOutputTokens":64000,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"},"topK":40},"safetySettings":[]}
    "#);
}

#[test]
fn writes_odd_histories() {
    insta::assert_snapshot!(body(&Gemini, &target(), &no_prefix(), &Params::default(), &odd()), @r#"
    {"contents":[
    {"role":"user","parts":[{"text":"\u0000\"\\"}]}
    ,{"role":"model","parts":[{"text":"  "}]}
    ,{"role":"model","parts":[{"functionCall":{"name":"_","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"id with space","name":"na_ve_tool","args":{}}}]}
    ,{"role":"user","parts":[{"functionResponse":{"name":"_","response":{"output":""}}},{"functionResponse":{"id":"id with space","name":"na_ve_tool","response":{"output":" "}}}]}
    ],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}
    "#);
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

#[test]
fn reads_text() {
    insta::assert_snapshot!(stream_of("text"), @r#"
    text "Hel"
    text "lo"
    end text
    end text {"part":{"thoughtSignature":"c2ln"}}
    usage input 12 cached 0 written 0 output 3
    stop End
    "#);
}

#[test]
fn reads_reasoning() {
    insta::assert_snapshot!(stream_of("reasoning"), @r#"
    reasoning "**Think"
    reasoning "ing**"
    text "On it."
    call "f1" bash {"command":"ls"} {"part":{"thoughtSignature":"c2lnMQ=="}}
    usage input 10 cached 0 written 0 output 45
    stop Calls
    "#);
}

#[test]
fn reads_signed_parts() {
    insta::assert_snapshot!(stream_of("signed parts"), @r#"
    reasoning "so"
    end reasoning
    reasoning " far"
    end reasoning {"part":{"thoughtSignature":"dA=="}}
    text "Hello "
    end text
    text "world"
    end text {"part":{"thoughtSignature":"dw=="}}
    text "!"
    stop End
    "#);
}

#[test]
fn reads_parallel_calls() {
    insta::assert_snapshot!(stream_of("parallel calls"), @r#"
    call "" ls {"path":1.0} {"part":{"thoughtSignature":"c2ln"}}
    call "" pwd {}
    stop Calls
    "#);
}

#[test]
fn reads_usage() {
    insta::assert_snapshot!(stream_of("usage"), @r#"
    text "a"
    usage input 1005 cached 800 written 0 output 35
    stop End
    "#);
}

#[test]
fn reads_error() {
    insta::assert_snapshot!(stream_of("error"), @r#"
    text "Hel"
    retryable: The model is overloaded.
    "#);
}

#[test]
fn reads_overflow() {
    insta::assert_snapshot!(stream_of("overflow"), @r#"overflow: The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."#);
}

#[test]
fn reads_refusal() {
    insta::assert_snapshot!(stream_of("refusal"), @r#"
    text "Well"
    stop Refusal
    "#);
}

#[test]
fn reads_blocked() {
    insta::assert_snapshot!(stream_of("blocked"), @r#"
    usage input 7 cached 0 written 0 output 0
    stop Refusal
    "#);
}

#[test]
fn reads_length() {
    insta::assert_snapshot!(stream_of("length"), @r#"
    text "Once upon"
    stop Length
    "#);
}

#[test]
fn reads_malformed_call() {
    insta::assert_snapshot!(stream_of("malformed call"), @r#"retryable: the model wrote a call that the endpoint could not read (MALFORMED_FUNCTION_CALL): Malformed function call: print(x)"#);
}

#[test]
fn reads_other() {
    insta::assert_snapshot!(stream_of("other"), @r#"retryable: the endpoint stopped without an answer (OTHER)"#);
}

#[test]
fn reads_other_with_text() {
    insta::assert_snapshot!(stream_of("other with text"), @r#"
    text "Hm"
    stop End
    "#);
}

#[test]
fn reads_unknown_fields() {
    insta::assert_snapshot!(stream_of("unknown fields"), @r#"
    text "Hi"
    end text
    end text {"part":{"thoughtSignature":"bG9uZQ=="}}
    stop End
    "#);
}

#[test]
fn reads_cut() {
    insta::assert_snapshot!(stream_of("cut"), @r#"
    text "Hel"
    usage input 9 cached 0 written 0 output 0
    retryable: the answer was cut off: the stream ended before the endpoint said it was complete
    "#);
}

#[test]
fn reads_whole() {
    insta::assert_snapshot!(whole_of("whole"), @r#"
    text "Hello"
    usage input 5 cached 0 written 0 output 6
    stop End
    "#);
}

#[test]
fn reads_whole_list() {
    insta::assert_snapshot!(whole_of("whole list"), @r#"
    text "Hel"
    text "lo"
    stop End
    "#);
}

#[test]
fn reads_whole_error() {
    insta::assert_snapshot!(whole_of("whole error"), @r#"retryable: Quota exceeded. Please retry in 12s."#);
}

#[test]
fn reads_whole_other() {
    insta::assert_snapshot!(whole_of("whole other"), @r#"invalid_response: the endpoint answered without `candidates`; check base_url and the provider's kind"#);
}
