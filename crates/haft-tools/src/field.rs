//! Fields of an input that its schema leaves open, so that the tool says itself what is wrong with them.

use serde_json::Value;

/// How much of a wrong value is shown, in characters.
const VALUE_MAX_CHARS: usize = 80;

/// What is said of a wrong value, as the runtime says it of those that a schema knows:
/// `/all must be boolean, got "yes"`.
pub(crate) fn wrong(pointer: &str, must: &str, got: &Value) -> String {
    let text = got.to_string();
    let shown = match text.char_indices().nth(VALUE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    format!("{pointer} must be {must}, got {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_value_is_shown_as_far_as_it_helps() {
        assert_eq!(wrong("/all", "boolean", &json!("yes")), "/all must be boolean, got \"yes\"");
        let long = wrong("/all", "boolean", &json!("é".repeat(99)));
        assert_eq!(long, format!("/all must be boolean, got \"{}…", "é".repeat(79)));
    }
}
