/**
 * Facts of the schema, read from github.com/ocsf/ocsf-schema: 1.8.0 (branch v1.8.0) and 1.9.0 (commit a5cfc68e of
 * July 2026). `test/interop/ocsf.test.ts` checks the same records against a whole checkout of the schema.
 */
import { describe, expect, it } from 'vitest';
import { ocsfEvent, ocsfVersions, type OcsfVersion } from '../../../src/core/forwards/ocsf.ts';
import type { ForwardRecord } from '../../../src/core/forwards/record.ts';
import { visibleJson } from '../../../src/core/visible.ts';
import { eventLeaf, hostile, hostileRecord, kinds, recordOf, actsOnReader } from './samples.ts';

const options = (ocsfVersion: OcsfVersion) => ({ ocsfVersion, version: '0.1.0' });

/** Required attributes of an object, and groups of which at least one must be there. */
const required: Readonly<Record<string, { all?: readonly string[]; oneOf?: readonly string[] }>> = {
  actor: { oneOf: ['process', 'user', 'session', 'app_name', 'app_uid'] },
  ai_agent: { oneOf: ['name', 'uid'] },
  ai_model: { all: ['ai_provider', 'name'] },
  analytic: { all: ['type_id'] },
  api: { all: ['operation'] },
  evidences: { oneOf: ['actor', 'api', 'resources', 'src_endpoint'] },
  finding_info: { all: ['uid'] },
  metadata: { all: ['product', 'version'] },
  policy: { oneOf: ['name', 'type', 'uid'] },
  product: { oneOf: ['name', 'uid'] },
  raw_data_hash: { all: ['algorithm_id', 'value'] },
  resources: { oneOf: ['name', 'uid'] },
  service: { oneOf: ['name', 'uid'] },
  src_endpoint: { oneOf: ['ip', 'uid', 'name', 'hostname', 'svc_name', 'instance_uid'] },
  user: { oneOf: ['account', 'name', 'uid'] },
};
const base = ['activity_id', 'category_uid', 'class_uid', 'metadata', 'severity_id', 'time', 'type_uid'];
const classes: Readonly<Record<number, readonly string[]>> = {
  6003: [...base, 'actor', 'api', 'src_endpoint'],
  2004: [...base, 'finding_info'],
};

function faults(value: unknown, name = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => faults(each, name));
  if (typeof value !== 'object' || value === null || name === 'unmapped') return [];
  const members = value as Record<string, unknown>;
  const { all = [], oneOf } = required[name] ?? {};
  return [
    ...all.filter((each) => members[each] === undefined).map((each) => `${name} lacks ${each}`),
    ...(oneOf === undefined || oneOf.some((each) => members[each] !== undefined) ? [] : [`${name} has none`]),
    ...Object.entries(members).flatMap(([each, below]) =>
      below === null || below === undefined || below === ''
        ? [`${name}.${each} is empty`]
        : faults(below, each),
    ),
  ];
}

/** The members that tests read; all others they only compare. */
interface Seen {
  readonly class_uid: number;
  readonly activity_id: number;
  readonly type_uid: number;
  readonly metadata: { readonly version: string; readonly profiles: readonly string[] };
  readonly raw_data_hash: { readonly value: string };
  readonly unmapped: { readonly gov: object };
  readonly [name: string]: unknown;
}

const event = (record: ForwardRecord, version: OcsfVersion = '1.9.0'): Seen =>
  ocsfEvent(record, options(version)) as Seen;

describe.each(ocsfVersions)('ocsfEvent for OCSF %s', (version) => {
  it('each kind of record has what its class and objects require', () => {
    for (const record of [...kinds(), ...hostile.map(hostileRecord)]) {
      const found = event(record, version);
      for (const name of classes[found.class_uid]!) expect(found[name], name).toBeDefined();
      expect(faults(found)).toEqual([]);
      expect(found.type_uid).toBe(found.class_uid * 100 + found.activity_id);
      expect(found.metadata.version).toBe(version);
    }
  });

  it('a record says where its leaf is in the log', () => {
    for (const record of kinds()) {
      const found = event(record, version);
      expect(found.metadata).toMatchObject({
        sequence: record.index,
        uid: record.id,
        log_name: record.source.origin,
      });
      expect(found.raw_data_hash.value).toBe(record.leafHash.slice(7));
      expect(found.unmapped.gov).toMatchObject({
        project_id: record.source.projectId,
        log_origin: record.source.origin,
        leaf_index: record.index,
        leaf_hash: record.leafHash,
        event_id: record.id,
      });
    }
  });
});

describe('ocsfEvent', () => {
  it('a refusal is a Detection Finding, all else API Activity', () => {
    expect(kinds().map((record) => event(record).class_uid)).toEqual([
      6003, 6003, 6003, 2004, 6003, 2004, 2004,
    ]);
  });

  it('an event that only mentions a denial is API Activity with the action Denied', () => {
    const found = event(recordOf(eventLeaf({ eventType: 'tool.denied', metadata: { decision: 'deny' } })));
    expect(found).toMatchObject({ class_uid: 6003, action_id: 2, severity_id: 4 });
    expect(found.metadata.profiles).toEqual(['ai_operation', 'security_control']);
  });

  it('a finding names the policy, the reason, the tool and the agent', () => {
    expect(event(kinds()[3]!)).toMatchObject({
      severity: 'Critical',
      disposition: 'Blocked',
      is_alert: true,
      finding_info: {
        title: 'Call refused: pay',
        desc: 'amount above 10',
        analytic: { type_id: 1, version: '3' },
      },
      policy: { uid: 'pol_01jq3v5k8hf7wb3c9x2m4n6p8r', is_applied: true },
      evidences: [{ ai_agent: { uid: 'agt-9' }, actor: { user: { uid: 'agt-9' } } }],
      resources: [{ name: 'pay', type: 'tool' }],
    });
  });

  it('version 1.9 names the agent with its model, and 1.8, which has no agents, only the model', () => {
    const record = kinds()[0]!;
    const model = { name: 'opus-9', ai_provider: 'anthropic' };
    expect(event(record, '1.9.0')).toMatchObject({
      ai_agent: { uid: 'sys-1', name: 'billing-agent', instance_uid: 'run-1', ai_model: model },
    });
    expect(event(record, '1.8.0')).toMatchObject({ ai_model: model });
    for (const each of kinds()) expect(visibleJson(event(each, '1.8.0'))).not.toContain('ai_agent');
  });

  it.each([
    ['create', 1],
    ['read', 2],
    ['update row', 3],
    ['delete', 4],
    ['readjust', 99],
    ['execute', 99],
  ])('the action %s has the activity %i', (action, id) => {
    expect(event(recordOf(eventLeaf({ action }))).activity_id).toBe(id);
  });

  it('hostile text is one line that parses to the same value', () => {
    for (const text of hostile) {
      const found = event(hostileRecord(text));
      const line = visibleJson(found);
      expect(line).not.toMatch(actsOnReader);
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(found)));
    }
  });
});
