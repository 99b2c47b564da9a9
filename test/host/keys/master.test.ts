import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planeServe } from '../../../plane/serve/start.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { readMasterKey } from '../../../src/host/keys/master.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { engines, startService } from '../../support/hosted.ts';
import { checkedCalls, event, startPlane } from '../../support/serving.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-master-'));
  mkdirSync(join(folder, 'keys'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const key = Buffer.alloc(32, 7);
const other = Buffer.alloc(32, 8);
const file = (name: string, content: string | Buffer, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
};
const read = (env: Record<string, string>) => readMasterKey(folder, env);

describe('a master key', () => {
  it('a master key is undefined when none is given and none is needed', () => {
    expect(read({})).toBeUndefined();
    expect(read({ CREDENTIALS_DIRECTORY: folder })).toBeUndefined();
    expect(existsSync(join(folder, 'keys/master.check'))).toBe(false);
  });

  it.each([
    ['bytes in a file', () => ({ GOV_MASTER_KEY_FILE: file('k', key) })],
    ['hex in a file', () => ({ GOV_MASTER_KEY_FILE: file('k', `${key.toString('hex')}\n`) })],
    ['base64 in the environment', () => ({ GOV_MASTER_KEY: key.toString('base64') })],
    ['hex in the environment', () => ({ GOV_MASTER_KEY: key.toString('hex') })],
    ['a systemd credential', () => (file('master-key', key, 0o400), { CREDENTIALS_DIRECTORY: folder })],
  ])('a master key is read from %s, and a check value for it is stored', (_, env) => {
    expect(Buffer.from(read(env())!)).toEqual(key);
    const check = join(folder, 'keys/master.check');
    expect(readFileSync(check, 'utf8')).toMatch(/^[0-9a-f]{32}\n$/);
    expect(statSync(check).mode & 0o777).toBe(0o600);
    expect(Buffer.from(read({ GOV_MASTER_KEY: key.toString('hex') })!)).toEqual(key);
    expect(() => read({ GOV_MASTER_KEY: other.toString('hex') })).toThrow(/got another one/);
    expect(() => read({})).toThrow(/got none; give the master key in GOV_MASTER_KEY_FILE/);
  });

  it.each([
    ['a file that others read', () => ({ GOV_MASTER_KEY_FILE: file('k', key, 0o644) })],
    ['a file that is not there', () => ({ GOV_MASTER_KEY_FILE: join(folder, 'none') })],
    ['31 bytes', () => ({ GOV_MASTER_KEY_FILE: file('k', key.subarray(1)) })],
    ['33 bytes', () => ({ GOV_MASTER_KEY_FILE: file('k', Buffer.alloc(33, 7)) })],
    ['words', () => ({ GOV_MASTER_KEY: 'correct horse battery staple' })],
  ])('a master key is refused as %s', (_, env) => {
    expect(() => read(env())).toThrow(/expected/);
    expect(existsSync(join(folder, 'keys/master.check'))).toBe(false);
  });

  it.each(['', 'c0ffee\n', '\0'.repeat(33)])(
    'a master key is not reported as another one when keys/master.check is %j',
    (torn) => {
      file('keys/master.check', torn);
      expect(() => read({ GOV_MASTER_KEY: key.toString('hex') })).toThrow(
        /master\.check, got a damaged file; remove it/,
      );
    },
  );

  it('a readonly check of a master key stores nothing', () => {
    readMasterKey(folder, { GOV_MASTER_KEY: key.toString('hex') }, { readonly: true });
    expect(existsSync(join(folder, 'keys/master.check'))).toBe(false);
  });
});

describe('a plane with a master key', () => {
  it('a plane with a master key serves, proves and is checked with it, and starts with no other key', async () => {
    const env = { GOV_MASTER_KEY: key.toString('hex') };
    const plane = await startPlane({ env });
    const body = event({ runId: 'sealed', metadata: { secret: 'not on the disk' } });
    const { eventId } = (await plane.call('POST', '/events', { body })).body;
    expect((await plane.call('GET', `/events/${eventId}`)).body.metadata.secret).toBe('not on the disk');
    const { proofId } = (await plane.call('POST', '/proofs', { body: { runId: 'sealed' } })).body;
    expect((await plane.call('POST', '/proofs/verify', { body: { proofId } })).body.verified).toBe(true);
    const { dataDir } = plane;
    expect((await fsck({ dataDir, deep: true, env })).problems).toEqual([]);
    await plane.close();
    expect(readFileSync(join(dataDir, 'gov.db')).includes('not on the disk')).toBe(false);
    for (const wrong of [{}, { GOV_MASTER_KEY: other.toString('hex') }]) {
      const start = planeServe({ dataDir, env: wrong, log: silentLog });
      await expect(start).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
      await expect(fsck({ dataDir, env: wrong })).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
    }
    const again = await planeServe({ dataDir, env, log: silentLog, overloadDelayMs: 60_000 });
    const { call } = checkedCalls(again.baseUrl);
    expect((await call('GET', `/events/${eventId}`, { key: plane.key })).status).toBe(200);
    await again.close();
    await plane.end();
  });

  it('a plane without keys/master.check starts with no other master key, and stores no unused one', async () => {
    const env = { GOV_MASTER_KEY: key.toString('hex') };
    const plane = await startPlane({ env });
    await plane.call('POST', '/events', { body: event({ metadata: { secret: 'sealed' } }) });
    await plane.close();
    const { dataDir } = plane;
    const check = join(dataDir, 'keys', 'master.check');
    rmSync(check);
    for (const [wrong, got] of [
      [{}, 'none'],
      [{ GOV_MASTER_KEY: other.toString('hex') }, 'another one'],
    ] as const) {
      const refused = { code: 'STORAGE_FAULT', message: expect.stringContaining(`got ${got}`) };
      const start = planeServe({ dataDir, env: wrong, log: silentLog });
      await expect(start).rejects.toMatchObject(refused);
      await expect(fsck({ dataDir, env: wrong })).rejects.toMatchObject(refused);
      expect(existsSync(check)).toBe(false);
    }
    await (await planeServe({ dataDir, env, log: silentLog, overloadDelayMs: 60_000 })).close();
    expect(existsSync(check)).toBe(true);
    await plane.end();
  });
});

describe.skipIf(!engines.includes('postgres'))('a service on PostgreSQL with a master key', () => {
  it('a service with a master key serves and proves with it, and no process starts with another key', async () => {
    const env = { GOV_MASTER_KEY: key.toString('hex') };
    const service = await startService({ engine: 'postgres', env });
    const { call } = await service.signUp('ada');
    const body = event({ runId: 'sealed', metadata: { secret: 'not in the database' } });
    const { eventId } = (await call('POST', '/events', { body })).body;
    expect((await call('GET', `/events/${eventId}`)).body.metadata.secret).toBe('not in the database');
    const { proofId } = (await call('POST', '/proofs', { body: { runId: 'sealed' } })).body;
    expect((await call('POST', '/proofs/verify', { body: { proofId } })).body.verified).toBe(true);
    const { dataDir } = service;
    expect((await fsck({ dataDir, deep: true, env })).problems).toEqual([]);
    await (await service.again({ env })).close();
    const refused = async (wrong: Record<string, string>) => {
      await expect(service.again({ env: wrong })).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
    };
    await refused({});
    // as on another machine, whose directory knows nothing
    rmSync(join(dataDir, 'keys', 'master.check'));
    await refused({});
    await refused({ GOV_MASTER_KEY: other.toString('hex') });
    await (await service.again({ env })).close();
    await service.end();
  });
});
