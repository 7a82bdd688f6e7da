//! Text with `*`, which stands for any characters, none included.

/// Literal pieces with a `*` between each two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wild {
    pieces: Vec<String>,
}

impl Wild {
    /// Every `*` of the text is a wildcard.
    pub(crate) fn new(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_owned).collect() }
    }

    /// The pieces between the wildcards, for texts in which a `*` may be quoted.
    pub(crate) fn from_pieces(pieces: Vec<String>) -> Self {
        Self { pieces }
    }

    /// The text followed by anything, where it has no wildcard of its own.
    pub(crate) fn followed_by(&self, separator: char) -> Option<Self> {
        match self.pieces.as_slice() {
            [only] => Some(Self { pieces: vec![format!("{only}{separator}"), String::new()] }),
            _ => None,
        }
    }

    /// Whether it is nothing but wildcards.
    pub(crate) fn is_any(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.iter().all(String::is_empty)
    }

    /// Whether it has a wildcard.
    pub(crate) fn is_wild(&self) -> bool {
        self.pieces.len() > 1
    }

    /// The literal text it begins with.
    pub(crate) fn prefix(&self) -> &str {
        self.pieces.first().map_or("", String::as_str)
    }

    /// Whether it ends with a wildcard.
    pub(crate) fn is_open(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.last().is_some_and(String::is_empty)
    }

    /// Whether the whole text fits.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|only| only == text);
        };
        let inner = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
        let Some(mut rest) = inner else {
            return false;
        };
        for piece in middle {
            let Some((_, after)) = rest.split_once(piece.as_str()) else {
                return false;
            };
            rest = after;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_characters() {
        let cases = [
            ("ab", "ab", true),
            ("ab", "abc", false),
            ("a*", "a", true),
            ("a*b", "ab", true),
            ("a*a", "a", false),
            ("*b*c*", "xbyc", true),
            ("*b*c*", "xcyb", false),
            ("a**c", "abc", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Wild::new(pattern).matches(text), expected, "{pattern} on {text}");
        }
    }
}
