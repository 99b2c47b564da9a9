/**
 * One imported run: a list of events as `POST /events` accepts them. Importing the same source twice gives the same events
 * with the same clientEventIds, and each event fits the contract.
 * Tested by `test/core/intake/fit.test.ts` and the tests of each importer beside it.
 */
import { hash } from 'node:crypto';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../time.ts';
import { Changes, fitMetadata, line, type Change } from './fit.ts';
import type { SourceTime } from './time.ts';

export const importFormats = ['openai-chat', 'openhands', 'swe-agent', 'langfuse'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** The input of an importer. The same values for the same source make an import repeatable. */
export interface ImportContext {
  /** Unix milliseconds for events without a time in the source. */
  readonly importedAt: number;
  /** File name without folders. It names runs without a name in the source. Empty for a pipe. */
  readonly sourceName: string;
  /** Number of this document in a file of several, from 1. It ends names that come from the file's name. */
  readonly document?: number | undefined;
  readonly runPrefix?: string | undefined;
  /** The run id to use, for a source of one run. */
  readonly runId?: string | undefined;
}

export interface ImportedRun {
  readonly runId: string;
  readonly format: ImportFormat;
  readonly events: readonly EventInput[];
  /** Messages, steps or observations of the run in the source. */
  readonly items: number;
  readonly changes: ReadonlyMap<Change, number>;
}

export interface Party {
  readonly name: string;
  readonly role?: string;
  readonly type?: string;
}

/** An event before it has its id and time. */
export interface Draft {
  readonly eventType: string;
  readonly actor: Party;
  readonly action: string;
  readonly resource?: Party | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly causedBy?: readonly string[] | undefined;
  /** Null or absent: the source has no time. */
  readonly at?: SourceTime | null | undefined;
  /** The end of the clientEventId after the run id, if the source has ids of its own. */
  readonly key?: string;
}

/** Longest run id that leaves room for `:<n>` in a clientEventId. */
const runIdChars = limits.identifierChars - 36;

/**
 * Returns a run id from a name of any length and alphabet. Characters that contract A2 rejects become `-`. A name that is
 * too long ends in 8 hex digits of its hash.
 */
export function runIdFrom(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9._:-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '');
  const tag = hash('sha256', name, 'hex').slice(0, 8);
  if (clean === '') return `run-${tag}`;
  return clean.length <= runIdChars ? clean : `${clean.slice(0, runIdChars - 9)}-${tag}`;
}

/**
 * Returns a name for a run without one: the prefix or the file name without its endings, else a hash of the content. If
 * there are several, the numbers of document and entry follow.
 */
export function runName(content: unknown, context: ImportContext, entry?: number): string {
  const fromFile = context.sourceName.replace(/(\.(jsonl?|ndjson|traj|trace))+$/i, '');
  const base = context.runPrefix ?? (fromFile || `import-${shortHash(content)}`);
  const numbers = [context.document, entry].filter((number) => number !== undefined);
  return [base, ...numbers].join('-');
}

const shortHash = (value: unknown): string => hash('sha256', JSON.stringify(value), 'hex').slice(0, 12);

export class RunBuilder {
  readonly runId: string;
  readonly changes = new Changes();
  readonly #format: ImportFormat;
  readonly #context: ImportContext;
  readonly #events: EventInput[] = [];
  readonly #idBase: string;

  /** `name` is the run's own name. `--run` replaces it; the importer applies `--run-prefix`. */
  constructor(format: ImportFormat, name: string, context: ImportContext) {
    this.#format = format;
    this.#context = context;
    this.runId = context.runId ?? runIdFrom(name);
    this.#idBase =
      this.runId.length <= runIdChars
        ? this.runId
        : `${this.runId.slice(0, runIdChars - 9)}-${hash('sha256', this.runId, 'hex').slice(0, 8)}`;
  }

  /** Returns the clientEventId of a draft with this key. */
  idOf(key: string): string {
    const id = `${this.#idBase}:${key.replace(/[^A-Za-z0-9._:-]+/g, '-')}`;
    if (id.length <= limits.identifierChars) return id;
    return `${id.slice(0, limits.identifierChars - 9)}-${hash('sha256', key, 'hex').slice(0, 8)}`;
  }

  /** Appends an event; returns its clientEventId. */
  add(draft: Draft): string {
    const index = this.#events.length;
    const clientEventId = this.idOf(draft.key ?? String(index));
    const time = draft.at ?? null;
    const metadata = {
      ...draft.metadata,
      timestampSource: time === null ? 'import' : time.source,
    };
    this.#events.push({
      runId: this.runId,
      eventType: draft.eventType,
      actor: this.#party(draft.actor),
      ...(draft.resource === undefined ? {} : { resource: this.#party(draft.resource) }),
      action: line(draft.action, limits.actionChars, { fallback: 'unnamed', changes: this.changes }),
      // an event without a time gets the import's, a millisecond after the event before it
      timestamp: time === null ? formatTimestamp(this.#context.importedAt + index) : time.timestamp,
      metadata: fitMetadata(metadata, this.changes),
      ...(draft.causedBy === undefined || draft.causedBy.length === 0
        ? {}
        : { causedBy: [...draft.causedBy] }),
      clientEventId,
    });
    return clientEventId;
  }

  /** Returns the finished run. `items` is the number of things that the source recorded. */
  finish(items: number): ImportedRun {
    return {
      runId: this.runId,
      format: this.#format,
      events: this.#events,
      items,
      changes: this.changes.counts,
    };
  }

  #party(party: Party): Record<string, string> {
    const text = (value: string, chars: number) =>
      line(value, chars, { fallback: 'unnamed', changes: this.changes });
    return {
      name: text(party.name, limits.partyNameChars),
      ...(party.role === undefined ? {} : { role: text(party.role, limits.partyRoleChars) }),
      ...(party.type === undefined ? {} : { type: text(party.type, limits.partyTypeChars) }),
    };
  }
}

/** A JSON object of the source. */
export type Source = Readonly<Record<string, unknown>>;
export const isSource = (value: unknown): value is Source =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Returns a text of the source; undefined for other values and for ''. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
