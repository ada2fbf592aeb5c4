//! What takes several processes.

<<<<<<< HEAD
=======
// The attribute tells clippy that helpers here are tests too.
>>>>>>> cache
#[cfg(test)]
mod cache;
