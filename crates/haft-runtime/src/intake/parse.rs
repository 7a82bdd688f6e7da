//! The argument text as JSON.

use haft_core::{Input, Spec};
use serde_json::{Map, Value};

/// Parses the argument text; the error is the whole text for the model.
pub(crate) fn parse(spec: &Spec, input: &Input) -> Result<Value, String> {
    let name = spec.model_name();
    let text = match input {
        Input::CutOff(_) => {
            return Err(format!(
                "Invalid input for \"{name}\": arguments incomplete — they were cut by an output limit and nothing \
                 ran. Send the call again with shorter arguments, or split the work into several calls."
            ));
        }
        Input::Text(text) => text.trim_start_matches('\u{feff}').trim(),
    };
    if text.is_empty() {
        // A model that calls a tool without arguments often sends no text at all.
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(value) => Ok(value),
        Err(error) => Err(format!(
            "Invalid input for \"{name}\": not valid JSON at line {}, column {} ({}). Send one JSON object with \
             the properties of the tool's schema.",
            error.line(),
            error.column(),
            reason(&error)
        )),
    }
}

fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_input_is_an_empty_object() {
        let spec = Spec::new("x", "d");
        for text in ["", "  ", "null", "{}"] {
            assert_eq!(parse(&spec, &Input::Text(text.into())).unwrap(), json!({}), "{text:?}");
        }
    }

    #[test]
    fn cut_or_broken_text_says_what_to_do() {
        let spec = Spec::new("x", "d");
        let cut = parse(&spec, &Input::CutOff("{\"a\": 1}".into())).unwrap_err();
        assert!(cut.contains("arguments incomplete") && cut.contains("nothing"), "{cut}");
        let broken = parse(&spec, &Input::Text("{\"a\": ".into())).unwrap_err();
        assert!(broken.starts_with("Invalid input for \"x\": not valid JSON at line 1"), "{broken}");
    }
}
