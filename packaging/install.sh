#!/bin/sh
# Installs Ostler for this account, without root. It checks the hash of what it installs, says what it did, and
# `ostler uninstall` (or `install.sh --uninstall`) takes it away.
#
#   install.sh [--from URL-OR-FOLDER] [--to PREFIX] [--version VERSION] [--uninstall]
#
# --from   where the archives and SHA256SUMS lie: an address or a folder
# --to     below which bin/ and share/ are; ~/.local when left out
set -eu

version=${OSTLER_VERSION:-@VERSION@}
from=${OSTLER_RELEASES:-https://example.invalid/ostler/releases/download/v$version}
prefix=${OSTLER_PREFIX:-${HOME:-}/.local}
uninstall=no

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --from) [ $# -gt 1 ] || fail "--from needs an address or a folder"; from=$2; shift ;;
        --to) [ $# -gt 1 ] || fail "--to needs a folder"; prefix=$2; shift ;;
        --version) [ $# -gt 1 ] || fail "--version needs a version"; version=$2; shift ;;
        --uninstall) uninstall=yes ;;
        -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $1; --help shows them" ;;
    esac
    shift
done

case $prefix in
    /?*) ;;
    *) fail "the folder to install into has to be absolute: set HOME, or name one with --to" ;;
esac
list=$prefix/share/ostler/installed.txt

if [ "$uninstall" = yes ]; then
    [ -f "$list" ] || fail "nothing was installed below $prefix"
    while IFS= read -r file; do
        case $file in
            '' | /* | *..*) continue ;;
        esac
        rm -f "$prefix/$file" && echo "removed $prefix/$file"
    done < "$list"
    rm -f "$list"
    rmdir "$prefix/share/ostler" 2>/dev/null || :
    echo "Your settings and sessions stay in ${OSTLER_HOME:-$HOME/.ostler}."
    exit 0
fi

case $(uname -s) in
    Linux) system=unknown-linux-musl ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no program for $(uname -s) here; on Windows use the zip archive" ;;
esac
case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no program for $(uname -m)" ;;
esac
name=ostler-$version-$processor-$system
archive=$name.tar.gz

work=$(mktemp -d) || fail "no temporary folder can be made"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

get() {
    case $from in
        http://* | https://*)
            if command -v curl >/dev/null 2>&1; then
                curl -fsSL --proto '=https,http' -o "$work/$1" "$from/$1"
            elif command -v wget >/dev/null 2>&1; then
                wget -q -O "$work/$1" "$from/$1"
            else
                fail "curl or wget is needed"
            fi || fail "$from/$1 cannot be fetched"
            ;;
        *) cp "$from/$1" "$work/$1" || fail "$from/$1 cannot be read" ;;
    esac
}

hash_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d' ' -f1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -d' ' -f1
    else
        fail "sha256sum or shasum is needed to check what is installed"
    fi
}

get SHA256SUMS
get "$archive"
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name $archive"
found=$(hash_of "$work/$archive")
[ "$wanted" = "$found" ] || fail "$archive has the hash $found, not $wanted; nothing was installed"

(cd "$work" && tar -xzf "$archive")
[ -f "$work/$name/ostler" ] || fail "$archive has no program in it; nothing was installed"

put() {
    mkdir -p "$prefix/$(dirname "$2")"
    # A program that runs keeps its file; the new one takes its name.
    cp "$work/$name/$1" "$prefix/$2.new"
    chmod "$3" "$prefix/$2.new"
    mv -f "$prefix/$2.new" "$prefix/$2"
    echo "$2" >> "$work/installed.txt"
    echo "installed $prefix/$2"
}

put ostler bin/ostler 755
if [ -f "$work/$name/ostler-host" ]; then put ostler-host bin/ostler-host 755; fi
put share/man/man1/ostler.1 share/man/man1/ostler.1 644
put share/completions/ostler.bash share/bash-completion/completions/ostler 644
put share/completions/_ostler share/zsh/site-functions/_ostler 644
put share/completions/ostler.fish share/fish/vendor_completions.d/ostler.fish 644
mkdir -p "$prefix/share/ostler"
cp "$work/installed.txt" "$list"

"$prefix/bin/ostler" --version >/dev/null || fail "$prefix/bin/ostler does not run here"
case :$PATH: in
    *:"$prefix/bin":*) echo "Start it with: ostler" ;;
    *) echo "$prefix/bin is not in PATH. Add it, or start: $prefix/bin/ostler" ;;
esac
