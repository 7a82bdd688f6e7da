//! One bus for all that happens.

mod bus;

pub use bus::{Bus, EventStream};
