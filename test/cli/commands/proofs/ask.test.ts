/** `gov proofs ask`, what it writes, and what `gov proofs verify` says of it and of a bundle that misses nothing. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { Account } from '../../support/account.ts';

const account = new Account();
let plane: TestPlane;
let env: Record<string, string>;
let trust = '';
beforeAll(async () => {
  plane = await startPlane();
  env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
  trust = join(plane.dataDir, 'trust');
  const events = Array.from({ length: 6 }, (_, n) => event({ runId: 'r', metadata: { n } }));
  await plane.call('POST', '/events/batch', { body: { events } });
});
afterAll(() => plane.end());

const answer = join(account.folder, 'r.govanswer.json');
const plain = { NO_COLOR: '1' };
const ask = (...words: string[]) =>
  account.gov(['proofs', 'ask', ...words, '--trust', trust], { env: { ...env, ...plain }, columns: 200 });
const verify = (file: string) =>
  account.gov(['proofs', 'verify', file, '--trust', trust], { env: plain, columns: 200 });

describe('gov proofs ask', () => {
  it('gov proofs ask writes an answer that verifies without the service', async () => {
    const asked = await ask('--run', 'r', '--out', answer);
    expect([asked.code, asked.stderr]).toEqual([0, expect.stringContaining('gov proofs verify')]);
    const { code, stdout } = await verify(answer);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/✓ verified +exactly 6 events of run r below leaf \d+/),
    ]);
    expect(stdout).toContain('UNWITNESSED');
  });

  it('gov proofs ask says that no event exists, and in which period', async () => {
    const { stdout } = await ask('--type', 'tool.denied', '--until', '2026-01-01T00:00:00Z', '--out', answer);
    expect(stdout).toContain('no events of type tool.denied recorded before 2026-01-01T00:00:00.000Z');
    expect((await verify(answer)).stdout).toContain('✓ verified');
  });

  it('a changed answer gives exit code 3, and a file that is not an answer gives 2', async () => {
    await ask('--run', 'r', '--out', answer);
    const text = readFileSync(answer, 'utf8');
    writeFileSync(answer, text.replace('"n":6', '"n":5'));
    const changed = await verify(answer);
    expect([changed.code, changed.stdout]).toEqual([3, expect.stringContaining('✗ NOT VERIFIED')]);
    writeFileSync(answer, text.replace('"entry"', '"entity"'));
    expect((await verify(answer)).code).toBe(2);
  });

  it('gov proofs ask needs either a run or a type', async () => {
    expect((await ask()).code).toBe(2);
    expect((await ask('--run', 'r', '--type', 't')).code).toBe(2);
  });
});

describe('gov proofs verify', () => {
  it('gov proofs verify says whether a bundle proves that no event is missing', async () => {
    const { proofId } = (await plane.call('POST', '/proofs', { body: { runId: 'r' } })).body;
    const file = join(account.folder, 'r.govproof.json');
    await account.gov(['proofs', 'get', proofId, '--out', file], { env });
    expect((await verify(file)).stdout).toMatch(
      /none missing: by the operator's own index \(exactly 6 events below leaf \d+\)/,
    );
    const older = join(account.folder, 'older.govproof.json');
    await account.gov(['proofs', 'get', proofId, '--v1', '--out', older], { env });
    const { code, stdout } = await verify(older);
    expect([code, stdout]).toEqual([0, expect.stringContaining('none missing: not checked')]);
    expect(stdout).not.toMatch(/proven|whole|complete\b/);
    const listed = ['proofs', 'verify', older, '--trust', trust, '-o', 'csv'];
    expect((await account.gov(listed, { env: plain })).stdout).toMatch(/^check,completeness,not_checked,/m);
  });

  it('an answer to another question is not verified, although it is true', async () => {
    const rewrites: [asked: string[], from: string, to: string][] = [
      [['--run', 'r'], 'runId=r', 'runId=nobodys'],
      [
        ['--run', 'r', '--until', '2026-06-01T00:00:00Z'],
        /&until=[^&]+/.source,
        '&until=2026-01-01T00:00:00Z',
      ],
      [['--type', 'tool.call'], 'type=tool.call', 'type=tool.denied'],
    ];
    let rewrite: (url: string) => string = (url) => url;
    const evil = createServer(async (request, response) => {
      const headers = { authorization: request.headers.authorization ?? '' };
      const answered = await fetch(plane.origin + rewrite(request.url ?? ''), { headers });
      response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' });
      response.end(Buffer.from(await answered.arrayBuffer()));
    });
    await new Promise<void>((resolve) => void evil.listen(0, '127.0.0.1', resolve));
    const { port } = evil.address() as AddressInfo; // it listens at a host and port
    const changed = { ...env, ...plain, GOV_BASE_URL: `http://127.0.0.1:${port}/api/v1` };
    for (const [asked, from, to] of rewrites) {
      rewrite = (url) => url.replace(new RegExp(from), to);
      const argv = ['proofs', 'ask', ...asked, '--trust', trust];
      const { code, stdout } = await account.gov(argv, { env: changed, columns: 200 });
      expect([asked, code, stdout]).toEqual([asked, 3, expect.stringContaining('another question')]);
      expect(stdout).toContain('✗ NOT VERIFIED');
    }
    await new Promise((resolve) => evil.close(resolve));
  });

  it('an answer about a list of a run names the run', async () => {
    await ask('--type', 'gov.policy/1', '--out', answer);
    expect((await verify(answer)).stdout).toContain('no gov.policy/1 records below leaf');
  });
});
