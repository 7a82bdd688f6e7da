//! How well and how fast tools are found: the program behind `bench/tool_search`.
//!
//! `tool_search CATALOGUE.json [--tune SECONDS] [--model FOLDER]`; the file is made by `bench/tool_search/catalogue.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::as_conversions, clippy::indexing_slicing)]
#![allow(clippy::cast_precision_loss, clippy::disallowed_methods, reason = "a measuring program of ours")]

use haft_runtime::find::{
    Document, Query, Ranking, StaticModel, TENSORS_FILE, TOKENIZER_FILE, ToolIndex, Weights,
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// Within so many places a tool counts as found.
const PLACES: usize = 5;
/// Where weights are looked for, so many places are.
const LOOKED_AT: usize = 50;
/// Tools of the large catalogue.
const MANY: usize = 10_000;
/// Of each set: its name in the table and the share that is wanted, in percent.
const SETS: [(&str, &str, f64); 4] = [
    ("simple_python", "simple", 92.0),
    ("multiple", "multiple", 93.0),
    ("live_simple", "live simple", 68.0),
    ("live_multiple", "live multiple", 82.0),
];

#[derive(Deserialize)]
struct Catalogue {
    tools: Vec<Function>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    description: String,
    schema: Value,
}

#[derive(Deserialize)]
struct Question {
    set: String,
    text: String,
    tool: String,
    reported: bool,
    bm25: bool,
}

/// Questions, distinct functions, found, found by plain BM25.
#[derive(Default)]
struct Share<'a> {
    all: usize,
    tools: BTreeSet<&'a str>,
    found: usize,
    bm25: usize,
}

impl Share<'_> {
    fn percent(&self, found: usize) -> f64 {
        100.0 * found as f64 / self.all.max(1) as f64
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the catalogue's file");
    let catalogue: Catalogue = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut ranking = Ranking::default();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().expect("seconds, or a folder");
        match argument.as_str() {
            "--tune" => {
                let time = Duration::from_secs(value.parse().unwrap());
                ranking.weights = tune(&catalogue, ranking.weights, time);
                eprintln!("{:#?}", ranking.weights);
            }
            "--model" => ranking.model = Some(Arc::new(model(Path::new(&value)))),
            other => panic!("{other} isn't known here"),
        }
    }
    recall(&catalogue, &ranking);
    names(&catalogue, &ranking);
    many(&catalogue, &ranking);
}

fn model(folder: &Path) -> StaticModel {
    let began = Instant::now();
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let model = StaticModel::read(&file(TENSORS_FILE), &file(TOKENIZER_FILE)).unwrap();
    eprintln!(
        "the model of {} numbers a token is read in {:.0} ms",
        model.width(),
        began.elapsed().as_secs_f64() * 1e3
    );
    model
}

fn documents(catalogue: &Catalogue) -> impl Iterator<Item = Document<'_>> {
    catalogue.tools.iter().map(|tool| Document {
        name: &tool.name,
        source: "bfcl",
        aliases: &[],
        description: &tool.description,
        schema: &tool.schema,
    })
}

/// Of the questions that `counts` lets through, the shares by set.
fn shares<'a>(
    catalogue: &'a Catalogue,
    ranking: &Ranking,
    counts: impl Fn(&Question) -> bool,
) -> BTreeMap<&'a str, Share<'a>> {
    let index = ToolIndex::ranked(ranking.clone(), documents(catalogue));
    let mut shares: BTreeMap<&str, Share<'_>> = BTreeMap::new();
    for question in catalogue.questions.iter().filter(|question| counts(question)) {
        // The leaderboard's questions hold none of the query's own forms; what looks like one is text.
        let query = Query { text: question.text.clone(), ..Query::default() };
        let found = index.search(&query, PLACES, |_| true);
        let share = shares.entry(&question.set).or_default();
        share.all += 1;
        share.tools.insert(&question.tool);
        share.found += usize::from(found.hits.iter().take(PLACES).any(|hit| *hit.name == question.tool));
        share.bm25 += usize::from(question.bm25);
    }
    shares
}

fn recall(catalogue: &Catalogue, ranking: &Ranking) {
    let reported = shares(catalogue, ranking, |question| question.reported);
    let set_on = shares(catalogue, ranking, |question| !question.reported);
    let both = shares(catalogue, ranking, |_| true);
    println!(
        "| set | questions | functions | BM25 % | haft % | wanted % | haft %, other half | haft %, both | BM25 %, both |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (set, label, wanted) in SETS {
        let (share, other, all) = (&reported[set], &set_on[set], &both[set]);
        println!(
            "| {label} | {} | {} | {:.1} | {:.1} | {wanted} | {:.1} | {:.1} | {:.1} |",
            share.all,
            share.tools.len(),
            share.percent(share.bm25),
            share.percent(share.found),
            other.percent(other.found),
            all.percent(all.found),
            all.percent(all.bm25),
        );
    }
    println!();
}

/// Each tool, asked for by its name as it is and by the words of it.
fn names(catalogue: &Catalogue, ranking: &Ranking) {
    let index = ToolIndex::ranked(ranking.clone(), documents(catalogue));
    let first = |text: &str, name: &str| {
        let found = index.search(&Query { text: text.to_owned(), ..Query::default() }, 1, |_| true);
        // Two tools whose names differ in signs only are both named.
        found.hits.iter().take_while(|hit| hit.is_named).any(|hit| *hit.name == *name)
    };
    let exact = catalogue.tools.iter().filter(|tool| first(&tool.name, &tool.name)).count();
    let bare = |tool: &&Function| first(&tool.name.replace(['_', '.', '-'], " "), &tool.name);
    let bare = catalogue.tools.iter().filter(bare).count();
    println!("| {} tools asked for by name | come first |\n|---|---:|", catalogue.tools.len());
    println!("| the name as it is | {exact} |\n| its words | {bare} |\n");
}

fn many(catalogue: &Catalogue, ranking: &Ranking) {
    let names: Vec<String> = (0..MANY)
        .map(|at| format!("mcp__s{}__{}", at % 200, catalogue.tools[at % catalogue.tools.len()].name))
        .collect();
    let documents = || {
        names.iter().enumerate().map(|(at, name)| {
            let tool = &catalogue.tools[at % catalogue.tools.len()];
            Document {
                name,
                source: "bfcl",
                aliases: &[],
                description: &tool.description,
                schema: &tool.schema,
            }
        })
    };
    let began = Instant::now();
    let index = ToolIndex::ranked(ranking.clone(), documents());
    let built = began.elapsed();
    let mut took: Vec<Duration> = catalogue
        .questions
        .iter()
        .map(|question| {
            let query = Query { text: question.text.clone(), ..Query::default() };
            let began = Instant::now();
            std::hint::black_box(index.search(&query, PLACES, |_| true));
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!("| {MANY} tools | ms | wanted ms |\n|---|---:|---:|");
    println!("| the index | {:.0} | 1000 |", built.as_secs_f64() * 1e3);
    println!("| a query, median | {:.3} | 1 |\n| a query, p95 | {:.3} | |", at(50), at(95));
}

/// Looks for weights by trying nearby ones, on the half that isn't reported.
///
/// A place counts the more the nearer it is to the first ones, and not only whether it is among these: weights that were
/// set by that alone keep less of what they gain for other functions. Questions for one function count by the root of
/// their number.
fn tune(catalogue: &Catalogue, start: Weights, time: Duration) -> Weights {
    let set_on: Vec<&Question> = catalogue.questions.iter().filter(|question| !question.reported).collect();
    let mut asked: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for question in &set_on {
        *asked.entry((&question.set, &question.tool)).or_default() += 1;
    }
    let worth = |weights: &Weights| {
        let ranking = Ranking { weights: weights.clone(), ..Ranking::default() };
        let index = ToolIndex::ranked(ranking, documents(catalogue));
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for question in &set_on {
            let query = Query { text: question.text.clone(), ..Query::default() };
            let found = index.search(&query, LOOKED_AT, |_| true);
            let place = found.hits.iter().position(|hit| *hit.name == question.tool);
            let near =
                place.map_or(0.0, |place| 1.0 / (1.0 + ((place + 1) as f64 / (PLACES as f64 + 0.5)).powi(3)));
            let counts = (asked[&(&*question.set, &*question.tool)] as f64).powf(-0.5);
            let (sum, all) = sums.entry(&question.set).or_default();
            *sum += counts * near;
            *all += counts;
        }
        sums.values().map(|(sum, all)| 100.0 * sum / all).sum::<f64>()
    };
    let (mut best, mut random, began) = (start.clone(), 0x2545_F491_4F6C_DD1D_u64, Instant::now());
    let mut most = worth(&best);
    while began.elapsed() < time {
        let mut tried = best.clone();
        for _ in 0..=next(&mut random) % 3 {
            nudge(&mut tried, &mut random);
        }
        let now = worth(&tried);
        if now > most {
            (best, most) = (tried, now);
            eprintln!("{most:.2}");
        }
    }
    best
}

fn nudge(weights: &mut Weights, random: &mut u64) {
    let which = usize::try_from(next(random) % 22).unwrap();
    // From about a half to twice.
    let factor = ((next(random) % 2001) as f32 / 1000.0 - 1.0).exp2();
    match which {
        at @ 0..6 => weights.fields[at] *= factor,
        at @ 6..12 => weights.lengths[at - 6] = (weights.lengths[at - 6] * factor).min(1.0),
        12 => weights.saturation *= factor,
        13 => weights.repeated *= factor,
        14 => weights.coverage *= factor,
        15 => weights.joined *= factor,
        16 => weights.prefix *= factor,
        17 => weights.synonym *= factor,
        18 => weights.described *= factor,
        19 => weights.implied *= factor,
        20 => weights.numberless = (weights.numberless * factor).min(1.0),
        _ => weights.spelling *= factor,
    }
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}
