//! JSON with indentation, every character outside of blanks kept: numbers and their digits too.

use serde::de::IgnoredAny;

/// Deeper levels stay at this indentation: a text of brackets alone would else grow without bounds.
const INDENTED_LEVELS: usize = 16;

/// The text indented.
///
/// # Errors
/// What isn't JSON, and where.
pub(super) fn pretty(text: &str) -> Result<String, String> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut depth = 0usize;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                out.push('"');
                string(&mut characters, &mut out);
            }
            '{' | '[' => {
                out.push(character);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            blank if blank.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    Ok(out)
}

/// The rest of a string, whose first quote was read.
fn string(characters: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(character) = characters.next() {
        out.push(character);
        match character {
            '\\' => out.extend(characters.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth.min(INDENTED_LEVELS) {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_changes_nothing_but_blanks() {
        let text = r#"{"a" : [1.10, 123456789012345678901234567890,{ } ,[]], "b\"{": "x, y: [\\"}"#;
        let shown = "{\n  \"a\": [\n    1.10,\n    123456789012345678901234567890,\n    {},\n    []\n  ],\n  \
                     \"b\\\"{\": \"x, y: [\\\\\"\n}";
        assert_eq!(pretty(text).unwrap(), shown);
        assert_eq!(pretty(" 3 ").unwrap(), "3");
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(pretty(&deep).unwrap().len() < 40 * deep.len());
        assert!(pretty("{\"a\": }").unwrap_err().contains("line 1"));
    }
}
