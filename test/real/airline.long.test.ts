/**
 * docs/tutorials/airline-rules.md is followed line by line on the recorded runs, against a plane of its own: every table on the page
 * is what the program prints, every policy on it is a file, and the numbers in its sentences are those of the tables.
 */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, type Result, shell } from '../cli/support/tool.ts';
import { blocks, page, withoutComment } from '../docs/pages.ts';
import { data, hasData, projectRoot } from '../paths.ts';
import { type PlaneProcess, startPlaneProcess } from './support/plane.ts';

const recording = hasData ? data('tau-bench/gpt-4o-airline.json') : '';
const doc = page('docs/tutorials/airline-rules.md');

/** Blocks without a language: policies, and what commands say. */
const fences = (): string[] =>
  [...doc.text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].flatMap(([, language, text = '']) =>
    language === '' ? [text] : [],
  );

/** Cells of the rows of a printed table, by its title. */
function tablesOf(text: string): Map<string, readonly string[][]> {
  const tables = text.split(/^(?=\*\*)/m).flatMap((part) => {
    const [, title] = /^\*\*(.+?)\*\*\n/.exec(part) ?? [];
    const [, , ...rows] = [...part.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
    return title === undefined ? [] : [[title, rows] as const];
  });
  return new Map(tables);
}

describe('docs/tutorials/airline-rules.md', () => {
  it('the airline tutorial shows policies exactly as their files contain them', () => {
    const shown = fences().filter((text) => text.startsWith('//'));
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
  const lines: string[] = [];
  const said: Result[] = [];
  let printed = '';

  const follow = (line: string): Promise<Result> => {
    const filled = withoutComment(line)
      .replace('gpt-4o-airline.json', recording)
      .replace('scripts/with-node node', `'${process.execPath}'`);
    const env = { ...plane.env, GOV_BASE_URL: plane.baseUrl, GOV_DATA: data(''), GOV_OUTPUT: 'table' };
    return shell(filled, { env, cwd: folder });
  };

  beforeAll(async () => {
    plane = await startPlaneProcess(folder);
    symlinkSync(join(projectRoot, 'examples'), join(folder, 'examples'));
    symlinkSync(plane.dataDir, join(folder, 'my-plane'));
    const [block = ''] = blocks(doc, 'sh', 'Do it yourself');
    for (const line of block.trim().split('\n')) {
      if (line.startsWith('gov plane')) continue;
      lines.push(line);
      said.push(await follow(line));
    }
    printed = said.find(({ stdout }) => stdout.startsWith('**'))?.stdout ?? '';
  }, 300_000);
  afterAll(() => plane.end());

  it('the commands of the airline tutorial end with the exit codes that the page states', () => {
    const expected = lines.map((line) => Number(/# ends with (\d)$/.exec(line)?.[1] ?? 0));
    expect(said.map(({ code, stderr }, at) => [code, code === expected[at] ? '' : stderr])).toEqual(
      expected.map((code) => [code, '']),
    );
  });

  it('the airline tutorial quotes the output of its commands', () => {
    const collapsed = (text: string): string => text.replace(/ +/g, ' ').trim();
    const answers = new Set(said.flatMap(({ stdout }) => stdout.split('\n').map(collapsed)));
    const quoted = fences()
      .filter((text) => !/^(\/\/| )/.test(text))
      .flatMap((text) => text.trim().split('\n'));
    expect(quoted.length).toBeGreaterThan(10);
    expect(quoted.filter((line) => line !== '…' && !answers.has(collapsed(line)))).toEqual([]);
  });

  it('the airline tutorial shows every table that the program prints, with the same numbers', () => {
    const tables = printed.trim().split(/\n\n(?=\*\*)/);
    expect(tables.length).toBe(9);
    for (const table of tables) expect(doc.text).toContain(`${table}\n`);
  });

  it('the sentences of the airline tutorial agree with its tables', () => {
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
    const basic = rows('Decisions by policy').find(([policy]) => policy === '`basic-economy-stays`') ?? [];
    const silent = rows('The 116 runs that failed').at(-1)?.[1];
    for (const sentence of [
      `${Number(total[1]).toLocaleString('en')} tool calls`,
      `${manner + against} of these ${all} calls break a written rule`,
      `In ${against} the task *expects* what the rules forbid`,
      `In ${manner} the right thing was done`,
      `${sum(passed, 'unseen')} of ${rows(passed).reduce((many, row) => many + Number(row[2]), 0)} broke a rule`,
      `${sum(passed, 'wish')} more are about a wish that no rule knows, ${sum(passed, 'system')} the airline's own`,
      `system refused, ${sum(passed, 'allowed')} the rules allow`,
      `read or reckon (${reads}) and transfers (${transfers})`,
      `${silent} of the 116 failed runs`,
      `For ${basic[4]} of the ${basic[2]} it was the only one in the way`,
    ]) {
      expect(doc.text).toContain(sentence);
    }
  });
});
