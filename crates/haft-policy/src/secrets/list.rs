//! Lists of values under names such as `tokens` or `api_keys`, on one line or over several.
//!
//! Read are a list in brackets with texts in quotes or, as YAML has it, bare ones, and a list of YAML with an item a
//! line. What isn't a list of plain values ends it: the items of anything else have names of their own.

use super::{
    assigned::is_other_name,
    find::{Rest, Sight},
    kinds::Check,
    value::{self, Quotes},
};
use memchr::{memchr, memchr2};
use regex::bytes::{Regex, RegexBuilder};
use std::{ops::Range, sync::LazyLock};

/// Of a longer list, the values in its first so many bytes are masked.
const LIST_MAX_BYTES: usize = 8 * 1024;

/// What stands between the word and the first item: the rest of the name, a type, what assigns, what makes a list in
/// code, and its bracket; or the end of the line, where a list of YAML may follow.
static OPENING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"([A-Za-z0-9_.\-]{0,32})\\{0,3}["'`]?[\])]{0,2}[ \t]{0,16}"#;
    let of_type = r#":[ \t]{0,4}[^=:\n"'`\[({]{0,24}(?:[\[<][^=\n"'`]{0,24})?="#;
    let makes = r"&?(?:new )?[A-Za-z_.]{0,24}!?(?:\[\])?[ \t]?";
    let opens = format!(r"(?:{of_type}|=>|:=|=|:)[ \t]{{0,16}}{makes}([\[({{])");
    let ends = r":[ \t]{0,16}(?:#[^\n]{0,200})?\r?\n";
    RegexBuilder::new(&format!("^{name}(?:{opens}|{ends})")).unicode(false).build().ok()
});

/// What listings put before a line: its number, with a file's name or without.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r#"^(?:[ \t]*[0-9]{1,7}(?:\xe2\x86\x92|\xe2\x94\x82|[:|\t\-])|[^\s:"']{1,160}[:\-][0-9]{1,7}[:\-])"#;
    RegexBuilder::new(pattern).unicode(false).build().ok()
});

/// An item of a list of YAML that is alone on its line.
static ITEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"^[ \t]*-[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'#][^\s"'`]*))[ \t]*(?:#[^\n]*)?\r?$"#;
    RegexBuilder::new(pattern).unicode(false).build().ok()
});

/// The values of the list that the name which `hit` is part of is given.
pub(super) fn values(text: &[u8], hit: Range<usize>, check: Check, rest: Rest) -> Sight {
    let after = text.get(hit.end..).unwrap_or_default();
    let (window, is_cut) = after.get(..LIST_MAX_BYTES).map_or((after, false), |window| (window, true));
    let Some(found) = OPENING.as_ref().and_then(|opening| opening.captures(window)) else {
        return Sight::Nothing;
    };
    let suffix = found.get(1).map(|rest| rest.as_bytes()).unwrap_or_default();
    if suffix.ends_with(b"-") || is_other_name(text.get(..hit.start).unwrap_or_default(), suffix) {
        return Sight::Nothing;
    }
    let at = found.get(0).map_or(0, |opening| opening.end());
    let bracket = found.get(2).and_then(|bracket| bracket.as_bytes().first().copied());
    let mut list = List { text: window, at, check, values: Vec::new() };
    let end = match bracket {
        Some(bracket) => list.read_bracket(bracket),
        None => list.read_lines(),
    };
    match end {
        End::Open if rest == Rest::Open && !is_cut => Sight::Undecided,
        _ if list.values.is_empty() => Sight::Nothing,
        _ => Sight::Several(
            list.values.into_iter().map(|value| hit.end + value.start..hit.end + value.end).collect(),
        ),
    }
}

/// How reading ended.
#[derive(PartialEq, Eq)]
enum End {
    /// At the list's end, or at what is no plain value.
    Closed,
    /// At the end of the text.
    Open,
}

/// A list that is being read.
struct List<'t> {
    text: &'t [u8],
    at: usize,
    check: Check,
    values: Vec<Range<usize>>,
}

impl<'t> List<'t> {
    /// Items in brackets, parted by commas or blanks.
    fn read_bracket(&mut self, bracket: u8) -> End {
        let closes = match bracket {
            b'[' => b']',
            b'(' => b')',
            _ => b'}',
        };
        loop {
            match self.rest() {
                [] => return End::Open,
                [b'\n', line @ ..] => self.at += 1 + marks(line),
                [b' ' | b'\t' | b'\r' | b',', ..] => self.at += 1,
                [b'#', ..] | [b'/', b'/', ..] => {
                    let Some(length) = memchr(b'\n', self.rest()) else { return End::Open };
                    self.at += length;
                }
                [byte, ..] if *byte == closes => return End::Closed,
                _ => {
                    if let Some(end) = self.read_item(bracket) {
                        return end;
                    }
                }
            }
        }
    }

    /// One item in brackets; an end where it is none.
    fn read_item(&mut self, bracket: u8) -> Option<End> {
        let rest = self.rest();
        let slashes = rest.iter().take(3).take_while(|byte| **byte == b'\\').count();
        let Some(quote) = rest.get(slashes).copied() else { return Some(End::Open) };
        if matches!(quote, b'"' | b'\'' | b'`') {
            let start = slashes + 1;
            let inner = rest.get(start..).unwrap_or_default();
            let Some(length) = memchr2(quote, b'\n', inner) else { return Some(End::Open) };
            if inner.get(length) == Some(&b'\n') {
                return Some(End::Closed);
            }
            let value = inner.get(..length).unwrap_or_default();
            let kept = value.iter().rposition(|byte| *byte != b'\\').map_or(0, |last| last + 1);
            self.take(start..start + kept, Quotes::Around);
            self.at += start + length + 1;
            return None;
        }
        // Elsewhere a bare word is code.
        let length = rest.iter().take_while(|byte| is_bare(**byte)).count();
        if bracket != b'[' || length == 0 {
            return Some(End::Closed);
        }
        match rest.get(length) {
            None => return Some(End::Open),
            Some(b'(' | b'[' | b'{' | b'=' | b':' | b'<') => return Some(End::Closed),
            Some(_) => {}
        }
        self.take(0..length, Quotes::None);
        self.at += length;
        None
    }

    /// An item a line, each behind a dash.
    fn read_lines(&mut self) -> End {
        loop {
            let rest = self.rest();
            let Some(length) = memchr(b'\n', rest) else {
                // At the text's very end the last line has no line end.
                self.read_line(rest);
                return End::Open;
            };
            if !self.read_line(rest.get(..length).unwrap_or_default()) {
                return End::Closed;
            }
            self.at += length + 1;
        }
    }

    /// Whether a line belongs to the list.
    fn read_line(&mut self, line: &[u8]) -> bool {
        let number = number(line);
        let content = line.get(number..).unwrap_or_default();
        // The dash of an item may be one of a diff as well: it is tried as the item's first.
        let marked = usize::from(matches!(content, [b'+' | b'-', ..]));
        for skipped in [number, number + marked] {
            let content = line.get(skipped..).unwrap_or_default();
            let trimmed = content.trim_ascii_start();
            if trimmed.is_empty() || trimmed.starts_with(b"#") {
                return true;
            }
            let Some(item) = ITEM.as_ref().and_then(|item| item.captures(content)) else { continue };
            let quoted = item.get(1).or_else(|| item.get(2));
            let quotes = if quoted.is_some() { Quotes::Around } else { Quotes::None };
            if let Some(value) = quoted.or_else(|| item.get(3)) {
                self.take(skipped + value.start()..skipped + value.end(), quotes);
            }
            return true;
        }
        false
    }

    /// Keeps a value if it is a secret; it is counted from `at`.
    fn take(&mut self, value: Range<usize>, quotes: Quotes) {
        let value = self.at + value.start..self.at + value.end;
        let Some(bytes) = self.text.get(value.clone()) else { return };
        let is_secret = match self.check {
            Check::Password => value::is_password(bytes, quotes),
            _ => value::is_token(bytes),
        };
        if is_secret && !bytes.iter().any(u8::is_ascii_whitespace) {
            self.values.push(value);
        }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
}

/// A letter of a bare item.
fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`\\<>()[]{},;|:=".contains(&byte)
}

/// How much of a line a listing put before it.
fn number(line: &[u8]) -> usize {
    NUMBER.as_ref().and_then(|number| number.find(line)).map_or(0, |found| found.end())
}

/// The same, and the mark of a diff.
fn marks(line: &[u8]) -> usize {
    let number = number(line);
    match line.get(number..) {
        Some([b'+' | b'-', b' ' | b'\t' | b'"' | b'\'' | b'`' | b']' | b')' | b'}', ..]) => number + 1,
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "q8Zt3nV7cX1mK4wP";
    const TWO: &str = "z7Yt2mV6bW0lJ3vO";

    /// The values found after the first `token` or `key` of a text in which 1 and 2 stand for two tokens.
    fn found(text: &str) -> Vec<String> {
        let text = text.replace('1', ONE).replace('2', TWO);
        let word = if text.contains("token") { "token" } else { "key" };
        let start = text.find(word).unwrap();
        match values(text.as_bytes(), start..start + word.len(), Check::Token, Rest::None) {
            Sight::Several(ranges) => ranges.into_iter().map(|range| text[range].to_owned()).collect(),
            Sight::Nothing => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_of_a_list_are_found_however_it_is_written() {
        for text in [
            "tokens: [ \"1\", \"2\" ]",
            "tokens = ['1', \"2\"]",
            "tokens: [1, 2]",
            "let tokens: [&str; N] = [\"1\", \"2\"];",
            "let tokens = vec![\"1\", \"2\"];",
            "String[] tokens = new String[] {\"1\", \"2\"};",
            "List<String> tokens = List.of(\"1\", \"2\");",
            "tokens=(\"1\" \"2\")",
            "{\\\"tokens\\\":[\\\"1\\\",\\\"2\\\"]}",
            "\"tokens\": [\n  \"1\", // old\n  \"2\"\n]",
            "\"tokens\": [\n7│  \"1\",\n8│  \"2\"\n9│]",
            "\"tokens\": [\na.json:7:  \"1\",\na.json-8-  \"2\"\n",
            "+\"tokens\": [\n+  \"1\",\n+  \"2\"\n+]",
            "keys:\n  - 1\n  - \"2\" # new\nother: x",
            "keys:\n\n- '1'\n# words\n- 2",
            "7│keys:\n8│  - 1\n9│  - 2\n",
            "+keys:\n+- 1\n+- 2\n",
            "-keys:\n-  - 1\n-  - 2\n",
        ] {
            assert_eq!(found(text), [ONE, TWO], "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_values_is_left_alone() {
        for text in [
            "tokens: [\"a\", \"b\"]\n1",
            "tokens:\n- hello\nkey: 1",
            "tokens:\n  - name: x\n    value: 1",
            "tokenIds: [\"1\"]",
            "tokens = [f(\"1\")]",
            "tokens: [{\"value\": \"1\"}]",
            "tokens: [\"some words 1\"]",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_list_that_may_go_on_is_waited_for() {
        let at = |text: &str| values(text.as_bytes(), 0..5, Check::Token, Rest::Open);
        assert_eq!(at("token: [\n  \"a\",\n"), Sight::Undecided);
        assert_eq!(at("token:\n"), Sight::Undecided);
        assert_eq!(at("token:\nother: x\n"), Sight::Nothing);
        assert_eq!(at("token: [1, 2]\n"), Sight::Nothing);
        assert_eq!(at(&format!("token: [\n{}", "\"a\",\n".repeat(3_000))), Sight::Nothing);
    }
}
