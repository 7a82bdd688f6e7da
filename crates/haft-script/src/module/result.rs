//! What a tool of a module returns, as a result: text, content blocks, or data.

use haft_core::{Block, Failure, Output, Spec};
use serde_json::Value;

/// What a returned value stands for.
///
/// # Errors
/// The tool says by itself that it failed.
pub(super) fn output(value: Value, is_nothing: bool, spec: &Spec) -> Result<Output, Failure> {
    if is_nothing || value.is_null() {
        return Ok(Output::default());
    }
    if let Value::String(text) = &value {
        let text = text.clone();
        return Ok(Output {
            structured: spec.output_schema.is_some().then_some(value),
            ..Output::text(text)
        });
    }
    if let Some(content) = blocks(&value) {
        let output =
            Output { content, structured: value.get("structuredContent").cloned(), ..Output::default() };
        if value.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(failed(output));
        }
        return Ok(output);
    }
    let text = value.to_string();
    Ok(Output { structured: Some(value), ..Output::text(text) })
}

/// A failure with the texts; what isn't text goes beside it.
fn failed(mut output: Output) -> Failure {
    let failure = Failure::internal(output.joined_text());
    output.content.retain(|block| block.as_text().is_none());
    if output.content.is_empty() { failure } else { failure.with_partial(output) }
}

/// A list of blocks, or an object that has one.
fn blocks(value: &Value) -> Option<Vec<Block>> {
    let list = value.as_array().or_else(|| value.get("content")?.as_array())?;
    if list.is_empty() {
        return None;
    }
    list.iter().map(block).collect()
}

/// A block as haft writes it, or as other hosts do.
fn block(value: &Value) -> Option<Block> {
    if let Some(kind @ ("image" | "audio")) = value.get("type").and_then(Value::as_str) {
        let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let media_type = word("mediaType").or_else(|| word("mimeType"))?;
        let data = word("data")?;
        return Some(if kind == "image" {
            Block::Image { data, media_type, dims: None }
        } else {
            Block::Audio { data, media_type }
        });
    }
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_blocks_and_data_each_become_what_they_are() {
        let spec = Spec::new("x", "d");
        let made = |value: Value| output(value, false, &spec).unwrap();
        assert_eq!(made(json!("a")).content, [Block::text("a")]);
        assert_eq!(made(json!([{"type": "text", "text": "a"}])).content, [Block::text("a")]);
        let both = made(json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}}));
        assert_eq!((both.content, both.structured), (vec![Block::text("a")], Some(json!({"n": 1}))));
        let image = made(json!([{"type": "image", "data": "AA==", "mimeType": "image/png"}])).content;
        assert!(matches!(&image[..], [Block::Image { media_type, .. }] if media_type == "image/png"));
        let data = made(json!({"n": [1, 2]}));
        assert_eq!(
            (data.joined_text().as_str(), data.structured),
            ("{\"n\":[1,2]}", Some(json!({"n": [1, 2]})))
        );
        assert_eq!(made(json!([1, 2])).joined_text(), "[1,2]");
        assert_eq!(made(Value::Null), Output::default());
        let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        let failure = output(failed, false, &spec).unwrap_err();
        assert_eq!((failure.text.as_str(), failure.partial), ("no", None));
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let failed = json!({"content": [{"type": "text", "text": "no"}, image], "isError": true});
        let failure = output(failed, false, &spec).unwrap_err();
        assert_eq!((failure.text.as_str(), failure.partial.unwrap().content.len()), ("no", 1));
    }
}
