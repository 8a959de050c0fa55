//! Where an input comes from.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{InputError, Problem};

/// An input that has been opened and not yet read.
///
/// ```
/// use chash_workloads::input::{InputError, Problem, Source};
/// use std::path::Path;
///
/// let error = Source::open(Path::new("no/such/file")).unwrap_err();
/// assert_eq!(error.input, "no/such/file");
/// assert!(matches!(error.problem, Problem::Unreadable { kind: std::io::ErrorKind::NotFound, .. }));
/// ```
pub struct Source {
    pub(super) name: String,
    pub(super) reader: Box<dyn Read + Send>,
}

impl Source {
    /// A file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self::from_reader(name, file)),
            Err(error) => Err(InputError { input: name, problem: unreadable(&error) }),
        }
    }

    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        Self::from_reader("standard input", io::stdin())
    }

    /// Anything that can be read, with a name for messages. It need not be buffered.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self { name: name.into(), reader: Box::new(reader) }
    }

    /// The path, or what else the input is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An error of the system, as distinct from one of a decompressor.
pub(super) fn unreadable(error: &io::Error) -> Problem {
    Problem::Unreadable { kind: error.kind(), message: error.to_string() }
}
