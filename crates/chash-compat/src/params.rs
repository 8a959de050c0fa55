//! Parameters of systems, described as data and read from text.

use core::fmt::Debug;

use chash_core::{BuildError, KeyHasher};

/// One parameter of a system: enough to list it, to check a value and to explain a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamSpec {
    /// Its name in a spec, in snake case.
    pub name: &'static str,
    /// The default as it would be written.
    pub default: &'static str,
    /// The values it takes.
    pub values: ParamValues,
    /// What a value must be, in words: the requirement of [`BuildError::Parameter`].
    pub requirement: &'static str,
    /// What it means.
    pub summary: &'static str,
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamValues {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number from the first to the second, both included.
    Integer(u64, u64),
    /// Text, of a form that the requirement states.
    Text,
}

impl ParamSpec {
    pub(crate) const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        requirement: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, default: words[0], values: ParamValues::Choice(words), requirement, summary }
    }

    pub(crate) const fn integer(
        name: &'static str,
        default: &'static str,
        (least, most): (u64, u64),
        requirement: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, default, values: ParamValues::Integer(least, most), requirement, summary }
    }

    pub(crate) const fn text(
        name: &'static str,
        default: &'static str,
        requirement: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, default, values: ParamValues::Text, requirement, summary }
    }

    const fn error(&self) -> BuildError {
        BuildError::Parameter { name: self.name, requirement: self.requirement }
    }
}

/// The parameters of a system: read from text against their specs, and the hasher of its keys.
pub trait SystemParams: KeyHasher + Clone + Default + Debug + Send + Sync + 'static {
    /// The parameters, in the order in which they are listed.
    const SPECS: &'static [ParamSpec];

    /// Reads the values; what is not given has its default.
    ///
    /// # Errors
    ///
    /// `Parameter` for the first value out of range.
    fn from_values(values: &Values<'_>) -> Result<Self, BuildError>;

    /// The heap bytes the parameters hold.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Parameter values as text, paired with the specs they belong to.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    specs: &'static [ParamSpec],
    given: &'a [(&'a str, &'a str)],
}

impl<'a> Values<'a> {
    /// Pairs names and texts with their specs.
    ///
    /// # Errors
    ///
    /// `Parameter` for a name that no spec has, or that is given twice.
    pub fn new(specs: &'static [ParamSpec], given: &'a [(&'a str, &'a str)]) -> Result<Self, BuildError> {
        let known = given.iter().all(|(name, _)| specs.iter().any(|spec| spec.name == *name));
        let once = given.iter().enumerate().all(|(i, (name, _))| given[..i].iter().all(|(n, _)| n != name));
        if known && once {
            Ok(Self { specs, given })
        } else {
            Err(BuildError::Parameter {
                name: "parameters",
                requirement: "names of the system's list, each once",
            })
        }
    }

    fn spec(&self, name: &str) -> &'static ParamSpec {
        self.specs.iter().find(|spec| spec.name == name).expect("a system reads the parameters it lists")
    }

    /// The text given, or the default.
    pub(crate) fn text(&self, name: &str) -> &'a str {
        let given = self.given.iter().find(|(given, _)| *given == name);
        given.map_or_else(|| self.spec(name).default, |(_, text)| text)
    }

    /// The value of a parameter that is a choice; `values` stand in the order of its words.
    pub(crate) fn choice<T: Copy>(&self, name: &str, values: &[T]) -> Result<T, BuildError> {
        let spec = self.spec(name);
        let ParamValues::Choice(words) = spec.values else { unreachable!("{name} is a choice") };
        debug_assert_eq!(words.len(), values.len(), "{name} has as many values as words");
        let text = self.text(name);
        words.iter().position(|word| *word == text).map(|index| values[index]).ok_or(spec.error())
    }

    /// The value of a parameter that is `no` or `yes`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, BuildError> {
        self.choice(name, &[false, true])
    }

    /// The value of a parameter that is a whole number.
    pub(crate) fn integer<T: TryFrom<u64>>(&self, name: &str) -> Result<T, BuildError> {
        let spec = self.spec(name);
        let ParamValues::Integer(least, most) = spec.values else { unreachable!("{name} is a number") };
        let value = self.text(name).parse().ok().filter(|value| (least..=most).contains(value));
        value.and_then(|value| T::try_from(value).ok()).ok_or(spec.error())
    }

    /// The error that refuses a parameter's value.
    pub(crate) fn refused(&self, name: &str) -> BuildError {
        self.spec(name).error()
    }
}

/// The words of a yes-or-no parameter that is off by default.
pub(crate) const NO_YES: &[&str] = &["no", "yes"];

/// The parameters with every default: the body of their `Default`.
pub(crate) fn defaults<P: SystemParams>() -> P {
    let values = Values { specs: P::SPECS, given: &[] };
    P::from_values(&values).expect("every default is within its range")
}
