/**
 * The error of a file that should contain JSON and does not: the file, the line and column, what was expected, what came,
 * and what to do. Tested by `test/cli/program/json-fault.test.ts`.
 */
import { isUtf8 } from 'node:buffer';
import type { GovError } from '../../contract/problems.ts';
import { CliError, exit } from './exit.ts';

/** A text with the name of its file, `-` for standard input. */
export interface NamedText {
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Line of the file in which the text begins; default: 1. */
  readonly line?: number;
}

/** Converts an error of `parseJson` on this text. Cost: linear in the text. */
export function jsonFault(text: NamedText, cause: GovError): CliError {
  const file = text.file === '-' ? 'standard input' : text.file;
  const { place, message, hint } = described(text, cause);
  const where = place === undefined ? `${file}: ` : `${file}:${place}: `;
  return new CliError(exit.usage, where + message, {
    code: cause.code,
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

interface FaultDescription {
  readonly place?: string;
  readonly message: string;
  readonly hint?: string;
}

function described(text: NamedText, cause: GovError): FaultDescription {
  const { bytes } = text;
  const place = placeOf(text, cause);
  const head = Buffer.from(bytes.subarray(0, 256)).toString('latin1').trimStart();
  if (head === '' && Buffer.from(bytes).toString('latin1').trim() === '')
    return {
      message: 'expected JSON, got an empty file',
      hint: 'see whether the program that writes it failed',
    };
  if (/^(?:\xff\xfe|\xfe\xff)/.test(head))
    return { message: 'expected JSON in UTF-8, got UTF-16', hint: 'save the file as UTF-8' };
  if (!isUtf8(bytes) || head.includes('\0'))
    return {
      place,
      message: 'expected JSON in UTF-8, got other bytes',
      hint: 'if the file is text, save it as UTF-8',
    };
  if (head.startsWith('<'))
    return {
      message: 'expected JSON, got HTML or XML',
      hint: 'open the file: it may be the error page of a server or a proxy',
    };
  const fault = withoutOffset(cause);
  if (cause.code !== 'INVALID_JSON' || isAnyJson(bytes)) return { place, message: fault };
  if (fault.endsWith('the end of the text'))
    return {
      place,
      message: `not whole JSON: ${fault}`,
      hint: 'the file is cut off: write or fetch it again',
    };
  return { place, message: `not JSON: ${fault}`, hint: hintOf(fault) };
}

function hintOf(fault: string): string {
  if (fault.endsWith(`'''`)) return 'write names and text in double quotes: "name"';
  if (/got '[/#]'$/.test(fault)) return 'remove the comment: JSON has none';
  if (/(?:member name|JSON value), got '[}\]]'$/.test(fault)) return 'remove the comma before it';
  if (fault.startsWith('expected the end of the text')) return 'write one JSON value into the file';
  return 'correct the file there, or name a file of JSON';
}

/** The message without ` at byte 12`: people look for a line and a column. */
const withoutOffset = ({ message }: GovError): string => message.replace(/ at byte \d+$/, '');

/** Line and column of the fault, both from 1: `3:12`. Columns count characters. */
function placeOf({ bytes, line = 1 }: NamedText, { extensions }: GovError): string {
  const offset = Number(extensions['offset'] ?? 0);
  const before = Buffer.from(bytes.subarray(0, offset)).toString().split('\n');
  return `${line + before.length - 1}:${[...(before.at(-1) ?? '')].length + 1}`;
}

/** Whether some JSON reader takes the text: then it is JSON that readers read differently (contract A6). */
export function isAnyJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString());
    return true;
  } catch {
    return false;
  }
}

/** The message of a fault in a record whose text begins in `line`. A later line is named instead of a byte. */
export function recordFault({ bytes, line }: { bytes: Uint8Array; line: number }, cause: GovError): string {
  const before = Buffer.from(bytes.subarray(0, Number(cause.extensions['offset'] ?? 0))).toString();
  const lines = before.trimStart().split('\n').length;
  return lines === 1 ? cause.message : `${withoutOffset(cause)} in line ${line + lines - 1}`;
}
