/**
 * Asks the policies about what the kernel and the proxy let through. Paths are compiled: each known place is decided as an action with
 * this one path. Tested by `test/cli/sandbox/run.test.ts`.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client } from '../../client/create.ts';
import type { ToolCall, ToolDecision } from '../../contract/tools.ts';
import { kernelClient } from '../../core/action/client-tools.ts';
import { controlPlaces, knownSecrets, type ControlPlace } from './places.ts';

export type Facts = NonNullable<ToolCall['facts']> & { readonly cwd: string };

/** Asks for decisions in one run. */
export class Policies {
  readonly #client: Client;
  readonly #of: {
    readonly runId: string;
    readonly actor: NonNullable<ToolCall['actor']>;
    readonly facts: Facts;
  };

  constructor(
    client: Client,
    of: { readonly runId: string; readonly actor: NonNullable<ToolCall['actor']>; readonly facts: Facts },
  ) {
    this.#client = client;
    this.#of = of;
  }

  /** Decides, and records the decision. */
  async decide(tool: string, given: Readonly<Record<string, unknown>>): Promise<ToolDecision> {
    return (await this.#client.evaluateTool({ body: this.#call(tool, given) })).body;
  }

  /** Decides without a record. */
  async probe(tool: string, given: Readonly<Record<string, unknown>>): Promise<ToolDecision> {
    const body = { ...this.#call(tool, given), dryRun: true };
    return (await this.#client.evaluateTool({ body })).body;
  }

  #call(name: string, given: Readonly<Record<string, unknown>>): ToolCall {
    const { runId, actor, facts } = this.#of;
    return { tool: { name }, arguments: { ...given }, client: { name: kernelClient }, facts, runId, actor };
  }
}

/** What the kernel holds closed. All paths exist or get a placeholder, and are real paths. */
export interface PathLists {
  readonly denyRead: readonly string[];
  readonly denyWrite: readonly ControlPlace[];
  /** Folders. All others are read-only. */
  readonly allowWrite: readonly string[];
  /** The workspace has more entries than were looked at for secrets. */
  readonly isCut: boolean;
}

export interface Probed {
  readonly workspace: string;
  readonly home: string;
  /** Homes whose secrets are asked about. */
  readonly homes: readonly string[];
  /** Folders that a program usually writes to, and those that the user named. */
  readonly writable: readonly string[];
}

/** Compiles the lists. Costs one request for each known place that exists, several at a time. */
export async function pathLists(
  policies: Policies,
  { workspace, home, homes, writable }: Probed,
): Promise<PathLists> {
  const refuses = async (tool: 'read' | 'write', path: string): Promise<boolean> =>
    !(await policies.probe(tool, { path })).allowed;
  const secrets = knownSecrets({ workspace, homes });
  const denyRead = await chosen(secrets.paths, (path) => refuses('read', path));
  const folders = [...new Set(writable.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
  const allowWrite = await chosen(folders, async (path) => !(await refuses('write', join(path, 'x'))));
  const below = (path: string): boolean => allowWrite.some((folder) => isBelow(path, folder));
  const hidden = denyRead.map((path) => realpathSync(path));
  const control = controlPlaces({ workspace, home }).filter(({ path, placeholder }) =>
    existsSync(path) ? below(path) || below(realpathSync(path)) : placeholder !== null && below(path),
  );
  const kept = secrets.paths
    .filter((path) => !denyRead.includes(path) && below(realpathSync(path)))
    .map((path) => ({ path, placeholder: null }));
  const denyWrite = await chosen([...control, ...kept], ({ path }) => refuses('write', path));
  return { denyRead: [...new Set(hidden)], denyWrite, allowWrite, isCut: secrets.isCut };
}

export const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** The folders between a path and the one that contains it, the outermost first. */
export function foldersBetween(path: string, folder: string): string[] {
  const found: string[] = [];
  for (let at = dirname(path); at !== folder && isBelow(at, folder); at = dirname(at)) found.unshift(at);
  return found;
}

const atATime = 8;

/** Several at a time. */
export async function chosen<Item>(
  items: readonly Item[],
  isChosen: (item: Item) => Promise<boolean>,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let at = 0; at < items.length; at += atATime) {
    const some = items.slice(at, at + atATime);
    const kept = await Promise.all(some.map(isChosen));
    found.push(...some.filter((_, index) => kept[index]));
  }
  return found;
}
