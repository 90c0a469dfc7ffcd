#!/bin/sh
# A tiny calculator: sh calc.sh sum|average NUMBER...
op=$1
shift

sum() {
    total=0
    for n in "$@"; do
        total=$((total + n))
    done
    echo "$total"
}

average() {
    echo $(($(sum "$@") / ($# + 1)))
}

case $op in
sum) sum "$@" ;;
average) average "$@" ;;
*)
    echo "usage: sh calc.sh sum|average NUMBER..." >&2
    exit 2
    ;;
esac
