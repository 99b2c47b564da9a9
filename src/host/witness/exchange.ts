/**
 * One exchange with a witness (C2SP tlog-witness): sends a signed checkpoint with a consistency proof from the
 * size that the witness knows, and stores its cosignature. An attacker may control every response. Proven by
 * `test/host/witness/client.test.ts` and `test/plane/witnessed.long.test.ts`.
 */
import { Connection, type Reply } from '../../client/transport.ts';
import { limits } from '../../contract/limits.ts';
import { unverifiedHead } from '../../core/note/checkpoint.ts';
import { sha256 } from '../../core/hash.ts';
import { openNote, splitNote } from '../../core/note/signed.ts';
import { formatWitnessRequest, parseSizeBody } from '../../core/note/witness.ts';
import type { SignedCheckpoint } from '../../service/log/checkpoints.ts';
import { consistencyAt } from '../../service/log/tree-proofs.ts';
import { lackedHead } from './lacked-head.ts';
import { isSize, ownLines, refusalOf, witnessName, type Outcome } from './answer.ts';
import type { WitnessesOptions } from './options.ts';
import type { WitnessConfig } from './options.ts';

/** A log as one witness knows it. */
export interface AskedLog {
  readonly projectId: string;
  /** Size of the newest checkpoint that the witness cosigned, as far as this process knows. */
  known: number;
  /** Size of the newest checkpoint whose cosignature this process stored. */
  cosigned: number;
}

/** Requests for one checkpoint. The witness may correct the size each time. */
const attempts = 3;

export class WitnessExchange {
  readonly #witness: WitnessConfig;
  readonly #options: WitnessesOptions;
  readonly #stopped: AbortSignal;
  #connection: Connection | undefined;
  #forgotten: string | null = null;

  constructor(witness: WitnessConfig, options: WitnessesOptions, stopped: AbortSignal) {
    this.#witness = witness;
    this.#options = options;
    this.#stopped = stopped;
  }

  /** The cosigned checkpoint that the witness no longer knows. Null where it forgot nothing. */
  get forgotten(): string | null {
    return this.#forgotten;
  }

  close(): void {
    this.#connection?.close();
  }

  /** Sends a checkpoint. Throws as a request, or a read of the log, does. */
  async submit(lane: AskedLog, { checkpoint, note }: SignedCheckpoint): Promise<Outcome> {
    const { store } = this.#options;
    const { size: second } = checkpoint;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const first = lane.known;
      // read before the request: another process of this service may send more meanwhile
      const kept = lane.cosigned > 0 ? 0 : await this.#keptAbove(lane.projectId, first);
      const isGrown = first > 0 && first < second;
      const proof = isGrown ? await consistencyAt(store, lane.projectId, { first, second }) : [];
      const body = formatWitnessRequest({ oldSize: first, proof, note: ownLines(note, checkpoint) });
      const reply = await this.#send('POST', '/add-checkpoint', body);
      const text = Buffer.from(reply.bytes).toString();
      if (reply.status === 200) {
        if (kept > first) this.#forgot(lane.projectId, kept, first);
        await this.#keep(lane.projectId, { checkpoint, note }, text);
        return { known: second };
      }
      const known = reply.status === 409 && isSize(reply) ? parseSizeBody(text) : null;
      if (known === null) return this.#refused(lane.projectId, refusalOf(reply.status, text));
      if (known === first) return { failed: `it named the size ${first} that was sent` };
      if (known > second) return this.#overtaken(lane.projectId, known);
      if (known < lane.cosigned) this.#forgot(lane.projectId, lane.cosigned, known);
      lane.known = known;
    }
    return { failed: `it named another size ${attempts} times; does another process use this log?` };
  }

  /**
   * A witness never goes back. This one is therefore an older copy, and may cosign another history for others.
   */
  #forgot(projectId: string, cosigned: number, known: number): void {
    const { url } = this.#witness;
    this.#forgotten = `it has cosigned ${cosigned} leaves of a log, and knows ${known} now: an older copy of the witness`;
    this.#options.log.error(
      { url, projectId, cosigned, known },
      'a witness forgot a checkpoint that it cosigned',
    );
  }

  /**
   * Size of a checkpoint beyond `size` with a cosignature of this witness, perhaps stored by an earlier
   * process. 0 where the first cosigned checkpoint lacks one.
   */
  async #keptAbove(projectId: string, size: number): Promise<number> {
    const note = await this.#options.store.witnessedCheckpoint(projectId, 'audit', size + 1);
    if (note === null || this.#lineOf(note) === undefined) return 0;
    return unverifiedHead(note).size;
  }

  /**
   * Handles a witness that knows more leaves. Either another process sent them, or this log is an older copy.
   */
  async #overtaken(projectId: string, known: number): Promise<Outcome> {
    const { size } = await this.#options.store.head(projectId, 'audit');
    if (size >= known) return { known };
    const refused = `it has cosigned ${known} leaves of this log, which has ${size}: an older copy`;
    return this.#refused(projectId, { refused });
  }

  /**
   * Asks a refusing witness for its newest checkpoint. A checkpoint that this log signed itself is proof of a
   * longer history.
   */
  async #refused(projectId: string, outcome: Outcome): Promise<Outcome> {
    const { own, store, log } = this.#options;
    if (!('refused' in outcome) || own === undefined) return outcome;
    const reply = await this.#send('GET', `/${sha256(own.origin).toString('hex')}/checkpoint`);
    const note = Buffer.from(reply.bytes).toString();
    const shown = { store, projectId, witnessKey: this.#witness.key };
    const lacked = reply.status === 200 ? await lackedHead(note, own, shown) : null;
    if (lacked === null) return outcome;
    own.remember(lacked);
    const { size, have } = lacked;
    log.error({ url: this.#witness.url, size, have }, 'nothing more of the log is signed; recording goes on');
    return { refused: `${outcome.refused}; it shows ${size} leaves that the key of this log signed` };
  }

  /** Opens the connection on first use, so that a broken proxy does not prevent startup. */
  async #send(method: 'GET' | 'POST', path: string, body?: string): Promise<Reply> {
    this.#connection ??= new Connection({ ...this.#options.connection, baseUrl: this.#witness.url });
    return this.#connection.exchange({
      method,
      path,
      headers: body === undefined ? {} : { 'content-type': 'text/plain; charset=utf-8' },
      body: body === undefined ? undefined : Buffer.from(body),
      timeoutMs: limits.witnessTimeoutSeconds * 1000,
      maxBytes: limits.witnessAnswerBytes,
      signal: this.#stopped,
    });
  }

  /**
   * Stores only the lines of the configured key. Throws where no line verifies. The witness controls the lines.
   */
  async #keep(projectId: string, { checkpoint, note }: SignedCheckpoint, lines: string): Promise<void> {
    const { key } = this.#witness;
    const { text } = splitNote(note);
    const answer = `${text}\n${lines}`;
    openNote(answer, [key]);
    const cosignature = { key: witnessName(key), line: `${this.#lineOf(answer) ?? ''}\n` };
    await this.#options.store.saveCosignatures(projectId, 'audit', checkpoint.size, [cosignature]);
  }

  #lineOf(note: string): string | undefined {
    const { key } = this.#witness;
    const own = splitNote(note).signatures.find(
      ({ name, keyId }) => name === key.name && keyId === key.keyId,
    );
    return own?.line;
  }
}
