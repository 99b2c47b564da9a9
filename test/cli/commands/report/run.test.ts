/** `gov report …` against a real plane: create, wait, download, share, brand. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { png } from '../../../support/pictures.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { emptyDirectory, govHere, type Result } from '../../support/tool.ts';

describe('gov report', () => {
  const folder = emptyDirectory();
  let plane: TestPlane;
  let executionId: string;
  beforeAll(async () => {
    plane = await startPlane();
    await plane.call('POST', '/events', { body: event() });
  });
  afterAll(() => plane.end());

  const at = (name: string): string => join(folder, name);
  const tool = (...argv: string[]): Promise<Result> =>
    govHere(argv, {
      env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
      cwd: folder,
      now: Date.now(),
    });
  const json = async (...argv: string[]) => {
    const result = await tool(...argv, '-o', 'json');
    expect(result, argv.join(' ')).toMatchObject({ code: 0 });
    return JSON.parse(result.stdout);
  };

  it('gov report templates lists what can be made', async () => {
    const { stdout } = await tool('report', 'templates');
    expect(stdout.split('\n').filter((line) => line !== '')).toHaveLength(11);
  });

  it('gov report create of an unknown template names the command that lists templates', async () => {
    const { code, stderr } = await tool('report', 'create', 'nosuch');
    expect(code).toBe(5);
    expect(stderr).toContain('see what there is: gov report templates list\n');
  });

  it('gov report create names the command that lists runs where the run is missing or unknown', async () => {
    for (const [line, expected] of [
      ['run-evidence', 2],
      ['incident-bundle --run nosuch', 5],
    ] as const) {
      const { code, stderr } = await tool('report', 'create', ...line.split(' '));
      expect([line, code, stderr]).toEqual([
        line,
        expected,
        expect.stringContaining('gov runs list shows the runs\n'),
      ]);
    }
  });

  it('gov report create --wait returns the complete report, and download writes its first format', async () => {
    const argv = ['report', 'create', 'executive-summary', '--format', 'csv,json', '--wait', '-o', 'json'];
    const { stdout, stderr } = await tool(...argv);
    const made = JSON.parse(stdout);
    // the id is there before the wait ends
    expect(stderr).toContain(`report ${made.executionId}\n`);
    expect(made).toMatchObject({ status: 'completed', formats: ['csv', 'json'] });
    ({ executionId } = made);
    const got = await json('report', 'download', executionId);
    expect(got.file).toBe(`executive-summary-${executionId}.csv`);
    expect(got.sha256).toBe(made.artifacts[0].sha256);
    const again = await tool('report', 'download', executionId);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
    const piped = await tool('report', 'download', executionId, '--format', 'json', '-O', '-');
    expect(JSON.parse(piped.stdout)).toMatchObject({ reportTemplateId: 'executive-summary' });
  });

  it('gov report create -O makes, waits and downloads in one command', async () => {
    const { code } = await tool(
      'report',
      'create',
      'integrity-completeness',
      '--format',
      'json',
      '-O',
      at('whole.json'),
    );
    expect(code).toBe(0);
    expect(JSON.parse(readFileSync(at('whole.json'), 'utf8')).title).toBe('Integrity and completeness');
  });

  it('a plane signs its reports: JSON with the signature beside it, and PDF, verify with its trust file', async () => {
    const argv = ['executive-summary', '--format', 'pdf,json', '-O', at('signed.pdf')];
    expect((await tool('report', 'create', ...argv)).code).toBe(0);
    const { data } = await json('report', 'list', '--limit', '1');
    const { executionId } = data[0];
    expect(data[0]).not.toHaveProperty('signature');
    const got = await json('report', 'download', executionId, '--format', 'json', '-O', at('signed.json'));
    expect(got).toMatchObject({ signature: at('signed.dsse.json') });
    const { signature } = await json('report', 'get', executionId);
    expect(readFileSync(at('signed.dsse.json'), 'utf8')).toBe(JSON.stringify(signature));
    const trusted = ['--trust', join(plane.dataDir, 'trust')];
    for (const name of ['signed.pdf', 'signed.json'])
      expect(await json('report', 'verify', at(name), ...trusted)).toMatchObject({
        verified: true,
        executionId,
      });
    // the signature is written beside a file, so it must be free as well
    rmSync(at('signed.json'));
    const again = await tool('report', 'download', executionId, '--format', 'json', '-O', at('signed.json'));
    expect([again.code, again.stderr]).toEqual([
      2,
      expect.stringContaining('signed.dsse.json exists already'),
    ]);
    const other = await tool(
      'report',
      'verify',
      at('whole.json'),
      '--signature',
      at('signed.dsse.json'),
      ...trusted,
    );
    expect(other.code).toBe(3);
  });

  it('gov report create refuses a delivery of another form before it asks', async () => {
    const { code, stderr } = await tool(
      'report',
      'create',
      'executive-summary',
      '--deliver',
      'ada@example.org',
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining('FORMAT:CHANNEL:TARGET')]);
  });

  it('gov report share shows a link that works without a credential, until gov report unshare', async () => {
    const shared = await json('report', 'share', executionId, '--expires', '1h', '--downloads', '2');
    expect(shared).toMatchObject({ format: 'csv', maxDownloads: 2 });
    expect((await plane.call('GET', shared.url, { key: null })).status).toBe(200);
    const { stdout } = await tool('report', 'shared', executionId);
    expect(stdout).toContain(shared.shareId);
    expect(stdout).not.toContain(shared.token);
    expect((await tool('report', 'unshare', executionId, shared.shareId, '--yes')).code).toBe(0);
    expect((await plane.call('GET', shared.url, { key: null })).status).toBe(410);
  });

  it('gov report verify finds the signature of a shared JSON in FILE.dsse.json', async () => {
    const shared = await json('report', 'share', executionId, '--format', 'json');
    for (const [url, name] of [
      [shared.url, 'shared.json'],
      [shared.signatureUrl, 'shared.dsse.json'],
    ])
      writeFileSync(at(name), (await plane.call('GET', url, { key: null })).bytes);
    const verify = ['report', 'verify', at('shared.json'), '--trust', join(plane.dataDir, 'trust')];
    expect(await json(...verify)).toMatchObject({ verified: true, executionId });
    rmSync(at('shared.dsse.json'));
    expect((await tool(...verify)).code).toBe(3);
  });

  it('gov report branding set keeps what it does not name, and logo uploads a picture', async () => {
    expect((await tool('report', 'branding', 'get')).code).toBe(5);
    await json('report', 'branding', 'set', '--company', 'Analytical Engines', '--footer', 'Confidential');
    const set = await json('report', 'branding', 'set', '--primary', '#123456', '--footer', '');
    expect(set).toMatchObject({
      companyName: 'Analytical Engines',
      primaryColor: '#123456',
      footerText: null,
    });
    expect(set.paper).toBe('A4');
    expect(await json('report', 'branding', 'set', '--paper', 'letter')).toMatchObject({
      companyName: 'Analytical Engines',
      paper: 'Letter',
    });
    writeFileSync(at('logo.png'), png(16, 8));
    const { logoUrl } = await json('report', 'logo', at('logo.png'));
    expect((await json('report', 'branding', 'get')).logoUrl).toBe(logoUrl);
    writeFileSync(at('logo.svg'), '<svg/>');
    const refused = await tool('report', 'logo', at('logo.svg'));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('PNG, JPEG or lossy WebP')]);
  });

  it('gov report branding set --paper letter sets the pages of the next report, which verifies', async () => {
    const create = ['executive-summary', '--format', 'pdf', '-O'];
    const sizeOf = (name: string): string | undefined =>
      /\/MediaBox \[(.*?)\]/.exec(readFileSync(at(name), 'latin1'))?.[1];
    await json('report', 'branding', 'set', '--paper', 'a4');
    expect((await tool('report', 'create', ...create, at('a4.pdf'))).code).toBe(0);
    await json('report', 'branding', 'set', '--paper', 'letter');
    expect((await tool('report', 'create', ...create, at('letter.pdf'))).code).toBe(0);
    expect([sizeOf('a4.pdf'), sizeOf('letter.pdf')]).toEqual(['0 0 595.28 841.89', '0 0 612 792']);
    const trusted = ['--trust', join(plane.dataDir, 'trust')];
    expect(await json('report', 'verify', at('letter.pdf'), ...trusted)).toMatchObject({ verified: true });
  });

  it('a report that nobody has, or that has no such format, ends with its own exit code', async () => {
    expect((await tool('report', 'get', 'rex_01jzzzzzzzzzzzzzzzzzzzzzzz')).code).toBe(5);
    expect((await tool('report', 'download', executionId, '--format', 'pdf')).code).toBe(5);
  });
});
