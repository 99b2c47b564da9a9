/**
 * The namespaces of a client (contract M13-M15, P9): records of the program's own, in a store in this process. Nothing is
 * sent to the service; `client.approvals` and others are not its resources, which have operations of their own.
 * Tested by `test/client/namespaces/client.test.ts` on both stores.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../../core/json/object.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import { GovBadRequestError, GovConflictError, GovNotFoundError, GovTooLargeError } from '../answers.ts';
import { jsonText } from '../json-text.ts';
import { mergePatch } from './merge-patch.ts';
import { type RedactedValue, ValueSealer, type SealedValue } from './sealing.ts';
import { namespaceNames } from './store.ts';
import type { NamespaceName, NamespaceStore, Scalar, StoredRecord } from './store.ts';

/** A record of a namespace. In `secrets`, each member of `data` is `{ redacted: true, fingerprint }`. */
export interface NamespaceRecord {
  readonly id: string;
  readonly namespace: NamespaceName;
  readonly data: Readonly<Record<string, unknown>>;
  readonly status: 'active' | 'archived';
  /** 1, and one more with each update. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly archivedAt: string | null;
}

export interface NamespaceListParams {
  readonly cursor?: string | null | undefined;
  /** From 1; default `limits.pageDefault`, at most `limits.pageMax`. */
  readonly limit?: number | undefined;
  /** Default `active`. */
  readonly status?: 'active' | 'archived' | 'all' | undefined;
  /** Members of `data` that must have these values, at most `limits.namespaceFilters`. Not in `secrets`. */
  readonly filter?: Readonly<Record<string, Scalar>> | undefined;
}

export interface NamespaceListResponse {
  /** Newest first. */
  readonly data: readonly NamespaceRecord[];
  /** Null at the end of the list. */
  readonly nextCursor: string | null;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

type Data = Readonly<Record<string, unknown>>;

/**
 * The five operations of a namespace. Errors: `GovNotFoundError` for an unknown id, `GovBadRequestError` for wrong input,
 * `GovTooLargeError` for data beyond `limits.namespaceDataBytes`, `GovConflictError` for an update of an archived record.
 */
export interface Namespace {
  list(params?: NamespaceListParams, options?: CallOptions): Promise<NamespaceListResponse>;
  create(data: Data, options?: CallOptions): Promise<NamespaceRecord>;
  /** Also returns an archived record. */
  get(id: string, options?: CallOptions): Promise<NamespaceRecord>;
  /** Merges `data` as RFC 7396: null removes a member, an object merges, anything else replaces. */
  update(id: string, data: Data, options?: CallOptions): Promise<NamespaceRecord>;
  /** Archiving twice is the same as once. */
  archive(id: string, options?: CallOptions): Promise<void>;
}

export type Namespaces = { readonly [Name in NamespaceName]: Namespace };

/** Returns the namespaces of a store. */
export function createNamespaces(store: NamespaceStore): Namespaces {
  const { secretsKey } = store;
  const sealing = secretsKey === null ? null : new ValueSealer(secretsKey);
  const all = namespaceNames.map((name) => [
    name,
    detachable(new Records(store, name, name === 'secrets' ? new SealedForm(sealing) : plain)),
  ]);
  // the list of names is the type's
  return Object.fromEntries(all) as Namespaces;
}

/** Its operations work without it, as in `const { list } = client.prompts`, like those of the client. */
const detachable = (records: Namespace): Namespace => ({
  list: (...given) => records.list(...given),
  create: (...given) => records.create(...given),
  get: (...given) => records.get(...given),
  update: (...given) => records.update(...given),
  archive: (...given) => records.archive(...given),
});

/**
 * Returns the values of a record of `secrets`, which the operations of a client never return. Give the store only to the
 * code that may see them. Throws `GovNotFoundError`, and `GovConflictError` if another key sealed them.
 */
export async function revealSecret(store: NamespaceStore, id: string): Promise<Data> {
  const record = await store.find('secrets', id);
  if (record === null) throw notFound('secrets', id);
  const { secretsKey } = store;
  return new SealedForm(secretsKey === null ? null : new ValueSealer(secretsKey)).read(record);
}

/** How the data of a namespace is stored and shown. */
interface Form {
  readonly canFilter: boolean;
  write(id: string, data: Data): Promise<string>;
  read(record: Pick<StoredRecord, 'id' | 'data'>): Promise<Data>;
  show(record: Pick<StoredRecord, 'data'>): Data;
}

const plain: Form = {
  canFilter: true,
  write: (_id, data) => Promise.resolve(JSON.stringify(data)),
  read: ({ data }) => Promise.resolve(JSON.parse(data) as Data),
  show: ({ data }) => JSON.parse(data) as Data,
};

class SealedForm implements Form {
  readonly canFilter = false;
  readonly #sealing: ValueSealer | null;

  constructor(sealing: ValueSealer | null) {
    this.#sealing = sealing;
  }

  async write(id: string, data: Data): Promise<string> {
    const sealing = this.#required();
    const entries = Object.entries(data).map(
      async ([name, value]) => [name, await sealing.seal(JSON.stringify(value), { id, name })] as const,
    );
    return JSON.stringify(Object.fromEntries(await Promise.all(entries)));
  }

  async read({ id, data }: Pick<StoredRecord, 'id' | 'data'>): Promise<Data> {
    const sealing = this.#required();
    const entries = sealedIn(data).map(
      async ([name, sealed]) =>
        [name, JSON.parse(await sealing.open(sealed, { id, name })) as unknown] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }

  show({ data }: Pick<StoredRecord, 'data'>): Readonly<Record<string, RedactedValue>> {
    return Object.fromEntries(
      sealedIn(data).map(([name, { fingerprint }]) => [name, { redacted: true, fingerprint } as const]),
    );
  }

  #required(): ValueSealer {
    if (this.#sealing === null) throw badRequest('expected a store with a secretsKey, got one without');
    return this.#sealing;
  }
}

/** `data` is what `write` made. */
const sealedIn = (data: string): [string, SealedValue][] =>
  Object.entries(JSON.parse(data) as Record<string, SealedValue>);

class Records implements Namespace {
  readonly #store: NamespaceStore;
  readonly #name: NamespaceName;
  readonly #form: Form;

  constructor(store: NamespaceStore, name: NamespaceName, form: Form) {
    this.#store = store;
    this.#name = name;
    this.#form = form;
  }

  async list(params: NamespaceListParams = {}, { signal }: CallOptions = {}): Promise<NamespaceListResponse> {
    signal?.throwIfAborted();
    refuseUnknown(params);
    const { status, filter, limit } = this.#checked(params);
    const query = JSON.stringify([this.#name, status, Object.entries(filter).sort()]);
    const { cursor } = params;
    const before = cursor === undefined || cursor === null ? null : positionIn(cursor, query);
    // one more, to know whether a page follows
    const found = await this.#store.select({
      namespace: this.#name,
      status,
      filter,
      before,
      limit: limit + 1,
    });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    return {
      data: page.map(({ record }) => this.#shown(record)),
      nextCursor: last === undefined ? null : cursorOf(last.position, query),
    };
  }

  #checked({ limit = limits.pageDefault, status = 'active', filter = {} }: NamespaceListParams) {
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw badRequest(`limit: expected an integer from 1 to ${limits.pageMax}, got ${limit}`);
    if (!['active', 'archived', 'all'].includes(status))
      throw badRequest(`status: expected active, archived or all, got ${String(status)}`);
    const fields = Object.entries(filter);
    if (fields.length > limits.namespaceFilters)
      throw badRequest(`filter: expected at most ${limits.namespaceFilters} members, got ${fields.length}`);
    if (fields.length > 0 && !this.#form.canFilter)
      throw badRequest(`filter: expected none in ${this.#name}, whose values are sealed`);
    const wrong = fields.find(([, value]) => !isScalar(value));
    if (wrong !== undefined)
      throw badRequest(`filter: expected a text, number, true, false or null in ${wrong[0]}`);
    return { limit: Math.min(limit, limits.pageMax), status, filter };
  }

  async create(data: Data, { signal }: CallOptions = {}): Promise<NamespaceRecord> {
    signal?.throwIfAborted();
    const given = checkedData(data);
    const now = Date.now();
    const id = typeId('nsr', now, crypto.getRandomValues(new Uint8Array(10)));
    const at = formatTimestamp(now);
    const record: StoredRecord = {
      id,
      namespace: this.#name,
      data: await this.#form.write(id, given),
      status: 'active',
      version: 1,
      createdAt: at,
      updatedAt: at,
      archivedAt: null,
    };
    await this.#store.insert(record);
    return this.#shown(record);
  }

  async get(id: string, { signal }: CallOptions = {}): Promise<NamespaceRecord> {
    signal?.throwIfAborted();
    return this.#shown(await this.#found(id));
  }

  async update(id: string, data: Data, { signal }: CallOptions = {}): Promise<NamespaceRecord> {
    const patch = checkedData(data);
    return this.#change(id, signal, async (record) => {
      if (record.status === 'archived') throw archived(this.#name, id);
      // a patch that is an object gives an object
      const merged = checkedData(mergePatch(await this.#form.read(record), patch) as Data);
      return { ...record, data: await this.#form.write(id, merged), version: record.version + 1 };
    });
  }

  async archive(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#change(id, signal, (record, at) =>
      Promise.resolve(
        record.status === 'archived' ? null : { ...record, status: 'archived' as const, archivedAt: at },
      ),
    );
  }

  /** Repeats the change if another one came first. `change` returns null to leave the record as it is. */
  async #change(
    id: string,
    signal: AbortSignal | undefined,
    change: (record: StoredRecord, at: string) => Promise<StoredRecord | null>,
  ): Promise<NamespaceRecord> {
    for (;;) {
      signal?.throwIfAborted();
      const before = await this.#found(id);
      const at = formatTimestamp(Math.max(Date.now(), Date.parse(before.updatedAt)));
      const changed = await change(before, at);
      if (changed === null) return this.#shown(before);
      const record = { ...changed, updatedAt: at };
      if (await this.#store.replace(record, before.version)) return this.#shown(record);
    }
  }

  async #found(id: string): Promise<StoredRecord> {
    const record = typeof id === 'string' ? await this.#store.find(this.#name, id) : null;
    if (record === null) throw notFound(this.#name, id);
    return record;
  }

  #shown(record: StoredRecord): NamespaceRecord {
    return { ...record, data: this.#form.show(record) };
  }
}

const listParams: ReadonlySet<string> = new Set<keyof NamespaceListParams>([
  'cursor',
  'limit',
  'status',
  'filter',
]);

function refuseUnknown(params: NamespaceListParams): void {
  const unknown = Object.keys(params).find((name) => !listParams.has(name));
  if (unknown === undefined) return;
  const expected = 'expected cursor, limit, status or filter';
  throw badRequest(
    `${unknown}: ${expected}; to select records by their data, list({ filter: { ${unknown}: … } })`,
  );
}

const isScalar = (value: unknown): boolean =>
  value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

/** Returns the data as JSON has it. */
function checkedData(data: unknown): Data {
  let text: string | undefined;
  try {
    text = isObject(data) ? jsonText(data) : undefined;
  } catch (cause) {
    throw badRequest(`data: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  if (text === undefined) throw badRequest('data: expected an object');
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > limits.namespaceDataBytes) {
    const detail = `data: expected at most ${limits.namespaceDataBytes} bytes, got ${bytes}`;
    throw new GovTooLargeError(
      413,
      { title: 'The data is too large', code: 'PAYLOAD_TOO_LARGE', detail },
      {},
    );
  }
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw badRequest('data: expected an object');
  return parsed;
}

/** The position, and the query that it belongs to. It grants nothing. */
const cursorOf = (position: number, query: string): string =>
  Buffer.from(JSON.stringify([position, query])).toString('base64url');

function positionIn(cursor: string, query: string): number {
  try {
    const [position, of] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (of === query && Number.isSafeInteger(position)) return position as number;
  } catch {
    // no JSON: not a cursor
  }
  const detail = 'cursor: expected the nextCursor of this list with the same status and filter';
  throw new GovBadRequestError(400, { title: 'The cursor is wrong', code: 'INVALID_CURSOR', detail }, {});
}

const badRequest = (detail: string): GovBadRequestError =>
  new GovBadRequestError(400, { title: 'The input is wrong', code: 'VALIDATION_ERROR', detail }, {});

const notFound = (namespace: string, id: unknown): GovNotFoundError => {
  const detail = `expected the id of a record in ${namespace}, got ${JSON.stringify(id)}`;
  return new GovNotFoundError(404, { title: 'Not found', code: 'NOT_FOUND', detail }, {});
};

const archived = (namespace: string, id: string): GovConflictError => {
  const detail = `expected an active record in ${namespace}, got ${id}, which is archived`;
  return new GovConflictError(409, { title: 'The record is archived', code: 'CONFLICT', detail }, {});
};
