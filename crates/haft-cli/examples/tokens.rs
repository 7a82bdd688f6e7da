//! The counter of `haft tools --tokens` as a program of its own, for `bench/code`: a JSON list of texts on standard
//! input, a JSON list of their lengths in o200k tokens on standard output.

use std::io;

fn main() -> anyhow::Result<()> {
    let texts: Vec<String> = serde_json::from_reader(io::stdin().lock())?;
    let encoder = tiktoken_rs::o200k_base()?;
    let counts: Vec<usize> = texts.iter().map(|text| encoder.encode_ordinary(text).len()).collect();
    serde_json::to_writer(io::stdout().lock(), &counts)?;
    Ok(())
}
