//! What a registration gives back.

/// Keeps a tool registered; disposing it removes only that registration.
#[must_use = "the tool is gone when this is dropped; call keep() to leave it for good"]
pub struct Handle {
    dispose: Option<Box<dyn FnOnce() + Send>>,
}

impl Handle {
    pub(super) fn new(dispose: impl FnOnce() + Send + 'static) -> Self {
        Self { dispose: Some(Box::new(dispose)) }
    }

    /// Leaves the tool registered for good.
    pub fn keep(mut self) {
        self.dispose = None;
    }

    /// Removes the registration; what it covered shows again. Twice is harmless.
    pub fn dispose(&mut self) {
        if let Some(dispose) = self.dispose.take() {
            dispose();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.dispose();
    }
}
