//! How much a package may hold.

/// The largest file that a ustar header can tell: eleven octal digits.
pub const LARGEST_FILE: u64 = (8 << 30) - 1;

/// Bounds of a package, for whoever writes one as for whoever opens one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files and folders together, as an archive lists them. A run of pictures has one file for each.
    pub entries: u64,
    /// Folders, listed or only named on the way to a file. Each is looked up for every file under it.
    pub folders: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// How many times its own size a packed archive may grow to. Text packs by 10 to 40 times.
    pub ratio: u64,
    /// What a packed archive may grow to whatever its size: a small one of repetitive text packs very well.
    pub ratio_free_bytes: u64,
    /// What is unpacked for the sake of nobody in particular: in search of the list of files, and of what somebody signed
    /// who is not believed.
    pub unvouched_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 65_536,
            folders: 4_096,
            file_bytes: LARGEST_FILE,
            total_bytes: 64 << 30,
            ratio: 250,
            ratio_free_bytes: 16 << 20,
            unvouched_bytes: 256 << 20,
        }
    }
}
