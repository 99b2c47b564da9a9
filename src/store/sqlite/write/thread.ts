/**
 * The thread that writes: opens the one connection that writes, with its settings read back, and does what it is
 * sent. Whatever ends it unasked ends writing: `thread-engine.ts` takes its death for a storage fault.
 * A crash leaves what a crash of the process leaves. Proven by `test/store/sqlite/write/thread.alone.test.ts`.
 */
import Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { failureOf } from '../../../contract/failure.ts';
import type { GovError } from '../../../contract/problems.ts';
import { sealWith } from '../../file/body-seal.ts';
import { connect } from '../../file/connection.ts';
import { openEngine } from './engine.ts';
import { storeFiles } from '../../file/paths.ts';
import { mainApplicationId } from '../../file/schema/tables.ts';
import { openSubjects } from '../../file/subjects.ts';
import type { FromThread, Settled, ThreadStart, ToThread } from './thread-messages.ts';
import { packOutcome, unpackWrite, type PlaceTuple } from './thread-wire.ts';

if (parentPort === null) throw new Error('this file is a worker thread');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

let nowMs = 0;
let outcomes: (Settled | PlaceTuple)[] = [];

const { path, masterKey } = workerData as ThreadStart;
const db = connect(path, { applicationId: mainApplicationId, cacheKiB: 12_288 });
const subjects = masterKey === undefined ? null : openSubjects(storeFiles(dirname(path)).subjects);
sealWith(db, masterKey, subjects);

const engine = openEngine({
  db,
  clock: { now: () => nowMs },
  randomBytes,
  stopped: (error) => tell('fault', error),
  filled: (error) => tell('full', error),
  warn: (text) => send({ kind: 'warning', text }),
});

/** Before what it refused: whoever is answered finds the store in trouble. */
function tell(trouble: 'full' | 'fault', error: GovError): void {
  send({ kind: 'trouble', trouble, failure: failureOf(error) });
  answer();
}

/** What one commit settled is answered together: its promises are kept within one turn of the event loop. */
function settle(outcome: Settled): void {
  if (outcomes.length === 0) queueMicrotask(answer);
  outcomes.push(packOutcome(outcome));
}

function answer(): void {
  if (outcomes.length === 0) return;
  send({ kind: 'settled', outcomes });
  outcomes = [];
}

function receive(message: ToThread): void {
  switch (message.kind) {
    case 'write':
      nowMs = message.nowMs;
      message.writes.forEach((packed, at) => {
        const no = message.first + at;
        engine.take(unpackWrite(packed), {
          resolve: (result) => settle({ no, result }),
          reject: (error) => settle({ no, failure: failureOf(error) }),
        });
      });
      return;
    case 'report':
      engine.report(new Database.SqliteError(message.message, message.code));
      return;
    case 'heal':
      engine.heal();
      return;
    case 'close':
      void close();
  }
}

async function close(): Promise<void> {
  await engine.close();
  subjects?.close();
  port.close();
}

port.on('message', receive);
