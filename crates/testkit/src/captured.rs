//! A request as the server received it, with questions one can ask it whatever its protocol.

use crate::Kind;
use crate::server::validate;
use serde_json::{Value, json};
use std::time::Instant;

/// One HTTP request.
#[derive(Clone, Debug)]
pub struct Captured {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// `Null` when the body is not JSON.
    pub body: Value,
    pub raw: Vec<u8>,
    /// When the last byte of it had arrived.
    pub at: Instant,
    pub fate: Fate,
}

/// What became of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Still being sent.
    Open,
    /// The last bytes were handed over, just after this moment.
    Sent(Instant),
    /// The client went away first.
    Gone(Instant),
}

impl Captured {
    /// A request that was never sent, for checking what a codec builds.
    pub fn of(kind: Kind, body: Value) -> Captured {
        let model = body["model"].as_str().unwrap_or("mock-model");
        let headers = [
            ("authorization", "Bearer x"),
            ("x-api-key", "x"),
            ("anthropic-version", "2023-06-01"),
        ];
        Captured {
            method: "POST".into(),
            path: kind.path(model),
            headers: headers.map(|(k, v)| (k.into(), v.into())).to_vec(),
            raw: body.to_string().into_bytes(),
            body,
            at: Instant::now(),
            fate: Fate::Open,
        }
    }

    pub fn kind(&self) -> Option<Kind> {
        Kind::of_path(&self.path)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(k, _)| k == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn model(&self) -> &str {
        let in_path = || {
            let (_, rest) = self.path.split_once("/models/")?;
            rest.split(':').next()
        };
        let named = self.body["model"].as_str();
        named.or_else(in_path).unwrap_or_default()
    }

    /// Whether the client asked for a stream.
    pub fn streams(&self) -> bool {
        match self.kind() {
            Some(Kind::Gemini) => self.path.contains(":streamGenerateContent"),
            Some(Kind::Chat | Kind::Responses | Kind::Messages) | None => {
                self.body["stream"] == true
            }
        }
    }

    /// Checks the request as the real vendor would; the error is what the vendor would say.
    pub fn validate(&self) -> Result<(), String> {
        validate::check(self)
    }

    /// The prompt in the order a prefix cache sees it: system, tools, messages. Cache markers and
    /// Responses item ids are not prompt content, and a plain string stands for one text block.
    pub fn prompt_bytes(&self) -> Vec<u8> {
        let body = &self.body;
        let mut out = vec![];
        for key in ["instructions", "system", "systemInstruction"] {
            push_prompt(&mut out, &body[key]);
        }
        let messages = items(&body["messages"]);
        let lead = messages.iter().take_while(|m| is_system(m)).count();
        let (system, rest) = messages.split_at(lead);
        system.iter().for_each(|m| push_prompt(&mut out, m));
        push_prompt(&mut out, &body["tools"]);
        let turns = [rest, items(&body["input"]), items(&body["contents"])];
        turns
            .into_iter()
            .flatten()
            .for_each(|turn| push_prompt(&mut out, turn));
        out
    }

    pub fn tool_names(&self) -> Vec<String> {
        let mut names = vec![];
        collect_tools(&self.body["tools"], &mut names);
        names
    }

    /// The system prompt, wherever the protocol keeps it.
    pub fn system_text(&self) -> String {
        let body = &self.body;
        let top = ["instructions", "system", "systemInstruction"].map(|key| text_of(&body[key]));
        let lead = self.turns().iter().take_while(|m| is_system(m));
        let parts = top
            .into_iter()
            .chain(lead.map(|m| text_of(&m["content"])))
            .filter(|t| !t.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The text of the last user turn that has any; tool results are not text.
    pub fn last_user_text(&self) -> String {
        if let Some(text) = self.body["input"].as_str() {
            return text.into();
        }
        let user = self.turns().iter().rev().filter(|t| t["role"] == "user");
        user.map(|turn| text_of(&turn["content"]) + &text_of(&turn["parts"]))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Every tool result of the request, in order: the call's id (the function's name where the
    /// protocol carried no id), the text, and whether it is marked as an error.
    pub fn tool_results(&self) -> Vec<(String, String, bool)> {
        let mut out = vec![];
        for turn in self.turns() {
            if turn["role"] == "tool" {
                out.push(result(&turn["tool_call_id"], text_of(&turn["content"])));
            }
            if turn["type"] == "function_call_output" || turn["type"] == "custom_tool_call_output" {
                out.push(result(&turn["call_id"], text_of(&turn["output"])));
            }
            for block in items(&turn["content"]) {
                if block["type"] == "tool_result" {
                    let (id, text, _) = result(&block["tool_use_id"], text_of(&block["content"]));
                    out.push((id, text, block["is_error"] == true));
                }
            }
            for part in items(&turn["parts"]) {
                if part["functionResponse"].is_object() {
                    out.push(function_response(&part["functionResponse"]));
                }
            }
        }
        out
    }

    /// Every tool call of the request, in order: id, name, raw arguments.
    pub fn tool_calls(&self) -> Vec<(String, String, String)> {
        let mut out = vec![];
        for turn in self.turns() {
            for call in items(&turn["tool_calls"]) {
                let function = &call["function"];
                out.push(tool_call(&call["id"], function, &function["arguments"]));
            }
            if turn["type"] == "function_call" {
                out.push(tool_call(&turn["call_id"], turn, &turn["arguments"]));
            }
            for block in items(&turn["content"]) {
                if block["type"] == "tool_use" {
                    out.push(tool_call(&block["id"], block, &block["input"]));
                }
            }
            for part in items(&turn["parts"]) {
                let call = &part["functionCall"];
                if call.is_object() {
                    out.push(tool_call(&call["id"], call, &call["args"]));
                }
            }
        }
        out
    }

    fn turns(&self) -> &[Value] {
        let keys = ["messages", "input", "contents"];
        let lists = keys.iter().filter_map(|key| self.body[*key].as_array());
        lists.map(Vec::as_slice).next().unwrap_or_default()
    }
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A string, or the text of all text parts of a list (or of a `{parts: […]}`).
pub(crate) fn text_of(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.into();
    }
    let parts = match value {
        Value::Object(map) => map.get("parts").map(items).unwrap_or_default(),
        other => items(other),
    };
    let texts = parts.iter().filter(|p| p["thought"] != true);
    texts.filter_map(|p| p["text"].as_str()).collect()
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

fn push_prompt(out: &mut Vec<u8>, value: &Value) {
    if value.is_null() {
        return;
    }
    let mut value = value.clone();
    let is_item =
        value["type"].is_string() && (value["role"].is_string() || value["call_id"].is_string());
    if let (true, Value::Object(map)) = (is_item, &mut value) {
        map.shift_remove("id");
    }
    if let (true, Some(text)) = (value["role"].is_string(), value["content"].as_str()) {
        value["content"] = json!([{"type": "text", "text": text}]);
    }
    strip_cache_control(&mut value);
    out.extend(value.to_string().into_bytes());
}

fn strip_cache_control(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.shift_remove("cache_control");
            map.values_mut().for_each(strip_cache_control);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_cache_control),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn collect_tools(tools: &Value, names: &mut Vec<String>) {
    for tool in items(tools) {
        if tool["functionDeclarations"].is_array() {
            collect_tools(&tool["functionDeclarations"], names);
            continue;
        }
        if tool["type"] == "namespace" {
            let mut inner = vec![];
            collect_tools(&tool["tools"], &mut inner);
            let space = tool["name"].as_str().unwrap_or_default();
            names.extend(inner.iter().map(|name| format!("{space}/{name}")));
            continue;
        }
        let named = tool["function"]["name"].as_str();
        names.extend(named.or(tool["name"].as_str()).map(String::from));
    }
}

fn result(id: &Value, text: String) -> (String, String, bool) {
    (string(id), text, false)
}

fn function_response(value: &Value) -> (String, String, bool) {
    let response = &value["response"];
    let said = ["output", "result", "error", "content"]
        .iter()
        .find_map(|key| response[*key].as_str());
    let id = match &value["id"] {
        Value::String(id) => id.clone(),
        _ => string(&value["name"]),
    };
    let text = said.map_or_else(|| response.to_string(), String::from);
    (id, text, !response["error"].is_null())
}

fn tool_call(id: &Value, named: &Value, args: &Value) -> (String, String, String) {
    let args = args.as_str().map_or_else(|| args.to_string(), String::from);
    (string(id), string(&named["name"]), args)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

#[cfg(test)]
#[path = "captured_tests.rs"]
mod tests;
