/** `docs/reference/configuration.md` names every member and variable that a server reads, and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planeFileSchema } from '../../src/host/data/config.ts';
import { serviceFileSchema } from '../../src/host/service/config.ts';
import type { JsonSchema } from '../../src/service/call/explain.ts';
import { projectRoot } from '../paths.ts';
import { anchorsOf, page } from './pages.ts';

const name = 'docs/reference/configuration.md';
const { text } = page(name);

/** The sections of a page, by the anchor of their heading. */
const sectionsOf = (of: string): ReadonlyMap<string, string> =>
  new Map(of.split(/^(?=#{1,4} )/m).map((section) => [anchorsOf(section)[0] ?? '', section]));
const sections = sectionsOf(text);
const section = (anchor: string): string =>
  sections.get(anchor) ?? expect.unreachable(`no section ${anchor}`);

const codes = (of: string): string[] =>
  [...of.replace(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const rowsOf = (of: string): string[][] =>
  of
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split('|').slice(1, -1));

/** The sections that a text links to, on this page and on others. */
const linkedFrom = (of: string): string[] =>
  [...of.matchAll(/\]\(([^)#]*)#([^)]+)\)/g)].map(([, file = '', anchor = '']) => {
    const other = file === '' ? text : page(posix.join('docs/reference', file)).text;
    return sectionsOf(other).get(anchor) ?? '';
  });

interface Members {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}
/** Names of all members below a schema. */
function namesIn(schema: JsonSchema): string[] {
  const { properties = {}, items } = schema as Members;
  const inItems = items === undefined ? [] : namesIn(items);
  return Object.entries(properties)
    .flatMap(([each, member]) => [each, ...namesIn(member)])
    .concat(inItems);
}

const files = [
  ['plane.json', planeFileSchema, 'data-plane', 2],
  ['service.json', serviceFileSchema, 'hosted-service', 0],
] as const;

describe.each(files)('docs/reference/configuration.md about %s', (_, schema, anchor, column) => {
  const { properties = {} } = schema as Members;
  const shared = section('forward-targets');

  it.each(Object.keys(properties))('the page describes %s with all of its members', (member) => {
    const rows = section(anchor)
      .split('\n')
      .filter((line) => codes(line).includes(member));
    const described = member === 'forwards' ? shared : rows.join('\n');
    expect(codes(described)).toContain(member);
    const below = codes([described, ...linkedFrom(described)].join('\n'));
    const missing = namesIn(properties[member] ?? {}).filter((each) => !below.includes(each));
    expect(missing).toEqual([]);
  });

  it('the page has no member that the file does not have', () => {
    const known = namesIn(schema);
    const said = rowsOf(section(anchor)).flatMap((cells) => codes(cells[column] ?? ''));
    expect(said.filter((each) => !known.includes(each))).toEqual([]);
    expect(said.length).toBeGreaterThan(10);
  });
});

it('each table of a group of members has only members of the files', () => {
  const known = new Set([...namesIn(planeFileSchema), ...namesIn(serviceFileSchema)]);
  for (const anchor of ['mail', 'rate-limits', 'witnesses', 'receivers', 'forward-targets']) {
    const said = rowsOf(section(anchor)).flatMap(([first = '']) => codes(first));
    expect(said.length, anchor).toBeGreaterThan(1);
    expect(
      said.filter((each) => !known.has(each) && each !== 'smtp'),
      anchor,
    ).toEqual([]);
  }
});

it('the page names the variables that servers read, and no other', () => {
  const read = new Set(
    ['src/host', 'plane'].flatMap((folder) =>
      readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .flatMap(
          (file) => readFileSync(join(projectRoot, folder, file), 'utf8').match(/'GOV_[A-Z_]+[A-Z]'/g) ?? [],
        )
        .map((quoted) => quoted.slice(1, -1).replace(/_FILE$/, '')),
    ),
  );
  const servers = text.slice(text.indexOf('\n## Data plane\n'), text.indexOf('\n## A working copy\n'));
  const said = new Set(
    codes(servers)
      .filter((code) => code.startsWith('GOV_'))
      .map((code) => code.replace(/_FILE$/, '')),
  );
  expect([...said].toSorted()).toEqual([...read].toSorted());
});
