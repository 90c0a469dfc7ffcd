//! The event order and shapes of every protocol, as snapshots of what goes over the wire.

use super::client::{Client, Response, ask, ask_whole};
use crate::Kind;
use crate::script::{Step, Stop, Usage};
use crate::server::Server;
use serde_json::{Value, json};

const USAGE: Usage = Usage {
    input: 100,
    cached: 60,
    cache_write: 30,
    output: 20,
    reasoning: 7,
};

fn everything() -> Step {
    Step::answer()
        .reasoning("Let me")
        .blob("c2lnbmF0dXJl")
        .text("Hi é")
        .call("bash", json!({"command": "ls"}))
        .raw_call("read_file", "{\"path\":\"a\"}")
        .id("call_2")
        .split_at(&[1, 9])
        .usage(USAGE)
}

fn stream(kind: Kind, step: Step) -> Response {
    let server = Server::start([step]);
    let response = Client::new(&server).post(kind, &ask(kind, "hello"));
    assert_eq!((response.status, response.complete), (200, true));
    server.assert_done();
    response
}

fn whole(kind: Kind, step: Step) -> Value {
    let server = Server::start([step]);
    let response = Client::new(&server).post(kind, &ask_whole(kind, "hello"));
    assert_eq!(response.header("content-type"), Some("application/json"));
    response.json()
}

/// The frames, one a line, without what every frame repeats.
fn outline(kind: Kind, response: &Response) -> String {
    let text = response.text().replace("\r\n", "\n");
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    let lines = frames.map(|frame| {
        let (event, data) = match frame.split_once("data: ") {
            Some((event, data)) => (event.trim(), data),
            None => return frame.to_string(),
        };
        let data = match serde_json::from_str(data) {
            Ok(data) => shorten(kind, data).to_string(),
            Err(_) => data.to_string(),
        };
        let (event, gap) = (
            event.trim_start_matches("event: "),
            if event.is_empty() { "" } else { " " },
        );
        format!("{event}{gap}{data}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn shorten(kind: Kind, mut data: Value) -> Value {
    let boring: &[&str] = match kind {
        Kind::Chat => &[
            "id",
            "object",
            "created",
            "model",
            "service_tier",
            "system_fingerprint",
        ],
        Kind::Responses => &["type", "obfuscation"],
        Kind::Messages => &["type"],
        Kind::Gemini => &["modelVersion", "responseId"],
    };
    if let Some(map) = data.as_object_mut() {
        boring.iter().for_each(|key| drop(map.shift_remove(*key)));
        if let Some(response) = map.get_mut("response") {
            let keys = ["status", "incomplete_details", "output", "usage"];
            *response = keys
                .map(|key| (key, response[key].clone()))
                .into_iter()
                .collect();
        }
    }
    data
}

#[test]
fn chat_stream() {
    let response = stream(Kind::Chat, everything());
    assert_eq!(
        response.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(response.header("x-request-id"), Some("req_mock0000"));
    insta::assert_snapshot!(outline(Kind::Chat, &response), @r#"
    {"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"reasoning_content":"Let "},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"reasoning_content":"me"},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"content":"Hi "},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"content":"é"},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_mock0000x1","type":"function","function":{"name":"bash","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"comman"}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"d\":\"ls\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"read_file","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{"}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"path\":\""}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"a\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}
    {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":7,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}
    [DONE]
    "#);
}

#[test]
fn chat_whole() {
    insta::assert_json_snapshot!(whole(Kind::Chat, everything()), @r#"
    {
      "id": "chatcmpl-mock0000",
      "object": "chat.completion",
      "created": 1700000000,
      "model": "mock-model",
      "choices": [
        {
          "index": 0,
          "message": {
            "role": "assistant",
            "content": "Hi é",
            "refusal": null,
            "reasoning_content": "Let me",
            "tool_calls": [
              {
                "id": "call_mock0000x1",
                "type": "function",
                "function": {
                  "name": "bash",
                  "arguments": "{\"command\":\"ls\"}"
                }
              },
              {
                "id": "call_2",
                "type": "function",
                "function": {
                  "name": "read_file",
                  "arguments": "{\"path\":\"a\"}"
                }
              }
            ]
          },
          "logprobs": null,
          "finish_reason": "tool_calls"
        }
      ],
      "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {
          "cached_tokens": 60,
          "audio_tokens": 0
        },
        "completion_tokens_details": {
          "reasoning_tokens": 7,
          "audio_tokens": 0,
          "accepted_prediction_tokens": 0,
          "rejected_prediction_tokens": 0
        }
      },
      "service_tier": "default",
      "system_fingerprint": "fp_mock"
    }
    "#);
}

#[test]
fn chat_without_usage_unless_asked() {
    let server = Server::start([Step::answer().text("Hi")]);
    let mut body = ask(Kind::Chat, "hello");
    body["stream_options"] = Value::Null;
    let response = Client::new(&server).post(Kind::Chat, &body);
    assert!(!response.text().contains("usage"), "{}", response.text());
}

#[test]
fn responses_stream() {
    let response = stream(Kind::Responses, everything());
    insta::assert_snapshot!(outline(Kind::Responses, &response), @r#"
    response.created {"sequence_number":0,"response":{"status":"in_progress","incomplete_details":null,"output":[],"usage":null}}
    response.in_progress {"sequence_number":1,"response":{"status":"in_progress","incomplete_details":null,"output":[],"usage":null}}
    response.output_item.added {"sequence_number":2,"output_index":0,"item":{"id":"rs_mock0000i0","type":"reasoning","encrypted_content":"c2lnbm","summary":[]}}
    response.reasoning_summary_part.added {"sequence_number":3,"item_id":"rs_mock0000i0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}
    response.reasoning_summary_text.delta {"sequence_number":4,"delta":"Let ","item_id":"rs_mock0000i0","output_index":0,"summary_index":0}
    response.reasoning_summary_text.delta {"sequence_number":5,"delta":"me","item_id":"rs_mock0000i0","output_index":0,"summary_index":0}
    response.reasoning_summary_text.done {"sequence_number":6,"item_id":"rs_mock0000i0","output_index":0,"summary_index":0,"text":"Let me"}
    response.reasoning_summary_part.done {"sequence_number":7,"item_id":"rs_mock0000i0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Let me"}}
    response.output_item.done {"sequence_number":8,"output_index":0,"item":{"id":"rs_mock0000i0","type":"reasoning","encrypted_content":"c2lnbmF0dXJl","summary":[{"type":"summary_text","text":"Let me"}]}}
    response.output_item.added {"sequence_number":9,"output_index":1,"item":{"id":"msg_mock0000i1","type":"message","status":"in_progress","content":[],"role":"assistant"}}
    response.content_part.added {"sequence_number":10,"item_id":"msg_mock0000i1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}
    response.output_text.delta {"sequence_number":11,"delta":"Hi ","item_id":"msg_mock0000i1","output_index":1,"content_index":0}
    response.output_text.delta {"sequence_number":12,"delta":"é","item_id":"msg_mock0000i1","output_index":1,"content_index":0}
    response.output_text.done {"sequence_number":13,"item_id":"msg_mock0000i1","output_index":1,"content_index":0,"text":"Hi é"}
    response.content_part.done {"sequence_number":14,"item_id":"msg_mock0000i1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi é"}}
    response.output_item.done {"sequence_number":15,"output_index":1,"item":{"id":"msg_mock0000i1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi é"}],"role":"assistant"}}
    response.output_item.added {"sequence_number":16,"output_index":2,"item":{"id":"fc_mock0000c0","type":"function_call","status":"in_progress","arguments":"","call_id":"call_mock0000x1","name":"bash"}}
    response.function_call_arguments.delta {"sequence_number":17,"delta":"{\"comman","item_id":"fc_mock0000c0","output_index":2}
    response.function_call_arguments.delta {"sequence_number":18,"delta":"d\":\"ls\"}","item_id":"fc_mock0000c0","output_index":2}
    response.function_call_arguments.done {"sequence_number":19,"item_id":"fc_mock0000c0","output_index":2,"arguments":"{\"command\":\"ls\"}"}
    response.output_item.done {"sequence_number":20,"output_index":2,"item":{"id":"fc_mock0000c0","type":"function_call","status":"completed","arguments":"{\"command\":\"ls\"}","call_id":"call_mock0000x1","name":"bash"}}
    response.output_item.added {"sequence_number":21,"output_index":3,"item":{"id":"fc_mock0000c1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_2","name":"read_file"}}
    response.function_call_arguments.delta {"sequence_number":22,"delta":"{","item_id":"fc_mock0000c1","output_index":3}
    response.function_call_arguments.delta {"sequence_number":23,"delta":"\"path\":\"","item_id":"fc_mock0000c1","output_index":3}
    response.function_call_arguments.delta {"sequence_number":24,"delta":"a\"}","item_id":"fc_mock0000c1","output_index":3}
    response.function_call_arguments.done {"sequence_number":25,"item_id":"fc_mock0000c1","output_index":3,"arguments":"{\"path\":\"a\"}"}
    response.output_item.done {"sequence_number":26,"output_index":3,"item":{"id":"fc_mock0000c1","type":"function_call","status":"completed","arguments":"{\"path\":\"a\"}","call_id":"call_2","name":"read_file"}}
    response.completed {"sequence_number":27,"response":{"status":"completed","incomplete_details":null,"output":[{"id":"rs_mock0000i0","type":"reasoning","encrypted_content":"c2lnbmF0dXJl","summary":[{"type":"summary_text","text":"Let me"}]},{"id":"msg_mock0000i1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi é"}],"role":"assistant"},{"id":"fc_mock0000c0","type":"function_call","status":"completed","arguments":"{\"command\":\"ls\"}","call_id":"call_mock0000x1","name":"bash"},{"id":"fc_mock0000c1","type":"function_call","status":"completed","arguments":"{\"path\":\"a\"}","call_id":"call_2","name":"read_file"}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":120}}}
    "#);
    let numbers: Vec<_> = response
        .data()
        .iter()
        .map(|d| d["sequence_number"].clone())
        .collect();
    let expect: Vec<_> = (0..numbers.len()).map(|n| json!(n)).collect();
    assert_eq!(numbers, expect);
}

#[test]
fn responses_whole() {
    let whole = whole(Kind::Responses, everything());
    let keys = ["id", "object", "status", "error", "output", "usage"];
    let whole: Value = keys
        .map(|key| (key, whole[key].clone()))
        .into_iter()
        .collect();
    insta::assert_json_snapshot!(whole, @r#"
    {
      "id": "resp_mock0000",
      "object": "response",
      "status": "completed",
      "error": null,
      "output": [
        {
          "id": "rs_mock0000i0",
          "type": "reasoning",
          "encrypted_content": "c2lnbmF0dXJl",
          "summary": [
            {
              "type": "summary_text",
              "text": "Let me"
            }
          ]
        },
        {
          "id": "msg_mock0000i1",
          "type": "message",
          "status": "completed",
          "content": [
            {
              "type": "output_text",
              "annotations": [],
              "logprobs": [],
              "text": "Hi é"
            }
          ],
          "role": "assistant"
        },
        {
          "id": "fc_mock0000c0",
          "type": "function_call",
          "status": "completed",
          "arguments": "{\"command\":\"ls\"}",
          "call_id": "call_mock0000x1",
          "name": "bash"
        },
        {
          "id": "fc_mock0000c1",
          "type": "function_call",
          "status": "completed",
          "arguments": "{\"path\":\"a\"}",
          "call_id": "call_2",
          "name": "read_file"
        }
      ],
      "usage": {
        "input_tokens": 100,
        "input_tokens_details": {
          "cached_tokens": 60
        },
        "output_tokens": 20,
        "output_tokens_details": {
          "reasoning_tokens": 7
        },
        "total_tokens": 120
      }
    }
    "#);
}

#[test]
fn responses_encrypt_only_when_asked() {
    let server = Server::start([Step::answer().reasoning("Hm").text("Hi")]);
    let mut body = ask_whole(Kind::Responses, "hello");
    body["include"] = json!([]);
    let response = Client::new(&server).post(Kind::Responses, &body).json();
    assert_eq!(response["output"][0]["encrypted_content"], Value::Null);
}

#[test]
fn messages_stream() {
    let response = stream(Kind::Messages, everything());
    assert_eq!(response.header("request-id"), Some("req_mock0000"));
    insta::assert_snapshot!(outline(Kind::Messages, &response), @r#"
    message_start {"message":{"id":"msg_mock0000","type":"message","role":"assistant","model":"mock-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}
    content_block_start {"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
    ping {}
    content_block_delta {"index":0,"delta":{"type":"thinking_delta","thinking":"Let "}}
    content_block_delta {"index":0,"delta":{"type":"thinking_delta","thinking":"me"}}
    content_block_delta {"index":0,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl"}}
    content_block_stop {"index":0}
    content_block_start {"index":1,"content_block":{"type":"text","text":""}}
    content_block_delta {"index":1,"delta":{"type":"text_delta","text":"Hi "}}
    content_block_delta {"index":1,"delta":{"type":"text_delta","text":"é"}}
    content_block_stop {"index":1}
    content_block_start {"index":2,"content_block":{"type":"tool_use","id":"toolu_mock0000x1","name":"bash","input":{}}}
    content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":""}}
    content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"comman"}}
    content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"d\":\"ls\"}"}}
    content_block_stop {"index":2}
    content_block_start {"index":3,"content_block":{"type":"tool_use","id":"call_2","name":"read_file","input":{}}}
    content_block_delta {"index":3,"delta":{"type":"input_json_delta","partial_json":""}}
    content_block_delta {"index":3,"delta":{"type":"input_json_delta","partial_json":"{"}}
    content_block_delta {"index":3,"delta":{"type":"input_json_delta","partial_json":"\"path\":\""}}
    content_block_delta {"index":3,"delta":{"type":"input_json_delta","partial_json":"a\"}"}}
    content_block_stop {"index":3}
    message_delta {"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":20}}
    message_stop {}
    "#);
}

#[test]
fn messages_whole() {
    insta::assert_json_snapshot!(whole(Kind::Messages, everything()), @r#"
    {
      "id": "msg_mock0000",
      "type": "message",
      "role": "assistant",
      "model": "mock-model",
      "content": [
        {
          "type": "thinking",
          "thinking": "Let me",
          "signature": "c2lnbmF0dXJl"
        },
        {
          "type": "text",
          "text": "Hi é"
        },
        {
          "type": "tool_use",
          "id": "toolu_mock0000x1",
          "name": "bash",
          "input": {
            "command": "ls"
          }
        },
        {
          "type": "tool_use",
          "id": "call_2",
          "name": "read_file",
          "input": {
            "path": "a"
          }
        }
      ],
      "stop_reason": "tool_use",
      "stop_sequence": null,
      "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 60,
        "cache_creation": {
          "ephemeral_5m_input_tokens": 30,
          "ephemeral_1h_input_tokens": 0
        },
        "output_tokens": 20,
        "service_tier": "standard"
      }
    }
    "#);
}

#[test]
fn messages_hidden_thinking() {
    let step = Step::answer()
        .reasoning_chunks([""; 0])
        .blob("aGlkZGVu")
        .text("Hi");
    let response = stream(Kind::Messages, step.usage(USAGE));
    insta::assert_snapshot!(outline(Kind::Messages, &response), @r#"
    message_start {"message":{"id":"msg_mock0000","type":"message","role":"assistant","model":"mock-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}
    content_block_start {"index":0,"content_block":{"type":"redacted_thinking","data":"aGlkZGVu"}}
    ping {}
    content_block_stop {"index":0}
    content_block_start {"index":1,"content_block":{"type":"text","text":""}}
    content_block_delta {"index":1,"delta":{"type":"text_delta","text":"Hi"}}
    content_block_stop {"index":1}
    message_delta {"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20}}
    message_stop {}
    "#);
}

#[test]
fn gemini_stream() {
    let response = stream(Kind::Gemini, everything());
    assert!(
        response.text().ends_with("}\r\n\r\n"),
        "{}",
        response.text()
    );
    insta::assert_snapshot!(outline(Kind::Gemini, &response), @r#"
    {"candidates":[{"content":{"parts":[{"text":"Let ","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":"me","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":"Hi "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":"é"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"functionCall":{"name":"bash","args":{"command":"ls"},"id":"call_mock0000x1"},"thoughtSignature":"c2lnbmF0dXJl"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read_file","args":{"path":"a"},"id":"call_2"}}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":120,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60,"candidatesTokenCount":13,"thoughtsTokenCount":7}}
    "#);
}

#[test]
fn gemini_text_is_signed_at_the_end() {
    let step = Step::answer()
        .reasoning("Hm")
        .blob("c2ln")
        .text("Hi")
        .usage(USAGE);
    insta::assert_snapshot!(outline(Kind::Gemini, &stream(Kind::Gemini, step)), @r#"
    {"candidates":[{"content":{"parts":[{"text":"Hm","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60}}
    {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":120,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}],"cachedContentTokenCount":60,"candidatesTokenCount":13,"thoughtsTokenCount":7}}
    "#);
}

#[test]
fn gemini_whole() {
    insta::assert_json_snapshot!(whole(Kind::Gemini, everything()), @r#"
    {
      "candidates": [
        {
          "content": {
            "parts": [
              {
                "text": "Let me",
                "thought": true
              },
              {
                "text": "Hi é"
              },
              {
                "functionCall": {
                  "name": "bash",
                  "args": {
                    "command": "ls"
                  },
                  "id": "call_mock0000x1"
                },
                "thoughtSignature": "c2lnbmF0dXJl"
              },
              {
                "functionCall": {
                  "name": "read_file",
                  "args": {
                    "path": "a"
                  },
                  "id": "call_2"
                }
              }
            ],
            "role": "model"
          },
          "finishReason": "STOP",
          "index": 0
        }
      ],
      "usageMetadata": {
        "promptTokenCount": 100,
        "totalTokenCount": 120,
        "promptTokensDetails": [
          {
            "modality": "TEXT",
            "tokenCount": 100
          }
        ],
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 13,
        "thoughtsTokenCount": 7
      },
      "modelVersion": "mock-model",
      "responseId": "respmock0000"
    }
    "#);
}

#[test]
fn gemini_without_sse_is_an_array() {
    let server = Server::start([Step::answer().text("a b")]);
    let mut client = Client::new(&server);
    let body = ask(Kind::Gemini, "hello").to_string();
    client.request(
        "POST",
        "/v1beta/models/mock-model:streamGenerateContent",
        &body,
    );
    let list = client.receive().expect("a response").json();
    let texts = list.as_array().expect("an array").iter();
    let texts: Vec<_> = texts
        .map(|f| &f["candidates"][0]["content"]["parts"][0]["text"])
        .collect();
    assert_eq!(texts, ["a ", "b", ""]);
}

/// How an answer ends: the last frame that says so.
fn ends(kind: Kind, step: Step) -> String {
    let response = stream(kind, step);
    let found = response
        .data()
        .into_iter()
        .rev()
        .find_map(|data| match kind {
            Kind::Chat => data["choices"][0]["finish_reason"]
                .as_str()
                .map(String::from),
            Kind::Responses => {
                let end = &data["response"];
                let reason = end["incomplete_details"]["reason"].as_str().unwrap_or("-");
                Some(format!("{} {reason}", end["status"].as_str()?))
            }
            Kind::Messages => data["delta"]["stop_reason"].as_str().map(String::from),
            Kind::Gemini => {
                let blocked = data["promptFeedback"]["blockReason"].as_str();
                let finish = data["candidates"][0]["finishReason"].as_str();
                blocked
                    .map(|b| format!("blocked {b}"))
                    .or(finish.map(String::from))
            }
        });
    found.unwrap_or_default()
}

#[test]
fn stop_reasons() {
    let text = || Step::answer().text("Hi");
    let call = || Step::answer().call("bash", json!({}));
    let odd = || Stop::Other("tired".into());
    let table = [
        (text(), ["stop", "completed -", "end_turn", "STOP"]),
        (call(), ["tool_calls", "completed -", "tool_use", "STOP"]),
        (Step::answer(), ["stop", "completed -", "end_turn", "STOP"]),
        (
            text().stop(Stop::Length),
            [
                "length",
                "incomplete max_output_tokens",
                "max_tokens",
                "MAX_TOKENS",
            ],
        ),
        (
            text().stop(Stop::Filtered),
            [
                "content_filter",
                "incomplete content_filter",
                "refusal",
                "SAFETY",
            ],
        ),
        (
            text().stop(Stop::Refused),
            ["stop", "completed -", "refusal", "PROHIBITED_CONTENT"],
        ),
        (
            Step::answer().stop(Stop::Refused),
            [
                "stop",
                "completed -",
                "refusal",
                "blocked PROHIBITED_CONTENT",
            ],
        ),
        (
            text().stop(odd()),
            ["tired", "incomplete tired", "tired", "tired"],
        ),
        (
            Step::answer().raw_call("bash", "{\"command\": "),
            [
                "tool_calls",
                "completed -",
                "tool_use",
                "MALFORMED_FUNCTION_CALL",
            ],
        ),
    ];
    for (step, expect) in table {
        let got = Kind::ALL.map(|kind| ends(kind, step.clone()));
        assert_eq!(got, expect, "{step:?}");
    }
}

#[test]
fn refusals_have_their_own_deltas() {
    let step = || Step::answer().text("I will not").stop(Stop::Refused);
    let chat = stream(Kind::Chat, step()).text();
    assert!(chat.contains(r#""delta":{"refusal":"I "}"#), "{chat}");
    let responses = stream(Kind::Responses, step()).text();
    assert!(
        responses.contains("event: response.refusal.delta"),
        "{responses}"
    );
    assert!(
        responses.contains(r#"{"type":"refusal","refusal":"I will not"}"#),
        "{responses}"
    );
}

#[test]
fn noise_hides_among_known_things() {
    for kind in Kind::ALL {
        let plain = stream(kind, everything());
        let noisy = stream(kind, everything().noise());
        let (plain, noisy) = (plain.text(), noisy.text());
        assert!(
            noisy.contains("mock_extra") || noisy.contains("mockExtra"),
            "{noisy}"
        );
        assert!(
            noisy.matches("data: ").count() > plain.matches("data: ").count(),
            "{noisy}"
        );
    }
    let chat = stream(Kind::Chat, everything().noise()).text();
    assert!(chat.starts_with(": MOCK PROCESSING\n\n"), "{chat}");
}

#[test]
fn ids_can_be_left_out() {
    let step = || Step::answer().call("bash", json!({})).id("");
    for kind in [Kind::Chat, Kind::Gemini] {
        let text = stream(kind, step()).text();
        assert!(!text.contains("call_"), "{text}");
    }
}

#[test]
fn many_deltas_arrive_whole() {
    for kind in Kind::ALL {
        let response = stream(kind, Step::answer().words(2000).shred(7));
        let text: String = response
            .data()
            .iter()
            .filter_map(|data| match kind {
                Kind::Chat => data["choices"][0]["delta"]["content"].as_str(),
                Kind::Responses if data["type"] == "response.output_text.delta" => {
                    data["delta"].as_str()
                }
                Kind::Responses => None,
                Kind::Messages => data["delta"]["text"].as_str(),
                Kind::Gemini => data["candidates"][0]["content"]["parts"][0]["text"].as_str(),
            })
            .collect();
        assert_eq!(text.split_whitespace().count(), 2000, "{kind:?}");
        assert!(
            text.starts_with("w0 w1 ") && text.ends_with("w1999\n"),
            "{kind:?}"
        );
    }
}
