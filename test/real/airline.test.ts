/**
 * docs/airline.md is followed line by line on the recorded runs, against a plane of its own: every table on the page
 * is what the program prints, every policy on it is a file, and the numbers in its sentences are those of the tables.
 */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, type Result, shell } from '../cli/tool.ts';
import { blocks, page, withoutComment } from '../docs.ts';
import { data, hasData, projectRoot } from '../shared.ts';
import { type PlaneProcess, startPlaneProcess } from './plane.ts';

const recording = hasData ? data('tau-bench/gpt-4o-airline.json') : '';
const doc = page('docs/airline.md');

/** Cells of the rows of a printed table, by its title. */
function tablesOf(text: string): Map<string, readonly string[][]> {
  const tables = text.split(/^(?=\*\*)/m).flatMap((part) => {
    const [, title] = /^\*\*(.+?)\*\*\n/.exec(part) ?? [];
    const [, , ...rows] = [...part.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
    return title === undefined ? [] : [[title, rows] as const];
  });
  return new Map(tables);
}

describe('docs/airline.md', () => {
  it('shows policies as they stand in their files', () => {
    const shown = [...doc.text.matchAll(/^```\n(\/\/[^]*?)^```$/gm)].map(([, text = '']) => text);
    expect(shown.length).toBe(3);
    for (const text of shown) {
      const [, id] = /^(?:deny|escalate|warn) "([^"]+)"/m.exec(text) ?? [];
      expect(text).toBe(readFileSync(join(projectRoot, `examples/airline/policies/${id}.policy`), 'utf8'));
    }
  });
});

describe.skipIf(!hasData)('the airline’s rules over 200 runs (skipped without the recorded runs)', () => {
  const folder = emptyDirectory();
  let plane: PlaneProcess;
  const said: Result[] = [];
  let printed = '';

  const follow = async (line: string): Promise<Result> => {
    const filled = line
      .replace('gpt-4o-airline.json', recording)
      .replace('scripts/with-node node', `'${process.execPath}'`);
    const env = { ...plane.env, GOV_BASE_URL: plane.baseUrl, GOV_DATA: data('') };
    return shell(filled, { env, cwd: folder });
  };

  beforeAll(async () => {
    plane = await startPlaneProcess(folder);
    symlinkSync(join(projectRoot, 'examples'), join(folder, 'examples'));
    const [block = ''] = blocks(doc, 'sh', 'Do it yourself');
    for (const line of block.split('\n').map(withoutComment)) {
      if (line !== '' && !line.startsWith('gov plane')) said.push(await follow(line));
    }
    printed = said.find(({ stdout }) => stdout.startsWith('**'))?.stdout ?? '';
  }, 300_000);
  afterAll(() => plane.end());

  it('has commands that end with 0', () => {
    expect(said.map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual(said.map(() => [0, '']));
  });

  it('shows every table that the program prints, and no other number in them', () => {
    const tables = printed.trim().split(/\n\n(?=\*\*)/);
    expect(tables.length).toBe(9);
    for (const table of tables) expect(doc.text).toContain(`${table}\n`);
  });

  it('says in its sentences what the tables say', () => {
    const tables = tablesOf(printed);
    const rows = (title: string): readonly string[][] =>
      [...tables].find(([each]) => each.startsWith(title))?.[1] ?? [];
    const sum = (title: string, verdict: string): number =>
      rows(title).reduce((total, [name, , calls]) => total + (name === verdict ? Number(calls) : 0), 0);
    const [stopped, passed] = ['Stopped, and expected', 'Passed, and not expected'];
    const [manner, against] = [sum(stopped, 'manner'), sum(stopped, 'against the rules')];
    const all = manner + against + sum(stopped, 'policy mistaken');
    const total = rows('Decisions by tool').at(-1) ?? [];
    const [reads = '', transfers = ''] = ['reading', 'transfer'].map(
      (name) => rows('Decisions by tool').find(([tool = '']) => tool.startsWith(name))?.[1],
    );
    const silent = rows('The 116 runs that failed').at(-1)?.[1];
    for (const sentence of [
      `${Number(total[1]).toLocaleString('en')} tool calls`,
      `${manner + against} of these ${all} calls break a written rule`,
      `In ${against} the task *expects* what the rules forbid`,
      `In ${manner} the right thing was done`,
      `${sum(passed, 'wish')} of ${rows(passed).reduce((many, row) => many + Number(row[2]), 0)} are about a wish`,
      `${sum(passed, 'system')} more the airline's own system refused`,
      `read or reckon (${reads}) and transfers (${transfers})`,
      `${silent} of the 116 failed runs`,
    ]) {
      expect(doc.text).toContain(sentence);
    }
  });
});
