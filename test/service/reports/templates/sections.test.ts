/** A template gives a value for each figure, check and table that it declares, and no other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rows } from '../../../../src/service/reports/templates/rows.ts';
import { columns } from '../../../../src/service/reports/templates/source.ts';
import { template } from '../../../../src/service/reports/templates/sections.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { sourceOf } from './world.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await startService();
  const tenant = await service.signUp('ada');
  projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
});
afterAll(() => service.end());

const [main, second] = ['a', 'b'].map((id) => ({
  id,
  title: id.toUpperCase(),
  lists: 'Rows',
  columns: columns({ n: ['N', 'number'] }),
}));
const tables = [main!, second!];
const sections = {
  first: {
    title: 'First',
    text: 'What it is about.',
    tables,
    figures: { least: 'Rows', reasons: ['Reasons', 'status'] },
    checks: ['hasReason'],
  },
  last: { title: 'Last' },
} as const;
const checks = { hasReason: { examined: 1, failed: 0, detail: 'One.', none: 'None.' } };
const words = { pass: 'given', fail: 'missing', not_shown: 'not shown' };
const given = () => ({
  figures: { least: { atLeast: 2 }, reasons: { check: 'hasReason', words } } as const,
  checks,
  blocks: { first: [{ table: 'b' }], last: ['The end.'] },
  tables: tables.map((spec) => new Rows(spec).table()),
});

async function built(change: Partial<ReturnType<typeof given>> = {}) {
  const named = { title: 'T', summary: 'S', choices: 'C', sections };
  const made = template({ ...named, build: async () => ({ ...given(), ...change }) });
  return made.build(await sourceOf(service.services, [projectId, 'executive-summary']));
}

describe('a template', () => {
  it('prints the text of a section, its blocks, then the tables that no block places', async () => {
    const { contents, own } = await built();
    expect(contents.sections.slice(0, 2)).toEqual([
      { title: 'First', blocks: [{ text: 'What it is about.' }, { table: 'b' }, { table: 'a' }] },
      { title: 'Last', blocks: [{ text: 'The end.' }] },
    ]);
    expect(contents.tables.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(own.get('first')?.tables.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(own.get('last')).toMatchObject({ figures: [], checks: [], tables: [] });
  });

  it('prints the least that a figure can be, and a word for the state of a check', async () => {
    const { figures } = (await built()).contents;
    expect(figures).toEqual([
      { name: 'least', label: 'Rows, at least', value: 2, kind: 'number' },
      { name: 'reasons', label: 'Reasons', value: 'given', kind: 'status' },
    ]);
    const failed = { hasReason: { ...checks.hasReason, failed: 1 } };
    expect((await built({ checks: failed })).contents.figures[1]?.value).toBe('missing');
  });

  it.each([
    ['a figure that it does not declare', { figures: { ...given().figures, other: 1 } }],
    ['a check that it does not declare', { checks: { ...checks, recorded: checks.hasReason } }],
    ['a table too few', { tables: given().tables.slice(1) }],
    ['a table twice', { tables: [...given().tables.slice(1), ...given().tables.slice(1)] }],
  ])('with %s fails the build', async (_what, change) => {
    await expect(built(change)).rejects.toThrow(/^expected .*; got /);
  });

  it('with a section without contents fails the build', async () => {
    const blocks = { first: [{ table: 'b' }], last: [] };
    await expect(built({ blocks })).rejects.toThrow('expected contents of the section “Last”, got none');
  });

  it('does not compile without the value of a figure, and fails the build', async () => {
    const named = { title: 'T', summary: 'S', choices: 'C', sections };
    const { least } = given().figures;
    // @ts-expect-error -- the figure `reasons` is missing
    const made = template({ ...named, build: async () => ({ ...given(), figures: { least } }) });
    const source = await sourceOf(service.services, [projectId, 'executive-summary']);
    await expect(made.build(source)).rejects.toThrow('expected least, reasons; got least');
  });
});
