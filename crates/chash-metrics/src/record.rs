//! Columns and values: what every CSV of a run is made of.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number, at least 0.
    Integer,
    /// A decimal number, finite.
    Real,
}

/// How far a file repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Byte-identical for one seed on any machine, thread count and run.
    Deterministic,
    /// The same for one target and toolchain.
    Repeatable,
    /// Different at every run.
    Timing,
}

/// One column of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// snake_case, with the unit as a suffix where there is one.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The unit, or empty for a plain number or text.
    pub unit: &'static str,
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

impl Column {
    /// A column of text.
    #[must_use]
    pub const fn text(name: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Text, unit: "", meaning }
    }

    /// A column of whole numbers.
    #[must_use]
    pub const fn integer(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Integer, unit, meaning }
    }

    /// A column of decimal numbers.
    #[must_use]
    pub const fn real(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Real, unit, meaning }
    }
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// A decimal number, written so that reading it back gives the same value.
    Real(f64),
    /// A decimal number from a special function, written with 6 significant digits, because its last
    /// digits may differ between implementations.
    Special(f64),
    /// Not measured, or not applicable.
    Missing,
}

/// The fields of one observation, in the order of its columns.
pub type Row = Vec<Value>;

impl Value {
    /// The field as it stands in a CSV: plain digits, `.` as the decimal point, empty where missing.
    ///
    /// A number that is not finite is missing: it could only mean that the quantity is not defined.
    ///
    /// ```
    /// use chash_metrics::record::Value;
    /// assert_eq!(Value::Real(0.1).to_field(), "0.1");
    /// assert_eq!(Value::Special(0.123456789).to_field(), "0.123457");
    /// assert_eq!(Value::Real(f64::NAN).to_field(), "");
    /// ```
    #[must_use]
    pub fn to_field(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) if number.is_finite() => number.to_string(),
            Self::Special(number) if number.is_finite() => {
                format!("{number:.5e}").parse().map_or(String::new(), |rounded: f64| rounded.to_string())
            }
            Self::Real(_) | Self::Special(_) | Self::Missing => String::new(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}
