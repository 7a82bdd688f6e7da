//! An MCP server over stdio that is nothing but the SDK and one `read` tool.
//!
//! `bare-rmcp DIR` answers `read {"path": "…"}` with the text of the file at that
//! path in DIR. It trusts its caller completely and is for measuring only.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, object,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;

struct Reader {
    root: PathBuf,
    input_schema: Arc<JsonObject>,
}

impl Reader {
    fn new(root: PathBuf) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "path of the file"}},
            "required": ["path"],
        });
        Self {
            root,
            input_schema: Arc::new(object(schema)),
        }
    }
}

impl ServerHandler for Reader {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let read = Tool::new(
            "read",
            "Returns the text of a file.",
            Arc::clone(&self.input_schema),
        );
        Ok(ListToolsResult::with_all_items(vec![read]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "read" {
            return Err(ErrorData::invalid_params(
                format!("unknown tool {}", request.name),
                None,
            ));
        }
        let path = request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("path")?.as_str());
        let Some(path) = path else {
            return Err(ErrorData::invalid_params("path must be a string", None));
        };
        // A blocking read of a small cached file is the cheapest there is; handing
        // it to another thread would only make the floor higher.
        let result = match std::fs::read_to_string(self.root.join(path)) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).ok_or("usage: bare-rmcp DIR")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = Reader::new(root.into())
            .serve(rmcp::transport::stdio_pipes())
            .await?;
        server.waiting().await?;
        Ok(())
    })
}
