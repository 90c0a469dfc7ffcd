//! The official client of the protocol drives the binary.

use super::scene;
use agent_client_protocol::v1::{self, schema as s};
use agent_client_protocol::{Agent, Client, Lines};
use futures_util::{sink, stream};
use ostler_testkit::Step;
use serde_json::json;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[test]
fn the_official_client_has_a_whole_conversation() {
    let scene = scene([
        Step::answer()
            .text("Writing. ")
            .call("write_file", json!({"path": "x.txt", "content": "made\n"})),
        Step::answer().text("Written."),
    ]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let updates: Arc<Mutex<Vec<s::SessionUpdate>>> = Arc::default();
    let seen = updates.clone();
    let root = scene.space.root().to_owned();
    let stop = runtime.block_on(async move {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_ostler"));
        let mut child = command
            .arg("acp")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", scene.space.user_home())
            .env("OSTLER_HOME", scene.space.home())
            .env(ostler_testkit::KEY_NAME, ostler_testkit::KEY)
            .current_dir(&root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let to = sink::unfold(
            child.stdin.take().unwrap(),
            |mut to, line: String| async move {
                to.write_all((line + "\n").as_bytes()).await?;
                Ok::<_, std::io::Error>(to)
            },
        );
        let from = BufReader::new(child.stdout.take().unwrap()).lines();
        let from = stream::unfold(from, |mut from| async move {
            let line = from.next_line().await.transpose()?;
            Some((line, from))
        });
        let talk = Client
            .v1()
            .on_receive_notification(
                async move |n: s::SessionNotification, _| {
                    seen.lock().unwrap().push(n.update);
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |r: s::RequestPermissionRequest,
                            to: v1::Responder<s::RequestPermissionResponse>,
                            _| {
                    let wanted = s::PermissionOptionKind::AllowOnce;
                    let option = r.options.iter().find(|one| one.kind == wanted).unwrap();
                    let chosen = s::SelectedPermissionOutcome::new(option.option_id.clone());
                    to.respond(s::RequestPermissionResponse::new(
                        s::RequestPermissionOutcome::Selected(chosen),
                    ))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(
                Lines::new(Box::pin(to), Box::pin(from)),
                async move |cx: v1::ConnectionTo<Agent>| {
                    let version = agent_client_protocol::schema::ProtocolVersion::V1;
                    let hello = s::InitializeRequest::new(version);
                    let hello = cx.send_request(hello).block_task().await?;
                    assert!(hello.agent_capabilities.load_session);
                    let session = s::NewSessionRequest::new(root);
                    let session = cx.send_request(session).block_task().await?;
                    let prompt = s::PromptRequest::new(session.session_id, vec!["write".into()]);
                    let end = cx.send_request(prompt).block_task().await?;
                    Ok(end.stop_reason)
                },
            );
        let stop = tokio::time::timeout(super::driver::WAIT, talk)
            .await
            .unwrap()
            .unwrap();
        // Its stream is closed: it ends by itself.
        let ended = tokio::time::timeout(super::driver::WAIT, child.wait()).await;
        assert!(ended.unwrap().unwrap().success());
        assert_eq!(scene.space.read("x.txt"), "made\n");
        stop
    });
    assert_eq!(stop, s::StopReason::EndTurn);
    let said: String = updates
        .lock()
        .unwrap()
        .iter()
        .filter_map(|update| match update {
            s::SessionUpdate::AgentMessageChunk(chunk) => match &chunk.content {
                s::ContentBlock::Text(text) => Some(text.text.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(said, "Writing. Written.");
}
