//! artefact
