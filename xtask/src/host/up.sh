# Begins a dockerd of our own, and makes an image of busybox for it. Prints what to export for the tests. It needs root.
set -eu
folder=$1
skip() { echo "skipped: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "a docker of our own needs root"
command -v dockerd >/dev/null || skip "dockerd is not installed"
busybox=$(command -v busybox) || skip "busybox is not installed"
socket=unix://$folder/docker.sock
tell() { echo "export DOCKER_HOST=$socket OSTLER_TEST_DOCKER=ostler-test:base"; }
if [ -s "$folder/pid" ] && docker -H "$socket" info >/dev/null 2>&1; then tell; exit 0; fi
mkdir -p "$folder/data" "$folder/exec"
rm -f "$folder/pid"
# Where root may not lower the score of the out-of-memory killer, containers do without it.
cat > "$folder/runc" <<'X'
#!/bin/sh
b= p=
for a; do [ "$p" = --bundle ] && b=$a; p=$a; done
[ -n "$b" ] && [ -f "$b/config.json" ] && sed -i 's/"oomScoreAdj":-[0-9]*/"oomScoreAdj":0/' "$b/config.json"
exec runc "$@"
X
chmod +x "$folder/runc"
setsid dockerd --storage-driver overlay2 --iptables=false --ip6tables=false --bridge=none \
  --add-runtime test="$folder/runc" --default-runtime=test --data-root "$folder/data" --exec-root "$folder/exec" \
  --pidfile "$folder/pid" -H "$socket" </dev/null >"$folder/log" 2>&1 &
tries=0
until docker -H "$socket" info >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || skip "dockerd does not start here: $(tail -n 1 "$folder/log")"
  sleep 0.1
done
if ! docker -H "$socket" image inspect ostler-test:base >/dev/null 2>&1; then
  root=$(mktemp -d)
  mkdir -p "$root/bin" "$root/tmp" "$root/root" "$root/etc"
  cp "$busybox" "$root/bin/busybox"
  for name in $("$busybox" --list); do [ "$name" = busybox ] || ln -sf busybox "$root/bin/$name"; done
  echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
  chmod 1777 "$root/tmp"
  tar -C "$root" -c . | docker -H "$socket" import - ostler-test:base >/dev/null
  rm -rf "$root"
fi
tell
