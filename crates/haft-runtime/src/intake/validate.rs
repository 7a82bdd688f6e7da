//! The input against the tool's schema, each problem with its place, what was expected and what came.

use super::Checker;
use haft_core::Spec;
use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

/// How many problems a model is shown.
const PROBLEMS_MAX: usize = 10;
/// How much of a wrong value a model is shown, in characters.
const VALUE_MAX_CHARS: usize = 80;

/// Checks an input; the error is the whole text for the model, one problem a line.
pub(crate) fn validate(spec: &Spec, checker: &Checker, input: &Value) -> Result<(), String> {
    match checker.problems(input) {
        None => Ok(()),
        Some(problems) => Err(format!("Invalid input for \"{}\": {problems}", spec.model_name())),
    }
}

/// What of a value breaks a schema that it is known to break.
pub(super) fn problems(validator: &Validator, value: &Value) -> String {
    let mut lines = Vec::new();
    let mut more = 0_usize;
    for error in validator.iter_errors(value) {
        for line in describe(&error) {
            if lines.len() < PROBLEMS_MAX {
                lines.push(line);
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    lines.join("\n")
}

fn describe(error: &ValidationError<'_>) -> Vec<String> {
    let place = error.instance_path().to_string();
    let at = |property: &str| format!("{place}/{}", property.replace('~', "~0").replace('/', "~1"));
    let here = if place.is_empty() { "/" } else { &place };
    let got = shown(error.instance());
    let must = |what: String| vec![format!("{here} must {what}, got {got}")];
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            vec![format!("{} is required", at(&name))]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| format!("{} is not a known property", at(name))).collect()
        }
        ValidationErrorKind::Type { kind } => must(format!("be {}", types(kind))),
        ValidationErrorKind::Enum { options } => must(format!("be one of {options}")),
        ValidationErrorKind::Constant { expected_value } => must(format!("be {expected_value}")),
        ValidationErrorKind::MinLength { limit } => must(format!("have at least {limit} characters")),
        ValidationErrorKind::MaxLength { limit } => must(format!("have at most {limit} characters")),
        ValidationErrorKind::MinItems { limit } => must(format!("have at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => must(format!("have at most {limit} items")),
        ValidationErrorKind::MinProperties { limit } => must(format!("have at least {limit} properties")),
        ValidationErrorKind::MaxProperties { limit } => must(format!("have at most {limit} properties")),
        ValidationErrorKind::Minimum { limit } => must(format!("be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => must(format!("be at most {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => must(format!("be more than {limit}")),
        ValidationErrorKind::ExclusiveMaximum { limit } => must(format!("be less than {limit}")),
        ValidationErrorKind::MultipleOf { multiple_of } => must(format!("be a multiple of {multiple_of}")),
        ValidationErrorKind::Pattern { pattern } => must(format!("match {pattern}")),
        ValidationErrorKind::Format { format } => must(format!("be a valid {format}")),
        ValidationErrorKind::UniqueItems => must("not repeat an item".to_owned()),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            must("match one of the forms of the schema".to_owned())
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            must("match just one of the forms of the schema, not several".to_owned())
        }
        ValidationErrorKind::FalseSchema => vec![format!("{here} is not allowed")],
        other => vec![format!("{here} breaks the schema's rule \"{}\", got {got}", other.keyword())],
    }
}

fn types(kind: &jsonschema::error::TypeKind) -> String {
    let names: Vec<String> = match kind {
        jsonschema::error::TypeKind::Single(one) => vec![one.to_string()],
        jsonschema::error::TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect(),
    };
    names.join(" or ")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(VALUE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, input: Value) -> String {
        let spec = Spec::new("x", "d").with_input_schema(schema.clone());
        let checker = Checker::compile(&schema).unwrap();
        validate(&spec, &checker, &input).err().unwrap_or_default()
    }

    #[test]
    fn a_wrong_type_names_place_type_and_value() {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        assert_eq!(
            check(schema.clone(), json!({"text": 3})),
            "Invalid input for \"x\": /text must be string, got 3"
        );
        let long = check(schema, json!({"text": ["a".repeat(500)]}));
        assert!(long.chars().count() < 160 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn each_problem_is_a_line_and_the_rest_is_counted() {
        let names: Vec<String> = (0..14).map(|n| format!("p{n}")).collect();
        let text = check(json!({"type": "object", "required": names}), json!({}));
        assert_eq!(text.lines().count(), 11);
        assert!(text.contains("/p0 is required") && text.ends_with("… and 4 more"), "{text}");
    }

    #[test]
    fn unknown_properties_are_named() {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert!(check(schema, json!({"a/b": 1})).contains("/a~1b is not a known property"));
    }
}
