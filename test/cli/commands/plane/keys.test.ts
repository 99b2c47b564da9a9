/** What `gov plane keys` tells a script: which keys, by name and id, and where all of them stand whole. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTrust } from '../../../../src/core/note/checkpoint.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

describe('gov plane keys', () => {
  const dataDir = join(emptyDirectory(), 'plane');
  const gov = (...words: string[]) => govHere([...words, '--data', dataDir]);
  const trustFile = join(dataDir, 'trust');
  const all = (): string[] => parseTrust(readFileSync(trustFile, 'utf8')).keys.map(({ text }) => text);
  /** Of a name and a value a line. */
  const piped = async (order: string): Promise<Record<string, string>> => {
    const { code, stdout } = await gov('plane', 'keys', order);
    expect(code).toBe(0);
    expect(stdout.length).toBeLessThan(1000);
    return Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')),
    );
  };

  it('gov plane keys makes no file where there is no plane', async () => {
    const folder = emptyDirectory();
    for (const order of ['rotate', 'retire']) {
      const { code, stderr } = await govHere(['plane', 'keys', order, '--data', join(folder, 'typo')]);
      expect([order, code, stderr]).toEqual([order, 5, expect.stringContaining('expected a plane at')]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('gov plane keys names keys in a pipe, and shows them whole with -o json', async () => {
    expect((await gov('plane', 'init', '--listen', '127.0.0.1:0', '--metrics-listen', 'off')).code).toBe(0);
    const named = (text: string): string => text.split('+').slice(0, 2).join('+');
    const rotated = await piped('rotate');
    const keys = all().map(named);
    const [first, second] = [keys.slice(0, keys.length / 2), keys.slice(keys.length / 2)];
    expect(rotated).toMatchObject({
      change: 'add',
      keys: JSON.stringify(second),
      leaf: expect.stringMatching(/^\d+$/),
      inForce: JSON.stringify([...first, ...second]),
      retired: '[]',
      trustFile,
    });
    expect(await piped('retire')).toMatchObject({
      change: 'retire',
      keys: JSON.stringify(first),
      inForce: JSON.stringify(second),
      retired: JSON.stringify(first),
    });
    const { stdout } = await gov('plane', 'keys', 'rotate', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ keys: all().slice(-first.length) });
  });
});
