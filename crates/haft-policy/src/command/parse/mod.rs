//! The shell reader: a line is either read exactly, or it says what is unclear.
//!
//! Two readers look at each text. The one here follows the shell's grammar as far as all shells agree on it and
//! gives up on everything else; tree-sitter's grammar of Bash then has to see the same words and programs
//! ([`witness`]). What a text that can't be read may run is guessed by [`glance`](super::glance), for what
//! denies and asks. Which program does what is left to others; keeps the invariant "what can't be read exactly
//! is asked".

mod build;
mod builtin;
mod characters;
mod compound;
mod cursor;
mod declared;
mod expansion;
mod folder;
mod here;
mod redirect;
mod statement;
mod syntax;
#[cfg(test)]
mod tests;
mod witness;
mod word;

use super::{Dialect, Line, glance};
use cursor::{Cursor, Seen};
pub(super) use folder::moved;
use syntax::{Fallible, List, Scanned};

/// A text's grammar, and all that was found on the way.
struct Parsed {
    list: List,
    heres: Vec<Option<Scanned>>,
    seen: Seen,
    doubts: Vec<String>,
}

/// Reads a command line.
///
/// Every simple command that may run is listed, also those in substitutions, loops, here-documents and in the
/// texts of other shells. Where [`Line::unclear`] isn't empty, the list is a guess.
///
/// # Limits
/// Texts up to 64 KiB, 64 levels of nesting, 10 of commands run by others, 10,000 commands; beyond that the
/// line is unclear.
///
/// ```
/// use haft_policy::{Dialect, read_line};
/// let line = read_line("cd src && grep -rn \"a;b\" . | wc -l", Dialect::Bash);
/// assert!(line.is_exact());
/// assert_eq!(line.commands[1].argv(), Some(vec!["grep", "-rn", "a;b", "."]));
/// assert!(!read_line("ls 'a", Dialect::Bash).is_exact());
/// ```
pub fn read_line(text: &str, dialect: Dialect) -> Line {
    read_inner(text, dialect, 0)
}

/// Reads a text that a command of a line runs, `depth` commands away from the line.
pub(super) fn read_inner(text: &str, dialect: Dialect, depth: usize) -> Line {
    let parsed = match parse(text, dialect) {
        Ok(parsed) => parsed,
        Err(why) => {
            let mut line = Line::unreadable(why);
            glance::add(&mut line, text, dialect, depth);
            return line;
        }
    };
    let disagreement = witness::disagreement(text, parsed.seen);
    let mut line = build::build(parsed.list, parsed.heres, dialect, depth);
    line.unclear.extend(parsed.doubts);
    if let Some(why) = disagreement {
        line.unclear.push(why);
        glance::add(&mut line, text, dialect, depth);
    }
    line
}

fn parse(text: &str, dialect: Dialect) -> Fallible<Parsed> {
    characters::check(text)?;
    let mut cursor = Cursor::new(text, dialect);
    let list = cursor.list(&[])?;
    if !cursor.pending.is_empty() {
        return Err("a here-document has no text".to_owned());
    }
    let heres = cursor.heres.into_iter().map(|here| here.body).collect();
    Ok(Parsed { list, heres, seen: cursor.seen, doubts: cursor.doubts })
}
