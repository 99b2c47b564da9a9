/** What the store suite says of bodies, on SQLite whose bodies are sealed at rest; and what lies on disk. PostgreSQL: `test/store/postgres/sealed.long.test.ts`. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { createBodySeal } from '../../../src/store/erasure/body-seal.ts';
import { openReader, openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import {
  appended,
  codeOf,
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
} from '../support/fixture.ts';
import { digestsOf, erasing } from '../support/erasing.ts';
import { TestPlane } from '../support/plane.ts';
import { bodySuite } from '../suite/all.ts';

const masterKey = seededBytes('master')(32);

await bodySuite(async () => {
  const dataDir = newFolder();
  const clock = new HandClock();
  const open = (): SqliteStore =>
    openStore({ dataDir, clock, randomBytes: seededBytes('store'), reserveBytes: 0, masterKey });
  let store = open();
  await store.createProject(projectOf('a'), genesis('a'));
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      return (store = open());
    },
    drop: async () => {
      await store.close();
      dropFolder(dataDir);
    },
  };
});

const secret = 'a value that nobody may read on the disk';

async function sealedPlane(more: { thread?: boolean } = {}) {
  const plane = new TestPlane();
  const store = plane.open({ masterKey, ...more });
  await store.createProject(projectOf('a'), genesis('a'));
  const [made] = await appended(store, request([event({ metadata: { secret } })]));
  return { plane, store, index: made!.index };
}

describe('a sealed body', () => {
  it.each([false, true])(
    'a sealed body is unreadable on disk, with the writer in a thread: %s',
    async (thread) => {
      const { plane, store, index } = await sealedPlane({ thread });
      expect((await store.leaf('prj_a', index))!.disclosures).toContain(secret);
      expect(plane.holds(secret)).toEqual([]);
      const reader = openReader(storeFiles(plane.dataDir).main, masterKey);
      expect((await reader.leaf('prj_a', index))!.disclosures).toContain(secret);
      reader.close();
      await store.close();
      expect(plane.holds(secret)).toEqual([]);
      const checked = await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey });
      expect(checked.problems).toEqual([]);
      plane.drop();
    },
  );

  it('a sealed body does not open with another key, which is reported like an altered body', async () => {
    const { plane, store, index } = await sealedPlane();
    await store.close();
    for (const key of [undefined, randomBytes(32)]) {
      const other = plane.open({ masterKey: key });
      expect(await codeOf(other.leaf('prj_a', index))).toBe('STORAGE_FAULT');
      expect(
        (await other.runLeaves('prj_a', 'r1', { fromSeq: 0, beforeIndex: 9, limit: 9, bodies: false }))
          .length,
      ).toBe(1);
      await other.close();
      const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey: key });
      expect(problems.map(({ kind }) => kind)).toEqual(['body_altered']);
    }
    plane.sql("UPDATE body SET disclosures = substr(disclosures, 1, length(disclosures) - 2) || 'AA'");
    const altered = plane.open({ masterKey });
    expect(await codeOf(altered.leaf('prj_a', index))).toBe('STORAGE_FAULT');
    await altered.close();
    plane.drop();
  });

  it('a sealed body is erased like others; bodies from before the key stay clear until then', async () => {
    const plane = await new TestPlane().filled(10);
    const store = plane.open({ masterKey });
    const [made] = await appended(store, request([event({ metadata: { secret } })]));
    for (const index of [3, made!.index]) {
      const leaf = (await store.leaf('prj_a', index))!;
      const [one = '', ...others] = digestsOf(leaf).values();
      await appended(store, erasing([{ index, digests: [one] }]));
      await appended(store, erasing([{ index, digests: others }]));
      expect((await store.leaf('prj_a', index))!.disclosures).toBe('[]');
    }
    expect((await store.leaf('prj_a', 4))!.disclosures).toContain('execute');
    await store.close();
    expect((await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey })).problems).toEqual([]);
    plane.drop();
  });
});

describe('a seal', () => {
  const seal = createBodySeal(masterKey);

  it('a seal opens its own texts, never repeats a ciphertext, and refuses changed ones', () => {
    for (const text of ['', '[]', 'grüße 🚀', 'x'.repeat(100_000)]) {
      const sealed = seal.seal(text);
      expect(seal.open(sealed)).toBe(text);
      expect(seal.seal(text)).not.toBe(sealed);
      expect(createBodySeal(randomBytes(32)).open(sealed)).toBeNull();
    }
    const sealed = seal.seal('[]');
    for (let at = 5; at < sealed.length - 1; at++) {
      const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
      expect(seal.open(changed)).toBeNull();
    }
    for (const text of ['gcm1.', 'gcm1.AAAA']) expect(seal.open(text)).toBeNull();
    expect(seal.open('[["clear"]]')).toBe('[["clear"]]');
  });
});
