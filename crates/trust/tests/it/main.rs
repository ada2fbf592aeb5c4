//! What takes several processes.

#[cfg(test)]
mod cache;
