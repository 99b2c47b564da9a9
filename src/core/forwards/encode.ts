/**
 * Encodes a record for a transport: one line of text each. Proven by `test/docs/forward-formats.test.ts`.
 */
import { cefLine } from './cef.ts';
import { plainObject } from './json.ts';
import { ocsfEvent, type OcsfVersion } from './ocsf.ts';
import type { ForwardRecord } from './record.ts';
import { sentence } from './syslog.ts';
import { visibleJson } from '../visible.ts';

export const forwardFormats = ['json', 'ocsf', 'cef', 'syslog'] as const;
export type ForwardFormat = (typeof forwardFormats)[number];

export interface EncodeOptions {
  readonly format: ForwardFormat;
  readonly ocsfVersion: OcsfVersion;
  /** Version of gov. */
  readonly version: string;
}

/** Returns the record as one line without a line break. `syslog` is a sentence, for which the structured data has the fields. */
export function encodeLine(record: ForwardRecord, options: EncodeOptions): string {
  switch (options.format) {
    case 'json':
      return visibleJson(plainObject(record));
    case 'ocsf':
      return visibleJson(ocsfEvent(record, options));
    case 'cef':
      return cefLine(record, options.version);
    case 'syslog':
      return sentence(record);
  }
}
