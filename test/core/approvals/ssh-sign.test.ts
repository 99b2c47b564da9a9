import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPublicKey, sshSignatureFault } from '../../../src/core/approvals/ssh.ts';
import { sshPublicKey, sshSignature } from '../../../src/core/approvals/ssh-sign.ts';

describe('a signature of an opened key', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const line = sshPublicKey(privateKey);
  const armored = sshSignature(privateKey, { namespace: 'gov-approval@v1', message: 'statement' });

  it('is one of its public key, namespace and text alone', () => {
    expect(sshPublicKey(publicKey)).toBe(line);
    expect(readPublicKey(line)).toMatchObject({ publicKey: line });
    const of = { publicKey: line, namespace: 'gov-approval@v1', message: 'statement' };
    expect(sshSignatureFault(armored, of)).toBeNull();
    for (const other of [
      { message: 'other' },
      { namespace: 'file' },
      { publicKey: sshPublicKey(generateKeyPairSync('ed25519').publicKey) },
    ])
      expect(sshSignatureFault(armored, { ...of, ...other })).toMatch(/^expected /);
  });

  it('is accepted by ssh-keygen', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-ssh-'));
    writeFileSync(join(folder, 'allowed'), `ada ${line}\n`);
    writeFileSync(join(folder, 'sig'), armored);
    const args = '-Y verify -f allowed -I ada -n gov-approval@v1 -s sig'.split(' ');
    const printed = execFileSync('ssh-keygen', args, { cwd: folder, input: 'statement', encoding: 'utf8' });
    expect(printed).toContain('Good "gov-approval@v1" signature for ada');
  });
});
