//! Every provider gets what it accepts, and nothing that the tool takes is ruled out by it.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

const ALL: [Dialect; 4] = [Dialect::Plain, Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini];

/// What a provider would refuse in a schema: its written rules, apart from the code that follows them.
fn refused(schema: &Value, dialect: Dialect) -> Vec<String> {
    let mut faults = Vec::new();
    if schema["type"] != "object" || !schema["properties"].is_object() {
        faults.push("the root is no object with properties".to_owned());
    }
    for key in ["anyOf", "oneOf", "allOf", "not", "enum"] {
        if schema.get(key).is_some() {
            faults.push(format!("{key} at the root"));
        }
    }
    look(schema, "", dialect, &mut faults);
    faults
}

/// Gemini's `Schema` object: <https://ai.google.dev/api/caching#Schema>. What belongs to one type is refused beside
/// another ("only allowed for STRING type"), and so is what stands beside a union.
const GEMINI: &str = "type format title description nullable enum maxItems minItems properties required minProperties \
                      maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum \
                      maximum";

fn look(schema: &Value, path: &str, dialect: Dialect, faults: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        if dialect == Dialect::Gemini {
            faults.push(format!("{path} is no object"));
        }
        return;
    };
    let mut fault = |text: String| faults.push(format!("{path}: {text}"));
    for key in object.keys() {
        if ["$ref", "$defs", "definitions", "$dynamicRef", "$id"].contains(&key.as_str()) {
            fault(format!("{key} is left"));
        }
        if dialect == Dialect::Gemini && !GEMINI.split_whitespace().any(|known| known == key) {
            fault(format!("{key} isn't known"));
        }
    }
    if dialect == Dialect::Gemini {
        let kinds = ["string", "number", "integer", "boolean", "array", "object"];
        match object.get("type").map(|kind| kind.as_str()) {
            None if object.contains_key("anyOf") => {}
            Some(Some(kind)) if kinds.contains(&kind) => {}
            other => fault(format!("{other:?} is no type")),
        }
        if object.contains_key("anyOf") && object.len() > 1 {
            fault("something beside a union".to_owned());
        }
        for (key, kind) in
            [("enum", "string"), ("items", "array"), ("properties", "object"), ("required", "object")]
        {
            if object.contains_key(key) && object.get("type").is_none_or(|own| own != kind) {
                fault(format!("{key} of what is no {kind}"));
            }
        }
        if object.get("type").is_some_and(|kind| kind == "array") && !object.contains_key("items") {
            fault("an array without items".to_owned());
        }
        for value in object.get("enum").and_then(Value::as_array).into_iter().flatten() {
            if !value.is_string() {
                fault(format!("{value} is listed and no text"));
            }
        }
    }
    let properties = object.get("properties").and_then(Value::as_object);
    for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
        if dialect == Dialect::Gemini
            && !properties.is_some_and(|all| all.contains_key(name.as_str().unwrap()))
        {
            fault(format!("{name} is required and isn't there"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        let fits = name.len() <= 64
            && name.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"_.-".contains(&sign));
        if matches!(dialect, Dialect::Anthropic | Dialect::Gemini) && (name.is_empty() || !fits) {
            faults.push(format!("{path}: {name:?} is no name"));
        }
        look(property, &format!("{path}/{name}"), dialect, faults);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(schema) = object.get(key) {
            look(schema, &format!("{path}/{key}"), dialect, faults);
        }
    }
    for branch in object.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        look(branch, &format!("{path}/anyOf"), dialect, faults);
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options().offline().build(schema).map_err(|error| error.to_string())
}

fn check_accepted(name: &str, schema: &Value) {
    for dialect in ALL {
        let lowered =
            lower(schema, dialect).unwrap_or_else(|error| panic!("{name} for {dialect:?}: {error}"));
        assert_eq!(
            refused(&lowered.schema, dialect),
            Vec::<String>::new(),
            "{name} for {dialect:?}: {}",
            lowered.schema
        );
        compile(&lowered.schema).unwrap_or_else(|error| panic!("{name} for {dialect:?}: {error}"));
    }
}

#[test]
fn schemas_of_public_servers_are_accepted_everywhere() {
    // Their shapes as they were listed in November 2026, without descriptions.
    let servers: Map<String, Value> =
        serde_json::from_str(include_str!("../../tests/fixtures/public_schemas.json")).unwrap();
    let mut tools = 0;
    for (server, schemas) in &servers {
        for (tool, schema) in schemas.as_object().unwrap() {
            check_accepted(&format!("{server}/{tool}"), schema);
            tools += 1;
        }
    }
    assert!(servers.len() == 6 && tools > 45, "{tools}");
}

#[test]
fn every_keyword_is_lowered() {
    let part = json!({"type": "string"});
    let within = |property: Value| json!({"type": "object", "properties": {"p": property}});
    for property in [
        json!(true),
        json!({}),
        json!({"const": "a"}),
        json!({"const": 7}),
        json!({"const": null}),
        json!({"enum": ["a", 1, null]}),
        json!({"enum": [1, 2]}),
        json!({"enum": []}),
        json!({"type": "null"}),
        json!({"type": ["string", "null"], "pattern": "^a", "minLength": 1}),
        json!({"type": ["string", "integer", "array"], "minimum": 3, "items": part}),
        json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 3, "format": "int32"}),
        json!({"type": "number", "minimum": 0.5, "format": "percent"}),
        json!({"type": "string", "format": "uri", "contentEncoding": "base64", "contentMediaType": "x/y"}),
        json!({"type": "string", "format": "date-time", "default": "x", "examples": ["y"], "deprecated": true}),
        json!({"type": "array"}),
        json!({"type": "array", "items": true, "uniqueItems": true, "contains": part, "minContains": 1}),
        json!({"type": "array", "prefixItems": [part, {"type": "integer"}], "items": false}),
        json!({"type": "array", "items": [part, part]}),
        json!({"type": "object", "additionalProperties": part, "propertyNames": {"pattern": "^x"}}),
        json!({"type": "object", "patternProperties": {"^x": part}, "minProperties": 1, "unevaluatedProperties": false}),
        json!({"type": "object", "properties": {"a": part}, "required": ["a", "gone"], "dependentRequired": {"a": ["b"]}}),
        json!({"anyOf": [part, {"type": "null"}]}),
        json!({"oneOf": [part, {"type": "object", "properties": {"x": {"const": true}}}]}),
        json!({"allOf": [{"type": "object", "properties": {"a": part}}, {"properties": {"b": part}, "required": ["b"]}]}),
        json!({"not": {"type": "string"}}),
        json!({"type": "string", "if": {"const": "a"}, "then": {"minLength": 1}, "else": {"maxLength": 5}}),
        json!({"type": "string", "x-own": {"any": "thing"}, "readOnly": true, "$comment": "c"}),
        json!({"title": "T", "description": "D"}),
        json!({"enum": (0..5_000).map(|number| format!("value {number}")).collect::<Vec<_>>()}),
        json!({"type": "integer", "enum": ["1", "2"]}),
        json!({"type": ["integer", "boolean"], "enum": [1, true], "properties": {"a": part}, "items": part}),
        json!({"type": ["string", "array", "null"], "anyOf": [{"minLength": 1}, {"items": part}], "description": "D"}),
        json!({"type": "array", "anyOf": [{"items": part}, {"minItems": 2}]}),
        json!({"type": "object", "properties": {"a": part}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"type": "string", "properties": {"a": part}, "required": ["a"], "items": part}),
        json!({"anyOf": [{"oneOf": [part, {"type": "integer"}]}, {"type": "null"}], "description": "D"}),
        json!({"anyOf": [{"anyOf": [part, {"type": "integer"}]}, {"type": "boolean"}, {"type": "null"}]}),
        json!({"anyOf": [{"type": "null"}], "enum": [null]}),
        json!({"allOf": [{"type": "string"}, {"type": "integer"}, true, false]}),
        json!({"allOf": [{"anyOf": [part, {"type": "null"}]}, {"oneOf": [{"enum": ["a"]}, {"const": 1}]}]}),
        json!({"items": part}),
        json!({"properties": {"größe": true, "a\u{0}b": false, "日本": part}, "items": part}),
    ] {
        check_accepted(&property.to_string(), &within(property));
    }
    for root in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false, "$schema": "x", "$id": "urn:y"}),
        json!({"type": "object", "not": {"required": ["a"]}, "dependentRequired": {"a": ["b"]}}),
        json!({"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}, "minProperties": 1}),
        json!({"type": "object", "properties": {"a b": part, "": part, "é": part, "x".repeat(90): part}}),
    ] {
        check_accepted(&root.to_string(), &root);
    }
}

#[test]
fn case_f36_a_root_union_becomes_one_object_with_its_rule_in_words() {
    let union = json!({"type": "object", "anyOf": [
        {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
        {"properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
    ]});
    let lowered = lower(&union, Dialect::OpenAi).unwrap();
    assert_eq!(lowered.schema["properties"]["kind"], json!({"enum": ["file", "url"]}));
    assert_eq!(lowered.schema["required"], json!(["kind"]));
    assert_eq!(
        lowered.describe("Opens."),
        "Opens.\nThe fields must make one of these forms: kind = \"file\", path; or kind = \"url\", url."
    );
    check_accepted("union", &union);
    // Branches that no object can be are left out; where none is left, the tool is set aside.
    let mixed = json!({"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}]});
    assert_eq!(lower(&mixed, Dialect::Plain).unwrap().rule, "");
    let error = lower(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), Dialect::Plain).unwrap_err();
    assert!(matches!(error, LowerError::NoObject(_)), "{error}");
}

#[test]
fn references_are_put_in_place_and_never_fetched() {
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}, "also": {"$ref": "#n"}},
        "$defs": {"node": {"$anchor": "n", "type": "object", "properties": {
            "name": {"$ref": "#/$defs/na~1me%25"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }}, "na/me%": {"type": "string"}},
    });
    let lowered = lower(&tree, Dialect::Plain).unwrap();
    let root = &lowered.schema["properties"]["root"];
    assert_eq!(root["properties"]["name"], json!({"type": "string"}));
    assert_eq!(root["properties"]["children"]["items"], json!({}), "what leads back to itself is open");
    check_accepted("tree", &tree);
    for (reference, is_foreign) in [
        ("http://127.0.0.1/x.json", true),
        ("other.json#/x", true),
        ("#/$defs/none", false),
        ("#none", false),
    ] {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
        let error = lower(&schema, Dialect::Plain).unwrap_err();
        assert_eq!(matches!(error, LowerError::Foreign(_)), is_foreign, "{error}");
        assert!(error.to_string().contains(reference), "{error}");
    }
}

#[test]
fn references_in_circles_and_with_something_beside_them_are_put_in_place() {
    let within = |property: Value| {
        json!({"type": "object", "properties": {"p": property}, "$defs": {
            "a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}, "never": false,
            "text": {"type": "string", "maxLength": 5, "enum": ["x", "y"]}, "x%+5": {"type": "integer"},
            "if": {"if": {"const": "x"}, "then": {"maxLength": 3}},
        }})
    };
    for property in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a"}),
        json!({"$ref": "#/$defs/never"}),
        json!({"$ref": "#/$defs/text", "description": "D", "maxLength": 9}),
        json!({"$ref": "#/$defs/if", "else": {"minLength": 9}}),
    ] {
        check_accepted(&property.to_string(), &within(property));
    }
    let of =
        |property: Value| lower(&within(property), Dialect::Plain).unwrap().schema["properties"]["p"].clone();
    assert_eq!(of(json!({"$ref": "#/$defs/x%+5"})), json!({"type": "integer"}));
    assert_eq!(
        of(json!({"$ref": "#/$defs/text", "description": "D"})),
        json!({"type": "string", "maxLength": 5, "enum": ["x", "y"], "description": "D"})
    );
    // An "else" is of the "if" beside it only.
    assert_eq!(
        of(json!({"$ref": "#/$defs/if", "else": {"minLength": 9}})),
        json!({"allOf": [{"if": {"const": "x"}, "then": {"maxLength": 3}}, {"else": {"minLength": 9}}]})
    );
    let root = json!({"type": "object", "$ref": "#"});
    assert_eq!(lower(&root, Dialect::Gemini).unwrap().schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn a_union_for_gemini_stands_alone_and_loses_neither_words_nor_null() {
    let of = |property: Value| {
        let schema = json!({"type": "object", "properties": {"p": property}});
        lower(&schema, Dialect::Gemini).unwrap().schema["properties"]["p"].clone()
    };
    assert_eq!(
        of(
            json!({"description": "When", "anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer"},
                                                  {"type": "null"}]})
        ),
        json!({"anyOf": [{"type": "string", "format": "date-time", "description": "When", "nullable": true},
                         {"type": "integer", "nullable": true}]})
    );
    assert_eq!(
        of(
            json!({"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]})
        ),
        json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}},
                         {"type": "object", "properties": {"b": {"type": "string"}}}]})
    );
    // What is left of a union is what it was about.
    assert_eq!(
        of(json!({"anyOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]})),
        json!({"anyOf": [{"type": "string", "nullable": true}, {"type": "integer", "nullable": true}]})
    );
    let needs = of(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}),
    );
    assert_eq!((&needs["type"], &needs["required"]), (&json!("object"), &json!(["a"])));
}

#[test]
fn what_only_one_form_says_of_its_fields_together_doesnt_hold_for_the_others() {
    let forms = json!({"type": "object", "anyOf": [
        {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "minProperties": 2, "propertyNames": {"maxLength": 1}},
        {"properties": {"long": {"type": "string"}}, "required": ["long"]},
    ]});
    let lowered = lower(&forms, Dialect::Plain).unwrap().schema;
    assert!(compile(&lowered).unwrap().is_valid(&json!({"long": "x"})), "{lowered}");
}

#[test]
fn references_that_multiply_and_depth_without_end_are_bounded() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions
            .insert(format!("l{level}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    definitions.insert("l40".to_owned(), json!({"type": "string"}));
    let bomb = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/l0"}}, "$defs": definitions});
    assert_eq!(lower(&bomb, Dialect::Gemini), Err(LowerError::TooLarge));
    // Few parts, each of them long.
    let long: Vec<String> = (0..1_000).map(|number| format!("{number:0>100}")).collect();
    let copies: Map<String, Value> =
        (0..1_000).map(|number| (format!("p{number}"), json!({"$ref": "#/$defs/long"}))).collect();
    let heavy = json!({"type": "object", "properties": copies, "$defs": {"long": {"enum": long}}});
    assert_eq!(lower(&heavy, Dialect::Plain), Err(LowerError::TooLarge));
    check_accepted("once", &json!({"type": "object", "properties": {"p": {"enum": long}}}));
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    check_accepted("deep", &deep);
}

#[test]
fn names_that_cannot_be_sent_come_back_as_they_are() {
    let long = "x".repeat(90);
    let schema = json!({"type": "object", "required": ["a b"], "properties": {
        "a b": {"type": "string"}, "a_b": {"type": "string"},
        "in": {"type": "object", "properties": {(long.clone()): {"type": "integer"}}},
    }});
    let lowered = lower(&schema, Dialect::Anthropic).unwrap();
    assert_eq!(lowered.schema["required"], json!(["a_b_2"]));
    let sent = json!({"a_b": "1", "a_b_2": "2", "in": {"x".repeat(60): 3}});
    assert_eq!(lowered.keys.raise(sent), json!({"a_b": "1", "a b": "2", "in": {long: 3}}));
    assert!(lowered.rule.contains("a_b_2 for \"a b\""), "{}", lowered.rule);
    assert!(lower(&schema, Dialect::OpenAi).unwrap().keys.is_empty());
}

#[test]
fn a_name_is_turned_back_only_where_it_is_a_propertys() {
    let schema = json!({"type": "object", "properties": {
        "a b": {"type": "string"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"properties": {"c d": {}}}]}},
        "map": {"type": "object", "additionalProperties": {"properties": {"c d": {}}}},
    }, "dependentRequired": {"env": ["a b"]}});
    let keys = lower(&schema, Dialect::Anthropic).unwrap().keys;
    let sent = json!({
        "a_b": "1", "env": {"a_b": "mine"}, "list": ["x", {"c_d": 1, "a_b": 2}], "map": {"a_b": {"c_d": 3}},
    });
    let real = json!({
        "a b": "1", "env": {"a_b": "mine"}, "list": ["x", {"c d": 1, "a_b": 2}], "map": {"a_b": {"c d": 3}},
    });
    assert_eq!(keys.raise(sent), real);
    assert_eq!(keys.raise(json!("no object")), json!("no object"));
    let nested = json!({"type": "object", "properties": {"in": {
        "type": "object", "properties": {"a b": {}, "c": {}}, "dependentRequired": {"a b": ["c"], "c": ["a b"]},
    }}});
    let lowered = lower(&nested, Dialect::Anthropic).unwrap();
    let dependent = &lowered.schema["properties"]["in"]["dependentRequired"];
    assert_eq!(dependent, &json!({"a_b": ["c"], "c": ["a_b"]}));
}

#[test]
fn however_many_names_are_alike_each_has_one_of_its_own() {
    let names: Vec<String> = (0..2_000).map(|number| format!("{}{number}", "é".repeat(70))).collect();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!(true))).collect();
    let schema = json!({"type": "object", "properties": properties});
    let lowered = lower(&schema, Dialect::Gemini).unwrap();
    let sent = lowered.schema["properties"].as_object().unwrap();
    assert!(sent.len() == names.len() && refused(&lowered.schema, Dialect::Gemini).is_empty());
    let input: Value = sent.keys().map(|name| (name.clone(), json!(1))).collect();
    let raised = lowered.keys.raise(input);
    assert!(names.iter().all(|name| raised.get(name).is_some()));
}

/// Schemas with most of what changes when they are lowered.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "exclusiveMinimum": 1})),
        Just(json!({"type": ["boolean", "null"]})),
        Just(json!({"const": "a"})),
        Just(json!({"enum": ["a", 2]})),
        Just(json!({"$ref": "#/$defs/short"})),
        Just(json!({"type": "array", "items": {"type": "string"}})),
    ];
    let object = prop::collection::btree_map("[abc]", leaf, 0..3).prop_flat_map(|properties| {
        let names: Vec<String> = properties.keys().cloned().collect();
        let properties = Value::from_iter(properties);
        (prop::sample::subsequence(names.clone(), 0..=names.len()), any::<bool>(), 0..3).prop_map(
            move |(required, closed, least)| {
                let mut object = json!({"type": "object", "properties": properties, "required": required});
                if least > 0 {
                    object["minProperties"] = json!(least);
                }
                if closed {
                    object["additionalProperties"] = json!(false);
                }
                object
            },
        )
    });
    let keys = prop::sample::select(vec!["anyOf", "oneOf", "allOf"]);
    let union = (prop::collection::vec(object.clone(), 1..3), keys).prop_map(|(mut branches, key)| {
        // What a field means is the same in all branches: see `root::unite`.
        for branch in &mut branches {
            branch["additionalProperties"] = json!(key == "allOf");
        }
        json!({"type": "object", (key): branches})
    });
    prop_oneof![object, union].prop_map(|mut schema| {
        schema["$defs"] = json!({"short": {"type": "string", "maxLength": 1}});
        schema
    })
}

/// Schemas in which anything may stand beside anything.
fn odd_schemas() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(true),
        json!(false),
        json!({}),
        json!({"type": "string", "minLength": 1, "format": "uri"}),
        json!({"type": ["integer", "null"], "minimum": 2}),
        json!({"type": ["string", "array", "object"]}),
        json!({"type": "array"}),
        json!({"const": null}),
        json!({"enum": ["a", "b"]}),
        json!({"enum": [1, "a", null]}),
        json!({"type": "integer", "enum": ["1"]}),
        json!({"$ref": "#/$defs/short"}),
        json!({"$ref": "#", "description": "D"}),
        json!({"required": ["a", "gone"], "additionalProperties": false}),
        json!({"patternProperties": {"^x": true}, "default": {"a": 1}, "nullable": true}),
    ]);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let named = prop::collection::btree_map("[a é_]{0,3}", inner.clone(), 0..3);
        let union = prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]);
        prop_oneof![
            (union, list).prop_map(|(key, list)| json!({(key): list})),
            named.prop_map(|named| json!({"properties": named})),
            inner.clone().prop_map(|one| json!({"items": one})),
            inner.clone().prop_map(|one| json!({"additionalProperties": one, "not": {"type": "null"}})),
            (inner.clone(), inner).prop_map(|(one, other)| match (one, other) {
                (Value::Object(mut one), Value::Object(other)) => {
                    one.extend(other);
                    Value::Object(one)
                }
                (one, _) => one,
            }),
        ]
    })
}

fn inputs() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!("a")),
        Just(json!("bb")),
        Just(json!(1)),
        Just(json!(2)),
        Just(json!(true)),
        Just(Value::Null),
        Just(json!(["x"])),
    ];
    prop::collection::btree_map("[abc]", value, 0..4).prop_map(Value::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What a tool takes, the model may send: lowering leaves things out, it never rules anything out.
    #[test]
    fn what_the_tool_takes_the_lowered_schema_takes(schema in schemas(), input in inputs()) {
        let full = compile(&schema).unwrap();
        for dialect in [Dialect::Plain, Dialect::OpenAi, Dialect::Anthropic] {
            let Ok(lowered) = lower(&schema, dialect) else { continue };
            prop_assert!(refused(&lowered.schema, dialect).is_empty());
            if full.is_valid(&input) {
                let sent = compile(&lowered.schema).unwrap();
                prop_assert!(sent.is_valid(&input), "{input} fits {schema} but not {}", lowered.schema);
            }
        }
        if let Ok(lowered) = lower(&schema, Dialect::Gemini) {
            prop_assert_eq!(refused(&lowered.schema, Dialect::Gemini), Vec::<String>::new());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever stands in a schema, what is sent of it is taken.
    #[test]
    fn what_is_sent_is_accepted_everywhere(property in odd_schemas()) {
        let short = json!({"type": "string", "maxLength": 1});
        let schema = json!({"type": "object", "properties": {"p": property}, "$defs": {"short": short}});
        prop_assume!(compile(&schema).is_ok());
        for dialect in ALL {
            if let Ok(lowered) = lower(&schema, dialect) {
                prop_assert_eq!(refused(&lowered.schema, dialect), Vec::<String>::new(), "{}", lowered.schema);
                prop_assert!(compile(&lowered.schema).is_ok(), "{}", lowered.schema);
            }
        }
    }
}
