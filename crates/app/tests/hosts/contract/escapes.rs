//! Commands that try to get at what lies outside of the project, at what is protected in it, and at what rules deny. Each
//! prints FREE when it got there. What holds depends on the layer alone, wherever it is; without one everything is free.

use super::{Case, Expect, case};
use serde_json::json;
use std::path::Path;

/// A secret beside the project.
pub const OUTSIDE_SECRET: &str = "outside-secret";
/// In a command, the folder outside of the project.
const OUT: &str = "@OUT@";

/// The command held by every layer.
fn held(name: &'static str, script: &str, out: &Path) -> Case {
    with(name, script, out, Expect::Held("HELD", "FREE"))
}

fn with(name: &'static str, script: &str, out: &Path, expect: Expect) -> Case {
    let script = script.replace(OUT, &out.display().to_string());
    Case {
        expect,
        ..case(name, "bash", json!({ "command": script }), "")
    }
}

/// What lies outside.
pub fn lay_out(out: &Path) {
    let write = |name: &str, text: &str| std::fs::write(out.join(name), text).unwrap();
    write("known", "as it was\n");
    write("secret", OUTSIDE_SECRET);
    std::fs::create_dir_all(out.join("folder")).unwrap();
}

/// Whether it is as it was laid out.
pub fn is_untouched(out: &Path) -> bool {
    let mut names: Vec<String> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let known = std::fs::read_to_string(out.join("known")).unwrap();
    names == ["folder", "known", "secret"] && known == "as it was\n"
}

pub fn cases(out: &Path) -> Vec<Case> {
    let held = |name, script: &str| held(name, script, out);
    let free = |name, script: &str| with(name, script, out, Expect::Everywhere("FREE"));
    vec![
        held(
            "a file outside",
            "(echo x > @OUT@/new) 2>/dev/null; test -e @OUT@/new && echo FREE || echo HELD",
        ),
        held(
            "more of a file outside",
            "(echo x >> @OUT@/known) 2>/dev/null; grep -q x @OUT@/known && echo FREE || echo HELD",
        ),
        held(
            "a folder outside",
            "mkdir @OUT@/made 2>/dev/null; test -d @OUT@/made && echo FREE || echo HELD",
        ),
        held(
            "removed outside",
            "rmdir @OUT@/folder 2>/dev/null && echo FREE || echo HELD",
        ),
        held(
            "renamed outside",
            "touch r; mv r @OUT@/renamed 2>/dev/null; test -e @OUT@/renamed && echo FREE || echo HELD",
        ),
        with(
            "rights outside",
            "chmod 600 @OUT@/secret 2>/dev/null && echo FREE || echo HELD",
            out,
            Expect::Mounts("HELD", "FREE"),
        ),
        held(
            "by a link to a folder",
            "ln -sfn @OUT@ l; (echo x > l/by_link) 2>/dev/null; test -e @OUT@/by_link && echo FREE || echo HELD",
        ),
        held(
            "by a link to a file",
            "ln -sf @OUT@/by_file_link lf; (echo x > lf) 2>/dev/null; test -e @OUT@/by_file_link && echo FREE || echo HELD",
        ),
        held(
            "by a hard link",
            "ln @OUT@/known hard 2>/dev/null || { echo no link, HELD or FREE; exit 0; }; (echo y >> hard) 2>/dev/null; grep -q y @OUT@/known && echo FREE || echo HELD",
        ),
        held(
            "by steps upwards",
            "d=$(pwd); p=$(echo $d | sed 's#[^/]*#..#g'); (echo x > $d/$p@OUT@/steps) 2>/dev/null; test -e @OUT@/steps && echo FREE || echo HELD",
        ),
        held(
            "by /proc/self/root",
            "(echo x > /proc/self/root@OUT@/proc) 2>/dev/null; test -e @OUT@/proc && echo FREE || echo HELD",
        ),
        held(
            "by a folder that is open",
            "cd @OUT@ 2>/dev/null && (echo x > here) 2>/dev/null; test -e @OUT@/here && echo FREE || echo HELD",
        ),
        held(
            "by a process of its own",
            "setsid sh -c 'echo x > @OUT@/setsid' 2>/dev/null; test -e @OUT@/setsid && echo FREE || echo HELD",
        ),
        held(
            "by one that is left behind",
            "(setsid sh -c 'echo x > @OUT@/left' >/dev/null 2>&1 &); n=0; until test -e @OUT@/left || test $n -ge 20; do n=$((n+1)); sleep 0.02; done; test -e @OUT@/left && echo FREE || echo HELD",
        ),
        held(
            "by another interpreter",
            "awk 'BEGIN { print 1 > \"@OUT@/awk\" }' 2>/dev/null; test -e @OUT@/awk && echo FREE || echo HELD",
        ),
        held(
            "by xargs",
            "echo @OUT@/xargs | xargs touch 2>/dev/null; test -e @OUT@/xargs && echo FREE || echo HELD",
        ),
        held(
            "by an archive",
            "mkdir -p ar && echo x > ar/tar; tar -C ar -cf - tar | tar -C @OUT@ -xf - 2>/dev/null; test -e @OUT@/tar && echo FREE || echo HELD",
        ),
        held(
            "by a script of the project",
            "printf 'echo x > @OUT@/script\\n' > s.sh; sh s.sh 2>/dev/null; test -e @OUT@/script && echo FREE || echo HELD",
        ),
        held(
            "the helper's folder",
            "d=${XDG_CACHE_HOME:-$HOME/.cache}/ostler; mkdir -p $d 2>/dev/null; (echo x > $d/contract) 2>/dev/null; test -e $d/contract && { rm -f $d/contract; echo FREE; } || echo HELD",
        ),
        held(
            "what checkpoints hold",
            "d=${XDG_DATA_HOME:-$HOME/.local/share}/ostler/checkpoints; mkdir -p $d 2>/dev/null; (echo x > $d/contract) 2>/dev/null; test -e $d/contract && { rm -f $d/contract; echo FREE; } || echo HELD",
        ),
        held(
            "hooks of git stay",
            "test -e .git/hooks/post-commit && echo FREE || { (echo x > .git/hooks/post-commit) 2>/dev/null; echo wrote HELD FREE; }",
        ),
        held(
            "and are looked at by the next",
            "test -e .git/hooks/post-commit && echo FREE || echo HELD",
        ),
        held(
            "settings of Ostler stay",
            "(echo x > ostler.toml) 2>/dev/null; echo wrote HELD FREE",
        ),
        held(
            "and are gone for the next",
            "test -e ostler.toml && { rm -f ostler.toml; echo FREE; } || echo HELD",
        ),
        held(
            "servers of the project stay",
            "(echo '{}' > .mcp.json) 2>/dev/null; echo wrote HELD FREE",
        ),
        held(
            "and these are gone",
            "test -e .mcp.json && { rm -f .mcp.json; echo FREE; } || echo HELD",
        ),
        held(
            "a repository in the place of another",
            "mv .git .was && mkdir -p .git/hooks && echo x > .git/hooks/evil; echo wrote HELD FREE",
        ),
        held(
            "and it is back",
            "test -e .git/hooks/evil && { rm -rf .git; mv .was .git; echo FREE; } || { rm -rf .was; echo HELD; }",
        ),
        held(
            "what a rule denies, in pieces",
            "x=en; cat .${x}v 2>/dev/null | grep -q word= && echo FREE || echo HELD",
        ),
        held(
            "what a rule denies, by a pattern",
            "cat .e?? 2>/dev/null | grep -q word= && echo FREE || echo HELD",
        ),
        held(
            "what a rule denies, by a copy",
            "cp .[e]nv copy 2>/dev/null; grep -q word= copy 2>/dev/null && echo FREE || echo HELD",
        ),
        held(
            "what a rule denies, by a hard link",
            "ln .[e]nv hl 2>/dev/null; grep -q word= hl 2>/dev/null && echo FREE || echo HELD",
        ),
        free(
            "the project itself",
            "echo x > mine && test -e mine && echo FREE || echo HELD",
        ),
        free(
            "temporary files",
            "f=$(mktemp) && echo x > $f && rm $f && echo FREE || echo HELD",
        ),
        free(
            "programs of the system",
            "command -v sed >/dev/null && echo FREE || echo HELD",
        ),
    ]
}
