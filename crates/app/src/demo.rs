//! `ostler demo`: a short real coding session in a scratch folder, with a scripted model and everything else real.

use crate::boot::Boot;
use crate::color::{self, Ink};
use crate::exec::{self, Farewell, Job};
use crate::flags::{Demo, Global};
use crate::print::Format;
use crate::{front, looks, output};
use anyhow::{Context as _, bail};
use ostler_config::text::Speak as _;
use ostler_llm::demo::{KIND, MARKER, TERMINAL_REQUEST, scratch_files};
use ostler_wire::{Language, Open, Word};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const REQUEST: &str = "The test of this small project fails. Find the bug, fix it, run the test and explain what was wrong.";

pub async fn run(mut global: Global, args: Demo, language: Language) -> anyhow::Result<u8> {
    let dir = scratch(args.dir.as_deref(), language)?;
    global.root = Some(dir.clone());
    global.model = Some(KIND.into());
    global.provider = None;
    global.backend = None;
    let boot = Arc::new(Boot::new(&global)?);
    let language = boot.language;
    if exec::format(&args.output) == Format::Text && looks::fits(&boot) {
        let first = Some(TERMINAL_REQUEST.into());
        let code = Box::pin(front::run(boot.clone(), Open::New, first)).await?;
        farewell(&boot, &dir);
        return Ok(code);
    }
    let paint = color::for_stderr(boot.loaded.config.display.color, &boot.env);
    let mut err = io::stderr();
    let head = language.say(Word::DemoTitle);
    let _ = writeln!(err, "{}\n", paint.with(Ink::Green, head));
    let _ = writeln!(err, "{}\n", paint.with(Ink::Green, &format!("> {REQUEST}")));
    let job = Job {
        open: Open::New,
        prompt: format!("{REQUEST}\n\n{MARKER}"),
        format: exec::format(&args.output),
        schema: None,
        farewell: Farewell::Silent,
    };
    let code = exec::run(boot.clone(), job).await?;
    farewell(&boot, &dir);
    Ok(code)
}

/// Where things are, and what to do next.
fn farewell(boot: &Boot, dir: &Path) {
    let language = boot.language;
    let paint = color::for_stderr(boot.loaded.config.display.color, &boot.env);
    let row = |what: &str, value: &str| {
        let what = paint.with(Ink::Cyan, &format!("{what:8}"));
        let _ = writeln!(io::stderr(), "{what} {}", output::visible(value));
    };
    let _ = writeln!(io::stderr());
    row(language.say(Word::DemoFolder), &dir.display().to_string());
    // Nothing is saved with --no-save.
    if let Ok(log) = boot.store().last() {
        row(language.say(Word::DemoLog), &log.display().to_string());
        let id = log
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        row(
            language.say(Word::DemoReadIt),
            &format!("ostler sessions show {}", output::short(&id)),
        );
    }
    row(language.say(Word::DemoNext), "ostler setup");
}

/// A folder with the files of the demo. None of them is written over.
fn scratch(wanted: Option<&Path>, language: Language) -> anyhow::Result<PathBuf> {
    let dir = match wanted {
        Some(dir) => {
            fs::create_dir_all(dir)
                .with_context(|| language.filled(Word::CannotMake, &[&dir.display()]))?;
            dir.to_owned()
        }
        None => tempfile::Builder::new()
            .prefix("ostler-demo-")
            .tempdir()
            .context(language.say(Word::DemoNoTemp))?
            .keep(),
    };
    let dir = dir
        .canonicalize()
        .with_context(|| language.filled(Word::CannotBeOpened, &[&dir.display()]))?;
    if let Some((name, _)) = scratch_files()
        .iter()
        .find(|(name, _)| dir.join(name).exists())
    {
        bail!(language.filled(Word::DemoExists, &[&dir.join(name).display()]));
    }
    for (name, contents) in scratch_files() {
        let path = dir.join(name);
        File::create_new(&path)
            .and_then(|mut file| file.write_all(contents.as_bytes()))
            .with_context(|| language.filled(Word::CannotBeWritten, &[&path.display()]))?;
    }
    Ok(dir)
}
