//! `capture_pane`: what the pane shows that the person and the session share.

use super::wait::Wait;
use crate::cut::clip;
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::pane::{Capture, Pane, PaneError};
use ostler_wire::{Access, CallVerb, ToolDeclaration, ToolFact, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest that a look is put off.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Characters of a screen that the model reads.
const MAX_SCREEN: usize = 32 << 10;

#[derive(Clone, Copy)]
pub struct CapturePane;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    /// Seconds to wait before the look
    #[serde(default)]
    delay: Option<Wait>,
    /// Lines above the screen, too
    #[serde(default)]
    lines_above: Option<u32>,
    /// Wrapped lines as one
    #[serde(default)]
    join: Option<bool>,
    /// With the escape sequences of colours
    #[serde(default)]
    escapes: Option<bool>,
}

impl Typed for CapturePane {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "capture_pane";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .verb(CallVerb::Watch)
        .aliases(&["capture-pane"])
        .fact(ToolFact::Nothing)
        .advice("Commands run in a tmux pane that the person sees and types in: they may answer what a program asks there.")
        .marks(&[ToolMark::NeedsPane, ToolMark::Waits, ToolMark::Alone]);
    const PROSE: &'static str = include_str!("capture_pane.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn subject(_: &Args) -> Subject {
        "tmux".into()
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        let delay = match args.delay {
            Some(Wait::For(delay)) => delay.min(MAX_DELAY),
            Some(Wait::Whole | Wait::Not) | None => Duration::ZERO,
        };
        let pane = pane(&cx)?;
        let wanted = Capture {
            lines_above: args.lines_above.unwrap_or(0),
            joins_lines: args.join.unwrap_or(false),
            has_colors: args.escapes.unwrap_or(false),
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::new("interrupted", "Interrupted.")),
            screen = look(&pane, delay, wanted) => Ok(json!({ "text": screen? }).into()),
        }
    }

    fn render(data: &Value) -> Rendered {
        let text = data["text"].as_str().unwrap_or_default();
        match text {
            "" => "[the screen is empty]".to_owned().into(),
            text => text.to_owned().into(),
        }
    }
}

/// The pane of the session.
pub fn pane(cx: &Context<CommandServices>) -> Result<Pane, ToolError> {
    cx.services.programs.pane().ok_or_else(|| {
        ToolError::new(
            "no_pane",
            "There is no shared pane: this session runs without --tmux.",
        )
    })
}

pub fn failed(error: &PaneError) -> ToolError {
    ToolError::new(error.code(), format!("Not done: {error}."))
}

/// The screen as it is after a while, without the blanks at its end.
pub async fn look(pane: &Pane, delay: Duration, wanted: Capture) -> Result<String, ToolError> {
    tokio::time::sleep(delay).await;
    let screen = pane.capture(wanted).await;
    let screen = screen.map_err(|error| failed(&error))?;
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    Ok(clip(lines.join("\n").trim_end(), MAX_SCREEN))
}
