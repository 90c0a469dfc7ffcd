//! `ostler completions` and `ostler man`: what packagers and shells want to know about the flags.

use crate::exit::OK;
use crate::flags::Cli;
use crate::output;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io;

pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ostler", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(OK)
}

/// One page: the program, then each command with the flags that only it has.
pub fn man() -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    page.extend(b".SH COMMANDS\n");
    for sub in command.get_subcommands() {
        describe(sub, &mut page)?;
    }
    page.extend(FILES.as_bytes());
    man.render_version_section(&mut page)?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(OK)
}

const FILES: &str = r".SH FILES
.TP
\fI~/.ostler/config.toml\fR
The configuration; \fIostler config path\fR tells where it is, \fIOSTLER_HOME\fR moves the folder.
.TP
\fI~/.ostler/.env\fR
Keys of providers, NAME=value, readable by you alone.
.TP
\fIostler.toml\fR
Configuration of the project in the current folder.
.SH EXIT STATUS
0 done, 1 failed, 2 wrong usage, 130 interrupted, 143 terminated.
";

/// A command as a subsection, and the commands below it.
fn describe(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let own: Vec<_> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && arg.get_id() != "help")
        .cloned()
        .collect();
    // Rebuilt without the flags that all commands share: those stand at the top of the page.
    let mut bare = Command::new("ostler").disable_help_flag(true).args(own);
    bare.set_bin_name(command.get_bin_name().unwrap_or_else(|| command.get_name()));
    let man = Man::new(
        bare.disable_help_subcommand(true)
            .disable_version_flag(true),
    );
    page.extend(b".SS ");
    let mut synopsis = Vec::new();
    man.render_synopsis_section(&mut synopsis)?;
    page.extend(body(&synopsis));
    if let Some(about) = command.get_about() {
        page.extend(about.to_string().replace('-', r"\-").bytes());
        page.push(b'\n');
    }
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend(body(&options));
    for sub in command.get_subcommands() {
        describe(sub, page)?;
    }
    Ok(())
}

/// A section without its title, and without the preamble that every rendering begins with.
fn body(section: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(section);
    match text
        .split_once(".SH ")
        .and_then(|(_, rest)| rest.split_once('\n'))
    {
        Some((_, body)) => body.as_bytes().to_vec(),
        None => Vec::new(),
    }
}
