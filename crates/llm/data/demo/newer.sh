#!/bin/sh
# Asks the server of this project whether there is a newer version. The server does not exist.
if ! command -v curl >/dev/null; then
    echo "newer.sh: curl is not installed" >&2
    exit 1
fi
exec curl -fsS --max-time 5 http://calc.example/version
