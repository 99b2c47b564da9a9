/** docs/how-to/use-index-witnesses.md is followed line by line: a plane, an index witness, and verifiers that require it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { emptyDirectory, gov, type Serving, serving, shell } from '../cli/support/tool.ts';
import { event } from '../support/serving.ts';
import { blocks, page, withoutComment } from './pages.ts';

const of = page('docs/how-to/use-index-witnesses.md');
const folder = emptyDirectory();
const env = { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
const at = { env, cwd: folder };
/** What a reader fills in. */
const fill = new Map<string, string>();
const running = new Map<string, Serving>();

afterAll(async () => {
  for (const { stop } of running.values()) await stop();
  rmSync(folder, { recursive: true, force: true });
});

const filled = (line: string): string =>
  [...fill].reduce((text, [gap, value]) => text.replaceAll(gap, value), line);

/** Other programs may have the addresses of the page. */
async function serve(line: string): Promise<void> {
  const words = line.replaceAll("'", '').split(' ').slice(1);
  const listen = fill.get('http://127.0.0.1:7480')?.replace('http://', '') ?? '';
  const started = await serving(words[0] === 'witness' ? [...words, '--listen', listen] : words, at);
  running.set(words[0] ?? '', started);
  if (words[0] === 'plane') fill.set('http://127.0.0.1:7460', started.baseUrl.replace(/\/api\/v1$/, ''));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo; // it listens at a host and port
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}

async function follow(block: string): Promise<string> {
  let said = '';
  for (const each of block
    .split('\n')
    .map(withoutComment)
    .filter((line) => line !== '')) {
    const line = filled(each);
    if (/^gov (?:plane|witness) serve/.test(line)) {
      await serve(line);
      continue;
    }
    const shown = line.startsWith('gov plane init')
      ? `${line} --listen 127.0.0.1:0 --metrics-listen off`
      : line;
    const result = await shell(shown, at);
    expect(result, line).toMatchObject({ code: 0, signal: null });
    said += result.stdout;
    const [vkey] = /auditor\.example\/index\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}/.exec(result.stdout) ?? [];
    if (vkey !== undefined) fill.set('auditor.example/index+…+…', vkey);
    const [proofId] = /prf_[0-9a-z]{26}/.exec(result.stdout) ?? [];
    if (proofId !== undefined) fill.set('prf_…', proofId);
  }
  return said;
}

describe('docs/how-to/use-index-witnesses.md', { timeout: 300_000 }, () => {
  it('an index witness makes "none missing" proven, and a verifier derives it, as the page says', async () => {
    const [init = '', plane = '', witness = ''] = blocks(of, 'sh', 'Run one');
    fill.set('http://127.0.0.1:7480', `http://127.0.0.1:${await freePort()}`);
    await follow(init);
    await follow(plane);
    await follow(witness);
    writeFileSync(join(folder, 'run.ndjson'), JSON.stringify(event({ runId: 'r1' })));
    expect(await gov(['events', 'push', 'run.ndjson', '-C', 'acme'], at)).toMatchObject({ code: 0 });

    const [require = '', report = ''] = blocks(of, 'sh', 'Require it');
    expect(await follow(require)).toContain('completeness\tpassed\twitnessed');
    const last = filled(require.trim().split('\n').at(-1) ?? '');
    const weaker = await shell(last.replace('--trust trusted', '--trust ./acme/trust'), at);
    expect([weaker.code, weaker.stdout]).toEqual([
      3,
      expect.stringContaining('completeness\tpassed\town_index'),
    ]);
    expect(await follow(report)).toContain('completeness\tpassed\twitnessed');
    const unproven = filled(report.trim().split('\n').at(-1) ?? '').replace('trusted', './acme/trust');
    expect((await shell(unproven, at)).code).toBe(3);
    const [derive = '', add = ''] = blocks(of, 'sh', 'Derive it yourself');
    expect(await follow(derive)).toContain('completeness\tpassed\twitnessed');
    await running.get('witness')?.stop();
    running.delete('witness');
    await follow(add);
    expect(readFileSync(join(folder, 'cosigned.txt'), 'utf8')).toContain('— auditor.example/index ');
    const kept = await shell(filled(derive.trim().split('\n').at(-1) ?? '') + ' --kept cosigned.txt', at);
    expect(kept).toMatchObject({ code: 0, stderr: expect.not.stringContaining('SPLIT') });
    const [logs = ''] = blocks(of, 'sh', 'When it refuses');
    expect(await follow(logs)).toContain('/audit');
  });
});
