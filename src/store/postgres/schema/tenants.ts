/**
 * Tables of tenants that differ from SQLite's: projects, their profiles, quota periods, the installation. `name_key` is `nameKey` of the name (`src/store/rules/tenants.ts`), so that both engines
 * compare names alike. `base` of a period is the totals before the first metered append of its month
 * (`2026-11`, UTC), as JSON. The triggers of `rules.ts` limit the changes of their rows.
 * Proven by `test/store/suite/tenancy/tenants.ts` and `test/store/suite/tenancy/quota.ts`.
 */
import { id } from '../../schema/words.ts';

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

CREATE TABLE period (
  project integer NOT NULL,
  month ${id} NOT NULL,
  base text NOT NULL,
  PRIMARY KEY (project, month)
);`;

export const installationTables = `
CREATE TABLE installation (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  text text NOT NULL
);
CREATE TABLE master_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  text text NOT NULL
);`;
