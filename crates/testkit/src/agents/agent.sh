#!/bin/sh
# Plays another agent's program by a script of steps: one step for each call, the last one for all that follow. What it was
# called with is kept in its own state folder, the one place beside the project that it can write to.
name='@NAME@'
place='@PLACE@'
state="$HOME/@STATE@"
case "$1" in
    --version | -v | version) echo "9.9.9 (fake $name)"; exit 0 ;;
    auth | login | whoami) exit 0 ;;
esac
mkdir -p "$state/fake"
n=1
while ! mkdir "$state/fake/$n" 2>/dev/null; do n=$((n + 1)); done
record="$state/fake/$n"
env > "$record/env"
pwd > "$record/cwd"
echo $$ > "$record/pid"
for argument in "$@"; do printf '%s\n' "$argument"; done > "$record/args"
step="$place/$name.$n"
[ -f "$step" ] || step="$place/$name.last"
text="done by $name"
session="$name-session-$n"
protocol=no
for argument in "$@"; do
    case "$argument" in acp | --acp) protocol=yes ;; esac
done
# A conversation that goes on keeps its id.
before=
for argument in "$@"; do
    case "$before$argument" in
        --resume?* | -s?*-session-* | -S?* | --session?*) session="$argument" ;;
    esac
    case "$argument" in --resume | -s | -S | --session) before="$argument" ;; *) before= ;; esac
    case "$argument" in "$name"-session-*) session="$argument" ;; esac
done

if [ "$protocol" = no ]; then
    cat > "$record/stdin"
    # What happens, as its own stream: success, error, rate.
    emit() {
        while IFS= read -r line; do
            case "$line" in
                '! '*) printf '%s\n' "${line#! }" >&2 ;;
                *) printf '%s\n' "$line" | sed -e "s|@TEXT@|$text|g" -e "s|@SESSION@|$session|g" ;;
            esac
        done < "$place/$name.$1.stream"
        exit "$(cat "$place/$name.$1.code")"
    }
    . "$step"
    exit 0
fi

reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n' "$session" "$1"; }
emit() {
    case "$1" in
        success)
            update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"echo made","kind":"execute","status":"pending","rawInput":{"command":"echo made"}}'
            update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"made"}}]}'
            update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$text"'"}}'
            reply '"result":{"stopReason":"end_turn"}'
            ;;
        error) reply '"error":{"code":-32603,"message":"401 Incorrect API key provided"}' ;;
        rate) reply '"error":{"code":-32603,"message":"429 Rate limit reached"}' ;;
    esac
}
while IFS= read -r line; do
    printf '%s\n' "$line" >> "$record/stdin"
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
    case "$line" in
        *'"method":"initialize"'*)
            reply '"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[]}'
            ;;
        *'"method":"session/new"'*) reply '"result":{"sessionId":"'"$session"'"}' ;;
        *'"method":"session/load"'* | *'"method":"session/resume"'*)
            session=$(printf '%s' "$line" | sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p')
            reply '"result":{}'
            ;;
        *'"method":"session/prompt"'*) . "$step" ;;
        *'"method":"session/cancel"'*) ;;
        *'"method":"'*) [ -n "$id" ] && reply '"result":{}' ;;
    esac
done
exit 0
