//! `cargo xtask bench`: our figures beside those of a bare loop and of `/bin/true`, taken in turns in one run on the mock
//! server. Medians, ratios and the bar each figure has to stay under; it judges nothing by itself.

mod bare;
mod echo;
mod memory;
mod past;
mod run;
mod serve;
mod table;
mod terminal;

pub use bare::run as bare;
pub use echo::{ECHO, run as echo};

use crate::ostler::{self, Profile, cargo};
use anyhow::{Context as _, bail};
use memory::Sampling;
use ostler_testkit::{Kind, Step};
use run::{Agent, Confinement, Place, Ran};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{Bar, Table};

/// The hidden command that is the bare loop.
pub const BARE: &str = "__bare";

/// Files that read steps go through.
const FILES: usize = 500;

struct Plan {
    /// Runs of what takes milliseconds.
    short: usize,
    /// Runs of what takes longer.
    long: usize,
    steps: usize,
    many_steps: usize,
    deltas: usize,
    past_lines: usize,
    serve: serve::Plan,
}

const FULL: Plan = Plan {
    short: 15,
    long: 3,
    steps: 50,
    many_steps: 2_000,
    deltas: 20_000,
    past_lines: 100_000,
    serve: serve::Plan {
        turns: 300,
        deltas: 60_000,
        breaks: 10_000,
    },
};

const QUICK: Plan = Plan {
    short: 5,
    long: 1,
    steps: 50,
    many_steps: 500,
    deltas: 20_000,
    past_lines: 20_000,
    serve: serve::Plan {
        turns: 60,
        deltas: 10_000,
        breaks: 1_000,
    },
};

struct Options {
    plan: Plan,
    program: Option<PathBuf>,
    kind: Kind,
    /// The terminal UI instead.
    terminal: bool,
    /// The server for browsers instead.
    serve: bool,
}

pub fn run(words: &[&str]) -> anyhow::Result<bool> {
    let options = options(words)?;
    // Clients of a server do little: with a program at hand they need not be built anew.
    let is_ready = options.serve && options.program.is_some();
    if cfg!(debug_assertions) && !is_ready {
        // A slow server would be measured, too.
        let us = [
            "run",
            "--profile",
            "dist",
            "--locked",
            "--quiet",
            "--package",
            "xtask",
            "--",
            "bench",
        ];
        let status = cargo(&[us.as_slice(), words].concat()).status();
        return Ok(status.context("cargo cannot be started")?.success());
    }
    let program = match options.program {
        Some(program) => program.canonicalize().context("--bin cannot be found")?,
        None => ostler::build(Profile::Dist)?,
    };
    let mut table = Table::default();
    if options.terminal {
        terminal::measure(&program, &mut table)?;
        println!("{table}");
        return Ok(true);
    }
    if options.serve {
        serve::measure(&program, &options.plan.serve, &mut table)?;
        println!("{table}");
        return Ok(true);
    }
    let bench = Bench {
        ours: Agent::Ours {
            program: program.clone(),
            kind: options.kind,
        },
        bare: Agent::Bare {
            program: std::env::current_exe()?,
        },
        plan: options.plan,
    };
    version(&program, &bench.plan, &mut table)?;
    bench.start(&mut table);
    bench.steps(&mut table);
    bench.deltas(&mut table);
    bench.resume(&mut table)?;
    println!("{table}");
    Ok(true)
}

fn options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options = Options {
        plan: FULL,
        program: None,
        kind: Kind::Chat,
        terminal: false,
        serve: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--terminal" => options.terminal = true,
            "--serve" => options.serve = true,
            "--quick" => options.plan = QUICK,
            "--bin" => options.program = Some(words.next().context("--bin needs a path")?.into()),
            "--kind" => {
                let name = words.next().context("--kind needs a name")?;
                let named = Kind::ALL.into_iter().find(|k| k.config_name() == *name);
                options.kind = named.with_context(|| format!("{name} is no kind"))?;
            }
            other => bail!("bench has no {other}"),
        }
    }
    Ok(options)
}

struct Bench {
    ours: Agent,
    bare: Agent,
    plan: Plan,
}

impl Bench {
    /// Both agents in turn, so that noise falls on them alike: ours first in each pair.
    fn pairs(&self, rounds: usize, mut go: impl FnMut(&Agent) -> Ran) -> [Vec<Ran>; 2] {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours.push(go(&self.ours));
            bare.push(go(&self.bare));
        }
        [ours, bare]
    }

    fn start(&self, table: &mut Table) {
        say("start");
        let hi = || vec![Step::answer().text("hi")];
        let [ours, bare] = self.pairs(self.plan.short, |agent| {
            Place::new(agent, hi()).run("say hi", Sampling::Off)
        });
        let first = |runs: &[Ran]| median(runs.iter().map(Ran::first_request_ms));
        table.add(
            "first request, fresh home, ms",
            first(&ours),
            Some(first(&bare)),
            Bar::Over(17.0),
        );
        // Slow enough that the sampler sees it.
        let slow = || vec![Step::answer().words(20).pace(Duration::from_millis(15))];
        let [ours, bare] = self.pairs(self.plan.long, |agent| {
            Place::new(agent, slow()).run("say hi", Sampling::Every(Duration::from_millis(10)))
        });
        table.add(
            "peak memory, one prompt, MB",
            peak(&ours),
            Some(peak(&bare)),
            Bar::Most(20.0),
        );
    }

    fn steps(&self, table: &mut Table) {
        let tools = [
            (Tool::Shell, 2.0),
            (Tool::Read, 1.0),
            (Tool::Writer, 3.0),
            (Tool::Reader, 3.5),
        ];
        for (tool, bar) in tools {
            for (steps, rounds) in [(self.plan.steps, self.plan.long), (self.plan.many_steps, 1)] {
                let name = tool.name();
                say(&format!("{steps} {name} steps"));
                let [ours, bare] = self.pairs(rounds, |agent| {
                    let place = Place::new(agent, script(tool, steps));
                    place.run_confined("run the steps", Sampling::Off, tool.confinement())
                });
                let all = |runs: &[Ran]| median(runs.iter().map(|run| median(run.gaps_ms())));
                let what = format!("{name} step of {steps}, ms");
                table.add(&what, all(&ours), Some(all(&bare)), Bar::Over(bar));
                if steps == self.plan.many_steps {
                    let last =
                        |runs: &[Ran]| median(runs.iter().map(|run| median(run.last_gaps_ms(50))));
                    let what = format!("{name} step, last 50 of {steps}, ms");
                    table.add(&what, last(&ours), Some(last(&bare)), Bar::Over(bar));
                }
            }
        }
        for (steps, most) in [(self.plan.steps, 30.0), (self.plan.many_steps, 60.0)] {
            say(&format!("memory of {steps} shell steps"));
            let every = Sampling::Every(Duration::from_millis(10));
            let [ours, bare] = self.pairs(1, |agent| {
                Place::new(agent, script(Tool::Shell, steps)).run("run the steps", every)
            });
            let what = format!("peak memory, {steps} shell steps, MB");
            table.add(&what, peak(&ours), Some(peak(&bare)), Bar::Most(most));
        }
    }

    fn deltas(&self, table: &mut Table) {
        let many = self.plan.deltas;
        say(&format!("{many} deltas"));
        let of = |deltas: usize| {
            self.pairs(self.plan.long, |agent| {
                Place::new(agent, vec![Step::answer().words(deltas)]).run("write", Sampling::Off)
            })
        };
        let [few, all] = [of(5), of(many)];
        let last = format!("w{}", many - 1);
        for run in all.iter().flatten() {
            assert!(run.stdout.contains(&last), "not every delta was printed");
        }
        let time = |runs: &[Vec<Ran>; 2]| {
            let of = |runs: &[Ran]| median(runs.iter().map(Ran::after_first_request_ms));
            [of(&runs[0]), of(&runs[1])]
        };
        let ([ours, bare], [ours_few, bare_few]) = (time(&all), time(&few));
        let what = format!("{many} deltas, over 5, ms");
        table.add(
            &what,
            ours - ours_few,
            Some(bare - bare_few),
            Bar::Times(2.0),
        );
    }

    fn resume(&self, table: &mut Table) -> anyhow::Result<()> {
        let lines = self.plan.past_lines;
        say(&format!("resume of {lines} lines"));
        let mut times = Vec::new();
        for _ in 0..self.plan.long {
            let steps = [Step::answer().text("first"), Step::answer().text("again")];
            let place = Place::new(&self.ours, steps.into());
            place.without_window();
            place.run("remember this", Sampling::Off);
            let id = past::grow(place.home(), lines)?;
            let resumed = place.resume(&id, "go on");
            times.push(resumed.last_request_ms());
        }
        let what = format!("resume of {lines} lines to the request, ms");
        table.add(&what, median(times), None, Bar::Most(500.0));
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    /// A command without a sandbox.
    Shell,
    Read,
    /// A command in the project's sandbox.
    Writer,
    /// A command in the reader's sandbox: the same but for the file that it writes.
    Reader,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Shell => "shell",
            Tool::Read => "read",
            Tool::Writer => "sandboxed shell",
            Tool::Reader => "sandboxed reader",
        }
    }

    fn confinement(self) -> Confinement {
        match self {
            Tool::Shell | Tool::Read => Confinement::Off,
            Tool::Writer | Tool::Reader => Confinement::Default,
        }
    }
}

/// A session to see which functions are called.
#[derive(Clone, Copy, Debug)]
pub enum Session {
    Prompt,
    Shell,
    Read,
    Sandboxed,
    Reader,
}

impl Session {
    pub const ALL: [Self; 5] = [
        Session::Prompt,
        Session::Shell,
        Session::Read,
        Session::Sandboxed,
        Session::Reader,
    ];

    pub fn run(self, program: &Path) {
        let ours = Agent::Ours {
            program: program.to_owned(),
            kind: Kind::Chat,
        };
        let (tool, steps) = match self {
            Session::Prompt => (Tool::Shell, 0),
            Session::Shell => (Tool::Shell, 2),
            Session::Read => (Tool::Read, 2),
            Session::Sandboxed => (Tool::Writer, 2),
            Session::Reader => (Tool::Reader, 2),
        };
        let place = Place::new(&ours, script(tool, steps));
        place.run_confined("run the steps", Sampling::Off, tool.confinement());
    }
}

/// One call a step, then an answer.
fn script(tool: Tool, steps: usize) -> Vec<Step> {
    let bash = |command: String| Step::answer().call("bash", json!({"command": command}));
    let call = |k: usize| match tool {
        Tool::Shell => bash(format!("true {k}")),
        Tool::Writer => bash(format!("cat data/{}.txt > copy.txt", k % FILES + 1)),
        Tool::Reader => bash(format!("cat data/{}.txt", k % FILES + 1)),
        Tool::Read => {
            let path = format!("data/{}.txt", k % FILES + 1);
            Step::answer().call("read_file", json!({"path": path}))
        }
    };
    let end = Step::answer().words(5);
    (0..steps).map(call).chain([end]).collect()
}

fn version(program: &PathBuf, plan: &Plan, table: &mut Table) -> anyhow::Result<()> {
    say("--version");
    let time = |command: &mut Command| -> anyhow::Result<f64> {
        let start = Instant::now();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        Ok(ms(start.elapsed()))
    };
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..plan.short * 3 {
        ours.push(time(Command::new(program).arg("--version"))?);
        nothing.push(time(&mut Command::new("/bin/true"))?);
    }
    let (ours, nothing) = (median(ours), median(nothing));
    table.add(
        "--version beside /bin/true, ms",
        ours,
        Some(nothing),
        Bar::Over(5.0),
    );
    Ok(())
}

fn peak(runs: &[Ran]) -> f64 {
    median(runs.iter().map(|run| run.peak_kb as f64 / 1024.0))
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn say(what: &str) {
    eprintln!("bench: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn words_are_understood() {
        let read = options(&["--quick", "--bin", "x", "--kind", "anthropic"]).unwrap();
        assert_eq!(read.kind, Kind::Messages);
        assert_eq!(read.program, Some("x".into()));
        assert_eq!(read.plan.many_steps, QUICK.many_steps);
        for wrong in [&["--fast"][..], &["--bin"], &["--kind", "x"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }
}
