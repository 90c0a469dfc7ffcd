//! The table of jobs itself: names, limits, what is left of them.

use super::*;
use crate::testing::Bench;
use ostler_host::{Command, Host, Local, Stdio};

struct Yard {
    bench: Bench,
    host: Local,
    jobs: Jobs,
}

impl Yard {
    fn new() -> Self {
        let bench = Bench::new();
        let jobs = Jobs::new(Artifacts::new(bench.path("kept")));
        Self {
            bench,
            host: Local::new(),
            jobs,
        }
    }

    async fn start(&self, command: &str, so_far: &str) -> Result<String, JobError> {
        let process = self.host.spawn(Command {
            argv: vec!["sh".into(), "-c".into(), command.into()],
            cwd: self.bench.root(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdio: Stdio::Pipes,
            sandbox: None,
        });
        self.jobs.adopt(Adopted {
            process: process.await.unwrap(),
            command: command.to_owned(),
            plain: None,
            so_far: so_far.to_owned(),
            held: Vec::new(),
            confinement: None,
        })
    }

    /// All that is new, once the job has ended.
    async fn rest(&self, id: &str) -> (String, JobState) {
        let mut all = String::new();
        loop {
            let news = self
                .jobs
                .read(id, Until::News(Duration::from_secs(20)), 0)
                .await
                .unwrap();
            all.push_str(&news.output.text);
            if news.state != JobState::Running {
                return (all, news.state);
            }
        }
    }
}

#[tokio::test]
async fn a_job_has_a_name_a_log_and_an_end() {
    let yard = Yard::new();
    let id = yard
        .start("printf 'b\\nlast line\\n'; exit 7", "a\n")
        .await
        .unwrap();
    assert_eq!(
        yard.rest(&id).await,
        ("b\nlast line\n".into(), JobState::Exited(7))
    );
    let listed = yard.jobs.list();
    let expect = JobInfo {
        id: "j1".into(),
        command: "printf 'b\\nlast line\\n'; exit 7".into(),
        state: JobState::Exited(7),
        started: listed[0].started,
        last_line: "last line".into(),
    };
    assert_eq!(listed, [expect]);
    assert_eq!(yard.bench.get("kept/job-j1.log"), b"a\nb\nlast line\n");
}

#[tokio::test]
async fn a_name_used_by_an_earlier_run_is_not_used_again() {
    let yard = Yard::new();
    yard.bench.put("kept/job-j1.log", "old");
    yard.bench.put("kept/job-j2.log", "old");
    assert_eq!(yard.start("true", "").await.unwrap(), "j3");
    assert_eq!(yard.bench.get("kept/job-j1.log"), b"old");
}

#[tokio::test]
async fn half_a_character_waits_for_its_other_half() {
    let yard = Yard::new();
    let id = yard
        .start(
            "printf 'x\\342\\202'; while [ ! -e go ]; do sleep 0.02; done; printf '\\254y'",
            "",
        )
        .await
        .unwrap();
    let mut first = String::new();
    while first.is_empty() {
        let news = yard
            .jobs
            .read(&id, Until::News(Duration::from_secs(20)), 0)
            .await
            .unwrap();
        first.push_str(&news.output.text);
    }
    assert_eq!(first, "x");
    yard.bench.put("go", "");
    assert_eq!(yard.rest(&id).await.0, "€y");
}

#[tokio::test]
async fn only_so_many_run_at_once_and_closing_ends_them() {
    let yard = Yard::new();
    for _ in 0..MAX_RUNNING {
        yard.start("sleep 1000", "").await.unwrap();
    }
    assert!(matches!(yard.jobs.room(), Err(JobError::TooMany)));
    assert!(matches!(
        yard.start("sleep 1000", "").await,
        Err(JobError::TooMany)
    ));
    yard.jobs.kill("j5", 0).await.unwrap();
    assert_eq!(yard.start("true", "").await.unwrap(), "j33");
    yard.jobs.close().await;
    assert!(
        yard.jobs
            .list()
            .iter()
            .all(|job| job.state != JobState::Running)
    );
}

#[tokio::test]
async fn a_finished_job_beyond_the_limit_is_forgotten() {
    let mut table = Table::default();
    let job = |n: u64, state| {
        let (_, progress) = watch::channel(Progress {
            written: 0,
            dropped: 0,
            state,
        });
        Arc::new(Job {
            id: format!("j{n}"),
            command: String::new(),
            started: Timestamp::UNIX_EPOCH,
            log: PathBuf::new(),
            progress,
            read: Mutex::default(),
            input: None,
            cancel: CancellationToken::new(),
            hosts: Arc::default(),
        })
    };
    let limit = (MAX_RUNNING + MAX_FINISHED) as u64;
    table.jobs.insert(1, job(1, JobState::Running));
    table
        .jobs
        .extend((2..limit + 3).map(|n| (n, job(n, JobState::Exited(0)))));
    table.forget_oldest();
    let left: Vec<u64> = table.jobs.keys().copied().collect();
    assert_eq!(
        left,
        std::iter::once(1).chain(4..limit + 3).collect::<Vec<_>>()
    );
}
