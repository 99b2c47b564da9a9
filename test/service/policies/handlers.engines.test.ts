import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from '../support/said.ts';
import { limits } from '../../../src/contract/limits.ts';
import { policyStatuses, type PolicyStatus } from '../../../src/contract/policy-words.ts';
import { policyHash } from '../../../src/core/policies/language/hash.ts';
import { startPlane, type CallOptions, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const noShell = { condition: { 'tool.name': 'shell' }, action: 'deny', severity: 'high' };
const create = (members: Record<string, unknown> = {}): Promise<Answer> =>
  plane.call('POST', '/governance/policies', { body: { name: 'No shell', ...noShell, ...members } });
const post = (path: string, body: unknown, options: CallOptions = {}): Promise<Answer> =>
  plane.call('POST', `/governance/policies/${path}`, { ...options, body });
const get = async (policyId: string) => (await plane.call('GET', `/governance/policies/${policyId}`)).body;
const move = (policyId: string, targetStatus: string, options: CallOptions = {}): Promise<Answer> =>
  post(`${policyId}/transition`, { targetStatus }, options);

interface PolicyLeaf {
  readonly index: number;
  readonly policyId: string;
  readonly version: number;
  readonly event: string;
  readonly from: string | null;
  readonly to: string;
}

/** The gov.policy/1 leaves of a policy, as they stand in the log. */
async function leavesOf(policyId: string): Promise<PolicyLeaf[]> {
  return (await plane.records())
    .filter(({ record }) => record.includes('"type":"gov.policy/1"'))
    .map(({ index, record }) => ({ index, ...(JSON.parse(record) as Omit<PolicyLeaf, 'index'>) }))
    .filter((leaf) => leaf.policyId === policyId);
}

/** Events of the audit trail about a policy, oldest first. */
async function auditOf(policyId: string) {
  const { body } = await plane.call('GET', '/events?runId=gov.system&limit=1000');
  return body.events.filter(
    ({ resource }: { resource: { id?: string } | null }) => resource?.id === policyId,
  );
}

describe('a new policy', () => {
  it('a new policy keeps everything that its creator said of it', async () => {
    expect((await create({ policyId: 'said', ...said })).body).toMatchObject(said);
    expect(await get('said')).toMatchObject(said);
  });

  it('a new policy is a draft with version 1, canonical and as text, and can be read again', async () => {
    const { status, headers, body } = await create({ policyId: 'new', description: 'Not on our servers' });
    expect([status, headers['location'], headers['etag']]).toEqual([
      201,
      '/api/v1/governance/policies/new',
      '"1"',
    ]);
    expect(body).toMatchObject({
      id: 'new',
      name: 'No shell',
      description: 'Not on our servers',
      status: 'draft',
      activeVersion: null,
      latestVersion: 1,
      revision: 1,
      active: null,
      latest: {
        version: 1,
        condition: { 'tool.name': 'shell' },
        normalized: { '==': [{ val: ['context', 'tool', 'name'] }, 'shell'] },
        text: 'context.tool.name == "shell"',
        action: 'deny',
        severity: 'high',
      },
    });
    expect(await get('new')).toEqual(body);
    const hashed = { policyId: 'new', version: 1, action: 'deny', severity: 'high' } as const;
    expect(body.latest.policyHash).toBe(policyHash({ ...hashed, condition: noShell.condition }));
  });

  it('a new policy gets an id when none is given, and is rejected with a used one', async () => {
    const { body } = await create();
    expect(body.id).toMatch(/^pol_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    const taken = await create({ policyId: body.id });
    expect([taken.status, taken.body.code]).toEqual([409, 'CONFLICT']);
    expect(taken.body.detail).toContain(`got ${body.id}`);
    const several = await Promise.all(['a', 'b', 'c'].map((name) => create({ policyId: 'once', name })));
    expect(several.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  });

  it.each([
    [{ condition: { 'tool.name': { like: 'x' } } }, '/condition'],
    [{ condition: { and: [{ map: [1, 2] }] } }, '/condition/and/0'],
    [{ condition: { cat: [1] }, action: 'stop' }, '/action'],
    [{ severity: 'urgent' }, '/severity'],
    [{ policyId: '../x' }, '/policyId'],
    [{ status: 'active' }, '/status'],
  ])('a new policy with %o is rejected, with its place', async (members, pointer) => {
    const { status, body } = await create({ policyId: 'refused', ...members });
    expect(status).toBe(400);
    expect(body.errors[0].pointer.startsWith(pointer), JSON.stringify(body.errors)).toBe(true);
    expect((await plane.call('GET', '/governance/policies/refused')).status).toBe(404);
    expect(await leavesOf('refused')).toEqual([]);
  });

  it.each([
    ['name', limits.policyNameChars],
    ['description', limits.policyDescriptionChars],
  ])('a new policy has a %s of at most %i characters', async (name, limit) => {
    expect((await create({ [name]: '𝄞'.repeat(limit) })).status).toBe(201);
    const { status, body } = await create({ [name]: '𝄞'.repeat(limit + 1) });
    expect([status, body.errors[0].pointer]).toEqual([400, `/${name}`]);
  });
});

describe('every change of a policy', () => {
  it('every change of a policy is a leaf and an audit event, with actor, change and reason', async () => {
    await create({ policyId: 'told' });
    await post('told/publish', { reason: 'reviewed' });
    await post('told/versions', { condition: {}, action: 'warn' });
    await post('told/publish', { version: 2 });
    await post('told/rollback', { targetVersion: 1, reason: 'too loud' });
    await move('told', 'disabled');
    const steps = [
      ['created', 1, null, 'draft'],
      ['published', 1, 'draft', 'active'],
      ['version_added', 2, 'active', 'active'],
      ['published', 2, 'active', 'active'],
      ['rolled_back', 1, 'active', 'active'],
      ['transition', 1, 'active', 'disabled'],
    ];
    expect(
      (await leavesOf('told')).map(({ event, version, from, to }) => [event, version, from, to]),
    ).toEqual(steps);
    const events = await auditOf('told');
    expect(events.map(({ eventType }: { eventType: string }) => eventType)).toEqual([
      'policy.created',
      'policy.published',
      'policy.version_added',
      'policy.published',
      'policy.rolled_back',
      'policy.transitioned',
    ]);
    const { id: keyId } = events[0].actor;
    expect(keyId).toBe((await get('told')).createdBy);
    expect(events[4].metadata).toMatchObject({ policyId: 'told', version: 1, reason: 'too loud' });
    expect((await get('told')).revision).toBe(steps.length);
  });

  it('a change of a policy accepts a reason of at most 1,000 characters', async () => {
    await create({ policyId: 'why' });
    const reason = (count: number) => post('why/publish', { reason: '𝄞'.repeat(count) });
    expect((await reason(limits.reasonChars + 1)).body.errors[0].pointer).toBe('/reason');
    expect((await reason(limits.reasonChars)).status).toBe(200);
    expect((await auditOf('why')).at(-1).metadata.reason).toHaveLength(limits.reasonChars * 2);
  });

  it('a change of a policy is made once for an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'create-once' };
    const body = { name: 'Once', ...noShell };
    const first = await plane.call('POST', '/governance/policies', { body, headers });
    const again = await plane.call('POST', '/governance/policies', { body, headers });
    expect([again.status, again.text, again.headers['idempotent-replayed']]).toEqual([
      201,
      first.text,
      'true',
    ]);
    const { id } = first.body;
    const once = { 'idempotency-key': 'publish-once' };
    const published = await post(`${id}/publish`, {}, { headers: once });
    const replayed = await post(`${id}/publish`, {}, { headers: once });
    expect([replayed.text, replayed.headers['etag']]).toEqual([published.text, published.headers['etag']]);
    expect((await leavesOf(id)).map(({ event }) => event)).toEqual(['created', 'published']);
  });
});

/** The listed moves of the life cycle, row by row (contract G2). */
const allowed: Readonly<Record<PolicyStatus, readonly PolicyStatus[]>> = {
  draft: ['review', 'active', 'archived'],
  review: ['draft', 'active', 'archived'],
  active: ['disabled', 'archived'],
  disabled: ['active', 'archived'],
  archived: ['draft', 'archived'],
};
const ways: Readonly<Record<PolicyStatus, readonly PolicyStatus[]>> = {
  draft: [],
  review: ['review'],
  active: ['active'],
  disabled: ['active', 'disabled'],
  archived: ['archived'],
};

describe('the life cycle', () => {
  const pairs = policyStatuses.flatMap((from) => policyStatuses.map((to) => [from, to] as const));

  it.each(pairs)('a transition from %s to %s follows the table', async (from, to) => {
    const policyId = `${from}-to-${to}`;
    await create({ policyId });
    for (const step of ways[from]) expect((await move(policyId, step)).status).toBe(200);
    const before = (await leavesOf(policyId)).length;
    const { status, body } = await move(policyId, to);
    if (allowed[from].includes(to)) {
      expect([status, body]).toEqual([200, { id: policyId, status: to, previousStatus: from }]);
      expect((await get(policyId)).status).toBe(to);
      // only archived to archived leads nowhere
      expect(await leavesOf(policyId)).toHaveLength(from === to ? before : before + 1);
    } else {
      expect([status, body.code]).toEqual([400, 'INVALID_TRANSITION']);
      expect(body).toMatchObject({ from, to, allowed: allowed[from] });
      expect((await get(policyId)).status).toBe(from);
      expect(await leavesOf(policyId)).toHaveLength(before);
    }
  });

  it('a policy activates its newest version from draft and review, and its last active one from disabled', async () => {
    await create({ policyId: 'which' });
    await post('which/versions', { condition: {}, action: 'warn' });
    await move('which', 'active');
    expect(await get('which')).toMatchObject({ activeVersion: 2, latestVersion: 2 });
    await post('which/versions', { condition: {}, action: 'deny' });
    await move('which', 'disabled');
    expect(await get('which')).toMatchObject({ status: 'disabled', activeVersion: null, active: null });
    await move('which', 'active');
    expect((await get('which')).activeVersion).toBe(2);
    await move('which', 'archived');
    await move('which', 'draft');
    await move('which', 'active');
    expect((await get('which')).activeVersion).toBe(3);
  });

  it('a policy publishes any existing version, unless the policy is archived', async () => {
    await create({ policyId: 'pub' });
    await post('pub/versions', { condition: {}, action: 'warn' });
    expect((await post('pub/publish', {})).body).toEqual({
      id: 'pub',
      status: 'active',
      previousStatus: 'draft',
      activeVersion: 2,
      previousVersion: null,
    });
    expect((await post('pub/publish', { version: 1 })).body).toMatchObject({
      activeVersion: 1,
      previousVersion: 2,
    });
    const leaves = (await leavesOf('pub')).length;
    expect((await post('pub/publish', { version: 1 })).status).toBe(200);
    expect(await leavesOf('pub')).toHaveLength(leaves);
    const missing = await post('pub/publish', { version: 3 });
    expect([missing.status, missing.body.version]).toEqual([404, 3]);
    await move('pub', 'archived');
    expect((await post('pub/publish', {})).body).toMatchObject({
      code: 'INVALID_TRANSITION',
      from: 'archived',
    });
  });

  it.each(['active', 'disabled', 'archived'] as const)(
    'a policy rolls back from %s to active',
    async (status) => {
      const policyId = `back-from-${status}`;
      await create({ policyId });
      await post(`${policyId}/publish`, {});
      await post(`${policyId}/versions`, { condition: {}, action: 'warn' });
      await post(`${policyId}/publish`, {});
      if (status !== 'active') await move(policyId, status);
      const { body } = await post(`${policyId}/rollback`, { targetVersion: 1 });
      const previousVersion = status === 'archived' ? null : 2;
      expect(body).toEqual({ id: policyId, activeVersion: 1, previousVersion, status: 'active' });
      expect(await get(policyId)).toMatchObject({ status: 'active', activeVersion: 1, latestVersion: 2 });
    },
  );

  it('a policy rolls back only to a version that was in force', async () => {
    await create({ policyId: 'back' });
    const never = await post('back/rollback', { targetVersion: 1 });
    expect([never.status, never.body.errors[0].pointer]).toEqual([400, '/targetVersion']);
    const missing = await post('back/rollback', { targetVersion: 9 });
    expect([missing.status, missing.body.targetVersion]).toEqual([404, 9]);
  });
});

describe('If-Match', () => {
  it('If-Match lets a change pass only with the current revision, and may be left out', async () => {
    await create({ policyId: 'match' });
    const stale = await move('match', 'review', { headers: { 'if-match': '"2"' } });
    expect([stale.status, stale.body.code, stale.body.revision]).toEqual([412, 'PRECONDITION_FAILED', 1]);
    for (const tag of ['1', 'W/"1"', '""', '"1', 'x'.repeat(4000)]) {
      expect((await move('match', 'review', { headers: { 'if-match': tag } })).status, tag).toBe(412);
    }
    const first = await move('match', 'review', { headers: { 'if-match': '"7", "1"' } });
    expect([first.status, first.headers['etag']]).toEqual([200, '"2"']);
    expect((await move('match', 'draft', { headers: { 'if-match': '*' } })).headers['etag']).toBe('"3"');
    expect((await move('match', 'review')).headers['etag']).toBe('"4"');
    const read = await plane.call('GET', '/governance/policies/match');
    expect(read.headers['etag']).toBe('"4"');
    for (const [path, body] of [
      ['versions', noShell],
      ['publish', {}],
      ['rollback', { targetVersion: 1 }],
    ] as const) {
      expect((await post(`match/${path}`, body, { headers: { 'if-match': '"1"' } })).status, path).toBe(412);
    }
  });

  it('If-Match lets one of several changes with the same revision pass', async () => {
    await create({ policyId: 'raced' });
    const options = { headers: { 'if-match': '"1"' } };
    const targets = ['review', 'active', 'archived', 'review', 'active'];
    const answers = await Promise.all(targets.map((target) => move('raced', target, options)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412, 412]);
    expect(await leavesOf('raced')).toHaveLength(2);
  });
});

describe('changes at once', () => {
  it('concurrent changes are judged one after the other, each with the policy as the one before left it', async () => {
    await create({ policyId: 'crowd' });
    const targets = ['review', 'active', 'draft', 'disabled', 'archived', 'active', 'draft', 'review'];
    const answers = await Promise.all([...targets, ...targets].map((target) => move('crowd', target)));
    const leaves = await leavesOf('crowd');
    const moved = answers.filter(({ status }) => status === 200);
    expect(
      moved.every(({ body }) => allowed[body.previousStatus as PolicyStatus].includes(body.status)),
    ).toBe(true);
    leaves.slice(1).forEach(({ from }, at) => expect(from).toBe(leaves[at]?.to));
    const changes = moved.filter(({ body }) => body.status !== body.previousStatus);
    expect(leaves).toHaveLength(changes.length + 1);
    expect(await get('crowd')).toMatchObject({ status: leaves.at(-1)?.to, revision: leaves.length });
  });

  it('concurrent changes number versions without a gap', async () => {
    await create({ policyId: 'numbered' });
    const added = await Promise.all(
      Array.from({ length: 10 }, (_, at) => post('numbered/versions', { condition: { at }, action: 'warn' })),
    );
    const numbers = added.map(({ body }) => body.version).toSorted((a, b) => a - b);
    expect(numbers).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});
