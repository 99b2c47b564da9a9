/**
 * The map of `gov.index/1` by its definition: all keys at once, recursive, with node's own hash. It uses nothing of
 * `src/core/completeness`.
 */
import { createHash } from 'node:crypto';
import { naiveRoot } from '../merkle/naive.ts';

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export interface NaiveList {
  readonly key: readonly string[];
  readonly items: readonly {
    readonly leaf: Buffer;
    readonly index: number;
    readonly ms: number;
    readonly clientMs?: number;
  }[];
}

const naiveKeyHash = (key: readonly string[]): Buffer => sha256(`gov.index.key/1\n${JSON.stringify(key)}`);

function naiveValueHash({ items }: NaiveList): Buffer {
  const first = items[0]!;
  const last = items.at(-1)!;
  const root = `sha256:${naiveRoot(items.map(({ leaf }) => leaf)).toString('hex')}`;
  const value = `{"first":${first.index},"firstMs":${first.ms},"last":${last.index},"lastMs":${last.ms},"n":${items.length},"root":"${root}"}`;
  return sha256(`gov.index.value/1\n${value}`);
}

interface Entry {
  readonly bits: string;
  readonly hash: Buffer;
}

const bitsOf = (hash: Buffer): string => [...hash].map((byte) => byte.toString(2).padStart(8, '0')).join('');

export function naiveMapRoot(entries: readonly { keyHash: Buffer; valueHash: Buffer }[]): Buffer {
  return subtree(
    entries.map(({ keyHash, valueHash }) => ({
      bits: bitsOf(keyHash),
      hash: sha256(Buffer.of(2), keyHash, valueHash),
    })),
    0,
  );
}

function subtree(entries: readonly Entry[], depth: number): Buffer {
  if (entries.length === 0) return Buffer.alloc(32);
  if (entries.length === 1) return entries[0]!.hash;
  const side = (bit: string) => entries.filter(({ bits }) => bits[depth] === bit);
  return sha256(Buffer.of(3), subtree(side('0'), depth + 1), subtree(side('1'), depth + 1));
}

export const naiveIndexRoot = (lists: readonly NaiveList[]): Buffer =>
  naiveMapRoot(lists.map((list) => ({ keyHash: naiveKeyHash(list.key), valueHash: naiveValueHash(list) })));

/** The lists that a map function gives for the records of a log. */
export function naiveLists(records: readonly string[], fn = 'gov.mapfn/2'): Map<string, NaiveList> {
  const lists = new Map<string, { key: string[]; items: NaiveList['items'][number][] }>();
  let ms = 0;
  for (const [index, text] of records.entries()) {
    const record = JSON.parse(text) as Record<string, string>;
    const time = record['type'] === 'gov.event/1' ? record['serverTimestamp'] : undefined;
    const own = time ?? (record['type'] === 'gov.index/1' ? record['at'] : undefined);
    if (own !== undefined && own !== '') ms = Math.max(ms, Date.parse(own));
    const leaf = sha256(Buffer.of(0), text);
    const place = sha256(Buffer.of(0), `${index} ${ms}`);
    const add = (key: string[], item: Buffer, client?: number): number => {
      const list = lists.get(JSON.stringify(key)) ?? { key, items: [] };
      lists.set(JSON.stringify(key), list);
      list.items.push({ leaf: item, index, ms, ...(client === undefined ? {} : { clientMs: client }) });
      return list.items.length;
    };
    const { type = '', runId } = record;
    if (type === 'gov.event/1') {
      const eventType = record['eventType']!;
      if (add(['run', runId!], leaf) === 1) add(['runs'], place);
      const client = new Date(record['timestamp']!);
      const timed = sha256(Buffer.of(0), `${index} ${ms} ${client.getTime()}`);
      const isTimed = fn !== 'gov.mapfn/1';
      const typed = isTimed ? timed : place;
      const clientMs = isTimed ? client.getTime() : undefined;
      if (add(['type', eventType], typed, clientMs) === 1) add(['types'], sha256(Buffer.of(0), eventType));
      if (!isTimed) continue;
      const day = client.toISOString().slice(0, 10);
      if (add(['day', day], timed, clientMs) === 1) add(['days'], sha256(Buffer.of(0), day));
    } else {
      add(['leaf', type], place);
      if (runId !== undefined) add(['of', type, runId], leaf);
    }
  }
  return lists;
}
