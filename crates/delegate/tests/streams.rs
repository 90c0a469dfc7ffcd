//! What each agent of the catalogue prints, and what comes of it: answers, sessions, failures, refusals, half of an answer.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, request};
use ostler_delegate::outcome::FailureKind;
use serde_json::json;

/// A stream of an agent, with its stderr and exit code.
struct Stream {
    agent: &'static str,
    out: &'static str,
    err: &'static str,
    code: i32,
}

/// An option that no agent can be told over the protocol, so that its command line is used.
fn scene(agent: &str) -> Scene {
    let models = json!({"m": {"options": {"not_over_the_protocol": true}}});
    Scene::new(json!({
        "backend": {agent: {"models": models}},
        "roles": {"r": {"model": format!("{agent}/m")}},
    }))
}

async fn run(stream: &Stream) -> (ostler_delegate::outcome::Outcome, Vec<String>) {
    let scene = scene(stream.agent).prints(stream.agent, stream.out, stream.err, stream.code);
    let (outcome, seen) = scene.three(request("r", "say hi")).await;
    (outcome, seen.short())
}

const SUCCESS: &[Stream] = &[
    Stream {
        agent: "claude",
        out: r#"{"type":"system","subtype":"init","session_id":"s-1","tools":["Bash"]}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]},"session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s-1"}
{"type":"user","message":{"content":[{"tool_use_id":"c1","type":"tool_result","content":"a.txt","is_error":false}]},"session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"All done."}]},"session_id":"s-1"}
{"duration_ms":5,"session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3},"is_error":false,"subtype":"success","result":"All done.","type":"result"}
"#,
        err: "",
        code: 0,
    },
    Stream {
        agent: "codex",
        out: r#"{"type":"thread.started","thread_id":"s-1"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"hm"}}
{"type":"item.started","item":{"id":"c1","type":"command_execution","command":"Bash","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"c1","type":"command_execution","command":"Bash","aggregated_output":"a.txt\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"All done."}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":3,"output_tokens":5}}
"#,
        err: "Reading additional input from stdin...\n",
        code: 0,
    },
    Stream {
        agent: "opencode",
        out: r#"{"type":"step_start","sessionID":"s-1","part":{"type":"step-start"}}
{"type":"reasoning","sessionID":"s-1","part":{"type":"reasoning","text":"hm"}}
{"type":"tool_use","sessionID":"s-1","part":{"type":"tool","tool":"Bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt\n"}}}
{"type":"step_finish","sessionID":"s-1","part":{"reason":"tool-calls","tokens":{"input":4,"output":2,"cache":{"write":0,"read":1}},"cost":0.1}}
{"type":"text","sessionID":"s-1","part":{"type":"text","text":"All done."}}
{"type":"step_finish","sessionID":"s-1","part":{"reason":"stop","tokens":{"input":6,"output":3,"cache":{"write":0,"read":2}},"cost":0.15}}
"#,
        err: "",
        code: 0,
    },
    Stream {
        agent: "kimi",
        out: r#"{"role":"meta","type":"system.version","version":"2.1.0"}
{"role":"assistant","reasoning_content":"hm","tool_calls":[{"type":"function","id":"c1","function":{"name":"Bash","arguments":"{\"command\":\"ls\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"a.txt\n"}
{"role":"assistant","content":"All done."}
{"role":"meta","type":"session.resume_hint","session_id":"s-1","command":"kimi -r s-1","content":"To resume this session: kimi -r s-1"}
"#,
        err: "a.txt\n",
        code: 0,
    },
    Stream {
        agent: "gemini",
        out: r#"{"type":"init","session_id":"s-1","model":"m"}
{"type":"message","role":"user","content":"say hi"}
{"type":"message","role":"assistant","content":"I look.","delta":true}
{"type":"tool_use","tool_name":"Bash","tool_id":"c1","parameters":{"command":"ls"}}
{"type":"tool_result","tool_id":"c1","status":"success","output":"a.txt"}
{"type":"message","role":"assistant","content":"All ","delta":true}
{"type":"message","role":"assistant","content":"done.","delta":true}
{"type":"result","status":"success","stats":{"input_tokens":10,"output_tokens":5,"cached":3}}
"#,
        err: "Warning: Basic terminal detected (TERM=dumb).\nYOLO mode is enabled.\n",
        code: 0,
    },
    Stream {
        agent: "qwen",
        out: r#"{"type":"system","subtype":"init","session_id":"s-1","tools":["edit"]}
{"type":"stream_event","session_id":"s-1","event":{"type":"goal_state"}}
{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","session_id":"s-1","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,"content":"a.txt"}]}}
{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"text","text":"All done."}]}}
{"type":"result","subtype":"success","session_id":"s-1","is_error":false,"result":"All done.","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3}}
"#,
        err: "Ripgrep not available: falling back\n",
        code: 0,
    },
    Stream {
        agent: "pi",
        out: r#"{"type":"session","version":3,"id":"s-1"}
{"type":"agent_start"}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"say hi"}]}}
{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"hm"}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c1","name":"Bash"}],"usage":{"input":4,"output":2,"cacheRead":1,"cost":{"total":0.1}},"stopReason":"toolUse"}}
{"type":"tool_execution_start","toolCallId":"c1","toolName":"Bash","args":{"command":"ls"}}
{"type":"tool_execution_end","toolCallId":"c1","toolName":"Bash","result":{"content":[{"type":"text","text":"a.txt\n"}]},"isError":false}
{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"All done."}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"All done."}],"usage":{"input":6,"output":3,"cacheRead":2,"cost":{"total":0.15}},"stopReason":"stop"}}
{"type":"agent_end","messages":[]}
"#,
        err: "",
        code: 0,
    },
    Stream {
        agent: "reasonix",
        out: r#"{"kind":"turn_started","sessionId":"s-1","status":"in_progress"}
{"kind":"reasoning","sessionId":"s-1","text":"hm"}
{"kind":"tool_dispatch","sessionId":"s-1","tool":{"id":"c1","name":"Bash","partial":true}}
{"kind":"tool_dispatch","sessionId":"s-1","tool":{"runState":"pending","id":"c1","name":"Bash","args":"{\"command\":\"ls\"}"}}
{"kind":"tool_result","sessionId":"s-1","tool":{"runState":"completed","id":"c1","name":"Bash","output":"a.txt\n"}}
{"kind":"text","sessionId":"s-1","text":"All "}
{"kind":"text","sessionId":"s-1","text":"done."}
{"kind":"message","sessionId":"s-1","text":"All done."}
{"kind":"turn_done","sessionId":"s-1","status":"completed"}
{"type":"result","subtype":"success","is_error":false,"result":"All done.","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3}}
"#,
        err: "",
        code: 0,
    },
];

#[tokio::test]
async fn answers_sessions_calls_and_usage_are_read() {
    for stream in SUCCESS {
        let agent = stream.agent;
        let (outcome, told) = run(stream).await;
        assert_eq!(outcome.error, None, "{agent}");
        assert!(outcome.success, "{agent}");
        assert_eq!(outcome.agent_messages, "All done.", "{agent}");
        assert_eq!(outcome.message, outcome.agent_messages, "{agent}");
        assert_eq!(outcome.session_id, "s-1", "{agent}");
        assert_eq!(outcome.backend_session_id, "s-1", "{agent}");
        assert_eq!((outcome.backend.as_str(), outcome.resumed), (agent, false));
        assert_eq!(outcome.model.as_deref(), Some("m"), "{agent}");
        assert_eq!(told.first(), Some(&format!("started {agent}")));
        for line in [
            "session s-1",
            "call c1 Bash Execute",
            "ok c1 a.txt",
            "message All done.",
        ] {
            let count = told.iter().filter(|told| *told == line).count();
            assert_eq!(count, 1, "{agent}: {line} in {told:#?}");
        }
        if agent != "gemini" {
            assert!(
                told.contains(&"reasoning hm".to_owned()),
                "{agent}: {told:#?}"
            );
        }
        if agent != "kimi" {
            let cost = outcome.cost.unwrap();
            let tokens = (cost.input_tokens, cost.output_tokens, cost.cached_tokens);
            // Some count what was in the cache apart.
            let input = match agent {
                "claude" | "opencode" | "pi" => 13,
                _ => 10,
            };
            assert_eq!(tokens, (input, 5, 3), "{agent}");
        }
        if matches!(agent, "claude" | "opencode" | "pi") {
            assert_eq!(outcome.cost.unwrap().usd, Some(0.25), "{agent}");
        }
    }
}

#[tokio::test]
async fn half_of_an_answer_is_none() {
    for stream in SUCCESS {
        let agent = stream.agent;
        // Cut in the middle of the line after the last call.
        let cut = stream.out.find("All ").unwrap() + 2;
        let (outcome, _) = run(&Stream {
            out: &stream.out[..cut],
            ..*stream
        })
        .await;
        let error = outcome.error.unwrap();
        assert_eq!(
            outcome.failure,
            Some(FailureKind::Agent),
            "{agent}: {error}"
        );
        assert!(error.starts_with(&format!("`{agent}` ended ")), "{error}");
        assert!(error.contains("\ncommand: "), "{error}");
        assert!(!outcome.success);
    }
}

#[tokio::test]
async fn an_answer_without_its_end_is_not_whole() {
    let claude = &SUCCESS[0];
    let end = claude.out.find(r#"{"duration_ms""#).unwrap();
    let (outcome, _) = run(&Stream {
        out: &claude.out[..end],
        ..*claude
    })
    .await;
    let error = outcome.error.unwrap();
    assert!(error.contains("in the middle of its answer"), "{error}");
    assert_eq!(outcome.agent_messages, "All done.");
}

const LIMIT: &str = "Rate limit reached for the model: 30000 tokens per minute";

const FAILURES: &[Stream] = &[
    Stream {
        agent: "claude",
        out: r#"{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":1000,"error_status":429,"error":"rate_limit","session_id":"s-1"}
{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"session_id":"s-1"}
{"session_id":"s-1","terminal_reason":"api_error","is_error":true,"subtype":"success","api_error_status":429,"result":"API Error (429): Rate limit reached for the model: 30000 tokens per minute","type":"result"}
"#,
        err: "",
        code: 1,
    },
    Stream {
        agent: "codex",
        out: r#"{"type":"thread.started","thread_id":"s-1"}
{"type":"error","message":"Reconnecting... 1/5 (429 Too Many Requests)"}
{"type":"turn.failed","error":{"message":"last status: 429 Too Many Requests: Rate limit reached for the model: 30000 tokens per minute"}}
"#,
        err: "",
        code: 1,
    },
    Stream {
        agent: "opencode",
        out: r#"{"type":"error","sessionID":"s-1","error":{"name":"APIError","data":{"message":"Rate limit reached for the model: 30000 tokens per minute","statusCode":429}}}
"#,
        err: "",
        code: 1,
    },
    Stream {
        agent: "kimi",
        out: r#"{"role":"meta","type":"turn.step.retrying","failed_attempt":1,"max_attempts":10,"delay_ms":1000,"error_message":"429 Rate limit","status_code":429}
"#,
        err: "error: failed to run prompt: provider.rate_limit: 429 Rate limit reached for the model: 30000 tokens per minute\nSee log: x\n",
        code: 1,
    },
    Stream {
        agent: "gemini",
        out: r#"{"type":"init","session_id":"s-1"}
{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: 429 Rate limit reached for the model: 30000 tokens per minute]"},"stats":{"input_tokens":0}}
"#,
        err: "Attempt 1 failed: 429\n",
        code: 173,
    },
    Stream {
        agent: "qwen",
        out: r#"{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"text","text":"[API Error: 429]"}]}}
{"type":"result","subtype":"error_during_execution","session_id":"s-1","is_error":true,"error":{"message":"[API Error: 429 Rate limit reached for the model: 30000 tokens per minute]"}}
"#,
        err: "Retrying in 60s (attempt 1/10): [API Error: 429]\n",
        code: 1,
    },
    Stream {
        agent: "pi",
        out: r#"{"type":"session","version":3,"id":"s-1"}
{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429: first"}}
{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"429: first"}
{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429: Rate limit reached for the model: 30000 tokens per minute"}}
{"type":"agent_end","messages":[]}
"#,
        err: "",
        code: 0,
    },
    Stream {
        agent: "reasonix",
        out: r#"{"kind":"retrying","sessionId":"s-1","recovery":{"reason":"rate_limit_exceeded 429"},"retryAttempt":1,"retryMax":3}
{"kind":"turn_done","sessionId":"s-1","status":"failed","err":"429 Rate limit reached for the model: 30000 tokens per minute"}
{"type":"result","subtype":"error_during_execution","is_error":true,"result":"429 Rate limit reached for the model: 30000 tokens per minute"}
"#,
        err: "",
        code: 1,
    },
];

#[tokio::test]
async fn failures_are_failures_whatever_the_exit_code_says() {
    for stream in FAILURES {
        let agent = stream.agent;
        let (outcome, told) = run(stream).await;
        let error = outcome.error.unwrap();
        assert!(!outcome.success, "{agent}");
        assert_eq!(
            outcome.failure,
            Some(FailureKind::Agent),
            "{agent}: {error}"
        );
        assert!(
            error.starts_with(&format!("`{agent}` failed (exit code {}", stream.code)),
            "{error}"
        );
        assert!(error.contains(LIMIT) && error.contains("429"), "{error}");
        assert!(error.contains(&format!("\ncommand: {agent} ")), "{error}");
        // Of the prompt only a mark is shown.
        assert!(!error.contains("say hi"), "{error}");
        if agent != "opencode" {
            assert!(
                told.iter().any(|line| line.starts_with("retry ")),
                "{agent}: {told:#?}"
            );
        }
    }
}

#[tokio::test]
async fn another_model_takes_over_after_any_of_these_failures() {
    for stream in FAILURES {
        let agent = stream.agent;
        let other = if agent == "claude" { "codex" } else { "claude" };
        let spare = SUCCESS.iter().find(|stream| stream.agent == other).unwrap();
        let models = json!({"m": {"options": {"not_over_the_protocol": true}}});
        let fallback =
            json!({"model": format!("{other}/default"), "patterns": ["RATE LIMIT reached", "429"]});
        let scene = Scene::new(json!({
            "backend": {agent: {"models": models, "fallback": fallback}, other: {}},
            "roles": {"r": {"model": format!("{agent}/m")}},
        }));
        let scene = scene
            .prints(agent, stream.out, stream.err, stream.code)
            .prints(other, spare.out, spare.err, spare.code);
        let (outcome, seen) = scene.three(request("r", "say hi")).await;
        assert_eq!(outcome.error, None, "{agent}");
        assert_eq!(outcome.agent_messages, "All done.", "{agent}");
        assert_eq!(outcome.backend, other);
        let used = format!("model fallback used: {agent}/m -> {other}/default");
        assert!(
            outcome.warnings.iter().any(|line| line.starts_with(&used)),
            "{:?}",
            outcome.warnings
        );
        let started: Vec<_> = seen
            .short()
            .into_iter()
            .filter(|l| l.starts_with("started"))
            .collect();
        assert_eq!(
            started,
            [format!("started {agent}"), format!("started {other}")]
        );
    }
}

#[tokio::test]
async fn garbage_and_logins_are_told_with_what_was_printed() {
    for (out, err, code, says) in [
        ("\u{1}\u{2}nonsense\n{\"half\": \n", "", 0, "nonsense"),
        ("Please log in: run `login`\n", "", 0, "Please log in"),
        ("", "Not logged in\n", 1, "Not logged in"),
        ("", "", 0, "without an answer"),
        ("[1, 2]\n\"text\"\nnull\n", "", 0, "[1, 2]"),
        ("", "", 7, "exit code 7"),
    ] {
        for success in SUCCESS {
            let agent = success.agent;
            let (outcome, _) = run(&Stream {
                agent,
                out,
                err,
                code,
            })
            .await;
            let error = outcome.error.unwrap();
            assert_eq!(outcome.failure, Some(FailureKind::Agent));
            assert!(error.contains(says), "{agent}: {error}");
            assert!(error.contains(&format!("command: {agent} ")), "{error}");
            assert_eq!(outcome.agent_messages, "", "{agent}");
        }
    }
}
