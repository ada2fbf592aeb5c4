//! A fence around code that may panic on hostile bytes.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Runs the function; a panic inside becomes `None` and prints nothing.
///
/// The Parquet reader asserts on files that lie about themselves. Such a file is bad input, which must give an
/// error with a place, not a crash. What the function works on must be thrown away after a panic.
pub(super) fn without_panic<T>(function: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !FENCED.get() {
                before(info);
            }
        }));
    });
    let outer = FENCED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(function));
    FENCED.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_none() {
        assert_eq!(without_panic(|| 1), Some(1));
        let empty: Vec<u8> = Vec::new();
        assert_eq!(without_panic(|| empty[empty.len()]), None);
        assert!(!FENCED.get());
    }
}
