//! Shared by all connections: the script, the log of requests, and what a request is answered.

use super::fault::{Played, error_body, play};
use super::http::Wire;
use super::reply::Reply;
use super::routes::Route;
use super::{Options, Script};
use crate::Kind;
use crate::captured::{Captured, Fate};
use crate::script::{Part, Step, Trouble, Usage};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Earlier prompts the simulated cache remembers.
const KEPT_PROMPTS: usize = 6;
const BYTES_PER_TOKEN: u64 = 4;
/// Where cache writes are explicit, the end of the prompt is billed as plain input.
const UNCACHED_TAIL_TOKENS: u64 = 4;

pub(super) struct State {
    pub options: Options,
    pub script: Mutex<Script>,
    pub log: Mutex<Log>,
    pub changed: Condvar,
    pub closing: AtomicBool,
}

#[derive(Default)]
pub(super) struct Log {
    pub requests: Vec<Captured>,
    pub others: Vec<Captured>,
    pub prompts: VecDeque<Vec<u8>>,
    pub problems: Vec<String>,
    pub routes: HashMap<String, Route>,
    pub connections: usize,
    pub open: HashMap<usize, TcpStream>,
}

impl State {
    pub(super) fn answer(&self, kind: Kind, request: Captured, sock: &TcpStream) -> Played {
        let (serial, step, usage) = self.admit(kind, &request);
        let mut wire = Wire::new(sock);
        let played = match step {
            Ok(step) => {
                let reply = Reply {
                    kind,
                    usage: step.usage.unwrap_or_else(|| spent(&step, usage)),
                    step: &step,
                    request: &request,
                    serial,
                    calls_before: request.tool_calls().len(),
                };
                play(&reply, &mut wire)
            }
            Err((trouble, message)) => {
                let (status, body) = error_body(kind, trouble, request.model(), &message);
                let body = body.to_string().into_bytes();
                let sent = wire.fixed(status, "application/json", &[], &body);
                sent.map(|()| Played::Whole)
            }
        };
        let played = played.unwrap_or(Played::Gone);
        let fate = match played {
            Played::Whole | Played::Broken => Fate::Sent(wire.sent().unwrap_or_else(Instant::now)),
            Played::Gone => Fate::Gone(Instant::now()),
        };
        if let Some(request) = lock(&self.log).requests.get_mut(serial) {
            request.fate = fate;
        }
        self.changed.notify_all();
        played
    }

    /// Records a request and finds its step, in one go, so that steps go out in order of arrival.
    fn admit(
        &self,
        kind: Kind,
        request: &Captured,
    ) -> (usize, Result<Step, (Trouble, String)>, Usage) {
        let options = &self.options;
        let invalid = match options.validate {
            true => request.validate().err(),
            false => None,
        };
        let prompt = request.prompt_bytes();
        let mut script = lock(&self.script);
        let mut log = lock(&self.log);
        let serial = log.requests.len();
        log.requests.push(request.clone());
        if let Some(old) = serial.checked_sub(options.keep_bodies) {
            let old = &mut log.requests[old];
            (old.body, old.raw) = (Value::Null, vec![]);
        }
        if let Some(message) = invalid {
            let problem = format!("request {serial} ({}) is invalid: {message}", kind.name());
            log.problems.push(problem);
            self.changed.notify_all();
            return (serial, Err((Trouble::Invalid, message)), Usage::default());
        }
        if !options.key.as_ref().is_none_or(|key| has_key(request, key)) {
            self.changed.notify_all();
            return (
                serial,
                Err((Trouble::BadKey, String::new())),
                Usage::default(),
            );
        }
        let usage = log.prompt_usage(kind, request, prompt, options.simulate_cache);
        self.changed.notify_all();
        let step = match &mut *script {
            Script::Steps(steps) => steps.pop_front().ok_or_else(|| {
                let message = format!("testkit: the script has no step for request {serial}");
                log.problems.push(message.clone());
                (Trouble::Invalid, message)
            }),
            Script::Answering(answer) => {
                let answer = answer.clone();
                drop((script, log));
                catch_unwind(AssertUnwindSafe(|| answer(request))).map_err(|_| {
                    let message =
                        format!("testkit: choosing the step for request {serial} panicked");
                    lock(&self.log).problems.push(message.clone());
                    (Trouble::Invalid, message)
                })
            }
        };
        (serial, step, usage)
    }
}

impl Log {
    /// The input side of the usage, cached as far as an earlier prompt agrees byte for byte.
    fn prompt_usage(
        &mut self,
        kind: Kind,
        request: &Captured,
        prompt: Vec<u8>,
        simulate: bool,
    ) -> Usage {
        let shared = self.prompts.iter().map(|p| common_prefix(p, &prompt)).max();
        let input = tokens(prompt.len());
        let mut cached = tokens(shared.unwrap_or(0));
        self.prompts.push_back(prompt);
        if self.prompts.len() > KEPT_PROMPTS {
            self.prompts.pop_front();
        }
        let explicit = kind == Kind::Messages;
        let marked = !explicit || request.raw.windows(15).any(|w| w == b"\"cache_control\"");
        if !simulate || !marked {
            cached = 0;
        }
        let fresh = input.saturating_sub(cached + UNCACHED_TAIL_TOKENS);
        Usage {
            input,
            cached,
            cache_write: if simulate && marked && explicit {
                fresh
            } else {
                0
            },
            ..Usage::default()
        }
    }
}

/// Adds what the answer costs.
fn spent(step: &Step, prompt: Usage) -> Usage {
    let (mut output, mut reasoning) = (1, 0);
    for part in &step.parts {
        match part {
            Part::Text(chunks) => output += tokens(chunks.iter().map(String::len).sum()),
            Part::Call(call) => output += tokens(call.name.len() + call.args.len()),
            Part::Reasoning(it) => {
                reasoning += tokens(it.chunks.iter().map(String::len).sum()).max(1);
            }
        }
    }
    Usage {
        output: output + reasoning,
        reasoning,
        ..prompt
    }
}

pub(super) fn tokens(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides = a.chunks_exact(STRIDE).zip(b.chunks_exact(STRIDE));
    let same = strides.take_while(|(x, y)| x == y).count() * STRIDE;
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(x, y)| x == y).count()
}

fn has_key(request: &Captured, key: &str) -> bool {
    let bearer = request.header("authorization");
    bearer.and_then(|v| v.strip_prefix("Bearer ")) == Some(key)
        || request.header("x-api-key") == Some(key)
        || request.header("x-goog-api-key") == Some(key)
        || request.path.contains(&format!("key={key}"))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
