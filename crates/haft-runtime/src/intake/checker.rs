//! A schema ready to check values with, whoever wrote it.

use super::{
    cost::{Cost, STEPS_MAX, astray, refers},
    validate,
};
use jsonschema::Validator;
use serde_json::Value;

/// How deep a schema may be nested; people stay far below.
const DEPTH_MAX: usize = 96;
/// How many parts a schema may have.
const PARTS_MAX: usize = 50_000;

/// A compiled JSON Schema. References outside it are never fetched, and a check that would take too long is refused
/// before it begins.
#[derive(Debug)]
pub struct Checker {
    validator: Validator,
    /// The schema itself, where its references can make a check long.
    referring: Option<Value>,
}

impl Checker {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it can't be used, in words.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let mut parts = PARTS_MAX;
        if !fits(schema, DEPTH_MAX, &mut parts) {
            return Err(format!(
                "it is too large: more than {PARTS_MAX} parts, or nested deeper than {DEPTH_MAX}"
            ));
        }
        let is_referring = refers(schema);
        if let Some(reference) = is_referring.then(|| astray(schema)).flatten() {
            return Err(format!("it refers to \"{reference}\", which isn't in it and is never fetched"));
        }
        // What can't be told even for the simplest value can't be told for any.
        if is_referring && Cost::new(schema).of(&Value::Null) > STEPS_MAX {
            return Err("its references lead in circles, or multiply without end".to_owned());
        }
        let validator = jsonschema::options().offline().build(schema).map_err(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        })?;
        Ok(Self { validator, referring: is_referring.then(|| schema.clone()) })
    }

    /// What of a value doesn't fit, one problem a line with its place, what was expected and what came; none where all
    /// of it does.
    pub fn problems(&self, value: &Value) -> Option<String> {
        if let Some(schema) = &self.referring
            && Cost::new(schema).of(value) > STEPS_MAX
        {
            return Some("/ takes too long to be checked against the schema; nest it less".to_owned());
        }
        (!self.validator.is_valid(value)).then(|| validate::problems(&self.validator, value))
    }
}

fn fits(schema: &Value, depth: usize, parts: &mut usize) -> bool {
    let Some(left) = parts.checked_sub(1) else { return false };
    *parts = left;
    let Some(deeper) = depth.checked_sub(1) else { return false };
    match schema {
        Value::Object(fields) => fields.values().all(|field| fits(field, deeper, parts)),
        Value::Array(items) => items.iter().all(|item| fits(item, deeper, parts)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_would_never_end_is_refused_when_it_is_compiled() {
        for (schema, why) in [
            (json!({"$ref": "#"}), "in circles"),
            (json!({"properties": {"a": {"$ref": "https://x.example/a.json"}}}), "never fetched"),
            ((0..200).fold(json!({}), |inner, _| json!({"not": inner})), "too large"),
            (json!({"type": 7}), ""),
        ] {
            let said = Checker::compile(&schema).unwrap_err();
            assert!(said.contains(why), "{schema}: {said}");
        }
    }

    #[test]
    fn a_tree_is_checked_and_one_that_takes_too_long_is_refused() {
        let branch = json!({"properties": {"c": {"$ref": "#/$defs/n"}}});
        let schema = json!({
            "type": "object",
            "properties": {"c": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"anyOf": [branch, branch]}},
        });
        let checker = Checker::compile(&schema).unwrap();
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"c": inner}));
        assert_eq!(checker.problems(&nested(5)), None);
        assert!(checker.problems(&nested(60)).unwrap().contains("nest it less"));
        assert_eq!(checker.problems(&json!([])).as_deref(), Some("/ must be object, got []"));
    }
}
