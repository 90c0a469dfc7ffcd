#!/bin/sh
# Compares what calc.sh prints with what it should. Exits 1 when anything differs.
failed=0

check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: expected $2, got $3"
        failed=1
    fi
}

check "sum of 1 2 3" 6 "$(sh calc.sh sum 1 2 3)"
check "average of 2 4 6" 4 "$(sh calc.sh average 2 4 6)"
check "average of 9" 9 "$(sh calc.sh average 9)"

if [ "$failed" -eq 0 ]; then
    echo "all tests passed"
fi
exit "$failed"
