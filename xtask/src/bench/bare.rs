//! A bare agent loop over chat completions: a socket, two tools, no features. What it takes is what the machine, the mock
//! server and the shell cost by themselves.

use anyhow::Context as _;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

/// `url` is the server's, without a path.
pub fn run(url: &str, prompt: &str) -> anyhow::Result<bool> {
    let host = url.trim_start_matches("http://");
    let socket = TcpStream::connect(host)?;
    socket.set_nodelay(true)?;
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut messages = json!({"role": "user", "content": prompt}).to_string();
    loop {
        send(&socket, host, &messages)?;
        let answer = receive(&mut reader)?;
        if answer.id.is_empty() {
            return Ok(true);
        }
        let result = perform(&answer)?;
        let call = json!({"id": answer.id, "type": "function",
            "function": {"name": answer.name, "arguments": answer.arguments}});
        let said = json!({"role": "assistant", "content": answer.text, "tool_calls": [call]});
        let told = json!({"role": "tool", "tool_call_id": answer.id, "content": result});
        messages.push_str(&format!(",{said},{told}"));
    }
}

#[derive(Default)]
struct Answer {
    text: String,
    id: String,
    name: String,
    arguments: String,
}

fn send(mut socket: &TcpStream, host: &str, messages: &str) -> anyhow::Result<()> {
    let tool = |name: &str, argument: &str| {
        let parameters = json!({"type": "object", "properties": {argument: {"type": "string"}}});
        json!({"type": "function", "function": {"name": name, "parameters": parameters}})
    };
    let tools = json!([tool("bash", "command"), tool("read_file", "path")]);
    let head = format!(r#"{{"model":"mock-model","stream":true,"tools":{tools},"messages":["#);
    let length = head.len() + messages.len() + 2;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer x\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{head}{messages}]}}"
    );
    Ok(socket.write_all(request.as_bytes())?)
}

fn receive(reader: &mut impl BufRead) -> anyhow::Result<Answer> {
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        let read = reader.read_line(&mut line)?;
        anyhow::ensure!(read > 0, "the server went away");
    }
    let mut answer = Answer::default();
    let mut stdout = std::io::stdout().lock();
    let mut body: Vec<u8> = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).context("not a chunk")?;
        let start = body.len();
        body.resize(start + size + 2, 0);
        reader.read_exact(&mut body[start..])?;
        body.truncate(start + size);
        let whole = body
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        for frame in body.drain(..whole).as_slice().split(|b| *b == b'\n') {
            answer.take(frame, &mut stdout)?;
        }
        if size == 0 {
            return Ok(answer);
        }
    }
}

impl Answer {
    fn take(&mut self, frame: &[u8], stdout: &mut impl Write) -> anyhow::Result<()> {
        let data = frame.strip_prefix(b"data: ");
        let Some(Ok(value)) = data.map(serde_json::from_slice::<Value>) else {
            return Ok(());
        };
        let delta = &value["choices"][0]["delta"];
        if let Some(text) = delta["content"].as_str() {
            stdout.write_all(text.as_bytes())?;
            stdout.flush()?;
            self.text.push_str(text);
        }
        let call = &delta["tool_calls"][0];
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.id.push_str(&part(&call["id"]));
        self.name.push_str(&part(&call["function"]["name"]));
        self.arguments
            .push_str(&part(&call["function"]["arguments"]));
        Ok(())
    }
}

fn perform(call: &Answer) -> anyhow::Result<String> {
    let arguments: Value = serde_json::from_str(&call.arguments)?;
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    if call.name == "read_file" {
        return Ok(std::fs::read_to_string(text("path"))?);
    }
    let out = Command::new("/bin/sh")
        .arg("-c")
        .arg(text("command"))
        .output()?;
    let shown = String::from_utf8_lossy(&out.stdout);
    Ok(format!("{shown}exit {}", out.status.code().unwrap_or(-1)))
}
