/**
 * An event as a record of CSV, put together from its texts: what `csvRow` makes of its values, without reading or scanning
 * most of them again. Proven by `test/core/event/text.test.ts` (`csvRow` as oracle).
 */
import { csvCell, lineEnd } from '../csv.ts';
import { cellOf, inOrder, type EventText, type Member } from './text.ts';

/** Columns are the members of an event, in its order; the last is empty, since it has lost no field. */
export const eventCsv = (event: EventText): string =>
  `${word(event.eventId)},${word(event.runId)},${word(event.eventType)},${objectCell(event.actor)},` +
  `${objectCell(event.resource)},${textCell(event.action)},${word(event.timestamp)},` +
  `${word(event.serverTimestamp)},${objectCell(event.metadata)},${textCell(event.causedBy)},` +
  `${word(event.aiSystemId)},${textCell(event.clientEventId)},${event.sequence},${word(event.leafHash)},${lineEnd}`;

const textCell = (value: string): string => (value === 'null' ? '' : csvCell(cellOf(value)));

/** Of characters that nothing has to be done about (`word` and `time` in `text.ts`), but where the first begins a formula. */
function word(value: string): string {
  if (value === 'null') return '';
  const first = value.charCodeAt(1);
  return first === PLUS || first === MINUS ? textCell(value) : value.slice(1, -1);
}

const PLUS = 0x2b;
const MINUS = 0x2d;

/** An object has quotation marks, so it is quoted; only where something separates within it there may be more to do. */
function objectCell(value: string | readonly Member[]): string {
  if (typeof value === 'string') return textCell(value);
  if (value.length === 0) return '{}';
  let quoted = '';
  for (const [name, text] of inOrder(value)) {
    if (text.includes(';') || text.includes('|')) return csvCell(cellOf(value));
    quoted += `${quoted === '' ? '' : ','}"${name}":${doubled(text)}`;
  }
  return `"{${quoted}}"`;
}

/** With each quotation mark twice; a string without escapes has none but its own. */
function doubled(text: string): string {
  if (text.startsWith('"') && !text.includes('\\')) return `"${text}"`;
  return text.includes('"') ? text.replaceAll('"', '""') : text;
}
