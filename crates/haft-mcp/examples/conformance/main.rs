//! A server with just the tools, prompts and resources that the official conformance suite asks for, made of this crate.
//! The suite runs against it, and against haft in front of it: see `bench/conformance`.
//!
//!     cargo run -p haft-mcp --example conformance                          over standard input and output
//!     cargo run -p haft-mcp --example conformance -- --http 127.0.0.1:0    over HTTP; says where
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a fixture fails by panicking and says where it listens; what isn't there in JSON is null"
)]

mod asks;
mod behind;
mod sample;
mod tool;
mod tools;

use behind::Behind;
use futures::stream::unfold;
use haft_mcp::{Fronts, HttpSetup, McpServer, ServerInfo};
use haft_test::Harness;
use std::{error::Error, future::pending};
use tokio::net::TcpListener;
use tool::Stage;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (harness, fronts) = (Harness::new(), Fronts::new());
    let stage = Stage::new(harness.catalogue().clone(), fronts.clone(), Behind::new());
    for tool in tools::all(&stage) {
        harness.register(tool);
    }
    let info = ServerInfo::new("conformance-fixture", env!("CARGO_PKG_VERSION"));
    let server = McpServer::new(harness.executor().clone(), harness.session().clone(), info)
        .with_upstreams(stage.behind.clone())
        .with_fronts(fronts);
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => server.serve(tokio::io::stdin(), tokio::io::stdout()).await?,
        [flag, address] if flag == "--http" => over_http(server, address).await?,
        _ => return Err("usage: conformance [--http ADDRESS]".into()),
    }
    Ok(())
}

/// Serves whoever can connect, until it is killed.
async fn over_http(server: McpServer, address: &str) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    println!("listening at http://{}/mcp", listener.local_addr()?);
    let connections = unfold(listener, |listener| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    server.serve_http(connections, HttpSetup::without_token(), pending()).await;
    Ok(())
}
