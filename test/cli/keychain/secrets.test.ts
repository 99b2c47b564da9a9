/**
 * Credentials in a real Secret Service (gnome-keyring on a session bus of its own), and beside one that never answers.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateUserState } from '../../../src/cli/context/config-write.ts';
import { placeOf, readCredentials, type StoredCredential } from '../../../src/cli/context/credentials.ts';
import { whyNoKeychain, writeKeychain } from '../../../src/cli/keychain/secrets.ts';
import { probeKeychain } from '../../../src/cli/keychain/probe.ts';
import { emptyDirectory } from '../support/tool.ts';

const token = `gov_cli_${'x'.repeat(40)}`;
const credential: StoredCredential = {
  kind: 'person',
  token,
  origin: 'https://gov.example',
  expiresAt: null,
};
const home = emptyDirectory();
const base = { HOME: home, PATH: process.env['PATH'] ?? '' };

/** Stores the credential with a context that refers to it. */
const keep = (env: Record<string, string>, stored: StoredCredential = credential): Promise<void> =>
  updateUserState(env, ({ credentials }) => ({
    config: {
      contexts: { acme: { kind: 'service', baseUrl: 'https://gov.example/api/v1', credential: 'acme' } },
    },
    credentials: { ...credentials, acme: stored },
  }));
const fileOf = (env: Record<string, string>): string =>
  readFileSync(join(env['GOV_CONFIG_DIR'] ?? '', 'credentials.json'), 'utf8');

const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const isHere = has('dbus-daemon') && has('gnome-keyring-daemon');

describe.skipIf(!isHere)(
  'the keychain (skipped where dbus-daemon or gnome-keyring-daemon is missing)',
  () => {
    let bus: ChildProcess;
    let env: Record<string, string>;
    beforeAll(async () => {
      bus = spawn('dbus-daemon', ['--session', '--print-address', '--nofork'], { env: base });
      const address = await new Promise<string>((resolve) =>
        bus.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())),
      );
      const runtime = join(home, 'runtime');
      mkdirSync(runtime, { mode: 0o700 });
      env = { ...base, DBUS_SESSION_BUS_ADDRESS: address, XDG_RUNTIME_DIR: runtime };
      const unlock = ['--unlock', '--components=secrets', '--daemonize'];
      spawnSync('gnome-keyring-daemon', unlock, { env, input: 'password' });
      env['GOV_CONFIG_DIR'] = join(home, 'gov');
    });
    afterAll(() => {
      spawnSync('pkill', ['-f', `gnome-keyring-daemon --unlock`]);
      bus.kill();
    });

    it('the secret is in the keychain, and the file names only the place', async () => {
      await keep(env);
      expect(fileOf(env)).not.toContain(token);
      expect(JSON.parse(fileOf(env))).toMatchObject({ credentials: { acme: { store: 'keychain' } } });
      const { acme } = readCredentials(env);
      expect(acme!.token).toBe(token);
      expect(placeOf(env, acme!)).toBe('the keychain');
    });

    it('a changed secret replaces the old one, and other changes leave it', async () => {
      await keep(env, { ...credential, token: `${token}2` });
      await updateUserState(env, (state) => state);
      expect(readCredentials(env)['acme']!.token).toBe(`${token}2`);
    });

    it('two directories of configuration have secrets of their own', async () => {
      const other = { ...env, GOV_CONFIG_DIR: join(home, 'other') };
      await keep(other, { ...credential, token: `${token}3` });
      expect(readCredentials(other)['acme']!.token).toBe(`${token}3`);
      expect(readCredentials(env)['acme']!.token).toBe(`${token}2`);
    });

    it('a removed credential leaves the keychain', async () => {
      const stale = readCredentials(env)['acme']!;
      await updateUserState(env, () => ({ config: { contexts: {} }, credentials: {} }));
      expect(readCredentials(env)).toEqual({});
      expect(() => stale.token).toThrow('the keychain has no credential acme any more');
    });

    it('GOV_KEYCHAIN=0 stores the secret in the file', async () => {
      const off = { ...env, GOV_CONFIG_DIR: join(home, 'off'), GOV_KEYCHAIN: '0' };
      await keep(off);
      expect(fileOf(off)).toContain(token);
      expect(whyNoKeychain(off)).toBe('GOV_KEYCHAIN is off');
    });
  },
);

describe.skipIf(process.platform !== 'linux')('without a keychain that answers (Linux)', () => {
  it('a session without a bus stores the secret in a file that only its user can read', async () => {
    const env = { ...base, GOV_CONFIG_DIR: join(home, 'headless') };
    expect(whyNoKeychain(env)).toBe('this session has no Secret Service');
    await keep(env);
    expect(readCredentials(env)).toMatchObject({ acme: { token, store: 'file' } });
  });

  it('a bus that accepts and never answers costs 3 seconds, and the secret goes to the file', async () => {
    const socket = join(emptyDirectory(), 'bus');
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const env = {
      ...base,
      GOV_CONFIG_DIR: join(home, 'hanging'),
      DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}`,
    };
    expect(await probeKeychain(env, 300)).toBe('no answer within 0.3 s');
    const before = performance.now();
    expect(writeKeychain(env, 'a', 'b')).toBe('no answer within 3 s');
    expect(performance.now() - before).toBeLessThan(10_000);
    await keep(env);
    server.close();
    expect(readCredentials(env)).toMatchObject({ acme: { token, store: 'file' } });
  });
});
