/**
 * docs/how-to/verify-without-us.md, "Check a proof bundle", run word for word on an exported bundle: with jq and without,
 * on the genuine bundle and on copies with one byte changed. Only coreutils, grep, sed, awk, jq and openssl.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bundle } from '../../src/core/proofs/bundle.ts';
import { projectRoot } from '../paths.ts';
import {
  exportBundle,
  type Exported,
  has,
  vitalBytes,
  withOneByte,
  withSpoiledNote,
} from './support/exported.ts';

const section = readFileSync(join(projectRoot, 'docs/how-to/verify-without-us.md'), 'utf8')
  .split('\n## Check a proof bundle\n')[1]
  ?.split('\n## ')[0];
const blocks = [...(section ?? '').matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text = '']) => text);
const [hashes = '', textWithoutJq = '', signatures = '', place = ''] = blocks;

const plain = ['sha256sum', 'basenc', 'base64', 'grep', 'sed', 'awk'];
const missing = (programs: readonly string[]) => programs.filter((program) => !has(program));
const suite = (name: string, programs: readonly string[]) => {
  const absent = missing(programs);
  return absent.length === 0
    ? { title: name, run: describe }
    : { title: `${name} (skipped: no ${absent.join(', ')})`, run: describe.skip };
};

interface Said {
  readonly code: number | null;
  /** Pairs of lines that have to be equal: what was computed, what is written. */
  readonly pairs: readonly (readonly [string, string])[];
  readonly signatures: number;
  readonly root: readonly [string, string];
}

/** Runs the commands of the page in a folder with `run.govproof.json` and `plane/trust`. */
function follow(folder: string, script: string): Said {
  const { status, stdout } = spawnSync('sh', ['-e'], { cwd: folder, input: script, encoding: 'utf8' });
  const lines = stdout.trimEnd().split('\n');
  const computed = lines.filter((line) => line.endsWith('  -')).map((line) => line.slice(0, 64));
  const written = lines.flatMap((line) => /^sha256:([0-9a-f]{64})/.exec(line)?.[1] ?? []);
  return {
    code: status,
    pairs: computed.map((hash, at) => [hash, written[at] ?? '']),
    signatures: lines.filter((line) => line === 'Signature Verified Successfully').length,
    root: [lines.at(-2) ?? '', lines.at(-1) ?? ''],
  };
}

const isGenuine = ({ code, pairs, signatures, root }: Said): boolean =>
  code === 0 &&
  pairs.length === 4 &&
  pairs.every(([computed, written]) => computed === written) &&
  signatures === 2 &&
  root[0] === root[1];

let exported: Exported;
beforeAll(async () => {
  exported = await exportBundle();
});
afterAll(() => exported.plane.end());

/** The commands of the page from the top, with its `text` or with the one for machines without jq. */
const script = (more: string, { jq }: { readonly jq: boolean }): string =>
  jq
    ? hashes + more
    : `jq() { exit 127; }\nb=run.govproof.json\n${textWithoutJq}${hashes.replace(/^(b|text\(\)).*\n/gm, '')}${more}`;

it('the page on checking by shell has the four blocks that these tests run', () => {
  expect(blocks.length).toBe(4);
  for (const block of [textWithoutJq, signatures, place]) expect(block).not.toContain('jq');
});

const whole = signatures + place;
for (const jq of [true, false]) {
  const words = jq ? 'with jq, as the page says it' : 'without jq, as the page says it';
  const { title, run } = suite(words, [...plain, 'openssl', ...(jq ? ['jq'] : [])]);
  run(title, () => {
    it('the shell commands show hashes, signatures and tree position of a genuine bundle', () => {
      const said = follow(exported.plane.folder, script(whole, { jq }));
      expect(said).toMatchObject({ code: 0, signatures: 2 });
      for (const [computed, written] of [...said.pairs, said.root]) expect(computed).toBe(written);
      expect(said.pairs.map(([computed]) => `sha256:${computed}`)).toEqual([
        exported.bundle.proof.proofHash,
        ...exported.bundle.proof.layers.map(({ hash }) => hash),
      ]);
      expect(isGenuine(said)).toBe(true);
    });

    // what stands in the events is checked by test/interop/go
    const shown = vitalBytes.filter(([, path]) =>
      ['proof', 'proofPreimage', 'layerStatements', 'proofLeaf'].includes(String(path[0])),
    );
    const spoiled: (readonly [string, (bundle: Bundle) => string])[] = [
      ...shown.map(
        ([name, path, from]) => [name, (bundle: Bundle) => withOneByte(bundle, path, from)] as const,
      ),
      ...(['checkpoint', 'proofCheckpoint'] as const).flatMap((note) =>
        (['text', 'signature'] as const).map(
          (where) =>
            [`${where} of ${note}`, (bundle: Bundle) => withSpoiledNote(bundle, note, where)] as const,
        ),
      ),
    ];
    it.each(spoiled)('the shell commands reveal one changed byte: %s', (_name, spoil) => {
      const { folder } = exported.plane;
      writeFileSync(join(folder, 'changed.json'), spoil(exported.bundle));
      const changed = script(whole, { jq }).replaceAll('run.govproof.json', 'changed.json');
      expect(isGenuine(follow(folder, changed))).toBe(false);
    });
  });
}

const attested = suite('the exported attestation', ['grep', 'sed', 'base64', 'openssl']);
attested.run(attested.title, () => {
  let envelope = '';
  beforeAll(async () => {
    const { plane, bundle } = exported;
    const file = join(plane.folder, 'proof.dsse.json');
    await plane.run(['proofs', 'get', bundle.proof.proofId, '--format', 'dsse', '--out', file]);
    envelope = readFileSync(file, 'utf8');
  });

  const page = readFileSync(join(projectRoot, 'docs/how-to/verify-without-us.md'), 'utf8');
  const [, commands = ''] = /know no transparency log\n[^]*?```sh\n([^]*?)```/.exec(page) ?? [];
  const follow = (text: string): string[] => {
    writeFileSync(join(exported.plane.folder, 'proof.dsse.json'), text);
    const { stdout } = spawnSync('sh', [], { cwd: exported.plane.folder, input: commands, encoding: 'utf8' });
    return stdout.trimEnd().split('\n');
  };

  it('an in-toto envelope is signed by the attestation key of the plane and names the proof hash', () => {
    const [, digest] = exported.bundle.proof.proofHash.split(':');
    expect(follow(envelope)).toEqual(['Verified OK', `"sha256":"${digest}"`]);
  });

  it.each(['payload', 'sig'])('an in-toto envelope with one byte of its %s changed is refused', (member) => {
    const at = envelope.indexOf(`"${member}":"`) + 40;
    const other = envelope[at] === '4' ? '5' : '4';
    expect(follow(`${envelope.slice(0, at)}${other}${envelope.slice(at + 1)}`)[0]).not.toBe('Verified OK');
  });
});

const explained = suite('gov proofs verify --explain', ['jq', 'sha256sum', 'cut']);
explained.run(explained.title, () => {
  it('gov proofs verify --explain gives commands that print the hashes it names', async () => {
    const { plane, file } = exported;
    const { stdout } = await plane.run(['proofs', 'verify', file, '--explain', '-o', 'json']);
    const { explanations } = JSON.parse(stdout) as { explanations: { hash: string; how: string }[] };
    expect(explanations.length).toBe(5);
    for (const { hash, how } of explanations) {
      const { stdout: printed } = spawnSync('sh', ['-c', how], { encoding: 'utf8' });
      expect(`sha256:${printed.slice(0, 64)}`).toBe(hash);
    }
  });
});
