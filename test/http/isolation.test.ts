/**
 * Each tenant sees its own (contract A16; OWASP API1:2023). Made of the contract table: every row is asked about every
 * id of a tenant, by a stranger, and answers what it answers another stranger about an id that nobody has. A row that is
 * new fails here until `test/support/rows.ts` knows what it takes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, type Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { engines, startService, type Tenant, type TestService } from '../support/hosted.ts';
import { idsOf, nobodysIds, rowRequest, type Ids, type RowRequest } from '../support/rows.ts';
import { fillProject, type Filled } from '../service/support/filled.ts';
import { event, type CallOptions } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { enrolledPlane, type Sender } from '../support/telemetry-plane.ts';

const rowOf = (id: OperationId): Operation => table[id];
const all = Object.keys(table) as OperationId[];
/** An index is no id: each log has its own. */
const hasId = (id: OperationId): boolean => rowOf(id).path.replace('{index}', '').includes('{');
/** Before any of them makes something under an id that a client chose. */
const inOrder = (['GET', 'DELETE', 'PUT', 'POST'] as const).flatMap((method) =>
  [true, false].flatMap((isById) => all.filter((id) => rowOf(id).method === method && isById === hasId(id))),
);
const ofTenants = inOrder.filter(
  (id) => !['anyone', 'idToken', 'plane', 'cron'].includes(accessOf(rowOf(id))),
);
const ofPlanes = inOrder.filter((id) => accessOf(rowOf(id)) === 'plane');
const ofProjects = ofTenants.filter((id) => accessOf(rowOf(id)) === 'project');
/** Runs are begun by whoever names them first, so these make the stranger's own. */
const beginsRun = (id: OperationId): boolean => rowOf(id).method === 'PUT' && idsOf(id).includes('runId');
const isById = (id: OperationId): boolean => hasId(id) && !beginsRun(id);

interface Stranger {
  readonly own: Filled;
  ask(request: RowRequest, headers?: CallOptions['headers']): Promise<Answer>;
}
/** One asks about what is somebody's, the other, who did the same so far, about what is nobody's. */
type Pair = readonly [Stranger, Stranger];

/** The answer without what names the request. */
const comparable = ({ status, text, headers }: Answer): unknown[] => {
  // the length of a body is that of its request id and of the text that is compared
  const { 'x-request-id': id, date: _date, 'content-length': _length, ...rest } = headers;
  return [status, text.replaceAll(String(id), 'ID'), rest];
};

/** What an answer is but for the values in it. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  // where the path of an id ends in the asker's own map depends on the hash of the id
  if ('siblings' in value && 'end' in value) return ['path', JSON.stringify(value.end).includes('"value"')];
  // how long a proof is depends on the size of the asker's own log
  const members = Object.entries(value).map(([name, each]) => [
    name,
    name === 'inclusion' ? 'proof' : shapeOf(each),
  ]);
  return members.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}
const outcome = ({ status, body, headers }: Answer): unknown[] =>
  status < 400
    ? [status, shapeOf(body), Object.keys(headers).toSorted()]
    : [status, body.code, Object.keys(body)];

const without = (text: string, parts: readonly string[]): string =>
  parts.reduce((rest, part) => rest.replaceAll(part, ''), text);

describe.each(engines)('a tenant of a service on %s', (engine) => {
  let service: TestService;
  let organization: Tenant;
  let victim: Awaited<ReturnType<typeof newProject>>;
  let theirs: Filled;
  let before: Map<string, string>;
  const pairs = new Map<string, Pair>();
  /** What only the victim can know. */
  let secrets: readonly string[];

  const projectOf = async (tenant: Tenant): Promise<string> =>
    (await tenant.call('GET', '/auth/identity')).body.projectId;

  const byKey = async (name: string): Promise<Stranger> => {
    const tenant = await service.signUp(name);
    const own = await fillProject(tenant.call, { name, projectId: await projectOf(tenant) });
    return {
      own,
      ask: ({ method, path, ...rest }, headers = {}) => tenant.call(method, path, { ...rest, headers }),
    };
  };

  const byPerson = async (name: string): Promise<Stranger> => {
    const { own } = await byKey(name);
    const key = await service.idToken(name);
    return {
      own,
      ask: ({ method, path, ...rest }, headers = { 'gov-project': own.projectId }) =>
        service.call(method, path, { ...rest, key, headers }),
    };
  };

  /** Another project of the victim's organization, which is not its home, with a key. */
  const newProject = async (name: string): Promise<{ projectId: string; call: Tenant['call'] }> => {
    const made = { body: { name, environment: 'production' } };
    const { id: projectId } = (await organization.call('POST', '/projects', made)).body;
    const created = await service.call('POST', '/api-keys', {
      key: await service.idToken(organization.person),
      headers: { 'gov-project': projectId },
      body: { name },
    });
    const { key } = created.body;
    return {
      projectId,
      call: (method, path, options = {}) => service.call(method, path, { key, ...options }),
    };
  };

  const bySibling = async (name: string): Promise<Stranger> => {
    const { projectId, call } = await newProject(name);
    const own = await fillProject(call, { name, projectId });
    return {
      own,
      ask: ({ method, path, ...rest }, headers = {}) => call(method, path, { ...rest, headers }),
    };
  };

  const pairOf = (kind: string): Pair => {
    const pair = pairs.get(kind);
    if (pair === undefined) throw new Error(`no strangers by ${kind}`);
    return pair;
  };

  /** Everything that the victim can read by these rows; its checkpoint says how long its log is. */
  const stateOf = async (rows: readonly OperationId[]): Promise<Map<string, string>> => {
    const state = new Map<string, string>();
    // these change with time: what was signed meanwhile, how old it is, and when a receipt was signed
    const timed = new Set<OperationId>(['getIntegrity', 'getLogReceipt']);
    const read = rows.filter((each) => rowOf(each).method === 'GET' && !timed.has(each));
    for (const id of read) {
      const { method, path } = rowRequest(id, theirs);
      const { text } = await victim.call(method, path);
      state.set(id, text.replace(/"(?:lastUsedAt|requestId|instance)":(?:null|"[^"]*")/g, ''));
    }
    return state;
  };
  /** Rows of which the victim reads something else than before. */
  const changedIn = async (rows: readonly OperationId[]): Promise<string[]> =>
    [...(await stateOf(rows))].flatMap(([id, text]) => (text === before.get(id) ? [] : [id]));

  beforeAll(async () => {
    service = await startService({ engine });
    organization = await service.signUp('victim');
    victim = await newProject('victim');
    theirs = await fillProject(victim.call, { name: 'victim', projectId: victim.projectId });
    const makers = Object.entries({ key: byKey, person: byPerson, sibling: bySibling });
    const made = makers.map(async ([kind, make]) => {
      pairs.set(kind, await Promise.all([make(`${kind}-a`), make(`${kind}-b`)]));
    });
    await Promise.all(made);
    secrets = ['victim', ...Object.values(theirs)];
    await stateOf(ofTenants); // the first reader of a bundle makes the index of the log
    before = await stateOf(ofTenants);
  }, 120_000);
  afterAll(() => service.end());

  /** Both answers about ids of the victim and of nobody, which say nothing of the victim. */
  const askBoth = async (
    id: OperationId,
    kind: string,
    idsFor: (given: Ids, own: Filled) => Ids,
  ): Promise<readonly [real: Answer, none: Answer]> => {
    const [one, other] = pairOf(kind);
    const request = rowRequest(id, idsFor(theirs, one.own));
    const real = await one.ask(request);
    const none = await other.ask(rowRequest(id, idsFor(nobodysIds, other.own)));
    const named = Object.values(theirs).filter((each) => JSON.stringify(request).includes(each));
    const said = without(real.text + JSON.stringify(real.headers), named);
    expect(secrets.filter((secret) => said.includes(secret))).toEqual([]);
    return [real, none];
  };

  const answersAsNobody = (kind: string, rows: readonly OperationId[]): void => {
    it.each(rows)('a tenant who asks %s gets nothing of another tenant', async (id) => {
      const [real, none] = await askBoth(id, kind, (given) => given);
      expect(outcome(real)).toEqual(outcome(none));
      if (!isById(id)) return;
      expect(real.status).toBe(404);
      expect(comparable(real)).toEqual(comparable(none));
    });

    it.each(rows.filter((id) => idsOf(id).length > 1))(
      'a tenant who asks %s about one id at a time gets nothing of another tenant',
      async (id) => {
        for (const name of idsOf(id)) {
          const [real, none] = await askBoth(id, kind, (given, own) => ({ ...own, [name]: given[name] }));
          expect([name, ...outcome(real)]).toEqual([name, ...outcome(none)]);
        }
      },
    );
  };

  it.each(ofTenants.filter(isById))(
    'a tenant who asks %s gets for a malformed id what an unknown id gets',
    async (id) => {
      const [{ ask }] = pairOf('key');
      const request = rowRequest(id, nobodysIds);
      const unknown = await ask(request);
      const [path = '', query] = request.path.split('?');
      const malformed = Object.values(nobodysIds).reduce((rest, one) => rest.replace(`/${one}`, '/!'), path);
      const asked = await ask({
        ...request,
        path: query === undefined ? malformed : `${malformed}?${query}`,
      });
      expect(comparable(asked)).toEqual(comparable(unknown));
    },
  );

  describe.each(['key', 'person'])('is nobody to the %s of another organization', (kind) => {
    answersAsNobody(kind, ofTenants);
  });

  it.each(ofTenants)(
    'a tenant who sends %s with Gov-Project of a foreign project gets the same as without one',
    async (id) => {
      const [one, other] = pairOf('person');
      const real = await one.ask(rowRequest(id, theirs), { 'gov-project': theirs.projectId });
      const none = await other.ask(rowRequest(id, nobodysIds), { 'gov-project': nobodysIds.projectId });
      expect([real.status, real.body.code]).toEqual([404, 'NOT_FOUND']);
      expect(comparable(real)).toEqual(comparable(none));
      const [first, second] = pairOf('key');
      const byTheirs = await first.ask(rowRequest(id, theirs), { 'gov-project': theirs.projectId });
      const byNobodys = await second.ask(rowRequest(id, nobodysIds), { 'gov-project': nobodysIds.projectId });
      expect([byTheirs.status, byTheirs.body.errors[0].in]).toEqual([400, 'header']);
      const masked = without(byNobodys.text, [
        second.own.projectId,
        String(byNobodys.headers['x-request-id']),
      ]);
      expect(without(byTheirs.text, [first.own.projectId, String(byTheirs.headers['x-request-id'])])).toBe(
        masked,
      );
    },
  );

  const lists = ofTenants.filter((id) => Object.hasOwn(rowOf(id).query?.properties ?? {}, 'cursor'));

  it.each(lists)('a cursor of one tenant cannot be used by others: %s', async (id) => {
    const { path } = rowRequest(id, theirs);
    const [, filters] = path.split('?');
    const first = `${path}${filters === undefined ? '?' : '&'}limit=1`;
    const cursor: string | null = (await victim.call('GET', first)).body.nextCursor;
    if (cursor === null)
      throw new Error(`no second page of ${first}: record more in test/service/support/filled.ts`);
    expect(cursor).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/victim|run|prf|job|\d{5}/);
    expect((await victim.call('GET', `${first}&cursor=${cursor}`)).status).toBe(200);
    const garbage = Buffer.alloc(Buffer.from(cursor, 'base64url').length, 7).toString('base64url');
    const [one] = pairOf('key');
    const [sibling] = pairOf('sibling');
    // a policy's versions are listed where there is such a policy, a plane's reports where there is such a plane
    const listed = ['policyId', 'dataPlaneId', 'executionId'] as const;
    for (const { own, ask } of [one, sibling]) {
      const at = isById(id)
        ? listed.reduce((path, name) => path.replace(theirs[name], own[name]), first)
        : first;
      const real = await ask({ method: 'GET', path: `${at}&cursor=${cursor}` });
      const none = await ask({ method: 'GET', path: `${at}&cursor=${garbage}` });
      expect([real.status, real.body.code]).toEqual([400, 'INVALID_CURSOR']);
      expect(comparable(real)).toEqual(comparable(none));
    }
  });

  describe('is nobody to the data plane of another organization', () => {
    let planes: readonly [Sender, Sender];
    beforeAll(async () => {
      const newPlane = async (name: string): Promise<Sender> => {
        const tenant = await service.signUp(name);
        return enrolledPlane(tenant.call, { name, projectId: await projectOf(tenant) });
      };
      planes = [await newPlane('plane-a'), await newPlane('plane-b')];
    });

    it.each(ofPlanes)('the data plane of another organization that asks %s gets nothing', async (id) => {
      const ask = (sender: Sender, ids: Ids): Promise<Answer> => {
        const { method, path, body } = rowRequest(id, ids);
        return method === 'GET' ? sender.get(path) : sender.post(path, body);
      };
      const [real, none] = [await ask(planes[0], theirs), await ask(planes[1], nobodysIds)];
      expect(real.status).not.toBe(401);
      expect(outcome(real)).toEqual(outcome(none));
      const named = Object.values(theirs).filter((each) =>
        JSON.stringify(rowRequest(id, theirs)).includes(each),
      );
      expect(secrets.filter((secret) => without(real.text, named).includes(secret))).toEqual([]);
      if (hasId(id)) expect(comparable(real)).toEqual(comparable(none));
    });
  });

  it('the data plane of another organization changes nothing', async () => {
    expect(await changedIn(ofTenants)).toEqual([]);
  });

  describe('is nobody to the key of another project of its organization', () => {
    answersAsNobody('sibling', ofProjects);

    it('the key of another project of the organization changes nothing', async () => {
      expect(await changedIn(ofProjects)).toEqual([]);
    });
  });

  it('a tenant shares run ids, client ids and idempotency keys with others, and no data', async () => {
    const [one] = pairOf('key');
    const body = event({ runId: 'shared', clientEventId: 'shared:1' });
    const headers = { 'idempotency-key': 'shared' };
    const created = await victim.call('POST', '/events', { body, headers });
    const same = await one.ask({ method: 'POST', path: '/events', body }, headers);
    expect([created.status, same.status]).toEqual([201, 201]);
    expect(same.headers['idempotent-replayed']).toBeUndefined();
    expect(same.body.eventId).not.toBe(created.body.eventId);
    const different = event({ runId: 'shared', clientEventId: 'shared:1', action: 'different' });
    const [sibling] = pairOf('sibling');
    expect((await sibling.ask({ method: 'POST', path: '/events', body: different }, headers)).status).toBe(
      201,
    );
    expect((await victim.call('GET', '/events/count?runId=shared')).body.count).toBe(1);
  });

  it('a tenant has a log, keys and proofs of its own', async () => {
    const [one] = pairOf('key');
    const [sibling] = pairOf('sibling');
    const [checkpoints, keys] = await Promise.all(
      ['/log/checkpoint', '/log/key'].map((path) =>
        Promise.all([
          victim.call('GET', path),
          one.ask({ method: 'GET', path }),
          sibling.ask({ method: 'GET', path }),
        ]),
      ),
    );
    expect(new Set(checkpoints?.map(({ text }) => text.split('\n')[0])).size).toBe(3);
    expect(new Set(keys?.map(({ text }) => text)).size).toBe(3);
    const body = { runId: one.own.runId, composed: { layers: ['log_inclusion'] } };
    const proof = await one.ask({ method: 'POST', path: '/proofs', body });
    expect(proof.body.layers.every(({ verified }: { verified: boolean }) => verified)).toBe(true);
    const verified = await one.ask({ method: 'POST', path: '/proofs/verify', body: proof.body });
    expect(verified.body.verified).toBe(true);
    // the whole artifact is of no use in another log either
    const elsewhere = await sibling.ask({ method: 'POST', path: '/proofs/verify', body: proof.body });
    expect([elsewhere.status, elsewhere.body.code]).toEqual([400, 'PROOF_NOT_FOUND']);
  });
});

describe('a cursor', () => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService();
    tenant = await service.signUp('reader');
    for (const runId of ['run-1', 'run-1', 'run-2']) {
      await tenant.call('POST', '/events', { body: event({ runId }) });
    }
  });
  afterAll(() => service.end());

  it('a cursor continues its own list to the end, and no other list or filter', async () => {
    const path = '/events?runId=run-1&limit=1';
    const { nextCursor: cursor } = (await tenant.call('GET', path)).body;
    const next = await tenant.call('GET', `${path}&cursor=${cursor}`);
    expect([next.body.events.length, next.body.nextCursor]).toEqual([1, null]);
    const wrong = [
      `/events?runId=run-2&cursor=${cursor}`,
      `/events?runId=run-1&order=desc&cursor=${cursor}`,
      `/events?runId=run-1&eventType=x&cursor=${cursor}`,
      `/runs?cursor=${cursor}`,
      `/jobs?cursor=${cursor}`,
      `/runs?cursor=${cursor?.slice(0, -1)}`,
      `/runs?cursor=${'A'.repeat(60)}`,
      '/runs?cursor=x',
    ];
    for (const each of wrong) {
      const { status, body } = await tenant.call('GET', each);
      expect([status, body.code], each).toEqual([400, 'INVALID_CURSOR']);
    }
  });
});
