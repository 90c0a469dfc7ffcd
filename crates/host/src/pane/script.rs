//! The scripts that drive tmux at a place. They are read by `sh`; what differs comes as arguments or, for the script of a
//! command, quoted. The pane's own shell may be any: it only reads `sh FILE`.

use super::marks::Marks;
use crate::command::Command;
use std::ffi::{OsStr, OsString};

/// What scripts print before what they have to say.
pub const SAYS: &str = "OSTLER-PANE";
/// Columns and rows of a pane that nobody has attached to yet.
const SIZE: &str = "-x 160 -y 50";
/// The window that the pane is in.
pub const WINDOW: &str = "ostler-shared";

/// Opens the pane, says where it is, and then prints what the pane shows. `tmux` finds the server.
///
/// Arguments: session, `own` or `named`, folder to begin in, the pane in which we run, the terminal that we run on.
/// Folders of panes whose script is gone are removed. The leash is held by this script's process: when it ends, whatever waits for the leash does, too.
pub fn open(tmux: &str) -> String {
    format!(
        r##"session=$1 own=$2 root=$3 own_pane=$4 own_tty=$5
say() {{ echo "{SAYS} $*"; }}
command -v tmux >/dev/null 2>&1 || {{ say none; exit 0; }}
t() {{ {tmux} "$@"; }}
p=
if t has-session -t "=$session" 2>/dev/null; then
  p=$(t list-panes -s -t "=$session" -F '#{{pane_dead}} #{{pane_id}} #{{window_name}}' | sed -n 's/^0 \(%[0-9]*\) {WINDOW}$/\1/p' | head -n 1)
  [ -n "$p" ] || p=$(t new-window -d -t "=$session:" -n {WINDOW} -c "$root" -P -F '#{{pane_id}}')
elif [ "$own" = named ] && ! t list-sessions >/dev/null 2>&1; then
  say no-session; exit 0
else
  p=$(t new-session -d -s "$session" -n {WINDOW} {SIZE} -c "$root" -P -F '#{{pane_id}}')
fi
[ -n "$p" ] || {{ say failed; exit 0; }}
tty=$(t display-message -p -t "$p" '#{{pane_tty}}')
if [ "$p" = "$own_pane" ] || [ "$tty" = "$own_tty" ]; then say ourselves; exit 0; fi
for try in 1 2 3 4 5 6; do
  [ "$(t display-message -p -t "$p" '#{{pane_pipe}}')" = 0 ] && break
  [ $try = 6 ] && {{ say in-use; exit 0; }}
  sleep 0.2
done
for old in /tmp/ostler-*-??????; do
  [ -O "$old" ] && [ "$(cat "$old/machine" 2>/dev/null)" = "$(uname -n)" ] || continue
  left=${{old#/tmp/ostler-}}
  kill -0 "${{left%-*}}" 2>/dev/null || rm -rf "$old"
done
d=$(mktemp -d "/tmp/ostler-$$-XXXXXX") && uname -n > "$d/machine" && mkfifo -m 600 "$d/out" "$d/leash" || {{ say failed; exit 0; }}
t set-option -w -t "$p" automatic-rename off
t set-option -w -t "$p" allow-rename off 2>/dev/null
exec 9<>"$d/leash"
t run-shell -b "read -r x < '$d/leash'; rm -rf '$d'; {tmux} pipe-pane -t '$p'" 9>&-
t pipe-pane -t "$p" "exec cat > '$d/out'" 9>&-
say "open $p $(t display-message -p -t "$p" '#{{pane_pid}}') $d $(t display-message -p -t "$p" '#{{socket_path}}')"
exec cat "$d/out""##
    )
}

/// Has the pane's shell read the script that comes on the input, if it waits for a command.
///
/// Arguments: pane, its shell's process, the file of the script.
pub fn begin(tmux: &str) -> String {
    format!(
        r##"p=$1 shell=$2 f=$3
say() {{ echo "{SAYS} $*"; }}
t() {{ {tmux} "$@"; }}
[ "$(t display-message -p -t "$p" '#{{pane_id}} #{{pane_dead}}' 2>/dev/null)" = "$p 0" ] || {{ say gone; exit 0; }}
if [ -r "/proc/$shell/stat" ]; then set -- $(sed 's/.*) //' "/proc/$shell/stat"); group=$3 front=$6
else set -- $(ps -o pgid=,tpgid= -p "$shell" 2>/dev/null); group=${{1:-0}} front=${{2:-0}}; fi
[ "$group" = "$front" ] || {{ say "busy $(t display-message -p -t "$p" '#{{pane_current_command}}')"; exit 0; }}
(umask 077; cat > "$f") || {{ rm -f "$f"; say full; exit 0; }}
[ "$(t display-message -p -t "$p" '#{{pane_in_mode}}')" = 0 ] || t send-keys -t "$p" -X cancel
t send-keys -t "$p" C-u \; send-keys -t "$p" -l " sh $f" \; send-keys -t "$p" Enter && say typed || {{ rm -f "$f"; say gone; }}"##
    )
}

/// Takes a script back that the shell has not read yet, so that it never runs.
pub const WITHDRAW: &str =
    r#"rm "$1" 2>/dev/null && echo "OSTLER-PANE withdrawn" || echo "OSTLER-PANE taken""#;

/// A signal to a command and what it started. Arguments: signal, process.
pub const SIGNAL: &str =
    r#"kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "$2" 2>/dev/null; true"#;

/// The script of one command. It is a child of the pane's shell and runs the command as its own child, so whatever the
/// command does to its shell (`exit`, `exec`, `set -e`) and however it leaves the terminal, the end is told.
pub fn command(command: &Command, word: &str, leash: &str, title: &str) -> Vec<u8> {
    let mut script = Vec::new();
    let begin = Marks::format(word, "begin;%s");
    let end = Marks::format(word, "end;%s");
    let title = quoted(OsStr::new(title));
    let mut line = |bytes: &[&[u8]]| {
        bytes.iter().for_each(|part| script.extend_from_slice(part));
        script.push(b'\n');
    };
    // Only one of those who remove it goes on: this, or whoever takes it back.
    line(&[b"rm \"$0\" 2>/dev/null || exit 1"]);
    line(&[b"modes=$(stty -g 2>/dev/null)"]);
    // The line that was typed gives way to what is run.
    line(&[b"printf '\\033[A\\r\\033[J\\033[1m%s\\033[0m\\n' ", &title]);
    line(&[
        b"(read -r x < ",
        &quoted(OsStr::new(leash)),
        b"; kill -TERM -$$; sleep 1; kill -KILL -$$) >/dev/null 2>&1 & leash=$!",
    ]);
    // After what is to be killed has begun, which must not have these.
    line(&[b"trap : INT QUIT TERM HUP"]);
    line(&[b"printf '", begin.as_bytes(), b"' \"$$\""]);
    let folder = quoted(command.cwd.as_os_str());
    line(&[b"(cd ", &folder, b" && exec ", &run(command), b")"]);
    line(&[b"code=$?"]);
    line(&[b"{ kill $leash; wait $leash; } 2>/dev/null"]);
    line(&[b"[ -z \"$modes\" ] || stty \"$modes\" 2>/dev/null"]);
    line(&[b"printf '", end.as_bytes(), b"' \"$code\""]);
    // What was killed may have left its own screen up.
    line(&[b"[ $code -le 128 ] || printf '\\033[?1049l\\033[?25h\\033[0m'"]);
    script
}

/// The command with exactly its own variables, and the terminal's name.
fn run(command: &Command) -> Vec<u8> {
    let mut line = b"env -i TERM=\"$TERM\"".to_vec();
    let env = command.env.iter().filter(|(name, _)| name != "TERM");
    for (name, value) in env {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        line.push(b' ');
        line.extend(quoted(&pair));
    }
    for word in &command.argv {
        line.push(b' ');
        line.extend(quoted(word));
    }
    line
}

/// As one word of a shell.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_encoded_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// What a script says, after the mark.
pub fn said(output: &str) -> Option<&str> {
    let mut lines = output.lines();
    lines
        .find_map(|line| line.trim().strip_prefix(SAYS))
        .map(str::trim)
}

/// argv of a script with its arguments.
pub fn argv<const N: usize>(script: &str, args: [&OsStr; N]) -> Vec<OsString> {
    let head = ["sh", "-c", script, "ostler"].map(OsString::from);
    head.into_iter().chain(args.map(OsStr::to_owned)).collect()
}
