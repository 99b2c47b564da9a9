/**
 * Tables of tenants: organizations, people, sessions, project profiles, keys, quota periods, the
 * installation. `name_key` is `nameKey` of the name (`src/store/rules/tenants.ts`), so that both engines
 * compare names alike. `base` of a period is the totals before the first metered append of its month
 * (`2026-11`, UTC), as JSON. The triggers of `rules.ts` limit the changes of their rows.
 * Proven by `test/store/suite/tenancy/tenants.ts` and `test/store/suite/tenancy/quota.ts`.
 */
const id = 'text COLLATE "C"';

export const projectTables = `
CREATE TABLE project (
  project integer PRIMARY KEY CHECK (project > 0 AND project < ${2 ** 27}),
  project_id ${id} NOT NULL UNIQUE,
  organization_id ${id} NOT NULL,
  environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
  audit_origin ${id} NOT NULL UNIQUE,
  metering_origin ${id} NOT NULL UNIQUE
);
CREATE SEQUENCE project_number AS integer;

CREATE TABLE project_profile (
  project integer PRIMARY KEY REFERENCES project,
  organization_id ${id} NOT NULL REFERENCES organization,
  environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
  name text NOT NULL,
  name_key ${id} NOT NULL,
  settings text NOT NULL,
  quotas text NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  deleted_ms bigint
);
CREATE UNIQUE INDEX project_name ON project_profile (organization_id, environment, name_key) WHERE deleted_ms IS NULL;
CREATE INDEX project_deletion ON project_profile (organization_id, deleted_ms) WHERE deleted_ms IS NOT NULL;

CREATE TABLE api_key (
  project integer NOT NULL REFERENCES project,
  key_id ${id} NOT NULL,
  digest bytea NOT NULL UNIQUE,
  prefix text NOT NULL,
  last4 text NOT NULL,
  name text NOT NULL,
  description text,
  scopes text NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  updated_ms bigint NOT NULL,
  last_used_ms bigint,
  expires_ms bigint,
  revoked_ms bigint,
  rotated_from ${id},
  PRIMARY KEY (project, key_id)
);
CREATE INDEX api_key_age ON api_key (project, created_ms, key_id);

CREATE TABLE period (
  project integer NOT NULL,
  month ${id} NOT NULL,
  base text NOT NULL,
  PRIMARY KEY (project, month)
);`;

export const peopleTables = `
CREATE TABLE organization (
  organization_id ${id} PRIMARY KEY,
  name text NOT NULL,
  customer_id text,
  home_production ${id} NOT NULL,
  home_sandbox ${id} NOT NULL,
  created_ms bigint NOT NULL
);

CREATE TABLE person (
  user_id ${id} PRIMARY KEY,
  organization_id ${id} NOT NULL REFERENCES organization,
  issuer ${id} NOT NULL,
  subject ${id} NOT NULL,
  email text,
  name text NOT NULL,
  created_ms bigint NOT NULL,
  UNIQUE (issuer, subject)
);

CREATE TABLE session (
  digest bytea PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('browser', 'cli')),
  user_id ${id} NOT NULL REFERENCES person,
  organization_id ${id} NOT NULL REFERENCES organization,
  created_ms bigint NOT NULL,
  last_used_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ended_ms bigint
);
CREATE INDEX session_expiry ON session (expires_ms);

CREATE TABLE installation (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  text text NOT NULL
);
CREATE TABLE master_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  text text NOT NULL
);`;
