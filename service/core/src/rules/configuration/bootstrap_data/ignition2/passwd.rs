//! Users and groups.

use serde_json::{Map, Value};

use super::object::Holds::{self, AnyText, Flag, Number, Set, Text};
use super::object::{Object, put};
use crate::rules::bootstrap_data::refused::Refused;

/// Members that specification 2 also has in `create`.
const CREATED: [(&str, Holds); 10] = [
    ("gecos", Text),
    ("groups", Set),
    ("homeDir", Text),
    ("noCreateHome", Flag),
    ("noLogInit", Flag),
    ("noUserGroup", Flag),
    ("primaryGroup", Text),
    ("shell", Text),
    ("system", Flag),
    ("uid", Number),
];

pub(super) fn passwd(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let users = from.objects("users")?.into_iter().map(user);
    let users = users.collect::<Result<Vec<_>, _>>()?;
    let groups = from.objects("groups")?.into_iter().map(group);
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    from.end()?;
    let mut to = Map::new();
    put(&mut to, "users", users);
    put(&mut to, "groups", groups);
    Ok(to)
}

fn user(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(
        &[
            ("name", Text),
            // An empty one locks the account.
            ("passwordHash", AnyText),
            ("sshAuthorizedKeys", Set),
        ],
        &mut to,
    )?;
    from.moved(&CREATED, &mut to)?;
    if let Some(mut create) = from.object("create")? {
        let mut created = Map::new();
        create.moved(&CREATED, &mut created)?;
        for (name, value) in created {
            if to.get(&name).is_some_and(|given| *given != value) {
                return Err(create.refused(
                    &name,
                    "is not what the user has outside of create; keep one of the two",
                ));
            }
            to.insert(name, value);
        }
        create.end()?;
    }
    from.end()?;
    Ok(to)
}

fn group(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(
        &[
            ("gid", Number),
            ("name", Text),
            ("passwordHash", AnyText),
            ("system", Flag),
        ],
        &mut to,
    )?;
    from.end()?;
    Ok(to)
}
