/**
 * ArcSight Common Event Format, version 0. In the header `\` and `|` are escaped, in the extension `\` and `=`; line
 * breaks and other control characters are spelled out, so that a value never ends early. The reference is
 * `docs/reference/forward-formats.md`. Proven by `test/core/forwards/cef.test.ts`.
 */
import type { ForwardRecord } from './record.ts';
import { escapedLine, visibleJson } from '../visible.ts';
import { clip } from './text.ts';

/** The longest values that the dictionary of CEF allows, in bytes. */
const most = { header: 512, action: 63, external: 40, user: 1023, custom: 4000, reason: 1023, message: 1023 };

/** Severity from 0 to 10. */
const severities = { low: 5, medium: 6, high: 8, critical: 10 } as const;

function cefSeverity({ decision, severity, isDecision }: ForwardRecord): number {
  switch (decision) {
    case 'deny':
    case 'block':
    case 'denied':
      return isDecision && severity !== null ? severities[severity] : 7;
    case 'escalate':
      return 5;
    case 'warn':
    case 'flag':
      return 4;
    case 'allow':
    case 'approved':
    case null:
      return 2;
  }
}

const inHeader = (text: string): string => clip(escapedLine(text), most.header).replace(/[\\|]/g, '\\$&');

/** A line break is `\n` or `\r`, which the format allows in values of the extension only. */
const inExtension = (text: string, bytes: number): string =>
  clip(text, bytes)
    .replace(/[^\n\r]+/g, (line) => escapedLine(line).replace(/[\\=]/g, '\\$&'))
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');

/** Returns the pairs of the extension, values not yet escaped, with the most bytes of each. */
export function cefFields(record: ForwardRecord): (readonly [key: string, value: string, most: number])[] {
  const { source, actor, resource, decision, policy } = record;
  const custom = (place: string, label: string, value: string | number | null) =>
    value === null
      ? []
      : [[`${place}Label`, label, 1023] as const, [place, String(value), most.custom] as const];
  const one = (key: string, value: string | number | null | undefined, bytes: number) =>
    value === null || value === undefined || value === '' ? [] : [[key, String(value), bytes] as const];
  return [
    ...one('rt', record.loggedMs, 20),
    ...one('start', record.timeMs, 20),
    ...one('externalId', record.id, most.external),
    ...one('cat', record.eventType, 1023),
    ...one('act', decision ?? record.action, most.action),
    ...one('outcome', outcomeOf(record), most.action),
    ...one('suid', actor?.id, most.user),
    ...one('suser', actor?.name ?? actor?.id, most.user),
    ...one('duid', resource?.id, most.user),
    ...one('destinationServiceName', resource?.name ?? resource?.id, most.user),
    ...one('reason', record.reason, most.reason),
    ...custom('cs1', 'projectId', source.projectId),
    ...custom('cs2', 'logOrigin', source.origin),
    ...custom('cs3', 'leafHash', record.leafHash),
    ...custom('cs4', 'runId', record.runId),
    ...custom('cs5', 'policyId', policy?.id ?? null),
    ...custom('cs6', 'aiSystemId', record.aiSystemId),
    ...custom('cn1', 'leafIndex', record.index),
    ...custom('cn2', 'runSeq', record.runSeq),
    ...custom('flexString1', 'leafType', record.leafType),
    ...(Object.keys(record.data).length === 0 ? [] : one('msg', visibleJson(record.data), most.message)),
  ];
}

const outcomeOf = ({ decision, isDecision }: ForwardRecord): string | null => {
  if (!isDecision || decision === null) return null;
  return decision === 'deny' || decision === 'block' || decision === 'denied' ? 'failure' : 'success';
};

/** Returns one CEF line without a line break. `version` is the device version: that of gov. */
export function cefLine(record: ForwardRecord, version: string): string {
  const name = `${record.eventType} ${record.action}`;
  const head = ['CEF:0', 'gov', 'gov', inHeader(version), inHeader(record.eventType), inHeader(name)];
  const pairs = cefFields(record).map(([key, value, bytes]) => `${key}=${inExtension(value, bytes)}`);
  return `${head.join('|')}|${cefSeverity(record)}|${pairs.join(' ')}`;
}
