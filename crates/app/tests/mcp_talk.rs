//! Servers of others in a conversation: what they ask the person, what they want of a model, and what the person says of
//! them.
#![cfg(unix)]

mod common;

use common::shell::{answer, call, command, done, driven, prompt, result, scene, script};
use common::{Scene, of_type};
use ostler_testkit::{Running, Step, json_lines};
use serde_json::{Value, json};

/// Asks back with the given request and says what it was told, without quotes.
fn asking_back(method: &str, params: &Value) -> String {
    let request = json!({"jsonrpc": "2.0", "id": 900, "method": method, "params": params});
    let told = r#"t=$(printf %s "$line" | tr -d '"\\'); id=$own; say "$t""#;
    script(&format!(
        "tools/call) own=$id; printf '%s\\n' '{request}'; next; {told};;"
    ))
}

/// A scene whose server's list is known, and whose model calls its tool once.
fn known(more: &str, server: String, steps: impl IntoIterator<Item = Step>) -> Scene {
    let first = [done(), call("mcp__fake__go", json!({}))];
    let steps = first.into_iter().chain(steps);
    let scene = scene(more, &[("fake", server)], steps);
    scene.exec("learn").ok();
    for log in scene.logs() {
        std::fs::remove_file(log).unwrap();
    }
    scene
}

#[track_caller]
fn said(scene: &Scene) -> String {
    let result = result(scene);
    let text = result["data"]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// As the configuration of `fake` instead of the JSON file's.
fn plugin(more: &str) -> String {
    format!(
        "\n[permissions]\nmode = \"allow\"\n[[plugins]]\nname = \"fake\" # mine\ncommand = \"sh\"\nargs = [\"${{OSTLER_HOME}}/fake.sh\"]\n{more}\n"
    )
}

fn wanted() -> Value {
    let user = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"messages": [user("What is up?")], "systemPrompt": "Be brief.", "maxTokens": 50, "stopSequences": ["STOP"]})
}

#[test]
fn a_server_gets_a_models_word_when_the_person_says_so() {
    let server = asking_back("sampling/createMessage", &wanted());
    let steps = [Step::answer().text("All fine. STOP no more"), done()];
    let scene = known(&plugin(""), server, steps);
    let mut running = driven(&scene);
    running.write(&prompt("go"));
    let ask = answer(&mut running, 1, "accept");
    assert_eq!(ask["kind"], "elicitation");
    let subject = ask["subject"].as_str().unwrap();
    assert!(
        subject.contains("fake wants mock/mock-model") && subject.contains("50 tokens"),
        "{subject}"
    );
    let preview = ask["preview"].as_str().unwrap();
    assert_eq!(preview, "[system]\nBe brief.\n\n[user]\nWhat is up?");
    running.wait().ok();
    let text = said(&scene);
    for part in [
        "text:All fine. }",
        "stopReason:stopSequence",
        "model:mock-model",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let request = scene.server.request(2);
    assert!(request.tool_names().is_empty());
    assert_eq!(request.last_user_text(), "What is up?");
    assert!(request.body.to_string().contains("Be brief."));
    assert_eq!(request.body["max_tokens"], 50);
    // It is paid for, and the log and the ledger say so.
    let log = scene.log();
    let roles: Vec<&Value> = of_type(&log, "usage").iter().map(|u| &u["role"]).collect();
    assert_eq!(roles, [&Value::Null, &json!("sampling"), &Value::Null]);
    let ledger = json_lines(&scene.space.read(scene.space.home().join("ledger.jsonl")));
    assert_eq!(ledger[2]["role"], "sampling");
}

#[test]
fn what_a_server_wants_of_a_model_is_read_on_the_terminal() {
    let server = asking_back("sampling/createMessage", &wanted());
    let scene = known(&plugin(""), server, [Step::answer().text("Fine."), done()]);
    let mut term = scene.ostler([]).on_terminal(90, 24);
    term.wait_for("› Ask, or /help");
    term.keys("go\r");
    let screen = term.wait_for("ask the model");
    for words in ["fake wants mock/mock-model", "Be brief.", "What is up?"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    common::answer(&mut term, "1");
    term.wait_for("Done.");
    assert!(said(&scene).contains("text:Fine."));
}

#[test]
fn sampling_is_refused_in_words() {
    let server = || asking_back("sampling/createMessage", &wanted());
    for (more, choice, words) in [
        ("", Some("decline"), "the person does not want it"),
        ("", None, "nobody is there to be asked"),
        (
            "sampling = \"deny\"",
            Some("none"),
            "the configuration refuses it",
        ),
    ] {
        let scene = known(&plugin(more), server(), [done()]);
        match choice {
            None => drop(scene.exec("go").ok()),
            Some(choice) => {
                let mut running = driven(&scene);
                running.write(&prompt("go"));
                if choice != "none" {
                    answer(&mut running, 1, choice);
                }
                running.wait().ok();
            }
        }
        let text = said(&scene);
        assert!(text.contains(words) && text.contains("code:-1"), "{text}");
        assert_eq!(scene.server.requests().len(), 3);
    }
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let odd = json!({"messages": [{"role": "user", "content": image}], "maxTokens": 5});
    let server = asking_back("sampling/createMessage", &odd);
    let scene = known(&plugin("sampling = \"allow\""), server, [done()]);
    scene.exec("go").ok();
    assert!(said(&scene).contains("only text is taken"));
}

#[test]
fn sampling_that_is_allowed_needs_nobody_and_keeps_to_the_budget() {
    let server = || asking_back("sampling/createMessage", &wanted());
    let allowed = plugin("sampling = \"allow\"");
    let steps = [Step::answer().text("Alone."), done()];
    let scene = known(&allowed, server(), steps);
    scene.exec("go").ok();
    assert!(said(&scene).contains("text:Alone."));
    let tight = format!("{allowed}\n[budget.roles]\nsampling = {{ tokens = 10 }}\n");
    let scene = known(&tight, server(), [done()]);
    scene.exec("go").ok();
    let text = said(&scene);
    assert!(
        text.contains("sampling") && text.contains("code:-1"),
        "{text}"
    );
}

#[test]
fn a_server_that_wants_word_after_word_is_stopped() {
    let request = json!({"jsonrpc": "2.0", "id": 900, "method": "sampling/createMessage", "params": wanted()});
    let server = script(&format!(
        "tools/call) own=$id; for i in 1 2 3 4 5 6 7 8 9 10; do printf '%s\\n' '{request}'; next; done; t=$(printf %s \"$line\" | tr -d '\"\\\\'); id=$own; say \"$t\";;"
    ));
    let words = (0..8).map(|_| Step::answer().text("word"));
    let scene = known(
        &plugin("sampling = \"allow\""),
        server,
        words.chain([done()]),
    );
    scene.exec("go").ok();
    assert!(said(&scene).contains("8 of them at most"));
    scene.server.assert_done();
}

#[test]
fn forms_and_pages_are_put_to_the_person() {
    let form = json!({"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {
        "age": {"type": "integer"},
        "name": {"type": "string", "title": "Name"},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "l"]},
    }, "required": ["name"]}});
    let page = json!({"mode": "url", "message": "Sign here.", "elicitationId": "e1", "url": "https://sign.example/x"});
    type Answers = &'static [(&'static str, &'static str)];
    let table: [(&Value, Answers, &[&str]); 4] = [
        (
            &form,
            &[
                ("age", "old"),
                ("enter a number", "7"),
                ("Name", "Ann"),
                ("sure", "yes"),
                ("size", "l"),
            ],
            &["action:accept", "age:7", "name:Ann", "sure:true", "size:l"],
        ),
        (&form, &[("age", "decline")], &["action:decline"]),
        (
            &page,
            &[("https://sign.example/x", "accept")],
            &["action:accept"],
        ),
        (&page, &[("Sign here.", "decline")], &["action:decline"]),
    ];
    for (params, answers, expect) in table {
        let server = asking_back("elicitation/create", params);
        let scene = known(&plugin(""), server, [done()]);
        let mut running = driven(&scene);
        running.write(&prompt("go"));
        for (n, (asked, choice)) in answers.iter().enumerate() {
            let ask = answer(&mut running, n + 1, choice);
            let subject = ask["subject"].as_str().unwrap();
            assert!(
                subject.contains("fake") && subject.contains(asked),
                "{subject}"
            );
        }
        running.wait().ok();
        let text = said(&scene);
        for part in expect {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    // Nobody is there: nobody answers, and nothing waits.
    let scene = known("", asking_back("elicitation/create", &form), [done()]);
    scene.exec("go").ok();
    assert!(said(&scene).contains("action:cancel"));
}

const READER: &str = r#"tools/list) answer '{"tools":[{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"write it","inputSchema":{"type":"object"}}]}';; tools/call) say ran;;"#;

#[test]
fn trust_while_planning_is_asked_once_and_kept() {
    let again = || call("mcp__fake__go", json!({}));
    // Yolo does not answer for the person.
    let kept = "trusted_read_only_tools = [\n  # long ago\n  \"old\", # why\n]";
    let added = "  # long ago\n  \"old\", # why\n  \"go\",\n]";
    for (flags, more, expect) in [
        (["--mode", "plan"], "", "trusted_read_only_tools = [\"go\"]"),
        (["--yolo", "--mode=plan"], kept, added),
    ] {
        let scene = known(&plugin(more), script(READER), [done(), again(), done()]);
        let run = scene.ostler(["exec", "--input-format", "stream-json"]);
        let mut running = run.args(flags).open_stdin().spawn();
        running.write(&prompt("look"));
        let ask = answer(&mut running, 1, "always");
        assert_eq!(ask["kind"], "trust");
        let options = ask["options"].to_string();
        assert!(
            options.contains("trusted_read_only_tools = [\\\"go\\\"]")
                && options.contains("config.toml"),
            "{options}"
        );
        running.wait().ok();
        assert_eq!(said(&scene), "ran");
        let log = scene.log();
        let approval = of_type(&log, "approval")[0].clone();
        assert_eq!(approval["decision"], "always");
        let config = scene.space.read(scene.space.home().join("config.toml"));
        assert!(
            config.contains("name = \"fake\" # mine") && config.contains(expect),
            "{config}"
        );
        // The next run knows it, also where nobody can be asked.
        std::fs::remove_file(scene.log_path()).unwrap();
        let run = scene.ostler(["--mode", "plan", "exec", "-p", "look"]);
        run.output().ok();
        assert_eq!(said(&scene), "ran");
    }
}

#[test]
fn the_panel_trusts_and_untrusts_for_good() {
    let scene = scene("", &[("fake", script(READER))], [done()]);
    scene.exec("learn").ok();
    let file = || scene.space.read(scene.space.home().join("mcp.json"));
    let mut running = driven(&scene);
    running.write(&command("mcp"));
    let shown = running.wait_stdout("MCP servers");
    assert!(shown.contains("2 tools, 0 prompts, 0 resources"), "{shown}");
    for action in [
        "mcp reconnect fake",
        "mcp trust fake",
        "ostler mcp login fake",
    ] {
        assert!(shown.contains(action), "{action}: {shown}");
    }
    running.write(&command("mcp trust fake"));
    running.wait_stdout("may be used while planning: go. Saved in");
    assert!(file().contains("trusted_read_only_tools"), "{}", file());
    running.write(&command("mcp"));
    running.wait_stdout("mcp untrust fake");
    running.write(&command("mcp untrust fake"));
    running.wait_stdout("ask again while planning: go. Saved in");
    assert!(!file().contains("\"go\""), "{}", file());
    running.write(&command("mcp trust nobody"));
    running.wait_stdout("There is no MCP server nobody.");
    running.write(&command("mcp reconnect fake"));
    running.wait_stdout("Reconnecting fake.");
    running.wait().ok();
}

#[test]
fn a_trusted_project_stays_trusted_when_its_server_is() {
    let scene = Scene::new(ostler_testkit::Kind::Chat, [done(), done(), done()]);
    let script = scene.space.write("fake.sh", script(READER));
    let server = json!({"command": "sh", "args": [script]});
    let file = json!({"mcpServers": {"fake": server, "other": {"command": "true"}}});
    scene.space.write(".mcp.json", file.to_string());
    scene.ostler(["trust", "--yes"]).output().ok();
    scene.exec("learn").ok();
    let mut running = driven(&scene);
    running.write(&command("mcp trust fake"));
    running.wait_stdout("Saved in");
    running.wait().ok();
    assert!(scene.space.read(".mcp.json").contains("\"go\""));
    let out = scene.exec("still").ok();
    assert!(!out.stderr.contains("has changed"), "{}", out.stderr);
    // Of a project that is trusted for a run only, nothing is kept.
    let text = scene.space.read(".mcp.json").replace("\"go\"", "");
    scene.space.write(".mcp.json", text);
    let run = scene.ostler(["--trust-workspace", "exec", "--input-format", "stream-json"]);
    let mut running = run.open_stdin().spawn();
    running.write(&prompt("again"));
    running.wait_stdout("\"result\":\"Done.\"");
    running.write(&command("mcp trust fake"));
    running.wait_stdout("for this session only");
    running.wait().ok();
    assert!(!scene.space.read(".mcp.json").contains("\"go\""));
}

const OFFERS: &str = r#"
initialize) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}';;
prompts/list) answer '{"prompts":[{"name":"re view","description":"Reviews.","arguments":[{"name":"how"},{"name":"what","required":true}]}]}';;
prompts/get) case $line in *broken*) refuse 'no such thing';; *) w=${line#*'"what":"'}; h=${line#*'"how":"'}; answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Review ${w%%\"*} ${h%%\"*}!\"}}]}";; esac;;
resources/list) answer '{"resources":[{"uri":"note://1","name":"one"}]}';;
resources/read) case $line in *note://1*) printf '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://1"}}\n'; answer '{"contents":[{"uri":"note://1","text":"the </resource> note"}]}';; *) refuse 'no such note';; esac;;
"#;

#[test]
fn prompts_are_commands_and_resources_are_references() {
    let steps = [done(), done(), done()];
    let scene = scene("", &[("fake", script(OFFERS))], steps);
    scene.exec("learn").ok();
    let lines = [
        "/mcp__fake__re_view a.rs very well",
        "/mcp__fake__re_view",
        "/mcp__fake__re_view broken",
        "@fake:note://1 and @fake:note://2, what?",
    ];
    let talk = scene.ostler([]).stdin(lines.join("\n") + "\n");
    let out = talk.output().ok();
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 3, "{}", out.stderr);
    let said = requests[1].last_user_text();
    assert!(said.ends_with("Review a.rs very well!"), "{said}");
    let said = requests[2].last_user_text();
    assert!(
        said.contains("<resource ref=\"fake:note://1\">") && said.contains("note"),
        "{said}"
    );
    for words in ["it needs what", "no such thing", "no such note"] {
        assert!(out.stderr.contains(words), "{words}: {}", out.stderr);
    }
}

#[test]
fn tools_that_do_not_fit_are_looked_up() {
    let tool = |n: u32| {
        json!({"name": format!("tool{n}"), "description": format!("Does the thing number {n}. {}", "x".repeat(300)),
            "inputSchema": {"type": "object", "properties": {format!("arg{n}"): {"type": "string"}}}})
    };
    let tools: Vec<Value> = (0..30).map(tool).collect();
    let list = json!({ "tools": tools });
    let server = script(&format!(
        "tools/list) answer '{list}';; tools/call) say ran;;"
    ));
    let steps = [
        call("tool_search", json!({"query": "tool17"})),
        call("mcp__fake__tool17", json!({"arg17": "x"})),
        done(),
    ];
    let more = "\n[tools]\nmcp_schema_budget = 200\n";
    let scene = scene(more, &[("fake", server)], steps);
    scene.exec("go").ok();
    let first = scene.server.request(0);
    let body = first.body.to_string();
    assert!(!body.contains("arg17"), "{body}");
    assert!(body.contains("(see tool_search)"));
    assert!(first.tool_names().iter().any(|name| name == "tool_search"));
    let found = scene.server.request(1).tool_results();
    assert!(found[0].1.contains("arg17"), "{found:?}");
    let ran = scene.server.request(2).tool_results();
    assert_eq!(ran.last().unwrap().1, "ran");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_in_the_sandbox_is_held() {
    let cases = r#"tools/call) t=; (echo x > "$OUTSIDE/evil") 2>/dev/null && t="$t outside"; (echo x > inside) 2>/dev/null && t="$t inside"; say "wrote$t";;"#;
    for (sandbox, expect) in [(true, "wrote inside"), (false, "wrote outside inside")] {
        let more = plugin(&format!(
            "sandbox = {sandbox}\nenv = {{ OUTSIDE = \"${{OSTLER_HOME}}\" }}"
        ));
        let steps = [call("mcp__fake__go", json!({})), done()];
        let scene = scene(&more, &[("fake", script(cases))], steps);
        let out = scene.exec("go").ok();
        if out.stderr.contains("MCP server fake: ") && sandbox {
            common::skipped(&format!("no sandbox here: {}", out.stderr));
            continue;
        }
        assert_eq!(said(&scene), expect);
    }
}

#[test]
fn a_storm_of_changes_is_one_look() {
    let storm = r#"tools/list) echo x >> $OSTLER_PROJECT_DIR/lists; offer;; tools/call) i=0; while [ $i -lt 5000 ]; do printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; i=$((i+1)); done; say calm;;"#;
    let steps = [call("mcp__fake__go", json!({})), done()];
    let scene = scene("", &[("fake", script(storm))], steps);
    scene.exec("go").ok();
    assert_eq!(said(&scene), "calm");
    let lists = scene.space.read("lists").lines().count();
    assert!(lists <= 3, "{lists}");
}

#[test]
fn an_answer_that_comes_too_late_is_nobodys() {
    let late =
        r#"tools/call) n=$((n+1)); if [ $n = 1 ]; then sleep 1.2; say late; else say own; fi;;"#;
    let go = || call("mcp__fake__go", json!({}));
    let more = "\n[tools]\nmcp_call_timeout_seconds = 1\n";
    let scene = scene(more, &[("fake", script(late))], [go(), go(), done()]);
    scene.exec("go").ok();
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    assert_eq!(results[0]["output"]["error"]["code"], "timeout");
    assert_eq!(results[1]["output"]["data"]["text"], "own");
}

/// A server that makes a task of every call, whose later states are `states`, one after the other.
fn tasking(states: &[&str]) -> String {
    let base = r#"\"taskId\":\"t1\",\"createdAt\":\"a\",\"lastUpdatedAt\":\"$n\",\"ttlMs\":null,\"pollIntervalMs\":1"#;
    let mut cases = format!(
        "tools/call) n=0; answer \"{{\\\"resultType\\\":\\\"task\\\",\\\"status\\\":\\\"working\\\",{base}}}\";;\n\
         tasks/update) printf '%s\\n' \"$line\" > $OSTLER_PROJECT_DIR/updated; answer '{{\"resultType\":\"complete\"}}';;\n\
         tasks/cancel) touch $OSTLER_PROJECT_DIR/cancelled; answer '{{\"resultType\":\"complete\"}}';;\n\
         tasks/get) n=$((n+1)); case $n in\n"
    );
    for (n, state) in states.iter().enumerate() {
        let pattern = if n + 1 == states.len() {
            "*".to_owned()
        } else {
            (n + 1).to_string()
        };
        let state = state.replace('"', "\\\"");
        cases.push_str(&format!("{pattern}) answer \"{{{state},{base}}}\";;\n"));
    }
    script(&format!("{cases}esac;;"))
}

#[test]
fn a_call_that_becomes_a_task_is_waited_for() {
    let working = r#""status":"working","statusMessage":"half""#;
    let said = r#""content":[{"type":"text","text":"at last"}]"#;
    let done_with = format!(r#""status":"completed","result":{{{said}}}"#);
    let failed = r#""status":"failed","error":{"code":-1,"message":"no disk"}"#;
    let cancelled = r#""status":"cancelled""#;
    for (states, code, words) in [
        (vec![working, working, &done_with], "", "at last"),
        (vec![working, failed], "server_error", "no disk"),
        (vec![cancelled], "server_error", "it cancelled the call"),
        (vec![r#""status":"odd""#], "server_error", "not a result"),
    ] {
        let scene = scene(
            "",
            &[("fake", tasking(&states))],
            [call("mcp__fake__go", json!({})), done()],
        );
        scene.exec("go").ok();
        let result = result(&scene);
        assert_eq!(
            result["error"]["code"].as_str().unwrap_or_default(),
            code,
            "{result}"
        );
        assert!(result.to_string().contains(words), "{result}");
    }
}

#[test]
fn a_task_that_never_ends_is_cancelled() {
    // It lives, and nothing of it changes.
    let stuck = tasking(&[r#""status":"working""#]).replace("\\\"$n\\\"", "\\\"x\\\"");
    let more = "\n[tools]\nmcp_call_timeout_seconds = 1\n";
    let scene = scene(
        more,
        &[("fake", stuck)],
        [call("mcp__fake__go", json!({})), done()],
    );
    scene.exec("go").ok();
    assert_eq!(result(&scene)["error"]["code"], "timeout");
    assert!(scene.space.exists("cancelled"));
}

/// Whoever says yes to a call of a server's tool sees all that is sent.
#[test]
fn the_question_about_a_call_shows_its_arguments() {
    let server = script("tools/call) say done;;");
    let steps = [
        done(),
        call("mcp__fake__go", json!({"note": "all of it\nand more"})),
        done(),
    ];
    let scene = scene(
        "\n[permissions]\nmode = \"ask\"\n",
        &[("fake", server)],
        steps,
    );
    scene.exec("learn").ok();
    let mut running = driven(&scene);
    running.write(&prompt("go"));
    let ask = answer(&mut running, 1, "deny");
    assert_eq!(ask["kind"], "permission", "{ask}");
    let preview = ask["preview"].as_str().unwrap_or_default();
    assert!(
        preview.contains(r#""note": "all of it\nand more""#),
        "{ask}"
    );
    running.wait().ok();
}

#[test]
fn a_task_asks_the_person_and_goes_on() {
    let asks = r#""status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}}}}"#;
    let ended = r#""status":"completed","result":{"content":[{"type":"text","text":"painted"}]}"#;
    let server = tasking(&[asks, asks, ended]);
    let scene = known(&plugin(""), server, [done()]);
    let mut running = driven(&scene);
    running.write(&prompt("go"));
    let ask = answer(&mut running, 1, "red");
    assert!(
        ask["subject"]
            .as_str()
            .is_some_and(|s| s.contains("Which?")),
        "{ask}"
    );
    running.wait().ok();
    assert_eq!(said(&scene), "painted");
    let updated = scene.space.read("updated");
    assert!(
        updated.contains("\"colour\":\"red\"") && updated.contains("\"k\""),
        "{updated}"
    );
}

#[test]
fn a_server_that_asks_without_end_is_not_heard() {
    let flood = r#"tools/call) own=$id; i=0; while [ $i -lt 1000 ]; do printf '{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}\n' $((9000+i)); i=$((i+1)); done; c=0; while [ $c -lt 984 ]; do next; case $line in *cancel*) c=$((c+1));; esac; done; id=$own; say "$c";;"#;
    let scene = known(&plugin(""), script(flood), [done()]);
    let mut running = driven(&scene);
    running.write(&prompt("go"));
    // The rest was refused before anybody answers.
    running.wait_stdout("\"ask\":\"a1-");
    running.wait_stdout("\"text\":\"984\"");
    running.wait();
    assert_eq!(said(&scene), "984");
}

#[test]
fn a_list_that_changes_is_taken_in_between_turns() {
    let restless = r#"tools/list) n=$((n+1)); echo x >> $OSTLER_PROJECT_DIR/lists; answer "{\"tools\":[{\"name\":\"go\",\"description\":\"Edition $n.\",\"inputSchema\":{\"type\":\"object\"}}]}";; tools/call) printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; say ran;;"#;
    let more = (0..6).map(|_| done());
    let scene = known(&plugin(""), script(restless), more);
    let mut running = driven(&scene);
    running.write(&prompt("one"));
    running.wait_stdout("\"result\":\"Done.\"");
    common::wait_for("the new list", || {
        (scene.space.read("lists").lines().count() == 3).then_some(())
    });
    for n in 0..5 {
        running.write(&prompt("more"));
        scene.server.wait_for(4 + n);
    }
    running.wait().ok();
    let requests = scene.server.requests();
    let edition = |n: usize| requests[n].body.to_string().contains("Edition 2.");
    assert_eq!([edition(1), edition(2), edition(7)], [false, false, true]);
    let log = scene.log();
    let told = of_type(&log, "notice");
    assert!(
        told.iter().any(|n| n["text"]
            .as_str()
            .is_some_and(|t| t.contains("mcp__fake__go"))),
        "{told:?}"
    );
    let usage = of_type(&log, "usage");
    assert_eq!(
        usage
            .iter()
            .filter(|u| u["break"]["cause"] == "tools")
            .count(),
        1
    );
}

#[test]
fn a_server_without_rest_is_bounded() {
    // Every list is another than the one before.
    let restless = r#"tools/list) n=$$; echo $n >> $OSTLER_PROJECT_DIR/lists; answer "{\"tools\":[{\"name\":\"go$n\",\"inputSchema\":{\"type\":\"object\"}}]}";;"#;
    const CHANGES: usize = 12;
    const MOST: usize = 100;
    let steps = (0..MOST).map(|_| done());
    let scene = scene(&plugin(""), &[("fake", script(restless))], steps);
    scene.exec("learn").ok();
    for log in scene.logs() {
        std::fs::remove_file(log).unwrap();
    }
    let mut running = driven(&scene);
    let is_bounded = |running: &Running| running.stdout().contains("keep changing their tools");
    let mut turns = 0;
    // The prompt lives, whatever the server does.
    let mut turn = |running: &mut Running| {
        turns += 1;
        assert!(turns < MOST - 2, "{}", running.stdout());
        running.write(&prompt("go"));
        common::wait_for("the turn", || {
            let ended = running.stdout().matches("\"type\":\"turn_end\"").count();
            (ended == turns).then_some(())
        });
    };
    turn(&mut running);
    while !is_bounded(&running) {
        let lists = || scene.space.read("lists").lines().count();
        let before = lists();
        running.write(&command("mcp reconnect fake"));
        common::wait_for("another list", || (lists() > before).then_some(()));
        turn(&mut running);
    }
    running.wait().ok();
    let log = scene.log();
    let usage = of_type(&log, "usage");
    let breaks = usage.iter().filter(|u| u["break"]["cause"] == "tools");
    assert_eq!(breaks.count(), CHANGES, "{usage:?}");
    let notices = of_type(&log, "notice");
    let bound = |n: &&&Value| {
        let text = n["text"].as_str();
        text.is_some_and(|t| t.contains("keep changing their tools"))
    };
    assert_eq!(notices.iter().filter(bound).count(), 1, "{notices:?}");
    let requests = scene.server.requests();
    let last = |n: usize| requests[requests.len() - n].tool_names();
    assert_eq!(last(1), last(2));
}
