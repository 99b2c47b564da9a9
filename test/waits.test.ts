/** Tests wait for as long as a busy machine needs: a wait under five seconds fails there, and nothing is wrong. */
import { globSync, readFileSync } from 'node:fs';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import config from '../vitest.config.ts';
import { projectRoot } from './paths.ts';

const LEAST_MS = 5000;

/** Milliseconds of a wait's options: a number, or its member `timeout`. Undefined for other code. */
function statedMs(options: ESTree.Node | undefined): number | undefined {
  if (options?.type === 'Literal') return Number(options.value);
  if (options?.type !== 'ObjectExpression') return undefined;
  for (const each of options.properties)
    if (each.type === 'Property' && each.key.type === 'Identifier' && each.key.name === 'timeout')
      return statedMs(each.value);
  return undefined;
}

/** Waits of one file that are too short. `expect.poll` without a time waits for the time of the configuration. */
function shortWaits(path: string, source: string): string[] {
  const found: string[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [, options], start }) => {
      const name = source.slice(callee.start, callee.end).replaceAll(/\s/g, '');
      if (!['expect.poll', 'vi.waitFor', 'vi.waitUntil'].includes(name)) return;
      const ms = statedMs(options);
      const isStated = ms !== undefined || options?.type === 'Identifier';
      if ((ms ?? LEAST_MS) >= LEAST_MS && (isStated || name === 'expect.poll')) return;
      found.push(`${path}:${source.slice(0, start).split('\n').length}: ${name} for ${ms ?? 1000} ms`);
    },
  }).visit(parseSync(path, source).program);
  return found;
}

describe('the waits of tests', () => {
  it('no test waits for less than five seconds, but those that run alone', () => {
    const files = globSync('test/**/*.ts', { cwd: projectRoot, exclude: ['**/*.alone.long.test.ts'] });
    expect(files.length).toBeGreaterThan(500);
    const found = files.flatMap((path) => {
      const source = readFileSync(`${projectRoot}/${path}`, 'utf8');
      return /\.\s*(?:poll|waitFor|waitUntil)\(/.test(source) ? shortWaits(path, source) : [];
    });
    expect(found).toEqual([]);
    expect(config.test?.expect?.poll?.timeout).toBeGreaterThanOrEqual(LEAST_MS);
  });

  it('no test but a long one waits for a fixed time: it waits for what it needs', () => {
    const files = globSync('test/**/*.test.ts', { cwd: projectRoot, exclude: ['**/*.long.test.ts'] });
    const fixed = /setTimeout\((?:resolve|done)\b|\bsetTimeout\b[^;]*from 'node:timers\/promises'/;
    const isFixed = (path: string): boolean => fixed.test(readFileSync(`${projectRoot}/${path}`, 'utf8'));
    expect(files.length).toBeGreaterThan(500);
    expect(files.filter(isFixed)).toEqual([]);
  });

  it.each([
    ['vi.waitFor(look)', 1],
    ['vi.waitFor(look, 4999)', 1],
    ['vi.waitFor(look, 5000)', 0],
    ['vi.waitUntil(look, { interval: 1 })', 1],
    ['vi.waitUntil(look, { timeout: 20_000, interval: 1 })', 0],
    ['expect\n  .poll(look, { timeout: 1000 })\n  .toBe(1)', 1],
    ['expect.poll(look).toBe(1)', 0],
    ['expect.poll(look, patient).toBe(1)', 0],
  ])('%j has %s waits that are too short', (source, count) => {
    expect(shortWaits('test/a.ts', source)).toHaveLength(count);
  });
});
