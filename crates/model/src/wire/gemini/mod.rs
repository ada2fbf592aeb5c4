//! Gemini's generateContent.
