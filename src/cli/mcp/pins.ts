/**
 * Pinned tool definitions. They are in the log of the plane, not in a file: an agent can write its own home, but it cannot
 * change or delete events. The run `mcp-pins:SERVER` has one `mcp.tool.pinned` for each tool, its first definition, and a
 * `mcp.tool.changed` for each other one. A person accepts a change by a policy (`gov mcp pin`), which needs the scope
 * `governance:manage`; the key of an agent does not need it. Tested by `test/cli/commands/mcp/pin.test.ts` against a real plane.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import { paginate } from '../../client/paginate.ts';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { sha256 } from '../../core/hash.ts';
import { fold } from '../../core/policies/tool-text/fold.ts';
import { canonicalize } from '../../core/json/canonical.ts';
import type { Definition } from '../../core/mcp/definition.ts';
import { acceptedIn, pinPolicyId } from './pin-policy.ts';

const pinRun = (server: string): string => `mcp-pins:${server}`;
const pinnedType = 'mcp.tool.pinned';
const changedType = 'mcp.tool.changed';

export type PinState =
  /** The definition is the pinned one; or a person accepted it. */
  | { readonly is: 'pinned' | 'accepted'; readonly definition: Definition }
  /** The server has not listed the tool to this proxy. */
  | { readonly is: 'unlisted' }
  /** The same, and a tool of this name is pinned. */
  | { readonly is: 'hidden' }
  | { readonly is: 'changed'; readonly definition: Definition; readonly pinned: string };

/** The pins of one server. */
export class Pins {
  readonly #client: Client;
  readonly #server: string;
  /** Hash of the first definition by tool; null: not read yet. */
  #first: Map<string, string> | null = null;
  readonly #changed = new Set<string>();
  readonly #listed = new Map<string, Definition>();
  #unsaved: Definition[] = [];
  #saving: Promise<void> = Promise.resolve();

  constructor(client: Client, server: string) {
    this.#client = client;
    this.#server = server;
  }

  /** Takes note of the definitions that the server lists. Saving starts at once and delays no list. */
  list(definitions: readonly Definition[]): void {
    for (const definition of definitions) {
      const before = this.#listed.get(definition.name);
      if (before === undefined && this.#listed.size >= limits.mcpTools) continue;
      this.#listed.set(definition.name, definition);
      if (before?.hash !== definition.hash) this.#unsaved.push(definition);
    }
    this.#save().catch(() => {}); // a call that needs the pin tries again, and reports the failure
  }

  /** Returns where a tool stands, after its pin is durable. Errors: those of the client; the call must not run then. */
  async standing(name: string): Promise<PinState> {
    const definition = this.#listed.get(name);
    if (this.#first === null || this.#unsaved.length > 0) await this.#save();
    if (definition === undefined) return this.#isPinned(name) ? { is: 'hidden' } : { is: 'unlisted' };
    const pinned = this.#first?.get(name);
    if (pinned === definition.hash) return { is: 'pinned', definition };
    const accepted = await acceptedHashes(this.#client, this.#server);
    if (accepted.has(`${name} ${definition.hash}`)) return { is: 'accepted', definition };
    return { is: 'changed', definition, pinned: pinned ?? 'none' };
  }

  /** Whether a tool of this name, or of one that a server could take for it, is pinned. */
  #isPinned(name: string): boolean {
    const folded = fold(name);
    return [...(this.#first?.keys() ?? [])].some((pinned) => fold(pinned) === folded);
  }

  /** One save at a time. */
  #save(): Promise<void> {
    const next = this.#saving.then(() => this.#saveNow());
    this.#saving = next.catch(() => {});
    return next;
  }

  async #saveNow(): Promise<void> {
    const definitions = this.#unsaved;
    if (definitions.length === 0 && this.#first !== null) return;
    this.#first ??= await this.#read();
    const fresh = definitions.filter(({ name }) => !this.#first?.has(name));
    const changed = definitions.filter(({ name, hash }) => {
      const pinned = this.#first?.get(name);
      return pinned !== undefined && pinned !== hash && !this.#changed.has(`${name} ${hash}`);
    });
    const events = [
      ...fresh.map((each) => this.#event(pinnedType, each)),
      ...changed.map((each) => this.#event(changedType, each)),
    ];
    if (await this.#append(events)) {
      // another proxy of this server pinned first: judge by its pins
      this.#first = await this.#read();
      return this.#saveNow();
    }
    for (const { name, hash } of fresh) this.#first.set(name, hash);
    for (const { name, hash } of changed) this.#changed.add(`${name} ${hash}`);
    this.#unsaved = this.#unsaved.slice(definitions.length);
  }

  async #read(): Promise<Map<string, string>> {
    const first = new Map<string, string>();
    for await (const { eventType, tool, hash } of pinEvents(this.#client, this.#server)) {
      if (eventType === changedType) this.#changed.add(`${tool} ${hash}`);
      else if (!first.has(tool)) first.set(tool, hash);
    }
    return first;
  }

  /** Returns whether a pin was there already. */
  async #append(events: readonly EventInput[]): Promise<boolean> {
    let isConflict = false;
    for (let at = 0; at < events.length; at += limits.batchEvents) {
      const batch = events.slice(at, at + limits.batchEvents);
      const { body } = await this.#client.createEvents({ body: { events: batch } });
      for (const { status, reason = '' } of body.results) {
        if (status === 'accepted') continue;
        if (!/conflict|clientEventId/i.test(reason)) throw new Error(`the pin was not recorded: ${reason}`);
        isConflict = true;
      }
    }
    return isConflict;
  }

  #event(eventType: string, { name, hash, definition }: Definition): EventInput {
    const isSmall = Buffer.byteLength(canonicalize(definition)) <= limits.mcpDefinitionBytes;
    return {
      runId: pinRun(this.#server),
      eventType,
      actor: { name: 'gov mcp proxy', type: 'service' },
      resource: { name: shortName(name), type: 'mcp_tool' },
      action: eventType === pinnedType ? 'pin' : 'change',
      timestamp: new Date().toISOString(),
      metadata: {
        server: this.#server,
        tool: name,
        definitionHash: hash,
        // as a text: it may nest deeper than metadata does
        ...(isSmall ? { definition: canonicalize(definition) } : {}),
      },
      ...(eventType === pinnedType ? { clientEventId: pinId(this.#server, name) } : {}),
    };
  }
}

/** One pin for each tool: the plane refuses a second one with this id. */
const pinId = (server: string, tool: string): string =>
  `mcp-pin:${sha256(`${server}\n${tool}`).toString('hex')}`;

const shortName = (name: string): string => name.slice(0, limits.partyNameChars).toWellFormed() || 'unnamed';

export interface PinEvent {
  readonly eventType: string;
  readonly tool: string;
  readonly hash: string;
  readonly definition: string | undefined;
  readonly at: string;
}

/** Pins and changes of a server in the order of recording. */
export async function* pinEvents(client: Client, server: string): AsyncGenerator<PinEvent> {
  const query = { runId: pinRun(server), limit: limits.eventPageMax };
  for await (const event of paginate(client.listEvents, { query })) {
    const { tool, definitionHash, definition } = event.metadata;
    if (event.eventType !== pinnedType && event.eventType !== changedType) continue;
    if (typeof tool !== 'string' || typeof definitionHash !== 'string') continue;
    yield {
      eventType: event.eventType,
      tool,
      hash: definitionHash,
      definition: typeof definition === 'string' ? definition : undefined,
      at: event.serverTimestamp,
    };
  }
}

/** Returns `TOOL HASH` of each definition that a person accepted for the server. */
export async function acceptedHashes(client: Client, server: string): Promise<ReadonlySet<string>> {
  try {
    const { body } = await client.getPolicy({ params: { policyId: pinPolicyId(server) } });
    return body.active === null ? new Set() : acceptedIn(body.active.condition);
  } catch (failure) {
    if (failure instanceof GovApiError && failure.status === 404) return new Set();
    throw failure;
  }
}
