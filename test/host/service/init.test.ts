import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { serviceInit } from '../../../src/host/service/init.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-service-init-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const place = (): string => join(folder, String((count += 1)), 'service');
const fileOf = (dataDir: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8')) as Record<string, unknown>;

describe('service init', () => {
  it('service init makes a directory that only its owner can enter, with keys and configuration', async () => {
    const dataDir = place();
    expect(await serviceInit({ dataDir, env: {} })).toEqual({
      created: true,
      dataDir,
      configFile: join(dataDir, 'service.json'),
      name: 'gov.local',
      listen: '127.0.0.1:7470',
      engine: 'sqlite',
    });
    expect((statSync(dataDir).mode & 0o777).toString(8)).toBe('700');
    const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
    expect(names).toEqual(expect.arrayContaining(['service.json', 'keys/log.ed25519.pem', 'keys/store.key']));
    for (const name of names.filter((each) => each !== 'keys')) {
      expect([name, (statSync(join(dataDir, name)).mode & 0o777).toString(8)]).toEqual([name, '600']);
    }
    expect(fileOf(dataDir)).toEqual({
      listen: '127.0.0.1:7470',
      metricsListen: '127.0.0.1:7471',
      name: 'gov.local',
    });
  });

  it('service init names logs after the public address, unless a name is given', async () => {
    const publicUrl = 'https://gov.example.com';
    expect((await serviceInit({ dataDir: place(), publicUrl, env: {} })).name).toBe('gov.example.com');
    expect((await serviceInit({ dataDir: place(), publicUrl, name: 'a.example', env: {} })).name).toBe(
      'a.example',
    );
  });

  it('service init stores the database URL without its password', async () => {
    const dataDir = place();
    const env = { GOV_DATABASE: 'postgres://gov:hush@db.example:5432/gov?sslmode=require' };
    expect(await serviceInit({ dataDir, env })).toMatchObject({ engine: 'postgres' });
    expect(fileOf(dataDir)['database']).toBe('postgres://gov@db.example:5432/gov?sslmode=require');
  });

  it('service init finds an existing service and changes nothing in it', async () => {
    const dataDir = place();
    await serviceInit({ dataDir, listen: '127.0.0.1:1', env: {} });
    const before = readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mtimeMs);
    expect(await serviceInit({ dataDir, listen: '127.0.0.1:1', env: {} })).toMatchObject({
      created: false,
      listen: '127.0.0.1:1',
    });
    for (const other of [
      { listen: '127.0.0.1:2' },
      { metricsListen: 'off' },
      { name: 'other.example' },
      { publicUrl: 'https://other.example' },
      { database: 'postgres://gov@127.0.0.1/gov' },
      { issuer: { url: 'https://id.example', clientId: 'gov' } },
    ])
      await expect(serviceInit({ dataDir, ...other, env: {} })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/^expected --[a-z-]+ .*service\.json has, got .*nothing was changed/),
      });
    expect(readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mtimeMs)).toEqual(before);
  });

  it('service init refuses a directory with other files', async () => {
    const dataDir = join(place(), '..');
    await serviceInit({ dataDir: join(dataDir, 'other'), env: {} });
    await expect(serviceInit({ dataDir, env: {} })).rejects.toMatchObject({ code: 'CONFLICT' });
    writeFileSync(join(folder, 'file'), '');
    await expect(serviceInit({ dataDir: join(folder, 'file'), env: {} })).rejects.toThrow(
      /an empty directory, got something else/,
    );
  });

  it('service init that is refused leaves no files behind', async () => {
    const wrong = [
      { listen: 'nonsense' },
      { metricsListen: ':1' },
      { publicUrl: 'gov.example.com' },
      { name: 'a name' },
      { database: 'postgres://gov:hush@127.0.0.1/gov' },
    ];
    for (const options of wrong) {
      const dataDir = place();
      await expect(serviceInit({ dataDir, env: {}, ...options })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
      expect(existsSync(dataDir)).toBe(false);
    }
  });
});
