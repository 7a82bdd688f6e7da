//! What we read against what a real Bash runs: thousands of random lines, each of whose programs writes down
//! its arguments.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test fails by panicking, and needs a real shell"
)]
#![cfg(unix)]

use haft_policy::{Dialect, Line, Simple, Word, read_line};
use proptest::{collection::vec, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

const LINES: usize = 3_000;

/// The programs: each is the same script.
const PROGRAMS: [&str; 3] = ["alpha", "beta", "gamma"];

const SCRIPT: &str = "#!/bin/sh\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >> \"$ARGDUMP\"\n";

/// Runs each line of a file in a shell of its own, one after the other.
const DRIVER: &str = r#"n=0
while IFS= read -r -d '' line; do
  export ARGDUMP="$1/$n"
  n=$((n+1))
  (eval "$line"
wait) </dev/null >/dev/null 2>&1
done < "$2"
"#;

/// Pieces that words are made of.
const PIECES: [&str; 66] = [
    "a",
    "b-c",
    "x=1",
    "--f=v",
    "/p/q",
    "'s q'",
    "''",
    "\"d q\"",
    "\"\"",
    "\"a'b\"",
    "'a\"b'",
    "\\x",
    "a\\ b",
    "\"\\$x\"",
    "\"a\\b\"",
    "\\;",
    "\\|",
    "\\\"",
    "\\'",
    "$V",
    "\"$V\"",
    "${V}",
    "\"${V:-z}\"",
    "${V%a}",
    "$(beta z)",
    "\"$(beta 'z y')\"",
    "`beta t`",
    "*",
    "nope*",
    "[ab]c",
    "?",
    "~",
    "a~b",
    "{a,b}",
    "{1..3}",
    "{}",
    "a{b}c",
    "@{1}",
    "#h",
    "a#h",
    "!",
    "a!",
    "%",
    "^",
    "$'t\\t'",
    "$\"t\"",
    "=",
    "]",
    "}",
    "{",
    "done",
    "if",
    "-",
    "--",
    "a:b",
    "é",
    "$",
    "\"$\"",
    "$1",
    "\"$@\"",
    "$((1+2))",
    "$?",
    "5",
    "\"a;b\"",
    "'a|b&c'",
    "\"<>()\"",
];

const BEFORE: [&str; 12] = [
    "",
    "",
    "",
    "",
    "A=1 ",
    "A='x y' B= ",
    "env A=1 ",
    "timeout 5 ",
    "nice -n 1 ",
    "command ",
    "! ",
    ">/dev/null ",
];

const BEHIND: [&str; 11] = [
    "",
    "",
    "",
    "",
    " >/dev/null",
    " 2>&1",
    " </dev/null",
    " 2>/dev/null >&2",
    " <<<x",
    " &>/dev/null",
    " # c; alpha",
];

const JOINTS: [&str; 12] =
    ["; ", " && ", " || ", " | ", "\n", " & ", "|", ";", "&&", " |& ", " |\n", " &&\n"];

/// What stands around commands; each `@` is one.
const FRAMES: [&str; 14] = [
    "@",
    "@",
    "@",
    "@",
    "{ @; }",
    "(@)",
    "for i in a 'b c'; do @; done",
    "if @; then @; else @; fi",
    "while ! :; do @; done",
    "case a in a) @;; *) @;; esac",
    "@ <<E\nx $V $(gamma h)\nE\n",
    "@ <<'E'\nx $(gamma h)\nE\n",
    "alpha \"$(@)\"",
    "alpha <(@)",
];

fn command() -> impl Strategy<Value = String> {
    let word = vec(select(&PIECES[..]), 1..4).prop_map(|pieces| pieces.concat());
    let words = vec(word, 0..4);
    (select(&BEFORE[..]), select(&PROGRAMS[..]), words, select(&BEHIND[..])).prop_map(
        |(before, program, words, behind)| {
            let words: Vec<String> = words.iter().map(|word| format!(" {word}")).collect();
            format!("{before}{program}{}{behind}", words.concat())
        },
    )
}

fn line() -> impl Strategy<Value = String> {
    let framed = (select(&FRAMES[..]), vec(command(), 3)).prop_map(|(frame, commands)| {
        let mut commands = commands.into_iter().cycle();
        let mut text = String::new();
        for c in frame.chars() {
            if c == '@' {
                text.push_str(&commands.next().unwrap());
            } else {
                text.push(c);
            }
        }
        text
    });
    vec((framed, select(&JOINTS[..])), 1..4).prop_map(|parts| {
        let mut text = String::new();
        let last = parts.len() - 1;
        for (at, (part, joint)) in parts.iter().enumerate() {
            text.push_str(part);
            if at < last {
                text.push_str(joint);
            }
        }
        text
    })
}

/// What each line really ran, program first.
fn run(folder: &Path, lines: &[String]) -> Vec<Vec<Vec<String>>> {
    let (bin, dumps, empty) = (folder.join("bin"), folder.join("dumps"), folder.join("empty"));
    for made in [&bin, &dumps, &empty] {
        fs::create_dir(made).unwrap();
    }
    for program in PROGRAMS {
        let path = bin.join(program);
        fs::write(&path, SCRIPT).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let list = folder.join("lines");
    let text: String = lines.iter().map(|line| format!("{line}\0")).collect();
    fs::write(&list, text).unwrap();
    let status = Command::new("bash")
        .args(["--norc", "-c", DRIVER, "driver"])
        .args([&dumps, &list])
        .current_dir(&empty)
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("V", "v w")
        .env_remove("BASH_ENV")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    (0..lines.len()).map(|at| records(&fs::read(dumps.join(at.to_string())).unwrap_or_default())).collect()
}

fn records(dump: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8(dump.to_vec()).unwrap();
    let mut fields = text.split_terminator('\0');
    let mut records = Vec::new();
    while let Some(count) = fields.next() {
        let count: usize = count.parse().unwrap();
        records.push(fields.by_ref().take(count + 1).map(str::to_owned).collect());
    }
    records
}

/// Our commands that are one of the programs.
fn ours(line: &Line) -> Vec<&Simple> {
    let is_ours = |simple: &&Simple| simple.program().is_some_and(|program| PROGRAMS.contains(&program));
    line.commands.iter().filter(is_ours).collect()
}

/// Whether the command can have run with these words: the known ones among them, in their order.
fn fits(simple: &Simple, argv: &[String]) -> bool {
    if let Some(known) = simple.argv() {
        return known == argv;
    }
    let mut rest = argv.iter();
    simple.words.iter().filter_map(Word::exact).all(|word| rest.any(|argument| argument == word))
}

/// Whether all that it lists must run, and just once.
fn runs_once(text: &str, line: &Line) -> bool {
    let conditional = ["&&", "||", "for ", "while ", "if ", "case "];
    !conditional.iter().any(|part| text.contains(part))
        && ours(line).iter().all(|simple| simple.argv().is_some())
}

#[test]
fn real_bash_runs_what_exact_lines_say() {
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no bash here");
        return;
    }
    let mut runner = TestRunner::deterministic();
    let strategy = line();
    let lines: Vec<String> = (0..LINES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &lines);
    let mut exact = 0;
    let mut compared = 0;
    for (text, ran) in lines.iter().zip(ran) {
        let line = read_line(text, Dialect::Bash);
        if !line.is_exact() {
            continue;
        }
        exact += 1;
        for argv in &ran {
            assert!(
                ours(&line).iter().any(|simple| fits(simple, argv)),
                "{text:?} ran {argv:?}, which isn't listed: {line:#?}"
            );
        }
        if runs_once(text, &line) {
            compared += 1;
            let mut listed: Vec<Vec<String>> = ours(&line)
                .iter()
                .map(|simple| simple.argv().unwrap().into_iter().map(str::to_owned).collect())
                .collect();
            let mut ran = ran.clone();
            listed.sort();
            ran.sort();
            assert_eq!(listed, ran, "{text:?}");
        }
    }
    eprintln!("{exact} of {LINES} lines exact, {compared} compared word by word");
    // Else the test would prove nothing.
    assert!(exact > LINES / 10, "{exact}");
    assert!(compared > LINES / 50, "{compared}");
}
