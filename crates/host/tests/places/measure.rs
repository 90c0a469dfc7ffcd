//! How long operations take on each place: `cargo test -p ostler-host --test places -- --measure`. It asserts nothing.

use crate::common::env;
use crate::links::{delayed, places};
use ostler_host::search::{LineQuery, Mode, Search, Tree};
use ostler_host::{Border, Command, Host, Output, Roots, Span, Stdio, WriteOptions};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILES: usize = 5000;
const ROUNDS: usize = 30;
/// What a message there and its answer take at least.
const TRIPS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_millis(100),
];

pub fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure());
    ExitCode::SUCCESS
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for at in 0..FILES {
        let text = format!("line one\nfile {at}\n").repeat(20);
        std::fs::write(root.join(at.to_string()), text).unwrap();
    }
    std::fs::write(root.join("large"), vec![b'x'; 5_000_000]).unwrap();
    println!("median of {ROUNDS} rounds, in milliseconds");
    let mut hosts: Vec<(String, Arc<dyn Host>)> = Vec::new();
    for (place, host) in places().await {
        hosts.push((place.to_owned(), host));
    }
    for trip in TRIPS {
        let host = delayed(trip / 2).await;
        hosts.push((format!("{} ms away", trip.as_millis()), host));
    }
    for (place, host) in hosts {
        let host = &*host;
        let small = root.join("7");
        let large = root.join("large");
        let rows = [
            ("stat", median(|| stat(host, &small)).await),
            ("read 340 bytes", median(|| read(host, &small)).await),
            ("read 5 MB", median(|| read(host, &large)).await),
            ("write 340 bytes", median(|| write(host, &small)).await),
            ("grep 5,000 files", median(|| grep(host, &root)).await),
            ("sh -c true", median(|| spawn(host, "true")).await),
            (
                "1 MB of output",
                median(|| spawn(host, "head -c 1000000 /dev/zero")).await,
            ),
        ];
        for (what, time) in rows {
            println!("{place:11} {what:18} {:8.3}", time.as_secs_f64() * 1e3);
        }
    }
}

async fn median<F: Future<Output = ()>>(mut work: impl FnMut() -> F) -> Duration {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work().await;
        times.push(start.elapsed());
    }
    times.sort();
    times[ROUNDS / 2]
}

async fn stat(host: &dyn Host, path: &Path) {
    host.stat(path).await.unwrap();
}

async fn write(host: &dyn Host, path: &Path) {
    let bytes = "line one\nfile 7\n".repeat(20);
    let folder = path.parent().unwrap().to_owned();
    let options = WriteOptions {
        roots: Roots {
            writable: vec![folder],
            ..Roots::default()
        },
        create_parents: false,
    };
    host.write(path, bytes.into(), options).await.unwrap();
}

async fn read(host: &dyn Host, path: &Path) {
    let border = Arc::new(Border::none());
    host.read(path, Span::head(1 << 30), &border).await.unwrap();
}

async fn grep(host: &dyn Host, root: &Path) {
    let tree = Tree {
        base: root.to_owned(),
        root: root.to_owned(),
        temp: None,
        border: Arc::new(Border::none()),
    };
    let query = LineQuery {
        pattern: "file 4321$".into(),
        ignore_case: false,
        glob: None,
        kind: None,
        mode: Mode::Content,
        context: 0,
    };
    host.search(Search::Lines { tree, query }).await.unwrap();
}

async fn spawn(host: &dyn Host, script: &str) {
    let command = Command {
        argv: vec!["sh".into(), "-c".into(), script.into()],
        cwd: "/".into(),
        env: env(),
        stdio: Stdio::Pipes,
        sandbox: None,
    };
    let mut process = host.spawn(command).await.unwrap();
    while !matches!(process.next().await, Output::Exited(_)) {}
}
