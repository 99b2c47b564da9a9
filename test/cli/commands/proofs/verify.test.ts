import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { number } from '../../../../src/cli/terminal/numbers.ts';
import { bundleText } from '../../../../src/core/proofs/bundle.ts';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { json, problem, startServer } from '../../../client/server.ts';
import type { TestServer } from '../../../client/server.ts';
import { logSigner, origin, privateKey, ProofLog, recordSampleRun, trust } from '../../../core/proofs/log.ts';
import { ed25519Signer } from '../../../../src/core/note/signed.ts';
import { emptyDirectory, gov, govHere, shell } from '../../support/tool.ts';

const folder = emptyDirectory();
const log = new ProofLog();
recordSampleRun(log);
const { privateKey: dsseKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const text = bundleText(log.prove('run-1', { dsseKey }));
const lean = bundleText(log.prove('run-1', { events: 'none', graph: false }));
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const bundle = file('run 1.govproof.json', text);
const trustFile = file('trust', formatTrust(trust));
const key = logSigner.verifierKey;
const stranger = ed25519Signer(origin, privateKey('stranger')).verifierKey;
const proof = JSON.parse(text).proof;

describe('a bundle', () => {
  it('a bundle is verified offline under a trusted key, with exit code 0', async () => {
    for (const argv of [
      ['--key', key],
      ['--trust', trustFile],
      ['--key', key, '--offline'],
    ]) {
      const { code, stdout } = await govHere(['proofs', 'verify', bundle, ...argv, '-o', 'json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        verified: true,
        code: null,
        source: 'offline',
        proofId: proof.proofId,
        trustedOrigin: origin,
      });
    }
  });

  it('paths of the bundle and of the trust file are relative to the folder of the caller', async () => {
    const words = ['proofs', 'verify', 'run 1.govproof.json', '--trust', 'trust'];
    expect((await govHere(words, { cwd: folder })).code).toBe(0);
    expect((await govHere(words, { cwd: '/' })).code).toBe(2);
  });

  it('a bundle is verified from standard input', async () => {
    expect(await gov(['proofs', 'verify', '-', '--key', key, '-o', 'id'], { input: text })).toMatchObject({
      code: 0,
      stdout: `${proof.proofId}\n`,
    });
  });

  it('the verification of a bundle needs no network and no context', async () => {
    const env = { GOV_BASE_URL: 'http://127.0.0.1:1/', HTTP_PROXY: 'http://127.0.0.1:1' };
    expect((await govHere(['proofs', 'verify', bundle, '--key', key], { env })).code).toBe(0);
  });

  it('a bundle under another key of the same name is not verified, with exit code 3', async () => {
    const { code, stdout } = await govHere(['proofs', 'verify', bundle, '--key', stranger, '-o', 'json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ verified: false, code: 'SIGNATURE_INVALID' });
  });

  it('a bundle without any key is not verified, with exit code 2 and the flags to use', async () => {
    const { code, stdout, stderr } = await govHere(['proofs', 'verify', bundle, '-o', 'json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
    expect(stderr).toContain('give --key VKEY or --trust FILE');
  });

  it('a layer that rests on a changed event is called not checked in a pipe, and not failed', async () => {
    const altered = JSON.parse(text);
    altered.events[0].record = altered.events[0].record.replace('"eventType":"', '"eventType":"x');
    const changed = file('event.json', JSON.stringify(altered));
    const { stdout } = await govHere(['proofs', 'verify', changed, '--key', key, '-o', 'csv']);
    const layers = stdout.split('\n').filter((line) => line.startsWith('layer,'));
    expect(layers).toContainEqual(expect.stringMatching(/^layer,\w+,not_checked,not_checked,/));
    for (const line of layers) expect(line).not.toMatch(/,failed,not_checked/);
  });

  it('a changed bundle gives exit code 3 even without a key', async () => {
    const changed = file('changed.json', text.replace('"verified":true', '"verified":false'));
    expect((await govHere(['proofs', 'verify', changed])).code).toBe(3);
    expect((await govHere(['proofs', 'verify', changed, '--key', key])).code).toBe(3);
  });

  it('a file that is not a bundle gives exit code 2', async () => {
    for (const content of ['', 'not json', '{}', '[]', text.slice(0, -1)]) {
      const { code, stdout } = await govHere([
        'proofs',
        'verify',
        file('odd', content),
        '--offline',
        '--key',
        key,
      ]);
      expect([code, stdout.includes('MALFORMED_BUNDLE')]).toEqual([2, true]);
    }
    const page = await govHere(['proofs', 'verify', file('page.json', '<!DOCTYPE html>'), '--key', key]);
    expect(page.stderr).toMatch(
      /page\.json is HTML or XML, not a proof bundle or an export; fetch a bundle: /,
    );
    expect(await govHere(['proofs', 'verify', join(folder, 'nowhere')])).toMatchObject({
      code: 2,
      stdout: '',
    });
    expect(await govHere(['proofs', 'verify', folder])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/it is a directory/),
    });
  });

  it('the verification of a bundle exits with 3 although its reader closed the pipe', async () => {
    const line = `gov proofs verify '${bundle}' --key '${stranger}' -o json | true; exit \${PIPESTATUS[0]}`;
    expect((await shell(line)).code).toBe(3);
  });
});

describe('trust', () => {
  it('the trust file comes from the chosen context when no flag is given', async () => {
    const config = emptyDirectory();
    const contexts = { vendor: { kind: 'service', baseUrl: 'https://gov.example.test/api/v1', trustFile } };
    writeFileSync(join(config, 'config.json'), JSON.stringify({ currentContext: 'vendor', contexts }));
    const { code, stdout } = await govHere(['proofs', 'verify', bundle, '-o', 'json'], {
      env: { GOV_CONFIG_DIR: config },
    });
    expect([code, JSON.parse(stdout).trustFrom]).toEqual([0, trustFile]);
    const named = await govHere(['proofs', 'verify', bundle, '--key', stranger], {
      env: { GOV_CONFIG_DIR: config },
    });
    expect(named.code).toBe(3);
  });

  it('a trust file that cannot be read is refused with 2', async () => {
    const odd = file('odd.trust', 'log nonsense\n');
    expect(await govHere(['proofs', 'verify', bundle, '--trust', odd])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/line 1/),
    });
    expect(await govHere(['proofs', 'verify', bundle, '--key', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--key: /),
    });
    const foreign = ed25519Signer('other.example/log', privateKey('x')).verifierKey;
    expect(await govHere(['proofs', 'verify', bundle, '--key', key, '--key', foreign])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected keys of one log'),
    });
  });
});

describe('what a person sees', () => {
  it('a person sees which layers are recomputed or attested, and a warning when no policy was active', async () => {
    const full = await govHere(['proofs', 'verify', bundle, '--key', key, '--color', 'never'], {
      columns: 100,
    });
    expect(full.stdout).toContain('✓ verified  prf_');
    expect(full.stdout).toMatch(/✓ event_integrity +recomputed/);
    expect(full.stdout).toMatch(/! policy_compliance +\S+ +NO POLICY WAS ACTIVE/);
    const attested = file('lean.json', lean);
    const { stdout } = await govHere(['proofs', 'verify', attested, '--key', key, '--color', 'never'], {
      columns: 100,
    });
    expect(stdout).toMatch(/✓ event_integrity +attested/);
    expect(stdout).toContain('attested: the signed word of the log');
  });

  it('a pipe gets the warning that no policy was active on standard error', async () => {
    const { stderr, stdout } = await govHere(['proofs', 'verify', bundle, '--key', key]);
    expect(stderr).toContain('NO POLICY WAS ACTIVE');
    expect(stdout.split('\n')[0]).toBe(`proof\t${proof.proofId}\tverified\t`);
    expect(stdout).toContain('layer\tpolicy_compliance\tpassed\t');
  });

  it('a person sees why a bundle is not verified', async () => {
    const argv = ['proofs', 'verify', bundle, '--key', stranger, '--color', 'never'];
    const { stdout } = await govHere(argv, { columns: 100 });
    expect(stdout).toContain('✗ NOT VERIFIED');
    expect(stdout).toMatch(
      /why +A checkpoint or a report is not signed by a trusted key\n +authentic no\n +compliant not checked\n/,
    );
  });
});

const hasJq = existsSync('/usr/bin/jq') || existsSync('/usr/local/bin/jq');

describe('--explain', () => {
  it('--explain shows every preimage and a command for it', async () => {
    const { stdout } = await govHere(['proofs', 'verify', bundle, '--key', key, '--explain', '-o', 'json']);
    const { explanations } = JSON.parse(stdout);
    expect(explanations.length).toBeGreaterThanOrEqual(proof.layers.length + 2);
    const shown = await govHere(['proofs', 'verify', bundle, '--key', key, '--explain', '--color', 'never'], {
      columns: 80,
    });
    for (const { hash } of explanations) expect(shown.stdout).toContain(hash);
    expect(shown.stdout).toContain('gov.layer/v1\n{');
    const piped = await govHere(['proofs', 'verify', bundle, '--key', key, '--explain']);
    expect(piped.stdout).toContain('gov.layer/v1\n{');
  });

  it.skipIf(!hasJq)(
    'the commands of --explain reproduce each hash (skipped where jq is not installed)',
    async () => {
      const { stdout } = await govHere(['proofs', 'verify', bundle, '--key', key, '--explain', '-o', 'json']);
      for (const { how, hash } of JSON.parse(stdout).explanations) {
        const made = execFileSync('sh', ['-c', how]).toString();
        expect(`sha256:${made.slice(0, 64)}`).toBe(hash);
      }
    },
  );
});

describe('by the service', () => {
  let server: TestServer;
  let env: Record<string, string>;
  let verified = true;
  beforeAll(async () => {
    server = await startServer((seen, response) => {
      if (seen.url.includes('/bundle')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(text);
      } else if (seen.body.includes('prf_00000000000000000000000000'))
        problem(response, 'PROOF_NOT_FOUND', 400);
      else
        json(response, 200, {
          proofId: proof.proofId,
          verified,
          ...(verified ? {} : { code: 'STORED_MISMATCH' }),
          layers: [{ name: 'event_integrity', passed: verified, basis: 'recomputed' }],
        });
    });
    env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
  });
  afterAll(() => server.close());

  it('gov proofs verify sends a proof id to the service, with the same exit codes', async () => {
    expect((await govHere(['proofs', 'verify', proof.proofId], { env })).code).toBe(0);
    verified = false;
    const refused = await govHere(['proofs', 'verify', proof.proofId, '-o', 'json'], { env });
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      verified: false,
      code: 'STORED_MISMATCH',
      source: 'service',
    });
    const told = await govHere(['proofs', 'verify', proof.proofId, '-o', 'table'], { env });
    expect(told.stdout).toContain('The artifact differs from the stored proof');
    verified = true;
    const whole = await govHere(['proofs', 'verify', proof.proofId, '-o', 'table'], { env });
    expect(whole.stdout).toContain('none missing: not checked (a bundle shows whether events are missing');
    expect((await govHere(['proofs', 'verify', 'prf_00000000000000000000000000'], { env })).code).toBe(5);
  });

  it('gov proofs verify sends a bare proof to the service because it has no preimages', async () => {
    const bare = file('proof.json', JSON.stringify(proof));
    expect((await govHere(['proofs', 'verify', bare], { env })).code).toBe(0);
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toEqual(proof);
    expect((await govHere(['proofs', 'verify', bare, '--offline', '--key', key], { env })).code).toBe(2);
  });

  it('gov proofs verify --offline does not contact the service', async () => {
    const before = server.seen.length;
    expect(await govHere(['proofs', 'verify', proof.proofId, '--offline'], { env })).toMatchObject({
      code: 2,
    });
    expect(server.seen.length).toBe(before);
  });

  it('gov proofs get writes the bundle byte for byte into a pipe or a file', async () => {
    const out = join(folder, 'fetched.json');
    const { code, stderr } = await govHere(
      ['proofs', 'get', proof.proofId, '--out', out, '--events', 'none'],
      { env },
    );
    expect([code, readFileSync(out, 'utf8')]).toEqual([0, text]);
    expect(stderr).toContain(`wrote ${out} (${number(Buffer.byteLength(text))} bytes, sha256 `);
    // the bundle has no index, and nobody asked for one without
    expect(stderr).toContain('none missing: not checked, because the index of the log is still built');
    expect(server.seen.at(-1)?.url).toContain('/bundle?events=none');
    expect((await gov(['proofs', 'get', proof.proofId, '--bundle'], { env })).stdout).toBe(text);
    const asked = await govHere(['proofs', 'get', proof.proofId, '--v1', '--bundle'], { env });
    expect([asked.stdout, asked.stderr]).toEqual([text, '']);
    expect(existsSync(`${out}.part`)).toBe(false);
  });

  it('gov proofs get replaces no file without --force, and then contacts no service', async () => {
    const out = join(folder, 'held.json');
    writeFileSync(out, 'evidence');
    const before = server.seen.length;
    const argv = ['proofs', 'get', proof.proofId, '--bundle', '--out', out];
    expect(await govHere(argv, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${out} exists already`),
    });
    expect(server.seen.length).toBe(before);
    expect(readFileSync(out, 'utf8')).toBe('evidence');
    expect((await govHere([...argv, '--force'], { env })).code).toBe(0);
    expect(readFileSync(out, 'utf8')).toBe(text);
  });

  it('gov proofs get prints the tlog-proof and the DSSE envelope of a bundle', async () => {
    const tlog = await govHere(['proofs', 'get', proof.proofId, '--format', 'tlog-proof'], { env });
    expect(tlog.stdout).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex [0-9]+\n/);
    const dsse = await govHere(['proofs', 'get', proof.proofId, '--format', 'dsse'], { env });
    expect(JSON.parse(dsse.stdout)).toMatchObject({ payloadType: 'application/vnd.in-toto+json' });
  });

  it('gov proofs get reports a place that it cannot write to', async () => {
    mkdirSync(join(folder, 'taken'), { recursive: true });
    const argv = ['proofs', 'get', proof.proofId, '--out', join(folder, 'taken')];
    expect(await govHere(argv, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/taken: expected a file, .*, got a directory/),
    });
  });
});
