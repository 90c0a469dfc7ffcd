//! `ostler resume`: goes on with a session, as a conversation or with one prompt.

use crate::boot::Boot;
use crate::conversation;
use crate::errors::UsageError;
use crate::exec;
use crate::flags::{Exec, InputFormat, Resume};
use anyhow::anyhow;
use ostler_wire::{Open, Word};
use std::sync::Arc;

pub async fn run(boot: Arc<Boot>, args: Resume) -> anyhow::Result<u8> {
    let language = boot.language;
    let open = which(&boot, &args);
    let Some(prompt) = args.prompt else {
        if args.output.is_set() {
            return Err(UsageError(language.say(Word::FormatNoPrompt).into()).into());
        }
        return crate::talk(boot, open, None).await;
    };
    if boot.global.attach.remote.is_some() && open == Open::Last {
        let job = exec::Job {
            open,
            prompt,
            format: exec::format(&args.output),
            schema: None,
            farewell: exec::Farewell::Silent,
        };
        return exec::run(boot, job).await;
    }
    let open = match open {
        Open::Last => Open::Resume(newest(&boot)?),
        named @ (Open::Resume(_) | Open::Fork(_) | Open::New) => named,
    };
    let format = exec::format(&args.output);
    let exec = Exec {
        words: Vec::new(),
        prompt: Some(prompt),
        output: args.output,
        input_format: InputFormat::Text,
        output_schema: None,
    };
    let job = exec::Job {
        open,
        prompt: exec::prompt(&exec, language)?,
        format,
        schema: None,
        farewell: exec::Farewell::Say,
    };
    exec::run(boot, job).await
}

fn which(boot: &Boot, args: &Resume) -> Open {
    match (&args.id, args.last) {
        (Some(id), _) => Open::Resume(id.clone()),
        (None, true) => Open::Last,
        (None, false) => match conversation::which(boot) {
            Open::New => Open::Last,
            named @ (Open::Resume(_) | Open::Fork(_) | Open::Last) => named,
        },
    }
}

fn newest(boot: &Boot) -> anyhow::Result<String> {
    let path = boot.store().last().map_err(|e| anyhow!(e))?;
    Ok(path
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default())
}
