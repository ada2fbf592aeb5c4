//! Programs that end with everything they started.
//!
//! Models, scorers, tools and git are programs of others. Each is started in a process group of its own, and that group is
//! killed as a whole: at its end, when its time is up, and when whoever waits for it goes away.
//!
//! - [`Group`] is such a group, [`Ends`] hears that its leader has ended;
//! - [`pipe`] reads and writes what may be gone.

mod group;
pub mod pipe;

pub use group::{Ends, Group};
