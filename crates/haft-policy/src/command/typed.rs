//! Lines for the tests of this folder, read by a toy: blanks, quotes, `;` `&&` `||` `|` `&`, redirections,
//! `$(…)`, `<(…)`, assignments, and the wrappers `sudo`, `timeout N`, `env` and `xargs`. Start `/w`, home `/home/u`.

use super::{
    Cwd, JudgedLine, Line, LinePath, Redirect, RedirectKind, Simple, Word, git_folder, operands::path_words,
};
use crate::JudgedPath;
use haft_core::RealPath;
use std::sync::Arc;

/// The line, resolved without looking at any disk; programs lie in `/usr/bin`.
pub(crate) fn typed(text: &str) -> JudgedLine {
    let mut line = Line::default();
    read(text, None, &mut line);
    resolved(text, line)
}

/// A line as somebody read it, resolved in the same way.
pub(crate) fn resolved(text: &str, line: Line) -> JudgedLine {
    let programs = line.commands.iter().map(|simple| {
        let word = simple.words.first()?.exact()?;
        let is_builtin = ["cd", "type", ":", "eval", "source", ".", "command", "export"].contains(&word);
        (!is_builtin)
            .then(|| if word.starts_with('/') { word.to_owned() } else { format!("/usr/bin/{word}") })
    });
    let programs = programs.collect();
    // Nothing is there that a pattern could match.
    let words = path_words(&line).into_iter().filter(|word| !word.is_pattern);
    let paths = words.map(|word| {
        let path = absolute(&word.text, &word.cwd).map(|written| JudgedPath {
            real: match written.strip_prefix("/w/") {
                Some(beneath) => RealPath::new("/w", beneath),
                None => RealPath::new("/", written.trim_start_matches('/')),
            },
            written,
        });
        LinePath { word, path, has_parent: true, tracked: Arc::from([]) }
    });
    let paths = paths.collect();
    let asked = (0..line.commands.len()).filter_map(|at| git_folder(&line, at, "/w"));
    let neutral_git = asked.collect();
    JudgedLine {
        text: text.into(),
        line: line.into(),
        start: Some("/w".to_owned()),
        paths,
        programs,
        neutral_git,
    }
}

fn absolute(text: &str, cwd: &Cwd) -> Option<String> {
    let text = match text.strip_prefix('~') {
        Some(rest) => format!("/home/u{rest}"),
        None => text.to_owned(),
    };
    if text.contains(['$', '`', '*']) || text.is_empty() {
        return None;
    }
    let mut full = "/w".to_owned();
    match cwd {
        Cwd::Start => {}
        Cwd::Moved(steps) => full = absolute(&steps.join("/"), &Cwd::Start)?,
        Cwd::Unknown if !text.starts_with('/') => return None,
        Cwd::Unknown => {}
    }
    full = if text.starts_with('/') { text } else { format!("{full}/{text}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

fn read(text: &str, inside: Option<usize>, line: &mut Line) {
    let mut chars = text.chars().peekable();
    let mut cwd = Cwd::Start;
    let mut feeds_from = None;
    loop {
        let at = line.commands.len();
        let mut simple = Simple { inside, feeds_from, cwd: cwd.clone(), ..Simple::default() };
        let mut inner = Vec::new();
        let mut redirect = None;
        let mut operator = String::new();
        while let Some(&c) = chars.peek() {
            if c == ' ' || c == '\n' {
                chars.next();
                continue;
            }
            if ";&|".contains(c) {
                while let Some(c) = chars.next_if(|c| ";&|".contains(*c)) {
                    operator.push(c);
                }
                break;
            }
            let rest: String = chars.clone().take(2).collect();
            if c == '>' || (c == '<' && rest != "<(") {
                chars.next();
                chars.next_if_eq(&'>');
                redirect = Some(if c == '>' { RedirectKind::Write } else { RedirectKind::Read });
                continue;
            }
            let word = word(&mut chars, &mut inner);
            let assigned =
                word.text().split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            if let Some(kind) = redirect.take() {
                simple.redirects.push(Redirect { kind, target: word, cwd: cwd.clone() });
            } else if let Some((name, value)) = assigned.filter(|_| simple.words.is_empty()) {
                simple.assignments.push((name, Word::known(value)));
            } else {
                simple.words.push(word);
            }
        }
        let moves =
            (simple.program() == Some("cd")).then(|| simple.words.get(1).map(|w| w.text().to_owned()));
        line.commands.push(simple);
        wrapped(at, line);
        for text in inner {
            read(&text, Some(at), line);
        }
        feeds_from = (operator == "|").then_some(at);
        if let Some(Some(folder)) = moves {
            cwd = if operator == "&&" { Cwd::Moved(vec![folder]) } else { Cwd::Unknown };
        }
        if operator.is_empty() || chars.peek().is_none() {
            return;
        }
    }
}

/// What a wrapper runs.
fn wrapped(at: usize, line: &mut Line) {
    let outer = line.commands[at].clone();
    let skip = match outer.program() {
        Some("sudo" | "xargs") => 1,
        Some("timeout") => 2,
        Some("env") => 1 + outer.words.iter().skip(1).take_while(|word| word.text().contains('=')).count(),
        _ => return,
    };
    if skip >= outer.words.len() {
        return;
    }
    let mut words = outer.words.clone();
    let assigned = words.drain(..skip).skip(1).filter_map(|word| {
        word.text().split_once('=').map(|(name, value)| (name.to_owned(), Word::known(value)))
    });
    let assignments = assigned.collect();
    let is_open = outer.program() == Some("xargs");
    line.commands.push(Simple {
        words,
        assignments,
        is_open,
        wrapper: Some(at),
        cwd: outer.cwd.clone(),
        inside: outer.inside,
        ..Simple::default()
    });
    wrapped(line.commands.len() - 1, line);
}

fn word(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, inner: &mut Vec<String>) -> Word {
    let (mut text, mut prefix) = (String::new(), None);
    let (mut is_glob, mut is_unknown, mut splits, mut quote) = (false, false, false, None);
    while let Some(&c) = chars.peek() {
        if quote.is_none() && (c == ' ' || c == '\n' || ";&|>".contains(c)) {
            break;
        }
        chars.next();
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && (c == '\'' || c == '"') {
            quote = Some(c);
        } else if (c == '$' && quote != Some('\'')) || (c == '<' && quote.is_none()) {
            prefix.get_or_insert_with(|| text.clone());
            is_unknown = true;
            splits |= quote.is_none() && c == '$';
            text.push(c);
            if chars.next_if_eq(&'(').is_some() {
                let body: String = chars.by_ref().take_while(|c| *c != ')').collect();
                text.extend(["(", body.as_str(), ")"]);
                inner.push(body);
            }
        } else if quote.is_none() && (c == '~' || c == '{') {
            prefix.get_or_insert_with(|| text.clone());
            is_unknown = true;
            text.push(c);
        } else if quote.is_none() && "*?[".contains(c) {
            prefix.get_or_insert_with(|| text.clone());
            is_glob = true;
            text.push(c);
        } else {
            text.push(c);
        }
    }
    let prefix = prefix.unwrap_or_default();
    if matches!(text.as_str(), "[" | "[[") {
        return Word::Exact(text);
    }
    if is_unknown {
        Word::Unknown { text, prefix, splits }
    } else if is_glob {
        Word::Glob { text, prefix }
    } else {
        Word::Exact(text)
    }
}
