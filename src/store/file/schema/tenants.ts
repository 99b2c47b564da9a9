/**
 * Tables of tenants: organizations, people, sessions, projects, API keys, totals at the start of a month,
 * installation.
 * Rows of `period` and `installation` never change. In the other tables the columns that name a tenant never
 * change, so no row moves between tenants.
 * Proven by `test/store/file/schema/tables.test.ts` and `test/store/suite/tenancy/tenants.ts`.
 */

import { fixed, stays } from './words.ts';

const organization = `
CREATE INDEX organization_home ON organization (home_production);
${fixed('organization', ['organization_id', 'created_ms'])}${stays('organization')}
${fixed('person', ['user_id', 'organization_id', 'issuer', 'subject', 'created_ms'])}
${fixed(
  'session',
  ['digest', 'kind', 'user_id', 'organization_id', 'created_ms', 'expires_ms'],
  'OR OLD.ended_ms IS NOT NULL OR NEW.last_used_ms < OLD.last_used_ms',
)}`;

/**
 * The profile of a project. `name_key` is the compared form of its name. A plane's project has no profile.
 */
const project = `
CREATE TABLE project_profile (
  project INTEGER PRIMARY KEY REFERENCES project,
  organization_id TEXT NOT NULL REFERENCES organization,
  environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  deleted_ms INTEGER,
  quotas TEXT NOT NULL,
  -- last: what stands behind a long text is read past all of it
  settings TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX project_name ON project_profile (organization_id, environment, name_key)
  WHERE deleted_ms IS NULL;
CREATE INDEX project_age ON project_profile (organization_id, created_ms) WHERE deleted_ms IS NULL;
CREATE INDEX project_deletion ON project_profile (organization_id, deleted_ms) WHERE deleted_ms IS NOT NULL;
${fixed('project_profile', ['project', 'organization_id', 'environment', 'created_ms'])}${stays('project_profile')}
CREATE INDEX api_key_age ON api_key (project, created_ms, key_id, revoked_ms);
CREATE INDEX api_key_unrevoked ON api_key (project) WHERE revoked_ms IS NULL;
${fixed('api_key', ['project', 'key_id', 'created_ms'])}${stays('api_key')}
CREATE TABLE period (
  project INTEGER NOT NULL,
  month TEXT NOT NULL CHECK (month GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
  base TEXT NOT NULL,
  PRIMARY KEY (project, month)
) STRICT, WITHOUT ROWID;
`;

/** One row. */
const installation = `
CREATE TABLE installation (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  text TEXT NOT NULL
) STRICT;
`;

export const tenants = organization + project + installation;
export const tenantsAppendOnly = ['period', 'installation'] as const;
