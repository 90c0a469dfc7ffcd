//! Places where something is wrong: no room, no right to run, another processor, files of somebody else, output without end.
//! Each is a sentence of its own, nothing is lost, and the session goes on.

use super::{helper, is_there, told};
use crate::common::{Scene, skipped};
use ostler_testkit::{Kind, Output, Step};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of its own, for the time of a test. It takes root.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(path)
            .output();
        if !done.is_ok_and(|out| out.status.success()) {
            skipped("a small file system cannot be mounted here");
            return None;
        }
        Some(Self(path.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// A place reached by `env` with these variables, whose home and project are folders of the test.
struct Spot {
    scene: Scene,
    home: PathBuf,
    project: PathBuf,
}

fn spot(steps: impl IntoIterator<Item = Step>) -> Option<Spot> {
    helper()?;
    let scene = Scene::new(Kind::Chat, steps);
    let top = scene.space.user_home().join("place");
    let (home, project) = (top.join("home"), top.join("project"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&project).unwrap();
    Some(Spot {
        scene,
        home,
        project,
    })
}

impl Spot {
    fn exec(&self, prefix: &[&str], more: &str) -> Output {
        let home = format!("HOME={}", self.home.display());
        let mut words = prefix.to_vec();
        words.extend(["env", "-u", "XDG_CACHE_HOME", "-u", "XDG_DATA_HOME", &home]);
        let config = self.scene.space.home().join("config.toml");
        let text = format!(
            "{}\n[host.odd]\nexec = {words:?}\nroot = {:?}\n{more}",
            self.scene.space.read(&config),
            self.project
        );
        self.scene.space.write(&config, text);
        let args = ["exec", "--host", "odd", "--install-helper", "--yolo"];
        let run = self
            .scene
            .ostler(args)
            .args(["--format", "json", "-p", "x"]);
        run.output()
    }
}

fn write(path: &str, content: &str) -> Step {
    Step::answer().call("write_file", json!({"path": path, "content": content}))
}

fn read(path: &str) -> Step {
    Step::answer().call("read_file", json!({ "path": path }))
}

fn bash(command: &str) -> Step {
    Step::answer().call("bash", json!({ "command": command }))
}

fn done() -> Step {
    Step::answer().text("Done.")
}

#[test]
fn a_full_disk_keeps_what_was_there() {
    let large = "0123456789abcdef".repeat(6_000);
    let Some(spot) = spot([
        write("a.txt", "as it was\n"),
        write("a.txt", &large),
        write("b.txt", &large),
        read("a.txt"),
        bash("cat /dev/zero > c.bin; rm -f c.bin; echo on"),
        done(),
    ]) else {
        return;
    };
    let Some(_full) = Mounted::new(&spot.project, "size=64k") else {
        return;
    };
    let out = spot.exec(&[], "").ok();
    let told = told(&out);
    for at in [1, 2] {
        assert!(told[at].contains(r#""ok":false"#), "{told:?}");
        assert!(told[at].to_lowercase().contains("space"), "{}", told[at]);
    }
    assert!(told[3].contains("as it was"), "{told:#?}");
    assert!(told[4].contains("on"), "{}", told[4]);
    assert!(!spot.project.join("b.txt").exists());
}

#[test]
fn no_room_for_the_helper_is_one_sentence() {
    let Some(spot) = spot([done()]) else {
        return;
    };
    let Some(_full) = Mounted::new(&spot.home, "size=64k") else {
        return;
    };
    let out = spot.exec(&[], "");
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("there is no room in"), "{}", out.stderr);
    assert!(out.stderr.contains("XDG_CACHE_HOME"), "{}", out.stderr);
    // Nothing of it is left.
    let folder = spot.home.join(".cache/ostler");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_home_where_nothing_runs_is_one_sentence() {
    let Some(spot) = spot([done()]) else {
        return;
    };
    let Some(_noexec) = Mounted::new(&spot.home, "noexec") else {
        return;
    };
    let out = spot.exec(&[], "");
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("nothing may run"), "{}", out.stderr);
    assert!(out.stderr.contains("XDG_CACHE_HOME"), "{}", out.stderr);
}

/// A folder with a `uname` that says so.
fn says(folder: &Path, processor: &str) -> String {
    std::fs::create_dir_all(folder).unwrap();
    let script = format!("#!/bin/sh\ncase $1 in -m) echo {processor};; *) echo Linux;; esac\n");
    let program = folder.join("uname");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("PATH={}:/usr/bin:/bin", folder.display())
}

#[test]
fn another_processor_is_said_with_the_file_that_it_takes() {
    let Some(spot) = spot([done()]) else {
        return;
    };
    // Nothing of ours lies there, so it is asked what it is.
    let path = says(&spot.scene.space.user_home().join("bin"), "riscv64");
    let out = spot.exec(&["env", &path], "");
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    let expect = "There is no helper for linux riscv64. Put one named ostler-host-linux-riscv64";
    assert!(out.stderr.contains(expect), "{}", out.stderr);
}

#[test]
fn a_helper_of_another_processor_is_said() {
    let Some(spot) = spot([done()]) else {
        return;
    };
    let path = says(&spot.scene.space.user_home().join("bin"), "riscv64");
    let helpers = spot.scene.space.user_home().join("helpers");
    std::fs::create_dir_all(&helpers).unwrap();
    // The head of a program for that processor.
    let mut bytes = vec![
        0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 243, 0,
    ];
    bytes.resize(200, 0);
    std::fs::write(helpers.join("ostler-host-linux-riscv64"), bytes).unwrap();
    let more = format!("[helper]\nfolder = {helpers:?}\n");
    let out = spot.exec(&["env", &path], &more);
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("cannot run there"), "{}", out.stderr);
}

#[test]
fn files_of_somebody_else_are_refused_one_by_one() {
    if !is_there("setpriv") {
        return;
    }
    let Some(mut spot) = spot([
        read("theirs.txt"),
        write("theirs.txt", "x"),
        write("locked/new.txt", "x"),
        write("own.txt", "mine\n"),
        Step::answer().call("grep", json!({"pattern": "mine"})),
        bash("cat theirs.txt; id -u"),
        done(),
    ]) else {
        return;
    };
    if std::fs::metadata("/proc/self")
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) != 0)
    {
        skipped("files of somebody else take root to be made");
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rights = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    rights(folder.path(), 0o755);
    (spot.home, spot.project) = (folder.path().join("home"), folder.path().join("project"));
    for path in [&spot.home, &spot.project] {
        std::fs::create_dir(path).unwrap();
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    std::fs::write(spot.project.join("theirs.txt"), "secret of root").unwrap();
    rights(&spot.project.join("theirs.txt"), 0o600);
    std::fs::create_dir(spot.project.join("locked")).unwrap();
    rights(&spot.project.join("locked"), 0o755);
    let prefix = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let out = spot.exec(&prefix, "").ok();
    let told = told(&out);
    for at in 0..3 {
        assert!(told[at].contains(r#""ok":false"#), "{at}: {told:?}");
    }
    assert!(told[3].contains(r#""created":true"#), "{}", told[3]);
    assert!(told[4].contains("own.txt:1:mine"), "{}", told[4]);
    assert!(told[5].contains("65534"), "{}", told[5]);
    assert!(!out.stdout.contains("secret of root"));
}

#[test]
fn output_without_end_is_kept_in_part_and_its_end_is_told() {
    let Some(spot) = spot([
        bash("head -c 1000000000 /dev/zero | tr '\\\\0' x; echo; echo the end; exit 4"),
        bash("echo on"),
        done(),
    ]) else {
        return;
    };
    let out = spot.exec(&[], "").ok();
    let told = told(&out);
    assert!(told[0].contains(r#""exit_code":4"#), "{}", told[0]);
    assert!(
        told[0].contains("the end") && told[0].contains(r#""truncated":true"#),
        "{}",
        told[0]
    );
    assert!(told[0].len() < 200_000, "{}", told[0].len());
    assert!(told[1].contains("on"), "{}", told[1]);
}
