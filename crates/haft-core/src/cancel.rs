//! The token that ends a call early.

use tokio_util::sync::CancellationToken;

/// Fires on the user's interrupt, on the tool's timeout, and when the run ends.
#[derive(Debug, Clone, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    /// A token of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that fires with this one, and can fire alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Fires it, and all its children.
    pub fn fire(&self) {
        self.0.cancel();
    }

    /// Whether it has fired.
    pub fn is_fired(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it fires.
    pub async fn fired(&self) {
        self.0.cancelled().await;
    }
}
