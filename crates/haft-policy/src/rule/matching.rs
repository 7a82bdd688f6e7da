//! A rule's matcher against one call.

use super::{Action, CommandPattern, HostPattern, Match, Matcher, PathPattern, ToolPattern, tool::Family};
use crate::{Access, Dialect, JudgedLine, JudgedPath, LinePath, Simple, Subject, command::read_line};
use haft_core::{Effects, RealPath, Touch};
use std::{borrow::Cow, sync::Arc};

impl Matcher {
    /// Strict for what allows, loose for what asks and denies.
    pub(super) fn test(&self, action: Action, subject: &Subject) -> Match {
        let strict = action == Action::Allow;
        match self {
            Self::Tool(tools) => yes_if(tools.covers(subject, strict)),
            Self::Broken(tools, _) => {
                yes_if(tools.as_ref().is_some_and(|tools| tools.covers(subject, strict)))
            }
            Self::Paths(tools, pattern) if strict => yes_if(allows_paths(tools, pattern, subject)),
            Self::Paths(tools, pattern) => restricts_paths(tools, pattern, action, subject),
            Self::Commands(tools, pattern) if strict => yes_if(allows_commands(tools, pattern, subject)),
            Self::Commands(tools, pattern) => restricts_commands(tools, pattern, subject),
            Self::Hosts(tools, pattern) if strict => yes_if(allows_hosts(tools, pattern, subject)),
            Self::Hosts(tools, pattern) => restricts_hosts(tools, pattern, subject),
            Self::Param(tools, pattern) => {
                let names = tools.as_ref().is_none_or(|tools| tools.covers(subject, strict));
                yes_if(names && pattern.matches(subject, strict))
            }
            Self::Capability(tag) => yes_if(subject.spec.capabilities.iter().any(|own| tag.matches(own))),
            Self::Category(category) => yes_if(category.matches(&subject.spec.category)),
            Self::Risk(risk) => yes_if(subject.risk == *risk),
        }
    }
}

impl Matcher {
    /// Whether an allow rule covers one command of a line.
    pub(super) fn allows_command(&self, subject: &Subject, simple: &Simple) -> bool {
        match self {
            Self::Commands(tools, pattern) => {
                tools.names_tool_of(subject, true) && pattern.covers_command(simple)
            }
            _ => false,
        }
    }

    /// Whether an allow rule for writing covers a file by all its names.
    pub(super) fn allows_write(&self, path: &JudgedPath) -> bool {
        match self {
            Self::Paths(tools, pattern) => {
                tools.family() == Some(Family::Edit)
                    && pattern.covers(&path.real.absolute(), false)
                    && pattern.covers(&path.written, false)
            }
            Self::Tool(tools) => tools.family() == Some(Family::Edit),
            _ => false,
        }
    }
}

fn yes_if(holds: bool) -> Match {
    if holds { Match::Yes } else { Match::No }
}

/// Of two words on one call, the one that restricts more.
pub(super) fn stricter(one: Match, other: Match) -> Match {
    match (one, other) {
        (Match::Yes, _) | (_, Match::Yes) => Match::Yes,
        (Match::Maybe, _) | (_, Match::Maybe) => Match::Maybe,
        (Match::No, Match::No) => Match::No,
    }
}

/// Everything that the call touches is covered, each path under every name it has.
fn allows_paths(tools: &ToolPattern, pattern: &PathPattern, subject: &Subject) -> bool {
    let touches = subject.effects.touches();
    let is_named = tools.names_tool_of(subject, true);
    let is_meant = match tools.family() {
        Some(Family::Read) => touches.iter().all(|touch| !touch.writes()) && (is_named || !subject.mutates),
        Some(Family::Edit) => touches.iter().any(Touch::writes),
        Some(Family::Command) | None => is_named,
    };
    is_meant
        && touches.iter().any(|touch| touch.path().is_some())
        && touches.iter().all(|touch| match touch {
            Touch::Read(path) | Touch::Write(path) => {
                subject.names_of(path).iter().all(|name| pattern.covers(name, false))
            }
            Touch::ReadTree(path) | Touch::WriteTree(path) => {
                subject.names_of(path).iter().all(|name| pattern.covers_tree(name))
            }
            // A built-in's own notes on its session do no harm that the rule's author didn't mean.
            Touch::Session(_) | Touch::Unconfined | Touch::Outlives => is_named,
            Touch::Host(_) | Touch::Command(_) | Touch::Server(_) => false,
        })
}

/// Anything that the call touches is covered, under any of its names, or may be.
fn restricts_paths(tools: &ToolPattern, pattern: &PathPattern, action: Action, subject: &Subject) -> Match {
    let is_named = tools.names_tool_of(subject, false);
    let is_meant = |touch: &Touch<RealPath>| match tools.family() {
        Some(Family::Read) => touch.reads(),
        Some(Family::Edit) => touch.writes(),
        Some(Family::Command) | None => is_named && touch.path().is_some(),
    };
    let touches = subject.effects.touches();
    let mut found = Match::No;
    for touch in touches.iter().filter(|touch| is_meant(touch)) {
        let Some(path) = touch.path() else {
            continue;
        };
        let names = subject.names_of(path);
        let is_tree = matches!(touch, Touch::ReadTree(_) | Touch::WriteTree(_));
        // The built-in walks leave out what a deny rule for reading covers, so that a broad read isn't refused for
        // it. What a foreign program reads in a tree nobody can hold it to.
        let is_left_out =
            subject.is_core() && touch.reads() && action == Action::Deny && tools.is_read_family();
        let word = if names.iter().any(|name| pattern.covers(name, true) || pattern.covers_tree(name)) {
            Match::Yes
        } else if is_tree && !is_left_out && names.iter().any(|name| pattern.reaches_into(name)) {
            Match::Maybe
        } else {
            Match::No
        };
        found = stricter(found, word);
    }
    found = stricter(found, restricts_lines(tools, pattern, subject));
    // A rule that names this very tool, whose paths aren't known.
    let is_unreadable = is_named
        && subject.lines.is_empty()
        && touches.iter().all(|touch| touch.path().is_none())
        && (tools.family().is_none() || subject.effects == Effects::Everything);
    if is_unreadable { stricter(found, Match::Maybe) } else { found }
}

/// The command lines of a call; of a tool that is named for the rule and states none, its `command`.
fn lines(subject: &Subject, is_named: bool) -> Vec<Cow<'_, JudgedLine>> {
    let mut lines = subject.command_lines();
    if lines.is_empty() && is_named {
        let text = subject.input.get("command").and_then(serde_json::Value::as_str);
        lines.extend(text.map(|text| {
            let line = Arc::new(read_line(text, Dialect::Bash));
            Cow::Owned(JudgedLine { text: text.into(), line, ..JudgedLine::default() })
        }));
    }
    lines
}

/// One rule covers every command that needs one, and the lines write nothing by redirection.
fn allows_commands(tools: &ToolPattern, pattern: &CommandPattern, subject: &Subject) -> bool {
    let is_named = tools.names_tool_of(subject, true);
    let lines = lines(subject, is_named);
    is_named
        && !lines.is_empty()
        && lines.iter().all(|line| line.written().next().is_none() && pattern.allows(&line.line))
}

fn restricts_commands(tools: &ToolPattern, pattern: &CommandPattern, subject: &Subject) -> Match {
    let is_named = tools.names_tool_of(subject, false);
    let lines = lines(subject, is_named);
    if lines.is_empty() && is_named {
        return Match::Maybe;
    }
    lines.iter().map(|line| pattern.restricts(&line.line, &line.text)).fold(Match::No, stricter)
}

/// What a path rule says to the paths that command lines name. What a line does with them is known only in part, so
/// that a write may be a read as well (a moved file can be read elsewhere), and a path that is just handed to a
/// program may be either.
fn restricts_lines(tools: &ToolPattern, pattern: &PathPattern, subject: &Subject) -> Match {
    let mut found = Match::No;
    for line in &subject.command_lines() {
        if line.line.commands.is_empty() && !line.line.is_exact() {
            found = stricter(found, Match::Maybe);
        }
        for named in &line.paths {
            found = stricter(found, restricts_word(tools, pattern, named));
        }
    }
    found
}

fn restricts_word(tools: &ToolPattern, pattern: &PathPattern, named: &LinePath) -> Match {
    let access = named.word.access;
    let (is_meant, may_be_meant) = match (tools.family(), access) {
        (Some(Family::Read), Access::Read | Access::ReadTree)
        | (Some(Family::Edit), Access::Write | Access::WriteTree) => (true, true),
        (Some(Family::Edit), Access::Read | Access::Tracked | Access::ReadTree) => (false, false),
        (Some(Family::Read | Family::Edit), _) => (false, true),
        // A rule of another tool's paths says nothing to a shell; one of the shell's own can't be told apart.
        (Some(Family::Command) | None, _) => (false, tools.family() == Some(Family::Command)),
    };
    if !may_be_meant || (access == Access::Named && !named.has_parent) {
        return Match::No;
    }
    let Some(path) = &named.path else {
        return if access == Access::Named { Match::No } else { Match::Maybe };
    };
    if access == Access::Tracked {
        let is_covered = |name: &String| pattern.covers(name, false);
        return if named.tracked.iter().any(is_covered) { Match::Maybe } else { Match::No };
    }
    let names = [path.real.absolute(), path.written.clone()];
    let is_tree = matches!(access, Access::ReadTree | Access::WriteTree);
    if names.iter().any(|name| pattern.covers(name, true) || pattern.covers_tree(name)) {
        if is_meant { Match::Yes } else { Match::Maybe }
    } else if is_tree && names.iter().any(|name| pattern.reaches_into(name)) {
        Match::Maybe
    } else {
        Match::No
    }
}

fn hosts(subject: &Subject) -> impl Iterator<Item = &str> {
    subject.effects.touches().iter().filter_map(|touch| match touch {
        Touch::Host(host) => Some(host.as_ref()),
        _ => None,
    })
}

/// It contacts nothing but covered hosts, and touches nothing else.
fn allows_hosts(tools: &ToolPattern, pattern: &HostPattern, subject: &Subject) -> bool {
    let touches = subject.effects.touches();
    tools.names_tool_of(subject, true)
        && hosts(subject).next().is_some()
        && hosts(subject).all(|host| pattern.matches(host))
        && touches.iter().all(|touch| {
            matches!(touch, Touch::Host(_) | Touch::Server(_) | Touch::Session(_) | Touch::Unconfined)
        })
}

fn restricts_hosts(tools: &ToolPattern, pattern: &HostPattern, subject: &Subject) -> Match {
    if !tools.names_tool_of(subject, false) {
        return Match::No;
    }
    if subject.effects == Effects::Everything {
        return Match::Maybe;
    }
    yes_if(hosts(subject).any(|host| pattern.matches(host)))
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::{Allow, Ask, Deny},
        JudgedPath, Match, Subject,
        sample::{foreign, reading, rule, subject, writing},
    };
    use haft_core::{Effects, RealPath, Touch};

    fn linked(written: &str, target: &str) -> Subject {
        let mut subject = reading(target);
        subject.paths =
            vec![JudgedPath { written: written.to_owned(), real: RealPath::new("/w", &target[3..]) }];
        subject
    }

    fn tree(tool: &str, touch: Touch<RealPath>) -> Subject {
        subject(tool, Effects::Only(vec![touch]))
    }

    #[test]
    fn a_link_is_denied_by_either_name_and_allowed_by_both() {
        let link = linked("/w/ok", "/w/secret/k");
        let cases = [
            (Deny, "read(secret/**)", Match::Yes),
            (Deny, "read(./ok)", Match::Yes),
            (Ask, "read(./ok)", Match::Yes),
            (Deny, "read(./other)", Match::No),
            (Allow, "read(./ok)", Match::No),
            (Allow, "read(secret/**)", Match::No),
            (Allow, "read(./**)", Match::Yes),
        ];
        for (action, text, expected) in cases {
            assert_eq!(rule(action, text).matches(&link), expected, "{action:?} {text}");
        }
    }

    #[test]
    fn families_hold_for_every_tool_that_touches_the_path() {
        let path = |beneath: &str| RealPath::new("/w", beneath);
        let cases = [
            (Deny, "edit(./src/**)", writing("/w/src/a"), Match::Yes),
            (Deny, "edit(./src/**)", tree("write", Touch::Write(path("src/a"))), Match::Yes),
            (
                Deny,
                "edit(./src/**)",
                foreign("x", Effects::Only(vec![Touch::Write(path("src/a"))])),
                Match::Yes,
            ),
            (Deny, "edit(./src/**)", tree("x", Touch::WriteTree(path("src"))), Match::Yes),
            (Deny, "edit(./src/**)", tree("x", Touch::WriteTree(path(""))), Match::Maybe),
            (Deny, "edit(./src/**)", tree("x", Touch::WriteTree(path("doc"))), Match::No),
            (Deny, "edit(./src/**)", reading("/w/src/a"), Match::No),
            (Deny, "read(secret/**)", tree("grep", Touch::ReadTree(path(""))), Match::No),
            (Deny, "read(secret/**)", tree("grep", Touch::ReadTree(path("secret"))), Match::Yes),
            (Deny, "read(./**)", tree("grep", Touch::ReadTree(path("src"))), Match::Yes),
            (Ask, "read(secret/**)", tree("grep", Touch::ReadTree(path(""))), Match::Maybe),
            (Deny, "grep(secret/**)", tree("grep", Touch::ReadTree(path(""))), Match::Maybe),
            (Deny, "x(secret/**)", subject("x", Effects::Everything), Match::Maybe),
            (Deny, "read(secret/**)", subject("x", Effects::Everything), Match::No),
            (Allow, "x(secret/**)", subject("x", Effects::Everything), Match::No),
            (Allow, "write(./src/**)", writing("/w/src/a"), Match::No),
            (Allow, "edit(./src/**)", writing("/w/src/a"), Match::Yes),
            (Allow, "read(./src/**)", writing("/w/src/a"), Match::No),
            (Allow, "read(./src/**)", tree("grep", Touch::ReadTree(path("src"))), Match::Yes),
            (Allow, "read(./src/**)", tree("grep", Touch::ReadTree(path(""))), Match::No),
        ];
        for (action, text, subject, expected) in cases {
            assert_eq!(
                rule(action, text).matches(&subject),
                expected,
                "{action:?} {text} {:?}",
                subject.effects
            );
        }
    }

    #[test]
    fn hosts_are_allowed_alone_and_denied_among_others() {
        let only = |touches| subject("fetch", Effects::Only(touches));
        let one = || Touch::Host("a.example.com".into());
        let two = || Touch::Host("other.org".into());
        assert_eq!(rule(Allow, "fetch(domain:*.example.com)").matches(&only(vec![one()])), Match::Yes);
        assert_eq!(rule(Allow, "fetch(domain:*.example.com)").matches(&only(vec![one(), two()])), Match::No);
        assert_eq!(rule(Deny, "fetch(domain:*.example.com)").matches(&only(vec![one(), two()])), Match::Yes);
        assert_eq!(rule(Deny, "fetch(domain:x.com)").matches(&only(vec![one()])), Match::No);
    }
}
