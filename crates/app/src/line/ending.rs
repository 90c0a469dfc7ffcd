//! How a conversation in plain lines is stopped and left.

use super::{Busy, Over, PATIENCE, Talk};
use crate::color::Ink;
use crate::conversation;
use crate::exit::{OK, TERMINATED};
use ostler_host::signals::Stop;
use ostler_wire::{Escape, Op, Word};
use std::io::{self, Write};

impl Talk {
    /// Ctrl-C ends what runs; a second does not wait for it; where nothing runs it leaves.
    pub(super) async fn stop(&mut self, stop: Stop) -> anyhow::Result<Option<Over>> {
        match (stop, &self.shown.ask) {
            (Stop::Terminate, _) if self.exchange.is_remote() => {
                return Ok(Some(Over::Terminated));
            }
            (Stop::Terminate, _) => {
                self.send(Op::Interrupt).await?;
                // Output that nobody takes any more must not keep us.
                let _ = tokio::time::timeout(PATIENCE, self.show_to_end()).await;
                return Ok(Some(Over::Terminated));
            }
            // Nobody is there to stop anything.
            (Stop::Interrupt, _) if self.exchange.is_silent() && self.shown.stops > 0 => {
                self.end_sign()?;
                return Ok(Some(Over::Left));
            }
            (Stop::Interrupt, Some(ask)) if ask.silence.escape == Escape::Answer => {
                let no = ask.leave();
                self.shown.close_question();
                writeln!(io::stderr())?;
                self.send(no).await?;
            }
            (Stop::Interrupt, None) if self.busy == Busy::Idle => {
                // What is written goes first, as in any shell.
                if self.clear_written()? {
                    return Ok(None);
                }
                self.leave_sign()?;
                if self.may_leave()? {
                    return Ok(Some(Over::Left));
                }
            }
            (Stop::Interrupt, Some(_) | None) => {
                self.shown.stops += 1;
                self.shown.close_question();
                if self.exchange.is_silent() {
                    let text = self.language.say(Word::QuitAgain);
                    self.printer.note(Ink::Yellow, text)?;
                    self.printer.flush()?;
                    return Ok(None);
                }
                self.send(Op::Interrupt).await?;
                if self.shown.stops > 1 {
                    self.busy = Busy::Idle;
                }
            }
        }
        Ok(None)
    }

    async fn show_to_end(&mut self) -> anyhow::Result<()> {
        while self.busy != Busy::Idle {
            match self.client.events.next().await {
                Some(event) => self.events(event).await?,
                None => return Ok(()),
            };
        }
        Ok(())
    }

    /// Stops what runs, unless that is another process's.
    pub(super) async fn interrupt_own(&self) {
        if !self.exchange.is_remote() {
            // A session that is gone already has nothing to stop.
            let _ = self.client.ops.send(Op::Interrupt).await;
        }
    }

    pub(super) async fn leave(self, over: Over) -> anyhow::Result<u8> {
        if self.busy != Busy::Idle {
            self.interrupt_own().await;
        }
        let Self {
            client,
            mut printer,
            boot,
            background,
            language,
            exchange,
            hub,
            ..
        } = self;
        let id = client.session_id.clone();
        let ids = background.ids();
        if !ids.is_empty() && !exchange.is_remote() {
            let text = language.fill(Word::LeftBehind, &[&ids.join(", ")]);
            printer.note(Ink::Yellow, &text)?;
        }
        conversation::close_showing(client, &mut printer).await;
        hub.close().await;
        if matches!(over, Over::Terminated) {
            return Ok(TERMINATED);
        }
        // A session in which nothing was said was never stored.
        if boot.store().find(&id).is_ok() {
            let short = id.get(..8).unwrap_or(&id);
            let _ = writeln!(io::stderr(), "ostler resume {short}");
        }
        Ok(OK)
    }
}
