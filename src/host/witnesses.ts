/**
 * The client of C2SP tlog-witness: sends signed checkpoints of audit logs to the configured witnesses, with a
 * consistency proof from the size that each of them knows, and keeps the cosignatures beside the checkpoints. For
 * each witness and log only the newest checkpoint waits, and those that proofs wait for; a witness that is not there
 * is asked again later, at most every minute. A crash loses nothing but what waited: the next checkpoint is sent.
 * Proven by `test/host/witnesses.test.ts` and `test/plane/witnessed.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, type ConnectionOptions, type Reply } from '../client/transport.ts';
import { limits } from '../contract/limits.ts';
import type { Checkpoint } from '../core/checkpoint.ts';
import { keyIdText, type VerifierKey } from '../core/notekey.ts';
import { joinNote, openNote, splitNote } from '../core/note.ts';
import { formatWitnessRequest, parseSizeBody, sizeType } from '../core/witness.ts';
import type { SignedCheckpoint } from '../service/checkpoints.ts';
import type { Log } from '../service/log.ts';
import { consistencyAt } from '../service/treeproofs.ts';
import type { Witnesses } from '../service/witnesses.ts';
import type { Store } from '../store/port.ts';

export interface WitnessConfig {
  /** Submission prefix, below which `add-checkpoint` is. */
  readonly url: string;
  readonly key: VerifierKey;
}

export interface WitnessesOptions {
  readonly witnesses: readonly WitnessConfig[];
  readonly quorum: number;
  /** How long a proof waits for cosignatures. */
  readonly waitSeconds: number;
  readonly store: Pick<Store, 'tiles' | 'head' | 'saveCosignatures'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** From 0 up to 1, for the jitter of waits. */
  readonly random: () => number;
  readonly log: Log;
  /** Proxies, further authorities. */
  readonly connection?: Omit<ConnectionOptions, 'baseUrl'>;
}

/** `<name>+<key id>`: how a witness is named in claims and beside its cosignatures. */
export const witnessName = ({ name, keyId }: Pick<VerifierKey, 'name' | 'keyId'>): string =>
  `${name}+${keyIdText(keyId)}`;

/** One witness as one log sees it. */
interface Lane {
  readonly projectId: string;
  /** Leaves of the newest checkpoint that the witness has cosigned, as far as is known. */
  known: number;
  /** Leaves of the newest checkpoint whose cosignature was kept. */
  cosigned: number;
  /** By size; all but the newest are wanted by proofs. */
  readonly pending: Map<number, Pending>;
  /** It is being worked on, or waits for its turn or for its time. */
  working: boolean;
  failures: number;
  /** Since when nothing was cosigned that should have been; null where all is well. */
  failingSinceMs: number | null;
  /** What the witness says against this log. */
  refused: string | null;
}

interface Pending {
  readonly signed: SignedCheckpoint;
  readonly wanted: boolean;
  readonly done: (() => void)[];
}

type Outcome = { readonly known: number } | { readonly refused: string } | { readonly failed: string };

export class LogWitnesses implements Witnesses {
  readonly verifierKeys: readonly string[];
  readonly quorum: number;
  readonly #options: WitnessesOptions;
  readonly #clients: readonly WitnessClient[];

  constructor(options: WitnessesOptions) {
    this.#options = options;
    this.quorum = options.quorum;
    this.verifierKeys = options.witnesses.map(({ key }) => key.text);
    this.#clients = options.witnesses.map((witness) => new WitnessClient(witness, options));
  }

  signed(projectId: string, signed: SignedCheckpoint): void {
    for (const client of this.#clients) client.take(projectId, signed, null);
  }

  async cosigned(projectId: string, signed: SignedCheckpoint): Promise<void> {
    const { waitSeconds } = this.#options;
    if (waitSeconds === 0) return;
    const wanted = this.quorum === 0 ? this.#clients.length : this.quorum;
    const enough = Promise.withResolvers<void>();
    let count = 0;
    const done = (): void => {
      count += 1;
      if (count >= wanted) enough.resolve();
    };
    for (const client of this.#clients) client.take(projectId, signed, done);
    const timeout = new AbortController();
    const { signal } = timeout;
    await Promise.race([enough.promise, delay(waitSeconds * 1000, undefined, { signal }).catch(() => {})]);
    timeout.abort();
  }

  reasons(): readonly string[] {
    return this.#clients.flatMap((client) => client.reasons());
  }

  start(): void {}

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()));
  }
}

/** Requests to one witness at the same time. */
const atOnce = 4;
/** Requests for one checkpoint, whose sizes the witness corrects. */
const attempts = 3;

class WitnessClient {
  readonly #witness: WitnessConfig;
  readonly #options: WitnessesOptions;
  #connection: Connection | undefined;
  readonly #lanes = new Map<string, Lane>();
  readonly #waiting: Lane[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stopped = new AbortController();

  constructor(witness: WitnessConfig, options: WitnessesOptions) {
    this.#witness = witness;
    this.#options = options;
  }

  /** `done` is called where this very checkpoint is cosigned; null where nobody waits for it. */
  take(projectId: string, signed: SignedCheckpoint, done: (() => void) | null): void {
    if (this.#stopped.signal.aborted) return;
    const lane = this.#laneOf(projectId);
    const { size } = signed.checkpoint;
    const there = lane.pending.get(size);
    if (there === undefined) {
      if (size === lane.cosigned) done?.();
      if (size < lane.known || size === lane.cosigned) return;
      for (const [other, { wanted }] of lane.pending) if (!wanted && other < size) lane.pending.delete(other);
      this.#dropOverflow(lane);
    }
    lane.pending.set(size, {
      signed,
      wanted: done !== null || (there?.wanted ?? false),
      done: [...(there?.done ?? []), ...(done === null ? [] : [done])],
    });
    if (lane.working) return;
    lane.working = true;
    this.#queue(lane);
  }

  #queue(lane: Lane): void {
    this.#waiting.push(lane);
    this.#startWaiting();
  }

  #laneOf(projectId: string): Lane {
    const there = this.#lanes.get(projectId);
    if (there !== undefined) return there;
    for (const [id, { working, refused }] of this.#lanes) {
      if (this.#lanes.size < limits.witnessLanes) break;
      if (!working && refused === null) this.#lanes.delete(id);
    }
    const lane: Lane = {
      projectId,
      known: 0,
      cosigned: 0,
      pending: new Map(),
      working: false,
      failures: 0,
      failingSinceMs: null,
      refused: null,
    };
    this.#lanes.set(projectId, lane);
    return lane;
  }

  /** Proofs wait for a bounded time, so their checkpoints are bounded too: the oldest go. */
  #dropOverflow({ pending }: Lane): void {
    const sizes = [...pending.keys()].toSorted((one, other) => one - other);
    for (const size of sizes.slice(0, Math.max(0, sizes.length - limits.witnessWanted))) pending.delete(size);
  }

  #startWaiting(): void {
    while (this.#running.size < atOnce) {
      const lane = this.#waiting.shift();
      if (lane === undefined) return;
      const turn = this.#turn(lane);
      this.#running.add(turn);
      void turn.finally(() => {
        this.#running.delete(turn);
        this.#startWaiting();
      });
    }
  }

  async #turn(lane: Lane): Promise<void> {
    if (!(await this.#work(lane))) return this.#queueLater(lane);
    lane.working = lane.pending.size > 0; // taken since the last look
    if (lane.working) this.#waiting.push(lane);
  }

  /** A log that is refused takes no place from the others while it waits. */
  #queueLater(lane: Lane): void {
    if (this.#stopped.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#queue(lane);
    }, this.#backOffMs(lane));
    timer.unref();
    this.#timers.add(timer);
  }

  /** Sends what waits, the smallest first, since a witness never goes back; false where it has to be tried again. */
  async #work(lane: Lane): Promise<boolean> {
    while (lane.pending.size > 0) {
      const size = Math.min(...lane.pending.keys());
      const pending = lane.pending.get(size);
      if (pending === undefined || size < lane.known) {
        lane.pending.delete(size);
        continue;
      }
      const outcome = await this.#submit(lane, pending.signed).catch((error: unknown): Outcome => ({
        failed: error instanceof Error ? error.message : String(error),
      }));
      if (this.#stopped.signal.aborted || !this.#settle(lane, size, outcome)) return false;
    }
    return true;
  }

  /** False where it has to be tried again, later. */
  #settle(lane: Lane, size: number, outcome: Outcome): boolean {
    const { log, now } = this.#options;
    const { url } = this.#witness;
    if ('known' in outcome) {
      lane.known = outcome.known;
      if (outcome.known === size) {
        lane.cosigned = size;
        for (const done of lane.pending.get(size)?.done ?? []) done();
      }
      lane.pending.delete(size);
      if (lane.failingSinceMs !== null)
        log.info({ url, projectId: lane.projectId }, 'a witness cosigns again');
      lane.failures = 0;
      lane.failingSinceMs = null;
      lane.refused = null;
      return true;
    }
    lane.failures += 1;
    const refused = 'refused' in outcome ? outcome.refused : null;
    const why = 'refused' in outcome ? outcome.refused : outcome.failed;
    if (refused !== null && refused !== lane.refused) {
      log.error(
        { url, projectId: lane.projectId, why },
        'a witness refuses this log: it saw another history',
      );
    } else if (lane.failingSinceMs === null) {
      log.warn({ url, projectId: lane.projectId, why }, 'a witness does not cosign');
    }
    lane.refused = refused ?? lane.refused;
    lane.failingSinceMs ??= now();
    return false;
  }

  /** 1, 2, 4 … seconds, at most a minute, and between half and all of it. */
  #backOffMs({ failures }: Lane): number {
    const seconds = Math.min(2 ** (failures - 1), limits.witnessRetrySeconds);
    return seconds * 1000 * (0.5 + this.#options.random() / 2);
  }

  async #submit(lane: Lane, { checkpoint, note }: SignedCheckpoint): Promise<Outcome> {
    const { store } = this.#options;
    const { size: second } = checkpoint;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const first = lane.known;
      const isGrown = first > 0 && first < second;
      const proof = isGrown ? await consistencyAt(store, lane.projectId, { first, second }) : [];
      const body = formatWitnessRequest({ oldSize: first, proof, note: ownLines(note, checkpoint) });
      const reply = await this.#send(body);
      const text = Buffer.from(reply.bytes).toString();
      if (reply.status === 200) {
        await this.#keep(lane.projectId, { checkpoint, note }, text);
        return { known: second };
      }
      const known = reply.status === 409 && isSize(reply) ? parseSizeBody(text) : null;
      if (known === null) return refusalOf(reply.status, text);
      if (known === first) return { failed: `it named the size ${first} that was sent` };
      if (known > second) return this.#overtaken(lane.projectId, known);
      lane.known = known;
    }
    return { failed: `it named another size ${attempts} times; does another process use this log?` };
  }

  /** The witness has seen more leaves: another process sent them, or this is an older copy of the log. */
  async #overtaken(projectId: string, known: number): Promise<Outcome> {
    const { size } = await this.#options.store.head(projectId, 'audit');
    if (size >= known) return { known };
    return { refused: `it has cosigned ${known} leaves of this log, which has ${size}: an older copy` };
  }

  /** Opened late: a proxy that cannot be used is no reason not to start. */
  async #send(body: string): Promise<Reply> {
    this.#connection ??= new Connection({ ...this.#options.connection, baseUrl: this.#witness.url });
    return this.#connection.exchange({
      method: 'POST',
      path: '/add-checkpoint',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: Buffer.from(body),
      timeoutMs: limits.witnessTimeoutSeconds * 1000,
      maxBytes: limits.witnessAnswerBytes,
      signal: this.#stopped.signal,
    });
  }

  /** Keeps the lines of the configured key alone; throws where there is none that holds. The witness controls them. */
  async #keep(projectId: string, { checkpoint, note }: SignedCheckpoint, lines: string): Promise<void> {
    const { key } = this.#witness;
    const { text } = splitNote(note);
    const answer = `${text}\n${lines}`;
    openNote(answer, [key]);
    const own = splitNote(answer).signatures.find(
      ({ name, keyId }) => name === key.name && keyId === key.keyId,
    );
    const cosignature = { key: witnessName(key), line: `${own?.line ?? ''}\n` };
    await this.#options.store.saveCosignatures(projectId, 'audit', checkpoint.size, [cosignature]);
  }

  reasons(): readonly string[] {
    const nowMs = this.#options.now();
    const { url } = this.#witness;
    const lanes = [...this.#lanes.values()];
    const refusing = lanes.find(({ refused }) => refused !== null);
    if (refusing !== undefined) return [`witness_refused: ${url}: ${refusing.refused}`];
    const silentMs = limits.witnessSilentSeconds * 1000;
    const since = lanes.map(({ failingSinceMs }) => failingSinceMs ?? nowMs);
    const longest = Math.max(0, ...since.map((ms) => nowMs - ms));
    return longest <= silentMs
      ? []
      : [`witness_silent: ${url} has not cosigned for ${Math.floor(longest / 1000)} s`];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.allSettled(this.#running);
    this.#connection?.close();
  }
}

/** The note without what other witnesses have said of it, which this one does not read. */
function ownLines(note: string, { origin }: Checkpoint): string {
  const { text, signatures } = splitNote(note);
  const own = signatures.filter(({ name }) => name === origin);
  return joinNote(
    text,
    own.map(({ line }) => `${line}\n`),
  );
}

const isSize = ({ headers }: Reply): boolean => headers['content-type'] === sizeType;

/** 409 without a size and 422 say that this log contradicts what the witness saw; all else may pass. */
function refusalOf(status: number, text: string): Outcome {
  const said = `it answered ${status}: ${JSON.stringify(text.trim().slice(0, limits.echoChars * 2))}`;
  return status === 409 || status === 422 ? { refused: said } : { failed: said };
}
