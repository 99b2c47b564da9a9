import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '../../../src/host/process/clock.ts';
import { createHosting, refuseOtherKeys } from '../../../src/host/service/hosting.ts';
import { createSeal } from '../../../src/host/keys/seal.ts';
import { createKeys, readKeys, type HostKeys } from '../../../src/host/keys/disk.ts';
import { readServiceConfig } from '../../../src/host/service/config.ts';
import { serviceInit } from '../../../src/host/service/init.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { HostParts } from '../../../src/service/hosting/parts.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-hosting-'));
const dataDir = join(folder, 'service');
let keys: HostKeys;
let hosting: HostParts;
beforeAll(async () => {
  await serviceInit({ dataDir, name: 'gov.example.com', env: {} });
  keys = readKeys(dataDir);
  hosting = await createHosting(readServiceConfig(dataDir, {}, {}), keys, silentLog);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a new project', () => {
  it('a new project has its own logs under the name of the installation, which begin with the keys', () => {
    const { project, genesis } = hosting.makeProject('org_1', 'sandbox');
    expect(project).toMatchObject({ organizationId: 'org_1', environment: 'sandbox' });
    expect(project.auditOrigin).toBe(`gov.example.com/${project.projectId}/audit`);
    expect(project.meteringOrigin).toBe(`gov.example.com/${project.projectId}/metering/0`);
    const { record } = genesis as { record: string };
    expect(JSON.parse(record)).toMatchObject({
      type: 'gov.genesis/1',
      origin: project.auditOrigin,
      keys: keys.signers(project.auditOrigin).map(({ verifierKey }) => verifierKey),
    });
    expect(hosting.makeProject('org_1', 'sandbox').project.projectId).not.toBe(project.projectId);
  });
});

describe('a seal', () => {
  const seal = createSeal(Buffer.alloc(32, 1), randomBytes);

  it('a seal opens what it sealed and reveals nothing of the content', () => {
    const sealed = seal.seal('gov_live_secret');
    expect(seal.open(sealed)).toBe('gov_live_secret');
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('gov_live');
    expect(seal.seal('gov_live_secret')).not.toBe(sealed);
    expect(seal.open(seal.seal(''))).toBe('');
  });

  it('a seal opens nothing that was changed, truncated or sealed by others', () => {
    const bytes = Buffer.from(seal.seal('secret'), 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes);
      altered[at]! ^= 1;
      expect(seal.open(altered.toString('base64url'))).toBeNull();
      expect(seal.open(bytes.subarray(0, at).toString('base64url'))).toBeNull();
    }
    const other = createSeal(Buffer.alloc(32, 2), randomBytes);
    expect(seal.open(other.seal('secret'))).toBeNull();
    for (const text of ['', '{"key":"gov_live_…"}', 'sealed:']) expect(seal.open(text)).toBeNull();
  });
});

describe('an installation', () => {
  it('an installation accepts only the keys that its first process had', async () => {
    let kept: string | null = null;
    const store = {
      installation: async () => kept,
      claimInstallation: async (text: string) => (kept ??= text),
    };
    await refuseOtherKeys(store, keys);
    await refuseOtherKeys(store, readKeys(dataDir));
    const text = String(kept);
    expect(text).not.toContain(keys.storeKey.toString('hex'));
    const other = join(folder, 'other');
    cpSync(dataDir, other, { recursive: true });
    rmSync(join(other, 'keys'), { recursive: true });
    const fresh = createKeys(other, randomBytes);
    const problem = await refuseOtherKeys(store, fresh).catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(/from a backup$/),
    });
    for (const file of ['keys/log.ed25519.pem', 'keys/attestation.p256.pem', 'keys/store.key']) {
      expect(String(problem)).toContain(`${file} (expected `);
    }
    const mixed = { ...keys, storeKey: fresh.storeKey };
    const only = await refuseOtherKeys(store, mixed).catch((error: unknown) => error);
    expect(String(only)).toContain('these differ: keys/store.key (expected ');
  });
});
