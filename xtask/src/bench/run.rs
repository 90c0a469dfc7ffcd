//! One run of an agent against a server of its own, in a home and a project of its own, with the moments that count.

use super::memory::{Sampler, Sampling};
use super::{BARE, FILES, ms};
use ostler_testkit::{Captured, Fate, Kind, Run, Server, Step, TempWorkspace, config_text};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(900);

#[derive(Clone, Debug)]
pub enum Agent {
    Ours { program: PathBuf, kind: Kind },
    Bare { program: PathBuf },
}

/// What our commands run in; the bare loop has no sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    Off,
    Default,
}

/// Where an agent runs. Its first run finds a fresh home.
pub struct Place<'a> {
    agent: &'a Agent,
    server: Server,
    space: TempWorkspace,
}

/// What a run left.
pub struct Ran {
    started: Instant,
    took: Duration,
    requests: Vec<Captured>,
    pub stdout: String,
    pub peak_kb: u64,
}

impl<'a> Place<'a> {
    pub fn new(agent: &'a Agent, script: Vec<Step>) -> Self {
        // What the server does between two moments must not weigh.
        let server = Server::builder().steps(script).lenient().without_cache();
        let place = Self {
            agent,
            server: server.keep_bodies(1).start(),
            space: TempWorkspace::new(),
        };
        for k in 1..=FILES {
            let text = format!("line one of file {k}\nline two\nline three\n");
            place.space.write(format!("data/{k}.txt"), text);
        }
        if let Agent::Ours { kind, .. } = agent {
            place.space.config(&place.server, *kind);
        }
        place
    }

    pub fn home(&self) -> &Path {
        self.space.home()
    }

    /// The model's window is not known, so nothing is ever left out.
    pub fn without_window(&self) {
        if let Agent::Ours { kind, .. } = self.agent {
            let config = config_text(&self.server, *kind);
            let config = config.replace("context_window = 1000000", "context_window = 0");
            self.space.write(self.home().join("config.toml"), config);
        }
    }

    pub fn run(&self, prompt: &str, sampling: Sampling) -> Ran {
        self.run_confined(prompt, sampling, Confinement::Off)
    }

    pub fn run_confined(&self, prompt: &str, sampling: Sampling, within: Confinement) -> Ran {
        let run = match self.agent {
            Agent::Ours { program, .. } => {
                let run = self.space.run(program).args(["exec", "-p", prompt]);
                match within {
                    Confinement::Off => run.arg("--no-sandbox"),
                    Confinement::Default => run,
                }
            }
            Agent::Bare { program } => {
                let run = self.space.run(program);
                run.args([BARE, &self.server.url(), prompt])
            }
        };
        self.watched(run, sampling)
    }

    pub fn resume(&self, id: &str, prompt: &str) -> Ran {
        let (Agent::Ours { program, .. } | Agent::Bare { program }) = self.agent;
        let run = self.space.run(program);
        let args = ["exec", "--no-sandbox", "--session", id, "-p", prompt];
        self.watched(run.args(args), Sampling::Off)
    }

    fn watched(&self, run: Run, sampling: Sampling) -> Ran {
        let started = Instant::now();
        let running = run.timeout(LONGEST).spawn();
        let sampler = Sampler::start(running.pid(), sampling);
        let out = running.wait().ok();
        Ran {
            started,
            took: out.duration,
            requests: self.server.requests(),
            stdout: out.stdout,
            peak_kb: sampler.peak_kb(),
        }
    }
}

impl Ran {
    /// From the spawn to having read the first request.
    pub fn first_request_ms(&self) -> f64 {
        self.since_start(self.requests.first())
    }

    pub fn last_request_ms(&self) -> f64 {
        self.since_start(self.requests.last())
    }

    /// From the first request to the end of the process.
    pub fn after_first_request_ms(&self) -> f64 {
        ms(self.took) - self.first_request_ms()
    }

    /// From the end of each answer to having read the next request.
    pub fn gaps_ms(&self) -> Vec<f64> {
        let pairs = self.requests.iter().zip(self.requests.iter().skip(1));
        pairs
            .filter_map(|(one, next)| match one.fate {
                Fate::Sent(sent) => Some(ms(next.at.saturating_duration_since(sent))),
                Fate::Open | Fate::Gone(_) => None,
            })
            .collect()
    }

    pub fn last_gaps_ms(&self, n: usize) -> Vec<f64> {
        let gaps = self.gaps_ms();
        gaps[gaps.len().saturating_sub(n)..].to_vec()
    }

    fn since_start(&self, request: Option<&Captured>) -> f64 {
        request.map_or(f64::NAN, |r| {
            ms(r.at.saturating_duration_since(self.started))
        })
    }
}
