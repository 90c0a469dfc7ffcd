//! Background commands: one owner task each, output on disk, read by offset. Finished ones stay readable; all that still
//! run are killed when this is closed or dropped. Starting them is the business of `bash`.

mod owner;
mod plain;
#[cfg(test)]
mod tests;

pub use owner::end_tree;
pub use plain::Plain;

use crate::artifacts::Artifacts;
use crate::cut::{self, Captured};
use crate::error::ToolError;
use crate::programs::Confinement;
use jiff::Timestamp;
use ostler_host::{Exit, Process};
use ostler_wire::{Delta, DeltaSink};
use owner::Owner;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const MAX_RUNNING: usize = 32;
/// Finished jobs that can still be read; older ones leave only their log file.
const MAX_FINISHED: usize = 256;
/// Logs of one session.
const MAX_JOBS: u64 = 100_000;
/// Pieces of input that wait for a job to read them.
const INPUT_QUEUE: usize = 16;
const MAX_INPUT: usize = 64 * 1024;
/// Output that comes in one go is read in one go: this much silence ends it.
const QUIET: Duration = Duration::from_millis(50);
const LONGEST_BURST: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes at the end of a log in which its last line is looked for.
const LAST_LINE: u64 = 400;

pub struct Jobs {
    artifacts: Artifacts,
    table: Mutex<Table>,
    running: Arc<Running>,
    /// Whether the person was told that commands run without a sandbox.
    told: AtomicBool,
    /// How often the person sent running commands to the background; those that run follow it.
    sent_away: watch::Sender<u64>,
}

/// The person's wish that a running command goes on in the background.
pub struct BackgroundWish(watch::Receiver<u64>);

impl BackgroundWish {
    /// Waits for the wish.
    pub async fn wished(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Those that run, for whoever shows them: told whenever one begins or ends, whoever ended it.
#[derive(Default)]
struct Running {
    ids: Mutex<Vec<String>>,
    deltas: DeltaSink,
}

impl Running {
    fn begins(&self, id: &str) {
        self.change(|ids| ids.push(id.to_owned()));
    }

    fn ends(&self, id: &str) {
        self.change(|ids| ids.retain(|known| known != id));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<String>)) {
        let mut ids = lock(&self.ids);
        change(&mut ids);
        // Under the lock, so that the last word is the newest.
        self.deltas.send(Delta::Jobs {
            running: ids.clone(),
        });
    }
}

#[derive(Default)]
struct Table {
    last: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
}

struct Job {
    id: String,
    command: String,
    started: Timestamp,
    log: PathBuf,
    progress: watch::Receiver<Progress>,
    /// Up to where the log was read.
    read: Mutex<u64>,
    input: Option<mpsc::Sender<Vec<u8>>>,
    cancel: CancellationToken,
    /// What it asked the proxy for, once it has ended.
    hosts: Arc<OnceLock<Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Running,
    Exited(i32),
    Killed(i32),
}

/// How far an owner has come.
#[derive(Clone, Copy)]
struct Progress {
    written: u64,
    /// Output beyond what a log may hold.
    dropped: u64,
    state: JobState,
}

/// A started command to be looked after from now on.
pub struct Adopted {
    pub process: Process,
    pub command: String,
    /// Filters the output of a terminal.
    pub plain: Option<Plain>,
    /// What was already shown; it opens the log and counts as read.
    pub so_far: String,
    /// What follows that and was not shown yet.
    pub held: Vec<u8>,
    pub confinement: Option<Box<dyn Confinement>>,
}

/// What a reader waits for, and at most how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Now,
    /// Output, or the end.
    News(Duration),
    End(Duration),
}

/// What a job has said since it was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub id: String,
    pub output: Captured,
    pub dropped: u64,
    pub state: JobState,
    /// As in the data of a result.
    pub hosts: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    pub id: String,
    pub command: String,
    pub state: JobState,
    pub started: Timestamp,
    pub last_line: String,
}

#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("There is no job {id:?}. {known}")]
    Unknown { id: String, known: String },
    #[error("{MAX_RUNNING} jobs are running already; end one with kill_job first.")]
    TooMany,
    #[error("Job {0} has no terminal to type into; start it with tty: true.")]
    NoTerminal(String),
    #[error("Job {0} has ended.")]
    Ended(String),
    #[error("Job {0} does not read its input; nothing was sent.")]
    InputFull(String),
    #[error("One input may have {MAX_INPUT} bytes at most.")]
    InputTooLong,
    #[error("The job's log cannot be used: {0}.")]
    Log(#[from] io::Error),
}

impl From<JobError> for ToolError {
    fn from(error: JobError) -> Self {
        let code = match &error {
            JobError::Unknown { .. } => "not_found",
            JobError::TooMany => "too_many_jobs",
            JobError::NoTerminal(_) | JobError::InputTooLong => "invalid_input",
            JobError::Ended(_) | JobError::InputFull(_) => "write_error",
            JobError::Log(_) => "read_error",
        };
        ToolError::new(code, error.to_string())
    }
}

impl Jobs {
    pub fn new(artifacts: Artifacts) -> Self {
        Self {
            artifacts,
            table: Mutex::default(),
            running: Arc::default(),
            told: AtomicBool::new(false),
            sent_away: watch::channel(0).0,
        }
    }

    /// Says there which of them run.
    pub fn telling(mut self, deltas: DeltaSink) -> Self {
        self.running = Arc::new(Running {
            deltas,
            ..Running::default()
        });
        self
    }

    /// Sends every command that runs in the foreground to the background. Whether there is one.
    pub fn send_running_to_background(&self) -> bool {
        let is_followed = self.sent_away.receiver_count() > 0 && self.room().is_ok();
        if is_followed {
            self.sent_away.send_modify(|times| *times += 1);
        }
        is_followed
    }

    /// Follows that wish from now on, for a command in the foreground.
    pub fn background_wish(&self) -> BackgroundWish {
        BackgroundWish(self.sent_away.subscribe())
    }

    /// Whether one more may run; to be asked before its command starts.
    pub fn room(&self) -> Result<(), JobError> {
        let running = self
            .table()
            .jobs
            .values()
            .filter(|j| j.is_running())
            .count();
        if running < MAX_RUNNING {
            Ok(())
        } else {
            Err(JobError::TooMany)
        }
    }

    /// True once for a session: whoever gets it says that commands run without a sandbox.
    pub fn tells_unconfined(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// Takes a command over and names it.
    pub fn adopt(&self, mut started: Adopted) -> Result<String, JobError> {
        self.room()?;
        let mut table = self.table();
        let (number, log, path) = self.new_log(table.last)?;
        let id = format!("j{number}");
        let cancel = CancellationToken::new();
        let stdin = started.process.take_input();
        let (input, typed) = mpsc::channel(INPUT_QUEUE);
        let input = stdin.is_some().then_some(input);
        let job_command = std::mem::take(&mut started.command);
        let (owner, progress, read) = Owner::new(
            started,
            stdin,
            typed,
            (log, self.artifacts.stream()),
            cancel.clone(),
        );
        let hosts = owner.hosts.clone();
        self.running.begins(&id);
        let (running, ending) = (self.running.clone(), id.clone());
        tokio::spawn(async move {
            owner.run().await;
            running.ends(&ending);
        });
        let job = Job {
            id: id.clone(),
            command: job_command,
            started: Timestamp::now(),
            log: path,
            progress,
            read: Mutex::new(read),
            input,
            cancel,
            hosts,
        };
        table.last = number;
        table.jobs.insert(number, Arc::new(job));
        table.forget_oldest();
        Ok(id)
    }

    /// What is new since the last read, after waiting as told.
    pub async fn read(&self, id: &str, until: Until, cap: usize) -> Result<News, JobError> {
        let job = self.find(id)?;
        let mut progress = job.progress.clone();
        let from = *lock(&job.read);
        // Neither running out of time nor an owner that is gone changes what there is to read.
        match until {
            Until::Now => {}
            Until::End(wait) => {
                let end = progress.wait_for(|p| p.state != JobState::Running);
                drop(tokio::time::timeout(wait.min(LONGEST_WAIT), end).await);
            }
            Until::News(wait) => {
                let until = Instant::now() + wait.min(LONGEST_WAIT);
                let news = progress.wait_for(|p| {
                    p.written > from || p.dropped > 0 || p.state != JobState::Running
                });
                if matches!(tokio::time::timeout_at(until, news).await, Ok(Ok(_))) {
                    settle(&mut progress, until).await;
                }
            }
        }
        let now = *progress.borrow();
        Ok(job.news(now, cap)?)
    }

    /// Types into a job's terminal.
    pub fn write(&self, id: &str, text: &str) -> Result<(), JobError> {
        let job = self.find(id)?;
        if text.len() > MAX_INPUT {
            return Err(JobError::InputTooLong);
        }
        let input = job
            .input
            .as_ref()
            .ok_or_else(|| JobError::NoTerminal(job.id.clone()))?;
        input
            .try_send(text.as_bytes().to_vec())
            .map_err(|e| match e {
                mpsc::error::TrySendError::Full(_) => JobError::InputFull(job.id.clone()),
                mpsc::error::TrySendError::Closed(_) => JobError::Ended(job.id.clone()),
            })
    }

    /// Ends a job with everything it started; returns once it is gone. One that has ended stays as it is.
    pub async fn kill(&self, id: &str, cap: usize) -> Result<News, JobError> {
        let job = self.find(id)?;
        let now = job.end().await;
        Ok(job.news(now, cap)?)
    }

    pub fn list(&self) -> Vec<JobInfo> {
        self.table().jobs.values().map(|job| job.info()).collect()
    }

    /// The ids of those that run.
    pub fn running(&self) -> Vec<String> {
        lock(&self.running.ids).clone()
    }

    /// Ends all that run.
    pub async fn close(&self) {
        let jobs: Vec<_> = self.table().jobs.values().cloned().collect();
        jobs.iter().for_each(|job| job.cancel.cancel());
        for job in jobs {
            job.end().await;
        }
    }

    fn find(&self, id: &str) -> Result<Arc<Job>, JobError> {
        let table = self.table();
        let wanted = id.trim();
        // The number alone says it too.
        let named = table
            .jobs
            .values()
            .find(|job| job.id == wanted || job.id.strip_prefix('j') == Some(wanted));
        named.cloned().ok_or_else(|| {
            let ids: Vec<&str> = table.jobs.values().map(|j| j.id.as_str()).collect();
            JobError::Unknown {
                id: id.chars().take(40).collect(),
                known: match ids.as_slice() {
                    [] => "No job was started.".into(),
                    some => format!("Known: {}.", some.join(", ")),
                },
            }
        })
    }

    /// A log that no earlier run of this session has used, so that an id never means two jobs.
    fn new_log(&self, last: u64) -> io::Result<(u64, File, PathBuf)> {
        for number in last + 1..=MAX_JOBS {
            let path = self.artifacts.path(&format!("job-j{number}.log"))?;
            let mut options = ostler_host::private_options();
            match options.write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((number, file, path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::other("this session has had too many jobs"))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.table()
            .jobs
            .values()
            .for_each(|job| job.cancel.cancel());
    }
}

impl Table {
    fn forget_oldest(&mut self) {
        let mut surplus = self.jobs.len().saturating_sub(MAX_RUNNING + MAX_FINISHED);
        self.jobs.retain(|_, job| {
            let keep = surplus == 0 || job.is_running();
            surplus -= usize::from(!keep);
            keep
        });
    }
}

impl Job {
    fn is_running(&self) -> bool {
        self.progress.borrow().state == JobState::Running
    }

    async fn end(&self) -> Progress {
        self.cancel.cancel();
        let mut progress = self.progress.clone();
        // An owner that is gone without a last word had its process dropped, and so killed, with it.
        drop(progress.wait_for(|p| p.state != JobState::Running).await);
        *progress.borrow()
    }

    fn news(&self, now: Progress, cap: usize) -> io::Result<News> {
        let mut read = lock(&self.read);
        let to = match now.state {
            JobState::Running => whole_characters(&self.log, *read, now.written)?,
            JobState::Exited(_) | JobState::Killed(_) => now.written,
        };
        let output = cut::cut_file(&self.log, *read, to, cap)?;
        *read = to;
        Ok(News {
            id: self.id.clone(),
            output,
            dropped: now.dropped,
            state: now.state,
            hosts: self.hosts.get().cloned(),
        })
    }

    fn info(&self) -> JobInfo {
        let now = *self.progress.borrow();
        let tail = cut::cut_file(
            &self.log,
            now.written.saturating_sub(LAST_LINE),
            now.written,
            0,
        );
        let last_line = tail.map_or_else(
            |_| String::new(),
            |t| {
                t.text
                    .trim_end()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .to_owned()
            },
        );
        JobInfo {
            id: self.id.clone(),
            command: self.command.clone(),
            state: now.state,
            started: self.started,
            last_line,
        }
    }
}

/// The code a shell would report.
pub fn exit_code(exit: Exit) -> i32 {
    match (exit.code, exit.signal) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => -1,
    }
}

/// Waits until output that is coming has come.
async fn settle(progress: &mut watch::Receiver<Progress>, until: Instant) {
    let until = until.min(Instant::now() + LONGEST_BURST);
    while progress.borrow_and_update().state == JobState::Running {
        let quiet = until.min(Instant::now() + QUIET);
        match tokio::time::timeout_at(quiet, progress.changed()).await {
            Ok(Ok(())) if Instant::now() < until => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// The end of the last whole character before `to`: the rest of one that is still being written comes with the next read.
fn whole_characters(log: &Path, from: u64, to: u64) -> io::Result<u64> {
    use std::io::{Read, Seek, SeekFrom};
    let back = (to - from).min(4);
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(to - back))?;
    let mut end = Vec::new();
    file.take(back).read_to_end(&mut end)?;
    Ok(to - (end.len() - cut::char_end(&end)) as u64)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
