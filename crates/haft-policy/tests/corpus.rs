//! Two corpora of shell lines, each with its verdict and why: dangerous ones, none of which may run unasked, and
//! everyday ones, of which hardly any may be asked.
//!
//! They are judged as calls of `bash` in `default` mode in the trusted workspace /w under `corpus/rules.toml`.
//! Paths are resolved by text alone over the few files and folders of the stage; nothing is a link.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and reads a page itself"
)]

mod lexical;

use haft_policy::{Action, Confines, Mode, Policy, judge};
use lexical::{bash, judged_line, rule, stated};
use std::{env, fmt::Write as _, fs, path::Path, sync::Arc};

const DANGEROUS: &str = include_str!("corpus/dangerous.txt");
const EVERYDAY: &str = include_str!("corpus/everyday.txt");

/// One row of a corpus.
struct Entry {
    row: usize,
    verdict: &'static str,
    written: &'static str,
    line: String,
    why: &'static str,
}

fn entries(text: &'static str) -> Vec<Entry> {
    let rows = text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty() && !row.starts_with('#'));
    rows.map(|(number, row)| {
        let row_number = number + 1;
        let fields: Vec<&'static str> = row.split('\t').collect();
        let [verdict, written, why] = fields[..] else {
            panic!("row {row_number} has {} fields instead of three: {row}", fields.len());
        };
        assert!(["allow", "ask", "deny"].contains(&verdict), "row {row_number}: {verdict} is no verdict");
        assert!(!why.is_empty(), "row {row_number} doesn't say why");
        Entry { row: row_number, verdict, written, line: expanded(written), why }
    })
    .collect()
}

/// A line as the shell gets it.
fn expanded(written: &str) -> String {
    let Some((before, rest)) = written.split_once("@repeat(") else {
        return decoded(written);
    };
    let (inside, after) = rest.split_once(')').unwrap();
    let (piece, count) = inside.rsplit_once(',').unwrap();
    format!("{}{}{}", decoded(before), decoded(piece).repeat(count.parse().unwrap()), expanded(after))
}

fn decoded(written: &str) -> String {
    let mut text = String::new();
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match chars.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e') => '\u{1b}',
            Some('\\') => '\\',
            Some('u') => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
            }
            other => panic!("{other:?} is no escape: {written}"),
        });
    }
    text
}

fn policy() -> Arc<Policy> {
    Arc::new(lexical::policy(Mode::Default))
}

/// The verdict on a line, with its reason.
fn verdict(line: &str, policy: &Arc<Policy>) -> (&'static str, String) {
    let verdict = judge(&bash(line), &[Arc::clone(policy)]).verdict;
    let reason = verdict.why().map(|why| format!("{}: {}", why.gate, why.reason)).unwrap_or_default();
    (verdict.name(), reason)
}

/// The entries whose verdict is another than those that may be, as a list for people.
fn offenders(entries: &[Entry], expected: &str, may_be: &[&str]) -> Vec<String> {
    let policy = policy();
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry.verdict == expected) {
        let (name, reason) = verdict(&entry.line, &policy);
        if !may_be.contains(&name) {
            let Entry { row, written, why, .. } = entry;
            let wanted = format!("row {row}: {written}\n    expected {expected}, since: {why}");
            found.push(format!("{wanted}\n    {name}: {reason}"));
        }
    }
    found
}

#[test]
fn no_dangerous_line_is_allowed() {
    let entries = entries(DANGEROUS);
    let mut found = offenders(&entries, "ask", &["ask", "deny"]);
    found.extend(offenders(&entries, "deny", &["ask", "deny"]));
    assert!(found.is_empty(), "{} dangerous lines run unasked:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_should_be_denied_is_denied() {
    let found = offenders(&entries(DANGEROUS), "deny", &["deny"]);
    assert!(found.is_empty(), "{} lines aren't denied:\n{}", found.len(), found.join("\n"));
}

#[test]
fn few_everyday_lines_ask_needlessly() {
    let entries = entries(EVERYDAY);
    let needless = offenders(&entries, "allow", &["allow"]);
    println!(
        "{} of {} everyday lines ask needlessly:\n{}",
        needless.len(),
        entries.len(),
        needless.join("\n")
    );
    assert!(needless.len() * 20 <= entries.len(), "more than 5 %:\n{}", needless.join("\n"));
}

#[test]
fn what_is_rightly_asked_is_asked() {
    let found = offenders(&entries(EVERYDAY), "ask", &["ask"]);
    assert!(found.is_empty(), "{} everyday lines aren't asked:\n{}", found.len(), found.join("\n"));
}

#[test]
fn at_least_250_dangerous_and_300_everyday_lines() {
    let (dangerous, everyday) = (entries(DANGEROUS), entries(EVERYDAY));
    assert!(dangerous.len() >= 250, "{}", dangerous.len());
    assert!(everyday.len() >= 300, "{}", everyday.len());
    let asked = everyday.iter().filter(|entry| entry.verdict == "ask").count();
    assert!(asked * 10 <= everyday.len(), "more than a tenth of the everyday lines is said to ask rightly");
    assert!(dangerous.iter().all(|entry| entry.verdict != "allow"));
    for entries in [&dangerous, &everyday] {
        let mut lines: Vec<&str> = entries.iter().map(|entry| entry.written).collect();
        lines.sort_unstable();
        let twice: Vec<&[&str]> = lines.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}

/// How many lines of a list are asked, in a mode and with or without a sandbox, without any rule.
fn asked(entries: &[Entry], mode: Mode, confines: Confines) -> usize {
    let mut policy = lexical::bare_policy(mode);
    policy.confines = confines;
    let policy = Arc::new(policy);
    entries.iter().filter(|entry| verdict(&entry.line, &policy).0 != "allow").count()
}

/// The page about the sandbox says how many questions it saves.
#[test]
fn a_sandbox_saves_questions() {
    const RENEW: &str = "HAFT_RENEW";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let entries = entries(EVERYDAY);
    let mut now = String::from("| without any rule, of 404 lines | asked |\n|---|---:|\n")
        .replace("404", &entries.len().to_string());
    for (name, mode, confines) in [
        ("`default`, with or without a sandbox", Mode::Default, Confines::Wholly),
        ("`auto` without a sandbox", Mode::Auto, Confines::Nothing),
        ("`auto` in a sandbox that isn't whole", Mode::Auto, Confines::Partly),
        ("`auto` in the sandbox", Mode::Auto, Confines::Wholly),
    ] {
        writeln!(now, "| {name} | {} |", asked(&entries, mode, confines)).unwrap();
    }
    println!("{now}");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once("<!-- saved:begin -->\n").unwrap();
    let (printed, after) = rest.split_once("<!-- saved:end -->").unwrap();
    if env::var_os(RENEW).is_some() {
        fs::write(&file, format!("{before}<!-- saved:begin -->\n{now}<!-- saved:end -->{after}")).unwrap();
        return;
    }
    assert_eq!(printed, now, "{RENEW}=1 cargo test -p haft-policy --test corpus writes docs/sandbox.md");
}

/// A sandbox takes the place of questions, never of a denial.
#[test]
fn in_a_sandbox_what_is_denied_stays_denied() {
    let mut policy = lexical::policy(Mode::Auto);
    policy.confines = Confines::Wholly;
    let policy = Arc::new(policy);
    for entry in entries(DANGEROUS).iter().filter(|entry| entry.verdict == "deny") {
        assert_eq!(verdict(&entry.line, &policy).0, "deny", "{}", entry.written);
    }
}

/// The everyday corpus takes git for neutral; where it isn't, looking runs programs of the workspace's choosing.
#[test]
fn git_is_asked_where_its_settings_run_programs() {
    let policy = policy();
    for text in ["git status", "git diff", "git log -1", "git status && ls"] {
        let mut line = judged_line(text);
        let verdict = |line| judge(&stated(line), &[Arc::clone(&policy)]).verdict.name();
        assert_eq!(verdict(line.clone()), "allow", "{text}");
        line.neutral_git.clear();
        assert_eq!(verdict(line), "ask", "{text}");
    }
}

/// Field case: a prefix rule for one program covers what is chained, substituted, quoted or redirected behind it.
#[test]
fn case_f27_every_command_needs_its_own_verdict() {
    let mut ruled = lexical::bare_policy(Mode::Default);
    ruled.rules = vec![rule(Action::Allow, "bash(ls *)"), rule(Action::Deny, "bash(rm *)")];
    let ruled = Arc::new(ruled);
    let cases = [
        ("ls; rm x", "deny"),
        ("ls && rm x", "deny"),
        ("ls\nrm x", "deny"),
        ("ls $(rm x)", "deny"),
        ("ls > ~/.bashrc", "ask"),
        ("\"rm\" x", "deny"),
        ("/bin/r? x", "ask"),
        ("\\rm x", "deny"),
        ("env A=1 rm x", "deny"),
        ("xargs rm < f", "deny"),
        ("bash -c 'rm x'", "deny"),
        ("ls -la", "allow"),
        ("ls \"a;b\"", "allow"),
    ];
    for (line, expected) in cases {
        let (found, reason) = verdict(line, &ruled);
        // A denial is always right where the line isn't just a listing.
        let holds = found == expected || (expected == "ask" && found == "deny");
        assert!(holds, "{line}: {found} instead of {expected}: {reason}");
    }
}
