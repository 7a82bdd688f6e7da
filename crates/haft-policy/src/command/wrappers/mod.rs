//! Commands that run other commands: what they run is listed behind them and judged as well.
//!
//! One table says where the inner command stands; `find`, shells and the builtins that take a text have their
//! own files. What isn't recognised among a wrapper's own words makes the line unclear, and the inner command
//! a guess.

mod find;
mod options;
mod shell;
mod table;

use super::{COMMANDS_MAX, Cwd, Dialect, Line, Simple, Word, glance, parse};
use table::WRAPPERS;

/// How many commands may run each other.
const DEPTH_MAX: usize = 10;

/// Wrappers that add nothing but bounds to what they run.
const TRANSPARENT: [&str; 7] = ["command", "env", "nice", "nohup", "stdbuf", "time", "timeout"];

/// What a wrapper runs.
#[derive(Debug, Default)]
struct Found {
    runs: Vec<Run>,
    /// What isn't recognised, in words.
    doubts: Vec<String>,
}

/// One command that a wrapper runs.
#[derive(Debug)]
struct Run {
    /// Where it begins among the wrapper's words.
    at: usize,
    what: What,
    assignments: Vec<(String, Word)>,
    is_elsewhere: bool,
}

#[derive(Debug)]
enum What {
    Words {
        words: Vec<Word>,
        is_open: bool,
    },
    /// A shell's text.
    Text {
        text: String,
        dialect: Dialect,
    },
    /// A text that isn't known to the last character.
    Guess(String),
}

impl Found {
    fn doubt(&mut self, why: impl Into<String>) {
        self.doubts.push(why.into());
    }

    fn words(&mut self, at: usize, words: Vec<Word>, is_open: bool) {
        let what = What::Words { words, is_open };
        self.runs.push(Run { at, what, assignments: Vec::new(), is_elsewhere: false });
    }

    /// A text; a word that isn't exact makes it a guess.
    fn text(&mut self, at: usize, words: &[Word], dialect: Dialect) {
        let exact: Option<Vec<&str>> = words.iter().map(Word::exact).collect();
        let what = if let Some(exact) = exact {
            What::Text { text: exact.join(" "), dialect }
        } else {
            self.doubt("it runs a text that isn't known");
            let written: Vec<&str> = words.iter().map(Word::text).collect();
            What::Guess(written.join(" "))
        };
        self.runs.push(Run { at, what, assignments: Vec::new(), is_elsewhere: false });
    }
}

/// What a command runs, going by its own words.
fn runs(simple: &Simple, dialect: Dialect) -> Found {
    let mut found = Found::default();
    let Some(first) = simple.words.first() else {
        return found;
    };
    let Some(path) = glance::plainly(first) else {
        return found;
    };
    let program = path.rsplit('/').next().unwrap_or_default();
    let is_wrapper = if program == "find" {
        find::add(&mut found, simple);
        true
    } else if table::SHELLS.iter().any(|(name, _)| *name == program) {
        shell::add(&mut found, simple, program);
        true
    } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
        options::add(&mut found, simple, wrapper, dialect);
        true
    } else {
        shell::add_builtin(&mut found, simple, program, dialect)
    };
    if is_wrapper && simple.is_open && (found.runs.is_empty() || program == "find") {
        found.doubt(format!("`{program}` gets words that aren't known"));
    }
    if is_wrapper && first.exact().is_none() {
        found.doubt(format!("`{program}` is written in a way that hides it"));
    }
    found
}

/// Adds what the command at `at` runs, and what that runs in its turn.
pub(super) fn see_through(line: &mut Line, at: usize, depth: usize, dialect: Dialect) {
    let Some(simple) = line.commands.get(at) else {
        return;
    };
    let found = runs(simple, dialect);
    if found.runs.is_empty() && found.doubts.is_empty() {
        return;
    }
    let outer = Simple {
        assignments: simple.assignments.clone(),
        cwd: simple.cwd.clone(),
        feeds_from: simple.feeds_from,
        inside: simple.inside,
        ..Simple::default()
    };
    for why in found.doubts {
        doubt(line, &why);
    }
    for run in found.runs {
        if depth >= DEPTH_MAX || line.commands.len() >= COMMANDS_MAX {
            doubt(line, "commands run each other too deep, or are too many");
            return;
        }
        let mut outer = outer.clone();
        outer.assignments.extend(run.assignments);
        if run.is_elsewhere {
            outer.cwd = Cwd::Unknown;
        }
        match run.what {
            What::Words { words, is_open } => {
                let inner = line.commands.len();
                line.commands.push(Simple { words, is_open, wrapper: Some(at), ..outer });
                see_through(line, inner, depth + 1, dialect);
            }
            What::Text { text, dialect } => {
                let inner = parse::read_inner(&text, dialect, depth + 1);
                merge(line, inner, at, &outer);
            }
            What::Guess(text) => {
                let mut inner = Line::default();
                glance::add(&mut inner, &text, dialect, depth + 1);
                merge(line, inner, at, &outer);
            }
        }
    }
}

fn doubt(line: &mut Line, why: &str) {
    if !line.unclear.iter().any(|known| known == why) {
        line.unclear.push(why.to_owned());
    }
}

/// Adds the commands of a text that the command at `at` runs.
fn merge(line: &mut Line, inner: Line, at: usize, outer: &Simple) {
    let base = line.commands.len();
    for mut simple in inner.commands {
        if line.commands.len() >= COMMANDS_MAX {
            doubt(line, "it runs too many commands");
            break;
        }
        simple.wrapper = Some(simple.wrapper.map_or(at, |wrapper| wrapper + base));
        simple.inside = Some(simple.inside.map_or(at, |inside| inside + base));
        simple.feeds_from = simple.feeds_from.map(|from| from + base).or(outer.feeds_from);
        simple.cwd = within(&outer.cwd, &simple.cwd);
        for redirect in &mut simple.redirects {
            redirect.cwd = within(&outer.cwd, &redirect.cwd);
        }
        let own = std::mem::replace(&mut simple.assignments, outer.assignments.clone());
        simple.assignments.extend(own);
        line.commands.push(simple);
    }
    for mut redirect in inner.redirects {
        redirect.cwd = within(&outer.cwd, &redirect.cwd);
        line.redirects.push(redirect);
    }
    for why in inner.unclear {
        doubt(line, &why);
    }
}

/// A folder that is meant from another one.
fn within(outer: &Cwd, inner: &Cwd) -> Cwd {
    match inner {
        Cwd::Start => outer.clone(),
        Cwd::Moved(moves) => moves.iter().fold(outer.clone(), |cwd, to| parse::moved(&cwd, to)),
        Cwd::Unknown => Cwd::Unknown,
    }
}

/// Where the innermost command begins among a command's words, 0 where it runs none.
pub(crate) fn innermost(simple: &Simple) -> usize {
    innermost_of(simple, 0)
}

fn innermost_of(simple: &Simple, depth: usize) -> usize {
    if depth > DEPTH_MAX {
        return usize::MAX;
    }
    let starts = runs(simple, Dialect::Bash).runs.into_iter().map(|run| match run.what {
        What::Words { words, is_open } => {
            let inner = Simple { words, is_open, ..Simple::default() };
            run.at.saturating_add(innermost_of(&inner, depth + 1))
        }
        What::Text { .. } | What::Guess(_) => run.at,
    });
    starts.max().unwrap_or(0)
}

/// Whether a command only runs another one that stands in the line, so that a rule for that one is enough.
pub(crate) fn is_transparent(line: &Line, at: usize) -> bool {
    let Some(simple) = line.commands.get(at) else {
        return false;
    };
    let Some(argv) = simple.argv() else {
        return false;
    };
    let path = argv.first().copied().unwrap_or_default();
    let name = ["/usr/bin/", "/bin/"].iter().find_map(|folder| path.strip_prefix(*folder)).unwrap_or(path);
    let found = runs(simple, Dialect::Bash);
    let ([run], true) = (found.runs.as_slice(), found.doubts.is_empty()) else {
        return false;
    };
    let own = argv.get(1..run.at).unwrap_or_default();
    TRANSPARENT.contains(&name)
        && matches!(run.what, What::Words { .. })
        && line.commands.iter().any(|inner| inner.wrapper == Some(at))
        && (name != "env" || own.iter().all(|word| assignment(word).is_some()))
}

/// The variable and value of a word like `NAME=value`.
pub(super) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::read_line;

    /// The words of every command but the first.
    fn inner(text: &str) -> Vec<String> {
        let line = read_line(text, Dialect::Bash);
        let joined = |simple: &Simple| simple.words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
        line.commands.iter().skip(1).map(joined).collect()
    }

    #[test]
    fn wrappers_are_seen_through() {
        let cases: [(&str, &[&str]); 38] = [
            ("env A=1 rm x", &["rm x"]),
            ("env -i -u B A=1 rm -f x", &["rm -f x"]),
            ("env --unset B rm", &["rm"]),
            ("env --uns=B rm", &["rm"]),
            ("sudo -u root -n rm x", &["rm x"]),
            ("sudo -nu root rm x", &["rm x"]),
            ("sudo --user=root -- rm x", &["rm x"]),
            ("/usr/bin/sudo timeout -s KILL 5 rm x", &["timeout -s KILL 5 rm x", "rm x"]),
            ("timeout --signal KILL 5 rm x", &["rm x"]),
            ("nice -n 5 rm x", &["rm x"]),
            ("nice -5 rm x", &["rm x"]),
            ("nice rm x", &["rm x"]),
            ("time -p rm x", &["rm x"]),
            ("command -p rm x", &["rm x"]),
            ("command -v rm", &[]),
            ("exec -a z rm x", &["rm x"]),
            ("exec", &[]),
            ("stdbuf -oL rm x", &["rm x"]),
            ("xargs -0 -n1 rm", &["rm"]),
            ("xargs -I % rm a/%", &["rm a/%"]),
            ("xargs", &[]),
            ("find . -name x -exec rm {} +", &["rm {}"]),
            ("find . -exec rm x ';' -exec ls ';'", &["rm x", "ls"]),
            ("find . -exec rm {} \\;", &["rm {}"]),
            ("bash -c 'ls; rm x'", &["ls", "rm x"]),
            ("bash -lc 'rm x' a b", &["rm x"]),
            ("sh -e -o pipefail -c 'rm x'", &["rm x"]),
            ("bash --norc -c -- 'rm x'", &["rm x"]),
            ("sh script.sh a", &[]),
            ("bash <<< 'rm x'", &["rm x"]),
            ("sh <<'E'\nrm x\nE", &["rm x"]),
            ("eval 'rm x' y", &["rm x y"]),
            ("trap 'rm x' EXIT", &["rm x"]),
            ("trap - EXIT", &[]),
            ("watch -n 5 ls -la", &["ls -la"]),
            ("ssh -p 22 host rm x", &["rm x"]),
            ("flock /tmp/l -c 'rm x'", &["rm x"]),
            ("su -c 'rm x' root", &["rm x"]),
        ];
        for (text, expected) in cases {
            let line = read_line(text, Dialect::Bash);
            assert!(line.is_exact(), "{text}: {:?}", line.unclear);
            assert_eq!(inner(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_recognised_is_unclear_and_still_guessed() {
        let lines = [
            "sudo --frobnicate rm x",
            "env -S 'rm x'",
            "bash -c \"rm $X\"",
            "xargs -I{} sh -c 'rm {}'",
            "zsh -c 'rm x'",
            "parallel rm ::: x",
            "eval rm $X",
            "timeout $X rm x",
            "nice --zzz rm x",
            "\\sudo rm x",
            "find . $X -exec rm x ';'",
            "script -q /dev/null rm x",
            "runuser -u root rm x",
            "watch -x rm x",
            "bash -c 'bash -c \"r\"m\\ x; rm x'",
        ];
        for text in lines {
            let line = read_line(text, Dialect::Bash);
            assert!(!line.is_exact(), "{text}");
            let mut seen = line.commands.iter().filter_map(Simple::program);
            assert!(seen.any(|program| program == "rm"), "{text}: {:?}", line.commands);
        }
        for text in ["xargs sh", "xargs env", "xargs sudo", "xargs find .", "xargs bash -x"] {
            assert!(!read_line(text, Dialect::Bash).is_exact(), "{text}");
        }
    }

    #[test]
    fn what_runs_knows_its_place() {
        let line = read_line("cd a && curl x | A=1 sudo env B=2 sh -c 'cat | ls > f'", Dialect::Bash);
        assert!(line.is_exact(), "{:?}", line.unclear);
        let programs: Vec<&str> = line.commands.iter().filter_map(Simple::program).collect();
        assert_eq!(programs, ["cd", "curl", "sudo", "env", "sh", "cat", "ls"]);
        let links: Vec<(Option<usize>, Option<usize>, Option<usize>)> =
            line.commands.iter().map(|simple| (simple.wrapper, simple.feeds_from, simple.inside)).collect();
        let expected = [
            (None, None, None),
            (None, None, None),
            (None, Some(1), None),
            (Some(2), Some(1), None),
            (Some(3), Some(1), None),
            (Some(4), Some(1), Some(4)),
            (Some(4), Some(5), Some(4)),
        ];
        assert_eq!(links, expected);
        let names: Vec<&str> =
            line.commands.last().unwrap().assignments.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B"]);
        assert_eq!(line.commands.last().unwrap().cwd, Cwd::Moved(vec!["a".to_owned()]));
    }

    #[test]
    fn words_that_follow_make_a_command_open() {
        for text in ["xargs rm", "xargs sudo rm", "find . -exec rm {} +", "find . -exec rm a{} ';'"] {
            let line = read_line(text, Dialect::Bash);
            assert!(line.commands.last().unwrap().is_open, "{text}");
            assert!(!line.commands.first().unwrap().is_open, "{text}");
        }
        let line = read_line("find . -exec rm x ';'", Dialect::Bash);
        assert!(!line.commands.last().unwrap().is_open);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let lines = [
            "env ".repeat(50_000) + "rm x",
            "env ".repeat(10_000) + "rm x",
            "a;".repeat(20_000),
            "bash -c \"$(".repeat(60) + "x" + &")\"".repeat(60),
            "$(".repeat(200) + &")".repeat(200),
            "find . -exec ".repeat(4_000),
        ];
        for text in lines {
            let line = read_line(&text, Dialect::Bash);
            assert!(!line.is_exact(), "{}", &text[..20]);
            assert!(line.commands.len() <= COMMANDS_MAX);
        }
    }
}
