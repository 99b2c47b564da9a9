import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { artifactOf, events } from '../../../core/exports/log.ts';
import { logSigner, privateKey, origin, trust } from '../../../core/proofs/log.ts';
import { ed25519Signer } from '../../../../src/core/note/signed.ts';
import { emptyDirectory, gov, govHere, shell } from '../../support/tool.ts';

const folder = emptyDirectory();
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const text = artifactOf(events(), { later: 2 });
const artifact = file('events.json', text);
const trustFile = file('trust', formatTrust(trust));
const key = logSigner.verifierKey;

describe('an export', () => {
  it('an export is verified offline under a trusted key, with exit code 0', async () => {
    for (const flags of [
      ['--key', key],
      ['--trust', trustFile],
      ['--trust', trustFile, '--offline'],
    ]) {
      const { code, stdout } = await govHere(['proofs', 'verify', artifact, ...flags, '-o', 'json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        verified: true,
        code: null,
        source: 'offline',
        trustedOrigin: origin,
        resource: 'audit_events',
        exportId: 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8',
        manifest: { rowCount: 4 },
      });
    }
  });

  it('a CSV export proves nothing and is refused with exit code 2', async () => {
    const csv = file('events.csv', 'eventId,runId,metadata\r\nevt_1,r,{}\r\n');
    const { code, stdout, stderr } = await govHere(['proofs', 'verify', csv, '--key', key]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('got CSV, which proves nothing');
    expect(stderr).toContain('gov export get ID');
  });

  it('the verification of an export names the line whose bytes are not text', async () => {
    const lines = text.split('\n').map((line) => Buffer.from(line));
    lines[2] = Buffer.from([...lines[2]!.subarray(0, 9), 0xff]);
    const broken = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])).subarray(0, -1);
    const path = join(folder, 'bytes.json');
    writeFileSync(path, broken);
    const { code, stdout } = await govHere(['proofs', 'verify', path, '--key', key, '-o', 'json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'MALFORMED_EXPORT' });
    expect(stdout).toContain('line 3: expected UTF-8, got other bytes');
  });

  it('an export is verified from standard input, without home directory or network', async () => {
    const env = { HTTP_PROXY: 'http://127.0.0.1:1', GOV_BASE_URL: 'http://127.0.0.1:1/' };
    const answer = await gov(['proofs', 'verify', '-', '--key', key, '-o', 'id'], { input: text, env });
    expect(answer).toMatchObject({ code: 0, stdout: 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8\n' });
  });

  it('the verification of an export shows people what is proved and what is not', async () => {
    const { stdout } = await govHere(['proofs', 'verify', artifact, '--key', key], { columns: 100 });
    expect(stdout).toContain('✓ verified');
    expect(stdout).toContain('4 rows of audit_events, of the log at 6 leaves');
    expect(stdout).toContain('by key_1');
    expect(stdout).toContain('NOT PROVED COMPLETE');
    expect(stdout).not.toContain('to a digest in that record');
    const explained = await govHere(['proofs', 'verify', artifact, '--key', key, '--explain'], {
      columns: 200,
    });
    expect(explained.stdout).toContain('to a digest in that record');
  });

  it('a changed export gives exit code 3, also without a key', async () => {
    const altered = file('altered.json', text.replace('"cost":0.1', '"cost":0.2'));
    expect((await govHere(['proofs', 'verify', altered, '--key', key])).code).toBe(3);
    const { code, stdout } = await govHere(['proofs', 'verify', altered, '-o', 'json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ verified: false, code: 'ROW_MISMATCH' });
  });

  it('an export under another key of the same name gives exit code 3', async () => {
    const stranger = ed25519Signer(origin, privateKey('stranger')).verifierKey;
    expect((await govHere(['proofs', 'verify', artifact, '--key', stranger])).code).toBe(3);
  });

  it('an export without any key gives exit code 2 and the flags to use', async () => {
    const { code, stderr, stdout } = await govHere(['proofs', 'verify', artifact, '-o', 'json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
    expect(stderr).toContain('give --key VKEY or --trust FILE');
  });

  it('an export without proof, a truncated one and another file give exit code 2', async () => {
    const plain = file('plain.json', artifactOf(events(), { isProved: false }));
    const none = await govHere(['proofs', 'verify', plain, '--key', key, '-o', 'json']);
    expect([none.code, JSON.parse(none.stdout).code]).toEqual([2, 'EXPORT_WITHOUT_PROOF']);
    const half = file('half.json', text.slice(0, text.length / 2));
    const cut = await govHere(['proofs', 'verify', half, '--key', key, '-o', 'json']);
    expect([cut.code, JSON.parse(cut.stdout).code]).toEqual([2, 'MALFORMED_EXPORT']);
    const other = file('other.json', '{"schemaVersion":"1.0"}\n');
    expect((await govHere(['proofs', 'verify', other, '--key', key])).code).toBe(2);
    expect((await govHere(['proofs', 'verify', join(folder, 'none'), '--key', key])).code).toBe(2);
    expect((await govHere(['proofs', 'verify', folder, '--key', key])).code).toBe(2);
  });

  it('the exit code of a verification does not depend on a reader that closes the pipe', async () => {
    const altered = file('altered.json', text.replace('"cost":0.1', '"cost":0.2'));
    const { stdout } = await shell(
      `gov proofs verify '${altered}' --key '${key}' | true; echo "\${PIPESTATUS[0]}"`,
    );
    expect(stdout).toBe('3\n');
  });
});
