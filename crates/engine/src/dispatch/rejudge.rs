//! A command that ran unasked because it only reads, and that the reader's sandbox refused a change, a host or a socket: it
//! is judged again as one that may write, and on a yes it runs once more in the ordinary sandbox, but with a reader's view of
//! the home and the machine: what a reader may not read stays unread. Never silently, never in plan mode, and never because
//! of a read.

use super::permit;
use super::{Finished, Prepared, regrant, run_in_turn, turn_to_write};
use crate::log::LogError;
use crate::tool::{Done, ToolError};
use crate::tools::bash::JUDGED_AGAIN;
use ostler_guard::Mode;
use ostler_state::SessionState;
use ostler_state::checkpoints;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::permissions::Leave;
use ostler_wire::{Access, Segment, Word};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What programs say when nothing can be written, compared without case.
const READ_ONLY_ERRORS: [&str; 3] = ["read-only file system", "erofs", "只读文件系统"];

/// How a call ended.
pub struct Ended {
    pub finished: Finished,
    /// It ran as one that may write.
    pub wrote: bool,
}

/// What became of the call in the end, also where it lacks something that can be granted.
pub async fn judge_again(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    first: Finished,
    cancel: &CancellationToken,
) -> Result<Ended, LogError> {
    let refused = refused(state, prepared, &first).filter(|_| !cancel.is_cancelled());
    let Some(refused) = refused else {
        let leave = &prepared.leave;
        let finished = regrant::offer(state, inbox, prepared, leave, first, cancel).await?;
        return Ok(Ended {
            finished,
            wrote: false,
        });
    };
    let remark = state
        .settings
        .language
        .fill(Word::TriedToWrite, &[&refused]);
    let again = Prepared {
        call: prepared.call.clone(),
        tool: prepared.tool.clone(),
        args: prepared.args.clone(),
        typed: prepared.typed.clone(),
        accesses: doubted(&prepared.accesses),
        permission: prepared.permission,
        leave: Leave::default(),
        remark: Some(remark),
    };
    let stays = |first, why: &str| Ended {
        finished: stand(first, why),
        wrote: false,
    };
    let leave = match permit::permit(state, inbox, &again).await? {
        Ok(leave) => leave,
        Err(error) => return Ok(stays(first, &error.message)),
    };
    let leave = Leave {
        sees_as_reader: true,
        ..leave
    };
    let turn = match turn_to_write(state, inbox, &again, cancel).await {
        Ok(turn) => turn,
        Err(Stopped) => return Ok(stays(first, "the person stopped the work")),
    };
    let call = (again.call.id.as_str(), again.tool.name());
    if let Err(Stopped) = checkpoints::before(state, inbox, call, &again.accesses).await? {
        return Ok(stays(first, "the person stopped the work"));
    }
    let cx = state.context(call.0, again.tool.about(), &leave, cancel.clone());
    let second = run_in_turn(state, inbox, &again, cx, turn).await;
    let (mut result, took) = regrant::offer(state, inbox, &again, &leave, second, cancel).await?;
    mark(&mut result, json!("writer"));
    Ok(Ended {
        wrote: result.is_ok(),
        finished: (result, first.1 + took),
    })
}

/// What the reader's sandbox refused; none where the call cannot be judged again.
fn refused(state: &SessionState, prepared: &Prepared, (result, _): &Finished) -> Option<String> {
    let plans = match state.permissions.mode {
        Mode::Plan => true,
        Mode::Normal | Mode::Goal => state.permissions.read_only,
    };
    if plans || !prepared.leave.read_only {
        return None;
    }
    refused_in(&result.as_ref().ok()?.data)
}

fn refused_in(data: &Value) -> Option<String> {
    if let Some(denied) = data.get("denied") {
        let what = denied["what"].as_str().unwrap_or_default();
        return (!is_read(denied, what)).then(|| what.to_owned());
    }
    let failed = data["exit_code"].as_i64() != Some(0);
    // What a command prints on purpose may speak of such errors.
    let streams: &[&str] = match failed {
        true => &["stderr", "stdout"],
        false => &["stderr"],
    };
    let lines = streams.iter().filter_map(|stream| data[stream].as_str());
    let line = lines.flat_map(str::lines).find(|line| {
        let line = line.to_lowercase();
        READ_ONLY_ERRORS.iter().any(|error| line.contains(error))
    });
    line.map(|line| line.trim().to_owned())
}

/// Whether a refusal is one of reading: that of a path, where no change was tried and no host or agent is lacking.
fn is_read(denied: &Value, what: &str) -> bool {
    let tried_to_write = denied["wrote_as_reader"] == true;
    let grant = &denied["grant"];
    let lacks_host = grant["hosts"]
        .as_array()
        .is_some_and(|hosts| !hosts.is_empty());
    let lacks_agent = grant["ssh_agent"] == true;
    let is_path = what.starts_with('/') || what.is_empty();
    is_path && !tried_to_write && !lacks_host && !lacks_agent
}

/// The same call with nothing taken for sure.
fn doubted(accesses: &[Access]) -> Vec<Access> {
    let mut accesses = accesses.to_vec();
    for access in &mut accesses {
        if let Access::Run(segments) = access {
            segments.iter_mut().for_each(Segment::doubt);
        }
    }
    accesses
}

/// The first result stands, and says why.
fn stand((mut result, took): Finished, why: &str) -> Finished {
    mark(&mut result, json!({ "refused": why }));
    (result, took)
}

fn mark(result: &mut Result<Done, ToolError>, how: Value) {
    if let Ok(done) = result
        && let Some(data) = done.data.as_object_mut()
    {
        data.insert(JUDGED_AGAIN.into(), how);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_readers_sandbox() {
        for (data, expect) in [
            (
                json!({"exit_code": 0, "stdout": "fine", "stderr": ""}),
                None,
            ),
            (
                json!({"exit_code": 1, "stdout": "", "stderr": "no such file"}),
                None,
            ),
            (
                json!({"exit_code": 1, "denied": {"what": "/repo/x", "hint": "no", "wrote_as_reader": true}}),
                Some("/repo/x"),
            ),
            (
                json!({"exit_code": 1, "denied": {"what": "a.example", "grant": {"hosts": ["a.example"]}}}),
                Some("a.example"),
            ),
            (
                json!({"exit_code": 1, "denied": {"what": "a socket", "hint": "no"}}),
                Some("a socket"),
            ),
            // A read stays refused, whatever else the command says.
            (
                json!({"exit_code": 1, "denied": {"what": "/home/me/x", "grant": {"readable": ["/home/me/x"]}}}),
                None,
            ),
            (
                json!({"exit_code": 1, "stderr": "x: Read-only file system", "denied": {"what": "/home/me/x", "hint": "kept by a rule"}}),
                None,
            ),
            (
                json!({"exit_code": 1, "stderr": "touch: a: Read-only file system\n"}),
                Some("touch: a: Read-only file system"),
            ),
            (
                json!({"exit_code": 0, "stderr": "open x: read-only file system"}),
                Some("open x: read-only file system"),
            ),
            // A file that speaks of it.
            (
                json!({"exit_code": 0, "stdout": "EROFS: Read-only file system", "stderr": ""}),
                None,
            ),
            (
                json!({"exit_code": 1, "stdout": "Error: EROFS: read-only", "stderr": ""}),
                Some("Error: EROFS: read-only"),
            ),
        ] {
            assert_eq!(refused_in(&data).as_deref(), expect, "{data}");
        }
    }
}
