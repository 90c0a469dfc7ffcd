# Ends the dockerd of our own.
set -eu
folder=$1
[ -s "$folder/pid" ] || { echo "none runs"; exit 0; }
kill "$(cat "$folder/pid")" 2>/dev/null || true
