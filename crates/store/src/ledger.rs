//! One line per request and user: what was spent, by whom. `ostler usage` sums it.

use ostler_wire::Usage;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub ts: String,
    pub session: String,
    pub project: String,
    #[serde(default)]
    pub role: String,
    /// The session that started it, if the person did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "purse")]
    pub budget_session: Option<String>,
    #[serde(flatten)]
    pub tokens: Tokens,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    pub provider: String,
    pub model: String,
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        Self {
            provider: usage.provider.clone(),
            model: usage.model.clone(),
            input: usage.input,
            cached: usage.cached,
            cache_write: usage.cache_write,
            output: usage.output,
            cost: usage.cost,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    pub fn new(home: &Path) -> Self {
        Self {
            path: home.join("ledger.jsonl"),
        }
    }

    /// The folder that it lies in.
    pub fn home(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Appends one line in one write, so that several processes can share the file.
    pub fn add(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        if let Some(dir) = self.path.parent() {
            ostler_files::private_dir(dir)?;
        }
        ostler_files::private_options()
            .append(true)
            .create(true)
            .open(&self.path)?
            .write_all(text.as_bytes())
    }

    /// Every readable line from a byte on, and the byte to go on from. From the start when the file has become shorter.
    pub fn since(&self, from: u64) -> io::Result<(Vec<Line>, u64)> {
        let mut file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(e) => return Err(e),
        };
        let from = if file.metadata()?.len() < from {
            0
        } else {
            from
        };
        file.seek(io::SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line without an end is still being written.
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        bytes.truncate(whole);
        Ok((parsed(&bytes), from + whole as u64))
    }

    /// Every readable line.
    pub fn lines(&self) -> io::Result<Vec<Line>> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        Ok(parsed(&bytes))
    }
}

fn parsed(bytes: &[u8]) -> Vec<Line> {
    bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str, cost: Option<f64>) -> Line {
        Line {
            ts: "2026-11-15T10:00:00.000Z".into(),
            session: session.into(),
            project: "app-00000000".into(),
            role: "main".into(),
            budget_session: None,
            tokens: Tokens {
                provider: "p".into(),
                model: "m".into(),
                input: 9,
                cost,
                ..Tokens::default()
            },
        }
    }

    #[test]
    fn lines_of_many_writers_read_back_whole() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(&dir.path().join("home"));
        assert_eq!(ledger.lines().unwrap(), []);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let ledger = ledger.clone();
                scope.spawn(move || {
                    for n in 0..25 {
                        ledger
                            .add(&line(&format!("{writer}-{n}"), Some(0.5)))
                            .unwrap();
                    }
                });
            }
        });
        let mut sessions: Vec<String> = ledger
            .lines()
            .unwrap()
            .into_iter()
            .map(|l| l.session)
            .collect();
        sessions.sort();
        sessions.dedup();
        assert_eq!(sessions.len(), 100);
    }

    #[test]
    fn it_is_read_on_from_where_it_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path());
        assert_eq!(ledger.since(9).unwrap(), (Vec::new(), 0));
        ledger.add(&line("a", None)).unwrap();
        let (lines, at) = ledger.since(0).unwrap();
        assert_eq!(lines, [line("a", None)]);
        ledger.add(&line("b", None)).unwrap();
        let (lines, end) = ledger.since(at).unwrap();
        assert_eq!((lines, end), (vec![line("b", None)], 2 * at));
        let path = dir.path().join("ledger.jsonl");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        assert_eq!(ledger.since(end).unwrap(), (vec![line("a", None)], at));
    }

    #[test]
    fn what_cannot_be_read_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path());
        ledger.add(&line("a", None)).unwrap();
        let path = dir.path().join("ledger.jsonl");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(b"\n\xff\xfe\nnot json\n{\"ts\":1}\n");
        std::fs::write(&path, bytes).unwrap();
        ledger.add(&line("b", Some(1.0))).unwrap();
        assert_eq!(
            ledger.lines().unwrap(),
            [line("a", None), line("b", Some(1.0))]
        );
    }
}
