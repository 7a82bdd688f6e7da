//! The engine for scripts, and code mode on it.

use super::App;
use haft_core::{AnyTool, Failure};
use haft_os::OsProcesses;
use haft_script::{CodeSettings, Engine, MEMORY_BYTES, code_tool};
use std::{sync::Arc, time::Duration};

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

impl App {
    /// What starts the children that run scripts: this program again.
    ///
    /// # Errors
    /// The program's own file isn't known.
    pub(crate) fn engine(&self) -> Result<Arc<Engine>, Failure> {
        let processes = Arc::new(OsProcesses::new(self.environment.clone()));
        let memory = self.settings.code.memory_mib.as_ref().map(|set| set.value.saturating_mul(MIB));
        Ok(Arc::new(Engine::of_this_program(processes, memory.unwrap_or(MEMORY_BYTES))?))
    }

    /// The `code` tool, as the settings bound it.
    pub(super) fn code_tool(&self, engine: Arc<Engine>) -> Arc<dyn AnyTool> {
        let (set, usual) = (&self.settings.code, CodeSettings::default());
        let settings = CodeSettings {
            timeout: set.timeout_ms.as_ref().map_or(usual.timeout, |set| Duration::from_millis(set.value)),
            calls: set.calls.as_ref().map_or(usual.calls, |set| set.value),
            at_once: set.at_once.as_ref().map_or(usual.at_once, |set| set.value),
            output_bytes: set
                .output_bytes
                .as_ref()
                .map_or(usual.output_bytes, |set| usize::try_from(set.value).unwrap_or(usize::MAX)),
        };
        code_tool(engine, settings)
    }
}
