/**
 * The rooms inside each floor (`test/rooms.ts`): which room may import which, and by which files. No imports form a ring.
 * The floors themselves are in `test/tidy.test.ts`.
 */
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';
import { rooms, type Room } from './rooms.ts';

const words = (text = ''): string[] => text.split(' ').filter((word) => word !== '');

interface Placed {
  readonly floor: string;
  readonly room: string;
  /** The file below its room, without its suffix. */
  readonly file: string;
}

const floorOf = (path: string): string | undefined =>
  Object.keys(rooms).find((each) => path.startsWith(each));

/** Null for a file outside of the floors, or at the root of one. */
function placeOf(path: string): Placed | null {
  const floor = floorOf(path);
  if (floor === undefined) return null;
  const [room = '', ...rest] = path.slice(floor.length).split('/');
  if (rest.length === 0) return null;
  return { floor, room, file: rest.join('/').replace(/\.tsx?$/, '') };
}

const lawOf = ({ floor, room }: Placed): Room | undefined => rooms[floor]?.[room];

const isSame = (one: Placed | null, other: Placed): boolean =>
  one?.floor === other.floor && one.room === other.room;

/** The rooms that a room may import: those that its law names, or else all before it in the list. */
function mayImport({ floor, room }: Placed): readonly string[] {
  const law = rooms[floor] ?? {};
  const order = Object.keys(law);
  return law[room]?.may === undefined ? order.slice(0, order.indexOf(room)) : words(law[room].may);
}

/** Only tests look into a room. */
const usesDoors = (path: string): boolean => !path.startsWith('test/');

/** What is wrong with an import, in sentences; both paths are relative to the project. */
function faults(path: string, target: string): string[] {
  const [from, to] = [placeOf(path), placeOf(target)];
  if (to === null || isSame(from, to)) return [];
  const { floor, room, file } = to;
  const found: string[] = [];
  if (from?.floor === floor && (lawOf(from) === undefined || !mayImport(from).includes(room)))
    found.push(`${path}: the room ${from.room} may not import ${floor}${room}`);
  const doors = lawOf(to)?.doors;
  if (usesDoors(path) && doors !== undefined && !words(doors).includes(file))
    found.push(`${path}: ${target} is no door of its room; test/rooms.ts lists the doors`);
  return found;
}

/** The imports of a file that name another one, type-only and lazy ones included, as paths from the project's root. */
const importsOf = (path: string, source: string): string[] =>
  [...source.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'(\.[^']+)'/g)].map(([, specifier = '']) =>
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

describe('the rooms of the floors', () => {
  const files = globSync(['src/**/*.{ts,tsx}', '{plane,test,scripts,bench,examples}/**/*.ts'], {
    cwd: projectRoot,
  }).map((path) => path.replaceAll('\\', '/'));
  const imports = new Map(
    files.map((path) => [path, importsOf(path, readFileSync(`${projectRoot}/${path}`, 'utf8'))]),
  );
  const edges = [...imports].flatMap(([path, targets]) => targets.map((target) => ({ path, target })));

  it('every import goes to a room that its own may import, through a door', () => {
    expect(edges.length).toBeGreaterThan(1000);
    expect(edges.flatMap(({ path, target }) => faults(path, target))).toEqual([]);
  });

  it('the source tree has no ring of imports', () => {
    expect(rings(imports)).toEqual([]);
  });

  it('a room imports only rooms before it in the list, so that no ring of rooms forms', () => {
    const found = Object.entries(rooms).flatMap(([floor, law]) => {
      const order = Object.keys(law);
      return order.flatMap((room, at) =>
        words(law[room]?.may)
          .filter((other) => !order.slice(0, at).includes(other))
          .map((other) => `${floor}${room}: ${other} is no room before it`),
      );
    });
    expect(found).toEqual([]);
  });

  it('no ring runs through a file at the root of a floor, which counts as a room', () => {
    for (const floor of Object.keys(rooms)) {
      const nodes = new Map<string, string[]>();
      const nodeOf = (path: string): string => placeOf(path)?.room ?? path;
      for (const { path, target } of edges) {
        if (!path.startsWith(floor) || !target.startsWith(floor) || nodeOf(path) === nodeOf(target)) continue;
        nodes.set(nodeOf(path), [...(nodes.get(nodeOf(path)) ?? []), nodeOf(target)]);
      }
      expect(rings(nodes), floor).toEqual([]);
    }
  });

  it('every folder of a floor is a room of the list, and every room is a folder', () => {
    for (const [floor, law] of Object.entries(rooms)) {
      const places = files.map(placeOf).filter((place) => place?.floor === floor);
      const folders = new Set(places.map((place) => place?.room));
      expect([...folders].sort(), floor).toEqual(Object.keys(law).sort());
    }
  });

  it('every allowed edge and every door is used', () => {
    const used = new Set(
      edges.flatMap(({ path, target }) => {
        const [from, to] = [placeOf(path), placeOf(target)];
        if (to === null || !usesDoors(path) || isSame(from, to)) return [];
        const door = `${to.floor}${to.room}: door ${to.file}`;
        return from?.floor === to.floor ? [door, `${from.floor}${from.room}: edge ${to.room}`] : [door];
      }),
    );
    const listed = Object.entries(rooms).flatMap(([floor, law]) =>
      Object.entries(law).flatMap(([room, { may, doors }]) => [
        ...words(may).map((other) => `${floor}${room}: edge ${other}`),
        ...words(doors).map((file) => `${floor}${room}: door ${file}`),
      ]),
    );
    expect(listed.filter((each) => !used.has(each))).toEqual([]);
  });
});

describe('the law of rooms', () => {
  it.each([
    ['an engine from the plane', 'plane/data/a.ts', 'src/store/sqlite/open.ts'],
    ['proofs from the tree', 'src/core/merkle/a.ts', 'src/core/proofs/verify.ts'],
    ['one engine from the other', 'src/store/postgres/a.ts', 'src/store/sqlite/store.ts'],
    ['a room of the service in a lower one', 'src/host/files/a.ts', 'src/host/service/serve.ts'],
    ['the inside of a room from another floor', 'src/cli/a.ts', 'src/host/witness/lane.ts'],
    ['a later room', 'src/cli/program/a.ts', 'src/cli/terminal/safe.ts'],
    ['a command from a spec', 'src/cli/specs/decide/policy.ts', 'src/cli/commands/policy/create.ts'],
    ['a room without a law', 'src/cli/unknown/a.ts', 'src/cli/program/exit.ts'],
  ])('the law refuses %s', (_, path, target) => {
    expect(faults(path, target)).not.toEqual([]);
  });

  it.each([
    ['a file of the same room', 'src/host/witness/a.ts', 'src/host/witness/lane.ts'],
    ['a door from another floor', 'plane/serve/a.ts', 'src/host/files/run.ts'],
    ['the inside of a room in its test', 'test/host/witness/a.test.ts', 'src/host/witness/lane.ts'],
    ['a file at the root of a floor', 'src/core/merkle/a.ts', 'src/core/hash.ts'],
    ['a spec in a room', 'src/cli/approvals/sign.ts', 'src/cli/specs/decide/approvals.ts'],
  ])('the law accepts %s', (_, path, target) => {
    expect(faults(path, target)).toEqual([]);
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
