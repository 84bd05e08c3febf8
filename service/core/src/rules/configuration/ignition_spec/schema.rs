//! The members of configs, with the first specification of each.

use Holds::{Flag, Many, Number, One, Text, Texts};

/// The type of a member.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    Text,
    /// A whole number, 64 bits.
    Number,
    Flag,
    One(&'static Kind),
    Many(&'static Kind),
    Texts,
}

/// The treatment of equal items of a list in a merge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Equals {
    /// One is merged over the other; two in one config are an error.
    Merge,
    /// As above, among all lists of the object with this variant.
    MergeAcross,
    /// All are kept.
    Stay,
}

#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) holds: Holds,
    /// The 4 of 3.4.0.
    pub(super) since: u8,
    pub(super) equals: Equals,
}

/// The key of items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    None,
    Of(&'static str),
    /// The number, or the label when there is none.
    Partition,
}

pub(super) struct Kind {
    pub(super) members: &'static [Member],
    pub(super) key: Key,
}

const fn member(name: &'static str, holds: Holds) -> Member {
    Member {
        name,
        holds,
        since: 0,
        equals: Equals::Merge,
    }
}

impl Member {
    const fn since(mut self, minor: u8) -> Self {
        self.since = minor;
        self
    }

    const fn equals(mut self, equals: Equals) -> Self {
        self.equals = equals;
        self
    }
}

const fn kind(key: Key, members: &'static [Member]) -> Kind {
    Kind { members, key }
}

pub(super) static CONFIG: Kind = kind(
    Key::None,
    &[
        member("ignition", One(&IGNITION)),
        member("kernelArguments", One(&KERNEL_ARGUMENTS)).since(3),
        member("passwd", One(&PASSWD)),
        member("storage", One(&STORAGE)),
        member("systemd", One(&SYSTEMD)),
    ],
);

static IGNITION: Kind = kind(
    Key::None,
    &[
        member("config", One(&REFERENCES)),
        member("proxy", One(&PROXY)).since(1),
        member("security", One(&SECURITY)),
        member("timeouts", One(&TIMEOUTS)),
        member("version", Text),
    ],
);

static REFERENCES: Kind = kind(
    Key::None,
    &[
        member("merge", Many(&REFERENCE)),
        member("replace", One(&REFERENCE)),
    ],
);

static PROXY: Kind = kind(
    Key::None,
    &[
        member("httpProxy", Text),
        member("httpsProxy", Text),
        member("noProxy", Texts),
    ],
);

static SECURITY: Kind = kind(Key::None, &[member("tls", One(&TLS))]);

static TLS: Kind = kind(Key::None, &[member("certificateAuthorities", Many(&REFERENCE))]);

static TIMEOUTS: Kind = kind(
    Key::None,
    &[member("httpResponseHeaders", Number), member("httpTotal", Number)],
);

static KERNEL_ARGUMENTS: Kind = kind(
    Key::None,
    &[
        member("shouldExist", Texts).equals(Equals::MergeAcross),
        member("shouldNotExist", Texts).equals(Equals::MergeAcross),
    ],
);

/// Contents of a file, or a key.
static RESOURCE: Kind = kind(
    Key::Of("source"),
    &[
        member("compression", Text),
        member("httpHeaders", Many(&HEADER)).since(1),
        member("source", Text),
        member("verification", One(&VERIFICATION)),
    ],
);

/// A config or a certificate: 3.0 knew two members only.
static REFERENCE: Kind = kind(
    Key::Of("source"),
    &[
        member("compression", Text).since(1),
        member("httpHeaders", Many(&HEADER)).since(1),
        member("source", Text),
        member("verification", One(&VERIFICATION)),
    ],
);

static HEADER: Kind = kind(Key::Of("name"), &[member("name", Text), member("value", Text)]);

static VERIFICATION: Kind = kind(Key::None, &[member("hash", Text)]);

static PASSWD: Kind = kind(
    Key::None,
    &[member("groups", Many(&GROUP)), member("users", Many(&USER))],
);

static GROUP: Kind = kind(
    Key::Of("name"),
    &[
        member("gid", Number),
        member("name", Text),
        member("passwordHash", Text),
        member("shouldExist", Flag).since(2),
        member("system", Flag),
    ],
);

static USER: Kind = kind(
    Key::Of("name"),
    &[
        member("gecos", Text),
        member("groups", Texts),
        member("homeDir", Text),
        member("name", Text),
        member("noCreateHome", Flag),
        member("noLogInit", Flag),
        member("noUserGroup", Flag),
        member("passwordHash", Text),
        member("primaryGroup", Text),
        member("shell", Text),
        member("shouldExist", Flag).since(2),
        member("sshAuthorizedKeys", Texts),
        member("system", Flag),
        member("uid", Number),
    ],
);

static STORAGE: Kind = kind(
    Key::None,
    &[
        member("directories", Many(&DIRECTORY)).equals(Equals::MergeAcross),
        member("disks", Many(&DISK)),
        member("files", Many(&FILE)).equals(Equals::MergeAcross),
        member("filesystems", Many(&FILESYSTEM)),
        member("links", Many(&LINK)).equals(Equals::MergeAcross),
        member("luks", Many(&LUKS)).since(2),
        member("raid", Many(&RAID)),
    ],
);

static OWNER: Kind = kind(Key::None, &[member("id", Number), member("name", Text)]);

static DIRECTORY: Kind = kind(
    Key::Of("path"),
    &[
        member("group", One(&OWNER)),
        member("mode", Number),
        member("overwrite", Flag),
        member("path", Text),
        member("user", One(&OWNER)),
    ],
);

static FILE: Kind = kind(
    Key::Of("path"),
    &[
        member("append", Many(&RESOURCE)).equals(Equals::Stay),
        member("contents", One(&RESOURCE)),
        member("group", One(&OWNER)),
        member("mode", Number),
        member("overwrite", Flag),
        member("path", Text),
        member("user", One(&OWNER)),
    ],
);

static LINK: Kind = kind(
    Key::Of("path"),
    &[
        member("group", One(&OWNER)),
        member("hard", Flag),
        member("overwrite", Flag),
        member("path", Text),
        member("target", Text),
        member("user", One(&OWNER)),
    ],
);

static DISK: Kind = kind(
    Key::Of("device"),
    &[
        member("device", Text),
        member("partitions", Many(&PARTITION)),
        member("wipeTable", Flag),
    ],
);

static PARTITION: Kind = kind(
    Key::Partition,
    &[
        member("guid", Text),
        member("label", Text),
        member("number", Number),
        member("resize", Flag).since(2),
        member("shouldExist", Flag),
        member("sizeMiB", Number),
        member("startMiB", Number),
        member("typeGuid", Text),
        member("wipePartitionEntry", Flag),
    ],
);

static FILESYSTEM: Kind = kind(
    Key::Of("device"),
    &[
        member("device", Text),
        member("format", Text),
        member("label", Text),
        member("mountOptions", Texts).since(1).equals(Equals::Stay),
        member("options", Texts).equals(Equals::Stay),
        member("path", Text),
        member("uuid", Text),
        member("wipeFilesystem", Flag),
    ],
);

static LUKS: Kind = kind(
    Key::Of("name"),
    &[
        member("cex", One(&CEX)).since(5),
        member("clevis", One(&CLEVIS)),
        member("device", Text),
        member("discard", Flag).since(4),
        member("keyFile", One(&RESOURCE)),
        member("label", Text),
        member("name", Text),
        member("openOptions", Texts).since(4),
        member("options", Texts).equals(Equals::Stay),
        member("uuid", Text),
        member("wipeVolume", Flag),
    ],
);

static CEX: Kind = kind(Key::None, &[member("enabled", Flag)]);

static CLEVIS: Kind = kind(
    Key::None,
    &[
        member("custom", One(&CLEVIS_CUSTOM)),
        member("tang", Many(&TANG)),
        member("threshold", Number),
        member("tpm2", Flag),
    ],
);

static CLEVIS_CUSTOM: Kind = kind(
    Key::None,
    &[
        member("config", Text),
        member("needsNetwork", Flag),
        member("pin", Text),
    ],
);

static TANG: Kind = kind(
    Key::Of("url"),
    &[
        member("advertisement", Text).since(4),
        member("thumbprint", Text),
        member("url", Text),
    ],
);

static RAID: Kind = kind(
    Key::Of("name"),
    &[
        member("devices", Texts),
        member("level", Text),
        member("name", Text),
        member("options", Texts).equals(Equals::Stay),
        member("spares", Number),
    ],
);

static SYSTEMD: Kind = kind(Key::None, &[member("units", Many(&UNIT))]);

static UNIT: Kind = kind(
    Key::Of("name"),
    &[
        member("contents", Text),
        member("dropins", Many(&DROPIN)),
        member("enabled", Flag),
        member("mask", Flag),
        member("name", Text),
    ],
);

static DROPIN: Kind = kind(Key::Of("name"), &[member("contents", Text), member("name", Text)]);
