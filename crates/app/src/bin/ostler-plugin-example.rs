//! A plugin to read and to try: an MCP server with two tools that speaks JSON, a message a line, over stdin and stdout.
//! `ostler mcp add example -- ostler-plugin-example` adds it. With the argument `models` it offers a model instead, which
//! says again what it is told. It needs no library and keeps no state.

use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

const VERSION: &str = "2025-11-25";
/// Of the standard.
const NO_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    if std::env::args().nth(1).as_deref() == Some("models") {
        return offer_models(&mut out);
    }
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        // What has no id wants no answer.
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            continue;
        };
        let answer = match answer(method, &message["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(method: &str, params: &Value) -> Result<Value, (i64, String)> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or(VERSION),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ostler-plugin-example", "version": env!("CARGO_PKG_VERSION")},
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": [
            tool("echo", "Says the text again."),
            tool("wordcount", "Counts lines, words and characters of a text."),
        ]})),
        "tools/call" => call(params),
        _ => Err((NO_METHOD, format!("there is no method {method}"))),
    }
}

fn tool(name: &str, about: &str) -> Value {
    json!({
        "name": name,
        "description": about,
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": true},
    })
}

fn call(params: &Value) -> Result<Value, (i64, String)> {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(text) = params["arguments"]["text"].as_str() else {
        return Ok(json!({
            "content": [{"type": "text", "text": format!("{name} needs a `text`")}],
            "isError": true,
        }));
    };
    match name {
        "echo" => Ok(json!({"content": [{"type": "text", "text": text}]})),
        "wordcount" => {
            let counts = json!({
                "lines": text.lines().count(),
                "words": text.split_whitespace().count(),
                "characters": text.chars().count(),
            });
            Ok(json!({
                "content": [{"type": "text", "text": counts.to_string()}],
                "structuredContent": counts,
            }))
        }
        _ => Err((BAD_PARAMS, format!("there is no tool {name}"))),
    }
}

/// Answers requests for models, one after the other: each is a line, and so is each piece of an answer.
fn offer_models(out: &mut impl Write) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        let pieces = match request["type"].as_str() {
            Some("models") => vec![json!({"type": "models", "models": [
                {"name": "echo", "window": 32_000, "price": {"input": 0.0, "output": 0.0}},
            ]})],
            Some("request") => echo(&request),
            _ => continue,
        };
        for mut piece in pieces {
            // Says whose answer this is; without it each request gets a new process.
            piece["id"] = request["id"].clone();
            writeln!(out, "{piece}")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Says the last line again, word by word; `call <tool>` calls a tool, whose result is then said.
fn echo(request: &Value) -> Vec<Value> {
    let last = request["messages"].as_array().and_then(|all| all.last());
    let last = last.cloned().unwrap_or_default();
    let said = last["results"][0]["text"]
        .as_str()
        .or(last["text"].as_str());
    let said = said.unwrap_or_default().lines().last().unwrap_or_default();
    let mut pieces = Vec::new();
    match said
        .strip_prefix("call ")
        .filter(|_| last["role"] == "user")
    {
        Some(tool) => pieces.push(json!({"type": "call", "name": tool, "arguments": {}})),
        None => {
            let words = said.split_inclusive(' ');
            pieces.extend(words.map(|word| json!({"type": "text", "text": word})));
        }
    }
    let words = said.split_whitespace().count();
    pieces.push(json!({"type": "usage", "input": words, "output": words}));
    pieces.push(json!({"type": "end"}));
    pieces
}
