//! What the terminal can show, and how things look on it: by the configuration and the environment. Nothing is drawn here.

use crate::boot::Boot;
use crate::{color, hyperlinks};
use anyhow::anyhow;
use ostler_config::text::Speak as _;
use ostler_config::units::ColorChoice;
use ostler_tui::links::Links;
use ostler_tui::screen::Narrowed;
use ostler_tui::theme::{Look, Theme};
use ostler_wire::Word;
use std::io::{self, IsTerminal};

/// Whether the terminal UI can and may be used; plain lines otherwise.
pub fn fits(boot: &Boot) -> bool {
    let dumb = boot
        .env
        .get("TERM")
        .is_none_or(|t| t.is_empty() || t == "dumb");
    !boot.global.plain && !dumb && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// How the terminal gets links, where it knows them.
pub fn links(boot: &Boot) -> Option<Links> {
    let host = boot.env.get("HOSTNAME").map_or("", String::as_str);
    hyperlinks::known(&boot.env).then(|| match boot.machines.place.get() {
        Some(_) => Links::default(),
        None => Links::on(host, &boot.places.root.to_string_lossy()),
    })
}

/// Terminals that do not break the rows that have become too wide. One within another does what the inner one does.
pub fn narrowed(boot: &Boot) -> Narrowed {
    let has = |name: &str| boot.env.get(name).is_some_and(|v| !v.is_empty());
    let is_st = boot.env.get("TERM").is_some_and(|t| t.starts_with("st-"));
    let cuts = has("XTERM_VERSION") || has("STY") || is_st;
    match cuts && !has("TMUX") {
        true => Narrowed::Cuts,
        false => Narrowed::Breaks,
    }
}

/// How everything looks, and the language.
pub fn theme(boot: &Boot) -> anyhow::Result<Theme> {
    Ok(Theme::new(look(boot)?).speaking(boot.language))
}

/// The look of the configuration, where the environment lets a terminal be painted.
pub fn look(boot: &Boot) -> anyhow::Result<Look> {
    let language = boot.language;
    let named = boot.loaded.config.ui.theme.as_deref();
    let colour = match boot.loaded.config.display.color {
        ColorChoice::Never => false,
        ColorChoice::Always => true,
        ColorChoice::Auto => color::liked(&boot.env),
    };
    if boot.global.no_color || !colour {
        return Ok(Look::Mono);
    }
    let Some(name) = named else {
        return Ok(Look::default());
    };
    Look::from_name(name).ok_or_else(|| {
        let all = Look::ALL.map(Look::name).join(", ");
        anyhow!(language.filled(Word::ThemeUnknown, &[&format_args!("{:?}", name), &all]))
    })
}
