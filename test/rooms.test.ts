/**
 * The rooms of the source tree: which folder of a layer may import which other, and that no imports form a ring. The
 * layers themselves are in `tidy.test.ts`. An edge that is missing here is a decision: add it in a commit of its own,
 * with the reason.
 */
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';

/** Subject folders inside a layer → the sibling folders that they may import; files at the layer's root are open to all. */
const innerLaw: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/core/': {
    json: [],
    merkle: [],
    note: ['json', 'merkle'],
    event: ['json', 'merkle'],
    completeness: ['json', 'merkle', 'event'],
    graph: ['json', 'merkle', 'event'],
    decided: ['json', 'merkle', 'event', 'policy'],
    policy: ['json', 'merkle'],
    risk: ['json', 'graph'],
    replay: ['json', 'merkle', 'graph', 'decided', 'policy', 'risk'],
    // Compares what the sources of a run say of its calls; a layer states it, and intake asks whose report an event is.
    coverage: ['json', 'event'],
    // Signatures of people over decisions, which a layer judges.
    approval: ['json', 'event', 'decided'],
    proof: [
      'json',
      'merkle',
      'note',
      'event',
      'completeness',
      'graph',
      'decided',
      'risk',
      'coverage',
      'approval',
    ],
    export: ['json', 'merkle', 'note', 'event', 'completeness', 'graph', 'decided', 'replay', 'proof'],
    plane: ['json', 'merkle', 'note', 'policy', 'risk'],
    report: ['json', 'merkle', 'note', 'proof', 'plane'], // units follow from leaves of the metering log
    forward: ['json', 'event', 'decided'],
    // The index has terms of events and of evaluations.
    search: ['event', 'decided'],
    intake: ['json', 'coverage'],
    mcp: ['json'],
    agents: ['json', 'intake'],
  },
  // The port knows no engine, and the engines do not know each other: what they share lies in the other folders.
  'src/store/': {
    port: [],
    schema: [],
    erasure: ['port'],
    rules: ['port'],
    append: ['port', 'erasure', 'rules'],
    read: ['port', 'append', 'rules'],
    file: ['port', 'append', 'erasure', 'schema'],
    fsck: ['port', 'append', 'erasure', 'rules', 'file'],
    sqlite: ['port', 'append', 'erasure', 'rules', 'read', 'file'],
    postgres: ['port', 'append', 'erasure', 'rules', 'read', 'schema', 'file', 'fsck'],
  },
};

/**
 * Layers whose rooms, the folders directly in them, stand in one order: a room may import those before it, so that no
 * two rooms need each other. Files at the layer's root wire the rooms up, and no room imports them.
 */
const roomOrder: Readonly<Record<string, readonly string[]>> = {
  'src/cli/': [
    // the language of commands and their failures, and what a terminal shows
    'program',
    'terminal',
    // where a command runs: settings, contexts, credentials
    'keychain',
    'context',
    // the commands as data
    'ci',
    'policy',
    'specs',
    'grammar',
    // what commands share, by subject
    'api',
    'progress',
    'trust',
    'keys',
    'approvals',
    'download',
    'runs',
    'search',
    'push',
    'update',
    'completion',
    'reports',
    'replay',
    'enrolment',
    'quickstart',
    'start',
    'mcp',
    'agents',
    'schedules',
    'operations',
    'screens',
    'auth',
    'webhooks',
    'doctor',
    'commands',
  ],
  'src/console/': [
    // the address, the connection and the session; then what pages are made of
    'browser',
    'parts',
    // pages by subject
    'approvals',
    'verify',
    'runs',
    'planes',
    'webhooks',
    'policies',
    'projects',
    'reports',
    'exports',
    'keys',
    'events',
    'home',
    // the list of pages, and the frame around them
    'app',
  ],
};

/** A command's spec lies beside the file that runs it, but many rooms read specs, and only `commands` runs them. */
const isSpec = /^src\/cli\/commands\/(?:[^/]+\/(?:[^/]+-)?spec|nouns|specs|by-noun)\.ts$/;

/** The room of a file: a folder of its layer; '' for a file at the layer's root. */
function roomOf(path: string, layer: string): string {
  if (isSpec.test(path)) return 'specs';
  const [room = '', ...rest] = path.slice(layer.length).split('/');
  return rest.length === 0 ? '' : room;
}

/** An import of a room that comes later in the order of the layer, of a root file, or of a room that the order lacks. */
function orderFaults(path: string, target: string): string[] {
  const layer = Object.keys(roomOrder).find((each) => path.startsWith(each) && target.startsWith(each));
  if (layer === undefined) return [];
  const order = roomOrder[layer]!;
  const [from, to] = [roomOf(path, layer), roomOf(target, layer)];
  if (from === '' || from === to) return [];
  if (!order.includes(from)) return [`${path}: the order of ${layer} lacks ${from}`];
  return to !== '' && order.indexOf(to) < order.indexOf(from) && order.includes(to)
    ? []
    : [`${path}: ${layer}${from} may not import ${target}`];
}

const engineOf = (path: string): string | undefined => /^src\/store\/(sqlite|postgres)\//.exec(path)?.[1];

/** Edges inside a layer that `innerLaw` does not have, and imports that reach into an engine past its `store.ts`. */
function innerFaults(path: string, target: string): string[] {
  const found: string[] = [];
  const layer = Object.keys(innerLaw).find((each) => path.startsWith(each) && target.startsWith(each));
  if (layer !== undefined) {
    const [from, to] = [path, target].map((each) => each.slice(layer.length).split('/'));
    const crosses = from!.length > 1 && to!.length > 1 && from![0] !== to![0];
    if (crosses && !innerLaw[layer]![from![0]!]?.includes(to![0]!))
      found.push(`${path}: ${layer}${from![0]} may not import ${layer}${to![0]}`);
  }
  const engine = engineOf(target);
  const isOutside = !path.startsWith('src/store/') && !path.startsWith('test/');
  if (engine !== undefined && isOutside && target !== `src/store/${engine}/store.ts`)
    found.push(`${path}: reaches into the ${engine} engine past its store.ts, to ${target}`);
  return found;
}

/** The imports of a file that name another one, type-only and lazy ones included, as paths from the project's root. */
const importsOf = (path: string, source: string): string[] =>
  [...source.matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)'/g)].map(([, specifier = '']) =>
    posix.join(posix.dirname(path), specifier),
  );

/** Rings of imports, each as the files that it runs through (Tarjan's strongly connected components). */
function rings(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    stack.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const ring = stack.splice(stack.indexOf(file));
    if (ring.length > 1) found.push(ring);
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return found;
}

describe('the rooms of the source tree', () => {
  const files = globSync(['src/**/*.{ts,tsx}', '{plane,test,scripts,bench,examples}/**/*.ts'], {
    cwd: projectRoot,
  }).map((path) => path.replaceAll('\\', '/'));
  const imports = new Map(
    files.map((path) => [path, importsOf(path, readFileSync(`${projectRoot}/${path}`, 'utf8'))]),
  );

  it('every import respects the edges inside a layer and reaches an engine only through its store.ts', () => {
    const found = [...imports].flatMap(([path, targets]) =>
      targets.flatMap((target) => innerFaults(path, target)),
    );
    expect(found).toEqual([]);
  });

  it('every room imports only rooms that come before it in the order of its layer', () => {
    const found = [...imports].flatMap(([path, targets]) =>
      targets.flatMap((target) => orderFaults(path, target)),
    );
    expect(found).toEqual([]);
  });

  it('the source tree has no ring of imports', () => {
    expect(rings(imports)).toEqual([]);
  });
});

describe('the rules of the rooms', () => {
  it.each([
    ['an engine from the plane', 'plane/data/a.ts', 'src/store/sqlite/open.ts'],
    ['one engine from the other', 'src/store/postgres/a.ts', 'src/store/sqlite/store.ts'],
    ['proofs from the tree', 'src/core/merkle/a.ts', 'src/core/proof/verify.ts'],
  ])('the rules inside a layer refuse %s', (_, path, target) => {
    expect(innerFaults(path, target)).toHaveLength(1);
  });

  it.each([
    ['a later room', 'src/cli/terminal/out.ts', 'src/cli/context/settings.ts'],
    ['a file of the root', 'src/cli/context/session.ts', 'src/cli/run.ts'],
    ['a command from a spec', 'src/cli/commands/policy/spec.ts', 'src/cli/commands/policy/create.ts'],
    ['a room without a place', 'src/cli/unknown/a.ts', 'src/cli/program/exit.ts'],
  ])('the order of rooms refuses %s', (_, path, target) => {
    expect(orderFaults(path, target)).toHaveLength(1);
  });

  it('the order of rooms lets a room read a spec', () => {
    expect(orderFaults('src/cli/approvals/sign.ts', 'src/cli/commands/approvals/spec.ts')).toEqual([]);
  });

  it('the ring search finds a ring of imports, and no file that only leads to it', () => {
    const imports = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['b']],
    ]);
    expect(rings(imports)).toEqual([['b', 'c']]);
  });
});
