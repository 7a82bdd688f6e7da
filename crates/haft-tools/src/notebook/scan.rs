//! Where the parts of a JSON text stand. The text is known to be valid JSON; nothing is decoded but keys.

use std::ops::Range;

/// A member of an object or an item of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The key of a member.
    pub(crate) key: Option<String>,
    /// From the key, or else the value, to the end of the value.
    pub(crate) span: Range<usize>,
    /// The value.
    pub(crate) value: Range<usize>,
}

/// What is in an object or an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// In the order of the text.
    pub(crate) items: Vec<Part>,
    /// All between the brackets.
    pub(crate) inner: Range<usize>,
}

impl Parts {
    /// What is in the object or array at `value`; none for any other value.
    pub(crate) fn of(text: &str, value: &Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_object = match bytes.get(value.start)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        let inner = value.start + 1..value.end.checked_sub(1)?;
        let mut items = Vec::new();
        let mut at = blanks_end(bytes, inner.start);
        while at < inner.end {
            let start = at;
            let mut key = None;
            if is_object {
                let end = string_end(bytes, at)?;
                key = Some(serde_json::from_str(text.get(at..end)?).ok()?);
                let colon = blanks_end(bytes, end);
                at = blanks_end(bytes, colon + 1);
            }
            let end = value_end(bytes, at)?;
            items.push(Part { key, span: start..end, value: at..end });
            let comma = blanks_end(bytes, end);
            at = if comma < inner.end { blanks_end(bytes, comma + 1) } else { comma };
        }
        Some(Self { items, inner })
    }

    /// The member of that name; the last one, as every reader of JSON takes it.
    pub(crate) fn member(&self, key: &str) -> Option<&Part> {
        self.items.iter().rev().find(|part| part.key.as_deref() == Some(key))
    }

    /// What stands before the first item.
    pub(crate) fn lead<'a>(&self, text: &'a str) -> &'a str {
        let end = self.items.first().map_or(self.inner.end, |part| part.span.start);
        text.get(self.inner.start..end).unwrap_or_default()
    }

    /// What stands between the items `index - 1` and `index`, the comma included.
    pub(crate) fn gap<'a>(&self, text: &'a str, index: usize) -> Option<&'a str> {
        let before = self.items.get(index.checked_sub(1)?)?;
        text.get(before.span.end..self.items.get(index)?.span.start)
    }

    /// What stands after the last item.
    pub(crate) fn tail<'a>(&self, text: &'a str) -> &'a str {
        let start = self.items.last().map_or(self.inner.end, |part| part.span.end);
        text.get(start..self.inner.end).unwrap_or_default()
    }
}

/// The end of blanks.
pub(crate) fn blanks_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// The end of the string that starts at its quote.
fn string_end(bytes: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of the value that starts here.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start)? {
        b'"' => string_end(bytes, start),
        b'{' | b'[' => {
            let (mut at, mut depth) = (start, 0_usize);
            loop {
                at = match bytes.get(at)? {
                    b'"' => string_end(bytes, at)?,
                    b'{' | b'[' => {
                        depth += 1;
                        at + 1
                    }
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                        at + 1
                    }
                    _ => at + 1,
                };
            }
        }
        _ => {
            let rest = bytes.get(start..)?;
            let is_over = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            Some(start + rest.iter().take_while(|byte| !is_over(byte)).count())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Parts {
        Parts::of(text, &(0..text.len())).unwrap()
    }

    #[test]
    fn members_and_items_are_found_with_what_is_around_them() {
        let text = "{ \"a\": [1, {\"x\": \"]}\"}] ,\n\t\"b\\\"\\u0041\":null,\"a\":-1.5e3 }";
        let found = parts(text);
        let shown: Vec<_> = found
            .items
            .iter()
            .map(|part| (part.key.as_deref().unwrap(), &text[part.value.clone()]))
            .collect();
        assert_eq!(shown, [("a", "[1, {\"x\": \"]}\"}]"), ("b\"A", "null"), ("a", "-1.5e3")]);
        assert_eq!((found.lead(text), found.gap(text, 1), found.tail(text)), (" ", Some(" ,\n\t"), " "));
        assert_eq!(&text[found.member("a").unwrap().value.clone()], "-1.5e3");
        assert_eq!(found.member("c"), None);
    }

    #[test]
    fn what_is_empty_or_no_container_has_no_parts() {
        assert!(parts("[ ]").items.is_empty());
        assert_eq!((parts("{\n}").lead("{\n}"), parts("{\n}").tail("{\n}")), ("\n", ""));
        assert_eq!(Parts::of("\"[1]\"", &(0..5)), None);
    }
}
