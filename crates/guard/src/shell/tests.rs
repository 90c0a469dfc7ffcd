//! The shell analysis by tables: readers, segments, effects, and what must stay unsure.

use super::*;
use ostler_wire::Mark;

fn run(command: &str) -> Vec<Segment> {
    let place = Place {
        cwd: "/repo".into(),
        root: Path::new("/repo"),
        home: Some(Path::new("/home/me")),
        open: &[],
    };
    analyse(command, &place)
}

fn is_reader(command: &str) -> bool {
    accesses(run(command)).iter().all(Access::is_read_only)
}

#[test]
fn every_row_keeps_its_examples() {
    let mut wrong = Vec::new();
    for reader in spec::all() {
        for example in reader.yes {
            let mut words = example.split(' ').zip(reader.words);
            assert!(
                words.all(|(have, want)| *want == "*" || have == *want),
                "{example}"
            );
            if !is_reader(example) {
                wrong.push(format!("asked: {example} {:?}", run(example)));
            }
        }
        for example in reader.no {
            let first = reader.words[0];
            assert!(first == "*" || example.starts_with(first), "{example}");
            if is_reader(example) {
                wrong.push(format!("allowed: {example}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words of an example in which nothing is quoted.
fn plain(example: &str) -> Vec<word::Word> {
    example.split(' ').map(word::Word::plain).collect()
}

/// The examples that are not as a table says.
fn misjudged(table: &str, yes: &[&str], no: &[&str], is: impl Fn(&str) -> bool) -> Vec<String> {
    assert!(!yes.is_empty() && !no.is_empty(), "{table} has no examples");
    let missed = yes.iter().filter(|example| !is(example));
    let wrong = no.iter().filter(|example| is(example));
    let line = |example: &&str| format!("{table}: {example}");
    missed.chain(wrong).map(line).collect()
}

#[test]
fn wrappers_run_the_command_in_their_words() {
    let inside = |example: &str| match wrappers::peel(&plain(example), &mut Default::default()) {
        Some(wrappers::Inside::Command(words)) => {
            words.first().is_some_and(|word| word.text == "ls")
        }
        Some(wrappers::Inside::Script(..) | wrappers::Inside::Unsure) | None => false,
    };
    let rows = commands::WRAPPERS.iter();
    let wrong: Vec<String> = rows
        .flat_map(|row| misjudged(row.name, row.yes, row.no, inside))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn writers_change_the_files_they_name() {
    let changes = |example: &str| {
        let a = Access::Write("/repo/a".into());
        accesses(run(example)).contains(&a)
    };
    let rows = commands::WRITERS.iter();
    let wrong: Vec<String> = rows
        .flat_map(|row| misjudged(row.name, row.yes, row.no, changes))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_that_run_others_are_known_in_every_spelling() {
    let hands_over = |example: &str| hidden::hands_over(&plain(example));
    let rows = commands::RUNS_OPTION.iter();
    let wrong: Vec<String> = rows
        .flat_map(|row| misjudged(row.command, row.yes, row.no, hands_over))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_list_keeps_its_examples() {
    let examples = commands::EXAMPLES.iter();
    let wrong: Vec<String> = examples
        .flat_map(|(list, yes, no)| misjudged(list, yes, no, |example| is_in(list, example)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a command has the effect that its list says, by the code that uses the list.
fn is_in(list: &str, example: &str) -> bool {
    let words = plain(example);
    let texts: Vec<&str> = example.split(' ').collect();
    let effects = || effects::of(&words);
    let leads = || !leads::leading(&words, |path| !path.starts_with('/')).is_empty();
    let runs_hidden = || {
        run(example)
            .iter()
            .any(|s| s.text == "rm x" || s.also.iter().any(|also| also == "rm x"))
    };
    let path = || Path::new(example);
    match list {
        "SHELLS" | "INTERPRETERS" => effects().runs_text,
        "NET_OPERANDS" | "NET_ANY" => {
            let is_net = |touch: &effects::Touch| matches!(touch, effects::Touch::Net(_));
            effects().touches.iter().any(is_net)
        }
        "PRIVILEGE" => run(example)
            .iter()
            .any(|s| s.marks.contains(&Mark::Privilege)),
        "PROCESS" => run(example)
            .iter()
            .any(|s| s.marks.contains(&Mark::Process)),
        "RUNS_WORDS" | "RUNS_QUOTED" => runs_hidden(),
        "PROSE" => !runs_hidden(),
        "RUNS_PACKAGES" | "GIT_PLACES" | "MAKE_VARIABLES" => hidden::hands_over(&words),
        "GIT_SETTINGS" => !hidden::hands_over(&words),
        "RUNS_FILES" => leads::runs_files(&words),
        "TREES" => hidden::takes_trees(&words),
        "PREFIXES" => PREFIXES.contains(&example),
        "ELSEWHERE" | "ELSEWHERE_BEHIND" | "CONTAINERS" | "PRINTS" | "SCRIPT_FIRST"
        | "GIT_MESSAGES" | "NAMED_FREELY" | "COMPILERS" => !leads(),
        "BY_LOGIN" | "GIT_RUNS" | "GIT_RUNS_WORDS" => leads(),
        "NO_PROGRAMS" | "RUNS_REST" => !is_reader(example),
        "OWN_PARTS" | "RUSTUP" | "NPM" | "NPM_OPTIONS" | "YARN" | "PUBLIC_ENV" => {
            is_reader(example)
        }
        "HARMLESS_ENV" | "HARMLESS_PAIRS" => {
            let (name, value) = example.split_once('=').unwrap_or_default();
            is_harmless(name, Some(value))
        }
        "GIT_CONTENT_FREE" | "GIT_QUIET" | "GIT_SUMMARY" | "GIT_NAMES_ONLY" | "GIT_STASH_QUIET" => {
            tracked::shown(&texts[1..]).is_empty()
        }
        "PUBLIC" => PUBLIC.iter().any(|public| path().starts_with(public)),
        "LISTED" => is_listed(path()),
        "STREAMS" => commands::STREAMS.contains(&example),
        "SINKS" => commands::SINKS.contains(&example),
        _ => panic!("{list} has no test"),
    }
}

#[test]
fn commands_become_segments_after_quote_removal() {
    let check = |command: &str, expect: &[&str]| {
        let texts: Vec<String> = run(command).into_iter().map(|s| s.text).collect();
        assert_eq!(texts, expect, "{command}");
    };
    check("ls", &["ls"]);
    check("  ls   -la\tsrc ", &["ls -la src"]);
    check("sleep 0.3; echo 'a b';", &["sleep 0.3", "echo a b"]);
    check("a && b || c | d & e", &["a", "b", "c", "d", "e"]);
    check("(a; b) && { c; }", &["a", "b", "c"]);
    check("echo $(a \"$(b)\")", &["b", "a $(b)", "echo $(a \"$(b)\")"]);
    check(
        "if a; then b; elif c; then d; else e; fi",
        &["a", "b", "c", "d", "e"],
    );
    check("for x in 1 2; do a $x; done", &["a 1", "a 2"]);
    check("timeout 5 nice -n 3 cargo test", &["cargo test"]);
    check("sudo -u me rm x", &["sudo -u me rm x"]);
    check("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]);
    check(
        "find . -exec rm {} \\;",
        &["find . -exec rm {} ;", "rm ./**"],
    );
    check("echo a > f b", &["echo a b"]);
    check("A=1 b", &["A=1 b"]);
    check("case $x in a) b;; *) c;; esac", &["b", "c"]);
    check("r''m x", &["rm x"]);
    check("cat <<EOF | b\nx\nEOF", &["b", "cat"]);
}

#[test]
fn lines_of_readers_are_readers() {
    for command in [
        "ls && pwd",
        "ls || pwd",
        "ls | wc -l",
        "ls 2>&1",
        "ls 2>/dev/null | head -5",
        "cat < x",
        "cat *.rs",
        "ls src/*.rs",
        "(ls)",
        "! ls",
        "ls # x",
        "cd src && ls",
        "cd src && ls ..",
        "for f in a b; do cat \"$f\"; done",
        "for f in src/*.rs; do wc -l \"$f\"; done",
        "if [ -f a ]; then cat a; fi",
        "echo \"$(git rev-parse HEAD)\"",
        "echo $HOME",
        "x=a; cat $x",
        "LC_ALL=C sort a",
        "diff <(sort a) <(sort b)",
        "timeout 5 ls",
        "sh -c 'ls; pwd'",
        "cat <<'EOF'\nhi $(rm x)\nEOF",
        "cat <<-'EOF'\n\t$TOKEN\n\tEOF",
        "cat <<-EOF\n\t$HOME\n\tEOF",
        "find . -name '*.rs' | head",
        "grep -rn foo . | sort | uniq -c",
        "ls \\\n-la",
        "ls /usr/include",
    ] {
        assert!(is_reader(command), "{command}: {:?}", run(command));
    }
}

#[test]
fn anything_else_is_not() {
    let long = format!("echo {}", "a".repeat(20_000));
    let deep = format!("{}ls{}", "(".repeat(300), ")".repeat(300));
    for command in [
        "",
        " ",
        "\n",
        ";",
        ";;",
        "; ls",
        "ls;; ls",
        "rm x",
        "ls; rm x",
        "ls\nrm x",
        "ls > x",
        "ls >> x",
        "cat <> x",
        "echo `rm x`",
        "echo \"$(rm x)\"",
        "ls ~",
        "cat ~/.ssh/id",
        "cat /etc/shadow",
        "cat ../x",
        "cat $X",
        "PATH=x ls",
        "LD_PRELOAD=x ls",
        "echo 'open",
        "echo \"open",
        "ls\rrm x",
        "ls\u{a0}x",
        "ls\0",
        "'ls x'",
        "/bin/ls",
        "./ls",
        "sudo ls",
        "exec 3<>x",
        "cd /; ls",
        "cd ..; ls",
        "cd $X; ls",
        "cd /etc && cat shadow",
        "git",
        "git -c core.fsmonitor=x status",
        "git -C /tmp/x status",
        "git --exec-path=x log",
        "command rm x",
        "eval \"$X\"",
        "source x",
        ". x",
        "sh x",
        "sh",
        "curl x | sh",
        "xargs rm",
        "cat list | xargs cat",
        "LS",
        "ls\u{2028}rm",
        "f() { ls; }; f",
        "ls() { rm x; }; ls",
        "cat <<EOF\n$(rm x)\nEOF",
        "ls | wc | cat\nrm x </dev/null",
        "ls | wc -l | cat\nrm x 2>/dev/null",
        "ls | wc | cat a\nrm x b </dev/null | cat",
        "cat <<EOF\n\t$TOKEN\nEOF",
        "cat <<EOF\n  a ${TOKEN} $HOME\nEOF",
        "cat <<-EOF\n\t$TOKEN\n\tEOF",
        "cat <<-EOF\n\t${TOKEN:-x}\n\tEOF",
        "cat <<-EOF\n\t${!T*}\n\tEOF",
        "wc -c <<-E\n\t\\\\$TOKEN\n\tE",
        "echo ${x:=y}",
        "echo ${!x}",
        "echo ${x:-`rm y`}",
        "echo ${x:-$(rm y)}",
        "cat <<E\n`rm y`\nE",
        "case `rm y` in a) ls;; esac",
        "nohup ls",
        "jq --from-file /etc/shadow a",
        "fd --base-directory /etc x",
        "fd -C /etc x",
        "grep \"$X\" a",
        "grep $X a",
        "rg \"$(cat x)\" a",
        "jq \"$X\" a",
        "xargs -a /etc/shadow echo",
        "echo $((a[$(x)]))",
        "[[ -v 'a[$(x)]' ]]",
        "test -v 'a[$(x)]'",
        "export A=1",
        "alias ls=rm",
        "bash -i -c ls",
        "bash -l",
        "env -S 'rm x'",
        "env -C / ls",
        "find . -delete",
        "find . -exec rm {} +",
        "diff <(rm a) b",
        "tee >(rm a)",
        "for PATH in a; do ls; done",
        "while read x; do rm $x; done",
        "(( x = 1 ))",
        "cat /dev/tcp/a/1",
        "exec 3</dev/tcp/a/1",
        "cat < /etc/shadow",
        "coproc ls",
        "time -o x ls",
        "PATH=.; ls",
        "IFS=/; ls",
        "ls & rm x",
        "ls $'\\x2d'",
        "command -p rm x",
        "ls \\ rm",
        long.as_str(),
        deep.as_str(),
    ] {
        assert!(!is_reader(command), "{command:?}: {:?}", run(command));
    }
}

#[test]
fn effects_are_predicted() {
    let check = |command: &str, expect: &[&str]| {
        let got: Vec<String> = accesses(run(command))
            .into_iter()
            .filter_map(|access| match access {
                Access::Read(p) => Some(format!("r {}", p.display())),
                Access::Write(p) => Some(format!("w {}", p.display())),
                Access::Net(h) => Some(format!("n {h}")),
                _ => None,
            })
            .collect();
        assert_eq!(got, expect, "{command}");
    };
    check("cat .env", &["r /repo/.env"]);
    check("wc -l <.env", &["r /repo/.env"]);
    check("echo a >b 2>>c", &["w /repo/b", "w /repo/c"]);
    check(
        "rm -rf a /b",
        &["w /repo/a", "w /repo/a/**", "w /b", "w /b/**"],
    );
    check("cd sub && touch x", &["r /repo/sub", "w /repo/sub/x"]);
    check(
        "cd sub; touch x",
        &["r /repo/sub", "w /repo/sub/x", "w /repo/x"],
    );
    check("(cd sub); touch x", &["r /repo/sub", "w /repo/x"]);
    check(
        "touch ~/a $HOME/b {c,d}",
        &["w /home/me/a", "w /home/me/b", "w /repo/c", "w /repo/d"],
    );
    check("curl -s https://a.example/x", &["n a.example"]);
    check("curl $U", &["n *"]);
    check("git push", &["n *"]);
    check("exec 3<>/dev/tcp/a/1", &[]);
    check("cat </dev/tcp/a.b/80", &["n a.b:80"]);
    check("rg foo", &["r /repo/[!.]**"]);
    check("find . -delete", &["w /repo/**"]);
    check("dd if=a of=b", &["r /repo/a", "w /repo/b"]);
    check("sed -i s/a/b/ f", &["w /repo/f"]);
    check("tee a", &["w /repo/a"]);
}

#[test]
fn marks_are_set() {
    for (command, mark) in [
        ("rm x", Mark::Delete),
        ("sudo ls", Mark::Privilege),
        ("su -c ls", Mark::Privilege),
        ("kill 1", Mark::Process),
        ("sh x", Mark::Unsure),
        ("python3 -c x", Mark::Unsure),
        ("if broken", Mark::Unsure),
        ("a $(b)", Mark::Unsure),
    ] {
        assert!(
            run(command).iter().any(|s| s.marks.contains(&mark)),
            "{command} {:?}",
            run(command)
        );
    }
}

proptest::proptest! {
    #[test]
    fn it_is_total(text in "[ -~\n]{0,60}") {
        let _ = run(&text);
    }

    #[test]
    fn total_on_shell_like_text(words in proptest::collection::vec(
        proptest::sample::select(vec!["ls", "rm", "$(", ")", "(", "{", "}", ";", "&&", "|", "'", "\"", "`", "<<E", "\n", "E", ">", "<", "x", "$x", "if", "then", "fi", "for", "do", "done", "in", " ", "\\", "[[", "]]", "case", "esac", "${", "é", "\r"]), 0..20)) {
        let _ = run(&words.concat());
    }
}

#[test]
fn one_word_elsewhere_is_another_call() {
    let at = |cwd: &str| {
        let place = Place {
            cwd: cwd.into(),
            root: Path::new("/repo"),
            home: None,
            open: &[],
        };
        accesses(analyse("yarn", &place))
    };
    assert_eq!(at("/repo"), at("/repo/src"));
    assert_ne!(at("/repo"), at("/tmp/x"));
}
