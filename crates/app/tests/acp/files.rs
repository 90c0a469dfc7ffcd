//! Files as the editor has them: not saved yet, and changed through it.

use super::{Editor, Scene, Step, chosen, scene};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// An editor with one open file that it has not saved, which says yes to everything. It saves what it is given.
fn editor_with(scene: &Scene, unsaved: &str) -> Editor {
    let both = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::start(scene, both);
    let open = Arc::new(Mutex::new(unsaved.to_owned()));
    editor.answers = Box::new(move |request| {
        let params = &request["params"];
        match request["method"].as_str() {
            Some("fs/read_text_file") => Some(json!({"content": *open.lock().unwrap()})),
            Some("fs/write_text_file") => {
                let text = params["content"].as_str().unwrap();
                text.clone_into(&mut open.lock().unwrap());
                std::fs::write(params["path"].as_str().unwrap(), text).unwrap();
                Some(Value::Object(serde_json::Map::new()))
            }
            _ => chosen(request, "allow_once"),
        }
    });
    editor
}

fn read_and_edit() -> [Step; 3] {
    let edit = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    [
        Step::answer().call("read_file", json!({"path": "a.txt"})),
        Step::answer().call("edit_file", edit),
        Step::answer().text("Done."),
    ]
}

#[test]
fn what_is_not_saved_is_read_and_an_edit_goes_through_the_editor() {
    let scene = scene(read_and_edit());
    scene.space.write("a.txt", "one\n");
    let mut editor = editor_with(&scene, "one\ntwo\n");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "edit it"), "end_turn");
    let seen = scene.server.request(1).body.to_string();
    assert!(seen.contains("two"), "{seen}");
    assert_eq!(editor.asked("fs/write_text_file").len(), 1);
    assert_eq!(scene.space.read("a.txt"), "one\n2\n");
}

#[test]
fn an_editor_is_asked_for_nothing_while_a_command_runs() {
    let job =
        json!({"command": "touch begun; while [ ! -e go ]; do sleep 0.05; done", "wait": false});
    let wait = json!({"command": "while [ ! -e begun ]; do sleep 0.05; done"});
    let steps = [
        Step::answer().call("bash", job),
        Step::answer().call("bash", wait),
    ];
    let scene = scene(steps.into_iter().chain(read_and_edit()));
    scene.space.write("a.txt", "one\ntwo\n");
    let mut editor = editor_with(&scene, "changed in the editor\n");
    let id = editor.open(scene.space.root());
    assert_eq!(editor.prompt(&id, "edit it"), "end_turn");
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        assert_eq!(editor.asked(method), Vec::<Value>::new());
    }
    assert_eq!(scene.space.read("a.txt"), "one\n2\n");
    scene.space.write("go", "");
}
