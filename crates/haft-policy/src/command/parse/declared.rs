//! Variables that a command sets by way of its words.

use crate::command::{Simple, Word};

/// Notes what `export A=1`, `read A`, `unset A` and their kind do to variables.
///
/// Of names that are read into, only those count that a program or the shell itself may look at: by custom
/// these have no small letters.
pub(super) fn add(simple: &mut Simple) {
    let Some(program) = simple.program() else {
        return;
    };
    let words = simple.words.get(1..).unwrap_or_default();
    let mut found: Vec<(String, Word)> = match program {
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            words.iter().filter_map(declared).collect()
        }
        "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
            words.iter().filter_map(Word::exact).filter(|name| is_public(name)).map(unknown).collect()
        }
        "printf" => {
            let glued = words.first().and_then(|word| word.prefix().strip_prefix("-v"));
            let after = words.get(1).map(Word::prefix);
            let name = glued.and_then(|glued| if glued.is_empty() { after } else { Some(glued) });
            name.map(unknown).into_iter().collect()
        }
        _ => Vec::new(),
    };
    simple.assignments.append(&mut found);
}

/// The variable of a loop, where it may matter to a program.
pub(super) fn of_loop(name: &str) -> Option<(String, Word)> {
    is_public(name).then(|| unknown(name))
}

fn unknown(name: &str) -> (String, Word) {
    (name.to_owned(), Word::Unknown { text: String::new(), prefix: String::new(), splits: false })
}

fn is_public(name: &str) -> bool {
    let has_small = name.contains(|c: char| c.is_ascii_lowercase());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name && (!has_small || name.ends_with("_proxy"))
}

/// `NAME=value` as a word.
fn declared(word: &Word) -> Option<(String, Word)> {
    let (name, value) = word.prefix().split_once('=')?;
    let (name, appends) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    if matches!(word, Word::Exact(_)) && !appends {
        return Some((name.to_owned(), Word::known(value)));
    }
    let prefix = if appends { String::new() } else { value.to_owned() };
    Some((name.to_owned(), Word::Unknown { text: word.text().to_owned(), prefix, splits: false }))
}

#[cfg(test)]
mod tests {
    use crate::command::{Dialect, read_line};

    #[test]
    fn variables_set_by_words_are_seen() {
        let cases: [(&str, &[&str]); 12] = [
            ("export A=1 b=\"$x\" C", &["A", "b"]),
            ("declare -x PATH=/x", &["PATH"]),
            ("readonly A=~/x", &["A"]),
            ("read -r PATH", &["PATH"]),
            ("read -r line", &[]),
            ("unset LD_PRELOAD x", &["LD_PRELOAD"]),
            ("printf -v x %s a", &["x"]),
            ("A=1 ls", &["A"]),
            ("A=1", &["A"]),
            ("A= ls", &["A"]),
            ("for PATH in a; do ls; done", &["PATH"]),
            ("for f in a; do ls; done", &[]),
        ];
        for (text, names) in cases {
            let line = read_line(text, Dialect::Bash);
            let assignments = line.commands.iter().flat_map(|simple| &simple.assignments);
            let found: Vec<&str> = assignments.map(|(name, _)| name.as_str()).collect();
            assert_eq!(found, names, "{text}");
        }
    }
}
