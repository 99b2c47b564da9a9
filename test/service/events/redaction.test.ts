import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultSettings, unlimited } from '../../../src/service/call/settings.ts';
import type { Caller } from '../../../src/service/call/caller.ts';
import { redactionOf } from '../../../src/service/events/redaction.ts';
import type { EventInput } from '../../../src/contract/events.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { asPerson, inProject, said } from '../support/tenants.ts';

const canary = 'canary-7f3a9c';
const stamp = { redacted: true, fingerprint: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/) };

describe.each(engines)('redaction on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  });
  afterAll(() => service.end());

  let count = 0;
  const tenant = async (redactionKeys: string[]): Promise<Tenant> => {
    const of = await service.signUp(`T${count++}`);
    await redact(of, redactionKeys);
    return of;
  };
  const redact = async (of: Tenant, redactionKeys: string[]): Promise<void> => {
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const body = { settings: { redactionKeys } };
    const { status, text } = await of.call('PUT', `/projects/${projectId}`, { body });
    if (status !== 200) throw new Error(text);
  };
  const record = (of: Tenant, members: Record<string, unknown>, options = {}): Promise<Answer> =>
    of.call('POST', '/events', { body: event(members), ...options });
  const stored = async (of: Tenant, members: Record<string, unknown>) => {
    const made = await record(of, members);
    if (made.status !== 201) throw new Error(made.text);
    return (await of.call('GET', `/events/${made.body.eventId}`)).body;
  };

  it('no reason of a decision repeats a redacted argument, and a replay still agrees', async () => {
    const of = await tenant(['/metadata/arguments/command']);
    const conditions = {
      told: { '==': [{ val: ['context', 'arguments', 'command'] }, `cat ${canary}`] },
      acted: {
        some: [{ val: ['context', 'action', 'commands'] }, { in: [canary, { val: ['args'] }] }],
      },
      first: { '==': [{ val: ['context', 'action', 'paths', 0, 'path'] }, `/w/${canary}`] },
      open: { '>': [{ val: ['context', 'action', 'commands', 0, 'args', 0] }, 1] },
    };
    for (const [policyId, condition] of Object.entries(conditions)) {
      const body = { policyId, name: policyId, condition, action: 'escalate' };
      await of.call('POST', '/governance/policies', { body });
      await of.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
    }
    const call = {
      tool: { name: 'Bash' },
      arguments: { command: `cat ${canary}` },
      client: { name: 'claude-code' },
      facts: { cwd: '/w' },
      runId: 'masked',
    };
    const { body, text } = await of.call('POST', '/mcp/tools/evaluate', { body: call });
    expect(body.decision).toBe('escalate');
    expect(text).not.toContain(canary);
    const { data } = (await of.call('GET', '/governance/policy/evaluations?runId=masked')).body;
    const reasons = data[0].decisions.map((each: { reasoning: string }) => each.reasoning);
    expect(reasons).toHaveLength(4);
    expect(reasons.join()).not.toContain(canary);
    expect(reasons.join()).toContain('‹masked›');
    const approval = await of.call('GET', `/approvals/${body.approvalId}`);
    expect(approval.text).not.toContain(canary);
    const { text: plain } = await of.call('POST', '/mcp/tools/evaluate', {
      body: { ...call, arguments: { file: canary }, runId: 'plain' },
    });
    expect(JSON.parse(plain).decision).toBe('escalate');
  });

  it('an approval of a tool call shows no value that the project redacts', async () => {
    const of = await tenant(['/metadata/arguments/card/number', '/actor/mail']);
    const policy = { policyId: 'ask', name: 'Ask', condition: {}, action: 'escalate' };
    await of.call('POST', '/governance/policies', { body: policy });
    await of.call('POST', '/governance/policies/ask/publish', { body: {} });
    const call = {
      tool: { name: 'ledger.pay' },
      arguments: { amount: 12, card: { number: canary, holder: 'Ada' } },
      actor: { id: 'agent-7', mail: canary },
    };
    const { approvalId } = (await of.call('POST', '/mcp/tools/evaluate', { body: call })).body;
    const { body, text } = await of.call('GET', `/approvals/${approvalId}`);
    expect(body.arguments).toEqual({ amount: 12, card: { number: stamp, holder: 'Ada' } });
    expect(body.actor).toEqual({ id: 'agent-7', mail: stamp });
    expect(text + (await of.call('GET', '/approvals')).text).not.toContain(canary);
  });

  it('redaction replaces the values at the pointers, and the event lists them', async () => {
    const of = await tenant(['/metadata/ssn', '/actor/name', '/resource', '/metadata/user/mail']);
    const read = await stored(of, {
      actor: { name: canary, role: 'agent' },
      resource: canary,
      metadata: { ssn: 756, user: { mail: canary, id: 7 }, amount: 12 },
    });
    expect(read.actor).toEqual({ name: stamp, role: 'agent' });
    expect(read.resource).toEqual(stamp);
    expect(read.metadata).toEqual({
      ssn: stamp,
      user: { mail: stamp, id: 7 },
      amount: 12,
      'gov.redacted': ['/actor/name', '/metadata/ssn', '/metadata/user/mail', '/resource'],
    });
    expect(read.actor.name.fingerprint).toBe(read.resource.fingerprint);
    expect(read.metadata.ssn.fingerprint).not.toBe(read.resource.fingerprint);
  });

  it('redaction keeps values that no pointer names', async () => {
    const of = await tenant(['/metadata/ssn', '/metadata/list/7', '/metadata/amount/deeper']);
    const read = await stored(of, { metadata: { amount: 12, list: [1] } });
    expect(read.metadata).toEqual({ amount: 12, list: [1] });
  });

  it('redaction applies to events of a batch', async () => {
    const of = await tenant(['/metadata/ssn']);
    const events = [event({ metadata: { ssn: canary } }), event({ metadata: {} })];
    const { body } = await of.call('POST', '/events/batch', { body: { events } });
    const [first, second] = await Promise.all(
      body.results.map(
        async ({ eventId }: { eventId: string }) => (await of.call('GET', `/events/${eventId}`)).body,
      ),
    );
    expect(first.metadata).toEqual({ ssn: stamp, 'gov.redacted': ['/metadata/ssn'] });
    expect(second.metadata).toEqual({});
  });

  it('redaction replaces whole members: actor, resource, metadata', async () => {
    const of = await tenant(['/actor', '/metadata']);
    const read = await stored(of, { actor: 'somebody', metadata: { a: 1 } });
    expect(read.actor).toEqual(stamp);
    expect(read.metadata).toEqual({ ...stamp, 'gov.redacted': ['/actor', '/metadata'] });
  });

  it('redaction reaches into lists and names with ~ and /', async () => {
    const of = await tenant([
      '/metadata/list/1/x',
      '/metadata/a~1b',
      '/metadata/c~0d',
      '/metadata/list/length',
    ]);
    const read = await stored(of, {
      metadata: { list: [{ x: 1 }, { x: canary }], 'a/b': canary, 'c~d': canary },
    });
    expect(read.metadata).toMatchObject({
      list: [{ x: 1 }, { x: stamp }],
      'a/b': stamp,
      'c~d': stamp,
      'gov.redacted': ['/metadata/a~1b', '/metadata/c~0d', '/metadata/list/1/x'],
    });
  });

  it('redaction gives equal values equal fingerprints in a project, and others in another', async () => {
    const [one, other] = [await tenant(['/metadata/ssn']), await tenant(['/metadata/ssn'])];
    const of = async (who: Tenant) =>
      (await stored(who, { metadata: { ssn: canary } })).metadata.ssn.fingerprint;
    const first = await of(one);
    expect(await of(one)).toBe(first);
    expect(await of(other)).not.toBe(first);
  });

  it('redaction rejects an event that claims itself which values were redacted', async () => {
    const of = await tenant(['/metadata/ssn']);
    const forged = { metadata: { 'gov.redacted': [] } };
    const { status, body } = await record(of, forged);
    expect([status, body.errors[0].pointer]).toEqual([400, '/metadata/gov.redacted']);
    const batch = await of.call('POST', '/events/batch', { body: { events: [event(forged)] } });
    expect(batch.body.results[0].reason).toMatch(/^invalid_field: \/metadata\/gov\.redacted /);
    const plain = await service.signUp(`Plain${engine}`);
    expect((await record(plain, forged)).status).toBe(201);
  });

  it('redaction recognizes a repeat by the original event, whatever is redacted in the meantime', async () => {
    const of = await tenant([]);
    const same = { clientEventId: 'c', metadata: { ssn: canary } };
    const first = await record(of, same);
    await redact(of, ['/metadata/ssn']);
    const again = await record(of, same);
    expect([again.status, again.body.eventId]).toEqual([201, first.body.eventId]);
    expect(said(await record(of, { ...same, metadata: { ssn: 'other' } }))).toEqual([
      400,
      'VALIDATION_ERROR',
    ]);
  });

  it('redaction applies limits to the stored event', async () => {
    const of = await tenant(['/metadata/big']);
    const big = await record(of, { metadata: { big: 'x'.repeat(255 * 1024) } });
    expect(big.status).toBe(201);
    const { text } = await of.call('GET', `/events/${big.body.eventId}`);
    expect(text.length).toBeLessThan(2000);
  });

  it('redaction keeps the values out of every file, answer and proof', async () => {
    const secret = `${canary}-${engine}`;
    const of = await tenant(['/metadata/ssn']);
    for (let n = 0; n < 3; n++) await record(of, { runId: 'secret', metadata: { ssn: secret, n } });
    const proof = await of.call('POST', '/proofs', { body: { runId: 'secret' } });
    expect(proof.body.layers.every(({ verified }: { verified: boolean }) => verified)).toBe(true);
    const verified = await of.call('POST', '/proofs/verify', { body: { proofId: proof.body.proofId } });
    expect(verified.body.verified).toBe(true);
    const bundle = await of.call('GET', `/proofs/${proof.body.proofId}/bundle`);
    const listed = await of.call('GET', '/events?runId=secret');
    expect(bundle.text + listed.text + proof.text).not.toContain(secret);
    const { store } = service.services;
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const { size } = await store.head(projectId, 'audit');
    const leaves = await store.leaves(projectId, 'audit', { from: 0, to: size });
    expect(JSON.stringify(leaves)).not.toContain(secret);
    if (engine === 'sqlite') expect(filesWith(service.dataDir, secret)).toEqual([]);
  });

  it('redaction applies at once in the process that sets it', async () => {
    const of = await service.signUp(`Now${engine}`);
    const person = asPerson(service, of.person);
    const { body } = await person('POST', '/projects', { body: { name: 'P', environment: 'production' } });
    const at = inProject(body.id);
    await person('POST', '/events', { ...at, body: event() });
    await person('PUT', `/projects/${body.id}`, { body: { settings: { redactionKeys: ['/metadata'] } } });
    const made = await person('POST', '/events', { ...at, body: event() });
    const read = await person('GET', `/events/${made.body.eventId}`, at);
    expect(read.body.metadata).toMatchObject(stamp);
  });
});

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

describe('any event', () => {
  const pointers = [
    '/actor',
    '/actor/id',
    '/metadata/a',
    '/metadata/a/b',
    '/metadata/c/0',
    '/metadata/__proto__',
  ];
  const callerWith = (redactionKeys: readonly string[]): Caller => ({
    id: 'key_1',
    type: 'api_key',
    credential: null,
    project: {
      projectId: 'prj_1',
      organizationId: 'org_1',
      environment: 'production',
      auditOrigin: 'a',
      meteringOrigin: 'm',
    },
    scopes: ['*'],
    expiresMs: null,
    rules: { quotas: unlimited, settings: { ...defaultSettings, redactionKeys: [...redactionKeys] } },
  });
  const fingerprint = (text: string): string => Buffer.from(text).toString('hex');
  const value = fc.jsonValue({ maxDepth: 3 });
  const input = fc.record({
    actor: fc.oneof(fc.string(), fc.dictionary(fc.constantFrom('id', 'name', 'x'), value)),
    metadata: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), value),
  });

  it('redaction changes only the named values of any event, in whatever order the pointers come', () => {
    fc.assert(
      fc.property(input, fc.shuffledSubarray(pointers), (sent, keys) => {
        const before = JSON.stringify(sent);
        const run = (order: readonly string[]) => {
          const redact = redactionOf(callerWith(order), { fingerprint });
          const done = redact?.(sent as unknown as EventInput) ?? { event: sent };
          if (!('event' in done)) throw new Error('refused');
          return JSON.stringify(done.event);
        };
        const result = run(keys);
        expect(JSON.parse(run(keys.toReversed()))).toEqual(JSON.parse(result));
        expect(JSON.stringify(sent)).toBe(before);
        const { metadata } = JSON.parse(result) as { metadata: Record<string, unknown> };
        const replaced = (metadata['gov.redacted'] ?? []) as string[];
        expect(keys).toEqual(expect.arrayContaining(replaced));
        for (const pointer of keys.filter((key) => !replaced.includes(key))) {
          const above = replaced.some((each) => pointer.startsWith(`${each}/`));
          expect(above || at(sent, pointer) === undefined).toBe(true);
        }
        if (replaced.length === 0) expect(result).toBe(before);
      }),
      { numRuns: 2000 },
    );
  });

  const at = (whole: unknown, pointer: string): unknown =>
    pointer
      .slice(1)
      .split('/')
      .reduce<unknown>(
        (value, name) =>
          typeof value === 'object' && value !== null && Object.hasOwn(value, name)
            ? (value as Record<string, unknown>)[name]
            : undefined,
        whole,
      );

  it('redaction costs nothing when nothing is redacted', () => {
    expect(redactionOf(callerWith([]), { fingerprint })).toBeNull();
  });
});
