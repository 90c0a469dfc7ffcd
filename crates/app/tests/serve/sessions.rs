//! Projects and sessions over the API: opened, listed, renamed, exported, deleted, shared with a terminal, resumed.

use super::bench::Bench;
use super::common::{of_type, wait_for};
use super::http::Response;
use ostler_testkit::{Kind, Place, Server, Step, json_lines};
use serde_json::{Value, json};

fn list(bench: &Bench, query: &str) -> Vec<Value> {
    let all = bench.get(&format!("/api/sessions{query}"));
    all["sessions"].as_array().unwrap().clone()
}

#[test]
fn a_session_from_its_first_prompt_to_its_end() {
    let bench = Bench::new([
        Step::answer().text("First."),
        Step::answer().text("Second."),
    ]);
    let opened = bench.open(json!("new"));
    let id = opened["id"].as_str().unwrap().to_owned();
    assert_eq!(opened["head"], json!(null));
    assert_eq!(opened["project"], json!(bench.project()));
    // Without an entry it is only known here.
    assert_eq!(list(&bench, "")[0]["state"], "idle");
    let seen = bench.turn(&id, "hello there");
    assert_eq!(seen, bench.scene.log());
    bench.turn(&id, "again");
    let row = &list(&bench, "?q=hello")[0];
    assert_eq!(
        (&row["title"], &row["turns"], &row["state"]),
        (&json!("hello there"), &json!(2), &json!("idle"))
    );
    assert!(list(&bench, "?q=nowhere").is_empty());
    assert_eq!(list(&bench, "?q=second").len(), 1);
    // Pages of entries, from the end.
    let log = bench.scene.log();
    let page = |query: &str| bench.get(&format!("/api/sessions/{id}/entries{query}"));
    let last = page("?limit=2");
    assert_eq!(last["entries"], json!(log[log.len() - 2..]));
    assert_eq!(last["more"], json!(true));
    let before = page(&format!("?before={}", log.len() - 2));
    assert_eq!(before["entries"], json!(log[..log.len() - 2]));
    assert_eq!(before["more"], json!(false));
    let usage = bench.get("/api/usage")["rows"].clone();
    assert_eq!(usage.as_array().map(Vec::len), Some(1), "{usage}");
    assert_eq!(
        (&usage[0]["requests"], &usage[0]["project"]),
        (&json!(2), &json!(bench.project()))
    );
    // Another title, which is in the log.
    let path = format!("/api/sessions/{id}");
    bench
        .ask("PATCH", &path)
        .json(&json!({"title": " A  better\ntitle "}))
        .send()
        .is(204);
    assert_eq!(list(&bench, "")[0]["title"], "A better title");
    bench
        .ask("PATCH", &path)
        .json(&json!({"title": " "}))
        .send()
        .refuses(400, "invalid_input");
    let export = |format: &str| {
        let path = format!("/api/sessions/{id}/export?format={format}");
        bench.ask("GET", &path).send()
    };
    let whole = export("jsonl").is(200);
    assert!(
        whole
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    assert_eq!(json_lines(&whole.text()), bench.scene.log());
    assert!(export("md").is(200).text().contains("hello there"));
    export("exe").refuses(400, "invalid_input");
    bench.ask("DELETE", &path).send().is(204);
    assert!(list(&bench, "").is_empty() && bench.scene.logs().is_empty());
    bench.ask("GET", &path).send().refuses(404, "not_found");
    bench.scene.server.assert_done();
}

#[test]
fn commands_give_back_their_views_and_prompts_nothing() {
    let bench = Bench::new([Step::answer().text("Hello.")]);
    let id = bench.new_session();
    let replies = |op: Value| bench.op(&id, op).is(200).json()["replies"].clone();
    let help = replies(json!({"id": "h1", "op": "command", "line": "help"}));
    assert_eq!(help[0]["op"], "h1");
    assert_eq!(help[0]["command"], "help");
    // What fills the window, for people and for programs.
    let context = replies(json!({"op": "command", "line": "context"}));
    let table = &context[0]["view"]["group"][1]["table"];
    let at = |key: &str| {
        let columns = table["columns"].as_array().unwrap();
        columns.iter().position(|one| one["key"] == key).unwrap()
    };
    let rows = table["rows"].as_array().unwrap();
    let of = |kind: &str| {
        let rows = rows.iter().filter(|row| row[at("kind")]["value"] == kind);
        rows.map(|row| row[at("tokens")]["value"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let (parts, total, free) = (of("part"), of("total"), of("free"));
    assert_eq!((total.len(), free.len()), (1, 1), "{table}");
    assert!(!parts.is_empty() && parts.iter().sum::<u64>() <= total[0]);
    assert!(total[0] + free[0] > 1_000, "{table}");
    let unknown = replies(json!({"op": "say", "text": "/nothing-of-that-name"}));
    assert!(unknown[0]["view"]["error"].is_string(), "{unknown}");
    // What the person runs is in the log, and gives back nothing else.
    let shell = json!({"op": "say", "text": "!echo made"});
    bench.op(&id, shell).is(202);
    bench
        .op(&id, json!({"op": "dance"}))
        .refuses(400, "invalid_input");
    bench.turn(&id, "hi");
}

#[test]
fn two_clients_and_one_question() {
    let bench = Bench::new([
        Step::answer().call("bash", json!({"command": "touch made"})),
        Step::answer().text("Done."),
    ]);
    let id = bench.new_session();
    let mut one = bench.events(&id, None);
    let mut other = bench.events(&id, None);
    bench.say(&id, "make it");
    let asked = |event: &super::http::Event| event.data["type"] == "ask";
    let ask = one.until("the question", asked).pop().unwrap().data;
    let same = other.until("the question", asked).pop().unwrap().data;
    assert_eq!(ask["ask"], same["ask"]);
    assert_eq!(list(&bench, "")[0]["state"], "asks");
    let path = format!("/api/sessions/{id}");
    bench.ask("DELETE", &path).send().refuses(409, "conflict");
    for choice in ["once", "deny"] {
        let op = json!({"op": "answer", "ask": ask["ask"], "choice": choice});
        bench.op(&id, op).is(202);
    }
    for events in [&mut one, &mut other] {
        let seen = events.until("the end", |e| e.data["type"] == "turn_end");
        assert_eq!(
            seen.iter()
                .filter(|e| e.data["type"] == "ask_closed")
                .count(),
            1
        );
    }
    assert_eq!(of_type(&bench.scene.log(), "approval").len(), 1);
    assert!(bench.scene.space.exists("made"));
}

#[test]
fn a_session_in_a_terminal_is_joined_and_one_of_the_server_can_be() {
    let bench = Bench::new([
        Step::answer().text("From the terminal."),
        Step::answer().text("From the browser."),
        Step::answer().text("Of the server."),
    ]);
    let run = bench.scene.ostler([]).env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.on_terminal(90, 30);
    term.wait_for("› Ask, or /help");
    term.keys("hello\r");
    term.wait_for("From the terminal.");
    let id = wait_for("a log", || bench.scene.logs().pop());
    let id = id.file_stem().unwrap().to_string_lossy().into_owned();
    bench.turn(&id, "and here?");
    term.wait_for("From the browser.");
    // It is the terminal's: nobody else deletes it.
    let path = format!("/api/sessions/{id}");
    bench.ask("DELETE", &path).send().refuses(409, "conflict");
    term.keys("\x04");
    assert!(term.wait().success());
    // The other way round.
    let mine = bench.new_session();
    bench.turn(&mine, "mine");
    let run = bench
        .scene
        .ostler(["resume"])
        .arg(&mine)
        .env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.on_terminal(90, 30);
    term.wait_for("Of the server.");
    term.keys("\x04");
    assert!(term.wait().success());
    bench.get(&format!("/api/sessions/{mine}"));
}

#[test]
fn what_is_open_when_the_server_stops_can_be_resumed() {
    let mut bench = Bench::new([
        Step::answer().text("Before."),
        Step::answer()
            .text("An answer that does not end")
            .stall(Place::Tail),
        Step::answer().text("After."),
    ]);
    let id = bench.new_session();
    bench.turn(&id, "one");
    let head = bench.get(&format!("/api/sessions/{id}"))["head"].as_u64();
    let mut events = bench.events(&id, head);
    bench.say(&id, "two");
    events.until("the answer", |e| e.data["type"] == "assistant_delta");
    let out = bench.stop();
    assert_eq!(out.code, Some(130), "{out:?}");
    while events.next().is_some() {}
    let log = bench.scene.log();
    assert_eq!(of_type(&log, "turn_end").len(), 2);
    let bench = Bench::of(bench.scene, &[]);
    assert_eq!(list(&bench, "")[0]["state"], "closed");
    let head = log.len() as u64 - 1;
    assert_eq!(
        bench.get(&format!("/api/sessions/{id}"))["head"],
        json!(head)
    );
    let seen = bench.turn(&id, "three");
    assert!(seen[0]["entry"].as_u64() > Some(head));
    bench.scene.server.assert_done();
}

#[test]
fn projects_come_and_go() {
    let bench = Bench::new([Step::answer().text("There.")]);
    let other = bench.scene.space.home().parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    let add = |root: Value| {
        bench
            .ask("POST", "/api/projects")
            .json(&json!({"root": root}))
            .send()
    };
    add(json!(other.join("missing"))).refuses(404, "not_found");
    add(json!("relative")).refuses(400, "invalid_input");
    let project = add(json!(other)).is(201).json();
    assert_eq!(
        (&project["name"], &project["trust"]),
        (&json!("other"), &json!("not_needed"))
    );
    let open = || {
        let body = json!({"project": project["id"], "open": "new"});
        bench.ask("POST", "/api/sessions").json(&body).send()
    };
    // The folder that the server was started in stays the first, whatever the others are called.
    let all = bench.get("/api/projects")["projects"].clone();
    let ids: Vec<&Value> = all.as_array().unwrap().iter().map(|p| &p["id"]).collect();
    assert_eq!(ids, [&json!(bench.project()), &project["id"]]);
    assert!(ids[0].as_str() > ids[1].as_str(), "{ids:?}");
    let id = open().is(201).json()["id"].as_str().unwrap().to_owned();
    bench.turn(&id, "hi");
    let of = format!("?project={}", project["id"].as_str().unwrap());
    assert_eq!(list(&bench, &of).len(), 1);
    assert!(
        bench.scene.log()[0]["root"]
            .as_str()
            .unwrap()
            .ends_with("/other")
    );
    // A folder that is gone is said to be.
    std::fs::remove_dir_all(&other).unwrap();
    open().refuses(404, "not_found");
    let path = format!("/api/projects/{}", project["id"].as_str().unwrap());
    bench.ask("DELETE", &path).send().is(204);
    bench.ask("DELETE", &path).send().refuses(404, "not_found");
    assert_eq!(
        bench.get("/api/projects")["projects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn an_untrusted_project_is_told_when_a_session_is_opened() {
    let bench = Bench::new([]);
    let config = "[[hooks]]\nevent = 'SessionStart'\ncommand = 'true'\n";
    bench.scene.space.write("ostler.toml", config);
    let project = &bench.get("/api/projects")["projects"][0];
    assert_eq!(project["trust"], "untrusted");
    let notes = bench.open(json!("new"))["notes"].to_string();
    assert!(notes.contains("trust"), "{notes}");
}

#[test]
fn no_path_leads_out_of_artifacts_and_projects() {
    let bench = Bench::new([Step::answer().text("Hello.")]);
    let id = bench.new_session();
    bench.turn(&id, "hi");
    let folder = bench.scene.log_path().with_extension("");
    std::fs::create_dir_all(&folder).unwrap();
    bench.scene.space.write(folder.join("out.txt"), "kept");
    bench.scene.space.write(folder.join("a.png"), "picture");
    bench.scene.space.write(folder.join("a.svg"), "<svg/>");
    std::os::unix::fs::symlink(bench.scene.log_path(), folder.join("link.txt")).unwrap();
    let get = |name: &str| -> Response {
        bench
            .ask("GET", &format!("/api/sessions/{id}/artifacts/{name}"))
            .send()
    };
    let text = get("out.txt").is(200);
    assert_eq!(text.text(), "kept");
    assert_eq!(
        text.header("content-disposition"),
        Some("attachment; filename=\"out.txt\"")
    );
    assert_eq!(text.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(
        get("a.png").is(200).header("content-disposition"),
        Some("inline")
    );
    assert!(
        get("a.svg")
            .is(200)
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    for name in [
        "..%2f..%2fconfig.toml",
        "..",
        "%2e%2e%2fx",
        "link.txt",
        ".hidden",
        "%2fetc%2fpasswd",
        "none",
    ] {
        get(name).refuses(404, "not_found");
    }
    let outside = "/api/sessions/..%2f..%2fconfig/export?format=jsonl";
    bench.ask("GET", outside).send().refuses(404, "not_found");
    bench
        .ask("GET", "/../Cargo.toml")
        .send()
        .refuses(404, "not_found");
    bench.scene.space.write("src/main.rs", "");
    bench.scene.space.write(".env", "SECRET=1");
    let project = bench.project();
    let files = |query: &str| {
        let found = bench.get(&format!("/api/projects/{project}/files?q={query}"));
        found["items"].clone()
    };
    assert_eq!(
        files("src/ma"),
        json!([{"path": "src/main.rs", "folder": false}])
    );
    for query in ["../", "/etc/", "~/", "src/../../"] {
        assert_eq!(files(query), json!([]), "{query}");
    }
}

/// The question of trust is put before a session opens, about exactly what it shows.
#[test]
fn a_project_is_trusted_in_the_browser() {
    let bench = Bench::new([]);
    let project = bench.project();
    let file = |rule: &str| {
        let text = format!("[permissions]\nallow = [\"Bash({rule}:*)\"]\n");
        bench.scene.space.write("ostler.toml", text);
    };
    let asks = || bench.get(&format!("/api/projects/{project}/questions"))["asks"].clone();
    let answer = |ask: &Value, choice: &str| {
        let path = format!("/api/projects/{project}/answers");
        let body = json!({"ask": ask["ask"], "choice": choice});
        bench.ask("POST", &path).json(&body).send()
    };
    let trust = || bench.get("/api/projects")["projects"][0]["trust"].clone();
    let allowed = || {
        let id = bench.new_session();
        let op = json!({"op": "command", "line": "permissions"});
        let replies = bench.op(&id, op).is(200).json()["replies"].clone();
        replies.to_string().contains("Bash(make:*)")
    };
    assert_eq!(asks(), json!([]));
    assert!(!allowed());
    file("make");
    let first = asks();
    assert_eq!(first.as_array().map(Vec::len), Some(1), "{first}");
    assert_eq!(first[0]["kind"], "trust");
    assert!(first[0].to_string().contains("Bash(make:*)"), "{first}");
    // It has changed since it was shown.
    file("sudo");
    answer(&first[0], "trust").refuses(409, "conflict");
    file("make");
    answer(&first[0], "not_now").is(204);
    assert_eq!(trust(), "untrusted");
    assert!(!allowed());
    answer(&first[0], "anything").is(204);
    assert_eq!(trust(), "untrusted");
    answer(&first[0], "trust").is(204);
    assert_eq!((trust(), asks()), (json!("trusted"), json!([])));
    assert!(allowed());
    let path = format!("/api/projects/{project}/answers");
    let bare = bench
        .bare("POST", &path)
        .json(&json!({"ask": "x", "choice": "trust"}));
    bare.send().refuses(401, "unauthorized");
}

/// Where no model is set up, the questions of setup come to the browser one by one, and the last answer leaves a session to
/// be opened.
#[test]
fn a_model_is_set_up_in_the_browser() {
    let vendor = Server::builder()
        .answering(|_| Step::answer().text("Hello."))
        .models(["mock-large", "mock-small"])
        .start();
    let bench = Bench::without_model(vendor);
    let project = bench.project();
    let asks = || bench.get(&format!("/api/projects/{project}/questions"))["asks"].clone();
    let answer = |ask: &Value, choice: &str| {
        let path = format!("/api/projects/{project}/answers");
        let body = json!({"ask": ask["ask"], "choice": choice});
        bench.ask("POST", &path).json(&body).send()
    };
    let choice = |ask: &Value, label: &str| {
        let options = ask["options"].as_array().cloned().unwrap_or_default();
        let found = options.iter().find(|option| option["label"] == label);
        let found = found.unwrap_or_else(|| panic!("no {label} in {ask}"));
        found["id"].as_str().unwrap_or_default().to_owned()
    };
    let first = asks()[0].clone();
    assert_eq!(first["kind"], "question", "{first}");
    assert_eq!(asks()[0]["ask"], first["ask"]);
    answer(&first, &choice(&first, "another")).is(204);
    let address = asks()[0].clone();
    assert_eq!(
        (&address["free_text"], &address["options"]),
        (&json!(true), &Value::Null)
    );
    // An answer counts once.
    answer(&first, "0").refuses(409, "conflict");
    answer(&address, &bench.scene.server.base_url_for(Kind::Chat)).is(204);
    let model = asks()[0].clone();
    assert!(model["preview"].to_string().contains("2 models"), "{model}");
    answer(&model, &choice(&model, "mock-small")).is(204);
    assert_eq!(asks(), json!([]));
    let config = bench
        .scene
        .space
        .read(bench.scene.space.home().join("config.toml"));
    assert!(config.contains("/mock-small"), "{config}");
    let id = bench.new_session();
    bench.turn(&id, "hi");
    assert_eq!(bench.scene.server.request(0).body["model"], "mock-small");
}
