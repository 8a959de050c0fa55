//! Specs: `name` or `name:param=value,param=value`, read against a table of what is allowed.
//!
//! One syntax serves algorithms, workloads and hash functions. A spec that is accepted is also
//! written back in its canonical form, with every default in place, so that equal specs are equal text.

use std::fmt;

use thiserror::Error;

/// One parameter of an algorithm, workload or hash function.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: ParamKind,
    /// Its value where none is given; read like any other value.
    pub default: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum ParamKind {
    /// A whole number from `min` to `max`.
    Integer {
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A decimal number, read exactly as written, from `min` to `max`.
    Decimal {
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A seed: a whole number, or `run` for one drawn from the run's seed and the repetition.
    Seed,
    /// The name of another algorithm, whose parameters follow with this parameter's name and a dot in front.
    Algorithm,
    /// Text of a form that these words state; what reads it decides. A comma ends it, as it ends every value.
    Text(&'static str),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max: u64::MAX } => write!(f, "a whole number from {min}"),
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Decimal { min, max } if max.is_infinite() => write!(f, "a decimal number from {min}"),
            Self::Decimal { min, max } => write!(f, "a decimal number from {min} to {max}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Seed => f.write_str("a whole number, or `run`"),
            Self::Algorithm => f.write_str("the name of an algorithm with replicas"),
            Self::Text(form) => write!(f, "text without commas: {form}"),
        }
    }
}

/// A named family of specs: what the parser needs to know of an algorithm or workload.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name before the colon.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
}

/// A list of families that a spec is read against.
#[derive(Clone, Copy, Debug)]
pub struct Families {
    /// What is listed, for messages: `algorithm`, `workload`, …
    pub what: &'static str,
    /// All of them.
    pub get: fn() -> Vec<Family>,
    /// Which names may stand in an [`ParamKind::Algorithm`] parameter.
    pub inner: fn(&str) -> bool,
}

/// A spec with every parameter resolved, in the order of the family's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The family's name.
    pub name: &'static str,
    values: Vec<(&'static str, String)>,
    /// The parameter that names another algorithm, and that algorithm's own spec.
    inner: Option<(&'static str, Box<Spec>)>,
}

/// Why a spec was refused. The message is complete: what, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SpecError(String);

impl SpecError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl Spec {
    /// Reads a spec against the families.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, a value out of range, a parameter given twice, text that is not
    /// `name:param=value,…`.
    pub fn parse(text: &str, families: &Families) -> Result<Self, SpecError> {
        let (name, rest) = match text.split_once(':') {
            Some((_, "")) => {
                return Err(SpecError(format!(
                    "{} `{text}`: a parameter must follow the colon, as in `name:param=value`",
                    families.what
                )));
            }
            Some((name, rest)) => (name, rest),
            None => (text, ""),
        };
        let mut given = Vec::new();
        for part in rest.split(',').filter(|_| !rest.is_empty()) {
            let (param, value) = part.split_once('=').ok_or_else(|| {
                SpecError(format!("{} `{text}`: `{part}` is not `param=value`", families.what))
            })?;
            if given.iter().any(|(earlier, _)| *earlier == param) {
                return Err(SpecError(format!(
                    "{} `{text}`: parameter `{param}` is given twice",
                    families.what
                )));
            }
            given.push((param, value));
        }
        Self::resolve(name, given, text, families, 0)
    }

    fn resolve(
        name: &str,
        mut given: Vec<(&str, &str)>,
        text: &str,
        families: &Families,
        depth: usize,
    ) -> Result<Self, SpecError> {
        let what = families.what;
        let all = (families.get)();
        let Some(family) = all.iter().find(|family| family.name == name) else {
            let names: Vec<&str> = all.iter().map(|family| family.name).collect();
            return Err(SpecError(format!("unknown {what} `{name}`{}", choices(name, &names))));
        };
        let mut spec = Self { name: family.name, values: Vec::new(), inner: None };
        for param in family.params {
            let value = match given.iter().position(|(given_name, _)| *given_name == param.name) {
                Some(at) => given.remove(at).1,
                None => param.default,
            };
            let problem = |error: String| {
                SpecError(format!(
                    "{what} `{text}`: parameter `{}` must be {}, not `{value}`{error}",
                    param.name, param.kind
                ))
            };
            let canonical = canonical(param.kind, value).ok_or_else(|| problem(String::new()))?;
            if matches!(param.kind, ParamKind::Algorithm) {
                let names: Vec<&str> =
                    all.iter().map(|f| f.name).filter(|name| (families.inner)(name)).collect();
                if depth > 0 || !names.contains(&value) {
                    return Err(problem(choices(value, &names)));
                }
                let prefix = format!("{}.", param.name);
                let (inside, outside): (Vec<_>, Vec<_>) =
                    given.into_iter().partition(|(name, _)| name.starts_with(&prefix));
                given = outside;
                let inside = inside.into_iter().map(|(name, value)| (&name[prefix.len()..], value)).collect();
                spec.inner =
                    Some((param.name, Box::new(Self::resolve(value, inside, text, families, depth + 1)?)));
            }
            spec.values.push((param.name, canonical));
        }
        if let Some((unknown, _)) = given.first() {
            let names: Vec<&str> = family.params.iter().map(|param| param.name).collect();
            return Err(SpecError(format!(
                "{what} `{name}` has no parameter `{unknown}`{}",
                choices(unknown, &names)
            )));
        }
        Ok(spec)
    }

    /// A parameter's value as it stands in the canonical spec.
    ///
    /// # Panics
    ///
    /// If the family has no such parameter: a mistake in the registry.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        let value = self.values.iter().find(|(param, _)| *param == name);
        &value.unwrap_or_else(|| panic!("{} has no parameter {name}", self.name)).1
    }

    /// Every parameter with its value, in the order of the family's table.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// A whole-number parameter.
    ///
    /// # Panics
    ///
    /// If the family has no such parameter, or it is not a whole number.
    #[must_use]
    pub fn integer<T: TryFrom<u64>>(&self, name: &str) -> T {
        let number = self.text(name).parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.unwrap_or_else(|| panic!("parameter {name} of {} is not in the range of its table", self.name))
    }

    /// A decimal parameter, as the nearest double.
    ///
    /// # Panics
    ///
    /// As [`integer`](Self::integer).
    #[must_use]
    pub fn decimal(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("parameter {name} of {} is not decimal", self.name))
    }

    /// The seed of this placement: its own where one is pinned, otherwise the run's.
    #[must_use]
    pub fn seed_or(&self, run: u64) -> u64 {
        self.values
            .iter()
            .find(|(name, _)| *name == "seed")
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(run)
    }

    /// The spec with only what differs from the defaults of its family: for tables that people read.
    #[must_use]
    pub fn brief(&self, families: &Families) -> String {
        fn collect(spec: &Spec, prefix: &str, all: &[Family], parts: &mut Vec<String>) {
            let family = all.iter().find(|family| family.name == spec.name);
            let params = family.map_or(&[][..], |family| family.params);
            for ((name, value), param) in spec.values.iter().zip(params) {
                if canonical(param.kind, param.default).as_ref() != Some(value) {
                    parts.push(format!("{prefix}{name}={value}"));
                }
                if let Some((_, inner)) = spec.inner.as_ref().filter(|(param, _)| param == name) {
                    collect(inner, &format!("{prefix}{name}."), all, parts);
                }
            }
        }
        let mut parts = Vec::new();
        collect(self, "", &(families.get)(), &mut parts);
        let colon = if parts.is_empty() { "" } else { ":" };
        format!("{}{colon}{}", self.name, parts.join(","))
    }

    /// The spec of the placement inside, for `bounded`.
    ///
    /// # Panics
    ///
    /// If the family names no other algorithm.
    #[must_use]
    pub fn inner(&self) -> &Self {
        &self.inner.as_ref().unwrap_or_else(|| panic!("{} has no placement inside", self.name)).1
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn write(spec: &Spec, prefix: &str, first: &mut bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for (name, value) in &spec.values {
                write!(f, "{}{prefix}{name}={value}", if *first { ':' } else { ',' })?;
                *first = false;
                if let Some((_, inner)) = spec.inner.as_ref().filter(|(param, _)| param == name) {
                    write(inner, &format!("{prefix}{name}."), first, f)?;
                }
            }
            Ok(())
        }
        f.write_str(self.name)?;
        write(self, "", &mut true, f)
    }
}

/// The value in its canonical form, or `None` if it is not one.
fn canonical(kind: ParamKind, value: &str) -> Option<String> {
    match kind {
        ParamKind::Integer { min, max } => {
            let number = whole(value)?;
            (min..=max).contains(&number).then(|| number.to_string())
        }
        ParamKind::Decimal { min, max } => {
            let text = plain_decimal(value)?;
            let number: f64 = text.parse().ok()?;
            (min..=max).contains(&number).then_some(text)
        }
        ParamKind::Choice(words) => words.contains(&value).then(|| value.to_owned()),
        ParamKind::Seed if value == "run" => Some(value.to_owned()),
        ParamKind::Seed => whole(value).map(|seed| seed.to_string()),
        ParamKind::Algorithm | ParamKind::Text(_) => Some(value.to_owned()),
    }
}

/// A whole number in decimal digits only: no sign, no spaces.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Digits, with at most one point between digits, without the zeros that change nothing.
fn plain_decimal(text: &str) -> Option<String> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole_part) || !digits(fraction) {
        return None;
    }
    let (whole_part, fraction) = (whole_part.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole_part = if whole_part.is_empty() { "0" } else { whole_part };
    Some(if fraction.is_empty() { whole_part.to_owned() } else { format!("{whole_part}.{fraction}") })
}

/// `; did you mean …? known: …`, as the end of a message about an unknown word.
pub(crate) fn choices(word: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "; it has none".to_owned();
    }
    let nearest = known.iter().min_by_key(|candidate| edit_distance(word, candidate));
    let suggestion = nearest
        .filter(|candidate| edit_distance(word, candidate) <= 1 + word.len() / 3)
        .map_or(String::new(), |candidate| format!("; did you mean `{candidate}`?"));
    format!("{suggestion} (known: {})", known.join(", "))
}

/// The number of insertions, deletions and substitutions that turn one word into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILIES: Families = Families {
        what: "algorithm",
        get: || {
            const SEED: ParamSpec =
                ParamSpec { name: "seed", kind: ParamKind::Seed, default: "run", meaning: "the seed" };
            const RING: &[ParamSpec] = &[
                ParamSpec {
                    name: "vnodes",
                    kind: ParamKind::Integer { min: 1, max: 1000 },
                    default: "160",
                    meaning: "points",
                },
                ParamSpec {
                    name: "hash",
                    kind: ParamKind::Choice(&["xxh3", "md5"]),
                    default: "xxh3",
                    meaning: "hash",
                },
                SEED,
            ];
            const BOUNDED: &[ParamSpec] = &[
                ParamSpec {
                    name: "factor",
                    kind: ParamKind::Decimal { min: 1.0, max: 1000.0 },
                    default: "1.25",
                    meaning: "factor",
                },
                ParamSpec { name: "over", kind: ParamKind::Algorithm, default: "ring", meaning: "inner" },
            ];
            vec![
                Family { name: "ring", params: RING },
                Family { name: "bounded", params: BOUNDED },
                Family { name: "null", params: &[] },
            ]
        },
        inner: |name| name == "ring",
    };

    fn canonical(text: &str) -> String {
        Spec::parse(text, &FAMILIES).unwrap().to_string()
    }

    fn error(text: &str) -> String {
        Spec::parse(text, &FAMILIES).unwrap_err().to_string()
    }

    #[test]
    fn canonical_form_has_every_default() {
        assert_eq!(canonical("ring"), "ring:vnodes=160,hash=xxh3,seed=run");
        assert_eq!(canonical("ring:hash=md5,vnodes=007"), "ring:vnodes=7,hash=md5,seed=run");
        assert_eq!(canonical("null"), "null");
        let bounded = "bounded:factor=1.1,over=ring,over.vnodes=20,over.hash=xxh3,over.seed=run";
        assert_eq!(canonical("bounded:over.vnodes=20,factor=1.10"), bounded);
        assert_eq!(canonical(bounded), bounded);
    }

    #[test]
    fn the_brief_form_leaves_defaults_out_and_reads_back() {
        for text in ["ring", "ring:vnodes=7,hash=md5", "bounded:factor=2,over.vnodes=20", "null"] {
            let spec = Spec::parse(text, &FAMILIES).unwrap();
            assert_eq!(spec.brief(&FAMILIES), text);
        }
        assert_eq!(Spec::parse("ring:vnodes=0160", &FAMILIES).unwrap().brief(&FAMILIES), "ring");
    }

    #[test]
    fn a_mistake_is_named_with_what_would_be_right() {
        assert_eq!(
            error("rinq"),
            "unknown algorithm `rinq`; did you mean `ring`? (known: ring, bounded, null)"
        );
        assert_eq!(
            error("ring:vnode=5"),
            "algorithm `ring` has no parameter `vnode`; did you mean `vnodes`? (known: vnodes, hash, seed)"
        );
        assert_eq!(
            error("ring:vnodes=0"),
            "algorithm `ring:vnodes=0`: parameter `vnodes` must be a whole number from 1 to 1000, not `0`"
        );
        assert_eq!(
            error("ring:vnodes=1,vnodes=2"),
            "algorithm `ring:vnodes=1,vnodes=2`: parameter `vnodes` is given twice"
        );
        assert_eq!(error("ring:vnodes"), "algorithm `ring:vnodes`: `vnodes` is not `param=value`");
        assert!(error("ring:").contains("a parameter must follow the colon"));
        assert!(error("bounded:over=bounded").contains("(known: ring)"));
        assert!(error("bounded:over.nodes=3").contains("algorithm `ring` has no parameter `nodes`"));
        assert!(error("null:seed=1").contains("it has none"));
        for factor in ["0.99", "-1", "1e3", "nan", "1.", ".5", "", "+2", " 2"] {
            assert!(error(&format!("bounded:factor={factor}")).contains("`factor` must be"), "{factor}");
        }
        for vnodes in ["-1", "+1", "1.0", "", "99999999999999999999", " 1"] {
            assert!(error(&format!("ring:vnodes={vnodes}")).contains("`vnodes` must be"), "{vnodes}");
        }
    }

    #[test]
    fn a_pinned_seed_wins() {
        assert_eq!(Spec::parse("ring:seed=9", &FAMILIES).unwrap().seed_or(4), 9);
        assert_eq!(Spec::parse("ring", &FAMILIES).unwrap().seed_or(4), 4);
    }
}
