//! Lines for the tests of this crate: read as always, resolved by their letters alone. Start `/w`, home `/home/u`.

use super::{Cwd, Dialect, JudgedLine, LinePath, git_folder, operands::path_words, place::Places, read_line};
use crate::JudgedPath;
use haft_core::RealPath;
use std::sync::Arc;

const PLACES: Places<'_> = Places { start: Some("/w"), home: Some("/home/u") };

/// The line, resolved without looking at any disk; programs lie in `/usr/bin`.
pub(crate) fn typed(text: &str) -> JudgedLine {
    let line = read_line(text, Dialect::Bash);
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
        let path = Some(&word)
            .filter(|word| word.cwd != Cwd::Unknown && !word.text.is_empty())
            .and_then(|word| PLACES.absolute(&word.text, &word.cwd))
            .map(|written| JudgedPath {
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
