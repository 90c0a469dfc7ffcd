//! How a place is reached: the program that runs others there, and the helper that it runs. What cannot be reached is said
//! in one sentence with what that program printed.

use super::askpass;
use super::desk::desk;
use super::helper::{self, Helper};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::location::Target;
use anyhow::{anyhow, bail};
use ostler_config::schema::HelperInstall;
use ostler_guard::Rule;
use ostler_host::remote::{Dial, Dialed, OverProgram, Remote, Unreached};
use ostler_host::{Command, Host as _, Output, Programs, Stdio};
use ostler_wire::{Word, printable};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// How long a place may take to answer: a machine may have to wake up.
pub const PATIENCE: Duration = Duration::from_secs(45);
/// The same where a person may have to type a password.
const WITH_QUESTIONS: Duration = Duration::from_secs(300);
/// How long the helper may take to be copied.
pub const COPY_PATIENCE: Duration = Duration::from_secs(600);
/// Bytes of what a script prints.
const MAX_SAID: usize = 4096;

/// Who says whether the helper may be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The flags and settings, else the person.
    Asked,
    /// Nobody: a session runs, and has the terminal.
    Never,
}

/// A link to the helper of the place, which is copied there first if it must be.
pub async fn connect(boot: &Boot, target: &Target, may_copy: Consent) -> anyhow::Result<Remote> {
    let language = boot.language;
    check_rules(boot, target, may_copy).await?;
    if let Target::Image(image) = target {
        return super::image::begin(boot, image).await;
    }
    let prefix = prefix(boot, target)?;
    let label = target.label();
    let unreached = |why: &str| anyhow!(language.fill(Word::PlaceUnreached, &[&label, why]));
    let refused = |why: &str| anyhow!(language.fill(Word::PlaceRefused, &[why]));
    let mut helper = Helper::of(boot, std::env::consts::OS, std::env::consts::ARCH).ok();
    let mut is_copied = false;
    loop {
        let script = helper::start_script(helper.as_ref());
        let said = match start(boot, &label, &prefix, &script).await {
            Ok(remote) => return Ok(remote),
            Err(Unreached::NoHelper(said)) => said,
            Err(Unreached::OtherVersion { ours, theirs }) => {
                let why = language.fill(Word::PlaceOtherVersion, &[&theirs, &ours]);
                return Err(unreached(&why));
            }
            Err(Unreached::Silent { seconds }) => {
                let why = language.fill(Word::PlaceSilent, &[&seconds.to_string()]);
                return Err(unreached(&why));
            }
            Err(Unreached::Broken(why)) => return Err(unreached(&why)),
        };
        let (os, arch) = match helper::Said::of(&said) {
            Some(helper::Said::Wants { os, arch }) => (os, arch),
            Some(helper::Said::Refuses(why)) => return Err(refused(&printable(&why))),
            None if said.contains(helper::FILE) => {
                let why = language.fill(Word::PlaceCannotRun, &[&printable(&said)]);
                return Err(unreached(&why));
            }
            None => return Err(unreached(&printable(&said))),
        };
        match helper.as_ref().filter(|helper| helper.is_for(&os, &arch)) {
            Some(_) if is_copied => return Err(refused(&said)),
            Some(wanted) => {
                match may_copy {
                    Consent::Asked => consent(boot, &label, wanted).await?,
                    Consent::Never => {
                        return Err(anyhow!(language.fill(Word::PlaceNotAsked, &[&label])));
                    }
                }
                copy(boot, &prefix, &label, wanted).await?;
                is_copied = true;
            }
            // The one for that system may lie there already.
            None => helper = Some(Helper::of(boot, &os, &arch)?),
        }
    }
}

/// What rules say of working there: `Host(ssh me@box)`.
async fn check_rules(boot: &Boot, target: &Target, may_ask: Consent) -> anyhow::Result<()> {
    let language = boot.language;
    let rules = crate::policy::policy(boot)?.rules;
    let (kind, name) = target.parts();
    let find = |list: &[Rule]| {
        let mut hit = list.iter().filter(|rule| rule.touches_place(kind, name));
        hit.next().map(Rule::canonical)
    };
    let label = target.label();
    if let Some(rule) = find(&rules.deny) {
        return Err(UsageError(language.fill(Word::PlaceDenied, &[&label, &rule])).into());
    }
    let Some(rule) = find(&rules.ask).filter(|_| may_ask == Consent::Asked && !boot.global.yolo)
    else {
        return Ok(());
    };
    let question = language.fill(Word::PlaceAskRule, &[&label, &rule]);
    match desk().confirm(question, language).await? {
        true => Ok(()),
        false => bail!(language.fill(Word::PlaceDenied, &[&label, &rule])),
    }
}

/// What the person wants to know before a session is begun there.
pub async fn check(boot: &Boot, target: &Target) -> anyhow::Result<Vec<String>> {
    let remote = connect(boot, target, Consent::Asked).await?;
    remote.close().await;
    let facts = remote.facts();
    let home = facts.home.as_ref().map(|home| home.display().to_string());
    let layers: Vec<&str> = facts.layers.iter().map(|layer| layer.name()).collect();
    let rows = [
        ("place", target.label()),
        ("system", format!("{} {}", facts.os, facts.arch)),
        ("folder", facts.cwd.display().to_string()),
        ("home", home.unwrap_or_default()),
        ("sandbox", layers.join(", ")),
        ("helper", facts.version.clone()),
    ];
    let line = |(name, value): &(&str, String)| format!("{name:<8} {}", printable(value));
    Ok(rows.iter().map(line).collect())
}

/// Removes the helpers of all versions from the place.
pub async fn clean(boot: &Boot, target: &Target) -> anyhow::Result<()> {
    let prefix = prefix(boot, target)?;
    let patience = prefix.patience();
    let said = run(boot, &prefix, helper::CLEAN_SCRIPT, None, patience).await?;
    match said.contains(helper::CLEANED) {
        true => Ok(()),
        false => {
            let said = printable(said.trim());
            bail!(
                boot.language
                    .fill(Word::PlaceUnreached, &[&target.label(), &said])
            )
        }
    }
}

/// What stands before a command that is run at the place.
struct Prefix {
    argv: Vec<OsString>,
    /// The command is one word, which a shell there reads.
    by_shell: bool,
    /// Beside the person's own variables.
    env: Vec<(OsString, OsString)>,
}

impl Prefix {
    fn command(&self, script: &str) -> Vec<OsString> {
        let mut argv = self.argv.clone();
        match self.by_shell {
            // The script has no single quote in it: any shell takes this for one word.
            true => argv.push(format!("exec sh -c '{script}'").into()),
            false => argv.extend(["sh", "-c", script].map(OsString::from)),
        }
        argv
    }

    fn run(&self, boot: &Boot, script: &str) -> Command {
        let mut command = command(boot, self.command(script));
        let is_ours = |name: &OsString| self.env.iter().any(|(ours, _)| ours == name);
        command.env.retain(|(name, _)| !is_ours(name));
        command.env.extend(self.env.iter().cloned());
        command
    }

    /// How long it may take to answer the first time.
    fn patience(&self) -> Duration {
        match self.env.is_empty() {
            true => PATIENCE,
            false => WITH_QUESTIONS,
        }
    }
}

fn prefix(boot: &Boot, target: &Target) -> anyhow::Result<Prefix> {
    let language = boot.language;
    let plain = |words: &[&str]| Prefix {
        argv: words.iter().map(OsString::from).collect(),
        by_shell: false,
        env: Vec::new(),
    };
    let mut prefix = match target {
        Target::Ssh(destination) => {
            let (host, port) = ssh_parts(destination);
            let mut argv: Vec<OsString> = ["ssh", "-T"].map(OsString::from).to_vec();
            // A link that is cut is noticed.
            let mut options = vec!["ServerAliveInterval=15", "ServerAliveCountMax=3"];
            let asked = askpass::questions(boot).and_then(|asked| asked.variables(boot));
            if asked.is_none() {
                options.push("BatchMode=yes");
            }
            for option in options {
                argv.extend(["-o", option].map(OsString::from));
            }
            argv.extend(
                port.iter()
                    .flat_map(|port| ["-p", port].map(OsString::from)),
            );
            argv.extend(["--", host].map(OsString::from));
            Prefix {
                argv,
                by_shell: true,
                env: asked.unwrap_or_default(),
            }
        }
        Target::Container(name) => {
            let known = ["docker", "podman"];
            let tool = known.into_iter().find(|tool| program(boot, tool).is_some());
            plain(&[tool.unwrap_or("docker"), "exec", "-i", name])
        }
        Target::Pod(name) => plain(&["kubectl", "exec", "-i", name, "--"]),
        Target::Image(image) => {
            bail!(language.fill(Word::PlaceNoHelperThere, &[image]))
        }
        Target::Host(name) => {
            let hosts = &boot.loaded.config.host;
            let host = hosts.get(name).filter(|host| !host.exec.is_empty());
            let unknown = || UsageError(language.fill(Word::PlaceUnknown, &[name, name]));
            let words: Vec<&str> = host
                .ok_or_else(unknown)?
                .exec
                .iter()
                .map(String::as_str)
                .collect();
            plain(&words)
        }
    };
    if let Some(first) = prefix.argv.first_mut() {
        let name = first.to_string_lossy().into_owned();
        let found = program(boot, &name);
        let none = || UsageError(language.fill(Word::PlaceNoProgram, &[&name]));
        *first = found.ok_or_else(none)?;
    }
    Ok(prefix)
}

/// `user@host:port` apart. An address of many colons has no port.
pub fn ssh_parts(destination: &str) -> (&str, Option<&str>) {
    match destination.rsplit_once(':') {
        Some((host, port))
            if !host.contains(':')
                && !port.is_empty()
                && port.chars().all(|c| c.is_ascii_digit()) =>
        {
            (host, Some(port))
        }
        Some(_) | None => (destination, None),
    }
}

/// A program of the person, not one that lies in the folder where they are.
pub fn program(boot: &Boot, name: &str) -> Option<OsString> {
    let path = boot.env.get("PATH").map(OsString::from);
    let programs = Programs::new(path.as_deref(), std::slice::from_ref(&boot.places.cwd));
    programs.find(name).map(OsString::from)
}

pub fn command(boot: &Boot, argv: Vec<OsString>) -> Command {
    // What lets one in at a model's provider is nobody's business there.
    let hidden = boot.key_variables();
    let env = boot.env.iter().filter(|(name, _)| !hidden.contains(name));
    Command {
        argv,
        cwd: "/".into(),
        env: env
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        stdio: Stdio::PipesWithStdin,
        sandbox: None,
    }
}

async fn start(
    boot: &Boot,
    label: &str,
    prefix: &Prefix,
    script: &str,
) -> Result<Remote, Unreached> {
    let command = prefix.run(boot, script);
    let grace = Duration::from_secs(boot.loaded.config.helper.grace_seconds);
    link(boot, label, command, (prefix.patience(), grace)).await
}

/// A link to the helper that this command runs, which may take so long the first time; it is run again when the link breaks,
/// as long as the helper waits.
pub async fn link(
    boot: &Boot,
    label: &str,
    command: Command,
    (first_patience, grace): (Duration, Duration),
) -> Result<Remote, Unreached> {
    let host = boot.host();
    let dial: Dial = Arc::new(move || {
        let (host, command) = (host.clone(), command.clone());
        Box::pin(async move { Ok(Dialed::new(host.spawn(command).await?)) })
    });
    let mut key = [0; 32];
    for half in key.chunks_mut(16) {
        half.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    let link = OverProgram {
        place: label,
        version: crate::VERSION,
        patience: PATIENCE,
        first_patience,
        grace,
        key,
        dial,
    };
    let remote = link.connect().await?;
    super::open_links().push(remote.clone());
    Ok(remote)
}
/// Runs a script at the place, with these bytes as its input, and gives what it printed.
async fn run(
    boot: &Boot,
    prefix: &Prefix,
    script: &str,
    input: Option<Vec<u8>>,
    patience: Duration,
) -> anyhow::Result<String> {
    run_program(boot, prefix.run(boot, script), input, patience).await
}

/// Runs a program of this machine to its end, with these bytes as its input, and gives what it printed.
pub async fn run_program(
    boot: &Boot,
    command: Command,
    input: Option<Vec<u8>>,
    patience: Duration,
) -> anyhow::Result<String> {
    let mut process = boot.host().spawn(command).await?;
    let stdin = process.take_input();
    let writing = async move {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A script that ends early says why.
            let _early = stdin.write_all(&input).await;
        }
    };
    let mut said = Vec::new();
    let reading = async {
        loop {
            match process.next().await {
                Output::Stdout(bytes) | Output::Stderr(bytes) if said.len() < MAX_SAID => {
                    said.extend_from_slice(&bytes);
                }
                Output::Stdout(_) | Output::Stderr(_) => {}
                Output::Exited(_) => return,
            }
        }
    };
    let work = async { tokio::join!(writing, reading) };
    if tokio::time::timeout(patience, work).await.is_err() {
        let seconds = patience.as_secs().to_string();
        bail!(boot.language.fill(Word::PlaceSilent, &[&seconds]));
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// The person's yes to a copy of the helper at the place.
async fn consent(boot: &Boot, label: &str, helper: &Helper) -> anyhow::Result<()> {
    let language = boot.language;
    let not_asked = || anyhow!(language.fill(Word::PlaceNotAsked, &[label]));
    let desk = desk();
    let install = boot.loaded.config.helper.install;
    if boot.global.place.install_helper || install == HelperInstall::Always {
        return Ok(());
    }
    if install == HelperInstall::Never || desk.is_empty() {
        return Err(not_asked());
    }
    let size = format!("{:.1} MB", helper.bytes.len() as f64 / 1e6);
    let question = language.fill(Word::PlaceAsk, &[label, helper::SHOWN_FOLDER, &size]);
    match desk.confirm(question, language).await? {
        true => Ok(()),
        false => bail!(language.fill(Word::PlaceDeclined, &[label])),
    }
}

async fn copy(boot: &Boot, prefix: &Prefix, label: &str, helper: &Helper) -> anyhow::Result<()> {
    let script = helper.copy_script();
    let bytes = helper.bytes.clone();
    let said = run(boot, prefix, &script, Some(bytes), COPY_PATIENCE).await?;
    if said.contains(helper::COPIED) {
        return Ok(());
    }
    let why = match helper::Said::of(&said) {
        Some(helper::Said::Refuses(why)) => why,
        Some(helper::Said::Wants { .. }) | None => said.trim().to_owned(),
    };
    let why = format!("{label}: {}", printable(&why));
    bail!(boot.language.fill(Word::PlaceRefused, &[&why]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_told_from_addresses() {
        for (destination, host, port) in [
            ("me@box", "me@box", None),
            ("me@box:2222", "me@box", Some("2222")),
            ("box:x", "box:x", None),
            ("me@::1", "me@::1", None),
            ("box:", "box:", None),
        ] {
            assert_eq!(ssh_parts(destination), (host, port), "{destination}");
        }
    }
}
