//! The program of a run: its arguments and environment from the templates of the agent, and what it may touch.

use super::Job;
use crate::include;
use crate::resolve::{Agent, Target};
use crate::services::{Confinement, DEPTH_VARIABLE, Program, Purpose};
use crate::setup::PromptTransport;
use crate::setup::catalogue::AgentRow;
use crate::template::{Templates, Variables};
use ostler_host::Stdio;
use std::collections::BTreeMap;

/// Bytes of one argument; the system takes 128 KiB with its end.
const MAX_ARGUMENT: usize = 120_000;
/// What stands for the prompt where a command line is shown.
const SHOWN_PROMPT: &str = "<prompt>";
/// Bytes of a prompt that is found within a word, too.
const LONG_PROMPT: usize = 16;

/// A program that is ready to start.
#[derive(Debug)]
pub struct Prepared {
    pub program: Program,
    /// What goes to its stdin.
    pub input: Option<String>,
    /// Its command line for people, without the prompt.
    pub shown: String,
}

/// How the prompt of a run gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Arg,
    Stdin,
}

/// The command line of an agent of the catalogue, or that of its adapter.
pub fn command_line(job: &Job<'_>, row: &AgentRow) -> Result<Prepared, String> {
    let adapter = job.target.adapter().unwrap_or(&row.adapter);
    let transport = transport(job, row)?;
    let mut variables = variables(job);
    (variables.prompt_transport, variables.prompt) = match transport {
        Transport::Arg => ("arg", job.prompt.to_owned()),
        Transport::Stdin => ("stdin", String::new()),
    };
    let none = BTreeMap::new();
    let own = if is_overridden(job.target) {
        &none
    } else {
        &row.variables
    };
    let templates = Templates::new(&variables, own).map_err(|error| error.to_string())?;
    let arguments = templates.arguments(&adapter.args_template);
    let arguments = arguments.map_err(|error| error.to_string())?;
    let env = match is_overridden(job.target) {
        true => Vec::new(),
        false => templates.env(&row.env).map_err(|error| error.to_string())?,
    };
    let (stdio, input) = match transport {
        Transport::Arg => (Stdio::Pipes, None),
        Transport::Stdin => (Stdio::PipesWithStdin, Some(job.prompt.to_owned())),
    };
    let argv: Vec<String> = std::iter::once(row.command.clone())
        .chain(arguments)
        .collect();
    Ok(prepare(job, argv, env, stdio, input))
}

/// An agent of the Agent Client Protocol.
pub fn acp(job: &Job<'_>) -> Result<Prepared, String> {
    let (argv, env) = match &job.target.agent {
        Agent::Known { row, .. } => {
            let variables = variables(job);
            let templates = Templates::new(&variables, &row.variables);
            let templates = templates.map_err(|error| error.to_string())?;
            let tokens = row.acp.as_ref().map(|acp| acp.args_template.as_slice());
            let arguments = templates.arguments(tokens.unwrap_or_default());
            let arguments = arguments.map_err(|error| error.to_string())?;
            let env = templates.env(&row.env).map_err(|error| error.to_string())?;
            let argv = std::iter::once(row.command.clone()).chain(arguments);
            (argv.collect(), env)
        }
        Agent::Command(argv) => (argv.clone(), Vec::new()),
        Agent::Own => return Err("our own agent is no program".to_owned()),
    };
    Ok(prepare(job, argv, env, Stdio::PipesWithStdin, None))
}

fn is_overridden(target: &Target) -> bool {
    match &target.agent {
        Agent::Known { adapter, .. } => adapter.is_some(),
        Agent::Command(_) | Agent::Own => false,
    }
}

fn variables(job: &Job<'_>) -> Variables {
    let include = include::folders(job.prompt, job.cwd);
    Variables {
        prompt: String::new(),
        model: job.target.reference.model.clone(),
        session_id: job.session.unwrap_or_default().to_owned(),
        workdir: job.cwd.to_string_lossy().into_owned(),
        options: job.target.options.clone(),
        capabilities: job.target.capabilities.clone(),
        include: include
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        prompt_transport: "arg",
        has_fallback: !job.patterns.is_empty(),
    }
}

/// Never both: the prompt is an argument, or it goes through stdin.
fn transport(job: &Job<'_>, row: &AgentRow) -> Result<Transport, String> {
    let adapter = job.target.adapter().unwrap_or(&row.adapter);
    let is_long = job.prompt.len() > MAX_ARGUMENT;
    match adapter.prompt_transport {
        PromptTransport::Stdin => Ok(Transport::Stdin),
        PromptTransport::Arg if is_long => Err(format!(
            "the prompt is too long for an argument ({} bytes, at most {MAX_ARGUMENT}), and `{}` takes none on stdin",
            job.prompt.len(),
            row.command
        )),
        PromptTransport::Arg => Ok(Transport::Arg),
        PromptTransport::Auto => {
            let starts = |prefix: &String| job.prompt.starts_with(prefix.as_str());
            let is_over = job.prompt.chars().count() > adapter.prompt_max_chars;
            match is_long || is_over || row.stdin_for.as_ref().is_some_and(starts) {
                true => Ok(Transport::Stdin),
                false => Ok(Transport::Arg),
            }
        }
    }
}

fn prepare(
    job: &Job<'_>,
    argv: Vec<String>,
    mut env: Vec<(String, String)>,
    stdio: Stdio,
    input: Option<String>,
) -> Prepared {
    env.push((DEPTH_VARIABLE.to_owned(), job.depth.to_string()));
    env.push(("NO_COLOR".to_owned(), "1".to_owned()));
    let row = match &job.target.agent {
        Agent::Known { row, .. } => Some(*row),
        Agent::Command(_) | Agent::Own => None,
    };
    let shown = argv.iter().map(|word| show(word, job.prompt));
    let shown = shown.collect::<Vec<_>>().join(" ");
    let confinement = Confinement {
        purpose: Purpose::Agent,
        backend: job.target.backend().to_owned(),
        project: job.cwd.to_owned(),
        capabilities: job.target.capabilities.clone(),
        state: row.map(|row| row.state.clone()).unwrap_or_default(),
        hosts: row.map(|row| row.hosts.clone()).unwrap_or_default(),
        include: include::folders(job.prompt, job.cwd),
    };
    let program = Program {
        argv: argv.into_iter().map(Into::into).collect(),
        cwd: job.cwd.to_owned(),
        env,
        passed_env: row.map(|row| row.passed_env.clone()).unwrap_or_default(),
        stdio,
        confinement,
    };
    Prepared {
        program,
        input,
        shown,
    }
}

fn show(word: &str, prompt: &str) -> String {
    // A short prompt may be part of any flag.
    let word = match word.strip_suffix(prompt) {
        Some(flag) if !prompt.is_empty() && (flag.is_empty() || flag.ends_with('=')) => {
            format!("{flag}{SHOWN_PROMPT}")
        }
        Some(_) | None if prompt.len() >= LONG_PROMPT => word.replace(prompt, SHOWN_PROMPT),
        Some(_) | None => word.to_owned(),
    };
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,@+<>%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::show;

    #[test]
    fn a_prompt_is_not_shown_and_flags_stay_whole() {
        for (word, prompt, shown) in [
            ("b", "b", "<prompt>"),
            ("--prompt=b", "b", "--prompt=<prompt>"),
            ("--dangerously-bypass", "b", "--dangerously-bypass"),
            (
                "Task: mend the parser now!",
                "mend the parser now",
                "'Task: <prompt>!'",
            ),
            ("it's", "", "'it'\\''s'"),
        ] {
            assert_eq!(show(word, prompt), shown, "{word}");
        }
    }
}
