//! The model looks up what earlier sessions said, through every part of the real program.

mod common;

use common::{Scene, each_kind};
use ostler_testkit::{Server, Step};
use serde_json::{Value, json};

/// The result of a call in another session.
fn looked_up(scene: &Scene, args: Value) -> String {
    scene.server.push(Step::answer().call("history", args));
    scene.server.push(Step::answer().text("ok"));
    scene
        .exec("Which port did we say the quagga gateway has?")
        .ok();
    let requests = scene.server.requests();
    let results = requests.last().unwrap().tool_results();
    results.last().unwrap().1.clone()
}

#[test]
fn a_later_session_finds_what_an_earlier_one_said() {
    each_kind(|kind| {
        let server = Server::start([Step::answer().text("The quagga gateway listens on 7741.")]);
        let scene = Scene::of(kind, "[permissions]\nallow = [\"history\"]\n", server);
        scene.exec("Where does the gateway listen? 网关端口").ok();
        let id = scene.session_id();
        let found = looked_up(&scene, json!({"query": "quagga gateway port"}));
        // The question of the running turn is no answer to itself.
        assert!(
            found.starts_with(&format!("{} #", &id[..8])) && !found.contains("Which port"),
            "{found}"
        );
        assert!(
            found.contains("The quagga gateway listens on 7741."),
            "{found}"
        );
        let found = looked_up(&scene, json!({"query": "网关", "scope": "global"}));
        assert!(found.contains("网关端口"), "{found}");
        let near = looked_up(
            &scene,
            json!({"operation": "around", "session": &id[..8], "entry": 2}),
        );
        assert!(near.contains("Where does the gateway listen?"), "{near}");
        let none = looked_up(&scene, json!({"query": "xylophone"}));
        assert!(
            none.contains("Try other or fewer words, or scope global"),
            "{none}"
        );
        // Nothing but a search makes an index.
        let index = scene.space.home().join("cache/history.sqlite");
        assert!(index.exists());
        std::fs::remove_dir_all(index.parent().unwrap()).unwrap();
        scene.server.push(Step::answer().text("hi"));
        scene.exec("hello").ok();
        assert!(!index.exists());
    });
}
