//! `notebook_edit` on real files: where cells land, what stays, what is refused.

use crate::kit::{answered_by, call, done, failed, has, invalid, kit};
use haft_core::FailureKind;
use haft_test::Answers;
use serde_json::json;

/// As the reference implementation writes it, but without a last line end.
const NOTEBOOK: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 1,\n   \"id\": \
    \"p\",\n   \"metadata\": {\"tags\": []},\n   \"outputs\": [\n    {\n     \"name\": \"stdout\",\n     \
    \"output_type\": \"stream\",\n     \"text\": [\n      \"\\u00fc\\n\"\n     ]\n    }\n   ],\n   \"source\": [\n    \
    \"print('\\u00fc')\"\n   ]\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"q\",\n   \"metadata\": {},\n   \
    \"source\": [\n    \"# Q\\n\",\n    \"more\"\n   ]\n  },\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"r\",\n   \
    \"metadata\": {},\n   \"source\": []\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}";

fn text(kit: &haft_test::Harness) -> String {
    String::from_utf8(kit.read("n.ipynb")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f08_an_inserted_cell_stands_after_the_one_named() {
    let kit = kit();
    kit.write("n.ipynb", NOTEBOOK);
    let input =
        json!({"path": "n.ipynb", "action": "insert", "cell": "q", "source": "x = 1\ny", "type": "code"});
    let said = done(&call(&kit, "notebook_edit", input).await);
    has(&said, &["Inserted code cell", "(now #3) into n.ipynb, after q (#2)"]);
    let after = text(&kit);
    let at = NOTEBOOK.find(",\n  {\n   \"cell_type\": \"raw\"").unwrap();
    let (head, tail) = NOTEBOOK.split_at(at);
    let new = after.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)).expect("all else stays");
    has(new, &[",\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \""]);
    has(new, &["\"source\": [\n    \"x = 1\\n\",\n    \"y\"\n   ]\n  }"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f08_a_missing_cell_is_refused_with_those_there_are() {
    let kit = kit();
    kit.write("n.ipynb", NOTEBOOK);
    for action in ["replace", "insert"] {
        let input = json!({"path": "n.ipynb", "action": action, "cell": "zzz", "source": "x"});
        let said = failed(&call(&kit, "notebook_edit", input).await, FailureKind::NotFound);
        has(&said, &["no cell \"zzz\"", "p (code), q (markdown), r (raw)", "nothing was changed"]);
    }
    assert_eq!(text(&kit), NOTEBOOK);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f08_a_replaced_code_cell_loses_its_outputs_and_nothing_else() {
    let kit = kit();
    kit.write("n.ipynb", NOTEBOOK);
    // The names that other hosts use.
    let input =
        json!({"notebook_path": "n.ipynb", "cell_id": "p", "new_source": "a\nb", "edit_mode": "replace"});
    let ended = call(&kit, "NotebookEdit", input).await;
    has(&done(&ended), &["Replaced the source of cell p (#1)", "outputs were cleared"]);
    let outputs = NOTEBOOK.find("[\n    {\n     \"name\"").unwrap();
    let end = NOTEBOOK.find("],\n   \"source\"").unwrap();
    let expected = format!("{}[{}", &NOTEBOOK[..outputs], &NOTEBOOK[end..])
        .replace("\"print('\\u00fc')\"", "\"a\\n\",\n    \"b\"")
        .replace("\"execution_count\": 1", "\"execution_count\": null");
    assert_eq!(text(&kit), expected);
    has(
        ended.output.metadata.unwrap()["diff"].as_str().unwrap(),
        &["-    \"print('\\u00fc')\"", "+    \"b\""],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_are_deleted_moved_and_turned_into_others() {
    let kit = kit();
    for mark in ["", "\u{feff}"] {
        kit.write("n.ipynb", format!("{mark}{NOTEBOOK}"));
        done(
            &call(
                &kit,
                "notebook_edit",
                json!({"path": "n.ipynb", "action": "move", "cell": "r", "after": "start"}),
            )
            .await,
        );
        done(&call(&kit, "notebook_edit", json!({"path": "n.ipynb", "action": "delete", "cell": "p"})).await);
        done(&call(&kit, "notebook_edit", json!({"path": "n.ipynb", "cell": "q", "type": "raw"})).await);
        let after = text(&kit);
        let (r, q) = (after.find("\"id\": \"r\"").unwrap(), after.find("\"id\": \"q\"").unwrap());
        assert!(r < q && !after.contains("\"id\": \"p\"") && !after.contains("markdown"), "{after}");
        assert_eq!(after.starts_with('\u{feff}'), !mark.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_notebook_is_refused() {
    let kit = kit();
    for (content, part) in [
        ("{\"cells\": [", "it isn't valid JSON"),
        ("{\"nbformat\": 3, \"worksheets\": []}", "nbformat 3"),
        ("# text\n", "it isn't valid JSON"),
    ] {
        kit.write("n.ipynb", content);
        let input = json!({"path": "n.ipynb", "cell": "start", "action": "insert", "source": ""});
        has(&failed(&call(&kit, "notebook_edit", input).await, FailureKind::InvalidInput), &[part]);
        assert_eq!(text(&kit), content);
    }
    let input = json!({"path": "n.ipynb", "cell": "q", "action": "delete", "source": "x"});
    has(&invalid(&call(&kit, "notebook_edit", input).await), &["neither /source nor /type"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_the_change_before_it_is_made() {
    let kit = answered_by(Answers::no());
    kit.write("n.ipynb", NOTEBOOK);
    let input = json!({"path": "n.ipynb", "cell": "q", "source": "# New"});
    call(&kit, "notebook_edit", input).await;
    let asked = kit.answers().asked();
    has(&asked[0].preview.text, &["-    \"# Q\\n\",", "+    \"# New\""]);
    assert_eq!(text(&kit), NOTEBOOK);
}
