/**
 * The newest acknowledged head of each audit log, outside the database: `acked.bin` in the data directory. It detects
 * acknowledged leaves that an older copy of the database lacks, also those that no checkpoint signs yet.
 *
 * Each log has two copies of 64 bytes, written in turn: SHA-256 of the project id (8), size (6), server time in
 * milliseconds (6), root (32), and SHA-256 over the project id and these bytes (12). A write does not wait for the
 * disk. A crash of the machine therefore loses the newest heads; a torn copy does not match its hash, and the other
 * one counts. Processes of one machine may share the file.
 * Proven by `test/store/acked/heads.test.ts`.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { AckedHead, LossRecord } from '../../core/decided/loss.ts';
import { noteLoss, readLosses, type NotedLoss } from './losses.ts';
import { makePrivate, storeFiles } from '../file/paths.ts';
import { unfit } from '../file/signed-heads.ts';

export type { AckedHead } from '../../core/decided/loss.ts';

export interface AckedHeads {
  find(projectId: string): AckedHead | null;
  /** Remembers a head after its commit. A size below the remembered one changes nothing. Never throws. */
  raise(projectId: string, head: AckedHead): void;
  /** Remembers the head of a log that has recorded a loss, and keeps the loss for `gov log losses`. Never throws. */
  recorded(projectId: string, head: AckedHead, loss: LossRecord): void;
  /** The losses that nobody has acknowledged, of all processes of the directory. */
  losses(): readonly NotedLoss[];
  close(): void;
}

const copyBytes = 64;
const pairBytes = 2 * copyBytes;
const nameBytes = 8;
const [sizeAt, timeAt, rootAt, sumAt] = [8, 14, 20, 52];
/** Pairs that one read takes. */
const pairsAtOnce = 4096;

/**
 * Opens the file, and creates it where it is missing. If no file can be written there, heads are remembered until the
 * process ends. `onWarning` receives losses and errors of the disk.
 */
export function openAcked(dataDir: string, onWarning: (text: string) => void = () => {}): AckedHeads {
  const slots = openSlots(dataDir, onWarning);
  const unwritten: NotedLoss[] = [];
  let isBroken = false;
  const guarded = (write: () => void): void => {
    if (isBroken) return;
    try {
      write();
    } catch (error) {
      isBroken = true; // the leaves are stored: only a loss of them would not be noticed
      onWarning(`acknowledged heads are no longer remembered: ${String(error)}`);
    }
  };
  const newestOf = (copies: readonly Copy[]): AckedHead | null =>
    copies.reduce<AckedHead | null>(
      (found, { head }) => (head !== null && head.size > (found?.size ?? -1) ? head : found),
      null,
    );
  return {
    find: (projectId) => newestOf(copiesOf(slots, projectId)),
    raise: (projectId, head) =>
      guarded(() => {
        const copies = copiesOf(slots, projectId);
        if (head.size <= (newestOf(copies)?.size ?? -1)) return;
        const [first, second] = copies;
        const bytes = encode(projectId, head);
        if (first === undefined || second === undefined) slots.add(Buffer.concat([bytes, bytes]));
        else slots.write(bytes, (first.head?.size ?? -1) <= (second.head?.size ?? -1) ? first.at : second.at);
      }),
    recorded: (projectId, head, loss) =>
      guarded(() => {
        const { lost, from, acked } = loss;
        onWarning(
          `acknowledged_lost: project ${projectId} lacks ${lost} acknowledged leaves, from leaf ${from} to ${acked.size - 1}: ` +
            'an older copy of the database took over; the log has a gov.loss/1 leaf',
        );
        const bytes = encode(projectId, head);
        try {
          noteLoss(dataDir, { projectId, ...loss });
        } catch {
          unwritten.push({ projectId, ...loss });
        }
        for (const { at } of copiesOf(slots, projectId)) slots.write(bytes, at);
      }),
    losses: () => [...readLosses(dataDir), ...unwritten],
    close: () => slots.close(),
  };
}

interface Copy {
  readonly at: number;
  /** Null for a torn copy. */
  readonly head: AckedHead | null;
}

/** The place of the pairs: bytes by their position. */
interface Slots {
  /** Returns where the pair with this name begins. */
  place(name: string): number | undefined;
  read(at: number): Buffer;
  write(copy: Buffer, at: number): void;
  add(pair: Buffer): void;
  close(): void;
}

const nameOf = (projectId: string): Buffer =>
  createHash('sha256').update(projectId).digest().subarray(0, nameBytes);

const sumOf = (projectId: string, copy: Buffer): Buffer =>
  createHash('sha256')
    .update(projectId)
    .update(copy.subarray(0, sumAt))
    .digest()
    .subarray(0, copyBytes - sumAt);

function encode(projectId: string, { size, root, atMs }: AckedHead): Buffer {
  const copy = Buffer.alloc(copyBytes);
  nameOf(projectId).copy(copy);
  copy.writeUIntBE(size, sizeAt, 6);
  copy.writeUIntBE(atMs, timeAt, 6);
  root.copy(copy, rootAt);
  sumOf(projectId, copy).copy(copy, sumAt);
  return copy;
}

function copiesOf(slots: Slots, projectId: string): readonly Copy[] {
  const place = slots.place(nameOf(projectId).toString('hex'));
  if (place === undefined) return [];
  const pair = slots.read(place);
  return [0, copyBytes].map((offset) => {
    const copy = pair.subarray(offset, offset + copyBytes);
    if (!sumOf(projectId, copy).equals(copy.subarray(sumAt))) return { at: place + offset, head: null };
    const head = {
      size: copy.readUIntBE(sizeAt, 6),
      atMs: copy.readUIntBE(timeAt, 6),
      root: Buffer.from(copy.subarray(rootAt, sumAt)),
    };
    return { at: place + offset, head };
  });
}

function openSlots(dataDir: string, onWarning: (text: string) => void): Slots {
  let why = unfit(dataDir);
  try {
    if (why === null) return fileSlots(storeFiles(dataDir).acked);
  } catch (error) {
    why = String(error);
  }
  onWarning(`${dataDir} ${why}: acknowledged heads are remembered only until this process ends`);
  return memorySlots();
}

function fileSlots(path: string): Slots {
  makePrivate(path);
  const file = openSync(path, 'r+');
  const { size } = fstatSync(file);
  // a crash of the machine may leave a part of the newest pair
  if (size % pairBytes !== 0) ftruncateSync(file, size - (size % pairBytes));
  const places = new Map<string, number>();
  let known = 0;
  /** Other processes add pairs as well. The first one of a log counts. */
  const look = (): void => {
    const bytes = Buffer.alloc(pairsAtOnce * pairBytes);
    for (;;) {
      const got = readSync(file, bytes, 0, bytes.length, known);
      const whole = got - (got % pairBytes);
      for (let at = 0; at < whole; at += pairBytes) {
        const name = bytes.toString('hex', at, at + nameBytes);
        if (!places.has(name)) places.set(name, known + at);
      }
      known += whole;
      if (whole < bytes.length) return;
    }
  };
  look();
  return {
    place: (name) => {
      if (!places.has(name) && fstatSync(file).size > known) look();
      return places.get(name);
    },
    read: (at) => {
      const pair = Buffer.alloc(pairBytes);
      readSync(file, pair, 0, pairBytes, at);
      return pair;
    },
    write: (copy, at) => {
      writeSync(file, copy, 0, copy.length, at);
    },
    add: (pair) => {
      // appends whole, also while other processes do
      const end = openSync(path, 'a');
      try {
        writeSync(end, pair);
      } finally {
        closeSync(end);
      }
      look();
    },
    close: () => closeSync(file),
  };
}

/** About 20 MB. */
const heldLogs = 100_000;

function memorySlots(): Slots {
  const places = new Map<string, number>();
  const pairs: Buffer[] = [];
  return {
    place: (name) => places.get(name),
    read: (at) => pairs[Math.floor(at / pairBytes)] ?? Buffer.alloc(pairBytes),
    write: (copy, at) => {
      pairs[Math.floor(at / pairBytes)]?.set(copy, at % pairBytes);
    },
    add: (pair) => {
      if (pairs.length >= heldLogs) return;
      places.set(pair.toString('hex', 0, nameBytes), pairs.length * pairBytes);
      pairs.push(pair);
    },
    close: () => {},
  };
}
