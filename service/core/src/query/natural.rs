//! Orders texts with numbers in them as people do.

use std::cmp::Ordering;

/// Compares runs of digits by their value, and letters of ASCII without regard to case: `node-2` is before `node-10`. Only equal texts
/// compare as equal, so that the order is total.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (left.first(), right.first()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (take_number(&mut left), take_number(&mut right));
            m.len().cmp(&n.len()).then_with(|| m.cmp(n))
        } else {
            let order = x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase());
            (left, right) = (&left[1..], &right[1..]);
            order
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the digits that `text` begins with, and returns them without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_compared_by_their_value() {
        let sorted = [
            "",
            "-",
            "0",
            "00",
            "01",
            "1",
            "2",
            "10",
            "52-54-00",
            "99999999999999999999999999999998",
            "99999999999999999999999999999999",
            ":",
            "a",
            "NODE-2",
            "node-2",
            "node-2a",
            "node-10",
            "node-10-2",
            "node-10-10",
            "node.1",
            "é",
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(natural_order(one, other), at.cmp(&other_at), "{one:?} {other:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total(texts in proptest::collection::vec("[aAb0-2.é-]{0,5}", 3)) {
            let [a, b, c] = [&texts[0], &texts[1], &texts[2]];
            prop_assert_eq!(natural_order(a, b), natural_order(b, a).reverse());
            prop_assert_eq!(natural_order(a, b).is_eq(), a == b);
            if natural_order(a, b).is_le() && natural_order(b, c).is_le() {
                prop_assert!(natural_order(a, c).is_le());
            }
        }
    }
}
