//! Rules as they are written, and what they cover.

use super::*;
use crate::testing::tool;

fn scope() -> Scope {
    Scope::new("/repo", Some("/home/me".into()))
}

#[test]
fn options_before_a_sub_command_do_not_hide_it() {
    for (rule, command, expect) in [
        ("Bash(git push:*)", "git push origin", true),
        ("Bash(git push:*)", "git --no-pager push origin", true),
        ("Bash(git push:*)", "git -c a.b=c push", true),
        ("Bash(git push:*)", "git -C . --git-dir=.git push", true),
        ("Bash(git push)", "git --no-pager push", true),
        ("Bash(npm publish:*)", "npm --silent publish", true),
        ("Bash(cargo publish:*)", "cargo +nightly -q publish", true),
        ("Bash(kubectl delete:*)", "kubectl -n x delete pod y", true),
        ("Bash(terraform apply:*)", "terraform -chdir=x apply", true),
        ("Bash(gh pr merge:*)", "gh -R a/b pr merge 1", true),
        (
            "Bash(docker compose up:*)",
            "docker compose -f x.yml up",
            true,
        ),
        ("Bash(git push:*)", "git -c alias.p=push p origin", true),
        ("Bash(git push:*)", "git -calias.p=push p origin", true),
        ("Bash(git push:*)", "git log push", false),
        ("Bash(git push:*)", "git", false),
        ("Bash(git push:*)", "npm push", false),
        ("Bash(rm -rf:*)", "rm -v -rf x", true),
        ("Bash(rm -rf:*)", "rm x", false),
    ] {
        let rule = Rule::parse(rule, "x:1").unwrap();
        let segments = segments(command);
        let hit = segments.iter().any(|segment| rule.touches_segment(segment));
        assert_eq!(hit, expect, "{} {command}", rule.text);
    }
    // An allow rule speaks of the words as they stand.
    let rule = Rule::parse("Bash(git push:*)", "x:1").unwrap();
    let segments = segments("git -c a.b=c push");
    assert!(!segments.iter().any(|segment| rule.allows_segment(segment)));
}

#[test]
fn a_host_is_one_host_however_it_is_spelled() {
    for (rule, host, expect) in [
        ("Net(evil.com)", "EVIL.com.", true),
        ("Net(evil.com)", "evil.com.:443", true),
        ("Net(127.0.0.1)", "[::ffff:127.0.0.1]:8099", true),
        ("Net(127.0.0.1)", "0x7f.1", true),
        ("Net(127.0.0.1)", "2130706433", true),
        ("Net([::1])", "[0:0:0:0:0:0:0:1]", true),
        ("Net(*.evil.com)", "a.evil.com.", true),
        ("Net(evil.com)", "notevil.com", false),
        ("Net(bücher.example)", "xn--bcher-kva.example", true),
    ] {
        let parsed = Rule::parse(rule, "x:1").unwrap();
        assert_eq!(parsed.touches_host(host), expect, "{rule} {host}");
        assert_eq!(parsed.allows_host(host), expect, "{rule} {host}");
    }
}

#[test]
fn rules_that_cannot_be_read_say_why() {
    for (text, why) in [
        ("Bash(ls", Word::RuleNoEnd),
        ("(ls)", Word::RuleNoName),
        ("Ba sh", Word::RuleBadName),
        ("Read()", Word::RuleEmptyPart),
    ] {
        assert_eq!(Rule::parse(text, "x:1").unwrap_err().why, why, "{text}");
    }
}

#[test]
fn path_specs() {
    for (rule, path, expect) in [
        ("Read(.env)", "/repo/.env", true),
        ("Read(.env)", "/repo/a/b/.env", true),
        ("Read(.env)", "/repo/.envrc", false),
        ("Read(.env*)", "/repo/.envrc", true),
        ("Read(./.env)", "/repo/a/.env", false),
        ("Read(secrets/**)", "/repo/secrets/a/b", true),
        ("Read(secrets/)", "/repo/secrets/a/b", true),
        ("Read(~/.ssh)", "/home/me/.ssh/id", true),
        ("Read(/etc/passwd)", "/etc/passwd", true),
        ("Read", "/anything", true),
        ("Edit(.env)", "/repo/.env", false),
        ("Read(.env)", "/repo2/.env", false),
        ("Read(.env)", "/repo/.e*", true),
        ("Read(.env)", "/repo/*", false),
        ("Read(.env)", "/repo/**", true),
        ("Read(.env)", "/**", true),
        ("Read(.env)", "/etc/**", false),
        ("Read(.env)", "/repo/[!.]**", false),
        ("Read(secrets/**)", "/repo/[!.]**", true),
        ("Read(/etc/shadow)", "/etc/sh*", true),
        ("Read(~/.ssh)", "/home/**", true),
        ("Read(secrets)", "/repo/a/secrets/x", true),
    ] {
        let parsed = Rule::parse(rule, "x:1").unwrap();
        assert_eq!(
            parsed.touches_read(Path::new(path), &scope()),
            expect,
            "{rule} {path}"
        );
    }
}

fn segments(command: &str) -> Vec<Segment> {
    let scope = scope();
    let place = super::super::shell::Place {
        cwd: scope.root.clone(),
        root: &scope.root,
        home: scope.user_home.as_deref(),
        open: &[],
    };
    super::super::shell::analyse(command, &place)
}

#[test]
fn rules_cover_others() {
    for (wide, narrow, expect) in [
        ("Bash", "Bash(rm:*)", true),
        ("Bash(rm:*)", "Bash", false),
        ("Bash(git:*)", "Bash(git push:*)", true),
        ("Bash(git push:*)", "Bash(git:*)", false),
        ("Bash(rm:*)", "Bash(rm -rf x)", true),
        ("Bash(rm:*)", "Bash(rmdir x)", false),
        ("Bash(rm:*)", "Read(rm)", false),
        ("Read", "Read(.env)", true),
        ("Read", "read_file", true),
        ("Edit", "write_file(a)", true),
        ("Read(.env)", "Read(./.env)", true),
        ("Read(./.env)", "Read(.env)", false),
        ("Edit(src/**)", "Edit(./src/a.rs)", true),
        ("Edit(src)", "Edit(src/a)", true),
        ("Edit(src/a)", "Edit(src/**)", false),
        ("Net(*.b)", "Net(a.b)", true),
        ("Net(a.b:443)", "Net(a.b)", false),
        ("mcp__x", "mcp__x__y", true),
        ("mcp__x__y", "mcp__x", false),
    ] {
        let rule = |text| Rule::parse(text, "x:1").unwrap();
        let got = {
            let narrow = rule(narrow);
            let tool = narrow.tool().map(tool);
            rule(wide).covers(&narrow, tool, &scope())
        };
        assert_eq!(got, expect, "{wide} {narrow}");
    }
}

#[test]
fn command_specs() {
    for (rule, command, allows, denies) in [
        ("Bash(go test:*)", "go test ./...", true, true),
        ("Bash(go test:*)", "go test", true, true),
        ("Bash(go test:*)", "go 'test x'", false, true),
        ("Bash(go test:*)", "go testing", false, false),
        (
            "Bash(go test:*)",
            "go test ./... && rm -rf tmp",
            false,
            true,
        ),
        ("Bash(go test:*)", "go test $(x)", false, true),
        ("Bash(go test:*)", "FOO=1 go test", false, true),
        ("Bash(FOO=1 go test:*)", "FOO=1 go test", true, true),
        ("Bash(go test:*)", "RUST_LOG=debug go test", true, true),
        ("Bash(go test:*)", "timeout 5 go test", true, true),
        ("Bash(go test:*)", "./go test", false, true),
        ("Bash(go test:*)", "sudo go test", false, true),
        ("Bash(sudo go test:*)", "sudo go test", true, true),
        ("bash(go test*)", "go test ./...", true, true),
        ("Bash(rm:*)", "ls; /bin/rm -rf x", false, true),
        ("Bash(rm:*)", "r\\m x", true, true),
        ("Bash(rm:*)", "find . -exec rm {} +", false, true),
        ("Bash(rm:*)", "sh -c 'rm x'", false, true),
        ("Bash(rm:*)", "if broken; rm x", false, true),
        ("Bash(rm -rf *)", "rm -rf /tmp/x", true, true),
        ("bash=ls", "ls", true, true),
        ("Read", "ls", false, false),
    ] {
        let parsed = Rule::parse(rule, "x:1").unwrap();
        let all = segments(command);
        assert_eq!(
            all.iter().all(|s| parsed.allows_segment(s)),
            allows,
            "allow {rule} on {command}"
        );
        assert_eq!(
            all.iter().any(|s| parsed.touches_segment(s)),
            denies,
            "deny {rule} on {command}"
        );
    }
}

#[test]
fn older_forms_are_saved_in_the_new_one() {
    for (text, expect) in [
        ("bash(go test*)", "Bash(go test:*)"),
        ("Bash(go test *)", "Bash(go test:*)"),
        ("bash=ls", "Bash(ls)"),
        ("write(a)", "Edit(a)"),
        ("Bash", "Bash"),
        ("Net(a.b:443)", "Net(a.b:443)"),
        ("mcp__x", "mcp__x"),
    ] {
        let rule = Rule::parse(text, "x:1").unwrap();
        assert_eq!(rule.canonical(), expect, "{text}");
        let again = Rule::parse(&rule.canonical(), "x:1").unwrap();
        assert_eq!(again.canonical(), expect);
        assert_eq!((again.family, again.spec), (rule.family, rule.spec));
    }
}

#[test]
fn places_by_kind_and_name_or_by_name() {
    for (rule, place, expect) in [
        ("Host", "ssh me@box", true),
        ("Host(ssh me@box)", "ssh me@box", true),
        ("Host(me@box)", "ssh me@box", true),
        ("Host(ssh *)", "ssh root@prod", true),
        ("Host(*prod*)", "container prod-1", true),
        ("Host(ssh *)", "container box", false),
        ("Host(box)", "ssh me@box", false),
        ("Net(box)", "ssh box", false),
    ] {
        let (kind, name) = place.split_once(' ').unwrap();
        let rule = Rule::parse(rule, "x:1").unwrap();
        assert_eq!(rule.touches_place(kind, name), expect, "{rule:?} {place}");
    }
}

#[test]
fn hosts_and_servers() {
    for (rule, host, touches, allows) in [
        ("Net", "a.b", true, true),
        ("Net(a.b)", "a.b", true, true),
        ("Net(a.b)", "A.b:443", true, true),
        ("Net(a.b:443)", "a.b:443", true, true),
        ("Net(a.b:443)", "a.b:80", false, false),
        ("Net(a.b:443)", "a.b", true, false),
        ("Net(*.b)", "x.b", true, true),
        ("Net(a.b)", "*", false, false),
        ("Net(*)", "*", true, true),
        ("Read(a.b)", "a.b", false, false),
    ] {
        let rule = Rule::parse(rule, "x:1").unwrap();
        assert_eq!(rule.touches_host(host), touches, "{rule:?} {host}");
        assert_eq!(rule.allows_host(host), allows, "{rule:?} {host}");
    }
    let server = Rule::parse("mcp__x", "x:1").unwrap();
    assert!(server.covers_tool(tool("mcp__x__y")));
    assert!(!server.covers_tool(tool("mcp__xy__y")));
}
