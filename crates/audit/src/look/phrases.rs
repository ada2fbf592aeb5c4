//! What people say to graders, in the languages that graders read.
