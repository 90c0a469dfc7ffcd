//! Plays one step on a connection: the answer as a stream or whole, broken where the script says,
//! or the vendor's error instead. The wording of errors is data, in `errors.json`.

use super::http::{Wire, pair};
use super::reply::{Emit, Flow, Frame, Mark, Reply};
use super::{chat, gemini, messages, responses};
use crate::Kind;
use crate::script::{Break, Fault, Place, Trouble};
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;
use std::thread;

const HUGE_PIECE_BYTES: usize = 64 * 1024;

/// How it went with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Played {
    /// The response is complete; the connection stays open.
    Whole,
    /// The connection has to be closed now.
    Broken,
    /// The client went away.
    Gone,
}

pub(super) fn play(reply: &Reply, wire: &mut Wire) -> io::Result<Played> {
    let strike = match &reply.step.fault {
        None => None,
        Some(Fault::Stream(place, how)) => Some((*place, *how)),
        Some(Fault::HangUp) => return Ok(Played::Broken),
        Some(Fault::StallHeaders) => return wire.stall(None).map(|()| Played::Gone),
        Some(Fault::Refuse(trouble)) => return refuse(reply, wire, *trouble),
        Some(Fault::Reply {
            status,
            content_type,
            body,
        }) => {
            wire.fixed(*status, content_type, &headers(reply), body)?;
            return Ok(Played::Whole);
        }
    };
    if !reply.request.streams() {
        return play_whole(reply, wire, strike);
    }
    if reply.kind == Kind::Gemini && !reply.request.path.contains("alt=sse") {
        return play_array(reply, wire);
    }
    wire.start_stream(&headers(reply))?;
    let mut player = Player {
        reply,
        wire,
        strike,
        frames: 0,
        thoughts: 0,
        texts: 0,
        args: 0,
    };
    let mut ended = None;
    let _ = write_frames(reply, &mut |frame| match player.frame(&frame) {
        Ok(None) => ControlFlow::Continue(()),
        Ok(Some(played)) => {
            ended = Some(Ok(played));
            ControlFlow::Break(())
        }
        Err(error) => {
            ended = Some(Err(error));
            ControlFlow::Break(())
        }
    });
    match ended {
        Some(ended) => ended,
        None => wire.end_stream().map(|()| Played::Whole),
    }
}

/// The vendor's error as status and body.
pub(super) fn error_body(kind: Kind, trouble: Trouble, model: &str, message: &str) -> (u16, Value) {
    let table: Value = serde_json::from_str(include_str!("errors.json")).unwrap_or_default();
    let entry = &table[key(trouble)][kind.name()];
    let mut body = entry["body"].clone();
    fill(&mut body, model, message);
    let status = entry["status"].as_u64().and_then(|s| s.try_into().ok());
    (status.unwrap_or(500), body)
}

fn key(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::RateLimit => "rate_limit",
        Trouble::Quota => "quota",
        Trouble::Internal => "internal",
        Trouble::Overloaded => "overloaded",
        Trouble::BadKey => "bad_key",
        Trouble::NoModel => "no_model",
        Trouble::Overflow => "overflow",
        Trouble::Invalid => "invalid",
    }
}

fn fill(value: &mut Value, model: &str, message: &str) {
    match value {
        Value::String(text) => {
            *text = text.replace("{model}", model).replace("{message}", message);
        }
        Value::Array(list) => list.iter_mut().for_each(|v| fill(v, model, message)),
        Value::Object(map) => map.values_mut().for_each(|v| fill(v, model, message)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn refuse(reply: &Reply, wire: &mut Wire, trouble: Trouble) -> io::Result<Played> {
    let (status, body) = error_body(reply.kind, trouble, reply.model(), "Invalid request");
    let body = body.to_string().into_bytes();
    wire.fixed(status, "application/json", &headers(reply), &body)?;
    Ok(Played::Whole)
}

fn headers(reply: &Reply) -> Vec<(String, String)> {
    let mut all = reply.step.headers.clone();
    let name = match reply.kind {
        Kind::Chat | Kind::Responses => "x-request-id",
        Kind::Messages => "request-id",
        Kind::Gemini => return all,
    };
    all.push(pair(name, &reply.id("req_")));
    all
}

fn write_frames(reply: &Reply, emit: Emit) -> Flow {
    match reply.kind {
        Kind::Chat => chat::stream(reply, emit),
        Kind::Responses => responses::stream(reply, emit),
        Kind::Messages => messages::stream(reply, emit),
        Kind::Gemini => gemini::stream(reply, emit),
    }
}

struct Player<'a, 'w, 's> {
    reply: &'a Reply<'a>,
    wire: &'w mut Wire<'s>,
    strike: Option<(Place, Break)>,
    frames: usize,
    thoughts: usize,
    texts: usize,
    args: usize,
}

impl Player<'_, '_, '_> {
    /// Writes the frame, or strikes before it.
    fn frame(&mut self, frame: &Frame) -> io::Result<Option<Played>> {
        if let Some((place, how)) = self.strike
            && self.reached(place, frame.mark)
        {
            return self.break_off(how, frame).map(Some);
        }
        self.write(&encode(self.reply.kind, frame))?;
        match frame.mark {
            Mark::Reasoning => self.thoughts += 1,
            Mark::Text => self.texts += 1,
            Mark::Args => self.args += 1,
            Mark::Head | Mark::WholeCall | Mark::Tail => {}
            Mark::Comment => return Ok(None),
        }
        self.frames += 1;
        if !self.reply.step.pace.is_zero() {
            self.wire.flush()?;
            thread::sleep(self.reply.step.pace);
        }
        Ok(None)
    }

    fn reached(&self, place: Place, next: Mark) -> bool {
        let after = |n: usize, seen: usize, mark: Mark| seen >= n && (n > 0 || next == mark);
        next == Mark::Tail
            || match place {
                Place::Start => true,
                Place::Reasoning(n) => after(n, self.thoughts, Mark::Reasoning),
                Place::Text(n) => after(n, self.texts, Mark::Text),
                Place::Call => self.args > 0 || next == Mark::WholeCall,
                Place::Tail => false,
            }
    }

    fn break_off(&mut self, how: Break, next: &Frame) -> io::Result<Played> {
        let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
        match how {
            Break::Cut if next.mark == Mark::WholeCall => {
                let bytes = encode(self.reply.kind, next);
                let args = bytes.windows(8).position(|w| w == b"\"args\":{");
                self.write(&bytes[..args.map_or(bytes.len() / 2, |at| at + 8)])?;
            }
            Break::Cut => {}
            Break::HalfFrame => self.write(&half(&encode(self.reply.kind, next)))?,
            Break::HugeLine(bytes) => {
                self.wire.chunk(b"data: ")?;
                huge(bytes, |piece| self.wire.chunk(piece))?;
            }
            Break::End => return self.wire.end_stream().map(|()| Played::Whole),
            Break::Stall(comments) => return self.wire.stall(comments).map(|()| Played::Gone),
            Break::Error(trouble) => {
                for bytes in self.error_frames(trouble) {
                    self.write(&bytes)?;
                }
                return self.wire.end_stream().map(|()| Played::Whole);
            }
        }
        self.wire.done().map(|()| Played::Broken)
    }

    fn error_frames(&self, trouble: Trouble) -> Vec<Vec<u8>> {
        let reply = self.reply;
        let (_, body) = error_body(reply.kind, trouble, reply.model(), "Invalid request");
        let frame = |event: Option<&str>, data: Value| {
            let frame = Frame {
                event: event.map(String::from),
                data: data.to_string(),
                mark: Mark::Tail,
            };
            encode(reply.kind, &frame)
        };
        match reply.kind {
            Kind::Chat => vec![frame(None, body)],
            Kind::Messages => vec![frame(Some("error"), body)],
            Kind::Responses => {
                let error = &body["error"];
                let failed = json!({"id": reply.id("resp_"), "object": "response",
                    "status": "failed", "model": reply.model(), "output": [], "usage": null,
                    "error": {"code": error["code"], "message": error["message"]}});
                let (first, second) = (self.frames, self.frames + 1);
                vec![
                    frame(
                        Some("error"),
                        json!({"type": "error", "sequence_number": first, "error": error}),
                    ),
                    frame(
                        Some("response.failed"),
                        json!({"type": "response.failed", "sequence_number": second,
                            "response": failed}),
                    ),
                ]
            }
            // The vendor drops out of SSE here: a bare, indented JSON object ends the body.
            Kind::Gemini => vec![format!("{body:#}\n").into_bytes()],
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bytes = on_the_wire(self.reply, bytes);
        match self.reply.step.shred {
            0 => self.wire.chunk(&bytes),
            size => bytes.chunks(size).try_for_each(|c| self.wire.chunk(c)),
        }
    }
}

fn encode(kind: Kind, frame: &Frame) -> Vec<u8> {
    let eol = match kind {
        Kind::Gemini => "\r\n",
        Kind::Chat | Kind::Responses | Kind::Messages => "\n",
    };
    let event = frame.event.as_ref();
    let event = event.map_or(String::new(), |e| format!("event: {e}{eol}"));
    let label = match frame.mark {
        Mark::Comment => "",
        Mark::Head | Mark::Reasoning | Mark::Text => "data: ",
        Mark::Args | Mark::WholeCall | Mark::Tail => "data: ",
    };
    format!("{event}{label}{}{eol}{eol}", frame.data).into_bytes()
}

/// The bytes as they are sent: U+FFFD becomes an invalid byte when the step asks for it.
fn on_the_wire<'b>(reply: &Reply, bytes: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    if !reply.step.bad_utf8 {
        return bytes.into();
    }
    let mut out = vec![];
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        match rest.strip_prefix(REPLACEMENT) {
            Some(after) => {
                out.push(0xff);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out.into()
}

fn play_whole(
    reply: &Reply,
    wire: &mut Wire,
    strike: Option<(Place, Break)>,
) -> io::Result<Played> {
    const JSON: &str = "application/json";
    let body = match reply.kind {
        Kind::Chat => chat::whole(reply),
        Kind::Responses => responses::whole(reply),
        Kind::Messages => messages::whole(reply),
        Kind::Gemini => gemini::whole(reply),
    };
    let text = body.to_string();
    let body = on_the_wire(reply, text.as_bytes());
    let half = &body[..body.len() / 2];
    let headers = headers(reply);
    match strike {
        None => {
            wire.fixed(200, JSON, &headers, &body)?;
            Ok(Played::Whole)
        }
        Some((_, Break::Cut | Break::HalfFrame)) => {
            wire.fixed_head(200, JSON, &headers, body.len())?;
            wire.raw(half)?;
            wire.done().map(|()| Played::Broken)
        }
        Some((_, Break::End)) => {
            wire.fixed(200, JSON, &headers, half)?;
            Ok(Played::Whole)
        }
        Some((place, Break::Stall(_))) => {
            wire.fixed_head(200, JSON, &headers, body.len())?;
            if place != Place::Start {
                wire.raw(half)?;
            }
            wire.stall(None).map(|()| Played::Gone)
        }
        Some((_, Break::HugeLine(bytes))) => {
            wire.fixed_head(200, JSON, &headers, bytes)?;
            huge(bytes, |piece| wire.raw(piece))?;
            wire.done().map(|()| Played::Broken)
        }
        Some((_, Break::Error(trouble))) => refuse(reply, wire, trouble),
    }
}

/// Without `alt=sse` the stream is one JSON array.
fn play_array(reply: &Reply, wire: &mut Wire) -> io::Result<Played> {
    let mut frames = vec![];
    let _ = write_frames(reply, &mut |frame| {
        frames.push(frame.data);
        ControlFlow::Continue(())
    });
    let body = format!("[{}]", frames.join(",\r\n"));
    wire.fixed(200, "application/json", &headers(reply), body.as_bytes())?;
    Ok(Played::Whole)
}

fn huge(bytes: usize, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let piece = vec![b'x'; HUGE_PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        write(&piece[..now])?;
        left -= now;
    }
    Ok(())
}
