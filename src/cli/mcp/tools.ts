/** The tools of a server as its pins say, for `gov mcp list` and `gov mcp pin`. Tested by `test/cli/commands/mcp/pin.test.ts`. */
import type { Client } from '../../client/create.ts';
import { acceptedHashes, pinEvents } from './pins.ts';

export interface SeenTool {
  readonly tool: string;
  /** `pinned`: the newest definition is the first one. `accepted`: a person accepted it. */
  readonly status: 'pinned' | 'accepted' | 'changed';
  /** Hash of the newest definition that a proxy saw. */
  readonly newest: string;
  readonly pinned: string;
  readonly seenAt: string;
  /** Canonical JSON, unless it was too large to record. */
  readonly definition: string | undefined;
  readonly pinnedDefinition: string | undefined;
}

/** Returns the tools by name. Cost: all pin events of the server. */
export async function readTools(client: Client, server: string): Promise<SeenTool[]> {
  const accepted = await acceptedHashes(client, server);
  const tools = new Map<string, SeenTool>();
  for await (const { tool, hash, definition, at } of pinEvents(client, server)) {
    const { pinned = hash, pinnedDefinition = definition } = tools.get(tool) ?? {};
    const status = accepted.has(`${tool} ${hash}`) ? 'accepted' : hash === pinned ? 'pinned' : 'changed';
    tools.set(tool, { tool, status, newest: hash, pinned, seenAt: at, definition, pinnedDefinition });
  }
  return [...tools.values()].sort((a, b) => (a.tool < b.tool ? -1 : 1));
}
