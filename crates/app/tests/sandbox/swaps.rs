//! Folders that commands put a link in the place of, or rename, for the next command or file tool.

use super::traces::{bash, config, layers};
use super::{layer, skipped};
use crate::common::Scene;
use ostler_host::sandbox::Layer;
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};

/// Renames the session's folder and makes one whose inner folder is a link to `$HOME/victim`.
const SWAP_TEMP: &str = r#"
d=$(sed -n 's|.* \([^ ]*/ostler-tmp-[0-9a-f-]*\)/tmp .*|\1|p' /proc/self/mountinfo | head -n 1)
case $TMPDIR in */ostler-tmp-*) d=${TMPDIR%/tmp} ;; esac
for b in "$BASE/${d##*/}" $d; do
  mv "$b" "$b.x" && mkdir "$b" && ln -s $HOME/victim "$b/tmp" && echo swapped
done
"#;

/// Runs the calls in one session and gives what the model read.
fn calls(
    scene: &Scene,
    flags: &[&str],
    env: &[(&str, &str)],
    calls: &[(&str, Value)],
) -> Vec<String> {
    for (tool, args) in calls {
        scene.server.push(Step::answer().call(tool, args.clone()));
    }
    scene.server.push(Step::answer().text("ok"));
    let run = scene.ostler(["exec", "--yolo", "-p", "go"]).args(flags);
    let run = env
        .iter()
        .fold(run, |run, (name, value)| run.env(name, value));
    run.output().ok();
    let results = scene.server.request(calls.len()).tool_results();
    results.into_iter().map(|(_, text, _)| text).collect()
}

/// A project, and a folder of the person that nobody named.
fn scene(config: &str) -> Scene {
    let scene = Scene::with_config(Kind::Chat, config, []);
    scene.space.write("README", "hello");
    let victim = scene.space.user_home().join("victim");
    scene.space.write(victim.join("out/file"), "theirs");
    scene.space.write(victim.join(".ssh/id"), "private-4711");
    scene
}

#[track_caller]
fn untouched(scene: &Scene, told: &[String]) {
    let victim = scene.space.user_home().join("victim");
    for name in ["new", "out/new", "out/tool", "tool", "reader-0"] {
        assert!(!victim.join(name).exists(), "{name}: {told:#?}");
    }
}

#[test]
fn a_session_folder_that_is_swapped_for_a_link_is_refused() {
    for layer in layers() {
        let forbid = "forbid_read = ['~/victim/.ssh']\n";
        let scene = scene(&format!("{}{forbid}", config(layer)));
        let base = scene.space.root().join("t");
        scene.space.write(base.join("keep"), "");
        let base = base.display().to_string();
        let told = calls(
            &scene,
            &[],
            &[("TMPDIR", &base), ("BASE", &base)],
            &[
                bash(SWAP_TEMP),
                bash("echo x > $TMPDIR/new; echo x > $HOME/victim/new; cat $TMPDIR/.ssh/id"),
                bash("ls"),
                ("write_file", json!({"path": "/tmp/tool", "content": "x"})),
                ("write_file", json!({"path": "t/tool", "content": "x"})),
                ("read_file", json!({"path": "/tmp/.ssh/id"})),
            ],
        );
        untouched(&scene, &told);
        let all = told.join("\n");
        assert!(!all.contains("private-4711"), "{layer}: {told:#?}");
        match layer {
            // Mounts keep the folder where it is, and the session goes on.
            "namespaces" => assert!(!all.contains("swapped"), "{told:#?}"),
            _ => {
                assert!(told[0].contains("swapped"), "{told:#?}");
                assert!(told[1].contains("was replaced"), "{told:#?}");
            }
        }
    }
}

#[test]
fn a_granted_folder_that_is_swapped_for_a_link_is_refused() {
    for layer in layers() {
        for by_flag in [true, false] {
            let mut text = config(layer);
            if !by_flag {
                text.push_str("allow_write = ['a1/out']\n");
            }
            let scene = scene(&text);
            scene.space.write("a1/out/file", "ours");
            let flags: &[&str] = match by_flag {
                true => &["--add-dir", "a1/out"],
                false => &[],
            };
            let told = calls(
                &scene,
                flags,
                &[],
                &[
                    bash("mv a1 a1.x; ln -s $HOME/victim a1; readlink a1"),
                    bash("echo x > a1/out/new; echo x > $HOME/victim/out/new"),
                    ("write_file", json!({"path": "a1/out/tool", "content": "x"})),
                    bash("cat a1/out/file"),
                ],
            );
            match layer {
                "namespaces" => assert!(told[3].contains("ours"), "{told:#?}"),
                // The link is taken out, or the next command refused.
                _ => {
                    let is_held =
                        told[0].contains("was put back") || told[1].contains("was replaced");
                    assert!(is_held, "{told:#?}");
                    untouched(&scene, &told);
                }
            }
            let victim = scene.space.user_home().join("victim/out");
            for name in ["new", "tool"] {
                assert!(!victim.join(name).exists(), "{layer} {name}: {told:#?}");
            }
        }
    }
}

#[test]
fn what_is_hidden_stays_so_when_a_folder_above_is_renamed() {
    if layer() != Some(Layer::Namespaces) {
        return skipped("without mounts nothing is hidden in a writable folder");
    }
    for hide in [
        "forbid_read = ['s1/s2/k']\n",
        "[permissions]\ndeny = ['Read(s1/s2/k)']\n",
    ] {
        let scene = scene(&format!("{}{hide}", config("namespaces")));
        scene.space.write("s1/s2/k", "private-4711");
        let told = calls(
            &scene,
            &[],
            &[],
            &[
                bash("mv s1 s3; mv s1/s2 s4; cat s3/s2/k s4/k"),
                bash("cat s3/s2/k s4/k s1/s2/k"),
                (
                    "move_file",
                    json!({"source_path": "s1", "destination_path": "s5"}),
                ),
                (
                    "move_file",
                    json!({"source_path": "s1/s2/k", "destination_path": "k"}),
                ),
                ("read_file", json!({"path": "s3/s2/k"})),
                ("read_file", json!({"path": "s5/s2/k"})),
                ("read_file", json!({"path": "k"})),
                bash("cat s5/s2/k k; ls"),
            ],
        );
        let all = told.join("\n");
        assert!(!all.contains("private-4711"), "{hide}: {told:#?}");
        assert!(scene.space.exists("s1/s2/k"), "{told:#?}");
    }
}

/// A link that leads into the project and out of it in turn: an unattended call is judged and opened by the same look.
#[test]
fn a_link_that_is_swapped_while_a_call_is_judged_shows_nothing() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    const ROUNDS: usize = 30;
    const CALLS: usize = 12;
    let scene = scene("");
    let root = scene.space.root();
    scene.space.write("open/id", "harmless");
    let victim = scene.space.user_home().join("victim/.ssh");
    symlink(root.join("open"), root.join("d")).expect("a link");
    for _ in 0..ROUNDS {
        let step = (0..CALLS).fold(Step::answer(), |step, call| match call % 2 {
            0 => step.call("read_file", json!({"path": "d/id"})),
            _ => step.call("grep", json!({"pattern": "private", "path": "d/id"})),
        });
        scene.server.push(step);
    }
    scene.server.push(Step::answer().text("ok"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let fresh = root.join("fresh");
            for target in [root.join("open"), victim].iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                symlink(target, &fresh).expect("a link");
                std::fs::rename(&fresh, root.join("d")).expect("swapped");
            }
        });
        let run = scene.ostler(["exec", "-p", "go"]).output();
        over.store(true, Ordering::Relaxed);
        drop(run);
    });
    let results = scene.server.request(ROUNDS).tool_results();
    let texts: Vec<String> = results.into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts.len(), ROUNDS * CALLS);
    let has = |what: &str| texts.iter().filter(|text| text.contains(what)).count();
    assert!(has("harmless") > 0, "nothing was read");
    assert_eq!(has("private-4711"), 0, "a file outside was shown");
}

#[test]
fn what_is_hidden_behind_a_link_stays_so_when_the_link_is_changed() {
    for layer in layers() {
        for hide in [
            "forbid_read = ['link/.ssh/id']\n",
            "[permissions]\ndeny = ['Read(link/.ssh/id)']\n",
        ] {
            let scene = scene(&format!("{}{hide}", config(layer)));
            let victim = scene.space.user_home().join("victim");
            let link = scene.space.root().join("link");
            std::os::unix::fs::symlink(&victim, link).expect("a link");
            let told = calls(
                &scene,
                &[],
                &[],
                &[
                    bash("cat link/.ssh/id; rm link && ln -s . link && echo changed"),
                    bash("cat $HOME/victim/.ssh/id"),
                ],
            );
            assert!(told[0].contains("changed"), "{layer} {hide}: {told:#?}");
            let all = told.join("\n");
            assert!(!all.contains("private-4711"), "{layer} {hide}: {told:#?}");
        }
    }
}
