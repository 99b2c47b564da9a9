/**
 * `gov usage import FILE…`: sends messages of data planes from files (`gov plane usage export`, one JSON object per line)
 * to the service, and writes its responses to a file (`gov plane usage receipts`). Sending a file again changes nothing.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Message, Receipt } from '../../../contract/telemetry.ts';
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { openOutput, refuseSame } from '../../terminal/output-file.ts';
import { jsonOf, readInput } from '../../terminal/input.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { usageImport as spec } from '../../specs/account/usage.ts';

const columns = [
  { name: 'file', kind: 'text' },
  { name: 'kind', kind: 'text' },
  { name: 'id', kind: 'id' },
  { name: 'status', kind: 'count' },
  { name: 'outcome', kind: 'text' },
] as const;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  if (flags.receipts !== undefined) refuseSame(['--receipts', flags.receipts], args.file, call);
  const read = await Promise.all(
    args.file.map(async (word) => {
      const { file, bytes } = await readInput(word, call);
      return messagesOf(file, bytes).map((message) => ({ file, message }));
    }),
  );
  const all = read.flat();
  if (all.length === 0) throw usage('expected messages of data planes in the files, found none');
  const output = flags.receipts === undefined ? null : await openOutput(flags.receipts, call);
  const receipts: Receipt[] = [];
  try {
    const client = await session.client();
    for (const part of partsOf(all.map(({ message }) => message))) {
      const { body } = await client.importTelemetry({ body: { messages: part } });
      receipts.push(...body.receipts);
    }
    await output?.write(Buffer.from(receipts.map((receipt) => `${JSON.stringify(receipt)}\n`).join('')));
  } finally {
    output?.close();
  }
  const refused = receipts.filter(({ status }) => status >= 400).length;
  out.verdict = refused === 0 ? exit.ok : exit.checkFailed;
  await printReport(out, {
    whole: { receipts },
    columns,
    rows: receipts.map(({ kind, id, status, answer }, at) => ({
      file: all[at]?.file ?? '',
      kind,
      id,
      status,
      outcome: outcomeOf(answer),
    })),
    head: [],
    foot: [safe`${receipts.length - refused} accepted, ${refused} refused`],
  });
  return out.verdict;
};

/** Returns the status of a report or an attestation, or the code of a refusal. */
function outcomeOf(answer: unknown): string {
  const { status, code, detail } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  return typeof code === 'string' ? `${code}: ${String(detail)}` : String(status);
}

/** Errors: exit 2 with the line that is not a message. */
function messagesOf(file: string, bytes: Uint8Array): Message[] {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  return lines.flatMap((line, at) => {
    if (line.trim() === '') return [];
    // the service checks its content
    return [jsonOf({ file, bytes: Buffer.from(line), line: at + 1 }) as unknown as Message];
  });
}

/** Groups messages into requests of the largest allowed size. */
function partsOf(messages: readonly Message[]): Message[][] {
  const most = limits.importTelemetryBytes - 1024;
  const parts: Message[][] = [];
  let size = 0;
  for (const message of messages) {
    const bytes = Buffer.byteLength(JSON.stringify(message)) + 1;
    const last = parts.at(-1);
    if (last === undefined || last.length >= limits.importMessages || size + bytes > most) {
      parts.push([message]);
      size = bytes;
    } else {
      last.push(message);
      size += bytes;
    }
  }
  return parts;
}
