//! Random scripts of the things that destroy work, rewound. Built with `OSTLER_SCRIPTS=1000` it runs as many, with
//! `OSTLER_SCRIPTS=7-7` one seed; a failure names its seed.

use super::*;
use std::process::{Command, Stdio};

const SCRIPTS: u64 = 40;
/// Scripts at a time.
const LANES: usize = 4;
const LARGE: usize = 5 << 20;

/// A small generator whose whole state is its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut x = self.0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        usize::try_from(x % sides as u64).expect("small")
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }

    fn name(&mut self) -> PathBuf {
        let names: [&[u8]; 12] = [
            b"a",
            b"b",
            b"c.txt",
            b"src",
            b"lib",
            b"x y",
            b"\xff\xfe",
            b"build",
            b"deep",
            b".hidden",
            "ü".as_bytes(),
            b"a\nb",
        ];
        let depth = 1 + self.roll(4);
        (0..depth)
            .map(|_| raw_name(self.pick::<&[u8]>(&names)))
            .collect()
    }

    fn content(&mut self, large: bool) -> Vec<u8> {
        let len = match self.roll(8) {
            0 => 0,
            1 => 70_000,
            2 if large => LARGE,
            n => n * 37,
        };
        let binary = self.roll(2) == 0;
        let seed = self.roll(251);
        (0..len)
            .map(|i| {
                let byte = ((i / 7) * 31 + i + seed) % 256;
                if binary {
                    byte as u8
                } else {
                    b'a' + (byte % 26) as u8
                }
            })
            .collect()
    }
}

/// Runs git on a folder, cut off from this machine's settings. False when there is no git or it failed.
pub fn git(root: &Path, args: &[&str]) -> bool {
    let status = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.invalid",
            "-c",
            "core.autocrlf=true",
        ])
        .args(args)
        .current_dir(root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

fn all_paths(root: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        let mut entries: Vec<_> = entries.flatten().map(|e| e.path()).collect();
        entries.sort();
        for path in entries {
            if path == root.join(".git") {
                continue;
            }
            if fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) {
                todo.push(path.clone());
            }
            out.push(path);
        }
    }
    out
}

fn remove(path: &Path) {
    let _ = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
}

/// Whether a path leads into the root, links followed as far as it exists.
fn stays_within(root: &Path, path: &Path) -> bool {
    let root = fs::canonicalize(root).expect("a root");
    let there = path.ancestors().find(|p| fs::symlink_metadata(p).is_ok());
    there.is_some_and(|there| match fs::canonicalize(there) {
        Ok(real) => real.starts_with(&root),
        // It dangles or is a loop: the link itself can be changed, nothing goes through it.
        Err(_) => there == path,
    })
}

fn new_repository(at: &Path) -> bool {
    fs::create_dir_all(at).is_ok() && git(at, &["init", "-q"])
}

/// One step of a script. Steps that the system refuses do nothing, as in a shell without `set -e`.
fn step(dice: &mut Dice, root: &Path, large: bool) {
    let there = all_paths(root);
    let old = (!there.is_empty()).then(|| dice.pick(&there).clone());
    let new = root.join(dice.name());
    // No step may leave the scratch folder by a link that an earlier one made.
    if !stays_within(root, &new) || old.as_ref().is_some_and(|old| !stays_within(root, old)) {
        return;
    }
    let is_link = |p: &Path| fs::symlink_metadata(p).is_ok_and(|m| m.is_symlink());
    let is_dir = |p: &Path| fs::symlink_metadata(p).is_ok_and(|m| m.is_dir());
    match (dice.roll(15), old) {
        (0..=2, _) => {
            let _ = fs::create_dir_all(new.parent().expect("a parent"));
            let _ = fs::write(&new, dice.content(large));
        }
        (3, Some(old)) => remove(&old),
        (4, Some(old)) => {
            let _ = fs::rename(old, new);
        }
        (5, Some(old)) if !is_link(&old) => {
            let modes = if is_dir(&old) {
                [0o755, 0o700, 0o555, 0o775]
            } else {
                [0o644, 0o755, 0o444, 0o600]
            };
            chmod(&old, *dice.pick(&modes));
        }
        (6, _) => {
            let targets = ["a", ".", "src/lib", "self", "/no/such/place"];
            let _ = symlink(dice.pick(&targets), new);
        }
        (7, _) => {
            let _ = fs::create_dir_all(new);
        }
        (8, Some(old)) => {
            let was_dir = is_dir(&old);
            remove(&old);
            if was_dir {
                let _ = fs::write(&old, dice.content(false));
            } else {
                let _ = fs::create_dir(&old);
                let _ = fs::write(old.join("inside"), dice.content(false));
            }
        }
        (9, Some(old)) if !is_dir(&old) => {
            let mut bytes = fs::read(&old).unwrap_or_default();
            bytes.extend_from_slice(b"\r\nmore\r\n");
            let _ = fs::write(&old, bytes);
        }
        (10, _) if dice.roll(3) == 0 => {
            git(root, &["reset", "-q", "--hard"]);
        }
        (11, _) if dice.roll(3) == 0 => {
            git(root, &["clean", "-q", "-ffdx"]);
        }
        (12, _) if dice.roll(4) == 0 && new_repository(&new) => {
            let _ = fs::write(new.join("nested"), dice.content(false));
            git(&new, &["add", "."]);
            git(&new, &["commit", "-q", "-m", "nested"]);
        }
        (13, _) if dice.roll(4) == 0 => {
            for path in there {
                remove(&path);
            }
        }
        (14, Some(old)) => {
            let _ = fs::hard_link(old, new);
        }
        _ => {}
    }
}

fn script(seed: u64) {
    let mut dice = Dice(seed);
    let mut world = World::new();
    world.limits.wait = Duration::from_secs(60);
    let root = world.root();
    let large = dice.roll(10) == 0;
    let repository = dice.roll(3) > 0 && git(&root, &["init", "-q", "-b", "main"]);
    // Half of them ask for ignored files, too, as a command that cleans does.
    let scope = Scope {
        ignored: if dice.roll(2) == 0 {
            Ignored::Saved
        } else {
            Ignored::LeftOut
        },
        ..Scope::default()
    };
    for _ in 0..5 + dice.roll(25) {
        step(&mut dice, &root, large);
    }
    if scope.ignored == Ignored::Saved {
        let _ = fs::write(root.join(".gitignore"), "build\n*.txt\n");
    }
    if repository {
        git(&root, &["add", "."]);
        git(&root, &["commit", "-q", "-m", "start"]);
    }
    let store = world.open();
    let mut taken = Vec::new();
    for _ in 0..2 + dice.roll(3) {
        let record = store
            .take("step", &scope)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(record.left_out, [], "seed {seed}");
        taken.push((record.id, world.state()));
        for _ in 0..1 + dice.roll(12) {
            step(&mut dice, &root, large);
        }
    }
    let unsaved = world.state();
    let (id, expect) = dice.pick(&taken).clone();
    let guard = Guard {
        expected: None,
        unseen: Unseen::Overwrite,
    };
    let rewind = |id| {
        let report = store.restore(id, &What::default(), &guard);
        report.unwrap_or_else(|e| panic!("seed {seed}: {e}"))
    };
    let report = rewind(id);
    assert_eq!(report.kept, [], "seed {seed}");
    assert_eq!(world.state(), expect, "seed {seed}: rewound");
    assert_eq!(rewind(report.before).kept, [], "seed {seed}");
    assert_eq!(world.state(), unsaved, "seed {seed}: undone");
}

#[test]
fn random_scripts_are_rewound_to_the_same_tree() {
    let asked = option_env!("OSTLER_SCRIPTS").unwrap_or_default();
    let (first, last) = asked.split_once('-').unwrap_or(("1", asked));
    let first: u64 = first.parse().unwrap_or(1);
    let last: u64 = last.parse().unwrap_or(SCRIPTS);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let seeds = (first..=last).skip(lane).step_by(LANES);
            scope.spawn(move || seeds.for_each(script));
        }
    });
}
