//! Where keys stand in a JSON text, so that a problem can name its line.

use haft_core::without_bom;
use std::collections::{BTreeMap, BTreeSet};

/// How many keys that are repeated are named of one text.
const REPEATED_MAX: usize = 20;
/// How much of pointers is kept of one text, all together.
const POINTERS_MAX_BYTES: usize = 4 * 1024 * 1024;

/// The line of each key, by JSON pointer.
#[derive(Debug, Default)]
pub(in crate::source) struct KeyLines {
    lines: BTreeMap<String, usize>,
    repeated: Vec<Repeated>,
}

/// A key that its object has already. Readers of JSON differ in which of the two they take, and none says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::source) struct Repeated {
    key: String,
    /// The field of the text that it is, or that it stands in.
    pub(in crate::source) field: String,
    /// Where it stands again.
    pub(in crate::source) line: usize,
}

impl Repeated {
    /// What would fix it.
    pub(in crate::source) const FIX: &str = "keep one of them";

    /// What is wrong.
    pub(in crate::source) fn text(&self) -> String {
        format!("\"{}\" stands twice in one object, and only one of the two would count", self.key)
    }
}

impl KeyLines {
    /// Looks through a text that is valid JSON; in any other the keys up to the fault are found.
    pub(in crate::source) fn scan(text: &str) -> Self {
        let (path, field, found) = (String::new(), String::new(), Self::default());
        let text = without_bom(text);
        let mut scanner = Scanner { text, at: 0, line: 1, path, field, room: POINTERS_MAX_BYTES, found };
        scanner.value();
        scanner.found
    }

    /// The keys that their object has already, at most 20 of them.
    pub(in crate::source) fn repeated(&self) -> &[Repeated] {
        &self.repeated
    }

    /// The line of a key, else of the nearest key around it, else the first.
    pub(in crate::source) fn line(&self, pointer: &str) -> usize {
        let mut at = pointer;
        loop {
            if let Some(line) = self.lines.get(at) {
                return *line;
            }
            match at.rsplit_once('/') {
                Some((outer, _)) => at = outer,
                None => return 1,
            }
        }
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    path: String,
    /// The first key of the path.
    field: String,
    /// How many bytes of pointers may still be kept.
    room: usize,
    found: KeyLines,
}

impl Scanner<'_> {
    fn value(&mut self) {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => drop(self.string()),
            _ => {
                while self.byte().is_some_and(|byte| !matches!(byte, b',' | b']' | b'}' | b'\n')) {
                    self.at += 1;
                }
            }
        }
    }

    fn object(&mut self) {
        self.at += 1;
        let mut seen = BTreeSet::new();
        while self.peek() == Some(b'"') {
            let line = self.line;
            let key = self.string();
            if self.peek() != Some(b':') {
                return;
            }
            self.at += 1;
            self.inside(&key, line);
            if seen.contains(&key) {
                self.repeat(key, line);
            } else {
                seen.insert(key);
            }
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        self.close(b'}');
    }

    fn array(&mut self) {
        self.at += 1;
        let mut index = 0_usize;
        while self.peek().is_some_and(|byte| byte != b']') {
            let (line, before) = (self.line, self.at);
            self.inside(&index.to_string(), line);
            if self.peek() == Some(b',') {
                self.at += 1;
            }
            if self.at == before {
                return;
            }
            index += 1;
        }
        self.close(b']');
    }

    fn inside(&mut self, key: &str, line: usize) {
        let outer = self.path.len();
        if outer == 0 {
            key.clone_into(&mut self.field);
        }
        self.path.push('/');
        self.path.push_str(key);
        // Each pointer repeats the keys around it: of a long one around very many, a small text would make gigabytes.
        if let Some(room) = self.room.checked_sub(self.path.len()) {
            self.room = room;
            self.found.lines.insert(self.path.clone(), line);
        }
        self.value();
        self.path.truncate(outer);
    }

    fn repeat(&mut self, key: String, line: usize) {
        if self.found.repeated.len() < REPEATED_MAX {
            self.found.repeated.push(Repeated { key, field: self.field.clone(), line });
        }
    }

    fn close(&mut self, end: u8) {
        if self.peek() == Some(end) {
            self.at += 1;
        }
    }

    /// The string that starts here, decoded.
    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(literal).unwrap_or_default()
    }

    /// The next byte that isn't white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.byte().filter(u8::is_ascii_whitespace) {
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
        self.byte()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_around_many_makes_no_mountain() {
        let inner: Vec<String> = (0..50_000).map(|number| format!("\"{number}\": 0")).collect();
        let text = format!("{{\"a\": 0,\n\"{}\": {{{}}}}}", "k".repeat(400_000), inner.join(","));
        let lines = KeyLines::scan(&text);
        let kept: usize = lines.lines.keys().map(String::len).sum();
        assert!(kept <= POINTERS_MAX_BYTES, "{kept}");
        // What isn't kept has the line of what is around it.
        assert_eq!((lines.line("/a"), lines.line(&format!("/{}/49999", "k".repeat(400_000)))), (1, 2));
    }

    #[test]
    fn each_key_has_its_line() {
        let text = "{\n \"a\": {\"x\": 1,\n  \"b\": [1,\n {\"c\": \"}\\\"\\n,\"}]},\n\n \"na\\u006de\"\n: true, \"last\": [[], {}]\n}";
        let lines = KeyLines::scan(text);
        let cases = [
            ("/a", 2),
            ("/a/x", 2),
            ("/a/b", 3),
            ("/a/b/0", 3),
            ("/a/b/1/c", 4),
            ("/name", 6),
            ("/last", 7),
            ("/last/1", 7),
            ("/a/missing/deep", 2),
            ("/missing", 1),
            ("", 1),
        ];
        for (pointer, line) in cases {
            assert_eq!(lines.line(pointer), line, "{pointer}");
        }
    }

    fn repeated(key: &str, field: &str, line: usize) -> Repeated {
        Repeated { key: key.to_owned(), field: field.to_owned(), line }
    }

    #[test]
    fn a_key_that_its_object_has_already_is_named_with_its_line() {
        let text = "\u{feff}{\"a\": {\"x\": 1,\n\"b\": [{\"b\": 1}, {\"b\": 2}]},\n\"a/x\": 1, \"x\": 2,\n\"\\u0061\": 3}";
        let lines = KeyLines::scan(text);
        assert_eq!(lines.repeated(), [repeated("a", "a", 4)]);
        assert_eq!(lines.line("/a/b"), 2);
        let within = "{\"a\": {\"b\": 0},\n\"c\": [{\"b\": 0, \"b\": 0}], \"a\": 0}";
        assert_eq!(KeyLines::scan(within).repeated(), [repeated("b", "c", 2), repeated("a", "a", 2)]);
        let many = format!("{{{}}}", vec!["\"k\": 0"; 100].join(","));
        assert_eq!(KeyLines::scan(&many).repeated().len(), REPEATED_MAX);
    }

    #[test]
    fn what_is_no_json_ends_the_look() {
        for text in ["", "{", "{\"a\"", "{\"a\":", "[", "[}", "{\"a\": [1 2, }", "\"\\", "[1,,2]"] {
            assert_eq!(KeyLines::scan(text).line("/zzz"), 1, "{text}");
        }
    }
}
