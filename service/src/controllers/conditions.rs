//! Lists of conditions, one of a type.

/// What a list of conditions needs to know of one.
pub trait Listed {
    /// Whether both are of the same type.
    fn is_type_of(&self, other: &Self) -> bool;
    /// Whether both have the same status.
    fn has_status_of(&self, other: &Self) -> bool;
    /// Takes the moment of the last transition from the one before.
    fn keep_transition_of(&mut self, before: &Self);
}

/// Puts `condition` where the one of its type is, or at the end. The moment of its last transition stays unless its status is another.
pub fn set<C: Listed>(list: &mut Vec<C>, mut condition: C) {
    let Some(before) = list.iter_mut().find(|before| before.is_type_of(&condition)) else {
        list.push(condition);
        return;
    };
    if before.has_status_of(&condition) {
        condition.keep_transition_of(before);
    }
    *before = condition;
}
