//! Commands of a session: what is sent to it with a number of its own, and what its replies mean.

use super::{LEARNING, Session};
use crate::choices::{EFFORT, MODEL};
use crate::protocol::{Responder, invalid, schema as s};
use crate::updates::chunk;
use ostler_wire::{Deed, Event, Language, Op, OpLine, Reply, View, Word};

/// What a reply is waited for with.
pub(super) enum Waiting {
    Menu,
    /// The last menu after a command: what the command began is over.
    Fence,
    Mode(Responder<s::SetSessionModeResponse>),
    Option {
        responder: Responder<s::SetSessionConfigOptionResponse>,
        id: String,
        value: String,
    },
}

impl Session {
    /// Finds out what can be chosen. A session that works says it later.
    pub async fn learn(&mut self) {
        if self.working {
            return;
        }
        self.ask_menus(Waiting::Menu).await;
        let learning = async {
            while !self.waiting.is_empty() {
                let Some(event) = self.feed.events.next().await else {
                    break;
                };
                match &event {
                    Event::Reply(reply) if self.is_menu(reply) => self.take_menu(reply),
                    Event::Entry(_) | Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {
                        self.feed.early.push_back(event);
                    }
                }
            }
        };
        // What comes later is taken in then.
        let _ = tokio::time::timeout(LEARNING, learning).await;
    }

    fn is_menu(&self, reply: &Reply) -> bool {
        let waiting = reply.op.as_ref().and_then(|op| self.waiting.get(op));
        matches!(waiting, Some(Waiting::Menu))
    }

    fn take_menu(&mut self, reply: &Reply) {
        self.choices.take(&reply.command, &reply.view);
        if let Some(op) = &reply.op {
            self.waiting.remove(op);
        }
    }

    /// Has the session say its menus. They are answered between turns, so the last one also says that nothing is left.
    pub(super) async fn ask_menus(&mut self, last: Waiting) {
        self.command(MODEL.into(), Waiting::Menu).await;
        self.command(EFFORT.into(), last).await;
    }

    pub(super) fn new_op(&mut self) -> String {
        self.feed.sent += 1;
        format!("acp-{}-{}", self.ops.client().0, self.feed.sent)
    }

    pub(super) async fn send_op(&mut self, id: String, op: Op) {
        let line = OpLine {
            id: Some(id),
            again: false,
            op,
        };
        // The end of the events says that the session is over.
        let _ = self.ops.send_line(line).await;
    }

    pub(super) async fn command(&mut self, line: String, waiting: Waiting) {
        let id = self.new_op();
        self.waiting.insert(id.clone(), waiting);
        self.send_op(id, Op::Command { line }).await;
    }

    /// The command of an op is through. What it left to be done is waited for.
    pub(super) async fn carried_out(&mut self, op: &str) {
        let turn = self.turn.as_mut().filter(|turn| turn.op == op);
        let Some(turn) = turn.filter(|turn| turn.is_command && !turn.fenced) else {
            return;
        };
        turn.fenced = true;
        self.ask_menus(Waiting::Fence).await;
    }

    pub(super) async fn reply(&mut self, reply: &Reply) {
        let Some(op) = &reply.op else { return };
        if let Some(waiting) = self.waiting.remove(op) {
            return match reply.more {
                // It is no answer yet.
                true => drop(self.waiting.insert(op.clone(), waiting)),
                false => self.replied(waiting, reply).await,
            };
        }
        let turn = self.turn.as_ref().filter(|turn| turn.op == *op);
        let Some((is_command, began)) = turn.map(|turn| (turn.is_command, turn.began)) else {
            return;
        };
        if let Some(text) = said(&reply.view, self.language()) {
            self.send(vec![s::SessionUpdate::AgentMessageChunk(chunk(text))])
                .await;
        }
        match (reply.more, is_command) {
            (true, _) => {}
            (false, true) => self.carried_out(op).await,
            // A prompt that was taken ends with its turn.
            (false, false) if began => {}
            (false, false) => self.finish(),
        }
    }

    async fn replied(&mut self, waiting: Waiting, reply: &Reply) {
        let language = self.language();
        let before = self.choices.clone();
        // The editor may be gone.
        match waiting {
            Waiting::Menu => self.choices.take(&reply.command, &reply.view),
            Waiting::Fence => {
                self.choices.take(&reply.command, &reply.view);
                self.tell_options(&before).await;
                return self.finish();
            }
            Waiting::Mode(responder) => {
                let _ = match reply.view.is_failure() {
                    true => responder.respond_with_error(invalid(reply.view.plain(None).trim())),
                    false => responder.respond(s::SetSessionModeResponse::new()),
                };
            }
            Waiting::Option {
                responder,
                id,
                value,
            } => {
                if reply.view.is_failure() {
                    let why = invalid(reply.view.plain(None).trim());
                    return drop(responder.respond_with_error(why));
                }
                self.choices.chosen(&id, &value);
                let options = self.choices.options(language);
                let _ = responder.respond(s::SetSessionConfigOptionResponse::new(options));
                return;
            }
        }
        self.tell_options(&before).await;
    }
}

/// The answer of a command as a message.
fn said(view: &View, language: Language) -> Option<String> {
    let text = match view {
        View::Text(text) | View::Error(text) => ostler_wire::visible(text),
        View::Diff(diff) => crate::calls::fence(&ostler_wire::visible(diff)),
        View::Do(Deed::Copy(text)) => crate::calls::fence(&ostler_wire::visible(text)),
        // Words to be changed and sent again are still with the editor.
        View::Do(Deed::Compose(_)) => return None,
        View::Do(Deed::Open(_) | Deed::Theme(_) | Deed::Leave) => {
            language.say(Word::AcpDeed).to_owned()
        }
        View::Table(_) | View::Report(_) | View::List(_) => {
            crate::calls::fence(view.plain(None).trim_end())
        }
        View::Group(views) => {
            let texts = views.iter().filter_map(|view| said(view, language));
            texts.collect::<Vec<_>>().join("\n\n")
        }
        View::Completion(_) => return None,
    };
    (!text.trim().is_empty()).then(|| format!("{}\n\n", text.trim_end()))
}
