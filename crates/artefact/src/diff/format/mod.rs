//! How a comparison is shown.
