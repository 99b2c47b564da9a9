/**
 * One record of pushed input: an event to send, or the reason why it cannot be sent. A record that is no JSON, no UTF-8 or
 * no I-JSON is rejected alone: others are not its fault, and a pipe cannot be read again.
 * Tested by `test/cli/push/records.test.ts`.
 */
import { isUtf8 } from 'node:buffer';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseJson, type Json } from '../../core/json/parse.ts';
import type { SendableRecord } from '../../client/sending/batch.ts';
import { CliError, exit } from '../program/exit.ts';
import { isAnyJson, recordFault } from '../program/json-fault.ts';

export interface RefusedRecord {
  readonly line: number;
  /** A reason in the form of the service (contract E10). */
  readonly reason: string;
}
/** Events that the service has from before. They are not sent again. */
interface KnownRecord {
  readonly line: number;
  /** How many. */
  readonly known: number;
}
export type InputRecord = SendableRecord | RefusedRecord | KnownRecord;

/** The part of the input that contains one record; null if it is too long to send. */
export interface Piece {
  readonly line: number;
  readonly bytes: Buffer | null;
  /** Why the part cannot be a record, whatever it contains. */
  readonly fault?: string;
  /** The input ends in this part, without the end of a line. */
  readonly isCut?: boolean;
}

/** Largest event in bytes: one that fits into a batch alone. */
export const mostEventBytes = limits.batchBodyBytes - 64;

/** Limits of an event inside `{"events":[…]}`. */
const bounds = {
  depth: limits.jsonDepth - 2,
  values: limits.jsonValuesLarge - 2,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

export const inputError = (where: string, detail: string, cause?: unknown): CliError =>
  new CliError(exit.usage, `${where}: ${detail}`, { code: 'INVALID_INPUT', cause });

/** The body of `POST /events/batch`. */
const batchBody = /^\s*\{\s*"events"\s*:\s*\[/;

/** Reads the records of a part of untrusted input: one, or those of a batch body. */
export function readPiece(piece: Piece): readonly InputRecord[] {
  const { line, bytes, fault } = piece;
  if (bytes === null)
    return [{ line, reason: `event_too_large: expected at most ${mostEventBytes} bytes, got more` }];
  if (fault !== undefined) return [{ line, reason: `invalid_json: ${fault}` }];
  try {
    if (batchBody.test(bytes.toString('latin1', 0, 64))) return ofBatch(line, bytes);
    return [sendable(line, parseJson(bytes, bounds))];
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return [{ line, reason: reasonOf(piece, error).slice(0, limits.batchReasonChars) }];
  }
}

function ofBatch(line: number, bytes: Buffer): readonly InputRecord[] {
  const body = parseJson(bytes, { ...bounds, depth: bounds.depth + 2 });
  const { events } = body as { events?: Json };
  return Array.isArray(events) ? events.map((event) => sendable(line, event)) : [sendable(line, body)];
}

function reasonOf({ bytes, isCut, line }: Piece, error: GovError): string {
  const text = bytes ?? Buffer.alloc(0);
  if (!isUtf8(text)) {
    return 'not_utf8: expected UTF-8, got other bytes, such as those of Latin-1; save the file as UTF-8';
  }
  const fault = recordFault({ bytes: text, line }, error);
  if (isAnyJson(text)) return `unsafe_json: ${fault}`;
  return isCut === true && fault.includes('the end of the text')
    ? `invalid_json: expected a whole line, got one that ends with the input: ${fault}`
    : `invalid_json: ${fault}`;
}

/** Returns the record of an imported event; null: the log has it. An importer makes events of JSON. */
export const recordOf = (event: EventInput | null): InputRecord =>
  event === null ? { line: 1, known: 1 } : sendable(1, event as unknown as Json);

/** Returns a record of a value that is JSON already. */
export const sendable = (line: number, event: Json): SendableRecord => ({
  line,
  event,
  text: JSON.stringify(event),
});
