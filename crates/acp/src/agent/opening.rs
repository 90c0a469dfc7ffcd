//! From a request for a session to an open one: what has to be asked before, and what is shown then.

use super::Agent;
use crate::asks::{About, Answer, Asker, fields};
use crate::backend::{EditorFiles, EditorOffer, EditorTerminals, Place, Reach, Server};
use crate::editor::OpenFiles;
use crate::protocol::{Editor, Error, invalid, schema as s};
use crate::session::{Session, WISHES, Wish};
use crate::terminal::{self, Terminals};
use crate::updates::{Shows, Updates};
use ostler_wire::{AskAnswer, Client, Open, Word};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Questions before a session; an answer may bring another one.
const MAX_QUESTIONS: usize = 16;

/// Which session the editor wants.
pub(super) struct Opening {
    pub cwd: PathBuf,
    pub servers: Vec<s::McpServer>,
    pub which: Open,
    pub request: s::RequestId,
}

/// A session that is open, and not served yet.
pub(super) struct Opened {
    pub session: Session,
    pub notes: Vec<String>,
}

impl Agent {
    pub(super) async fn open(&self, editor: Editor, opening: Opening) -> Result<Opened, Error> {
        let language = self.language();
        let Opening {
            cwd,
            servers,
            which,
            request,
        } = opening;
        if !cwd.is_absolute() {
            let shown = cwd.display().to_string();
            return Err(invalid(language.fill(Word::AcpRelative, &[&shown])));
        }
        self.check_room()?;
        let servers = servers.into_iter().map(|one| self.server(one));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let can = self.capabilities();
        let asker = Asker {
            editor: editor.clone(),
            forms: can.elicitation.is_some_and(|can| can.form.is_some()),
            language,
        };
        let place = self.backend.place(cwd.clone(), servers).await?;
        let about = match &which {
            Open::Resume(id) => s::SessionId::new(id.as_str()),
            // It has none yet.
            Open::New | Open::Last | Open::Fork(_) => {
                s::SessionId::new(format!("new-{}", shown(&request)))
            }
        };
        let about = About::Request(request, about);
        let mut notes = self.settle(&*place, &asker, &about, &cwd).await?;
        let reaches = can.fs.read_text_file || can.fs.write_text_file;
        let files = reaches.then(|| Arc::new(OpenFiles::new(editor.clone(), can.fs)));
        let (shown, terminals_shown) = mpsc::channel(terminal::WAITING);
        let terminals = can
            .terminal
            .then(|| Arc::new(Terminals::new(editor, shown)));
        let offer = EditorOffer {
            files: files.clone().map(|files| files as Arc<dyn EditorFiles>),
            terminals: terminals.clone().map(|all| all as Arc<dyn EditorTerminals>),
        };
        let mut client = place.open(which, offer).await?;
        let id = s::SessionId::new(client.session_id.as_str());
        if let Some(files) = files {
            files.belong_to(id.clone());
        }
        if let Some(terminals) = terminals {
            terminals.belong_to(id);
        }
        notes.append(&mut client.notes);
        let shows = can.session.unwrap_or_default();
        let shows = Shows {
            notices: shows.notices.is_some(),
            compaction: shows.compaction.is_some(),
        };
        let mut session = self.session(client, (cwd, shows), asker).await?;
        session.show_terminals(terminals_shown);
        Ok(Opened { session, notes })
    }

    async fn session(
        &self,
        client: Client,
        (cwd, shows): (PathBuf, Shows),
        asker: Asker,
    ) -> Result<Session, Error> {
        // The new client is there before the old one leaves, so that the session goes on.
        if let Some(old) = self.wishes(&client.session_id) {
            let (sender, left) = oneshot::channel();
            let _ = old.try_send(Wish::Leave(sender));
            if left.await == Ok(false) {
                let why = asker.language.say(Word::AcpTurnRuns);
                return Err(crate::protocol::error(
                    crate::protocol::ErrorCode::INVALID_REQUEST,
                    why,
                ));
            }
        }
        let updates = Updates::new(cwd, shows, client.snapshot.window);
        let mut session = Session::new(client, updates, asker);
        session.learn().await;
        Ok(session)
    }

    /// Puts what has to be answered before. What cannot be put is left out of the session, and said.
    async fn settle(
        &self,
        place: &dyn Place,
        asker: &Asker,
        about: &About,
        cwd: &std::path::Path,
    ) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for _ in 0..MAX_QUESTIONS {
            let asks = place.questions().await?;
            let Some(ask) = asks.first().cloned() else {
                break;
            };
            let call = s::ToolCallId::new(ask.ask.as_str());
            let shown = (call, fields(&ask, None, cwd));
            let answer = match asker.put(ask.clone(), about.clone(), shown).await {
                Answer::Given(answer) => answer,
                Answer::Left => AskAnswer::from(ask.silence.choice.as_str()),
                Answer::Unasked(why) => {
                    notes.push(self.language().fill(Word::AcpNotAsked, &[&why]));
                    AskAnswer::from(ask.silence.choice.as_str())
                }
            };
            if let Err(refusal) = place.answer(ask.ask.clone(), answer).await {
                notes.push(refusal.message);
            }
        }
        Ok(notes)
    }

    fn server(&self, server: s::McpServer) -> Result<Server, Error> {
        let pairs = |all: Vec<s::EnvVariable>| all.into_iter().map(|one| (one.name, one.value));
        let headers = |all: Vec<s::HttpHeader>| all.into_iter().map(|one| (one.name, one.value));
        Ok(match server {
            s::McpServer::Stdio(one) => Server {
                name: one.name,
                reach: Reach::Program {
                    command: one.command,
                    args: one.args,
                    env: pairs(one.env).collect(),
                },
            },
            s::McpServer::Http(one) => Server {
                name: one.name,
                reach: Reach::Address {
                    url: one.url,
                    headers: headers(one.headers).collect(),
                },
            },
            s::McpServer::Sse(one) => Server {
                name: one.name,
                reach: Reach::Events {
                    url: one.url,
                    headers: headers(one.headers).collect(),
                },
            },
            _ => {
                let values = ["?", "type"];
                return Err(invalid(self.language().fill(Word::AcpServerName, &values)));
            }
        })
    }
}

/// The end of the wishes of a new session.
pub(super) fn wishes() -> (mpsc::Sender<Wish>, mpsc::Receiver<Wish>) {
    mpsc::channel(WISHES)
}

fn shown(request: &s::RequestId) -> String {
    match serde_json::to_value(request) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
