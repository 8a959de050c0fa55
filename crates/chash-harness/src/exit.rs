//! How a command can end, and the exit status of each.

use std::io;
use std::process::ExitCode;

use chash_workloads::input::{InputError, Problem};
use thiserror::Error;

/// Why a command did not do what was asked.
#[derive(Debug, Error)]
pub enum Failure {
    /// A check or a row failed; what failed has been shown.
    #[error("{0}")]
    Check(String),
    /// Wrong use or input.
    #[error("{0}")]
    Input(String),
    /// Input or output failed.
    #[error("{0}")]
    InputOutput(String),
    /// Interrupted by the user.
    #[error("interrupted{0}")]
    Interrupted(String),
    /// Whoever read the output has gone: no error, and nobody to tell.
    #[error("broken pipe")]
    BrokenPipe,
}

impl Failure {
    /// Wrong use or input, with the whole chain of causes on one line.
    pub fn input(error: impl std::error::Error) -> Self {
        Self::Input(chain(&error))
    }

    /// A failure to write `what`; a closed pipe is no failure.
    #[must_use]
    pub fn output(what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::InputOutput(format!("{what}: {error}"))
        }
    }

    /// As [`output`](Self::output), for a CSV writer's error.
    #[must_use]
    pub fn csv_output(what: &str, error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Self::output(what, &error),
            other => Self::InputOutput(format!("{what}: {other:?}")),
        }
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::BrokenPipe => 0,
            Self::Check(_) => 1,
            Self::Input(_) => 2,
            Self::InputOutput(_) => 3,
            Self::Interrupted(_) => 130,
        })
    }
}

impl From<InputError> for Failure {
    /// What is wrong with a file's content, or with its name, is wrong input; a file that is there and
    /// cannot be read is a failure of input.
    fn from(error: InputError) -> Self {
        match &error.problem {
            Problem::Unreadable { kind, .. } if *kind != io::ErrorKind::NotFound => {
                Self::InputOutput(error.to_string())
            }
            _ => Self::input(error),
        }
    }
}

/// An error and its causes, `: ` between them, on one line; a cause that its error already tells is not repeated.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text.replace('\n', " ")
}
