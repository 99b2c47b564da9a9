/** docs/how-to/use-witnesses.md and docs/how-to/rotate-keys.md are followed line by line: two planes, two witnesses, a quorum, and other keys. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { emptyDirectory, gov, type Result, type Serving, serving, shell } from '../cli/support/tool.ts';
import { blocks, page, withoutComment } from './pages.ts';
import { has } from '../interop/support/exported.ts';
import { event } from '../support/serving.ts';

const of = page('docs/how-to/use-witnesses.md');
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
const anyPort = (line: string): string =>
  line.startsWith('gov plane init') ? `${line} --listen 127.0.0.1:0 --metrics-listen off` : line;

async function serve(line: string): Promise<void> {
  const words = line.replaceAll("'", '').split(' ').slice(1);
  const listen = words.find((_, index) => words[index - 1] === '--listen');
  const argv = words.includes('--listen') ? words.with(words.indexOf('--listen') + 1, '127.0.0.1:0') : words;
  if (words[0] === 'witness' && listen === undefined) argv.push('--listen', '127.0.0.1:0');
  const started = await serving(argv, at);
  running.set(words[words.indexOf('--data') + 1] ?? '', started);
  if (words[0] === 'witness') fill.set(`http://${listen ?? '127.0.0.1:7480'}`, started.baseUrl);
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
    const result: Result = await shell(anyPort(line), at);
    expect(result, line).toMatchObject({ code: 0, signal: null });
    said += result.stdout;
    const [vkey] = /([ab]\.example\/w)\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}(?=")/.exec(result.stdout) ?? [];
    if (vkey !== undefined) fill.set(`${vkey.split('+')[0]}+…+…`, vkey);
    const [proofId] = /prf_[0-9a-z]{26}/.exec(result.stdout) ?? [];
    if (proofId !== undefined) fill.set('prf_…', proofId);
  }
  return said;
}

describe('docs/how-to/use-witnesses.md and docs/how-to/rotate-keys.md', { timeout: 300_000 }, () => {
  it('two planes witness each other, and a proof requires a cosignature, as the page says', async () => {
    const [init = '', one = '', other = ''] = blocks(of, 'sh', 'Two planes that witness each other');
    await follow(init);
    expect(await follow(one)).toContain('/audit');
    await follow(other);
    // the plane of the first block waits for no witness; the page has to
    writeFileSync(join(folder, 'run.ndjson'), JSON.stringify(event({ runId: 'r1' })));
    expect(await gov(['events', 'push', 'run.ndjson', '-C', 'a'], at)).toMatchObject({ code: 0 });
    const [insist = '', ask = '', restore = ''] = blocks(of, 'sh', 'Insist on a cosignature');
    expect(await follow(insist)).toContain('verified');
    // the settings of the page, in the plane's own file
    const [settings = ''] = blocks(of, 'json', 'Two planes that witness each other');
    const path = join(folder, 'a/plane.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...file, ...(JSON.parse(filled(settings)) as object) }));
    await running.get('./a')?.stop();
    running.set('./a', await serving(['plane', 'serve', '--data', './a'], at));
    const { stdout: shown } = await shell(filled(ask), at); // lines of one shell
    expect(shown).toMatch(/^gov\.local\/prj_\w+\/audit\n\d+\n/);
    expect(shown).toContain('— b.example/w ');
    const origin = ask.split('\n')[0];
    const restored = await shell(filled(`set -e\n${origin}\n${restore}`), at);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });

    writeFileSync(
      join(folder, 'stricter'),
      readFileSync(join(folder, 'trusted'), 'utf8').replaceAll(
        fill.get('b.example/w+…+…') ?? '-',
        fill.get('a.example/w+…+…') ?? '-',
      ),
    );
    const refused = await gov(['proofs', 'verify', 'run.govproof.json', '--trust', 'stricter'], at);
    expect(refused.code).toBe(3);
    expect(refused.stdout + refused.stderr).toContain('WITNESS_QUORUM_NOT_MET');

    const unmet = ['--out', 'unmet.govproof.json', '--wait', '--trust', 'stricter', '--timeout', '1s'];
    const late = await gov(['proofs', 'get', fill.get('prf_…') ?? '', ...unmet, '-C', 'a'], at);
    expect([late.code, late.stderr]).toEqual([8, expect.stringContaining('than stricter requires')]);
    expect(existsSync(join(folder, 'unmet.govproof.json'))).toBe(false);

    if (!has('openssl')) return;
    const [openssl = ''] = blocks(of, 'sh', 'Check a cosignature without our software');
    const checked = await shell(filled(`${origin}\n${openssl}`), at);
    expect(checked).toMatchObject({ code: 0, stdout: 'Signature Verified Successfully\n' });
    const spoiled = `printf x >> message\n${openssl.trim().split('\n').at(-1)}`;
    expect((await shell(filled(spoiled), at)).code).toBe(1);
  });

  it('the commands of docs/how-to/rotate-keys.md rotate the keys of a log', async () => {
    await follow('gov plane init --data ./c');
    const [block = ''] = blocks(page('docs/how-to/rotate-keys.md'), 'sh', 'Rotate the signing keys of a log');
    for (const line of block.split('\n')) {
      if (line.startsWith('gov plane keys retire')) await running.get('./c')?.stop();
      await follow(line);
    }
    running.delete('./c');
    const trust = readFileSync(join(folder, 'c/trust'), 'utf8');
    expect(trust.match(/^log [^+]+\+[0-9a-f]{8}\+A/gm)).toHaveLength(2); // Ed25519 keys, the old and the new
  });
});
