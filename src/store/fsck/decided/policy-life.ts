/**
 * `fsck`: recomputes the columns of a project's policies and versions from its gov.policy/1 leaves.
 * Memory grows with both: about 300 bytes each. Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import { nameMembers } from '../../../contract/policy-words.ts';
import type { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { stored } from '../../rules/columns.ts';
import { policyColumns } from '../../rules/policy-row.ts';
import type { Columns } from '../columns.ts';
import { shown } from '../record.ts';

type Change = ReturnType<typeof openPolicyChange>;

export class PolicyLives {
  readonly #policies = new Map<string, Record<string, string | number | null>>();
  readonly #versions = new Map<string, Record<string, string | number | null>>();

  /**
   * Call it in log order. The record may be altered, which is reported elsewhere: its members may have any
   * type.
   */
  add(change: Change): void {
    const { policyId, event, version, from, to } = change;
    const atMs = parseTimestamp(shown(change.at));
    // an erased actor is not compared
    const made = { created_ms: atMs, ...(change.actor === null ? {} : { created_by: change.actor }) };
    if (event === 'created') this.#policies.set(policyId, { ...newPolicy, ...made, ...namedColumns(change) });
    if (event === 'created' || event === 'version_added') {
      this.#versions.set(versionKey(policyId, version), { ...made, published: 0 });
    }
    const policy = this.#policies.get(policyId) ?? {};
    policy['status'] = shown(to);
    policy['revision'] = Number(policy['revision'] ?? 0) + 1;
    policy['updated_ms'] = atMs;
    if (event === 'created') policy['latest_version'] = version;
    // a version that a service numbered may be older than the newest one
    else if (event === 'version_added')
      policy['latest_version'] = Math.max(version, Number(policy['latest_version'] ?? 0));
    else {
      policy['active_version'] = to === 'active' ? version : null;
      // if no version was active, the leaf names the newest one
      if (to === 'active' || from === 'active' || from === 'disabled')
        policy['last_active_version'] = version;
      const published = this.#versions.get(versionKey(policyId, version));
      if (to === 'active' && published !== undefined) published['published'] = 1;
    }
    this.#policies.set(policyId, policy);
  }

  policies(): ReadonlyMap<string, Columns> {
    return this.#policies;
  }

  version(policyId: string, version: number): Columns | undefined {
    return this.#versions.get(versionKey(policyId, version));
  }
}

/** An erased name is not compared. */
const namedColumns = ({ named }: Change): Columns =>
  named === null
    ? {}
    : Object.fromEntries(
        nameMembers.map((member) => [policyColumns.names[member], stored(named[member]) as string | null]),
      );

const newPolicy = { active_version: null, last_active_version: null, revision: 0 };

const versionKey = (policyId: string, version: number): string => `${policyId} ${version}`;
