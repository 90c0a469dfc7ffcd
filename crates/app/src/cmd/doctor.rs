//! `ostler doctor`: what is there, what is missing, and what to do about it. A broken configuration is a finding like others.

mod backends;
mod providers;
mod servers;

use super::health;
use super::panel::print_view;
use crate::boot::Boot;
use crate::boot::hooks::Gathered;
use crate::color::{self, Ink, Paint};
use crate::errors::Told as _;
use crate::exit::{FAILED, OK};
use crate::flags::{Doctor, Listing};
use crate::lenient::Lenient;
use crate::output;
use crate::{policy, wiring};
use ostler_config::diagnose::Notice;
use ostler_config::layers::{Loaded, RuleList};
use ostler_config::paths::config_files;
use ostler_config::text::Speak as _;
use ostler_config::trust::State;
use ostler_config::units::ColorChoice;
use ostler_engine::confine::SandboxMode;
use ostler_engine::hooks::Hook;
use ostler_guard::Rule;
use ostler_host::sandbox::{self, Layer, Network};
use ostler_wire::{Column, ColumnKind, Frame, Language, Say, Table, View, Why, Word, pad_to_width};
use serde::Serialize;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Note,
    Problem,
}

impl Status {
    /// Its colour and its name for people.
    fn shown(self) -> (Ink, Word) {
        match self {
            Status::Ok => (Ink::Green, Word::StatusOk),
            Status::Note => (Ink::Yellow, Word::StatusNote),
            Status::Problem => (Ink::Red, Word::StatusProblem),
        }
    }
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub status: Status,
    pub topic: &'static str,
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    pub fn new(status: Status, topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            topic,
            text: text.into(),
            fix: None,
        }
    }

    pub fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Status::Ok, topic, text)
    }

    /// The topic for people.
    pub fn topic(&self, language: Language) -> &'static str {
        const TOPICS: [(&str, Word); 14] = [
            ("backend", Word::TopicBackend),
            ("place", Word::TopicPlace),
            ("version", Word::TopicVersion),
            ("config", Word::TopicConfig),
            ("model", Word::TopicModel),
            ("provider", Word::TopicProvider),
            ("online", Word::TopicOnline),
            ("trust", Word::TopicTrust),
            ("sandbox", Word::TopicSandbox),
            ("env", Word::TopicEnvironment),
            ("terminal", Word::TopicTerminal),
            ("home", Word::TopicHome),
            ("sessions", Word::TopicSessions),
            ("ledger", Word::TopicLedger),
        ];
        let known = TOPICS.iter().find(|(topic, _)| *topic == self.topic);
        known.map_or(self.topic, |(_, word)| language.say(*word))
    }

    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// `place` is what was found at the place that the flags name.
pub async fn run(start: Lenient, args: Doctor, place: Vec<Finding>) -> anyhow::Result<u8> {
    let Lenient { mut boot, fault } = start;
    if args.json
        && let Some(boot) = Arc::get_mut(&mut boot)
    {
        // What programs read does not change with the person.
        boot.language = Language::English;
    }
    let mut findings = all_findings(&boot, fault, &args).await;
    findings.extend(place);
    let view = view(&findings, boot.language);
    if args.json {
        return print_view(&view, Listing::Json);
    }
    // In colours, and with what to do below each finding.
    output::print(&drawn(&findings, stdout_paint(&boot), boot.language))?;
    Ok(if view.is_failure() { FAILED } else { OK })
}

pub async fn answer(start: &Lenient, args: &Doctor) -> View {
    let Lenient { boot, fault } = start;
    let findings = all_findings(boot, fault.clone(), args).await;
    view(&findings, boot.language)
}

async fn all_findings(boot: &Arc<Boot>, fault: Option<String>, args: &Doctor) -> Vec<Finding> {
    let mut findings = findings(boot, fault);
    if args.online {
        findings.extend(providers::reachability(boot).await);
    }
    if args.backends {
        let question = match args.ask {
            true => backends::Question::Ask,
            false => backends::Question::None,
        };
        findings.extend(backends::findings(boot, question).await);
    }
    findings
}

/// The report as every front end and program gets it.
pub fn view(findings: &[Finding], language: Language) -> View {
    let texts = |finding: &Finding| {
        let status = language.say(finding.status.shown().1).to_owned();
        let text = match &finding.fix {
            Some(fix) => format!("{} → {fix}", finding.text.trim_end()),
            None => finding.text.clone(),
        };
        vec![status, finding.topic(language).to_owned(), text]
    };
    let column = |key| Column::new(ColumnKind::Text, key, "");
    let failed = findings.iter().any(|f| f.status == Status::Problem);
    let fields = [("version", json!(crate::VERSION)), ("ok", json!(!failed))];
    let fields = fields.map(|(key, value)| (key.to_owned(), value));
    View::Table(Table {
        frame: Some(Frame {
            fields: fields.into_iter().collect(),
            rows: "findings".into(),
        }),
        failed,
        ..Table::of_records(
            ["status", "topic", "text"].map(column).to_vec(),
            findings,
            texts,
        )
    })
}

/// All that can be said without the network.
pub fn findings(boot: &Arc<Boot>, fault: Option<String>) -> Vec<Finding> {
    let language = boot.language;
    let mut findings = vec![version(language)];
    findings.extend(configuration(boot, fault));
    findings.push(providers::model(boot));
    findings.extend(providers::providers(&boot.resolver(), language));
    findings.push(trust(boot));
    findings.extend(hooks(boot));
    findings.push(sandbox(boot));
    findings.extend(withheld(boot));
    findings.extend(programs(boot));
    findings.extend(servers::servers(boot));
    findings.push(terminal(boot));
    findings.push(health::home(&boot.places.home, language));
    findings.extend(health::sessions(&boot.sessions_dir(), language));
    findings.push(health::ledger(&boot.places.home, language));
    findings
}

fn drawn(findings: &[Finding], paint: Paint, language: Language) -> String {
    let mut out = String::new();
    for finding in findings {
        let (ink, word) = finding.status.shown();
        let status = paint.with(ink, &pad_to_width(language.say(word), 8));
        let indent = format!("\n{}", " ".repeat(20));
        let text = output::visible(finding.text.trim_end()).replace('\n', &indent);
        let topic = pad_to_width(finding.topic(language), 10);
        out.push_str(&format!("{status} {topic} {text}\n"));
        if let Some(fix) = &finding.fix {
            let fix = output::visible(fix).replace('\n', &format!("{indent}  "));
            out.push_str(&format!(
                "{:20}{}\n",
                "",
                paint.with(Ink::Cyan, &format!("→ {fix}"))
            ));
        }
    }
    let problems = findings.iter().filter(|f| f.status == Status::Problem);
    out.push_str(&match problems.count() {
        0 => language.say(Word::DocNoProblems).to_owned(),
        n => language.filled(Word::FullStop, &[&language.counted(n, Word::ManyProblems)]) + "\n",
    });
    out
}

fn stdout_paint(boot: &Boot) -> Paint {
    let may = !boot.global.no_color;
    match boot.loaded.config.display.color {
        ColorChoice::Always if may => Paint::Colour,
        ColorChoice::Auto if may && color::liked(&boot.env) && io::stdout().is_terminal() => {
            Paint::Colour
        }
        ColorChoice::Always | ColorChoice::Auto | ColorChoice::Never => Paint::None,
    }
}

fn hooks(boot: &Boot) -> Vec<Finding> {
    let language = boot.language;
    let one = |hook: &Hook| {
        let matcher = match hook.matcher.text() {
            "" => String::new(),
            text => format!(" {text}"),
        };
        let Hook {
            moment,
            command,
            from,
            ..
        } = hook;
        Finding::ok(
            "hooks",
            format!("{}{matcher}: {command}, from {from}", moment.name()),
        )
    };
    let fix = language.say(Word::DocMendHook);
    let fault = |fault: &Why| Finding::new(Status::Problem, "hooks", fault.say(language)).fix(fix);
    let Gathered { hooks, faults } = &boot.hooks;
    hooks
        .iter()
        .map(one)
        .chain(faults.iter().map(fault))
        .collect()
}

fn version(language: Language) -> Finding {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    Finding::ok(
        "version",
        language.filled(Word::DocVersion, &[&crate::VERSION, &os, &arch]),
    )
}

fn configuration(boot: &Boot, fault: Option<String>) -> Vec<Finding> {
    let language = boot.language;
    let mut findings: Vec<Finding> = config_files(&boot.places, boot.global.config.as_deref())
        .into_iter()
        .map(|file| {
            let there = if file.exists {
                ""
            } else {
                language.say(Word::DocNotThere)
            };
            Finding::ok(
                "config",
                format!("{}: {}{there}", file.what, file.path.display()),
            )
        })
        .collect();
    if let Some(fault) = fault {
        findings.push(
            Finding::new(Status::Problem, "config", fault).fix(language.say(Word::DocMendConfig)),
        );
    }
    let overruled = overruled(&boot.loaded, language);
    let notices = boot.loaded.notices.iter().chain(&overruled);
    let notices = notices.map(Why::from);
    let logins = boot.logins().warning(ostler_host::mode_of);
    let keys = boot.dotenv.warnings.iter().cloned().chain(logins);
    for notice in notices.chain(keys) {
        findings.push(Finding::new(Status::Note, "config", notice.say(language)));
    }
    let loose = crate::home::loose(&boot.places);
    if let Some(first) = loose.first() {
        let text = language.filled(Word::DocLoose, &[&loose.len(), &first.display()]);
        let fix = language.filled(Word::DocTighten, &[&boot.places.home.display()]);
        findings.push(Finding::new(Status::Note, "config", text).fix(fix));
    }
    if let Err(error) = policy::policy(boot) {
        let fix = language.say(Word::DocMendRule);
        findings.push(Finding::new(Status::Problem, "config", language.told(&error)).fix(fix));
    }
    findings
}

fn trust(boot: &Boot) -> Finding {
    let language = boot.language;
    let workspace = &boot.loaded.workspace;
    let items = language.counted(workspace.items.len(), Word::ManyItems);
    let (status, said) = match workspace.state {
        State::NotNeeded => (Status::Ok, language.say(Word::DocTrustNone).to_owned()),
        State::Trusted => (Status::Ok, language.filled(Word::DocTrusted, &[&items])),
        State::ThisRun => (Status::Ok, language.filled(Word::DocTrustedRun, &[&items])),
        State::Untrusted => (Status::Note, language.filled(Word::DocUntrusted, &[&items])),
        State::Changed => (
            Status::Note,
            language.filled(Word::DocTrustChanged, &[&items]),
        ),
        State::Refused => (Status::Ok, language.filled(Word::DocRefused, &[&items])),
    };
    let finding = Finding::new(status, "trust", said);
    match status {
        Status::Note => finding.fix(language.say(Word::DocLookTrust)),
        Status::Ok | Status::Problem => finding,
    }
}

fn sandbox(boot: &Boot) -> Finding {
    let language = boot.language;
    let finding = |status, text: String| Finding::new(status, "sandbox", text);
    let mode = crate::grants::mode(boot);
    if mode == SandboxMode::Off {
        let text = language.say(Word::DocSandboxOff);
        return finding(Status::Note, text.into()).fix(language.say(Word::DocContain));
    }
    let settings = match crate::sandbox::settings(boot) {
        Ok(settings) => settings,
        Err(error) => return finding(Status::Problem, language.told(&error)),
    };
    let report = sandbox::probe();
    let missing: Vec<String> = report.missing.iter().map(|m| m.say(language)).collect();
    let missing = missing.join("\n");
    let active = match crate::grants::active(boot) {
        Ok(active) => active,
        Err(why) => {
            let (status, commands) = match mode {
                SandboxMode::Require => (Status::Problem, language.say(Word::DocNoStart)),
                SandboxMode::Enforce | SandboxMode::Off => {
                    (Status::Note, language.say(Word::DocYourRights))
                }
            };
            let text = language.filled(Word::DocNoLayer, &[&commands, &why]);
            let fix = language.say(Word::DocContain);
            return finding(status, text).fix(fix);
        }
    };
    let network = match settings.policy.network {
        Network::On => language.say(Word::DocNetOpen),
        Network::Proxy if active == Layer::Namespaces => language.say(Word::DocNetGranted),
        Network::Proxy | Network::Loopback | Network::Off => language.say(Word::DocNetNone),
    };
    let mut text = language.filled(Word::DocActive, &[&active.name()]);
    // The mounts stand behind the rules of Landlock, where there are any.
    if active == Layer::Namespaces && report.landlock_abi > 0 {
        text.push_str(&language.filled(Word::DocLandlock, &[&report.landlock_abi]));
    }
    text.push_str(&language.filled(Word::DocNetwork, &[&network]));
    if missing.is_empty() {
        return Finding::ok("sandbox", text);
    }
    finding(
        Status::Ok,
        language.filled(Word::DocMissing, &[&text, &missing]),
    )
}

/// Variables that children do not get, by name.
fn withheld(boot: &Boot) -> Option<Finding> {
    let language = boot.language;
    let names = boot.withheld_variables();
    let text = || language.filled(Word::DocWithheld, &[&names.join(", ")]);
    (!names.is_empty()).then(|| Finding::ok("env", text()))
}

fn programs(boot: &Arc<Boot>) -> Vec<Finding> {
    let language = boot.language;
    let git = match boot.program("git") {
        Some(path) => Finding::ok("git", path.display().to_string()),
        None => Finding::new(Status::Note, "git", language.say(Word::DocNotOnPath))
            .fix(language.say(Word::DocInstallGit)),
    };
    let tmux = match boot.program("tmux") {
        Some(path) => Finding::ok("tmux", path.display().to_string()),
        None => Finding::new(Status::Note, "tmux", language.say(Word::DocNotOnPath)),
    };
    let mut findings = vec![git, tmux];
    // Without options no session starts either, which has been said.
    if let Ok(options) = wiring::options(boot, false) {
        let shell = options
            .tools
            .shell
            .first()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        findings.push(match boot.program(&shell) {
            Some(path) => Finding::ok("shell", path.display().to_string()),
            None => Finding::new(
                Status::Problem,
                "shell",
                language.filled(Word::DocShellGone, &[&shell]),
            )
            .fix(language.say(Word::DocInstallShell)),
        });
    }
    findings
}

fn terminal(boot: &Boot) -> Finding {
    let language = boot.language;
    let on = |yes: bool| {
        if yes {
            language.say(Word::DocIsTerminal)
        } else {
            language.say(Word::DocNoTerminal)
        }
    };
    let mut parts = vec![
        language.filled(Word::DocStdin, &[&on(io::stdin().is_terminal())]),
        language.filled(Word::DocStdout, &[&on(io::stdout().is_terminal())]),
    ];
    if let Some((width, height)) = terminal_size::terminal_size() {
        parts.push(language.filled(Word::DocScreen, &[&width.0, &height.0]));
    }
    let value = |name: &str| boot.env.get(name).filter(|v| !v.is_empty());
    parts.extend(value("TERM").map(|term| format!("TERM {term}")));
    parts.push(
        match (
            value("NO_COLOR"),
            value("COLORTERM").map(String::as_str),
            value("TERM").map(String::as_str),
        ) {
            (Some(_), _, _) => language.say(Word::DocNoColorSet).into(),
            (None, Some("truecolor" | "24bit"), _) => language.say(Word::DocTrueColor).into(),
            (None, _, None | Some("dumb")) => language.say(Word::DocNoColor).into(),
            (None, _, Some(term)) if term.contains("256") => language.say(Word::Doc256).into(),
            (None, _, Some(_)) => language.say(Word::Doc16).into(),
        },
    );
    Finding::ok("terminal", parts.join(language.say(Word::Comma)))
}

/// Allow rules that never count because another layer or list is stricter about the same thing.
fn overruled(loaded: &Loaded, language: Language) -> Vec<Notice> {
    let rules: Vec<_> = loaded
        .rules()
        .into_iter()
        .filter_map(|rule| Some((Rule::parse(&rule.text, "").ok()?.canonical(), rule)))
        .collect();
    let lists = |list: RuleList| rules.iter().filter(move |(_, rule)| rule.list == list);
    let mut notices = Vec::new();
    for (allowed, rule) in lists(RuleList::Allow) {
        let family = allowed.split('(').next().unwrap_or_default();
        let mut stricter = lists(RuleList::Deny).chain(lists(RuleList::Ask));
        let over = stricter.find(|(other, _)| other == allowed || other == family);
        if let Some((_, over)) = over {
            let text = language.filled(
                Word::DocAllowIdle,
                &[&rule.text, &over.text, &over.list.key(), &over.place],
            );
            notices.push(Notice::warning(rule.place.clone(), text));
        }
    }
    notices
}
