//! Programs that answer: started, given the prompt, read, and killed as a whole when they take too long.
