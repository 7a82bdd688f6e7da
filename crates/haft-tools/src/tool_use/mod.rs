//! `tool_use`: calls a tool by name, for models that weren't sent its definition.

mod input;
mod tool;

pub(crate) use input::ToolUseInput;
pub(crate) use tool::{ToolUseTool, asked, dispatcher};
