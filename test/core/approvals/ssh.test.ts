import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPublicKey, sshSignatureFault, sshString } from '../../../src/core/approvals/ssh.ts';
import { SshSigner } from '../../support/signers.ts';

const namespace = 'gov-approval@v1';
const message = '{"type":"gov.approval-statement/1"}';
const signers: SshSigner[] = [];
const signer = (...kind: string[]): SshSigner => {
  const made = new SshSigner(kind.length === 0 ? undefined : kind);
  signers.push(made);
  return made;
};
const keyOf = ({ publicKey }: { publicKey: string }): string => {
  const read = readPublicKey(publicKey);
  if ('fault' in read) throw new Error(read.fault);
  return read.publicKey;
};
afterAll(() => {
  for (const each of signers) each.end();
});

/** The verdict of ssh-keygen -Y verify on the same input. */
function oracle(signature: string, publicKey: string): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'gov-verify-'));
  writeFileSync(join(dir, 'allowed'), `ada ${publicKey}\n`);
  writeFileSync(join(dir, 'sig'), signature);
  const args = [
    '-Y',
    'verify',
    '-f',
    join(dir, 'allowed'),
    '-I',
    'ada',
    '-n',
    namespace,
    '-s',
    join(dir, 'sig'),
  ];
  const { status } = spawnSync('ssh-keygen', args, { input: message });
  rmSync(dir, { recursive: true });
  return status === 0;
}

describe('SSH signatures', () => {
  it.each([
    ['ed25519', ['-t', 'ed25519']],
    ['ECDSA on P-256', ['-t', 'ecdsa', '-b', '256']],
    ['ECDSA on P-384', ['-t', 'ecdsa', '-b', '384']],
    ['ECDSA on P-521', ['-t', 'ecdsa', '-b', '521']],
    ['RSA of 2048 bits', ['-t', 'rsa', '-b', '2048']],
  ])('accepts what ssh-keygen signs with %s, in both hashes, and nothing with one bit changed', (_, kind) => {
    const key = signer(...kind);
    for (const digest of ['sha256', 'sha512']) {
      const signature = key.sign(message, { hash: digest });
      const expected = { publicKey: keyOf(key), namespace, message };
      expect(sshSignatureFault(signature, expected)).toBeNull();
      expect(sshSignatureFault(signature, { ...expected, message: `${message} ` })).toContain('invalid');
      const [head = '', ...lines] = signature.trim().split('\n');
      const bytes = Buffer.from(lines.slice(0, -1).join(''), 'base64');
      for (let at = 0; at < bytes.length; at += 7) {
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        const changed = `${head}\n${bytes.toString('base64')}\n${lines.at(-1)}\n`;
        expect(sshSignatureFault(changed, expected), `byte ${at}`).not.toBeNull();
        bytes[at] = (bytes[at] ?? 0) ^ 1;
      }
    }
  });

  it('reads the fingerprint that ssh-keygen prints', () => {
    const key = signer();
    const { stdout } = spawnSync('ssh-keygen', ['-l', '-f', `${key.file}.pub`], { encoding: 'utf8' });
    expect(readPublicKey(key.publicKey)).toMatchObject({ fingerprint: stdout.split(' ')[1] });
  });

  it('rejects another namespace and the key of another person', () => {
    const [key, other] = [signer(), signer()];
    const expected = { publicKey: keyOf(key), namespace, message };
    expect(sshSignatureFault(key.sign(message, { namespace: 'file' }), expected)).toContain(
      'expected namespace gov-approval@v1, got file',
    );
    expect(sshSignatureFault(other.sign(message), expected)).toContain('expected a signature by');
  });

  it.each([
    ['an RSA key of 1024 bits', () => signer('-t', 'rsa', '-b', '1024').publicKey, 'got 1024'],
    ['a private key', () => '-----BEGIN OPENSSH PRIVATE KEY-----', 'expected one line'],
    ['two lines', () => `${signer().publicKey}\n${signer().publicKey}`, 'expected one line'],
    [
      'a key under the name of another type',
      () => signer().publicKey.replace('ssh-ed25519', 'ssh-rsa'),
      'got ssh-rsa',
    ],
    [
      'a key with trailing bytes',
      () =>
        `ssh-ed25519 ${Buffer.concat([Buffer.from(signer().publicKey.split(' ')[1] ?? '', 'base64'), Buffer.of(0)]).toString('base64')}`,
      'expected one line',
    ],
    ['options before the key', () => `no-pty ${signer().publicKey}`, 'got no-pty'],
    ['nothing', () => '', 'got none'],
  ])('refuses to enrol %s', (_, line, fault) => {
    const read = readPublicKey(line());
    expect('fault' in read ? read.fault : '').toContain(fault);
  });

  it('accepts an SHA-1 signature of an RSA key as little as ssh-keygen does', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
    const number = (text: string) => sshString(Buffer.concat([Buffer.of(0), Buffer.from(text, 'base64url')]));
    const blob = Buffer.concat([sshString('ssh-rsa'), sshString(Buffer.from(e, 'base64url')), number(n)]);
    const signature = signedBy(blob, (data) => [
      sshString('ssh-rsa'),
      sshString(sign('sha1', data, privateKey)),
    ]);
    const line = `ssh-rsa ${blob.toString('base64')}`;
    expect([
      sshSignatureFault(signature, { publicKey: line, namespace, message }) === null,
      oracle(signature, line),
    ]).toEqual([false, false]);
  });

  it('accepts a security key only with the touch of its user, which ssh-keygen -Y verify does not ask for', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const x = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    const type = 'sk-ssh-ed25519@openssh.com';
    const blob = Buffer.concat([sshString(type), sshString(x), sshString('ssh:')]);
    const line = `${type} ${blob.toString('base64')}`;
    for (const [flags, isValid] of [
      [1, true],
      [5, true],
      [0, false],
      [4, false],
    ] as const) {
      const tail = Buffer.from([flags, 0, 0, 0, 9]);
      const signature = signedBy(blob, (data) => {
        const signed = Buffer.concat([
          hash('sha256', 'ssh:', 'buffer'),
          tail,
          hash('sha256', data, 'buffer'),
        ]);
        return [sshString(type), sshString(sign(null, signed, privateKey)), tail];
      });
      const got = sshSignatureFault(signature, { publicKey: line, namespace, message }) === null;
      expect([flags, got, oracle(signature, line)]).toEqual([flags, isValid, true]);
    }
  });
});

/** The armored text of a signature that these parts make. */
function signedBy(blob: Buffer, make: (data: Buffer) => Buffer[]): string {
  const data = Buffer.concat([
    Buffer.from('SSHSIG'),
    ...[namespace, '', 'sha512'].map(sshString),
    sshString(hash('sha512', message, 'buffer')),
  ]);
  const parts = [blob, namespace, '', 'sha512', Buffer.concat(make(data))].map(sshString);
  const bytes = Buffer.concat([Buffer.from('SSHSIG'), Buffer.from([0, 0, 0, 1]), ...parts]);
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? [];
  return `-----BEGIN SSH SIGNATURE-----\n${lines.join('\n')}\n-----END SSH SIGNATURE-----\n`;
}
