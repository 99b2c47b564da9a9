/** What the store suite says of bodies, on PostgreSQL whose bodies are sealed at rest; and what lies in the database. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import { openPostgres, openPostgresReader } from '../../../src/store/postgres/store.ts';
import { digestsOf, erasing } from '../support/erasing.ts';
import {
  appended,
  codeOf,
  event,
  genesis,
  HandClock,
  projectOf,
  request,
  seededBytes,
} from '../support/fixture.ts';
import { bodySuite } from '../suite/all.ts';
import { missing, server } from './support/described.ts';

const masterKey = seededBytes('master')(32);

async function sealed() {
  const database = await server.database();
  const clock = new HandClock();
  const bytes = seededBytes('store');
  const open = (key: Uint8Array | undefined = masterKey) =>
    openPostgres({ url: database.serving, clock, randomBytes: bytes, masterKey: key });
  const store = await open();
  await store.createProject(projectOf('a'), genesis('a'));
  const bodies = async (): Promise<string> => {
    const client = new Client(database.superuser);
    await client.connect();
    const { rows } = await client.query<{ disclosures: string }>('SELECT disclosures FROM gov.body');
    await client.end();
    return rows.map(({ disclosures }) => disclosures).join('\n');
  };
  return { database, clock, open, store, bodies };
}

if (missing === null) {
  await bodySuite(async () => {
    const { database, clock, open, store: first } = await sealed();
    let store = first;
    return {
      store,
      clock,
      reopen: async () => {
        await store.close();
        return (store = await open());
      },
      drop: async () => {
        await store.close();
        await database.drop();
      },
    };
  });
}

const secret = 'a value that nobody may read in the database';

describe.skipIf(missing !== null)('a sealed body in PostgreSQL', () => {
  it('a sealed body is unreadable in PostgreSQL and opens with its key alone', async () => {
    const { database, open, store, bodies } = await sealed();
    const [made] = await appended(store, request([event({ metadata: { secret } })]));
    const { index } = made!;
    expect((await store.leaf('prj_a', index))!.disclosures).toContain(secret);
    expect(await bodies()).toContain('gcm1.');
    expect(await bodies()).not.toContain(secret);
    const reader = openPostgresReader({ url: database.serving, masterKey });
    expect((await reader.leaf('prj_a', index))!.disclosures).toContain(secret);
    await reader.close();
    const check = (key: Uint8Array) => fsckPostgres({ url: database.serving, deep: true, masterKey: key });
    expect((await check(masterKey)).problems).toEqual([]);
    const others = randomBytes(32);
    const other = await open(others);
    expect(await codeOf(other.leaf('prj_a', index))).toBe('STORAGE_FAULT');
    await other.close();
    expect((await check(others)).problems.map(({ kind }) => kind)).toContain('body_altered');
    await store.close();
    await database.drop();
  });

  it('a sealed body is erased like others; bodies from before the key stay clear until then', async () => {
    const { database, clock, store, bodies } = await sealed();
    const bytes = seededBytes('clear');
    const clear = await openPostgres({ url: database.serving, clock, randomBytes: bytes });
    const [before] = await appended(clear, request([event({ metadata: { secret } })]));
    await clear.close();
    const [made] = await appended(store, request([event({ metadata: { other: 'sealed' } })]));
    expect((await store.leaf('prj_a', before!.index))!.disclosures).toContain(secret);
    for (const { index } of [before!, made!]) {
      const leaf = (await store.leaf('prj_a', index))!;
      const [one = '', ...others] = digestsOf(leaf).values();
      await appended(store, erasing([{ index, digests: [one] }]));
      await appended(store, erasing([{ index, digests: others }]));
      expect((await store.leaf('prj_a', index))!.disclosures).toBe('[]');
    }
    expect(await bodies()).not.toContain(secret);
    await store.close();
    expect((await fsckPostgres({ url: database.serving, deep: true, masterKey })).problems).toEqual([]);
    await database.drop();
  });
});
