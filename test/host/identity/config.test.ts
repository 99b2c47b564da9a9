import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { issuerOf, type IssuerFile } from '../../../src/host/identity/config.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gov-issuer-config-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const url = 'https://id.example.com';
const read = (members: Partial<IssuerFile> = {}, publicUrl: string | null = null, env = {}) =>
  issuerOf({ url, clientId: 'gov', ...members }, { path: 'service.json', dataDir, env, publicUrl });
const secretFile = (mode: number): string => {
  writeFileSync(join(dataDir, 'secret'), 'from the file\n');
  chmodSync(join(dataDir, 'secret'), mode);
  return 'secret';
};

describe('the identity provider in service.json', () => {
  it('a client is public without a secret, and returns to the console of the public address', () => {
    expect(issuerOf(undefined, { path: '', dataDir, env: {}, publicUrl: null })).toBeNull();
    expect(read()).toEqual({ url, clientId: 'gov' });
    expect(read({}, 'https://gov.example.com')?.redirectUri).toBe('https://gov.example.com/console/callback');
  });

  it('a client secret is read from a file that only its owner reads, or from the environment', () => {
    expect(read({ clientSecretFile: secretFile(0o600) })?.clientSecret).toBe('from the file');
    const env = { GOV_ISSUER_CLIENT_SECRET: 'from the environment' };
    expect(read({ clientSecretFile: 'secret' }, null, env)?.clientSecret).toBe('from the environment');
    expect(() => read({ clientSecretFile: secretFile(0o644) })).toThrow(/0600|owner|others/);
    expect(() => read({ clientSecretFile: 'missing' })).toThrow('which cannot be read');
  });

  it('a redirect URI below a path of the public address is accepted', () => {
    const redirectUri = 'https://gov.example.com/base/console/callback';
    expect(read({ redirectUri }, 'https://gov.example.com')?.redirectUri).toBe(redirectUri);
  });

  it.each([
    ['http://gov.example.com/console/callback', 'expected an https URL (http on loopback)'],
    ['https://gov.example.com/console/callback?x=1', 'without user, query and fragment'],
    ['https://gov.example.com/console/', 'expected an address that ends in /console/callback'],
    ['https://evil.example/console/callback', 'expected an address below publicUrl, https://gov.example.com'],
  ])('the redirect URI %s is refused', (redirectUri, words) => {
    const refused = (): unknown => read({ redirectUri }, 'https://gov.example.com');
    expect(refused).toThrow(words);
    expect(refused).toThrow('service.json /issuer/redirectUri');
  });
});
