/**
 * Looks credentials up for `src/store/port/caller.ts`, which judges them. The transaction holds the lock on
 * the organization's row. So does every transaction that ends or narrows a credential or deletes a project
 * (`src/store/postgres/write/tenant-facts.ts`). They therefore run one after the other, over all processes.
 * Proven by `test/store/suite/tenancy/callers.ts` and `test/store/postgres/callers.test.ts`.
 */
import {
  callerKeyOf,
  callerSessionOf,
  type CallerKeyRow,
  type CallerSessionRow,
  type CallerState,
  type Credential,
} from '../../port/caller.ts';
import { scoped } from '../connection/database.ts';
import type { Undo } from '../write/undo.ts';
import { sql, step, type Result, type Step } from '../../read/queries.ts';

/** The state of a caller's credential, and its key in the project of the commit. */
interface CallerFact {
  readonly state: CallerState;
  /** The key's id if it belongs to the project of the commit; else null. */
  readonly keyId: string | null;
}

/** By `callerName`; unknown credentials are missing. */
export type CallerFacts = Map<string, CallerFact>;

export const callerName = ({ digest }: Pick<Credential, 'digest'>): string =>
  Buffer.from(digest).toString('hex');

const keyOfCaller = sql<CallerKeyRow & { own: boolean }>(
  `SELECT k.key_id, k.scopes, k.updated_ms, k.expires_ms, k.revoked_ms, f.deleted_ms, k.project = $2 AS own
   FROM api_key k LEFT JOIN project_profile f USING (project) WHERE k.digest = $1`,
);
const sessionOfCaller = sql<CallerSessionRow>('SELECT expires_ms, ended_ms FROM session WHERE digest = $1');

interface CallerLookup {
  readonly step: Step;
  readonly take: (rows: readonly unknown[], facts: CallerFacts) => void;
}

/**
 * Returns the look-ups of these credentials; run their steps in this order. `project`: the one of the commit,
 * 0 for none.
 */
export function callerLookups(project: number, credentials: readonly Credential[]): CallerLookup[] {
  const lookups: CallerLookup[] = [];
  const enter = (digest: Uint8Array): void => {
    lookups.push({ step: scoped({ digest }), take: () => {} });
  };
  const look = <Row>(wanted: Step<Row>, take: (row: Row, facts: CallerFacts) => void): void => {
    lookups.push({
      step: wanted,
      take: ([row], facts) => {
        if (row !== undefined) take(row as Row, facts); // a row of this statement
      },
    });
  };
  for (const [name, { kind, digest }] of new Map(credentials.map((each) => [callerName(each), each]))) {
    const bytes = Buffer.from(digest);
    if (kind === 'session') {
      look(step(sessionOfCaller, bytes), (row, facts) =>
        facts.set(name, { state: callerSessionOf(row), keyId: null }),
      );
      continue;
    }
    enter(digest);
    look(step(keyOfCaller, bytes, project), (row, facts) =>
      facts.set(name, { state: callerKeyOf(row), keyId: row.own ? row.key_id : null }),
    );
  }
  if (lookups.length > 0) enter(new Uint8Array());
  return lookups;
}

/** Collects the results of the look-ups. */
export function callersOf(lookups: readonly CallerLookup[], results: readonly Result[]): CallerFacts {
  const facts: CallerFacts = new Map();
  lookups.forEach(({ take }, at) => take(results[at]?.rows ?? [], facts));
  return facts;
}

/**
 * Applies a change of the project's keys, so that later requests of this commit see it. `keyId` null: all of
 * its keys.
 */
export function changeCallerKeys(
  { callers, undo }: { readonly callers: CallerFacts; readonly undo: Undo },
  keyId: string | null,
  change: Partial<Omit<Extract<CallerState, { kind: 'key' }>, 'kind'>>,
): void {
  for (const [name, fact] of callers) {
    const { state } = fact;
    if (state.kind !== 'key' || fact.keyId === null || (keyId !== null && fact.keyId !== keyId)) continue;
    undo.set(callers, name, { ...fact, state: { ...state, ...change } });
  }
}

/** Applies the end of a session, so that later requests of this commit see it. */
export function endCallerSession(
  { callers, undo }: { readonly callers: CallerFacts; readonly undo: Undo },
  { digest, atMs }: { readonly digest: Uint8Array; readonly atMs: number },
): void {
  const fact = callers.get(callerName({ digest }));
  if (fact?.state.kind !== 'session') return;
  undo.set(callers, callerName({ digest }), { ...fact, state: { ...fact.state, endedMs: atMs } });
}
