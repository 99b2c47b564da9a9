/**
 * MCP servers in a JSON configuration: Claude Code (`.mcp.json`, and `.claude.json` with its projects), Cursor and Gemini CLI,
 * all in a member `mcpServers`. Tested by `test/cli/commands/mcp/wrap.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { membersOf, type Member } from '../../../core/json/members.ts';
import type { ServerList, ServerEntry } from './edits.ts';

/** A value in the text, and the members of it, with offsets in the whole text. */
class Place {
  readonly #text: Buffer;
  readonly #from: number;
  readonly #members: ReadonlyMap<string, Member>;

  constructor(text: Buffer, from = 0, to = text.length) {
    this.#text = text;
    this.#from = from;
    this.#members = membersOf(text.subarray(from, to), limits.mcpDepth);
  }

  /** The member that is an object; undefined for one of another kind. */
  object(name: string): Place | undefined {
    const at = this.at(name);
    return at !== undefined && this.#text[at.valueAt] === 0x7b
      ? new Place(this.#text, at.valueAt, at.end)
      : undefined;
  }

  get names(): string[] {
    return [...this.#members.keys()];
  }

  at(name: string): Member | undefined {
    const found = this.#members.get(name);
    if (found === undefined) return undefined;
    const { nameAt, valueAt, end } = found;
    return { nameAt: nameAt + this.#from, valueAt: valueAt + this.#from, end: end + this.#from };
  }

  value(name: string): unknown {
    const at = this.at(name);
    return at === undefined ? undefined : JSON.parse(this.#text.subarray(at.valueAt, at.end).toString());
  }
}

/** Throws GovError for a text that is not one JSON object, for example one with comments. */
export function serversInJson(text: Buffer): ServerList {
  const root = new Place(text);
  const projects = root.object('projects');
  const places = [root, ...(projects?.names.map((name) => projects.object(name)) ?? [])];
  const found = places
    .map((place) => place?.object('mcpServers'))
    .filter((list) => list !== undefined)
    .flatMap((list) => list.names.map((name) => ({ name, read: serverIn(text, list.object(name), name) })));
  return {
    servers: found.flatMap(({ read }) => (typeof read === 'string' ? [] : [read])),
    others: found.flatMap(({ name, read }) => (typeof read === 'string' ? [{ name, why: read }] : [])),
  };
}

function serverIn(text: Buffer, place: Place | undefined, name: string): ServerEntry | string {
  if (place === undefined) return 'it is not an object';
  const command = place.value('command');
  const at = place.at('command');
  const url = place.value('url') ?? place.value('httpUrl');
  if (at === undefined || typeof command !== 'string')
    return typeof url === 'string' ? `it is at ${url}` : 'it has no command';
  const args = place.value('args') ?? [];
  const argsAt = place.at('args');
  if (!Array.isArray(args) || !args.every((word) => typeof word === 'string'))
    return 'its args are not a list of texts';
  const from = Math.min(at.valueAt, argsAt?.valueAt ?? at.valueAt);
  const to = Math.max(at.end, argsAt?.end ?? at.end);
  const middle = (start: number, end: number): string => text.subarray(start, end).toString('latin1');
  const rewrite = (other: string, words: readonly string[]): string => {
    const [program, list] = [other, words].map((value) =>
      Buffer.from(JSON.stringify(value)).toString('latin1'),
    );
    if (argsAt === undefined) return `${program}, "args": ${list}`;
    return argsAt.valueAt > at.valueAt
      ? `${program}${middle(at.end, argsAt.valueAt)}${list}`
      : `${list}${middle(argsAt.end, at.valueAt)}${program}`;
  };
  return { name, command, args, from, to, rewrite };
}
