/**
 * The writing thread: opens the writing connection, reads its settings back, and performs the writes it
 * receives. If it ends unexpectedly, writing ends: `thread-engine.ts` treats its exit as a storage fault. A
 * crash of the thread leaves the same state as a crash of the process.
 * Proven by `test/store/sqlite/write/thread.alone.test.ts`.
 */
import Database from 'better-sqlite3';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { failureOf } from '../../../contract/failure.ts';
import type { GovError } from '../../../contract/problems.ts';
import { sealWith } from '../../file/body-seal.ts';
import { openAcked } from '../../acked/heads.ts';
import { connect } from '../../file/connection.ts';
import { openEngine } from './engine.ts';
import { storeFiles } from '../../file/paths.ts';
import { mainApplicationId } from '../../file/schema/tables.ts';
import { openSubjects } from '../../file/subjects.ts';
import { ArrivedParts } from './parts.ts';
import type { FromThread, WriteResult, ThreadStart, ToThread } from './thread-messages.ts';

if (parentPort === null) throw new Error('this file is a worker thread');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

let nowMs = 0;
const arrived = new ArrivedParts();
let outcomes: WriteResult[] = [];

const { path, masterKey } = workerData as ThreadStart;
const db = connect(path, { applicationId: mainApplicationId, cacheKiB: 12_288 });
const subjects = masterKey === undefined ? null : openSubjects(storeFiles(dirname(path)).subjects);
sealWith(db, masterKey, subjects);

const warn = (text: string): void => send({ kind: 'warning', text });
const engine = openEngine({
  db,
  acked: openAcked(dirname(path), warn),
  clock: { now: () => nowMs },
  randomBytes,
  stopped: (error) => sendTrouble('fault', error),
  filled: (error) => sendTrouble('full', error),
  warn,
});

/**
 * Sends the trouble before the rejections that it caused, so that a rejected caller finds the store in
 * trouble.
 */
function sendTrouble(trouble: 'full' | 'fault', error: GovError): void {
  send({ kind: 'trouble', trouble, failure: failureOf(error) });
  answer();
}

/** Answers all writes of one commit together, so that their promises settle in one turn of the event loop. */
function settle(outcome: WriteResult): void {
  if (outcomes.length === 0) queueMicrotask(answer);
  outcomes.push(outcome);
}

function answer(): void {
  if (outcomes.length === 0) return;
  send({ kind: 'settled', outcomes });
  outcomes = [];
}

function receive(message: ToThread): void {
  switch (message.kind) {
    case 'leaves':
      arrived.add(message.part);
      return;
    case 'forget':
      arrived.forget(message.first, message.count);
      return;
    case 'write':
      nowMs = message.nowMs;
      arrived.complete(message.writes, message.first).forEach((write, at) => {
        const no = message.first + at;
        engine.take(write, {
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
