/** Erasure through the interface: values go, everything that was proved stays provable, and nothing else happens. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';
import { endOf } from '../support/filled.ts';

const nobodys = 'evt_01jzzzzzzzf84af5g000000004';
const card = '4111 1111 1111 1111';

describe.each(engines)('erasure, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  let eraser = '';
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
    const body = { name: 'eraser', scopes: ['erasure:write'] };
    eraser = (await acme.call('POST', '/api-keys', { body })).body.key;
  });
  afterAll(() => service.end());

  const record = async (members: object = {}): Promise<string> =>
    (await acme.call('POST', '/events', { body: event({ metadata: { card, amount: 12 }, ...members }) })).body
      .eventId;
  const read = async (eventId: string) => (await acme.call('GET', `/events/${eventId}`)).body;
  const erase = (body: object, key = eraser) => acme.call('POST', '/erasures', { body, key });
  const settings = (set: object) =>
    acme.call('PUT', `/projects/${acme.keys.production && projectId}`, { body: { settings: set } });
  let projectId = '';
  beforeAll(async () => {
    ({ projectId } = (await acme.call('GET', '/auth/identity')).body);
  });

  it('an erasure of a field removes that field only, and names its leaf', async () => {
    const eventId = await record();
    const before = await read(eventId);
    const answer = await erase({ eventId, fields: ['/metadata/card'], reasonCode: 'subject_request' });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        erasureId: expect.stringMatching(/^ers_/),
        leaves: 1,
        fields: 1,
        complete: true,
        dryRun: false,
        keyDestroyed: false,
      },
    ]);
    const { erasureId } = answer.body;
    expect(answer.headers['location']).toContain(`/erasures/${erasureId}`);
    const erasure = (await acme.call('GET', `/erasures/${erasureId}`)).body;
    const [{ sequence: target, digests }] = erasure.targets;
    expect(erasure).toMatchObject({
      reasonCode: 'subject_request',
      leaves: 1,
      fields: 1,
      keyDestroyed: false,
    });
    expect([target, digests.length]).toEqual([before.sequence, 1]);
    expect(await read(eventId)).toEqual({
      ...before,
      metadata: { amount: 12 },
      erased: [{ digest: digests[0], sequence: erasure.sequence }],
    });
    const list = await acme.call('GET', `/events?runId=${before.runId}`);
    expect(list.body.events.at(-1)).toEqual(await read(eventId));
    expect(list.text).not.toContain(`"${erasureId}"`);
  });

  it('an erasure of a whole event keeps its place, its times and its hash', async () => {
    const eventId = await record({ clientEventId: 'its-own' });
    const before = await read(eventId);
    expect((await erase({ eventId })).body).toMatchObject({ leaves: 1, fields: 8 });
    const after = await read(eventId);
    expect(after).toMatchObject({ actor: {}, resource: null, action: '', metadata: {}, clientEventId: null });
    expect(after.erased).toHaveLength(8);
    for (const kept of ['eventId', 'runId', 'eventType', 'timestamp', 'sequence', 'leafHash'])
      expect(after[kept]).toEqual(before[kept]);
    expect(await erase({ eventId })).toMatchObject({ status: 200, body: { erasureId: null, fields: 0 } });
    // what the client called it is forgotten too
    expect(await record({ clientEventId: 'its-own' })).not.toBe(eventId);
  });

  it('a dry run of an erasure leaves no trace', async () => {
    const eventId = await record();
    const before = await read(eventId);
    expect(await erase({ eventId, dryRun: true })).toMatchObject({
      status: 200,
      body: { erasureId: null, leaves: 1, fields: 7, dryRun: true },
    });
    expect(await read(eventId)).toEqual(before);
  });

  it.each([
    {},
    { eventId: nobodys, subject: 'x' },
    { subject: 'x', fields: ['/action'] },
    { subject: '' },
    { subject: 'x'.repeat(limits.subjectValueChars + 1) },
    { eventId: nobodys, fields: [] },
    { eventId: nobodys, fields: ['action'] },
    { eventId: nobodys, fields: [`/${'x'.repeat(limits.erasurePointerChars)}`] },
    { eventId: nobodys, reasonCode: 'Because I say so' },
  ])('the service rejects an erasure of %j', async (body) => {
    const answer = await erase(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('an erasure of fields that the event does not have is rejected with the members that contain them', async () => {
    const eventId = await record({ metadata: { deep: { inside: 1 } } });
    const within = await erase({ eventId, fields: ['/metadata/deep/inside'] });
    expect(within.body.errors[0]).toMatchObject({
      pointer: '/fields/0',
      detail: expect.stringContaining('expected /metadata/deep'),
    });
    expect((await erase({ eventId, fields: ['/metadata/none'] })).status).toBe(400);
    expect((await read(eventId)).erased).toBeUndefined();
    expect((await erase({ eventId, fields: ['/actor', '/metadata/deep'] })).body.fields).toBe(3);
  });

  it('an erasure without the scope, of unknown ids or of events of the service itself is rejected', async () => {
    const eventId = await record();
    const { key } = (
      await acme.call('POST', '/api-keys', { body: { name: 'other', scopes: ['events:write'] } })
    ).body;
    expect(await erase({ eventId }, key)).toMatchObject({
      status: 403,
      body: { requiredScope: 'erasure:write' },
    });
    expect((await erase({ eventId: nobodys })).status).toBe(404);
    const other = await service.signUp(`Bob ${engine}`);
    const theirs = await other.call('POST', '/erasures', { body: { eventId } });
    expect(theirs.status).toBe(404);
    const own = (await acme.call('GET', '/events?runId=gov.system')).body.events;
    expect((await erase({ eventId: own[0].eventId })).body.errors[0].pointer).toBe('/eventId');
    expect(own.map(({ eventType }: { eventType: string }) => eventType)).toContain('erasure.executed');
  });

  it('an erasure runs once under an idempotency key', async () => {
    const eventId = await record();
    const headers = { 'idempotency-key': `erase-${engine}` };
    const body = { eventId };
    const both = [
      await acme.call('POST', '/erasures', { body, headers }),
      await acme.call('POST', '/erasures', { body, headers }),
    ];
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    expect(both[1]!.body).toEqual(both[0]!.body);
  });

  it('an erasure is refused while a legal hold is set', async () => {
    const eventId = await record();
    const hold = (legalHold: boolean) =>
      acme.call('PUT', '/billing/retention', { body: { retentionDays: null, legalHold } });
    expect((await hold(true)).status).toBe(200);
    const answer = await erase({ eventId });
    expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining('legal hold')]);
    expect((await hold(false)).status).toBe(200);
    expect((await erase({ eventId })).status).toBe(201);
  });

  it('an erasure needs two credentials when the project requires them, and no refusal speaks of two people', async () => {
    const eventId = await record();
    const other = await record();
    expect((await settings({ requireTwoPersonErasure: true })).status).toBe(200);
    const body = { name: 'second', scopes: ['erasure:write'] };
    const second = (await acme.call('POST', '/api-keys', { body })).body.key;
    const wanted = { eventId, fields: ['/metadata'], reasonCode: 'asked' };
    const alone = await erase(wanted);
    expect(alone).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect(alone.body.detail).toMatch(/^expected the request of another credential, .* got none/);
    expect(alone.body.detail).not.toMatch(/person|people/);
    const { request } = (await erase({ ...wanted, dryRun: true })).body;
    for (const [given, key] of [
      [{ ...wanted, request }, eraser],
      [{ ...wanted, request: `${request}0` }, second],
      [{ ...wanted, request: request.replace(/.$/, '') }, second],
      [{ ...wanted, request: 'a.b.c' }, second],
      [{ ...wanted, fields: ['/actor'], request }, second],
      [{ ...wanted, eventId: other, request }, second],
      [{ ...wanted, reasonCode: 'other', request }, second],
    ] as const) {
      expect([given, await erase(given, key)]).toMatchObject([given, { status: 403 }]);
    }
    const now = vi
      .spyOn(Date, 'now')
      .mockReturnValue(Date.now() + limits.erasureRequestHours * 3_600_000 + 60_000);
    expect((await erase({ ...wanted, request }, second)).status).toBe(403);
    now.mockRestore();
    expect(await erase({ ...wanted, request }, second)).toMatchObject({ status: 201, body: { fields: 2 } });
    expect((await settings({ requireTwoPersonErasure: false })).status).toBe(200);
  });

  it('an erasure of a subject finds everything about it, by a keyed hash', async () => {
    expect((await erase({ subject: 'cus_7' })).status).toBe(409);
    expect(
      (await settings({ subjectPointers: ['/metadata/customerId', '/actor/id', '/metadata/n'] })).status,
    ).toBe(200);
    const mine = [
      await record({ metadata: { customerId: 'cus_7' } }),
      await record({ actor: { id: 'cus_7', type: 'human' } }),
      await record({ metadata: { customerId: ['cus_8', 'cus_7'] } }),
    ];
    const others = [
      await record({ metadata: { customerId: 'cus_8' } }),
      await record({ metadata: { other: 'cus_7' } }),
      await record({ metadata: { n: 7 } }),
    ];
    const context = { actor: { id: 'cus_7' } };
    const evaluated = await acme.call('POST', '/governance/policy/evaluate', {
      body: { runId: 'run-1', checkpoint: { context } },
    });
    expect((await erase({ subject: 'cus_7', dryRun: true })).body).toMatchObject({
      leaves: 4,
      complete: true,
    });
    const done = await erase({ subject: 'cus_7' });
    expect(done.body).toMatchObject({ leaves: 4, complete: true });
    for (const eventId of mine) expect((await read(eventId)).action).toBe('');
    for (const eventId of others) expect((await read(eventId)).erased).toBeUndefined();
    const { evaluationId } = evaluated.body;
    const list = await acme.call('GET', '/governance/policy/evaluations?runId=run-1');
    const found = list.body.data.find(({ id }: { id: string }) => id === evaluationId);
    expect(found.checkpoint).toBeNull();
    // and that they were about it is forgotten
    expect((await erase({ subject: 'cus_7' })).body).toMatchObject({ erasureId: null, leaves: 0 });
    expect((await erase({ subject: 7, dryRun: true })).body).toMatchObject({ leaves: 1 });
    expect((await erase({ subject: '7' })).body).toMatchObject({ leaves: 1 });
  });

  it('an erasure of a subject accepts the longest subject, counted in characters', async () => {
    const longest = '𝄞'.repeat(limits.subjectValueChars);
    await record({ metadata: { customerId: longest } });
    expect((await erase({ subject: longest })).body.leaves).toBe(1);
  });

  it('an erasure of a subject takes at most as many values as one leaf can contain', async () => {
    const { erasureTargets: most } = limits;
    const bare = (subject: string) => ({
      runId: 'many',
      eventType: 'note',
      actor: 'a',
      action: 'b',
      timestamp: '2026-03-01T09:30:00Z',
      metadata: { customerId: subject },
    });
    const push = async (subject: string, count: number) => {
      const all = Array.from({ length: count }, () => bare(subject));
      for (let from = 0; from < count; from += 200) {
        await acme.call('POST', '/events/batch', { body: { events: all.slice(from, from + 200) } });
      }
    };
    // three values each: the digests of one erasure are used up first
    const fits = Math.floor(limits.erasureDigests / 3);
    expect(fits).toBeLessThan(most);
    await push('few', fits);
    await push('more', fits + 1);
    expect((await erase({ subject: 'few' })).body).toMatchObject({ leaves: fits, complete: true });
    expect((await erase({ subject: 'more' })).body).toMatchObject({ leaves: fits, complete: false });
    expect((await erase({ subject: 'more' })).body).toMatchObject({ leaves: 1, complete: true });
  });
});

describe('what was proved before an erasure', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  });
  afterAll(() => plane.end());
  const call = (method: string, path: string, body?: unknown) =>
    plane.call(method, path, body === undefined ? {} : { body });
  /** A proof of a run, and its bundle, before values of the run were erased. */
  let made: { readonly proofId: string; readonly bundle: string };
  const verify = async (proofId: string) => (await call('POST', '/proofs/verify', { proofId })).body;

  it('a proof from before an erasure holds after it, and a replay names the lost values', async () => {
    const governed = governing(plane);
    await governed.policy('p', { 'tool.name': 'mail' }, 'warn');
    const { evaluationId } = await governed.tool('run-e', 'mail');
    const risk = await governed.risk('run-e');
    const ran = await governed.ran('run-e', { evaluationId, timestampSource: 'import', card });
    await call('POST', '/events', event({ runId: 'run-e', eventType: 'note', metadata: { card } }));
    const layers = [
      'event_integrity',
      'causal_consistency',
      'policy_compliance',
      'decision_lineage',
      'log_inclusion',
    ];
    const proof = await call('POST', '/proofs', { runId: 'run-e', composed: { layers } });
    expect(proof.status).toBe(201);
    const { proofId } = proof.body;
    const before = await verify(proofId);
    expect(before.verified).toBe(true);
    expect(before.layers.map(({ basis }: { basis: string }) => basis)).toEqual(
      layers.map(() => 'recomputed'),
    );
    const bundle = await call('GET', `/proofs/${proofId}/bundle?events=disclosed`);

    for (const body of [{ eventId: ran.eventId }, { evaluationId }, { decisionId: risk.id }]) {
      expect((await call('POST', '/erasures', body)).status).toBe(201);
    }
    const after = await verify(proofId);
    expect(after).toEqual({
      ...before,
      layers: before.layers.map((layer: { name: string }) =>
        ['policy_compliance', 'decision_lineage'].includes(layer.name)
          ? { ...layer, basis: 'attested' }
          : layer,
      ),
    });
    const again = await call('POST', '/replay', { runId: 'run-e' });
    const { result } = await endOf(plane.call, again.body.jobId);
    const steps = (await call('GET', `/replay/${result.replayId}`)).body.steps;
    const lost = steps.filter(({ status }: { status: string }) => status === 'not_replayable');
    expect(lost).toHaveLength(2);
    for (const step of lost) expect(JSON.stringify(step)).toContain('inputs_erased');
    made = { proofId, bundle: bundle.text };
  });

  it('a bundle tells erased values from missing ones offline', async () => {
    const { proofId, bundle } = made;
    const trust = parseTrust(readFileSync(join(plane.dataDir, 'trust'), 'utf8'));
    const offline = (text: string) => verifyBundle(Buffer.from(text), trust);
    const { digests } = offline(bundle);
    expect([offline(bundle).verified, digests!.erased, digests!.missing]).toEqual([true, 0, 0]);
    const later = await call('GET', `/proofs/${proofId}/bundle?events=disclosed`);
    expect(offline(later.text)).toMatchObject({
      verified: true,
      digests: { erased: 9, missing: 0, disclosed: digests!.disclosed - 9 },
    });
    const { erasures, ...without } = later.body;
    expect(offline(JSON.stringify(without))).toMatchObject({ verified: false, code: 'DISCLOSURE_MISSING' });
    for (const [change, code] of [
      [{ leaves: [] }, 'DISCLOSURE_MISSING'],
      [{ leaves: [{ ...erasures.leaves[0], index: 1 }] }, 'NOT_INCLUDED'],
      [
        {
          leaves: [{ ...erasures.leaves[0], record: erasures.leaves[0].record.replace('unspecified', 'x') }],
        },
        'NOT_INCLUDED',
      ],
      [{ leaves: [later.body.proofLeaf] }, 'NOT_INCLUDED'],
      [{ checkpoint: later.body.checkpoint }, 'NOT_CONSISTENT'],
      [{ checkpoint: erasures.checkpoint.replace(/\n\n.*/s, '\n\n— x AAAAAA==\n') }, 'SIGNATURE_INVALID'],
      [{ consistency: [] }, 'NOT_CONSISTENT'],
    ] as const) {
      const altered = { ...without, erasures: { ...erasures, ...change } };
      expect([change, offline(JSON.stringify(altered))]).toMatchObject([change, { verified: false, code }]);
    }
  });

  it('the store is intact after an erasure, and a body that lost fields without one is an alarm', async () => {
    const kept = await call('POST', '/events', event({ runId: 'run-m' }));
    const { eventId, sequence } = (await call('GET', `/events/${kept.body.eventId}`)).body;
    await call('POST', '/erasures', { eventId, fields: ['/action'] });
    await plane.sql(`UPDATE body SET disclosures = '[]' WHERE ${plane.leafAt(sequence)}`);
    const lost = await call('GET', `/events/${eventId}`);
    expect([lost.status, lost.body.code]).toEqual([503, 'STORAGE_FAULT']);
    const false_ = `UPDATE body SET erased = '[[1]]' WHERE ${plane.leafAt(sequence)}`;
    await plane.sql(false_);
    expect((await call('GET', `/events/${eventId}`)).status).toBe(503);
    expect((await call('GET', '/events?runId=run-m')).status).toBe(503);
    const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true });
    expect(problems.map(({ kind }) => kind).toSorted()).toEqual(['erasure_mismatch', 'erasure_mismatch']);
  });
});
