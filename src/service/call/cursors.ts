/**
 * List cursors (contract D3): the position of the last row, sealed with AES-256-GCM under a key of the store.
 * What the cursor belongs to (list, tenant, filters, order) is the additional data, so a cursor used anywhere
 * else does not open and answers INVALID_CURSOR. A cursor grants nothing and does not expire.
 * Proven by `test/service/call/cursors.test.ts`.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import type { ByAge } from '../../store/port/store.ts';

const ivBytes = 12;
const tagBytes = 16;

/** What a cursor is bound to. */
export interface CursorScope {
  readonly list: string;
  readonly projectId: string;
  readonly filters: Readonly<Record<string, string | number | boolean | undefined>>;
}

export type Position = number | ByAge;

export class Cursors {
  readonly #key: Uint8Array;
  readonly #randomBytes: (size: number) => Uint8Array;

  /** `key`: 32 bytes that outlive restarts. */
  constructor(key: Uint8Array, randomBytes: (size: number) => Uint8Array) {
    this.#key = key;
    this.#randomBytes = randomBytes;
  }

  seal(scope: CursorScope, position: Position): string {
    const iv = this.#randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(boundTo(scope));
    const text = typeof position === 'number' ? String(position) : `${position.ms} ${position.id}`;
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString('base64url');
  }

  /** The position in a cursor, which an attacker controls; INVALID_CURSOR for any that is not of this list. */
  open(scope: CursorScope, cursor: string): Position {
    const sealed = Buffer.from(cursor, 'base64url');
    if (cursor.length > limits.cursorChars || sealed.length <= ivBytes + tagBytes) throw invalid();
    if (sealed.toString('base64url') !== cursor) throw invalid();
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(boundTo(scope)).setAuthTag(sealed.subarray(-tagBytes));
    let text: string;
    try {
      text = decipher.update(sealed.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      throw invalid();
    }
    const [number, id] = text.split(' ');
    return id === undefined ? Number(number) : { ms: Number(number), id };
  }
}

const invalid = (): GovError =>
  new GovError(
    'INVALID_CURSOR',
    'expected the nextCursor of an earlier page of this list with the same filters; start again without cursor',
  );

function boundTo({ list, projectId, filters }: CursorScope): Buffer {
  const set = Object.entries(filters).filter((entry) => entry[1] !== undefined);
  return Buffer.from(canonicalize(['gov.cursor/1', list, projectId, Object.fromEntries(set) as Json]));
}
