//! Commands as their author hid them, written out.
