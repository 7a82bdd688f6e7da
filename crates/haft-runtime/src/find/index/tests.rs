//! What the index finds, and in which order.

use super::*;
use serde_json::{Value, json};

/// Tools as name, source and description.
fn index(tools: &[(&str, &str, &str)]) -> ToolIndex {
    let schema = json!({"type": "object", "properties": {}});
    ToolIndex::build(tools.iter().map(|(name, source, description)| Document {
        name,
        source,
        aliases: &[],
        description,
        schema: &schema,
    }))
}

fn names(index: &ToolIndex, query: &str, limit: usize) -> Vec<String> {
    let found = index.search(&Query::parse(query), limit, |_| true);
    found.hits.iter().map(|hit| hit.name.to_string()).collect()
}

/// A few hundred tools, many of which talk of finding and of nodes.
fn crowd() -> ToolIndex {
    let mut tools: Vec<(String, String)> = (0..40)
        .map(|at| {
            (
                format!("mcp__graph__walk_{at}"),
                "Find a node, find each node, find and list nodes to find.".to_owned(),
            )
        })
        .collect();
    tools.extend((0..255).map(|at| (format!("mcp__misc__thing_{at}"), format!("Does thing number {at}."))));
    for name in ["find_node", "list_files", "openPage", "read-file", "git.log"] {
        tools.push((format!("mcp__lens__{name}"), "Looks.".to_owned()));
    }
    let schema = json!({"type": "object"});
    ToolIndex::build(tools.iter().map(|(name, description)| Document {
        name,
        source: "crowd",
        aliases: &[],
        description,
        schema: &schema,
    }))
}

#[test]
fn case_f44_a_tool_that_the_query_names_comes_first_whatever_its_spelling() {
    let crowd = crowd();
    for query in [
        "find_node",
        "find node",
        "lens find_node",
        "mcp__lens__find_node",
        "Find-Node",
        "findNode",
        "`find_node`",
        "please find_node now",
    ] {
        assert_eq!(names(&crowd, query, 5)[0], "mcp__lens__find_node", "{query}");
    }
}

#[test]
fn case_f44_several_names_in_one_query_are_all_found_and_the_rest_is_counted() {
    let crowd = crowd();
    let query = Query::parse("find_node, list_files openPage read-file git.log walk_7");
    let found = crowd.search(&query, 3, |_| true);
    let named: Vec<&str> = found.hits.iter().filter(|hit| hit.is_named).map(|hit| &*hit.name).collect();
    assert_eq!(named.len(), 6, "{named:?}");
    for name in ["find_node", "list_files", "openPage", "read-file", "git.log"] {
        assert!(named.contains(&&*format!("mcp__lens__{name}")), "{name} of {named:?}");
    }
    assert!(named.contains(&"mcp__graph__walk_7"));
    assert_eq!(found.hits.len() + found.more, 6 + 39, "all that talk of nodes and of finding are counted");
}

#[test]
fn a_word_that_is_also_a_name_is_no_name_in_a_sentence() {
    let tools = index(&[
        ("book", "core", "Keeps a ledger."),
        ("reserve_room", "core", "Books a hotel room for some nights."),
    ]);
    assert_eq!(names(&tools, "book a hotel room for two nights", 5)[0], "reserve_room");
    assert_eq!(names(&tools, "book", 5)[0], "book");
    assert_eq!(names(&tools, "book reserve_room", 5), ["reserve_room", "book"]);
}

#[test]
fn stems_synonyms_and_compounds_meet() {
    let tools = index(&[
        ("delete_entries", "core", "Deletes entries."),
        ("boardgame_info", "core", "Tells about a game."),
        ("calc_mean", "core", "The mean."),
        ("weather_now", "core", "The weather."),
    ]);
    for (query, name) in [
        ("removing an entry", "delete_entries"),
        ("which board game is this", "boardgame_info"),
        ("calculate something", "calc_mean"),
        ("wetter, weathers", "weather_now"),
    ] {
        assert_eq!(names(&tools, query, 1), [name], "{query}");
    }
    assert!(names(&tools, "xyzzy", 5).is_empty());
    assert!(names(&tools, "the of and 17", 5).is_empty());
}

#[test]
fn what_is_written_a_little_otherwise_counts_beside_a_word_in_common() {
    let tools = index(&[
        ("pick_a", "core", "Picks a volume."),
        ("pick_b", "core", "Picks a colour."),
        ("mix_c", "core", "Mixes a colour."),
    ]);
    assert_eq!(names(&tools, "pick colors", 5), ["pick_b", "pick_a"], "spelling alone finds nothing");
    assert!(names(&tools, "colors", 5).is_empty());
}

#[test]
fn what_a_query_implies_counts_less_than_what_it_says() {
    let tools = index(&[
        ("distance_between", "core", "Measures between points."),
        ("far_cry", "core", "Cries."),
        ("weigh_in", "core", "Puts things on scales."),
    ]);
    assert_eq!(names(&tools, "how far is the moon", 5), ["far_cry", "distance_between"]);
    assert_eq!(names(&tools, "12 kilometers", 5), ["distance_between"]);
}

#[test]
fn what_many_tools_talk_about_implies_little() {
    let mut tools: Vec<(String, &str)> = (0..20).map(|at| (format!("take_{at}"), "Takes minutes.")).collect();
    tools.push(("keep_duration".to_owned(), "Keeps it."));
    let tools: Vec<(&str, &str, &str)> =
        tools.iter().map(|(name, text)| (name.as_str(), "core", *text)).collect();
    let found = index(&tools).search(&Query::parse("minutes"), 30, |_| true);
    let score = |name: &str| found.hits.iter().find(|hit| *hit.name == *name).unwrap().score;
    assert!(score("keep_duration") < score("take_0"), "{found:?}");
}

#[test]
fn a_description_counts_by_how_much_of_it_the_query_has() {
    let schema = Value::Null;
    let first = |described: f32| {
        let texts = [
            ("pit_x", "Stones, amethysts."),
            ("pit_y", "Stones, things."),
            ("box_x", "Things."),
            ("box_y", "Things."),
            ("box_z", "Things."),
        ];
        let weights = Weights { described, spelling: 0.0, ..Weights::default() };
        let documents = texts.into_iter().map(|(name, description)| Document {
            name,
            source: "core",
            aliases: &[],
            description,
            schema: &schema,
        });
        names(&ToolIndex::ranked(Ranking { weights, ..Ranking::default() }, documents), "stones", 1)
    };
    assert_eq!(first(0.2), ["pit_y"], "what many tools say is little of it");
    assert_eq!(first(0.0), ["pit_x"], "else by name");
}

#[test]
fn a_tool_that_needs_a_number_stands_back_where_a_task_has_none() {
    let schema = |kind: &str| json!({"properties": {"power": {"type": kind}}, "required": ["power"]});
    let (number, text) = (schema("integer"), schema("string"));
    let document =
        |name, schema| Document { name, source: "core", aliases: &[], description: "Heats ovens.", schema };
    let tools = ToolIndex::build([document("heat_x", &number), document("heat_y", &text)]);
    for (query, first) in [
        ("heat the oven for Ann", "heat_y"),
        ("heat the oven for Ann to 200", "heat_x"),
        ("heat the oven for Ann in two hours", "heat_x"),
        ("heat the oven", "heat_x"),
    ] {
        assert_eq!(names(&tools, query, 5)[0], first, "{query}");
    }
}

#[test]
fn what_tools_are_called_by_is_no_value_that_a_task_names() {
    let schema = json!({"properties": {"issue_number": {"type": "number"}}, "required": ["issue_number"]});
    let tools = ToolIndex::build(["mcp__github__get_issue", "mcp__slack__get_issue"].map(|name| Document {
        name,
        source: "server",
        aliases: &[],
        description: "Gets it.",
        schema: &schema,
    }));
    let score = |query: &str| {
        let found = tools.search(&Query::parse(query), 5, |_| true);
        found.hits.iter().map(|hit| hit.score.to_bits()).max().unwrap()
    };
    for (query, small) in [
        ("find the Slack issue", "find the slack issue"),
        ("find the GitHub issue", "find the gitHub issue"),
        ("find that Issue", "find that issue"),
        ("may I find issues", "may i find issues"),
    ] {
        assert_eq!(score(query), score(small), "{query}");
    }
    assert_ne!(score("find the issue of Ann"), score("find the issue of ann"));
}

#[test]
fn parameters_and_their_values_are_found() {
    let schema = json!({"type": "object", "properties": {
        "shape": {"type": "string", "enum": ["hexagon", "circle"], "description": "its outline"},
        "deep": {"type": "array", "items": {"type": "object", "properties": {"zebra": {"type": "integer"}}}},
    }});
    let empty = Value::Null;
    let document =
        |name, schema| Document { name, source: "core", aliases: &[], description: "Draws.", schema };
    let tools = ToolIndex::build([document("a", &empty), document("b", &schema)]);
    for query in ["hexagon", "outlines", "zebra", "shape"] {
        assert_eq!(names(&tools, query, 5), ["b"], "{query}");
    }
}

#[test]
fn with_a_model_what_means_the_same_is_found_without_a_word_in_common() {
    let schema = Value::Null;
    let tools = [("fish_pond", "Fish."), ("monarch_of_year", "Tells the monarch."), ("other", "Does it.")];
    let documents = || {
        let document = |(name, description)| Document {
            name,
            source: "core",
            aliases: &[],
            description,
            schema: &schema,
        };
        tools.into_iter().map(document)
    };
    let model = Some(std::sync::Arc::new(crate::find::model::tests::tiny()));
    let with = ToolIndex::ranked(Ranking { model, ..Ranking::default() }, documents());
    let without = ToolIndex::build(documents());
    assert!(names(&without, "who was king then", 5).is_empty());
    assert_eq!(names(&with, "who was king then", 5), ["monarch_of_year"], "what is far stays away");
    assert_eq!(names(&with, "fish", 5)[0], "fish_pond");
    assert_eq!(
        names(&with, "fish_pond of the king", 5)[0],
        "fish_pond",
        "what is named comes first all the same"
    );
    for query in ["source:core", "xyzzy", "select:other"] {
        let (with, without) = (names(&with, query, 5), names(&without, query, 5));
        assert_eq!(with, without, "{query}: a query without known words is ranked as without a model");
    }
}

#[test]
fn required_words_and_sources_keep_the_rest_out() {
    let tools = index(&[
        ("mcp__github__list_issues", "mcp:github", "Lists issues."),
        ("mcp__gitlab__list_issues", "mcp:gitlab", "Lists issues."),
        ("mcp__github__list_pulls", "mcp:github", "Lists pull requests."),
    ]);
    assert_eq!(
        names(&tools, "source:github list", 5),
        ["mcp__github__list_issues", "mcp__github__list_pulls"]
    );
    assert_eq!(names(&tools, "source:GitHub +pulls", 5), ["mcp__github__list_pulls"]);
    assert_eq!(names(&tools, "+issue list", 5).len(), 2);
    assert_eq!(names(&tools, "source:github", 5).len(), 2, "a source alone lists its tools");
    assert!(names(&tools, "source:nowhere list", 5).is_empty());
}

#[test]
fn select_names_what_it_takes_and_what_there_is_not() {
    let crowd = crowd();
    let found = crowd.search(
        &Query::parse("select:mcp__lens__find_node,list files,nothing_such,list_files"),
        1,
        |_| true,
    );
    let names: Vec<&str> = found.hits.iter().map(|hit| &*hit.name).collect();
    assert_eq!(names, ["mcp__lens__find_node", "mcp__lens__list_files"]);
    assert_eq!(found.unknown, ["list", "files", "nothing_such"]);
}

#[test]
fn what_isn_t_shown_is_neither_found_nor_counted() {
    let crowd = crowd();
    let found =
        crowd.search(&Query::parse("find_node"), 5, |name| !name.contains("lens") && name.ends_with('7'));
    assert!(found.hits.iter().all(|hit| hit.name.ends_with('7')) && found.more == 0, "{found:?}");
    assert_eq!(found.hits.len(), 4);
}

#[test]
fn odd_queries_and_documents_do_no_harm() {
    let huge = "word ".repeat(100_000);
    let mut deep = json!({"type": "object"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    let document = Document { name: "odd", source: "", aliases: &[], description: &huge, schema: &deep };
    let tools = ToolIndex::build([document]);
    assert_eq!(names(&tools, &huge, 5), ["odd"]);
    for query in ["", "+", "source:", "select:", "\u{0}\u{202e}", "🦀🦀", "select:,,", "a\nb\tc"] {
        assert!(names(&tools, query, 0).len() <= 1, "{query:?}");
    }
    assert!(ToolIndex::build([]).search(&Query::parse("x"), 5, |_| true).hits.is_empty());
}
