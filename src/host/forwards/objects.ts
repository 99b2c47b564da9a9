/**
 * Batches as objects of an S3-compatible store: one gzipped NDJSON file for a range of leaves, then its manifest. The
 * key follows from the range, so a repetition replaces an object by an equal one. A crash between the two leaves an
 * object that no manifest names; the repetition stores both. Proven by `test/host/forwards/objects.test.ts`.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { manifestSchema, manifestText } from '../../core/forwards/manifest.ts';
import { sha256Text } from '../../core/hash.ts';
import { Bucket } from './bucket.ts';
import type { ObjectTarget } from './config.ts';
import { refusalOf } from './exchange.ts';
import {
  failed,
  reasonOf,
  type Batch,
  type TransportFailure,
  type SendOutcome,
  type Transport,
  type TransportOptions,
} from './transport.ts';

const zip = promisify(gzip);

/** Where the chain of manifests stands. The cursor keeps it. */
interface ChainState {
  readonly sequence: number;
  readonly hash: string;
  /** The leaf after those that the manifests cover. */
  readonly to: number;
}

export class ObjectTransport implements Transport {
  readonly #target: ObjectTarget;
  readonly #bucket: Bucket;

  constructor(target: ObjectTarget, { env }: TransportOptions) {
    this.#target = target;
    this.#bucket = new Bucket(target, env);
  }

  async send({ source, from, to, lines }: Batch, state: unknown): Promise<SendOutcome> {
    const before = (state ?? null) as ChainState | null; // this class made it
    // an empty range needs no manifest: the next one covers it
    if (lines.length === 0) return { ok: true, isKept: true, state: before };
    const folder = [this.#target.prefix, source.projectId].filter((each) => each !== '').join('/');
    const key = `${folder}/records/${padded(from, 16)}-${padded(to - 1, 16)}.ndjson.gz`;
    const bytes = await zip(lines.map(({ text }) => `${text}\n`).join(''));
    const sequence = before === null ? 0 : before.sequence + 1;
    const { text, hash } = manifestText({
      schema: manifestSchema,
      projectId: source.projectId,
      origin: source.origin,
      sequence,
      previous: before?.hash ?? null,
      leaves: { from: before?.to ?? from, to },
      object: { key, bytes: bytes.length, sha256: sha256Text(bytes), records: lines.length },
    });
    const stored =
      (await this.#put(key, bytes, 'application/gzip')) ??
      (await this.#put(
        `${folder}/manifests/${padded(sequence, 10)}.json`,
        Buffer.from(text),
        'application/json',
      ));
    return stored ?? { ok: true, isKept: true, state: { sequence, hash, to } satisfies ChainState };
  }

  /** Returns null where the object is stored. */
  async #put(key: string, body: Buffer<ArrayBuffer>, type: string): Promise<TransportFailure | null> {
    try {
      const answer = await this.#bucket.put(key, body, type);
      return answer.status >= 200 && answer.status <= 299 ? null : { ...refusalOf(answer), isRefused: false };
    } catch (error) {
      return failed(reasonOf(error));
    }
  }

  close(): void {
    this.#bucket.close();
  }
}

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');
