//! Text whose indentation was typed differently from the file's, and new text carried over to the file's.

use super::fold::is_blank;
use std::collections::BTreeMap;

/// How the indentation of the typed text becomes that of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shift<'a> {
    known: BTreeMap<&'a [u8], &'a [u8]>,
    rule: Rule,
}

/// What holds for indentations that don't occur in the text to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// So many more (or fewer) of one character.
    By { blank: u8, more: isize },
    /// So many of one character for so many of another, for example one tab for four blanks.
    Ratio { typed: (u8, usize), file: (u8, usize) },
    /// Nothing can be said.
    None,
}

impl<'a> Shift<'a> {
    /// Learns from pairs of typed and real indentation of the same lines; none where they contradict
    /// each other.
    pub(crate) fn learn(pairs: &[(&'a [u8], &'a [u8])]) -> Option<Self> {
        let mut known = BTreeMap::new();
        for (typed, file) in pairs {
            if *known.entry(*typed).or_insert(*file) != *file {
                return None;
            }
        }
        let rule = Rule::learn(pairs);
        Some(Self { known, rule })
    }

    /// The new text with the file's indentation; none where a line's can't be derived without mixing.
    pub(crate) fn apply(&self, new: &str) -> Option<String> {
        let mut out = String::with_capacity(new.len());
        for line in new.split_inclusive('\n') {
            let content = line.trim_start_matches([' ', '\t']);
            let (indent, is_empty) =
                (indent(line.as_bytes()), line.trim_end_matches(['\r', '\n']).is_empty());
            if is_empty {
                out.push_str(line);
                continue;
            }
            let carried = match self.known.get(indent) {
                Some(file) => file.to_vec(),
                None => self.rule.apply(indent)?,
            };
            out.push_str(std::str::from_utf8(&carried).ok()?);
            out.push_str(content);
        }
        Some(out)
    }
}

impl Rule {
    fn learn(pairs: &[(&[u8], &[u8])]) -> Self {
        let typed = one_blank(pairs.iter().map(|(typed, _)| *typed));
        let file = one_blank(pairs.iter().map(|(_, file)| *file));
        let (Ok(typed), Ok(file)) = (typed, file) else {
            return Self::None;
        };
        let lengths = || pairs.iter().map(|(typed, file)| (typed.len(), file.len()));
        if let Some(blank) = typed.or(file).filter(|_| typed.is_none() || file.is_none() || typed == file) {
            let mut shifts = lengths().map(|(typed, file)| file.checked_signed_diff(typed));
            if let Some(Some(more)) = shifts.next()
                && shifts.all(|shift| shift == Some(more))
            {
                return Self::By { blank, more };
            }
        }
        let (Some(typed_blank), Some(file_blank)) = (typed, file) else {
            return Self::None;
        };
        let Some((typed_len, file_len)) = lengths().find(|(typed, file)| *typed > 0 && *file > 0) else {
            return Self::None;
        };
        if lengths().all(|(typed, file)| typed * file_len == file * typed_len) {
            Self::Ratio { typed: (typed_blank, typed_len), file: (file_blank, file_len) }
        } else {
            Self::None
        }
    }

    fn apply(self, indent: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::By { blank, more } => {
                let length = indent.len().checked_add_signed(more)?;
                indent.iter().all(|byte| *byte == blank).then(|| vec![blank; length])
            }
            Self::Ratio { typed, file } => {
                let scaled = indent.len() * file.1;
                let fits = scaled.is_multiple_of(typed.1) && indent.iter().all(|byte| *byte == typed.0);
                fits.then(|| vec![file.0; scaled / typed.1])
            }
            Self::None => None,
        }
    }
}

/// The blanks and tabs that a line starts with.
pub(crate) fn indent(line: &[u8]) -> &[u8] {
    let length = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
    line.get(..length).unwrap_or_default()
}

/// More than one kind of blank.
struct Mixed;

/// The one character that all indentations are made of, none where all are empty.
fn one_blank<'a>(indents: impl Iterator<Item = &'a [u8]>) -> Result<Option<u8>, Mixed> {
    let mut found = None;
    for byte in indents.flatten() {
        if *found.get_or_insert(*byte) != *byte {
            return Err(Mixed);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lines_get_the_indentation_of_the_file() {
        for (pairs, new, carried) in [
            // Blanks typed for tabs.
            (vec![("        ", "\t\t")], "        stop()", Some("\t\tstop()")),
            (vec![("        ", "\t\t")], "    a\n            b", Some("\ta\n\t\t\tb")),
            (vec![("    ", "\t"), ("        ", "\t\t")], "a\n    b", Some("a\n\tb")),
            // Not a whole number of tabs.
            (vec![("        ", "\t\t")], "      a", None),
            // One level too few, or too many.
            (vec![("", "    "), ("    ", "        ")], "a\n        b", Some("    a\n            b")),
            (vec![("    ", ""), ("      ", "  ")], "    a\n        b", Some("a\n    b")),
            (vec![("    ", "  ")], "a", None),
            // Deeper lines in another kind of blank would mix.
            (vec![("", "\t")], "a\n    b", None),
            (vec![("", "\t")], "a\n\tb", Some("\ta\n\t\tb")),
            // Two blanks typed where the file has four.
            (vec![("  ", "    "), ("    ", "        ")], "      a", Some("            a")),
            // Tabs typed for blanks.
            (vec![("\t", "    ")], "\t\ta\n\n\tb\r\n", Some("        a\n\n    b\r\n")),
            // A mixed indentation stays known, and is never extended.
            (vec![("    ", "\t  ")], "    a", Some("\t  a")),
            (vec![("    ", "\t  ")], "        a", None),
        ] {
            let pairs: Vec<(&[u8], &[u8])> =
                pairs.iter().map(|(a, b)| (a.as_bytes(), b.as_bytes())).collect();
            let shift = Shift::learn(&pairs).unwrap();
            assert_eq!(shift.apply(new).as_deref(), carried, "{pairs:?} {new:?}");
        }
    }

    #[test]
    fn contradicting_lines_teach_nothing() {
        let pairs: [(&[u8], &[u8]); 2] = [(b"  ", b"\t"), (b"  ", b"\t\t")];
        assert_eq!(Shift::learn(&pairs), None);
    }
}
