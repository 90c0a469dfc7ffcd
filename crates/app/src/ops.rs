//! `--input-format stream-json`: one op a line on stdin drives many turns; every event goes to stdout.

use crate::boot::Boot;
use crate::exec::{self, FAILED, INTERRUPTED, OK, TERMINATED};
use crate::print::{End, Format};
use anyhow::Context as _;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{Delivery, Op, Outcome};
use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// Lines that may wait.
const LINES: usize = 64;
/// The longest line that is read.
const MAX_LINE: usize = 16 * 1024 * 1024;

pub async fn run(boot: Arc<Boot>, format: Format) -> anyhow::Result<u8> {
    // Ops only make sense with events to react to.
    let format = if format == Format::Text {
        Format::Stream
    } else {
        format
    };
    let mut printer = exec::printer(&boot, format);
    exec::warn(&boot, &mut printer)?;
    let mut client = exec::open(&boot, exec::which(&boot), true).await?;
    exec::announce(&boot, &client, &mut printer)?;
    let mut lines = read_lines();
    let mut signals = Signals::new()?;
    let (mut start, mut waiting, mut open) = (Instant::now(), 0_u32, true);
    let mut code = OK;
    loop {
        if !open && waiting == 0 {
            break;
        }
        tokio::select! {
            line = lines.recv(), if open => match line {
                None => open = false,
                Some(line) => match parse(&line) {
                    Ok(Some(op)) => {
                        if matches!(op, Op::Prompt { delivery: Delivery::Queue, .. }) || (waiting == 0 && matches!(op, Op::Prompt { .. })) {
                            waiting += 1;
                        }
                        client.ops.send(op).await.context("the session ended")?;
                    }
                    Ok(None) => {}
                    Err(why) => printer.note(crate::color::Ink::Red, &format!("stdin: {why}"))?,
                },
            },
            event = client.events.next() => {
                let Some(event) = event else { break };
                let now = ostler_engine::log::now();
                if let Some(end) = printer.event(&event, &now)? {
                    printer.result(&client.session_id, &end, start.elapsed())?;
                    printer.next_turn();
                    start = Instant::now();
                    waiting = waiting.saturating_sub(1);
                    code = match end {
                        End::Turn(Outcome::Done) => OK,
                        End::Turn(Outcome::Interrupted) => INTERRUPTED,
                        End::Turn(Outcome::Error | Outcome::MaxSteps | Outcome::EmptyResponse | Outcome::Refusal) | End::Unrecorded => FAILED,
                    };
                }
                printer.flush()?;
            }
            signal = signals.next() => {
                client.ops.send(Op::Interrupt).await.context("the session ended")?;
                if signal == Stop::Terminate || waiting == 0 {
                    code = if signal == Stop::Terminate { TERMINATED } else { INTERRUPTED };
                    break;
                }
            }
        }
    }
    printer.flush()?;
    exec::close(client).await;
    Ok(code)
}

fn parse(line: &str) -> Result<Option<Op>, String> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(line).map(Some).map_err(|e| {
        format!("this line is not an op ({e}); write {{\"op\":\"prompt\",\"text\":\"…\"}}, {{\"op\":\"answer\",…}} or {{\"op\":\"interrupt\"}}")
    })
}

/// Lines of stdin, read by a thread of their own: stdin cannot be cancelled.
pub fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            match read_line(&mut stdin, &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&bytes)
                .trim_end_matches(['\n', '\r'])
                .to_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A line of any length, of which at most `MAX_LINE` bytes are kept.
fn read_line(input: &mut impl BufRead, out: &mut Vec<u8>) -> io::Result<usize> {
    let mut total = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(total);
        }
        let end = buffer.iter().position(|b| *b == b'\n').map(|i| i + 1);
        let take = end.unwrap_or(buffer.len());
        let room = MAX_LINE.saturating_sub(out.len()).min(take);
        out.extend_from_slice(buffer.get(..room).unwrap_or_default());
        input.consume(take);
        total += take;
        if end.is_some() {
            return Ok(total);
        }
    }
}
