/**
 * The rule of each table: who sees and changes which rows. Policies compare with settings that
 * `src/store/postgres/connection/database.ts` sets for one transaction (`Scope`). Without a setting, no row
 * is visible or writable. A transaction may set several, such as a project and its organization.
 * Source: PostgreSQL 18, chapter 5.9 (row security policies).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */

import { noSecret, noSubject } from '../../erasure/subject-keys.ts';
import { exportRules } from './exports.ts';
import { telemetryRules } from './rules-planes.ts';
import { changed, credential, lookup, onDuty, own, tenant, type TableRules } from './rule-words.ts';

const namedProject = "(SELECT current_setting('gov.project_id', true))";
const organization = "(SELECT nullif(current_setting('gov.organization', true), ''))";
const issuer = "(SELECT nullif(current_setting('gov.issuer', true), ''))";
const subject = "(SELECT current_setting('gov.subject', true))";

const ownOrganization = `organization_id = ${organization}`;
const ownPosition = `(position >> 36) = ${tenant}`;

const appendOnly = (sees = own): TableRules => ({ sees, may: 'SELECT, INSERT', changes: null });

export const tables: Readonly<Record<string, TableRules>> = {
  project: {
    sees: `${own} OR ${ownOrganization} OR project_id = ${namedProject} OR ${onDuty('jobs', 'check', 'watch', 'operator')}`,
    writes: own,
    may: 'SELECT, INSERT',
    changes: null,
  },
  project_profile: {
    sees: `${own} OR ${ownOrganization} OR ${onDuty('operator')}`,
    writes: `${own} AND ${ownOrganization}`,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: changed('project organization_id environment created_ms'),
      message: 'a project stays where it was made',
    },
  },
  organization: {
    sees: ownOrganization,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: changed('organization_id created_ms'),
      message: 'an organization stays what it is',
    },
  },
  person: {
    sees: `${ownOrganization} OR (issuer = ${issuer} AND subject = ${subject})`,
    writes: ownOrganization,
    may: 'SELECT, INSERT',
    changes: null,
  },
  session: {
    sees: `${ownOrganization} OR digest = ${credential} OR ${onDuty('sweep')}`,
    writes: `${ownOrganization} OR digest = ${credential}`,
    may: 'SELECT, INSERT, UPDATE, DELETE',
    changes: {
      when: `OLD.ended_ms IS NOT NULL OR NEW.last_used_ms < OLD.last_used_ms
        OR ${changed('digest kind user_id organization_id created_ms expires_ms')}`,
      message: 'a session is used until it ends, and nothing else of it changes',
    },
  },
  installation: { sees: onDuty('installation'), may: 'SELECT, INSERT', changes: null },
  master_key: { sees: onDuty('installation'), may: 'SELECT, INSERT', changes: null },
  period: appendOnly(),
  grown: {
    sees: `${own} OR ${onDuty('watch')}`,
    writes: own,
    may: 'SELECT, INSERT, DELETE',
    changes: null,
  },
  api_key: {
    sees: `${own} OR digest = ${credential}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: 'any',
  },
  head: {
    sees: `${own} OR ${onDuty('watch')}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.size < OLD.size OR NEW.last_ms < OLD.last_ms OR ${changed('project tree')}`,
      message: 'a head never goes backwards',
    },
  },
  leaf: { ...appendOnly(ownPosition), may: 'SELECT, INSERT, DELETE', deletes: 'refuse_unpruned' },
  prune: appendOnly(),
  body: {
    sees: ownPosition,
    may: 'SELECT, INSERT, UPDATE, DELETE',
    deletes: 'refuse_unpruned',
    changes: {
      when: `NEW.erased IS NULL OR NEW.erased IS NOT DISTINCT FROM OLD.erased
        OR octet_length(NEW.disclosures) >= octet_length(OLD.disclosures) OR ${changed('position')}
        OR (NEW.keys IS NOT NULL AND NEW.keys IS DISTINCT FROM OLD.keys)`,
      message: 'a body only loses what an erasure names',
    },
  },
  subject_key: {
    sees: `${own} OR ${onDuty('sweep')}`,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.secret <> decode(repeat('00', ${noSecret.length}), 'hex') OR NEW.subject <> '${noSubject}'
        OR ${changed('project key_id')}`,
      message: 'a subject key is destroyed, and nothing else of it changes',
    },
  },
  erased_key: { ...appendOnly(`${own} OR ${onDuty('sweep')}`), writes: own },
  meter: appendOnly(ownPosition),
  tile: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `octet_length(NEW.hashes) < octet_length(OLD.hashes)
        OR substr(NEW.hashes, 1, octet_length(OLD.hashes)) <> OLD.hashes
        OR ${changed('project tree level n part')}`,
      message: 'a tile only grows',
    },
  },
  cosignature: appendOnly(),
  checkpoint: { ...appendOnly(), sees: `${own} OR ${onDuty('watch')}`, writes: own },
  head_anchor: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.size < OLD.size OR ${changed('project tree origin')}`,
      message: 'a head never goes backwards',
    },
  },
  event_type: appendOnly(),
  run: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  run_event: appendOnly(),
  run_block: appendOnly(),
  run_type: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  type_total: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  client_event: { ...appendOnly(), may: 'SELECT, INSERT, DELETE', deletes: 'refuse_kept' },
  subject: { ...appendOnly(), may: 'SELECT, INSERT, DELETE', deletes: 'refuse_kept' },
  idempotency: {
    sees: `${own} OR ${onDuty('sweep')}`,
    writes: own,
    may: 'SELECT, INSERT, DELETE',
    changes: null,
  },
  proof: appendOnly(),
  graph: { ...appendOnly(), sees: `${own} OR ${onDuty('sweep')}`, writes: own },
  graph_part: {
    sees: `${own} OR ${onDuty('sweep')}`,
    writes: own,
    may: 'SELECT, INSERT, DELETE',
    changes: null,
  },
  run_graph: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  job: { sees: `${own} OR ${onDuty('jobs', 'sweep')}`, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  decided: appendOnly(),
  run_snapshot: appendOnly(),
  policy: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.revision <> OLD.revision + 1 OR NEW.latest_version < OLD.latest_version
        OR ${changed('project policy_id created_ms created_by')}`,
      message: 'a change of a policy raises its revision by one',
    },
  },
  policy_version: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NOT (OLD.published = 0 AND NEW.published = 1) OR ${changed('project policy_id version condition normalized action severity policy_hash created_ms created_by')}`,
      message: 'a policy version never changes but to be published',
    },
  },
  risk_config: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  approval: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `OLD.outcome IS NOT NULL OR NEW.outcome IS NULL OR ${changed('project approval_id evaluation_id run_id reason requested_ms requested_by expires_ms')}`,
      message: 'an approval is decided once, and nothing else of it changes',
    },
  },
  ...telemetryRules,
  ...exportRules(onDuty('jobs')),
};

/** The rules of the table of the third migration. */
export const timeCountRules: Readonly<Record<string, TableRules>> = {
  event_count: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
};

/** A cache: every right. */
const cache: TableRules = { sees: own, may: 'SELECT, INSERT, UPDATE, DELETE', changes: 'any' };

/** Of the tables of the second migration. */
export const laterTables: Readonly<Record<string, TableRules>> = { index_map: cache, index_list: cache };

/** Of the eighth migration. */
export const eventTermRules: Readonly<Record<string, TableRules>> = {
  event_term: cache,
  event_term_head: cache,
};

/** Of the table of the fourth migration. */
export const intakeRules: Readonly<Record<string, TableRules>> = {
  intake_fact: { sees: own, may: 'SELECT, INSERT, UPDATE, DELETE', changes: 'any' },
};

/** Of the seventh migration: a key finds its document, and workers serve all tenants. */
export const documentRules: Readonly<Record<string, TableRules>> = {
  document: {
    sees: `${own} OR key = ${lookup} OR ${onDuty('jobs')}`,
    writes: `${own} OR ${onDuty('jobs')}`,
    may: 'SELECT, INSERT, UPDATE, DELETE',
    changes: 'any',
  },
};

/** Of the sixth migration: the sweep deletes the facts of all tenants. */
export const intakeSweep = `
CREATE POLICY sweep ON intake_fact FOR DELETE USING (${onDuty('sweep')});
CREATE POLICY swept ON intake_fact FOR SELECT USING (${onDuty('sweep')});
`;
