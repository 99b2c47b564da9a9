/**
 * Tool call ids within one run, and the call that a result answers. Sources repeat ids for different calls (49 of the 200
 * τ-bench runs do) or have none. The graph joins calls and results by id, so each call of a run gets its own id here.
 * Tested by `test/core/intake/call-ids.test.ts`.
 */
import { isObject } from '../json/object.ts';
import type { Changes } from './fit.ts';
import { shortHash } from './run.ts';

/**
 * The id of a call that its client does not name, from what the hook and the telemetry of Gemini CLI both have. Equal calls
 * of a session share it.
 */
export function unnamedCallId(session: string, tool: string, args: unknown): string {
  const text = JSON.stringify([session, tool, args]);
  return `hook:${shortHash(text)}${shortHash(`2 ${text}`)}`;
}

interface Call {
  readonly id: string;
  readonly sourceId?: string | undefined;
  readonly name: string;
  /** Number of the message that asked for it. */
  readonly asked: number;
  /** The order alone chose this call, or another one before it, for a result. */
  readonly isGuess?: true;
}

/** The calls without a result, and what gives the next one its id. It is JSON. */
export interface OpenCalls {
  readonly open: readonly Call[];
  readonly unnamed: number;
  readonly messages: number;
}

/** Reads what `state` returned, after its way through a file. Undefined: it is something else. */
export function readOpenCalls(value: unknown): OpenCalls | undefined {
  if (!isObject(value)) return undefined;
  const { unnamed, messages } = value;
  const open: unknown = value['open'];
  const isRead = Array.isArray(open) && open.every(isCall);
  return isRead && typeof unnamed === 'number' && typeof messages === 'number'
    ? { open, unnamed, messages }
    : undefined;
}

const isCall = (value: unknown): value is Call =>
  isObject(value) &&
  typeof value['id'] === 'string' &&
  typeof value['name'] === 'string' &&
  typeof value['asked'] === 'number' &&
  (value['sourceId'] === undefined || typeof value['sourceId'] === 'string') &&
  (value['isGuess'] === undefined || value['isGuess'] === true);

/** How a result found its call. `none`: the recording does not contain the call. */
export type MatchKind = 'id' | 'name' | 'order' | 'ambiguous' | 'none';

/** What a result says of its call. */
interface AnsweredCall {
  readonly sourceId: string | undefined;
  readonly name?: string | undefined;
  readonly own?: string | undefined;
}

const numbered = (id: string, uses: number): string => (uses === 1 ? id : `${id}~${uses}`);

export class CallIds {
  readonly #changes: Changes;
  /** The newest own id for each id of the source. */
  readonly #current = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  #open: Call[] = [];
  #unnamed = 0;
  #messages = 0;

  /** `earlier`: calls of an earlier part of the recording. */
  constructor(changes: Changes, earlier?: OpenCalls) {
    this.#changes = changes;
    if (earlier === undefined) return;
    this.#open = [...earlier.open];
    this.#unnamed = earlier.unnamed;
    this.#messages = earlier.messages;
    for (const { id, sourceId, name } of earlier.open) {
      this.#names.set(id, name);
      if (sourceId !== undefined) this.#current.set(sourceId, id);
    }
  }

  /** Returns what a later part needs, unless it names a call that has a result. */
  state(): OpenCalls {
    return { open: this.#open, unnamed: this.#unnamed, messages: this.#messages };
  }

  /** A new message may ask for calls. */
  message(): void {
    this.#messages++;
  }

  /** Returns the id of a new call: the source's id, numbered if the run has used it before, or a generated one. */
  called(sourceId: string | undefined, name: string): string {
    const id = this.#own(sourceId ?? `import:call-${++this.#unnamed}`);
    if (sourceId !== undefined) this.#current.set(sourceId, id);
    this.#names.set(id, name);
    this.#open.push({ id, sourceId, name, asked: this.#messages });
    return id;
  }

  #own(sourceId: string): string {
    let uses = (this.#uses.get(sourceId) ?? 0) + 1;
    // the source may use an id that another call was given here
    while (this.#names.has(numbered(sourceId, uses))) uses++;
    this.#uses.set(sourceId, uses);
    if (uses > 1) this.#changes.add('call_id_renamed');
    return numbered(sourceId, uses);
  }

  /**
   * Returns the call that a result answers: the open call with its id, else with its name, else the oldest open call, if
   * one message asked for all of them. Anything else is ambiguous, and has no call. A result whose id no call has answers
   * only the one call of its name that has no id. `own`: the id that `called` returned, where the source has call and result
   * in one place. `isGuess`: several calls were open, so that this may be the result of another one of them.
   */
  answered({ sourceId, name, own }: AnsweredCall): {
    readonly id: string | undefined;
    readonly matched: MatchKind;
    readonly isGuess: boolean;
  } {
    const found = own === undefined ? this.#found({ sourceId, name }) : { id: own, matched: 'id' as const };
    const isRival = (call: Call): boolean =>
      sourceId === undefined ? name === undefined || call.name === name : call.sourceId === sourceId;
    if (found.matched === 'order') {
      this.#changes.add('result_by_order');
      if (this.#open.filter(isRival).length > 1)
        this.#open = this.#open.map((call) => (isRival(call) ? { ...call, isGuess: true } : call));
    }
    const isGuess = this.#open.some((call) => call.id === found.id && call.isGuess === true);
    if (found.matched === 'ambiguous') this.#changes.add('result_ambiguous');
    if (found.matched === 'none') this.#changes.add('call_unknown');
    this.#open = this.#open.filter(({ id }) => id !== found.id);
    return { ...found, isGuess };
  }

  #found({ sourceId, name }: AnsweredCall): { id: string | undefined; matched: MatchKind } {
    return sourceId === undefined ? this.#byName(name) : this.#byId(sourceId, name);
  }

  #byId(sourceId: string, name: string | undefined): { id: string | undefined; matched: MatchKind } {
    const same = this.#open.filter((call) => call.sourceId === sourceId);
    if (same.length <= 1) {
      const id = same[0]?.id ?? this.#current.get(sourceId);
      if (id !== undefined) return { id, matched: 'id' };
      const nameless = this.#open.filter((call) => call.sourceId === undefined && call.name === name);
      const [only] = nameless.length === 1 ? nameless : [];
      return only === undefined ? { id: sourceId, matched: 'none' } : { id: only.id, matched: 'name' };
    }
    const named = same.filter((call) => call.name === name);
    if (named.length === 1) return { id: named[0]?.id, matched: 'name' };
    return { id: (named[0] ?? same[0])?.id, matched: 'order' };
  }

  #byName(name: string | undefined): { id: string | undefined; matched: MatchKind } {
    const candidates = name === undefined ? this.#open : this.#open.filter((call) => call.name === name);
    const [oldest] = candidates;
    const together = candidates.every(({ asked }) => asked === oldest?.asked);
    if (oldest === undefined || !together) return { id: undefined, matched: 'ambiguous' };
    return { id: oldest.id, matched: name !== undefined && candidates.length === 1 ? 'name' : 'order' };
  }

  /** Returns the tool that a call named. */
  nameOf(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.#names.get(id);
  }
}
