/** Keys of subjects in a table: destroyed with the erasure, whatever copies there are. SQLite: `test/store/erasure/subject-keys.test.ts`. */
import { Client, type QueryResultRow } from 'pg';
import { describe, expect, it } from 'vitest';
import { createBodySeal } from '../../../../src/store/erasure/body-seal.ts';
import { fsckPostgres } from '../../../../src/store/postgres/write/fsck.ts';
import { openPostgres, type PostgresStore } from '../../../../src/store/postgres/store.ts';
import { allAbout, ending, erasing } from '../../support/erasing.ts';
import {
  appended,
  codeOf,
  event,
  genesis,
  HandClock,
  projectOf,
  request,
  seededBytes,
} from '../../support/fixture.ts';
import { missing, server } from '../support/described.ts';

const masterKey = seededBytes('master')(32);
const [ann, bob] = ['a1'.repeat(16), 'b2'.repeat(16)];
const value = 'what nobody may read of a subject that was erased';
const about = (...subjects: string[]) => ({ ...event({ metadata: { value } }), subjects });

interface KeyRow {
  readonly key_id: string;
  readonly subject: string;
  readonly secret: Buffer;
}

class Plane {
  readonly url: string;
  readonly superuser: string;
  readonly #drop: () => Promise<unknown>;
  readonly #opened: PostgresStore[] = [];

  constructor(urls: { superuser: string; serving: string }, drop: () => Promise<unknown>) {
    this.url = urls.serving;
    this.superuser = urls.superuser;
    this.#drop = drop;
  }

  static async made(): Promise<Plane> {
    const database = await server.database();
    const plane = new Plane(database, () => database.drop());
    const store = await plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    await appended(store, request([about(ann), about(bob), about(ann, bob), about()]));
    return plane;
  }

  async open(key: Uint8Array | undefined = masterKey): Promise<PostgresStore> {
    const randomBytes = seededBytes(`process ${this.#opened.length}`);
    const options = { url: this.url, clock: new HandClock(), randomBytes, connections: 3, masterKey: key };
    const store = await openPostgres(options);
    this.#opened.push(store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#opened.splice(0)) await store.close();
  }

  async ask<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new Client(this.superuser);
    await client.connect();
    await client.query("SET session_replication_role = replica; SET search_path = 'gov'");
    const { rows } = await client.query<Row>(text, values);
    await client.end();
    return rows;
  }

  keys = (): Promise<KeyRow[]> => this.ask<KeyRow>('SELECT * FROM subject_key ORDER BY subject, key_id');

  /** Another database with all of this one; nobody may be connected. */
  async copy(): Promise<Plane> {
    await this.close();
    const name = new URL(this.url).pathname.slice(1);
    const other = `${name}_copy${Math.floor(performance.now())}`;
    const admin = async (text: string): Promise<void> => {
      const client = new Client(server.url);
      await client.connect();
      await client.query(text).finally(() => client.end());
    };
    await admin(`CREATE DATABASE ${other} TEMPLATE ${name}`);
    const at = (url: string): string => url.replace(`/${name}`, `/${other}`);
    const urls = { superuser: at(this.superuser), serving: at(this.url) };
    return new Plane(urls, () => admin(`DROP DATABASE ${other} WITH (FORCE)`));
  }

  /** Its keys are those of another copy from here on. */
  async takeKeys(from: Plane): Promise<void> {
    const keys = await from.keys();
    await this.ask('DELETE FROM subject_key');
    for (const { key_id: id, subject, secret } of keys) {
      const project = 'INSERT INTO subject_key SELECT project, $1, $2, $3 FROM project';
      await this.ask(project, [id, subject, secret]);
    }
  }

  async fsck() {
    const { problems, unopened } = await fsckPostgres({ url: this.url, deep: true, masterKey });
    return { kinds: problems.map(({ kind }) => kind), unopened };
  }

  async drop(): Promise<void> {
    await this.close();
    await this.#drop();
  }
}

const eraseAnn = async (store: PostgresStore): Promise<void> => {
  await appended(store, ending(ann, await allAbout(store, ann)));
};
const whole = { kinds: [], unopened: 0 };

describe.skipIf(missing !== null)('a subject key in PostgreSQL', () => {
  it('the last erasure destroys the subject key, so that rows of an earlier dump do not open', async () => {
    const plane = await Plane.made();
    const store = await plane.open();
    expect((await store.leaf('prj_a', 3))!.disclosures).toContain(value);
    const dumped = await plane.ask<{ idx: string; disclosures: string; keys: string | null }>(
      'SELECT position & 15 AS idx, disclosures, keys FROM body WHERE position & 15 > 0 ORDER BY position',
    );
    const [ofAnn, ofBob] = await plane.keys();
    const ids = [ofAnn!.key_id, ofBob!.key_id, [ofAnn!.key_id, ofBob!.key_id].toSorted().join(','), null];
    expect(dumped.map(({ keys }) => keys)).toEqual(ids);
    await eraseAnn(store);
    const left = await plane.keys();
    expect(left.map(({ key_id: id, secret }) => [id, secret.equals(Buffer.alloc(32))])).toEqual([
      [ofAnn!.key_id, true],
      [ofBob!.key_id, false],
    ]);
    expect(left[0]!.subject).not.toBe(ann);
    const seal = createBodySeal(masterKey);
    const opened = dumped.map(({ disclosures, keys }) => {
      const named = left.filter(({ key_id: id }) => keys?.includes(id) === true);
      const keysOfBody = named.map(({ key_id: id, secret }) => ({ id, secret }));
      return seal.open(disclosures, keysOfBody)?.includes(value) === true;
    });
    expect(opened).toEqual([false, true, false, true]);
    await appended(store, request([about(ann)]));
    expect(await plane.keys()).toHaveLength(3);
    expect(await plane.fsck()).toEqual(whole);
    await plane.drop();
  });

  it('a subject has one key, no matter which process records first', async () => {
    const plane = await Plane.made();
    const [one, other] = [await plane.open(), await plane.open()];
    const both = [one, other, one, other].map((store) => appended(store, request([about('c3'.repeat(16))])));
    await Promise.all(both);
    expect(await plane.keys()).toHaveLength(3);
    const leaves = await other.leavesAbout('prj_a', 'c3'.repeat(16), { limit: 9 });
    expect(leaves.map(({ disclosures }) => disclosures!.includes(value))).toEqual([true, true, true, true]);
    await eraseAnn(one);
    expect(await other.hasSubjectKey('prj_a', ann)).toBe(false);
    const [made] = await appended(other, request([about(ann)]));
    expect((await one.leaf('prj_a', made!.index))!.disclosures).toContain(value);
    expect(await plane.fsck()).toEqual(whole);
    await plane.drop();
  });

  it('an older copy of the log lacks destroyed keys until the subject is erased there as well', async () => {
    const plane = await Plane.made();
    const older = await plane.copy();
    await eraseAnn(await plane.open());
    await older.takeKeys(plane);
    expect(await older.fsck()).toEqual({ kinds: ['body_missing', 'body_missing'], unopened: 0 });
    const old = await older.open();
    expect(await old.leaf('prj_a', 1)).toMatchObject({ disclosures: '[]', isGone: true });
    expect((await old.leaf('prj_a', 2))!.disclosures).toContain(value);
    await eraseAnn(old);
    expect(await old.leaf('prj_a', 1)).not.toHaveProperty('isGone');
    expect(await older.fsck()).toEqual(whole);
    await older.drop();
    await plane.drop();
  });

  it('the start destroys a subject key again when an older copy of the keys was restored', async () => {
    const plane = await Plane.made();
    const older = await plane.copy();
    await eraseAnn(await plane.open());
    await plane.close();
    await plane.takeKeys(older);
    expect(await plane.fsck()).toEqual({ kinds: ['erasure_mismatch'], unopened: 0 });
    await (await plane.open()).sweep(0);
    expect((await plane.keys()).filter(({ secret }) => secret.equals(Buffer.alloc(32)))).toHaveLength(1);
    expect(await plane.fsck()).toEqual(whole);
    // a log without any keys is told from one that lacks some
    await plane.ask('DELETE FROM subject_key');
    expect(await plane.fsck()).toEqual({ kinds: [], unopened: 1 });
    await older.drop();
    await plane.drop();
  });

  it('a key that was missing at the erasure is destroyed once it is back, after any kind of erasure', async () => {
    const carl = 'c3'.repeat(16);
    const plane = await Plane.made();
    const older = await plane.copy();
    await appended(await plane.open(), request([about(carl), about(carl)]));
    const newest = await plane.copy();
    const made = await plane.keys();
    await plane.takeKeys(older);
    const store = await plane.open();
    const [one, other] = await allAbout(store, carl);
    await appended(store, erasing([one!]));
    const [later] = await appended(store, request([about(carl)]));
    const rest = (await allAbout(store, carl)).filter(({ index }) =>
      [other!.index, later!.index].includes(index),
    );
    await appended(store, erasing([rest[0]!]));
    await appended(store, ending(carl, rest.slice(1)));
    expect(await plane.fsck()).toEqual(whole);
    await plane.takeKeys(newest);
    expect((await plane.fsck()).kinds).toEqual(['erasure_mismatch']);
    await (await plane.open()).sweep(0);
    const left = await plane.keys();
    expect(left.filter(({ secret }) => made.some((each) => each.secret.equals(secret)))).toHaveLength(2);
    expect(await plane.fsck()).toEqual(whole);
    for (const each of [plane, older, newest]) await each.drop();
  });

  it('figures of the leaves of a run count the keys that their bodies name, while these are there', async () => {
    const plane = await Plane.made();
    const store = await plane.open();
    const keys = async (): Promise<number> => {
      const events = { runId: 'r1', type: 'gov.event/1' } as const;
      return (await store.leafFigures('prj_a', events, { from: 0, before: 9 })).keys;
    };
    expect(await keys()).toBe(4);
    const [ofAnn] = await plane.keys();
    await plane.ask('UPDATE subject_key SET secret = $2 WHERE key_id = $1', [
      ofAnn!.key_id,
      Buffer.alloc(32),
    ]);
    expect(await keys()).toBe(2);
    await plane.ask('DELETE FROM subject_key');
    expect(await keys()).toBe(0);
    await plane.drop();
  });

  it('the serving role can destroy a subject key but cannot change or delete it otherwise', async () => {
    const plane = await Plane.made();
    const refused = async (text: string) => {
      const client = new Client(plane.url);
      await client.connect();
      await client.query("SET search_path = 'gov'; SELECT set_config('gov.project', '1', false)");
      return codeOf(client.query(text).finally(() => client.end()));
    };
    const [first] = await plane.ask<{ project: number }>('SELECT project FROM project');
    expect(first!.project).toBe(1);
    expect(await refused("UPDATE subject_key SET secret = decode(repeat('11', 32), 'hex')")).toBe('23514');
    expect(await refused(`UPDATE subject_key SET subject = '${bob}'`)).toBe('23514');
    expect(await refused('DELETE FROM subject_key')).toBe('42501');
    expect(await refused('DELETE FROM erased_key')).toBe('42501');
    expect(
      await refused("SELECT set_config('gov.project', '2', false); UPDATE subject_key SET key_id = ''"),
    ).toBe('none');
    expect(await plane.fsck()).toEqual(whole);
    await plane.drop();
  });
});
