//! The steps of a scenario.

use std::fmt;

use serde::Serialize;

use super::PlanError;

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Step {
    /// A node joins.
    Add {
        /// Its name.
        name: String,
        /// Its weight.
        weight: u32,
    },
    /// A node leaves.
    Remove {
        /// Its name.
        name: String,
    },
    /// A weight changes.
    Weight {
        /// The node.
        name: String,
        /// Its new weight.
        weight: u32,
    },
}

impl Step {
    pub(super) fn parse(text: &str) -> Result<Self, PlanError> {
        let problem = || PlanError::Setting {
            name: "scenario.steps",
            what: format!(
                "`{text}` is not `add NAME`, `add NAME WEIGHT`, `remove NAME` or `weight NAME WEIGHT`"
            ),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let weight = |word: &str| word.parse::<u32>().map_err(|_| problem());
        match words[..] {
            ["add", name] => Ok(Self::Add { name: name.to_owned(), weight: 1 }),
            ["add", name, w] => Ok(Self::Add { name: name.to_owned(), weight: weight(w)? }),
            ["remove", name] => Ok(Self::Remove { name: name.to_owned() }),
            ["weight", name, w] => Ok(Self::Weight { name: name.to_owned(), weight: weight(w)? }),
            _ => Err(problem()),
        }
    }

    /// The word in the `event` column.
    #[must_use]
    pub fn event(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Weight { .. } => "weight",
        }
    }
}

impl fmt::Display for Step {
    /// The step as it stands in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { name, weight: 1 } => write!(f, "add {name}"),
            Self::Add { name, weight } => write!(f, "add {name} {weight}"),
            Self::Remove { name } => write!(f, "remove {name}"),
            Self::Weight { name, weight } => write!(f, "weight {name} {weight}"),
        }
    }
}
