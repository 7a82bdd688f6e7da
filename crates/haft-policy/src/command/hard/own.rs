//! haft's own switches and processes.

use super::super::{JudgedLine, Simple, Word, read_only::is_among};
use crate::Policy;

/// The commands of haft that decide what it allows and what it keeps, or let a tool be known without a question: for
/// people only. Each comes with the word or flag beside which it does so, empty where it always does.
pub static OWN_SWITCHES: [(&str, &str); 19] = [
    ("trust", ""),
    ("new", "tool"),
    ("new", "extension"),
    ("save-tool", ""),
    ("permissions", "add"),
    ("permissions", "allow"),
    ("permissions", "ask"),
    ("permissions", "deny"),
    ("permissions", "pin"),
    ("permissions", "revoke"),
    ("mcp", "add"),
    ("mcp", "approve"),
    ("mcp", "login"),
    ("mcp", "logout"),
    ("mcp", "remove"),
    ("import", "--write"),
    ("secret", "set"),
    ("secret", "remove"),
    ("secret", "rekey"),
];

/// A call of haft that changes its own trust.
pub(super) fn switched_off(simple: &Simple) -> Option<String> {
    if simple.program() != Some("haft") {
        return None;
    }
    let words: Vec<&str> = simple.words.iter().skip(1).map(Word::text).collect();
    // A question of the inner haft would be answered by nobody.
    if words.contains(&"--yes") {
        return Some("haft --yes answers its own questions, which is for people only".to_owned());
    }
    let has = |wanted: &str| wanted.is_empty() || words.contains(&wanted);
    // Options with values may stand before the command.
    let early: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).take(2).collect();
    let hit = OWN_SWITCHES.iter().find(|(command, with)| early.contains(command) && has(with))?;
    Some(format!("haft {} is for people only", hit.0))
}

/// Killing haft: by name, by number, as the parent, or together with everything.
pub(super) fn killed(line: &JudgedLine, at: usize, policy: &Policy) -> Option<String> {
    let simple = line.line.commands.get(at)?;
    let program = simple.program()?;
    let words: Vec<&str> = simple.words.iter().skip(1).map(Word::text).collect();
    let why = || Some(format!("{program} would end haft itself"));
    let names_haft = |words: &[&str]| words.iter().any(|word| word.trim_matches(['^', '$']).contains("haft"));
    if is_among("pkill killall skill killall5", program) {
        let all = words.iter().any(|word| matches!(*word, "." | ".*"));
        return if all || program == "killall5" || names_haft(&words) { why() } else { None };
    }
    if program != "kill" {
        return None;
    }
    let mut targets = words.as_slice();
    match targets {
        ["-s" | "-n" | "--signal", _, rest @ ..] => targets = rest,
        [signal, rest @ ..] if signal.starts_with('-') && *signal != "--" => targets = rest,
        _ => {}
    }
    let own = policy.own_process.map(|process| process.to_string());
    let is_own = |word: &&str| {
        let number = word.trim_start_matches('-');
        let is_parent = word.contains("$PPID") || word.contains("${PPID");
        is_parent || number == "1" || own.as_deref() == Some(number)
    };
    if targets.iter().any(is_own) {
        return why();
    }
    // `kill $(pgrep haft)`, `pgrep haft | xargs kill`.
    let feeds = simple.feeds_from.or_else(|| line.line.commands.get(simple.wrapper?)?.feeds_from);
    let mut seekers = line.line.commands.iter().enumerate().filter(|(place, other)| {
        (other.inside == Some(at) || feeds == Some(*place))
            && is_among("pgrep pidof ps lsof", other.program().unwrap_or_default())
    });
    let found = seekers.any(|(_, seeker)| {
        let words: Vec<&str> = seeker.words.iter().skip(1).map(Word::text).collect();
        names_haft(&words)
    });
    if found { why() } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn own_switches_are_for_people() {
        check(
            &[
                "haft trust",
                "haft --config x trust",
                "/usr/bin/haft permissions allow x",
                "haft permissions revoke 1",
                "haft import claude-code --write",
                "haft mcp approve x",
                "haft mcp add x -- evil",
                "sudo haft trust",
                "haft secret remove model:x",
                "echo x | haft secret set a",
                "haft new tool count --lang python",
                "haft new extension pack --user",
                "haft save-tool 3 count",
                "haft import mcp --write",
                "haft mcp logout x",
                "haft call --yes bash '{}'",
            ],
            &[
                "haft doctor",
                "haft permissions list",
                "haft secret list",
                "haft import claude-code",
                "haft explain x",
                "echo haft trust",
                "haft --session new tools",
                "haft mcp test x",
                "haft import mcp",
            ],
        );
    }

    #[test]
    fn haft_is_not_killed() {
        check(
            &[
                "pkill haft",
                "pkill -9 -f haft",
                "killall haft",
                "kill 4242",
                "kill -9 4242",
                "kill -s TERM 4242",
                "kill $PPID",
                "kill -9 $PPID",
                "kill -9 -1",
                "kill -- -1",
                "kill 1",
                "kill $(pgrep haft)",
                "kill -TERM -4242",
            ],
            &[
                "kill 12",
                "kill -1 12",
                "kill -9 12",
                "pkill node",
                "kill -l",
                "kill $(pgrep node)",
                "pgrep haft",
            ],
        );
    }
}
