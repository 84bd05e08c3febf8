//! Types of CEL, and how they are matched. Source: `cel-go` 0.26 `checker/types.go`.

use std::collections::HashMap;
use std::fmt;

/// A type of CEL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Any type; checked when the rule runs.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// The type of a type.
    Class(Box<Type>),
    /// An object of the schema by its place, such as `self.spec`.
    Object(String),
    /// A type of a library, such as `net.IP`.
    Named(String),
    /// A type parameter of a declaration.
    Parameter(String),
    /// A type that is not known yet.
    Variable(u32),
}

impl Type {
    pub fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    pub fn map(keys: Self, values: Self) -> Self {
        Self::Map(Box::new(keys), Box::new(values))
    }

    pub fn optional(of: Self) -> Self {
        Self::Optional(Box::new(of))
    }

    /// The type without `optional`, and whether it was there.
    pub fn unwrapped(self) -> (Self, bool) {
        match self {
            Self::Optional(of) => (*of, true),
            other => (other, false),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Timestamp
                | Self::Duration
                | Self::Object(_)
                | Self::Named(_)
                | Self::Optional(_)
        )
    }

    /// Reads a type as `facts/cel/functions.tsv` writes it; `<A>` is a parameter.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let inner = |name: &str| {
            text.strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'))
        };
        if let Some(of) = inner("list") {
            return Self::list(Self::parse(of));
        }
        if let Some(of) = inner("optional_type") {
            return Self::optional(Self::parse(of));
        }
        if let Some(of) = inner("type") {
            return Self::Class(Box::new(Self::parse(of)));
        }
        if let Some((keys, values)) = inner("map").and_then(|of| of.split_once(", ")) {
            return Self::map(Self::parse(keys), Self::parse(values));
        }
        match text {
            "dyn" => Self::Dyn,
            "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "google.protobuf.Timestamp" => Self::Timestamp,
            "google.protobuf.Duration" => Self::Duration,
            other => match other.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
                Some(parameter) => Self::Parameter(parameter.to_owned()),
                None => Self::Named(other.to_owned()),
            },
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn | Self::Variable(_) => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::List(of) => return write!(f, "list({of})"),
            Self::Map(keys, values) => return write!(f, "map({keys}, {values})"),
            Self::Optional(of) => return write!(f, "optional_type({of})"),
            Self::Class(of) => return write!(f, "type({of})"),
            Self::Object(name) | Self::Named(name) | Self::Parameter(name) => name,
        };
        f.write_str(name)
    }
}

/// The types that variables were found to be.
#[derive(Debug, Clone, Default)]
pub struct Substitution {
    known: HashMap<u32, Type>,
    next: u32,
}

impl Substitution {
    /// A type that is not known yet.
    pub fn fresh(&mut self) -> Type {
        self.next += 1;
        Type::Variable(self.next)
    }

    /// A declared type with a variable in place of each parameter.
    pub fn instance(&mut self, declared: &Type, parameters: &mut HashMap<String, Type>) -> Type {
        let mut one = |of: &Type| Box::new(self.instance(of, parameters));
        match declared {
            Type::List(of) => Type::List(one(of)),
            Type::Map(keys, values) => Type::Map(one(keys), one(values)),
            Type::Optional(of) => Type::Optional(one(of)),
            Type::Class(of) => Type::Class(one(of)),
            Type::Parameter(name) => match parameters.get(name) {
                Some(known) => known.clone(),
                None => {
                    let fresh = self.fresh();
                    parameters.insert(name.clone(), fresh.clone());
                    fresh
                }
            },
            other => other.clone(),
        }
    }

    /// `of` with the known types of its variables.
    pub fn resolved(&self, of: &Type) -> Type {
        let one = |of: &Type| Box::new(self.resolved(of));
        match of {
            Type::Variable(id) => self
                .known
                .get(id)
                .map_or(of.clone(), |known| self.resolved(known)),
            Type::List(of) => Type::List(one(of)),
            Type::Map(keys, values) => Type::Map(one(keys), one(values)),
            Type::Optional(of) => Type::Optional(one(of)),
            Type::Class(of) => Type::Class(one(of)),
            other => other.clone(),
        }
    }

    /// True when a value of one type can be used where the other is expected; records the resulting types of variables.
    pub fn assignable(&mut self, one: &Type, other: &Type) -> bool {
        self.all_assignable(std::slice::from_ref(one), std::slice::from_ref(other))
    }

    /// [`Self::assignable`] for several pairs; records nothing when one pair does not fit.
    pub fn all_assignable(&mut self, ones: &[Type], others: &[Type]) -> bool {
        let before = self.known.clone();
        let fits =
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| self.fits(one, other));
        if !fits {
            self.known = before;
        }
        fits
    }

    fn fits(&mut self, one: &Type, other: &Type) -> bool {
        match (one, other) {
            (Type::Variable(a), Type::Variable(b)) if a == b => true,
            (_, Type::Variable(id)) => self.substitutes(one, *id),
            (Type::Variable(id), _) => self.substitutes(other, *id),
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::Class(_), Type::Class(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Map(a, b), Type::Map(c, d)) => self.fits(a, c) && self.fits(b, d),
            (one, other) => one == other,
        }
    }

    fn substitutes(&mut self, of: &Type, id: u32) -> bool {
        if let Some(known) = self.known.get(&id).cloned() {
            let fits = self.fits(of, &known);
            if fits {
                let general = self.most_general(of, &known);
                self.bind(id, general);
            }
            return fits;
        }
        self.bind(id, of.clone())
    }

    /// False when the type would be part of itself.
    fn bind(&mut self, id: u32, of: Type) -> bool {
        let is_itself = of == Type::Variable(id);
        if is_itself || self.mentions(&of, id) {
            return is_itself;
        }
        self.known.insert(id, of);
        true
    }

    fn mentions(&self, of: &Type, id: u32) -> bool {
        match of {
            Type::Variable(other) if *other == id => true,
            Type::Variable(other) => self
                .known
                .get(other)
                .is_some_and(|known| self.mentions(known, id)),
            Type::List(of) | Type::Optional(of) | Type::Class(of) => self.mentions(of, id),
            Type::Map(keys, values) => self.mentions(keys, id) || self.mentions(values, id),
            _ => false,
        }
    }

    /// The less specific one of two types that fit each other.
    pub fn most_general(&self, one: &Type, other: &Type) -> Type {
        if Self::says_no_more(one, other) {
            one.clone()
        } else {
            other.clone()
        }
    }

    fn says_no_more(one: &Type, other: &Type) -> bool {
        match (one, other) {
            (Type::Dyn | Type::Variable(_), _) => true,
            (_, Type::Dyn | Type::Variable(_)) => false,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
                Self::says_no_more(a, b)
            }
            (Type::Map(a, b), Type::Map(c, d)) => Self::says_no_more(a, c) && Self::says_no_more(b, d),
            (Type::Class(_), Type::Class(_)) => true,
            (one, other) => one == other,
        }
    }
}
