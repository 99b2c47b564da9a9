/**
 * One record of pushed input: an event to send, or one that cannot be sent and why. What is not JSON at all ends
 * the reading with file and line (exit 2); what is JSON but not I-JSON would make the service refuse the whole batch
 * around it, so it is judged here, alone. Proven by `test/cli/push/records.test.ts`.
 */
import { isUtf8 } from 'node:buffer';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseJson, type Json } from '../../core/json/parse.ts';
import { CliError, exit } from '../program/exit.ts';

export interface SendableRecord {
  /** Line of the source on which the event begins, from 1. */
  readonly line: number;
  readonly event: Json;
  /** The event's JSON as it is sent. */
  readonly text: string;
}
export interface RefusedRecord {
  readonly line: number;
  /** A reason as the service would give it (contract E10). */
  readonly reason: string;
}
export type InputRecord = SendableRecord | RefusedRecord;

/** A stretch of the input that holds one record; null where it is longer than can be sent. */
export interface Piece {
  readonly line: number;
  readonly bytes: Buffer | null;
}

/** Most bytes of one event: what fits into a batch by itself. */
export const mostEventBytes = limits.batchBodyBytes - 64;

/** Bounds of an event inside `{"events":[…]}`. */
const bounds = {
  depth: limits.jsonDepth - 2,
  values: limits.jsonValuesLarge - 2,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

export const inputError = (where: string, detail: string, cause?: unknown): CliError =>
  new CliError(exit.usage, `${where}: ${detail}`, { code: 'INVALID_INPUT', cause });

/** Reads one record. The input is whatever the user has. CliError (exit 2) where it is not JSON. */
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

/** A record of a value that is JSON already. */
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
