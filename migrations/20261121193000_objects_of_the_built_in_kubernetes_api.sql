-- The built-in Kubernetes API (service/kube-api): its objects, with every version that a watch or a paged list may still ask for.
--
-- One write is one revision: writers take the row of kube_revision first, so revisions are given out in the order of commits and
-- without gaps. A document is stored once, as a version; kube_objects says which version is the present one.

CREATE TABLE kube_revision (
    id         BIGINT NOT NULL PRIMARY KEY,  -- always 1
    revision   BIGINT NOT NULL,              -- of the last write
    compacted  BIGINT NOT NULL               -- versions that were replaced at or before this revision are gone
);

INSERT INTO kube_revision (id, revision, compacted) VALUES (1, 1, 0);

CREATE TABLE kube_objects (
    resource   TEXT   NOT NULL,              -- 'secrets', 'agents.agent-install.openshift.io'
    namespace  TEXT   NOT NULL,              -- '' for objects of the whole cluster
    name       TEXT   NOT NULL,
    uid        TEXT   NOT NULL,
    revision   BIGINT NOT NULL,              -- of its present version
    PRIMARY KEY (resource, namespace, name)
);

CREATE TABLE kube_versions (
    revision   BIGINT NOT NULL PRIMARY KEY,
    resource   TEXT   NOT NULL,
    namespace  TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    uid        TEXT   NOT NULL,
    change     TEXT   NOT NULL,              -- 'ADDED', 'MODIFIED', 'DELETED', as watches say it
    previous   BIGINT NOT NULL,              -- revision of the version before; 0 = none
    document   TEXT   NOT NULL               -- the object as JSON, in the version that it is stored in; may hold secrets
);

CREATE INDEX kube_versions_by_object ON kube_versions (resource, namespace, name, revision);

-- Who is deleted when its owner is gone.
CREATE TABLE kube_owners (
    owner_uid  TEXT   NOT NULL,
    resource   TEXT   NOT NULL,
    namespace  TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    PRIMARY KEY (owner_uid, resource, namespace, name)
);

CREATE INDEX kube_owners_by_object ON kube_owners (resource, namespace, name);
