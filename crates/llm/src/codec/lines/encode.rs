//! Writes a request as one line.

use super::super::write::{List, Object, number};
use crate::{AnswerPart, CallResult, Calls, Msg, Params, Prefix, Target};
use ostler_wire::{Image, Json};

pub fn open(target: &Target, prefix: &Prefix, out: &mut Vec<u8>) {
    let mut top = Object::open(out);
    top.text("type", "request");
    top.text("model", &target.origin.model);
    top.text("system", &prefix.system);
    let mut tools = top.list("tools");
    for tool in &prefix.tools {
        let mut item = tools.object();
        item.text("name", &tool.name);
        item.text("description", &tool.description);
        item.raw("parameters", tool.parameters.get());
        item.close();
    }
    tools.close();
    top.key("messages").push(b'[');
}

pub fn message(message: &Msg, out: &mut Vec<u8>) {
    let mut item = Object::open(out);
    match message {
        Msg::User { text, images } => {
            item.text("role", "user");
            item.text("text", text);
            pictures(&mut item, images);
        }
        Msg::Assistant { parts } => {
            item.text("role", "assistant");
            let mut list = item.list("parts");
            parts.iter().for_each(|one| part(one, &mut list));
            list.close();
        }
        Msg::Results { results } => {
            item.text("role", "results");
            let mut list = item.list("results");
            results.iter().for_each(|one| result(one, &mut list));
            list.close();
        }
    }
    item.close();
}

fn pictures(item: &mut Object<'_>, images: &[Image]) {
    if !images.is_empty() {
        item.raw("images", Json::of(&images).get());
    }
}

fn part(part: &AnswerPart, list: &mut List<'_>) {
    let mut item = list.object();
    let replay = match part {
        AnswerPart::Reasoning { text, replay } => {
            item.text("type", "reasoning");
            item.text("text", text);
            replay
        }
        AnswerPart::Text { text, replay } => {
            item.text("type", "text");
            item.text("text", text);
            replay
        }
        AnswerPart::Call {
            id,
            name,
            arguments,
            replay,
        } => {
            item.text("type", "call");
            item.text("id", id);
            item.text("name", name);
            item.text("arguments", arguments);
            replay
        }
    };
    if let Some(replay) = replay {
        item.raw("replay", replay.get());
    }
    item.close();
}

fn result(result: &CallResult, list: &mut List<'_>) {
    let mut item = list.object();
    item.text("id", &result.id);
    item.text("name", &result.name);
    item.text("text", &result.text);
    item.raw("ok", if result.ok { "true" } else { "false" });
    pictures(&mut item, &result.images);
    item.close();
}

pub fn close(params: &Params, out: &mut Vec<u8>) {
    out.extend_from_slice(b"],\"params\":");
    let mut item = Object::open(out);
    let numbers = [
        ("temperature", params.temperature.and_then(number)),
        ("top_p", params.top_p.and_then(number)),
        ("max_tokens", params.max_tokens.map(|n| n.to_string())),
    ];
    for (key, value) in numbers {
        if let Some(value) = value {
            item.raw(key, &value);
        }
    }
    if let Some(effort) = params.effort {
        item.text("effort", effort.name());
    }
    match params.calls {
        Calls::Free => {}
        Calls::Forbidden => item.text("calls", "none"),
    }
    item.close();
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;
    use ostler_wire::ToolSpec;

    fn target() -> Target {
        Target::new(
            ostler_wire::Origin {
                provider: "p".into(),
                model: "echo".into(),
            },
            crate::PLUGIN_KIND,
            "",
        )
    }

    #[test]
    fn a_request_is_one_line() {
        let tool = ToolSpec {
            name: "ls".into(),
            description: "Lists.".into(),
            parameters: Json::of(&serde_json::json!({"type": "object"})),
        };
        let prefix = Prefix {
            system: "Be\nbrief.".into(),
            tools: vec![tool],
        };
        let mut out = Vec::new();
        let messages = [
            Msg::User {
                text: "a\nb".into(),
                images: vec![Image {
                    media_type: "image/png".into(),
                    data: "AA==".into(),
                }],
            },
            Msg::Assistant {
                parts: vec![
                    AnswerPart::Text {
                        text: "t".into(),
                        replay: None,
                    },
                    AnswerPart::Call {
                        id: "c1".into(),
                        name: "ls".into(),
                        arguments: "{}".into(),
                        replay: Some(Json::of(&1)),
                    },
                ],
            },
            Msg::Results {
                results: vec![CallResult {
                    id: "c1".into(),
                    name: "ls".into(),
                    text: "x".into(),
                    images: Vec::new(),
                    ok: true,
                }],
            },
        ];
        open(&target(), &prefix, &mut out);
        for (n, one) in messages.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            message(one, &mut out);
        }
        let params = Params {
            max_tokens: Some(9),
            effort: Some(Effort::Low),
            ..Params::default()
        };
        close(&params, &mut out);
        let line = String::from_utf8(out).unwrap();
        assert!(!line.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        insta::assert_snapshot!(value, @r#"{"type":"request","model":"echo","system":"Be\nbrief.","tools":[{"name":"ls","description":"Lists.","parameters":{"type":"object"}}],"messages":[{"role":"user","text":"a\nb","images":[{"media_type":"image/png","data":"AA=="}]},{"role":"assistant","parts":[{"type":"text","text":"t"},{"type":"call","id":"c1","name":"ls","arguments":"{}","replay":1}]},{"role":"results","results":[{"id":"c1","name":"ls","text":"x","ok":true}]}],"params":{"max_tokens":9,"effort":"low"}}"#);
    }
}
