//! The memory of a process and everything below it, by looking at `/proc` again and again. Zero where there is none.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    Off,
    Every(Duration),
}

/// Watches until it is asked for the peak.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Sampler {
    pub fn start(pid: u32, sampling: Sampling) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ours = stop.clone();
        let thread = match sampling {
            Sampling::Off => None,
            Sampling::Every(pause) => Some(std::thread::spawn(move || watch(pid, pause, &ours))),
        };
        Self { stop, thread }
    }

    /// The largest sum seen, in kB.
    pub fn peak_kb(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread.and_then(|t| t.join().ok()).unwrap_or(0)
    }
}

/// A process counts from its second sample on: a fork that has not become its program yet would count the pages of its
/// parent twice.
fn watch(pid: u32, pause: Duration, stop: &AtomicBool) -> u64 {
    let mut peak = 0;
    let mut seen = HashSet::from([pid]);
    while !stop.load(Ordering::Relaxed) {
        let tree = below(pid);
        let sum = tree
            .iter()
            .filter(|p| seen.contains(p))
            .map(|p| resident_kb(*p))
            .sum();
        peak = peak.max(sum);
        seen = tree.into_iter().chain([pid]).collect();
        std::thread::sleep(pause);
    }
    peak
}

/// The process and all its descendants.
fn below(pid: u32) -> Vec<u32> {
    let mut out = vec![pid];
    let mut at = 0;
    while let Some(pid) = out.get(at).copied() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            out.extend(
                children
                    .split_whitespace()
                    .filter_map(|c| c.parse::<u32>().ok()),
            );
        }
        at += 1;
    }
    out
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
