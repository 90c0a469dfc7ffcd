//! `login`, `logout` and `auth` as a person uses them, with a scripted issuer and a scripted model behind the real binary:
//! which token goes where, when it is renewed, and that none is ever shown.

mod common;

use common::{files, wait_for};
use ostler_testkit::{
    Hitch, Issuer, Kind, Output, Run, Running, Server, Signal, Step, TempWorkspace, Trouble,
    USER_CODE, browse, config_text, json_lines, redirect_of,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// An issuer, a model that takes its tokens alone, and a home that knows both.
struct Scene {
    issuer: Arc<Issuer>,
    server: Server,
    space: TempWorkspace,
    kind: Kind,
}

impl Scene {
    fn new(more: &str) -> Scene {
        Scene::of(Kind::Chat, more)
    }

    fn of(kind: Kind, more: &str) -> Scene {
        let issuer = Arc::new(Issuer::start());
        let checking = issuer.clone();
        let server = Server::answering(move |request| {
            match checking.accepts(request.header("authorization")) {
                true => Step::answer().text("Hello."),
                false => Step::refuse(Trouble::BadKey),
            }
        });
        let scene = Scene {
            issuer,
            server,
            space: TempWorkspace::new(),
            kind,
        };
        scene.config(&format!("{}{more}", scene.issuer.table()));
        scene
    }

    /// The configuration with this after the provider's entry, which names no key.
    fn config(&self, more: &str) {
        let text = config_text(&self.server, self.kind) + more;
        let text = text.replace("api_key_env = \"MOCK_KEY\"\n", "");
        self.space
            .write(self.space.home().join("config.toml"), text);
    }

    fn ostler<const N: usize>(&self, args: [&str; N]) -> Run {
        self.space.run(env!("CARGO_BIN_EXE_ostler")).args(args)
    }

    /// Follows the page that a running login shows.
    #[track_caller]
    fn visit(&self, running: &Running) -> String {
        running.wait_stderr("paste the address here");
        browse(&shown_url(running, "/authorize"))
    }

    /// Logs in by a browser that is not opened for us.
    #[track_caller]
    fn log_in(&self) -> Output {
        let running = self.ostler(["login", "--no-browser"]).spawn();
        let page = self.visit(&running);
        assert!(page.contains("You can close this tab"), "{page}");
        running.wait().ok()
    }

    fn exec(&self) -> Output {
        self.ostler(["exec", "-p", "hi"]).output()
    }

    /// The tokens that the model server got, in order.
    fn sent(&self) -> Vec<String> {
        let requests = self.server.requests();
        let header = |r: &ostler_testkit::Captured| r.header("authorization").map(str::to_owned);
        requests.iter().filter_map(header).collect()
    }

    fn store(&self) -> Value {
        let path = self.space.home().join("auth.json");
        serde_json::from_str(&self.space.read(path)).expect("JSON")
    }

    fn token(&self) -> String {
        let token = &self.store()["logins"][0]["access_token"];
        token.as_str().expect("a token").to_owned()
    }

    /// Changes the first stored login.
    fn edit(&self, change: impl Fn(&mut Value)) {
        let mut store = self.store();
        change(&mut store["logins"][0]);
        let path = self.space.home().join("auth.json");
        self.space.write(path, store.to_string());
    }

    fn expire(&self) {
        self.edit(|login| login["expires"] = "2020-01-01T00:00:00Z".into());
    }

    /// No token or code is in any of these outputs, nor in any file but the store.
    #[track_caller]
    fn nothing_shows(&self, outputs: &[&Output]) {
        let secrets = self.issuer.secrets();
        assert!(!secrets.is_empty());
        let mut texts: Vec<(String, String)> = outputs
            .iter()
            .map(|o| ("an output".into(), format!("{o:?}")))
            .collect();
        for path in files(self.space.home()) {
            if !path.ends_with("auth.json") {
                let bytes = std::fs::read(&path).expect("a readable file");
                let text = String::from_utf8_lossy(&bytes).into_owned();
                texts.push((path.display().to_string(), text));
            }
        }
        for (name, text) in texts {
            for secret in &secrets {
                assert!(!text.contains(secret), "{secret} is in {name}:\n{text}");
            }
        }
    }
}

/// The first address with this in it that a running program writes to its standard error, once its line is whole.
#[track_caller]
fn shown_url(running: &Running, part: &str) -> String {
    wait_for(part, || {
        let text = running.stderr();
        let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let mut words = whole.split_whitespace();
        let found = words.find(|w| w.starts_with("http://") && w.contains(part));
        found.map(str::to_owned)
    })
}

#[test]
fn a_vendor_may_hand_out_a_key() {
    let scene = Scene::new("");
    scene.config(&scene.issuer.key_table());
    let login = scene.log_in();
    assert!(login.stdout.contains("Logged in"), "{}", login.stdout);
    let out = scene.exec().ok();
    assert_eq!(out.stdout, "Hello.\n");
    assert_eq!(scene.sent(), [format!("Bearer {}", scene.token())]);
    scene.nothing_shows(&[&login, &out]);
    // A key is not renewed: one that the vendor takes no more is asked for anew.
    scene.issuer.invalidate();
    let out = scene.exec();
    assert_eq!(out.code, Some(1));
    assert!(out.stderr.contains("ostler login"), "{}", out.stderr);
}

#[test]
fn a_login_by_browser_and_a_request_with_its_token() {
    for kind in [Kind::Chat, Kind::Messages] {
        let scene = Scene::of(kind, "flow = \"browser\"\n");
        let before = scene.exec().exits(1);
        assert!(
            before
                .stderr
                .contains("no key and no login for `mock`\nrun `ostler login mock`"),
            "{before:?}"
        );
        let login = scene.log_in();
        let expect = format!("go to {} only", scene.server.url());
        assert!(login.stdout.contains(&expect), "{login:?}");
        let run = scene.exec().ok();
        assert_eq!(run.stdout, "Hello.\n");
        assert_eq!(scene.sent(), [format!("Bearer {}", scene.token())]);
        let request = scene.server.request(0);
        assert_eq!(request.header("x-api-key"), None);
        let asked = &scene.issuer.requests("/authorize")[0].path;
        assert!(asked.contains("scope=models+offline"), "{asked}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = scene.space.home().join("auth.json");
            let mode = std::fs::metadata(path).expect("the store").permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        let doctor = scene.ostler(["doctor", "--online"]).output();
        let store = scene.store();
        let since = store["logins"][0]["since"].as_str();
        let day = since.and_then(|since| since.get(..10)).expect("a day");
        for line in [
            format!("mock/mock-model, login of {day}"),
            format!("mock: login of {day}"),
            "mock: answers, 1 model".to_owned(),
        ] {
            assert!(doctor.stdout.contains(&line), "{line}: {doctor:?}");
        }
        scene.nothing_shows(&[&before, &login, &run, &doctor]);
    }
}

#[cfg(unix)]
#[test]
fn the_browser_of_the_environment_is_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new("");
    let folder = scene.space.user_home().to_owned();
    let script = folder.join("browser.sh");
    let text = "#!/bin/sh\ncd \"$(dirname \"$0\")\" && printf '%s' \"$1\" > opened.tmp && mv opened.tmp opened\n";
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let running = scene
        .ostler(["login", "mock"])
        .env("BROWSER", &script)
        .spawn();
    let opened = folder.join("opened");
    wait_for("the browser", || opened.exists().then_some(()));
    let opened = std::fs::read_to_string(opened).expect("an address");
    assert_eq!(opened, shown_url(&running, "/authorize"));
    browse(&opened);
    let out = running.wait().ok();
    scene.exec().ok();
    scene.nothing_shows(&[&out]);
    // One that cannot be started is said, and the address works all the same.
    let running = scene
        .ostler(["login"])
        .env("BROWSER", "no-such-program")
        .spawn();
    running.wait_stderr("No browser could be opened (no-such-program: ");
    browse(&shown_url(&running, "/authorize"));
    running.wait().ok();
}

#[test]
fn the_address_can_be_pasted() {
    let scene = Scene::new("flow = \"browser\"\n");
    let mut running = scene.ostler(["login", "--no-browser"]).open_stdin().spawn();
    running.wait_stderr("paste the address here");
    let url = shown_url(&running, "/authorize");
    running.write("\nnonsense\nhttp://127.0.0.1:1/callback?code=x&state=wrong\n");
    running.wait_stderr("(its `state` differs)");
    // A browser on another machine shows this address, and nobody answers there.
    running.write(&(redirect_of(&url) + "\n"));
    running.wait().ok();
    scene.exec().ok();
}

#[test]
fn a_conversation_can_log_in_and_out() {
    let scene = Scene::new("flow = \"browser\"\n");
    let mut running = scene.ostler(["--model", "demo"]).open_stdin().spawn();
    running.write("/login http://127.0.0.1:1/callback?code=x\n");
    running.wait_stderr("No login waits for an address");
    // Who begins anew gives the first one up.
    running.write("/login mock\n");
    running.wait_stderr("send /login and the address");
    let first = shown_url(&running, "/authorize");
    running.write("/login\n");
    let second = wait_for("another address", || {
        let told = running.stderr();
        let mut words = told.split_whitespace();
        let other = |w: &&str| w.contains("/authorize") && *w != first;
        words.find(|w| other(w)).map(str::to_owned)
    });
    running.write("/login http://127.0.0.1:1/callback?code=x&state=wrong\n");
    running.wait_stderr("(its `state` differs)");
    running.write(&format!("/login {}\n", redirect_of(&second)));
    running.wait_stderr("Logged in to mock");
    running.write("/model mock/mock-model\nhi\n");
    running.wait_stdout("Hello.");
    running.write("/logout\n");
    running.wait_stderr("Logged out of mock.");
    running.write("/logout\n");
    running.wait_stderr("There is no login.");
    running.write("/quit\n");
    let out = running.wait().ok();
    scene.nothing_shows(&[&out]);
    scene.exec().exits(1);
}

#[test]
fn a_login_with_a_code_on_another_device() {
    let scene = Scene::new("");
    // No screen here, so this way is taken without being asked for.
    let running = scene.ostler(["login"]).spawn();
    let text = running.wait_stderr("Waiting, 10 minutes at most");
    assert!(
        text.contains(&format!("{}/activate\n", scene.issuer.url())),
        "{text}"
    );
    assert!(text.contains(&format!("  {USER_CODE}\n")), "{text}");
    scene.issuer.wait_for("/token", 1);
    scene.issuer.decide(Ok(()));
    let out = running.wait().ok();
    scene.exec().ok();
    assert_eq!(scene.sent(), [format!("Bearer {}", scene.token())]);
    scene.nothing_shows(&[&out]);
    for (word, text) in [
        ("access_denied", "refused on the other device"),
        ("expired_token", "not entered before it expired"),
        ("invalid_client", "mock: invalid_client (invalid_client)"),
    ] {
        scene.issuer.decide(Err(word));
        let out = scene.ostler(["login", "--device"]).output().exits(1);
        assert!(out.stderr.contains(text), "{word}: {out:?}");
    }
    // The login from before still stands.
    scene.exec().ok();
}

#[test]
fn an_issuer_says_where_its_addresses_are() {
    let scene = Scene::new("");
    let found = format!(
        "\n[providers.oauth]\nissuer = \"{}\"\nclient_id = \"ostler-test\"\nflow = \"browser\"\n",
        scene.issuer.url()
    );
    scene.config(&found);
    scene.log_in();
    scene.exec().ok();
    // A document of another issuer is not believed.
    let slash = found.replace("127.0.0.1", "localhost");
    scene.config(&slash);
    let out = scene.ostler(["login"]).output().exits(1);
    assert!(
        out.stderr.contains("the document of another issuer"),
        "{out:?}"
    );
}

#[test]
fn logins_that_fail() {
    let scene = Scene::new("flow = \"browser\"\n");
    let browser = [
        ("/authorize", Hitch::WrongState, "its `state` differs"),
        ("/authorize", Hitch::Denied, "refused in the browser"),
        (
            "/token",
            Hitch::Error("invalid_grant"),
            "mock: invalid_grant (invalid_grant)",
        ),
        ("/token", Hitch::Html, "not a JSON object"),
        ("/token", Hitch::Huge, "more than 1 MiB"),
        (
            "/token",
            Hitch::Status(503),
            "answered 503; try again later",
        ),
        ("/token", Hitch::Status(302), "redirects elsewhere"),
    ];
    for (path, hitch, text) in browser {
        scene.issuer.hitch(path, hitch);
        let running = scene.ostler(["login", "--no-browser"]).spawn();
        scene.visit(&running);
        let out = running.wait().exits(1);
        assert!(out.stderr.contains(text), "{text}: {out:?}");
        assert!(out.stderr.contains("no login to mock: "), "{out:?}");
        assert!(!scene.space.home().join("auth.json").exists());
        scene.nothing_shows(&[&out]);
    }
    for (hitch, text) in [
        (Hitch::Html, "not a JSON object"),
        (Hitch::Error("unauthorized_client"), "unauthorized_client"),
    ] {
        scene.issuer.hitch("/device", hitch);
        let out = scene.ostler(["login", "--device"]).output().exits(1);
        assert!(out.stderr.contains(text), "{text}: {out:?}");
    }
}

#[cfg(unix)]
#[test]
fn stopping_a_login_changes_nothing() {
    let scene = Scene::new("");
    for (args, signal, code) in [
        (vec!["login", "--device"], Signal::Interrupt, 130),
        (vec!["login", "--device"], Signal::Terminate, 143),
    ] {
        let run = scene.space.run(env!("CARGO_BIN_EXE_ostler")).args(args);
        let running = run.spawn();
        running.wait_stderr("Waiting");
        running.signal(signal);
        let out = running.wait().exits(code);
        assert!(
            out.stderr.contains("Stopped; nothing was changed."),
            "{out:?}"
        );
    }
    scene.config(&format!("{}flow = \"browser\"\n", scene.issuer.table()));
    let running = scene.ostler(["login", "--no-browser"]).open_stdin().spawn();
    running.wait_stderr("paste the address");
    running.signal(Signal::Interrupt);
    common::ends(running, 130);
    assert!(!scene.space.home().join("auth.json").exists());
}

#[test]
fn an_old_token_is_renewed_before_it_is_sent() {
    let scene = Scene::new("flow = \"browser\"\n");
    scene.log_in();
    let first = scene.token();
    scene.expire();
    let run = scene.exec().ok();
    let second = scene.token();
    assert_ne!(first, second);
    assert_eq!(scene.sent(), [format!("Bearer {second}")]);
    assert_eq!(scene.issuer.requests("/token").len(), 2);
    let doctor = scene.ostler(["doctor"]).output();
    scene.nothing_shows(&[&run, &doctor]);
    // An issuer that is away costs nothing as long as the token lives.
    scene.edit(|login| {
        login["obtained"] = "2020-01-01T00:00:00Z".into();
        login["expires"] = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(30))
            .to_string()
            .into();
    });
    scene.issuer.hitch("/token", Hitch::Status(503));
    scene.exec().ok();
    assert_eq!(scene.token(), second);
}

#[test]
fn a_refused_token_is_renewed_once() {
    let scene = Scene::new("flow = \"browser\"\n");
    scene.log_in();
    let first = scene.token();
    scene.issuer.invalidate();
    let run = scene.exec().ok();
    let second = scene.token();
    assert_eq!(
        scene.sent(),
        [format!("Bearer {first}"), format!("Bearer {second}")]
    );
    scene.nothing_shows(&[&run]);
    // Without a refresh token there is nothing to try.
    scene.issuer.invalidate();
    scene.edit(|login| {
        login
            .as_object_mut()
            .expect("an object")
            .remove("refresh_token");
    });
    let out = scene.exec().exits(1);
    assert!(
        out.stderr.contains("refused the key from login of "),
        "{out:?}"
    );
    assert!(out.stderr.contains("Run `ostler login mock`"), "{out:?}");
    assert_eq!(scene.sent().len(), 3);
    scene.nothing_shows(&[&out]);
}

#[test]
fn a_login_that_cannot_be_renewed_says_so() {
    let scene = Scene::new("flow = \"browser\"\n");
    for (hitch, expired, kind, text) in [
        (
            Hitch::Error("invalid_grant"),
            true,
            "login_required",
            "cannot be renewed: ",
        ),
        (
            Hitch::Error("invalid_grant"),
            false,
            "login_required",
            "cannot be renewed: ",
        ),
        (Hitch::Html, true, "login_required", "not a JSON object"),
    ] {
        scene.log_in();
        match expired {
            true => scene.expire(),
            false => scene.issuer.invalidate(),
        }
        scene.issuer.hitch("/token", hitch);
        let out = scene
            .ostler(["exec", "--format", "json", "-p", "hi"])
            .output()
            .exits(1);
        let lines = json_lines(&out.stdout);
        let error = lines
            .iter()
            .find(|l| l["type"] == "error")
            .expect("an error");
        assert_eq!(error["kind"], kind, "{error}");
        let message = error.to_string();
        assert!(message.contains(text), "{message}");
        assert!(message.contains("Run `ostler login mock`"), "{message}");
        scene.nothing_shows(&[&out]);
    }
}

/// A lost race would spend a refresh token twice, upon which the issuer ends the whole login.
#[cfg(target_os = "linux")]
#[test]
fn two_processes_renew_once() {
    let scene = Scene::new("flow = \"browser\"\n");
    scene.log_in();
    scene.expire();
    scene.issuer.hitch("/token", Hitch::Held);
    let exec = || scene.ostler(["exec", "-p", "hi"]).spawn();
    let first = exec();
    scene.issuer.wait_for("/token", 2);
    let others = [exec(), exec(), exec()];
    for other in &others {
        wait_for("a process at the lock", || {
            let open = match std::fs::read_dir(format!("/proc/{}/fd", other.pid())) {
                Ok(open) => open,
                // It is closed to others of the same person, which means that it got past its start.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Some(());
                }
                Err(_) => return None,
            };
            let mut links = open
                .flatten()
                .filter_map(|f| std::fs::read_link(f.path()).ok());
            links.any(|link| link.ends_with("auth.lock")).then_some(())
        });
    }
    scene.issuer.release();
    first.wait().ok();
    for other in others {
        other.wait().ok();
    }
    assert_eq!(scene.issuer.requests("/token").len(), 2);
    let expect = format!("Bearer {}", scene.token());
    assert_eq!(scene.sent(), vec![expect; 4]);
}

#[cfg(unix)]
#[test]
fn tokens_that_come_while_a_session_runs_are_taken_out_too() {
    let mut scene = Scene::new("flow = \"browser\"\n");
    let checking = scene.issuer.clone();
    let renewed = std::sync::atomic::AtomicBool::new(false);
    scene.server = Server::answering(move |request| {
        // The first token is refused, so that another comes when all has long begun.
        let again = renewed.swap(true, std::sync::atomic::Ordering::Relaxed);
        if !again || !checking.accepts(request.header("authorization")) {
            return Step::refuse(Trouble::BadKey);
        }
        match request.body.to_string().contains("access_token") {
            false => Step::answer().call("bash", json!({"command": "cat $OSTLER_HOME/auth.j???"})),
            true => Step::answer().text("done"),
        }
    });
    scene.config(&format!("{}flow = \"browser\"\n", scene.issuer.table()));
    scene.log_in();
    let first = scene.token();
    let run = scene.ostler([
        "exec",
        "--yolo",
        "--no-sandbox",
        "--format",
        "json",
        "-p",
        "hi",
    ]);
    let out = run.output().ok();
    assert_ne!(scene.token(), first);
    assert!(out.stdout.contains("[redacted]"), "{out:?}");
    scene.nothing_shows(&[&out]);
}

#[test]
fn a_token_goes_only_to_its_origin() {
    let scene = Scene::new("flow = \"browser\"\n");
    scene.log_in();
    let elsewhere = Server::start([]);
    let url = elsewhere.base_url_for(Kind::Chat);
    let out = scene
        .ostler(["exec", "-p", "hi"])
        .env("OSTLER_BASE_URL", &url)
        .output()
        .exits(1);
    let expect = format!(
        "the login of `mock` is for {}, but its requests go to {}; it is not sent there",
        scene.server.url(),
        elsewhere.url()
    );
    assert!(out.stderr.contains(&expect), "{out:?}");
    // A project's file is not believed at all, and cannot make us log in.
    let project = format!("[[providers]]\nname = \"mock\"\nbase_url = \"{url}\"\n");
    scene.space.write("ostler.toml", project);
    scene.exec().ok();
    scene.space.write(
        "ostler.toml",
        format!("[[providers]]\nname = \"sly\"\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"{url}\"\n[providers.oauth]\ntoken_url = \"{}/token\"\n", elsewhere.url()),
    );
    let out = scene.ostler(["login", "sly"]).output().exits(2);
    assert!(
        out.stderr.contains("no provider is called `sly`"),
        "{out:?}"
    );
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn keys_come_before_logins_unless_a_login_is_wanted() {
    let scene = Scene::new("flow = \"browser\"\n");
    scene.log_in();
    let keyed = config_text(&scene.server, Kind::Chat) + &scene.issuer.table();
    let path = scene.space.home().join("config.toml");
    scene.space.write(&path, &keyed);
    scene.exec().exits(1);
    assert_eq!(scene.sent(), ["Bearer mock-key"]);
    let status = scene.ostler(["auth", "status"]).output().ok();
    let expect = "not in use: the key in variable MOCK_KEY comes first";
    assert!(status.stdout.contains(expect), "{status:?}");
    let wanted = keyed.replace("[providers.oauth]", "auth = \"login\"\n[providers.oauth]");
    scene.space.write(&path, wanted);
    scene.exec().ok();
    assert_eq!(scene.sent()[1], format!("Bearer {}", scene.token()));
}

#[test]
fn logging_out_and_looking() {
    let scene = Scene::new("flow = \"browser\"\n");
    let status = |scene: &Scene| {
        let out = scene
            .ostler(["auth", "status", "--format", "json"])
            .output()
            .ok();
        serde_json::from_str::<Value>(&out.stdout).expect("JSON")
    };
    assert_eq!(status(&scene)["logins"], json!([]));
    assert_eq!(status(&scene)["not_logged_in"], json!(["mock"]));
    let none = scene.ostler(["logout"]).output().ok();
    assert_eq!(none.stdout, "There is no login.\n");
    let none = scene.ostler(["logout", "mock"]).output().ok();
    assert_eq!(none.stdout, "There was no login of mock.\n");
    scene.log_in();
    let shown = status(&scene);
    let login = &shown["logins"][0];
    assert_eq!(
        (&login["provider"], &login["expired"], &login["renewable"]),
        (&json!("mock"), &json!(false), &json!(true))
    );
    let text = scene.ostler(["auth", "status"]).output().ok();
    assert!(text.stdout.contains("renews itself"), "{text:?}");
    let refresh = scene.store()["logins"][0]["refresh_token"].clone();
    let out = scene.ostler(["auth", "logout"]).output().ok();
    assert_eq!(out.stdout, "Logged out of mock.\n");
    let forms = scene.issuer.forms("/revoke");
    assert_eq!(Some(forms[0]["token"].as_str()), refresh.as_str());
    assert_eq!(status(&scene)["logins"], json!([]));
    scene.nothing_shows(&[&text, &out]);
    scene.exec().exits(1);
    // A token that the issuer does not take back is forgotten all the same.
    scene.log_in();
    scene.issuer.hitch("/revoke", Hitch::Status(503));
    let out = scene.ostler(["logout", "mock"]).output().ok();
    assert!(out.stderr.contains("did not revoke the token"), "{out:?}");
    assert_eq!(status(&scene)["logins"], json!([]));
}

#[test]
fn what_cannot_work_is_said_before_the_browser() {
    let scene = Scene::new("");
    let path = scene.space.home().join("auth.json");
    scene
        .space
        .write(&path, "{\"logins\": [{\"access_token\": \"tok-secret\"");
    for args in [
        vec!["login"],
        vec!["logout"],
        vec!["auth", "status"],
        vec!["exec", "-p", "hi"],
    ] {
        let run = scene.space.run(env!("CARGO_BIN_EXE_ostler")).args(&args);
        let out = run.output().exits(1);
        assert!(
            out.stderr.contains("auth.json is damaged (line 1"),
            "{args:?}: {out:?}"
        );
        assert!(!format!("{out:?}").contains("tok-secret"));
    }
    assert!(scene.space.read(&path).contains("tok-secret"));
    std::fs::remove_file(&path).expect("the file");
    scene.config(&format!(
        "{}\n[auth]\nstore = \"keyring\"\n",
        scene.issuer.table()
    ));
    let out = scene.ostler(["login"]).output().exits(1);
    assert!(out.stderr.contains("has no keyring"), "{out:?}");
    scene.config("");
    let out = scene.ostler(["login", "mock"]).output().exits(1);
    assert!(out.stderr.contains("has no `oauth` table"), "{out:?}");
    let out = scene.ostler(["login"]).output().exits(2);
    assert!(
        out.stderr.contains("No provider has OAuth configured"),
        "{out:?}"
    );
    scene.config(
        "\n[providers.oauth]\nclient_id = \"c\"\ntoken_url = \"http://id.example.com/t\"\n",
    );
    let out = scene.ostler(["login"]).output().exits(1);
    assert!(out.stderr.contains("a login needs https://"), "{out:?}");
    assert!(scene.issuer.requests("/device").is_empty());
}
