//! `send_keys`: types into the pane that the person and the session share, and shows what it looks like then.

use super::capture_pane::{failed, look, pane};
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::pane::Capture;
use ostler_wire::{Access, CallVerb, Segment, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// What a program needs to show what it makes of the keys.
const REPLY: Duration = Duration::from_millis(300);
/// Keys and texts in one call.
const MAX_KEYS: usize = 200;
/// Bytes of all of them.
const MAX_BYTES: usize = 16 << 10;

#[derive(Clone, Copy)]
pub struct SendKeys;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    /// Texts and keys by tmux's names: ["ls", "Enter"], ["C-c"], ["Up"]
    keys: Vec<String>,
    /// All of it is text
    #[serde(default)]
    literal: Option<bool>,
}

impl Args {
    fn shown(&self) -> String {
        self.keys.join(" ")
    }
}

impl Typed for SendKeys {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "send_keys";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .verb(CallVerb::Type)
        .aliases(&["send-keys"])
        .question(Word::WantsToType)
        .marks(&[
            ToolMark::NeedsPane,
            ToolMark::NotForReaders,
            ToolMark::RunsCommands,
        ]);
    const PROSE: &'static str = include_str!("send_keys.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        if args.keys.iter().all(String::is_empty) {
            return Err(ToolError::new("invalid_input", "There are no keys."));
        }
        // Whatever runs in the pane gets them, a shell perhaps: nothing is known but the text.
        Ok(vec![Access::Run(vec![Segment::unknown(args.shown())])])
    }

    fn subject(args: &Args) -> Subject {
        Subject::first_line(&args.shown()).with_body("keys")
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        let bytes: usize = args.keys.iter().map(String::len).sum();
        if args.keys.len() > MAX_KEYS || bytes > MAX_BYTES {
            let message = format!("At most {MAX_KEYS} keys and {MAX_BYTES} bytes in one call.");
            return Err(ToolError::new("invalid_input", message));
        }
        let pane = pane(&cx)?;
        let work = async {
            let sent = pane
                .send_keys(&args.keys, args.literal.unwrap_or(false))
                .await;
            sent.map_err(|error| failed(&error))?;
            look(&pane, REPLY, Capture::default()).await
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::new("interrupted", "Interrupted.")),
            screen = work => Ok(json!({ "text": screen? }).into()),
        }
    }

    fn render(data: &Value) -> Rendered {
        <super::capture_pane::CapturePane as Typed>::render(data)
    }
}
