/**
 * Sends every recorded tool call to the policies in force and compares their decisions with the recorded endings.
 * Prints the tables of docs/tutorials/airline-rules.md. Address and key: see `gov help environment`.
 *
 *   gov policy create examples/airline/policies --publish
 *   node examples/airline/run.ts
 */
import { createClient } from 'gov';
import { decideAll } from './decide.ts';
import {
  aftermath,
  byClause,
  byPolicy,
  byTool,
  failures,
  measured,
  measuredRuns,
  printed,
} from './figures.ts';
import { byHand } from './judged.ts';
import { hasRecording, readRuns, recordingFile } from './recording.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  if (!hasRecording)
    throw new Error(`expected the recorded runs in ${recordingFile}; GOV_DATA names another folder`);
  const client = createClient({
    baseUrl: process.env['GOV_BASE_URL'] ?? 'http://127.0.0.1:7460/api/v1',
    apiKey: process.env['GOV_API_KEY'],
  });
  const runs = readRuns();
  const decided = await decideAll(client, runs);
  client.close();
  const tables = [
    byTool(decided),
    byPolicy(decided),
    measured(decided),
    measuredRuns(runs, decided),
    ...byHand(decided),
    failures(runs, decided),
    aftermath(decided),
    byClause(decided),
  ];
  for (const table of tables) say(printed(table));
}

await main();
