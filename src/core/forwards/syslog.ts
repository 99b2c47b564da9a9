/**
 * Syslog messages: RFC 5424 with structured data, and the octet counting of RFC 6587 §3.4.1 and RFC 5425 §4.3. The
 * structured data says where the leaf is in the log. Where MSG is a record for a parser, nothing before it is text of
 * a sender: some receivers search the raw message for the first `CEF:`. Proven by `test/core/forwards/syslog.test.ts`.
 */
import { formatTimestamp } from '../time.ts';
import type { ForwardRecord } from './record.ts';
import { escapedLine } from '../visible.ts';
import { clip } from './text.ts';

export interface SyslogOptions {
  /** HOSTNAME: the machine that sends. */
  readonly hostname: string;
  /** 0 to 23; 13 is log audit. */
  readonly facility: number;
  /** Bytes of the largest message. */
  readonly maxBytes: number;
  /** `sentence`: MSG is for people, and the structured data has the fields. `record`: MSG has them. */
  readonly msg: 'sentence' | 'record';
}

/** The enterprise number of examples (RFC 5612); `gov` has none of its own. */
const structuredDataId = 'gov@32473';

/** Bytes of one value in structured data. */
const valueBytes = 255;

/** Values that an agent chooses, and their bytes where the structured data alone would be too long. */
const chosen: ReadonlySet<string> = new Set(['actor', 'actorId', 'action', 'resource', 'system']);
const chosenBytes = 48;

const severities = { low: 5, medium: 4, high: 3, critical: 2 } as const;

/** RFC 5424 severity: a refusal is at least a warning (4), an escalation a notice (5), all else informational (6). */
function syslogSeverity({ decision, severity, isDecision }: ForwardRecord): number {
  switch (decision) {
    case 'deny':
    case 'block':
    case 'denied':
      return isDecision && severity !== null ? Math.min(4, severities[severity]) : 4;
    case 'escalate':
    case 'warn':
    case 'flag':
      return 5;
    case 'allow':
    case 'approved':
    case null:
      return 6;
  }
}

/** PRINTUSASCII of at most `most` characters, or the nil value. */
const header = (text: string | null, most: number): string => {
  const ascii = (text ?? '').replace(/[^\x21-\x7e]/g, '_').slice(0, most);
  return ascii === '' ? '-' : ascii;
};

/** RFC 5424 §6.3.3 escapes `"`, `\` and `]`. */
const value = (text: string, most = valueBytes): string =>
  clip(escapedLine(text), most).replace(/["\\\]]/g, '\\$&');

type Field = readonly [name: string, value: string];

/** Returns what gov makes itself: where the record is in the log. */
const placeFields = ({ source, index, leafHash, leafType, id }: ForwardRecord): readonly Field[] => [
  ['project', source.projectId],
  ['origin', source.origin],
  ['index', String(index)],
  ['leafHash', leafHash],
  ['leafType', leafType],
  ['id', id],
];

/** Returns the members of the structured data, in their order. Absent ones are left out. */
export function structuredFields(record: ForwardRecord, msg: SyslogOptions['msg']): readonly Field[] {
  if (msg === 'record') return placeFields(record);
  const { actor, resource, policy } = record;
  const fields: readonly (readonly [string, string | number | null])[] = [
    ...placeFields(record),
    ['eventType', record.eventType],
    ['run', record.runId],
    ['seq', record.runSeq],
    ['actor', actor?.name ?? actor?.id ?? null],
    ['actorId', actor?.id ?? null],
    ['action', record.action],
    ['resource', resource?.name ?? resource?.id ?? null],
    ['decision', record.decision],
    ['severity', record.severity],
    ['policy', policy?.id ?? null],
    ['system', record.aiSystemId],
    ['loggedAt', formatTimestamp(record.loggedMs)],
  ];
  return fields.flatMap(([name, text]) => (text === null ? [] : [[name, String(text)] as const]));
}

/**
 * Returns a message without framing. `text` is its MSG, without line breaks; it is cut to fit `maxBytes`, and the
 * structured data then has `truncated="1"`. MSG has no byte order mark, because receivers hand the mark on to
 * parsers of JSON and CEF.
 */
export function syslogMessage(record: ForwardRecord, text: string, options: SyslogOptions): string {
  const { hostname, facility, maxBytes, msg } = options;
  const priority = facility * 8 + syslogSeverity(record);
  const time = formatTimestamp(record.timeMs);
  const start = `<${priority}>1 ${time} ${header(hostname, 255)} gov - ${header(msg === 'record' ? record.leafType : record.eventType, 32)} `;
  const fields = structuredFields(record, msg).map(([name, each]) => `${name}="${value(each)}"`);
  const data = `[${structuredDataId} ${fields.join(' ')}`;
  const whole = `${start}${data}] ${text}`;
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const long = `${start}${data} truncated="1"] `;
  const cut =
    Buffer.byteLength(long) <= maxBytes ? long : `${start}${shortData(record, msg)} truncated="1"] `;
  return cut + clip(text, Math.max(0, maxBytes - Buffer.byteLength(cut)));
}

const shortData = (record: ForwardRecord, msg: SyslogOptions['msg']): string => {
  const fields = structuredFields(record, msg).map(
    ([name, each]) => `${name}="${value(each, chosen.has(name) ? chosenBytes : valueBytes)}"`,
  );
  return `[${structuredDataId} ${fields.join(' ')}`;
};

/** Returns `MSG-LEN SP SYSLOG-MSG`. */
export function octetCounted(message: string): Buffer {
  const bytes = Buffer.from(message);
  return Buffer.concat([Buffer.from(`${bytes.length} `), bytes]);
}

/** Returns a sentence about a record for people: the MSG of the format `syslog`. */
export function sentence(record: ForwardRecord): string {
  const { actor, resource, action, decision, reason, eventType } = record;
  const who = actor?.name ?? actor?.id ?? 'gov';
  const what = resource?.name ?? resource?.id;
  const said = [
    `${eventType}: ${who} ${action}${what === undefined || what === null ? '' : ` ${what}`}`,
    ...(decision === null ? [] : [`decision ${decision}`]),
    ...(reason === null ? [] : [`reason ${reason}`]),
  ];
  return escapedLine(said.join(', '));
}
