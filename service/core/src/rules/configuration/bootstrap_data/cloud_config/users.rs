//! `users` and `groups`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::refused::Refused;
use super::made::Made;
use super::node::{Members, Node};

const MEMBERS: [&str; 18] = [
    "gecos",
    "groups",
    "hashed_passwd",
    "homedir",
    "inactive",
    "lock_passwd",
    "name",
    "no_create_home",
    "no_log_init",
    "no_user_group",
    "passwd",
    "primary_group",
    "shell",
    "ssh_authorized_keys",
    "sudo",
    "system",
    "uid",
    "plain_text_passwd",
];

/// The rules of sudo, by cloud-init's name for them.
const SUDOERS: &str = "/etc/sudoers.d/90-cloud-init-users";
const SSHD: &str = "/etc/ssh/sshd_config.d/10-cloud-init-users.conf";

/// What is written for all users together.
#[derive(Default)]
struct Common {
    sudoers: String,
    sshd: String,
}

pub(super) fn translate(keys: &Members<'_>, made: &mut Made) -> Result<(), Refused> {
    if let Some(list) = keys.get("groups") {
        groups(&list, made)?;
    }
    let Some(list) = keys.get("users") else {
        return Ok(());
    };
    let mut common = Common::default();
    for item in list.items()? {
        // Images for Ignition have their default user already.
        if item.value() == "default" {
            continue;
        }
        let user = match item.value() {
            Value::String(_) => json!({"name": name(&item)?}),
            _ => user(&item, &mut common)?,
        };
        let is_known = made.users.iter().any(|known| known["name"] == user["name"]);
        if is_known {
            return Err(item.refuse("is there already; keep one entry for each user"));
        }
        made.users.push(user);
    }
    if !common.sudoers.is_empty() {
        made.file(SUDOERS, 0o440, &common.sudoers);
    }
    if !common.sshd.is_empty() {
        made.file(SSHD, 0o600, &common.sshd);
    }
    Ok(())
}

/// Names alone: Ignition has members at the users.
fn groups(list: &Node<'_>, made: &mut Made) -> Result<(), Refused> {
    for item in list.items()? {
        let group = json!({"name": name(&item)?});
        if !made.groups.contains(&group) {
            made.groups.push(group);
        }
    }
    Ok(())
}

fn user(node: &Node<'_>, common: &mut Common) -> Result<Value, Refused> {
    let entry = node.members(&MEMBERS)?;
    let login = name(&entry.need("name")?)?;
    let mut user = json!({ "name": login });
    for (key, member) in [("gecos", "gecos"), ("homedir", "homeDir"), ("shell", "shell")] {
        if let Some(node) = entry.get(key) {
            user[member] = node.line()?.into();
        }
    }
    for (key, member) in [
        ("no_create_home", "noCreateHome"),
        ("no_log_init", "noLogInit"),
        ("no_user_group", "noUserGroup"),
        ("system", "system"),
    ] {
        if entry.flag(key)? {
            user[member] = true.into();
        }
    }
    if let Some(node) = entry.get("primary_group") {
        user["primaryGroup"] = name(&node)?.into();
    }
    if let Some(node) = entry.get("uid") {
        let uid = node.value().as_u64().and_then(|uid| u32::try_from(uid).ok());
        user["uid"] = uid.ok_or_else(|| node.refuse("must be a number"))?.into();
    }
    if let Some(node) = entry.get("groups") {
        user["groups"] = groups_of(&node)?.into();
    }
    if let Some(node) = entry.get("ssh_authorized_keys") {
        user["sshAuthorizedKeys"] = once(node.lines()?).into();
    }
    if let Some(hash) = password(&entry)? {
        user["passwordHash"] = hash.into();
        common.sshd += &format!("Match User {login}\n    PasswordAuthentication yes\n");
    }
    if let Some(node) = entry.get("sudo")
        && node.value() != &Value::Bool(false)
    {
        for rule in node.lines()? {
            common.sudoers += &format!("{login} {rule}\n");
        }
    }
    Ok(user)
}

/// The hash, unless the password is locked, which it is without `lock_passwd: false`.
fn password<'a>(entry: &Members<'a>) -> Result<Option<&'a str>, Refused> {
    if let Some(node) = entry.get("inactive")
        && node.value() != &Value::Bool(false)
    {
        return Err(node.refuse("has no counterpart in Ignition; leave it out"));
    }
    if let Some(node) = entry.get("plain_text_passwd") {
        return Err(node.refuse("is a password in clear; write its hash as passwd"));
    }
    let is_locked = match entry.get("lock_passwd") {
        Some(node) => node.flag()?,
        None => true,
    };
    let hash = entry.get("hashed_passwd").or_else(|| entry.get("passwd"));
    let hash = hash.map(|node| node.line()).transpose()?;
    Ok(hash.filter(|hash| !is_locked && !hash.is_empty()))
}

fn groups_of(node: &Node<'_>) -> Result<Vec<String>, Refused> {
    let lists = node.lines()?;
    let names = lists.iter().flat_map(|list| list.split(',')).map(str::trim);
    let names = once(names.filter(|name| !name.is_empty()).collect());
    if names.iter().any(|name| !is_name(name)) {
        return Err(node.refuse(NAME));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Without those that are there already.
fn once(texts: Vec<&str>) -> Vec<&str> {
    let mut seen = HashSet::new();
    texts.into_iter().filter(|text| seen.insert(*text)).collect()
}

const NAME: &str = "must be a name of at most 32 letters, digits, dots, hyphens and underscores, and begin with a letter or an underscore";

fn name(node: &Node<'_>) -> Result<String, Refused> {
    let text = node.text()?;
    if is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(node.refuse(NAME))
    }
}

fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.len() <= 32 && text.starts_with(is_start) && text.chars().all(is_part)
}
