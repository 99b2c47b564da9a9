/**
 * One record of pushed input: an event to send, or the reason why it cannot be sent. Text that is not JSON ends the
 * reading with file and line (exit 2). JSON that is not I-JSON would make the service reject the whole batch, so only
 * this record is rejected. Tested by `test/cli/push/records.test.ts`.
 */
import { isUtf8 } from 'node:buffer';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseJson, type Json } from '../../core/json/parse.ts';
import { CliError, exit } from '../program/exit.ts';

export interface SendableRecord {
  /** Line of the source where the event begins, from 1. */
  readonly line: number;
  readonly event: Json;
  /** The event's JSON as it is sent. */
  readonly text: string;
}
export interface RefusedRecord {
  readonly line: number;
  /** A reason in the form of the service (contract E10). */
  readonly reason: string;
}
/** An event that the service has from before. It is not sent again. */
export interface KnownRecord {
  readonly line: number;
  readonly known: true;
}
export type InputRecord = SendableRecord | RefusedRecord | KnownRecord;

/** The part of the input that contains one record; null if it is too long to send. */
export interface Piece {
  readonly line: number;
  readonly bytes: Buffer | null;
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

/** Reads one record of untrusted input. Errors: exit 2 if it is not JSON. */
export function readPiece(piece: Piece, sourceName: string): InputRecord {
  const { line, bytes } = piece;
  if (bytes === null) {
    return { line, reason: `event_too_large: expected at most ${mostEventBytes} bytes, got more` };
  }
  try {
    const event = parseJson(bytes, bounds);
    return sendable(line, event);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    if (isAnyJson(bytes))
      return { line, reason: `unsafe_json: ${error.message}`.slice(0, limits.batchReasonChars) };
    throw inputError(`${sourceName}:${line}`, error.message, error);
  }
}

/** Returns a record of a value that is JSON already. */
export const sendable = (line: number, event: Json): SendableRecord => ({
  line,
  event,
  text: JSON.stringify(event),
});

function isAnyJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'));
    return isUtf8(bytes);
  } catch {
    return false;
  }
}
